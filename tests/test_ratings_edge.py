"""Ratings tables of any kind at the edge: the same numbers come out, or a line in our words."""

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.ratings import SCHEMA, as_ratings, ratings_frame, read_ratings, to_matrix
from axisjudge.ratings.scales import categories_of, checked_scale, on_scale, recognised_scale
from axisjudge.verdict import Rating


def table():
    who = {"a": ("llm", "openai"), "b": ("human", "human")}
    return ratings_frame(
        Rating(
            trajectory_id=run,
            step_index=step,
            cluster_id=run,
            question="q",
            scale="ordinal:1-5",
            rater=rater,
            rater_kind=kind,
            family=family,
            verdict=str(value) if value else None,
            value=float(value) if value else None,
            status="ok" if value else "parse_error",
            cited_step_indices=[1, 2] if value == 5 else [],
            flags=["seen"] if value == 2 else [],
        )
        for rater, (kind, family) in who.items()
        for run, step, value in (("r1", None, 5), ("r1", 3, 2), ("r2", None, 4 if rater == "a" else 0))
    )


def kinds():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    whole = table()
    yield "polars", whole
    yield "lazy", whole.lazy()
    yield "arrow", whole.to_arrow()
    yield "pandas", whole.to_pandas()
    yield "pandas nullable", whole.to_pandas().convert_dtypes()
    yield "pandas pyarrow", whole.to_pandas(use_pyarrow_extension_array=True)
    yield "pandas categories", whole.to_pandas().astype({"rater": "category", "question": "category"})
    yield "dict of lists", whole.to_dict(as_series=False)
    yield (
        "dict of arrays",
        {name: whole[name].to_numpy() for name in ("trajectory_id", "step_index", "rater", "value")}
        | {
            name: whole[name].to_list()
            for name in ("question", "scale", "rater_kind", "verdict", "cited_step_indices", "flags", "family")
        },
    )
    yield "dict of series", {name: pandas.Series(whole[name].to_list()) for name in whole.columns}


def test_every_kind_of_table_gives_the_same_ratings():
    expected = table()
    for name, frame in kinds():
        found = as_ratings(frame)
        assert found.schema == pl.Schema(SCHEMA), name
        assert found.drop("task_id").equals(expected.drop("task_id")), name
        codes = to_matrix(frame, "q").codes
        assert np.array_equal(codes, [[4, 4], [np.nan, 3]], equal_nan=True), name


def test_what_follows_need_not_be_there(tmp_path):
    few = {"trajectory_id": ["r1", "r2"], "question": ["q", "q"], "rater": ["gpt-4o", "ada"]}
    few |= {"rater_kind": ["llm", "human"], "verdict": ["yes", None]}
    found = as_ratings(few)
    assert found.select("item_id", "cluster_id", "family", "status", "scale").rows() == [
        ("r1", "r1", "openai", "ok", "nominal:yes"),
        ("r2", "r2", "human", "parse_error", "nominal:yes"),
    ]
    assert found["flags"].to_list() == [[], []]
    pl.DataFrame(few).write_parquet(tmp_path / "few.parquet")
    assert read_ratings(tmp_path / "few.parquet").height == 2
    steps = as_ratings({**few, "item_id": ["r1#4", "r2"]} | {"trajectory_id": ["r1", "r2"], "step_index": [4, None]})
    assert steps["item_id"].to_list() == ["r1#4", "r2"]


def test_what_cannot_be_taken_is_said_in_our_words():
    with pytest.raises(
        InputError, match="ratings: lacks the columns question, rater, rater_kind, trajectory_id, verdict"
    ):
        as_ratings({"x": [1]})
    with pytest.raises(InputError, match=r"must be a polars, pandas or arrow table.*'list'"):
        as_ratings([{"x": 1}])
    with pytest.raises(InputError, match="labels: must be a polars, pandas or arrow table"):
        as_ratings({"x": [1], "y": [1, 2]}, where="labels")
    with pytest.raises(InputError, match=r"wrong type \(confidence must be Float64\)"):
        as_ratings(table().with_columns(confidence=pl.lit("high")))


def test_numbers_without_words_are_spread_as_numbers():
    numbers = table().with_columns(scale=pl.lit("unit"), value=pl.col("value") / 5, verdict=None)
    found = to_matrix(numbers, "q")
    assert found.categories == ()
    assert np.array_equal(found.codes, [[1.0, 1.0], [np.nan, 0.8]], equal_nan=True)


@pytest.mark.parametrize("scale", ["verdict", "step", "nominal:a,b", "ordinal:1-5", "ordinal:0-10"])
def test_every_word_of_a_scale_lies_on_it(scale):
    words = categories_of(scale)
    assert [on_scale(scale, word)[0] for word in words] == list(words)
    assert on_scale(scale, "somewhere else") is None


@pytest.mark.parametrize(
    "scale", ["", "stars", "nominal:", "nominal:a,,b", "ordinal:5-1", "ordinal:1.5-2", "interval:1-1"]
)
def test_what_is_no_scale_is_refused(scale):
    with pytest.raises(InputError, match="--scale"):
        checked_scale("--scale", scale)


def test_a_recognised_scale_holds_all_that_it_was_recognised_from():
    for answers in (
        [1, 0],
        ["1.0", "0.0"],
        [2, 1],
        [0.5, 3.5],
        [-2, 4],
        [1e6, 0.5],
        ["x"],
        [True, False],
        [0],
        [20, 1],
    ):
        scale = recognised_scale("q", answers)
        assert checked_scale("--scale", scale) == scale
        assert [answer for answer in answers if on_scale(scale, answer) is None] == []


def test_agreement_comes_back_as_the_caller_s_kind_of_table():
    from axisjudge.studies.agreement.by_question import agreement_by_axis

    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    whole = table().filter(pl.col("step_index").is_null())
    for frame, kind in (
        (whole.to_pandas(), pandas.DataFrame),
        (whole.to_arrow(), pyarrow.Table),
        (whole, pl.DataFrame),
    ):
        found = agreement_by_axis(frame)
        assert isinstance(found.brief(), kind)
        assert isinstance(found.table, kind)
