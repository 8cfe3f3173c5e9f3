/** Words of a step that its likeness to another is told from, and the numbers that stand for them. */
const [SAMPLED, SKETCH] = [400, 24];

/** What a step is known by among another run's: who acts with which tools, and a sketch of its words (their least hashes). */
function known({ role, calls, answers }, { texts }) {
  const sketch = new Uint32Array(SKETCH).fill(0xffffffff);
  const text = texts.join(" ");
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.slice(0, SAMPLED) ?? []) {
    let hash = 2166136261;
    for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 16777619);
    for (let at = 0; at < SKETCH; at += 1) {
      const mixed = Math.imul(hash ^ Math.imul(at + 1, 0x9e3779b9), 0x85ebca6b);
      sketch[at] = Math.min(sketch[at], (mixed ^ (mixed >>> 15)) >>> 0);
    }
  }
  return { kind: [role, answers, ...calls.map(({ name }) => name)].join("\n"), isResult: role === "tool", isAct: role === "tool" || calls.length > 0, text, sketch };
}

/** How alike two steps are: 0 where they may not stand side by side, 1 to 2 by the share of words in common, 3 the same. */
function likeness(one, other) {
  if (one.kind !== other.kind) return 0;
  if (one.text === other.text) return 3;
  let common = 0;
  for (let at = 0; at < SKETCH; at += 1) if (one.sketch[at] === other.sketch[at]) common += 1;
  return 1 + common / SKETCH;
}

/**
 * The steps of two runs side by side, in order, so that in sum they are as alike as can be (Needleman and Wunsch 1970,
 * doi:10.1016/0022-2836(70)90057-4, without a price of gaps, and a result stays with its call):
 * [[step or null, step or null, how]], how being "same", "words" (of a speaker), "acts" (a call or a result) or "alone".
 */
function aligned(ones, others) {
  const wide = others.length + 1;
  const [best, paired] = [0, -Infinity].map((none) => new Float64Array((ones.length + 1) * wide).fill(none));
  const next = (at) => at + wide + 1;
  const holds = (a) => (ones[a + 1]?.isResult ? 1 : 0); // gained where the next pair follows at once
  const goesOn = (a, at) => paired[next(at)] + holds(a) > best[next(at)];
  for (let a = ones.length - 1; a >= 0; a -= 1) {
    for (let b = others.length - 1; b >= 0; b -= 1) {
      const [at, like] = [a * wide + b, likeness(ones[a], others[b])];
      if (like) paired[at] = like + (goesOn(a, at) ? paired[next(at)] + holds(a) : best[next(at)]);
      best[at] = Math.max(paired[at], best[at + wide], best[at + 1]);
    }
  }
  const pairs = [];
  for (let [a, b, isHeld] = [0, 0, false]; a < ones.length || b < others.length; ) {
    const [isLeft, isRight, at] = [a < ones.length, b < others.length, a * wide + b];
    if (isLeft && isRight && (isHeld || best[at] === paired[at])) {
      pairs.push([a, b, ones[a].text === others[b].text ? "same" : ones[a].isAct ? "acts" : "words"]);
      [a, b, isHeld] = [a + 1, b + 1, goesOn(a, at)];
    } else if (isLeft && (!isRight || best[at] === best[at + wide])) pairs.push([a++, null, "alone"]);
    else pairs.push([null, b++, "alone"]);
  }
  return pairs;
}

/** Two steps side by side: the sign between them, and what it says. */
const PAIRED = { same: ["=", "the same"], words: ["≈", "other words"], acts: ["≠", "another call or result"], alone: ["·", "in one run alone"] };
/** Runs that are offered to stand beside the one that is open. */
const OFFERED_BESIDE = 12;

/** One run beside the grid, or two beside each other: who says what on the axis at hand, and the record, at the cited steps. */
class Opened {
  isAsSent = false;

  /** on: close(), axis(question), step(index), judge(number), link(), beside(run), plus those of Deciding. */
  constructor(items, host, decisions, on) {
    Object.assign(this, { items, host, on, judge: null, runs: new Map() });
    this.title = make("h2", {});
    this.about = make("p", { class: "quiet" });
    this.tabs = make("div", { class: "tabs", role: "group", "aria-label": "Axis" });
    this.words = new Words(items, { go: (step) => this.go(step), judge: (number) => this.choose(number) });
    this.otherWords = new Words(items, { go: (step) => this.others?.go(step), judge: (number) => this.choose(number) }, " on the run beside");
    this.sides = make("div", { class: "sides" }, this.words.element);
    this.offered = make("datalist", { id: "besides" });
    this.besides = make("input", { type: "search", class: "beside", list: "besides", placeholder: "Another run beside it", "aria-label": "Another run beside this one", onfocus: () => this.#offer(), oninput: () => this.#offer(), onchange: () => this.#named() });
    this.deciding = new Deciding(items, decisions, { ...on, hasRecord: () => Boolean(this.steps) });
    this.pane = make("div", { class: "pane", tabindex: "0", role: "region", "aria-label": "Record" });
    this.matches = make("p", { class: "matches", role: "status" });
    const button = (words, keyed, act, why) => make("button", { type: "button", title: why, onclick: act }, words, keyed ? key(keyed) : null);
    this.sent = button("As sent", "V", () => this.showAsSent(), "the whole conversation as it stands in the record, or laid out to be read");
    this.sent.setAttribute("aria-pressed", "false");
    this.element = make(
      "section",
      { class: "opened", "aria-label": "Opened run", hidden: true },
      make(
        "header",
        {},
        make("div", { class: "line" }, this.title, make("div", { class: "tools" }, this.besides, this.offered, key("B"), button("←", "K", () => on.turn(-1), "previous item"), button("→", "J", () => on.turn(1), "next item"), this.sent, button("Link", null, on.link, "copy a link to this item"), button("Print", null, () => print(), "print this run; what is folded stays so (Shift+O opens all)"), button("Close", "Esc", on.close, "back to the grid"))),
        this.about,
        this.tabs,
      ),
      this.sides,
      this.deciding.element,
      this.matches,
      this.pane,
    );
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Show a run on an axis, at a step or else the first cited one, and with `other` that run beside it. */
  async open({ run, question, step, other }, find) {
    this.deciding.flush();
    const isOther = this.run !== run || this.other !== other || !this.isOpen || !this.steps; // none: it did not come, or is awaited
    const turn = (this.turn = Symbol("turn"));
    Object.assign(this, { run, question, other });
    this.element.hidden = false;
    this.#head();
    if (isOther) {
      this.steps = this.others = null;
      for (const { element } of [this.words, this.otherWords]) element.replaceChildren();
      this.pane.replaceChildren(make("p", { class: "waiting", role: "status" }, "Opening…"));
    }
    let opened, beside;
    try {
      [opened, beside] = await Promise.all([this.#fetched(run), other === undefined ? null : this.#fetched(other)]);
    } catch (error) {
      if (this.turn === turn) this.pane.replaceChildren(make("p", { class: "waiting error", role: "alert" }, error.message));
      return;
    }
    if (this.turn !== turn) return; // somebody went on meanwhile
    Object.assign(this, { opened, beside });
    if (isOther) this.#lay(opened.run, beside?.run);
    this.#say();
    this.deciding.show(run, question, this.judge);
    this.#reward(opened);
    this.#cite();
    this.find(find);
    if (this.steps) this.#toStep(step);
  }

  close() {
    this.deciding.flush();
    this.element.hidden = true;
    this.turn = null;
    this.run = undefined;
    this.find("");
  }

  /** The next run of the same task beside this one, round and round; a name is asked for where there is none. */
  nextBeside() {
    const same = this.#ofTask();
    if (same.length) this.on.beside(same[(same.indexOf(this.other) + 1) % same.length]);
    else this.besides.focus();
  }

  /** The next place at which two runs part: other calls or results, or steps of one alone. */
  nextParting(by) {
    const parts = (this.pairs ?? []).map(([, , how], at) => ({ at, isPart: how === "acts" || how === "alone" }));
    const first = parts.filter(({ at, isPart }) => isPart && !parts[at - 1]?.isPart).map(({ at }) => at);
    if (!this.others || !first.length) return this.on.said(this.others ? "The runs part nowhere" : "No run stands beside this one");
    const here = this.parting ?? this.pairs.findIndex(([step]) => step === this.steps.current);
    const at = by > 0 ? first.find((each) => each > here) ?? first[0] : first.findLast((each) => each < here) ?? first.at(-1);
    const [one, other] = this.pairs[at];
    if (one === null) this.others.go(other);
    else this.go(one);
    this.parting = at;
    return this.on.said(`${one === null ? `Step ${other} of the run beside` : `Step ${one}`}, ${PAIRED[this.pairs[at][2]][1]}; ${first.indexOf(at) + 1} of ${first.length} places at which they part`);
  }

  /** The conversation whole and as it was sent; again, laid out to be read. */
  showAsSent() {
    if (!this.steps) return;
    const { current } = this.steps;
    this.isAsSent = !this.isAsSent;
    this.sent.setAttribute("aria-pressed", String(this.isAsSent));
    this.#lay(this.opened.run, this.beside?.run);
    this.#cite();
    this.find(this.sought);
    this.#toStep(current);
    this.on.said(this.isAsSent ? "The conversation as it was sent" : "The conversation laid out");
  }

  /** Fold or open the step at hand, and what stands beside it; all of them. */
  fold(isAll) {
    const beside = this.pairs?.find(([one, other]) => one === this.steps.current && other !== null)?.[1];
    if (isAll) for (const steps of [this.steps, this.others]) steps?.foldAll();
    else this.steps.fold(this.steps.current);
    if (!isAll && this.others && beside !== undefined) this.others.fold(beside);
  }

  /** Go to a step and say so to the address. */
  go(step) {
    if (!this.steps) return;
    this.parting = null;
    this.steps.go(step);
    this.on.step(this.steps.current);
  }

  /** The next step that the judge at hand cites, or any judge; round and round. */
  nextCited(by) {
    this.#goOn(this.#cited(), by, "cited");
  }

  /** The next step that holds the words searched for. */
  nextFound(by) {
    this.#goOn(this.found ?? [], by, "with these words");
  }

  #goOn(steps, by, which) {
    if (!this.steps || !steps.length) return this.on.said(`No step is ${which}`);
    const { current } = this.steps;
    const next = by > 0 ? steps.find((step) => step > current) ?? steps[0] : steps.findLast((step) => step < current) ?? steps.at(-1);
    this.go(next);
    this.on.said(`Step ${next}, ${steps.indexOf(next) + 1} of ${steps.length} ${which}`);
  }

  /** One judge's steps alone; chosen again, all judges'. */
  choose(judge) {
    this.judge = this.judge === judge ? null : judge;
    if (!this.opened || !this.isOpen) return;
    this.#say();
    this.deciding.show(this.run, this.question, this.judge);
    this.#cite();
    const [first] = this.#cited();
    if (this.steps && first !== undefined) this.go(first);
    this.on.said(this.judge === null ? "All judges" : this.items.index.judges[judge].name);
  }

  /** Mark the words searched for in the record, and open what was folded over them. */
  find(words) {
    this.sought = words;
    CSS.highlights?.delete("found");
    this.found = [];
    this.matches.hidden = !words?.trim() || !this.steps;
    if (this.matches.hidden) return;
    const { every } = soughtFor(words);
    const ranges = [];
    this.steps.steps.forEach(({ index, article }) => {
      this.steps.unfold(index, (text) => text.search(every) >= 0);
      const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, (node) => (node.parentElement.closest(".text, code, dt") ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP));
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        for (const match of node.data.matchAll(every)) {
          if (!match[0]) continue;
          const range = new Range();
          range.setStart(node, match.index);
          range.setEnd(node, match.index + match[0].length);
          ranges.push({ range, index });
        }
      }
    });
    if (globalThis.Highlight) CSS.highlights.set("found", new Highlight(...ranges.map(({ range }) => range)));
    this.found = [...new Set(ranges.map(({ index }) => index))];
    const move = (sign, name, by) => make("button", { type: "button", class: "chip", "aria-label": name, onclick: () => this.nextFound(by) }, sign);
    const moves = this.found.length ? [move("‹", "previous step with these words", -1), " ", move("›", "next step with these words", 1), key("F")] : [];
    this.matches.replaceChildren(`“${words.trim()}”: ${ranges.length} in ${this.found.length} of ${this.steps.steps.length} steps `, ...moves);
  }

  async #fetched(run) {
    if (!this.runs.has(run)) {
      if (this.runs.size > 50) this.runs.clear();
      this.runs.set(run, this.host.run(run));
    }
    try {
      return await this.runs.get(run);
    } catch (error) {
      this.runs.delete(run);
      throw error;
    }
  }

  #head() {
    const about = this.items.runs[this.run];
    this.title.textContent = about.id;
    this.told = [about.agent, [about.domain, about.task].filter(Boolean).join("/"), about.side].filter(Boolean).join(" · ");
    this.about.textContent = this.told;
    this.tabs.replaceChildren(
      ...this.items.questions.map(({ title, key: letter }, question) => {
        const signs = this.items.newest[question].map((column) => {
          const cell = this.items.cells[this.run][column.at];
          const word = cell && cell.code >= 0 ? this.items.word(cell.code) : "";
          return make("i", { class: word, "aria-hidden": "true" }, cell ? (cell.code < 0 ? "!" : CODE_SIGNS(word)) : "·");
        });
        const name = letter ? key(letter) : null;
        return make("button", { type: "button", "aria-pressed": String(question === this.question), onclick: () => this.on.axis(question) }, name, make("span", { class: "axis-name" }, title), signs);
      }),
    );
  }

  #reward({ reward }) {
    this.about.textContent = [this.told, reward === null ? "" : `reward ${reward}`].filter(Boolean).join(" · ");
  }

  #lay(run, other) {
    this.steps = run ? new Steps(run, (step) => this.go(step), this.isAsSent) : null;
    this.others = run && other ? new Steps(other, (step) => this.others.go(step), this.isAsSent) : null;
    this.parting = this.pairs = null;
    const alone = this.steps?.element ?? make("p", { class: "waiting" }, "The record of this run was not given.");
    this.pane.replaceChildren(...(this.others ? this.#sideBySide(run, other) : [alone]));
    this.pane.scrollTop = 0;
  }

  /** Both runs, each step beside the one that it is most alike. */
  #sideBySide(run, other) {
    const [ones, others] = [[run, this.steps], [other, this.others]].map(([{ steps }, laid]) => steps.map((step, at) => known(step, laid.steps[at])));
    const [left, right] = [this.steps.articles(), this.others.articles()];
    this.pairs = aligned(ones, others);
    const names = [this.run, this.other].map((each) => this.items.runs[each].id);
    const rows = this.pairs.map(([one, another, how]) => {
      const [sign, words] = PAIRED[how];
      return make("li", { class: `pair ${how}` }, left[one] ?? make("div", {}), make("span", { class: "how", title: words, role: "img", "aria-label": words }, sign), right[another] ?? make("div", {}));
    });
    const n = (...which) => this.pairs.filter(([, , how]) => which.includes(how)).length;
    const alone = (side) => this.pairs.filter((pair) => pair[2] === "alone" && pair[side] !== null).length;
    const sum = `${n("same", "words", "acts")} steps side by side, ${n("same")} of them the same; ${alone(0)} only in ${names[0]}, ${alone(1)} only in ${names[1]}. `;
    const heads = names.map((name, at) => make("h3", {}, name, " ", make("span", { class: "quiet" }, [this.items.runs[at ? this.other : this.run].agent, `ended: ${(at ? other : run).ended ?? "not said"}`].filter(Boolean).join(" · "))));
    Steps.latest = { lay: (...given) => [this.steps, this.others].forEach((steps) => steps.lay(...given)) };
    return [make("p", { class: "quiet" }, sum, "Next place at which they part", key("X")), make("div", { class: "pair heads-of" }, heads[0], make("span", {}), heads[1]), make("ol", { class: "pairs" }, rows)];
  }

  /** What is said of the run, and of the one beside it. */
  #say() {
    this.words.show(this.run, this.question, this.opened, this.judge);
    if (this.beside) {
      this.sides.append(this.otherWords.element);
      this.otherWords.show(this.other, this.question, this.beside, this.judge);
      for (const [{ element }, run] of [[this.words, this.run], [this.otherWords, this.other]]) element.prepend(make("p", { class: "quiet" }, this.items.runs[run].id));
    } else this.otherWords.element.remove();
    this.besides.value = this.beside ? this.items.runs[this.other].id : "";
  }

  #ofTask() {
    const { task, domain } = this.items.runs[this.run];
    return this.items.runs.flatMap((each, run) => (task !== null && each.task === task && each.domain === domain && run !== this.run ? [run] : []));
  }

  /** Names that begin or go on as typed, those of the same task first. */
  #offer() {
    const typed = this.besides.value.trim().toLowerCase();
    const same = new Set(this.#ofTask());
    const others = typed ? this.items.runs.keys() : [];
    const like = [...new Set([...same, ...others])].filter((run) => run !== this.run && this.items.runs[run].id.toLowerCase().includes(typed));
    this.offered.replaceChildren(...like.slice(0, OFFERED_BESIDE).map((run) => make("option", { value: this.items.runs[run].id }, this.items.runs[run].agent ?? "")));
  }

  #named() {
    const name = this.besides.value.trim();
    const run = this.items.byId.get(name);
    if (name && (run === undefined || run === this.run)) this.on.said(`No other run ${name} is here`);
    else this.on.beside(run);
  }

  #citers(run = this.run) {
    const citers = this.items.columns[this.question].map((column) => ({ column, cell: this.items.cells[run][column.at] }));
    return citers
      .filter(({ cell }) => cell)
      .map(({ column, cell }) => ({ judge: column.judge, key: String(column.judge + 1), title: this.items.index.judges[column.judge].name, cited: cell.cited }));
  }

  #cited(run = this.run, record = this.steps) {
    const citers = this.#citers(run).filter(({ judge }) => this.judge === null || judge === this.judge);
    const steps = record?.steps.length ?? 0;
    return [...new Set(citers.flatMap(({ cited }) => cited))].filter((step) => step >= 0 && step < steps).sort((a, b) => a - b);
  }

  #cite() {
    const name = (of) => (step, by) => `Step ${step}${of}${by.length ? `, cited by ${by.map(({ title }) => title).join(", ")}` : ""}`;
    this.steps?.showCitations(this.#citers(), { cited: this.#cited() }, name(""));
    this.others?.showCitations(this.#citers(this.other), { cited: this.#cited(this.other, this.others) }, name(` of ${this.items.runs[this.other].id}`));
  }

  /** The step to begin with: cited by a judge that flipped, by one that says incorrect, by any. */
  #first() {
    const cells = this.items.cells[this.run];
    const flipped = this.items.flips(this.run, this.question).map(({ fresh }) => fresh);
    const wrong = this.items.newest[this.question].map((column) => cells[column.at]).filter((cell) => cell?.code === 1);
    const cited = this.#cited();
    return [...flipped, ...wrong].flatMap((cell) => cell.cited).find((step) => cited.includes(step)) ?? cited[0] ?? 0;
  }

  #toStep(step) {
    const last = this.steps.steps.length - 1;
    if (last < 0) return;
    this.steps.mark(Math.max(0, Math.min(step ?? this.#first(), last)));
    this.steps.lay(this.steps.current);
    const isOwnPane = this.pane.scrollHeight > this.pane.clientHeight + 1; // on a phone the reasons come first
    const { article } = this.steps.steps[this.steps.current];
    const top = (element) => element.getBoundingClientRect().top;
    if (isOwnPane) this.pane.scrollTop += top(article) - top(this.pane) - 32; // a notebook around it stays where it is
    else if (step !== undefined) article.scrollIntoView({ block: "start" });
  }
}
