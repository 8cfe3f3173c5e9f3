"""axisjudge judge --cascade as a user meets it: two simulated judges over the demo's planted truth."""

import json

import pytest
from judging.providers import completion, failing, healthy, providing
from typer.testing import CliRunner

from axisjudge.cli import app
from axisjudge.labels.sampling import with_drawn
from axisjudge.ratings import read_ratings
from axisjudge.workbench import home

BOTH = ("--cascade", "simulated:wren > simulated:heron", "--axis", "sequencing", "--axis", "termination")


@pytest.fixture
def judge(tmp_path):
    results = min((home() / "data" / "demo" / "results").glob("*.json"))
    out = tmp_path / "r.jsonl"

    def run(*more, arguments=BOTH):
        done = CliRunner().invoke(app, ["judge", str(results), *arguments, "--limit", "20", "--out", str(out), *more])
        return done, out

    return run


def test_the_second_judge_is_asked_what_the_first_is_unsure_of_and_a_share_of_the_rest(judge):
    done, out = judge("--below", "0.75", "--audit", "0.3", "--json")
    assert done.exit_code == 0, done.output
    ratings = read_ratings(out)
    first, second = (ratings.filter(ratings["rater"] == f"simulated:{name}") for name in ("wren", "heron"))
    assert first.height == 40
    unsure = first.filter((first["status"] != "ok") | (first["confidence"] < 0.75))
    asked = {(row["item_id"], row["question"]): row for row in with_drawn(second).iter_rows(named=True)}
    keys = set(unsure.select("item_id", "question").iter_rows())
    assert 0 < len(keys) < 40
    assert keys <= asked.keys()
    assert {asked[key]["drawn_probability"] for key in keys} == {1.0}
    assert {asked[key]["drawn_probability"] for key in asked.keys() - keys} <= {0.3}
    told = json.loads(done.stdout)
    assert sum(row["n"] for row in told["second"]) == second.height
    n_bytes = out.stat().st_size
    assert judge("--below", "0.75", "--audit", "0.3")[0].exit_code == 0
    assert out.stat().st_size == n_bytes  # nothing is asked twice


def test_a_dry_run_says_what_both_may_take_and_writes_nothing(judge):
    done, out = judge("--dry-run")
    assert done.exit_code == 0
    assert "First judge" in done.stdout
    assert "Second judge, at most" in done.stdout
    assert not out.exists()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_first_judge_that_cannot_be_asked_ends_the_run_before_the_second_is_paid(as_json, judge):
    with providing(cheap=failing(401, "no such key"), dear=healthy(0.0)) as provider:
        cheap, dear = (f"openai-compatible:{name}@{provider.url},family={name}" for name in ("cheap", "dear"))
        done, out = judge("--cascade", f"{cheap} > {dear}", *(["--json"] if as_json else []), arguments=BOTH[2:])
    assert done.exit_code == 1
    assert provider.calls["dear"] == 0
    assert read_ratings(out)["rater"].n_unique() == 1
    if as_json:
        told = json.loads(done.stdout)
        assert (told["second"], [row["rater"] for row in told["lost"]]) == ([], [cheap.partition(",")[0]])


def test_a_cascade_whose_first_judge_lost_too_much_says_so_by_its_exit_code(judge):
    def half(number, body):
        return healthy(0.0)(number, body) if number % 2 else (200, {}, completion(body, verdict="perhaps"), 0.0)

    with providing(cheap=half, dear=healthy(0.0)) as provider:
        both = " > ".join(f"openai-compatible:{name}@{provider.url},family={name}" for name in ("cheap", "dear"))
        assert judge("--cascade", both, arguments=BOTH[2:])[0].exit_code == 1
        assert provider.calls["dear"] > 0


def test_a_dry_run_is_one_json_text(judge):
    told = json.loads(judge("--dry-run", "--json")[0].stdout)
    assert [each["plan"][0]["judge"] for each in told["cascade"]] == ["simulated:wren", "simulated:heron"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ((*BOTH, "--judge", "rules"), "--cascade"),
        (("--cascade", "simulated:wren"), "SPEC > SPEC"),
        ((*BOTH, "--audit", "0"), "audit"),
        ((*BOTH, "--below", "1.5"), "below"),
    ],
)
def test_what_makes_no_cascade_is_refused_before_anybody_is_asked(judge, arguments, where):
    done, out = judge(arguments=arguments)
    assert where in str(done.exception)
    assert not out.exists()


def test_a_broken_file_among_the_others_is_not_passed_over_in_silence(judge, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_bytes(min((home() / "data" / "demo" / "results").glob("*.json")).read_bytes()[:-500])
    done, _ = judge("--dry-run", str(broken.parent))
    assert done.exit_code == 1
    assert "broken.json" in done.stderr
