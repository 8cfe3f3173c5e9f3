"""Asking for a yes and making a change, with the faults that any change can suffer."""

from __future__ import annotations

from generator.catalogue import Record
from generator.conversation import Ended, Outcome, Run
from generator.opening import Desk
from generator.wording import opener, thanks, uncapital, yes

WRONG_WORDS = {
    "changed_mind": "no longer wanted",
    "ordered_twice": "duplicate",
    "found_elsewhere": "price",
    "arrives_too_late": "too slow",
}


def ask_for_yes(desk: Desk, question: str, matter: str) -> bool:
    """Ask until the customer agrees. False when the agent goes ahead without asking (the caller notes the fault)."""
    run = desk.run
    if run.takes("needless_handover"):
        needless_handover(run, matter)
    if run.takes("loops_until_cut"):
        loop_until_cut(run, matter)
    if run.takes("change_before_yes"):
        desk.forget_notes()
        return False
    desk.say(question if question.startswith("I am sorry") else f"{opener(run)}{question}")
    if run.takes("asks_again_and_again"):
        ask_again_and_again(run, question)
    run.user(yes(run))
    if run.takes("promised_not_done"):
        promised = run.say(
            f"Perfect, I will take care of {matter} shortly. Have a good day!",
            f"Thank you for confirming. {matter[0].upper() + matter[1:]} comes right after our conversation. Goodbye!",
        )
        run.user(f"{thanks(run)} ###STOP###", "Great, bye! ###STOP###")
        run.fault("promised_not_done", termination=[promised])
        raise Ended("user_stop")
    return True


def make_change(desk: Desk, tool: str, arguments: Record, *, agreed: bool, detail: str | None = None) -> Outcome:
    """The call, preceded or followed by the faults planned for it."""
    run = desk.run
    if "reason" in arguments and run.takes("word_not_allowed"):
        tried = run.call(tool, **{**arguments, "reason": WRONG_WORDS[arguments["reason"]]})
        run.fault("word_not_allowed", argument_validity=[tried.step])
    optional = [key for key in ("settle_with", "refund_to", "reason", "city") if key in arguments]
    if optional and run.takes("missing_argument"):
        tried = run.call(tool, **{key: value for key, value in arguments.items() if key != optional[0]})
        run.fault("missing_argument", argument_validity=[tried.step])
    aloud = "One moment, I am doing that now." if run.dice.chance(run.agent.aloud * 0.5) else None
    outcome = run.call(tool, aloud=aloud, **arguments)
    if not agreed:
        run.fault("change_before_yes", sequencing=[outcome.step])
    if not outcome.error and run.takes("repeated_write"):
        again = run.call(tool, **arguments)
        run.fault("repeated_write", sequencing=[outcome.step, again.step])
        if isinstance(again.result, dict):
            outcome.result = again.result
    return outcome


def look_again(desk: Desk, order_id: str) -> None:
    """Now and then the agent reads the order once more to see that the change stands."""
    if desk.run.dice.chance(0.2):
        desk.run.near_miss("same_read_twice", desk.run.call("get_order", order_id=order_id).step)


def needless_handover(run: Run, matter: str) -> None:
    handed = run.call("hand_over", summary=f"Customer {run.customer['customer_id']} asks about {matter}.")
    said = run.say(
        "I have passed this to a colleague, who will be with you soon.",
        "A colleague will take it from here. Please hold on.",
    )
    run.user("Oh. I thought you could do that. ###TRANSFER###", "All right, I'll wait. ###TRANSFER###")
    run.fault("needless_handover", tool_selection=[handed.step], termination=[handed.step, said])
    raise Ended("user_stop")


def ask_again_and_again(run: Run, question: str) -> None:
    run.user(yes(run))
    asked = [
        run.say(f"Just to be sure: {uncapital(question)}", f"Before I go ahead, please confirm: {uncapital(question)}")
    ]
    run.user("Yes, as I said.", "Yes! Please.")
    asked.append(
        run.say("Thank you. Do you confirm that I should go ahead?", "May I proceed? Please answer yes or no.")
    )
    run.user("I've said yes twice now. Go ahead.", "YES.")
    asked.append(run.say(f"Understood. To confirm once more: {uncapital(question)}"))
    run.user("I give up, I'll call the shop instead. ###STOP###", "This is going nowhere. Forget it. ###STOP###")
    run.fault("asks_again_and_again", termination=asked)
    raise Ended("user_stop")


def loop_until_cut(run: Run, matter: str) -> None:
    """The agent asks for what it has been told, over and over, until the run is cut."""
    first = run.next_step
    while True:
        try:
            run.say(
                f"Thank you. To go on with {matter}, could you tell me once more what you would like?",
                f"I see. And what exactly is it that you want for {matter}?",
                "Thank you for the information. How can I help you with this order?",
                "Understood. Which order is it about, and what should I do?",
            )
            run.user(
                "What I wrote at the start.",
                "Exactly what I asked for in my first message.",
                "You have the order in front of you. Please just do it.",
                "I told you already. The same as before.",
                "Are we going round in circles? My request hasn't changed.",
            )
        except Ended:
            run.fault("loops_until_cut", termination=[first, first + 2, max(run.agent_steps())])
            raise


def difference_words(difference: float, method: str) -> str:
    """What a price difference means for the customer."""
    if abs(difference) < 0.005:
        return "the price is the same"
    if difference > 0:
        return f"${difference:.2f} more, charged to your {method}"
    return f"${-difference:.2f} less, refunded to your {method}"
