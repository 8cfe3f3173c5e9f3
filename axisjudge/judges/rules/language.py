"""Whether a talk is in English: the word lists of the rules are, and what they miss elsewhere is no fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
#: Words of grammar that English has and its neighbours do not.
_ENGLISH = frozenset(
    _WORD.findall(
        "the and you your yours that this these those with would please thank thanks what which from are there they "
        "them have has been is it's i'm i'd i'll it its my could should about before after because not of for by can't "
        "don't will if when how where who any some other our their his her him she he were but let"
    )
)
#: Words of grammar of other languages in Latin letters that English does not have.
_FOREIGN = frozenset(
    _WORD.findall(
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
_ENOUGH_WORDS = 12


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
    return english >= foreign and (english > 0 or words < _ENOUGH_WORDS)


@lru_cache(maxsize=4_096)
def _counts(text: str) -> tuple[int, int, int, int, int]:
    """Words of a text, letters, letters beyond ASCII, and words of grammar of English and of others."""
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]
    letters = "".join(words)
    ascii_letters = letters.encode("ascii", "ignore")
    english, foreign = (sum(map(known.__contains__, words)) for known in (_ENGLISH, _FOREIGN))
    return len(words), len(letters), len(letters) - len(ascii_letters), english, foreign
