"""A run while it happens: messages with their times, calls against the shop, and what is planted where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from generator.agents import Agent
from generator.catalogue import Record
from generator.dice import Dice
from generator.kinds import AXES, FAULTS, NEAR_MISSES
from generator.shop import Shop
from generator.tasks import Task
from generator.toolset import TOOLS


class Ended(Exception):
    """The run is over; the words are tau2's termination reason."""


@dataclass
class Outcome:
    """What came of a call, and the two steps where call and result stand."""

    result: Any
    error: bool
    step: int
    result_step: int


@dataclass
class Planted:
    """A fault or near-miss on one axis, where it shows and why it is (or is not) one."""

    flag: str
    axis: str
    steps: list[int]
    rationale: str
    compound: bool = False


@dataclass
class Run:
    """One agent at one task. `plan` holds the kinds of fault still to be planted."""

    shop: Shop
    task: Task
    agent: Agent
    dice: Dice
    clock: datetime
    plan: list[str]
    messages: list[Record] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)
    upset: bool = False

    @property
    def customer(self) -> Record:
        return self.task.customer

    @property
    def next_step(self) -> int:
        return len(self.messages)

    @property
    def last_step(self) -> int:
        return len(self.messages) - 1

    def takes(self, kind: str) -> bool:
        """Whether this kind of fault is to be planted here; each time it is planned it is planted once."""
        if kind not in self.plan:
            return False
        self.plan.remove(kind)
        return True

    def fault(self, kind: str, **steps: Sequence[int]) -> None:
        """Note a fault: for each axis on which it shows, the steps."""
        assert set(steps) == set(FAULTS[kind]), f"{kind} shows on {set(FAULTS[kind])}, not on {set(steps)}"
        for axis, where in steps.items():
            self.planted.append(Planted(f"fault:{kind}", axis, list(where), FAULTS[kind][axis], len(steps) > 1))

    def near_miss(self, kind: str, *steps: int) -> None:
        """Note something that looks like a fault and is none."""
        axis, rationale = NEAR_MISSES[kind]
        self.planted.append(Planted(f"near_miss:{kind}", axis, list(steps), rationale))

    # what is said

    def user(self, *variants: str) -> int:
        return self._add("user", self.dice.pick(variants), seconds=(4, 21))

    def say(self, *variants: str) -> int:
        return self._add("assistant", self.dice.pick(variants), seconds=(2, 7))

    def call(self, tool: str, /, *, aloud: str | None = None, **arguments: Any) -> Outcome:
        return self.calls([(tool, arguments)], aloud=aloud)[0]

    def calls(self, calls: list[tuple[str, Record]], *, aloud: str | None = None) -> list[Outcome]:
        """Several calls in one message, or one message each where the agent never calls in parallel."""
        if len(calls) > 1 and not self.agent.parallel:
            return [outcome for call in calls for outcome in self.calls([call])]
        issued = [
            {
                "id": f"call_{self.dice.digits(9)}",
                "name": name,
                "arguments": json.loads(json.dumps(arguments)),
                "requestor": "assistant",
            }
            for name, arguments in calls
        ]
        step = self._add("assistant", aloud, seconds=(1, 4), tool_calls=issued)
        outcomes = []
        for call in issued:
            content, error = self.shop.run(call["name"], call["arguments"])
            result_step = self._add("tool", content, seconds=(0, 0), id=call["id"], requestor="assistant", error=error)
            parsed = json.loads(content) if content[:1] in "{[" else content
            outcomes.append(Outcome(parsed, error, step, result_step))
        return outcomes

    def _add(self, role: str, content: str | None, *, seconds: tuple[int, int], **fields: Any) -> int:
        self.clock += timedelta(seconds=self.dice.whole(*seconds), microseconds=self.dice.whole(200, 999_000))
        self.messages.append(
            {
                "role": role,
                "content": content,
                **fields,
                "turn_idx": self.next_step,
                "timestamp": self.clock.isoformat(timespec="microseconds"),
            }
        )
        if self.next_step >= MAX_STEPS:
            raise Ended("max_steps")
        return self.last_step

    # what is looked back at

    def steps_with(self, *kinds: str) -> list[int]:
        """Steps whose calls are of these kinds (read, write, generic)."""
        return [
            index
            for index, message in enumerate(self.messages)
            if any(TOOLS.get(call["name"], ("none",))[0] in kinds for call in message.get("tool_calls") or [])
        ]

    def agent_steps(self) -> list[int]:
        return [index for index, message in enumerate(self.messages) if message["role"] == "assistant"]

    def telling_steps(self) -> list[int]:
        """Steps in which the agent speaks right after a result."""
        return [
            index
            for index in range(1, len(self.messages))
            if self.messages[index]["role"] == "assistant"
            and self.messages[index]["content"]
            and self.messages[index - 1]["role"] == "tool"
        ]

    def faulty_axes(self) -> list[str]:
        return [axis for axis in AXES if any(p.axis == axis and p.flag.startswith("fault") for p in self.planted)]


#: a run of more messages is cut, as a benchmark cuts it
MAX_STEPS = 60
