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
      if (name.value.trim()) resolve(name.value.trim());
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
 * Wait for the browser's first answer to this page; only then may localStorage be touched.
 *
 * Chromium refuses the store, without a word, to a page it does not know yet (DOMStorageContextWrapper::IsRequestValid):
 * such a page reads nothing and all that it writes is lost. It answers no question before it knows the page.
 */
async function browserAnswers() {
  await navigator.locks?.query().catch(() => {});
}
