// Opens the folded parts that a link leads into; sorts tables by their headings, and copies them.
(() => {
  function openTarget() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* no id of this page */ }
    const target = document.getElementById(id);
    for (let part = target; part; part = part.parentElement)
      if (part.tagName === "DETAILS") part.open = true;
    target?.scrollIntoView();
  }
  // The script runs again when a page of the service has news. This part runs only once, so that news does not scroll the page.
  if (!window.keyholePage) {
    window.keyholePage = true;
    addEventListener("hashchange", openTarget);
    openTarget();

    // Browsers without ::details-content print only what is open.
    addEventListener("beforeprint", () => {
      for (const part of document.querySelectorAll("details:not([open])")) {
        part.open = part.dataset.printed = true;
      }
    });
    addEventListener("afterprint", () => {
      for (const part of document.querySelectorAll("details[data-printed]")) {
        part.open = false;
        delete part.dataset.printed;
      }
    });
  }

  // Returns the first number of a cell, such as "1,234 [1,100, 1,300]", or the cell's text, such as a date.
  function sortKey(cell) {
    const text = (cell?.textContent ?? "").trim().replace(/\u2212/g, "-");
    const match = text.replace(/,(?=\d{3})/g, "").match(/^(?:ln )?([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![-:.\d])/);
    return match ? Number(match[1]) : text;
  }

  function compare(a, b) {
    if (a === "" || b === "") return (a === "") - (b === ""); // empty cells come last, either way
    if (typeof a === "number" && typeof b === "number") return a - b;
    // Numbers within texts are compared as decimals: "APT(.05)" before "APT(.1)", "means 2" before "means 10".
    const [left, right] = [a, b].map(text => String(text).split(/(\d*\.?\d+)/));
    for (let i = 0; i < Math.min(left.length, right.length); i++) {
      const order = i % 2 ? left[i] - right[i] : left[i].localeCompare(right[i]);
      if (order) return order;
    }
    return left.length - right.length;
  }

  function makeSortable(table) {
    const heads = [...table.querySelectorAll("thead th")];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const keyed = [...body.rows].map(row => [sortKey(row.cells[column]), row]);
        keyed.sort(([a], [b]) => (a === "" || b === "" ? compare(a, b) : direction * compare(a, b)));
        body.replaceChildren(...keyed.map(([, row]) => row));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      });
    });
  }

  function addCopyButton(table) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy table";
    button.addEventListener("click", async () => {
      const lines = [...table.rows].map(row =>
        [...row.cells].map(cell => cell.innerText.trim().replace(/\s+/g, " ")).join("\t"));
      const copied = navigator.clipboard.writeText(lines.join("\n"));
      button.textContent = await copied.then(() => "Copied", () => "Not allowed to copy");
      setTimeout(() => { button.textContent = "Copy table"; }, 2000);
    });
    table.parentElement.after(button);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length > 1) makeSortable(table);
    if (navigator.clipboard) addCopyButton(table);
  }
})();
