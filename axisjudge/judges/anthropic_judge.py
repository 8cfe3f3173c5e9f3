"""``anthropic:MODEL``: the Messages API, with forced tool use where the model takes it, else structured output."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Container, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

from axisjudge.checks import InputError
from axisjudge.judges import remote
from axisjudge.judges.answer import broken_off, failure_in_batch, lost
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.prompt import CallPrompt
from axisjudge.judges.written import Content, WrittenJudge
from axisjudge.spec.judge_spec import REMOTE, JudgeSpec, Provider

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message, ModelInfo

#: The first generation that answers a forced tool choice with status 400, and the lines that did so before it.
#: https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5 names Fable 5.1 and Opus 5.5.
FIRST_WITHOUT_FORCING = (5, 1)
LINES_WITHOUT_FORCING = frozenset({"fable", "mythos"})
#: The first generation whose temperature cannot be set.
FIRST_WITHOUT_TEMPERATURE = (4, 7)

_CUT_SHORT = {
    "max_tokens": "the reply reached max_tokens",
    "model_context_window_exceeded": "the prompt and reply exceeded the model's context window",
    "pause_turn": "the provider paused the turn before a verdict",
}


def takes_forced_tool_use(model: str) -> bool:
    """Whether a Claude model, by its name, accepts a forced tool choice; a name without a version counts as new.

    Examples
    --------
    >>> takes_forced_tool_use("claude-sonnet-4-6"), takes_forced_tool_use("claude-sonnet-5-5")
    (True, False)
    """
    words, version = _named(model)
    return not LINES_WITHOUT_FORCING & words and bool(version) and version < FIRST_WITHOUT_FORCING


@cache
def takes_strict_tools(model: str) -> bool:
    """Whether a Claude model, by its name, can be held to a tool's schema (``strict``).

    Structured outputs came with Opus 4.1 and with the 4.5 models; a name without a version counts as new.

    Examples
    --------
    >>> takes_strict_tools("claude-sonnet-4-6"), takes_strict_tools("claude-opus-4-1-20250805")
    (True, True)
    >>> takes_strict_tools("claude-sonnet-4-20250514"), takes_strict_tools("claude-3-5-haiku-20241022")
    (False, False)
    """
    words, version = _named(model)
    return not version or version >= ((4, 1) if "opus" in words else (4, 5))


def least_cached(model: str) -> int:
    """Tokens of a prompt's beginning that Anthropic's cache keeps of a Claude model, at the least.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching

    Examples
    --------
    >>> least_cached("claude-sonnet-4-6"), least_cached("claude-haiku-4-5-20251001"), least_cached("claude-opus-4-7")
    (1024, 4096, 2048)
    >>> least_cached("claude-opus-5"), least_cached("anthropic/claude-sonnet-4.6")
    (512, 1024)
    """
    words, version = _named(model)
    if version == (5,) and "sonnet" not in words:
        return 512
    if ("opus" in words and version in ((4, 5), (4, 6))) or ("haiku" in words and version == (4, 5)):
        return 4_096
    return 2_048 if ("opus" in words and version == (4, 7)) or ("haiku" in words and version < (4, 5)) else 1_024


def _named(model: str) -> tuple[set[str], tuple[int, ...]]:
    """The words of a model's name, and the numbers of its version."""
    words = re.split(r"[^a-z0-9]+", model.lower())
    return set(words), tuple(int(word) for word in words if re.fullmatch(r"\d{1,2}", word))


class AnthropicJudge(WrittenJudge):
    """A Claude model. Options: effort, max_tokens, temperature (models before 4.7 only), mechanism."""

    mechanisms: ClassVar[tuple[str, ...]] = ("forced_tool", "json_schema_output")
    sdk: ClassVar[str] = "anthropic"
    client: ClassVar[str] = "AsyncAnthropic"
    key_env: ClassVar[str] = "ANTHROPIC_API_KEY"
    price_list: ClassVar[str | None] = "anthropic"
    hottest: ClassVar[float] = 1.0
    can_batch: ClassVar[bool] = True
    pays_for_writing: bool = True

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.least_cached = least_cached(self.model or "")

    def default_mechanism(self) -> str:
        return "forced_tool" if takes_forced_tool_use(self.model or "") else "json_schema_output"

    def body(self, page: CallPrompt) -> remote.Body:
        shared = marked_parts(page)
        asked = {"type": "text", "text": page.question}
        body: remote.Body = {
            "model": self.model,
            "max_tokens": self.options.get("max_tokens", max(remote.MAX_TOKENS, page.reply_tokens)),
            "system": [{"type": "text", "text": page.instructions}],
            "messages": [{"role": "user", "content": [*shared, asked]}],
        }
        output: dict[str, Any] = {}
        if self.mechanism == "forced_tool":
            name = _tool(page.form)
            tool = {"name": name, "description": page.about, "input_schema": page.schema}
            body["tools"] = [{**tool, "strict": True} if takes_strict_tools(self.model or "") else tool]
            body["tool_choice"] = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
        else:
            output["format"] = {"type": "json_schema", "schema": page.schema}
        if "effort" in self.options:
            output["effort"] = self.options["effort"]
        if output:
            body["output_config"] = output
        if "temperature" in self.options:  # not among the SDK's own parameters any more
            body["extra_body"] = {"temperature": self.options["temperature"]}
        return body

    def check_options(self) -> None:
        from anthropic.types import OutputConfigParam

        _, version = _named(self.model or "")
        if "temperature" in self.options and (not version or version >= FIRST_WITHOUT_TEMPERATURE):
            raise self.refuses("temperature", "models before 4.7 take one")
        if self.mechanism == "forced_tool" and not takes_forced_tool_use(self.model or ""):
            raise self.refuses("mechanism", "leave it out, or take json_schema_output")
        self.check_effort(get_type_hints(OutputConfigParam)["effort"])

    def check_model(self, model: ModelInfo) -> None:
        limit = model.max_tokens
        if limit is not None and self.options.get("max_tokens", remote.MAX_TOKENS) > limit:
            raise self.refuses("max_tokens", f"give its limit of {limit}, or less")
        capabilities = model.capabilities
        if capabilities is None or "effort" not in self.options:
            return
        level = getattr(capabilities.effort, self.options["effort"], None)
        if capabilities.effort.supported is False or (level is not None and level.supported is False):
            raise self.refuses("effort", "leave it out, or take a level that the models endpoint lists")

    async def send(self, client: AsyncAnthropic, body: remote.Body) -> Message:
        """Long answers are streamed: a connection that is silent for minutes is cut on its way."""
        if not self.is_long(body):
            return await client.messages.create(**body)
        async with client.messages.stream(**body) as stream:
            message = None
            async for event in stream:
                message = event.message if event.type == "message_stop" else None
        if message is None:
            raise remote.NoReplyError(broken_off("the stream ended before the message did"))
        return message

    async def submit_batch(self, requests: Mapping[str, remote.Body], tag: str) -> str:
        listed: list[Any] = [{"custom_id": name, "params": _in_full(body)} for name, body in requests.items()]
        batch = await self._connected().messages.batches.create(requests=listed)
        return str(batch.id)

    async def find_batch(self, tag: str, n_requests: int, since: datetime, known: Container[str]) -> str | None:
        """Its batches bear no words of ours: one of the same length, made since, that nobody knows of."""
        async for batch in self._connected().messages.batches.list(limit=100):
            if batch.created_at < since:
                return None
            if batch.id not in known and sum(vars(batch.request_counts).values()) == n_requests:
                return str(batch.id)
        return None

    async def batch_status(self, batch: str) -> remote.BatchStatus:
        now = await self._connected().messages.batches.retrieve(batch)
        counts = now.request_counts
        return remote.BatchStatus(now.processing_status == "ended", sum(vars(counts).values()) - counts.processing)

    async def batch_results(self, batch: str) -> AsyncIterator[remote.BatchResult]:
        async for line in await self._connected().messages.batches.results(batch):
            result = line.result
            if result.type == "succeeded":
                yield line.custom_id, result.message
            elif result.type == "errored":
                error = result.error.error
                yield line.custom_id, failure_in_batch(error.type, error.message)
            else:
                yield line.custom_id, failure_in_batch(f"batch_{result.type}", f"the request was {result.type}")

    def lifecycle(self, model: ModelInfo) -> remote.Shutdown | None:
        if model.lifecycle not in ("deprecated", "retired"):  # a record without that field says nothing of an end
            return None
        return remote.Shutdown(model.retires_at.date() if model.retires_at else None)

    def read(self, response: Message, form: str) -> remote.Received:
        return remote.Received(self._raw(response, _tool(form)), response.model, response.id, _tokens(response.usage))

    def _raw(self, message: Message, tool: str) -> Content:
        if message.stop_reason == "refusal":
            details = message.stop_details
            return lost("refused", f"refused ({details.category})" if details and details.category else "refused")
        if reason := _CUT_SHORT.get(message.stop_reason or ""):
            return lost("truncated", reason)
        if self.mechanism == "forced_tool":
            calls = [block for block in message.content if block.type == "tool_use"]
            if len(calls) != 1 or calls[0].name != tool:
                return lost("parse_error", f"expected one call of {tool}, found {[call.name for call in calls]}")
            return calls[0].input
        return "".join(block.text for block in message.content if block.type == "text")


def marked_parts(page: CallPrompt) -> list[dict[str, Any]]:
    """Setting and run as parts of a message, with marks where Anthropic's cache is to break."""
    mark = {"cache_control": {"type": "ephemeral"}}
    return [
        {"type": "text", "text": text, **(mark if kept else {})} for text, kept in page.prefix.parts(alone=page.alone)
    ]


def _in_full(body: remote.Body) -> remote.Body:
    """A request as it goes over the wire: what the SDK would add to it stands in it."""
    return {**{name: value for name, value in body.items() if name != "extra_body"}, **body.get("extra_body", {})}


def _tool(form: str) -> str:
    return f"record_{form}"


def _tokens(usage: Any) -> Tokens | None:
    """Anthropic counts the cached parts of the prompt apart; here `input` is the whole of it."""
    with suppress(AttributeError, TypeError):  # the reply tells none, or something else in their place
        read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        tells = usage.cache_read_input_tokens is not None
        return Tokens(usage.input_tokens + read + written, usage.output_tokens, read, written, tells_cache=tells)
    return None


PROVIDER = Provider(AnthropicJudge, REMOTE, family="anthropic", price_list=AnthropicJudge.price_list, at_url=None)


class BedrockJudge(AnthropicJudge):
    """Claude by Amazon Bedrock: with the key in AWS_BEARER_TOKEN_BEDROCK, else with the credentials of AWS."""

    client: ClassVar[str] = "AsyncAnthropicBedrock"
    key_env: ClassVar[str] = "AWS_BEARER_TOKEN_BEDROCK"
    key_required: ClassVar[bool] = False
    price_list: ClassVar[str | None] = "aws"
    can_batch: ClassVar[bool] = False

    @property
    def transport(self) -> dict[str, Any]:
        arguments = super().transport
        if arguments["api_key"] == remote.NO_KEY:  # requests are signed
            del arguments["api_key"]
        return arguments


class VertexJudge(AnthropicJudge):
    """Claude by Google Vertex: an access token; region and project by the variables that Google names."""

    client: ClassVar[str] = "AsyncAnthropicVertex"
    key_env: ClassVar[str] = "VERTEX_ACCESS_TOKEN"
    price_list: ClassVar[str | None] = "google"
    can_batch: ClassVar[bool] = False

    def check_options(self) -> None:
        super().check_options()
        for name in ("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"):
            if not os.environ.get(name, "").strip():
                raise InputError(f"judge {self.rater}", f"needs the environment variable {name}", cure="set it")

    @property
    def transport(self) -> dict[str, Any]:
        arguments = super().transport
        token = arguments.pop("api_key")
        return {**arguments, "access_token": token}


BEDROCK = Provider(BedrockJudge, REMOTE, family="anthropic", price_list="aws", at_url=None)
VERTEX = Provider(VertexJudge, REMOTE, family="anthropic", price_list="google", at_url=None)
