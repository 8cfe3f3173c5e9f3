"""Cascades: who is asked what, with which probability, and that weighted figures are right by design."""

import random
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from judging.worlds import CoinJudge, trajectories

from axisjudge.checks import InputError
from axisjudge.judges import Answer, Reply, Rubrics
from axisjudge.judging.cascade import Cascade, first_run, second_run
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
    run = first_run(trajectories(n), both, AXES, out=out)
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


def test_what_leaves_nothing_to_weight_by_is_refused() -> None:
    with pytest.raises(InputError, match="audit"):
        cascade(audit=0.0)
    with pytest.raises(InputError, match="single ones"):
        Cascade("simulated:kestrel", CoinJudge("all", joint=True))
