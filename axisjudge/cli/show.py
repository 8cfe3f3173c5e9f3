"""Printing: short tables for people, the full result as JSON."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from math import floor, log10
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from axisjudge.checks import InputError, WayOut, printable

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.protocol import Standing
    from axisjudge.readers import Reading, RefusedFile
    from axisjudge.trajectory import Trajectory


#: Exit code of what is required and cannot be told.
CANNOT_TELL = 4
#: What every command that has a result takes.
Json = Annotated[bool, "Print the full result as JSON."]


class Sentences(TyperGroup):
    """Commands listed with the whole first sentence of their help, over as many lines as it takes; in `SECTIONS`."""

    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        for title, section in (self.SECTIONS or {"Commands": names}).items():
            commands = [(name, each) for name in section if (each := self.get_command(ctx, name))]
            if commands:
                with formatter.section(title):
                    formatter.write_dl([(name, each.get_short_help_str(1000)) for name, each in commands])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, each_apart(command.params, rest) if isinstance(command, TyperCommand) else rest


def each_apart(parameters: Iterable[Any], args: Sequence[str]) -> list[str]:
    """`--trajectories a.json b.json`, which a shell makes of a glob, with the option before each of its files.

    Words after such an option are its files where the command has its argument already, and else while they stand in
    the folder of the first one and end alike; an argument that is needed is then the last of them.
    """
    known = {name: each for each in parameters for name in getattr(each, "opts", ())}
    takes = {name for name, each in known.items() if getattr(each, "multiple", False) and _is_path(each)}
    needs = any(each.param_type_name == "argument" and each.required for each in known.values())
    words: list[str] = []
    first, option, wants_value, put_at = "", "", False, -1
    for word in args:
        name, sign, _ = word.partition("=")
        if wants_value:
            first, wants_value = word, False
        elif word.startswith("-") and word != "-":
            option = name if name in takes and not sign else ""
            wants_value = name in known and not sign and not getattr(known[name], "is_flag", False)
        elif option and (not needs or _like(word) == _like(first)):
            put_at = len(words)
            words.append(option)
        else:
            option, needs = "", False
        words.append(word)
    if needs and put_at >= 0:
        del words[put_at]
    return words


def _like(word: str) -> tuple[str, str]:
    folder, _, name = word.rpartition("/")
    return folder, name.rpartition(".")[2]


def _is_path(parameter: Any) -> bool:
    return parameter.name in ("labels", "ratings", "trajectories") or "Path" in str(
        getattr(parameter.type_descriptor, "annotation", "")
    )


class Commands(typer.Typer):
    """Commands under one name, each with an example of its use; the name alone shows their help.

    A parameter is an option whose help is the text beside its type, as in ``Annotated[int, "How many runs."] = 10``;
    a bool is a flag. A parameter whose type is a dataclass is a group of options, one a field.
    """

    def __init__(self, name: str, help_text: str, path: str = "", **how: Any) -> None:
        settings = {"cls": Sentences, "no_args_is_help": True, "rich_markup_mode": None, **how}
        super().__init__(name=name, help=help_text, **settings)
        self.path = f"{path} {name}".lstrip()

    def group(self, name: str, help_text: str) -> "Commands":
        """Commands under one more name."""
        below = Commands(name, help_text, self.path)
        self.add_typer(below)
        return below

    def example(self, text: str, **how: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Take a function for the command that the first word of its example names."""

        def taken(function: Callable[..., None]) -> Callable[..., None]:
            self.command(text.split()[0], epilog=f"Example: {self.path} {text}", **how)(_spelt_out(function))
            return function

        return taken


def _spelt_out(function: Callable[..., None]) -> Callable[..., None]:
    """The function with each option as typer declares it."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[Parameter] = []
    for each in signature(function).parameters.values():
        if (group := groups.get(each.name)) is None:
            options.append(_option(each.name, hints[each.name], each.default))
            continue
        types = get_type_hints(group, include_extras=True)
        for part in fields(group):
            made = part.default if part.default_factory is MISSING else part.default_factory()
            options.append(_option(part.name, types[part.name], Parameter.empty if made is MISSING else made))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{part.name: given.pop(part.name) for part in fields(group)})
        function(**given)

    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in options}
    return command


def _option(name: str, hint: Any, default: Any) -> Parameter:
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if notes and isinstance(notes[0], str):
        flag = (f"--{name.replace('_', '-')}",) if kind is bool else ()
        hint, default = kind, typer.Option(... if default is Parameter.empty else default, *flag, help=notes[0])
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def table(rows: Sequence[Mapping[str, Any]], title: str = "", *, most: int | None = None) -> None:
    """Print rows of like keys as a plain table, `most` of them: words to the left, numbers to the right."""
    if title:
        typer.echo(f"\n{title}" if rows else f"\n{title}: none")
    if not rows:
        return
    heads, rest = list(rows[0]), rows[most:] if most else ()
    rows = rows[:most]
    cells = [heads, *([text(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    right = [all(isinstance(row[head], int | float | None) for row in rows) for head in heads]
    for line in cells:
        parts = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ]
        typer.echo("  " + "  ".join(parts).rstrip())
    if rest:
        typer.echo(f"  and {len(rest):,} more, all of them with --json")


def text(value: Any) -> str:
    """A value as people read it: three decimals, or two digits of what is less; a dash for nothing; nothing to obey."""
    if value is None or value != value:
        return "-"
    if isinstance(value, float) and 0 < value <= 1e-9:
        return "<1e-9"
    if isinstance(value, float):
        return f"{value:z.3f}" if not 1e-9 < abs(value) < 5e-4 else f"{value:.{1 - floor(log10(abs(value)))}f}"
    return printable(str(value))


def lines(sentences: Iterable[str], *, apart: bool = False) -> None:
    """Print sentences, a line each; a blank line before the first where they stand `apart`."""
    if apart:
        typer.echo()
    for sentence in sentences:
        typer.echo(text(sentence))


@dataclass
class Account:
    """Files that a command could not read, or not whole: listed on the error stream, and its exit code is 1."""

    refused: "list[RefusedFile]" = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """The list for programs: one more field, or none."""
        return {"refused": [vars(file) for file in self.refused]} if self.refused else {}


#: Of the command that runs.
account = Account()


class Whole(Sentences):
    """All commands, by what a reader wants to do; files that one of them could not read are not passed over."""

    SECTIONS: ClassVar = {
        "Start here": ("check", "demo", "init", "doctor"),
        "Judge": ("read", "judge", "cost", "rubric", "twins"),
        "People": ("label", "import", "export"),
        "Analyse": ("agreement", "compare", "confidence", "profile", "explore", "panel", "plan"),
        "Publish": ("report",),
        "Scores": ("axis-result", "axis-baseline", "scorecard", "curve"),
        "More": ("schema", "split", "ratings", "holdout", "data", "models"),
    }

    def invoke(self, ctx: Any) -> None:
        account.refused = []
        code = 0
        try:
            super().invoke(ctx)
        except typer.Exit as end:
            code = end.exit_code
        finally:
            for file in account.refused:
                typer.echo(f"axisjudge: not read, or not whole: {text(file.reason)}", err=True)
        if code := 1 if account.refused and code in (0, CANNOT_TELL) else code:
            raise typer.Exit(code)


app = Commands(
    "axisjudge",
    "Grade agents' tool use on five axes, and learn how far the grades can be trusted.",
    cls=Whole,
    epilog="Example: axisjudge demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def runs_of(paths: "Sequence[Path]", **how: Any) -> "Reading":
    """The runs of files; what cannot be read is accounted for, unless `strict`. `how` is `read_trajectories`'."""
    from axisjudge.readers import read_trajectories

    reading = read_trajectories(*paths, **{"strict": False, **how})
    account.refused += reading.refused
    return reading


def by_id(paths: "Sequence[Path]") -> "dict[str, Trajectory]":
    """The runs of files by their ids; none where no file is named."""
    return {run.id: run for run in runs_of(paths).trajectories} if paths else {}


def as_json(result: Mapping[str, Any]) -> None:
    """Print the full result as JSON; NaN becomes null, because JSON has no word for it."""
    whole = json_of({**result, **account.fields()})
    typer.echo(whole.decode(), color=True)  # JSON holds no letters that a terminal would obey


def listed(name: str, rows: Sequence[Mapping[str, Any]], title: str = "", *, json: bool) -> None:
    """Print rows under their name as JSON, or as a table."""
    if json:
        as_json({name: rows})
    else:
        table(rows, title)


def as_json_after(name: str, items: IO[bytes], rest: Mapping[str, Any]) -> None:
    """`as_json` of ``{name: [items], **rest}``, whose items stand in a file, with the lines between them."""
    typer.echo(f'{{\n  "{name}": [\n    ', nl=False)
    items.seek(0)
    while lines := items.read(1 << 20):
        typer.echo(lines, nl=False)
    typer.echo("\n  ]," + json_of({**rest, **account.fields()}).decode()[1:], color=True)


def json_of(result: Any) -> bytes:
    """A result as JSON; json.dumps with an indent takes ten times as long."""
    from pydantic_core import to_json

    from axisjudge.results import plain

    return to_json(plain(result), indent=2)


def naming(heading: str, choices: Callable[[], Iterable[str]]) -> type[TyperCommand]:
    """A command whose help ends with choices that are looked up only then, so that it starts quickly."""

    class Naming(TyperCommand):
        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            super().format_epilog(ctx, formatter)
            formatter.write_paragraph()
            formatter.write_text(f"{heading}: {', '.join(choices())}.")

    return Naming


def coefficients() -> Collection[str]:
    """Names of the coefficients of agreement."""
    from axisjudge.stats.agreement.coefficients import COEFFICIENTS

    return COEFFICIENTS


def standing(ratings: "pl.DataFrame", n_judged: int | None = None) -> None:
    """Print what ratings on held-out data may claim; nothing where they touch none."""
    from axisjudge.protocol import standing_of

    claim = standing_of(ratings, n_judged=n_judged)
    for sentence in filter(None, (claim.banner, claim.sentence, _declared(ratings, claim)[1])):
        typer.echo(f"\n{sentence}")


def _declared(ratings: "pl.DataFrame", claim: "Standing") -> "tuple[list[dict[str, Any]], str]":
    """What the plan declares, computed and in words, where it may be called confirmed."""
    if not claim.confirmatory or claim.plan is None:
        return [], ""
    from axisjudge.studies._shared.pooled import declared_results, declared_sentence

    results = declared_results(ratings, claim.plan)
    return [each.to_dict() for each in results], declared_sentence(results)


def standing_fields(ratings: "pl.DataFrame", n_judged: int | None = None) -> dict[str, Any]:
    """The same for programs: one more field, or none."""
    from axisjudge.protocol import standing_of

    claim = standing_of(ratings, n_judged=n_judged)
    return {"standing": claim.to_dict(), "declared": _declared(ratings, claim)[0]} if claim.matters else {}


@contextmanager
def failed_check() -> Iterator[None]:
    """A broken ledger is a failed check, exit code 1, and not bad input."""
    from axisjudge.protocol import LedgerError

    try:
        yield
    except LedgerError as error:
        typer.echo(f"axisjudge: {error}", err=True)
        raise typer.Exit(1) from None


# Options and arguments that several commands take, each worded once.

Paths = Annotated[list[Path], typer.Argument(help="Trajectory files, folders or globs.")]
Domain = Annotated[str | None, "The tasks' domain, where the source lacks it."]
Strict = Annotated[bool, "Stop at the first broken file instead of listing it."]
Judges = Annotated[
    list[str], typer.Option("--judge", help="A judge spec, of a plug-in too; may be given several times.")
]
Concurrency = Annotated[int, typer.Option(min=1, help="Calls under way at once, of each judge.")]
DryRun = Annotated[bool, "Print the calls to make with their price, and stop."]
Panel = Annotated[str | None, "A named panel of judges: published, current."]
Ratings = Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet), or a dataset (a folder).")]
Cluster = Annotated[
    str | None, "Dask workers: local:N, a scheduler's address, or jobqueue:FILE, its file; without it one process."
]
Steps = Annotated[bool, "Ratings of steps instead of whole trajectories."]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N trajectories.")]
Exploratory = Annotated[bool, "Judge held-out runs without lock and opening; marks every rating."]
Runs = Annotated[
    list[Path], typer.Option("--trajectories", help="The runs that were rated or labelled: files, folders, globs.")
]
DrawSeed = Annotated[int, "Seed of the draw and of the order."]
LabelFiles = Annotated[list[Path], typer.Argument(metavar="LABELS", help="Labels files of people (JSON Lines).")]
Redact = Annotated[bool, typer.Option("--redact/--no-redact", help="Take keys and tokens out of what is passed on.")]


@dataclass(frozen=True)
class Tools:
    """What the readers are told of tools; the fields are theirs."""

    tools: Annotated[Path | None, "Tool schemas, where the source lacks them."] = None
    tool_kinds: Annotated[
        list[str],
        typer.Option("--tool-kind", help="What a tool does, as NAME=read, NAME=write or NAME=generic; repeatable."),
    ] = field(default_factory=list)
    policy: Annotated[Path | None, "The agent's policy, where the source lacks it."] = None


@dataclass(frozen=True)
class SourceOptions(Tools):
    """What the readers are told of runs."""

    agent: Annotated[str | None, "The agent's name, where the source lacks it."] = None
    domain: Domain = None


@dataclass(frozen=True)
class Spending:
    """What may be spent; the fields are those of `RunOptions`."""

    budget_usd: Annotated[
        float | None,
        typer.Option("--budget", min=1e-6, help="US dollars: stop before the call that could pass them (exit 3)."),
    ] = None
    allow_unpriced: Annotated[bool, "Ask models that have no list price."] = False
    confirm: Annotated[bool, typer.Option("--yes", "-y", help="Spend more than 5 dollars without being asked.")] = False


@dataclass(frozen=True)
class Theirs:
    """What names and words of a file mean here, and how its items were drawn."""

    axis_map: Annotated[
        list[str], "THEIRS=OURS: a question of the file, and the axis or other name it gets (or no_axis)."
    ] = field(default_factory=list)
    word_map: Annotated[list[str], "THEIRS=OURS: a word of the file (RATER:THEIRS: of one rater) and ours."] = field(
        default_factory=list
    )
    scale: Annotated[
        list[str], "QUESTION=SCALE: verdict, step, unit, check, ordinal:1-5, interval:0-100, nominal:yes,no."
    ] = field(default_factory=list)
    sampling: Annotated[
        str | None, "How labelled items were drawn: random, by_judge_verdict, by_human_label, unknown; or a plan."
    ] = None
    sampling_key: Annotated[str | None, "What decided: `rules: sequencing`, a person."] = None
    trajectories: Runs = field(default_factory=list)

    def terms(self) -> dict[str, Any]:
        """Axes, words, scales and runs, as `ImportOptions` and `Terms` take them."""
        return {
            "axes": pairs("--axis-map", self.axis_map, at_last=True),
            "words": pairs("--word-map", self.word_map, at_last=True),
            "scales": pairs("--scale", self.scale, at_last=True),
            "trajectories": by_id(self.trajectories),
        }


def pairs(
    option: str,
    given: Sequence[str],
    form: str = "NAME=VALUE",
    *,
    at_last: bool = False,
    empty: bool = False,
    cure: str = "",
) -> dict[str, str]:
    """NAME=VALUE, each name once; other people's are parted `at_last`; these, and all with `empty`, may have no value.

    Raises
    ------
    InputError
        A text of another form, or a name that is given twice.
    """

    values: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=") if at_last else text.partition("=")
        if not (name and sign and (value or at_last or empty)):
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
        ways = [
            WayOut(("--sampling", "random"), "if at random"),
            WayOut(("--sampling", "unknown"), "for labels without a rate"),
        ]
        raise InputError("--sampling", rule, f"{unknown} of {labels} labels of {where} do not", ways=ways)


def in_one_process(context: typer.Context, *parameters: str) -> None:
    """Refuse options that are for a run in one process, where a cluster is named; `parameters` are a command's own."""
    only_for(context, "a run in one process", *parameters, cure="leave --cluster out")


def only_for(context: typer.Context, what: str, *parameters: str, cure: str = "") -> None:
    """Refuse options that say nothing here, as they are for something else; `parameters` are a command's own.

    Raises
    ------
    InputError
        One of them was set.
    """
    known = {parameter.name: parameter for parameter in context.command.params}
    for name in parameters:
        if context.params[name] not in (known[name].default, None, []):
            raise InputError(known[name].opts[0], f"is for {what}", cure=cure)


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


def raters_in(ratings: "pl.DataFrame") -> list[dict[str, object]]:
    """Who rated, and how much."""
    import polars as pl

    counts = ratings.group_by("rater", "rater_kind", "family", maintain_order=True).agg(
        items=pl.col("item_id").n_unique(),
        questions=pl.col("question").n_unique(),
        ratings=pl.len(),
        lost=(pl.col("status") != "ok").sum(),
    )
    return counts.to_dicts()


def words_given(ratings: "pl.DataFrame") -> list[dict[str, object]]:
    """The commonest words of each question, with their counts; of numbers alone the least and the greatest."""
    rows: list[dict[str, object]] = []
    few = ratings.select("question", "scale", "verdict", "value")  # each group is a copy
    for (question, scale), of in few.group_by("question", "scale", maintain_order=True):
        counts = (
            of["verdict"].drop_nulls().value_counts().sort("count", "verdict", descending=[True, False]).head(5).rows()
        )
        values = of["value"].drop_nulls().to_numpy()
        ends = f"{values.min():g} to {values.max():g}" if values.size else ""
        given = ", ".join(f"{word} {count:,}" for word, count in counts) or ends
        rows.append({"question": question, "scale": str(scale).partition(":")[0], "said": given})
    return rows


#: What is done with files of more bytes is said while it is done.
LARGE = 10_000_000


def new_file(out: Path) -> Path:
    """`out`, unless something is there already: an InputError."""

    if out.exists():
        raise InputError(str(out), "is there already", cure="choose another --out")
    return out


#: What counts alike in shares and agreement.
AlikeOption = Annotated[
    Literal["items", "clusters"], "What counts alike: items, or clusters (tasks) whatever their size."
]
