/** Other texts than tool results and the system's stay open up to this length. */
const LONG = 4000;

const ROLES = { system: "System", user: "User", assistant: "Agent", tool: "Tool result" };

/** Steps whose text is laid out at once, and those beside a step that is come to. */
const [FIRST, NEAR] = [8, 2];
/** Steps that come into the document together. */
const GROUP = 5;

/** One run: what the agent was given, its numbered steps, how it ended. `cite(index)` is called for a clicked number.
 * Steps are put into the document in groups as these come into view, and the text of each when it does: a run has hundreds.
 */
class Steps {
  /** isAsSent: every text as it stands in the record and whole, calls as JSON; else laid out and folded, to be read. */
  constructor(run, cite, isAsSent = false) {
    this.isAsSent = isAsSent;
    this.watch = new IntersectionObserver((seen) => seen.forEach(({ isIntersecting, target }) => isIntersecting && target.come()));
    this.steps = run.steps.map((step) => this.#step(step, cite));
    Steps.latest = this;
    this.current = 0;
    this.element = make(
      "div",
      { class: "run" },
      this.#given(run),
      make("ol", { class: "steps" }, this.#grouped()),
      make("p", { class: "ended" }, "How the run ended: ", make("strong", {}, run.ended ?? "the source does not say")),
    );
    for (let index = 0; index < Math.min(FIRST, this.steps.length); index += 1) this.lay(index, 0);
  }

  /** What stands for each group of steps until it comes into view. */
  #grouped() {
    const groups = [];
    for (let first = 0; first < this.steps.length; first += GROUP) {
      const group = this.steps.slice(first, first + GROUP);
      const later = make("li", { "aria-label": `Steps ${first} to ${first + group.length - 1}` });
      later.style.minHeight = `${group.reduce((sum, { height }) => sum + height, 0)}rem`;
      later.come = () => {
        this.watch.unobserve(later);
        later.replaceWith(...group.map(({ item }) => item));
        for (const step of group) step.later = null;
      };
      for (const step of group) step.later = later;
      this.watch.observe(later);
      groups.push(later);
    }
    return groups;
  }

  /** The steps one by one, for who sets them out in another way. */
  articles() {
    for (const step of this.steps) step.later?.come();
    return this.steps.map(({ article }) => article);
  }

  /** Move to a step: it is shown, marked and has the focus. */
  go(index) {
    this.mark(Math.max(0, Math.min(index, this.steps.length - 1)));
    this.lay(this.current);
    const { article } = this.steps[this.current];
    article.focus({ preventScroll: true });
    article.scrollIntoView({ block: "nearest" });
  }

  /** Lay out the text of a step and of those near it. */
  lay(index, near = NEAR) {
    for (const step of this.steps.slice(Math.max(0, index - near), index + near + 1)) {
      step.later?.come();
      if (!step.body) continue;
      const { article, body } = step;
      step.body = null;
      this.watch.unobserve(article);
      article.style.minHeight = "";
      article.append(body());
      if (this.isFolded !== undefined) article.querySelectorAll(".foldable").forEach((text) => text.toggle(this.isFolded));
    }
  }

  mark(index) {
    this.steps[this.current]?.article.removeAttribute("aria-current");
    this.current = index;
    this.steps[index]?.article.setAttribute("aria-current", "step");
  }

  /** The texts of a step, folded or not, opened where `holds` says that the wanted words are in them. */
  unfold(index, holds) {
    if (this.steps[index].texts.some(holds)) this.lay(index, 0);
    for (const text of this.steps[index].article.querySelectorAll(".foldable")) if (text.isFolded && holds(text.whole)) text.toggle(false);
  }

  fold(index) {
    this.lay(index);
    const texts = [...this.steps[index].article.querySelectorAll(".foldable")];
    const fold = texts.some((text) => !text.isFolded);
    texts.forEach((text) => text.toggle(fold));
  }

  foldAll() {
    const texts = this.steps.flatMap(({ article }) => [...article.querySelectorAll(".foldable")]);
    this.isFolded = texts.some((text) => !text.isFolded);
    texts.forEach((text) => text.toggle(this.isFolded));
  }

  /** Show who cites each step (axes, or judges); `active` decides whether a number is pressed, `name` what it is called. */
  showCitations(axes, active, name = (index) => `Cite step ${index} for ${active.title}`) {
    for (const { index, button, article } of this.steps) {
      const by = axes.filter((axis) => axis.cited.includes(index));
      const isCited = active.cited.includes(index);
      button.setAttribute("aria-pressed", String(isCited));
      button.setAttribute("aria-label", name(index, by));
      article.classList.toggle("cited", isCited);
      const citers = by.map((axis) => make("abbr", { title: `cited: ${axis.title}` }, axis.key));
      button.nextSibling?.remove();
      if (by.length) button.after(make("span", { class: "citers" }, citers));
    }
  }

  #given(run) {
    const described = () => run.tools.map((tool) =>
      make(
        "li",
        {},
        make("code", {}, tool.name),
        tool.kind ? ` (${tool.kind})` : "",
        tool.description ? `: ${tool.description}` : "",
        opening({ open: this.isAsSent }, `Parameters of ${tool.name}`, () => make("pre", {}, this.isAsSent ? tool.parameters : indented(tool.parameters))),
      ),
    );
    const policy = run.policy ? make("div", { class: "text" }, pieces(run.policy)) : make("p", {}, "None is on record.");
    return make(
      "div",
      { class: "given" },
      make("details", { open: this.isAsSent }, make("summary", {}, "Policy the agent was given"), policy),
      opening({ open: this.isAsSent }, run.tools ? `Tools the agent had (${run.tools.length})` : "Tools the agent had", () =>
        run.tools ? make("ul", {}, described()) : make("p", {}, "No definitions are on record."),
      ),
    );
  }

  #step(step, cite) {
    const button = make("button", { type: "button", class: "number", onclick: () => cite(step.index) }, String(step.index));
    const role = step.heading ?? ROLES[step.role];
    const name = `Step ${step.index}, ${role.toLowerCase()}${step.answers ? ` of ${step.answers}` : ""}`;
    const isFolded = step.role === "tool" || step.role === "system" || step.text.length > LONG;
    const text = () => (this.isAsSent ? make("div", { class: "text" }, pieces(step.text)) : foldable(indented(step.text), `step ${step.index}`, isFolded));
    const article = make(
      "article",
      { class: step.role, tabindex: "-1", "aria-label": step.error ? `${name}, error` : name },
      make("div", { class: "gutter" }, button),
    );
    const body = () =>
      make(
        "div",
        { class: "body" },
        make(
          "div",
          { class: "head" },
          make("span", { class: "role" }, role),
          step.answers ? make("code", {}, step.answers) : null,
          step.by_user ? make("span", { class: "quiet" }, "called by the user, not by the agent") : null,
          step.error ? make("span", { class: "error" }, "error") : null,
        ),
        step.text ? text() : null,
        step.calls.map((call) => this.#call(call)),
        step.text || step.calls.length ? null : make("p", { class: "quiet" }, "(empty)"),
      );
    const texts = [step.text, step.answers ?? "", ...step.calls.flatMap((call) => [call.name, ...call.arguments.flat()])];
    const height = 2 + Math.min(texts.join(" ").length, PREVIEW.characters) / 40;
    article.style.minHeight = `${height}rem`;
    article.come = () => this.lay(step.index);
    this.watch.observe(article);
    article.addEventListener("focusin", () => this.mark(step.index));
    article.addEventListener("pointerdown", () => this.mark(step.index));
    return { index: step.index, item: make("li", {}, article), article, button, texts, body, height };
  }

  #call(call) {
    const isText = call.arguments.length === 1 && !call.arguments[0][0];
    const sent = isText ? call.arguments[0][1] : `{${call.arguments.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`;
    const shown = this.isAsSent
      ? [make("dt", {}), make("dd", { class: "text" }, pieces(sent))]
      : call.arguments.map(([name, value]) => [make("dt", {}, name), foldable(indented(value), name || "the arguments", true, "dd")]);
    return make(
      "div",
      { class: "call" },
      make(
        "div",
        { class: "head" },
        make("span", { class: "role" }, "calls"),
        make("code", {}, call.name),
        call.by_user ? make("span", { class: "quiet" }, "by the user, not by the agent") : null,
        call.fault ? make("span", { class: "error" }, `arguments are not a JSON object: ${call.fault}`) : null,
      ),
      shown.length ? make("dl", {}, shown) : make("p", { class: "quiet" }, "without arguments"),
    );
  }
}

/** Paper has no view that a step could come into. */
addEventListener("beforeprint", () => Steps.latest?.lay(0, Infinity));
