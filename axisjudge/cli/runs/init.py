"""`axisjudge init|data|schema`: a workbench of one's own, public data for it, and the JSON Schema of its files."""

from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from axisjudge.checks import one_of
from axisjudge.cli import show

_ACTION = ".github/actions/axisjudge/action.yml"


def init(
    folder: Annotated[Path, typer.Argument(help="Where to make it; what is there already stays as it is.")],
    demo: Annotated[bool, typer.Option("--demo", help="Copy the demo's trajectories too.")] = False,
    ci: Annotated[bool, typer.Option("--ci", help="Write a gate for GitHub Actions, and nothing else.")] = False,
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
            file.write((files("axisjudge.cli.runs") / "action.yml").read_bytes())
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


data_app = show.group("Public data sets: list and fetch.")


@data_app.command("list", epilog="Example: axisjudge data list")
def list_(json: show.Json = False) -> None:
    """The data sets of data/registry.toml."""
    from axisjudge.datasets import list_datasets

    show.listed("datasets", [dataset.row() for dataset in list_datasets()], json=json)


@data_app.command("fetch", epilog="Example: axisjudge data fetch tau-bench-airline")
def fetch(
    name: Annotated[str, typer.Argument(help="A data set's name.")],
    to: Annotated[Path | None, typer.Option(help="Where to put it [default: data/cache]")] = None,
) -> None:
    """Download a data set and check its checksums; AXISJUDGE_DATA names a local mirror that is looked at first."""
    from axisjudge.datasets import fetch as fetch_dataset

    typer.echo(str(fetch_dataset(name, to=to)))


RECORDS = ("trajectory", "rating", "label")


def schema(record: Annotated[str, typer.Argument(help=f"One of {', '.join(RECORDS)}.")]) -> None:
    """Print the JSON Schema of one line: of trajectories, of ratings, or of people's labels."""
    show.as_json(_schema(one_of("RECORD", record, RECORDS)))


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
