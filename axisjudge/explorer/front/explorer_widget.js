/** The explorer's host in a notebook: Python keeps the runs and the files of decisions. */
function exploringHost(model, kernel, said) {
  const [unsent, index] = [new Unsent(model.get("place")), JSON.parse(model.get("grid"))];
  const byId = new Map(index.runs.map(({ id }, at) => [id, at]));
  /** Whether something that was said later stands. */
  const send = async (change, run, late) => {
    const isOlder = await kernel.ask("decide", () => withAge({ ...change, run }), late);
    await unsent.sent(change.rater, change);
    if (isOlder) said(`A decision of ${change.rater} is older than what they said elsewhere, which stands; its trail keeps both`);
    return isOlder;
  };
  /** What Python has of a person, after what never reached it was sent again. */
  const again = async (rater) => {
    const lines = await kernel.ask("decided", rater);
    const left = await unsent.left(rater, ({ item }) => byId.has(item));
    for (const change of left) await send(change, byId.get(change.item));
    return left.length ? kernel.ask("decided", rater) : lines;
  };
  return {
    index,
    kept: unsent.kept,
    me: sitting(`decisions:${location.pathname}:${model.get("rater") ?? ""}`),
    run: (at) => kernel.ask("run", at),
    search: (words) => kernel.ask("search", words),
    decide: ({ run, ...rest }, late) => {
      const change = { ...rest, item: index.runs[run].id, axis: rest.question, at: Date.now() };
      unsent.keep(change.rater, change);
      return send(change, run, late);
    },
    lines: again,
    /** What others said while no kernel answered goes to their files, whoever sits here now. */
    replay: async (rater) => {
      const others = (await unsent.kept.people()).filter((person) => person !== rater);
      for (const person of others) await again(person);
      if (others.length && rater) await again(rater); // Python's last person is whoever sits here
    },
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
  let explorer = null;
  const kernel = new Kernel(model, (why) => explorer?.wait(why));
  const stop = followTheme(parent);
  explorer = new Explorer(exploringHost(model, kernel, (words) => explorer.say(words)));
  mount(parent, explorer.element);
  explorer.visit(model.get("at"));
  const rater = explorer.host.me.get() ?? model.get("rater");
  explorer.decisions.enter(rater);
  explorer.host.replay(rater).catch((error) => explorer.say(error.message));
  const onAt = () => {
    const { filters, items, place } = { filters: explorer.filters.filters, items: explorer.items, place: explorer.place };
    if (model.get("at") !== addressOf(filters, items, place)) explorer.visit(model.get("at"));
  };
  model.on("change:at", onAt);
  return () => {
    explorer.opened.deciding.flush();
    stop();
    model.off("change:at", onAt);
    kernel.close();
  };
}

export default { render };
