"""Do the judges fail the same runs, or only as many as independent errors would let them share?"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.stats.agreement.independent_panel import Coincidence, coincidence_test
from axisjudge.stats.comparisons.sign_flips import holm
from axisjudge.studies._shared.frames import table_of
from axisjudge.studies._shared.words import counted, listed, share
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

    def to_frame(self) -> Any:
        """One row an axis: consensus observed and if independent, pairs of judges that coincide, p value."""
        cells = {cell.axis: cell.consensus for cell in self.profile.totals}
        rows = [
            {
                "axis": axis,
                "consensus": cells[axis].rate.estimate,
                "if_independent": cells[axis].independent.estimate,
                "low": cells[axis].independent.ci_low,
                "high": cells[axis].independent.ci_high,
                "coinciding_pairs": test.observed,
                "expected_pairs": test.expected,
                "p_holm": self.p_holm[axis],
            }
            for axis, test in self.tests.items()
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
        if not tested:
            return (
                f"Whether the judges share their failures cannot be tested: {next(iter(refused.values()), 'no axes')}."
            )
        sure = f"at {1 - self.profile.ci_level:.0%} with Holm's correction"
        said = f"On {len(self.shared)} of {len(tested)} axes the judges fail the same runs beyond chance ({sure})."
        if rest := [axis for axis in tested if axis not in self.shared]:
            said += f" On {listed(rest)} what they fail could be independent errors."
        if refused:
            said += f" Not tested: {'; '.join(f'{axis} ({why})' for axis, why in refused.items())}."
        if not self.shared:
            return said
        widest = max(self.shared, key=lambda axis: self.tests[axis].observed - self.tests[axis].expected)
        consensus = next(cell.consensus for cell in self.profile.totals if cell.axis == widest)
        return (
            f"{said} The largest observed excess is on {widest}: consensus on "
            f"{counted(consensus.count, consensus.rate)}, where "
            f"independent verdicts would give {share(consensus.independent)}."
        )


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
