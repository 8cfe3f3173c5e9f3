"""Ratings by name: the demo, the mirror of public sets, a file; and what a wrong name is told."""

import json
from dataclasses import replace

import polars as pl
import pytest

from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, list_datasets
from axisjudge.labels import read_agentprocessbench
from axisjudge.readers import read_trajectories
from axisjudge.sources import load_source, source_of
from axisjudge.studies.agreement import agreement, families, judged_items, worth
from axisjudge.studies.agreement.against_labels import step_scores_of
from axisjudge.studies.agreement.sentences import NO_FAMILY_OF_TWO, NoWorth
from axisjudge.verdict import AXES
from axisjudge.workbench import home


@pytest.fixture
def mirror(shared_data, monkeypatch, tmp_path):
    """A workbench whose cache starts empty, beside a mirror that has the data."""
    for name in ("notebooks", "rubrics"):
        (tmp_path / name).symlink_to(home() / name)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "registry.toml").symlink_to(home() / "data" / "registry.toml")
    monkeypatch.setenv("AXISJUDGE_HOME", str(tmp_path))
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    return tmp_path


@pytest.mark.slow
def test_of_a_demo_that_is_split_the_open_side_is_taken_and_that_is_said(tmp_path):
    with workbench.at(protocol.rehearsal(tmp_path)):
        split = protocol.make_split(read_trajectories(*demo_paths()).trajectories, salt="demo")
        found = load_source("demo", judges=["rules"])
    assert {split.side_of(task) for task in found.ratings["cluster_id"].unique()} == {"calibration"}
    assert "52 of 112 runs are held out (evaluation) and were left alone." in found.about


@pytest.mark.slow
def test_the_demo_has_two_simulated_families_and_the_planted_truth():
    found = load_source("demo")
    assert found.questions == AXES
    kinds = set(found.ratings["rater_kind"])
    assert kinds == {"rules", "simulated", "planted"}
    pair = families(judged_items(found, question="sequencing"))
    assert pair.pairs["within"].sum() == 2
    assert pair.panel.planted
    assert step_scores_of(found) is None


@pytest.mark.parametrize(
    ("name", "unit", "judges"),
    [
        ("agentprocessbench", "query", 20),
        pytest.param("summeval", "document", 6, marks=pytest.mark.slow),
        ("mtbench", "question", 6),
        ("cebab_stars", "review", 6),
    ],
)
def test_public_sets_come_from_the_mirror_with_their_clusters(mirror, name, unit, judges):
    found = load_source(name)
    assert (found.cluster_unit, len(found.judges)) == (unit, judges)
    assert (mirror / "data" / "cache").is_dir()
    assert bool(step_scores_of(found)) == (name == "agentprocessbench")


def test_the_sets_are_named_as_the_registry_names_them():
    assert {"agentprocessbench", "alttest-summeval"} <= {dataset.name for dataset in list_datasets()}


def test_a_ratings_file(tmp_path):
    path = tmp_path / "mine.jsonl"
    base = {"cluster_id": "c", "question": "sequencing", "rater_kind": "llm", "status": "ok", "verdict": "correct"}
    path.write_text(
        "".join(json.dumps({**base, "trajectory_id": "t", "item_id": "t", "scale": "verdict", "rater": r, "family": r,
                            "repeat": 0}) + "\n" for r in ("a", "b"))
    )  # fmt: skip
    found = load_source(str(path))
    assert (found.name, found.questions, found.step_level, found.judges) == ("mine", ("sequencing",), False, ["a", "b"])
    path.write_text("")
    with pytest.raises(InputError, match="holds no ratings"):
        load_source(str(path))


def test_a_table_of_runs_and_steps_is_taken_apart_and_says_what_it_leaves_out(shared_data):
    table = read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa")
    runs, steps = source_of(table, "both"), source_of(table, "both", steps=True)
    assert (runs.questions, runs.step_level) == (("final",), False)
    assert (steps.questions, steps.step_level) == (("step",), True)
    assert runs.ratings.height + steps.ratings.height == table.height
    assert f"{steps.ratings.height:,} ratings of other items" in runs.about
    with pytest.raises(InputError, match="both: holds no ratings of steps"):
        source_of(runs.ratings, "both", steps=True)


@pytest.mark.slow
def test_the_report_of_the_command_line_is_that_of_the_notebook_s_parts(shared_data):
    source = source_of(read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa"), "x", steps=True)
    report = agreement(source, weighted=False)
    assert report.to_dict()["effective_judges"]["n_effective"]["estimate"] == pytest.approx(2.25, abs=5e-3)
    assert list(report.by_question) == ["step"]
    assert report.overall.questions[0].raters == tuple(families(source).judges)  # people are no judges
    assert report.to_dict()["confident"] is None
    assert report.reversals["step"].changes > 0
    assert f"{report.reversals['step'].changes:,}" in report.sentences[-1]
    assert families(source).to_dict() == report.together.to_dict()  # a part by itself is that of the whole
    assert worth(source).to_dict() == report.worth.to_dict()
    fewer = families(judged_items(source, judges=["GPT-5.2", "Kimi-K2.5", "Qwen3-8B"]))
    assert fewer.judges == ("Kimi-K2.5", "GPT-5.2", "Qwen3-8B")


def test_one_judge_alone_has_no_families(shared_data):
    source = source_of(read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa"), "x", steps=True)
    alone = replace(source, ratings=source.ratings.filter(pl.col("rater").is_in(["GPT-5.2", "people"])))
    report = agreement(alone, weighted=False)
    assert report.together.within.reason == NO_FAMILY_OF_TWO
    assert report.worth.reason is NoWorth.TOO_FEW
    assert "it takes two" in report.answer
    people = agreement(replace(source, ratings=source.ratings.filter(pl.col("rater") == "people")))
    assert (people.together, people.families, people.worth) == (None, (), None)


def test_an_unknown_source_is_told_what_there_is():
    with pytest.raises(InputError, match=r"source: must be votes, .* or a ratings file"):
        load_source("summevla")


def test_an_unknown_subset_is_told_what_the_set_holds(mirror):
    with pytest.raises(InputError, match=r"subset: must be one of .*tau2; found 'tau'"):
        load_source("agentprocessbench", subset="tau")


@pytest.mark.slow
def test_runs_without_messages_are_left_out_of_agreement_and_told() -> None:
    source = load_source("demo", judges=("rules", "simulated:wren"))
    assert source.ratings["trajectory_id"].n_unique() == 111
    assert source.about.endswith("Left out: runs without messages (1), which are rated by definition.")
