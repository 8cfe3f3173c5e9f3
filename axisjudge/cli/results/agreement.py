"""`axisjudge agreement`: how far raters agree, per axis."""

from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.options import AlikeOption, Cluster, Ratings, Steps, is_one_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from axisjudge.ratings.dataset import DatasetPart
    from axisjudge.sources import Source
    from axisjudge.studies.agreement import PanelAgreement
    from axisjudge.studies.agreement.by_question import AgreementByAxis


def agreement(
    ratings: Ratings,
    steps: Steps = False,
    question: Annotated[list[str], typer.Option(help="Only this question.")] = [],  # noqa: B006
    scale: Annotated[str, typer.Option(help="Only questions on this scale, as ratings name it.")] = "",
    coefficient: Annotated[
        str, typer.Option(help="Coefficient of every two judges, named below; by default Cohen's kappa of the scale.")
    ] = "",
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Add the confidence-weighted variants (slow on large tables).")
    ] = False,
    trajectories: Annotated[
        list[Path], typer.Option(help="The runs that were rated: tells how many shared steps are chance.")
    ] = [],  # noqa: B006
    alike: AlikeOption = "items",
    cluster: Cluster = None,
    json: show.Json = False,
) -> None:
    """Agreement of judges per axis, across families, against labels and by confidence; cited steps and repeats.

    Take it where judges stand beside each other; what may be claimed against people says `compare`, and of one table
    of judges and people `check`.
    A dataset (a folder that `axisjudge ratings compact` wrote) is counted part by part and never read whole; single
    items are then left out: disagreements, triage, cited steps, repeats.
    """
    if coefficient:
        one_of("--coefficient", coefficient, show.coefficients())
    name = ", ".join(path.name for path in ratings)
    if is_one_dataset(ratings, cluster):
        if alike != "items":
            raise InputError("--alike", "needs single items", alike, "name a ratings file that fits into memory")
        if weighted or trajectories:
            cure = "leave it out, or name a ratings file that fits into memory"
            raise InputError("--weighted" if weighted else "--trajectories", "needs single items", cure=cure)
        _of_dataset(ratings[0], cluster, json, steps=steps, questions=question, scale=scale, coefficient=coefficient)
        return
    import polars as pl

    from axisjudge.ratings.table import newest_ratings
    from axisjudge.sources import sources_of
    from axisjudge.studies._shared.citations import shared_steps
    from axisjudge.studies.agreement import agreement as panel_agreement
    from axisjudge.studies.evidence.repeats import asked_again

    table, by_rubric = newest_ratings(*ratings)
    sources = sources_of(table, name, steps=steps, questions=question, scale=scale)
    runs = show.runs_of(trajectories).trajectories if trajectories else ()
    results = [panel_agreement(source, coefficient=coefficient, weighted=weighted, alike=alike) for source in sources]
    citations = shared_steps(by_rubric, runs)
    repeats = asked_again(pl.concat([source.ratings for source in sources]))
    rated = sources[0].ratings
    if json:
        overall = [_overall(source, result) for source, result in zip(sources, results, strict=True)]
        behind = {
            "citations": citations.to_dict() if citations.any_cited else None,
            "repeats": repeats.to_dict() if repeats.any_again else None,
        }
        show.as_json({**_scales(overall, results), **behind, **show.standing_fields(rated)})
        return
    for source, result in zip(sources, results, strict=True):
        _print(_overall(source, result), result)
    show.lines(citations.sentences if citations.any_cited else ())
    show.lines(repeats.sentences if repeats.any_again else ())
    show.standing(rated)


def _overall(source: "Source", result: "PanelAgreement") -> "AgreementByAxis":
    return replace(result.overall, left_out={**result.overall.left_out, "empty_runs": source.empty_runs})


def _of_dataset(ratings: Path, cluster: str | None, json: bool, **choice: Any) -> None:
    """Agreement in a dataset, by the workers of a cluster where one is named."""
    from axisjudge.cluster import workers_of
    from axisjudge.ratings.dataset import parts_of
    from axisjudge.workbench import home

    with workers_of(cluster) as workers:
        workers.prepare("axisjudge.studies.agreement", "axisjudge.protocol.standing")
        import polars as pl

        from axisjudge.studies.agreement import A_LOOK, agreement_of_dataset

        standing = partial(_standing_rows, home=home())
        parts = workers.map(standing, parts_of(ratings), attrgetter("name"), at_once=A_LOOK)
        rows, n_judged = zip(*parts, strict=True)
        results = agreement_of_dataset(str(ratings), workers=workers, **choice)
    stamped = pl.concat(rows), sum(n_judged)
    if json:
        show.as_json({**_scales([each.overall for each in results], results), **show.standing_fields(*stamped)})
        return
    for result in results:
        _print(result.overall, result)
    show.standing(*stamped)


def _standing_rows(part: "DatasetPart", *, home: Path) -> "tuple[pl.DataFrame, int]":
    from axisjudge.protocol.standing import standing_rows
    from axisjudge.workbench import at

    with at(home):  # a worker stands in a folder of its own
        return standing_rows(part.scan())


def _scales(overall: "Sequence[AgreementByAxis]", results: "Sequence[PanelAgreement]") -> dict[str, Any]:
    """The agreement on the first scale, and under one name that on others, for programs."""
    panels = ({name: value for name, value in each.to_dict().items() if name != "agreement"} for each in results)
    first, *others = ({**each.to_dict(), **panel} for each, panel in zip(overall, panels, strict=True))
    return {**first, **({"other_scales": others} if others else {})}


def _print(overall: "AgreementByAxis", result: "PanelAgreement") -> None:
    from axisjudge.studies.agreement.by_family import family_rows

    typer.echo(result.about)
    print_agreement(overall)
    if result.families:
        first = result.families[0]
        show.table(
            family_rows(result.families),
            f"{first.label}, within and across families; {first.alpha_label}; each item alike",
        )
        typer.echo()
    show.lines(result.of_panel)


def print_agreement(result: "AgreementByAxis") -> None:
    """The short table of each scale, and below what the figures say in words."""
    for scale, apart in result.by_scale().items():
        rows = [question.brief() for question in apart.questions]
        heads = dict.fromkeys(head for row in rows for head in row)
        title = "Agreement per axis" if scale == "verdict" else f"Agreement per question, scale {scale}"
        first = "axis" if scale == "verdict" else "question"
        show.table([{first if head == "question" else head: row.get(head) for head in heads} for row in rows], title)
    show.lines(result.sentences(), apart=True)
