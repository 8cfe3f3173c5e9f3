"""`axisjudge schema`: the JSON Schema of one line of our files."""

from typing import Annotated, Any

import typer

from axisjudge.checks import one_of
from axisjudge.cli import show

RECORDS = ("trajectory", "rating", "label")


def schema(record: Annotated[str, typer.Argument(help=f"One of {', '.join(RECORDS)}.")]) -> None:
    """Print the JSON Schema of one line: of trajectories, of ratings, or of people's labels."""

    show.as_json(_schema(one_of("RECORD", record, RECORDS)))


def _schema(record: str) -> dict[str, Any]:
    """The schema of what may be written; a label is a rating that a person gave."""
    if record == "trajectory":
        from axisjudge.trajectory import Trajectory

        return {"$schema": _DIALECT, **Trajectory.model_json_schema()}
    from axisjudge.verdict import Rating

    made = {"$schema": _DIALECT, **Rating.model_json_schema()}
    if record == "label":
        made["title"] = "Label"
        made["description"] = "One person's word on one question about one item; one JSON line."
        made["properties"]["rater_kind"] = {"const": "human", "title": "Rater Kind"}
    return made


#: The dialect that pydantic writes: https://docs.pydantic.dev/latest/concepts/json_schema/
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
