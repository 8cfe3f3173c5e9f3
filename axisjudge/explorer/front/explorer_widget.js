/** The explorer's host in a notebook: Python keeps the runs and the file of decisions. */
function exploringHost(model, kernel) {
  const [unsent, index] = [new Unsent(model.get("place")), JSON.parse(model.get("grid"))];
  const send = (change, run, late) => kernel.ask("decide", { ...change, run }, late).then(() => unsent.sent(change));
  return {
    index,
    rater: model.get("rater"),
    run: (at) => kernel.ask("run", at),
    search: (words) => kernel.ask("search", words),
    decide: (decision, late) => {
      const { run, ...change } = { ...decision, item: index.runs[decision.run].id, axis: decision.question };
      unsent.keep(change);
      return send(change, run, late);
    },
    /** Decisions that never reached Python are sent again; each that does is shown by `named`. */
    replay: (byId, named) => {
      const left = Object.values(unsent.all()).filter(({ item }) => byId.has(item));
      left.forEach((change) => send(change, byId.get(change.item)).then(() => named(change.rater), () => {}));
    },
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
  explorer.host.replay(explorer.items.byId, (rater) => explorer.named(rater));
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
