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
from collections.abc import Mapping, Sequence
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
    one = content[0] if isinstance(content, list) and content else content
    names = {*one} if isinstance(one, Mapping) else set()
    if one is content and any(of <= names for of in _SUMS) and not any(isinstance(each, list) for each in one.values()):
        beside = str(path).replace("eval-set/", "eval-set-scores/").replace("pref-sets/", "pref-sets-scores/")
        beside = beside if beside != str(path) else str(path.with_name(f"{path.stem}_outputs.jsonl"))
        cure = f"take the file of single pairs: axisjudge check {shlex.quote(beside)}"
        raise InputError(str(path), "holds what RewardBench sums over pairs, and no verdict on any", cure=cure)
    if names != {"chosen", "rejected"} and not any({"results", *of} <= names for of in _BESIDE):
        return None
    columns = content if one is content else {name: [row.get(name) for row in content] for name in names}
    if not (results := _results(columns)):
        return None
    numbers = [str(n) for n, _ in enumerate(results, start=1)]
    cells: dict[str, Any] = {"id": numbers, "model": columns.get("model") or re.sub(r"_(outputs|all)$", "", path.stem)}
    for name in ("subset", "prompt", "text_chosen", "model", "id"):
        cell = columns.get(name) or cells.get(name)
        cells[name] = cell if isinstance(cell, list) else [cell] * len(results)
    if None in cells["id"] or len({*map(str, cells["id"])}) < len(results):
        cells["id"] = numbers
    return _ratings(results, cells, "llm" if "Generative" in str(columns.get("model_type")) else "decision_model")


def _ratings(
    results: Sequence[Any], cells: Mapping[str, list[Any]], kind: str
) -> tuple[list[dict[str, Any]], list[str]]:
    rows: list[dict[str, Any]] = []
    first: dict[str, str] = {}
    notes = ["RewardBench: the truth of every pair (gold) is the chosen answer"]
    for n, result in enumerate(results):
        about = {name: column[n] for name, column in cells.items()}
        if result is None or str(about["subset"]).casefold() == "ties":
            continue
        text, prompt = about["text_chosen"], about["prompt"]
        prompt = text[0].get("content") if not prompt and isinstance(text, list) else prompt
        pair = {"id": str(about["id"]), "subset": about["subset"], "question": "preferred"}
        pair |= {"query_id": first.setdefault(str(prompt), str(n + 1))} if prompt else {}
        rows.append({**pair, "rater": str(about["model"]), "rater_kind": kind, "verdict": _WORDS.get(result)})
        rows.append({**pair, "rater": "gold", "rater_kind": "human", "verdict": _WORDS[1]})
    if left := len(results) - len(rows) // 2:
        notes.append(f"{left} rows of Ties, which RewardBench scores all together, are left out")
    if n_open := sum(row["verdict"] is None for row in rows):
        notes.append(f"{n_open} results between 0 and 1 (ties, or answers that could not be read) are no verdict")
    return rows, notes


def _results(columns: Mapping[str, Any]) -> list[Any]:
    """Of each pair whether the chosen answer is preferred: as the file says it, else by its two scores."""
    if (results := columns.get("results")) is None:
        pairs = [*zip(columns["chosen"], columns["rejected"], strict=False)]
        scores = [each[0] if isinstance(each, list) and len(each) == 1 else each for pair in pairs for each in pair]
        numbers = all(isinstance(each, int | float) for each in scores)
        return [int(chosen > rejected) for chosen, rejected in pairs] if numbers else []
    lists = [each for each in columns.values() if isinstance(each, list)]
    shares = isinstance(results, list) and all(
        each is None or (isinstance(each, int | float) and 0 <= each <= 1) for each in results
    )
    return results if shares and all(len(each) == len(results) for each in lists) else []
