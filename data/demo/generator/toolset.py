"""The tools of the service desk: names, kinds, what they say of themselves and JSON schemas of their parameters."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
REASONS = ["changed_mind", "ordered_twice", "found_elsewhere", "arrives_too_late"]
ORDER_ID: Schema = {"type": "string", "description": "Order number such as FH-12345."}
LINE_ID: Schema = {"type": "string", "description": "Line of an order such as FH-12345/1."}
METHOD: Schema = {"type": "string", "description": "Payment method such as card-1234 or wallet-12345."}
SKU: Schema = {"type": "string", "description": "Variant such as ABC-1234."}
REASON: Schema = {"type": "string", "enum": REASONS}
SWAPS: Schema = {
    "type": "array",
    "items": {"type": "object", "properties": {"line_id": LINE_ID, "new_sku": SKU}, "required": ["line_id", "new_sku"]},
}
LINES: Schema = {"type": "array", "items": LINE_ID}
ADDRESS: Schema = {"street": TEXT, "city": TEXT, "postcode": TEXT}

#: name -> (kind, what it does, parameters); every parameter is required
TOOLS: dict[str, tuple[str, str, Schema]] = {
    "find_customer_by_email": ("read", "Customer number for an email address.", {"email": TEXT}),
    "find_customer_by_name": (
        "read",
        "Customer number for a last name and the postcode of the address book entry.",
        {"last_name": TEXT, "postcode": TEXT},
    ),
    "get_customer": (
        "read",
        "A customer's record: name, address, payment methods, order numbers.",
        {"customer_id": TEXT},
    ),
    "get_order": ("read", "An order with its lines, status, address and payment.", {"order_id": ORDER_ID}),
    "find_products": ("read", "Products whose name contains the word.", {"word": TEXT}),
    "get_product": ("read", "A product's variants with options, price today and stock.", {"product_id": TEXT}),
    "check_return_terms": (
        "read",
        "Whether and until when an order may be returned or exchanged, and the label fee.",
        {"order_id": ORDER_ID},
    ),
    "track_parcel": ("read", "Where an order's parcel is.", {"order_id": ORDER_ID}),
    "list_refunds": ("read", "Refunds issued for an order.", {"order_id": ORDER_ID}),
    "add_up": ("generic", "Value of a sum such as 12.50 + 3.20 - 4.90.", {"expression": TEXT}),
    "cancel_order": ("write", "Cancel a whole pending order.", {"order_id": ORDER_ID, "reason": REASON}),
    "cancel_line": (
        "write",
        "Cancel one line of a pending order and leave the rest.",
        {"order_id": ORDER_ID, "line_id": LINE_ID, "reason": REASON},
    ),
    "swap_line": (
        "write",
        "Replace a line of a pending order by another variant.",
        {"order_id": ORDER_ID, "line_id": LINE_ID, "new_sku": SKU, "settle_with": METHOD},
    ),
    "start_return": (
        "write",
        "Start the return of lines of a delivered order.",
        {"order_id": ORDER_ID, "line_ids": LINES, "refund_to": METHOD},
    ),
    "start_exchange": (
        "write",
        "Start the exchange of lines of a delivered order; once per order.",
        {"order_id": ORDER_ID, "swaps": SWAPS, "settle_with": METHOD},
    ),
    "redirect_order": (
        "write",
        "Change the delivery address of one order that has not left.",
        {"order_id": ORDER_ID, **ADDRESS},
    ),
    "update_address_book": (
        "write",
        "Change the address kept for a customer's future orders.",
        {"customer_id": TEXT, **ADDRESS},
    ),
    "grant_credit": (
        "write",
        "Credit the store wallet for a late parcel.",
        {"customer_id": TEXT, "order_id": ORDER_ID, "amount": {"type": "number"}},
    ),
    "hand_over": ("generic", "Pass the conversation to a colleague with a summary.", {"summary": TEXT}),
}


def parameters_of(name: str) -> Schema:
    """JSON schema of a tool's arguments."""
    properties = TOOLS[name][2]
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def tool_definitions() -> dict[str, Schema]:
    """The tools as tau2 writes them into a results file, with their kind."""
    return {
        name: {"name": name, "doc": doc, "params": parameters_of(name), "returns": None, "kind": kind}
        for name, (kind, doc, _) in TOOLS.items()
    }


def tools_file() -> Schema:
    """The tools in the form that ``--tools`` reads: per domain a list with kind, parameters and required."""
    return {
        "source": "data/demo/generator/toolset.py",
        "cycleshop": [
            {
                "name": name,
                "kind": kind,
                "description": doc,
                "parameters": {key: _short(schema) for key, schema in properties.items()},
                "required": list(properties),
            }
            for name, (kind, doc, properties) in TOOLS.items()
        ],
    }


def _short(schema: Schema) -> Any:
    return {"enum": schema["enum"]} if "enum" in schema else schema["type"]
