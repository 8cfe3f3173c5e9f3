"""How a run begins: greeting, the wish, who the customer is, and which order is meant."""

from __future__ import annotations

from collections.abc import Callable

from generator.catalogue import Record
from generator.conversation import Run
from generator.tasks import Request
from generator.wording import number_in_words, opener, uncapital, voice

#: kinds of request that need no record of the customer
OPEN_TO_ALL = ("product_question", "rules_question")


class Desk:
    """What the agent has found out so far in a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.identified = False
        self.knows_orders = False
        self.read: set[str] = set()
        self.named = self._names_order(run)
        self._notes: list[Callable[[int], None]] = []

    def note(self, plant: Callable[[int], None]) -> None:
        """Plant something at the step where the agent next speaks through `say`."""
        self._notes.append(plant)

    def forget_notes(self) -> None:
        """What was to be planted in words that are never said."""
        self._notes.clear()

    def say(self, *variants: str) -> int:
        said = self.run.say(*variants)
        for plant in self._notes:
            plant(said)
        self._notes.clear()
        return said

    @staticmethod
    def _names_order(run: Run) -> bool:
        """Whether the customer gives order numbers; some faults need one answer or the other."""
        if {"order_before_identity", "changed_without_reading"} & set(run.plan):
            return True
        if {"invented_order_id", "wrong_order"} & set(run.plan):
            return False
        return run.task.gives_order_id

    def order_words(self, request: Request) -> str:
        """The order as the customer speaks of it, with or without its number."""
        order = request.order
        if not self.named:
            count = len(order["lines"])
            others = [line["product"] for line in order["lines"] if line not in request.lines]
            if others and self.run.dice.chance(0.6):
                return f"my order with the {others[0]} in it"
            return self.run.dice.pick(
                ("my order", f"an order of mine with {number_in_words(count)} things" if count > 1 else "my order")
            )
        number = order["order_id"]
        return self.run.dice.pick((f"order {number}", f"order {number}", f"order {number[3:]}", f"my order {number}"))

    def identify(self) -> None:
        """Find the customer's record, once."""
        if self.identified:
            return
        self.identified = True
        run = self.run
        if run.takes("same_failing_call"):
            self._failing_thrice()
        elif run.takes("invented_email"):
            self._invented_email()
        elif run.task.found_by == "email":
            self._by_email()
        else:
            self._by_name()

    def _ask_who(self) -> None:
        self.run.say(
            f"{opener(self.run)}May I have the email address on your account, or your last name and postcode?",
            f"{opener(self.run)}To find your record I need your email, or your last name and the postcode.",
            f"{opener(self.run)}First I need to find you: which email did you order with? Last name and "
            "postcode also work.",
        )

    def _by_email(self) -> None:
        run, email = self.run, self.run.customer["email"]
        self._ask_who()
        if run.dice.chance(0.22):
            wrong = email.replace("@", run.dice.pick("xqz") + "@")
            run.user(f"It's {wrong}", f"{wrong}")
            failed = run.call("find_customer_by_email", email=wrong)
            run.say(
                f"I can't find a customer under {wrong}. Could you check the spelling?",
                "That address gives me no match. Is it spelled right?",
            )
            run.user(f"Oh, typo. {email}", f"Sorry, fingers too fast: {email}", f"{email}, sorry")
            found = run.call("find_customer_by_email", email=email)
            run.near_miss("mended_retry", failed.step, found.step)
        elif run.dice.chance(0.25):
            run.user(f"{email.upper()}", f"Sure, {email.upper()}")
            found = run.call("find_customer_by_email", email=email)
            run.near_miss("email_in_capitals", found.step)
        else:
            run.user(f"{email}", f"My email is {email}.", f"Sure, it's {email}")
            run.call("find_customer_by_email", aloud=self._aloud("Let me look you up."), email=email)

    def _by_name(self) -> None:
        run = self.run
        last, postcode = run.customer["name"].split(" ", 1)[1], run.customer["address"]["postcode"]
        self._ask_who()
        spaced = f"{postcode[:2]} {postcode[2:]}"
        if run.dice.chance(0.3):
            run.user(f"{run.customer['name']}, {spaced}", f"Name is {last}, postcode {spaced}.")
            found = run.call("find_customer_by_name", last_name=last, postcode=postcode)
            run.near_miss("postcode_with_space", found.step)
            return
        run.user(f"{run.customer['name']}, {postcode}", f"I'm {run.customer['name']} and my postcode is {postcode}.")
        run.call("find_customer_by_name", aloud=self._aloud("One moment."), last_name=last, postcode=postcode)

    def _invented_email(self) -> None:
        run, (first, last) = self.run, self.run.customer["name"].split(" ", 1)
        self._ask_who()
        run.user(f"I'm {first} {last}.", f"My name is {first} {last}, I don't remember which email I used.")
        guess = f"{first}.{last}@postbox.example".lower()
        made_up = run.call("find_customer_by_email", email=guess)
        run.fault("invented_email", argument_validity=[made_up.step])
        run.say("I did not find you by email. What is the postcode of your address?", "And your postcode, please?")
        postcode = run.customer["address"]["postcode"]
        run.user(f"{postcode}", f"It's {postcode}.")
        run.call("find_customer_by_name", last_name=last, postcode=postcode)

    def _failing_thrice(self) -> None:
        run, email = self.run, self.run.customer["email"]
        wrong = email.replace(".example", ".exmaple")
        self._ask_who()
        run.user(f"It's {wrong}", f"{wrong}")
        failed = [run.call("find_customer_by_email", email=wrong) for _ in range(3)]
        run.fault("same_failing_call", tool_selection=[outcome.step for outcome in failed[1:]])
        run.say(f"I keep getting no match for {wrong}. Could you check the address?")
        run.user(f"Ah, I mistyped the end. {email}", f"Sorry: {email}")
        run.call("find_customer_by_email", email=email)

    def _aloud(self, words: str) -> str | None:
        return words if self.run.dice.chance(self.run.agent.aloud) else None

    def open_order(self, request: Request) -> Record:
        """Read the order that a request is about, unless it was read before; gives the record as the agent knows it."""
        run, order_id = self.run, request.order["order_id"]
        if order_id in self.read:
            return request.order
        if not self.named and run.takes("invented_order_id"):
            self._invented_order_id()
        if run.takes("unknown_tool"):
            tried = run.call("search_orders", customer_id=run.customer["customer_id"], word="open")
            run.fault("unknown_tool", tool_selection=[tried.step])
        if self.named:
            if not self.knows_orders and run.dice.chance(0.4):
                self.open_customer()
            found = run.call("get_order", aloud=self._aloud("Let me open that order."), order_id=order_id)
            self.read.add(order_id)
            if not self.knows_orders:
                tidied = all(order_id not in (m["content"] or "") for m in run.messages if m["role"] == "user")
                run.near_miss("order_id_tidied" if tidied else "order_id_from_customer", found.step)
        else:
            self.open_customer()
            unread = [number for number in run.customer["orders"] if number not in self.read]
            run.calls([("get_order", {"order_id": number}) for number in unread], aloud=self._aloud("Looking through."))
            self.read.update(unread)
        return request.order

    def open_customer(self) -> None:
        if not self.knows_orders:
            self.knows_orders = True
            self.run.call("get_customer", customer_id=self.run.customer["customer_id"])

    def _invented_order_id(self) -> None:
        run = self.run
        made_up = f"FH-{run.dice.pick(('10001', '12345', '20202'))}"
        tried = run.call("get_order", order_id=made_up)
        run.fault("invented_order_id", argument_validity=[tried.step])


def open_conversation(desk: Desk, wishes: list[str], announced: bool) -> None:
    """The greeting and the first message of the customer, who may announce a second wish with the first."""
    run = desk.run
    run.say(run.agent.greeting)
    if announced:
        second = uncapital(wishes[1])
        run.user(
            voice(run, f"Two things: {uncapital(wishes[0])} Then there is this: {second}"),
            voice(run, f"{wishes[0]} And once that is done, {second}"),
            voice(run, f"{wishes[0]} After that I have a second matter: {second}"),
        )
    else:
        run.user(voice(run, wishes[0]), voice(run, wishes[0]))


def order_before_identity(desk: Desk, request: Request) -> None:
    """The order is opened on its number alone; only then does the agent ask who is writing."""
    run = desk.run
    if "order_id" in request.order and not desk.identified and run.takes("order_before_identity"):
        order_id = request.order["order_id"]
        opened = run.call("get_order", order_id=order_id)
        desk.read.add(order_id)
        run.fault("order_before_identity", sequencing=[opened.step])
