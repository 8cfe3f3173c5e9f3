"""The figures against scikit-learn, scipy and statsmodels, and what is said of them."""

import math

import krippendorff
import numpy as np
import pytest
from scipy.stats import binomtest, t
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint
from studies.check.conftest import votes

from axisjudge.checks import InputError
from axisjudge.studies import check as folder
from axisjudge.studies.check import check, decide
from axisjudge.studies.check.sentences import printed

TABLE = votes()


def arrays(table):
    return tuple(np.array([cell == "fail" for cell in table[name]]).astype(int) for name in ("human", "gpt"))


def test_every_measure_is_that_of_scikit_learn():
    truth, said = arrays(TABLE)
    found = {name: each.estimate for name, each in check(TABLE).read.judges[0].measures.items()}
    assert found == pytest.approx(
        {
            "sensitivity": metrics.recall_score(truth, said),
            "specificity": metrics.recall_score(truth, said, pos_label=0),
            "precision": metrics.precision_score(truth, said),
            "f1": metrics.f1_score(truth, said),
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, said),
            "agreement": metrics.accuracy_score(truth, said),
            "kappa": metrics.cohen_kappa_score(truth, said),
            "ac1": gwet(truth, said),
            "alpha": krippendorff.alpha([truth, said], level_of_measurement="nominal"),
        }
    )


def gwet(truth, said):
    """AC1 of two raters and two categories, from its definition."""
    share = (truth.mean() + said.mean()) / 2
    chance = 2 * share * (1 - share)
    return ((truth == said).mean() - chance) / (1 - chance)


def test_rows_on_their_own_have_wilsons_and_the_exact_interval():
    truth, said = arrays(TABLE)
    found = check(TABLE, cluster="none").read.judges[0].measures
    hits, n = int((said[truth == 0] == 0).sum()), int((truth == 0).sum())
    ends = proportion_confint(hits, n, method="wilson")
    assert (found["specificity"].ci_low, found["specificity"].ci_high) == pytest.approx(ends)
    few = (
        check({name: cells[:30] for name, cells in TABLE.items()}, cluster="none")
        .read.judges[0]
        .measures["sensitivity"]
    )
    exact = binomtest(round(few.estimate * few.n_items), few.n_items).proportion_ci(method="exact")
    assert (few.ci_low, few.ci_high) == pytest.approx((exact.low, exact.high))


def test_the_interval_by_task_is_wider_than_that_of_rows():
    whole = {name: [cell for cell in cells for _ in range(4)] for name, cells in TABLE.items()}
    by_task = check(whole).read.judges[0].measures
    by_row = check(whole, cluster="none").read.judges[0].measures
    for name in ("sensitivity", "specificity", "precision", "f1", "kappa", "ac1"):
        assert by_task[name].ci_high - by_task[name].ci_low > by_row[name].ci_high - by_row[name].ci_low


def test_ordered_words_have_weighted_coefficients_and_recall_by_word():
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 300)
    said = np.clip(truth + rng.integers(-1, 2, 300), 1, 5)
    judge = check({"gpt": said, "human": truth}).read.judges[0]
    kappa = metrics.cohen_kappa_score(truth, said, weights="quadratic")
    assert judge.measures["quadratic_kappa"].estimate == pytest.approx(kappa)
    alpha = krippendorff.alpha([truth, said], level_of_measurement="ordinal")
    assert judge.measures["ordinal_alpha"].estimate == pytest.approx(alpha)
    assert not judge.measures.keys() & {"kappa", "ac1", "alpha"}, "coefficients follow the scale"
    recalls = metrics.recall_score(truth, said, average=None)
    assert [each.estimate for each in judge.by_word.values()] == pytest.approx(list(recalls))
    assert "sensitivity" not in judge.measures
    gap = check({"gpt": [2, 5, 5, 1, 2] * 20, "human": [1, 5, 2, 1, 2] * 20}).read.judges[0].measures["quadratic_kappa"]
    assert gap.estimate != pytest.approx(  # sklearn counts places, not values: 1, 2, 5 has a gap
        metrics.cohen_kappa_score([1, 5, 2, 1, 2] * 20, [2, 5, 5, 1, 2] * 20, weights="quadratic")
    )


def test_nominal_words_have_no_weights():
    measures = check({"gpt": ["a", "b", "tie"] * 20, "human": ["a", "tie", "tie"] * 20}).read.judges[0].measures
    assert measures.keys() >= {"kappa", "ac1", "alpha"}
    assert "quadratic_kappa" not in measures


def test_a_judge_that_finds_few_failures_is_introduced_by_that():
    table = {"gpt": ["fail"] * 6 + ["pass"] * 394, "human": ["fail"] * 79 + ["pass"] * 321}
    result = check(table)
    assert "8%" in result.answer
    assert "of the 79" in result.answer
    assert any("misses at least 84%" in line for line in result.sentences)


def test_too_few_failures_are_met_with_a_number_that_suffices():
    table = {"gpt": ["fail"] * 9 + ["pass"] * 105, "human": ["fail"] * 14 + ["pass"] * 100}
    more = check(table).read.judges[0].more_failures
    times = -(-(14 + more) // 14)
    grown = check({name: cells * times for name, cells in table.items()}).read.judges[0].measures["sensitivity"]
    assert (grown.ci_high - grown.ci_low) / 2 <= 0.1
    assert check({name: cells * times for name, cells in table.items()}).read.judges[0].more_failures == 0


def test_differences_are_paired_and_nobody_is_best_unless_shown():
    gpt, human = TABLE["gpt"], TABLE["human"]
    same = check(TABLE | {"qwen": gpt})
    assert same.read.differences[0].caught.estimate == 0
    assert same.read.ranks.tied
    assert "best" not in same.answer
    worse = check(TABLE | {"qwen": ["pass"] * 300})
    assert worse.read.ranks.first == (0,)
    assert worse.read.differences[0].caught.ci_low > 0
    truth, said = arrays(TABLE)
    assert worse.read.differences[0].caught.estimate == pytest.approx(said[truth == 1].mean())
    assert len(human) == 300


def test_two_people_stand_beside_each_other():
    other = [*TABLE["human"][:-40], *TABLE["gpt"][-40:]]
    result = check({"gpt": TABLE["gpt"], "human_1": TABLE["human"], "human_2": other})
    kappa = metrics.cohen_kappa_score(TABLE["human"], other)
    assert result.read.people[0].coefficients["kappa"].estimate == pytest.approx(kappa)
    assert result.read.votes.n_tied == sum(one != two for one, two in zip(TABLE["human"], other, strict=True))


@pytest.fixture(scope="module")
def partly():
    rng = np.random.default_rng(5)
    labelled = rng.random(300) < 0.4
    human = [cell if kept else "" for cell, kept in zip(TABLE["human"], labelled, strict=True)]
    return TABLE | {"human": human}


def test_the_rate_is_corrected_as_the_draw_of_labels_allows(partly):
    unknown = check(partly).read.judges[0].corrected
    assert math.isnan(unknown.rate.estimate)
    assert "not known" in unknown.refusal
    random = check(partly, sampling="random").read.judges[0]
    truth, said = np.array(partly["human"]), np.array(partly["gpt"])
    strata = [
        (said == word).mean() * (truth[(said == word) & (truth != "")] == "fail").mean() for word in ("pass", "fail")
    ]
    assert random.corrected.rate.estimate == pytest.approx(sum(strata))
    assert check(TABLE).read.judges[0].corrected is None  # all labelled: nothing to correct


def test_labels_chosen_by_verdict_give_no_sensitivity_and_those_chosen_by_label_no_precision(partly):
    by_verdict = check(partly, sampling="by-judge").read.judges[0].measures
    by_label = check(partly, sampling="by_human_label").read.judges[0].measures
    assert math.isnan(by_verdict["sensitivity"].estimate)
    assert not math.isnan(by_verdict["precision"].estimate)
    assert math.isnan(by_label["precision"].estimate)
    assert not math.isnan(by_label["sensitivity"].estimate)
    with pytest.raises(InputError):
        check(partly, sampling="by_judge_verdict=qwen")
    two = check(partly | {"qwen": partly["gpt"]}, sampling="by_judge_verdict=gpt")
    assert not math.isnan(two.read.judges[0].corrected.rate.estimate)
    assert math.isnan(two.read.judges[1].corrected.rate.estimate)  # not drawn by its verdicts
    assert (two.read.differences, two.read.ranks) == ((), None)


def test_requirements_are_decided_on_the_bound_that_counts():
    result = check(TABLE)
    caught = result.read.judges[0].measures["sensitivity"]
    for number, outcome in (
        (caught.ci_low - 0.01, "met"),
        (caught.estimate, "cannot_tell"),
        (caught.ci_high + 0.01, "short"),
    ):
        assert decide(result.read, [f"caught>={number:.6f}"])[0].outcome == outcome
    rate = result.read.failing_share
    assert decide(result.read, [f"failure_rate<={rate.ci_high + 0.01:.4f}"])[0].outcome == "met"
    assert decide(result.read, [f"gpt.failure_rate<={rate.ci_low - 0.01:.4f}"])[0].outcome == "short"
    blind = check({"gpt": ["pass"] * 98 + ["fail"] * 2, "human": ["fail"] * 33 + ["pass"] * 67})
    assert decide(blind.read, ["failure_rate<=0.15"])[0].outcome == "short", "of what people fail"
    nothing = check({"gpt": ["pass"] * 9, "human": ["pass"] * 9})
    assert decide(nothing.read, ["caught>=0.1"])[0].outcome == "cannot_tell"
    for wrong in ("caught", "caught>0.8", "speed>=1", "qwen.caught>=0.8", "caught>=x"):
        with pytest.raises(InputError):
            decide(result.read, [wrong])
    with pytest.raises(InputError, match="no measure of this question"):
        decide(check({"gpt": ["a", "b", "tie"] * 9, "human": ["a", "b", "b"] * 9}).read, ["caught>=0.5"])


def test_the_page_is_escaped_and_cannot_act():
    attack = "<img src=x onerror=alert(1)>"
    page = check({"gpt": [attack, "b"] * 20, "human": [attack, "b", "b", attack] * 10}).page()
    assert "<img" not in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "http-equiv" not in check(TABLE)._repr_html_()


def test_figures_are_drawn_and_the_result_is_plain():
    import json

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = check(TABLE | {"qwen": ["pass"] * 300})
    drawn = result.figures()
    counted = {name: len(each.axes) for name, each in drawn.items()}
    assert counted == {"measures": 3, "beyond_chance": 3, "disagreements": 2, "beside": 1}
    plt.close("all")
    whole = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [each["judge"] for each in whole["judges"]] == ["gpt", "qwen"]
    headings = set(result.measures.table["of"])
    assert {"fail", "pass"} <= headings


def test_the_call_stands_in_front_of_its_folder():
    import axisjudge.studies
    import axisjudge.studies.check

    assert axisjudge.studies.check(TABLE).answer == check(TABLE).answer


def test_a_part_is_made_anew_under_other_terms():
    partly = TABLE | {"human": [cell if row % 3 else None for row, cell in enumerate(TABLE["human"])]}
    found = check(partly)
    random = folder.measures(found.read, sampling="random", ci_level=0.9)
    assert (
        random.read.judges[0].corrected.rate.estimate
        == check(partly, sampling="random").read.judges[0].corrected.rate.estimate
    )
    assert random.read.terms.ci_level == 0.9
    table = found.disagreements.table
    assert len(table) == sum(row["judge_said"] != row["people_said"] for row in table.to_dict("records"))
    said, people = TABLE["gpt"], partly["human"]
    assert len(table) == sum(one != other for one, other in zip(said, people, strict=True) if other)
    assert f"{len(table)} of {found.read.judges[0].n_compared} items" in found.disagreements.answer


def test_people_beside_people_stand_in_the_table():
    found = check(TABLE | {"qwen": TABLE["gpt"], "human2": TABLE["human"]}, human=["human", "human2"])
    pairs = found.beside.table.groupby(["rater", "other_rater"]).size()
    assert set(pairs.index) == {("gpt", "qwen"), ("human", "human2")}


def test_of_many_grades_how_far_two_are_apart_is_said_and_no_recall_of_each():
    rng = np.random.default_rng(4)
    human = rng.integers(1, 11, 60)
    judge = np.clip(human + rng.integers(-1, 3, 60), 1, 10)
    table = {"id": range(60), "judge": judge, "human": human, "day": np.arange(60) % 12, "task": np.arange(60) // 2}
    table = {name: [*map(str, cells)] for name, cells in table.items()}
    apart = judge - human
    found = check(table, cluster="none")
    near, mean = (found.read.judges[0].measures[name] for name in ("within_one", "mean_difference"))
    assert near.estimate == pytest.approx((np.abs(apart) <= 1).mean())
    half = t.ppf(0.975, 59) * apart.std(ddof=1) / math.sqrt(60)
    assert (mean.estimate, mean.ci_low, mean.ci_high) == pytest.approx(
        (apart.mean(), apart.mean() - half, apart.mean() + half)
    )
    assert f"{apart.mean():+.2f} ({mean.ci_low:+.2f} to {mean.ci_high:+.2f})" in found.answer
    assert not any("recall" in row["measure"] for row in printed(found.read))
    assert not any("recall" in row["measure"] for row in printed(check(table, cluster="none", scale="ordinal").read))
    assert any("recall" in row["measure"] for row in printed(check(table, cluster="none", scale="nominal").read))
    both = check(table, cluster=["task", "day"]).read.judges[0].measures["mean_difference"]
    assert both.estimate == pytest.approx(apart.mean())
    assert math.isnan(both.ci_low)
    assert both.reason
