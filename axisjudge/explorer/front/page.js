const DATA = JSON.parse(document.getElementById("labelling").textContent);
const KEPT = new Kept(`labels:${DATA.hash}`);
const OLD = `axisjudge-labels:${DATA.hash}`;

const groupAt = recent(4, (at) => unpacked(`items-${at}`));
const givenAt = recent(4, (at) => unpacked(`given-${at}`));
/** What is asked of an item: its run, and of each axis the fields of a label that are known beforehand. */
const itemAt = async (n) => (await groupAt(Math.floor(n / DATA.together)))[n % DATA.together];

async function runAt(n) {
  const { run, given } = await itemAt(n);
  return { ...run, ...(await givenAt(given)) };
}

/** Where a person stopped: what their lines come to. */
function cameTo(lines) {
  const state = { labels: {}, history: [], seconds: {}, times: {} };
  for (const line of lines.filter(({ label }) => label)) {
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
async function ratingLine(state, name) {
  const [item, axis] = name.split("/");
  const { verdict, confidence, cited, note } = state.labels[name];
  const asked = await itemAt(item);
  const { flags, ...base } = { ...asked.base, ...asked.bases[axis] };
  return JSON.stringify({
    ...base,
    rater: state.rater,
    status: verdict ? "ok" : "refused",
    verdict,
    confidence,
    confidence_source: confidence === null ? null : "human",
    cited_step_indices: cited,
    rationale: note || null,
    flags: verdict ? flags : [DATA.open_flag, ...flags],
    latency_s: state.seconds[item] === undefined ? null : Math.round(state.seconds[item]),
    created_at: state.times[name] ?? null,
  });
}

async function ratingLines(state) {
  const lines = [];
  for (const name of Object.keys(state.labels)) lines.push(`${await ratingLine(state, name)}\n`);
  return lines.join("");
}
const fileName = (state) => `${state.rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.jsonl`;

/** The labeller's host in a page: the browser keeps the labels. */
function browserHost(state, file, leave) {
  return {
    about: DATA.about,
    rater: state.rater,
    item: runAt,
    save: async (change) => {
      const at = new Date().toISOString().replace(/\.\d+Z/, "Z");
      state.times[`${change.item}/${change.axis}`] = at;
      return Promise.all([KEPT.append(state.rater, { ...change, at }), file.write()]);
    },
    download: async () => save(fileName(state), "application/jsonl", await ratingLines(state)),
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
    await open();
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
