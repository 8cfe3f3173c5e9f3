"""All axes of a run in one call: a name and a hash of its own, one price, and each axis lost or kept by itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from judging.providers import Answer, providing
from judging.worlds import trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges.written import JOINT_REPLY_TOKENS
from axisjudge.judging import judging_run
from axisjudge.judging.estimate import cost_of
from axisjudge.ratings import read_every_line
from axisjudge.verdict import AXES

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}


def speaking(**broken: Any) -> Any:
    """A model that answers single calls and joint ones; `broken` replaces the fields of an axis."""

    def model(number: int, body: dict[str, Any]) -> Answer:
        asked = body["response_format"]["json_schema"]["schema"]["properties"]
        verdict = {"rationale": "so", "cited_step_indices": [0], "verdict": "correct", "confidence": 0.75}
        said = {axis: broken.get(axis, verdict) for axis in asked} if AXES[0] in asked else verdict
        message = {"role": "assistant", "content": json.dumps(said)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return 200, {}, reply | {"usage": USAGE}, 0.0

    return model


def test_single_and_joint_calls_share_a_file_and_never_a_rating(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    with providing(m=speaking()) as provider:
        spec = f"openai-compatible:m@{provider.url},family=mine"
        joint = axisjudge.judge(trajectories(2), [spec], out=out, one_call=True, progress=False)
        assert provider.calls["m"] == 2
        single = judging_run(trajectories(2), [spec], out=out).plan()
        assert (single.n_calls, single.cached) == (10, 0)
        again = judging_run(trajectories(2), [spec], out=out, one_call=True).plan()
        assert (again.n_calls, again.cached) == (0, 10)
        axisjudge.judge(trajectories(2), [spec], out=out, progress=False)
    every = read_every_line(out)
    assert joint["rater"].unique().to_list() == [f"{spec.split(',')[0]},one_call=True"]
    assert every["rater"].n_unique() == 2
    hashes = {rater: set(mine["prompt_sha256"]) for (rater,), mine in every.group_by("rater")}
    assert not set.intersection(*hashes.values())
    assert joint["input_tokens"].sum() == 2 * USAGE["prompt_tokens"]  # a call's tokens once, not once an axis
    assert all("one_call" in flags for flags in joint["flags"])


@pytest.mark.parametrize("broken", [{}, None, "correct", {"verdict": "correct", "confidence": 2}])
def test_an_axis_without_a_verdict_is_lost_alone_and_asked_again(tmp_path: Path, broken: Any) -> None:
    out = tmp_path / "r.jsonl"
    with providing(m=speaking(sequencing=broken)) as provider:
        spec = f"openai-compatible:m@{provider.url},family=mine"
        table = axisjudge.judge(trajectories(1), [spec], out=out, one_call=True, progress=False)
    lost = table.filter(table["status"] != "ok")
    assert lost["question"].to_list() == ["sequencing"]
    assert lost["status"].to_list() == ["parse_error"]
    (call,) = judging_run(trajectories(1), [spec], out=out, one_call=True).plan().groups[0]
    assert call.wanted == ("sequencing",)
    assert tuple(call.rubrics) == AXES


def test_the_plan_and_its_price_know_that_there_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key-0123456789")
    asked = {"judges": ["anthropic:claude-sonnet-4-6"]}
    single, joint = (judging_run(trajectories(20), **asked, one_call=one).estimate() for one in (False, True))
    assert (single.judges[0].n_calls, joint.judges[0].n_calls) == (100, 20)
    assert joint.usd[1] < single.usd[1]
    assert joint.judges[0].input_tokens[1] < single.judges[0].input_tokens[1]


def test_the_prompt_of_each_call_is_kept_once_beside_its_hash(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    with providing(m=speaking()) as provider:
        spec = f"openai-compatible:m@{provider.url},family=mine"
        how: dict[str, Any] = {"progress": False, "keep_prompts": prompts, "repeats": 2}
        table = axisjudge.judge(trajectories(2), [spec, "rules"], AXES[:2], **how)
        with prompts.open("ab") as file:
            file.write(prompts.read_bytes()[:50])  # a writer that was killed
        axisjudge.judge(trajectories(3), [spec], AXES[:2], **how)
    kept = {line["prompt_sha256"]: line for line in map(json.loads, prompts.read_text().splitlines())}
    assert len(kept) == len(prompts.read_text().splitlines()) == 6
    asked = table.filter(table["rater_kind"] == "llm")
    assert set(asked["prompt_sha256"]) <= set(kept)
    sent = {json.dumps(body, sort_keys=True) for body in provider.bodies}
    assert {json.dumps(line["sent"], sort_keys=True) for line in kept.values()} == sent


def test_a_joint_reply_may_be_longer_by_each_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key-0123456789")
    for one, axes, tokens in ((True, AXES, 5 * JOINT_REPLY_TOKENS), (False, AXES, 0), (True, AXES[:1], 0)):
        plan = judging_run(trajectories(1), ["anthropic:claude-sonnet-4-6"], axes, one_call=one).plan()
        assert {call.inquiry.reply_tokens for group in plan.groups for call in group} == {tokens}


def test_a_file_that_holds_no_prompts_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"verdict": "correct"}\n')
    (tmp_path / "folder").mkdir()
    for name, why in (("r.jsonl", "holds no prompts"), ("folder", "cannot be written")):
        with pytest.raises(InputError, match=why):
            axisjudge.judge(trajectories(1), ["rules"], keep_prompts=tmp_path / name, progress=False)


def test_a_joint_call_for_an_axis_that_was_lost_costs_what_every_call_costs(tmp_path: Path) -> None:
    out, whole, lacking = tmp_path / "r.jsonl", speaking(), speaking(sequencing=None)
    with providing(m=lambda n, body: (whole if n else lacking)(n, body)) as provider:
        spec = f"openai-compatible:m@{provider.url},family=mine,price=10/100"
        for _ in range(2):
            axisjudge.judge(trajectories(1), [spec], out=out, one_call=True, progress=False)
    (cost,) = cost_of(read_every_line(out))
    assert (cost.n_calls, cost.n_verdicts, cost.n_lost) == (2, 5, 1)
    assert (cost.input_tokens, cost.output_tokens) == (2 * USAGE["prompt_tokens"], 2 * USAGE["completion_tokens"])
    assert cost.usd == pytest.approx(2 * (1_000 * 10 + 100 * 100) / 1e6)
