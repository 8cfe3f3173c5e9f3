"""What judges behind an API have in common: key, body, one call, and a status for every end.

The SDK is imported at the first call, and its own retries are off: what is asked again, when, and who waits for it is
decided in one place for all judges (`axisjudge.judging.lane`).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from abc import abstractmethod
from collections.abc import AsyncIterator, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, get_args

from axisjudge.checks import InputError, one_of
from axisjudge.judges.answer import Answer, Failure, Reply, all_lost, failure_in_reply, failure_of, not_sent, unreadable
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.lifecycle import Retirement, known_retirement
from axisjudge.judges.pricing import (
    BATCH_SHARE,
    UNPRICED,
    Tokens,
    context_tokens,
    cost_usd,
    is_own_host,
    price_list_version,
)
from axisjudge.judges.prompt import BUDGET, Prefix, shared_prefix
from axisjudge.judges.wire import NOTED, Hook, Noted, api_version, guard
from axisjudge.spec import JudgeSpec
from axisjudge.spec.own_models import OwnPrice, own_model
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis, RaterKind

#: As long as the SDKs wait by themselves; for an answer after long thinking, which is streamed, and for a batch, more.
TIMEOUT_S, LONG_TIMEOUT_S = 600.0, 3_600.0
LIFECYCLE_TIMEOUT_S = 10.0
MAX_TOKENS = 16_000
#: How requests name the most tokens of a reply.
REPLY_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
#: What stands in the place of a key that nobody set: local servers take any.
NO_KEY = "not-a-key"

#: Tokens of an answer about one point, by which a first call is set aside in a small budget.
USUAL_ANSWER = 1_000

#: The form of an answer about axes.
VERDICT = "verdict"

#: Flags of ratings that came by a provider's batch interface; whose cost the reply told; whose reply was mended.
BATCH, STATED_COST, REPAIRED = "batch", "cost_stated", "repaired"

#: Efforts after which minutes may pass before the first word of an answer.
LONG_THINKING = frozenset({"high", "xhigh", "max"})

#: Requests without their record that a judge keeps, to hash others like them: some megabytes.
FRAMES_KEPT = 500
#: Stands for any record: two hashes that occur in no text.
_ANY_PREFIX = Prefix(sha256(b"axisjudge: any text").hexdigest(), sha256(b"axisjudge: any mark").hexdigest())

#: Errors by which a reply of another shape shows: the SDKs do not check one against their own models.
_OTHER_SHAPE = (AttributeError, TypeError, LookupError)
_NOT_OF_THIS_API = "the reply has not the shape of this API"

Body = dict[str, Any]


@dataclass(frozen=True)
class Shutdown:
    """A model is to be shut down, on `date` where the provider names one."""

    date: date | None


@dataclass(frozen=True)
class Received:
    """What a provider sent back: what was said, as the one who called it reads it, and who said it at what expense.

    `stated_usd` is the price that a gateway tells with its reply.
    """

    content: Any
    model: str | None
    call_id: str | None
    tokens: Tokens | None
    flags: tuple[str, ...] = ()
    stated_usd: float | None = None


class BatchStatus(NamedTuple):
    """How far a provider came with a batch; `failure` where it refused the batch as a whole."""

    has_ended: bool
    n_done: int = 0
    failure: Failure | None = None


#: One request of a batch: its own id, and what came back, as the SDK has it, or why nothing did.
BatchResult = tuple[str, Any]


class NoReplyError(Exception):
    """Nothing that can be read came back; `failure` says why, `received` what was paid all the same."""

    def __init__(self, failure: Failure, received: Received | None = None) -> None:
        super().__init__(failure.words)
        self.failure, self.received = failure, received


class RemoteJudge(Judge):
    """A judge behind an API.

    Subclasses say how the request body looks, how it is sent and how a reply is read; `mechanisms` lists the ways in
    which they can force the form of a verdict, `key_env` names the environment variable of the key. Those that write
    (`axisjudge.judges.written`) can be given sheets too.
    """

    kind: RaterKind = "llm"
    mechanisms: ClassVar[tuple[str, ...]]
    #: The SDK: its module, and the name of its client there.
    sdk: ClassVar[str] = "openai"
    client: ClassVar[str] = "AsyncOpenAI"
    key_env: ClassVar[str] = "OPENAI_API_KEY"
    key_required: ClassVar[bool] = True
    price_list: ClassVar[str | None] = None
    #: The highest temperature that the API takes; the lowest is 0.
    hottest: ClassVar[float] = 2.0
    #: Whether the provider has a batch interface that this judge uses (`axisjudge.judging.batch`).
    can_batch: ClassVar[bool] = False
    #: Tokens of a prompt's beginning that a provider's cache keeps, at the least: 1,024 at OpenAI
    #: (https://developers.openai.com/api/docs/guides/prompt-caching) and for most models of Anthropic.
    least_cached: int = 1_024
    #: Whether what is written to the cache costs more than what is not.
    pays_for_writing: bool = False
    #: What is called with every reply as the SDK's transport has it, for who wants its headers.
    on_response: Hook | None = None
    #: Whether a reply has told what it cost: a server in this house may pass on what another one is paid for.
    is_charged: bool = False

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.options = spec.options
        chosen = spec.options.get("mechanism") or self.default_mechanism()
        self.mechanism = one_of(f"mechanism of {spec.rater}", chosen, self.mechanisms)
        self._client: Any = None
        self._frames: dict[tuple[Any, ...], str] = {}

    def check(self) -> None:
        """Look for the key, and refuse options that the model refuses.

        Only judges that are asked need a key; others may be planned without.
        """
        _ = self.key, self.own_price
        if api_version(self.spec.base_url) and self.sdk != "openai":
            rule = "states an api-version, which only interfaces of OpenAI have"
            raise InputError(f"judge {self.rater}", rule, self.spec.base_url, "give the address without it")
        self.check_options()
        if not 0 <= self.options.get("temperature", 0) <= self.hottest:
            raise self.refuses("temperature", f"give one from 0 to {self.hottest:g}")
        window = self.context
        if window is not None and self.options.get("max_tokens", 0) >= window:
            raise self.refuses("max_tokens", f"give less: its context of {window} tokens holds the prompt too")

    def prepare(self) -> None:
        """The same, and connect: before the first call."""
        self.check()
        self._connected()

    def check_options(self) -> None:
        """Refuse options that the model is known, by the SDK and its documentation, to refuse."""

    def check_model(self, model: Any) -> None:
        """Refuse options that the provider's record of the model excludes."""

    def check_effort(self, known: Any) -> None:
        """Refuse an effort that is not among those of the SDK's own type."""
        if "effort" in self.options:
            one_of(f"effort of {self.rater}", self.options["effort"], sorted(_words(known)))

    def refuses(self, option: str, cure: str) -> InputError:
        """The refusal of an option that the model would answer with an error."""
        return InputError(f"judge {self.rater}", f"the model refuses {option}", self.options.get(option), cure)

    def default_mechanism(self) -> str:
        return self.mechanisms[0]

    @property
    def provider_address(self) -> str:
        return self.spec.base_url or self.price_list or self.spec.provider

    @property
    def longest_reply(self) -> int:
        """Tokens that a reply may take where nothing else is asked for."""
        return MAX_TOKENS

    def record_budget(self, rubrics: Rubrics) -> int:
        """Characters that a fenced trajectory may take beside these rubrics."""
        return BUDGET

    def prefix(self, trajectory: Trajectory, rubrics: Rubrics) -> Prefix:
        return shared_prefix(trajectory, budget=self.record_budget(rubrics))

    def worst_usd(self, n_bytes: int, n_points: int = 1, reply_tokens: int = 0) -> float | None:
        output = int(self.options.get("max_tokens", max(self.longest_reply, reply_tokens)))
        prices = [self.price(Tokens(n_bytes, output)), self.price(Tokens(n_bytes, output, cache_write=n_bytes))]
        known = [price for price in prices if price is not None]
        return max(known) if known else 0.0 if self.is_own_server and not self.is_charged else None

    def usual_usd(self, n_letters: int, n_points: int = 1) -> float | None:
        """The price of a usual answer (`USUAL_ANSWER` tokens a point) to a prompt of three letters a token."""
        n_tokens = n_letters // 3
        return self.price(Tokens(n_tokens, USUAL_ANSWER * n_points, cache_write=n_tokens))

    @property
    def is_own_server(self) -> bool:
        """Whether it runs on this machine or in this house, where no list has prices."""
        return self.spec.base_url is not None and is_own_host(self.spec.base_url)

    def price(self, tokens: Tokens, returned_model: str | None = None) -> float | None:
        """US dollars by the user's price, else by the list price; None where the model has none."""
        if self.own_price is not None:
            return self.own_price.usd(tokens)
        provider = None if self.spec.base_url else self.price_list
        return cost_usd(tokens, returned_model, self.model, provider=provider, url=self.spec.base_url)

    def origins(self) -> dict[str, str]:
        """What is taken from where: family, price, context, end and address of the model."""
        stated = own_model(self.spec.provider, self.model)
        by_user = f"models.toml, {stated.source}, {stated.read_on}" if stated else ""
        family_by = by_user if stated and stated.family == self.family else "the spec or the model's name"
        mine, million = self.own_price, Tokens(1_000_000, 1_000_000)
        ends = [self.price(Tokens(1_000_000, 0)), self.price(million)]
        price, price_by = "unknown", "no list has one"
        if mine is not None:
            price_by = "the spec" if "price" in self.options else by_user
            price = f"${mine.input:g} in, ${mine.output:g} out"
        elif self.is_charged:
            price, price_by = "told with each reply", "the server"
        elif self.is_own_server:
            price, price_by = "none", "a server in this house"
        elif ends[0] is not None and ends[1] is not None:
            price, price_by = f"${ends[0]:g} in, ${ends[1] - ends[0]:g} out", f"genai-prices {price_list_version()}"
        given = self.options.get("context")
        window = given or self.context_told or self.context
        window_by = "the server" if self.context_told else by_user if stated and stated.context else "the price list"
        window_by = "as its server was started" if given else window_by
        return {
            "family": f"{self.family} ({family_by})",
            "price a million tokens": f"{price} ({price_by})",
            "context": f"{window:,} tokens ({window_by})" if window else "not known",
            "address": self.address,
        }

    @property
    def address(self) -> str:
        """Where the judge is asked; an address that the SDK takes from the environment is told with its variable."""
        variable = f"{self.sdk.upper()}_BASE_URL"
        if self.base_url is None and self.price_list is not None and (by_environment := os.environ.get(variable)):
            return f"{by_environment} ({variable})"
        return self.base_url or "the provider's own"

    @property
    def context(self) -> int | None:
        """Tokens that prompt and reply may have together, by models.toml, else by the price list."""
        stated = own_model(self.spec.provider, self.model)
        if stated is not None and stated.context is not None:
            return stated.context
        return context_tokens(self.model, self.price_list, self.spec.base_url)

    @cached_property
    def own_price(self) -> OwnPrice | None:
        """The price that the user gave: in the spec (``price=IN/OUT``), else in models.toml."""
        if "price" in self.options:
            return OwnPrice.parse(f"price of {self.rater}", self.options["price"])
        stated = own_model(self.spec.provider, self.model)
        return None if stated is None else stated.price

    @property
    def axes_form(self) -> str:
        """The form of an answer about axes."""
        return VERDICT

    @abstractmethod
    def axes_body(self, prefix: Prefix, n_steps: int, rubrics: Rubrics) -> Body:
        """The request for axes: messages, schema, mechanism and parameters, nothing of transport."""

    @abstractmethod
    def axes_answers(self, content: Any, rubrics: Rubrics) -> Mapping[Axis, Answer]:
        """The answers in what `read` found in a reply about axes."""

    def api_error(self) -> type[Exception]:
        """The root of the SDK's own errors; nothing else is caught."""
        error: type[Exception] = import_module(self.sdk).APIError
        return error

    @abstractmethod
    async def send(self, client: Any, body: Body) -> Any:
        """Make the call."""

    def lifecycle(self, model: Any) -> Shutdown | None:
        """What a provider's record of a model says of its end; None where it has none."""
        return None

    @abstractmethod
    def read(self, response: Any, form: str) -> Received:
        """What the SDK's response says; `form` names the form of answer that was asked for."""

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """Hash of the request body, in which the trajectory is present by its own hash (taken once for all axes).

        A plan hashes every request before the first call: what runs of one length share is written out once.
        """
        prefix, n_steps = self.prefix(trajectory, rubrics), len(trajectory.steps)
        asked = (self.mechanism, n_steps, *((axis, rubric.text) for axis, rubric in rubrics.items()))
        if (frame := self._frames.get(asked)) is None:
            if len(self._frames) >= FRAMES_KEPT:
                self._frames.clear()
            frame = self._frames[asked] = self._as_json(self.axes_body(_ANY_PREFIX, n_steps, rubrics))
        body = frame.replace(_ANY_PREFIX.text, prefix.by_hash.text).replace(_ANY_PREFIX.mark, prefix.mark)
        return sha256(body.encode()).hexdigest()

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        body = self.request(trajectory, rubrics)
        if isinstance(body, Reply):
            return body
        begun, flags = time.perf_counter(), self.prefix(trajectory, rubrics).flags
        try:
            received = await self._asked(body, self.axes_form)
        except NoReplyError as end:
            return self._failed(rubrics, end, begun, flags)
        return self._reply(self.axes_answers(received.content, rubrics), received, begun, flags)

    async def _asked(self, body: Body, form: str) -> Received:
        """Make one call; NoReplyError where nothing that has the shape of a reply came back."""
        noted = Noted()
        NOTED.set(noted)
        client = self._connected()
        try:
            async with asyncio.timeout(self.deadline_s(body)):
                response = await self.send(client, body)
        except TimeoutError as error:
            words = f"no whole reply within {self.deadline_s(body):g} s (timeout=SECONDS sets it)"
            raise NoReplyError(Failure("timeout", words, maybe_paid=True)) from error
        except NoReplyError as error:
            raise NoReplyError(self.with_cure(error.failure), error.received) from error
        except (ValueError, RecursionError) as error:  # the SDKs let these through, of a number of 5,000 digits too
            raise NoReplyError(unreadable("the server's reply is not JSON")) from error
        except _OTHER_SHAPE as error:
            raise NoReplyError(unreadable(_NOT_OF_THIS_API)) from error
        except Exception as error:  # of the SDK or its transport
            raise NoReplyError(self.failure_of(error)) from error
        if isinstance(response, str):
            raise NoReplyError(unreadable(_NOT_OF_THIS_API, response))
        try:
            received = self._received(response, form)
        except NoReplyError as error:
            raise NoReplyError(self.with_cure(error.failure), error.received) from error
        usd = noted.usd if received.stated_usd is None else received.stated_usd
        flags = (*received.flags, *(f"{REPAIRED}:{each}" for each in noted.repairs))
        return replace(received, flags=flags, stated_usd=usd)

    def failure_of(self, error: Exception) -> Failure:
        """The failure that an error of the SDK or its transport stands for; any other one is raised."""
        failure = failure_of(error, self.key)
        if failure is None and not isinstance(error, self.api_error()):
            raise error
        return self.with_cure(failure or unreadable(type(error).__name__))

    def with_cure(self, failure: Failure) -> Failure:
        """The same failure and what mends it: one of the key names the variable that the key was read from."""
        if failure.kind != "key":
            return failure
        name = self.options.get("key_env", self.key_env)
        held = "holds a key that it does not take" if self.key != NO_KEY else "is not set, and it wants a key"
        return replace(failure, words=f"{failure.words}: the environment variable {name} {held}")

    def deadline_s(self, body: Body) -> float:
        """Seconds that a call may take from its first byte to its last."""
        return float(self.options.get("timeout", LONG_TIMEOUT_S if self.is_long(body) else TIMEOUT_S))

    def is_long(self, body: Body) -> bool:
        """Whether minutes may pass before the first word of an answer: such a call is streamed."""
        return self.options.get("effort") in LONG_THINKING or self.reply_limit(body) > MAX_TOKENS

    def reply_limit(self, body: Body) -> int:
        """The most tokens that a reply to this request may have."""
        return int(next((body[name] for name in REPLY_LIMITS if name in body), 0))

    def _received(self, response: Any, form: str) -> Received:
        if error := getattr(response, "error", None):  # some tell under status 200 that they failed
            received = None
            with suppress(*_OTHER_SHAPE, NoReplyError):
                received = self.read(response, form)
            raise NoReplyError(failure_in_reply(error, self.key), received)
        try:
            received = self.read(response, form)
        except _OTHER_SHAPE as error:
            raise NoReplyError(unreadable(_NOT_OF_THIS_API)) from error
        model, call_id = (each if isinstance(each, str) else None for each in (received.model, received.call_id))
        return replace(received, model=model, call_id=call_id)

    def request(self, trajectory: Trajectory, rubrics: Rubrics) -> Body | Reply:
        """What is sent for axes of a run; a reply where it is too long to be sent."""
        prefix = self.prefix(trajectory, rubrics)
        unsent = not_sent(prefix, rubrics)
        return unsent if unsent is not None else self.axes_body(prefix, len(trajectory.steps), rubrics)

    def reply_from_batch(self, result: Any, trajectory: Trajectory, rubrics: Rubrics) -> Reply:
        """The reply in what a batch brought for one request, at the price of a batch."""
        begun, flags = time.perf_counter(), (*self.prefix(trajectory, rubrics).flags, BATCH)
        try:
            if isinstance(result, Failure):
                raise NoReplyError(self.with_cure(result))
            received = self._received(result, self.axes_form)
            reply = self._reply(self.axes_answers(received.content, rubrics), received, begun, flags)
        except NoReplyError as end:
            reply = self._failed(rubrics, end, begun, flags)
        return replace(reply, latency_s=None, cost_usd=None if reply.cost_usd is None else reply.cost_usd * BATCH_SHARE)

    async def submit_batch(self, requests: Mapping[str, Body], tag: str) -> str:
        """Hand in requests by their ids; the provider's name for the batch. `tag` is ours."""
        raise NotImplementedError

    async def find_batch(self, tag: str, n_requests: int, since: datetime, known: Container[str]) -> str | None:
        """A batch that was handed in when nobody was left to note its name."""
        raise NotImplementedError

    async def batch_status(self, batch: str) -> BatchStatus:
        """How far a batch is."""
        raise NotImplementedError

    def batch_results(self, batch: str) -> AsyncIterator[BatchResult]:
        """What a batch brought: for each id the SDK's response, or a `Failure`."""
        raise NotImplementedError

    def _sha256_of(self, body: Body) -> str:
        return sha256(self._as_json(body).encode()).hexdigest()

    def _as_json(self, body: Body) -> str:
        asked = {name: value for name, value in body.items() if name != "prompt_cache_key"}  # no part of the question
        return json.dumps([self.mechanism, asked], sort_keys=True, ensure_ascii=False)

    def _failed(self, points: Iterable[str], end: NoReplyError, begun: float, flags: tuple[str, ...] = ()) -> Reply:
        answers = all_lost(points, end.failure.status, end.failure.words)
        if end.received is not None and end.received.tokens is not None:
            return replace(self._reply(answers, end.received, begun, flags), failure=end.failure)
        return Reply(answers, latency_s=time.perf_counter() - begun, flags=flags, failure=end.failure)

    async def retirement(self) -> Retirement | None:
        """What the provider's models endpoint says, else what data/lifecycle.toml says of this model.

        Asked once, without retries: a provider that does not tell is no reason not to judge.
        """
        if self.price_list is None:  # a server of the user's own keeps its models as long as it likes
            return None
        client = self._connected().with_options(timeout=LIFECYCLE_TIMEOUT_S)
        known = known_retirement(self.spec.provider, self.model)
        try:
            async with asyncio.timeout(LIFECYCLE_TIMEOUT_S):
                model = await client.models.retrieve(self.model)
            self.check_model(model)
            self.is_confirmed = isinstance(model.id, str)
            stated = self.lifecycle(model)
        except InputError:
            raise
        except Exception:  # whatever it answers, or its transport does
            return known
        if stated is None:
            return None
        successor, source = known.successor if known else None, "the provider's models endpoint"
        return Retirement(self.price_list, self.model or "", stated.date, successor, source, datetime.now(UTC).date())

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    @property
    def transport(self) -> dict[str, Any]:
        """Arguments of the SDK's client."""
        arguments = {
            "api_key": self.key,
            "timeout": self.options.get("timeout", TIMEOUT_S),
            "max_retries": 0,
            # two thirds of the default's processor time, which looks at all its connections for every call
            "http_client": import_module(self.sdk).DefaultAioHttpClient(follow_redirects=False),
        }
        if self.base_url is not None:
            arguments["base_url"] = self.base_url
        if version := api_version(self.spec.base_url):
            arguments |= {"api_version": version, "base_url": str(self.spec.base_url).partition("?")[0]}
        return arguments

    @property
    def client_name(self) -> str:
        """The SDK's client; Azure's where the address states a version of its interface."""
        return "AsyncAzureOpenAI" if api_version(self.spec.base_url) else self.client

    @property
    def base_url(self) -> str | None:
        """The server's address; None for the provider's own."""
        return self.spec.base_url

    def _connected(self) -> Any:
        if self._client is None:
            transport = self.transport
            self._client = getattr(import_module(self.sdk), self.client_name)(**transport)
            guard(transport["http_client"], self._client.base_url, self.on_response)
        return self._client

    @cached_property
    def key(self) -> str:
        """The key from the environment; it is kept in memory alone."""
        name = self.options.get("key_env", self.key_env)
        if key := os.environ.get(name, "").strip():
            if key.isascii() and key.isprintable():
                return key
            rule = f"has a key in the environment variable {name} with letters that no key has (a quote, a line break)"
            raise InputError(f"judge {self.rater}", rule, cure="copy it again")
        if self.key_required or "key_env" in self.options:
            raise InputError(f"judge {self.rater}", f"needs a key in the environment variable {name}", cure="set it")
        return NO_KEY

    def _keyless(self, text: str | None) -> str | None:
        """The text of a server that may echo what it was sent, without the key; a word that stands for one is none."""
        return text.replace(self.key, "[key]") if text and len(self.key) > len(NO_KEY) else text

    def _reply(
        self, answers: Mapping[Any, Answer], received: Received, begun: float, flags: tuple[str, ...] = ()
    ) -> Reply:
        """What a call brought; its cost by the list price."""
        keyless, model, call_id = self._keyless, self._keyless(received.model), self._keyless(received.call_id)
        answers = {
            point: replace(each, rationale=keyless(each.rationale)) if self.key in (each.rationale or "") else each
            for point, each in answers.items()
        }
        flags += received.flags
        tokens = received.tokens if received.tokens is not None and received.tokens.can_be else None
        cost = None if tokens is None else self.price(tokens, model)
        if received.stated_usd is not None and self.own_price is None:
            cost, flags = received.stated_usd, (*flags, STATED_COST)
            self.is_charged |= cost > 0
        return Reply(
            answers=answers,
            returned_model=model,
            input_tokens=tokens.input if tokens else None,
            cached_tokens=tokens.cache_read if tokens and tokens.tells_cache else None,
            output_tokens=tokens.output if tokens else None,
            cost_usd=cost,
            latency_s=time.perf_counter() - begun,
            call_id=call_id or uuid.uuid4().hex,
            flags=flags if cost is not None else (*flags, UNPRICED),
        )


def _words(kind: Any) -> set[str]:
    """The words of a Literal, however deep it stands in a type."""
    words = {each for each in get_args(kind) if isinstance(each, str)}
    return words.union(*(_words(each) for each in get_args(kind) if not isinstance(each, str)))
