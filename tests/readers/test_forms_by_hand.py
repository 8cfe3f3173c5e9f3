"""Records of each format by hand, with all that they state, and the runs that they tell."""

import json
from pathlib import Path
from typing import Any

import pytest
from spoilt import spoilt

from axisjudge.checks import InputError
from axisjudge.readers import Reading, read_trajectories
from axisjudge.readers.events import Line, Tally
from axisjudge.readers.logs import LOGS
from axisjudge.readers.messages import content_id
from axisjudge.readers.reading import FORMATS
from axisjudge.trajectory import Trajectory

KNOWN: dict[str, Any] = {form.FORMAT: form for form in (*FORMATS, *LOGS)}
CASES = json.loads((Path(__file__).parent / "fixtures" / "by_hand.json").read_text())


def step_of(step: Any) -> list[Any]:
    if step.role == "tool":
        return ["tool", step.content, step.tool_call_id, step.tool_name, step.error, step.timestamp, step.duration_s]
    calls = [[call.id, call.name, call.arguments] for call in step.tool_calls]
    return [step.kind or step.role, step.content, calls, step.timestamp, step.agent]


def told(run: Trajectory, named: bool) -> dict[str, Any]:
    """What a run states, and its steps; without the copy of a transcript's entries."""
    tools = None if run.tools is None else [tool.name for tool in run.tools]
    meta = {key: value for key, value in run.meta.items() if key != "axis_entries"}
    stated = [run.agent, run.task_id, run.domain, run.reward, run.termination, run.policy, tools, meta]
    return {"run": [run.id if named else None, *stated], "steps": [step_of(step) for step in run.steps]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["form"])
def test_a_record_of_a_format_is_read_with_all_that_it_states(case: dict[str, Any], tmp_path: Path) -> None:
    form, tally = KNOWN[case["form"]], Tally()
    if hasattr(form, "read_log"):
        found = list(form.read_log([Line(f"line {n}", event) for n, event in enumerate(case["events"], 1)], tally))
    else:
        found = list(form.read(case["events"][0], "", tmp_path))
    runs = [one.trajectory for one in found if one.trajectory is not None]
    assert [told(run, bool(known["run"][0])) for run, known in zip(runs, case["runs"], strict=True)] == case["runs"]
    notes = [*tally.notes(), *(note for one in found for note in one.notes)]
    assert [[note.rule, note.detail, note.times] for note in notes] == case["notes"]
    nameless = [run.id for run, known in zip(runs, case["runs"], strict=True) if not known["run"][0]]
    assert all(len(name) == len(content_id(())) for name in nameless)  # a hash of what was done


def read(events: list[Any], file: Path) -> Reading:
    file.write_text("\n".join(map(json.dumps, events)) if len(events) > 1 else json.dumps(*events))
    return read_trajectories(file)


def texts(reading: Reading) -> set[str]:
    """What calls were given and what came of them, where it is text."""
    steps = [step for run in reading for step in run.steps]
    given = [call.arguments for step in steps for call in step.tool_calls]
    told = [*(text for one in given if isinstance(one, dict) for text in one.values())]
    told += [step.content for step in steps if step.role == "tool"]
    return {text for text in told if isinstance(text, str) and len(text) > 2}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case["form"] for case in CASES])
def test_a_record_with_something_amiss_is_read_or_refused_in_one_line(number: int, tmp_path: Path) -> None:
    """And no call or result is lost unsaid. SWE-agent and `codex exec` say things twice, of which one is read."""
    form, events = CASES[number]["form"], CASES[number]["events"]
    whole = read(events, tmp_path / "whole.json")
    known = texts(whole)
    refused = []
    for other in spoilt(events, 12, seed=number):
        try:
            found = read(other, tmp_path / "spoilt.json") if other else whole
        except InputError as error:
            refused.append(str(error))
            continue
        there, kept = json.dumps(other), "".join(run.model_dump_json() for run in found)
        lost = [text for text in known if json.dumps(text) in there and json.dumps(text)[1:-1] not in kept]
        assert not lost or found.warnings != whole.warnings or form in ("swe_agent", "codex_exec")
    assert not any("\n" in one for one in refused)
