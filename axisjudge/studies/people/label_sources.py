"""Judges and people to compare, by name: the demo with simulated people, public label sets, or files of one's own."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.datasets import fetch
from axisjudge.datasets.fetching import MIRROR
from axisjudge.imports.reference import PREFIX, read_reference
from axisjudge.labels.sampling import draw_at_random, drawn_flags
from axisjudge.studies._shared.sources import ALTTEST, Source, load_source, source_of
from axisjudge.studies.people.labelled_panel import BY_PEOPLE

NAMED = ("votes", "demo", "agentrx", "agentprocessbench", *ALTTEST)


@dataclass(frozen=True, eq=False)
class LabelledSource:
    """Judges' ratings with people's labels; `truth` is what was planted, where the labels were simulated from it."""

    source: Source
    labels: pl.DataFrame
    truth: pl.DataFrame | None = None

    @property
    def everything(self) -> pl.DataFrame:
        """Judges and people in one table, for the page's scope and banner."""
        return pl.concat([self.source.ratings, self.labels]).unique(maintain_order=True)


def load_labelled(
    name: str,
    *,
    ratings: str = "",
    labels: str = "",
    steps: bool = False,
    question: str = "",
    scale: str = "",
    subset: str = "tau2",
    n_labelled: int = 48,
    seed: int = 1,
) -> LabelledSource:
    """Load judges and people by name.

    ``votes``: people and 20 judges on the steps of real runs, as they ship with the workbench (`subset`). ``demo``:
    the shipped runs, judged now; three simulated people label `n_labelled` of them, drawn by `seed`.
    ``agentrx``: the rules on AgentRx's runs, against the failures that people found. ``agentprocessbench`` (`subset`):
    people and 20 judges on steps. ``summeval``, ``mtbench``, ``cebab_stars``: people and six judges. Or the path of a
    ratings file; `labels`
    is a labels file where it holds none, for ``agentrx`` its ``human_labels.json`` if AXISJUDGE_DATA has none.
    Or ``reference:FILE``, the faults that a benchmark's own results locate; without ratings the rules judge its runs.
    `ratings` is such a path too and goes before `name`; `steps`, `question` and `scale` choose from such a file as in
    `load_source`.

    Raises
    ------
    InputError
        No such source, or data that cannot be had.
    """
    if ratings or Path(name).is_file():
        source = load_source(ratings or name, labels=labels, steps=steps, question=question, scale=scale)
    elif labels.startswith(PREFIX):
        return _reference(labels.removeprefix(PREFIX))
    elif name == "demo":
        return _demo(n_labelled, seed)
    elif name == "agentrx":
        return _agentrx(labels)
    else:
        source = load_source(one_of("source", name, NAMED), subset=subset)
    return LabelledSource(_judges_of(source), source.ratings.filter(BY_PEOPLE))


def _judges_of(source: Source, about: str = "") -> Source:
    return replace(source, ratings=source.ratings.filter(~BY_PEOPLE), about=about or source.about)


def _demo(n_labelled: int, seed: int) -> LabelledSource:
    from axisjudge.datasets import demo_paths
    from axisjudge.labels.simulated_people import simulated_people
    from axisjudge.readers import read_trajectories

    source = load_source("demo")
    truth = source.ratings.filter(BY_PEOPLE)
    runs = read_trajectories(*demo_paths()).trajectories
    plan = draw_at_random(runs, n_labelled, seed=seed, one_per_task=False)
    flags = drawn_flags(plan.method, plan.items[0].probability, n_frame=plan.n_frame)
    asked = truth.filter(pl.col("trajectory_id").is_in(plan.trajectory_ids)).with_columns(flags=pl.lit(flags))
    about = (
        f"The shipped demo: rules and four simulated judges on simulated runs. The people are simulated too, three of "
        f"them, who label {n_labelled} of {truth['trajectory_id'].n_unique()} runs drawn at random and err in a stated "
        "way on the planted truth. Nothing here is a finding about judges or people; it shows what a comparison says."
    )
    return LabelledSource(_judges_of(source, about), simulated_people(asked, seed=seed), truth)


def _reference(path: str) -> LabelledSource:
    from axisjudge.judging import judge
    from axisjudge.readers import read_trajectories

    faults = read_reference(path)
    source = source_of(judge(read_trajectories(path).trajectories, ["rules"], progress=False), Path(path).stem)
    about = (
        f"The runs in {Path(path).name}, judged by the rules, against the faults that the benchmark's knowledge of "
        "each task locates in failed runs. Passing runs and all other axes are unlabelled, not clean."
    )
    return LabelledSource(_judges_of(source, about), faults)


def _agentrx(labels: str) -> LabelledSource:
    from axisjudge.judging import judge
    from axisjudge.labels.agentrx import read_agentrx
    from axisjudge.readers import read_trajectories

    folder = fetch("agentrx")
    path = Path(labels or Path(os.environ.get(MIRROR, "")) / "agentrx" / "human_labels.json")
    if not path.is_file():
        raise InputError("labels of agentrx", "must be a file", str(path), "name human_labels.json with -p labels=FILE")
    files = (folder / "tau_dataset_full.json", folder / "tau_dataset_failed.json")
    runs = read_trajectories(*files, policy=folder / "retail_policy.txt", domain="retail").trajectories
    named = read_agentrx(path, runs)
    about = (
        "AgentRx: 102 retail runs, judged by the rules; people named the failures of 15 failed runs with step and "
        "category, of which 13 map to an axis. Passing runs and all other axes are unlabelled, not clean: these labels "
        "show how many failures a judge finds, never how often it cries wolf."
    )
    source = source_of(judge(runs, ["rules"], progress=False), "agentrx")
    return LabelledSource(_judges_of(source, about), named.filter(pl.col("scale") == "verdict"))
