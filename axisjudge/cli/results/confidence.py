"""`axisjudge confidence`: how far a judge's confidence can be taken at its word."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.options import Ratings


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
