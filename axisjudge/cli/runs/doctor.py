"""`axisjudge doctor`: whether judges and the machine are fit for a study, before it is begun."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from axisjudge.judges import Judge
    from axisjudge.judging.doctor import Examination

_PACKAGES = ("axisjudge", "openai", "anthropic", "genai-prices", "polars", "papermill", "jupyterlab", "playwright")


def doctor(
    judge: options.Judges = [],  # noqa: B006
    panel: options.Panel = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the calls are made.")] = False,
    json: show.Json = False,
) -> None:
    """Ask each judge twice, its price said first; without judges, look at the environment.

    Shown are the key, the model that answers, whether the mechanism is accepted and the cache is seen on the second
    call, the day the model is shut down, the clock, and the headers that tell of limits. Exit code 1 where one fails.
    """
    from axisjudge.cli.runs.judged import judges_of
    from axisjudge.judges import make_judges

    judges = make_judges(judges_of(judge, panel))
    if not judges:
        show.listed("environment", environment(), json=json)
        return
    _say_price(judges, yes=yes)
    examined = asyncio.run(_examine(judges))
    rows = [each.row() for each in examined]
    faults = [f"{each.judge.rater}: {fault}" for each in examined for fault in each.faults]
    if json:
        show.as_json({"judges": rows, "faults": faults})
    else:
        for row in rows:
            show.table([{"what": name, "found": show.text(value)} for name, value in row.items()], row["judge"])
        for fault in faults:
            typer.echo(f"\n{fault}")
    if faults:
        raise typer.Exit(1)


async def _examine(judges: Sequence[Judge]) -> list[Examination]:
    from axisjudge.judging.doctor import examine

    return [await examine(judge) for judge in judges]


def _say_price(judges: Sequence[Judge], *, yes: bool) -> None:
    from axisjudge.judging import RunOptions
    from axisjudge.judging.doctor import examination_plan
    from axisjudge.judging.estimate import agree, estimate_of
    from axisjudge.ratings import ratings_frame

    for judge in judges:
        how = RunOptions(concurrency=1, confirm=yes, allow_unpriced=True)
        agree(estimate_of(examination_plan(judge), ratings_frame([]), how), how)


def environment() -> list[dict[str, Any]]:
    """Versions, the workbench and its data, which keys are set, and what reports and screenshots need."""
    import os
    import platform

    from axisjudge.judges.anthropic_judge import AnthropicJudge
    from axisjudge.judges.openai_judge import OpenAIJudge
    from axisjudge.workbench import home

    values = {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}
    try:
        bench = home()
        values["workbench"] = str(bench)
        values["ratings files"] = str(len(list((bench / "data" / "ratings").glob("*.jsonl"))))
        values["demo data"] = "there" if (bench / "data" / "demo").is_dir() else "missing"
    except InputError as error:
        values["workbench"] = str(error)
    for name in (AnthropicJudge.key_env, OpenAIJudge.key_env):
        values[name] = "set" if os.environ.get(name, "").strip() else "not set"
    values["chromium"] = _chromium()
    return [{"what": name, "found": value} for name, value in values.items()]


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _chromium() -> str:
    """Whether a browser is there that playwright, or anybody, can drive."""
    from pathlib import Path
    from shutil import which

    on_path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
    caches = [Path.home() / ".cache" / "ms-playwright", Path.home() / "Library" / "Caches" / "ms-playwright"]
    kept = [folder for cache in caches if cache.is_dir() for folder in sorted(cache.glob("chromium*"))]
    return on_path or (str(kept[-1]) if kept else "not found; python -m playwright install chromium")


models_app = show.group("Models that no list knows: their family, price, context and end, in models.toml.")


@models_app.command("list", epilog="Example: axisjudge models list")
def models_list(json: show.Json = False) -> None:
    """The models that models.toml states."""
    from axisjudge.spec.own_models import own_models

    rows = [each.model_dump(mode="json") for each in own_models()]
    show.listed("models", rows, "" if rows else "Models of your own (axisjudge models add)", json=json)


@models_app.command("add", epilog="Example: axisjudge models add acme-judge-9 --family acme --input 0.5 --output 2")
def models_add(
    name: Annotated[str, typer.Argument(help="The model, as a judge spec names it.")],
    family: Annotated[str | None, typer.Option(help="Its family, which decides what is cross-family.")] = None,
    input: Annotated[float | None, typer.Option(help="US dollars a million tokens of the prompt.")] = None,
    output: Annotated[
        float | None, typer.Option(help="US dollars a million tokens of the answer, thought included.")
    ] = None,
    cached: Annotated[float | None, typer.Option(help="US dollars a million tokens from a cache [as --input].")] = None,
    context: Annotated[int | None, typer.Option(help="Tokens of its context.")] = None,
    retires: Annotated[str | None, typer.Option(help="The day it is shut down, as 2027-05-01.")] = None,
    source: Annotated[str | None, typer.Option(help="Who says so: a page, a contract.")] = None,
    provider: Annotated[str | None, typer.Option(help="Only for specs of this provider.")] = None,
) -> None:
    """Say once what a model is; what stands in models.toml goes before any list."""
    from axisjudge.spec.own_models import add_model

    prices = {"input_usd": input, "output_usd": output, "cached_usd": cached}
    rest = {"family": family, "context": context, "retires_on": retires, "source": source, "provider": provider}
    typer.echo(f"Written: {add_model({'name': name, **prices, **rest})}")
