/** Each verdict has a sign and a word: colour alone never tells them apart. */
const SIGNS = { correct: "✓", incorrect: "✗", uncertain: "?", not_applicable: "–" };
const WORDS = { correct: "Correct", incorrect: "Incorrect", uncertain: "Uncertain", not_applicable: "N/A" };

/** An element with attributes, listeners (onclick: f) and children. Strings become text nodes, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A key as it is drawn beside what it does; a screen reader hears it from the list of keys instead. */
const key = (name) => make("kbd", { "aria-hidden": "true" }, name);

/** Prose of a rubric: paragraphs, bullets and `code`, as elements. */
function prose(text) {
  const blocks = [];
  for (const paragraph of text.split(/\n{2,}/)) {
    const lines = paragraph.split("\n");
    if (lines.every((line) => line.startsWith("- "))) {
      blocks.push(make("ul", {}, lines.map((line) => make("li", {}, coded(line.slice(2))))));
    } else {
      blocks.push(make("p", {}, coded(lines.join(" "))));
    }
  }
  return blocks;
}

const coded = (text) => text.split("`").map((part, n) => (n % 2 ? make("code", {}, part) : part));

/** Something that opens: what is in it is made when it is opened for the first time. */
function opening(attributes, summary, within) {
  const element = make("details", attributes, make("summary", {}, summary));
  element.addEventListener("toggle", () => element.children.length > 1 || element.append(...[within()].flat(Infinity)));
  return element;
}

/** What fits on a line of this length stays on it. */
const LINE = 88;

/** JSON text that is too long for a line over several, every token as it was; any other text as it is. */
function indented(text) {
  if (text.length <= LINE || !/^\s*[{[]/.test(text) || text.trim().includes("\n")) return text;
  try {
    JSON.parse(text);
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g).values();
    return overLines(valueOf(tokens.next().value, tokens), "").join("");
  } catch {
    return text; // no JSON, or too deep
  }
}

/** The value that begins with the token `first`: on one line, and its members, each a key (or nothing) and a value. */
function valueOf(first, tokens) {
  const closing = { "{": "}", "[": "]" }[first];
  if (!closing) return { flat: first, members: [] };
  const members = [];
  for (let token = tokens.next().value; token !== closing; token = tokens.next().value) {
    if (token === ",") token = tokens.next().value;
    let [key, value] = ["", valueOf(token, tokens)];
    if (first === "{") {
      tokens.next(); // the colon
      [key, value] = [`${value.flat}: `, valueOf(tokens.next().value, tokens)];
    }
    members.push([key, value]);
  }
  return { flat: `${first}${members.map(([key, { flat }]) => key + flat).join(", ")}${closing}`, members };
}

function overLines({ flat, members }, margin) {
  if (!members.length || margin.length + flat.length <= LINE) return [flat];
  const lines = members.flatMap(([key, value], n) => [n ? ",\n" : "\n", `${margin}  `, key, ...overLines(value, `${margin}  `)]);
  return [flat[0], ...lines, `\n${margin}`, flat.at(-1)];
}

/** Letters that a browser lays out in a moment as one block: of a line of a million it takes ten seconds, for which the page stands still. */
const PIECES = /[^]{0,19999}\n|[^]{1,20000}/gu;

/** The children of an element with this text: blocks where it is long. */
const pieces = (text) => (text.length > 100_000 ? text.match(PIECES).map((piece) => make("span", { class: "piece" }, piece)) : [text]);

/** More than this is folded: a reader should see the run at a glance. */
const PREVIEW = { lines: 7, characters: 480 };

/** Long text that opens and closes; short text as it is. The element has `toggle` where it can be folded. */
function foldable(text, name, isFolded, tag = "div") {
  const lines = text.split("\n");
  const preview = lines.slice(0, PREVIEW.lines).join("\n").slice(0, PREVIEW.characters);
  if (text.length - preview.length < 60) return make(tag, { class: "text" }, text);
  const body = make("div", { class: "text" });
  const button = make("button", { type: "button", class: "fold", onclick: () => element.toggle() });
  const element = make(tag, { class: "foldable" }, body, button);
  element.whole = text;
  element.toggle = (fold = !element.isFolded) => {
    element.isFolded = fold;
    body.replaceChildren(...(fold ? [`${preview}…`] : pieces(text)));
    button.textContent = fold ? `Show all of ${name} (${text.length.toLocaleString("en")} characters)` : `Fold ${name}`;
    button.setAttribute("aria-expanded", String(!fold));
  };
  element.toggle(isFolded);
  return element;
}

/** The list of keys, as a dialog: rows of [keys, what they do]. */
function keysDialog(keys) {
  const close = make("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const title = make("h2", { id: "keys" }, "Keys");
  const rows = make("tbody");
  const dialog = make("dialog", { "aria-labelledby": "keys" }, title, make("table", {}, rows), close);
  return Object.assign(dialog, {
    show() {
      rows.replaceChildren(...keys.map(([keys, what]) => make("tr", {}, make("th", { scope: "row" }, keys), make("td", {}, what))));
      this.showModal();
    },
  });
}

const takesText = ({ tagName, type }) => tagName === "TEXTAREA" || (tagName === "INPUT" && ["text", "search"].includes(type));

/**
 * Keys that come while something opens wait, and are pressed again when it is there, on what has the focus then: none is lost, and
 * none lands on what is left or overtakes another.
 */
class KeysHeld {
  /** isElsewhere() says whether keys go to a dialog; failed(error) hears of what did not open. */
  constructor(element, isElsewhere, failed) {
    Object.assign(this, { element, isElsewhere, failed, pending: null, begun: null, again: null });
    element.addEventListener("keydown", (event) => this.takes(event), { capture: true });
  }

  /** Keys wait until this is done, and all before it. */
  until(done) {
    this.begun = done;
    const held = Promise.all([this.pending, done]).catch(this.failed).finally(() => {
      if (this.pending === held) this.pending = null;
    });
    this.pending = held;
  }

  isBefore = (event) => Boolean(this.pending) && event !== this.again;

  /** Whether this key waits. */
  takes(event) {
    const { key, shiftKey } = event;
    const target = event.composedPath()[0];
    const isKey = (key.length === 1 || key === "Enter" || (key.startsWith("Arrow") && target.type !== "radio")) && !(event.ctrlKey || event.metaKey || event.altKey);
    if (!this.isBefore(event) || !isKey || this.isElsewhere() || takesText(target) || target.tagName === "SELECT") return false;
    event.preventDefault();
    event.stopPropagation();
    this.until(this.pending.then(() => this.#press(key, shiftKey)));
    return true;
  }

  #press(key, shiftKey) {
    const target = this.element.getRootNode().activeElement ?? this.element;
    if (takesText(target) && key.length === 1) {
      target.setRangeText(key, target.selectionStart, target.selectionEnd, "end");
      return target.dispatchEvent(new Event("input", { bubbles: true }));
    }
    this.begun = null;
    this.again = new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true });
    if (target.dispatchEvent(this.again) && (key === "Enter" || key === " ") && target.matches("button, summary")) target.click();
    return this.begun;
  }
}

/** Give a text as a file. */
function save(name, type, text) {
  const link = make("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
