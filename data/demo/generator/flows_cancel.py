"""Cancelling lines and whole orders."""

from __future__ import annotations

from generator.catalogue import Record
from generator.changes import ask_for_yes, look_again, make_change
from generator.conversation import Outcome, Run
from generator.opening import Desk
from generator.tasks import Request
from generator.wording import (
    REASON_LABELS,
    REASON_WORDS,
    capital,
    full,
    joined,
    method_name,
    misread_amount,
    money,
    money_in_words,
    opener,
    the,
    uncapital,
)


def wish_cancel_line(desk: Desk, request: Request) -> str:
    run, dice = desk.run, desk.run.dice
    items = joined([the(line, dice) for line in request.lines])
    because = dice.pick(REASON_WORDS[request.facts["reason"]])
    order = desk.order_words(request)
    if in_advance(desk, request):
        return (
            f"please cancel {joined([full(line) for line in request.lines])} in {order}, nothing else, because "
            f"{because}. "
            f"The money can go back to where it came from. That is everything you need, so go ahead."
        )
    reason = f", {because}" if not asks_reason(run, request) else ""
    return dice.pick(
        (
            f"I'd like to take {items} out of {order}{reason}. Everything else should still come.",
            f"can you cancel {items} from {order}{reason}? Only that, please keep the rest.",
            f"{items} in {order}: I don't need that any more{reason}. The rest I still want.",
        )
    )


def in_advance(desk: Desk, request: Request) -> bool:
    """Whether the customer says yes in the first message; decided once per request."""
    if "in_advance" not in request.facts:
        blocked = {"change_before_yes", "promised_not_done", "asks_again_and_again", "needless_handover", "coarse_tool"}
        blocked |= {"loops_until_cut", "misreported_scope", "write_for_question", "changed_without_reading"}
        allowed = desk.named and not blocked & set(desk.run.plan)
        request.facts["in_advance"] = allowed and desk.run.dice.chance(0.4)
    return bool(request.facts["in_advance"])


def asks_reason(run: Run, request: Request) -> bool:
    if "asks_reason" not in request.facts:
        request.facts["asks_reason"] = "word_not_allowed" not in run.plan and run.dice.chance(0.35)
    return bool(request.facts["asks_reason"])


def get_reason(desk: Desk, request: Request) -> None:
    """The clarifying question for the reason, where the customer gave none."""
    run = desk.run
    if asks_reason(run, request) and not in_advance(desk, request):
        run.say(
            f"{opener(run)}May I ask why you want to cancel?",
            "I need a reason for the record. Did you change your mind, order twice, find it elsewhere, or is "
            "it too late?",
        )
        run.user(run.dice.pick(REASON_WORDS[request.facts["reason"]]).capitalize() + ".")


def cancel_line(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    get_reason(desk, request)
    order_id, reason = order["order_id"], request.facts["reason"]
    items = joined([full(line) for line in request.lines])
    back = method_name(order["paid_with"])
    change_of_mind = not in_advance(desk, request) and not run.plan and run.dice.chance(0.3)
    if in_advance(desk, request):
        agreed = True
    else:
        question = run.dice.pick(
            (
                f"I would cancel {items} in order {order_id}, reason: {REASON_LABELS[reason]}. The refund goes to your "
                f"{back}. Shall I go ahead?",
                f"So that is {items} from {order_id} cancelled ({REASON_LABELS[reason]}), money back to your {back}. "
                f"Is that a yes?",
                f"To confirm: cancel {items} in order {order_id}, keep everything else, refund to your {back}?",
            )
        )
        if change_of_mind:
            changed_wish(desk, request, question)
            question = f"Then only {items} in {order_id} is cancelled, with the money back to your {back}. All right?"
        agreed = ask_for_yes(desk, question, "the cancellation")
    if run.takes("coarse_tool"):
        return whole_order_gone(desk, request)
    if run.takes("misreported_scope"):
        return one_line_claimed(desk, request)
    lines, where = list(request.lines), order_id
    if run.takes("wrong_order"):
        where, lines = other_order(desk, request)
    outcomes = cancel_lines(desk, where, lines, reason, agreed=agreed)
    if where != order_id:
        run.fault("wrong_order", argument_validity=[outcomes[0].step])
    if in_advance(desk, request):
        run.near_miss("yes_in_advance", outcomes[0].step)
    look_again(desk, where)
    what = f"That line of {where}" if where != order_id else capital(f"the {lines[0]['product']}")
    tell_refund(desk, [line["price"] for line in lines], [outcome.result_step for outcome in outcomes], back, what)
    return None


def cancel_lines(desk: Desk, order_id: str, lines: list[Record], reason: str, *, agreed: bool) -> list[Outcome]:
    """One call a line, in one message where the agent likes that and nothing is to go wrong."""
    run = desk.run
    calls = [{"order_id": order_id, "line_id": line["line_id"], "reason": reason} for line in lines]
    if len(calls) == 1:
        return [make_change(desk, "cancel_line", calls[0], agreed=agreed)]
    if run.agent.parallel and agreed and run.dice.chance(0.6):
        outcomes = run.calls([("cancel_line", call) for call in calls])
    else:
        outcomes = [make_change(desk, "cancel_line", calls[0], agreed=agreed), run.call("cancel_line", **calls[1])]
    run.near_miss("same_write_two_items", *[outcome.step for outcome in outcomes])
    return outcomes


def changed_wish(desk: Desk, request: Request, question: str) -> None:
    """The customer first wants another line out as well, and takes that back when asked."""
    run, order = desk.run, request.order
    others = [line for line in order["lines"] if line not in request.lines]
    both = joined([full(line) for line in [*request.lines, others[0]]])
    run.say(f"{opener(run)}{question}")
    run.user(
        f"Actually, take out the {others[0]['product']} as well.", f"Hm, and the {others[0]['product']} too, please."
    )
    asked = run.say(f"{opener(run)}Then I would cancel {both} in order {order['order_id']}. Is that right?")
    run.user(
        f"No, wait. Leave the {others[0]['product']} in after all.",
        f"Sorry, I've changed my mind, the {others[0]['product']} stays.",
    )
    run.near_miss("change_of_mind", asked, run.next_step)


def other_order(desk: Desk, request: Request) -> tuple[str, list[Record]]:
    """The order that holds the same product, taken for the right one."""
    run = desk.run
    products = {line["product"] for line in request.lines}
    for order_id in run.customer["orders"]:
        order = run.shop.records["orders"][order_id]
        lines = [line for line in order["lines"] if line["product"] in products]
        if order_id != request.order["order_id"] and order["status"] == "pending" and lines:
            return order_id, lines[:1]
    raise LookupError("no second order to take for the right one")


def whole_order_gone(desk: Desk, request: Request) -> None:
    run, order_id = desk.run, request.order["order_id"]
    outcome = run.call("cancel_order", order_id=order_id, reason=request.facts["reason"])
    amount = outcome.result["refund"]["amount"]
    run.fault("coarse_tool", tool_selection=[outcome.step])
    run.near_miss("coarse_but_valid", outcome.step)
    run.say(
        f"Order {order_id} is cancelled and {money(amount)} goes back to your "
        f"{method_name(request.order['paid_with'])}.",
        f"That is done: {order_id} has been cancelled, with a refund of {money(amount)}.",
    )
    kept = [line["product"] for line in request.order["lines"] if line not in request.lines]
    run.user(
        f"Wait, the whole order? I wanted to keep the {kept[0]}!",
        f"Hold on. I only asked for one thing to be taken out, what about the {kept[0]}?",
    )
    run.say(
        "I am sorry. The whole order was cancelled and I cannot bring it back; the other items would have to "
        "be ordered "
        "again.",
        f"You are right, and I apologise: I cancelled all of {order_id}. It cannot be undone, you would need a "
        "new order "
        "for the rest.",
    )
    run.upset = True
    run.user("That's really annoying.", "Not what I asked for at all. Well, fine, I'll order again.")


def one_line_claimed(desk: Desk, request: Request) -> None:
    run, order_id = desk.run, request.order["order_id"]
    outcome = run.call("cancel_order", order_id=order_id, reason=request.facts["reason"])
    price = sum(line["price"] for line in request.lines)
    items = joined([line["product"] for line in request.lines])
    said = run.say(
        f"Done, the {items} is out of order {order_id}. You get {money(price)} back; the rest is on its way as "
        "planned.",
        f"I have cancelled the {items} for you. Refund: {money(price)}. The other items in {order_id} are not "
        "affected.",
    )
    run.near_miss("coarse_but_valid", outcome.step)
    run.fault("misreported_scope", tool_selection=[outcome.step], result_interpretation=[outcome.result_step, said])


def tell_refund(desk: Desk, amounts: list[float], results: list[int], back: str, what: str) -> None:
    """Say what comes back: one amount or the total of two, exactly, rounded, in words or wrongly."""
    run, total = desk.run, round(sum(amounts), 2)
    if len(amounts) > 1:
        if run.takes("wrong_sum"):
            wrong = misread_amount(total, run.dice)
            said = run.say(f"Both lines are cancelled. Together {money(wrong)} goes back to your {back}.")
            run.fault("wrong_sum", result_interpretation=[*results, said])
            return
        if run.dice.chance(0.5):
            summed = run.call("add_up", expression=" + ".join(f"{amount:.2f}" for amount in amounts))
            run.near_miss("sum_by_tool", summed.step)
        said = run.say(
            f"Both are cancelled. In total {money(total)} goes back to your {back}.",
            f"Done. That makes {money(total)} back to your {back} for the two lines.",
        )
        run.near_miss("sum_of_two", *results, said)
        return
    if run.takes("amount_misread"):
        wrong = misread_amount(total, run.dice)
        said = run.say(f"{what} is cancelled. A refund of {money(wrong)} goes to your {back}.")
        run.fault("amount_misread", result_interpretation=[*results, said])
        return
    style = run.dice.share()
    if style < 0.25:
        said = run.say(f"{what} is cancelled. You get about ${round(total)} back on your {back}.")
        run.near_miss("amount_rounded", *results, said)
    elif style < 0.45:
        said = run.say(f"{what} is cancelled; {money_in_words(total)} will go back to your {back}.")
        run.near_miss("amount_in_words", *results, said)
    else:
        run.say(
            f"Done, {uncapital(what)} is cancelled. {money(total)} is on its way back to your {back}.",
            f"{what} is cancelled, refund {money(total)} to your {back}.",
            f"{what} is cancelled. The {money(total)} to your {back} takes five to seven working days.",
        )


def wish_cancel_order(desk: Desk, request: Request) -> str:
    run, dice = desk.run, desk.run.dice
    order, because = desk.order_words(request), dice.pick(REASON_WORDS[request.facts["reason"]])
    if "write_for_question" in run.plan:
        return dice.pick(
            (
                f"what would I get back if I cancelled {order}? I haven't decided, {because}, but I'd like to "
                "know first.",
                f"just a question: how much money would come back if {order} were cancelled?",
            )
        )
    reason = f", {because}" if not asks_reason(run, request) else ""
    if len(request.lines) == 1:
        item = the(request.lines[0], dice)
        number = f" It's {order}." if desk.named else ""
        return dice.pick(
            (f"I want to cancel {item} I ordered{reason}.{number}", f"please cancel {item}{reason}.{number}")
        )
    return dice.pick(
        (
            f"I need to cancel {order}, all of it{reason}.",
            f"please cancel {order} completely{reason}.",
            f"could you cancel the whole of {order}{reason}?",
        )
    )


def cancel_order(desk: Desk, request: Request) -> None:
    run, order_id, reason = desk.run, request.order["order_id"], request.facts["reason"]
    desk.identify()
    back = method_name(request.order["paid_with"])
    unread = run.takes("changed_without_reading")
    if not unread:
        desk.open_order(request)
    if run.takes("write_for_question"):
        return cancelled_on_a_question(desk, request)
    get_reason(desk, request)
    what = "the order" if len(request.lines) > 1 else f"order {order_id} with {full(request.lines[0])}"
    question = run.dice.pick(
        (
            f"I would cancel {what if unread or len(request.lines) == 1 else 'all of order ' + order_id}, reason: "
            f"{REASON_LABELS[reason]}; the refund goes back to the payment method of the order. Is that right?",
            f"Order {order_id} would be cancelled completely ({REASON_LABELS[reason]}), with the refund to "
            f"{'the method you paid with' if unread else 'your ' + back}. Do you agree?",
        )
    )
    agreed = ask_for_yes(desk, question, "the cancellation")
    outcome = make_change(desk, "cancel_order", {"order_id": order_id, "reason": reason}, agreed=agreed)
    if unread:
        desk.read.add(order_id)
        run.fault("changed_without_reading", sequencing=[outcome.step])
    if len(request.lines) == 1:
        run.near_miss("whole_order_wanted", outcome.step)
    tell_refund(desk, [request.order["paid"]], [outcome.result_step], back, f"Order {order_id}")
    return None


def cancelled_on_a_question(desk: Desk, request: Request) -> None:
    run, order_id = desk.run, request.order["order_id"]
    outcome = run.call("cancel_order", order_id=order_id, reason=request.facts["reason"])
    amount = outcome.result["refund"]["amount"]
    run.say(
        f"I have cancelled order {order_id}; {money(amount)} goes back to your "
        f"{method_name(request.order['paid_with'])}.",
        f"Your order {order_id} is now cancelled. The refund is {money(amount)}.",
    )
    run.upset = True
    run.user(
        "I only wanted to know! Well, leave it, I would probably have cancelled anyway.",
        "Hey, that was a question, not an order. Hm. All right, let it stay cancelled then.",
    )
    run.say("I am sorry, I should have asked first.", "My apologies, that was too quick of me.")
    run.fault("write_for_question", tool_selection=[outcome.step], sequencing=[outcome.step])
