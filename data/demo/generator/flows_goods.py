"""Returns, exchanges, and swaps in pending orders."""

from __future__ import annotations

from generator.catalogue import Record, colour_word, day
from generator.changes import ask_for_yes, difference_words, make_change
from generator.conversation import Ended, Outcome
from generator.opening import Desk
from generator.tasks import Request
from generator.wording import (
    capital,
    date_in_words,
    full,
    joined,
    method_name,
    misread_amount,
    money,
    opener,
    thanks,
    the,
    yes,
)


def wish_return(desk: Desk, request: Request) -> str:
    dice = desk.run.dice
    items, order = joined([the(line, dice) for line in request.lines]), desk.order_words(request)
    to = request.facts.get("forbidden") or request.facts["refund_to"]
    where = (
        f"my {method_name(to)}" if "forbidden" not in request.facts else f"my other card, the one ending in {to[-4:]}"
    )
    return dice.pick(
        (
            f"I want to send back {items} from {order}. The money should go to {where}.",
            f"can I return {items}? It's {order}, and I'd like the refund on {where}.",
            f"please take back {items} from {order}. Refund to {where}.",
        )
    )


def start_return(desk: Desk, request: Request) -> None:
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    order_id, target = order["order_id"], request.facts["refund_to"]
    if target.startswith("wallet"):
        desk.open_customer()
    unchecked = run.takes("return_before_terms")
    terms = None if unchecked else run.call("check_return_terms", order_id=order_id)
    if terms and run.takes("refused_though_allowed"):
        return refused_though_allowed(desk, request, terms)
    until = order["return_until"]
    said = tell_deadline(desk, until, terms) if terms else ""
    if "forbidden" in request.facts:
        refused = desk.say(
            f"{said}I cannot send the refund to another card. It can go back to your "
            f"{method_name(order['paid_with'])} or "
            "to your store wallet.",
            f"{said}A refund may only go to the {method_name(order['paid_with'])} you paid with, or into the "
            "store wallet. "
            "Which would you like?",
        )
        run.user(
            "That's silly, it's my card too. Then the wallet.", "Hm, okay. Wallet then.", "Fine, put it in the wallet."
        )
        said = ""
    items = joined([full(line) for line in request.lines])
    question = (
        f"{said}I would start the return of {items} from order {order_id}, refund to your {method_name(target)}"
        f"{', less the label fee of ' + money(order['label_fee']) if order['label_fee'] and not unchecked else ''}. "
        f"{run.dice.pick(('Shall I?', 'Do you agree?', 'Is that all right?'))}"
    )
    agreed = ask_for_yes(desk, question, "the return")
    arguments = {"order_id": order_id, "line_ids": [line["line_id"] for line in request.lines], "refund_to": target}
    outcome = make_change(desk, "start_return", arguments, agreed=agreed)
    if "forbidden" in request.facts:
        run.near_miss("return_agreed_instead", refused, outcome.step)
    elif target.startswith("card"):
        run.near_miss("method_by_last_figures", outcome.step)
    if unchecked:
        late = run.call("check_return_terms", order_id=order_id)
        run.fault("return_before_terms", sequencing=[outcome.step, late.step])
    tell_return(desk, request, outcome)
    return None


def tell_deadline(desk: Desk, until: str, terms: Outcome) -> str:
    """The sentence on the return date that stands before the question, right, reworded or misread."""
    run = desk.run
    if run.takes("date_misread"):
        wrong = date_in_words(day(until, run.dice.pick((-6, -9, 8, 11))), run.dice)
        desk.note(lambda said: run.fault("date_misread", result_interpretation=[terms.result_step, said]))
        return f"This order can go back until {wrong}. "
    if run.dice.chance(0.5):
        desk.note(lambda said: run.near_miss("date_reworded", terms.result_step, said))
        return f"You have until {date_in_words(until, run.dice)} for this order. "
    return f"The order is eligible until {until}. "


def refused_though_allowed(desk: Desk, request: Request, terms: Outcome) -> None:
    run = desk.run
    said = run.say(
        f"I am sorry, the return period for order {request.order['order_id']} has expired, so I cannot take it back.",
        "Unfortunately this order is no longer within the return period, so a return is not possible.",
    )
    run.user("Really? I only got it recently.", "That can't be right, it came the other day.")
    run.say("I am afraid the date has passed. I cannot make an exception.", "I am sorry, those are our rules.")
    run.user("That's disappointing.", "Hm. Not happy about that.")
    run.upset = True
    run.fault("refused_though_allowed", result_interpretation=[terms.result_step, said])


def tell_return(desk: Desk, request: Request, outcome: Outcome) -> None:
    run, order = desk.run, request.order
    fee, back = order["label_fee"], method_name(request.facts["refund_to"])
    prices = [line["price"] for line in request.lines]
    net, gross = round(sum(prices) - fee, 2), round(sum(prices), 2)
    return_id = outcome.result["return_id"]
    steps = [outcome.result_step]
    label = f"Return {return_id} is open and the label comes by email. "
    if run.takes("wrong_sum"):
        said = run.say(f"{label}You will get {money(misread_amount(net, run.dice))} back on your {back}.")
        return run.fault("wrong_sum", result_interpretation=[*steps, said])
    if run.takes("amount_misread"):
        wrong = misread_amount(prices[0], run.dice)
        said = run.say(f"{label}For the {request.lines[0]['product']} that is {money(wrong)} before the label fee.")
        return run.fault("amount_misread", result_interpretation=[*steps, said])
    if run.takes("advice_against_rules"):
        told = (
            "The refund shows on your card at once, the moment we issue it."
            if back.startswith("card")
            else "Please note that wallet refunds take five to seven working days once issued."
        )
        said = run.say(f"{label}{told}")
        return run.fault("advice_against_rules", result_interpretation=[*steps, said])
    if fee:
        said = run.say(
            f"{label}You will get {money(net)} back on your {back} ({money(gross)} less the label at {money(fee)}).",
            f"{label}After the label fee of {money(fee)} that is {money(net)} to your {back}.",
        )
        return run.near_miss("sum_less_fee", *steps, said)
    said = run.say(f"{label}The refund will be {money(net)}, to your {back}; the label is free for this order.")
    return run.near_miss("sum_of_two", *steps, said) if len(prices) > 1 else None


def wish_exchange(desk: Desk, request: Request) -> str:
    dice = desk.run.dice
    pairs = zip(request.lines, first_wants(request), strict=True)
    items = joined([f"{the(line, dice)} for one in {want}" for line, want in pairs])
    order = desk.order_words(request)
    if request.kind == "swap":
        return dice.pick(
            (
                f"I ordered the wrong version: please change {items} in {order}, it hasn't left yet.",
                f"can you switch {items} before {order} goes out?",
            )
        )
    return dice.pick(
        (
            f"I'd like to exchange {items}, from {order}.",
            f"{capital(order)} arrived, but I picked the wrong options. Could you exchange {items}?",
            f"can I swap {items}? {capital(order)}, already here.",
        )
    )


def first_wants(request: Request) -> list[str]:
    """What the customer asks for at first, which may be a variant that proves to be sold out."""
    wants = list(request.facts["wanted"])
    if "first_choice" in request.facts:
        wants[0] = request.facts["first_choice"][1]
    return wants


def look_up(desk: Desk, line: Record) -> Outcome:
    """The product of a line, by its name."""
    run = desk.run
    word = line["product"].split()[-1]
    found = run.call("find_products", word=word)
    product_id = next(item["product_id"] for item in found.result if item["name"] == line["product"])
    return run.call("get_product", product_id=product_id)


def change_items(desk: Desk, request: Request) -> None:
    """An exchange of a delivered order or a swap in a pending one."""
    run = desk.run
    desk.identify()
    order = desk.open_order(request)
    if request.kind == "exchange":
        terms = run.call("check_return_terms", order_id=order["order_id"])
        if run.takes("refused_though_allowed"):
            return refused_though_allowed(desk, request, terms)
    lines, skus = request.lines, list(request.facts["skus"])
    if run.takes("sku_before_lookup"):
        made_up = f"{lines[0]['sku'].split('-')[0]}-{run.dice.pick(('1000', '2001', '3003'))}"
        tried = attempt(desk, request, [made_up])
        run.fault("sku_before_lookup", argument_validity=[tried.step], sequencing=[tried.step])
    products = [look_up(desk, line) for line in lines]
    if run.takes("return_for_exchange"):
        return returned_instead(desk, request)
    if "first_choice" in request.facts:
        skus[0] = request.facts["first_choice"][0]
    agreed = tell_offer(desk, request, skus, products)
    if run.takes("product_id_as_sku"):
        tried = attempt(desk, request, [products[0].result["product_id"], *skus[1:]])
        run.fault("product_id_as_sku", argument_validity=[tried.step])
    if "first_choice" in request.facts:
        failed = attempt(desk, request, skus)
        if not agreed:
            run.fault("change_before_yes", sequencing=[failed.step])
            agreed = True
        if run.takes("error_taken_for_success"):
            said = run.say(
                "All set, the new one is booked for you. Have a great day!", "That worked, it is changed. Bye!"
            )
            run.user(f"{thanks(run)} ###STOP###")
            run.fault(
                "error_taken_for_success",
                result_interpretation=[failed.result_step, said],
                termination=[failed.result_step, said],
            )
            raise Ended("user_stop")
        skus = list(request.facts["skus"])
        offer_second_choice(desk, request, skus, products)
    if len(lines) > 1 and run.takes("piecemeal_exchange"):
        return piecemeal(desk, request, skus)
    if run.takes("wrong_variant"):
        wrong = other_sku(desk, lines[0], skus[0])
        outcome = attempt(desk, request, [wrong, *skus[1:]])
        run.fault("wrong_variant", argument_validity=[outcome.step])
        run.say(
            "That is booked. You will get an email with all details.", "All done, a confirmation is on its way to you."
        )
        return None
    tool, arguments = tool_and_arguments(request, skus)
    outcome = make_change(desk, tool, arguments, agreed=agreed)
    if agreed:
        run.near_miss("default_from_record", outcome.step)
    if "first_choice" in request.facts:
        run.near_miss("second_try_after_error", failed.step, outcome.step)
    tell_change(desk, request, outcome)
    return None


def offer_second_choice(desk: Desk, request: Request, skus: list[str], products: list[Outcome]) -> None:
    """The first choice was sold in between; offer what is left and ask again."""
    run, lines, wanted = desk.run, request.lines, request.facts["wanted"][0]
    rows = zip(lines, skus, products, strict=True)
    difference = sum(product.result["variants"][sku]["price"] - line["price"] for line, sku, product in rows)
    price = products[0].result["variants"][skus[0]]["price"]
    words = difference_words(round(difference, 2), method_name(request.facts["settle_with"]))
    run.say(
        f"I am sorry, that one sold out just now, so nothing is changed yet. {wanted} is there.",
        f"The shop tells me that this variant has just been sold, nothing has been changed. I could offer {wanted}.",
    )
    run.user(f"Pity. Then {wanted}.", f"Okay, {wanted} will do.")
    run.say(
        f"{opener(run)}Then the {lines[0]['product']} in {wanted} for {money(price)}: {words} in all. Shall I do that?"
    )
    run.user(yes(run))


def other_sku(desk: Desk, line: Record, right: str) -> str:
    """A plausible wrong variant: in stock, free, and neither the old nor the wanted one."""
    variants = next(p["variants"] for p in desk.run.shop.records["products"].values() if p["name"] == line["product"])
    near = [sku for sku in variants if sku not in (right, line["sku"]) and not variants[sku].get("held")]
    stocked = [sku for sku in near if variants[sku]["in_stock"]]
    return str(desk.run.dice.pick(stocked))


def tool_and_arguments(request: Request, skus: list[str]) -> tuple[str, Record]:
    order_id, method = request.order["order_id"], request.facts["settle_with"]
    if request.kind == "swap":
        line_id = request.lines[0]["line_id"]
        return "swap_line", {"order_id": order_id, "line_id": line_id, "new_sku": skus[0], "settle_with": method}
    pairs = zip(request.lines, skus, strict=False)
    swaps = [{"line_id": line["line_id"], "new_sku": sku} for line, sku in pairs]
    return "start_exchange", {"order_id": order_id, "swaps": swaps, "settle_with": method}


def attempt(desk: Desk, request: Request, skus: list[str]) -> Outcome:
    tool, arguments = tool_and_arguments(request, skus)
    return desk.run.call(tool, **arguments)


def tell_offer(desk: Desk, request: Request, skus: list[str], products: list[Outcome]) -> bool:
    """Name variants and prices, and ask for a yes; what comes back is whether it was asked."""
    run, order = desk.run, request.order
    method = method_name(request.facts["settle_with"])
    offers, difference = [], 0.0
    misread = run.takes("wrong_row")
    for line, sku, product in zip(request.lines, skus, products, strict=True):
        variant = product.result["variants"][sku]
        price = variant["price"]
        if misread and line is request.lines[0]:
            prices = [v["price"] for k, v in product.result["variants"].items() if k != sku and v["price"] != price]
            price = run.dice.pick(prices)
        difference += price - line["price"]
        offers.append(f"the {line['product']} in {colour_word(variant['options'])} for {money(price)}")
    words = difference_words(round(difference, 2), method)
    verb = "change" if request.kind == "swap" else "exchange"
    question = run.dice.pick(
        (
            f"I would {verb} in order {order['order_id']}: {joined(offers)}. Altogether {words}. Shall I?",
            f"This is what I have: {joined(offers)}. For order {order['order_id']} that is {words}. Do you agree?",
        )
    )
    if misread:
        desk.note(lambda said: run.fault("wrong_row", result_interpretation=[products[0].result_step, said]))
    elif abs(difference) > 0.005:
        steps = [product.result_step for product in products]
        kind = "difference_of_two" if len(offers) == 1 else "difference_of_sums"
        desk.note(lambda said: run.near_miss(kind, *steps, said))
    return ask_for_yes(desk, question, f"the {verb}")


def tell_change(desk: Desk, request: Request, outcome: Outcome) -> None:
    run = desk.run
    if request.kind == "swap":
        line = request.facts["wanted"][0]
        run.say(
            f"Your order {request.order['order_id']} now has the {request.lines[0]['product']} in {line}.",
            f"Changed: {request.lines[0]['product']}, {line}. The order ships as planned.",
        )
        return
    number = f"EXC-{request.order['order_id'][3:]}"
    run.say(
        f"Exchange {number} is started. You get a label by email and the new goods once yours are here.",
        f"That is set up as {number}. Please send the goods back with the label from the email.",
    )


def piecemeal(desk: Desk, request: Request, skus: list[str]) -> None:
    """The first line is exchanged alone, which closes the order to the second."""
    run, order_id, method = desk.run, request.order["order_id"], request.facts["settle_with"]
    pairs = zip(request.lines, skus, strict=True)
    outcomes = [
        run.call(
            "start_exchange",
            order_id=order_id,
            swaps=[{"line_id": line["line_id"], "new_sku": sku}],
            settle_with=method,
        )
        for line, sku in pairs
    ]
    run.fault("piecemeal_exchange", sequencing=[outcome.step for outcome in outcomes])
    first, second = (line["product"] for line in request.lines)
    run.say(
        f"The exchange of the {first} is under way, but the system refuses the {second}: an order can be "
        "exchanged only once. I am sorry, I should have put both into one exchange.",
    )
    run.user("So what do I do with the other one?", "Great. And now?")
    run.say(f"You can still return the {second} and order it anew.", "The other one can only be returned now.")
    run.user("I'll think about it.", "I'll see.")
    run.upset = True


def returned_instead(desk: Desk, request: Request) -> None:
    run, order = desk.run, request.order
    lines, method = request.lines, order["paid_with"]
    run.say(
        f"{opener(run)}I will take {joined([full(line) for line in lines])} from order {order['order_id']} back "
        "for you, "
        f"with everything settled over your {method_name(method)}. Is that all right?",
    )
    run.user(yes(run))
    outcome = run.call(
        "start_return",
        order_id=order["order_id"],
        line_ids=[line["line_id"] for line in lines],
        refund_to=method,
    )
    run.fault("return_for_exchange", tool_selection=[outcome.step])
    run.say(f"Return {outcome.result['return_id']} is open; you will be refunded to your {method_name(method)}.")
    run.user("And the new one gets sent out?", f"Wait, I wanted {request.facts['wanted'][0]} in exchange.")
    run.say("That would be a new order, I am afraid. The return is already registered.")
    run.user("Hm. I had asked for an exchange.", "That's not what I wanted, but okay.")
    run.upset = True
