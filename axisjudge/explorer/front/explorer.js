/** Milliseconds after which a search shows what it has found by then. */
const REDRAWN = 700;

const EXPLORER_KEYS = [
  ["J K", "next and previous item, on the same axis where it passes"],
  ["↑ ↓ ← →, Enter", "move in the grid, open the item"],
  ["D, Shift+D", "next and previous item that is flipped or split, against uncertain alone where no other is"],
  ["N P", "next and previous cited step"],
  ["F, Shift+F", "next and previous step with the words searched for"],
  ["B, Shift+B", "another run of the task beside this one, its steps aligned; alone again"],
  ["X, Shift+X", "next and previous place at which two runs part"],
  ["V", "the whole conversation as it was sent; again, laid out to be read"],
  ["1 to 9", "one judge's steps alone; again, all judges'"],
  ["W, then 1 to 4", "decide who is right: new or first, old or second, both wrong, cannot tell"],
  ["C, Esc", "comment on the decision, leave the comment"],
  ["U", "take back the last decision or comment"],
  ["T A S R E", "go to an axis"],
  ["O, Shift+O", "open or fold the step, all steps"],
  ["/", "search"],
  ["Esc", "leave the search, the decision, the run"],
  ["?", "this list"],
];

/** Where one is, as the end of a link: filters, order and columns, and run, axis and step where a run is open. */
function addressOf(filters, items, place) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (String(value) !== String(FRESH[name])) parts.set(name, value);
  if (place) {
    parts.set("run", items.runs[place.run].id);
    parts.set("axis", items.questions[place.question].name);
    if (place.step !== undefined) parts.set("step", place.step);
    if (place.other !== undefined) parts.set("with", items.runs[place.other].id);
  }
  return parts.toString();
}

/** The filters and the place that an address names; what it names and is not here is left out. */
function readAddress(address, items) {
  const parts = new URLSearchParams(address);
  const filters = { ...FRESH };
  for (const name of Object.keys(FRESH)) if (name !== "only" && parts.has(name)) filters[name] = parts.get(name);
  filters.only = (parts.get("only") ?? "").split(",").filter((name) => name in MARKS);
  const run = items.byId.get(parts.get("run") ?? "");
  const question = items.questions.findIndex(({ name }) => name === parts.get("axis"));
  if (run === undefined && question >= 0 && !filters.on) filters.on = parts.get("axis");
  const step = /^\d+$/.test(parts.get("step") ?? "") ? Number(parts.get("step")) : undefined;
  const other = items.byId.get(parts.get("with") ?? "");
  const missing = parts.has("run") && run === undefined ? parts.get("run") : null;
  return { filters, missing, place: run === undefined ? null : { run, question: Math.max(question, 0), step, other: other === run ? undefined : other } };
}

/**
 * The explorer: a grid, a run beside it, and what keys do.
 *
 * host: index, run(n) -> opened run, search(text, goOn(runs found by now)) -> runs, prepareSearch() or none,
 * me: {get, set} who decides, last() -> who did before or none, lines(rater) -> all that they decided, in order,
 * decide(change, late(why)) -> saved, decisions(rater), toFile(rater) or none, kept (the browser's store, for views),
 * where (what is said of where decisions are kept) or none, moved(address, isNew), link(address), back() or none.
 */
class Explorer {
  constructor(host) {
    this.host = host;
    this.items = new Items(host.index);
    const items = this.items;
    this.said = make("div", { class: "said", role: "status", "aria-live": "polite" });
    this.list = new List(items, {
      open: (run, question) => this.open({ run, question }),
      sort: (sort, order) => {
        this.filters.set({ ...this.filters.filters, sort });
        this.list.head.querySelector(`[data-order="${order}"]`)?.focus();
      },
      move: (run, question) => (this.opened.isOpen ? this.open({ run, question }) : this.#point(run, question)),
    });
    this.filters = new Filters(items, {
      change: () => this.#changed(),
      views: async () => (this.decisions.rater && (await host.kept.named(`views/${this.decisions.rater}`))) ?? {},
      keep: (views) => this.#keep(views),
      copy: () => this.#copy(),
      download: () => save("items.csv", "text/csv", this.#table(",")),
      decisions: host.decisions && (() => this.#give(host.decisions)),
      toFile: host.toFile && (() => this.#give(host.toFile)),
      keys: () => this.keys.show(),
      seek: () => host.prepareSearch?.(),
    });
    this.decisions = new Decisions(items, host, {
      changed: () => this.#redecided(),
      left: () => {
        this.opened.deciding.draw(); // of a run that is closed, too
        this.filters.set(this.filters.filters); // the name of a view is theirs
      },
      said: (words) => this.say(words),
      open: (run, question) => this.open({ run, question }),
      entering: (done) => this.held.until(done),
      answers: () => (this.opened.deciding.isArmed ? this.opened.deciding.focusAnswers() : this.list.element.focus()),
    });
    this.opened = new Opened(items, host, this.decisions, {
      close: () => this.close(),
      axis: (question) => this.open({ ...this.place, question, step: undefined }),
      step: (step) => this.#moved({ ...this.place, step }, false),
      turn: (by) => this.turn(by),
      beside: (other) => this.open({ ...this.place, step: this.opened.steps?.current, other }),
      link: () => this.#link(),
      said: (words) => this.say(words),
      decided: (words) => this.#decided(words),
    });
    this.waits = make("p", { class: "late error", role: "status", hidden: true });
    this.keys = keysDialog(EXPLORER_KEYS);
    const notes = items.index.notes.map((words) => make("p", { class: "note" }, words));
    const browse = make("div", { class: "browse" }, this.filters.element, notes, this.list.outer);
    this.element = make("div", { class: "explorer", role: "group", "aria-label": "Explorer", tabindex: "-1" }, make("h1", { class: "said" }, "Explorer"), this.decisions.element, this.waits, browse, this.opened.element, this.said, this.keys);
    this.held = new KeysHeld(this.element, () => this.keys.open, (error) => this.say(error.message));
    this.element.addEventListener("keydown", (event) => this.press(event));
  }

  /** Go where an address says. */
  visit(address, scroll = null) {
    const { filters, place, missing } = readAddress(address, this.items);
    this.isVisiting = true;
    this.filters.set(filters, filters.view);
    this.isVisiting = false;
    if (place) this.open(place, false);
    else if (this.opened.isOpen) this.#shut();
    if (scroll !== null) {
      this.list.element.scrollTop = scroll;
      this.list.draw();
    }
    if (missing) this.say(`No run ${missing} is here: it was not rated, or stays shut`);
  }

  open(place, isMove = true) {
    const opening = this.#open(place, isMove);
    this.held.until(opening);
    return opening;
  }

  async #open(place, isMove) {
    const isNew = !this.opened.isOpen;
    this.place = place;
    this.element.classList.add("is-open");
    this.element.classList.toggle("is-beside", place.other !== undefined);
    this.list.beside = true;
    if (isMove) this.#moved(place, isNew);
    await this.opened.open(place, this.filters.filters.find);
    this.list.point(place.run, place.question, true);
    const { id } = this.items.runs[place.run];
    this.say(`${id}, ${this.items.questions[place.question].title}`);
  }

  close() {
    if (this.host.back?.()) return;
    this.#shut();
    this.#moved(null, false);
  }

  /** The next item of those shown, on the same axis where it passes. */
  turn(by) {
    const { rows } = this.shown;
    if (!rows.length) return;
    const held = this.place ?? this.list.cursor;
    const at = held ? this.list.place.get(held.run) : undefined;
    const next = at === undefined ? 0 : at + by;
    if (next < 0 || next >= rows.length) return this.say(by > 0 ? "This is the last item" : "This is the first item");
    const { run, passing } = rows[next];
    const question = held && passing.includes(held.question) ? held.question : passing[0];
    if (this.opened.isOpen) return this.open({ run, question });
    return this.#point(run, question);
  }

  /** The next item on which judges are split or flipped, whatever its axis; against uncertain alone where no other is. */
  disagreement(by) {
    const every = this.shown.rows.flatMap(({ run, passing }) => passing.map((question) => ({ run, question })));
    const is = (name) => ({ run, question }) => this.items.has(run, question, name);
    const atOdds = every.filter((item) => is("split")(item) || is("flipped")(item));
    const decided = atOdds.filter((item) => is("flipped")(item) || !is("unsure")(item));
    const all = decided.length ? decided : atOdds;
    const held = this.place ?? this.list.cursor;
    const order = new Map(this.shown.rows.map(({ run }, at) => [run, at]));
    const rank = ({ run, question }) => (order.get(run) ?? -1) * this.items.questions.length + question;
    const from = held ? rank(held) : -1;
    const next = by > 0 ? all.find((item) => rank(item) > from) : all.findLast((item) => rank(item) < from);
    if (next) return this.open(next);
    return this.say("No further item is split or flipped");
  }

  say(words) {
    this.said.textContent = words;
  }

  /** Say in the sight of all that an answer is waited for; nothing once it has come. */
  wait(why) {
    this.waits.hidden = !why;
    this.waits.textContent = why ? `Waiting: ${why}.` : "";
  }

  #shut() {
    this.opened.close();
    this.place = null;
    this.element.classList.remove("is-open", "is-beside");
    this.list.beside = false;
    this.list.element.focus({ preventScroll: true });
  }

  #point(run, question) {
    this.list.point(run, question);
    this.say(`${this.items.runs[run].id}, ${this.items.questions[question].title}`);
  }

  #moved(place, isNew) {
    this.place = place;
    this.host.moved(addressOf(this.filters.filters, this.items, place), isNew, this.list.element.scrollTop);
  }

  /** Other filters: choose anew, and search the runs' text where words are sought. */
  async #changed() {
    const { filters } = this.filters;
    const sought = filters.find.trim();
    let isPattern = true; // or none yet: somebody types it
    try {
      soughtFor(sought);
    } catch {
      isPattern = false;
    }
    this.filters.isPattern(isPattern);
    if (!isPattern) return;
    if (this.sought !== sought) {
      this.sought = sought;
      this.searched = null;
      this.found = sought ? this.#namedLike(soughtFor(sought)) : null;
    }
    const isSearching = Boolean(sought) && this.searched !== sought;
    this.#draw(isSearching);
    if (!this.isVisiting) this.#moved(this.place ?? null, false);
    if (!isSearching) return;
    try {
      let drawn = performance.now();
      const runs = await this.host.search(sought, (some = []) => {
        if (this.sought !== sought) return false;
        some.forEach((run) => this.found.add(run));
        if (performance.now() - drawn > REDRAWN) {
          this.#draw(true);
          drawn = performance.now();
        }
        return true;
      });
      if (this.sought !== sought) return;
      this.searched = sought;
      runs.forEach((run) => this.found.add(run));
      this.#draw(false);
      if (this.opened.isOpen) this.opened.find(filters.find);
    } catch (error) {
      this.say(`The search failed: ${error.message}`);
    }
  }

  #draw(isSearching) {
    this.items.narrow(this.filters.filters);
    this.shown = this.items.chosen(this.filters.filters, this.found);
    this.list.show(this.shown.rows, this.shown.asked, Object.keys(ABOUT).filter((name) => listed(this.filters.filters.about).includes(name)), this.filters.filters.sort, isSearching);
    this.filters.show(this.shown, isSearching);
  }

  #namedLike({ words, pattern }) {
    const isLike = (text) => text && (pattern ? pattern.test(text) : text.toLowerCase().includes(words));
    const found = new Set();
    this.items.runs.forEach((run, at) => [run.id, run.agent, run.domain, run.task].some(isLike) && found.add(at));
    return found;
  }

  /** Keep the views of whoever is here; says so, and is false, where nobody is. */
  async #keep(views) {
    const { rater } = this.decisions;
    if (!rater) this.say("Say first who you are: views are each person's own");
    if (!rater) this.decisions.askName();
    else await this.host.kept.name(`views/${rater}`, views).catch((error) => this.say(error.message));
    return Boolean(rater);
  }

  /** Decisions came or went: marks and counts anew, and the bar of the open run. */
  #redecided() {
    this.filters.showViews();
    if (!this.shown) return;
    this.#draw(false);
    const { deciding } = this.opened;
    if (this.place && this.opened.isOpen && this.opened.steps && !deciding.typed) deciding.draw();
  }

  #decided(words) {
    this.say(words);
    this.filters.show(this.shown, false);
    this.opened.deciding.show(this.place.run, this.place.question, this.opened.judge);
    this.opened.pane.focus({ preventScroll: true });
  }

  /** Called when the page is left: nothing that is nowhere but here goes without a question. */
  leaving(event) {
    this.opened.deciding.flush();
    if ([...this.decisions.unsaved].some(({ isLost }) => isLost)) event.preventDefault();
  }

  /** Give what was decided, once somebody has said who they are. */
  #give(how) {
    this.opened.deciding.flush();
    if (!this.decisions.rater) {
      this.say("Say first who decides");
      return this.decisions.askName();
    }
    return how(this.decisions.rater).catch((error) => this.say(error.message));
  }

  // ---- taking away

  async #link() {
    const address = this.host.link(addressOf(FRESH, this.items, { ...this.place, step: this.opened.steps?.current }));
    await this.#toClipboard(address, "The link is copied");
  }

  #copy() {
    return this.#toClipboard(this.#table("\t"), `${this.shown.items} items are copied`);
  }

  async #toClipboard(text, words) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(words);
    } catch {
      const area = make("textarea", { class: "said", "aria-label": "to copy" });
      area.value = text;
      this.element.append(area);
      area.select();
      this.say(document.execCommand("copy") ? words : "This browser lets nothing be copied; press Ctrl+C");
      area.remove();
    }
  }

  /** The items shown: one line each, with label and every column's verdict and confidence. */
  #table(mark) {
    const { items } = this;
    const names = [...new Set(items.columns.flat().map(items.named))];
    const titles = names.flatMap((name) => [name, `${name} confidence`]);
    const lines = this.shown.rows.flatMap(({ run, passing }) =>
      passing.map((question) => {
        const about = items.runs[run];
        const label = items.label(run, question);
        const cells = names.flatMap((name) => {
          const column = items.columns[question].find((each) => items.named(each) === name);
          const cell = column && items.cells[run][column.at];
          return cell ? [cell.code < 0 ? `lost: ${items.word(cell.code)}` : items.word(cell.code), cell.sure ?? ""] : ["", ""];
        });
        return [about.id, items.questions[question].name, about.agent ?? "", about.domain ?? "", about.task ?? "", label ? items.word(label.code) : "", ...cells];
      }),
    );
    const head = ["run", "axis", "agent", "domain", "task", "label", ...titles];
    return [head, ...lines].map((line) => line.map((value) => quoted(value, mark)).join(mark)).join("\n") + "\n";
  }

  // ---- keys

  /** What a key does. */
  press(event) {
    const target = event.composedPath()[0];
    const isText = takesText(target);
    if (this.keys.open || event.ctrlKey || event.metaKey || event.altKey || this.held.takes(event)) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.opened.deciding.isArmed) this.opened.deciding.arm(false);
      else if (isText) (this.opened.element.contains(target) ? this.opened.pane : this.list.element).focus({ preventScroll: true });
      else if (this.opened.isOpen) this.close();
      return;
    }
    if (event.key === "Enter" && target.tagName === "BUTTON") {
      event.preventDefault(); // a notebook would keep it from the button
      return target.click();
    }
    if (isText || target.tagName === "SELECT") return;
    const action = this.#action(event);
    if (!action) return;
    event.preventDefault();
    this.held.begun = action() ?? this.held.begun;
  }

  #action(event) {
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const number = /^[1-9]$/.test(name) ? Number(name) : null;
    const { opened } = this;
    if (number && opened.deciding.isArmed) return () => opened.deciding.answer(number);
    if (number) return number <= this.items.index.judges.length ? () => opened.choose(number - 1) : null;
    const question = this.items.questions.findIndex((each) => each.key?.toLowerCase() === name);
    if (question >= 0) return this.place ? () => this.open({ ...this.place, question, step: undefined }) : null;
    const by = event.shiftKey ? -1 : 1;
    const always = {
      j: () => this.turn(1),
      k: () => this.turn(-1),
      d: () => this.disagreement(by),
      u: () => this.decisions.undo(),
      "/": () => this.filters.find.select(),
      "?": () => this.keys.show(),
    }[name];
    if (always || !opened.isOpen || !opened.steps) return always;
    return {
      n: () => opened.nextCited(1),
      p: () => opened.nextCited(-1),
      f: () => opened.nextFound(by),
      w: () => opened.deciding.arm() || this.say("Nothing is to be decided here"),
      c: () => opened.deciding.comment() || this.say("Nothing is decided here by you"),
      o: () => opened.fold(event.shiftKey),
      b: () => (event.shiftKey ? opened.on.beside() : opened.nextBeside()),
      x: () => opened.nextParting(by),
      v: () => opened.showAsSent(),
    }[name];
  }
}

/** A value of a table: quoted where it must be, and never a formula to a spreadsheet. */
function quoted(value, mark) {
  const text = /^[=+\-@\t\r]/.test(String(value)) && typeof value === "string" ? `'${value}` : String(value);
  if (mark === "\t") return text.replace(/[\t\r\n]+/g, " ");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
