/** The labeller's host in a notebook: Python keeps the trajectories and the file. */
function kernelHost(kernel, about, leave) {
  const unsent = new Unsent(about.place);
  const ask = (kind, content, late) => kernel.ask(kind, { rater: about.rater, content }, late);
  return {
    about,
    leave,
    start: async () => replayed(await ask("start", null), await unsent.left(about.rater)),
    item: (n) => ask("item", n),
    save: async (change, labeller) => {
      unsent.keep(about.rater, change);
      await ask("save", change, (why) => labeller.warn(why));
      unsent.sent(about.rater, change);
    },
  };
}

/** Where one stopped, with what never reached Python on top; `replay` is saved as soon as the labeller is there. */
function replayed(state, unsent) {
  const replay = [];
  for (const { item, axis, label } of unsent) {
    const name = `${item}/${axis}`;
    const before = state.labels[name] ?? NOTHING;
    if (isSame(before, label)) continue;
    state.history.push({ item, axis, before });
    state.labels[name] = label;
    replay.push([item, axis]);
  }
  return { ...state, replay };
}

/** Who labels: whom the cell names, the person of this tab, or who says so now; Python opens that person's labels. */
async function named(kernel, parent, { rater, welcome }, me) {
  let why = "";
  for (let name = me.get() ?? (me.isLeft ? null : rater); ; name = null) {
    try {
      const about = await kernel.ask("name", name ?? (await askName(parent, welcome, why)));
      me.set(about.rater);
      return about;
    } catch (error) {
      why = error.message;
    }
  }
}

async function render({ model, el }) {
  const parent = make("div", { class: "axisjudge-labeller", "data-lm-suppress-shortcuts": "true" });
  el.append(parent);
  const me = sitting(`labels:${location.pathname}`);
  const note = make("p", { class: "waiting", role: "status" }, "Opening the labels…");
  mount(parent, note);
  const stop = followTheme(parent);
  let labeller = null;
  const kernel = new Kernel(model, (why) => {
    if (labeller) labeller.wait(why);
    else note.textContent = why ? `Opening the labels: ${why}.` : "Opening the labels…";
  });
  const open = async () => {
    const host = kernelHost(kernel, await named(kernel, parent, model.get("about"), me), leave);
    mount(parent, note);
    labeller = new Labeller(host, await host.start());
    mount(parent, labeller.element);
    await labeller.open();
  };
  const begin = () => open().catch((error) => mount(parent, make("p", { class: "waiting error", role: "alert" }, error.message)));
  const leave = () => {
    labeller.flush();
    labeller = null;
    me.set(null);
    me.isLeft = true;
    mount(parent, note);
    begin();
  };
  begin();
  return () => {
    labeller?.flush();
    stop();
    kernel.close();
  };
}

export default { render };
