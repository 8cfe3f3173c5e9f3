"""Judges: everything that can be asked for a verdict, made from specs. An SDK is imported only when a spec names it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from axisjudge.judges.base import Answer, Judge, Reply, Rubrics
from axisjudge.spec import JudgeSpec

__all__ = ["Answer", "Judge", "Reply", "Rubrics", "make_judges"]

_HOME = {
    "anthropic": ("axisjudge.judges.anthropic_judge", "AnthropicJudge"),
    "openai": ("axisjudge.judges.openai_judge", "OpenAIJudge"),
    "openai-compatible": ("axisjudge.judges.compatible_judge", "CompatibleJudge"),
    "openai-decisions": ("axisjudge.judges.decisions_judge", "DecisionsJudge"),
    "rules": ("axisjudge.judges.rules", "RulesJudge"),
    "simulated": ("axisjudge.judges.attentive", "simulated_judge"),
}


def make_judges(specs: Sequence[JudgeSpec]) -> list[Judge]:
    """One judge for each spec, in order; a ``replay`` spec gives one judge for each rater recorded in its file.

    Raises
    ------
    InputError
        A profile, a mechanism or a file does not exist. Keys are looked for later, by `Judge.prepare`.
    """
    judges: list[Judge] = []
    for spec in specs:
        if spec.provider == "replay":
            from axisjudge.judges.replay import replayed_judges

            judges += replayed_judges(spec)
        else:
            module, name = _HOME[spec.provider]
            judges.append(getattr(import_module(module), name)(spec))
    return judges
