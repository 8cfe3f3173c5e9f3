"""Do judges point at the same steps, and does a judge agree with itself? (notebook 02)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from axisjudge.ratings.edge import as_ratings
from axisjudge.studies._shared.citations import SharedSteps, shared_steps
from axisjudge.studies._shared.frames import Given, Table
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies.evidence import sentences as say
from axisjudge.studies.evidence.chance import BesideChance, beside_chance
from axisjudge.studies.evidence.repeats import (
    AskedAgain,
    PublishedRepeat,
    SelfPreferenceReport,
    asked_again,
    published_repeat,
    self_preference_report,
)
from axisjudge.trajectory import Trajectory

__all__ = [
    "AskedAgain",
    "BesideChance",
    "CitationsOfJudges",
    "Evidence",
    "PublishedRepeat",
    "SelfPreferenceReport",
    "SharedSteps",
    "asked_again",
    "beside_chance",
    "cited_steps",
    "evidence",
    "own_family",
    "published_repeat",
    "shared_steps",
]


@dataclass(frozen=True, eq=False, repr=False)
class CitationsOfJudges(Part):
    """Citations per judge, and the share of cited steps that exist."""

    name: ClassVar = "cited_steps"
    caption: ClassVar = "Citations per judge, and the share of cited steps that exist"

    citations: SharedSteps

    @property
    def table(self) -> Table:
        """One row a judge."""
        return self.citations.judges_frame()

    @property
    def answer(self) -> str:
        """How many of each judge's cited steps exist."""
        return " ".join(judge.sentence for judge in self.citations.judges if judge.n_cited)

    def to_dict(self) -> dict[str, Any]:
        """Every judge; the pairs stand with the shared steps."""
        return {"judges": [judge.to_dict() for judge in self.citations.judges]}


def cited_steps(shared: SharedSteps) -> CitationsOfJudges:
    """Whether cited steps exist, judge by judge."""
    return CitationsOfJudges(shared, made_up=shared.made_up)


def own_family(
    ratings: Given, runs: Sequence[Trajectory] = (), *, repeat: int = 0, ci_level: float = 0.95
) -> SelfPreferenceReport | None:
    """Are judges kinder to agents of their own family? None where no agent's family is known."""
    rated = set(as_ratings(ratings)["trajectory_id"])
    families = {run.id: run.agent_family for run in runs if run.id in rated and run.agent_family}
    return self_preference_report(ratings, families, repeat=repeat, ci_level=ci_level) if families else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evidence(Study):
    """Cited steps of judges, judges asked again, and judges of an agent's own family (None: no family is known)."""

    shared: SharedSteps
    cited: CitationsOfJudges
    repeats: AskedAgain
    self_preference: SelfPreferenceReport | None

    @property
    def answer(self) -> str:
        """Whether judges share more steps than chance, and who agrees least with itself."""
        return answer_of(self.shared, self.repeats)


def answer_of(shared: SharedSteps, repeats: AskedAgain) -> str:
    """Whether judges share more steps than chance, and who agrees least with itself."""
    judges = repeats.judges
    again = {f"{each.judge} on {each.question}": each.with_itself for each in judges if each.with_itself}
    return say.answer(shared.overlap_sentence if shared.any_cited else shared.sentences[0], again)


def evidence(
    ratings: Given,
    runs: Sequence[Trajectory] = (),
    *,
    repeat: int = 0,
    n_bands: int = 3,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Evidence:
    """Do judges point at the same steps, and does a judge agree with itself?

    Parameters
    ----------
    ratings, runs, repeat, cluster_unit, ci_level
        As `shared_steps` takes them; the ratings with all repeats.
    n_bands
        As `asked_again` takes it.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat, or runs that contradict the ratings.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], repeats=2, progress=False)
    >>> len(axisjudge.studies.evidence(ratings, runs).shared.table)
    5
    """
    shared = shared_steps(ratings, runs, repeat=repeat, cluster_unit=cluster_unit, ci_level=ci_level)
    return Evidence(
        shared=shared,
        cited=cited_steps(shared),
        repeats=asked_again(ratings, n_bands=n_bands, cluster_unit=cluster_unit, ci_level=ci_level),
        self_preference=own_family(ratings, runs, repeat=repeat, ci_level=ci_level),
    )


open_door(evidence)
