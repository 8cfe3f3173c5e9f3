"""`axisjudge axis-result --baseline` and `axisjudge axis-baseline`: runs gated against a baseline kept in git."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.scores.axis.result import AxisResult
    from axisjudge.scores.curves.fitted import CurveFit
    from axisjudge.studies.axis_result.gate import Baseline, Gate, GateDecision, Rule
    from axisjudge.trajectory import Trajectory

app = show.group("Baselines of AXIS Results, files in git.")


@dataclass(frozen=True)
class Asked:
    """What a gate is asked: against which baseline, by which rules and floor, and where it is written."""

    baseline: "Baseline | None"
    rules: "tuple[Rule, ...]"
    floor: float | None
    junit: Path | None
    summary: Path | None


def asked_of(
    baseline: str, fail_if: Sequence[str], fail_under: float | None, junit: Path | None, summary: Path | None
) -> Asked | None:
    """The gate that was asked for, read and checked before anything is scored or paid; None where none was."""
    given = {"--fail-if": fail_if and not baseline, "--junit": junit, "--summary": summary}
    if not baseline and fail_under is None:
        if idle := [name for name, value in given.items() if value]:
            raise InputError(idle[0], "is about a gate", cure="add --baseline NAME or --fail-under NUMBER")
        return None
    if given["--fail-if"]:
        raise InputError("--fail-if", "is a change from a baseline", cure="add --baseline NAME")
    if fail_under is not None and not 0 <= fail_under <= 100:
        raise InputError("--fail-under", "must lie between 0 and 100", fail_under)
    from axisjudge.studies.axis_result.gate import read_baseline, rule_of

    kept = read_baseline(baseline) if baseline else None
    return Asked(kept, tuple(map(rule_of, fail_if)), fail_under, junit, summary)


def save(
    name: str,
    runs: "Sequence[Trajectory]",
    results: "Sequence[AxisResult]",
    curves: "Mapping[str, CurveFit] | None",
) -> None:
    """Write a baseline and say where, on the error stream, as --json may follow."""
    from axisjudge.studies.axis_result.gate import Baseline, ruler_of, save_baseline, scored_runs

    kept = Baseline(name=name, ruler=ruler_of(results, curves), runs=scored_runs(runs, results))
    path = save_baseline(kept)
    typer.echo(f"Baseline {name}: {len(kept.runs)} runs in {path}; commit it.", err=True)


def decide(
    asked: Asked,
    runs: "Sequence[Trajectory]",
    results: "Sequence[AxisResult]",
    curves: "Mapping[str, CurveFit] | None",
    made_up: Sequence[str],
    *,
    json: bool,
) -> int:
    """Print and write the gate's decisions; returns its exit code.

    Raises
    ------
    InputError
        The baseline was measured by another ruler.
    """
    from axisjudge.studies.axis_result.gate import gate, junit, markdown, ruler_of, scored_runs

    if asked.baseline is not None and asked.baseline.ruler != (ruler := ruler_of(results, curves)):
        other = next(name for name in ruler if ruler[name] != asked.baseline.ruler.get(name))
        rule = f"was measured with other {other}: {asked.baseline.ruler.get(other)}, and these runs with {ruler[other]}"
        raise InputError(f"baseline {asked.baseline.name}", rule, cure="score both alike, or save the baseline anew")
    decided = gate(
        scored_runs(runs, results),
        asked.baseline,
        rules=asked.rules,
        floor=asked.floor,
        made_up=made_up,
        unread=[file.reason for file in show.account.refused],
    )
    if asked.junit is not None:
        asked.junit.parent.mkdir(parents=True, exist_ok=True)
        asked.junit.write_text(junit(decided), encoding="utf-8")
    if asked.summary is not None:
        asked.summary.parent.mkdir(parents=True, exist_ok=True)
        with asked.summary.open("a", encoding="utf-8") as file:
            file.write(markdown(decided))
    if json:
        show.as_json(decided.to_dict())
    else:
        _print(decided)
    return decided.exit_code


def _print(decided: "Gate") -> None:
    if decided.warning:
        typer.echo(decided.warning)
    show.table([_row(each) for each in decided.decisions], "Gate; the interval is over repeats of the same scenario")
    if unmet := [each.sentence for each in decided.decisions if each.exit_code]:
        show.lines(unmet, apart=True)
    show.lines([decided.answer], apart=True)


def _row(each: "GateDecision") -> dict[str, Any]:
    from axisjudge.results import reached

    own = {name: getattr(each, name) for name in ("scenario", "agent", "rule", "outcome", "before", "after")}
    of_change = {"change": "change.estimate", "low": "change.ci_low", "high": "change.ci_high"}
    change = {name: reached(each, path) for name, path in of_change.items()}
    return {**own, **change, "runs": f"{each.n_before}/{each.n_after}"}


@app.command(epilog="Example: axisjudge axis-baseline history main")
def history(
    name: Annotated[str, typer.Argument(help="The baseline's name.")],
    json: show.Json = False,
) -> None:
    """Mean scores of a baseline at each commit that changed it, the newest first."""
    from axisjudge.studies.axis_result.gate import history as commits

    rows = commits(name)
    if json:
        show.as_json({"baseline": name, "history": rows})
        return
    named = ("commit", "date", "scenario", "agent", "n_runs", "n_broken")
    means = [{**{key: getattr(each, key) for key in named}, **_columns(each.means)} for each in rows]
    heads = list(dict.fromkeys(key for row in means for key in row))
    show.table([{key: row.get(key) for key in heads} for row in means], f"Baseline {name}, the newest commit first")


def _columns(means: Mapping[str, float]) -> dict[str, float]:
    from axisjudge.studies.axis_result.runs import score_column

    return {score_column(name): mean for name, mean in means.items()}


@app.command("list", epilog="Example: axisjudge axis-baseline list")
def list_(json: show.Json = False) -> None:
    """The baselines there are, with their scenarios, agents and runs."""
    from axisjudge.studies.axis_result.gate import by_pair, folder, read_baseline

    kept = [read_baseline(path.stem) for path in sorted(folder().glob("*.json"))]
    rows = [{"baseline": each.name, "pairs": len(by_pair(each.runs)), "runs": len(each.runs)} for each in kept]
    show.listed("baselines", rows, "Baselines; a pair is a scenario and an agent", json=json)
