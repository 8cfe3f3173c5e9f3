"""One question as judges and people, simulated ones too, answered it: words, cited steps, agents, draws of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from hashlib import sha256
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.labels import sampling
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import LOOKED_AT, with_drawn
from axisjudge.ratings import SCHEMA, read_ratings, to_matrix
from axisjudge.ratings.edge import BY_LABELLER, EMPTY_RUN, as_ratings, raters_of, sides_of, taken
from axisjudge.stats.agreement.chance_corrected import set_aside
from axisjudge.stats.clusters import Alike
from axisjudge.stats.correction import SAMPLING, Sampling
from axisjudge.stats.estimate import UNDECIDED
from axisjudge.stats.reference import AgainstReference, against_reference, majority
from axisjudge.trajectory import Trajectory

# Simulated people: labels made from planted truth by a stated noise model, to try out what needs several people.
# Nobody read anything. With z_i the difficulty of an item (trajectory and axis), common to all, and z_ij a person's
# own, a person's error propensity is sqrt(s) z_i + sqrt(1 - s) z_ij. The planted word is given where it lies below the
# normal quantile of the person's hit rate (HITS on planted failures, PASSES on the rest), ``uncertain`` up to UNCERTAIN
# above that, else the opposite. A found failure is cited at its planted steps, each moved to a neighbour at rate
# STEP_OFF.
# Every draw comes from sha256 of (seed, person, trajectory, axis), so that the same item gets the same label whichever
# others are labelled. Ratings are of kind ``simulated`` and so bear the banner everywhere.

SHARED_DIFFICULTY = 0.3
#: Hit rates of each person on planted failures and on everything else.
HITS, PASSES = (0.90, 0.85, 0.80), (0.98, 0.97, 0.98)
UNCERTAIN = 0.01
STEP_OFF = 0.15
FAMILY = "simulated people"  # what tells them from simulated judges
#: Ratings by people, simulated ones too; and by all whose word judges are compared with.
BY_PERSON = pl.col("rater_kind").eq_missing("human") | pl.col("family").eq_missing(FAMILY)
BY_PEOPLE = BY_LABELLER | pl.col("family").eq_missing(FAMILY)
PEOPLE = ("person A", "person B", "person C")

_NORMAL = NormalDist()
_OPPOSITE = {"incorrect": "correct", "correct": "incorrect", "not_applicable": "correct"}


def simulated_people(planted: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Labels of three simulated people on every planted item.

    Parameters
    ----------
    planted : polars.DataFrame
        Planted truth as ratings (rater_kind ``planted``), which flags such as how items were drawn may stand in.
    seed : int

    Raises
    ------
    InputError
        The table holds other ratings than planted ones, or none.
    """
    if planted.is_empty() or set(planted["rater_kind"]) != {"planted"}:
        raise InputError("planted", "must be planted truth alone", sorted(set(planted["rater_kind"])))
    rows = [
        {
            **row,
            "rater": name,
            "rater_kind": "simulated",
            "family": FAMILY,
            "rater_version": "1",
            "rationale": "Simulated from planted truth; nobody read this run.",
            "flags": [flag for flag in row["flags"] or [] if flag.startswith("drawn")],
            **_simulated_word(row, person, seed),
        }
        for person, name in enumerate(PEOPLE)
        for row in planted.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _simulated_word(row: dict[str, object], person: int, seed: int) -> dict[str, object]:
    item = (row["trajectory_id"], row["question"])
    truth = str(row["verdict"])
    propensity = sqrt(SHARED_DIFFICULTY) * _normal(seed, "item", *item)
    propensity += sqrt(1 - SHARED_DIFFICULTY) * _normal(seed, PEOPLE[person], *item)
    hit = (HITS if truth == "incorrect" else PASSES)[person]
    at = _NORMAL.cdf(propensity)
    if at >= hit:
        return {"verdict": "uncertain" if at < hit + UNCERTAIN else _OPPOSITE[truth], "cited_step_indices": []}
    planted = row["cited_step_indices"]
    steps = planted if truth == "incorrect" and isinstance(planted, list) else []
    moved = {_moved(step, _uniform(seed, PEOPLE[person], *item, step)) for step in steps}
    return {"verdict": truth, "cited_step_indices": sorted(moved)}


def _moved(step: int, draw: float) -> int:
    """The step, or one of its neighbours at rate STEP_OFF."""
    if draw >= STEP_OFF:
        return step
    return step + 1 if draw < STEP_OFF / 2 else max(0, step - 1)


def _uniform(*key: object) -> float:
    digest = sha256("\x1f".join(map(str, key)).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


def _normal(*key: object) -> float:
    return _NORMAL.inv_cdf(_uniform(*key))


# One question x judges and people.

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelledPanel:
    """Items of one question x judges and people; `runs` are the trajectories that the items are of.

    `judged` and `labelled` hold positions in `categories`, NaN where a rater gave nothing; `asked` says which judge was
    and labelled item, the cited steps where there are any. `n_unjudged` counts labelled items that no judge rated; they
    are left out; `alike` says whether items or clusters count alike in shares and agreement.
    """

    question: str
    scale: str
    items: tuple[str, ...]
    runs: tuple[str, ...]
    judged: Floats
    asked: NDArray[np.bool_]
    labelled: Floats
    categories: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    people: tuple[str, ...]
    agents: NDArray[np.object_]
    clusters: NDArray[np.intp] | None
    cluster_unit: str
    cited: dict[str, dict[str, list[int]]]
    drawn: Draw
    n_unjudged: int = 0
    alike: Alike = "items"

    @property
    def failing(self) -> int | None:
        """Position of the word that means failure; None where the scale knows no failure."""
        words = [word for word, failed in sides_of(self.scale).items() if failed]
        return self.categories.index(words[0]) if words else None

    @property
    def undecided(self) -> tuple[int, ...]:
        """Positions of words that take no side."""
        return undecided_in(self.categories)

    @property
    def sides(self) -> dict[str, int]:
        """The words that take a side, with their positions."""
        return {word: code for code, word in enumerate(self.categories) if word not in UNDECIDED}

    @cached_property
    def decided_labels(self) -> Floats:
        """People's words, with those that take no side as NaN."""
        return self.sided(self.labelled)

    @cached_property
    def reference(self) -> Floats:
        """Each item's label: the commonest word of the people, NaN on a tie or without any."""
        return reference_of(self.labelled, self.categories)

    @property
    def groups(self) -> NDArray[np.intp]:
        """The cluster of each item, each its own where no two belong together."""
        return np.arange(len(self.items)) if self.clusters is None else self.clusters

    @property
    def grades(self) -> bool:
        """Whether the words are grades."""
        return self.scale.startswith("ordinal:")

    def with_labels(self) -> LabelledPanel:
        """The items that some person labelled."""
        rows = np.flatnonzero((~np.isnan(self.labelled)).any(axis=1))
        names: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in rows) for name in ("items", "runs")}
        arrays = {name: getattr(self, name)[rows] for name in ("judged", "asked", "labelled", "agents")}
        return replace(self, **names, **arrays, clusters=None if self.clusters is None else self.clusters[rows])

    @property
    def ordered(self) -> bool:
        """Whether the words have an order."""
        return self.grades or self.scale == "step"

    @property
    def against(self) -> partial[AgainstReference]:
        """Compares a rater's words with a reference for the same items."""
        words = partial(against_reference, n_categories=len(self.categories), failing=self.failing)
        grouped = partial(words, clusters=self.clusters, cluster_unit=self.cluster_unit, alike=self.alike)
        return partial(grouped, undecided=self.undecided, ordered=self.ordered)

    def steps(self, rater: str, item: int) -> list[int]:
        """The steps that a rater cites for the item at a position."""
        return self.cited.get(rater, {}).get(self.items[item], [])

    def sided(self, codes: Floats) -> Floats:
        """The words that take a side, NaN for all others."""
        return set_aside(codes, self.undecided)

    def failed(self, codes: Floats) -> Floats:
        """1 where the word means failure, 0 for any other that takes a side, NaN otherwise."""
        sided = self.sided(codes)
        return np.where(np.isnan(sided), np.nan, sided == self.failing)

    def failed_items(self, codes: Floats) -> Floats:
        """The same for a rate of items, in which one to which the question does not apply is one that does not fail."""
        return failed_items(codes, self.categories, self.failing)

    @cached_property
    def failing_labels(self) -> Floats:
        """1 where most people fail an item, 0 where most do not, NaN on a tie or where nobody said."""
        return majority(self.failed_items(self.labelled), 2)


def failed_items(codes: Floats, categories: Sequence[str], failing: int | None) -> Floats:
    """1 where a word fails the item, 0 where not or where it says that nothing applies, NaN where it leaves it open."""
    open_ = [code for code, word in enumerate(categories) if word == "uncertain"]
    return np.where(np.isnan(codes) | np.isin(codes, open_), np.nan, codes == failing)


def undecided_in(categories: Sequence[str]) -> tuple[int, ...]:
    """Positions of words that take no side."""
    return tuple(categories.index(word) for word in UNDECIDED if word in categories)


def reference_of(labelled: Floats, categories: Sequence[str]) -> Floats:
    """Each item's label: the commonest of people's words (items x people) that take a side, NaN on a tie or without."""
    return majority(set_aside(labelled, undecided_in(categories)), len(categories))


def prepared(ratings: object, labels: object, repeat: int, step_level: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judges' and people's rows, without runs that have no messages (their ratings follow from the definition)."""
    tables = [as_ratings(table, where=name) for name, table in (("ratings", ratings), ("labels", labels))]
    level = (pl.col("step_index").is_not_null() == step_level) & (pl.col("repeat") == repeat) & ~EMPTY_RUN
    chosen = [taken(table, level) for table in tables]
    judges, people = taken(chosen[0], ~BY_PEOPLE), chosen[1].filter(BY_PEOPLE & pl.col("verdict").is_not_null())
    numbers = chosen[1].filter(BY_PEOPLE & pl.col("value").is_not_null())["scale"]
    level_words = "steps" if step_level else "whole runs"
    and_level = f", and whether single steps were rated: {level_words} are read now"
    if people.is_empty() and len(numbers):
        rule = "are numbers, which are near or far from a judge's and never right or wrong"
        raise InputError("labels", rule, numbers[0], "axisjudge agreement gives their ICC and interval alpha")
    if people.is_empty():
        raise TooLittle("labels", "must be of people, or planted truth, and none is", cure=f"check the file{and_level}")
    if judges.is_empty():
        raise TooLittle(
            "ratings", f"must be of judges, on {level_words}, and none is", cure=f"check the file{and_level}"
        )
    return judges, people


def labelled_panel(
    judges: pl.DataFrame,
    people: pl.DataFrame,
    question: str,
    *,
    sampling: str | None,
    cluster_unit: str,
    alike: Alike = "items",
) -> LabelledPanel:
    """The items of one question that judges were asked or people labelled, of the rows that `prepared` gives.

    `sampling` says how the labelled items were drawn, if the labels do not; `cluster_unit` what ``cluster_id`` holds.

    Raises
    ------
    InputError
        Two ratings of one rater on one item, judges and people on different scales, or `sampling` against the labels.
    """
    asked = judges.filter(pl.col("question") == question)
    every_label = people.filter(pl.col("question") == question)
    labels = every_label.filter(pl.col("item_id").is_in(asked["item_id"].unique().implode()))
    raters = [raters_of(table) for table in (asked, labels)]
    both = pl.concat([asked, labels])
    step_level = bool(both["step_index"].is_not_null().any())
    matrix = to_matrix(both, question, raters=[*raters[0], *raters[1]], repeat=both["repeat"][0], step_level=step_level)
    n_judges, judge = len(raters[0]), pl.col("rater").filter(~BY_PEOPLE)
    of_items = both.group_by("item_id", maintain_order=True).agg(
        pl.col("trajectory_id").last(),
        pl.col("agent").drop_nulls().last(),
        *(judge.eq(name).any().alias(f"asked {at}") for at, name in enumerate(raters[0])),
    )
    was_asked = of_items.select(f"asked {at}" for at in range(n_judges)).to_numpy()
    clusters = np.unique(np.array(matrix.clusters), return_inverse=True)[1].astype(np.intp)
    grouped = clusters.max(initial=-1) + 1 < clusters.size
    words = matrix.codes[:, n_judges:]
    return LabelledPanel(
        question=question,
        scale=str(both["scale"][0]),
        items=matrix.items,
        runs=tuple(of_items["trajectory_id"]),
        judged=matrix.codes[:, :n_judges],
        asked=was_asked,
        labelled=words,
        categories=matrix.categories,
        judges=tuple(raters[0]),
        families=matrix.families[:n_judges],
        people=tuple(raters[1]),
        agents=of_items["agent"].to_numpy().astype(object),
        clusters=clusters if grouped else None,
        cluster_unit=cluster_unit if grouped else "item",
        cited=_cited(both.filter(pl.col("item_id").is_in(labels["item_id"].unique().implode()))),
        drawn=draw_of(labels, matrix.items, sampling, in_full=bool((~np.isnan(words)).any(axis=1).all())),
        n_unjudged=every_label["item_id"].n_unique() - labels["item_id"].n_unique(),
        alike=alike,
    )


def _cited(ratings: pl.DataFrame) -> dict[str, dict[str, list[int]]]:
    grounded = ratings.filter(pl.col("cited_step_indices").list.len() > 0)
    return {
        str(rater): dict(rows.select("item_id", "cited_step_indices").iter_rows())
        for (rater,), rows in grounded.group_by("rater", maintain_order=True)
    }


def questions_of(people: pl.DataFrame, judges: pl.DataFrame, wanted: Sequence[str] | None) -> list[str]:
    """The questions that both answered on some item, in the order of the judges' table, or those that are wanted."""
    asked = judges.lazy().filter(pl.col("scale") != "unit").select("question", "item_id")
    both = asked.join(people.lazy(), on=["question", "item_id"], how="semi").select(pl.col("question").unique())
    common = set(both.collect()["question"])
    if wanted is not None:
        return [one_of("question", name, sorted(common)) for name in wanted]
    if not common:
        rule = "must answer a question about an item that judges answered too"
        raise InputError("labels", rule, sorted(set(people["question"])), "check that the trajectory ids are the same")
    return [name for name in judges["question"].unique(maintain_order=True) if name in common]


# Draws of items that people label: how they are asked for in one word, and how those of a question were drawn.


class DrawProblem(StrEnum):
    """Why labels correct nothing although they say how they were drawn."""

    SEVERAL_WAYS = "labels were drawn in several ways ({}): compare them apart"
    TWO_PROBABILITIES = "two labels of {} state different probabilities"
    LOOKED_AT = "no rate follows from items chosen because judges disagree on them"
    OTHER_JUDGE = "labels were drawn by {}, and the probabilities were not recorded"


@dataclass(frozen=True, eq=False)
class Draw:
    """How the labelled items were drawn: the way, the probabilities and the key that decided, where recorded.

    `problem` says why the draw cannot be used, and `detail` of what; `in_full` says that every item is labelled.
    """

    sampling: Sampling
    probability: NDArray[np.float64] | None = None
    key: str | None = None
    problem: DrawProblem | None = None
    detail: str = ""
    in_full: bool = False

    @property
    def chosen(self) -> bool:
        """Whether shares among the labelled items are not those of all items."""
        return not self.in_full and self.sampling in ("by_judge_verdict", "by_key", "by_human_label", *LOOKED_AT)

    @property
    def reason(self) -> str:
        """The problem in words; empty where there is none."""
        return "" if self.problem is None else self.problem.format(self.detail)


def draw_of(labels: pl.DataFrame, items: Sequence[str], sampling: str | None, *, in_full: bool) -> Draw:
    """What labels say of the draw of their items, else what `sampling` says; a full count (`in_full`) needs no draw.

    Raises
    ------
    InputError
        `sampling` is unknown, or against what the labels say.
    """
    given = cast(Sampling, one_of("sampling", sampling or "unknown", SAMPLING))
    if in_full:
        return Draw(given if sampling else "random", in_full=True)
    stated = with_drawn(labels).with_columns(pl.col("drawn").replace("unknown", given))
    if sampling and (other := sorted(set(stated["drawn"]) - {given})):
        cure = "leave sampling out, or import the labels again"
        raise InputError("sampling", f"{given} is not what the labels say of their draw", other[0], cure)
    ways = stated.select("drawn", "drawn_by").unique().sort("drawn", "drawn_by").rows()
    if ways and {way for way, _ in ways} <= set(LOOKED_AT):
        return Draw(ways[0][0], problem=DrawProblem.LOOKED_AT)
    if len(ways) != 1:
        names = ", ".join(sorted({way for way, _ in ways})) or "none"
        return Draw("unknown", problem=DrawProblem.SEVERAL_WAYS, detail=names)
    way, key = ways[0]
    if stated["drawn_probability"].null_count():
        return Draw(way, key=key)
    row_of, probability = {item: row for row, item in enumerate(items)}, np.full(len(items), np.nan)
    for item, value in stated.select("item_id", "drawn_probability").iter_rows():
        if not np.isnan(known := probability[row_of[item]]) and known != value:
            return Draw("unknown", problem=DrawProblem.TWO_PROBABILITIES, detail=item)
        probability[row_of[item]] = value
    return Draw(way, probability, key)


# One door to the draws, for the command line and the notebook: how items are drawn is asked for in one word.

Value = TypeVar("Value")

#: How items may be drawn.
WAYS = ("random", "by_judge_verdict", "by_key", "second_rater", "by_hand")
#: What a trajectory itself says that a draw may go by.
KEYS = ("agent", "domain", "termination", "reward")


def draw(
    trajectories: Sequence[Trajectory],
    way: str = "random",
    *,
    n: int | None = None,
    seed: int = 0,
    ratings: str | Path | None = None,
    of: str | None = None,
    axis: str | None = None,
    one_per_task: bool = True,
) -> sampling.Sampling:
    """Draw trajectories for labelling.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The frame.
    way : str
        ``random``; ``by_judge_verdict`` (evenly over the verdicts of the judge `of` in `ratings`, on `axis` or on any);
        ``by_key`` (evenly over the values of `of`: agent, domain, termination, reward); ``second_rater`` (what the
        person `of` labelled in `ratings`); ``by_hand`` (all of these: no rate can be estimated from them).
    n, seed : int
        How many, and the seed of draw and order.
    one_per_task : bool
        One agent's trajectory of each task; for the first three ways.

    Raises
    ------
    InputError
        Something that the way needs is missing; the message says what.
    """
    one_of("how items are drawn", way, WAYS)
    if way == "random":
        return sampling.draw_at_random(trajectories, n, seed=seed, one_per_task=one_per_task)
    if way == "by_hand":
        return sampling.chosen_by_hand(trajectories, seed=seed)
    if way == "second_rater":
        labels = read_labels(_file(way, ratings)).filter(rater_kind="human")
        return sampling.draw_again(labels, of or _only_person(labels["rater"].unique().to_list()), n, seed=seed)
    who, number = _needed(way, "`of`: whose verdicts, or which key, decide", of), _needed(way, "a number", n)
    if way == "by_key":
        one_of("key", who, KEYS)
        strata = {run.id: str(getattr(run, who)) for run in trajectories}
        return sampling.draw_by(trajectories, strata, number, key=who, seed=seed, one_per_task=one_per_task)
    strata = sampling.verdict_strata(read_ratings(_file(way, ratings), latest=True), who, axis or None)
    key = f"{who}: {axis or 'any axis'}"
    return sampling.draw_by(
        trajectories, strata, number, key=key, method="by_judge_verdict", seed=seed, one_per_task=one_per_task
    )


def _needed(way: str, what: str, value: Value | None) -> Value:
    if not value:
        raise InputError(f"draw {way}", f"needs {what}")
    return value


def _file(way: str, ratings: str | Path | None) -> Path:
    return Path(_needed(way, "ratings", str(ratings or "")))


def _only_person(people: list[str]) -> str:
    if not people:
        raise InputError("draw second_rater", "no person labelled there", cure="give the labels of the first person")
    if len(people) != 1:
        raise InputError("draw second_rater", "several people labelled there", sorted(people), "say whose with `of`")
    return people[0]
