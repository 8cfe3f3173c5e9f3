"""Judge specs: which judge, of which family, with which parameters; who provides it; and the named panels."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from math import isfinite
from pathlib import Path, PurePath
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of

# What a provider declares: how its judges are made, which options they take, whose family they are.

#: Options that only change how a judge is reached. All others change what it says: they are part of its name.
TRANSPORT: Mapping[str, type] = {
    "family": str,
    "timeout": float,
    "price": str,
    "rpm": float,
    "tpm": float,
    "concurrency": int,
    "key_env": str,
    "threads": int,
}

#: What judges behind an API take.
REMOTE: Mapping[str, type] = {
    "effort": str,
    "max_tokens": int,
    "temperature": float,
    "mechanism": str,
    "one_call": bool,
    "strict": bool,
    **TRANSPORT,
}

#: What every plugged judge takes, because the run carries it out.
CARRIED_OUT: Mapping[str, type] = {"family": str, "rpm": float, "tpm": float, "concurrency": int}

#: Numbers that must be greater than 0.
ABOVE_ZERO = ("context", "max_tokens", "timeout", "rpm", "tpm", "concurrency")


@dataclass(frozen=True)
class Provider:
    """Judges that a spec ``provider:model,option=value`` names.

    A built-in provider is declared in its file in axisjudge/judges/ and listed in `axisjudge.spec.judge_spec`; one of
    another package is declared there and named by an entry point of the group ``axisjudge.judges``.

    Parameters
    ----------
    make : callable
        Makes the judge, or several of them, of a `JudgeSpec`: a class derived from `axisjudge.Judge`, or a function.
    options : mapping of name to type
        The options it takes: str, int, float, bool or Path. They are part of the judge's name and so of a rating's
        identity, but for those in `TRANSPORT`; of a path the name shows the last part. Plugged judges take ``family``,
        ``rpm``, ``tpm`` and ``concurrency`` besides.
    family : str or callable, optional
        The family of its judges, or what makes it of the model's name. Without it the family is read from the model's
        name, and must be given as an option where that does not tell.
    model : str
        What the part after the colon is, in words for messages; empty where nothing may stand there.
    model_required : bool
        Whether it must stand there.
    at_url : bool or None
        Whether a model is followed by ``@`` and the URL of a server: it must be, it must not be, or (None) it may be.
    price_list : str, optional
        Whose list prices, shutdown dates and aliases hold; None where there are none.
    free : bool
        Judges that cost nothing.
    """

    make: Callable[[Any], Any]
    options: Mapping[str, type] = field(default_factory=dict)
    family: str | Callable[[str], str | None] | None = None
    model: str = "a model"
    model_required: bool = True
    at_url: bool | None = False
    price_list: str | None = None
    free: bool = False

    def family_of(self, model: str) -> str | None:
        """The declared family of a model; None where none is declared."""
        return self.family(model) if callable(self.family) else self.family


def option_value(kind: type, text: str) -> Any:
    """The value of an option as it is written in a spec.

    Raises
    ------
    ValueError
        It is not of this kind.
    """
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]
    return kind(text)


def kind_in_words(kind: type) -> str:
    """How a message names the kind."""
    words: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return words.get(kind, f"a {kind.__name__}")


# Which providers there are: the built-in ones, one line each, and those of other packages by their entry points.
# A provider is loaded when a spec names it, and no other one with it; so a plug-in that cannot be loaded harms nobody
# who does not ask for it.

#: Where each built-in provider is declared. A new one is a file there, and its line here.
BUILT_IN: Mapping[str, str] = {
    "anthropic": "axisjudge.judges.anthropic_judge:PROVIDER",
    "anthropic-bedrock": "axisjudge.judges.anthropic_judge:BEDROCK",
    "anthropic-vertex": "axisjudge.judges.anthropic_judge:VERTEX",
    "openai": "axisjudge.judges.openai_judge:PROVIDER",
    "openai-decisions": "axisjudge.judges.openai_judge:DECISIONS",
    "openai-compatible": "axisjudge.judges.compatible_judge:PROVIDER",
    "local": "axisjudge.judges.local_judge:PROVIDER",
    "rules": "axisjudge.judges.rules.judge:PROVIDER",
    "simulated": "axisjudge.judges.simulated:PROVIDER",
    "replay": "axisjudge.judges.replay:PROVIDER",
}

#: The entry point group by which other packages bring judges along.
GROUP = "axisjudge.judges"


def provider_names() -> list[str]:
    """The providers that a spec may name: the built-in ones, then those of installed plug-ins."""
    return list(dict.fromkeys([*BUILT_IN, *sorted(entry.name for entry in _plug_ins())]))


def find_provider(name: str) -> Provider:
    """The provider that specs call `name`.

    Raises
    ------
    InputError
        There is none; two packages claim the name; or its plug-in cannot be loaded or is not one. The message names
        the package and its error.
    """
    plugged = [entry for entry in _plug_ins() if entry.name == name]
    if not plugged and name not in BUILT_IN:
        raise _unknown(name)
    claimed_by = [*(["axisjudge"] if name in BUILT_IN else []), *map(_package, plugged)]
    if len(claimed_by) > 1:
        cure = "uninstall one, or rename its entry point"
        raise InputError(f"judge {name}", "one package may bring a name", ", ".join(claimed_by), cure)
    return _plugged(plugged[0]) if plugged else _built_in(name)


def price_list_of(name: str) -> str | None:
    """Whose prices, shutdown dates and aliases hold for a provider; a provider that is not built in goes by its name.

    It loads no plug-in: ratings on file name providers that need not be there.
    """
    return _built_in(name).price_list if name in BUILT_IN else name


def _plug_ins() -> tuple[EntryPoint, ...]:
    """The entry points of installed packages, read again only when a folder that packages stand in has changed."""
    folders = (Path(folder or ".") for folder in sys.path)
    return _plug_ins_in(tuple((str(folder), folder.stat().st_mtime_ns) for folder in folders if folder.exists()))


@lru_cache(maxsize=1)
def _plug_ins_in(folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _unknown(name: str) -> InputError:
    """The refusal of a name that nobody bears, with the nearest one that somebody does."""
    known = provider_names()
    near = get_close_matches(name, known, n=1)
    cure = (
        f"did you mean {near[0]!r}?"
        if near
        else f"write PROVIDER:MODEL, such as openai:{name}; your own function is a judge in Python: judges=[my_judge]"
    )
    return InputError("judge", f"must begin with one of {', '.join(known)}", name, cure)


def _built_in(name: str) -> Provider:
    module, _, attribute = BUILT_IN[name].partition(":")
    provider: Provider = getattr(import_module(module), attribute)
    return provider


def _plugged(entry: EntryPoint) -> Provider:
    where = f"judge {entry.name}"
    try:
        loaded = entry.load()
    except (Exception, SystemExit) as error:  # whatever another package's import may do
        rule = f"its plug-in {_package(entry)} cannot be loaded ({type(error).__name__}: {error})"
        raise InputError(where, rule, entry.value, "mend or uninstall it; other judges are not affected") from error
    provider = _provider_of(loaded)
    if provider is None:
        rule = f"the entry point of {_package(entry)} must name an axisjudge.Provider, a class derived from Judge, "
        rule += "a function that makes a judge of a spec, or one wrapped by axisjudge.judge_function"
        raise InputError(where, rule, entry.value)
    return replace(provider, options={**provider.options, **CARRIED_OUT})


def _provider_of(loaded: Any) -> Provider | None:
    if isinstance(loaded, Provider):
        return loaded
    if isinstance(own := getattr(loaded, "provider", None), Provider):  # a wrapped function declares itself
        return own
    if not callable(loaded):
        return None
    family = getattr(loaded, "family", None)
    return Provider(loaded, family=family if isinstance(family, str) else None, model_required=False)


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


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
        url = _in_one_way(url)
        from axisjudge.spec.own_models import own_model

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
        address = f"@{self.base_url}" if self.base_url else ""
        model = PurePath(self.model).name if self.provider == "local" and self.model else self.model
        name = self.provider if model is None else f"{self.provider}:{model}{address}"
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
    if (provider.at_url or url) and not _is_address(url):
        cure = f"write {name}:{model}@http://HOST:PORT/v1 (a key belongs in the environment: key_env=NAME)"
        rule = "needs a base URL without user, password or query (but for api-version), of a host and a port"
        raise InputError(f"judge {text.split('@')[0]}", rule, cure=cure)
    named = unicodedata.normalize("NFKC", model)
    # where an address may follow, any other @ begins a version, as in m@20250514; plug-ins name models as they like
    outside = r"://|@(?!(\d+|latest|default)$)" if provider.at_url is None else r"@.*(:\d|/|\.\w)"
    if provider.at_url is not True and re.search(outside, named):
        cure = "write @http://HOST or @https://HOST behind the model; nothing else is asked"
        cure = cure if provider.at_url is None else f"take openai-compatible:MODEL@URL; {name} has one address"
        raise InputError(f"judge {text.split('@')[0]}", "names an address that would not be asked", cure=cure)


#: An address; of queries only the version of an interface, since a key may stand in any other.
_URL = re.compile(r"https?://[^@?#\s/]+(/[^@?#\s]*)?(\?api-version=[\w.-]+)?$")


def _is_address(url: str) -> bool:
    with suppress(ValueError):  # a port that is no number or too large, a bracket without its other one
        return bool(_URL.match(url) and urlsplit(url).hostname) and urlsplit(url).port != 0
    return False


def _in_one_way(url: str) -> str:
    """An address without what names no other one: capitals of a host, a scheme's own port, a slash at the end."""
    if not url:
        return url
    parts = urlsplit(url)
    host = parts.netloc.lower().removesuffix({"http": ":80", "https": ":443"}[parts.scheme])
    return urlunsplit(parts._replace(netloc=host, path=parts.path.rstrip("/")))


def _model_and_url(rest: str, provider: Provider) -> tuple[str, str]:
    """The model, and the address behind the ``@`` where one stands there; a name may hold an ``@`` too."""
    if provider.at_url:
        model, _, url = rest.partition("@")
        return model.strip(), url
    if provider.at_url is None and (match := re.search("@(?=https?://)", rest)):
        return rest[: match.start()].strip(), rest[match.end() :]
    return rest, ""
