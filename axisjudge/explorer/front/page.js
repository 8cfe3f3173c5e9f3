const DATA = JSON.parse(document.getElementById("labelling").textContent);
const KEPT = new Kept(`labels:${DATA.hash}`);
const OLD = `axisjudge-labels:${DATA.hash}`;
/** A server that does not answer is asked again after this time. */
const AGAIN = 2000;

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
function ratingLine(state, name) {
  const [item, axis] = name.split("/");
  const { verdict, confidence, cited, note } = state.labels[name];
  const { flags, ...base } = DATA.items[item].bases[axis];
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

const ratingLines = (state) => Object.keys(state.labels).map((name) => `${ratingLine(state, name)}\n`).join("");
const fileName = (state) => `${state.rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.jsonl`;

/** Ask the server that gave this page; its answer is on its disk. */
async function served(what, content) {
  const how = content === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  const answer = await fetch(what, { ...how, cache: "no-store" });
  const given = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(given.error), { isFinal: answer.status < 500 });
  return given;
}

/** Send a change until the server has it; the labeller says meanwhile that it has not. */
async function sent(change, labeller) {
  for (;;) {
    try {
      await served("save", change);
      return await KEPT.append(DATA.about.rater, { sent: change.at, name: `${change.item}/${change.axis}` });
    } catch (error) {
      if (error.isFinal) throw error;
      labeller.warn("the server does not answer; kept in this browser and sent again");
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }
}

/** The labeller's host in a page: the browser keeps the labels; a server that gave the page has them too. */
function browserHost(state, file, leave) {
  return {
    about: DATA.about,
    rater: state.rater,
    item: async (n) => DATA.items[n].run,
    save: async (change, labeller) => {
      const at = new Date().toISOString();
      state.times[`${change.item}/${change.axis}`] = at.replace(/\.\d+Z/, "Z");
      const whole = { ...change, at: DATA.is_served ? at : state.times[`${change.item}/${change.axis}`] };
      const kept = KEPT.append(state.rater, whole);
      if (!DATA.is_served) return Promise.all([kept, file.write()]);
      await kept.catch(() => {});
      return sent(whole, labeller);
    },
    download: () => save(fileName(state), "application/jsonl", ratingLines(state)),
    toFile: KeptFile.isPossible && !DATA.is_served ? () => file.choose(fileName(state)) : null,
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
  if (DATA.is_served) return DATA.about.rater;
  if (me.get()) return me.get();
  const last = await KEPT.named("last");
  const isSure = DATA.about.rater && (!last || last === DATA.about.rater) && !(await KEPT.lines(DATA.about.rater)).length;
  return isSure && !me.isLeft ? DATA.about.rater : askName(parent, DATA.welcome, "", me.isLeft ? null : (last ?? DATA.about.rater));
}

/** The state of a person: their lines here, or what the server has with what never reached it on top. */
async function stateOf(rater) {
  const lines = await KEPT.lines(rater);
  if (!DATA.is_served) return { ...cameTo(lines), rater };
  const state = { times: {}, ...(await served("state")), rater };
  const done = new Set(lines.map((line) => line.sent));
  const left = new Map(lines.filter(({ label, at }) => label && !done.has(at)).map((line) => [`${line.item}/${line.axis}`, line]));
  const replay = [...left].filter(([name, { label }]) => !isSame(state.labels[name] ?? NOTHING, label));
  for (const [name, { item, axis, label }] of replay) {
    state.history.push({ item, axis, before: state.labels[name] ?? NOTHING });
    state.labels[name] = label;
  }
  return { ...state, replay: replay.map(([, { item, axis }]) => [item, axis]) };
}

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
    labeller = new Labeller(browserHost(state, file, DATA.is_served ? null : leave), state);
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
  KEPT.listen((person) => person === rater && labeller && !labeller.unsaved.size && !labeller.isTyping && !DATA.is_served && open(labeller.item));
  await enter();
}

begin().catch((error) => mount(document.getElementById("labeller"), make("p", { class: "waiting error", role: "alert" }, `${error.message}; open the page again`)));
