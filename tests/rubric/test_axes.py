"""The shipped rubrics obey the rules, the rules refuse what breaks them, and the five agree on who owns a fault."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.rubric.axes import MIN_EXAMPLES, SECTIONS, TOKEN_CEILING, Rubric, list_rubrics, load_rubric, read_rubric
from axisjudge.verdict import AXES, VERDICTS

ROOT = Path(__file__).resolve().parents[2]
RUBRICS = [rubric for axis in AXES for rubric in list_rubrics(axis)]
CURRENT = [load_rubric(axis) for axis in AXES]

each_rubric = pytest.mark.parametrize("rubric", RUBRICS, ids=lambda rubric: f"{rubric.axis}-{rubric.version}")
each_current = pytest.mark.parametrize("rubric", CURRENT, ids=lambda rubric: rubric.axis)


# The shipped rubrics


def test_every_axis_has_one_current_rubric_and_it_is_the_newest() -> None:
    for axis in AXES:
        versions = list_rubrics(axis)
        assert [rubric.version for rubric in versions] == [f"v{k}" for k in range(1, len(versions) + 1)]
        assert [rubric.status for rubric in versions] == ["superseded"] * (len(versions) - 1) + ["current"]
        assert load_rubric(axis) == versions[-1]


def test_a_version_can_be_named() -> None:
    assert load_rubric("argument_validity", "v1").status == "superseded"
    assert load_rubric("argument_validity").version == "v4"


@each_current
def test_each_line_of_not_in_scope_sends_a_question_to_a_peer(rubric: Rubric) -> None:
    owners = set()
    for line in filter(None, rubric.sections["Not in scope"].splitlines()):
        assert line.startswith("- ")
        named = set(re.findall(r"`(\w+)`", line)) & set(AXES)
        assert named
        assert named <= set(AXES) - {rubric.axis}, "an axis does not send a question to itself"
        owners |= named
    assert owners == set(AXES) - {rubric.axis}, "every peer owns something next door"


@each_current
def test_examples_show_all_verdicts_and_near_misses_in_both_directions(rubric: Rubric) -> None:
    verdicts = [match[1] for example in rubric.examples if (match := re.search(r"Verdict: `(\w+)`$", example))]
    assert len(verdicts) == len(rubric.examples) >= MIN_EXAMPLES
    assert {"correct", "incorrect", "uncertain"} <= set(verdicts)
    headed = zip(rubric.examples, verdicts, strict=True)
    assert {verdict for example, verdict in headed if "near-miss" in example.lower()} == {"correct", "incorrect"}


@each_current
def test_every_example_cites_only_steps_that_it_tells_of(rubric: Rubric) -> None:
    for example in rubric.examples:
        story, _, cited = example.partition(" Cite ")
        told = set(re.findall(r"\d+", " ".join(re.findall(r"[Ss]teps? \d+(?:(?:, | and )\d+)*", story))))
        named = set(re.findall(r"\d+", cited))
        assert named
        assert named <= told, example


@each_current
def test_the_closing_directive_is_about_the_pattern_and_not_the_outcome(rubric: Rubric) -> None:
    closing = rubric.sections["Closing directive"]
    assert "worked examples" in closing
    assert "whatever the outcome" in closing


@each_rubric
def test_the_users_own_calls_are_never_the_agents(rubric: Rubric) -> None:
    assert "calls marked as the user's are not the agent's" in rubric.text.lower()


@each_rubric
def test_every_rubric_defines_all_four_verdicts_and_keeps_the_ceiling(rubric: Rubric) -> None:
    assert all(f"- `{word}`: " in rubric.sections["Verdicts"] for word in VERDICTS)
    assert "no steps" in rubric.sections["Verdicts"], "an empty run is provided for"
    assert rubric.tokens <= TOKEN_CEILING


def test_no_two_rubrics_have_the_same_text() -> None:
    assert len({rubric.sha256 for rubric in RUBRICS}) == len(RUBRICS)


# The story of argument_validity


def test_v1_asks_for_the_outcome_and_has_no_scope() -> None:
    v1 = load_rubric("argument_validity", "v1")
    assert "bring about what the user wanted" in v1.text
    assert "Not in scope" not in v1.sections
    assert not v1.examples


def test_v2_has_scope_without_examples_and_drops_the_phrase() -> None:
    v2 = load_rubric("argument_validity", "v2")
    assert "bring about what the user wanted" not in v2.text
    assert "Given the tools that the agent chose" in v2.sections["Question"]
    assert set(re.findall(r"`(\w+)`", v2.sections["Not in scope"])) == set(AXES) - {"argument_validity"}
    assert not v2.examples
    assert "Closing directive" not in v2.sections


def test_v3_has_both() -> None:
    v3 = load_rubric("argument_validity", "v3")
    assert tuple(v3.sections) == SECTIONS
    assert len(v3.examples) >= MIN_EXAMPLES
    assert v3.sections["Question"] == load_rubric("argument_validity", "v2").sections["Question"]


# Who owns a fault: the table of rubrics/README.md


def fault_table() -> list[tuple[str, set[str]]]:
    return table_of_faults("fault", AXES)


def table_of_faults(heading: str, owners: Sequence[str]) -> list[tuple[str, set[str]]]:
    text = (ROOT / "rubrics" / "README.md").read_text(encoding="utf-8")
    lines = text[text.index(f"| # | {heading} | {owners[0]}") :].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    assert rows[0] == ["#", heading, *owners]
    assert all(set(row[2:]) <= {"x", ""} and len(row) == 2 + len(owners) for row in rows[1:])
    assert [int(row[0]) for row in rows[1:]] == list(range(1, len(rows)))
    return [(row[1], {owner for owner, cell in zip(owners, row[2:], strict=True) if cell}) for row in rows[1:]]


def test_the_signals_fault_table_covers_every_signal_and_what_is_no_fault() -> None:
    owners = ("success", "weight", "context_relevance", "necessity", "speed", "check")
    faults = table_of_faults("of a run", owners)
    assert len({fault for fault, _ in faults}) == len(faults)
    for owner in owners:
        assert any(shown == {owner} for _, shown in faults), owner
    assert sum(not shown for _, shown in faults) >= 5


def test_the_fault_table_covers_each_axis_alone_and_in_company() -> None:
    faults = fault_table()
    assert len({fault for fault, _ in faults}) == len(faults) >= 30
    for axis in AXES:
        assert sum(owners == {axis} for _, owners in faults) >= 5, f"{axis} owns faults of its own"
        assert any(axis in owners and len(owners) > 1 for _, owners in faults), f"{axis} overlaps with a peer"
    assert sum(not owners for _, owners in faults) >= 5, "near-misses are in the table"


#: Rows that hold two faults, one for each axis, so that neither rubric has to speak of the other.
TWO_FAULTS_IN_ONE = {
    "calls a tool that does another job, with an invented identifier",
    "makes a change that nobody asked for after the user was done",
    "makes the same failing call, its arguments sound, until the step limit cuts the run",
}


def test_one_fault_on_two_axes_is_announced_in_their_rubrics() -> None:
    """Else a judge would follow Not in scope and leave the fault to the peer."""
    announced = re.compile(r"here as well|scored here|here only if")
    shared = {fault: owners for fault, owners in fault_table() if len(owners) > 1}
    assert set(shared) >= TWO_FAULTS_IN_ONE
    for fault in set(shared) - TWO_FAULTS_IN_ONE:
        assert any(
            announced.search(line) and any(f"`{peer}`" in line for peer in shared[fault] - {axis})
            for axis in shared[fault]
            for line in load_rubric(axis).sections["Not in scope"].splitlines()
        ), fault


# The rules


GOOD = """---
axis: sequencing
version: v1
date: 2026-11-21
status: current
changes: First version.
---
## Question

In order?

## In scope

- Order.

## Not in scope

- Tools: `tool_selection`.

## Verdicts

- `correct`, `incorrect`, `uncertain`, `not_applicable`.

## Worked examples

### 1
Verdict: `correct`

### 2, a near-miss
Verdict: `correct`

### 3
Verdict: `incorrect`

## Citing steps

From 0.

## Closing directive

By pattern.
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a rubric into a workbench of its own."""
    for folder in ("rubrics", "notebooks", "data"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(workbench, "_chosen", tmp_path)

    def write_rubric(text: str, place: str = "sequencing/v1.md") -> Path:
        path = tmp_path / "rubrics" / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_rubric


def test_a_small_rubric_that_keeps_the_rules_is_read(write: Write) -> None:
    rubric = read_rubric(write(GOOD))
    assert load_rubric("sequencing") == rubric
    assert tuple(rubric.sections) == SECTIONS
    assert rubric.examples[1].startswith("2, a near-miss")
    assert rubric.text.startswith("## Question")
    assert rubric.tokens == -(-len(rubric.text) // 4)


def test_the_hash_is_of_the_prose_alone(write: Write) -> None:
    """Making a rubric superseded must not look like another rubric in the ratings it has given."""
    before = read_rubric(write(GOOD)).sha256
    assert read_rubric(write(GOOD.replace("status: current", "status: superseded"))).sha256 == before
    assert read_rubric(write(GOOD.replace("In order?", "In order!"))).sha256 != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("---\naxis", "axis", "sequencing/v1.md: must begin with front matter between two lines of ---"),
        ("axis: sequencing", "axis: manners", "front matter is not valid: axis: Input should be 'tool_selection'"),
        ("date: 2026-11-21", "date: soon", "front matter is not valid: date: "),
        ("date: 2026-11-21", "date: 2026-11-20\ndate: 2026-11-21", "key 'date' is given twice"),
        ("status: current", "status: final", "front matter is not valid: status: Input should be 'draft'"),
        ("changes: First version.", "", "front matter is not valid: changes: Field required"),
        ("status: current", "status: current\nauthor: x", "front matter is not valid: author: Extra inputs"),
        ("status: current", "status: [", "front matter is not valid: while parsing"),
        ("version: v1", "version: v2", "axis and version must match the file's place; found 'sequencing v2'"),
        ("axis: sequencing", "axis: termination", "must match the file's place; found 'termination v1'"),
        ("## Citing steps\n\nFrom 0.\n", "", "sections must be Question, In scope, Not in scope, Verdicts"),
        ("## In scope", "## Scope", "in this order; found ['Question', 'Scope', 'Not in scope'"),
        ("By pattern.", "By pattern.\n\n## Question\n", "sections must be Question"),
        ("In order?", "In order? " * 800, "must not be longer than 2000 tokens (4 characters each); found 2"),
        ("### 3\nVerdict: `incorrect`\n", "", "needs at least 3 worked examples (### headings); found 2"),
        ("2, a near-miss", "2", "one worked example must be marked as a near-miss"),
        ("### 3\nVerdict: `incorrect`", "### 3\nBad.", "each worked example must end with its verdict; found '3'"),
        ("Tools: `tool_selection`.", "Tools.", "must name the peer axis that owns the question; found '- Tools.'"),
        ("`tool_selection`", "`sequencing`", "must name the peer axis that owns the question"),
        ("`uncertain`, ", "", "all four verdicts must be defined; define uncertain"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_the_rule(write: Write, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_rubric(write(GOOD.replace(old, new, 1)))
    assert caught.value.where == "rubrics/sequencing/v1.md"
    assert "\n" not in str(caught.value)
    assert "http" not in str(caught.value)


@pytest.mark.parametrize("status", ["draft", "superseded"])
def test_drafts_and_superseded_versions_need_only_front_matter(write: Write, status: str) -> None:
    head = GOOD.partition("## Question")[0].replace("status: current", f"status: {status}")
    assert read_rubric(write(head + "Is the order right?\n")).status == status


def test_front_matter_that_is_a_list_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match="front matter is not valid"):
        read_rubric(write("---\n- axis\n---\nProse.\n"))


def test_bytes_that_are_not_utf8_are_refused(write: Write) -> None:
    path = write(GOOD)
    path.write_bytes(path.read_bytes() + b"\xff")
    with pytest.raises(InputError, match=r"rubrics/sequencing/v1\.md: must be UTF-8 text"):
        read_rubric(path)


def test_line_ends_do_not_change_the_hash(write: Write) -> None:
    path = write(GOOD)
    before = read_rubric(path).sha256
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert read_rubric(path).sha256 == before


def test_two_current_versions_are_refused(write: Write) -> None:
    write(GOOD)
    write(GOOD.replace("version: v1", "version: v2"), "sequencing/v2.md")
    with pytest.raises(InputError, match=r"exactly one version must have status current; found \['v1', 'v2'\]"):
        load_rubric("sequencing")
    assert load_rubric("sequencing", "v2").version == "v2"


def test_no_current_version_is_refused(write: Write) -> None:
    write(GOOD.replace("status: current", "status: draft"))
    with pytest.raises(InputError, match=r"rubrics/sequencing: exactly one version must have status current"):
        load_rubric("sequencing")


def test_an_unknown_axis_or_version_is_told_what_there_is(write: Write) -> None:
    write(GOOD)
    with pytest.raises(InputError, match=r"axis: must be one of .* did you mean 'sequencing'"):
        load_rubric("sequencin")
    with pytest.raises(InputError, match="version of sequencing: must be one of v1; found 'v9'"):
        load_rubric("sequencing", "v9")


def test_versions_are_sorted_by_number_not_by_letter(write: Write) -> None:
    for k in (1, 2, 10):
        status = "current" if k == 10 else "superseded"
        text = GOOD.replace("version: v1", f"version: v{k}").replace("status: current", f"status: {status}")
        write(text, f"sequencing/v{k}.md")
    assert [rubric.version for rubric in list_rubrics("sequencing")] == ["v1", "v2", "v10"]


@pytest.mark.parametrize("name", ["v2-old.md", "notes.md", "v0.md", "v02.md"])
def test_a_file_with_another_name_is_not_passed_over(write: Write, name: str) -> None:
    write(GOOD)
    write(GOOD, f"sequencing/{name}")
    with pytest.raises(InputError, match=re.escape(f"rubrics/sequencing/{name}: rubric files are named v1.md, v2.md")):
        list_rubrics("sequencing")
