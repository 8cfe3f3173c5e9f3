"""Every body that is sent is one that its provider describes: by OpenAI's own description, else by the SDK's types."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from judges.servers import Scripted, made, serving

from axisjudge.judges.prompt import CallPrompt, shared_prefix
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

Body = dict[str, Any]

#: All that options can change in a body, for each judge: mechanisms, forms, thinking, limits.
OPTIONS = {
    "openai:gpt-5": ("", ",effort=high", ",effort=none,temperature=0", ",one_call=true", ",max_tokens=60000"),
    "openai:gpt-6.1-sol": ("", ",effort=low,max_tokens=900", ",one_call=true"),
    "openai-compatible:qwen3-8b@URL": ("", ",temperature=0,seed=5", ",one_call=true", ",effort=low,context=32768"),
    "anthropic:claude-sonnet-4-6": (
        "",
        ",effort=low,temperature=0.2",
        ",one_call=true",
        ",mechanism=json_schema_output",
    ),
    "anthropic:claude-sonnet-5-5": ("", ",effort=max", ",one_call=true"),
    "anthropic:claude-3-5-haiku-20241022": ("",),
    "openai-decisions:gpt-6-luna": ("",),
}
EVERY = [f"{spec}{option}" for spec, options in OPTIONS.items() for option in options]

#: The first spec of each kind on every run, all of them in the slow tests.
how_many = pytest.mark.parametrize("most", [1, pytest.param(len(EVERY), marks=pytest.mark.slow)])


def specs(head: str, most: int) -> list[str]:
    return [spec for spec in EVERY if spec.startswith(head)][:most]


@pytest.fixture
def bodies(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Iterator[Body]]:
    """What a judge sends for axes and, where it writes, for a sheet; as the SDK puts it on the wire."""

    def sent(spec: str) -> Iterator[Body]:
        with serving(Scripted("{}", status=400)) as server:
            judge = made(spec, server, monkeypatch)
            asked = rubrics if judge.joint else {"termination": rubrics["termination"]}
            made_bodies = [judge.request(trajectory, asked)]
            if hasattr(judge, "body"):
                schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
                page = CallPrompt(
                    "Judge.", shared_prefix(trajectory), "How?", "signals", schema, "Write it down.", 9_000, True
                )
                made_bodies.append(judge.body(page))

            async def send() -> None:
                for body in made_bodies:
                    with pytest.raises(judge.api_error()):
                        await judge.send(judge._connected(), body)
                await judge.close()

            asyncio.run(send())
            yield from server.requests

    return sent


@pytest.fixture(scope="module")
def described(oracles: Path) -> Any:
    text = gzip.decompress((oracles / "openai_openapi.json.gz").read_bytes()).decode()
    return json.loads(text.replace('"oneOf"', '"anyOf"'))  # its alternatives overlap: a message fits two of them


@how_many
@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
def test_bodies_are_such_as_openai_s_own_description_takes(
    path: str, most: int, described: Any, bodies: Callable[[str], Iterator[Body]]
) -> None:
    import jsonschema

    content = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**content, "components": described["components"]})
    known = properties(content, described)
    assert list(validator.iter_errors({"model": 7}))  # the description does refuse something
    head = {"/responses": "openai:", "/chat/completions": "openai-compatible:"}[path]
    for spec in specs(head, most):
        for body in bodies(spec):
            faults = [f"{list(fault.path)}: {fault.message[:200]}" for fault in validator.iter_errors(body)]
            assert (spec, faults) == (spec, [])
            assert set(body) <= known, (spec, set(body) - known)


def properties(schema: Mapping[str, Any], described: Any) -> set[str]:
    """All fields that a schema names, through its references and parts."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return properties(described["components"]["schemas"][name], described)
    parts = [properties(part, described) for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key, [])]
    return set(schema.get("properties", {})).union(*parts)


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@how_many
@pytest.mark.parametrize("head", ["anthropic:", "openai-decisions:"])
def test_bodies_are_such_as_the_sdk_s_types_take(head: str, most: int, bodies: Callable[[str], Iterator[Body]]) -> None:
    from pydantic import TypeAdapter, ValidationError

    if head == "anthropic:":
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Params
    else:
        from openai.types import DecisionCreateParams as Params
    adapter: TypeAdapter[Any] = TypeAdapter(Params)
    with pytest.raises(ValidationError):
        adapter.validate_python({"model": None})
    for spec in specs(head, most):
        for body in bodies(spec):
            known = {*Params.__annotations__, "stream", "temperature"}
            assert set(body) <= known, (spec, set(body) - known)
            adapter.validate_python({name: value for name, value in body.items() if name != "stream"})


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
def test_strict_tools_are_sent_where_the_model_takes_them(bodies: Callable[[str], Iterator[Body]]) -> None:
    sent = {spec: next(bodies(spec)) for spec in ("anthropic:claude-sonnet-4-6", "anthropic:claude-3-5-haiku-20241022")}
    assert [body["tools"][0].get("strict") for body in sent.values()] == [True, None]
    assert next(bodies("openai:gpt-5"))["text"]["format"]["strict"] is True
