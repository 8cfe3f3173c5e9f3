const CONTENT = document.getElementById("index");
const INDEX = JSON.parse(CONTENT.textContent);
const DECISIONS = "axisjudge-decisions:";
const PLACE = `${DECISIONS}${CONTENT.dataset.hash}`;
const EARLIER = [];

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

function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "{}");
  } catch {
    return {};
  }
}

/** What was decided: here for whoever looks, and in the store for the next page, which may read it late. */
const KEPT = { path: location.pathname, rater: null, labels: {} };

/** Take over what another page kept; of two decisions on an item the later one stands. True where that page lacks one. */
function takeOver({ rater, labels = {} }) {
  KEPT.rater ??= rater ?? null;
  const isLater = (one, other) => !other || one.created_at > other.created_at;
  for (const [name, label] of Object.entries(labels)) if (isLater(label, KEPT.labels[name])) KEPT.labels[name] = label;
  return Object.entries(KEPT.labels).some(([name, label]) => isLater(label, labels[name]));
}

function keep() {
  takeOver(stored(PLACE));
  localStorage.setItem(PLACE, JSON.stringify(KEPT));
}

/** A decision with the fields of its item, which are packed with the run. */
async function completed(name) {
  const label = KEPT.labels[name];
  if (label.trajectory_id === undefined) Object.assign(label, { ...(await basesOf(name)), ...label });
  return label;
}

async function basesOf(name) {
  const [run, question] = name.split("/");
  return (await unpacked(`run-${run}`)).bases?.[question];
}

/** Decisions that were kept by the file that stood here before: those on the same content go on, the others are given back. */
async function ofEarlierFiles() {
  const places = Object.keys(localStorage).filter((name) => name.startsWith(DECISIONS) && name !== PLACE);
  const before = places.map(stored).filter(({ path }) => path === location.pathname);
  const runs = new Map(INDEX.runs.map(({ id }, at) => [id, at]));
  for (const { rater, labels } of before) {
    for (const label of Object.values(labels ?? {})) {
      const name = `${runs.get(label.trajectory_id)}/${label.question}`;
      const base = runs.has(label.trajectory_id) && (await basesOf(name));
      if (base?.prompt_sha256 === label.prompt_sha256) takeOver({ rater, labels: { [name]: label } });
      else EARLIER.push(label);
    }
  }
  return before.length > 0;
}

const pageHost = {
  index: INDEX,
  rater: null,
  run: openedRun,
  search: searched,
  prepareSearch,
  decide: async ({ run, question, rater, word }) => {
    const { answer, verdict, way, of, stratum } = word;
    const flags = [`drawn:${way}`, `drawn_by:${of}`, `drawn_stratum:${stratum}`, `decided:${answer}`];
    const how = verdict ? { status: "ok", flags } : { status: "refused", flags: [INDEX.open_flag, ...flags] };
    const name = `${run}/${question}`;
    KEPT.rater = rater;
    KEPT.labels[name] = { question, rater: `${rater}${INDEX.suffix}`, verdict, ...how, created_at: new Date().toISOString() };
    try {
      keep(); // at once: the page may be left before the run is unpacked
    } catch {
      throw new Error("this browser keeps nothing; download the decisions before you close the page");
    }
    completed(name).then(keep);
  },
  decided: async () => Object.entries(KEPT.labels).map(([name, label]) => ({ ...label, run: Number(name.split("/")[0]) })),
  decisions: async () => {
    const labels = [...EARLIER, ...(await Promise.all(Object.keys(KEPT.labels).map(completed)))];
    const lines = labels.map((label) => `${JSON.stringify({ ...label, created_at: label.created_at.replace(/\.\d+Z/, "Z") })}\n`);
    save(`${(KEPT.rater ?? "nobody").replace(/[^\p{L}\p{N}._-]+/gu, "-")}.decisions.jsonl`, "application/jsonl", lines.join(""));
  },
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
  Object.assign(KEPT, stored(PLACE));
  pageHost.rater = KEPT.rater;
  const parent = document.getElementById("explorer");
  followTheme(parent);
  const explorer = new Explorer(pageHost);
  mount(parent, explorer.element);
  explorer.visit(location.hash.slice(1));
  explorer.list.element.focus({ preventScroll: true });
  addEventListener("keydown", (event) => event.target === document.body && explorer.press(event));
  const heard = () => {
    pageHost.rater ??= KEPT.rater;
    if (KEPT.rater) explorer.named(KEPT.rater);
  };
  addEventListener("storage", (event) => {
    if (event.key !== PLACE || !event.newValue) return;
    if (takeOver(JSON.parse(event.newValue))) keep(); // it was written by a page that had not read this one's
    heard();
  });
  ofEarlierFiles().then((isAny) => isAny && heard(), () => {}); // or this browser keeps nothing
  addEventListener("popstate", (event) => explorer.visit(location.hash.slice(1), event.state?.scroll ?? null));
}

beginExploring();
