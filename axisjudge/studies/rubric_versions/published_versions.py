"""The published course of one rubric over three versions, on one run; and why a split refuses the task behind it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.protocol import make_split, rehearsal
from axisjudge.protocol.split import PLACE, read_split
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.soft import beliefs, raw_soft_agreement, split_change
from axisjudge.stats.comparisons.progress import VersionOutcome, decide, moved
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, native, to_polars
from axisjudge.studies.rubric_versions import sentences
from axisjudge.trajectory import Trajectory

_COLUMNS = ("version", "judge", "verdict", "confidence", "cited_step_indices", "citation_overlap")


@dataclass(frozen=True)
class PublishedItem:
    """Raw soft agreement of two judges on the single published item by rubric version, each change split.

    `overlaps` says in the text's words how far the judges cite the same steps. Raw values are shown for a single
    published item only.
    """

    versions: tuple[str, ...]
    agreement: tuple[float, ...]
    changes: tuple[str, ...]
    overlaps: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Agreement by version, and what of each change is flips and what is hedging."""
        return sentences.published_item(self.versions, self.agreement, self.changes, self.overlaps)


@dataclass(frozen=True, eq=False)
class PublishedCourse(Result):
    """One run under several versions: verdicts and beliefs, raw soft agreement, and the rule's word on each turn."""

    of_ratings: ClassVar[bool] = False  # published figures; a page's banner does not concern them
    _keys = columns("versions rows agree raw_soft_agreement words changes=soft.changes")

    rows: pl.DataFrame
    judges: tuple[str, ...]
    agree: Mapping[str, bool]
    soft: PublishedItem
    words: tuple[VersionOutcome, ...]
    kind: Kind

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions in their order."""
        return self.soft.versions

    @property
    def raw_soft_agreement(self) -> dict[str, float]:
        """Raw soft agreement by version."""
        return dict(zip(self.versions, self.soft.agreement, strict=True))

    def beliefs(self, judge: str) -> list[float]:
        """A judge's belief that the run is correct under each version."""
        return self.rows.filter(judge=judge)["belief"].to_list()

    def to_frame(self) -> Table:
        """One row a version and judge."""
        return native(self.rows, self.kind)

    @property
    def sentence(self) -> str:
        """What moved: verdicts, beliefs, and what one run allows to be said."""
        beliefs = {judge: self.beliefs(judge) for judge in self.judges}
        return sentences.published_course(self.agree, beliefs, self.soft.sentence, sorted(set(self.words)))


def published_course(verdicts: Given) -> PublishedCourse:
    """Read the published verdicts of two judges on one run under each version.

    Parameters
    ----------
    verdicts : table
        Columns version, judge, verdict, confidence, cited_step_indices, citation_overlap; two judges a version.
    """
    table = to_polars(verdicts, _COLUMNS, where="verdicts").sort("version", "judge")
    by_version = {str(name): rows for (name,), rows in table.group_by("version", maintain_order=True)}
    if any(rows.height != 2 for rows in by_version.values()):
        counts = {name: rows.height for name, rows in by_version.items()}
        raise InputError("verdicts", "needs two judges for each version", counts)
    given = [([rows["verdict"].to_list()], [rows["confidence"].to_list()]) for rows in by_version.values()]
    agree = {name: rows["verdict"].n_unique() == 1 for name, rows in by_version.items()}
    soft = PublishedItem(
        versions=tuple(by_version),
        agreement=tuple(float(raw_soft_agreement(*beliefs(*each)[0])) for each in given),
        changes=tuple(split_change(*old, *new).sentence() for old, new in pairwise(given)),
        overlaps=tuple(rows["citation_overlap"][0] for rows in by_version.values()),
    )
    return PublishedCourse(
        rows=table.with_columns(belief=beliefs(table["verdict"].to_list(), table["confidence"].to_numpy())),
        judges=tuple(table["judge"].unique(maintain_order=True)),
        agree=agree,
        soft=soft,
        words=tuple(_word(*both) for both in pairwise(agree.values())),
        kind=kind_of(verdicts),
    )


def _word(before: bool, after: bool) -> VersionOutcome:
    """What the rule says of one run of one task."""
    one = moved(np.array([[[float(before)]], [[float(after)]]]), np.zeros(1, dtype=np.intp))
    return decide(one, (float("nan"), float("nan")), []).outcome


@dataclass(frozen=True)
class RefusedTask(Result):
    """A task that was used while tuning and stands among the evaluation tasks: what it costs, and the refusal."""

    task: str
    n_items: int
    n_all: int
    held_out: tuple[str, ...]
    side: str
    refusal: str

    @property
    def sentence(self) -> str:
        """The leak, and what the split says of it."""
        counts = (self.n_items, self.n_all)
        return sentences.refused_task(self.task, counts, self.side, self.held_out, self.refusal)


def refused_task(tasks: Given, *, salt: str = "published") -> RefusedTask:
    """Split the published tasks in a rehearsal, move the one that was used in tuning, and keep what reading says.

    Parameters
    ----------
    tasks : table
        Columns task_id, agent, used_in_tuning.
    """
    table = to_polars(tasks, ("task_id", "agent", "used_in_tuning"), where="tasks")
    runs = [
        Trajectory(id=f"{task}-{agent}", source="published", task_id=str(task), agent=agent)
        for task, agent in table.select("task_id", "agent").iter_rows()
    ]
    used = [str(task) for task in table.filter(pl.col("used_in_tuning"))["task_id"].unique().sort()]
    if not used:
        raise InputError("tasks", "none was used in tuning, so that there is nothing to refuse")
    with tempfile.TemporaryDirectory() as folder, workbench.at(rehearsal(folder)):
        split = make_split(runs, salt=salt, tuned_on=dict.fromkeys(used, "a rubric was revised by looking at it"))
        side = split.side_of(used[0])
        _move(used[0], side, split.held_out[0])
        return RefusedTask(
            task=used[0],
            n_items=sum(run.task_id == used[0] for run in runs),
            n_all=len(runs),
            held_out=tuple(split.held_out_tasks),
            side=side,
            refusal=_refusal(),
        )


def _move(task: str, side: str, other: str) -> None:
    """Move a task in the file, as an editor would."""
    from axisjudge.protocol.records import read_json, write_json

    path = workbench.home() / PLACE
    content = read_json(path, PLACE)
    content["tasks"].setdefault(other, {})[task] = content["tasks"][side].pop(task)
    write_json(path, content)


def _refusal() -> str:
    try:
        read_split()
    except InputError as error:
        return str(error)
    raise RuntimeError("a split with a moved task was read as if nothing had happened")
