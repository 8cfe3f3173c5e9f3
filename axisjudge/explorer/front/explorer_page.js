const CONTENT = document.getElementById("index");
const KEPT = new Kept(`decisions:${CONTENT.dataset.hash}`, `decisions:${location.pathname}`);
let INDEX = null;
let BY_ID = null;

/** Blocks as they are packed: a second search need not read the letters again. */
const packedBlocks = new Map();

/** A block of texts: where each ends, and all of them in one. */
async function blockOf(at) {
  const text = await textOf(`texts-${at}`, packedBlocks);
  const head = text.indexOf("\n");
  let end = head + 1;
  return { text, start: end, ends: JSON.parse(text.slice(0, head)).map((length) => (end += length)), first: INDEX.blocks[at] };
}

const groupAt = recent(8, (at) => unpacked(`runs-${at}`));
const givenAt = recent(20, (at) => unpacked(`given-${at}`));
const blockAt = recent(12, blockOf);

/** The texts of these numbers. */
async function textsOf(numbers) {
  const texts = new Map([[null, ""]]);
  for (const number of new Set(numbers)) {
    if (number === null) continue;
    const { text, start, ends, first } = await blockAt(INDEX.blocks.findLastIndex((each) => each <= number));
    texts.set(number, text.slice(number === first ? start : ends[number - first - 1], ends[number - first]));
  }
  return texts;
}

/** Where the texts of a run stand, as `_places` in grid_page.py goes: what holds each, its key, and the place. */
function* placesOf({ reasons, notes, run }) {
  for (const said of [...Object.values(reasons).flat(), ...notes]) yield [said, "why", "why"];
  for (const step of run?.steps ?? []) {
    yield [step, "text", `text ${step.role}`];
    yield [step, "answers", null];
    for (const call of step.calls) {
      yield [call, "name", null];
      for (const pair of call.arguments) yield* [[pair, 0, null], [pair, 1, "value"]];
    }
  }
}

async function openedRun(at) {
  const packed = structuredClone((await groupAt(Math.floor(at / INDEX.together)))[at % INDEX.together]);
  const places = [...placesOf(packed)];
  const last = {};
  for (const [holder, key, place] of places) if (place && holder[key] !== null) holder[key] = last[place] = (last[place] ?? 0) + holder[key];
  const texts = await textsOf(places.map(([holder, key]) => holder[key]));
  for (const [holder, key] of places) holder[key] = texts.get(holder[key]) || (key === "why" || key === "answers" ? null : "");
  const { run, base, shown } = packed;
  if (!run) return packed;
  const digests = [...atob(shown)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  const ofRun = Object.keys(INDEX.bases).map((question, n) => [question, { ...base, ...INDEX.bases[question], prompt_sha256: digests.slice(64 * n, 64 * n + 64) }]);
  bases.set(at, Object.fromEntries(ofRun));
  return { ...packed, bases: bases.get(at), run: { ...run, ...(await givenAt(packed.given)) } };
}

/** The runs of each text: those of text n stand from `from[n]` to `from[n + 1]`. */
async function ownersOf() {
  const uses = (await unpacked("uses")).map((steps) => steps.map(((number) => (step) => (number += step))(0)));
  const from = new Uint32Array(1 + uses.reduce((most, each) => Math.max(most, (each.at(-1) ?? -1) + 1), 0) + 1);
  for (const numbers of uses) for (const number of numbers) from[number + 1] += 1;
  for (let number = 1; number < from.length; number += 1) from[number] += from[number - 1];
  const [runs, next] = [new Uint32Array(from.at(-1)), from.slice()];
  uses.forEach((numbers, run) => numbers.forEach((number) => (runs[next[number]++] = run)));
  return { from, runs };
}

let owners = null;
/** Read whose text is whose while somebody thinks of words to search for. */
const prepareSearch = () => (owners ??= ownersOf());

/** The numbers of a block's texts in which something is found; words in the whole block at once, which is fastest. */
function foundIn({ text, start, ends, first }, { every, pattern }) {
  const found = [];
  if (pattern) {
    ends.forEach((end, n) => pattern.test(text.slice(n ? ends[n - 1] : start, end)) && found.push(first + n));
    return found;
  }
  every.lastIndex = start;
  for (let n = 0, match = every.exec(text); match; match = every.exec(text)) {
    while (ends[n] <= match.index) n += 1;
    const isWithin = every.lastIndex <= ends[n];
    if (isWithin) found.push(first + n);
    every.lastIndex = isWithin ? ends[n] : match.index + 1;
  }
  return found;
}

/** Blocks that are unpacked at once by a search. */
const AT_ONCE = 6;

/** The runs in whose text something is found. */
async function searched(find, goOn) {
  const [{ from, runs }, wanted, found] = [await prepareSearch(), soughtFor(find), new Set()];
  for (let first = 0; first < INDEX.blocks.length && goOn(found); first += AT_ONCE) {
    const some = INDEX.blocks.slice(first, first + AT_ONCE).map((_, n) => blockOf(first + n));
    for (const block of await Promise.all(some)) {
      for (const number of foundIn(block, wanted)) for (let at = from[number]; at < from[number + 1]; at += 1) found.add(runs[at]);
    }
  }
  return found;
}

/** The fields of a decision that are known before it is made; at once where the run is open. */
const bases = new Map();
const basesOf = async (run) => bases.get(run) ?? (await openedRun(run)).bases ?? {};

/** Everything that a person decided here: labels in order, those given on other words than stand here now apart. */
async function decidedBy(rater) {
  const [here, apart] = [[], []];
  for (const { line, isHere } of await KEPT.said(rater)) {
    const { label } = line;
    const run = BY_ID.get(label.trajectory_id);
    const isSame = isHere || (run !== undefined && (await basesOf(run))[label.question]?.prompt_sha256 === label.prompt_sha256);
    (isSame ? here : apart).push(label);
  }
  return { here, apart };
}

/** All changes of a person as lines of a ratings file: the last one of an item stands, the others are its trail. */
async function decisionLines(rater) {
  const { here, apart } = await decidedBy(rater);
  return [...apart, ...here].map((label) => `${JSON.stringify({ ...label, created_at: label.created_at.replace(/\.\d+Z/, "Z") })}\n`).join("");
}

const fileName = (rater) => fileOfName(rater, ".decisions.jsonl");
const files = new Map();

/** The file of a person, which goes on from an earlier sitting. */
function fileOf(rater) {
  if (!files.has(rater)) {
    const file = new KeptFile(KEPT, rater, () => decisionLines(rater));
    files.set(rater, file.resume().catch(() => {}).then(() => file));
  }
  return files.get(rater);
}

const pageHost = {
  index: null,
  kept: KEPT,
  where: "Kept in this browser; a private window forgets.",
  me: sitting(KEPT.home),
  last: () => KEPT.named("last"),
  run: openedRun,
  search: searched,
  prepareSearch,
  decide: async (change) => {
    const { run, question, rater, word } = change;
    const { answer, verdict, way, of, stratum, note } = word;
    const flags = [`drawn:${way}`, `drawn_by:${of}`, `drawn_stratum:${stratum}`, answer ? `decided:${answer}` : INDEX.taken_back];
    const how = verdict ? { status: "ok", flags } : { status: "refused", flags: [INDEX.open_flag, ...flags] };
    const base = (bases.get(run) ?? (await basesOf(run)))[question]; // without waiting: the page may be left at once
    change.line ??= { label: { ...base, rater: `${rater}${INDEX.suffix}`, verdict, ...how, rationale: note || null, created_at: new Date().toISOString() } };
    await KEPT.append(rater, change.line);
    await (await fileOf(rater)).write();
    KEPT.name("last", rater).catch(() => {});
  },
  lines: async (rater) => (await decidedBy(rater)).here.map((label) => ({ ...label, run: BY_ID.get(label.trajectory_id) })).filter(({ run }) => run !== undefined),
  decisions: async (rater) => save(fileName(rater), "application/jsonl", await decisionLines(rater)),
  toFile: KeptFile.isPossible ? async (rater) => (await fileOf(rater)).choose(fileName(rater)) : null,
  link: (address) => `${location.href.split("#")[0]}#${address}`,
  moved: (address, isNew, scroll) => {
    const where = `#${address}`;
    if (isNew) {
      history.replaceState({ ...history.state, scroll }, "");
      history.pushState({ isOpened: true }, "", where);
    } else if (location.hash !== where) history.replaceState(history.state, "", where);
  },
  back: () => {
    if (!history.state?.isOpened) return false;
    history.back();
    return true;
  },
};

async function beginExploring() {
  await browserAnswers();
  const parent = document.getElementById("explorer");
  followTheme(parent);
  pageHost.index = INDEX = await unpacked("index");
  BY_ID = new Map(INDEX.runs.map(({ id }, at) => [id, at]));
  const explorer = new Explorer(pageHost);
  mount(parent, explorer.element);
  explorer.visit(location.hash.slice(1));
  explorer.list.element.focus({ preventScroll: true });
  explorer.decisions.enter(pageHost.me.get());
  KEPT.greet(pageHost.me.get());
  addEventListener("keydown", (event) => event.target === document.body && explorer.press(event));
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, (event) => explorer.leaving(event));
  KEPT.guard();
  KEPT.listen((person) => person === explorer.decisions.rater && explorer.decisions.read()); // what another tab says
  addEventListener("popstate", (event) => explorer.visit(location.hash.slice(1), event.state?.scroll ?? null));
}

beginExploring();
