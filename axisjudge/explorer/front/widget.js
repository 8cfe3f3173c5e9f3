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
  const me = sitting(`labels:${location.pathname}:${model.get("about").rater ?? ""}`);
  const stop = followTheme(parent);
  const kernel = new Kernel(model);
  let labeller = null;
  const begin = () => askedLabeller(parent, kernel, () => named(kernel, parent, model.get("about"), me), leave).then((opened) => (labeller = opened), failed(parent));
  const leave = () => {
    me.set(null);
    me.isLeft = true;
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
