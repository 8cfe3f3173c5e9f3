"""Calls that open models write into their text, and results that come back in text: read as calls and results.

Where a server has no parser for a model's calls, or a data set was made for training, a run's calls stand inside plain
messages. They are read in a run that has no calls of its own kind beside them: a program that takes calls apart runs
those, and what an agent writes as text beside them was never run. Drafts inside ``<think>`` are no calls either.

Forms: tags around JSON (Hermes, Qwen, Hunyuan, Phi, Granite, InternLM, glaive), ``<function=NAME>`` with JSON (Llama)
or parameters (Qwen3-Coder, OpenHands), ``<arg_key>`` (GLM), ``<invoke name="NAME">`` (MiniMax, DeepSeek 3.2, older
Claude), ``<|python_tag|>`` (Llama), ``[TOOL_CALLS]`` (Mistral), ``<｜tool▁call▁begin｜>`` (DeepSeek),
``<|tool_call_begin|>`` (Kimi), channels ``to=functions.NAME`` (gpt-oss), ``Action`` and ``Action Input`` (ReAct),
``Action`` and JSON (tau-bench), ``Action: NAME[...]`` (ReAct's paper), ``<search>`` (Search-R1), ``<execute>``
(CodeAct), ```` ```tool_code ```` (Gemma), and a message that is a call as JSON and nothing else (Llama 3.1).
Sources: the chat templates of these models, and the parsers of vLLM and SGLang.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from axisjudge.readers.events import dict_of, shown
from axisjudge.readers.messages import Unread, call_of, names_call
from axisjudge.trajectory import Step, ToolCall

#: Where a call opens. The groups are named by how its body is read; ``_READERS`` has the same names.
_OPENS = re.compile(
    r"""(?P<json><tool_call>|<\|?tool_calls?\|?>|<functioncall>|<\|action_start\|>\s*<\|plugin\|>|<\|tool_call_start\|>)
    |<function=(?P<tagged>[\w.:-]+)>
    |<(?:[^<>\s\w/]*DSML[^<>\s\w]*)?invoke\s+name="(?P<invoked>[^"]+)"\s*>
    |(?P<python><\|python_tag\|>)
    |(?P<mistral>\[TOOL_CALLS\])
    |(?P<deepseek><｜tool▁call▁begin｜>)
    |(?P<kimi><\|tool_call_begin\|>)
    |(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\s*commentary\s*)?to=functions\.(?P<channel>[\w.-]+)[^\n]*?<\|message\|>
    |^[ \t>*]*Action[ \d]*:[*\s]*(?P<named>[^\n{}\[\]]+?)[*\s]*\n+[ \t>*]*Action\ Input[ \d]*:[*\ \t]*
    |^[ \t>*]*Action:\s*(?:```(?:json)?\s*)?(?P<acted>(?=\{))
    |^[ \t>*]*Action[ \d]*:[*\s]*(?P<bracketed>\w+)\[
    |<(?P<searched>search)>
    |<(?P<executed>execute(?:_\w+)?)>
    |(?P<fenced>```tool_code[ \t]*\n)
    |\A\s*(?P<bare>(?=\{\s*"(?:type|name|arguments|parameters)"\s*:|\[\s*\{\s*"(?:type|name|arguments)"\s*:))""",
    re.VERBOSE | re.MULTILINE,
)
#: What came back, in the user's message, the tool's, or the agent's own text; the group is what stands inside.
_RESULTS = re.compile(
    r"""<tool_response>(.*?)(?:</tool_response>|\Z)
    |\[TOOL_RESULTS\](.*?)(?:\[/TOOL_RESULTS\]|\Z)
    |<｜tool▁output▁begin｜>(.*?)(?:<｜tool▁output▁end｜>|\Z)
    |<information>(.*?)(?:</information>|\Z)
    |```tool_output[ \t]*\n(.*?)(?:```|\Z)
    |^[ \t]*(?:Observation[ \d]*|API\ output|EXECUTION\ RESULT\ of\ \[\w+\]|FUNCTION\ RESPONSE)[ \t]*:[ \t]*
      (.*?)(?=^[ \t>*]*(?:Thought|Action|Final\ Answer|Observation)[ \d]*:|<\|endoftext\|>|\Z)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
#: What only surrounds calls and results, or ends them.
_AROUND = re.compile(
    r"</?(?:tool_calls?|function_calls|minimax:tool_call|functioncall|function|invoke|seed:tool_call)>|</?[^<>\s\w]*DSML[^<>]*>"
    r"|<｜tool▁(?:calls?|outputs?)▁(?:begin|end)｜>|<\|tool_calls_section_(?:begin|end)\|>|<\|tool_call_end\|>"
    r"|<\|/?tool_calls?\|>|<\|action_end\|>|<\|(?:eom|eot|im_end|call|end|endoftext)(?:_id)?\|>|</s>|\[/?TOOL_CALLS\]|\[/?TOOL_RESULTS\]"
)
_TAGS = re.compile(r"<[|｜](?P<special>[\w▁:-]+)[|｜]>|(?<!`)<(?P<plain>[\w:-]+)>")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_PARAMETERS = re.compile(
    r"""<[^<>\s\w/]*(?:DSML[^<>\s\w]*)?parameter(?:=|\s+name=")([^">\s]+)"?[^>]*>(.*?)"""
    r"(?:</[^<>\s\w]*(?:DSML[^<>\s\w]*)?parameter>|(?=<parameter)|(?=</function>)|\Z)",
    re.DOTALL,
)
_KEYS = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_NAME = re.compile(r"""["']name["']\s*:\s*["']([^"'\n]+)["']""")
_CALL = re.compile(r"[\w.]+\(.*\)\s*", re.DOTALL)


class _Call(NamedTuple):
    """A call as it stands in a text: its name, its arguments as written, its id where it has one, and where it ends."""

    name: str
    given: Any
    end: int
    id: str | None = None


def names_call_in_text(text: str) -> bool:
    """Whether a text has what may be a call, outside of its thoughts."""
    return _OPENS.search(_THOUGHTS.sub("", text)) is not None


def _unread(text: str) -> str | None:
    """A tag that is named like a call, in a form that nobody here knows."""
    tags = (tag for tag in _TAGS.finditer(text) if tag["special"] or f"</{tag['plain']}>" in text)
    named = ((tag["special"] or tag["plain"]).replace("▁", "_") for tag in tags)
    return next((name for name in named if names_call(name) or name == "tool_code"), None)


def read_calls(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with the calls in their text as calls and the results in their text as results.

    Steps without such calls, and those of a run that has calls of its own kind, come back as they are.

    Raises
    ------
    Unread
        When a call in a text names no tool.
    """
    if any(step.agent_calls for step in steps):
        return steps
    written = [step.role == "assistant" and step.kind is None and names_call_in_text(step.content) for step in steps]
    if not any(written):
        spoken = (step for step in steps if step.role == "assistant" and step.kind is None)
        if unknown := next(((step, tag) for step in spoken if (tag := _unread(_THOUGHTS.sub("", step.content)))), None):
            raise Unread(f"step {unknown[0].index}", unknown[1], cure="a run is read with all its calls: convert it")
        return steps
    whole: list[Step] = []
    waiting: list[ToolCall] = []
    for step, has_calls in zip(steps, written, strict=True):
        for part in _parts(step, has_calls, waiting):
            whole.append(part.model_copy(update={"index": len(whole)}))
    return tuple(whole) if any(step.tool_calls for step in whole) else steps


def _parts(step: Step, has_calls: bool, waiting: list[ToolCall]) -> Iterator[Step]:
    """The steps that one message holds; `waiting` are the calls without a result so far."""
    if step.role == "tool" and not _RESULTS.match(step.content.lstrip()):
        yield _result(step, _unwrapped(step.content), waiting)
    elif has_calls:
        yield from _of_agent(step, waiting)
    elif step.role == "tool" or (step.role != "system" and waiting and _RESULTS.search(step.content)):
        yield from _with_results(step, waiting)
    else:
        yield step


def _of_agent(step: Step, waiting: list[ToolCall]) -> Iterator[Step]:
    """An agent's message: text and the calls after it, what came back where it stands in the same text, and so on."""
    text, calls, place = "", list[ToolCall](), 0
    content = step.content
    thoughts = [found.span() for found in _THOUGHTS.finditer(content)]
    opened = _next(_OPENS, content, 0, thoughts)
    while opened is not None:
        if waiting and (came := _next(_RESULTS, content, place, thoughts)) and came.start() < opened.start():
            yield from _said(step, text + content[place : came.start()], calls)
            text, calls, place = "", [], came.end()
            yield _result(step, _unwrapped(came[0]), waiting)
        elif opened.start() < place:  # inside what came back
            pass
        else:
            text += content[place : opened.start()]
            found = [] if content[: opened.start()].endswith("`") else _calls(content, opened, f"step {step.index}")
            text += "" if found else opened[0]
            for call in found:
                place = call.end
                if call.name == "respond" and isinstance(call.given, dict) and call.given.keys() == {"content"}:
                    text += shown(call.given["content"])  # tau-bench's word for speaking to the user
                else:
                    calls.append(call_of(f"step {step.index}", call.name, call.given, id=call.id))
                    waiting.append(calls[-1])
            place = max(place, opened.end())
            opened = _next(_OPENS, content, max(place, opened.start() + 1), thoughts)
            continue
        opened = _next(_OPENS, content, max(place, opened.start()), thoughts)
    if waiting and (came := _next(_RESULTS, content, place, thoughts)):
        yield from _said(step, text + content[place : came.start()], calls)
        yield from _with_results(step.model_copy(update={"content": content[came.start() :]}), waiting)
    else:
        yield from _said(step, text + content[place:], calls)


def _said(step: Step, text: str, calls: list[ToolCall]) -> Iterator[Step]:
    outside, thoughts = _THOUGHTS.split(text), [*_THOUGHTS.findall(text), ""]
    text = "".join(_AROUND.sub("", plain) + thought for plain, thought in zip(outside, thoughts, strict=True)).strip()
    if (text := "" if set(text) == {"`"} else text) or calls:
        yield step.model_copy(update={"content": text, "tool_calls": tuple(calls)})


def _with_results(step: Step, waiting: list[ToolCall]) -> Iterator[Step]:
    """A message that holds results, with what it says before, between and after them."""
    place = len(step.content) - len(step.content.lstrip())
    for came in _RESULTS.finditer(step.content):
        yield from _said(step, step.content[place : came.start()], [])
        yield _result(step, _unwrapped(came[0]), waiting)
        place = came.end()
    yield from _said(step, step.content[place:], [])


def _next(pattern: re.Pattern[str], text: str, start: int, thoughts: list[tuple[int, int]]) -> re.Match[str] | None:
    """The first match from here on that is no part of a thought."""
    found = (match for match in pattern.finditer(text, start))
    return next((m for m in found if not any(begin <= m.start() < end for begin, end in thoughts)), None)


def _unwrapped(text: str) -> str:
    """What stands inside the tags of a result."""
    if found := _RESULTS.search(text):
        text = next(group for group in found.groups() if group is not None)
    return _AROUND.sub("", text).strip()


def _result(step: Step, text: str, waiting: list[ToolCall]) -> Step:
    """A result as a step of its own; it answers the first call of its name that waits, else the first that waits."""
    told = _value(text)
    name, identity = step.tool_name, step.tool_call_id
    if isinstance(told, dict) and "content" in told and told.keys() <= {"name", "content", "tool_call_id", "call_id"}:
        text, name = shown(told["content"]), told.get("name") or name
        identity = identity or told.get("tool_call_id") or told.get("call_id")
    alike = (call for call in waiting if (identity and call.id == identity) or (not identity and call.name == name))
    call = next(alike, waiting[0] if waiting else None)
    if call is not None:
        waiting.remove(call)
        name, identity = name or call.name, identity or call.id
    fields = {"role": "tool", "content": text, "tool_name": name, "tool_call_id": identity}
    return step.model_copy(update={**fields, "tool_calls": ()})


def _calls(text: str, opened: re.Match[str], where: str) -> list[_Call]:
    """The calls that one opening stands for, each with the place where it ends."""
    kind, start = str(opened.lastgroup), opened.end()
    named = opened[kind]
    if kind in ("tagged", "invoked"):
        end = _end(text, start, "</function>") if kind == "tagged" else _end(text, start, "invoke>")
        return [_Call(named, _parameters(text[start:end]), end)]
    if kind == "searched":
        end = _end(text, start, "</search>")
        return [_Call(named, {"query": text[start:end].removesuffix("</search>").strip()}, end)]
    if kind == "bracketed":
        end = _end(text, start, "]\n") if "]\n" in text[start:] else len(text)
        return [_Call(named, {"input": text[start:end].strip().removesuffix("]")}, end)]
    if kind == "executed":
        end = _end(text, start, f"</{named}>")
        return [_Call(named, {"code": text[start:end].removesuffix(f"</{named}>").strip()}, end)]
    if kind == "fenced":
        end = _end(text, start, "```")
        return _of_python(text[start:end].removesuffix("```").strip(), end, code=True)
    if kind == "bare":
        return _of_whole(text, where)
    if kind in ("named", "channel"):
        stop = re.compile(r"^[ \t>*]*(?:Observation|Thought|Final Answer|Action)[ \d]*:", re.MULTILINE)
        ends = stop if kind == "named" else re.compile(r"<\|(?:call|end|start)\|>")
        found = ends.search(text, start)
        body = text[start : found.start() if found else len(text)].strip()
        end = found.start() if found else len(text)
        value = _value(body.strip("`"))
        return [_Call(named, value if isinstance(value, dict) else {"input": body} if body else {}, end)]
    if kind == "deepseek":
        end = _end(text, start, "<｜tool▁call▁end｜>")
        head, _, rest = text[start:end].replace("<｜tool▁call▁end｜>", "").partition("<｜tool▁sep｜>")
        if head.strip() == "function" and not rest.lstrip().startswith("{"):
            head, _, rest = rest.partition("\n")
        return [_Call(_named(head, where), _fenced(rest), end)]
    if kind == "kimi":
        end = _end(text, start, "<|tool_call_end|>")
        head, _, rest = text[start:end].replace("<|tool_call_end|>", "").partition("<|tool_call_argument_begin|>")
        identity = head.strip()
        name = _named(re.sub(r":\d+$", "", identity).removeprefix("functions."), where)
        return [_Call(name, _fenced(rest), end, identity)]
    return _of_mistral(text, start, where) if kind == "mistral" else _of_json(text, start, kind, where)


def _of_whole(text: str, where: str) -> list[_Call]:
    """A message that is nothing but calls as JSON, as Llama writes them; nothing where the JSON says something else."""
    value = _value(text)
    records = value if isinstance(value, list) else [value]
    keys = {"type", "name", "arguments", "parameters", "id"}
    given = all(isinstance(one, dict) and one.keys() <= keys and {"name"} < one.keys() - {"type"} for one in records)
    return [_as_call(one, len(text), where) for one in records] if given and records else []


def _of_mistral(text: str, start: int, where: str) -> list[_Call]:
    """``[{name, arguments}]``, or ``NAME[ARGS]{...}``, with ``[CALL_ID]`` between them in some versions."""
    flat = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\]([\w-]+))?(?:\[ARGS\])?\s*(?=\{)").match(text, start)
    if flat is None:
        return _of_json(text, start, "mistral", where)
    value, end = _json_at(text, flat.end())
    return [_Call(flat[1], value, end, flat[2])]


def _of_json(text: str, start: int, kind: str, where: str) -> list[_Call]:
    """The body of a pair of tags: one call as JSON, a list of them, several one after another, or a form of its own."""
    body = re.compile(r"\s*").match(text, start)
    begin = body.end() if body else start
    inner = _OPENS.match(text, begin)
    if inner is not None:
        return _calls(text, inner, where)
    if text[begin : begin + 1] in ("{", "["):
        found: list[_Call] = []
        while text[begin : begin + 1] in ("{", "["):
            value, end = _json_at(text, begin)
            if isinstance(value, str) and not _NAME.search(value):
                break
            found += [_as_call(one, end, where) for one in (value if isinstance(value, list) else [value])]
            begin = end + len(re.compile(r"[\s;,]*").match(text, end)[0])  # type: ignore[index]
        if found:
            return found
    end = _end(text, start, "</tool_call>", "<|tool_call_end|>", "<|eom_id|>", "<|eot_id|>")
    inside = _AROUND.sub("", text[start:end]).strip()
    if kind == "python" or (kind == "json" and _CALL.fullmatch(inside.strip("[]"))):
        return _of_python(inside, end, code=kind == "python")
    if end == len(text) and not _AROUND.search(text, start):
        return []  # the tag is only named
    name, _, _ = inside.partition("<arg_key>")
    if re.fullmatch(r"[\w.:-]+", name.strip()):
        return [_Call(name.strip(), {key.strip(): _typed(value) for key, value in _KEYS.findall(inside)}, end)]
    raise Unread(where, text[start:end][:80], rule="has a call in its text that names no tool")


def _of_python(body: str, end: int, *, code: bool) -> list[_Call]:
    """``name(key=value)``, ``[name(...), ...]`` or ``name.call(...)``; anything else is code for the interpreter."""
    try:
        tree = ast.parse(body, mode="eval").body
    except (SyntaxError, ValueError):
        return [_Call("code_interpreter", {"code": body}, end)]
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    found = []
    for node in nodes:
        plain = isinstance(node, ast.Call) and not node.args and all(key.arg for key in node.keywords)
        if not isinstance(node, ast.Call) or not plain:
            return [_Call("code_interpreter", {"code": body}, end)]
        try:
            given = {str(key.arg): ast.literal_eval(key.value) for key in node.keywords}
        except ValueError:
            return [_Call("code_interpreter", {"code": body}, end)]
        found.append(_Call(ast.unparse(node.func).removesuffix(".call"), given, end))
    return found


def _as_call(value: Any, end: int, where: str) -> _Call:
    """A call from ``{name, arguments}`` and its cousins; broken JSON keeps its text, if it still names its tool."""
    if isinstance(value, str) and (named := _NAME.search(value)):
        return _Call(named[1], value, end)
    record = value if isinstance(value, dict) else {}
    inner = dict_of(record, "function") or record
    name = inner.get("name", inner.get("action", inner.get("function")))
    if not isinstance(name, str) or not name:
        raise Unread(where, value, rule="has a call in its text that names no tool")
    given = next(
        (inner[key] for key in ("arguments", "parameters", "args", "action_input", "input") if key in inner), None
    )
    given = _value(given) if isinstance(given, str) else given
    identity = record.get("id") or record.get("call_id")
    return _Call(name, given, end, identity if isinstance(identity, str) else None)


def _named(head: str, where: str) -> str:
    if not (name := head.strip()):
        raise Unread(where, head, rule="has a call in its text that names no tool")
    return name


def _json_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins here and where it ends; text up to the end of its tag where it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except ValueError:
        end = _end(text, start, "</tool_call>", "<|tool_call_end|>", "</functioncall>", "<|eom_id|>", "<|endoftext|>")
        return _value(_AROUND.sub("", text[start:end]).strip()), end


def _end(text: str, start: int, *closings: str) -> int:
    """Where the first of these closings ends, the end of the text where there is none."""
    found = [place + len(closing) for closing in closings if (place := text.find(closing, start)) >= 0]
    return min(found, default=len(text))


def _fenced(text: str) -> Any:
    text = text.strip()
    return _value(re.sub(r"^```(?:json)?\s*|\s*```$", "", text))


def _value(text: str) -> Any:
    """What JSON, or Python's way of writing it, stands for; the text itself where it is neither."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return text
    for read in (json.JSONDecoder(strict=False).decode, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return text


def _typed(text: str) -> Any:
    """A parameter's value: JSON where it is a number, a list or an object, else text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip("\n")
    return value if isinstance(value, bool | int | float | list | dict) else text.strip("\n")


def _parameters(body: str) -> Any:
    """``<parameter=K>V</parameter>`` and ``<parameter name="K">V</parameter>``, else JSON."""
    found = {key: _typed(value) for key, value in _PARAMETERS.findall(body)}
    return found or _value(_AROUND.sub("", body))
