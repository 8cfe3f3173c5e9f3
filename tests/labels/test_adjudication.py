"""The queue is blind, mixed and weighed; adjudicating disagreements alone moves accuracy one way."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from explorer.conftest import packed

from axisjudge.checks import InputError
from axisjudge.cli import main
from axisjudge.explorer.session import Session
from axisjudge.labels.adjudication import (
    AGAINST_JUDGES,
    AGREEMENT,
    KEY,
    PEOPLE_DIFFER,
    adjudicate,
    adjudicated_labels,
    adjudication_queue,
    labelled_items,
)
from axisjudge.labels.sampling import drawn_of, read_sampling
from axisjudge.ratings import RatingsWriter, ratings_frame, read_ratings
from axisjudge.studies.adjudication import ONE_WAY, adjudication_report
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating

WORDS = np.array(["correct", "incorrect"])


def rating(run, rater, verdict, kind="llm", question="sequencing", flags=()):
    about = {"trajectory_id": run, "task_id": run, "cluster_id": run, "question": question, "flags": list(flags)}
    return Rating(**about, rater=rater, rater_kind=kind, family="human" if kind == "human" else rater, verdict=verdict)


def world(rng, n=300, prevalence=0.3, key_error=0.12, judge_error=0.08, shared=0.08):
    """Truth, one person's key, two judges; on some items (`shared`) people and judges err together, as people do."""
    truth = rng.random(n) < prevalence
    trap = rng.random(n) < shared
    key = truth ^ trap ^ (rng.random(n) < key_error)
    judges = [truth ^ trap ^ (rng.random(n) < judge_error) for _ in range(2)]
    return truth, key, judges


def tables(key, judges):
    labels = [rating(f"r{i}", "ada", WORDS[int(k)], "human", flags=["drawn:random"]) for i, k in enumerate(key)]
    ratings = [
        rating(f"r{i}", f"judge-{j}", WORDS[int(v)]) for j, said in enumerate(judges) for i, v in enumerate(said)
    ]
    return labels, ratings


def decided(queue, truth):
    """A further person who sees the truth."""
    return [
        rating(one.trajectory_id, "zoe", WORDS[int(truth[int(one.trajectory_id[1:])])], "human") for one in queue.items
    ]


def figures(seed, n_agreements=80):
    truth, key, judges = world(np.random.default_rng(seed))
    labels, ratings = tables(key, judges)
    items = labelled_items(ratings_frame(labels), ratings_frame(ratings))
    queue = adjudication_queue(items, n_agreements=n_agreements, seed=seed)
    report = adjudication_report(items, adjudicate(items, decided(queue, truth), queue))
    (first, _) = (one for one in report.judges if one.question == "all axes")
    return first, report, float(np.mean(judges[0] == truth)), float(np.mean(key != truth))


@pytest.mark.slow
def test_adjudicating_disagreements_alone_moves_accuracy_one_way():
    """Truth: the judge is right on 1 - (.08 + .08 - 2 x .08 x .08) = 85.3%; the key is wrong on 18.1%."""
    found = [figures(seed) for seed in range(24)]
    before, alone, after, truth = (
        np.mean([value(one) for one in found])
        for value in (
            lambda one: one[0].before.estimate,
            lambda one: one[0].disagreements_alone.estimate,
            lambda one: one[0].after.rate.estimate,
            lambda one: one[2],
        )
    )
    assert truth == pytest.approx(0.853, abs=0.01)
    assert 0.78 < before < 0.84
    assert 0.88 < alone < 0.95
    assert after == pytest.approx(truth, abs=0.02)  # Monte Carlo error .005
    assert all(one[0].disagreements_alone.estimate >= one[0].before.estimate for one in found)
    wrong = np.mean([one[1].wrong.rate.estimate for one in found])
    assert wrong == pytest.approx(np.mean([one[3] for one in found]), abs=0.015)
    assert ONE_WAY in found[0][1].sentences


@pytest.mark.parametrize("n_ties", [0, 3])
def test_a_rate_is_said_to_be_of_all_labelled_items_only_where_each_has_a_key(n_ties):
    report = replace(figures(4, n_agreements=30)[1], n_ties=n_ties)
    (rate,) = [line for line in report.sentences if line.startswith("The key was wrong on")]
    assert ("all labelled items" in rate) == (n_ties == 0)


def test_the_thirty_agreements_of_the_default_give_a_rate_and_three_one_that_says_little():
    """The queue's design tells the probability of every item, whether it was drawn or not."""
    first, report, *_ = figures(4, n_agreements=30)
    assert report.wrong.refusal == first.after.refusal == ""
    assert first.after.rate.ci_low < 0.853 < first.after.rate.ci_high
    few = figures(4, n_agreements=3)[0].after
    assert few.rate.ci_low < 0.853 < few.rate.ci_high
    assert few.rate.ci_high - few.rate.ci_low > 0.4 > 2 * (first.after.rate.ci_high - first.after.rate.ci_low)
    assert any("too weak to help" in warning for warning in few.warnings)


@pytest.mark.slow
def test_the_interval_after_adjudication_covers_the_truth():
    covered = [one.after.rate.ci_low <= 0.8528 <= one.after.rate.ci_high for one, *_ in map(figures, range(1000))]
    print(np.mean(covered))
    assert np.mean(covered) >= 0.93


def test_words_that_take_no_side_are_in_no_accuracy():
    """Whether the judge, the key or the last word takes none: the figures are those of the other items."""
    rng = np.random.default_rng(6)
    truth, key, judges = world(rng)
    labels, ratings = tables(key, judges)
    open_words = ("uncertain", "not_applicable")
    extra = [(word, "correct") for word in open_words] + [("correct", word) for word in open_words]
    more = [rating(f"r{900 + n}", "ada", theirs, "human") for n, (theirs, _) in enumerate(extra)]
    said = [rating(f"r{900 + n}", f"judge-{j}", own) for n, (_, own) in enumerate(extra) for j in (0, 1)]
    accuracies = []
    for more_labels, more_ratings in (([], []), (more, said)):
        items = labelled_items(ratings_frame(labels + more_labels), ratings_frame(ratings + more_ratings))
        queue = adjudication_queue(items, n_agreements=sum(not one.contested for one in items.values()), seed=1)
        truth_of = [*truth, *[True] * 600, *[own == "incorrect" for own, _ in extra]]
        accuracies.append(adjudication_report(items, adjudicate(items, decided(queue, truth_of), queue)).judges[0])
    assert accuracies[0].before.n_items == accuracies[1].before.n_items == 300
    assert accuracies[0].after.rate.estimate == pytest.approx(accuracies[1].after.rate.estimate)


def test_a_queue_is_read_by_the_judges_that_it_was_drawn_with():
    """By one judge alone other items are contested than by two, and the chances of the queue would be of others."""
    truth, key, judges = world(np.random.default_rng(4))
    labels, ratings = map(ratings_frame, tables(key, judges))
    queue = adjudication_queue(items := labelled_items(labels, ratings), seed=1)
    assert adjudicate(items, decided(queue, truth), queue)
    with pytest.raises(InputError, match="judges that the queue was drawn from"):
        adjudicate(labelled_items(labels, ratings, ["judge-0"]), decided(queue, truth), queue)


def test_who_is_in_the_queue():
    said = {
        "r1": ("correct", "incorrect"),
        "r2": ("correct", "correct"),
        "r3": ("correct", "correct"),
        "r4": ("correct",),
    }
    labels = [rating(run, f"p{i}", word, "human") for run, words in said.items() for i, word in enumerate(words)]
    judged = {"r1": ("correct", "correct"), "r2": ("incorrect", "incorrect"), "r3": ("correct", "incorrect")}
    judged["r4"] = ("incorrect", "uncertain")
    ratings = [rating(run, f"j{i}", word) for run, words in judged.items() for i, word in enumerate(words)]
    items = labelled_items(ratings_frame(labels), ratings_frame(ratings))
    assert {run: one.stratum for (run, _), one in items.items()} == {
        "r1": PEOPLE_DIFFER,
        "r2": AGAINST_JUDGES,
        "r3": AGREEMENT,
        "r4": AGREEMENT,
    }
    assert items["r1", "sequencing"].key is None
    queue = adjudication_queue(items, n_agreements=1, seed=3)
    assert {one.stratum: one.probability for one in queue.items} == {
        PEOPLE_DIFFER: 1.0,
        AGAINST_JUDGES: 1.0,
        AGREEMENT: 0.5,
    }
    assert queue.key == KEY
    only = labelled_items(ratings_frame(labels), ratings_frame(ratings), ["j0"])
    assert only["r4", "sequencing"].stratum == AGAINST_JUDGES


def test_a_queue_without_agreements_is_refused():
    items = labelled_items(*map(ratings_frame, tables([0, 1], [[0, 1], [0, 1]])))
    with pytest.raises(InputError, match="disagreements alone move accuracy one way"):
        adjudication_queue(items, n_agreements=0, seed=0)
    with pytest.raises(InputError, match="must not exceed the 2"):
        adjudication_queue(items, n_agreements=3, seed=0)
    with pytest.raises(InputError, match="judge: must be one of judge-0, judge-1"):
        labelled_items(*map(ratings_frame, tables([0, 1], [[0, 1], [0, 1]])), ["judge-9"])


def test_what_is_decided_must_be_queued_and_one_word():
    truth, key, judges = world(np.random.default_rng(0), n=20)
    items = labelled_items(*map(ratings_frame, tables(key, judges)))
    queue = adjudication_queue(items, n_agreements=2, seed=0)
    words = decided(queue, truth)
    other = next(run for run, _ in items if run not in queue.trajectory_ids)
    with pytest.raises(InputError, match="an item is not in the queue"):
        adjudicate(items, [*words, rating(other, "zoe", "correct", "human")], queue)
    with pytest.raises(InputError, match="decided twice"):
        adjudicate(items, [*words, rating(words[0].trajectory_id, "z", "not_applicable", "human")], queue)
    with pytest.raises(InputError, match="nothing is decided"):
        adjudicate(items, [], queue)


def test_adjudicated_labels_carry_the_probability_of_both_draws():
    truth, key, judges = world(np.random.default_rng(0), n=40)
    labels, ratings = tables(key, judges)
    labels = [one.model_copy(update={"flags": ["drawn:random", "drawn_probability:0.25"]}) for one in labels]
    items = labelled_items(ratings_frame(labels), ratings_frame(ratings))
    queue = adjudication_queue(items, n_agreements=5, seed=0)
    written = adjudicated_labels(labels, decided(queue, truth), queue, items)
    share = {one.trajectory_id: one.probability for one in queue.items}
    assert {one.trajectory_id: drawn_of(one.flags)["drawn_probability"] for one in written} == {
        run: 0.25 * probability for run, probability in share.items()
    }
    assert all("adjudicated" in one.flags for one in written)
    unknown = [one.model_copy(update={"flags": []}) for one in labels]
    assert {
        drawn_of(one.flags)["drawn"] for one in adjudicated_labels(unknown, decided(queue, truth), queue, items)
    } == {"unknown"}


def runs(n):
    return [
        Trajectory(id=f"r{i}", source="t", task_id=f"r{i}", steps=(Step(index=0, role="user", content="hi"),))
        for i in range(n)
    ]


def test_the_queue_is_labelled_blind_by_the_ordinary_labeller():
    from axisjudge.explorer.page import page_html

    _, key, judges = world(np.random.default_rng(0), n=40)
    items = labelled_items(*map(ratings_frame, tables(key, judges)))
    queue = adjudication_queue(items, n_agreements=10, seed=0)
    session = Session.of(runs(40), queue, "zoe")
    assert all(session.axes_of(item) == ("sequencing",) for item in range(len(session.trajectories)))
    page = page_html(session)
    packed_items = [packed(page, name) for name in re.findall(r'id="((?:items|given)-\d+)"', page)]
    told = json.dumps(packed_items) + re.sub(r'<script type="text/plain".*?</script>', "", page)
    assert len(packed_items[0]) == len(session.trajectories)
    assert not any(word in told for word in (PEOPLE_DIFFER, AGAINST_JUDGES, "judge-0", "drawn_stratum"))


def test_queue_and_adjudicate_on_the_command_line(tmp_path, monkeypatch, capsys):
    truth, key, judges = world(np.random.default_rng(4), n=120)
    files = {name: tmp_path / f"{name}.jsonl" for name in ("labels", "ratings", "third")}
    for name, rows in zip(("labels", "ratings"), tables(key, judges), strict=True):
        with RatingsWriter(files[name]) as writer:
            writer.append(rows)
    plan, out = tmp_path / "q.sampling.json", tmp_path / "key.jsonl"

    def run(*words):
        monkeypatch.setattr("sys.argv", ["axisjudge", "label", *map(str, words)])
        try:
            main()
        except SystemExit as stop:
            return stop.code or 0, capsys.readouterr()
        raise AssertionError

    queue = ["queue", files["labels"], "--ratings", files["ratings"], "--agreements", 30, "--out", plan]
    code, said = run(*queue, "--rater", "zoe")
    assert (code, plan.exists()) == (2, False)
    assert "--page" in said.err
    code, said = run(*queue)
    assert code == 0, said.err
    with RatingsWriter(files["third"]) as writer:
        writer.append(decided(read_sampling(plan), truth))
    words = ["adjudicate", files["labels"], "--ratings", files["ratings"], "--plan", plan]
    code, said = run(*words, "--decisions", files["third"], "--out", out)
    assert code == 0, said.err
    assert "The key was wrong on" in said.out
    assert "moves accuracy one way" in said.out
    assert set(read_ratings(out)["rater"]) == {"zoe"}
    code, said = run(*words, "--decisions", files["labels"])
    assert code == 2
    assert "must be by a person who did not label before" in said.err
