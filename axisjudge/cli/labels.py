"""`axisjudge label ...`: people's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.show import DrawSeed, LabelFiles, Runs, new_file

if TYPE_CHECKING:
    from axisjudge.explorer.serving import LabelServer
    from axisjudge.labels.formats import Terms
    from axisjudge.labels.formats.exchange import ImportedLabels
    from axisjudge.labels.sampling import Sampling
    from axisjudge.labels.uncertain import Look
    from axisjudge.trajectory import Trajectory


app = show.app.group("label", "People's labels.")

# `axisjudge label page|progress`: where people label, and how far each of them is.


def _check_page(page: Path | None, rater: str | None) -> None:
    """Refuse a person without the page on which they label."""
    if rater and page is None:
        raise InputError("--rater", "is who labels on the page", rater, "name the page with --page")


def _write_blind_page(page: Path, trajectories: list[Path], plan: Sampling, rater: str | None) -> None:
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


@app.example("page data/demo/results --sample 20 --seed 1 --out labelling.html")
def page(
    paths: show.Paths,
    out: Annotated[Path, "The HTML file (the plan goes beside it); with --serve the labels' folder."],
    sample: Annotated[
        int | None, typer.Option(min=1, help="How many trajectories; as many as there are if none.")
    ] = None,
    seed: show.DrawSeed = 0,
    rater: Annotated[list[str], "Who labels; the page asks if not given. With --serve each person."] = [],
    drawn: Annotated[
        str, "random, by_judge_verdict, by_key, second_rater, or by_hand (all, no rates from them)."
    ] = "random",
    ratings: Annotated[
        Path | None, "The judge's ratings (by_judge_verdict) or the other's labels (second_rater)."
    ] = None,
    of: Annotated[str | None, "Whose verdicts or labels; by_key: agent, domain, termination."] = None,
    axis: Annotated[str | None, "by_judge_verdict: the axis that decides; any if none."] = None,
    whole_tasks: Annotated[bool, "Draw from all trajectories, not one agent's of each task."] = False,
    plan: Annotated[Path | None, "Instead of a draw: a plan of `label queue` or `label next`."] = None,
    served: Annotated[
        bool, typer.Option("--serve", help="Serve it on loopback, a link for each --rater; labels go to this disk.")
    ] = False,
    overlap: Annotated[
        int | None, typer.Option(min=0, help="--serve: runs that all label; the rest is dealt out. All if none.")
    ] = None,
    port: Annotated[int, "--serve: the port; 0 takes a free one."] = 8766,
    tools: show.Tools = show.Tools(),
    redact: show.Redact = True,
    json: show.Json = False,
) -> None:
    """Write one HTML file in which a person labels trajectories, or serve it to several people at once.

    The file needs no Python and no network. The server writes each label to a file of its person, on the disk before
    "Saved" is said; put a proxy with TLS before it for other machines.
    """
    from axisjudge.explorer import write_page
    from axisjudge.explorer.session import Session
    from axisjudge.labels.panel import draw
    from axisjudge.labels.sampling import read_sampling, sampling_path, write_sampling
    from axisjudge.sharing import in_words

    runs = show.runs_of(paths, **vars(tools)).trajectories
    how: dict[str, Any] = {"n": sample, "seed": seed, "ratings": ratings, "of": of, "axis": axis}
    sampling = draw(runs, drawn, **how, one_per_task=not whole_tasks) if plan is None else read_sampling(plan)
    if served:
        from axisjudge.explorer.serving import LabelServer, assigned

        if out.suffix:
            raise InputError("--out", "names a folder with --serve", out, "--out labels, say")
        assigned(sampling, rater, out, overlap=overlap)
        _serve(LabelServer(runs, rater, out, port, redact=redact), out, json=json)
        return
    if len(rater) > 1 or overlap is not None:
        raise InputError("--rater, --overlap", "of several people are for --serve", cure="write a page for each person")
    secrets = Counter[str]()
    kept = sampling_path(out)
    write_sampling(kept, sampling)
    write_page(out, Session.of(runs, sampling, rater[0] if rater else None), secrets, redact=redact)
    if json:
        draw_fields = {"method": sampling.method, "key": sampling.key, "trajectories": len(sampling.trajectory_ids)}
        show.as_json({"page": str(out), "plan": str(kept), **draw_fields, "secrets": dict(secrets)})
        return
    way = f"drawn {drawn.replace('_', ' ')}" if plan is None else f"as {plan.name} says"
    way += f" ({sampling.key})" if sampling.key else ""
    if plan is None and (n_empty := sum(not run.steps for run in runs)):
        way += f" of those with messages, which {n_empty} of {len(runs)} have not"
    typer.echo(f"{len(sampling.trajectory_ids)} trajectories, {way}: {out}")
    typer.echo(f"Keep {kept.name} beside the labels that come back: import reads there how they were drawn.")
    typer.echo(in_words(secrets), nl=bool(secrets))


def _serve(listening: LabelServer, folder: Path, *, json: bool) -> None:
    """Serve until Ctrl-C; each person's link is printed once the server listens."""
    from axisjudge.explorer.serving import progress as progress_of

    with listening as server:
        rows = {row["person"]: row for row in progress_of(folder)}
        if json:
            show.as_json({"links": server.links(), "progress": list(rows.values())})
        else:
            typer.echo(
                f"Labels go to {folder}. Give each person their own link; Ctrl-C stops, and the same command goes on."
            )
            show.lines(f"  {name}: {link}" for name, link in server.links().items())
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            typer.echo(f"\nStopped. How far everybody is: axisjudge label progress {folder}", err=True)


@app.example("progress data/labels")
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


# `axisjudge label import|export|lint`: label files of others, ours for others, and what is wrong with them.

Form = Annotated[
    str | None,
    typer.Option(
        "--format", help="jsonl, csv, label-studio, argilla, crowd-kit, agentrx, agentprocessbench or alttest."
    ),
]


@app.example("import export.json --sampling random --out data/labels/mine.jsonl")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Label files of any known format.")],
    out: Annotated[Path, "The labels file to write (JSON Lines)."],
    form: Form = None,
    theirs: show.Theirs = show.Theirs(),
    question: Annotated[str | None, "What was asked, where the file does not say."] = None,
    rater: Annotated[str | None, "Who labelled, where the file does not say."] = None,
    plan: Annotated[Path | None, "The plan of the draw, NAME.sampling.json."] = None,
    json: show.Json = False,
) -> None:
    """Read people's labels from files of other tools, and say how their items were drawn."""
    from axisjudge.imports.api import OPTIONS
    from axisjudge.labels.formats import Terms, import_labels
    from axisjudge.labels.formats.exchange import knows, two_of_one_name, with_draw, without_draw
    from axisjudge.labels.sampling import read_sampling, sampling_path, write_sampling
    from axisjudge.ratings import RatingsWriter

    new_file(out)
    sampling = theirs.sampling
    if plan is None and sampling is not None and sampling.endswith(".json"):
        plan, sampling = Path(sampling), None
    drawn = None if plan is None else read_sampling(plan)
    terms = Terms(rater=rater, question=question, **theirs.terms())
    draw: dict[str, Any] = {"sampling": sampling, "key": theirs.sampling_key, "plan": drawn}

    def read_with(terms: Terms) -> list[ImportedLabels]:
        return [
            import_labels(path, terms, form=form, **draw)
            if form or knows(path)
            else with_draw(_of_any_tool(path, terms), path, **draw)
            for path in files
        ]

    readings = read_with(terms)
    idle = []
    for name, unsaid in vars(Terms()).items():
        with suppress(InputError):  # it is needed
            if getattr(terms, name) and read_with(replace(terms, **{name: unsaid})) == readings:
                idle.append(OPTIONS[name])
    every = [rating for imported in readings for rating in imported.ratings]
    if not every:
        raise InputError(", ".join(map(str, files)), "hold no labels")
    if sampling is None:
        show.must_say_the_draw(without_draw(every), len(every), ", ".join(path.name for path in files))
    if drawn is not None:
        write_sampling(sampling_path(out), drawn)
    with RatingsWriter(out) as writer:
        writer.append(every)
    rows = [
        {"file": path.name, "format": one.format, "labels": len(one.ratings), **_counts(one.ratings)}
        for path, one in zip(files, readings, strict=True)
    ]
    notes = {str(path): list(one.notes) for path, one in zip(files, readings, strict=True)}
    notes[str(files[-1])] += [f"changes nothing here: {', '.join(idle)}"] if idle else []
    for name, n in two_of_one_name([one.ratings for one in readings]).items():
        unlike = f"{name} says otherwise of {n} item{'s' * (n > 1)} than in a file before, and the last word stands"
        notes[str(files[-1])].append(f"{unlike}: are these two people? Then change the name in one of the files first")
    if json:
        show.as_json({"out": str(out), "files": rows, "notes": notes})
        return
    show.table(rows, f"Labels written to {out}")
    show.lines(f"{Path(path).name}: {note}." for path, remarks in notes.items() for note in remarks)


def _of_any_tool(path: Path, terms: Terms) -> ImportedLabels:
    """People's labels of a file of any other tool, as `axisjudge import --kind human` reads it."""
    from axisjudge.imports import ImportOptions, import_ratings
    from axisjudge.labels.alttest import JUDGES, PEOPLE
    from axisjudge.labels.formats.exchange import ImportedLabels
    from axisjudge.labels.own import ratings_of

    told = {name: getattr(terms, name) for name in ("rater", "axes", "words", "scales", "trajectories")}
    how = ImportOptions(kind="human", question=(terms.question,) if terms.question else (), **told)
    set_of = [path, path.with_name(JUDGES)] if path.name == PEOPLE else [path]
    read = import_ratings([each for each in set_of if each.is_file()], how, with_draw=False)
    people = read.ratings.filter(rater_kind="human") if len(set_of) > 1 else read.ratings
    return ImportedLabels(tuple(ratings_of(people)), read.files[0][1], read.notes)


def _counts(ratings: Sequence[object]) -> dict[str, int]:
    names = {"raters": "rater", "trajectories": "trajectory_id", "questions": "question"}
    counts = {head: len({getattr(rating, field) for rating in ratings}) for head, field in names.items()}
    return {**counts, "without_verdict": sum(getattr(rating, "status") != "ok" for rating in ratings)}  # noqa: B009


@app.example("export data/labels/mine.jsonl --format crowd-kit --out labels.csv")
def export(
    labels: show.LabelFiles,
    form: Form,
    out: Annotated[Path, "The file to write."],
    trajectories: show.Runs = [],
    redact: show.Redact = True,
    json: show.Json = False,
) -> None:
    """Write labels for another tool; what its format cannot hold is refused or counted."""
    from axisjudge.labels.formats import Terms, export_labels
    from axisjudge.labels.own import ratings_of
    from axisjudge.ratings import read_ratings
    from axisjudge.sharing import in_words, shared_frame, shared_runs

    new_file(out)
    table, runs, secrets = read_ratings(*labels), show.by_id(trajectories), Counter[str]()
    if redact:
        table, runs = shared_frame(table, secrets), shared_runs(runs, secrets)
    ratings = ratings_of(table)
    made = export_labels(ratings, str(form), Terms(trajectories=runs))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(made.text, encoding="utf-8", newline="")
    needed = made.import_terms.as_options
    if json:
        show.as_json(
            {
                "out": str(out),
                "labels": len(ratings),
                "not_held": made.lost,
                "import_with": needed,
                "secrets": dict(secrets),
            }
        )
        return
    typer.echo(f"{len(ratings)} labels written to {out}; read back and compared.")
    typer.echo(in_words(secrets), nl=bool(secrets))
    rows = [{"field": name, "labels": count} for name, count in made.lost.items()]
    if rows:
        show.table(rows, f"What {form} does not hold, and in how many labels it was said")
    if needed:
        typer.echo(f"To import it again: {' '.join(needed)}")


@app.example("lint data/labels/*.jsonl --trajectories data/demo/results")
def lint(
    labels: LabelFiles,
    trajectories: Annotated[list[Path], "The runs that were labelled: for ids and steps that do not exist."] = [],
    gold: Annotated[list[str], "A rater whose labels are merged ones; else those called gold, key, merged, ..."] = [],
    json: show.Json = False,
) -> None:
    """Check people's labels; exits 1 where they must not be used as they are."""
    from axisjudge.labels.lint import lint_labels, read_in_writing_order

    runs = show.runs_of(trajectories).trajectories if trajectories else None
    result = lint_labels(read_in_writing_order(*labels), trajectories=runs, gold=gold)
    if json:
        show.as_json(result.to_dict())
    else:
        who = "1 person" if len(result.people) == 1 else f"{len(result.people)} people"
        typer.echo(f"{result.n_labels} labels by {who}")
        for fault in result.findings:
            typer.echo(f"\n{fault.severity}: {fault.check}: {show.text(fault.what)}")
            for head, text in (("where", fault.where), ("how sure", fault.sure), ("cure", fault.cure)):
                typer.echo(f"  {head}: {show.text(text)}")
        if not result.findings:
            typer.echo("Nothing found.")
        rows = [{"check": check, "why not": reason} for check, reason in result.not_checked.items()]
        if rows:
            show.table(rows, "Not checked")
    if result.failed:
        raise typer.Exit(1)


# `axisjudge label queue|adjudicate`: what to look at again, blind, and what that makes of the key.

Ratings = Annotated[list[Path], "Ratings files of the judges."]
Judges = Annotated[list[str], typer.Option("--judge", help="Which judges; all in the ratings if none.")]
Page = Annotated[Path | None, "Write the blind labelling page as well."]
Person = Annotated[str | None, "Who labels; the page asks if not given."]


@app.example("queue labels/*.jsonl --ratings ratings.jsonl --out adjudicate.sampling.json")
def queue(
    labels: LabelFiles,
    ratings: Ratings,
    out: Annotated[Path, "The plan to write, NAME.sampling.json."],
    agreements: Annotated[
        int | None, typer.Option(min=1, help="How many items on which all agree, drawn at random; 30, or all, if none.")
    ] = None,
    contested: Annotated[int | None, typer.Option(min=1, help="How many of the others; all if none.")] = None,
    judge: Judges = [],
    seed: DrawSeed = 0,
    page: Page = None,
    trajectories: Runs = [],
    rater: Person = None,
    json: show.Json = False,
) -> None:
    """List items on which people or judges disagree, mixed with a random share of agreements, for a further person."""
    from axisjudge.labels.adjudication import adjudication_queue, labelled_items
    from axisjudge.labels.decisions import read_labels
    from axisjudge.labels.sampling import write_sampling
    from axisjudge.ratings import read_ratings

    new_file(out)
    _check_page(page, rater)
    items = labelled_items(read_labels(*labels), read_ratings(*ratings, latest=True), judge)
    plan = adjudication_queue(items, n_agreements=agreements, n_contested=contested, seed=seed)
    if page is not None:
        _write_blind_page(page, trajectories, plan, rater)
    write_sampling(out, plan)
    there, chosen = Counter(one.stratum for one in items.values()), Counter(one.stratum for one in plan.items)
    rows = [
        {"stratum": name, "labelled": n, "queued": chosen[name], "probability": chosen[name] / n}
        for name, n in there.items()
    ]
    if json:
        show.as_json({"plan": str(out), "page": page and str(page), "items": len(plan.items), "strata": rows})
        return
    show.table(rows, f"{len(plan.items)} items to adjudicate: {out}")
    typer.echo("The plan names no verdict; whoever adjudicates should not see this table.")


@app.example(
    "adjudicate labels/*.jsonl --ratings ratings.jsonl --plan adjudicate.sampling.json --decisions third.jsonl"
)
def adjudicate(
    labels: LabelFiles,
    decisions: Annotated[list[Path], "Labels of the person who adjudicated."],
    plan: Annotated[Path, "The plan of the queue."],
    ratings: Ratings,
    out: Annotated[Path | None, "Write the adjudicated key (JSON Lines)."] = None,
    judge: Judges = [],
    json: show.Json = False,
) -> None:
    """Put the adjudicator's words beside the key: how often it was wrong, and judges' accuracy before and after."""
    from axisjudge.labels.adjudication import adjudicate as decide
    from axisjudge.labels.adjudication import adjudicated_labels, labelled_items
    from axisjudge.labels.decisions import read_labels
    from axisjudge.labels.own import ratings_of
    from axisjudge.labels.sampling import read_sampling
    from axisjudge.ratings import RatingsWriter, read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.adjudication import adjudication_report

    before, after = read_labels(*labels), read_labels(*decisions)
    if both := sorted(set(before["rater"]) & set(after["rater"])):
        raise InputError("decisions", "must be by a person who did not label before", both[0])
    if out is not None:
        new_file(out)
    sampling, given = read_sampling(plan), ratings_of(after)
    items = labelled_items(before, read_ratings(*ratings, latest=True), judge)
    result = adjudication_report(items, decide(items, given, sampling))
    if out is not None:
        with RatingsWriter(out) as writer:
            writer.append(adjudicated_labels(ratings_of(before), given, sampling, items))
    if json:
        show.as_json({**result.to_dict(), "sentences": list(result.sentences)})
        return
    show.table(plain(result.strata), "How often the key was wrong, among the items looked at")
    show.table(plain(result.table), "Accuracy of judges against the key")
    show.lines(result.sentences, apart=True)


# `axisjudge label next`: which runs to label next, and when to stop: tasks in random order, looked at after each label.


class _Draw(NamedTuple):
    """What is drawn and for whom: the plan's file, the seed, labels so far, the runs, and a page for a person."""

    out: Path
    seed: int
    labels: list[Path]
    trajectories: list[Path]
    page: Path | None
    rater: str | None
    json: bool


def _label_until(draw: _Draw, *, half_width: float, axis: str | None, n: int) -> None:
    """Draw the order of labelling once, then after every label say what comes next and whether it is enough."""
    from axisjudge.labels.decisions import read_labels
    from axisjudge.labels.uncertain import look, still_open
    from axisjudge.verdict import AXES

    if not draw.trajectories:
        raise InputError("--trajectories", "needs the runs to be labelled", cure="or name a fitted --panel")
    runs = show.runs_of(draw.trajectories).trajectories
    plan = _plan(runs, draw.out, draw.seed)
    labelled = read_labels(*draw.labels) if draw.labels else None
    looks = look(plan, labelled, [one_of("--axis", axis, AXES)] if axis else AXES, half_width=half_width)
    following = still_open(plan, labelled, looks)[:n]
    if draw.page is not None and following:
        from axisjudge.explorer import write_page
        from axisjudge.explorer.session import Session

        write_page(draw.page, Session.of(runs, replace(plan, items=tuple(following)), draw.rater))
    if draw.json:
        named = {"plan": str(draw.out), "next": [item.trajectory_id for item in following], "runs": len(plan.items)}
        show.as_json({**named, "looks": [{**each.to_dict(), **_look_row(each)} for each in looks]})
        return
    show.table(
        [_look_row(each) for each in looks], f"Failure rates after the labels so far, to be known within {half_width:g}"
    )
    show.lines(_look_sentences(looks, len(plan.items)), apart=True)
    show.table([{"label next": item.trajectory_id} for item in following])


def _plan(runs: Sequence[Trajectory], out: Path, seed: int) -> Sampling:
    """The plan at `out`; drawn and written where there is none yet."""
    from axisjudge.labels.sampling import draw_at_random, read_sampling, write_sampling

    drawn = draw_at_random(runs, seed=seed)
    if not out.exists():
        write_sampling(out, drawn)
        return drawn
    plan = read_sampling(out)
    if missing := sorted(set(plan.trajectory_ids) - {run.id for run in runs}):
        raise InputError(
            str(out), "draws runs that are not there", missing[0], "name all --trajectories, or a new --out"
        )
    return plan


def _look_row(each: Look) -> dict[str, object]:
    half = (each.rate.ci_high - each.rate.ci_low) / 2
    return {
        "axis": each.question,
        "labels": each.rate.n_items,
        "rate": each.rate.estimate,
        "low": each.rate.ci_low,
        "high": each.rate.ci_high,
        "half width": half,
        "enough": "yes" if each.enough else "no",
        "more labels, about": each.n_more,
    }


def _look_sentences(looks: list[Look], n_runs: int) -> list[str]:
    lines = ["These intervals hold however often you look; one run of each task is labelled, in random order."]
    prices = [each.price for each in looks if each.price is not None]
    if prices:
        dearest = max(prices, key=lambda price: price.looking)
        lines.append(
            f"The price: at a rate of {dearest.rate:.0%} it takes about {dearest.looking:,} labels instead of "
            f"{dearest.fixed:,} fixed in advance, {dearest.times:.1f} times as many."
        )
        if dearest.looking > n_runs:
            lines.append(f"There are {n_runs:,} tasks: they may not do. A wider half width would need fewer.")
    if ahead := max(each.n_ahead for each in looks):
        lines.append(f"{ahead:,} labels come after a run that is not labelled yet, and are not looked at before it is.")
    if all(each.enough for each in looks):
        lines.append("Stop: every rate is known well enough.")
    return lines


@app.example("next --trajectories data/demo/results --half-width 0.1 --out next.sampling.json")
def next_(
    out: Annotated[Path, "The plan, NAME.sampling.json; --half-width reads it at later looks."],
    ratings: Annotated[list[Path] | None, typer.Argument(help="Ratings files of the panel's judges.")] = None,
    panel: Annotated[Path | None, "A fitted panel: runs of which it is less sure are likelier."] = None,
    half_width: Annotated[
        float | None, "Without a panel: label until failure rates are known within this; .1 if none."
    ] = None,
    axis: Annotated[str | None, "With --half-width: one axis; all five if none."] = None,
    n: Annotated[
        int | None, typer.Option(min=1, help="With a panel how many runs the draw holds, else how many come next (10).")
    ] = None,
    labels: Annotated[list[Path], "Labels that there are."] = [],
    keep: Annotated[Path | None, "Write the labels that there are of drawn runs, as of this draw."] = None,
    seed: DrawSeed = 0,
    page: Page = None,
    trajectories: Annotated[list[Path], "The runs: for the page, and without a panel."] = [],
    rater: Person = None,
    json: show.Json = False,
) -> None:
    """Say which runs to label next: where a panel is unsure, or at random until failure rates are known well enough.

    Every draw has known probabilities, so that rates can still be estimated from the labels.
    """
    _check_page(page, rater)
    draw = _Draw(out, seed, labels, trajectories, page, rater, json)
    if panel is None:
        if ratings or keep is not None:
            raise InputError("--panel", "is needed to draw by what judges said", cure="name one, or leave ratings out")
        _label_until(draw, half_width=half_width or 0.1, axis=axis, n=n or 10)
        return
    if not ratings or n is None:
        raise InputError("--panel", "needs the ratings of its judges and --n, how many runs to draw")
    if half_width is not None or axis is not None:
        raise InputError("--half-width", "is known without a panel only: its draws are of a fixed number")
    _by_panel(ratings, panel, draw, n=n, keep=keep)


def _by_panel(ratings: list[Path], panel: Path, draw: _Draw, *, n: int, keep: Path | None) -> None:
    """Draw runs where labels help most, with known probabilities."""
    import polars as pl

    from axisjudge.labels.decisions import read_labels
    from axisjudge.labels.own import ratings_of
    from axisjudge.labels.sampling import set_drawn, write_sampling
    from axisjudge.labels.uncertain import draw_uncertain
    from axisjudge.protocol import check_tuning
    from axisjudge.ratings import RatingsWriter, read_ratings
    from axisjudge.studies.panels.voted import panel_ratings, read_panel

    new_file(draw.out)
    fitted = read_panel(panel)
    given = panel_ratings(fitted, read_ratings(*ratings, latest=True))
    check_tuning(given["cluster_id"].unique().to_list())
    sure = given.with_columns(pl.col("confidence").fill_null(0.5))  # nobody's word: as unsure as can be
    key = f"{fitted.rater} {fitted.sha256[:12]}: unsure"
    items = sure.select("trajectory_id", "cluster_id", "confidence").iter_rows()
    plan = draw_uncertain(items, n, key=key, seed=draw.seed)
    labelled = read_labels(*draw.labels) if draw.labels else None
    has = set() if labelled is None else set(labelled.filter(question=fitted.question)["trajectory_id"])
    drawn = {item.trajectory_id: item for item in plan.items}
    again = sorted(has & drawn.keys())
    if keep is not None and labelled is not None:
        with RatingsWriter(new_file(keep)) as writer:
            for run in again:
                of_run = ratings_of(labelled.filter(trajectory_id=run, question=fitted.question))
                writer.append(set_drawn(of_run, plan.flags_for(drawn[run])))
    if draw.page is not None:
        rest = replace(plan, items=tuple(item for item in plan.items if item.trajectory_id not in has))
        _write_blind_page(draw.page, draw.trajectories, rest, draw.rater)
    write_sampling(draw.out, plan)
    rows = [
        {"run": item.trajectory_id, "probability": item.probability, "labelled": item.trajectory_id in has}
        for item in plan.items
    ]
    if draw.json:
        counts = {"plan": str(draw.out), "runs": rows, "to_label": len(rows) - len(again)}
        show.as_json({**counts, "keep": keep and str(keep)})
        return
    left = f"{len(rows) - len(again)} of {len(rows)} drawn runs are still to be labelled"
    show.table(rows, f"{left}: {draw.out}", most=20)
    if again and keep is None:
        typer.echo(f"{len(again)} have labels already: --keep FILE writes these as labels of this draw.")
