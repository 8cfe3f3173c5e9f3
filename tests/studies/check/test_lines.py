"""What the lines say first, and what the file is said to support."""

import json
import shlex

import numpy as np
import pytest
from studies.check.conftest import csv, votes
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.studies import check as folder
from axisjudge.studies.check.sentences import report

check = folder.check


def table(passed, caught, failed, others):
    """Counts of items: passed of `others` that people passed, caught of `failed` that they failed."""
    judge = ["pass"] * passed + ["fail"] * (others - passed + caught) + ["pass"] * (failed - caught)
    task = [f"t{n % 40}" for n in range(failed + others)]
    return {"task": task, "gpt": judge, "human": ["pass"] * others + ["fail"] * failed}


def test_a_judge_that_misses_most_is_not_praised_first():
    lines = report(check(table(921, 14, 79, 921)).read)["judges"]
    (chance,) = [line for line in lines if "balanced accuracy" in line]
    assert chance.index("misses") < chance.index("above chance")
    assert "50%," not in chance.split("at least")[-1].split("where")[0], "a bound is not told as equal to chance"


def test_one_class_only_says_which_word_is_lacking():
    lines = report(check(table(150, 0, 0, 200)).read)
    (chance,) = [line for line in lines["judges"] if "chance" in line]
    assert "'fail'" in chance
    assert "caught>=" not in lines["next"][0], "a gate on what was never there"


def test_a_word_that_nobody_says_is_named_as_the_file_would_and_not_by_its_code():
    found = check({"gpt": ["pass"] * 20, "human": ["pass"] * 20, "item": range(20)})
    reason = found.read.judges[0].measures["balanced_accuracy"].reason
    assert "fail" in reason
    assert "1" not in reason
    (chance,) = [line for line in report(found.read)["judges"] if "above chance" in line]
    assert "word 1" not in chance


@pytest.mark.parametrize(("given", "supported"), [(votes(tasks=60), True), (table(4, 1, 1, 4), False)])
def test_a_failure_rate_and_agreement_are_supported_where_they_are_shown(given, supported):
    can, cannot = (
        [line for line in report(check(given).read)["supported"] if (line[:3] == "The") is way] for way in (True, False)
    )
    for claim in ("a failure rate", "agreement beyond chance"):
        assert any(claim in line for line in (can if supported else cannot))


def test_a_percent_sign_is_read():
    given = votes()
    sure = {"gpt_conf": [f"{50 + n % 50}%" for n in range(len(given["gpt"]))]}
    plain = {"gpt_conf": [str((50 + n % 50) / 100) for n in range(len(given["gpt"]))]}
    one, other = (check({**given, **each}, confidence={"gpt": "gpt_conf"}).read.judges[0] for each in (sure, plain))
    assert one.alone == other.alone


def by_day(off):
    """25 tasks on each of 8 days; on one half of the days `off` more of the runs fail."""
    rng, days = np.random.default_rng(2), np.arange(200) % 8
    failed = rng.random(200) < 0.2 + off * (days % 2)
    wrong = rng.random(200) < 0.1
    words = np.array(["pass", "fail"])
    return {
        "task": [f"t{number // 8}" for number in range(200)],
        "evaluated_at": [f"2026-03-{day + 1:02d}T0{number % 9}:15" for number, day in enumerate(days)],
        "gpt": words[(failed ^ wrong).astype(int)].tolist(),
        "human": words[failed.astype(int)].tolist(),
    }


def test_days_that_differ_are_said_with_the_command_that_allows_for_them():
    """Days of one mean are silent; by the day, cut from its times, the interval is wider than by task."""
    assert not check(by_day(0.0)).read.off_together
    read = check(by_day(0.5)).read
    lines = report(read)
    assert any("'evaluated_at'" in line and "chance" in line for line in lines["read"])
    assert "--cluster task --cluster evaluated_at" in lines["next"][0]
    daily = check(by_day(0.5), cluster="evaluated_at").read
    assert daily.votes.n_clusters == 8
    one, other = (each.judges[0].failing_share for each in (read, daily))
    assert other.ci_high - other.ci_low > 1.3 * (one.ci_high - one.ci_low)


def test_a_table_is_checked_by_task_and_day_at_once():
    """What was made for one way of grouping says so; the rest is no narrower than by task, in whichever order."""
    given, ways = by_day(0.5), ["task", "evaluated_at"]
    given["human"][::9] = [""] * len(given["human"][::9])
    given["llama"] = given["gpt"][1:] + given["gpt"][:1]
    given["gpt_confidence"] = ["0.9"] * 200
    one, both, turned = (check(given, cluster=way, sampling="random").read for way in ("task", ways, ways[::-1]))
    assert (both.votes.by, both.columns["crossed"]) == ("task and evaluated at", "evaluated_at")
    for judge, alone, same in zip(both.judges, one.judges, turned.judges, strict=True):
        assert judge.failing_share.n_clusters == 8
        for name in ("sensitivity", "agreement", "balanced_accuracy", "kappa"):
            wide, narrow = (each.measures[name].ci_high - each.measures[name].ci_low for each in (judge, alone))
            assert wide >= narrow, name
            assert judge.measures[name].interval() == same.measures[name].interval()
        assert "one --cluster" in judge.corrected.refusal
    assert "one --cluster" in both.judges[0].why_not_alone
    lines = [line for part in report(both).values() for line in part]
    assert not both.off_together
    assert both.ranks is None
    assert any("ranked by one --cluster" in line for line in lines)
    assert "--cluster task --cluster evaluated_at" in report(both)["next"][0]
    assert both.differences[0].agreement.n_clusters == 8


@pytest.mark.parametrize("cluster", [["task", "none"], ["task", "evaluated_at", "gpt"], ["task", "nowhere"]])
def test_other_than_two_columns_of_the_file_is_refused(cluster):
    with pytest.raises(InputError, match="--cluster"):
        check(by_day(0.0), cluster=cluster)


def with_rest(table):
    """The table with a second judge, confidences, domains and five people, of whom two have another opinion."""
    other = {"pass": "fail", "fail": "pass"}
    more = {"llama": table["gpt"][::-1], "gpt_sure": [0.4 + n % 60 / 100 for n in range(len(table["gpt"]))]}
    more["domain"] = ["air", "shop", "air"] * (len(table["gpt"]) // 3)
    human = table.pop("human")
    turned = [[other[word] if n % 7 == at else word for n, word in enumerate(human)] for at in (0, 3)]
    return table | more | dict(zip([f"human_{n}" for n in range(1, 6)], [human] * 3 + turned, strict=True))


WIDE = with_rest({name: cells[:150] for name, cells in votes().items()})
LONG = {
    "run": [f"r{n}" for n in range(150) for _ in range(2)],
    "domain": [where for where in WIDE["domain"] for _ in range(2)],
    "query": [task for task in WIDE["task"] for _ in range(2)],
    "author": ["gpt", "ann"] * 150,
    "out": [word for pair in zip(WIDE["gpt"], WIDE["human_5"], strict=True) for word in pair],
    "sure": [1 - n % 9 / 10 for n in range(300)],
}
OF_LONG = ("--rater", "author", "--value", "out", "--human", "ann")


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (WIDE, ("--judge", "llama", "--judge", "gpt")),
        *((WIDE, ("--judge", "gpt", *(part for n in range(1, 6) for part in ("--human", f"human_{n}")), *more))
          for more in [
              (), ("--confidence", "gpt_sure"), ("--confidence", "gpt=gpt_sure", "--risk", "0.35", "--level", "0.8"),
              ("--cluster", "none"), ("--cluster", "task", "--cluster", "domain"), ("--where", "domain=air"),
              ("--words", "fail,pass"), ("--positive", "pass"), ("--scale", "ordinal:pass,fail"),
              ("--missing", "fail"), ("--words", "gpt:pass=fail", "--words", "gpt:fail=pass"),
              ("--alike", "clusters"), ("--sampling", "random"),
          ]),
        (WIDE, ("--judge", "gpt_sure", "--human", "human_5", "--pass-if", "gpt_sure >= 0.7")),
        *((LONG, (*OF_LONG, *more)) for more in [
            (), ("--item", "run"), ("--confidence", "sure"), ("--confidence", "gpt=sure", "--level", "0.5"),
            ("--cluster", "domain"), ("--where", "domain=shop"),
        ]),
    ],
)  # fmt: skip
def test_the_next_command_reads_the_table_as_it_was_read(table, options, write):
    """Run as printed it is answered; without what it adds it gives the figures that stand above it."""
    path = write(csv(table))

    def figures(*words):
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code != 2, done.output
        result = json.loads(done.stdout)
        return result, [result[name] for name in ("columns", "words", "judges", "people", "risk", "ci_level")]

    result, before = figures("check", str(path), *options)
    following = [line for line in result["sentences"] if line.startswith("Next")]
    if not following:
        assert {"--scale", "--missing"} & {*options}, "no word is the failing one"
        return
    words = shlex.split(following[0].rpartition("axisjudge ")[2])
    assert figures(*words)
    assert figures(*words[:-2])[1] == before
