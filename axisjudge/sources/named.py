"""Ratings to analyse by name: the shipped demo, public label sets, or files of one's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, demo_truth, fetch
from axisjudge.imports.reference import PREFIX, read_label_files, read_reference
from axisjudge.ratings.dataset import is_dataset
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER
from axisjudge.sources.source import Source, source_of, without_empty_runs
from axisjudge.verdict import AXES
from axisjudge.workbench import MIRROR

#: Judges of the demo: the rules, and two simulated families of two birds each.
DEMO_JUDGES = (
    "rules",
    "simulated:heron,family=simulated-marsh",
    "simulated:plover,family=simulated-marsh",
    "simulated:wren,family=simulated-hedge",
    "simulated:sparrow,family=simulated-hedge",
)
#: Sets of the alternative annotator test: the registry's name, what a cluster is, and what they are.
ALTTEST = {
    "summeval": (
        "alttest-summeval",
        "document",
        "SummEval as used by the alternative annotator test: 1,600 summaries of 100 documents rated 1 to 5 on four "
        "criteria by three experts and six judges of four families, without confidences and without rationales.",
    ),
    "mtbench": (
        "alttest-mtbench",
        "question",
        "MT-Bench as used by the alternative annotator test: which of two answers is better, or a tie, in 120 "
        "comparisons on 42 questions, by three people and six judges of four families, without confidences.",
    ),
    "cebab_stars": (
        "alttest-cebab-stars",
        "review",
        "CEBaB as used by the alternative annotator test: the stars, 1 to 5, that 711 edited reviews of 628 restaurant "
        "reviews sound like, by ten people, a few a review, and six judges of four families, without confidences.",
    ),
}
NAMED = ("votes", "demo", "agentrx", "agentprocessbench", *ALTTEST)


def load_source(
    name: str,
    *,
    ratings: str = "",
    labels: str = "",
    steps: bool = False,
    question: str = "",
    scale: str = "",
    subset: str = "tau2",
    judges: Sequence[str] = DEMO_JUDGES,
    repeats: int = 1,
    n_labelled: int = 0,
    seed: int = 1,
) -> Source:
    """Load ratings by name.

    Parameters
    ----------
    name : str
        ``votes``: the votes that ship with the workbench, people and 20 judges on the steps of real runs (`subset`
        ``tau2``, ``hotpotqa`` or ``bfcl``). ``demo``: the shipped runs (where the workbench has split them, those that
        are not held out), judged now by `judges`, with the planted truth or simulated people as labels.
        ``agentprocessbench``: the votes with the judges' reasons, from the public files. ``summeval``, ``mtbench``,
        ``cebab_stars``: people and six judges of the alternative annotator test. ``agentrx``: the rules on AgentRx's
        runs, against the failures that people found. Or the path of a ratings file.
    ratings, labels : str
        A ratings file of one's own, taken instead of `name`, and a file of people's labels that belongs to it, or
        ``reference:FILE`` with the benchmark's results; without ratings the rules judge its runs. For ``agentrx`` its
        ``human_labels.json``, if AXISJUDGE_DATA has none.
    steps : bool
        Of one's own ratings those of steps, where finals stand beside them.
    question, scale : str
        Of one's own ratings one question, or one scale.
    subset : str
        Which part of AgentProcessBench.
    judges, repeats : sequence of str, int
        Judge specs for the demo, and how often each is asked.
    n_labelled, seed : int
        Of the demo: three simulated people label so many runs, drawn by `seed`, in place of the planted truth.

    Raises
    ------
    InputError
        No such source, or a data set that cannot be had.
    """
    if ratings or Path(name).is_file() or (name not in NAMED and is_dataset(name)):
        return _file(ratings or name, labels, steps, question, scale)
    if labels.startswith(PREFIX):
        return _reference(labels.removeprefix(PREFIX))
    if name not in NAMED:
        raise InputError("source", f"must be {', '.join(NAMED)}, a dataset of ratings or a ratings file", name)
    match name:
        case "votes":
            return _votes(subset)
        case "demo":
            demo = _demo(judges, repeats)
            return _labelled(demo, n_labelled, seed) if n_labelled else demo
        case "agentrx":
            return _agentrx(labels)
        case "agentprocessbench":
            return _agentprocessbench(subset)
    return _alttest(name)


def _demo(judges: Sequence[str], repeats: int) -> Source:
    from axisjudge.judging import judge
    from axisjudge.protocol import open_runs
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories

    runs, left = open_runs(read_trajectories(*demo_paths()).trajectories)
    truth = read_ratings(demo_truth()).filter(pl.col("trajectory_id").is_in([run.id for run in runs]))
    ratings = pl.concat([judge(runs, judges, repeats=repeats), truth])
    about = (
        "The shipped demo: simulated runs with planted faults, judged by rules and by simulated judges that know the "
        "planted truth and disturb it. Two judges of one simulated family share the difficulty of an item with all "
        "others and nothing more, so no difference between families is planted."
    )
    ratings, n_empty, remark = without_empty_runs(ratings)
    return Source("demo", ratings, AXES, False, "task", " ".join([about + remark, *left]), n_empty)


def _labelled(source: Source, n_labelled: int, seed: int) -> Source:
    """The demo with three simulated people in place of the planted truth that they are simulated from."""
    from axisjudge.labels.sampling import draw_at_random, drawn_flags
    from axisjudge.labels.simulated_people import simulated_people
    from axisjudge.readers import read_trajectories

    truth = source.ratings.filter(BY_LABELLER)
    runs = read_trajectories(*demo_paths()).trajectories
    plan = draw_at_random(runs, n_labelled, seed=seed, one_per_task=False)
    flags = drawn_flags(plan.method, plan.items[0].probability, n_frame=plan.n_frame)
    asked = truth.filter(pl.col("trajectory_id").is_in(plan.trajectory_ids)).with_columns(flags=pl.lit(flags))
    about = (
        f"The shipped demo: rules and four simulated judges on simulated runs. The people are simulated too, three of "
        f"them, who label {n_labelled} of {truth['trajectory_id'].n_unique()} runs drawn at random and err in a stated "
        "way on the planted truth. Nothing here is a finding about judges or people; it shows what a comparison says."
    )
    ratings = pl.concat([source.ratings.filter(BY_JUDGE), simulated_people(asked, seed=seed)])
    return replace(source, ratings=ratings, truth=truth, about=about)


def _reference(path: str) -> Source:
    from axisjudge.judging import judge
    from axisjudge.readers import read_trajectories

    faults = read_reference(path)
    about = (
        f"The runs in {Path(path).name}, judged by the rules, against the faults that the benchmark's knowledge of "
        "each task locates in failed runs. Passing runs and all other axes are unlabelled, not clean."
    )
    source = source_of(judge(read_trajectories(path).trajectories, ["rules"]), Path(path).stem)
    return replace(source, ratings=pl.concat([source.ratings, faults]), about=about)


def _agentrx(labels: str) -> Source:
    from axisjudge.judging import judge
    from axisjudge.labels.agentrx import read_agentrx
    from axisjudge.readers import read_trajectories

    folder = fetch("agentrx")
    path = Path(labels or Path(os.environ.get(MIRROR, "")) / "agentrx" / "human_labels.json")
    if not path.is_file():
        raise InputError("labels of agentrx", "must be a file", str(path), "name human_labels.json with -p labels=FILE")
    files = (folder / "tau_dataset_full.json", folder / "tau_dataset_failed.json")
    runs = read_trajectories(*files, policy=folder / "retail_policy.txt", domain="retail").trajectories
    named = read_agentrx(path, runs).filter(pl.col("scale") == "verdict")
    about = (
        "AgentRx: 102 retail runs, judged by the rules; people named the failures of 15 failed runs with step and "
        "category, of which 13 map to an axis. Passing runs and all other axes are unlabelled, not clean: these labels "
        "show how many failures a judge finds, never how often it cries wolf."
    )
    source = source_of(judge(runs, ["rules"]), "agentrx")
    return replace(source, ratings=pl.concat([source.ratings, named]), about=about)


_STEPS_LABELLED = (
    "every step of 250 agent runs labelled +1, 0 or -1 by people and by 20 judge configurations of six families. Each "
    "item has one human label; there are no names of agents and no confidences. So nothing here says how far people "
    "agree among themselves, how agents differ, or what weighting by confidence would change."
)


def _agentprocessbench(subset: str) -> Source:
    from axisjudge.labels.agentprocessbench import read_agentprocessbench

    about = f"AgentProcessBench, {subset}: {_STEPS_LABELLED}"
    ratings = read_agentprocessbench(fetch("agentprocessbench"), subset)
    return Source("agentprocessbench", ratings, ("step",), True, "query", about)


def _alttest(name: str) -> Source:
    from axisjudge.imports import import_ratings

    registered, cluster_unit, about = ALTTEST[name]
    ratings = import_ratings([fetch(registered)], with_draw=False).ratings
    return Source(name, ratings, tuple(sorted(ratings["question"].unique())), False, cluster_unit, about)


def _votes(subset: str) -> Source:
    from axisjudge.datasets import published_votes

    about = f"Real judges and real people: AgentProcessBench, {subset}, {_STEPS_LABELLED}"
    return Source("votes", published_votes(subset, "step"), ("step",), True, "query", about)


def _file(name: str, labels: str, steps: bool, question: str, scale: str) -> Source:
    files = [each for each in (name, labels) if each]
    questions = [question] if question else []
    return source_of(read_label_files(files), Path(name).stem, steps=steps, questions=questions, scale=scale)
