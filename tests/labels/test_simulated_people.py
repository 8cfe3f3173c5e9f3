"""Simulated people: the stated rates, the same labels for the same item, and never anything but simulated."""

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_truth
from axisjudge.labels.panel import HITS, PASSES, PEOPLE, SHARED_DIFFICULTY, simulated_people
from axisjudge.ratings import SCHEMA, read_ratings


@pytest.fixture(scope="module")
def planted():
    return read_ratings(demo_truth())


@pytest.fixture(scope="module")
def many(planted):
    """The planted items under eight other names each, so that rates can be seen."""
    copies = [
        planted.with_columns(trajectory_id=pl.col("trajectory_id") + f"~{copy}", item_id=pl.col("item_id") + f"~{copy}")
        for copy in range(8)
    ]
    everything = pl.concat(copies)
    return everything, simulated_people(everything, seed=1)


def joined(planted, told):
    truth = planted.select("item_id", "question", truth="verdict", steps="cited_step_indices")
    return told.join(truth, on=["item_id", "question"])


def test_hit_rates_are_those_stated(many):
    table = joined(*many)
    for name, hit, passing in zip(PEOPLE, HITS, PASSES, strict=True):
        mine = table.filter(pl.col("rater") == name)
        for failed, rate in ((True, hit), (False, passing)):
            chosen = mine.filter((pl.col("truth") == "incorrect") == failed)
            share = (chosen["verdict"] == chosen["truth"]).mean()
            assert share == pytest.approx(rate, abs=4 * (rate * (1 - rate) / len(chosen)) ** 0.5)


def test_errors_are_shared_more_than_by_chance_and_less_than_fully(many):
    table = joined(*many).filter(pl.col("truth") == "incorrect")
    wide = table.with_columns(wrong=pl.col("verdict") != pl.col("truth")).pivot(
        "rater", index=["item_id", "question"], values="wrong"
    )
    both = (wide[PEOPLE[1]] & wide[PEOPLE[2]]).mean()
    alone = (1 - HITS[1]) * (1 - HITS[2])
    assert alone * 1.1 < both < 1 - HITS[1]
    assert 0 < SHARED_DIFFICULTY < 1


def test_failures_found_cite_their_steps_or_a_neighbour(many):
    found = joined(*many).filter((pl.col("truth") == "incorrect") & (pl.col("verdict") == "incorrect"))
    off = [
        min(abs(step - planted) for planted in steps)
        for cited, steps in found.select("cited_step_indices", "steps").iter_rows()
        for step in cited
    ]
    assert max(off) == 1
    assert 0.05 < sum(off) / len(off) < 0.2
    others = joined(*many).filter(pl.col("verdict") != "incorrect")
    assert others["cited_step_indices"].list.len().max() == 0


def test_the_same_item_gets_the_same_label_whoever_else_is_labelled(planted):
    everybody = simulated_people(planted, seed=5)
    few = simulated_people(planted.head(10), seed=5)
    key = ["rater", "item_id", "question"]
    assert few.sort(key).equals(everybody.join(few.select(key), on=key, how="semi").sort(key))
    assert not simulated_people(planted, seed=6)["verdict"].equals(everybody["verdict"])


def test_they_are_simulated_and_carry_how_items_were_drawn_alone(planted):
    flagged = planted.head(5).with_columns(flags=pl.lit(["drawn:random", "fault:wrong_sum"]))
    told = simulated_people(flagged, seed=1)
    assert set(told["rater_kind"]) == {"simulated"}
    assert told["flags"].to_list() == [["drawn:random"]] * 15
    assert dict(told.schema) == SCHEMA


def test_only_planted_truth_is_taken(planted):
    with pytest.raises(InputError, match="must be planted truth alone"):
        simulated_people(planted.with_columns(rater_kind=pl.lit("human")), seed=1)
    with pytest.raises(InputError, match="must be planted truth alone"):
        simulated_people(planted.head(0), seed=1)
