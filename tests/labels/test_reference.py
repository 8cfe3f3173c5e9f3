"""The reference rater: each difference by rule; on real results the counts of an independent reading of the JSON."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.judging import judge
from axisjudge.labels.reference import AXIS_OF, FaultKind, read_tool_kinds, reference_faults, reference_ratings
from axisjudge.ratings import write_ratings
from axisjudge.ratings.edge import BY_JUDGE
from axisjudge.readers import read_trajectories
from axisjudge.sources import read_label_files, read_reference
from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import AXES
from axisjudge.workbench import find

KINDS = {"renew": "write", "cancel": "write", "look": "read", "transfer_to_human_agents": "generic"}
GOOD = ("renew", {"loan_id": "LN-1", "weeks": 2})
LONGER = ("renew", {"loan_id": "LN-1", "weeks": 3})
OTHER = ("cancel", {"loan_id": "LN-2", "reason": "lost"})


def run(made: list[Any], expected: list[Any], **known: Any) -> Trajectory:
    """The agent makes the calls in turn, one a step, then says goodbye."""
    steps: list[Step] = [Step(index=0, role="user", content="Please.")]
    for number, (name, arguments, *answer) in enumerate(made):
        call = ToolCall(id=f"c{number}", name=name, arguments=arguments)
        steps.append(Step(index=len(steps), role="assistant", tool_calls=(call,)))
        content = answer[0] if answer else "ok"
        steps.append(Step(index=len(steps), role="tool", content=content, tool_call_id=f"c{number}"))
    steps.append(Step(index=len(steps), role="assistant", content=known.pop("words", "Goodbye.")))
    actions = [{"name": name, "arguments": arguments, "compare": None} for name, arguments in expected]
    meta = {"actions": actions, "communicate": [], "database_matches": False, **known}
    reward = meta.pop("reward", 0.0)
    return Trajectory(id="r", source="test", task_id="1", reward=reward, steps=tuple(steps), meta={"expected": meta})


def faults(*arguments: Any, **known: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(fault.kind.value, fault.steps) for fault in reference_faults(run(*arguments, **known), KINDS)]


@pytest.mark.parametrize(
    ("made", "expected", "known", "found"),
    [
        ([GOOD], [GOOD], {}, []),
        ([("renew", {"loan_id": "LN-1", "weeks": 3})], [GOOD], {}, [("wrong_argument", (1,))]),
        ([GOOD, OTHER], [GOOD], {}, [("extra_write", (3,))]),
        ([("look", {})], [GOOD], {}, [("missing_write", ())]),
        # another change of the same record, or a handover, stands in its place
        ([("cancel", {"loan_id": "LN-1"})], [GOOD], {}, [("replaced_write", (1,))]),
        ([("transfer_to_human_agents", {})], [GOOD], {}, [("replaced_write", (1,))]),
        # a change of another record does not
        ([OTHER], [GOOD], {}, [("missing_write", ()), ("extra_write", (1,))]),
        # a change of another record of the same owner does not either
        (
            [("cancel", {"user_id": "U-1", "loan_id": "LN-2"})],
            [("renew", {"user_id": "U-1", "loan_id": "LN-1"})],
            {},
            [("missing_write", ()), ("extra_write", (1,))],
        ),
        # refused and given up: at the last attempt on the record, not where the run ends
        ([(*LONGER, "Error: no"), ("look", {}), ("look", {})], [GOOD], {}, [("missing_write", (1,))]),
        # refused just as the benchmark's own call is: no fault; shut off by a change before it: that one came too early
        ([(*GOOD, "Error: no")], [GOOD], {}, []),
        ([("cancel", {"loan_id": "LN-1"}), (*GOOD, "Error: no")], [GOOD], {}, [("order", (1,))]),
        # a change that was refused at first was begun there
        ([(*LONGER, "Error: no"), LONGER], [GOOD], {}, [("wrong_argument", (1,))]),
        ([(*OTHER, "Error: no"), OTHER, GOOD], [GOOD], {}, [("extra_write", (1,))]),
        ([("renew", {"loan_id": "LN-9"}, "Error: no")], [GOOD], {}, [("missing_write", ())]),
        # a right change over a wrong one leaves what was expected
        ([("renew", {"loan_id": "LN-1", "weeks": 3}), GOOD], [GOOD], {}, []),
        # what failed changed nothing
        ([(*OTHER, "Error: no")], [], {}, []),
        ([OTHER, GOOD], [GOOD, OTHER], {}, [("order", (1,))]),
        ([OTHER, GOOD], [GOOD, OTHER], {"database_matches": None}, []),
        # items and their new items are rows, in any order
        (
            [("renew", {"items": ["b", "a"], "new": ["y", "x"]})],
            [("renew", {"items": ["a", "b"], "new": ["x", "y"]})],
            {},
            [],
        ),
        (
            [("renew", {"items": ["b", "a"], "new": ["x", "y"]})],
            [("renew", {"items": ["a", "b"], "new": ["x", "y"]})],
            {},
            [("wrong_argument", (1,))],
        ),
        # the database was right, whatever the way; the run passed
        ([OTHER], [GOOD], {"database_matches": True}, []),
        ([OTHER], [GOOD], {"reward": 1.0}, []),
        ([], [], {"communicate": [{"text": "14", "met": False}]}, [("not_communicated", ())]),
        ([], [], {"communicate": [{"text": "1400", "met": None}], "words": "It is 1,400."}, []),
    ],
)
def test_each_difference_is_a_fault_of_its_kind_at_its_step(
    made: list[Any], expected: list[Any], known: dict[str, Any], found: list[Any]
) -> None:
    assert faults(made, expected, **known) == found


def test_the_reference_is_a_labeller_of_its_own_kind_and_no_judge() -> None:
    table = reference_ratings([run([("cancel", {"loan_id": "LN-1"})], [GOOD]).model_copy(update={"tool_kinds": KINDS})])
    assert table.select("rater", "rater_kind", "family").unique().rows() == [("reference",) * 3]
    assert table.filter(BY_JUDGE).is_empty()
    (row,) = table.rows(named=True)
    assert (row["question"], row["verdict"], row["cited_step_indices"]) == ("tool_selection", "incorrect", [1])
    assert row["flags"] == ["replaced_write"]
    assert reference_ratings([run([GOOD], [GOOD], reward=1.0)]).is_empty()


def counted(file: Path, kinds: dict[str, str]) -> Counter[str]:
    """Kinds of difference in a results file, read from its JSON by other means: multisets of calls, no steps."""
    value, counts = json.loads(file.read_text()), Counter[str]()
    if isinstance(value, dict):
        tasks = {str(task["id"]): task["evaluation_criteria"] for task in value["tasks"]}
        for each in value["simulations"]:
            judged, task = each["reward_info"], tasks[str(each["task_id"])]
            if judged["reward"] >= 1:
                continue
            calls = [
                (call["name"], call["arguments"], call["id"])
                for message in each["messages"]
                for call in message.get("tool_calls") or ()
                if message["role"] == "assistant"
            ]
            failed = {m["id"] for m in each["messages"] if m["role"] == "tool" and m.get("error")}
            made, refused = (
                [(name, given) for name, given, call in calls if (call in failed) is wrong] for wrong in (False, True)
            )
            checks = judged.get("communicate_checks")
            spoken = " ".join(
                (m.get("content") or "").lower().replace(",", "") for m in each["messages"] if m["role"] == "assistant"
            )
            unmet = (
                sum(not c["met"] for c in checks)
                if checks
                else sum(t.lower() not in spoken for t in task["communicate_info"] or ())
            )
            expected = [(a["name"], a["arguments"]) for a in task["actions"] or () if a["requestor"] == "assistant"]
            matches = (judged.get("db_check") or {}).get("db_match")
            _count(counts, made, refused, expected, kinds, unmet, matches)
        return counts
    for each in value:
        if each["reward"] >= 1:
            continue
        judged = each["info"].get("reward_info") or {}
        outcome, task = judged.get("info") or {}, each["info"]["task"]
        pairs = zip(each["traj"], each["traj"][1:], strict=False)  # an answer follows its call; ids come twice here
        called = [
            (call["function"]["name"], json.loads(call["function"]["arguments"]), answer["content"])
            for message, answer in pairs
            for call in message.get("tool_calls") or ()
        ]
        made, refused = (
            [(name, given) for name, given, answer in called if answer.startswith("Error") is wrong]
            for wrong in (False, True)
        )
        spoken = [(m.get("content") or "").lower().replace(",", "") for m in each["traj"] if m["role"] == "assistant"]
        met = outcome.get("outputs") or {}
        unmet = sum(not met.get(t, any(t.lower() in words for words in spoken)) for t in task["outputs"])
        expected = [(action["name"], action["kwargs"]) for action in task["actions"]]
        matches = bool(outcome["r_actions"]) if "r_actions" in outcome else None
        _count(counts, made, refused, expected, kinds, unmet, matches)
    return counts


def _count(
    counts: Counter[str],
    made: Any,
    refused: Any,
    expected: Any,
    kinds: dict[str, str],
    unmet: int,
    matches: bool | None,
) -> None:
    counts["not_communicated"] += unmet
    if matches is True:
        return
    tools = {name for name, _ in (*made, *expected) if kinds.get(name) == "write"}
    for tool in tools:
        sides = ([_frozen(given) for name, given in side if name == tool] for side in (made, expected, refused))
        mine, theirs, tried = sides
        same = sum((Counter(mine) & Counter(theirs)).values())
        counts["wrong_argument"] += min(len(mine), len(theirs)) - same
        counts["extra_write"] += max(len(mine) - len(theirs), 0)
        counts["left_out"] += max(len(theirs) - len(mine), 0)
        counts["tried"] += len([*((Counter(theirs) - Counter(mine)) & Counter(tried)).elements()])


def _frozen(given: dict[str, Any]) -> str:
    lists = sorted((key, value) for key, value in given.items() if isinstance(value, list))
    groups: dict[int, list[Any]] = {}
    for key, value in lists:
        groups.setdefault(len(value), []).append((key, value))
    rows = [
        (
            [key for key, _ in group],
            sorted(json.dumps([value[i] for _, value in group], sort_keys=True) for i in range(n)),
        )
        for n, group in sorted(groups.items())
    ]
    return json.dumps(
        [{key: value for key, value in given.items() if not isinstance(value, list)}, rows], sort_keys=True
    )


@pytest.mark.parametrize("name", ["tau2_retail/gpt-4.1-mini.json", "tau_bench/gpt-4o-airline.json"])
def test_counts_of_real_results_equal_an_independent_reading(name: str, shared_data: Path) -> None:
    file, kinds = shared_data / name, read_tool_kinds()
    ours = Counter(
        fault.kind for each in read_trajectories(file).trajectories for fault in reference_faults(each, kinds)
    )
    theirs = counted(file, kinds)
    left_out = ours[FaultKind.MISSING_WRITE] + ours[FaultKind.REPLACED_WRITE]
    for kind in (FaultKind.WRONG_ARGUMENT, FaultKind.NOT_COMMUNICATED):
        assert ours[kind] == theirs[kind.value] > 0
    # a change in another's place is one fault with it
    extra = ours[FaultKind.EXTRA_WRITE]
    assert 0 < extra <= theirs["extra_write"] <= extra + ours[FaultKind.REPLACED_WRITE]
    # an expected change that was tried as expected, and refused, is left out by none
    assert 0 < theirs["left_out"] - theirs["tried"] <= left_out <= theirs["left_out"]
    assert ours[FaultKind.ORDER] <= theirs["left_out"] - left_out


def test_what_names_no_expectations_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "chat.json"
    plain.write_text(json.dumps([{"id": "a", "messages": [{"role": "user", "content": "Hello"}]}]))
    with pytest.raises(InputError, match="holds no run whose task says what was expected"):
        read_reference(plain)


def _results(tmp_path: Path) -> Path:
    call = {"id": "c", "name": "cancel_pending_order", "arguments": {"order_id": "#W1", "reason": "no"}}
    messages = [
        {"role": "user", "content": "Cancel #W1, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "c", "content": "{}", "error": False},
        {"role": "assistant", "content": "Done."},
    ]
    action = {
        "action_id": "0",
        "requestor": "assistant",
        "name": "cancel_pending_order",
        "arguments": {"order_id": "#W2"},
    }
    sims = [
        {"id": f"s{n}", "task_id": "t", "termination_reason": "user_stop", "messages": messages}
        | {"reward_info": {"reward": float(n), "db_check": {"db_match": bool(n)}, "reward_basis": ["DB"]}}
        for n in (0, 1)
    ]
    task = {"id": "t", "evaluation_criteria": {"actions": [action], "communicate_info": ["14"]}}
    info = {"environment_info": {"domain_name": "retail"}, "agent_info": {"llm": "gpt-4.1"}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"info": info, "tasks": [task], "simulations": sims}))
    return path


def test_compare_takes_the_reference_as_labels(tmp_path: Path) -> None:
    results, ratings = _results(tmp_path), tmp_path / "r.jsonl"
    write_ratings(judge(read_trajectories(results).trajectories, ["rules"], progress=False), ratings)
    labels = read_label_files([f"reference:{results}"])
    assert sorted(labels["question"]) == ["argument_validity", "result_interpretation"]
    assert set(labels["trajectory_id"]) == {"s0"}
    done = CliRunner().invoke(app, ["compare", str(ratings), "--labels", f"reference:{results}", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {question["panel"]["people"][0] for question in told["questions"] if "panel" in question} <= {"reference"}
    assert "argument_validity" in {question["question"] for question in told["questions"]}


def test_every_kind_of_fault_has_an_axis() -> None:
    assert set(AXIS_OF) == set(FaultKind)


def test_the_reading_is_numbers_of_as_many_failed_runs_as_passed_ones() -> None:
    table = pl.read_csv(find("data/reference/reading.csv"))
    rows = table.filter(rater="reader")
    outcomes = rows.select("trajectory_id", "failed").unique()
    assert outcomes["failed"].mean() == 0.5
    assert outcomes.height == table.select("trajectory_id", "task_id", "domain", "failed").n_unique() >= 60
    assert set(table["axis"].drop_nulls()) <= set(AXES)
    assert rows["axis"].is_null().equals(rows["step"].is_null())
    assert table.filter(~pl.col("failed"))["rater"].unique().sort().to_list() == ["reader", "reader two", "rules"]
