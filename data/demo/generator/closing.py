"""How a run ends, and what may go wrong there."""

from __future__ import annotations

from generator.conversation import Ended, Run
from generator.opening import Desk
from generator.wording import thanks

STOP = "###STOP###"


def stop_early(desk: Desk) -> None:
    """Close although an announced request is still open."""
    run = desk.run
    goodbye = (
        "With that everything is settled. Thank you for writing to Fernhollow Cycles, goodbye!",
        "That completes your request. Have a nice day, goodbye!",
        "You are all set, then. Goodbye and enjoy the ride!",
    )
    if run.messages[-1]["role"] == "user":
        said = run.say(*goodbye)
    else:
        said = run.last_step
        run.messages[said]["content"] += f" {run.dice.pick(goodbye)}"
    run.user(f"Oh. What about the other thing? Never mind, I'll write again. {STOP}", f"Hm, okay, bye. {STOP}")
    run.fault("stopped_early", termination=[said])
    raise Ended("user_stop")


def close(desk: Desk) -> None:
    """The customer is done; the agent lets go, or does not."""
    run = desk.run
    if run.messages[-1]["role"] == "user":
        run.say(f"I understand. {run.dice.pick(run.agent.offers_more)}", run.dice.pick(run.agent.offers_more))
    elif run.dice.chance(0.5):
        run.messages[-1]["content"] += f" {run.dice.pick(run.agent.offers_more)}"
    if run.takes("calls_after_goodbye"):
        calls_after_goodbye(desk)
    if run.takes("drawn_out_ending"):
        drawn_out_ending(run)
    asked = run.last_step
    question = run.messages[asked]["content"].endswith("?")
    no = "No, that's all. " if question else ""
    if run.dice.chance(0.3):
        first = run.next_step
        run.user(f"{no}{thanks(run)} Bye!", f"{thanks(run)} That was everything. Have a good one!")
        run.say("You're welcome. Enjoy your ride!", "My pleasure. Have a lovely day!", "You are very welcome, goodbye!")
        run.user("You too, and greetings to the workshop!", "Thanks, you too!", "Cheers!")
        run.say("Thank you, I will pass that on. Goodbye!", "Thank you. Take care!", "Goodbye!")
        run.near_miss("long_goodbye", *range(first, run.next_step))
        run.user(STOP)
    else:
        run.user(f"{no}{thanks(run)} {STOP}", f"{thanks(run)} {STOP}", f"{thanks(run)} Bye. {STOP}")
        if question:
            run.near_miss("closing_question", asked)
    raise Ended("user_stop")


def calls_after_goodbye(desk: Desk) -> None:
    run = desk.run
    run.user(f"That's everything, then. {thanks(run)} Goodbye!", f"{thanks(run)} I'm done here, bye!")
    order_id = run.customer["orders"][0]
    calls = [run.call("get_customer", customer_id=run.customer["customer_id"])]
    if run.dice.chance(0.6):
        calls.append(run.call("get_order", order_id=order_id))
    run.say(
        "I have gone through your record once more, all looks fine.", "I looked again to be sure; nothing else is open."
    )
    run.user(f"Okay? {STOP}", STOP)
    run.fault("calls_after_goodbye", termination=[call.step for call in calls])
    raise Ended("user_stop")


def drawn_out_ending(run: Run) -> None:
    run.user("Thank you, that was all. Goodbye.", f"{thanks(run)} Nothing else. Bye!")
    steps = [
        run.say(
            "Before you go: may I tell you about our newsletter, with news on tours and new arrivals?",
            "One more thing before you go. Would you rate this conversation from one to five?",
        )
    ]
    run.user("No, I really have to go. Bye.", "No thanks. Bye now.")
    steps.append(
        run.say(
            "I understand. Perhaps a look at our service plans, then? They start with a yearly check.",
            "Of course. Do you have any other wishes, now or for the season ahead?",
        )
    )
    run.user("No!! Bye.", "No. As I said, I'm done.")
    steps.append(
        run.say("All right. Are you sure there is nothing more I can do?", "Shall I tell you about opening hours?")
    )
    run.user(STOP)
    run.fault("drawn_out_ending", termination=steps)
    raise Ended("user_stop")
