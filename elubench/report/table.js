// Sorts and filters a table of claims. Its headings with the class "sorts" become buttons; above it come
// a field for text and a button for each verdict. Without this script it is a plain table.
(() => {
  "use strict";
  const folded = (value) => value.toLocaleLowerCase("en").replace(/\s+/g, " ");

  function live(table) {
    const body = table.tBodies[0], rows = [...body.rows], off = new Set();
    const said = new Map(rows.map((row) => [row, folded(row.textContent)]));
    const tools = document.createElement("div"), label = document.createElement("label");
    const field = document.createElement("input"), count = document.createElement("span");
    tools.className = "tools";
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Filter the table");
    field.type = "search";
    count.setAttribute("role", "status");
    label.append("Find ", field);
    tools.append(label);

    function filter() {
      const wanted = folded(field.value).trim();
      let shown = 0;
      for (const row of rows) {
        row.hidden = off.has(row.dataset.verdict) || !said.get(row).includes(wanted);
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${rows.length} shown`;
    }

    const verdicts = new Map();
    for (const row of rows) verdicts.set(row.dataset.verdict, (verdicts.get(row.dataset.verdict) || 0) + 1);
    const buttons = [...verdicts].map(([verdict, many]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${verdict} (${many})`;
      button.setAttribute("aria-pressed", true);
      button.addEventListener("click", () => {
        off.has(verdict) ? off.delete(verdict) : off.add(verdict);
        button.setAttribute("aria-pressed", !off.has(verdict));
        filter();
      });
      return button;
    });
    tools.append(...buttons, count);
    field.addEventListener("input", filter);

    for (const head of table.tHead.querySelectorAll("th.sorts")) {
      const button = document.createElement("button"), place = head.cellIndex;
      const key = (row) => row.cells[place].dataset.sort || row.cells[place].textContent;
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "" }[head.ariaSort] ?? "ascending";
        for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
        const order = [...rows];
        if (next) {
          head.setAttribute("aria-sort", next);
          const sign = next === "ascending" ? 1 : -1;
          order.sort((one, two) => sign * key(one).localeCompare(key(two), "en", { numeric: true }));
        }
        body.append(...order);
      });
    }

    // A link to a row that the filter hides shows all rows again.
    window.addEventListener("hashchange", () => {
      const row = document.getElementById(location.hash.slice(1));
      if (!rows.includes(row) || !row.hidden) return;
      off.clear();
      field.value = "";
      for (const button of buttons) button.setAttribute("aria-pressed", true);
      filter();
      row.scrollIntoView();
    });

    table.before(tools);
    table.classList.add("live");
    filter();
  }

  document.querySelectorAll("table.claims").forEach(live);
})();
