"""A new address for one order, or for all that follow."""

from __future__ import annotations

from generator.changes import ask_for_yes, look_again, make_change
from generator.opening import Desk
from generator.tasks import Request


def wish_redirect(desk: Desk, request: Request) -> str:
    dice, address = desk.run.dice, request.facts["address"]
    where = f"{address['street']}, {address['city']}, {address['postcode']}"
    order = desk.order_words(request)
    if request.facts["also_book"]:
        return dice.pick(
            (
                f"I've moved. Please send {order} to {where}, and keep that address for the future too.",
                f"new address: {where}. It's for {order} and for everything I order from now on.",
            )
        )
    return dice.pick(
        (
            f"could {order} go to {where} instead? Just this once.",
            f"I won't be at home, so {order} has to go to {where}. My own address stays as it is.",
        )
    )


def redirect(desk: Desk, request: Request) -> None:
    run, address = desk.run, request.facts["address"]
    desk.identify()
    order = desk.open_order(request)
    order_id, customer_id = order["order_id"], run.customer["customer_id"]
    if request.facts["also_book"]:
        desk.open_customer()
    where = f"{address['street']}, {address['city']} {address['postcode']}"
    also = " and keep it in your address book" if request.facts["also_book"] else ""
    question = run.dice.pick(
        (
            f"I would send order {order_id} to {where}{also}. Is that correct?",
            f"New address for {order_id}: {where}{also}. Do you confirm?",
        )
    )
    agreed = ask_for_yes(desk, question, "the new address")
    if run.takes("wrong_address_tool"):
        desk.open_customer()
        outcome = run.call("update_address_book", customer_id=customer_id, **address)
        run.fault("wrong_address_tool", tool_selection=[outcome.step])
        run.say("Your address has been updated.", f"All done, your address is now {where}.")
        return
    garbled = run.takes("garbled_address")
    number, _, rest = address["street"].partition(" ")
    street = f"{number[::-1] if number != number[::-1] else int(number) + 10} {rest}" if garbled else address["street"]
    outcome = make_change(desk, "redirect_order", {"order_id": order_id, **address, "street": street}, agreed=agreed)
    if garbled:
        run.fault("garbled_address", argument_validity=[outcome.step])
    if request.facts["also_book"]:
        second = run.call("update_address_book", customer_id=customer_id, **address)
        run.near_miss("both_address_tools", outcome.step, second.step)
    look_again(desk, order_id)
    run.say(
        f"Done, order {order_id} goes to the new address{' and your address book is up to date' if also else ''}.",
        f"The address of {order_id} is changed{', in your address book as well' if also else ''}.",
    )
