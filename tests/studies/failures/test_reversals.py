"""How many verdicts decide which axis fails most: none where nothing is told apart, few where it is."""

import numpy as np
import pytest

from axisjudge.ratings import ratings_frame
from axisjudge.studies.failures import failures
from axisjudge.verdict import Rating


def study(rate_of):
    """24 tasks x 2 agents x 2 judges; each axis fails at its own rate, and both judges see it."""
    rng, rows = np.random.default_rng(3), []
    for task in range(24):
        for agent in ("ant", "bee"):
            run = f"{task}-{agent}"
            for axis, rate in rate_of.items():
                word = "incorrect" if rng.random() < rate else "correct"
                for judge in ("owl", "elk"):
                    about = {"trajectory_id": run, "item_id": run, "task_id": f"t{task}", "cluster_id": f"t{task}"}
                    about |= {"agent": agent, "question": axis, "scale": "verdict", "repeat": 0, "status": "ok"}
                    rows.append(Rating(**about, rater=judge, rater_kind="llm", family=judge, verdict=word))
    return failures(ratings_frame(rows))


@pytest.mark.slow
def test_a_first_axis_hangs_on_some_verdicts_and_equal_ones_on_none():
    clear = study({"sequencing": 0.9, "termination": 0.1, "tool_selection": 0.1})
    assert clear.axes.first == ("sequencing",)
    few = study({"sequencing": 0.5, "termination": 0.1, "tool_selection": 0.1})
    assert few.axes.first == ("sequencing",)
    assert 1 <= few.reversals.axes.changes < clear.reversals.axes.changes <= 4 * 24
    assert f"{few.reversals.axes.changes} different verdict" in few.reversals.answer
    equal = study({"sequencing": 0.3, "termination": 0.3})
    assert (equal.reversals.axes, equal.reversals.agents) == (None, None)
