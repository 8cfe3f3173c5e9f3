"""Do the judges fail the same runs, or only as many as independent errors would let them share?"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import columns
from axisjudge.stats.agreement.independent_panel import Coincidence, coincidence_test
from axisjudge.stats.comparisons.sign_flips import holm
from axisjudge.studies._shared.frames import Table, rows_of, table_of, with_ends
from axisjudge.studies.failures import sentences
from axisjudge.studies.failures.panel import Panel
from axisjudge.studies.failures.profiles import FailureProfile


@dataclass(frozen=True, eq=False)
class SharedFailures:
    """One test an axis, all agents together; `p_holm` is adjusted over the axes."""

    profile: FailureProfile
    tests: dict[str, Coincidence]
    p_holm: dict[str, float]

    @property
    def shared(self) -> tuple[str, ...]:
        """The axes on which the judges fail the same runs more often than chance."""
        return tuple(axis for axis, p in self.p_holm.items() if p <= 1 - self.profile.ci_level)

    def to_frame(self) -> Table:
        """One row an axis: consensus observed and if independent, pairs of judges that coincide, p value."""
        consensus = columns(
            "axis consensus=consensus.rate.estimate", with_ends("if_independent", "consensus.independent")
        )
        rows = [
            row
            | rows_of([self.tests[row["axis"]]], columns("coinciding_pairs=observed expected_pairs=expected"))[0]
            | {"p_holm": self.p_holm[row["axis"]]}
            for row in rows_of(self.profile.totals, consensus)
        ]
        return table_of(rows, self.profile.panel.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {axis: {**asdict(test), "p_holm": self.p_holm[axis]} for axis, test in self.tests.items()}

    @property
    def sentence(self) -> str:
        """On which axes failures are shared, and the axis where that shows most."""
        refused = {axis: test.refusal for axis, test in self.tests.items() if test.refusal}
        tested = [axis for axis in self.tests if axis not in refused]
        start = sentences.shared_failures(self.shared, tested, refused, 1 - self.profile.ci_level)
        if not self.shared:
            return start
        widest = max(self.shared, key=lambda axis: self.tests[axis].observed - self.tests[axis].expected)
        consensus = next(cell.consensus for cell in self.profile.totals if cell.axis == widest)
        return f"{start} {sentences.largest_excess(widest, self.tests[widest], consensus)}"


def shared_failures(profile: FailureProfile, *, rng: np.random.Generator) -> SharedFailures:
    """Test for every axis whether the judges' incorrect verdicts coincide beyond chance."""
    dealt = _by_task(profile.panel)
    tests = {axis: coincidence_test(dealt[:, :, place], rng=rng) for place, axis in enumerate(profile.axes)}
    adjusted = holm([test.p_value for test in tests.values()])
    return SharedFailures(profile, tests, dict(zip(tests, adjusted.tolist(), strict=True)))


def _by_task(panel: Panel) -> NDArray[np.float64]:
    """Tasks x runs x axes x judges; a run's place is its agent and which of the agent's runs on the task it is."""
    tasks = {name: row for row, name in enumerate(dict.fromkeys(panel.clusters))}
    seen: Counter[tuple[str, str]] = Counter()
    at = []
    for agent, task in zip(panel.agents, panel.clusters, strict=True):
        at.append((tasks[task], (agent, seen[agent, task])))
        seen[agent, task] += 1
    places = {place: column for column, place in enumerate(dict.fromkeys(place for _, place in at))}
    dealt = np.full((len(tasks), len(places), *panel.incorrect.shape[1:]), np.nan)
    for run, (row, place) in enumerate(at):
        dealt[row, places[place]] = panel.incorrect[run]
    return dealt
