"""Running a plan: every judge in a lane of its own, each reply written down as soon as it is there."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial

from axisjudge.judges.answer import Reply
from axisjudge.judges.base import Judge
from axisjudge.judges.lifecycle import warn_of
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judging.batch import Batches, BatchLane
from axisjudge.judging.budget import Budget
from axisjudge.judging.kept import KeptPrompts
from axisjudge.judging.lane import Lane, LaneEnd, Pause
from axisjudge.judging.options import RunOptions
from axisjudge.judging.plan import Call, JudgingPlan
from axisjudge.judging.progress import Progress
from axisjudge.judging.rated import ratings_of
from axisjudge.verdict import Rating

Sink = Callable[[Sequence[Rating]], None]


class Running:
    """A plan that is carried out; how far it came can be asked at any time, also after it was stopped.

    Parameters
    ----------
    plan : Plan
    sink : callable
        Takes the ratings of one call; called from one thread, in the order of arrival.
    options : RunOptions, optional
    batches : Batches, optional
        Hand the calls in by the batch interfaces of their providers, and note them here.
    prompts : KeptPrompts, optional
        Keep the prompts here.
    budget : Budget, optional
        What the study has spent so far; without it, `options.budget_usd` is for this run.
    """

    def __init__(
        self,
        plan: JudgingPlan,
        sink: Sink,
        options: RunOptions | None = None,
        *,
        batches: Batches | None = None,
        prompts: KeptPrompts | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.plan, self.options, self.batches, self.prompts = plan, options or RunOptions(), batches, prompts
        if budget is None and self.options.budget_usd is not None:
            budget = Budget(self.options.budget_usd)
        self.budget = budget
        self.statuses = Counter[str]()
        self.ends: list[LaneEnd] = []
        self._sink = sink
        self._run_id = uuid.uuid4().hex[:12]

    async def run(self) -> None:
        """Ask. Warns of judges that are asked and whose models are shut down (`axisjudge.judges.lifecycle`)."""
        plan = self.plan
        async with AsyncExitStack() as stack:
            stack.enter_context(_plan_left_alone())
            for judge in plan.judges:
                stack.push_async_callback(judge.close)
            for judge in plan.asked:
                judge.prepare()
            warn_of(await asyncio.gather(*(judge.retirement() for judge in plan.asked)))
            await asyncio.gather(*(judge.look() for judge in plan.asked))
            with Progress(plan, show=self.options.progress) as bar:
                for line in filter(None, map(partial(too_long, plan), plan.asked)):
                    bar.tell(line)
                lanes = self._lanes(bar)
                await asyncio.gather(*(self._drive(lane, lanes) for lane in lanes))
        if errors := [error for lane in lanes for error in lane.errors]:
            raise errors[0]

    def _lanes(self, bar: Progress) -> list[Lane | BatchLane]:
        options = self.options
        budget = self.budget
        pauses: dict[str, Pause] = {}
        groups: dict[Judge, list[tuple[Call, ...]]] = {judge: [] for judge in self.plan.judges}
        for group in self.plan.groups:
            groups[group[0].judge].append(group)

        def lane_of(judge: Judge) -> Lane | BatchLane:
            def answered(call: Call, reply: Reply) -> None:
                ratings = ratings_of(call, reply, self._run_id)
                if self.prompts is not None:
                    self.prompts.keep(call)
                self._sink(ratings)
                statuses = [rating.status for rating in ratings]
                self.statuses.update(statuses)
                lane.end.statuses.update(statuses)
                bar.advance(ratings, self.ends)

            new: partial[BatchLane] | partial[Lane]
            if self.batches is not None and isinstance(judge, RemoteJudge):
                new = partial(BatchLane, judge, groups[judge], batches=self.batches)
            else:
                pause = pauses.setdefault(judge.provider_address, Pause(judge.provider_address))
                new = partial(Lane, judge, groups[judge], concurrency=options.concurrency, pause=pause, waits=bar.wait)
            lane = new(budget=budget, patience_s=options.patience_s, answered=answered, tell=bar.tell)
            return lane

        lanes = [lane_of(judge) for judge in self.plan.judges if groups[judge]]
        self.ends = [lane.end for lane in lanes]
        return lanes

    @staticmethod
    async def _drive(lane: Lane | BatchLane, lanes: Sequence[Lane | BatchLane]) -> None:
        await lane.run()
        if lane.errors:  # one that no rating can hold: nobody begins anything new
            for other in lanes:
                other.quit()


def too_long(plan: JudgingPlan, judge: Judge) -> str | None:
    """The runs whose prompt and reply a judge's context will hardly hold, counted before the first call; else None."""
    context = judge.context_told
    if context is None or not isinstance(judge, RemoteJudge):
        return None
    mine = [call for group in plan.groups for call in group if call.judge is judge]
    needed = {call.trajectory.id: call.inquiry.tokens(judge) for call in mine if call.inquiry.by_definition() is None}
    names = [name for name, tokens in needed.items() if tokens > context]
    if not names:
        return None
    few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"{judge.rater}: {len(names)} of {len(needed)} runs are too long for its context of {context:,} tokens "
        f"({few}; the longest takes about {max(needed.values()):,.0f}) and will be lost; start the server "
        f"with a longer one, or give ,context={context} to have records shortened"
    )


@contextmanager
def _plan_left_alone() -> Iterator[None]:
    """Keep the garbage collector from the plan, which lives as long as the run.

    Going through it takes .2 s at 1,500 calls; replies that come in meanwhile are then answered, and the next calls
    sent, all at once, and so it stays to the end of the run.
    """
    is_ours = gc.get_freeze_count() == 0  # what a program has frozen itself stays so
    if is_ours:
        gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()
