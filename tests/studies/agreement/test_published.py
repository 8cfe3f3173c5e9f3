"""What the published table of 20 trajectories implies, against the figures worked out from it by hand."""

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.studies.agreement.by_question import published_agreement
from axisjudge.studies.rubric_versions import published_course
from axisjudge.workbench import home

# Cohen's kappa and AC1 implied by the two published tables, if disagreements are correct against incorrect.
IMPLIED = {
    "tool_selection": ((0.83, 0.83), 0.93, 3),
    "argument_validity": ((0.0, 0.0), 0.95, 0),
    "sequencing": ((0.44, 0.46), 0.88, 1),
    "result_interpretation": ((0.57, 0.58), 0.77, 3),
    "termination": ((-0.05, 0.0), 0.89, 0),
}


def published(name):
    return pl.read_csv(home() / "data" / "published" / f"{name}.csv")


def test_the_published_tables_fix_the_common_table():
    found = published_agreement(published("agreement_by_axis"), published("any_judge_incorrect"), n_tasks=5)
    assert [one.axis for one in found.axes] == list(IMPLIED)
    for one in found.axes:
        kappa, ac1, both = IMPLIED[one.axis]
        assert one.kappa == pytest.approx(kappa, abs=0.005)
        assert one.ac1 == pytest.approx((ac1, ac1), abs=0.005)
        assert one.both_incorrect == both


def test_five_tasks_allow_less_than_twenty_items():
    found = published_agreement(published("agreement_by_axis"), published("any_judge_incorrect"), n_tasks=5)
    best = found.axes[0]
    assert found.effective_items == pytest.approx(10.53, abs=0.01)
    assert best.if_independent == pytest.approx((0.764, 0.991), abs=5e-4)
    assert best.if_clustered == pytest.approx((0.66, 0.99), abs=0.005)
    assert "argument_validity and termination no failure is shared" in found.answer


def test_tables_that_contradict_each_other_are_refused():
    agreement = pl.DataFrame({"axis": ["x"], "agree": [17], "n": [20]})
    failures = pl.DataFrame({"axis": ["x"], "agent": ["a"], "incorrect": [2], "n": [20]})
    with pytest.raises(InputError, match=r"published counts of x: .* must fit together"):
        published_agreement(agreement, failures, n_tasks=5)


def test_the_single_item_moves_by_hedging_and_then_by_a_flip():
    found = published_course(published("sim14_argument_validity_by_version"))
    assert [*found.raw_soft_agreement.values()] == pytest.approx([0.08, 0.44, 0.98])
    assert "all of it hedging" in found.changes[0]
    assert "none of it is progress" in found.changes[0]
    assert "1 flipped verdict," in found.changes[1]
    assert "progress" not in found.changes[1]


def test_a_version_with_one_judge_is_refused():
    with pytest.raises(InputError, match="needs two judges for each version"):
        published_course(published("sim14_argument_validity_by_version").head(5))
