"""Judge specs: which judge, of which family, with which parameters; and the named panels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import PurePath
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of

#: Options that change what a judge says; they are part of the rater's name and so of a rating's identity.
_PARAMETERS: dict[str, type] = {
    "effort": str,
    "max_tokens": int,
    "temperature": float,
    "seed": int,
    "mechanism": str,
    "truth": str,
}
#: Options that only change how it is reached.
_TRANSPORT: dict[str, type] = {"family": str, "timeout": float, "rpm": float, "key_env": str}

_ABOVE_ZERO = ("max_tokens", "timeout", "rpm")

_COMMON = ("family",)
_REMOTE = (*_COMMON, "effort", "max_tokens", "temperature", "mechanism", "timeout", "rpm", "key_env")

#: What each provider understands.
PROVIDERS: dict[str, tuple[str, ...]] = {
    "anthropic": _REMOTE,
    "openai": _REMOTE,
    "openai-decisions": (*_COMMON, "timeout", "rpm", "key_env"),
    "openai-compatible": (*_REMOTE, "seed"),
    "rules": (),
    "simulated": (*_COMMON, "seed", "truth"),
    "replay": (),
}

_DEFAULT_FAMILY = {"anthropic": "anthropic", "openai": "openai", "openai-decisions": "openai", "rules": "rules"}

PANELS: dict[str, tuple[str, ...]] = {
    "published": ("anthropic:claude-sonnet-4-6", "openai:gpt-5"),
    "current": ("anthropic:claude-sonnet-5-5", "openai:gpt-6.1-sol"),
}


class JudgeSpec(BaseModel):
    """A judge as a user names it: ``provider:model@url,option=value``.

    `family` decides what may be called cross-family: given as an option, else the provider's, else read from the
    model's name by exact token; a judge whose family cannot be told is refused until it is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    model: str | None = None
    base_url: str | None = None
    family: str
    options: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a spec.

        Examples
        --------
        >>> JudgeSpec.parse("anthropic:claude-sonnet-4-6,effort=low").rater
        'anthropic:claude-sonnet-4-6,effort=low'
        >>> JudgeSpec.parse("openai-compatible:qwen3-8b@http://localhost:8000/v1").family
        'qwen'
        """
        head, *pairs = text.split(",")
        provider, _, rest = head.partition(":")
        one_of("judge", provider, PROVIDERS)
        model, _, url = rest.partition("@") if provider == "openai-compatible" else (rest, "", "")
        options = _options(text, provider, pairs)
        _check_place(text, provider, model, url)
        family = options.pop("family", None) or _DEFAULT_FAMILY.get(provider) or _family(text, provider, model)
        return cls(provider=provider, model=model or None, base_url=url or None, family=family, options=options)

    @property
    def rater(self) -> str:
        """The judge's name in ratings: provider, model, place and every parameter that changes its answers.

        A file of planted truth goes by its name alone: its folder is this machine's business, and what it says is in
        the prompt hash.
        """
        place = f"@{self.base_url}" if self.base_url else ""
        name = self.provider if self.model is None else f"{self.provider}:{self.model}{place}"
        chosen = {key: self.options[key] for key in sorted(self.options) if key in _PARAMETERS}
        if "truth" in chosen:
            chosen["truth"] = PurePath(chosen["truth"]).name
        return ",".join([name, *(f"{key}={value}" for key, value in chosen.items())])


def panel(name: str) -> list[JudgeSpec]:
    """The judges of a named panel (``published``: the design text's pair; ``current``)."""
    return [JudgeSpec.parse(text) for text in PANELS[one_of("--panel", name, PANELS)]]


def parse_specs(judges: Sequence[str | JudgeSpec]) -> list[JudgeSpec]:
    """Read several specs; two that give the same rater name are refused (use repeats instead)."""
    specs = [JudgeSpec.parse(judge) if isinstance(judge, str) else judge for judge in judges]
    names = [spec.rater for spec in specs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("--judge", "a judge may be named once", twice[0], "ask for --repeats to judge again")
    return specs


def _options(text: str, provider: str, pairs: Sequence[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for pair in pairs:
        key, value = _option(text, provider, pair)
        if key in options:
            raise InputError(f"judge {text}", f"{key} may be given once", pair)
        options[key] = value
    return options


def _option(text: str, provider: str, pair: str) -> tuple[str, Any]:
    key, given, value = pair.partition("=")
    if not given or not value:
        raise InputError(f"judge {text}", "options are written key=value", pair)
    one_of(f"option of {provider}", key, PROVIDERS[provider] or ("(none)",))
    kind = {**_PARAMETERS, **_TRANSPORT}[key]
    try:
        option = kind(value)
    except ValueError:
        rule = f"{key} must be a {'whole number' if kind is int else 'number'}"
        raise InputError(f"judge {text}", rule, value) from None
    if kind is float and not isfinite(option):
        raise InputError(f"judge {text}", f"{key} must be a finite number", value)
    if key in _ABOVE_ZERO and not option > 0:
        raise InputError(f"judge {text}", f"{key} must be greater than 0", value)
    return key, option


def _check_place(text: str, provider: str, model: str, url: str) -> None:
    if provider == "rules":
        if model:
            raise InputError(f"judge {text}", "rules takes no model", model)
        return
    if not model:
        what = {"replay": "a ratings file", "simulated": "a profile name"}.get(provider, "a model")
        raise InputError(f"judge {text}", f"needs {what}", cure=f"write {provider}:NAME")
    if provider == "openai-compatible" and not re.match(r"https?://[^@?#\s]+$", url):
        cure = f"write openai-compatible:{model}@http://HOST:PORT/v1 (a key belongs in the environment: key_env=NAME)"
        raise InputError(f"judge {text.split('@')[0]}", "needs a base URL without user, password or query", cure=cure)


def _family(text: str, provider: str, model: str) -> str:
    if provider == "replay":
        return "recorded"  # each replayed rating keeps the family that it was recorded with
    if provider == "simulated":
        return f"simulated-{model}"
    if family := family_of(model):
        return family
    raise InputError(f"judge {text}", "its family cannot be told from the model's name", model, "add ,family=NAME")
