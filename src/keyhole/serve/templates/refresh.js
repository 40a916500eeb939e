// Keeps an open page up to date, and leaves what the reader has opened or typed as it is.
(() => {
  if (window.keyholeRefresh) return;
  window.keyholeRefresh = true;
  async function refresh() {
    const focus = document.activeElement;
    const isTyped = [...document.querySelectorAll("form input, form textarea")].some(field => field.value !== field.defaultValue);
    if (document.hidden || isTyped || focus?.closest("form, figure")) return;
    const answer = await fetch(`${location.pathname}?seq=${document.getElementById("news").dataset.seq}`);
    if (answer.status === 401) location.reload(); // the key has ended: the page asks for one
    if (answer.status !== 200) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = new Set([...document.querySelectorAll("details[open] > summary > h2")].map(h => h.id));
    const focusId = focus?.id;
    document.querySelector("main").replaceWith(page.querySelector("main"));
    for (const head of document.querySelectorAll("details > summary > h2"))
      head.closest("details").open = open.has(head.id);
    if (focusId) document.getElementById(focusId)?.focus();
    document.getElementById("news").textContent = "The page shows new events.";
    // Run the scripts of tables and charts again, for the new tables and charts.
    for (const old of page.querySelectorAll("body > script")) {
      const script = document.createElement("script");
      script.textContent = old.textContent;
      document.body.append(script);
      script.remove();
    }
  }
  setInterval(() => refresh().catch(() => {}), 3000);
})();
