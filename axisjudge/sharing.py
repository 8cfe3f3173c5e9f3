"""What is made fit to leave: secrets taken out of texts, and cells that a spreadsheet would run as formulas.

The rule: what is made for others (explorer, labelling and AXIS pages, served ones, reports, bundles, exports, ATIF) is
without keys, says how many it lost, and keeps them with ``--no-redact`` (reports never); what the workbench
itself reads again (runs as own lines, ratings, prompts) stays as it is.

Secrets are found by the patterns of detect-secrets that name a kind of key; those that guess from entropy or from words
take every order number for a key, and are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    import polars as pl

Record = TypeVar("Record", bound=BaseModel)

#: Detectors of detect-secrets whose matches have a form of their own.
_DETECTORS = (
    "AWSKey AzureStorageKey BasicAuth DiscordBotToken GitHubToken GitLabToken OpenAI PypiToken SendGrid "
    "Slack SquareOAuth Stripe TelegramBotToken TwilioKey"
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
        r"|AGE-SECRET-KEY-|xapp-|whsec_|[sr]k_test_|NRAK-|sntrys_|lsv2_|tvly-|nvapi-|figd_|ATATT|dckr_pat_|glsa_|HRKU-|sbp_|PMAK-|pscale_(?:tkn|pw|oauth)_|fm[12]_)"
        r"(?=[\w.-]*\d)[\w.-]{20,}|\b(?:fw|secret)_(?=[a-zA-Z]*\d)[a-zA-Z0-9]{24,}|\bkey-[0-9a-f]{32}\b|\bdapi[0-9a-f]{32}|\bpat\w{14}\.[0-9a-f]{64}|[\w~.-]{3}\dQ~[\w~.-]{31,}"
        r"|\.atlasv1\.[\w-]{40,}|\bpa-(?=[\w-]*\d)[\w-]{40,}|\bAPA91b[\w-]{90,}|\bFlyV1\s[\w+/=]{20,}"
    ),
    "value of a key": (
        r"(?i)(?:secret|password|api[_-]?key|access[_-]?key|auth[_-]?token)[\\\"']*\s*[:=]\s*[\\\"']*"
        r"(?=[^\s\"']*\d)[\w+/.~-]{20,}=*|[?&]sig=[\w%+/-]{30,}|\bcookie: *[\w-]+=[^\s\"']{16,}"
    ),
    # of an environment, whatever it is; a header of any scheme; a line of .netrc; what docker and Google keep
    "value of a variable": (
        r"\b[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY)=[\\\"']*(?=[^\s\"']*[\d!@#$%^&*])[^\s\"'\\]{6,}"
        r"|(?i:\bauthorization[\\\"']*\s*[:=]\s*[\\\"']*(?:[a-z]+\s+)?(?=[^\s\"']*\d)[\w.~+/=-]{16,})"
        r"|\bmachine\s+\S+\s+login\s+\S+\s+password\s+\S+"
        r"|\\?\"auth\\?\":\s*\\?\"[A-Za-z0-9+/]{16,}=*|private_key_id\\?\":\s*\\?\"[0-9a-f]{40}"
    ),
    "address that is a key": (
        r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]{30,}|webhook\.office\.com/webhookb2/[^\s\"'<>]{30,}"
    ),
    "basic authorization": r"(?i)\bbasic\s+(?=[a-z+/]*[\d+/=])[a-z0-9+/]{16,}=*",
    "PuTTY key": r"PuTTY-User-Key-File-\d(?s:.{0,8000}?Private-MAC: \w+|[^\"]{0,4000})",
    "password in an address": r"(?<=://)[^\s:/@\"'<>]+:[^\s:/@\"'<>]+(?=@)",
}


_PREFIXES = (
    "gsk_ xai- r8_ pplx- dop_v1_ shp lin_api_ ntn_ hvs. dp. csk- ya29. gocspx- age-secret-key- xapp- whsec_ "
    "k_test_ nrak- sntrys_ lsv2_ tvly- nvapi- figd_ atatt dckr_pat_ glsa_ fw_ secret_ key- dapi pat q~ hrku- "
    "sbp_ pmak- pscale_ fm1_ fm2_ atlasv1 pa- apa91b flyv1"
)
#: What a text must hold, in small letters, to be looked through for a kind: most texts hold nothing of the kind.
_SIGNS = {
    "API key": ("sk-", "rk-", "pk-"),
    "Bearer token": ("bearer",),
    "Google API key": ("aiza",),
    "GitHub token": ("github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "Hugging Face token": ("hf_",),
    "npm token": ("npm_",),
    "JSON web token": ("eyj",),
    "key with a known prefix": tuple(_PREFIXES.split()),
    "value of a key": ("secret", "password", "key", "token", "sig=", "cookie:"),
    "value of a variable": ("pass", "secret", "token", "key", "auth"),
    "address that is a key": ("webhook",),
    "basic authorization": ("basic",),
    "password in an address": ("://",),
}


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """Each kind of secret, its signs (none where its form is found fast) and its form."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    theirs: list[tuple[str, tuple[str, ...], re.Pattern[str]]] = []
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in detectors.items():
        if detector.__name__.removesuffix("Detector") in _DETECTORS.split():
            theirs += [(kind, (), pattern) for pattern in detector.denylist]
    return (*((kind, _SIGNS.get(kind, ()), re.compile(form)) for kind, form in _OURS.items()), *theirs)


#: Kinds that may be a short password, which a digest would help to guess.
_GUESSABLE = (
    "value of a key",
    "value of a variable",
    "basic authorization",
    "password in an address",
    "Basic Auth Credentials",
)


def _placeholder(kind: str, match: re.Match[str]) -> str:
    """What stands for a secret: with eight digits of its SHA-256, so that two ids in the form of keys stay two."""
    return (
        f"[secret: {kind}]" if kind in _GUESSABLE else f"[secret: {kind} {sha256(match[0].encode()).hexdigest()[:8]}]"
    )


def without_keys(text: str, counted: Counter[str] | None = None) -> str:
    """The text with each secret replaced by its kind, as in ``[secret: AWS Access Key]``; `counted` counts them.

    Examples
    --------
    >>> without_keys("use AKIAIOSFODNN7EXAMPLE now")
    'use [secret: AWS Access Key 1a5d44a2] now'
    """
    small = text.lower()
    for kind, signs, pattern in _patterns():
        if signs and not any(sign in small for sign in signs):
            continue
        text, n = pattern.subn(partial(_placeholder, kind), text)
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


def shared_frame(frame: pl.DataFrame, counted: Counter[str] | None = None) -> pl.DataFrame:
    """The same, of all texts in a table, in lists, records and columns' names; one without comes back as it is.

    Categories become plain texts, as a file lists also those that no row has; so do bytes.

    Raises
    ------
    polars.exceptions.PolarsError
        A column that cannot be searched: bytes that are no text, or objects; a field of a record that is a secret.
    """
    import polars as pl  # here, as a look at what is stale loads no table library

    searched: dict[Any, Any] = {name: to for name, dtype in frame.schema.items() if (to := _searched(dtype)) != dtype}
    table = frame.cast(searched) if searched else frame
    cleaned = {}
    for column in table.iter_columns():
        texts = Counter[str]()
        for leaf in _leaves(column):
            texts.update(dict(leaf.drop_nulls().value_counts().iter_rows()))
        if changed := {text: clean for text in texts if (clean := without_keys(text)) != text}:
            for text in changed:
                for _ in range(texts[text]):
                    without_keys(text, counted)
            cleaned[column.name] = _replaced(pl.col(column.name), column.dtype, changed)
    table = table.with_columns(**cleaned) if cleaned else table
    named = {name: clean for name in table.columns if (clean := without_keys(name, counted)) != name}
    return table.rename(named) if named else table


def _searched(dtype: Any) -> Any:
    """The type of a column whose texts are all plain."""
    import polars as pl

    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Binary | pl.Object):
        return pl.String()
    if isinstance(dtype, pl.List | pl.Array) and not dtype.inner.is_numeric():
        return pl.List(_searched(dtype.inner))
    if isinstance(dtype, pl.Struct):
        if any(without_keys(each.name) != each.name for each in dtype.fields):
            raise pl.exceptions.SchemaError("a field of a record is named by a key")
        return pl.Struct({each.name: _searched(each.dtype) for each in dtype.fields})
    return dtype


def _leaves(column: pl.Series) -> Iterator[pl.Series]:
    """The texts of a column, wherever in it they stand."""
    import polars as pl

    if column.dtype == pl.String:
        yield column
    elif isinstance(column.dtype, pl.List):
        yield from _leaves(column.explode())
    elif isinstance(column.dtype, pl.Struct):
        for each in column.dtype.fields:
            yield from _leaves(column.struct.field(each.name))


def _replaced(of: pl.Expr, dtype: Any, changed: Mapping[str, str]) -> pl.Expr:
    import polars as pl

    if dtype == pl.String:
        return of.replace(changed)
    if isinstance(dtype, pl.List):
        return of.list.eval(_replaced(pl.element(), dtype.inner, changed))
    if isinstance(dtype, pl.Struct):
        each = {field.name: _replaced(pl.field(field.name), field.dtype, changed) for field in dtype.fields}
        return of.struct.with_fields(**each)
    return of


def shared_record(record: Record, counted: Counter[str] | None = None) -> Record:
    """The same, of all texts in a record."""
    content = record.model_dump(mode="json")
    return record if (clean := shared(content, counted)) == content else type(record).model_validate(clean)


def shared_runs(runs: Mapping[str, Record], counted: Counter[str] | None = None) -> dict[str, Record]:
    """The same, of records by their ids."""
    return {without_keys(name): shared_record(run, counted) for name, run in runs.items()}


def has_keys(text: str) -> bool:
    """Whether a text may hold secrets: also one of JSON that writes plain letters as escapes."""
    return "\\u00" in text or without_keys(text) != text


def clean_line(line: str, counted: Counter[str]) -> str:
    """A line of JSON Lines, or of any other text, without its secrets; one that holds none stays byte by byte."""
    if not has_keys(line):
        return line
    try:
        content = json.loads(line)
    except ValueError:
        return without_keys(line, counted)
    return line if (clean := shared(content, counted)) == content else json.dumps(clean, ensure_ascii=False) + "\n"


def in_words(counted: Mapping[str, int], *, may_stay: bool = True) -> str:
    """How many secrets were taken out, by kind; empty without any."""
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(counted).most_common())
    kept = "; --no-redact leaves them in" if may_stay else ""
    return f"{sum(counted.values())} secrets were taken out ({kinds}){kept}." if counted else ""


#: What begins as a formula does, with blanks and what no cell shows before it: some programs pass over these.
_FORMULA = re.compile(r"'*[\s\u200b-\u200f\u2060\ufeff]*[=+\-@\t\r\n＝＋－＠]")
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
