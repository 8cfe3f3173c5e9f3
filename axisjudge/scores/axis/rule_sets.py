"""The two sets of rules by which an AXIS Result can be computed, and where they differ.

The published text describes a score and the original program (netlify/axis 1.17.2) computes it, not always as
described. `DOCUMENTED` follows the text wherever it is explicit; `UPSTREAM` follows the program exactly. Where the
text is silent both follow the program. Each difference is one field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from axisjudge.checks import one_of

#: A category score below this shows its weakest signal.
INSIGHT_BELOW = 75


@dataclass(frozen=True, kw_only=True)
class RuleSet:
    """Rules of the AXIS Result where text and program differ.

    Parameters
    ----------
    name : str
    bands : tuple of (int, str)
        Least score of each band with its word, best first. The program only has colours in its report.
    agent_always_audits : bool
        The agent dimension audits every interaction; else only when at least one interaction is the agent's own.
    nameless_tool : {"service", "agent"}
        The category of a tool call that has no name (after its kind, where `service`): the text puts any tool that
        matches no pattern under service.
    tools : {"today", "program"}
        Whose names of tools are known: those that agents of today bring along (`transcript.categories`) beside the
        program's, or the program's alone.
    network : {"commands", "urls"}
        What makes an environment call a service call too: a command line that calls the network, or any http(s)
        address in the first 100 characters of an argument or in the message around the call.
    gaps : {"thinking", "all"}
        Whose unknown duration is the time to the next interaction: thinking blocks only, or every interaction (then
        it can be negative).
    waits : {"apart", "counted"}
        Time that a person took (an answer, a permission, the next message) stays out of speed, or counts as the
        agent's.
    timestamps : {"iso", "javascript"}
        What is a valid time stamp: ISO 8601, or all that JavaScript's ``Date`` takes.
    zero : {"first_valid", "first"}
        Times count from the run's start, else from the first valid time stamp; or from the first entry's, whose
        absence then leaves all gaps unknown.
    failed_results : bool
        A tool result that is marked as failed (an error flag, an exit code other than 0) makes its call an error.
    missing : {"bounds", "defaults"}
        A signal that nobody judged is missing (the others share its weight, and bounds show what it could change), or
        takes the program's default: success 1 (.3 for an error), weight and relevance 1, necessity .8.
    weightless_insights : bool
        The weakest signal may be one that has no weight in its dimension.
    """

    name: str
    bands: tuple[tuple[int, str], ...]
    agent_always_audits: bool
    nameless_tool: Literal["service", "agent"]
    tools: Literal["today", "program"]
    network: Literal["commands", "urls"]
    gaps: Literal["thinking", "all"]
    waits: Literal["apart", "counted"]
    timestamps: Literal["iso", "javascript"]
    zero: Literal["first_valid", "first"]
    failed_results: bool
    missing: Literal["bounds", "defaults"]
    weightless_insights: bool

    def band(self, score: float) -> str:
        """The word for a score from 0 to 100."""
        return next(word for least, word in self.bands if score >= least)


DOCUMENTED = RuleSet(
    name="documented",
    bands=((90, "excellent"), (75, "good"), (50, "fair"), (0, "poor")),
    agent_always_audits=True,
    nameless_tool="service",
    tools="today",
    network="commands",
    gaps="thinking",
    waits="apart",
    timestamps="iso",
    zero="first_valid",
    failed_results=True,
    missing="bounds",
    weightless_insights=False,
)

UPSTREAM = RuleSet(
    name="upstream",
    bands=((90, "green"), (80, "yellow"), (70, "orange"), (0, "red")),
    agent_always_audits=False,
    nameless_tool="agent",
    tools="program",
    network="urls",
    gaps="all",
    waits="counted",
    timestamps="javascript",
    zero="first",
    failed_results=False,
    missing="defaults",
    weightless_insights=True,
)

RULE_SETS = {rules.name: rules for rules in (DOCUMENTED, UPSTREAM)}


def rule_set(name: str) -> RuleSet:
    """The rule set of that name."""
    return RULE_SETS[one_of("--rules", name, RULE_SETS)]
