"""Held-out runs are judged after lock and opening, or under the flag that says they were not."""

import pytest
from protocol.places import current_path

import axisjudge
from axisjudge import protocol
from axisjudge.checks import InputError
from axisjudge.judging import judging_run
from axisjudge.protocol import AnalysisPlan, make_lock, open_holdout
from axisjudge.protocol.ledger import append
from axisjudge.rubric import load_rubric

PLAN = AnalysisPlan(axes=("termination",))


def judged(runs, **how):
    return axisjudge.judge(runs, ["rules"], ["termination"], progress=False, **how)


@pytest.fixture
def opened(split):
    make_lock(["rules"], PLAN)
    return open_holdout("the rubrics are final")


def refused(message, runs, **how):
    with pytest.raises(InputError, match=message):
        judged(runs, **how)


def test_without_a_split_nothing_is_asked_of_anybody(bench, runs):
    table = judged(runs)
    assert table.height == 24
    assert table["split"].null_count() == 24
    assert table["flags"].list.len().sum() == 0
    refused("there is no split yet; make one", runs, split="evaluation")


def test_only_the_named_side_is_judged_and_stamped(split, runs):
    table = judged(runs, split="calibration")
    assert set(table["split"]) == {"calibration"}
    assert set(table["trajectory_id"]) == {run.id for run in runs if split.side_of(run) == "calibration"}
    refused("--split: must be one of calibration, evaluation; found 'evaluate'", runs, split="evaluate")


def test_no_side_named_refuses_held_out_runs_and_takes_the_others(split, runs):
    refused(r"held out .evaluation.; found 'task library/\d+'; judge the rest with --split calibration", runs)
    mine = [run for run in runs if split.side_of(run) == "calibration"]
    assert set(judged(mine)["split"]) == {"calibration"}


def test_runs_of_another_study_are_nobodys_business(split, runs):
    others = [
        run.model_copy(
            update={
                "id": f"x-{run.id}",
                "domain": "zoo",
                "task_id": f"z{run.task_id}",
                "steps": (run.steps[0].model_copy(update={"content": f"A question of {run.id}"}), *run.steps[1:]),
            }
        )
        for run in runs
    ]
    assert judged(others).height == 24
    with pytest.raises(InputError, match=r"holds only the tasks that it was made of.*found 'zoo/z\d+'; add it first"):
        judged(others, split="calibration")


def test_what_confirms_nothing_takes_the_open_runs_and_says_so(bench, runs):
    assert protocol.open_runs(runs) == (runs, ())
    split = protocol.make_split(runs, salt="s")
    mine, (left,) = protocol.open_runs(runs)
    assert {split.side_of(run) for run in mine} == {"calibration"}
    assert left == f"{len(runs) - len(mine)} of 24 runs are held out (evaluation) and were left alone."
    assert judged(mine).height == len(mine)
    with pytest.raises(InputError, match=r"all \d+ are held out .evaluation."):
        protocol.open_runs([run for run in runs if run not in mine])


def test_held_out_runs_under_another_name(split, runs):
    renamed = [run.model_copy(update={"task_id": f"{run.task_id}-again"}) for run in runs]
    refused(r"holds this very run as one of task library/\d+; found 'library/\d+-again'; give the run its", renamed)
    nameless = [run.model_copy(update={"task_id": None}) for run in runs]
    refused("holds this very run as one of task library", nameless, exploratory=True)
    with pytest.raises(InputError, match="holds this very run"):
        protocol.make_split(renamed)


def test_a_split_removed_after_the_lock_opens_nothing(bench, opened, split, runs):
    (bench / "rubrics" / "split.json").unlink()
    refused("the split was removed: the ledger has entries of its study; put it back as git has it", runs)
    refused("the split was removed", runs, split="calibration")
    with pytest.raises(InputError, match=r"has another salt .s.; found 'lucky'; leave it out"):
        protocol.make_split(runs, salt="lucky")
    assert protocol.make_split(runs) == split
    assert judged(runs, split="evaluation").height


def test_before_the_lock(split, runs):
    refused(
        "evaluation side may be judged only after lock and opening, and nothing is locked; lock first",
        runs,
        split="evaluation",
    )
    with pytest.raises(InputError, match="nothing is locked; lock first: axisjudge rubric lock"):
        open_holdout("too early")


def test_before_the_opening(split, runs):
    make_lock(["rules"], PLAN)
    refused("has not been opened; open it: axisjudge holdout open", runs, split="evaluation")
    with pytest.raises(InputError, match="has not been opened"):
        judging_run(runs, ["rules"], split="evaluation").plan()


def test_after_lock_and_opening_every_rating_bears_the_opening(opened, runs, split):
    table = judged(runs, split="evaluation")
    assert table.height == sum(split.side_of(run) == "evaluation" for run in runs)
    assert set(table["split"]) == {"evaluation"}
    assert all(flags == [f"opening:1:{opened.sha256[:12]}"] for flags in table["flags"].to_list())


def test_a_lock_that_no_longer_holds(bench, opened, runs):
    path = current_path(bench, "termination")
    path.write_text(path.read_text().replace("## Question", "## Question\n\nBe strict."))
    message = r"lock: it no longer holds: changed since the lock: rubrics.termination.sha256 was"
    refused(message, runs, split="evaluation")
    with pytest.raises(InputError, match=message):
        open_holdout("again")


def test_a_broken_ledger(bench, opened, runs):
    path = bench / "rubrics" / "ledger.jsonl"
    path.write_text(path.read_text().replace("the rubrics are final", "the rubrics are nearly final"))
    refused(r"ledger.jsonl:2: the chain is broken: this entry was edited", runs, split="evaluation")


def test_a_new_lock_needs_a_new_opening(opened, runs):
    make_lock(["rules"], AnalysisPlan(axes=("termination",), statistic="gwet_ac1"))
    refused("opening 1 was made under another lock; open it under this one", runs, split="evaluation")
    assert open_holdout("with another statistic").opening == 2
    assert set(judged(runs, split="evaluation")["flags"].list.first().str.slice(0, 9)) == {"opening:2"}


def test_held_out_runs_that_were_not_there(opened, runs, split):
    run = next(run for run in runs if split.side_of(run) == "evaluation")
    new = run.model_copy(update={"id": "new", "termination": "other"})
    refused(
        "the evaluation side holds only the runs that it was made of; found 'new of task", [new], split="evaluation"
    )
    protocol.make_split([new])
    refused("the held-out runs are not those of opening 1; open it with these", [*runs, new], split="evaluation")


def test_judges_and_rubrics_that_are_not_locked(bench, opened, runs):
    with pytest.raises(InputError, match="only locked judges may judge here; found 'simulated:wren'; judge with rules"):
        axisjudge.judge(runs, ["simulated:wren"], split="evaluation")
    old = {"argument_validity": "v2"}
    current = load_rubric("argument_validity").version
    with pytest.raises(InputError, match=f"the rubric of argument_validity is locked as {current}; found 'v2'"):
        axisjudge.judge(runs, ["rules"], versions=old, split="evaluation")


def test_exploratory_lifts_the_refusals_and_leaves_its_mark(split, runs):
    for how in ({"split": "evaluation"}, {}):
        table = judged(runs, exploratory=True, **how)
        assert all("exploratory" in flags for flags in table["flags"].to_list())
    entries = protocol.read_ledger()
    n = sum(split.side_of(run) == "evaluation" for run in runs)
    current = f"termination {load_rubric('termination').version}"
    assert [entry.kind for entry in entries] == ["exploratory"]  # the same look is one look
    assert entries[0].reason == f"{n} held-out runs of {n // 2} tasks judged by rules on {current}"


def test_an_exploratory_run_of_the_open_side_is_no_look(split, runs):
    judged(runs, split="calibration", exploratory=True)
    assert protocol.read_ledger() == []


def test_a_refused_run_writes_nothing(split, runs, tmp_path):
    refused("nothing is locked", runs, split="evaluation", out=tmp_path / "r.jsonl")
    assert not (tmp_path / "r.jsonl").exists()


def test_what_is_there_is_not_stamped_anew(opened, runs, tmp_path):
    """Ratings made before the opening stay what they were, however often the command is repeated."""
    out = tmp_path / "r.jsonl"
    judged(runs, split="evaluation", exploratory=True, out=out)
    table = judged(runs, split="evaluation", out=out)
    assert all(flags == ["exploratory"] for flags in table["flags"].to_list())


def test_no_task_on_the_held_out_side(bench, runs, split):
    mine = [run for run in runs if split.side_of(run) == "calibration"]
    (bench / "rubrics" / "split.json").unlink()
    protocol.make_split(mine, salt="s")
    make_lock(["rules"], PLAN)
    with pytest.raises(InputError, match="no task stands on a held-out side"):
        open_holdout("nothing there")
    refused("none of the .* trajectories stands on this side", mine, split="evaluation")


def test_an_opening_for_another_lock_does_not_count(split, runs):
    make_lock(["rules"], PLAN)
    append("opening", "by hand", lock_sha256="0" * 64, data_sha256=split.data_sha256)
    refused("opening 1 was made under another lock", runs, split="evaluation")
