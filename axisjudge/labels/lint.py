"""What is wrong with people's labels before anybody compares a judge with them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from unicodedata import combining, normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.labels.lint_people import (
    ALPHA,
    LabelFault,
    Lint,
    NotChecked,
    Severity,
    by_rater,
    constant_raters,
    drifts,
    exchanged_codes,
    read_in_writing_order,
    some,
    strangers,
    words_by_item,
    worst_first,
)
from axisjudge.labels.panel import BY_PERSON
from axisjudge.labels.sampling import with_drawn
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import OPEN, check_citations

# Copied labels: blocks within one person's labels, runs between two people, notes in the same words.

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
    label = pl.concat_str(
        pl.col("question"),
        pl.col("step_index").cast(pl.String).fill_null(""),
        pl.col("verdict").fill_null(pl.col("value").cast(pl.String)).fill_null("?"),
        separator=" ",
    )
    ordered = table.with_columns(said=label).group_by("trajectory_id", maintain_order=True)
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


# One person, question or word in two spellings; a question on two scales.

#: Shorter names differ by one letter because they are different names.
SHORTEST = 5
#: A misspelt word is rare beside the word that was meant.
RARE = 0.02


def spelling_variants(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """Raters, questions and words that differ in case, blanks and marks alone, or in one letter; raters in accents."""
    items: dict[str, set[tuple[str, str]]] = {}
    for rater, item, question in labels.select("rater", "item_id", "question").iter_rows():
        items.setdefault(rater, set()).add((item, question))
    for one, two in combinations(sorted(items), 2):
        if _same(_unaccented(one), _unaccented(two)):
            yield _finding("rater", one, two, "warning", "certain but for two people of one name")
        elif _one_slip(one, two) and not items[one] & items[two]:
            yield _finding("rater", one, two, "note", "a guess: one letter apart, and no item labelled by both")
    questions = sorted(labels["question"].unique())
    for one, two in combinations(questions, 2):
        if _same(one, two):
            yield _finding("question", one, two, "error", "certain")
    nominal = labels.filter(pl.col("scale").str.starts_with("nominal:") & pl.col("verdict").is_not_null())
    for (question,), table in nominal.group_by("question", maintain_order=True):
        counts = Counter(table["verdict"].to_list())
        for one, two in combinations(sorted(counts), 2):
            rare = min(counts[one], counts[two]) <= max(1, RARE * max(counts[one], counts[two]))
            if _same(one, two):
                yield _finding(f"word of {question}", one, two, "error", "certain")
            elif rare and _one_slip(one, two):
                yield _finding(f"word of {question}", one, two, "warning", "a guess: one letter apart, one is rare")


def changed_scales(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """A question whose labels stand on several scales."""
    scales = labels.group_by("question", maintain_order=True).agg(pl.col("scale").unique().sort())
    for question, used in scales.iter_rows():
        if len(used) > 1:
            what = f"labels of {question} stand on {len(used)} scales"
            cure = "import again with one --scale for the question, or name the question anew"
            yield LabelFault("one scale a question", "error", what, " and ".join(used), "certain", cure)


def _finding(kind: str, one: str, two: str, severity: Severity, sure: str) -> LabelFault:
    what = f"{kind} in two spellings"
    cure = f"if they are one, write {one!r} in both places"
    return LabelFault("spelling", severity, what, f"{one!r} and {two!r}", sure, cure)


def _same(one: str, two: str) -> bool:
    names = (normalize("NFKC", name).casefold() for name in (one, two))
    letters = ["".join(letter for letter in name if letter.isalnum()) for name in names]
    return letters[0] == letters[1] != ""


def _unaccented(name: str) -> str:
    return "".join(letter for letter in normalize("NFKD", name) if not combining(letter))


def _one_slip(one: str, two: str) -> bool:
    """One letter more, less, other, or two swapped; digits and single-letter parts number things and do not count."""
    one, two = sorted((one.casefold(), two.casefold()), key=len)
    if len(one) < SHORTEST or len(two) - len(one) > 1:
        return False
    start = next((at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), len(one))
    rest, other = one[start:], two[start:]
    slips = [(rest[1:], other[1:]), (rest, other[1:]), (rest[2:], other[2:] if rest[:2] == other[1::-1] else None)]
    if not any(left == right for left, right in slips[:2]) and not (len(rest) > 1 and slips[2][0] == slips[2][1]):
        return False
    changed = rest[:1] + other[:1]
    alone = all(len(part) == 1 for part in (_part(one, start), _part(two, start)))
    return not any(letter.isdigit() for letter in changed) and not alone


def _part(name: str, position: int) -> str:
    """The part of a name, between marks and blanks, in which a letter stands."""
    left = right = min(position, len(name) - 1)
    while left > 0 and name[left - 1].isalnum():
        left -= 1
    while right < len(name) and name[right].isalnum():
        right += 1
    return name[left:right]


# Gold labels: merged ones that are always one person's, and labels behind which one vote stands.

#: Names under which merged labels go.
NAMES = ("gold", "key", "merged", "consensus", "majority", "adjudicated", "final", "ground_truth", "reference")
#: From this share on, single votes are more than stragglers.
MANY = 0.1


def gold_raters(labels: pl.DataFrame, named: Collection[str] = ()) -> tuple[str, ...]:
    """The raters whose labels are merged ones: those named, else those that are called so."""
    raters = labels["rater"].unique(maintain_order=True).to_list()
    return tuple(rater for rater in raters if rater in named or (not named and rater.casefold() in NAMES))


def one_label_wins(labels: pl.DataFrame, gold: Collection[str]) -> Iterator[LabelFault]:
    """A merged label that is one person's wherever people differ.

    Under a fair merge the label of an item is that of one of its votes drawn at random, or the majority's. So the
    chance that it is always this person's is the product, over items on which this person is contradicted, of the
    person's share of the votes, or 1 where the person is in the majority; one item a task. Bonferroni over people.
    """
    if not gold:
        raise NotChecked("no rater is a merged label (name it with --gold)")
    task = dict(labels.select("item_id", "cluster_id").iter_rows())
    for merged in gold:
        contested: defaultdict[str, dict[str, float]] = defaultdict(dict)
        lost: set[str] = set()
        for items in words_by_item(labels).values():
            for item, words in items.items():
                votes = Counter(word for rater, word in words.items() if rater not in gold)
                if merged not in words or len(votes) < 2:
                    continue
                for rater in words.keys() - set(gold):
                    mine = votes[words[rater]]
                    share = 1.0 if mine * 2 > votes.total() else mine / votes.total()
                    contested[rater][task[item]] = max(share, contested[rater].get(task[item], 0.0))
                    lost |= {rater} if words[merged] != words[rater] else set()
        for rater, shares in contested.items():
            p = math.prod(shares.values()) * len(contested)
            if rater not in lost and p < ALPHA:
                what = f"{merged} is {rater}'s label on every item on which people differ ({len(shares)} tasks)"
                sure = f"p = {p:.2g} were the merge fair (product of vote shares, Bonferroni)"
                cure = f"do not count {merged} and {rater} as two; merge anew by majority or adjudicate the differences"
                yield LabelFault("one label wins", "error", what, f"{merged}, {rater}", sure, cure)


def single_votes(labels: pl.DataFrame, gold: Collection[str]) -> Iterator[LabelFault]:
    """Items behind whose label one person stands, or nobody that is known."""
    few: list[str] = []
    questions: Counter[str] = Counter()
    considered = 0
    for question, items in words_by_item(labels).items():
        for item, words in items.items():
            if gold and not words.keys() & set(gold):
                continue
            considered += 1
            if len(words.keys() - set(gold)) <= 1:
                few.append(item)
                questions[question] += 1
    if few:
        behind = "the merged label of" if gold else "the label of"
        severity: Severity = "warning" if len(few) >= MANY * considered else "note"
        what = f"{behind} {len(few)} of {considered} items rests on one person, or on nobody that is known"
        cure = "have a second person label these items: without one there is no person-person ceiling"
        where = f"{some(list(questions), 5)}: {some(few)}"
        yield LabelFault("single vote", severity, what, where, "certain", cure)


# All checks over one table of labels.


def lint_labels(
    labels: pl.DataFrame, *, trajectories: Iterable[Trajectory] | None = None, gold: Collection[str] = ()
) -> Lint:
    """Findings on people's labels.

    Parameters
    ----------
    labels : polars.DataFrame
        A ratings table in the order in which labels were written (`read_in_writing_order`), with a column `batch` or
        without. Labels of judges in it serve as a reference where no other person labelled, and are not checked.
    trajectories : iterable of Trajectory, optional
        The runs that were labelled.
    gold : collection of str
        Raters whose labels are merged ones; by default those that are called gold, key, merged, consensus, ...

    Raises
    ------
    InputError
        No person labelled here, or a rater that is named as gold does not exist.
    """
    table = labels if "batch" in labels.columns else labels.with_columns(batch=pl.lit(""))
    people = table.filter(BY_PERSON & ~pl.col("flags").list.contains(OPEN).fill_null(False))
    if people.is_empty():
        raise InputError("labels", "no person labelled here", cure="lint checks labels of rater_kind human")
    if absent := set(gold) - set(people["rater"]):
        raise InputError("gold", "nobody labelled under this name", sorted(absent)[0])
    merged = gold_raters(people, gold)
    voters = people.filter(~pl.col("rater").is_in(merged))
    runs: Mapping[str, Trajectory] | None = None if trajectories is None else {run.id: run for run in trajectories}
    checks: dict[str, Callable[[], Iterator[LabelFault]]] = {
        "trajectory exists": lambda: missing_trajectories(people, runs),
        "step exists": lambda: missing_steps(people, runs),
        "spelling": lambda: spelling_variants(people),
        "one scale a question": lambda: changed_scales(people),
        "contradictory duplicates": lambda: contradictions(people),
        "copied block": lambda: copied_blocks(voters),
        "copied between people": lambda: copied_between(voters),
        "copied notes": lambda: copied_notes(voters),
        "constant annotator": lambda: constant_raters(voters),
        "agrees with nobody": lambda: strangers(voters),
        "drift": lambda: drifts(voters),
        "codes changed meaning": lambda: exchanged_codes(voters, table.filter(~BY_PERSON)),
        "one label wins": lambda: one_label_wins(people, merged),
        "single vote": lambda: single_votes(people, merged),
        "draw": lambda: unknown_draws(people),
    }
    findings: list[LabelFault] = []
    not_checked = {}
    for name, check in checks.items():
        try:
            findings += check()
        except NotChecked as reason:
            not_checked[name] = str(reason)
    return Lint(worst_first(findings), not_checked, people.height, tuple(people["rater"].unique(maintain_order=True)))


def unknown_draws(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """Labels that do not say how their items were drawn."""
    unknown = int((with_drawn(labels)["drawn"] == "unknown").sum())
    if unknown:
        what = f"{unknown} of {labels.height} labels do not say how their items were drawn"
        cure = "state it at import (--sampling, --plan); corrected failure rates are refused until then"
        yield LabelFault("draw", "note", what, "flags", "certain", cure)


def missing_trajectories(labels: pl.DataFrame, runs: Mapping[str, Trajectory] | None) -> Iterator[LabelFault]:
    """Ids of labels that no trajectory has."""
    if runs is None:
        raise NotChecked("no trajectories were given (--trajectories)")
    missing = [run for run in labels["trajectory_id"].unique(maintain_order=True) if run not in runs]
    if missing:
        n = labels.filter(pl.col("trajectory_id").is_in(missing)).height
        what = f"{n} labels are of {len(missing)} trajectories that are not there"
        cure = "give the missing trajectories, or mend the ids in the label file"
        sure = "certain, if all trajectories were given"
        yield LabelFault("trajectory exists", "error", what, some(missing), sure, cure)


def missing_steps(labels: pl.DataFrame, runs: Mapping[str, Trajectory] | None) -> Iterator[LabelFault]:
    """Steps that are cited or labelled and do not exist."""
    if runs is None:
        raise NotChecked("no trajectories were given (--trajectories)")
    columns = ("rater", "item_id", "question", "trajectory_id", "step_index", "cited_step_indices")
    cited, labelled = [], []
    for rater, item, question, run, step, cites in labels.select(columns).iter_rows():
        if run not in runs:
            continue
        n_steps = len(runs[run].steps)
        if absent := check_citations(cites or (), n_steps):
            cited.append(f"{rater} on {item}, {question}: step {absent[0]} of {n_steps}")
        if step is not None and check_citations((step,), n_steps):
            labelled.append(f"{rater}: {item} of {n_steps}")
    cure = "steps are counted from 0; labels from a tool that counts from 1 need its own numbers mapped"
    if cited:
        what = f"{len(cited)} labels cite a step that does not exist"
        yield LabelFault("cited step exists", "error", what, some(cited), "certain", cure)
    if labelled:
        what = f"{len(labelled)} labels are of a step that does not exist"
        yield LabelFault("labelled step exists", "error", what, some(labelled), "certain", cure)


__all__ = ["ALPHA", "LabelFault", "Lint", "lint_labels", "read_in_writing_order"]
