"""The shop's records and the tools on them. A tool that refuses raises `Refused` and changes nothing."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from generator.catalogue import Record
from generator.toolset import TOOLS


class Refused(Exception):
    """A tool's error message."""


class Shop:
    """One copy of the records, at one date, with the tools as methods named like the tools.

    `records` holds ``customers``, ``orders``, ``products`` and ``handed_over``. Refunds, parcels, return terms and
    exchange marks live inside an order under keys that `get_order` does not show.
    """

    HIDDEN = ("refunds", "parcel", "return_until", "label_fee", "exchanged", "credited")

    def __init__(self, records: Record, today: str) -> None:
        self.records = copy.deepcopy(records)
        self.today = today

    def run(self, name: str, arguments: Record) -> tuple[str, bool]:
        """Content of the tool message, and whether it is an error."""
        try:
            self._check(name, arguments)
            result = getattr(self, name)(**arguments)
        except Refused as refusal:
            return f"Error: {refusal}", True
        return result if isinstance(result, str) else json.dumps(result), False

    def _check(self, name: str, arguments: Record) -> None:
        if name not in TOOLS:
            raise Refused(f"there is no tool named {name}")
        schemas = TOOLS[name][2]
        for key in schemas:
            if key not in arguments:
                raise Refused(f"{name} needs the argument {key}")
        for key, value in arguments.items():
            if key not in schemas:
                raise Refused(f"{name} has no argument {key}")
            kinds: dict[str, Any] = {"string": str, "array": list, "number": (int, float)}
            if not isinstance(value, kinds[schemas[key]["type"]]):
                raise Refused(f"{key} must be of type {schemas[key]['type']}")
            if "enum" in schemas[key] and value not in schemas[key]["enum"]:
                raise Refused(f"{key} must be one of {', '.join(schemas[key]['enum'])}; got {value!r}")

    # reading

    def find_customer_by_email(self, email: str) -> str:
        for customer in self.records["customers"].values():
            if customer["email"] == email.lower():
                return str(customer["customer_id"])
        raise Refused("no customer with this email")

    def find_customer_by_name(self, last_name: str, postcode: str) -> str:
        for customer in self.records["customers"].values():
            if customer["name"].split(" ", 1)[1] == last_name and customer["address"]["postcode"] == postcode:
                return str(customer["customer_id"])
        raise Refused("no customer with this last name and postcode")

    def get_customer(self, customer_id: str) -> Record:
        return dict(self._of("customers", customer_id, "customer"))

    def get_order(self, order_id: str) -> Record:
        order = self._of("orders", order_id, "order")
        return {key: value for key, value in order.items() if key not in self.HIDDEN}

    def find_products(self, word: str) -> list[Record]:
        found = [item for item in self.records["products"].values() if word.lower() in item["name"]]
        if not found:
            raise Refused(f"no product matches {word!r}")
        return [{"product_id": item["product_id"], "name": item["name"]} for item in found]

    def get_product(self, product_id: str) -> Record:
        product = self._of("products", product_id, "product")
        variants = {
            sku: {key: value for key, value in variant.items() if key != "held"}
            for sku, variant in product["variants"].items()
        }
        return {**product, "variants": variants}

    def check_return_terms(self, order_id: str) -> Record:
        order = self._of("orders", order_id, "order")
        if order["status"] != "delivered":
            raise Refused(f"order {order_id} is {order['status']}, not delivered")
        until = order["return_until"]
        return {
            "order_id": order_id,
            "delivered_on": order["delivered_on"],
            "return_until": until,
            "eligible": self.today <= until,
            "label_fee": order["label_fee"],
        }

    def track_parcel(self, order_id: str) -> Record:
        parcel = self._of("orders", order_id, "order").get("parcel")
        if not parcel:
            raise Refused(f"order {order_id} has no parcel yet")
        return {"order_id": order_id, **parcel}

    def list_refunds(self, order_id: str) -> Record:
        return {"order_id": order_id, "refunds": self._of("orders", order_id, "order").get("refunds", [])}

    def add_up(self, expression: str) -> str:
        if not re.fullmatch(r"\s*\d+(\.\d+)?(\s*[+-]\s*\d+(\.\d+)?)*\s*", expression):
            raise Refused("only numbers with + and - between them")
        signs_and_numbers = re.findall(r"([+-]?)\s*(\d+(?:\.\d+)?)", expression)
        return f"{sum(-float(number) if sign == '-' else float(number) for sign, number in signs_and_numbers):.2f}"

    # changing

    def cancel_order(self, order_id: str, reason: str) -> Record:
        order = self._pending(order_id)
        amount = round(sum(line["price"] for line in order["lines"] if line["state"] == "open"), 2)
        for line in order["lines"]:
            line["state"] = "cancelled"
        order["status"] = "cancelled"
        return {"order_id": order_id, "status": "cancelled", "reason": reason, "refund": self._refund(order, amount)}

    def cancel_line(self, order_id: str, line_id: str, reason: str) -> Record:
        order = self._pending(order_id)
        line = self._line(order, line_id)
        line["state"] = "cancelled"
        return {
            "order_id": order_id,
            "line_id": line_id,
            "state": "cancelled",
            "reason": reason,
            "refund": self._refund(order, line["price"]),
        }

    def swap_line(self, order_id: str, line_id: str, new_sku: str, settle_with: str) -> Record:
        order = self._pending(order_id)
        line = self._line(order, line_id)
        self._method(order["customer_id"], settle_with)
        if line.get("swapped"):
            raise Refused(f"line {line_id} was swapped before")
        variant = self._variant(line["product"], new_sku)
        line.update(sku=new_sku, options=variant["options"], price=variant["price"], swapped=True)
        return {"order_id": order_id, "line": dict(line), "settle_with": settle_with}

    def start_return(self, order_id: str, line_ids: list[str], refund_to: str) -> Record:
        order = self._delivered(order_id)
        self._method(order["customer_id"], refund_to)
        lines = [self._line(order, line_id) for line_id in line_ids]
        for line in lines:
            line["state"] = "return started"
        order.setdefault("refund_to", refund_to)
        return {
            "return_id": f"RET-{order_id[3:]}-{line_ids[0].rsplit('/')[-1]}",
            "order_id": order_id,
            "lines": [{"line_id": line["line_id"], "price": line["price"]} for line in lines],
            "label_fee": order["label_fee"],
            "refund_to": refund_to,
            "state": "waiting for the goods",
        }

    def start_exchange(self, order_id: str, swaps: list[Record], settle_with: str) -> Record:
        order = self._delivered(order_id)
        self._method(order["customer_id"], settle_with)
        if order.get("exchanged"):
            raise Refused(f"order {order_id} was exchanged before; an order can be exchanged once")
        pairs = [(self._line(order, swap["line_id"]), swap["new_sku"]) for swap in swaps]
        variants = [self._variant(line["product"], sku) for line, sku in pairs]
        for (line, sku), variant in zip(pairs, variants, strict=True):
            line.update(state="exchange started", new_sku=sku, new_price=variant["price"])
        order["exchanged"] = True
        return {
            "exchange_id": f"EXC-{order_id[3:]}",
            "order_id": order_id,
            "swaps": [
                {"line_id": line["line_id"], "old_price": line["price"], "new_sku": sku, "new_price": line["new_price"]}
                for line, sku in pairs
            ],
            "settle_with": settle_with,
            "state": "waiting for the goods",
        }

    def redirect_order(self, order_id: str, street: str, city: str, postcode: str) -> Record:
        order = self._of("orders", order_id, "order")
        if order["status"] not in ("pending", "packed"):
            raise Refused(f"order {order_id} is {order['status']}; its address cannot be changed")
        order["ship_to"] = {"street": street, "city": city, "postcode": postcode}
        return {"order_id": order_id, "ship_to": dict(order["ship_to"])}

    def update_address_book(self, customer_id: str, street: str, city: str, postcode: str) -> Record:
        customer = self._of("customers", customer_id, "customer")
        customer["address"] = {"street": street, "city": city, "postcode": postcode}
        return {"customer_id": customer_id, "address": dict(customer["address"])}

    def grant_credit(self, customer_id: str, order_id: str, amount: float) -> Record:
        customer, order = self._of("customers", customer_id, "customer"), self._of("orders", order_id, "order")
        order["credited"] = round(order.get("credited", 0) + amount, 2)
        wallet = next(method for method in customer["payment_methods"] if method["id"].startswith("wallet"))
        wallet["balance"] = round(wallet["balance"] + amount, 2)
        return {
            "customer_id": customer_id,
            "order_id": order_id,
            "credited": amount,
            "wallet_balance": wallet["balance"],
        }

    def hand_over(self, summary: str) -> str:
        self.records["handed_over"] = True
        return "A colleague has been told and takes over."

    # rules that several tools share

    def _of(self, table: str, key: str, word: str) -> Record:
        if key not in self.records[table]:
            raise Refused(f"no {word} {key}")
        return self.records[table][key]  # type: ignore[no-any-return]

    def _pending(self, order_id: str) -> Record:
        order = self._of("orders", order_id, "order")
        if order["status"] != "pending":
            raise Refused(f"order {order_id} is {order['status']}, not pending")
        return order

    def _delivered(self, order_id: str) -> Record:
        order = self._of("orders", order_id, "order")
        if order["status"] != "delivered":
            raise Refused(f"order {order_id} is {order['status']}, not delivered")
        return order

    @staticmethod
    def _line(order: Record, line_id: str) -> Record:
        for line in order["lines"]:
            if line["line_id"] == line_id:
                if line["state"] != "open":
                    raise Refused(f"line {line_id} is {line['state']} already")
                return line  # type: ignore[no-any-return]
        raise Refused(f"order {order['order_id']} has no line {line_id}")

    def _variant(self, product: str, sku: str) -> Record:
        for item in self.records["products"].values():
            if sku in item["variants"]:
                if item["name"] != product:
                    raise Refused(f"{sku} is a {item['name']}, not a {product}")
                if not item["variants"][sku]["in_stock"]:
                    raise Refused(f"{sku} is out of stock")
                if item["variants"][sku].get("held"):
                    raise Refused(f"{sku} sold out a moment ago")
                return item["variants"][sku]  # type: ignore[no-any-return]
        raise Refused(f"no variant {sku}")

    def _method(self, customer_id: str, method_id: str) -> None:
        methods = self.records["customers"][customer_id]["payment_methods"]
        if all(method["id"] != method_id for method in methods):
            raise Refused(f"the customer has no payment method {method_id}")

    def _refund(self, order: Record, amount: float) -> Record:
        refunds = order.setdefault("refunds", [])
        refund = {
            "refund_id": f"RFD-{order['order_id'][3:]}-{len(refunds) + 1}",
            "amount": amount,
            "to": order["paid_with"],
            "state": "paid" if order["paid_with"].startswith("wallet") else "issued",
            "issued_on": self.today,
        }
        refunds.append(refund)
        return dict(refund)
