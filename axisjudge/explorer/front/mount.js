/** Put the labeller or the explorer into a host element: its styles cannot touch the page, nor the page's styles it. */
function mount(parent, content) {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  root.replaceChildren(content);
}

/** Follow the theme of JupyterLab, or else of the system; paper is light. Returns a function that stops it. */
function followTheme(parent) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const apply = () => {
    const isLight = document.body.dataset.jpThemeLight;
    const isDark = isLight === undefined ? system.matches : isLight === "false";
    parent.dataset.theme = isDark && !paper.matches ? "dark" : "light";
  };
  const observer = new MutationObserver(apply);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  system.addEventListener("change", apply);
  paper.addEventListener("change", apply);
  apply();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", apply);
    paper.removeEventListener("change", apply);
  };
}

/** Ask who labels; `why` says what was wrong with the last answer, `last` is who was here before. */
function askName(parent, welcome, why = "", last = null) {
  return new Promise((resolve) => {
    const name = make("input", { type: "text", id: "name", required: true, maxlength: "80", autocomplete: "off", onkeydown: (event) => event.key === "Enter" && accept(event) });
    const accept = (event) => {
      event.preventDefault();
      if (asName(name.value)) resolve(asName(name.value));
    };
    const form = make(
      "form",
      { class: "welcome", onsubmit: accept }, // a notebook takes Enter from a form, so the field hears it too
      make("h1", {}, "Labelling"),
      welcome.map((words) => make("p", {}, words)),
      make("label", { for: "name" }, "Your name, as it shall stand with your labels"),
      name,
      why ? make("p", { class: "error", role: "alert" }, why) : null,
      make("div", { class: "line" }, make("button", { type: "submit" }, "Begin"), last ? make("button", { type: "button", onclick: () => resolve(last) }, `Go on as ${last}`) : null),
    );
    mount(parent, form);
    name.focus();
  });
}

/**
 * Wait for the browser's first answer to this page; only then may sessionStorage be touched.
 *
 * Chromium refuses the store, without a word, to a page it does not know yet (DOMStorageContextWrapper::IsRequestValid):
 * such a page reads nothing and all that it writes is lost. It answers no question before it knows the page.
 */
async function browserAnswers() {
  await navigator.locks?.query().catch(() => {});
}

/** The bytes of a packed piece: letters of 7 bits each, eight of them seven bytes. */
function bytesOf(letters) {
  const bytes = new Uint8Array(Math.floor((letters.length * 7) / 8));
  for (let at = 0, k = 0; at < bytes.length; k += 8) {
    let held = letters.charCodeAt(k); // past the end NaN, which counts as 0
    for (let n = 1; n < 8; n += 1, at += 1) {
      const next = letters.charCodeAt(k + n) & 127;
      bytes[at] = (held << n) | (next >> (7 - n)); // past the end nothing is kept
      held = next;
    }
  }
  return bytes;
}

/** A packed piece of the file as text; what stands further down than the browser has read is waited for. */
async function textOf(id, kept = new Map()) {
  while (!document.getElementById(id) || document.getElementById(id) === document.body.lastElementChild) {
    if (document.readyState !== "loading") break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const gzip = new DecompressionStream("gzip"); // written to: by way of a Blob it takes three times as long
  const writer = gzip.writable.getWriter();
  if (!kept.has(id)) kept.set(id, bytesOf(document.getElementById(id).textContent));
  Promise.all([writer.write(kept.get(id)), writer.close()]).catch(() => {}); // the reader hears of it
  return new Response(gzip.readable).text();
}

const unpacked = async (id) => JSON.parse(await textOf(id));

/** Pieces that were unpacked last, `most` of them: a run needs a few, and its neighbours the same. */
function recent(most, unpack) {
  const pieces = new Map();
  return (at) => {
    const piece = pieces.get(at) ?? unpack(at);
    pieces.delete(at);
    pieces.set(at, piece);
    if (pieces.size > most) pieces.delete(pieces.keys().next().value);
    return piece;
  };
}
