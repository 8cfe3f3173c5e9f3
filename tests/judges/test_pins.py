"""The requests about the five axes, pinned: a changed hash means that every stored rating is asked again."""

import pytest
from judges.servers import Server, made

from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

PINS = {
    "anthropic:claude-sonnet-4-6": "c4ae85aafb681bf85904bdbc6cdfd1f2639fddbab249e40e0a7f2c811bfd6254",
    "anthropic:claude-sonnet-5-5": "31284846d022dc55d9eb7d10ed5d5964ca31ffe7ef960ffe2e28adb0129baafd",
    "openai:gpt-5": "a484d867955782cc10dc4cf693289d750421b6387345d7707f39643b951fcd2b",
    "openai:gpt-6.1-sol": "d69aac06206380ee642637348b9a5be3e857476a59572193f7104fd1d589f158",
    "openai-compatible:qwen3-8b@http://l:1/v1": "1222fc1dd6aa845de06f91ca8d73a3edf1cb9dbada33c002b04d9829ad5dc12b",
    "openai-decisions:gpt-6-luna": "5abf861c425b68ced12374f0b9d04f16b23eec0d676b593b12f94e0c38f462c8",
}


@pytest.mark.parametrize("spec", PINS)
def test_what_judges_are_sent_about_an_axis_stays_byte_for_byte(
    spec: str, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = made(spec, Server([], url="http://127.0.0.1:9"), monkeypatch)
    asked = rubrics if judge.joint else {"sequencing": rubrics["sequencing"]}
    assert judge.prompt_sha256(trajectory, asked) == PINS[spec]
