"""What ratings have cost, judge by judge, by the figures that each rating bears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axisjudge.results import Result

if TYPE_CHECKING:
    import polars as pl

_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True)
class JudgeCost(Result):
    """What a judge's ratings took; tokens of the prompt include those from a cache.

    `usd` sums what has a price; `n_unpriced` counts the calls that have none. `usd_per_1000` is None where no call has,
    and tokens are None where no reply stated them.
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
        if not self.n_verdicts or self.n_unpriced == self.n_calls:
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


def calls_of(ratings: pl.DataFrame) -> pl.DataFrame:
    """The paid calls behind ratings: ``rater``, and ``usd`` (null where nobody knows); replayed ones are left out."""
    import polars as pl

    is_known = pl.when(pl.col("cost_usd").count() > 0).then(pl.col("cost_usd").sum())
    is_paid = pl.col("rater_kind").is_in(["llm", "decision_model"]) | (pl.col("cost_usd") > 0)
    paid = ratings.filter(is_paid & ~pl.col("flags").list.contains("replayed").fill_null(False))
    return paid.group_by("rater", call_key().alias("call"), maintain_order=True).agg(is_known.alias("usd"))


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

    paid = ratings.filter(
        pl.col("rater_kind").is_in(["llm", "decision_model"])
        & ~pl.col("flags").list.contains("replayed").fill_null(False)
    )
    by_call = paid.with_columns(call_key().alias("call"))
    table = by_call.group_by("rater", maintain_order=True).agg(
        pl.col("call").n_unique().alias("n_calls"),
        (pl.col("status") == "ok").sum().alias("n_verdicts"),
        (pl.col("status") != "ok").sum().alias("n_lost"),
        *(pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()) for name in _TOKENS),
        pl.col("cost_usd").sum().alias("usd"),
        pl.col("call").filter(pl.col("cost_usd").is_null()).n_unique().alias("n_unpriced"),
    )
    return [JudgeCost(**row) for row in table.sort("usd", descending=True, maintain_order=True).to_dicts()]
