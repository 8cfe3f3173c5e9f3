"""What a lint of labels gives back: findings, and what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from axisjudge.results import Result, columns

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

    _keys = columns("labels=n_labels people findings not_checked")

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
