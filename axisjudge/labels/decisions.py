"""Decisions: who is right where a verdict flipped or judges are split, kept as labels from which no rate follows.

A decision is a label (see `axisjudge.labels.record`) by somebody who saw what the judges said. It therefore has a rater
name and a rater version of its own, so that it never takes the place of the same person's blind label, and its flags
say ``drawn:by_flip`` or ``drawn:by_disagreement`` (`axisjudge.labels.sampling.LOOKED_AT`) and ``decided:ANSWER``:

=================  ====================================================================================================
``new_right``      the later rubric version's verdict; of a split, the ``second`` side is ``second_right``
``old_right``      the earlier version's; of a split, ``first_right``
``both_wrong``     neither; the label has a verdict where the person named the right one, else status ``refused``
``cannot_tell``    status ``refused`` with the flag ``open``: no label, but the item counts as looked at
=================  ====================================================================================================

A decision that was taken back is a further line with the flags ``open`` and `TAKEN_BACK` and without an answer: the
last line of an item counts, and the lines before it are its trail. A comment stands in `rationale`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.labels.record import OPEN, label_base
from axisjudge.labels.sampling import LOOKED_AT, Method, drawn_flags
from axisjudge.results import Result
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import VERDICTS, Rating

#: Version of how people are asked to decide, the judges' words before them.
DECIDING = "deciding-1"
#: What is put behind a person's name, so that decisions are a rater apart from their blind labels.
SUFFIX = " (deciding)"
FLAG = "decided:"
TAKEN_BACK = "taken_back"
ANSWERS: Mapping[Method, tuple[str, ...]] = {
    "by_flip": ("new_right", "old_right", "both_wrong", "cannot_tell"),
    "by_disagreement": ("first_right", "second_right", "both_wrong", "cannot_tell"),
}


@dataclass(frozen=True)
class Decisions(Result):
    """How decisions of one way of looking came out; counts of items, no rates."""

    way: str
    decided: int
    answers: dict[str, int]

    @property
    def sentence(self) -> str:
        """The counts in words."""
        counts = ", ".join(f"{n} {answer.replace('_', ' ')}" for answer, n in self.answers.items() if n)
        if self.way == "by_flip":
            flips = "flip" if self.decided == 1 else "flips"
            better, worse = self.answers["new_right"], self.answers["old_right"]
            how = f"{better} improved the verdict and {worse} worsened it"
            return f"Of {self.decided} {flips} looked at, {how} ({counts})."
        items = "disagreement" if self.decided == 1 else "disagreements"
        return f"{self.decided} {items} looked at: {counts}."


def decision_base(trajectory: Trajectory, rubric: Rubric, seen: Sequence[object]) -> dict[str, Any]:
    """The fields of a decision known before it is made; `seen` is what the judges said of the item, as it was shown."""
    base = label_base(trajectory, rubric, "unnamed")
    shown_sha256 = sha256(f"{DECIDING}\n{base['prompt_sha256']}\n{list(seen)!r}".encode()).hexdigest()
    return {**base, "rater_version": DECIDING, "prompt_sha256": shown_sha256}


def decision(base: Mapping[str, Any], word: Mapping[str, Any], rater: str, created_at: str) -> Rating:
    """A decision as a label.

    Parameters
    ----------
    base : mapping
        From `decision_base`.
    word : mapping
        answer (one of `ANSWERS`; None takes back), way (``by_flip``, ``by_disagreement``), of (whose verdicts:
        ``heron v3 to v4``), stratum (the verdicts: ``incorrect to correct``), verdict (None where none follows), note.
    rater : str
        The person's name.

    Raises
    ------
    InputError
        No name; an answer, a way or a verdict that does not exist, or an answer without its verdict.
    """
    if not rater.strip():
        raise InputError("rater", "a decision needs the name of the person who makes it")
    way = LOOKED_AT[LOOKED_AT.index(one_of("way", word["way"], LOOKED_AT))]
    answer, verdict = word["answer"], word["verdict"]
    if answer is not None:
        one_of("answer", answer, ANSWERS[way])
    if verdict is not None:
        one_of("verdict", verdict, VERDICTS)
    if (answer or "").endswith("_right") != (verdict is not None) and answer != "both_wrong":
        raise InputError(f"decision {answer}", "has the verdict of the side that is right, or none", verdict)
    said = TAKEN_BACK if answer is None else f"{FLAG}{answer}"
    flags = [*drawn_flags(way, key=word["of"], stratum=word["stratum"]), said]
    return Rating(
        **{**base, "rater": f"{rater.strip()}{SUFFIX}"},
        status="ok" if verdict else "refused",
        verdict=verdict,
        rationale=word.get("note") or None,
        flags=flags if verdict else [OPEN, *flags],
        created_at=created_at,
    )


def decisions_of(ratings: pl.DataFrame) -> list[Decisions]:
    """Count decisions among ratings, by way of looking; ways without any are left out."""
    counts: dict[Method, dict[str, int]] = {way: dict.fromkeys(ANSWERS[way], 0) for way in LOOKED_AT}
    for flags in ratings.filter(rater_kind="human")["flags"].to_list():
        if (answer := decided(flags)) is None:
            continue
        for way in LOOKED_AT:
            if f"drawn:{way}" in flags and answer in counts[way]:
                counts[way][answer] += 1
    return [Decisions(way, sum(answers.values()), answers) for way, answers in counts.items() if any(answers.values())]


def decided(flags: Sequence[str] | None) -> str | None:
    """The answer that a label's flags say was given, or None where it is no decision or has no flags."""
    return next((flag.removeprefix(FLAG) for flag in flags or () if flag.startswith(FLAG)), None)
