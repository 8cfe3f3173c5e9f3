"""What stands in the runs: results follow from the records, rewards from runs, faults stand where they are cited."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from axisjudge.ratings import read_ratings
from axisjudge.verdict import Rating

from .conftest import generator_module

Run = dict[str, Any]
Line = dict[str, Any]

tasks_module = generator_module("tasks")
shop_module = generator_module("shop")
reward_module = generator_module("reward")

WORLD, TASKS = tasks_module.build_tasks(1)
TASK = {task.task_id: task for task in TASKS}
IDENTIFIER = re.compile(r"(?:FH-\d{5}(?:/\d)?|cust-\d{5}|card-\d{4}|wallet-\d{5}|prod-\d{3}|[A-Z]{2,3}-\d{4})")

CHANGES_STATE_FOR_GOOD = {
    "coarse_tool", "misreported_scope", "wrong_order", "wrong_variant", "wrong_address_tool", "garbled_address",
    "return_for_exchange", "piecemeal_exchange", "credit_beyond_rule", "refused_though_allowed", "needless_handover",
    "promised_not_done", "asks_again_and_again", "loops_until_cut", "error_taken_for_success", "broke_off",
    "answered_without_lookup",
}  # fmt: skip
PROCESS_ONLY = {
    "change_before_yes", "changed_without_reading", "order_before_identity", "return_before_terms", "unknown_tool",
    "same_failing_call", "invented_email", "invented_order_id", "word_not_allowed", "missing_argument",
    "product_id_as_sku", "sku_before_lookup", "calls_after_goodbye", "drawn_out_ending", "status_misread",
    "date_misread", "advice_against_rules", "write_for_question",
}  # fmt: skip


def calls_of(run: Run) -> list[tuple[int, dict[str, Any]]]:
    return [(i, call) for i, m in enumerate(run["messages"]) for call in m.get("tool_calls") or []]


def faults_of(run: Run, planted: list[Line]) -> set[str]:
    lines = [line for line in planted if line["trajectory_id"] == run["id"]]
    return {flag[6:] for line in lines for flag in line["flags"] if flag.startswith("fault:")}


def test_tool_results_follow_from_the_records(simulations: list[Run]) -> None:
    for run in simulations:
        shop = shop_module.Shop(WORLD.records(), WORLD.today)
        results = {m["id"]: m for m in run["messages"] if m["role"] == "tool"}
        for _, call in calls_of(run):
            content, error = shop.run(call["name"], call["arguments"])
            assert results[call["id"]]["content"] == content, (run["id"], call)
            assert results[call["id"]]["error"] is error


def test_messages_have_the_form_of_a_benchmark_run(simulations: list[Run]) -> None:
    for run in simulations:
        messages = run["messages"]
        assert [m["turn_idx"] for m in messages] == list(range(len(messages)))
        assert [m["timestamp"] for m in messages] == sorted(m["timestamp"] for m in messages)
        for before, after in pairwise(messages):
            if after["role"] == "user":
                assert before["role"] == "assistant", run["id"]
                assert not before.get("tool_calls"), run["id"]
            if after["role"] == "assistant":
                assert before["role"] in ("user", "tool"), (run["id"], after["turn_idx"])
        if run["termination_reason"] == "user_stop":
            assert messages[-1]["content"].endswith(("###STOP###", "###TRANSFER###"))
            assert 10 <= len(messages) <= 55, (run["id"], len(messages))
            assert not any("###" in (m["content"] or "") for m in messages[:-1])


def test_reward_is_what_the_final_records_say(simulations: list[Run]) -> None:
    for run in simulations:
        shop = shop_module.Shop(WORLD.records(), WORLD.today)
        for _, call in calls_of(run):
            shop.run(call["name"], call["arguments"])
        same = shop.records == reward_module.goal_records(WORLD, TASK[run["task_id"]])
        spoken = " ".join(m["content"] or "" for m in run["messages"] if m["role"] == "assistant")
        told = all(words in spoken for words in TASK[run["task_id"]].told)
        assert run["reward_info"]["reward"] == float(same and told and run["termination_reason"] == "user_stop")


def test_rewards_agree_with_what_was_planted(simulations: list[Run], planted: list[Line]) -> None:
    for run in simulations:
        faults, reward = faults_of(run, planted), run["reward_info"]["reward"]
        if faults & CHANGES_STATE_FOR_GOOD:
            assert reward == 0.0, (run["id"], faults)
        elif faults <= PROCESS_ONLY:
            assert reward == 1.0, (run["id"], faults)


def test_ratings_load_and_cite_steps_that_exist(simulations: list[Run], planted: list[Line], demo_folder: Any) -> None:
    assert len(read_ratings(demo_folder / "planted.jsonl")) == len(planted) == 5 * len(simulations)
    length = {run["id"]: len(run["messages"]) for run in simulations}
    for line in planted:
        rating = Rating.model_validate(line)
        assert rating.rater_kind == "planted"
        assert rating.confidence is None
        assert all(0 <= step < length[line["trajectory_id"]] for step in line["cited_step_indices"])
        if line["verdict"] == "incorrect":
            assert line["cited_step_indices"] or length[line["trajectory_id"]] == 0
            assert any(flag.startswith("fault:") for flag in line["flags"])
        else:
            assert not any(flag.startswith("fault:") for flag in line["flags"])


def test_every_axis_of_a_run_without_calls_but_the_ending_is_not_applicable(
    simulations: list[Run], planted: list[Line]
) -> None:
    for run in simulations:
        lines = {line["question"]: line for line in planted if line["trajectory_id"] == run["id"]}
        if not run["messages"]:
            assert {axis: line["verdict"] for axis, line in lines.items()} == {
                **dict.fromkeys(lines, "not_applicable"),
                "termination": "incorrect",
            }
        elif not calls_of(run):
            assert lines["argument_validity"]["verdict"] == "not_applicable"


def test_only_invented_identifiers_have_no_source(simulations: list[Run], planted: list[Line]) -> None:
    """An identifier in a call was said or returned before, unless the fault is that it was made up."""
    invented = {"invented_order_id", "sku_before_lookup"}
    for run in simulations:
        faults = faults_of(run, planted)
        for step, call in calls_of(run):
            before = " ".join(m["content"] or "" for m in run["messages"][:step])
            for found in IDENTIFIER.findall(json.dumps({k: v for k, v in call["arguments"].items() if k != "summary"})):
                grounded = found in before or (found.startswith("FH-") and re.search(rf"\b{found[3:]}\b", before))
                assert grounded or faults & invented, (run["id"], step, found)


def test_identifiers_of_the_records_exist(simulations: list[Run]) -> None:
    known = json.dumps(WORLD.records())
    for run in simulations:
        for _, call in calls_of(run):
            for order_id in re.findall(r"FH-\d{5}", json.dumps(call["arguments"])):
                assert order_id in known or order_id in ("FH-10001", "FH-12345", "FH-20202")


# a fault shows at the step that is cited for it


def cited(planted: list[Line], kind: str) -> list[tuple[str, str, list[int]]]:
    return [
        (line["trajectory_id"], line["question"], line["cited_step_indices"])
        for line in planted
        if f"fault:{kind}" in line["flags"]
    ]


@pytest.mark.parametrize(
    ("kind", "axis", "tools"),
    [
        ("coarse_tool", "tool_selection", {"cancel_order"}),
        ("misreported_scope", "tool_selection", {"cancel_order"}),
        ("wrong_address_tool", "tool_selection", {"update_address_book"}),
        ("return_for_exchange", "tool_selection", {"start_return"}),
        ("same_failing_call", "tool_selection", {"find_customer_by_email"}),
        ("wrong_variant", "argument_validity", {"swap_line", "start_exchange"}),
        ("product_id_as_sku", "argument_validity", {"swap_line", "start_exchange"}),
        ("wrong_order", "argument_validity", {"cancel_line"}),
        ("garbled_address", "argument_validity", {"redirect_order"}),
        ("credit_beyond_rule", "argument_validity", {"grant_credit"}),
        ("invented_email", "argument_validity", {"find_customer_by_email"}),
        ("order_before_identity", "sequencing", {"get_order"}),
        ("changed_without_reading", "sequencing", {"cancel_order"}),
        ("piecemeal_exchange", "sequencing", {"start_exchange"}),
        ("return_before_terms", "sequencing", {"start_return", "check_return_terms"}),
        ("needless_handover", "tool_selection", {"hand_over"}),
    ],
)
def test_faulty_calls_stand_where_they_are_cited(
    kind: str, axis: str, tools: set[str], simulations: list[Run], planted: list[Line]
) -> None:
    runs = {run["id"]: run for run in simulations}
    places = [(run, steps) for run, question, steps in cited(planted, kind) if question == axis]
    assert places
    for run, steps in places:
        for step in steps:
            names = {call["name"] for call in runs[run]["messages"][step].get("tool_calls") or []}
            assert names & tools, (run, step)


@pytest.mark.parametrize("kind", ["amount_misread", "wrong_sum"])
def test_misread_amounts_are_in_no_earlier_message(kind: str, simulations: list[Run], planted: list[Line]) -> None:
    runs = {run["id"]: run for run in simulations}
    for run, _, steps in cited(planted, kind):
        messages = runs[run]["messages"]
        amounts = re.findall(r"\$(\d+\.\d\d)", messages[steps[-1]]["content"])
        before = " ".join(m["content"] or "" for m in messages[: steps[-1]])
        assert any(f"{float(amount):g}" not in before for amount in amounts), (run, amounts)


def test_writes_before_yes_follow_no_agreement(simulations: list[Run], planted: list[Line]) -> None:
    runs = {run["id"]: run for run in simulations}
    for run, _, (step,) in cited(planted, "change_before_yes"):
        before = [m for m in runs[run]["messages"][:step] if m["role"] == "assistant" and m["content"]]
        asked = " ".join(m["content"] for m in before[-2:])
        assert not re.search(r"Shall I|Do you agree|Is that (right|a yes)|To confirm", asked), run


def test_calls_after_goodbye_come_after_goodbye(simulations: list[Run], planted: list[Line]) -> None:
    runs = {run["id"]: run for run in simulations}
    for run, _, steps in cited(planted, "calls_after_goodbye"):
        assert re.search(r"[Bb]ye", runs[run]["messages"][steps[0] - 1]["content"])
        assert all(runs[run]["messages"][step]["tool_calls"] for step in steps)


def test_duplicate_writes_are_planted_or_differ(simulations: list[Run], planted: list[Line]) -> None:
    """No run repeats a successful change unless that is its fault."""
    writes = {"cancel_order", "cancel_line", "swap_line", "start_return", "start_exchange", "grant_credit"}
    for run in simulations:
        made = [json.dumps([c["name"], c["arguments"]]) for _, c in calls_of(run) if c["name"] in writes]
        assert (len(made) > len(set(made))) == ("repeated_write" in faults_of(run, planted)), run["id"]
