"""What adjudication allows to be said."""

from __future__ import annotations

from typing import Any

from axisjudge.studies._shared.words import share

ALL_AXES = "all axes"

ONE_WAY = (
    "Adjudicating disagreements alone moves accuracy one way: where key and judges are wrong together nobody looks. "
    "The figures after adjudication therefore weigh in the agreements that were drawn at random."
)


def report_sentences(report: Any) -> list[str]:
    """How many items were looked at, how often the key was wrong, and each judge's accuracy before and after."""
    lines = [f"{report.n_decided} of {report.n_items} labelled items were adjudicated."]
    if report.n_ties:
        lines.append(f"People were tied on {report.n_ties} of these, so that there was no key to be right or wrong.")
    if report.wrong.refusal:
        lines.append(f"How often the key is wrong cannot be said: {report.wrong.refusal}.")
    else:
        rate = f"{share(report.wrong.rate)} of all labelled items, each weighted by one over its chance of being drawn"
        lines.append(f"The key was wrong on {rate}.")
    return [*lines, *(accuracy_sentence(one) for one in report.judges if one.question == ALL_AXES), ONE_WAY]


def accuracy_sentence(one: Any) -> str:
    """The three figures of one judge in words."""
    start = f"{one.judge}: accuracy against the key {share(one.before)} before"
    if one.after.refusal:
        return f"{start}; none after, because {one.after.refusal}."
    alone = f"{one.disagreements_alone.estimate:.0%} with disagreements alone mended"
    return f"{start}, {share(one.after.rate)} after adjudication ({alone})."
