const CONTENT = document.getElementById("index");
const INDEX = JSON.parse(CONTENT.textContent);
const KEPT = `axisjudge-decisions:${CONTENT.dataset.hash}`;

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

function keptDecisions() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "{}");
  } catch {
    return {};
  }
}

/** A decision as a label: the fields known beforehand, and what was decided. */
async function labelOf({ run, question, rater, word }) {
  const { bases } = await unpacked(`run-${run}`);
  const { answer, verdict, way, of, stratum } = word;
  const flags = [`drawn:${way}`, `drawn_by:${of}`, `drawn_stratum:${stratum}`, `decided:${answer}`];
  return {
    ...bases[question],
    rater: `${rater}${INDEX.suffix}`,
    status: verdict ? "ok" : "refused",
    verdict,
    flags: verdict ? flags : [INDEX.open_flag, ...flags],
    created_at: new Date().toISOString().replace(/\.\d+Z/, "Z"),
  };
}

const pageHost = {
  index: INDEX,
  rater: keptDecisions().rater ?? null,
  run: openedRun,
  search: searched,
  prepareSearch,
  decide: async (decision) => {
    const kept = keptDecisions();
    const label = await labelOf(decision);
    const labels = { ...kept.labels, [`${decision.run}/${decision.question}`]: label };
    try {
      localStorage.setItem(KEPT, JSON.stringify({ rater: decision.rater, labels }));
    } catch {
      throw new Error("this browser keeps nothing; open the explorer in a notebook to decide");
    }
  },
  decided: async () =>
    Object.entries(keptDecisions().labels ?? {}).map(([name, { question, verdict, flags }]) => ({ run: Number(name.split("/")[0]), question, verdict, flags })),
  decisions: () => {
    const { rater, labels } = keptDecisions();
    const lines = Object.values(labels ?? {}).map((label) => `${JSON.stringify(label)}\n`);
    save(`${(rater ?? "nobody").replace(/[^\p{L}\p{N}._-]+/gu, "-")}.decisions.jsonl`, "application/jsonl", lines.join(""));
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

function beginExploring() {
  const parent = document.getElementById("explorer");
  followTheme(parent);
  const explorer = new Explorer(pageHost);
  mount(parent, explorer.element);
  explorer.visit(location.hash.slice(1));
  explorer.list.element.focus({ preventScroll: true });
  addEventListener("keydown", (event) => event.target === document.body && explorer.press(event));
  addEventListener("popstate", (event) => explorer.visit(location.hash.slice(1), event.state?.scroll ?? null));
}

beginExploring();
