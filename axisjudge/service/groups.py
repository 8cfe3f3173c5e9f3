"""Group commit: runs that come at the same time are scored and stored in one transaction."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from axisjudge.scores.run_score import Run
from axisjudge.service.database import UNREACHABLE
from axisjudge.service.store import Conflict, Kept, ScoreStore

Outcome = Kept | Conflict | Exception
#: Runs of one transaction; a larger one would keep those that wait waiting.
_LARGEST_GROUP = 500


class GroupWriter:
    """One thread that stores whatever runs have come while it stored those before.

    A commit waits for the disk; n runs of one group share that wait. What `store` returns is on the disk. Nobody waits
    for a group to fill: a run that comes alone is a group of one.

    Parameters
    ----------
    store : ScoreStore
    scored : callable
        Called after a group with a new score.
    """

    def __init__(self, store: ScoreStore, scored: Callable[[], None] = lambda: None) -> None:
        self._store, self._scored = store, scored
        self._asked: queue.SimpleQueue[tuple[Sequence[Run], asyncio.Future[list[Outcome]]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="scorecard writer", daemon=True)
        self._thread.start()

    async def store(self, runs: Sequence[Run]) -> list[Kept | Conflict]:
        """Score and store runs, each for itself; raises what the database raises."""
        answer: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._asked.put((runs, answer))
        outcomes = await answer
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, Conflict):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Kept | Conflict)]

    @property
    def is_alive(self) -> bool:
        """Whether the thread works."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Store what was asked for, and end."""
        self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            group, is_open = self._gathered()
            if group:
                self._answer(group)

    def _gathered(self) -> tuple[list[Any], bool]:
        """What was asked for, and whether more may come."""
        group: list[Any] = []
        size = 0
        try:
            while size < _LARGEST_GROUP:
                asked = self._asked.get(block=not group)
                if asked is None:
                    return group, False
                group.append(asked)
                size += len(asked[0])
        except queue.Empty:
            pass
        return group, True

    def _answer(self, group: list[Any]) -> None:
        outcomes = self._stored([run for runs, _ in group for run in runs])
        answers, start = defaultdict(list), 0
        for runs, future in group:
            answers[future.get_loop()].append((future, outcomes[start : start + len(runs)]))
            start += len(runs)
        for loop, settled in answers.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, settled)
        if any(isinstance(outcome, Kept) and outcome.is_new for outcome in outcomes):
            self._scored()

    def _stored(self, runs: list[Run]) -> list[Any]:
        try:
            return list(self._store.add_each(runs))
        except Exception as error:  # one run that the database refuses must not take its neighbours with it
            if len(runs) == 1 or isinstance(error, UNREACHABLE):
                return [error] * len(runs)
            return [outcome for run in runs for outcome in self._stored([run])]


def _settle(settled: list[tuple[asyncio.Future[list[Outcome]], list[Outcome]]]) -> None:
    for future, outcomes in settled:
        if not future.done():  # its client may be gone
            future.set_result(outcomes)
