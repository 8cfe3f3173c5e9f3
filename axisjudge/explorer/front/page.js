const DATA = JSON.parse(document.getElementById("labelling").textContent);
const PLACE = `axisjudge-labels:${DATA.hash}`;

/** What earlier sittings left in this browser. */
function kept() {
  const fresh = { rater: DATA.about.rater, labels: {}, history: [], seconds: {} };
  try {
    return { ...fresh, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return fresh;
  }
}

/** A label as a line of a ratings file. */
function line(state, name) {
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

function download(state) {
  const lines = Object.keys(state.labels).map((name) => `${line(state, name)}\n`);
  save(`${state.rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.jsonl`, "application/jsonl", lines.join(""));
}

/** The labeller's host in a page from disk: the browser keeps the labels. */
function browserHost(state) {
  const keep = () => localStorage.setItem(PLACE, JSON.stringify(state));
  return {
    about: DATA.about,
    item: async (n) => DATA.items[n].run,
    save: async ({ item, axis }) => {
      state.times[`${item}/${axis}`] = new Date().toISOString().replace(/\.\d+Z/, "Z");
      try {
        keep();
      } catch {
        throw new Error("this browser keeps nothing; download the labels before you close the page");
      }
    },
    download: () => download(state),
  };
}

async function begin() {
  await browserAnswers();
  const parent = document.getElementById("labeller");
  followTheme(parent);
  const state = { times: {}, ...kept() };
  state.rater ||= await askName(parent, DATA.welcome);
  let labeller;
  const open = async (item) => {
    labeller = new Labeller(browserHost(state), state);
    mount(parent, labeller.element);
    await labeller.open(item);
  };
  // A page that is reloaded in another process is hidden only when the new one has read the store already.
  for (const end of ["beforeunload", "pagehide"]) addEventListener(end, () => labeller.flush());
  // What another tab says comes with the event; read from the store it may be older, for each process has its own copy.
  addEventListener("storage", (event) => {
    if (event.key !== PLACE || !event.newValue) return;
    Object.assign(state, JSON.parse(event.newValue));
    open(labeller.item);
  });
  await open();
}

begin();
