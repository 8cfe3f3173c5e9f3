"""Copied labels: blocks within one person's labels, runs between two people, notes in the same words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.labels.lint.finding import ALPHA, LabelFault, NotChecked, by_rater, some

#: Two people who worked apart are taken to agree on no more than this share of labels.
CLOSEST = 0.98
#: A shorter note is a phrase that two people may hit on.
SHORTEST_NOTE = 25
_APART = "ask whether they worked apart; if not, count them as one person"
_ROW = ("trajectory_id", "cluster_id", "agent", "domain")


def copied_blocks(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """A block of a person's rows (a row: all labels of a trajectory) that stands again further down.

    Two blocks of other tasks match by chance with probability e^-S or less, S the sum of -ln p(row) over the block and
    p(row) how often the person gave these labels to runs of that agent and domain. Over all n (n - 1) / 2 places a
    false alarm has a probability below n (n - 1) / 2 e^-S, which must be below .01 (Bonferroni over people).
    """
    people = labels["rater"].n_unique()
    checked = False
    for rater, table in by_rater(labels):
        rows = _rows(table)
        if rows.height < 2:
            continue
        checked = True
        tasks = rows["cluster_id"].to_numpy()
        score, start, lag, length = _longest_repeat(rows["said"].to_numpy(), _information(rows), tasks)
        p = rows.height * (rows.height - 1) / 2 * math.exp(-score) * people
        if length >= 2 and p < ALPHA:
            ids = rows["trajectory_id"].to_list()
            first, again = ids[start : start + length], ids[start + lag : start + lag + length]
            what = f"the labels of {length} trajectories in a row stand again {lag} rows further down"
            sure = f"p < {p:.2g} (information of the block, all places, {people} people)"
            cure = "look at the source for rows that were pasted twice; label one of the blocks again"
            yield LabelFault("copied block", "error", what, f"{rater}: {some(first)} and {some(again)}", sure, cure)
    if not checked:
        raise NotChecked("nobody labelled two trajectories")


def _rows(table: pl.DataFrame) -> pl.DataFrame:
    """One row a trajectory, in order of writing: what was said of it, as a number."""
    said = pl.concat_str(
        pl.col("question"),
        pl.col("step_index").cast(pl.String).fill_null(""),
        pl.col("verdict").fill_null(pl.col("value").cast(pl.String)).fill_null("?"),
        separator=" ",
    )
    ordered = table.with_columns(said=said).group_by("trajectory_id", maintain_order=True)
    rows = ordered.agg(pl.col("said").sort().str.join("\n"), *(pl.col(name).first() for name in _ROW[1:]))
    return rows.with_columns(pl.col("said").rank("dense").cast(pl.Int64))


def _information(rows: pl.DataFrame) -> NDArray[np.float64]:
    """-ln of the share of each row among the person's rows of that agent and domain, one added to each count."""
    stratum = ["agent", "domain"]
    counts = rows.select(share=(pl.len().over([*stratum, "said"]) + 1) / (pl.len().over(stratum) + 1))
    return np.asarray(-np.log(np.minimum(counts["share"].to_numpy(), 1.0)), dtype=np.float64)


def _longest_repeat(
    rows: NDArray[np.int64], information: NDArray[np.float64], tasks: NDArray[np.object_]
) -> tuple[float, int, int, int]:
    """The most informative block that stands again: its score, its place, how far down, how many rows.

    Blocks do not overlap, and two rows of one task are alike for its sake and count for nothing.
    """
    best = (0.0, 0, 0, 0)
    for lag in range(1, rows.size):
        same = rows[lag:] == rows[:-lag]
        informative = np.where(tasks[lag:] == tasks[:-lag], 0.0, information[lag:])
        ends = np.flatnonzero(~same)
        starts = np.concatenate([[-1], ends]) + 1
        stops = np.minimum(np.concatenate([ends, [same.size]]), starts + lag)
        total = np.concatenate([[0.0], np.cumsum(informative)])
        scores = total[stops] - total[starts]
        if (top := int(scores.argmax())) >= 0 and scores[top] > best[0]:
            best = (float(scores[top]), int(starts[top]), lag, int(stops[top] - starts[top]))
    return best


def copied_between(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """Two people who agree without a break for longer than chance allows.

    A task is equal where all labels that both gave are. Were the k unequal of G tasks placed at random, the longest
    run of equal ones would reach L with probability sum_j (-1)^(j+1) C(k+1, j) C(G - j L, k) / C(G, k), which is exact.
    Two people without any difference are judged by the chance of it among people who agree on 98% of labels. Bonferroni
    over pairs.
    """
    keys = ["item_id", "question", "cluster_id"]
    tables = {rater: table.filter(pl.col("repeat") == 0) for rater, table in by_rater(labels)}
    pairs = list(combinations(tables, 2))
    if not pairs:
        raise NotChecked("one person labelled alone")
    for one, two in pairs:
        both = tables[one].join(tables[two].select("item_id", "question", other="verdict"), on=keys[:2])
        both = both.filter(pl.col("verdict").is_not_null() & pl.col("other").is_not_null())
        if both.is_empty() or both["verdict"].n_unique() < 2:
            continue
        same = both.with_columns(same=pl.col("verdict") == pl.col("other"))
        tasks = same.group_by("cluster_id", maintain_order=True).agg(pl.col("same").all())
        equal = tasks["same"].to_list()
        if all(equal):
            p, run = CLOSEST**both.height, len(equal)
            sure = f"p = {min(1.0, p * len(pairs)):.2g} were the two to agree on {CLOSEST:.0%} of labels"
        else:
            run = max(len(part) for part in "".join("=x"[not each] for each in equal).split("x"))
            p = chance_of_run(len(equal), equal.count(False), run)
            sure = f"p = {p * len(pairs):.2g} (longest run of equal tasks, exact; easy tasks side by side look alike)"
        if p * len(pairs) < ALPHA:
            what = f"{run} of {len(equal)} tasks in a row have the same labels from both, {both.height} labels shared"
            yield LabelFault("copied between people", "warning", what, f"{one} and {two}", sure, _APART)


def chance_of_run(n: int, breaks: int, run: int) -> float:
    """Chance that `breaks` of `n` places, drawn at random, leave a run of `run` others without a break.

    Examples
    --------
    >>> round(chance_of_run(4, 1, 3), 3)  # the break must be the first or the last of four
    0.5
    """
    if run <= 0:
        return 1.0
    ways: int = sum(
        (-1) ** (j + 1) * math.comb(breaks + 1, j) * math.comb(n - j * run, breaks)
        for j in range(1, breaks + 2)
        if n - j * run >= breaks
    )
    return float(ways / math.comb(n, breaks))


def copied_notes(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """The same note by two people on the same item and question."""
    notes: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    columns = ("item_id", "question", "rationale", "rater")
    for item, question, note, rater in labels.select(columns).iter_rows():
        if note and len(note.strip()) >= SHORTEST_NOTE:
            notes[item, question, " ".join(note.casefold().split())].append(rater)
    if not notes:
        raise NotChecked("there are no notes")
    pairs: Counter[Sequence[str]] = Counter()
    for raters in notes.values():
        pairs.update(combinations(sorted(set(raters)), 2))
    for (one, two), n in pairs.items():
        what = f"{n} notes stand word for word in both people's labels of the same item"
        yield LabelFault("copied notes", "warning", what, f"{one} and {two}", "certain that they are equal", _APART)


def contradictions(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """A person who labelled an item several times, with different words."""
    keys = ["rater", "item_id", "question", "repeat"]
    twice = labels.filter(pl.col("verdict").is_not_null()).group_by(keys[:3], maintain_order=True)
    several = twice.agg(n=pl.len(), words=pl.col("verdict").n_unique()).filter(pl.col("n") > 1)
    for rater, table in by_rater(several):
        if n := int((table["words"] > 1).sum()):
            what = f"{n} of {table.height} items that were labelled more than once have different words"
            where = f"{rater}: {some(table.filter(pl.col('words') > 1)['item_id'].to_list())}"
            cure = "if they are repeats, keep them as such (they tell the person's own reliability); else keep one"
            yield LabelFault("contradictory duplicates", "warning", what, where, "certain", cure)
