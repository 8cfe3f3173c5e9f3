const SORTS = { "": "as read", unsure: "least sure first", contested: "most contested first", agent: "agent", task: "task" };
const ABOUT = { agent: "agent", domain: "domain", task: "task", side: "split side", steps: "steps", answer: "words of the answer" };
const FRESH = { on: "", agent: "", domain: "", side: "", judge: "", beside: "", versions: "", word: "", label: "", person: "", length: "", answer: "", names: "", among: "", repeat: "", tool: "", only: [], sort: "", find: "", about: "agent", hide: "", view: "" };
/** Filters that only links set: how they are said, and taken away again. */
const OF_LINKS = { label: "label", person: "labelled by", length: "steps", answer: "words of the answer", names: "name has", among: "one of", repeat: "repeat", tool: "faults at" };

const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(part && part / whole < 0.1 ? 1 : 0)} %` : "–");

/** Rubric versions to look at: each alone, and each against the one before. */
function versionsOf({ columns, questions }) {
  const names = questions.map((_, question) => [...new Set(columns.filter(([q, , version]) => q === question && version !== null).map(([, , version]) => version))]);
  const pairs = names.flatMap((each) => each.slice(1).map((version, n) => `${each[n]},${version}`));
  return [...new Set([...names.flat(), ...pairs])].map((name) => [name, name.replace(",", " to ")]);
}

/** Names that are offered while one types. */
const OFFERED = 12;
/** Tools and steps that are listed. */
const SUMMED = 12;
/** Names that a filter of a link says; of more it says how many. */
const NAMED = 4;

/** The bar above the grid: what is shown, in which order, and how many that is of how many. */
class Filters {
  /** on: change(filters), views() -> those of whoever is here, keep(views), copy(), download(), keys(), seek() before a search. */
  constructor(items, on) {
    Object.assign(this, { items, on, filters: { ...FRESH } });
    const { index } = items;
    const values = (name) => [...new Set(items.runs.map((run) => run[name]).filter((value) => value !== null))].map(String).sort();
    const pairs = (names) => names.map((name) => [name, name]);
    const words = index.words.filter((word) => SIGNS[word] || items.cells.some((cells) => cells.some((cell) => cell && items.word(cell.code) === word)));
    const lost = index.statuses.filter((status) => items.cells.some((cells) => cells.some((cell) => cell?.code < 0 && items.word(cell.code) === status)));
    this.selects = {
      on: this.#select("Axis", "all axes", index.questions.map(({ name, title }) => [name, title])),
      agent: this.#select("Agent", "all agents", pairs(values("agent"))),
      domain: this.#select("Domain", "all domains", pairs(values("domain"))),
      side: this.#select("Side", "all sides", pairs(values("side"))),
      judge: this.#select("Judge", "any judge", index.judges.map(({ name }, n) => [name, `${n + 1} ${name}`])),
      beside: this.#select("Second judge", "and any other", index.judges.map(({ name }, n) => [name, `beside ${n + 1} ${name}`])),
      versions: this.#select("Rubric versions", "all versions", versionsOf(index)),
      word: this.#select("Verdict", "any verdict", [...words.map((word) => [word, word.replace("_", " ")]), ["lost", "lost"], ...lost.map((status) => [`lost ${status}`, `lost: ${status.replace("_", " ")}`]), ["none", "not rated"]]),
      sort: this.#select("Order", null, Object.entries(SORTS)),
    };
    this.find = make("input", { type: "search", class: "find", list: "offered", placeholder: "Search runs and reasons, or /regex/", "aria-label": "Search runs and reasons", onfocus: on.seek, oninput: () => this.#typed() });
    this.offered = make("datalist", { id: "offered" });
    this.names = ["agent", "domain", "task", "id"].flatMap(values);
    this.marks = Object.entries(MARKS).map(([name, { words: label, why }]) => {
      const count = make("span", { class: "count" });
      const button = make("button", { type: "button", class: "mark", title: why, "aria-pressed": "false", onclick: () => this.#toggle(name) }, label, " ", count);
      return { name, button, count };
    });
    this.count = make("p", { class: "counted", role: "status" });
    this.legend = make("ul", { class: "legend", tabindex: "0", "aria-label": "Judges" });
    this.hasIncorrect = items.cells.some((cells) => cells.some((cell) => cell && SIGNS[items.word(cell.code)]));
    this.hold = make("button", { type: "button", onclick: () => this.set({ ...FRESH, about: this.filters.about, hide: this.filters.hide }) }, "Clear");
    this.ofLinks = make("span", { class: "tools" });
    this.element = make(
      "div",
      { class: "filters", role: "search", "aria-label": "Filters" },
      make("div", { class: "chosen" }, this.find, this.offered, Object.entries(this.selects).map(([name, { element }]) => (this.#isNeeded(name) ? element : null)), this.ofLinks, this.hold),
      make("div", { class: "marks", role: "group", "aria-label": "Only items that are" }, this.marks.map(({ button }) => button)),
      make("div", { class: "line" }, this.count, make("div", { class: "tools" }, this.#views(), this.#faults(), this.#columns(), this.#button("Copy", "the items shown, as a table", on.copy), this.#button("CSV", "download the items shown", on.download), on.decisions ? this.#button("Decisions", "download what you decided, with its trail", on.decisions) : null, on.toFile ? this.#button("To a file", "keep your decisions in a file as well, after every change", on.toFile) : null, this.#button("Keys", "the list of keys", on.keys))),
      this.legend,
    );
  }

  /** Filters, order and columns from now on; they go by the name of a view until one of them is changed. */
  set(filters, view = "") {
    this.filters = { ...FRESH, ...filters, view };
    if (!this.filters.judge) this.filters.beside = "";
    for (const [name, { input }] of Object.entries(this.selects)) {
      const value = this.filters[name];
      if (![...input.options].some((option) => option.value === value)) input.append(make("option", { value }, name === "sort" ? this.#orderInWords(value) : value.replaceAll("\n", ", "))); // of a link, or a head
      input.value = value;
    }
    const brief = (names) => (names.length > NAMED ? `${names.length} runs` : names.join(", ").replace("_", " "));
    const taken = (name) => this.#button(`${OF_LINKS[name]} ${brief(listed(this.filters[name]))} ×`, "take this filter away", () => this.set({ ...this.filters, [name]: "" }));
    this.ofLinks.replaceChildren(...Object.keys(OF_LINKS).filter((name) => this.filters[name]).map(taken));
    this.selects.beside.element.hidden = !this.filters.judge;
    if (this.find.value !== this.filters.find) this.find.value = this.filters.find;
    for (const { input, name, kind } of this.boxes ?? []) input.checked = listed(this.filters[kind]).includes(name) === (kind === "about");
    this.viewed.textContent = view ? `View: ${view}` : "Views";
    this.on.change(this.filters);
  }

  /** What the counts stand on: rows chosen, and judges' shares among them. */
  show({ rows, items, all }, isSearching) {
    const runs = this.items.runs.length;
    this.rows = rows;
    if (this.summary.open) this.#sumFaults();
    this.count.textContent = `${items.toLocaleString("en")} of ${all.toLocaleString("en")} items (${percent(items, all)}) in ${rows.length.toLocaleString("en")} of ${runs.toLocaleString("en")} runs${isSearching ? " · searching…" : ""}`;
    const counts = this.items.counts(rows);
    for (const { name, button, count } of this.marks) {
      const isOn = this.filters.only.includes(name);
      button.setAttribute("aria-pressed", String(isOn));
      button.hidden = !isOn && (!counts[name] || MARKS[name].isOfLinks);
      count.textContent = counts[name].toLocaleString("en");
    }
    const shares = this.items.shares(rows);
    this.legend.replaceChildren(
      ...this.items.index.judges.map(({ name }, n) => {
        if (!shares[n]) return "";
        const { incorrect, given, lost } = shares[n];
        const share = this.hasIncorrect ? `incorrect ${incorrect} of ${given} (${percent(incorrect, given)})` : `${given} given`;
        const words = `${share}${lost ? `, ${lost} lost` : ""}`;
        return make("li", {}, key(String(n + 1)), " ", make("b", {}, name), ` ${words}`);
      }),
    );
  }

  /** Say that what is typed is no regular expression, and what is shown older; or nothing. */
  isPattern(isPattern) {
    this.find.setAttribute("aria-invalid", String(!isPattern));
    if (!isPattern) this.count.textContent = "This is no regular expression yet; what is shown was found before";
  }

  #orderInWords(sort) {
    const [name, at] = sort.replace(/^-/, "").split(":");
    const { judges, columns, questions } = this.items.index;
    const of = { cell: () => `${judges[columns[at]?.[1]]?.name} on ${questions[columns[at]?.[0]]?.title}`, label: () => `label on ${questions[at]?.title}` }[name];
    return `${of?.() ?? name}${sort.startsWith("-") ? ", last first" : ""}`;
  }

  #isNeeded(name) {
    const { input } = this.selects[name];
    return !["agent", "domain", "side", "on", "beside", "versions"].includes(name) || input.options.length > 2;
  }

  #select(label, all, pairs) {
    const input = make("select", { "aria-label": label, onchange: () => this.set({ ...this.filters, [this.#nameOf(input)]: input.value }) });
    if (all) input.append(make("option", { value: "" }, all));
    input.append(...pairs.map(([value, words]) => make("option", { value }, words)));
    const element = label === "Order" ? make("label", { class: "order" }, "in order: ", input) : input;
    return { input, element };
  }

  #nameOf(input) {
    return Object.keys(this.selects).find((name) => this.selects[name].input === input);
  }

  #typed() {
    const typed = this.find.value.trim().toLowerCase();
    const like = [];
    for (const name of typed ? this.names : []) if (like.length < OFFERED && name.toLowerCase().includes(typed)) like.push(name);
    this.offered.replaceChildren(...like.map((value) => make("option", { value })));
    clearTimeout(this.waits);
    this.waits = setTimeout(() => this.set({ ...this.filters, find: this.find.value }), 150);
  }

  #toggle(name) {
    const { only } = this.filters;
    this.set({ ...this.filters, only: only.includes(name) ? only.filter((each) => each !== name) : [...only, name] });
  }

  #button(words, why, act) {
    return make("button", { type: "button", title: why, onclick: act }, words);
  }

  /** Tools and steps that the faults among the items shown hang on, summed when it is opened. */
  #faults() {
    this.sums = make("div", { class: "boxes sums" });
    this.summary = make("details", { class: "columns" }, make("summary", {}, "Faults"), this.sums);
    this.summary.addEventListener("toggle", () => this.summary.open && this.#sumFaults());
    return this.summary;
  }

  #sumFaults() {
    const { faults, uncited, tools, steps } = this.items.faults(this.rows);
    const row = (shown, n, runs) => make("tr", {}, make("th", { scope: "row" }, shown), make("td", {}, n.toLocaleString("en")), make("td", {}, percent(n, faults)), make("td", {}, runs.toLocaleString("en")));
    const table = (caption, rows) => make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ["", "verdicts", "share", "runs"].map((name) => make("th", { scope: "col" }, name || make("span", { class: "said" }, "where"))))), make("tbody", {}, rows));
    const go = (name) => this.#button(name, "only these items", () => this.set({ ...this.filters, tool: name }));
    const without = uncited ? ` ${uncited.toLocaleString("en")} cite no step.` : "";
    this.sums.replaceChildren(
      make("p", {}, faults ? `${faults.toLocaleString("en")} verdicts “incorrect” among the items shown.${without} A verdict that cites several counts for each.` : "No verdict “incorrect” among the items shown."),
      ...(faults > uncited ? [
        table("Tools at the cited steps", tools.slice(0, SUMMED).map(([name, n, runs]) => row(name === null ? "no tool: words alone" : go(name), n, runs))),
        table("Cited steps", steps.slice(0, SUMMED).map(([step, n, runs]) => row(`step ${step}`, n, runs))),
      ] : []),
    );
  }

  /** Filters, order and columns that somebody keeps under a name; the address holds them too. */
  #views() {
    this.viewed = make("summary", {}, "Views");
    this.ownViews = make("ul", {});
    const name = make("input", { type: "text", maxlength: "60", placeholder: "Name of what is shown now", "aria-label": "Name of this view" });
    const keep = (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (name.value.trim()) this.#keepView(name.value.trim(), addressOf({ ...this.filters, view: "" }, this.items));
      name.value = "";
    };
    name.addEventListener("keydown", (event) => event.key === "Enter" && keep(event));
    const element = make("details", { class: "columns" }, this.viewed, make("div", { class: "boxes views" }, this.ownViews, name, make("button", { type: "button", onclick: keep }, "Keep")));
    element.addEventListener("toggle", () => element.open && this.showViews());
    return element;
  }

  /** The views of whoever is here; nobody's where nobody has said who they are. */
  async showViews() {
    const views = Object.entries(await this.on.views()).sort();
    const go = (name, address) => this.#button(name, "show this", () => this.set(readAddress(address, this.items).filters, name));
    const drop = (name) => make("button", { type: "button", "aria-label": `Forget the view ${name}`, onclick: () => this.#keepView(name, null) }, "×");
    this.ownViews.replaceChildren(...views.map(([name, address]) => make("li", {}, go(name, address), " ", drop(name))));
  }

  async #keepView(name, address) {
    const { [name]: _, ...others } = await this.on.views();
    if (!(await this.on.keep(address === null ? others : { ...others, [name]: address }))) return;
    if (address !== null || this.filters.view === name) this.set(this.filters, address === null ? "" : name);
    await this.showViews();
  }

  /** Which judges, versions and facts about a run have a column. */
  #columns() {
    const box = (kind, name, label) => {
      const change = () => {
        const others = listed(this.filters[kind]).filter((each) => each !== name);
        this.set({ ...this.filters, [kind]: (input.checked === (kind === "about") ? [...others, name] : others).join("\n") });
      };
      const input = make("input", { type: "checkbox", checked: listed(this.filters[kind]).includes(name) === (kind === "about"), onchange: change });
      this.boxes.push({ input, name, kind });
      return make("label", {}, input, " ", label);
    };
    const names = new Map(this.items.index.columns.map(([, judge, version]) => [this.items.named({ judge, version }), judge + 1]));
    const within = () => {
      this.boxes = [];
      return make("div", { class: "boxes" }, Object.entries(ABOUT).map((each) => box("about", ...each)), [...names].map(([name, number]) => box("hide", name, `${number} ${name}`)));
    };
    return opening({ class: "columns" }, "Columns", within);
  }
}
