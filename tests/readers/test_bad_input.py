"""What can be wrong with a file: an error that says file, position, rule and cure, or a warning; never a crash."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, results, simulation, tau_bench_run, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories, write_trajectories


def refused(*paths: Path | str, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_trajectories(*paths, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_cut_off_file(tmp_path: Path) -> None:
    whole = json.dumps(results(simulation()), indent=1)
    file = tmp_path / "results.json"
    file.write_text(whole[: len(whole) // 2])
    error = refused(file)
    assert "results.json, line " in error.where
    assert error.rule == "the file is cut off in the middle of its JSON"
    assert error.cure
    file.write_text(json.dumps(results(simulation()))[:-20])
    assert refused(file).rule == "the file is cut off in the middle of its JSON"


def test_a_cut_off_file_in_a_folder_is_an_error_too(tmp_path: Path) -> None:
    """Passing it over would lose all its runs."""
    write(tmp_path / "good.json", [tau_bench_run()])
    (tmp_path / "bad.json").write_text(json.dumps([tau_bench_run()])[:-9])
    assert "bad.json" in refused(tmp_path).where


def test_a_cut_off_gzip_file(tmp_path: Path) -> None:
    file = tmp_path / "chat.json.gz"
    file.write_bytes(gzip.compress(json.dumps(chat()).encode())[:-12])
    error = refused(file)
    assert error.where == str(file)
    assert "is a broken gzip file" in error.rule


def test_a_wrong_comma_is_named_by_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text('[\n {"role": "user",, "content": ""}\n]')
    assert refused(file).where == f"{file}, line 2, column 18"


@pytest.mark.parametrize("indent", [None, 1])
def test_invalid_utf8_is_named_by_line_and_byte(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "chat.json"
    content = json.dumps(chat(), indent=indent).encode().replace(b"In hall 7.", b"In h\xe4ll 7.")
    file.write_bytes(content)
    error = refused(file)
    line = content[: content.index(b"\xe4")].count(b"\n") + 1
    assert error.where.startswith(f"{file}, line {line}, byte ")
    assert (error.rule, error.cure) == ("must be UTF-8", "save the file as UTF-8")


def test_utf16_is_named(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat()), encoding="utf-16")
    assert "this is UTF-16" in refused(file).rule


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"# Notes\n", "is not JSON"),
        (b"\x89PNG\r\n", "is not JSON"),
        (b"[]", "is of no known format"),
        (b"17", "is of no known format"),
        (b'{"results": [1, 2]}', "is of no known format"),
        (b'[{"trajectory_id": 2, "failures": []}]', "is of no known format"),
        (b"[section]\nkey = 1\n", "is not JSON"),
    ],
)
def test_unknown_formats_are_errors_and_text_beside_others_is_passed_over(
    tmp_path: Path, content: bytes, rule: str
) -> None:
    file = tmp_path / "unknown"
    file.write_bytes(content)
    assert refused(file).rule == rule
    write(tmp_path / "known.json", chat())
    reading = read_trajectories(tmp_path, strict=False)
    assert len(reading.trajectories) == 1
    if "no known format" in rule:
        assert [one.path for one in reading.refused] == [str(file)]
        return
    assert not reading.refused
    assert [(w.file, w.rule) for w in reading.warnings] == [(str(file), "passed over")]
    assert reading.warnings[0].detail.startswith(rule)


def test_a_later_line_of_unknown_format_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_text(json.dumps({"messages": chat()}) + '\n{"mesages": []}\n')
    assert refused(file).where == f"{file}, line 2"


def test_no_such_file_and_nothing_given() -> None:
    assert "no such file or folder" in refused("no/such/file.json").rule
    assert "at least one" in refused().rule


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda v: v["simulations"][0].pop("id"), "simulations[0].id"),
        (lambda v: v["simulations"][0]["messages"].insert(2, "text"), "simulations[0].messages[2]"),
        (lambda v: v["simulations"][0].update(messages={}), "simulations[0].messages"),
        (lambda v: v["simulations"][0].update(messages="none"), "simulations[0].messages"),
        (lambda v: v["simulations"][0]["messages"][3].update(role="narrator"), "simulations[0].messages[3].role"),
        (lambda v: v["simulations"][0]["messages"][3].update(content=7), "simulations[0].messages[3].content"),
        (lambda v: v["simulations"][0]["messages"][3].update(timestamp=[7]), "simulations[0].messages[3].timestamp"),
        (lambda v: v["simulations"][0]["reward_info"].update(reward="high"), "simulations[0].reward_info.reward"),
        (
            lambda v: v["simulations"][0]["messages"][4]["tool_calls"][1].pop("name"),
            "simulations[0].messages[4].tool_calls[1].name",
        ),
        (
            lambda v: v["simulations"][0]["messages"][4]["tool_calls"][0].update(requestor="nobody"),
            "simulations[0].messages[4].tool_calls[0].requestor",
        ),
        (lambda v: v["info"].update(agent_info=[]), "info.agent_info"),
        (lambda v: v["info"]["environment_info"].update(tool_defs=7), "info.environment_info.tool_defs"),
    ],
)
def test_wrong_shapes_are_named_by_their_json_path(tmp_path: Path, spoil: Any, where: str) -> None:
    value = results(simulation())
    spoil(value)
    file = write(tmp_path / "r.json", value)
    error = refused(file)
    assert error.where == f"{file}, {where}"
    assert error.found is not None


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_must_be_finite(tmp_path: Path, reward: float) -> None:
    error = refused(write(tmp_path / "r.json", [tau_bench_run(reward=reward)]))
    assert error.where.endswith("r.json, [0].reward")


def test_identical_content_counts_once(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", [tau_bench_run(1), tau_bench_run(2)])
    second = write(tmp_path / "b.json", [tau_bench_run(2)])
    reading = read_trajectories(first, second)
    assert [run.task_id for run in reading.trajectories] == ["1", "2"]
    (warning,) = reading.warnings
    assert (warning.file, warning.position, warning.rule) == (str(second), "[0]", "identical content, counted once")
    assert str(first) in warning.detail
    assert reading.summary().warnings == {"identical content, counted once": 1}


@pytest.mark.parametrize("other", [{"reward_info": {"reward": 1.0}}, {"messages": []}, {"task_id": "x"}])
def test_two_different_trajectories_of_one_id(tmp_path: Path, other: dict[str, Any]) -> None:
    """Either order of reading would give the id, and with it the ratings, to another run: so it is refused."""
    first = write(tmp_path / "a.json", results(simulation(0)))
    second = write(tmp_path / "b.json", results(simulation(0, **other)))
    error = refused(first, second)
    assert error.where == f"{second}, simulations[0]"
    assert str(first) in error.rule
    assert error.found == "sim-0"


def test_orphan_tool_results_are_kept_and_listed(tmp_path: Path) -> None:
    messages = chat()
    messages[2]["tool_call_id"] = "c9"
    reading = read_trajectories(write(tmp_path / "chat.json", messages))
    assert reading.trajectories[0].steps[2].content == "hall 7"
    (warning,) = reading.warnings
    assert (warning.position, warning.rule, warning.detail) == ("step 2", "a tool result without its call", "c9")


@pytest.mark.parametrize(
    ("arguments", "kept", "reason"),
    [
        ('{"parcel_id": "P-11"', '{"parcel_id": "P-11"', "not valid JSON"),
        ('["P-11"]', '["P-11"]', "a list, not an object"),
        ("P-11", "P-11", "not valid JSON"),
        ('{"weight": NaN}', '{"weight": NaN}', "not valid JSON"),
        (11, "11", "a number, not an object"),
    ],
)
def test_arguments_that_are_no_json_object_stay_as_they_are(
    tmp_path: Path, arguments: Any, kept: str, reason: str
) -> None:
    messages = chat()
    messages[1]["tool_calls"][0]["function"]["arguments"] = arguments
    reading = read_trajectories(write(tmp_path / "chat.json", messages))
    call = reading.trajectories[0].steps[1].tool_calls[0]
    assert call.arguments == kept
    assert (call.arguments_error or "").startswith(reason)
    assert [warning.rule for warning in reading.warnings] == ["arguments are not a JSON object"]


@pytest.mark.parametrize("arguments", ["", " ", None, "{}", {}])
def test_no_arguments(tmp_path: Path, arguments: Any) -> None:
    messages = chat()
    messages[1]["tool_calls"][0]["function"]["arguments"] = arguments
    reading = read_trajectories(write(tmp_path / "chat.json", messages))
    call = reading.trajectories[0].steps[1].tool_calls[0]
    assert (call.arguments, call.arguments_error, reading.warnings) == ({}, None, ())


def test_our_own_lines_of_another_version(tmp_path: Path) -> None:
    file = tmp_path / "ours.jsonl"
    (run,) = read_trajectories(write(tmp_path / "chat.json", chat())).trajectories
    write_trajectories(file, [run])
    line = json.loads(file.read_text())
    file.write_text(json.dumps(line | {"mood": "good"}))
    assert refused(file).where == f"{file}, mood"
    line["steps"][1]["index"] = 5
    file.write_text(json.dumps(line))
    assert refused(file).where == f"{file}, steps[1].index"


def test_deep_nesting_is_an_error_and_no_crash(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text('{"messages": ' + "[" * 100_000)
    assert "is not valid JSON" in refused(file).rule


def test_a_line_of_many_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    long = {"messages": [{"role": "user", "content": "a" * 8_000_000}]}
    file.write_text(json.dumps(long) + "\n" + json.dumps({"messages": chat()}) + "\n")
    first, second = read_trajectories(file).trajectories
    assert (len(first.steps[0].content), len(second.steps)) == (8_000_000, 4)


@pytest.mark.slow
def test_a_line_of_two_hundred_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    with file.open("wb") as stream:
        stream.write(b'{"messages": [{"role": "user", "content": "')
        for _ in range(200):
            stream.write(b"a" * 1_000_000)
        stream.write(b'"}]}\n' + json.dumps({"messages": chat()}).encode() + b"\n")
    first, second = read_trajectories(file).trajectories
    assert (len(first.steps[0].content), len(second.steps)) == (200_000_000, 4)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.one_of(st.none(), st.integers(0, 2), st.text(max_size=2), st.just({})), max_size=2),
    st.dictionaries(st.sampled_from(["id", "role", "type", "function", "name"]), st.text(max_size=2), max_size=2),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, member in members:
        found += [(value, key), *places(member)]
    return found


SAMPLES = {
    "tau_bench": lambda: [tau_bench_run(1), tau_bench_run(2)],
    "tau2": lambda: results(simulation(0), simulation(1)),
    "simulation": simulation,
    "chat": chat,
    "records": lambda: [{"id": "a", "messages": chat(), "metadata": {"reward": 1}, "tools": [{"name": "t"}]}],
    "inspect": lambda: {
        "eval": {"task": "parcels", "model": "mockllm/model"},
        "status": "success",
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "attachment://a"}]},
                    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "f", "arguments": {}}]},
                    {"role": "tool", "content": "", "tool_call_id": "1", "error": {"type": "t", "message": "m"}},
                ],
                "scores": {"includes": {"value": "C"}},
                "output": {"choices": [{"stop_reason": "stop"}]},
                "limit": {"type": "message"},
                "attachments": {"a": "Where?"},
                "events": [{"event": "model", "tools": [{"name": "f", "parameters": {"type": "object"}}]}],
            }
        ],
    },
    "own": lambda: {
        "id": "a",
        "source": "tau2",
        "steps": [{"index": 0, "role": "user", "content": "", "tool_calls": [{"name": "f", "arguments": {}}]}],
        "meta": {"trial": 0},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.data())
def test_whatever_stands_anywhere_is_read_or_refused(tmp_path: Path, sample: str, choice: st.DataObject) -> None:
    """One or two members of a sound file are replaced by something else, or removed: no other error than InputError."""
    value = {"root": SAMPLES[sample]()}
    for _ in range(choice.draw(st.integers(1, 2))):
        container, key = choice.draw(st.sampled_from(places(value)))
        if isinstance(container, dict) and choice.draw(st.booleans()):
            del container[key]
        else:
            container[key] = choice.draw(VALUES)
        if not places(value):
            break
    try:
        read_trajectories(write(tmp_path / "spoilt.json", value.get("root")))
    except InputError as error:
        told = str(error)
    else:
        told = "spoilt.json is read"
    assert "spoilt.json" in told


def test_a_linked_folder_is_read_and_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "runs.json", [tau_bench_run()])
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    reading = read_trajectories(folder)
    assert [Path(file.path).name for file in reading.files] == ["runs.json"]
    assert len(reading.trajectories) == 1


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    assert str(refused(tmp_path)).startswith(f"{tmp_path}: holds no file; known are")
    (tmp_path / "notes.txt").write_text("words")
    assert str(refused(tmp_path)).startswith(f"{tmp_path}: none of the 1 files there holds trajectories")


@pytest.mark.parametrize(("field", "value"), [("reward", "NaN"), ("reward", "1e999"), ("id", '""')])
def test_our_own_lines_need_an_id_and_a_finite_reward(tmp_path: Path, field: str, value: str) -> None:
    """A reward that is no number would make the mean of all the others none."""
    fields = {"id": '"a"', "source": '"own"', "steps": "[]", field: value}
    file = tmp_path / "own.jsonl"
    file.write_text("{" + ", ".join(f'"{key}": {text}' for key, text in fields.items()) + "}")
    assert refused(file).where == f"{file}, {field}"


def test_a_tool_result_before_any_call_is_an_orphan_without_an_id_too(tmp_path: Path) -> None:
    reading = read_trajectories(write(tmp_path / "chat.json", [chat()[0], {"role": "tool", "content": "hall 7"}]))
    assert [(warning.rule, warning.detail) for warning in reading.warnings] == [
        ("a tool result without its call", "no id")
    ]


def test_a_file_name_with_a_line_end_makes_one_line(tmp_path: Path) -> None:
    (tmp_path / "two\nlines.json").write_text("{")
    refused(tmp_path / "two\nlines.json")
