"""What the person who imports tells of the files, where they do not say it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from axisjudge.checks import InputError, one_of
from axisjudge.labels.formats.terms import Naming
from axisjudge.ratings.scales import checked_scale

#: Kinds of raters that may be told; simulated and planted ratings come from here alone.
KINDS = ("llm", "decision_model", "rules", "human")


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Naming):
    """What is told from outside, beside what names stand for (`Naming`).

    Parameters
    ----------
    kind : str, optional
        What the raters are (`KINDS`) of whom neither `kinds` nor the file says it.
    kinds, families : mapping
        The same by rater, and the family of a rater; they win over what a file says.
    rater_column : str, optional
        The column that names the rater.
    columns : mapping
        The file's name of a column -> our field, or ``ignore``.
    question : tuple of str
        What was asked, where the file does not say; where it does, the questions to take.
    missing : tuple of str
        Words that mean that no rating came.
    item : tuple of str
        The columns that together name what was rated.
    repeats : bool
        Whether several rows of one item and rater are repeats of one rating.
    sampling, sampling_key : str, optional
        How the items that people labelled were drawn, and by what (`axisjudge.labels.sampling`).
    """

    kind: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    rater_column: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    question: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    repeats: bool = False
    sampling: str | None = None
    sampling_key: str | None = None

    def __post_init__(self) -> None:
        for kind in (*([self.kind] if self.kind else []), *self.kinds.values()):
            one_of("--kind", kind, KINDS)
        for question, scale in self.scales.items():
            checked_scale(f"--scale {question}", scale)
        if self.rater and self.rater_column:
            raise InputError("--rater", "stands for a column that is not there", self.rater, "leave out one of the two")
