"""What an item costs at each judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from axisjudge.checks import InputError
from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd
from axisjudge.studies.panels.voted import Voted

#: A typical call of a judge on one item, where the ratings do not say what was paid: prompt and reply, in tokens.
TOKENS = Tokens(input=9_000, output=600)


def item_prices(
    votes: Voted,
    ratings: pl.DataFrame,
    *,
    local: Sequence[str] = (),
    prices: Mapping[str, float] | None = None,
    tokens: Tokens = TOKENS,
) -> dict[str, float | None]:
    """US dollars an item for each judge; None where nobody knows, which is not free.

    In this order: what `prices` says; 0 for judges, models or families named in `local`; the mean cost that the ratings
    record; the list price of a call of `tokens` by genai-prices.

    Raises
    ------
    InputError
        A price for a judge that is not there, or below 0.
    """
    given = dict(prices or {})
    for name, price in given.items():
        if name not in votes.judges or not price >= 0:
            raise InputError("prices", "must name judges of these ratings and be 0 or more", f"{name}={price}")
    paid: dict[str, float] = {}
    if "cost_usd" in ratings.columns:
        costs = ratings.filter(pl.col("cost_usd").is_not_null()).group_by("rater").agg(pl.col("cost_usd").mean())
        paid = dict(costs.iter_rows())
    found: dict[str, float | None] = {}
    for judge, family, model in zip(votes.judges, votes.families, votes.models, strict=True):
        if judge in given:
            found[judge] = given[judge]
        elif {judge, family, model} & set(local):
            found[judge] = 0.0
        else:
            found[judge] = paid.get(judge) if judge in paid else cost_usd(tokens, model, judge, at=LISTED_AT)
    return found
