"""The words of confidence against labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from axisjudge.stats.confidence.calibration import ReliabilityCurve
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.words import listed, many

UNTOLD = "How far confidences can be taken at their word cannot be told: {reason}."
NO_SPLIT = "the ratings name no calibration split with items outside it"


class Missing(StrEnum):
    """Why confidences cannot be set against labels."""

    NONE = ""
    NO_LABELS = "there are no labels of people and no planted truth"
    NO_CONFIDENCES = "no judge gave confidences"


class Word(StrEnum):
    """How far a judge's confidence can be taken at its word."""

    OVERCONFIDENT = "overconfident"
    UNDERCONFIDENT = "underconfident"
    AS_CALIBRATED = "no worse than a calibrated judge would look"


def judge(
    name: str,
    source: str,
    accuracy: float,
    confidence: float,
    *,
    curve: ReliabilityCurve,
    auc: Estimate,
    left_out: Mapping[str, int],
) -> str:
    """Over- or underconfident, more than chance or not, and whether confidence ranks right before wrong."""
    counts = ", ".join(f"{count} {what}" for what, count in left_out.items() if count)
    return (
        f"{name} ({source}) {gap(accuracy, confidence)}; {curve.ece_bins} bins give an ECE of"
        f" {curve.ece:.3f}, where a perfectly calibrated judge of so few items would show "
        f"{curve.ece_if_calibrated:.3f}. AUROC {auc.worded()}.{f' Left out: {counts}.' if counts else ''}"
    )


def gap(accuracy: float, confidence: float) -> str:
    """Accuracy beside mean confidence, and how far apart they are."""
    points = round(100 * abs(confidence - accuracy))
    off = f"{many(points, 'point')} {'more' if confidence > accuracy else 'less'}"
    return f"is right on {accuracy:.0%} of its verdicts and {confidence:.0%} sure on average, {off}"


def without(judges: Sequence[str]) -> list[str]:
    """Judges that said nothing of how sure they are; nothing where all did."""
    return [f"Without confidences on labelled items: {', '.join(judges)}."] if judges else []


def answer(found: Mapping[Word, Sequence[str]], widest: str) -> str:
    """Which judges may be taken at their word, and the widest gap in figures."""
    groups = "; ".join(f"{word}: {listed(judges, most=6)}" for word, judges in found.items() if judges)
    return f"Against labels these judges are {groups}. The widest gap: {widest}. Who is best calibrated is not tested."
