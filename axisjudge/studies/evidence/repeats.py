"""The same judge asked again: how far it agrees with itself, by axis and by how sure it was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.figures import theme
from axisjudge.ratings.edge import BY_JUDGE, VERDICT_ON_RUN, as_ratings
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.fairness import SelfPreference, self_preference
from axisjudge.stats.repeats import (
    MEAN_DIGITS,
    ConfidenceBand,
    SelfAgreement,
    VarianceComponents,
    flips_by_confidence,
    self_agreement,
)
from axisjudge.studies._shared import citations, frames
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import directed, in_points, listed, many
from axisjudge.verdict import VERDICTS

# The words of evidence: judges asked again, a published repeat, and judges of an agent's own family.


class NoRepeat(StrEnum):
    """Why a judge cannot be compared with itself."""

    NONE = ""
    ONE_REPEAT = "asked once, so that how far a judge agrees with itself cannot be seen"


class NoBands(StrEnum):
    """Why flips cannot be split by confidence."""

    NONE = ""
    ONE_REPEAT = "asked once, so that how far a judge agrees with itself cannot be seen"
    EQUAL_CONFIDENCES = "its confidences are too much alike to be split at their quantiles"
    NO_CONFIDENCES = "it gave no confidences"


ASKED_ONCE = f"No self-agreement of {{judges}}: {NoRepeat.ONE_REPEAT}."
BASIS = "{where}: {items} that {labels} call incorrect."
LEFT_OUT = "Left out: {runs} without an agent or an agent family."
NO_VERDICT = "No judge gave a verdict, so there is no repeat."


def with_itself_sentence(judge: str, n_repeats: int, repeats: Mapping[str, SelfAgreement]) -> str:
    """One judge's agreement with itself: the range over questions."""
    known = {name: each.agreement for name, each in repeats.items() if not math.isnan(each.agreement.estimate)}
    asked = f"{judge}, asked {many(n_repeats, 'time')},"
    if not known:
        return f"{asked} gave no run two verdicts, so that its agreement with itself is not known."
    least, most = (pick(known.items(), key=lambda each: each[1].estimate) for pick in (min, max))
    clusters = max(known.values(), key=lambda agreement: agreement.n_clusters).clusters
    if least[1].estimate == most[1].estimate:
        every = f" on each of {many(len(known), 'question')}" if len(known) > 1 else f" on {least[0]}"
        return f"{asked} repeats its verdict in {_share(least[1])} of pairs of calls{every}; {clusters}."
    return (
        f"{asked} repeats its verdict least often on {least[0]}, in {_share(least[1])} of pairs of calls, and most "
        f"often on {most[0]}, in {_share(most[1])}; {clusters}. Questions are not tested against each other."
    )


def _share(rate: Estimate) -> str:
    return f"{rate.estimate:.0%} ({rate.interval('.0%')})"


def flips_by_sureness(judge: str, unsure: tuple[int, int], sure: tuple[int, int]) -> str:
    """Flips of items in a judge's least sure and its surest band: how many of how many."""
    return (
        f"{judge} changed its verdict on {unsure[0] or 'none'} of {many(unsure[1], 'item')} where it is least sure and "
        f"on {sure[0] or 'none'} of {many(sure[1], 'item')} where it is surest."
    )


def variance(of: citations.QuestionVariance, components: VarianceComponents) -> str:
    """Where the variance of verdicts comes from."""
    n_repeats = components.n_repeats * components.n_occasions
    counted = ((components.n_items, "run"), (components.n_judges, "judge"), (n_repeats, "repeat"))
    sample = ", ".join(many(count, noun) for count, noun in counted)
    if math.isnan(components.item):
        return f"{of.question}: no variance components, because {components.reason}."
    biases = listed([f"{bias:+z.3f} ({judge})" for judge, bias in zip(of.judges, components.bias, strict=True)])
    of_tasks = not math.isnan(components.task)
    parts = {
        "lies between tasks": components.task,
        "between items of a task" if of_tasks else "lies between items": components.item,
        "between judges": components.judge,
        "in what judges differ on from item to item": components.item_judge,
        "between occasions": components.occasion,
        "in what occasions differ on from item to item": components.item_occasion,
        "between repeats": components.error,
    }
    known = {name: each for name, each in parts.items() if not math.isnan(each)}
    total = sum(known.values()) or 1.0
    shares = listed([f"{each / total:.0%} {name}" for name, each in known.items()])
    lie = "the shares that they call incorrect differ from their mean by"
    few = many(components.n_judges, "judge")
    fixed = f" With {few} the variance between judges cannot be estimated; {lie} {biases}."
    left = f"; {many(components.n_missing, 'run')} that lack a verdict left out" if components.n_missing else ""
    left += (
        f"; without {listed(of.seldom)}, which {'decides' if len(of.seldom) == 1 else 'decide'} on too few"
        if of.seldom
        else ""
    )
    by_judge = fixed if math.isnan(components.judge) else ""
    when = f" Repeats of {many(components.n_occasions, 'occasion')} do not show how far other days differ."
    days = when if math.isnan(components.occasion) else ""
    return f"{of.question}: of the variance of verdicts {shares} ({sample}{left}).{by_judge}{days}"


def published(of: PublishedRepeat) -> str:
    """What one item asked again shows, and what it does not."""
    words = ", then ".join(f"{verdict} at confidence {confidence:.2f}" for verdict, confidence in of.calls)
    least, flips = min(confidence for _, confidence in of.calls), of.with_itself.flips
    shows = "one verdict that did not change"
    if flips.estimate:
        shows = f"that this judge can change its verdict while its confidence stays at {least:.2f} or above"
    return (
        f"{of.judge} on {of.axis} of simulation {of.simulation} said {words}. It shows {shows}. It does not show "
        f"how often, nor which of the calls is right: even one item drawn at random would allow a flip "
        f"rate of {flips.interval('.1%')}, and this one was picked for publication."
    )


#: The other judges are the comparison, and one of them may prefer its own.
RELATIVE = "Figures are relative to the other judges: one family's preference moves the figures of the others."


def leniency_alone(where: str, refusal: str, labelled: bool) -> str:
    """Why there is no preference, and what the table is."""
    of = "failed items that a judge family calls correct" if labelled else "verdicts that say correct"
    table = f"The table gives the share of {of}, and no p value."
    return f"{where}: only the bare shares can be shown ({refusal}). {table}"


def preference(family: str, lead: Estimate) -> str:
    """How many more failures of its own family's agents a family of judges misses."""
    if math.isnan(lead.estimate):
        return f"{family}: no self-preference, because {lead.reason}."
    return (
        f"Of failures of {family} agents beside those of other agents, {family} judges miss "
        f"{directed(in_points(lead))} than other judges do ({'; '.join([lead.clusters, *lead.notes])})."
    )


def answer(overlap: str, again: Mapping[str, SelfAgreement]) -> str:
    """Shared evidence over all pairs, the range of self-agreement, and what neither shows."""
    known = {name: each.agreement for name, each in again.items() if not math.isnan(each.agreement.estimate)}
    last = "Neither common steps nor repeated verdicts show that a verdict is right."
    if not known:
        return f"{overlap} How far a judge agrees with itself cannot be told: none gave two verdicts on one run. {last}"
    least, most = (pick(known.values(), key=lambda agreement: agreement.estimate) for pick in (min, max))
    sample = f"{many(least.n_items, 'item')} in {least.clusters}"
    if len(known) == 1 or least.estimate == most.estimate:
        which = f"{next(iter(known))} repeats its verdict" if len(known) == 1 else "judges repeat their verdicts"
        return f"{overlap} Asked again, {which} in {least.worded('.0%')} of pairs of calls ({sample}). {last}"
    alike = len({(each.n_items, each.n_clusters) for each in known.values()}) == 1
    return (
        f"{overlap} Asked again, judges repeat their verdicts in {least.worded('.0%')} to {most.worded('.0%')} of "
        f"pairs of calls, depending on judge and question ({sample}{'' if alike else ' at the lowest'}). {last}"
    )


_FRAME = columns(
    "judge family question items=n_items repeats=n_repeats agreement~=with_itself.agreement",
    "flips~=with_itself.flips tasks=with_itself.flips.n_clusters refusal=refusal.value",
)


@dataclass(frozen=True)
class JudgeRepeats(Result):
    """One judge on one question asked several times.

    `with_itself` is None where `refusal` says why. Each of the four verdicts is a category of its own. `bands` end at
    the quantiles of the judge's own mean confidences over all questions; where they are empty `no_bands` says why.
    """

    judge: str
    family: str
    question: str
    n_items: int
    n_repeats: int
    with_itself: SelfAgreement | None
    bands: tuple[ConfidenceBand, ...]
    no_bands: NoBands
    refusal: NoRepeat


_MARKERS = "osD^vP*X"


class AskedAgain(Part, name="repeats", caption="Each judge asked again"):
    """Self-agreement and flips per judge and question, and where the variance of verdicts comes from.

    One row a judge and question.
    """

    _rows = "judges", _FRAME

    judges: tuple[JudgeRepeats, ...]
    variances: tuple[citations.QuestionVariance, ...]

    @property
    def any_again(self) -> bool:
        """Whether a judge was asked several times: without one there is nothing to show."""
        return any(each.with_itself for each in self.judges)

    @property
    def answer(self) -> str:
        """How far judges agree with themselves, and who cannot be said."""
        return " ".join(self.sentences)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Share of equal verdicts in two calls, a panel a question."""
        return plot_self_agreement(self, ax=ax) if self.any_again else super().plot(ax)

    @property
    def sentences(self) -> tuple[str, ...]:
        """How far judges agree with themselves, who cannot be said, and where the variance of verdicts comes from."""
        if not self.judges:
            return (NO_VERDICT,)
        names = dict.fromkeys(each.judge for each in self.judges)
        by_judge = [[each for each in self.judges if each.judge == name] for name in names]
        again = [mine for mine in by_judge if any(each.with_itself for each in mine)]
        once = [mine[0].judge for mine in by_judge if mine not in again]
        variances = [each for each in self.variances if each.components is not None]
        return (
            *(sentence for mine in again for sentence in _sentences(mine)),
            *([ASKED_ONCE.format(judges=listed(once))] if once else []),
            *(variance(each, each.components) for each in variances if each.components),
        )


def plot_self_agreement(report: AskedAgain, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Self-agreement of each judge that was asked again, a panel a question."""
    asked = [(each, each.with_itself.agreement) for each in report.judges if each.with_itself is not None]
    questions = list(dict.fromkeys(each.question for each, _ in asked))
    names = list(dict.fromkeys(citations.short_name(each.judge) for each, _ in asked))
    figure, axes = citations.panels_of_questions(questions, names, ax)
    for ax, question in zip(axes, questions, strict=True):
        for each, estimate in (pair for pair in asked if pair[0].question == question):
            at = names.index(citations.short_name(each.judge))
            theme.interval_mark(ax, estimate, at, marker=_MARKERS[at % len(_MARKERS)], size=5)
        citations.named_panel(ax, question)
    axes[0].set_xlabel("share of equal verdicts in two calls, with its interval over tasks", loc="left")
    axes[0].xaxis.label.set(fontsize=theme.SMALL, color=theme.QUIET)
    widest = max((estimate for _, estimate in asked), key=lambda estimate: estimate.n_clusters)
    theme.describe(figure, f"share of equal verdicts in two calls for the same run; {theme.intervals(widest)}")
    return axes[0]


def asked_again(
    ratings: frames.Given, *, n_bands: int = 3, cluster_unit: str = "task", ci_level: float = 0.95
) -> AskedAgain:
    """Does a judge agree with itself? Verdicts on whole trajectories: flips by confidence, and variance components.

    Variance components are of 0/1 verdicts: 1 incorrect, 0 correct or not applicable; runs that lack a decided verdict
    of any judge and repeat are left out and counted. Other arguments and errors as `axisjudge.studies.evidence`.

    Parameters
    ----------
    n_bands : int
        Into how many bands a judge's items are split at the quantiles of its mean confidence over repeats.
    """
    table = citations.repeated_verdicts(ratings)
    if n_bands < 2:
        raise InputError("n_bands", "must be 2 or more", n_bands)
    intervals: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    judges = tuple(
        _judge(asked, edges, intervals)
        for mine in table.sort("family", "rater").partition_by("family", "rater", maintain_order=True)
        for edges in [_edges(mine, n_bands)]
        for asked in citations.by_question(mine)
    )
    variances = tuple(citations.question_variance(asked) for asked in citations.by_question(table))
    made_up = frames.made_up_raters(as_ratings(ratings))
    return AskedAgain(judges, variances, kind=frames.kind_of(ratings), made_up=made_up)


def _edges(mine: pl.DataFrame, n_bands: int) -> list[float]:
    """0, the inner quantiles of the judge's mean confidences, 1; equal quantiles stand once."""
    means = pl.col("confidence").mean().round(MEAN_DIGITS)
    given = mine.drop_nulls("confidence").group_by("trajectory_id", "question").agg(means)
    if given.is_empty():
        return []
    inner = np.quantile(given["confidence"].to_numpy(), np.arange(1, n_bands) / n_bands)
    return sorted({0.0, *inner.round(MEAN_DIGITS).tolist(), 1.0})


class _Sample(IntervalTerms):
    clusters: list[str]


def _judge(asked: pl.DataFrame, edges: list[float], intervals: IntervalTerms) -> JudgeRepeats:
    runs = frames.first_of_each(asked, ("trajectory_id", "cluster_id"))
    repeats = asked["repeat"].unique().sort().to_list()
    with_itself: SelfAgreement | None = None
    bands: tuple[ConfidenceBand, ...] = ()
    no_bands = NoBands.ONE_REPEAT
    if len(repeats) > 1:
        codes = asked["verdict"].replace_strict(list(VERDICTS), list(range(len(VERDICTS))), return_dtype=pl.Float64)
        sides = {"trajectory_id": runs["trajectory_id"].to_list(), "repeat": repeats}
        verdicts, confidences = (frames.cube(asked, sides, values) for values in (codes, asked["confidence"]))
        sample: _Sample = {**intervals, "clusters": runs["cluster_id"].to_list()}
        with_itself = self_agreement(verdicts, **sample)
        bands, no_bands = _bands(verdicts, confidences, edges, sample)
    return JudgeRepeats(
        judge=asked["rater"][0],
        family=asked["family"][0],
        question=asked["question"][0],
        n_items=runs.height,
        n_repeats=len(repeats),
        with_itself=with_itself,
        bands=bands,
        no_bands=no_bands,
        refusal=NoRepeat.NONE if with_itself else NoRepeat.ONE_REPEAT,
    )


def _bands(
    verdicts: NDArray[np.float64], confidences: NDArray[np.float64], edges: list[float], sample: _Sample
) -> tuple[tuple[ConfidenceBand, ...], NoBands]:
    if not edges or np.isnan(confidences).all():
        return (), NoBands.NO_CONFIDENCES
    bands = flips_by_confidence(verdicts, confidences, edges=edges, **sample)
    return (tuple(bands), NoBands.NONE) if len(bands) > 1 else ((), NoBands.EQUAL_CONFIDENCES)


def _sentences(mine: list[JudgeRepeats]) -> list[str]:
    """One judge on all questions, and its flips in its least sure and its surest band."""
    judge, repeats = mine[0].judge, max(each.n_repeats for each in mine)
    again = with_itself_sentence(judge, repeats, {each.question: each.with_itself for each in mine if each.with_itself})
    bands = [band for each in mine for band in each.bands]
    if not bands:
        return [again]
    ends = (min(band.low for band in bands), max(band.low for band in bands))
    unsure, sure = (_flips([band for band in bands if band.low == end]) for end in ends)
    return [again, flips_by_sureness(judge, unsure, sure)]


def _flips(bands: list[ConfidenceBand]) -> tuple[int, int]:
    """Items on which the verdict changed, and all."""
    flips = [band.flips for band in bands]
    return round(sum(each.estimate * each.n_items for each in flips)), sum(each.n_items for each in flips)


class PublishedRepeat(Part, name="published_repeat", caption="The same call, made twice", of_ratings=False):
    """One judge's published calls with one prompt on one run and axis, in their order."""

    simulation: int
    axis: str
    judge: str
    calls: tuple[tuple[str, float], ...]
    with_itself: SelfAgreement

    @property
    def table(self) -> frames.Table:
        """One row a call."""
        names, calls = ("call", "verdict", "confidence"), enumerate(self.calls, start=1)
        return frames.table_of([dict(zip(names, (at, *call), strict=True)) for at, call in calls], self.kind)

    answer = property(published)


def published_repeat(calls: frames.Given) -> PublishedRepeat:
    """What a published repeat of one judge on one run and axis shows and does not show.

    Parameters
    ----------
    calls : table
        Columns simulation, axis, judge, call, verdict, confidence: one row a call, two or more.

    Raises
    ------
    InputError
        Fewer than two calls, a call that stands twice, or calls of several judges, runs or axes.
    """
    columns = ("simulation", "axis", "judge", "call", "verdict", "confidence")
    table = frames.to_polars(calls, columns, where="calls").sort("call")
    if table.select("simulation", "axis", "judge").n_unique() > 1:
        raise InputError("calls", "must be of one judge on one run and axis", cure="filter first")
    if table.height < 2 or table["call"].is_duplicated().any():
        raise InputError("calls", "must be two or more, each once", table["call"].to_list())
    row = table.row(0, named=True)
    words = list(dict.fromkeys(table["verdict"]))
    return PublishedRepeat(
        simulation=row["simulation"],
        axis=row["axis"],
        judge=row["judge"],
        calls=tuple(table.select("verdict", "confidence").iter_rows()),
        with_itself=self_agreement([[float(words.index(word)) for word in table["verdict"]]]),
        kind=frames.kind_of(calls),
    )


_CELLS = ("judge_family", "agent_family", "own", "says_correct", "verdicts", "agents")


class SelfPreferenceReport(
    Part, name="self_preference", caption="Share of verdicts that say correct, by family of judge and agent"
):
    """Self-preference of each judge family that has agents of its own, or the table of leniency alone.

    With `labels` (whose they are; empty without any) the table is of failed items, so that saying correct is a miss.
    `runs_left_out` have no agent or no agent family.
    """

    _keys = columns("where preference=measured.preference table=measured.table refusal labels n_failed runs_left_out")

    where: str
    measured: SelfPreference
    labels: str
    n_failed: int
    runs_left_out: int

    @property
    def refusal(self) -> str:
        """Why there is no preference, or nothing."""
        return self.measured.refusal

    @property
    def behind(self) -> dict[str, str]:
        """Decided verdicts, with labels those on failed items."""
        return {"word": "correct\nincorrect"} | ({"label": "incorrect"} if self.labels else {})

    @property
    def table(self) -> frames.Table:
        """One row for each family of judges and of agents: the share of verdicts that say correct."""
        rows = [
            (c.judge_family, c.agent_family, c.judge_family == c.agent_family, c.says_correct, c.n_verdicts, c.n_agents)
            for c in self.measured.table
            if c.n_verdicts
        ]
        return frames.table_of([dict(zip(_CELLS, row, strict=True)) for row in rows], self.kind, columns=_CELLS)

    @property
    def answer(self) -> str:
        """The preference of each family, or the refusal and what the table is."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        left_out = [LEFT_OUT.format(runs=many(self.runs_left_out, "run"))] * bool(self.runs_left_out)
        if self.refusal:
            return (leniency_alone(self.where, self.refusal, bool(self.labels)), *left_out)
        return (
            BASIS.format(where=self.where, items=many(self.n_failed, "item"), labels=self.labels),
            *(preference(family, each) for family, each in self.measured.preference.items()),
            *([RELATIVE] if len(self.measured.preference) > 1 else []),
            *left_out,
        )


def self_preference_report(
    ratings: frames.Given, agent_families: frames.Given, *, repeat: int = 0, ci_level: float = 0.95
) -> SelfPreferenceReport:
    """Self-preference of judge families on whole trajectories.

    The estimand is the difference in miss rate P(says correct | labelled incorrect), agents of the own family minus
    others, against the same difference of all other judges. It is refused without labels, with fewer than 3 judge
    families or with fewer than 2 agents a family: then there are the bare shares alone.

    Parameters
    ----------
    ratings : table
        A ratings table with the agent of each run and one rating for each run, question and rater.
    agent_families : mapping or table
        ``{trajectory_id: agent_family}``, or a table with these two columns. Runs without a family are left out.

    Raises
    ------
    InputError
        No run has an agent and a family, an agent has two families, or no judge rates these runs.
    """
    table = as_ratings(ratings).filter(VERDICT_ON_RUN)
    agents = _agents(table)
    families = frames.per_run(agent_families, "agent_family", where="agent_families")
    families = {run: families[run] for run in agents if families.get(run) is not None}
    _check_families(agents, families)
    known = table.filter(pl.col("trajectory_id").is_in(list(families)))
    judged = known.filter(BY_JUDGE)
    if judged.is_empty():
        raise InputError("ratings", "must hold verdicts of judges on the runs with an agent family")
    panel = pooled(known, frames.questions_in_order(judged["question"]), repeat=repeat)
    runs = dict(known.select("item_id", "trajectory_id").iter_rows())
    failed = _incorrect(panel, panel.label)
    labelled = bool((~np.isnan(failed)).any())
    measured = self_preference(
        1 - _incorrect(panel, panel.codes[:, : panel.n_judges]),
        panel.families[: panel.n_judges],
        [agents[runs[item]] for item in panel.items],
        [families[runs[item]] for item in panel.items],
        failed=failed if labelled else None,
        tasks=panel.clusters,
        ci_level=ci_level,
    )
    return SelfPreferenceReport(
        where=panel.where,
        measured=measured,
        labels=("the planted labels" if panel.planted else "people") if labelled else "",
        n_failed=int((failed == 1).sum()),
        runs_left_out=table["trajectory_id"].n_unique() - known["trajectory_id"].n_unique(),
        kind=frames.kind_of(ratings),
        made_up=frames.made_up_raters(known),
    )


def _agents(table: pl.DataFrame) -> dict[str, str]:
    named = table.drop_nulls("agent").select("trajectory_id", "agent").unique().sort("trajectory_id")
    if not (twice := named.filter(pl.col("trajectory_id").is_duplicated())).is_empty():
        raise InputError("ratings", "a run has one agent", twice["trajectory_id"][0])
    return dict(named.iter_rows())


def _check_families(agents: dict[str, str], families: dict[str, str]) -> None:
    if not families:
        rule = "must name the family of a run's agent"
        raise InputError("agent_families", rule, cure="the ratings need agents, and both the same trajectory_id")
    by_agent: dict[str, str] = {}
    for run, family in families.items():
        if by_agent.setdefault(agents[run], family) != family:
            raise InputError("agent_families", "an agent has one family", agents[run])


def _incorrect(panel: Pooled, codes: frames.Floats) -> frames.Floats:
    """1 for incorrect, 0 for correct, NaN for any other word or none."""
    incorrect, correct = (panel.categories.index(word) for word in ("incorrect", "correct"))
    return np.where(codes == incorrect, 1.0, np.where(codes == correct, 0.0, np.nan))
