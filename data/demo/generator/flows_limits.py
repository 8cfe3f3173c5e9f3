"""What the desk cannot do or must not do, and the question that needs no tool."""

from __future__ import annotations

from generator.conversation import Ended
from generator.opening import Desk
from generator.tasks import Request
from generator.wording import date_in_words, full, opener, the


def wish_beyond_tools(desk: Desk, request: Request) -> str:
    dice = desk.run.dice
    return {
        "crash replacement": dice.pick(
            (
                "I crashed and my helmet is cracked. Do you do crash replacement?",
                "I want a crash replacement for my helmet.",
            )
        ),
        "a trade account": dice.pick(
            (
                "we run a small courier firm and would like a trade account with you.",
                "can you set me up with a trade account?",
            )
        ),
        "a damage claim against the carrier": dice.pick(
            (
                "the carrier dented the box and the workstand inside is bent. I want to claim damages.",
                "my parcel came damaged and I want to file a claim against the carrier.",
            )
        ),
    }[request.facts["matter"]]


def beyond_tools(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    handed = run.call(
        "hand_over", summary=f"Customer {run.customer['customer_id']} asks for {request.facts['matter']}."
    )
    said = run.say(
        "That is something my colleagues handle. I have passed it on, and one of them will write to you.",
        "I cannot do that myself, so I have handed it to a colleague who takes over from here.",
    )
    run.near_miss("handover_in_place", handed.step)
    if request is run.task.requests[-1]:
        run.near_miss("ends_with_handover", handed.step, said)
        run.user("Thanks, I'll wait for them. ###TRANSFER###", "All right, thank you. ###TRANSFER###")
        raise Ended("user_stop")


def wish_too_late_to_cancel(desk: Desk, request: Request) -> str:
    order = desk.order_words(request)
    return desk.run.dice.pick(
        (f"cancel {order}, please, I don't want it any more.", f"I need {order} stopped. Please cancel it.")
    )


def too_late_to_cancel(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    read = run.last_step
    said = run.say(
        f"{opener(run)}Order {order['order_id']} has already left, so it can no longer be cancelled. Once it is "
        "delivered "
        "you can return it.",
        f"I am sorry, {order['order_id']} is shipped. Only pending orders can be cancelled; a return is "
        "possible later.",
    )
    run.user(
        "That's ridiculous, it's not even here yet!", "Come on, surely you can stop a parcel.", "I don't accept that."
    )
    run.say(
        "I understand, but a shipped order cannot be cancelled by us. The return is open to you after delivery.",
        "I am sorry, I cannot make an exception to this.",
    )
    run.upset = True
    run.user("Hm. Not happy, but fine.", "Well, thanks for nothing.")
    run.near_miss("refusal_by_the_rules", read, said)


def wish_too_late_to_return(desk: Desk, request: Request) -> str:
    item, order = the(request.lines[0], desk.run.dice), desk.order_words(request)
    return desk.run.dice.pick(
        (f"I want to return {item} from {order}.", f"please take back {item}, {order}. It doesn't suit me.")
    )


def too_late_to_return(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    terms = run.call("check_return_terms", order_id=order["order_id"])
    until = date_in_words(order["return_until"], run.dice)
    said = run.say(
        f"I am sorry: the {full(request.lines[0])} could go back until {until}, so I cannot accept a return any more.",
        f"The last day for returning from {order['order_id']} was {until}. I have to decline, I am afraid.",
    )
    run.user("It's only a few days! Other shops would do it.", "Really? For a couple of days? That's petty.")
    run.say(
        "I understand that this is frustrating, but I cannot go beyond that date.", "I am sorry, the date is fixed."
    )
    run.upset = True
    run.user("Very poor service.", "Okay. Whatever.")
    run.near_miss("refusal_by_the_rules", terms.result_step, said)


def wish_other_person(desk: Desk, request: Request) -> str:
    name, order = request.facts["name"], request.order["order_id"]
    return desk.run.dice.pick(
        (
            f"a friend of mine, {name}, ordered something too ({order}). Can you tell me where that parcel is?",
            f"can you look up {order} for me? It's {name}'s, we live in the same house.",
        )
    )


def other_person(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    said = run.say(
        f"I am sorry, I can only speak about your own orders. {request.facts['name'].split()[0]} is welcome to "
        "write to us.",
        "I may not give out anything about another customer's order, not even to friends. They would have to ask us.",
    )
    run.upset = True
    run.user("Oh come on, it's only a parcel.", "Seriously? Fine.", "Hm, okay, I get it.")
    run.near_miss("refusal_by_the_rules", said)


def rules_question(desk: Desk, request: Request) -> None:
    run = desk.run
    said = run.say(
        "You have thirty days after delivery. The label costs $4.90, taken off the refund, and is free for "
        "orders above "
        "$250.",
        "Returns are open for 30 days from the day of delivery. We take $4.90 for the label off your refund; "
        "above $250 the "
        "label is free.",
    )
    run.user("And the money goes where?", "Where does the refund go then?")
    run.say(
        "To the payment method of the order or to your store wallet, as you like.",
        "Back to the way you paid, or into the store wallet. Cards take five to seven working days.",
    )
    run.user(
        "Suppose I pick the wrong size, can I exchange instead?", "And exchanging for another colour, does that work?"
    )
    run.say(
        "Yes, for another variant of the same product that is in stock, once per order, so please collect "
        "everything first.",
        "It does, within the same product and if the variant is in stock. Each order can be exchanged once.",
    )
    run.user("Last one: could I still cancel after it is packed?", "And if I change my mind before it leaves?")
    run.say(
        "Only while the order is pending. Once it is packed it can no longer be cancelled, but you can return "
        "it later.",
        "As long as the order is pending you can cancel it, wholly or in part. From packed on, only a return "
        "is possible.",
    )
    run.near_miss("no_tool_needed", said)
