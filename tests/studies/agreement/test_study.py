"""The study as a whole: its answer follows from its figures; a coefficient that is registered is offered and shown."""

import numpy as np
import polars as pl
import pytest
from judged import ratings
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.protocol import AnalysisPlan
from axisjudge.protocol.plan import statistics
from axisjudge.report.tables import markdown_table
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, Coefficient, category_counts, coefficient_columns
from axisjudge.stats.planning import plan_agreement
from axisjudge.studies import agreement, confidence, evidence
from axisjudge.studies._shared.pooled import declared_results
from axisjudge.studies.agreement import next_step
from axisjudge.studies.agreement.sentences import Agreed, family_group
from axisjudge.studies.confidence import Missing

WORDS = np.array(["correct", "incorrect"])


def judged(right: float, *, judges=("a1", "a2", "b1"), tasks=30, labels=True, seed=0):
    """Judges that say the truth with probability `right` and else the other word, and the truth itself."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(tasks * 4) < 0.4).astype(int)
    words = {name: WORDS[truth ^ (rng.random(truth.size) >= right)].tolist() for name in judges}
    kinds = {"truth": "planted"} if labels else {}
    words |= {"truth": WORDS[truth].tolist()} if labels else {}
    families = {name: name[0] for name in judges}
    return ratings(
        words, families=families, kinds=kinds, per_task=4, confidences={name: rng.random(truth.size) for name in judges}
    )


def test_the_answer_follows_from_the_interval_of_alpha():
    alike, apart = agreement(judged(0.95), weighted=False), agreement(judged(0.5), weighted=False)
    assert alike.agreed is Agreed.BEYOND_CHANCE
    assert apart.agreed in (Agreed.NOT_SHOWN, Agreed.BELOW_CHANCE)
    for found in (alike, apart):
        assert found.together.alpha_judges.interval() in found.answer
        assert f"{found.together.same.estimate:.0%}" in found.answer
    number = apart.worth.measured.n_effective
    said = f"worth {number.estimate:.1f} ({number.interval('.1f')}) independent ones"
    assert (said in next_step(apart.together, apart.worth)) == (number.estimate < len(apart.together.judges) / 2)
    thin = alike.worth.measured.n_effective
    assert np.isnan(thin.ci_low)  # judges that hardly err tell nothing of how they err together
    assert "worth" not in next_step(alike.together, alike.worth)
    assert set(alike.worth.table["effective_judges"]) == {None}
    unlabelled = agreement(judged(0.95, labels=False), weighted=False)
    assert "label" in next_step(unlabelled.together, unlabelled.worth)
    few = agreement(judged(0.95, tasks=1), weighted=False)
    assert (few.agreed is Agreed.NOT_TOLD) == np.isnan(few.together.alpha_judges.ci_low)


def test_families_are_a_group_where_any_two_of_them_agree_by_a_tenth_more_than_any_others():
    means = {frozenset("ab"): 0.66, frozenset("ac"): 0.62, frozenset("bc"): 0.64}
    apart = means | {frozenset(f"{one}d"): 0.3 for one in "abc"}
    assert family_group("abcd", apart) == ["a", "b", "c"]
    assert family_group("abcd", apart | {frozenset("ad"): 0.55}) == []
    assert family_group("abc", means) == []


def test_planted_labels_carry_their_banner_and_judges_alone_none():
    for found in (agreement(judged(0.9), weighted=False), confidence(judged(0.9)), evidence(judged(0.9))):
        assert "truth" in found.banner
    assert evidence(judged(0.9, labels=False)).banner == ""


def test_confidences_without_labels_and_labels_without_confidences_are_told_apart():
    with_labels, without = judged(0.9), judged(0.9, labels=False)
    assert confidence(without).missing is Missing.NO_LABELS
    nothing = confidence(with_labels.with_columns(confidence=pl.lit(None, dtype=pl.Float64)))
    assert (nothing.missing, nothing.judges, nothing.figures()) == (Missing.NO_CONFIDENCES, (), {})
    assert Missing.NO_CONFIDENCES in nothing.answer
    assert confidence(with_labels.with_columns(confidence_source=pl.lit("verbalized"))).missing is Missing.NONE
    with pytest.raises(InputError, match="labels"):
        confidence(without, without)


def _agreeing(codes, categories):
    counts = category_counts(codes, categories.size)
    n = counts.sum(axis=1)
    pairs = np.maximum(n * (n - 1), 1)
    return np.column_stack([np.where(n > 1, (counts * (counts - 1)).sum(axis=1) / pairs, 0), n > 1])


def _uniform_chance(sums, categories):
    observed = 1 - sums[..., 0] / np.maximum(sums[..., 1], 1)
    return observed, np.full(observed.shape, 1 - 1 / categories.size)


#: Chance is one over the number of words: none of those registered.
NEW = Coefficient("uniform_chance", "kappa of equal chances", _agreeing, _uniform_chance)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(COEFFICIENTS, NEW.name, NEW)


def test_tables_show_these_four_among_others_and_a_plan_takes_those_without_an_order():
    assert {"percent", "kappa", "ac1", "alpha"} <= set(coefficient_columns())
    unordered = {name for name, each in COEFFICIENTS.items() if not each.ordered}
    assert {"percent_agreement", "scott_pi", "krippendorff_alpha"} <= unordered <= set(statistics())


@pytest.mark.usefixtures("registered")
def test_a_coefficient_that_is_registered_stands_in_every_table():
    table = judged(0.9)
    found = agreement(table, coefficient=NEW.name)
    codes = table.filter(pl.col("rater") != "truth").pivot("rater", index="item_id", values="verdict")
    same = [(codes[a] == codes[b]).mean() for a, b in (("a1", "a2"), ("a1", "b1"), ("a2", "b1"))]
    expected = 1 - (1 - np.mean(same)) / (1 - 1 / 2)  # two words take a side
    assert found.overall.table[NEW.name][0] == pytest.approx(expected)
    assert found.overall.table[f"{NEW.name}_low"][0] < expected < found.overall.table[f"{NEW.name}_high"][0]
    assert f"{expected:.2f}" in markdown_table(found.overall.brief(), {}, "", None)
    assert NEW.label in found.overall.questions[0].sentences()[0]
    assert NEW.name in found.together.table.columns
    assert NEW.label in found.together.answer
    assert NEW.name in found.confident.table["coefficient"].to_list()
    assert NEW.label in found.together.plot().get_xlabel()


@pytest.mark.usefixtures("registered")
def test_a_coefficient_that_is_registered_can_be_declared_and_planned_with():
    flags = pl.lit(["opening:1:aaaaaaaaaaaa"])
    table = judged(0.9, labels=False).with_columns(flags=flags)
    plan = AnalysisPlan.of({"axes": ["termination"], "statistic": NEW.name})
    (declared,) = declared_results(table, plan)
    assert declared.estimate.estimate == agreement(table, weighted=False).overall.table[NEW.name][0]
    assert plan_agreement(0.2, coefficient=NEW.name, sizes=(20,), replicates=5).what == NEW.name


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("command", ["agreement", "plan agreement", "rubric lock"])
def test_a_coefficient_that_is_registered_is_named_by_the_commands_that_take_one(command):
    assert NEW.name in CliRunner().invoke(app, [*command.split(), "--help"]).output


@pytest.mark.slow
def test_a_judge_that_abstains_is_no_judge_that_disagrees():
    """Two judges that agree, and a third that is uncertain on most items and agrees on the rest."""
    said = ["correct", "correct", "incorrect", "correct", "incorrect"] * 12
    seldom = [word if item % 6 == 0 else "uncertain" for item, word in enumerate(said)]
    found = agreement(ratings({"a": said, "b": said, "rules": seldom}), weighted=False)
    assert found.agreed is Agreed.BEYOND_CHANCE
    assert found.together.alpha_judges.estimate == 1
    assert found.share_decided == pytest.approx(130 / 180)
    assert "72%" in found.answer
    every = agreement(ratings({"a": said, "b": said}), weighted=False)
    assert every.share_decided == 1
    assert "take a side" not in every.answer
