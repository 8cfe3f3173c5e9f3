"""What the lines say first, and what the file is said to support."""

import pytest
from studies.check.conftest import votes

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
