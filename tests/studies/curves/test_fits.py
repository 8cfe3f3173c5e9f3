"""Curves of a table: planted curves found, composites compared, sources told apart."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.imports.cells import decimal_points
from axisjudge.scores.curves.curve import AXIS_CURVE
from axisjudge.studies.curves import (
    CurveReport,
    ScoreColumns,
    cliff,
    compare_composites,
    curve_report,
    form_errors,
    lighthouse,
    load_scores,
)
from axisjudge.studies.curves.fits import apply_curves
from axisjudge.studies.curves.sources import (
    DIMENSIONS,
    axis_raw_scores,
    people_as_ratings,
    planted_scores,
    read_table,
    scores_of_ratings,
    write_table,
)
from axisjudge.workbench import home

COLUMNS = ScoreColumns(dimension="dimension", run="run")


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    return planted_scores(seed=5)


@pytest.fixture(scope="module")
def report(scores) -> CurveReport:
    return curve_report(scores, COLUMNS)


def test_planted_scores_have_their_curves_as_means() -> None:
    """With many tasks and no judge's noise the fits are the planted curves."""
    many = planted_scores(800, judgings=1, seed=1)
    fits = curve_report(many, COLUMNS).fits
    for name in ("environment", "service"):
        assert fits[name].median.estimate == pytest.approx(DIMENSIONS[name].curve.median, rel=0.05)
        assert fits[name].sigma.estimate == pytest.approx(DIMENSIONS[name].curve.sigma, rel=0.12)


def test_each_dimension_is_fitted_or_refused_with_a_sentence(report) -> None:
    table = {row["dimension"]: row for row in report.table.to_dicts()}
    said = [sentence for each in report.dimensions for sentence in each.sentences]
    assert [table[name]["curve"] for name in DIMENSIONS] == ["fitted", "fitted", "refused"]
    (why,) = [each for each in said if each.startswith("agent: the fit is refused, because ")]
    assert re.search("all above the one that would be worth 50 .* To collect", why)
    assert any("judgings of one run" in sentence for sentence in report.remarks)
    assert form_errors(report).table["dimension"].unique().sort().to_list() == ["environment", "service"]


def test_a_monotone_curve_reverses_no_pair_within_a_dimension_but_composites_do(scores, report) -> None:
    found = compare_composites(scores, report)
    assert found.reversed_within == {"environment": 0, "service": 0}
    assert found.reversed_pairs > 0
    assert found.kept == ("agent",)
    assert ((found.runs["low"] < found.runs["fitted"]) & (found.runs["fitted"] < found.runs["high"])).all()


def test_composites_are_the_weighted_mean_of_the_scores(scores, report) -> None:
    found = compare_composites(scores, report).runs.row(0, named=True)
    first = scores.filter((pl.col("run") == found["run"]) & (pl.col("repeat") == 0))
    raw = dict(zip(first["dimension"], first["raw"], strict=True))
    assumed = 0.4 * first["goal"][0] + 0.2 * sum(float(AXIS_CURVE.score(each)) for each in raw.values())
    fitted = assumed + 0.2 * sum(
        float(report.fits[name].band(raw[name]).score - AXIS_CURVE.score(raw[name]))
        for name in ("environment", "service")
    )
    assert found["assumed"] == pytest.approx(assumed)
    assert found["fitted"] == pytest.approx(fitted)


def test_the_band_of_a_composite_with_one_fitted_dimension_is_that_dimensions(scores, report) -> None:
    fits = {"service": report.fits["service"]}
    alone = replace(report, dimensions=tuple(each for each in report.dimensions if each.dimension in fits))
    found = compare_composites(scores, alone).runs.row(0, named=True)
    raw = scores.filter((pl.col("run") == found["run"]) & (pl.col("dimension") == "service"))["raw"][0]
    band = fits["service"].band(raw)
    assert found["high"] - found["low"] == pytest.approx(0.2 * float(band.high - band.low), rel=0.02)


@pytest.mark.slow
def test_bands_of_composites_cover_the_planted_composite() -> None:
    """The planted composite of a run with given raw scores; 100 worlds, Monte Carlo error .022."""
    at = {name: [0.4, 0.6, 0.8] for name in DIMENSIONS}
    probe = pl.DataFrame(
        [
            {"run": str(n), "agent": "a", "task": "t", "dimension": name, "raw": raws[n], "goal": 50.0}
            for name, raws in at.items()
            for n in range(3)
        ]
    )
    true = [
        20
        + 0.2
        * sum(
            float((DIMENSIONS[name].curve if name != "agent" else AXIS_CURVE).score(at[name][n])) for name in DIMENSIONS
        )
        for n in range(3)
    ]
    held = []
    for seed in range(100):
        world = planted_scores(judgings=1, seed=seed, judge_noise=0.0).filter(pl.col("dimension") != "agent")
        report = curve_report(world, COLUMNS, forms=False)
        runs = compare_composites(probe, report).runs
        held.append(((runs["low"] <= pl.Series(true)) & (pl.Series(true) <= runs["high"])).to_numpy())
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)


def test_scores_bear_the_name_of_their_meaning(scores, report) -> None:
    applied = apply_curves(scores, report.fits, COLUMNS)
    assert set(applied.columns) - set(scores.columns) == {
        "criterion_score",
        "criterion_score_low",
        "criterion_score_high",
    }
    refused = applied.filter(pl.col("dimension") == "agent")
    assert refused["criterion_score"].null_count() == refused.height
    population = scores.filter(pl.col("dimension") == "service").with_columns(pl.col("raw") * 0.9)
    norm = curve_report(population, ScoreColumns(human=None), reference="norm")
    assert "norm_score" in apply_curves(population, norm.fits).columns
    with pytest.raises(InputError, match="one meaning"):
        apply_curves(scores, {**report.fits, **norm.fits}, COLUMNS)


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
def test_tables_come_back_as_they_were(scores, tmp_path, name) -> None:
    write_table(scores.head(20), tmp_path / name)
    assert read_table(tmp_path / name).equals(scores.head(20))


def test_a_table_and_its_people_as_ratings_are_told_apart(scores, tmp_path) -> None:
    table, ratings = tmp_path / "table.csv", tmp_path / "ratings[1].jsonl"
    write_table(scores.drop("goal"), table)
    people = people_as_ratings(scores.filter(pl.col("repeat") == 0))
    judge = people.with_columns(rater=pl.lit("judge"), rater_kind=pl.lit("llm"), value=pl.col("value") * 0.9)
    ratings.write_bytes(pl.concat([people, judge]).write_ndjson().encode())
    assert load_scores(str(table)).scores.height == scores.height
    both = load_scores(str(ratings)).scores
    planted = judge.with_columns(rater=pl.lit("truth"), rater_kind=pl.lit("planted"), value=1.0)
    assert scores_of_ratings(pl.concat([people, judge, planted])).equals(both), "who labels is no judge"
    assert both.height == scores["run"].n_unique() * 3
    assert (both["raw"] * 100).to_list() == pytest.approx((both["human"] * 0.9).to_list())


def test_a_table_goes_through_the_front_door_in_its_own_kind(scores) -> None:
    found = studies.curves(scores, forms=False)
    assert isinstance(found.criterion.table, pl.DataFrame)
    assert found.composites is not None
    assert found.norm is None
    assert found.criterion.planted == {}
    assert "No curve can be fitted for the dimension agent" in found.answer
    assert f"{found.criterion.fits['service'].band(0.9).score:.0f} of 100 in service" in found.answer
    assert f"{found.criterion.fits['service'].median.estimate:.3f}" in found.criterion.answer
    with pytest.raises(InputError, match="add task"):
        studies.curves(scores.drop("task"))
    bare = studies.curves(scores.filter(pl.col("dimension") == "service").select("raw", "human", "task"), forms=False)
    assert bare.criterion.table["dimension"].to_list() == ["all"]
    assert bare.composites is None


def test_the_assumed_curve_is_called_worse_where_its_interval_says_so(report) -> None:
    worse = form_errors(report).worse
    for each in report.dimensions:
        excess = [loss.excess.ci_low for loss in each.forms if loss.form == "assumed"]
        assert (each.dimension in worse) == any(low > 0 for low in excess)
    assert worse


def test_what_was_planted_is_said_to_lie_inside_or_outside() -> None:
    found = studies.curves("planted", forms=False, seed=5)
    median = found.criterion.fits["service"].median
    planted = DIMENSIONS["service"].curve.median
    word = "inside" if median.ci_low <= planted <= median.ci_high else "outside"
    recovered = [each for each in found.criterion.remarks if "the planted" in each]
    (sentence,) = [each for each in recovered if each.startswith("service")]
    assert f"the planted median {planted:g} lies {word}" in sentence
    assert [each.partition(":")[0] for each in recovered] == ["environment", "service"]


@pytest.mark.slow
def test_summeval_is_read_as_scores(shared_data, monkeypatch) -> None:
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    source = load_scores("summeval")
    assert source.scores.height == 6400
    assert source.scores["task"].n_unique() == 100
    assert source.scores["raw"].is_between(0, 1).all()


def test_raw_scores_of_the_demo_transcripts_are_too_few_tasks_for_a_norm() -> None:
    import axisjudge
    from axisjudge.datasets.registry import demo_transcripts
    from axisjudge.scores.axis.scenario import axis_results

    raw = axis_raw_scores(axis_results(axisjudge.read_trajectories(*demo_transcripts()).trajectories))
    found = curve_report(raw, ScoreColumns(human=None, dimension="dimension"), reference="norm")
    assert found.table["curve"].to_list() == ["refused"] * 3
    assert all("4 tasks" in each.sentences[0] for each in found.dimensions)


def test_published_points_and_the_cliff() -> None:
    found = lighthouse(pl.read_csv(home() / "data" / "published" / "lighthouse_curve.csv"))
    assert found.points.height == 8
    assert found.largest < 1e-5
    assert cliff().unreachable == (97, 98, 99)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda table: curve_report(table, ScoreColumns(raw="rw")), "needs a column 'rw'"),
        (lambda table: curve_report(table, ScoreColumns(human="agent")), "agent: must hold numbers"),
        (lambda table: curve_report(table.with_columns(task=pl.lit(None))), "task: every row needs one"),
        (lambda table: curve_report(table, COLUMNS, dimensions=["servise"]), "found 'servise'"),
        (lambda table: curve_report(table, reference="nrom"), "did you mean 'norm'"),
        (lambda table: scores_of_ratings(people_as_ratings(table)), "judges and by people"),
        (lambda table: curve_report(table.with_columns(raw=pl.col("raw") > 0.5)), "raw: must hold numbers"),
        (lambda table: curve_report(table, cut="good"), "cut: says how people's labels are read"),
        (lambda table: curve_report(table, reference="norm", labels=["a", "b"]), "labels: says how"),
        (lambda table: curve_report(table, labels=["a", "b", "a"], cut="b"), "each named once"),
    ],
)
def test_malformed_tables_say_what_is_wrong(scores, call, message) -> None:
    with pytest.raises(InputError, match=message):
        call(scores)


def test_a_run_without_a_raw_score_in_a_dimension_has_no_composite(scores, report) -> None:
    holed = scores.filter((pl.col("dimension") != "agent") | (pl.col("task") != "task-03"))
    with pytest.raises(InputError, match="found 'agent'"):
        compare_composites(holed, report)
    assert compare_composites(scores.drop("goal"), report) is None


def test_runs_without_a_goal_are_left_out_and_said_and_words_are_no_goal(scores, report) -> None:
    """The composites are those of the other runs, as if the first agent's had never been there."""
    mine = pl.col("agent") == scores["agent"][0]
    found, rest = (
        compare_composites(table, report)
        for table in (scores.with_columns(goal=pl.when(~mine).then("goal")), scores.filter(~mine))
    )
    assert found.agents.equals(rest.agents)
    assert found.reversed_pairs == rest.reversed_pairs
    assert "Left out: 40 runs" in found.answer
    assert "nan" not in found.answer
    assert compare_composites(scores.with_columns(goal=pl.lit(None)), report) is None
    with pytest.raises(InputError, match="goal: must hold numbers"):
        compare_composites(scores.with_columns(goal=pl.lit("pass")), report)


def test_files_that_are_no_tables_say_so(tmp_path) -> None:
    with pytest.raises(InputError, match="no such table"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(InputError, match=r"must be one of \.csv"):
        read_table(tmp_path / "a.txt")
    (tmp_path / "a.parquet").write_text("x")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "typed",
    [
        lambda table: table.astype({"raw": str}),
        lambda table: table.assign(raw=table["raw"].astype(str).astype("category")),
        lambda table: table.assign(raw=[str(x) if i % 2 else x for i, x in enumerate(table["raw"])]),
        lambda table: table.assign(human=table["human"].astype("Int64")),
        lambda table: table.assign(task=[i if i % 2 else str(i) for i in table["task"]]),
    ],
)
def test_numbers_and_names_count_alike_whatever_type_pandas_gives_them(typed) -> None:
    rows = planted_scores(n_tasks=12, judgings=1).filter(pl.col("dimension") == "environment").to_pandas()
    rows = rows[["raw", "human", "task"]].assign(task=np.arange(len(rows)) % 12)
    expected, found = (curve_report(each, forms=False).fits["all"].median for each in (rows, typed(rows)))
    assert found == expected


def test_rows_that_lack_a_score_are_counted_where_the_fit_is_told() -> None:
    rows = planted_scores(n_tasks=12, judgings=1).filter(pl.col("dimension") == "environment").to_pandas()
    gaps = rows.assign(human=rows["human"].astype(object).where(rows.index > 2, "n/a"))
    report = curve_report(gaps, forms=False)
    assert report.fits["all"].median.n_items == len(rows) - 3
    assert any("3 of 48 rows" in remark for remark in report.remarks)


def test_a_label_named_none_is_a_label() -> None:
    rows = planted_scores(n_tasks=12, judgings=1).filter(pl.col("dimension") == "environment")
    words = pl.when(pl.col("human") > 50).then(pl.lit("some")).otherwise(pl.lit("none"))
    fit = curve_report(rows.with_columns(human=words), labels=["none", "some"], cut="some").fits["all"]
    assert fit.median.n_items == rows.height


def test_a_csv_is_read_to_its_end_and_its_names_are_no_numbers(tmp_path) -> None:
    """The first cell with a half stands in row 150, and tasks 01 and 1 are two."""
    lines = [f"0.5,{'57.5' if row == 150 else 50},{'01' if row % 2 else '1'}" for row in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["raw,human,task", *lines]))
    table = read_table(tmp_path / "a.csv")
    assert table["human"].sum() == 50 * 199 + 57.5
    assert set(table["task"]) == {"01", "1"}


def test_a_spreadsheet_with_semicolons_and_decimal_commas_is_read_as_one_with_points(scores, tmp_path) -> None:
    write_table(scores.head(40), tmp_path / "points.csv")
    text = (tmp_path / "points.csv").read_text()
    (tmp_path / "commas.csv").write_text(text.replace(",", ";").replace(".", ","), encoding="utf-8-sig")
    assert read_table(tmp_path / "commas.csv").equals(read_table(tmp_path / "points.csv"))
    assert decimal_points(pl.Series(["0,752", "0,118"])).to_list() == ["0.752", "0.118"]  # no thousands begin with 0
    assert decimal_points(pl.Series(["1,752", "12,118"])).to_list() == ["1,752", "12,118"]


def test_a_curve_is_applied_to_what_it_was_fitted_for(scores, report) -> None:
    """Of several curves none is taken unasked; a raw score off the scale has none; a column is not written over."""
    fits = {name: fit for name, fit in report.fits.items() if fit.curve}
    with pytest.raises(InputError, match="curves of 2 dimensions"):
        apply_curves(scores, fits)
    one = {"environment": fits["environment"]}
    with pytest.raises(InputError, match="lie in"):
        apply_curves(scores.with_columns(raw=100 * pl.col("raw")), one)
    with pytest.raises(InputError, match="needs a column 'kind'"):
        apply_curves(scores, fits, ScoreColumns(dimension="kind"))
    with pytest.raises(InputError, match="such a column already"):
        apply_curves(apply_curves(scores, one), one)
