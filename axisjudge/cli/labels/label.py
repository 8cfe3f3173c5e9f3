"""`axisjudge label`: people's labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show

if TYPE_CHECKING:
    from axisjudge.labels.sampling import Sampling

app = show.group("People's labels.")


def blind_page(page: Path, trajectories: list[Path], plan: "Sampling", rater: str | None) -> None:
    """Write the page on which a person labels the items of a plan.

    Raises
    ------
    InputError
        No runs are named.
    """
    from axisjudge.explorer import write_page
    from axisjudge.explorer.session import Session
    from axisjudge.readers import read_trajectories

    if not trajectories:
        raise InputError("--page", "needs the runs", cure="name them with --trajectories")
    write_page(page, Session.of(read_trajectories(*trajectories).trajectories, plan, rater))


@app.command(epilog="Example: axisjudge label page data/demo/results --sample 20 --seed 1 --out labelling.html")
def page(
    paths: options.Paths,
    out: Annotated[Path, typer.Option(help="The HTML file to write; the plan of the draw goes beside it.")],
    sample: Annotated[
        int | None, typer.Option(min=1, help="How many trajectories; as many as there are if none.")
    ] = None,
    seed: options.DrawSeed = 0,
    rater: options.Person = None,
    drawn: Annotated[
        str, typer.Option(help="random, by_judge_verdict, by_key, second_rater, or by_hand (all, no rates from them).")
    ] = "random",
    ratings: Annotated[
        Path | None, typer.Option(help="The judge's ratings (by_judge_verdict) or the other's labels (second_rater).")
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="Whose verdicts or labels; by_key: agent, domain, termination.")
    ] = None,
    axis: Annotated[str | None, typer.Option(help="by_judge_verdict: the axis that decides; any if none.")] = None,
    whole_tasks: Annotated[
        bool, typer.Option("--whole-tasks", help="Draw from all trajectories, not one agent's of each task.")
    ] = False,
    tools: options.Tools = None,
    tool_kind: options.ToolKinds = [],  # noqa: B006
    policy: options.Policy = None,
    json: show.Json = False,
) -> None:
    """Write one HTML file in which a person labels trajectories; it needs no Python and no network."""
    from axisjudge.explorer import write_page
    from axisjudge.explorer.session import Session
    from axisjudge.labels.drawing import draw
    from axisjudge.labels.sampling import sampling_path, write_sampling
    from axisjudge.readers import read_trajectories

    runs = read_trajectories(*paths, tools=tools, policy=policy, tool_kinds=tool_kind).trajectories
    sampling = draw(runs, drawn, n=sample, seed=seed, ratings=ratings, of=of, axis=axis, one_per_task=not whole_tasks)
    write_page(out, Session.of(runs, sampling, rater))
    plan = sampling_path(out)
    write_sampling(plan, sampling)
    if json:
        draw_fields = {"method": sampling.method, "key": sampling.key, "trajectories": len(sampling.trajectory_ids)}
        show.as_json({"page": str(out), "plan": str(plan), **draw_fields})
        return
    how = f"drawn {drawn.replace('_', ' ')}" + (f" ({sampling.key})" if sampling.key else "")
    typer.echo(f"{len(sampling.trajectory_ids)} trajectories, {how}: {out}")
    typer.echo(f"Keep {plan.name}: it says how they were drawn, and import asks for it when labels come back.")
