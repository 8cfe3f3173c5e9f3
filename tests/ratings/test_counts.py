"""Counts of patterns: they add up, and agreement computed from them is that of the items."""

import math
from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from ratings.worlds import drawn

from axisjudge.checks import InputError
from axisjudge.ratings import ratings_frame, read_ratings, to_matrix
from axisjudge.ratings.counts import count_patterns, counted, in_sum
from axisjudge.ratings.dataset import parts_of
from axisjudge.ratings.merging import write_dataset
from axisjudge.ratings.table import ratings_in_parts
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients, case_bounds
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared.pooled import pooled, pooled_counts
from axisjudge.studies.agreement import agreement, agreement_of_dataset
from axisjudge.studies.failures.panel import panel_of, panel_of_parts
from axisjudge.studies.failures.profile import failure_profile
from axisjudge.studies.people import people
from axisjudge.verdict import Rating


def alike(one, other):
    """Whether counts are the same row for row."""
    return all(getattr(one, name).equals(getattr(other, name)) for name in ("patterns", "rows", "cluster_ids"))


@pytest.mark.parametrize("scale", ["verdict", "nominal", "unit"])
def test_parts_add_up_to_the_whole(scale):
    table = drawn(1, questions=("sequencing",), scale=scale)
    whole = count_patterns(table)
    runs = table["trajectory_id"].unique().sort()
    lots = [set(runs.sample(20, seed=1)), set(runs[:3]), {runs[-1]}]
    lots = [lots[0], lots[1] - lots[0], lots[2] - lots[0] - lots[1]]
    lots.append(set(runs) - set.union(*lots))
    parts = [count_patterns(table.filter(pl.col("trajectory_id").is_in(lot))) for lot in lots if lot]
    found = in_sum(parts[::-1])
    assert alike(found, whole)
    assert (found.raters, found.categories, found.units) == (whole.raters, whole.categories, whole.units)
    assert whole.n_items == table["item_id"].n_unique()
    given = table.filter(pl.col("status") == "ok").group_by("rater").len()
    assert dict(given.iter_rows()) == dict(
        zip(whole.names, (whole.items @ ~np.isnan(whole.codes)).astype(int).tolist(), strict=True)
    )


def test_a_rater_that_a_part_lacks_was_not_asked_there():
    table = drawn(2, questions=("sequencing",))
    late = table.filter((pl.col("rater") != "judge-0") | (pl.col("trajectory_id") > "run-030"))
    parts = [late.filter(pl.col("trajectory_id") <= "run-030"), late.filter(pl.col("trajectory_id") > "run-030")]
    assert alike(in_sum([count_patterns(part) for part in parts]), count_patterns(late))


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_of_counts_are_those_of_the_items(seed):
    """The items themselves, one row each, are the independent count; only the order of sums differs."""
    table = drawn(seed, n=80, questions=("sequencing",))
    matrix = to_matrix(table, "sequencing")
    counts = count_patterns(table)
    names = [name for name, found in COEFFICIENTS.items() if not found.two_raters]
    about = {"categories": range(4), "cluster_unit": "task"}
    items = agreement_coefficients(matrix.codes, names, clusters=matrix.clusters, **about)
    of_counts = {"clusters": counts.clusters, "times": counts.times, "rows": counts.pattern}
    rows = agreement_coefficients(counts.codes, names, **of_counts, **about)
    for name in names:
        same(rows[name], items[name])


def same(rows, items):
    """Every field alike, numbers but for the order of sums."""
    one, other = items.to_dict(), rows.to_dict()
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert other[key] == (pytest.approx(value, rel=1e-9, nan_ok=True) if isinstance(value, float) else value)


def test_like_items_may_stand_as_one_row_with_their_number():
    rng = np.random.default_rng(3)
    values, tasks, times = rng.integers(0, 2, 30).astype(float), np.repeat(range(10), 3), rng.integers(1, 5, 30)
    values[4] = math.nan
    repeated = clustered_proportion(np.repeat(values, times), np.repeat(tasks, times))
    same(clustered_proportion(values, tasks, times=times), repeated)
    same(clustered_proportion(values, times=times), clustered_proportion(np.repeat(values, times)))
    pair = np.column_stack([values, rng.integers(0, 2, 30)])
    assert case_bounds(pair, categories=[0, 1], times=times) == case_bounds(
        np.repeat(pair, times, axis=0), categories=[0, 1]
    )


def test_independent_items_need_no_more_than_their_patterns():
    rng = np.random.default_rng(4)
    patterns, times = rng.integers(0, 3, (9, 3)).astype(float), rng.integers(20, 40, 9)
    names = ["fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "percent_agreement"]
    items = agreement_coefficients(np.repeat(patterns, times, axis=0), names, categories=range(3))
    rows = agreement_coefficients(patterns, names, categories=range(3), times=times)
    assert {n: rows[n].to_dict() for n in names} == {n: items[n].to_dict() for n in names}


@pytest.mark.parametrize(
    ("scale", "steps"),
    [
        ("verdict", False),
        ("unit", False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in [("verdict", True), ("ordinal:1-5", False)]),
        pytest.param("nominal", False, marks=pytest.mark.slow),
    ],
)
def test_a_dataset_in_parts_says_what_the_table_says_to_the_last_digit(tmp_path, scale, steps):
    table = drawn(5, scale=scale, steps=steps)
    table.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "parts", ratings_a_part=40)
    assert len(parts_of(tmp_path / "parts")) > 4
    (found,) = agreement_of_dataset(str(tmp_path / "parts"), steps=steps)
    whole = agreement(table, steps=steps, weighted=False)
    assert found.overall.to_dict() == whole.overall.to_dict()
    assert [each.to_dict() for each in found.families] == [each.to_dict() for each in whole.families]


@pytest.mark.parametrize("judges", [True, False])
def test_what_is_left_out_of_a_dataset_is_said_as_of_a_table_and_once(tmp_path, judges):
    """Two empty runs, and other repeats by judges or, where there is none, by people."""
    table = drawn(6, raters=4, questions=("sequencing",)).with_columns(
        rater_kind=pl.when(pl.col("rater").is_in(["judge-0", "judge-1"]) & judges)
        .then(pl.lit("llm"))
        .otherwise(pl.lit("human")),
        flags=pl.when(pl.col("trajectory_id").is_in(["run-000", "run-001"])).then(["empty_run"]).otherwise([]),
    )
    again = table.filter(pl.col("rater") != "judge-1").with_columns(repeat=pl.lit(1, pl.Int64))
    table = pl.concat([table, again])
    table.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "parts", ratings_a_part=40)
    path = str(tmp_path / "parts")
    (found,), whole = agreement_of_dataset(path), agreement(table, weighted=False)
    assert found.overall.to_dict() == whole.overall.to_dict()
    assert found.about == whole.about.replace("the ratings.", f"{path}.")
    assert sum("without messages" in each for each in found.sentences) == 1


@pytest.mark.slow
def test_published_votes_of_twenty_judges_in_parts(tmp_path):
    from axisjudge.sources import load_source

    source = load_source("votes")
    source.ratings.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "parts", ratings_a_part=9_000)
    (part, *others) = [counted(part.scan(), step_level=True)[0] for part in parts_of(tmp_path / "parts")]
    assert len(others) > 2
    (whole,) = counted(source.ratings.lazy(), step_level=True)
    assert alike(in_sum([part, *others]), whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["votes", "demo", "agentprocessbench", "summeval"])
def test_every_source_in_parts_says_what_it_says_whole(tmp_path, monkeypatch, request, name):
    from axisjudge.sources import load_source

    if name not in ("votes", "demo"):  # those two ship with the workbench
        monkeypatch.setenv("AXISJUDGE_DATA", str(request.getfixturevalue("shared_data")))
    source = load_source(name)
    source.ratings.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "parts", ratings_a_part=2_000)
    (found,) = agreement_of_dataset(str(tmp_path / "parts"), steps=source.step_level, cluster_unit=source.cluster_unit)
    whole = agreement(source, weighted=False)
    ours = {each.question: each.to_dict() for each in found.overall.questions}
    assert ours == {each.question: each.to_dict() for each in whole.overall.questions}
    theirs = {each.questions: each.to_dict() for each in whole.by_question.values()}
    assert {each.questions: each.to_dict() for each in found.by_question.values()} == theirs
    if source.step_level or source.scale != "verdict":
        return
    table = read_ratings(tmp_path / "ratings.parquet", latest=True)
    panel = panel_of_parts(ratings_in_parts(tmp_path / "parts", lean=True))
    assert panel.axes == panel_of(table).axes
    assert failure_profile(panel).to_dict() == failure_profile(table).to_dict()
    ours, theirs = (
        people(read_ratings(path, latest=True, lean=lean), n_draws=0).to_dict()
        for path, lean in ((tmp_path / "parts", True), (tmp_path / "ratings.parquet", False))
    )
    assert ours == theirs


@pytest.mark.parametrize("judges", [None, ["judge-1", "judge-0"]])
def test_a_panel_in_parts_is_that_of_the_table(tmp_path, judges):
    """Raters and runs that a part lacks, lost verdicts and second repeats; parts come in any order."""
    first = drawn(7, n=50, raters=4)
    table = pl.concat([first, first.head(30).with_columns(repeat=pl.lit(1, dtype=pl.Int64))])
    table = table.with_columns(agent=pl.when(pl.col("trajectory_id") < "run-020").then(pl.lit("a")))
    table.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "parts", ratings_a_part=40)
    parts = list(ratings_in_parts(tmp_path / "parts", lean=True))
    assert len(parts) > 6
    whole = panel_of(table, judges=judges)
    assert whole.lost.any()
    assert whole.not_rated.any()
    assert whole.repeats_left_out
    for order in (parts, parts[::-1]):
        panel = panel_of_parts(order, judges=judges)
        for field in fields(panel):
            np.testing.assert_array_equal(getattr(panel, field.name), getattr(whole, field.name), err_msg=field.name)
    cells = table.filter((pl.col("repeat") == 0) & (pl.col("rater_kind") == "llm") & (pl.col("verdict") == "incorrect"))
    assert (whole.incorrect == 1).sum() == cells.filter(pl.col("rater").is_in(whole.judges)).height


@pytest.mark.parametrize("scale", ["verdict", "ordinal:1-5"])
def test_questions_together_hold_the_items_of_each_whoever_gives_labels(scale):
    table, questions = drawn(5, raters=5, scale=scale), ("sequencing", "termination")  # people are of a judge's family
    items, counts = pooled(table, questions), pooled_counts(counted(table.lazy()))
    every = np.column_stack([counts.clusters, counts.codes[counts.rows]]).repeat(counts.times, axis=0)
    assert counts.raters == items.raters
    assert counts.n_judges == items.n_judges == 4
    assert lines_of(every) == lines_of(np.column_stack([items.clusters, items.codes]))


def lines_of(matrix):
    return sorted(map(tuple, np.nan_to_num(matrix, nan=-1)))


def test_two_ratings_of_an_item_by_one_rater_are_refused():
    table = drawn(6, n=8, questions=("sequencing",))
    with pytest.raises(InputError, match="one rating for each item and rater"):
        count_patterns(pl.concat([table, table.head(1)]))


def test_lost_verdicts_of_a_single_judge_are_one_pattern_over_questions() -> None:
    judge = {"rater": "j", "rater_kind": "llm", "family": "j"}
    rows = [
        Rating(trajectory_id=f"r{n}", cluster_id=f"t{n}", question=axis, verdict=word, **judge, status=status)
        for axis in ("sequencing", "termination")
        for n, (word, status) in enumerate([("correct", "ok"), (None, "refused"), (None, "truncated")])
    ]
    whole = in_sum(counted(ratings_frame(rows).lazy()))
    assert (whole.n_items, whole.rows.null_count().sum_horizontal()[0]) == (6, 0)
    assert whole.clusters.dtype.kind == "u"
    assert np.isnan(whole.codes).sum() == 1
