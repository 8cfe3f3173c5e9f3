"""One word for how items are drawn, and what each way needs."""

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.panel import WAYS, draw
from axisjudge.labels.sampling import METHODS, draw_at_random
from axisjudge.ratings import RatingsWriter
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating

RUNS = [
    Trajectory(
        id=f"t{task}-{agent}",
        source="test",
        task_id=f"t{task}",
        agent=agent,
        reward=float(task % 2),
        steps=(Step(index=0, role="user", content="hello"),),
    )
    for task in range(8)
    for agent in ("one", "two")
]


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.jsonl"
    who = {"rules": ("rules", "rules"), "person": ("human", "human")}
    with RatingsWriter(path) as writer:
        writer.append(
            Rating(
                trajectory_id=run.id,
                cluster_id=run.cluster_id,
                question="sequencing",
                rater=rater,
                rater_kind=kind,
                family=family,
                verdict="incorrect" if run.task_id in ("t0", "t1") else "correct",
                flags=["drawn:random", "drawn_probability:0.25"],
            )
            for rater, (kind, family) in who.items()
            for run in RUNS
        )
    return path


def test_every_way_draws(ratings):
    asked = {
        "random": {"n": 4},
        "by_judge_verdict": {"n": 4, "ratings": ratings, "of": "rules", "axis": "sequencing"},
        "by_key": {"n": 4, "of": "reward"},
        "second_rater": {"n": 4, "ratings": ratings, "of": "person"},
        "by_hand": {},
    }
    drawn = {way: draw(RUNS, way, seed=1, **asked[way]) for way in WAYS}
    assert {way: sampling.method for way, sampling in drawn.items()} == {
        "random": "random",
        "by_judge_verdict": "by_judge_verdict",
        "by_key": "by_key",
        "second_rater": "random",
        "by_hand": "unknown",
    }
    assert set(METHODS) > {sampling.method for sampling in drawn.values()}
    assert drawn["random"] == draw_at_random(RUNS, 4, seed=1)
    verdicts = drawn["by_judge_verdict"]
    assert verdicts.key == "rules: sequencing"
    assert {item.stratum: item.probability for item in verdicts.items} == {"incorrect": 1 / 2, "correct": 2 / 6 / 2}
    assert sorted(item.stratum for item in drawn["by_key"].items) == ["0.0", "0.0", "1.0", "1.0"]
    assert {item.probability for item in drawn["second_rater"].items} == {0.25 * 4 / 16}
    assert len(drawn["by_hand"].items) == len(RUNS)


@pytest.mark.parametrize(
    ("way", "given", "message"),
    [
        ("at random", {}, "how items are drawn: must be one of random"),
        ("by_key", {"n": 2}, "draw by_key: needs `of`: whose verdicts, or which key, decide"),
        ("by_key", {"of": "agent"}, "draw by_key: needs a number"),
        ("by_key", {"of": "id", "n": 2}, "key: must be one of agent, domain"),
        ("by_judge_verdict", {"of": "rules", "n": 2}, "draw by_judge_verdict: needs ratings"),
        ("second_rater", {}, "draw second_rater: needs ratings"),
    ],
)
def test_what_is_missing_is_said(way, given, message):
    with pytest.raises(InputError, match=message):
        draw(RUNS, way, **given)


def test_a_judge_is_no_first_person(ratings, tmp_path):
    judge = tmp_path / "rules.jsonl"
    lines = ratings.read_text().splitlines(keepends=True)
    judge.write_text("".join(line for line in lines if '"rater":"rules"' in line))
    with pytest.raises(InputError, match="no person labelled there"):
        draw(RUNS, "second_rater", ratings=judge)
    with pytest.raises(InputError, match="no labels by this person"):
        draw(RUNS, "second_rater", ratings=ratings, of="rules")


def test_whose_labels_must_be_said_where_several_people_labelled(ratings):
    assert {item.probability for item in draw(RUNS, "second_rater", ratings=ratings).items} == {
        0.25
    }  # the one person's
    ratings.write_text(
        ratings.read_text().replace('"rater":"rules","rater_kind":"rules"', '"rater":"b","rater_kind":"human"')
    )
    with pytest.raises(InputError, match="several people labelled there"):
        draw(RUNS, "second_rater", ratings=ratings)
