"""Each task on one side, for good."""

import json
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging.worlds import trajectories

from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.protocol.gate import check_held_out, tuned_tasks
from axisjudge.protocol.split import Split, fingerprint, read_sources
from axisjudge.trajectory import Step, Trajectory

HALVES = {"calibration": 0.5, "evaluation": 0.5}
NAMES = st.text(min_size=1, max_size=12)


def rule(salt="s", shares=HALVES, held_out=("evaluation",), tuned_on=None) -> Split:
    return Split(salt=salt, shares=shares, held_out=held_out, tuned_on=tuned_on or {})


def edit(bench, change) -> None:
    path = bench / "rubrics" / "split.json"
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))


@settings(deadline=None)
@given(st.text(max_size=8), NAMES, st.lists(NAMES, max_size=4))
def test_a_side_depends_on_salt_and_task_alone(salt, task, others):
    side = rule(salt).side_of(task)
    with_others = rule(salt).model_copy(update={"tasks": {"calibration": {name: [] for name in others}}})
    assert with_others.side_of(task) == side


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_all_agents_of_a_task_stand_on_one_side(number):
    runs = [Trajectory(id=f"{agent}-{number}", source="t", agent=agent, task_id=str(number)) for agent in "abcd"]
    assert len({rule().side_of(run) for run in runs}) == 1


@settings(max_examples=20, deadline=None)  # it writes files
@given(st.permutations(range(24)), st.integers(1, 24))
def test_no_task_changes_its_side_when_trajectories_are_added(tmp_path_factory, order, first):
    runs = [trajectories(24)[place] for place in order]
    folder = tmp_path_factory.mktemp("bench")
    with workbench.at(protocol.rehearsal(folder)):
        before = protocol.make_split(runs[:first], salt="s")
        after = protocol.make_split(runs)
        for side, tasks in before.tasks.items():
            assert tasks.keys() <= after.tasks[side].keys()
        assert after.tasks == {
            side: {
                task: sorted(fingerprint(run) for run in runs if run.cluster_id == task)
                for task in sorted({run.cluster_id for run in runs})
                if after.side_of(task) == side
            }
            for side in HALVES
        }


def test_a_rehearsal_has_rubrics_and_data_and_no_record_and_is_gone_over_again(split):
    bench = protocol.rehearsal()
    assert (bench / "rubrics" / "termination").is_dir()
    assert not (bench / "rubrics" / "split.json").exists()
    data = sorted((bench / "data").iterdir())
    assert "published" in [each.name for each in data]
    assert sorted((protocol.rehearsal(bench) / "data").iterdir()) == data


def test_shares_are_kept_in_the_long_run():
    three = rule(shares={"calibration": 0.2, "development": 0.3, "evaluation": 0.5})
    sides = [three.side_of(str(task)) for task in range(20_000)]
    found = [sides.count(side) / 20_000 for side in three.shares]
    assert found == pytest.approx([0.2, 0.3, 0.5], abs=0.015)  # four standard errors


@settings(deadline=None)
@given(st.text(max_size=8), NAMES)
def test_a_task_used_while_tuning_is_never_held_out(salt, task):
    assert rule(salt, tuned_on={task: "seen"}).side_of(task) == "calibration"


def test_the_file_is_plain_and_adding_a_task_adds_lines_only(bench):
    protocol.make_split(trajectories(4), salt="s")
    before = (bench / "rubrics" / "split.json").read_text().splitlines()
    protocol.make_split(trajectories(6))
    after = (bench / "rubrics" / "split.json").read_text().splitlines()
    kept = [line.rstrip(",") for line in after]
    assert all(line.rstrip(",") in kept for line in before)
    assert len(after) - len(before) in (6, 7)  # a task, its two runs by content and by id


def test_a_task_moved_across_is_named(bench, split):
    task, prints = next(iter(split.tasks["evaluation"].items()))

    def move(said):
        del said["tasks"]["evaluation"][task]
        said["tasks"]["calibration"][task] = prints

    edit(bench, move)
    with pytest.raises(InputError, match=f"task {task} belongs on the evaluation side and was moved; found 'calib"):
        protocol.read_split()


def test_a_tuned_task_moved_to_the_held_out_side_is_refused_with_its_reason(bench, split):
    edit(bench, lambda said: said["tasks"]["evaluation"].update({"library/0": []}))
    with pytest.raises(InputError, match=r"task library/0 was used while tuning .the rubric was tuned on it. and may"):
        protocol.read_split()


def test_a_tuned_task_cannot_be_forgotten(bench, runs):
    held_out = next(task for task in (run.cluster_id for run in runs) if rule().side_of(task) == "evaluation")
    protocol.make_split(runs, salt="s", tuned_on={held_out: "seen"})
    edit(bench, lambda said: said["tuned_on"].clear())
    with pytest.raises(InputError, match=f"task {held_out} belongs on the evaluation side"):
        protocol.read_split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shares": {"only": 1.0}}, "two sides or more"),
        ({"shares": {"a": 0.5, "b": 0.4}}, "must add up to 1; found 0.9"),
        ({"shares": {"a": 1.5, "b": -0.5}}, "each with a share above 0"),
        ({"held_out": ["evalation"]}, "did you mean 'evaluation'"),
        ({"held_out": ["calibration", "evaluation"]}, "at least one side is held out and one is not"),
        ({"tuned_on": {"library/99": "seen"}}, "task used while tuning: must be one of"),
    ],
    ids=str,
)
def test_what_makes_no_split(bench, runs, arguments, message):
    with pytest.raises(InputError, match=message):
        protocol.make_split(runs, **arguments)
    assert not (bench / "rubrics" / "split.json").exists()


@pytest.mark.parametrize(
    "arguments", [{"salt": "other"}, {"shares": {"a": 0.1, "b": 0.9}}, {"held_out": ["calibration"]}]
)
def test_a_split_that_is_there_keeps_its_rule(split, runs, arguments):
    with pytest.raises(InputError, match=f"has another {next(iter(arguments))}"):
        protocol.make_split(runs, **arguments)


def test_a_task_by_its_plain_id(bench, runs):
    others = [run.model_copy(update={"domain": "bank", "id": f"b{run.id}"}) for run in runs[-2:]]
    assert "library/7" in protocol.make_split([*runs, *others], tuned_on={"7": "seen"}).tuned_on
    with pytest.raises(InputError, match=r"could be bank/11 or library/11; found '11'; give its domain too"):
        protocol.make_split([*runs, *others], tuned_on={"11": "seen"})


def test_what_is_no_split_and_runs_that_are_nowhere_are_refused(bench, split):
    edit(bench, lambda said: said.update(shares="halves"))
    with pytest.raises(InputError, match=r"split.json: is not a split \(shares.*put it back as git has it"):
        protocol.read_split()
    with pytest.raises(InputError, match="the split does not say where its runs are; name them"):
        read_sources([])


def test_one_task_under_two_names_would_be_hashed_to_two_sides(split):
    without = trajectories(2)[0].model_copy(update={"domain": None})
    with pytest.raises(InputError, match="knows a task library/0, which may be the same; found '0'"):
        protocol.make_split([without])
    with pytest.raises(InputError, match="--domain"):
        protocol.admit([without], [], {})


def test_holdings_count_tasks_agents_and_rewards(split, runs):
    rewarded = [run.model_copy(update={"reward": 1.0 if place % 3 else 0.0}) for place, run in enumerate(runs)]
    held = protocol.holdings(split, rewarded[:-1])
    assert [each.side for each in held] == ["calibration", "evaluation"]
    assert sum(each.trajectories for each in held) == 23
    assert sum(each.tasks for each in held) == 12
    assert [each.agents for each in held] == [1, 1]
    assert [each.held_out for each in held] == [False, True]
    calibration = [run.reward for run in rewarded[:-1] if split.side_of(run) == "calibration"]
    assert held[0].mean_reward == pytest.approx(sum(calibration) / len(calibration))
    assert held[0].tuned_on == 1


def test_a_fingerprint_is_of_what_happened_and_not_of_what_is_read_beside_it():
    run = trajectories(1)[0]
    assert fingerprint(run.model_copy(update={"policy": "x", "tools": (), "agent": "b"})) == fingerprint(run)
    other = (*run.steps, Step(index=2, role="user", content="More."))
    assert fingerprint(run.model_copy(update={"steps": other})) != fingerprint(run)


def test_the_published_leak_is_refused(bench):
    """Version 3 of argument_validity was tuned on a run of task 28, and task 28 was evaluated: 4 of 20 runs."""
    published = pl.read_csv(workbench.home() / "data" / "published" / "tasks.csv")
    tuned = tuned_tasks(published, "argument_validity v3 was tuned on simulation 14")
    assert list(tuned) == ["28"]
    runs = [
        Trajectory(id=f"{row['task_id']}-{row['agent']}", source="t", agent=row["agent"], task_id=str(row["task_id"]))
        for row in published.iter_rows(named=True)
    ]
    salt = next(salt for salt in map(str, range(99)) if rule(salt).side_of("28") == "evaluation")  # as they had it
    split = protocol.make_split(runs, salt=salt, tuned_on=tuned)
    assert split.side_of("28") == "calibration"
    with pytest.raises(
        InputError, match=r"4 of the 20 runs are not held out: task 28 was used while tuning .argument_"
    ):
        check_held_out(split, [run.cluster_id for run in runs])
    check_held_out(split, [run.cluster_id for run in runs if run.task_id != "28"])

    def as_published(said):
        said["tasks"]["evaluation"]["28"] = said["tasks"]["calibration"].pop("28")

    edit(bench, as_published)
    with pytest.raises(
        InputError, match=r"task 28 was used while tuning .*simulation 14.* may not stand on a held-out"
    ):
        protocol.admit(runs, [], {}, split="evaluation")


def test_processes_that_split_at_once_lose_no_run_of_each_other(bench):
    """Each found no split, drew a salt of its own, and wrote its runs over those of the others."""
    runs = trajectories(12)
    with ThreadPoolExecutor(12) as pool:
        made = list(pool.map(lambda run: protocol.make_split([run]), runs))
    assert len({split.salt for split in made}) == 1
    assert set(protocol.read_split().runs) == {run.id for run in runs}


def test_a_salt_of_no_letter_is_asked_about(bench):
    with pytest.raises(InputError, match="salt: must be a word or a number"):
        protocol.make_split(trajectories(4), salt=" ")
    assert not (bench / "rubrics" / "split.json").exists()
