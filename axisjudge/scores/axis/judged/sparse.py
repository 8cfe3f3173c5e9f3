"""The sparse index: one line for each interaction, as judges are shown a transcript in brief."""

from __future__ import annotations

from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.scores.axis.transcript.javascript import collapse, cut

_TEXT_UNITS, _INPUT_UNITS, _OUTCOME_UNITS = 80, 60, 40
_SHORT = {"environment": "env"}


def sparse_line(interaction: Interaction) -> str:
    """Id, categories, type and detail of an interaction in fixed columns; two categories overrun theirs."""
    lone_error = interaction.type == "error"
    categories = "error" if lone_error else ",".join(_SHORT.get(each, each) for each in interaction.categories)
    head = f"#{interaction.id}".ljust(5) + categories.ljust(9) + interaction.type.ljust(12)
    return head + (_call(interaction) if interaction.is_call else _text(interaction))


def _text(interaction: Interaction) -> str:
    text = _cut(interaction.detail, _TEXT_UNITS)
    if interaction.type == "error":
        return f'"{text}"' if interaction.detail else '"(unknown error)"'
    return text or ("(thinking)" if interaction.type == "assistant" else "")


def _call(interaction: Interaction) -> str:
    given = f"({_cut(interaction.detail, _INPUT_UNITS)})" if interaction.detail else ""
    outcome = [_cut("error" if interaction.has_error else "ok", _OUTCOME_UNITS)]
    if interaction.context_bytes > 0:
        outcome.append(_size(interaction.context_bytes))
    if interaction.measured and interaction.duration_ms:
        outcome.append(_time(interaction.duration_ms))
    return f"{interaction.tool_name}{given} -> {', '.join(outcome)}"


def _cut(text: str, units: int) -> str:
    return cut(collapse(text), units, within=True)


def _size(size: int) -> str:
    return f"{size}B" if size < 1024 else f"{_one_decimal(size / 1024)}KB"


def _time(milliseconds: int) -> str:
    return f"{milliseconds}ms" if milliseconds < 1000 else f"{_one_decimal(milliseconds / 1000)}s"


def _one_decimal(value: float) -> str:
    """``toFixed(1)``: the decimal nearest to the double's exact value, the larger one of two."""
    from decimal import ROUND_HALF_UP, Decimal

    return str(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))
