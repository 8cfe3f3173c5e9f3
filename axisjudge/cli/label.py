"""`axisjudge label`: people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from axisjudge.labels.sampling import Sampling
    from axisjudge.trajectory import Trajectory

app = typer.Typer(help="People's labels.", no_args_is_help=True, rich_markup_mode=None)


@app.command(epilog="Example: axisjudge label page data/demo/results --sample 20 --seed 1 --out labelling.html")
def page(
    paths: Annotated[list[Path], typer.Argument(help="Trajectory files, folders or globs.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write; the plan of the draw goes beside it.")],
    sample: Annotated[int | None, typer.Option(min=1, help="How many trajectories; all tasks if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of the order.")] = 0,
    rater: Annotated[str | None, typer.Option(help="Who labels; the page asks if not given.")] = None,
    whole_tasks: Annotated[
        bool, typer.Option("--whole-tasks", help="Draw from all trajectories, not one agent's of each task.")
    ] = False,
    by: Annotated[
        Path | None, typer.Option(help="Ratings: draw evenly over a judge's verdicts; needs --of and --sample.")
    ] = None,
    of: Annotated[str | None, typer.Option(help="Whose verdicts in --by, or labels in --second.")] = None,
    axis: Annotated[str | None, typer.Option(help="The axis that decides; any of the five if not given.")] = None,
    second: Annotated[Path | None, typer.Option(help="Labels of another person: label the same items.")] = None,
    as_given: Annotated[
        bool, typer.Option("--as-given", help="All of these, picked by hand: no rate can be estimated from them.")
    ] = False,
    tools: Annotated[Path | None, typer.Option(help="Tool schemas, where the source lacks them.")] = None,
    policy: Annotated[Path | None, typer.Option(help="The agent's policy, where the source lacks it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """Write one HTML file in which a person labels trajectories; it needs no Python and no network."""
    from axisjudge.labeler import write_page
    from axisjudge.labeler.session import Session
    from axisjudge.labels.sampling import chosen_by_hand, draw_at_random, sampling_path, write_sampling
    from axisjudge.readers import read_trajectories

    if sum((by is not None, second is not None, as_given)) > 1:
        raise InputError("--by, --second, --as-given", "only one of them says how items are drawn")
    runs = read_trajectories(*paths, tools=tools, policy=policy).trajectories
    if by is not None:
        sampling = _by_verdict(runs, by, of, axis, sample, seed, whole_tasks)
    elif second is not None:
        sampling = _of_another(second, of, sample, seed)
    elif as_given:
        sampling = chosen_by_hand(runs, seed=seed)
    else:
        sampling = draw_at_random(runs, sample, seed=seed, one_per_task=not whole_tasks)
    write_page(out, Session.of(runs, sampling, rater))
    plan = sampling_path(out)
    write_sampling(plan, sampling)
    if json:
        drawn = {"method": sampling.method, "key": sampling.key, "trajectories": len(sampling.items)}
        show.as_json({"page": str(out), "plan": str(plan), **drawn})
        return
    how = f"drawn {sampling.method.replace('_', ' ')}" + (f" ({sampling.key})" if sampling.key else "")
    typer.echo(f"{len(sampling.items)} trajectories, {how}: {out}")
    typer.echo(f"Keep {plan.name} here: it says how they were drawn, and import needs it when labels come back.")


def _by_verdict(
    runs: Sequence[Trajectory],
    path: Path,
    judge: str | None,
    axis: str | None,
    n: int | None,
    seed: int,
    whole_tasks: bool,
) -> Sampling:
    from axisjudge.labels.sampling import draw_by, verdict_strata
    from axisjudge.ratings import read_ratings

    if judge is None or n is None:
        raise InputError("--by", "needs --of and --sample", cure="say whose verdicts decide, and how many to draw")
    strata = verdict_strata(read_ratings(path, latest=True), judge, axis)
    key = f"{judge}: {axis or 'any axis'}"
    return draw_by(runs, strata, n, key=key, method="by_judge_verdict", seed=seed, one_per_task=not whole_tasks)


def _of_another(path: Path, person: str | None, n: int | None, seed: int) -> Sampling:
    from axisjudge.labels.record import read_labels
    from axisjudge.labels.sampling import draw_again

    labels = read_labels(path)
    people = sorted(set(labels["rater"]))
    if person is None and len(people) != 1:
        raise InputError("--second", "several people labelled there", ", ".join(people), "name one with --of")
    return draw_again(labels, person or people[0], n, seed=seed)
