"""`axisjudge plan`: how large a study must be, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, in_open_unit_interval, one_of, positive
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.judges.pricing import Tokens
    from axisjudge.studies.plan.pilots import StudyPlan

app = show.group("How many trajectories, labels, people and repeats a wanted precision takes, and what that costs.")

Judges = Annotated[list[str], typer.Option("--judge", help="A judge spec to price; may be given several times.")]
Prevalence = Annotated[float, typer.Option(help="Share of failures.")]
Minutes = Annotated[float | None, typer.Option(help="Minutes that one label takes.")]
Wage = Annotated[float, typer.Option(help="US dollars for an hour of labelling.")]
InputTokens = Annotated[int | None, typer.Option(min=1, help="Prompt tokens of one call.")]
OutputTokens = Annotated[int | None, typer.Option(min=1, help="Reply tokens of one call.")]


@app.command(
    cls=show.naming("Coefficients", show.coefficients),
    epilog="Example: axisjudge plan agreement --half-width 0.1 --kappa 0.6 --prevalence 0.2 --per-task 4",
)
def agreement(
    half_width: Annotated[float, typer.Option(help="Wanted half width of the interval.")] = 0.1,
    coefficient: Annotated[str, typer.Option(help="One of those named below.")] = "cohen_kappa",
    kappa: Annotated[float, typer.Option(help="Assumed kappa of two judges.")] = 0.6,
    prevalence: Prevalence = 0.2,
    per_task: Annotated[int, typer.Option(min=1, help="Runs (agents) of one task.")] = 1,
    pilot: Annotated[Path | None, typer.Option(help="Ratings to draw tasks from instead of assuming.")] = None,
    axis: Annotated[str, typer.Option(help="The pilot's question.")] = "argument_validity",
    judge: Judges = [],  # noqa: B006
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    json: show.Json = False,
) -> None:
    """Tasks for a half width of an agreement coefficient, from assumptions or from a pilot."""
    from axisjudge.ratings import read_ratings
    from axisjudge.stats.planning.studies import plan_agreement
    from axisjudge.studies.plan import pilot_sentence
    from axisjudge.studies.plan.pilots import judge_prices, pilot_of, study_plan

    in_open_unit_interval("--half-width", half_width)
    one_of("--coefficient", coefficient, show.coefficients())
    drawn = pilot_of(read_ratings(pilot, latest=True), axis) if pilot else None
    curve = plan_agreement(
        half_width,
        coefficient=coefficient,
        kappa=kappa,
        prevalence=prevalence,
        per_task=per_task,
        pilot=(drawn.ratings, drawn.tasks) if drawn else None,
    )
    tokens = _tokens(input_tokens, output_tokens, drawn.tokens if drawn else None)
    if drawn and not json:
        typer.echo(pilot_sentence(drawn))
    calls = drawn.runs_per_task if drawn else per_task
    _print(study_plan(curve, judges=judge_prices(judge, tokens), calls_per_unit=calls), json)


@app.command(
    epilog="Example: axisjudge plan labels --half-width 0.05 --sensitivity 0.9 --specificity 0.9 --judged 1000"
)
def labels(
    half_width: Annotated[float, typer.Option(help="Wanted half width of the corrected failure rate.")] = 0.05,
    prevalence: Prevalence = 0.2,
    sensitivity: Annotated[float, typer.Option(help="P(judge says incorrect | people say incorrect).")] = 0.9,
    specificity: Annotated[float, typer.Option(help="P(judge does not say incorrect | people do not).")] = 0.9,
    judged: Annotated[int, typer.Option(min=10, help="Runs that the judge rates.")] = 1000,
    pilot: Annotated[
        list[Path], typer.Option(help="Ratings and labels of a pilot, instead of the three assumptions above.")
    ] = [],  # noqa: B006
    axis: Annotated[str, typer.Option(help="The pilot's question.")] = "argument_validity",
    of: Annotated[str | None, typer.Option(help="The pilot's judge, where it has several.")] = None,
    judge: Judges = [],  # noqa: B006
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    minutes: Minutes = None,
    wage: Wage = 40.0,
    budget: Annotated[
        float | None, typer.Option(help="US dollars to share between labels and judged runs (--minutes, --judge).")
    ] = None,
    json: show.Json = False,
) -> None:
    """Labels, drawn at random, for a half width of a corrected failure rate."""
    from axisjudge.ratings import read_ratings
    from axisjudge.stats.planning.studies import allocate_budget, one_more_judged, plan_corrected_rate
    from axisjudge.studies.plan import allocation_sentence, judged_sentence, labelled_pilot_sentence
    from axisjudge.studies.plan.pilots import judge_prices, labelled_pilot, study_plan

    in_open_unit_interval("--half-width", half_width)
    if pilot:
        rated = labelled_pilot(read_ratings(*pilot, latest=True), axis, of)
        # a rate of exactly 0 or 1 in a small pilot is no rate to plan with
        floor = 1 / (2 * rated.n_items)
        prevalence = rated.prevalence
        sensitivity, specificity = (min(max(rate, floor), 1 - floor) for rate in (rated.sensitivity, rated.specificity))
        if not json:
            typer.echo(f"{labelled_pilot_sentence(rated)}\n")
    assumed: dict[str, Any] = {"prevalence": prevalence, "sensitivity": sensitivity, "specificity": specificity}
    curve = plan_corrected_rate(half_width, **assumed, n_judged=judged)
    gain = one_more_judged(half_width, **assumed, n_judged=judged)
    prices = judge_prices(judge, _tokens(input_tokens, output_tokens, None))
    plan = study_plan(curve, usd_per_label=_label_price(minutes, wage), labels_per_unit=1)
    more: dict[str, Any] = {"one_more_judged": gain}
    further = judged_sentence(gain, prices)
    if budget is not None:
        per_label, per_run = _label_price(minutes, wage), sum(each.usd_per_call or 0.0 for each in prices)
        if per_label is None or not per_run:
            raise InputError("--budget", "needs the price of a label and of a judge", cure="say --minutes and --judge")
        shared = allocate_budget(positive("--budget", budget), usd_per_label=per_label, usd_per_run=per_run, **assumed)
        more |= {"allocation": vars(shared)}
        further = f"{further} {allocation_sentence(shared, budget)}"
    _print(plan, json, more, further)


@app.command("stand-in", epilog="Example: axisjudge plan stand-in --people 3 --epsilon 0.1 --power 0.8")
def stand_in(
    power: Annotated[float, typer.Option(help="Wanted probability that the claim can be made.")] = 0.8,
    people: Annotated[int, typer.Option(min=3, help="People who label every item.")] = 3,
    epsilon: Annotated[float, typer.Option(help="How much worse than a person the judge may be.")] = 0.1,
    judge_accuracy: Annotated[float, typer.Option(help="Assumed accuracy of the judge.")] = 0.85,
    person_accuracy: Annotated[float, typer.Option(help="Assumed accuracy of a person.")] = 0.8,
    prevalence: Prevalence = 0.3,
    minutes: Minutes = None,
    wage: Wage = 40.0,
    json: show.Json = False,
) -> None:
    """Items for the claim that a judge may stand in for a person (alternative annotator test)."""
    from axisjudge.stats.planning.studies import plan_stand_in
    from axisjudge.studies.plan.pilots import study_plan

    curve = plan_stand_in(
        power,
        n_people=people,
        epsilon=epsilon,
        judge_accuracy=judge_accuracy,
        person_accuracy=person_accuracy,
        prevalence=prevalence,
    )
    _print(study_plan(curve, usd_per_label=_label_price(minutes, wage), labels_per_unit=people), json)


@app.command(epilog="Example: axisjudge plan repeats ratings.jsonl")
def repeats(
    ratings: Annotated[list[Path], typer.Argument(help="A pilot's ratings: two judges or more, asked twice or more.")],
    json: show.Json = False,
) -> None:
    """What more judges or more repeats buy, from the variance components of a pilot."""
    from axisjudge.ratings import read_ratings
    from axisjudge.studies.plan import LOWER_BOUNDS
    from axisjudge.studies.plan.pilots import panel_errors

    errors = panel_errors(read_ratings(*ratings, latest=True))
    if not errors:
        cure = "judge some runs with --repeats 2 and two judges first"
        raise InputError(str(ratings[0]), "must hold two judges that were asked twice", cure=cure)
    if json:
        show.as_json({"rows": errors})
        return
    rows = [each.named_values() for each in errors]
    show.table([{k: v for k, v in row.items() if k != "fixed judges"} for row in rows], "An item's mean verdict")
    if any(each.fixed_judges for each in errors):
        typer.echo(f"\n{LOWER_BOUNDS}")


def _label_price(minutes: float | None, wage: float) -> float | None:
    from axisjudge.studies.plan.pilots import label_price

    return None if minutes is None else label_price(positive("--minutes", minutes), positive("--wage", wage))


def _tokens(given: int | None, reply: int | None, piloted: Tokens | None) -> Tokens:
    from axisjudge.judges.pricing import Tokens
    from axisjudge.studies.plan.pilots import TOKENS

    basis = piloted or TOKENS
    return Tokens(given or basis.input, reply or basis.output)


def _print(plan: StudyPlan, json: bool, more: dict[str, Any] | None = None, further: str = "") -> None:
    from axisjudge.studies.plan import plan_sentence
    from axisjudge.studies.plan.pilots import plan_rows

    sentence = " ".join(filter(None, (plan_sentence(plan), further)))
    if json:
        show.as_json(plan.to_dict() | (more or {}) | {"sentence": sentence})
        return
    what = "Power" if plan.curve.of_power else "Half width"
    show.table([_row(row) for row in plan_rows(plan)], f"{what} for {plan.curve.what}")
    typer.echo(f"\n{sentence}")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    digits = {"half width": "{:.3f}", "power": "{:.0%}", "without interval": "{:.0%}", "USD": "{:,.2f}"}
    return {
        name: digits[name].format(value) if name in digits and value is not None else value
        for name, value in row.items()
    }
