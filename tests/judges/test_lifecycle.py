"""Judges that retire: the provider's endpoint first, then the dates in data/lifecycle.toml."""

import asyncio
import json
import tomllib
from datetime import UTC, date, datetime

import pytest
from judges.servers import made, serving

from axisjudge.checks import InputError
from axisjudge.judges.lifecycle import Retirement, known_retirement, known_retirements
from axisjudge.spec import PANELS
from axisjudge.workbench import home


def told(judge):
    async def once():
        try:
            return await judge.retirement()
        finally:
            await judge.close()

    return asyncio.run(once())


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")


def openai_model(**more):
    return json.dumps({"id": "m", "created": 1, "object": "model", "owned_by": "openai", **more})


def claude_model(lifecycle, retires_at=None):
    dates = {"created_at": "2026-02-17T00:00:00Z", "retires_at": retires_at}
    return json.dumps({"id": "m", "display_name": "M", "lifecycle": lifecycle, "type": "model", **dates})


def test_the_design_text_s_judge_is_known_to_go_and_its_successor_is_in_the_current_panel():
    found = known_retirement("openai", "gpt-5")
    assert (found.retires_on, found.successor) == (date(2026, 12, 11), "gpt-6.1-sol")
    assert known_retirement("openai", "gpt-5-2025-08-07").retires_on == found.retires_on
    assert f"openai:{found.successor}" in PANELS["current"]
    assert "That is in 19 days: bridge it" in found.warning(date(2026, 11, 22))
    assert "That day has passed" in found.warning(date(2026, 12, 11))
    assert known_retirement("openai", "gpt-6.1-sol") is None


def test_raters_of_ratings_are_looked_up_once_each():
    raters = [
        "openai:gpt-5,effort=low",
        "openai:gpt-5,effort=high",
        "openai-decisions:gpt-5",
        "rules",
        "simulated:wren",
    ]
    assert [found.model for found in known_retirements(raters)] == ["gpt-5"]


@pytest.mark.parametrize(
    ("spec", "answer", "day"),
    [
        ("openai:gpt-7", openai_model(shutdown_date="2027-08-01"), date(2027, 8, 1)),
        ("openai-decisions:gpt-7", openai_model(shutdown_date="2027-08-01"), date(2027, 8, 1)),
        ("anthropic:claude-sonnet-4-6", claude_model("deprecated", "2027-02-17T00:00:00Z"), date(2027, 2, 17)),
        ("anthropic:claude-sonnet-4-6", claude_model("deprecated"), None),
    ],
)
def test_the_provider_s_endpoint_is_asked(monkeypatch, spec, answer, day):
    with serving() as server:
        server.models[spec.split(":")[1]] = answer
        found = told(made(spec, server, monkeypatch))
    assert found.retires_on == day
    assert found.read_on == datetime.now(UTC).date()
    assert "the provider's models endpoint" in found.sentence


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("openai:gpt-5", openai_model(shutdown_date=None)),  # the endpoint knows better than a page read earlier
        ("anthropic:claude-sonnet-4-6", claude_model("active")),
    ],
)
def test_a_model_that_stays_gives_nothing(monkeypatch, spec, answer):
    with serving() as server:
        server.models[spec.split(":")[1]] = answer
        assert told(made(spec, server, monkeypatch)) is None


@pytest.mark.parametrize("answer", [None, "[]", '{"shutdown_date": "soon"}', "no JSON"])
def test_an_endpoint_that_does_not_tell_leaves_the_known_date(monkeypatch, answer):
    with serving() as server:
        server.models |= {"gpt-5": answer} if answer else {}
        found = told(made("openai:gpt-5", server, monkeypatch))
    assert found == known_retirement("openai", "gpt-5")


def test_a_record_without_the_field_leaves_the_known_date(monkeypatch):
    """A gateway that knows nothing of shutdowns does not say that there is none."""
    with serving() as server:
        server.models["gpt-5"] = openai_model()
        assert told(made("openai:gpt-5", server, monkeypatch)) == known_retirement("openai", "gpt-5")


def test_judges_that_stay_are_not_asked(monkeypatch):
    with serving() as server:
        assert told(made("rules", server, monkeypatch)) is None
        assert told(made("openai-compatible:qwen3-8b@URL", server, monkeypatch)) is None


def test_each_known_date_has_a_source_and_a_day_of_reading():
    pages = tomllib.loads((home() / "data" / "lifecycle.toml").read_text())["page"]
    assert {page["provider"] for page in pages} == {"openai", "anthropic"}
    for page in pages:
        assert page["source"].startswith("https://")
        assert page["read_on"] <= datetime.now(UTC).date()
    names = [(page["provider"], name) for page in pages for models in page["models"] for name in models["names"]]
    assert len(names) == len(set(names))


def test_a_broken_file_is_named(tmp_path, monkeypatch):
    for mark in ("data", "rubrics", "notebooks"):
        (tmp_path / mark).mkdir()
    (tmp_path / "data" / "lifecycle.toml").write_text("[[page]]\nprovider = 3\n")
    monkeypatch.setenv("AXISJUDGE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"data/lifecycle\.toml: must list pages"):
        known_retirement("openai", "gpt-5")


def test_no_day_is_said_as_no_day():
    found = Retirement("anthropic", "m", None, None, "a page", date(2026, 11, 22))
    assert found.sentence == "anthropic:m is deprecated, no day named (a page, read 2026-11-22)."
    assert "while it answers" in found.warning(date(2026, 11, 22))
