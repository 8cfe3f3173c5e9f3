/** What to do where the server does not answer. */
const NO_SERVER = "the server does not answer; it is asked again. Go on: what you say is sent when it answers";
/** A server that does not answer is asked again after this time. */
const AGAIN = 2000;

/**
 * Questions to the server that gave this page, each until it is answered: one after the other, as a label never overtakes another,
 * but for trajectories, which can be read while no label can be written.
 */
class Served {
  constructor(token) {
    const view = crypto.getRandomValues(new Uint32Array(2)).join("");
    Object.assign(this, { token, view, late: () => {}, back: () => {}, last: Promise.resolve(), serial: 0 });
  }

  ask(kind, content, late = () => {}) {
    const re = `${this.view}/${(this.serial += 1)}`;
    const asked = () => this.#until(re, () => JSON.stringify({ kind, re, content: asOfNow(content) }), late);
    if (kind === "item") return asked();
    const answered = this.last.then(asked);
    this.last = answered.catch(() => {});
    return answered;
  }

  /** Only who gives the question's own number back is the server: what stands between may answer anything. */
  async #until(re, bodyOf, late) {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` };
    for (let isLate = false; ; isLate = true) {
      let why = NO_SERVER;
      try {
        const given = await fetch("api", { method: "POST", headers, body: bodyOf(), cache: "no-store", signal: AbortSignal.timeout(5 * AGAIN) });
        const answer = await given.json();
        if (answer.re === re && given.status < 500) {
          this.late("");
          if (isLate) this.back();
          if (!given.ok) throw Object.assign(new Error(answer.error), { isFinal: true });
          return answer.content;
        }
        if (answer.re === re) why = `${answer.error}; it is tried again`;
      } catch (error) {
        if (error.isFinal) throw error;
      }
      late(why);
      this.late(why);
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }
}

/** The token stands in the link alone: it goes from the address to this tab, so that no screen shows it on. */
function tokenOfTab() {
  const tab = sitting(`served:${location.pathname}`);
  if (!isReload()) tab.set(null); // whoever opened another page in this tab may be somebody else
  if (location.hash.length > 1) {
    tab.set(location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return tab;
}

async function beginServed() {
  await browserAnswers();
  const parent = document.getElementById("labeller");
  followTheme(parent);
  const tab = tokenOfTab();
  addEventListener("hashchange", () => location.reload()); // another person's link in this tab
  const ownLink = () => mount(parent, make("p", { class: "waiting", role: "status" }, "Open the link that was given to you: it says who you are."));
  if (!tab.get()) return ownLink();
  const leave = () => {
    tab.set(null);
    ownLink();
  };
  const server = new Served(tab.get());
  const labeller = await askedLabeller(parent, server, () => server.ask("name", null), leave);
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, (event) => labeller.leaving(event));
  addEventListener("keydown", (event) => labeller.press(event));
  // What was said in another browser, and what the server has lost meanwhile.
  const takeUp = () => void server.ask("start", { content: null }).then(({ labels }) => labeller.takeUp(labels, true), () => {});
  server.back = takeUp;
  addEventListener("focus", takeUp);
}

beginServed().catch(failed(document.getElementById("labeller")));
