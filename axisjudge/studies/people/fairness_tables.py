"""Where judges are unfair, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.words import in_cell, in_points
from axisjudge.studies.people.fairness import QuestionFairness, StratumFairness

_COLUMNS = (
    *("question", "by", "judge", "measure", "stratum", "items", "share"),
    *("less elsewhere", "p, Holm", "answer", "none larger than"),
)


def unfair_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question, judge, measure and stratum, those that differ most surely first."""
    rows = [(each, one) for each in fairness for one in each.differences]
    rows.sort(key=lambda row: math.inf if math.isnan(row[1].p_adjusted) else row[1].p_adjusted)
    return table_of([_row(each, one) for each, one in rows], kind, columns=_COLUMNS)


def _row(each: QuestionFairness, one: StratumFairness) -> dict[str, Any]:
    share, p = one.of.share, one.p_adjusted
    figures = (share.n_items, in_cell(share, ".0%"), in_cell(in_points(one.of.difference), "+.0f"))
    names = (each.question, each.by, one.judge, one.measure, one.of.stratum)
    tested = ("–", one.answer.value, "–") if math.isnan(p) else (f"{p:.3f}", one.answer.value, f"{one.within:.0%}")
    return dict(zip(_COLUMNS, (*names, *figures, *tested), strict=True))


def strata_rates_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question and judge: the failure rate corrected by all labels together, and by each stratum's own."""
    rows = [
        {
            "question": each.question,
            "by": each.by,
            "judge": one.judge,
            "corrected together": in_cell(one.together, ".0%"),
        }
        | {"by strata of their own": in_cell(one.own_strata, ".0%"), "why not": one.own_strata.reason}
        for each in fairness
        for one in each.rates
    ]
    return table_of(rows, kind)


#: Every table of fairness, by name.
TABLES = {"unfair": unfair_table, "strata_rates": strata_rates_table}
