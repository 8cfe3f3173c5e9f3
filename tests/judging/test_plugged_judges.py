"""Judges of one's own in a judging run: they resume, repeat, lose and record like the built-in ones."""

import importlib
from collections import Counter
from types import SimpleNamespace

import polars as pl
import pytest
from judging.worlds import CoinJudge, trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges import make_judges
from axisjudge.judging import judging_run
from axisjudge.ratings import RatingsWriter, read_ratings
from axisjudge.spec import JudgeSpec


def counting(**how):
    """A function that counts its prompts, as a judge; and the count."""
    asked = Counter()

    def mine(prompt):
        asked[prompt] += 1
        if asked[prompt] == 1 and "book 1" in prompt.record and prompt.axis == "sequencing":
            raise ValueError("not this time")
        return ("correct", 0.5, f"repeat {prompt.repeat}")

    return axisjudge.judge_function(**{"family": "f", "version": "1", **how})(mine), asked


def ask(judges, out, n=3, **how):
    return axisjudge.judge(trajectories(n), judges, out=out, progress=False, **how)


def test_a_function_resumes_repeats_and_is_asked_again_for_what_it_lost(tmp_path):
    out, (mine, asked) = tmp_path / "r.jsonl", counting()
    first = ask([mine, "rules"], out)
    assert Counter(first.filter(pl.col("rater") == "mine")["status"]) == Counter(ok=14, api_error=1)
    kept = ask([mine, "rules"], out, keep_lost=True)
    assert kept.equals(first)
    assert asked.total() == 15
    second = ask([mine, "rules"], out)
    assert second["status"].unique().to_list() == ["ok"]
    assert asked.total() == 16
    third = ask([mine], out, n=4, repeats=2)
    assert asked.total() == 16 + 5 + 20
    assert Counter(third["rationale"]) == Counter({"repeat 0": 20, "repeat 1": 20})
    again = ask([mine], out, n=4, again=True)
    assert again["repeat"].unique().to_list() == [2]
    assert asked.total() == 61
    assert read_ratings(out).height == 60 + 15


def test_another_version_of_a_function_is_asked_anew_beside_the_old(tmp_path):
    out = tmp_path / "r.jsonl"
    ask([counting()[0]], out)
    newer, asked = counting(version="2")
    assert ask([newer], out)["rater_version"].unique().to_list() == ["2"]
    assert asked.total() == 15
    assert read_ratings(out).height == 30
    assert read_ratings(out).select("rater").n_unique() == 1


def test_what_a_function_reaches_is_looked_at_when_a_run_begins(tmp_path):
    """In a notebook a helper's cell is edited, and the cell of the judge is not run again."""
    place = {"__name__": "cells", "axisjudge": axisjudge}
    exec("LIMIT = 3\n@axisjudge.judge_function(family='f')\ndef mine(prompt): return ('correct', LIMIT / 10)", place)
    ask([place["mine"]], tmp_path / "r.jsonl", n=1)
    exec("LIMIT = 4", place)
    table = ask([place["mine"]], tmp_path / "r.jsonl", n=1)
    assert table["confidence"].unique().to_list() == [0.4]
    assert read_ratings(tmp_path / "r.jsonl").height == 10


def test_an_instance_of_a_class_is_a_judge(tmp_path):
    out, judge = tmp_path / "r.jsonl", CoinJudge()
    table = ask([judge, "rules"], out)
    assert table.filter(pl.col("rater") == "simulated:coin").select("cost_usd").sum().item() == pytest.approx(0.15)
    assert ask([judge, "rules"], out).equals(table)
    assert len(judge.calls) == 15


class Wild(CoinJudge):
    """Answers with whatever it is given, or raises it."""

    def __init__(self, said):
        super().__init__("wild")
        self.said = said

    async def grade(self, trajectory, rubrics, *, repeat=0):
        if isinstance(self.said, Exception):
            raise self.said
        if isinstance(self.said, axisjudge.Answer):
            return axisjudge.Reply(dict.fromkeys(rubrics, self.said))
        return self.said


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        (ZeroDivisionError("by zero"), "api_error", "ZeroDivisionError: by zero"),
        (None, "parse_error", "must give a Reply; received NoneType"),
        ({"sequencing": "correct"}, "parse_error", "must give a Reply"),
        (axisjudge.Reply({}), "parse_error", "no answer to"),
        (axisjudge.Reply({"sequencing": "correct"}), "parse_error", "no answer to"),
        (axisjudge.Answer("ok"), "parse_error", "needs a verdict"),
        (axisjudge.Answer("ok", "good"), "parse_error", "good"),
        (axisjudge.Answer("refused", "correct"), "parse_error", "carries no verdict"),
        (axisjudge.Answer("ok", "correct", 1.5), "parse_error", "confidence"),
        (axisjudge.Answer("ok", "correct", cited_step_indices=("a",)), "parse_error", "not supported"),
        (axisjudge.Answer("ok", "correct", rationale="\ud800"), "parse_error", "cannot be written"),
        (axisjudge.Reply({}, input_tokens="many"), "parse_error", "input_tokens"),
        (axisjudge.Reply({}, cost_usd=-1.0), "parse_error", "cost_usd"),
        (axisjudge.Reply({}, latency_s="long"), "parse_error", "latency_s"),
    ],
    ids=str,
)
def test_whatever_a_judge_answers_is_a_rating_or_a_lost_one(said, status, told, tmp_path):
    table = ask([Wild(said), "rules"], tmp_path / "r.jsonl", n=1)
    wild = table.filter(pl.col("rater") == "simulated:wild")
    assert wild["status"].to_list() == [status] * 5
    assert all(told in rationale for rationale in wild["rationale"])
    assert table.filter(pl.col("rater") == "rules").height == 5
    assert read_ratings(tmp_path / "r.jsonl").height == 10


def named(spec, kind="llm"):
    class Own(CoinJudge):
        pass

    judge = Own()
    judge.spec, judge.rater, judge.kind = spec, spec.rater, kind
    return judge


MINE = JudgeSpec(provider="mine", model="m", family="f")


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        (
            lambda: [named(JudgeSpec(provider="rules", family="rules"))],
            "bears a name that specs give to judges of rules",
        ),
        (lambda: [named(JudgeSpec(provider="openai", model="gpt-5", family="openai"))], "judges of openai"),
        (lambda: [named(MINE), named(MINE)], "a judge may be named once; found 'mine:m'"),
        (lambda: [named(MINE), counting(name="mine", model="m")[0]], "named once"),
        (lambda: [named(MINE, kind="oracle")], "kind must be one of"),
        (lambda: [CoinJudge], "must be specs or judges"),
        (lambda: [lambda prompt: "correct"], r'by @axisjudge.judge_function\(family="..."\)'),
        (lambda: [SimpleNamespace(rater="x")], "must be specs or judges"),
        (lambda: CoinJudge(), "must be a list"),
        (lambda: "rules", "must be a list"),
        (lambda: [3], "must be specs or judges"),
    ],
    ids=range(11),
)
def test_what_is_no_judge_or_bears_another_s_name_is_refused(judges, told):
    with pytest.raises(InputError, match=told):
        ask(judges(), None, n=1)


@pytest.mark.parametrize("given", [{"axes": "termination"}, {"retry": "refused"}])
def test_a_text_is_no_list_of_its_letters(given):
    with pytest.raises(InputError, match=f"{next(iter(given))}: must be a list"):
        axisjudge.judge(trajectories(1), **given)


def test_a_class_that_forgets_its_spec_is_told_so():
    class Forgetful(CoinJudge):
        def __init__(self):
            self.calls = []

    with pytest.raises(InputError, match=r"judge Forgetful: has no spec; call super\(\)"):
        ask([Forgetful()], None, n=1)


def test_built_in_judges_that_were_made_may_be_given_as_themselves(tmp_path):
    given = make_judges(["rules", "openai:gpt-5", "openai-compatible:qwen3@http://127.0.0.1:9/v1"])
    assert make_judges(given) == given


@pytest.fixture
def counts(monkeypatch):
    """How often a ratings file is read and a judge is made."""
    counted = Counter()
    table = importlib.import_module("axisjudge.ratings.table")
    read, made = table._read, CoinJudge.__init__

    def reading(*arguments):
        counted["reads"] += 1
        return read(*arguments)

    def making(self, *arguments, **how):
        counted["made"] += 1
        made(self, *arguments, **how)

    monkeypatch.setattr(table, "_read", reading)
    rules = importlib.import_module("axisjudge.judges.rules.judge").RulesJudge
    original = rules.__init__

    def making_rules(self, spec):
        counted["made"] += 1
        original(self, spec)

    monkeypatch.setattr(rules, "__init__", making_rules)
    return counted


def test_a_resumed_run_reads_its_file_once_and_makes_each_judge_once(counts, tmp_path):
    out = tmp_path / "r.jsonl"
    ask(["rules"], out)
    assert counts == Counter(made=1)
    counts.clear()
    ask(["rules"], out, n=4)
    assert counts == Counter(made=1, reads=1)
    counts.clear()
    run = judging_run(trajectories(5), ["rules"], out=out)  # as the command line does: the plan is shown, then run
    assert run.plan().n_calls == 1
    assert run.carry_out(progress=False).height == 25
    assert counts == Counter(made=1, reads=1)
    assert run.carry_out(progress=False).height == 25
    assert run.plan().n_calls == 0
    assert counts == Counter(made=1, reads=1)


@pytest.mark.slow
def test_what_is_returned_is_what_stands_in_the_file(tmp_path):
    out, (mine, _) = tmp_path / "r.jsonl", counting()
    ask([mine], out, n=2)
    table = ask([mine, "rules", CoinJudge()], out, n=250)  # more than are kept as records at once
    assert table.equals(read_ratings(out))


def test_what_another_process_writes_between_plan_and_run_is_not_asked_again(counts, tmp_path):
    out = tmp_path / "r.jsonl"
    ask(["rules"], out, n=1)
    late = ask(["rules"], None, n=3)
    run = judging_run(trajectories(3), ["rules"], out=out)
    assert run.plan().n_calls == 2
    other = ask(["rules"], tmp_path / "other.jsonl", n=2)
    with RatingsWriter(out):
        pass  # opening alone changes nothing
    with out.open("ab") as file:
        file.write((tmp_path / "other.jsonl").read_bytes())
    table = run.carry_out(progress=False)
    passing = ["run_id", "call_id", "created_at", "latency_s"]
    assert table.drop(passing).equals(late.drop(passing))
    assert set(other["run_id"]) < set(table["run_id"])
    assert read_ratings(out).height == 15
