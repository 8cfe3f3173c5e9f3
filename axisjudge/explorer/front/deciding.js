/** Who is right, where a verdict flipped or judges are split: what can be answered. */
function askedOf(items, run, question, judge) {
  const word = (code) => items.word(code);
  const shown = (code) => word(code).replace("_", " ");
  const flips = items.flips(run, question);
  const flip = flips.find((each) => each.judge === judge) ?? flips[0];
  const rest = [
    { answer: "both_wrong", verdict: null, words: "Both wrong" },
    { answer: "cannot_tell", verdict: null, words: "Cannot tell" },
  ];
  if (flip) {
    const name = items.index.judges[flip.judge].name;
    return {
      way: "by_flip",
      of: `${name} ${flip.before.version} to ${flip.now.version}`,
      stratum: `${word(flip.old.code)} to ${word(flip.fresh.code)}`,
      asked: `${name} flipped${flip.isNoise ? ", within its own noise" : ""}: who is right?`,
      codes: [flip.fresh.code, flip.old.code],
      options: [
        { answer: "new_right", verdict: word(flip.fresh.code), words: `New: ${shown(flip.fresh.code)}` },
        { answer: "old_right", verdict: word(flip.old.code), words: `Old: ${shown(flip.old.code)}` },
        ...rest,
      ],
    };
  }
  const isOpen = ({ code }) => word(code) === "uncertain"; // takes no side: it is asked about where there are not two others
  const sides = items.sides(run, question).sort((a, b) => isOpen(a) - isOpen(b));
  if (sides.length < 2) return null;
  const voices = ({ judges }) => judges.map((each) => each + 1).join(", ");
  const option = (side, answer) => ({ answer, verdict: word(side.code), words: `${shown(side.code)} (${voices(side)})` });
  return {
    way: "by_disagreement",
    of: sides.flatMap(({ judges }) => judges.map((each) => items.index.judges[each].name)).join(", "),
    stratum: sides.map(({ code }) => word(code)).join(" or "),
    asked: "Judges are split: who is right?",
    codes: [sides[0].code, sides[1].code],
    options: [option(sides[0], "first_right"), option(sides[1], "second_right"), ...rest],
  };
}

/** A decision as the fields of its label say it; one without an answer was taken back. */
function wordIn({ verdict, flags, rationale, created_at }) {
  const said = (name) => flags.find((flag) => flag.startsWith(`${name}:`))?.slice(name.length + 1) ?? null;
  return { answer: said("decided"), verdict, way: said("drawn"), of: said("drawn_by"), stratum: said("drawn_stratum"), note: rationale ?? "", at: created_at };
}

const isSameWord = (one, other) => ["answer", "verdict", "note"].every((name) => (one?.[name] || null) === (other?.[name] || null));
const inAWord = ({ answer, verdict, note }) => `${answer ? answer.replace("_", " ") : "taken back"}${verdict ? `, ${verdict.replace("_", " ")}` : ""}${note ? `: ${note}` : ""}`;

/** One person's decisions: what stands on each item, how it came to that, and whether it is on the disk; nobody else's. */
class Decisions {
  /** on: changed(), left() where somebody goes, said(words), open(run, question), entering(promise), answers() -> focus the answers. */
  constructor(items, host, on) {
    Object.assign(this, { items, host, on, rater: null, unsaved: new Set(), failed: null, given: new Map(items.decisions) });
    this.saved = make("span", { class: "saved", role: "status" });
    this.element = make("div", { class: "person", role: "group", "aria-label": "Who decides" });
    this.#clear();
    this.#draw();
  }

  /** From now on this person decides; without a name nobody does, and nothing of theirs is left in sight. */
  async enter(rater) {
    const isLeft = this.rater !== null && rater !== this.rater;
    this.rater = rater;
    this.host.me.set(rater);
    this.#clear();
    this.#draw();
    if (isLeft) this.on.left();
    await this.read();
  }

  /** What stands in the person's store by now; another tab may have written there. */
  async read() {
    const { rater } = this;
    const lines = rater ? await this.host.lines(rater) : [];
    if (this.rater !== rater || [...this.unsaved].some((change) => change.rater === rater)) return;
    this.#clear();
    for (const line of lines) {
      const question = this.items.questions.findIndex(({ name }) => name === line.question);
      if (question >= 0) this.#take(line.run, question, wordIn(line));
    }
    this.items.remark();
    this.#draw();
    this.on.changed();
  }

  own = (run, question) => this.standing.get(`${run}/${question}`);

  trail = (run, question) => this.trails.get(`${run}/${question}`) ?? [];

  counts() {
    const answers = [...this.standing.values()].map(({ answer }) => answer);
    return { all: answers.length, of: (answer) => answers.filter((each) => each === answer).length };
  }

  /** Say something of an item; it stands at once, and is saved as soon as the host has it. */
  set(run, question, word) {
    this.#take(run, question, { ...word, at: new Date().toISOString() });
    this.items.remark();
    this.#save({ run, question: this.items.questions[question].name, rater: this.rater, word });
  }

  /** Take back the last change; it stays in the trail. */
  async undo() {
    const last = this.history.at(-1);
    if (!last) return this.on.said("Nothing to take back");
    const { run, question, before } = last;
    const now = this.own(run, question);
    await this.on.open(run, question);
    this.set(run, question, before ?? { ...now, answer: null, verdict: null, note: "" });
    this.on.changed();
    this.on.said(before ? `Taken back: ${inAWord(before)} again` : "Taken back: not decided");
  }

  askName = () => this.element.querySelector("input")?.focus();

  #clear() {
    Object.assign(this, { standing: new Map(), trails: new Map(), history: [] });
    this.items.decisions = new Map(this.given);
  }

  /** A word that says again what stood before the last change takes that change back; a comment belongs to its decision. */
  #take(run, question, word) {
    const name = `${run}/${question}`;
    const before = this.standing.get(name) ?? null;
    const last = this.history.at(-1);
    const isLast = last?.name === name;
    const isComment = isLast && before && word.answer === before.answer && word.verdict === before.verdict;
    if (isLast && isSameWord(last.before, word)) this.history.pop();
    else if (!isComment) this.history.push({ name, run, question, before });
    this.trails.set(name, [...(this.trails.get(name) ?? []), word]);
    if (word.answer) this.standing.set(name, word);
    else this.standing.delete(name);
    const code = word.verdict === null ? -1 : this.items.index.words.indexOf(word.verdict);
    if (word.answer) this.items.decisions.set(name, { answer: word.answer, code });
    else if (this.given.has(name)) this.items.decisions.set(name, this.given.get(name));
    else this.items.decisions.delete(name);
  }

  #save(change) {
    const { unsaved } = this;
    change.isLost = false;
    unsaved.add(change);
    this.#show();
    this.host.decide(change, (why) => this.#show(why)).then(
      (isOlder) => {
        unsaved.delete(change);
        this.failed = null;
        const again = [...unsaved].find(({ isLost }) => isLost); // what failed before may go through now
        if (again) this.#save(again);
        if (isOlder) this.read();
        this.#show();
      },
      (error) => {
        change.isLost = true;
        this.failed = error.message;
        this.#show();
      },
    );
  }

  #show(late = "") {
    const why = this.failed ?? late;
    const words = why ? `Not saved: ${why}` : this.unsaved.size ? "Saving…" : this.trails.size ? "Saved" : "";
    this.saved.classList.toggle("failed", Boolean(why));
    if (this.saved.textContent !== words) this.saved.textContent = words;
    this.back.hidden = !this.history.length;
  }

  #draw() {
    const begin = (rater) => {
      this.on.entering(this.enter(rater));
      this.on.answers();
    };
    const given = (event) => {
      const name = asName(event.target.value);
      if (event.key !== "Enter" || !name) return;
      event.preventDefault();
      event.stopPropagation();
      begin(name);
    };
    const name = make("input", { type: "text", maxlength: "80", autocomplete: "off", placeholder: "Your name, then Enter", "aria-label": "Your name, as it shall stand with your decisions", onkeydown: given });
    this.back = make("button", { type: "button", title: "the last decision or comment; the trail keeps it", onclick: () => this.undo() }, "Take back", key("U"));
    const goOn = make("span", {});
    if (!this.rater) this.host.last?.().then((last) => last && goOn.replaceChildren(make("button", { type: "button", onclick: () => begin(last) }, `Go on as ${last}`)));
    this.element.replaceChildren(whoIs("Deciding", this.rater, this.rater && (() => this.enter(null))), ...(this.rater ? [] : [name, goOn, make("span", { class: "quiet" }, this.host.where ?? "")]), this.back, this.saved);
    this.#show();
  }
}

/** Letters of a comment that are typed within this time are saved together. */
const COMMENTING = 300;

/** The bar under the reasons: four answers by mouse, or W and then 1 to 4, and a comment. */
class Deciding {
  /** on: said(words), decided(words), hasRecord(). */
  constructor(items, decisions, on) {
    Object.assign(this, { items, decisions, on, isArmed: false });
    this.element = make("div", { class: "deciding", role: "group", "aria-label": "Who is right" });
  }

  show(run, question, judge) {
    this.flush();
    Object.assign(this, { run, question, isArmed: false });
    const isDecidable = this.items.index.decidable.includes(this.items.questions[question].name);
    this.asked = isDecidable && this.on.hasRecord() ? askedOf(this.items, run, question, judge) : null;
    this.draw();
  }

  /** Take the next digit as an answer; false where nothing is asked. */
  arm(isArmed = true) {
    if (!this.asked) return false;
    this.isArmed = isArmed;
    this.element.classList.toggle("armed", isArmed);
    if (isArmed && !this.decisions.rater) this.decisions.askName();
    else if (isArmed) this.focusAnswers();
    return true;
  }

  focusAnswers() {
    this.element.querySelector(".options button")?.focus();
  }

  answer(number) {
    const option = this.asked?.options[number - 1];
    if (option) this.#decide(option.answer, option.verdict);
  }

  comment() {
    this.note?.focus();
    return Boolean(this.note);
  }

  /** Save what is typed now; called before leaving. */
  flush() {
    clearTimeout(this.typing);
    this.typing = null;
    if (this.typed) this.decisions.set(...this.typed);
    this.typed = null;
  }

  draw() {
    this.element.hidden = !this.asked;
    this.element.classList.toggle("armed", this.isArmed);
    this.note = null;
    if (!this.asked) return this.element.replaceChildren();
    const own = this.decisions.own(this.run, this.question);
    const buttons = this.asked.options.map(({ answer, words }, n) =>
      make("button", { type: "button", "aria-pressed": String(own?.answer === answer), onclick: () => this.answer(n + 1) }, key(String(n + 1)), " ", words),
    );
    this.element.replaceChildren(
      make("p", { class: "asked" }, this.asked.asked, key("W")),
      make("div", { class: "options" }, buttons),
      own?.answer === "both_wrong" ? this.#rightOne(own) : "",
      own ? this.#comment(own) : "",
      this.#trail(),
      make("p", { class: "quiet" }, this.#counts()),
    );
    if (this.isArmed && this.decisions.rater) this.focusAnswers();
  }

  #comment(own) {
    const type = () => {
      this.typed = [this.run, this.question, { ...this.decisions.own(this.run, this.question), note: this.note.value }];
      if (this.typing) return;
      this.#saveTyped();
      this.typing = setTimeout(() => {
        this.typing = null;
        this.#saveTyped();
      }, COMMENTING);
    };
    this.note = make("textarea", { rows: "1", maxlength: "4000", placeholder: "Why? A comment goes with the decision.", "aria-label": "Comment on your decision", oninput: type, onblur: () => this.flush() });
    this.note.value = own.note ?? "";
    return make("div", { class: "commenting" }, key("C"), this.note);
  }

  #saveTyped() {
    if (this.typed) this.decisions.set(...this.typed);
    this.typed = null;
  }

  /** What this person said of the item, one after the other. */
  #trail() {
    const trail = this.decisions.trail(this.run, this.question);
    const lines = () => make("ol", {}, trail.map((word) => make("li", {}, make("time", { class: "quiet" }, `${word.at?.slice(0, 16).replace("T", " ") ?? ""} `), inAWord(word))));
    return trail.length > 1 ? opening({ class: "trail" }, `${trail.length} changes`, lines) : "";
  }

  /** Neither was right: the words that are left, for who knows the right one. */
  #rightOne(own) {
    const words = this.items.index.words.filter((_, code) => code < 4 && !this.asked.codes.includes(code));
    const button = (word) => make("button", { type: "button", "aria-pressed": String(own.verdict === word), onclick: () => this.#decide("both_wrong", word) }, word.replace("_", " "));
    return make("div", { class: "options" }, make("span", { class: "quiet" }, "right is"), words.map(button));
  }

  #counts() {
    const { all, of } = this.decisions.counts();
    const flips = of("new_right") + of("old_right");
    const said = flips ? `, ${of("new_right")} new right, ${of("old_right")} old right` : "";
    return `${all} decided${said}. Kept apart from labels drawn at random: no rate follows from them.`;
  }

  #decide(answer, verdict) {
    if (!this.decisions.rater) {
      this.on.said("Say first who decides");
      return this.decisions.askName();
    }
    this.flush();
    const { run, question, asked } = this;
    const note = this.decisions.own(run, question)?.note ?? "";
    this.decisions.set(run, question, { answer, verdict, way: asked.way, of: asked.of, stratum: asked.stratum, note });
    this.on.decided(`Decided: ${answer.replace("_", " ")}${verdict ? `, ${verdict.replace("_", " ")}` : ""}`);
  }
}
