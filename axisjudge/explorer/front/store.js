/** Said where a browser stores nothing: the labels are on the page alone. */
const KEEPS_NOTHING = "this browser keeps nothing; download before you close the page";

/**
 * What people said, in this browser: lines that are only ever added, each person's apart from the others'.
 *
 * A promise of `append` is kept when the line is on disk (a transaction of strict durability is complete), never before.
 * `place` names the content that was judged; `path` the file, so that a file written anew finds what its forerunner kept.
 * `home` is where small things by name belong: to the content, or to the file whatever is in it.
 */
class Kept {
  constructor(place, home = place) {
    Object.assign(this, { place, home, alone: new Map(), stored: new WeakSet(), known: [] });
    this.database = this.#open();
    this.database.catch(() => {}); // whoever writes hears of it
    navigator.storage?.persist?.().catch(() => {}); // else a full disk may take it
    this.tabs = new BroadcastChannel(`axisjudge:${place}`);
  }

  #open() {
    return new Promise((resolve, reject) => {
      const asked = indexedDB.open("axisjudge", 1);
      asked.onupgradeneeded = () => {
        const lines = asked.result.createObjectStore("lines", { autoIncrement: true });
        lines.createIndex("person", ["place", "person"]);
        lines.createIndex("path", "path");
        asked.result.createObjectStore("named");
      };
      asked.onsuccess = () => {
        this.opened = asked.result;
        this.opened.onclose = () => this.#again();
        resolve(this.opened);
      };
      asked.onerror = () => reject(asked.error);
    });
  }

  /** The browser was made to forget while the page is open: what the page knows is kept again, by the first of its tabs. */
  #again() {
    this.opened = null;
    const again = (database) =>
      new Promise((resolve, reject) => {
        const work = database.transaction("lines", "readwrite", { durability: "strict" });
        const lines = work.objectStore("lines");
        const all = IDBKeyRange.bound([this.place], [this.place, []]);
        lines.index("person").count(all).onsuccess = ({ target }) => target.result || this.known.forEach((row) => lines.add(row));
        work.oncomplete = () => resolve(database);
        work.onabort = () => reject(work.error);
      });
    const tried = (left) => this.#open().then(again).catch((error) => (left ? new Promise((go) => setTimeout(go, 500)).then(() => tried(left - 1)) : Promise.reject(error)));
    this.database = tried(5); // it may still be busy forgetting
    this.database.catch(() => this.known.forEach(({ person, line }) => this.alone.set(line, person)));
  }

  /** What could not be kept before goes first: of two words on one item the later said one stands. */
  append(person, line) {
    if (this.stored.has(line)) return Promise.resolve(); // went with a later one
    const { place } = this;
    const path = location.pathname;
    const rows = [...new Map([...this.alone, [line, person]])].map(([each, whose]) => ({ place, person: whose, path, line: each }));
    const told = () => {
      for (const row of rows) {
        this.alone.delete(row.line);
        this.stored.add(row.line);
        this.known.push(row);
        this.tabs.postMessage(row);
      }
    };
    const lost = (error) => {
      this.alone.set(line, person);
      throw error;
    };
    return this.#write("lines", (lines) => rows.forEach((row) => lines.add(row))).then(told, lost);
  }

  /** No page is left without a question while something is nowhere but on it, whoever said it. */
  guard = () => addEventListener("beforeunload", (event) => this.alone.size && event.preventDefault());

  /** The lines of one person, in the order in which they were written; none where the browser keeps nothing. */
  lines(person) {
    return this.#read("lines", (lines) => lines.index("person").getAll([this.place, person])).then((rows) => (rows ?? []).map(({ line }) => line));
  }

  /** Whose lines there are. */
  people() {
    const all = IDBKeyRange.bound([this.place], [this.place, []]);
    return this.#read("lines", (lines) => lines.index("person").getAll(all)).then((rows) => [...new Set((rows ?? []).map(({ person }) => person))]);
  }

  /**
   * The lines of one person on this content, and those of this kind on other content of files that stood here before, in the
   * order in which they were written, and behind them those that the browser would not keep: [{line, isHere}].
   */
  async said(person) {
    const kind = ({ place }) => place.split(":")[0];
    const isEarlier = (row) => row.person === person && row.place !== this.place && kind(row) === kind(this);
    const [here, atPath] = await Promise.all([this.#rows("person", [this.place, person]), this.#rows("path", location.pathname)]);
    const isTheirs = (row) => row.person === person;
    const kept = here && atPath && [...atPath.filter(isEarlier), ...here].sort((one, other) => one.key - other.key).map(({ key, ...row }) => row);
    const rows = kept ?? this.known.filter(isTheirs);
    this.known = [...this.known.filter((row) => !isTheirs(row)), ...rows];
    const alone = [...this.alone].filter(([, whose]) => whose === person).map(([line]) => ({ line, place: this.place }));
    return [...rows, ...alone].map(({ line, place }) => ({ line, isHere: place === this.place }));
  }

  /** Take the lines of a person away, where they have come to their goal. */
  forget(person) {
    return this.#write("lines", (lines, done) => {
      lines.index("person").getAllKeys([this.place, person]).onsuccess = ({ target }) => {
        target.result.forEach((key) => lines.delete(key));
        done();
      };
    });
  }

  /** Something small by name: who was here last, the handle of a person's file. */
  named = (name) => this.#read("named", (named) => named.get(`${this.home}/${name}`));

  name = (name, value) => this.#write("named", (named) => named.put(value, `${this.home}/${name}`));

  /** on(person, line) is called when another tab has written a line, and without one when what there is should be read again. */
  listen = (on) =>
    this.tabs.addEventListener("message", ({ data }) => {
      if (data.line) this.known.push(data);
      on(data.person, data.line);
    });

  /** Other tabs read again: of what was written while this one was left nobody told them. */
  greet = (person) => this.tabs.postMessage({ person });

  #write(store, act) {
    const begin = (database) =>
      new Promise((resolve, reject) => {
        const work = database.transaction(store, "readwrite", { durability: "strict" });
        work.oncomplete = () => resolve();
        work.onabort = work.onerror = () => reject(new Error(KEEPS_NOTHING));
        const commit = () => work.commit(); // waits for no further request, so that a page that is left does not take it back
        act(work.objectStore(store), commit);
        if (act.length < 2) commit();
      });
    const begun = this.opened ? begin(this.opened) : this.database.then(begin);
    return begun.catch(() => Promise.reject(new Error(KEEPS_NOTHING)));
  }

  /** Lines with their keys, which grow from line to line; null where the browser gives none. */
  async #rows(index, value) {
    const [rows, keys] = await Promise.all(["getAll", "getAllKeys"].map((get) => this.#read("lines", (lines) => lines.index(index)[get](value))));
    return rows && keys ? rows.map((row, at) => ({ ...row, key: keys[at] })) : null;
  }

  #read(store, act) {
    const begin = (database) =>
      new Promise((resolve, reject) => {
        const asked = act(database.transaction(store).objectStore(store));
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = () => reject(asked.error);
      });
    return this.database.then(begin).catch(() => undefined);
  }
}

/** A file of the person's own choice that is written after every change, where the browser gives such a thing. */
class KeptFile {
  static isPossible = typeof showSaveFilePicker === "function";

  constructor(kept, person, text) {
    Object.assign(this, { kept, person, text, handle: null, writing: Promise.resolve() });
  }

  /** Go on with the file of an earlier sitting, where the browser still allows it. */
  async resume() {
    const handle = await this.kept.named(`file/${this.person}`);
    if (handle && (await handle.queryPermission?.({ mode: "readwrite" })) === "granted") this.handle = handle;
  }

  async choose(suggestedName) {
    this.handle = await showSaveFilePicker({ suggestedName });
    await this.kept.name(`file/${this.person}`, this.handle);
    await this.write();
  }

  /** Write what there is by now; kept when the file is closed, which puts it in the old one's place whole. */
  write() {
    if (!this.handle) return Promise.resolve();
    const one = async () => {
      const file = await this.handle.createWritable();
      await file.write(await this.text());
      await file.close();
    };
    this.writing = this.writing.catch(() => {}).then(one);
    return this.writing.catch((error) => Promise.reject(new Error(`the file is not written (${error.message})`)));
  }
}

/** Who is at work, always in sight, and the way to somebody else. */
function whoIs(doing, rater, leave) {
  const other = leave && make("button", { type: "button", class: "leave", onclick: leave }, rater ? "Not you?" : "Say who you are");
  return make("span", { class: "who" }, rater ? [`${doing} as `, make("strong", {}, rater), " "] : `${doing} as nobody yet `, other);
}

/** The person of this tab: a reload goes on with them, another tab or sitting asks; where the browser keeps nothing, a reload asks too. */
function sitting(place) {
  const name = `axisjudge-person:${place}`;
  let here = null;
  const kept = (act) => {
    try {
      return act(sessionStorage);
    } catch {
      return here;
    }
  };
  return {
    get: () => kept((tab) => tab.getItem(name)),
    set: (person) => {
      here = person;
      kept((tab) => (person ? tab.setItem(name, person) : tab.removeItem(name)));
    },
  };
}

/** Whether the page goes on in the same hands: one that was opened afresh may be in another's, in a tab of old too. */
const isReload = () => performance.getEntriesByType("navigation")[0]?.type === "reload";

/** Letters that nobody sees; those that join others are not among them. */
const UNSEEN = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
/** A name as it is told from others: those that look alike, with other blanks or letters put together otherwise, are one. */
const asName = (typed) => typed.normalize("NFC").replace(UNSEEN, "").replace(/\s+/gu, " ").trim();

/** The name of a person's file. */
const fileOfName = (person, end) => `${person.replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "") || "labels"}${end}`;
