"""Edits of values, and edits after which nothing may move: names and wording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from axisjudge.trajectory import Step, Trajectory
from axisjudge.twins import runs
from axisjudge.twins.twin import Edited, Refused

_AMOUNT = re.compile(r"(?<![\d.,-])\d{1,3}(?:,\d{3})*\.\d{2}(?!\d)|(?<![\d.,-])\d+\.\d{2}(?!\d)")
_TRIES = 40
#: An amount told wrong by less may pass for rounding, which is no fault.
LEAST_ERROR = 1.0


def fabricated_argument(run: Trajectory, rng: Random) -> Edited | Refused:
    """An identifier that an earlier result gave is replaced by one of the same shape that no step holds.

    The tool takes it: its result and all that is said later bear the new identifier, as in a run in which a guess
    happened to hit. A real tool would often have refused it; a refusal would change the rest of the run beyond what an
    edit can follow. Values that the user spoke of, and numbers that other identifiers share, are left alone, because
    they would give the twin away.
    """
    candidates = list(_fabricable(run))
    if not candidates:
        return Refused("no identifier from a result goes into a call without the user naming it")
    block, old = rng.choice(candidates)
    new = _unheard(old, run, rng)
    if new is None:
        return Refused("no identifier of that shape is left")
    steps = run.steps[: block.start] + tuple(
        runs.rewritten(step, lambda text: text.replace(old, new)) for step in run.steps[block.start :]
    )
    names = ", ".join(call.name for call in block.calls if old in runs.identifiers_in(call.arguments))
    return Edited.in_place(
        run, steps, f"Step {block.start} calls {names} with {new}, which no step holds, instead of {old}."
    )


def _fabricable(run: Trajectory) -> Iterator[tuple[runs.Block, str]]:
    for block in runs.blocks_of(run):
        before, after = run.steps[: block.start], run.steps[block.start :]
        given = runs.text_of_all(step for step in before if step.role == "tool")
        by_user = runs.text_of_all(step for step in run.steps if step.role in ("user", "system")) + (run.policy or "")
        everything = runs.text_of_all(run.steps)
        for value in sorted({each for call in block.calls for each in runs.identifiers_in(call.arguments)}):
            number = _number(value)
            shared = everything.count(number) != everything.count(value)
            if not block.failed and value in given and number not in by_user and not shared and _is_free(value, after):
                yield block, value


def _is_free(value: str, after: tuple[Step, ...]) -> bool:
    """Whether no later result fails: an error may be about the very value."""
    return not any(step.error and value in runs.text_of(step) for step in after)


def _number(identifier: str) -> str:
    """The longest row of digits in an identifier."""
    return str(max(re.findall(r"\d+", identifier), key=len))


def _unheard(identifier: str, run: Trajectory, rng: Random) -> str | None:
    """An identifier of the same shape whose number stands nowhere in the run or its policy."""
    everything = runs.text_of_all(run.steps) + (run.policy or "")
    number = _number(identifier)
    for _ in range(_TRIES):
        other = str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in number[1:])
        if other not in everything:
            return identifier.replace(number, other)
    return None


def misreported_amount(run: Trajectory, rng: Random) -> Edited | Refused:
    """An amount that a result holds is told to the user with two digits exchanged or one changed.

    Only where no change of a record and no call with the amount follows, so that nothing but the telling is wrong.
    Later mentions by both sides follow. Where the same message does a sum with the amount, the sum no longer comes
    out; a real misreading does that too.
    """
    candidates = list(_tellings(run))
    if not candidates:
        return Refused("no amount of a result is told after the last change")
    at, old = rng.choice(candidates)
    new = _misread(old, run, rng)
    if new is None:
        return Refused("no misreading of the amount is left")
    exact = re.compile(rf"(?<![\d.,]){re.escape(old)}(?!\d)")
    steps = tuple(
        runs.rewritten(step, lambda text: exact.sub(new, text)) if step.index >= at and step.role != "tool" else step
        for step in run.steps
    )
    return Edited.in_place(run, steps, f"Step {at} tells the user {new} where a result holds {old}.")


def _tellings(run: Trajectory) -> Iterator[tuple[int, str]]:
    kinds = run.kinds
    last_change = max((s.index for s in run.steps for c in s.agent_calls if kinds.get(c.name) == "write"), default=-1)
    held: set[float] = set()
    by_user: set[float] = set()
    for step in run.steps:
        amounts = {_value(amount) for amount in _AMOUNT.findall(step.content)}
        if step.role == "tool":
            held |= _numbers(runs.record_in(step)) | amounts
        elif step.role == "user":
            by_user |= amounts
        elif step.role == "assistant" and not step.tool_calls and step.index > last_change:
            for amount in dict.fromkeys(_AMOUNT.findall(step.content)):
                calls = [runs.text_of(later) for later in run.steps[step.index :] if later.tool_calls]
                called = any(amount in call for call in calls)
                if _value(amount) in held - by_user - {0.0} and not called:
                    yield step.index, amount


def _numbers(value: object) -> set[float]:
    return {abs(float(one)) for one in runs.walk(value) if isinstance(one, int | float) and not isinstance(one, bool)}


def _value(amount: str) -> float:
    return float(amount.replace(",", ""))


def _misread(amount: str, run: Trajectory, rng: Random) -> str | None:
    """The amount with two neighbouring digits exchanged or one digit changed, equal to no amount of the run."""
    everything = runs.text_of_all(run.steps) + (run.policy or "")
    taken = {_value(each) for each in _AMOUNT.findall(everything)}
    taken |= set().union(*(_numbers(runs.record_in(step)) for step in run.steps if step.role == "tool"))
    digits = [index for index, letter in enumerate(amount) if letter.isdigit()]
    for _ in range(_TRIES):
        letters = list(amount)
        first = rng.randrange(len(digits))
        if first + 1 < len(digits) and rng.random() < 0.5:
            here, there = digits[first], digits[first + 1]
            letters[here], letters[there] = letters[there], letters[here]
        else:
            letters[digits[first]] = str(rng.randint(1, 9))
        other = "".join(letters)
        if abs(_value(other) - _value(amount)) < LEAST_ERROR:
            continue
        if _value(other) not in taken and (not other.startswith("0") or amount.startswith("0")):
            return other
    return None


# Edits after which nothing may move: the user's name, and the wording of what the agent says.

FIRST_NAMES = (
    *("Amara", "Anton", "Bela", "Bruno", "Celia", "Cyrus", "Dalia", "Dmitri", "Edda", "Emil", "Farah", "Felix"),
    *("Gesa", "Goran", "Hedda", "Hugo", "Ilse", "Ivo", "Jana", "Joris", "Kaya", "Kilian", "Leonie", "Lucian"),
    *("Marit", "Milo", "Nadia", "Nils", "Odile", "Oskar", "Petra", "Piet", "Quinn", "Ronja", "Ruben", "Salma"),
    *("Stellan", "Tamsin", "Tariq", "Ulla", "Uri", "Vera", "Viggo", "Wanda", "Wim", "Xenia", "Yara", "Yannick"),
    *("Zara", "Zeno"),
)
LAST_NAMES = (
    *("Abernal", "Birkholm", "Castelan", "Dunmore", "Eskelund", "Farrowby", "Grunewald", "Hollander", "Iversholt"),
    *("Jaskowiak", "Kestrelin", "Lindqvist", "Morvane", "Nakagoshi", "Oberhauser", "Penhallow", "Quillmore"),
    *("Rosenvinge", "Satterlee", "Thornquist", "Ullendorf", "Vantongeren", "Winterbourne", "Yarrowdale", "Zimmerath"),
)
#: A shorter name may stand inside other words.
SHORTEST_INSIDE = 5
FEWEST_REWORDINGS = 2

#: What an agent says, and the same in other words. Nothing here touches a figure, a name, a promise or a question.
REWORDINGS: tuple[tuple[str, str], ...] = (
    (r"\bIs there anything else I can help you with\b", "Can I help you with anything else"),
    (r"\bCan I help you with anything else\b", "Is there anything else I can do for you"),
    (r"\bWould you like me to\b", "Do you want me to"),
    (r"\bWould you like to\b", "Do you want to"),
    (r"\bCould you please\b", "Can you please"),
    (r"\bPlease provide\b", "Please give me"),
    (r"\bplease provide\b", "please give me"),
    (r"\bPlease let me know\b", "Please tell me"),
    (r"\bplease let me know\b", "please tell me"),
    (r"\bYou will receive\b", "You'll get"),
    (r"\byou will receive\b", "you'll get"),
    (r"\bI will\b", "I'll"),
    (r"\bI'll\b", "I will"),
    (r"\bI am\b", "I'm"),
    (r"\bI'm\b", "I am"),
    (r"\bI have\b(?! to\b)", "I've"),
    (r"\bI've\b", "I have"),
    (r"\bcannot\b", "can't"),
    (r"\bcan't\b", "cannot"),
    (r"\bdo not\b", "don't"),
    (r"\bdon't\b", "do not"),
    (r"\bit is\b", "it's"),
    (r"\bIt is\b", "It's"),
    (r"\bThat is\b", "That's"),
    (r"\bAll right\b", "Okay"),
    (r"\ball right\b", "okay"),
    (r"\bsuccessfully been\b", "been"),
    (r"\bbeen successfully\b", "been"),
    (r"\bassist you\b", "help you"),
    (r"\bfeel free to\b", "you are welcome to"),
    (r"\bThank you for\b", "Thanks for"),
    (r"\bLet me open\b", "I'll open"),
    (r"\bHi!", "Hello!"),
    (r"\bwhat can I do for you today\b", "how can I help you today"),
    (r"\bHow can I help you today\b", "What can I do for you today"),
    (r"\bMay I have\b", "Could I have"),
    (r"\bgoes back to\b", "is returned to"),
)


def renamed_user(run: Trajectory, rng: Random) -> Edited | Refused:
    """The user bears another first and last name wherever the old one stands: prose, calls, results, identifiers.

    The name is taken from a person's record, so a run that never opened one is refused; so is one in which a part of
    the old name would remain.
    """
    name = _name_of_user(run)
    if name is None:
        return Refused("no result holds the user's first and last name")
    first, last = name
    everything = runs.text_of_all(run.steps).lower()
    new_first = rng.choice(
        _unheard_rewording([other for other in FIRST_NAMES if other[0] == first[0]] or FIRST_NAMES, everything)
    )
    new_last = rng.choice(_unheard_rewording(LAST_NAMES, everything))
    replace = _renamer({first: new_first, last: new_last})
    steps = tuple(runs.rewritten(step, replace) for step in run.steps)
    rest = runs.text_of_all(steps).lower()
    if last.lower() in rest or re.search(rf"(?<![a-z]){re.escape(first.lower())}(?![a-z])", rest):
        return Refused("a part of the user's name cannot be told from other words")
    return Edited.in_place(run, steps, f"The user is called {new_first} {new_last} instead of {first} {last}.")


def _name_of_user(run: Trajectory) -> tuple[str, str] | None:
    """First and last name in the only person's record of the run."""
    names = set()
    for step in run.steps:
        for record in runs.objects_in(runs.record_in(step)) if step.role == "tool" else ():
            if "name" in record and {"email", "address"} & record.keys() and (name := _split(record["name"])):
                names.add(name)
    return names.pop() if len(names) == 1 else None


def _split(name: Any) -> tuple[str, str] | None:
    parts = [name.get("first_name"), name.get("last_name")] if isinstance(name, dict) else str(name).split()
    words = [str(part) for part in parts if part]
    return (words[0], words[1]) if len(words) == 2 and all(word.isalpha() and len(word) > 1 for word in words) else None


def _unheard_rewording(names: Any, everything: str) -> list[str]:
    return [name for name in names if name.lower() not in everything] or list(names)


def _renamer(names: dict[str, str]) -> Any:
    """Replace names in the case in which they stand; in lower case only inside identifiers, or when long."""
    forms: dict[str, str] = {}
    patterns = []
    for old, new in names.items():
        forms |= {old: new, old.upper(): new.upper(), old.lower(): new.lower()}
        inside = len(old) >= SHORTEST_INSIDE and old == list(names)[-1]
        edge = ("", "") if inside else (r"(?<![A-Za-z])", r"(?![A-Za-z])")
        patterns += [rf"{edge[0]}(?:{re.escape(old)}|{re.escape(old.upper())}){edge[1]}"]
        lower = re.escape(old.lower())
        patterns += [lower if inside else rf"(?<![A-Za-z]){lower}(?=[._@\d])|(?<=[._@\d]){lower}(?![A-Za-z])"]
    exact = re.compile("|".join(patterns))
    return lambda text: exact.sub(lambda match: forms[match[0]], text)


def reworded(run: Trajectory, rng: Random) -> Edited | Refused:
    """The agent says the same in other words, in most of the places where a rewording is known.

    Results, calls and the user's words stay, and so does every figure.
    """
    changes = 0
    steps = []
    for step in run.steps:
        content = step.content
        if step.role == "assistant" and content:
            content, made = _reworded(content, rng)
            changes += made
        steps.append(step if content == step.content else step.model_copy(update={"content": content}))
    if changes < FEWEST_REWORDINGS:
        return Refused(f"fewer than {FEWEST_REWORDINGS} phrases have a rewording")
    return Edited.in_place(run, steps, f"{changes} phrases of the agent are said in other words.")


def _reworded(content: str, rng: Random) -> tuple[str, int]:
    """One pass: a phrase that was just written is not turned back."""
    made = 0

    def other(match: re.Match[str]) -> str:
        nonlocal made
        if rng.random() < 0.2:
            return match[0]
        made += 1
        return next(re.sub(old, new, match[0]) for old, new in REWORDINGS if re.fullmatch(_core(old), match[0]))

    return re.sub("|".join(f"(?:{old})" for old, _ in REWORDINGS), other, content), made


def _core(pattern: str) -> str:
    """The pattern without what it looks for around the phrase."""
    return re.sub(r"\(\?!.*?\)", "", pattern)
