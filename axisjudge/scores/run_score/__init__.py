"""The run scorecard: a deterministic 0-100 score of how well an agent executed its spec, from four components."""

from axisjudge.scores.run_score.rules import (
    COMPONENTS,
    FORMULA_VERSION,
    OUTCOMES,
    TIERS,
    UNRANKED,
    ScorecardRules,
    tier_of,
)
from axisjudge.scores.run_score.runs import (
    ID_PATTERN,
    RUN_SCHEMA,
    Run,
    Stage,
    parse_run,
    read_runs,
    runs_frame,
    runs_of,
)
from axisjudge.scores.run_score.score import Scorecard, frozen_baseline, score_run, score_runs, scorecards, without

__all__ = [
    "COMPONENTS",
    "FORMULA_VERSION",
    "ID_PATTERN",
    "OUTCOMES",
    "RUN_SCHEMA",
    "TIERS",
    "UNRANKED",
    "Run",
    "Scorecard",
    "ScorecardRules",
    "Stage",
    "frozen_baseline",
    "parse_run",
    "read_runs",
    "runs_frame",
    "runs_of",
    "score_run",
    "score_runs",
    "scorecards",
    "tier_of",
    "without",
]
