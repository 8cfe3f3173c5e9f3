"""Does a command line call the network? A program is called, not merely named: an echoed address is no call."""

from __future__ import annotations

import re
import shlex
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Programs whose purpose is the network.
_PROGRAMS = _words("curl wget http https xh httpie ssh scp sftp ftp telnet nc ncat ping dig nslookup gh glab aria2c")
#: Programs that call the network for some of their subcommands.
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    name: _words(words)
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
_BEFORE = _words("sudo env time nohup exec command builtin nice xargs timeout if then elif else while until do ! { (")
_SHELLS = _words("sh bash zsh dash ksh fish")


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
    line = _HEREDOC.sub(lambda found: found[3].partition("\n")[0] + "\n", command)
    inner = [found[0] or found[1] for found in _SUBSTITUTED.findall(_QUOTED.sub("''", line))]
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
