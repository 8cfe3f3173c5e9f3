/** A question without an answer is asked again after this time; Python answers a question once, however often it hears it. */
const PATIENCE = 3000;
/** What to do where no answer comes: said wherever something waits for one. */
const NO_ANSWER = "the kernel does not answer. If it is busy, wait. If it was restarted or is gone, run this cell again (and those above it): everything goes on where it stopped; what is not saved yet is sent then";
/** A change as it is sent, with how many seconds ago it was said: of two words on an item the later said stands, whichever comes first. */
const withAge = (change) => ({ ...change, ago: (Date.now() - (change.at ?? Date.now())) / 1000 });
/** What is asked may depend on when it is. */
const asOfNow = (content) => (typeof content === "function" ? content() : content);

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
          this.model.send({ kind, re, content: asOfNow(content) });
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

/** What was said while no kernel answered stays in this browser, each person's apart, until Python has it. */
class Unsent {
  constructor(place) {
    this.kept = new Kept(`unsent:${place}`);
  }

  /** Changes that never reached Python, in order, the last one of each item; those of items that are not here are left for when they are. */
  async left(person, isHere = () => true) {
    const unsent = new Map();
    for (const { name, change, sent } of await this.kept.lines(person)) {
      if (change) unsent.set(name, change);
      else if (isSame(unsent.get(name), sent)) unsent.delete(name);
    }
    if (!unsent.size) this.kept.forget(person).catch(() => {});
    return [...unsent.values()].filter(isHere);
  }

  /** A browser that keeps nothing is no fault here: Python is asked until it answers, if only the page stays open. */
  keep(person, change) {
    return this.kept.append(person, { name: this.#name(change), change: { ...change } }).catch(() => (change.isAlone = true));
  }

  /** Python has it: forget it, unless something newer was said since. */
  sent(person, { isAlone, ...change }) {
    return this.kept.append(person, { name: this.#name(change), sent: change }).catch(() => {});
  }

  #name = ({ item, axis }) => `${item}/${axis}`;
}
