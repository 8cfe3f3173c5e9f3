"""Runs of agent frameworks: OpenHands, the Agent Development Kit's eval sets, OpenAI Agents' run state, and Letta."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from axisjudge.readers.chats import gemini_contents
from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    add_message,
    grow,
    list_of_objects,
    parts_of,
    records_in,
    result_text,
    schemas,
)
from axisjudge.readers.chats.response_items import add_items
from axisjudge.readers.events import NO_STEP, as_text, dict_of, listed, text_at, type_of
from axisjudge.readers.messages import (
    Note,
    ReadRun,
    Unread,
    ValueFormat,
    at,
    call_of,
    carries_call,
    chat_calls,
    field,
    members,
    objects,
    refuse_unread,
    reward_of,
    text_of,
    word,
)
from axisjudge.trajectory import Role


def _first(value: Any) -> dict[str, Any]:
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


# OpenHands: events of version 0 (action, observation) and of the SDK (kind), alone or as the history of output.jsonl
# https://docs.openhands.dev/sdk/arch/events

_ACTED = ("action", "observation")


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if str(value.get("kind")).endswith("Event") and "source" in value:
        return True
    acted = any(isinstance(value.get(key), str) for key in _ACTED)
    return acted and {"source", "timestamp"} <= value.keys()


def _is_openhands(value: Any) -> bool:
    first = _first(value)
    if "instance_id" in first or "history" in first:
        history = first.get("history")
        history = [each for pair in listed(history) for each in listed(pair)]
        return bool(history) and _is_event(history[0])
    return isinstance(value, list) and _is_event(first)


def _read_openhands(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    if isinstance(value, list) and _is_event(_first(value)):
        files = sorted(folder.glob("event-*.json")) if len(value) == 1 else []
        if len(files) > 1:  # the SDK keeps one event a file: the first that is read brings in all of them
            value = [from_json(file.read_bytes()) for file in files]
        yield _openhands({"history": value, "id": folder.parent.name if len(files) > 1 else None}, where, where)
        yield from (ReadRun("", None, file=file) for file in files)
        return
    for path, record in records_in(value, where):
        yield _openhands(record, path, at(path, "history"))


def _openhands(record: dict[str, Any], where: str, where_events: str) -> ReadRun:
    llm = dict_of(dict_of(record, "metadata"), "llm") or dict_of(dict_of(record, "metadata"), "llm_config")
    steps = Conversation("openhands", where, {})
    tools: dict[str, Any] = {}
    model: str | None = None
    pairs = listed(record.get("history"))
    for number, pair in enumerate(pairs):
        for event in objects(pair if isinstance(pair, list) else [pair], where_events):
            steps.where = at(where_events, number)
            _add_event(steps, event, steps.where)
            model = text_at(dict_of(dict_of(event, "tool_call_metadata"), "model_response"), "model") or model
            tools |= {str(number): event["tools"]} if event.get("tools") else {}
    result, report = dict_of(record, "test_result"), dict_of(record, "report")
    score = dict_of(result, "final_score")
    solved = dict_of(result, "report").get("resolved", report.get("resolved", score.get("result")))
    steps.outer = {
        "id": word(record.get("instance_id") or record.get("id")),
        "task_id": word(record.get("instance_id")),
        "reward": reward_of(solved, where) if isinstance(solved, bool | int | float) else None,
        "termination": word(record.get("error")),
    }
    stated = [(where_events, tool) for each in tools.values() for tool in list_of_objects(each)]
    known = schemas(stated, steps.notes, where_events, named=lambda tool: tool.get("title")) if stated else None
    return steps.finish(agent=text_at(llm, "model") or model, tools=known)


def _add_event(steps: Conversation, event: dict[str, Any], where: str) -> None:
    time = text_at(event, "timestamp")
    if isinstance(event.get("kind"), str) and event["kind"].endswith("Event"):
        _add_sdk_event(steps, event, event["kind"], time, where)
    elif isinstance(event.get("action"), str):
        _add_action(steps, event, event["action"], time, where)
    elif isinstance(event.get("observation"), str):
        _add_observation(steps, event, event["observation"], time)
    elif carries_call(event):
        raise Unread(where, event)
    else:
        steps.notes.append(Note(where, NO_STEP, ", ".join(list(event)[:3])))


def _add_sdk_event(steps: Conversation, event: dict[str, Any], kind: str, time: str | None, where: str) -> None:
    source, identity = text_at(event, "source"), word(event.get("tool_call_id"))
    if kind == "ActionEvent":
        if reasoning := text_at(event, "reasoning_content"):
            steps.thinking(reasoning, time)
        for block in list_of_objects(event.get("thinking_blocks")):
            if (text := text_at(block, "thinking")) and text != reasoning:
                steps.thinking(text, time)
        response = word(event.get("llm_response_id"))
        if text := text_of(event.get("thought"), at(where, "thought"), steps.notes):
            steps.text("assistant", text, time, message=response)
        call = field(event, "tool_call", dict, where)
        (made_call,) = chat_calls({"tool_calls": [call]}, "assistant", where)
        steps.call(made_call, time, message=response)
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        seen = dict_of(event, "observation")
        content = next(
            (seen[key] for key in ("content", "output", "text", "message") if seen.get(key) is not None), seen
        )
        content = text_at(event, "error", "rejection_reason") or content
        failed = kind != "ObservationEvent" or seen.get("is_error", seen.get("error")) is True
        code = dict_of(seen, "metadata").get("exit_code", seen.get("exit_code"))
        failed = failed or (type(code) is int and code not in (0, -1))
        steps.result(
            identity, result_text(content, where, steps.notes), time, error=failed, name=text_at(event, "tool_name")
        )
    elif kind == "MessageEvent":
        message = field(event, "llm_message", dict, where)
        kept = ("role", "content", "tool_calls", "reasoning_content", "thinking_blocks")
        add_message(steps, {**{key: message.get(key) for key in kept}, "timestamp": time}, where)
    elif kind == "SystemPromptEvent":
        steps.text("system", text_of([dict_of(event, "system_prompt")], where, steps.notes), time)
    elif kind == "ConversationErrorEvent":
        steps.error(text_at(event, "detail", "code") or as_text(event), time)
    elif carries_call({key: value for key, value in event.items() if key != "source"}):
        raise Unread(where, kind)
    else:
        steps.notes.append(Note(where, NO_STEP, f"{kind} {source or ''}".strip()))


def _add_action(steps: Conversation, event: dict[str, Any], action: str, time: str | None, where: str) -> None:
    """An action of version 0: what the agent said, called, or a message of the user."""
    given, about = dict_of(event, "args"), dict_of(event, "tool_call_metadata")
    source = text_at(event, "source")
    if action == "message":
        role: Role = "user" if source == "user" else "assistant"
        steps.text(role, as_text(given.get("content", event.get("message"))), time)
    elif action == "system":
        steps.text("system", as_text(given.get("content", event.get("message"))), time)
    elif source == "agent" or about:
        identity, answer = word(about.get("tool_call_id")), _response(about)
        thought = text_at(given, "thought") or ""
        message = word(dict_of(about, "model_response").get("id")) or f"event {event.get('id')}"
        if thought:
            steps.text("assistant", thought, time, message=message)
        written = next((call for call in chat_calls(answer, "assistant", where) if call.id == identity), None)
        inner = {key: value for key, value in given.items() if key not in ("thought", "confirmation_state", "hidden")}
        call = written or call_of(where, action, inner, id=identity or word(event.get("id")))
        steps.call(call, time, message=message)
    else:
        steps.notes.append(Note(where, NO_STEP, f"action {action} of the {source}"))


def _response(about: dict[str, Any]) -> dict[str, Any]:
    choices = list_of_objects(dict_of(about, "model_response").get("choices"))
    return dict_of(choices[0], "message") if choices else {}


def _add_observation(steps: Conversation, event: dict[str, Any], kind: str, time: str | None) -> None:
    about, extras = dict_of(event, "tool_call_metadata"), dict_of(event, "extras")
    code = dict_of(extras, "metadata").get("exit_code", extras.get("exit_code"))
    identity = word(about.get("tool_call_id")) or word(event.get("cause"))
    content = as_text(event.get("content", event.get("message")))
    known = {call.id for step in steps.all() for call in step.tool_calls}
    if identity not in known and not about:
        if kind == "error":
            steps.error(content, time)
        else:
            steps.notes.append(Note(steps.where, NO_STEP, f"observation {kind}"))
        return
    failed = kind == "error" or (code != 0 if type(code) is int and code != -1 else None)
    steps.result(identity, content, time, error=failed, name=text_at(about, "function_name"))


# The Agent Development Kit's eval sets: https://google.github.io/adk-docs/evaluate/


def _is_adk(value: Any) -> bool:
    first = _first(_first(value).get("data") or value)
    if isinstance(value, list) and {"query", "expected_tool_use"} <= first.keys():
        return True
    cases = list_of_objects(value.get("eval_cases")) if isinstance(value, dict) else []
    return bool(cases) and "eval_id" in cases[0]


def _read_adk(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    """Each case as the conversation that it expects; a case that only says what the user wants holds none."""
    if isinstance(value, list):  # the older form: turns, or a list of cases with their turns
        cases = value if "data" in _first(value) else [{"data": value}]
        for number, case in enumerate(objects(cases, where)):
            steps = Conversation("adk_eval_set", where, {"task_id": text_at(case, "name")})
            for n, turn in enumerate(members(case, "data", at(where, number))):
                _add_expected(steps, turn, at(where, number, n))
            yield steps.finish()
        return
    scripted = []
    for number, case in enumerate(members(value, "eval_cases", where)):
        path = at(where, "eval_cases", number)
        if not case.get("conversation"):
            scripted.append(path)
            continue
        steps = Conversation("adk_eval_set", path, {"id": f"{value.get('eval_set_id')}/{case['eval_id']}"})
        for n, turn in enumerate(members(case, "conversation", path)):
            _add_turn(steps, turn, at(path, "conversation", n))
        app = text_at(dict_of(case, "session_input"), "app_name")
        steps.outer |= {"agent": app, "task_id": word(case["eval_id"])}
        yield steps.finish()
    if scripted:
        yield ReadRun("", None, (Note(scripted[0], "a case without a conversation", "", len(scripted)),))


def _add_turn(steps: Conversation, turn: dict[str, Any], where: str) -> None:
    """What the user said, what the agent did between (its data in either form of the kit), and what it answered."""
    between = dict_of(turn, "intermediate_data")
    refuse_unread(turn, where, ("intermediate_data", "invocation_id"))  # an id, whatever its name says
    _add_content(steps, "user", turn.get("user_content"), where)
    steps.agent = None
    for event in members(between, "invocation_events", where):
        steps.agent = text_at(event, "author")
        _add_content(steps, "assistant", event.get("content"), where)
    steps.agent = None
    calls, answers = members(between, "tool_uses", where), members(between, "tool_responses", where)
    for text in listed(between.get("intermediate_responses")):
        author, parts = text if isinstance(text, list) and len(text) == 2 else (None, text)
        steps.agent = word(author)
        _add_content(steps, "assistant", {"parts": parts}, where)
    steps.agent = None
    _add_content(steps, "assistant", {"parts": [{"function_call": call} for call in calls]}, where)
    _add_content(steps, "user", {"parts": [{"function_response": answer} for answer in answers]}, where)
    _add_content(steps, "assistant", turn.get("final_response"), where)


def _add_expected(steps: Conversation, turn: dict[str, Any], where: str) -> None:
    """A turn of the older form; it expects calls and an answer and says nothing of results."""
    refuse_unread(turn, where, ("query", "expected_tool_use", "expected_intermediate_agent_responses", "reference"))
    steps.text("user", as_text(turn.get("query")), None)
    for call in members(turn, "expected_tool_use", where):
        name, given = field(call, "tool_name", str, where), call.get("tool_input")
        steps.call(call_of(where, name, given), None, message=where)
    for answer in members(turn, "expected_intermediate_agent_responses", where):
        steps.agent = text_at(answer, "author")
        steps.text("assistant", as_text(answer.get("text")), None)
    steps.agent = None
    if turn.get("reference"):
        steps.text("assistant", as_text(turn["reference"]), None)


def _add_content(steps: Conversation, role: Any, content: Any, where: str) -> None:
    given = content.get("parts") if isinstance(content, dict) else None
    parts = [gemini_contents.part_of(part, where, steps.notes) for part in objects(given or [], where)]
    grow(steps, role, [part for part in parts if part], f"{where} {role}")


# OpenAI Agents' run state: https://openai.github.io/openai-agents-js/guides/human-in-the-loop, RunState.toString()


def _is_state(value: Any) -> bool:
    keys = (
        {"$schemaVersion", "originalInput", "generatedItems"},
        {"$schemaVersion", "original_input", "generated_items"},
    )
    return isinstance(value, dict) and any(each <= value.keys() for each in keys)


def _read_state(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    for key in ("original_input", "generated_items", "current_agent", "model_responses"):
        camel = "".join(part.capitalize() if n else part for n, part in enumerate(key.split("_")))
        if key in value:
            value = {**value, camel: value[key]}
    steps = Conversation("openai_agents_state", where, {})
    asked, path = value["originalInput"], at(where, "generatedItems")
    if isinstance(asked, str):
        steps.text("user", asked, None)
    else:
        add_items(steps, [(at(where, "originalInput", n), _plain(i)) for n, i in enumerate(objects(asked, where))])
    for number, item in enumerate(objects(value["generatedItems"], path)):
        raw = item.get("rawItem", item.get("raw_item"))
        steps.agent = text_at(dict_of(item, "agent") or dict_of(item, "sourceAgent"), "name")
        if type_of(item).endswith("approval_item"):
            steps.notes.append(Note(at(path, number), NO_STEP, type_of(item)))
        elif not isinstance(raw, dict):
            raise Unread(at(path, number), item)
        else:
            add_items(steps, [(at(path, number), _plain(raw))])
    steps.agent = None
    model = next(
        (
            m
            for r in list_of_objects(value.get("modelResponses"))
            if (m := text_at(dict_of(r, "providerData"), "model"))
        ),
        None,
    )
    yield steps.finish(agent=model or text_at(dict_of(value, "currentAgent"), "name"))


#: The SDK's own names of items and parts, in JavaScript, and those of the Responses API.
_PLAIN = {"function_call_result": "function_call_output", "hosted_tool_call": "mcp_call"}


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the JavaScript SDK as the Responses API writes it."""
    kind = type_of(item)
    named = {"callId": "call_id", "serverLabel": "server_label"}
    plain = {named.get(key, key): value for key, value in item.items()}
    plain |= {"type": _PLAIN[kind]} if kind in _PLAIN else {}
    if kind == "function_call_result" and isinstance(item.get("output"), dict):
        plain["output"] = item["output"].get("text", as_text(item["output"]))
    return plain


# Letta: messages of an agent (message_type) and agent files (.af): https://docs.letta.com/guides/agents/agent-file


def _is_letta(value: Any) -> bool:
    first = _first(value)
    if isinstance(value, dict) and isinstance(value.get("agents"), list):
        agents = list_of_objects(value["agents"])
        return bool(agents) and {"messages", "agent_type"} <= agents[0].keys()
    return str(first.get("message_type")).endswith("_message")


def _read_letta(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    if isinstance(value, dict) and "agents" in value:
        for number, agent in enumerate(members(value, "agents", where)):
            path = at(where, "agents", number)
            steps = Conversation("letta", path, {"id": text_at(agent, "id", "name")})
            for n, message in enumerate(members(agent, "messages", path)):
                _add_stored(steps, message, at(path, "messages", n))
            model = text_at(dict_of(agent, "llm_config"), "model") or text_at(agent, "model")
            yield steps.finish(agent=model, policy=text_at(agent, "system"))
        return
    steps = Conversation("letta", where, {})
    for path, message in records_in(value, where):
        _add_letta(steps, message, path)
    yield steps.finish()


def _add_stored(steps: Conversation, message: dict[str, Any], where: str) -> None:
    """A message of an agent file: OpenAI's, whose results stand in ``tool_returns`` as well."""
    returns = list_of_objects(message.get("tool_returns"))
    plain = {key: message.get(key) for key in ("role", "content", "tool_calls", "tool_call_id", "timestamp")}
    plain["timestamp"] = message.get("created_at")
    if message.get("role") == "tool" and returns:
        for each in returns:
            _add_return(steps, each | {"date": message.get("created_at")}, where)
    else:
        role = "user" if message.get("role") == "approval" and not message.get("tool_calls") else message.get("role")
        add_message(steps, plain | {"role": "assistant" if role == "approval" else role}, where)


def _add_return(steps: Conversation, message: dict[str, Any], where: str) -> None:
    content = message.get("tool_return", message.get("func_response"))
    failed = message["status"] == "error" if message.get("status") in ("error", "success") else None
    text = result_text(content, where, steps.notes)
    steps.result(
        word(message.get("tool_call_id")), text, text_at(message, "date"), error=failed, name=text_at(message, "name")
    )


def _add_letta(steps: Conversation, message: dict[str, Any], where: str) -> None:
    kind, time, steps.where = type_of(message, "message_type"), text_at(message, "date"), where
    name = word(message.get("step_id") or message.get("id"))
    if kind in ("tool_call_message", "approval_request_message"):
        calls = members(message, "tool_calls", where) or [field(message, "tool_call", dict, where)]
        for call in calls:
            tool, identity = field(call, "name", str, where), word(call.get("tool_call_id"))
            steps.call(call_of(where, tool, call.get("arguments"), id=identity), time, message=name)
    elif kind == "tool_return_message":
        for each in members(message, "tool_returns", where) or [message]:
            _add_return(steps, {"date": time, **each}, where)
    elif kind in ("reasoning_message", "hidden_reasoning_message"):
        if text := text_at(message, "reasoning"):
            steps.thinking(text, time)
    elif kind in ("system_message", "user_message", "assistant_message"):
        role: Any = kind.removesuffix("_message")
        grow(
            steps,
            role,
            parts_of(message.get("content"), where, steps.notes) or [MessagePart("text")],
            f"{role} {name}",
            time,
        )
    elif carries_call(message):
        raise Unread(where, kind)
    else:
        steps.notes.append(Note(where, NO_STEP, kind))


FRAMEWORKS = (
    ValueFormat("openhands", _is_openhands, _read_openhands),
    ValueFormat("adk_eval_set", _is_adk, _read_adk),
    ValueFormat("openai_agents_state", _is_state, _read_state),
    ValueFormat("letta", _is_letta, _read_letta),
)
