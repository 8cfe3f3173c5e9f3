"""`axisjudge label queue|adjudicate`: what to look at again, blind, and what that makes of the key."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.labels.label import blind_page
from axisjudge.cli.options import DrawSeed, LabelFiles, Page, Person, Runs, new_file

Ratings = Annotated[list[Path], typer.Option("--ratings", help="Ratings files of the judges.")]
Judges = Annotated[list[str], typer.Option("--judge", help="Which judges; all in the ratings if none.")]


def queue(
    labels: LabelFiles,
    ratings: Ratings,
    out: Annotated[Path, typer.Option(help="The plan to write, NAME.sampling.json.")],
    agreements: Annotated[int, typer.Option(min=1, help="How many items on which all agree, drawn at random.")] = 30,
    contested: Annotated[int | None, typer.Option(min=1, help="How many of the others; all if none.")] = None,
    judge: Judges = [],  # noqa: B006
    seed: DrawSeed = 0,
    page: Page = None,
    trajectories: Runs = [],  # noqa: B006
    rater: Person = None,
    json: show.Json = False,
) -> None:
    """List items on which people or judges disagree, mixed with a random share of agreements, for a further person."""
    from collections import Counter

    from axisjudge.labels.adjudication import adjudication_queue, labelled_items
    from axisjudge.labels.record import read_labels
    from axisjudge.labels.sampling import write_sampling
    from axisjudge.ratings import read_ratings

    items = labelled_items(read_labels(*labels), read_ratings(*ratings, latest=True), judge)
    plan = adjudication_queue(items, n_agreements=agreements, n_contested=contested, seed=seed)
    if page is not None:
        blind_page(page, trajectories, plan, rater)
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


def adjudicate(
    labels: LabelFiles,
    decisions: Annotated[list[Path], typer.Option(help="Labels of the person who adjudicated.")],
    plan: Annotated[Path, typer.Option(help="The plan of the queue.")],
    ratings: Ratings,
    out: Annotated[Path | None, typer.Option(help="Write the adjudicated key (JSON Lines).")] = None,
    judge: Judges = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Put the adjudicator's words beside the key: how often it was wrong, and judges' accuracy before and after."""
    from axisjudge.labels.adjudication import adjudicate as decide
    from axisjudge.labels.adjudication import adjudicated_labels, labelled_items
    from axisjudge.labels.formats.terms import ratings_of
    from axisjudge.labels.record import read_labels
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
