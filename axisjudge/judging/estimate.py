"""What a run will take before it is begun, as a range: calls, tokens, price and time; and what ratings on file have
cost.

A judge's own history in the ratings file says how long its answers are, how long a call takes, and how many tokens its
prompts have; for one without a history stated ranges stand in. Prompts are counted as they will be sent. With a cache
the first call of a setting (policy and tools) writes instructions and setting, the first of a run the run, and the
others read what is there, where that is as long as the provider keeps at all (`least_cached`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from axisjudge.checks import InputError
from axisjudge.cluster import in_notebook
from axisjudge.judges.answer import MAYBE_PAID, NOT_SENT
from axisjudge.judges.base import Judge
from axisjudge.judges.pricing import BATCH_SHARE, UNPRICED, Tokens
from axisjudge.judges.remote import STATED_COST, RemoteJudge
from axisjudge.judging.inquiry import CHARACTERS_PER_TOKEN, NO_MESSAGES
from axisjudge.judging.plan import Call, JudgingPlan, RunOptions
from axisjudge.results import Result

if TYPE_CHECKING:
    import polars as pl


# What ratings have cost, judge by judge, by the figures that each rating bears.

TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True)
class JudgeCost(Result):
    """What a judge's ratings took, those left out for which nobody was asked; tokens of the prompt include cached ones.

    `usd` sums what is known; `n_unpriced` counts the calls, and tries before them, whose cost nobody knows.
    `usd_per_1000` is None where no cost is known, and tokens are None where no reply stated them.
    """

    _also = ("cached_share", "usd_per_1000")

    rater: str
    n_calls: int
    n_verdicts: int
    n_lost: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    usd: float
    n_unpriced: int

    @property
    def cached_share(self) -> float | None:
        if not self.input_tokens or self.cached_tokens is None:
            return None
        return self.cached_tokens / self.input_tokens

    @property
    def usd_per_1000(self) -> float | None:
        """US dollars for 1,000 verdicts, lost ones paid for included."""
        if not self.n_verdicts or (self.n_unpriced and not self.usd):
            return None
        return 1_000 * self.usd / self.n_verdicts

    def row(self) -> dict[str, Any]:
        """A line of a table."""
        return {
            "judge": self.rater,
            "calls": self.n_calls,
            "verdicts": self.n_verdicts,
            "lost": self.n_lost,
            "tokens in": self.input_tokens,
            "cached share": self.cached_share,
            "tokens out": self.output_tokens,
            "spent $": self.usd,
            "$ per 1,000 verdicts": self.usd_per_1000,
        }


def call_key() -> pl.Expr:
    """What tells one call from another: its run, its prompt and repeat, and the provider's name for it.

    No part is enough: not every server gives each reply a name of its own, and a prompt may be sent again.
    """
    import polars as pl

    prompt = pl.coalesce("prompt_sha256", "question")
    return pl.struct("run_id", "trajectory_id", prompt.alias("prompt"), "repeat", "call_id")


def _is_paid() -> pl.Expr:
    """A model's ratings, and others that cost something.

    Replayed ones were paid where they were recorded; for runs without messages, or too long, nobody was asked.
    """
    import polars as pl

    asked = pl.col("rater_kind").is_in(["llm", "decision_model"]) | (pl.col("cost_usd") > 0).fill_null(value=False)
    others = (
        pl.col("flags").list.contains(flag).fill_null(value=False) for flag in ("replayed", NO_MESSAGES, NOT_SENT)
    )
    return asked & ~pl.any_horizontal(*others)


def calls_of(ratings: pl.DataFrame) -> pl.DataFrame:
    """The paid calls behind ratings; replayed ones are left out.

    ``rater``, ``usd`` (null where nothing is known), its tokens, and ``n_unknown``: how many tries of it, the last one
    included, may have been paid at a cost that nobody knows.
    """
    import polars as pl

    known = (pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in ("cost_usd", *TOKENS))
    tries = pl.col("flags").list.join(" ").str.extract(rf"\b{MAYBE_PAID}:(\d+)").cast(pl.Int64).fill_null(0)
    is_untold = pl.col("cost_usd").is_null() | pl.col("flags").list.contains(UNPRICED).fill_null(value=False)
    has_come = (pl.col("status") != "api_error").any()  # of one that failed the flag tells whether it may be paid
    return (
        ratings.filter(_is_paid())
        .group_by("rater", call_key().alias("call"), maintain_order=True)
        .agg(*known, (tries.first() + (is_untold.all() & has_come)).alias("n_unknown"))
        .rename({"cost_usd": "usd"})
    )


def cost_of(ratings: pl.DataFrame) -> list[JudgeCost]:
    """The cost of every model among the raters of a ratings table, the dearest first.

    Parameters
    ----------
    ratings : polars.DataFrame
        Every line that was written, those that were asked again and replaced included: they were paid too.

    Returns
    -------
    list of JudgeCost
        Replayed ratings are left out: they were paid where they were recorded. A call that several ratings share
        counts once.
    """
    import polars as pl

    calls = calls_of(ratings).group_by("rater", maintain_order=True)
    by_rater = calls.agg(
        pl.len().alias("n_calls"),
        *(pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()) for name in TOKENS),
        pl.col("usd").sum(),
        pl.col("n_unknown").sum().alias("n_unpriced"),
    )
    is_ok = pl.col("status") == "ok"
    verdicts = ratings.filter(_is_paid()).group_by("rater").agg(n_verdicts=is_ok.sum(), n_lost=(~is_ok).sum())
    table = by_rater.join(verdicts, on="rater", maintain_order="left")
    return [JudgeCost(**row) for row in table.sort("usd", descending=True, maintain_order=True).to_dicts()]


def asked_yes(question: str) -> bool:
    """Whether somebody said yes; no where nobody can be asked (a pipeline, a notebook run by a program)."""
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    prompt = f"axisjudge: {question} [y/N] "
    if terminal:
        print(prompt, end="", file=sys.stderr, flush=True)
        return _is_yes(sys.stdin.readline())
    try:
        return in_notebook() and _is_yes(input(prompt))
    except (EOFError, NotImplementedError):  # the latter is what a kernel raises that takes no input
        return False


def _is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes")


#: A run that may cost more is begun only after a yes.
ASK_ABOVE_USD = 5.0

#: Characters of English and JSON that make a token: few, for a high count; many, for a low one.
CHARACTERS = (5.0, 3.0)
#: Tokens and seconds of an answer where the judge has no history: a short verdict, and one after long thinking.
ANSWER, SECONDS = (150, 4_000), (2.0, 60.0)
#: How long a batch may take.
BATCH_SECONDS = (60.0, 86_400.0)
#: Calls that make a history.
ENOUGH = 10
#: The parts of a prompt, in their order.
PARTS = ("instructions", "policy and tools", "run", "rubrics")
#: What a provider adds to a prompt (schema, roles), in characters.
FRAME = 1_500


@dataclass(frozen=True)
class JudgeEstimate:
    """One judge's share of a run; pairs are (low, high).

    `uncached_usd` is what it would cost without a cache; prices are None where the model has none.
    """

    judge: Judge
    n_calls: int
    input_tokens: tuple[float, float]
    cached_tokens: tuple[float, float]
    output_tokens: tuple[float, float]
    usd: tuple[float, float] | None
    uncached_usd: tuple[float, float] | None
    seconds: tuple[float, float]
    n_history: int
    letters: tuple[int, ...] = ()

    @property
    def parts(self) -> str:
        """What a call is made of, in tokens (four letters each) and shares: PARTS in their order."""
        whole = max(1, sum(self.letters))
        each = (
            f"{name} {n / CHARACTERS_PER_TOKEN / self.n_calls:,.0f} ({n / whole:.0%})"
            for name, n in zip(PARTS, self.letters, strict=True)
            if n
        )
        return ", ".join(each)

    @property
    def cached_share(self) -> tuple[float, float]:
        """The share of the prompts' tokens that is expected from a cache."""
        shares = sorted(
            part / whole for part, whole in zip(self.cached_tokens, self.input_tokens, strict=True) if whole
        )
        return (shares[0], shares[-1]) if shares else (0.0, 0.0)

    @property
    def batch_usd(self) -> tuple[float, float] | None:
        """What it would cost by the provider's batch interface, which answers within a day."""
        if self.uncached_usd is None or not isinstance(self.judge, RemoteJudge) or not self.judge.can_batch:
            return None
        return (self.uncached_usd[0] * BATCH_SHARE, self.uncached_usd[1] * BATCH_SHARE)

    @property
    def in_a_batch(self) -> JudgeEstimate:
        """The same by the batch interface; a batch may find nothing in a cache."""
        if self.batch_usd is None:
            return self
        return replace(self, usd=self.batch_usd, cached_tokens=(0.0, self.cached_tokens[1]), seconds=BATCH_SECONDS)

    def row(self) -> dict[str, Any]:
        """The estimate as a line of a table."""
        return {
            "judge": self.judge.rater,
            "calls": self.n_calls,
            "tokens in": span(self.input_tokens),
            "cached": f"{span(self.cached_tokens)} ({span((100 * self.cached_share[0], 100 * self.cached_share[1]))}%)",
            "out": span(self.output_tokens),
            "price $": "unpriced" if self.usd is None else span(self.usd, 2),
            "without cache $": "unpriced" if self.uncached_usd is None else span(self.uncached_usd, 2),
            "in a batch $": "-" if self.batch_usd is None else span(self.batch_usd, 2),
            "minutes": span((self.seconds[0] / 60, self.seconds[1] / 60), 1),
            "answers by": f"its {self.n_history} calls on file" if self.n_history else "a stated range",
        }


@dataclass(frozen=True)
class PlanEstimate:
    """What a plan will take, judge by judge; judges that are programs are left out."""

    judges: tuple[JudgeEstimate, ...]

    @property
    def usd(self) -> tuple[float, float]:
        """The price of all that have one."""
        known = [each.usd for each in self.judges if each.usd is not None]
        return (sum(low for low, _ in known), sum(high for _, high in known))

    @property
    def unpriced(self) -> list[str]:
        """Judges whose calls cost something that nobody can say beforehand."""
        return [each.judge.rater for each in self.judges if each.usd is None and isinstance(each.judge, RemoteJudge)]

    @property
    def seconds(self) -> tuple[float, float]:
        """How long it takes: as long as the judge that takes longest."""
        return (
            max((each.seconds[0] for each in self.judges), default=0.0),
            max((each.seconds[1] for each in self.judges), default=0.0),
        )

    @property
    def sentence(self) -> str:
        """The line before a paid run."""
        calls = sum(each.n_calls for each in self.judges)
        minutes = span((self.seconds[0] / 60, self.seconds[1] / 60), 1)
        pairs = [(each.input_tokens, each.cached_tokens) for each in self.judges]
        whole, read = (sum(map(sum, ends)) for ends in zip(*pairs, strict=True))
        unpriced = f"; unpriced: {', '.join(self.unpriced)}" if self.unpriced else ""
        price = f"about ${span(self.usd, 2)} by list or stated price"
        return f"{calls} calls to models, {price}, {minutes} minutes, {read / whole:.0%} of prompts cached{unpriced}"

    @property
    def prompts(self) -> str:
        """What the prompts of a call are made of, judge by judge; one line where they are alike."""
        by_parts: dict[str, list[str]] = {}
        for each in self.judges:
            by_parts.setdefault(each.parts, []).append(each.judge.rater)
        lines = (parts if len(by_parts) == 1 else f"{', '.join(raters)}: {parts}" for parts, raters in by_parts.items())
        return "; ".join(lines)

    def rows(self) -> list[dict[str, Any]]:
        return [each.row() for each in self.judges]


def estimate_of(plan: JudgingPlan, history: pl.DataFrame, options: RunOptions | None = None) -> PlanEstimate:
    """The estimate of a plan.

    Parameters
    ----------
    plan : Plan
    history : polars.DataFrame
        Ratings that are there; of these the judge's own count.
    options : RunOptions, optional
        How many calls are under way at once; whether by the batch interfaces, at their price and within their time.
    """
    options = options or RunOptions()
    groups: dict[Judge, list[tuple[Call, ...]]] = {}
    for group in plan.groups:
        if group[0].judge.kind in ("llm", "decision_model") and group[0].inquiry.unasked(group[0].judge) is None:
            groups.setdefault(group[0].judge, []).append(group)
    judges = (_of_judge(judge, mine, history, options.concurrency) for judge, mine in groups.items())
    return PlanEstimate(tuple(each.in_a_batch if options.batch else each for each in judges))


@dataclass(frozen=True)
class _History:
    n_calls: int
    output_tokens: tuple[float, float]
    seconds: tuple[float, float]
    input_tokens: dict[str, float]
    usd: float | None = None


def _history_of(judge: Judge, ratings: pl.DataFrame) -> _History:
    """The mean answer of a judge with its standard error twice to either side, and its prompts by trajectory."""
    import polars as pl

    stated = pl.col("flags").list.contains(STATED_COST) & (pl.col("rater") == judge.rater)
    usd: Any = calls_of(ratings.filter(stated))["usd"].mean()
    known = pl.col("output_tokens").is_not_null() & pl.col("input_tokens").is_not_null()
    mine = ratings.filter((pl.col("rater") == judge.rater) & known)
    calls = mine.group_by(call_key().alias("call")).agg(
        pl.col("output_tokens").sum(),
        pl.col("input_tokens").sum(),
        pl.col("latency_s").first(),
        pl.col("trajectory_id").first(),
    )
    if calls.height < ENOUGH:
        return _History(0, ANSWER, SECONDS, {}, usd)
    prompts = calls.group_by("trajectory_id").agg(pl.col("input_tokens").mean())
    seconds = calls["latency_s"].drop_nulls()
    latency = _around(seconds) if len(seconds) else SECONDS
    return _History(calls.height, _around(calls["output_tokens"]), latency, dict(prompts.iter_rows()), usd)


def _around(values: pl.Series) -> tuple[float, float]:
    mean, spread = float(values.mean() or 0.0), float(values.std() or 0.0)  # type: ignore[arg-type]
    margin = 2 * spread / (values.len() ** 0.5)
    return (max(0.0, mean - margin), mean + margin)


def _of_judge(
    judge: Judge, groups: Sequence[tuple[Call, ...]], ratings: pl.DataFrame, concurrency: int
) -> JudgeEstimate:
    history = _history_of(judge, ratings)
    n_calls = sum(len(group) for group in groups)
    whole, shared, written = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    least, writes = (judge.least_cached, judge.pays_for_writing) if isinstance(judge, RemoteJudge) else (0, False)
    settings: set[str] = set()
    letters = [0] * len(PARTS)
    for group in groups:
        for position, call in enumerate(group):
            parts = [len(part) for part in call.inquiry.prompt(judge)]
            for part, n in enumerate(parts):
                letters[min(part, len(PARTS) - 1)] += n
            on_file = history.input_tokens.get(call.trajectory.id)
            is_known = position > 0 or call.trajectory.setting_mark in settings
            settings.add(call.trajectory.setting_mark)
            there = sum(parts[:3]) if position else sum(parts[:2]) if is_known else 0
            kept = sum(parts[:2]) if len(call.rubrics) > 1 else sum(parts[:3])
            for end, per_token in enumerate(CHARACTERS):
                tokens = on_file if on_file is not None else (sum(parts) + FRAME) / per_token
                read, keep = (tokens * part / (sum(parts) + FRAME) for part in (there, kept))
                read = read if read >= least else 0.0
                whole[end] += tokens
                shared[end] += read
                written[end] += max(0.0, keep - read) if writes and keep >= least else 0.0
    n_verdicts = sum(len(call.rubrics) for group in groups for call in group) if judge.kind == "llm" else n_calls
    more = 0 if history.n_calls else ANSWER[0] * (n_verdicts - n_calls)  # a call that asks about several points
    output = tuple(n_calls * each + more for each in history.output_tokens)
    ends = list(zip(whole, shared, output, written, strict=True))
    width = min(int(judge.spec.options.get("concurrency", concurrency)), n_calls)
    seconds = tuple(
        max(_at_limits(judge, n_calls, tokens + out), n_calls * each / width)
        for (tokens, _, out, _), each in zip(ends, history.seconds, strict=True)
    )
    return JudgeEstimate(
        judge,
        n_calls,
        (whole[0], whole[1]),
        (shared[0], shared[1]),
        (output[0], output[1]),
        _pair([_price(judge, *end, n_calls=n_calls, usd=history.usd) for end in ends]),
        _pair([_price(judge, tokens, 0.0, out, n_calls=n_calls, usd=history.usd) for tokens, _, out, _ in ends]),
        (seconds[0], seconds[1]),
        history.n_calls,
        tuple(letters),
    )


def _price(
    judge: Judge, tokens: float, cached: float, output: float, written: float = 0.0, *, n_calls: int, usd: float | None
) -> float | None:
    """The price of calls that are alike: lists have steps by the length of a prompt; without one as told by replies."""
    if not isinstance(judge, RemoteJudge):
        return None
    each = Tokens(*(round(part / n_calls) for part in (tokens, output, cached, written)))
    price = judge.price(each)
    if price is None:
        return usd * n_calls if usd is not None else 0.0 if judge.is_own_server else None
    return price * n_calls


def _pair(ends: Sequence[float | None]) -> tuple[float, float] | None:
    low, high = ends
    return None if low is None or high is None else (min(low, high), max(low, high))


def _at_limits(judge: Judge, n_calls: int, tokens: float) -> float:
    """Seconds that the judge's stated limits make of it."""
    options = judge.spec.options
    by_calls = n_calls * 60 / options["rpm"] if "rpm" in options else 0.0
    return max(by_calls, tokens * 60 / options["tpm"] - 60 if "tpm" in options else 0.0)


def span(ends: tuple[float, float], digits: int = 0) -> str:
    """A range as people read it; one number where both ends look alike."""
    low, high = (f"{end:,.{digits}f}" for end in ends)
    return low if low == high else f"{low} to {high}"


def check_priced(estimate: PlanEstimate, options: RunOptions) -> None:
    """Refuse judges whose price nobody knows.

    Raises
    ------
    InputError
        A model has no price; a budget is to be kept with a judge whose calls have none.
    """
    if estimate.unpriced and not options.allow_unpriced:
        cure = "give one (,price=IN/OUT in dollars a million tokens, or axisjudge models add), or --allow-unpriced"
        raise InputError(
            f"judge {estimate.unpriced[0]}", "has no list price, so that nobody knows what it costs", cure=cure
        )
    unknown = [each.judge.rater for each in estimate.judges if each.usd is None]
    if options.budget_usd is not None and unknown and not options.allow_unpriced:
        rule = "has no price that is known beforehand, so that no budget can be kept"
        cure = (
            "leave it out, give it a price (,price=IN/OUT), or allow it (--allow-unpriced): then its replies must tell"
        )
        raise InputError(f"judge {unknown[0]}", rule, cure=cure)


def agree(estimate: PlanEstimate, options: RunOptions) -> None:
    """Say what a paid run will cost, and let it begin only where that was agreed to.

    Raises
    ------
    InputError
        A judge has no price (`check_priced`); it may cost more than `ASK_ABOVE_USD` and nobody said yes.
    """
    check_priced(estimate, options)
    _, high = estimate.usd
    if high <= 0 or options.agreed:
        return
    print(f"axisjudge: {estimate.sentence}", file=sys.stderr)
    ask_above("this run", high, options, "go on?")


def ask_above(what: str, high: float, options: RunOptions, question: str) -> None:
    """Ask for a yes where something may cost more than `ASK_ABOVE_USD`; refuse it where none comes."""
    most = high if options.budget_usd is None else min(high, options.budget_usd)
    if most <= ASK_ABOVE_USD or options.confirm or asked_yes(question):
        return
    rule = f"may cost up to ${most:,.2f}, more than ${ASK_ABOVE_USD:,.2f}, and nobody said yes"
    raise InputError(what, rule, cure="say so: --yes, confirm=True; or keep a budget: --budget, budget_usd=")
