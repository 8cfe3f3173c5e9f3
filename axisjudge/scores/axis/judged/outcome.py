"""Did a call do what it was made for? What its result shows of that, by the rubric of success; else nothing.

A result counts as a success only where it shows one: a search that ran, a report of tests, a file's text, a record that
bears the number it was asked for, a confirmation, a program that says itself that it ended well. A text that is none of
these may be a help page or an error in words that nobody foresaw: then nothing is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from axisjudge.judges.rules.verbs import kind_of
from axisjudge.scores.axis.transcript.categories import name_set
from axisjudge.scores.axis.transcript.entries import Entry, bare_command, command_of, simple_commands
from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.scores.axis.transcript.javascript import stringify


class CallOutcome(NamedTuple):
    """Success of one call, None where its result does not show it, and the reason."""

    success: float | None
    reason: str = ""


#: A result up to this long is read whole for words of failure; of a longer one only its beginning is.
_SHORT = 600
_HEAD = 200

#: How an error begins, as tools and shells write it.
_BEGINS = re.compile(
    r"(?i)\s*(<tool_use_error>|(fetch|download|upload|query) failed\b|\W{0,4}(error|err|fatal|panic"
    r"|exception|failure|failed|denied|forbidden|unauthori[sz]ed)\b"
    r"|traceback \(most recent|(process )?exit(ed)?( with)?( code)?:? [1-9]|(ba|z|da)?sh: |command not found|permission"
    r" denied|access denied|no such file|(could|can|did|does|do|was|is)( ?no|n['’])t (be )?(found|open|read|access|conn"
    r"ect|exist|resolve|reach)|unable to|failed to|invalid |timed? ?out|timeout|connect(ion)? (E[A-Z]|refused|reset|ti"
    r"med|closed|error)|file (does|has) not|[\w./-]{1,40}: (error|fatal|no such|cannot|can't|not found|permission|comma"
    r"nd not|invalid|unknown|unrecogni[sz]ed|illegal|missing|syntax)|usage: |[\w.]*(Error|Exception)\b)",
)
#: Signs of failure that are no ordinary words: error numbers of systems, statuses of HTTP, refused connections.
_SIGNS = re.compile(
    r"\bE(CONN(REFUSED|RESET|ABORTED)|NOENT|ACCES|PERM|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|PIPE|EXIST"
    r"|INVAL|NOSPC|MFILE|ADDRINUSE|SOCKETTIMEDOUT|PROTO|BUSY|ISDIR|NOTDIR|NOTEMPTY)\b"
    r"|\b(connection|network|socket|host|dns|ssl|tls|request|operation|command|gateway)\b[^.\n]{0,30}\b(refused|reset"
    r"|timed out|unreachable|aborted|timeout|failure|failed|unavailable)\b"
    r"|\b(HTTP(/[\d.]+)?|status( code)?|code|error)\W{0,3}[45]\d\d\b|\b[45]\d\d (unauthorized|forbidden|not found|bad"
    r" (request|gateway)|internal server error|service unavailable|too many requests|gateway timeout|conflict)\b"
    r"|\b(rate limit|quota) (exceeded|reached)|segmentation fault|out of memory|core dumped"
    r"|no space left|traceback \(most recent|(permission|access) denied|command not found|no such file or directory"
    r"|\b(invalid|missing|expired|wrong) (api |access |auth\w* )?(key|token|credentials?|password|session)\b"
    r"|\b(log|sign) ?in (required|to continue)|please (log|sign) in|authentication (failed|required)",
    re.IGNORECASE,
)
#: Words that an account of failure has, and other texts too.
_WORDS_OF_FAILURE = re.compile(
    r"\b(errors?|fail(s|ed|ure|ing)?|denied|refused|rejected|invalid|unable|cannot|can['’]?t|could ?n[o'’]t|could not"
    r"|not (found|available|allowed|permitted|supported|exist|valid|recogni[sz]ed|authori[sz]ed|implemented)"
    r"|unknown|unauthori[sz]ed|forbidden|unavailable|expired|exceeded|abort(ed)?|timed? ?out|timeout|exception"
    r"|crash(ed)?"
    r"|no (results?|such|access|permission|response|data|content)|missing|unexpected|wrong|warning|sorry|null|undefined"
    r"|nothing|blocked|unsuccessful|deprecated|retry|try again|oops|went wrong)\b",
    re.IGNORECASE,
)
_NOTHING_THERE = re.compile(
    r"\b(no(t| such)?\b.{0,40}\b(found|match(es)?|results?|exists?)|0 (results?|matches))", re.I
)
#: A report of tests or of a checker: counts, or findings with their place.
_REPORT = re.compile(
    r"\b\d+ (\w+ ){0,2}(tests?|specs?|examples?|assertions?|passed|failed|failing|passing|failures?|errors?|problems?"
    r"|warnings?|skipped|issues?|offen[cs]es?)\b|^\s*(PASS|FAIL|FAILED|OK|ok \d+|not ok \d+|--- (PASS|FAIL)|ok  )\b"
    r"|\b(tests?|test suites|failures|ran|errors|passed|failed)\s*[:=]\s*\d+|^[^\s:]+\.\w+[:(]\d+([:,]\d+)?\)?[: ]"
    r"|^[.FEsxX]{2,}\s*(\[ *\d+%\])?$|all checks passed|no (issues|errors|problems) found|would reformat"
    r"|success: no issues|[✓✔✗✕×]",
    re.IGNORECASE | re.MULTILINE,
)
_SUCCESS = re.compile(r"\bsuccess(ful(ly)?)?\b", re.IGNORECASE)
#: A shell's output with what it ran, and one that begins with its exit code.
_WRAPPED = re.compile(
    r"Command: .*?\nDirectory: .*?\n(Output|Stdout): (?P<out>.*?)\n(Error|Stderr): (?P<err>.*?)"
    r"\nExit Code: (?P<code>\d+|\(none\)).*",
    re.DOTALL,
)
_EXIT = re.compile(r"\s*(?:<\w+>)?\s*(?:error: )?(?:process )?exit(?:ed)?(?: with)?(?: code)?:? (?P<code>\d+)\b", re.I)
_FETCHED_NOTHING = re.compile(r"\s*(curl: \(\d+\)|wget: )")
_FETCHES = re.compile(r"\b(curl|wget|https?|xh|httpie)\b(?!:)")
_CONFIRMED = re.compile(
    r"\b(success(ful(ly)?)?|(has|have) been \w+|(was|were) (\w+ly )?(created|updated|written|applied|changed|deleted)"
    r"|created|updated|written|wrote|applied|edited|modified|replaced|saved|deleted|done|ok(ay)?|completed?)\b",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(truncated|cut off|omitted|left out|not shown|more (lines|results|entries|files|items|matches)|output limit)\b"
    r"|\[cut\]",
    re.IGNORECASE,
)
_SOME = re.compile(r"\b(partial(ly)?|only (\d+|some|part))\b|(?<!\.)\.\.\.\s*$|…\s*$", re.IGNORECASE)
_OF = re.compile(r"\b(\d+) (?:out )?of (\d+)\b")
_FAULT_KEYS = frozenset(
    ["error", "errors", "err", "exception", "fault", "failure", "error_message", "errormessage", "error_code"]
)
_STATES = ("success", "ok", "succeeded", "is_success", "issuccess")
_BAD_STATE = re.compile(
    r"(error|err|fail(ed|ure)?|denied|rejected|refused|unauthori[sz]ed|forbidden|invalid|timeout)", re.I
)
_IDENTIFIER = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w@./:#-]{4,80}|\d{5,}")
#: An argument that comes back word for word counts from this length on.
_SHORTEST_ECHO = 4
_NAME_OF_ERROR = re.compile(r"[A-Z][A-Z0-9_]*|(HTTP|E|ERR)[-_ ]?\d+", re.ASCII)


def outcome_of(call: Interaction, use: Entry, result: Entry | None) -> CallOutcome:
    """Success of a tool call by what came back, under ``rubrics/axis_signals/success``."""
    service = "service" in call.categories and "environment" not in call.categories
    purpose = purpose_of(use.tool_name, use.tool_input, service=service)
    if purpose is Purpose.RUN and _FETCHES.search(command_of(use.tool_name or "", use.tool_input)):
        purpose = Purpose.RECORD
    text, exit_code = _unwrapped("" if result is None else result.result_text or "")
    if call.has_error or exit_code:
        return _marked(purpose, text, exit_code, looks=kind_of(use.tool_name or "") == "read")
    if result is None or not call.answered:
        return CallOutcome(None, "no result")
    ended_well = exit_code == 0 or result.failed is False
    if not text:
        return _of_nothing(purpose, use, ended_well=ended_well)
    value = _structure(text)
    if isinstance(value, dict | list) and purpose in (Purpose.RECORD, Purpose.OTHER):
        return _of_structure(value, use.tool_input)
    asked = "" if use.tool_input is None else stringify(use.tool_input)
    failure = _failure(purpose, text, asked, looks=kind_of(use.tool_name or "") == "read")
    return failure or _of_plain_text(purpose, text, ended_well=ended_well)


def _unwrapped(text: str) -> tuple[str, int | None]:
    """What a program wrote, and its exit code where the text states one."""
    if wrapped := _WRAPPED.fullmatch(text.strip()):
        parts = [part for part in (wrapped["out"], wrapped["err"]) if part.strip() not in ("(empty)", "(none)")]
        return "\n".join(parts).strip(), int(wrapped["code"]) if wrapped["code"].isdigit() else None
    if stated := _EXIT.match(text):
        return text[stated.end() :].strip(), int(stated["code"])
    return text.strip(), None


def _marked(purpose: Purpose, text: str, exit_code: int | None, *, looks: bool) -> CallOutcome:
    """A call that the source or its exit code marks as failed; searches and tests use that mark for an answer."""
    empty_handed = not text or not (_BEGINS.match(text) or _SIGNS.search(text[:_SHORT]))
    if purpose is Purpose.SEARCH and exit_code in (None, 0, 1) and empty_handed:
        return CallOutcome(1.0, "marked as failed, but nothing found is what a search may answer")
    if purpose is Purpose.TEST and _REPORT.search(text):
        return CallOutcome(1.0, "marked as failed, but it reports the state of the tests, as it was made to")
    if purpose is Purpose.RECORD and looks and _NOTHING_THERE.search(text[:_HEAD]):
        return CallOutcome(None, "marked as failed; whether nothing found was the right answer cannot be seen")
    if len(text) > _SHORT and purpose is Purpose.READ and not _BEGINS.match(text):
        return CallOutcome(None, "marked as failed with a long text; how much of it answers cannot be seen")
    return CallOutcome(0.0, "the source marks it as failed" if exit_code is None else f"exit code {exit_code}")


def _failure(purpose: Purpose, text: str, asked: str, *, looks: bool) -> CallOutcome | None:
    """What speaks against a result that nobody marked as failed; None where nothing does."""
    if purpose is Purpose.TEST and _REPORT.search(text):
        return CallOutcome(1.0)
    if purpose is Purpose.RECORD and _FETCHED_NOTHING.match(text):
        return CallOutcome(0.0, "its result begins like an error")
    local_text = purpose in (Purpose.SEARCH, Purpose.READ)
    short = len(text) <= _SHORT
    if _BEGINS.match(text) and not _begins_with_asked(text, asked):
        if purpose is Purpose.RECORD and looks and _NOTHING_THERE.search(text[:_HEAD]):
            return CallOutcome(None, "begins like an error; whether nothing found was the right answer cannot be seen")
        if local_text and not short:
            return CallOutcome(None, "begins like an error, which may be the text that was looked for")
        return CallOutcome(0.0, "its result begins like an error")
    sign = _SIGNS.search(text if short else text[:_HEAD])
    if sign and sign[0].lower() not in asked.lower():
        if local_text and (not short or ":" in text.partition(sign[0])[0]):
            return CallOutcome(None, "its result speaks of a failure, which may be what was looked for")
        return CallOutcome(0.0, f"its result is a failure: {' '.join(sign[0].split())}")
    ends = text[-_HEAD:] if local_text else f"{text[:_HEAD]}\n{text[-_HEAD:]}"
    some = not local_text and (_SOME.search(ends) or any(a != b for a, b in _OF.findall(text[:_SHORT])))
    if _CUT.search(ends) or some:
        return CallOutcome(None, "its result is a part; how much of it was wanted cannot be seen")
    return None


def _of_plain_text(purpose: Purpose, text: str, *, ended_well: bool) -> CallOutcome:
    """A text without any sign of a failure: a success where it shows one."""
    if purpose in (Purpose.SEARCH, Purpose.READ):
        return CallOutcome(1.0)
    short = len(text) <= _SHORT
    if short and (doubtful := _WORDS_OF_FAILURE.search(text)):
        return CallOutcome(None, f"its result may be a failure: {doubtful[0]}")
    if purpose is Purpose.RUN and ended_well:
        return CallOutcome(1.0)
    if purpose is Purpose.CHANGE and (ended_well or _CONFIRMED.search(text[:_HEAD])):
        return CallOutcome(1.0)
    if purpose is Purpose.RECORD and short and (_is_value(text) or _SUCCESS.search(text)):
        return CallOutcome(1.0)
    return CallOutcome(None, "what came back does not show whether it answers")


def _of_nothing(purpose: Purpose, use: Entry, *, ended_well: bool) -> CallOutcome:
    if purpose is Purpose.SEARCH or (ended_well and purpose in (Purpose.RUN, Purpose.CHANGE)):
        return CallOutcome(1.0)
    if purpose is Purpose.RECORD and "search" not in (use.tool_name or "").lower():
        return CallOutcome(0.0, "an empty body came back")
    return CallOutcome(None, "an empty result; whether that answers cannot be seen")


def _of_structure(value: Any, tool_input: Any) -> CallOutcome:
    """A result in JSON: what it says of itself, and whether it bears what was asked for."""
    lower = {str(key).lower(): inner for key, inner in value.items()} if isinstance(value, dict) else {}
    if fault := _fault_of(lower):
        return CallOutcome(0.0, fault)
    text = json.dumps(value, ensure_ascii=False)
    if sign := _SIGNS.search(text[:_SHORT]):
        return CallOutcome(None, f"its result may be a failure: {sign[0]}")
    if not value:
        return CallOutcome(None, "an empty result; whether that answers cannot be seen")
    asked = list(_texts(tool_input))
    numbers = {name.lower() for each in asked for name in _IDENTIFIER.findall(each)}
    if any(number in text.lower() for number in numbers):
        return CallOutcome(1.0)
    doubtful = _WORDS_OF_FAILURE.search(text[:_SHORT])
    echoed = {each.lower() for each in asked if len(each) > _SHORTEST_ECHO} & {each.lower() for each in _texts(value)}
    if not doubtful and (echoed or any(lower.get(key) is True for key in _STATES)):
        return CallOutcome(1.0)
    return CallOutcome(None, "what came back does not show whether it answers")


def _fault_of(fields: dict[str, Any]) -> str:
    """The failure that a record tells of itself, by its fields; empty where it tells of none."""
    if fault := next((key for key in fields if key in _FAULT_KEYS and fields[key]), None):
        return f"its result has {fault}"
    status = fields.get("status", fields.get("state"))
    if any(fields.get(key) is False for key in _STATES) or (isinstance(status, str) and _BAD_STATE.fullmatch(status)):
        return "its result says that it failed"
    code = fields.get("status_code", fields.get("statuscode", fields.get("code", status)))
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return f"its result has the status {code}"
    exit_code = fields.get("exit_code", fields.get("exitcode"))
    return f"exit code {exit_code}" if exit_code else ""


def _texts(value: Any) -> Iterator[str]:
    """The texts and numbers in a value, however deep."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _begins_with_asked(text: str, asked: str) -> bool:
    """Whether the line that looks like an error is one that the call looked for (``grep Error``)."""
    word = re.search(r"[\w']{4,}", text)
    return word is not None and re.search(rf"\b{re.escape(word[0])}\b", asked, re.IGNORECASE) is not None


def _structure(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_value(text: str) -> bool:
    """One word that is an identifier or a number, and no name or number of an error."""
    if _NAME_OF_ERROR.fullmatch(text) or re.fullmatch(r"[45]\d\d", text):
        return False
    return _IDENTIFIER.fullmatch(text) is not None or re.fullmatch(r"[-+]?[\d.,]+", text) is not None


# What a call was made for, by its tool's name and its command line: to look, to search, to test, to change, to run.


class Purpose(StrEnum):
    """What a call is for, as far as its name and its command line tell."""

    SEARCH = "search"
    TEST = "test"
    READ = "read"
    CHANGE = "change"
    RUN = "run"
    RECORD = "record"
    OTHER = "other"


_SEARCH_TOOLS = name_set("""
    grep glob grep_search search_file_content search_files grep_files file_search semantic_search codebase_search find
    """)
_READ_TOOLS = name_set("""
    read read_file read_many_files ls list list_directory list_dir list_files cat head tail notebookread view_image
    list_code_definition_names bashoutput get_terminal_output
    """)
_CHANGE_TOOLS = name_set("""
    write edit multiedit notebookedit write_file replace write_to_file replace_in_file apply_patch create_file edit_file
    delete_file search_replace insert_edit_into_file replace_string_in_file str_replace_editor file_change todowrite
    todo_write write_todos update_plan str_replace_based_edit_tool create_directory file_editor patch
    """)
_TEST_TOOLS = name_set("run_tests test get_errors test_failure run_test")

#: Programs whose answer may be "nothing", with an exit code of 1.
_SEARCHES = name_set(
    "grep egrep fgrep rg ag ack find fd fdfind locate pgrep diff cmp comm test [ [[ which type whereis"
)
_LOOKS = name_set("""
    ls cat bat head tail less more wc stat file tree du df pwd command env printenv date whoami hostname uname ps jq yq
    cut sort uniq nl basename dirname realpath readlink
    """)
#: Words between others that neither look nor change.
_NEUTRAL = name_set("cd true false : export set pushd popd sleep wait echo printf")
_GIT_LOOKS = name_set("status diff log show branch ls-files blame remote rev-parse grep describe shortlog")
_TESTS = name_set("""
    pytest py.test unittest tox nox jest vitest mocha ava karma cypress playwright rspec phpunit ctest ruff eslint mypy
    pyright tsc flake8 pylint shellcheck stylelint golangci-lint biome prettier black isort bandit tape tap busted
    nosetests nose2
    """)
_TESTERS = name_set("""
    go cargo dotnet mvn mvnw gradle gradlew artisan xcodebuild npm pnpm yarn bun deno make swift mix just rake rails sbt
    flutter dart zig bazel ninja task lerna nx turbo manage.py composer stack cabal lein
    """)
_TEST_WORD = re.compile(r"(\w+[:-])?(tests?|t|check|lint|vet|clippy|verify|typecheck|type-check|spec)([:-]\w+)*")
#: A project's own script of tests.
_TEST_SCRIPT = re.compile(r"(run[-_])?(all[-_])?(unit[-_])?tests?(\.\w+)?")
#: Programs that bring a container's or a measured program's command along.
_CARRIERS = name_set("docker docker-compose podman kubectl coverage")
#: Programs that run another one.
_RUNNERS = name_set("npx bunx uvx poetry pipenv uv bundle pnpm yarn hatch rye pdm dotenv")
_RUNS = name_set("run exec dlx")
_SHELL_TOOLS = name_set("""
    bash shell terminal exec command_execution run_shell_command local_shell local_shell_call container.exec
    exec_command shell_command execute_command execute_bash run_in_terminal run_terminal_cmd powershell
    bash_code_execution
    """)


def purpose_of(tool_name: str | None, tool_input: Any, *, service: bool) -> Purpose:
    """What a call was made for; `service` says that its tool lies beyond the agent's own machine.

    Examples
    --------
    >>> purpose_of("Bash", {"command": "cd app && pytest -q | tail -5"}, service=False).value
    'test'
    >>> purpose_of("cancel_order", {"order_id": "7"}, service=True).value
    'record'
    """
    name = (tool_name or "").lower()
    if name in _SHELL_TOOLS or (not service and isinstance(tool_input, dict) and tool_input.get("command")):
        return purpose_of_command(command_of(name, tool_input))
    for names, purpose in (
        (_SEARCH_TOOLS, Purpose.SEARCH),
        (_READ_TOOLS, Purpose.READ),
        (_CHANGE_TOOLS, Purpose.CHANGE),
        (_TEST_TOOLS, Purpose.TEST),
    ):
        if name in names:
            return purpose
    if name and name in _SEARCHES | _LOOKS:
        return Purpose.SEARCH if name in _SEARCHES else Purpose.READ
    return Purpose.RECORD if service else Purpose.OTHER


def purpose_of_command(line: str) -> Purpose:
    """What a command line is for: the one purpose of all its programs, else to run something."""
    parts = [words for words in map(bare_command, simple_commands(inner_line(line))) if words]
    purposes = {purpose for words in parts if (purpose := _of_program(words)) is not None}
    if ">" in re.sub(r"[0-9&]?>&?\s*(/dev/null|[12])|<<?<?|=>|->|'[^']*'|\"[^\"]*\"", "", line):
        return Purpose.RUN
    for purpose in (Purpose.RUN, Purpose.TEST, Purpose.SEARCH, Purpose.READ):
        if purpose in purposes:
            return purpose
    return Purpose.RUN


def looks_only(tool_name: str | None, purpose: Purpose) -> bool:
    """Whether a call leaves everything as it was."""
    if purpose in (Purpose.SEARCH, Purpose.READ, Purpose.TEST):
        return True
    name = (tool_name or "").lower()
    if purpose in (Purpose.CHANGE, Purpose.RUN):
        return False
    return name in ("websearch", "webfetch", "google_web_search", "web_search", "web_fetch") or kind_of(name) == "read"


def waits(tool_name: str | None, tool_input: Any) -> bool:
    """Whether a call asks for what goes on by itself, so that asking again is no repetition."""
    name = (tool_name or "").lower()
    line = command_of(name, tool_input)
    return name in ("bashoutput", "wait", "write_stdin", "get_terminal_output", "monitor", "taskoutput") or (
        re.search(r"\b(sleep|watch|wait|date)\b", line) is not None
    )


def inner_line(line: str) -> str:
    """The script of ``bash -lc SCRIPT``, else the line itself."""
    match = re.fullmatch(r"(?:/\S*/)?(?:ba|z)?sh -l?c (['\"]?)(.*)\1", line, re.DOTALL)
    return match[2] if match else line


def _of_program(words: list[str]) -> Purpose | None:
    program = words[0].rpartition("/")[2] or words[0]
    rest = words[1:]
    if program in _RUNNERS and rest:
        inner = rest[1:] if rest[0] in _RUNS else rest
        if inner and program not in ("pnpm", "yarn") and not _TEST_WORD.fullmatch(inner[0]):
            return _of_program(inner)
    if program.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        return _of_program(rest[1:])
    if program.startswith("python") and rest and rest[0].endswith("manage.py"):
        program, rest = "manage.py", rest[1:]
    if program == "php" and rest[:1] == ["artisan"]:
        program, rest = "artisan", rest[1:]
    if program in _CARRIERS and (carried := next((index for index, word in enumerate(rest) if word in _TESTS), None)):
        return _of_program(rest[carried:])
    if program in _NEUTRAL:
        return None
    if program in _TESTS or ("/" in words[0] and _TEST_SCRIPT.fullmatch(program)):
        return Purpose.RUN if {"--fix", "--write", "-w"} & set(rest) else Purpose.TEST
    plain = [word for word in rest if not word.startswith("-")]
    targets = plain[1:2] if plain[:1] == ["run"] else plain[: 2 if "-C" in rest else 1]
    if program in ("gradle", "gradlew", "mvn", "mvnw"):
        targets = plain  # tasks in any number, `:shop:test` among them
    if program in _TESTERS | _RUNNERS and any(_TEST_WORD.fullmatch(target) for target in targets):
        return Purpose.TEST
    if program in _SEARCHES:
        return Purpose.RUN if {"-exec", "-delete", "-execdir"} & set(rest) else Purpose.SEARCH
    if program in _LOOKS or (program == "sed" and "-n" in rest):
        return Purpose.READ
    if program == "git" and plain[:1] and plain[0] in _GIT_LOOKS:
        return Purpose.SEARCH if plain[0] in ("grep", "diff") else Purpose.READ
    return Purpose.RUN
