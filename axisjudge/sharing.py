"""What is made fit to leave: secrets taken out of texts, and cells that a spreadsheet would run as formulas.

Secrets are found by the patterns of detect-secrets that name a kind of key; those that guess from entropy or from words
take every order number for a key, and are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Any

#: Detectors of detect-secrets whose matches have a form of their own.
_DETECTORS = (
    *(
        "AWSKeyDetector",
        "AzureStorageKeyDetector",
        "BasicAuthDetector",
        "DiscordBotTokenDetector",
        "GitHubTokenDetector",
    ),
    *("GitLabTokenDetector", "OpenAIDetector", "PypiTokenDetector", "SendGridDetector", "SlackDetector"),
    *("SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector"),
)
_BEGIN = "-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
#: What these do not know, or of which they match the beginning alone.
_OURS = {
    "private key": rf"{_BEGIN}(?:(?s:.{{0,8000}}?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[^\"]{{0,4000}})",
    "API key": r"\b(?:sk|rk|pk)-(?:[a-z]+\d*-)*[A-Za-z0-9_-]{16,}",
    "Bearer token": r"(?i)\bbearer\s+[\w.~+/-]{12,}=*",
    "Google API key": r"\bAIza[\w-]{35}",
    "GitHub token": r"\bgithub_pat_\w{22,}|\bgh[pousr]_\w{20,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "JSON web token": r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
    # of AWS, Databricks, Groq, xAI, Vault, Google, ...: what their makers begin keys with, and a digit further on
    "key with a known prefix": (
        r"\b(?:gsk_|xai-|r8_|pplx-|dop_v1_|shp(?:at|ca|pa|ss)_|lin_api_|ntn_|hvs\.|dp\.\w{2,5}\.|csk-|ya29\.|GOCSPX-"
        r"|AGE-SECRET-KEY-|xapp-|whsec_|[sr]k_test_|NRAK-|sntrys_|lsv2_|tvly-|nvapi-|figd_|ATATT|dckr_pat_|glsa_)"
        r"(?=[\w.-]*\d)[\w.-]{20,}|\b(?:fw|secret)_(?=[a-zA-Z]*\d)[a-zA-Z0-9]{24,}|\bkey-[0-9a-f]{32}\b|\bdapi[0-9a-f]{32}|\bpat\w{14}\.[0-9a-f]{64}|[\w~.-]{3}\dQ~[\w~.-]{31,}"
    ),
    "value of a key": (
        r"(?i)(?:secret|password|api[_-]?key|access[_-]?key|auth[_-]?token)[\\\"']*\s*[:=]\s*[\\\"']*"
        r"(?=[^\s\"']*\d)[\w+/.~-]{20,}=*|[?&]sig=[\w%+/-]{30,}|\bcookie: *[\w-]+=[^\s\"']{16,}"
    ),
    "basic authorization": r"(?i)\bbasic\s+(?=[a-z+/]*[\d+/=])[a-z0-9+/]{16,}=*",
    "PuTTY key": r"PuTTY-User-Key-File-\d(?s:.{0,8000}?Private-MAC: \w+|[^\"]{0,4000})",
    "password in an address": r"(?<=://)[^\s:/@\"'<>]+:[^\s:/@\"'<>]+(?=@)",
}


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    theirs: list[tuple[str, re.Pattern[str]]] = []
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in detectors.items():
        if detector.__name__ in _DETECTORS:
            theirs += [(kind, pattern) for pattern in detector.denylist]
    return (*((kind, re.compile(form)) for kind, form in _OURS.items()), *theirs)


def without_keys(text: str, counted: Counter[str] | None = None) -> str:
    """The text with each secret replaced by its kind, as in ``[secret: AWS Access Key]``; `counted` counts them.

    Examples
    --------
    >>> without_keys("use AKIAIOSFODNN7EXAMPLE now")
    'use [secret: AWS Access Key] now'
    """
    for kind, pattern in _patterns():
        text, n = pattern.subn(f"[secret: {kind}]", text)
        if n and counted is not None:
            counted[kind] += n
    return text


def shared(content: Any, counted: Counter[str] | None = None) -> Any:
    """The same, of all texts in lists and mappings, their keys included."""
    if isinstance(content, str):
        return without_keys(content, counted)
    if isinstance(content, dict):
        return {shared(key, counted): shared(value, counted) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [shared(each, counted) for each in content]
    return content


def in_words(counted: Counter[str]) -> str:
    """How many secrets were taken out, by kind; empty without any."""
    kinds = ", ".join(f"{n} {kind}" for kind, n in counted.most_common())
    return f"{counted.total()} secrets were taken out ({kinds}); --no-redact leaves them in." if counted else ""


_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"'*[+-]?\d+([.,]\d+)?(e[+-]?\d+)?", re.IGNORECASE)


#: What no cell shows and some programs obey: the controls, but for tab and the ends of lines.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: a text that begins as a formula does, and is no number, gets a ``'`` before it.

    Control characters go.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-1"), plain_cell(safe_cell("'=a")), safe_cell(None)
    ("'=1+1", '-1', "'=a", None)
    """
    if not isinstance(value, str):
        return value
    value = _CONTROL.sub("", value)
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def plain_cell(text: str) -> str:
    """What `safe_cell` was given."""
    is_safe = text.startswith("'") and _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return text[1:] if is_safe else text
