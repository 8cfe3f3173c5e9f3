"""Tables of a succession: the bridge per question, rates re-stated, and occasions of a judge that stays."""

from __future__ import annotations

import math
from typing import Any

from axisjudge.results import columns
from axisjudge.studies._shared.frames import with_ends
from axisjudge.studies.succession.bridge import QuestionBridge
from axisjudge.studies.succession.drift import Drift


def bridge_row(bridge: QuestionBridge) -> dict[str, Any]:
    """Shift and agreement with their bounds, and what is shown."""
    both = bridge.equivalence
    return {
        "question": bridge.question,
        "anchors": bridge.n_anchors,
        "tasks": both.agreement.n_clusters,
        "decided": both.shift.n_items,
        "shift": both.shift.estimate,
        "shift from": both.shift.ci_low,
        "shift to": both.shift.ci_high,
        "agreement": both.agreement.estimate,
        "at least": both.agreement.ci_low,
        "old with itself": math.nan if both.self_agreement is None else both.self_agreement.estimate,
        "kappa": bridge.kappa.estimate,
        "to incorrect": bridge.to_incorrect,
        "to correct": bridge.to_correct,
        "shown": "equivalent" if both.equivalent else "not shown",
    }


#: Columns of rates as they were and as they are re-stated, and where their figures stand.
RESTATED = columns(
    "agent question runs=before.n_items anchors=n_anchors",
    with_ends("old judge", "before"),
    with_ends("re-stated", "rate.rate", low="from", high="to"),
    "wider=extra_doubt",
)


def drift_rows(drift: Drift) -> list[dict[str, Any]]:
    """One row an occasion: when, by which model, and the change from the first."""
    rows = []
    e_values = drift.evidence.e_values.tolist() if drift.evidence else [None] * len(drift.occasions)
    for seen, each, e_value in zip(drift.seen, (None, *drift.occasions), (None, *e_values), strict=True):
        change = each and each.change.change
        rows.append(
            {
                "occasion": seen.number,
                "from": seen.first_day,
                "to": seen.last_day,
                "model": ", ".join(seen.returned_models) or None,
                "runs": seen.n_runs,
                "ratings": seen.n_ratings,
                "shift": change and change.estimate,
                "low": change and change.ci_low,
                "high": change and change.ci_high,
                "p": each and each.change.p_value,
                "stops at p": each and each.allowed,
                "noise up to": each and each.threshold,
                "evidence": e_value,
                "stop": each and each.stop,
            }
        )
    return rows
