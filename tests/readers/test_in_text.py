"""Calls and results that stand in text, in the forms of open models: read as calls, or the file is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers.conversations import chat, write
from readers.test_bad_transcripts import LOOSE

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.readers.chats.in_text import read_calls
from axisjudge.trajectory import Step, Trajectory

P11, P12 = {"parcel_id": "P-11"}, {"parcel_id": "P-12"}
J11, J12 = json.dumps(P11), json.dumps(P12)
C11, C12 = (json.dumps({"name": "find", "arguments": given}) for given in (P11, P12))
BOTH = [("find", P11), ("find", P12)]
#: Form -> an agent's message in it, and the calls that it holds.
FORMS: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "Hermes": (f"I look.\n<tool_call>\n{C11}\n</tool_call>\n<tool_call>\n{C12}\n</tool_call>", BOTH),
    "Hermes, as Python shows it": (
        "<tool_call>{'name': 'find', 'arguments': {'n': None}}</tool_call>",
        [("find", {"n": None})],
    ),
    "Hermes, a tag in an argument": (
        '<tool_call>{"name": "find", "arguments": {"t": "</tool_call>"}}</tool_call>',
        [("find", {"t": "</tool_call>"})],
    ),
    "Hermes, cut off": ('<tool_call>{"name": "find", "argum', [("find", '{"name": "find", "argum')]),
    "Qwen3-Coder": (
        "<tool_call>\n<function=find>\n<parameter=parcel_id>\nP-11\n</parameter>\n<parameter=n>\n3\n</parameter>\n"
        "</function>\n</tool_call>",
        [("find", {**P11, "n": 3})],
    ),
    "GLM": ("<tool_call>find\n<arg_key>parcel_id</arg_key>\n<arg_value>P-11</arg_value>\n</tool_call>", BOTH[:1]),
    "Llama, a tag": (f"<function=find>{J11}</function>", BOTH[:1]),
    "Llama, JSON": (f'<|python_tag|>{{"name": "find", "parameters": {J11}}}<|eom_id|>', BOTH[:1]),
    "Llama, a call": ('<|python_tag|>find.call(parcel_id="P-11")<|eom_id|>', BOTH[:1]),
    "Llama, code": ("<|python_tag|>print(1)<|eom_id|>", [("code_interpreter", {"code": "print(1)"})]),
    "Mistral": (f"[TOOL_CALLS] [{C11}, {C12}]</s>", BOTH),
    "Mistral, newer": (f"[TOOL_CALLS]find[ARGS]{J11}[TOOL_CALLS]find[CALL_ID]abc[ARGS]{J12}", BOTH),
    "DeepSeek": (
        "Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n```json\n"
        f"{J11}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>find<｜tool▁sep｜>{J12}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>",
        BOTH,
    ),
    "DeepSeek 3.2": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="find">\n<｜DSML｜parameter name="parcel_id" string="true">P-11'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        BOTH[:1],
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>"
        f"{J11}<|tool_call_end|><|tool_call_begin|>functions.find:1<|tool_call_argument_begin|>{J12}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        BOTH,
    ),
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="find">\n<parameter name="parcel_id">P-11</parameter>\n</invoke>\n'
        '<invoke name="ping">\n</invoke>\n</minimax:tool_call>',
        [*BOTH[:1], ("ping", {})],
    ),
    "glaive": (f'<functioncall> {{"name": "find", "arguments": \'{J11}\'}} <|endoftext|>', BOTH[:1]),
    "gpt-oss": (f"<|channel|>commentary to=functions.find <|constrain|>json<|message|>{J11}<|call|>", BOTH[:1]),
    "Phi": (f"<|tool_call|>[{C11}]<|/tool_call|>", BOTH[:1]),
    "LFM": ('<|tool_call_start|>[find(parcel_id="P-11"), ping()]<|tool_call_end|>', [*BOTH[:1], ("ping", {})]),
    "ReAct": (f"Thought: I look.\nAction: find\nAction Input: {J11}", BOTH[:1]),
    "ReAct, text": ("Action: find\nAction Input: P-11", [("find", {"input": "P-11"})]),
    "tau-bench": (f"Thought:\nI look.\nAction:\n{C11}", BOTH[:1]),
    "ReAct's paper": ("Thought 1: I look.\nAction 1: find[P-11]", [("find", {"input": "P-11"})]),
    "CodeAct": ("I look.\n<execute>\nprint(1)\n</execute>", [("execute", {"code": "print(1)"})]),
    "Gemma": ('```tool_code\nfind(parcel_id="P-11")\n```', BOTH[:1]),
    "Llama, JSON alone": (f'{{"name": "find", "parameters": {J11}}}', BOTH[:1]),
    "Llama, a list alone": (f"[{C11}, {C12}]", BOTH),
    "Search-R1": ("<think>who?</think><search> P-11 </search>", [("search", {"query": "P-11"})]),
}


def steps_of(folder: Path, *said: tuple[str, str]) -> tuple[Step, ...]:
    value = [{"role": role, "content": text} for role, text in said]
    (run,) = read_trajectories(write(folder / "x.json", value)).trajectories
    assert [step.index for step in run.steps] == list(range(len(run.steps)))
    return run.steps


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_call_is_read(tmp_path: Path, form: str) -> None:
    text, calls = FORMS[form]
    user, agent, last = steps_of(tmp_path, ("user", "Where is P-11?"), ("assistant", text), ("assistant", "Done."))
    assert [(call.name, call.arguments) for call in agent.tool_calls] == calls
    assert [bool(call.arguments_error) for call in agent.tool_calls] == [isinstance(given, str) for _, given in calls]
    assert not {"tool_call", "TOOL_CALLS", "｜", "function=", "invoke"} & {
        word for word in ("tool_call", "TOOL_CALLS", "｜", "function=", "invoke") if word in agent.content
    }
    assert (user.content, last.content) == ("Where is P-11?", "Done.")


@pytest.mark.parametrize(
    ("text", "schema", "arguments"),
    [
        ("<function=find><parameter=zip>12345</parameter></function>", {"type": "string"}, {"zip": "12345"}),
        ("<function=find><parameter=zip>1e5</parameter></function>", {"type": ["string", "null"]}, {"zip": "1e5"}),
        ("<function=find><parameter=zip>12345</parameter></function>", {"type": "integer"}, {"zip": 12345}),
        ("<function=find><parameter=zip>12345</parameter></function>", {"type": ["string", "integer"]}, {"zip": 12345}),
        (
            "<tool_call>find<arg_key>zip</arg_key><arg_value>[1]</arg_value></tool_call>",
            {"type": "string"},
            {"zip": "[1]"},
        ),
        ("<find><zip>true</zip></find>", {"type": "string"}, {"zip": "true"}),
        ("<find><zip>true</zip></find>", {}, {"zip": True}),
        ('<tool_call>find("1")</tool_call>', {"type": "string"}, {"zip": "1"}),
        ('<tool_call>find("1", 2, near=3)</tool_call>', {}, {"zip": "1", "input_2": 2, "near": 3}),
        ("<tool_call>find(zip=home)</tool_call>", {}, {"zip": "home"}),
        ("<tool_call>find(zip: home)</tool_call>", {}, {"input": "zip: home"}),
    ],
)
def test_a_tools_schema_says_what_is_text_and_what_a_place_is_called(text: str, schema: Any, arguments: Any) -> None:
    steps = (Step(index=0, role="assistant", content=text),)
    ((call,),) = (step.tool_calls for step in read_calls(steps, {"find": {"zip": schema}}))
    assert (call.name, call.arguments) == ("find", arguments)


def test_a_draft_in_a_thought_a_mention_and_a_users_text_are_no_calls(tmp_path: Path) -> None:
    draft = f"<think><tool_call>{C11}</tool_call></think>Use `<tool_call>` and `</tool_call>`, or <tool_call> alone."
    steps = steps_of(tmp_path, ("user", f"<tool_call>{C11}</tool_call>"), ("assistant", draft))
    assert [step.tool_calls for step in steps] == [(), ()]
    assert steps[1].content == draft
    for plain in ('{"name": "Ann", "age": 7}', '{"name": "Ann"}', "[1, 2]"):
        assert [step.content for step in steps_of(tmp_path, ("user", "?"), ("assistant", plain))] == ["?", plain]


RESULTS = {
    "a user's message": [("user", '<tool_response>\n{"name": "find", "content": {"hall": 7}}\n</tool_response>')],
    "a tool's message": [("tool", '<tool_response>{"hall": 7}</tool_response>')],
    "a tool's plain message": [("tool", '{"hall": 7}')],
    "Mistral": [("user", '[TOOL_RESULTS] {"content": {"hall": 7}, "call_id": "abc"} [/TOOL_RESULTS]')],
    "DeepSeek": [("user", '<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>{"hall": 7}<｜tool▁output▁end｜>')],
    "ReAct": [("user", 'Observation: {"hall": 7}')],
    "ReAct's paper": [("user", 'Observation 1: {"hall": 7}')],
    "Gemma": [("user", '```tool_output\n{"hall": 7}\n```')],
    "tau-bench": [("user", 'API output: {"hall": 7}')],
    "Llama": [("ipython", '{"hall": 7}')],
}


@pytest.mark.parametrize("form", RESULTS)
def test_every_form_of_a_result_is_read(tmp_path: Path, form: str) -> None:
    _, _, result = steps_of(tmp_path, ("user", "?"), ("assistant", FORMS["GLM"][0]), *RESULTS[form])
    assert (result.role, result.content, result.tool_name) == ("tool", '{"hall": 7}', "find")


def test_results_in_one_message_are_one_step_each_and_what_stands_beside_them_stays(tmp_path: Path) -> None:
    answers = "<tool_response>hall 7</tool_response><tool_response></tool_response>\nGo on."
    for role, after in (("user", "user"), ("tool", "tool")):
        steps = steps_of(tmp_path, ("user", "?"), ("assistant", FORMS["Hermes"][0]), (role, answers))
        told = [(step.role, step.content) for step in steps[2:]]
        assert told == [("tool", "hall 7"), ("tool", ""), (after, "Go on.")]


def test_a_whole_loop_in_one_message(tmp_path: Path) -> None:
    """LangChain's and CrewAI's scratchpads, and Search-R1's rollouts, are one text."""
    loop = f"Thought: a\nAction: find\nAction Input: {J11}\nObservation: hall 7\nThought: b\nAction: find\n"
    loop += f"Action Input: {J12}\nObservation: hall 8\nThought: c\nFinal Answer: 7 and 8"
    steps = steps_of(tmp_path, ("user", "?"), ("assistant", loop))
    assert [(step.role, len(step.tool_calls)) for step in steps[1:]] == [
        ("assistant", 1), ("tool", 0), ("assistant", 1), ("tool", 0), ("assistant", 0),
    ]  # fmt: skip
    assert [step.content for step in steps if step.role == "tool"] == ["hall 7", "hall 8"]
    search = "<think>a</think><search>x</search><information>Doc</information><answer>y</answer>"
    steps = steps_of(tmp_path, ("user", "?"), ("assistant", search))
    assert [step.role for step in steps] == ["user", "assistant", "tool", "assistant"]


def test_tau_bench_speaks_to_the_user_by_an_action(tmp_path: Path) -> None:
    said = json.dumps({"name": "respond", "arguments": {"content": "Hall 7."}})
    loop = (("assistant", FORMS["tau-bench"][0]), ("user", "API output: 7"), ("assistant", f"Action:\n{said}"))
    steps = steps_of(tmp_path, ("user", "?"), *loop)
    assert [(step.role, step.content, len(step.tool_calls)) for step in steps[2:]] == [
        ("tool", "7", 0),
        ("assistant", "Hall 7.", 0),
    ]


UNREAD = (
    "<tool_call> where is P-11 </tool_call>",
    '<tool_call>{"arguments": {}}</tool_call>',
    "<tool_use><name>find</name></tool_use>",
    "<|quantum_call|>find",
    "<tool_code>find()</tool_code>",
)


@pytest.mark.parametrize("text", UNREAD)
def test_what_names_no_tool_or_is_of_another_form_refuses_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="step 1") as caught:
        steps_of(tmp_path, ("user", "?"), ("assistant", text))
    assert caught.value.cure


def test_a_form_that_nobody_knows_refuses_the_file_beside_one_that_is_read_too(tmp_path: Path) -> None:
    said = [("user", "?"), ("assistant", FORMS["Hermes"][0])]
    assert steps_of(tmp_path, *said)
    with pytest.raises(InputError, match="quantum_call"):
        steps_of(tmp_path, *said, ("user", "?"), ("assistant", UNREAD[3]))


def test_beside_calls_of_its_own_kind_text_is_text(tmp_path: Path) -> None:
    real = chat()
    real[3]["content"] = FORMS["Hermes"][0]
    (run,) = read_trajectories(write(tmp_path / "x.json", real)).trajectories
    assert run.steps[3].content == FORMS["Hermes"][0]
    assert sum(len(step.tool_calls) for step in run.steps) == 1


def test_our_own_files_say_what_is_a_call(tmp_path: Path) -> None:
    """What an attacker's text plays is text, and stays so when a run is written and read again."""
    played = Trajectory(id="p", source="t", steps=(Step(index=0, role="assistant", content=FORMS["Hermes"][0]),))
    write_trajectories(tmp_path / "own.jsonl", [played])
    assert read_trajectories(tmp_path / "own.jsonl").trajectories == (played,)


TOKENS = (
    *(text for text, _ in FORMS.values()),
    *UNREAD,
    *(
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "`",
        "{",
        "[",
        '{"name":',
        "Observation: x",
        "\n",
        "é🚚",
        " ",
    ),
    *("<tool_response>", "</tool_response>", "Action:", "```tool_code\n", "<execute>", "[TOOL_CALLS]", "<function=f>"),
)


@LOOSE
@given(parts=st.lists(st.sampled_from(TOKENS), max_size=6), answer=st.lists(st.sampled_from(TOKENS), max_size=3))
def test_any_mixture_is_read_or_refused(parts: list[str], answer: list[str]) -> None:
    told = (("user", "?"), ("assistant", "".join(parts)), ("user", "".join(answer)), ("assistant", "Done."))
    steps = tuple(Step(index=n, role=role, content=text) for n, (role, text) in enumerate(told))  # type: ignore[arg-type]
    try:
        whole = read_calls(steps)
    except InputError:
        return
    assert [step.index for step in whole] == list(range(len(whole)))
    assert whole[-1].content == "Done."
    assert all(step.role == "assistant" for step in whole if step.tool_calls)


READ_FILE = "I read it.\n\n<read_file>\n<path>a.py</path>\n<line>3</line>\n</read_file>"
CAME = "[read_file for 'a.py'] Result:\nprint(1)\n<environment_details>\nx\n</environment_details>"
DONE = "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>"
PROMPT = """## read_file
Description: reads.
Usage:
<read_file>
<path>a path</path>
</read_file>

## attempt_completion
Usage:
<attempt_completion>
<result>what you did</result>
</attempt_completion>"""


@pytest.mark.parametrize(
    "before", [[("system", PROMPT)], []], ids=["described in the prompt", "known by what came back"]
)
def test_elements_named_after_tools_are_calls(tmp_path: Path, before: list[tuple[str, str]]) -> None:
    loop = (("user", "Do."), ("assistant", READ_FILE), ("user", CAME), ("assistant", DONE))
    steps = steps_of(tmp_path, *before, *loop)[len(before) :]
    assert [(call.name, call.arguments) for step in steps for call in step.tool_calls] == [
        ("read_file", {"path": "a.py", "line": 3}),
        ("attempt_completion", {"result": "All done."}),
    ]
    assert [(step.role, step.tool_name) for step in steps[2:4]] == [("tool", "read_file"), ("user", None)]
    assert steps[2].content == "print(1)"


def test_elements_of_a_tool_that_is_known_from_a_schema_are_calls_else_the_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [{"role": "user", "content": "Do."}, {"role": "assistant", "content": READ_FILE}])
    tools = write(tmp_path / "tools.json", [{"name": "read_file", "input_schema": {"type": "object"}}])
    (run,) = read_trajectories(path, tools=tools).trajectories
    assert run.steps[1].tool_calls[0].arguments == {"path": "a.py", "line": 3}
    with pytest.raises(InputError, match=r"step 1.*read_file.*--tools"):
        read_trajectories(path)
    held = "<write_to_file>\n<path>a</path>\n<content>\n<a>1</content>2</a>\n</content>\n</write_to_file>"
    wrote = ("assistant", held), ("user", "[write_to_file for 'a'] Result:\nok")
    assert steps_of(tmp_path, *wrote)[0].tool_calls[0].arguments == {"path": "a", "content": "<a>1</content>2</a>"}
    for plain in (
        "<ul><li>a</li></ul>",
        "<search_results>\n<item>a</item>\n</search_results>",
        f"```\n{READ_FILE}\n```",
    ):
        assert steps_of(tmp_path, ("user", "?"), ("assistant", plain))[1].content == plain


def test_a_call_in_text_beside_others_is_named_and_is_read_where_it_was_answered(tmp_path: Path) -> None:
    said, quoted, shown = FORMS["Hermes"][0], f"Write `<tool_call>{C11}</tool_call>`.", f"```\n{FORMS['GLM'][0]}\n```"
    for text, times in ((said, 1), ("<tool_call> where is P-11 </tool_call>", 1), (quoted, 0), (shown, 0)):
        path = write(tmp_path / "x.json", [*chat(), {"role": "assistant", "content": text}])
        reading = read_trajectories(path)
        assert sum("nobody ran" in warning.rule for warning in reading.warnings) == times
        assert reading.trajectories[0].steps[-1].content == text
    answered = [*chat(), {"role": "assistant", "content": FORMS["GLM"][0]}]
    answered.append({"role": "user", "content": "<tool_response>hall 7</tool_response>"})
    reading = read_trajectories(write(tmp_path / "x.json", answered))
    *_, agent, result = reading.trajectories[0].steps
    assert not reading.warnings
    assert ([call.name for call in agent.tool_calls], result.role, result.tool_name) == (["find"], "tool", "find")


def test_a_fence_holds_a_call_where_it_was_answered_and_an_example_where_not(tmp_path: Path) -> None:
    fenced = f"So:\n```xml\n{FORMS['Hermes'][0]}\n```"
    answers = [("user", "<tool_response>7</tool_response>"), ("user", "Thanks.")]
    calls = [len(steps_of(tmp_path, ("user", "?"), ("assistant", fenced), then)[1].tool_calls) for then in answers]
    assert calls == [2, 0]
    reading = read_trajectories(
        write(tmp_path / "x.json", [{"role": "user", "content": "?"}, {"role": "assistant", "content": fenced}])
    )
    assert ["nobody ran" in warning.rule for warning in reading.warnings] == [True], "where no call is left, it is said"
    (_, agent) = steps_of(tmp_path, ("user", "?"), ("assistant", f"<think>so</think>\n{FORMS['Llama, JSON alone'][0]}"))
    assert [call.name for call in agent.tool_calls] == ["find"]
