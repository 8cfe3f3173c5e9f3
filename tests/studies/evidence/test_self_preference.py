"""Self-preference from a ratings table: right by hand, refused where it cannot be told, silent losses counted."""

import json
import math

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, demo_truth
from axisjudge.judging import judge
from axisjudge.ratings import ratings_frame, read_ratings
from axisjudge.readers import read_trajectories
from axisjudge.studies.evidence.repeats import self_preference_report

JUDGES = ("red", "green", "blue")


def families_of(table):
    """The family of an agent is its name without the number: red1 is of red."""
    return {run: run.split("-")[0].rstrip("0123456789") for run in table["trajectory_id"]}


@pytest.fixture
def failures(one_rating):
    """Failed runs of two agents of each family; `misses(judge, family, task)` says whether a judge calls it correct."""

    def make(misses, tasks=20, label="human", judges=JUDGES, agents=(1, 2)):
        rows = []
        for task in range(tasks):
            for family in JUDGES:
                for number in agents:
                    run = f"{family}{number}-{task}"
                    for name in judges:
                        letter = "c" if misses(name, family, task) else "i"
                        rows.append(one_rating(run, "termination", name, letter))
                    if label:
                        rows.append(one_rating(run, "termination", label, "i", rater_kind=label))
        return ratings_frame(rows)

    return make


def red_prefers_red(name, family, task):
    """Every judge misses a quarter of the failures; red judges miss another half of red agents' failures."""
    return task % 4 == 0 or (name == family == "red" and task % 4 < 3)


def test_the_estimand_by_hand(failures):
    table = failures(red_prefers_red)
    found = self_preference_report(table, families_of(table))
    rates = {row["judge_family"] + row["agent_family"]: row["says_correct"] for row in found.table.to_dicts()}
    assert (rates["redred"], rates["redblue"], rates["bluered"]) == (0.75, 0.25, 0.25)
    preference = found.measured.preference
    assert preference["red"].estimate == pytest.approx(0.5)
    # green's own judges miss .25 everywhere; the others .25 of green agents and (.5 + .25) / 2 of the rest
    assert preference["green"].estimate == pytest.approx(0 - (0.25 - 0.375))
    assert preference["red"].n_clusters == 20
    assert preference["red"].ci_low < 0.5 < preference["red"].ci_high
    assert (found.n_failed, found.labels, found.refusal) == (120, "people", "")
    assert found.sentences[0] == "termination: 120 items that people call incorrect."
    (red,) = (sentence for sentence in found.sentences if "red judges" in sentence)
    assert "red judges miss 50 points more (" in red
    assert "2 agents of red, 4 others" in red
    assert "one family's preference moves the figures of the others" in found.sentences[-1]  # green's .125 is red's


def test_leniency_of_a_judge_towards_all_is_no_preference(failures):
    table = failures(lambda name, family, task: task % 4 < JUDGES.index(name) + 1)
    found = self_preference_report(table, families_of(table))
    assert [each.estimate for each in found.measured.preference.values()] == pytest.approx([0, 0, 0])


def test_items_that_people_call_correct_do_not_enter(failures, one_rating):
    table = failures(red_prefers_red)
    passed = ratings_frame(
        one_rating(f"red1-{task}", "sequencing", name, "c", rater_kind=kind)
        for task in range(20)
        for name, kind in (("red", "llm"), ("green", "llm"), ("blue", "llm"), ("human", "human"))
    )
    both = self_preference_report(pl.concat([table, passed]), families_of(table))
    alone = self_preference_report(table, families_of(table))
    assert both.where == "2 questions together"
    assert both.measured == alone.measured


def test_without_labels_there_is_the_table_alone(failures):
    table = failures(red_prefers_red, label="")
    found = self_preference_report(table, families_of(table))
    assert found.measured.preference == {}
    assert found.table.height == 9
    assert found.table["own"].sum() == 3
    assert "only the bare shares can be shown (without labels" in found.sentences[0]
    assert "no p value" in found.sentences[0]
    undecided = failures(red_prefers_red).with_columns(
        verdict=pl.when(pl.col("rater_kind") == "human").then(pl.lit("uncertain")).otherwise("verdict")
    )
    assert "without labels" in self_preference_report(undecided, families_of(table)).refusal


def test_few_families_or_agents_are_refused(failures):
    two = failures(red_prefers_red, judges=JUDGES[:2])
    assert "fewer than 3 judge families" in self_preference_report(two, families_of(two)).refusal
    single = failures(red_prefers_red, agents=(1,))
    assert "fewer than 2 agents" in self_preference_report(single, families_of(single)).refusal
    table = failures(red_prefers_red)
    strangers = dict.fromkeys(table["trajectory_id"], "purple")
    assert "no judge family has agents" in self_preference_report(table, strangers).refusal


def test_few_tasks_have_no_interval_and_say_so(failures):
    table = failures(red_prefers_red, tasks=4)
    found = self_preference_report(table, families_of(table))
    assert math.isnan(found.measured.preference["red"].ci_low)
    assert "no interval: too few failed items: 4 tasks" in found.sentences[1]


def test_runs_without_a_family_are_counted_and_an_agent_has_one(failures):
    table = failures(red_prefers_red)
    families = families_of(table)
    unknown = {run: None if run == "blue1-0" else family for run, family in families.items() if run != "blue2-0"}
    found = self_preference_report(table, unknown)
    assert found.runs_left_out == 2
    assert found.sentences[-1] == "Left out: 2 runs without an agent or an agent family."
    with pytest.raises(InputError, match="an agent has one family"):
        self_preference_report(table, {**families, "red1-0": "blue"})
    with pytest.raises(InputError, match="the same trajectory_id"):
        self_preference_report(table, {"elsewhere": "red"})
    with pytest.raises(InputError, match="the same trajectory_id"):
        self_preference_report(table.with_columns(agent=pl.lit(None, dtype=pl.String)), families)
    with pytest.raises(InputError, match="verdicts of judges"):
        self_preference_report(table.filter(pl.col("rater_kind") == "human"), families)


def test_families_come_as_a_mapping_or_a_table(failures):
    table = failures(red_prefers_red)
    families = families_of(table)
    frame = pl.DataFrame({"trajectory_id": list(families), "agent_family": list(families.values())})
    assert self_preference_report(table, frame).to_dict() == self_preference_report(table, families).to_dict()
    as_pandas = self_preference_report(table.to_pandas(), frame.to_pandas()).table
    assert type(as_pandas).__module__.startswith("pandas")


@pytest.mark.slow
def test_the_demo_has_no_agents_of_its_judges():
    runs = read_trajectories(*demo_paths()).trajectories
    judged = judge(runs, ["rules", "simulated:heron", "simulated:wren"], repeats=3, progress=False)
    ratings = pl.concat([judged, read_ratings(demo_truth())])
    agents = sorted({run.agent for run in runs})
    own = dict(zip(agents, np.resize(["heron", "wren"], len(agents)).tolist(), strict=True))
    found = self_preference_report(ratings, {run.id: own[run.agent] for run in runs})
    assert found.labels == "the planted labels"
    assert found.n_failed > 0
    assert "no judge family has agents of its own" in found.refusal
    assert "failed items that a judge family calls correct" in found.sentences[0]
    json.dumps(found.to_dict(), allow_nan=False)
