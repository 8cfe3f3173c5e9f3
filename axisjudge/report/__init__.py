"""Reports: notebooks run without a hand on the keyboard and published as pages that stand alone.

A notebook speaks to its report through `Page`; `run_reports` runs notebooks and publishes what they say.
"""

from axisjudge.report.kernel import ReportError
from axisjudge.report.page import Page
from axisjudge.report.run import ReportResult, run_report, run_reports

__all__ = ["Page", "ReportError", "ReportResult", "run_report", "run_reports"]
