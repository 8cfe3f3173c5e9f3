"""The rubric lint: each rule is tripped once and nearly missed once, and the shipped rubrics pass."""

import json
import subprocess

import pytest
from cli.conftest import axisjudge

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.protocol.lock import locked_rubrics
from axisjudge.rubric import lint as linter
from axisjudge.rubric.axes import TOKEN_CEILING, load_rubric
from axisjudge.rubric.lint import lint_rubrics
from axisjudge.verdict import AXES

AXIS = "sequencing"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A workbench with one current rubric of sequencing, a copy of the shipped one, committed to a git of its own."""
    rubric = load_rubric(AXIS).version
    shipped = (workbench.home() / "rubrics" / AXIS / f"{rubric}.md").read_text(encoding="utf-8")
    shipped = shipped.replace(f"version: {rubric}", "version: v1", 1)
    for folder in ("notebooks", "data", f"rubrics/{AXIS}"):
        (tmp_path / folder).mkdir(parents=True)
    path = tmp_path / "rubrics" / AXIS / "v1.md"
    path.write_text(shipped, encoding="utf-8")
    monkeypatch.setattr(workbench, "_chosen", tmp_path)
    return path


def commit(bench):
    folder = bench.parents[2]
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for words in (["init", "-q"], ["add", "rubrics"], [*who, "commit", "-q", "-m", "rubric"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def edit(bench, old, new):
    text = bench.read_text(encoding="utf-8")
    assert old in text
    bench.write_text(text.replace(old, new, 1), encoding="utf-8")


def rules(bench):
    return [found.rule for found in lint_rubrics([AXIS])]


def only(bench):
    (found,) = lint_rubrics([AXIS])
    return found


@pytest.mark.parametrize("kept", ["correct", "incorrect"])
def test_near_misses_in_one_direction_alone_are_refused(bench, kept):
    text = bench.read_text(encoding="utf-8")
    head, *examples = text.split("### ")
    plain = [each if f"Verdict: `{kept}`" in each else each.replace("Near-miss: ", "") for each in examples]
    bench.write_text("### ".join([head, *plain]), encoding="utf-8")
    found = only(bench)
    assert found.rule == "near-misses in one direction only"
    assert "Near-miss" in found.found
    assert ("looks wrong" in found.cure) == (kept == "incorrect")


# The shipped rubrics


def test_the_current_rubrics_pass():
    assert lint_rubrics() == []


def test_superseded_versions_show_why_they_went():
    found = [(f.file, f.rule) for f in lint_rubrics(["argument_validity"], superseded=True)]
    assert ("rubrics/argument_validity/v1.md", "claims what tool_selection owns") in found
    assert ("rubrics/argument_validity/v1.md", "missing section") in found
    assert {rule for file, rule in found if file.endswith("v2.md")} == {"missing section"}


def test_an_unknown_axis_is_refused():
    with pytest.raises(InputError, match="must be one of"):
        lint_rubrics(["sequence"])


@pytest.mark.parametrize("axis", AXES)
def test_each_axis_claims_itself_in_its_own_words(axis):
    """A vocabulary that its own axis never uses would find nothing in a peer's rubric either."""
    rubric = load_rubric(axis)
    claimed = rubric.sections["Question"] + rubric.sections["In scope"]
    assert list(linter._matches(linter.OWNED[axis], claimed))


# One rule at a time: tripped, then nearly missed


def test_a_missing_section(bench):
    edit(bench, "## Citing steps", "## Citations")
    assert (only(bench).rule, only(bench).found) == ("missing section", "Citing steps")


def test_an_extra_section_is_no_missing_one(bench):
    edit(bench, "## Citing steps", "## Notes\n\nNothing yet.\n\n## Citing steps")
    assert lint_rubrics([AXIS]) == []


def test_sections_out_of_order(bench):
    edit(bench, "## Closing directive", "## Closing")
    edit(bench, "## Verdicts", "## Closing directive\n\nJudge.\n\n## Verdicts")
    found = only(bench)
    assert (found.rule, found.found) == ("section out of order", "Verdicts")


def test_a_question_without_an_owner_and_its_line(bench):
    edit(bench, "the same failing call made again: `tool_selection`.", "the same failing call made again.")
    found = only(bench)
    assert found.rule == "question without an owner"
    assert bench.read_text(encoding="utf-8").splitlines()[found.line - 1] == found.found


def test_a_question_owned_by_the_axis_itself_has_no_owner(bench):
    edit(bench, "the same failing call made again: `tool_selection`.", f"the same failing call made again: `{AXIS}`.")
    assert rules(bench) == ["question without an owner"]


@pytest.mark.parametrize(
    ("line", "owner"),
    [
        ("calls the wrong tool for the job;", "tool_selection"),
        ("sends an argument that no step holds;", "argument_validity"),
        ("misreads a result;", "result_interpretation"),
        ("stops too early;", "termination"),
    ],
)
def test_an_axis_that_claims_what_its_peer_owns(bench, line, owner):
    edit(bench, "- makes the same change again", f"- {line}\n- makes the same change again")
    assert rules(bench) == [f"claims what {owner} owns"]


@pytest.mark.parametrize(
    "line",
    [
        "calls a tool for a change before it looked;",
        "sends a value before any step held it (the value itself is for `argument_validity`, argument by argument);",
        "reads a result too late for the change that hung on it;",
        "makes a change too early;",  # its own words
    ],
)
def test_what_only_sounds_like_a_peer(bench, line):
    edit(bench, "- makes the same change again", f"- {line}\n- makes the same change again")
    assert lint_rubrics([AXIS]) == []


def test_scope_without_a_list_is_read_as_a_whole(bench):
    text = bench.read_text(encoding="utf-8")
    head, _, rest = text.partition("## In scope")
    tail = rest[rest.index("## Not in scope") :]
    bench.write_text(f"{head}## In scope\n\nWhether it was the right tool.\n\n{tail}", encoding="utf-8")
    assert rules(bench) == ["claims what tool_selection owns"]


@pytest.mark.parametrize(
    "line",
    ["- `correct`: the run was a success.", "Look whether the user was satisfied.", "Consider the final result first."],
)
def test_words_that_invite_judging_the_outcome(bench, line):
    edit(bench, "## Worked examples", f"{line}\n\n## Worked examples")
    assert rules(bench) == ["invites judging the outcome"]


@pytest.mark.parametrize(
    "line",
    [
        "A successful run may be incorrect here, whatever the reward.",
        "Look at the result of every call.",
        "A user who complains is not for this axis, satisfied or not for now.",
    ],
)
def test_words_that_only_sound_like_the_outcome(bench, line):
    edit(bench, "## Worked examples", f"{line}\n\n## Worked examples")
    assert lint_rubrics([AXIS]) == []


def test_the_scope_sections_may_name_the_outcome(bench):
    edit(bench, "- How the run ends:", "- Whether the run was a success, and how it ends:")
    assert lint_rubrics([AXIS]) == []


def test_an_example_without_a_verdict(bench):
    edit(bench, "Cite 6, 7 and 8.\n\nVerdict: `incorrect`", "Cite 6, 7 and 8.\n\nVerdict: incorrect")
    found = only(bench)
    assert (found.rule, found.found) == ("example without a verdict", "### 4. The same change twice")


def test_a_verdict_with_space_around_it_is_one(bench):
    edit(bench, "Cite 6, 7 and 8.\n\nVerdict: `incorrect`", "Cite 6, 7 and 8.\n\n\nVerdict: `incorrect`  ")
    assert lint_rubrics([AXIS]) == []


def filled(bench, tokens):
    """Fill the closing directive up to an exact number of tokens."""
    text = bench.read_text(encoding="utf-8").rstrip()
    shown = len(text.split("\n---\n", 1)[1].strip()) + 1
    bench.write_text(text + " " + "x" * (4 * tokens - shown - 1) + "\n", encoding="utf-8")


def test_one_token_too_many(bench):
    filled(bench, TOKEN_CEILING + 1)
    assert (only(bench).rule, only(bench).found) == ("too long", f"{TOKEN_CEILING + 1} tokens of 4 characters")


def test_just_short_enough(bench):
    filled(bench, TOKEN_CEILING)
    assert lint_rubrics([AXIS]) == []


def test_a_change_without_a_new_version_and_its_line(bench):
    commit(bench)
    assert lint_rubrics([AXIS]) == []
    edit(bench, "Take tools, values", "Take all tools, values")
    found = only(bench)
    assert found.rule == "changed without a new version"
    assert "Take all tools" in bench.read_text(encoding="utf-8").splitlines()[found.line - 1]


def test_a_draft_may_change(bench):
    edit(bench, "status: current", "status: draft")
    commit(bench)
    edit(bench, "Take tools, values", "Take all tools, values")
    assert [finding.rule for finding in lint_rubrics([AXIS])] == ["no current version"]  # nothing of its text


def test_another_date_or_status_is_no_change_of_text(bench):
    commit(bench)
    edit(bench, "status: current", "status: superseded")
    assert [finding.rule for finding in lint_rubrics([AXIS], superseded=True)] == ["no current version"]


def test_without_git_nothing_can_be_compared(bench):
    edit(bench, "Take tools, values", "Take all tools, values")
    assert lint_rubrics([AXIS]) == []


def test_a_text_that_is_not_the_locked_one(bench, monkeypatch):
    entry = {"version": "v1", "sha256": load_rubric(AXIS).sha256}
    lock = bench.parents[1] / "lock.json"
    lock.write_text(json.dumps({"rubrics": {AXIS: entry}}), encoding="utf-8")
    assert lint_rubrics([AXIS], locked=locked_rubrics()) == []
    edit(bench, "Take tools, values", "Take all tools, values")
    (found,) = lint_rubrics([AXIS], locked=locked_rubrics())
    assert (found.rule, "locked" in found.found) == ("changed without a new version", True)
    lock.write_text(json.dumps({"rubrics": {AXIS: entry | {"version": "v2"}}}), encoding="utf-8")
    assert lint_rubrics([AXIS], locked=locked_rubrics()) == []


def test_a_file_without_front_matter_is_one_line(bench):
    bench.write_text("# sequencing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"sequencing/v1\.md: must begin with front matter"):
        lint_rubrics([AXIS])


def test_the_command_exits_1_on_findings_and_0_without():
    def lint(*arguments):
        return axisjudge("rubric", "lint", *arguments)

    clean, found = lint("sequencing"), lint("argument_validity", "--superseded")
    assert (clean.returncode, clean.stdout.strip()) == (0, "Findings: none")
    assert found.returncode == 1
    assert "rubrics/argument_validity/v1.md:17" in found.stdout
    assert lint("sequence").returncode == 2
