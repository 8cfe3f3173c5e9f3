"""Figures, dates and turns of phrase."""

from __future__ import annotations

from datetime import date

from generator.catalogue import Record, colour_word, list_of
from generator.conversation import Run
from generator.dice import Dice

UNITS = list_of(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
    " ",
)
TENS = list_of("- - twenty thirty forty fifty sixty seventy eighty ninety", " ")

REASON_WORDS = {
    "changed_mind": ("I changed my mind", "I just don't want it any more", "I've thought better of it"),
    "ordered_twice": ("I ordered it twice by accident", "it turns out I had ordered it twice"),
    "found_elsewhere": ("I found it cheaper somewhere else", "a shop round the corner had it"),
    "arrives_too_late": ("it won't be here before my tour", "it arrives too late for me"),
}
REASON_LABELS = {
    "changed_mind": "change of mind",
    "ordered_twice": "ordered twice",
    "found_elsewhere": "found elsewhere",
    "arrives_too_late": "arrives too late",
}

BEFORE = {
    "brief": ("", "", "Hi. "),
    "polite": ("Hello, ", "Good morning. ", "Hi there, I hope you're well. "),
    "talkative": (
        "Hi! So I was tidying the shed this weekend and it reminded me. ",
        "Hello hello. My partner told me to sort this out at last. ",
        "Hi, bit of a rainy day here, so I'm getting through my list. ",
    ),
    "cross": ("Right, listen. ", "This is the second time I have to write. ", ""),
}
AFTER = {
    "brief": ("", ""),
    "polite": (" Thank you very much.", " I'd appreciate your help.", ""),
    "talkative": (" No rush, I'm having tea.", " I ride every day, so it matters a bit.", ""),
    "cross": (" And please make it quick.", " I don't have all day.", ""),
}
THANKS = {
    "brief": ("Thanks.", "ok thx.", "Great.", "Good.", "Cheers."),
    "polite": ("Thank you so much.", "That's very kind, thank you.", "Thank you, perfect.", "Wonderful, many thanks."),
    "talkative": (
        "Oh brilliant, thanks a lot!",
        "Lovely, that's one thing less on my list. Thanks!",
        "Great, my partner will be glad to hear it. Thanks!",
        "Super, you've been a real help!",
    ),
    "cross": ("Fine.", "Good. Finally.", "All right, thanks.", "At last. Thanks."),
}
SULLEN = ("Okay then.", "Okay.", "Fine, then.", "Right.")
YES = {
    "brief": ("Yes.", "yes", "Yep, go ahead."),
    "polite": ("Yes, please do.", "Yes, that's right, please go ahead.", "Yes please, thank you."),
    "talkative": (
        "Yes, exactly like that, go for it!",
        "Yes yes, that's the one. Please do it.",
        "Sounds good to me, yes.",
        "Perfect, yes, let's do that.",
    ),
    "cross": ("Yes, that's what I said. Do it.", "Yes. Please just do it."),
}


def money(amount: float) -> str:
    return f"${amount:.2f}"


def money_in_words(amount: float) -> str:
    """``forty-five dollars and ninety cents``"""
    dollars, cents = divmod(round(amount * 100), 100)
    text = f"{number_in_words(dollars)} dollar{'s' if dollars != 1 else ''}"
    return f"{text} and {number_in_words(cents)} cent{'s' if cents != 1 else ''}" if cents else text


def number_in_words(number: int) -> str:
    """English words of a number below 1000."""
    if number < 20:
        return UNITS[number]
    if number < 100:
        tens, units = divmod(number, 10)
        return TENS[tens] + (f"-{UNITS[units]}" if units else "")
    hundreds, rest = divmod(number, 100)
    return f"{UNITS[hundreds]} hundred" + (f" and {number_in_words(rest)}" if rest else "")


def date_in_words(day: str, dice: Dice) -> str:
    """``March 6``, ``Thursday, March 6`` or ``6 March``."""
    parsed = date.fromisoformat(day)
    month = parsed.strftime("%B")
    return dice.pick(
        (f"{month} {parsed.day}", f"{parsed.strftime('%A')}, {month} {parsed.day}", f"{parsed.day} {month}")
    )


def misread_amount(amount: float, dice: Dice) -> float:
    """Another amount that a careless reader could have seen: two digits swapped, or one of them wrong."""
    digits = list(f"{amount:.2f}")
    places = [i for i in range(len(digits) - 1) if digits[i] != digits[i + 1] and "." not in digits[i : i + 2]]
    if places and dice.chance(0.6):
        place = dice.pick(places)
        digits[place], digits[place + 1] = digits[place + 1], digits[place]
        if digits[0] != "0":
            return float("".join(digits))
    return round(amount + dice.pick((10, -10, 20, 3)) + dice.pick((0.0, 0.5)), 2) if amount > 20 else amount + 6.4


def the(line: Record, dice: Dice) -> str:
    """A line as a customer would name it."""
    option = list(line["options"].values())[-1]
    plain = f"the {line['product']}"
    return dice.pick((plain, plain, f"the {option} {line['product']}")) if " " not in option else plain


def full(line: Record) -> str:
    """A line as the desk names it."""
    return f"{line['product']} ({colour_word(line['options'])})"


def joined(words: list[str]) -> str:
    return " and ".join(words) if len(words) < 3 else ", ".join(words[:-1]) + " and " + words[-1]


def voice(run: Run, core: str) -> str:
    """The customer's words in the customer's manner."""
    before, after = run.dice.pick(BEFORE[run.task.persona]), run.dice.pick(AFTER[run.task.persona])
    return f"{before}{uncapital(core) if before.endswith(', ') else capital(core)}{after}"


def thanks(run: Run) -> str:
    return run.dice.pick(SULLEN if run.upset else THANKS[run.task.persona])


def capital(words: str) -> str:
    return words[0].upper() + words[1:]


def uncapital(words: str) -> str:
    """The words as they stand within a sentence."""
    return words if words.startswith(("I ", "I'", "FH-")) else words[0].lower() + words[1:]


def yes(run: Run) -> str:
    return run.dice.pick(YES[run.task.persona])


def opener(run: Run) -> str:
    """How the agent likes to begin, now and then."""
    return run.dice.pick(run.agent.openers) if run.dice.chance(0.6) else ""


def method_name(method: str) -> str:
    """``card ending in 4417`` or ``store wallet``."""
    return "store wallet" if method.startswith("wallet") else f"card ending in {method[-4:]}"
