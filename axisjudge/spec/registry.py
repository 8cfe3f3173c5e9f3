"""Which providers there are: the built-in ones, one line each, and those of other packages by their entry points.

A provider is loaded when a spec names it, and no other one with it; so a plug-in that cannot be loaded harms nobody who
does not ask for it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.spec.provider import CARRIED_OUT, Provider

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
    "simulated": "axisjudge.judges.attentive:PROVIDER",
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
