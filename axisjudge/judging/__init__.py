"""Plan, run and resume: every trajectory asked of every judge on every axis, nothing lost and nothing paid twice."""

from axisjudge.judging.api import judge, judging_run
from axisjudge.judging.judging_run import JudgingRun
from axisjudge.judging.plan import Call, JudgingPlan, RunOptions, make_plan

__all__ = ["Call", "JudgingPlan", "JudgingRun", "RunOptions", "judge", "judging_run", "make_plan"]
