"""The rules judge: what a program can know of the five axes.

Facts are read off a trajectory once (facts.py) and each axis has its rules in a module of its own; findings.py holds
every kind of finding with its confidence. In judge.py `grade_trajectory` is the pure function, `RulesJudge` the judge.
"""
