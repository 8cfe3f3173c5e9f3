"""The command line as a user meets it: help with an example, exit codes, one line of error, JSON for programs."""

import itertools
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from cli.conftest import axisjudge
from typer.testing import CliRunner

from axisjudge import workbench
from axisjudge.cli import app
from axisjudge.cli.show import Whole
from axisjudge.labels.decisions import label_base
from axisjudge.readers import read_trajectories
from axisjudge.rubric import load_rubric
from axisjudge.verdict import AXES, Rating
from axisjudge.workbench import home


def _leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not hasattr(command, "commands"):
        return [words]
    return [leaf for word, inner in command.commands.items() for leaf in _leaves(inner, (*words, word))]


COMMANDS = _leaves(typer.main.get_command(app))


def as_user(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "axisjudge", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=240)


@pytest.fixture
def demo() -> Path:
    return home() / "data" / "demo" / "results"


@pytest.fixture
def one_file(demo) -> Path:
    return min(demo.glob("*.json"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command):
    page = CliRunner().invoke(app, [*command, "--help"], prog_name="axisjudge", terminal_width=100)
    assert page.exit_code == 0
    assert re.search(rf"Example: (\w+=\S+ )?axisjudge {' '.join(command)}\b", " ".join(page.output.split()))


def test_the_commands_of_the_design_are_there():
    promised = {"read", "judge", "agreement", "compare", "confidence", "profile", "axis-result", "report"}
    promised |= {f"rubric {word}" for word in ("list", "show", "diff", "log", "lint", "lock", "status")}
    promised |= {f"label {word}" for word in ("import", "export", "lint", "page")}
    promised |= {"split make", "split show", "holdout open", "holdout log", "curve fit", "curve apply"}
    promised |= {f"scorecard {word}" for word in ("score", "show", "rank", "serve")}
    promised |= {"data list", "data fetch", "plan agreement", "plan labels", "plan stand-in", "plan repeats"}
    assert promised <= {" ".join(command) for command in COMMANDS}
    listed = [name for section in Whole.SECTIONS.values() for name in section]
    assert sorted(listed) == sorted({command[0] for command in COMMANDS}), "each stands once in the help of axisjudge"


def test_a_newcomer_s_run(one_file, tmp_path):
    out = tmp_path / "ratings.jsonl"
    first = as_user("judge", one_file, "--out", out)
    assert first.returncode == 0, first.stderr
    assert "rules" in first.stdout
    assert str(out) in first.stdout
    again = as_user("judge", one_file, "--out", out)
    assert "0 calls to make" in again.stdout
    plan = as_user("judge", one_file, "--out", out, "--dry-run", "--repeats", "2", "--json")
    assert json.loads(plan.stdout)["cached"] * 2 == json.loads(plan.stdout)["cached"] + sum(
        row["ratings"] for row in json.loads(plan.stdout)["plan"]
    )


@pytest.mark.slow
def test_two_judges_end_with_agreement_per_axis(demo, tmp_path):
    arguments = ["judge", demo, "--judge", "rules", "--judge", "simulated:wren", "--out", tmp_path / "r.jsonl"]
    run = axisjudge(*arguments)
    assert run.returncode == 0, run.stderr
    assert "Agreement per axis (95% intervals)" in run.stdout
    shown = json.loads(axisjudge(*arguments, "--json").stdout)
    axes = [row["axis"] for row in shown["ratings"]]
    assert axes == [*AXES, *AXES]  # whatever the order of arrival
    alone = json.loads(axisjudge("agreement", tmp_path / "r.jsonl", "--json").stdout)
    assert shown["agreement"] == {name: alone[name] for name in shown["agreement"]}


def test_an_anchor_set_judged_again_is_watched(one_file, tmp_path):
    arguments = ["judge", one_file, "--axis", "sequencing", "--limit", "3", "--out", tmp_path / "r.jsonl"]
    assert axisjudge(*arguments).returncode == 0
    again = axisjudge(*arguments, "--again")
    assert again.returncode == 0, again.stderr
    assert "3 calls to make, 0 ratings there" in again.stdout
    assert "rules judged 3 anchor items on 2 occasions" in again.stdout
    page = axisjudge(*arguments, "--again", "--json", "--require-stable")
    assert page.returncode == 4  # three items cannot tell
    shown = json.loads(page.stdout)
    assert [len(report["seen"]) for report in shown["drift"]] == [3]
    planned = axisjudge("judge", one_file, "--panel", "published", "--dry-run", "--out", tmp_path / "p.jsonl")
    assert planned.returncode == 0
    assert planned.stderr.startswith("axisjudge: warning: openai:gpt-5 is shut down on 2026-12-11")
    assert sum("shut down" in line for line in planned.stderr.splitlines()) == 1


def test_names_from_a_file_cannot_steer_the_terminal(tmp_path):
    hostile = {"id": "a", "source": "own", "agent": "x\x1b[2J\ny", "steps": []}
    (tmp_path / "own.jsonl").write_text(json.dumps(hostile))
    shown = axisjudge("read", tmp_path / "own.jsonl").stdout
    assert "x?[2J?y 1" in shown
    assert "\x1b" not in shown


@pytest.mark.slow  # it waits between its tries
def test_what_was_lost_is_shown_with_its_reason(one_file, tmp_path):
    """Nobody should have to open the ratings file to learn that the server was never there."""
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        judge = f"openai-compatible:qwen@http://127.0.0.1:{taken.getsockname()[1]}/v1"
        run = axisjudge("judge", one_file, "--limit", 1, "--judge", judge, "--out", tmp_path / "r.jsonl")
    assert run.returncode == 1  # a judge without verdicts
    table = run.stdout.split("Lost verdicts")[1].splitlines()
    assert table[1].split() == ["rater", "status", "n", "commonest", "reason"]
    assert table[2].split()[:3] == [judge, "api_error", "5"]
    assert "connection" in table[2]


def test_limit_axis_and_repeats(one_file, tmp_path):
    out = tmp_path / "r.jsonl"
    arguments = ["--limit", "2", "--axis", "termination", "--axis", "sequencing", "--repeats", "3", "--out", out]
    assert axisjudge("judge", one_file, *arguments).returncode == 0
    assert len(out.read_text().splitlines()) == 2 * 2 * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", "none.json"], "none.json"),
        (["judge", "{file}", "--judge", "rulez"], "did you mean 'rules'"),
        (["judge", "{file}", "--axis", "terminator"], "did you mean 'termination'"),
        (["judge", "{file}", "--rubric", "termination"], "is written axis=version"),
        (
            ["judge", "{file}", "--rubric", "termination=v1", "--rubric", "termination=v1"],
            "may be given once for each name",
        ),
        (["judge", "{file}", "--panel", "old"], "must be one of published, current"),
        (["agreement", "none.jsonl"], "no such ratings file"),
        (["rubric", "show", "terminations"], "did you mean 'termination'"),
        (["report", "failure"], "failures"),
        (["report", "-p", "seed"], "is written KEY=VALUE"),
        (["data", "fetch", "nothing"], "nothing"),
        (["--workbench", "/", "rubric", "list"], "--workbench: must be a folder that holds"),
        (["judge", "{file}", "--limit", "0"], "greater than or equal to 1; see axisjudge judge --help"),
        (["judge"], "at least one file"),
        (["jugde"], "Did you mean 'judge'?"),
        (["data", "fetch", "agentrx", "--to", "{file}"], "{file}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, one_file, tmp_path):
    run = axisjudge(*(argument.format(file=one_file) for argument in arguments))
    assert run.returncode == 2
    assert message.format(file=one_file) in run.stderr
    assert run.stderr.count("\n") == 1, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("command", [[], *sorted({command[:1] for command in COMMANDS if len(command) > 1})], ids=str)
def test_a_command_without_arguments_shows_its_help(command):
    run = axisjudge(*command)
    assert run.returncode == 2
    assert run.stderr.startswith("Usage: axisjudge")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "axisjudge", "data", "list"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (2, "axisjudge: output: cannot be used (No space left on device)\n")


def test_a_warning_is_one_line_without_a_path_of_the_package(one_file, tmp_path):
    out = tmp_path / "r.jsonl"
    axisjudge("judge", one_file, "--limit", "1", "--out", out)
    out.write_bytes(out.read_bytes()[:-5])
    run = axisjudge("agreement", out)
    assert run.returncode == 0
    assert run.stderr.startswith(f"axisjudge: warning: {out}: the last line is torn")
    assert run.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_installed_copy_without_a_workbench_says_so(tmp_path):
    copy = tmp_path / "site"
    shutil.copytree(Path(workbench.__file__).parent, copy / "axisjudge")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from axisjudge.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, str(copy), "rubric", "list"], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 2
    assert run.stderr == (
        "axisjudge: workbench: none found; stand in a checkout, or name one with --workbench or AXISJUDGE_HOME\n"
    )


def _readme_commands() -> list[str]:
    """The commands of README and, before a split holds runs out, of the reference."""
    commands = []
    for page in (home() / "README.md", home() / "axisjudge" / "docs" / "reference.md"):
        blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
        commands.append([line for line in lines if line.startswith("axisjudge")])
    written, more = commands
    at = next(n for n, line in enumerate(written) if line.startswith("axisjudge split"))
    return [*written[:at], *more, *written[at:]]


def _some_labels(path: Path, results: Path) -> None:
    """A person who labels every run of a file, most of them correct."""
    rng = np.random.default_rng(1)
    runs = read_trajectories(results).trajectories
    lines = [
        Rating(
            **label_base(run, load_rubric(axis), "ada"), verdict=str(rng.choice(["correct", "incorrect"], p=[0.7, 0.3]))
        )
        for run in runs
        for axis in AXES
    ]
    path.write_text("".join(line.model_dump_json() + "\n" for line in lines))


def _some_scores(path: Path) -> None:
    """Forty tasks with three raw scores each and what people gave, around a known curve."""
    rng = np.random.default_rng(1)
    raw = np.exp(rng.normal(-0.7, 0.5, 120)).clip(0.02, 0.99)
    human = 100 / (1 + np.exp(-(np.log(raw / 0.5) / 0.4 + rng.normal(0, 0.5, 120))))
    rows = [f"{r:.4f},{h:.1f},{task // 3}" for task, (r, h) in enumerate(zip(raw, human, strict=True))]
    path.write_text("raw,human,task\n" + "\n".join(rows) + "\n")


def _some_votes(bench: Path) -> None:
    """A table of one judge and one person, and a set of the alternative annotator test."""
    rng = np.random.default_rng(1)
    label = rng.random(400) < 0.6
    gpt = np.where(rng.random(400) < 0.95, label, ~label)
    rows = [f"i{i},t{i // 8},{int(g)},{int(h)}" for i, (g, h) in enumerate(zip(gpt, label, strict=True))]
    (bench / "results.csv").write_text("item,task,gpt,label\n" + "\n".join(rows) + "\n")
    (bench / "summeval").mkdir()
    for kind, names in (("human", "abc"), ("llm", ("gpt-4o", "gemini_pro"))):
        said = {name: {f"i{i}": int(rng.integers(1, 6)) for i in range(40)} for name in names}
        (bench / "summeval" / f"{kind}_annotations.json").write_text(json.dumps(said))


@pytest.mark.parametrize("line", _readme_commands())
def test_the_readme_s_commands_are_commands_with_these_options(line):
    """The parser takes each as it stands; the slow test below runs them."""
    command, words = typer.main.get_command(app), shlex.split(line)[1:]
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    assert command.make_context(command.name, words).params


@pytest.mark.slow
def test_the_readme_s_commands_run_as_written(demo, tmp_path):
    """In a workbench of its own, one after the other; those that need a key say which, in one line."""
    bench = tmp_path / "bench"
    for part in ("rubrics", "notebooks", "data/demo", "data/published"):
        shutil.copytree(home() / part, bench / part)
    shutil.copy(home() / "data" / "registry.toml", bench / "data")
    shutil.copy(min(demo.glob("*.json")), bench / "results.json")
    shutil.copy(home() / "data" / "demo" / "tools.json", bench / "tools.json")
    shutil.copy(min((home() / "data" / "demo" / "transcripts").glob("*/*.json")), bench / "session.jsonl")
    _some_labels(bench / "labels.jsonl", min(demo.glob("*.json")))
    _some_scores(bench / "scores.csv")
    _some_votes(bench)
    commands = _readme_commands()
    assert len(commands) >= 6
    for line in commands:
        run = as_user(*shlex.split(line)[1:], cwd=bench, env={"PATH": "", "HOME": str(tmp_path)})
        if "--judge anthropic" in line:
            assert run.returncode == 2, line
            assert re.fullmatch(r"axisjudge: .*ANTHROPIC_API_KEY.*", run.stderr.splitlines()[-1]), run.stderr
        else:
            assert run.returncode == 0, (line, run.stderr)
        if line.startswith("axisjudge rubric new"):  # what a person does between the two commands
            draft = max((bench / "rubrics" / "argument_validity").glob("v*.md"))
            text = re.sub(r"(?m)^changes: .*", "changes: A name is no identifier.", draft.read_text())
            draft.write_text(f"{text}\nA name is no identifier.\n")


@pytest.mark.slow
def test_a_profile_counts_failures_per_agent_and_axis(demo, tmp_path):
    out = tmp_path / "r.jsonl"
    assert axisjudge("judge", demo, "--judge", "rules", "--judge", "simulated:wren", "--out", out).returncode == 0
    shown = axisjudge("profile", out, "--trajectories", demo)
    assert shown.returncode == 0, shown.stderr
    assert "any judge" in shown.stdout
    assert "simulated" in shown.stdout.lower()
    found = json.loads(axisjudge("profile", out, "--trajectories", demo, "--json").stdout)
    assert len({cell["agent"] for cell in found["cells"]}) == 5  # four and all together


@pytest.mark.parametrize(
    ("given", "trajectories", "ratings"),
    [
        ("r.jsonl --trajectories a.json b.json c.jsonl --out x", "a.json b.json c.jsonl", "r.jsonl"),
        ("--trajectories d/a.json d/b.json r.jsonl --out x", "d/a.json d/b.json", "r.jsonl"),
        ("--trajectories a.jsonl r.jsonl --out x", "a.jsonl", "r.jsonl"),
        ("--trajectories a.jsonl b.jsonl r.jsonl", "a.jsonl b.jsonl", "r.jsonl"),
        ("--trajectories=a.json r.jsonl q.jsonl", "a.json", "r.jsonl q.jsonl"),
        ("r.jsonl --limit 3 q.jsonl --trajectories a.json --json", "a.json", "r.jsonl q.jsonl"),
    ],
)
def test_a_glob_that_the_shell_has_split_is_one_option(given, trajectories, ratings):
    from typer.main import get_command

    from axisjudge.cli import app, show

    command = get_command(app).commands["explore"]
    words = show.each_apart(command.params, given.split())
    rest = [each for each in words if each not in ("--out", "x")]
    taken = [value for option, value in itertools.pairwise(rest) if option == "--trajectories"]
    taken += [each.partition("=")[2] for each in rest if each.startswith("--trajectories=")]
    left = [each for each in rest if each not in taken and not each.startswith("-") and each != "3"]
    assert (" ".join(taken), " ".join(left)) == (trajectories, ratings)


@pytest.mark.parametrize(
    "given",
    [
        *("compare r --labels", "confidence r --labels", "panel fit r --labels", "label next r --labels"),
        *("report --from", "report --labels", "report --trajectories", "rubric improve termination --labels"),
    ],
)
def test_every_option_of_several_files_takes_what_a_shell_makes_of_a_glob(given):
    from typer.main import get_command

    from axisjudge.cli import app, show

    *words, option = given.split()
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", ()):
        command = command.commands[words.pop(0)]
    taken = show.each_apart(command.params, [*words, option, "d/a.jsonl", "d/b.jsonl", "--json"])
    assert taken == [*words, option, "d/a.jsonl", option, "d/b.jsonl", "--json"]


def test_no_number_that_is_there_is_printed_as_none():
    from axisjudge.cli import show

    said = [show.text(value) for value in (0.0, -1e-17, 1e-12, 3.14e-7, 0.0004, 0.5, float("nan"))]
    assert said == ["0.000", "0.000", "<1e-9", "0.00000031", "0.00040", "0.500", "-"]


def test_each_command_is_read_from_one_file():
    from axisjudge.cli import FILES

    found = {each.name: each.callback.__module__ for each in app.registered_commands}
    for each in app.registered_groups:
        inner = [*each.typer_instance.registered_commands]
        inner += [
            one for below in each.typer_instance.registered_groups for one in below.typer_instance.registered_commands
        ]
        found[each.typer_instance.info.name] = inner[0].callback.__module__
    assert {name: module.removeprefix("axisjudge.cli.") for name, module in found.items()} == FILES


def test_a_page_is_written_over_no_file_of_another_kind(tmp_path: Path) -> None:
    """`--out` named the ratings themselves: they were gone."""
    votes = "\n".join(f"t{n},{'correct' if n % 3 else 'incorrect'},correct" for n in range(40))
    table, ratings = tmp_path / "votes.csv", tmp_path / "ratings.jsonl"
    table.write_text(f"id,judge,human\n{votes}\n")
    runs = str(workbench.shipped() / "data" / "demo" / "results")
    run = CliRunner().invoke
    assert run(app, ["judge", runs, "--judge", "rules", "--out", str(ratings), "--limit", "2"]).exit_code == 0
    checked = ["check", str(table), "--judge", "judge", "--human", "human", "--html"]
    for words, given in ((checked, table), (["explore", str(ratings), "--out"], ratings)):
        before = given.read_text()
        assert "no page" in str(run(app, [*words, str(given)]).exception)
        assert given.read_text() == before
        for _ in range(2):
            assert run(app, [*words, str(tmp_path / "page.html")]).exit_code == 0
