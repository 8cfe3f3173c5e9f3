"""The text of a run in which the explorer looks for words: steps, calls, reasons and notes, and no names of fields.

It is taken from the record, not from what is shown of it: laying out the JSON of thousands of runs takes ten seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from axisjudge.checks import InputError
from axisjudge.trajectory import Trajectory


def run_text(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> str:
    """All text of a run and its ratings, one piece a line."""
    return "\n".join(_pieces(run, ratings))


def sought(find: str) -> re.Pattern[str]:
    """What finds words in a run's text in any case, or between two slashes a regular expression.

    In words a space stands for any or none, as in JSON laid out to be shown.

    Raises
    ------
    InputError
        The regular expression is none.
    """
    between = re.fullmatch(r"/(.+)/", find.strip(), re.DOTALL)
    pattern = between[1] if between else r"\s*".join(map(re.escape, find.split()))
    try:
        return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise InputError("search", f"is no regular expression ({error})", find) from None


def _pieces(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in run.steps if run else ():
        yield step.content
        yield step.tool_name or ""
        for call in step.tool_calls:
            yield call.name
            raw = isinstance(call.arguments, str)
            yield call.arguments if raw else json.dumps(call.arguments, ensure_ascii=False)  # type: ignore[misc]
    yield from (row["rationale"] or "" for row in ratings)
