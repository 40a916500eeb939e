(async () => {
  const box = document.currentScript.parentElement;
  const compressed = atob(box.querySelector("script[type='text/plain']").textContent);
  const bytes = Uint8Array.from(compressed, letter => letter.charCodeAt(0));
  const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const rows = await new Response(json).json();
  const [body, select, search, output, more] =
    ["tbody", "select", "input", "output", ".more"].map(name => box.querySelector(name));
  const heads = [...box.querySelectorAll("th")];
  const outcomeColumn = heads.findIndex(head => head.textContent === "outcome");
  const pageSize = 200;
  let sortColumn = 0, direction = 1, shownCount = pageSize;

  const outcomes = new Set(rows.map(row => row[outcomeColumn]));
  for (const word of outcomes) select.add(new Option(word, word));

  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return (typeof a === "number" ? a - b : String(a).localeCompare(String(b))) * direction;
  };

  function show() {
    const text = search.value.toLowerCase();
    const matches = rows.filter(row => (!select.value || row[outcomeColumn] === select.value)
      && (!text || row.some(cell => String(cell ?? "").toLowerCase().includes(text))));
    matches.sort((a, b) => compare(a[sortColumn], b[sortColumn]));
    body.replaceChildren(...matches.slice(0, shownCount).map(row => {
      const line = document.createElement("tr");
      line.append(...row.map(cell => {
        const field = document.createElement("td");
        field.textContent = cell ?? "";
        return field;
      }));
      return line;
    }));
    const count = Math.min(shownCount, matches.length);
    output.value = `${count} of ${matches.length} shown, ${rows.length} in all`;
    more.hidden = matches.length <= shownCount;
    heads.forEach((head, k) => head.setAttribute("aria-sort",
      k !== sortColumn ? "none" : direction > 0 ? "ascending" : "descending"));
  }

  heads.forEach((head, k) => head.firstElementChild.addEventListener("click", () => {
    direction = k === sortColumn ? -direction : 1;
    sortColumn = k;
    show();
  }));
  for (const [field, event] of [[select, "change"], [search, "input"]])
    field.addEventListener(event, () => { shownCount = pageSize; show(); });
  more.addEventListener("click", () => { shownCount += 10 * pageSize; show(); });
  show();
})();
