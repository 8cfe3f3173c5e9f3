"""The study behind its front door: every way of drawing labels survives saving, and what is asked for is there."""

import matplotlib.pyplot as plt
import polars as pl
import pytest
from judged import ratings

from axisjudge.checks import InputError
from axisjudge.figures.theme import is_empty
from axisjudge.labels.sampling import drawn_flags
from axisjudge.studies.people import People, against_people, claims
from axisjudge.studies.people import people as study

WORDS = {"j": ["incorrect", "correct", "correct"] * 20, "k": ["correct"] * 60}


def labels(flags, labelled=45, names=("ann", "bo", "cy")):
    words = {name: ["incorrect", "correct", "correct"] * (labelled // 3) for name in names}
    table = ratings(words, kinds=dict.fromkeys(names, "human"), families=dict.fromkeys(names, "human"))
    return table.with_columns(flags=pl.lit(list(flags), dtype=pl.List(pl.String)))


@pytest.mark.slow
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
    assert list(again.parts) == list(result.parts)
    for name, table in result.tables().items():
        assert table.equals(again.tables()[name]), name


def test_labels_of_two_draws_come_back_with_the_reason(tmp_path):
    several = labels(drawn_flags("by_key", 0.4, key="domain"), names=("dot",))
    result = study(ratings(WORDS), pl.concat([labels(drawn_flags("random", 0.4)), several]))
    again = People.load(result.save(tmp_path / "people.json.gz"))
    drawn, of_saved = (each.claims.comparison.questions[0].panel.drawn for each in (result, again))
    assert of_saved.problem is drawn.problem
    assert again.answer == result.answer


def test_the_answer_is_short_and_a_stranger_comes_first():
    result = study(ratings(WORDS), labels(drawn_flags("random", 0.75)))
    assert "may stand in" in result.answer
    assert result.answer.count(". ") <= 2


@pytest.mark.slow
def test_a_part_by_itself_is_that_of_the_whole_and_leaves_a_judge_out_by_one_argument():
    both = labels(drawn_flags("random", 0.75))
    whole, mine = study(ratings(WORDS), both), claims(ratings(WORDS), both)
    assert mine.to_dict() == whole.claims.to_dict()
    assert against_people(mine).table.equals(whole.judges.table)
    assert set(claims(ratings(WORDS), both, judges=["j"]).table["judge"]) == {"j"}


@pytest.mark.slow
def test_only_what_can_be_drawn_is_drawn():
    alone = study(ratings(WORDS), labels((), names=("ann",)))
    drawn = {name for name, figure in alone.figures().items() if not is_empty(figure)}
    assert "judges" in drawn
    assert not {"stand_in", "rates"} & drawn
    several = study(ratings(WORDS), labels(drawn_flags("random", 0.75)))
    drawn = {name for name, figure in several.figures().items() if not is_empty(figure)}
    assert {"judges", "stand_in", "rates"} <= drawn
    plt.close("all")


@pytest.mark.slow
def test_one_table_of_both_needs_no_labels_of_its_own():
    both = pl.concat([ratings(WORDS), labels(drawn_flags("random", 0.75))])
    assert study(both).to_dict() == study(both, both).to_dict()


def test_the_truth_holds_every_item():
    truth = labels((), labelled=60, names=("truth",)).select("item_id", "question", "verdict")
    planted = study(ratings(WORDS), labels(drawn_flags("random", 0.75)), truth=truth).rates.planted
    assert [rate.planted for rate in planted] == pytest.approx([1 / 3, 1 / 3])
    with pytest.raises(InputError, match="truth: must hold termination of every item"):
        study(ratings(WORDS), labels(drawn_flags("random", 0.75)), truth=truth.head(10))


def test_without_draws_few_labels_are_not_tried_and_not_spoken_of():
    table = ratings(WORDS | {"ann": WORDS["j"]}, kinds={"ann": "human"}, per_task=3)
    tried, untried = (study(table, n_few=10, n_draws=n) for n in (4, 0))
    assert len(tried.rates.few.judges) == 2
    too_few = study(table, n_few=5, n_draws=4)
    assert too_few.rates.few.judges.is_empty()
    assert "5 runs are too few" in too_few.rates.answer
    assert untried.rates.few.judges.is_empty()
    assert tried.rates.answer.startswith(untried.rates.answer)
    assert "drawn" in tried.rates.answer or "draws" in tried.rates.answer
    assert "draws" not in untried.rates.answer
