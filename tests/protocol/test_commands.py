"""The protocol as a user runs it: the loop, the exit codes, one line of error."""

import json
import re
import subprocess
import sys

import polars as pl
import pytest
from protocol.places import current_path

from axisjudge import cli
from axisjudge.ratings import read_ratings, write_ratings
from axisjudge.rubric import list_rubrics
from axisjudge.workbench import home


@pytest.fixture
def command(bench, runs, monkeypatch, capsys):
    """Run a command in the workbench of the test: (exit code, what it printed, what it complained of)."""
    results = bench / "runs.jsonl"
    results.write_text("".join(run.model_dump_json() + "\n" for run in runs))

    def run(line: str, *more: str) -> tuple[int, str, str]:
        words = [results.as_posix() if word == "RUNS" else word for word in line.split()]
        monkeypatch.setattr(sys, "argv", ["axisjudge", *words, *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


def test_the_loop(command, bench):
    code, out, _ = command("split make RUNS --salt s --tuned-on", "library/0=the rubric was tuned on it")
    assert code == 0
    assert "Used while tuning, so never held out: task library/0 (the rubric was tuned on it)" in out

    code, _, err = command("judge RUNS")
    assert (code, err.count("\n")) == (2, 1)
    assert "are held out (evaluation)" in err
    assert command("judge RUNS --split calibration --axis termination")[0] == 0
    code, _, err = command("judge RUNS --split evaluation")
    assert code == 2
    assert err.endswith("nothing is locked; lock first: axisjudge rubric lock\n")
    assert command("holdout open --reason early")[0] == 2
    assert command("rubric status") == (1, "nothing is locked\n", "")

    ratings = str(bench / "data" / "ratings" / "ratings.jsonl")
    code, out, _ = command("rubric lock --judge rules --axis termination --margin 0.1 --ratings", ratings)
    assert code == 0
    assert "Declared before opening: cohen_kappa on termination, uncertain verdicts left out, unweighted" in out
    assert "differences up to 0.1 counted as none" in out
    assert "Confidence maps: rules (mid_rank, " in out
    assert command("rubric status") == (0, "The lock holds: nothing has changed since.\n", "")
    code, _, err = command("judge RUNS --split evaluation")
    assert (code, err) == (
        2,
        "axisjudge: --split evaluation: the held-out side has not been opened; "
        "open it: axisjudge holdout open --reason TEXT\n",
    )

    code, out, _ = command("holdout open --reason", "v3 is final")
    assert (code, out.splitlines()[0]) == (0, "Opening 1: v3 is final")
    code, out, _ = command("judge RUNS --split evaluation --axis termination")
    assert code == 0
    assert "made when they were opened, once" in out
    assert "EXPLORATORY:" not in out
    code, out, _ = command("holdout open --reason", "again")
    assert "has now been seen 2 times" in out
    code, out, _ = command("holdout log")
    assert [line.split()[1] for line in out.splitlines()[1:4]] == ["lock", "opening", "opening"]
    assert out.endswith("The chain is whole.\n")


def test_an_exploratory_run_says_so(command):
    command("split make RUNS --salt s")
    code, out, _ = command("judge RUNS --split evaluation --axis termination --exploratory")
    assert code == 0
    assert "\nEXPLORATORY: " in out
    entries = json.loads(command("holdout log --json")[1])["entries"]
    assert [entry["kind"] for entry in entries] == ["exploratory"]


def test_limit_counts_the_runs_of_the_side(command):
    command("split make RUNS --salt s")
    out = command("judge RUNS --split calibration --limit 3 --dry-run")[1]
    assert out.startswith("3 trajectories")


@pytest.mark.slow
def test_a_broken_chain_is_a_failed_check(command, bench):
    command("split make RUNS --salt s")
    command("rubric lock --judge rules")
    command("holdout open --reason", "v3 is final")
    path = bench / "rubrics" / "ledger.jsonl"
    path.write_text(path.read_text().replace("final", "fine"))
    for line in ("holdout log", "holdout open --reason x"):
        code, out, err = command(line)
        assert (code, out) == (1, "")
        assert err.startswith("axisjudge: rubrics/ledger.jsonl:2: the chain is broken: this entry was edited")
    code, out, _ = command("rubric status --json")
    assert code == 1
    assert "the chain is broken" in json.loads(out)["faults"][0]


def test_status_names_what_changed(command, bench):
    command("split make RUNS --salt s")
    command("rubric lock --judge rules")
    path = current_path(bench, "termination")
    path.write_text(path.read_text().replace("## Question", "## Question\n\nBe strict."))
    code, out, _ = command("rubric status")
    assert code == 1
    assert out.startswith("changed since the lock: rubrics.termination.sha256 was")
    (change,) = json.loads(command("rubric status --json")[1])["changes"]
    assert change["field"] == "rubrics.termination.sha256"


def test_a_plan_from_a_file(command, bench, tmp_path):
    command("split make RUNS --salt s")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"axes": ["sequencing"], "statistic": "gwet_ac1", "margin": 0.1}))
    code, out, _ = command("rubric lock --judge rules --margin 0.2 --json --plan", str(path))
    assert code == 0
    plan = json.loads(out)["plan"]
    assert (plan["axes"], plan["statistic"], plan["margin"]) == (["sequencing"], "gwet_ac1", 0.2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("split make RUNS --side calibration", "--side: is written NAME=SHARE"),
        ("split make RUNS --side a=half --side b=0.5", "a share must be a number; found 'half'"),
        ("split make RUNS --side a=0.5 --side a=0.5", "may be given once for each name"),
        ("split make RUNS --tuned-on library/99=x", "task used while tuning: must be one of"),
        ("split show", "there is no split yet; make one: axisjudge split make"),
        ("rubric lock --judge rules", "there is no split yet"),
        ("rubric lock --judge rules --statistic vibes", "is not an analysis plan"),
        ("rubric lock --judge rules --plan none.json", "--plan: no such file"),
        ("rubric diff argument_validity v1 v9", "must be one of v1, v2, v3"),
        ("judge RUNS --split evaluation", "there is no split yet"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(command, line, message):
    code, _, err = command(line)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


@pytest.mark.filterwarnings("ignore::axisjudge.judges.lifecycle.RetirementWarning")
def test_an_alias_in_a_lock(command):
    command("split make RUNS --salt s")
    code, _, err = command("rubric lock --panel published")
    assert code == 2
    assert "gpt-5 is an alias that its provider moves" in err
    code, out, _ = command("rubric lock --panel published --allow-alias")
    assert code == 0
    assert "Alias: openai:gpt-5 may be moved by its provider; answered so far: nothing on record" in out


def test_leaks_are_listed_and_fail_the_check(command, bench, runs):
    from axisjudge.protocol import read_split

    command("split make RUNS --salt s")
    split = read_split()
    tasks = [next(iter(split.tasks[side])) for side in ("calibration", "evaluation")]
    twins = [next(run for run in runs if run.cluster_id == task) for task in tasks]
    said = [run.model_copy(update={"steps": twins[0].steps}) for run in twins]
    (bench / "twins.jsonl").write_text("".join(run.model_dump_json() + "\n" for run in said))
    code, out, _ = command("split show", str(bench / "twins.jsonl"))
    assert code == 1
    assert "Nearly the same on two sides: 2" in out  # run and scenario
    assert f'--tuned-on "{tasks[1]}=REASON"' in out


@pytest.mark.slow
def test_diff_shows_text_beside_verdicts(command, bench):
    (bench / "data" / "ratings").mkdir(exist_ok=True)
    demo = sorted((home() / "data" / "demo" / "results").glob("*.json"))[0].as_posix()
    out = str(bench / "data" / "ratings" / "v.jsonl")
    asked = f"judge {demo} --judge simulated:jackdaw --judge simulated:dunnock --axis argument_validity --out {out}"
    for version in ("v1", "v3"):
        assert command(f"{asked} --rubric argument_validity={version}")[0] == 0
    code, shown, _ = command(f"rubric diff argument_validity v1 v3 --ratings {out}")
    assert code == 0
    assert shown.startswith("--- argument_validity/v1.md\n+++ argument_validity/v3.md\n")
    found = json.loads(command(f"rubric diff argument_validity v1 v3 --json --ratings {out}")[1])["verdicts"]
    assert len(found) == 2 * 28
    changed = sum(row["before"] != row["after"] for row in found)
    assert changed > 0
    assert f"Verdicts: {changed} of {len(found)} changed from v1 to v3" in shown

    code, shown, _ = command("rubric log argument_validity")
    assert code == 0
    rows = {line.split()[0]: line.split() for line in shown.splitlines()[1:4]}
    assert rows["v1"][3] == "-"  # this workbench is no git checkout
    assert [rows[version][4:6] for version in ("v1", "v3")] == [["2", "28"], ["2", "28"]]
    assert rows["v2"][4:6] == ["-", "-"]
    assert "from v.jsonl" in shown
    versions = {
        row["version"]: row for row in json.loads(command("rubric log argument_validity --json")[1])["versions"]
    }
    last = versions["v3"]
    assert (last["on"], last["compared"]) == (28, "with v1")  # v2 has no ratings, so the row before is v1
    assert (last["side"], versions["v2"]["change"]) == ("no split", None)


@pytest.mark.slow
def test_the_log_compares_like_with_like(command, bench, tmp_path):
    import polars as pl

    import axisjudge
    from axisjudge.datasets import demo_paths

    runs = axisjudge.read_trajectories(*demo_paths()).trajectories[:30]
    judges = ["simulated:jackdaw", "simulated:dunnock", "simulated:wren"]
    both = [
        axisjudge.judge(
            some, judges[:2], ["argument_validity"], versions={"argument_validity": version}, progress=False
        )
        for some, version in ((runs[:20], "v1"), (runs[10:], "v2"))
    ]

    def row(older, newer):
        pl.concat([older, newer]).write_parquet(tmp_path / "r.parquet")
        said = json.loads(command(f"rubric log argument_validity --json --ratings {tmp_path / 'r.parquet'}")[1])
        return next(each for each in said["versions"] if each["version"] == "v2")

    found = row(*both)
    shared = [run.id for run in runs[10:20]]
    percent = [
        table.filter(pl.col("trajectory_id").is_in(shared), pl.col("verdict").is_not_null())
        .group_by("trajectory_id")
        .agg(same=pl.col("verdict").n_unique() == 1, n=pl.len())
        .filter(pl.col("n") == 2)["same"]
        .mean()
        for table in both
    ]
    assert found["n"] <= 20
    assert found["on"] == 10
    assert found["change"] == pytest.approx(percent[1] - percent[0])
    assert found["compared"] == "with v1, of 20 and 20 runs"
    calibration, evaluation = (pl.lit(side).alias("split") for side in ("calibration", "evaluation"))
    for older, newer, why in (
        (both[0].with_columns(calibration), both[1].with_columns(evaluation), "not with v1: another side"),
        (both[0].with_columns(pl.col("rater") + "-other"), both[1], "not with v1: other judges"),
        (both[0].filter(pl.col("trajectory_id").is_in(shared).not_()), both[1], "not with v1: other runs"),
    ):
        found = row(older, newer)
        assert (found["change"], found["compared"]) == (None, why)


@pytest.mark.slow
def test_compare_tests_several_axes_as_one_family(command, tmp_path):
    demo = (home() / "data" / "demo" / "results").as_posix()
    out = str(tmp_path / "v.jsonl")
    asked = f"judge {demo} --judge simulated:jackdaw --judge simulated:dunnock --out {out} --repeats 2"
    for first, second in (("v2", "v1"), ("v3", "v2")):
        rubrics = f"--rubric argument_validity={first} --rubric termination={second}"
        assert command(f"{asked} --axis argument_validity --axis termination {rubrics}")[0] == 0
    both = f"rubric compare {out} --change argument_validity=v2:v3 --change termination=v1:v2"
    code, shown, _ = command(both)
    assert code == 0
    assert "Holm over 2 axes" in shown
    assert re.search(r"argument_validity[^.:]* v2 to v3", shown)
    found = {turn["axis"]: turn["agreement"] for turn in json.loads(command(f"{both} --json")[1])["turns"]}
    alone = json.loads(command(f"rubric compare {out} --change argument_validity=v2:v3 --json")[1])["turns"][0]
    least = min(found.values(), key=lambda each: each["p_value"])
    assert least["p_adjusted"] == pytest.approx(min(1, 2 * least["p_value"]))
    assert alone["agreement"]["p_adjusted"] == alone["agreement"]["p_value"] == found["argument_validity"]["p_value"]
    for words, message in (
        ("--change argument_validity", "is written axis=before:after"),
        ("--change arguments=v1:v2", "--change: must be one of"),
        ("--change termination=v1:v2 --change termination=v1:v2", "may be given once for each name"),
    ):
        code, _, err = command(f"rubric compare {out} {words}")
        assert (code, err.count("\n")) == (2, 1)
        assert message in err


def test_diff_without_a_common_run(command, bench):
    out = str(bench / "r.jsonl")
    assert command(f"judge RUNS --axis argument_validity --out {out}")[0] == 0
    code, _, err = command(f"rubric diff argument_validity v1 v2 --ratings {out}")
    assert code == 2
    assert "no rater was asked about one run with both v1 and v2" in err


def test_the_trail_names_commits_where_git_knows_them(bench):
    from axisjudge.protocol.ledger import rubric_trail

    versions = list_rubrics("argument_validity")
    assert [stone.commit for stone in rubric_trail("argument_validity")] == [None] * len(versions)
    git = ["git", "-C", str(bench), "-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for words in (["init", "-q"], ["add", "rubrics"], ["commit", "-q", "-m", "rubrics"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert all(head.startswith(stone.commit) for stone in rubric_trail("argument_validity"))


@pytest.mark.slow
def test_every_command_that_reads_ratings_says_what_they_may_claim(command, bench):
    demo = (home() / "data" / "demo").as_posix()
    assert command(f"split make {demo}/results --salt s")[0] == 0
    judges = "--judge rules --judge simulated:wren"
    out = str(bench / "r.jsonl")
    asked = f"judge {demo}/results {judges} --split evaluation --exploratory --out {out}"
    said = [command(asked)[1]]
    assert json.loads(command(f"{asked} --json")[1])["standing"]["exploratory"] is True
    labels = f"{out} --labels {demo}/planted.jsonl"
    log = f"rubric log termination --ratings {out}"
    for line in (f"agreement {out}", f"profile {out}", f"confidence {labels}", f"compare {labels}", log):
        said.append(command(line)[1])
        assert json.loads(command(f"{line} --json")[1])["standing"]["exploratory"] is True
    for text in said:
        assert re.search(r"\nEXPLORATORY: (\d+) of \1 ratings were judged with --exploratory", text)
    tuned, parts = bench / "tuned.jsonl", bench / "parts"
    assert command(f"judge {demo}/results --judge rules --split calibration --out {tuned}")[0] == 0
    grade = {"question": "tone", "scale": "ordinal:1-5", "status": "ok", "verdict": "3", "value": 3.0}
    graded = read_ratings(out).filter(question="termination").with_columns(pl.lit(v).alias(k) for k, v in grade.items())
    write_ratings(graded, bench / "graded.jsonl")
    said_of_both = command(f"agreement {tuned} {bench / 'graded.jsonl'}")[1]
    assert "\nEXPLORATORY" in said_of_both, "held-out ratings on another scale than the first"
    assert command(f"ratings compact {out} {tuned} --out {parts}")[0] == 0
    amounts = [
        re.search(r"\nEXPLORATORY: (\d+) of (\d+) ratings", command(line)[1]).groups()
        for line in (f"profile {out} {tuned}", f"profile {parts}", f"agreement {parts}")
    ]
    assert len(set(amounts)) == 1, "a folder's ratings are counted as a file's"
    assert int(amounts[0][0]) < int(amounts[0][1])


def test_a_plan_that_declares_two_things_under_one_key_declares_none(command, tmp_path, split):
    """Of two margins the last was locked, and nobody told."""
    path = tmp_path / "plan.json"
    path.write_text('{"margin": 0.02, "margin": 0.2}')
    code, _, said = command("rubric lock --judge rules --plan", str(path))
    assert (code, "given twice" in said) == (2, True)
