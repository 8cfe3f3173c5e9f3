"""Files, spans, summaries and cures by hand, each at its limit."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.readers import by_file, read_trajectories, source
from axisjudge.readers.expectations import tau2_expectations, tau_bench_expectations
from axisjudge.readers.reading import array_spans, as_of_one, is_run
from axisjudge.readers.source import ArraySpan, BrokenJson, ForeignText, LineSpan, cure_for, json_values, with_messages
from axisjudge.readers.summary import FileEntry, ReadWarning, counted, summarise
from axisjudge.trajectory import Step, ToolCall, Trajectory

USER = {"role": "user", "content": "?"}
RUN = {"messages": [USER]}


@pytest.mark.parametrize(
    ("record", "word"),
    [
        ({"object": "chat.completion.chunk"}, "whole completion"),
        ({"type": "message_start"}, "get_final_message"),
        ({"type": "content_block_delta"}, "get_final_message"),
        ({"type": "response.created"}, "response.completed"),
        ({"event": "on_chat_model_stream", "run_id": "r"}, "final state"),
        ({"tasks_output": []}, "CrewAI"),
        ({"trajectory": [], "info": {}}, "SWE-agent"),
        ({"source": "agent", "action": "run"}, "OpenHands"),
        ({"source": "agent", "observation": "run"}, "OpenHands"),
        ({"info": {}, "data": {}}, "MLflow"),
        ({"trace_id": "t", "trace_metadata": {}}, "MLflow"),
        ({"chat": "USER: ?"}, "one text"),
        ({"instruction": "?", "output": "!"}, "not runs"),
        ({"prompt": "?", "completion": "!"}, "not runs"),
    ],
)
def test_what_is_no_run_is_told_with_its_cure(record: dict[str, Any], word: str) -> None:
    assert word in cure_for(record)
    assert word in cure_for([record, 3])
    assert cure_for([record][:0]) == ""
    if len(record) > 1:  # no half of it tells
        assert [cure_for({key: value}) for key, value in record.items()] == ["", ""]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"conversation": [USER], "id": 1}, {"messages": [USER], "id": 1}),
        ([{"chat": [USER]}, 3], [{"messages": [USER]}, 3]),
        ({"trajectory": [USER], "messages": []}, None),
        ({"dialogue": []}, None),
        ({"dialog": [3]}, None),
        ({"dialog": [USER, {"content": "!"}]}, None),
        ({"dialog": "role"}, None),
        ({"dialog": [USER], "chat": [USER]}, None),
        ([3], None),
        (3, None),
    ],
)
def test_messages_under_another_name(value: Any, read: Any) -> None:
    assert with_messages(value) == (value if read is None else read)


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (b'{"a": 1}', [("", {"a": 1})]),
        (b'\n\n{"a": 1}\n\n', [("", {"a": 1})]),
        (
            b'\xef\xbb\xbf{"a": 1}\n\n{"b": 2}\n{"c": 3}',
            [("line 1", {"a": 1}), ("line 3", {"b": 2}), ("line 4", {"c": 3})],
        ),
        (b'\n{"a":\n1}', [("", {"a": 1})]),
    ],
)
def test_a_file_is_one_value_or_one_a_line(raw: bytes, values: list[Any]) -> None:
    assert list(json_values(io.BytesIO(raw))) == values


@pytest.mark.parametrize(
    ("raw", "kind", "where"),
    [
        (b"", ForeignText, ""),
        (b"\xef\xbb\xbf", ForeignText, ""),
        (b"# a title\nwords", ForeignText, ""),
        (b'{"a":\n {"b": 1,\n}', BrokenJson, "line 3, column 1"),
        (b'\n\n{"a":\n {"b": 1,\n}', BrokenJson, "line 5, column 1"),
        (b'{"a": 1}\n{"b":', BrokenJson, "line 2, column 5"),
        (b'{"a": 1}\n\n{"b": x}', BrokenJson, "line 3, column 7"),
        (b'{"a": "\xff"}', InputError, "line 1, byte 8"),
        (b'{"a":\n "\xff"}', InputError, "line 2, byte 3"),
        (b'\xff\xfe{\x00"\x00', InputError, "byte 0"),
    ],
)
def test_where_a_file_breaks(raw: bytes, kind: type[InputError], where: str) -> None:
    with pytest.raises(InputError) as caught:
        list(json_values(io.BytesIO(raw)))
    assert (type(caught.value), caught.value.where) == (kind, where)
    is_cut = raw.endswith(b":")
    assert ("is cut off" in caught.value.rule) is is_cut


def test_a_line_that_cannot_be_mended_is_left_out() -> None:
    raw = b'{"a": 1}\nx\ny\n{"b": 2}'
    found = list(json_values(io.BytesIO(raw), lambda place, line: {"was": place} if line.strip() == b"y" else None))
    assert found == [("line 1", {"a": 1}), ("line 3", {"was": "line 3"}), ("line 4", {"b": 2})]
    broken = b'x\n{"a": 1}\n'
    assert list(source.sound_lines(io.BytesIO(broken), lambda *_: None)) == [("line 2", {"a": 1})]
    for one in (b'{"a": 1,\n"b"}', b'{\n"a": 1\n}'):  # one value over several lines
        assert list(source.sound_lines(io.BytesIO(one), lambda *_: None)) == []


def test_a_span_is_read_with_the_numbers_of_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": 2}\n{"c": 3}\n')
    with source.opened(path, LineSpan(9, 27, 1)) as stream:
        assert stream.read() == b'\n{"b": 2}\n{"c": 3}\n'
    path.write_bytes(b'[{"a": 1}, {"b": 2}]')
    with source.opened(path, ArraySpan(11, 19, 1)) as stream:
        assert stream.read() == b'[{"b": 2}]'


# Spans.


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ('[{"messages": []}, {"messages": []}]', [(1, 17, 0), (19, 35, 1)]),
        ('\n [\n{"messages": []},{"messages": []} ] \n', [(4, 20, 0), (21, 37, 1)]),
        ('[{"messages": []}]', [(1, 17, 0)]),
        ("[]", []),
        ('[{"a": 1}, {"messages": []}]', []),
        ('[{"messages": []}, 3]', []),
        ('[{"messages": []}] x', []),
        ('[{"messages": []}', []),
        ('{"messages": []}', []),
    ],
)
def test_where_an_array_of_runs_is_cut(tmp_path: Path, text: str, cut: list[tuple[int, int, int]]) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert [tuple(span) for span in array_spans(path, 1)] == cut
    assert array_spans(path, 16) == [ArraySpan(*span) for span in cut]  # as long as the size is enough
    joined = [(cut[0][0], cut[-1][1], 0)] if cut else []
    assert [tuple(span) for span in array_spans(path, 10**6)] == joined


@pytest.mark.parametrize(
    ("size", "cut"),
    [
        (19, [(0, 40, 0), (40, 80, 2)]),  # two lines at least; each has 20 bytes
        (40, [(0, 40, 0), (40, 80, 2)]),
        (41, [None]),  # less than twice as many
    ],
)
def test_where_lines_of_runs_are_cut(tmp_path: Path, size: int, cut: list[Any]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(4 * b'{"messages": [ ]}  \n')
    assert [span and tuple(span) for span in by_file.spans_of(path, size)] == cut
    assert by_file.spans_of(tmp_path / "gone", size) == [None]
    path.write_bytes(4 * b'{"role": "user" }  \n')
    assert by_file.spans_of(path, 20) == [None]


def test_a_last_line_by_itself_belongs_to_the_span_before_it(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(5 * b'{"messages": [ ]}  \n')
    assert [tuple(span) for span in by_file.spans_of(path, 30) if span] == [(0, 40, 0), (40, 100, 2)]
    path.write_bytes(6 * b'{"messages": [ ]}  \n')
    assert [tuple(span) for span in by_file.spans_of(path, 30) if span] == [(0, 40, 0), (40, 80, 2), (80, 120, 4)]
    blank = 2 * b'{"messages": [ ]}  \n' + b" \n" + 2 * b'{"messages": [ ]}  \n'
    path.write_bytes(blank)
    assert [tuple(span) for span in by_file.spans_of(path, 40) if span] == [(0, 42, 0), (42, 82, 3)]


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (json.dumps(RUN), True),
        ("\ufeff" + json.dumps(RUN), True),
        (json.dumps(USER), False),  # a message of a conversation that goes on below
        (json.dumps([RUN]), False),
        ('{"a": 1}', False),
        ("{", False),
        ('{"type": "session", "cwd": "/", "id": "s"}', False),  # a part of a log
    ],
)
def test_a_line_that_is_read_by_itself(line: str, known: bool) -> None:
    assert is_run(line.encode()) is known


def test_what_all_spans_note_is_counted_once() -> None:
    def end(n: int, rule: str = "a") -> FileEntry[Trajectory]:
        return FileEntry("f", "", (ReadWarning("x", f"line {n}", rule, "d", n),))

    whole = list(as_of_one([FileEntry[Trajectory]("f", "line 1", ()), end(2), end(3), end(1, "b")]))
    assert [entry.position for entry in whole] == ["line 1", ""]
    assert [(note.position, note.rule, note.count) for note in whole[1].notes] == [
        ("line 2", "a", 5),
        ("line 1", "b", 1),
    ]
    assert list(as_of_one([])) == []


# Summaries, and what tasks expect.


def test_what_a_summary_counts() -> None:
    call, own = ToolCall(name="read"), ToolCall(name="look", requestor="user")
    steps = (
        Step(index=0, role="user", content="?", tool_calls=(own,)),
        Step(index=1, role="assistant", tool_calls=(call, call)),
        Step(index=2, role="tool", content="x", error=True),
        Step(index=3, role="tool", content="y", error=False),
    )
    runs = [
        Trajectory(id="a", source="s", agent="m", domain="d", task_id="1", reward=1.0, termination="t", steps=steps),
        Trajectory(id="b", source="s", agent="m", domain="d", task_id="1", reward=0.5, tools=(), policy="p"),
        Trajectory(id="c", source="s"),
    ]
    odd = [ReadWarning("f", "", "rule", count=3), ReadWarning("g", "", "rule")]
    told = summarise(map(counted, runs), files=2, warnings=odd)
    assert (told.files, told.trajectories, told.empty, told.tasks, told.steps) == (2, 3, 2, 2, 4)
    assert (told.agents, told.domains) == ({"m": 2, "not stated": 1}, {"d": 2, "not stated": 1})
    assert (told.agent_tool_calls, told.user_tool_calls, told.tool_errors, told.tools) == (2, 1, 1, {"read": 2})
    assert (told.with_tool_schemas, told.with_policy) == (1, 1)
    assert told.rewards == {"n": 2, "mean": 0.75, "missing": 1}
    assert (summarise([]).files, summarise([]).rewards["missing"]) == (0, 0)
    assert (told.endings, told.warnings) == ({"not stated": 2, "t": 1}, {"rule": 4})


ACTION = {"name": "f", "kwargs": {"a": 1}, "arguments": {"a": 1}}


def test_what_a_task_of_tau_bench_expects() -> None:
    task = {"actions": [ACTION, {"name": "g", "requestor": "user"}, {"kwargs": {}}, 3], "outputs": ["7", 8]}
    judged = {"info": {"outputs": {"7": True}, "r_actions": 0.0}}
    assert tau_bench_expectations({"info": {"task": task, "reward_info": judged}}) == {
        "actions": [{"name": "f", "arguments": {"a": 1}, "compare": None}],
        "communicate": [{"text": "7", "met": True}, {"text": "8", "met": None}],
        "database_matches": False,
    }
    assert tau_bench_expectations({"info": {"task": {"actions": []}}})["database_matches"] is None  # type: ignore[index]
    assert tau_bench_expectations({"info": {}}) is None


def test_what_a_task_of_tau2_expects() -> None:
    """Of the run's own checks where it has them, else of the task's criteria; the database counts where judged."""
    criteria = {"actions": [ACTION], "communicate_info": ["7"]}
    tasks = [{"id": 2}, {"id": 1, "evaluation_criteria": criteria}, {"id": 1}]
    known = {"actions": [{"name": "f", "arguments": {"a": 1}, "compare": None}]}
    told = tau2_expectations({"task_id": "1"}, tasks)
    assert told == known | {"communicate": [{"text": "7", "met": None}], "database_matches": None}
    checked = {
        "action_checks": [{"action": {**ACTION, "compare_args": ["a"]}}],
        "communicate_checks": [{"info": 8, "met": False}],
        "db_check": {"db_match": True},
    }
    told = tau2_expectations({"task_id": "1", "reward_info": checked}, tasks)
    assert told == {
        "actions": [{"name": "f", "arguments": {"a": 1}, "compare": ["a"]}],
        "communicate": [{"text": "8", "met": False}],
        "database_matches": True,
    }
    apart = {"task_id": "1", "reward_info": {**checked, "reward_basis": ["ACTION"]}}
    assert tau2_expectations(apart, tasks)["database_matches"] is None  # type: ignore[index]
    assert tau2_expectations({"task_id": "3"}, tasks) is None
    assert tau2_expectations({"task_id": "3", "reward_info": checked}, None) is not None


def test_what_is_to_hold_runs_is_refused_and_what_is_not_is_passed_over(tmp_path: Path) -> None:
    """By its ending: that of JSON, or that of a file beside it that held runs."""
    (tmp_path / "a.log").write_text(json.dumps(RUN))
    (tmp_path / "README.txt").write_text("words")
    reading = read_trajectories(tmp_path)
    assert [(warning.file.rpartition("/")[2], warning.rule) for warning in reading.warnings] == [
        ("README.txt", "passed over")
    ]
    assert reading.warnings[0].detail == "is not JSON: b'words'"
    for name in ("b.log", "b.jsonl", "b.JSON"):
        (tmp_path / name).write_text("words")
        with pytest.raises(InputError, match=f"{name}: is not JSON"):
            read_trajectories(tmp_path)
        assert [one.path.rpartition("/")[2] for one in read_trajectories(tmp_path, strict=False).refused] == [name]
        (tmp_path / name).unlink()
    (tmp_path / "a.log").unlink()
    with pytest.raises(InputError, match="none of the 1 files there holds trajectories"):
        read_trajectories(tmp_path)
    with pytest.raises(InputError, match=r"README.txt: is not JSON"):
        read_trajectories(tmp_path / "README.txt")  # it was named
    repeated = read_trajectories(write_run(tmp_path / "c.json"), tmp_path / "c.json")
    assert [warning.rule for warning in repeated.warnings] == ["the file is read once, though it was given twice"]
    (tmp_path / "d.json").write_text(json.dumps([RUN, {**RUN, "id": "x"}, {**RUN, "id": "x"}]))
    copies = read_trajectories(tmp_path / "c.json", tmp_path / "d.json")
    assert (len(copies), [warning.rule for warning in copies.warnings]) == (2, ["identical content, counted once"] * 2)
    assert repr(copies) == "Reading(2 trajectories of 2 files, 2 warnings)"
    (tmp_path / "d.json").write_text(
        json.dumps([{**RUN, "id": "x"}, {"messages": [{**USER, "content": "!"}], "id": "x"}])
    )
    with pytest.raises(InputError, match="its id is that of another trajectory"):
        read_trajectories(tmp_path / "d.json")


def write_run(path: Path) -> Path:
    path.write_text(json.dumps(RUN))
    return path
