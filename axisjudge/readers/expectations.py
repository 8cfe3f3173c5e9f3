"""What a benchmark itself knows of a task: the actions, the words to be communicated, and what it checked of a run.

It is kept under ``expected`` in a trajectory's `meta`, which no judge is shown. Shapes:

- ``actions``: list of ``{"name", "arguments", "compare"}``, the agent's only; ``compare`` names the arguments that
  count, None means all;
- ``communicate``: list of ``{"text", "met"}``; ``met`` is None where the benchmark did not look;
- ``database_matches``: whether the final database was the expected one, None where that was not compared.

Sources: tau2-bench, src/tau2/data_model/tasks.py (EvaluationCriteria, Action) and simulation.py (RewardInfo);
tau-bench, tau_bench/types.py (Task, RewardResult). What is not of these shapes is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from axisjudge.readers.events import dict_of, listed

Expected = dict[str, Any]


def tau2_expectations(simulation: Mapping[str, Any], tasks: Any) -> Expected | None:
    """What tau2 knows of a simulation's task; None where neither its task nor its checks are at hand.

    What was checked of the run itself goes before the list of tasks, which may be of another edition.
    """
    task = next((one for one in _objects(tasks) if str(one.get("id")) == str(simulation.get("task_id"))), {})
    criteria, checked = dict_of(task, "evaluation_criteria"), dict_of(simulation, "reward_info")
    checks = [dict_of(check, "action") for check in _objects(checked.get("action_checks"))]
    if not criteria and not checks:
        return None
    stated = [
        {"text": str(one.get("info")), "met": one.get("met")} for one in _objects(checked.get("communicate_checks"))
    ]
    untold = [{"text": str(text), "met": None} for text in listed(criteria.get("communicate_info"))]
    in_basis = "DB" in (listed(checked.get("reward_basis") or criteria.get("reward_basis")) or ["DB"])
    return {
        "actions": list(_actions(checks or criteria.get("actions"), "arguments")),
        "communicate": stated or untold,
        "database_matches": dict_of(checked, "db_check").get("db_match") if in_basis else None,
    }


def tau_bench_expectations(run: Mapping[str, Any]) -> Expected | None:
    """What tau-bench knows of a run's task; None where the run does not hold its task.

    Where a task has outputs, the run keeps what became of them and drops whether the database matched.
    """
    details = dict_of(run, "info")
    task, judged = dict_of(details, "task"), dict_of(details, "reward_info")
    if not task:
        return None
    verdict = dict_of(judged, "info")
    met, reward = dict_of(verdict, "outputs"), verdict.get("r_actions")
    return {
        "actions": list(_actions(task.get("actions"), "kwargs")),
        "communicate": [{"text": str(text), "met": met.get(str(text))} for text in listed(task.get("outputs"))],
        "database_matches": None if reward is None else bool(reward),
    }


def _actions(actions: Any, arguments: str) -> Iterator[dict[str, Any]]:
    for action in _objects(actions):
        if isinstance(action.get("name"), str) and action.get("requestor") in (None, "assistant"):
            yield {
                "name": action["name"],
                "arguments": dict_of(action, arguments),
                "compare": action.get("compare_args"),
            }


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
