"""Where a judge is unfair: a planted blindness is named, fair judges are not, and what cannot be compared is said."""

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

from axisjudge.checks import InputError
from axisjudge.labels.panel import labelled_panel, prepared
from axisjudge.ratings import ratings_frame
from axisjudge.ratings.edge import completed, strata_of, thirds
from axisjudge.stats.fairness import Fair
from axisjudge.studies.people import people
from axisjudge.studies.people.compared import fairness
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating


def rating(run, task, agent, rater, kind, word, **more):
    about = {"trajectory_id": run, "item_id": run, "task_id": task, "cluster_id": task, "agent": agent}
    about |= {"question": "sequencing", "scale": "verdict", "rater": rater, "rater_kind": kind, "repeat": 0}
    return Rating(**about, family=rater, status="ok", verdict=word, domain="shop" if task < "t2" else "bank", **more)


@pytest.fixture(scope="module")
def ratings():
    """Two judges find 90% of failures; one of them finds 10% of those of agent a."""
    rng, rows = np.random.default_rng(4), []
    for task in range(40):
        for agent in "abc":
            for turn in range(2):
                run, failed = f"{task}-{agent}{turn}", rng.random() < 0.5
                names = (run, f"t{task}", agent)
                rows.append(rating(*names, "ada", "human", "incorrect" if failed else "correct"))
                for judge in ("fair", "blind"):
                    seen = rng.random() < (0.1 if judge == "blind" and agent == "a" else 0.9)
                    rows.append(rating(*names, judge, "llm", "incorrect" if failed and seen else "correct"))
    return ratings_frame(rows)


def test_the_blind_judge_is_named_and_the_fair_one_is_not(ratings):
    found = people(ratings, by=["agent", "domain"], n_draws=0)
    by_agent, by_domain = found.fairness.questions
    assert {(one.judge, one.measure) for one in by_agent.unfair} == {("blind", "sensitivity")}
    worst = min(by_agent.unfair, key=lambda one: one.of.difference.estimate)
    assert worst.of.stratum == "a"
    assert worst.of.share.estimate == pytest.approx(0.1, abs=0.1)
    fair = [one for one in by_agent.differences if one.judge == "fair"]
    assert {one.answer for one in fair} == {Fair.NOT_SHOWN}
    assert all(abs(one.of.difference.estimate) < one.within for one in fair)
    ends = [(abs(one.of.difference.ci_low), abs(one.of.difference.ci_high)) for one in fair]
    assert all(max(end) < one.within for end, one in zip(ends, fair, strict=True)), "all at once is wider than each"
    assert by_domain.question == "sequencing"
    first = found.tables()["unfair"]
    assert first["judge"][0] == "blind"
    assert found.to_dict()["fairness"][0]["by"] == "agent"
    assert "blind finds failures" in found.fairness.answer


def test_shares_are_carried_to_another_mix_and_refused_where_it_has_no_run(ratings):
    """In the mix of b and c alone the blind judge is as good as the fair one; the truth is half everywhere."""
    found = people(ratings, by=["agent"], mix={"b": 3, "c": 1}, n_draws=0)
    (by_agent,) = found.fairness.questions
    carried = {(one.judge, one.measure): one for one in by_agent.carried}
    blind = carried["blind", "right"]
    assert blind.here.estimate < 0.8 < blind.there.ci_low < 0.9 < blind.there.ci_high
    assert carried["fair", "corrected"].there.ci_low < 0.5 < carried["fair", "corrected"].there.ci_high
    assert carried["blind", "says_failing"].here.estimate < 0.4 < carried["blind", "says_failing"].there.estimate
    assert len(found.tables()["carried"]) == 6
    assert found.to_dict()["fairness"][0]["carried"][0]["measure"] == "says_failing"
    nowhere = people(ratings, by=["agent"], mix={"b": 1, "d": 1}, n_draws=0).fairness.questions[0].carried
    assert all(np.isnan(one.there.estimate) and "50% to d" in one.there.reason for one in nowhere)
    with pytest.raises(InputError, match="one way of sorting"):
        people(ratings, by=["agent", "domain"], mix={"b": 1}, n_draws=0)


def test_without_a_way_of_sorting_nothing_is_compared(ratings):
    found = people(ratings, n_draws=0)
    assert (found.fairness.questions, found.fairness.answer) == ((), "")


def test_lengths_come_from_the_runs_or_are_refused(ratings):
    assert "trajectories" in people(ratings, by=["length"], n_draws=0).fairness.questions[0].refusal
    with pytest.raises(InputError, match="length"):
        people(ratings, by=["lenght"], n_draws=0)
    said = Step(index=0, role="assistant", content="it is done now")
    runs = [
        Trajectory(id=run, source="test", task_id="t", steps=(said,) * (1 + number % 9))
        for number, run in enumerate(ratings["trajectory_id"].unique().sort())
    ]
    assert len(set(strata_of(ratings, ["length"], runs)["length"].values())) == 3
    assert set(strata_of(ratings, ["answer"], runs)["answer"].values()) == {"short (4 to 4 words)"}
    (one,) = people(ratings, by=["answer"], trajectories=runs, n_draws=0).fairness.questions
    assert "of one answer" in one.refusal


def test_thirds_keep_equal_lengths_together():
    cut = thirds({f"r{number}": number // 20 for number in range(100)}, "words")
    assert all(len({cut[f"r{number}"] for number in range(20 * k, 20 * k + 20)}) == 1 for k in range(5))


def test_labels_drawn_by_a_judge_say_nothing_of_fairness(ratings):
    some = ratings.filter((ratings["rater_kind"] != "human") | ratings["trajectory_id"].str.ends_with("0"))
    (one,) = people(some, by=["agent"], sampling="by_judge_verdict", n_draws=0).fairness.questions
    assert "chosen" in one.refusal
    (drawn,) = people(some, by=["agent"], sampling="random", n_draws=0).fairness.questions
    rates = {rate.judge: rate for rate in drawn.rates}
    assert rates["blind"].own_strata.estimate == pytest.approx(0.5, abs=0.12)


FAILING = {"a": 0.15, "b": 0.35, "c": 0.6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_tasks", "labelled", "catches"), [(40, 0.35, (0.85, 0.85, 0.85)), (40, 0.35, (0.9, 0.8, 0.5))]
)
def test_corrected_rates_carried_to_another_mix_are_covered(n_tasks, labelled, catches):
    """Three agents twice on every task, tasks share a probit effect; the second judge misses failures of one agent."""
    mix, rng, word = {"a": 0.1, "b": 0.2, "c": 0.7}, np.random.default_rng(7), np.array(["correct", "incorrect"])
    truth = sum(part * FAILING[name] for name, part in mix.items())
    task, agent, _ = (each.ravel() for each in np.indices((n_tasks, 3, 2)))
    names, runs = np.array(list(FAILING))[agent], np.array([f"r{number}" for number in range(task.size)])
    held = []
    for _ in range(150):
        latent = np.sqrt(0.3) * rng.normal(size=n_tasks)[task] + np.sqrt(0.7) * rng.normal(size=task.size)
        failed = latent < ndtri(np.array(list(FAILING.values())))[agent]
        said = rng.random(task.size) < np.where(failed, np.array(catches)[agent], 0.15)
        both = []
        for rater, kind, words, share in (("judge", "llm", said, 1.0), ("ada", "human", failed, labelled)):
            kept = rng.permutation(task.size) < share * task.size
            about = {"trajectory_id": runs[kept], "item_id": runs[kept], "agent": names[kept]}
            about |= {"cluster_id": [f"t{one}" for one in task[kept]], "verdict": word[words[kept].astype(int)]}
            both.append(completed(about, rater=rater, rater_kind=kind, family=rater, question="q", scale="verdict"))
        judges, people_ = prepared(*both, 0, False)
        panel = labelled_panel(judges, people_, "q", sampling="random", cluster_unit="task")
        (found,) = fairness(panel, strata_of(pl.concat([judges, people_]), ["agent"], None), mix, ci_level=0.95, seed=0)
        (there,) = (one.there for one in found.carried if one.measure == "corrected")
        held.append(there.ci_low <= truth <= there.ci_high)
    assert np.mean(held) >= 0.93 - 2 * 0.0208
