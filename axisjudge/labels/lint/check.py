"""All checks over one table of labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import polars as pl

from axisjudge.checks import InputError
from axisjudge.labels.lint.codes import exchanged_codes
from axisjudge.labels.lint.copies import contradictions, copied_between, copied_blocks, copied_notes
from axisjudge.labels.lint.drift import drifts
from axisjudge.labels.lint.finding import LabelFault, Lint, NotChecked, some, worst_first
from axisjudge.labels.lint.gold import gold_raters, one_label_wins, single_votes
from axisjudge.labels.lint.spelling import changed_scales, spelling_variants
from axisjudge.labels.lint.strangers import constant_raters, strangers
from axisjudge.labels.record import OPEN
from axisjudge.labels.sampling import with_drawn
from axisjudge.labels.simulated_people import BY_PERSON
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import check_citations


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


def missing_trajectories(labels: pl.DataFrame, runs: Mapping[str, Trajectory] | None) -> Iterator[LabelFault]:
    """Ids of labels that no trajectory has."""
    if runs is None:
        raise NotChecked("no trajectories were given (--trajectories)")
    missing = [run for run in labels["trajectory_id"].unique(maintain_order=True) if run not in runs]
    if missing:
        n = labels.filter(pl.col("trajectory_id").is_in(missing)).height
        what = f"{n} labels are of {len(missing)} trajectories that are not there"
        cure = "give the missing trajectories, or mend the ids in the label file"
        sure = "certain, if all trajectories were given"
        yield LabelFault("trajectory exists", "error", what, some(missing), sure, cure)


def missing_steps(labels: pl.DataFrame, runs: Mapping[str, Trajectory] | None) -> Iterator[LabelFault]:
    """Steps that are cited or labelled and do not exist."""
    if runs is None:
        raise NotChecked("no trajectories were given (--trajectories)")
    columns = ("rater", "item_id", "question", "trajectory_id", "step_index", "cited_step_indices")
    cited, labelled = [], []
    for rater, item, question, run, step, cites in labels.select(columns).iter_rows():
        if run not in runs:
            continue
        n_steps = len(runs[run].steps)
        if absent := check_citations(cites or (), n_steps):
            cited.append(f"{rater} on {item}, {question}: step {absent[0]} of {n_steps}")
        if step is not None and check_citations((step,), n_steps):
            labelled.append(f"{rater}: {item} of {n_steps}")
    cure = "steps are counted from 0; labels from a tool that counts from 1 need its own numbers mapped"
    if cited:
        what = f"{len(cited)} labels cite a step that does not exist"
        yield LabelFault("cited step exists", "error", what, some(cited), "certain", cure)
    if labelled:
        what = f"{len(labelled)} labels are of a step that does not exist"
        yield LabelFault("labelled step exists", "error", what, some(labelled), "certain", cure)
