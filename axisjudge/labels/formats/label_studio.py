"""Label Studio's JSON export: tasks with annotations by several people, and models' predictions.

A task is a trajectory, named by ``data.trajectory_id`` (else by the task's number). Choices are words under the
question `from_name`; a region that is labelled with an axis cites its paragraphs as steps; choices, ratings and labels
a region are labels of its steps. ``NAME_note`` (text), ``NAME_confidence`` (number) go with the question NAME; so, as
reasons, do other texts whose name begins with it (``NAME_comments``), or that stand beside a single question.

A cancelled annotation is kept: status ``refused``, flag ``cancelled``, its word as flag ``said:WORD``. An annotation
that is ground truth gives its labels the flag ``ground_truth``. Predictions are ratings of kind ``llm``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels import own
from axisjudge.labels.reading import holds_records, read_json
from axisjudge.verdict import AXES, NO_AXIS, Rating

GROUND_TRUTH, CANCELLED, BEFORE = "ground_truth", "cancelled", "said"
_VALUES = {"choices": "choices", "rating": "rating", "number": "number", "textarea": "text"}
_LABELS = ("labels", "paragraphlabels", "hypertextlabels")

#: Whose steps (none: the whole trajectory) -> a file's name of a question or side -> what was given.
Answers = dict[int | None, dict[str, Any]]


def recognises(content: object) -> bool:
    """Whether parsed JSON is a list of tasks with annotations."""
    return holds_records(content, "data", "annotations")


def read_label_studio(path: Path, terms: own.Naming) -> own.Read:
    """People's annotations and models' predictions as ratings.

    Raises
    ------
    InputError
        The file is not the full JSON export, or a word is none of ours.
    """
    tasks = read_json(path)
    if not recognises(tasks):
        cure = "export as JSON (the raw format with all annotations), not JSON-MIN or CSV"
        raise InputError(str(path), "must be a list of tasks with data and annotations", cure=cure)
    aloud: Counter[str] = Counter()
    ratings = [rating for task in tasks for rating in _task(str(path), task, terms, aloud)]
    return own.finished(ratings, aloud), [f"{count} {what}" for what, count in aloud.items()]


def _task(path: str, task: Mapping[str, Any], terms: own.Naming, aloud: Counter[str]) -> Iterator[Rating]:
    given = task["data"]
    run = given.get("trajectory_id")
    if run is None:
        run = str(task.get("id"))
        aloud["tasks have no data.trajectory_id; their number stands for it"] += 1
    terms = replace(terms, scales={**(given.get("scales") or {}), **terms.scales})
    base = terms.run_fields(str(run), **{name: given.get(name) for name in own.OF_RUN})
    drawn = list(given.get("flags", ()))
    for number, annotation in enumerate(task["annotations"], start=1):
        where = f"{path}, task {task.get('id')}, annotation {number}"
        fields = {
            **base,
            **own.by_person(_person(annotation.get("completed_by"), terms)),
            "created_at": annotation.get("created_at"),
            "latency_s": annotation.get("lead_time"),
        }
        flags = ([GROUND_TRUTH] if annotation.get("ground_truth") else []) + drawn
        labels = [
            rating.model_copy(update={"flags": [*rating.flags, *flags]})
            for rating in _labels(where, annotation.get("result") or (), fields, terms, aloud)
        ]
        if annotation.get("was_cancelled"):
            aloud["cancelled annotations are kept without verdict"] += 1
            labels = [_cancelled(label) for label in labels] or [
                Rating(**fields, question=NO_AXIS, status="refused", flags=[CANCELLED, *flags])
            ]
        elif not labels:
            aloud["annotations are empty"] += 1
        yield from labels
    for prediction in task.get("predictions") or ():
        model = str(prediction.get("model_version") or "prediction")
        fields = {**base, **own.by_model(model)}
        predicted = list(_labels(f"{path}, prediction {model}", prediction.get("result") or (), fields, terms, aloud))
        aloud["models' predictions are kept as ratings of kind llm"] += len(predicted)
        yield from predicted


def _person(who: object, terms: own.Naming) -> str:
    """The annotator: an address, a name, or the number that Label Studio gave."""
    if isinstance(who, Mapping):
        name = " ".join(filter(None, (who.get("first_name"), who.get("last_name"))))
        who = who.get("email") or name or who.get("id")
    if who is None and terms.rater is None:
        raise InputError("annotation", "says not who completed it", cure="name the person with --rater")
    return str(terms.rater if who is None else who)


def _cancelled(label: Rating) -> Rating:
    word_before = [] if label.verdict is None else [f"{BEFORE}:{label.verdict}"]
    return own.taken_back(label, CANCELLED, *word_before)


def _labels(
    where: str, result: Iterable[Mapping[str, Any]], base: Mapping[str, Any], terms: own.Naming, aloud: Counter[str]
) -> Iterator[Rating]:
    for step, answers in _answers(where, result, terms, aloud).items():
        questions = dict.fromkeys(own.split_side(name)[0] for name in answers)
        for name in questions:
            sides = {side: answers[f"{name}_{side}"] for side in _SIDES if f"{name}_{side}" in answers}
            yield from own.word(where, {**base, "step_index": step}, name, answers.get(name), sides, terms, aloud)


_SIDES = ("note", "confidence", "steps")


def _answers(where: str, result: Iterable[Mapping[str, Any]], terms: own.Naming, aloud: Counter[str]) -> Answers:
    """What was answered, for the whole and for each step."""
    answers: defaultdict[int | None, dict[str, Any]] = defaultdict(dict)
    comments: list[tuple[list[int | None], str, str]] = []
    for part in result:
        kind, value, name = part.get("type"), part.get("value") or {}, str(part.get("from_name"))
        steps = _paragraphs(where, value)
        if kind in _LABELS:
            for label in value.get(kind, ()):
                question = terms.question_of(label)
                if question in (*AXES, NO_AXIS):
                    answers[None].setdefault(f"{question}_steps", []).extend(step for step in steps if step is not None)
                else:
                    answers |= {step: {**answers[step], name: label} for step in steps}
        elif kind in _VALUES:
            given = value.get(_VALUES[kind])
            given = "\n".join(given) if kind == "textarea" and isinstance(given, list) else given
            if kind == "textarea" and not own.split_side(name)[1]:
                comments.append((steps, name, str(given or "")))
                continue
            for step in steps:
                answers[step][name] = given
        else:
            aloud[f"results of type {kind} hold no label of ours and are passed over"] += 1
    for steps, name, text in comments:
        for step in steps:
            answered = [each for each in answers.get(step, {}) if not own.split_side(each)[1]]
            named = [each for each in answered if name.startswith(each)]
            of = max(named, key=len, default=answered[0] if len(answered) == 1 else "")
            if of:
                before = answers[step].get(f"{of}_note")
                answers[step][f"{of}_note"] = "\n".join(filter(None, (before, text)))
            elif any(answers.values()):
                aloud["comments belong to no answered question and are left out"] += 1
            else:
                answers[step][name] = text
    return dict(answers)


def _paragraphs(where: str, value: Mapping[str, Any]) -> list[int | None]:
    if "start" not in value:
        return [None]
    try:
        return [*range(int(value["start"]), int(value["end"]) + 1)]
    except (ValueError, KeyError):
        raise InputError(where, "a region must begin and end at a paragraph", value.get("start")) from None


def write_label_studio(ratings: Sequence[Rating], terms: own.Terms) -> str:
    """Tasks with one annotation for each person; the dialogue of a task comes from its trajectory, if given."""
    tasks = own.grouped(ratings, "trajectory_id")
    people = {name: number for number, name in enumerate(dict.fromkeys(rating.rater for rating in ratings), start=1)}
    written = [_task_of(number, run, labels, people, terms) for number, (run, labels) in enumerate(tasks.items(), 1)]
    return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


def _task_of(
    number: int, run: str, labels: Sequence[Rating], people: Mapping[str, int], terms: own.Terms
) -> dict[str, Any]:
    known = {name: getattr(labels[0], name) for name in own.OF_RUN}
    given: dict[str, Any] = {"trajectory_id": run} | {name: value for name, value in known.items() if value is not None}
    given["scales"] = {label.question: label.scale for label in labels if label.question not in AXES}
    shared = [flag for flag in labels[0].flags if all(flag in label.flags for label in labels)]
    if flags := [flag for flag in shared if flag.startswith("drawn")]:
        given["flags"] = flags
    if run in terms.trajectories:
        steps = terms.trajectories[run].steps
        given["dialogue"] = [{"author": step.role, "text": step.content} for step in steps]
    sittings: defaultdict[tuple[Any, ...], list[Rating]] = defaultdict(list)
    for label in labels:
        marks = (CANCELLED in label.flags, GROUND_TRUTH in label.flags)
        sittings[label.rater, label.repeat, *marks, label.created_at].append(label)
    annotations = [
        {
            "completed_by": {"id": people[rater], "email": rater},
            "was_cancelled": cancelled,
            "ground_truth": truth,
            "created_at": created,
            "lead_time": max((label.latency_s for label in sitting if label.latency_s is not None), default=None),
            "result": [part for label in sitting for part in _parts(label)],
        }
        for (rater, _, cancelled, truth, created), sitting in sorted(sittings.items(), key=lambda pair: pair[0][1])
    ]
    return {"id": number, "data": given, "annotations": annotations, "predictions": []}


def _parts(label: Rating) -> Iterator[dict[str, Any]]:
    """The results of one label: its word, its note and confidence, its cited steps."""
    region = {} if label.step_index is None else _region(label.step_index)
    name = f"step-{label.step_index}" if region else f"{label.question}"

    def part(kind: str, suffix: str, **value: Any) -> dict[str, Any]:
        head = {"id": name, "from_name": f"{label.question}{suffix}", "to_name": "dialogue", "type": kind}
        return {**head, "value": {**region, **value}}

    answer = next((flag.partition(":")[2] for flag in label.flags if flag.startswith(f"{BEFORE}:")), label.verdict)
    if label.value is not None and label.scale.startswith("ordinal:"):
        yield part("rating", "", rating=int(label.value))
    elif label.value is not None and label.scale == "unit":
        yield part("number", "", number=label.value)
    elif answer is not None:
        yield part("choices", "", choices=[answer])
    if label.rationale is not None:
        yield part("textarea", "_note", text=[label.rationale])
    if label.confidence is not None:
        yield part("number", "_confidence", number=label.confidence)
    for step in label.cited_step_indices:
        cited = {**_region(step), "paragraphlabels": [label.question]}
        head = {"id": f"{name}-cites-{step}", "from_name": "cited", "to_name": "dialogue", "type": "paragraphlabels"}
        yield {**head, "value": cited}


def _region(step: int) -> dict[str, Any]:
    return {"start": str(step), "end": str(step), "startOffset": 0, "endOffset": 0}
