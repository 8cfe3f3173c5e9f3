"""`axisjudge read|import|export|init|data|schema|demo|twins`: files read, written and made."""

from __future__ import annotations

import json as json_text
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.judging import carried_out, print_outcome, print_plan, stop
from axisjudge.cli.show import by_id, new_file, pairs

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.readers.summary import RunCounts
    from axisjudge.stats.estimate import Estimate
    from axisjudge.trajectory import Trajectory
    from axisjudge.twins import TwinSet


# `axisjudge read`: what is in these trajectories.

_MOST_WARNINGS = 40


@show.app.example("read results/*.json --tools tools.json")
def read(
    paths: show.Paths,
    supplied: show.SourceOptions = show.SourceOptions(),
    strict: show.Strict = False,
    to: Annotated[
        str | None, "Write the trajectories to this file as axisjudge's own JSON Lines (or .gz); or atif."
    ] = None,
    out: Annotated[Path | None, "With --to atif: a folder, a file a run; or a .jsonl (.gz), a line a run."] = None,
    redact: Annotated[
        bool | None,
        typer.Option("--redact/--no-redact", help="Take keys and tokens out of what --to writes [default: of atif]"),
    ] = None,
    cluster: show.Cluster = None,
    json: show.Json = False,
) -> None:
    """Counts, agents, tasks, domains, steps, tools, rewards, endings and warnings; nothing is judged.

    A file that is broken, empty or of no known format is listed with its reason and the others are read; the exit code
    is then 1.
    """
    from axisjudge.cluster import workers_of
    from axisjudge.readers import summarise
    from axisjudge.readers.by_file import made_of_files
    from axisjudge.readers.events import NO_STEP
    from axisjudge.readers.own import write_lines
    from axisjudge.sharing import in_words

    target = Path(to) if to is not None and to != "atif" else out
    if (to == "atif") != (out is not None):
        raise InputError("--to", "atif and --out go together", to, "such as --to atif --out runs/")

    runs: list[RunCounts] = []
    with _or_as_ratings(paths), workers_of(cluster) as workers:
        work = partial(_written_and_counted, form=None if to is None else "atif" if to == "atif" else "own")
        reading = made_of_files(paths, work, workers, **vars(supplied), strict=strict)
        is_clean = to == "atif" if redact is None else redact
        secrets = Counter[str]()
        lines = _counting(reading, runs, secrets if is_clean else None)
        if target is None:
            deque(lines, maxlen=0)
        elif to == "atif" and not {".jsonl", ".ndjson", ".gz"} & {target.suffix}:
            _write_each(target, lines)
        else:
            write_lines(target, lines)
    show.account.refused += reading.refused
    summary = summarise(runs, files=len(reading.files), warnings=reading.warnings).to_dict()
    if json:
        lists = {name: [asdict(row) for row in getattr(reading, name)] for name in ("files", "warnings", "refused")}
        written = {} if target is None else {"to": str(target), "secrets": dict(secrets)}
        show.as_json({**summary, **lists, **written})
        return
    for name, value in summary.items():
        counts = value.items() if isinstance(value, dict) else ()
        words = ", ".join(f"{show.text(key)} {show.text(count)}" for key, count in counts)
        typer.echo(f"{name.replace('_', ' '):<20}{words or show.text(value or 0)}")
    show.table([asdict(file) for file in reading.files], "Files")
    if reading.warnings:
        ordered = sorted(reading.warnings, key=lambda warning: warning.rule == NO_STEP)
        listed = ordered[:_MOST_WARNINGS]
        show.table([asdict(warning) for warning in listed], "Warnings")
        if rest := len(reading.warnings) - len(listed):
            typer.echo(f"  and {rest} more, all of them counted above and listed with --json")
    if target is not None:
        typer.echo(f"\n{len(runs)} trajectories: {target}")
        typer.echo(in_words(secrets), nl=bool(secrets))


@contextmanager
def _or_as_ratings(paths: Sequence[Path]) -> Iterator[None]:
    """A file that holds no run is refused with the commands that take it as ratings, where it holds verdicts."""
    try:
        yield
    except InputError as error:
        from axisjudge.imports.api import ratings_ways

        if len(paths) > 1 or not paths[0].is_file() or error.ways:
            raise
        ways = ratings_ways(paths[0], str(paths[0]), when="if it holds ratings of runs")
        raise InputError(error.where, error.rule, error.found, error.cure, ways) from error


def _counting(
    made: Iterable[tuple[bytes, RunCounts]], runs: list[RunCounts], secrets: Counter[str] | None
) -> Iterator[bytes]:
    """The lines one by one, without keys where these are counted; what the summary takes is kept in `runs`."""
    from axisjudge.sharing import clean_line

    for line, run in made:
        runs.append(run)
        yield line if secrets is None or not line else clean_line(line.decode(), secrets).encode()


def _write_each(folder: Path, lines: Iterable[bytes]) -> None:
    """Each trajectory of ATIF in a file of its own, by its place among them and its id."""
    import re

    folder.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate(lines, 1):
        name = re.sub(r"[^\w.-]+", "_", str(json_text.loads(line)["session_id"]))[:80]
        (folder / f"{number:04d}-{name}.json").write_bytes(line)


def _written_and_counted(runs: Sequence[Trajectory], *, form: str | None) -> list[tuple[bytes, RunCounts]]:
    """Each trajectory as a line of the form that is wanted, and what the summary takes of it."""
    from axisjudge.readers.atif import atif_line
    from axisjudge.readers.own import line_of
    from axisjudge.readers.summary import counted

    write = {"own": line_of, "atif": atif_line}.get(form or "")
    return [(write(run) if write else b"", counted(run)) for run in runs]


# `axisjudge import` and `axisjudge export`: ratings of other tools, and ours for them.


@show.app.example("import results.csv --kind llm --kind label=human --out ratings.jsonl")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="CSV, JSON, JSONL, Parquet, or an export of a known tool; folders too."),
    ],
    out: Annotated[Path | None, "The ratings file to write (JSON Lines, or .parquet); without it a look."] = None,
    kind: Annotated[
        list[str], "What the raters are: llm, decision_model, rules or human; NAME=KIND for one of them."
    ] = [],
    family: Annotated[list[str], "NAME=FAMILY: the model family of a rater."] = [],
    rater: Annotated[str | None, "Who rated, where the file does not say."] = None,
    rater_column: Annotated[str | None, "The column that names the rater."] = None,
    column: Annotated[list[str], "THEIRS=OURS: a column and our field: trajectory_id, verdict, ...; or ignore."] = [],
    question: Annotated[list[str], "What was asked, where the file does not say; else the questions to take."] = [],
    theirs: show.Theirs = show.Theirs(),
    item: Annotated[list[str], "A column that names what was rated; several where only together they do."] = [],
    where: Annotated[list[str], "COLUMN=WORD: only these rows of a table."] = [],
    pass_if: Annotated[list[str], "'COLUMN >= NUMBER': from where on a column of numbers passes."] = [],
    repeats: Annotated[bool, "Rows of one item and rater are repeats; else they are refused."] = False,
    missing: Annotated[list[str], "A word that means that no rating came."] = [],
    json: show.Json = False,
) -> None:
    """Read ratings by models, programs and people from files of other tools, each question on its own scale.

    Without --out it says what would be taken. Exit 1 when files of a folder were passed over.
    """
    from axisjudge.imports import ImportOptions, import_ratings
    from axisjudge.ratings import write_ratings

    if out is not None:
        new_file(out)
    for_all = [word for word in kind if "=" not in word]
    if len(for_all) > 1:
        raise InputError("--kind", "is one for all, and NAME=KIND for single raters", ", ".join(for_all))
    how = ImportOptions(
        kind=for_all[0] if for_all else None,
        kinds=pairs("--kind", [word for word in kind if "=" in word], at_last=True),
        families=pairs("--family", family, at_last=True),
        rater=rater,
        rater_column=rater_column,
        columns=pairs("--column", column, at_last=True),
        question=tuple(question),
        item=tuple(item),
        where=tuple(where),
        pass_if=tuple(pass_if),
        repeats=repeats,
        missing=tuple(missing),
        sampling=theirs.sampling,
        sampling_key=theirs.sampling_key,
        **theirs.terms(),
    )
    large = any(path.is_file() and path.stat().st_size > show.LARGE for path in files)
    imported = import_ratings(files, how, progress=(lambda text: typer.echo(text, err=True)) if large else None)
    if out is not None:
        write_ratings(imported.ratings, out)
    rows = [{"file": path.name, "format": form, "ratings": count} for path, form, count in imported.files]
    if json:
        raters = show.raters_in(imported.ratings)
        over, notes = list(imported.passed_over), list(imported.notes)
        show.as_json(
            {
                "out": None if out is None else str(out),
                "files": rows,
                "raters": raters,
                "columns": list(imported.columns),
                "notes": notes,
                "passed_over": over,
            }
        )
        raise typer.Exit(bool(over))
    done = "read; nothing is written without --out ratings.jsonl" if out is None else f"written to {out}"
    show.table(rows, f"{imported.ratings.height} ratings {done}", most=20)
    if imported.columns:
        show.table(imported.columns, "What the columns are taken for (else: --column THEIRS=OURS)", most=12)
    show.table(show.raters_in(imported.ratings), "Who rated")
    show.table(show.words_given(imported.ratings), "What was said", most=20)
    show.lines((f"{note}." for note in imported.notes), apart=True)
    if imported.passed_over:
        show.table([{"nothing taken of": each} for each in imported.passed_over], "Files passed over")
        raise typer.Exit(1)


@show.app.example("export ratings.jsonl --to crowd-kit --out labels.csv")
def export(
    ratings: Annotated[list[Path], typer.Argument(metavar="RATINGS...", help="Ratings files (JSONL or Parquet).")],
    to: Annotated[
        str, "parquet, csv, jsonl, inspect, crowd-kit, label-studio, argilla, alttest, agentprocessbench, agentrx."
    ],
    out: Annotated[Path, "The file to write."],
    rater: Annotated[list[str], "Only ratings by these."] = [],
    question: Annotated[list[str], "Only ratings of these questions."] = [],
    trajectories: show.Runs = [],
    redact: show.Redact = True,
    json: show.Json = False,
) -> None:
    """Write ratings for another tool; what its format cannot hold is refused or counted."""
    from axisjudge.imports import export_ratings
    from axisjudge.ratings import read_ratings
    from axisjudge.sharing import in_words

    new_file(out)
    table = _only(_only(read_ratings(*ratings), "rater", rater), "question", question)
    secrets = Counter[str]()
    made = export_ratings(table, to, trajectories=by_id(trajectories), secrets=secrets, redact=redact)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(made.content)
    if json:
        held = {"out": str(out), "ratings": made.n_ratings, "not_held": dict(made.not_held), "notes": list(made.notes)}
        show.as_json({**held, "secrets": dict(secrets)})
        return
    typer.echo(f"{made.n_ratings} ratings written to {out}.")
    typer.echo(in_words(secrets), nl=bool(secrets))
    if made.not_held:
        rows = [{"field": name, "ratings": count} for name, count in made.not_held.items()]
        show.table(rows, f"What {to} does not hold, and in how many ratings it was said")
    show.lines(f"{note}." for note in made.notes)


def _only(table: pl.DataFrame, name: str, wanted: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    for each in wanted:
        one_of(f"--{name}", each, sorted(set(table[name])))
    return table.filter(pl.col(name).is_in(list(wanted))) if wanted else table


# `axisjudge init|data|schema`: a workbench of one's own, public data for it, and the JSON Schema of its files.

_ACTION = ".github/actions/axisjudge/action.yml"


@show.app.example("init bench --demo")
def init(
    folder: Annotated[Path, typer.Argument(help="Where to make it; what is there already stays as it is.")],
    demo: Annotated[bool, "Copy the demo's trajectories too."] = False,
    ci: Annotated[bool, "Write a gate for GitHub Actions, and nothing else."] = False,
    json: show.Json = False,
) -> None:
    """Make a workbench: rubrics and notebooks to edit, folders for runs, ratings and labels, a .gitignore.

    With --ci: `.github/actions/axisjudge/action.yml`, which runs a command, fails the job and writes its summary.
    """
    from axisjudge.workbench import Made, make

    if ci:
        made = _write_action(folder)
        bench = Made(folder.absolute(), (_ACTION,) * made, (_ACTION,) * (not made))
    else:
        bench = make(folder, demo=demo)
    if json:
        show.as_json({"folder": str(bench.folder), "made": bench.made, "kept": bench.kept})
        return
    if bench.made:
        typer.echo(f"Made in {bench.folder}:")
        show.table(_by_folder(bench.made))
    else:
        typer.echo(f"Nothing to make in {bench.folder}.")
    if bench.kept:
        typer.echo(f"Left as they are, because they were there already ({len(bench.kept)}):")
        show.table(_by_folder(bench.kept))
    if ci:
        typer.echo("\nNext: commit it; its first lines show how a workflow uses it.")
        return
    runs = "data/demo/results" if demo else "PATH"
    typer.echo(f"\nNext: cd {folder}, then `axisjudge judge {runs} --judge rules` or `axisjudge report`.")


def _write_action(folder: Path) -> bool:
    """Write the action below a repository's folder; False where there is one."""
    target = folder / _ACTION
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            file.write((files("axisjudge.cli") / "action.yml").read_bytes())
    except FileExistsError:
        return False
    return True


def _by_folder(paths: tuple[str, ...]) -> list[dict[str, str | int]]:
    """Files counted by the folder they stand in, two levels deep; an empty folder has none."""
    counts: dict[str, int] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        parent = path if path.endswith("/") or len(parts) == 1 else "/".join(parts[:-1][:2]) + "/"
        counts[parent] = counts.get(parent, 0) + (not path.endswith("/"))
    return [{"where": parent, "files": count} for parent, count in counts.items()]


data_app = show.app.group("data", "Public data sets: list and fetch.")


@data_app.example("list")
def list_(json: show.Json = False) -> None:
    """The data sets of data/registry.toml."""
    from axisjudge.datasets import list_datasets

    show.listed("datasets", [dataset.row() for dataset in list_datasets()], json=json)


@data_app.example("fetch tau-bench-airline")
def fetch(
    name: Annotated[str, typer.Argument(help="A data set's name.")],
    to: Annotated[Path | None, "Where to put it [default: data/cache]"] = None,
) -> None:
    """Download a data set and check its checksums; AXISJUDGE_DATA names a local mirror that is looked at first."""
    from axisjudge.datasets import fetch as fetch_dataset

    typer.echo(str(fetch_dataset(name, to=to)))


_RECORDS = ("trajectory", "rating", "label")


@show.app.example("schema trajectory")
def schema(record: Annotated[str, typer.Argument(help=f"One of {', '.join(_RECORDS)}.")]) -> None:
    """Print the JSON Schema of one line: of trajectories, of ratings, or of people's labels."""
    show.as_json(_schema(one_of("RECORD", record, _RECORDS)))


def _schema(record: str) -> dict[str, Any]:
    """The schema of what may be written; a label is a rating that a person gave."""
    if record == "trajectory":
        from axisjudge.trajectory import Trajectory

        return {"$schema": _DIALECT, **Trajectory.model_json_schema()}
    from axisjudge.verdict import Rating

    made = {"$schema": _DIALECT, **Rating.model_json_schema()}
    if record == "label":
        made["title"] = "Label"
        made["description"] = "One person's word on one question about one item; one JSON line."
        made["properties"]["rater_kind"] = {"const": "human", "title": "Rater Kind"}
    return made


#: The dialect that pydantic writes: https://docs.pydantic.dev/latest/concepts/json_schema/
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


# `axisjudge demo`: a first measurement on the real votes that ship with the package.

_ABOUT = {
    "tau2": "customer service in three domains",
    "hotpotqa": "questions answered by search",
    "bfcl": "function calls over several turns",
}


@show.app.example("demo --subset hotpotqa")
def demo(
    subset: Annotated[str, "Part of AgentProcessBench: tau2, hotpotqa or bfcl."] = "tau2",
    seed: Annotated[int, "Seed of the sign flips behind the ranks."] = 0,
    out: Annotated[Path | None, "Write the votes of steps as a ratings file, .parquet or .jsonl."] = None,
    json: show.Json = False,
) -> None:
    """Twenty real judges against people: who finds the steps that people call wrong. Nothing is asked or downloaded."""
    import numpy as np

    from axisjudge.datasets import published_votes
    from axisjudge.studies.demo import error_finding

    votes = published_votes(subset, level="step")
    if out is not None:
        _write_votes(votes, out)
    finding = error_finding(votes, cluster_unit="query", rng=np.random.default_rng(seed))
    if json:
        show.as_json({"source": "AgentProcessBench", "subset": subset, "seed": seed, **finding.to_dict()})
        return
    typer.echo(
        f"AgentProcessBench, {subset} ({_ABOUT[subset]}): agents' steps voted +1, 0 or -1 by people and by "
        f"{len(finding.judges)} judge configurations of {len({judge.family for judge in finding.judges})} families."
    )
    rows: list[dict[str, Any]] = [
        {
            "judge": judge.judge,
            "family": judge.family,
            "finds wrong steps": _interval(judge.found),
            "passes the others": _interval(judge.passed),
            "balanced": _interval(judge.balanced),
            "rank": f"{judge.rank_low}-{judge.rank_high}",
            "lost": judge.n_lost,
        }
        for judge in finding.judges
    ]
    show.table(rows, f"Judges against people, with {finding.ci_level:.0%} intervals by query")
    typer.echo("\nBalanced is the mean of both shares: 0.50 is what always giving the same vote reaches.")
    show.lines(finding.sentences())
    typer.echo("\nTo try next:")
    for command, why in _to_try_next(out, subset):
        typer.echo(f"  {command:<67}  {why}")


def _interval(estimate: Estimate) -> str:
    if estimate.ci_low != estimate.ci_low:
        return f"{estimate.estimate:z.2f} ({estimate.interval()})"
    return f"{estimate.estimate:z.2f} ({estimate.ci_low:z.2f}-{estimate.ci_high:z.2f})"


def _write_votes(votes: pl.DataFrame, out: Path) -> None:
    if new_file(out).suffix not in (".parquet", ".jsonl"):
        raise InputError("--out", "must end in .parquet or .jsonl", str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".parquet":
        votes.write_parquet(out)
    else:
        votes.write_ndjson(out)


def _to_try_next(out: Path | None, subset: str) -> list[tuple[str, str]]:
    """Commands that work as they stand, from where the user stands."""
    from axisjudge.workbench import own

    file = out or Path("votes.parquet")
    other = "hotpotqa" if subset == "tau2" else "tau2"
    commands = [
        (f"axisjudge demo --subset {other}", "the same judges on other runs"),
        *([] if out else [(f"axisjudge demo --subset {subset} --out {file}", "these votes as a ratings file")]),
        (f"axisjudge agreement {file} --steps", "how far the judges agree, and why that is not enough"),
        (f"axisjudge compare {file} --labels {file} --steps", "what may be claimed of each judge"),
    ]
    try:
        own()
    except InputError:
        commands.append(("axisjudge init bench --demo && cd bench", "a folder of your own: rubrics, notebooks, data"))
    commands.append(("axisjudge report agreement", "a page with figures, by one notebook"))
    return commands


# `axisjudge twins`: metamorphic checks, which need no labels.


@show.app.example("twins data/demo/results --judge rules --edits misreported_amount")
def twins(
    context: typer.Context,
    paths: show.Paths,
    judge: show.Judges = [],
    edits: Annotated[list[str], "An edit, or injections; may be given several times. All if none."] = [],
    tools: show.Tools = show.Tools(),
    labels: Annotated[Path | None, "Labels of the originals, for the halo."] = None,
    seed: Annotated[int, "Seed of where and how each run is edited."] = 0,
    must_rate: Annotated[float, "Least share of twins in which what must move moves."] = 0.8,
    margin: Annotated[float, "Largest share of twins in which what must not move moves."] = 0.05,
    limit: show.Limit = None,
    write: Annotated[Path | None, "Write the twins as trajectories to this file and stop."] = None,
    out: Annotated[
        Path | None, "Ratings file [default: data/ratings/twins.jsonl]; what is there is not asked again."
    ] = None,
    spending: show.Spending = show.Spending(),
    dry_run: show.DryRun = False,
    strict: show.Strict = False,
    cluster: show.Cluster = None,
    json: show.Json = False,
) -> None:
    """Edit runs so that one axis breaks, or nothing that matters, or text for the judge stands in them.

    See whether the judges' verdicts follow what changed, and only that.
    """
    from axisjudge.protocol import open_runs
    from axisjudge.readers import write_trajectories
    from axisjudge.twins import EDITS, INJECTIONS, make_twins
    from axisjudge.workbench import own

    named = [
        name for edit in edits or [*EDITS, *INJECTIONS] for name in (INJECTIONS if edit == "injections" else [edit])
    ]
    reading: dict[str, Any] = {**vars(tools), "strict": strict}
    out = out or own() / "data" / "ratings" / "twins.jsonl"
    how: dict[str, Any] = {"labels": labels, "must_rate": must_rate, "margin": margin, "out": out, "json": json}
    if cluster is not None:
        from axisjudge.cluster import workers_of
        from axisjudge.judging.judging_run import Outcome
        from axisjudge.judging.machines import judge_twins

        show.in_one_process(context, "write", "dry_run", "budget_usd")
        with workers_of(cluster) as workers:
            done = judge_twins(paths, named, judge or ["rules"], out, workers, seed=seed, limit=limit, reading=reading)
        show.account.refused += done.refused
        show.lines(() if json else done.left)
        stop(Outcome.of_all(done.ratings).code())
        _print_twins(done.ratings, done.twins, done.left, **how)
        return
    runs, left = open_runs(show.runs_of(paths, **reading).trajectories)
    runs = runs[:limit]
    show.lines(() if json else left)
    made = make_twins(runs, named, seed=seed)
    if write is not None:
        written = write_trajectories(write, (twin.trajectory for twin in made.twins))
        if json:
            show.as_json({"out": str(write), "twins": written, "edits": made.rows(), "left_out": list(left)})
            return
        show.table(made.rows(), "Twins")
        typer.echo(f"\n{written} twins: {write}")
        return
    from axisjudge.judging import RunOptions, judging_run

    asked = [*runs, *(twin.trajectory for twin in made.twins)]
    run = judging_run(asked, judge or ["rules"], out=out)
    money = RunOptions(**vars(spending))
    if dry_run:
        print_plan(run, money, "Calls to make", json=json, edits=made.rows())
        return
    ratings = carried_out(run, money, quiet=json)
    if code := run.outcome.code():
        print_outcome(run.outcome, quiet=json)
        stop(code)
    _print_twins(ratings, made, left, **how)


def _print_twins(
    ratings: pl.DataFrame, made: TwinSet, left: Sequence[str], *, labels: Path | None, out: Path, json: bool, **how: Any
) -> None:
    from axisjudge.ratings import read_ratings
    from axisjudge.studies.twins import twins as study
    from axisjudge.studies.twins.sentences import grid, injection_rows

    known = None if labels is None else read_ratings(labels, latest=True)
    result = study(ratings, made.twins, known, **how)
    if json:
        beside = {"out": str(out), "edits": made.rows(), "left_out": left}
        show.as_json({**beside, **result.moved.to_dict(), "injections": result.text.rows, "halo": result.halo.halos})
        return
    show.table(made.rows(), "Twins")
    for name in result.moved.matrix.judges:
        show.table(grid(result.moved.matrix, name), f"Twin matrix of {name}: moved/decided, interval over tasks")
    for name in result.text.judges:
        show.table(injection_rows(result.text.rows, name), f"Text for the judge, {name}: pairs of run and twin")
    show.lines(result.sentences, apart=True)
    typer.echo(f"\nRatings: {out}")
