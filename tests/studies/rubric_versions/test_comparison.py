"""Two rubric versions on one ratings table: what is counted, what is refused, and what the words say."""

import html
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata
from version_worlds import table, world

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import krippendorff_alpha, percent_agreement
from axisjudge.stats.agreement.soft import soft_agreement
from axisjudge.stats.comparisons.progress import VersionOutcome
from axisjudge.studies.rubric_versions import published_course, refused_task, rubric_versions
from axisjudge.studies.rubric_versions.sentences import less_sure
from axisjudge.studies.rubric_versions.versions import RankedOver
from axisjudge.workbench import home

AXIS = "argument_validity"


def compare_versions(ratings, axis, before, after, **how):
    """The one turn of two versions of one axis."""
    (turn,) = rubric_versions(ratings, {axis: (before, after)}, **how).turns
    return turn


@pytest.fixture(scope="module")
def progress():
    return world(np.random.default_rng(1), tasks=20, hit=(0.75, 0.93))


@pytest.fixture(scope="module")
def found(progress):
    return compare_versions(table(*progress), AXIS, "v1", "v2", steps={f"t{item:03d}": 3 for item in range(80)})


def test_figures_are_those_of_the_statistics(progress, found):
    codes, _, task = progress
    for version in (0, 1):
        rows = np.concatenate([codes[version, :, :, repeat] for repeat in range(3)])
        about = {"clusters": np.tile(task, 3), "categories": [0.0, 1.0, 2.0, 3.0]}
        shown = found.versions[version].coefficients
        assert shown["percent"].estimate == pytest.approx(percent_agreement(rows, **about).estimate)
        assert shown["alpha"].estimate == pytest.approx(krippendorff_alpha(rows, **about).estimate)
        assert shown["percent"].n_clusters == 20
    agree = (codes[:, :, 0] == codes[:, :, 1]).mean(axis=(1, 2))
    assert found.agreement.mean == pytest.approx(agree[1] - agree[0])
    assert found.decision.outcome == "progress"
    assert found.soft["total"] == pytest.approx(found.soft["flips"] + found.soft["hedging"])


def test_every_flip_stands_with_both_reasons(progress, found):
    codes = np.median(progress[0], axis=3)
    assert len(found.flips) == int((codes[0] != codes[1]).sum()) == sum(shift.n_flipped for shift in found.shifts)
    flip = found.flips[0]
    item, rater = int(flip.item[1:]), "ab".index(flip.judge[-1])
    words = ("correct", "incorrect")
    assert flip.before.verdict == words[int(codes[0, item, rater])]
    assert flip.after.verdict == words[int(codes[1, item, rater])]
    (shift,) = (each for each in found.shifts if each.judge == flip.judge)
    ways = [(words[int(a)], words[int(b)]) for a, b in codes[:, :, rater].T if a != b]
    assert shift.directions == {f"{a} → {b}": ways.count((a, b)) for a, b in sorted(set(ways))}
    assert flip.before.rationale == f"{flip.judge} under v1"
    assert flip.after.rationale == f"{flip.judge} under v2"
    assert flip.before.cited == (item % 3,)
    changes = [abs(each.agreement_change) for each in found.flips]
    assert changes == sorted(changes, reverse=True)


def test_a_flip_counts_for_agreement_where_it_brings_judges_together(progress, found):
    agree = (progress[0][:, :, 0] == progress[0][:, :, 1]).mean(axis=2)
    for flip in found.flips:
        item = int(flip.item[1:])
        assert flip.agreement_change == pytest.approx(agree[1, item] - agree[0, item])


def test_soft_agreement_is_that_of_beliefs_on_the_judge_s_own_mid_ranks(progress, found):
    codes, confidences, task = progress
    ranks = np.stack([rankdata(confidences[:, :, judge]).reshape(2, 80, 3) for judge in (0, 1)], axis=2)
    sure = (1 + (ranks - 0.5) / 480) / 2
    belief = np.where(codes == 0, sure, 1 - sure)
    for version in (0, 1):
        rows = np.concatenate([belief[version, :, :, repeat] for repeat in range(3)])
        expected = soft_agreement(rows, clusters=np.tile(task, 3)).estimate
        assert found.versions[version].soft["judge-a / judge-b"].estimate == pytest.approx(expected)


def test_labels_by_people_never_enter(progress):
    ratings = table(*progress)
    person = ratings.filter(pl.col("rater") == "judge-a").with_columns(
        rater=pl.lit("ada"), rater_kind=pl.lit("human"), verdict=pl.lit("uncertain")
    )
    assert compare_versions(pl.concat([ratings, person]), AXIS, "v1", "v2").judges == ("judge-a", "judge-b")


def test_noise_is_what_differs_between_repeats_of_one_version(progress, found):
    codes = progress[0][:, :, 0]
    pairs = [(0, 1), (0, 2), (1, 2)]
    noise = np.mean([codes[version, :, a] != codes[version, :, b] for version in (0, 1) for a, b in pairs])
    across = np.mean([codes[0, :, a] != codes[1, :, b] for a in range(3) for b in range(3)])
    assert found.shifts[0].noise == pytest.approx(noise)
    assert found.shifts[0].turnover == pytest.approx(across)


def test_hedging_alone_moves_soft_agreement_by_hedging_alone():
    codes, confidences, task = world(np.random.default_rng(2), tasks=20, repeats=3)
    codes[1], confidences[1] = codes[0], confidences[0] - 0.2
    turn = compare_versions(table(codes, confidences, task), AXIS, "v1", "v2")
    assert turn.decision.outcome == "hedging only"
    assert turn.soft["flips"] == 0
    assert turn.flips == ()
    assert "all of it hedging: no verdict changed" in turn.split_sentence
    moved = {shift.judge: shift.confidence for shift in turn.shifts}
    said = " ".join(less_sure(turn.shifts))
    less = [judge for judge, each in moved.items() if each.established and each.mean < 0]
    assert ("became less sure" in said) == bool(less)
    assert all(judge in said for judge in less)
    assert all(f"{pick(each.mean for each in moved.values()):+.3f}" in said for pick in (min, max))
    assert "not known" in less_sure([replace(shift, confidence=None) for shift in turn.shifts])[0]
    assert "No verdict flipped" not in "".join(turn.details)
    for shift in turn.shifts:
        assert shift.confidence.mean == pytest.approx(-0.2)


def test_the_order_of_rows_and_the_swap_of_versions_do_what_they_should(progress, found):
    shuffled = compare_versions(table(*progress).sample(fraction=1, shuffle=True, seed=4), AXIS, "v1", "v2")
    forward = compare_versions(table(*progress), AXIS, "v1", "v2")
    assert json.dumps(shuffled.to_dict(), default=str) == json.dumps(forward.to_dict(), default=str)
    back = compare_versions(table(*progress), AXIS, "v2", "v1")
    assert back.agreement.mean == pytest.approx(-found.agreement.mean)
    assert back.agreement.p_value == pytest.approx(found.agreement.p_value)
    assert back.decision.outcome == "worse"


def test_axes_compared_together_are_one_family(progress):
    same = world(np.random.default_rng(5), tasks=20)
    both = pl.concat([table(*progress), table(*same, axis="sequencing")])
    alone = compare_versions(both, AXIS, "v1", "v2")
    first, second = rubric_versions(both, {AXIS: ("v1", "v2"), "sequencing": ("v1", "v2")}).turns
    assert first.agreement.p_adjusted == pytest.approx(min(1, 2 * alone.agreement.p_adjusted))
    assert second.family == (AXIS, "sequencing")
    assert any("Holm over 2 axes" in text for text in first.details)


def test_without_repeats_the_words_say_so_and_what_to_run(progress):
    codes, confidences, task = progress
    turn = compare_versions(table(codes[..., :1], confidences[..., :1], task), AXIS, "v1", "v2")
    assert turn.decision.outcome == "noise not measured"
    said = " ".join(turn.details)
    assert "Noise between repeats was not measured" in said
    assert "repeats=3" in said


def test_judges_that_read_no_rubric_stand_aside_and_that_is_said(progress):
    ratings = table(*progress)
    rules = ratings.filter((pl.col("rater") == "judge-a") & (pl.col("rubric_version") == "v1")).with_columns(
        rater=pl.lit("rules"),
        rater_kind=pl.lit("rules"),
        rubric_version=pl.lit(None, dtype=pl.String),
        rubric_sha256=pl.lit(None, dtype=pl.String),
    )
    turn = compare_versions(pl.concat([ratings, rules]), AXIS, "v1", "v2")
    assert turn.judges == ("judge-a", "judge-b")
    assert turn.pair.aside == ("rules",)
    assert "rules is left aside" in " ".join(turn.details)


def test_held_out_ratings_never_enter(progress):
    ratings = table(*progress)
    held = pl.col("cluster_id") < "c010"
    split = pl.when(held).then(pl.lit("evaluation")).otherwise(pl.lit("calibration"))
    turn = compare_versions(ratings.with_columns(split=split), AXIS, "v1", "v2")
    assert turn.agreement.change.n_clusters == 10
    assert turn.pair.left_out["held_out"] == ratings.filter(held).height
    assert turn.pair.ranked_over is RankedOver.CALIBRATION
    with pytest.raises(InputError, match="all these ratings are of held-out tasks"):
        compare_versions(ratings.with_columns(split=pl.lit("evaluation")), AXIS, "v1", "v2")


def test_lost_verdicts_count_neither_way_and_are_counted(progress):
    codes, confidences, task = progress
    codes = codes.copy()
    codes[1, :5, 0, :] = np.nan
    turn = compare_versions(table(codes, confidences, task), AXIS, "v1", "v2")
    assert turn.pair.left_out["lost"] == 15
    assert turn.agreement.change.n_items == 75
    assert turn.shifts[0].n_items == 75


EARLY = pl.col("item_id") < "t010"
REFUSED = {
    "v1 was edited after it had judged": {
        "rubric_sha256": pl.when(EARLY).then(pl.lit("another text")).otherwise("rubric_sha256")
    },
    "none under v2": {"rubric_version": pl.lit("v1"), "rubric_sha256": pl.lit("one")},
    "agreement needs two judges": {
        "rater": pl.lit("judge-a"),
        "repeat": pl.col("repeat") + 3 * (pl.col("rater") == "judge-b"),
    },
    "no run was judged under v1 and v2": {"item_id": pl.col("rubric_version") + pl.col("item_id")},
    "one rating for each run, judge, rubric version and repeat": {"repeat": pl.lit(0)},
    "must be of one source": {
        "confidence_source": pl.when(EARLY).then(pl.lit("native")).otherwise("confidence_source")
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_compared_is_refused(progress, message):
    with pytest.raises(InputError, match=message):
        compare_versions(table(*progress).with_columns(**REFUSED[message]), AXIS, "v1", "v2")


def test_a_version_bump_without_a_change_is_said(progress):
    turn = compare_versions(table(*progress, rubric_sha256="same"), AXIS, "v1", "v2")
    assert turn.pair.same_text
    assert "the same text" in " ".join(turn.details)


def test_it_is_escaped_and_bears_the_banner(progress):
    ratings = table(*progress, rater_kind="simulated").with_columns(rater=pl.col("rater") + "<script>")
    result = rubric_versions(ratings, {AXIS: ("v1", "v2")})
    assert result.banner.startswith("SIMULATED OR PLANTED")
    assert result.banner in repr(result)
    assert html.escape(result.banner) in result._repr_html_()
    assert "<script>" not in result._repr_html_()
    assert html.escape("judge-a<script>") in result._repr_html_()


def test_the_line_on_shared_evidence_stands_whatever_its_words(found):
    """Judges cite the same steps under both versions; what says so is asked for by name, not found by its words."""
    assert len(found.citations.version_sentences) == 1
    assert set(found.citations.version_sentences) < set(found.details)


def test_a_version_whose_repeats_go_on_where_the_others_end_is_read_like_any(progress, found):
    later = pl.when(pl.col("rubric_version") == "v2").then(pl.col("repeat") + 3).otherwise("repeat")
    steps = {f"t{item:03d}": 3 for item in range(80)}
    apart = compare_versions(table(*progress).with_columns(repeat=later), AXIS, "v1", "v2", steps=steps)
    assert apart.citations.to_dict() == found.citations.to_dict()
    assert apart.triage.to_dict() == found.triage.to_dict()


def test_versions_of_several_axes_are_families_turn_by_turn(progress):
    """Three versions of one axis and two of another: the first changes are a family of two, the second stands alone."""
    same = world(np.random.default_rng(5), tasks=20)
    third = table(*progress, versions=("v3", "v4")).filter(pl.col("rubric_version") == "v3")
    both = pl.concat([table(*progress), third, table(*same, axis="sequencing")])
    result = rubric_versions(both, {AXIS: ["v1", "v2", "v3"], "sequencing": ["v1", "v2"]})
    assert [turn.title for turn in result.turns] == [
        f"{AXIS}, v1 to v2",
        "sequencing, v1 to v2",
        f"{AXIS}, v2 to v3",
    ]
    assert [len(turn.family) for turn in result.turns] == [2, 2, 1]
    assert len(result.table) == 3
    assert result.answer.startswith(result.turns[-1].answer)
    assert all(f"{turn.outcome} ({turn.title})" in result.answer for turn in result.turns[:-1])
    assert sum(len(part.table) for part in result.agreement.values()) == 5 * 5
    assert f"agreement {AXIS}" in result.parts
    with pytest.raises(InputError, match="two versions or more"):
        rubric_versions(both, {AXIS: ["v1"]})


def test_the_published_course_is_hedging_then_one_flip():
    folder = home() / "data" / "published"
    course = published_course(pl.read_csv(folder / "sim14_argument_validity_by_version.csv"))
    assert course.agree == {"v1": False, "v2": False, "v3": True}
    assert [round(value, 2) for value in course.raw_soft_agreement.values()] == [0.08, 0.44, 0.98]
    assert "+0.36, all of it hedging" in course.answer
    assert set(course.words) == {VersionOutcome.TOO_FEW}


def test_the_task_that_was_tuned_on_is_refused_on_the_evaluation_side():
    before = home()
    refused = refused_task(pl.read_csv(home() / "data" / "published" / "tasks.csv"))
    assert (refused.task, refused.n_items, refused.n_all, refused.side) == ("28", 4, 20, "calibration")
    assert "28" not in refused.held_out
    assert "task 28 was used while tuning" in refused.refusal
    assert home() == before
    assert (
        not (before / "rubrics" / "split.json").exists()
        or "published" not in (before / "rubrics/split.json").read_text()
    )


def test_a_turn_is_a_table_of_what_before_after_and_interval(found):
    """A figure without an interval of its own has null ends: a filter for ends above 0 must not pick it."""
    rows = {row["what"]: row for row in found.table.iter_rows(named=True)}
    raw = rows["agreement (raw)"]
    ends = found.agreement.change
    assert (raw["change"], raw["low"], raw["high"]) == (ends.estimate, ends.ci_low, ends.ci_high)
    old, new = (version.coefficients["alpha"].estimate for version in found.versions)
    assert rows["Krippendorff's alpha"]["change"] == pytest.approx(new - old)
    assert rows["Krippendorff's alpha"]["low"] is None
    picked = found.table.filter((pl.col("low") > 0) | (pl.col("high") < 0))["what"]
    assert picked[0] == "agreement (raw)"
    assert not {"Krippendorff's alpha", "soft agreement"} & set(picked)
