/** The labeller's host where Python keeps the trajectories and the file, and is asked. */
function kernelHost(kernel, about, leave) {
  const unsent = new Unsent(about.place);
  const shown = new Map();
  const ask = (kind, content, late) => kernel.ask(kind, () => ({ rater: about.rater, content: asOfNow(content) }), late);
  return {
    about,
    leave,
    start: async () => replayed(await ask("start", null), await unsent.left(about.rater)),
    item: async (n) => {
      const run = await ask("item", n);
      shown.set(n, run.shown);
      return run;
    },
    save: async (change, labeller) => {
      change.shown ??= shown.get(change.item);
      unsent.keep(about.rater, change);
      const until = () => (change.isAlone ? "leave this page open until then: this browser keeps nothing" : "until then it waits in this browser");
      const stands = await ask("save", () => withAge(change), (why) => labeller.warn(`Not saved: ${why}; ${until()}`));
      unsent.sent(about.rater, change);
      return stands;
    },
  };
}

/** Where one stopped, with what never reached Python on top; `replay` is saved as soon as the labeller is there. */
function replayed(state, replay) {
  for (const { item, axis, label } of replay) {
    const name = `${item}/${axis}`;
    const before = state.labels[name] ?? NOTHING;
    if (!isSame(before, label)) state.history.push({ item, axis, before });
    state.labels[name] = label;
  }
  return { ...state, replay };
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
