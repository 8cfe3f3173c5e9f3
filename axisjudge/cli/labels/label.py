"""`axisjudge label`: people's labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show

if TYPE_CHECKING:
    from axisjudge.labels.sampling import Sampling
    from axisjudge.trajectory import Trajectory

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

    if not trajectories:
        raise InputError("--page", "needs the runs", cure="name them with --trajectories")
    write_page(page, Session.of(show.runs_of(trajectories).trajectories, plan, rater))


@app.command(epilog="Example: axisjudge label page data/demo/results --sample 20 --seed 1 --out labelling.html")
def page(
    paths: options.Paths,
    out: Annotated[
        Path, typer.Option(help="The HTML file (the plan goes beside it); with --serve the labels' folder.")
    ],
    sample: Annotated[
        int | None, typer.Option(min=1, help="How many trajectories; as many as there are if none.")
    ] = None,
    seed: options.DrawSeed = 0,
    rater: Annotated[
        list[str], typer.Option(help="Who labels; the page asks if not given. With --serve each person.")
    ] = [],  # noqa: B006
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
    plan: Annotated[
        Path | None, typer.Option(help="Instead of a draw: a plan of `label queue` or `label next`.")
    ] = None,
    served: Annotated[
        bool, typer.Option("--serve", help="Serve it on loopback, a link for each --rater; labels go to this disk.")
    ] = False,
    overlap: Annotated[
        int | None, typer.Option(min=0, help="--serve: runs that all label; the rest is dealt out. All if none.")
    ] = None,
    port: Annotated[int, typer.Option(help="--serve: the port; 0 takes a free one.")] = 8766,
    tools: options.Tools = None,
    tool_kind: options.ToolKinds = [],  # noqa: B006
    policy: options.Policy = None,
    json: show.Json = False,
) -> None:
    """Write one HTML file in which a person labels trajectories, or serve it to several people at once.

    The file needs no Python and no network. The server writes each label to a file of its person, on the disk before
    "Saved" is said; put a proxy with TLS before it for other machines.
    """
    from axisjudge.explorer import write_page
    from axisjudge.explorer.session import Session
    from axisjudge.labels.draw import draw
    from axisjudge.labels.sampling import read_sampling, sampling_path, write_sampling

    runs = show.runs_of(paths, tools=tools, policy=policy, tool_kinds=tool_kind).trajectories
    if plan is not None:
        sampling = read_sampling(plan)
    else:
        sampling = draw(
            runs, drawn, n=sample, seed=seed, ratings=ratings, of=of, axis=axis, one_per_task=not whole_tasks
        )
    if served:
        _serve(out, runs, sampling, rater, overlap=overlap, port=port, json=json)
        return
    if len(rater) > 1 or overlap is not None:
        raise InputError("--rater, --overlap", "of several people are for --serve", cure="write a page for each person")
    write_page(out, Session.of(runs, sampling, rater[0] if rater else None))
    kept = sampling_path(out)
    write_sampling(kept, sampling)
    if json:
        draw_fields = {"method": sampling.method, "key": sampling.key, "trajectories": len(sampling.trajectory_ids)}
        show.as_json({"page": str(out), "plan": str(kept), **draw_fields})
        return
    way = f"drawn {drawn.replace('_', ' ')}" if plan is None else f"as {plan.name} says"
    typer.echo(
        f"{len(sampling.trajectory_ids)} trajectories, {way}{f' ({sampling.key})' if sampling.key else ''}: {out}"
    )
    typer.echo(f"Keep {kept.name} beside the labels that come back: import reads there how they were drawn.")


def _serve(
    folder: Path,
    runs: "Sequence[Trajectory]",
    sampling: "Sampling",
    people: list[str],
    *,
    overlap: int | None,
    port: int,
    json: bool,
) -> None:
    """Serve until Ctrl-C; each person's link is printed once the server listens."""
    from axisjudge.explorer.serving import LabelServer, assigned
    from axisjudge.explorer.serving import progress as progress_of

    if folder.suffix:
        raise InputError("--out", "names a folder with --serve", folder, "--out labels, say")
    assigned(sampling, people, folder, overlap=overlap)
    with LabelServer(runs, people, folder, port) as server:
        rows = {row["person"]: row for row in progress_of(folder)}
        if json:
            show.as_json({"links": server.links(), "progress": list(rows.values())})
        else:
            typer.echo(
                f"Labels go to {folder}. Give each person their own link; Ctrl-C stops, and the same command goes on."
            )
            for name, link in server.links().items():
                typer.echo(f"  {name}: {link}")
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            typer.echo(f"\nStopped. How far everybody is: axisjudge label progress {folder}", err=True)


@app.command(epilog="Example: axisjudge label progress data/labels")
def progress(
    folder: Annotated[Path, typer.Argument(help="The folder of labels, of `label page --serve` or a notebook.")],
    json: show.Json = False,
) -> None:
    """How far each person is with the runs assigned to them, how many they share, and who is not blind to judges."""
    from axisjudge.explorer.serving import progress as progress_of

    rows = progress_of(folder)
    if not rows:
        raise InputError(str(folder), "holds no plan of a person (NAME.sampling.json)")
    if json:
        show.as_json({"people": rows})
        return
    show.table(rows, f"Labels in {folder}")
    typer.echo("While they label, people see no verdict of a judge, no draw, and no word of each other.")
    if seen := [row["person"] for row in rows if row["saw_judges"]]:
        typer.echo(f"Not blind to the judges on runs they decided in the explorer: {', '.join(map(str, seen))}.")
