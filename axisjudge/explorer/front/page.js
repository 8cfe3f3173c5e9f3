const DATA = JSON.parse(document.getElementById("labelling").textContent);
const KEPT = new Kept(`labels:${DATA.hash}`);
const OLD = `axisjudge-labels:${DATA.hash}`;

const groupAt = recent(4, (at) => unpacked(`items-${at}`));
const givenAt = recent(4, (at) => unpacked(`given-${at}`));
/** What is asked of an item: its run, and of each axis the fields of a label that are known beforehand. */
const itemAt = async (n) => (await groupAt(Math.floor(n / DATA.together)))[n % DATA.together];

/** What is asked of an axis of runs that were opened: each line says it, so that a page written anew knows what it is of. */
const ASKED = new Map();
const askedOf = ({ base, bases }, n) => Object.entries(bases).map(([axis, own]) => [`${n}/${axis}`, { ...base, ...own }]);
const known = ({ trajectory_id, question, prompt_sha256 }) => `${trajectory_id}/${question}/${prompt_sha256}`;

async function runAt(n) {
  const item = await itemAt(n);
  for (const [name, asked] of askedOf(item, n)) ASKED.set(name, asked);
  return { ...item.run, ...(await givenAt(item.given)) };
}

/** Where a person stopped: what their lines come to. */
function cameTo(lines) {
  const state = { labels: {}, history: [], seconds: {}, times: {}, apart: {} };
  for (const line of lines.filter(({ label }) => label)) {
    if (line.isApart) {
      state.apart[known(line.asked)] = line;
      continue;
    }
    const name = `${line.item}/${line.axis}`;
    const before = state.labels[name] ?? NOTHING;
    if (line.how === "undo") {
      const last = state.history.findLastIndex(({ item, axis }) => item === line.item && axis === line.axis);
      if (last >= 0) state.history.splice(last, 1);
    } else if (line.how !== "typed" && !isSame(before, line.label)) state.history.push({ item: line.item, axis: line.axis, before });
    state.labels[name] = line.label;
    state.seconds[line.item] = Math.max(state.seconds[line.item] ?? 0, line.seconds ?? 0);
    state.times[name] = line.at;
  }
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
const fileName = (state, kind = "") => `${state.rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}${kind}.jsonl`;

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
      return Promise.all([KEPT.append(state.rater, { ...change, at, asked: ASKED.get(name) }), file.write()]);
    },
    download: async () => {
      save(fileName(state), "application/jsonl", await ratingLines(state));
      const apart = apartLines(state);
      if (apart.length) save(fileName(state, ".earlier"), "application/jsonl", apart.join(""));
    },
    toFile: KeptFile.isPossible ? () => file.choose(fileName(state)) : null,
    leave,
  };
}

/** Labels that an earlier version of this page left in localStorage go over to their person. */
async function takeOldStore() {
  const old = JSON.parse(localStorage.getItem(OLD) ?? "null");
  if (!old?.rater) return;
  for (const [name, label] of Object.entries(old.labels ?? {})) {
    const [item, axis] = name.split("/");
    await KEPT.append(old.rater, { item: Number(item), axis, label, seconds: old.seconds?.[item] ?? 0, at: old.times?.[name] ?? null });
  }
  await KEPT.name("last", old.rater);
  localStorage.removeItem(OLD);
}

/**
 * What a person said in files that stood here before: of the same words it goes on here, of others it is kept apart. How many
 * say not of what they are, as pages once kept them.
 */
async function takeEarlier(rater) {
  const earlier = await KEPT.earlier(rater);
  const taken = (await KEPT.named(`taken/${rater}`)) ?? 0;
  if (earlier.length > taken) {
    const here = new Map();
    for (let n = 0; n < DATA.about.items.length; n += 1) {
      for (const [, asked] of askedOf(await itemAt(n), n)) here.set(known(asked), { item: n, asked });
    }
    for (const line of earlier.slice(taken).filter(({ asked }) => asked)) {
      const found = here.get(known(line.asked));
      await KEPT.append(rater, { ...line, ...(found ?? { item: null }), isApart: !found });
    }
    await KEPT.name(`taken/${rater}`, earlier.length);
  }
  return earlier.filter(({ label, asked }) => label && !asked).length;
}

/** Who labels: the person of this tab; of a fresh one whoever says so, so that nobody opens another's labels unasked. */
async function whoLabels(parent, me) {
  if (me.get()) return me.get();
  const last = await KEPT.named("last");
  const isSure = DATA.about.rater && (!last || last === DATA.about.rater) && !(await KEPT.lines(DATA.about.rater)).length;
  return isSure && !me.isLeft ? DATA.about.rater : askName(parent, DATA.welcome, "", me.isLeft ? null : (last ?? DATA.about.rater));
}

/** The state of a person: what their lines here come to. */
const stateOf = async (rater) => ({ ...cameTo(await KEPT.lines(rater)), rater });

async function begin() {
  await browserAnswers();
  const parent = document.getElementById("labeller");
  const me = sitting(KEPT.place);
  followTheme(parent);
  await takeOldStore().catch(() => {});
  let labeller, rater, file;
  const open = async (item) => {
    const state = await stateOf(rater);
    file = new KeptFile(KEPT, rater, () => ratingLines(state));
    await file.resume().catch(() => {});
    labeller = new Labeller(browserHost(state, file, leave), state);
    mount(parent, labeller.element);
    await labeller.open(item);
  };
  const enter = async () => {
    rater = await whoLabels(parent, me);
    me.set(rater);
    KEPT.name("last", rater).catch(() => {});
    const unnamed = await takeEarlier(rater).catch(() => 0);
    await open();
    if (unnamed) labeller.warn(`${unnamed} labels of a page that stood here before are kept in this browser: put that page back to download them`);
  };
  const leave = () => {
    labeller.flush();
    me.set(null);
    me.isLeft = true;
    labeller = null;
    enter();
  };
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, () => labeller?.flush());
  // What another tab of the same person says; never while something of this one is under way.
  KEPT.listen((person) => person === rater && labeller && !labeller.unsaved.size && !labeller.isTyping && open(labeller.item));
  await enter();
}

begin().catch((error) => mount(document.getElementById("labeller"), make("p", { class: "waiting error", role: "alert" }, `${error.message}; open the page again`)));
