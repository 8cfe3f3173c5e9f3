"""Simulated judges that follow a rubric: what moves them, what does not, and at which rate."""

import pytest

import axisjudge
from axisjudge.datasets import demo_paths, demo_truth
from axisjudge.judges import make_judges
from axisjudge.judges.simulated import ATTENTIVE, LEFT_BY_EXAMPLES, PROFILES, AttentiveJudge, read_planted
from axisjudge.rubric import load_rubric
from axisjudge.spec import JudgeSpec

AXIS = "argument_validity"
RUBRICS = {version: load_rubric(AXIS, version) for version in ("v1", "v2", "v3")}


@pytest.fixture(scope="module")
def runs():
    return [run for run in axisjudge.read_trajectories(*demo_paths()).trajectories if run.steps]


@pytest.fixture(scope="module")
def jackdaw():
    (judge,) = make_judges([JudgeSpec.parse("simulated:jackdaw")])
    return judge


def led_astray(judge, runs, rubric, repeats=20):
    """Verdicts on runs with a peer's fault and none of this axis's, in several repeats."""
    planted = read_planted(demo_truth())
    peers = {run for (run, axis), truth in planted.items() if axis != AXIS and truth.verdict == "incorrect"}
    chosen = [run for run in runs if run.id in peers and planted[run.id, AXIS].verdict == "correct"]
    return [judge.answer_by(rubric, run, AXIS, repeat) for run in chosen for repeat in range(repeats)]


def test_worked_examples_mend_the_overreach_and_scope_alone_makes_it_hesitate(jackdaw, runs):
    profile = ATTENTIVE["jackdaw"]
    answers = {version: led_astray(jackdaw, runs, rubric) for version, rubric in RUBRICS.items()}
    blamed = {version: [a for a in said if "takes a planted fault" in a.rationale] for version, said in answers.items()}
    n = len(answers["v1"])
    right = profile.specificity[1]  # those whom the noise model has right to begin with
    for version, left in (("v1", 1.0), ("v2", 1.0), ("v3", LEFT_BY_EXAMPLES)):
        assert len(blamed[version]) / n == pytest.approx(profile.overreach * left * right, abs=0.13)
        assert {a.verdict for a in blamed[version]} == {"incorrect"}
    third = profile.low + (profile.high - profile.low) / 3
    half = (profile.low + profile.high) / 2
    assert min(a.confidence for a in blamed["v1"]) >= round(half, 2)
    assert max(a.confidence for a in blamed["v2"]) <= round(third, 2)


def test_runs_without_a_peers_fault_are_judged_by_the_noise_model_alone(jackdaw, runs):
    planted = read_planted(demo_truth())
    faulty = {run for (run, _), truth in planted.items() if truth.verdict == "incorrect"}
    said = [jackdaw.answer_by(RUBRICS["v1"], run, AXIS) for run in runs if run.id not in faulty]
    assert not [a for a in said if "takes a planted fault" in a.rationale]
    assert {a.confidence_source for a in said} == {"simulated"}


def test_the_prompt_hash_knows_the_text_and_repeats_are_stable(jackdaw, runs):
    hashes = {jackdaw.prompt_sha256(runs[0], {AXIS: rubric}) for rubric in RUBRICS.values()}
    assert len(hashes) == 3
    for repeat in range(3):
        one, other = (jackdaw.answer_by(RUBRICS["v2"], run, AXIS, repeat) for run in (runs[0], runs[0]))
        assert one == other


def test_the_other_birds_still_read_nothing_and_names_do_not_clash():
    (wren,) = make_judges([JudgeSpec.parse("simulated:wren")])
    assert not isinstance(wren, AttentiveJudge)
    assert not wren.reads_rubrics
    assert not set(PROFILES) & set(ATTENTIVE)
