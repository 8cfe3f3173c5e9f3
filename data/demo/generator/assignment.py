"""Which fault is planted in which run: a matching of each agent's faults to the tasks on which they can happen."""

from __future__ import annotations

from generator.agents import Agent
from generator.dice import Dice
from generator.kinds import FAULTS
from generator.tasks import Request, Task

CANCELS = ("cancel_line", "cancel_order")
ITEM_CHANGES = ("exchange", "swap")
CHANGES = (*CANCELS, "return", *ITEM_CHANGES, "redirect", "late_parcel")
WITH_ORDER = (*CHANGES, "other_card", "refund_status", "parcel", "too_late_to_cancel", "too_late_to_return")

#: faults after which a run does not reach its ordinary end
CUTS_SHORT = (
    "broke_off",
    "stopped_early",
    "promised_not_done",
    "asks_again_and_again",
    "needless_handover",
    "loops_until_cut",
    "error_taken_for_success",
    "calls_after_goodbye",
    "drawn_out_ending",
    "same_failing_call",
    "invented_email",
)

#: kind of fault -> kinds of request in which it can happen
HAPPENS_IN: dict[str, tuple[str, ...]] = {
    "coarse_tool": ("cancel_line",),
    "misreported_scope": ("cancel_line",),
    "wrong_order": ("cancel_line",),
    "wrong_address_tool": ("redirect",),
    "garbled_address": ("redirect",),
    "return_for_exchange": ("exchange",),
    "answered_without_lookup": ("refund_status",),
    "same_failing_call": WITH_ORDER,
    "invented_email": WITH_ORDER,
    "invented_order_id": WITH_ORDER,
    "order_before_identity": WITH_ORDER,
    "unknown_tool": (*WITH_ORDER, "product_question"),
    "wrong_variant": ITEM_CHANGES,
    "product_id_as_sku": ITEM_CHANGES,
    "sku_before_lookup": ITEM_CHANGES,
    "error_taken_for_success": ITEM_CHANGES,
    "word_not_allowed": CANCELS,
    "missing_argument": ("cancel_line", "cancel_order", "return", "exchange", "swap"),
    "credit_beyond_rule": ("late_parcel",),
    "change_before_yes": (*CANCELS, *ITEM_CHANGES, "late_parcel"),
    "promised_not_done": CHANGES,
    "asks_again_and_again": CHANGES,
    "needless_handover": CHANGES,
    "loops_until_cut": CHANGES,
    "changed_without_reading": ("cancel_order",),
    "write_for_question": ("cancel_order",),
    "return_before_terms": ("return",),
    "repeated_write": ("cancel_order", "late_parcel", "swap", "return"),
    "piecemeal_exchange": ("exchange",),
    "amount_misread": ("cancel_line", "cancel_order", "refund_status"),
    "status_misread": ("refund_status", "parcel"),
    "wrong_row": ("exchange", "product_question"),
    "date_misread": ("parcel", "return"),
    "count_misread": ("product_question",),
    "wrong_sum": ("cancel_line", "return"),
    "advice_against_rules": ("return", "refund_status"),
    "refused_though_allowed": ("return", "exchange"),
}


def fits(kind: str, task: Task) -> bool:
    """Whether the fault can happen in a run of the task."""
    if kind == "broke_off":
        return True
    if kind == "stopped_early":
        return len(task.requests) > 1 and task.requests[0].kind not in ("beyond_tools", "product_question")
    if kind in ("calls_after_goodbye", "drawn_out_ending"):
        return task.requests[-1].kind not in ("beyond_tools", "rules_question")
    if kind == "order_before_identity":
        return task.requests[0].kind in HAPPENS_IN[kind]
    return any(request.kind in HAPPENS_IN[kind] and _has_what_it_takes(kind, request) for request in task.requests)


def _has_what_it_takes(kind: str, request: Request) -> bool:
    """Conditions beyond the kind of request."""
    if kind == "error_taken_for_success":
        return "first_choice" in request.facts
    if kind in ("wrong_sum", "piecemeal_exchange"):
        return len(request.lines) > 1
    if kind in ("coarse_tool", "misreported_scope", "wrong_order", "amount_misread"):
        return len(request.lines) == 1 or request.kind == "cancel_order"
    if kind == "wrong_address_tool":
        return not request.facts["also_book"]
    return True


def assign(agent: Agent, tasks: list[Task], dice: Dice) -> dict[str, list[str]]:
    """Task id -> the faults planted in the agent's run, at most one each.

    Raises
    ------
    LookupError
        The agent has a fault that finds no task.
    """
    kinds = dice.shuffled([kind for kind, times in agent.faults.items() for _ in range(times)])
    preference = [dice.shuffled([n for n, task in enumerate(tasks) if fits(kind, task)]) for kind in kinds]
    holder: dict[int, int] = {}

    def place(fault: int, seen: set[int]) -> bool:
        for task in preference[fault]:
            if task not in seen:
                seen.add(task)
                if task not in holder or place(holder[task], seen):
                    holder[task] = fault
                    return True
        return False

    for fault, kind in enumerate(kinds):
        if not place(fault, set()):
            raise LookupError(f"{agent.name}: no task left for {kind}")
    plan = {tasks[task].task_id: [kinds[fault]] for task, fault in holder.items()}
    for kind in agent.second_faults:
        free = [t for t in tasks if len(plan.get(t.task_id, [])) == 1 and goes_with(kind, plan[t.task_id][0], t)]
        plan[dice.pick(free).task_id].append(kind)
    return plan


def goes_with(kind: str, first: str, task: Task) -> bool:
    """Whether a second fault can still happen beside the first: on another axis, in a run that gets that far."""
    apart = not set(FAULTS[kind]) & set(FAULTS[first])
    return apart and first not in CUTS_SHORT and fits(kind, task)
