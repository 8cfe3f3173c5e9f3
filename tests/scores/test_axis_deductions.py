"""Deductions lead from a score back to what made it: those of a dimension add up to what it lost."""

import pytest

from axisjudge.datasets import demo_transcripts
from axisjudge.readers import read_trajectories
from axisjudge.scores.axis.result import deductions
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.scenario import axis_results


@pytest.mark.parametrize("rules", [DOCUMENTED, UPSTREAM], ids=["documented", "upstream"])
def test_they_add_up_to_what_each_dimension_lost(rules):
    """100 less the raw value of every dimension of every session of the demo, and none without a cause."""
    runs = read_trajectories(*demo_transcripts()[::2]).trajectories
    n = 0
    for result in axis_results(runs, rules=rules):
        taken = deductions(result)
        n += len(taken)
        for dimension in result.dimensions[1:]:
            of_it = [each for each in taken if each.dimension == dimension.name]
            lost = 0.0 if dimension.no_data or dimension.raw is None else 100 * (1 - dimension.raw)
            assert sum(each.points for each in of_it) == pytest.approx(lost, abs=1e-9)
        assert all(each.points > 0 and each.value < 1 and (each.reason or each.signal != "speed") for each in taken)
        assert [each.points for each in taken] == sorted((each.points for each in taken), reverse=True)
    assert n > 50
