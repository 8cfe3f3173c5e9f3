"""A pytest plugin: tests of judges against people, decided on the bound that counts.

    def test_the_judge_may_gate(judged):
        judged("ratings.jsonl", labels="labels.jsonl").require("tool_selection.caught>=0.8", "kappa>=0.6")

Of a requirement that is shown to fall short the test fails, as it does where labels are too few to tell; the latter has
a letter (``?``), a count and lines of its own at the end of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import pytest

from axisjudge.checks import InputError

if TYPE_CHECKING:
    from axisjudge.stats.estimate import Decision

TOO_FEW = "too few labels"


class TooFewLabels(AssertionError):
    """No requirement is shown to fall short, and one cannot be told from these labels."""


@dataclass(frozen=True)
class Judged:
    """Judges against people; `result` is that of the study (`axisjudge.studies.people` or `.check`)."""

    result: Any
    _decide: Callable[[Sequence[str]], Sequence[Decision]] = field(repr=False)

    def require(self, *requirements: str) -> tuple[Decision, ...]:
        """Hold ``MEASURE>=NUMBER`` (of every judge and question) or ``NAME.MEASURE>=NUMBER`` (of one) to be met.

        Met when the lower bound of the interval reaches the number; with ``<=`` the upper one.

        Raises
        ------
        pytest.fail.Exception
            One is shown to fall short; `TooFewLabels` where the worst of them cannot be told.
        InputError
            None is given, or one is not of this form, or names nothing that is there.
        """
        __tracebackhide__ = True
        decisions = tuple(self._decide(requirements))
        if not decisions:
            raise InputError("require", "needs a requirement", cure="such as caught>=0.8")
        outcomes = {each.outcome for each in decisions}
        lines = "\n".join(each.sentence() for each in decisions if each.outcome != "met")
        if "short" in outcomes:
            pytest.fail(lines, pytrace=False)
        if "cannot_tell" in outcomes:
            raise TooFewLabels(lines)
        return decisions


@pytest.fixture(scope="session")
def judged() -> Callable[..., Judged]:
    """``judged(ratings, labels=...)`` compares judges' ratings with people's; ``judged(table, human=...)`` one table.

    Paths (one or several) or tables; further options are those of `axisjudge.studies.people` and
    `axisjudge.studies.check`.
    """
    return _judged


def _judged(table: Any, *, labels: Any = None, **options: Any) -> Judged:
    if labels is None:
        from axisjudge.studies.check import check, decide

        checked = check(table, **options)
        return Judged(checked, lambda requirements: decide(checked.read, requirements))
    from axisjudge.ratings import read_ratings
    from axisjudge.sources import read_label_files
    from axisjudge.studies.people import people
    from axisjudge.studies.people.compared import decide as decide_of_people

    ratings = read_ratings(*_paths(table), latest=True) if _is_path(table) else table
    human = read_label_files([str(each) for each in _paths(labels)]) if _is_path(labels) else labels
    compared = people(ratings, human, **{"n_draws": 0, **options})
    return Judged(compared, lambda requirements: decide_of_people(compared.claims.comparison, requirements))


def _is_path(given: Any) -> bool:
    return isinstance(given, str | PathLike) or (
        isinstance(given, list | tuple) and all(isinstance(each, str | PathLike) for each in given)
    )


def _paths(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | PathLike) else list(given)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Mark the report of a test that had too few labels."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(TooFewLabels):
        report.user_properties.append(("axisjudge", TOO_FEW))
        report.longrepr = call.excinfo.exconly()
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """The letter and the count of such a test; the session fails by it as by others."""
    return (TOO_FEW, "?", TOO_FEW.upper()) if _had_too_few(report) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What could not be told, test by test."""
    if reports := terminalreporter.stats.get(TOO_FEW, []):
        terminalreporter.section(TOO_FEW)
        for report in reports:
            terminalreporter.write_line(f"{report.nodeid}\n{report.longreprtext}")


def _had_too_few(report: pytest.TestReport) -> bool:
    return report.failed and ("axisjudge", TOO_FEW) in map(tuple, getattr(report, "user_properties", ()))
