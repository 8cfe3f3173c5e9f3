/** The labeller's host where Python keeps the trajectories and the file, and is asked. */
function kernelHost(kernel, about, leave) {
  const unsent = new Unsent(about.place, ({ label }) => label);
  const ask = (kind, content, late) => kernel.ask(kind, { rater: about.rater, content }, late);
  return {
    about,
    leave,
    start: async () => {
      const state = await ask("start", null);
      return replayed(state, await unsent.left(about.rater, new Map(Object.entries(state.labels))));
    },
    item: (n) => ask("item", n),
    save: async (change, labeller) => {
      unsent.keep(about.rater, change);
      await ask("save", change, (why) => labeller.warn(`Not saved: ${why}`));
      unsent.sent(about.rater, change, change.label);
    },
  };
}

/** Where one stopped, with what never reached Python on top; `replay` is saved as soon as the labeller is there, `older` can be undone to. */
function replayed(state, { left, older }) {
  const replay = [];
  for (const { item, axis, label } of left) {
    const name = `${item}/${axis}`;
    const before = state.labels[name] ?? NOTHING;
    if (isSame(before, label)) continue;
    state.history.push({ item, axis, before });
    state.labels[name] = label;
    replay.push([item, axis]);
  }
  state.history.push(...older.map(({ item, axis, label }) => ({ item, axis, before: label })));
  return { ...state, replay, older: older.length };
}

/** A labeller in `parent` whose every question goes to Python by `asking.ask`; `who()` opens the sitting, `leave` ends it. */
async function askedLabeller(parent, asking, who, leave) {
  const note = make("p", { class: "waiting", role: "status" }, "Opening the labels…");
  let labeller = null;
  asking.late = (why) => {
    if (labeller) labeller.wait(why);
    else note.textContent = why ? `Opening the labels: ${why}.` : "Opening the labels…";
  };
  mount(parent, note);
  const host = kernelHost(asking, await who(), () => {
    labeller.flush();
    leave();
  });
  mount(parent, note);
  labeller = new Labeller(host, await host.start());
  mount(parent, labeller.element);
  await labeller.open();
  return labeller;
}

const failed = (parent) => (error) => mount(parent, make("p", { class: "waiting error", role: "alert" }, error.message));
