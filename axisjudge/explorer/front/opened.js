/** One run beside the grid: who says what on the axis at hand, and the record, at the cited steps. */
class Opened {
  /** on: close(), axis(question), step(index), judge(number), link(), plus those of Deciding. */
  constructor(items, host, decisions, on) {
    Object.assign(this, { items, host, on, judge: null, runs: new Map() });
    this.title = make("h2", {});
    this.about = make("p", { class: "quiet" });
    this.tabs = make("div", { class: "tabs", role: "group", "aria-label": "Axis" });
    this.words = new Words(items, { go: (step) => this.go(step), judge: (number) => this.choose(number) });
    this.deciding = new Deciding(items, decisions, { ...on, hasRecord: () => Boolean(this.steps) });
    this.pane = make("div", { class: "pane", tabindex: "0", role: "region", "aria-label": "Record" });
    this.matches = make("p", { class: "matches", role: "status" });
    const button = (words, keyed, act, why) => make("button", { type: "button", title: why, onclick: act }, words, keyed ? key(keyed) : null);
    this.element = make(
      "section",
      { class: "opened", "aria-label": "Opened run", hidden: true },
      make(
        "header",
        {},
        make("div", { class: "line" }, this.title, make("div", { class: "tools" }, button("←", "K", () => on.turn(-1), "previous item"), button("→", "J", () => on.turn(1), "next item"), button("Link", null, on.link, "copy a link to this item"), button("Print", null, () => print(), "print this run; what is folded stays so (Shift+O opens all)"), button("Close", "Esc", on.close, "back to the grid"))),
        this.about,
        this.tabs,
      ),
      this.words.element,
      this.deciding.element,
      this.matches,
      this.pane,
    );
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Show a run on an axis; with `step` at that step, else at the first cited one. */
  async open(run, question, step, find) {
    this.deciding.flush();
    const isOther = this.run !== run || !this.isOpen;
    const turn = (this.turn = Symbol("turn"));
    Object.assign(this, { run, question });
    this.element.hidden = false;
    this.#head();
    if (isOther) {
      this.steps = null;
      this.words.element.replaceChildren();
      this.pane.replaceChildren(make("p", { class: "waiting", role: "status" }, "Opening…"));
    }
    let opened;
    try {
      opened = await this.#fetched(run);
    } catch (error) {
      if (this.turn === turn) this.pane.replaceChildren(make("p", { class: "waiting error", role: "alert" }, error.message));
      return;
    }
    if (this.turn !== turn) return; // somebody went on meanwhile
    this.opened = opened;
    if (isOther) this.#lay(opened);
    this.words.show(run, question, opened, this.judge);
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

  /** Go to a step and say so to the address. */
  go(step) {
    if (!this.steps) return;
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
    this.words.show(this.run, this.question, this.opened, this.judge);
    this.deciding.show(this.run, this.question, this.judge);
    this.#cite();
    const [first] = this.#cited();
    if (this.steps && first !== undefined) this.go(first);
    this.on.said(this.judge === null ? "All judges" : this.items.index.judges[judge].name);
  }

  /** Mark the words searched for in the record, and open what was folded over them. */
  find(words) {
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

  #lay({ run }) {
    this.steps = run ? new Steps(run, (step) => this.go(step)) : null;
    this.pane.replaceChildren(this.steps?.element ?? make("p", { class: "waiting" }, "The record of this run was not given."));
    this.pane.scrollTop = 0;
  }

  #citers() {
    const citers = this.items.columns[this.question].map((column) => ({ column, cell: this.items.cells[this.run][column.at] }));
    return citers
      .filter(({ cell }) => cell)
      .map(({ column, cell }) => ({ judge: column.judge, key: String(column.judge + 1), title: this.items.index.judges[column.judge].name, cited: cell.cited }));
  }

  #cited() {
    const citers = this.#citers().filter(({ judge }) => this.judge === null || judge === this.judge);
    const steps = this.steps?.steps.length ?? 0;
    return [...new Set(citers.flatMap(({ cited }) => cited))].filter((step) => step >= 0 && step < steps).sort((a, b) => a - b);
  }

  #cite() {
    const name = (step, by) => `Step ${step}${by.length ? `, cited by ${by.map(({ title }) => title).join(", ")}` : ""}`;
    this.steps?.showCitations(this.#citers(), { cited: this.#cited() }, name);
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
