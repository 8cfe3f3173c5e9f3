"""A person's label as a rating: who labelled what by which instructions, and what an unfinished label looks like.

The contract, beside the one in `axisjudge.labels.sampling`
----------------------------------------------------------
A label is a `Rating` of a whole trajectory on one axis with rater_kind and family ``human``:

- `rater` is the person's name; `rater_version` is `LABELLING`, the version of the labelling instructions as a whole;
- `rubric_version` and `rubric_sha256` name the axis's rubric; `prompt_sha256` is a hash of all that the person was
  shown for this label: the sections of the rubric in `SHOWN_SECTIONS` and the trajectory's content. A changed rubric
  or trajectory therefore makes another label, as with judges;
- `confidence` is null unless the person gave one; its source is ``human``. `rationale` is the note. `latency_s` is the
  time spent on the trajectory up to this label, pauses left out;
- an item with a note, a confidence or cited steps but no verdict yet, or whose verdict was taken back, is a line of
  status ``refused`` with the flag `OPEN`. It keeps what was written and counts as no label (see `read_labels`).
"""

from __future__ import annotations

import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings import read_ratings
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import SCHEMA_VERSION

#: Version of how people are asked to label; raised when the labeller's instructions change in meaning.
LABELLING = "1"
#: Flag of a label without a verdict.
OPEN = "open"
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
