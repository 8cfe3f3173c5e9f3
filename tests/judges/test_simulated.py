"""Simulated judges keep to the noise model that their module states."""

import asyncio
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from axisjudge.checks import InputError
from axisjudge.judges import make_judges
from axisjudge.judges.simulated import PERSISTENCE, PROFILES, SHARED_DIFFICULTY, SimulatedJudge
from axisjudge.ratings import RatingsWriter
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, Axis, Rating

N_ITEMS = 1_200
ROLES = ("user", "assistant", "tool", "assistant", "user", "assistant")


def world(n_items: int) -> list[Trajectory]:
    steps = tuple(Step(index=index, role=role) for index, role in enumerate(ROLES))  # type: ignore[arg-type]
    return [Trajectory(id=f"t{number}", source="test", steps=steps) for number in range(n_items)]


def planted(trajectory: Trajectory, axis: Axis, verdict: str) -> Rating:
    return Rating(
        trajectory_id=trajectory.id,
        cluster_id=trajectory.id,
        question=axis,
        rater="planted",
        rater_kind="planted",
        family="planted",
        verdict=verdict,
        cited_step_indices=[3] if verdict == "incorrect" else [],
    )


@pytest.fixture(scope="module")
def truth_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second trajectory is at fault on every axis; the last ten have no use for any."""
    path = tmp_path_factory.mktemp("truth") / "planted.jsonl"
    words = ["incorrect" if number % 2 else "correct" for number in range(N_ITEMS)] + ["not_applicable"] * 10
    with RatingsWriter(path) as writer:
        for trajectory, word in zip(world(N_ITEMS + 10), words, strict=True):
            writer.append(planted(trajectory, axis, word) for axis in AXES)
    return path


def simulated(name: str, truth_file: Path, **options: object) -> SimulatedJudge:
    more = "".join(f",{key}={value}" for key, value in options.items())
    (judge,) = make_judges([JudgeSpec.parse(f"simulated:{name},truth={truth_file}{more}")])
    assert isinstance(judge, SimulatedJudge)
    return judge


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("axis", AXES)
def test_observed_sensitivity_and_specificity_are_the_stated_ones(name: str, axis: Axis, truth_file: Path) -> None:
    judge = simulated(name, truth_file)
    said = [judge.answer(trajectory, axis).verdict for trajectory in world(N_ITEMS)]
    profile, half = PROFILES[name], N_ITEMS // 2
    for truth, words in (("correct", said[0::2]), ("incorrect", said[1::2])):
        expected = profile.hit_rate(axis, truth)  # type: ignore[arg-type]
        margin = 4 * (expected * (1 - expected) / half) ** 0.5
        assert words.count(truth) / half == pytest.approx(expected, abs=margin)
        rate = profile.uncertain
        assert words.count("uncertain") / half == pytest.approx(rate, abs=4 * (rate * (1 - rate) / half) ** 0.5)


def test_errors_of_two_judges_correlate_through_the_shared_difficulty(truth_file: Path) -> None:
    """P(both err) is the bivariate normal orthant at correlation SHARED_DIFFICULTY, well above independence."""
    pair = [simulated(name, truth_file) for name in ("sparrow", "plover")]
    faulty = world(N_ITEMS)[1::2]
    errs = [
        np.array([judge.answer(item, axis).verdict != "incorrect" for axis in AXES for item in faulty])
        for judge in pair
    ]
    both = []
    for axis in AXES:
        thresholds = [norm.ppf(1 - judge.profile.hit_rate(axis, "incorrect")) for judge in pair]
        both.append(multivariate_normal(cov=[[1, SHARED_DIFFICULTY], [SHARED_DIFFICULTY, 1]]).cdf(thresholds))
    expected = mean(float(value) for value in both)
    margin = 4 * (expected * (1 - expected) / errs[0].size) ** 0.5
    assert (errs[0] & errs[1]).mean() == pytest.approx(expected, abs=margin)
    assert expected > errs[0].mean() * errs[1].mean() + margin


def test_repeats_of_one_judge_agree_more_than_two_judges_do(truth_file: Path) -> None:
    one, other = simulated("wren", truth_file), simulated("heron", truth_file)
    items = [(item.id, axis) for item in world(N_ITEMS) for axis in AXES]
    first, second = ([one._propensity(*item, repeat) for item in items] for repeat in (0, 1))
    third = [other._propensity(*item, 0) for item in items]
    within = SHARED_DIFFICULTY + (1 - SHARED_DIFFICULTY) * PERSISTENCE
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(within, abs=0.01)
    assert np.corrcoef(first, third)[0, 1] == pytest.approx(SHARED_DIFFICULTY, abs=0.05)
    assert (np.mean(first), np.std(first)) == (pytest.approx(0, abs=0.06), pytest.approx(1, abs=0.05))


@pytest.mark.slow
def test_confidence_keeps_to_the_habit_and_tells_right_from_wrong_where_it_should(truth_file: Path) -> None:
    gaps = {}
    for name, profile in PROFILES.items():
        judge = simulated(name, truth_file)
        answers = [(judge.answer(item, axis), "incorrect") for item in world(N_ITEMS)[1::2] for axis in AXES]
        assert all(profile.low <= (answer.confidence or 0) <= profile.high for answer, _ in answers)
        assert {answer.confidence_source for answer, _ in answers} == {"simulated"}
        right = mean(answer.confidence or 0 for answer, truth in answers if answer.verdict == truth)
        wrong = mean(answer.confidence or 0 for answer, truth in answers if answer.verdict == "correct")
        gaps[name] = (right - wrong) / (profile.high - profile.low)
    assert gaps["plover"] > gaps["heron"] > 0.05
    assert abs(gaps["sparrow"]) < 0.05


def test_citations_are_the_planted_steps_now_and_then_beside_and_rarely_invalid(truth_file: Path) -> None:
    judge = simulated("wren", truth_file)
    answers = [judge.answer(item, axis) for item in world(N_ITEMS)[1::2] for axis in AXES]
    found = [answer.cited_step_indices for answer in answers if answer.verdict == "incorrect"]
    assert found.count((3,)) / len(found) == pytest.approx(0.87, abs=0.02)
    assert found.count((4,)) / len(found) == pytest.approx(0.12, abs=0.02)
    assert 0 < found.count((7,)) / len(found) < 0.02


def test_same_item_same_answer_whatever_was_asked_before(truth_file: Path, rubrics: dict[Axis, Rubric]) -> None:
    items = world(20)
    one, other = simulated("heron", truth_file), simulated("heron", truth_file)
    forward = [asyncio.run(one.grade(item, rubrics)) for item in items]
    backward = [asyncio.run(other.grade(item, rubrics)) for item in reversed(items)]
    assert forward == backward[::-1]
    third = simulated("heron", truth_file, seed=1)
    assert forward != [asyncio.run(third.grade(item, rubrics)) for item in items]


@pytest.mark.slow
def test_not_applicable_is_mostly_recognised(truth_file: Path) -> None:
    judge = simulated("heron", truth_file)
    said = [judge.answer(item, axis).verdict for item in world(N_ITEMS + 10)[N_ITEMS:] for axis in AXES]
    assert said.count("not_applicable") > 40
    assert "incorrect" not in said


def test_prompt_hash_changes_with_the_truth_and_the_seed(
    truth_file: Path, tmp_path: Path, rubrics: dict[Axis, Rubric]
) -> None:
    item = world(1)[0]
    changed = tmp_path / "planted.jsonl"
    with RatingsWriter(changed) as writer:
        writer.append(planted(item, axis, "incorrect") for axis in AXES)
    judges = [simulated("wren", truth_file), simulated("wren", truth_file, seed=2), simulated("wren", changed)]
    assert len({judge.prompt_sha256(item, rubrics) for judge in judges}) == 3


def test_an_item_without_planted_truth_is_refused(truth_file: Path, rubrics: dict[Axis, Rubric]) -> None:
    stranger = Trajectory(id="stranger", source="test")
    with pytest.raises(InputError, match=r"simulated judges know only planted truth.*stranger"):
        asyncio.run(simulated("wren", truth_file).grade(stranger, rubrics))


def test_a_missing_truth_file_and_one_without_planted_ratings_are_named(tmp_path: Path) -> None:
    item = world(1)[0]
    with pytest.raises(InputError, match=r"nowhere\.jsonl.*no such file.*truth=FILE"):
        simulated("wren", tmp_path / "nowhere.jsonl").answer(item, "termination")
    path = tmp_path / "other.jsonl"
    with RatingsWriter(path) as writer:
        writer.append([planted(item, "termination", "correct").model_copy(update={"rater_kind": "human"})])
    with pytest.raises(InputError, match="holds no planted verdicts"):
        simulated("wren", path).answer(item, "termination")


def test_an_unknown_profile_is_told_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'heron'"):
        make_judges([JudgeSpec.parse("simulated:herron")])
