"""Ratings by name: the demo, the mirror of public sets, a file; and what a wrong name is told."""

import json

import pytest

from axisjudge.analysis.cross_family import cross_family
from axisjudge.analysis.sources import load_source
from axisjudge.checks import InputError
from axisjudge.datasets import list_datasets
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


def test_the_demo_has_two_simulated_families_and_the_planted_truth():
    found = load_source("demo")
    assert found.questions == AXES
    kinds = set(found.ratings["rater_kind"])
    assert kinds == {"rules", "simulated", "planted"}
    pair = cross_family(found.ratings, "sequencing", **found.how)
    assert sum(one.within for one in pair.pairs) == 2
    assert pair.planted
    assert found.step_scores() == ()


@pytest.mark.parametrize(("name", "unit", "judges"), [("agentprocessbench", "query", 20), ("summeval", "document", 6)])
def test_public_sets_come_from_the_mirror_with_their_clusters(mirror, name, unit, judges):
    found = load_source(name)
    assert (found.cluster_unit, len(found.judges)) == (unit, judges)
    assert (mirror / "data" / "cache").is_dir()
    assert bool(found.step_scores()) == (name == "agentprocessbench")


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


def test_an_unknown_source_is_told_what_there_is():
    with pytest.raises(InputError, match="source: must be demo, agentprocessbench, summeval or a ratings file"):
        load_source("summevla")
    with pytest.raises(InputError, match="subset: must be one of tau2, hotpotqa"):
        load_source("agentprocessbench", subset="tau")
