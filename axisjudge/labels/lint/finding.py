"""What a lint of labels gives back: findings, and what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

#: Each family of tests raises a false alarm on clean labels with at most this probability (tests/labels/lint).
ALPHA = 0.01


@dataclass(frozen=True)
class Finding:
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
class Lint:
    """Findings, worst first, and the checks that could not be made with the reason."""

    findings: tuple[Finding, ...]
    not_checked: dict[str, str]
    n_labels: int
    people: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        findings = [asdict(finding) for finding in self.findings]
        return {
            "labels": self.n_labels,
            "people": list(self.people),
            "findings": findings,
            "not_checked": self.not_checked,
        }


class NotChecked(Exception):
    """A check cannot be made on these labels; the text says why."""


def some(names: Sequence[object], limit: int = 3) -> str:
    """A few of many names."""
    shown = ", ".join(map(str, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then notes."""
    order = ("error", "warning", "note")
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))
