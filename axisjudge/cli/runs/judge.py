"""`axisjudge judge`: grade trajectories; by a cascade, or on many workers file by file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show
from axisjudge.cli.results.agreement import print_agreement
from axisjudge.cli.runs.judged import (
    carried_out,
    judges_of,
    losses,
    plan_fields,
    print_origins,
    print_outcome,
    print_plan,
    stop,
    tally,
)

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judging import RunOptions
    from axisjudge.judging.cascade import Cascade
    from axisjudge.studies.succession.bridge import Drift
    from axisjudge.trajectory import Trajectory

#: Options that are for a run in one process.
_OF_ONE_PROCESS = (
    *("panel", "split", "exploratory", "again", "limit", "shard", "cascade", "batch", "keep_prompts", "budget"),
    *("retry", "one_call", "dry_run", "strict", "keep_lost"),
)


def judge(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(help="Trajectory files, folders or globs [default, with --split: the split's]")
    ] = [],  # noqa: B006
    judge: options.Judges = [],  # noqa: B006
    panel: options.Panel = None,
    axis: Annotated[list[str], typer.Option(help="An axis; may be given several times. All five if none.")] = [],  # noqa: B006
    rubric: Annotated[list[str], typer.Option(help="A rubric version for an axis, as axis=v2.")] = [],  # noqa: B006
    tools: options.Tools = None,
    tool_kind: options.ToolKinds = [],  # noqa: B006
    policy: options.Policy = None,
    agent: options.Agent = None,
    domain: options.Domain = None,
    split: Annotated[
        str | None, typer.Option(help="Only this side of the split; held-out ones after lock and opening.")
    ] = None,
    exploratory: options.Exploratory = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Ask once more, or --repeats times, numbered after the repeats in --out: does a judge drift?",
        ),
    ] = False,
    limit: options.Limit = None,
    cluster: options.Cluster = None,
    shard: Annotated[
        str | None, typer.Option(help="i/n: the i-th of n shares of the runs, by their ids; rpm and tpm divided by n.")
    ] = None,
    strict: options.Strict = False,
    concurrency: options.Concurrency = 16,
    require_stable: Annotated[
        bool,
        typer.Option("--require-stable", help="With --again: exit 1 where a judge drifted, 4 where it cannot be told."),
    ] = False,
    keep_lost: Annotated[bool, typer.Option("--keep-lost", help="Do not ask again what was lost.")] = False,
    retry: Annotated[
        str | None, typer.Option(help="Also ask again what is often lost again: refused,truncated, or either.")
    ] = None,
    one_call: Annotated[
        bool, typer.Option("--one-call", help="All axes of a run in one call: cheaper; recorded as another judge.")
    ] = False,
    keep_prompts: Annotated[
        Path | None, typer.Option(help="Keep the whole prompt of each call beside its hash in this file (JSON Lines).")
    ] = None,
    cascade: Annotated[
        str | None, typer.Option(help='"SPEC > SPEC": the second judge where the first is unsure, and on --audit.')
    ] = None,
    below: Annotated[float, typer.Option(help="A confidence below this is unsure, in a cascade.")] = 0.8,
    audit: Annotated[float, typer.Option(help="Share of sure verdicts that the second judge checks too.")] = 0.1,
    batch: Annotated[
        bool, typer.Option("--batch", help="By the providers' batch interfaces: half price, within a day; resumable.")
    ] = False,
    max_lost: Annotated[
        float, typer.Option(min=0, max=1, help="Share of its verdicts that a judge may lose before the exit code is 1.")
    ] = 0.05,
    patience: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a provider may stay closed (429, 503, 529).")
    ] = 3_600,
    budget: options.Budget = None,
    allow_unpriced: options.AllowUnpriced = False,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    out: Annotated[
        Path | None, typer.Option(help="Ratings file [default: data/ratings/ratings.jsonl; of a shard ratings-i-of-n]")
    ] = None,
    json: show.Json = False,
) -> None:
    """Grade trajectories on the five axes, by rules if no judge is named; run again, it asks only what is missing.

    A file that cannot be read is listed with its reason and the others are judged; the exit code is then 1, as it is
    where a judge gave no verdicts or lost more than --max-lost. It is 3 at the budget and 130 after Ctrl-C.
    """
    from axisjudge.judges.lifecycle import known_retirement, warn_of
    from axisjudge.judging import RunOptions, judging_run
    from axisjudge.judging.machines import Shard
    from axisjudge.protocol import read_sources, read_split
    from axisjudge.workbench import own

    if require_stable and not again:
        raise InputError("--require-stable", "watches a judge asked again", cure="add --again")
    versions = options.pairs("--rubric", rubric, "axis=version", cure="for example argument_validity=v2")
    supplied: dict[str, Any] = {"tools": tools, "policy": policy, "agent": agent, "domain": domain}
    supplied["tool_kinds"] = tool_kind
    if cluster is not None:
        options.in_one_process(context, *_OF_ONE_PROCESS)
        run_on_cluster(
            cluster,
            paths,
            judge or ["rules"],
            out or own() / "data" / "ratings" / "ratings.jsonl",
            reading=supplied,
            judging={"axes": axis, "versions": versions, "repeats": repeats},
            json=json,
        )
        return
    if split is not None and not paths:
        reading = read_sources(read_split().sources, strict=strict)
        show.account.refused += reading.refused
    else:
        reading = show.runs_of(paths, **supplied, strict=strict)
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
        budget_usd=budget,
        allow_unpriced=allow_unpriced,
        confirm=yes,
        batch=batch,
        keep_prompts=keep_prompts,
    )
    if cascade is not None:
        if judge or panel:
            raise InputError("--cascade", "names its judges itself", cure="leave --judge and --panel out")
        from axisjudge.judging.cascade import Cascade

        both = Cascade.parse(cascade, below=below, audit=audit)
        run_cascade(trajectories, both, arguments, how, max_lost=max_lost, dry_run=dry_run, json=json)
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
        show.table(tally(ratings))
        if lost := losses(ratings):
            who_asks = "the same command asks for them again; refused and truncated ones with --retry"
            show.table(lost, f"Lost verdicts ({who_asks})")
        if agreement is not None:
            print_agreement(agreement)
        print_drift(watched)
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


def print_drift(watched: Sequence[Drift]) -> None:
    """Every occasion against the first, and whether to stop."""
    from axisjudge.studies.succession.bridge import drift_rows
    from axisjudge.studies.succession.sentences import drift_sentence

    for drift in watched:
        show.table(drift_rows(drift), f"{drift.judge}, against the first occasion")
        typer.echo(drift_sentence(drift))


def run_on_cluster(
    cluster: str,
    paths: Sequence[Path],
    judges: Sequence[str],
    out: Path,
    *,
    reading: Mapping[str, Any],
    judging: Mapping[str, Any],
    json: bool,
) -> None:
    """Judge files on the workers that `cluster` names, and print what came."""
    from axisjudge.cluster import workers_of
    from axisjudge.judging.machines import judge_files

    with workers_of(cluster) as workers:
        judged = judge_files(paths, judges, out, workers, reading=reading, judging=judging)
    show.account.refused += judged.refused
    refused = [asdict(file) for file in judged.refused]
    if json:
        counts = {"trajectories": judged.n_trajectories, "written": judged.n_written, "warnings": judged.n_warnings}
        ends = {"ratings": tally(judged.ratings), "lost": losses(judged.ratings), "refused": refused}
        show.as_json({"out": str(out), **counts, **ends})
    else:
        warned = f", {judged.n_warnings} warnings (axisjudge read lists them)" if judged.n_warnings else ""
        typer.echo(f"{judged.n_trajectories:,} trajectories{warned}; {judged.n_written:,} ratings written")
        show.table(tally(judged.ratings))
        typer.echo(f"\nRatings: {out}")


def run_cascade(
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
    from axisjudge.judging.outcome import Outcome

    first, most = check_cascade(trajectories, cascade, options=options, **arguments)
    if dry_run:
        if json:
            show.as_json({"cascade": [plan_fields(run, options) for run in (first, most)]})
            return
        print_plan(first, options, "First judge")
        print_plan(most, options, "Second judge, at most")
        return
    ratings = carried_out(first, options, quiet=json)
    if (code := first.outcome.code(max_lost)) in (3, 130):
        print_outcome(first.outcome, quiet=json)
        stop(code)
    second = second_run(trajectories, cascade, ratings, **arguments)
    judged = carried_out(second, options, quiet=json)
    both = Outcome(second.outcome.wanted, second.outcome.answered, (*first.outcome.ends, *second.outcome.ends))
    if json:
        counts = {"first": tally(ratings), "second": tally(judged), "lost": losses(judged)}
        show.as_json({"out": str(arguments["out"]), **counts, "ends": both.rows(), "stopped": both.sentences()})
    else:
        show.table(tally(ratings), "First judge")
        show.table(tally(judged), "Second judge: what the first is unsure of, and a share of the rest")
        typer.echo(
            f"\n{judged.height} of {ratings.height} verdicts were asked of {cascade.second}; weight each by 1/p."
        )
        print_outcome(both)
    stop(second.outcome.code(max_lost))
