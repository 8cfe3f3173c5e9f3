"""May a new judge take the old one's place? (notebook 10)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle, enough_for
from axisjudge.figures import theme
from axisjudge.labels.panel import BY_PEOPLE, labelled_panel
from axisjudge.ratings.edge import as_ratings
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement
from axisjudge.stats.comparisons.equivalence import MARGIN, Equivalence
from axisjudge.stats.correction import Sampling
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Given, Table, kind_of, made_up_raters, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import by_text, directed, in_points, listed, many, p_words
from axisjudge.studies.succession.bridge import (
    Bridge,
    BridgeTerms,
    Drift,
    bridge_judges,
    drift_rows,
    verdicts_of,
    watch_drift,
)

# What may be said of a succession: who may take whose place, what became of old rates, and whether to stop.


def anchor_tasks(of: Equivalence) -> int | None:
    """Tasks at which the interval of the observed shift would lie within the margin; None where the shift does not.

    The half width shrinks with the root of the number of tasks.
    """
    shift, room = of.shift, of.margin - abs(of.shift.estimate)
    if not room > 0 or math.isnan(shift.ci_high):
        return None
    half = max(shift.ci_high - shift.estimate, shift.estimate - shift.ci_low)
    return max(shift.n_clusters, math.ceil(shift.n_clusters * (half / room) ** 2))


def verdict(bridge: Bridge) -> str:
    """On which questions the new judge may take the old one's place."""
    questions = [each.question for each in bridge.bridges if each.equivalence.equivalent]
    asked, margin = len(bridge.bridges), bridge.bridges[0].equivalence.margin
    if not questions:
        where = f"not shown on {bridge.bridges[0].question}" if asked == 1 else f"shown on none of {asked} questions"
        within = f"that failure rate and agreement stay within {100 * margin:.3g} points is {where}"
        return f"{bridge.new} may not take the place of {bridge.old} yet: {within}."
    return (
        f"{bridge.new} may take the place of {bridge.old} on {listed(questions)}, {len(questions)} of "
        f"{many(asked, 'question')}: failure rate and agreement stay within {100 * margin:.3g} points."
    )


def largest_shift(bridge: Bridge) -> str:
    """The largest observed shift of a failure rate; questions are not tested against each other."""
    known = [each for each in bridge.bridges if not math.isnan(each.equivalence.shift.estimate)]
    if not known:
        return "No shift of a failure rate can be told: on no anchor did both decide."
    most = max(known, key=lambda each: abs(each.equivalence.shift.estimate))
    shift = most.equivalence.shift
    if not shift.estimate:
        return f"No shift of a failure rate was observed on {many(shift.n_items, 'item')} of {shift.clusters}."
    start = (
        "The failure rate" if len(known) == 1 else f"The largest observed shift is on {most.question}: its failure rate"
    )
    moved = directed(in_points(shift), "higher", "lower", spec=".1f")
    if not math.isnan(shift.ci_low):
        moved = moved.replace(" (", f" ({shift.ci_level:.0%} interval ", 1)
    by = f"by {many(shift.n_items, 'verdict')} of each judge on {shift.clusters}"
    return f"{start} is {moved} with the new judge, {by}."


def doubts(bridge: Bridge) -> list[str]:
    """Where equivalence is not shown, and why."""
    return by_text(
        (each.question, f"not shown, because {'; '.join(each.equivalence.reasons)}.")
        for each in bridge.bridges
        if not each.equivalence.equivalent
    )


def widened(bridge: Bridge) -> list[str]:
    """How many old rates can be re-stated, and how much wider their intervals become; nothing where none can."""
    wider = [each.extra_doubt for each in bridge.restated if not math.isnan(each.extra_doubt)]
    if not wider:
        return []
    wide = "its interval is" if len(wider) == 1 else "their intervals are"
    return [
        f"{len(wider)} of {many(len(bridge.restated), 'old rate')} can be re-stated; {wide} "
        f"{np.median(wider):.1f} times as wide{'' if len(wider) == 1 else ' (median)'}."
    ]


def not_restated(bridge: Bridge) -> list[str]:
    """Why rates are not re-stated, each reason once."""
    refusals = sorted({each.rate.refusal for each in bridge.restated if each.rate.refusal})
    return [f"Not re-stated: {refusal}." for refusal in refusals]


def drift_sentence(drift: Drift) -> str:
    """Whether to stop, since when and why."""
    looked = f"{drift.judge} judged {many(drift.n_items, 'anchor item')} on {many(len(drift.seen), 'occasion')}"
    if drift.stopped_at is None:
        rule = f"no change reaches the stop rule (level {drift.level:.2f} over all occasions)"
        unseen = "A shift smaller than the intervals in the table may have gone unseen."
        return " ".join([f"{looked}; {rule}.", unseen, *_evidence(drift), *_blind(drift)])
    return " ".join([_stop(drift, drift.stopped_at), f"{looked}.", *_evidence(drift), *_blind(drift)])


def _evidence(drift: Drift) -> list[str]:
    """What all occasions together say of drift, however often one looks."""
    if drift.evidence is None:
        return []
    shown = "shown" if drift.evidence.stopped_at else "not shown"
    reached = f"is {drift.evidence.e_values.max():,.2f} at most, where {1 / drift.level:.0f} is asked for"
    value = "the evidence of drift (an e-value, which may be looked at after every occasion)"
    return [f"Over all occasions together drift is {shown}: {value} {reached}."]


def drift_in_short(drift: Drift) -> str:
    """Whether the old judge has drifted, in one sentence."""
    looked = many(len(drift.seen), "occasion")
    if drift.stopped_at is None:
        rest = "yet all occasions together show drift" if _drifts_together(drift) else "small ones may be there"
        return f"Over {looked} no change of {drift.judge} is found; {rest}."
    return (
        f"By the stop rule {drift.judge} itself has changed, on occasion {drift.stopped_at} of "
        f"{len(drift.seen)}: treat its ratings from then on as those of another judge."
    )


def _drifts_together(drift: Drift) -> bool:
    return drift.evidence is not None and drift.evidence.stopped_at is not None


def _stop(drift: Drift, at: int) -> str:
    models = {seen.number: ", ".join(seen.returned_models) for seen in drift.seen}
    why = []
    if at in drift.model_changed:
        why.append(f"{models[at]} answered, before it {next(filter(None, models.values()))}")
    why += [
        f"the failure rate was {directed(in_points(each.change.change), 'higher', 'lower', spec='.1f')} than on the "
        f"first ({p_words(each.change.p_value)}; the rule asks for {each.allowed:.2f}, "
        f"and for evidence of {1 / drift.level:.0f})"
        for each in drift.occasions
        if each.number == at and each.stop
    ]
    return f"Stop: on occasion {at} {' and '.join(why)}. Treat its ratings from then on as those of another judge."


def _blind(drift: Drift) -> list[str]:
    """Occasions on which the verdicts could not have said stop."""
    silent = [str(each.number) for each in drift.occasions if not each.change.change.n_items]
    blind = [each for each in drift.occasions if each.change.change.n_items and not each.in_reach]
    stated = [f"Nothing can be compared with the first on occasion {listed(silent)}."] if silent else []
    if blind:
        numbers, tasks = listed([str(each.number) for each in blind]), blind[0].change.change.clusters
        stated.append(f"On occasion {numbers}, with {tasks}, no verdicts could have said stop: begin a new series.")
    if any(each.noise == "not_measured" for each in drift.occasions):
        stated.append(
            "The noise of occasions was not measured up to the fourth (repeats of one share its day), "
            "so that no shift of verdicts says stop before the fifth."
        )
    return stated


_NO = "#A34700"


def _signed(share: float, _: object) -> str:
    return f"{100 * share:+.3g}%" if share else "0"


@dataclass(frozen=True)
class BesideLabels(Result):
    """One judge on one question: accuracy and the scale's kappa with the commonest label, on `n_items` labelled items.

    Items whose labels tie have no commonest one and are left out.
    """

    question: str
    judge: str
    accuracy: Estimate
    kappa: Agreement


#: Columns of the tables, and where their figures stand.
_LABELS = columns("question judge n=accuracy.n_items accuracy~ coefficient=kappa.label value~=kappa")
_BRIDGE = columns(
    "question anchors=n_anchors tasks=equivalence.agreement.n_clusters decided=equivalence.shift.n_items",
    "shift~=equivalence.shift agreement=equivalence.agreement.estimate",
    "at_least=equivalence.agreement.ci_low old_with_itself~=equivalence.self_agreement",
    "kappa~ to_incorrect to_correct shown",
)
_RESTATED = columns(
    "agent question runs=before.n_items anchors=n_anchors old_judge=before.estimate old_low=before.ci_low",
    "old_high=before.ci_high restated~=rate.rate wider=extra_doubt",
)


class AgainstLabels(Part, name="labels", caption="Each judge against the labels", behind={"only": "labelled"}):
    """Both judges on every question that people labelled."""

    _rows = "judges", _LABELS

    judges: tuple[BesideLabels, ...]

    @property
    def answer(self) -> str:
        """How often each judge is right, question by question."""
        return " ".join(
            f"{each.judge} on {each.question}: right on {each.accuracy.worded('.0%')} of "
            f"{many(each.accuracy.n_items, 'labelled item')} where it takes a side."
            for each in self.judges
        )


def against_labels(
    ratings: Given,
    labels: Given,
    old: str,
    new: str,
    *,
    steps: bool = False,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> AgainstLabels:
    """Accuracy and kappa of the old and the new judge's first ratings against people's labels, as `people` has them.

    Parameters
    ----------
    ratings, labels : table
        Ratings tables; of `labels` people, simulated ones too, references and planted truth count.
    old, new : str
        The judges' names.
    steps : bool
        Ratings of steps instead of whole trajectories.

    Raises
    ------
    InputError
        No label is of an item that one of the judges rated.
    """
    judged = _verdicts(ratings, steps).filter(pl.col("rater").is_in([old, new]))
    first = judged.filter(pl.col("repeat") == pl.col("repeat").min().over("rater")).with_columns(repeat=pl.lit(0))
    people = _verdicts(labels, steps).filter(BY_PEOPLE, pl.col("verdict").is_not_null()).with_columns(repeat=pl.lit(0))
    labelled = first.join(people, on=["item_id", "question"], how="semi")
    if labelled.is_empty():
        raise TooLittle("labels", f"must be of items that {old} or {new} rated")
    rows: list[BesideLabels] = []
    for question in labelled["question"].unique(maintain_order=True):
        panel = labelled_panel(labelled, people, question, sampling=None, cluster_unit=cluster_unit)
        for judge in (name for name in (old, new) if name in panel.judges):
            at = panel.judges.index(judge)
            how: dict[str, Any] = {"asked": panel.asked[:, at], "ci_level": ci_level}
            against = panel.against(panel.judged[:, at], panel.reference, **how)
            if against.accuracy.given.n_items:
                rows.append(BesideLabels(question, judge, against.accuracy.given, against.coefficients["kappa"]))
    return AgainstLabels(tuple(rows), kind=kind_of(ratings))


def _verdicts(ratings: Given, steps: bool) -> pl.DataFrame:
    """The verdicts that count in a failure rate, with kinds and families of raters."""
    kept = verdicts_of(ratings, steps=steps).select("item_id", "question", "scale").unique()
    return as_ratings(ratings).join(kept, on=["item_id", "question", "scale"], how="semi")


class JudgeBridge(Part, name="bridge", caption="Old judge against new judge on the anchor set"):
    """Whether the new judge is equivalent to the old one, question by question: shift, and agreement."""

    _rows = "bridge.bridges", _BRIDGE
    _flat = ("bridge",)

    bridge: Bridge

    @property
    def behind(self) -> Mapping[str, str]:
        """What both judges say."""
        return {"judge": self.bridge.old, "beside": self.bridge.new}

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and why not on others."""
        return " ".join([verdict(self.bridge), *doubts(self.bridge), *widened(self.bridge)])

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Both conditions per question: the shift within its margin, and agreement against what the old judge reaches.

        On axes that are given the left half is the shift, the right half the agreement.
        """
        rows = self.bridge.bridges
        ax = theme.new_axes(8.2, 0.42 * len(rows) + 1.7) if ax is None else ax
        left, right = theme.side_by_side(ax, 2)
        terms = rows[0].equivalence
        left.axvspan(-terms.margin, terms.margin, color="#e8eef3", linewidth=0)
        left.axvline(0, color=theme.FAINT, linewidth=1)
        for at, row in enumerate(rows):
            both = row.equivalence
            theme.interval_mark(left, both.shift, at, colour=theme.ACCENT if row.shift_within else _NO)
            theme.interval_mark(right, both.agreement, at, colour=theme.ACCENT if row.agreement_enough else _NO)
            right.plot([row.least_agreement] * 2, [at - 0.28, at + 0.28], color=theme.INK, linewidth=1.6)
        theme.named_rows(left, [theme.in_words(row.question) for row in rows])
        left.locator_params(axis="x", nbins=5)
        left.xaxis.set_major_formatter(_signed)
        right.xaxis.set_major_formatter(lambda share, _: "" if share > 1 else theme.percent_tick(share))
        level = f"{1 - 2 * terms.level:.0%} intervals"
        theme.dress(right, "Agreement of the two judges", "upright mark: what the whole bar has to pass")
        marks = "In the second panel bars have to pass the mark: the old judge's agreement with itself less the margin"
        how = f"in the first panel the band is the margin. {marks}. Bars are {level} over {terms.shift.clusters}"
        allowed = f"band: {100 * terms.margin:.3g} points allowed; orange: open; {level}"
        return theme.dress(left, "Shift of the failure rate", allowed, how=how)


def judge_bridge(
    ratings: Given,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> JudgeBridge:
    """Bridge an old judge to a new one on the runs that both rated.

    Works from stored ratings; neither judge is called. The anchor set are the runs that the new judge rated; the old
    results all runs that the old judge rated, in its first repeat. Its further repeats give its agreement with itself.

    Parameters
    ----------
    ratings : table
        A ratings table with both judges, one rating for each item, question, judge and repeat.
    old, new : str
        The raters' names.
    questions : sequence of str, optional
        By default all that both rated.
    steps : bool
        Ratings of steps instead of whole trajectories.
    drawn : str
        How the anchors were drawn from the old judge's runs: ``random``, ``by_judge_verdict`` or ``unknown``. Only a
        random draw shows equivalence, for only there is the anchors' shift that of all runs; after an unknown one old
        rates are not re-stated.
    margin, level : float
        Of the two conditions (`axisjudge.stats.comparisons.equivalence`).
    cluster_unit : str
        What a cluster is.
    ci_level : float
        Of kappa and of rates.

    Raises
    ------
    InputError
        One of the judges is not in the table, they share no item or question asked for, an item has two ratings of one
        judge and repeat, or a question was judged under several rubric versions.
    """
    terms, table = BridgeTerms(margin, level, cluster_unit, ci_level), as_ratings(ratings)
    bridge = bridge_judges(table, old, new, questions=questions, steps=steps, drawn=drawn, terms=terms)
    made_up = made_up_raters(table.filter(pl.col("rater").is_in([old, new])))
    return JudgeBridge(bridge, kind=kind_of(ratings), made_up=made_up)


class RestatedRates(
    Part, name="restated", caption="Failure rates by the old judge, and as the new one would give them"
):
    """Failure rates by the old judge, and as the new one would give them."""

    _rows = "bridge.restated", _RESTATED
    _keys: ClassVar = {"restated": "bridge.restated"}

    bridge: Bridge

    @property
    def behind(self) -> Mapping[str, str]:
        """The old judge's verdicts that take a side."""
        return {"judge": self.bridge.old, "word": "correct\nincorrect", "repeat": "0"}

    @property
    def answer(self) -> str:
        """Which rates are not re-stated, and why."""
        return " ".join([*widened(self.bridge), *not_restated(self.bridge)])


def restated_rates(bridge: JudgeBridge) -> RestatedRates:
    """What becomes of old failure rates, agent by agent, with the doubt of both judges in their intervals."""
    return RestatedRates(bridge.bridge, kind=bridge.kind, made_up=bridge.made_up)


class DriftOfJudge(
    Part, name="drift", caption="Occasion by occasion against the first", formats={"p": ".4f", "stops_at_p": ".4f"}
):
    """A judge that stays, occasion by occasion on its own anchor set; None where too few were given, and `why`."""

    _flat = ("drift",)

    drift: Drift | None
    why: str = ""

    @property
    def table(self) -> Table:
        """One row an occasion: when, by which model, and the change from the first."""
        rows = drift_rows(self.drift) if self.drift else []
        named = [{head.replace(" ", "_"): cell for head, cell in row.items()} for row in rows]
        return table_of(named, self.kind, columns=["occasion"])

    @property
    def behind(self) -> Sequence[Mapping[str, str]]:
        """The items of each occasion."""
        return self.drift.behind if self.drift else ()

    @property
    def answer(self) -> str:
        """Whether the judge has drifted, or why that is not known; empty where it was not watched."""
        return drift_sentence(self.drift) if self.drift else self.why

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The change of the failure rate from the first occasion, with its interval; a cross says stop."""
        if self.drift is None:
            return super().plot(ax)
        drift, changes = self.drift, [each.change.change for each in self.drift.occasions]
        ax = theme.new_axes(6.4, 3.0) if ax is None else ax
        ax.axhline(0, color=theme.FAINT, linewidth=1)
        ax.plot(1, 0, "o", color=theme.QUIET, markersize=6)
        for each, change in zip(drift.occasions, changes, strict=True):
            stop = each.stop or each.number in drift.model_changed
            colour, marker = (_NO, "X") if stop else (theme.ACCENT, "o")
            theme.interval_mark(ax, change, each.number, colour=colour, marker=marker, upright=True)
        ax.set_xticks([seen.number for seen in drift.seen])
        ax.yaxis.set_major_formatter(_signed)
        ax.set_xlim(0.5, len(drift.seen) + 0.5)
        note = f"{drift.n_items:,} anchor items; a cross says stop"
        how = f"{note}; {theme.intervals(changes[0])}" if changes else note
        return theme.dress(ax, "Change of the failure rate since the first occasion", note, how=how, x="occasion")


def drift_of_judge(
    anchors: Given | None,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> DriftOfJudge:
    """Watch a judge for drift on its own anchor set, a repeat an occasion; arguments as `drift.watch_drift`."""
    if anchors is None:
        return DriftOfJudge(None, kind="polars")
    terms: dict[str, Any] = {"steps": steps, "level": level, "cluster_unit": cluster_unit, "ci_level": ci_level}
    drift, why = enough_for(lambda: watch_drift(anchors, judge, **terms))
    table = as_ratings(anchors).filter(pl.col("rater") == judge)
    return DriftOfJudge(drift, why, kind=kind_of(anchors), made_up=made_up_raters(table))


class Succession(Study):
    """The bridge from an old judge to a new one, old rates re-stated, and the old one's drift."""

    bridge: JudgeBridge
    restated: RestatedRates
    drift: DriftOfJudge

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and what shifts most."""
        return answer_of(self.bridge, self.drift)


def answer_of(bridged: JudgeBridge, watched: DriftOfJudge) -> str:
    """Whether the new judge may take the old one's place, the largest observed shift, and whether to stop."""
    drift = watched.drift
    last = f" {drift_in_short(drift)}" if drift is not None and (drift.stopped_at or _drifts_together(drift)) else ""
    return f"{verdict(bridged.bridge)} {largest_shift(bridged.bridge)}{last}"


def next_step(bridged: JudgeBridge) -> str:
    """Where the new judge may be used, and how many more anchors may show the rest."""
    bridge = bridged.bridge
    equal = [each.question for each in bridge.bridges if each.equivalence.equivalent]
    rest = [each.equivalence for each in bridge.bridges if not each.equivalence.equivalent]
    use = f"Use {bridge.new} on {listed(equal)}. " if equal else ""
    keep = f"Keep {bridge.old} {'on the others' if equal else 'meanwhile'}"
    sizes = [size for each in rest if (size := anchor_tasks(each))]
    if not rest:
        return f"{use}Re-state old rates before they stand beside new ones."
    if any(each.self_agreement is None for each in rest):
        return f"{use}{keep}, and ask it about the anchors again: how far it agrees with itself is not known."
    if not sizes and any(math.isnan(each.shift.ci_high) for each in rest):
        return f"{use}{keep}, and judge more anchors by both: so few have no interval."
    if not sizes:
        return f"{use}{keep}: as observed, no number of anchors would show them to be alike."
    return (
        f"{use}{keep}. If the shifts are as observed, runs of about {max(sizes):,} tasks, judged by both, would show "
        f"that the failure rate holds on {len(sizes)} of {many(len(rest), 'open question')}; agreement may take more."
    )


def succession(
    ratings: Given,
    old: str,
    new: str,
    *,
    anchors: Given | None = None,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Succession:
    """May a new judge take the old one's place, and what becomes of the old results?

    Parameters
    ----------
    ratings, old, new, questions, steps, drawn, margin, level, cluster_unit, ci_level
        As `judge_bridge` takes them; `level` is also that of the stop rule.
    anchors : table, optional
        The old judge's ratings of its own anchor set, a repeat an occasion: it is watched for drift.

    Raises
    ------
    InputError
        As `judge_bridge`, and where `anchors` hold one occasion only.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> judges = ["simulated:heron", "simulated:plover"]
    >>> ratings = axisjudge.judge(runs, judges, ["sequencing"], progress=False)
    >>> axisjudge.studies.succession(ratings, *judges).bridge.table["shown"].to_list()
    ['not shown']
    """
    terms: dict[str, Any] = {"steps": steps, "level": level, "cluster_unit": cluster_unit, "ci_level": ci_level}
    bridge = judge_bridge(ratings, old, new, questions=questions, drawn=drawn, margin=margin, **terms)
    return Succession(bridge=bridge, restated=restated_rates(bridge), drift=drift_of_judge(anchors, old, **terms))


open_door(succession)
