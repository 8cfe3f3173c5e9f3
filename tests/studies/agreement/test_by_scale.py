"""Coefficients follow the scale; figures on the shipped votes equal independent computations."""

import itertools
import json

import krippendorff
import numpy as np
import polars as pl
import pytest
from judged import ratings
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.datasets import published_votes
from axisjudge.ratings import write_ratings
from axisjudge.ratings.scales import level_of
from axisjudge.sources import load_source, source_of, sources_of
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.studies import agreement
from axisjudge.studies.agreement.by_question import agreement_by_axis


@pytest.fixture(scope="module")
def page():
    """What notebook 02 shows by default."""
    return agreement(load_source("votes"), weighted=False)


@pytest.fixture(scope="module")
def votes():
    """The same votes as numbers: steps x judges, and people's."""
    table = published_votes("tau2", "step").with_columns(number=pl.col("verdict").cast(pl.Float64, strict=False))
    wide = table.pivot("rater", index="item_id", values="number")
    return {name: wide[name].to_numpy() for name in wide.columns if name != "item_id"}


@pytest.mark.slow
def test_every_two_raters_equal_scikit_learn(page, votes):
    assert page.together.label == "Cohen's kappa, quadratic weights"
    assert len(page.together.pairs) == 21 * 20 / 2
    for pair in page.together.pairs.iter_rows(named=True):
        one, other = (votes[rater] for rater in pair["raters"])
        both = ~np.isnan(one) & ~np.isnan(other)
        expected = cohen_kappa_score(one[both], other[both], weights="quadratic", labels=[-1, 0, 1])
        assert (pair["value"], pair["n_items"]) == (pytest.approx(expected), both.sum())


@pytest.mark.slow
def test_the_coefficients_of_all_judges_equal_krippendorff_and_plain_counting(page, votes):
    (step,) = page.overall.questions
    judges = np.column_stack([votes[name] for name in step.raters])
    alpha = krippendorff.alpha(judges.T, level_of_measurement="ordinal")
    assert step.coefficients["ordinal_alpha"].estimate == pytest.approx(alpha)
    assert page.together.alpha_judges.estimate == pytest.approx(alpha)
    counts = np.stack([(judges == word).sum(axis=1) for word in (-1, 0, 1)], axis=1).astype(float)
    n = counts.sum(axis=1)
    likeness = 1 - (np.subtract.outer([-1, 0, 1], [-1, 0, 1]) / 2) ** 2
    share = (counts / n[:, None]).mean(axis=0)
    agree = (((counts @ likeness) * counts).sum(axis=1) - n) / (n * (n - 1))
    for column, chance in (
        ("quadratic_kappa", share @ likeness @ share),
        ("ac2", likeness.sum() * (share * (1 - share)).sum() / 6),
    ):
        expected = (agree.mean() - chance) / (1 - chance)
        assert step.coefficients[column].estimate == pytest.approx(expected)
    plain = ((counts * (counts - 1)).sum(axis=1) / (n * (n - 1))).mean()
    assert step.coefficients["percent"].estimate == pytest.approx(plain)
    assert (step.n_items, step.n_common, step.raters_an_item) == (3557, int((n == 20).sum()), (19, 20))


@pytest.mark.slow
def test_the_panel_against_people_equals_plain_counting(page, votes):
    measured, judges = page.worth.measured, page.worth.judges
    right = np.column_stack(
        [np.where(np.isnan(votes[name]), np.nan, votes[name] == votes["people"]) for name in judges]
    )
    correlations = []
    for i, j in itertools.combinations(range(len(judges)), 2):
        both = ~np.isnan(right[:, [i, j]]).any(axis=1)
        correlations.append(np.corrcoef(right[both, i], right[both, j])[0, 1])
    assert measured.n_effective.estimate == pytest.approx(20 / (1 + 19 * np.mean(correlations)))
    assert measured.accuracy == pytest.approx(np.nanmean(right, axis=0))
    words = np.stack([np.sum([votes[name] == word for name in judges], axis=0) for word in (-1, 0, 1)], axis=1)
    top = words == words.max(axis=1, keepdims=True)
    hit = top[np.arange(len(top)), votes["people"].astype(int) + 1] / top.sum(axis=1)
    assert (measured.majority, measured.n_majority) == (pytest.approx(hit.mean()), 3557)
    assert measured.n_tied == (top.sum(axis=1) > 1).sum()
    assert f"{measured.n_tied} ties" in page.worth.answer
    assert "3,557 labelled items" in page.worth.answer


WORDS = {"a": ["loss", "gain"] * 20, "b": ["loss", "gain", "loss", "loss"] * 10, "c": [None, "gain"] * 20}


def several():
    """Three questions on three scales, one of them with gaps."""
    rng = np.random.default_rng(3)
    tone = ratings(WORDS, question="tone").with_columns(scale=pl.lit("nominal:gain,loss,neutral"))
    true = rng.integers(1, 6, 40)
    stars = {
        name: [str(min(5, max(1, star + shift))) for star, shift in zip(true, rng.integers(-1, 2, 40), strict=True)]
        for name in "abc"
    }
    stars_table = ratings(stars, question="stars").with_columns(scale=pl.lit("ordinal:1-5"))
    share = ratings({name: ["x"] * 40 for name in "ab"}, question="share")
    share = share.with_columns(
        scale=pl.lit("unit"),
        verdict=pl.lit(None, pl.String),
        value=pl.Series(rng.random(80), dtype=share.schema["value"]),
    )
    return pl.concat([tone, stars_table, share]), stars


def test_each_scale_has_its_own_coefficients_and_table():
    table, stars = several()
    found = agreement_by_axis(table)
    apart = found.by_scale()
    assert [level_of(scale) for scale in apart] == ["nominal", "ordinal", "interval"]
    heads = {scale: set(each.brief().columns) for scale, each in apart.items()}
    assert {"kappa", "AC1", "nominal alpha"} <= heads["nominal:gain,loss,neutral"]
    assert {"quadratic kappa", "quadratic AC2", "ordinal alpha"} <= heads["ordinal:1-5"]
    assert {"interval alpha", "ICC(A,1)"} <= heads["unit"]
    assert not heads["unit"] & {"kappa", "percent", "ordinal alpha"}
    columns = np.array([[float(word) for word in stars[name]] for name in "abc"])
    graded = apart["ordinal:1-5"].questions[0].coefficients["ordinal_alpha"]
    assert graded.estimate == pytest.approx(krippendorff.alpha(columns, level_of_measurement="ordinal"))
    numbers = table.filter(pl.col("scale") == "unit").pivot("rater", index="item_id", values="value")
    measured = apart["unit"].questions[0].coefficients["interval_alpha"]
    expected = krippendorff.alpha(numbers.select("a", "b").to_numpy().T, level_of_measurement="interval")
    assert measured.estimate == pytest.approx(expected)


def test_n_raters_and_unused_words_are_told():
    table, _ = several()
    alone = table.filter(~((pl.col("item_id") == "t00000") & (pl.col("rater") == "b")))
    tone = agreement_by_axis(alone).questions[0]
    assert (tone.n_items, tone.n_rated, tone.n_single, tone.raters_an_item) == (39, 40, 1, (2, 3))
    told = " ".join(tone.sentences())
    ac1 = tone.coefficients["ac1"].estimate
    codes = alone.filter(pl.col("question") == "tone").pivot("rater", index="item_id", values="verdict")
    numbers = codes.drop("item_id").select(pl.all().replace_strict({"loss": 0.0, "gain": 1.0}, default=None)).to_numpy()
    over_two = agreement_coefficients(numbers, ["gwet_ac1"], categories=[0, 1])["gwet_ac1"].estimate
    assert ac1 - over_two > 0.05
    assert f"{ac1:.3f}" in told
    assert f"{over_two:.3f} (never said: neutral)" in told
    assert "2 to 3 raters" in told
    assert "single rating, not compared: 1" in told


@pytest.mark.slow
def test_the_command_chooses_questions_and_scales(tmp_path):
    table, _ = several()
    write_ratings(table, tmp_path / "three.parquet")
    run = CliRunner()

    def result(*options):
        done = run.invoke(app, ["agreement", str(tmp_path / "three.parquet"), *options])
        assert done.exit_code == 0, done.output
        return done.output

    every = result()
    for head in ("AC1", "quadratic AC2", "ICC(A,1)"):
        assert head in every
    assert "ICC" not in result("--scale", "ordinal:1-5")
    one = json.loads(result("--question", "share", "--json"))
    assert [each["question"] for each in one["questions"]] == ["share"]
    assert "other_scales" not in one
    wrong = run.invoke(app, ["agreement", str(tmp_path / "three.parquet"), "--scale", "unt"])
    assert isinstance(wrong.exception, InputError)


def test_a_source_of_each_scale():
    table, _ = several()
    assert [source.questions for source in sources_of(table, "x")] == [("tone",), ("stars",), ("share",)]
    assert source_of(table, "x", questions=["stars"]).scale == "ordinal:1-5"


def test_worth_that_is_undefined_is_no_number_in_a_sentence():
    yes, no = "correct", "incorrect"
    table = ratings({"a": [yes, no] * 30, "b": [no, yes] * 30, "truth": [yes] * 60}, kinds={"truth": "planted"})
    found = agreement(table, weighted=False)
    told = " ".join([found.answer, *found.sentences])
    assert "exclude each other" in told
    assert "nan" not in told.split()
    assert "undefined (" not in found.worth.answer
