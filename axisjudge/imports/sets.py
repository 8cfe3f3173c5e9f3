"""Public label sets that hold people and models: AltTest's two files, AgentProcessBench's lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import from_json

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.imports.judgement import ImportedFile, ImportOptions, Judgement
from axisjudge.imports.recognise import who
from axisjudge.labels.agentprocessbench import PEOPLE as NOBODY
from axisjudge.labels.agentprocessbench import check_labels, recognises, step_labels
from axisjudge.labels.alttest import JUDGES, PEOPLE, is_annotations, named_items, one_question
from axisjudge.verdict import RaterKind

ALTTEST, AGENTPROCESSBENCH = "alttest", "agentprocessbench"
#: Folders in which AgentProcessBench keeps people's labels, and those of each judge under the judge's name.
_OF_PEOPLE, _OF_JUDGES = ("human", "AnswerOnly"), ("judges", "results")


def files_of(folder: Path) -> list[Path]:
    """The files of public sets in a folder, by their names or what they begin with; none if it holds no set."""
    folders = [folder, *sorted(inner for inner in folder.iterdir() if inner.is_dir())]
    if pairs := [file for each in folders for name in (PEOPLE, JUDGES) if (file := each / name).is_file()]:
        return pairs
    lines = sorted({*folder.glob("*/*.jsonl"), *folder.glob("*/*/*.jsonl")})
    return [file for file in lines if _starts_with_labels(file)]


def _starts_with_labels(file: Path) -> bool:
    with file.open("rb") as stream:
        try:
            return recognises(from_json(stream.readline()))
        except ValueError:
            return False


def is_alttest(content: object, path: Path) -> bool:
    """Whether parsed JSON maps annotators to items to labels, or one annotator's items to labels."""
    if path.name in (PEOPLE, JUDGES) and isinstance(content, dict):
        return True
    if not isinstance(content, dict) or not is_annotations(content):
        return False
    inside = {rater for labels in content.values() for rater in labels}  # by item, where these are names of raters
    return len(content) <= len(inside) or not any(map(who, inside)) or any(map(who, content))


def read_alttest_file(path: Path, content: Any, options: ImportOptions) -> ImportedFile:
    """The labels of one file; its name says whether people or models gave them.

    Raises
    ------
    InputError
        The file is of another form, or labels of one annotator are not said to be whose.
    """
    kind: RaterKind | None = {PEOPLE: "human", JUDGES: "llm"}.get(path.name)  # type: ignore[assignment]
    if not is_annotations(content):
        if any(isinstance(label, dict | list) for label in content.values()) or not content:
            raise InputError(str(path), "must map each annotator to items and their labels")
        if options.rater is None:
            raise InputError(
                str(path), "holds one annotator's labels and no name", cure="name the annotator with --rater"
            )
        content = {options.rater: content}
    name = path.resolve().parent.name if kind else path.stem
    judgements = [
        Judgement(f"{path}, {rater}, {item}", item, None, rater, label, kind, None, _fields(rater, kind, name))
        for rater, labels in content.items()
        for item, label in labels.items()
    ]
    return ImportedFile(ALTTEST, tuple(judgements))


def _fields(rater: str, kind: str | None, name: str) -> dict[str, Any]:
    return {"domain": name, "model": rater if kind == "llm" else None}


def with_names(judgements: Iterable[Judgement], of_set: Sequence[Judgement]) -> list[Judgement]:
    """Judgements with what the names of all the set's items say: thing, question, cluster, agent."""
    items = named_items(dict.fromkeys(one.thing for one in of_set))
    about = {
        name: {"task_id": item.cluster_id, "cluster_id": item.cluster_id, "agent": item.agent}
        for name, item in items.items()
    }
    labels = [one.word for one in of_set]
    only = one_question(labels, str(of_set[0].fields["domain"])) if of_set else ""
    return [
        one._replace(
            thing=items[one.thing].trajectory_id,
            question=items[one.thing].question or only,
            fields={**one.fields, **about[one.thing]},
        )
        for one in judgements
    ]


def is_agentprocessbench(content: object) -> bool:
    """Whether parsed lines are runs with step labels."""
    return isinstance(content, list) and bool(content) and all(recognises(record) for record in content)


def read_agentprocessbench_file(path: Path, records: Sequence[dict[str, Any]], options: ImportOptions) -> ImportedFile:
    """Step and final labels of one file, by people or by one judge.

    The folder says who labelled as its authors lay it out; elsewhere the records name a judge, or nobody: people.

    Raises
    ------
    InputError
        A record is of another form, or it is not said what the annotator is.
    """
    for number, record in enumerate(records, start=1):
        check_labels(record, f"{path}:{number}")
    folder = path.resolve().parent
    model = records[0].get("annotator")
    in_judges = folder.parent.name in _OF_JUDGES
    rater = options.rater or (folder.name if in_judges else str(model) if model else NOBODY)
    kind = options.kinds.get(rater) or _kind(folder, in_judges, model) or options.kind or (None if model else "human")
    if kind is None:
        cure = f"say --kind llm or human, or --kind {rater!r}=llm"
        raise InputError(str(path), "does not say what its annotator is", rater, cure)
    family = kind if kind in ("human", "rules") else family_of(rater) or family_of(model) or rater
    who = {"rater": rater, "rater_kind": kind, "family": family, "model": None if kind == "human" else model}
    table = step_labels(records, **who)
    lost = table.filter(pl.col("status") != "ok").height
    return ImportedFile(AGENTPROCESSBENCH, ratings=table, notes=(f"{lost} labels did not come",) if lost else ())


def _kind(folder: Path, in_judges: bool, model: object) -> str | None:
    if in_judges or family_of(str(model) if model else None):
        return "llm"
    return "human" if folder.name in _OF_PEOPLE else None
