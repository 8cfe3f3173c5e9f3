"""Judge specs, families and the workbench: what users type, and what they are told."""

from pathlib import Path

import pytest

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.spec.judge_spec import PANELS, JudgeSpec, panel, parse_specs
from axisjudge.workbench import home


@pytest.mark.parametrize(
    ("text", "family", "rater"),
    [
        ("rules", "rules", "rules"),
        ("anthropic:claude-sonnet-4-6", "anthropic", "anthropic:claude-sonnet-4-6"),
        ("openai:gpt-5,effort=low,max_tokens=900", "openai", "openai:gpt-5,effort=low,max_tokens=900"),
        ("openai:gpt-5,max_tokens=900,effort=low", "openai", "openai:gpt-5,effort=low,max_tokens=900"),
        ("openai:gpt-5,timeout=5,rpm=60,key_env=MY_KEY", "openai", "openai:gpt-5"),
        (
            "openai-compatible:qwen3-8b@http://localhost:8000/v1",
            "qwen",
            "openai-compatible:qwen3-8b@http://localhost:8000/v1",
        ),
        ("openai-compatible:mine@https://host/v1,family=ours", "ours", "openai-compatible:mine@https://host/v1"),
        ("openai:gpt-5,family=other", "other", "openai:gpt-5"),
        ("simulated:aster,seed=3", "simulated-aster", "simulated:aster,seed=3"),
    ],
)
def test_specs(text, family, rater):
    spec = JudgeSpec.parse(text)
    assert (spec.family, spec.rater) == (family, rater)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anthropc:x", "did you mean 'anthropic'"),
        ("anthropic", "needs a model; write anthropic:NAME"),
        ("rules:x", "rules takes no model"),
        ("rules,seed=1", "option of rules"),
        ("openai:gpt-5,efort=low", "did you mean 'effort'"),
        ("openai:gpt-5,effort", "options are written key=value"),
        ("openai:gpt-5,max_tokens=many", "max_tokens must be a whole number; found 'many'"),
        ("openai:gpt-5,max_tokens=0", "max_tokens must be greater than 0; found '0'"),
        ("openai:gpt-5,rpm=0", "rpm must be greater than 0"),
        ("openai:gpt-5,timeout=-1", "timeout must be greater than 0"),
        ("openai:gpt-5,temperature=nan", "temperature must be a finite number"),
        ("openai:gpt-5,effort=low,effort=high", "effort may be given once; found 'effort=high'"),
        ("openai-compatible:qwen3", "needs a base URL"),
        ("openai-compatible:qwen3@http://me:secret@host/v1", "without user, password or query"),
        ("openai-compatible:homemade@http://host/v1", "add ,family=NAME"),
        ("replay", "needs a ratings file"),
    ],
)
def test_what_a_user_is_told(text, message):
    with pytest.raises(InputError, match=message):
        JudgeSpec.parse(text)


@pytest.mark.parametrize("url", ["http://me:secret@host/v1", "http://host/v1?key=secret", "http://host/v1#secret"])
def test_a_secret_in_a_url_is_refused_and_never_repeated(url):
    """A base URL is part of the rater's name, which stands in every rating."""
    with pytest.raises(InputError, match="needs a base URL without") as told:
        JudgeSpec.parse(f"openai-compatible:qwen3@{url}")
    assert "secret" not in str(told.value)


def test_a_rater_s_name_holds_no_folder_of_this_machine():
    spec = JudgeSpec.parse("simulated:wren,truth=/some/folder/planted.jsonl")
    assert spec.rater == "simulated:wren,truth=planted.jsonl"
    assert spec.options["truth"] == Path("/some/folder/planted.jsonl")


def test_the_same_judge_twice_is_refused():
    with pytest.raises(InputError, match="ask for --repeats"):
        parse_specs(["openai:gpt-5", "openai:gpt-5,timeout=9"])


def test_panels():
    assert [spec.rater for spec in panel("published")] == ["anthropic:claude-sonnet-4-6", "openai:gpt-5"]
    assert all(len({spec.family for spec in panel(name)}) > 1 for name in PANELS)
    with pytest.raises(InputError, match="--panel: must be one of published, current"):
        panel("newest")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-7-sonnet-20250219", "anthropic"),
        ("o4-mini", "openai"),
        ("openai/gpt-4.1-mini", "openai"),
        ("Qwen3-30B-A3B-Instruct-2507", "qwen"),
        ("nvidia/llama-3.1-nemotron-70b", "meta"),
        ("palmyra-x5", "writer"),
        ("grok-4-fast-reasoning", "xai"),
        ("mistralai/Codestral-22B-v0.1", "mistral"),
        ("allenai/OLMo-2-1124-7B-Instruct", "allenai"),
        ("MiniMax-M2", "minimax"),
        ("01-ai/Yi-1.5-34B-Chat", "01-ai"),
        ("us.amazon.nova-lite-v1:0", "amazon"),
        ("ibm-granite/granite-3.1-8b-instruct", "ibm"),
        *[(name, None) for name in ("Yi", "Yi Chen", "nova", "Nova-Brown", "granite worktop", "ernie", "supernova-2")],
        ("opal-2", None),
        ("", None),
        (None, None),
    ],
)
def test_families_by_exact_token(model, family):
    assert family_of(model) == family


def test_the_workbench_is_named_or_found(monkeypatch, tmp_path):
    assert (home() / "rubrics").is_dir()
    monkeypatch.setenv("AXISJUDGE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="AXISJUDGE_HOME: must be a folder that holds rubrics, notebooks, data"):
        home()
