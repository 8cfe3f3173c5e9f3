"""Rubrics of signals and goal checks: what every current one has, and what the loader refuses."""

import re

import pytest

from axisjudge.checks import InputError
from axisjudge.rubric.axes import MIN_EXAMPLES, TOKEN_CEILING
from axisjudge.rubric.signals import (
    SECTIONS,
    SIGNAL_NAMES,
    list_signal_rubrics,
    load_signal_rubric,
    read_signal_rubric,
)
from axisjudge.scores.axis.judged.rule_signals import REPEATED_WEIGHT
from axisjudge.workbench import home

RUBRICS = [load_signal_rubric(name) for name in SIGNAL_NAMES]
each = pytest.mark.parametrize("rubric", RUBRICS, ids=SIGNAL_NAMES)
FILE = home() / "rubrics" / "axis_signals" / "weight" / "v2.md"


@each
def test_each_has_its_sections_and_examples_from_both_ends_of_its_scale(rubric):
    assert tuple(rubric.headings) == SECTIONS
    assert rubric.tokens <= TOKEN_CEILING
    numbers = [float(re.search(r"`([\d.]+)`$", example)[1]) for example in rubric.examples]
    most = 10 if rubric.question == "check" else 1
    assert len(numbers) >= MIN_EXAMPLES
    assert max(numbers) == most
    assert min(numbers) <= 0.4 * most
    assert any("near-miss" in example.lower() for example in rubric.examples)


@each
def test_what_is_left_out_is_owned_by_the_others(rubric):
    lines = [line for line in rubric.sections["Not in scope"].splitlines() if line]
    owners = {name for line in lines for name in re.findall(r"`(\w+)`", line)}
    assert owners <= {*SIGNAL_NAMES, "speed"} - {rubric.question}
    assert len(owners) >= 3


def test_a_version_can_be_named_and_the_hash_is_of_the_prose():
    rubric = load_signal_rubric("weight", "v1")
    assert rubric == list_signal_rubrics("weight")[0]
    assert [each.version for each in list_signal_rubrics("weight")] == ["v1", "v2"]
    assert load_signal_rubric("weight").version == "v2"
    assert len({rubric.sha256 for rubric in RUBRICS}) == len(RUBRICS)
    with pytest.raises(InputError, match="version of weight: must be one of v1"):
        load_signal_rubric("weight", "v9")
    with pytest.raises(InputError, match="did you mean 'success'"):
        load_signal_rubric("succes")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("question: weight", "question: success", "must match the file's place"),
        ("question: weight", "question: tool_selection", "front matter is not valid: question"),
        ("## Scale", "## Scales", "sections must be Question"),
        ("Value: `0.1`", "Value: `1.1`", "each worked example must end with its number"),
        ("Value: `0.1`", "Grade: `1`", "end it with a line such as Value: `0.7`"),
        ("at all: `necessity`.", "at all: nobody.", "each line of Not in scope must name what owns the question"),
    ],
)
def test_a_broken_current_rubric_is_refused_with_its_rule(tmp_path, old, new, message):
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "weight" / "v2.md"
    path.parent.mkdir()
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_signal_rubric(path)
    path.write_text(text, encoding="utf-8")
    assert read_signal_rubric(path).question == "weight"


def test_a_bare_claim_and_a_repeated_text_have_one_number_each():
    """Every number that the rubrics give for these two cases, wherever it stands."""
    check = load_signal_rubric("check")
    assert re.findall(r"- `(\d+)`: a bare claim", check.sections["Scale"]) == ["3"]
    claims = [each for each in check.examples if "only said" in each.lower()]
    assert claims
    assert {re.search(r"`(\d+)`$", each)[1] for each in claims} == {"3"}
    weight = load_signal_rubric("weight")
    assert re.findall(r"- `([\d.]+)`: .*second time", weight.sections["Scale"]) == ["0.2"]
    assert re.findall(r"second time.*?It is `([\d.]+)`", weight.sections["In scope"], re.DOTALL) == ["0.2"]
    again = [each for each in weight.examples if "the text is the same" in each]
    assert {re.search(r"`([\d.]+)`$", each)[1] for each in again} == {"0.2"}
    assert REPEATED_WEIGHT == 0.2
