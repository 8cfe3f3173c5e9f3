"""One run from greeting to end."""

from __future__ import annotations

from collections.abc import Callable

from generator import flows_address, flows_cancel, flows_goods, flows_limits, flows_questions
from generator.closing import close, stop_early
from generator.conversation import Ended, Run
from generator.opening import Desk, open_conversation, order_before_identity
from generator.tasks import Request
from generator.wording import capital, thanks, uncapital

Wish = Callable[[Desk, Request], str]
Flow = Callable[[Desk, Request], None]

#: kind of request -> (how the customer words it, how it goes)
FLOWS: dict[str, tuple[Wish, Flow]] = {
    "cancel_line": (flows_cancel.wish_cancel_line, flows_cancel.cancel_line),
    "cancel_order": (flows_cancel.wish_cancel_order, flows_cancel.cancel_order),
    "return": (flows_goods.wish_return, flows_goods.start_return),
    "other_card": (flows_goods.wish_return, flows_goods.start_return),
    "exchange": (flows_goods.wish_exchange, flows_goods.change_items),
    "swap": (flows_goods.wish_exchange, flows_goods.change_items),
    "redirect": (flows_address.wish_redirect, flows_address.redirect),
    "refund_status": (flows_questions.wish_refund_status, flows_questions.refund_status),
    "product_question": (flows_questions.wish_product_question, flows_questions.product_question),
    "parcel": (flows_questions.wish_parcel, flows_questions.parcel),
    "late_parcel": (flows_questions.wish_late_parcel, flows_questions.late_parcel),
    "beyond_tools": (flows_limits.wish_beyond_tools, flows_limits.beyond_tools),
    "too_late_to_cancel": (flows_limits.wish_too_late_to_cancel, flows_limits.too_late_to_cancel),
    "too_late_to_return": (flows_limits.wish_too_late_to_return, flows_limits.too_late_to_return),
    "other_person": (flows_limits.wish_other_person, flows_limits.other_person),
    "rules_question": (flows_questions.wish_rules_question, flows_limits.rules_question),
}
REFUSALS = ("too_late_to_cancel", "too_late_to_return", "other_person")


def play(run: Run) -> str:
    """Let the run happen; what comes back is how it ended."""
    if run.takes("broke_off"):
        run.fault("broke_off", termination=[])
        return "agent_error"
    try:
        _converse(run)
    except Ended as end:
        return str(end)
    raise AssertionError("a run ends by Ended")


def _converse(run: Run) -> None:
    desk, requests = Desk(run), run.task.requests
    wishes = [capital(FLOWS[request.kind][0](desk, request)) for request in requests]
    announced = len(requests) > 1 and ("stopped_early" in run.plan or run.dice.chance(0.4))
    open_conversation(desk, wishes, announced)
    order_before_identity(desk, requests[0])
    for number, request in enumerate(requests):
        if number:
            if run.takes("stopped_early"):
                stop_early(desk)
            _next_wish(run, wishes[number], announced)
        run.upset = False
        FLOWS[request.kind][1](desk, request)
    if requests[-1].kind in REFUSALS:
        run.near_miss("ends_in_refusal", run.last_step)
    close(desk)


def _next_wish(run: Run, wish: str, announced: bool) -> None:
    if run.messages[-1]["role"] == "user":
        run.say("What else can I do?", "Is there something else?", f"{run.dice.pick(run.agent.offers_more)}")
    if announced:
        if run.upset:
            run.user("And my other question?", "Then at least my other question, please.")
            return
        run.user(
            "And my other question?",
            "Good. Now the second thing I wrote about?",
            f"{thanks(run)} And the other matter?",
        )
        return
    word = thanks(run)
    step = run.user(f"{word} Oh, one more thing. {wish}", f"{word} Also, {uncapital(wish)}", f"{word} {wish}")
    run.near_miss("thanks_then_more", step, run.next_step)
