const CONTENT = document.getElementById("index");
const INDEX = JSON.parse(CONTENT.textContent);
const KEPT = new Kept(`decisions:${CONTENT.dataset.hash}`, `decisions:${location.pathname}`);
const OLD = "axisjudge-decisions:";
const BY_ID = new Map(INDEX.runs.map(({ id }, at) => [id, at]));

/** A packed piece of the file; what stands further down than the browser has read is waited for. */
async function unpacked(id) {
  while (!document.getElementById(id) || document.getElementById(id) === document.body.lastElementChild) {
    if (document.readyState !== "loading") break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const packed = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at); // ten times as quick as from()
  const gzip = new DecompressionStream("gzip"); // written to: by way of a Blob it takes three times as long
  const writer = gzip.writable.getWriter();
  Promise.all([writer.write(bytes), writer.close()]).catch(() => {}); // the reader hears of it
  return new Response(gzip.readable).json();
}

const shared = new Map();

async function openedRun(at) {
  const opened = await unpacked(`run-${at}`);
  if (opened.bases) bases.set(at, opened.bases);
  if (!opened.run) return opened;
  if (!shared.has(opened.given)) shared.set(opened.given, unpacked(`given-${opened.given}`));
  return { ...opened, run: { ...opened.run, ...(await shared.get(opened.given)) } };
}

/** All text of an opened run, small letters: steps, calls, reasons, notes. */
function textOf({ run, reasons, notes }) {
  const steps = run?.steps.flatMap((step) => [step.text, step.answers ?? "", ...step.calls.flatMap((call) => [call.name, ...call.arguments.flat()])]) ?? [];
  const said = [...Object.values(reasons).flat(), ...notes].map(({ why }) => why ?? "");
  return [...steps, ...said].join("\n").toLowerCase();
}

const texts = new Map();

/** The text of a run; each is unpacked once. */
function textAt(at) {
  if (!texts.has(at)) texts.set(at, unpacked(`run-${at}`).then(textOf));
  return texts.get(at);
}

/** Runs unpacked at once by a search. */
const TOGETHER = 24;

/** The runs whose text holds the words. */
async function searched(words, goOn) {
  const found = [];
  for (let first = 0; first < INDEX.runs.length && goOn(found); first += TOGETHER) {
    const some = INDEX.runs.slice(first, first + TOGETHER).map((_, n) => textAt(first + n));
    (await Promise.all(some)).forEach((text, n) => text.includes(words) && found.push(first + n));
  }
  return found;
}

/** Unpack the runs while somebody thinks of words to search for. */
let unpacking = null;
const prepareSearch = () => (unpacking ??= searched("\n\n\n\n", () => true).catch(() => (unpacking = null)));

/** The fields of a decision that are known before it is made; at once where the run is open. */
const bases = new Map();
const basesOf = async (run) => bases.get(run) ?? (await openedRun(run)).bases ?? {};

/** Everything that a person decided here: labels in order, those given on other words than stand here now apart. */
async function decidedBy(rater) {
  const [here, apart] = [[], []];
  for (const { label } of await KEPT.earlier(rater)) {
    const run = BY_ID.get(label.trajectory_id);
    const isSame = run !== undefined && (await basesOf(run))[label.question]?.prompt_sha256 === label.prompt_sha256;
    (isSame ? here : apart).push(label);
  }
  return { here: [...here, ...(await KEPT.lines(rater)).map(({ label }) => label)], apart };
}

/** All changes of a person as lines of a ratings file: the last one of an item stands, the others are its trail. */
async function decisionLines(rater) {
  const { here, apart } = await decidedBy(rater);
  return [...apart, ...here].map((label) => `${JSON.stringify({ ...label, created_at: label.created_at.replace(/\.\d+Z/, "Z") })}\n`).join("");
}

const fileName = (rater) => `${rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.decisions.jsonl`;
const files = new Map();

/** The file of a person, which goes on from an earlier sitting. */
function fileOf(rater) {
  if (!files.has(rater)) {
    const file = new KeptFile(KEPT, rater, () => decisionLines(rater));
    files.set(rater, file.resume().catch(() => {}).then(() => file));
  }
  return files.get(rater);
}

/** Decisions that an earlier version of this page left in localStorage go over to their person. */
async function takeOldStore() {
  for (const name of Object.keys(localStorage).filter((each) => each.startsWith(OLD))) {
    const old = JSON.parse(localStorage.getItem(name));
    if (old.path !== location.pathname || !old.rater) continue;
    for (const [item, label] of Object.entries(old.labels ?? {})) {
      const [run, question] = item.split("/");
      await KEPT.append(old.rater, { label: { ...(label.trajectory_id ? {} : (await basesOf(Number(run)))[question]), ...label } });
    }
    await KEPT.name("last", old.rater);
    localStorage.removeItem(name);
  }
}

const pageHost = {
  index: INDEX,
  me: sitting(KEPT.home),
  last: () => KEPT.named("last"),
  run: openedRun,
  search: searched,
  prepareSearch,
  decide: async ({ run, question, rater, word }) => {
    const { answer, verdict, way, of, stratum, note } = word;
    const flags = [`drawn:${way}`, `drawn_by:${of}`, `drawn_stratum:${stratum}`, answer ? `decided:${answer}` : INDEX.taken_back];
    const how = verdict ? { status: "ok", flags } : { status: "refused", flags: [INDEX.open_flag, ...flags] };
    const base = (bases.get(run) ?? (await basesOf(run)))[question]; // without waiting: the page may be left at once
    const label = { ...base, rater: `${rater}${INDEX.suffix}`, verdict, ...how, rationale: note || null, created_at: new Date().toISOString() };
    await KEPT.append(rater, { label });
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
  await takeOldStore().catch(() => {});
  const explorer = new Explorer(pageHost);
  mount(parent, explorer.element);
  explorer.visit(location.hash.slice(1));
  explorer.list.element.focus({ preventScroll: true });
  explorer.decisions.enter(pageHost.me.get());
  addEventListener("keydown", (event) => event.target === document.body && explorer.press(event));
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, () => explorer.opened.deciding.flush());
  KEPT.listen((person) => person === explorer.decisions.rater && explorer.decisions.read()); // what another tab says
  addEventListener("popstate", (event) => explorer.visit(location.hash.slice(1), event.state?.scroll ?? null));
}

beginExploring();
