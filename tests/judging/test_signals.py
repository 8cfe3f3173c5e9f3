"""Signals and checks by judges behind an API: what is asked, what a reply becomes, what is lost, what is resumed."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from judges.servers import (
    Scripted,
    anthropic_blocks,
    anthropic_error,
    chat_completion,
    openai_error,
    openai_response,
    serving,
)
from judging.signal_worlds import (
    ANTHROPIC,
    LOCAL,
    N_POINTS,
    OPENAI,
    SCENARIO,
    answer_to,
    model,
    question_of,
    run,
    said,
)

from axisjudge.checks import InputError
from axisjudge.judging import judge
from axisjudge.judging.signals import SignalQuestions, signals_run
from axisjudge.scores.axis.rule_sets import UPSTREAM
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.verdict import IDENTITY

ASKED = SignalQuestions(scenarios=(SCENARIO,))
ALL = sum(N_POINTS.values())
each_provider = pytest.mark.parametrize("spec", [ANTHROPIC, OPENAI, LOCAL])


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, no_real_service: None) -> Any:
    """Judge runs by a model that answers as scripted; the requests are kept."""

    def judge(spec: str, body: Any, *runs: Any, questions: SignalQuestions = ASKED, **options: Any) -> pl.DataFrame:
        reply = body if isinstance(body, Scripted) else Scripted(body)
        with serving(reply) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            named = spec.replace("URL", f"{server.url}/v1")
            table = signals_run(runs or [run()], [named], questions, **options).carry_out(progress=False)
        judge.requests = server.requests  # type: ignore[attr-defined]
        return table

    return judge


def value_of(table: pl.DataFrame, question: str, interaction: int | None = None) -> Any:
    about = pl.col("interaction_id").is_null() if interaction is None else pl.col("interaction_id") == str(interaction)
    (row,) = table.filter((pl.col("question") == question) & about).to_dicts()
    return row


def the_cost_is_split_and_adds_up(table: pl.DataFrame, spec: str) -> None:
    sums = table.group_by("prompt_sha256").agg(pl.col("input_tokens").sum(), pl.col("output_tokens").sum())
    assert set(sums["input_tokens"]) == {900 if spec == LOCAL else 10_000}
    assert set(sums["output_tokens"]) == {80 if spec == LOCAL else 300}
    assert (table.group_by("prompt_sha256").agg(pl.col("call_id").n_unique())["call_id"] == 1).all()


def objects(schema: Any) -> list[dict[str, Any]]:
    inner = [found for value in schema.values() if isinstance(value, dict) for found in objects(value)]
    return [*([schema] if schema.get("type") == "object" else []), *inner]


def the_schemas_are_strict_and_nothing_is_kept(requests: Any, spec: str) -> None:
    """Nothing is kept by the provider for calls that do not come."""
    for request in requests:
        if spec == ANTHROPIC:
            schema, name = request["tools"][0]["input_schema"], request["tools"][0]["name"]
            assert request["tool_choice"]["name"] == name
        else:
            form = request["text"]["format"] if spec == OPENAI else request["response_format"]["json_schema"]
            schema, name = form["schema"], form["name"]
            assert form["strict"] is True
        assert name.removeprefix("record_") in ("audits", "grades")
        assert len(objects(schema)) >= 2
        for each in objects(schema):
            assert each["additionalProperties"] is False
            assert each["required"] == list(each["properties"])
        assert not {"minimum", "maximum"} & set(json.dumps(schema).replace('"', " ").split())
        assert "cache_control" not in json.dumps(request)
        assert "hatch" not in json.dumps(request)  # who the agent is, a judge is not told


@each_provider
def test_one_call_a_category_and_one_for_the_goal_gives_a_rating_of_every_point(judged: Any, spec: str) -> None:
    table = judged(spec, model(spec))
    assert len(judged.requests) == 4
    assert table.height == ALL
    assert Counter(name.partition(".")[0] for name in table["question"]) == N_POINTS
    assert set(table["status"]) == {"ok"}
    assert value_of(table, "agent.relevance", 2)["value"] == 0.7
    assert value_of(table, "environment.success", 2)["value"] == 0.6
    assert value_of(table, "goal.2")["value"] == 7.0
    needed = value_of(table, "agent.necessity")
    assert (needed["value"], [flag for flag in needed["flags"] if flag != "unpriced"]) == (0.75, ["unnecessary 3"])
    assert set(table.filter(pl.col("scale") == "check")["question"]) == {"goal.1", "goal.2"}
    assert set(table["rubric_version"]) == {"v1", "v2"}  # each signal's current one
    assert table["rubric_sha256"].n_unique() == 5
    assert table["prompt_sha256"].n_unique() == 4
    assert set(table["task_id"]) == {"fix"}
    the_cost_is_split_and_adds_up(table, spec)
    the_schemas_are_strict_and_nothing_is_kept(judged.requests, spec)


def test_rubrics_of_what_is_asked_and_no_others_are_shown(judged: Any) -> None:
    judged(OPENAI, model(OPENAI))
    heads = {"# success", "# weight", "# context_relevance", "# necessity", "# check"}
    shown = [heads & set(question_of(request).splitlines()) for request in judged.requests]
    assert sorted(map(len, shown)) == [1, 1, 1, 4]
    assert {"# check"} in shown


def without(id: int) -> Callable[[dict[str, Any]], Any]:
    def change(reply: dict[str, Any]) -> dict[str, Any]:
        if "audits" not in reply:
            return reply
        return {**reply, "audits": [each for each in reply["audits"] if each["id"] != id]}

    return change


def test_an_interaction_without_an_audit_is_lost_and_widens_the_bounds(judged: Any) -> None:
    whole, table = judged(OPENAI, model(OPENAI)), judged(OPENAI, model(OPENAI, without(2)))
    lost = table.filter(pl.col("status") == "parse_error")
    assert set(lost["interaction_id"]) == {"2"}
    assert set(lost["question"]) == {"environment.success", "agent.success", "agent.weight", "agent.relevance"}
    assert set(lost["rationale"]) == {"the reply holds no audit of this interaction"}
    assert lost["value"].null_count() == lost.height
    (full,), (part,) = (axis_results([run()], signals=each, scenarios=[SCENARIO]) for each in (whole, table))
    assert full.dimension("environment").low == full.dimension("environment").high
    missing = part.dimension("environment")
    assert missing.low < full.dimension("environment").score < missing.high
    assert any("4 by parse_error" in mark for mark in part.marks)
    mark = re.compile(r"environment scores between \d+ and \d+; not judged: success of 1 interaction")
    assert any(map(mark.fullmatch, part.marks))


def test_under_the_upstream_rules_the_programs_defaults_stand_in(judged: Any) -> None:
    questions = SignalQuestions(scenarios=(SCENARIO,), rules=UPSTREAM)
    table = judged(OPENAI, model(OPENAI, without(2)), questions=questions)
    assert value_of(table, "environment.success", 2)["status"] == "parse_error"  # kept as it came
    (result,) = axis_results([run()], signals=table, scenarios=[SCENARIO], rules=UPSTREAM)
    audits = {audit.id: audit for audit in result.dimension("environment").audits}
    assert (audits[2].success, audits[2].rationale) == (1.0, "default")
    unread = judged(OPENAI, model(OPENAI, lambda _: "no JSON here"), questions=questions)
    assert set(unread["status"]) == {"parse_error"}
    (result,) = axis_results([run()], signals=unread, scenarios=[SCENARIO], rules=UPSTREAM)
    assert result.dimension("agent").necessity.score == 0.8
    assert result.dimension("goal_achievement").score == 0


def broken(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    """The first audit with other fields."""

    def change(reply: dict[str, Any]) -> Any:
        if "audits" not in reply:
            return reply
        first, *others = reply["audits"]
        return {**reply, "audits": [{**first, **fields}, *others]}

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (broken(success=1.2), "success must be a number from 0 to 1; found 1.2"),
        (broken(success=True), "found true"),
        (broken(success="0.5"), 'found "0.5"'),
        (broken(success=None), "found null"),
        (broken(rationale=7), "rationale must be a text; found 7"),
        (broken(id=99), "no audit of this interaction"),
        (lambda reply: {"audits": [*reply["audits"], {**reply["audits"][0], "success": 0.1}]}, "audited 2 times"),
        (lambda reply: {**reply, "audits": "none"}, "audits must be a list"),
        (lambda reply: json.dumps(reply)[:-1], "no JSON object"),
        (lambda reply: json.dumps(reply).replace("0.6", "NaN"), "no JSON object and nothing else"),
        (lambda reply: "[]", "no JSON object"),
    ],
)  # fmt: skip
def test_what_an_audit_must_not_be_is_a_parse_error_and_never_a_number(
    judged: Any, change: Callable[[dict[str, Any]], Any], reason: str
) -> None:
    def only_environment(request: dict[str, Any]) -> str:
        reply = answer_to(request)
        return said(LOCAL, change(reply) if "agent's environment" in question_of(request) else reply, request)

    table = judged(LOCAL, only_environment)
    row = value_of(table, "environment.success", 2)
    assert (row["status"], row["value"]) == ("parse_error", None)
    assert reason in row["rationale"]
    assert set(table.filter(~pl.col("question").str.starts_with("environment"))["status"]) == {"ok"}


def test_an_id_that_was_not_shown_is_flagged_and_moves_nothing(judged: Any) -> None:
    def change(reply: dict[str, Any]) -> dict[str, Any]:
        if "audits" in reply:
            reply["audits"].append({**reply["audits"][0], "id": 99, "success": 0.0})
        if "necessity" in reply:
            reply["necessity"]["unnecessaryIds"] = [3, 42]
        return reply

    table = judged(OPENAI, model(OPENAI, change))
    assert set(table["status"]) == {"ok"}
    signals = table.filter(pl.col("scale") == "unit")
    assert all("unknown_interaction:99" in flags for flags in signals["flags"])
    assert value_of(table, "agent.necessity")["flags"][-2:] == ["unnecessary 3", "unknown_interaction:42"]
    (result,) = axis_results([run()], signals=table)
    assert result.dimension("agent").necessity.unnecessary == (3,)


@pytest.mark.parametrize(
    ("grades", "reason"),
    [
        ([{"criterion_index": 0, "rationale": "", "score": 7.5}], "whole number from 0 to 10; found 7.5"),
        ([{"criterion_index": 0, "rationale": "", "score": 11}], "from 0 to 10; found 11"),
        ([{"criterion_index": 1, "rationale": "", "score": 5}], "no grade of this check"),
        ([{"criterion_index": 0, "rationale": "", "score": score} for score in (5, 6)], "graded 2 times"),
        (None, "grades must be a list"),
    ],
)
def test_a_grade_outside_its_scale_is_lost(judged: Any, grades: Any, reason: str) -> None:
    table = judged(OPENAI, model(OPENAI, lambda reply: {"grades": grades} if "grades" in reply else reply))
    row = value_of(table, "goal.1")
    assert (row["status"], row["value"]) == ("parse_error", None)
    assert reason in row["rationale"]
    (result,) = axis_results([run()], signals=table, scenarios=[SCENARIO])
    assert result.composite is None


@pytest.mark.parametrize(
    ("spec", "reply", "status"),
    [
        (ANTHROPIC, Scripted(anthropic_blocks([], "refusal")), "refused"),
        (ANTHROPIC, Scripted(anthropic_blocks([], "max_tokens")), "truncated"),
        (ANTHROPIC, Scripted(anthropic_blocks([], "end_turn")), "parse_error"),
        (ANTHROPIC, anthropic_error(401, "authentication_error", "no"), "api_error"),
        (OPENAI, Scripted(openai_response(refusal="I will not.")), "refused"),
        (
            OPENAI,
            Scripted(openai_response(status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
            "truncated",
        ),
        (OPENAI, openai_error(400, "no"), "api_error"),
        (LOCAL, Scripted(chat_completion("{", "length")), "truncated"),
        (LOCAL, Scripted(chat_completion(None, refusal="no")), "refused"),
        (LOCAL, Scripted("<html>"), "api_error"),
    ],
)
def test_a_call_that_is_lost_loses_all_its_points_and_nothing_is_filled_in(
    judged: Any, spec: str, reply: Scripted, status: str
) -> None:
    table = judged(spec, reply)
    assert table.height == ALL
    assert set(table["status"]) == {status}
    assert table["value"].null_count() == ALL
    (result,) = axis_results([run()], signals=table, scenarios=[SCENARIO])
    assert result.composite is None
    assert result.bounds[1] - result.bounds[0] > 60


def test_resumed_it_asks_only_what_was_lost_and_keeps_the_identities(judged: Any, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    runs = [run(), run("run-2", result="other")]
    first = judged(OPENAI, model(OPENAI, without(2)), *runs, out=out)
    assert set(first["status"]) == {"ok", "parse_error"}
    again = judged(OPENAI, model(OPENAI), *runs, out=out)
    assert len(judged.requests) == 4  # two runs, in each the environment's call and the agent's
    assert set(again["status"]) == {"ok"}
    assert again.select(IDENTITY).equals(first.select(IDENTITY))
    lines = out.read_text().splitlines()
    assert len(lines) == first.height + 2 * 4  # only what was lost is written again
    third = judged(OPENAI, model(OPENAI), *runs, out=out)
    assert judged.requests == []
    assert third.equals(again)


def test_what_was_lost_may_stay_lost(judged: Any, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    judged(OPENAI, model(OPENAI, without(2)), out=out)
    kept = judged(OPENAI, model(OPENAI), out=out, keep_lost=True)
    assert judged.requests == []
    assert kept.filter(pl.col("status") != "ok").height == 4


def test_the_prompt_hash_covers_content_rubric_checks_and_rules_of_reading(no_real_service: None) -> None:
    def hashes(*runs: Any, spec: str = OPENAI, **changes: Any) -> set[str]:
        plan = signals_run(
            list(runs) or [run()], [spec], SignalQuestions(**{"scenarios": (SCENARIO,), **changes})
        ).plan()
        return {identity[4] for identity in plan.identities}

    plain = hashes()
    assert len(plain) == 4
    assert hashes(spec="openai:gpt-6.1-sol,timeout=9") == plain
    assert not hashes(run(result="another content")) & plain
    other = SCENARIO.checks[1]._replace(check="Tests were run twice.")
    moved = hashes(scenarios=[type(SCENARIO)(SCENARIO.name, SCENARIO.prompt, (SCENARIO.checks[0], other))])
    assert len(moved & plain) == 3  # the signals' three
    assert hashes(spec="openai:gpt-6.1-sol,effort=low").isdisjoint(plain)


def test_two_runs_of_one_id_are_refused(no_real_service: None) -> None:
    with pytest.raises(InputError, match="each id may occur once; found 'run-1'"):
        signals_run([run(), run()], [OPENAI]).plan()


def test_a_failed_run_is_not_judged(no_real_service: None) -> None:
    failed = run().model_copy(update={"meta": {**run().meta, "axis_run": {"result": None, "exitCode": 1}}})
    assert signals_run([failed], [OPENAI], ASKED).plan().n_calls == 0


def test_a_category_without_weight_is_not_asked_about(no_real_service: None) -> None:
    weights = {"goal_achievement": 0.5, "environment": 0.5, "service": 0.0, "agent": 0.0}
    plan = signals_run([run()], [OPENAI], SignalQuestions(scenarios=(SCENARIO,), weights=weights)).plan()
    assert {identity[1].partition(".")[0] for identity in plan.identities} == {"environment", "goal"}


def test_a_judge_that_says_words_alone_is_refused(no_real_service: None) -> None:
    with pytest.raises(InputError, match=r"openai-decisions:gpt-6-luna: gives verdicts .* and judges no signals"):
        signals_run([run()], ["openai-decisions:gpt-6-luna"]).plan()


def test_a_judge_of_the_agents_own_family_is_refused_unless_allowed_and_then_marked(judged: Any) -> None:
    own = run(family="openai")
    with pytest.raises(InputError) as refused:
        judged(OPENAI, model(OPENAI), own)
    assert "\n" not in str(refused.value)
    assert "is of the openai family, as is the agent it would judge" in str(refused.value)
    assert "--allow-own-family" in str(refused.value)
    allowed = SignalQuestions(allow_own_family=True)
    table = judged(OPENAI, model(OPENAI), own, questions=allowed)
    assert all("own_family" in flags for flags in table["flags"])
    (result,) = axis_results([own], signals=table)
    assert "judged by a model of the agent's own family (openai): openai:gpt-6.1-sol" in result.marks


def test_an_agent_of_unknown_family_is_judged_and_the_result_says_so(judged: Any) -> None:
    unknown = run(family=None)
    table = judged(OPENAI, model(OPENAI), unknown)
    assert all("agent_family_unknown" in flags for flags in table["flags"])
    (result,) = axis_results([unknown], signals=table)
    assert any("family is not known" in mark for mark in result.marks)
    (other,) = axis_results([run()], signals=judged(OPENAI, model(OPENAI)))
    assert not any("family" in mark for mark in other.marks)


def test_a_reply_about_a_sheet_has_the_room_that_its_page_asks_for(no_real_service: None) -> None:
    plan = signals_run([run()], [OPENAI], ASKED).plan()
    asked = [call.inquiry for group in plan.groups for call in group]
    assert asked
    for inquiry, call in zip(asked, (call for group in plan.groups for call in group), strict=True):
        assert inquiry.request(call.judge)["max_output_tokens"] >= inquiry.reply_tokens > 0


def test_a_record_without_a_word_on_these_signals_is_refused(tmp_path: Path) -> None:
    judge([run()], ["rules"], out=tmp_path / "r.jsonl", progress=False)
    with pytest.raises(InputError, match="has no word on any signal"):
        signals_run([run()], [f"replay:{tmp_path / 'r.jsonl'}"], ASKED)
