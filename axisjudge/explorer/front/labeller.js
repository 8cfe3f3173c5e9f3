/** A pause longer than this is no work on the trajectory. */
const PAUSE = 60;
/** Letters typed within this time are saved together. */
const TYPING = 300;

const NOTHING = { verdict: null, confidence: null, cited: [], note: "" };

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** About how long, in words. */
function inWords(seconds) {
  const minutes = Math.max(1, Math.round(seconds / 60));
  return minutes < 90 ? `about ${minutes} min` : `about ${(minutes / 60).toFixed(1)} h`;
}

/**
 * The labeller: what was said, what is shown, and what keys do.
 *
 * host: about (what is asked), item(n) -> the run, save({item, axis, label, seconds, at}) -> kept, with what stands if that was said
 * later, download() or none.
 * state: labels {"n/axis": label}, history [{item, axis, before}] for undo, seconds {n: spent}, all from earlier sittings.
 */
class Labeller {
  constructor(host, state) {
    Object.assign(this, { host, about: host.about, labels: state.labels, history: state.history, seconds: state.seconds });
    this.runs = new Map();
    this.unsaved = new Map();
    this.failed = null;
    this.isOlder = false;
    this.seen = performance.now();
    this.pane = make("div", { class: "pane", tabindex: "0", role: "region", "aria-label": "Trajectory" });
    this.panel = make("div", { class: "panel", role: "region", "aria-label": "Labels" });
    this.said = make("div", { class: "said", role: "status", "aria-live": "polite" });
    this.saved = make("span", { class: "saved", role: "status" });
    this.waits = make("p", { class: "late error", role: "status", hidden: true });
    this.keys = keysDialog(KEYS);
    this.element = make("div", { class: "labeller", role: "group", "aria-label": "Labelling", tabindex: "-1" }, make("h1", { class: "said" }, "Labelling"), this.pane, this.panel, this.said, this.keys);
    this.held = new KeysHeld(this.element, () => this.keys.open, (error) => this.#say(error.message));
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    for (const kind of ["keydown", "pointerdown", "wheel"]) {
      this.element.addEventListener(kind, () => this.#count(), { passive: true, capture: true });
    }
    this.#layPanel();
    for (const change of state.replay ?? []) this.#send(change);
  }

  open(item = this.#whereStopped()) {
    const opening = this.#open(item);
    this.held.until(opening);
    return opening;
  }

  async #open(item) {
    this.flush();
    this.awaited = item;
    const run = await this.#run(item);
    if (this.awaited !== item) return; // somebody went on meanwhile
    this.#count();
    this.item = item;
    this.isTyping = false;
    this.asked = this.about.axes.filter((axis) => this.about.items[item].axes.includes(axis.name));
    this.forms = new Map(this.asked.map((axis) => [axis.name, new AxisForm(axis, this.about, this.#handlers(axis.name))]));
    this.axes.replaceChildren(...[...this.forms.values()].map((form) => form.element));
    this.axis = (this.asked.find((axis) => !this.#label(axis.name).verdict) ?? this.asked[0]).name;
    this.steps = new Steps(run, (step) => this.#cite(step));
    this.pane.replaceChildren(this.steps.element);
    this.pane.scrollTop = 0;
    this.picker.value = String(item);
    this.#show();
    this.#say(`Trajectory ${item + 1} of ${this.about.items.length}, ${run.steps.length} steps`);
    this.steps.go(0);
    if (item + 1 < this.about.items.length) this.#run(item + 1).catch(() => {});
  }

  #run(item) {
    if (!this.runs.has(item)) {
      const run = this.host.item(item);
      run.catch(() => this.runs.delete(item)); // asked for again next time
      this.runs.set(item, run);
    }
    return this.runs.get(item);
  }

  /** Save what is typed now; called before leaving. */
  flush() {
    clearTimeout(this.typing);
    this.typing = null;
    this.#saveTyped();
    this.isTyping = false;
  }

  /** A key that fell on a page's body, after a click beside everything, is meant for the labeller as well. */
  press(event) {
    if (event.target === document.body && !this.held.takes(event)) this.#onKey(event);
  }

  /** Called when the page is left: nothing that is nowhere but here goes without a question. */
  leaving(event) {
    this.flush();
    if ([...this.unsaved.values()].some(({ isLost, isAlone }) => isLost || isAlone)) event.preventDefault();
  }

  /** Say in the place of "Saved" what is wrong with saving; the next label that is saved clears it. */
  warn(words) {
    this.failed = words;
    this.#showSaved();
  }

  /** Say in the sight of all that an answer is waited for; nothing once it has come. */
  wait(why) {
    this.waits.hidden = !why;
    this.waits.textContent = why ? `Waiting: ${why}.` : "";
  }

  /** Labels were changed in another tab or browser; where these are all that are kept, what is here and not among them is kept again. */
  takeUp(labels = {}, isAll = false) {
    if (!this.unsaved.size && !this.typed) {
      Object.assign(this.labels, labels);
      for (const name of Object.keys(this.labels)) if (isAll && !(name in labels)) this.#save(...name.split("/").map((part, at) => (at ? part : Number(part))));
    }
    if (this.forms) this.#show();
  }

  // ---- what was said

  #label(axis, item = this.item) {
    return this.labels[`${item}/${axis}`] ?? NOTHING;
  }

  #isDone(item) {
    return this.about.items[item].axes.every((axis) => this.#label(axis, item).verdict);
  }

  #whereStopped() {
    const last = this.history.at(-1)?.item ?? 0;
    const inOrder = this.about.items.map((_, n) => (n + last) % this.about.items.length);
    return inOrder.find((item) => !this.#isDone(item)) ?? last;
  }

  #change(axis, change) {
    const before = this.#label(axis);
    const after = { ...before, ...change };
    if (isSame(before, after)) return;
    this.history.push({ item: this.item, axis, before });
    this.#set(this.item, axis, after);
  }

  #set(item, axis, label, how = "set") {
    this.flush();
    this.labels[`${item}/${axis}`] = label;
    this.#save(item, axis, how);
    this.#show();
  }

  /** A note is one change for undo, and is saved at every letter, or every TYPING ms. */
  #type(axis, note) {
    if (!this.isTyping) this.history.push({ item: this.item, axis, before: this.#label(axis) });
    const how = this.isTyping ? (this.typed?.[2] ?? "typed") : "set";
    this.isTyping = true;
    this.labels[`${this.item}/${axis}`] = { ...this.#label(axis), note };
    this.typed = [this.item, axis, how];
    if (!this.typing) {
      this.#saveTyped();
      this.typing = setTimeout(() => {
        this.typing = null;
        this.#saveTyped();
      }, TYPING);
    }
    this.#showSaved();
  }

  #saveTyped() {
    if (this.typed) this.#save(...this.typed);
    this.typed = null;
  }

  /** how: set, typed (more of the same note), undo. */
  #save(item, axis, how = "set") {
    this.#count();
    const name = `${item}/${axis}`;
    this.isOlder = false;
    this.#send({ item, axis, label: this.labels[name], seconds: Math.round(this.seconds[item] ?? 0), how, at: Date.now() });
  }

  #send(change) {
    const name = `${change.item}/${change.axis}`;
    change.isLost = false;
    this.unsaved.set(name, change);
    this.#showSaved();
    this.host.save(change, this).then(
      (stands) => {
        if (this.unsaved.get(name) === change) this.unsaved.delete(name);
        this.failed = null;
        const again = [...this.unsaved.values()].find(({ isLost }) => isLost); // what failed before may go through now
        if (again) this.#send(again);
        if (stands && isSame(this.labels[name], change.label)) this.#giveWay(change, stands);
        this.#showSaved();
      },
      (error) => {
        change.isLost = true;
        this.warn(`Not saved: ${error.message}`);
      },
    );
  }

  /** Another browser of the same person said something later: that stands, and U brings this back. */
  #giveWay({ item, axis, label }, stands) {
    this.history.push({ item, axis, before: label });
    this.labels[`${item}/${axis}`] = stands;
    this.isOlder = true;
    this.takeUp();
  }

  async #undo() {
    this.flush();
    const last = this.history.pop();
    if (!last) return this.#say("Nothing to undo");
    if (last.item !== this.item) await this.open(last.item);
    this.axis = last.axis;
    this.#set(last.item, last.axis, last.before, "undo");
    this.#say(`Undone: ${this.#title(last.axis)} is ${this.#spoken(last.before)} again`);
  }

  #cite(step) {
    const { cited } = this.#label(this.axis);
    const isCited = cited.includes(step);
    const after = isCited ? cited.filter((each) => each !== step) : [...cited, step].sort((a, b) => a - b);
    this.#change(this.axis, { cited: after });
    this.#say(`Step ${step} ${isCited ? "no longer cited" : "cited"} for ${this.#title(this.axis)}`);
  }

  #sure(by) {
    const levels = this.about.confidences;
    const at = levels.indexOf(this.#label(this.axis).confidence);
    const next = at < 0 ? (by > 0 ? levels.length - 1 : 0) : Math.max(0, Math.min(at + by, levels.length - 1));
    this.#change(this.axis, { confidence: levels[next] });
    this.#say(`${Math.round(levels[next] * 100)} percent sure of ${this.#title(this.axis)}`);
  }

  #judge(verdict) {
    this.#change(this.axis, { verdict });
    this.#say(`${this.#title(this.axis)}: ${this.#spoken({ verdict })}`);
    if (this.advances) this.#next();
  }

  // ---- where one is

  #activate(axis) {
    if (axis === this.axis) return;
    this.flush();
    this.axis = axis;
    this.#show();
    this.#say(`${this.#title(axis)}, ${this.#spoken(this.#label(axis))}`);
  }

  async #next() {
    const at = this.asked.findIndex((axis) => axis.name === this.axis);
    const rest = [...this.asked.slice(at + 1), ...this.asked.slice(0, at + 1)];
    const open = rest.find((axis) => !this.#label(axis.name).verdict);
    if (open) return this.#activate(open.name);
    const items = this.about.items.map((_, n) => (this.item + 1 + n) % this.about.items.length);
    const unfinished = items.find((item) => !this.#isDone(item));
    if (unfinished !== undefined) return this.open(unfinished);
    this.#say(`All ${this.about.items.length} trajectories are labelled. Thank you.`);
  }

  #turn(by) {
    const item = this.item + by;
    if (item >= 0 && item < this.about.items.length) this.open(item);
  }

  #note() {
    this.forms.get(this.axis).note.focus();
  }

  #onKey(event) {
    const target = event.composedPath()[0];
    const isText = takesText(target);
    if (this.keys.open || this.held.isBefore(event) || (event.ctrlKey || event.metaKey || event.altKey) && !(event.key === "z" && !isText)) return;
    if (isText) {
      if (event.key === "Escape") this.steps.go(this.steps.current);
      return;
    }
    const action = this.#action(event, target);
    if (!action) return;
    event.preventDefault();
    this.held.begun = action() ?? this.held.begun;
  }

  #action(event, target) {
    const hasOwnKeys = target.closest("button, summary, select");
    const isRadio = target.tagName === "INPUT";
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (name === "z") return event.ctrlKey || event.metaKey ? () => this.#undo() : null;
    if ((name === "Enter" || name === " ") && hasOwnKeys) return null;
    if (name.startsWith("Arrow") && (isRadio || target.tagName === "SELECT")) return null;
    const verdict = this.about.verdicts[Number(name) - 1];
    if (verdict) return () => this.#judge(verdict);
    const axis = this.asked.find((each) => each.key.toLowerCase() === name);
    if (axis) return () => this.#activate(axis.name);
    const steps = this.steps;
    return {
      j: () => steps.go(steps.current + 1),
      k: () => steps.go(steps.current - 1),
      ArrowDown: () => steps.go(steps.current + 1),
      ArrowUp: () => steps.go(steps.current - 1),
      c: () => this.#cite(steps.current),
      " ": () => this.#cite(steps.current),
      o: () => (event.shiftKey ? steps.foldAll() : steps.fold(steps.current)),
      "-": () => this.#sure(-1),
      "+": () => this.#sure(+1),
      "=": () => this.#sure(+1),
      m: () => this.#note(),
      i: () => this.forms.get(this.axis).rubric.toggleAttribute("open"),
      u: () => this.#undo(),
      g: () => this.#toggleAdvance(),
      n: () => this.#turn(+1),
      p: () => this.#turn(-1),
      Enter: () => this.#next(),
      "?": () => this.keys.show(),
    }[name];
  }

  #count() {
    const now = performance.now();
    if (this.item !== undefined) {
      const spent = Math.min((now - this.seen) / 1000, PAUSE);
      this.seconds[this.item] = (this.seconds[this.item] ?? 0) + spent;
    }
    this.seen = now;
  }

  // ---- what is shown

  #layPanel() {
    this.axes = make("div", { class: "axes" });
    this.bar = make("progress", { max: String(this.about.items.length), "aria-label": "Trajectories labelled" });
    this.pace = make("span", { class: "pace" });
    this.picker = make("select", { "aria-label": "Trajectory", onchange: () => this.open(Number(this.picker.value)) });
    this.picker.append(...this.about.items.map((_, n) => make("option", { value: n })));
    const button = (words, keyed, act, name = null) =>
      make("button", { type: "button", onclick: act, "aria-label": name }, words, keyed ? key(keyed) : null);
    this.advance = button("Go on", "G", () => this.#toggleAdvance(), "Go on to the next axis after each verdict, and after the last to the next trajectory");
    this.advance.setAttribute("aria-pressed", "false");
    this.panel.append(
      this.waits,
      make("div", { class: "progress" }, whoIs("Labelling", this.host.rater ?? this.about.rater, this.host.leave), make("div", { class: "line" }, this.picker, this.pace), this.bar),
      this.axes,
      make(
        "div",
        { class: "foot" },
        button("←", "P", () => this.#turn(-1), "Previous trajectory"),
        button("→", "N", () => this.#turn(+1), "Next trajectory"),
        button("Undo", "U", () => this.#undo()),
        this.advance,
        button("Keys", "?", () => this.keys.show()),
        this.host.download ? button("Download", null, () => this.#download()) : null,
        this.host.toFile ? button("To a file", null, () => this.#toFile(), "Keep the labels in a file as well, after every change") : null,
        this.saved,
      ),
    );
  }

  #toggleAdvance() {
    this.advances = !this.advances;
    this.advance.setAttribute("aria-pressed", String(this.advances));
    this.#say(this.advances ? "A verdict goes on to the next axis" : "A verdict stays on its axis");
  }

  #download() {
    this.flush();
    this.host.download(this);
  }

  #toFile() {
    this.flush();
    this.host.toFile().then(() => this.#say("Every change goes to the file as well"), (error) => this.#say(`No file: ${error.message}`));
  }

  #handlers(axis) {
    return {
      activate: () => this.#activate(axis),
      change: (change) => this.#change(axis, change),
      note: (note) => this.#type(axis, note),
      flush: () => this.flush(),
      cite: (step) => this.#cite(step),
    };
  }

  #show() {
    for (const { name } of this.asked) this.forms.get(name).show(this.#label(name), name === this.axis);
    const cited = this.asked.map((axis) => ({ ...axis, cited: this.#label(axis.name).cited }));
    this.steps.showCitations(cited, cited.find((axis) => axis.name === this.axis));
    this.#showProgress();
  }

  #showProgress() {
    const items = this.about.items.map((_, n) => n);
    const done = items.filter((item) => this.#isDone(item));
    const begun = (item) => this.about.items[item].axes.some((axis) => !isSame(this.#label(axis, item), NOTHING));
    for (const [n, option] of [...this.picker.options].entries()) {
      const sign = done.includes(n) ? ", done" : begun(n) ? ", begun" : "";
      option.textContent = `Trajectory ${n + 1} of ${items.length}${sign}`;
    }
    this.bar.value = done.length;
    const left = items.length - done.length;
    const times = done.map((item) => this.seconds[item]).filter((spent) => spent > 0);
    const rest = left && times.length ? `, ${inWords(median(times) * left)} left` : "";
    this.pace.textContent = left ? `${done.length} done${rest}` : "all done";
  }

  #showSaved() {
    const isSaved = !this.unsaved.size && !this.typed;
    const saved = this.isOlder ? "Saved; what you said later, elsewhere, stands: U brings this back" : "Saved";
    const words = this.failed ?? (isSaved ? saved : "Saving…");
    this.saved.classList.toggle("failed", Boolean(this.failed));
    if (this.saved.textContent !== words) this.saved.textContent = words;
  }

  #say(words) {
    this.said.textContent = words;
  }

  #title(axis) {
    return this.about.axes.find((each) => each.name === axis).title;
  }

  #spoken(label) {
    return label.verdict?.replace("_", " ") ?? "without verdict";
  }
}
