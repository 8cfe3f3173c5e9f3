"""Work where the files are read: the account of one process, whoever did the work; failed files named at the end."""

import json
from functools import partial
from pathlib import Path

import pytest

from axisjudge.checks import InputError
from axisjudge.cluster import InTurn
from axisjudge.readers import iter_trajectories, write_trajectories
from axisjudge.readers.by_file import made_of_files, spans_of
from axisjudge.readers.reading import array_spans
from axisjudge.trajectory import Step, ToolCall, Trajectory


def run_of(name, *, task="t", odd=False):
    calls = (ToolCall(id="c", name="find", arguments={"of": name}),)
    answer = Step(index=1, role="tool", content=name, tool_call_id="other" if odd else "c")
    steps = (Step(index=0, role="assistant", tool_calls=calls), answer)
    return Trajectory(id=name, source="mine", agent="gpt-5", task_id=task, steps=steps)


@pytest.fixture
def folder(tmp_path):
    """Four files: one has copies of others' runs, one breaks in its second line, one is of no known format."""
    runs = [run_of(f"run-{number}", odd=number == 3) for number in range(6)]
    for name, lot in {"a": runs[:3], "b": [runs[0], runs[3], runs[3]], "d": runs[4:]}.items():
        write_trajectories(tmp_path / f"{name}.jsonl", lot)
    broken = '{"id": "x", "source": "mine", "steps": [{"index": 5, "role": "user"}]}'
    (tmp_path / "c.jsonl").write_text(f"{run_of('lost').model_dump_json()}\n{broken}\n")
    (tmp_path / "notes.json").write_text(json.dumps({"what": "no run"}))
    (tmp_path / "notes.md").write_text("no run")
    return tmp_path


class Shuffled(InTurn):
    """Parts done last first, and their results in order: what many workers do at their worst."""

    def map(self, work, parts, name):
        done = {number: work(parts[number]) for number in reversed(range(len(parts)))}
        return iter([done[number] for number in range(len(parts))])


def names_of(runs):
    return [run.id for run in runs]


@pytest.mark.parametrize("workers", [InTurn(), Shuffled()])
@pytest.mark.parametrize("twice", [False, True])
def test_the_account_is_that_of_one_process(folder, workers, twice):
    paths = [folder, folder / "a.jsonl"] if twice else [folder]
    how = {"strict": False, "tool_kinds": ["find=read", "never=write"]}
    whole = iter_trajectories(*paths, **how)
    expected = names_of(whole)
    found = made_of_files(paths, names_of, workers, **how)
    assert list(found) == expected == [f"run-{number}" for number in range(6)]
    assert (found.files, found.warnings, found.refused) == (whole.files, whole.warnings, whole.refused)
    assert {Path(file.path).name for file in found.refused} == {"c.jsonl", "notes.json"}
    rules = {warning.rule for warning in found.warnings}
    assert rules >= {"identical content, counted once", "a tool result without its call", "passed over"}


def test_work_is_done_once_for_a_run_and_not_for_a_broken_file(folder):
    seen = []
    list(made_of_files([folder], lambda runs: [seen.append(run.id) for run in runs] and runs, InTurn(), strict=False))
    assert sorted(seen) == sorted(["run-0", "run-3", *(f"run-{number}" for number in range(6) if number != 3)])


def test_one_id_with_two_contents_is_refused_as_in_one_process(folder):
    write_trajectories(folder / "e.jsonl", [run_of("run-1", task="another")])
    errors = []
    for stream in (
        iter_trajectories(folder / "*[ade].jsonl"),
        made_of_files([folder / "*[ade].jsonl"], list, InTurn()),
    ):
        with pytest.raises(InputError, match="id is that of another trajectory") as caught:
            list(stream)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


class OneLost(InTurn):
    """Workers of whom one part gets nothing, which is said when the others are done."""

    def map(self, work, parts, name):
        yield from (work(part) for part in parts if name(part)[-7:] != "a.jsonl")
        raise InputError("--cluster", "1 of 5 parts failed 3 times: a.jsonl")


def test_a_file_that_no_worker_could_read_stops_nothing_but_is_an_error_at_the_end(folder):
    made = []
    with pytest.raises(InputError, match=r"failed 3 times: a\.jsonl"):
        made.extend(made_of_files([folder], names_of, OneLost(), strict=False))
    assert made == ["run-0", "run-3", "run-4", "run-5"]


@pytest.mark.parametrize("size", [1, 700, 2000])
@pytest.mark.parametrize("workers", [InTurn(), Shuffled()])
def test_a_file_in_spans_has_the_account_of_the_whole(tmp_path, monkeypatch, size, workers):
    """Copies, blank, broken and odd lines among its runs, at and beside every cut, and none at its end."""
    lines = [run_of(f"run-{number}", odd=number % 5 == 0).model_dump_json() for number in range(24)]
    lines[4:4] = ["", lines[1], "{broken"]
    lines[11:11] = ["[1, 2", "", lines[20]]
    lines += ["{broken", run_of("last").model_dump_json()]
    (tmp_path / "large.jsonl").write_text("\n".join(lines))
    write_trajectories(tmp_path / "other.jsonl", [run_of("run-3"), run_of("more")])
    monkeypatch.setattr("axisjudge.readers.by_file.spans_of", partial(spans_of, size=size))
    spans = [span for span in spans_of(tmp_path / "large.jsonl", size) if span]
    content = (tmp_path / "large.jsonl").read_bytes()
    assert len(spans) > 3
    assert b"".join(content[start:end] for start, end, _ in spans) == content
    whole = iter_trajectories(tmp_path, strict=False)
    expected = names_of(whole)
    found = made_of_files([tmp_path], names_of, workers, strict=False)
    assert list(found) == expected
    assert (found.files, found.warnings, found.refused) == (whole.files, whole.warnings, whole.refused)


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize("key", ["messages", "conversation"])
def test_chats_a_run_a_line_are_read_in_spans(tmp_path, monkeypatch, key):
    """Whatever the key of the messages; a line that is not JSON keeps its number."""
    chats = [
        [{"role": "user", "content": f"Hello {number}"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
        for number in range(30)
    ]
    lines = [json.dumps({key: chat}) for chat in chats]
    lines[9:9] = [lines[2], "{broken"]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr("axisjudge.readers.by_file.spans_of", partial(spans_of, size=700))
    assert len(spans_of(tmp_path / "chats.jsonl", 700)) > 3
    whole = iter_trajectories(tmp_path)
    expected = names_of(whole)
    found = made_of_files([tmp_path], names_of, Shuffled())
    assert list(found) == expected
    assert len(expected) == 30
    assert (found.files, found.warnings) == (whole.files, whole.warnings)


def test_one_message_a_line_is_one_part(tmp_path):
    messages = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}] * 30
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, messages)))
    assert spans_of(tmp_path / "chat.jsonl", 100) == [None]


def test_a_broken_run_refuses_a_file_in_spans_whole(tmp_path, monkeypatch):
    lines = [run_of(f"run-{number}").model_dump_json() for number in range(24)]
    lines[17] = '{"id": "x", "source": "mine", "steps": [{"index": 5, "role": "user"}]}'
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    write_trajectories(tmp_path / "b.jsonl", [run_of("run-3"), run_of("more")])
    monkeypatch.setattr("axisjudge.readers.by_file.spans_of", partial(spans_of, size=700))
    whole = iter_trajectories(tmp_path, strict=False)
    expected = names_of(whole)
    found = made_of_files([tmp_path], names_of, Shuffled(), strict=False)
    assert list(found) == expected == ["run-3", "more"]
    assert (found.files, found.warnings, found.refused) == (whole.files, whole.warnings, whole.refused)
    with pytest.raises(InputError) as alone:
        list(iter_trajectories(tmp_path))
    with pytest.raises(InputError) as apart:
        list(made_of_files([tmp_path], names_of, Shuffled()))
    assert str(alone.value) == str(apart.value)


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x1f\x8b" + b"x\n" * 99, b"[\n" + b"1,\n" * 99 + b"1]", b'{"a": 1}\n' * 99]
)
def test_what_is_not_ours_is_one_part(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert spans_of(tmp_path / "x", 1) == [None]


def test_an_array_is_read_part_by_part_as_whole(tmp_path, monkeypatch):
    """Whatever stands between its members, and in their text."""
    chats = [{"id": f"r{n}", "messages": [{"role": "user", "content": f'"}}],[é{n}\\'}]} for n in range(40)]
    file = tmp_path / "chats.json"
    file.write_text(
        "\n[ " + " ,\n".join(json.dumps(chat, ensure_ascii=n % 2 == 0) for n, chat in enumerate(chats)) + "]\n"
    )
    whole = iter_trajectories(file)
    expected = list(whole)
    spans = array_spans(file, 300)
    assert len(spans) > 5
    assert b"".join(file.read_bytes()[span.start : span.end] for span in spans).count(b'"id"') == 40
    monkeypatch.setattr("axisjudge.readers.reading.LARGE", 10)
    monkeypatch.setattr("axisjudge.readers.reading.array_spans", partial(array_spans, size=300))
    apart = iter_trajectories(file)
    assert list(apart) == expected
    assert (apart.files, apart.warnings) == (whole.files, whole.warnings)
    monkeypatch.undo()
    monkeypatch.setattr("axisjudge.readers.by_file.spans_of", partial(spans_of, size=300))
    assert list(made_of_files([file], names_of, Shuffled())) == names_of(expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n7", "n\\ud83d"),
        ("n7", "n\t"),
        ("n7", "n\xff"),
        ("}, {", "} {"),
        ("}, {", "},, {"),
        ("]}]", "]},]"),
        (", {", ",\xa0{"),
        ('"n7"', "[" * 5000 + "]" * 5000),
        ("]}]", "]}"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_large_array_with_something_amiss_is_mended_or_refused_as_a_small_one(
    tmp_path, monkeypatch, old, new, strict
):
    chats = [{"id": f"r{n}", "messages": [{"role": "user", "content": f"n{n}"}]} for n in range(9)]
    file = tmp_path / "chats.json"
    file.write_bytes(json.dumps(chats).replace(old, new).encode("latin-1"))

    def told():
        try:
            return list(stream := iter_trajectories(file, strict=strict)), stream.warnings, stream.refused
        except InputError as error:
            return str(error)

    whole = told()
    monkeypatch.setattr("axisjudge.readers.reading.LARGE", 10)
    monkeypatch.setattr("axisjudge.readers.reading.array_spans", partial(array_spans, size=60))
    assert told() == whole
    assert whole[0] if new == "n\\ud83d" else isinstance(whole, str)


@pytest.mark.parametrize(
    "content", ['[{"id": "a"}', '[{"id": "a"}] x', "[1, 2]", '[{"messages": []}, 3]', "[]", '{"id": 1}', "["]
)
def test_what_is_no_array_of_runs_is_not_cut(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    assert array_spans(tmp_path / "a.json", 1) == []
