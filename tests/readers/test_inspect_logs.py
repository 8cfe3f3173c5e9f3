"""Inspect logs: fixtures/parcels.eval was written by inspect-ai 0.3.285 itself (see make_inspect_log.py)."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest
import zipfile_zstd
from conversations import write

from axisjudge.readers import read_trajectories

PARCELS = Path(__file__).parent / "fixtures" / "parcels.eval"


def members() -> dict[str, bytes]:
    with zipfile_zstd.ZipFile(PARCELS) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile_zstd.ZipFile(path, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def test_a_zstd_log_as_inspect_writes_it_today() -> None:
    with zipfile.ZipFile(PARCELS) as archive:
        assert {member.compress_type for member in archive.infolist()} == {93}
    reading = read_trajectories(PARCELS)
    answered, limited = reading.trajectories
    assert (answered.agent, answered.domain, answered.task_id) == ("mockllm/model", "parcels", "parcel-1")
    assert (answered.reward, answered.termination) == (1.0, "stop")
    assert (limited.task_id, limited.reward, limited.termination) == ("2", 0.0, "message_limit")
    assert answered.meta == {"epoch": 1, "scores": {"includes": "C"}}
    roles = [step.role for step in answered.steps]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    failed, found = answered.steps[3], answered.steps[5]
    assert (failed.error, failed.content, failed.tool_name) == (True, "no parcel of that number", "find_parcel")
    assert (found.error, found.tool_call_id) == (False, answered.steps[4].tool_calls[0].id)
    assert found.content.startswith("parcel P-11 stands in hall 7; the label")
    assert reading.warnings == ()


def test_tools_come_with_their_attachments() -> None:
    (tool,) = read_trajectories(PARCELS).trajectories[0].tools or ()
    assert tool.description.startswith("Find a parcel in the warehouse by the number on its label")
    assert tool.parameters["required"] == ["parcel_id"]
    assert b"attachment://" in members()["samples/parcel-1_epoch_1.json"], "the log keeps the description apart"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_other_compressions_and_the_json_form_say_the_same(tmp_path: Path, method: int) -> None:
    expected = read_trajectories(PARCELS).trajectories
    contents = members()
    assert read_trajectories(packed(tmp_path / "log.eval", contents, method)).trajectories == expected
    log = json.loads(contents["header.json"])
    log["samples"] = [json.loads(content) for name, content in contents.items() if name.startswith("samples/")]
    assert read_trajectories(write(tmp_path / "log.json", log)).trajectories == expected
    wrapped = tmp_path / "log.eval.gz"
    wrapped.write_bytes(gzip.compress(PARCELS.read_bytes()))
    assert read_trajectories(wrapped).trajectories == expected


def test_attachments_in_messages_are_resolved(tmp_path: Path) -> None:
    contents = members()
    sample = json.loads(contents["samples/2_epoch_1.json"])
    sample["attachments"]["0123"] = "Where is P-12, please?"
    sample["messages"][1]["content"] = [{"type": "text", "text": "attachment://0123"}]
    contents["samples/2_epoch_1.json"] = json.dumps(sample).encode()
    run = read_trajectories(packed(tmp_path / "log.eval", contents)).trajectories[1]
    assert run.steps[1].content == "Where is P-12, please?"


def test_a_log_that_was_never_finished(tmp_path: Path) -> None:
    contents = members()
    del contents["header.json"], contents["samples/2_epoch_1.json"]
    reading = read_trajectories(packed(tmp_path / "log.eval", contents))
    assert [run.task_id for run in reading.trajectories] == ["parcel-1"]
    assert [warning.rule for warning in reading.warnings] == ["the log was never finished"]


def test_errors_reasoning_and_several_scores(tmp_path: Path) -> None:
    contents = members()
    sample = json.loads(contents["samples/parcel-1_epoch_1.json"])
    sample["error"] = {"message": "out of memory", "traceback": "", "traceback_ansi": ""}
    sample["scores"] = {"includes": {"value": "C"}, "tone": {"value": 0.5}}
    sample["messages"][-1]["content"] = [
        {"type": "reasoning", "reasoning": "The hall is 7."},
        {"type": "text", "text": "Hall 7."},
    ]
    sample["messages"][2]["tool_calls"][0] |= {"arguments": {}, "parse_error": "no closing brace"}
    contents["samples/parcel-1_epoch_1.json"] = json.dumps(sample).encode()
    reading = read_trajectories(packed(tmp_path / "log.eval", contents))
    run = reading.trajectories[0]
    assert (run.termination, run.reward, run.meta["scores"]) == ("error", None, {"includes": "C", "tone": 0.5})
    assert run.steps[-1].content == "Hall 7."
    assert run.steps[2].tool_calls[0].arguments_error == "no closing brace"
    assert {warning.rule for warning in reading.warnings} == {
        "reasoning is left out",
        "arguments are not a JSON object",
    }


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda c: c.pop("header.json") and c.pop("_journal/start.json"), "is a zip archive without an Inspect header"),
        (lambda c: c.update({"header.json": b"{}"}), "header.json: must name the task and the model"),
        (lambda c: c.update({"samples/2_epoch_1.json": b'{"id": 2,'}), "samples/2_epoch_1.json: is not valid JSON"),
    ],
)
def test_a_spoilt_archive(tmp_path: Path, spoil, message: str) -> None:
    contents = members()
    spoil(contents)
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        read_trajectories(packed(tmp_path / "log.eval", contents))


@pytest.mark.parametrize("kept", [40, 3000, 12000])
def test_a_cut_archive(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "cut.eval"
    file.write_bytes(PARCELS.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"cut\.eval: is a broken zip archive"):
        read_trajectories(file)


@pytest.mark.parametrize("offset", [60, 200, 800, 1500])
def test_a_damaged_member(tmp_path: Path, offset: int) -> None:
    """A wrong byte inside a compressed sample: the zstd decoder or the archive's checksum notices."""
    whole = bytearray(PARCELS.read_bytes())
    with zipfile.ZipFile(PARCELS) as archive:
        start = archive.getinfo("samples/2_epoch_1.json").header_offset
    whole[start + offset] ^= 0xFF
    file = tmp_path / "damaged.eval"
    file.write_bytes(whole)
    with pytest.raises(ValueError, match="is a broken zip archive"):
        read_trajectories(file)


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"NaN"', "null", "{}", "[1]"])
def test_a_sample_left_unscored_has_no_reward_and_is_read(tmp_path: Path, value: str) -> None:
    contents = members()
    sample = json.loads(contents["samples/parcel-1_epoch_1.json"]) | {"scores": {"match": {"value": "VALUE"}}}
    contents["samples/parcel-1_epoch_1.json"] = json.dumps(sample).replace('"VALUE"', value).encode()
    assert [run.reward for run in read_trajectories(packed(tmp_path / "log.eval", contents))] == [None, 0.0]
