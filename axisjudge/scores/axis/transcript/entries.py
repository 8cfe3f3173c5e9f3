"""Does a command line call the network? A program is called, not merely named: an echoed address is no call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from axisjudge.checks import InputError
from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.categories import NETWORK_NAMES, NETWORK_PREFIX, name_set
from axisjudge.scores.axis.transcript.javascript import (
    SPACE,
    cut,
    is_number,
    iso_ms,
    number_text,
    ordered_keys,
    time_ms,
)

#: Programs whose purpose is the network.
_PROGRAMS = name_set("curl wget http https xh httpie ssh scp sftp ftp telnet nc ncat ping dig nslookup gh glab aria2c")
#: Programs that call the network for some of their subcommands.
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    name: name_set(words)
    for names, words in {
        "git": "clone fetch pull push ls-remote",
        "npm pnpm yarn bun": "install i ci add update upgrade publish audit outdated view",
        "pip pip3 uv poetry pipx": "install download add sync",
        "cargo": "install add fetch update publish",
        "go": "get install",
        "gem bundle composer": "install update require",
        "brew apt apt-get": "install update upgrade",
        "docker podman": "pull push login",
    }.items()
    for name in names.split()
}
#: Words before the program that leave it the program.
_BEFORE = name_set("sudo env time nohup exec command builtin nice xargs timeout if then elif else while until do ! { (")
_SHELLS = name_set("sh bash zsh dash ksh fish")


#: A command line without any of these words calls nothing.
_TELLING = _PROGRAMS.union(*_SUBCOMMANDS.values())
_WORD = re.compile(r"[\w-]+")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'")
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
_OPERATORS = ";&|()\n"


def calls_network(command: str) -> bool:
    """Whether running the command line calls a network program (curl, wget, ssh, git clone, npm install, ...).

    Quoted text, arguments of other programs, comments and here-documents do not count; command substitutions and
    ``bash -c`` do.

    Examples
    --------
    >>> calls_network("cd app && curl -s localhost:8888"), calls_network("echo https://example.org; grep curl *.sh")
    (True, False)
    """
    if _TELLING.isdisjoint(_WORD.findall(command)):
        return False
    line = _HEREDOC.sub(lambda match: match[3].partition("\n")[0] + "\n", command)
    inner = [match[0] or match[1] for match in _SUBSTITUTED.findall(_QUOTED.sub("''", line))]
    return any(map(calls_network, inner)) or any(map(_is_call, simple_commands(line)))


def command_of(tool_name: str, tool_input: Any) -> str:
    """The command line that a shell tool, or a tool named after a program, was given ("" where it has none)."""
    if not isinstance(tool_input, dict):
        return ""
    given = next((tool_input[key] for key in ("command", "cmd", "script", "args") if tool_input.get(key)), "")
    line = given if isinstance(given, str) else shlex.join(map(str, given)) if isinstance(given, list) else ""
    program = tool_name.lower()
    return f"{program} {line}" if program in _PROGRAMS or program in _SUBCOMMANDS else line


def simple_commands(line: str) -> list[list[str]]:
    """The words of each simple command; text that no shell would take falls into words at white space."""
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        words = re.findall(rf"[{re.escape(_OPERATORS)}]+|[^\s{re.escape(_OPERATORS)}]+", line)
    commands: list[list[str]] = [[]]
    comment = False
    for word in words:
        operator = bool(word) and not word.strip(_OPERATORS)
        comment = (comment or word.startswith("#")) and not (operator and "\n" in word)
        if operator:
            commands.append([])
        elif not comment:
            commands[-1].append(word)
    return commands


def bare_command(words: list[str]) -> list[str]:
    """A simple command without what stands before its program: assignments, wrappers (``sudo``, ``timeout 5``)."""
    while words and (words[0] in _BEFORE or _ASSIGNMENT.fullmatch(words[0])):
        wrapper, words = words[0], words[1:]
        while wrapper in _BEFORE and words and (words[0].startswith("-") or words[0].rstrip("smhd").isdigit()):
            words = words[1:]
    return words


def _is_call(words: list[str]) -> bool:
    words = bare_command(words)
    if not words:
        return False
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program in _SHELLS:
        script = next((at for at, word in enumerate(arguments) if re.fullmatch(r"-\w*c", word)), None)
        return script is not None and any(map(calls_network, arguments[script + 1 : script + 2]))
    if program.startswith("python") and arguments[:2] == ["-m", "pip"]:
        program, arguments = "pip", arguments[2:]
    subcommand = _first_plain(arguments)
    if (program, subcommand) in (("uv", "pip"), ("docker", "compose")):
        subcommand = _first_plain(arguments[arguments.index(subcommand) + 1 :])
    return program in _PROGRAMS or subcommand in _SUBCOMMANDS.get(program, frozenset())


def _first_plain(arguments: list[str]) -> str:
    """The first word that is neither an option nor the value of an option before a subcommand (``git -C folder``)."""
    pairs = zip(["", *arguments], arguments, strict=False)
    return next(
        (word for before, word in pairs if not word.startswith("-") and before not in ("-C", "-c", "--prefix")), ""
    )


# The scorer's input: a transcript's entries with what matters of each, from AXIS raw entries.


_URL = re.compile(f"[hH][tT][tT][pP][sS]?://[^{SPACE}\"'<>)\\]}},]")
_SUMMARY_UNITS = 100
_CONTAINERS = (dict, list)
_NAME_OF_ITEM = {
    "command_execution": "shell",
    "mcp_tool_calls": "mcp",
    "web_search": "web_search",
    "file_change": "file_change",
}


class Entry(NamedTuple):
    """One entry of a transcript.

    `type` is assistant, user, tool_use, tool_result, system, error, or the source's own word. `time_ms` counts from
    1970 and is None where the time stamp is missing or invalid. `failed` is True or False where the source says
    whether a tool result is one of a failure, None where it does not say; `is_error` marks an entry of type error.
    `duration_ms` is how long a tool took, where the source states that of its result.
    """

    type: str
    time_ms: int | None = None
    text: str | None = None
    tool_name: str | None = None
    tool_input: Any = None
    input_summary: str | None = None
    result_text: str | None = None
    tool_id: str | None = None
    kind: str | None = None
    error_message: str | None = None
    is_network: bool = False
    is_error: bool = False
    failed: bool | None = None
    duration_ms: int | None = None


def entries_of_axis(raw: Sequence[dict[str, Any]], rules: RuleSet) -> list[Entry]:
    """Entries from AXIS raw entries, each ``{type, timestamp, content}``.

    Raises
    ------
    InputError
        When an entry is no object or has no type.
    """
    return [_entry(position, entry, rules) for position, entry in enumerate(raw)]


def valid_time(timestamp: Any, rules: RuleSet) -> int | None:
    """Milliseconds since 1970 of a time stamp; None where it is missing, invalid, or not after 1970 began."""
    if not timestamp:
        return None
    if rules.timestamps == "javascript":
        time = time_ms(timestamp)
    else:
        time = iso_ms(timestamp) if isinstance(timestamp, str) else None
    return time if time is not None and time > 0 else None


def summarise_input(tool_input: Any) -> str | None:
    """``key: value`` of an input's strings (cut to 100 units), numbers and booleans; None where there is none."""
    if isinstance(tool_input, dict):
        keys: Any = ordered_keys(tool_input)
    elif isinstance(tool_input, list):
        keys = range(len(tool_input))
    else:
        return None
    parts = []
    for key in keys:
        value = tool_input[key]
        if isinstance(value, str):
            parts.append(f"{key}: {cut(value, _SUMMARY_UNITS)}")
        elif isinstance(value, bool):
            parts.append(f"{key}: {'true' if value else 'false'}")
        elif is_number(value):
            parts.append(f"{key}: {number_text(value)}")
    return ", ".join(parts) or None


def is_network_call(
    tool_name: str | None, tool_input: Any, input_summary: str | None, text: str | None, rules: RuleSet
) -> bool:
    """Whether a tool call goes to the network, by the tool's name and by what the rules look at beside it."""
    if tool_name and (tool_name in NETWORK_NAMES or tool_name.startswith(NETWORK_PREFIX)):
        return True
    if rules.network == "commands":
        return calls_network(command_of(tool_name or "", tool_input))
    return any(part and "://" in part and _URL.search(part) for part in (input_summary, text))


def _entry(position: int, raw: dict[str, Any], rules: RuleSet) -> Entry:
    kind_of_entry = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(kind_of_entry, str):
        raise InputError(f"entry {position}", "must be an object with a type", raw)
    given = raw.get("content")
    content: dict[str, Any] = given if isinstance(given, dict) else {}
    time = valid_time(raw.get("timestamp"), rules)
    if kind_of_entry in ("tool_use", "tool_result", "assistant"):
        return _acting(kind_of_entry, time, content, rules)
    message = _error_message(content) if kind_of_entry == "error" else None
    text = _first_string(content, "text", "message", "content", "error")
    kind = _first_string(content, "kind") if kind_of_entry == "error" else None
    return Entry(kind_of_entry, time, text, error_message=message, kind=kind, is_error=kind_of_entry == "error")


def _acting(kind_of_entry: str, time: int | None, content: dict[str, Any], rules: RuleSet) -> Entry:
    blocks = _blocks(content)
    use, result = _block(blocks, "tool_use"), _block(blocks, "tool_result")
    text = _assistant_text(content, blocks) if kind_of_entry == "assistant" else None
    name = _tool_name(content, use)
    if kind_of_entry == "assistant" and not name:
        return Entry(kind_of_entry, time, text)
    is_result = kind_of_entry == "tool_result"
    tool_input = _tool_input(content, use)
    summary = None if tool_input is None else summarise_input(tool_input)
    return Entry(
        kind_of_entry if is_result else "tool_use",
        time,
        text,
        name,
        tool_input,
        summary,
        _result_text(content, result) if is_result else None,
        _tool_id(content, use, result),
        _first_string(content, "kind"),
        is_network=not is_result and is_network_call(name, tool_input, summary, text, rules),
        failed=_failed(content, result) if is_result else None,
    )


def _blocks(content: dict[str, Any]) -> list[Any] | None:
    message = content.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    return blocks if isinstance(blocks, list) else None


def _block(blocks: list[Any] | None, kind: str) -> dict[str, Any]:
    for block in blocks or ():
        if isinstance(block, dict) and block.get("type") == kind:
            return block
    return {}


def _first_string(content: dict[str, Any], *names: str) -> str | None:
    for name in names:
        value = content.get(name)
        if isinstance(value, str):
            return value
    return None


def _tool_name(content: dict[str, Any], use: dict[str, Any]) -> str | None:
    name = _first_string(content, "tool_name", "name")
    if name is None and isinstance(kind := content.get("type"), str):
        name = _NAME_OF_ITEM.get(kind)
    return name if name is not None else _first_string(use, "name")


def _tool_input(content: dict[str, Any], use: dict[str, Any]) -> Any:
    for value in (content.get("parameters"), use.get("input")):
        if isinstance(value, _CONTAINERS):
            return value
    if isinstance(command := content.get("command"), str):
        return {"command": command}
    if isinstance(query := content.get("query"), str) and query:
        return {"query": query}
    if isinstance(arguments := content.get("arguments"), str):
        return {"arguments": arguments}
    if isinstance(changes := content.get("changes"), list) and changes:
        return {"changes": "; ".join(map(_change, changes))}
    return None


def _change(change: Any) -> str:
    fields = change if isinstance(change, dict) else {}
    return f"{_first_string(fields, 'kind') or 'change'}: {_first_string(fields, 'path') or '(unknown)'}"


def _result_text(content: dict[str, Any], result: dict[str, Any]) -> str | None:
    inner = result.get("content")
    if isinstance(inner, str):
        return inner
    if isinstance(inner, list):
        texts = [item["text"] for item in inner if isinstance(item, dict) and isinstance(item.get("text"), str)]
        if texts:
            return " | ".join(texts)
    return _first_string(content, "aggregated_output", "output", "content", "text")


def _assistant_text(content: dict[str, Any], blocks: list[Any] | None) -> str | None:
    parts = []
    for block in blocks or ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif block.get("type") == "tool_use" and isinstance(block.get("name"), str):
            parts.append(f"[calls {block['name']}]")
    return " ".join(parts) if parts else _first_string(content, "content", "text")


def _error_message(content: dict[str, Any]) -> str | None:
    message = _first_string(content, "error", "message")
    inner = content.get("error")
    if message is None and isinstance(inner, dict):
        message = _first_string(inner, "message")
    return message if message is not None else _first_string(content, "text")


def _tool_id(content: dict[str, Any], use: dict[str, Any], result: dict[str, Any]) -> str | None:
    tool_id = _first_string(content, "tool_id", "id")
    tool_id = tool_id if tool_id is not None else _first_string(result, "tool_use_id")
    return tool_id if tool_id is not None else _first_string(use, "id")


def _failed(content: dict[str, Any], result: dict[str, Any]) -> bool | None:
    """What a result says of itself: an error flag, an exit code, a status; None where it says nothing."""
    flags: list[bool] = []
    for fields in (content, result) if result else (content,):
        if isinstance(flag := fields.get("is_error"), bool):
            flags.append(flag)
        if is_number(code := fields.get("exit_code")):
            flags.append(code != 0)
        if isinstance(status := fields.get("status"), str):
            flags.append(status in ("failed", "error"))
    return any(flags) if flags else None
