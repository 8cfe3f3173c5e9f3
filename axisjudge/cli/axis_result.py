"""`axisjudge axis-result`: an AXIS Result from 0 to 100 for every transcript."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.scores.axis.result import AxisResult

_MOST_SIGNALS = 12


def axis_result(
    transcripts: Annotated[list[Path], typer.Argument(help="Transcripts or trajectories: files, folders or globs.")],
    checks: Annotated[
        list[Path],
        typer.Option(help="Scenario with goal checks (JSON or YAML); several are told apart by name and task."),
    ] = [],  # noqa: B006
    config: Annotated[Path | None, typer.Option(help="axis.config.json with weights of the dimensions.")] = None,
    signals: Annotated[str, typer.Option(help="Who judges the signals: rules, or a file of ratings.")] = "rules",
    grades: Annotated[Path | None, typer.Option(help="Ratings of the goal checks; else those among --signals.")] = None,
    rules: Annotated[
        str, typer.Option(help="documented (the published text) or upstream (the original program).")
    ] = "documented",
    curves: Annotated[
        Path | None, typer.Option(help="Curve file of `curve fit --dimension`: fitted curves for the program's.")
    ] = None,
    compare: Annotated[
        list[Path], typer.Option(help="Transcripts of the same tasks to compare with; those above come first.")
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """The composite or its interval, the four dimensions, signals, the weakest of them, and the slowest call."""
    from axisjudge.analysis.axis_runs import agent_means, axis_results, compare_runs, made_up, results_frame
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories
    from axisjudge.scores.axis.result import mean_result
    from axisjudge.scores.axis.rule_sets import rule_set
    from axisjudge.scores.axis.scenario import read_scenario, read_weights
    from axisjudge.scores.curves.store import read_curves

    how: dict[str, Any] = {
        "signals": None if signals == "rules" else read_ratings(signals),
        "grades": None if grades is None else read_ratings(grades),
        "scenarios": [read_scenario(path) for path in checks],
        "rules": rule_set(rules),
        "weights": None if config is None else read_weights(config),
        "curves": None if curves is None else read_curves(curves),
    }
    results = axis_results(read_trajectories(*transcripts).trajectories, **how)
    others = axis_results(read_trajectories(*compare).trajectories, **how) if compare else []
    comparison = compare_runs(results, others) if compare else None
    if comparison is not None and comparison.refusal:
        cure = "runs of one scenario need one task: name it with --checks, or give AXIS reports"
        raise InputError("--compare", comparison.refusal, cure=cure)
    if json:
        means = {"agents": [each.to_dict() for each in agent_means(results)]} if len(results) > 1 else {}
        compared = {} if comparison is None else {"comparison": comparison.to_dict()}
        show.as_json({"results": [each.to_dict() for each in results], **means, **compared})
        return
    if warning := made_up([table for table in (how["signals"], how["grades"]) if table is not None]):
        typer.echo(warning)
    if comparison is not None:
        show.table(comparison.rows(), "Change, after minus before; the interval is over repeats of the same tasks")
        typer.echo(f"\n{comparison.sentence}")
    elif len(results) == 1:
        _print_run(results[0])
    else:
        scores = ("goal_score", "environment_score", "service_score", "agent_score")
        shown = ("trajectory_id", "agent", "task", "axis_result", *scores, "slowest_call", "weakest")
        show.table(results_frame(results).select(shown).to_dicts(), "AXIS Results")
        mean = mean_result(results)
        said = "none: not every run has one number" if mean is None else f"{mean:g}"
        typer.echo(f"\nMean AXIS Result of the runs that did not fail: {said}")
        _print_marks(results)


def _print_run(result: "AxisResult") -> None:
    band = f", {result.band}" if result.band else ""
    who = f"run {result.trajectory_id}, {result.agent or 'agent not stated'}"
    typer.echo(show.text(f"AXIS Result {result.shown}{band} ({who}; {result.rules.name} rules)"))
    low, high = result.bounds
    if (low, high) != result.interval:
        typer.echo(f"with what is missing or unknown at its ends: {low:g} to {high:g}")
    show.table([_rounded(row) for row in result.dimension_rows()], "Dimensions")
    rows = sorted(result.signal_rows(), key=_least)
    shown = [_rounded({key: row[key] for key in row if key != "context_bytes"}) for row in rows if _least(row) < 1]
    judged = f", judged by {result.judged_by}" if result.judged_by else ""
    show.table(shown[:_MOST_SIGNALS], f"Signals of interactions below 1, the lowest first{judged}")
    if (rest := len(shown) - _MOST_SIGNALS) > 0:
        typer.echo(f"  and {rest} more, all of them with --json")
    necessity = result.dimension("agent").necessity
    if necessity.unnecessary:
        listed = ", ".join(f"#{id}" for id in necessity.unnecessary)
        typer.echo(show.text(f"  unnecessary: {listed} ({necessity.rationale})"))
    if slow := result.slowest:
        line = f"Slowest call: #{slow.id} {slow.tool_name}, {slow.duration_ms / 1000:,.1f} s (speed {slow.speed:g})"
        typer.echo("\n" + show.text(line))
    for insight in result.insights:
        typer.echo(f"Weakest signal below 75: {insight}")
    _print_marks([result])


def _print_marks(results: Sequence["AxisResult"]) -> None:
    """Marks; of several runs those that differ only in their figures are counted together, the first one shown."""
    alike: dict[str, list[str]] = {}
    for mark in (mark for each in results for mark in each.marks):
        alike.setdefault(re.sub(r"[\d,.]+", "", mark), []).append(mark)
    if alike:
        typer.echo("\nMarks")
    for marks in alike.values():
        shown = marks[0] if len(set(marks)) == 1 else f"such as {marks[0]}"
        typer.echo(show.text(f"  {shown}" if len(results) == 1 else f"  {len(marks)} of {len(results)}: {shown}"))


def _least(row: dict[str, Any]) -> float:
    values: list[float] = [row[name] for name in ("success", "speed", "weight", "relevance") if row[name] is not None]
    return min(values)


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
