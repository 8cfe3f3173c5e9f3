"""The anthropic package against a server on loopback that speaks the Messages API."""

import json
from typing import Any

import pytest
from judges.conftest import KEY
from judges.servers import VERDICT, Scripted, anthropic_blocks, anthropic_message, grade, made, serving, verdict_text

from axisjudge.checks import InputError
from axisjudge.judges import make_judges, prompt
from axisjudge.judges.anthropic_judge import takes_forced_tool_use
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, Axis, verdict_schema

FORCED = "anthropic:claude-sonnet-4-6"
FORMATTED = "anthropic:claude-sonnet-5-5"
AXIS: Axis = "tool_selection"


@pytest.fixture
def asked(trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask one question of a judge whose server gives one scripted reply; the answer, the reply and the request."""

    def ask(reply: str, spec: str = FORCED) -> Any:
        with serving(Scripted(reply)) as server:
            got = grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
        return got.answers[AXIS], got, server.requests[0]

    return ask


def test_a_verdict_by_forced_tool_use(asked: Any) -> None:
    answer, reply, request = asked(anthropic_message())
    assert (answer.status, answer.verdict, answer.confidence) == ("ok", "correct", 0.9)
    assert (answer.cited_step_indices, answer.rationale) == ((2, 5), VERDICT["rationale"])
    assert answer.confidence_source == "verbalized"
    assert (reply.returned_model, reply.call_id) == ("claude-sonnet-4-6", "msg_1")
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (10_000, 8_500, 300)
    assert reply.cost_usd == pytest.approx((1_000 * 3 + 8_500 * 0.3 + 500 * 3.75 + 300 * 15) / 1e6)
    assert reply.latency_s > 0
    assert reply.flags == ()
    assert request["tool_choice"] == {"type": "tool", "name": "record_verdict", "disable_parallel_tool_use": True}
    (tool,) = request["tools"]
    assert (tool["name"], tool["input_schema"]) == ("record_verdict", verdict_schema())
    assert "output_config" not in request


def test_a_verdict_by_structured_output_where_forcing_is_rejected(asked: Any) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    reply = anthropic_blocks([thought, {"type": "text", "text": verdict_text()}], "end_turn")
    answer, _, request = asked(reply, f"{FORMATTED},effort=low")
    assert (answer.status, answer.verdict) == ("ok", "correct")
    form = {"type": "json_schema", "schema": verdict_schema()}
    assert request["output_config"] == {"format": form, "effort": "low"}
    assert "tools" not in request
    assert "tool_choice" not in request


@pytest.mark.parametrize(
    ("model", "forced"),
    [
        ("claude-sonnet-4-6", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-3-7-sonnet-20250219", True),
        ("claude-opus-5", True),
        ("claude-sonnet-5", True),
        ("claude-opus-5-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-haiku-5-5", False),
        ("claude-fable-5", False),
        ("claude-mythos-5-1", False),
        ("claude-mythos-preview", False),
        ("claude-opus-6", False),
        ("claude-someday", False),
    ],
)
def test_which_models_take_forced_tool_use(model: str, forced: bool) -> None:
    assert takes_forced_tool_use(model) is forced


def test_the_mechanism_can_be_chosen_and_an_unknown_one_is_refused(asked: Any) -> None:
    reply = anthropic_blocks([{"type": "text", "text": verdict_text()}], "end_turn")
    answer, _, request = asked(reply, f"{FORCED},mechanism=json_schema_output")
    assert answer.status == "ok"
    assert "tools" not in request
    with pytest.raises(InputError, match="did you mean 'forced_tool'"):
        make_judges([JudgeSpec.parse(f"{FORCED},mechanism=forced-tool")])


def test_parameters_reach_the_request(asked: Any) -> None:
    _, _, request = asked(anthropic_message(), f"{FORCED},max_tokens=777,temperature=0.5")
    assert (request["model"], request["max_tokens"], request["temperature"]) == ("claude-sonnet-4-6", 777, 0.5)


def test_the_five_axes_share_their_prefix_byte_for_byte(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Scripted(anthropic_message())) as server:
        for axis in AXES:
            grade(made(FORCED, server, monkeypatch), trajectory, {axis: rubrics[axis]})
    shared = set()
    for axis, request in zip(AXES, server.requests, strict=True):
        setting, prefix, question = request["messages"][0]["content"]
        assert setting["cache_control"] == prefix["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in question
        assert axis in question["text"]
        shared.add(json.dumps([request["model"], request["tools"], request["system"], setting, prefix]))
    assert len(shared) == 1
    assert [message["role"] for message in request["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("stop_reason", "status", "reason"),
    [
        ("refusal", "refused", "refused"),
        ("max_tokens", "truncated", "max_tokens"),
        ("model_context_window_exceeded", "truncated", "context window"),
        ("pause_turn", "truncated", "paused"),
        ("end_turn", "ok", "Step 2"),
        ("stop_sequence", "ok", "Step 2"),
    ],
)
def test_every_stop_reason_has_its_status(asked: Any, stop_reason: str, status: str, reason: str) -> None:
    answer, reply, _ = asked(anthropic_message(stop_reason))
    assert answer.status == status
    assert (answer.verdict is None) == (status != "ok")
    assert reason in answer.rationale
    assert reply.cost_usd > 0  # lost or not, it was paid for


def test_a_refusal_says_its_category(asked: Any) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    answer, _, _ = asked(anthropic_blocks([], "refusal", stop_details=details))
    assert (answer.status, answer.rationale) == ("refused", "refused (cyber)")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verdict": "right"}, "verdict: Input should be 'correct', 'incorrect'"),
        ({"confidence": 1.2}, "confidence: Input should be less than or equal to 1"),
        ({"confidence": -0.1}, "confidence: Input should be greater than or equal to 0"),
        ({"confidence": True}, "confidence: Input should be a valid number"),
        ({"confidence": "95"}, "confidence: Input should be less than or equal to 1"),
        ({"confidence": None}, "confidence: Input should be a valid number"),
        ({"cited_step_indices": [True]}, "cited_step_indices.0: Input should be a valid integer"),
        ({"cited_step_indices": "[2]"}, "cited_step_indices: Input should be a valid list"),
        ({"score": 3}, "score: Extra inputs are not permitted"),
    ],
)
def test_what_breaks_the_schema_is_a_parse_error_and_never_mended(
    asked: Any, changes: dict[str, Any], reason: str
) -> None:
    answer, _, _ = asked(anthropic_message(**changes))
    assert (answer.status, answer.verdict, answer.confidence) == ("parse_error", None, None)
    assert reason in answer.rationale


def test_a_confidence_in_words_loses_itself_and_no_verdict(asked: Any) -> None:
    answer, _, _ = asked(anthropic_message(confidence="high"))
    assert (answer.verdict, answer.confidence, answer.confidence_source) == (VERDICT["verdict"], None, None)
    assert answer.flags == ("repaired:confidence_in_words",)
    share, _, _ = asked(anthropic_message(confidence="85%"))
    assert (share.confidence, share.flags) == (0.85, ("repaired:number_as_text",))


def test_not_a_number_is_a_parse_error(asked: Any) -> None:
    answer, _, _ = asked(anthropic_message().replace('"confidence":0.9', '"confidence":NaN'))
    assert answer.status == "parse_error"
    assert "finite" in answer.rationale


@pytest.mark.parametrize("field", VERDICT)
def test_a_missing_field_is_a_parse_error(asked: Any, field: str) -> None:
    fields = {name: value for name, value in VERDICT.items() if name != field}
    block = {"type": "tool_use", "id": "toolu_1", "name": "record_verdict", "input": fields}
    answer, _, _ = asked(anthropic_blocks([block], "tool_use"))
    assert answer.status == "parse_error"
    assert f"{field}: Field required" in answer.rationale


@pytest.mark.parametrize("names", [[], ["record_verdict", "record_verdict"], ["another_tool"]])
def test_no_call_two_calls_or_another_tool_is_a_parse_error(asked: Any, names: list[str]) -> None:
    blocks = [{"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": VERDICT} for name in names]
    blocks.append({"type": "text", "text": verdict_text()})
    answer, _, _ = asked(anthropic_blocks(blocks, "end_turn"))
    assert answer.status == "parse_error"
    assert "expected one call of record_verdict" in answer.rationale


@pytest.mark.parametrize("text", ["First {}, then <>", "", "{}<>"], ids=range(3))
def test_two_answers_or_none_are_a_parse_error(asked: Any, text: str) -> None:
    text = text.replace("{}", verdict_text()).replace("<>", verdict_text(verdict="incorrect"))
    answer, _, _ = asked(anthropic_blocks([{"type": "text", "text": text}], "end_turn"), FORMATTED)
    assert (answer.status, answer.verdict) == ("parse_error", None)


def test_no_more_than_the_head_of_a_bad_reply_is_kept(asked: Any) -> None:
    reply = anthropic_blocks([{"type": "text", "text": "y" * 10_000}], "end_turn")
    answer, _, _ = asked(reply, FORMATTED)
    assert answer.status == "parse_error"
    assert answer.rationale.count("y" * 200) == 1
    assert len(answer.rationale) < 450


def test_a_model_without_a_price_is_flagged_and_costs_none(asked: Any) -> None:
    raw = anthropic_message().replace('"model":"claude-sonnet-4-6"', '"model":"claude-nonesuch-9"')
    _, reply, _ = asked(raw, "anthropic:claude-nonesuch-9,mechanism=forced_tool")
    assert (reply.cost_usd, reply.flags) == (None, ("unpriced",))
    assert reply.returned_model == "claude-nonesuch-9"


def test_a_trajectory_that_cannot_be_made_to_fit_is_not_sent(
    rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Step(index=0, role="user", content="w" * (prompt.BUDGET + 1))
    with serving(Scripted(anthropic_message())) as server:
        judge = made(FORCED, server, monkeypatch)
        reply = grade(judge, Trajectory(id="x", source="test", steps=(words,)), {AXIS: rubrics[AXIS]})
    assert server.requests == []
    assert reply.answers[AXIS].status == "truncated"
    assert "over the budget" in reply.answers[AXIS].rationale


def test_a_shortened_trajectory_is_sent_and_flagged(
    rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Step(index=0, role="tool", content="w" * (prompt.BUDGET + 1))
    with serving(Scripted(anthropic_message())) as server:
        judge = made(FORCED, server, monkeypatch)
        reply = grade(judge, Trajectory(id="x", source="test", steps=(result,)), {AXIS: rubrics[AXIS]})
    assert reply.answers[AXIS].status == "ok"
    (flag,) = reply.flags
    assert flag.startswith("shortened:step 0:")
    cut = flag.rsplit(":", 1)[1]
    assert f"{cut} characters cut here to fit" in server.requests[0]["messages"][0]["content"][1]["text"]


def test_prompt_hash_follows_what_is_asked_and_nothing_of_transport(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(spec: str, axis: Axis = AXIS, **changes: Any) -> str:
        (judge,) = make_judges([JudgeSpec.parse(spec)])
        return judge.prompt_sha256(trajectory.model_copy(update=changes), {axis: rubrics[axis]})

    base = hashed(FORCED)
    monkeypatch.setenv("OTHER_KEY", "not-a-key-either")
    assert hashed(f"{FORCED},timeout=7,rpm=3,key_env=OTHER_KEY,family=x") == base
    assert hashed(FORCED, id="y", agent="z", reward=0.0) == base
    others = [
        hashed("anthropic:claude-sonnet-4-5"),
        hashed(f"{FORCED},effort=low"),
        hashed(f"{FORCED},max_tokens=5"),
        hashed(f"{FORCED},mechanism=json_schema_output"),
        hashed(FORCED, "termination"),
        hashed(FORCED, termination="max_steps"),
    ]
    assert len({base, *others}) == 7


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_named_before_any_call(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    if value is not None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    judge, other = make_judges(  # a plan needs no key
        [JudgeSpec.parse(FORCED), JudgeSpec.parse(f"{FORCED},effort=low,key_env=MY_KEY")]
    )
    with pytest.raises(InputError, match="environment variable ANTHROPIC_API_KEY"):
        judge.prepare()
    with pytest.raises(InputError, match="environment variable MY_KEY"):
        other.prepare()


def test_the_key_goes_to_the_server_alone(trajectory: Trajectory, rubrics: dict[Axis, Rubric], asked: Any) -> None:
    answer, reply, request = asked(anthropic_message())
    assert KEY not in json.dumps(request)
    assert KEY not in repr((answer, reply))
