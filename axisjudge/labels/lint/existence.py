"""Labels of trajectories that are not there, and cited steps that do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from axisjudge.labels.lint.finding import LabelFault, NotChecked, some
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import check_citations


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
