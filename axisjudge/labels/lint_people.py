"""Lints of labels: what they take and give back, and those that hold one person against the others."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations, permutations
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.ratings import read_every_line
from axisjudge.ratings.scales import categories_of, level_of
from axisjudge.results import Result
from axisjudge.stats.comparisons.paired import holm, paired_sign_flip
from axisjudge.verdict import IDENTITY

Severity = Literal["error", "warning", "note"]

#: Each family of tests raises a false alarm on clean labels with at most this probability (tests/labels/lint).
ALPHA = 0.01


@dataclass(frozen=True)
class LabelFault:
    """Something wrong with labels.

    `severity` is ``error`` where the labels must not be used as they are, ``warning`` where somebody should look, and
    ``note`` for what limits their use. `sure` says how sure that is: certain, or the test with its p value.
    """

    check: str
    severity: Severity
    what: str
    where: str
    sure: str
    cure: str


@dataclass(frozen=True)
class Lint(Result):
    """Findings, worst first, and the checks that could not be made with the reason."""

    _keys: ClassVar = {"labels": "n_labels", "people": "people", "findings": "findings", "not_checked": "not_checked"}

    findings: tuple[LabelFault, ...]
    not_checked: dict[str, str]
    n_labels: int
    people: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)


class NotChecked(Exception):
    """A check cannot be made on these labels; the text says why."""


def some(names: Sequence[object], limit: int = 3) -> str:
    """A few of many names."""
    first = ", ".join(map(str, names[:limit]))
    return first if len(names) <= limit else f"{first} and {len(names) - limit} more"


def worst_first(findings: Sequence[LabelFault]) -> tuple[LabelFault, ...]:
    """Errors, then warnings, then notes."""
    order = ("error", "warning", "note")
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))


# The labels of people as the checks take them.

Floats = NDArray[np.float64]


def read_in_writing_order(*paths: str | Path) -> pl.DataFrame:
    """Ratings in the order of their lines, with a column `batch`: the run, else the file.

    `axisjudge.read_ratings` sorts, and copied blocks can only be seen in the order of writing.
    """
    tables = [
        read_every_line(path).with_columns(batch=pl.coalesce("run_id", pl.lit(Path(path).stem))) for path in paths
    ]
    return pl.concat(tables).unique(list(IDENTITY), keep="last", maintain_order=True)


def as_number(scale: str, verdict: str | None, value: float | None) -> float | None:
    """A word as a number whose mean may drift: 1 for a failure, the value of a step or a grade; None for others."""
    if scale == "verdict":
        return None if verdict is None else float(verdict == "incorrect")
    return value


def by_rater(labels: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The labels of each person."""
    for (rater,), table in labels.group_by("rater", maintain_order=True):
        yield str(rater), table


def words_by_item(labels: pl.DataFrame) -> dict[str, dict[str, dict[str, str]]]:
    """Question -> item -> person -> word; the first of a person's repeats."""
    words: defaultdict[str, defaultdict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    first = labels.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())
    for question, item, rater, verdict in first.select("question", "item_id", "rater", "verdict").iter_rows():
        words[question][item].setdefault(rater, verdict)
    return {question: dict(items) for question, items in words.items()}


def sums_by(groups: Iterable[object], values: Floats) -> Floats:
    """The sum of the values of each group."""
    code_of: dict[object, int] = {}
    codes = np.array([code_of.setdefault(group, len(code_of)) for group in groups], dtype=np.intp)
    return np.asarray(np.bincount(codes, weights=values, minlength=len(code_of)), dtype=np.float64)


# Codes that changed meaning: labels that agree with others only after words are exchanged.

FEWEST_TASKS = 10
#: With more words only exchanges of two are tried.
MOST_WORDS = 5


def exchanged_codes(labels: pl.DataFrame, judges: pl.DataFrame) -> Iterator[LabelFault]:
    """People, or batches of a person, whose words fit the others' better after an exchange.

    The reference of an item is the commonest word of the other people, or of judges where no other person labelled.
    The best exchange is tested by flipping, task by task, the sign of (labels that fit after it - labels that fit as
    they are); its p value is multiplied by the number of exchanges tried and of tests. Grades on an ordinal scale can
    only be turned round.
    """
    rng = np.random.default_rng(0)
    others = [words_by_item(labels), words_by_item(judges)]
    scales = dict(labels.select("question", "scale").iter_rows())
    tested = []
    for rater, table in by_rater(labels.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())):
        for (question, batch), mine in table.group_by("question", "batch", maintain_order=True):
            rows = _paired(mine, str(question), rater, others)
            if len({task for task, _, _ in rows}) >= FEWEST_TASKS:
                tested.append((rater, str(question), str(batch), table["batch"].n_unique() > 1, rows))
    if not tested:
        raise NotChecked(f"no person shares {FEWEST_TASKS} tasks with another rater")
    for rater, question, batch, several, rows in tested:
        words = sorted({word for row in rows for word in row[1:]})
        exchanges = _exchanges(scales[question], words)
        best = max(exchanges, key=lambda exchange: _fits(rows, exchange), default=None)
        if best is None or _fits(rows, best) <= _fits(rows, {}):
            continue
        gain = np.array([float(best[label] == reference) - float(label == reference) for _, label, reference in rows])
        scores = sums_by((task for task, _, _ in rows), gain)
        p = paired_sign_flip(scores, rng=rng, one_sided=True, draws=99_999)[0] * len(exchanges) * len(tested)
        if p < ALPHA:
            swapped = ", ".join(f"{word} for {best[word]}" for word in words if best[word] != word)
            as_is, exchanged = (_fits(rows, each) / len(rows) for each in ({}, best))
            what = f"agreement is {as_is:.0%} as it is and {exchanged:.0%} reading {swapped}"
            where = f"{rater}, {question}" + (f", batch {batch}" if several else "")
            sure = f"p = {p:.2g} (sign flips over tasks, times {len(exchanges)} exchanges and {len(tested)} tests)"
            cure = "compare the instructions of this person or batch with the others', and map the words at import"
            yield LabelFault("codes changed meaning", "error", what, where, sure, cure)


def _paired(
    mine: pl.DataFrame, question: str, rater: str, others: Sequence[Mapping[str, Mapping[str, Mapping[str, str]]]]
) -> list[tuple[str, str, str]]:
    """(task, the person's word, the reference) for each item with a clear reference."""
    rows = []
    for item, task, label in mine.select("item_id", "cluster_id", "verdict").iter_rows():
        for source in others:
            votes = Counter(word for who, word in source.get(question, {}).get(item, {}).items() if who != rater)
            top = votes.most_common(2)
            if top and (len(top) == 1 or top[0][1] > top[1][1]):
                rows.append((task, label, top[0][0]))
                break
    return rows


def _exchanges(scale: str, words: Sequence[str]) -> list[dict[str, str]]:
    """The ways in which words may have been exchanged, each as word -> meaning."""
    if level_of(scale) == "ordinal":
        known = categories_of(scale) or ()
        return [dict(zip(known, reversed(known), strict=True))]
    if len(words) > MOST_WORDS:
        pairs = [(one, two) for position, one in enumerate(words) for two in words[:position]]
        return [{**dict(zip(words, words, strict=True)), one: two, two: one} for one, two in pairs]
    every = [dict(zip(words, meanings, strict=True)) for meanings in permutations(words)]
    return [exchange for exchange in every if any(word != meaning for word, meaning in exchange.items())]


def _fits(rows: Sequence[tuple[str, str, str]], exchange: Mapping[str, str]) -> int:
    return sum(exchange.get(label, label) == reference for _, label, reference in rows)


# A person whose labels change over time or between batches.


@dataclass(frozen=True, eq=False)
class _Series:
    """One person's labels of a question: when (centred), what beside what was to be expected, of which task."""

    rater: str
    question: str
    over: str
    when: Floats
    residual: Floats
    tasks: tuple[str, ...]
    against: str

    @property
    def scores(self) -> Floats:
        return sums_by(self.tasks, self.when * self.residual)

    @property
    def halves(self) -> tuple[float, float]:
        early = self.when < 0
        return float(self.residual[early].mean()), float(self.residual[~early].mean())


def drifts(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose labels trend over the time of labelling, or differ in one batch.

    What is tested is the person's label minus the mean of the others' on the same item, or, where nobody else labelled,
    minus the person's own mean for that agent and domain. The score of a task is the sum over its labels of (time rank
    - mean) (residual - mean); the sign-flip test over tasks needs no more than independent tasks. Holm over people,
    questions and batches at .01.
    """
    rng = np.random.default_rng(0)
    series = [one for rater, table in by_rater(labels) for one in _series(rater, table, labels)]
    if not series:
        times = "times (created_at, ISO 8601, all with a zone or none)"
        raise NotChecked(f"no person has labels of {FEWEST_TASKS} tasks with {times} or in several batches")
    adjusted = holm([paired_sign_flip(one.scores, rng=rng)[0] for one in series])
    for one, p in sorted(zip(series, adjusted, strict=True), key=lambda pair: pair[1]):
        if p < ALPHA:
            before, after = one.halves
            what = f"labels move {one.over}: {before:+z.2f} before, {after:+z.2f} after, against {one.against}"
            sure = f"p = {p:.2g} (sign flips of {len(set(one.tasks))} tasks, Holm over {len(series)})"
            cure = "show the instructions again, relabel a share of the early items, and compare the two"
            yield LabelFault("drift", "warning", what, f"{one.rater}, {one.question}", sure, cure)


def _series(rater: str, table: pl.DataFrame, labels: pl.DataFrame) -> Iterator[_Series]:
    for (question,), mine in table.filter(pl.col("repeat") == 0).group_by("question", maintain_order=True):
        others = labels.filter((pl.col("rater") != rater) & (pl.col("question") == question))
        own, against = _residuals(_numbered(mine), _numbered(others))
        if own.height == 0 or own["cluster_id"].n_unique() < FEWEST_TASKS:
            continue
        whens: Mapping[str, pl.Expr | pl.Series] = {}
        if own["batch"].n_unique() > 1:
            batches = own["batch"].unique(maintain_order=True).to_list()
            whens = {f"in batch {batch}": (pl.col("batch") == batch).cast(pl.Float64) for batch in batches[1:]}
        elif (times := _times(own["created_at"])) is not None and times.n_unique() > 1:
            whens = {"over time": times.rank("average") / own.height}
        for over, when in whens.items():
            at = own.select(when=when)["when"].to_numpy()
            residual = own["residual"].to_numpy()
            tasks = tuple(own["cluster_id"].to_list())
            yield _Series(rater, str(question), over, at - at.mean(), residual - residual.mean(), tasks, against)


def _times(texts: pl.Series) -> pl.Series | None:
    """Times on one clock; None where their order is unknown (one is missing or no ISO 8601, only some bear a zone)."""
    try:
        times = [datetime.fromisoformat(text) for text in texts]
    except (TypeError, ValueError):
        return None
    if len({time.tzinfo is None for time in times}) > 1:
        return None
    return pl.Series([(time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() for time in times])


def _numbered(labels: pl.DataFrame) -> pl.DataFrame:
    numbers = [as_number(*row) for row in labels.select("scale", "verdict", "value").iter_rows()]
    return labels.with_columns(number=pl.Series(numbers, dtype=pl.Float64)).filter(pl.col("number").is_not_null())


def _residuals(mine: pl.DataFrame, others: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The person's numbers less what was to be expected, and what that was."""
    means = others.group_by("item_id").agg(expected=pl.col("number").mean())
    shared = mine.join(means, on="item_id", maintain_order="left")
    if shared.height * 2 >= mine.height and shared.height:
        return shared.with_columns(residual=pl.col("number") - pl.col("expected")), "the others"
    expected = pl.col("number").mean().over("agent", "domain")
    return mine.with_columns(residual=pl.col("number") - expected), "the mean of the agent (items may differ)"


# A person who agrees with nobody, where the others agree with each other, or who always says the same.

#: A person with less than this share of the others' agreement beyond chance is a stranger to them.
SHARE = 0.5
#: From so many labels on, saying the same every time is worth a word even where nobody else labelled.
FEWEST_LABELS = 10

#: A pair of people -> item -> 1 if their words are equal, else 0, less the chance of equal words.
Excess = dict[tuple[str, str], dict[str, float]]


def strangers(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose agreement with the others is far below that of the others among themselves.

    Agreement beyond chance of two people is their observed agreement less what their two distributions of words give by
    chance. Tested, by sign flips over tasks, is whether the mean over a person's pairs lies below half the mean over
    all other pairs. Bonferroni over people and questions.
    """
    task = dict(labels.select("item_id", "cluster_id").iter_rows())
    rng = np.random.default_rng(0)
    tested = []
    for question, items in words_by_item(labels).items():
        pairs = _excess(items)
        for person in sorted({name for pair in pairs for name in pair}):
            own: defaultdict[str, list[float]] = defaultdict(list)
            others: list[float] = []
            for pair, values in pairs.items():
                others += () if person in pair else values.values()
                for item in values if person in pair else ():
                    own[item].append(values[item])
            if others and len({task[item] for item in own}) >= FEWEST_TASKS:
                mine = np.array([np.mean(values) for values in own.values()])
                tested.append((question, person, float(np.mean(others)), mine, [task[item] for item in own]))
    if not tested:
        raise NotChecked(f"takes three people who share {FEWEST_TASKS} tasks")
    for question, person, usual, mine, tasks in tested:
        short = SHARE * usual - mine
        if usual <= 0 or short.mean() <= 0:
            continue
        p = paired_sign_flip(sums_by(tasks, short), rng=rng, one_sided=True)[0] * len(tested)
        if p < ALPHA:
            what = f"agreement beyond chance is {mine.mean():+z.2f} with the others, {usual:+z.2f} among these"
            sure = f"p = {p:.2g} of half of theirs (sign flips over tasks, Bonferroni over {len(tested)})"
            cure = "look whether these labels belong to other items (shifted rows) or another question; leave them out"
            cure += " of majorities until then"
            yield LabelFault("agrees with nobody", "error", what, f"{person}, {question}", sure, cure)


def _excess(items: Mapping[str, Mapping[str, str]]) -> Excess:
    shared: defaultdict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for item, words in items.items():
        for one, two in combinations(sorted(words), 2):
            shared[one, two][item] = words[one], words[two]
    excess: Excess = {}
    for pair, pairs in shared.items():
        first, second = (Counter(words[side] for words in pairs.values()) for side in (0, 1))
        chance = sum(first[word] * second[word] for word in first) / len(pairs) ** 2
        excess[pair] = {item: float(words[0] == words[1]) - chance for item, words in pairs.items()}
    return excess


def constant_raters(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose labels of a question are all one word while others' labels of the same items are not.

    The chance that one of the others would have said that word alone is q^G: q is the share of the others' tasks on
    which they said nothing else, G the tasks of this person. Since q is the mean over tasks, the true chance is no
    greater when tasks differ. Bonferroni over people and questions.
    """
    given = labels.filter(pl.col("verdict").is_not_null())
    n_tests = given.select("rater", "question").unique().height
    alone: dict[str, list[str]] = defaultdict(list)
    for rater, table in by_rater(given):
        for (question,), own in table.group_by("question", maintain_order=True):
            if own["verdict"].n_unique() > 1:
                continue
            word = str(own["verdict"][0])
            others = given.filter(
                (pl.col("question") == question)
                & (pl.col("rater") != rater)
                & pl.col("item_id").is_in(own["item_id"].implode())
            )
            tasks = others.group_by("rater", "cluster_id").agg(only=(pl.col("verdict") == word).all())
            shared = own.filter(pl.col("item_id").is_in(others["item_id"].unique().implode()))["cluster_id"].n_unique()
            p = math.nan if tasks.is_empty() else float(tasks["only"].mean() or 0.0) ** shared  # type: ignore[arg-type]
            if p * n_tests < ALPHA and own.height >= FEWEST_LABELS:
                what = f"{rater} said `{word}` {own.height} times of {own.height}, and others did not"
                sure = f"p = {p * n_tests:.2g} (q^G on {shared} tasks, Bonferroni over {n_tests})"
                cure = "ask the person; leave these labels out of majorities and of the person-person ceiling"
                yield LabelFault("constant annotator", "error", what, f"{rater}, {question}", sure, cure)
            elif tasks.is_empty():
                alone[f"{rater}\n{word}"] += [str(question)] * own.height
    for name, questions in alone.items():
        rater, word = name.split("\n")
        whole = given.filter(pl.col("rater") == rater)
        n = len(questions)
        if n >= FEWEST_LABELS and whole.filter(pl.col("question").is_in(questions))["verdict"].n_unique() == 1:
            what = f"all {n} labels are `{word}`, and nobody else labelled these items"
            where = f"{rater}, {', '.join(dict.fromkeys(questions))}"
            sure = "certain that they are; whether that is right cannot be seen"
            cure = "labels of one word give neither specificity nor a chance-corrected agreement: label others too"
            yield LabelFault("constant annotator", "warning", what, where, sure, cure)
