"""The register of quantities: its rules by hand (that every entry computes: tests/test_docs.py)."""

import numpy as np
import pytest

from axisjudge.stats.agreement.effective import majority_accuracy
from axisjudge.stats.estimate import FAILED, QUANTITIES, all_fail, any_fails, majority_right, split

NO = np.nan


def test_no_two_quantities_bear_the_same_words():
    assert len({each.words for each in QUANTITIES.values()}) == len(QUANTITIES)
    assert all(all(each) for each in QUANTITIES.values())


def test_words_that_take_no_side_are_in_no_failure_rate():
    assert not {"uncertain", "not_applicable"} & set(FAILED)
    incorrect = [[1, NO, NO], [1, 1, NO], [1, 0, NO], [0, NO, NO], [NO, NO, NO]]
    np.testing.assert_array_equal(any_fails(incorrect), [1, 1, 1, 0, NO])
    np.testing.assert_array_equal(all_fail(incorrect), [NO, 1, 0, NO, NO])  # one that decides is no consensus


def test_a_tie_of_the_majority_is_shared_whatever_the_order_of_judges():
    words = np.array([[0, 0, 1], [0, 1, NO], [2, 1, 0], [NO, NO, NO]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        right, tied = majority_right(words[:, order], [0, 1, 0, 1])
        np.testing.assert_allclose(right, [1, 1 / 2, 1 / 3, NO])
        assert tied.tolist() == [False, True, True, False]
    assert majority_accuracy(words, [0, 1, 0, 1]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_judges_are_split_by_words_that_take_sides_alone():
    assert split([[0, 0, NO], [0, 1, NO], [NO, 1, NO]]).tolist() == [False, True, False]
