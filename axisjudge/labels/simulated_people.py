"""Simulated people: labels made from planted truth by a stated noise model, to try out what needs several people.

Nobody read anything. With z_i the difficulty of an item (trajectory and axis), common to all, and z_ij a person's own,
a person's error propensity is sqrt(s) z_i + sqrt(1 - s) z_ij. The planted word is given where it lies below the normal
quantile of the person's hit rate (HITS on planted failures, PASSES on the rest), ``uncertain`` up to UNCERTAIN above
that, else the opposite. A found failure is cited at its planted steps, each moved to a neighbour at rate STEP_OFF.

Every draw comes from sha256 of (seed, person, trajectory, axis), so that the same item gets the same label whichever
others are labelled. Ratings are of kind ``simulated`` and so bear the banner everywhere.
"""

from __future__ import annotations

from hashlib import sha256
from math import sqrt
from statistics import NormalDist

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings import SCHEMA
from axisjudge.ratings.edge import BY_LABELLER

SHARED_DIFFICULTY = 0.3
#: Hit rates of each person on planted failures and on everything else.
HITS, PASSES = (0.90, 0.85, 0.80), (0.98, 0.97, 0.98)
UNCERTAIN = 0.01
STEP_OFF = 0.15
FAMILY = "simulated people"  # what tells them from simulated judges
#: Ratings by people, simulated ones too; and by all whose word judges are compared with.
BY_PERSON = (pl.col("rater_kind") == "human") | (pl.col("family") == FAMILY)
BY_PEOPLE = BY_LABELLER | (pl.col("family") == FAMILY)
PEOPLE = ("person A", "person B", "person C")

_NORMAL = NormalDist()
_OPPOSITE = {"incorrect": "correct", "correct": "incorrect", "not_applicable": "correct"}


def simulated_people(planted: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Labels of three simulated people on every planted item.

    Parameters
    ----------
    planted : polars.DataFrame
        Planted truth as ratings (rater_kind ``planted``), which flags such as how items were drawn may stand in.
    seed : int

    Raises
    ------
    InputError
        The table holds other ratings than planted ones, or none.
    """
    if planted.is_empty() or set(planted["rater_kind"]) != {"planted"}:
        raise InputError("planted", "must be planted truth alone", sorted(set(planted["rater_kind"])))
    rows = [
        {
            **row,
            "rater": name,
            "rater_kind": "simulated",
            "family": FAMILY,
            "rater_version": "1",
            "rationale": "Simulated from planted truth; nobody read this run.",
            "flags": [flag for flag in row["flags"] or [] if flag.startswith("drawn")],
            **_simulated_word(row, person, seed),
        }
        for person, name in enumerate(PEOPLE)
        for row in planted.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _simulated_word(row: dict[str, object], person: int, seed: int) -> dict[str, object]:
    item = (row["trajectory_id"], row["question"])
    truth = str(row["verdict"])
    propensity = sqrt(SHARED_DIFFICULTY) * _normal(seed, "item", *item)
    propensity += sqrt(1 - SHARED_DIFFICULTY) * _normal(seed, PEOPLE[person], *item)
    hit = (HITS if truth == "incorrect" else PASSES)[person]
    at = _NORMAL.cdf(propensity)
    if at >= hit:
        return {"verdict": "uncertain" if at < hit + UNCERTAIN else _OPPOSITE[truth], "cited_step_indices": []}
    planted = row["cited_step_indices"]
    steps = planted if truth == "incorrect" and isinstance(planted, list) else []
    moved = {_moved(step, _uniform(seed, PEOPLE[person], *item, step)) for step in steps}
    return {"verdict": truth, "cited_step_indices": sorted(moved)}


def _moved(step: int, draw: float) -> int:
    """The step, or one of its neighbours at rate STEP_OFF."""
    if draw >= STEP_OFF:
        return step
    return step + 1 if draw < STEP_OFF / 2 else max(0, step - 1)


def _uniform(*key: object) -> float:
    digest = sha256("\x1f".join(map(str, key)).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


def _normal(*key: object) -> float:
    return _NORMAL.inv_cdf(_uniform(*key))
