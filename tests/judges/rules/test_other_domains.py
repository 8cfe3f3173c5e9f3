"""The classes of false alarms and misses in other worlds: a bank, a clinic, a shop in euros, coding agents."""

from collections.abc import Callable
from typing import Any

import pytest
from judges.rules.conftest import _tool
from judges.rules.test_each_rule import kinds

from axisjudge.trajectory import Trajectory

Line = tuple[Any, ...]
Play = Callable[..., Trajectory]
TEXT = {"type": "string"}
CLINIC = (
    _tool("get_visit", "read", ("visit_id",), visit_id=TEXT),
    _tool("book_visit", "write", ("slot_id",), slot_id=TEXT),
    _tool("cancel_visit", "write", ("visit_id",), visit_id=TEXT),
    _tool("reschedule_visit", "write", ("visit_id", "slot_id"), visit_id=TEXT, slot_id=TEXT),
)
SHOP = (
    _tool("get_order", "read", ("order_id",), order_id=TEXT),
    _tool("refund_order", "write", ("order_id",), order_id=TEXT),
    _tool("cancel_order", "write", ("order_id",), order_id=TEXT),
    _tool("exchange_item", "write", ("order_id", "payment_id"), order_id=TEXT, payment_id=TEXT),
)
ORDER = {
    "order_id": "A-77120",
    "items": [{"item": "lamp", "price": 19.9}, {"item": "mat", "price": 34.5}, {"item": "cup", "price": 8.0}],
    "shipping": 4.95,
    "payments": [{"payment_id": "card_4411"}, {"payment_id": "card_9902"}],
}


def call(name: str, answer: Any = "ok", *, fails: bool = False, **arguments: Any) -> list[Line]:
    return [("call", "", (name, arguments)), ("error" if fails else "result", answer)]


def shop(text: str) -> list[Line]:
    return told(ORDER, text)


def told(shown: Any, text: str, *, asks: str = "What about A-77120?") -> list[Line]:
    return [("user", asks), *call("get_order", shown, order_id="A-77120"), ("agent", text)]


def visit(text: str, day: str = "2031-06-02") -> list[Line]:
    shown = {"visit_id": "AP-3301", "day": day}
    return [("user", "When is AP-3301?"), *call("get_visit", shown, visit_id="AP-3301"), ("agent", text)]


def coding(*calls: list[Line], asks: str = "Make it work.") -> list[Line]:
    return [("user", asks), *(line for one in calls for line in one), ("agent", "It works now.")]


def asked(question: str, text: str) -> list[Line]:
    slots = {"slots": [{"slot_id": f"S-{number}", "free": number < 3} for number in range(5)]}
    return [("user", question), *call("get_visit", slots, visit_id="AP-3301"), ("agent", text)]


def cancelled(request: str, proposal: str) -> list[Line]:
    order = {"order_id": "A-77120", "items": [{"name": "Desk Lamp"}, {"name": "Mat"}]}
    talk = [("user", request), *call("get_order", order, order_id="A-77120"), ("agent", proposal), ("user", "Yes.")]
    return [*talk, *call("cancel_order", {"status": "cancelled"}, order_id="A-77120"), ("agent", "It is cancelled.")]


RENTAL = (
    _tool("get_rental", "read", ("rental_id",), rental_id=TEXT),
    _tool("cancel_rental", "write", ("rental_id",), rental_id=TEXT),
)
LISTED = """The current date and time is 2031-03-14 09:00.
Rentals are **flexible** or **fixed**.

A rental can be cancelled if any of the following is true:
- It was booked within the last 24 hours
- The garage cancelled it
- It is a flexible rental
- The renter has cover and the reason is an illness
"""
IN_A_LINE = (
    "The current time is 2031-03-14 09:00:00. All rentals can be cancelled within 2 days of booking, or if the garage"
    " cancelled it. Otherwise, fixed rentals can be cancelled only if cover is bought, and flexible rentals can always"
    " be cancelled."
)


def rental(policy: str, tariff: str, cover: str, *, booked_at: str = "2031-03-01T10:00", says: str = "") -> list[Line]:
    shown = {"rental_id": "RT-40771", "tariff": tariff, "cover": cover, "booked_at": booked_at}
    asks = ("user", f"Please cancel my rental RT-40771. {says}")
    talk = [("system", policy), asks, *call("get_rental", shown, rental_id="RT-40771")]
    return [*talk, *call("cancel_rental", {"ok": True}, rental_id="RT-40771"), ("agent", "It is cancelled.")]


BLAMED = {"argument_blamed", "argument_blamed_mended", "no_schema", "unlike_successful_calls", "unknown_tool"}
FALSE_ALARMS: list[tuple[set[str], Any, list[list[Line]]]] = [
    (
        {"not_told"},
        CLINIC,
        [
            asked("How many slots are free on Monday?", "On Monday three of the 5 slots are free."),
            asked("How many free slots do you have?", "We have 3 slots available."),
            asked("How many kinds of visit can I have at all?", "You can choose from 3 versions now."),
            asked("Could you tell me how many slots there are?", "Of five slots, 3 are free."),
            asked("What is the total of my two visits? Let me know.", "Together, that makes a total of 84,00 €."),
            asked("In total, how much do I owe?", "That is 12.50 + 8.00, altogether $20.50."),
        ],
    ),
    (
        {"wider_than_asked"},
        SHOP,
        [
            cancelled("Cancel the order with the desk lamp, please.", "I would cancel A-77120. Okay?"),
            cancelled("Please cancel A-77120.", "Cancel it, with desk lamp and mat?"),
            cancelled("Please cancel the mat.", "I can only cancel the entire order A-77120. Shall I?"),
            cancelled("Do not cancel the mat, but what is it?", "I would cancel A-77120. Okay?"),
        ],
    ),
    (
        {"against_policy"},
        RENTAL,
        [
            one
            for policy in (LISTED, IN_A_LINE)
            for one in (
                rental(policy, "flexible", "no"),
                rental(policy, "fixed", "yes"),
                rental(policy, "fixed", "no", booked_at="2031-03-13T12:00"),
                rental(policy, "fixed", "no", says="The garage had cancelled it yesterday."),
                rental(policy, "fixed", "unknown"),
            )
        ]
        + [rental("A rental can be cancelled by phone.", "fixed", "no")],
    ),
    (
        {"amount", "unexplained_total"},
        SHOP,
        [
            shop("Old: 19.90 € + 8.00 € = 27.90 €. New: 34.50 € + 8.00 € = 42.50 €. Difference: 14.60 €."),
            shop("The goods come to €62.40; with €4.95 that is EUR 67.35. If the lamp goes back you keep €47.45."),
            shop("At 10% off the mat is €31.05; a third of the lamp's price is €6.63."),
            shop("Das macht 67,35 €, davon 4,95 € Versand."),
            shop("€62.40 with 19% VAT (€9.96) in it."),
            told({"total": "1.200,50 €"}, "It is €1,200.50."),
            told({"amount_cents": 120050}, "It is €1,200.50."),
            told({"prices": ["19.90", "34.50"]}, "Together €54.40."),
            told({"items": [{"price": 19.9, "quantity": 3}, {"price": 8.0, "quantity": 2}]}, "That is €75.70."),
            told("Lamp 19.90, mat 34.50, cup 8.00", "Together €62.40."),
            told({}, "Within your €1,200 budget.", asks="Budget 1.2k for A-77120."),
        ],
    ),
    (
        {"amount"},
        SHOP,
        [
            shop("After moving €500.00 there you would have €11.00 left."),
            shop("If you spend €100.00 there is no charge."),
        ],
    ),
    (
        {"date"},
        CLINIC,
        [
            visit("Option 1: 9 June 2031\nOption 2: 12 June 2031"),
            visit("Try the window 2031-06-09 to 2031-06-13."),
            visit('{"message": "Full.", "follow_up_options": ["Expand it to 2031-06-09 through 2031-06-20."]}'),
            visit('{\n"follow_up_options": [\n"Shift it to 2031-06-09.",\n"Later, on 2031-06-20."\n]}'),
            visit("It is June 3, 2031 in Berlin.", "2031-06-02T23:30:00Z"),
            [("user", "When does my 30-day trial end?"), *visit("It ends on July 2, 2031.")[1:]],
            *(
                visit("It is on June 2, 2031.", day)
                for day in ("02.06.2031", "6/2", "20310602", "06/02/31", "2-Jun-2031", "1938153600", "2031/06/02")
            ),
        ],
    ),
    (
        BLAMED,
        None,
        [
            coding(call("lint", "error: invalid syntax, unexpected token", path="src", fails=True)),
            coding(call("build_project", "error TS2345: property missing", target="app", fails=True)),
            coding(call("browser_evaluate", "ReferenceError: x: invalid", function="() => x", fails=True)),
            coding(call("run_query", "ERROR: column a does not exist", sql="select a", fails=True)),
            coding(call("runTests", "AssertionError: expected 1 to be 2", files=["a"], fails=True)),
            coding(call("read_file", "Error: File not found: setup.cfg", path="setup.cfg", fails=True)),
        ],
    ),
    (
        {"fabricated"},
        None,
        [
            coding(call("search", index_id="catalog_v2")),
            coding(call("list_servers", region_id="eu-west-1")),
            coding(call("get_user", user_id="@self")),
            coding(call("get_report", report_id="2031-05")),
            coding(call("pay", idempotency_key="PAY-20310602-01")),
            coding(call("find_user", email="ann.lee@mail.example"), asks="I am ann dot lee at mail dot example."),
            coding(call("create_ticket", {"ticket_id": "TICKET-2031001"}, ticket_id="TICKET-2031001")),
        ],
    ),
    (
        {"confirmed_not_done"},
        CLINIC,
        [
            [*visit(proposal), ("user", answer)]
            for proposal, answer in (
                ("It cannot be rescheduled. I can transfer you to a human agent. Shall I do that?", "Yes, please."),
                ("It can't be changed now. Shall I tell you the rules for rescheduling?", "Yes, please."),
                ("I cannot cancel it. A colleague can call you back. Please confirm.", "Yes."),
                ("You can cancel it yourself in the app. Okay?", "Yes, great."),
                ("Would you like a receipt, or to cancel it?", "Perfect. No need to make any changes."),
            )
        ],
    ),
    (
        {"keeps_talking"},
        None,
        [
            coding(call("ls"), asks=words)
            for words in (
                "Do these:\n- fix a.py\n- that's it",
                "Write a letter that ends with: have a nice day",
                "Everything is all set up here, start the deployment",
                "Refactor utils.py, nothing else.",
            )
        ]
        + [[("user", "Hi"), ("agent", "Hello."), *coding(call("ls"), asks="That is all of it: book slot S-1.")]],
    ),
    (
        {"open_question"},
        CLINIC,
        [
            visit("It is booked. Can I be of further service?"),
            visit("It is booked. Is there something more you would like to know?"),
            visit("Here it is. Does that answer your question?"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("of", "number"), [(of, at) for of, (_, _, cases) in enumerate(FALSE_ALARMS) for at in range(len(cases))]
)
def test_no_false_alarm(of: int, number: int, play: Play) -> None:
    alarms, tools, cases = FALSE_ALARMS[of]
    assert not kinds(play(*cases[number], tools=tools, policy=None, termination="user_stop")) & alarms


def refused(status: dict[str, str], words: str) -> list[Line]:
    shown = call("get_order", {"order_id": "A-77120", **status}, order_id="A-77120")
    return [("user", "Refund A-77120."), *shown, *call("refund_order", words, order_id="A-77120", fails=True)]


MISSES: list[tuple[str, Any, list[list[Line]]]] = [
    (
        "not_told",
        CLINIC,
        [
            asked("How many slots are free on Monday?", "There are 5 slots on Monday."),
            asked("How many free slots do you have?", "Which day would suit you?"),
            asked("What is my total for both visits? Let me know.", "The first is $12.50, the second $8.00."),
        ],
    ),
    (
        "wider_than_asked",
        SHOP,
        [
            cancelled("Please cancel the mat.", "I would cancel that. Okay?"),
            cancelled("I want to cancel just the desk lamp.", "I will cancel the desk lamp. Do you confirm?"),
        ],
    ),
    (
        "against_policy",
        RENTAL,
        [
            rental(LISTED, "fixed", "no"),
            rental(IN_A_LINE, "fixed", "no", says="I hope that is possible."),
            rental(
                "Rentals can only be cancelled within 10 days. It is cold. The current time is 2031-03-14", "a", "b"
            ),
        ],
    ),
    (
        "against_status",
        SHOP,
        [
            refused({"status": "PENDING"}, "Error: Only delivered orders can be refunded"),
            refused({"status": "in_transit"}, "Order is in transit and cannot be refunded"),
            refused({"orderStatus": "expired"}, "Error 409: cannot refund an expired order"),
            refused({"account_status": "frozen"}, "Error: account is frozen"),
            refused({"status": "draft"}, "Error: invalid state 'draft'"),
        ],
    ),
    (
        "confirmed_not_done",
        CLINIC,
        [
            [*visit(proposal), ("user", answer)]
            for proposal, answer in (
                ("I will reschedule AP-3301 to Monday. Okay?", "Ok, thanks. ###STOP###"),
                ("I'd book slot S-14 for you. Shall I go ahead?", "That works, thank you so much! Bye"),
                ("I would move AP-3301 to slot S-9, is that correct?", "Correct."),
                ("Ready to cancel AP-3301. Please reply YES to proceed.", "YES"),
                ("Would you like to reschedule it to S-9?", "Yes, I would like that."),
            )
        ],
    ),
    ("date", CLINIC, [visit("It is on 12.06.2031."), visit("It is on 3-Jun-2031."), visit("It is on 2031/06/12.")]),
    ("fabricated", SHOP, [coding(call("get_order", order_id="B-10")), coding(call("get_order", order_id="user123"))]),
]


@pytest.mark.parametrize(
    ("of", "number"), [(of, at) for of, (_, _, cases) in enumerate(MISSES) for at in range(len(cases))]
)
def test_no_miss(of: int, number: int, play: Play) -> None:
    kind, tools, cases = MISSES[of]
    assert kind in kinds(play(*cases[number], tools=tools, policy=None, termination="user_stop"))
