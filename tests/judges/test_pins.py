"""The requests about the five axes, pinned: a changed hash means that every stored rating is asked again."""

import pytest
from judges.servers import Server, made

from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

PINS = {
    "anthropic:claude-sonnet-4-6": "15028e650a786ad59707b980ed16b7d8a943757a339bd4fec605018266c675e1",
    "anthropic:claude-sonnet-5-5": "71d97f603c04071d8d8e03e4d3be48dc164efc326f2167c5cbd5c3e1a1bf516e",
    "openai:gpt-5": "54bded699f6823038e83769e5bab5b828e6a46754a7fe8ad12faec76a07e3263",
    "openai:gpt-6.1-sol": "5571ac69c1a86596d6844fd37aea885d4c766ce7b497fe3c39c43afa4414e111",
    "openai-compatible:qwen3-8b@http://l:1/v1": "2e87a1b1ad2a01aeb61f937baf12ca93ccc8e992a6987a8652609083d2a94169",
    "openai-decisions:gpt-6-luna": "3ba64e56875ec6f14b75d73f12492203aa8585bb0c95d744b80d5e9a9bf5b351",
}


@pytest.mark.parametrize("spec", PINS)
def test_what_judges_are_sent_about_an_axis_stays_byte_for_byte(
    spec: str, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = made(spec, Server([], url="http://127.0.0.1:9"), monkeypatch)
    asked = rubrics if judge.joint else {"sequencing": rubrics["sequencing"]}
    assert judge.prompt_sha256(trajectory, asked) == PINS[spec]


@pytest.mark.parametrize("spec", PINS)
def test_a_request_that_is_hashed_by_its_frame_has_the_hash_of_the_request(
    spec: str, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = made(spec, Server([], url="http://127.0.0.1:9"), monkeypatch)
    asked = [rubrics] if judge.joint else [{axis: rubric} for axis, rubric in rubrics.items()]
    shorter, other = trajectory.model_copy(update={"steps": trajectory.steps[:-1]}), trajectory.model_copy()
    other = other.model_copy(update={"policy": "Refund nothing."})
    runs = (trajectory, other, shorter, trajectory)
    hashes = [[judge.prompt_sha256(run, each) for each in asked] for run in runs]
    whole = [
        [judge._sha256_of(judge.axes_body(judge.prefix(run, each).by_hash, len(run.steps), each)) for each in asked]
        for run in runs
    ]
    assert hashes == whole
    assert len({sha for shas in hashes for sha in shas}) == 3 * len(asked)
