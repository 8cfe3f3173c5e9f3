"""Verbs in tools' names: what kind of tool they make, and what people say for them in general English."""

from __future__ import annotations

import re
from functools import lru_cache

#: Stems that people use for a verb. Verbs that stand here are those whose absence from the talk says something.
_FAMILIES = {
    "cancel": "cancel|call(?:ed|ing)? (?:it )?off|void|terminat",
    "modify": "modif|chang|updat|edit|adjust|switch|replac|swap|upgrad|downgrad|correct|amend|alter"
    r"|set\b|mov|reschedul|extend|renew|fix|add|remov|pay|us(?:e|ing)\b|prefer",
    "return": r"return|send(?:ing)? (?:\w+ ){0,3}back|giv(?:e|ing) (?:\w+ ){0,3}back|sent back|refund",
    "refund": "refund|reimburs|money back|return|compensat|credit",
    "exchange": "exchang|swap|replac|trad(?:e|ing)|switch|chang|different|instead",
    "book": "book|reserv|buy|purchas|order|flight|fly|trip|ticket",
    "delete": "delet|remov|eras|clear|drop|get rid",
    "suspend": "suspen|paus|hold|freez|block|stop",
    "resume": "resum|restor|reactivat|unsuspend|unpaus|back on|unblock|continu",
    "enable": "enabl|turn(?:ed|ing)? on|activat|switch(?:ed|ing)? on|allow|set up|work",
    "disable": "disabl|turn(?:ed|ing)? off|deactivat|switch(?:ed|ing)? off|block|stop",
}
_FAMILIES["update"] = f"{_FAMILIES['modify']}|check|complet|mark|done|finish"
_SYNONYM = {
    **dict.fromkeys(("edit", "change", "adjust", "amend", "reschedule", "postpone", "extend", "renew"), "modify"),
    **dict.fromkeys(("replace", "swap"), "exchange"),
    **dict.fromkeys(("purchase", "buy", "reserve"), "book"),
    "remove": "delete",
    "pause": "suspend",
    "activate": "enable",
    "deactivate": "disable",
    "reimburse": "refund",
}
_OF_KIND = {
    "read": "get find list search look lookup check read fetch show view query retrieve describe calculate compute"
    " count verify validate browse inspect print think",
    "write": "cancel modify update change edit adjust amend replace swap exchange return refund reimburse book reserve"
    " buy purchase create add insert delete remove send transfer pay charge suspend resume pause enable disable"
    " activate deactivate set submit place issue write post put move rename reset restore refuel assign close open"
    " approve reject reschedule postpone extend renew",
}
_READS, _WRITES = (set(verbs.split()) for verbs in _OF_KIND.values())
#: Verbs of other work that people tell an agent to do.
_WORK = {"run", "start", "stop", "fix", "make", "build", "deploy", "refactor", "implement", "test", "install", "commit"}
_COMMAND = re.compile(
    r"(?i)\W*(?:(?:now|then|and|so|just|also|next|first|please)\s+)*([a-z]+)\s+"
    r"(?!\w+ed\b|(?:is|are|was|were|has|have|went|came|done|looks?|works?|sounds?|now|there|too)\b)\w",
)
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HANDOVER = re.compile(
    r"(?i)(?:transfer|escalat|hand_?(?:over|off)|connect).*(?:human|agent|staff|person|support|representative)",
)
_LAST_WORD = re.compile(r"submit|finish|final|complete_task|end_|_end|done", re.IGNORECASE)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|without|instead of|rather than|no|nor|neither|avoid)|n['’]t)(?:\s+\w+){0,3}\s*$", re.IGNORECASE
)


@lru_cache(maxsize=1024)
def verb_of(tool: str) -> str:
    """The verb in a tool's name, by family: ``cancel_pending_order`` gives ``cancel``; else its first word."""
    parts: list[str] = [part.lower() for part in _NAME_PART.findall(tool)] or [tool]
    verb = next((part for part in parts if part in _WRITES | _READS), parts[0])
    return _SYNONYM.get(verb, verb)


@lru_cache(maxsize=1024)
def kind_of(tool: str) -> str | None:
    """``read`` or ``write`` by the verb in a tool's name, None where the name does not tell.

    A guess, for where nothing can hang on it; the rules of the axes take a kind from nowhere but the tool's own
    documentation and the user's word (`axisjudge.trajectory.Trajectory.kinds`).
    """
    verb = verb_of(tool)
    if verb in _READS:
        return "read"
    return "write" if verb in _WRITES else None


def commands(text: str) -> bool:
    """Whether words open with a verb that tells somebody to do something: "then book slot 4", not "refund received"."""
    opening = _COMMAND.match(text)
    return opening is not None and opening[1].lower() in _WRITES | _READS | _WORK


def makes(tool: str) -> bool:
    """Whether a tool's name says that it makes a new record."""
    return verb_of(tool) in ("create", "add", "insert", "register", "write", "put", "open", "new", "save", "upload")


def hands_over(tool: str) -> bool:
    """Whether a tool's name says that somebody else takes over the conversation."""
    return _HANDOVER.search(tool) is not None


def ends_the_run(tool: str) -> bool:
    """Whether a tool's name says that calling it is the agent's last word."""
    return _LAST_WORD.search(tool) is not None


def has_family(verb: str) -> bool:
    """Whether the verb is one whose synonyms are known, so that its absence from the talk says something."""
    return verb in _FAMILIES


@lru_cache(maxsize=256)
def _family(verb: str) -> re.Pattern[str]:
    stems = _FAMILIES.get(verb, re.escape(verb.removesuffix("e")))
    return re.compile(rf"\b(?:{stems})\w*", re.IGNORECASE)


def mentions(text: str, verb: str) -> bool:
    """Whether a text speaks of a verb's family without denying it ("do not cancel" does not count)."""
    return any(_NEGATION.search(text, max(0, m.start() - 40), m.start()) is None for m in _family(verb).finditer(text))


def speaks_of(text: str, tool: str) -> bool:
    """Whether a text speaks of what a tool does: of its verb, or of what else its name says."""
    if mentions(text, verb_of(tool)):
        return True
    objects = {part.lower() for part in _NAME_PART.findall(tool) if len(part) >= 5} - _WRITES - _READS
    return not has_family(verb_of(tool)) and any(word in text.lower() for word in objects)


def names(text: str, verb: str) -> bool:
    """Whether a text uses that very verb ("return", "returned"), synonyms left out."""
    return re.search(rf"\b{re.escape(verb.rstrip('ey'))}", text, re.IGNORECASE) is not None


def same_family(word: str, verb: str) -> bool:
    """Whether a participle belongs to a verb's family: ``same_family("swapped", "exchange")``."""
    return _family(verb).match(word) is not None


def is_form_of(word: str, verb: str) -> bool:
    """Whether a participle is of that very verb: ``is_form_of("cancelled", "cancel")``, synonyms left out."""
    stem = verb.rstrip("ey")
    return len(stem) >= 4 and word.startswith(stem)
