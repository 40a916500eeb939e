// How results of the search are ranked: pages that answer a question come before the reference,
// the gallery and the list of claims, which has more titles than any, and those before pages on the
// inside of the package. Titles count most, above all those that contain the whole query. Entries of
// the index ({index}) come first, with up to 100. Pages with equal scores, which Sphinx would list by
// their titles, are listed by how directly they answer: see `rank`.
var Scorer = {
  score: (result) => {
    const [page, , , , found, , kind] = result;
    const score = (kind === "title" ? found + 10 : found) + 0.01 * Scorer.rank(page);
    if (page.startsWith("decisions/")) return score - 20;
    if (["architecture", "bibliography"].includes(page)) return score - 10;
    if (page === "papers" || page.startsWith("_gallery/")) return score - 4;
    return page.startsWith("reference/") ? score : score + 3;
  },
  rank: (page) => {
    const starts = ["reference/", "_gallery/", "_exercises/", "_tutorials/", "findings/"];
    const place = starts.findIndex((start) => page.startsWith(start));
    if (place >= 0) return place;
    if (["which_setting", "which_policy"].includes(page)) return starts.length + 2;
    return starts.length + (page.startsWith("howto/") ? 1 : 0);
  },
  objNameMatch: 5,
  objPartialMatch: 3,
  objPrio: { 0: 3, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
