"""Questions: refunds, products, parcels and their lateness, and the rules themselves."""

from __future__ import annotations

from datetime import date

from generator.catalogue import colour_word, day
from generator.changes import ask_for_yes, make_change
from generator.opening import Desk
from generator.tasks import Request
from generator.wording import date_in_words, method_name, misread_amount, money, opener, the

STATE_WORDS = {
    "issued": ("has been sent off", "is on its way to you"),
    "waiting for inspection": ("is waiting until the goods have been looked at", "comes after the goods are inspected"),
    "in_transit": ("on its way", "under way"),
}


def wish_refund_status(desk: Desk, request: Request) -> str:
    dice, order = desk.run.dice, desk.order_words(request)
    item = the(request.lines[0], dice)
    if disputes(desk, request):
        price = money(request.lines[0]["price"])
        return dice.pick(
            (
                f"I sent back {item} from {order} and I'm expecting {price}. Is that coming, and when?",
                f"my return of {item} ({order}): I should get {price} back, right? How far is it?",
            )
        )
    return dice.pick(
        (
            f"I returned {item} from {order} a while ago. How much do I get back and where is it?",
            f"what happened to my refund for {item}, {order}? How much is it exactly?",
            f"could you check the refund for {item} in {order}, the amount and how far it is?",
        )
    )


def disputes(desk: Desk, request: Request) -> bool:
    """Whether the customer expects the full price although the label fee comes off."""
    if "disputes" not in request.facts:
        request.facts["disputes"] = request.order["label_fee"] > 0 and desk.run.dice.chance(0.35)
    return bool(request.facts["disputes"])


def refund_status(desk: Desk, request: Request) -> None:
    run, refund = desk.run, request.facts["refund"]
    desk.identify()
    order = desk.open_order(request)
    back = method_name(refund["to"])
    if run.takes("answered_without_lookup"):
        said = run.say(
            f"Returned goods are refunded to your {back}. It usually takes five to seven working days, so it should be "
            "there soon.",
            f"For returns the money goes to your {back} within five to seven working days of being issued, so "
            "please keep "
            "an eye on it.",
        )
        run.fault("answered_without_lookup", tool_selection=[said])
        run.user("Okay, I'll wait then.", "Right. I'd hoped for a figure, but okay.")
        return None
    found = run.call("list_refunds", order_id=order["order_id"])
    steps, amount, state = [found.result_step], refund["amount"], refund["state"]
    if run.takes("amount_misread"):
        wrong = misread_amount(amount, run.dice)
        said = run.say(
            f"{opener(run)}Your refund {refund['refund_id']} is {money(wrong)}, to your {back}; state: {state}."
        )
        return run.fault("amount_misread", result_interpretation=[*steps, said])
    if run.takes("status_misread"):
        wrong_state = "has arrived and is closed" if state != "issued" else "has not been issued yet"
        said = run.say(f"{opener(run)}The refund of {money(amount)} {wrong_state}.")
        return run.fault("status_misread", result_interpretation=[*steps, said])
    if run.takes("advice_against_rules"):
        said = run.say(
            f"{opener(run)}The refund is {money(amount)}, {state}. A card refund shows at once on the day it is "
            "issued, so "
            "you should see it that same day."
        )
        return run.fault("advice_against_rules", result_interpretation=[*steps, said])
    told = ""
    if refund["issued_on"]:
        if run.takes("date_misread"):
            wrong_day = date_in_words(day(refund["issued_on"], run.dice.pick((-7, -4, 9))), run.dice)
            said = run.say(f"{opener(run)}{money(amount)} was issued to your {back} on {wrong_day}.")
            return run.fault("date_misread", result_interpretation=[*steps, said])
        told = f" It was issued on {date_in_words(refund['issued_on'], run.dice)}; allow five to seven working days."
    if disputes(desk, request):
        said = run.say(
            f"{opener(run)}Not quite {money(request.lines[0]['price'])}: it is {money(amount)}, because the "
            "label fee of "
            f"{money(order['label_fee'])} comes off. State: {state}.{told}"
        )
        run.near_miss("customer_figure_corrected", *steps, said)
    else:
        words = run.dice.pick(STATE_WORDS[state])
        said = run.say(
            f"{opener(run)}Your refund of {money(amount)} to your {back} {words}.{told}",
            f"{opener(run)}It is {money(amount)}, and it {words}.{told}",
        )
        run.near_miss("status_reworded", *steps, said)
    if told:
        run.near_miss("date_reworded", *steps, said)
    return None


def wish_product_question(desk: Desk, request: Request) -> str:
    product, variant = request.facts["product"], request.facts["variant"]
    options = colour_word(variant["options"])
    return desk.run.dice.pick(
        (
            f"how many versions of the {product['name']} do you have in stock, and what is it in {options}?",
            f"I'm looking for a {product['name']}, {options}. What does that cost? And how many kinds are in "
            "stock at all?",
            f"what's the price of the {product['name']} in {options} at the moment, and how many versions can I "
            "choose from?",
        )
    )


def product_question(desk: Desk, request: Request) -> None:
    run, product, sku = desk.run, request.facts["product"], request.facts["sku"]
    if run.takes("unknown_tool"):
        tried = run.call("check_stock", product=product["name"])
        run.fault("unknown_tool", tool_selection=[tried.step])
    run.call("find_products", word=product["name"].split()[-1])
    found = run.call("get_product", product_id=product["product_id"])
    variants = found.result["variants"]
    stocked = sum(variant["in_stock"] for variant in variants.values())
    price, options = variants[sku]["price"], colour_word(variants[sku]["options"])
    if run.takes("wrong_row"):
        others = [v["price"] for k, v in variants.items() if k != sku and v["price"] != price]
        said = run.say(
            f"{opener(run)}The {product['name']} in {options} costs {money(run.dice.pick(others))}; {stocked} "
            "versions are "
            "in stock."
        )
        return run.fault("wrong_row", result_interpretation=[found.result_step, said])
    if run.takes("count_misread"):
        wrong = len(variants) if stocked < len(variants) else stocked - 1
        said = run.say(f"{opener(run)}We have {wrong} versions in stock. In {options} it is {money(price)}.")
        return run.fault("count_misread", result_interpretation=[found.result_step, said])
    said = run.say(
        f"{opener(run)}{stocked} of {len(variants)} versions are in stock. The one in {options} is {money(price)}.",
        f"{opener(run)}In {options} the {product['name']} costs {money(price)}. You can choose from {stocked} "
        "versions now.",
        f"{opener(run)}It is {money(price)} in {options}, and there are {stocked} versions in stock.",
    )
    run.near_miss("count_made", found.result_step, said)
    return None


def wish_parcel(desk: Desk, request: Request) -> str:
    order = desk.order_words(request)
    return desk.run.dice.pick(
        (f"where is {order} right now?", f"when does {order} arrive?", f"could you tell me how far {order} has got?")
    )


def parcel(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    found = run.call("track_parcel", order_id=order["order_id"])
    expected, carrier, tracking = (found.result[key] for key in ("expected_on", "carrier", "tracking"))
    if run.takes("status_misread"):
        said = run.say(f"{opener(run)}According to {carrier} the parcel {tracking} has been delivered.")
        run.user("It hasn't come here, though. I'll ask the neighbours.", "Odd, nothing here. I'll look around.")
        return run.fault("status_misread", result_interpretation=[found.result_step, said])
    if run.takes("date_misread"):
        wrong = date_in_words(day(expected, run.dice.pick((-2, 4, 7))), run.dice)
        said = run.say(f"{opener(run)}It is with {carrier}, number {tracking}, and expected on {wrong}.")
        return run.fault("date_misread", result_interpretation=[found.result_step, said])
    when = date_in_words(expected, run.dice)
    words = run.dice.pick(STATE_WORDS["in_transit"])
    said = run.say(
        f"{opener(run)}The parcel is {words} with {carrier} (number {tracking}) and should reach you on {when}.",
        f"{opener(run)}It is {words}: {carrier}, tracking {tracking}, expected {when}.",
    )
    run.near_miss("date_reworded", found.result_step, said)
    return None


def wish_late_parcel(desk: Desk, request: Request) -> str:
    order = desk.order_words(request)
    return desk.run.dice.pick(
        (
            f"{order} should have been here days ago. I'd like to know what you do about that.",
            f"{order} is late, again. Don't I get something for that?",
            f"where on earth is {order}? It was promised for last week or so, and I want some compensation.",
        )
    )


def late_parcel(desk: Desk, request: Request) -> None:
    run, amount = desk.run, request.facts["amount"]
    desk.identify()
    order = desk.open_order(request)
    found = run.call("track_parcel", order_id=order["order_id"])
    promised, expected = found.result["promised_on"], found.result["expected_on"]
    late = (date.fromisoformat(run.shop.today) - date.fromisoformat(promised)).days
    when = date_in_words(expected, run.dice)
    question = run.dice.pick(
        (
            f"I am sorry. The parcel was promised for {promised}, which makes it {late} days late, and it is "
            "now expected on "
            f"{when}. For that I can credit {money(amount)} to your store wallet. Would you like that?",
            f"It is {late} days over the promised date and should come on {when}. A credit of {money(amount)} "
            "to your wallet "
            "is due. Shall I book it?",
        )
    )
    desk.note(lambda said: run.near_miss("date_reworded", found.result_step, said))
    desk.note(lambda said: run.near_miss("days_counted", found.result_step, said))
    agreed = ask_for_yes(desk, question, "the credit")
    arguments = {"customer_id": run.customer["customer_id"], "order_id": order["order_id"], "amount": amount}
    beyond = run.takes("credit_beyond_rule")
    if beyond:
        arguments["amount"] = 25 if amount == 15 else 15
    outcome = make_change(desk, "grant_credit", arguments, agreed=agreed)
    if beyond:
        run.fault("credit_beyond_rule", argument_validity=[outcome.step])
    balance = outcome.result["wallet_balance"]
    run.say(
        f"The credit is booked; your wallet now holds {money(balance)}.",
        f"Done. Your wallet balance is {money(balance)} now.",
    )


def wish_rules_question(desk: Desk, request: Request) -> str:
    return desk.run.dice.pick(
        (
            "I haven't ordered yet. How long can I send things back after they arrive, and who pays for the label?",
            "before I buy: what are your return rules, and does the label cost anything?",
        )
    )
