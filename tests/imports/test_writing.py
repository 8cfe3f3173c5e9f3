"""Ratings for other tools: what is written comes back, and what a format cannot hold is refused or counted."""

import json
import math
import shlex

import polars as pl
import pytest
from imports import made_exports as made
from judging.worlds import trajectories

from axisjudge.checks import InputError
from axisjudge.imports import EXPORTS, ImportOptions, export_ratings, import_ratings
from axisjudge.ratings import SCHEMA, ratings_frame, read_ratings
from axisjudge.readers import read_trajectories
from axisjudge.verdict import Rating

WHO = {"rater": "gpt-4o", "rater_kind": "llm", "family": "openai"}


def ratings():
    def one(run, question, **fields):
        return Rating(
            trajectory_id=run, task_id=f"task-{run}", cluster_id=f"task-{run}", question=question, **WHO, **fields
        )

    return ratings_frame(
        [
            one("a", "sequencing", verdict="correct", rationale="in order", probabilities={"correct": 0.75}),
            one("a", "tone", scale="ordinal:1-5", verdict="4", value=4.0),
            one("b", "sequencing", verdict="uncertain"),
            one("b", "tone", scale="ordinal:1-5", status="parse_error"),
            one("b", "fit", scale="unit", value=0.25),
        ]
    )


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_tables_hold_every_field(tmp_path, form):
    made_file = export_ratings(ratings(), form)
    path = tmp_path / f"out.{form}"
    path.write_bytes(made_file.content)
    assert made_file.n_ratings == 5
    back = import_ratings([path], with_draw=False).ratings if form == "csv" else read_ratings(path)
    order = ["item_id", "question"]
    kept = [name for name in SCHEMA if name != "probabilities"]
    assert back.select(kept).sort(order).equals(ratings().select(kept).sort(order))


def test_inspect_takes_one_rater_s_scores_by_sample():
    made_file = export_ratings(ratings(), "inspect")
    records = json.loads(made_file.content)
    unscored = math.nan  # which Inspect leaves out of its metrics; None would count as 0, and an absent key end them
    assert [(record["id"], record["value"]) for record in records] == [
        ("task-a", pytest.approx({"sequencing": "C", "tone": 4, "fit": unscored}, nan_ok=True)),
        ("task-b", pytest.approx({"sequencing": unscored, "tone": unscored, "fit": 0.25}, nan_ok=True)),
    ]
    assert records[0]["explanation"] == "sequencing: in order"
    assert made_file.n_ratings == 3
    assert any("2 ratings (parse_error, uncertain) stay unscored" in note for note in made_file.notes)
    single = json.loads(export_ratings(ratings().filter(question="sequencing"), "inspect").content)
    assert [(record["id"], record["value"]) for record in single] == [("task-a", "C")]


def test_inspect_needs_one_rater_whole_runs_and_epochs(tmp_path):
    two = pl.concat([ratings(), ratings().with_columns(rater=pl.lit("other"))])
    with pytest.raises(InputError, match="choose one with --rater"):
        export_ratings(two, "inspect")
    steps = ratings().with_columns(step_index=pl.lit(1, dtype=pl.Int64), item_id=pl.col("trajectory_id") + "#1")
    with pytest.raises(InputError, match="whole samples once"):
        export_ratings(steps, "inspect")
    log = made.inspect_log()
    log["samples"][1] |= {"id": "q0", "epoch": 2}
    (tmp_path / "log.json").write_text(json.dumps(log))
    found = import_ratings([tmp_path / "log.json"], ImportOptions(kinds={"house": "rules"})).ratings.filter(
        rater="match"
    )
    with pytest.raises(InputError, match="--trajectories"):
        export_ratings(found, "inspect")
    runs = {run.id: run for run in read_trajectories(tmp_path / "log.json").trajectories}
    records = json.loads(export_ratings(found, "inspect", trajectories=runs).content)
    assert [(record["id"], record["epoch"]) for record in records] == [("q0", 1), ("q0", 2), ("q2", 1)]


def test_a_scores_file_written_by_us_comes_back(tmp_path):
    path = tmp_path / "scores.json"
    path.write_bytes(export_ratings(ratings(), "inspect").content)
    back = import_ratings([path]).ratings
    names = [
        "trajectory_id",
        "task_id",
        "question",
        "scale",
        "rater",
        "rater_kind",
        "family",
        "status",
        "verdict",
        "value",
    ]
    assert (
        back.select(names)
        .sort("trajectory_id", "question")
        .equals(ratings().select(names).sort("trajectory_id", "question"))
    )


def test_crowd_kit_takes_judges_and_counts_what_it_does_not_hold(tmp_path):
    words = ratings().filter(pl.col("status") == "ok", pl.col("question") != "fit")
    made_file = export_ratings(words, "crowd-kit")
    lines = made_file.content.decode().splitlines()
    assert lines[0].startswith("task,worker,label")
    assert len(lines) == 1 + words.height
    assert made_file.not_held["rater_kind"] == words.height
    path = tmp_path / "crowd.csv"
    path.write_bytes(made_file.content)
    back = import_ratings([path], ImportOptions(kind="llm")).ratings
    names = ["trajectory_id", "question", "rater", "rater_kind", "family", "scale", "verdict", "value"]
    assert back.select(names).sort(names[:2]).equals(words.select(names).sort(names[:2]))


def test_unknown_formats_and_no_ratings_are_refused():
    with pytest.raises(InputError, match="did you mean 'parquet'"):
        export_ratings(ratings(), "parqet")
    for form in EXPORTS:
        with pytest.raises(InputError, match="none to export"):
            export_ratings(ratings().clear(), form)


def votes_of(*raters):
    """Raters who say one after the other correct and incorrect of two runs, one of them named as a formula begins."""
    return ratings_frame(
        Rating(trajectory_id=run, cluster_id=run, question="sequencing", verdict=words[at % 2], **who)
        for run, words in {"=1+1": ("correct", "incorrect"), "b": ("incorrect", "correct")}.items()
        for at, who in enumerate(raters)
    )


def _options(told):
    words = shlex.split(told)
    given = {"--kind": {}, "--family": {}}
    for option, value in zip(words[::2], words[1::2], strict=True):
        name, _, of = value.partition("=")
        given[option][name] = of
    return {"kinds": given["--kind"], "families": given["--family"]}


RATERS = (
    WHO,
    {"rater": "mine, own", "rater_kind": "llm", "family": "google"},
    {"rater": "checks", "rater_kind": "rules", "family": "rules"},
    {"rater": "ann", "rater_kind": "human", "family": "human"},
)


@pytest.mark.parametrize("form", ["label-studio", "argilla", "crowd-kit", "alttest"])
def test_judges_come_back_as_judges_by_the_options_that_an_export_names_and_their_lost_calls_are_counted(
    tmp_path, form
):
    given = votes_of(*RATERS)
    lost = votes_of(WHO).with_columns(
        status=pl.lit("api_error"), verdict=pl.lit(None, dtype=pl.String), question=pl.lit("termination")
    )
    written = export_ratings(pl.concat([given, lost]), form)
    assert written.n_ratings == given.height
    assert any(note.startswith("2 ratings of judges without a verdict (api_error)") for note in written.notes)
    path = tmp_path / f"out.{'csv' if form == 'crowd-kit' else 'json'}"
    path.write_bytes(written.content)
    (told,) = (note.partition(": ")[2] for note in written.notes if note.startswith("to import it again"))
    back = import_ratings([path], ImportOptions(**_options(told)), with_draw=False).ratings
    core = ["item_id", "question", "rater", "rater_kind", "family", "verdict", "cluster_id"]
    assert back.select(core).sort(core).equals(given.select(core).sort(core))
    with pytest.raises(InputError, match="all were lost"):
        export_ratings(lost, form)


def test_options_that_a_file_cannot_take_are_said(tmp_path):
    path = tmp_path / "out.json"
    path.write_bytes(export_ratings(votes_of(RATERS[-1]), "label-studio").content)
    told = {"kind": "llm", "item": ("id",), "rater_column": "who", "columns": {"a": "verdict"}, "repeats": True}
    named = {"scales": {"x": "ordinal:1-5"}, "axes": {"y": "z"}, "words": {"q": "w"}, "missing": ("-",)}
    notes = " ".join(import_ratings([path], ImportOptions(**told, **named)).notes)
    options = ("kind llm", "item id", "rater-column who", "column a", "repeats", "scale x", "axis-map y", "word-map q")
    assert all(f"--{option}" in notes for option in (*options, "missing -"))
    (trajectory,) = trajectories(1)
    told = ImportOptions(rater="ann", trajectories={"r": trajectory})
    assert all(option in import_ratings([path], told).notes[-1] for option in ("--rater ann", "--trajectories"))
    used = ImportOptions(words={"correct": "uncertain"}, families={RATERS[-1]["rater"]: "f"})
    assert "changes nothing" not in " ".join(import_ratings([path], used).notes)
    with pytest.raises(InputError, match="decided nothing"):
        import_ratings([path], ImportOptions(sampling="random", sampling_key="ann"))
