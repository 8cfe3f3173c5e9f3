"""Results of harnesses, sample by sample: OpenAI evals, lm-evaluation-harness, HELM, Braintrust, MT-Bench.

A metric is a question, the metric's program its rater (a model where an OpenAI eval is model-graded), a sample the
item and the model under test the agent, where the file names it: lm-eval and HELM name it in the path alone. Counts and
times that HELM writes beside its metrics rate nothing and are left out, which is said. A scorer of Braintrust's is the
rater of its own question, and only autoevals' are known to be models or code.

Sources: openai/evals ``evals/record.py``; EleutherAI/lm-evaluation-harness ``lm_eval/loggers/evaluation_tracker.py``;
stanford-crfm/helm ``src/helm/benchmark/metrics/metric.py`` (PerInstanceStats); braintrust 0.48.1 ``framework.py``
(EvalResult), autoevals; lm-sys/FastChat ``fastchat/llm_judge/common.py`` (play_a_match_single).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.imports.judgement import ImportedFile, Judgement
from axisjudge.ratings.edge import words_in
from axisjudge.verdict import RaterKind

#: A run of HELM's has files of other things too: what was asked, and sums over samples.
_HELM_RUN = "helm, of the run"
#: Events of an OpenAI eval that say how a sample did.
_GRADED = ("match", "metrics")
#: Scorers of autoevals by what they are.
_SCORERS: dict[str, RaterKind] = {
    **dict.fromkeys(words_in("Factuality Battle ClosedQA Humor Possible Security Sql Summary Translation"), "llm"),
    **dict.fromkeys(words_in("AnswerCorrectness AnswerRelevancy Faithfulness ContextPrecision ContextRecall"), "llm"),
    **dict.fromkeys(words_in("Levenshtein ExactMatch NumericDiff JSONDiff ValidJSON ListContains"), "rules"),
}
#: More words are no labels, which an output and what was expected would be compared by.
_MOST_LABELS = 12
#: Names of what HELM counts and times beside its metrics.
_OF_HARNESS = re.compile(
    r"num_|inference_|training_|max_prob|logprob|finish_reason|batch_size|prompt_|bits_per|perplexity|predicted_index"
)


def harness_of(content: Any) -> str | None:
    """The harness that wrote a file of JSON or JSON Lines; None where it is none of these."""
    if isinstance(content, Mapping) and {"adapter_spec", "request_states"} <= content.keys():
        return _HELM_RUN
    if not isinstance(content, list) or not content or not all(isinstance(row, Mapping) for row in content):
        return None
    first = content[0]
    if {"name", "count", "sum"} <= first.keys() and isinstance(first["name"], Mapping) and "split" in first["name"]:
        return _HELM_RUN
    if isinstance(first.get("spec"), Mapping) and any("sample_id" in row and "data" in row for row in content[1:]):
        return "openai-evals"
    if {"doc_id", "filtered_resps"} <= first.keys():
        return "lm-eval"
    if {"instance_id", "stats"} <= first.keys() and isinstance(first["stats"], list):
        return "helm"
    if {"question_id", "model", "judge", "judgment", "score", "turn"} <= first.keys():
        return "mt-bench"
    if {"input", "output", "expected", "tags"} <= first.keys() and isinstance(first.get("scores"), Mapping):
        outputs, expected = ({str(row.get(name)) for row in content} for name in ("output", "expected"))
        return None if outputs & expected and len(outputs | expected) <= _MOST_LABELS else "braintrust"
    return None


def read_harness(path: Path, content: Any) -> ImportedFile:
    """The judgements of a file.

    Raises
    ------
    InputError
        No line of it says how a sample did.
    """
    form = harness_of(content) or ""
    if form == _HELM_RUN:
        beside = path.with_name("per_instance_stats.json")
        raise InputError(str(path), "is of a run of HELM, and rates no sample", cure=f"axisjudge import {beside}")
    judgements, notes = _READERS[form](path, content)
    if not judgements:
        raise InputError(str(path), "holds no result of a sample", cure="write the file that has one line a sample")
    return ImportedFile(form, tuple(judgements), notes=tuple(notes))


def _openai(path: Path, events: list[Mapping[str, Any]]) -> tuple[list[Judgement], list[str]]:
    spec = events[0]["spec"]
    agent = ", ".join(map(str, spec.get("completion_fns") or ())) or None
    graded, other = [], 0
    for number, event in enumerate(events[1:], start=2):
        data = event.get("data")
        if event.get("type") not in _GRADED or not isinstance(data, Mapping):
            other += "sample_id" in event
            continue
        about = {"agent": agent, "task_id": str(event["sample_id"])}
        where, sample = f"{path}, line {number}", str(event["sample_id"])
        words = {"correct": data.get("correct")} if event["type"] == "match" else _measures(data)
        is_graded_by_model = event["type"] == "metrics" and "choice" in data
        for question, word in words.items():
            kind, rater = ("llm", "the eval's grader") if is_graded_by_model else ("rules", str(spec.get("base_eval")))
            graded.append(Judgement(where, sample, question, rater, _passed(word), kind, None, about))  # type: ignore[arg-type]
    return graded, [f"{other} events that grade nothing are left out"] if other else []


def _measures(data: Mapping[str, Any]) -> dict[str, Any]:
    words = {name: data[name] for name in ("choice", "score") if data.get(name) is not None}
    return words or {name: value for name, value in data.items() if isinstance(value, bool | int | float)}


def _lm_eval(path: Path, samples: list[Mapping[str, Any]]) -> tuple[list[Judgement], list[str]]:
    task = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.-]+$", "", path.stem)
    filters = {str(sample.get("filter")) for sample in samples}
    graded = []
    for number, sample in enumerate(samples, start=1):
        document = str(sample["doc_id"])
        for metric in sample.get("metrics") or _numbers(sample):
            value = sample.get(metric)
            if isinstance(value, bool | int | float):
                question = f"{metric}, {sample.get('filter')}" if len(filters) > 1 else metric
                about = {"task_id": f"{task}/{document}", "domain": task}
                where = f"{path}, line {number}"
                graded.append(Judgement(where, f"{task}/{document}", question, "lm-eval", value, "rules", None, about))
    return graded, ["the model that was tested is not named in this file"] if graded else []


def _numbers(sample: Mapping[str, Any]) -> Iterator[str]:
    """Metrics of versions that do not list them: numbers beside the documented fields."""
    return (name for name, value in sample.items() if isinstance(value, float) and not name.endswith(("_id", "_hash")))


def _helm(path: Path, instances: list[Mapping[str, Any]]) -> tuple[list[Judgement], list[str]]:
    graded, left = [], set()
    for number, instance in enumerate(instances, start=1):
        base = str(instance["instance_id"])
        perturbed = (instance.get("perturbation") or {}).get("name")
        thing = "/".join(map(str, filter(None, [base, perturbed])))
        trial = instance.get("train_trial_index", 0)
        for stat in instance["stats"]:
            name = stat["name"]["name"]
            if _OF_HARNESS.match(name):
                left.add(name)
                continue
            about = {"task_id": base, "cluster_id": base, "repeat": trial}
            graded.append(Judgement(f"{path}, {number}", thing, name, "HELM", stat.get("mean"), "rules", None, about))
    names = ", ".join(sorted(left)[:4])
    return graded, [f"{len(left)} measures that rate no output are left out ({names}, ...)"] if left else []


def _braintrust(path: Path, rows: list[Mapping[str, Any]]) -> tuple[list[Judgement], list[str]]:
    graded, none = [], 0
    for number, row in enumerate(rows, start=1):
        failed = (row.get("metadata") or {}).get("scorer_errors") or {}
        scores = dict.fromkeys(failed) | {**(row.get("scores") or {})}
        sample = str(row.get("id") or number)
        for name, score in scores.items():
            lost = "api_error" if name in failed else None
            none += score is None and not lost
            if score is not None or lost:
                kind, where = _SCORERS.get(name), f"{path}, row {number}"
                graded.append(Judgement(where, sample, name, name, score, kind, lost, {}))  # type: ignore[arg-type]
    empty = sum(not row.get("scores") for row in rows)
    left = {"scores are null, as their scorer did not apply,": none, "rows have no score": empty}
    return graded, [f"{count} {what} and are left out" for what, count in left.items() if count]


def _mt_bench(path: Path, rows: list[Mapping[str, Any]]) -> tuple[list[Judgement], list[str]]:
    """Scores of single answers; -1 is a reply in which no score was found."""
    graded = []
    for number, row in enumerate(rows, start=1):
        judge = row["judge"][0] if isinstance(row["judge"], list) else row["judge"]
        task, lost = str(row["question_id"]), "parse_error" if row["score"] in (-1, None) else None
        about = {"agent": row["model"], "task_id": task, "cluster_id": task, "rationale": row["judgment"]}
        thing, word = f"{row['model']}/{task}/{row['turn']}", None if lost else row["score"]
        graded.append(Judgement(f"{path}, line {number}", thing, "score", str(judge), word, "llm", lost, about))  # type: ignore[arg-type]
    return graded, []


_OF_SAMPLES = {"openai-evals": _openai, "lm-eval": _lm_eval, "helm": _helm}
_READERS = {**_OF_SAMPLES, "braintrust": _braintrust, "mt-bench": _mt_bench}


def _passed(word: Any) -> Any:
    return {True: "pass", False: "fail"}[word] if isinstance(word, bool) else word
