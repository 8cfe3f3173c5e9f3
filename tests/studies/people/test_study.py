"""The study behind its front door: every way of drawing labels survives saving, and what is asked for is there."""

import polars as pl
import pytest
from judged import ratings

from axisjudge.checks import InputError
from axisjudge.labels.sampling import drawn_flags
from axisjudge.studies.people import People
from axisjudge.studies.people import people as study

WORDS = {"j": ["incorrect", "correct", "correct"] * 20, "k": ["correct"] * 60}


def labels(flags, labelled=45, names=("ann", "bo", "cy")):
    words = {name: ["incorrect", "correct", "correct"] * (labelled // 3) for name in names}
    table = ratings(words, kinds=dict.fromkeys(names, "human"), families=dict.fromkeys(names, "human"))
    return table.with_columns(flags=pl.lit(list(flags), dtype=pl.List(pl.String)))


@pytest.mark.parametrize(
    "flags",
    [
        drawn_flags("random", 0.75),
        drawn_flags("by_judge_verdict", key="other: termination"),
        drawn_flags("by_key", 0.5, key="domain"),
        (),
    ],
)
def test_ceilings_tests_draws_and_refusals_come_back(flags, tmp_path):
    result = study(ratings(WORDS), labels(flags))
    again = People.load(result.save(tmp_path / "people.json.gz"))
    assert again.to_dict() == result.to_dict()
    assert again.sentences == result.sentences
    assert list(again.plots()) == list(result.plots())
    for name, table in result.tables().items():
        assert table.equals(again.tables()[name]), name


def test_labels_of_two_draws_come_back_with_the_reason(tmp_path):
    several = labels(drawn_flags("by_key", 0.4, key="domain"), names=("dot",))
    result = study(ratings(WORDS), pl.concat([labels(drawn_flags("random", 0.4)), several]))
    again = People.load(result.save(tmp_path / "people.json.gz"))
    assert again.comparison.questions[0].panel.drawn.problem is result.comparison.questions[0].panel.drawn.problem
    assert again.answer == result.answer


def test_the_answer_is_short_and_a_stranger_comes_first():
    result = study(ratings(WORDS), labels(drawn_flags("random", 0.75)))
    assert "may stand in" in result.answer
    assert result.answer.count(". ") <= 2


def test_figures_are_those_that_can_be_drawn():
    alone = study(ratings(WORDS), labels((), names=("ann",)))
    assert list(alone.plots()) == ["against_people"]
    with pytest.raises(InputError, match="figures are against_people"):
        alone.figure("stand_in")
    several = study(ratings(WORDS), labels(drawn_flags("random", 0.75)))
    assert list(several.plots()) == ["against_people", "stand_in", "corrected_rates"]


def test_one_table_of_both_needs_no_labels_of_its_own():
    both = pl.concat([ratings(WORDS), labels(drawn_flags("random", 0.75))])
    assert study(both).to_dict() == study(both, both).to_dict()


def test_the_truth_holds_every_item():
    truth = labels((), labelled=60, names=("truth",)).select("item_id", "question", "verdict")
    planted = study(ratings(WORDS), labels(drawn_flags("random", 0.75)), truth=truth).planted
    assert [rate.planted for rate in planted] == pytest.approx([1 / 3, 1 / 3])
    with pytest.raises(InputError, match="truth: must hold termination of every item"):
        study(ratings(WORDS), labels(drawn_flags("random", 0.75)), truth=truth.head(10))


def test_without_draws_few_labels_are_not_tried_and_not_spoken_of():
    table = ratings(WORDS | {"ann": WORDS["j"]}, kinds={"ann": "human"}, per_task=3)
    tried, untried = (study(table, n_few=10, n_draws=n) for n in (4, 0))
    assert len(tried.few.judges) == 2
    too_few = study(table, n_few=5, n_draws=4)
    assert too_few.few.judges.is_empty()
    assert "5 runs are too few" in too_few.sentences[-1]
    assert untried.few.judges.is_empty()
    assert len(tried.sentences) == len(untried.sentences) + 1
