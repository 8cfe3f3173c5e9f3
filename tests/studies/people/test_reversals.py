"""What would overturn a claim: the changed verdicts do give another answer, one fewer of them does not."""

import numpy as np
import pytest

from axisjudge.ratings import ratings_frame
from axisjudge.studies.people import people
from axisjudge.studies.people.judges import ClaimAnswer, ClaimKind, ClaimReason
from axisjudge.studies.people.sentences import weakest_sentence
from axisjudge.verdict import Rating


def rated(hits, n_failures=30, n_passed=60, missed="correct"):
    """One person, and one judge that finds so many of the failures and errs on no other run; every run its own task."""
    rows = []
    for number in range(n_failures + n_passed):
        about = {"trajectory_id": f"r{number}", "item_id": f"r{number}", "task_id": f"r{number}", "status": "ok"}
        about |= {"cluster_id": f"r{number}", "question": "sequencing", "scale": "verdict", "repeat": 0}
        person = "incorrect" if number < n_failures else "correct"
        judge = "incorrect" if number < hits else missed if number < n_failures else "correct"
        rows.append(Rating(**about, rater="ada", rater_kind="human", family="human", verdict=person))
        rows.append(Rating(**about, rater="owl", rater_kind="llm", family="owls", verdict=judge))
    return people(ratings_frame(rows), n_draws=0)


def answered(found, kind):
    return next(each for each in found.claims.comparison.claims if each.kind is kind)


def test_the_number_is_that_of_worse_judges_counted_one_by_one():
    claim = answered(rated(28), ClaimKind.FINDS_FAILURES)
    reversal = claim.reversal
    assert claim.answer is ClaimAnswer.MAY
    last, fallen = (answered(rated(28 - reversal.changes + more), ClaimKind.FINDS_FAILURES) for more in (1, 0))
    assert (last.answer, fallen.answer) == (ClaimAnswer.MAY, ClaimAnswer.NOT_SHOWN)
    assert reversal.exact


def test_a_claim_shown_false_falls_with_better_verdicts():
    claim = answered(rated(3), ClaimKind.FINDS_FAILURES)
    reversal = claim.reversal
    assert claim.answer is ClaimAnswer.MAY_NOT
    last, fallen = (answered(rated(3 + reversal.changes - less), ClaimKind.FINDS_FAILURES) for less in (1, 0))
    assert last.answer is ClaimAnswer.MAY_NOT
    assert fallen.answer is not ClaimAnswer.MAY_NOT


def test_failures_on_which_the_judge_takes_no_side_are_no_missing_failures():
    of = {n: answered(rated(0, n, missed="uncertain"), ClaimKind.FINDS_FAILURES) for n in (0, 30)}
    assert {n: claim.reason for n, claim in of.items()} == {0: ClaimReason.NO_FAILURE, 30: ClaimReason.NO_SIDE}


def test_claims_without_an_answer_have_none_and_the_weakest_is_named():
    found = rated(28)
    unchecked = [claim.reversal for claim in found.claims.comparison.claims if claim.answer is ClaimAnswer.NOT_CHECKED]
    assert unchecked
    assert set(unchecked) == {None}
    made = [
        one.reversal.changes for one in found.claims.comparison.claims if one.answer is ClaimAnswer.MAY and one.reversal
    ]
    assert str(min(made)) in weakest_sentence(found.claims.comparison)
    assert all(row["overturned_by"] for row in found.to_dict()["questions"][0]["claims"])
    assert len(found.tables()["reasons"]["overturned by"]) == 6


@pytest.mark.parametrize("seed", [1, 2])
def test_judges_agree_beyond_chance_until_so_many_verdicts_are_otherwise(seed):
    from axisjudge.studies.agreement import agreement

    rng, rows = np.random.default_rng(seed), []
    for number in range(80):
        failed = rng.random() < 0.3
        for judge in ("owl", "elk"):
            word = "incorrect" if failed != (rng.random() < 0.1) else "correct"
            about = {"trajectory_id": f"r{number}", "item_id": f"r{number}", "task_id": f"t{number // 2}"}
            about |= {"cluster_id": f"t{number // 2}", "question": "sequencing", "scale": "verdict", "repeat": 0}
            rows.append(Rating(**about, rater=judge, rater_kind="llm", family=judge, status="ok", verdict=word))
    found = agreement(ratings_frame(rows), weighted=False)
    (one,) = found.reversals.values()
    assert 1 < one.changes < 40
    assert one.n_candidates == sum(row.verdict == "incorrect" for row in rows), "the rarer words can change"
    assert f"{one.changes} verdicts" in found.of_panel[-1]


def test_a_wrong_label_overturns_as_a_wrong_verdict_does():
    """Labels of items that the judge passed become failures that it missed; one by one they are counted anew."""
    claim = answered(rated(20, n_failures=20, n_passed=200), ClaimKind.BEATS_ONE_WORD)
    assert claim.answer is ClaimAnswer.MAY
    one_fewer = claim.reversal.changes - 1
    mislabelled = answered(rated(20, 20 + one_fewer, 200 - one_fewer), ClaimKind.BEATS_ONE_WORD)
    misjudged = answered(rated(20 - one_fewer, 20, 200), ClaimKind.BEATS_ONE_WORD)
    assert mislabelled.answer is misjudged.answer is ClaimAnswer.MAY
