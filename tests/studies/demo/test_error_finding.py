"""Who finds the steps that people call wrong: the shipped votes counted anew, and panels whose answer is known."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import balanced_accuracy_score

from axisjudge.checks import InputError
from axisjudge.datasets import published_votes
from axisjudge.ratings import ratings_frame
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies.agreement.against_labels import panel_worth
from axisjudge.studies.demo import error_finding
from axisjudge.verdict import Rating


@pytest.fixture(scope="module")
def votes():
    return published_votes("tau2", level="step")


@pytest.fixture(scope="module")
def found(votes):
    return error_finding(votes, cluster_unit="query", rng=np.random.default_rng(0))


def panel(rights, *, tasks=30, steps=8, seed=1, lost=(), share=0.3):
    """Judges that are right on a step at given rates, the same steps being wrong by the word of one person."""
    rng = np.random.default_rng(seed)
    wrong = rng.random((tasks, steps)) < share
    ratings = []
    for rater, rate in [("person", None), *rights.items()]:
        for task, step in np.ndindex(wrong.shape):
            says = wrong[task, step] if rate is None or rng.random() < rate else not wrong[task, step]
            gone = rater in lost and step == 0
            vote = (
                {"status": "parse_error"}
                if gone
                else {"verdict": "-1" if says else "+1", "value": -1.0 if says else 1.0}
            )
            ratings.append(
                Rating(
                    trajectory_id=f"run{task}",
                    step_index=step,
                    cluster_id=f"task{task}",
                    question="step",
                    scale="step",
                    rater=rater,
                    rater_kind="human" if rate is None else "llm",
                    family="human" if rate is None else f"family-{rater}",
                    **vote,
                )
            )
    return ratings_frame(ratings)


def test_shares_of_the_shipped_votes_counted_another_way(votes, found):
    wide = votes.pivot(on="rater", index="item_id", values="verdict")
    wrong = (wide["people"] == "-1").to_numpy()
    assert (found.n_steps, found.n_wrong, found.n_clusters) == (3557, 1110, 50)
    assert len(found.judges) == 20
    for judge in found.judges:
        said = wide[judge.judge]
        flags = (said == "-1").fill_null(False).to_numpy()
        given = said.is_not_null().to_numpy()
        assert judge.n_lost == said.null_count()
        assert judge.found.estimate == pytest.approx(flags[wrong].mean())
        assert judge.passed.estimate == pytest.approx((given & ~flags)[~wrong].mean())
        right = np.where(given, np.where(flags == wrong, wrong, ~wrong), ~wrong)
        assert judge.balanced.estimate == pytest.approx(balanced_accuracy_score(wrong, right))
        assert judge.best >= judge.balanced.estimate
        for estimate in (judge.found, judge.passed, judge.balanced):
            assert estimate.ci_low < estimate.estimate < estimate.ci_high
            assert estimate.cluster_unit == "query"
        assert judge.balanced.n_clusters == 50


def test_no_judge_is_called_best_unless_the_pairs_say_so(found):
    balanced = {judge.judge: judge.balanced for judge in found.judges}
    assert list(balanced) == sorted(balanced, key=lambda name: -balanced[name].estimate)
    top = found.judges[0]
    assert top.rank_low == 1
    assert len(found.first) > 1
    text = " ".join(found.sentences())
    assert f"{len(found.first)} judges may have the highest" in text
    assert "alone" not in text
    separated = {judge.judge for judge in found.judges if judge.balanced.ci_high < top.balanced.ci_low - 0.1}
    assert separated
    assert not separated & set(found.first)


def test_a_clear_winner_and_a_clear_loser_are_named():
    made = panel({"owl": 0.97, "wren": 0.75, "crow": 0.3})
    found = error_finding(made, rng=np.random.default_rng(0))
    assert (found.first, found.last) == (("owl",), ("crow",))
    text = " ".join(found.sentences())
    assert "owl has the highest balanced accuracy" in text
    assert "crow has the lowest balanced accuracy" in text
    assert found.no_better_than_chance == ("crow",)


def test_equal_judges_are_not_told_apart():
    found = error_finding(panel({"owl": 0.8, "wren": 0.8}, seed=3), rng=np.random.default_rng(0))
    assert set(found.first) == set(found.last) == {"owl", "wren"}
    assert any("No two judges can be told apart" in sentence for sentence in found.sentences())


def test_a_lost_vote_is_neither_found_nor_passed():
    found = error_finding(panel({"owl": 1.0, "wren": 0.8}, lost=("owl",)), rng=np.random.default_rng(0))
    owl = next(judge for judge in found.judges if judge.judge == "owl")
    assert owl.n_lost == 30
    assert owl.balanced.estimate < 1
    assert owl.best == 1
    assert any("30 of 480 votes were lost, 30 of them by owl" in sentence for sentence in found.sentences())


def test_effective_judges_are_those_of_the_report(votes, found):
    worth = panel_worth(pooled(votes, "step", step_level=True), cluster_unit="query")
    assert found.effective.n_effective == worth.measured.n_effective
    assert found.effective.majority == worth.measured.majority


def test_one_judge_has_no_rank_and_is_no_panel():
    found = error_finding(panel({"owl": 0.9}), rng=np.random.default_rng(0))
    assert found.effective is None
    assert any("not ranked" in sentence for sentence in found.sentences())
    assert found.to_dict()["effective_judges"] is None


def test_few_tasks_have_wide_intervals_and_are_not_ranked():
    few, many = (
        error_finding(panel({"owl": 0.9, "wren": 0.5}, tasks=n), rng=np.random.default_rng(0)) for n in (6, 40)
    )
    for one, other in zip(few.judges, many.judges, strict=True):
        assert one.balanced.ci_high - one.balanced.ci_low > 1.5 * (other.balanced.ci_high - other.balanced.ci_low)
    assert few.ranks.refusal
    assert not any("nan" in sentence for sentence in few.sentences())


def test_where_wrong_steps_are_rare_nobody_is_ranked():
    found = error_finding(panel({"owl": 0.95, "crow": 0.4}, share=0.1), rng=np.random.default_rng(0))
    assert "20%" in found.ranks.refusal
    assert set(found.first) == set(found.last) == {"owl", "crow"}
    assert found.judges[0].judge == "owl"
    assert any("not ranked" in sentence for sentence in found.sentences())


def test_what_cannot_be_measured_is_refused(votes):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="needs judges, and labels of people"):
        error_finding(votes.filter(pl.col("rater_kind") == "human"), rng=rng)
    with pytest.raises(InputError, match="needs judges, and labels of people"):
        error_finding(votes.filter(pl.col("rater_kind") == "llm"), rng=rng)
    with pytest.raises(InputError, match="failing"):
        error_finding(votes, failing="incorrect", rng=rng)


def test_the_kind_of_table_comes_back(votes):
    import pandas as pd

    made = panel({"owl": 0.9, "wren": 0.8}).drop("probabilities")
    assert isinstance(error_finding(made, rng=np.random.default_rng(0)).to_frame(), pl.DataFrame)
    frame = error_finding(made.to_pandas(), rng=np.random.default_rng(0)).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["judge"]) == ["owl", "wren"]
