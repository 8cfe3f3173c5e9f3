"""`axisjudge axis-result|axis-baseline`: AXIS Results from 0 to 100, gated against a baseline kept in git."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.judging import carried_out, judges_of, losses, print_outcome, print_plan, stop

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judging import JudgingRun, RunOptions
    from axisjudge.judging.signals import SignalQuestions
    from axisjudge.scores.axis.result import AxisResult
    from axisjudge.scores.axis.scenario import Scoring
    from axisjudge.scores.curves.curve import CurveFit
    from axisjudge.studies.axis_result import AxisResults, JudgedResults
    from axisjudge.studies.axis_result.gate import Baseline, Gate, Rule
    from axisjudge.studies.axis_result.runs import RunUsage
    from axisjudge.trajectory import Trajectory


# `axisjudge axis-result --baseline` and `axisjudge axis-baseline`: the gate and its baselines.

baseline_app = show.app.group("axis-baseline", "Baselines of AXIS Results, files in git.")


@dataclass(frozen=True)
class _GateAsked:
    """What a gate is asked: against which baseline, by which rules and floor, and where it is written."""

    baseline: Baseline | None
    rules: tuple[Rule, ...]
    floor: float | None
    junit: Path | None
    summary: Path | None


def _gate_asked(
    baseline: str | None, fail_if: Sequence[str], fail_under: float | None, junit: Path | None, summary: Path | None
) -> _GateAsked | None:
    """The gate that was asked for, read and checked before anything is scored or paid; None where none was."""
    given = {"--fail-if": fail_if and baseline is None, "--junit": junit, "--summary": summary}
    if baseline is None and fail_under is None:
        if idle := [name for name, value in given.items() if value]:
            raise InputError(idle[0], "is about a gate", cure="add --baseline NAME or --fail-under NUMBER")
        return None
    if given["--fail-if"]:
        raise InputError("--fail-if", "is a change from a baseline", cure="add --baseline NAME")
    if fail_under is not None and not 0 <= fail_under <= 100:
        raise InputError("--fail-under", "must lie between 0 and 100", fail_under)
    from axisjudge.studies.axis_result.gate import read_baseline, rule_of

    kept = None if baseline is None else read_baseline(baseline)  # a name of no letter is asked about, not passed over
    return _GateAsked(kept, tuple(map(rule_of, fail_if)), fail_under, junit, summary)


def _save(
    name: str, runs: Sequence[Trajectory], results: Sequence[AxisResult], curves: Mapping[str, CurveFit] | None
) -> None:
    """Write a baseline and say where, on the error stream, as --json may follow."""
    from axisjudge.studies.axis_result.gate import Baseline, ruler_of, save_baseline, scored_runs

    kept = Baseline(name=name, ruler=ruler_of(results, curves), runs=scored_runs(runs, results))
    path = save_baseline(kept)
    typer.echo(f"Baseline {name}: {len(kept.runs)} runs in {path}; commit it.", err=True)


def _decide(
    asked: _GateAsked,
    runs: Sequence[Trajectory],
    results: Sequence[AxisResult],
    curves: Mapping[str, CurveFit] | None,
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
        from axisjudge.workbench import write_markup

        write_markup(asked.junit, junit(decided))
    if asked.summary is not None:
        asked.summary.parent.mkdir(parents=True, exist_ok=True)
        with asked.summary.open("a", encoding="utf-8") as file:
            file.write(markdown(decided))
    if json:
        show.as_json(decided.to_dict())
    else:
        _print_gate(decided)
    return decided.exit_code


def _print_gate(decided: Gate) -> None:
    from axisjudge.studies.axis_result.gate import heads, row

    if decided.warning:
        typer.echo(decided.warning)
    rows = [dict(zip(heads(decided), row(each), strict=True)) for each in decided.decisions]
    show.table(rows, "Gate; the interval is over repeats of the same scenario")
    if unmet := [each.sentence for each in decided.decisions if each.exit_code]:
        show.lines(unmet, apart=True)
    show.lines([decided.answer], apart=True)


@baseline_app.example("history main")
def history(name: Annotated[str, typer.Argument(help="The baseline's name.")], json: show.Json = False) -> None:
    """Mean scores of a baseline at each commit that changed it, the newest first."""
    from axisjudge.studies.axis_result.gate import history as commits

    rows = commits(name)
    if json:
        show.as_json({"baseline": name, "history": rows})
        return
    named = ("commit", "date", "scenario", "agent", "n_runs", "n_broken")
    means = [{**{key: getattr(each, key) for key in named}, **_score_columns(each.means)} for each in rows]
    heads = list(dict.fromkeys(key for row in means for key in row))
    show.table([{key: row.get(key) for key in heads} for row in means], f"Baseline {name}, the newest commit first")


def _score_columns(means: Mapping[str, float]) -> dict[str, float]:
    from axisjudge.studies.axis_result.runs import score_column

    return {score_column(name): mean for name, mean in means.items()}


@baseline_app.example("list")
def list_(json: show.Json = False) -> None:
    """The baselines there are, with their scenarios, agents and runs."""
    from axisjudge.studies.axis_result.gate import by_pair, folder, read_baseline

    kept = [read_baseline(path.stem) for path in sorted(folder().glob("*.json"))]
    rows = [{"baseline": each.name, "pairs": len(by_pair(each.runs)), "runs": len(each.runs)} for each in kept]
    show.listed("baselines", rows, "Baselines; a pair is a scenario and an agent", json=json)


# `axisjudge axis-result`: an AXIS Result for every transcript, its signals by rules or by judges.

_MOST_SIGNALS = 12


@show.app.example("axis-result session.jsonl --checks scenario.yaml")
def axis_result(
    context: typer.Context,
    transcripts: Annotated[list[Path], typer.Argument(help="Transcripts or trajectories: files, folders or globs.")],
    checks: Annotated[
        list[Path], "Scenario with goal checks (JSON or YAML); several are told apart by name and task."
    ] = [],
    config: Annotated[Path | None, "axis.config.json with weights of the dimensions."] = None,
    signals: Annotated[str, "Who judged the signals: rules, or a file of ratings."] = "rules",
    judge: show.Judges = [],
    panel: show.Panel = None,
    combine: Annotated[str, "How the numbers of several judges on a signal are combined: mean or median."] = "mean",
    allow_own_family: Annotated[bool, "Let a judge judge agents of its own family; marks the result."] = False,
    exploratory: show.Exploratory = False,
    out: Annotated[Path | None, "Where judges' ratings are kept [default: data/ratings/axis_signals.jsonl]"] = None,
    dry_run: show.DryRun = False,
    spending: show.Spending = show.Spending(),
    grades: Annotated[Path | None, "Ratings of the goal checks; else those among --signals."] = None,
    rules: Annotated[str, "documented (the published text) or upstream (the original program)."] = "documented",
    curves: Annotated[Path | None, "Curve file of `curve fit --dimension`, to replace the program's curves."] = None,
    compare: Annotated[list[Path], "Transcripts of the same tasks to compare with; those above come first."] = [],
    save_baseline: Annotated[
        str | None, "Keep the scores as baselines/NAME.json, to be committed; not if a gate fails."
    ] = None,
    baseline: Annotated[str | None, "Gate these runs against the baseline of that name."] = None,
    fail_if: Annotated[
        list[str], "A fall that fails the gate, in points: environment<-5 [default: composite<-5]."
    ] = [],
    fail_under: Annotated[float | None, "Fail where a scenario's mean composite lies below; from 0 to 100."] = None,
    junit: Annotated[Path | None, "Write the gate's decisions as JUnit XML."] = None,
    summary: Annotated[Path | None, "Append the gate's decisions as Markdown."] = None,
    form: Annotated[
        str, typer.Option("--format", help="table, or axis-json: a report as the original program writes it.")
    ] = "table",
    html: Annotated[Path | None, "Write the runs on lines of time, as one page that works offline."] = None,
    redact: show.Redact = True,
    strict: show.Strict = False,
    cluster: show.Cluster = None,
    json: show.Json = False,
) -> None:
    """The composite or its interval, the four dimensions, signals, the weakest of them, and the slowest call.

    A gate (--baseline, --fail-under) ends with 1 on a shown fall, a collapse, a broken floor or a file that cannot be
    read, 4 where repeats are too few to tell, else 0.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.scores.axis.axis_json import axis_json
    from axisjudge.scores.axis.rule_sets import rule_set
    from axisjudge.scores.axis.scenario import read_scenario, read_weights
    from axisjudge.scores.curves.fit import read_curves
    from axisjudge.studies.axis_result import axis_result as study
    from axisjudge.studies.axis_result.gate import path_of
    from axisjudge.studies.axis_result.runs import usage_of

    one_of("--format", form, ("table", "axis-json"))
    asked = _gate_asked(baseline, fail_if, fail_under, junit, summary)
    _refuse_other_answers(form, gate=asked is not None, compared=bool(compare))
    if save_baseline is not None:
        path_of(save_baseline)  # refused before anything is paid
    how: Scoring = {
        "grades": None if grades is None else read_ratings(grades, latest=True),
        "scenarios": [read_scenario(path) for path in checks],
        "combine": "median" if one_of("--combine", combine, ("mean", "median")) == "median" else "mean",
        "rules": rule_set(rules),
        "weights": None if config is None else read_weights(config),
        "curves": None if curves is None else read_curves(curves),
    }
    if cluster is not None:
        alone = ("judge", "panel", "signals", "html", "dry_run", "form", "save_baseline", "baseline", "fail_under")
        show.in_one_process(context, *alone)
        with TemporaryFile() as lines:
            results = _on_cluster(cluster, transcripts, compare, how, lines if json else None, strict=strict)
            _print_axis_result(*results, compared=bool(compare), json=json, lines=lines)
        return
    runs, later = (show.runs_of(paths, strict=strict).trajectories if paths else [] for paths in (transcripts, compare))
    table = None if signals == "rules" else read_ratings(signals, latest=True)
    ratings_file = _ratings_file(out)
    if judges := judges_of(judge, panel):
        if table is not None:
            raise InputError("--signals", "names ratings that are there; --judge asks for new ones", cure="give one")
        from axisjudge.judging import RunOptions
        from axisjudge.judging.signals import signals_run

        questions = _signal_questions(how, allow_own_family=allow_own_family, exploratory=exploratory)
        run = signals_run([*runs, *later], judges, questions, out=ratings_file)
        money = RunOptions(**vars(spending))
        if dry_run:
            print_plan(run, money, f"{run.plan().n_calls} calls to make", json=json)
            return
        table = _asked(run, money, quiet=json)
    scored = study(runs, later, signals=table, names=("before", "after"), **how)
    if html is not None:
        _write_page(html, runs, scored, redact=redact)
    exit_code = None
    if asked:
        exit_code = _decide(asked, runs, scored.runs.results, how["curves"], scored.run.made_up, json=json)
    if save_baseline is not None and show.account.refused:
        typer.echo(f"Baseline {save_baseline} is not saved: runs are missing.", err=True)
    elif save_baseline is not None and not exit_code:
        _save(save_baseline, runs, scored.runs.results, how["curves"])
    if exit_code is not None:
        raise typer.Exit(exit_code)
    _refuse_uncompared(scored, compared=bool(compare))
    if form == "axis-json":
        show.as_json(axis_json(runs, scored.runs.results))
        return
    used, rewards = [usage_of(each) for each in runs], {run.id: run.reward for run in runs}
    _print_axis_result(scored, used, rewards, compared=bool(compare), json=json)
    if json:
        return
    if scored.judged is not None and scored.judged.agreement is not None:
        _print_judges(scored.judged)
    if judges and table is not None:
        _print_lost(table, ratings_file)


def _on_cluster(
    cluster: str,
    transcripts: Sequence[Path],
    compare: Sequence[Path],
    how: Scoring,
    lines: IO[bytes] | None,
    *,
    strict: bool,
) -> tuple[AxisResults, list[RunUsage], dict[str, float | None]]:
    """What is behind the results of runs that workers score, and the usage and rewards that their sources state.

    Where there are `lines` the results of the first runs are written there as JSON, and none is held in full.
    """
    from axisjudge.cluster import workers_of
    from axisjudge.readers.by_file import made_of_files
    from axisjudge.studies._shared.frames import made_up_raters
    from axisjudge.studies.axis_result import behind_results

    work = partial(_scored, how=how, json=lines is not None)
    results, used, rewards = list["AxisResult"](), list["RunUsage"](), dict[str, float | None]()
    with workers_of(cluster) as workers:
        reading = made_of_files(transcripts, work, workers, strict=strict)
        for result, usage, reward, line in reading:
            if lines is not None:
                lines.write(b",\n    " + line if results else line)
            results.append(result)
            used.append(usage)
            rewards[result.trajectory_id] = reward
        later = made_of_files(compare, work, workers, strict=strict) if compare else None
        others = [result for result, *_ in later or ()]
    show.account.refused += [*reading.refused, *(later.refused if later else ())]
    made_up = made_up_raters(None, how["grades"])
    return behind_results(results, others, made_up=made_up, names=("before", "after")), used, rewards


def _scored(
    runs: Sequence[Trajectory], *, how: Scoring, json: bool
) -> list[tuple[AxisResult, RunUsage, float | None, bytes]]:
    """For each run its result, in short and as JSON where that is wanted, what it used, and its reward."""
    from axisjudge.scores.axis.scenario import axis_results
    from axisjudge.studies.axis_result.runs import usage_of

    results = axis_results(runs, **how)
    lines = [show.json_of(result).replace(b"\n", b"\n    ") if json else b"" for result in results]
    short = [result.in_short() if json else result for result in results]
    return list(zip(short, map(usage_of, runs), (run.reward for run in runs), lines, strict=True))


def _refuse_other_answers(form: str, *, gate: bool, compared: bool) -> None:
    """One command prints one answer; the others that were asked for would be passed over."""
    answers = {"a gate": gate, "--compare": compared, f"--format {form}": form != "table"}
    if len(given := [name for name, is_asked in answers.items() if is_asked]) > 1:
        raise InputError(given[-1], f"is another answer than {given[0]} gives", cure="ask for them one by one")


def _write_page(html: Path, runs: Sequence[Trajectory], scored: AxisResults, *, redact: bool) -> None:
    from axisjudge.explorer.timeline import write_timeline
    from axisjudge.sharing import in_words

    by_id = {each.id: each for each in runs}
    of_page = [(by_id[each.trajectory_id], each) for each in scored.runs.results]
    secrets = Counter[str]()
    write_timeline(html, of_page, scored.runs.results.index(scored.run.run), secrets, redact=redact)
    what = f"{len(of_page)} runs" if len(of_page) > 1 else f"run {scored.run.run.trajectory_id}"
    typer.echo(f"Page of {what}: {html}", err=True)
    typer.echo(in_words(secrets), err=True, nl=bool(secrets))


def _refuse_uncompared(scored: AxisResults, *, compared: bool) -> None:
    if compared and scored.comparison.refusal:
        cure = "runs of one scenario need one task: name it with --checks, or give AXIS reports"
        raise InputError("--compare", scored.comparison.refusal, cure=cure)


def _print_axis_result(
    scored: AxisResults,
    used: Sequence[RunUsage],
    rewards: Mapping[str, float | None],
    *,
    compared: bool,
    json: bool,
    lines: IO[bytes] | None = None,
) -> None:
    """Print tables, or all as JSON, whose results may stand in `lines`."""
    from axisjudge.results import plain
    from axisjudge.studies.axis_result import spread_rows, spreads

    _refuse_uncompared(scored, compared=compared)
    if json:
        apart = {"spread": spreads(scored.runs.results, rewards)} if len(scored.runs.results) > 1 else {}
        rest = {**_beside(scored), **apart, "usage": used}
        if lines is None:
            show.as_json({"results": scored.runs.results, **rest})
        else:
            show.as_json_after("results", lines, rest)
        return
    if scored.banner:
        typer.echo(scored.banner)
    if compared:
        rows = plain(scored.comparison.table)
        show.table(rows, "Change, after minus before; the interval is over repeats of the same tasks")
        typer.echo(f"\n{scored.comparison.answer}")
    else:
        _print_runs(scored, used)
        if len(scored.runs.results) > 1:
            rows = spread_rows(spreads(scored.runs.results, rewards))
            show.table(rows, "How the scores of these runs lie, and whether they go with reward")


def _beside(scored: AxisResults) -> dict[str, Any]:
    """What stands beside the results of single runs."""
    means = {"agents": scored.agents.agents} if len(scored.runs.results) > 1 else {}
    compared = {"comparison": scored.comparison} if scored.others else {}
    by_judge = scored.judged.to_dict() if scored.judged else {}
    return {**means, **compared, **by_judge}


def _print_runs(scored: AxisResults, used: Sequence[RunUsage]) -> None:
    from axisjudge.results import plain
    from axisjudge.scores.axis.result import mean_result

    if len(scored.runs.results) == 1:
        _print_run(scored.run.run, scored.weakest.rows)
        if known := {name: value for name, value in used[0]._asdict().items() if value is not None}:
            show.table([known], "Usage, as the source states it")
        return
    scores = ("goal_score", "environment_score", "service_score", "agent_score")
    shown = ("trajectory_id", "agent", "task", "axis_result", *scores, "slowest_call", "weakest")
    stated = [name for name in used[0]._fields if any(getattr(each, name) is not None for each in used)]
    usage = [{name: getattr(each, name) for name in stated} for each in used]
    rows = [{name: row[name] for name in shown} for row in plain(scored.runs.table)]
    show.table([{**row, **each} for row, each in zip(rows, usage, strict=True)], "AXIS Results")
    mean = mean_result(scored.runs.results)
    number = "none: not every run has one number" if mean is None else f"{mean:g}"
    typer.echo(f"\nMean AXIS Result of the runs that did not fail: {number}")
    _print_durations(scored.runs.results)
    _print_marks(scored.runs.results)


def _print_run(result: AxisResult, weakest: Sequence[Mapping[str, Any]]) -> None:
    band = f", {result.band}" if result.band else ""
    who = f"run {result.trajectory_id}, {result.agent or 'agent not stated'}"
    typer.echo(show.text(f"AXIS Result {result.shown}{band} ({who}; {result.rules.name} rules)"))
    low, high = result.bounds
    if (low, high) != result.interval:
        typer.echo(f"with what is missing or unknown at its ends: {low:g} to {high:g}")
    show.table([_rounded(row) for row in result.dimension_rows], "Dimensions")
    shown = [_rounded({key: row[key] for key in row if key != "context_bytes"}) for row in weakest]
    judged = f", judged by {result.judged_by}" if result.judged_by else ""
    show.table(shown, f"Signals of interactions below 1, the lowest first{judged}", most=_MOST_SIGNALS)
    necessity = result.dimension("agent").necessity
    if necessity.unnecessary:
        listed = ", ".join(f"#{id}" for id in necessity.unnecessary)
        typer.echo(show.text(f"  unnecessary: {listed}"))
    if slow := result.slowest:
        line = f"Slowest call: #{slow.id} {slow.tool_name}, {slow.duration_ms / 1000:,.1f} s (speed {slow.speed:g})"
        typer.echo("\n" + show.text(line))
    _print_durations([result])
    for insight in result.insights:
        typer.echo(f"Weakest signal below 75: {insight}")
    _print_marks([result])


def _print_durations(results: Sequence[AxisResult]) -> None:
    """How many calls last as long as their agent states, or as time stamps say; nothing where there are no calls."""
    counts = sum((Counter(each.counts.call_durations) for each in results), Counter[str]())
    words = {
        "stated": "as the agent states",
        "timestamps": "from the time stamps of call and result",
        "gap": "until what came next",
        "unknown": "unknown",
    }
    if parts := [f"{counts[source]} {source_words}" for source, source_words in words.items() if counts[source]]:
        typer.echo(f"Durations of {counts.total()} calls: {', '.join(parts)}")


def _print_marks(results: Sequence[AxisResult]) -> None:
    """Marks; of several runs those that differ only in their figures are counted together, the first one shown."""
    alike: dict[str, list[str]] = {}
    for mark in (mark for each in results for mark in each.marks):
        alike.setdefault(re.sub(r"[\d,.]+", "", mark), []).append(mark)
    if alike:
        typer.echo("\nMarks")
    for marks in alike.values():
        shown = marks[0] if len(set(marks)) == 1 else f"such as {marks[0]}"
        typer.echo(show.text(f"  {shown}" if len(results) == 1 else f"  {len(marks)} of {len(results)}: {shown}"))


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}


def _signal_questions(how: Scoring, *, allow_own_family: bool, exploratory: bool) -> SignalQuestions:
    """What judges are asked: all signals, and the goal checks where no grades are given."""
    from axisjudge.judging.signals import SignalQuestions

    return SignalQuestions(
        scenarios=how["scenarios"],
        checks=how["grades"] is None,
        rules=how["rules"],
        weights=how["weights"],
        allow_own_family=allow_own_family,
        exploratory=exploratory,
    )


def _ratings_file(out: Path | None) -> Path:
    """Where ratings of signals are kept."""
    from axisjudge.workbench import own

    return out or own() / "data" / "ratings" / "axis_signals.jsonl"


def _asked(run: JudgingRun, options: RunOptions, *, quiet: bool = False) -> pl.DataFrame:
    """The ratings of these judges on the runs, those that were there included; ends with 3 at the budget."""
    from axisjudge.judging.judging_run import AT_BUDGET

    ratings = carried_out(run, options, quiet=quiet)
    if run.outcome.code() == AT_BUDGET:
        print_outcome(run.outcome, quiet=quiet)
        stop(AT_BUDGET)
    return ratings


def _print_judges(judged: JudgedResults) -> None:
    """A result a judge beside the combined one, and the agreement on every signal."""
    show.table(judged.to_frame().to_dicts(), "Results by judge")
    if judged.agreement is not None:
        show.table(judged.agreement.rows(), "Agreement on each signal")
        show.lines(judged.agreement.sentences, apart=True)


def _print_lost(ratings: pl.DataFrame, out: Path) -> None:
    """What was lost and why, and where the ratings are."""
    if lost := losses(ratings):
        show.table(lost, "Lost answers (the same command asks for them again)")
    typer.echo(f"\nRatings: {out}")
