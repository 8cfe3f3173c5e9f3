"""Judges against people from ratings tables: counts by hand, claims and their refusals, how labels were drawn."""

import json
import math

import numpy as np
import polars as pl
import pytest
from judged import ratings
from sklearn.metrics import cohen_kappa_score

from axisjudge.checks import InputError
from axisjudge.labels.panel import BY_PEOPLE, labelled_panel, prepared
from axisjudge.labels.sampling import drawn_flags
from axisjudge.results import plain
from axisjudge.sources import load_source
from axisjudge.studies.agreement.against_labels import step_scores_of
from axisjudge.studies.people import claims, sentences, tables
from axisjudge.studies.people import people as study
from axisjudge.studies.people.compared import planted_rates
from axisjudge.studies.people.judges import corrected_rates

F, C, U = "incorrect", "correct", "uncertain"


def judged(**columns):
    return ratings(columns)


def people(_flags=(), _cited=None, **columns):
    table = ratings(columns, kinds=dict.fromkeys(columns, "human"), families=dict.fromkeys(columns, "human"))
    table = table.with_columns(flags=pl.lit(list(_flags), dtype=pl.List(pl.String)))
    return table.filter(pl.col("verdict").is_not_null())  # who did not label an item has no rating of it


def human_comparison(*tables, **options):
    return study(*tables, n_draws=0, **options).claims.comparison


def noisy(truth, hit, rng):
    return [
        word if right else {F: C, C: F}[word] for word, right in zip(truth, rng.random(len(truth)) < hit, strict=True)
    ]


@pytest.fixture(scope="module")
def panel():
    """240 runs, a quarter failed: a good judge, three people; the last 140 labelled by nobody."""
    rng = np.random.default_rng(1)
    truth = [F if failed else C for failed in rng.random(240) < 0.25]
    labels = {name: [*noisy(truth[:100], 0.92, rng), *[None] * 140] for name in ("ann", "bo", "cy")}
    return judged(good=noisy(truth, 0.9, rng), weak=noisy(truth, 0.55, rng), always=[C] * 240), labels, truth


def answers(found, judge):
    return {claim.kind: claim.answer for claim in found.claims if claim.judge == judge}


def only(found, judge):
    return next(one for question in found.questions for one in question.judges if one.judge == judge)


def test_one_judge_and_one_person_by_hand():
    found = human_comparison(judged(j=[F, F, C, C, C, U, None]), people(ann=[F, C, C, C, F, F, C]))
    judge = only(found, "j").majority
    assert judge.confusion.tolist() == [[2, 1, 0, 0, 1], [1, 1, 0, 0, 1], [0] * 5, [0] * 5]
    assert judge.accuracy.given.estimate == pytest.approx(3 / 5)
    assert (judge.accuracy.worst, judge.accuracy.best) == pytest.approx((3 / 7, 5 / 7))
    assert judge.sensitivity.given.estimate == pytest.approx(1 / 2)
    assert judge.specificity.given.estimate == pytest.approx(2 / 3)
    assert judge.coverage.estimate == pytest.approx(5 / 7)
    assert tables.confusion_table(found)["judge: no side"].to_list() == [1, 1]
    bounds = tables.bounds_table(found).row(0, named=True)
    assert bounds["no verdict"] == 2
    assert bounds["accuracy"].startswith("60%, 43% to 71%")
    assert judge.accuracy.low < judge.accuracy.worst
    assert judge.accuracy.best < judge.accuracy.high


def test_with_one_person_only_the_claims_about_people_are_not_checked_and_say_why():
    found = human_comparison(judged(j=[F, C] * 40), people(ann=[F, C] * 40))
    unchecked = {claim.kind: sentences.because(claim) for claim in found.claims if claim.answer == "not checked"}
    assert "one person labelled" in unchecked["as a person"]
    assert "no person can be compared with another" in unchecked["stands in"]
    assert found.questions[0].ceiling == {}
    assert not found.has_ceiling
    said = " ".join(sentences.opening(found))
    assert "One person labelled" in said
    assert "could not be checked, because one person labelled" in said
    assert sentences.behind_sentence(found).startswith("One person labelled")


def test_three_people_a_good_judge_a_weak_one_and_a_constant_one(panel):
    table, labels, _ = panel
    found = human_comparison(table, people(drawn_flags("random", 100 / 240), **labels))
    assert only(found, "good").stand_in.judge.passed
    assert not only(found, "good").stand_in.constant.passed
    assert answers(found, "good")["stands in"] == "may"
    assert answers(found, "good")["finds failures"] == "may"
    assert answers(found, "weak")["stands in"] == "may not"
    assert answers(found, "weak")["adds to labels"] == "may not"
    constant = only(found, "always")
    assert constant.majority.coefficients["kappa"].estimate == 0.0
    assert constant.majority.accuracy.given.estimate == constant.majority.constant_accuracy
    assert answers(found, "always")["beats one word"] == "may not"
    assert [one.person for one in constant.left_out] == ["ann", "bo", "cy"]
    assert found.questions[0].ceiling["kappa"].n_items == 100


def test_behind_is_the_persons_share_less_the_judges(panel):
    table, labels, _ = panel
    found = only(human_comparison(table, people(**labels)), "good")
    gaps = [one.themselves.accuracy.given.estimate - one.judge.accuracy.given.estimate for one in found.left_out]
    weights = [one.judge.n_items for one in found.left_out]
    assert found.behind.estimate == pytest.approx(np.average(gaps, weights=weights))
    assert found.behind.n_clusters == 100


def test_the_commonest_word_is_beaten_in_pairs():
    """By hand: right on 50 of 60 items, always 'correct' on 40: 14 failures found and 4 invented.

    Gaps: 14 x +1, 4 x -1, 42 x 0; mean 1/6, standard deviation .5262, t(59) = 2.001, half width .1359.
    """
    truth = [F] * 20 + [C] * 40
    said = [F] * 14 + [C] * 6 + [F] * 4 + [C] * 36
    gap = only(human_comparison(judged(j=said), people(ann=truth)), "j").over_constant
    assert (gap.estimate, gap.ci_low, gap.ci_high) == pytest.approx((1 / 6, 1 / 6 - 0.1359, 1 / 6 + 0.1359), abs=2e-4)
    same = human_comparison(judged(j=[C] * 60), people(ann=truth))
    beats = next(claim for claim in same.claims if claim.kind == "beats one word")
    assert (beats.answer, sentences.because(beats)) == ("may not", "it is right exactly as often")
    tie = human_comparison(judged(j=[F] * 2 + [C] * 2 + [F] * 2 + [C] * 6), people(ann=[F] * 4 + [C] * 8))
    assert answers(tie, "j")["beats one word"] == "not shown yet"  # 2 right and 2 wrong against it: -.38 to .38
    few = human_comparison(judged(j=[F, C, C], k=[C] * 3, always=[F] * 3), people(ann=[C, F, C]))
    assert [answers(few, judge)["beats one word"] for judge in ("j", "k", "always")] == [
        "not checked",
        "may not",
        "not checked",
    ]


def test_the_headline_says_of_how_many_items_its_share_is():
    truth = [F, C] * 30
    halves = {"whole": truth, "half": [*truth[:30], *[None] * 30]}
    first = {
        names: sentences.shares_sentence(human_comparison(judged(**{n: halves[n] for n in names}), people(ann=truth)))
        for names in (("whole",), ("half",), ("whole", "half"))
    }
    assert "60 labelled items" in first["whole",]
    assert "(30 of 60)" in first["half",]
    assert "(30 to 60 of 60)" in first["whole", "half"]


def test_where_a_constant_judge_passes_nobody_may_stand_in():
    rng = np.random.default_rng(2)
    truth = [F if failed else C for failed in rng.random(300) < 0.05]
    labels = {name: noisy(truth, 0.97, rng) for name in ("ann", "bo", "cy")}
    found = human_comparison(judged(good=noisy(truth, 0.97, rng)), people(**labels))
    assert only(found, "good").stand_in.judge.passed
    claim = next(claim for claim in found.claims if claim.kind == "stands in")
    assert (claim.answer, sentences.because(claim).split(",")[0]) == (
        "not shown yet",
        "a judge that always says the same passes as well",
    )
    assert "in 1 of these a judge that always says the same passes" in sentences.stand_in_sentence(found)


def test_an_always_uncertain_judge_has_bounds_and_no_claim():
    labels = {name: [F, C, C, C] * 20 for name in ("ann", "bo", "cy")}
    found = human_comparison(judged(j=[U] * 80), people(**labels))
    judge = only(found, "j").majority
    assert (judge.accuracy.worst, judge.accuracy.best, judge.coverage.estimate) == (0.0, 1.0, 0.0)
    assert not [claim for claim in found.claims if claim.answer == "may"]
    assert {answers(found, "j")[kind] for kind in ("beats one word", "as a person")} == {"not checked"}
    assert sentences.kappa_sentence(found) == "No judge has a kappa with people: see the reasons in results.json."
    plain(found.questions)


def test_a_judge_that_takes_no_side_on_some_items_is_no_further_behind_people_than_its_shares_say():
    """Right wherever it takes a side; each `uncertain` was an item on which the judge was wrong."""
    truth = [F, C, C, C] * 20
    ann, bo = ([F if n % 10 == odd else word for n, word in enumerate(truth)] for odd in (3, 7))
    found = human_comparison(
        judged(j=[U if n % 3 == 0 else word for n, word in enumerate(truth)]), people(ann=ann, bo=bo, cy=truth)
    )
    judge = only(found, "j")
    assert judge.behind.n_items == sum(one.judge.accuracy.given.n_items for one in judge.left_out)
    assert judge.behind.estimate < 0
    assert answers(found, "j")["as a person"] == "may"


def test_what_has_no_interval_is_not_checked_and_the_reason_is_that_of_the_figure():
    """Of one task, and of a judge or two people who never meet on an item."""
    words = [F, C, C, C] * 10
    table, labels = judged(j=words), people(drawn_flags("random", 0.5), ann=words)
    one = [each.with_columns(cluster_id=pl.lit("t"), task_id=pl.lit("t")) for each in (table, labels)]
    for n_labels, kind in ((40, "rate holds"), (20, "adds to labels")):
        found = human_comparison(one[0], one[1].head(n_labels))
        assert answers(found, "j")[kind] == "not checked"
        assert "one task" in next(sentences.because(claim) for claim in found.claims if claim.kind == kind)
    silent = human_comparison(judged(j=[U] * 40), people(ann=words, bo=words))
    assert {answers(silent, "j")[kind] for kind in ("rate holds", "beats one word", "as a person")} == {"not checked"}
    assert not [claim for claim in silent.claims if "no value is given" in sentences.because(claim)]


def test_what_does_not_apply_is_in_no_share_of_verdicts_whoever_says_so():
    """An axis that does not apply is neither right nor wrong: the same shares, words and claims as without it."""
    words, labels = [F, C, F, C] * 10, [F, C, C, C] * 10
    open_ = "not_applicable"
    found = human_comparison(judged(j=[*words, open_, open_, F]), people(ann=[*labels, C, open_, open_]))
    without = human_comparison(judged(j=words), people(ann=labels))
    assert found.questions[0].n_reference == 41
    for name in ("accuracy", "sensitivity", "specificity"):
        given, alone = (getattr(only(each, "j").majority, name).given for each in (found, without))
        assert (given.estimate, given.ci_low) == (alone.estimate, alone.ci_low)
    kappas = [only(each, "j").majority.coefficients["kappa"].estimate for each in (found, without)]
    assert kappas[0] == kappas[1]
    assert only(found, "j").failing.precision.estimate == only(without, "j").failing.precision.estimate
    assert "40 of" not in sentences.question_sentence(found.questions[0])


@pytest.mark.slow
def test_intervals_cover_what_verdicts_with_a_side_share_however_many_items_an_axis_does_not_apply_to():
    """40 tasks of 4; an axis does not apply to 0 to 60% of a task's runs, which people and judge both see.

    Verdicts with a side are right in .8 whatever else; counted as a word on which both agree, the rest made it .86.
    """
    covered, estimates = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = rng.random(160) < 0.3
        open_ = rng.random(160) < np.repeat(rng.uniform(0, 0.6, 40), 4)
        right = rng.random(160) < 0.8
        said = np.where(open_, "not_applicable", np.where(truth == right, F, C))
        told = np.where(open_, "not_applicable", np.where(truth, F, C))
        tables = [
            ratings({name: words.tolist()}, kinds={name: kind}, families={name: kind}, per_task=4)
            for name, kind, words in (("j", "llm", said), ("ann", "human", told))
        ]
        share = only(claims(*tables).comparison, "j").majority.accuracy.given
        covered.append(share.ci_low <= 0.8 <= share.ci_high)
        estimates.append(share.estimate)
    assert np.mean(covered) >= 0.91  # .95 less two errors of 150 draws
    assert np.mean(estimates) == pytest.approx(0.8, abs=0.01)


def test_the_words_come_first_and_every_claim_is_counted(panel):
    table, labels, _ = panel
    found = human_comparison(table, people(**labels))
    said = sentences.opening(found)
    assert "18 claims" in said[0]
    assert "how they were drawn is not known" in " ".join(said)
    assert len(tables.reasons_table(found)) == 18
    table = tables.claims_table(found)
    assert table.columns[2:] == [
        "beats one word",
        "as a person",
        "stands in",
        "finds failures",
        "rate holds",
        "adds to labels",
    ]
    assert sum((row == "may") for row in table.row(0)) == sum(
        c.answer == "may" for c in found.claims if c.judge == table["judge"][0]
    )
    assert json.loads(json.dumps(plain(found.questions)))[0]["sampling"] == "unknown"


@pytest.mark.parametrize(
    ("flags", "sampling", "reason"),
    [
        ((), None, "how the labelled items were drawn is not known"),
        (drawn_flags("random", 0.4), None, ""),
        ((), "random", ""),
        (drawn_flags("by_judge_verdict", key="good: termination"), None, ""),
        (drawn_flags("by_judge_verdict", key="other: termination"), None, "labels were drawn by other: termination"),
        (drawn_flags("by_judge_verdict", 0.4, key="other: termination"), None, ""),
        (drawn_flags("by_key", 0.4, key="domain"), None, ""),
        (drawn_flags("by_human_label", key="ann"), None, ""),
    ],
)
def test_the_draw_decides_whether_a_rate_is_corrected(panel, flags, sampling, reason):
    table, labels, _ = panel
    found = human_comparison(table.filter(pl.col("rater") == "good"), people(flags, **labels), sampling=sampling)
    rate = only(found, "good").rates.overall
    assert rate.refusal.startswith(reason) if reason else not rate.refusal
    assert bool(found.corrected) is not bool(reason)


def test_a_draw_that_labels_state_is_not_overruled(panel):
    """By stated probabilities the failures drawn more often weigh less; as a random draw they would not."""
    table, labels, _ = panel
    with pytest.raises(InputError, match="random is not what the labels say of their draw; found 'by_key'"):
        human_comparison(table, people(drawn_flags("by_key", 0.4, key="domain"), **labels), sampling="random")


@pytest.mark.parametrize(("method", "open_claims"), [("by_judge_verdict", 0), ("by_key", 1), ("by_human_label", 1)])
def test_shares_among_chosen_labels_carry_no_claim_about_all_items(method, open_claims):
    """60 of 70 flags and 10 of 430 others labelled: always 'correct' is right on 14% of these, on 86% of all."""
    words = {"j": [F] * 70 + [C] * 430, "ann": [F] * 60 + [None] * 10 + [C] * 10 + [None] * 420}
    flags = drawn_flags(method, 0.5, key="j: termination")
    found = human_comparison(judged(j=words["j"]), people(flags, ann=words["ann"], bo=words["ann"], cy=words["ann"]))
    among = [claim for claim in found.claims if claim.kind not in ("rate holds", "adds to labels")]
    assert sum(claim.answer != "not checked" for claim in among) == open_claims
    assert "shares among such labels are not those of all items" in " ".join(sentences.opening(found))
    assert "so that shares among them are not those of all items" in sentences.question_sentence(found.questions[0])


def test_the_corrected_rate_is_near_the_truth_where_the_judges_own_is_not(panel):
    table, labels, truth = panel
    found = human_comparison(table, people(drawn_flags("random", 0.4), **labels))
    share = truth.count(F) / len(truth)
    for judge in ("good", "weak", "always"):
        rate = only(found, judge).rates.overall
        assert rate.rate.ci_low <= share <= rate.rate.ci_high
    assert not only(found, "weak").rates.overall.apparent.ci_low <= share
    assert "own failure rates" in sentences.rates_sentence(found)


def test_labels_drawn_in_two_ways_are_not_mixed(panel):
    table, labels, _ = panel
    half = people(drawn_flags("random", 0.4), **labels)
    other = half.with_columns(flags=pl.lit(drawn_flags("by_key", 0.4, key="domain")), rater=pl.col("rater") + "2")
    found = human_comparison(table, pl.concat([half, other]))
    assert "drawn in several ways (by_key, random)" in only(found, "good").rates.overall.refusal
    assert "drawn in several ways" in sentences.question_sentence(found.questions[0])


def test_two_probabilities_of_one_item_are_refused(panel):
    table, labels, _ = panel
    first = people(drawn_flags("random", 0.4), ann=labels["ann"])
    second = people(drawn_flags("random", 0.5), bo=labels["bo"])
    found = human_comparison(table, pl.concat([first, second]))
    assert "state different probabilities" in only(found, "good").rates.overall.refusal


def test_where_all_are_labelled_nothing_is_corrected():
    found = human_comparison(judged(j=[C] * 60), people(ann=[F, C, C] * 20))
    rate = only(found, "j").rates.overall
    assert rate.rate.estimate == pytest.approx(1 / 3)
    assert rate.rate.n_missing == 0
    assert "all are labelled" in sentences.question_sentence(found.questions[0])
    none = human_comparison(judged(j=[C] * 60), people(ann=[C] * 60))
    assert [sentences.because(claim) for claim in none.claims if claim.kind == "finds failures"] == [
        "people see no failure"
    ]
    assert answers(found, "j")["adds to labels"] == "not checked"


def test_agents_have_rates_differences_and_ranks_of_their_own(panel):
    table, labels, _ = panel
    number = pl.col("item_id").str.slice(1).cast(pl.Int64)
    agent = pl.when(number % 2 == 0).then(pl.lit("oak")).otherwise(pl.lit("elm"))
    table, told = (
        table.with_columns(agent=agent),
        people(drawn_flags("random", 0.4), **labels).with_columns(agent=agent),
    )
    found = human_comparison(table.filter(pl.col("rater") == "good"), told)
    rates = only(found, "good").rates
    assert rates.agents == ("elm", "oak")
    assert rates.by_agent["elm"].rate.n_items == 120
    [(one, other, difference)] = rates.differences
    assert difference.estimate == pytest.approx(rates.by_agent[one].rate.estimate - rates.by_agent[other].rate.estimate)
    assert rates.ranks.tied
    rows = tables.rates_table(found)
    assert rows["agent"].to_list() == ["all agents", "elm", "oak"]
    assert rows["rank"].to_list() == ["", "1 to 2", "1 to 2"]
    one = rates.by_agent["elm"].rate
    assert rows["corrected"][1] == f"{one.estimate:.0%} ({one.ci_low:.0%} to {one.ci_high:.0%})"
    assert len(rows.columns) <= 10  # more leave the note so narrow that the page grows by metres
    assert tables.differences_table(found).rows()[0][:4] == ("termination", "good", "elm", "oak")


def test_cited_steps_are_those_of_failures(one_rating):
    from axisjudge.ratings import ratings_frame

    runs = [f"oak-{n}" for n in range(4)]
    mine = ratings_frame(
        one_rating(run, "sequencing", "j", word, cited_step_indices=[4]) for run, word in zip(runs, "iici", strict=True)
    )
    told = ratings_frame(
        one_rating(run, "sequencing", "ann", word, rater_kind="human", cited_step_indices=[step])
        for run, word, step in zip(runs, "iiic", (4, 5, 4, 4), strict=True)
    )
    exact, near = only(human_comparison(mine, told), "j").cited
    assert (exact.n_items, exact.n_both) == (3, 2)
    assert exact.precision.estimate == exact.recall.estimate == 0.5
    assert exact.found.estimate == pytest.approx(1 / 3)  # the third failure was not seen
    assert near.found.estimate == pytest.approx(2 / 3)
    assert sentences.steps_sentence(human_comparison(mine, told)).endswith("j 1 of 3 (2 within one).")


@pytest.mark.slow
def test_one_table_may_hold_judges_and_people_and_pandas_comes_back_as_pandas(panel):
    table, labels, _ = panel
    both = pl.concat([table, people(**labels)])
    apart = human_comparison(table, people(**labels))
    found = human_comparison(both.to_pandas(), both.to_pandas())
    assert [plain(one) for one in apart.questions] == [plain(one) for one in found.questions]
    assert type(tables.judges_table(found)).__module__.startswith("pandas")


def test_labelled_items_that_no_judge_rated_are_counted_and_left_out():
    found = human_comparison(judged(j=[F, C, C]), people(ann=[F, C, C, F, F]))
    assert found.questions[0].n_reference == 3
    assert "Left out: 2 labelled items that no judge rated." in sentences.question_sentence(found.questions[0])


def test_ratings_of_other_repeats_and_of_steps_are_counted():
    first, labels = judged(j=[F, C, C]), people(ann=[F, C, C])
    again = first.with_columns(repeat=pl.lit(1, pl.Int64))
    steps = first.head(1).with_columns(step_index=pl.lit(2, pl.Int64), item_id=pl.lit("a step"))
    claims = study(pl.concat([first, again, steps]), labels, n_draws=0).claims
    assert claims.comparison.n_left_out == 4
    assert "4 ratings" in claims.answer
    whole = study(first, labels, n_draws=0).claims
    assert "Left out" not in whole.answer


@pytest.mark.parametrize(
    ("mine", "told", "message"),
    [
        (judged(j=[F, C]), judged(k=[F, C]), "labels: must be of people"),
        (people(ann=[F, C]), people(ann=[F, C]), "ratings: must be of judges"),
        (judged(j=[F, C, None]).head(2), people(ann=[None, None, C]), "about an item that judges answered too"),
        (judged(j=[F, C]), ratings({"ann": [F, C]}, kinds={"ann": "human"}, question="x"), "a question about an item"),
        (judged(j=[F, C]), pl.concat([people(ann=[F, C])] * 2), "one rating for each item and rater"),
    ],
)
def test_what_cannot_be_compared_is_named(mine, told, message):
    with pytest.raises(InputError, match=message):
        human_comparison(mine, told)


def test_questions_and_sampling_are_checked(panel):
    table, labels, _ = panel
    with pytest.raises(InputError, match="did you mean 'termination'"):
        human_comparison(table, people(**labels), questions=["terminaton"])
    with pytest.raises(InputError, match="did you mean 'random'"):
        human_comparison(table, people(**labels), sampling="randm")


def test_what_does_not_apply_fails_nothing_in_a_corrected_rate_and_that_is_said():
    """20 of 80 incorrect, 20 not applicable: a quarter of all, a third of those that fail or pass."""
    words = [F] * 20 + ["not_applicable"] * 20 + [C] * 40
    found = human_comparison(judged(j=words), people(ann=words), sampling="random")
    assert only(found, "j").rates.overall.apparent.estimate == 0.25
    assert "not_applicable counts as no failure (20 verdicts)" in sentences.rates_sentence(found)
    found = human_comparison(judged(j=[F] * 20 + [C] * 60), people(ann=[F] * 20 + [C] * 60), sampling="random")
    assert "not_applicable" not in sentences.rates_sentence(found)


def test_a_scale_without_failures_has_agreement_and_no_rates():
    scale = {"scale": "ordinal:1-5", "question": "fluency"}
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 60)
    words = {
        name: [str(np.clip(value + rng.integers(-1, 2), 1, 5)) for value in truth] for name in ("j", "ann", "bo", "cy")
    }
    table = ratings(words, kinds=dict.fromkeys(("ann", "bo", "cy"), "human"))
    table = table.with_columns(scale=pl.lit(scale["scale"]), question=pl.lit("fluency"))
    found = human_comparison(table, table)
    judge = only(found, "j")
    assert judge.rates is None
    assert judge.cited == ()
    assert judge.majority.coefficients["alpha"].coefficient == "krippendorff_alpha_ordinal"
    assert math.isnan(judge.majority.sensitivity.given.estimate)
    assert len(found.claims) == 3
    assert sentences.rates_sentence(found) == "No failure rate was corrected: the scale knows no failure."


@pytest.mark.slow
def test_simulated_people_bear_the_banner():
    data = load_source("demo", n_labelled=40, seed=3)
    whole = study(data.ratings, questions=["argument_validity"], n_draws=0, **data.how)
    found = whole.claims.comparison
    assert "person A" in whole.banner
    rates = planted_rates(found, data.truth)
    held = tables.planted_table(rates, found.kind)
    assert held["planted"].unique().to_list() == pytest.approx([12 / 111])
    assert "of 5 corrected intervals" in sentences.planted_sentence(rates)
    assert sum(rate.held for rate in rates) == held["holds the planted rate"].sum()
    assert data.ratings.filter(BY_PEOPLE)["trajectory_id"].n_unique() == 40
    assert found.questions[0].panel.drawn.sampling == "random"


def test_twenty_judges_against_the_people_of_agentprocessbench(shared_data, monkeypatch):
    """Kappa and counts as `step_scores` forms them; one label an item, so nothing about people is claimed."""
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    source = load_source("agentprocessbench", subset="hotpotqa")
    judges, told = prepared(source.ratings, source.ratings, 0, True)
    assert told["rater"].unique().to_list() == ["people"]
    names = ["GPT-5.2", "Kimi-K2.5-Thinking"]
    found = human_comparison(judges.filter(pl.col("rater").is_in(names)), told, step_level=True, cluster_unit="query")
    scores = {score.judge: score for score in step_scores_of(source).judges}
    for name in names:
        majority = only(found, name).majority
        pair = [
            source.ratings.filter(rater=rater, question="step").select("item_id", word="verdict")
            for rater in (name, "people")
        ]
        both = pair[0].join(pair[1], on="item_id").drop_nulls().cast({"word": pl.Int64, "word_right": pl.Int64})
        kappa = cohen_kappa_score(both["word"], both["word_right"], weights="quadratic")
        assert majority.coefficients["kappa"].estimate == pytest.approx(kappa)  # -1, 0 and +1 are in order
        assert majority.accuracy.worst == pytest.approx(scores[name].step_accuracy.estimate)
        assert majority.accuracy.given.cluster_unit == "query"
    beats = {claim.judge: claim.answer for claim in found.claims if claim.kind == "beats one word"}
    # statsmodels OLS of the paired gap, clusters by query: +.041 (.003 to .079) and, of 704, +.034 (-.011 to .080)
    assert beats == {"GPT-5.2": "may", "Kimi-K2.5-Thinking": "not shown yet"}
    lost = only(found, "Kimi-K2.5-Thinking").majority
    assert 1 - lost.coverage.estimate == pytest.approx(0.041, abs=0.002)  # ../shared/spec/definitions.md
    assert lost.confusion[0, -1] / lost.confusion[:, -1].sum() == pytest.approx(0.80, abs=0.01)
    assert {claim.answer for claim in found.claims if claim.kind == "stands in"} == {"not checked"}


@pytest.mark.slow
def test_a_person_who_agrees_with_nobody_is_named_before_any_claim(alttest):
    """w40 of cebab_stars drags majorities and the ceiling; mtbench has nobody of the kind."""
    for name, beginning in (("cebab_stars", "Look at the labels first, w40, stars: "), ("mtbench", "Of ")):
        table = alttest(name)
        judges = table.filter((pl.col("rater_kind") == "human") | (pl.col("rater") == table["rater"][-1]))
        assert sentences.opening(human_comparison(judges, table))[0].startswith(beginning)


@pytest.mark.slow
def test_the_rules_find_none_of_the_failures_of_agentrx(shared_data, monkeypatch):
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    data = load_source("agentrx")
    found = human_comparison(data.ratings, data.ratings, **data.how)
    assert sentences.steps_sentence(found).endswith("rules 0 of 13 (0 within one).")
    assert not [claim for claim in found.claims if claim.answer == "may"]
    assert "all labels are of one word" in " ".join(sentences.opening(found))  # failures alone were labelled
    assert not found.corrected
    assert sum(only.n_reference for only in found.questions) == 11


def test_corrected_rates_need_a_failing_word(panel):
    table, labels, _ = panel
    judges, told = prepared(table, people(**labels), 0, False)
    one = labelled_panel(judges, told, "termination", sampling="random", cluster_unit="task")
    assert corrected_rates(one, 0).overall.rate.n_items == 240
    assert one.n_unjudged == 0
