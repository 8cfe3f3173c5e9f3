"""Scores in Inspect AI logs: what each scorer said of each sample.

A scorer is a question; who answered is the grader's model where the log names it, else the scorer. A score of several
values is several questions, ``scorer.value``. NaN is Inspect's sign for a sample that could not be scored. A score that
a person edited is that person's, and the scorer's own first value stays the scorer's.

Source: UKGovernmentBEIS/inspect_ai, ``scorer/_metric.py``, ``scorer/_precomputed.py``, ``log/_log.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.imports.judgement import ImportedFile, Judgement
from axisjudge.ratings.scales import has_words
from axisjudge.readers import inspect_logs
from axisjudge.readers.events import text_at
from axisjudge.verdict import RaterKind, Rating

FORMAT = "inspect"
#: Our verdicts as Inspect's letters; the others stay unscored, because no letter means them.
_LETTERS = {"correct": "C", "incorrect": "I"}
#: What of a rating is kept beside its score; `_OURS` are the further fields under which all ratings of a score stand.
_KEPT = (
    *("question", "scale", "status", "verdict", "value", "confidence", "cited_step_indices", "rationale"),
    *("model", "rater_version", "rubric_version"),
)
_OURS = {"rater", "rater_kind", "trajectory_id", "ratings"}
#: Scorers that Inspect itself brings, and what they are; others are asked for.
_SCORERS: dict[str, RaterKind] = {
    **dict.fromkeys(("model_graded_qa", "model_graded_fact"), "llm"),
    **dict.fromkeys(("match", "includes", "pattern", "answer", "choice", "exact", "f1", "math", "perplexity"), "rules"),
}


def read_log(path: Path) -> ImportedFile:
    """The scores of a ``.json`` or ``.eval`` log.

    Raises
    ------
    InputError
        The log is broken.
    """
    assessments, scored, samples = [], 0, 0
    for log, sample, run in inspect_logs.samples_of(path):
        samples += 1
        ended = text_at(sample, "completed_at")
        about = {"task_id": run.task_id, "agent": run.agent, "domain": run.domain, "created_at": ended}
        made = list(_sample(f"{path}, sample {sample.get('id')}", log, sample, run.id, about))
        scored += bool(made)
        assessments.extend(made)
    notes = [f"{samples - scored} of {samples} samples have no score"] if scored < samples else []
    return ImportedFile(FORMAT, tuple(assessments), notes=tuple(notes))


def _sample(
    where: str, log: Mapping[str, Any], sample: Mapping[str, Any], run: str, about: Mapping[str, Any]
) -> Iterator[Judgement]:
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    if not isinstance(scores, dict):
        raise InputError(where, "scores must map scorers to scores", type(scores).__name__)
    for name, score in scores.items():
        held = score if isinstance(score, dict) else {"value": score}
        if _is_ours(held):
            yield from _ours(where, held["metadata"], about)
            continue
        plain = name.rpartition("/")[2]
        grader = _grader(log["eval"], name, held, plain)
        kind = _SCORERS.get(plain) or ("llm" if grader else None)
        fields = {**about, "model": grader if kind == "llm" else None}
        why = {"rationale": held.get("explanation")}
        for version, author in _versions(held):
            who, what = (author, "human") if author else ((grader if kind == "llm" else None) or name, kind)
            mine = {**about, "model": None} if author else fields
            for question, word in _values(name, version.get("value")):
                lost = "parse_error" if word is None else None
                metadata = {**mine, **({} if author else why)}
                yield Judgement(where, run, question, who, word, what, lost, metadata)  # type: ignore[arg-type]


def _versions(score: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """The scorer's own score, and a person's last edit of it with the person's name."""
    history = [
        edit for edit in score.get("history") or [] if isinstance(edit, dict) and edit.get("value") != "UNCHANGED"
    ]
    edits = [edit for edit in history if edit.get("provenance")]
    if not edits:
        yield score, None
        return
    if own := [edit for edit in history if not edit.get("provenance")]:
        yield {**score, "value": own[0].get("value")}, None
    yield score, str(edits[-1]["provenance"].get("author") or "editor")


def _values(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a score by question, None for NaN: Inspect's sign for unscored, as number or as text."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [("", value)]
    for key, each in parts:
        unscored = each in ("NaN", "nan") or each != each
        yield f"{name}.{key}" if isinstance(value, dict | list) else name, None if unscored else each


def _grader(run: Mapping[str, Any], name: str, score: Mapping[str, Any], plain: str) -> str | None:
    """The model that graded, where the log names it: of the scorer's own options, its role, or the graded reply."""
    options: dict[str, Any] = {}
    for scorer in run.get("scorers") or []:
        if isinstance(scorer, dict) and scorer.get("name") in (name, plain):
            options = scorer.get("options") or {}
    roles = run.get("model_roles") or {}
    role = roles.get(str(options.get("model_role") or "grader")) or {}
    grading = (score.get("metadata") or {}).get("grading") or []
    replies = [message.get("model") for message in grading if isinstance(message, dict) and message.get("model")]
    graded = bool(grading) or _SCORERS.get(plain) == "llm"
    model = options.get("model") or (role.get("model") if isinstance(role, dict) else role)
    model = model or (replies[-1] if replies else None) or run.get("model")
    return str(model) if graded and isinstance(model, str) else None


def score_value(rating: Rating) -> str | float:
    """A rating as a value of Inspect's, NaN where it stays unscored."""
    if rating.status != "ok":
        return math.nan
    if rating.scale == "verdict":
        return _LETTERS.get(str(rating.verdict), math.nan)
    if rating.value is not None:
        return int(rating.value) if has_words(rating.scale) else rating.value
    return str(rating.verdict)


def score_metadata(trajectory_id: str, ratings: Sequence[Rating]) -> dict[str, Any]:
    """What stands beside a score of ours, so that our ratings can be read back from it."""
    first = ratings[0]
    return {
        "rater": first.rater,
        "rater_kind": first.rater_kind,
        "family": first.family,
        "trajectory_id": trajectory_id,
        "ratings": [{name: getattr(rating, name) for name in _KEPT} for rating in ratings],
    }


def recognises_scores(content: object) -> bool:
    """Whether parsed JSON is a scores file for Inspect's ``precomputed_scores`` that says its ratings."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(one, dict) and {"id", "value"} <= one.keys() and _is_ours(one) for one in content)
    )


def _is_ours(score: Mapping[str, Any]) -> bool:
    return isinstance(metadata := score.get("metadata"), dict) and metadata.keys() >= _OURS


def read_scores(path: Path, content: Iterable[dict[str, Any]]) -> ImportedFile:
    """The ratings that a scores file of ours says."""
    judgements: list[Judgement] = []
    for number, record in enumerate(content):
        judgements.extend(_ours(f"{path}, record {number}", record["metadata"], {"task_id": record["id"]}))
    return ImportedFile("inspect-scores", tuple(judgements))


def _ours(where: str, metadata: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Judgement]:
    """The ratings that stand beside a score of ours."""
    for rating in metadata["ratings"]:
        word = rating.get("verdict") if rating.get("verdict") is not None else rating.get("value")
        fields = {**about, "family": metadata.get("family"), **{name: rating.get(name) for name in _KEPT[5:]}}
        fields["scale"] = rating.get("scale")
        lost = None if rating.get("status", "ok") == "ok" else rating["status"]
        run = str(metadata["trajectory_id"])
        yield Judgement(where, run, rating["question"], metadata["rater"], word, metadata["rater_kind"], lost, fields)
