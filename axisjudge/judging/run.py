"""Running a plan: every judge in a lane of its own, each reply made ratings and written down as soon as it is there."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from axisjudge.checks import InputError, printable
from axisjudge.cluster import in_notebook
from axisjudge.judges.answer import ENDED_UNDER_WAY, Answer, Reply, fault_of, keepable, lost, question_and_interaction
from axisjudge.judges.base import Judge
from axisjudge.judges.lifecycle import warn_of
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judging.batch import Batches, BatchLane
from axisjudge.judging.budget import Budget, CallCosts
from axisjudge.judging.estimate import TOKENS, calls_of
from axisjudge.judging.lane import Lane, LaneEnd, Pause
from axisjudge.judging.plan import Call, Done, JudgingPlan, RunOptions
from axisjudge.verdict import IDENTITY, Rating, check_citations, identity

if TYPE_CHECKING:
    import polars as pl


# The ratings that a reply yields.

#: What a rating keeps of an answer: characters of its reason, steps that it cites, characters of a name.
MOST_RATIONALE, MOST_CITED, MOST_NAME = 20_000, 500, 200
#: What a rating takes over from an answer as it is.
_TAKEN = ("status", "verdict", "value", "confidence", "confidence_source", "probabilities", "rationale")


def ratings_of(call: Call, reply: Reply, run_id: str) -> list[Rating]:
    """The ratings that a reply yields for the points still wanted; what the call cost is split evenly over these."""
    share = len(call.wanted)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    ratings = []
    for position, point in enumerate(call.wanted):
        cost = {
            **{name: _share(getattr(reply, name), share, position) for name in TOKENS},
            "cost_usd": None if reply.known_usd is None else reply.known_usd / share,
            "latency_s": reply.latency_s,
            "created_at": now,
        }
        names = {name: getattr(reply, name) for name in ("call_id", "returned_model")}
        of_call = {"run_id": run_id, **{name: each and each[:MOST_NAME] for name, each in names.items()}}
        known = {**_rated(call, point), **_by_whom(call, point), **cost, **of_call}
        answer = _kept_of(reply.answers[point])
        try:
            ratings.append(Rating(**known, **_answered(call, point, reply, answer)))
        except (ValidationError, TypeError) as error:  # a judge of somebody's own said what no rating may hold
            reason = fault_of(error) if isinstance(error, ValidationError) else str(error)
            unreadable = lost("parse_error", keepable(reason))
            ratings.append(Rating(**known, **_answered(call, point, reply, unreadable)))
    return ratings


def _kept_of(answer: Answer) -> Answer:
    """An answer of a length that a file can hold: what is cut is said in its flags."""
    rationale, cited = answer.rationale or "", answer.cited_step_indices
    flags = [*answer.flags]
    if len(rationale) > MOST_RATIONALE:
        flags.append(f"rationale_cut:{len(rationale)}")
        answer = replace(answer, rationale=rationale[:MOST_RATIONALE] + " [cut]")
    if len(cited) > MOST_CITED:
        flags.append(f"citations_cut:{len(cited)}")
        answer = replace(answer, cited_step_indices=tuple(dict.fromkeys(cited))[:MOST_CITED])
    return replace(answer, flags=tuple(flags)) if len(flags) > len(answer.flags) else answer


def _rated(call: Call, point: str) -> dict[str, Any]:
    """What was rated."""
    trajectory = call.trajectory
    question, interaction = question_and_interaction(point)
    return {
        "trajectory_id": trajectory.id,
        "interaction_id": interaction,
        **{name: getattr(trajectory, name) for name in ("task_id", "cluster_id", "agent", "domain")},
        "question": question,
        "scale": call.inquiry.scale,
        "split": call.stamp.split,
    }


def _by_whom(call: Call, point: str) -> dict[str, Any]:
    """Who rated it, by which rubric and prompt."""
    judge, rubric = call.judge, call.rubrics[point]
    return {
        "rater": judge.rater,
        "rater_kind": judge.kind,
        **{name: getattr(judge, name) for name in ("family", "model", "mechanism")},
        "rater_version": judge.version,
        "rubric_version": rubric.version if judge.reads_rubrics else None,
        "rubric_sha256": rubric.sha256 if judge.reads_rubrics else None,
        "prompt_sha256": call.prompt_sha256,
        "repeat": call.repeat,
    }


def _answered(call: Call, point: str, reply: Reply, answer: Answer) -> dict[str, Any]:
    """What came, with what the run finds out about it."""
    invalid = check_citations(answer.cited_step_indices, len(call.trajectory.steps))
    flags = [*call.stamp.flags, *call.inquiry.flags_of(point), *reply.flags, *answer.flags]
    flags += ["citation_out_of_range"] if invalid else []
    return {
        **{name: getattr(answer, name) for name in _TAKEN},
        "cited_step_indices": list(answer.cited_step_indices),
        "invalid_citations": invalid,
        "flags": list(dict.fromkeys(flags)),  # a replayed rating brings its own
    }


def _share(tokens: int | None, share: int, position: int) -> int | None:
    """An even share of a whole number; the remainder goes to the first points, so that the shares of a call add up."""
    if tokens is None:
        return None
    whole, rest = divmod(tokens, share)
    return whole + (position < rest)


# The bar of a judging run: what is done, what it costs, and what goes wrong.

_KEPT, _WIDEST = 60, 120
#: Seconds between two lines about a provider's pauses, where lines stay.
NOTIFY_S = 60.0


class Progress:
    """Ratings done, there already and failed, the rate, the money spent and forecast, the commonest failure.

    Without `show` it is shown on a terminal and in a notebook; there, where no judge may cost anything, once it takes
    longer than a second.
    """

    def __init__(self, plan: JudgingPlan, *, show: bool | None) -> None:
        self.plan = plan
        self.show = sys.stderr.isatty() or in_notebook() if show is None else show
        costs = any(judge.kind in ("llm", "decision_model") for judge in plan.judges)
        self.delay = 0.0 if show or costs or sys.stderr.isatty() else 1.0
        self._waiting: dict[str, float] = {}
        self._notified: dict[str, float] = {}
        self._lines: dict[str, str] = {}

    def __enter__(self) -> Self:
        from tqdm import tqdm

        hidden: dict[str, Any] = {} if self.show else {"disable": True}  # where it is shown, TQDM_DISABLE may say no
        file = sys.stdout if in_notebook() else None  # JupyterLab shows standard error on red
        how: dict[str, Any] = {"unit": " ratings", "delay": self.delay, "dynamic_ncols": True, "file": file}
        self.bar = tqdm(total=self.plan.n_ratings, **how, **hidden)
        return self

    def advance(self, ratings: Sequence[Rating], ends: Sequence[LaneEnd]) -> None:
        """Count ratings that came."""
        if self.show:
            self.bar.set_postfix_str(self._in_words(ends), refresh=False)
        self.bar.update(len(ratings))

    def wait(self, provider: str, line: str | None) -> None:
        """What a provider is waited for, on one line that changes; None where it answers again.

        In a pipeline, where a line stays, a pause is told, and that it answers again, once in `NOTIFY_S` a provider.
        """
        now = time.monotonic()
        if self.show and not self.bar.disable:
            self._lines[provider] = line or ""
            self.bar.set_description_str("; ".join(filter(None, self._lines.values()))[:_WIDEST])
        elif line is None:
            if self._notified.get(provider, -inf) >= (began := self._waiting.pop(provider, inf)):
                self.tell(f"{provider} answers again after {now - began:.0f} s")
        else:
            self._waiting.setdefault(provider, now)
            if now - self._notified.get(provider, -inf) >= NOTIFY_S:
                self._notified[provider] = now
                self.tell(line)

    def tell(self, line: str) -> None:
        """A line above the bar; who watches nothing, in a pipeline, is told too."""
        self.bar.write(f"axisjudge: {printable(line)}", file=sys.stderr)

    def _in_words(self, ends: Sequence[LaneEnd]) -> str:
        failed = sum(end.statuses.total() - end.statuses["ok"] for end in ends)
        words = [f"cached {self.plan.cached}, failed {failed}"]
        spent = sum(end.spent_usd for end in ends)
        if spent > 0:
            words.append(f"${spent:,.2f} of about ${_forecast(ends):,.2f}")
        failures = Counter[str]()
        for end in ends:
            failures.update(end.failures)
        if failures:
            reason, count = failures.most_common(1)[0]
            words.append(f"{count} x {reason[:_KEPT]}")
        return ", ".join(words)

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def _forecast(ends: Sequence[LaneEnd]) -> float:
    """What the run will have cost, each judge by what its ratings cost so far."""
    total = 0.0
    for end in ends:
        n_done = end.statuses.total()
        total += end.spent_usd * (1 + end.not_asked / n_done if n_done else 1)
    return total


# The ratings that a run finds in its file and adds to it: read once. And the prompts that it sent.

_Seen = tuple[int, int, int]

#: Ratings that are kept as records before they are packed.
_BATCH = 1_000


class KeptRatings:
    """The ratings of one file: read when they are first wanted, and again only where somebody else has written since.

    What the run itself writes is added to what was read (`add`, `wrote_all`), so that nothing is read back. Without a
    file the ratings live in memory alone.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._seen: _Seen | None = None
        self._read: pl.DataFrame | None = None
        self._written: list[bytes] = []
        self._last: list[Rating] = []

    @property
    def is_current(self) -> bool:
        """Whether the file is as it was when it was read, or written by this run."""
        return self._read is not None and self._seen == self._as_it_is()

    def table(self) -> pl.DataFrame:
        """All ratings, of one identity the last one, in one order (`axisjudge.ratings.in_order`)."""
        import polars as pl

        from axisjudge.ratings import in_order, ratings_frame, read_ratings

        if self._read is None or not self.is_current:
            self._written, self._last = [], []
            self._seen = self._as_it_is()
            self._read = ratings_frame([]) if self.path is None or self._seen is None else read_ratings(self.path)
        if self._written or self._last:
            written = [pl.read_ipc(io.BytesIO(packed)) for packed in self._written]
            every = pl.concat([self._read, *written, ratings_frame(self._last)])
            self._read = in_order(every.unique(subset=list(IDENTITY), keep="last", maintain_order=True))
            self._written, self._last = [], []
        return self._read

    def budget(self, limit_usd: float) -> Budget:
        """A budget of the study: what every line of the file has cost is spent, and its calls have told."""
        import polars as pl

        from axisjudge.ratings import read_every_line

        if self.path is None or self._as_it_is() is None:
            return Budget(limit_usd)
        every = calls_of(read_every_line(self.path))
        unknown = dict(every.group_by("rater").agg(pl.col("n_unknown").sum()).iter_rows())
        calls = every.filter(pl.col("usd") > 0)
        dearest = pl.col("usd", *TOKENS).sort_by("usd").last()
        costs = {
            rater: CallCosts(
                n_calls, usd, largest=None if None in (read, written) else Tokens(read, written, cached or 0)
            )
            for rater, n_calls, usd, read, cached, written in calls.group_by("rater").agg(pl.len(), dearest).iter_rows()
        }
        return Budget(limit_usd, float(calls["usd"].sum()), costs, unknown)

    def done(self) -> Done:
        """Status of every rating by identity."""
        return done_of(self.table())

    def add(self, ratings: Sequence[Rating]) -> None:
        """Ratings that were just written."""
        from axisjudge.ratings import ratings_frame

        self._last.extend(ratings)
        if len(self._last) >= _BATCH:  # small tables take twenty times as much
            packed = io.BytesIO()
            ratings_frame(self._last).write_ipc(packed, compression="zstd")
            self._written.append(packed.getvalue())
            self._last = []

    def wrote_all(self) -> None:
        """The file is as this run left it; to be called before another process may write."""
        self._seen = self._as_it_is()

    def _as_it_is(self) -> _Seen | None:
        """What tells one state of the file from another; None for one that holds nothing."""
        if self.path is None:
            return None
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return None
        return (now.st_ino, now.st_size, now.st_mtime_ns) if now.st_size else None


class KeptPrompts:
    """The whole prompt of each call beside its hash, each once: one JSON line with who was asked and what was sent.

    A torn last line (the writer was killed) is cut off, and its prompt written again when it is sent again.

    Parameters
    ----------
    path : path
        JSON Lines; what is there stays.

    Raises
    ------
    InputError
        The file cannot be written, or holds other things.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole, _, torn = self.path.read_bytes().rpartition(b"\n") if self.path.exists() else (b"", b"", b"")
            self._there = {json.loads(line)["prompt_sha256"] for line in whole.splitlines()}
            self._file = self.path.open("ab")
            if torn:
                self._file.truncate(self.path.stat().st_size - len(torn))
        except OSError as error:
            raise InputError(str(self.path), f"cannot be written ({error.strerror or error})") from error
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(str(self.path), "holds no prompts", cure="name another file to keep them in") from error

    def keep(self, call: Call) -> None:
        """Write the prompt of a call, unless it is there or nothing was sent."""
        judge = call.judge
        if call.prompt_sha256 in self._there or judge.kind not in ("llm", "decision_model"):
            return
        if call.inquiry.unasked(judge) is not None:
            return
        sent = call.inquiry.request(judge)
        line = {"prompt_sha256": call.prompt_sha256, "rater": judge.rater, "mechanism": judge.mechanism, "sent": sent}
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        self._there.add(call.prompt_sha256)

    def close(self) -> None:
        self._file.close()


class UnderWay:
    """The calls that a run has sent, beside its ratings file (``ratings.jsonl.under_way``): each as the loss that it
    is if nothing more comes, so that the next run puts on file what a killed one may have paid.
    """

    def __init__(self, ratings: Path) -> None:
        self.ratings, self.path = ratings, ratings.with_name(f"{ratings.name}.under_way")
        self._file: io.FileIO | None = None

    def left(self) -> list[Rating]:
        """The calls of a killed run that have no rating of that run.

        Raises
        ------
        InputError
            The file is there and is none of ours.
        """
        from axisjudge.ratings import read_every_line

        if not self.path.exists():
            return []
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]  # the last one may be torn
            sent = {(*identity(each), each.run_id): each for each in map(Rating.model_validate_json, lines)}
        except ValidationError as error:
            cure = "move it away; what is under way is then not counted"
            raise InputError(str(self.path), "is no list of calls", cure=cure) from error
        has_come = {*read_every_line(self.ratings).select(*IDENTITY, "run_id").iter_rows()} if sent else set()
        return [each for key, each in sent.items() if key not in has_come]

    def add(self, ratings: Sequence[Rating]) -> None:
        """Note the ratings of a call before it is made."""
        from axisjudge.ratings.table import json_line

        try:
            if self._file is None:
                self._file = self.path.open("wb", buffering=0)
            self._file.write(b"".join(map(json_line, ratings)))
        except OSError as error:
            raise InputError(str(self.path), f"cannot be written ({error.strerror or error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Where the run came to its end all that was sent is on file."""
        if self._file is not None:
            self._file.close()
        if kind is None:
            self.path.unlink(missing_ok=True)


def done_of(table: pl.DataFrame) -> Done:
    """Status of every rating of a table, by identity; calls that were given up are not done."""
    import polars as pl

    given_up = (pl.col("status") != "ok") & pl.col("flags").list.contains(ENDED_UNDER_WAY).fill_null(value=False)
    columns = table.filter(~given_up).select(*IDENTITY, "status")
    return {row[:-1]: row[-1] for row in columns.iter_rows()}


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
    sending : callable, optional
        Takes the ratings of a call that may cost something before it is made, as they are if nothing more comes.
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
        sending: Sink = lambda ratings: None,
    ) -> None:
        self.plan, self.options, self.batches, self.prompts = plan, options or RunOptions(), batches, prompts
        if budget is None and self.options.budget_usd is not None:
            budget = Budget(self.options.budget_usd)
        self.budget = budget
        self.statuses = Counter[str]()
        self.ends: list[LaneEnd] = []
        self._sink, self._sending = sink, sending
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

        def sending(call: Call, reply: Reply) -> None:
            self._sending(ratings_of(call, reply, self._run_id))

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
                new = partial(Lane, judge, groups[judge], concurrency=options.concurrency, pause=pause)
                new = partial(new, waits=bar.wait, sending=sending)
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
    needed = {call.trajectory.id: call.inquiry.tokens(judge) for call in mine if call.inquiry.unasked(judge) is None}
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
