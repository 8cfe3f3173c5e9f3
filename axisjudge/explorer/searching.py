"""The text of a run in which the explorer looks for words: steps, calls, reasons and notes, and no names of fields.

It is taken from the record, not from what is shown of it: laying out the JSON of thousands of runs takes ten seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from axisjudge.trajectory import Trajectory


def run_text(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> str:
    """All text of a run and its ratings, one piece a line, in small letters."""
    return "\n".join(_pieces(run, ratings)).casefold()


def sought(words: str) -> re.Pattern[str]:
    """What finds the words in a run's text; a space stands for any or none, as in JSON laid out to be shown."""
    return re.compile(r"\s*".join(map(re.escape, words.casefold().split())))


def _pieces(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in run.steps if run else ():
        yield step.content
        yield step.tool_name or ""
        for call in step.tool_calls:
            yield call.name
            raw = isinstance(call.arguments, str)
            yield call.arguments if raw else json.dumps(call.arguments, ensure_ascii=False)  # type: ignore[misc]
    yield from (row["rationale"] or "" for row in ratings)
