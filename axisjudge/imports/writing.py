"""Ratings for other tools: tables (Parquet, CSV, JSON Lines), Inspect's scores, and the formats of labelling tools."""

from __future__ import annotations

import io
import json
import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of
from axisjudge.imports.inspect_scores import score_metadata, score_value
from axisjudge.imports.judgement import KINDS
from axisjudge.labels.formats import FORMATS, Terms, export_labels
from axisjudge.labels.own import ratings_of, write_own_csv, write_own_jsonl
from axisjudge.sharing import shared_frame, shared_runs
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Rating

#: Formats that ratings can be written in. csv, jsonl and parquet hold every field.
EXPORTS = ("parquet", "csv", "jsonl", "inspect", *(name for name in FORMATS if name not in ("csv", "jsonl")))


@dataclass(frozen=True)
class Written:
    """The bytes of a file, how many ratings stand in it, and what must be said aloud of the others."""

    content: bytes
    n_ratings: int
    notes: tuple[str, ...] = ()
    not_held: Mapping[str, int] = field(default_factory=dict)


def export_ratings(
    ratings: pl.DataFrame,
    form: str,
    *,
    trajectories: Mapping[str, Trajectory] | None = None,
    secrets: Counter[str] | None = None,
    redact: bool = True,
) -> Written:
    """Write a ratings table in a format of another tool.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table.
    form : str
        One of `EXPORTS`. ``inspect`` is a scores file for Inspect's ``precomputed_scores``: one rater, a record a
        sample, the questions as a value of several parts (one question: the value itself).
    trajectories : mapping, optional
        Runs by id. ``inspect`` takes the number of an epoch from them; some formats show or need them.
    secrets : Counter, optional
        Counts the secrets that were taken out, by kind.
    redact : bool
        Take keys and tokens out of reasons and runs.

    Raises
    ------
    InputError
        There are no ratings, or the format cannot hold them.
    """
    one_of("--to", form, EXPORTS)
    if ratings.is_empty():
        raise InputError("ratings", "there are none to export")
    runs = dict(trajectories or {})
    if redact:
        ratings, runs = shared_frame(ratings, secrets), shared_runs(runs, secrets)
    if form == "parquet":
        out = io.BytesIO()
        ratings.write_parquet(out)
        return Written(out.getvalue(), ratings.height)
    records = ratings_of(ratings)
    if form == "csv":
        return Written(write_own_csv(records, Terms()).encode(), len(records))
    if form == "jsonl":
        return Written(write_own_jsonl(records, Terms()).encode(), len(records))
    if form == "inspect":
        return _inspect(records, runs)
    lost = [rating for rating in records if rating.status != "ok" and rating.rater_kind != "human"]
    kept = [rating for rating in records if rating.status == "ok" or rating.rater_kind == "human"]
    if not kept:
        raise InputError("ratings", "hold no verdict to export, all were lost", cure="csv, jsonl and parquet hold them")
    made = export_labels(kept, form, Terms(trajectories=runs))
    why = ", ".join(sorted({rating.status for rating in lost}))
    notes = [f"{len(lost)} ratings of judges without a verdict ({why}) are left out: {form} holds none"] if lost else []
    if options := [*made.import_terms.as_options, *_who_rated(kept)]:
        notes.append(f"to import it again: {' '.join(options)}")
    return Written(made.text.encode(), len(kept), tuple(notes), made.lost)


def _who_rated(ratings: Sequence[Rating]) -> list[str]:
    """What each rater is, as an import is told it, where not all are people: these formats are of people's labels."""
    raters = sorted({(rating.rater, rating.rater_kind, rating.family) for rating in ratings})
    if all(kind == "human" for _, kind, _ in raters):
        return []
    told = [("--kind", f"{name}={kind}") for name, kind, _ in raters if kind in KINDS]
    known = {"human", "rules"}
    told += [("--family", f"{name}={of}") for name, _, of in raters if of not in {*known, family_of(name) or name}]
    return [shlex.join(each) for each in told]


def _inspect(ratings: Sequence[Rating], runs: Mapping[str, Trajectory]) -> Written:
    raters = sorted({rating.rater for rating in ratings})
    if len(raters) > 1:
        rule = f"a scores file of Inspect holds one rater, and there are {len(raters)}"
        raise InputError("export to inspect", rule, ", ".join(raters), "choose one with --rater NAME, a file for each")
    if parts := [rating for rating in ratings if rating.item_id != rating.trajectory_id or rating.repeat]:
        rule = "Inspect scores whole samples once, and these are ratings of steps, parts or repeats"
        raise InputError("export to inspect", rule, parts[0].item_id, "leave them out")
    samples: defaultdict[str, list[Rating]] = defaultdict(list)
    for rating in ratings:
        samples[rating.trajectory_id].append(rating)
    records = [_record(run, of_run, runs.get(run)) for run, of_run in samples.items()]
    keys = [(record["id"], record.get("epoch")) for record in records]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        cure = "name the log with --trajectories, which says the epochs"
        raise InputError("export to inspect", "two runs are of one sample and epoch", twice, cure)
    questions = dict.fromkeys((rating.question for rating in ratings), math.nan)
    if len(questions) == 1:
        records = [{**record, "value": next(iter(record["value"].values()))} for record in records]
        records = [record for record in records if record["value"] == record["value"]]
    else:  # Inspect's metrics by key need every key in every sample, and leave NaN out
        records = [{**record, "value": {**questions, **record["value"]}} for record in records]
    unscored = [rating for rating in ratings if (value := score_value(rating)) != value]
    words = sorted({rating.verdict or rating.status for rating in unscored})
    notes = [f"{len(unscored)} ratings ({', '.join(words)}) stay unscored there"] if unscored else []
    text = json.dumps(records, ensure_ascii=False, indent=1) + "\n"
    notes.append(
        "Inspect reads it with precomputed_scores: inspect score LOG --scorer precomputed_scores -S scores=FILE"
    )
    return Written(text.encode(), len(ratings) - len(unscored), tuple(notes))


def _record(run_id: str, ratings: Iterable[Rating], run: Trajectory | None) -> dict[str, Any]:
    every = list(ratings)
    first = every[0]
    epoch = None if run is None else run.meta.get("epoch")
    reasons = {rating.question: rating.rationale for rating in every if rating.rationale}
    sample = (run.task_id if run is not None else first.task_id) or run_id
    return {
        "id": sample,
        **({"epoch": epoch} if isinstance(epoch, int) else {}),
        "value": {rating.question: score_value(rating) for rating in every},
        "explanation": "\n\n".join(f"{name}: {why}" for name, why in reasons.items()) or None,
        "metadata": score_metadata(run_id, every),
    }
