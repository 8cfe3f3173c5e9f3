"""The run scorecard: a deterministic 0-100 score of how well an agent executed its spec, from four components."""

from axisjudge.scores.run_score.runs import read_runs
from axisjudge.scores.run_score.score import frozen_baseline, score_runs

__all__ = ["frozen_baseline", "read_runs", "score_runs"]
