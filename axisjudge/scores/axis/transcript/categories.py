"""Which of the three categories a tool call belongs to: environment, service or agent; and what tools are known."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from axisjudge.scores.axis.rule_sets import RuleSet

Category = Literal["environment", "service", "agent"]
Categories = tuple[Category, ...]
CATEGORIES: tuple[Category, ...] = get_args(Category)


def name_set(text: str) -> frozenset[str]:
    """The words of a text, as a table of names is written here."""
    return frozenset(text.split())


#: Tool names of the environment, lower case.
ENVIRONMENT_NAMES = name_set("""
    bash shell terminal exec command_execution
    read write edit glob grep notebookedit cat head tail sed awk find ls mkdir rm cp mv touch chmod chown
    git npm npx yarn pnpm pip pip3 cargo go bundle gem composer brew apt apt-get
    make cmake tsc node python python3 ruby java javac docker kubectl
    cd pwd which whereis file stat du df sort uniq wc diff patch tr cut xargs
    """)
#: A server's tools by prefix. File systems keep both categories, as the original has them.
NETWORK_PREFIX, MCP_FILES = "mcp__", "mcp__filesystem__"
ENVIRONMENT_PREFIXES = ("file_", "fs_", "dir_", MCP_FILES)
#: Tool names by which an agent organises itself, lower case.
AGENT_NAMES = name_set("""
    toolsearch tool_search listtoolsets list_tools
    task taskcreate taskupdate taskget tasklist taskoutput taskstop todoread todowrite todo_read todo_write
    enterplanmode exitplanmode enter_plan_mode exit_plan_mode
    askuserquestion askfollowupquestion ask_user_question ask_followup_question skill
    """)
#: Tool names that call the network, as they are written.
NETWORK_NAMES = name_set("WebFetch Fetch web_fetch WebSearch web_search mcp_fetch http_request curl wget fetch")

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


# Tools that agents of today bring along, by name: one table, each row with the source that lists its tools.
# The original program's own lists (above) are older and shorter. The documented rules look here as well, because the
# text sends to service whatever matches no pattern, and a shell of another name would be taken for a web service.
# Names stand for their exact match in lower case; what a server of the Model Context Protocol offers is service.


class Toolset(NamedTuple):
    """The tools of one agent and where they are listed; `person` are those that wait for a person's answer."""

    source: str
    environment: str = ""
    service: str = ""
    agent: str = ""
    person: str = ""


TOOLSETS = (
    Toolset(
        "Claude Code: code.claude.com/docs/en/tools-reference",
        environment="""multiedit bashoutput killshell killbash notebookread ls lsp powershell monitor repl enterworktree
            exitworktree""",
        service="webfetch websearch listmcpresourcestool readmcpresourcetool remotetrigger shareonboardingguide",
        agent="""agent slashcommand sendmessage artifact todoread todowrite task exitplanmode enterplanmode workflow
            croncreate crondelete cronlist schedulewakeup pushnotification teamcreate teamdelete waitformcpservers
            senduserfile reportfindings endconversation""",
        person="askuserquestion exitplanmode",
    ),
    Toolset(
        "Gemini CLI: google-gemini/gemini-cli, packages/core/src/tools/tool-names.ts and definitions",
        environment="""run_shell_command read_file write_file list_directory replace read_many_files grep_search
            search_file_content glob list_background_processes read_background_output""",
        service="google_web_search web_fetch read_mcp_resource list_mcp_resources",
        agent="""save_memory write_todos activate_skill get_internal_docs update_topic codebase_investigator cli_help
            tracker_create_task tracker_update_task tracker_get_task tracker_list_tasks tracker_add_dependency
            tracker_visualize enter_plan_mode exit_plan_mode ask_user invoke_agent complete_task""",
        person="ask_user exit_plan_mode",
    ),
    Toolset(
        "Qwen Code: QwenLM/qwen-code, packages/core/src/tools/tool-names.ts",
        environment="edit write_file read_file grep_search glob run_shell_command list_directory lsp",
        service="web_fetch web_search",
        agent="""task_create task_get task_list task_update task_stop task_output save_memory agent skill
            exit_plan_mode ask_user_question""",
        person="ask_user_question exit_plan_mode",
    ),
    Toolset(
        "Codex: openai/codex, codex-rs/core/src/tools",
        environment="""shell local_shell local_shell_call container.exec exec_command write_stdin shell_command
            apply_patch view_image list_dir grep_files read_file js_repl""",
        service="""web_search web_search_call mcp_tool_call list_mcp_resources list_mcp_resource_templates
            read_mcp_resource""",
        agent="""update_plan todo_list spawn_agent send_input wait close_agent resume_agent list_agents
            get_context_remaining create_goal get_goal update_goal request_user_input ask_user_question""",
        person="request_user_input ask_user_question",
    ),
    Toolset(
        "Cline: cline/cline, src/shared/tools.ts",
        environment="""execute_command replace_in_file read_file write_to_file search_files list_files
            list_code_definition_names apply_patch""",
        service="browser_action use_mcp_tool access_mcp_resource load_mcp_documentation web_fetch web_search",
        agent="""attempt_completion new_task plan_mode_respond act_mode_respond focus_chain condense summarize_task
            search_subagent ask_followup_question""",
        person="ask_followup_question plan_mode_respond",
    ),
    Toolset(
        "OpenCode: opencode.ai/docs/tools",
        environment="bash edit write read grep glob list patch apply_patch multiedit lsp",
        service="webfetch websearch codesearch",
        agent="todowrite todoread task skill batch plan_enter plan_exit question",
        person="question plan_exit",
    ),
    Toolset(
        "OpenHands: All-Hands-AI/OpenHands, openhands/agenthub/codeact_agent",
        environment="execute_bash execute_ipython_cell str_replace_editor edit_file file_editor",
        service="browser web_read",
        agent="think finish condensation_request delegate",
    ),
    Toolset(
        "GitHub Copilot in Visual Studio Code: microsoft/vscode-copilot-chat, tools sent with a request",
        environment="""run_in_terminal get_terminal_output insert_edit_into_file replace_string_in_file create_file
            create_directory read_file list_dir file_search grep_search semantic_search list_code_usages get_errors
            get_changed_files run_notebook_cell edit_notebook_file test_search test_failure read_bash write_bash
            stop_bash run_vscode_command create_and_run_task""",
        service="fetch_webpage open_simple_browser",
        agent="manage_todo_list",
    ),
    Toolset(
        "Cursor: cursor.com/docs/agent/tools, with the names of its requests",
        environment="run_terminal_cmd codebase_search edit_file delete_file file_search search_replace reapply",
        service="web_search",
        agent="fetch_rules todo_write",
    ),
    Toolset(
        "Anthropic API: platform.claude.com/docs/en/agents-and-tools/tool-use",
        environment="""bash str_replace_based_edit_tool code_execution bash_code_execution
            text_editor_code_execution""",
        service="web_search web_fetch",
    ),
    Toolset(
        "OpenAI Responses API: platform.openai.com/docs/api-reference/responses",
        environment="shell_call apply_patch_call code_interpreter code_interpreter_call",
        service="file_search_call mcp_call image_generation image_generation_call",
    ),
)

BELONGS: dict[str, Category] = {
    **{name: "environment" for row in TOOLSETS for name in row.environment.split()},
    **{name: "service" for row in TOOLSETS for name in row.service.split()},
    **{name: "agent" for row in TOOLSETS for name in row.agent.split()},
}
#: Tools whose time is a person's: questions and plans that somebody has to answer. The first two are the original's.
WAITS_FOR_PERSON = frozenset(
    {"askfollowupquestion", "exitplanmode", *(name for row in TOOLSETS for name in row.person.split())}
)


def belongs(name: str) -> Category | None:
    """Where a tool belongs by its name in any case; None for a name that no source lists.

    Examples
    --------
    >>> belongs("run_shell_command"), belongs("mcp__stock__list_items"), belongs("cancel_order")
    ('environment', 'service', None)
    """
    lower = name.lower()
    if lower.startswith(NETWORK_PREFIX) and not lower.startswith(MCP_FILES):
        return "service"
    return BELONGS.get(lower)
