const DATA = JSON.parse(document.getElementById("labelling").textContent);
const KEPT = new Kept(`labels:${DATA.hash}`);

const groupAt = recent(4, (at) => unpacked(`items-${at}`));
const runsAt = recent(4, (at) => unpacked(`runs-${at}`));
const givenAt = recent(4, (at) => unpacked(`given-${at}`));
const among = async (groups, n, together) => (await groups(Math.floor(n / together)))[n % together];
/** What is asked of an item: of each axis the fields of a label that are known beforehand. */
const itemAt = (n) => among(groupAt, n, 10 * DATA.together);

/** What is asked of an axis of runs that were opened: each line says it, so that a page written anew knows what it is of. */
const ASKED = new Map();
const askedOf = ({ base, bases }, n) => Object.entries(bases).map(([axis, own]) => [`${n}/${axis}`, { ...base, ...own }]);
const known = ({ trajectory_id, question, prompt_sha256 }) => `${trajectory_id}/${question}/${prompt_sha256}`;

async function runAt(n) {
  for (const [name, asked] of askedOf(await itemAt(n), n)) ASKED.set(name, asked);
  const { run, given } = await among(runsAt, DATA.places[n], DATA.together);
  return { ...run, ...(await givenAt(given)) };
}

/** What lines come to, one after the other. */
function take(state, line) {
  const name = `${line.item}/${line.axis}`;
  const before = state.labels[name] ?? NOTHING;
  if (line.how === "undo") {
    const last = state.history.findLastIndex(({ item, axis }) => item === line.item && axis === line.axis);
    if (last >= 0) state.history.splice(last, 1);
  } else if (line.how !== "typed" && !isSame(before, line.label)) state.history.push({ item: line.item, axis: line.axis, before });
  state.labels[name] = line.label;
  state.seconds[line.item] = Math.max(state.seconds[line.item] ?? 0, line.seconds ?? 0);
  state.times[name] = line.at;
  return state;
}

/** A label as a line of a ratings file. */
function ratingLine(rater, { flags, ...base }, { verdict, confidence, cited, note }, seconds, at) {
  const rating = {
    ...base,
    rater,
    status: verdict ? "ok" : "refused",
    verdict,
    confidence,
    confidence_source: confidence === null ? null : "human",
    cited_step_indices: cited,
    rationale: note || null,
    flags: verdict ? flags : [DATA.open_flag, ...flags],
    latency_s: seconds === undefined ? null : Math.round(seconds),
    created_at: at ?? null,
  };
  return `${JSON.stringify(rating)}\n`;
}

async function ratingLines(state) {
  const lines = [];
  for (const [name, label] of Object.entries(state.labels)) {
    const [item, axis] = name.split("/");
    const { base, bases } = await itemAt(item);
    lines.push(ratingLine(state.rater, { ...base, ...bases[axis] }, label, state.seconds[item], state.times[name]));
  }
  return lines.join("");
}

/** Labels given on other words, in a file that stood here before. */
const apartLines = ({ rater, apart }) => Object.values(apart).map(({ asked, label, seconds, at }) => ratingLine(rater, asked, label, seconds, at));
const fileName = (state, kind = "") => fileOfName(state.rater, `${kind}.jsonl`);

/** The labeller's host in a page: the browser keeps the labels. */
function browserHost(state, file, leave) {
  return {
    about: DATA.about,
    rater: state.rater,
    item: runAt,
    save: async (change) => {
      const at = new Date().toISOString().replace(/\.\d+Z/, "Z");
      const name = `${change.item}/${change.axis}`;
      state.times[name] = at;
      change.line ??= { ...change, at, asked: ASKED.get(name) };
      await Promise.all([KEPT.append(state.rater, change.line), file.write()]);
    },
    download: async () => {
      const kept = await stateOf(state.rater); // with what a tab said that could not tell this one
      save(fileName(kept), "application/jsonl", await ratingLines(kept));
      const apart = apartLines(kept);
      if (apart.length) save(fileName(kept, ".earlier"), "application/jsonl", apart.join(""));
    },
    toFile: KeptFile.isPossible ? () => file.choose(fileName(state)) : null,
    leave,
  };
}

/** Who labels: the person of this tab; of a fresh one whoever says so, so that nobody opens another's labels unasked. */
async function whoLabels(parent, me) {
  if (isReload() && me.get()) return me.get();
  const last = await KEPT.named("last");
  const isSure = DATA.about.rater && (!last || last === DATA.about.rater) && !(await KEPT.lines(DATA.about.rater)).length;
  return isSure && !me.isLeft ? DATA.about.rater : askName(parent, DATA.welcome, "", me.isLeft ? null : (last ?? DATA.about.rater));
}

/** The items of this page by what is asked of them. */
const itemsByAsked = recent(1, async () => {
  const items = new Map();
  for (let n = 0; n < DATA.about.items.length; n += 1) for (const [, asked] of askedOf(await itemAt(n), n)) items.set(known(asked), n);
  return items;
});

/**
 * Where a person stopped. What they said in files that stood here before goes on here where it is of the same words, and is kept
 * apart where it is of others; `unnamed` are labels that say not of what they are, as pages once kept them.
 */
async function stateOf(rater) {
  const said = (await KEPT.said(rater)).filter(({ line }) => line.label);
  const items = said.every(({ isHere }) => isHere) ? null : await itemsByAsked(0);
  const [lines, apart, unnamed] = [[], {}, new Set()];
  for (const { line, isHere } of said) {
    const name = line.asked && known(line.asked);
    if (isHere) lines.push(line);
    else if (!name) unnamed.add(`${line.item}/${line.axis}`);
    else if (items.has(name)) lines.push({ ...line, item: items.get(name) });
    else apart[name] = line;
  }
  return { ...lines.reduce(take, { labels: {}, history: [], seconds: {}, times: {} }), rater, apart, unnamed };
}

async function begin() {
  await browserAnswers();
  const parent = document.getElementById("labeller");
  const me = sitting(KEPT.place);
  followTheme(parent);
  let labeller, rater, state;
  const open = async () => {
    state = await stateOf(rater);
    const file = new KeptFile(KEPT, rater, async () => ratingLines(await stateOf(state.rater)));
    await file.resume().catch(() => {});
    labeller = new Labeller(browserHost(state, file, leave), state);
    mount(parent, labeller.element);
    await labeller.open();
    const { size } = state.unnamed;
    if (size) labeller.warn(`${size} labels of a page that stood here before are kept in this browser: put that page back to download them`);
  };
  const enter = async () => {
    rater = await whoLabels(parent, me);
    me.set(rater);
    KEPT.name("last", rater).catch(() => {});
    await open();
  };
  const leave = () => {
    labeller.flush();
    me.set(null);
    me.isLeft = true;
    labeller = null;
    mount(parent, make("div", {})); // nothing of theirs stays in sight while the store is asked
    enter();
  };
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, (event) => labeller?.leaving(event));
  KEPT.guard();
  addEventListener("keydown", (event) => labeller?.press(event));
  // What another tab of the same person says.
  KEPT.listen(async (person, line) => {
    if (person !== rater || !labeller) return;
    if (line) take(state, line);
    else {
      const [mine, there] = [state, await stateOf(person)];
      if (mine !== state || !labeller) return; // somebody else sits here by now
      const isNews = (name) => !(there.times[name] <= mine.times[name]); // what was said while it was read is later
      for (const name of Object.keys(there.labels).filter(isNews)) {
        const [item, axis] = name.split("/");
        take(mine, { item: Number(item), axis, label: there.labels[name], seconds: there.seconds[item], at: there.times[name] });
      }
    }
    labeller.takeUp();
  });
  await enter();
  KEPT.greet(rater);
}

begin().catch((error) => mount(document.getElementById("labeller"), make("p", { class: "waiting error", role: "alert" }, `${error.message}; open the page again`)));
