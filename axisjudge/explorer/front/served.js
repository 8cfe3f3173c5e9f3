/** What to do where the server does not answer. */
const NO_SERVER = "the server does not answer; it is asked again. Go on: what you say is sent when it answers";
/** A server that does not answer is asked again after this time. */
const AGAIN = 2000;

/** Questions to the server that gave this page, one after the other, each until it is answered: a label never overtakes another. */
class Served {
  constructor(token) {
    Object.assign(this, { token, late: () => {}, last: Promise.resolve(), serial: 0, view: crypto.getRandomValues(new Uint32Array(2)).join("") });
  }

  ask(kind, content, late = () => {}) {
    const re = `${this.view}/${(this.serial += 1)}`;
    const answered = this.last.then(() => this.#until(() => JSON.stringify({ kind, re, content: asOfNow(content) }), late));
    this.last = answered.catch(() => {});
    return answered;
  }

  async #until(bodyOf, late) {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` };
    for (;;) {
      try {
        const given = await fetch("api", { method: "POST", headers, body: bodyOf(), cache: "no-store", signal: AbortSignal.timeout(5 * AGAIN) });
        if (given.status < 500) {
          const answer = await given.json();
          this.late("");
          if (!given.ok) throw Object.assign(new Error(answer.error), { isFinal: true });
          return answer.content;
        }
      } catch (error) {
        if (error.isFinal) throw error;
      }
      late(NO_SERVER);
      this.late(NO_SERVER);
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }
}

/** The token stands in the link alone: it goes from the address to this tab, so that no screen shows it on. */
function tokenOfTab() {
  const tab = sitting(`served:${location.pathname}`);
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
  addEventListener("focus", () => server.ask("start", { content: null }).then(({ labels }) => labeller.takeUp(labels), () => {})); // said in another browser
}

beginServed().catch(failed(document.getElementById("labeller")));
