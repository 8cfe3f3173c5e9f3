"""Plan, run and resume: every trajectory asked of every judge on every axis, nothing lost and nothing paid twice."""

from axisjudge.judging.api import judge
from axisjudge.judging.plan import Call, Plan, make_plan
from axisjudge.judging.run import run_plan

__all__ = ["Call", "Plan", "judge", "make_plan", "run_plan"]
