"""Forms in which open models write calls into their text: where a call opens, and how its body is read.

Tags around JSON (Hermes, Qwen, Hunyuan, Phi, Granite, InternLM, glaive), ``<function=NAME>`` with JSON (Llama) or
parameters (Qwen3-Coder, OpenHands), ``<arg_key>`` (GLM), ``<invoke name="NAME">`` (MiniMax, DeepSeek 3.2, older
Claude), ``<|python_tag|>`` (Llama), ``[TOOL_CALLS]`` (Mistral), ``<｜tool▁call▁begin｜>`` (DeepSeek),
``<|tool_call_begin|>`` (Kimi), channels ``to=functions.NAME`` (gpt-oss), ``Action`` and ``Action Input`` (ReAct),
``Action`` and JSON (tau-bench), ``Action: NAME[...]`` (ReAct's paper), ``<search>`` (Search-R1), ``<execute>``
(CodeAct), ```` ```tool_code ```` (Gemma), a message that is a call as JSON and nothing else (Llama 3.1), and tags named
after tools that are known (Cline, Roo Code).
Sources: the chat templates of these models, and the parsers of vLLM and SGLang.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from axisjudge.readers.events import dict_of, listed
from axisjudge.readers.messages import Unread
from axisjudge.trajectory import Step

# Calls as elements named after tools: ``<read_file><path>a.py</path></read_file>`` (Cline, Roo Code, and their like).
# Any tag may be a tool's, so that a name must be known: from a schema, from the section of the system prompt that
# describes the tools, or from what came back (``[read_file for 'a.py'] Result:``). Sources: the prompts and messages of
# cline/cline and RooCodeInc/Roo-Code, as tasks on public repositories show them.

#: What such a call gave back, in the user's message, up to the editor's own word on itself.
RESULTS = r"""^\[\w+(?:[ ]for[ ][^\n]*)?\][ ]Result:[ \t]*\n?
    (.*?)(?=^\[\w+(?:[ ]for[ ][^\n]*)?\][ ]Result:|\s*<environment_details>|\Z)"""
_ANSWERED = re.compile(r"^\[(\w+)(?: for [^\n]*)?\] Result:", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*]|\d+\.)[ \t]*[*_`\"]*([A-Za-z_]\w*)[*_`\"]*[ \t]*(?:$|[:(\-—])", re.MULTILINE
)
_OPENING = re.compile(r"<([A-Za-z_]\w*)>")
#: A block of its own, as these agents write calls, under a name that says what to do; markup in a sentence is none.
_BLOCK = re.compile(
    r"""^[ \t]*<((?:access|add|append|apply|ask|attempt|browser|check|click|close|create|delete|download|edit|execute
    |fetch|find|generate|get|insert|list|load|modify|move|navigate|new|open|patch|query|read|remove|rename|replace|run
    |save|search|send|set|start|stop|switch|update|upload|use|view|web|write)_(?!results?>|outputs?>|summary>)\w+)>
    (.*?)</\1>[ \t]*$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


def elements_in(body: str) -> list[tuple[str, str]] | None:
    """The elements that a text is made of, with what stands inside; None where it is anything else.

    Examples
    --------
    >>> elements_in("<path>a.py</path> <line>3</line>"), elements_in("see <b>here</b>")
    ([('path', 'a.py'), ('line', '3')], None)
    """
    elements, rest = [], body.strip()
    while rest:
        opened = _OPENING.match(rest)
        closing = opened and next(_closings(rest, opened), None)
        if opened is None or closing is None:
            return None
        elements.append((opened[1], rest[opened.end() : closing.start()].strip("\n")))
        rest = rest[closing.end() :].lstrip()
    return elements


def _closings(text: str, opened: re.Match[str]) -> Iterator[re.Match[str]]:
    """Where an element may close: what it holds may have its closing tag too, so that another or nothing follows."""
    for closing in re.finditer(rf"</{opened[1]}>", text):
        after = text[closing.end() :].lstrip()
        if not after or _OPENING.match(after):
            yield closing


def tools_named(steps: Sequence[Step], tools: Collection[str], policy: str | None) -> frozenset[str]:
    """The tools that are known by name: offered, described with an example in the instructions, or answered."""
    names, answered = set(tools), set[str]()
    instructions = [policy or ""]
    for step in steps:
        if step.role == "system" and step.kind is None:
            instructions.append(step.content)
        elif step.role in ("user", "tool") and "] Result:" in step.content:
            answered.update(_ANSWERED.findall(step.content))
    if answered:
        names |= answered | {name for step in steps if step.role == "assistant" for name in _blocks(step.content)}
    names = names.union(*map(_described, instructions))
    return frozenset(name for name in names if _OPENING.fullmatch(f"<{name}>") and name.lower() != "think")


@lru_cache(maxsize=256)
def _described(instructions: str) -> frozenset[str]:
    """The headings and items that have an example of a call; many runs have the same instructions."""
    names = _HEADING.findall(instructions) if "</" in instructions else ()
    return frozenset(name for name in names if f"<{name}>" in instructions and f"</{name}>" in instructions)


def shaped_like_call(text: str) -> str | None:
    """The name of a block of elements that says what to do, as ``read_file`` does: a tool that nobody here knows."""
    return next(_blocks(text), None)


def _blocks(text: str) -> Iterator[str]:
    blocks = _BLOCK.finditer(text) if "</" in text else ()
    return (block[1] for block in blocks if elements_in(block[2]))


#: Where a call opens. The groups are named as in `_READERS`.
OPENS = re.compile(
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
    |(?:\A|(?<=</think>))\s*(?P<bare>(?=\{\s*"(?:type|name|arguments|parameters)"\s*:|\[\s*\{\s*"(?:type|name|arguments)"\s*:))""",
    re.VERBOSE | re.MULTILINE,
)
#: What only surrounds calls and results, or ends them.
AROUND = re.compile(
    r"</?(?:tool_calls?|function_calls|minimax:tool_call|functioncall|function|invoke|seed:tool_call)>|</?[^<>\s\w]*DSML[^<>]*>"
    r"|<｜tool▁(?:calls?|outputs?)▁(?:begin|end)｜>|<\|tool_calls_section_(?:begin|end)\|>|<\|tool_call_end\|>"
    r"|<\|/?tool_calls?\|>|<\|action_end\|>|<\|(?:eom|eot|im_end|call|end|endoftext)(?:_id)?\|>|</s>|\[/?TOOL_CALLS\]|\[/?TOOL_RESULTS\]"
)
_PARAMETERS = re.compile(
    r"""<[^<>\s\w/]*(?:DSML[^<>\s\w]*)?parameter(?:=|\s+name=")([^">\s]+)"?[^>]*>(.*?)"""
    r"(?:</[^<>\s\w]*(?:DSML[^<>\s\w]*)?parameter>|(?=<parameter)|(?=</function>)|\Z)",
    re.DOTALL,
)
_KEYS = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_NAME = re.compile(r"""["']name["']\s*:\s*["']([^"'\n]+)["']""")
_CALL = re.compile(r"[\w.]+\(.*\)\s*", re.DOTALL)
_ACTION_ENDS = re.compile(r"^[ \t>*]*(?:Observation|Thought|Final Answer|Action)[ \d]*:", re.MULTILINE)
_CHANNEL_ENDS = re.compile(r"<\|(?:call|end|start)\|>")
_SPACE, _BETWEEN = re.compile(r"\s*"), re.compile(r"[\s;,]*")


@lru_cache(maxsize=64)
def opens_with(tools: frozenset[str]) -> re.Pattern[str]:
    """Where a call opens when ``<NAME>`` calls one of these tools too."""
    names = "|".join(re.escape(name) for name in sorted(tools))
    return re.compile(rf"{OPENS.pattern}|<(?P<element>{names})>", OPENS.flags) if tools else OPENS


class WrittenCall(NamedTuple):
    """A call as it stands in a text: its name, its arguments, where it ends, its id where it has one."""

    name: str
    given: Any
    end: int
    id: str | None = None


class _Value(str):
    """A parameter's value as text, whose type its tool's schema tells, or else its looks."""


class _Placed(NamedTuple):
    """Arguments by their places, and those by name."""

    placed: list[Any]
    named: dict[str, Any]


def calls_at(
    text: str, opened: re.Match[str], where: str, tools: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> list[WrittenCall]:
    """The calls that one opening (of `OPENS`) stands for; none where it only names a tag.

    `tools` are those that are known, each with the schemas of its parameters by name, in their order.

    Raises
    ------
    Unread
        When a call names no tool.
    """
    calls = _READERS[str(opened.lastgroup)](text, opened, where)
    return [call._replace(given=_given(call.given, tools.get(call.name, {}))) for call in calls]


def _given(given: Any, parameters: Mapping[str, Any]) -> Any:
    """The arguments of a call by name, each of its type; one that only has a place goes by the parameter there."""
    if isinstance(given, _Placed):
        more = (f"input_{number + 1}" if number else "input" for number in range(len(parameters), len(given.placed)))
        return dict(zip((*parameters, *more), given.placed, strict=False)) | given.named
    if not isinstance(given, dict):
        return given
    return {key: _typed(one, parameters.get(key, {})) if isinstance(one, _Value) else one for key, one in given.items()}


def _of_tagged(text: str, opened: re.Match[str], where: str, closing: str) -> list[WrittenCall]:
    end = _end(text, opened.end(), closing)
    return [WrittenCall(opened[str(opened.lastgroup)], _parameters(text[opened.end() : end]), end)]


def _of_searched(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    query, end = _until(text, opened, "</search>")
    return [WrittenCall("search", {"query": query}, end)]


def _of_executed(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    code, end = _until(text, opened, f"</{opened['executed']}>")
    return [WrittenCall(opened["executed"], {"code": code}, end)]


def _of_fenced(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    code, end = _until(text, opened, "```")
    return _of_python(code, end, code=True)


def _of_bracketed(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    end = _end(text, opened.end(), "]\n")
    return [WrittenCall(opened["bracketed"], {"input": text[opened.end() : end].strip().removesuffix("]")}, end)]


def _of_line(text: str, opened: re.Match[str], where: str, ends: re.Pattern[str]) -> list[WrittenCall]:
    """What follows a name up to what ends it: an object, or text, which is then the one input."""
    stop = ends.search(text, opened.end())
    end = stop.start() if stop else len(text)
    body = text[opened.end() : end].strip()
    value = value_of(body.strip("`"))
    return [
        WrittenCall(
            opened[str(opened.lastgroup)], value if isinstance(value, dict) else {"input": body} if body else {}, end
        )
    ]


def _of_element(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    """``<NAME><parameter>value</parameter></NAME>``, or JSON inside; none where the tag is not closed."""
    closing = f"</{opened['element']}>"
    if closing not in text[opened.end() :]:
        return []
    body, end = _until(text, opened, closing)
    elements = elements_in(body)
    value = {key: _Value(inner) for key, inner in elements} if elements is not None else value_of(body)
    return [WrittenCall(opened["element"], value if isinstance(value, dict) else {"input": body}, end)]


def _of_deepseek(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    body, end = _until(text, opened, "<｜tool▁call▁end｜>")
    head, _, rest = body.partition("<｜tool▁sep｜>")
    if head.strip() == "function" and not rest.lstrip().startswith("{"):
        head, _, rest = rest.partition("\n")
    return [WrittenCall(_named(head, where), _unfenced(rest), end)]


def _of_kimi(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    body, end = _until(text, opened, "<|tool_call_end|>")
    identity, _, rest = body.partition("<|tool_call_argument_begin|>")
    identity = identity.strip()
    name = _named(re.sub(r":\d+$", "", identity).removeprefix("functions."), where)
    return [WrittenCall(name, _unfenced(rest), end, identity)]


def _of_whole(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    """A message that is nothing but calls as JSON, as Llama writes them; nothing where the JSON says something else."""
    value = value_of(text[opened.end() :])
    records = value if isinstance(value, list) else [value]
    keys = {"type", "name", "arguments", "parameters", "id"}
    given = all(isinstance(one, dict) and one.keys() <= keys and {"name"} < one.keys() - {"type"} for one in records)
    return [_as_call(one, len(text), where) for one in records] if given and records else []


def _of_mistral(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    """``[{name, arguments}]``, or ``NAME[ARGS]{...}``, with ``[CALL_ID]`` between them in some versions."""
    flat = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\]([\w-]+))?(?:\[ARGS\])?\s*(?=\{)").match(text, opened.end())
    if flat is None:
        return _of_json(text, opened, where)
    value, end = _json_at(text, flat.end())
    return [WrittenCall(flat[1], value, end, flat[2])]


def _of_json(text: str, opened: re.Match[str], where: str) -> list[WrittenCall]:
    """The body of a pair of tags: one call as JSON, a list of them, several one after another, or a form of its own."""
    kind, start = opened.lastgroup, opened.end()
    begin = _past(_SPACE, text, start)
    if inner := OPENS.match(text, begin):
        return _READERS[str(inner.lastgroup)](text, inner, where)
    if text[begin : begin + 1] in ("{", "["):
        calls: list[WrittenCall] = []
        while text[begin : begin + 1] in ("{", "["):
            value, end = _json_at(text, begin)
            if isinstance(value, str) and not _NAME.search(value):
                break
            calls += [_as_call(one, end, where) for one in (value if isinstance(value, list) else [value])]
            begin = _past(_BETWEEN, text, end)
        if calls:
            return calls
    end = _end(text, start, "</tool_call>", "<|tool_call_end|>", "<|eom_id|>", "<|eot_id|>")
    inside = AROUND.sub("", text[start:end]).strip()
    if kind == "python" or (kind == "json" and _CALL.fullmatch(inside.strip("[]"))):
        return _of_python(inside, end, code=kind == "python")
    if end == len(text) and not AROUND.search(text, start):
        return []  # the tag is only named
    name, _, _ = inside.partition("<arg_key>")
    if re.fullmatch(r"[\w.:-]+", name.strip()):
        return [WrittenCall(name.strip(), {key.strip(): _Value(value) for key, value in _KEYS.findall(inside)}, end)]
    raise Unread(where, text[start:end][:80], rule="has a call in its text that names no tool")


def _of_python(body: str, end: int, *, code: bool) -> list[WrittenCall]:
    """``name(key=value)``, ``[name(...), ...]`` or ``name.call(...)``.

    Anything else is code for the interpreter where code may stand, else a call with what stands in its brackets.
    """
    calls = python_calls(body, ast.literal_eval if code else literal_or_text)
    if code and (not calls or any(placed or "**" in named for _, placed, named in calls)):
        return [WrittenCall("code_interpreter", {"code": body}, end)]
    name, _, rest = body.strip("[] \n").partition("(")
    calls = calls or [(name, [], {"input": rest.rstrip().removesuffix(")")})]
    return [
        WrittenCall(name.removesuffix(".call"), _Placed(placed, named) if placed else named, end)
        for name, placed, named in calls
    ]


def literal_or_text(value: ast.expr) -> Any:
    """What a literal stands for; any other expression as it is written."""
    try:
        return ast.literal_eval(value)
    except (TypeError, ValueError):
        return ast.unparse(value)


def python_calls(
    text: str, value_of: Callable[[ast.expr], Any] = literal_or_text
) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Calls in Python, one a line or in a list: name, values by place, and by name; none where it is anything else."""
    try:
        lines = ast.parse(text.strip()).body
        values = [line.value for line in lines if isinstance(line, ast.Expr)]
        values = [each for value in values for each in (value.elts if isinstance(value, ast.List) else [value])]
        calls = [value for value in values if isinstance(value, ast.Call)]
        if len(calls) != len(values) or len(values) < len(lines):
            return []
        return [
            (ast.unparse(c.func), [*map(value_of, c.args)], {k.arg or "**": value_of(k.value) for k in c.keywords})
            for c in calls
        ]
    except (SyntaxError, TypeError, ValueError, MemoryError, RecursionError):
        return []


def _as_call(value: Any, end: int, where: str) -> WrittenCall:
    """A call from ``{name, arguments}`` and its cousins; broken JSON keeps its text, if it still names its tool."""
    if isinstance(value, str) and (named := _NAME.search(value)):
        return WrittenCall(named[1], value, end)
    record = value if isinstance(value, dict) else {}
    inner = dict_of(record, "function") or record
    name = inner.get("name", inner.get("action", inner.get("function")))
    if not isinstance(name, str) or not name:
        raise Unread(where, value, rule="has a call in its text that names no tool")
    given = next(
        (inner[key] for key in ("arguments", "parameters", "args", "action_input", "input") if key in inner), None
    )
    given = value_of(given) if isinstance(given, str) else given
    identity = record.get("id") or record.get("call_id")
    return WrittenCall(name, given, end, identity if isinstance(identity, str) else None)


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
        return value_of(AROUND.sub("", text[start:end]).strip()), end


def _end(text: str, start: int, *closings: str) -> int:
    """Where the first of these closings ends, the end of the text where there is none."""
    ends = [index + len(closing) for closing in closings if (index := text.find(closing, start)) >= 0]
    return min(ends, default=len(text))


def _unfenced(text: str) -> Any:
    text = text.strip()
    return value_of(re.sub(r"^```(?:json)?\s*|\s*```$", "", text))


def value_of(text: str) -> Any:
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


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A parameter's value: JSON where it is a number, a list or an object and the schema wants no text, else text."""
    plain, is_text = str(text).strip("\n"), [one for one in listed(schema.get("type")) if one != "null"] == ["string"]
    try:
        value = plain if is_text else json.loads(text)
    except (ValueError, RecursionError):
        return plain
    return value if isinstance(value, bool | int | float | list | dict) else plain


def _parameters(body: str) -> Any:
    """``<parameter=K>V</parameter>`` and ``<parameter name="K">V</parameter>``, else JSON."""
    values = {key: _Value(value) for key, value in _PARAMETERS.findall(body)}
    return values or value_of(AROUND.sub("", body))


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where a pattern ends that matches here, if only nothing."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _until(text: str, opened: re.Match[str], closing: str) -> tuple[str, int]:
    """What stands between an opening and its closing, and where that ends."""
    end = _end(text, opened.end(), closing)
    return text[opened.end() : end].removesuffix(closing).strip(), end


#: Group of `OPENS` -> how the calls that begin there are read.
_READERS: dict[str, Callable[[str, re.Match[str], str], list[WrittenCall]]] = {
    "json": _of_json,
    "tagged": partial(_of_tagged, closing="</function>"),
    "invoked": partial(_of_tagged, closing="invoke>"),
    "python": _of_json,
    "mistral": _of_mistral,
    "deepseek": _of_deepseek,
    "kimi": _of_kimi,
    "channel": partial(_of_line, ends=_CHANNEL_ENDS),
    "named": partial(_of_line, ends=_ACTION_ENDS),
    "acted": _of_json,
    "bracketed": _of_bracketed,
    "searched": _of_searched,
    "executed": _of_executed,
    "fenced": _of_fenced,
    "bare": _of_whole,
    "element": _of_element,
}
