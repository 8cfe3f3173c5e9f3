/** The explorer's host in a notebook: Python keeps the runs and the file of decisions. */
function exploringHost(model, kernel) {
  return {
    index: JSON.parse(model.get("grid")),
    rater: model.get("rater"),
    run: (at) => kernel.ask("run", at),
    search: (words) => kernel.ask("search", words),
    decide: (decision) => kernel.ask("decide", decision),
    decided: (rater) => kernel.ask("decided", rater),
    link: (address) => address,
    moved: (address) => {
      model.set("at", address);
      model.save_changes();
    },
  };
}

function render({ model, el }) {
  const parent = make("div", { class: "axisjudge-explorer", "data-lm-suppress-shortcuts": "true" });
  el.append(parent);
  const kernel = new Kernel(model);
  const stop = followTheme(parent);
  const explorer = new Explorer(exploringHost(model, kernel));
  mount(parent, explorer.element);
  explorer.visit(model.get("at"));
  const onAt = () => {
    const { filters, items, place } = { filters: explorer.filters.filters, items: explorer.items, place: explorer.place };
    if (model.get("at") !== addressOf(filters, items, place)) explorer.visit(model.get("at"));
  };
  model.on("change:at", onAt);
  return () => {
    stop();
    model.off("change:at", onAt);
    kernel.close();
  };
}

export default { render };
