"""The check as one page that works offline: escaped, without scripts, in light, dark, print and on a phone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from axisjudge.figures.markup import template
from axisjudge.stats.estimate import Estimate
from axisjudge.studies.check.sentences import answer, report
from axisjudge.studies.check.tables import abreast, spoken

if TYPE_CHECKING:
    from axisjudge.studies.check.checked import Checked

_TITLES = {
    "read": "What was read",
    "judges": "What each judge passes and catches",
    "beside each other": "Beside each other",
    "supported": "What the file supports",
    "next": "Next",
}


def markup(result: Checked, form: Literal["page", "fragment"]) -> str:
    """The whole page, or the same without its frame, for a notebook."""
    return template("axisjudge.studies.check", f"{form}.html.j2").render(**_parts(result))


def _parts(result: Checked) -> dict[str, Any]:
    parts = [(name, _TITLES[name], lines) for name, lines in report(result).items() if lines]
    return {
        "level": f"{result.terms.ci_level:.0%}",
        "source": result.source,
        "counts": [{"judge": judge, "heads": list(rows[0]), "rows": rows} for judge, rows in result.counts.items()],
        "differ": result.disagreements,
        "columns": result.recognised,
        "answer": answer(result),
        "parts": parts,
        "measures": [  # one block a measure, one bar a judge
            {"heading": said, "bars": [_bar(*of, signed=signed) for of in figures.items()], "zero": 50 if signed else 0}
            for said, signed, figures in abreast(result)
        ],
    }


def _bar(judge: str, found: Estimate, *, signed: bool) -> dict[str, Any]:
    ends = (found.estimate, found.ci_low, found.ci_high)
    at, low, high = (None if math.isnan(end) else (50 + 50 * end if signed else 100 * end) for end in ends)
    return {"judge": judge, "at": at, "low": low, "high": high, "text": spoken(found), "reason": found.reason}
