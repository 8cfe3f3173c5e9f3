"""Scenarios and their goal checks from files, AXIS JSON or the same in YAML, and weights from axis.config.json."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.scores.axis.goal import GoalCheck
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, DIMENSIONS, checked_weights
from axisjudge.scores.axis.transcript.javascript import is_number
from axisjudge.trajectory import Trajectory

_CHECKS = ("checks", "judge", "rubric")
#: Fields of AXIS scenarios that say how a run is made, not how it is judged.
_OF_THE_RUN = {
    *("skip", "setup", "teardown", "agents", "skills", "mcp_servers", "limits", "artifacts", "variants", "key"),
    "$schema",
}


@dataclass(frozen=True)
class Scenario:
    """A task with its goal checks; `holistic` where one text describes the goal as a whole."""

    name: str
    prompt: str
    checks: tuple[GoalCheck, ...]
    holistic: bool = False


def read_scenario(path: str | Path) -> Scenario:
    """A scenario file, JSON or YAML: name, prompt, and checks (also called judge, or rubric).

    Raises
    ------
    InputError
        When the file cannot be read or breaks a rule.
    """
    path = Path(path)
    value = _loaded(path)
    if not isinstance(value, dict):
        raise InputError(str(path), "must be an object with name, prompt and checks", type(value).__name__)
    if unknown := sorted(map(str, set(value) - {"name", "prompt", *_CHECKS} - _OF_THE_RUN)):
        raise InputError(str(path), f"fields are name, prompt, {', '.join(_CHECKS)}", unknown[0])
    return scenario_of(value, str(path), name=path.stem)


def scenario_of(value: dict[str, Any], where: str, *, name: str = "") -> Scenario:
    """A scenario from its fields; `name` where it gives none."""
    given = [key for key in _CHECKS if key in value]
    if len(given) != 1:
        raise InputError(where, "must have checks once, as a text or a list", given or None, "add checks:")
    stated = value[given[0]]
    title = value.get("name") or value.get("scenarioName") or name
    checks, holistic = checks_of(stated, f"{where}, {given[0]}")
    return Scenario(str(title), str(value.get("prompt") or ""), checks, holistic)


def checks_of(stated: Any, where: str) -> tuple[tuple[GoalCheck, ...], bool]:
    """Checks from a text (one check of the goal as a whole) or a list of texts and ``{check, weight}``.

    Checks without a weight share equally what the others leave of 1.
    """
    if isinstance(stated, str):
        return (GoalCheck(stated, 1.0),), True
    if not isinstance(stated, list) or not stated:
        raise InputError(where, "must be a text or a list of checks", stated)
    items: list[dict[str, Any]] = [{"check": item} if isinstance(item, str) else item for item in stated]
    for number, item in enumerate(items, 1):
        _check_item(item, f"{where} {number}")
    given = [item["weight"] for item in items if item.get("weight") is not None]
    shared = max(0.0, 1 - sum(given)) / max(1, len(items) - len(given))
    weights = [shared if item.get("weight") is None else item["weight"] for item in items]
    if sum(weights) == 0:
        raise InputError(where, "weights must not all be 0", weights)
    return tuple(GoalCheck(item["check"], weight) for item, weight in zip(items, weights, strict=True)), False


def scenario_for(trajectory: Trajectory, scenarios: Sequence[Scenario]) -> Scenario | None:
    """A run's scenario: the only one, of several the one that bears its task's name, of none the one it carries.

    Raises
    ------
    InputError
        None of several bears its task's name.
    """
    if len(scenarios) == 1:
        return scenarios[0]
    if scenarios:
        named = {each.name: each for each in scenarios}
        if trajectory.task_id not in named:
            cure = "name each scenario after its task, or give one for all"
            raise InputError(
                f"trajectory {trajectory.id}", "no scenario bears its task's name", trajectory.task_id, cure
            )
        return named[trajectory.task_id]
    carried = trajectory.meta.get("axis_scenario") or {}
    checks = carried.get("rubric", carried.get("judge"))
    if not checks:
        return None
    fields = {"name": trajectory.task_id, "prompt": carried.get("prompt"), "checks": checks}
    return scenario_of(fields, f"trajectory {trajectory.id}, scenario")


def read_weights(path: str | Path) -> dict[str, float]:
    """The weights of the four dimensions in an axis.config.json (``settings.scoring_weights``), else the defaults.

    Raises
    ------
    InputError
        When they are no numbers of 0 or more, are all 0, do not add up to 1 within .01, or stand somewhere else.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise InputError(str(path), "must be an axis.config.json", cure="write the config's settings as JSON")
    value = _loaded(path)
    if not isinstance(value, dict):
        raise InputError(str(path), "must be an object", type(value).__name__)
    settings = value["settings"] if isinstance(value.get("settings"), dict) else {}
    given = settings.pop("scoring_weights", DEFAULT_WEIGHTS)
    if (misplaced := _weights_in(value)) is not None:
        rule = "holds weights where they are not read"
        raise InputError(str(path), rule, misplaced, "write them under settings, scoring_weights")
    where = f"{path}, settings.scoring_weights"
    if not isinstance(given, dict):
        raise InputError(where, "must be an object", given)
    return checked_weights(given, where)


def _weights_in(value: Any, path: str = "") -> str | None:
    """Where something like the weights of the dimensions stands, as a path of keys."""
    if isinstance(value, list):
        return next((weights for item in value if (weights := _weights_in(item, path)) is not None), None)
    if not isinstance(value, dict):
        return None
    if is_number(value.get("weight")) and any(isinstance(one, str) and one in DIMENSIONS for one in value.values()):
        return path or "weight"
    for key, inner in value.items():
        here = f"{path}.{key}" if path else str(key)
        if re.fullmatch(r"\w*weights|\w*scoring\w*weight", re.sub(r"[\W_]", "", str(key)).lower()):
            return here
        weight = inner.get("weight") if isinstance(inner, dict) else inner
        if str(key).lower() in DIMENSIONS and is_number(weight):
            return path or here
        if (weights := _weights_in(inner, here)) is not None:
            return weights
    return None


def _check_item(item: Any, where: str) -> None:
    if not isinstance(item, dict) or not isinstance(item.get("check"), str) or not item["check"].strip():
        raise InputError(where, "must be a text, or an object with a text as its check", item)
    weight = item.get("weight")
    if weight is not None and (not is_number(weight) or not math.isfinite(weight) or weight < 0):
        raise InputError(f"{where}, weight", "must be a number, 0 or greater", weight)


def _loaded(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), "must be UTF-8 text", error.reason) from error
    if path.suffix in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(str(path), f"is not valid YAML ({' '.join(str(error).split())})") from error
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(str(path), f"is not valid JSON ({error})") from error
