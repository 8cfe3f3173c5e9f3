/** A verdict with its sign, in its colour. */
function signed(items, code) {
  const isLost = code < 0;
  const word = items.word(code);
  const sign = isLost ? "!" : SIGNS[word] ?? "•";
  return make("span", { class: `verdict ${isLost ? "is-lost" : word}` }, make("i", { "aria-hidden": "true" }, sign), isLost ? ` lost: ${word.replace("_", " ")}` : ` ${word.replace("_", " ")}`);
}

const sureness = (sure) => (sure === null ? null : make("span", { class: "sure" }, `${Math.round(sure * 100)} % sure`));

/** Steps beyond this many are folded. */
const CITED = 24;

/** One rating's steps, reason and flags; a click on a step goes there. */
function grounds(cited, reason, go) {
  const chips = cited.map((step) => make("button", { type: "button", class: "chip", "aria-label": `go to step ${step}`, onclick: () => go(step) }, String(step)));
  const rest = chips.splice(CITED);
  const steps = rest.length ? [...chips, opening({}, `${rest.length} more`, () => make("span", { class: "chips" }, rest))] : chips;
  const absent = reason?.absent.length ? make("p", { class: "error" }, `cites steps that do not exist: ${reason.absent.join(", ")}`) : null;
  return [
    steps.length ? make("p", { class: "chips" }, make("span", { class: "quiet" }, steps.length > 1 ? "steps" : "step"), steps) : null,
    reason?.why ? foldable(reason.why, "the reason", false) : make("p", { class: "quiet" }, "no reason on record"),
    absent,
    reason?.flags.length ? make("p", { class: "quiet" }, `flags: ${reason.flags.join(", ")}`) : null,
  ];
}

/** What every judge, and every label, says of one item, side by side. */
class Words {
  /** on: go(step), judge(number); of: which run, where there are two. */
  constructor(items, on, of = "") {
    Object.assign(this, { items, on, of });
    this.element = make("div", { class: "words", tabindex: "0", role: "region", "aria-label": `Verdicts and reasons${of}` });
  }

  show(run, question, opened, judge) {
    const { columns, cells, index } = this.items;
    const changes = index.changes?.[this.items.questions[question].name] ?? [];
    const given = this.items.runs[run].cells;
    const reasonsOf = ({ at }) => cells[run][at]?.repeats.map((each) => opened.reasons[at]?.[given[at].indexOf(each)]) ?? [];
    const cards = columns[question].map((column) => this.#card(column, cells[run][column.at], reasonsOf(column), judge));
    const told = this.items.labels(run, question).map((label) => this.#label(label, opened, question));
    this.element.replaceChildren(make("div", { class: "cards" }, cards, told), ...changes.map((change) => this.#change(change)));
    this.element.scrollTop = 0;
  }

  #card(column, cell, reasons, judge) {
    const name = this.items.index.judges[column.judge].name;
    const titled = `${name}${column.version ? ` ${column.version}` : ""}`;
    const isChosen = judge === column.judge;
    const head = make(
      "button",
      { type: "button", class: "title", "aria-pressed": String(isChosen), title: "its steps alone", onclick: () => this.on.judge(column.judge) },
      key(String(column.judge + 1)),
      make("span", {}, titled.split(/(?<=[:/])/).flatMap((part, n) => (n ? [make("wbr"), part] : part))), // not within a word
    );
    if (!cell) return make("section", { class: "card", "aria-label": `${titled}${this.of}` }, head, make("p", { class: "quiet" }, "not rated"));
    const at = cell.repeats.findIndex((each) => each[0] === cell.code);
    const others = cell.repeats.length > 1 ? this.#repeats(cell, reasons, at) : null;
    const isLost = cell.code < 0;
    return make(
      "section",
      { class: `card${isChosen ? " chosen" : ""}`, "aria-label": `${titled}${this.of}` },
      head,
      make("p", { class: "said-line" }, signed(this.items, cell.code), sureness(cell.sure)),
      isLost ? (reasons[at]?.why ? foldable(reasons[at].why, "what came back", false) : null) : grounds(cell.cited, reasons[at], this.on.go),
      others,
    );
  }

  #repeats(cell, reasons, shown) {
    const rows = () => cell.repeats.map(([code, sure, cited], n) =>
      n === shown ? null : make("li", {}, make("p", { class: "said-line" }, signed(this.items, code), sureness(sure)), grounds(cited, reasons[n], this.on.go)),
    );
    const same = cell.repeats.filter(([code]) => code === cell.code).length;
    const words = `${same} of ${cell.repeats.length} repeats say so`;
    return opening({ class: "repeats" }, [make("span", { "aria-hidden": "true" }, dots(cell)), ` ${words}`], () => make("ol", {}, rows()));
  }

  #label([, person, code, sure, cited, , answer], opened, question) {
    const { name, kind } = this.items.index.people[person];
    const axis = this.items.questions[question].name;
    const note = opened.notes.find((each) => each.rater === name && each.question === axis);
    const what = answer ? `decision: ${answer.replace("_", " ")}` : kind === "planted" ? "planted truth" : "label";
    return make(
      "section",
      { class: "card told", "aria-label": `${what} by ${name}${this.of}` },
      make("p", { class: "title" }, make("span", { class: "quiet" }, `${what}, `), name),
      make("p", { class: "said-line" }, code >= 0 ? signed(this.items, code) : make("span", { class: "quiet" }, "no verdict"), sureness(sure)),
      grounds(cited, note, this.on.go),
    );
  }

  #change({ before, after, words }) {
    const signs = { "=": "span", "-": "del", "+": "ins" };
    const title = `What changed in the rubric from ${before} to ${after}`;
    return opening({ class: "change" }, title, () => make("p", { class: "text" }, words.map(([sign, text]) => make(signs[sign], {}, text))));
  }
}
