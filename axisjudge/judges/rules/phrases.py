"""What people say in general English: consent, refusal, closing, questions, claims; and whether it is English."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, partial

from axisjudge.judges.rules.verbs import commands, is_form_of

_pattern = partial(re.compile, flags=re.IGNORECASE)


def _any_of(*phrases: str) -> re.Pattern[str]:
    """One of the phrases, with bars between them, as whole words; an apostrophe may be straight or curly."""
    return _pattern(rf"\b(?:{'|'.join(phrases)})\b".replace("'", "['’]"))


_CONSENT = _any_of(
    "yes|yeah|yep|yup|sure|ok(?:ay)?|confirm(?:ed|ing|s)?|correct|absolutely|certainly|definitely|of course",
    "agree[ds]?|approve[ds]?|perfect|great|alright|all right|exactly|go(?:ing)? ahead|proceed(?:ing)?|please do",
    "do (?:it|that|so)|works for me|fine|i accept|accepted|submit|authori[sz]e[ds]?|make (?:it|that|the)",
    "let's (?:do|go|proceed)|(?:sounds?|looks?) (?:good|great|fine|perfect|right|correct)",
    "that(?:'s| is| would be| will be|'ll be)? (?:right|correct|fine|good|great|perfect|okay|ok|works?)",
    "please (?:cancel|change|make|update|modify|use|apply|process|book|complete|finali[sz]e|send|add|remove"
    "|switch|swap|exchange|return|refund|continue)",
    "i(?:'d| would) like to|i want to|i(?:'ll| will) (?:take|go|have)",
)
_YES = _pattern(
    r"^\W*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|confirm(?:ed)?|correct|absolutely|certainly|definitely|of course|please do"
    r"|go ahead|perfect|great|alright"
    r"|that(?:['\u2019]s| is| sounds| works)?(?: all)? (?:right|correct|fine|good|great|perfect)"
    r"|(?:that )?works(?: for me)?|sounds good|do it|let['\u2019]s do (?:it|that)|agreed|approved|deal)\b"
    r"|\b(?:i confirm|go ahead|please proceed|you (?:may|can) proceed)\b"
)
_DECLINED = _pattern(
    r"\b(?:no need|no (?:further |other |more )?changes|no,? thank|not (?:needed|necessary)|n['\u2019]t (?:need|want)"
    r"|do not (?:need|want)|never ?mind|instead)\b"
)
_GO_AHEAD = _any_of("go ahead", "do it", "i confirm", "proceed", "no need to (?:ask|confirm)", "without asking")
_DENIED_CONSENT = _pattern(
    r"(?:\b(?:not|never|cannot|before (?:i|you|we)|until i|without)|n['’]t)\s+(?:\w+\s+){0,2}(?:confirm\w*|agree\w*"
    r"|proceed\w*|go(?:ing)? ahead|sure|approve\w*|correct|right|okay|ok|fine|do (?:it|that|so))\b"
)
_REFUSAL = _pattern(
    r"^\W*(?:no(?=\W|$)(?! problem| worries)|nope|not yet|wait|hold on|hang on|stop\b|(?:please )?(?:don['’]t|do not)"
    r"|never ?mind|actually,? (?:no|wait|don['’]t)|i(?:['’]ve| have)? changed my mind)"
)
_CLOSING = _any_of(
    r"that(?:'s| is|'ll be| will be| was| would be)? (?:all|it|everything)(?: i (?:need\w*|want\w*|had))?",
    r"have a (?:great|nice|good|wonderful|lovely|pleasant) \w+|nothing (?:else|more|further)",
    "no (?:further|other|more) (?:help|assistance|questions|requests)|good ?bye|bye|take care(?! of)",
    "all set(?! up)",
)
#: What may stand before a closing phrase in its part of a sentence; anything else makes it a part of a request.
_LEADS_TO_CLOSING = _pattern(
    r"(?:\W|\b(?:ok(?:ay)?|yes|no|nope|well|so|and|then|great|perfect|fine|good|thanks?|thank you|you|too|as well|i"
    r"|think|guess|believe|suppose|hope|have|had|got|need(?:ed)?|there|is|are|was|be|been|it|for|now|today|really|just|with"
    r"|wish|ve|s|m|am|do|don|t|not|very|much|again|everyone|all|right|alright|super|wonderful|excellent|awesome|cool|sure"
    r"|see|your|help|that|a|the|of|appreciate|glad|happy|everything|else|looks|sounds)\b)*$"
)
_QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^'\n]*'(?!\w)|\b\w+\(\)?", re.DOTALL)
_PART = re.compile(r"[.!?;:,\n\u2013\u2014]+\s*|\s-\s")
_STOP_TOKEN = re.compile(r"#{2,}\s*[A-Z][A-Z_ -]*#{2,}")
_WANTS_MORE = _pattern(
    r"\?|\b(?:please|(?:could|can|would) you|i(?:['’]d| would)(?: also)? (?:like|prefer)"
    r"|i(?: also)? (?:want|need) (?:to|you)|also|but|however|one more|before (?:i|you|we)|wait|go ahead"
    r"|proceed|confirm|let me know|make sure|yes)\b"
)
_COURTESY = _any_of(
    "(?:any|some)(?:thing|one)? (?:else|more|other|further|additional)|else (?:i|we) can",
    "of (?:any |more |further )?(?:service|help|assistance)",
    "(?:does|did) (?:that|this|it) (?:help|answer|clear|make sense)",
    "(?:further|other|additional|more) (?:help|assistance|questions?|requests?|items?|changes?)|assist you",
    "help you|(?:can|may) i (?:help|assist|do)|how (?:can|may|could) i|feel free|let me know",
)
_PROMISE = _any_of(
    r"i(?:'ll| will| am going to|'m going to)(?: now)? (?:\w+ )?(?:process|proceed|check|look|cancel|modify"
    "|update|submit|retrieve|fetch|do|start|initiate|complete|get|make|pull|review|verify|search|book)",
    "(?:one|just a|give me a) (?:moment|second|minute)|please (?:hold|wait)",
    "let me (?:check|look|process|get|pull|verify|retrieve|fetch|now)",
    "i(?:'m| am)(?: now)? (?:processing|checking|looking|cancelling|canceling|modifying|updating|submitting"
    "|retrieving|fetching|pulling|verifying|searching|booking)",
    "(?:give me|just)(?: just)? a (?:moment|second|minute|few minutes)|bear with me|hang tight|hold on",
)
_ANNOUNCES = _pattern(
    r"\b(?:i(?:['\u2019]ll| will| am going to|['\u2019]m going to)|let me)(?: now| just| also)? "
    r"(?!be\b|wait|have\b|need|let\b|leave|see\b|stop|end\b|close|say\b|stay|now\b|not\b|hand"
    r"|help|assist|connect|transfer you)[a-z]+"
)
_AT_ONCE = _pattern(r"^\W*(?:now|next|first)\b|(?<!for )\b(?:now|right away|immediately|straight away|at once)\b")
_FAILURE = _any_of(
    "unable|errors?|cannot|can'?t|could ?n[o']t|could not|fail(?:ed|s|ure)?|unfortunately|sorry|apologi[sz]e",
    "issues?|problem|isn't|wasn't|did ?n[o']t|did not|doesn't|does not|won't",
    "not (?:possible|able|allowed|eligible|available|been|go through)|declined|rejected|denied|no longer|instead",
    "however|already",
)
_SUCCESS = _any_of(
    "all set|all done|done|completed?|success|successful(?:ly)?|taken care of|went through",
    "(?:is|are|has been|have been) (?:now )?(?:booked|confirmed|placed|processed|issued|credited|refunded|changed)",
    "good to go|on (?:its|the) way",
)
_YES_WORDS = r"(?:confirm\w*|approv\w*|consent\w*|agree\w*|go-ahead|yes)"
_CONSENT_DEMANDED = _pattern(
    rf"\b{_YES_WORDS}\b[^.]{{0,120}}\b(?:before|prior|proceed|first)\b"
    rf"|\b(?:before|prior to|unless|until|only (?:after|if|when|once))\b[^.]{{0,200}}\b{_YES_WORDS}\b"
    rf"|\b(?:wait|ask)\w*(?: for)?\b[^.]{{0,40}}\b{_YES_WORDS}\b"
    r"|\b(?:obtain|explicit|must|ask for|need|require)\w*\b[^.]{0,60}\b(?:confirmation|approval|consent)\b"
)
_PROPOSES = _any_of(
    r"confirm\w*|proceed|go ahead|would you like|shall i|should i|do you want|ready to|yes/no",
    "is (?:this|that) (?:correct|right|ok|okay)|reply yes|say yes|approve|agree|sound good|okay with|i can|i will",
    "i'll",
)
_OFFERS = _any_of(
    "i can|i could|we can|we could|how about|would you|propos(?:e|ed|ing|al)|suggest(?:ed|ing|ion)?",
    "offer(?:ed|ing)?",
    r"(?:available|free|open|possible|next) (?:\w+ )?(?:windows?|slots?|dates?|days?|appointments?|times?)",
    r"(?:days|dates|times|slots) (?:are|would be) (?:available|free|open|possible)|window|for example|e\.g",
    "tentative(?:ly)?|options?|alternatives?",
)
_TRY = _pattern(r"\W*(?:expand|broaden|widen|consider|try|search|shift|extend|include)\b")
_ASKS_CONSENT = _any_of(
    r"confirm\w*|proceed|go ahead|would you like (?:me|to)|shall i|should i|do you want (?:me|to)",
    "is (?:this|that) (?:correct|right|ok|okay|fine)|say yes|yes/no|reply yes|agree|okay with",
    r"(?:ok(?:ay)?|alright|all right|agreed|deal|correct)(?=\?)",
)
_DEMANDS_AN_ANSWER = _pattern(r"\?|\b(?:please confirm|yes/no|(?:reply|say|answer)(?: with)? \W?yes)\b")
_WANTS_SOMETHING_ELSE = _pattern(
    r"\b(?:please|can you|could you|just)\s+(?:then |now |also )?(?!go\b|do\b|so\b|and\b)"
    r"(?!proceed|continue|process|submit|complete|finali[sz]e|make|confirm|carry)[a-z]+"
)
_ASKS_TO_DO = _pattern(
    r"\b(?:(?:would you like|do you want) me to|shall i|should i|may i|can i)"
    r" (?!proceed|go ahead|continue|do (?:it|so|that|this)|make (?:it|this|the(?:se)? changes?))\w+"
)
_ASKS_TO_TELL = _pattern(
    r"\b(?:(?:would you like|do you want) me to|shall i|should i|may i|can i) (?:tell|explain|show|describe|list|walk"
    r"|share|give|send you|e-?mail|read|check|look|search|find|summari[sz]e|repeat|go over|transfer|connect|hand"
    r"|call)\b"
)
_RULED_OUT = _pattern(
    r"\b(?:cannot|can ?not|unable|not (?:able|possible|allowed|eligible|permitted)|no longer|ineligible|yourself)\b"
    r"|n['’]t\b"
)
_CONDITION = _pattern(
    r"\b(?:if|once|when|whenever|after|until|unless|before|whether|would|will|can|cannot|could|may|might|should|must|any"
    r"|only|to be|not|either|or)\b|n['’]t\b"
)
_DONE = _pattern(
    r"\b(?:ha(?:s|ve) (?:now |just |already )?been(?: successfully| fully| now)? (?P<passive>[a-z]+)"
    r"|i(?:['’]ve| have)(?: now| just| also| already| successfully)* (?P<active>[a-z]+ed|sent|made|paid|set)"
    r"|(?:was|were|is|are)(?: now)? successfully (?P<was>[a-z]+)|successfully (?P<adverb>[a-z]+ed))\b"
)
_LISTED = re.compile(r"\s*(?:[-*\u2022\"]|\d+[.)](?:\s|$))")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*]*\s+|\n+|\\n")


def consents(text: str) -> bool:
    """Whether the words say yes, or ask for the thing to be done."""
    return _CONSENT.search(_DENIED_CONSENT.sub(" ", text)) is not None


def agrees(text: str) -> bool:
    """Whether a short message opens with a yes, or says in so many words that it confirms."""
    words = _STOP_TOKEN.sub("", text).strip()
    if len(words) > 300 or "?" in words or _DECLINED.search(words):
        return False
    return _YES.search(_DENIED_CONSENT.sub(" ", words)) is not None


def tells_to_go_ahead(text: str) -> bool:
    """Whether the words leave no need to ask: "go ahead", "do it"."""
    return _GO_AHEAD.search(_DENIED_CONSENT.sub(" ", text)) is not None


def refuses(text: str) -> bool:
    """Whether a message opens with a refusal and holds no word of consent."""
    return _REFUSAL.search(_STOP_TOKEN.sub("", text)) is not None and not consents(text)


@lru_cache
def consent_is_demanded(rulebook: str) -> bool:
    """Whether a policy wants the user's yes before something is done."""
    return _CONSENT_DEMANDED.search(rulebook) is not None


@lru_cache
def closes(text: str) -> bool:
    """Whether a message ends the conversation and asks for nothing more."""
    words = _STOP_TOKEN.sub("", text).strip()
    parts = _PART.split(_QUOTED.sub(" ", words))
    if len(words) > 400 or _WANTS_MORE.search(words) is not None or any(map(commands, parts)):
        return False
    return any(
        (phrase := _CLOSING.search(part)) is not None and _LEADS_TO_CLOSING.match(part[: phrase.start()]) is not None
        for part in parts
    )


def asks_something(text: str) -> bool:
    """Whether a message ends on a question that is more than a courtesy."""
    sentences = [part.rstrip(" *_\"'}])’”") for part in sentences_of(text)]
    return any(part.endswith("?") and not _COURTESY.search(part) for part in [part for part in sentences if part][-2:])


def promises_more(text: str) -> bool:
    """Whether a message ends by announcing something still to be done now."""
    ending = sentences_of(text)[-2:]
    return any(_announces(part) and not is_conditional(part.replace("will", "")) for part in ending)


def _announces(sentence: str) -> bool:
    at_once = _ANNOUNCES.search(sentence) and _AT_ONCE.search(sentence) and not _COURTESY.search(sentence)
    return bool(at_once) or _PROMISE.search(sentence) is not None


def admits_failure(text: str) -> bool:
    """Whether a message speaks of something that did not work."""
    return _FAILURE.search(text) is not None


def tells_success(text: str) -> bool:
    """Whether a message says, in whatever words, that something was brought about."""
    return any(_SUCCESS.search(part) and not is_conditional(part) and "?" not in part for part in sentences_of(text))


def proposes(text: str) -> bool:
    """Whether a message puts something to the user for a decision."""
    return "?" in text or _PROPOSES.search(text) is not None


def offers(text: str) -> bool:
    """Whether words put forward something that could be done: "I can", "how about", "follow_up_options"."""
    return _OFFERS.search(text.replace("_", " ")) is not None or _TRY.match(text) is not None


def asks_consent(text: str) -> bool:
    """Whether a message asks the user to agree to something."""
    return _DEMANDS_AN_ANSWER.search(text) is not None and _ASKS_CONSENT.search(text) is not None


def asking(text: str) -> list[str]:
    """The sentences of a message that ask for an answer."""
    return [part for part in sentences_of(text) if _DEMANDS_AN_ANSWER.search(part)]


def asks_in_general(question: str) -> bool:
    """Whether a question names nothing to be done ("Shall I proceed?"), so that the words before it say what."""
    return _ASKS_TO_DO.search(question) is None


def asks_to_tell(question: str) -> bool:
    """Whether a question offers words, a look or somebody else: nothing that a change would settle."""
    return _ASKS_TO_TELL.search(question) is not None


def still_possible(text: str) -> str:
    """What a message still puts to the user: nothing that is done, ruled out or the user's own to do."""
    sentences = sentences_of(text)
    done = [index for index, sentence in enumerate(sentences) if claims_of(sentence)]
    after = " ".join(sentences[done[-1] + 1 if done else 0 :])  # the last that tells something as done
    return " ".join(part for part in sentences_of(after) if not _RULED_OUT.search(part))


def agrees_only(text: str) -> bool:
    """Whether a message that says yes asks for nothing of its own: what it agrees to stands in the words before it."""
    return _WANTS_SOMETHING_ELSE.search(text) is None


def is_conditional(text: str) -> bool:
    """Whether words speak of what may be, shall be or is not."""
    return _CONDITION.search(text) is not None


def claims_of(text: str) -> list[str]:
    """Participles of what a message tells as done: "your order has been cancelled" gives ``["cancelled"]``.

    A status that was updated is left out: it is the outcome of some other act.
    """
    if _DONE.search(text) is None:
        return []
    return [
        word
        for sentence in sentences_of(text)
        if "?" not in sentence
        for word in _done_in(sentence)
        if not ("status" in sentence.lower() and is_form_of(word, "update"))
    ]


def _done_in(sentence: str) -> list[str]:
    done = [match for match in _DONE.finditer(sentence) if not is_conditional(sentence[: match.start()])]
    return [next(word for word in match.groups() if word).lower() for match in done]


def with_heading(text: str, wording: str) -> str:
    """The sentence or line that holds a wording; a line of a list together with the line that announces the list."""
    parts = sentences_of(text)
    index = next((index for index, part in enumerate(parts) if wording in part), None)
    if index is None:
        return ""
    heading = next((part for part in reversed(parts[:index]) if not _LISTED.match(part) or part.endswith("[")), "")
    listed = _LISTED.match(parts[index]) and heading.rstrip("* ").endswith((":", "["))
    return f"{heading} {parts[index]}" if listed else parts[index]


def sentences_of(text: str) -> list[str]:
    """Sentences and lines of a text."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part.strip()]


_LETTERS_OF_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_LETTERS_OF_ASCII_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")  # the same, and faster
#: Words of grammar that English has and its neighbours do not.
_ENGLISH = frozenset(
    _LETTERS_OF_WORD.findall(
        "the and you your yours that this these those with would please thank thanks what which from are there they "
        "them have has been is it's i'm i'd i'll it its my could should about before after because not of for by can't "
        "don't will if when how where who any some other our their his her him she he were but let"
    )
)
#: Words of grammar of other languages in Latin letters that English does not have.
_FOREIGN = frozenset(
    _LETTERS_OF_WORD.findall(
        "que el los las una por para con pero muy está esto usted gracias quiero puedo hay lo su sus más "
        "não uma você obrigado obrigada meu minha meus com dos das posso quero sim são em "
        "der das und ich ist nicht ein eine einen bitte danke mit für auf den dem wir sie ihr ihre kann soll haben "
        "le les des une est pas vous je nous avec pour mon ma mes votre merci oui et du sur être puis "
        "il di che non una sono grazie per favore vorrei mio mia gli della del posso si "
        "het een niet ik je jij dank graag van en voor zijn mijn kunt wil "
        "nie tak proszę dziękuję jest się czy mogę na do jak mam "
        "og jeg ikke det er tak till och jag inte är att som vil på av "
        "bir ve bu için lütfen teşekkürler evet hayır ben"
    )
)
_MOST_FOREIGN_LETTERS = 0.3
#: From so many words on a talk without a single English word of grammar is no English one.
_ENOUGH_LETTERS_OF_WORDS = 12


def is_english(texts: Iterable[str]) -> bool:
    """Whether the words of a talk may be English: no other language's words of grammar prevail, nor other scripts.

    Examples
    --------
    >>> is_english(["Cancel order 12345."]), is_english(["No pedido 12345, quero cancelar com você."])
    (True, False)
    """
    words, letters, other_letters, english, foreign = map(sum, zip((0,) * 5, *map(_counts, texts), strict=True))
    if other_letters > _MOST_FOREIGN_LETTERS * letters:
        return False
    return english >= foreign and (english > 0 or words < _ENOUGH_LETTERS_OF_WORDS)


@lru_cache(maxsize=4_096)
def _counts(text: str) -> tuple[int, int, int, int, int]:
    """Words of a text, letters, letters beyond ASCII, and words of grammar of English and of others."""
    words_of = _LETTERS_OF_ASCII_WORD if text.isascii() else _LETTERS_OF_WORD
    words = " ".join(words_of.findall(text)).lower().replace("\u2019", "'").split()
    letters = "".join(words)
    ascii_letters = letters.encode("ascii", "ignore")
    english, foreign = (sum(map(known.__contains__, words)) for known in (_ENGLISH, _FOREIGN))
    return len(words), len(letters), len(letters) - len(ascii_letters), english, foreign
