"""A file of every format that readers list: counted by us and from the raw file, then judged, compared and reported.

``pytest -s -k independent_count`` prints the table of format, file and both counts.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
from readers import test_agents as agents
from readers import test_chats as chats
from readers import test_langsmith as langsmith
from readers import test_openinference as openinference
from readers import test_services as services
from readers import test_swe_agent as swe_agent
from readers import test_traces as traces
from readers.conversations import results, simulation, tau_bench_run, write
from typer.testing import CliRunner

from axisjudge import write_trajectories
from axisjudge.cli import app
from axisjudge.datasets import demo_paths, demo_transcripts
from axisjudge.ratings import read_ratings, write_ratings
from axisjudge.readers import read_trajectories
from axisjudge.readers.atif import atif_line
from axisjudge.readers.chats import CHATS
from axisjudge.readers.reading import FORMATS, LOGS
from axisjudge.report import run_report

HERE = Path(__file__).parent.parent
Make = Callable[[Path, Any], Path]
Count = Callable[[Path], tuple[int, int]]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{")]


def within(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from within(member)


def messages(value: Any) -> tuple[int, int]:
    """Calls and results of messages whose calls stand in `tool_calls`."""
    every = [one for one in within(value) if "role" in one]
    return sum(len(one.get("tool_calls") or []) for one in every), sum(one["role"] == "tool" for one in every)


def in_archive(path: Path) -> tuple[int, int]:
    with ZipFile(path) as packed:
        samples = [json.loads(packed.read(name)) for name in packed.namelist() if name.startswith("samples/")]
    return messages([sample["messages"] for sample in samples])


def blocks(path: Path) -> tuple[int, int]:
    """Calls and results by the ids of blocks, however often a block stands in the log."""
    every = list(within(json.loads(path.read_text()) if path.suffix == ".json" else lines(path)))
    used = {one["id"] for one in every if one.get("type") == "tool_use" and "id" in one}
    return len(used), len({one["tool_use_id"] for one in every if "tool_use_id" in one})


def codex(path: Path) -> tuple[int, int]:
    kinds = [line["payload"].get("type", "") for line in lines(path) if line.get("type") == "response_item"]
    return (
        sum(kind in ("function_call", "custom_tool_call", "local_shell_call") for kind in kinds),
        sum(kind in ("function_call_output", "custom_tool_call_output") for kind in kinds),
    )


def codex_exec(path: Path) -> tuple[int, int]:
    calls = ("command_execution", "mcp_tool_call", "file_change", "web_search")
    done = [line["item"] for line in lines(path) if line["type"] == "item.completed"]
    n = sum((item.get("type") or item.get("item_type")) in calls for item in done)
    return n, n


def gemini(path: Path) -> tuple[int, int]:
    called = [call for one in json.loads(path.read_text())["messages"] for call in one.get("toolCalls") or []]
    return len(called), sum(bool(call.get("result")) for call in called)


def turns(path: Path) -> tuple[int, int]:
    """Actions and observations of a SWE-agent trajectory, turn by turn."""
    taken = json.loads(path.read_text())["trajectory"]
    return sum(bool(turn["action"]) for turn in taken), sum("observation" in turn for turn in taken)


def otlp_file(folder: Path, _: Any) -> Path:
    return write(folder / "spans.json", traces.otlp(traces.newer()))


def otlp_count(path: Path) -> tuple[int, int]:
    """Tool spans, and the ids of calls that stand in what models gave back."""
    text = path.read_text()
    return len({*re.findall(r'\\"type\\": \\"tool_call\\", \\"id\\": \\"(\w+)', text)}), text.count('"execute_tool"')


def text_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def ours(folder: Path, _: Any) -> Path:
    write_trajectories(folder / "own.jsonl", read_trajectories(*demo_paths()).trajectories[:3])
    return folder / "own.jsonl"


def chat_file(form: str) -> tuple[Make, Count]:
    name, *_, count = next(each for each in chats.FILES if each[1] == form)
    return lambda *_: chats.CHATS / name, lambda _: count(chats.raw(name))[:2]


def shared(pattern: str) -> Make:
    return lambda _, data: sorted(data().glob(pattern))[0]


def ids_of_calls(path: Path) -> tuple[int, int]:
    text = path.read_text()
    tools = [line for line in lines(path) if "TOOL" in (line.get("span_kind"), str(line.get("run_type")).upper())]
    return len(set(re.findall(r"\bc\d\b", text))), len(tools)


def calls_and_runs_of_tools(path: Path) -> tuple[int, int]:
    text = path.read_text()
    return len(set(re.findall(r"\bc\d\b", text))), len(re.findall(r"TOOL\b", text))


def agents_file(name: str) -> tuple[Make, Count]:
    _, records, _, calls, results, _ = agents.FILES[name]
    return lambda folder, _: agents.written(folder, name, records), lambda _: (calls, results)


def atif_file(folder: Path, _: Any) -> Path:
    runs = read_trajectories(*demo_paths()).trajectories[:3]
    return text_file(folder, "atif.jsonl", "".join(atif_line(run).decode().strip() + "\n" for run in runs))


def of_atif(path: Path) -> tuple[int, int]:
    every = [step for step in within(lines(path)) if "step_id" in step]
    results = [one for step in every for one in (step.get("observation") or {}).get("results", [])]
    return sum(len(step.get("tool_calls") or []) for step in every), len(results)


#: Format -> how a file of it comes about, and how its calls and results are counted from the raw file.
FILES: dict[str, tuple[Make, Count]] = {
    "own": (ours, lambda path: messages(lines(path))),
    "inspect": (lambda *_: HERE / "readers" / "fixtures" / "parcels.eval", in_archive),
    "tau2": (lambda f, _: write(f / "r.json", results(simulation())), lambda p: messages(json.loads(p.read_text()))),
    "tau_bench": (
        lambda f, _: write(f / "r.json", [tau_bench_run(), tau_bench_run(4)]),
        lambda p: messages([run["traj"] for run in json.loads(p.read_text())]),
    ),
    "agentrx": (shared("agentrx/tau_dataset_failed.json"), lambda p: messages(json.loads(p.read_text()))),
    "claude_code": (shared("transcripts/claude_code/full-session-two.jsonl"), blocks),
    "codex": (shared("transcripts/codex/*.jsonl"), codex),
    "codex_exec": (shared("transcripts/codex_exec/stream-output-2.jsonl"), codex_exec),
    "gemini": (shared("transcripts/gemini/*.json"), gemini),
    "axis": (lambda *_: demo_transcripts()[0], blocks),
    "opentelemetry": (otlp_file, otlp_count),
    "openinference": (
        lambda f, _: text_file(f, "s.jsonl", openinference.EXPORTS["flat.jsonl"](openinference.spans())),
        ids_of_calls,
    ),
    "langsmith": (
        lambda f, _: text_file(
            f, "r.jsonl", langsmith.CONTAINERS["lines.jsonl"](langsmith.agent_trace(next(iter(langsmith.FORMS))))
        ),
        ids_of_calls,
    ),
    "langfuse": (lambda f, _: write(f / "l.json", services.langfuse()), calls_and_runs_of_tools),
    "mlflow": (lambda f, _: write(f / "m.json", services.mlflow()), calls_and_runs_of_tools),
    **{
        module.FORMAT: chat_file(module.FORMAT) for module in CHATS if module.FORMAT not in ("openai_chat", "swe_agent")
    },
    "openai_chat": chat_file("openai_chat"),
    "swe_agent": (lambda f, _: write(f / "hall.traj", swe_agent.traj(calls=False)), turns),
    "atif": (atif_file, of_atif),
    **{form: agents_file(name) for name, (form, *_) in reversed(agents.FILES.items())},
}


@pytest.fixture
def file_of(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    return lambda form: FILES[form][0](tmp_path, lambda: request.getfixturevalue("shared_data"))


def test_no_format_is_missing() -> None:
    listed = {module.FORMAT for module in (*FORMATS, *LOGS) if hasattr(module, "FORMAT")}
    assert listed <= FILES.keys()


@pytest.mark.parametrize("form", FILES)
def test_counts_equal_an_independent_count(form: str, file_of: Callable[[str], Path]) -> None:
    path = file_of(form)
    reading = read_trajectories(path)
    steps = [step for run in reading.trajectories for step in run.steps]
    assert {file.format for file in reading.files} == {form}
    counted = sum(len(step.tool_calls) for step in steps), sum(step.role == "tool" for step in steps)
    from_raw = FILES[form][1](path)
    print(f"\n{form:20} {path.name:32} calls, results: {counted} by us, {from_raw} from the raw file")
    assert counted == from_raw
    assert counted[0] > 0


def through(path: Path, folder: Path) -> tuple[Path, Path]:
    """The file through every command; the ratings and people's labels that came about."""
    out, people = folder / "ratings.jsonl", folder / "people.jsonl"

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    run("read", str(path))
    run("judge", str(path), "--judge", "rules", "--out", str(out))
    rules = read_ratings(out)
    second = rules.with_columns(rater=pl.lit("second"), verdict=pl.col("verdict").replace("uncertain", "incorrect"))
    write_ratings(second, out)  # a second program, less shy
    person = {"rater": "ann", "rater_kind": "human", "family": "human", "confidence_source": None}
    write_ratings(rules.with_columns(pl.lit(v, rules.schema[k]).alias(k) for k, v in person.items()), people)
    run("agreement", str(out))
    run("compare", str(out), "--labels", str(people))
    return out, people


SLOW = [form for form in FILES if form != "langsmith"]


@pytest.mark.parametrize("form", ["langsmith", *(pytest.param(f, marks=pytest.mark.slow) for f in SLOW)])
def test_every_format_is_judged_and_compared(form: str, file_of: Callable[[str], Path], tmp_path: Path) -> None:
    out, _ = through(file_of(form), tmp_path)
    assert set(read_ratings(out)["rater"]) == {"rules", "second"}


@pytest.mark.slow
@pytest.mark.parametrize("form", FILES)
def test_notebook_02_reports_on_every_format(
    form: str, file_of: Callable[[str], Path], tmp_path: Path, bench: Path
) -> None:
    path = file_of(form)
    out, people = through(path, tmp_path)
    given = {"ratings": str(out), "labels": str(people), "trajectories": str(path)}
    folder = run_report("02_agreement", given, workbench=bench).folder
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]
    questions = {each["question"] for each in found["agreement"]["questions"]}
    assert questions == set(read_ratings(out)["question"])
