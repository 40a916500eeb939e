// What the search page adds to Sphinx's search, whose functions (of searchtools.js) it wraps:
// - double quotes are ignored, and so are words that only make a question;
// - where few pages have all words of a query, those with several of them are listed, too;
// - functions, classes and modules that are called exactly like the query come first;
// - methods are found by their names, if these have an underscore or are typed with parentheses;
// - results lead to the paragraph with the most words of the query;
// - words of entries of the index count more than words of the text, and less than those of titles;
// - two words are searched for as one where only that is known, such as "time-out";
// - a word that no page has, or whose ending is misspelt, is replaced by a word that is spelt almost
//   like it, and the page says so;
// - a page is listed once, with its best hit; objects on a page of the reference are listed apart;
// - an empty query, and one without results, lead to pages that help.
"use strict";

(() => {
  // Besides those that Sphinx leaves out itself, such as "how", "do" and "the".
  const QUESTION_WORDS = new Set(
    ("best can find get help instead just let make many much must need please possible shall" +
      " someone something use want way will without").split(" "),
  );
  const SHORT = 2; // letters; words of so few are not required, as in Sphinx
  const LONG_QUERY = 6; // words; of so many, fewer than half are enough
  const FEW = 3; // pages; with fewer that have all words, those with several are listed, too
  const FOUND_BY_NAME = ["Python function", "Python class", "Python exception"];
  const MOST_METHODS = 3; // of a name; more would hide the pages
  const ENTRY = 10; // score of a word of an entry of the index, between those of text and of titles
  const LEAST_CORRECTED = 4; // letters
  const LEAST_REPLACED = 6; // letters; in shorter words only neighbours are swapped, such as "lable"
  const LONG = 8; // letters; longer words may differ in two
  const HELP = [
    ["which_setting", "Which setting is mine?", "leads from your question to a setting."],
    ["howto/index", "How to", "has short answers, each with lines that run."],
    ["glossary", "Glossary", "says which words these pages use."],
  ];
  const PAGE_SUFFIX = DOCUMENTATION_OPTIONS.LINK_SUFFIX;
  const sphinx = { ...Search };
  const stemmer = new Stemmer();
  let resultCount = 0;
  let notice = "";

  Search.query = (typed) => {
    const [query, advice] = correctWords(joinWords(removeQuotes(typed)));
    notice = "";
    sphinx.query(isInTitleOrIndex(query) ? query : removeQuestionWords(query));
    if (resultCount > 0 && advice) {
      const shown = `${advice} Showing results for \u201c${query}\u201d.`;
      addElement("p", shown, Search.output, "beforebegin").className = "search-correction";
    }
    if (resultCount === 0) {
      Search.status.innerText = hasSearchedWord(query)
        ? "No page has any of these words."
        : "Words as common as these, and numbers, are not searched for.";
      showHelp("Try other words, or one of these pages:");
    } else if (notice) {
      addElement("p", notice, Search.output, "beforebegin").className = "search-notice";
    }
  };

  Search._performSearch = (query, words, ...terms) => {
    const found = sphinx._performSearch(query, words, ...terms);
    const results = listPagesOnce(putNamedLast(found, query));
    // With the words `search_target.js` finds their paragraph on a page.
    const long = [...words].filter((word) => word.length > SHORT); // shorter ones are in most others
    const marked = `?highlight=${encodeURIComponent(long.join(" "))}`;
    DOCUMENTATION_OPTIONS.LINK_SUFFIX = PAGE_SUFFIX + marked;
    resultCount = results.length;
    return results;
  };

  Search.performTermsSearch = (words, excluded) => {
    if (words.size < 2) return sphinx.performTermsSearch(words, excluded);
    const long = [...words].filter((word) => word.length > SHORT);
    const required = long.length ? long : [...words];
    return choosePages(findPagesByWord(required, excluded), required.length);
  };

  function removeQuotes(query) {
    return query.replace(/["\u201c\u201d\u201e\u00ab\u00bb]/g, " ").replace(/\s+/g, " ").trim();
  }

  function removeQuestionWords(query) {
    const words = splitQuery(query.toLowerCase());
    const kept = words.filter((word) => !isCommon(word));
    return kept.length > 0 && kept.length < words.length ? kept.join(" ") : query;
  }

  // Say whether the query has a word that Sphinx searches for.
  function hasSearchedWord(query) {
    const words = splitQuery(query.toLowerCase());
    return words.some((word) => !isCommon(word) && !/^\d+$/.test(word));
  }

  function isCommon(word) {
    return stopwords.has(word) || QUESTION_WORDS.has(word);
  }

  // Return the query with pairs of words joined, by a hyphen or a space, that are known as one word.
  function joinWords(query) {
    if (isInTitleOrIndex(query)) return query;
    const known = listWholeWords();
    return query.replace(/([\p{Letter}]+)[ -](?=([\p{Letter}]+))/gu, (pair, first, second) => {
      const [one, other] = [first.toLowerCase(), second.toLowerCase()];
      const isOneWord = !(isCommon(one) && isCommon(other)) && known.has(one + other);
      return isOneWord ? first : pair;
    });
  }

  // Return the query with known words in place of those that are misspelt, and what to say of these.
  function correctWords(query) {
    if (isInTitleOrIndex(query)) return [query, ""];
    const [unknown, doubtful] = [[], []];
    const known = listWholeWords();
    const corrected = query.replace(/[\p{Letter}\p{Number}_]+/gu, (word) => {
      const lower = word.toLowerCase();
      if (lower.length < LEAST_CORRECTED || known.has(lower) || isCommon(lower)) return word;
      const isStemKnown = isOnPages(lower);
      const similar = isStemKnown
        ? findSimilarEnding(lower, known)
        : findSimilarWord(lower, known.keys());
      if (similar === null) return word;
      (isStemKnown ? doubtful : unknown).push(`\u201c${word}\u201d`);
      return known.get(similar);
    });
    const advice = [
      unknown.length ? `No page has ${unknown.join(" or ")}.` : "",
      doubtful.length ? `Perhaps ${doubtful.join(" and ")} is misspelt.` : "",
    ];
    return [corrected, advice.filter((sentence) => sentence).join(" ")];
  }

  // Not as a part of another word, as Sphinx also finds it: "labl" is in "callable".
  function isOnPages(word) {
    const { terms, titleterms } = Search._index;
    const forms = [word, stemmer.stemWord(word)];
    return forms.some((form) => Object.hasOwn(terms, form) || Object.hasOwn(titleterms, form));
  }

  // Return the words of titles, entries of the index and names, and how they are written: with their
  // capitals, if these are not only the first letters. Of the text only stems are known.
  function listWholeWords() {
    const { alltitles, indexentries, objects } = Search._index;
    const names = Object.values(objects).flatMap((members) => members.map((member) => member[4]));
    const known = new Map();
    for (const phrase of [...Object.keys(indexentries), ...Object.keys(alltitles), ...names]) {
      for (const word of splitQuery(phrase)) {
        const lower = word.toLowerCase();
        if (!known.has(lower) || /.\p{Uppercase}/u.test(word))
          known.set(lower, /.\p{Uppercase}/u.test(word) ? word : lower);
      }
    }
    return known;
  }

  // Return the known word that a long word with a known stem may be: that differs in one letter at
  // the end of the stem or behind it. So "convertions" is "conversions", though "convert" is known.
  function findSimilarEnding(word, known) {
    const stem = stemmer.stemWord(word);
    if (word.length < LONG || stem === word) return null;
    const start = word.slice(0, stem.length - 1);
    const others = [...known.keys()].filter(
      (other) => other.startsWith(start) && stemmer.stemWord(other) !== stem,
    );
    return findSimilarWord(word, others, 1);
  }

  // Return the known word with the fewest letters that differ; of several, that on the most pages.
  function findSimilarWord(word, known, most = word.length >= LONG ? 2 : 1) {
    let [best, least, pages] = [null, most + 1, 0];
    for (const other of known) {
      if (Math.abs(other.length - word.length) > most || stopwords.has(other)) continue;
      if (word.length < LEAST_REPLACED && sortLetters(word) !== sortLetters(other)) continue;
      const distance = countDifferences(word, other);
      if (distance > Math.min(least, most)) continue;
      const count = findWord(stemmer.stemWord(other)).length;
      if (distance < least || count > pages) [best, least, pages] = [other, distance, count];
    }
    return best;
  }

  function sortLetters(word) {
    return [...word].sort().join("");
  }

  // Count the letters that are missing, added, replaced, or swapped with their neighbours.
  function countDifferences(word, other) {
    let [before, last] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
    for (let row = 1; row <= word.length; row += 1) {
      const next = [row];
      for (let column = 1; column <= other.length; column += 1) {
        const isSame = word[row - 1] === other[column - 1];
        const replaced = last[column - 1] + (isSame ? 0 : 1);
        next[column] = Math.min(replaced, last[column] + 1, next[column - 1] + 1);
        const isSwapped = word[row - 1] === other[column - 2] && word[row - 2] === other[column - 1];
        if (isSwapped) next[column] = Math.min(next[column], before[column - 2] + 1);
      }
      [before, last] = [last, next];
    }
    return last[other.length];
  }

  // Say whether a title, or an entry of the index, is much like the query, as Sphinx compares them.
  function isInTitleOrIndex(query) {
    const searched = query.toLowerCase();
    const isLike = (name) =>
      name.toLowerCase().includes(searched) && searched.length >= name.length / 2;
    const { alltitles, indexentries } = Search._index;
    return [alltitles, indexentries].some((table) => Object.keys(table).some(isLike));
  }

  // Return the pages with any of the words, with the number of words that each has and a score: the
  // mean of the scores of its words, in which rare words weigh more.
  function findPagesByWord(words, excluded) {
    const pages = new Map();
    let weights = 0;
    for (const word of words) {
      const found = findWord(word, excluded, words);
      const weight = Math.log((2 + Search._index.docnames.length) / (1 + found.length));
      weights += weight;
      for (const result of found) {
        const page = pages.get(result[0]) ?? { result, count: 0, sum: 0 };
        page.count += 1;
        page.sum += weight * result[4];
        pages.set(result[0], page);
      }
    }
    return [...pages.values()].map(({ result, count, sum }) => {
      return { result: Object.assign([...result], { 4: sum / weights }), count };
    });
  }

  // Return the pages that have a word in their text, their titles or an entry of the index of theirs.
  // An entry counts if half of its words, or more, are among the words of the query.
  function findWord(word, excluded, words = [word]) {
    const found = sphinx.performTermsSearch(new Set([word]), excluded ?? new Set());
    const { docnames, filenames, indexentries, titles } = Search._index;
    const known = new Set(found.map((result) => result[0]));
    for (const [entry, places] of Object.entries(indexentries)) {
      const parts = splitQuery(entry.toLowerCase()).filter((part) => !isCommon(part));
      const stems = parts.map((part) => stemmer.stemWord(part));
      const count = stems.filter((stem) => words.includes(stem)).length;
      if (!stems.includes(word) || count < stems.length / 2) continue;
      for (const [page, anchor, isMain] of places) {
        const name = docnames[page];
        const place = anchor ? `#${anchor}` : "";
        const result =
          [name, titles[page], place, null, ENTRY, filenames[page], SearchResultKind.index];
        if (!known.has(name)) found.push(result);
        else if (isMain) raiseScore(found.find((other) => other[0] === name), ENTRY);
        known.add(name);
      }
    }
    return found;
  }

  function raiseScore(result, score) {
    result[4] = Math.max(result[4], score);
  }

  // Return the pages with all words; if these are few, also those with several, and give notice of it.
  function choosePages(pages, wordCount) {
    const most = Math.max(...pages.map((page) => page.count), 0);
    const full = pages.filter((page) => page.count === wordCount);
    if (full.length >= FEW || most === 0) return full.map((page) => page.result);
    const wanted = wordCount < LONG_QUERY ? Math.floor(wordCount / 2) + 1 : Math.ceil(wordCount * 0.4);
    const least = Math.min(most, wanted);
    const chosen = pages.filter((page) => page.count >= least);
    if (full.length === 0) notice = "No page has all of these words. These pages have several of them:";
    else if (chosen.length > full.length)
      notice = "Few pages have all of these words. Also listed are pages with several of them:";
    return chosen.map((page) => page.result);
  }

  // Return the results with those that are called like the query last, which Sphinx shows first:
  // all in the query's own case, such as the classes Problem of all settings, or else one.
  function putNamedLast(results, query) {
    const name = query.replace(/\(\)$/, "");
    const called = results.filter((result) => isCalled(result, name));
    const methods = results.filter((result) => isMethodCalled(result, query));
    const named = methods.length <= MOST_METHODS ? [...called, ...methods] : called;
    named.sort((one, other) => other[1].length - one[1].length || (one[1] < other[1] ? 1 : -1));
    const exact = named.filter((result) => `.${result[1]}`.endsWith(`.${name}`));
    const last = exact.length ? exact : named.slice(-1);
    return [...results.filter((result) => !last.includes(result)), ...last];
  }

  // Return the results without those of pages of which a better one is listed: the best are last.
  function listPagesOnce(results) {
    const listed = new Set();
    return results
      .reverse()
      .filter(([page, , , , , , kind]) => {
        const isNew = !listed.has(page);
        listed.add(page);
        return isNew || kind === SearchResultKind.object;
      })
      .reverse();
  }

  // Modules are found by their full names: the last part of these is a word of the guides.
  function isCalled([, fullName, , description, , , kind], name) {
    if (kind !== SearchResultKind.object) return false;
    const [lower, searched] = [fullName.toLowerCase(), name.toLowerCase()];
    if (lower === searched) return true;
    const isFoundByName =
      searched.includes(".") || FOUND_BY_NAME.some((start) => description.startsWith(`${start},`));
    return isFoundByName && lower.endsWith(`.${searched}`);
  }

  // Methods, properties and attributes, whose names are also words, such as "plot", unless they have
  // an underscore or are typed with parentheses.
  function isMethodCalled([, fullName, , description, , , kind], query) {
    const isName = query.includes("_") || query.endsWith("()");
    if (kind !== SearchResultKind.object || !isName || description.startsWith("Python module,"))
      return false;
    const isFoundAnyway = FOUND_BY_NAME.some((start) => description.startsWith(`${start},`));
    return !isFoundAnyway && fullName.endsWith(`.${query.replace(/\(\)$/, "")}`);
  }

  function addElement(tag, text, neighbour, place = "beforeend") {
    const element = document.createElement(tag);
    element.textContent = text;
    neighbour.insertAdjacentElement(place, element);
    return element;
  }

  function showHelp(advice) {
    const results = document.getElementById("search-results");
    addElement("p", advice, results).className = "search-notice";
    const list = addElement("ul", "", results);
    list.className = "search-help";
    for (const [page, title, content] of HELP) {
      const item = addElement("li", "", list);
      addElement("a", title, item).href = page + PAGE_SUFFIX;
      item.append(` ${content}`);
    }
  }

  if (!new URLSearchParams(location.search).get("q")) {
    addElement("h2", "Search", document.getElementById("search-results"));
    showHelp("Type words, a question or a name into the field for the search, or begin here:");
  }
})();
