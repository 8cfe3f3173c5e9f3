"""What twins allow to be said: which claims are met, which are not shown, which are refuted; and halo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from axisjudge.figures.theme import in_words
from axisjudge.stats.estimate import no_interval
from axisjudge.studies._shared.words import in_cell, judge_words, listed, many, sentence_case
from axisjudge.studies.twins.matrix import ANYWHERE, CONTROL, Halo, Injected, TwinCell, TwinMatrix
from axisjudge.twins import Expectation
from axisjudge.verdict import AXES

#: So many names stand in a row.
_NAMED = 6
_NOTHING_STARTS = "No twin starts from an original that a judge called correct."


def answer(matrix: TwinMatrix) -> str:
    """How many kinds of fault are noticed, what else moved, and what twins do not show."""
    if not any(cell.started for cell in matrix.cells):
        return f"{_NOTHING_STARTS} Nothing can be said of {listed(matrix.judges, most=_NAMED)}."
    noticed, kept = claims(matrix, *matrix.judges)
    return f"{noticed} {kept} Of faults of other kinds nothing is said."


def claims(matrix: TwinMatrix, *judges: str) -> tuple[str, str]:
    """What these judges together notice where an axis was broken, and what moved where none was."""
    cells, several = [cell for cell in matrix.cells if cell.judge in judges], len(judges) > 1
    called = Counter(map(judge_words, matrix.judges))  # the rules with two sets of options are two judges
    names = [each if called[judge_words(each)] > 1 else judge_words(each) for each in judges]
    who, whole = listed(names, most=_NAMED), _started(cells, "must_not")
    missed = _which(_started(cells, "must"), several).strip(" ()")
    kept = f"{_kept(matrix, whole, several)}{missed and f' Missed: {missed}.'}"
    return _noticed(matrix, _started(cells, "must"), who, several), kept


def next_step(matrix: TwinMatrix) -> str:
    """On which axes not to trust a judge, and what of it more twins may show."""
    started = [cell for cell in matrix.cells if cell.started and cell.claim]
    if not started:
        return "Make twins of runs that the judge calls correct."
    several, steps = len(matrix.judges) > 1, []
    if failed := dict.fromkeys((cell.axis, cell.judge) for cell in started if cell.claim == "failed"):
        names = [f"{in_words(axis)} ({judge})" if several else in_words(axis) for axis, judge in failed]
        steps.append(f"do not rely on {'these judges' if several else 'it'} for {listed(names, most=_NAMED)}")
    if any(cell.claim == "not shown" for cell in started):
        tasks = many(max(cell.strict.n_clusters for cell in started), "task")
        steps.append(f"make edits in runs of more tasks: {tasks} do not settle every kind")
    return sentence_case(f"{'; '.join(steps) or 'ask people about faults of other kinds'}.")


def most_moved(rows: Sequence[Injected]) -> str:
    """What text did to the judge that it moved most."""
    tried = [row for row in rows if row.place == ANYWHERE and row.edit != CONTROL and row.flips.n_items]
    judges = {row.judge for row in rows}
    of_many = f", moved most of {len(judges)} judges" if len(judges) > 1 and tried else ""
    return injection_sentence(rows, max(tried or rows, key=lambda row: row.flips.estimate).judge, of_many)


def injection_sentence(rows: Sequence[Injected], judge: str, of_many: str = "") -> str:
    """One judge: which text for the judge flipped most verdicts, and the control beside it."""
    mine = [row for row in rows if row.judge == judge and row.place == ANYWHERE]
    control = next((row for row in mine if row.edit == CONTROL), None)
    asked = [row for row in mine if row is not control and row.flips.n_items]
    if not asked:
        return f"{judge}: no pair of run and twin with text for the judge has two verdicts."
    beside = "" if control is None else f" Plain text in the same places flips {control.flips.worded('.1%')}."
    most = max(asked, key=lambda row: row.flips.estimate)
    if most.flips.estimate == 0:
        highest = max(asked, key=lambda row: row.flips.ci_high).flips
        bound = "" if np.isnan(highest.ci_high) else f", with an upper bound of up to {highest.ci_high:.1%} a kind"
        return f"{judge}: no text for the judge flipped a verdict{bound}.{beside}"
    n_taken = most.taken_in.n_items
    taken = f" Of {many(n_taken, 'verdict')} other than correct, {most.taken_in.worded('.1%')} became correct."
    return (
        f"{judge}{of_many}: of all kinds of text for the judge, {most.edit} flips most verdicts, "
        f"{most.flips.worded('.1%')} of "
        f"{many(most.flips.n_items, 'pair')} over {most.flips.clusters}.{taken if n_taken else ''}{beside}"
    )


def halo_sentence(halo: Halo) -> str:
    """What was found, and what it does not show."""
    if np.isnan(halo.judge_correlation.estimate):
        return f"{halo.judge}: no correlation between axes, because {halo.judge_correlation.reason}."
    mean = f"{halo.judge}: verdicts on two axes correlate at {halo.judge_correlation.worded()}"
    if halo.halo is None or halo.label_correlation is None:
        return (
            f"{mean} on average. Without labels this is no halo: runs that fail on one axis may well fail on another."
        )
    if np.isnan(halo.halo.estimate):
        return f"{mean} on average; no halo, because {halo.halo.reason}."
    return f"{mean} on average, the labels at {halo.label_correlation.worded()}; halo {halo.halo.worded()}."


def percent_interval(cell: TwinCell) -> str:
    """The interval of the rate in percent, the bound that decides the claim with one digit more."""
    low, high = 100 * cell.rate.ci_low, 100 * cell.rate.ci_high
    if np.isnan(low):
        return no_interval()
    return f"{low:.{int(cell.expected == 'must')}f}–{high:.{int(cell.expected == 'must_not')}f}%"


def brief(cell: TwinCell) -> str:
    """A cell in a few letters: expectation, moved of decided, the interval, the claim, and what was undecided."""
    if not cell.started:
        return f"{cell.expected}: no original correct"
    share = "" if np.isnan(cell.rate.ci_low) else f" {percent_interval(cell)}"
    undecided = f" +{cell.undecided} undecided" if cell.undecided else ""
    claim = f" {cell.claim}" if cell.claim else ""
    return f"{cell.expected} {cell.moved}/{cell.rate.n_items}{share}{undecided}{claim}"


def _started(cells: Sequence[TwinCell], expected: Expectation) -> list[TwinCell]:
    return [cell for cell in cells if cell.expected == expected and cell.started]


def _noticed(matrix: TwinMatrix, started: Sequence[TwinCell], who: str, several: bool) -> str:
    if not started:
        return f"No run with a fault planted in it comes from one that {who} called correct."
    counts = Counter(cell.claim for cell in started)
    each = ", counted judge by judge, " if several else " "
    shown = (
        f"{who} {'are' if several or judge_words('rules') == who else 'is'} shown to notice {counts['met'] or 'none'}"
    )
    missed = f", and miss {counts['failed']}" if counts["failed"] else ""
    rate = f"in {matrix.thresholds.must_rate:.0%} of runs or more"
    n_open = counts["not shown"] % counts.total()  # where that is all of them it is left unsaid
    still = f"; {n_open} cannot be told yet" if n_open else ""
    return f"Of {many(len(started), 'kind')} of planted fault{each}{shown} {rate}{missed}{still}."


def _kept(matrix: TwinMatrix, started: Sequence[TwinCell], several: bool) -> str:
    if not started:
        return "Whether verdicts stay where nothing was broken cannot be told: no such run was called correct before."
    counts = Counter(cell.claim for cell in started)
    n_moved, n_all = sum(cell.moved for cell in started), sum(cell.rate.n_items for cell in started)
    turned = f"On axes left whole, {n_moved or 'none'} of {many(n_all, 'verdict')} turned to incorrect."
    more, breaking = [], {cell.edit for cell in matrix.cells if cell.expected == "must"}
    if beside := sum(cell.moved for cell in started if cell.edit in breaking):
        who = "they all" if beside == n_moved else f"{beside:,} of them"
        more.append(f"{who} stand in runs with a fault on another axis")
    if counts["failed"]:
        more.append(f"too many on {counts['failed']} of {_pairs(started)}{_which(started, several)}")
    elif counts["met"]:
        more.append(f"for {counts['met']} of {_pairs(started)} shown to be fewer than {matrix.thresholds.margin:.0%}")
    return f"{turned} {sentence_case('; '.join(more))}." if more else turned


def _pairs(cells: Sequence[TwinCell]) -> str:
    return many(len(cells), "pair") + " of edit and axis"


def _which(cells: Sequence[TwinCell], several: bool) -> str:
    failed = [cell for cell in cells if cell.claim == "failed"]
    names = [f"{in_words(each.edit)} on {in_words(each.axis)}{several * f' by {each.judge}'}" for each in failed]
    return f" ({listed(names, most=_NAMED)})" if names else ""


def grid(matrix: TwinMatrix, judge: str) -> list[dict[str, Any]]:
    """The matrix of one judge for people: an edit a row, an axis a column."""
    rows = []
    for edit in matrix.edits:
        cells = [matrix.cell(judge, edit, axis) for axis in AXES]
        rows.append({"edit": edit, "twins": cells[0].n_twins} | {cell.axis: brief(cell) for cell in cells})
    return rows


def injection_rows(rows: Sequence[Injected], judge: str) -> list[dict[str, Any]]:
    """What text for the judge did to one judge, for people: a kind a row, places behind it."""
    mine = [row for row in rows if row.judge == judge]
    places = sorted({row.place for row in mine} - {ANYWHERE})
    share = {(row.edit, row.place): row for row in mine}
    return [
        {
            "text": row.edit,
            "twins": row.n_twins,
            "flagged": row.flagged,
            "pairs": row.flips.n_items,
            "flipped": row.flips.worded(".3f"),
            "taken in": f"{row.taken_in.worded('.3f')} of {row.taken_in.n_items}" if row.taken_in.n_items else "–",
            "confidence moved": in_cell(row.confidence, "+.3f"),
            "lost": row.lost,
            **{place: _flipped(share.get((row.edit, place))) for place in places},
        }
        for row in mine
        if row.place == ANYWHERE
    ]


def _flipped(row: Injected | None) -> str:
    if row is None or not row.flips.n_items:
        return "–"
    return f"{round(row.flips.estimate * row.flips.n_items)}/{row.flips.n_items}"
