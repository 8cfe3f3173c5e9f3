"""A fitted panel is tuned on its labels: the held-out side stays shut to it until it is locked as it is."""

import json

import polars as pl
import pytest

import axisjudge
from axisjudge import protocol
from axisjudge.checks import InputError
from axisjudge.protocol import check_panel, check_tuning, make_lock, status
from axisjudge.studies.panels import panels
from axisjudge.studies.panels.voted import panel_ratings, read_panel

JUDGES = ["rules"]


@pytest.fixture
def seen(split, runs):
    return axisjudge.judge(runs, JUDGES, split="calibration", progress=False)


@pytest.fixture
def panel(bench, seen):
    fitted = panels(seen, question="sequencing", name="both").panel
    fitted.save(bench / "both.json")
    return fitted


def test_nothing_is_tuned_on_held_out_tasks(split, seen):
    check_tuning(seen["cluster_id"].to_list())
    held_out = next(iter(split.held_out_tasks))
    with pytest.raises(InputError, match="nothing is tuned on them"):
        check_tuning([*seen["cluster_id"], held_out])


def test_a_locked_panel_speaks_of_the_held_out_side_and_its_ratings_are_confirmatory(bench, runs, plan, panel):
    make_lock(JUDGES, plan, panels=["both.json"])
    assert status().holds
    protocol.open_holdout("final")
    rows = axisjudge.judge(runs, JUDGES, split="evaluation", progress=False)
    given = panel_ratings(panel, rows)
    check_panel(panel.rater, panel.sha256, given)
    standing = protocol.standing_of(given)
    assert standing.held_out == given.height
    assert standing.confirmatory, standing.reasons
    with pytest.raises(InputError, match="locked as another fit"):
        check_panel(panel.rater, "0" * 64, given)
    check_panel("panel:any", "0" * 64, given.clear())  # nothing held out is asked of it
    other = given.with_columns(prompt_sha256=given["rater"].str.replace(".*", "0" * 64))
    assert any("another fit" in reason for reason in protocol.standing_of(other).reasons)


def test_a_panel_that_is_not_locked_does_not(bench, runs, plan, panel):
    make_lock(JUDGES, plan)
    protocol.open_holdout("final")
    rows = axisjudge.judge(runs, JUDGES, split="evaluation", progress=False)
    given = panel_ratings(panel, rows)
    with pytest.raises(InputError, match="is not in the lock"):
        check_panel(panel.rater, panel.sha256, given)
    assert any("not locked: panel:both" in reason for reason in protocol.standing_of(given).reasons)


def test_a_panel_changed_after_the_lock_breaks_it(bench, runs, plan, panel):
    make_lock(JUDGES, plan, panels=["both.json"])
    fields = json.loads((bench / "both.json").read_text())
    (bench / "both.json").write_text(json.dumps(fields | {"temperature": 9.0}))
    assert [change.path for change in status().changes] == ["panels.panel:both.sha256"]
    held_out = panel_ratings(panel, axisjudge.judge(runs, JUDGES, exploratory=True, progress=False))
    held_out = held_out.with_columns(flags=pl.lit([], pl.List(pl.String)))
    with pytest.raises(InputError, match="these are held-out items, and changed since the lock: panels"):
        check_panel(panel.rater, panel.sha256, held_out)
    assert read_panel(bench / "both.json").sha256 != panel.sha256
    (bench / "both.json").unlink()
    assert not status().holds


def test_what_may_not_be_locked(bench, split, plan, panel, tmp_path):
    fields = json.loads((bench / "both.json").read_text())
    (bench / "others.json").write_text(json.dumps(fields | {"judges": ["somebody"]}))
    with pytest.raises(InputError, match="asks judges that are not locked"):
        make_lock(JUDGES, plan, panels=["others.json"])
    held_out = next(iter(split.held_out_tasks))
    (bench / "tuned.json").write_text(json.dumps(fields | {"tuned_on": [held_out]}))
    with pytest.raises(InputError, match="fitted on 1 held-out tasks"):
        make_lock(JUDGES, plan, panels=["tuned.json"])
    (tmp_path / "away.json").write_text(json.dumps(fields))
    with pytest.raises(InputError, match="must stand in the workbench"):
        make_lock(JUDGES, plan, panels=[tmp_path / "away.json"])
    (bench / "no.json").write_text("{}")
    with pytest.raises(InputError, match="is not a fitted panel"):
        make_lock(JUDGES, plan, panels=["no.json"])
