"""Replay: ratings from a file, given back as if their judges were asked again. Nothing is called or paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.base import Answer, Judge, Reply, Rubrics
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES

FLAG = "replayed"

_Row = Mapping[str, Any]
_Key = tuple[str, str, int, str | None]  # trajectory id, axis, repeat, hash of the rubric (None: reads no rubrics)


class ReplayJudge(Judge):
    """One recorded rater: name, kind, family, model, mechanism and version are those of the record.

    A rating is found by trajectory, axis, repeat and, for raters that read rubrics, by the rubric's text. What the
    record lacks is bad input; no verdict is made up for it. Of several that fit (two prompts) the last one counts.
    """

    def __init__(self, spec: JudgeSpec, rows: list[_Row]) -> None:
        super().__init__(spec)
        first = rows[0]
        self.kind = first["rater_kind"]  # type: ignore[misc]  # here it belongs to the record, not to the class
        self.reads_rubrics = any(row["rubric_sha256"] for row in rows)  # type: ignore[misc]
        self.rater, self.family, self.model = first["rater"], first["family"], first["model"]
        self.mechanism, self.version = first["mechanism"], first["rater_version"]
        self.recorded: dict[_Key, _Row] = {
            (row["trajectory_id"], row["question"], row["repeat"], row["rubric_sha256"]): row for row in rows
        }

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """The recorded hash, so that a replayed rating is the rating that it was."""
        axis, rubric = next(iter(rubrics.items()))
        return str(self._row(trajectory, axis, rubric, 0)["prompt_sha256"] or "")

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        rows = {axis: self._row(trajectory, axis, rubric, repeat) for axis, rubric in rubrics.items()}
        first = next(iter(rows.values()))
        return Reply(
            answers={axis: _answer(row) for axis, row in rows.items()},
            returned_model=first["returned_model"],
            cost_usd=0.0,
            call_id=first["call_id"],
            flags=(FLAG,),
        )

    def _row(self, trajectory: Trajectory, axis: str, rubric: Rubric, repeat: int) -> _Row:
        key = (trajectory.id, axis, repeat, rubric.sha256 if self.reads_rubrics else None)
        if (row := self.recorded.get(key)) is None:
            version = f" by rubric {rubric.version}" if self.reads_rubrics else ""
            where = f"judge replay:{self.spec.model}"
            rule = f"holds no rating by {self.rater} of {axis}{version}, repeat {repeat}, for this trajectory"
            raise InputError(where, rule, trajectory.id, "choose trajectories, axes and versions that it holds")
        return row


def replayed_judges(spec: JudgeSpec) -> list[Judge]:
    """One judge for each rater (name and version) whose verdicts on the five axes a ratings file holds.

    Raises
    ------
    InputError
        The file is missing, is not made of ratings, or holds no verdicts on the axes.
    """
    from axisjudge.ratings import read_ratings

    path = Path(spec.model or "")
    by_rater: dict[tuple[str, str | None], list[_Row]] = {}
    for row in read_ratings(path).iter_rows(named=True):
        if row["question"] in AXES and row["scale"] == "verdict" and row["step_index"] is None:
            by_rater.setdefault((row["rater"], row["rater_version"]), []).append(row)
    if not by_rater:
        raise InputError(str(path), "holds no verdicts on the five axes, so there is nothing to replay")
    return [ReplayJudge(spec, rows) for rows in by_rater.values()]


def _answer(row: _Row) -> Answer:
    # what the run finds out about citations, and that this is a replay, is added anew
    flags = tuple(flag for flag in row["flags"] or () if flag not in (FLAG, "citation_out_of_range"))
    return Answer(
        status=row["status"],
        verdict=row["verdict"],
        confidence=row["confidence"],
        confidence_source=row["confidence_source"],
        probabilities=json.loads(row["probabilities"]) if row["probabilities"] else None,
        cited_step_indices=tuple(row["cited_step_indices"] or ()),
        rationale=row["rationale"],
        flags=flags,
    )
