"""The items of OpenAI's Responses API as steps: messages, reasoning, calls of every kind, and what came back.

Item types are those of the ``openai`` package, ``ResponseItem``, ``ResponseOutputItem`` and ``ResponseInputItem``
(https://platform.openai.com/docs/api-reference/responses/object). Codex writes the same items into its rollouts.
"""

from typing import Any

from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import add_message, grow, list_of_objects, parts_of
from axisjudge.readers.events import NO_STEP, Steps, as_text, dict_of, text_at, type_of
from axisjudge.trajectory import ToolCall

_NO_STEPS = {"additional_tools", "configuration_update", "compaction", "compaction_trigger", "mcp_list_tools"}
_ASKED = {"function_call", "custom_tool_call", "tool_search_call", "mcp_approval_request", "program"}
#: Calls whose result, if any, is an item of its own.
_ANSWERED_APART = {"local_shell_call", "shell_call", "apply_patch_call", "computer_call"}
#: Calls that the provider runs: what came back stands in the same item.
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
_OUTPUTS = {
    *("function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output"),
    *("apply_patch_call_output", "computer_call_output", "tool_search_output", "program_output"),
}
CALLS = _ASKED | _ANSWERED_APART | _HOSTED
#: Items that hold a step or stand for something else of a response; messages may come without a type.
ITEMS = CALLS | _OUTPUTS | _NO_STEPS | {"reasoning", "mcp_approval_response", "item_reference"}
#: What the model itself wrote into a call of a provider's tool; the rest is how the tool was set up.
_WRITTEN = ("queries", "code", "revised_prompt", "actions")
_ENDED = {"completed": False, "failed": True, "incomplete": True}


def add_items(steps: Steps, placed: list[tuple[str, dict[str, Any]]]) -> None:
    """Add the items of a conversation, with their places, in their order.

    An approval that an MCP call refers to is told by that call; one that led to no call is a call without a result, or
    with that of its refusal.
    """
    items = [item for _, item in placed]
    ids = {chat.word(item.get("id")) for item in items if item.get("type") != "item_reference"}
    approved = {chat.word(item.get("approval_request_id")) for item in items if item.get("type") == "mcp_call"}
    for path, item in placed:
        kind = type_of(item)
        if kind == "item_reference" or set(item) == {"id"}:
            if chat.word(item.get("id")) not in ids:
                raise chat.Unread(path, item)
        elif kind == "mcp_approval_request" and chat.word(item.get("id")) in approved:
            steps.notes.append(chat.Note(path, NO_STEP, "mcp_approval_request"))
        else:
            add_item(steps, item, path)


def add_item(steps: Steps, item: dict[str, Any], where: str, timestamp: str | None = None) -> None:
    """Add one item; one of unknown type that may carry a call or a result is refused."""
    steps.where = where
    kind = type_of(item)
    if kind == "message" or item.get("tool_calls") or (item.get("type") is None and "role" in item):
        add_message(steps, {**item, "timestamp": timestamp}, where)
    elif kind == "reasoning":
        grow(steps, "assistant", parts_of([item], where, steps.notes), where, timestamp)
    elif kind in CALLS:
        steps.call(item_call(item, kind, where), timestamp)
        if kind in _HOSTED:
            _hosted_result(steps, item, kind, timestamp)
    elif kind in _OUTPUTS:
        _output(steps, item, kind, where, timestamp)
    elif kind == "mcp_approval_response":
        if item.get("approve") is False:
            text = text_at(item, "reason") or "the call was not approved"
            steps.result(chat.word(item.get("approval_request_id")), text, timestamp, error=True)
        else:
            steps.notes.append(chat.Note(where, NO_STEP, "mcp_approval_response"))
    elif kind in _NO_STEPS:
        if kind == "mcp_list_tools" and item.get("error"):
            steps.error(as_text(item["error"]), timestamp)
        steps.notes.append(chat.Note(where, NO_STEP, kind))
    elif chat.carries_call(item):
        raise chat.Unread(where, kind)
    else:
        steps.notes.append(chat.Note(where, "an item of unknown type is left out", kind))


def hosted_names(items: list[dict[str, Any]]) -> set[str]:
    """The names of the tools, called here, that the provider brings: an item of such a type says that it was there."""
    own = {"function_call", "custom_tool_call"}
    calls = ((type_of(item), item) for item in items)
    return {item_call(item, kind, "").name for kind, item in calls if kind in CALLS - own}


def item_call(item: dict[str, Any], kind: str, where: str) -> ToolCall:
    """The call that an item of the kind is."""
    arguments: dict[str, Any] | str
    problem: str | None = None
    name = kind.removesuffix("_call")
    if kind in ("function_call", "mcp_call", "mcp_approval_request"):
        arguments, problem = chat.arguments_of(item.get("arguments"))
        name = chat.field(item, "name", str, where)
    elif kind == "custom_tool_call":
        arguments, name = {"input": as_text(item.get("input"))}, chat.field(item, "name", str, where)
    elif kind == "tool_search_call":
        arguments, problem = chat.arguments_of(item.get("arguments"))
    elif isinstance(action := item.get("action", item.get("operation")), dict):
        arguments = action
    else:
        arguments = {key: item[key] for key in _WRITTEN if item.get(key) is not None}
    if server := text_at(item, "server_label"):
        name = f"mcp__{server}__{name}"
    return chat.made(
        ToolCall,
        where,
        id=chat.word(item.get("call_id") or item.get("id")),
        name=name,
        arguments=arguments,
        arguments_error=problem,
    )


def _hosted_result(steps: Steps, item: dict[str, Any], kind: str, timestamp: str | None) -> None:
    """What came back from a call that the provider ran: its output, else how it ended; nothing while it runs."""
    status, error = text_at(item, "status"), item.get("error")
    output = item.get({"file_search_call": "results", "code_interpreter_call": "outputs"}.get(kind, "output"))
    if kind == "image_generation_call":
        output = "[image]" if item.get("result") else None
    if output is None and error is None and status not in _ENDED:
        return
    logs = list_of_objects(output) if kind == "code_interpreter_call" else []
    texts = [text_at(part, "logs") or f"[{part.get('type')}]" for part in logs]
    text = "\n".join(texts) or as_text(output)
    if error is not None:
        text = text or text_at(dict_of(item, "error"), "message") or as_text(error)
    failed = error is not None or _ENDED.get(status or "")
    steps.result(chat.word(item.get("id")), text or f"[{status}]", timestamp, error=failed)


def _output(steps: Steps, item: dict[str, Any], kind: str, where: str, timestamp: str | None) -> None:
    output, failed = item.get("output", item.get("result", item.get("tools"))), None
    if kind == "shell_call_output" and isinstance(output, list):
        ended = [dict_of(run, "outcome") for run in output if isinstance(run, dict)]
        failed = any(outcome.get("type") == "timeout" or outcome.get("exit_code") not in (0, None) for outcome in ended)
        text = "\n".join(_run(run) for run in output if isinstance(run, dict))
    elif isinstance(output, list) and kind != "tool_search_output":
        text = "\n".join(part.text for part in parts_of(output, chat.at(where, "output"), steps.notes))
    elif kind == "computer_call_output":
        text = f"[{dict_of(item, 'output').get('type', 'screenshot')}]"
        steps.notes.append(chat.Note(where, "content that is not text is left out", "screenshot"))
    else:
        text = as_text(output)
    if item.get("status") == "failed":
        failed = True
    identity = item.get("call_id") or (item.get("id") if kind == "local_shell_call_output" else None)
    steps.result(chat.word(identity), text, timestamp, error=failed, name=text_at(item, "name"))


def _run(run: dict[str, Any]) -> str:
    """What one command of a shell call printed, and how it ended where it failed."""
    outcome = dict_of(run, "outcome")
    code = outcome.get("exit_code")
    end = "timed out" if outcome.get("type") == "timeout" else f"exit code {code}" if code else None
    return "\n".join(filter(None, (end, text_at(run, "stdout"), text_at(run, "stderr"))))
