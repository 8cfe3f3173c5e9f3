"""Customers and orders, made to measure for the requests of a task."""

from __future__ import annotations

from generator.catalogue import CARRIERS, FIRST_NAMES, LAST_NAMES, Record, build_address, build_products, day, fresh
from generator.dice import Dice


class World:
    """The records of the shop while they are being made."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.today = day("2025-03-03", dice.whole(0, 200))
        self.products = build_products(dice)
        self.customers: dict[str, Record] = {}
        self.orders: dict[str, Record] = {}
        self._taken: set[str] = set()
        self._wanted: set[str] = set()
        names = [(first, last) for first in FIRST_NAMES for last in LAST_NAMES]
        self._names = iter(dice.shuffled(names))

    def records(self) -> Record:
        return {
            "customers": self.customers,
            "orders": self.orders,
            "products": self.products,
            "handed_over": False,
        }

    def customer(self) -> Record:
        first, last = next(self._names)
        number = fresh(self._taken, lambda: self.dice.digits(5))
        mail = self.dice.pick(
            (f"{first}.{last}", f"{last}{self.dice.digits(2)}", f"{first[0]}{last}{self.dice.digits(3)}")
        )
        card = f"card-{fresh(self._taken, lambda: self.dice.digits(4))}"
        other = f"card-{fresh(self._taken, lambda: self.dice.digits(4))}"
        record: Record = {
            "customer_id": f"cust-{number}",
            "name": f"{first} {last}",
            "email": f"{mail.lower().replace('-', '')}@mailbox.example",
            "address": build_address(self.dice),
            "payment_methods": [
                {"id": card},
                {"id": other},
                {"id": f"wallet-{number}", "balance": float(self.dice.whole(0, 40))},
            ],
            "orders": [],
        }
        self.customers[record["customer_id"]] = record
        return record

    def order(
        self,
        customer: Record,
        status: str,
        size: int,
        *,
        product: str | None = None,
        delivered_days_ago: int = 9,
        days_late: int | None = None,
    ) -> Record:
        """An order of `size` different products; `product` names the first line's."""
        dice = self.dice
        order_id = f"FH-{fresh(self._taken, lambda: dice.digits(5))}"
        names = [item["name"] for item in self.products.values() if item["name"] != product]
        chosen = ([product] if product else []) + dice.sample(names, size)
        lines = [self._line(order_id, number, name) for number, name in enumerate(chosen[:size], start=1)]
        paid = round(sum(line["price"] for line in lines), 2)
        age = {"pending": dice.whole(1, 3), "packed": 4, "shipped": dice.whole(6, 8)}
        placed = age.get(status, delivered_days_ago + dice.whole(4, 7)) + (days_late or 0)
        order: Record = {
            "order_id": order_id,
            "customer_id": customer["customer_id"],
            "placed_on": day(self.today, -placed),
            "status": status,
            "ship_to": dict(customer["address"]),
            "lines": lines,
            "paid": paid,
            "paid_with": customer["payment_methods"][0]["id"],
        }
        if status == "delivered":
            order["delivered_on"] = day(self.today, -delivered_days_ago)
            order["return_until"] = day(self.today, 30 - delivered_days_ago)
            order["label_fee"] = 0.0 if paid > 250 else 4.9
            order["parcel"] = self._parcel("delivered", order["delivered_on"], order["delivered_on"])
        if status == "shipped":
            promised = day(self.today, -days_late if days_late is not None else dice.whole(1, 3))
            expected = day(self.today, dice.whole(2, 4)) if days_late is not None else promised
            order["parcel"] = self._parcel("in_transit", promised, expected)
        self.orders[order_id] = order
        customer["orders"].append(order_id)
        return order

    def _line(self, order_id: str, number: int, product: str) -> Record:
        variants = next(item["variants"] for item in self.products.values() if item["name"] == product)
        sku = self.dice.pick(list(variants))
        # what was paid differs from today's price, as it does after a sale or a price rise
        paid = round(variants[sku]["price"] * (0.9 if self.dice.chance(0.5) else 1.04), 2)
        return {
            "line_id": f"{order_id}/{number}",
            "product": product,
            "sku": sku,
            "options": variants[sku]["options"],
            "price": paid,
            "state": "open",
        }

    def _parcel(self, state: str, promised: str, expected: str) -> Record:
        return {
            "carrier": self.dice.pick(CARRIERS),
            "tracking": self.dice.pick("ABCDEFGH") + self.dice.digits(8),
            "state": state,
            "promised_on": promised,
            "expected_on": expected,
        }

    def product_named(self, name: str) -> Record:
        return next(item for item in self.products.values() if item["name"] == name)

    def other_variant(self, line: Record) -> str:
        """A sku of the same product with other options; stock is arranged so that there is one."""
        variants = self.product_named(line["product"])["variants"]
        others = [sku for sku in variants if sku != line["sku"]]
        free = [sku for sku in others if not variants[sku].get("held")]
        fitting = [sku for sku in free if variants[sku]["in_stock"]]
        if not fitting:
            fitting = [self.dice.pick(free)]
            variants[fitting[0]]["in_stock"] = True
        chosen = str(self.dice.pick(fitting))
        self._wanted.add(chosen)
        return chosen

    def product_with_choice(self) -> str:
        """Name of a product with many variants, the fewest of them spoken for."""
        names = [
            (len(self._wanted & set(item["variants"])), self.dice.share(), str(item["name"]))
            for item in self.products.values()
            if len(item["variants"]) >= 6 and not any(variant.get("held") for variant in item["variants"].values())
        ]
        return min(names)[-1]

    def spare_variant(self, line: Record, taken: list[str]) -> None:
        """See to it that one more variant is in stock, besides the old one and those `taken`."""
        variants = self.product_named(line["product"])["variants"]
        others = [sku for sku in variants if sku != line["sku"] and sku not in taken and not variants[sku].get("held")]
        if others and not any(variants[sku]["in_stock"] for sku in others):
            variants[self.dice.pick(others)]["in_stock"] = True

    def held_variant(self, line: Record, taken: list[str]) -> str | None:
        """A variant that shows as in stock and is sold by the time it is asked for; None where too few are left."""
        variants = self.product_named(line["product"])["variants"]
        others = [sku for sku in variants if sku != line["sku"] and sku not in taken]
        free = [sku for sku in others if sku not in self._wanted]
        if len(others) < 3 or not free or any(variants[sku].get("held") for sku in variants):
            return None
        sku = str(self.dice.pick(free))
        variants[sku].update(in_stock=True, held=True)
        others.remove(sku)
        if not any(variants[other]["in_stock"] for other in others):
            variants[self.dice.pick(others)]["in_stock"] = True
        return sku
