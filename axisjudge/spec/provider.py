"""What a provider declares: how its judges are made, which options they take, whose family they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

    A built-in provider is declared in its file in axisjudge/judges/ and listed in `axisjudge.spec.registry`; one of
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
