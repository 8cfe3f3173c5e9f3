"""Judges that are functions of the user's own: a prompt in, a verdict out.

A function gives back a word of `VERDICTS`; a tuple of verdict, confidence, rationale and cited steps, or the first of
these; a dict of a `Verdict`'s fields, of which only the verdict is needed, and of confidence_source, probabilities,
status (which says why there is no verdict), usage, returned_model and call_id; a text that holds these as JSON; or a
`Verdict`. All are read as the replies of built-in judges are (numbers in quotes; thought and fences around a text).
"""

from __future__ import annotations

import ast
import asyncio
import contextvars
import inspect
import json
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError, model_validator

from axisjudge.checks import InputError, one_of, positive
from axisjudge.judges.answer import (
    SECRET_NAME,
    Answer,
    Failure,
    Reply,
    Usage,
    all_lost,
    failure_of,
    fault_of,
    keepable,
    lost,
    not_sent,
    reason_of,
)
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.pricing import UNPRICED
from axisjudge.judges.prompt import INSTRUCTIONS, Prefix, question, shared_prefix
from axisjudge.judges.remote import REPAIRED
from axisjudge.judges.written import as_meant, object_in
from axisjudge.rubric import Rubric
from axisjudge.spec.judge_spec import BUILT_IN, JudgeSpec, Provider
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import VERDICTS, Axis, ConfidenceSource, RaterKind, Status, UnitInterval, Verdict, Word

# A function as a judge: `judge_function` wraps it, `FunctionJudge` asks it.


class Prompt(str):
    """A prompt: a string that may be sent as it stands, and what it is made of.

    As for every judge, reward, agent, task, domain and the trajectory's id are not in it.

    Attributes
    ----------
    axis : str
        The axis to be judged.
    instructions, record, question : str
        The three parts of the text: what a judge is told, the trajectory fenced as data, and the axis with its rubric.
        The first two are the same for all axes of a trajectory, so that a provider can keep them.
    rubric : str
        The rubric alone.
    n_steps : int
        Steps of the trajectory; those that may be cited are numbered 0 to n_steps - 1.
    repeat : int
        Which time this is asked, from 0; good for a seed.
    model : str or None
        The model that the judge's spec or its decorator names.
    options : mapping
        The options of the judge's spec.
    """

    axis: Axis
    instructions: str
    record: str
    question: str
    rubric: str
    n_steps: int
    repeat: int
    model: str | None
    options: Mapping[str, Any]

    @classmethod
    def about(cls, axis: Axis, rubric: Rubric, prefix: Prefix, n_steps: int) -> Prompt:
        """The prompt for one axis of a trajectory, asked for the first time."""
        asked = question(rubric, n_steps)
        prompt = cls(f"{INSTRUCTIONS}\n{prefix.text}\n{asked}")
        prompt.axis, prompt.instructions, prompt.record, prompt.question = axis, INSTRUCTIONS, prefix.text, asked
        prompt.rubric, prompt.n_steps = rubric.text, n_steps
        prompt.repeat, prompt.model, prompt.options = 0, None, {}
        return prompt


_IN_ORDER = ("verdict", "confidence", "rationale", "cited_step_indices")
_OF_THE_CALL = ("usage", "returned_model", "call_id")


class _Call(BaseModel):
    """What a dict says of the call itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usage: Usage = Usage()
    returned_model: StrictStr | None = None
    call_id: StrictStr | None = None


class _Returned(BaseModel):
    """What a dict says of the axis."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status = "ok"
    verdict: Word | None = None
    confidence: UnitInterval | None = None
    confidence_source: ConfidenceSource | None = None
    rationale: StrictStr | None = None
    cited_step_indices: tuple[StrictInt, ...] = ()
    probabilities: dict[Word, UnitInterval] | None = None

    @model_validator(mode="after")
    def _verdict_if_ok(self) -> Self:
        if (self.verdict is not None) != (self.status == "ok"):
            raise ValueError("status ok needs a verdict, and no other status carries one")
        return self


def read_returned(returned: object, source: ConfidenceSource) -> tuple[Answer, _Call]:
    """Read what a function gave back: an answer, and what is known of the call.

    Parameters
    ----------
    returned : object
        In one of the forms of this module's text.
    source : str
        Where its confidences come from, unless it says so itself.
    """
    repairs: list[str] = []
    fields = _fields(returned, repairs)
    if fields is None:
        rule = f"must be one of {', '.join(VERDICTS)}, a tuple, a dict or a Verdict"
        return lost("parse_error", f"{rule}; received {_shown(returned)}"), _Call()
    try:
        call = _Call.model_validate({name: fields[name] for name in _OF_THE_CALL if name in fields})
    except ValidationError as error:
        return _unreadable(error, returned), _Call()
    said = {name: value for name, value in fields.items() if name not in _OF_THE_CALL}
    answer = _answer(said, returned, source)
    flags = tuple(f"{REPAIRED}:{each}" for each in dict.fromkeys(repairs))
    return replace(answer, flags=flags) if answer.status == "ok" else answer, call


def _fields(returned: object, repairs: list[str]) -> Mapping[Any, Any] | None:
    """What was given back as a dict, read as any model's reply is; None where it has none of the forms."""
    if isinstance(returned, Verdict):
        return returned.model_dump()
    if isinstance(returned, tuple) and 0 < len(returned) <= len(_IN_ORDER):
        returned = dict(zip(_IN_ORDER, returned, strict=False))
    elif isinstance(returned, str) and returned in VERDICTS:
        returned = {"verdict": returned}
    elif isinstance(returned, str):
        try:
            returned, mended = object_in(returned)
        except (ValueError, RecursionError):
            return None
        repairs += mended
    fields: Mapping[Any, Any] | None = as_meant(returned, repairs) if isinstance(returned, Mapping) else None
    return fields


def _answer(fields: Mapping[Any, Any], returned: object, source: ConfidenceSource) -> Answer:
    try:
        read = _Returned.model_validate(fields)
    except ValidationError as error:
        return _unreadable(error, returned)
    if read.status != "ok":
        return lost(read.status, keepable(read.rationale or "the function says no more"))
    stated = None if read.confidence is None else read.confidence_source or source
    return Answer(**{**read.model_dump(), "confidence_source": stated})


def _unreadable(error: ValidationError, returned: object) -> Answer:
    return lost("parse_error", f"{keepable(fault_of(error))}; received {_shown(returned)}")


def _shown(returned: object) -> str:
    try:
        shown = repr(returned)
    except Exception as error:  # somebody else's __repr__
        shown = f"something whose repr raises {type(error).__name__}"
    return f"{type(returned).__name__} {keepable(shown)}"


#: Where the confidences of each kind of function come from: a model, a model that decides, a program, a trial's noise.
CONFIDENCE_SOURCE: dict[RaterKind, ConfidenceSource] = {
    "llm": "verbalized",
    "decision_model": "native",
    "rules": "rule",
    "simulated": "simulated",
}

#: Kinds that are sent nowhere and cost nothing.
_FREE: tuple[RaterKind, ...] = ("rules", "simulated")

Function = Callable[[Prompt], Any]


def judge_function(
    without_family: object = None,
    /,
    *,
    family: str = "",
    name: str | None = None,
    version: str | None = None,
    model: str | None = None,
    kind: RaterKind = "llm",
    rpm: float | None = None,
    timeout: float | None = None,
) -> Callable[[Function], FunctionJudge]:
    """Make a judge of a function: a prompt in, a verdict out.

    The function is given a `Prompt` (a text, with its parts as attributes) for one axis of one trajectory, and gives
    back a word, a tuple, a dict or a `Verdict` (`axisjudge.judges.plugged` has the forms; a dict may bring
    ``usage``: input_tokens, cached_tokens, output_tokens, cost_usd). It may be async; a plain one runs in threads of
    its own, so that it keeps nobody waiting, and must bear being called from several at once. What it gives back in
    another form is a lost rating with status ``parse_error``; an error that it raises, whatever it is, one with status
    ``api_error``; both say the reason. Lost ratings are asked again on the next run.

    Parameters
    ----------
    family : str
        The model family behind it; it decides what may be called cross-family. A program is a family of its own.
    name : str, optional
        The judge's name in ratings, by default the function's; with a model, ``name:model``. It must be nobody else's:
        neither that of a built-in judge or an installed plug-in, nor that of another judge of the run.
    version : str, optional
        Part of the identity of every rating: another version is asked anew, the same one never twice. By default the
        version is ``source-`` and a hash of the function's source, of the functions and classes of the same module or
        notebook that it reaches, and of the constants that they read there, worked out when a run begins; so an edited
        function is judged anew. What is changed elsewhere (another module, a file, a list, a server) does not show in
        it: give a version then, and raise it.
    model : str, optional
        The model that it asks, part of the judge's name; a reply may say which one answered (``returned_model``).
    kind : str
        ``llm``, ``decision_model``, ``rules`` (a program) or ``simulated``; the last two cost nothing unless they say
        so, the first two are flagged ``unpriced`` where they do not say what a call cost.
    rpm : float, optional
        Calls a minute at most.
    timeout : float, optional
        Seconds after which a call is given up, and lost with status ``api_error``. By default it is waited for.

    Returns
    -------
    callable
        Takes the function and returns a `FunctionJudge`, which can still be called like the function.

    Raises
    ------
    InputError
        A name that is taken or cannot be written in a spec, an unknown kind, a function that takes no prompt.

    Examples
    --------
    >>> @judge_function(family="keywords", kind="rules")
    ... def apologies(prompt):
    ...     return ("incorrect", 0.6, "It apologises.") if "sorry" in prompt.record else "correct"
    >>> apologies.rater, apologies.family
    ('apologies', 'keywords')
    """
    if without_family is not None:
        cure = 'write @axisjudge.judge_function(family="...") above it'
        raise InputError("judge_function", "takes the family behind a function, and then the function", cure=cure)
    one_of("judge_function: kind", kind, CONFIDENCE_SOURCE)
    for key, text in (("family", family), ("version", version), ("model", model)):
        if key == "family" or text is not None:
            _check_text(key, text)
    limits = {"rpm": rpm, "timeout": timeout}
    options = {key: positive(f"judge_function: {key}", limit) for key, limit in limits.items() if limit is not None}

    def wrap(function: Function) -> FunctionJudge:
        called = _check_text("name", getattr(function, "__name__", None) if name is None else name)
        _check_takes_a_prompt(called, function)
        spec = JudgeSpec(provider=called, model=model, family=family, options=options)
        return FunctionJudge(spec, function, kind=kind, version=version)

    return wrap


class FunctionJudge(Judge):
    """A judge that asks a function; made by `judge_function`.

    Named by an entry point it is a provider: ``mine:MODEL`` gives the function prompts whose `model` is MODEL.
    """

    def __init__(
        self, spec: JudgeSpec, function: Function, *, kind: RaterKind = "llm", version: str | None = None
    ) -> None:
        super().__init__(spec)
        self.function, self.kind, self._given_version = function, kind, version
        self.mechanism = "function"
        self.version = version or source_version(function)
        self.__doc__ = function.__doc__

    def __call__(self, prompt: Prompt) -> Any:
        """What the function says."""
        return self.function(prompt)

    def __repr__(self) -> str:
        return f"<judge {self.rater}, family {self.family}, version {self.version}>"

    @property
    def provider(self) -> Provider:
        """What this judge stands for where an entry point names it."""
        free = self.kind in _FREE
        return Provider(self._for_spec, {"timeout": float}, family=self.family, model_required=False, free=free)

    def as_it_is_now(self) -> FunctionJudge:
        """The same judge with the version that its source has now: what it reaches may have been edited since."""
        return FunctionJudge(self.spec, self.function, kind=self.kind, version=self._given_version)

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """Hash of the prompt, in which the trajectory is present by its own hash."""
        prefix = shared_prefix(trajectory).by_hash
        asked = [Prompt.about(axis, rubric, prefix, len(trajectory.steps)) for axis, rubric in rubrics.items()]
        return sha256(json.dumps(asked).encode()).hexdigest()

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        prefix = shared_prefix(trajectory)
        if (unsent := not_sent(prefix, rubrics)) is not None:
            return unsent
        ((axis, rubric),) = rubrics.items()
        prompt = Prompt.about(axis, rubric, prefix, len(trajectory.steps))
        prompt.repeat, prompt.model, prompt.options = repeat, self.model, dict(self.spec.options)
        begun, seconds = time.perf_counter(), self.spec.options.get("timeout")
        try:
            async with asyncio.timeout(seconds) as limit:
                reply = await self._asked(prompt)
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if _is_stop(error):
                raise
            failure = failure_of(error)
            reason = failure.words if failure else reason_of(error)
            if limit.expired():
                reason = f"no answer within {seconds:g} s"
                failure = Failure("timeout", reason, maybe_paid=True)
            answers = all_lost(rubrics, failure.status if failure else "api_error", reason)
            return Reply(answers, latency_s=time.perf_counter() - begun, flags=prefix.flags, failure=failure)
        return self._reply(axis, *read_returned(reply, CONFIDENCE_SOURCE[self.kind]), begun, prefix.flags)

    async def _asked(self, prompt: Prompt) -> Any:
        if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(type(self.function).__call__):
            return await self.function(prompt)
        reply = await _in_thread(self.function, prompt)
        return await reply if inspect.isawaitable(reply) else reply

    def _reply(self, axis: Axis, answer: Answer, call: _Call, begun: float, flags: tuple[str, ...]) -> Reply:
        usage = call.usage.model_dump()
        cost = 0.0 if usage["cost_usd"] is None and self.kind in _FREE else usage["cost_usd"]
        return Reply(
            answers={axis: answer},
            **{**usage, "cost_usd": cost},
            returned_model=call.returned_model,
            latency_s=time.perf_counter() - begun,
            call_id=call.call_id or uuid.uuid4().hex,
            flags=flags if cost is not None else (*flags, UNPRICED),
        )

    def _for_spec(self, spec: JudgeSpec) -> FunctionJudge:
        """The judge that a spec names, with what this one was given where the spec says nothing."""
        changes = {"model": spec.model or self.model, "options": {**self.spec.options, **spec.options}}
        named = spec.model_copy(update=changes)
        return FunctionJudge(named, self.function, kind=self.kind, version=self._given_version)


async def _in_thread(function: Function, prompt: Prompt) -> Any:
    """Call a plain function in a thread of its own.

    A thread for every call under way, not a pool: the run's own ceiling is the only one, and a call that is given up
    does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(reply: Any, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((reply, error))

    def call() -> None:
        reply, error = None, None
        try:
            reply = context.run(function, prompt)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the run has ended, and its loop with it
            loop.call_soon_threadsafe(settle, reply, error)

    threading.Thread(target=call, daemon=True).start()
    reply, error = await outcome
    if error is not None:
        raise error
    return reply


def _is_stop(error: BaseException) -> bool:
    """Whether a cancellation came from the run (it was interrupted) and not out of the function."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _check_text(key: str, text: object) -> str:
    """A text that can stand in a rating and, as the head of a spec, on a command line."""
    if not isinstance(text, str) or not text.strip() or text != text.strip() or not text.isprintable():
        raise InputError(f"judge_function: {key}", "must be one line of text, not empty", text)
    if key in ("name", "model") and ("," in text or text == "<lambda>"):
        raise InputError(f"judge_function: {key}", "must be a name without commas", text, f"give a {key}")
    if key == "name" and text.partition(":")[0] in BUILT_IN:
        raise InputError("judge_function: name", "is the name of a built-in judge", text, "give it one of its own")
    return text


def _check_takes_a_prompt(name: str, function: object) -> None:
    if not callable(function):
        raise InputError(f"judge_function {name}", "wraps a function", function)
    try:
        inspect.signature(function).bind("a prompt")
    except TypeError as error:
        raise InputError(f"judge_function {name}", f"the function is called with the prompt alone ({error})") from None
    except ValueError:  # a function that is not written in Python and does not tell
        return


# The version of a function that has none given: a hash of what it is made of.


_DIGITS = 12
_CONSTANTS = (str, bytes, int, float, complex, bool, type(None))


def source_version(function: Callable[..., Any]) -> str:
    """``source-`` and the first digits of a hash of the function's source and of what it reaches by name.

    Raises
    ------
    InputError
        The function is not written in Python.
    """
    seen: dict[str, str] = {}
    for root in _roots(function):
        _collect(root, seen)
    if not seen:
        rule = "its source cannot be read, so that an edit would not be noticed"
        raise InputError("judge_function", rule, getattr(function, "__name__", function), "give it a version")
    text = "\n".join(f"{name}\n{part}" for name, part in sorted(seen.items()))
    return f"source-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _roots(function: Any) -> Iterator[Any]:
    """The functions behind a callable; what a partial or an object adds stands beside them as constants."""
    if isinstance(function, partial):
        yield from _roots(function.func)
        yield ("arguments", (function.args, tuple(sorted(function.keywords.items()))))
    elif isinstance(function, MethodType):
        yield function.__func__
        yield from _state(function.__self__)
    elif isinstance(function, FunctionType | type):
        yield function
    elif isinstance(vars(type(function)).get("__call__"), FunctionType):
        yield type(function)
        yield from _state(function)


def _state(instance: object) -> Iterator[tuple[str, Any]]:
    yield (
        type(instance).__qualname__,
        tuple(
            (name, value)
            for name, value in sorted(getattr(instance, "__dict__", {}).items())
            if _is_constant(name, value)
        ),
    )


def _collect(part: Any, seen: dict[str, str]) -> None:
    if isinstance(part, tuple):
        name, value = part
        seen[f"constant {name}"] = _stable(value)
        return
    key = f"{part.__module__}.{part.__qualname__}"
    if key in seen:
        return
    seen[key] = _source(part)
    if isinstance(part, type):
        methods = [inspect.unwrap(each) for each in vars(part).values() if isinstance(each, FunctionType)]
        for method in methods:
            _reach(method, seen)
    else:
        _reach(inspect.unwrap(part), seen)


def _reach(function: FunctionType, seen: dict[str, str]) -> None:
    """What a function reads by name: from its module, and from the functions around it."""
    codes = list(_codes(function.__code__))
    assigned = {name for code in codes for name in _assigned(code)}
    names = sorted({name for code in codes for name in (*code.co_names, *code.co_freevars)} - assigned)
    around = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in names:
        if name in around:
            try:
                value = around[name].cell_contents
            except ValueError:  # not assigned yet
                continue
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        value = getattr(value, "__dict__", {}).get("__wrapped__", value)  # a cached helper, say
        if _is_constant(name, value):
            seen[f"constant {name}"] = _stable(value)
        elif isinstance(value, FunctionType | type) and value.__module__ == function.__module__:
            _collect(value, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _assigned(code: CodeType) -> Iterator[str]:
    """Global names, and names of functions around it, that a function assigns to: a counter, say."""
    import dis

    for step in dis.get_instructions(code):
        is_around = step.opname == "STORE_DEREF" and step.argval in code.co_freevars
        if is_around or step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield str(step.argval)


def _is_constant(name: str, value: object) -> bool:
    return not SECRET_NAME.search(name) and _is_plain(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return type(value) in (tuple, frozenset) and all(map(_is_plain, value))
    return type(value) in _CONSTANTS


def _stable(value: object) -> str:
    """A text of a constant that is the same in every process; sets have no order of their own."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_stable, value)))}}}"
    return f"({', '.join(map(_stable, value))})" if isinstance(value, tuple) else repr(value)


def _source(part: Any) -> str:
    """The source of a function or class without its decorators; of one without a source, its compiled code."""
    try:
        text = textwrap.dedent(inspect.getsource(part))
    except (OSError, TypeError):
        return _compiled(part)
    try:
        first = ast.parse(text).body[0]
    except SyntaxError:  # a lambda in the middle of an expression
        return text
    if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "\n".join(text.splitlines()[first.lineno - 1 :])
    return text


def _compiled(part: Any) -> str:
    if isinstance(part, type):
        methods = [each for each in vars(part).values() if isinstance(each, FunctionType)]
        return "\n".join(map(_compiled, methods))
    return "\n".join(
        repr((code.co_code, code.co_names)) + _stable(tuple(c for c in code.co_consts if not isinstance(c, CodeType)))
        for code in _codes(part.__code__)
    )
