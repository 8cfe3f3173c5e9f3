"""How a plan is carried out: what may be under way, waited for and spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from axisjudge.checks import positive

#: How long a provider may stay closed before its judges are given up.
PATIENCE_S = 3_600.0


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run that change no question; `axisjudge.judge` says what each of them means.

    `agreed`: it is a part of something whose cost was told, and agreed to, as a whole; nothing is said of it again.

    Raises
    ------
    InputError
        A number that must be positive is not.
    """

    concurrency: int = 16
    progress: bool | None = None
    patience_s: float = PATIENCE_S
    budget_usd: float | None = None
    allow_unpriced: bool = False
    confirm: bool = False
    agreed: bool = False
    batch: bool = False
    keep_prompts: str | Path | None = None

    def __post_init__(self) -> None:
        positive("concurrency", self.concurrency)
        positive("patience", self.patience_s)
        if self.budget_usd is not None:
            positive("budget", self.budget_usd)
