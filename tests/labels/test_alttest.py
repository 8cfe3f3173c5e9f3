"""Label sets of the alternative annotator test as ratings: what names of items say, and counts of the real sets."""

import json

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.imports import import_ratings
from axisjudge.ratings import SCHEMA, read_ratings


def ratings(folder):
    return import_ratings([folder], with_draw=False).ratings


def make(folder, people, judges):
    folder.mkdir()
    (folder / "human_annotations.json").write_text(json.dumps(people))
    (folder / "llm_annotations.json").write_text(json.dumps(judges))
    return folder


def test_an_item_s_name_gives_question_cluster_and_agent(tmp_path):
    folder = make(tmp_path / "summeval", {"e0": {"doc-1__M3__fluency": 4}}, {"gpt-4o": {"doc-1__M3__fluency": 5}})
    table = ratings(folder)
    assert table.schema == pl.Schema(SCHEMA)
    assert table.select("trajectory_id", "question", "cluster_id", "agent").unique().rows() == [
        ("doc-1__M3", "fluency", "doc-1", "M3")
    ]
    assert table.select("rater", "rater_kind", "family", "verdict", "value").rows() == [
        ("e0", "human", "human", "4", 4.0),
        ("gpt-4o", "llm", "openai", "5", 5.0),
    ]


def test_any_set_of_the_form_is_read_whatever_its_name_and_annotators(tmp_path):
    """Words, whole numbers and fractions; questions in the names of items, or one for all."""
    people = {"Zoë": {"p1__Q1": "Yes", "p1__Q2": 2, "p2__Q1": "No", "p2__Q2": 1}, "7": {"p1__Q2": 3}}
    folder = make(tmp_path / "anything", people, {"some-judge": {"p1__Q1": "No", "p2__Q2": None}})
    table = ratings(folder)
    assert dict(table.select("question", "scale").unique().iter_rows()) == {"Q1": "nominal:No,Yes", "Q2": "ordinal:1-3"}
    assert table.filter(rater="some-judge", question="Q2")["status"].to_list() == ["parse_error"]
    assert set(table["trajectory_id"]) == {"p1", "p2"}
    single = make(tmp_path / "similarity", {"a": {"x": 0.25, "y": 1}}, {"b": {"x": 0.5}})
    assert ratings(single).select("question", "scale").unique().rows() == [("similarity", "unit")]
    sentences = {"x": {"cat__pet__a cat is a pet.": "is", "cat__dog__both are pets.": "like"}}
    words = import_ratings(
        [make(tmp_path / "words", sentences, {"b": {"cat__dog__both are pets.": "like"}})], with_draw=False
    ).ratings
    assert words.select("question", "cluster_id").unique().rows() == [("words", "cat")]


def test_an_empty_folder_and_a_shared_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="holds no file of ratings"):
        ratings(tmp_path)
    folder = make(tmp_path / "mtbench", {"a": {"82__x__y__1": "tie"}}, {"a": {"82__x__y__1": "model_a"}})
    with pytest.raises(InputError, match="is human and llm in these files"):
        ratings(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "people", "ratings", "clusters", "questions"),
    [
        ("mtbench", 3, 246 + 720, 42, ["preference"]),
        ("cebab_stars", 10, 2193 + 6 * 711, 628, ["stars"]),
        ("summeval", 3, 9 * 6400, 100, ["coherence", "consistency", "fluency", "relevance"]),
    ],
)
def test_the_real_sets(alttest, tmp_path, name, people, ratings, clusters, questions):
    table = alttest(name)
    assert table.height == ratings
    assert table.filter(rater_kind="human")["rater"].n_unique() == people
    assert table["cluster_id"].n_unique() == clusters
    assert sorted(table["question"].unique()) == questions
    families = table.filter(rater_kind="llm").group_by("family").agg(pl.col("rater").n_unique())
    assert dict(families.iter_rows()) == {"google": 2, "meta": 1, "mistral": 1, "openai": 2}
    table.write_parquet(tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").height == table.height
