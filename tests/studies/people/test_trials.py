"""Few labels tried where all are known: what is drawn, what is held, and when there is nothing to try."""

import numpy as np
import polars as pl
import pytest
from judged import ratings

from axisjudge.checks import InputError
from axisjudge.results import plain
from axisjudge.sources import load_source
from axisjudge.studies.people import people, sentences
from axisjudge.studies.people.compared import few_labels, planted_rates


def compared(hit, *, unlabelled=0, n=240, seed=1):
    """60 tasks of four runs, a third failed; a judge right at rate `hit`, one person who labelled all but the last."""
    rng = np.random.default_rng(seed)
    failed = rng.random(n) < 0.33
    said = np.where(rng.random(n) < hit, failed, ~failed)
    words = {
        "j": np.where(said, "incorrect", "correct").tolist(),
        "ann": np.where(failed, "incorrect", "correct").tolist(),
    }
    table = ratings(words, kinds={"ann": "human"}, per_task=4)
    table = table.filter((table["rater"] == "j") | (table["item_id"] < f"t{n - unlabelled:05d}"))
    return people(table, n_draws=0).claims.comparison


def test_intervals_hold_the_rate_of_all_labels_and_a_good_judge_shortens_them():
    good, weak = (few_labels(compared(hit), n_runs=25, n_draws=100) for hit in (0.95, 0.5))
    for found in (good, weak):
        assert found.judges["held"][0] >= 0.93
    assert good.judges["width"][0] < 0.85 * good.judges["width_of_labels"][0]
    assert weak.judges["width"][0] > 0.9 * weak.judges["width_of_labels"][0]
    assert good.n_runs == 25
    assert sentences.few_labels_sentence(good).startswith("Had people labelled only 25 runs, one of a task (100 draws)")
    assert plain(good) == plain(few_labels(compared(0.95), n_runs=25, n_draws=100))


def test_at_most_half_of_the_tasks_are_labelled():
    assert few_labels(compared(0.9), n_runs=500, n_draws=2).n_runs == 30


def test_questions_of_unlike_size_say_each_how_many_runs_were_labelled():
    """Sixty tasks of one question and thirty of another: thirty runs and fifteen."""
    rng = np.random.default_rng(1)
    failed = np.where(rng.random(240) < 0.33, "fail", "pass").tolist()
    table = ratings({"j": failed, "ann": failed}, kinds={"ann": "human"}, per_task=4)
    table = table.with_columns(scale=pl.lit("nominal:pass,fail"))
    other = table.filter(table["item_id"] < "t00120").with_columns(question=pl.lit("half"))
    both = pl.concat([table, other])
    found = people(both, n_draws=0).claims.comparison
    few = few_labels(found, n_runs=30, n_draws=2)
    assert dict(few.judges.select("question", "runs").iter_rows()) == {"termination": 30, "half": 15}
    assert "15 to 30 runs" in sentences.few_labels_sentence(few)
    rates = planted_rates(found, both.filter(pl.col("rater") == "ann"))
    assert rates[0].planted == failed.count("fail") / 240
    with pytest.raises(InputError, match="must be words of nominal:pass,fail"):
        planted_rates(found, both.with_columns(verdict=pl.lit("incorrect")))


def test_without_all_labels_there_is_nothing_to_try():
    found = few_labels(compared(0.9, unlabelled=1))
    assert found.judges.is_empty()
    assert sentences.few_labels_sentence(found).startswith("Few labels cannot be tried here")


@pytest.mark.slow
def test_real_judges_errors_are_corrected(shared_data, monkeypatch):
    """AgentProcessBench, hotpotqa: every judge's own rate is far below people's .244, and few labels mend it."""
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    data = load_source("agentprocessbench", subset="hotpotqa")
    keep = data.ratings["rater"].is_in(["GPT-5.2", "Kimi-K2.5", "people"])
    found = people(data.ratings.filter(keep), n_draws=0, **data.how).claims.comparison
    few = few_labels(found, n_runs=25, n_draws=100, seed=2)
    assert set(few.judges["judge"]) == {"GPT-5.2", "Kimi-K2.5"}
    for judge in few.judges.iter_rows(named=True):
        assert judge["rate"] == pytest.approx(0.244, abs=5e-4)
        assert judge["own"] < judge["rate"] - 0.05
        assert judge["held"] >= 0.9
        assert judge["width"] < judge["width_of_labels"]
