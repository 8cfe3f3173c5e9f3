"""Edits after which nothing may move: the user's name, and the wording of what the agent says."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from axisjudge.trajectory import Trajectory
from axisjudge.twins.runs import objects_in, record_in, rewritten, text_of_all
from axisjudge.twins.twin import Edited, Refused

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
    everything = text_of_all(run.steps).lower()
    new_first = rng.choice(
        _unheard([other for other in FIRST_NAMES if other[0] == first[0]] or FIRST_NAMES, everything)
    )
    new_last = rng.choice(_unheard(LAST_NAMES, everything))
    replace = _renamer({first: new_first, last: new_last})
    steps = tuple(rewritten(step, replace) for step in run.steps)
    rest = text_of_all(steps).lower()
    if last.lower() in rest or re.search(rf"(?<![a-z]){re.escape(first.lower())}(?![a-z])", rest):
        return Refused("a part of the user's name cannot be told from other words")
    return Edited.in_place(run, steps, f"The user is called {new_first} {new_last} instead of {first} {last}.")


def _name_of_user(run: Trajectory) -> tuple[str, str] | None:
    """First and last name in the only person's record of the run."""
    found = set()
    for step in run.steps:
        for record in objects_in(record_in(step)) if step.role == "tool" else ():
            if "name" in record and {"email", "address"} & record.keys() and (name := _split(record["name"])):
                found.add(name)
    return found.pop() if len(found) == 1 else None


def _split(name: Any) -> tuple[str, str] | None:
    parts = [name.get("first_name"), name.get("last_name")] if isinstance(name, dict) else str(name).split()
    words = [str(part) for part in parts if part]
    return (words[0], words[1]) if len(words) == 2 and all(word.isalpha() and len(word) > 1 for word in words) else None


def _unheard(names: Any, everything: str) -> list[str]:
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
