"""`axisjudge.studies.evidence`: what stands behind verdicts, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from axisjudge.ratings.edge import as_ratings
from axisjudge.studies._shared.citations import CitationReport, citation_report
from axisjudge.studies._shared.frames import Given, Table
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.evidence import sentences as words
from axisjudge.studies.evidence.figures import plot_citation_overlap, plot_self_agreement
from axisjudge.studies.evidence.repeats import RepeatReport, repeat_report
from axisjudge.studies.evidence.self_preference import SelfPreferenceReport, self_preference_report
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evidence(RatedResult):
    """Cited steps of judges, judges asked again, and judges of an agent's own family (None: no family is known)."""

    citations: CitationReport
    repeats: RepeatReport
    self_preference: SelfPreferenceReport | None

    @property
    def table(self) -> Table:
        """One row for each question, rubric version and pair of judges: the steps that they share."""
        return self.citations.to_frame()

    @property
    def answer(self) -> str:
        """Whether judges share more steps than chance, and who agrees least with itself."""
        again = {
            f"{each.judge} on {each.question}": each.with_itself for each in self.repeats.judges if each.with_itself
        }
        shared = self.citations.overlap_sentence if self.citations.any_cited else self.citations.sentences[0]
        return words.answer(shared, again)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Cited steps, repeats, and the preference for agents of one's own family."""
        own = () if self.self_preference is None else self.self_preference.sentences
        return (*self.citations.sentences, *self.repeats.sentences, *own)

    def plots(self) -> Mapping[str, Plot]:
        """Overlap of cited steps beside chance, and self-agreement, where there are any."""
        plots: dict[str, Plot] = {}
        if any(pair.cited.n_both for pair in self.citations.pairs):
            plots["citation_overlap"] = partial(plot_citation_overlap, self.citations)
        if self.repeats.any_again:
            plots["self_agreement"] = partial(plot_self_agreement, self.repeats)
        return plots


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
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns), with all repeats.
    runs : sequence of Trajectory
        The runs that were rated (others are passed over): their numbers of steps tell which shared steps are chance,
        their agents' families whether judges are kinder to their own.
    repeat : int
        Which repeat of the judges is looked at for cited steps and families; self-agreement takes all.
    n_bands : int
        Into how many bands a judge's items are split at the quantiles of its mean confidence over repeats.
    cluster_unit : str
        What `cluster_id` is.
    ci_level : float
        Level of all intervals.

    Returns
    -------
    Evidence
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take clusters as independent.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat, or runs that contradict the ratings.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], repeats=2, progress=False)
    >>> len(axisjudge.studies.evidence(ratings, runs).table)
    5
    """
    rated = set(as_ratings(ratings)["trajectory_id"])
    runs = [run for run in runs if run.id in rated]
    families = {run.id: run.agent_family for run in runs if run.agent_family}
    steps = {run.id: len(run.steps) for run in runs} or None
    return Evidence(
        citations=citation_report(ratings, steps=steps, repeat=repeat, cluster_unit=cluster_unit, ci_level=ci_level),
        repeats=repeat_report(ratings, n_bands=n_bands, cluster_unit=cluster_unit, ci_level=ci_level),
        self_preference=self_preference_report(ratings, families, repeat=repeat, ci_level=ci_level)
        if families
        else None,
        made_up=made_up_raters(as_ratings(ratings)),
    )
