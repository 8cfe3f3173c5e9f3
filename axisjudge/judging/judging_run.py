"""A judging run, planned once and carried out; and how it ended: what each judge answered, lost and was not asked."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.judging.batch import Batches, check_batch, check_batch_budget, check_not_in_batch
from axisjudge.judging.estimate import PlanEstimate, agree, check_priced, estimate_of
from axisjudge.judging.lane import LaneEnd
from axisjudge.judging.plan import Done, JudgingPlan, RunOptions
from axisjudge.judging.run import KeptPrompts, KeptRatings, Running, Sink, UnderWay
from axisjudge.protocol.gate import Admitted
from axisjudge.verdict import IDENTITY, Rating

if TYPE_CHECKING:
    import polars as pl


#: The share of its verdicts that a judge may lose in a run that counts as done.
MAX_LOST = 0.05

DONE, LOST, AT_BUDGET, INTERRUPTED = 0, 1, 3, 130


@dataclass(frozen=True)
class Outcome:
    """The end of a run.

    `wanted` and `answered` count ratings of the whole run by judge, those that were there before included; `ends` says
    how far each judge came that was asked now.
    """

    wanted: tuple[tuple[str, int], ...] = ()
    answered: tuple[tuple[str, int], ...] = ()
    ends: tuple[LaneEnd, ...] = ()
    was_interrupted: bool = False

    @classmethod
    def of(
        cls, plan: JudgingPlan, ratings: pl.DataFrame, ends: Sequence[LaneEnd], *, was_interrupted: bool = False
    ) -> Self:
        """The outcome of a plan whose ratings are these."""
        wanted = Counter(str(identity[2]) for identity in plan.identities)
        answered = Counter(ratings.filter(ratings["status"] == "ok")["rater"].to_list())
        return cls(tuple(wanted.items()), tuple(answered.items()), tuple(ends), was_interrupted)

    @classmethod
    def of_all(cls, ratings: pl.DataFrame) -> Self:
        """The outcome of ratings of which each was asked for now."""
        answered = Counter(ratings.filter(ratings["status"] == "ok")["rater"].to_list())
        return cls(tuple(Counter(ratings["rater"].to_list()).items()), tuple(answered.items()))

    @property
    def spent_usd(self) -> float:
        """What was spent now, as the server told or by list price."""
        return sum(end.spent_usd for end in self.ends)

    def code(self, max_lost: float = MAX_LOST) -> int:
        """The exit code: 0 all asked and answered, 1 a judge stopped, answered nothing or lost more than `max_lost`,
        3 at the budget, 130 interrupted.
        """
        if self.was_interrupted:
            return INTERRUPTED
        if any(end.at_budget for end in self.ends):
            return AT_BUDGET
        answered = dict(self.answered)
        shares = [(wanted - answered.get(rater, 0)) / wanted for rater, wanted in self.wanted if wanted]
        is_short = any(share > max_lost or share == 1 for share in shares)
        return LOST if is_short or any(end.stopped for end in self.ends) else DONE

    def sentences(self) -> list[str]:
        """What a reader must know who sees nothing else: who was stopped and why, and what is left."""
        lines = []
        if self.spent_usd > 0:
            lines.append(f"Spent, as the server told or by list price: ${self.spent_usd:,.4f}.")
        if read := sum(end.cached_tokens for end in self.ends):
            share = read / sum(end.input_tokens for end in self.ends)
            lines.append(f"{share:.0%} of the prompts' tokens were read from a cache, where providers tell.")
        if unknown := sum(end.unpriced for end in self.ends):
            lines.append(f"Calls whose cost nobody knows (no price, no usage, timed out or given up): {unknown}.")
        left = sum(end.not_asked for end in self.ends if not end.stopped)
        if self.was_interrupted and left:
            lines.append(f"{left} ratings were not asked for, or were given up on their way.")
        return lines + [
            f"{end.judge.rater} is stopped: {end.stopped.rstrip('.')}. {end.not_asked} of its ratings were not asked "
            f"for; the same command{' with a larger budget' if end.at_budget else ''} asks for them."
            for end in self.ends
            if end.stopped
        ]

    def rows(self) -> list[dict[str, Any]]:
        """A line for each judge that was asked."""
        return [
            {
                "judge": end.judge.rater,
                "calls": end.calls,
                "answered": end.statuses["ok"],
                "lost": end.statuses.total() - end.statuses["ok"],
                "not asked": end.not_asked,
                "spent $": end.spent_usd,
                "commonest failure": end.commonest_failure,
            }
            for end in self.ends
        ]


# A judging run: its judges made once, the ratings that are there read once, the plan made once, and carried out.


#: How often a thread that waits for a run looks for Ctrl-C, in seconds.
SIGNAL_S = 0.1


class JudgingRun:
    """What is left when the arguments have been found to be right: to look at what is there, and to ask.

    Parameters
    ----------
    plan_of : callable
        The plan that is left over, given what is there.
    admitted : Admitted
        What the protocol lets through.
    out : path, optional
        The ratings file; without it the ratings live in memory only.
    """

    def __init__(
        self, plan_of: Callable[[Done], JudgingPlan], admitted: Admitted, out: str | Path | None = None
    ) -> None:
        self.admitted, self.kept = admitted, KeptRatings(out)
        self.plan_of = plan_of
        self._plan: JudgingPlan | None = None
        self.outcome = Outcome()

    def plan(self) -> JudgingPlan:
        """What is to be asked. Nothing is asked and nothing written."""
        if self._plan is None or not self.kept.is_current:
            self._plan = self.plan_of(self.kept.done())
        return self._plan

    def carry_out(self, options: RunOptions | None = None, **given: Any) -> pl.DataFrame:
        """Ask what is missing, and return the ratings of this run, those that were there included.

        A file is locked before it is looked at, so that two processes cannot both ask what neither finds in it; where
        another one has written since `plan` was called, the plan is made anew. How it ended is in `outcome`.

        Ctrl-C stops the run. Without a file what came so far is returned, with a warning; with one the interrupt goes
        on to the caller, because nothing is lost.

        Parameters
        ----------
        options : RunOptions, optional
        **given
            The same one by one, as `axisjudge.judge` takes them: ``concurrency``, ``budget_usd`` and so on.

        Raises
        ------
        InputError
            The file cannot be written, or another process is writing it; a judge cannot be asked, has no price, or
            may cost more than was agreed to.
        """
        options = replace(options or RunOptions(), **given)
        with ExitStack() as stack:
            sinks: list[Sink] = [self.kept.add]
            sending: list[Sink] = []
            if self.kept.path is not None:
                from axisjudge.ratings import RatingsWriter

                writer = stack.enter_context(RatingsWriter(self.kept.path))
                under_way = stack.enter_context(UnderWay(self.kept.path))
                sinks.insert(0, writer.append)
                sending.append(under_way.add)
                if left := under_way.left():
                    writer.append(left)
            plan = self.plan()
            batches = self._batches() if options.batch else None
            if plan.groups:
                estimate = self.estimate(options)
                check_ready(self, estimate, options)
                agree(estimate, options)
                prompts = None if options.keep_prompts is None else KeptPrompts(options.keep_prompts)
                if prompts is not None:
                    stack.callback(prompts.close)
                self._plan = None  # the next one finds these ratings there
                self.admitted.record_look()
                budget = None if options.budget_usd is None else self.kept.budget(options.budget_usd)
                to_all, to_note = partial(_to_all, sinks), partial(_to_all, sending)
                running = Running(
                    plan, to_all, options, batches=batches, prompts=prompts, budget=budget, sending=to_note
                )
                self._carry_out(running)
            ratings = of_plan(self.kept.table(), plan)
            self.outcome = Outcome.of(plan, ratings, self.outcome.ends, was_interrupted=self.outcome.was_interrupted)
        warn_of_other_families(ratings)
        return ratings

    def _batches(self) -> Batches:
        if self.kept.path is None:
            raise InputError("batch", "needs a ratings file, beside which its state is kept", cure="name it with out")
        batches = Batches.beside(self.kept.path)
        batches.drop_answered(self.kept.done())
        return batches

    def _carry_out(self, running: Running) -> None:
        try:
            run_to_the_end(running.run())
        except KeyboardInterrupt:
            self.outcome = replace(self.outcome, was_interrupted=True)
            if self.kept.path is not None:
                raise
            warnings.warn("interrupted: these are the ratings that had come", UserWarning, stacklevel=4)
        finally:
            self.kept.wrote_all()
            self.outcome = replace(self.outcome, ends=tuple(running.ends))

    def estimate(self, options: RunOptions | None = None) -> PlanEstimate:
        """What carrying it out would take and cost, by the judges' own history in the file where there is one."""
        return estimate_of(self.plan(), self.kept.table(), options)


def check_ready(run: JudgingRun, estimate: PlanEstimate, options: RunOptions) -> None:
    """Refuse, before anything is asked, what would fail after something was paid.

    Raises
    ------
    InputError
        A judge lacks its key, a price or the batch interface that is asked for; calls are under way in a batch; a
        budget is too small for batches.
    """
    plan = run.plan()
    check_batches(run, options)
    for judge in plan.asked:
        judge.check()
    check_priced(estimate, options)


def check_batches(run: JudgingRun, options: RunOptions) -> None:
    """What `check_ready` refuses of batches: they are looked at before a dry run, too."""
    plan, path = run.plan(), run.kept.path
    if options.batch:
        check_batch(plan.asked)
        if options.budget_usd is not None and path is not None:
            check_batch_budget(plan, path, run.kept.budget(options.budget_usd))
    elif path is not None:
        check_not_in_batch(plan, path)


def _to_all(sinks: Sequence[Sink], ratings: Sequence[Rating]) -> None:
    for sink in sinks:
        sink(ratings)


def warn_of_other_families(ratings: pl.DataFrame) -> None:
    """Warn of judges whose replies name a model of another family: agreement across families would count them wrong."""
    answered = ratings.select("rater", "family", "returned_model").drop_nulls().unique().sort("rater", "returned_model")
    for rater, family, model in answered.iter_rows():
        if family_of(model) not in (None, family):
            told = f"{rater} is of the family {family}, and {model} answered, of the family {family_of(model)}"
            warnings.warn(told, UserWarning, stacklevel=4)


def of_plan(table: pl.DataFrame, plan: JudgingPlan) -> pl.DataFrame:
    """The rows of a ratings table that answer a question of the plan."""
    mine = [row in plan.identities for row in table.select(*IDENTITY).iter_rows()]
    return table.filter(mine)


def run_to_the_end(run: Coroutine[Any, Any, Any]) -> None:
    """Run to the end; inside a notebook, whose thread has a running loop already, on a thread of our own.

    An interrupt stops the run there too: calls under way are given up, what is written stays.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(run)
        return
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def on_its_own() -> None:
        task = asyncio.ensure_future(run)
        begun.set_result((asyncio.get_running_loop(), task))
        with suppress(asyncio.CancelledError):  # only the interrupt below cancels it, and that is raised there
            await task

    thread = ThreadPoolExecutor(1)
    outcome = thread.submit(asyncio.run, on_its_own())
    try:
        while wait([outcome], timeout=SIGNAL_S).not_done:
            pass  # a signal that another thread took up is seen by this one only when it wakes
        outcome.result()
    except KeyboardInterrupt:
        loop, task = begun.result()
        with suppress(RuntimeError):  # the run has ended at this very moment, and its loop is closed
            loop.call_soon_threadsafe(task.cancel)
        wait([outcome])
        raise
    finally:
        thread.shutdown(wait=False)
