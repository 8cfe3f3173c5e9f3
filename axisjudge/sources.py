"""Ratings to analyse: the shipped demo, public label sets, or files of one's own, with what an analysis must know of
them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.datasets import demo_paths, demo_truth, fetch
from axisjudge.ratings import read_ratings
from axisjudge.ratings.dataset import is_dataset
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, EMPTY_RUN, taken
from axisjudge.ratings.scales import has_words, scale_in_words
from axisjudge.verdict import AXES
from axisjudge.workbench import MIRROR


@dataclass(frozen=True, eq=False)
class Source:
    """Ratings with what an analysis must know of them.

    `questions` share one scale; `step_level` says that items are steps; `cluster_unit` is what `cluster_id` holds;
    `about` says in a sentence what the ratings are and what they cannot show; `empty_runs` counts the runs without
    messages, whose ratings were left out. `truth` is what was planted, where people were simulated from it.
    """

    name: str
    ratings: pl.DataFrame
    questions: tuple[str, ...]
    step_level: bool
    cluster_unit: str
    about: str
    empty_runs: int = 0
    truth: pl.DataFrame | None = None

    @property
    def how(self) -> dict[str, Any]:
        """Arguments that every analysis of these ratings takes."""
        return {"step_level": self.step_level, "cluster_unit": self.cluster_unit}

    @property
    def scale_words(self) -> str:
        """The scale as a heading says it."""
        return scale_in_words(self.scale)

    @property
    def scale(self) -> str:
        """The scale that the questions share."""
        return str(self.ratings["scale"][0])

    @property
    def judges(self) -> list[str]:
        """Names of the raters who do not give labels."""
        return self.ratings.filter(BY_JUDGE)["rater"].unique().sort().to_list()


def without_empty_runs(ratings: pl.DataFrame) -> tuple[pl.DataFrame, int, str]:
    """What is left without runs that have no messages, how many runs went, and a sentence that says so.

    They are rated by definition, so that all judges agree on them.
    """
    empty = ratings.filter(EMPTY_RUN)["trajectory_id"].unique()
    left = taken(ratings, ~pl.col("trajectory_id").is_in(empty.implode()))
    return left, len(empty), about_empty_runs(len(empty))


#: Answers of more words than this are texts; coefficients count equal words.
MOST_WORDS = 200


def refuse_texts(question: str, n_words: int, name: str) -> None:
    """Raise InputError where the answers to a question are of too many different words to count equal ones."""
    if n_words > MOST_WORDS:
        cure = "sort them into categories first, and import those"
        raise InputError(name, f"answers to {question} are texts, of {n_words:,} different words", cure=cure)


def about_ratings(what: str, scale: str, name: str, left_out: int) -> str:
    """What the ratings of a source are, and how many of its file are not among them."""
    rest = (
        f" {left_out:,} ratings of other items or questions or on other scales are not among them." if left_out else ""
    )
    return f"Ratings of {what} on the scale {scale_in_words(scale)} from {name}.{rest}"


def about_empty_runs(n_runs: int) -> str:
    """That runs without messages are left out; empty where there is none."""
    return f" Left out: runs without messages ({n_runs}), which are rated by definition." if n_runs else ""


def source_of(ratings: pl.DataFrame, name: str, **choice: Any) -> Source:
    """A ratings table as a source: the first of `sources_of`."""
    return sources_of(ratings, name, **choice)[0]


def sources_of(
    ratings: pl.DataFrame,
    name: str,
    *,
    steps: bool = False,
    questions: Sequence[str] = (),
    scale: str = "",
    cluster_unit: str = "task",
) -> tuple[Source, ...]:
    """One source for each scale of a ratings table, five-axis verdicts first.

    Whole trajectories are taken unless `steps` are wanted or there is nothing else; then `questions` and `scale` where
    they are named. `about` says what is left out.

    Raises
    ------
    InputError
        The table is empty, or has no ratings of steps, of these questions or on this scale.
    """
    step_level = steps or ratings["step_index"].null_count() == 0
    own = taken(ratings, pl.col("step_index").is_not_null() == step_level)
    if own.is_empty():
        raise InputError(name, f"holds no ratings{' of steps' if steps else ''}")
    for question in questions:
        one_of("question", question, sorted(own["question"].unique()))
    chosen = own.filter(pl.col("question").is_in(questions)) if questions else own
    scales = chosen["scale"].unique(maintain_order=True).to_list()
    kept = [one_of("scale", scale, scales)] if scale else sorted(scales, key=lambda each: each != "verdict")
    what = "steps" if step_level else "runs"
    return tuple(_on_scale(chosen, each, name, what, ratings.height, cluster_unit) for each in kept)


def _on_scale(chosen: pl.DataFrame, scale: str, name: str, what: str, n_all: int, cluster_unit: str) -> Source:
    on_scale = taken(chosen, pl.col("scale") == scale)
    if has_words(scale):
        words = on_scale.select("question", "verdict").unique().group_by("question").len()
        for question, count in words.iter_rows():
            refuse_texts(question, count, name)
    kept, n_empty, remark = without_empty_runs(on_scale)
    return Source(
        name=name,
        ratings=kept,
        questions=tuple(kept["question"].unique(maintain_order=True)),
        step_level=what == "steps",
        cluster_unit=cluster_unit,
        about=about_ratings(what, scale, name, n_all - on_scale.height) + remark,
        empty_runs=n_empty,
    )


def of_level(ratings: pl.DataFrame, steps: bool) -> pl.DataFrame:
    """The ratings of steps alone where these are wanted; else all.

    Raises
    ------
    InputError
        There are no ratings of steps.
    """
    kept = ratings.filter(pl.col("step_index").is_not_null()) if steps else ratings
    if kept.is_empty():
        raise InputError("ratings", f"holds no ratings{' of steps' if steps else ''}")
    return kept


def coverage(ratings: pl.DataFrame, trajectories: str) -> str:
    """How many of the runs in files of `trajectories` have ratings, and the reverse; empty where no files are named."""
    if not trajectories:
        return ""
    from axisjudge.readers import read_trajectories

    runs = {run.id for run in read_trajectories(trajectories).trajectories}
    rated = set(ratings["trajectory_id"].unique())
    n = len(rated - runs)
    strange = f" {n:,} rated {'run is' if n == 1 else 'runs are'} not in {Path(trajectories).name}." if n else ""
    return f"{len(runs & rated):,} of {len(runs):,} runs in {Path(trajectories).name} are rated.{strange}"


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
    from axisjudge.labels.panel import simulated_people
    from axisjudge.labels.sampling import draw_at_random, drawn_flags
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


# Labels as commands name them: files of ratings, and ``reference:FILE`` for what a benchmark knows of its runs.

PREFIX = "reference:"


def read_reference(*paths: str | Path) -> pl.DataFrame:
    """The reference rater's faults of the runs in files of tau2-bench or tau-bench (`axisjudge.labels.reference`).

    Raises
    ------
    InputError
        No run bears what its task expects, or none has a fault that can be located.
    """
    from axisjudge.labels.reference import reference_ratings
    from axisjudge.readers import read_trajectories

    runs = read_trajectories(*paths).trajectories
    where = ", ".join(Path(path).name for path in paths)
    if not any(run.meta.get("expected") for run in runs):
        cure = "name results of tau2-bench or tau-bench, with their tasks"
        raise InputError(where, "holds no run whose task says what was expected", cure=cure)
    ratings = reference_ratings(runs)
    if ratings.is_empty():
        raise TooLittle(where, "holds no failed run with a fault that the reference can locate")
    return ratings


def read_label_files(labels: Sequence[str | Path]) -> pl.DataFrame:
    """Labels of one or several files as one ratings table; ``reference:FILE`` stands for the reference's faults.

    Raises
    ------
    InputError
        As `read_reference` and `axisjudge.read_ratings` do.
    """
    named = [str(each) for each in labels]
    located = [each.removeprefix(PREFIX) for each in named if each.startswith(PREFIX)]
    files = [each for each in named if not each.startswith(PREFIX)]
    tables = [read_ratings(*files, latest=True)] if files else []
    return pl.concat([*tables, *([read_reference(*located)] if located else [])])


__all__ = [
    "PREFIX",
    "Source",
    "coverage",
    "load_source",
    "of_level",
    "read_label_files",
    "read_reference",
    "source_of",
    "sources_of",
]
