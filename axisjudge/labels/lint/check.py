"""All checks over one table of labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import polars as pl

from axisjudge.checks import InputError
from axisjudge.labels.lint.codes import exchanged_codes
from axisjudge.labels.lint.constant import constant_raters
from axisjudge.labels.lint.copies import contradictions, copied_between, copied_blocks, copied_notes
from axisjudge.labels.lint.drift import drifts
from axisjudge.labels.lint.existence import missing_steps, missing_trajectories
from axisjudge.labels.lint.finding import LabelFault, Lint, NotChecked, worst_first
from axisjudge.labels.lint.gold import gold_raters, one_label_wins, single_votes
from axisjudge.labels.lint.spelling import changed_scales, spelling_variants
from axisjudge.labels.lint.strangers import strangers
from axisjudge.labels.record import OPEN
from axisjudge.labels.sampling import with_drawn
from axisjudge.labels.simulated_people import BY_PERSON
from axisjudge.trajectory import Trajectory


def lint_labels(
    labels: pl.DataFrame, *, trajectories: Iterable[Trajectory] | None = None, gold: Collection[str] = ()
) -> Lint:
    """Findings on people's labels.

    Parameters
    ----------
    labels : polars.DataFrame
        A ratings table in the order in which labels were written (`read_in_writing_order`), with a column `batch` or
        without. Labels of judges in it serve as a reference where no other person labelled, and are not checked.
    trajectories : iterable of Trajectory, optional
        The runs that were labelled.
    gold : collection of str
        Raters whose labels are merged ones; by default those that are called gold, key, merged, consensus, ...

    Raises
    ------
    InputError
        No person labelled here, or a rater that is named as gold does not exist.
    """
    table = labels if "batch" in labels.columns else labels.with_columns(batch=pl.lit(""))
    people = table.filter(BY_PERSON & ~pl.col("flags").list.contains(OPEN).fill_null(False))
    if people.is_empty():
        raise InputError("labels", "no person labelled here", cure="lint checks labels of rater_kind human")
    if absent := set(gold) - set(people["rater"]):
        raise InputError("gold", "nobody labelled under this name", sorted(absent)[0])
    merged = gold_raters(people, gold)
    voters = people.filter(~pl.col("rater").is_in(merged))
    runs: Mapping[str, Trajectory] | None = None if trajectories is None else {run.id: run for run in trajectories}
    checks: dict[str, Callable[[], Iterator[LabelFault]]] = {
        "trajectory exists": lambda: missing_trajectories(people, runs),
        "step exists": lambda: missing_steps(people, runs),
        "spelling": lambda: spelling_variants(people),
        "one scale a question": lambda: changed_scales(people),
        "contradictory duplicates": lambda: contradictions(people),
        "copied block": lambda: copied_blocks(voters),
        "copied between people": lambda: copied_between(voters),
        "copied notes": lambda: copied_notes(voters),
        "constant annotator": lambda: constant_raters(voters),
        "agrees with nobody": lambda: strangers(voters),
        "drift": lambda: drifts(voters),
        "codes changed meaning": lambda: exchanged_codes(voters, table.filter(~BY_PERSON)),
        "one label wins": lambda: one_label_wins(people, merged),
        "single vote": lambda: single_votes(people, merged),
        "draw": lambda: unknown_draws(people),
    }
    findings: list[LabelFault] = []
    not_checked = {}
    for name, check in checks.items():
        try:
            findings += check()
        except NotChecked as reason:
            not_checked[name] = str(reason)
    return Lint(worst_first(findings), not_checked, people.height, tuple(people["rater"].unique(maintain_order=True)))


def unknown_draws(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """Labels that do not say how their items were drawn."""
    unknown = int((with_drawn(labels)["drawn"] == "unknown").sum())
    if unknown:
        what = f"{unknown} of {labels.height} labels do not say how their items were drawn"
        cure = "state it at import (--sampling, --plan); corrected failure rates are refused until then"
        yield LabelFault("draw", "note", what, "flags", "certain", cure)
