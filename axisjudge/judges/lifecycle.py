"""When a judge's model is shut down: asked of its provider where a key is there, else by the dates in data/."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.spec.judge_spec import price_list_of
from axisjudge.spec.own_models import own_model
from axisjudge.workbench import find

FILE = "data/lifecycle.toml"


class RetirementWarning(UserWarning):
    """A judge's model is to be shut down, or was."""


@dataclass(frozen=True)
class Retirement(Result):
    """A model that its provider shuts down, or has shut down, by a page or an endpoint read on a day.

    `retires_on` is None where the provider deprecates a model and names no day.
    """

    provider: str
    model: str
    retires_on: date | None
    successor: str | None
    source: str
    read_on: date

    @property
    def sentence(self) -> str:
        """The fact, with who says so; the same on every day it is read."""
        day = f"is shut down on {self.retires_on}" if self.retires_on else "is deprecated, no day named"
        after = f"; the provider's successor is {self.successor}" if self.successor else ""
        return f"{self.provider}:{self.model} {day}{after} ({self.source}, read {self.read_on})."

    def warning(self, today: date) -> str:
        """The fact as it concerns somebody who judges today."""
        if self.retires_on is None:
            return f"{self.sentence} Bridge it to another judge while it answers (notebook 10)."
        days = (self.retires_on - today).days
        if days <= 0:
            return f"{self.sentence} That day has passed; stored ratings can still be bridged (notebook 10)."
        return f"{self.sentence} That is in {days} days: bridge it to another judge before (notebook 10)."


class _Models(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    names: Annotated[list[str], Field(min_length=1)]
    retires_on: date
    successor: str | None = None


class _Page(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    source: str
    read_on: date
    models: list[_Models]


def known_retirement(provider: str, model: str | None) -> Retirement | None:
    """What the user says of a model (models.toml), else what data/lifecycle.toml says; or None.

    Raises
    ------
    InputError
        The file is not valid; a missing file knows nothing.
    """
    stated = own_model(provider, model)
    if stated is not None and stated.retires_on is not None:
        source = f"models.toml: {stated.source}"
        return Retirement(provider, stated.name, stated.retires_on, stated.successor, source, stated.read_on)
    return _known(find(FILE)).get((price_list_of(provider) or "", model or ""))


def known_retirements(raters: Sequence[str]) -> list[Retirement]:
    """Those of raters (``provider:model,option=value``, as ratings name them), each model once, in order."""
    known: dict[tuple[str, str], Retirement] = {}
    for rater in raters:
        provider, _, rest = rater.partition(":")
        if retirement := known_retirement(provider, rest.partition(",")[0]):
            known[retirement.provider, retirement.model] = retirement
    return list(known.values())


def warn_of(retirements: Iterable[Retirement | None]) -> None:
    """Warn of each model once."""
    models = {(retirement.provider, retirement.model): retirement for retirement in retirements if retirement}
    for retirement in models.values():
        warnings.warn(retirement.warning(datetime.now(UTC).date()), RetirementWarning, stacklevel=2)


@cache
def _known(path: Path) -> dict[tuple[str, str], Retirement]:
    if not path.exists():
        return {}
    try:
        pages = [_Page(**page) for page in tomllib.loads(path.read_text(encoding="utf-8")).get("page", [])]
    except (tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise InputError(FILE, "must list pages with their models", " ".join(str(error).split())) from error
    return {
        (page.provider, name): Retirement(
            page.provider, name, models.retires_on, models.successor, page.source, page.read_on
        )
        for page in pages
        for models in page.models
        for name in models.names
    }
