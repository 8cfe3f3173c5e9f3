"""`axisjudge split|holdout`: which tasks stand on which side, and the discipline of the held-out one."""

from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.judging import carried_out, losses, print_outcome, print_plan, stop, tally
from axisjudge.cli.show import Concurrency, Domain, DryRun, Paths, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from axisjudge.protocol import Leak, RatedBefore, Split
    from axisjudge.trajectory import Trajectory


app = show.app.group("split", "Splits: each task on one side, by a hash; some sides held out.")

Ratings = Annotated[list[Path] | None, "A ratings file [default: those in data/ratings]"]

_LISTED = 20
_BALANCE = (
    "Before anything is locked: remove rubrics/split.json and make it without --salt, for one that balances the sides."
)


@app.example('make results/ --tuned-on "28=v3 was tuned on simulation 14"')
def make(
    paths: Paths,
    tuned_on: Annotated[
        list[str], "A task that was used while tuning, as TASK=REASON; may be given several times."
    ] = [],
    side: Annotated[
        list[str], "A side and its share, as NAME=SHARE. Calibration and evaluation by halves if none."
    ] = [],
    held_out: Annotated[list[str], "A side that is held out [default: the last]"] = [],
    salt: Annotated[str | None, "The salt of the hash [default: a random one]"] = None,
    supplied: show.SourceOptions = show.SourceOptions(),
    ratings: Ratings = None,
    rated_open: Annotated[bool, "Tasks that judges have rated already stand on the open side."] = False,
    json: show.Json = False,
) -> None:
    """Make the split, or add trajectories to the one that is there: no task changes its side by that.

    Without --salt one is drawn under which the sides come near to their shares. Where the runs are is written down:
    `judge --split` and `holdout run` read them from there.
    """
    from axisjudge.protocol import RunSource, kept_ratings, make_split, rated_before, rated_tasks

    source = RunSource.of(paths, **vars(supplied))
    reading = source.read(strict=False)
    show.account.refused += reading.refused
    runs = reading.trajectories
    rated = kept_ratings(ratings or ())
    mine = {run.cluster_id for run in runs}
    known = {task: why for task, why in rated_tasks(rated).items() if task in mine} if rated_open else {}
    split = make_split(
        runs,
        source=source,
        salt=salt,
        shares={name: _share(share) for name, share in pairs("--side", side, "NAME=SHARE").items()} or None,
        held_out=held_out or None,
        tuned_on=known | pairs("--tuned-on", tuned_on, "TASK=REASON"),
    )
    _print(split, runs, json=json, rated=rated_before(rated, split))
    if not json:
        typer.echo(f"Next: axisjudge judge --split {split.open_side} --judge SPEC")


@app.example("show results/")
def show_(
    paths: Annotated[list[Path] | None, typer.Argument(help="Trajectory files, folders or globs.")] = None,
    domain: Domain = None,
    json: show.Json = False,
) -> None:
    """What each side holds; with trajectories their rewards too, and what is nearly the same on two sides (exit 1)."""
    from axisjudge.protocol import rated_before, read_split

    split = read_split()
    runs = show.runs_of(paths, domain=domain).trajectories if paths else []
    if _print(split, runs, json=json, rated=rated_before(None, split)):
        raise typer.Exit(1)


def _print(split: "Split", runs: "Sequence[Trajectory]", *, json: bool, rated: "RatedBefore") -> int:
    """Print the split; returns the number of leaks."""
    from axisjudge.protocol import find_leaks, holdings
    from axisjudge.protocol.split import FILE

    leaks = find_leaks(runs, split)
    if json:
        held = [asdict(holding) for holding in holdings(split, runs)] if runs else _listed(split)
        beside = {"leaks": [asdict(leak) for leak in leaks], "rated_before": asdict(rated), "lopsided": split.lopsided}
        show.as_json({**split.rule, "sides": held, **beside})
        return len(leaks)
    show.table(_rows(split, runs) if runs else _listed(split))
    for task, reason in split.tuned_on.items():
        typer.echo(f"Used while tuning, so never held out: task {task} ({reason})")
    for side, (n_tasks, of) in split.lopsided.items():
        share = f"{n_tasks} of {of} tasks, {n_tasks / of:.0%}, where its share is {split.shares[side]:.0%}"
        typer.echo(f"Lopsided: {side} holds {share}. {_BALANCE}")
    if rated:
        typer.echo(rated.sentence)
    if runs:
        _print_leaks(split, leaks)
    typer.echo(f"\nSplit: {FILE}")
    return len(leaks)


def _print_leaks(split: "Split", leaks: "tuple[Leak, ...]") -> None:
    typer.echo(f"Nearly the same on two sides: {len(leaks) or 'nothing'}")
    heads = ("what", "similarity", "task", "side", "and task", "on side")
    values = ((leak.kind, leak.similarity, *chain(*zip(leak.tasks, leak.sides, strict=True))) for leak in leaks)
    show.table([dict(zip(heads, row, strict=True)) for row in values], most=_LISTED)
    pairs = (pair for leak in leaks for pair in zip(leak.tasks, leak.sides, strict=True))
    if task := next((task for task, side in pairs if side in split.held_out), None):
        typer.echo(f'To have both of a pair on the open side: axisjudge split make PATHS --tuned-on "{task}=REASON"')


def _rows(split: "Split", runs: "Sequence[Trajectory]") -> list[dict[str, object]]:
    from axisjudge.protocol import holdings

    return [
        {
            "side": held.side,
            "held out": "yes" if held.held_out else "no",
            "share": held.share,
            "tasks": held.tasks,
            "tuned on": held.tuned_on,
            "trajectories": held.trajectories,
            "agents": held.agents,
            "with reward": held.rewarded,
            "mean reward": held.mean_reward,
        }
        for held in holdings(split, runs)
    ]


def _listed(split: "Split") -> list[dict[str, object]]:
    return [
        {
            "side": side,
            "held out": "yes" if side in split.held_out else "no",
            "share": share,
            "tasks": len(split.tasks.get(side, {})),
            "trajectories": sum(map(len, split.tasks.get(side, {}).values())),
        }
        for side, share in split.shares.items()
    ]


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("--side", "a share must be a number", text) from None


# `axisjudge holdout`: opening the held-out side, judging it as the lock says, and the record of it.

holdout_app = show.app.group("holdout", "The held-out side: open it, judge it, and see who did.")
#: The report on judges' agreement; it prints first what was declared.
_REPORT = "02_agreement"


@holdout_app.example('open --reason "v3 is final"')
def open_(
    reason: Annotated[str, "Why, in words."],
    ratings: Annotated[
        list[Path] | None, "Where ratings of held-out runs are looked for [default: those in data/ratings]"
    ] = None,
    despite_ratings: Annotated[bool, "Open although such ratings are there; the ledger says so."] = False,
    json: show.Json = False,
) -> None:
    """Open the held-out side under the lock that holds; the ledger keeps the reason and the number.

    Nothing is opened where judges have rated held-out runs already: what is no longer unseen confirms nothing.
    """
    from axisjudge.protocol import kept_ratings, open_holdout, read_ledger
    from axisjudge.protocol.ledger import looks

    with show.failed_check():
        entry = open_holdout(reason, ratings=kept_ratings(ratings or ()), despite_ratings=despite_ratings)
        seen = looks(read_ledger())
    if json:
        show.as_json({**entry.model_dump(), "looks": seen})
        return
    typer.echo(f"Opening {entry.opening}: {entry.reason}")
    if seen > 1:
        typer.echo(f"The held-out side has now been seen {seen} times; reports print by how much the best may flatter.")
    typer.echo("Next: axisjudge holdout run")


@holdout_app.example("run --report 02_agreement")
def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Trajectory files, folders or globs [default: those of the split]")
    ] = [],
    side: Annotated[str | None, "Which side, where several are held out."] = None,
    concurrency: Concurrency = 16,
    spending: show.Spending = show.Spending(),
    dry_run: DryRun = False,
    report: Annotated[str, "The report to make from the ratings; empty for none."] = _REPORT,
    out: Annotated[Path | None, "Ratings file [default: data/ratings/opening-K.jsonl]"] = None,
    json: show.Json = False,
) -> None:
    """Judge the opened side with the judges, rubrics and axes of the lock, and make the report; run again, it resumes.

    Exit codes as `axisjudge judge` has them.
    """
    from axisjudge.judging import RunOptions
    from axisjudge.judging.api import held_out_run
    from axisjudge.protocol import read_sources, read_split

    with show.failed_check():
        reading = show.runs_of(paths) if paths else read_sources(read_split().sources)
        judging = held_out_run(reading.trajectories, side=side, out=out)
    options = RunOptions(concurrency=concurrency, **vars(spending))
    if dry_run:
        print_plan(judging, options, json=json)
        return
    ratings = carried_out(judging, options, quiet=json)
    code = judging.outcome.code()
    page = None
    if report and not code:
        from axisjudge.report import run_report

        page = str(run_report(report, {"ratings": str(judging.kept.path)}).html)
    if json:
        came = {"ratings": tally(ratings), "lost": losses(ratings), "stopped": judging.outcome.sentences()}
        show.as_json({"out": str(judging.kept.path), "report": page, **came, **show.standing_fields(ratings)})
        stop(code)
        return
    show.table(tally(ratings))
    show.standing(ratings)
    typer.echo(f"\nRatings: {judging.kept.path}")
    print_outcome(judging.outcome)
    stop(code)
    if page:
        typer.echo(f"Report: {page}")


@holdout_app.example("log")
def log(json: show.Json = False) -> None:
    """Every lock, opening and exploratory look, the chain checked: exit code 1 where it is broken."""
    from axisjudge.protocol import read_ledger

    with show.failed_check():
        entries = read_ledger()
    if json:
        show.as_json({"entries": [entry.model_dump(exclude={"lock"}) for entry in entries]})
        return
    if not entries:
        typer.echo("Nothing is locked, and the held-out side was never opened.")
        return
    rows = [
        {
            "line": entry.number,
            "what": f"opening {entry.opening}" if entry.kind == "opening" else entry.kind,
            "time": entry.time,
            "lock": (entry.lock_sha256 or "-")[:12],
            "data": (entry.data_sha256 or "-")[:12],
            "reason": entry.reason,
        }
        for entry in entries
    ]
    show.table(rows)
    typer.echo("The chain is whole.")
