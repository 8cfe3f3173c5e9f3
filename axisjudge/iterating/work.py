"""What a search for a better rubric asks of judges and of the proposer, what it rests on, and what it will take."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from axisjudge.checks import InputError, OneLine
from axisjudge.explorer.grid import word_diff
from axisjudge.families import family_of
from axisjudge.iterating import proposing
from axisjudge.iterating.proposing import RunContent, most_growth, replace_text
from axisjudge.iterating.search import Cut, RubricCandidate
from axisjudge.judges import Judge
from axisjudge.judges.answer import Sheet
from axisjudge.judges.compatible_judge import CHARACTERS_PER_TOKEN
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judging import JudgingRun
from axisjudge.judging.estimate import PlanEstimate, ask_above, check_priced, estimate_of, span
from axisjudge.judging.inquiry import OfAxes, OfSheet
from axisjudge.judging.judging_run import AT_BUDGET, run_to_the_end
from axisjudge.judging.plan import Call, RunOptions, call_of, plan_calls
from axisjudge.judging.run import KeptRatings
from axisjudge.protocol import admit
from axisjudge.rubric import Rubric, load_rubric
from axisjudge.studies.rubric_versions.versions import Flip
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, Axis

if TYPE_CHECKING:
    import polars as pl

Target = Literal["labels", "agreement", "reference"]
TARGETS: tuple[Target, ...] = ("labels", "agreement", "reference")
#: Tasks that are asked before it is looked whether the bets suffice.
TASKS_A_LOOK = 6
#: Twins that a candidate and its parent are asked about at most, and changed sentences that are left out.
MOST_TWINS, MOST_SENTENCES = 24, 6
#: By how many points a neighbouring axis may move more than it does under the paraphrase.
NEIGHBOURS = 0.05
#: The last improvement's record, beside the drafts.
RECORD = "improvement.json.gz"

#: Verdict by (run, judge, repeat); None where it was lost.
Verdicts = Mapping[tuple[str, str, int], str | None]


class BudgetReachedError(OneLine):
    """The budget let no further call through; the same call with a higher one goes on from there."""


@dataclass
class RubricSearch:
    """One study: who is asked what, and everything that is there already."""

    first: Rubric
    judges: list[Judge]
    proposer: Judge
    runs: dict[str, Trajectory]
    labels: dict[str, str]
    reasons: dict[str, tuple[str, list[int]]]
    labelled_by: str
    target: Target
    repeats: int
    out: Path
    options: RunOptions
    kept: KeptRatings = field(init=False)
    refused: list[str] = field(default_factory=list)
    twins: dict[str, Trajectory] = field(default_factory=dict)
    unsteady: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kept = KeptRatings(self.out)

    @property
    def axis(self) -> Axis:
        return self.first.axis

    @cached_property
    def content(self) -> RunContent:
        return RunContent(tuple(self.runs.values()))

    @cached_property
    def names(self) -> list[str]:
        """What of judges and of the proposer a rubric may not name: families, models, and how models are called."""
        named = [each for each in (*self.judges, self.proposer) if each in self.judges or each.kind != "simulated"]
        models = [(each.model or "").rpartition("/")[2] for each in named]
        stems = [re.split(r"[\W\d_]", model)[0] for model in models]
        called = [stem for stem in stems if family_of(stem) and stem != "command"]  # which is a word of rubrics, too
        return [name for name in (*(each.family for each in named), *models, *called) if name]

    @cached_property
    def others(self) -> dict[Axis, Rubric]:
        """The rubrics of the neighbouring axes, which judges of one call are shown as well."""
        return {axis: load_rubric(axis) for axis in AXES if axis != self.axis}

    def rubric(self, text: str) -> Rubric:
        if text == self.first.text:
            return self.first
        key = RubricCandidate(text).key
        return replace_text(self.first, text, version=f"{self.first.version}+{key}", status="draft")

    def asked(self, groups: Iterable[Sequence[Call]], judges: Sequence[Judge]) -> pl.DataFrame:
        """Ask what is missing of these calls; all of their ratings.

        Raises
        ------
        BudgetReachedError, InputError
            The budget stopped it; a judge or the proposer stopped before it had answered.
        """
        run = JudgingRun(lambda done: plan_calls(groups, judges, done=done), admit([], judges, {}), self.out)
        run.kept = self.kept
        table = run.carry_out(replace(self.options, agreed=True, progress=False))
        if run.outcome.code() == AT_BUDGET:
            cure = "the same command with a higher --budget goes on from there"
            raise BudgetReachedError(f"budget: {run.outcome.sentences()[-1]} {cure}.")
        if stopped := next((end for end in run.outcome.ends if end.stopped), None):
            raise InputError(f"judge {stopped.judge.rater}", f"stopped: {stopped.stopped}", cure="run the same again")
        return table

    def calls(
        self, texts: Sequence[str], ids: Iterable[str], repeats: int, judges: Sequence[Judge] | None = None
    ) -> list[list[Call]]:
        """Texts side by side: those of one run, judge and repeat follow each other, so that no day parts them."""
        rubrics = [self.rubric(text) for text in dict.fromkeys(texts)]
        runs = self.runs | self.twins
        asked = self.judges if judges is None else judges
        return [
            [
                call_of(judge, OfAxes(runs[id], self.shown(judge, rubric)), repeat, self.stamps.get(id))
                for rubric in rubrics
            ]
            for id in dict.fromkeys(ids)  # gepa fills a batch up with cases that it holds already
            for judge in asked
            for repeat in range(repeats)
        ]

    def shown(self, judge: Judge, rubric: Rubric) -> dict[Axis, Rubric]:
        """What a judge is shown in one call: this rubric, among those of all axes where it is asked about all."""
        every = {**(self.others if judge.joint else {}), self.axis: rubric}
        return {axis: every[axis] for axis in AXES if axis in every}

    @cached_property
    def stamps(self) -> Mapping[str, Any]:
        return admit(list(self.runs.values()), self.judges, {self.axis: self.first}).stamps

    def verdicts(
        self, texts: Sequence[str], ids: Sequence[str], repeats: int, judges: Sequence[Judge] | None = None
    ) -> dict[str, Verdicts]:
        """The verdicts of judges (all of them by default) under each text, asked where they are missing."""
        judges = self.judges if judges is None else judges
        table = self.asked(self.calls(texts, ids, repeats, judges), judges)
        own_rows = table.filter(table["question"] == self.axis)
        columns = ("rubric_sha256", "trajectory_id", "rater", "repeat", "verdict")
        answers: dict[str, dict[tuple[str, str, int], str | None]] = {}
        for sha, id, rater, repeat, verdict in own_rows.select(*columns).iter_rows():
            answers.setdefault(sha, {})[id, rater, repeat] = verdict
        return {text: answers.get(self.rubric(text).sha256, {}) for text in texts}

    def scores(self, verdicts: Verdicts, id: str, repeats: int, judge: str | None = None) -> list[float]:
        """Credits of one run: 1 for each verdict that is the label, or for each pair of judges that agree."""
        raters = [each.rater for each in self.judges if judge in (None, each.rater)]
        given = [[verdicts.get((id, rater, repeat)) for rater in raters] for repeat in range(repeats)]
        if self.target != "agreement":
            return [float(word == self.labels[id]) for words in given for word in words if word is not None]
        pairs = [
            (one, other)
            for words in given
            for n, one in enumerate(words)
            for other in words[n + 1 :]
            if one is not None and other is not None
        ]
        return [float(one == other and one in ("correct", "incorrect")) for one, other in pairs]

    def mean(self, verdicts: Verdicts, id: str, repeats: int, judge: str | None = None) -> float:
        """The mean credit of a run; NaN where everything of it was lost."""
        credits = self.scores(verdicts, id, repeats, judge)
        return sum(credits) / len(credits) if credits else float("nan")

    def proposal(self, sheet: Sheet) -> dict[str, Any]:
        """The rating of a sheet: what the proposer said (`rationale`) where its status is ok, else why it is lost."""
        call = call_of(self.proposer, OfSheet(sheet, self.proposer), 0)
        return self.asked([[call]], [self.proposer]).row(0, named=True)

    @property
    def room(self) -> float:
        """Characters of a request that the proposer's context holds beside its answer; infinite where nobody tells."""
        asked = self.proposer
        if not isinstance(asked, RemoteJudge):
            return math.inf
        context = asked.options.get("context") or asked.context_told or asked.context
        reply = asked.options.get("max_tokens", max(asked.longest_reply, proposing.REPLY_TOKENS))
        return math.inf if context is None else CHARACTERS_PER_TOKEN * (context - reply)

    def check_room(self) -> None:
        """Refuse a proposer whose context cannot hold the rubric at its longest, one case and the answer.

        Raises
        ------
        InputError
            It cannot, by its options or by what its server tells.
        """
        if isinstance(self.proposer, RemoteJudge) and "context" not in self.proposer.options:
            run_to_the_end(_look(self.proposer))
        longest = self.first.text + " " * (4 * most_growth(self.first))
        needed = proposing.characters_of(replace_text(self.first, longest)) + proposing.LEAST_CASE
        if self.room < needed:
            where, n = f"proposer {self.proposer.rater}", math.ceil((needed - self.room) / CHARACTERS_PER_TOKEN)
            rule = f"its context lacks about {n:,} tokens for the rubric, one case and its answer"
            raise InputError(where, rule, cure="start its server with a longer context, or give a smaller max_tokens")


async def _look(judge: Judge) -> None:
    """Ask its server how long the model's context is."""
    judge.prepare()
    try:
        await judge.look()
    finally:
        await judge.close()


def gold_labels(
    axis: str, labels: Any, runs: Sequence[Trajectory], target: Target
) -> tuple[dict[str, str], dict[str, tuple[str, list[int]]], str]:
    """The label of each run that has one word more often than any other, a reason with its steps, and who labelled.

    The reference holds faults against failed runs alone; with it a run that passed counts as correct.
    """
    import polars as pl

    from axisjudge.labels.reference import reference_ratings
    from axisjudge.sources import read_label_files

    if target == "agreement":
        return {run.id: "" for run in runs}, {}, ""
    if target == "reference":
        table = reference_ratings(runs)
    elif isinstance(labels, pl.DataFrame):
        table = labels
    elif labels is None:
        raise InputError("labels", "are needed to say what is right", cure="--labels FILE, or --target agreement")
    else:
        table = read_label_files([labels] if isinstance(labels, str | Path) else labels)
    mine = table.filter((pl.col("question") == axis) & pl.col("verdict").is_in(["correct", "incorrect"]))
    if mine.is_empty() and target == "labels":
        raise InputError("labels", f"hold no verdict on {axis}", sorted(set(table["question"])), "name another file")
    words: dict[str, Counter[str]] = {}
    reasons: dict[str, tuple[str, list[int]]] = {}
    for row in mine.filter(pl.col("step_index").is_null()).iter_rows(named=True):
        words.setdefault(row["trajectory_id"], Counter())[row["verdict"]] += 1
        if row["rationale"] or row["cited_step_indices"]:
            reasons[row["trajectory_id"]] = (row["rationale"] or "", row["cited_step_indices"] or [])
    gold = {}
    for id, counts in words.items():
        (word, n), *rest = counts.most_common(2)
        if not rest or rest[0][1] < n:
            gold[id] = word
    if target == "reference":
        passed = (run for run in runs if run.reward is not None and run.reward >= 1 and "expected" in run.meta)
        gold = {**{run.id: "correct" for run in passed}, **gold}
    kinds = mine["rater_kind"].unique().to_list()
    return gold, reasons, kinds[0] if len(kinds) == 1 else ""


def runs_of(work: RubricSearch, tasks: Sequence[str]) -> list[str]:
    """The runs of tasks, task by task in their order."""
    by_task: dict[str, list[str]] = {task: [] for task in tasks}
    for run in work.runs.values():
        if run.cluster_id in by_task:
            by_task[run.cluster_id].append(run.id)
    return [id for ids in by_task.values() for id in ids]


def searching(work: RubricSearch, cut: Cut) -> list[str]:
    """The runs of all train and select tasks."""
    return runs_of(work, tuple(dict.fromkeys(task for pair in cut.searches for side in pair for task in side)))


@dataclass(frozen=True)
class Forecast:
    """What a search takes at most: calls by kind, tokens, dollars and minutes as ranges."""

    n_judged: int
    n_proposed: int
    tokens: tuple[float, float]
    usd: tuple[float, float]
    minutes: tuple[float, float]
    estimates: tuple[PlanEstimate, PlanEstimate]
    options: RunOptions

    @property
    def sentence(self) -> str:
        cost = f"about ${span(self.usd, 2)} by list price" if self.usd[1] else "free"
        return (
            f"at most {self.n_judged:,} calls to judges and {self.n_proposed:,} to the proposer, {span(self.tokens)} "
            f"tokens, {cost}, {span(self.minutes, 1)} minutes; what is there already is not asked again"
        )

    def agree(self) -> None:
        """Let it begin only where its price is known and was agreed to."""
        for each in self.estimates:
            check_priced(each, self.options)
        ask_above("this search", self.usd[1], self.options, f"{self.sentence}; go on?")


def forecast_of(work: RubricSearch, cut: Cut, rounds: int) -> Forecast:
    """The price of one text on all runs, and of one proposal, times how often each is asked at most."""
    history = work.kept.table()
    ids, n_judges = list(work.runs), len(work.judges)
    judged = estimate_of(plan_calls(work.calls([work.first.text], ids, 1), work.judges, done={}), history, work.options)
    cases = [proposing.case_of(work.runs[id], "correct", [{"verdict": "correct"}], [0, 1]) for id in ids[:6]]
    sheet = proposing.proposal_sheet(work.first, cases, 1, room=work.room)
    call = call_of(work.proposer, OfSheet(sheet, work.proposer), 0)
    proposed = estimate_of(plan_calls([[call]], [work.proposer], done={}), history, work.options)
    per_search = [rounds * (12 + len(runs_of(work, select))) for _, select in cut.searches]
    confirm = len(runs_of(work, cut.confirm))
    n_judged = n_judges * (
        work.repeats * len(searching(work, cut))
        + sum(per_search)
        + (4 + MOST_SENTENCES) * work.repeats * confirm
        + 2 * MOST_TWINS * work.repeats
    )
    n_proposed = rounds * len(cut.searches) + 1
    times = n_judged / max(1, n_judges * len(ids))

    def total(of: Any) -> tuple[float, float]:
        (low, high), (low_, high_) = of(judged), of(proposed)
        return times * low + n_proposed * low_, times * high + n_proposed * high_

    def tokens(estimate: PlanEstimate) -> tuple[float, float]:
        parts = [(each.input_tokens, each.output_tokens) for each in estimate.judges]
        return sum(i[0] + o[0] for i, o in parts), sum(i[1] + o[1] for i, o in parts)

    low, high = total(lambda estimate: estimate.seconds)
    return Forecast(
        n_judged,
        n_proposed,
        total(tokens),
        total(lambda estimate: estimate.usd),
        (low / 60, high / 60),
        (judged, proposed),
        work.options,
    )


# The rubric's change sentence by sentence, and the sentence that a judge's reason hangs on.

#: A reason hangs on a sentence where they share so many words of the rubric, the rarer ones counting more.
FEWEST_SHARED = 3
_STYLE = """<style>.axisjudge-beside { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 16px }
.axisjudge-beside > * { max-height: 32em; overflow: auto; overflow-wrap: anywhere; font-size: 90% }
.axisjudge-beside ins { background: rgba(0, 140, 60, .22); text-decoration: none }
.axisjudge-beside del { background: rgba(200, 30, 30, .18) } .axisjudge-beside article { margin-bottom: 10px }
@media (max-width: 700px) { .axisjudge-beside { grid-template-columns: minmax(0, 1fr) } }</style>"""


@dataclass(frozen=True)
class RubricSentence:
    """A sentence of either text: ``=`` kept, ``-`` gone, ``+`` new; `words` has those that differ, for a pair."""

    number: int
    sign: str
    text: str
    words: tuple[tuple[str, str], ...] = ()


def rubric_sentences(before: str, after: str) -> tuple[RubricSentence, ...]:
    """The sentences of two rubrics in one order; one that was reworded stands once, as its new text with `words`."""
    old, new = _split(before), _split(after)
    sentences: list[RubricSentence] = []

    def put(sign: str, text: str, words: Sequence[tuple[str, str]] = ()) -> None:
        sentences.append(RubricSentence(len(sentences) + 1, sign, text, tuple(words)))

    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            for text in new[c:d]:
                put("=", text)
            continue
        gone = old[a:b]
        for text in new[c:d]:
            alike = max(gone, key=lambda each: _likeness(each, text), default="")
            if alike and _likeness(alike, text) >= 0.5:
                gone.remove(alike)
                put("+", text, word_diff(alike, text))
            else:
                put("+", text)
        for text in gone:
            put("-", text)
    return tuple(sentences)


def hangs_on(reason: str | None, sentences: Sequence[RubricSentence]) -> RubricSentence | None:
    """The sentence that shares most with a reason: words that few sentences of the rubric hold count most.

    None where no sentence shares `FEWEST_SHARED` words. It is a hint where to read, not a measurement.
    """
    of = [_words(each.text) for each in sentences]
    held = Counter(word for words in of for word in words)
    shared_words = _words(reason or "") & held.keys()
    weight = {word: math.log(1 + len(of) / held[word]) for word in shared_words}
    shared = [(sum(weight[word] for word in words & shared_words), at) for at, words in enumerate(of)]
    best, at = max(shared, default=(0.0, -1), key=lambda each: (each[0], -each[1]))
    return sentences[at] if best and len(of[at] & shared_words) >= FEWEST_SHARED else None


def cited_on_flips(
    flips: Sequence[Flip], sentences: Sequence[RubricSentence], runs: Sequence[Trajectory]
) -> pl.DataFrame:
    """Of each sentence that new reasons hang on: flips, cited steps, and which tools these call or answer.

    The row without a number counts flips whose reason shares no words with the rubric.
    """
    steps = {run.id: run.steps for run in runs}
    kept = [each for each in sentences if each.sign != "-"]
    rows: dict[int | None, tuple[RubricSentence | None, list[Flip]]] = {}
    for flip in flips:
        sentence = hangs_on(flip.after.rationale, kept)
        rows.setdefault(sentence.number if sentence else None, (sentence, []))[1].append(flip)
    table = []
    for number, (sentence, mine) in sorted(rows.items(), key=lambda row: (row[0] is None, -len(row[1][1]))):
        cited = [steps[each.item][at] for each in mine for at in each.after.cited if at < len(steps.get(each.item, ()))]
        tools = Counter(
            name for step in cited for name in {step.tool_name, *(call.name for call in step.tool_calls)} if name
        )
        table.append(
            {
                "sentence": number,
                "rubric": sentence.text if sentence else None,
                "new": sentence.sign == "+" if sentence else None,
                "flips": len(mine),
                "cited_steps": len(cited),
                "tools": ", ".join(f"{name} {n}" for name, n in tools.most_common(4)),
            }
        )
    kinds = {"sentence": pl.Int64, "rubric": pl.String, "new": pl.Boolean, "flips": pl.Int64, "cited_steps": pl.Int64}
    return pl.DataFrame(table, schema={**kinds, "tools": pl.String})


def beside_flips(flips: Sequence[Flip], sentences: Sequence[RubricSentence], versions: tuple[str, str]) -> str:
    """The rubric's change on the left, numbered; on the right each flip with the sentences that its reasons hang on."""
    changed = [each for each in sentences if each.sign != "="]
    left = "".join(f"<p>{each.number}. {_marked(each)}</p>" for each in changed) or "<p>The texts are the same.</p>"
    old, new = ([each for each in sentences if each.sign != sign] for sign in ("+", "-"))
    right = ""
    for flip in flips:
        right += f"<article><strong>{html.escape(flip.item)}</strong>, {html.escape(flip.judge)}"
        for version, side, text in zip(versions, (flip.before, flip.after), (old, new), strict=True):
            sentence = hangs_on(side.rationale, text)
            points = f" <em>Hangs on {sentence.number}: {_marked(sentence)}</em>" if sentence else ""
            sure = "" if side.confidence is None else f" {side.confidence:.2f}"
            line = html.escape(f"{version}: {side.verdict}{sure}. {side.rationale or ''}")
            right += f"<br>{line}{points}"
        right += "</article>"
    return f"{_STYLE}<div class=axisjudge-beside><div>{left}</div><div>{right}</div></div>"


def _marked(sentence: RubricSentence) -> str:
    """A sentence with what is gone and what is new in it."""
    tags = {"+": "ins", "-": "del"}
    parts = sentence.words or ((sentence.sign, sentence.text),)
    return "".join(
        f"<{tags[sign]}>{html.escape(text)}</{tags[sign]}>" if sign in tags else html.escape(text)
        for sign, text in parts
    )


def _split(text: str) -> list[str]:
    """Lines, and in them sentences; headings stand by themselves."""
    lines = (line.strip() for line in text.splitlines())
    return [each for line in lines if line for each in re.split(r"(?<=[.?!;])\s+(?=\S)", line)]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}


def _likeness(one: str, other: str) -> float:
    """Share of words that two sentences have in common (Jaccard)."""
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first | second else 0.0
