"""Which of the three categories a tool call belongs to: environment, service or agent."""

from __future__ import annotations

from typing import Literal, get_args

from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.tools import belongs

Category = Literal["environment", "service", "agent"]
Categories = tuple[Category, ...]
CATEGORIES: tuple[Category, ...] = get_args(Category)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Tool names of the environment, lower case.
ENVIRONMENT_NAMES = _words("""
    bash shell terminal exec command_execution
    read write edit glob grep notebookedit cat head tail sed awk find ls mkdir rm cp mv touch chmod chown
    git npm npx yarn pnpm pip pip3 cargo go bundle gem composer brew apt apt-get
    make cmake tsc node python python3 ruby java javac docker kubectl
    cd pwd which whereis file stat du df sort uniq wc diff patch tr cut xargs
    """)
ENVIRONMENT_PREFIXES = ("file_", "fs_", "dir_", "mcp__filesystem__")
#: Tool names by which an agent organises itself, lower case.
AGENT_NAMES = _words("""
    toolsearch tool_search listtoolsets list_tools
    task taskcreate taskupdate taskget tasklist taskoutput taskstop todoread todowrite todo_read todo_write
    enterplanmode exitplanmode enter_plan_mode exit_plan_mode
    askuserquestion askfollowupquestion ask_user_question ask_followup_question skill
    """)
#: Tool names that call the network, as they are written.
NETWORK_NAMES = _words("WebFetch Fetch web_fetch WebSearch web_search mcp_fetch http_request curl wget fetch")
NETWORK_PREFIX = "mcp__"

_OWN_PATHS = (".claude/", ".codex/", ".gemini/", "claude.md", "agents.md")
_AGENT_KINDS = frozenset({"think", "switch_mode"})
_ENVIRONMENT_KINDS = frozenset({"read", "search", "edit", "modify", "add", "delete", "move", "execute"})

_AGENT: Categories = ("agent",)
_SERVICE: Categories = ("service",)
_ENVIRONMENT: Categories = ("environment",)
_BOTH: Categories = ("environment", "service")


def categorise(
    entry_type: str,
    tool_name: str | None,
    kind: str | None,
    rules: RuleSet,
    *,
    input_summary: str | None = None,
    is_network: bool = False,
) -> Categories:
    """The categories of an interaction, by its entry's type, the tool's name, and the kind where the name is unknown.

    A recognised name always beats the kind. An environment tool that touches the agent's own files is the agent's;
    one that calls the network is service too. Rules with today's tools ask their table first.
    """
    if entry_type not in ("tool_use", "tool_result"):
        return _AGENT
    if not tool_name:
        if entry_type == "tool_use" and rules.nameless_tool == "agent":
            return _AGENT
        return _by_kind(kind, input_summary, is_network) or _SERVICE
    name = tool_name.lower()
    today = belongs(name) if rules.tools == "today" else None
    if name in AGENT_NAMES or today == "agent":
        return _AGENT
    if today == "service":
        return _SERVICE
    if name in ENVIRONMENT_NAMES or today == "environment" or name.startswith(ENVIRONMENT_PREFIXES):
        return _environment(input_summary, is_network)
    return _by_kind(kind, input_summary, is_network) or _SERVICE


def _by_kind(kind: str | None, input_summary: str | None, is_network: bool) -> Categories | None:
    word = kind.lower() if kind else ""
    if word in _AGENT_KINDS:
        return _AGENT
    if word in _ENVIRONMENT_KINDS:
        return _environment(input_summary, is_network)
    return _SERVICE if word == "fetch" else None


def _environment(input_summary: str | None, is_network: bool) -> Categories:
    if input_summary:
        summary = input_summary.lower()
        if any(path in summary for path in _OWN_PATHS):
            return _AGENT
    return _BOTH if is_network else _ENVIRONMENT
