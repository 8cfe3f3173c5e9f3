"""Assessments of MLflow, scores of Langfuse, feedback of LangSmith, annotations of Phoenix, metrics of Ragas.

Sources: mlflow/mlflow ``entities/assessment.py``, ``cli/traces.py``; langfuse/langfuse
``packages/shared/src/domain/scores.ts``, ``fern/apis/server/definition/scores.yml``, ``scores-v3.yml``, and its batch
export, ``getDatabaseReadStream.ts``; langchain-ai/langsmith-sdk ``python/langsmith/schemas.py``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.imports.judgement import ImportedFile, Judgement
from axisjudge.imports.sheets import Row
from axisjudge.ratings.edge import words_in
from axisjudge.verdict import RaterKind, Status

_MLFLOW: dict[str, RaterKind] = {"HUMAN": "human", "LLM_JUDGE": "llm", "AI_JUDGE": "llm", "CODE": "rules"}
_LANGFUSE: dict[str, RaterKind] = {"ANNOTATION": "human", "EVAL": "llm"}
#: Its client writes ``model`` for every evaluator, programs too: a model is one whose name stands there.
_LANGSMITH: dict[str, RaterKind] = {"auto_eval": "llm", "app": "human"}
_PHOENIX: dict[str, RaterKind] = {"HUMAN": "human", "LLM": "llm", "CODE": "rules"}
_RESULTS = ("label", "score", "explanation")
_EVALUATED = re.compile("annotation_(.+)_annotator_kind")
_RAGAS = re.compile(
    r"faithfulness|(llm_)?context_(precision|recall)\w*|context_entity_recall|nv_\w+|\w+_(relevancy|correctness)"
)
_RAGAS_TEXTS = words_in("user_input retrieved_contexts reference_contexts response reference") | words_in(
    "question contexts answer ground_truth ground_truths"
)
#: MLflow's expectations say what should have come out; they are kept under questions of their own.
EXPECTED = "expected "


def assessments_in(content: object) -> list[tuple[str | None, Mapping[str, Any]]] | None:
    """MLflow's assessments, each with the id of its trace: of a search, a trace, a list of either, or rows."""
    if isinstance(content, Mapping):
        content = content["traces"] if isinstance(content.get("traces"), list) else [content]
    if not isinstance(content, Sequence) or isinstance(content, str | bytes) or not content:
        return None
    assessments: list[tuple[str | None, Mapping[str, Any]]] = []
    for trace in content:
        if not isinstance(trace, Mapping):
            return None
        info = trace["info"] if isinstance(trace.get("info"), Mapping) else trace
        if _is_assessment(info):
            assessments.append((None, info))
            continue
        held = _decoded(info.get("assessments"))
        held = held if isinstance(held, list) else None
        if held is None and not (
            {"trace_id", "request_id"} & info.keys() and {"data", "state", "status"} & {*trace, *info}
        ):
            return None
        name = info.get("trace_id") or info.get("request_id")
        for one in held or []:
            if not _is_assessment(one):
                return None
            assessments.append((None if name is None else str(name), one))
    return assessments


def _is_assessment(one: object) -> bool:
    return (
        isinstance(one, Mapping)
        and bool({"assessment_name", "name"} & one.keys())
        and "source_type" in _mapping(one.get("source"))
        and bool({"feedback", "expectation", "value", "error"} & one.keys())
    )


def read_assessments(path: Path, assessments: Iterable[tuple[str | None, Mapping[str, Any]]]) -> ImportedFile:
    """MLflow's assessments as judgements; one that another overrides is left out and counted."""
    judgements: list[Judgement] = []
    old = 0
    for number, (trace, one) in enumerate(assessments):
        if one.get("valid") is False:
            old += 1
            continue
        judgements.extend(_assessment(f"{path}, assessment {number}", trace, one))
    notes = [f"{old} assessments were overridden by later ones and are left out"] if old else []
    return ImportedFile("mlflow", tuple(judgements), notes=tuple(notes))


def _assessment(where: str, trace: str | None, one: Mapping[str, Any]) -> Iterator[Judgement]:
    source = _mapping(one.get("source"))
    kind = _MLFLOW.get(str(source.get("source_type", "")).upper())
    name, thing = str(one.get("assessment_name") or one.get("name")), one.get("trace_id") or trace
    if not thing:
        raise InputError(where, "names no trace", name, "export the traces, not their assessments alone")
    rater = source.get("source_id") or None
    expected, feedback = _mapping(one.get("expectation")), _mapping(one.get("feedback"))
    value = feedback.get("value", one.get("value"))
    if expected:
        value = expected.get("value", _serialized(expected.get("serialized_value")))
    error = feedback.get("error") or one.get("error")
    meta = _mapping(one.get("metadata"))
    fields = {
        "rationale": one.get("rationale"),
        "created_at": one.get("last_update_time") or one.get("create_time") or _iso(one.get("create_time_ms")),
        "interaction_id": one.get("span_id") or None,
        "model": str(rater) if kind == "llm" and rater and "/" in str(rater) else meta.get("model"),
    }
    question = f"{EXPECTED}{name}" if expected else name
    who = f"mlflow {source.get('source_type') or 'source'}".lower() if rater in (None, "default") else str(rater)
    for asked, word in _spread(question, value):
        yield Judgement(
            where, str(thing), asked, who, None if error else word, kind, "api_error" if error else None, fields
        )


def _spread(question: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value of several parts is several questions."""
    if isinstance(value, Mapping):
        yield from ((f"{question}.{key}", part) for key, part in value.items())
    elif isinstance(value, list):
        yield question, json.dumps(value, ensure_ascii=False)
    else:
        yield question, value


def _iso(milliseconds: object) -> str | None:
    known = isinstance(milliseconds, int | float)
    return datetime.fromtimestamp(float(milliseconds) / 1000, UTC).isoformat() if known else None  # type: ignore[arg-type]


def _serialized(held: object) -> Any:
    text = _mapping(held).get("value")
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _mapping(held: object) -> Mapping[str, Any]:
    content = _decoded(held)
    if isinstance(content, str) and content[:1] == "{":  # as pandas writes a dict into a cell
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            content = ast.literal_eval(content)
    return content if isinstance(content, Mapping) else {}


def is_langfuse(heads: Iterable[str]) -> bool:
    """Whether columns are those of Langfuse's scores, as its API or its export names them."""
    names = set(heads)
    return {"name", "source", "dataType"} <= names and bool(
        {"traceId", "sessionId", "subject", "subject.kind", "createdAt"} & names
    )


def read_langfuse(path: Path, rows: Sequence[Row]) -> ImportedFile:
    """Langfuse's scores; a score of a span is a rating of that part of the trace.

    Who scored is the annotator, else the evaluator's name. Text and corrections are no ratings and are left out.
    """
    assessments, texts = [], 0
    for number, row in enumerate(rows):
        where = f"{path}, score {number}"
        form, source = str(row.get("dataType") or "NUMERIC").upper(), str(row.get("source") or "").upper()
        if form in ("TEXT", "CORRECTION"):
            texts += 1
            continue
        thing, part = _subject(row)
        if thing is None:
            cure = "ask Langfuse for `fields=subject`, or for traces with their scores"
            raise InputError(where, "names neither a trace, a session nor a run", row.get("id"), cure)
        kind = _LANGFUSE.get(source)
        author = row.get("authorUserName") or row.get("authorUserId")
        meta = _mapping(row.get("metadata"))
        rater = (
            author or meta.get("model") or meta.get("evaluator") or ("annotator" if kind == "human" else row["name"])
        )
        text = row.get("stringValue")
        word = text if form in ("CATEGORICAL", "BOOLEAN") and text not in (None, "") else row.get("value")
        fields = {
            "rationale": row.get("comment") or None,
            "created_at": row.get("timestamp") or row.get("createdAt") or None,
            "interaction_id": part,
            "agent": row.get("traceName") or None,
        }
        assessments.append(Judgement(where, thing, str(row["name"]), str(rater), word, kind, None, fields))
    notes = [f"{texts} scores are text or corrections, no ratings, and are left out"] if texts else []
    if evaluators := sorted({str(one.rater) for one in assessments if one.kind == "llm"}):
        models = ", ".join(evaluators)
        notes.append(f"Langfuse's own evaluators are models: {models}; one that is code: --kind NAME=rules")
    return ImportedFile("langfuse", tuple(assessments), notes=tuple(notes))


def _subject(row: Row) -> tuple[str | None, str | None]:
    """What was scored: the trace (or session, or run), and the span of it."""
    kind, inner = row.get("subject.kind"), row.get("subject.id")
    if kind == "observation":
        return str(row.get("subject.traceId") or inner), str(inner)
    names = [inner, *(row.get(name) for name in ("traceId", "sessionId", "datasetRunId"))]
    whole = next((str(name) for name in names if name not in (None, "")), None)
    part = row.get("observationId")
    return whole, None if part in (None, "") else str(part)


def scores_in(content: object) -> list[Row] | None:
    """What traces of Langfuse, or an experiment's runs of Phoenix, hold, one by one; None where there is nothing."""
    traces = content.get("data") if isinstance(content, Mapping) else content
    traces = [content] if isinstance(content, Mapping) and "scores" in content else traces
    if not isinstance(traces, list) or not all(isinstance(trace, Mapping) for trace in traces):
        return None
    scores = [
        {"traceId": trace.get("traceId") or trace.get("id"), **one}
        for trace in traces
        for one in _listed(trace.get("scores"))
    ]
    if scores and is_langfuse(scores[0]):
        return scores
    of_phoenix = [trace for trace in traces if "example_id" in trace]
    runs = [{**one, **_of_run(trace)} for trace in of_phoenix for one in _listed(trace.get("annotations"))]
    return runs if runs and is_phoenix(runs[0]) else None


def _of_run(row: Mapping[str, Any]) -> Row:
    """What an annotation of an experiment of Phoenix's is on: a run of an example."""
    example = row["example_id"]
    return {"trace_id": f"{example}/{row.get('repetition_number') or 1}", "task_id": example}


def is_phoenix_experiment(heads: Iterable[str]) -> bool:
    """Whether columns are those of an experiment of Phoenix's, each annotation several columns of its own."""
    return "example_id" in (names := set(heads)) and any(_EVALUATED.fullmatch(name) for name in names)


def read_phoenix_experiment(path: Path, rows: Sequence[Row]) -> ImportedFile:
    """Annotations of an experiment, a column a part."""
    named = [match[1] for name in rows[0] if (match := _EVALUATED.fullmatch(name))]
    parts = ("annotator_kind", *_RESULTS, "error")
    annotations: list[Row] = [
        {"name": name, **_of_run(row), **{part: row.get(f"annotation_{name}_{part}") for part in parts}}
        for row in rows
        for name in named
        if row.get(f"annotation_{name}_annotator_kind")
    ]
    return read_phoenix(path, annotations)


def _listed(held: object) -> list[dict[str, Any]]:
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def is_phoenix(heads: Iterable[str]) -> bool:
    """Whether columns are those of Phoenix's annotations of spans, traces, documents or sessions."""
    names = set(heads)
    named = {"name", "annotation_name"} & names and "annotator_kind" in names
    return bool(named) and any(name.removeprefix("result.") in _RESULTS for name in names)


def read_phoenix(path: Path, rows: Sequence[Row]) -> ImportedFile:
    """Phoenix's annotations: the label where there is one, else the score; one whose evaluator failed is lost."""
    assessments, empty = [], 0
    for number, row in enumerate(rows):
        label, score, why = (row.get(f"result.{name}", row.get(name)) for name in _RESULTS)
        where, kind = f"{path}, annotation {number}", _PHOENIX.get(str(row.get("annotator_kind")).upper())
        ids = (row.get(f"{of}{name}") for name in ("trace_id", "span_id", "session_id") for of in ("", "context."))
        thing = next(filter(None, ids), None)
        word = label if label not in (None, "") else score
        if thing is None:
            raise InputError(where, "names neither a trace, a span nor a session", row.get("id"))
        lost: Status | None = "api_error" if row.get("error") and word in (None, "") else None
        if word in (None, "") and not lost:
            empty += 1
            continue
        question = str(row.get("name") or row.get("annotation_name"))
        named = row.get("identifier") or row.get("user_id")
        rater = str(named) if named else f"{question} {row.get('annotator_kind') or 'annotator'}".lower()
        fields = {"rationale": why or None, "created_at": row.get("created_at"), "task_id": row.get("task_id")}
        word = None if lost else word
        assessments.append(Judgement(where, str(thing), question, rater, word, kind, lost, fields))
    notes = [f"{empty} annotations hold neither a label nor a score and are left out"] if empty else []
    return ImportedFile("phoenix", tuple(assessments), notes=tuple(notes))


def is_langsmith(heads: Iterable[str]) -> bool:
    """Whether columns are those of LangSmith's feedback."""
    names = set(heads)
    source = any(name == "feedback_source" or name.startswith("feedback_source.") for name in names)
    return {"run_id", "key"} <= names and bool({"score", "value"} & names) and (source or "correction" in names)


def read_langsmith(path: Path, rows: Sequence[Row]) -> ImportedFile:
    """LangSmith's feedback: the value where it is a word, else the score; what nobody scored is left out."""
    assessments, empty = [], 0
    for number, row in enumerate(rows):
        source = _source(row)
        meta = _mapping(source.get("metadata"))
        by_model = source.get("type") == "model" and meta.get("model")
        kind = "llm" if by_model else _LANGSMITH.get(str(source.get("type") or ""))
        failed = _mapping(row.get("extra")).get("error") or row.get("extra.error")
        user = source.get("user_name") or source.get("user_id")
        if source.get("type") == "api" and user:
            kind = None  # a program with somebody's key, or that person: the file does not say
        rater = meta.get("model") or user or meta.get("evaluator") or ("person" if kind == "human" else row["key"])
        value, score = row.get("value"), row.get("score")
        word = value if isinstance(value, str) and value else score if score not in (None, "") else value
        if not failed and (word in (None, "") or isinstance(word, Mapping)):
            empty += 1
            continue
        thing, part = row.get("trace_id") or row.get("run_id"), row.get("run_id")
        fields = {
            "rationale": row.get("comment") or None,
            "created_at": row.get("modified_at") or row.get("created_at") or None,
            "interaction_id": str(part) if part and str(part) != str(thing) else None,
            "model": meta.get("model"),
        }
        where = f"{path}, feedback {number}"
        if thing in (None, ""):
            raise InputError(where, "names no run", row.get("id"))
        lost: Status | None = "api_error" if failed else None
        word = None if failed else word
        assessments.append(Judgement(where, str(thing), str(row["key"]), str(rater), word, kind, lost, fields))
    notes = [f"{empty} pieces of feedback hold neither a score nor a word and are left out"] if empty else []
    return ImportedFile("langsmith", tuple(assessments), notes=tuple(notes))


def _decoded(held: Any) -> Any:
    from axisjudge.readers.events import json_of  # with all readers, which tables do not need

    return json_of(held)


def _source(row: Row) -> Mapping[str, Any]:
    inner = {name.removeprefix("feedback_source."): cell for name, cell in row.items() if "feedback_source." in name}
    return inner or _mapping(row.get("feedback_source"))


def is_ragas(heads: Iterable[str]) -> bool:
    """Whether columns are those of Ragas's results and no others: texts of samples, and metrics that a model gave."""
    metrics, texts = {*heads} - _RAGAS_TEXTS, {*heads} & _RAGAS_TEXTS
    return bool(metrics) and all(map(_RAGAS.fullmatch, metrics)) and bool({"retrieved_contexts", "contexts"} & texts)


def read_ragas(path: Path, rows: Sequence[Row]) -> ImportedFile:
    """Ragas's metrics, each a question to its model; an empty one is a metric that failed, and stays counted."""
    judgements = [
        Judgement(f"{path}, row {n}", f"{path.stem}/{n}", name, "ragas", row[name], "llm", lost)
        for n, row in enumerate(rows, start=1)
        for name in row
        if _RAGAS.fullmatch(name)
        for lost in ("api_error" if row[name] in (None, "") else None,)
    ]
    return ImportedFile("ragas", tuple(judgements))


#: Tables of tools: how their columns are known, and how their rows are read.
SHEETS = (
    ("Langfuse", is_langfuse, read_langfuse),
    ("Phoenix", is_phoenix, read_phoenix),
    ("Phoenix", is_phoenix_experiment, read_phoenix_experiment),
    ("LangSmith", is_langsmith, read_langsmith),
    ("Ragas", is_ragas, read_ragas),
)
