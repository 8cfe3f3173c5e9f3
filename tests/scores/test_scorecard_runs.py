"""Runs as they come in: JSON lines, Parquet, tables, trajectories; what is refused, and with which words."""

import json
from datetime import datetime

import pandas as pd
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, demo_transcripts
from axisjudge.readers import read_trajectories
from axisjudge.scores.run_score.runs import Run, as_id, parse_run, read_runs, runs_frame, runs_of
from axisjudge.scores.run_score.score import score_runs
from axisjudge.trajectory import Step, Trajectory

GOOD = {"run_id": "run-1", "agent_id": "agent-a", "workspace_id": "space-1", "outcome": "COMPLETED"}


def lines(tmp_path, *records, name="runs.jsonl"):
    path = tmp_path / name
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


class TestJsonLines:
    def test_a_run_comes_back_as_it_was(self, tmp_path):
        full = GOOD | {"stages": [{"name": "lint", "attempts": 2, "passed": True}], "ended_at": "2026-11-01T12:00:00Z"}
        table = read_runs(lines(tmp_path, full))
        assert table.equals(runs_frame([Run.model_validate(full)]))
        assert table.row(0, named=True) | {"stages_executed": 1.0, "stages_passed_first": 0.0} == table.row(
            0, named=True
        )

    @pytest.mark.parametrize("field", ["run_id", "agent_id", "workspace_id", "spec_id"])
    @pytest.mark.parametrize("value", ["", "a b", "a/b", "a\n", "é", "a" * 65, "../etc", "a\x00"])
    def test_ids_that_break_the_rule(self, tmp_path, field, value):
        with pytest.raises(InputError, match=rf"runs.jsonl:2, {field}: is no run"):
            read_runs(lines(tmp_path, GOOD, GOOD | {"run_id": "run-2", field: value}))

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{", "is no run"),
            ("[]", "is no run"),
            (json.dumps(GOOD | {"wall_seconds": "3"}), "wall_seconds: is no run"),
            (json.dumps(GOOD | {"wall_seconds": True}), "wall_seconds: is no run"),
            (json.dumps(GOOD | {"wall_time": 3}), "wall_time: is no run"),
            (json.dumps(GOOD | {"stages": [{"attempts": 1.5, "passed": True}]}), "stages.0.attempts: is no run"),
            (json.dumps({key: GOOD[key] for key in ("run_id", "agent_id")}), "workspace_id: is no run"),
            (json.dumps(GOOD | {"wall_seconds": 0})[:-1] + ', "ended_at": 3}', "ended_at: is no run"),
        ],
    )
    def test_records_of_the_wrong_shape(self, tmp_path, line, said):
        with pytest.raises(InputError, match=said) as found:
            read_runs(lines(tmp_path, line))
        assert "\n" not in str(found.value)

    def test_not_a_number_is_read_and_then_neutral(self):
        run = parse_run(json.dumps(GOOD)[:-1] + ', "wall_seconds": NaN}', "here")
        assert score_runs(runs_frame([run]))["latency_reason"][0] == "wall_seconds is not a finite number"

    def test_identical_lines_count_once_and_say_so(self, tmp_path):
        with pytest.warns(UserWarning, match="1 identical records of runs counted once"):
            assert read_runs(lines(tmp_path, GOOD, GOOD)).height == 1

    def test_two_records_of_one_run_are_refused(self, tmp_path):
        with pytest.raises(InputError, match=r"one record for each run.*run-1.*differ"):
            read_runs(lines(tmp_path, GOOD, GOOD | {"outcome": "FAILED"}))

    def test_also_across_files(self, tmp_path):
        paths = [lines(tmp_path, GOOD | {"outcome": word}, name=f"{word}.jsonl") for word in ("FAILED", "BLOCKED")]
        with pytest.raises(InputError, match="one record for each run"):
            read_runs(*paths)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(InputError, match="no such file of runs"):
            read_runs(tmp_path / "none.jsonl")


class TestTables:
    def test_only_run_id_must_be_there(self):
        assert score_runs(pl.DataFrame({"run_id": ["a"]}))["tier"].to_list() == ["Unranked"]
        with pytest.raises(InputError, match="needs a column run_id"):
            score_runs(pl.DataFrame({"id": ["a"]}))

    def test_an_empty_table(self):
        assert score_runs(runs_frame([])).is_empty()

    @pytest.mark.parametrize("bad", [None, "a b", "a" * 65, "a\n"])
    def test_ids(self, bad):
        with pytest.raises(InputError, match="row 1, run_id"):
            score_runs(pl.DataFrame({"run_id": ["a", bad]}))

    @pytest.mark.parametrize(
        ("name", "bad"),
        [("artefact", "a\nb"), ("artefact", ""), ("outcome", "x" * 65), ("outcome_source", "guessed")],
    )
    def test_text_is_held_to_what_the_record_holds_it_to(self, name, bad):
        with pytest.raises(InputError, match=f"row 1, {name}"):
            score_runs(pl.DataFrame({"run_id": ["a", "b"], name: [None, bad]}))
        with pytest.raises(ValueError):
            Run.model_validate(GOOD | {name: bad})

    def test_columns_of_the_wrong_type(self):
        with pytest.raises(InputError, match="wall_seconds: must be a column of numbers"):
            score_runs(pl.DataFrame({"run_id": ["a"], "wall_seconds": ["3"]}))

    def test_unknown_columns_are_told(self):
        with pytest.warns(UserWarning, match="no column wall_time"):
            score_runs(pl.DataFrame({"run_id": ["a"], "wall_time": [3.0]}))

    def test_times_as_text_naive_aware_and_of_other_units_are_one_time(self):
        moment = datetime(2026, 11, 1, 12)
        aware = pl.Series(["2026-11-01T13:00:00+01:00"]).str.to_datetime(time_zone="Europe/Berlin")
        for given in (["2026-11-01T12:00:00"], [moment], pl.Series([moment]).cast(pl.Datetime("ns")), aware):
            ended = score_runs(pl.DataFrame({"run_id": ["a"], "ended_at": given}))["ended_at"]
            assert str(ended[0]) == "2026-11-01 12:00:00+00:00"

    def test_parquet(self, tmp_path):
        table = runs_frame([Run.model_validate(GOOD)])
        table.write_parquet(tmp_path / "runs.parquet")
        assert read_runs(tmp_path / "runs.parquet").equals(table)
        (tmp_path / "text.parquet").write_text("no")
        with pytest.raises(InputError, match="not a Parquet file"):
            read_runs(tmp_path / "text.parquet")


class TestTrajectories:
    def test_what_is_derived_and_what_is_not(self):
        steps = tuple(
            Step(index=k, role="assistant", timestamp=f"2026-11-01T12:00:0{second}") for k, second in enumerate((1, 4))
        )
        (run,) = runs_of(
            [
                Trajectory(
                    id="t/1", source="tau2", agent="org/model", task_id="7", domain="retail", reward=1.0, steps=steps
                )
            ]
        )
        assert run.run_id.startswith("t-1-")
        assert run.agent_id.startswith("org-model-")
        assert (run.workspace_id, run.spec_id, run.outcome, run.outcome_source) == (
            "retail",
            "7",
            "COMPLETED",
            "reward",
        )
        assert (run.wall_seconds, run.ended_at) == (3.0, "2026-11-01T12:00:04")
        assert (run.stages, run.memory_peak_bytes, run.cpu_wall_ms) == (None, None, None)

    @pytest.mark.parametrize(
        ("reward", "outcome"), [(1.0, "COMPLETED"), (0.0, "FAILED"), (0.4, "BLOCKED"), (None, None)]
    )
    def test_the_outcome_is_the_reward_in_other_words(self, reward, outcome):
        (run,) = runs_of([Trajectory(id="t", source="tau2", reward=reward)])
        assert (run.outcome, run.reward) == (outcome, reward)
        assert (run.wall_seconds, run.ended_at) == (None, None)

    @pytest.mark.parametrize(
        ("told", "outcome"),
        [
            ({"result": "done", "exitCode": 0}, "COMPLETED"),
            ({"result": None, "exitCode": 1}, "FAILED"),
            ({"result": None, "exitCode": 0, "error": "killed"}, "FAILED"),
        ],
    )
    def test_an_axis_report_says_how_the_process_ended(self, told, outcome):
        (run,) = runs_of([Trajectory(id="t", source="axis", meta={"axis_run": told})])
        assert (run.outcome, run.outcome_source, run.reward) == (outcome, "reported", None)

    def test_the_shipped_transcripts(self):
        runs = runs_of(read_trajectories(*demo_transcripts()).trajectories)
        assert {run.outcome for run in runs} <= {"COMPLETED", "FAILED"}
        cards = score_runs(runs_frame(runs))
        assert cards["completion"].is_in([0, 100]).all()
        assert all(run.wall_seconds and run.ended_at for run in runs)

    def test_other_names_get_other_ids(self):
        names = ["a b", "a/b", "a-b", "a" * 64, "a" * 65, "a" * 66, "", "-"]
        assert len({as_id(name) for name in names}) == len(names)
        assert all(len(as_id(name)) <= 64 for name in names)

    @pytest.mark.slow
    def test_the_demo(self):
        scored = score_runs(runs_frame(runs_of(read_trajectories(*demo_paths()).trajectories)))
        assert scored.height == 112
        assert scored["error_rate_reason"].unique().to_list() == ["no stages given"]
        assert scored["latency_reason"].null_count() >= 100

    @pytest.mark.slow
    def test_tau2_retail(self, shared_data):
        paths = sorted((shared_data / "tau2_retail").glob("*.json"))
        trajectories = read_trajectories(*paths).trajectories
        runs = runs_of(trajectories)
        empty = [run for run, source in zip(runs, trajectories, strict=True) if not source.steps]
        assert len(runs) == 456
        assert len(empty) == 7
        assert {(run.wall_seconds, run.ended_at, run.outcome) for run in empty} == {(None, None, "FAILED")}
        assert all(run.wall_seconds > 0 and run.ended_at for run in runs if run not in empty)


def test_pandas_through_polars():
    table = pd.DataFrame({"run_id": ["a", "b"], "wall_seconds": [1.0, float("nan")]})
    reasons = score_runs(pl.from_pandas(table))["latency_reason"].to_list()
    assert reasons == ["no workspace given", "wall_seconds not given"]
