"""Do judges miss more failures of agents of their own family: the answer against labels, or the table and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, VERDICT_ON_RUN
from axisjudge.results import columns
from axisjudge.stats.raters.self_preference import SelfPreference, self_preference
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, per_run, table_of
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.scope import made_up_raters, questions_in_order
from axisjudge.studies._shared.words import many
from axisjudge.studies.evidence import sentences as words

_CELLS = ("judge_family", "agent_family", "own", "says_correct", "verdicts", "agents")


@dataclass(frozen=True, eq=False, repr=False)
class SelfPreferenceReport(Part):
    """Self-preference of each judge family that has agents of its own, or the table of leniency alone.

    With `labels` (whose they are; empty without any) the table is of failed items, so that saying correct is a miss.
    `runs_left_out` have no agent or no agent family.
    """

    _keys = columns("where preference=measured.preference table=measured.table refusal labels n_failed runs_left_out")

    name: ClassVar = "self_preference"
    caption: ClassVar = "Share of verdicts that say correct, by family of judge and agent"

    where: str
    measured: SelfPreference
    labels: str
    n_failed: int
    runs_left_out: int
    kind: Kind

    @property
    def refusal(self) -> str:
        """Why there is no preference, or nothing."""
        return self.measured.refusal

    @property
    def behind(self) -> dict[str, str]:
        """Decided verdicts."""
        return {"word": "correct\nincorrect"}

    @property
    def table(self) -> Table:
        """One row for each family of judges and of agents: the share of verdicts that say correct."""
        rows = [
            (c.judge_family, c.agent_family, c.judge_family == c.agent_family, c.says_correct, c.n_verdicts, c.n_agents)
            for c in self.measured.table
            if c.n_verdicts
        ]
        return table_of([dict(zip(_CELLS, row, strict=True)) for row in rows], self.kind, columns=_CELLS)

    @property
    def answer(self) -> str:
        """The preference of each family, or the refusal and what the table is."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        left_out = words.no_agent(self.runs_left_out)
        if self.refusal:
            return (words.leniency_alone(self.where, self.refusal, bool(self.labels)), *left_out)
        return (
            words.BASIS.format(where=self.where, items=many(self.n_failed, "item"), labels=self.labels),
            *(words.preference(family, each) for family, each in self.measured.preference.items()),
            *([words.RELATIVE] if len(self.measured.preference) > 1 else []),
            *left_out,
        )


def self_preference_report(
    ratings: Given, agent_families: Given, *, repeat: int = 0, ci_level: float = 0.95
) -> SelfPreferenceReport:
    """Self-preference of judge families on whole trajectories.

    The estimand is the difference in miss rate P(says correct | labelled incorrect), agents of the own family minus
    others, against the same difference of all other judges. It is refused without labels, with fewer than 3 judge
    families or with fewer than 2 agents a family: then there are the bare shares alone.

    Parameters
    ----------
    ratings : table
        A ratings table with the agent of each run and one rating for each run, question and rater.
    agent_families : mapping or table
        ``{trajectory_id: agent_family}``, or a table with these two columns. Runs without a family are left out.

    Raises
    ------
    InputError
        No run has an agent and a family, an agent has two families, or no judge rates these runs.
    """
    table = as_ratings(ratings).filter(VERDICT_ON_RUN)
    agents = _agents(table)
    families = per_run(agent_families, "agent_family", where="agent_families")
    families = {run: families[run] for run in agents if families.get(run) is not None}
    _check_families(agents, families)
    known = table.filter(pl.col("trajectory_id").is_in(list(families)))
    judged = known.filter(BY_JUDGE)
    if judged.is_empty():
        raise InputError("ratings", "must hold verdicts of judges on the runs with an agent family")
    panel = pooled(known, questions_in_order(judged["question"]), repeat=repeat)
    runs = dict(known.select("item_id", "trajectory_id").iter_rows())
    failed = _incorrect(panel, panel.label)
    labelled = bool((~np.isnan(failed)).any())
    measured = self_preference(
        1 - _incorrect(panel, panel.codes[:, : panel.n_judges]),
        panel.families[: panel.n_judges],
        [agents[runs[item]] for item in panel.items],
        [families[runs[item]] for item in panel.items],
        failed=failed if labelled else None,
        tasks=panel.clusters,
        ci_level=ci_level,
    )
    return SelfPreferenceReport(
        where=panel.where,
        measured=measured,
        labels=("the planted labels" if panel.planted else "people") if labelled else "",
        n_failed=int((failed == 1).sum()),
        runs_left_out=table["trajectory_id"].n_unique() - known["trajectory_id"].n_unique(),
        kind=kind_of(ratings),
        made_up=made_up_raters(known),
    )


def _agents(table: pl.DataFrame) -> dict[str, str]:
    named = table.drop_nulls("agent").select("trajectory_id", "agent").unique().sort("trajectory_id")
    if not (twice := named.filter(pl.col("trajectory_id").is_duplicated())).is_empty():
        raise InputError("ratings", "a run has one agent", twice["trajectory_id"][0])
    return dict(named.iter_rows())


def _check_families(agents: dict[str, str], families: dict[str, str]) -> None:
    if not families:
        rule = "must name the family of a run's agent"
        raise InputError("agent_families", rule, cure="the ratings need agents, and both the same trajectory_id")
    by_agent: dict[str, str] = {}
    for run, family in families.items():
        if by_agent.setdefault(agents[run], family) != family:
            raise InputError("agent_families", "an agent has one family", agents[run])


def _incorrect(panel: Pooled, codes: Floats) -> Floats:
    """1 for incorrect, 0 for correct, NaN for any other word or none."""
    incorrect, correct = (panel.categories.index(word) for word in ("incorrect", "correct"))
    return np.where(codes == incorrect, 1.0, np.where(codes == correct, 0.0, np.nan))
