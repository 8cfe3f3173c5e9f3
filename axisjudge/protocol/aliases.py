"""Model names that a provider moves from one model to another, as facts.

A dated id is one model for good. So is a Claude id of generation 4.6 or later, although it bears no date. A name that
is not known here is no known alias: it is recorded with the model that its replies name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from axisjudge.results import Result, columns
from axisjudge.spec import price_list_of

READ_ON = "2026-11-22"
ANTHROPIC = "https://platform.claude.com/docs/en/about-claude/models/model-ids-and-versions"
#: The package lists the dated ids beside the undated names; names that end in -latest say what they are.
OPENAI = "the openai package 3.x for Python, openai/types/shared/chat_model.py"

#: From this generation on a Claude id bears no date and is pinned all the same.
_FIRST_PINNED = (4, 6)

_DATED: dict[str, tuple[str, dict[str, str | None]]] = {
    "anthropic": (
        ANTHROPIC,
        {
            "claude-haiku-4-5": "claude-haiku-4-5-20251001",
            "claude-opus-4-5": "claude-opus-4-5-20251101",
            "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
        },
    ),
    "openai": (
        OPENAI,
        {
            "gpt-4.1": "gpt-4.1-2025-04-14",
            "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14",
            "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
            "gpt-4o": None,  # three dated ids; which of them it stands for is not said there
            "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
            "gpt-5": "gpt-5-2025-08-07",
            "gpt-5-mini": "gpt-5-mini-2025-08-07",
            "gpt-5-nano": "gpt-5-nano-2025-08-07",
            "gpt-5.1": "gpt-5.1-2025-11-13",
            "gpt-5.2": "gpt-5.2-2025-12-11",
            "gpt-5.2-pro": "gpt-5.2-pro-2025-12-11",
            "gpt-5.4": "gpt-5.4-2026-03-05",  # the dated id is listed by @ai-sdk/openai 3.0.83
            "gpt-5.4-mini": "gpt-5.4-mini-2026-03-17",
            "gpt-5.4-nano": "gpt-5.4-nano-2026-03-17",
            "gpt-5.5": "gpt-5.5-2026-04-23",
            "o1": "o1-2024-12-17",
            "o3": "o3-2025-04-16",
            "o3-mini": "o3-mini-2025-01-31",
            "o4-mini": "o4-mini-2025-04-16",
        },
    ),
}


@dataclass(frozen=True)
class Alias(Result):
    """A name that moves, the dated id it stood for when this was read (None where no page says), and who says so."""

    _keys = columns("alias=name stands_for source read_on")

    name: str
    stands_for: str | None
    source: str
    read_on: str = READ_ON


def alias_of(provider: str, model: str | None) -> Alias | None:
    """The known alias that `model` is with `provider`, or None.

    Examples
    --------
    >>> alias_of("openai", "gpt-5").stands_for
    'gpt-5-2025-08-07'
    >>> alias_of("anthropic", "claude-sonnet-4-6") is None  # dateless, and pinned by its provider
    True
    """
    source, dated = _DATED.get(price_list_of(provider) or "", ("", {}))
    if not model or not source:
        return None
    moves = model in dated or model.endswith("-latest") or (source == ANTHROPIC and _moved_claude(model))
    return Alias(model, dated.get(model), source) if moves else None


def _moved_claude(model: str) -> bool:
    """A Claude id of a generation before 4.6 without its date, which the provider calls an alias."""
    numbers = re.findall(r"\d+", model)
    version = tuple(int(number) for number in numbers if len(number) <= 2)
    return bool(version) and version < _FIRST_PINNED and not any(len(number) == 8 for number in numbers)
