"""Tools that agents of today bring along, by name: one table, each row with the source that lists its tools.

The original program's own lists (`categories`) are older and shorter. The documented rules look here as well, because
the text sends to service whatever matches no pattern, and a shell of another name would be taken for a web service.
Names stand for their exact match in lower case; what a server of the Model Context Protocol offers is service.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Belongs = Literal["environment", "service", "agent"]


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

BELONGS: dict[str, Belongs] = {
    **{name: "environment" for row in TOOLSETS for name in row.environment.split()},
    **{name: "service" for row in TOOLSETS for name in row.service.split()},
    **{name: "agent" for row in TOOLSETS for name in row.agent.split()},
}
#: Tools whose time is a person's: questions and plans that somebody has to answer. The first two are the original's.
WAITS_FOR_PERSON = frozenset(
    {"askfollowupquestion", "exitplanmode", *(name for row in TOOLSETS for name in row.person.split())}
)
#: A server's tools by prefix. File systems keep both categories, as the original has them.
MCP_PREFIX = "mcp__"
MCP_FILES = "mcp__filesystem__"


def belongs(name: str) -> Belongs | None:
    """Where a tool belongs by its name in any case; None for a name that no source lists.

    Examples
    --------
    >>> belongs("run_shell_command"), belongs("mcp__stock__list_items"), belongs("cancel_order")
    ('environment', 'service', None)
    """
    lower = name.lower()
    if lower.startswith(MCP_PREFIX) and not lower.startswith(MCP_FILES):
        return "service"
    return BELONGS.get(lower)
