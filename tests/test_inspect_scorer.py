"""The scorer of Inspect AI: what it says of a real log is what judging the log says, and comes back by import."""

import json
import math
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import polars as pl
import pytest

import axisjudge
from axisjudge.imports import import_ratings
from axisjudge.verdict import AXES

LOG = Path(__file__).parent / "readers" / "fixtures" / "parcels.eval"
SAME = ("trajectory_id", "task_id", "question", "rater", "rater_kind", "family", "status", "verdict", "confidence")


def rows(table):
    """What must be equal, one row a rating, in one order."""
    said = table.select(*SAME, "rationale", "rubric_version", cited=pl.col("cited_step_indices"))
    return sorted(said.rows(), key=lambda row: row[:4])


@pytest.fixture(scope="module")
def judged():
    """The same log, judged by us."""
    runs = axisjudge.read_trajectories(LOG, tool_kinds=["find_parcel=read"]).trajectories
    return axisjudge.judge(runs, ["rules"], progress=False), {run.task_id: run for run in runs}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The log with our scores in it, and the ratings file beside it."""
    pytest.importorskip("inspect_ai", reason="needs axisjudge[inspect]")
    from inspect_ai import score
    from inspect_ai.log import read_eval_log, write_eval_log

    from axisjudge.inspect_scorer import five_axes

    folder = tmp_path_factory.mktemp("inspect")
    scorer = five_axes(ratings=str(folder / "ratings.jsonl"), tool_kinds="find_parcel=read")
    log = score(read_eval_log(LOG), scorer, action="append", display="none")
    write_eval_log(log, folder / "log.eval")
    return log, folder


def test_its_scores_are_our_ratings(scored, judged):
    log, folder = scored
    ratings, runs = judged
    assert rows(axisjudge.ratings.read_ratings(folder / "ratings.jsonl")) == rows(ratings)
    for sample in log.samples:
        score = sample.scores["five_axes"]
        ours = ratings.filter(pl.col("trajectory_id") == runs[str(sample.id)].id)
        letters = {"correct": "C", "incorrect": "I"}
        for question, verdict in ours.select("question", "verdict").iter_rows():
            value = score.value[question]
            assert value == letters[verdict] if verdict in letters else math.isnan(value)
    metrics = {each.name: each.metrics["accuracy"].value for each in log.results.scores if each.scorer == "five_axes"}
    decided = ratings.filter(pl.col("verdict").is_in(["correct", "incorrect"]))
    for axis in AXES:
        right = decided.filter(pl.col("question") == axis)["verdict"] == "correct"
        assert metrics[axis] == right.mean() if len(right) else math.isnan(metrics[axis])


def test_cited_steps_are_links_to_the_messages_they_come_from(scored, judged):
    log, _ = scored
    ratings, runs = judged
    for sample in log.samples:
        score, run = sample.scores["five_axes"], runs[str(sample.id)]
        links = {link["cite"]: link["id"] for link in score.metadata["scanner_references"]}
        cited = ratings.filter(pl.col("trajectory_id") == run.id)["cited_step_indices"].explode().unique().drop_nulls()
        assert len(links) == len({run.steps[step].source_index for step in cited}) > 0
        for cite, message in links.items():
            assert cite in score.explanation
            assert sample.messages[int(cite[2:-1]) - 1].id == message
        for step in cited:
            meant = sample.messages[run.steps[step].source_index]
            assert meant.role == run.steps[step].role
            assert meant.id in links.values()


def test_the_scored_log_gives_the_ratings_back(scored, judged):
    _, folder = scored
    ratings, _ = judged
    found = import_ratings([folder / "log.eval"]).ratings
    assert rows(found.filter(pl.col("question").is_in(AXES))) == rows(ratings)
    assert set(found["question"]) - set(AXES) == {"includes"}


def test_a_spec_with_options_is_one_judge_though_inspect_splits_it_at_its_commas(tmp_path):
    pytest.importorskip("inspect_ai", reason="needs axisjudge[inspect]")
    from inspect_ai import score
    from inspect_ai._util.config import parse_cli_args  # what ``inspect score`` makes of -S
    from inspect_ai.log import read_eval_log

    from axisjudge.inspect_scorer import five_axes

    given = parse_cli_args(["judge=rules,all=true", "axes=termination", f"ratings={tmp_path / 'r.jsonl'}"])
    score(read_eval_log(LOG), five_axes(**given), action="append", display="none")
    assert axisjudge.read_ratings(tmp_path / "r.jsonl")["rater"].unique().to_list() == ["rules,all=True"]


@pytest.mark.slow
def test_inspect_finds_it_by_its_entry_point(tmp_path):
    pytest.importorskip("inspect_ai", reason="needs axisjudge[inspect]")
    assert entry_points(group="inspect_ai", name="axisjudge")
    shutil.copy(LOG, tmp_path / "log.eval")
    options = ["-S", "judge=rules", "-S", "axes=termination", "-S", f"ratings={tmp_path / 'ratings.jsonl'}"]
    command = [str(Path(sys.executable).parent / "inspect"), "score", "log.eval", "--scorer", "axisjudge/five_axes"]
    done = subprocess.run(
        [*command, *options, "--action", "append", "--overwrite", "--display", "none"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "ratings.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["question"] for line in lines} == {"termination"}
    assert len(lines) == 2
