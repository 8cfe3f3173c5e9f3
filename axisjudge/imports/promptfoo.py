"""promptfoo's results: every assertion on every output, named scores, and whether the case passed.

An assertion's metric (else its type and value) is the question, ``pass`` or ``fail`` the answer. Who answered is the
grader: a model for model-graded types, a person for ``human``, else the assertion itself. Results of one test are one
task; provider and prompt are the agent. promptfoo's own sums, named scores and success, are ratings by its rules.

Source: promptfoo/promptfoo, ``src/types/index.ts`` (EvaluateSummaryV2 and V3, EvaluateResult, GradingResult).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.imports.judgement import ImportedFile, Judgement
from axisjudge.verdict import RaterKind, Status

FORMAT = "promptfoo"
#: Assertion types that ask a model; promptfoo runs the others as code.
_MODEL_GRADED = (
    *("llm-rubric", "g-eval", "factuality", "answer-relevance", "context-faithfulness", "context-recall"),
    *("context-relevance", "conversation-relevance", "model-graded-closedqa", "model-graded-factuality"),
    *("search-rubric", "select-best", "agent-rubric", "trajectory:goal-success", "pi"),
)
_CLASSIFIERS = ("classifier", "moderation", "guardrails")
#: Red team assertions are graded by a model, each plugin by a rubric of its own.
_RED_TEAM = "promptfoo:redteam:"
#: Who answered where promptfoo itself added up what assertions said.
SUMS = "promptfoo"
_ERROR = 2


def results_in(content: object) -> list[Any] | None:
    """The results of a promptfoo output file, JSON or a result a line; None where it is none."""
    inner = content.get("results") if isinstance(content, Mapping) else content
    results = inner.get("results") if isinstance(inner, Mapping) else inner
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        return None
    known = all("success" in one and ("gradingResult" in one or "provider" in one) for one in results)
    return results if results and known else None


def read_results(path: Path, content: Any) -> ImportedFile:
    """The judgements of a promptfoo output file."""
    results = results_in(content) or []
    default = ((content.get("config") or {}).get("defaultTest") or {}) if isinstance(content, dict) else {}
    grader = _provider((default.get("options") or {}).get("provider")) if isinstance(default, dict) else None
    judgements: list[Judgement] = []
    for number, result in enumerate(results):
        judgements.extend(_result(f"{path}, result {number}", result, grader))
    failed = sum(result.get("failureReason") == _ERROR for result in results)
    notes = [f"{failed} of {len(results)} results are errors and were not graded"] if failed else []
    return ImportedFile(FORMAT, tuple(judgements), notes=tuple(notes))


def _result(where: str, result: Mapping[str, Any], grader: str | None) -> Iterator[Judgement]:
    case = result.get("testCase") or {}
    task = str(case.get("description") or result.get("testIdx", _digest(result.get("vars") or case.get("vars"))))
    agent = _provider(result.get("provider")) or "provider"
    prompt = result.get("promptIdx", 0)
    thing = str(result.get("id") or f"{task}/{agent}/{prompt}")
    about = {"task_id": task, "cluster_id": task, "agent": agent if not prompt else f"{agent}, prompt {prompt}"}
    if result.get("failureReason") == _ERROR:
        yield Judgement(where, thing, "success", SUMS, None, "rules", "api_error", about)
        return
    grading = result.get("gradingResult") or {}
    options = case.get("options") or {}
    yield from _components(where, thing, grading, about, _provider(options.get("provider")) or grader)
    for name, score in (result.get("namedScores") or grading.get("namedScores") or {}).items():
        yield Judgement(where, thing, f"{name} (score)", SUMS, score, "rules", None, about)
    why = {**about, "rationale": grading.get("reason")}
    yield Judgement(where, thing, "success", SUMS, _word(where, result["success"]), "rules", None, why)


def _components(
    where: str, thing: str, grading: Mapping[str, Any], about: Mapping[str, Any], grader: str | None
) -> Iterator[Judgement]:
    for index, component in enumerate(grading.get("componentResults") or []):
        if not isinstance(component, dict):
            continue
        assertion = component.get("assertion") or {}
        if component.get("componentResults"):
            yield from _components(f"{where}.{index}", thing, component, about, grader)
            continue
        if "pass" not in component:
            continue
        form = str(assertion.get("type") or "assertion")
        bare = form.removeprefix("not-")
        model = _provider(assertion.get("provider")) or grader
        kind = _kind(bare)
        rater = model or f"promptfoo {bare}" if kind == "llm" else form
        lost: Status | None = "api_error" if (component.get("metadata") or {}).get("graderError") else None
        fields = {**about, "rationale": component.get("reason"), "model": model if kind == "llm" else None}
        word = None if lost else _word(f"{where}, component {index}", component["pass"])
        question = str(assertion.get("metric") or form)
        if not assertion.get("metric") and assertion.get("value") is not None:
            question = (
                f"{form} {_digest(assertion['value'])}" if kind == "llm" else f"{form} {_short(assertion['value'])}"
            )
        yield Judgement(f"{where}, component {index}", thing, question, rater, word, kind, lost, fields)


def _kind(form: str) -> RaterKind:
    if form == "human":
        return "human"
    if form in _CLASSIFIERS:
        return "decision_model"
    return "llm" if form in _MODEL_GRADED or form.startswith(_RED_TEAM) else "rules"


def _word(where: str, passed: object) -> str:
    if not isinstance(passed, bool):
        raise InputError(where, "pass must be true or false", passed)
    return "pass" if passed else "fail"


def _provider(provider: object) -> str | None:
    if isinstance(provider, Mapping):
        named = provider.get("label") or provider.get("id") or _provider(provider.get("text"))
        return str(named) if named else None
    return str(provider) if isinstance(provider, str) and provider else None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:31]} {_digest(value)}"


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]
