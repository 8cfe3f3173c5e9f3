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
from axisjudge.spec.own_models import own_model
from axisjudge.spec.provider import ABOVE_ZERO, TRANSPORT, Provider, kind_in_words, option_value
from axisjudge.spec.registry import find_provider

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
        name, _, rest = head.partition(":")
        provider = find_provider(name)
        model, url = _model_and_url(rest, provider)
        options = _options(text, name, provider, pairs)
        _check_model(text, name, provider, model, url)
        stated = own_model(name, model)
        stated_family = options.pop("family", None) or (stated and stated.family)
        family = stated_family or provider.family_of(model) or family_of(model)
        if family is None:
            cure = "add ,family=NAME, or say it once: axisjudge models add NAME --family FAMILY"
            raise InputError(f"judge {text}", "its family cannot be told from the model's name", model, cure)
        return cls(provider=name, model=model or None, base_url=url or None, family=family, options=options)

    @property
    def rater(self) -> str:
        """The judge's name in ratings: provider, model, place and every parameter that changes its answers.

        A file goes by its name alone: its folder is this machine's business.
        """
        place = f"@{self.base_url}" if self.base_url else ""
        model = PurePath(self.model).name if self.provider == "local" and self.model else self.model
        name = self.provider if model is None else f"{self.provider}:{model}{place}"
        chosen = {key: self.options[key] for key in sorted(self.options) if key not in TRANSPORT}
        shown = {key: value.name if isinstance(value, PurePath) else value for key, value in chosen.items()}
        return ",".join([name, *(f"{key}={value}" for key, value in shown.items())])


def panel(name: str) -> list[JudgeSpec]:
    """The judges of a named panel (``published``: the design text's pair; ``current``)."""
    return [JudgeSpec.parse(text) for text in PANELS[one_of("--panel", name, PANELS)]]


def parse_specs(judges: Sequence[str | JudgeSpec]) -> list[JudgeSpec]:
    """Read several specs; two that give the same rater name are refused (use repeats instead).

    Raises
    ------
    InputError
        One cannot be read or is named twice; a judge is given as itself where it must be made again later.
    """
    for judge in judges:
        if not isinstance(judge, str | JudgeSpec):
            rule = "must be specs here, by which judges can be made again; this one is given as itself"
            raise InputError("judges", rule, judge, "make it a plug-in: an entry point of the group axisjudge.judges")
    specs = [JudgeSpec.parse(judge) if isinstance(judge, str) else judge for judge in judges]
    names = [spec.rater for spec in specs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("--judge", "a judge may be named once", twice[0], "ask for --repeats to judge again")
    return specs


def _options(text: str, name: str, provider: Provider, pairs: Sequence[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for pair in pairs:
        key, value = _option(text, name, provider, pair)
        if key in options:
            raise InputError(f"judge {text}", f"{key} may be given once", pair)
        options[key] = value
    return options


def _option(text: str, name: str, provider: Provider, pair: str) -> tuple[str, Any]:
    key, given, value = pair.partition("=")
    if not given or not value:
        raise InputError(f"judge {text}", "options are written key=value", pair)
    one_of(f"option of {name}", key, list(provider.options) or ("(none)",))
    kind = provider.options[key]
    try:
        option = option_value(kind, value)
    except ValueError:
        raise InputError(f"judge {text}", f"{key} must be {kind_in_words(kind)}", value) from None
    if kind is float and not isfinite(option):
        raise InputError(f"judge {text}", f"{key} must be a finite number", value)
    if key in ABOVE_ZERO and not option > 0:
        raise InputError(f"judge {text}", f"{key} must be greater than 0", value)
    return key, option


def _check_model(text: str, name: str, provider: Provider, model: str, url: str) -> None:
    if not provider.model:
        if model:
            raise InputError(f"judge {text}", f"{name} takes no model", model)
        return
    if not model and provider.model_required:
        raise InputError(f"judge {text}", f"needs {provider.model}", cure=f"write {name}:NAME")
    if (provider.at_url or url) and not _URL.match(url):
        cure = f"write {name}:{model}@http://HOST:PORT/v1 (a key belongs in the environment: key_env=NAME)"
        rule = "needs a base URL without user, password or query (but for api-version)"
        raise InputError(f"judge {text.split('@')[0]}", rule, cure=cure)
    if provider.at_url is not True and re.search(r"@.*(:\d|/|\.\w)", model):  # a version, as in m@20250514, is a name
        cure = "write @http://HOST or @https://HOST behind the model; nothing else is asked"
        cure = cure if provider.at_url is None else f"take openai-compatible:MODEL@URL; {name} has one address"
        raise InputError(f"judge {text.split('@')[0]}", "names an address that would not be asked", cure=cure)


#: An address; of queries only the version of an interface, since a key may stand in any other.
_URL = re.compile(r"https?://[^@?#\s/]+(/[^@?#\s]*)?(\?api-version=[\w.-]+)?$")


def _model_and_url(rest: str, provider: Provider) -> tuple[str, str]:
    """The model, and the address behind the ``@`` where one stands there; a name may hold an ``@`` too."""
    if provider.at_url:
        model, _, url = rest.partition("@")
        return model, url
    if provider.at_url is None and (found := re.search("@(?=https?://)", rest)):
        return rest[: found.start()], rest[found.end() :]
    return rest, ""
