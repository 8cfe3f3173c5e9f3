"""A judge against people in one minute: any table, any question with two words or more, no workbench and no key."""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.check.compute import JudgeCheck
from axisjudge.studies.check.requirements import Decision, decide
from axisjudge.studies.check.study import Check, check

__all__ = ["Check", "Decision", "JudgeCheck", "check", "decide"]

open_door(check)
