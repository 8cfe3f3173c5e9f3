"""``openai-compatible:MODEL@URL``: chat completions with a JSON schema at any server (vLLM, llama.cpp, Ollama)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from axisjudge.checks import InputError
from axisjudge.judges.answer import lost
from axisjudge.judges.base import Rubrics
from axisjudge.judges.failure import broken_off, failure_in_reply
from axisjudge.judges.openai_judge import cached_and_written
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.prompt import BUDGET, CallPrompt
from axisjudge.judges.remote import LONG_THINKING, Body, NoReplyError, Received
from axisjudge.judges.remote import MAX_TOKENS as LONG_REPLY
from axisjudge.judges.written import JOINT_REPLY_TOKENS, Said, WrittenJudge
from axisjudge.rubric import TOKEN_CEILING
from axisjudge.spec import REMOTE, Provider
from axisjudge.verdict import AXES

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

#: Tokens of a prompt beside record and rubrics: instructions, schema, roles.
FRAME_TOKENS = 1_500
#: Characters that make a token, at the least, in English and JSON.
CHARACTERS_PER_TOKEN = 3
#: A record that may not take so many tokens is not worth asking about.
LEAST_RECORD = 500

#: Servers count the reply against the model's context, which is often small.
MAX_TOKENS = 4_096


class CompatibleJudge(WrittenJudge):
    """A model on a server that speaks OpenAI's chat completions.

    Options: effort, max_tokens, temperature, seed, key_env, and context, the tokens of the model's context as the
    server was started with it: longer records are shortened to fit. A server that wraps its JSON in prose gives parse
    errors.
    """

    mechanisms: ClassVar[tuple[str, ...]] = ("chat_json_schema",)
    key_env: ClassVar[str] = "OPENAI_COMPATIBLE_API_KEY"
    key_required: ClassVar[bool] = False

    @property
    def longest_reply(self) -> int:
        return MAX_TOKENS

    def record_budget(self, rubrics: Rubrics) -> int:
        """What the context leaves beside the reply, rubrics at their longest and the frame; alike for every axis."""
        if "context" not in self.options:
            return super().record_budget(rubrics)
        return max(1, min(BUDGET, CHARACTERS_PER_TOKEN * self._record_tokens(len(rubrics))))

    def _record_tokens(self, n_axes: int) -> int:
        reply = self.options.get("max_tokens", max(MAX_TOKENS, JOINT_REPLY_TOKENS * n_axes if self.joint else 0))
        return int(self.options["context"]) - int(reply) - TOKEN_CEILING * n_axes - FRAME_TOKENS

    def check_options(self) -> None:
        n_axes = len(AXES) if self.joint else 1
        if "context" in self.options and self._record_tokens(n_axes) < LEAST_RECORD:
            rule = "leaves no room for a record beside the reply (max_tokens) and the rubrics"
            cure = "start the server with a longer context, or give a smaller max_tokens"
            raise InputError(f"context of {self.rater}", rule, self.options["context"], cure)

    def body(self, page: CallPrompt) -> Body:
        asked = f"{page.prefix.text}\n{page.question}"
        form = {"name": page.form, "schema": page.schema, "strict": True}
        body: Body = {
            "model": self.model,
            "messages": [{"role": "system", "content": page.instructions}, {"role": "user", "content": asked}],
            "response_format": {"type": "json_schema", "json_schema": form},
            "max_tokens": self.options.get("max_tokens", max(MAX_TOKENS, page.reply_tokens)),
        }
        body |= {name: self.options[name] for name in ("temperature", "seed") if name in self.options}
        if "effort" in self.options:
            body["reasoning_effort"] = self.options["effort"]
        return body

    async def send(self, client: AsyncOpenAI, body: Body) -> ChatCompletion:
        """Answers after long thinking are streamed: a connection that is silent for minutes is cut on its way."""
        if self.options.get("effort") not in LONG_THINKING and body["max_tokens"] <= LONG_REPLY:
            return await client.chat.completions.create(**body)
        from openai.lib.streaming.chat import ChatCompletionStreamState

        answer, is_whole = ChatCompletionStreamState(), False
        body = {**body, "stream_options": {"include_usage": True}}
        async for chunk in await client.chat.completions.create(**body, stream=True):
            answer.handle_chunk(chunk)
            is_whole |= any(choice.finish_reason for choice in chunk.choices)
        if not is_whole:
            raise NoReplyError(broken_off("the stream ended before the message did"))
        return answer.current_completion_snapshot

    def read(self, response: ChatCompletion, form: str) -> Received:
        return Received(_said(response), response.model, response.id, _tokens(response.usage))


def _said(completion: ChatCompletion) -> Said:
    if not completion.choices:
        return lost("parse_error", "the reply holds no choice")
    choice = completion.choices[0]
    if error := getattr(choice, "error", None):  # a router's: who is behind it failed on its way
        raise NoReplyError(failure_in_reply(error))
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return lost("refused", "refused")
    if choice.finish_reason == "length":
        return lost("truncated", "the reply reached max_tokens or the end of the context")
    return choice.message.content or ""


def _tokens(usage: Any) -> Tokens | None:
    with suppress(AttributeError):
        return Tokens(usage.prompt_tokens, usage.completion_tokens, *cached_and_written(usage.prompt_tokens_details))
    return None


PROVIDER = Provider(CompatibleJudge, {**REMOTE, "seed": int, "context": int}, at_url=True)
