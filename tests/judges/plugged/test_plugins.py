"""Judges of other packages: found by their entry points, named by specs, and none harms another."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from judges.plugged.packages import CLASS, FUNCTION, install
from judging.worlds import trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges import make_judges
from axisjudge.protocol import lock as locking
from axisjudge.ratings import read_ratings
from axisjudge.spec.judge_spec import BUILT_IN, JudgeSpec, find_provider, provider_names


@pytest.fixture
def installed(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield lambda name, source, *entries: install(folder, name, source, *entries)
    for module in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[module], "__file__", "")):
            del sys.modules[module]


@pytest.mark.slow
def test_a_plug_in_is_named_on_the_command_line(tmp_path):
    site, source, out = tmp_path / "site", tmp_path / "runs.jsonl", tmp_path / "r.jsonl"
    site.mkdir()
    install(site, "pack-coin", CLASS, "mine = pack_coin:DECLARED")
    install(site, "pack-broken", "raise RuntimeError('no GPU here')", "broken = pack_broken:make")
    source.write_text("".join(run.model_dump_json() + "\n" for run in trajectories(2)))

    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "axisjudge", "judge", str(source), *arguments, "--out", str(out), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(site)},
        )

    done = command("--judge", "mine:penny,depth=3,strict=no,book=/some/where/b.txt,rpm=6000", "--judge", "rules")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert {row["rater"] for row in json.loads(done.stdout)["ratings"]} == {
        "mine:penny,book=b.txt,depth=3,strict=False",
        "rules",
    }
    table = read_ratings(out)
    mine = table.filter(table["rater_kind"] == "llm")
    assert mine.select("family", "model", "cost_usd", "input_tokens", "status").unique().row(0) == (
        "coins",
        "penny",
        0.25,
        3,
        "ok",
    )
    again = command("--judge", "mine:penny,depth=3,strict=no,book=/elsewhere/b.txt", "--judge", "rules", "--dry-run")
    assert json.loads(again.stdout)["calls"] == 0
    for spec, told in (("broken:x", "no GPU here"), ("mien:x", "'mine'"), ("mine:x,depth=deep", "a whole number")):
        failed = command("--judge", spec)
        assert failed.returncode == 2
        assert told in failed.stderr
        assert failed.stderr.count("\n") == 1


def test_a_function_a_class_and_a_maker_are_entry_points_too(installed):
    installed("pack-a", CLASS, "coin = pack_a:Coin", "made = pack_a:make")
    installed("pack-b", FUNCTION, "worded = pack_b:worded")
    specs = ["coin:gpt-9", "worded", "worded:tiny,rpm=90,timeout=4"]
    table = axisjudge.judge(trajectories(1), specs, ["sequencing"], progress=False)
    said = {row["rater"]: (row["family"], row["model"], row["rationale"]) for row in table.iter_rows(named=True)}
    assert said == {
        "coin:gpt-9": ("openai", "gpt-9", "{}"),
        "worded": ("words", None, "None []"),
        "worded:tiny": ("words", "tiny", "tiny ['rpm', 'timeout']"),
    }
    with pytest.raises(InputError, match=r"family cannot be told.*family=NAME"):
        JudgeSpec.parse("coin:penny")
    assert JudgeSpec.parse("coin:penny,family=coins").family == "coins"


def test_unknown_specs_list_plug_ins_and_one_that_breaks_harms_no_other(installed):
    installed("pack-broken", "import sys; sys.exit(3)", "alpha = pack_broken:x")
    installed("pack-missing", "", "beta = pack_missing:x", "gamma = pack_absent:x")
    assert provider_names() == [*BUILT_IN, "alpha", "beta", "gamma"]
    with pytest.raises(InputError, match="replay, alpha, beta, gamma; found 'delta'"):
        JudgeSpec.parse("delta:x")
    for name, error in (("alpha", "SystemExit: 3"), ("beta", "AttributeError"), ("gamma", "ModuleNotFoundError")):
        with pytest.raises(InputError, match=rf"judge {name}: its plug-in pack-\w+ 1.0 cannot be loaded \({error}"):
            JudgeSpec.parse(f"{name}:x")
    assert axisjudge.judge(trajectories(1), ["rules"], progress=False).height == 5


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 3", "must name an axisjudge.Provider, a class"),
        ("def x(prompt): return 'correct'", "judges: must be specs or judges; found 'correct'; wrap"),
        ("def x(spec): return 1 / 0", r"its provider cannot make it \(ZeroDivisionError"),
        ("import axisjudge\nclass x(axisjudge.Judge):\n    pass", "its provider cannot make it .*abstract"),
    ],
    ids=["a number", "not wrapped", "raises", "abstract"],
)
def test_an_entry_point_that_is_no_judge_is_told_so(installed, source, told):
    installed("pack-odd", source, "odd = pack_odd:x")
    with pytest.raises(InputError, match=told):
        make_judges(["odd:m,family=f"])


def test_a_name_that_two_claim_is_nobody_s(installed):
    installed("pack-c", CLASS, "coin = pack_c:DECLARED", "rules = pack_c:DECLARED")
    installed("pack-d", CLASS, "coin = pack_d:DECLARED")
    with pytest.raises(InputError, match=r"one package may bring a name; found 'pack-[cd] 1.0, pack-[cd] 1.0'"):
        find_provider("coin")
    with pytest.raises(InputError, match=r"one package may bring a name; found 'axisjudge, pack-c 1.0'"):
        find_provider("rules")
    assert find_provider("simulated").free


def test_a_plug_in_that_comes_or_goes_while_the_process_runs_is_seen(installed, tmp_path):
    assert "late" not in provider_names()
    installed("pack-late", CLASS, "late = pack_late:DECLARED")
    assert "late" in provider_names()
    assert find_provider("late").options["depth"] is int
    for folder in (tmp_path / "site").glob("*.dist-info"):
        shutil.rmtree(folder)
    assert "late" not in provider_names()


def test_a_judge_given_as_itself_may_not_bear_the_name_of_a_plug_in_but_may_be_it(installed):
    installed("pack-b", FUNCTION, "worded = pack_b:worded")
    import pack_b

    assert make_judges([pack_b.worded])[0].rater == "worded"

    @axisjudge.judge_function(name="worded", family="f")
    def another(prompt):
        return "correct"

    with pytest.raises(InputError, match="bears a name that specs give to judges of worded"):
        make_judges([another])


def test_a_plug_in_can_be_locked_and_a_judge_given_as_itself_cannot(installed):
    installed("pack-e", CLASS, "mine = pack_e:DECLARED")
    spec = JudgeSpec.parse("mine:penny,depth=2,book=/some/where/b.txt")
    rubrics = {"sequencing": axisjudge.load_rubric("sequencing")}
    locked = locking._present([spec], rubrics)["judges"]["mine:penny,book=b.txt,depth=2"]
    assert "/some" not in json.dumps(locked)
    assert make_judges([JudgeSpec.model_validate(locked["spec"])])[0].rater == "mine:penny,book=b.txt,depth=2"
    (judge,) = make_judges([spec])
    with pytest.raises(InputError, match=r"is given as itself.*entry point"):
        axisjudge.spec.parse_specs([judge])


ECHO = """
from axisjudge.judges.rules.judge import RulesJudge
from axisjudge.spec import Provider

class EchoJudge(RulesJudge):
    pass

PROVIDER = Provider(EchoJudge, {"depth": int}, family="echoes", free=True)
"""


def test_a_provider_is_one_file_and_one_line_of_the_registry(tmp_path, monkeypatch):
    (tmp_path / "echo_judge.py").write_text(ECHO)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(BUILT_IN, "echo", "echo_judge:PROVIDER")
    table = axisjudge.judge(trajectories(1), ["echo:x,depth=2", "rules"], progress=False)
    assert table["rater"].unique().sort().to_list() == ["echo:x,depth=2", "rules"]
    assert table["family"].unique().sort().to_list() == ["echoes", "rules"]
    with pytest.raises(InputError, match=r"replay, echo; found 'ecco'"):
        JudgeSpec.parse("ecco:x")
    with pytest.raises(InputError, match="option of echo: must be one of depth"):
        JudgeSpec.parse("echo:x,seed=1")
    from axisjudge.studies.plan.pilots import judge_prices

    assert judge_prices(["echo:x"])[0].usd_per_call == 0.0
    del sys.modules["echo_judge"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_provider_makes_judges_that_bear_its_name(name, tmp_path):
    recorded = tmp_path / "r.jsonl"
    axisjudge.judge(trajectories(1), ["rules"], out=recorded, progress=False)
    model = {"rules": "", "simulated": ":wren", "replay": f":{recorded}", "openai-compatible": ":qwen3@http://h/v1"}
    (tmp_path / "qwen.gguf").write_bytes(b"GGUF")
    model["local"] = f":{tmp_path / 'qwen.gguf'}"
    spec = JudgeSpec.parse(f"{name}{model.get(name, ':gpt-5')}")
    (judge,) = make_judges([spec])
    assert judge.rater == ("rules" if name == "replay" else spec.rater)
    assert judge.spec == spec


def test_a_plug_in_cannot_take_a_name_by_another_way(installed):
    source = (
        CLASS
        + "\nclass Rules(Coin):\n    def __init__(self, spec):\n"
        + "        super().__init__(spec)\n        self.rater = 'rules'\n"
    )
    installed("pack-f", source, "mine = pack_f:DECLARED", "thief = pack_f:Rules")
    with pytest.raises(InputError, match="judge rules: bears a name that specs give to judges of rules"):
        make_judges(["thief:x,family=f"])
    for name, model in (("mine", "x"), ("mine", None), ("thief", "y")):
        clashing = axisjudge.judge_function(name=name, model=model, family="f")(lambda prompt: "correct")
        with pytest.raises(InputError, match=f"bears a name that specs give to judges of {name}"):
            make_judges([clashing])
