"""`axisjudge.studies.rubric_versions`: did new versions of a rubric make the judges agree, or only less sure?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.progress import adjusted, moved
from axisjudge.studies._shared.frames import Given, Table, frame_of, kind_of
from axisjudge.studies._shared.result import Plot, StudyResult
from axisjudge.studies._shared.scope import SCOPE, banner
from axisjudge.studies.rubric_versions.figures import plot_agreement_by_version, plot_beliefs, plot_flips
from axisjudge.studies.rubric_versions.sentences import NOT_CORRECTNESS, before
from axisjudge.studies.rubric_versions.tables import TURN, agreement_table
from axisjudge.studies.rubric_versions.turn import Steps, Turn, turn_of
from axisjudge.studies.rubric_versions.verdict_figures import plot_contested, plot_trail, plot_transitions
from axisjudge.studies.rubric_versions.versions import HELD_OUT, read_versions


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RubricVersions(StudyResult):
    """What each new version of the rubrics changed: one `Turn` for every axis and pair of consecutive versions."""

    turns: tuple[Turn, ...]

    @property
    def banner(self) -> str:
        """What must stand above all that is shown of ratings that no judge gave; empty otherwise."""
        return banner(sorted({rater for turn in self.turns for rater in turn.made_up}))

    @property
    def table(self) -> Table:
        """One row a turn: the change of agreement with its interval and test, and what may be said."""
        return frame_of(self.turns, TURN, self.turns[0].kind)

    @property
    def agreement(self) -> Table:
        """One row an axis, version and coefficient, with its interval: a table."""
        return agreement_table(self.turns)

    @property
    def answer(self) -> str:
        """What may be said of the newest version, and why; then how earlier turns came out, or what "
        "agreement is not."""
        earlier = [(turn.title, turn.outcome) for turn in self.turns[:-1]]
        return f"{self.turns[-1].answer} {before(earlier) if earlier else NOT_CORRECTNESS}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each turn's headline with the figures behind it, the scope last."""
        return (*(text for turn in self.turns for text in (turn.headline, *turn.details)), SCOPE)

    def plots(self) -> Mapping[str, Plot]:
        """Trail and agreement by version of each axis; transitions, flips, beliefs and contested runs of each turn."""
        axes = dict.fromkeys(turn.axis for turn in self.turns)
        plots: dict[str, Plot] = {}
        for axis in axes:
            which, turns = f"_{axis}" if len(axes) > 1 else "", [turn for turn in self.turns if turn.axis == axis]
            plots[f"trail{which}"] = partial(plot_trail, turns)
            plots[f"agreement_by_version{which}"] = partial(plot_agreement_by_version, turns)
        for number, turn in enumerate(self.turns, start=1):
            plots[f"transitions_{number}"] = partial(plot_transitions, turn)
            plots[f"contested_{number}"] = partial(plot_contested, turn)
            plots[f"flips_{number}"] = partial(plot_flips, turn)
            plots[f"beliefs_{number}"] = partial(plot_beliefs, turn)
        return plots


def rubric_versions(
    ratings: Given,
    changes: Mapping[str, Sequence[str]],
    *,
    steps: Steps = None,
    held_out: Sequence[str] = HELD_OUT,
    most: int = 12,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    seed: int = 0,
) -> RubricVersions:
    """Did new versions of a rubric make the judges agree, or only less sure?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns) that holds all versions, repeats included.
    changes : mapping of axis to its versions in order
        Each version is compared with the one before. The first changes of all axes are one declared family whose tests
        are adjusted by Holm, and so are the second ones, and so on.
    steps : mapping or table, optional
        Number of steps of each run, for the overlap of citations that chance would give.
    held_out : sequence of str
        Sides of the split whose ratings never enter.
    most : int
        How many contested items are listed.
    cluster_unit : str
        What `cluster_id` holds.
    ci_level : float
        Level of the intervals. The tests of the rule have their own (`axisjudge.stats.comparisons.progress.LEVEL`).
    seed : int
        Of sign flips where there are too many to count, and of resamples.

    Returns
    -------
    RubricVersions
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`, and `.turns`, one for each change.

    Raises
    ------
    InputError
        No change, fewer than two versions, or ratings that cannot be compared: a version without ratings, fewer than
        two judges or no run in common, a version whose text changed after it had judged.

    Examples
    --------
    >>> import axisjudge, polars as pl
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:48]
    >>> judges, axis = ["simulated:jackdaw", "simulated:dunnock"], "argument_validity"
    >>> both = [axisjudge.judge(runs, judges, [axis], versions={axis: v}, progress=False) for v in ("v1", "v2")]
    >>> result = axisjudge.studies.rubric_versions(pl.concat(both), {axis: ["v1", "v2"]})
    >>> len(result.table), len(result.agreement)
    (1, 10)
    """
    if not changes or any(len(versions) < 2 for versions in changes.values()):
        raise InputError("changes", "needs two versions or more of each axis", dict(changes))
    compared = partial(turn_of, steps=steps, most=most, cluster_unit=cluster_unit, ci_level=ci_level, seed=seed)
    turns: list[Turn] = []
    for number in range(max(map(len, changes.values())) - 1):
        family = {
            axis: versions[number : number + 2] for axis, versions in changes.items() if len(versions) > number + 1
        }
        read = [read_versions(ratings, axis, *both, held_out=held_out) for axis, both in family.items()]
        tested = adjusted(
            [moved(pair.agreement, pair.clusters, cluster_unit=cluster_unit, seed=seed) for pair, _ in read]
        )
        turns += [
            compared(*each, agreement, family=tuple(family), kind=kind_of(ratings))
            for each, agreement in zip(read, tested, strict=True)
        ]
    return RubricVersions(turns=tuple(turns))
