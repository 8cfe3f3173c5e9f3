/** Several runs: a list of them beside the one that is open, which the address names after its `#`. */
class Timelines {
  constructor({ runs, opened }, read) {
    Object.assign(this, { runs, opened, read });
    this.links = runs.map(({ run, of, result, band }) =>
      make("a", { href: `#${encodeURIComponent(run)}` }, make("strong", {}, [result, band].filter(Boolean).join(", ")), make("span", {}, run), make("span", { class: "quiet" }, of)),
    );
    this.one = make("div", {});
    const list = make("nav", { "aria-label": "Runs" }, make("h2", {}, `${runs.length} runs`), make("ol", {}, this.links.map((link) => make("li", {}, link))));
    this.element = make("div", { class: "timelines" }, list, this.one);
    addEventListener("hashchange", () => this.open());
  }

  /** Open the run that the address names; without one, the first to be seen. */
  open() {
    const named = this.links.findIndex((link) => link.getAttribute("href") === location.hash);
    const at = named < 0 ? this.opened : named;
    this.links.forEach((link, k) => (k === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    this.one.replaceChildren(new Timeline(this.read(at)).element);
    this.links[at].scrollIntoView({ block: "nearest" });
  }
}

function beginTimeline() {
  const parent = document.getElementById("timeline");
  followTheme(parent);
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const listed = read("timelines");
  if (listed.runs.length === 1) return mount(parent, new Timeline(read("run-0")).element);
  const timelines = new Timelines(listed, (at) => read(`run-${at}`));
  mount(parent, timelines.element);
  timelines.open();
}

beginTimeline();
