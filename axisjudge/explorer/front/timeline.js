const LANES = ["person", "agent", "environment", "service"];
const MEASURED = { stated: " as the agent states", timestamps: " between time stamps", gap: " until what came next" };
const WAITED = { answer: "a person's answer", refusal: "a person's refusal", message: "a person's next message", permission: "perhaps a person's permission" };
const ROW = 28;
/** A bar of less than this share of the line has room for its number only. */
const WIDE = 0.05;

const seconds = (ms) => `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: ms < 10_000 ? 2 : 1 })} s`;

/** Rows of bars of which none overlaps another in its row: what ran at once stands side by side. */
function packed(bars) {
  const ends = [];
  return bars.map((bar) => {
    const row = ends.findIndex((end) => end <= bar.from);
    const at = row < 0 ? ends.length : row;
    ends[at] = bar.to;
    return { ...bar, row: at };
  });
}

/** A run on a line of time, what it lost by what, and its record. */
class Timeline {
  constructor({ about, dimensions, interactions, deductions, run }) {
    Object.assign(this, { about, dimensions, interactions, deductions, opened: null, signal: null, zoom: 1 });
    this.isTimed = interactions.some(({ start }) => start !== null);
    this.bars = new Map();
    this.steps = new Steps(run, (step) => this.open(interactions.find(({ steps }) => steps.includes(step))?.id ?? null, step));
    this.lanes = make("div", { class: "lanes" });
    this.taken = make("ol", { class: "taken" });
    this.aboutTaken = make("p", { class: "quiet", role: "status" });
    this.head = make("div", { class: "about-it", role: "status" });
    this.record = make("section", { class: "record", "aria-label": "Record" }, this.head, make("div", { class: "part", tabindex: "0", role: "region", "aria-label": "Steps" }, this.steps.element));
    const scale = (by, name) => make("button", { type: "button", "aria-label": name, onclick: () => this.#zoom(by) }, by > 1 ? "+" : "−");
    this.element = make(
      "div",
      { class: "timeline" },
      make(
        "header",
        {},
        make("h1", {}, `AXIS Result ${about.result}${about.band ? `, ${about.band}` : ""}`),
        make("p", {}, about.run),
        make("p", { class: "quiet" }, [about.of, `${about.rules} rules`, about.judged_by ? `judged by ${about.judged_by}` : ""].filter(Boolean).join(" · ")),
        about.marks.length ? make("details", {}, make("summary", {}, `What must be known of it (${about.marks.length})`), make("ul", { class: "marks-of" }, about.marks.map((mark) => make("li", {}, mark)))) : null,
      ),
      make(
        "section",
        { "aria-label": "Line of time" },
        make(
          "div",
          { class: "chart-tools" },
          scale(2, "wider"),
          scale(0.5, "narrower"),
          make("span", {}, this.isTimed ? "seconds from the run's start; ? where a duration is unknown, ▾ a message, ✗ a call that failed" : "no time stamps: in their order, not in time"),
        ),
        make("div", { class: "chart", role: "group", tabindex: "0", "aria-label": "Interactions; arrow keys go from one to the next", onkeydown: (event) => this.#press(event) }, this.lanes),
      ),
      make("div", { class: "below" }, make("section", { class: "lost", tabindex: "0", "aria-label": "Scores and what took from them" }, make("h2", {}, "Scores"), this.#scores(), make("h2", {}, "What took from them"), this.aboutTaken, this.taken), this.record),
    );
    this.#draw();
    this.#list();
    this.#say();
  }

  /** Open an interaction: its bar is pressed, its part of the record shown, at `step` or at its first. */
  open(id, step) {
    this.opened = id;
    for (const [other, bar] of this.bars) {
      bar.setAttribute("aria-pressed", String(other === id));
      bar.tabIndex = other === (id ?? this.interactions[0]?.id) ? 0 : -1;
    }
    const here = this.#interaction(id)?.steps ?? [];
    this.steps.steps.forEach(({ index, article, button }) => {
      article.classList.toggle("of-it", here.includes(index));
      button.setAttribute("aria-pressed", String(here.includes(index)));
    });
    here.forEach((index) => this.steps.unfold(index, () => true));
    this.bars.get(id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const first = step ?? here[0];
    if (first !== undefined) {
      this.steps.mark(first);
      this.steps.steps[first].article.scrollIntoView({ block: "start" });
    }
    this.#say();
  }

  /** Show what one signal took, and from which interactions; again, all. */
  choose(dimension, signal) {
    const isSame = this.signal?.dimension === dimension && this.signal?.signal === signal;
    this.signal = isSame ? null : { dimension, signal };
    for (const button of this.element.querySelectorAll(".of-signal")) {
      button.setAttribute("aria-pressed", String(!isSame && button.dataset.signal === `${dimension}.${signal}`));
    }
    const shown = new Set(this.#wanted().map(({ interaction }) => interaction));
    for (const [id, bar] of this.bars) bar.classList.toggle("dim", this.signal !== null && !shown.has(id));
    this.#list();
  }

  #interaction(id) {
    return this.interactions.find((each) => each.id === id);
  }

  #wanted() {
    return this.signal ? this.deductions.filter(({ dimension, signal }) => dimension === this.signal.dimension && signal === this.signal.signal) : this.deductions;
  }

  #name({ id, what }) {
    return `#${id} ${what === "assistant" ? "text" : what}`;
  }

  #whole(each) {
    const points = this.deductions.filter(({ interaction }) => interaction === each.id).reduce((sum, { points }) => sum + points, 0);
    return [
      this.#name(each),
      each.categories.join(" and "),
      each.start === null ? "" : `from ${seconds(each.start)}`,
      each.duration === null ? (each.acts ? "duration unknown" : "") : `${seconds(each.duration)}${MEASURED[each.measuredBy] ?? ""}`,
      each.wait ? `waits for ${WAITED[each.wait]}` : "",
      each.error ? "failed" : "",
      points ? `takes ${points.toFixed(1)} points` : "",
    ].filter(Boolean).join(", ");
  }

  #draw() {
    const spans = this.interactions.map((each, at) => (this.isTimed ? { each, from: each.start, to: (each.start ?? 0) + Math.max(0, each.duration ?? 0) } : { each, from: at, to: at + 1 }));
    const end = Math.max(1, ...spans.map(({ to }) => to));
    const lanes = LANES.map((lane) => {
      const own = spans.filter(({ each, from }) => each.lane === lane && from !== null);
      const bars = packed(own.sort((a, b) => a.from - b.from));
      const track = make("div", { class: "lane", role: "group", "aria-label": lane }, make("span", { class: "lane-name" }, lane));
      track.style.height = `${ROW * Math.max(1, ...bars.map(({ row }) => row + 1)) + 8}px`;
      for (const { each, from, to, row } of bars) track.append(this.#bar(each, from / end, (to - from) / end, row));
      return bars.length || lane !== "person" ? track : null;
    });
    const marks = this.isTimed ? [0, 0.25, 0.5, 0.75, 1].map((share) => this.#tick(share, seconds(share * end))) : [];
    const untimed = this.isTimed ? spans.filter(({ from }) => from === null).length : 0;
    this.lanes.replaceChildren(...lanes.filter(Boolean), make("div", { class: "ticks", "aria-hidden": "true" }, marks));
    if (untimed) this.lanes.append(make("p", { class: "quiet" }, `${untimed} without a time are not drawn; they stand in the record.`));
  }

  #bar(each, from, share, row) {
    const isUnknown = this.isTimed && each.duration === null;
    const kinds = ["interaction", each.lane, isUnknown ? "unknown" : share < WIDE ? "narrow" : "", each.error ? "failed" : ""].filter(Boolean).join(" ");
    const words = isUnknown ? (each.acts ? "?" : "▾") : share < WIDE ? (each.error ? "✗" : String(each.id)) : `${each.error ? "✗ " : ""}${this.#name(each)}`;
    const bar = make("button", { type: "button", class: kinds, tabindex: this.bars.size ? "-1" : "0", "aria-pressed": "false", "aria-label": this.#whole(each), title: `${this.#whole(each)}\n${each.detail}`, onclick: () => this.open(this.opened === each.id ? null : each.id) }, words);
    bar.style.left = `${100 * from}%`;
    bar.style.top = `${4 + ROW * row}px`;
    if (!isUnknown) bar.style.width = `${100 * share}%`;
    if (share < WIDE && !isUnknown) bar.style.minWidth = `${4 + 7 * words.length}px`; // a number cut short would be another's
    this.bars.set(each.id, bar);
    return bar;
  }

  #tick(share, words) {
    const tick = make("span", {}, words);
    tick.style.left = `${100 * share}%`;
    return tick;
  }

  #zoom(by) {
    this.zoom = Math.max(1, Math.min(64, this.zoom * by));
    this.lanes.style.setProperty("--zoom", this.zoom);
    this.bars.get(this.opened)?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  #press(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const drawn = this.interactions.filter(({ id }) => this.bars.has(id));
    const at = drawn.findIndex(({ id }) => id === this.opened);
    const next = drawn[at < 0 ? 0 : Math.max(0, Math.min(drawn.length - 1, at + by))];
    if (!next) return;
    this.open(next.id);
    this.bars.get(next.id).focus({ preventScroll: true });
  }

  #signal(dimension, { name, shown }) {
    const words = `${name} ${shown ?? "not judged"}`;
    return make("button", { type: "button", class: "of-signal", "data-signal": `${dimension}.${name}`, "aria-pressed": "false", onclick: () => this.choose(dimension, name) }, words);
  }

  #scores() {
    const rows = this.dimensions.map(({ name, score, low, high, signals }) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, name.replace("_", " ")),
        make("td", { class: "number-of" }, score),
        make("td", { class: "quiet" }, String(low) === String(high) ? "" : `${low} to ${high}`),
        make("td", {}, make("div", { class: "signals-of" }, signals.map((signal) => this.#signal(name, signal)))),
      ),
    );
    return make("table", { class: "scores" }, make("tbody", {}, rows));
  }

  #list() {
    const wanted = this.#wanted();
    const count = `${wanted.length} deduction${wanted.length === 1 ? "" : "s"}`;
    const sum = wanted.reduce((total, { points }) => total + points, 0).toFixed(1);
    this.aboutTaken.textContent = this.signal
      ? `${this.signal.dimension}, ${this.signal.signal}: ${count}, ${sum} points; press the signal again for all`
      : `${count}, in points of 100 of their dimension before its curve`;
    this.taken.replaceChildren(
      ...wanted.map(({ dimension, signal, interaction, points, value, reason }) => {
        const each = this.#interaction(interaction);
        return make(
          "li",
          {},
          make("span", { class: "points" }, `−${points.toFixed(1)}`),
          make(
            "div",
            {},
            each ? make("button", { type: "button", onclick: () => this.open(each.id) }, this.#name(each)) : make("span", {}, "the run as a whole"),
            make("span", { class: "quiet" }, `${dimension}, ${signal} ${(100 * value).toFixed(0)}`),
            reason ? make("span", {}, reason) : null,
          ),
        );
      }),
    );
  }

  #say() {
    const each = this.#interaction(this.opened);
    if (!each) return this.head.replaceChildren(make("p", { class: "quiet" }, "Press an interaction to open its part of the record."));
    const own = this.deductions.filter(({ interaction }) => interaction === each.id);
    const reasons = own.map(({ dimension, signal, points, value, reason }) => make("li", {}, `−${points.toFixed(1)}: ${dimension}, ${signal} ${(100 * value).toFixed(0)}${reason ? `: ${reason}` : ""}`));
    this.head.replaceChildren(make("h2", {}, this.#name(each)), make("p", { class: "quiet" }, this.#whole(each)), reasons.length ? make("ul", { class: "reasons" }, reasons) : "");
  }
}
