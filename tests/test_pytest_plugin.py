"""The pytest plugin in sessions of pytest: met, shown to fall short, and too few labels to tell."""

from xml.etree import ElementTree

import pytest
from studies.check.conftest import csv, votes

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.judging import judge
from axisjudge.readers import read_trajectories
from axisjudge.workbench import home

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def table(tmp_path_factory, judged):
    """A table that was checked once: a session inside a session forgets its imports, and numpy loads once only."""
    path = tmp_path_factory.mktemp("plugin") / "results.csv"
    path.write_text(csv(votes()))
    judged(path).require("caught>=0.3", "gpt.kappa>=0.2")
    return path


@pytest.fixture
def session(pytester, table):
    """Run a test of some requirements; the result and its JUnit case."""

    def run(*requirements):
        pytester.makepyfile(f"def test_gate(judged):\n    judged({str(table)!r}).require(*{requirements})")
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--junit-xml=junit.xml")
        return done, ElementTree.parse(pytester.path / "junit.xml").getroot()[0][0]

    return run


def test_met(session):
    done, _ = session("caught>=0.3", "gpt.kappa>=0.2")
    assert done.ret == 0
    done.assert_outcomes(passed=1)


def test_shown_to_fall_short_fails_even_beside_one_that_cannot_be_told(session):
    done, case = session("caught>=0.7", "caught>=0.99")
    assert done.ret == 1
    done.assert_outcomes(failed=1)
    assert "caught>=0.99" in case[0].get("message")
    assert "TooFewLabels" not in case[0].get("message")


def test_too_few_labels_fail_the_session_under_a_name_of_their_own(session):
    done, case = session("caught>=0.3", "caught>=0.7")
    assert done.ret == 1
    done.stdout.re_match_lines(
        [r".*\?.*100%", "=+ too few labels =+", ".*::test_gate", ".*gpt: caught>=0.7", "=+ 1 too few labels in"]
    )
    assert "TooFewLabels" in case[0].get("message")


@pytest.mark.parametrize("requirements", [(), ("cauhgt>=0.8",), ("nobody.caught>=0.8",), ("caught>0.8",)])
def test_a_requirement_that_requires_nothing_is_no_pass(judged, table, requirements):
    with pytest.raises(InputError):
        judged(table).require(*requirements)


def test_ratings_and_labels(judged, tmp_path):
    """A file of ratings and one of labels, as `compare` takes them."""
    ratings, labels = tmp_path / "ratings.jsonl", home() / "data" / "demo" / "planted.jsonl"
    judge(read_trajectories(demo_paths()[0]).trajectories[:12], ["rules", "simulated:heron"], out=ratings)
    held = judged([ratings], labels=labels)
    assert {each.outcome for each in held.require("simulated:heron.accuracy<=1")} == {"met"}
    with pytest.raises(pytest.fail.Exception, match=r"rules, termination: .*: fell short"):
        held.require("termination.coverage>=0.9")
