"""Import and export: which format a file is, how its items were drawn, and what a format cannot hold.

Export reads back what it wrote. A label that does not come back (its item, question, rater, repeat or word) makes the
export refuse; a field that comes back different is counted. So a format loses nothing without a word, whatever it is.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from axisjudge.checks import InputError, one_of
from axisjudge.labels import agentprocessbench, alttest, own
from axisjudge.labels.alttest import JUDGES, PEOPLE, is_annotations
from axisjudge.labels.formats import argilla, crowd_kit, failure_sets, label_studio
from axisjudge.labels.own import Read, Terms
from axisjudge.labels.reading import columns_of, first_line_of, json_if_any, read_bytes
from axisjudge.labels.sampling import (
    METHODS,
    Method,
    Sampling,
    drawn_flags,
    drawn_of,
    read_sampling,
    sampling_path,
    set_drawn,
    with_plan,
)
from axisjudge.verdict import AXES, NO_AXIS, OPEN, Rating, identity

#: What labels forbid whose draw is unknown.
UNKNOWN = (
    "how the items were drawn is not stated, so `unknown` is recorded. Agreement and the alternative annotator test "
    "remain possible on these items; corrected failure rates will be refused. State it with --sampling or --plan"
)


@dataclass(frozen=True)
class Format:
    """A format: how a file of it is read and written, and whether a file looks like it."""

    read: Callable[[Path, Terms], Read]
    write: Callable[[Sequence[Rating], Terms], str]
    suffix: str


FORMATS: dict[str, Format] = {
    "jsonl": Format(own.read_own_jsonl, own.write_own_jsonl, ".jsonl"),
    "csv": Format(own.read_own_csv, own.write_own_csv, ".csv"),
    "label-studio": Format(label_studio.read_label_studio, label_studio.write_label_studio, ".json"),
    "argilla": Format(argilla.read_argilla, argilla.write_argilla, ".json"),
    "crowd-kit": Format(crowd_kit.read_crowd_kit, crowd_kit.write_crowd_kit, ".csv"),
    "agentrx": Format(failure_sets.read_agentrx_failures, failure_sets.write_agentrx_failures, ".json"),
    "agentprocessbench": Format(
        agentprocessbench.read_agentprocessbench_steps, agentprocessbench.write_agentprocessbench_steps, ".jsonl"
    ),
    "alttest": Format(alttest.read_alttest_json, alttest.write_alttest_json, ".json"),
}


@dataclass(frozen=True)
class ImportedLabels:
    """Ratings of a file, its format, and what must be said aloud."""

    ratings: tuple[Rating, ...]
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Exported:
    """The text of a file; what it does not hold, as field -> number of labels; and what an import must be told."""

    text: str
    lost: dict[str, int]
    import_terms: Terms


def recognised(path: Path) -> str:
    """The format of a file, from its content."""
    if not path.is_file():
        raise InputError(str(path), "no such label file")
    if path.suffix in (".csv", ".tsv"):
        return "crowd-kit" if crowd_kit.recognises(columns_of(path)) else "csv"
    line = json_if_any(first_line_of(path))
    if agentprocessbench.recognises(line):
        return "agentprocessbench"
    if isinstance(line, dict) and {"trajectory_id", "question", "rater"} <= line.keys():
        return "jsonl"
    content = json_if_any(read_bytes(path))
    whole = {
        "label-studio": label_studio.recognises,
        "argilla": argilla.recognises,
        "agentrx": failure_sets.is_agentrx,
        "alttest": is_annotations,
    }
    for name, recognises in whole.items():
        if recognises(content):
            return name
    raise InputError(str(path), "is in no format of labels known here", cure=f"say which: {', '.join(FORMATS)}")


def knows(path: str | Path) -> bool:
    """Whether a file is in one of `FORMATS`; other tables are read by `axisjudge.imports`."""
    source = Path(path)
    try:
        name = recognised(source)
    except InputError:
        return not source.is_file()
    if name == "alttest" and (source.name, source.with_name(JUDGES).is_file()) == (PEOPLE, True):
        return False  # one of a set's two files, which say together what was asked
    return name != "csv" or "trajectory_id" in columns_of(source)


def import_labels(
    path: str | Path,
    terms: Terms | None = None,
    *,
    form: str | None = None,
    sampling: str | None = None,
    key: str | None = None,
    plan: Sampling | None = None,
) -> ImportedLabels:
    """Read people's labels from a file of any known format.

    Parameters
    ----------
    path : path
    terms : Terms, optional
        What the file does not say.
    form : str, optional
        The format, one of `FORMATS`; recognised from content if not given.
    sampling, key : str, optional
        How the items were drawn (`METHODS`), and by what. Labels that say it themselves keep it.
    plan : Sampling, optional
        The plan of the draw, from a `.sampling.json`; without it the plan beside the file is taken, if one is there.

    Returns
    -------
    ImportedLabels
        Every label carries how its item was drawn; ``unknown`` where nobody said.

    Raises
    ------
    InputError
        The file breaks a rule, or labels name a plan that was not given.
    """
    source = Path(path)
    name = one_of("format", form, FORMATS) if form else recognised(source)
    try:
        ratings, notes = FORMATS[name].read(source, terms := terms or Terms())
    except (AttributeError, KeyError, TypeError, ValidationError) as error:
        why = " ".join(str(error).split())[:120]
        raise InputError(str(source), f"does not keep to the format {name} ({type(error).__name__}: {why})") from error
    ratings = [_on_its_axis(rating, terms, source.name) for rating in ratings]
    return with_draw(ImportedLabels(tuple(ratings), name, tuple(notes)), source, sampling=sampling, key=key, plan=plan)


def _on_its_axis(rating: Rating, terms: Terms, where: str) -> Rating:
    """A label whose question the importer called an axis, where the format has questions of its own."""
    axis = terms.axes.get(rating.question, NO_AXIS)
    if axis == NO_AXIS:
        return rating
    lost = {"scale": "verdict", "verdict": None, "value": None}
    fields = lost if rating.verdict is None else terms.word_fields(where, axis, rating.verdict)
    return rating.model_copy(update={"question": axis, **fields})


def with_draw(
    imported: ImportedLabels,
    source: Path,
    *,
    sampling: str | None = None,
    key: str | None = None,
    plan: Sampling | None = None,
) -> ImportedLabels:
    """The labels with how their items were drawn, as stated, planned, said by themselves or by a plan beside them."""
    notes = imported.notes
    if plan is None and sampling is None and (path := _plan_beside(source, imported.ratings)) is not None:
        plan, notes = read_sampling(path), (*notes, f"drawn as {path.name} says")
    drawn, more = _drawn(imported.ratings, sampling, key, plan, str(source))
    return ImportedLabels(tuple(drawn), imported.format, (*notes, *more))


def _plan_beside(source: Path, labels: Sequence[Rating]) -> Path | None:
    """The plan in the folder that has the file's name, that labels name by its hash, or that alone drew all."""
    if sampling_path(source).is_file():
        return sampling_path(source)
    hashes = {flag for label in labels for flag in label.flags if flag.startswith("drawn_plan:")}
    if not hashes and all(any(flag.startswith("drawn:") for flag in label.flags) for label in labels):
        return None
    runs = {label.trajectory_id for label in labels}
    plans = {path: read_sampling(path) for path in sorted(source.parent.glob("*.sampling.json"))}
    if hashes:
        fitting = [path for path, plan in plans.items() if plan.plan_flag in hashes]
    else:
        fitting = [path for path, plan in plans.items() if runs <= set(plan.trajectory_ids)]
    return fitting[0] if len(fitting) == 1 else None


def without_draw(labels: Iterable[Rating]) -> int:
    """How many labels do not know how their items were drawn."""
    return sum(drawn_of(label.flags)["drawn"] == "unknown" for label in labels)


def two_of_one_name(files: Iterable[Iterable[Rating]]) -> Counter[str]:
    """Of each rater of how many items a later file says otherwise: somebody who thought again, or two of one name."""
    before: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    unlike = set[tuple[Any, ...]]()
    for ratings in files:
        here = {identity(rating): (rating.rater, rating.verdict, rating.value) for rating in ratings}
        unlike |= {key for key in here.keys() & before if here[key] != before[key]}
        before |= here
    return Counter(before[key][0] for key in unlike)


def stated_draw(sampling: str | None, key: str | None) -> list[str]:
    """The flags of labels whose draw was stated in words, or of which nothing is known.

    Raises
    ------
    InputError
        The way is unknown, or needs a key or probabilities.
    """
    one_of("sampling", sampling or "unknown", METHODS)
    stated: Method = next((method for method in METHODS if method == sampling), "unknown")
    if stated.startswith("by_") and not key:
        raise InputError("sampling", f"{stated} needs the key that decided", cure="name it with --sampling-key")
    if key and not stated.startswith("by_"):
        raise InputError("sampling key", f"decided nothing in a draw that is {stated}", key, "say --sampling by_...")
    if stated == "by_key":
        raise InputError("sampling", "a draw by key needs each item's probability", cure="give the plan with --plan")
    return drawn_flags(stated, key=key)


def _drawn(
    ratings: Iterable[Rating], sampling: str | None, key: str | None, plan: Sampling | None, where: str
) -> tuple[list[Rating], list[str]]:
    """The labels with how they were drawn, and what to say of those whose draw is unknown."""
    stated = stated_draw(sampling, key)
    items = {} if plan is None else {(item.trajectory_id, item.question): item for item in plan.items}
    with_draws, unknown, kept = [], 0, 0
    for label in ratings if plan is None else with_plan(ratings, plan):
        if any(flag.startswith("drawn_plan:") for flag in label.flags):
            cure = "give the .sampling.json that was written beside the labelling page, with --plan"
            raise InputError(where, "labels name a plan that is not here", label.item_id, cure)
        item = items.get((label.trajectory_id, label.question)) or items.get((label.trajectory_id, None))
        labelled = label
        if not any(flag.startswith("drawn:") for flag in label.flags):
            planned = None if plan is None or item is None else plan.flags_for(item)
            labelled = set_drawn([label], planned or stated)[0]
        way = drawn_of(labelled.flags)["drawn"]
        unknown += way == "unknown"
        kept += way != (plan.method if plan else sampling or way)
        with_draws.append(labelled)
    every = unknown == len(with_draws)
    notes = [UNKNOWN if every else f"of {unknown} of {len(with_draws)} labels: {UNKNOWN}"] if unknown else []
    if kept and not unknown:
        notes.append(f"{kept} of {len(with_draws)} labels say themselves how they were drawn, otherwise, and keep it")
    return with_draws, notes


_CORE = ("item_id", "question", "rater", "repeat", "status", "verdict", "value", "scale")


def export_labels(ratings: Sequence[Rating], form: str, terms: Terms | None = None) -> Exported:
    """Write labels in a format, and read them back to see what it holds.

    Parameters
    ----------
    ratings : sequence of Rating
        People's labels.
    form : str
        One of `FORMATS`.
    terms : Terms, optional
        Trajectories by id, which some formats show or need.

    Raises
    ------
    InputError
        The format cannot hold some of these labels.
    """
    if not ratings:
        raise InputError("labels", "there are none to export")
    how, given = FORMATS[one_of("format", form, FORMATS)], terms or Terms()
    text = how.write(ratings, given)
    needed = _needed_terms(ratings, form)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{how.suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            back, _ = how.read(path, replace(given, rater=needed.rater, scales=needed.scales))
        except InputError as error:
            rule, wrong = f"cannot hold these labels: {error.rule}", error.found
            if unfinished := [rating for rating in ratings if OPEN in rating.flags]:
                rule, label = f"holds no label without a verdict, and {len(unfinished)} have none", unfinished[0]
                wrong = f"{label.rater} on {label.item_id}, {label.question}"
            cure = "finish or leave out such labels, or choose csv or jsonl, which hold all"
            raise InputError(f"export to {form}", rule, wrong, cure) from error
    return Exported(text, _lost(ratings, back, form), needed)


def _needed_terms(ratings: Sequence[Rating], form: str) -> Terms:
    """What an import of this file must be told."""
    if form in ("agentrx", "agentprocessbench"):
        return Terms(rater=ratings[0].rater)
    others = {rating.question: rating.scale for rating in ratings if rating.question not in AXES}
    return Terms(scales=others if form == "alttest" else {})


def _lost(ratings: Sequence[Rating], back: Sequence[Rating], form: str) -> dict[str, int]:
    """Field -> labels in which it came back different. Refuses where a label itself did not come back."""
    by_core = {_core(rating): rating for rating in back}
    if gone := [rating for rating in ratings if _core(rating) not in by_core]:
        rule = f"{form} cannot hold {len(gone)} of {len(ratings)} labels"
        label = gone[0]
        whose = f"{label.rater} on {label.item_id}, {label.question}: {label.verdict or label.value or label.status}"
        raise InputError("export", rule, whose, "export the others alone, or choose csv or jsonl, which hold all")
    if len(back) != len(ratings):
        raise InputError("export", f"{form} gave back {len(back)} labels", len(ratings))
    lost: Counter[str] = Counter()
    for rating in ratings:
        came = by_core[_core(rating)]
        lost.update(name for name in Rating.model_fields if getattr(rating, name) != getattr(came, name))
    return {name: lost[name] for name in Rating.model_fields if lost[name]}


def _core(rating: Rating) -> tuple[Any, ...]:
    return tuple(getattr(rating, name) for name in _CORE)
