"""The next version of a rubric is begun as a draft; what is no version of its own is found before it judges."""

import re

import pytest
from typer.testing import CliRunner

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.datasets import demo_paths
from axisjudge.rubric.axes import list_rubrics, load_rubric, read_rubric
from axisjudge.rubric.lint import lint_rubrics
from axisjudge.rubric.next_version import begin_version, promote_version, with_front

AXIS = "argument_validity"


@pytest.fixture
def bench(tmp_path):
    with workbench.at(protocol.rehearsal(tmp_path / "bench")) as home:
        yield home


@pytest.fixture
def runs():
    return axisjudge.read_trajectories(*demo_paths()).trajectories[:2]


def rules(axis=AXIS):
    return {found.rule for found in lint_rubrics([axis])}


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def judged(runs, **versions):
    return axisjudge.judge(runs, ["simulated:wren"], [AXIS], versions=versions, progress=False)


def test_the_next_version_is_a_draft_with_the_text_of_the_one_named(bench):
    draft = read_rubric(begin_version(AXIS, "v2", changes="Says: what counts, and 'why'."))
    assert (draft.version, draft.status, draft.changes) == ("v5", "draft", "Says: what counts, and 'why'.")
    assert draft.text == load_rubric(AXIS, "v2").text
    assert load_rubric(AXIS).version == "v4"  # the current one stays it
    assert read_rubric(begin_version(AXIS)).text == load_rubric(AXIS, "v4").text
    assert read_rubric(begin_version("sequencing")).version == "v3"


def test_a_draft_that_nobody_edited_is_not_begun_twice(bench):
    path = begin_version(AXIS)
    with pytest.raises(InputError, match=r"v5.md: is a draft with the text of v4"):
        begin_version(AXIS)
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    assert begin_version(AXIS).stem == "v6"
    with pytest.raises(InputError, match="version of"):
        begin_version(AXIS, "v9")
    with pytest.raises(InputError, match="axis: must be one of"):
        begin_version("arguments")


def test_a_copy_is_found_by_lint_and_judges_nothing(bench, runs):
    path = begin_version(AXIS)
    assert {"same text under a new number", "change not said"} <= rules()
    path.write_text(
        path.read_text(encoding="utf-8").replace("\n\n## Verdicts", "\n\n\n\n## Verdicts "), encoding="utf-8"
    )
    assert "same text under a new number" in rules()  # spaces are no new text
    with pytest.raises(InputError, match=r"v5.md: has the text of v4"):
        judged(runs, **{AXIS: "v5"})
    with pytest.raises(InputError, match=r"v5.md: has the text of v4"):
        axisjudge.iterate(AXIS, "v5", judges=["simulated:wren", "simulated:heron"], trajectories=runs)
    assert judged(runs).height == 2  # the current version judges on
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    edit(path, path.read_text(encoding="utf-8").split("changes: ")[1].splitlines()[0], "Reads the last step first.")
    assert rules() == set()
    assert judged(runs, **{AXIS: "v5"}).height == 2


def test_two_current_versions_are_found_by_lint_and_judge_nothing(bench, runs):
    path = begin_version(AXIS)
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    edit(path, "status: draft", "status: current")
    (found,) = [each for each in lint_rubrics([AXIS]) if each.rule == "two current versions"]
    assert (found.file, found.found) == (f"rubrics/{AXIS}/v5.md", "v4 and v5")
    assert path.read_text(encoding="utf-8").splitlines()[found.line - 1] == "status: current"
    for versions in ({}, {AXIS: "v5"}, {AXIS: "v2"}):
        with pytest.raises(InputError, match=r"v4, v5|'v4', 'v5'"):
            judged(runs, **versions)
    protocol.make_split(runs, salt="s")
    with pytest.raises(InputError, match="v4, v5"):
        protocol.make_lock(["rules"], protocol.AnalysisPlan(axes=(AXIS,)), versions={AXIS: "v5"})


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        ("v6", "version: v5", "version: v5", "version is not its file's"),
        ("v5", "axis: argument_validity", "axis: sequencing", "axis is not its file's"),
        ("v5", "version: v5\n", "", "version is not its file's"),
        ("final", "version: v5", "version: v5", "not named v1.md, v2.md, ..."),
    ],
)
def test_a_file_that_says_another_name_is_found_by_lint_and_judges_nothing(bench, runs, name, old, new, rule):
    path = begin_version(AXIS)
    edit(path, old, new)
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    path.rename(path.with_stem(name))
    (found,) = [each for each in lint_rubrics([AXIS]) if re.search("named|file's", each.rule)]
    assert found.rule == rule
    with pytest.raises(InputError, match=f"rubrics/{AXIS}/{name}.md"):
        judged(runs)


def test_the_shipped_versions_are_versions_of_their_own():
    assert not {found.rule for found in lint_rubrics(superseded=True)} & {"two current versions", "change not said"}
    assert [each.version for each in list_rubrics(AXIS)] == ["v1", "v2", "v3", "v4"]


def test_a_draft_becomes_the_current_one_and_no_text_changes(bench):
    before = load_rubric(AXIS)
    path = begin_version(AXIS, changes="Says what counts.")
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    text = read_rubric(path).text
    assert promote_version(AXIS, "v5") == (path, before.version)
    assert (load_rubric(AXIS).version, load_rubric(AXIS).text) == ("v5", text)
    assert load_rubric(AXIS, before.version).status == "superseded"
    assert load_rubric(AXIS, before.version).sha256 == before.sha256
    with pytest.raises(InputError, match="must be a draft"):
        promote_version(AXIS, "v5")


def test_a_draft_is_not_promoted_before_it_is_edited_and_says_what_changed(bench):
    path = begin_version(AXIS)
    with pytest.raises(InputError, match="must say what changed"):
        promote_version(AXIS, "v5")
    edit(path, "TO SAY in one sentence", "Nothing yet.")
    with pytest.raises(InputError, match="has the text of v4 under a new number"):
        promote_version(AXIS, "v5")


def test_no_lock_goes_past_a_newer_draft(bench, runs):
    """The opening that follows a lock cannot be taken back: v4 would be opened while v5 is being written."""
    protocol.make_split(axisjudge.read_trajectories(*demo_paths()).trajectories, salt="s")
    edit(begin_version(AXIS, changes="Says what counts."), "## Question", "## Question\n\nRead the last step first.")
    plan = protocol.AnalysisPlan(axes=(AXIS,))
    with pytest.raises(InputError, match=f"axisjudge rubric promote {AXIS} v5"):
        protocol.make_lock(["rules"], plan)
    assert protocol.make_lock(["rules"], protocol.AnalysisPlan(axes=("sequencing",)))  # another axis is no concern
    assert protocol.make_lock(["rules"], plan, versions={AXIS: "v4"})["rubrics"][AXIS]["version"] == "v4"  # on purpose
    promote_version(AXIS, "v5")
    assert protocol.make_lock(["rules"], plan)["rubrics"][AXIS]["version"] == "v5"


def test_a_candidate_that_a_person_takes_says_for_good_that_it_was_not_shown_better(bench):
    before, folder = load_rubric(AXIS), bench / "rubrics" / AXIS / "drafts"
    folder.mkdir()
    texts = {key: before.text.replace("## Question", f"## Question\n\nRead {key} first.") for key in "abc"}
    for key, parent, status in (("a", before.version, "judged"), ("b", "a", "judged"), ("c", "b", "refused")):
        front = {"parent": parent, "status": status, "reason": f"as {key} says ---", "refused": "it is long"}
        (folder / f"{key}.md").write_text(with_front(front, texts[key]), encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.md: was refused; found 'it is long'"):
        promote_version(AXIS, "c")
    with pytest.raises(InputError, match="must be one of"):
        promote_version(AXIS, "d")
    said = CliRunner().invoke(app, ["rubric", "promote", AXIS, "b"]).output
    taken = load_rubric(AXIS)
    assert (taken.version, taken.text, taken.chosen_draft) == ("v5", texts["b"], "b")
    assert taken.changes == "as a says ---; as b says ---"
    with pytest.raises(InputError, match="has the text of v5"):
        promote_version(AXIS, "b")
    line = f"{AXIS} v5, draft b: chosen by a person; the search did not show it better."
    protocol.make_split(axisjudge.read_trajectories(*demo_paths()).trajectories, salt="s")
    lock = CliRunner().invoke(app, ["rubric", "lock", "--judge", "rules", "--axis", AXIS]).output
    assert [line in each for each in (said, CliRunner().invoke(app, ["rubric", "log", AXIS]).output, lock)] == [
        True
    ] * 3
    assert protocol.status().holds
    edit(bench / "rubrics" / AXIS / "v5.md", "chosen_draft: b\n", "")
    assert [each.path for each in protocol.status().changes] == [f"rubrics.{AXIS}.chosen_draft"]


@pytest.mark.parametrize("status", ['"draft"', "draft  # not yet"])
def test_a_status_is_changed_however_it_is_written(bench, status):
    path = begin_version(AXIS, changes="Says what counts.")
    edit(path, "## Question", "## Question\n\nRead the last step first.")
    edit(path, "status: draft", f"status: {status}")
    promote_version(AXIS, "v5")
    assert [each.version for each in list_rubrics(AXIS) if each.status == "current"] == ["v5"]
    edit(path, "status: current", "status: superseded")
    assert "no current version" in {found.rule for found in lint_rubrics([AXIS], superseded=True)}
