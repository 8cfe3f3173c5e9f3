"""What ratings may claim: confirmatory on held-out data, or EXPLORATORY and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.protocol import ledger
from axisjudge.protocol.gate import EXPLORATORY
from axisjudge.protocol.ledger import changes, digest
from axisjudge.protocol.lock import plan_of, read_lock, status
from axisjudge.protocol.plan import AnalysisPlan
from axisjudge.protocol.split import SHARES, Split, find_split, locked_rule
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER
from axisjudge.results import Result
from axisjudge.stats.calibration import ConfidenceMap
from axisjudge.stats.comparisons.ranking import optimism_bound, optimism_of_one

#: Where no split is there to say it, this side counts as held out.
_HELD_OUT = tuple(SHARES)[-1:]
#: Reasons that a banner names; all of them stand in results.json.
_SHOWN = 5
_FLAG = re.compile(r"opening:(\d+):[0-9a-f]+")


@dataclass(frozen=True)
class Standing(Result):
    """The standing of a ratings table.

    Attributes
    ----------
    held_out, runs : int
        Ratings of judges on held-out tasks, and how many runs they are of; 0 where the table touches none.
    others : int
        Ratings of judges beside them, on runs that are not held out.
    opening, openings : int or None, int
        The opening they were made under (the last, if several), and how many the ledger has.
    looks : int
        Openings and exploratory looks together: how often the held-out side was seen.
    made : tuple of (int, str)
        How many of the held-out ratings were made under which opening, in a look, or before a split.
    reasons : tuple of str
        Why the ratings are exploratory; empty where they are not.
    outside : tuple of str
        Rated axes that the plan does not declare: what is said of them is exploratory.
    optimism : float or None
        From the second look on: how much the best of so many looks may flatter the agreement of judges, at most.
        None where fewer than two raters share held-out tasks.
    plan : AnalysisPlan or None
    """

    _also = ("exploratory", "banner", "headline")

    held_out: int = 0
    runs: int = 0
    others: int = 0
    opening: int | None = None
    openings: int = 0
    looks: int = 0
    made: tuple[tuple[int, str], ...] = ()
    reasons: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    optimism: float | None = None
    plan: AnalysisPlan | None = None

    @property
    def exploratory(self) -> bool:
        return bool(self.reasons)

    @property
    def confirmatory(self) -> bool:
        return self.held_out > 0 and not self.reasons

    @property
    def matters(self) -> bool:
        """Whether a report must say anything of it."""
        return self.held_out > 0 or self.exploratory

    def label(self, statistic: str, axis: str | None = None) -> str:
        """``EXPLORATORY`` for a statistic (on an axis) that a report on held-out data may not call confirmed."""
        if not self.matters:
            return ""
        declared = self.plan is not None and self.plan.declares(statistic, axis)
        return "" if declared and not self.exploratory else EXPLORATORY.upper()

    @property
    def banner(self) -> str | None:
        """The warning with the first reasons, where there is one."""
        if not self.reasons:
            return None
        more = len(self.reasons) - _SHOWN
        rest = f"; and {more} more (axisjudge rubric status)" if more > 0 else ""
        return f"EXPLORATORY: {'; '.join(self.reasons[:_SHOWN])}{rest}."

    @property
    def sentence(self) -> str:
        """Opening, optimism and plan in words; empty where no held-out data are touched."""
        return " ".join([*self._seen(), *self._planned()]) if self.matters else ""

    @property
    def headline(self) -> str:
        """What belongs on the first screen: EXPLORATORY and why, else opening and optimism."""
        return (self.banner or " ".join(self._seen())) if self.matters else ""

    def _seen(self) -> Iterator[str]:
        if self.held_out:
            planned = (
                f" ({self.plan.n:,} planned)" if self.plan is not None and self.plan.n not in (None, self.runs) else ""
            )
            runs = f"{self.runs:,} {'run' if self.runs == 1 else 'runs'}{planned}"
            ratings = f"{self.held_out:,} {'rating' if self.held_out == 1 else 'ratings'}"
            parts = [how if len(self.made) == 1 else f"{n:,} {how}" for n, how in self.made]
            others = f"; the other {self.others:,} are of runs that were open" if self.others else ""
            yield f"Held-out data: {ratings} of {runs}, made {' and '.join(parts)}{others}."
        if self.looks > 1:
            yield f"The held-out side was seen {self.looks} times; {_flattery(self.optimism)}."

    def _planned(self) -> Iterator[str]:
        if self.plan is not None and self.held_out:
            outside = f" ({', '.join(self.outside)} among them)" if self.outside else ""
            yield f"{self.plan.sentence} All else{outside} is EXPLORATORY."


def standing_of(ratings: pl.DataFrame, *, statistic: str | None = None, n_judged: int | None = None) -> Standing:
    """The standing of a ratings table, by the split, the lock and the ledger of the workbench.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table; labels (people's, planted) need no opening and are passed over.
    statistic : str, optional
        What is to be claimed: one that the plan does not declare is a reason of its own.
    n_judged : int, optional
        How many ratings of judges there are, where `ratings` are the `standing_rows` of more.
    """
    judged = ratings.filter(BY_JUDGE)
    reasons: list[str] = []
    split = _attempt(find_split, reasons)
    absent = split is None and not reasons
    rows = judged.filter(_is_held_out(split, judged))
    explored = judged.filter(pl.col("flags").list.contains(EXPLORATORY)).height
    if rows.is_empty() and not explored:
        return Standing(reasons=tuple(reasons) if n_judged or judged.height else ())
    if explored:
        reasons.append(f"{explored:,} of {n_judged or judged.height:,} ratings were judged with --exploratory")
    entries = _attempt(ledger.read_ledger, reasons) or []
    lock = _attempt(read_lock, reasons if not rows.is_empty() else [])
    plan = _attempt(lambda: plan_of(lock) if lock else None, reasons)
    if not rows.is_empty():
        reasons += ["there is no split"] if absent else []
        reasons += _not_locked(rows, lock)
        reasons += _not_opened(rows, split, entries, lock)
        reasons += _undeclared(rows, plan, statistic)
    n_looks = ledger.looks(entries)
    return Standing(
        held_out=rows.height,
        runs=rows["trajectory_id"].n_unique(),
        others=(n_judged or judged.height) - rows.height,
        opening=max(_openings_of(rows), default=None),
        openings=len(ledger.openings(entries)),
        looks=n_looks,
        made=_made(rows, len(ledger.openings(entries))),
        reasons=tuple(dict.fromkeys(reasons)),
        outside=tuple(sorted(set(rows["question"]) - set(plan.axes))) if plan else (),
        optimism=_optimism(ratings, rows, plan, n_looks),
        plan=plan,
    )


def standing_rows(ratings: pl.LazyFrame) -> tuple[pl.DataFrame, int]:
    """The ratings on which `standing_of` depends (held-out runs, judged exploratory), and how many judges gave."""
    split = _attempt(find_split, [])
    explored = pl.col("flags").list.contains(EXPLORATORY).fill_null(value=False)
    matters = _is_held_out(split, ratings) | explored
    n, n_judged = ratings.select(matters.sum(), BY_JUDGE.sum().alias("judged")).collect(engine="streaming").row(0)
    rows = ratings.filter(matters) if n else ratings.clear()  # filtering reads every column
    return rows.collect(engine="streaming"), n_judged


def frozen_maps(ratings: pl.DataFrame) -> dict[str, ConfidenceMap]:
    """The maps of confidences that the lock froze, by rater, for a table that touches held-out data; empty for others.

    On held-out data a map fitted anew would be fitted on what it is to be used for.
    """
    split = _attempt(find_split, [])
    lock = _attempt(read_lock, []) if not ratings.filter(_is_held_out(split, ratings)).is_empty() else None
    plan = _attempt(lambda: plan_of(lock), []) if lock else None
    return {rater: plan.confidence_map(rater) for rater in plan.maps} if plan else {}


def _is_held_out(split: Split | None, judged: pl.DataFrame | pl.LazyFrame) -> pl.Expr:
    """Held out by the split; where that is gone, by the rule in the ledger; and whatever a rating says of itself."""
    sides, tasks = (split.held_out, list(split.held_out_tasks)) if split else (_HELD_OUT, [])
    if split is None and (rule := _attempt(locked_rule, [])) is not None:
        sides = rule.held_out
        every = judged.lazy().select(pl.col("cluster_id").unique()).collect(engine="streaming")["cluster_id"]
        tasks = [task for task in every if rule.side_of(task) in sides]
    opened = pl.col("flags").list.eval(pl.element().str.starts_with("opening:")).list.any()
    stamped = pl.col("split").is_in(list(sides)) | opened
    held_out = stamped.fill_null(value=False)
    return held_out | pl.col("cluster_id").is_in(tasks) if tasks else held_out  # names are not read for nothing


def _not_locked(rows: pl.DataFrame, lock: Mapping[str, Any] | None) -> Iterator[str]:
    state = status()
    if lock or state.locked or state.faults:
        yield from state.reasons
    if lock is None:
        return
    panels = lock.get("panels", {})
    for rater, fitted in rows.select("rater", "prompt_sha256").unique().sort("rater").iter_rows():
        if rater in panels and fitted != panels[rater]["sha256"]:
            yield f"{rater} is another fit than the locked one"
    if strangers := sorted(set(rows["rater"]) - set(lock["judges"]) - set(panels)):
        yield f"judges that are not locked: {', '.join(strangers)}"
    for rater, alias in lock.get("aliases", {}).items():
        answered = set(rows.filter(pl.col("rater") == rater)["returned_model"].drop_nulls())
        if others := sorted(answered - set(alias["returned_models"])):
            before = ", ".join(alias["returned_models"]) or "unknown"
            yield f"{rater} is an alias, and another model answered: {', '.join(others)} (at the lock: {before})"
    shown = rows.filter(pl.col("rubric_sha256").is_not_null()).select("question", "rubric_sha256").unique()
    for axis, sha256 in shown.sort("question").iter_rows():
        locked = lock["rubrics"].get(axis, {})
        if sha256 != locked.get("sha256"):
            yield f"ratings on {axis} were made with another rubric than the locked {locked.get('version')}"


def _not_opened(
    rows: pl.DataFrame, split: Split | None, entries: Iterable[ledger.LedgerEntry], lock: Mapping[str, Any] | None
) -> Iterator[str]:
    entries = list(entries)
    flags = pl.col("flags").list.join(" ").fill_null("")
    unstamped = rows.filter(~flags.str.contains(_FLAG.pattern) & ~flags.str.contains(EXPLORATORY)).height
    if unstamped:
        yield f"{unstamped:,} ratings of held-out tasks were judged before the opening or beside it"
    opened = {entry.flag: entry for entry in ledger.openings(entries)}
    for number, flag in sorted(_openings_of(rows).items()):
        entry = opened.get(flag)
        if entry is None:
            yield f"opening {number} is not in the ledger: its last entries were removed, or it was begun anew"
            continue
        if lock is not None and entry.lock_sha256 != digest(lock):
            yield from _other_lock(entry, entries, lock)
        if split is not None and entry.data_sha256 != split.data_sha256:
            yield f"the held-out runs are not those of opening {number}"
        early = rows.filter(flags.str.contains(flag, literal=True) & (pl.col("created_at") < entry.time)).height
        if early:
            yield f"{early:,} ratings are older than opening {number}, whose stamp they bear"


def _other_lock(
    entry: ledger.LedgerEntry, entries: Iterable[ledger.LedgerEntry], lock: Mapping[str, Any]
) -> Iterator[str]:
    then = next((other.lock for other in entries if other.lock and other.lock_sha256 == entry.lock_sha256), None)
    changed = [change for change in changes(then, lock) if change.path != "locked_at"] if then else []
    what = f": {changed[0]}" if changed else ""
    yield f"opening {entry.opening} was made under another lock{what}"


def _undeclared(rows: pl.DataFrame, plan: AnalysisPlan | None, statistic: str | None) -> Iterator[str]:
    if plan is None:
        return
    if statistic is not None and not plan.declares(statistic):
        yield f"{statistic} is not in the plan, which declares {plan.statistic}"
    if not set(rows["question"]) & set(plan.axes):
        yield f"the plan declares other axes ({', '.join(plan.axes)})"


def _made(rows: pl.DataFrame, openings: int) -> tuple[tuple[int, str], ...]:
    """How many ratings were made under which opening, or how else: what was judged before a split bears no side."""
    flags = pl.col("flags").fill_null([])
    before = (
        pl.when(pl.col("split").is_null())
        .then(pl.lit("when no split held them out"))
        .otherwise(pl.lit("without an opening"))
    )
    how = pl.when(flags.list.contains(EXPLORATORY)).then(pl.lit("in an exploratory look")).otherwise(before)
    for number, flag in sorted(_openings_of(rows).items()):
        at = "when they were opened, once" if openings == 1 else f"at opening {number} of {openings}"
        how = pl.when(flags.list.contains(flag)).then(pl.lit(at)).otherwise(how)
    counts = rows.select(how=how).group_by("how", maintain_order=True).len()
    return tuple((n, words) for words, n in counts.rows())


def _openings_of(rows: pl.DataFrame) -> dict[int, str]:
    """The openings that ratings were stamped with: number -> flag."""
    flags: list[str] = rows["flags"].explode().drop_nulls().unique().to_list()
    return {int(match[1]): flag for flag in flags if (match := _FLAG.fullmatch(flag))}


def _optimism(ratings: pl.DataFrame, rows: pl.DataFrame, plan: AnalysisPlan | None, seen: int) -> float | None:
    """The bound for the agreement of raters on held-out items, from pairs of openings where the table has several."""
    if seen < 2 or rows.is_empty():
        return None
    axes = list(plan.axes) if plan else rows["question"].unique().to_list()
    labels = ratings.filter(BY_LABELLER & pl.col("item_id").is_in(rows["item_id"].implode()))
    by_opening = {
        number: _agreement(pl.concat([rows.filter(pl.col("flags").list.contains(flag)), labels]), axes)
        for number, flag in sorted(_openings_of(rows).items())
    }
    values = list(by_opening.values()) or [_agreement(pl.concat([rows, labels]), axes)]
    bounds = []
    for earlier in values[:-1]:
        both = earlier.join(values[-1], on=["item_id", "question", "cluster_id"])
        change = (both["share_right"] - both["share"]).to_numpy()
        bounds.append(optimism_bound(change, seen, clusters=both["cluster_id"].to_numpy()))
    if len(values) < seen:  # of some looks there is nothing here to pair with
        share, tasks = values[-1]["share"].to_numpy(), values[-1]["cluster_id"].to_numpy()
        bounds.append(optimism_of_one(share, seen, clusters=tasks))
    known = [bound for bound in bounds if not math.isnan(bound)]
    return float(np.max(known)) if known else None


def _agreement(rows: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """For each item the share of pairs of raters that gave the same verdict; items with one rater are left out."""
    given = rows.filter(pl.col("question").is_in(axes) & pl.col("verdict").is_not_null() & (pl.col("repeat") == 0))
    latest = given.unique(subset=["item_id", "question", "rater"], keep="last", maintain_order=True)
    item = ["item_id", "question", "cluster_id"]
    counts = latest.group_by(*item, "verdict").len().group_by(item)
    n = pl.col("len").sum().cast(pl.Float64)
    pairs = (pl.col("len") * (pl.col("len") - 1)).sum() / (n * (n - 1))
    return counts.agg(share=pairs, raters=n).filter(pl.col("raters") > 1).sort(item).drop("raters")


def _attempt(read: Any, reasons: list[str]) -> Any:
    """What `read` gives, or None and the reason why it gives nothing."""
    try:
        return read()
    except InputError as error:
        reasons.append(str(error))
        return None


def _flattery(optimism: float | None) -> str:
    if optimism is None:
        return "how much the best look may flatter cannot be bounded, as no two raters share held-out runs"
    return f"the best of so many looks flatters agreement by {optimism:.3f} on average, at times by more"
