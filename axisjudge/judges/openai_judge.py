"""``openai:MODEL``: the Responses API with a strict JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Container, Mapping
from contextlib import suppress
from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from axisjudge.judges import remote
from axisjudge.judges.answer import ONE_CALL, Answer, all_lost, broken_off, failure_in_batch, failure_in_reply, lost
from axisjudge.judges.base import Rubrics
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.prompt import INSTRUCTIONS, CallPrompt, Prefix, question
from axisjudge.judges.wire import sent_whole
from axisjudge.judges.written import Content, WrittenJudge
from axisjudge.spec.judge_spec import REMOTE, TRANSPORT, Provider
from axisjudge.verdict import VERDICTS, Axis, RaterKind

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Decision, Model
    from openai.types.responses import Response


#: From this version on a prompt cache breakpoint can be set by hand; before it there is only the cache key.
FIRST_WITH_BREAKPOINTS = (5, 6)


#: Where each request of a batch goes.
BATCH_ENDPOINT = "/v1/responses"


def takes_breakpoints(model: str) -> bool:
    """Whether a GPT model, by its name, has explicit prompt cache breakpoints.

    Examples
    --------
    >>> takes_breakpoints("gpt-5-2025-08-07"), takes_breakpoints("gpt-5.6-sol"), takes_breakpoints("gpt-6-luna")
    (False, True, True)
    """
    match = re.match(r"(?:.*/)?gpt-(\d+)(?:\.(\d+))?(?![\d.])", model.lower())
    return match is not None and (int(match[1]), int(match[2] or 0)) >= FIRST_WITH_BREAKPOINTS


def always_reasons(model: str) -> bool:
    """Whether a GPT model, by its name, reasons before it answers: GPT-5 and later, and the o series.

    Examples
    --------
    >>> always_reasons("gpt-4.1"), always_reasons("gpt-5-chat-latest"), always_reasons("gpt-5"), always_reasons("o3")
    (False, False, True, True)
    """
    if re.match(r"(?:.*/)?o\d", model.lower()):
        return True
    match = re.match(r"(?:.*/)?gpt-(\d+)", model.lower())
    return match is not None and int(match[1]) >= 5 and "chat" not in model.lower()


def text_parts(prefix: Prefix, *, alone: bool = False) -> list[dict[str, Any]]:
    """Setting and run as text parts, with marks where the provider's cache is to break."""
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    return [{"type": "input_text", "text": text, **(mark if kept else {})} for text, kept in prefix.parts(alone=alone)]


def shutdown_of(model: Model) -> remote.Shutdown | None:
    """The end of a model as OpenAI's models endpoint tells it; raises ValueError for a record without that field."""
    if "shutdown_date" not in model.model_fields_set:
        raise ValueError("the record does not tell")
    return remote.Shutdown(date.fromisoformat(model.shutdown_date)) if model.shutdown_date else None


class OpenAIJudge(WrittenJudge):
    """A model of OpenAI. Options: effort, max_tokens, temperature. Nothing is stored with the provider."""

    mechanisms: ClassVar[tuple[str, ...]] = ("responses_json_schema",)
    price_list: ClassVar[str | None] = "openai"
    can_batch: ClassVar[bool] = True

    def body(self, page: CallPrompt) -> remote.Body:
        shared = [{"type": "input_text", "text": text} for text, _ in page.prefix.parts()]
        asked = {"type": "input_text", "text": page.question}
        form = {"type": "json_schema", "name": page.form, "schema": page.schema, "strict": True}
        body: remote.Body = {
            "model": self.model,
            "instructions": page.instructions,
            "max_output_tokens": self.options.get("max_tokens", max(remote.MAX_TOKENS, page.reply_tokens)),
            "text": {"format": form},
            "store": False,
        }
        if takes_breakpoints(self.model or ""):
            shared = text_parts(page.prefix, alone=page.alone)
            body["prompt_cache_options"] = {"mode": "explicit", "ttl": "30m"}
        else:
            body["prompt_cache_key"] = page.prefix.cache_key
        body["input"] = [{"role": "user", "content": [*shared, asked]}]
        if "effort" in self.options:
            body["reasoning"] = {"effort": self.options["effort"]}
        if "temperature" in self.options:
            body["temperature"] = self.options["temperature"]
        return body

    def check_options(self) -> None:
        from openai.types.shared import ReasoningEffort

        temperature, effort = self.options.get("temperature", 1), self.options.get("effort")
        if temperature != 1 and effort != "none" and always_reasons(self.model or ""):
            raise self.refuses("temperature", "models that reason take 1 alone; leave it out, or set effort=none")
        is_known = re.match(r"(?:.*/)?gpt-\d", (self.model or "").lower()) is not None
        if effort is not None and is_known and not always_reasons(self.model or ""):
            raise self.refuses("effort", "this model does not reason; leave it out, or take one that does")
        self.check_effort(ReasoningEffort)

    async def send(self, client: AsyncOpenAI, body: remote.Body) -> Response:
        """Answers after long thinking are streamed: a connection that is silent for minutes is cut on its way."""
        if not self.is_long(body):
            return await client.responses.create(**body)
        stream = await client.responses.create(**body, stream=True)
        if whole := await sent_whole(stream):
            from openai.types.responses import Response

            return Response.construct(**whole)
        async for event in stream:
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                return event.response
            if event.type == "error":
                raise remote.NoReplyError(failure_in_reply({"code": event.code, "message": event.message}, self.key))
        raise remote.NoReplyError(broken_off("the stream ended before the response did"))

    async def submit_batch(self, requests: Mapping[str, remote.Body], tag: str) -> str:
        client = self._connected()
        lines = [
            json.dumps({"custom_id": name, "method": "POST", "url": BATCH_ENDPOINT, "body": body}, ensure_ascii=False)
            for name, body in requests.items()
        ]
        file = await client.files.create(file=(f"{tag}.jsonl", "\n".join(lines).encode()), purpose="batch")
        batch = await client.batches.create(
            input_file_id=file.id, endpoint=BATCH_ENDPOINT, completion_window="24h", metadata={"axisjudge": tag}
        )
        return str(batch.id)

    async def find_batch(self, tag: str, n_requests: int, since: datetime, known: Container[str]) -> str | None:
        async for batch in self._connected().batches.list(limit=100):
            if batch.created_at < since.timestamp():
                return None
            if (batch.metadata or {}).get("axisjudge") == tag:
                return str(batch.id)
        return None

    async def batch_status(self, batch: str) -> remote.BatchStatus:
        now = await self._connected().batches.retrieve(batch)
        counts = now.request_counts
        n_done = counts.completed + counts.failed if counts else 0
        if now.status == "failed":
            errors = (now.errors.data if now.errors else None) or []
            code, message = (errors[0].code or "", errors[0].message or "") if errors else ("", "no reason given")
            return remote.BatchStatus(True, n_done, failure_in_batch(code or "invalid_request_error", message))
        return remote.BatchStatus(now.status in ("completed", "expired", "cancelled"), n_done)

    async def batch_results(self, batch: str) -> AsyncIterator[remote.BatchResult]:
        client = self._connected()
        now = await client.batches.retrieve(batch)
        for file in filter(None, (now.output_file_id, now.error_file_id)):
            content = await client.files.content(file)
            for line in content.text.split("\n"):  # and not where else a text may end a line
                with suppress(ValueError):  # a line that is broken is one request's
                    yield _result(json.loads(line))

    def lifecycle(self, model: Model) -> remote.Shutdown | None:
        return shutdown_of(model)

    def read(self, response: Response, form: str) -> remote.Received:
        return remote.Received(_raw(response), response.model, response.id, tokens_of(response.usage))


def _result(line: Any) -> remote.BatchResult:
    """One line of a batch's output: a response with its status, or an error where none was made."""
    from openai.types.responses import Response

    line = line if isinstance(line, Mapping) else {}
    name, response, error = str(line.get("custom_id")), line.get("response"), line.get("error")
    if (
        isinstance(response, Mapping)
        and response.get("status_code") == 200
        and isinstance(response.get("body"), Mapping)
    ):
        return name, Response.construct(**response["body"])
    status = response.get("status_code") if isinstance(response, Mapping) else None
    inner = response.get("body") if isinstance(response, Mapping) else None
    error = (inner.get("error") if isinstance(inner, Mapping) else None) or error
    error = error if isinstance(error, Mapping) else {}
    return name, failure_in_batch(str(error.get("code") or ""), str(error.get("message") or "no reason given"), status)


def _raw(response: Response) -> Content:
    if response.status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details else None
        if reason == "content_filter":
            return lost("refused", "stopped by the provider's content filter")
        return lost("truncated", f"incomplete: {reason or 'no reason given'}")
    if response.status != "completed":
        code = f" ({response.error.code})" if response.error else ""
        return lost("api_error", f"response {response.status}{code}")
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    if any(part.type == "refusal" for part in parts):
        return lost("refused", "refused")
    return "".join(part.text for part in parts if part.type == "output_text")


def tokens_of(usage: Any) -> Tokens | None:
    """Tokens by the usage of a response or a decision; None where it tells nothing."""
    with suppress(AttributeError):
        return Tokens(usage.input_tokens, usage.output_tokens, *cached_and_written(usage.input_tokens_details))
    return None


def cached_and_written(details: Any) -> tuple[int, int]:
    """Tokens of a prompt that came from the cache, and that went into it; 0 where a reply does not tell."""
    read, written = getattr(details, "cached_tokens", None), getattr(details, "cache_write_tokens", None)
    return (read or 0, written or 0)


PROVIDER = Provider(OpenAIJudge, REMOTE, family="openai", price_list=OpenAIJudge.price_list, at_url=None)


class DecisionsJudge(remote.RemoteJudge):
    """A decision model of OpenAI; each question may be refused on its own."""

    kind: RaterKind = "decision_model"
    joint: bool = True
    mechanisms: ClassVar[tuple[str, ...]] = ("decisions",)
    price_list: ClassVar[str | None] = "openai"

    def axes_body(self, prefix: Prefix, n_steps: int, rubrics: Rubrics) -> remote.Body:
        choices = [{"value": word, "description": f"{word}, as the rubric defines it"} for word in VERDICTS]
        return {
            "model": self.model,
            "input": [
                {"type": "message", "role": "developer", "content": INSTRUCTIONS},
                {"type": "message", "role": "user", "content": text_parts(prefix)},
            ],
            "questions": [
                {
                    "type": "choice",
                    "name": axis,
                    "instructions": question(rubric, n_steps),
                    "choices": choices,
                }
                for axis, rubric in rubrics.items()
            ],
            "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
        }

    async def send(self, client: AsyncOpenAI, body: remote.Body) -> Decision:
        return await client.decisions.create(**body)

    def lifecycle(self, model: Model) -> remote.Shutdown | None:
        return shutdown_of(model)

    def read(self, response: Decision, form: str) -> remote.Received:
        return remote.Received(
            content=[(answer.name, _choice(answer)) for answer in response.answers],
            model=response.model,
            call_id=response._request_id,
            tokens=tokens_of(response.usage),
            flags=(ONE_CALL,),
        )

    def axes_answers(self, content: list[tuple[str | None, Answer]], rubrics: Rubrics) -> dict[Axis, Answer]:
        if len(content) != len(rubrics):
            return all_lost(rubrics, "parse_error", f"{len(rubrics)} questions, {len(content)} answers")
        rule = "answers come in question order; expected"
        return {
            axis: answer if name in (axis, None) else lost("parse_error", f"{rule} {axis}, found {name!r}"[:200])
            for axis, (name, answer) in zip(rubrics, content, strict=True)
        }


def _choice(answer: Any) -> Answer:
    if answer.type == "refusal":
        return lost("refused", "the model declined this question")
    if answer.type != "choice":
        return lost("parse_error", f"expected a choice, found {answer.type!r}"[:200])
    probabilities = {each.value: each.probability for each in answer.probabilities}
    if answer.choice not in VERDICTS or set(probabilities) != set(VERDICTS):
        choices = sorted(map(str, {answer.choice, *probabilities}))
        return lost("parse_error", f"choices must be {', '.join(VERDICTS)}; found {choices}"[:200])
    if not all(_is_probability(value) for value in probabilities.values()):
        return lost("parse_error", f"probabilities must lie in [0, 1]; found {probabilities}"[:200])
    return Answer(
        status="ok",
        verdict=answer.choice,
        confidence=float(probabilities[answer.choice]),
        confidence_source="native",
        probabilities={word: float(probabilities[word]) for word in VERDICTS},
    )


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= 1


DECISIONS = Provider(DecisionsJudge, TRANSPORT, family="openai", price_list=DecisionsJudge.price_list, at_url=None)
