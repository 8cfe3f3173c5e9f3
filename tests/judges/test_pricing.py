"""Costs by the bundled list prices, cached tokens at their own price."""

import random
from datetime import UTC, datetime

import pytest

from axisjudge.judges import pricing
from axisjudge.judges.pricing import Tokens, cost_usd
from axisjudge.studies.plan.pilots import judge_prices

# List prices in US dollars per million tokens (input, cache read, cache write, output): Claude Sonnet 4.6 and GPT-5,
# as the providers publish them and genai-prices bundles them.
SONNET_4_6 = (3.0, 0.30, 3.75, 15.0)
GPT_5 = (1.25, 0.125, 1.25, 10.0)


@pytest.mark.parametrize(
    ("provider", "model", "prices"), [("anthropic", "claude-sonnet-4-6", SONNET_4_6), ("openai", "gpt-5", GPT_5)]
)
def test_each_kind_of_token_at_its_own_price(
    provider: str, model: str, prices: tuple[float, float, float, float]
) -> None:
    tokens = Tokens(input=10_000, output=300, cache_read=8_000, cache_write=1_000)
    expected = sum(price * count for price, count in zip(prices, (1_000, 8_000, 1_000, 300), strict=True)) / 1e6
    assert cost_usd(tokens, model, provider=provider) == pytest.approx(expected)


def test_a_model_without_a_price_is_none_and_not_zero() -> None:
    assert cost_usd(Tokens(10, 10), "gpt-nonesuch", provider="openai") is None
    assert cost_usd(Tokens(10, 10), None, provider="openai") is None
    assert cost_usd(Tokens(10, 10), "qwen3-8b", url="http://localhost:8000/v1") is None


def test_the_model_asked_for_is_priced_when_the_returned_name_is_not_listed() -> None:
    cost = cost_usd(Tokens(1_000_000, 0), "internal-build-7", "gpt-5", provider="openai")
    assert cost == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5"), ("openai", "gpt-5.6-sol"), ("google", "gemini-2.5-pro")],
)
def test_tariffs_are_the_price_list_to_the_last_digit(provider: str, model: str) -> None:
    """Lists with steps by the length of the prompt included; the list itself is the oracle."""
    from genai_prices import Usage, calc_price

    draw = random.Random(5)
    for _ in range(60):
        n = int(10 ** draw.uniform(0, 6))
        read = draw.randint(0, n)
        write = draw.randint(0, n - read)
        output = draw.randint(0, 60_000)
        usage = Usage(input_tokens=n, output_tokens=output, cache_read_tokens=read, cache_write_tokens=write)
        listed = float(calc_price(usage, model, provider_id=provider).total_price)
        assert cost_usd(Tokens(n, output, read, write), model, provider=provider) == listed


def test_plans_cost_the_same_at_every_hour_and_calls_what_they_cost_then(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, spec, plans, calls = (
        Tokens(100_000, 1_000),
        "openai-compatible:deepseek-chat@https://api.deepseek.com",
        [],
        [],
    )
    for hour in (12, 20):  # this provider has a rate for quiet hours
        now = datetime(2026, 11, 20, hour, tzinfo=UTC)
        monkeypatch.setattr(pricing, "datetime", type("At", (datetime,), {"now": lambda _, now=now: now}))
        plans.append(judge_prices([spec], tokens)[0].usd_per_call)
        calls.append(cost_usd(tokens, "deepseek-chat", url="https://api.deepseek.com"))
    assert plans[0] == plans[1] == calls[0]
    assert calls[1] < calls[0]
