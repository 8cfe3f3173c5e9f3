"""Cascades: who is asked what, with which probability, and that weighted figures are right by design."""

import random
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from judging.worlds import CoinJudge, trajectories

from axisjudge.checks import InputError
from axisjudge.judges import Answer, Reply, Rubrics
from axisjudge.judging import RunOptions
from axisjudge.judging.cascade import Cascade, check_cascade, second_run
from axisjudge.labels.sampling import with_drawn
from axisjudge.ratings import read_every_line
from axisjudge.trajectory import Trajectory

AXES = ["sequencing", "termination"]


class Hesitant(CoinJudge):
    """Confident by the run's number; loses every seventh verdict."""

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        await super().grade(trajectory, rubrics, repeat=repeat)
        number = int(trajectory.id.partition("-")[2])
        if number % 7 == 0:
            return Reply({axis: Answer("refused", rationale="no") for axis in rubrics})
        word = "correct" if number % 3 else "incorrect"
        answer = Answer("ok", word, 0.5 if number % 2 else 0.95, "verbalized")
        return Reply(dict.fromkeys(rubrics, answer), cost_usd=0.001)


def cascade(**how: Any) -> Cascade:
    return Cascade(Hesitant("cheap"), CoinJudge("strong"), **how)


def carried_out(both: Cascade, n: int, out: Path | None = None) -> Any:
    run, _ = check_cascade(trajectories(n), both, AXES, out=out)
    first = run.carry_out(progress=False)
    second = second_run(trajectories(n), both, first, AXES, out=out)
    return first, second.carry_out(progress=False), second


def test_the_strong_judge_has_all_that_is_unsure_and_a_share_of_the_rest(tmp_path: Path) -> None:
    both, out = cascade(audit=0.25), tmp_path / "r.jsonl"
    first, second, run = carried_out(both, 140, out)
    strata = {(row["item_id"], row["question"]): both.stratum(row) for row in first.iter_rows(named=True)}
    drawn = with_drawn(second)
    asked = {(row["item_id"], row["question"]): row for row in drawn.iter_rows(named=True)}
    assert all(key in asked for key, stratum in strata.items() if stratum != "sure")
    sure = [key for key, stratum in strata.items() if stratum == "sure"]
    assert 0.1 < sum(key in asked for key in sure) / len(sure) < 0.4
    for key, row in asked.items():
        assert row["drawn_stratum"] == strata[key]
        assert row["drawn_probability"] == (0.25 if strata[key] == "sure" else 1.0)
    assert second["rater"].unique().to_list() == [both.second.rater]
    n_lines = read_every_line(out).height
    again = second_run(trajectories(140), both, first, AXES, out=out)
    assert (again.plan().n_calls, again.plan().cached) == (0, second.height)
    assert again.carry_out(progress=False).height == second.height
    assert read_every_line(out).height == n_lines
    assert run.outcome.code() == 0


def test_weighted_by_the_recorded_probability_the_share_is_unbiased() -> None:
    """Over 100 draws: the mean of sum(y/p)/N is the strong judge's share on everything, the plain mean is not."""
    draw = random.Random(2)
    rows = [
        {"item_id": f"r{n}", "question": "sequencing", "status": "ok", "confidence": 0.5 if n % 4 == 0 else 0.9}
        for n in range(100)
    ]
    truth = {row["item_id"]: float(draw.random() < (0.8 if row["confidence"] < 0.8 else 0.2)) for row in rows}
    weighted, plain = [], []
    for seed in range(100):
        both = cascade(audit=0.2, seed=seed)
        drawn = [row for row in rows if both.draws(row)]
        parts = [truth[row["item_id"]] / both.probability(both.stratum(row)) for row in drawn]
        weighted.append(sum(parts) / len(rows))
        plain.append(fmean(truth[row["item_id"]] for row in drawn))
    share = fmean(truth.values())
    error = 4 * (fmean((each - share) ** 2 for each in weighted) / 100) ** 0.5
    assert abs(fmean(weighted) - share) < error
    assert abs(fmean(plain) - share) > 5 * error


@pytest.mark.parametrize("text", ["rules", "rules >", "a > b > c"])
def test_a_cascade_has_two_judges(text: str) -> None:
    with pytest.raises(InputError, match="SPEC > SPEC"):
        Cascade.parse(text)


def test_one_judge_is_no_cascade() -> None:
    with pytest.raises(InputError, match="twice"):
        Cascade(CoinJudge("strong"), CoinJudge("strong"))


def test_what_leaves_nothing_to_weight_by_is_refused() -> None:
    with pytest.raises(InputError, match="audit"):
        cascade(audit=0.0)
    with pytest.raises(InputError, match="single ones"):
        Cascade("simulated:heron", CoinJudge("all", joint=True))


@pytest.mark.parametrize("how", [{"one_call": True}, {"repeats": 2}, {"again": True}])
def test_what_would_end_after_the_first_judge_was_paid_is_refused_before(how: dict[str, Any], tmp_path: Path) -> None:
    both = cascade()
    with pytest.raises(InputError, match=next(iter(how))):
        check_cascade(trajectories(3), both, AXES, out=tmp_path / "r.jsonl", **how)
    assert both.first.calls == []


def test_a_second_judge_that_cannot_be_asked_is_found_before_the_first_is_paid(
    monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    both = Cascade(Hesitant("cheap"), "openai:gpt-5")
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        check_cascade(trajectories(3), both, AXES, out=tmp_path / "r.jsonl")
    unpriced = Cascade(Hesitant("cheap"), "openai-compatible:m@https://models.example.org/v1,family=x")
    with pytest.raises(InputError, match="no list price"):
        check_cascade(trajectories(3), unpriced, AXES, out=tmp_path / "r.jsonl")
    local = Cascade(Hesitant("cheap"), "openai-compatible:m@http://127.0.0.1:9/v1,family=x")
    with pytest.raises(InputError, match="batch interface"):
        check_cascade(trajectories(3), local, AXES, options=RunOptions(batch=True), out=tmp_path / "r.jsonl")


def test_a_cascade_is_read_from_its_words_and_its_bounds_are_kept() -> None:
    both = Cascade.parse("rules > simulated:heron", below=0.7)
    assert (both.first, both.second, both.below) == ("rules", "simulated:heron", 0.7)
    for below in (-0.1, 1.1):
        with pytest.raises(InputError, match="below"):
            cascade(below=below)


def test_a_cascade_goes_by_one_rating_of_an_item() -> None:
    both = cascade()
    run, _ = check_cascade(trajectories(4), both, AXES)
    first = run.carry_out(progress=False)
    with pytest.raises(InputError, match="1 more"):
        second_run(trajectories(4), both, pl.concat([first, first[:1]]), AXES)
