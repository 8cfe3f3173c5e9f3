"""AgentProcessBench: people's labels of every agent step and of the outcome, and the same by 20 judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of
from axisjudge.labels.own import Read, Terms, by_person, grouped, of_one_rater, ratings_of
from axisjudge.labels.reading import read_json_lines
from axisjudge.ratings.edge import completed
from axisjudge.verdict import Rating, item_id

#: Questions: the label of each step, and the label of the final result.
STEP, FINAL = "step", "final"

_WORDS = {1: "+1", 0: "0", -1: "-1"}
_API_FAILURES = re.compile(r"llm_annotate_failed: (API|BadRequest|RateLimit)")


def read_agentprocessbench(folder: str | Path, subset: str) -> pl.DataFrame:
    """Step and final labels of one subset as a ratings table.

    Parameters
    ----------
    folder : path
        Holds ``human/<subset>_final.jsonl`` and ``judges/<judge>/<subset>.jsonl``.
    subset : str
        Any that the folder holds: ``tau2`` (customer service), ``hotpotqa`` (questions answered by search), ``bfcl``.

    Returns
    -------
    polars.DataFrame
        A ratings table on the scale ``step`` (+1, 0, -1). Question ``step`` has one item for each agent message
        (`step_index` is its position in the message list), question ``final`` one for each trajectory. `task_id` and
        `cluster_id` are the query, which five runs share; the agents are not named.

    Raises
    ------
    InputError
        A file is missing or broken, the folder has no such subset, or a judge labelled a step that people did not.

    Notes
    -----
    A step without a judge's label is a lost rating. Where a whole call failed, the source fills in the final label 0
    and says so only in a comment; that final label is lost too (``parse_error`` or ``api_error``).

    References
    ----------
    RUCBM/AgentProcessBench, ANNOTATION_GUIDE_v1.md: one step is one message of the agent's.
    """
    root = Path(folder)
    if known := subsets(root):
        one_of("subset", subset, known)
    people = read_json_lines(root / "human" / f"{subset}_final.jsonl")
    steps = {(record["record_id"], step) for record in people for step in record["step_labels"]}
    tables = [step_labels(people, rater="people", rater_kind="human", family="human", model=None)]
    paths = sorted(root.glob(f"judges/*/{subset}.jsonl"))
    if not paths:
        cure = "fetch the data set with `axisjudge data fetch agentprocessbench`"
        raise InputError(str(root / "judges"), f"holds no judge's labels of {subset}", cure=cure)
    for path in paths:
        records, judge = read_json_lines(path), path.parent.name
        _same_steps(records, steps, path)
        model = records[0]["annotator"]
        family = family_of(judge) or judge
        tables.append(step_labels(records, rater=judge, rater_kind="llm", family=family, model=model))
    return pl.concat(tables)


def subsets(folder: str | Path) -> tuple[str, ...]:
    """The subsets that people labelled in a folder of this form."""
    names = [path.name.removesuffix("_final.jsonl") for path in Path(folder).glob("human/*_final.jsonl")]
    return tuple(sorted(names))


def step_labels(records: Iterable[Mapping[str, Any]], **rater: str | None) -> pl.DataFrame:
    """One rater's records as a ratings table; `rater` holds the fields that say who rated."""
    rows = [row for record in records for row in _rows(record)]
    names = ("trajectory_id", "step_index", "item_id", "question", "value", "verdict", "status", "rationale")
    of_run = ("task_id", "cluster_id", "domain", "created_at")
    columns = dict(zip((*names, *of_run), zip(*rows, strict=True), strict=True))
    return completed(columns, scale="step", **rater)


def _rows(record: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    run = record["record_id"]
    query = f"{record['data_source']}:{record['query_index']}"
    of_run = (query, query, record["data_source"].rpartition("_")[2], record.get("updated_at"))
    why = record.get("explanations") or {}
    comment = record.get("comment") or ""
    lost = "api_error" if _API_FAILURES.match(comment) else "parse_error"
    for step, label in record["step_labels"].items():
        reason = (why.get("steps") or {}).get(step) or None
        yield run, int(step), item_id(run, int(step)), STEP, *_verdict_of(label, lost), reason, *of_run
    final = None if comment.startswith("llm_annotate_failed") else record["final_label"]
    yield run, None, run, FINAL, *_verdict_of(final, lost), why.get("final") or None, *of_run


def _verdict_of(label: int | None, lost: str) -> tuple[float | None, str | None, str]:
    return (None, None, lost) if label is None else (float(label), _WORDS[label], "ok")


def _same_steps(records: Iterable[Mapping[str, Any]], steps: set[tuple[str, str]], path: Path) -> None:
    """Every judge must have been asked exactly the steps that people labelled, or else accuracies differ in base."""
    asked = {(record["record_id"], step) for record in records for step in record["step_labels"]}
    if different := asked ^ steps:
        run, step = min(different)
        raise InputError(str(path), "must label the steps that people labelled, no more and no fewer", f"{run}#{step}")


# AgentProcessBench's step labels: one line a run, a label -1, 0 or +1 for each agent step, and a final label.

#: What stands for the people where nobody is named.
PEOPLE = "people"
_KEYS = {"record_id", "step_labels", "final_label"}


def recognises(record: object) -> bool:
    """Whether a parsed line is a run with step labels."""
    return isinstance(record, dict) and record.keys() >= _KEYS


def check_labels(record: dict[str, Any], where: str) -> None:
    """Refuse a record of another form.

    Raises
    ------
    InputError
        A member is missing, steps are not mapped to labels, or a label is none of -1, 0, 1 and null.
    """
    if absent := sorted((_KEYS | {"data_source", "query_index"}) - record.keys()):
        raise InputError(where, "a run with step labels lacks", ", ".join(absent))
    steps = record["step_labels"]
    if not isinstance(steps, dict) or not all(step.isdecimal() for step in steps):
        raise InputError(where, "step_labels must map the position of each step to its label", steps)
    labels = [*steps.values(), record["final_label"]]
    for label in labels:
        if label is not None and (isinstance(label, str | list | dict) or label not in (-1, 0, 1)):
            raise InputError(where, "a label is -1, 0 or 1", label)


def read_agentprocessbench_steps(path: Path, terms: Terms) -> Read:
    """Step and final labels of one file as ratings on the scale ``step``.

    Raises
    ------
    InputError
        A line is of another form, or a label is not -1, 0 or 1.
    """
    records = read_json_lines(path)
    for number, record in enumerate(records, start=1):
        check_labels(record, f"{path}:{number}")
    table = step_labels(records, **by_person(terms.rater or PEOPLE), model=None)
    ratings = ratings_of(table)
    lost = sum(rating.status != "ok" for rating in ratings)
    return ratings, [f"{lost} steps have no label and are kept as lost"] if lost else []


def write_agentprocessbench_steps(ratings: Sequence[Rating], _: Terms) -> str:
    """One line a run; notes become explanations.

    Raises
    ------
    InputError
        There are several raters, or labels that are not of steps and final results.
    """
    of_one_rater(ratings, "AgentProcessBench")
    if bad := [rating for rating in ratings if rating.question not in (STEP, FINAL) or rating.scale != "step"]:
        rule = f"AgentProcessBench holds the questions {STEP} and {FINAL} on the scale step alone"
        raise InputError("labels", rule, bad[0].question)
    runs = grouped(ratings, "trajectory_id").items()
    return "".join(json.dumps(_line(run, labels), ensure_ascii=False) + "\n" for run, labels in runs)


def _line(run: str, labels: Sequence[Rating]) -> dict[str, Any]:
    first = labels[0]
    source, _, query = (first.task_id or run).rpartition(":")
    by_step = {label.step_index: label for label in labels}
    final = by_step.pop(None, None)
    notes = {str(step): label.rationale for step, label in by_step.items() if label.rationale is not None}
    return {
        "record_id": run,
        "data_source": source,
        "query_index": query,
        "step_labels": {str(step): _number(label) for step, label in by_step.items()},
        "final_label": None if final is None else _number(final),
        "explanations": {"steps": notes, "final": None if final is None else final.rationale},
        "updated_at": first.created_at,
    }


def _number(label: Rating) -> int | None:
    return None if label.value is None else int(label.value)
