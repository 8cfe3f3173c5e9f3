/** A question without an answer is asked again after this time; asking twice does no harm. */
const PATIENCE = 3000;

/** Questions to Python, each asked until it is answered. */
class Kernel {
  constructor(model) {
    this.model = model;
    this.view = Math.random().toString(36).slice(2);
    this.waiting = new Map();
    this.serial = 0;
    this.onAnswer = (answer) => this.#hear(answer);
    model.on("msg:custom", this.onAnswer);
  }

  /** late(why) is called whenever the answer does not come. */
  ask(kind, content, late = () => {}) {
    return new Promise((resolve, reject) => {
      const re = `${this.view}/${(this.serial += 1)}`;
      const send = () => {
        try {
          this.model.send({ kind, re, content });
        } catch {
          late("the kernel is gone; run the cell again");
        }
      };
      const again = () => {
        late("the kernel does not answer; asking again");
        send();
      };
      this.waiting.set(re, { resolve, reject, timer: setInterval(again, PATIENCE) });
      send();
    });
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
    if (answer.error) question.reject(new Error(answer.error));
    else question.resolve(answer.content);
  }
}

/** What was said while no kernel answered stays in this browser, under the name of the labels it belongs to. */
class Unsent {
  constructor(place) {
    this.name = `axisjudge-unsent:${place}`;
  }

  all() {
    try {
      return JSON.parse(localStorage.getItem(this.name) ?? "{}");
    } catch {
      return {};
    }
  }

  keep(change) {
    this.#write({ ...this.all(), [`${change.item}/${change.axis}`]: change });
  }

  /** Python has it: forget it, unless something newer was typed since. */
  sent(change) {
    const left = this.all();
    const name = `${change.item}/${change.axis}`;
    if (JSON.stringify(left[name]) === JSON.stringify(change)) delete left[name];
    this.#write(left);
  }

  #write(changes) {
    try {
      if (Object.keys(changes).length) localStorage.setItem(this.name, JSON.stringify(changes));
      else localStorage.removeItem(this.name);
    } catch {
      // a browser that keeps nothing: the label is still asked of Python until it answers
    }
  }
}
