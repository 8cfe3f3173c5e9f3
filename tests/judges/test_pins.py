"""The requests about the five axes, pinned: a changed hash means that every stored rating is asked again."""

import pytest
from judges.servers import Server, made

from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

PINS = {
    "anthropic:claude-sonnet-4-6": "d96634d2f9832571c831bebfd20fd7857d529044e73eb5b762d9b029e78e94aa",
    "anthropic:claude-sonnet-5-5": "03e1f532074f2764d3dbbd477e443526e553970c7d6b0e66599862ec9e4805b7",
    "openai:gpt-5": "0a19e708b337685abde07e0565cb6dc91085660f9908aab6ba68792ffda6b623",
    "openai:gpt-6.1-sol": "ca9eaf031fca255a274f8ea5732142696e355739f7afdc5dd700026505b01943",
    "openai-compatible:qwen3-8b@http://l:1/v1": "a2c78b43c3ae52c4cb0db419d3d5f42d4a136b58fb9e93e2834b3c6b1f366459",
    "openai-decisions:gpt-6-luna": "e9d83e7842876d226a725164c05c2cd924bd716d967870f8b7b05a6be804345b",
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
