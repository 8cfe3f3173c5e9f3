"""Making twins of runs: every edit tried on every run, refusals counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from axisjudge.checks import one_of
from axisjudge.trajectory import Trajectory
from axisjudge.twins.choice import Examples, examples_of, other_tool
from axisjudge.twins.flow import TEXTS, cut_tail, injected, reordered_reads, write_before_read, write_before_yes
from axisjudge.twins.twin import EXPECTED, Edited, Refused, Twin, as_twin
from axisjudge.twins.values import fabricated_argument, misreported_amount, renamed_user, reworded

Edit = Callable[[Trajectory, Random], Edited | Refused]

#: The edits that put text for the judge into a run, the control last.
INJECTIONS: tuple[str, ...] = tuple(TEXTS)
#: The edits of what an agent did and said by name, those that break an axis first.
EDITS: tuple[str, ...] = tuple(edit for edit in EXPECTED if edit not in INJECTIONS)


@dataclass(frozen=True)
class TwinSet:
    """Twins, and for each edit and reason the runs that it could not be made in."""

    twins: tuple[Twin, ...]
    refused: dict[tuple[str, str], tuple[str, ...]]

    def rows(self) -> list[dict[str, str | int]]:
        """One row an edit and reason: twins made, or runs refused."""
        made = Counter(twin.edit for twin in self.twins)
        edits = [edit for edit in EXPECTED if made[edit] or any(edit == name for name, _ in self.refused)]
        rows: list[dict[str, str | int]] = []
        for edit in edits:
            rows.append({"edit": edit, "runs": made[edit], "what came of it": "twin made"})
            rows += [
                {"edit": edit, "runs": len(runs), "what came of it": f"refused: {reason}"}
                for (name, reason), runs in sorted(self.refused.items())
                if name == edit
            ]
        return rows

    @property
    def behind(self) -> list[dict[str, str]]:
        """The twins of each row of `rows` as the explorer's filters, or the runs that were refused."""
        keys = [(str(row["edit"]), str(row["what came of it"]).removeprefix("refused: ")) for row in self.rows()]
        return [
            {"names": "", "among": "\n".join(self.refused[key])} if key in self.refused else {"names": f"~{key[0]}-"}
            for key in keys
        ]


def make_twins(
    trajectories: Sequence[Trajectory],
    edits: Sequence[str] | None = None,
    *,
    seed: int = 0,
    examples: Examples | None = None,
) -> TwinSet:
    """Make every edit in every run that allows it.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        Runs with their tools (which of them read and which change records decides where edits can be made).
    edits : sequence of str, optional
        Names from `EDITS` and `INJECTIONS`; by default `EDITS`.
    seed : int
        The same seed gives the same twins, whatever other runs and edits are asked for; only the answers of tools that
        were put in another's place follow what these runs show of them.
    examples : mapping, optional
        What `axisjudge.twins.choice.examples_of` found in more runs than these.

    Raises
    ------
    InputError
        No such edit.
    """
    names = [one_of("edit", name, (*EDITS, *INJECTIONS)) for name in edits or EDITS]
    examples = examples_of(trajectories) if examples is None else examples
    twins, refused = [], defaultdict[tuple[str, str], list[str]](list)
    for run in trajectories:
        for name in dict.fromkeys(names):
            rng = Random(f"{seed}/{name}/{run.id}")
            if name in INJECTIONS and run.steps:
                outcome = injected(name, run, rng, Random(f"{seed}/place/{run.id}"))
            else:
                outcome = _edited(name, run, rng, examples)
            if isinstance(outcome, Refused):
                refused[name, outcome.reason].append(run.id)
            else:
                twins.append(as_twin(run, name, seed, outcome))
    return TwinSet(tuple(twins), {why: tuple(names) for why, names in refused.items()})


_PLAIN: dict[str, Edit] = {
    "fabricated_argument": fabricated_argument,
    "write_before_read": write_before_read,
    "write_before_yes": write_before_yes,
    "misreported_amount": misreported_amount,
    "cut_tail": cut_tail,
    "renamed_user": renamed_user,
    "reordered_reads": reordered_reads,
    "reworded": reworded,
}


def _edited(name: str, run: Trajectory, rng: Random, examples: Examples) -> Edited | Refused:
    if not run.steps:
        return Refused("the run has no steps")
    return other_tool(run, rng, examples) if name == "other_tool" else _PLAIN[name](run, rng)
