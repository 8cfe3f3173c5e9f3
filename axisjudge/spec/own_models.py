"""Models that no list knows: name, family, price, context and end, as the user states them in models.toml.

The file stands in the workbench, beside its data; what it says of a model goes before any list.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axisjudge.checks import InputError
from axisjudge.workbench import home, own, write_whole

FILE = "models.toml"

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class OwnModel(BaseModel):
    """What the user says of a model; prices in US dollars for a million tokens.

    `provider` narrows it to specs of that provider; without it the name counts wherever it is asked. A model with an
    input price and without one for cached tokens pays the whole for them. `source` and `read_on` say
    whence it is known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1)]
    provider: str | None = None
    family: str | None = None
    input_usd: _Usd | None = None
    output_usd: _Usd | None = None
    cached_usd: _Usd | None = None
    context: Annotated[int, Field(gt=0)] | None = None
    retires_on: date | None = None
    successor: str | None = None
    source: str = "the user"
    read_on: date

    @property
    def price(self) -> OwnPrice | None:
        if self.input_usd is None or self.output_usd is None:
            return None
        return OwnPrice(self.input_usd, self.output_usd, self.cached_usd)

    def is_of(self, provider: str, model: str | None) -> bool:
        return self.name == model and self.provider in (None, provider)


@dataclass(frozen=True)
class OwnPrice:
    """US dollars for a million tokens, as a user states them; what is written to a cache costs what is read anew."""

    input: float
    output: float
    cached: float | None = None

    @classmethod
    def parse(cls, where: str, text: str) -> Self:
        """Read ``IN/OUT`` or ``IN/OUT/CACHED``.

        Raises
        ------
        InputError
            There are not two or three numbers of 0 or more.
        """
        try:
            prices = [float(part) for part in text.split("/")]
        except ValueError:
            prices = []
        if len(prices) not in (2, 3) or not all(0 <= price < float("inf") for price in prices):
            raise InputError(where, "is written IN/OUT or IN/OUT/CACHED, US dollars for a million tokens", text)
        return cls(*prices)

    def usd(self, tokens: Any) -> float:
        """What a call of so many tokens costs (`axisjudge.judges.pricing.Tokens`)."""
        cached = self.input if self.cached is None else self.cached
        fresh = tokens.input - tokens.cache_read
        return float(self.input * fresh + cached * tokens.cache_read + self.output * tokens.output) / 1e6


def own_models() -> tuple[OwnModel, ...]:
    """The models of the workbench's models.toml, in order.

    Raises
    ------
    InputError
        The file is not valid; a missing file holds none.
    """
    try:
        path = home() / FILE
        now = path.stat()
    except (InputError, OSError):
        return ()
    return _read(path, (now.st_ino, now.st_size, now.st_mtime_ns))


def own_model(provider: str, model: str | None) -> OwnModel | None:
    """What the user says of a model; of two entries the one that names the provider."""
    mine = [each for each in own_models() if each.is_of(provider, model)]
    return max(mine, key=lambda each: each.provider is not None, default=None)


def add_model(fields: dict[str, Any]) -> Path:
    """Write a model down, in the place of what the file said of it; the file's path.

    Comments stay, but for those in the entry whose place it takes, or where models stand in another form than
    ``[[model]]``.

    Raises
    ------
    InputError
        A field cannot be used, or there is no workbench to write into.
    """
    from filelock import FileLock

    given = {name: value for name, value in fields.items() if value is not None}
    try:
        new = OwnModel(**{"read_on": datetime.now(UTC).date(), **given})
    except ValidationError as error:
        fault = error.errors()[0]
        raise InputError(f"models, {'.'.join(map(str, fault['loc']))}", fault["msg"], fault.get("input")) from error
    if (new.input_usd is None) != (new.output_usd is None):
        raise InputError("models", "needs both prices, of input and output, or none", cure="give --input and --output")
    path = own() / FILE
    with FileLock(f"{path}.lock"):  # another process may be adding, too
        there = own_models()
        head, *entries = re.split(r"(?m)^(?=[ \t]*\[\[)", path.read_text(encoding="utf-8") if there else "")
        if len(entries) != len(there):
            head, entries = "", [_as_toml(each) for each in there]
        named = (new.name, new.provider)
        kept = [entry for entry, each in zip(entries, there, strict=True) if (each.name, each.provider) != named]
        write_whole(path, "\n\n".join(part.strip() for part in (head, *kept, _as_toml(new)) if part.strip()) + "\n")
    return path


def _as_toml(model: OwnModel) -> str:
    """An entry; a TOML text is written as JSON writes it, but for DEL and letters that are escaped in halves."""
    fields = model.model_dump(exclude_none=True).items()
    lines = (f"{name} = {value if isinstance(value, date) else _text(value)}" for name, value in fields)
    return "\n".join(["[[model]]", *lines])


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@lru_cache(maxsize=4)
def _read(path: Path, state: tuple[int, ...]) -> tuple[OwnModel, ...]:
    cure = "axisjudge models add NAME --help says what each may hold"
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("model", [])
        return tuple(OwnModel(**each) for each in listed)
    except ValidationError as error:
        fault = error.errors()[0]
        where = f"{FILE}, {'.'.join(map(str, fault['loc']))}"
        raise InputError(where, fault["msg"], fault.get("input"), cure) from error
    except (tomllib.TOMLDecodeError, TypeError, UnicodeDecodeError) as error:
        raise InputError(FILE, "must list models ([[model]])", " ".join(str(error).split()), cure) from error
