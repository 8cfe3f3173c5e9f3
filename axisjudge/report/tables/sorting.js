// Tables are sorted by a press on a heading (up, down, as they were) and searched; without this they stand as they are.
globalThis.axisjudgeSort = () => {
  for (const table of document.querySelectorAll("table.axisjudge-table.sortable:not(.dataTable)")) {
    const shown = new DataTable(table, {
      order: [],
      paging: false,
      autoWidth: false,
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
