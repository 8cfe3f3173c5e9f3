"""Functions as judges: what they may give back, how they are lost, how many run at once, and when they are new."""

import asyncio
import functools
import importlib.util
import json
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from judging.worlds import trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges.prompt import BUDGET, INSTRUCTIONS
from axisjudge.rubric import load_rubric
from axisjudge.trajectory import Step
from axisjudge.verdict import AXES, Verdict

RUBRIC = {"sequencing": load_rubric("sequencing")}


def judged(function, trajectory=None, **how):
    """The rating of one call of a function."""
    wrapped = axisjudge.judge_function(**{"name": "mine", "family": "f", **how})(function)
    (row,) = axisjudge.judge([trajectory or trajectories(1)[0]], [wrapped], ["sequencing"], progress=False).to_dicts()
    return row


def test_a_model_of_another_family_that_answered_is_said():
    def says(model):
        return lambda _: {"verdict": "correct", "returned_model": model}

    assert judged(says("gpt-5-2025"), family="openai")["family"] == "openai"
    assert judged(says("house-model-7"), family="openai")["verdict"] == "correct"
    with pytest.warns(UserWarning, match="family openai, and claude-opus-4-1 answered, of the family anthropic"):
        judged(says("claude-opus-4-1"), family="openai")


WORDY = Verdict(rationale="why", cited_step_indices=[0, 1], verdict="uncertain", confidence=0.5)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("not_applicable", {"verdict": "not_applicable", "confidence": None, "confidence_source": None}),
        (("correct",), {"verdict": "correct", "confidence": None}),
        (("correct", 0.25, "why", [1]), {"confidence": 0.25, "rationale": "why", "cited_step_indices": [1]}),
        (("correct", None, "why"), {"confidence": None, "rationale": "why"}),
        (
            ("correct", np.float32(0.5), "why", [np.int64(1), np.int32(0)]),
            {"confidence": 0.5, "cited_step_indices": [1, 0], "flags": ["unpriced"]},
        ),
        (("correct", "50%", "why", np.array([1])), {"confidence": 0.5, "cited_step_indices": [1]}),
        (
            {"verdict": "Correct", "confidence": "high", "usage": {"input_tokens": np.int64(7)}},
            {
                "verdict": "correct",
                "confidence": None,
                "confidence_source": None,
                "input_tokens": 7,
                "flags": ["unpriced", "repaired:letters", "repaired:confidence_in_words"],
            },
        ),
        ({"verdict": "incorrect", "confidence": 1}, {"confidence": 1.0, "confidence_source": "verbalized"}),
        (
            {"verdict": "correct", "confidence": 0.5, "confidence_source": "token_probability"},
            {"confidence_source": "token_probability"},
        ),
        ({"verdict": "correct", "probabilities": {"correct": 0.7, "incorrect": 0.3}}, {"verdict": "correct"}),
        (WORDY, {"verdict": "uncertain", "confidence": 0.5, "cited_step_indices": [0, 1], "rationale": "why"}),
        (WORDY.model_dump_json(), {"verdict": "uncertain", "confidence": 0.5}),
        (
            "<think>hm</think>```json\n" + WORDY.model_dump_json().replace("0.5", '"0.5"') + "\n```",
            {"confidence": 0.5, "flags": ["unpriced", "repaired:thought", "repaired:fence", "repaired:number_as_text"]},
        ),
        (
            f"Well: {json.dumps({'verdict': 'Correct', 'usage': {'cost_usd': 0.5}})}",
            {"verdict": "correct", "cost_usd": 0.5},
        ),
        ({"verdict": "correct", "cited_step_indices": [9]}, {"invalid_citations": [9]}),
        (
            {"verdict": "correct", "usage": {"input_tokens": 7, "cached_tokens": 3, "cost_usd": 0.5}},
            {"input_tokens": 7, "cached_tokens": 3, "output_tokens": None, "cost_usd": 0.5},
        ),
        ({"verdict": "correct", "returned_model": "m-1", "call_id": "c"}, {"returned_model": "m-1", "call_id": "c"}),
    ],
    ids=str,
)
def test_what_a_function_may_give_back(said, expected):
    row = judged(lambda prompt: said)
    assert row["status"] == "ok"
    assert {key: row[key] for key in expected} == expected
    assert json.loads(row["probabilities"] or "{}") == (said.get("probabilities") or {} if type(said) is dict else {})


class Odd:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "NoneType"),
        ("Correct", "'Correct'"),
        ("correct\n", "correct"),
        ("", "str"),
        (0.7, "float"),
        (True, "bool"),
        ([], "list"),
        ((), "tuple"),
        (("correct", 0.5, "why", [], "more"), "tuple"),
        (("correct", 1.01), "confidence"),
        (("correct", float("nan")), "confidence"),
        (("correct", True), "confidence"),
        (("correct", 0.5, 3), "rationale"),
        (("correct", 0.5, "why", np.array([True])), "cited_step_indices"),
        (("correct", 0.5, "why", 1), "cited_step_indices"),
        (("correct", 0.5, "\ud800"), "cannot be written"),
        ({}, "needs a verdict"),
        ({"verdict": "good"}, "verdict"),
        ({"verdict": "correct", "score": 3}, "score"),
        ({"verdict": "correct", 3: 3}, "3"),
        ({"verdict": "correct", "probabilities": {"yes": 0.5}}, "probabilities"),
        ({"verdict": "correct", "probabilities": {"correct": 2}}, "probabilities"),
        ({"verdict": "correct", "status": "refused"}, "no other status carries one"),
        ({"status": "ok"}, "needs a verdict"),
        ({"status": "tired"}, "status"),
        ({"verdict": "correct", "usage": {"input_tokens": -1}}, "usage.input_tokens"),
        ({"verdict": "correct", "usage": {"cost_usd": float("inf")}}, "usage.cost_usd"),
        ({"verdict": "correct", "usage": {"tokens": 1}}, "usage.tokens"),
        ({"verdict": "correct", "usage": 3}, "usage"),
        ('["correct"]', "str"),
        ('{"verdict": "good"}', "verdict"),
        (Odd(), "Odd something whose repr raises RuntimeError"),
        (SimpleNamespace(verdict="correct"), "namespace"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else ascii(value)[:20],
)
def test_what_has_another_form_is_lost_with_the_reason(said, told):
    row = judged(lambda prompt: said)
    assert (row["status"], row["verdict"], row["confidence"]) == ("parse_error", None, None)
    assert told in row["rationale"]
    assert len(row["rationale"]) < 700


def raising(error):
    def plain(prompt):
        raise error

    async def later(prompt):
        raise error

    return plain, later


@pytest.mark.parametrize("way", [0, 1], ids=["plain", "async"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no\nsuch page"),
        InputError("x", "is wrong"),
        KeyError("k"),
        SystemExit(3),
        StopIteration(),
        StopAsyncIteration(),
        TimeoutError("too slow"),
        asyncio.CancelledError(),
        RecursionError("deep"),
        ExceptionGroup("many", [ValueError("a")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_function_raises_is_a_lost_rating(error, way):
    row = judged(raising(error)[way])
    assert (row["status"], row["verdict"]) == ("api_error", None)
    assert type(error).__name__ in row["rationale"]
    assert "\n" not in row["rationale"]


def test_no_key_gets_into_a_reason(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", "tok-very-private-0001")

    def leaky(prompt):
        raise RuntimeError("GET https://me:pw@host/v1?sig=abc with tok-very-private-0001 and sk-1234567890abcd")

    said = judged(leaky)["rationale"]
    assert not any(secret in said for secret in ("private", "abcd", "sig=abc", "me:pw"))


def test_what_a_lost_answer_cost_is_kept():
    row = judged(lambda prompt: {"status": "refused", "rationale": "no", "usage": {"cost_usd": 0.125}})
    assert (row["status"], row["rationale"], row["cost_usd"], row["flags"]) == ("refused", "no", 0.125, [])
    row = judged(lambda prompt: {"verdict": "good", "usage": {"cost_usd": 0.125}})
    assert (row["status"], row["cost_usd"]) == ("parse_error", 0.125)


@pytest.mark.parametrize(
    ("kind", "cost", "flags"), [("llm", None, ["unpriced"]), ("decision_model", None, ["unpriced"]), ("rules", 0.0, [])]
)
def test_a_model_that_does_not_tell_its_price_is_never_free(kind, cost, flags):
    row = judged(lambda prompt: ("correct", 0.5), kind=kind)
    assert (row["cost_usd"], row["flags"], row["rater_kind"]) == (cost, flags, kind)


def test_the_prompt_is_a_text_with_parts_and_shows_nothing_that_judges_may_not_see():
    seen = []
    run = trajectories(1)[0].model_copy(update={"reward": 0.123, "agent": "agent-secretive", "domain": "librarydom"})
    judged(lambda prompt: seen.append(prompt) or "correct", run, model="m-1")
    (prompt,) = seen
    assert prompt == f"{prompt.instructions}\n{prompt.record}\n{prompt.question}"
    assert (prompt.instructions, prompt.axis, prompt.rubric) == (INSTRUCTIONS, "sequencing", RUBRIC["sequencing"].text)
    assert (prompt.n_steps, prompt.repeat, prompt.model) == (2, 0, "m-1")
    assert "Please renew book 0" in prompt.record
    everything = f"{prompt}{vars(prompt)}"
    assert not any(word in everything for word in ("agent-secretive", "librarydom", "0.123", "run-0"))


def test_what_is_too_long_is_not_sent():
    asked = []
    long = trajectories(1)[0].model_copy(update={"steps": (Step(index=0, role="user", content="x" * (BUDGET + 1)),)})
    assert judged(lambda prompt: asked.append(prompt), long)["status"] == "truncated"
    assert asked == []


@pytest.mark.slow
def test_plain_functions_do_not_wait_for_each_other_beyond_the_default_pool():
    at_once = 40
    barrier = threading.Barrier(at_once)

    @axisjudge.judge_function(family="f")
    def meeting(prompt):
        barrier.wait(timeout=20)  # nobody goes on before forty are here
        return "correct"

    table = axisjudge.judge(trajectories(at_once), [meeting], ["sequencing"], concurrency=at_once, progress=False)
    assert table["status"].unique().to_list() == ["ok"]


def test_concurrency_and_rpm_hold_for_functions():
    lock, now, most, begun = threading.Lock(), [0], [0], []

    @axisjudge.judge_function(family="f", rpm=1200)
    def counted(prompt):
        with lock:
            begun.append(time.monotonic())
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.15)
        with lock:
            now[0] -= 1
        return "correct"

    axisjudge.judge(trajectories(8), [counted], ["sequencing"], concurrency=3, progress=False)
    assert most[0] <= 3
    assert max(begun) - min(begun) > 7 * 0.05 * 0.9


@pytest.mark.slow
def test_a_call_that_hangs_is_given_up_and_does_not_hold_the_program(tmp_path):
    program = tmp_path / "hangs.py"
    program.write_text(
        "import time, axisjudge\n"
        "from axisjudge.trajectory import Step, Trajectory\n"
        "@axisjudge.judge_function(family='f', timeout=0.2)\n"
        "def hangs(prompt):\n    time.sleep(120)\n"
        "run = Trajectory(id='r', source='test', steps=(Step(index=0, role='user', content='x'),))\n"
        "print(axisjudge.judge([run], [hangs], progress=False)['rationale'].unique().to_list())\n"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert "no answer within 0.2 s" in done.stdout, done.stderr
    assert time.monotonic() - begun < 50


class Called:
    def __init__(self, word):
        self.word = word

    def __call__(self, prompt):
        return self.word

    async def later(self, prompt):
        return self.word


class CalledLater(Called):
    async def __call__(self, prompt):
        return self.word


def with_word(word, prompt):
    return word


@pytest.mark.parametrize(
    "function",
    [
        Called("correct"),
        CalledLater("correct"),
        Called("correct").later,
        functools.partial(with_word, "correct"),
        lambda prompt: CalledLater("correct")(prompt),
        lambda *everything: "correct",
    ],
    ids=["object", "async object", "method", "partial", "gives an awaitable", "any arguments"],
)
def test_anything_that_can_be_called_with_a_prompt_is_a_function(function):
    assert judged(function)["verdict"] == "correct"


def test_the_state_of_an_object_and_the_arguments_of_a_partial_are_part_of_its_version():
    versions = [
        axisjudge.judge_function(name="n", family="f")(each).version
        for word in ("correct", "incorrect")
        for each in (Called(word), Called(word).later, functools.partial(with_word, word))
    ]
    assert len(set(versions)) == 6


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"name": "rules"}, "name of a built-in judge"),
        ({"name": "openai:gpt-5"}, "name of a built-in judge"),
        ({"name": "a,b"}, "without commas"),
        ({"name": " "}, "not empty"),
        ({"name": "a\nb"}, "one line"),
        ({"name": None}, "give a name"),
        ({"family": ""}, "family"),
        ({"version": 3}, "version"),
        ({"kind": "human"}, "kind: must be one of"),
        ({"rpm": 0}, "rpm: must be greater than 0"),
        ({"timeout": -1}, "timeout: must be greater than 0"),
    ],
    ids=str,
)
def test_what_cannot_stand_in_a_rating_is_refused_at_once(how, told):
    with pytest.raises(InputError, match=told):
        axisjudge.judge_function(**{"name": "mine", "family": "f", **how})(lambda prompt: "correct")


@pytest.mark.parametrize("function", [lambda: "correct", lambda one, two: "correct", lambda *, prompt: "x", 3])
def test_what_cannot_be_called_with_a_prompt_is_refused_at_once(function):
    with pytest.raises(InputError, match="judge_function mine"):
        axisjudge.judge_function(name="mine", family="f")(function)


MODULE = '''
import functools
from types import SimpleNamespace
import axisjudge

LIMIT, WORDS, API_KEY, client, calls, n = 3, ("a", "b"), "k-1", SimpleNamespace(x=1), [], 0

def mine(prompt):
    """Counts."""
    global n
    n += 1
    calls.append(n)
    return helper(LIMIT, WORDS, client, API_KEY) if n in {1, 2, "x"} else Parts().word()

def helper(*parts):
    return cached(len(parts))

@functools.lru_cache
def cached(number):
    return "correct"

class Parts:
    def word(self):
        return "correct"
'''
EDITS = {
    "the function": ("if n in", "if  n in"),
    "a helper": ("len(parts)", "len(parts) + 1"),
    "a helper's cached helper": ('return "correct"\n\nclass', 'return "incorrect"\n\nclass'),
    "a class": ('        return "correct"', '        return "incorrect"'),
    "a constant": ("= 3,", "= 4,"),
    "a tuple": ('"b")', '"c")'),
}
KEPT = {
    "another function": ("class Parts", "def other():\n    pass\n\nclass Parts"),
    "a key": ("k-1", "k-2"),
    "an object": ("x=1", "x=2"),
    "what it counts itself": ("[], 0", "[], 7"),
    "a list": ("[], 0", "[3], 0"),
}


def version_of(folder, source):
    """The version in a module as it is written."""
    path = folder / f"m{len(list(folder.iterdir()))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("mine", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return axisjudge.judge_function(family="f")(module.mine).version


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_function_is_a_new_version(tmp_path, edit):
    assert MODULE.replace(*EDITS[edit]) != MODULE
    assert version_of(tmp_path, MODULE).startswith("source-")
    assert version_of(tmp_path, MODULE.replace(*EDITS[edit])) != version_of(tmp_path, MODULE)


@pytest.mark.parametrize("edit", KEPT)
def test_what_is_not_part_of_a_function_leaves_its_version(tmp_path, edit):
    assert MODULE.replace(*KEPT[edit]) != MODULE
    assert version_of(tmp_path, MODULE.replace(*KEPT[edit])) == version_of(tmp_path, MODULE)


@pytest.mark.slow
def test_the_version_is_the_same_in_every_process_with_a_source_and_without(tmp_path):
    (tmp_path / "held.py").write_text(MODULE)
    program = (
        "import axisjudge, sys\n"
        "if sys.argv[1] == 'file': import held; f = held.mine\n"
        f"else: place = {{'__name__': 'bare'}}; exec({MODULE!r}, place); f = place['mine']\n"
        "print(axisjudge.judge_function(family='f')(f).version)"
    )
    (tmp_path / "program.py").write_text(program)
    for way in ("file", "text"):
        versions = {
            subprocess.run(
                [sys.executable, str(tmp_path / "program.py"), way],
                capture_output=True,
                text=True,
                check=True,
                env={"PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("1", "2")
        }
        assert len(versions) == 1


def test_a_version_that_is_given_holds_whatever_the_source():
    made = [axisjudge.judge_function(name="n", family="f", version="7")(f) for f in (lambda p: "correct", print)]
    assert [judge.version for judge in made] == ["7", "7"]
    with pytest.raises(InputError, match=r"source cannot be read.*give it a version"):
        axisjudge.judge_function(name="n", family="f")(print)


def test_all_five_axes_are_asked_one_by_one_and_the_wrapped_function_is_still_one():
    @axisjudge.judge_function(family="f")
    def mine(prompt):
        """Says which."""
        return ("correct", 0.5, prompt.axis)

    table = axisjudge.judge(trajectories(2), [mine], progress=False)
    assert all(row["question"] == row["rationale"] for row in table.to_dicts())
    assert table["question"].unique().sort().to_list() == sorted(AXES)
    assert mine.__doc__ == "Says which."


def test_a_decorator_without_its_family_says_how_it_is_written():
    for wrong in (lambda f: axisjudge.judge_function(f), lambda f: axisjudge.judge_function()(f)):
        with pytest.raises(InputError, match="family"):
            wrong(lambda prompt: "correct")
