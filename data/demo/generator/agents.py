"""The four scripted agents: how they speak, and which faults they make how often.

The names are invented; no model stands behind them. Each entry of `faults` is planted in a run of its own choosing
by the seed, so every seed has the same numbers per agent and different places. `second_faults` are planted on top of
another fault, far from it: while the customer is being found, or at the end.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Agent:
    name: str
    family: str
    greeting: str
    openers: tuple[str, ...]
    offers_more: tuple[str, ...]
    parallel: bool
    aloud: float
    faults: dict[str, int]
    second_faults: tuple[str, ...] = ()


AGENTS = (
    Agent(
        "alder-large",
        "alder",
        "Welcome to Fernhollow Cycles, what can I do for you today?",
        ("Of course. ", "Certainly. ", "Gladly. ", ""),
        ("Is there anything else I can do for you?", "Can I help you with anything else today?"),
        parallel=True,
        aloud=0.15,
        faults={
            "amount_misread": 2,
            "wrong_row": 1,
            "status_misread": 1,
            "advice_against_rules": 1,
            "wrong_sum": 1,
            "coarse_tool": 1,
            "answered_without_lookup": 1,
            "invented_email": 1,
            "change_before_yes": 1,
            "calls_after_goodbye": 1,
            "misreported_scope": 1,
        },
    ),
    Agent(
        "birch-2",
        "birch",
        "Hi, this is the Fernhollow Cycles service desk. How can I help?",
        ("Sure! ", "No problem. ", "Happy to help. ", "", "All right. "),
        ("Anything else?", "Is there something else you need?", "Anything else I can look at?"),
        parallel=True,
        aloud=0.3,
        faults={
            "coarse_tool": 2,
            "wrong_address_tool": 1,
            "return_for_exchange": 1,
            "answered_without_lookup": 1,
            "same_failing_call": 1,
            "unknown_tool": 1,
            "wrong_variant": 1,
            "changed_without_reading": 1,
            "date_misread": 1,
            "drawn_out_ending": 1,
        },
        second_faults=("calls_after_goodbye",),
    ),
    Agent(
        "cedar-mini",
        "cedar",
        "Hello! How can I help you today?",
        ("Okay! ", "Sure thing! ", "", "Let me see. ", "Thanks! "),
        ("Anything else I can help with?", "Can I do anything else for you?"),
        parallel=False,
        aloud=0.5,
        faults={
            "wrong_variant": 1,
            "product_id_as_sku": 1,
            "word_not_allowed": 1,
            "missing_argument": 1,
            "wrong_order": 1,
            "invented_order_id": 1,
            "garbled_address": 1,
            "order_before_identity": 1,
            "change_before_yes": 2,
            "return_before_terms": 1,
            "piecemeal_exchange": 1,
            "repeated_write": 1,
            "sku_before_lookup": 1,
            "write_for_question": 1,
            "amount_misread": 1,
            "count_misread": 1,
            "refused_though_allowed": 1,
            "error_taken_for_success": 1,
            "loops_until_cut": 1,
            "stopped_early": 1,
            "promised_not_done": 1,
            "broke_off": 1,
        },
        second_faults=("same_failing_call", "drawn_out_ending", "invented_email"),
    ),
    Agent(
        "damson-pro",
        "damson",
        "Good day, and thank you for contacting Fernhollow Cycles. How may I help you?",
        ("Thank you. ", "Certainly. ", "", "Understood. "),
        ("May I help you with anything else?", "Is there anything further I can do?"),
        parallel=True,
        aloud=0.0,
        faults={
            "stopped_early": 2,
            "asks_again_and_again": 1,
            "calls_after_goodbye": 1,
            "drawn_out_ending": 1,
            "needless_handover": 1,
            "credit_beyond_rule": 1,
            "changed_without_reading": 1,
            "status_misread": 1,
        },
    ),
)
