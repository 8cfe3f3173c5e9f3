"""Argilla 2 records, as ``dataset.records.to_json`` writes them and as ``to_list(flatten=True)`` gives them.

A record is a trajectory, or a step of one: ``metadata.trajectory_id`` and ``metadata.step_index``, else the record's
id. Questions are questions; ``NAME_note`` (text), ``NAME_steps`` (labels) go with the question NAME. A suggestion is a
model's word (kind ``llm``), its score the confidence. In the flat form an answer that was discarded or only a draft is
kept as status ``refused``; the nested form does not say which answers were submitted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels import own
from axisjudge.labels.reading import holds_records, read_json, read_json_lines
from axisjudge.verdict import AXES, Rating

_SIDES = ("note", "steps")
_UNSAID = (
    "Argilla's nested export does not say which answers were submitted, drafts or discarded: filter before exporting, "
    "or export to_list(flatten=True)"
)


def recognises(content: Any) -> bool:
    """Whether parsed JSON holds Argilla's records, nested or flat: a list, columns (``to_dict``), or by their ids."""
    records = _listed(content)
    return holds_records(records, "_server_id") and all(
        {"responses", "fields"} <= record.keys() or _flat(record) for record in records
    )


def _listed(content: Any) -> Any:
    if not isinstance(content, Mapping):
        return content
    if not isinstance(content.get("_server_id"), list):
        return [*content.values()]
    return [dict(zip(content, cells, strict=True)) for cells in zip(*content.values(), strict=True)]


def _flat(record: Mapping[str, Any]) -> bool:
    return any(name.endswith(".responses") for name in record)


def read_argilla(path: Path, terms: own.Naming) -> own.Read:
    """Answers of people and suggestions of models as ratings.

    Raises
    ------
    InputError
        The file does not hold Argilla's records, or a word is none of ours.
    """
    content = read_json(path) if path.suffix == ".json" else read_json_lines(path)
    if not recognises(content):
        cure = "write it with dataset.records(with_responses=True).to_json(path)"
        raise InputError(str(path), "must hold Argilla 2 records", cure=cure)
    records = _listed(content)
    aloud: Counter[str] = Counter()
    ratings: list[Rating] = []
    for number, record in enumerate(records, start=1):
        ratings += _record(f"{path}, record {number}", record, terms, aloud)
    done = own.finished(ratings, aloud)
    notes = [f"{count} {what}" for what, count in aloud.items()]
    return done, notes + ([] if _flat(records[0]) or not ratings else [_UNSAID])


def _record(where: str, record: Mapping[str, Any], terms: own.Naming, aloud: Counter[str]) -> Iterator[Rating]:
    known = record.get("metadata") or record
    terms = replace(terms, scales={**_scales(known), **terms.scales})
    run = known.get("trajectory_id") or record.get("id") or record["_server_id"]
    base = terms.run_fields(str(run), **{name: known.get(name) for name in own.OF_RUN})
    base["step_index"] = known.get("step_index")
    flags = json.loads(known.get("flags") or "[]")
    for person, answers in _answers(record).items():
        for name in dict.fromkeys(own.split_side(question)[0] for question in answers):
            given, status = answers.get(name, (None, None))
            sides = {side: answers[f"{name}_{side}"][0] for side in _SIDES if f"{name}_{side}" in answers}
            for label in own.word(where, {**base, **own.by_person(person)}, name, given, sides, terms, aloud):
                if status not in (None, "submitted") and label.status == "ok":
                    aloud[f"answers are {status} and kept without verdict"] += 1
                    yield own.taken_back(label.model_copy(update={"flags": flags}), str(status), f"said:{given}")
                else:
                    yield label.model_copy(update={"flags": [*label.flags, *flags]})
    for name, (given, agent, score) in _suggestions(record).items():
        if own.split_side(name)[1] is None:
            aloud["models' suggestions are kept as ratings of kind llm"] += 1
            fields = {**base, **own.by_model(agent or "suggestion")}
            for rating in own.word(where, fields, name, given, {}, terms, aloud):
                sure = isinstance(score, float) and 0 <= score <= 1
                native = {"confidence": score, "confidence_source": "native"}
                yield rating.model_copy(update=native) if sure else rating


def _scales(known: Mapping[str, Any]) -> dict[str, str]:
    scales = json.loads(known.get("scales") or "{}")
    return {str(name): str(scale) for name, scale in scales.items()}


def _answers(record: Mapping[str, Any]) -> dict[str, dict[str, tuple[Any, str | None]]]:
    """By person: question -> (answer, its status if the file says it)."""
    of_person: defaultdict[str, dict[str, tuple[Any, str | None]]] = defaultdict(dict)
    if not _flat(record):
        for question, answers in (record["responses"] or {}).items():
            for answer in answers:
                of_person[str(answer["user_id"])][question] = (answer["value"], answer.get("status"))
        return dict(of_person)
    for key in record:
        if not key.endswith(".responses") or record[key] is None:
            continue
        people, states = record[f"{key}.users"], record.get(f"{key}.status") or [None] * len(record[key])
        for person, answer, status in zip(people, record[key], states, strict=True):
            of_person[str(person)][key.removesuffix(".responses")] = (answer, status)
    return dict(of_person)


def _suggestions(record: Mapping[str, Any]) -> dict[str, tuple[Any, str | None, Any]]:
    if not _flat(record):
        given = record.get("suggestions") or {}
        return {name: (each["value"], each.get("agent"), each.get("score")) for name, each in given.items()}
    names = [key for key in record if key.endswith(".suggestion") and record[key] is not None]
    return {
        key.removesuffix(".suggestion"): (record[key], record.get(f"{key}.agent"), record.get(f"{key}.score"))
        for key in names
    }


def write_argilla(ratings: Sequence[Rating], terms: own.Terms) -> str:
    """Records in the nested form; `user_id` is the rater's name, which Argilla itself wants as one of its ids.

    Raises
    ------
    InputError
        A person answered a question of one item twice, which Argilla does not hold.
    """
    written = [_record_of(labels, terms) for labels in own.grouped(ratings, "item_id").values()]
    return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


def _record_of(labels: Sequence[Rating], terms: own.Terms) -> dict[str, Any]:
    first = labels[0]
    known = {name: getattr(first, name) for name in ("trajectory_id", "step_index", *own.OF_RUN)}
    scales = {label.question: label.scale for label in labels if label.question not in AXES}
    shared = [flag for flag in first.flags if flag.startswith("drawn") and all(flag in each.flags for each in labels)]
    texts = {"scales": json.dumps(scales) if scales else None, "flags": json.dumps(shared) if shared else None}
    responses: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for label in labels:
        if any(answer["user_id"] == label.rater for answer in responses[label.question]):
            raise InputError("labels", "Argilla holds one answer of a person to a question", label.item_id)
        numeric = label.value is not None and label.scale.startswith("ordinal:")
        word_given = int(label.value) if numeric and label.value is not None else label.verdict
        responses[label.question].append({"value": word_given, "user_id": label.rater})
        if label.rationale is not None:
            responses[f"{label.question}_note"].append({"value": label.rationale, "user_id": label.rater})
        if label.cited_step_indices:
            steps = [str(step) for step in label.cited_step_indices]
            responses[f"{label.question}_steps"].append({"value": steps, "user_id": label.rater})
    run = terms.trajectories.get(first.trajectory_id)
    shown_text = (
        first.trajectory_id if run is None else "\n\n".join(f"{s.index} {s.role}: {s.content}" for s in run.steps)
    )
    return {
        "id": first.item_id,
        "fields": {"trajectory": shown_text},
        "metadata": {name: value for name, value in (known | texts).items() if value is not None},
        "suggestions": {},
        "responses": dict(responses),
        "vectors": {},
        "status": "completed",
        "_server_id": None,
    }
