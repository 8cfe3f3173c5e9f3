"""The lock freezes what judges see and what will be computed; every later change is found, with its field."""

import json

import pytest
from protocol.places import current_path

from axisjudge import protocol
from axisjudge.checks import InputError
from axisjudge.judges import prompt
from axisjudge.judges.lifecycle import RetirementWarning
from axisjudge.protocol import AnalysisPlan, alias_of, freeze_maps, make_lock, status
from axisjudge.protocol.lock import FILE, READ_ON, locked_rubrics
from axisjudge.ratings import ratings_frame
from axisjudge.rubric import load_rubric
from axisjudge.verdict import Rating

GPT = "openai:gpt-5.2-2025-12-11,effort=low"


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def edit_lock(bench, change):
    path = bench / FILE
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))


def fields():
    return [change.path for change in status().changes]


def test_a_fresh_lock_holds_and_stands_in_the_ledger(locked):
    assert status().holds
    entries = protocol.read_ledger()
    assert [entry.kind for entry in entries] == ["lock"]
    assert entries[0].lock == locked == protocol.read_lock()
    assert "chosen_draft" not in locked["rubrics"]["termination"]  # no person took it against a search
    assert locked["plan"]["n"] == sum(map(len, protocol.read_split().held_out_tasks.values()))


def test_nothing_locked_is_said(split):
    assert status().reasons == ("nothing is locked",)
    with pytest.raises(InputError, match="nothing is locked yet; lock it: axisjudge rubric lock"):
        protocol.read_lock()


def test_a_lock_names_judges_and_the_version_of_every_rubric(split, plan):
    assert locked_rubrics() == {}
    with pytest.raises(InputError, match="a lock needs one judge at least"):
        make_lock([], plan)
    make_lock(["rules"], plan)
    current = load_rubric("termination")
    assert locked_rubrics()["termination"] == (current.version, current.sha256)


def test_a_judge_of_all_axes_at_once_is_locked_by_what_it_is_shown_at_once(split, plan):
    (judge,) = make_lock([f"{GPT},one_call=true"], plan)["judges"].values()
    assert list(judge["prompt_sha256"]) == ["all"]


def test_a_lock_needs_a_split(bench, plan):
    with pytest.raises(InputError, match="there is no split yet; make one: axisjudge split make"):
        make_lock(["rules"], plan)


def test_an_edited_rubric_is_found_in_rubric_and_prompt(bench, locked):
    edit(current_path(bench, "termination"), "## Question", "## Question\n\nBe strict.")
    assert fields() == ["rubrics.termination.sha256", f"judges.{GPT}.prompt_sha256.termination"]
    assert "rubrics.termination.sha256 was" in status().reasons[0]


def test_a_new_current_version_leaves_the_lock_alone(bench, locked):
    """The lock names versions: a later one on trial beside it is no change of what is locked."""
    old = current_path(bench, "argument_validity")
    later = f"v{int(old.stem[1:]) + 1}"
    text = old.read_text().replace(f"version: {old.stem}", f"version: {later}", 1)
    old.with_stem(later).write_text(text)
    edit(old, "status: current", "status: superseded")
    assert load_rubric("argument_validity").version == later
    assert status().holds


def test_a_rubric_that_is_gone_is_a_fault(bench, locked):
    (current_path(bench, "termination")).unlink()
    assert not status().holds
    assert "version of termination" in status().reasons[0]


def test_a_change_of_the_prompt_is_found(locked, monkeypatch):
    from axisjudge.judges import written

    monkeypatch.setattr(written, "INSTRUCTIONS", prompt.INSTRUCTIONS + "Be quick.\n")
    assert fields() == [f"judges.{GPT}.prompt_sha256.{axis}" for axis in locked["rubrics"]]


def test_a_change_of_how_the_record_is_rendered_is_found(locked, monkeypatch):
    monkeypatch.setattr(prompt, "_stated_tools", lambda trajectory: "None of your business.")
    monkeypatch.setattr(prompt, "_CACHE", prompt._Cache())
    assert fields()[0] == "truncation.probe_sha256"
    assert len(fields()) == 6


@pytest.mark.parametrize("name", ["BUDGET", "KEPT_AT_LEAST"])
def test_a_change_of_truncation_is_found(locked, monkeypatch, name):
    from axisjudge.protocol import lock

    monkeypatch.setattr(lock, name, getattr(prompt, name) // 2)
    assert f"truncation.{name.lower()}" in fields()


def test_a_change_of_the_verdict_schema_is_found(locked, monkeypatch):
    from axisjudge.judges import written
    from axisjudge.protocol import lock

    schema = {**written.SCHEMA, "description": "new"}
    monkeypatch.setattr(lock, "verdict_schema", lambda: schema)
    monkeypatch.setattr(written, "SCHEMA", schema)
    assert fields()[0] == "verdict_schema_sha256"
    assert f"judges.{GPT}.prompt_sha256.termination" in fields()


def test_another_version_of_the_rules_is_found(locked, monkeypatch):
    from axisjudge.judges.rules import judge

    monkeypatch.setattr(judge, "VERSION", "rules-of-tomorrow")
    assert fields() == ["judges.rules.version"]


def test_another_package_version_is_found(locked, monkeypatch):
    monkeypatch.setattr("axisjudge.__version__", "9.9.9")
    (change,) = status().changes
    assert str(change).startswith("package_version was ")
    assert str(change).endswith('is "9.9.9"')


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("plan.margin", lambda lock: lock["plan"].update(margin=0.2)),
        ("plan.statistic", lambda lock: lock["plan"].update(statistic="gwet_ac1")),
        ("plan.axes", lambda lock: lock["plan"].update(axes=["termination"])),
        ("plan.uncertain", lambda lock: lock["plan"].update(uncertain="category")),
        ("plan.maps.rules", lambda lock: lock["plan"].update(maps={"rules": {"kind": "platt"}})),
        (
            f"judges.{GPT}.spec.options.effort",
            lambda lock: lock["judges"][GPT]["spec"]["options"].update(effort="high"),
        ),
        ("truncation.budget", lambda lock: lock["truncation"].update(budget=1)),
        ("rubrics.termination.version", lambda lock: lock["rubrics"]["termination"].update(version="v1")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_edit_of_the_lock_itself_is_found_with_its_field(bench, locked, path, change):
    edit_lock(bench, change)
    assert fields() == [path]


def test_a_lock_that_was_removed_or_whose_entry_was(bench, locked):
    ledger = (bench / "rubrics" / "ledger.jsonl").read_text()
    (bench / "rubrics" / "ledger.jsonl").write_text("")
    assert "has no entry of this lock: entries were removed" in status().reasons[0]
    (bench / "rubrics" / "ledger.jsonl").write_text(ledger)
    (bench / FILE).unlink()
    assert status().reasons == ("rubrics/lock.json was removed; the ledger's line 1 has it",)


def test_a_task_found_to_be_tuned_on_after_the_lock_changes_the_split(locked, runs, split):
    held_out = next(iter(split.tasks["evaluation"]))
    protocol.make_split(runs, tuned_on={held_out: "found in the notes"})
    assert fields() == [f"split.tuned_on.{held_out}", "split.sha256"]


def test_trajectories_of_the_open_side_may_be_added(locked, runs, split):
    run = next(run for run in runs if split.side_of(run) == "calibration")
    protocol.make_split([run.model_copy(update={"id": "new", "termination": "other"})])
    assert status().holds


def test_transport_and_folders_are_no_part_of_a_lock(split, plan, tmp_path):
    truth = tmp_path / "a" / "planted.jsonl"
    judges = ["openai:gpt-5.2-2025-12-11,rpm=5,timeout=9,key_env=MY_KEY", f"simulated:wren,truth={truth}"]
    with pytest.raises(InputError, match="no such file"):
        make_lock(judges, plan)
    truth.parent.mkdir()
    truth.touch()
    lock = make_lock(judges, plan)
    assert "MY_KEY" not in json.dumps(lock)
    assert lock["judges"]["openai:gpt-5.2-2025-12-11"]["spec"]["options"] == {}
    assert lock["judges"]["simulated:wren,truth=planted.jsonl"]["spec"]["options"] == {"truth": "planted.jsonl"}
    assert status().holds


def test_a_lock_of_an_older_package_is_compared_and_never_a_traceback(bench, locked):
    """A field that the package freezes only now is absent in the lock; a spec it cannot read is a fault."""
    from axisjudge.protocol.ledger import append, digest

    def relock(lock):
        append("lock", "lock", lock_sha256=digest(lock), data_sha256=None, lock=lock)
        (bench / FILE).write_text(json.dumps(lock))

    relock({key: value for key, value in locked.items() if key != "instructions_sha256"})
    assert [str(change)[:34] for change in status().changes] == ["instructions_sha256 was absent, is"]
    old = json.loads(json.dumps(locked))
    old["judges"]["rules"]["spec"]["colour"] = "blue"
    relock(old)
    assert "colour" in status().reasons[0]


def test_a_replay_cannot_be_locked(split, plan):
    with pytest.raises(InputError, match="a replay cannot be locked; lock the judge that it was recorded from"):
        make_lock(["replay:ratings.jsonl"], plan)


@pytest.mark.parametrize(
    ("provider", "model", "stands_for"),
    [
        ("openai", "gpt-5", "gpt-5-2025-08-07"),
        ("openai", "gpt-5.2-chat-latest", None),
        ("anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("anthropic", "claude-opus-4-1", None),
        ("anthropic", "claude-3-7-sonnet-latest", None),
    ],
)
def test_known_aliases(provider, model, stands_for):
    alias = alias_of(provider, model)
    assert (alias.stands_for, alias.read_on) == (stands_for, READ_ON)
    assert alias.source


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-6"),  # dateless, and pinned by its provider
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-sonnet-5"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("anthropic", "claude-3-5-haiku-20241022"),
        ("openai", "gpt-5-2025-08-07"),
        ("openai-compatible", "gpt-5"),
        ("rules", None),
    ],
)
def test_what_is_no_alias(provider, model):
    assert alias_of(provider, model) is None


def rating(**given):
    said = {
        "trajectory_id": "run-0",
        "cluster_id": "library/0",
        "question": "termination",
        "rater": "openai:gpt-5",
        "rater_kind": "llm",
        "family": "openai",
        "verdict": "correct",
        "confidence": 0.9,
        "confidence_source": "verbalized",
    }
    return Rating.model_validate({**said, **given})


def test_an_alias_is_refused_unless_allowed_and_then_recorded_with_what_answered(split, plan):
    with pytest.raises(
        InputError, match=r"gpt-5 is an alias .* stood for gpt-5-2025-08-07; name the dated id, or allow"
    ):
        make_lock(["openai:gpt-5"], plan)
    assert not status().locked
    answered = ratings_frame([rating(returned_model="gpt-5-2025-08-07"), rating(question="sequencing")])
    with pytest.warns(RetirementWarning):
        lock = make_lock(["openai:gpt-5"], plan, allow_alias=True, ratings=answered)
    assert lock["aliases"]["openai:gpt-5"]["returned_models"] == ["gpt-5-2025-08-07"]
    assert status().holds


def test_a_judge_that_retires_is_warned_of_and_recorded(split, plan):
    with pytest.warns(RetirementWarning, match="gpt-5-2025-08-07 is shut down on 2026-12-11") as warned:
        lock = make_lock(["openai:gpt-5-2025-08-07,effort=low", "openai:gpt-5-2025-08-07", "rules"], plan)
    assert len(warned) == 1  # once a model
    told = lock["retirements"]["openai:gpt-5-2025-08-07"]
    assert (told["retires_on"], told["successor"]) == ("2026-12-11", "gpt-6.1-sol")
    assert told["source"].startswith("https://")
    assert set(lock["retirements"]) == {"openai:gpt-5-2025-08-07", "openai:gpt-5-2025-08-07,effort=low"}
    assert status().holds


def test_maps_are_fitted_on_the_open_side_alone(split):
    sides = {side: next(iter(tasks)) for side, tasks in split.tasks.items()}
    table = ratings_frame(
        rating(trajectory_id=f"{task}-{number}", cluster_id=task, confidence=confidence)
        for task, confidences in ((sides["calibration"], (0.2, 0.4)), (sides["evaluation"], (0.9, 0.95, 0.99)))
        for number, confidence in enumerate(confidences)
    )
    frozen = freeze_maps(table, split)["openai:gpt-5"]
    assert (frozen["knots"], frozen["values"], frozen["n_fitted"]) == ([0.2, 0.4], [0.25, 0.75], 2)
    with pytest.raises(InputError, match="gave no confidence on the calibration side"):
        freeze_maps(table.filter(table["cluster_id"] == sides["evaluation"]), split, raters=["openai:gpt-5"])
    other = rating(cluster_id=sides["calibration"], confidence_source="native")
    with pytest.raises(InputError, match=r"confidences of two sources share no map; found \['native', 'verbalized'\]"):
        freeze_maps(ratings_frame([rating(cluster_id=sides["calibration"], trajectory_id="b"), other]), split)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"axes": []}, "axes"),
        ({"axes": ["terminator"]}, "axes.0"),
        ({"axes": ["termination"], "statistic": "vibes"}, "statistic"),
        ({"axes": ["termination"], "margin": 0}, "margin"),
        ({"axes": ["termination"], "alpha": 0.05}, "alpha: Extra"),
    ],
    ids=str,
)
def test_what_is_no_plan(given, message):
    with pytest.raises(InputError, match=f"plan: is not an analysis plan .*{message}"):
        AnalysisPlan.of(given)


def test_a_plan_declares_one_statistic_on_its_axes():
    plan = AnalysisPlan(axes=("termination", "sequencing"), statistic="gwet_ac1")
    assert plan.family == (("gwet_ac1", "sequencing"), ("gwet_ac1", "termination"))
    assert plan.declares("gwet_ac1", "termination")
    assert not plan.declares("gwet_ac1", "tool_selection")
    assert not plan.declares("cohen_kappa")


def test_a_plan_for_more_runs_than_there_are(split):
    with pytest.raises(InputError, match=r"plan.n: the held-out side has \d+ runs; found 99"):
        make_lock(["rules"], AnalysisPlan(axes=("termination",), n=99))


def test_a_frozen_map_comes_back_as_it_was(split):
    table = ratings_frame(
        rating(trajectory_id=f"r{number}", confidence=confidence)
        for number, confidence in enumerate((0.2, 0.4, 0.4, 0.9))
    )
    plan = AnalysisPlan(axes=("termination",), maps=freeze_maps(table, split))
    frozen = AnalysisPlan.of(json.loads(plan.model_dump_json())).confidence_map("openai:gpt-5")
    assert frozen([0.4, 0.9], source="openai:gpt-5").tolist() == [0.5, 0.875]
    with pytest.raises(InputError, match="judge with a frozen map: must be one of openai:gpt-5; found 'rules'"):
        plan.confidence_map("rules")
    with pytest.raises(InputError, match=r"maps: .*rules has no map that can be used"):
        AnalysisPlan.of({"axes": ["termination"], "maps": {"rules": {"kind": "platt"}}})


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"margin": 0}, {"margin": 1}, {"ci_level": 0}, {"ci_level": 1}, {"axes": ()}]
)
def test_a_plan_of_nothing_is_none(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        AnalysisPlan(**{"axes": ("termination",)} | wrong)
