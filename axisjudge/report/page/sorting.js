// Tables are sorted by a press on a heading (up, down, as they were) and searched; without this they stand as they are.
// What is missing stands last, up and down; numbers within words go by their value: task 9 before task 10.
const words = new Intl.Collator("en", { numeric: true });
const ordered = (sign) => (one, other) => {
  if (one === "" || other === "") return (one === "") - (other === "");
  return sign * (isNaN(one) || isNaN(other) ? words.compare(one, other) : one - other);
};
const bare = (cell) => DataTable.util.stripHtml(String(cell)).trim().replace(/^–$/, "");
DataTable.type("cell", { order: { pre: bare, asc: ordered(1), desc: ordered(-1) } });

globalThis.axisjudgeSort = () => {
  for (const table of document.querySelectorAll("table.axisjudge-table.sortable:not(.dataTable)")) {
    const shown = new DataTable(table, {
      order: [],
      paging: false,
      autoWidth: false,
      columnDefs: [{ targets: "_all", type: "cell" }],
      layout: { topStart: "search", topEnd: "info", bottomStart: null, bottomEnd: null },
      language: {
        search: "Search",
        info: "_TOTAL_",
        infoEmpty: "0",
        infoFiltered: "of _MAX_",
        infoPostFix: " rows",
        zeroRecords: "No row holds these words",
      },
    });
    for (const head of table.tHead.querySelectorAll("th")) {
      head.ariaLabel = head.querySelector(".dt-column-title").textContent; // and not that, and once more on its button
    }
    const name = (table.caption?.textContent ?? "").split(". ")[0];
    const container = shown.table().container();
    container.style.minWidth = `min(${container.offsetWidth}px, 100%)`; // it does not move while one types
    container.querySelector("input").setAttribute("aria-label", `Search ${name}`.trim());
  }
};
axisjudgeSort();
