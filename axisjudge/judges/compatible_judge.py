"""``openai-compatible:MODEL@URL``: chat completions at any server (vLLM, llama.cpp, Ollama, gateways, Azure)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from axisjudge.checks import InputError, one_of
from axisjudge.judges.answer import Answer, Failure, Reply, Sheet, after, broken_off, failure_in_reply, lost
from axisjudge.judges.anthropic_judge import least_cached, marked_parts
from axisjudge.judges.base import Rubrics
from axisjudge.judges.openai_judge import cached_and_written
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.prompt import BUDGET, CallPrompt
from axisjudge.judges.remote import MAX_TOKENS as ROOM_TO_THINK
from axisjudge.judges.remote import Body, NoReplyError, Received, RemoteJudge
from axisjudge.judges.wire import note_repair, sent_whole, usd_of
from axisjudge.judges.written import JOINT_REPLY_TOKENS, Content, WrittenJudge, begins_with_thought
from axisjudge.rubric.axes import TOKEN_CEILING
from axisjudge.spec.judge_spec import REMOTE, JudgeSpec, Provider
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

#: Tokens of a prompt beside record and rubrics: instructions, schema, roles.
FRAME_TOKENS = 1_500
#: Characters that make a token, at the least, in English and JSON.
CHARACTERS_PER_TOKEN = 3
#: And at the most: a server that counts fewer tokens, though more than its context can be, has not read the whole.
MOST_CHARACTERS, LEAST_CONTEXT = 8, 2_000
#: Tokens that a server counts, for a letter of a prompt or a token that a reply may have: more cannot be.
MOST_TIMES = 4
#: A record that may not take so many tokens is not worth asking about.
LEAST_RECORD = 500

#: Servers count the reply against the model's context, which is often small.
MAX_TOKENS = 4_096
#: Of a judge whose server refused a reply of that length.
NO_ROOM = -1
#: A verdict's reply, at the least, where the context is small.
LEAST_REPLY = 512

#: The ways of forcing the form of a verdict, the surest first.
JSON_SCHEMA, JSON_OBJECT, TEXT = "chat_json_schema", "chat_json_object", "chat_text"

#: Words of servers that take no such form of an answer.
_OF_FORM = re.compile("(?i)response.?format|json.?schema|structured.?output|guided|grammar")

#: Confidences that a server may choose among where its grammar holds no ranges of numbers.
CONFIDENCES = [round(0.05 * step, 2) for step in range(21)]
#: Flag of ratings whose confidence was chosen among those, and of those of a judge that was given room to think.
OF_LIST, WITH_ROOM = "confidence_of_list", "room_to_think"


class CompatibleJudge(WrittenJudge):
    """A model on a server that speaks OpenAI's chat completions.

    Options: effort, max_tokens, temperature, seed, key_env, strict (mend nothing in a reply), price, and

    - mechanism: ``chat_json_schema``; ``chat_json_object`` and ``chat_text`` for servers that take no schema: it then
      stands in the prompt;
    - context: tokens of the model's context as the server was started with it; longer records are shortened to fit;
    - confidence: ``list`` has the server choose among 21 values, where it cannot hold a number from 0 to 1. A judge
      whose first reply shows that turns to it by itself; such ratings bear a flag;
    - max_tokens: the room for a reply. Without it a judge that thinks, and ends at `MAX_TOKENS` before its verdict, is
      asked again with as much room as other providers' models have, where its context is long enough; with a flag.
    """

    mechanisms: ClassVar[tuple[str, ...]] = (JSON_SCHEMA, JSON_OBJECT, TEXT)
    key_env: ClassVar[str] = "OPENAI_COMPATIBLE_API_KEY"
    key_required: ClassVar[bool] = False

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        chosen = one_of(f"confidence of {spec.rater}", spec.options.get("confidence", "number"), ("number", "list"))
        self.confidence_of_list = chosen == "list"
        self._limit_name = "max_tokens"
        self._room, self._is_cut_thinking = 0, False
        self.pays_for_writing = self.takes_cache_marks
        self.least_cached = least_kept(self.family, self.model or "")

    @property
    def longest_reply(self) -> int:
        """A quarter of a small context at most."""
        context = int(self.options.get("context", 4 * MAX_TOKENS))
        return max(LEAST_REPLY, min(MAX_TOKENS, context // 4))

    @property
    def room_to_think(self) -> int:
        """Tokens of a reply with room for thought; 0 where the user set the room, or the context has no more."""
        window = self.options.get("context") or self.context_told or 4 * ROOM_TO_THINK
        room = min(ROOM_TO_THINK, int(window) // 4)
        return 0 if "max_tokens" in self.options or room <= self.longest_reply else room

    def worst_usd(self, n_bytes: int, n_points: int = 1, reply_tokens: int = 0) -> float | None:
        """As of every judge; one that may think may be asked twice, the second time with room to."""
        longest = max(self.longest_reply, reply_tokens)
        return super().worst_usd(
            n_bytes, n_points, longest if self._room == NO_ROOM else self._room or longest + self.room_to_think
        )

    def record_budget(self, rubrics: Rubrics) -> int:
        """What the context leaves beside the reply, rubrics at their longest and the frame; alike for every axis."""
        if "context" not in self.options:
            return super().record_budget(rubrics)
        room = self.record_tokens(len(rubrics), self.options["context"])
        return max(1, min(BUDGET, CHARACTERS_PER_TOKEN * room))

    def record_tokens(self, n_axes: int, context: int) -> int:
        """Tokens that such a context leaves a record, beside the reply, rubrics at their longest, and the frame."""
        longest = max(self.longest_reply, JOINT_REPLY_TOKENS * n_axes if self.joint else 0)
        reply = self.options.get("max_tokens", longest)
        return int(context) - int(reply) - TOKEN_CEILING * n_axes - FRAME_TOKENS

    def check_options(self) -> None:
        n_axes = len(AXES) if self.joint else 1
        if "context" in self.options and self.record_tokens(n_axes, self.options["context"]) < LEAST_RECORD:
            rule = "leaves no room for a record beside the reply (max_tokens) and the rubrics"
            cure = "start the server with a longer context, or give a smaller max_tokens"
            raise InputError(f"context of {self.rater}", rule, self.options["context"], cure)

    @property
    def takes_cache_marks(self) -> bool:
        """Whether gateways pass marks on to the model's own provider, which caches nothing without them."""
        return self.family == "anthropic"

    def body(self, page: CallPrompt) -> Body:
        schema = with_listed_confidence(page.schema) if self.options.get("confidence") == "list" else page.schema
        asked = page.question
        if self.mechanism != JSON_SCHEMA:
            asked += f"\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}\n"
        content: str | list[dict[str, Any]] = f"{page.prefix.text}\n{asked}"
        if self.takes_cache_marks:
            content = [*marked_parts(page), {"type": "text", "text": asked}]
        body: Body = {
            "model": self.model,
            "messages": [{"role": "system", "content": page.instructions}, {"role": "user", "content": content}],
            "max_tokens": self.options.get("max_tokens", max(self.longest_reply, page.reply_tokens)),
        }
        if self.mechanism == JSON_SCHEMA:
            form = {"name": page.form, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.mechanism == JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        body |= {name: self.options[name] for name in ("temperature", "seed") if name in self.options}
        if "effort" in self.options:
            body["reasoning_effort"] = self.options["effort"]
        return body

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        """Ask; once more where the reply shows that the server holds no ranges, and from then on with a list."""
        ask, had_list = super().grade, self.confidence_of_list
        reply = await self._with_room(lambda: ask(trajectory, rubrics, repeat=repeat))
        out_of_range = any(
            answer.status == "parse_error" and (answer.rationale or "").startswith("confidence: Input should be ")
            for answer in reply.answers.values()
        )
        if out_of_range and not had_list and self.mechanism == JSON_SCHEMA:
            self.confidence_of_list = True
            reply = after(reply, await ask(trajectory, rubrics, repeat=repeat))
        return replace(reply, flags=(*reply.flags, OF_LIST)) if self.confidence_of_list else reply

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        ask = super().fill
        return await self._with_room(lambda: ask(sheet, repeat=repeat))

    async def _with_room(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Ask; once more where the model thought until its reply was cut, and from then on with room for it."""
        had_room = self._room
        reply = await ask()
        is_cut = any(answer.status == "truncated" for answer in reply.answers.values())
        if is_cut and self._is_cut_thinking and not had_room and (room := self.room_to_think):
            self._room = room
            again = await ask()
            if again.failure is not None and again.failure.kind == "request":  # a server that allows no such room
                self._room = NO_ROOM
                return after(again, reply)
            reply = after(reply, again)
        return replace(reply, flags=(*reply.flags, WITH_ROOM)) if self._room > 0 else reply

    def with_cure(self, failure: Failure) -> Failure:
        """As of every judge; where a server takes no such form of an answer, the one to ask for."""
        if failure.kind != "request" or self.mechanism == TEXT or not _OF_FORM.search(failure.words):
            return super().with_cure(failure)
        takes_schema = self.mechanism == JSON_OBJECT and "json_schema" in failure.words
        other = JSON_OBJECT if self.mechanism == JSON_SCHEMA else JSON_SCHEMA if takes_schema else TEXT
        return replace(failure, words=f"{failure.words}; give ,mechanism={other}")

    async def _asked(self, body: Body, form: str) -> Received:
        """One call; a server that read a part of the prompt and says nothing (Ollama) has judged another run."""
        received = await super()._asked(body, form)
        n_letters = sum(len(str(message["content"])) for message in body["messages"])
        tokens = received.tokens if received.tokens and received.tokens.can_be else None
        if tokens and (
            tokens.output > MOST_TIMES * max(self.reply_limit(body), self._room)
            or tokens.input > MOST_TIMES * n_letters + FRAME_TOKENS
        ):
            return replace(received, tokens=None)  # nobody pays for what cannot be
        n_read = tokens.input if tokens else 0
        if n_read < LEAST_CONTEXT or n_letters <= MOST_CHARACTERS * n_read:
            return received
        words = f"the server read {n_read:,} tokens of a prompt of {n_letters:,} characters: its context is shorter; "
        words += "start it with a longer one (Ollama: OLLAMA_CONTEXT_LENGTH), or give ,context=N"
        return replace(received, content=lost("truncated", words))

    async def send(self, client: AsyncOpenAI, body: Body) -> ChatCompletion:
        """One call, under the name for its limit that the server takes."""
        try:
            return await self._send(client, self._as_sent(body))
        except self.api_error() as error:
            if getattr(error, "status_code", 0) not in (400, 422) or "max_completion_tokens" not in str(error):
                raise
            if self._limit_name == "max_completion_tokens":
                raise
        self._limit_name = "max_completion_tokens"
        return await self._send(client, self._as_sent(body))

    def _as_sent(self, body: Body) -> Body:
        """A request as this server takes it: what was found out since the plan was made changes no question."""
        body = {**body, "max_tokens": max(body["max_tokens"], self._room)}
        body = {self._limit_name if name == "max_tokens" else name: value for name, value in body.items()}
        form = body.get("response_format", {})
        if self.confidence_of_list and form.get("type") == "json_schema":
            listed = with_listed_confidence(form["json_schema"]["schema"])
            body["response_format"] = {**form, "json_schema": {**form["json_schema"], "schema": listed}}
        return body

    async def _send(self, client: AsyncOpenAI, body: Body) -> ChatCompletion:
        """Answers after long thinking are streamed: a connection that is silent for minutes is cut on its way."""
        if not self.is_long(body):
            return await client.chat.completions.create(**body)
        from openai.lib.streaming.chat import ChatCompletionStreamState
        from openai.types.chat import ChatCompletion

        answer, is_whole = ChatCompletionStreamState(), False
        body = {**body, "stream_options": {"include_usage": True}}
        stream = await client.chat.completions.create(**body, stream=True)
        if sent := await sent_whole(stream):
            return ChatCompletion.construct(**sent)
        usage = None
        async for chunk in stream:
            usage = getattr(chunk, "usage", None) or usage  # some tell it with every piece, or with the last but one
            if not getattr(chunk, "choices", None):
                if usage is None:  # it keeps the connection awake
                    continue
                chunk.choices = []
            answer.handle_chunk(chunk)
            is_whole |= any(choice.finish_reason for choice in chunk.choices)
        if not is_whole:
            raise NoReplyError(broken_off("the stream ended before the message did"))
        whole = answer.current_completion_snapshot
        whole.usage = whole.usage or usage
        return whole

    def read(self, response: ChatCompletion, form: str) -> Received:
        usage, content = response.usage, _raw(response, strict=self.is_strict)
        self._is_cut_thinking |= _is_cut_thinking(response)
        received = Received(content, response.model, response.id, _tokens(usage), stated_usd=_stated_usd(usage))
        if isinstance(content, Failure):
            raise NoReplyError(content, received)
        return received

    async def look(self) -> None:
        """Ask the server how long its context is; one that does not tell is no reason not to judge."""
        if self.context_told is None:
            self.context_told = await context_of(self._connected(), self.model or "")


def least_kept(family: str, model: str) -> int:
    """Tokens of a prompt's beginning that a family's provider keeps, at the least.

    https://ai.google.dev/gemini-api/docs/caching, https://api-docs.deepseek.com/guides/kv_cache
    """
    if family == "anthropic":
        return least_cached(model)
    return {"google": 2_048 if "2.5" in model else 4_096, "deepseek": 64}.get(family, RemoteJudge.least_cached)


def with_listed_confidence(schema: Any) -> Any:
    """The same schema, in which every confidence is one of `CONFIDENCES`."""
    if isinstance(schema, Mapping):
        return {
            name: {"enum": CONFIDENCES, "description": value.get("description", "")}
            if name == "confidence" and isinstance(value, Mapping)
            else with_listed_confidence(value)
            for name, value in schema.items()
        }
    return [with_listed_confidence(each) for each in schema] if isinstance(schema, list) else schema


#: Names of a model's context in servers' lists of models: vLLM and SGLang, llama.cpp, OpenRouter, LM Studio, LiteLLM.
_CONTEXTS = (
    "max_model_len n_ctx context_length loaded_context_length context_window max_input_tokens max_context_length"
)
LOOK_S = 10.0


async def context_of(client: Any, model: str) -> int | None:
    """Tokens of a model's context by the server's lists of models; None where none tells.

    Ollama and LM Studio tell it beside the interface that is asked, of models that are loaded.
    """
    root = client.base_url.copy_with(raw_path=b"/")
    with suppress(Exception):  # whatever a server of somebody's own may answer
        async with asyncio.timeout(LOOK_S):
            for path in ("/models", f"{root}api/ps", f"{root}api/v0/models"):
                with suppress(Exception):
                    listed = await client.with_options(timeout=LOOK_S).get(path, cast_to=object)
                    if (tokens := _context_in(listed, model)) is not None:
                        return tokens
    return None


def _context_in(listed: Any, model: str) -> int | None:
    models = [each for each in listed.get("data") or listed.get("models") or [] if isinstance(each, Mapping)]
    names = {model, f"{model}:latest"}  # so Ollama calls one without a tag, and names those alone that are loaded
    mine = [each for each in models if not names.isdisjoint((each.get("id"), each.get("name")))]
    mine = mine or [each for each in models if model in (each.get("aliases") or ())]
    entry = mine[0] if mine else models[0] if len(models) == 1 and "data" in listed else {}
    records = [entry, *(entry[name] for name in ("meta", "top_provider") if isinstance(entry.get(name), Mapping))]
    windows = [record[name] for record in records for name in _CONTEXTS.split() if isinstance(record.get(name), int)]
    return min((tokens for tokens in windows if tokens > 0), default=None)


#: Why a reply ended: at a limit (Mistral has a name of its own for the context), or by its server's fault (DeepSeek;
#: Mistral and OpenRouter; vLLM and SGLang), or by a filter; and what gateways pass on of Gemini's and Anthropic's own.
CUT_SHORT, BROKEN_OFF = ("length", "model_length", "max_tokens"), ("insufficient_system_resource", "error", "abort")
FILTERED = ("content_filter", "safety", "prohibited_content", "blocklist", "recitation", "spii", "refusal")


def _end_of(choice: Any) -> str:
    return str(choice.finish_reason or "").lower()


def _is_cut_thinking(completion: ChatCompletion) -> bool:
    """Whether a reply thought until its limit: by its usage, its fields of thought, or its first words."""
    if not completion.choices or _end_of(completion.choices[0]) not in CUT_SHORT:
        return False
    message = completion.choices[0].message
    thought = getattr(getattr(completion.usage, "completion_tokens_details", None), "reasoning_tokens", None)
    return bool(thought) or _has_thought(message) or begins_with_thought(message.content or "")


def _has_thought(message: Any) -> bool:
    """Whether a reply has a field of thought, or parts of it (Mistral's)."""
    fields = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
    parts = message.content if isinstance(message.content, list) else []
    return any(isinstance(getattr(message, name, None), str | list) for name in fields) or any(
        isinstance(part, Mapping) and part.get("type") == "thinking" for part in parts
    )


def _cut_short(usage: Any) -> Answer:
    """The loss, and how much of the reply was thought, for who wonders where its tokens went."""
    thought = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    of_it = f", {thought:,} tokens of it thought" if isinstance(thought, int) and thought else ""
    return lost("truncated", f"the reply reached max_tokens{of_it} or the end of the context; ,max_tokens=N gives more")


def _raw(completion: ChatCompletion, *, strict: bool = False) -> Content | Failure:
    if not completion.choices:
        return lost("parse_error", "the reply holds no choice")
    choice = completion.choices[0]
    if error := getattr(choice, "error", None):  # a router's: who is behind it failed on its way
        return failure_in_reply(error)
    end = _end_of(choice)
    if choice.message.refusal or end.startswith(FILTERED):
        return lost("refused", "refused")
    if end in CUT_SHORT:
        return _cut_short(completion.usage)
    if end in BROKEN_OFF:
        return failure_in_reply({"code": "server_error", "message": f"the reply ended by {end}"})
    content = "\n".join(filter(None, (_text_of(each.message.content) for each in completion.choices)))  # one, or none
    if not content and (calls := choice.message.tool_calls) and not strict:  # a parser took the verdict for a call
        arguments = getattr(getattr(calls[0], "function", None), "arguments", None)
        if len(calls) == 1 and isinstance(arguments, str):
            note_repair("tool_call")
            return arguments
    if not content and _has_thought(choice.message):
        words = "nothing but thought came: the server's parser of thought may take the verdict for it; start it without"
        return lost("parse_error", words)
    return content or ""


def _text_of(content: Any) -> str:
    """The text of a message; Mistral's has thought and text in parts."""
    if not isinstance(content, list):
        return content or ""
    texts = (part for part in content if isinstance(part, Mapping) and part.get("type") in ("text", "output_text"))
    return "".join(str(part.get("text", "")) for part in texts)


def _stated_usd(usage: Any) -> float | None:
    """The price that a gateway tells; OpenRouter, where the user's own key pays, has the provider's beside its own."""
    stated = usd_of(getattr(usage, "cost", None))
    if stated is None or getattr(usage, "is_byok", None) is not True:
        return stated
    details = getattr(usage, "cost_details", None)
    behind = details.get("upstream_inference_cost") if isinstance(details, Mapping) else None
    return stated + (usd_of(behind) or 0.0)


def _tokens(usage: Any) -> Tokens | None:
    """Tokens by the usage; those that DeepSeek found in its cache stand beside the prompt's.

    Thought is paid as output. Gemini and xAI leave it out of the completion's tokens and count it in the total.
    """
    with suppress(AttributeError, TypeError):
        details, hit = usage.prompt_tokens_details, getattr(usage, "prompt_cache_hit_tokens", None)
        _, written = cached_and_written(details)
        cached = hit if isinstance(hit, int) else getattr(details, "cached_tokens", None)
        tells = isinstance(cached, int) and 0 <= cached <= usage.prompt_tokens
        output, total = usage.completion_tokens, usage.total_tokens
        if isinstance(total, int) and 0 <= output < total - usage.prompt_tokens:
            output = total - usage.prompt_tokens
        return Tokens(usage.prompt_tokens, output, int(cached or 0) if tells else 0, written, tells_cache=tells)
    return None


OPTIONS = {**REMOTE, "seed": int, "context": int, "confidence": str}
PROVIDER = Provider(CompatibleJudge, OPTIONS, at_url=True)
