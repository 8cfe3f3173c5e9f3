"""Reports: notebooks run without a hand on the keyboard and published as pages that stand alone.

A notebook speaks to its report through `Page`; `run_reports` runs notebooks and publishes what they say.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge.report.kernel import ReportError as ReportError
    from axisjudge.report.page import Page as Page
    from axisjudge.report.run import ReportResult as ReportResult
    from axisjudge.report.run import run_report as run_report
    from axisjudge.report.run import run_reports as run_reports

_HOMES = {
    "Page": "page",
    "ReportError": "kernel",
    "ReportResult": "run",
    "run_report": "run",
    "run_reports": "run",
}

__all__ = ["Page", "ReportError", "ReportResult", "run_report", "run_reports"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Page":  # the import in a notebook's first cells, before anything is read, judged or paid
        import_module(f"{__name__}.notebook").check_injected()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
