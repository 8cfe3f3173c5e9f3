"""Replay: ratings from a file, given back as if their judges were asked again. Nothing is called or paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import Answer, Reply, Sheet, question_and_interaction
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.rubric.axes import RubricText
from axisjudge.spec import JudgeSpec, Provider
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES

FLAG = "replayed"

_Row = Mapping[str, Any]
#: Trajectory id, question, interaction (None: the whole run), repeat, hash of the rubric (None: reads no rubrics).
_Key = tuple[str, str, str | None, int, str | None]


class ReplayJudge(Judge):
    """One recorded rater: name, kind, family, model, mechanism and version are those of the record.

    A rating is found by trajectory, axis, repeat and, for raters that read rubrics, by the rubric's text. What the
    record lacks is bad input; no verdict is made up for it. Of several that fit (two prompts) the last one counts.
    """

    def __init__(self, spec: JudgeSpec, rows: list[_Row]) -> None:
        super().__init__(spec)
        first = rows[0]
        self.kind = first["rater_kind"]
        self.reads_rubrics = any(row["rubric_sha256"] for row in rows)
        self.rater, self.family, self.model = first["rater"], first["family"], first["model"]
        self.mechanism, self.version = first["mechanism"], first["rater_version"]
        self.scales = frozenset(row["scale"] for row in rows)
        self.recorded: dict[_Key, _Row] = {
            (*(row[name] for name in ("trajectory_id", "question", "interaction_id", "repeat", "rubric_sha256")),): row
            for row in rows
        }

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """The recorded hash, so that a replayed rating is the rating that it was."""
        axis, rubric = next(iter(rubrics.items()))
        return str(self._row(trajectory, axis, rubric, 0)["prompt_sha256"] or "")

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        return self._reply({axis: self._row(trajectory, axis, rubric, repeat) for axis, rubric in rubrics.items()})

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        """The points that were recorded: not every rater answers all (rules do not, and grade no checks)."""
        if sheet.scale not in self.scales:
            return ()
        points = [point for point in sheet.points if self._key(sheet, point, 0) in self.recorded]
        if not points:
            where, what = f"judge replay:{self.spec.model}", sheet.points[0].partition("@")[0]
            rule = f"holds no rating by {self.rater} of {what} and what is asked with it, for this trajectory"
            raise InputError(where, rule, sheet.trajectory.id, "choose trajectories, checks and versions that it holds")
        return tuple(points)

    def sheet_sha256(self, sheet: Sheet) -> str:
        """The recorded hash."""
        return str(self.recorded[self._key(sheet, self.points(sheet)[0], 0)]["prompt_sha256"] or "")

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        points = self.points(sheet)
        return self._reply({point: self._row_of(self._key(sheet, point, repeat), point) for point in points})

    def _key(self, sheet: Sheet, point: str, repeat: int) -> _Key:
        rubric = sheet.rubrics[point].sha256 if self.reads_rubrics else None
        return (sheet.trajectory.id, *question_and_interaction(point), repeat, rubric)

    def _reply(self, rows: Mapping[str, _Row]) -> Reply:
        first = next(iter(rows.values()))
        return Reply(
            answers={axis: _answer(row) for axis, row in rows.items()},
            returned_model=first["returned_model"],
            cost_usd=0.0,
            call_id=first["call_id"],
            flags=(FLAG,),
        )

    def _row(self, trajectory: Trajectory, axis: str, rubric: RubricText, repeat: int) -> _Row:
        key = (trajectory.id, axis, None, repeat, rubric.sha256 if self.reads_rubrics else None)
        return self._row_of(key, f"{axis} by rubric {rubric.version}" if self.reads_rubrics else axis)

    def _row_of(self, key: _Key, asked: str) -> _Row:
        if (row := self.recorded.get(key)) is None:
            where = f"judge replay:{self.spec.model}"
            rule = f"holds no rating by {self.rater} of {asked}, repeat {key[3]}, for this trajectory"
            raise InputError(where, rule, key[0], "choose trajectories, axes and versions that it holds")
        return row


def replayed_judges(spec: JudgeSpec) -> list[Judge]:
    """One judge for each rater (name and version) of a ratings file: verdicts on the axes, signals, goal checks.

    Raises
    ------
    InputError
        The file is missing, is not made of ratings, or holds none of these.
    """
    from axisjudge.ratings import read_ratings

    path = Path(spec.model or "")
    by_rater: dict[tuple[str, str | None], list[_Row]] = {}
    for row in read_ratings(path).iter_rows(named=True):
        of_axis = row["question"] in AXES and row["scale"] == "verdict" and row["step_index"] is None
        if of_axis or row["scale"] in ("unit", "check"):
            by_rater.setdefault((row["rater"], row["rater_version"]), []).append(row)
    if not by_rater:
        raise InputError(str(path), "holds no verdicts on the five axes and no signals, so there is nothing to replay")
    return [ReplayJudge(spec, rows) for rows in by_rater.values()]


#: What an answer takes over from a recorded rating as it is.
_AS_RECORDED = ("status", "verdict", "value", "confidence", "confidence_source", "rationale")


def _answer(row: _Row) -> Answer:
    # what the run finds out about citations, and that this is a replay, is added anew
    flags = tuple(flag for flag in row["flags"] or () if flag not in (FLAG, "citation_out_of_range"))
    return Answer(
        **{name: row[name] for name in _AS_RECORDED},
        probabilities=json.loads(row["probabilities"]) if row["probabilities"] else None,
        cited_step_indices=tuple(row["cited_step_indices"] or ()),
        flags=flags,
    )


#: Each replayed rating keeps the family that it was recorded with.
PROVIDER = Provider(replayed_judges, family="recorded", model="a ratings file", free=True)
