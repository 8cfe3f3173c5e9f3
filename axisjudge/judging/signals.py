"""Signals and goal checks of AXIS Results judged by the same run: planned, resumed and kept like the five axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from axisjudge.checks import InputError, whole
from axisjudge.judges import Judge, JudgeLike, make_judges
from axisjudge.judges.answer import Sheet
from axisjudge.judging.inquiry import OfSheet
from axisjudge.judging.judging_run import JudgingRun
from axisjudge.judging.plan import Done, JudgingPlan, call_of, check_ids, plan_calls
from axisjudge.protocol.gate import Admitted, admit
from axisjudge.scores.axis.judged.sheets import load_signal_rubrics, sheets_of
from axisjudge.scores.axis.judged.signals import MODELS
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.scenario import Scenario, scenario_for
from axisjudge.scores.axis.transcript.interactions import run_of_trajectory
from axisjudge.trajectory import Trajectory

#: Flags of ratings by a judge of the agent's own family, and of those where nobody can say whether it is.
OWN_FAMILY, FAMILY_UNKNOWN = "own_family", "agent_family_unknown"


@dataclass(frozen=True, kw_only=True)
class SignalQuestions:
    """What is asked of every run.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Whose checks are graded, chosen for each run as `axisjudge.scores.axis.scenario.scenario_for` says.
    checks : bool
        Whether goal checks are graded at all.
    rules : RuleSet
        How interactions are formed and replies are read.
    weights : mapping, optional
        Weights of the four dimensions; a category of weight 0 is not judged.
    versions : mapping of signal to rubric version, optional
        By default the current rubrics.
    allow_own_family : bool
        Let a judge judge agents of its own family; each such rating then bears a flag.
    exploratory : bool
        Judge held-out tasks too; every rating bears the flag, and the ledger counts the look.
    """

    scenarios: Sequence[Scenario] = ()
    checks: bool = True
    rules: RuleSet = DOCUMENTED
    weights: Mapping[str, float] | None = None
    versions: Mapping[str, str] | None = None
    allow_own_family: bool = False
    exploratory: bool = False


def signals_run(
    trajectories: Sequence[Trajectory],
    judges: Sequence[JudgeLike],
    questions: SignalQuestions | None = None,
    *,
    repeats: int = 1,
    out: str | Path | None = None,
    keep_lost: bool = False,
    retry: Sequence[str] = (),
) -> JudgingRun:
    """The run in which judges judge the signals and goal checks of runs: to be planned, looked at, and carried out.

    The other parameters are those of `axisjudge.judge`; what `out` holds is not asked again.

    Raises
    ------
    InputError
        A judge that judges no signals or is of an agent's own family, a scenario that a run lacks, held-out tasks.
    """
    whole("repeats", repeats)
    asked = _Asked.of(trajectories, judges, questions or SignalQuestions())
    return JudgingRun(partial(asked.plan, repeats=repeats, keep_lost=keep_lost, retry=retry), asked.admitted, out)


@dataclass(frozen=True)
class _Asked:
    """The sheets of every admitted run, each with every judge that has a word on it."""

    admitted: Admitted
    raters: Sequence[Judge]
    inquiries: Sequence[tuple[Judge, OfSheet]]

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory], judges: Sequence[JudgeLike], questions: SignalQuestions) -> _Asked:
        check_ids("transcripts", trajectories)
        raters = make_judges(judges)
        rubrics = load_signal_rubrics(questions.versions)
        admitted = admit(trajectories, raters, rubrics, exploratory=questions.exploratory)
        if not questions.allow_own_family:
            refuse_own_family(raters, admitted.trajectories)
        weights = DEFAULT_WEIGHTS if questions.weights is None else questions.weights
        sheets: list[Sheet] = []
        for trajectory in admitted.trajectories:
            scenario = scenario_for(trajectory, questions.scenarios)
            if scenario is not None and trajectory.task_id is None:
                trajectory = trajectory.model_copy(update={"task_id": scenario.name})
            run = run_of_trajectory(trajectory, questions.rules)
            sheets += sheets_of(trajectory, run, scenario, rubrics, weights, checks=questions.checks)
        pairs = (
            (judge, OfSheet(sheet, judge, family_flags(judge, sheet.trajectory)))
            for sheet in sheets
            for judge in raters
        )
        inquiries = [(judge, inquiry) for judge, inquiry in pairs if inquiry.rubrics]
        asked = {judge for judge, _ in inquiries}
        if sheets and (idle := [judge for judge in raters if judge not in asked]):
            rule = "has no word on any signal or check of these runs"
            raise InputError(f"judge {idle[0].rater}", rule, cure="leave it out, or take a record that holds them")
        return cls(admitted, raters, inquiries)

    def plan(self, done: Done, *, repeats: int, keep_lost: bool, retry: Sequence[str]) -> JudgingPlan:
        calls = (
            call_of(judge, inquiry, repeat, self.admitted.stamps.get(inquiry.trajectory.id))
            for judge, inquiry in self.inquiries
            for repeat in range(repeats)
        )
        return plan_calls(([call] for call in calls), self.raters, done=done, keep_lost=keep_lost, retry=retry)


def refuse_own_family(judges: Sequence[Judge], trajectories: Sequence[Trajectory]) -> None:
    """Refuse a model that is to judge agents of its own family.

    Raises
    ------
    InputError
        The first such judge, with the first such run.
    """
    for judge in judges:
        for run in trajectories:
            if OWN_FAMILY in family_flags(judge, run):
                cure = "take a judge of another family, or allow it (--allow-own-family), which marks the result"
                rule = f"is of the {judge.family} family, as is the agent it would judge"
                raise InputError(f"judge {judge.rater}", rule, f"{run.agent or 'agent'} in {run.id}", cure)


def family_flags(judge: Judge, run: Trajectory) -> tuple[str, ...]:
    """What the ratings of a model bear: that it is of the agent's family, or that the agent's is not known."""
    if judge.kind not in MODELS or run.agent_family not in (None, judge.family):
        return ()
    return (FAMILY_UNKNOWN,) if run.agent_family is None else (OWN_FAMILY,)
