"""`axisjudge judge|doctor|models`: judges asked, looked at before they are asked, and described."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.trust import print_agreement

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judges import Judge, JudgeLike
    from axisjudge.judging import JudgingRun, RunOptions
    from axisjudge.judging.cascade import Cascade
    from axisjudge.judging.judging_run import Outcome
    from axisjudge.judging.machines import JudgedFiles
    from axisjudge.studies.succession.bridge import Drift
    from axisjudge.trajectory import Trajectory


# What commands that ask judges print: what it will take, what came, what was lost, how it ended.


def judges_of(named: Sequence[str], panel: str | None) -> list[JudgeLike]:
    """The judges named one by one and those of a panel."""
    from axisjudge.spec.judge_spec import panel as panel_of

    return [*named, *(panel_of(panel) if panel else [])]


def plan_fields(run: JudgingRun, options: RunOptions) -> dict[str, Any]:
    """What a run will ask, and what that takes and costs, for programs."""
    from axisjudge.judging.estimate import PARTS

    estimate = run.estimate(options)
    parts = {each.judge.rater: dict(zip(PARTS, each.letters, strict=True)) for each in estimate.judges}
    return {"plan": run.plan().rows(), "estimate": estimate.rows(), "prompt_characters": parts}


def print_plan(run: JudgingRun, options: RunOptions, title: str = "", *, json: bool = False, **more: Any) -> None:
    """The same for people, as ranges; with `json` for programs, `more` beside it."""
    if json:
        show.as_json({**plan_fields(run, options), **more})
        return
    estimate = run.estimate(options)
    show.table(run.plan().rows(), title)
    if estimate.judges:
        show.table(estimate.rows(), "Tokens, list price in US dollars and minutes, low to high")
        typer.echo(f"\n{estimate.sentence}.\nTokens of a prompt: {estimate.prompts}.")
    print_origins(run)


def print_origins(run: JudgingRun) -> None:
    """For each judge that is asked over a wire: whence its family, price and context are known, and who is asked."""
    from axisjudge.judges.remote import RemoteJudge

    for judge in run.plan().asked:
        if isinstance(judge, RemoteJudge):
            origins = "; ".join(f"{name} {value}" for name, value in judge.origins().items())
            typer.echo(f"{judge.rater}: {origins}.", err=True)


def carried_out(run: JudgingRun, options: RunOptions, *, quiet: bool = False) -> pl.DataFrame:
    """The ratings of a run; Ctrl-C is told how far it came."""
    try:
        return run.carry_out(options)
    except KeyboardInterrupt:
        print_outcome(run.outcome, quiet=quiet)
        raise


def print_outcome(outcome: Outcome, *, quiet: bool = False) -> None:
    """The last lines of a run: judges that were stopped, what is left, what was spent."""
    if quiet:
        return
    if any(end.stopped or end.failures for end in outcome.ends) or outcome.was_interrupted:
        show.table(outcome.rows(), "How far each judge came")
    for sentence in outcome.sentences():
        typer.echo(f"\n{show.text(sentence)}")


def stop(code: int) -> None:
    """End with an exit code other than 0."""
    if code:
        raise typer.Exit(code)


def tally(ratings: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater and axis: how many ratings, each verdict's count, and how many were lost."""
    import polars as pl

    from axisjudge.verdict import AXES, VERDICTS

    words = [(pl.col("verdict") == word).sum().alias(word) for word in VERDICTS]
    lost = (pl.col("status") != "ok").sum().alias("lost")
    grouped = ratings.group_by("rater", "question", maintain_order=True).agg(pl.len().alias("n"), *words, lost)
    tallies = grouped.rename({"question": "axis"}).to_dicts()
    return sorted(tallies, key=lambda row: (row["rater"], AXES.index(row["axis"])))


def losses(ratings: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater and status other than ok: how many ratings, and the commonest reason."""
    import polars as pl

    lost = ratings.filter(pl.col("status") != "ok").group_by("rater", "status")
    reason = pl.col("rationale").fill_null("no reason given").mode().sort().first().alias("commonest reason")
    return lost.agg(pl.len().alias("n"), reason).sort("rater", "status").to_dicts()


_WHO_ASKS = "the same command asks for them again; refused and truncated ones with --retry"


def _print_came(ratings: pl.DataFrame) -> None:
    """What came of each judge and axis, and what was lost."""
    show.table(tally(ratings))
    if lost := losses(ratings):
        show.table(lost, f"Lost verdicts ({_WHO_ASKS})")


# `axisjudge judge`: grade trajectories; by a cascade, or on many workers file by file.

#: Options that are for a run in one process.
_OF_ONE_PROCESS = (
    *("panel", "split", "exploratory", "again", "limit", "shard", "cascade", "batch", "keep_prompts", "budget_usd"),
    *("retry", "one_call", "dry_run", "strict", "keep_lost"),
)


@show.app.example("judge results.json --judge rules --panel published --limit 20")
def judge(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(help="Trajectory files, folders or globs [default, with --split: the split's]")
    ] = [],
    judge: show.Judges = [],
    panel: show.Panel = None,
    axis: Annotated[list[str], "An axis; may be given several times. All five if none."] = [],
    rubric: Annotated[list[str], "A rubric version for an axis, as axis=v2."] = [],
    supplied: show.SourceOptions = show.SourceOptions(),
    split: Annotated[str | None, "Only this side of the split; held-out ones after lock and opening."] = None,
    exploratory: show.Exploratory = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1,
    again: Annotated[
        bool, "Ask once more, or --repeats times, numbered after the repeats in --out: does a judge drift?"
    ] = False,
    limit: show.Limit = None,
    cluster: show.Cluster = None,
    shard: Annotated[
        str | None, "i/n: the i-th of n shares of the runs, by their ids; rpm and tpm divided by n."
    ] = None,
    strict: show.Strict = False,
    concurrency: show.Concurrency = 16,
    require_stable: Annotated[bool, "With --again: exit 1 where a judge drifted, 4 where it cannot be told."] = False,
    keep_lost: Annotated[bool, "Do not ask again what was lost."] = False,
    retry: Annotated[str | None, "Also ask again what is often lost again: refused,truncated, or either."] = None,
    one_call: Annotated[bool, "All axes of a run in one call: cheaper; recorded as another judge."] = False,
    keep_prompts: Annotated[
        Path | None, "Keep the whole prompt of each call beside its hash in this file (JSON Lines)."
    ] = None,
    cascade: Annotated[str | None, '"SPEC > SPEC": the second judge where the first is unsure, and on --audit.'] = None,
    below: Annotated[float, "A confidence below this is unsure, in a cascade."] = 0.8,
    audit: Annotated[float, "Share of sure verdicts that the second judge checks too."] = 0.1,
    batch: Annotated[bool, "By the providers' batch interfaces: half price, within a day; resumable."] = False,
    max_lost: Annotated[
        float, typer.Option(min=0, max=1, help="Share of its verdicts that a judge may lose before the exit code is 1.")
    ] = 0.05,
    patience: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a provider may stay closed (429, 503, 529).")
    ] = 3_600,
    spending: show.Spending = show.Spending(),
    dry_run: show.DryRun = False,
    out: Annotated[Path | None, "Ratings file [default: data/ratings/ratings.jsonl; of a shard ratings-i-of-n]"] = None,
    json: show.Json = False,
) -> None:
    """Grade trajectories on the five axes, by rules if no judge is named; run again, it asks only what is missing.

    A file that cannot be read is listed with its reason and the others are judged; the exit code is then 1, as it is
    where a judge gave no verdicts or lost more than --max-lost. It is 3 at the budget and 130 after Ctrl-C.
    """
    from axisjudge.judges.lifecycle import known_retirement, warn_of
    from axisjudge.judging import RunOptions, judging_run
    from axisjudge.judging.judging_run import Outcome, check_batches, warn_of_other_families
    from axisjudge.judging.machines import Shard, judge_files
    from axisjudge.protocol import read_sources, read_split
    from axisjudge.workbench import own

    if require_stable and not again:
        raise InputError("--require-stable", "watches a judge asked again", cure="add --again")
    versions = show.pairs("--rubric", rubric, "axis=version", cure="for example argument_validity=v2")
    if cluster is not None:
        from axisjudge.cluster import workers_of

        show.in_one_process(context, *_OF_ONE_PROCESS)
        out = out or own() / "data" / "ratings" / "ratings.jsonl"
        asked = {"axes": axis, "versions": versions, "repeats": repeats}
        with workers_of(cluster) as workers:
            judged = judge_files(paths, judge or ["rules"], out, workers, reading=vars(supplied), judging=asked)
        show.account.refused += judged.refused
        warn_of_other_families(judged.ratings)
        _print_judged_files(judged, out, json=json)
        stop(Outcome.of_all(judged.ratings).code(max_lost))
        return
    if split is not None and not paths:
        reading = read_sources(read_split().sources, strict=strict)
        show.account.refused += reading.refused
    else:
        reading = show.runs_of(paths, **vars(supplied), strict=strict)
    refused = [asdict(file) for file in reading.refused]
    trajectories = chosen = _side(reading.trajectories, split)[:limit]
    judges = judges_of(judge, panel) or ["rules"]
    share = None if shard is None else Shard.parse(shard)
    if share is not None:
        if cascade is not None:
            raise InputError("--shard", "is not for a cascade", cure="judge by each of its judges in turn")
        trajectories, judges = share.of_runs(chosen), [*share.of_judges(judges)]
    if out is None:
        out = own() / "data" / "ratings" / "ratings.jsonl"
        out = out if share is None else share.beside(out)
    arguments: dict[str, Any] = {
        "axes": axis,
        "versions": versions,
        "split": split,
        "exploratory": exploratory,
        "repeats": repeats,
        "again": again,
        "out": out,
        "keep_lost": keep_lost,
        "one_call": one_call,
        "retry": [name for name in (retry or "").split(",") if name],
    }
    how = RunOptions(
        concurrency=concurrency,
        patience_s=patience,
        **vars(spending),
        batch=batch,
        keep_prompts=keep_prompts,
    )
    if cascade is not None:
        if judge or panel:
            raise InputError("--cascade", "names its judges itself", cure="leave --judge and --panel out")
        from axisjudge.judging.cascade import Cascade

        both = Cascade.parse(cascade, below=below, audit=audit)
        _run_cascade(trajectories, both, arguments, how, max_lost=max_lost, dry_run=dry_run, json=json)
        return
    run = judging_run(trajectories, judges, **arguments)
    if share is not None:
        share.alone_in(out, run.kept.table()["trajectory_id"], chosen)
    plan = run.plan()
    if not json:
        n_warnings = f", {len(reading.warnings)} warnings (axisjudge read lists them)" if reading.warnings else ""
        typer.echo(
            f"{len(trajectories)} trajectories{n_warnings}; {plan.n_calls} calls to make, {plan.cached} ratings there"
        )
    if dry_run:
        check_batches(run, how)
        warn_of(known_retirement(each.spec.provider, each.model) for each in plan.judges)
        print_plan(run, how, json=json, calls=plan.n_calls, cached=plan.cached, refused=refused)
        return
    if not json:
        print_origins(run)
    ratings = carried_out(run, how, quiet=json)
    code = run.outcome.code(max_lost)
    agreement = None if again else _agreement(ratings)
    watched = _watched(run.kept.table(), ratings) if again else []
    if json:
        came = {"ratings": tally(ratings), "lost": losses(ratings), "agreement": agreement and agreement.to_dict()}
        came |= {"drift": watched} if again else {}
        ends = {"ends": run.outcome.rows(), "stopped": run.outcome.sentences()}
        show.as_json({"out": str(out), **came, **ends, "refused": refused, **show.standing_fields(ratings)})
    else:
        _print_came(ratings)
        if agreement is not None:
            print_agreement(agreement)
        _print_drift(watched)
        show.standing(ratings)
        typer.echo(f"\nRatings: {out}")
        print_outcome(run.outcome)
    stop(code)
    codes = {each.exit_code for each in watched} or {4}
    if require_stable:  # a judge that drifted before one of which it cannot be told
        stop(1 if 1 in codes else max(codes))


def _side(trajectories: Sequence[Trajectory], split: str | None) -> Sequence[Trajectory]:
    """The trajectories of one side, so that --limit counts those; without one, or a name that is none, all of them."""
    if split is None:
        return trajectories
    from axisjudge.protocol import read_split

    known = read_split()
    return [run for run in trajectories if known.side_of(run) == split] if split in known.shares else trajectories


def _agreement(ratings: pl.DataFrame) -> Any:
    if ratings["rater"].n_unique() < 2:
        return None
    from axisjudge.studies.agreement.by_question import agreement_by_axis

    return agreement_by_axis(ratings)


def _watched(kept: pl.DataFrame, ratings: pl.DataFrame) -> list[Drift]:
    """Each judge of this run against its first occasion, on the questions of this run; from the second on."""
    from axisjudge.studies.succession.bridge import occasion_repeats, watch_drift
    from axisjudge.verdict import IDENTITY

    question = [name for name in IDENTITY if name != "repeat"]
    every = kept.join(ratings.select(question), on=question, how="semi", nulls_equal=True)
    by_rater = every.partition_by("rater", maintain_order=True)
    return [watch_drift(mine, mine["rater"][0]) for mine in by_rater if len(occasion_repeats(mine)) > 1]


def _print_drift(watched: Sequence[Drift]) -> None:
    """Every occasion against the first, and whether to stop."""
    from axisjudge.studies.succession import drift_sentence
    from axisjudge.studies.succession.bridge import drift_rows

    for drift in watched:
        show.table(drift_rows(drift), f"{drift.judge}, against the first occasion")
        typer.echo(drift_sentence(drift))


def _print_judged_files(judged: JudgedFiles, out: Path, *, json: bool) -> None:
    """What came of files that workers judged."""
    if json:
        counts = {"trajectories": judged.n_trajectories, "written": judged.n_written, "warnings": judged.n_warnings}
        ends = {"ratings": tally(judged.ratings), "lost": losses(judged.ratings)}
        show.as_json({"out": str(out), **counts, **ends, "refused": [asdict(file) for file in judged.refused]})
        return
    warned = f", {judged.n_warnings} warnings (axisjudge read lists them)" if judged.n_warnings else ""
    typer.echo(f"{judged.n_trajectories:,} trajectories{warned}; {judged.n_written:,} ratings written")
    _print_came(judged.ratings)
    typer.echo(f"\nRatings: {out}")


def _run_cascade(
    trajectories: Sequence[Trajectory],
    cascade: Cascade,
    arguments: dict[str, Any],
    options: RunOptions,
    *,
    max_lost: float,
    dry_run: bool,
    json: bool,
) -> None:
    """Ask the first judge, then the second; the budget is one for both."""
    from axisjudge.judging.cascade import check_cascade, second_run
    from axisjudge.judging.judging_run import Outcome
    from axisjudge.ratings.edge import EMPTY_RUN

    first, most = check_cascade(trajectories, cascade, options=options, **arguments)
    if dry_run:
        if json:
            show.as_json({"cascade": [plan_fields(run, options) for run in (first, most)]})
            return
        print_plan(first, options, "First judge")
        print_plan(most, options, "Second judge, at most")
        return
    ratings = carried_out(first, options, quiet=json)
    code, both = first.outcome.code(max_lost), first.outcome
    ends_here = code in (3, 130) or any(end.stopped for end in both.ends)  # else the second is paid for what it left
    judged = ratings[:0]
    if not ends_here:
        second = second_run(trajectories, cascade, ratings, **arguments)
        judged = carried_out(second, options, quiet=json)
        code = second.outcome.code(max_lost) or code
        both = Outcome(second.outcome.wanted, second.outcome.answered, (*both.ends, *second.outcome.ends))
    lost = [*losses(ratings), *losses(judged)]
    if json:
        counts = {"first": tally(ratings), "second": tally(judged), "lost": lost}
        show.as_json({"out": str(arguments["out"]), **counts, "ends": both.rows(), "stopped": both.sentences()})
    else:
        show.table(tally(ratings), "First judge")
        if not ends_here:
            show.table(tally(judged), "Second judge: what the first is unsure of, and a share of the rest")
        if lost:
            show.table(lost, f"Lost verdicts ({_WHO_ASKS})")
        n_asked, n_rated = (table.filter(~EMPTY_RUN).height for table in (judged, ratings))
        typer.echo(f"\n{n_asked} of {n_rated} verdicts were asked of {cascade.second}; weight each by 1/p.")
        print_outcome(both)
    stop(code)


# `axisjudge doctor`: whether judges and the machine are fit for a study, before it is begun.

_PACKAGES = ("axisjudge", "openai", "anthropic", "genai-prices", "polars", "papermill", "jupyterlab", "playwright")


@show.app.example("doctor --judge openai:gpt-5 --judge anthropic:claude-sonnet-4-6")
def doctor(
    judge: show.Judges = [],
    panel: show.Panel = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the calls are made.")] = False,
    json: show.Json = False,
) -> None:
    """Ask each judge twice, its price said first; without judges, look at the environment.

    A server of your own is asked four times more, for 24 tokens each. Shown are the key, the model that answers,
    whether the mechanism is accepted and the cache is seen on the second call, the day the model is shut down, the
    clock, and the headers that tell of limits. Exit code 1 where one fails.
    """
    from axisjudge.judges import make_judges
    from axisjudge.judging.doctor import examine

    judges = make_judges(judges_of(judge, panel))
    if not judges:
        show.listed("environment", _environment(), json=json)
        return
    _say_price(judges, yes=yes)
    examined = [asyncio.run(examine(judge)) for judge in judges]
    rows = [each.row() for each in examined]
    faults = [f"{each.judge.rater}: {fault}" for each in examined for fault in each.faults]
    if json:
        show.as_json({"judges": rows, "faults": faults})
    else:
        for row in rows:
            facts = [{"what": name, "found": show.text(value)} for name, value in row.items()]
            show.table(facts[1:], row["judge"])
        for fault in faults:
            typer.echo(f"\n{fault}")
    if faults:
        raise typer.Exit(1)


def _say_price(judges: Sequence[Judge], *, yes: bool) -> None:
    from axisjudge.judging import RunOptions
    from axisjudge.judging.doctor import examination_plan
    from axisjudge.judging.estimate import agree, estimate_of
    from axisjudge.ratings import ratings_frame

    for judge in judges:
        how = RunOptions(concurrency=1, confirm=yes, allow_unpriced=True)
        agree(estimate_of(examination_plan(judge), ratings_frame([]), how), how)


def _environment() -> list[dict[str, Any]]:
    """Versions, the workbench and its data, which keys are set, and what reports and screenshots need."""
    import os
    import platform
    from importlib.metadata import distributions

    from axisjudge.judges.anthropic_judge import AnthropicJudge
    from axisjudge.judges.openai_judge import OpenAIJudge
    from axisjudge.workbench import home

    there = {name: next((each.version for each in distributions(name=name)), "not installed") for name in _PACKAGES}
    values = {"python": platform.python_version(), **there}
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


def _chromium() -> str:
    """Whether a browser is there that playwright, or anybody, can drive."""
    from shutil import which

    on_path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
    caches = [Path.home() / ".cache" / "ms-playwright", Path.home() / "Library" / "Caches" / "ms-playwright"]
    kept = [folder for cache in caches if cache.is_dir() for folder in sorted(cache.glob("chromium*"))]
    return on_path or (str(kept[-1]) if kept else "not found; python -m playwright install chromium")


# `axisjudge models`: what no list knows of a model.

models_app = show.app.group(
    "models", "Models that no list knows: their family, price, context and end, in models.toml."
)


@models_app.example("list")
def models_list(json: show.Json = False) -> None:
    """The models that models.toml states."""
    from axisjudge.spec.own_models import own_models

    rows = [each.model_dump(mode="json") for each in own_models()]
    show.listed("models", rows, "" if rows else "Models of your own (axisjudge models add)", json=json)


@models_app.example("add acme-judge-9 --family acme --input 0.5 --output 2")
def models_add(
    name: Annotated[str, typer.Argument(help="The model, as a judge spec names it.")],
    family: Annotated[str | None, "Its family, which decides what is cross-family."] = None,
    input: Annotated[float | None, "US dollars a million tokens of the prompt."] = None,
    output: Annotated[float | None, "US dollars a million tokens of the answer, thought included."] = None,
    cached: Annotated[float | None, "US dollars a million tokens from a cache [as --input]."] = None,
    context: Annotated[int | None, "Tokens of its context."] = None,
    retires: Annotated[str | None, "The day it is shut down, as 2027-05-01."] = None,
    source: Annotated[str | None, "Who says so: a page, a contract."] = None,
    provider: Annotated[str | None, "Only for specs of this provider."] = None,
) -> None:
    """Say once what a model is; what stands in models.toml goes before any list."""
    from axisjudge.spec.own_models import add_model

    prices = {"input_usd": input, "output_usd": output, "cached_usd": cached}
    rest = {"family": family, "context": context, "retires_on": retires, "source": source, "provider": provider}
    typer.echo(f"Written: {add_model({'name': name, **prices, **rest})}")
