"""A retiring judge bridged to its successor on an anchor set, question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.ratings.edge import WHOLE_RUN, as_ratings, once
from axisjudge.ratings.scales import level_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, cohen_kappa
from axisjudge.stats.betting import SequenceEvidence, evidence_of_runs
from axisjudge.stats.comparisons.equivalence import MARGIN, Equivalence, Occasion, drift, equivalence
from axisjudge.stats.correction import CorrectedRate, Sampling, corrected_rate
from axisjudge.stats.estimate import FAILED, Estimate
from axisjudge.stats.proportions import clustered_proportion, jeffreys_interval
from axisjudge.stats.repeats import self_agreement
from axisjudge.studies._shared.frames import Floats, Given, questions_in_order, rows_of
from axisjudge.studies._shared.words import listed, many
from axisjudge.verdict import VERDICTS

#: Scales that know failure.
SCALES = ("verdict", "step")


def verdicts_of(ratings: Given, *, steps: bool = False) -> pl.DataFrame:
    """Verdicts on whole trajectories, or on steps, with what each counts as in a failure rate (`failed`).

    Raises
    ------
    InputError
        There are none, but others: of steps instead of trajectories (or the reverse), or on scales without failure.
    """
    table = as_ratings(ratings)
    of_step, known = pl.col("step_index").is_not_null(), pl.col("scale").is_in(SCALES)
    chosen = table.filter(known & (of_step if steps else WHOLE_RUN))
    if chosen.is_empty() and not table.is_empty():
        rule = f"must hold ratings of {'steps' if steps else 'whole trajectories'} on a scale with failure"
        kinds = {"steps": table.filter(of_step).height, "whole trajectories": table.filter(~of_step).height}
        there = " and ".join(f"{many(count, 'rating')} of {of}" for of, count in kinds.items() if count)
        if table.filter(known).is_empty():
            scales = f"scales with failure are {', '.join(SCALES)}"
            raise InputError("ratings", rule, f"{there}, on other scales", scales)
        raise InputError("ratings", rule, there, "leave out steps" if steps else "say steps=true for ratings of steps")
    failed = pl.col("verdict").replace_strict(FAILED, default=None, return_dtype=pl.Float64)
    return chosen.with_columns(failed=failed)


def of_rater(table: pl.DataFrame, rater: str) -> pl.DataFrame:
    """One rater's ratings, one for each item, question and repeat."""
    mine = table.filter(pl.col("rater") == rater).sort("item_id", "question", "repeat")
    if mine.is_empty():
        there = listed(table["rater"].unique().sort().to_list() or ["no rater"])
        raise InputError("ratings", f"must hold ratings by {rater}", f"ratings by {there}")
    rule = f"one rating for each item, question and repeat of {rater}"
    return once(mine, "item_id", "question", "repeat", rule=rule, cure="keep those of one prompt_sha256 each")


def check_rubrics(table: pl.DataFrame) -> None:
    """Refuse judges that were shown different rubrics for a question: what changed could be the rubric."""
    shown = table.drop_nulls("rubric_sha256").group_by("question")
    texts_of = shown.agg(pl.col("rubric_version", "rubric_sha256").unique()).sort("question")
    for question, versions, hashes in texts_of.iter_rows():
        if len(hashes) > 1:
            texts = f"{len(hashes)} texts of {listed(sorted(map(str, versions)))}"
            raise InputError("ratings", f"need one rubric for {question}", texts, "keep those of one rubric_sha256")


def floats(column: pl.Series) -> Floats:
    """A column of numbers, NaN where there is none."""
    values: Floats = column.cast(pl.Float64).fill_null(math.nan).to_numpy()
    return np.asarray(values)


#: How anchors may be drawn: by a key or a human label they are not.
DRAWN: tuple[Sampling, ...] = ("random", "by_judge_verdict", "unknown")

_CODES = {word: float(code) for code, word in enumerate(VERDICTS)} | {"-1": -1.0, "0": 0.0, "+1": 1.0}


#: Why two judges that pass both conditions on the anchors still are not shown to be equivalent.
NOT_RANDOM = "the anchors were not drawn at random, so that they do not stand for all runs"


@dataclass(frozen=True)
class BridgeTerms:
    """What is asked of a successor, and what intervals take as independent."""

    margin: float = MARGIN
    level: float = 0.05
    cluster_unit: str = "task"
    ci_level: float = 0.95


@dataclass(frozen=True)
class QuestionBridge(Result):
    """One question on the anchor set: the two conditions, kappa beside them, and the verdicts that changed.

    `to_incorrect` counts items that the old judge called correct (or not applicable) and the new incorrect,
    `to_correct` the other way, `one_sided` items on which only one of them decided.
    """

    _keys = columns("found=equivalence question n_anchors kappa to_incorrect to_correct one_sided")

    question: str
    n_anchors: int
    equivalence: Equivalence
    kappa: Agreement
    to_incorrect: int
    to_correct: int
    one_sided: int

    @property
    def shift_within(self) -> bool:
        """The whole interval of the shift lies within the margin."""
        shift, margin = self.equivalence.shift, self.equivalence.margin
        return -margin < shift.ci_low and shift.ci_high < margin

    @property
    def least_agreement(self) -> float:
        """What agreement must reach: the old judge's with itself, minus the margin; NaN where it was asked once."""
        own = self.equivalence.self_agreement
        return math.nan if own is None else own.estimate - self.equivalence.margin

    @property
    def agreement_enough(self) -> bool:
        """The lower bound of agreement reaches that."""
        return self.equivalence.agreement.ci_low >= self.least_agreement

    @property
    def shown(self) -> str:
        """Whether equivalence is shown, for a cell."""
        return "equivalent" if self.equivalence.equivalent else "not shown"


@dataclass(frozen=True)
class Restated(Result):
    """One agent's failure rate on one question as the old judge gave it, and as the new one would.

    The old interval is a Beta(1/2) posterior, the re-stated one that of `stats.correction`, which is a little
    wider than need be at few anchors. Runs on which the old judge took no side are not in its own rate, but are
    re-stated; anchors on which the new one took none count as not rated by it.
    `agent` is None for the runs that name none.
    """

    agent: str | None
    question: str
    n_anchors: int
    before: Estimate
    rate: CorrectedRate

    @property
    def extra_doubt(self) -> float:
        """Width of the re-stated interval over that of the old one."""
        new = self.rate.rate
        return (new.ci_high - new.ci_low) / (self.before.ci_high - self.before.ci_low)


@dataclass(frozen=True)
class Bridge(Result):
    """The bridge from one judge to another, per question, and old results re-stated, per agent and question."""

    old: str
    new: str
    bridges: tuple[QuestionBridge, ...]
    restated: tuple[Restated, ...]


def bridge_judges(
    ratings: Given,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    terms: BridgeTerms | None = None,
) -> Bridge:
    """Bridge an old judge to a new one; see `axisjudge.studies.succession` for arguments and errors."""
    one_of("drawn", drawn, DRAWN)
    if old == new:
        raise InputError("new", "must be another judge than the old one", new)
    table, terms = verdicts_of(ratings, steps=steps), terms or BridgeTerms()
    before, after = (of_rater(table, rater) for rater in (old, new))
    check_rubrics(pl.concat([before, after]))
    shared = set(before["question"]) & set(after["question"])
    for question in questions or ():
        one_of("questions", question, sorted(shared))
    bridges, restated = [], []
    for question in questions or questions_in_order(shared):
        mine = before.filter(pl.col("question") == question)
        both = _joined(mine, after.filter(pl.col("question") == question))
        doubts = () if drawn == "random" else (NOT_RANDOM,)
        bridges.append(_bridge(question, mine, both.filter("asked"), terms, doubts))
        restated += restated_rates(question, both, drawn, cluster_unit=terms.cluster_unit, ci_level=terms.ci_level)
    if not any(bridge.n_anchors for bridge in bridges):
        raise TooLittle("ratings", f"must hold items that both {old} and {new} rated", cure="judge an anchor set")
    return Bridge(old, new, tuple(bridges), tuple(restated))


def _joined(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """All items of the old judge's first repeat, with the new judge's first word where it gave one."""
    first = before.filter(pl.col("repeat") == before["repeat"].min())
    new = after.filter(pl.col("repeat") == after["repeat"].min()).select(
        "item_id", pl.col("verdict").alias("verdict_new"), pl.col("failed").alias("failed_new"), asked=pl.lit(True)
    )
    return first.join(new, on="item_id", how="left").sort("item_id").with_columns(pl.col("asked").fill_null(False))


def _bridge(
    question: str, mine: pl.DataFrame, anchors: pl.DataFrame, terms: BridgeTerms, doubts: tuple[str, ...]
) -> QuestionBridge:
    old, new = (floats(anchors[name]) for name in ("failed", "failed_new"))
    same = anchors["verdict"] == anchors["verdict_new"]
    groups: dict[str, Any] = {"clusters": anchors["cluster_id"].to_numpy(), "cluster_unit": terms.cluster_unit}
    how: dict[str, Any] = {"margin": terms.margin, "level": terms.level, **groups}
    both = equivalence(old, new, floats(same), self_agreement=_own_agreement(mine, terms), **how)
    scale = mine["scale"][0]
    return QuestionBridge(
        question=question,
        n_anchors=anchors.height,
        equivalence=replace(both, reasons=(*both.reasons, *doubts)),
        kappa=cohen_kappa(
            np.column_stack([_codes(anchors[name]) for name in ("verdict", "verdict_new")]),
            weights="quadratic" if level_of(scale) == "ordinal" else "unweighted",
            categories=range(len(VERDICTS)) if scale == "verdict" else (-1, 0, 1),
            ci_level=terms.ci_level,
            **groups,
        ),
        to_incorrect=int(((old == 0) & (new == 1)).sum()),
        to_correct=int(((old == 1) & (new == 0)).sum()),
        one_sided=int((np.isnan(old) != np.isnan(new)).sum()),
    )


def _own_agreement(mine: pl.DataFrame, terms: BridgeTerms) -> Estimate | None:
    """The old judge's agreement with itself, over all items that it was asked about more than once."""
    if mine["repeat"].n_unique() < 2:
        return None
    wide = mine.pivot("repeat", index=["item_id", "cluster_id"], values="verdict").sort("item_id")
    repeats = np.column_stack([_codes(column) for column in wide.drop("item_id", "cluster_id")])
    level, clusters = 1 - 2 * terms.level, wide["cluster_id"].to_numpy()
    return self_agreement(repeats, clusters=clusters, cluster_unit=terms.cluster_unit, ci_level=level).agreement


def _codes(words: pl.Series) -> Floats:
    return floats(words.replace_strict(_CODES, default=None, return_dtype=pl.Float64))


def restated_rates(
    question: str, both: pl.DataFrame, drawn: Sampling, *, cluster_unit: str, ci_level: float
) -> list[Restated]:
    """One agent after the other; `both` has the old judge's `failed` and the new one's `failed_new` for each item."""
    rates = []
    for agent in both["agent"].unique().sort(nulls_last=True):
        runs = both.filter(pl.col("agent").eq_missing(agent))
        old, new, clusters = floats(runs["failed"]), floats(runs["failed_new"]), runs["cluster_id"].to_numpy()
        how: dict[str, Any] = {"clusters": clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
        before, rate = clustered_proportion(old, **how), corrected_rate(old, new, sampling=drawn, **how)
        if before.n_items and before.n_clusters >= before.n_items:  # of independent runs the posterior, as of clusters
            n_failed = round(before.estimate * before.n_items)
            low, high = jeffreys_interval(n_failed, before.n_items, ci_level=ci_level)
            before = replace(before, ci_low=low, ci_high=high, method="Beta(1/2) posterior")
        rates.append(Restated(agent, question, int((~np.isnan(new)).sum()), before, rate))
    return rates


_CHANGE = columns("occasion=number change=change.change p_value=change.p_value allowed stop in_reach noise threshold")
#: Columns of the table of occasions, and where their figures stand: of an occasion, and of what changed until then.
_SEEN = columns("occasion=number from=first_day to=last_day model repeats=n_repeats ratings=n_ratings")
_SINCE = columns("shift~~=change.change p=change.p_value", {"stops at p": "allowed"})
_SINCE |= {"noise up to": "threshold"}


@dataclass(frozen=True)
class JudgedAnchors:
    """One occasion: when the anchors were judged, how often each, and which model answered."""

    number: int
    n_repeats: int
    first_day: str | None
    last_day: str | None
    returned_models: tuple[str, ...]
    n_ratings: int

    @property
    def model(self) -> str | None:
        """The models that answered in a row; None where none is recorded."""
        return ", ".join(self.returned_models) or None


@dataclass(frozen=True)
class Drift(Result):
    """All occasions of one judge on its anchor set, each against the first.

    `evidence` is that of all occasions together, which also sees a slow drift: e-values that may be looked at on every
    occasion, by betting; None before the fifth, as the first four show the noise of occasions.
    `repeats` are those of each occasion.
    """

    _keys: ClassVar = ("judge", "n_items", "level", "seen", "changes", "evidence")

    judge: str
    seen: tuple[JudgedAnchors, ...]
    occasions: tuple[Occasion, ...]
    n_items: int
    level: float
    evidence: SequenceEvidence | None = None
    repeats: tuple[tuple[int, ...], ...] = ()

    @property
    def model_changed(self) -> tuple[int, ...]:
        """Occasions on which another model answered than on the first that names one: drift, whatever the verdicts.

        Where no model is recorded, nothing is known.
        """
        named = [seen for seen in self.seen if seen.returned_models]
        return tuple(seen.number for seen in named if seen.returned_models != named[0].returned_models)

    @property
    def stopped_at(self) -> int | None:
        """The first occasion that says stop, by its verdicts or by its model."""
        stops = [each.number for each in self.occasions if each.stop] + list(self.model_changed)
        return min(stops, default=None)

    @property
    def exit_code(self) -> int:
        """1 where an occasion says stop; 4 where the last could not, for unmeasured noise or few tasks; else 0."""
        if self.stopped_at is not None:
            return 1
        could = [each.noise == "measured" and each.in_reach for each in self.occasions[-1:]]
        return 0 if all(could) and could else 4

    @property
    def behind(self) -> list[dict[str, str]]:
        """The items of each occasion as the explorer's filters, its repeats alone."""
        return [{"judge": self.judge, "repeat": ",".join(map(str, repeats))} for repeats in self.repeats]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The occasions after the first as plain rows."""
        return rows_of(self.occasions, _CHANGE)


def watch_drift(
    ratings: Given,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Drift:
    """Drift of one judge from stored ratings of its anchor set.

    The anchors are judged once more, or a few times, with every run (``axisjudge judge ... --again --repeats 3``). The
    repeats of one run (`run_id`; that of most of a repeat's ratings) are one occasion: they share the day's build and
    do not show how far occasions of an unchanged judge differ; a repeat without a run is an occasion of its own. Before
    four earlier occasions show that, `Occasion.noise` is ``not_measured`` and no verdicts say stop
    (`stats.comparisons.equivalence.drift`). All questions together are the items, so that shifts of two questions in
    opposite directions cancel; watch one question by giving its ratings alone. The table may hold nothing else of the
    judge. `level` is the probability with which a judge that never changes is ever stopped.

    Raises
    ------
    InputError
        The judge is not there, was asked once or under several rubric versions, or rated an item twice on one occasion.
    """
    table = of_rater(verdicts_of(ratings, steps=steps), judge)
    repeats_of = occasion_repeats(table)
    if len(repeats_of) < 2:
        cure = "judge the anchor set again in a run of its own: axisjudge judge ... --again"
        here = f"{many(table['repeat'].n_unique(), 'repeat')} of one run (run_id)"
        raise TooLittle("anchors", f"must hold two occasions of {judge}, and hold {here}", cure=cure)
    check_rubrics(table)
    key = ["item_id", "question", "cluster_id"]
    wide = table.pivot("repeat", index=key, values="failed").sort("item_id", "question")
    judged = [wide.select(map(str, repeats)).to_numpy() for repeats in repeats_of]
    clusters = wide["cluster_id"].to_numpy()
    occasions = drift(judged, clusters=clusters, cluster_unit=cluster_unit, level=level, ci_level=ci_level)
    seen = (_seen(number, table.filter(pl.col("repeat").is_in(of))) for number, of in enumerate(repeats_of, 1))
    evidence = evidence_of_runs(judged, level=level)
    return Drift(judge, tuple(seen), tuple(occasions), wide.height, level, evidence, tuple(map(tuple, repeats_of)))


def occasion_repeats(table: pl.DataFrame) -> list[list[int]]:
    """The repeats of each occasion, in order of the first."""
    run = pl.col("run_id").drop_nulls().mode().sort().first()  # a lost rating may have been asked again by a later run
    of_repeat = table.group_by("repeat").agg(run=pl.coalesce(run, pl.col("repeat").first().cast(pl.String)))
    occasions = of_repeat.sort("repeat").group_by("run", maintain_order=True).agg("repeat")
    return [list(repeats) for repeats in occasions["repeat"]]


def _seen(number: int, mine: pl.DataFrame) -> JudgedAnchors:
    days = mine["created_at"].drop_nulls().str.slice(0, 10)
    models = tuple(mine["returned_model"].drop_nulls().unique().sort())
    first, last = (None, None) if days.is_empty() else (str(days.min()), str(days.max()))
    return JudgedAnchors(number, mine["repeat"].n_unique(), first, last, models, mine.height)


def drift_rows(drift: Drift) -> list[dict[str, Any]]:
    """One row an occasion: when, by which model, and the change from the first."""
    e_values = iter(drift.evidence.e_values.tolist() if drift.evidence else ())
    ends: list[dict[str, Any]] = [{"evidence": None, "stop": None}]
    for each in drift.occasions:  # one without verdicts has no evidence
        evidence = next(e_values, None) if each.change.change.n_items else None
        ends.append({"evidence": evidence, "stop": each.stop})
    seen, since = rows_of(drift.seen, _SEEN), rows_of((None, *drift.occasions), _SINCE)
    return [row | change | end for row, change, end in zip(seen, since, ends, strict=True)]
