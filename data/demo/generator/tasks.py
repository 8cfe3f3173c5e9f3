"""The tasks: which customer wants what, which changes of the records that means, and what must be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from generator.catalogue import Record, build_address, colour_word, day
from generator.dice import Dice
from generator.toolset import REASONS
from generator.world import World

Action = tuple[str, Record]


@dataclass
class Request:
    """One thing a customer wants. `goal` is what a faultless agent changes, `told` what it must say in figures."""

    kind: str
    wish: str
    order: Record = field(default_factory=dict)
    lines: list[Record] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    goal: list[Action] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


@dataclass
class Task:
    task_id: str
    customer: Record
    requests: list[Request]
    persona: str
    found_by: str
    gives_order_id: bool

    @property
    def goal(self) -> list[Action]:
        return [action for request in self.requests for action in request.goal]

    @property
    def told(self) -> list[str]:
        return [words for request in self.requests for words in request.told]


def describe(line: Record) -> str:
    return f"{line['product']} ({colour_word(line['options'])})"


def cancel_line(world: World, customer: Record, count: int = 1) -> Request:
    order = world.order(customer, "pending", 3 + world.dice.whole(0, 1))
    lines = world.dice.sample(order["lines"], count)
    world.order(customer, "pending", 2, product=lines[0]["product"])  # an easy order to take for the right one
    reason = world.dice.pick(REASONS)
    words = " and ".join(f"the {describe(line)}" for line in lines)
    return Request(
        "cancel_line",
        f"cancel only {words} in order {order['order_id']} (reason {reason}) and keep the rest",
        order,
        lines,
        {"reason": reason},
        [
            ("cancel_line", {"order_id": order["order_id"], "line_id": line["line_id"], "reason": reason})
            for line in lines
        ],
    )


def cancel_two_lines(world: World, customer: Record) -> Request:
    return cancel_line(world, customer, count=2)


def cancel_order(world: World, customer: Record, size: int = 2) -> Request:
    order = world.order(customer, "pending", size)
    reason = world.dice.pick(REASONS)
    return Request(
        "cancel_order",
        f"cancel all of order {order['order_id']} (reason {reason})",
        order,
        order["lines"],
        {"reason": reason},
        [("cancel_order", {"order_id": order["order_id"], "reason": reason})],
    )


def cancel_single(world: World, customer: Record) -> Request:
    return cancel_order(world, customer, size=1)


def start_return(world: World, customer: Record, count: int = 2, ago: tuple[int, int] = (4, 27)) -> Request:
    order = world.order(customer, "delivered", count + 1, delivered_days_ago=world.dice.whole(*ago))
    lines = world.dice.sample(order["lines"], count)
    target = world.dice.pick((order["paid_with"], customer["payment_methods"][2]["id"]))
    return Request(
        "return",
        f"return {' and '.join(describe(line) for line in lines)} from order {order['order_id']}, refund to {target}",
        order,
        lines,
        {"refund_to": target},
        [
            (
                "start_return",
                {
                    "order_id": order["order_id"],
                    "line_ids": [line["line_id"] for line in lines],
                    "refund_to": target,
                },
            )
        ],
    )


def return_one(world: World, customer: Record) -> Request:
    return start_return(world, customer, count=1)


def exchange(world: World, customer: Record, count: int = 1) -> Request:
    order = world.order(customer, "delivered", count + 1, delivered_days_ago=world.dice.whole(3, 26))
    lines = world.dice.sample(order["lines"], count)
    skus = [world.other_variant(line) for line in lines]
    swaps = [{"line_id": line["line_id"], "new_sku": sku} for line, sku in zip(lines, skus, strict=True)]
    method = order["paid_with"]
    for line in lines:
        world.spare_variant(line, skus)
    first = world.held_variant(lines[0], skus) if world.dice.chance(0.4) else None
    variants = [world.product_named(line["product"])["variants"][sku] for line, sku in zip(lines, skus, strict=True)]
    wanted = [colour_word(variant["options"]) for variant in variants]
    words = " and ".join(f"{describe(line)} for {want}" for line, want in zip(lines, wanted, strict=True))
    return Request(
        "exchange",
        f"exchange {words} in order {order['order_id']}, difference on {method}",
        order,
        lines,
        {
            "skus": skus,
            "wanted": wanted,
            "variants": variants,
            "settle_with": method,
            **first_choice(world, lines[0], first),
        },
        [("start_exchange", {"order_id": order["order_id"], "swaps": swaps, "settle_with": method})],
    )


def first_choice(world: World, line: Record, sku: str | None) -> Record:
    """The variant that the customer asks for first and that sells out under the agent's hands, if there is one."""
    if sku is None:
        return {}
    return {"first_choice": (sku, colour_word(world.product_named(line["product"])["variants"][sku]["options"]))}


def exchange_two(world: World, customer: Record) -> Request:
    return exchange(world, customer, count=2)


def swap(world: World, customer: Record, product: str | None = None) -> Request:
    order = world.order(customer, "pending", 2, product=product)
    line = order["lines"][0] if product else world.dice.pick(order["lines"])
    sku = world.other_variant(line)
    world.spare_variant(line, [sku])
    first = world.held_variant(line, [sku]) if product or world.dice.chance(0.5) else None
    variant = world.product_named(line["product"])["variants"][sku]
    method = order["paid_with"]
    arguments = {"order_id": order["order_id"], "line_id": line["line_id"], "new_sku": sku, "settle_with": method}
    return Request(
        "swap",
        f"change {describe(line)} in pending order {order['order_id']} to {colour_word(variant['options'])}",
        order,
        [line],
        {
            "skus": [sku],
            "wanted": [colour_word(variant["options"])],
            "variants": [variant],
            "settle_with": method,
            **first_choice(world, line, first),
        },
        [("swap_line", arguments)],
    )


def swap_after_sale(world: World, customer: Record) -> Request:
    """A swap whose first choice is gone when it is tried."""
    return swap(world, customer, product=world.product_with_choice())


def redirect(world: World, customer: Record, also_book: bool = False) -> Request:
    order = world.order(customer, world.dice.pick(("pending", "packed")), 2)
    address = build_address(world.dice)
    goal: list[Action] = [("redirect_order", {"order_id": order["order_id"], **address})]
    if also_book:
        goal.append(("update_address_book", {"customer_id": customer["customer_id"], **address}))
    where = f"{address['street']}, {address['city']} {address['postcode']}"
    also = "; also keep it for future orders" if also_book else "; this order only"
    return Request(
        "redirect",
        f"send order {order['order_id']} to {where}{also}",
        order,
        [],
        {"address": address, "also_book": also_book},
        goal,
    )


def redirect_and_book(world: World, customer: Record) -> Request:
    return redirect(world, customer, also_book=True)


def refund_status(world: World, customer: Record) -> Request:
    order = world.order(customer, "delivered", 2, delivered_days_ago=world.dice.whole(12, 29))
    line = world.dice.pick(order["lines"])
    line["state"] = "returned"
    amount = round(line["price"] - order["label_fee"], 2)
    state = world.dice.pick(("issued", "waiting for inspection"))
    refund = {"refund_id": f"RFD-{order['order_id'][3:]}-1", "amount": amount, "to": order["paid_with"], "state": state}
    refund["issued_on"] = day(world.today, -3) if state == "issued" else None
    order["refunds"] = [refund]
    return Request(
        "refund_status",
        f"ask how much is refunded for {describe(line)} of order {order['order_id']} and how far it is",
        order,
        [line],
        {"refund": refund},
        told=[f"{amount:.2f}"],
    )


def product_question(world: World, customer: Record) -> Request:
    product = world.dice.pick(list(world.products.values()))
    stocked = {sku: variant for sku, variant in product["variants"].items() if variant["in_stock"]}
    if not stocked:
        sku = next(iter(product["variants"]))
        product["variants"][sku]["in_stock"] = True
        stocked = {sku: product["variants"][sku]}
    sku = world.dice.pick(list(stocked))
    variant = product["variants"][sku]
    return Request(
        "product_question",
        f"ask how many variants of the {product['name']} are in stock and what {colour_word(variant['options'])} costs",
        {},
        [],
        {"product": product, "sku": sku, "variant": variant},
        told=[f"{variant['price']:.2f}"],
    )


def parcel(world: World, customer: Record) -> Request:
    order = world.order(customer, "shipped", 2)
    return Request("parcel", f"ask where order {order['order_id']} is", order)


def late_parcel(world: World, customer: Record) -> Request:
    late = world.dice.pick((3, 4, 5, 6, 7, 9))
    order = world.order(customer, "shipped", 1, days_late=late)
    amount = 15 if late >= 6 else 8
    arguments = {"customer_id": customer["customer_id"], "order_id": order["order_id"], "amount": amount}
    return Request(
        "late_parcel",
        f"complain that order {order['order_id']} is late and ask for what is due",
        order,
        [],
        {"days_late": late, "amount": amount},
        [("grant_credit", arguments)],
    )


def beyond_tools(world: World, customer: Record) -> Request:
    matter = world.dice.pick(("crash replacement", "a trade account", "a damage claim against the carrier"))
    goal: list[Action] = [("hand_over", {"summary": matter})]
    return Request("beyond_tools", f"ask for {matter}", facts={"matter": matter}, goal=goal)


def too_late_to_cancel(world: World, customer: Record) -> Request:
    order = world.order(customer, "shipped", 2)
    return Request("too_late_to_cancel", f"insist on cancelling order {order['order_id']}, which has left", order)


def too_late_to_return(world: World, customer: Record) -> Request:
    order = world.order(customer, "delivered", 2, delivered_days_ago=world.dice.whole(33, 48))
    line = world.dice.pick(order["lines"])
    wish = f"return {describe(line)} of order {order['order_id']}, past the return date"
    return Request("too_late_to_return", wish, order, [line], {"refund_to": order["paid_with"]})


def other_card(world: World, customer: Record) -> Request:
    request = return_one(world, customer)
    wallet, card = customer["payment_methods"][2]["id"], customer["payment_methods"][1]["id"]
    request.kind, request.facts = "other_card", {"refund_to": wallet, "forbidden": card}
    request.goal[0][1]["refund_to"] = wallet
    request.wish += f"; first asks for {card}, then takes the wallet"
    return request


def other_person(world: World, customer: Record) -> Request:
    other = world.customer()
    order = world.order(other, "shipped", 1)
    wish = f"ask where the parcel of {other['name']}, order {order['order_id']}, is"
    return Request("other_person", wish, order, facts={"name": other["name"]})


def rules_question(world: World, customer: Record) -> Request:
    return Request("rules_question", "ask how long returns are possible after delivery and who pays the label")


Maker = Callable[[World, Record], Request]

#: What each task asks for, in order.
PLANS: list[list[Maker]] = [
    [cancel_line],
    [cancel_line, refund_status],
    [cancel_two_lines, product_question],
    [cancel_line, parcel],
    [cancel_order, parcel],
    [cancel_single],
    [cancel_order, return_one],
    [start_return],
    [return_one, product_question],
    [start_return, redirect],
    [exchange],
    [exchange_two],
    [exchange, refund_status],
    [exchange_two, cancel_line],
    [swap_after_sale],
    [swap, redirect_and_book],
    [redirect],
    [redirect_and_book, parcel],
    [refund_status, product_question],
    [late_parcel],
    [late_parcel, swap],
    [refund_status, beyond_tools],
    [product_question, too_late_to_cancel],
    [too_late_to_return, late_parcel],
    [other_card],
    [other_person, redirect],
    [rules_question],
    [product_question, exchange],
]

PERSONAS = ("brief", "polite", "talkative", "cross")


def build_tasks(seed: int) -> tuple[World, list[Task]]:
    """The world of a seed and its tasks, in an order that the seed decides."""
    dice = Dice("world", seed)
    world = World(dice)
    tasks = []
    for number, plan in enumerate(dice.shuffled(PLANS), start=1):
        customer = world.customer()
        requests = [make(world, customer) for make in plan]
        tasks.append(
            Task(
                f"{seed:02d}-{number:02d}",
                customer,
                requests,
                dice.pick(PERSONAS),
                dice.pick(("email", "name")),
                dice.chance(0.5),
            )
        )
    return world, tasks
