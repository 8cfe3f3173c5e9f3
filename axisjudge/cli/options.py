"""Options and arguments that several commands take, each worded once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from axisjudge.checks import InputError

Paths = Annotated[list[Path], typer.Argument(help="Trajectory files, folders or globs.")]
Tools = Annotated[Path | None, typer.Option(help="Tool schemas, where the source lacks them.")]
ToolKinds = Annotated[
    list[str], typer.Option(help="What a tool does, as NAME=read, NAME=write or NAME=generic; repeatable.")
]
Policy = Annotated[Path | None, typer.Option(help="The agent's policy, where the source lacks it.")]
Agent = Annotated[str | None, typer.Option(help="The agent's name, where the source lacks it.")]
Domain = Annotated[str | None, typer.Option(help="The tasks' domain, where the source lacks it.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first broken file instead of listing it.")]
Judges = Annotated[
    list[str], typer.Option("--judge", help="A judge spec, of a plug-in too; may be given several times.")
]
Concurrency = Annotated[int, typer.Option(min=1, help="Calls under way at once, of each judge.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the calls to make with their price, and stop.")]
Panel = Annotated[str | None, typer.Option(help="A named panel of judges: published, current.")]
Ratings = Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet), or a dataset (a folder).")]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Dask workers: local:N, a scheduler's address, or jobqueue:FILE, its file; without it one process."
    ),
]
Steps = Annotated[bool, typer.Option("--steps", help="Ratings of steps instead of whole trajectories.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N trajectories.")]
Budget = Annotated[
    float | None, typer.Option(min=0.000001, help="US dollars: stop before the call that could pass them (exit 3).")
]
Exploratory = Annotated[
    bool, typer.Option("--exploratory", help="Judge held-out runs without lock and opening; marks every rating.")
]
Runs = Annotated[
    list[Path], typer.Option("--trajectories", help="The runs that were rated or labelled: files, folders, globs.")
]
DrawSeed = Annotated[int, typer.Option(help="Seed of the draw and of the order.")]
Page = Annotated[Path | None, typer.Option(help="Write the blind labelling page as well.")]
Person = Annotated[str | None, typer.Option(help="Who labels; the page asks if not given.")]
LabelFiles = Annotated[list[Path], typer.Argument(metavar="LABELS", help="Labels files of people (JSON Lines).")]
AxisMap = Annotated[
    list[str],
    typer.Option(help="THEIRS=OURS: a question of the file, and the axis or other name it gets (or no_axis)."),
]
WordMap = Annotated[list[str], typer.Option(help="THEIRS=OURS: a word of the file and our verdict.")]
Scale = Annotated[
    list[str],
    typer.Option(help="QUESTION=SCALE: verdict, step, unit, check, ordinal:1-5, interval:0-100, nominal:yes,no."),
]
Drawn = Annotated[
    str | None,
    typer.Option(help="How labelled items were drawn: random, by_judge_verdict, by_human_label, unknown; or a plan."),
]
DrawnBy = Annotated[str | None, typer.Option(help="What decided: `rules: sequencing`, a person.")]
AllowUnpriced = Annotated[bool, typer.Option("--allow-unpriced", help="Ask models that have no list price.")]
Redact = Annotated[bool, typer.Option("--redact/--no-redact", help="Take keys and tokens out of what is passed on.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Spend more than 5 dollars without being asked.")]


def pairs(
    option: str, given: Sequence[str], form: str = "NAME=VALUE", *, at_last: bool = False, cure: str = ""
) -> dict[str, str]:
    """NAME=VALUE, each name once; other people's names are parted `at_last`, and their words may be empty.

    Raises
    ------
    InputError
        A text of another form, or a name that is given twice.
    """

    values: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=") if at_last else text.partition("=")
        if not (name and sign and (value or at_last)):
            raise InputError(option, f"is written {form}", text, cure)
        if name in values:
            raise InputError(option, "may be given once for each name", text)
        values[name] = value
    return values


def must_say_the_draw(unknown: int, labels: int, where: str) -> None:
    """Ask how items were drawn, where neither the labels nor the command say it.

    Raises
    ------
    InputError
        Some labels are of an unknown draw.
    """
    if unknown:
        rule = "must say how the items were drawn: a failure rate follows from a known draw alone"
        cure = "--sampling random, or unknown for labels without a rate, or --plan NAME.sampling.json"
        raise InputError("--sampling", rule, f"{unknown} of {labels} labels of {where} do not", cure)


def in_one_process(context: typer.Context, *parameters: str) -> None:
    """Refuse options that are for a run in one process, where a cluster is named; `parameters` are a command's own.

    Raises
    ------
    InputError
        One of them was set.
    """

    known = {parameter.name: parameter for parameter in context.command.params}
    for name in parameters:
        if context.params[name] not in (known[name].default, None, []):
            raise InputError(known[name].opts[0], "is for a run in one process", cure="leave --cluster out")


def is_one_dataset(ratings: list[Path], cluster: str | None) -> bool:
    """Whether these ratings are one dataset, which can be looked at part by part.

    Raises
    ------
    InputError
        They are not, and a cluster is named, which takes nothing else.
    """
    from axisjudge.ratings.dataset import is_dataset

    if len(ratings) == 1 and is_dataset(ratings[0]):
        return True
    if cluster is not None:
        cure = "make one first: axisjudge ratings compact RATINGS... --out FOLDER"
        raise InputError("--cluster", "takes one dataset", ", ".join(map(str, ratings)), cure)
    return False


def new_file(out: Path) -> Path:
    """`out`, unless something is there already: an InputError."""

    if out.exists():
        raise InputError(str(out), "is there already", cure="choose another --out")
    return out


#: What counts alike in shares and agreement.
AlikeOption = Annotated[
    Literal["items", "clusters"],
    typer.Option(help="What counts alike: items, or clusters (tasks) whatever their size."),
]
