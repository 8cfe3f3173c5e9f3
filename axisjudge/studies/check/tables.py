"""The figures as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.estimate import ClusteredShare, Estimate, no_interval
from axisjudge.studies.check.compute import CHANCE_CORRECTED

if TYPE_CHECKING:
    from axisjudge.studies.check.checked import Checked

COLUMNS = (
    *("judge", "measure", "of", "scale", "estimate", "low", "high", "items", "clusters", "effective_clusters"),
    *("missing", "method", "reason"),
)
#: Measure -> its name as people say it, and which word it is about.
NAMES = {
    "sensitivity": ("sensitivity (recall)", "failing"),
    "specificity": ("specificity", "passing"),
    "precision": ("precision", "failing"),
    "f1": ("F1", "failing"),
    "balanced_accuracy": ("balanced accuracy", ""),
    "agreement": ("agreement", ""),
    **{name: (COEFFICIENTS[of].label, "") for name, of in CHANCE_CORRECTED.items()},
}
#: Judges side by side in print, up to so many; more stand below each other, with these measures.
MOST_ABREAST = 4
SHORT = ("sensitivity", "specificity", "balanced_accuracy", "agreement", "kappa", "quadratic_kappa", "ac1")


def rows(result: Checked) -> list[dict[str, Any]]:
    """One row for each judge and measure, then for each judge and word its recall where there are more than two."""
    table = []
    for judge in result.judges:
        table += [_row(judge.name, *label(result, name), each) for name, each in judge.measures.items()]
        if not result.votes.question.directed:
            table += [_row(judge.name, "recall", word, "nominal", each) for word, each in judge.by_word.items()]
        if judge.said_failing is not None:
            failing = result.votes.question.failing
            table.append(_row(judge.name, "share that it calls", failing, "nominal", judge.said_failing))
        if judge.corrected is not None:
            rate = judge.corrected.rate
            table.append(_row(judge.name, "share corrected by labels", result.votes.question.failing, "nominal", rate))
    return table


def label(result: Checked, name: str) -> tuple[str, str, str]:
    """A measure's name, the word that it is about, and the scale on which it takes the words."""
    said, about = NAMES[name]
    asked = result.votes.question
    word = {"failing": asked.failing, "passing": asked.passing}.get(about, "")
    return said, word, asked.level if name in CHANCE_CORRECTED else "nominal"


def heading(result: Checked, name: str) -> str:
    """Measure and word in one heading; a coefficient's name says its level."""
    said, word, _ = label(result, name)
    return f"{said} of {word!r}" if word else said


def abreast(result: Checked) -> Iterator[tuple[str, bool, dict[str, Estimate]]]:
    """Of each measure, and of each word of more than two: heading, whether below 0 is possible, figures by judge."""
    for name in result.judges[0].measures:
        figures = {judge.name: judge.measures[name] for judge in result.judges}
        yield heading(result, name), name in CHANCE_CORRECTED, figures
    for word in [] if result.votes.question.directed else result.judges[0].by_word:
        yield f"recall of {word!r}", False, {judge.name: judge.by_word[word] for judge in result.judges}


def printed(result: Checked) -> list[dict[str, Any]]:
    """The short table: measures down and judges across, or judges down where they are many."""
    if len(result.judges) <= MOST_ABREAST:
        return [
            {"measure": measure, **{judge: spoken(found) for judge, found in by_judge.items()}}
            for measure, _, by_judge in abreast(result)
        ]
    shown = [name for name in SHORT if name in result.judges[0].measures][:4]
    return [
        {"judge": judge.name, **{heading(result, name): spoken(judge.measures[name]) for name in shown}}
        for judge in result.judges
    ]


def spoken(estimate: Estimate) -> str:
    """Estimate and interval, ``.79 (.69 to .86)``."""
    if estimate.estimate != estimate.estimate:
        return "-"
    if estimate.ci_low != estimate.ci_low:
        return f"{_points(estimate.estimate)} ({no_interval()})"
    return f"{_points(estimate.estimate)} ({_points(estimate.ci_low)} to {_points(estimate.ci_high)})"


def _points(value: float) -> str:
    text = f"{abs(value):.2f}"
    text = text.removeprefix("0") if text.startswith("0.") else text
    return f"-{text}" if value < 0 and float(text) else text


def _row(judge: str, measure: str, word: str, scale: str, estimate: Estimate) -> dict[str, Any]:
    worth = estimate.effective_clusters if isinstance(estimate, ClusteredShare) else float(estimate.n_clusters)
    cells: tuple[Any, ...] = (
        judge,
        measure,
        word,
        scale,
        estimate.estimate,
        estimate.ci_low,
        estimate.ci_high,
        estimate.n_items,
    )
    cells += (estimate.n_clusters, worth, estimate.n_missing, estimate.method, estimate.reason)
    return dict(zip(COLUMNS, cells, strict=True))
