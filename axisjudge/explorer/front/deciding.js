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

/** The bar under the reasons: four answers by mouse, or W and then 1 to 4. */
class Deciding {
  /** host.decide({run, question, rater, word}, late(why)) keeps a decision; said(words) speaks. */
  constructor(items, host, on) {
    Object.assign(this, { items, host, on, isArmed: false });
    this.element = make("div", { class: "deciding", role: "group", "aria-label": "Who is right" });
  }

  show(run, question, judge) {
    Object.assign(this, { run, question, isArmed: false });
    const isDecidable = this.items.index.decidable.includes(this.items.questions[question].name);
    this.asked = isDecidable && this.on.hasRecord() ? askedOf(this.items, run, question, judge) : null;
    this.#draw();
  }

  /** Take the next digit as an answer; false where nothing is asked. */
  arm(isArmed = true) {
    if (!this.asked) return false;
    this.isArmed = isArmed;
    this.element.classList.toggle("armed", isArmed);
    if (isArmed) this.element.querySelector("input, button")?.focus();
    return true;
  }

  async answer(number) {
    const option = this.asked?.options[number - 1];
    if (option) await this.#decide(option.answer, option.verdict);
  }

  #draw() {
    this.element.hidden = !this.asked;
    this.element.classList.toggle("armed", this.isArmed);
    if (!this.asked) return this.element.replaceChildren();
    const before = this.items.decisions.get(`${this.run}/${this.question}`);
    const buttons = this.asked.options.map(({ answer, words }, n) =>
      make("button", { type: "button", "aria-pressed": String(before?.answer === answer), onclick: () => this.answer(n + 1) }, key(String(n + 1)), " ", words),
    );
    const rightWords = before?.answer === "both_wrong" ? this.#rightOne(before) : null;
    const name = this.host.rater ? null : this.#name();
    this.element.replaceChildren(
      make("p", { class: "asked" }, this.asked.asked, key("W")),
      name ?? "",
      make("div", { class: "options" }, buttons),
      rightWords ?? "",
      make("p", { class: "quiet" }, this.#counts()),
    );
  }

  #name() {
    this.name = make("input", { type: "text", maxlength: "80", autocomplete: "off", placeholder: "Your name", "aria-label": "Your name, as it shall stand with your decisions", onkeydown: (event) => event.key === "Enter" && this.#nameGiven(event) });
    return this.name;
  }

  /** On to the answers: a digit, or Enter on one of them. */
  #nameGiven(event) {
    event.preventDefault();
    event.stopPropagation();
    this.element.querySelector(".options button").focus();
  }

  /** Neither was right: the words that are left, for who knows the right one. */
  #rightOne(before) {
    const codes = this.items.index.words.map((_, code) => code).filter((code) => code < 4 && !this.asked.codes.includes(code));
    return make(
      "div",
      { class: "options" },
      make("span", { class: "quiet" }, "right is"),
      codes.map((code) => make("button", { type: "button", "aria-pressed": String(before.code === code), onclick: () => this.#decide("both_wrong", this.items.word(code)) }, this.items.word(code).replace("_", " "))),
    );
  }

  #counts() {
    const answers = [...this.items.decisions.values()].map(({ answer }) => answer);
    const many = (answer) => answers.filter((each) => each === answer).length;
    const flips = many("new_right") + many("old_right");
    const said = flips ? `, ${many("new_right")} new right, ${many("old_right")} old right` : "";
    return `${answers.length} decided${said}. Kept apart from labels drawn at random: no rate follows from them.`;
  }

  async #decide(answer, verdict) {
    const rater = this.host.rater || this.name?.value.trim();
    if (!rater) {
      this.on.said("Say first who decides");
      return this.name?.focus();
    }
    const { run, question, asked } = this;
    const word = { answer, verdict, way: asked.way, of: asked.of, stratum: asked.stratum };
    try {
      const isNew = this.host.rater !== rater;
      const late = (why) => this.on.said(`Kept in this browser: ${why}`);
      await this.host.decide({ run, question: this.items.questions[question].name, rater, word }, late);
      this.host.rater = rater;
      this.items.decisions.set(`${run}/${question}`, { answer, code: verdict === null ? -1 : this.items.index.words.indexOf(verdict) });
      if (isNew) await this.on.named(rater);
      this.items.remark();
      this.on.decided(run, question, `Decided: ${answer.replace("_", " ")}${verdict ? `, ${verdict.replace("_", " ")}` : ""}`);
    } catch (error) {
      this.on.said(`Not saved: ${error.message}`);
    }
  }
}
