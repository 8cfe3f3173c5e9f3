"""Agreement per axis from a ratings table."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.ratings import ratings_frame
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies import agreement
from axisjudge.studies.agreement.by_question import agreement_by_axis
from axisjudge.verdict import Rating


def rating(item, rater, verdict, *, question="termination", kind="llm", **more):
    """A rating of run `item`; four runs share a task."""
    return Rating(
        trajectory_id=f"run-{item}",
        task_id=f"task-{item // 4}",
        cluster_id=f"task-{item // 4}",
        question=question,
        rater=rater,
        rater_kind=kind,
        family=rater,
        status="ok" if verdict else "refused",
        verdict=verdict,
        **more,
    )


def panel(first, second, **more):
    """Ratings of two judges from letters: c(orrect), i(ncorrect), u(ncertain), n(ot applicable), - lost."""
    words = {"c": "correct", "i": "incorrect", "u": "uncertain", "n": "not_applicable", "-": None}
    return [
        rating(item, judge, words[letter], **more)
        for judge, letters in (("alpha", first), ("beta", second))
        for item, letter in enumerate(letters)
    ]


@pytest.fixture
def twenty():
    """19 of 20 agree and all but one verdict is correct: the published argument_validity."""
    return ratings_frame(panel("c" * 19 + "i", "c" * 20, question="argument_validity"))


def test_the_published_twenty_in_five_tasks(twenty):
    (row,) = agreement_by_axis(twenty, uncertain="exclude").table.to_dicts()
    assert (row["n_items"], row["n_clusters"], row["cluster_unit"], row["n_common"]) == (20, 5, "task", 20)
    assert row["percent"] == 0.95
    assert row["percent_low"] < 0.764  # Wilson's lower end if the runs were independent
    assert row["kappa"] == 0
    assert row["ac1"] == pytest.approx(0.947, abs=1e-3)
    assert row["commonest_verdict"] == "correct"
    assert row["prevalence_index"] == pytest.approx(0.95)


def test_sentences_explain_kappa_zero_and_name_the_scope(twenty):
    text = "\n".join(agreement_by_axis(twenty).sentences())
    assert "20 items in 5 tasks" in text
    assert "agree on 95%, yet Cohen's kappa is 0.00" in text
    assert text.endswith("All of this is about these judges, agents and tasks.")


def test_lost_verdicts_are_counted_per_judge_and_bounded():
    found = agreement_by_axis(ratings_frame(panel("cccci---", "cccciccc"))).questions[0]
    assert found.lost == {"alpha": 3, "beta": 0}
    assert found.n_common == 5
    assert found.coefficients["percent"].estimate == 1
    assert (found.bounds.percent_worst, found.bounds.percent_best) == (5 / 8, 1)
    assert any("lost verdicts" in text and "3 of alpha" in text for text in found.sentences())
    remark = agreement_by_axis(ratings_frame(panel("cccci---", "cccciccc"))).answer
    assert "Lost verdicts" in remark
    assert "A verdict is undecided or lost" in remark
    assert remark.count(f"{found.question}: ") == 1  # one paragraph says its question's name once


def test_uncertain_is_a_category_or_left_out_with_bounds():
    ratings = ratings_frame(panel("cciiuuun", "cciiuccn"))
    kept = agreement_by_axis(ratings, uncertain="category").questions[0]
    left_out = agreement_by_axis(ratings).questions[0]
    assert kept.coefficients["percent"].estimate == 6 / 8
    assert left_out.coefficients["percent"].estimate == 1
    assert (kept.n_common, left_out.n_common) == (8, 4)
    assert kept.undecided == left_out.undecided == {"uncertain": 4, "not_applicable": 2}
    assert left_out.bounds.percent_worst == 0.5
    assert kept.share_decided == left_out.share_decided == 10 / 16
    assert left_out.brief()["decided"] == "62%"


def test_an_item_a_judge_was_never_asked_is_not_a_lost_verdict():
    found = agreement_by_axis(ratings_frame([*panel("cccc", "ccci"), rating(9, "alpha", "correct")])).questions[0]
    assert found.not_asked == {"alpha": 0, "beta": 1}
    assert found.lost == {"alpha": 0, "beta": 0}
    assert found.bounds.n_items == 4


def test_three_judges_get_fleiss_kappa():
    ratings = [*panel("cciiccii", "cciicici"), *(rating(item, "gamma", "correct") for item in range(8))]
    found = agreement_by_axis(ratings_frame(ratings)).questions[0]
    assert found.coefficients["kappa"].label == "Fleiss' kappa"
    assert found.raters == ("alpha", "beta", "gamma")
    two = agreement_by_axis(ratings_frame(ratings), raters=["alpha", "beta"]).questions[0]
    assert two.coefficients["kappa"].label == "Cohen's kappa"


def test_one_judge_gives_counts_but_no_agreement():
    found = agreement_by_axis(ratings_frame([rating(item, "alpha", "correct") for item in range(5)]))
    assert found.questions[0].coefficients == {}
    assert "agreement needs a second" in found.sentences()[0]
    assert found.table["kappa"].to_list() == [None]


@pytest.mark.slow
def test_scipy_is_not_loaded_for_one_judge_and_scipy_stats_never(tmp_path):
    """scipy.stats costs seconds to import, at the end of every run of `axisjudge judge`."""
    for name, ratings in {"one": [rating(0, "alpha", "correct")], "two": panel("ccicciic", "cciuccci")}.items():
        ratings_frame(ratings).write_parquet(tmp_path / f"{name}.parquet")
    program = (
        "import sys, polars as pl; from axisjudge.studies.agreement.by_question import agreement_by_axis\n"
        "agreement_by_axis(pl.read_parquet(sys.argv[1]))\n"
        "print('scipy' in sys.modules, 'scipy.stats' in sys.modules, 'pandas' in sys.modules)"
    )
    for name, loaded in (("one", "False False False"), ("two", "True False False")):
        command = [sys.executable, "-c", program, str(tmp_path / f"{name}.parquet")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == loaded


def test_simulated_ratings_carry_their_banner():
    found = agreement_by_axis(ratings_frame(panel("ccii", "ccic", kind="simulated")))
    assert found.sentences()[0].startswith("SIMULATED OR PLANTED")
    assert "alpha, beta" in found.to_dict()["banner"]


def test_pandas_and_arrow_tables_give_the_same(twenty):
    first = agreement_by_axis(twenty).table
    assert agreement_by_axis(twenty.to_pandas()).table.equals(first.to_pandas())
    assert agreement_by_axis(twenty.to_arrow()).table.equals(first.to_arrow())


def test_the_result_is_json_and_html_is_escaped():
    ratings = ratings_frame(panel("ccii", "ccic", question="<b>"))
    found = agreement_by_axis(ratings)
    assert json.loads(json.dumps(found.to_dict()))["questions"][0]["coefficients"]["kappa"]["estimate"] == 0.5
    assert "<b>" not in found._repr_html_()
    assert repr(found).startswith("AgreementByAxis(<b>: ")


def test_two_versions_of_a_rubric_are_never_pooled():
    ratings = [*panel("cc", "ci", rubric_version="v1"), *panel("cc", "cc", rubric_version="v2")]
    with pytest.raises(InputError, match="filter by rubric_version"):
        agreement_by_axis(ratings_frame(ratings))


def test_nothing_to_compare_is_said():
    with pytest.raises(InputError, match="no such ratings"):
        agreement_by_axis(ratings_frame(panel("cc", "ci")), raters=["gamma"])
    with pytest.raises(InputError, match="uncertain: must be one of"):
        agreement_by_axis(ratings_frame(panel("cc", "ci")), uncertain="drop")


def test_steps_keep_their_task_as_cluster():
    ratings = [
        rating(item, judge, "correct", step_index=step)
        for item in range(8)
        for judge in ("alpha", "beta")
        for step in range(3)
    ]
    found = agreement_by_axis(ratings_frame(ratings), step_level=True).questions[0]
    assert (found.n_items, found.n_clusters, found.cluster_unit) == (24, 2, "task")


def test_every_question_has_its_row():
    ratings = pl.concat(
        [ratings_frame(panel("ccic", "cciu", question=question)) for question in ("sequencing", "termination")]
    )
    assert agreement_by_axis(ratings).table["question"].to_list() == ["sequencing", "termination"]


def test_a_lazy_table_gives_the_same_and_the_last_rating_of_an_identity_counts(tmp_path, twenty):
    changed = twenty.filter(pl.col("rater") == "beta").with_columns(verdict=pl.lit("incorrect"))
    pl.concat([changed, twenty]).write_parquet(tmp_path / "ratings.parquet")
    lazy = agreement_by_axis(pl.scan_parquet(tmp_path / "ratings.parquet"))
    assert lazy.table.equals(agreement_by_axis(twenty).table)


def test_runs_without_messages_and_other_repeats_are_left_out_and_counted():
    ratings = [rating(n, rater, "correct", repeat=r) for n in range(4) for rater in "ab" for r in range(2)]
    ratings += [rating(9, rater, "not_applicable", flags=["empty_run"]) for rater in "ab"]
    found = agreement_by_axis(ratings_frame(ratings))
    assert found.questions[0].n_items == 4
    assert found.to_dict()["left_out"] == {"repeats": 8, "empty_runs": 1}
    assert "Left out: 8 ratings of other repeats; one repeat is compared at a time." in found.sentences()
    assert any(text.startswith("Left out: 1 run without messages") for text in found.sentences())


@pytest.fixture(scope="module")
def by_agent():
    """Two judges on 30 tasks x 6 agents; of two agents one judge fails all."""
    rng, rows = np.random.default_rng(3), []
    for task, agent in np.ndindex(30, 6):
        about = {"trajectory_id": f"{task}-{agent}", "item_id": f"{task}-{agent}", "agent": f"agent-{agent}"}
        about |= {"task_id": f"t{task}", "cluster_id": f"t{task}", "question": "termination", "status": "ok"}
        words = [["incorrect", "correct"][passed] for passed in (rng.random() < 0.7, agent > 1 and rng.random() < 0.8)]
        days = "2026-01-01T09:00", f"2026-01-0{1 + task // 20}T11:00"
        rows += [
            Rating(**about, rater=judge, family=judge, rater_kind="llm", verdict=word, created_at=day)
            for judge, word, day in zip("ab", words, days, strict=True)
        ]
    return ratings_frame(rows)


def test_agreement_by_tasks_and_agents_at_once_is_that_of_clusters_of_two_columns(by_agent):
    found = agreement(by_agent, crossed="agent")
    (row,) = found.overall.table.to_dicts()
    words = by_agent.pivot("rater", index=["cluster_id", "agent"], values="verdict").sort("cluster_id", "agent")
    clusters = np.column_stack([words["cluster_id"].rank("dense"), words["agent"].rank("dense")])
    codes = words.select(pl.col("a", "b") == "incorrect").cast(float).to_numpy()
    by_hand = clustered_proportion(codes[:, 0] == codes[:, 1], clusters)
    assert (row["percent_low"], row["percent_high"]) == pytest.approx(by_hand.in_short[1:], abs=1e-9)
    assert (row["n_clusters"], row["cluster_unit"]) == (6, "task and agent")
    (alone,) = agreement(by_agent, weighted=False).overall.table.to_dicts()
    assert row["ac1_high"] - row["ac1_low"] > alone["ac1_high"] - alone["ac1_low"]
    assert (found.together, found.worth, found.triage) == (None, None, None)
    assert "one way alone" in found.about
    assert "6 clusters by task and agent" in found.answer


@pytest.mark.parametrize(
    ("crossed", "change", "says"),
    [
        ("rater", {}, "one of agent"),
        ("created_at", {}, "two groups"),
        ("agent", {"agent": pl.lit(None, dtype=pl.String)}, "every rating"),
        ("agent", {"scale": pl.lit("unit"), "value": pl.lit(0.5), "verdict": pl.lit(None, dtype=pl.String)}, "numbers"),
    ],
)
def test_what_cannot_group_items_beside_their_tasks_is_refused(by_agent, crossed, change, says):
    with pytest.raises(InputError, match=says):
        agreement(by_agent.with_columns(**change), crossed=crossed)
