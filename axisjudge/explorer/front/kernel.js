/** A question without an answer is asked again after this time; Python answers a question once, however often it hears it. */
const PATIENCE = 3000;
/** What to do where no answer comes: said wherever something waits for one. */
const NO_ANSWER = "the kernel does not answer. If it is busy, wait. If it was restarted or is gone, run this cell again (and those above it): everything goes on where it stopped; what is not saved yet waits in this browser";

/** Questions to Python, each asked until it is answered. */
class Kernel {
  /** late(why) is called whenever an answer does not come, and with nothing once one has. */
  constructor(model, late = () => {}) {
    Object.assign(this, { model, late });
    this.view = Math.random().toString(36).slice(2);
    this.waiting = new Map();
    this.serial = 0;
    this.onAnswer = (answer) => this.#hear(answer);
    model.on("msg:custom", this.onAnswer);
  }

  /** late(why) is called whenever this very answer does not come. A word waits for the one before it, which it must not overtake. */
  ask(kind, content, late = () => {}) {
    if (!["save", "decide"].includes(kind)) return this.#ask(kind, content, late);
    const asked = () => this.#ask(kind, content, late);
    const answered = this.saving ? this.saving.then(asked) : asked(); // at once where it can be: the page may be left
    const saving = answered.catch(() => {}).then(() => {
      if (this.saving === saving) this.saving = null;
    });
    this.saving = saving;
    return answered;
  }

  #ask(kind, content, late) {
    return new Promise((resolve, reject) => {
      const re = `${this.view}/${(this.serial += 1)}`;
      const send = () => {
        try {
          this.model.send({ kind, re, content });
        } catch {
          this.#wait(late);
        }
      };
      const again = () => {
        this.#wait(late);
        send();
      };
      this.waiting.set(re, { resolve, reject, timer: setInterval(again, PATIENCE) });
      send();
    });
  }

  #wait(late) {
    late(NO_ANSWER);
    this.late(NO_ANSWER);
    this.isLate = true;
  }

  close() {
    this.waiting.forEach(({ timer }) => clearInterval(timer));
    this.model.off("msg:custom", this.onAnswer);
  }

  #hear(answer) {
    const question = this.waiting.get(answer.re);
    if (!question) return;
    this.waiting.delete(answer.re);
    clearInterval(question.timer);
    if (this.isLate) this.late("");
    this.isLate = false;
    if (answer.error) question.reject(new Error(answer.error));
    else question.resolve(answer.content);
  }
}

/**
 * What was said while no kernel answered stays in this browser, each person's apart, until Python has it.
 *
 * `wordOf(change)` is what a change says of its item; `has` what Python has of each person, as far as this browser knows.
 */
class Unsent {
  constructor(place, wordOf) {
    Object.assign(this, { kept: new Kept(`unsent:${place}`), wordOf, has: new Map() });
  }

  /**
   * Changes that never reached Python, in order, the last one of each item; and `older` ones, on whose items Python has by now
   * (`has`) what was said elsewhere since: that stands. Items that are not here are left for when they are.
   */
  async left(person, has, isHere = () => true) {
    const unsent = new Map();
    for (const { name, change, sent, base } of await this.kept.lines(person)) {
      const before = unsent.get(name);
      if (change) unsent.set(name, { change, known: [...(before?.known ?? [base]), this.wordOf(change)] });
      else if (isSame(before?.change, sent)) unsent.delete(name);
    }
    if (!unsent.size) this.kept.forget(person).catch(() => {});
    this.has.set(person, has);
    const here = [...unsent].filter(([, { change }]) => isHere(change));
    const isOlder = ([name, { known }]) => !known.some((word) => isSame(word ?? null, has.get(name) ?? null));
    const changes = (some) => some.map(([, { change }]) => change);
    const older = changes(here.filter(isOlder));
    for (const change of older) this.sent(person, change);
    return { left: changes(here.filter((each) => !isOlder(each))), older };
  }

  /** A browser that keeps nothing is no fault here: Python is asked until it answers. */
  keep(person, change) {
    const name = this.#name(change);
    return this.kept.append(person, { name, change, base: this.has.get(person)?.get(name) ?? null }).catch(() => {});
  }

  /** Python has it: forget it, unless something newer was said since. */
  sent(person, change, word = null) {
    const name = this.#name(change);
    if (word) this.has.get(person)?.set(name, word);
    return this.kept.append(person, { name, sent: change }).catch(() => {});
  }

  #name = ({ item, axis }) => `${item}/${axis}`;
}
