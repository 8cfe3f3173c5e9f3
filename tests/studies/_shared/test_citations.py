"""Citations: right by hand, versions kept apart, chance refused where it cannot be had, contradictions told."""

import json
import math

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.judging import judge
from axisjudge.ratings import ratings_frame
from axisjudge.readers import read_trajectories
from axisjudge.studies._shared.citations import NoChance, shared_steps
from axisjudge.verdict import check_citations

N_STEPS = 10


@pytest.fixture
def cited(one_rating):
    """A table from (run, judge, letter, cited steps[, fields]); every run has ten steps."""

    def make(*rows):
        return ratings_frame(
            one_rating(
                run,
                "termination",
                name,
                letter,
                cited_step_indices=steps,
                invalid_citations=check_citations(steps, N_STEPS),
                **(fields[0] if fields else {}),
            )
            for run, name, letter, steps, *fields in rows
        )

    return make


def steps_of(table):
    return dict.fromkeys(table["trajectory_id"], N_STEPS)


@pytest.fixture
def four(cited):
    return cited(
        ("a-1", "j1", "i", [1]),
        ("a-1", "j2", "i", [1]),  # the same step
        ("a-2", "j1", "i", [2, 3]),
        ("a-2", "j2", "c", [3, 4]),  # one of three
        ("a-3", "j1", "i", [0]),
        ("a-3", "j2", "i", [4, 40]),  # one verdict, other evidence; step 40 does not exist
        ("a-4", "j1", "i", []),
        ("a-4", "j2", "i", [5]),
        ("a-5", "j1", "x", []),  # lost
        ("a-5", "j2", "i", [5]),
    )


def test_overlap_chance_and_distance_by_hand(four):
    (pair,) = shared_steps(four, steps=steps_of(four)).pairs
    assert (pair.n_items, pair.cited.n_both, pair.cited.n_one, pair.cited.n_none) == (4, 3, 1, 0)
    assert pair.cited.overlap.estimate == pytest.approx((1 + 1 / 3 + 0) / 3)
    two_of_ten = (16 / 45) * (1 / 3) + 1 / 45  # one shared of three, or both: hypergeometric
    assert pair.cited.chance == pytest.approx((1 / 10 + two_of_ten + 1 / 10) / 3)
    assert pair.cited.excess.estimate == pytest.approx(pair.cited.overlap.estimate - pair.cited.chance)
    assert pair.cited.distance.estimate == pytest.approx((0 + 0.5 + 4) / 3)
    assert math.isnan(pair.cited.overlap.ci_low)  # three tasks
    assert "too few" in pair.cited.overlap.reason


def test_validity_counts_cited_steps_by_task(four):
    found = shared_steps(four)
    first, second = found.judges
    assert (first.n_verdicts, first.n_citing, first.n_cited, first.n_invalid) == (4, 3, 4, 0)
    assert (second.n_verdicts, second.n_citing, second.n_cited, second.n_invalid) == (5, 5, 7, 1)
    assert second.validity.estimate == pytest.approx(6 / 7)
    assert (second.validity.n_clusters, second.validity.cluster_unit) == (5, "task")
    assert second.validity.ci_low < 6 / 7 < second.validity.ci_high
    assert "j2 cites steps in 5 of 5 verdicts; 6 of 7 cited steps exist (86%," in " ".join(found.sentences)


def test_one_verdict_without_a_common_step_is_listed(four):
    found = shared_steps(four, steps=steps_of(four))
    assert [(pair.question, pair.no_common_step, pair.judges) for pair in found.pairs if pair.no_common_step] == [
        ("termination", ("a-3",), ("j1", "j2"))
    ]
    assert any("1 cites no step in common" in s for s in found.sentences)


def test_without_steps_overlap_stays_and_chance_is_refused(four):
    with_steps, without = shared_steps(four, steps=steps_of(four)), shared_steps(four)
    (one,), (other,) = with_steps.pairs, without.pairs
    assert other.cited.overlap == one.cited.overlap
    assert other.cited.distance == one.cited.distance
    assert math.isnan(other.cited.chance)
    assert math.isnan(other.cited.excess.estimate)
    assert other.cited.excess.reason == NoChance.NO_STEPS
    assert with_steps.refusal == ""
    assert any(NoChance.NO_STEPS in sentence for sentence in without.sentences)
    assert not any("above chance" in sentence for sentence in without.sentences)


def test_steps_come_as_a_mapping_or_a_table(four):
    mapping = steps_of(four)
    frame = pl.DataFrame({"trajectory_id": list(mapping), "n_steps": list(mapping.values())})
    assert shared_steps(four, steps=frame).to_dict() == shared_steps(four, steps=mapping).to_dict()
    counted = dict(zip(mapping, np.array(list(mapping.values())), strict=True))
    assert shared_steps(four, steps=counted).to_dict() == shared_steps(four, steps=mapping).to_dict()
    as_pandas = shared_steps(four.to_pandas(), steps=frame.to_pandas()).table
    assert type(as_pandas).__module__.startswith("pandas")
    assert as_pandas["overlap"].tolist() == shared_steps(four).table["overlap"].to_list()


def test_versions_are_kept_apart_and_a_judge_without_one_meets_each(cited):
    def under(version, steps):
        return [(f"a-{task}", "j1", "i", steps, {"rubric_version": version}) for task in range(12)]

    rules = [(f"a-{task}", "j2", "i", [3]) for task in range(12)]
    table = cited(*under("v1", [8]), *under("v2", [3]), *rules)
    found = shared_steps(table, steps=steps_of(table))
    assert [(pair.rubric_version, pair.cited.overlap.estimate) for pair in found.pairs] == [("v1", 0), ("v2", 1)]
    assert [len(pair.no_common_step) for pair in found.pairs] == [12, 0]
    assert "is 0.00 under v1 and 1.00 under v2" in found.sentences[-1]
    assert found.judges[0].n_verdicts == 24


def test_interval_above_chance_is_counted(cited):
    rows = [
        (f"a-{task}", name, "i", [task % 10] if task % 4 else [(task + at) % 10])
        for task in range(40)
        for at, name in enumerate(("j1", "j2"))
    ]
    table = cited(*rows)
    found = shared_steps(table, steps=steps_of(table))
    assert found.pairs[0].cited.excess.estimate == pytest.approx(0.75 - 0.1)
    assert found.pairs[0].cited.excess.ci_low > 0
    (said,) = [said for said in found.sentences if "0.65" in said and "exceeds chance within the run" in said]
    assert said.endswith("it is shown to lie above chance.")


def test_no_citations_one_judge_and_an_empty_table(cited, table):
    nothing = shared_steps(table({"a-1": {"termination": "ii"}}))
    assert not nothing.any_cited
    assert nothing.sentences == ("No judge cites a step, so there is no evidence to compare.",)
    assert math.isnan(nothing.judges[0].validity.estimate)
    assert nothing.pairs == ()
    apart = shared_steps(cited(("a-1", "j1", "i", [1]), ("a-1", "j2", "i", [])))
    assert math.isnan(apart.pairs[0].cited.overlap.estimate)
    assert apart.pairs[0].cited.n_one == 1
    assert "so there is no overlap" in apart.overlap_sentence
    alone = shared_steps(cited(("a-1", "j1", "i", [1])))
    assert alone.pairs == ()
    assert alone.table.height == 0
    assert "no overlap" in alone.overlap_sentence
    assert shared_steps(cited()).judges == ()


def test_people_and_planted_truth_are_no_judges_and_other_repeats_are_told(cited):
    found = shared_steps(
        cited(
            ("a-1", "j1", "i", [1]),
            ("a-1", "j1", "i", [2], {"repeat": 1}),
            ("a-1", "p", "i", [1], {"rater_kind": "human"}),
            ("a-1", "truth", "i", [1], {"rater_kind": "planted"}),
        )
    )
    assert [judge.judge for judge in found.judges] == ["j1"]
    assert found.repeats_left_out == 1
    assert "1 rating of other repeats" in found.sentences[-1]


def test_contradictions_are_told(cited, four):
    with pytest.raises(InputError, match="run a-2"):
        shared_steps(four, steps={"a-1": N_STEPS})
    with pytest.raises(InputError, match="contradicts the invalid citations"):
        shared_steps(four, steps=dict.fromkeys(four["trajectory_id"], 4))
    with pytest.raises(InputError, match="contradicts the invalid citations"):
        shared_steps(four, steps=dict.fromkeys(four["trajectory_id"], 50))
    with pytest.raises(InputError, match="one n_steps for each run"):
        shared_steps(four, steps={"trajectory_id": ["a-1", "a-1"], "n_steps": [3, 4]})
    twice = cited(("a-1", "j1", "i", [1]), ("a-1", "j1", "i", [2], {"prompt_sha256": "0"}))
    half_named = cited(("a-1", "j1", "i", [1]), ("a-1", "j1", "i", [2], {"rubric_version": "v1"}))
    for table in (twice, half_named):
        with pytest.raises(InputError, match="filter by prompt_sha256"):
            shared_steps(table)


@pytest.mark.slow
def test_the_demo():
    runs = read_trajectories(*demo_paths()).trajectories[:60]
    ratings = judge(runs, ["rules", "simulated:heron", "simulated:wren"], repeats=3, progress=False)
    found = shared_steps(ratings, steps={run.id: len(run.steps) for run in runs})
    assert {pair.question for pair in found.pairs} == set(ratings["question"])
    assert len(found.pairs) == 15
    assert found.repeats_left_out == ratings.filter((pl.col("repeat") > 0) & pl.col("verdict").is_not_null()).height
    rules = next(each for each in found.judges if each.judge == "rules")
    assert rules.n_invalid == 0
    heron = next(each for each in found.judges if each.judge == "simulated:heron")
    assert 0.9 < heron.validity.estimate <= 1  # cites a step that does not exist at rate .01
    json.dumps(found.to_dict(), allow_nan=False)
