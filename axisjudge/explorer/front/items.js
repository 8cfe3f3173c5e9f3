/** What may be true of an item (a run on an axis), each a bit; the names stand in links, the words on buttons. */
const MARKS = {
  split: { bit: 1, words: "Split", why: "judges give different verdicts" },
  opposed: { bit: 2, words: "✓ against ✗", why: "one judge says correct, another incorrect" },
  unsure: { bit: 4, words: "Against ?", why: "split, but only between a verdict and uncertain" },
  steps: { bit: 8, words: "Other steps", why: "two judges give the same verdict and cite no step in common" },
  flipped: { bit: 16, words: "Flipped", why: "a judge's verdict changed with the newest rubric version" },
  noise: { bit: 32, words: "Within noise", why: "flipped, by a judge whose own repeats on this item differ" },
  against: { bit: 64, words: "Against label", why: "a judge's verdict is not the label's" },
  labelled: { bit: 128, words: "Labelled", why: "people or planted truth say what is right" },
  repeats: { bit: 256, words: "Repeats differ", why: "a judge that was asked again said something else" },
  flagged: { bit: 512, words: "Flagged", why: "a rating bears a flag, or cites a step that does not exist" },
  lost: { bit: 1024, words: "Lost", why: "a verdict was lost" },
  undecided: { bit: 2048, words: "Undecided", why: "flipped or split, and nobody has decided who is right" },
  decided: { bit: 8192, words: "Decided", why: "two judges, or those asked about, say neither uncertain nor not applicable", isOfLinks: true },
  alike: { bit: 16384, words: "Of one voice", why: "two judges or more decide, all the same", isOfLinks: true },
  within: { bit: 32768, words: "In a family", why: "two judges of one family decide", isOfLinks: true },
  across: { bit: 65536, words: "Across families", why: "judges of two families decide", isOfLinks: true },
  weighed: { bit: 131072, words: "With confidences", why: "two judges or more say how sure they are", isOfLinks: true },
};

/** What is searched for: words in any case, a space for any or none as in JSON laid out, or between two slashes a regular expression. */
function soughtFor(find) {
  const words = find.trim().toLowerCase();
  const between = /^\/(.+)\/[gim]*$/s.exec(find.trim())?.[1];
  const text = between ?? words.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s*");
  return { words, pattern: between || /\s/.test(words) ? new RegExp(text, "im") : null, every: new RegExp(text, "gim") };
}

/** What a filter lets pass: a name, or several, one a line. */
const listed = (filter) => (filter ? filter.split("\n") : []);

/** The answer that a cell stands for: the commonest of its repeats, of equally common ones that given first. */
function summed(repeats) {
  if (!repeats.length) return null;
  const given = repeats.filter(([code]) => code >= 0);
  const count = (code) => given.filter((each) => each[0] === code).length;
  const code = given.length ? given.reduce((best, [each]) => (count(each) > count(best) ? each : best), given[0][0]) : repeats[0][0];
  const same = repeats.filter((each) => each[0] === code);
  const sure = same.map((each) => each[1]).filter((each) => each !== null);
  return {
    code,
    sure: sure.length ? sure.reduce((sum, each) => sum + each, 0) / sure.length : null,
    cited: same[0][2],
    isFlagged: repeats.some((each) => each[3]),
    isNoisy: given.some((each) => each[0] !== code),
    repeats,
  };
}

/** Runs x columns, and what is true of each run on each question; columns that are hidden count for nothing. */
class Items {
  constructor(index) {
    Object.assign(this, { index, runs: index.runs, questions: index.questions });
    this.narrowed = { judge: -1, seen: null, isPair: false, versions: null, repeat: "", hide: "" };
    this.decisions = new Map();
    this.cells = this.runs.map((run) => run.cells.map(summed));
    this.runs.forEach((run, at) => {
      for (const [question, person, code, , , , answer] of run.labels) {
        if (answer) this.decisions.set(`${at}/${question}`, { answer, code, person });
      }
    });
    this.byId = new Map(this.runs.map((run, at) => [run.id, at]));
    this.remark();
  }

  /** A judge's column as one calls it, whatever the question: its name and the rubric's version. */
  named = ({ judge, version }) => `${this.index.judges[judge].name} ${version ?? ""}`.trim();

  /** Look at some judges, rubric versions or repeats alone; what is said of one judge is said of the one chosen. */
  narrow({ judge, beside, versions, repeat, hide }) {
    const number = (name) => this.index.judges.findIndex((each) => each.name === name);
    const [first, ...others] = [...listed(judge), ...listed(judge && beside)].map(number);
    const seen = others.length ? [first, ...others] : null;
    const narrowed = { judge: first ?? -1, seen, isPair: Boolean(judge && beside), versions: versions ? versions.split(",") : null, repeat, hide };
    if (JSON.stringify(narrowed) === JSON.stringify(this.narrowed)) return;
    if (repeat !== this.narrowed.repeat) {
      const isAsked = ([, , , , number]) => !repeat || repeat.split(",").includes(String(number));
      this.cells = this.runs.map((run) => run.cells.map((repeats) => summed(repeats.filter(isAsked))));
    }
    this.narrowed = narrowed;
    this.remark();
  }

  /** Work out columns and marks anew, after a judge was hidden or something decided. */
  remark() {
    const { seen, versions } = this.narrowed;
    const hidden = new Set(listed(this.narrowed.hide));
    const isSeen = (column) => !hidden.has(this.named(column)) && (!seen || seen.includes(column.judge)) && (!versions || column.version === null || versions.includes(column.version));
    this.columns = this.questions.map((_, question) =>
      this.index.columns.map(([q, judge, version], at) => ({ q, judge, version, at })).filter((column) => column.q === question && isSeen(column)),
    );
    this.newest = this.columns.map((columns) => columns.filter((column, n) => columns[n + 1]?.judge !== column.judge));
    this.marks = this.runs.map((_, run) => this.questions.map((_, question) => this.#mark(run, question)));
  }

  has(run, question, name) {
    return (this.marks[run][question] & MARKS[name].bit) !== 0;
  }

  /** The label of an item where its labels are at one: {code}, else null; decisions are no labels. */
  label(run, question) {
    if (!this.runs[run].labels.length) return null;
    const told = this.runs[run].labels.filter((each) => each[0] === question && !each[6] && each[2] >= 0);
    const codes = new Set(told.map((each) => each[2]));
    return codes.size === 1 ? { code: told[0][2] } : null;
  }

  /**
   * What most labels of an item say, a given person's left out; -1 where none takes a side or as many say another.
   * In a rate of items one to which the axis does not apply is one that does not fail.
   */
  reference(run, question, person = -1, isOfItems = false) {
    const counts = new Map();
    for (const [q, by, told, , , , answer] of this.runs[run].labels) {
      const code = isOfItems && this.word(told) === "not_applicable" ? this.index.words.indexOf("correct") : told;
      if (q === question && by !== person && !answer && this.#isSide(code)) counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    const [first, second] = [...counts].sort((a, b) => b[1] - a[1]);
    return first && first[1] > (second?.[1] ?? 0) ? first[0] : -1;
  }

  labels(run, question) {
    return this.runs[run].labels.filter((each) => each[0] === question);
  }

  /** Judges whose newest verdict is not the one of the version before it. */
  flips(run, question) {
    if (this.newest[question].length === this.columns[question].length) return [];
    const cells = this.cells[run];
    return this.newest[question].flatMap((now) => {
      const before = this.columns[question][this.columns[question].indexOf(now) - 1];
      if (before?.judge !== now.judge) return [];
      const [old, fresh] = [cells[before.at], cells[now.at]];
      const isFlip = old && fresh && old.code >= 0 && fresh.code >= 0 && old.code !== fresh.code;
      return isFlip ? [{ judge: now.judge, before, now, old, fresh, isNoise: old.isNoisy || fresh.isNoisy }] : [];
    });
  }

  /** The verdicts on an item, the commonest first: [{code, judges}]. */
  sides(run, question) {
    const sides = new Map();
    for (const column of this.newest[question]) {
      const cell = this.cells[run][column.at];
      if (cell?.code >= 0) sides.set(cell.code, [...(sides.get(cell.code) ?? []), column.judge]);
    }
    return [...sides].map(([code, judges]) => ({ code, judges })).sort((a, b) => b.judges.length - a.judges.length);
  }

  /** The lowest confidence of a judge; an item without any comes last. */
  leastSure(run, question) {
    const sure = this.newest[question].map((column) => this.cells[run][column.at]?.sure).filter((each) => each !== null && each !== undefined);
    return sure.length ? Math.min(...sure) : 2;
  }

  /** How far from one voice: the share of judges that are not with the commonest verdict, negated. */
  contested(run, question) {
    const sides = this.sides(run, question);
    const judges = sides.reduce((sum, side) => sum + side.judges.length, 0);
    return judges ? sides[0].judges.length / judges : 2;
  }

  word(code) {
    return code >= 0 ? this.index.words[code] : this.index.statuses[-1 - code];
  }

  #isSide(code) {
    return code >= 0 && !["uncertain", "not_applicable"].includes(this.word(code));
  }

  #mark(run, question) {
    const isAsked = ({ judge }) => this.narrowed.judge < 0 || this.narrowed.seen || judge === this.narrowed.judge;
    const cellOf = (column) => this.cells[run][column.at];
    const given = this.newest[question].map(cellOf).filter((cell) => cell?.code >= 0);
    const own = this.newest[question].filter(isAsked).map(cellOf).filter((cell) => cell?.code >= 0);
    const every = this.columns[question].filter(isAsked).map(cellOf).filter(Boolean);
    const codes = new Set(given.map((cell) => cell.code));
    const isOpposed = codes.has(0) && codes.has(1);
    const flips = this.flips(run, question).filter(isAsked);
    const label = this.label(run, question);
    const isApart = (a, b) => a.cited.length && b.cited.length && !a.cited.some((step) => b.cited.includes(step));
    const isAtOdds = codes.size > 1 || flips.length > 0;
    const deciding = this.newest[question].filter((column) => this.#isSide(cellOf(column)?.code ?? -1));
    const families = new Set(deciding.map(({ judge }) => this.index.judges[judge].family));
    const isEnough = (columns) => (this.narrowed.judge >= 0 && !this.narrowed.seen ? columns.some(isAsked) : columns.length > 1);
    const held = {
      split: codes.size > 1,
      opposed: isOpposed,
      unsure: codes.size > 1 && !isOpposed && codes.has(2),
      steps: given.some((a, n) => given.slice(n + 1).some((b) => a.code === b.code && isApart(a, b))),
      flipped: flips.length > 0,
      noise: flips.length > 0 && flips.every((flip) => flip.isNoise),
      against: label !== null && own.some((cell) => cell.code !== label.code),
      labelled: this.runs[run].labels.length > 0 && this.labels(run, question).some((each) => !each[6] && each[2] >= 0),
      repeats: every.some((cell) => cell.isNoisy),
      flagged: every.some((cell) => cell.isFlagged),
      lost: every.some((cell) => cell.repeats.some(([code]) => code < 0)),
      undecided: isAtOdds && !this.decisions.has(`${run}/${question}`),
      decided: isEnough(deciding),
      alike: deciding.length > 1 && new Set(deciding.map((column) => cellOf(column).code)).size === 1,
      within: deciding.length > families.size,
      across: families.size > 1,
      weighed: given.filter(({ sure }) => sure !== null).length > 1,
    };
    let bits = 0; // twice as quick as a reduction: this is done of every item
    for (const name in held) if (held[name]) bits |= MARKS[name].bit;
    return bits;
  }

  // ---- choosing

  /** The items that pass: rows [{run, passing: [question, ...]}] in order, and what the counts stand on. */
  chosen(filters, found) {
    const passes = this.#passes(filters, found);
    const asked = this.questions.map((_, question) => question).filter((q) => !filters.on || listed(filters.on).includes(this.questions[q].name));
    const rows = [];
    const among = filters.among && new Set(listed(filters.among));
    let items = 0;
    for (let run = 0; run < this.runs.length; run += 1) {
      if (!this.#isOf(run, filters) || (among && !among.has(this.runs[run].id))) continue;
      if (found && !found.has(run)) continue;
      const passing = asked.filter((question) => this.#isRated(run, question) && passes(run, question));
      items += passing.length;
      if (passing.length) rows.push({ run, passing });
    }
    this.#sort(rows, filters.sort);
    let all = 0;
    for (let run = 0; run < this.runs.length; run += 1) all += asked.filter((q) => this.#isRated(run, q)).length;
    return { rows, items, all, asked };
  }

  #isRated(run, question) {
    return this.columns[question].some((column) => this.cells[run][column.at]);
  }

  /** Whether a verdict "incorrect" on the item cites a step at which this tool is called or answers. */
  #hangsOn(run, question, tool) {
    const number = this.index.tools.indexOf(tool);
    return this.newest[question].some(({ at }) => {
      const cell = this.cells[run][at];
      return cell?.code >= 0 && this.word(cell.code) === "incorrect" && cell.cited.some((step) => this.runs[run].at[step]?.includes(number));
    });
  }

  #isOf(run, filters) {
    const about = this.runs[run];
    if (!["agent", "domain", "side"].every((name) => !filters[name] || listed(filters[name]).includes(String(about[name])))) return false;
    const isWithin = (range, number) => {
      const [least, most] = range.split("-").map(Number);
      return number >= least && number <= most;
    };
    if (filters.length && !isWithin(filters.length, about.steps)) return false;
    if (filters.answer && !isWithin(filters.answer, about.answer)) return false;
    const isNot = filters.names.startsWith("!");
    return !filters.names || about.id.includes(filters.names.slice(isNot ? 1 : 0)) !== isNot;
  }

  #passes({ only, judge, word, label, person, tool }) {
    const bits = only.reduce((sum, name) => sum | MARKS[name].bit, 0);
    const { seen, isPair } = this.narrowed;
    const number = judge === "" || seen ? null : this.narrowed.judge;
    const [words, wanted, by] = [listed(word), listed(label), this.index.people.findIndex(({ name }) => name === person)];
    return (run, question) => {
      if ((this.marks[run][question] & bits) !== bits) return false;
      if (tool && !this.#hangsOn(run, question, tool)) return false;
      const isGivenBy = (each) => this.newest[question].some((column) => column.judge === each && this.cells[run][column.at]?.code >= 0);
      if (isPair && !seen.every(isGivenBy)) return false;
      if (person && !this.runs[run].labels.some(([q, each, code]) => q === question && each === by && this.#isSide(code))) return false;
      if (label) {
        const code = this.reference(run, question, by, label === "fails or not");
        if (code < 0 || (!["any", "fails or not"].includes(label) && !wanted.includes(this.word(code)))) return false;
      }
      if (!word && number === null) return true;
      const columns = this.newest[question].filter((column) => number === null || column.judge === number);
      const cells = columns.map((column) => this.cells[run][column.at]);
      if (!word) return cells.some(Boolean);
      if (word === "none") return cells.some((cell) => !cell);
      const of = (cell) => (cell.code < 0 ? ["lost", `lost ${this.word(cell.code)}`] : [this.word(cell.code)]);
      return cells.some((cell) => cell && of(cell).some((each) => words.includes(each)));
    };
  }

  /** What rows are ordered by: a number or a text of each, null where it has none, which comes last either way. */
  #measure(name, at) {
    const least = (measure) => ({ run, passing }) => Math.min(...passing.map((question) => measure.call(this, run, question)));
    const rank = (code) => (code === undefined ? null : code < 0 ? this.index.words.length - code : code);
    return {
      unsure: least(this.leastSure),
      contested: least(this.contested),
      run: ({ run }) => this.runs[run].id,
      cell: ({ run }) => rank(this.cells[run][at]?.code),
      label: ({ run }) => rank(this.label(run, at)?.code),
    }[name] ?? (({ run }) => this.runs[run][name] ?? null);
  }

  /** Orders are names, of columns `cell:NUMBER` or `label:QUESTION`; a minus before one turns it round. */
  #sort(rows, sort) {
    if (!sort) return;
    const [, minus, name, at] = /^(-?)(\w+):?(\d*)$/.exec(sort) ?? [];
    if (!name) return;
    const by = this.#measure(name, Number(at));
    const values = new Map(rows.map((row) => [row, by(row)]));
    const byName = new Intl.Collator(undefined, { numeric: true }).compare;
    const compare = (a, b) => (typeof a === "number" ? a - b : byName(a, b)) * (minus ? -1 : 1);
    rows.sort((one, other) => {
      const [a, b] = [values.get(one), values.get(other)];
      if (a === null || b === null) return (a === null) - (b === null) || one.run - other.run;
      return compare(a, b) || one.run - other.run;
    });
  }

  // ---- counting

  /** Of each judge among the chosen items: incorrect, with a verdict, lost; null where it has no column. */
  shares(rows) {
    const seen = new Set(this.columns.flat().map(({ judge }) => judge));
    const shares = this.index.judges.map((_, judge) => (seen.has(judge) ? { incorrect: 0, given: 0, lost: 0 } : null));
    for (const { run, passing } of rows) {
      for (const question of passing) {
        for (const column of this.newest[question]) {
          const cell = this.cells[run][column.at];
          if (!cell) continue;
          if (cell.code < 0) shares[column.judge].lost += 1;
          else {
            shares[column.judge].given += 1;
            if (this.word(cell.code) === "incorrect") shares[column.judge].incorrect += 1;
          }
        }
      }
    }
    return shares;
  }

  /**
   * What the faults hang on: of every verdict "incorrect" among the chosen items the tools and the steps that it cites.
   * Each verdict counts once for a tool, and once for a step: {faults, uncited, tools: [[name, n, runs]], steps: [[step, n, runs]]}.
   */
  faults(rows) {
    const [tools, steps] = [new Map(), new Map()];
    const count = (map, key, run) => {
      const entry = map.get(key) ?? { n: 0, runs: new Set() };
      entry.n += 1;
      entry.runs.add(run);
      map.set(key, entry);
    };
    let [faults, uncited] = [0, 0];
    for (const { run, passing } of rows) {
      for (const question of passing) {
        for (const column of this.newest[question]) {
          const cell = this.cells[run][column.at];
          if (!cell || cell.code < 0 || this.word(cell.code) !== "incorrect") continue;
          faults += 1;
          if (!cell.cited.length) uncited += 1;
          new Set(cell.cited).forEach((step) => count(steps, step, run));
          new Set(cell.cited.flatMap((step) => this.runs[run].at[step] ?? [-1])).forEach((tool) => count(tools, this.index.tools[tool] ?? null, run));
        }
      }
    }
    const sorted = (map) => [...map].map(([key, { n, runs }]) => [key, n, runs.size]).sort((a, b) => b[1] - a[1]);
    return { faults, uncited, tools: sorted(tools), steps: sorted(steps) };
  }

  /** How many of the rows' items bear each mark. */
  counts(rows) {
    const counts = Object.fromEntries(Object.keys(MARKS).map((name) => [name, 0]));
    for (const { run, passing } of rows) {
      for (const question of passing) for (const name of Object.keys(MARKS)) if (this.has(run, question, name)) counts[name] += 1;
    }
    return counts;
  }
}
