"""What a call cost, from genai-prices; a model without a price is unpriced, never free."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

UNPRICED = "unpriced"
#: What the batch interfaces of both providers cost of the list price, tokens of a cache included.
BATCH_SHARE = 0.5
#: Plans and pages price at this moment, or one page would say other sums at another hour: some providers have a rate
#: for quiet hours, and midday is in none of them. To be moved with the price list in the lock.
LISTED_AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
#: No call has so many tokens.
MOST_TOKENS = 10**9


@dataclass(frozen=True)
class Tokens:
    """Tokens of one call. `input` counts all of the prompt, those read from or written to a cache included.

    `tells_cache` is False where the reply says nothing of a cache, which is not the same as none.
    """

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    tells_cache: bool = field(default=True, kw_only=True)

    @property
    def can_be(self) -> bool:
        """Whether a call can have these counts: a server of somebody's own may tell anything, or 0 for none."""
        counts = (self.input, self.output, self.cache_read, self.cache_write)
        if not all(isinstance(count, int) and 0 <= count < MOST_TOKENS for count in counts):
            return False
        return 0 < self.input >= self.cache_read + self.cache_write


@dataclass(frozen=True)
class Tariff:
    """US dollars for a call and for each token of it, where the prompt is of a length that is priced alike."""

    call: Decimal
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal

    def price(self, tokens: Tokens) -> float:
        """What a call of so many tokens costs."""
        fresh = tokens.input - tokens.cache_read - tokens.cache_write
        cached = self.cache_read * tokens.cache_read + self.cache_write * tokens.cache_write
        return float(self.call + self.input * fresh + cached + self.output * tokens.output)


def cost_usd(
    tokens: Tokens,
    *models: str | None,
    provider: str | None = None,
    url: str | None = None,
    at: datetime | None = None,
) -> float | None:
    """Price in US dollars by the list price of the first of `models` that has one, else None.

    Parameters
    ----------
    tokens : Tokens
    *models : str or None
        Names to look up in this order: the model that the provider returned, then the one that was asked for.
    provider : str, optional
        Whose prices: ``anthropic``, ``openai``. Else `url`, the server's address, decides.
    at : datetime, optional
        When the call is made; by default now.
    """
    hour = (at or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
    for model in filter(None, models):
        if tariffs := _tariffs(model, provider, url, hour):
            return next(tariff for start, tariff in tariffs if tokens.input > start).price(tokens)
    return None


@lru_cache(maxsize=256)
def _tariffs(model: str, provider: str | None, url: str | None, hour: datetime) -> tuple[tuple[int, Tariff], ...]:
    """The tariffs of a model in an hour, each with the prompt's length above which it holds, the longest first.

    A price list is a step function of the prompt's length and linear between the steps, so that a few questions to it
    tell all: asked for every reply it would take as long as all else that is done for one.
    """
    from genai_prices import Usage
    from genai_prices.types import TieredPrices

    def price(input: int, output: int = 0, read: int = 0, write: int = 0) -> Decimal:
        usage = Usage(input_tokens=input, output_tokens=output, cache_read_tokens=read, cache_write_tokens=write)
        return asked(usage).total_price

    asked = _asked(model, provider, url, hour)
    try:
        prices = vars(asked(Usage(input_tokens=0, output_tokens=0)).model_price).values()
    except LookupError:
        return ()
    starts = {-1, *(tier.start for each in prices if isinstance(each, TieredPrices) for tier in each.tiers)}
    call = price(0)
    tariffs = []
    for start in sorted(starts, reverse=True):
        n = max(start, 0) + 1
        whole = price(n)
        fresh = (whole - call) / n
        output, read, write = (price(n, *one) - whole for one in ((1,), (0, 1), (0, 0, 1)))
        tariffs.append((start, Tariff(call, fresh, output, fresh + read, fresh + write)))
    return tuple(tariffs)


@lru_cache(maxsize=256)
def context_tokens(model: str | None, provider: str | None, url: str | None) -> int | None:
    """Tokens that prompt and reply of a model may have together, by the price list; None where it tells none."""
    from genai_prices import Usage

    with suppress(LookupError):
        return _asked(model or "", provider, url, LISTED_AT)(Usage()).model.context_window
    return None


def _asked(model: str, provider: str | None, url: str | None, hour: datetime) -> partial[PriceCalculation]:
    """A question to the price list, which wants a usage."""
    from genai_prices import calc_price

    where = {"provider_id": provider, "provider_api_url": None if provider else url}
    return partial(calc_price, model_ref=model, genai_request_timestamp=hour, **where)


def is_own_host(url: str) -> bool:
    """Whether an address is on this machine or in this house: a name without dots, or one that is not public.

    Examples
    --------
    >>> is_own_host("http://localhost:8000/v1"), is_own_host("http://10.0.0.7/v1"), is_own_host("https://example.org/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_private
    return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def price_list_version() -> str:
    """Version of the price list, which is its date."""
    from importlib.metadata import version

    return version("genai-prices")
