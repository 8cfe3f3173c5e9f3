"""Verdicts and ratings: what is refused, and that nothing is mended."""

import json

import pytest
from pydantic import ValidationError

from axisjudge.verdict import AXES, VERDICTS, Rating, Verdict, check_citations, identity, item_id, verdict_schema

GOOD = {"rationale": "Step 3 shows it.", "cited_step_indices": [3], "verdict": "correct", "confidence": 0.9}
BASE = {
    "trajectory_id": "t",
    "cluster_id": "c",
    "question": "termination",
    "rater": "rules",
    "rater_kind": "rules",
    "family": "rules",
}


def test_a_good_verdict_passes():
    assert Verdict.model_validate(GOOD).verdict == "correct"


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "Correct"},
        {"verdict": "yes"},
        {"confidence": 1.01},
        {"confidence": -0.1},
        {"confidence": float("nan")},
        {"confidence": "0.9"},
        {"confidence": True},
        {"cited_step_indices": [1.5]},
        {"cited_step_indices": ["3"]},
        {"cited_step_indices": [True]},
        {"cited_step_indices": None},
        {"rationale": None},
        {"score": 1},
    ],
    ids=str,
)
def test_what_breaks_the_contract_is_refused_and_never_mended(change):
    with pytest.raises(ValidationError):
        Verdict.model_validate({**GOOD, **change})


@pytest.mark.parametrize("field", sorted(GOOD))
def test_every_field_is_needed(field):
    with pytest.raises(ValidationError):
        Verdict.model_validate({key: value for key, value in GOOD.items() if key != field})


def test_the_schema_asks_for_exactly_these_fields():
    schema = verdict_schema()
    assert sorted(schema["required"]) == sorted(schema["properties"]) == sorted(GOOD)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["verdict"]["enum"] == list(VERDICTS)
    assert "maximum" not in json.dumps(schema)  # strict modes refuse bounds; they are checked on our side


def test_the_reasons_come_before_the_verdict():
    # a model that writes its verdict first can only defend it afterwards
    fields = list(verdict_schema()["properties"])
    assert fields.index("rationale") < fields.index("verdict") < fields.index("confidence")


def test_citations_out_of_range_are_found():
    assert check_citations([0, 5, 6, -1, 50], n_steps=6) == [6, -1, 50]
    assert check_citations([0], n_steps=0) == [0]


def test_item_ids():
    assert [item_id("t"), item_id("t", 0), item_id("t", None, "i2")] == ["t", "t#0", "t@i2"]
    assert Rating(**BASE, verdict="correct", step_index=4).item_id == "t#4"


@pytest.mark.parametrize("status", ["refused", "truncated", "parse_error", "api_error"])
def test_only_ok_carries_a_verdict(status):
    assert Rating(**BASE, status=status).verdict is None
    with pytest.raises(ValidationError, match="carries no verdict"):
        Rating(**BASE, status=status, verdict="incorrect")
    with pytest.raises(ValidationError, match="needs a verdict"):
        Rating(**BASE)


def test_other_scales_take_other_words():
    assert Rating(**BASE, scale="ordinal:1-5", verdict="4", value=4.0).value == 4.0
    with pytest.raises(ValidationError, match="verdict must be one of correct"):
        Rating(**BASE, verdict="4")


def test_identity_tells_raters_prompts_and_repeats_apart():
    one = Rating(**BASE, verdict="correct", prompt_sha256="a")
    assert identity(one) == identity(one.model_copy(update={"verdict": "incorrect", "run_id": "x", "cost_usd": 1.0}))
    for change in (
        {"repeat": 1},
        {"prompt_sha256": "b"},
        {"rater": "x"},
        {"rater_version": "2"},
        {"question": AXES[0]},
    ):
        assert identity(one.model_copy(update=change)) != identity(one)


def test_a_rating_survives_json():
    rating = Rating(**BASE, verdict="correct", probabilities={"correct": 0.75}, flags=["é", "\u2028"])
    assert Rating.model_validate_json(rating.model_dump_json()) == rating
