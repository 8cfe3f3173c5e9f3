"""RewardBench's results, pair by pair: whether a reward model, or a judge, prefers the answer that was chosen.

A result is 1 (chosen) or 0 (rejected); between them the model named no single winner, or its answer could not be read,
which is no verdict. The truth of every pair is that the chosen answer is better. Pairs of one prompt belong together.

Source: allenai/reward-bench 05a9005e, ``scripts/run_rm.py``, ``run_dpo.py``, ``run_generative.py``, ``run_v2.py`` and
``run_generative_v2.py`` (``eval-set-scores/MODEL.json``), ``rewardbench/rewardbench.py`` (``MODEL_outputs.jsonl``, and
``MODEL_all.jsonl`` of scores alone).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError

#: What stands beside the results in its files.
_BESIDE = ({"text_chosen", "text_rejected"}, {"texts_chosen", "texts_rejected"}, {"scores", "num_correct"})
#: What stands in its files of sums.
_SUMS = ({"model", "model_type", "chat_template"}, {"accuracy", "num_prompts", "extra_results"})
_WORDS = {1: "chosen", 0: "rejected"}


def pairs_in(content: Any, path: Path) -> tuple[list[dict[str, Any]], list[str]] | None:
    """The ratings of a file, a row each, and what is said of them; None where it is none of RewardBench's.

    Raises
    ------
    InputError
        The file holds RewardBench's sums over pairs.
    """
    columns = _columns(content)
    if any(names <= columns.keys() for names in _SUMS) and not any(isinstance(each, list) for each in columns.values()):
        beside = str(path).replace("eval-set/", "eval-set-scores/").replace("pref-sets/", "pref-sets-scores/")
        beside = beside if beside != str(path) else str(path.with_name(f"{path.stem}_outputs.jsonl"))
        cure = f"take the file of single pairs: axisjudge check {shlex.quote(beside)}"
        raise InputError(str(path), "holds what RewardBench sums over pairs, and no verdict on any", cure=cure)
    if not (results := _results(columns)):
        return None
    nothing = [None] * len(results)
    asked = [each[0].get("content") if _is_chat(each) else None for each in columns.get("text_chosen") or nothing]
    subsets, ids, prompts = (
        columns.get(n) or each for n, each in (("subset", nothing), ("id", nothing), ("prompt", asked))
    )
    numbers = [str(n) for n, _ in enumerate(results, start=1)]
    ids = ids if None not in ids and len({*map(str, ids)}) == len(ids) else numbers
    first = {str(prompt): number for number, prompt in zip(reversed(numbers), reversed(prompts), strict=True)}
    model = columns.get("model") or re.sub(r"_(outputs|all)$", "", path.stem)
    kind = "llm" if "Generative" in str(columns.get("model_type")) else "decision_model"
    rows, notes = [], ["RewardBench: the truth of every pair (gold) is the chosen answer"]
    for name, subset, prompt, result in zip(ids, subsets, prompts, results, strict=True):
        if result is None or str(subset).casefold() == "ties":
            continue
        pair = {"id": str(name), "subset": subset, "question": "preferred"}
        pair |= {"query_id": first[str(prompt)]} if prompt else {}
        rows.append({**pair, "rater": str(model), "rater_kind": kind, "verdict": _WORDS.get(result)})
        rows.append({**pair, "rater": "gold", "rater_kind": "human", "verdict": _WORDS[1]})
    if left := len(results) - len(rows) // 2:
        notes.append(f"{left} rows of Ties, which RewardBench scores all together, are left out")
    if n_open := sum(row["verdict"] is None for row in rows):
        notes.append(f"{n_open} results between 0 and 1 (ties, or answers that could not be read) are no verdict")
    return rows, notes


def _columns(content: Any) -> dict[str, Any]:
    """What a file says of each pair in a list, and of all pairs at once; nothing where it is of another form."""
    if isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content):
        return {name: [row.get(name) for row in content] for name in content[0]}
    return dict(content) if isinstance(content, Mapping) else {}


def _results(columns: Mapping[str, Any]) -> list[Any]:
    """Of each pair whether the chosen answer is preferred: as the file says it, else by its two scores."""
    names = {*columns}
    if names == {*_WORDS.values()}:
        scores = [[_number(each) for each in columns[name]] for name in ("chosen", "rejected")]
        if all(isinstance(each, int | float) for cells in scores for each in cells):
            return [int(chosen > rejected) for chosen, rejected in zip(*scores, strict=True)]
    results = columns.get("results")
    if not any(beside <= names for beside in _BESIDE) or not isinstance(results, list):
        return []
    lists = [cells for cells in columns.values() if isinstance(cells, list)]
    whole = all(len(cells) == len(results) for cells in lists)
    shares = all(each is None or (isinstance(each, int | float) and 0 <= each <= 1) for each in results)
    return results if whole and shares else []


def _is_chat(text: Any) -> bool:
    return isinstance(text, list) and bool(text) and isinstance(text[0], Mapping)


def _number(score: Any) -> Any:
    """A score, which some reward models write as a list of one."""
    return score[0] if isinstance(score, list) and len(score) == 1 else score
