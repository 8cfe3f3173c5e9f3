"""The walk from the split to the held-out report, each value typed once; what would spoil it is named in time."""

import json
import re
import shlex
import shutil
import sys

import pytest

import axisjudge
from axisjudge import cli, protocol, workbench
from axisjudge.checks import InputError
from axisjudge.protocol import AnalysisPlan
from axisjudge.protocol.split import balanced_salt, lopsided, off_shares
from axisjudge.ratings import read_ratings
from axisjudge.rubric import list_rubrics

AXIS = "termination"
PLAN = AnalysisPlan(axes=(AXIS,))


@pytest.fixture
def command(bench, runs, monkeypatch, capsys):
    """Run a command in the workbench of the test: (exit code, what it printed, what it complained of)."""
    (bench / "runs.jsonl").write_text("".join(run.model_dump_json() + "\n" for run in runs))
    monkeypatch.chdir(bench)

    def run(line: str, *more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["axisjudge", *line.split(), *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


def walk(command, *, report=""):
    """The five commands; every value stands in one of them."""
    assert command("split make data/demo/results")[0] == 0
    assert command(f"judge --split calibration --judge simulated:wren --judge simulated:heron --axis {AXIS}")[0] == 0
    assert command(f"rubric lock --axis {AXIS}")[0] == 0
    assert command("holdout open --reason", "the rubric is final")[0] == 0
    return command("holdout run --report", report)


def test_five_commands_from_the_split_to_confirmatory_ratings(command, bench):
    code, out, _ = walk(command)
    assert code == 0
    assert "made when they were opened, once" in out
    assert "EXPLORATORY:" not in out
    split, table = protocol.read_split(), read_ratings(bench / "data" / "ratings" / "opening-1.jsonl")
    assert set(table["rater"]) == {"simulated:wren", "simulated:heron"} == set(protocol.read_lock()["judges"])
    assert set(table["question"]) == {AXIS}
    assert set(table["cluster_id"]) == set(split.held_out_tasks)
    assert protocol.standing_of(table).confirmatory
    again = json.loads(command("holdout run --json --report", "")[1])  # resumes: nothing is asked twice
    assert read_ratings(bench / "data" / "ratings" / "opening-1.jsonl").height == table.height
    assert sum(row["n"] for row in again["ratings"]) == table.height
    assert (
        command("holdout open --reason again")[0] == 0
    )  # what an opening stamped does not stand in the next one's way
    assert command("holdout run --report", "")[0] == 0
    assert (bench / "data" / "ratings" / "opening-2.jsonl").exists()


@pytest.mark.slow
def test_the_fifth_command_writes_the_report(command, bench):
    shutil.rmtree(bench / "notebooks")
    shutil.copytree(workbench.shipped() / "notebooks", bench / "notebooks")
    code, out, _ = walk(command, report="02_agreement")
    assert code == 0
    results = json.loads((bench / "reports" / "02_agreement" / "results.json").read_text())
    assert results["standing"]["opening"] == 1
    assert not results["standing"]["exploratory"]
    assert "report.html" in out


@pytest.mark.slow
def test_the_loop_prints_what_its_page_says(tmp_path, monkeypatch, capsys):
    text = (workbench.home() / "axisjudge" / "docs" / "tuning.md").read_text(encoding="utf-8")
    quoted = text.partition("$ axisjudge split make")[2].partition("```")[0]
    commands = re.split(r"\n\$ axisjudge ", f"split make{quoted}")
    assert len(commands) == 8
    folder = tmp_path / "bench"
    monkeypatch.delenv("AXISJUDGE_HOME", raising=False)

    def printed(*words):
        monkeypatch.setattr(sys, "argv", ["axisjudge", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        return " ".join(capsys.readouterr().out.split())

    printed("init", str(folder), "--demo")
    monkeypatch.chdir(folder)
    for command in commands:
        words, _, shown = command.partition("\n")
        if words.startswith("rubric lint"):
            new = folder / "rubrics" / AXIS / "v3.md"
            edited = re.sub(r"(?m)^changes: .*", "changes: A goodbye is no new work.", new.read_text())
            new.write_text(f"{edited}\nA goodbye is no new work.\n")
        out = printed(*shlex.split(words)).replace(f"{folder}/", "")
        for part in re.split(r"(?m)^  \.\.\.$", shown):
            assert " ".join(part.split()) in out, (words, part)


def test_before_its_turn_each_command_says_what_comes_first(command):
    for line, first in (
        ("judge --split calibration", "axisjudge split make"),
        ("holdout run", "axisjudge split make"),
    ):
        code, _, err = command(line)
        assert (code, err.count("\n")) == (2, 1)
        assert first in err
    command("split make runs.jsonl")
    assert "axisjudge judge --split calibration --judge SPEC" in command(f"rubric lock --axis {AXIS}")[2]
    assert "axisjudge rubric lock" in command("holdout run")[2]
    command("rubric lock --judge rules")
    assert "axisjudge holdout open" in command("holdout run")[2]


@pytest.mark.slow
def test_ratings_of_runs_about_to_be_held_out_are_named_before_the_opening_is_spent(command, bench, runs):
    assert command(f"judge runs.jsonl --axis {AXIS} --limit 6")[0] == 0  # before there was a split
    rated = {run.cluster_id for run in runs[:6]}
    code, out, _ = command("split make runs.jsonl --salt s")
    early = rated & set(protocol.read_split().held_out_tasks)
    assert code == 0
    assert early
    said = f"ratings of {sum(run.cluster_id in early for run in runs[:6])} runs of {len(early)} held-out task"
    assert said in out
    assert "--rated-open" in out
    assert said in command("rubric lock --judge rules")[1]
    code, _, err = command("holdout open --reason x")
    assert (code, err.count("\n")) == (2, 1)
    assert said in err
    assert "--rated-open" in err
    assert "rules" in err
    assert [entry.kind for entry in protocol.read_ledger()] == ["lock"]  # nothing was spent
    assert command("split make runs.jsonl --rated-open")[0] == 0  # the cure
    assert not rated & set(protocol.read_split().held_out_tasks)
    command("rubric lock --judge rules")
    assert command("holdout open --reason x")[0] == 0


def test_an_opening_despite_ratings_is_on_record(command):
    command(f"judge runs.jsonl --axis {AXIS}")
    command("split make runs.jsonl --salt s")
    command("rubric lock --judge rules")
    assert command("holdout open --despite-ratings --reason x")[0] == 0
    entry = protocol.read_ledger()[-1]
    assert (entry.kind, entry.opening) == ("opening", 1)
    assert entry.reason.startswith("x (although ")


def test_where_every_task_was_rated_nothing_is_left_to_hold_out(command, bench):
    command(f"judge runs.jsonl --axis {AXIS}")
    code, _, err = command("split make runs.jsonl --rated-open")
    assert (code, err.count("\n")) == (2, 1)
    assert "none is left to hold out" in err
    assert not (bench / "rubrics" / "split.json").exists()


def test_labels_and_openings_are_no_early_ratings(split, runs):
    held = [run for run in runs if split.side_of(run) == "evaluation"]
    early = axisjudge.judge(held, ["rules"], [AXIS], exploratory=True, progress=False)
    found = protocol.rated_before(early, split)
    assert (found.n_ratings, found.n_runs, found.raters) == (len(held), len(held), ("rules",))
    assert set(found.tasks) == set(split.held_out_tasks)
    import polars as pl

    assert not protocol.rated_before(early.with_columns(rater_kind=pl.lit("human")), split)
    protocol.make_lock(["rules"], PLAN)
    with pytest.raises(InputError, match="are there already"):
        protocol.open_holdout("x", ratings=early)
    protocol.open_holdout("x")
    stamped = axisjudge.judge(runs, ["rules"], [AXIS], split="evaluation", progress=False)
    assert not protocol.rated_before(stamped, split)
    forged = stamped.with_columns(flags=pl.lit(["opening:7:0123456789ab"]))
    assert protocol.rated_before(forged, split)  # an opening that the ledger does not have


def test_a_salt_that_nobody_chose_balances_the_sides(bench, runs):
    shares = {"calibration": 0.5, "validation": 0.25, "evaluation": 0.25}
    split = protocol.make_split(runs, shares=shares, tuned_on={"library/0": "looked at"})
    free = 11
    for side, share in shares.items():
        n_tasks = len([task for task in split.tasks[side] if task != "library/0"])
        assert abs(n_tasks - share * free) <= 1
    assert split.lopsided == {}


@pytest.mark.parametrize("n_tasks", [5, 28, 115, 600])
def test_the_balance_of_drawn_salts(n_tasks):
    tasks, shares = [f"shop/{task}" for task in range(n_tasks)], {"calibration": 0.5, "evaluation": 0.5}

    def rule(salt):
        return protocol.Split(salt=salt, shares=shares, held_out=("evaluation",)).side_of

    off = off_shares(rule(balanced_salt(rule, tasks, shares)), tasks, shares)
    assert max(map(abs, off.values())) * n_tasks <= max(0.5, 0.02 * n_tasks)
    assert lopsided(off, n_tasks) == []


def test_a_side_is_lopsided_by_more_than_a_tenth_and_more_than_one_task():
    assert lopsided({"one task": 0.25, "two": 0.5}, n_tasks=4) == ["two"]
    assert lopsided({"a tenth": -0.1, "more": 0.11}, n_tasks=100) == ["more"]


def test_a_lopsided_split_is_named(command, bench, runs):
    shares = {"calibration": 0.5, "evaluation": 0.5}
    tasks = sorted({run.cluster_id for run in runs})
    salt = next(
        str(number)
        for number in range(1_000)
        if sum(
            protocol.Split(salt=str(number), shares=shares, held_out=("evaluation",)).side_of(t) == "evaluation"
            for t in tasks
        )
        == 3
    )
    out = command(f"split make runs.jsonl --salt {salt}")[1]
    assert "evaluation holds 3 of 12 tasks, 25%, where its share is 50%" in out
    assert json.loads(command("split show --json")[1])["lopsided"]["evaluation"] == [3, 12]


def test_a_held_out_run_is_called_held_out(split, runs):
    mine, _ = protocol.open_runs(runs)
    shut = next(run for run in runs if run not in mine)
    table = axisjudge.judge(mine, ["rules"], progress=False)
    for look in (
        lambda name: axisjudge.studies.trace(table, mine, name),
        lambda name: axisjudge.explore(table, mine, at=f"run={name}&axis={AXIS}"),
    ):
        with pytest.raises(InputError, match=r"this run is held out \(evaluation\).*holdout open"):
            look(shut.id)
    with pytest.raises(InputError, match="no such run among"):
        axisjudge.studies.trace(table, mine, "nobody")


def test_where_the_runs_are_is_told_once(command, bench, tmp_path, monkeypatch):
    (tmp_path / "tools.json").write_text('[{"name": "find", "parameters": {"type": "object"}}]')
    assert command(f"split make runs.jsonl --tools {tmp_path / 'tools.json'} --salt s")[0] == 0
    assert command("split make runs.jsonl --salt s")[0] == 0
    split = protocol.read_split()
    assert [source.paths for source in split.sources] == [("runs.jsonl",)] * 2
    assert not any(path.startswith("/") for source in split.sources for path in (*source.paths, source.tools or ""))
    monkeypatch.chdir(tmp_path)  # from elsewhere the same runs
    monkeypatch.setenv("AXISJUDGE_HOME", str(bench))
    assert len(protocol.read_sources(split.sources).trajectories) == 24
    assert "sources" not in split.rule
    assert "runs" not in split.rule


@pytest.mark.slow
def test_a_lock_goes_past_no_draft_of_its_axes_and_names_those_of_others(command):
    assert command("split make data/demo/results")[0] == 0
    assert command(f"rubric new {AXIS}")[0] == 0
    draft = list_rubrics(AXIS)[-1].version
    code, _, err = command(f"rubric lock --judge rules --axis {AXIS}")
    assert (code, f"axisjudge rubric promote {AXIS} {draft}" in err) == (2, True)
    code, out, _ = command("rubric lock --judge rules --axis sequencing")
    assert (code, f"though {draft} is a draft: {AXIS}" in out) == (0, True)
