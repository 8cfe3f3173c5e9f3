/** Height of a row in pixels; the stylesheet says the same. */
const ROW = 28;
/** A cell's width in pixels, at the least and at the most. */
const [NARROWEST, WIDEST] = [19, 40];
/** Rows that are printed; more would keep the browser busy for long. */
const PRINTED = 5000;

const CODE_SIGNS = (word) => SIGNS[word] ?? word.slice(0, 3);

/** One cell in words, as a title and for a screen reader. */
function inWords(items, column, cell) {
  const judge = `${items.index.judges[column.judge].name}${column.version ? ` ${column.version}` : ""}`;
  const on = items.questions[column.q].title;
  if (!cell) return `${judge}, ${on}: not rated`;
  const word = items.word(cell.code).replace("_", " ");
  if (cell.code < 0) return `${judge}, ${on}: lost (${word})`;
  const sure = cell.sure === null ? "" : `, ${Math.round(cell.sure * 100)} % sure`;
  const repeats = cell.repeats.length > 1 ? `, ${cell.repeats.length} repeats${cell.isNoisy ? " that differ" : ""}` : "";
  return `${judge}, ${on}: ${word}${sure}${repeats}${cell.isFlagged ? ", flagged" : ""}`;
}

/** The grid: only the rows in view are in the document, however many there are. */
class List {
  /** on: open(run, question) by a click or Enter, move(run, question) by an arrow, sort(order) by a head. */
  constructor(items, on) {
    Object.assign(this, { items, on, rows: [], drawn: new Map(), cursor: null });
    this.head = make("div", { class: "heads", role: "rowgroup" });
    this.body = make("div", { class: "rows", role: "rowgroup" });
    this.none = make("p", { class: "none", hidden: true });
    this.element = make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": "Runs and verdicts" }, this.head, this.body);
    this.outer = make("div", { class: "listing" }, this.element, this.none);
    this.element.addEventListener("scroll", () => this.#later(), { passive: true });
    this.element.addEventListener("click", (event) => this.#click(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.watch = new ResizeObserver(() => {
      this.#fit();
      this.#later();
    });
    this.watch.observe(this.element);
    addEventListener("beforeprint", () => this.clear(PRINTED));
    addEventListener("afterprint", () => this.clear());
  }

  /** Whether a run is open beside the grid, which then says of each run its name alone. */
  set beside(isBeside) {
    if (this.isBeside === isBeside) return;
    this.isBeside = isBeside;
    this.clear();
  }

  /** Show other rows; `asked` are the questions that have columns, `about` the columns on the run itself. */
  show(rows, asked, about, sort, isSearching) {
    Object.assign(this, { rows, asked, about, sort });
    this.place = new Map(rows.map((row, at) => [row.run, at]));
    this.body.style.height = `${rows.length * ROW}px`;
    this.element.setAttribute("aria-rowcount", String(rows.length + 2));
    this.none.hidden = rows.length > 0;
    this.none.textContent = isSearching ? "Searching the text of the runs…" : "No item passes these filters.";
    this.#layHead();
    this.#fit();
    this.clear();
  }

  clear(all = 0) {
    this.body.replaceChildren();
    this.drawn.clear();
    this.draw(all);
  }

  /** Mark an item, and bring its row into view. */
  point(run, question, intoView = true) {
    const left = this.cursor?.run;
    this.cursor = { run, question };
    const at = this.place.get(run);
    if (at !== undefined && intoView) {
      const [top, height] = [at * ROW, this.element.clientHeight - this.head.offsetHeight];
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      if (top + ROW > this.element.scrollTop + height) this.element.scrollTop = top + ROW - height;
    }
    for (const each of new Set([left, run])) this.#drawAnew(this.place.get(each));
    this.draw();
  }

  #drawAnew(at) {
    if (!this.drawn.has(at)) return;
    const row = this.#row(at);
    this.drawn.get(at).replaceWith(row);
    this.drawn.set(at, row);
  }

  /** Draw what is in view, or the first `all` rows: paper does not scroll. */
  draw(all = 0) {
    const { scrollTop, clientHeight } = this.element;
    const height = (clientHeight || 600) - this.head.offsetHeight;
    const first = all ? 0 : Math.floor(scrollTop / ROW);
    const last = Math.min(this.rows.length, all || Math.ceil((scrollTop + height) / ROW));
    for (const [at, element] of this.drawn) {
      if (at >= first && at < last) continue;
      element.remove();
      this.drawn.delete(at);
    }
    for (let at = first; at < last; at += 1) {
      if (this.drawn.has(at)) continue;
      const element = this.#row(at);
      this.drawn.set(at, element);
      this.body.append(element);
    }
    const at = this.cursor && this.place.get(this.cursor.run);
    if (this.drawn.has(at)) this.element.setAttribute("aria-activedescendant", `row-${at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Cells as wide as lets all columns be seen at once, within what can be read. */
  #fit() {
    const cells = this.head.querySelectorAll(".cell").length;
    if (!cells) return;
    const groups = this.head.querySelectorAll(".cell.first").length;
    const others = [...this.head.lastElementChild.querySelectorAll(".name, .about")].reduce((sum, each) => sum + each.offsetWidth, 0);
    const room = this.element.clientWidth - others - groups * (this.isBeside ? 8 : 12) - 24;
    this.element.style.setProperty("--cell", `${Math.max(NARROWEST, Math.min(Math.floor(room / cells), WIDEST))}px`);
  }

  #later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  #row(at) {
    const { run, passing } = this.rows[at];
    const about = this.items.runs[run];
    const isHere = this.cursor?.run === run;
    const cells = this.asked.flatMap((question) => this.#cells(run, question, passing.includes(question), isHere));
    const row = make(
      "div",
      { class: "row-of", role: "row", id: `row-${at}`, "aria-rowindex": at + 3, "aria-selected": isHere ? "true" : null, "data-run": run },
      make("span", { role: "rowheader", class: "name", title: about.id }, about.id),
      (this.isBeside ? [] : this.about).map((name) => make("span", { role: "gridcell", class: "about", title: about[name] }, String(about[name] ?? "–"))),
      cells,
    );
    row.style.top = `${at * ROW}px`;
    return row;
  }

  #cells(run, question, passes, isHere) {
    const state = `${passes ? "" : " dim"}${isHere && this.cursor.question === question ? " here" : ""}`;
    const columns = this.items.columns[question];
    const cells = columns.map((column, n) => {
      const cell = this.items.cells[run][column.at];
      const words = inWords(this.items, column, cell);
      const word = cell ? (cell.code < 0 ? "is-lost" : this.items.word(cell.code)) : "not-rated";
      const known = word in SIGNS || !cell || cell.code < 0 ? word : "other";
      const sign = cell ? (cell.code < 0 ? "!" : CODE_SIGNS(word)) : "";
      const sure = cell?.sure === null || !cell ? null : Math.round(cell.sure * 10);
      const element = make(
        "span",
        { role: "gridcell", class: `cell ${known}${n ? "" : " first"}${state}`, "data-q": question, "data-sure": sure, title: words, "aria-label": words },
        sign,
      );
      if (cell?.repeats.length > 1) element.append(make("i", { "aria-hidden": "true" }, dots(cell)));
      return element;
    });
    if (!this.items.index.people.length) return cells;
    const label = this.items.label(run, question);
    const split = !label && this.items.labels(run, question).some((each) => !each[6]);
    const word = label ? this.items.word(label.code) : "";
    const words = `label, ${this.items.questions[question].title}: ${label ? word.replace("_", " ") : split ? "people differ" : "none"}`;
    const sign = label ? CODE_SIGNS(word) : split ? "≠" : "";
    return [...cells, make("span", { role: "gridcell", class: `cell label ${word}${state}`, "data-q": question, title: words, "aria-label": words }, sign)];
  }

  #layHead() {
    const judges = this.items.index.judges;
    const hasLabels = this.items.index.people.length > 0;
    const width = (question) => this.items.columns[question].length + (hasLabels ? 1 : 0);
    const groups = this.asked.map((question) => {
      const head = make("span", { role: "columnheader", class: "group", "aria-colspan": width(question), title: this.items.questions[question].title }, this.items.questions[question].title);
      head.style.setProperty("--columns", width(question));
      return head;
    });
    const head = (order, name, attributes, ...shown) => {
      const way = this.sort === order ? "ascending" : this.sort === `-${order}` ? "descending" : null;
      const next = way === "ascending" ? `-${order}` : way === "descending" ? "" : order;
      const sign = way && make("i", { "aria-hidden": "true", class: "way" }, way === "ascending" ? "▲" : "▼");
      const button = make("button", { type: "button", title: `${name}: sort`, "aria-label": name, "data-order": order, onclick: () => this.on.sort(next, order) }, ...shown, sign);
      return make("span", { role: "columnheader", "aria-sort": way, ...attributes }, button);
    };
    const singles = this.asked.flatMap((question) => [
      ...this.items.columns[question].map((column, n) => {
        const name = `${this.items.questions[question].title}: ${judges[column.judge].name}${column.version ? `, ${column.version}` : ""}`;
        const shown = column.version && this.items.index.columns.some(([q, j, v]) => q === question && j === column.judge && v !== column.version);
        return head(`cell:${column.at}`, name, { class: `cell${n ? "" : " first"}` }, String(column.judge + 1), shown ? make("i", {}, column.version) : null);
      }),
      hasLabels ? head(`label:${question}`, `${this.items.questions[question].title}: label`, { class: "cell label" }, "L") : null,
    ]);
    const about = this.about.map((name) => head(name, name, { class: "about" }, name));
    const empty = () => make("span", { role: "columnheader", class: "about", "aria-hidden": "true" });
    this.head.replaceChildren(
      make("div", { role: "row", class: "row-of" }, make("span", { role: "columnheader", class: "name", "aria-hidden": "true" }), this.about.map(empty), groups),
      make("div", { role: "row", class: "row-of" }, head("run", "run", { class: "name" }, "run"), about, singles),
    );
  }

  #click(event) {
    const row = event.target.closest("[data-run]");
    if (!row) return;
    const run = Number(row.dataset.run);
    const question = event.target.closest("[data-q]")?.dataset.q;
    const { passing } = this.rows[this.place.get(run)];
    this.on.open(run, question === undefined ? passing[0] : Number(question));
  }

  #key(event) {
    if (event.target.closest?.(".heads") && event.key === "Enter") return;
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [20, 0], PageUp: [-20, 0], Home: [-1e9, 0], End: [1e9, 0] }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || !this.rows.length) return;
    if (event.key === "Enter" && this.cursor) {
      event.preventDefault();
      this.on.open(this.cursor.run, this.cursor.question);
    }
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.cursor ? this.place.get(this.cursor.run) ?? -1 : -1;
    const { run, passing } = this.rows[Math.max(0, Math.min(at + by[0], this.rows.length - 1))];
    const held = this.asked.indexOf(this.cursor?.question ?? passing[0]);
    this.on.move(run, this.asked[Math.max(0, Math.min(Math.max(held, 0) + by[1], this.asked.length - 1))]);
  }
}

/** A dot for each repeat: full where it says what most say, empty where it differs, a cross where it was lost. */
const dots = (cell) => cell.repeats.map(([code]) => (code < 0 ? "×" : code === cell.code ? "●" : "○")).join("");
