/** The labeller's host in a notebook: Python keeps the trajectories and the file. */
function kernelHost(kernel, about) {
  const unsent = new Unsent(about.place);
  return {
    about,
    start: async (late) => replayed(await kernel.ask("start", null, late), unsent.all()),
    item: (n) => kernel.ask("item", n),
    save: async (change, labeller) => {
      unsent.keep(change);
      await kernel.ask("save", change, (why) => labeller.warn(why));
      unsent.sent(change);
    },
  };
}

/** Where one stopped, with what never reached Python on top; `replay` is saved as soon as the labeller is there. */
function replayed(state, unsent) {
  const replay = [];
  for (const [name, { item, axis, label }] of Object.entries(unsent)) {
    const before = state.labels[name] ?? NOTHING;
    if (isSame(before, label)) continue;
    state.history.push({ item, axis, before });
    state.labels[name] = label;
    replay.push([item, axis]);
  }
  return { ...state, replay };
}

/** The name, where the notebook does not say it: asked for here, and given to Python, which opens that person's labels. */
async function named(kernel, parent, about) {
  let why = "";
  while (!about.place) {
    const rater = await askName(parent, about.welcome, why);
    try {
      about = await kernel.ask("name", rater);
    } catch (error) {
      why = error.message;
    }
  }
  return about;
}

async function render({ model, el }) {
  const parent = make("div", { class: "axisjudge-labeller", "data-lm-suppress-shortcuts": "true" });
  el.append(parent);
  const note = make("p", { class: "waiting", role: "status" }, "Opening the labels…");
  mount(parent, note);
  const stop = followTheme(parent);
  const kernel = new Kernel(model);
  const open = async () => {
    const host = kernelHost(kernel, await named(kernel, parent, model.get("about")));
    mount(parent, note);
    const state = await host.start(() => (note.textContent = "The kernel does not answer. Run the cell above to label."));
    const labeller = new Labeller(host, state);
    mount(parent, labeller.element);
    await labeller.open();
  };
  open().catch((error) => mount(parent, make("p", { class: "waiting error", role: "alert" }, error.message)));
  return () => {
    stop();
    kernel.close();
  };
}

export default { render };
