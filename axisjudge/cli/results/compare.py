"""`axisjudge compare|confidence`: judges against people, and how far a judge's confidence can be taken at its word."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.options import AlikeOption, Ratings, Steps


def compare(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files of judges (JSONL or Parquet).")],
    labels: Annotated[
        list[str],
        typer.Option(
            "--labels",
            help="Ratings files of people, or planted truth; reference:FILE takes what tau2 or tau-bench results know.",
        ),
    ],
    sampling: Annotated[
        str | None,
        typer.Option(
            help="How labelled items were drawn, if the labels do not say: random, by_judge_verdict, by_human_label."
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="How much worse than a person a judge may be, to stand in.")] = 0.2,
    by: Annotated[
        str, typer.Option(help="Where may judges be unfair: any of agent, domain, length, answer, by commas.")
    ] = "",
    mix: Annotated[
        list[str], typer.Option(help="STRATUM=SHARE of the one --by: carry failure rates to this other mix of runs.")
    ] = [],  # noqa: B006
    trajectories: Annotated[list[Path], typer.Option(help="The runs, for --by length and --by answer.")] = [],  # noqa: B006
    steps: Steps = False,
    alike: AlikeOption = "items",
    require: Annotated[
        list[str], typer.Option(help="MEASURE>=NUMBER, or of one judge or question NAME.MEASURE>=NUMBER.")
    ] = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """What may be claimed of judges against people's labels and what not, then the figures behind it.

    Take it for ratings files and people's labels, also on some of the items; for one table of both see `check`, for
    judges without people `agreement`.
    Exit 1 when a requirement is shown to fall short on a question, 4 when labels are too few to tell.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.sources import PREFIX, read_label_files, source_of
    from axisjudge.stats.estimate import exit_code
    from axisjudge.studies.located.counts import faults_in
    from axisjudge.studies.located.sentences import faults_in_words
    from axisjudge.studies.people import people
    from axisjudge.studies.people.compared import decide

    source = source_of(
        read_ratings(*ratings, latest=True, lean=True), ", ".join(path.name for path in ratings), steps=steps
    )
    labelled = read_label_files(labels)
    located = faults_in(source.ratings, labelled) if any(name.startswith(PREFIX) for name in labels) else []
    result = people(
        source.ratings,
        labelled,
        sampling=sampling,
        epsilon=epsilon,
        by=[name.strip() for name in by.split(",") if name.strip()],
        mix=_mix(mix),
        trajectories=show.runs_of(trajectories).trajectories if trajectories else None,
        alike=alike,
        n_draws=0,
        **source.how,
    )
    decisions = decide(result.claims.comparison, require)
    if json:
        known = [{**vars(each), "sentence": each.sentence()} for each in decisions]
        asked = {"requirements": known} if require else {}
        found = {"located_faults": [one.to_dict() for one in located]} if located else {}
        show.as_json({**result.to_dict(), **found, **show.standing_fields(source.ratings), **asked})
        raise typer.Exit(exit_code(decisions))
    show.lines(result.to_dict()["sentences"])
    if located:
        show.table(faults_in_words(located), "Located faults, and what judges find of them (at their step: within one)")
    tables = result.tables()
    known_by_task = all(name.startswith(PREFIX) for name in labels)
    for name, title in (_TITLES | (_OF_REFERENCE if known_by_task else {})).items():
        if rows := plain(tables[name]):
            by_items = alike == "clusters" and name in _OF_ITEMS
            show.table(rows, f"{title}, each item alike" if by_items else title)
    if result.fairness.questions:
        show.lines([result.fairness.answer], apart=True)
        show.table(plain(tables["unfair"])[:_MOST_ROWS], "Differences between strata")
        show.table(plain(tables["strata_rates"])[:_MOST_ROWS], "Failure rates by strata")
        show.table(plain(tables["carried"]), "Carried to the stated mix")
    show.standing(source.ratings)
    if decisions:
        show.lines([each.sentence() for each in decisions], apart=True)
    raise typer.Exit(exit_code(decisions))


def _mix(stated: list[str]) -> dict[str, float]:
    """Shares by stratum."""
    mix = {}
    for text in stated:
        name, sign, share = text.rpartition("=")
        try:
            mix[name.strip()] = float(share)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise InputError("--mix", "must be STRATUM=SHARE", text, "as --by domain --mix retail=.8 --mix airline=.2")
    return mix


#: Rows of the longest tables that are printed; all of them are in --json.
_MOST_ROWS = 24
_TITLES = {
    "claims": "Claims",
    "judges": "Against the majority of people",
    "left_out": "Judge and person against the other people",
    "stand_in": "Alternative annotator test",
    "rates": "Failure rates, corrected by the labels",
    "differences": "Corrected failure rates, one agent less another, in points",
    "steps": "Cited steps against people's",
    "confusion": "What people say and what judges say",
}
#: What is of items, whatever counts alike.
_OF_ITEMS = ("stand_in", "rates", "differences", "steps")
#: Headings where no person labelled: what the benchmark knows of its tasks did.
_OF_REFERENCE = {
    "judges": "Against the reference",
    "steps": "Cited steps against the reference's",
    "confusion": 'What the reference says (column "people say") and what judges say',
}


def confidence(
    ratings: Ratings,
    labels: Annotated[list[Path], typer.Option("--labels", help="Ratings of people, or planted truth.")],
    json: show.Json = False,
) -> None:
    """Calibration of confidences against labels, each judge and source of confidence apart.

    Take it to learn whether a judge that says .9 is right in nine of ten; how often it is right at all says `compare`.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.studies.confidence import confidence as against_labels

    judged = read_ratings(*ratings, latest=True)
    result = against_labels(judged, read_ratings(*labels, latest=True)).calibration
    if json:
        show.as_json({**result.to_dict(), **show.standing_fields(judged)})
        return
    short = ("judge", "source", "n", "accuracy", "confidence", "miscalibration", "discrimination", "ece", "auroc")
    rows = [{name: row[name] for name in short} for row in (judge.row() for judge in result.judges)]
    show.table(rows, "Confidence against labels")
    show.lines(result.sentences(), apart=True)
    show.standing(judged)
