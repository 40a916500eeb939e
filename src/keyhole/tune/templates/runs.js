(async () => {
  const box = document.currentScript.parentElement;
  const packed = atob(box.querySelector("script[type='text/plain']").textContent);
  const bytes = Uint8Array.from(packed, letter => letter.charCodeAt(0));
  const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const rows = await new Response(json).json();
  const [body, select, search, count, more] =
    ["tbody", "select", "input", "output", ".more"].map(name => box.querySelector(name));
  const heads = [...box.querySelectorAll("th")];
  const outcome = heads.findIndex(head => head.textContent === "outcome");
  const page = 200;
  let column = 0, way = 1, most = page;

  for (const word of new Set(rows.map(row => row[outcome]))) select.add(new Option(word, word));

  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return (typeof a === "number" ? a - b : String(a).localeCompare(String(b))) * way;
  };

  function show() {
    const wanted = search.value.toLowerCase();
    const found = rows.filter(row => (!select.value || row[outcome] === select.value)
      && (!wanted || row.some(cell => String(cell ?? "").toLowerCase().includes(wanted))));
    found.sort((a, b) => compare(a[column], b[column]));
    body.replaceChildren(...found.slice(0, most).map(row => {
      const line = document.createElement("tr");
      line.append(...row.map(cell => {
        const field = document.createElement("td");
        field.textContent = cell ?? "";
        return field;
      }));
      return line;
    }));
    count.value = `${Math.min(most, found.length)} of ${found.length} shown, ${rows.length} in all`;
    more.hidden = found.length <= most;
    heads.forEach((head, k) => head.setAttribute("aria-sort",
      k !== column ? "none" : way > 0 ? "ascending" : "descending"));
  }

  heads.forEach((head, k) => head.firstElementChild.addEventListener("click", () => {
    way = k === column ? -way : 1;
    column = k;
    show();
  }));
  for (const [field, event] of [[select, "change"], [search, "input"]])
    field.addEventListener(event, () => { most = page; show(); });
  more.addEventListener("click", () => { most += 10 * page; show(); });
  show();
})();
