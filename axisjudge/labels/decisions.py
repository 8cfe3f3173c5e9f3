"""People's labels as ratings, and decisions: who is right where a verdict flipped or judges are split.

A decision is a label by somebody who saw what the judges said, and no rate follows from it. It therefore has a rater
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

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.labels.sampling import LOOKED_AT, Method, drawn_flags
from axisjudge.ratings import read_ratings
from axisjudge.results import Result
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import OPEN, SCHEMA_VERSION, VERDICTS, Rating

# A person's label as a rating: who labelled what by which instructions, and what an unfinished label looks like.
#
# A label is a `Rating` of a whole trajectory on one axis with rater_kind and family ``human``; how its item was drawn
# stands in its flags (`axisjudge.labels.sampling`):
#
# - `rater` is the person's name; `rater_version` is `LABELLING`, the version of the labelling instructions as a whole;
# - `rubric_version` and `rubric_sha256` name the axis's rubric; `prompt_sha256` is a hash of all that the person was
#   shown for this label: the sections of the rubric in `SHOWN_SECTIONS` and the trajectory's content. A changed rubric
#   or trajectory therefore makes another label, as with judges;
# - `confidence` is null unless the person gave one; its source is ``human``. `rationale` is the note. `latency_s` is
#   the time spent on the trajectory up to this label, pauses left out;
# - an item with a note, a confidence or cited steps but no verdict yet, or whose verdict was taken back, is a line of
#   status ``refused`` with the flag `OPEN`. It keeps what was written and counts as no label (see `read_labels`).

#: Version of how people are asked to label; raised when the labeller's instructions change in meaning.
LABELLING = "1"
#: What a person is shown of a rubric, in this order; a rubric without such sections is shown whole.
SHOWN_SECTIONS = ("Question", "In scope", "Not in scope", "Verdicts")


def shown_sections(rubric: Rubric) -> dict[str, str]:
    """What a person is shown of a rubric: heading -> text."""
    sections = {head: rubric.sections[head] for head in SHOWN_SECTIONS if head in rubric.sections}
    return sections or {"Rubric": rubric.text.strip()}


def of_run(run: Trajectory) -> dict[str, Any]:
    """The columns of a whole trajectory that say what is rated."""
    known = {name: getattr(run, name) for name in ("task_id", "cluster_id", "agent", "domain")}
    return {"trajectory_id": run.id, "item_id": run.id, **known}


def label_base(trajectory: Trajectory, rubric: Rubric, rater: str) -> dict[str, Any]:
    """The fields of a label that are known before the person says anything: what is rated, by whom, by which rubric.

    Together with status, verdict, confidence, cited steps, note and the flags of the draw they make a `Rating`.
    """
    if not rater.strip():
        raise InputError("rater", "a label needs the name of the person who gives it")
    asked = "\n".join(part for section in shown_sections(rubric).items() for part in section)
    return {
        "schema_version": SCHEMA_VERSION,
        **of_run(trajectory),
        "question": rubric.axis,
        "scale": "verdict",
        "rater": rater,
        "rater_kind": "human",
        "family": "human",
        "rater_version": LABELLING,
        "rubric_version": rubric.version,
        "rubric_sha256": rubric.sha256,
        "repeat": 0,
        "prompt_sha256": sha256(f"{LABELLING}\n{asked}\n{trajectory.content_sha256}".encode()).hexdigest(),
    }


def label_word(
    verdict: str | None, confidence: float | None, cited: list[int], note: str, seconds: float | None
) -> dict[str, Any]:
    """The fields that the person's word decides, the flag `OPEN` included where there is no verdict."""
    return {
        "status": "refused" if verdict is None else "ok",
        "verdict": verdict,
        "confidence": confidence,
        "confidence_source": None if confidence is None else "human",
        "cited_step_indices": sorted(set(cited)),
        "rationale": note or None,
        "flags": [OPEN] if verdict is None else [],
        "latency_s": seconds,
    }


def read_labels(*paths: str | Path) -> pl.DataFrame:
    """People's labels as a ratings table; labels without a verdict are left out with a warning that counts them."""
    labels = read_ratings(*paths)
    unfinished = labels["flags"].list.contains(OPEN).fill_null(False)
    if n := int(unfinished.sum()):
        where = ", ".join(map(str, paths))
        warnings.warn(f"{where}: {n} labels have no verdict yet and are left out", stacklevel=2)
    return labels.filter(~unfinished)


# Decisions, as the head of this file has them.

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
    flag = TAKEN_BACK if answer is None else f"{FLAG}{answer}"
    flags = [*drawn_flags(way, key=word["of"], stratum=word["stratum"]), flag]
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
