"""`axisjudge.iterate` as a user meets it: in a notebook, on a rehearsal of the workbench, with simulated judges."""

from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.explorer import decisions_path
from axisjudge.explorer.log import LabelLog
from axisjudge.iterating.iteration import _decisions, _only_rater
from axisjudge.labels.decisions import decision, decision_base
from axisjudge.ratings import read_ratings
from axisjudge.report.tables import SORT, sorting

AXIS = "argument_validity"
JUDGES = ["simulated:jackdaw", "simulated:dunnock"]


@pytest.fixture(scope="module")
def demo():
    return axisjudge.read_trajectories(*demo_paths()).trajectories


@pytest.fixture
def bench(tmp_path, demo):
    """A workbench of its own with a split of the demo, no ratings, and v3 of the axis as its newest version."""
    with workbench.at(protocol.rehearsal(tmp_path)) as place:
        folder = Path(place) / "rubrics" / AXIS
        (folder / "v4.md").unlink()
        third = (folder / "v3.md").read_text(encoding="utf-8")
        (folder / "v3.md").write_text(third.replace("status: superseded", "status: current"), encoding="utf-8")
        protocol.make_split(demo, salt="demo")
        yield Path(place)


def write_draft(bench: Path, version: str, changes: str = "A draft.") -> Path:
    """The current rubric again under another name, as somebody begins the next version."""
    text = (bench / "rubrics" / AXIS / "v3.md").read_text(encoding="utf-8")
    text = text.replace("version: v3", f"version: {version}").replace("status: current", "status: draft")
    path = bench / "rubrics" / AXIS / f"{version}.md"
    path.write_text(text + f"\n<!-- {changes} -->\n", encoding="utf-8")
    return path


def page_of(outputs):
    """What one cell shows around the explorer: the verdict before it, charts and tables under folds after it."""
    shown = [out.data for out in outputs if "text/html" in out.get("data", {})]
    return {kind: "".join(data[kind] for data in shown) for kind in ("text/html", "text/plain")}


@pytest.mark.slow
def test_in_a_notebook_one_cell_judges_what_is_new_and_shows_the_comparison(bench, monkeypatch):
    monkeypatch.setenv("AXISJUDGE_HOME", str(bench))
    monkeypatch.delenv("AXISJUDGE_REPORT_DIR", raising=False)
    write_draft(bench, "v4")
    cells = [
        "import axisjudge",
        f"axisjudge.iterate('{AXIS}', 'v3', judges={JUDGES}, repeats=2)",
        f"draft = axisjudge.iterate('{AXIS}', 'v4')\nprint(draft)",
        "print(*(each.outcome for each in draft.result.turns), sep=';')",
        f"again = axisjudge.iterate('{AXIS}', 'v4')",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(bench)}}).execute()
    _, first, second, told, third = (cell.outputs for cell in book.cells)
    lines = [
        "".join(out.text for out in outs if out.output_type == "stream" and out.name == "stdout")
        for outs in (first, second, third, told)
    ]
    assert lines[0].startswith(f"{AXIS} v3 against v2, 2x each. To come: 480 calls")
    assert "To come: 240 calls" in lines[1]
    assert "240 ratings are there already" in lines[1]
    assert "Nothing to ask: all 480 ratings are there." in lines[2]
    shown = page_of(first)
    page = shown["text/html"]
    assert "Progress: under" in page
    assert page.count("data:image/png;base64,") == 5  # trail, transitions, contested, flips, beliefs
    assert any("application/vnd.jupyter.widget-view+json" in out.get("data", {}) for out in first)
    assert "SIMULATED OR PLANTED" in page
    assert page.count("axisjudge-table sortable") == page.count(SORT) > 0
    assert page.count(sorting().markup) == 1
    assert "<script" not in page.replace(sorting().markup, "").replace(SORT, ""), "none but ours"
    assert "takes a planted fault of" in page
    assert "to be read next" in page
    assert "v2 to v3" in shown["text/plain"]
    assert "Progress" in shown["text/plain"]
    outcomes = lines[3].strip().split(";")  # the trail: v2 to v3 stands before v3 to v4
    assert outcomes[-2] == "progress"
    assert outcomes[-1] != "progress"
    ratings = read_ratings(bench / "data" / "ratings" / "ratings.jsonl")
    assert set(ratings["split"]) == {"calibration"}
    assert ratings.height == 3 * 240


def test_a_dry_run_says_calls_tokens_and_price_and_asks_nothing(bench, capsys):
    found = axisjudge.iterate(AXIS, "v3", judges=["openai:gpt-4.1", "rules"], dry_run=True)
    said = repr(found)
    assert found.result is None
    assert found.plan.n_calls == 180
    assert "120 calls to models, about $" in said
    assert found._repr_html_().count("<p") == len(found.notes)
    assert not (bench / "data" / "ratings" / "ratings.jsonl").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"judges": JUDGES[:1]}, "judges: must be two or more"),
        ({"judges": JUDGES, "repeats": 0}, "repeats: must be greater than 0"),
        ({"judges": JUDGES, "repeats": 1.5}, "repeats: must be a whole number"),
        ({"judges": JUDGES, "against": "v2"}, "against: must be another version"),
    ],
)
def test_what_can_compare_nothing_is_refused_before_anybody_is_asked(bench, how, message):
    with pytest.raises(InputError, match=message):
        axisjudge.iterate(AXIS, "v2", **how)
    assert not (bench / "data" / "ratings" / "ratings.jsonl").exists()


def test_held_out_trajectories_are_refused(bench, demo):
    split = protocol.read_split()
    held = [run for run in demo if split.side_of(run) == "evaluation"]
    for given in (list(demo), held):
        with pytest.raises(InputError, match=r"held out .* nothing is tuned on them"):
            axisjudge.iterate(AXIS, "v2", judges=JUDGES, trajectories=given)
    assert not (bench / "data" / "ratings" / "ratings.jsonl").exists()


def test_files_that_hold_nothing_but_held_out_tasks_are_refused(bench, tmp_path, demo):
    split = protocol.read_split()
    held = [run for run in demo if split.side_of(run) == "evaluation"][:2]
    path = tmp_path / "held.jsonl"
    path.write_text("".join(run.model_dump_json() + "\n" for run in held), encoding="utf-8")
    with pytest.raises(InputError, match="all 2 are held out"):
        axisjudge.iterate(AXIS, "v2", judges=JUDGES, trajectories=path)


def test_a_version_that_was_edited_after_it_judged_is_refused_before_anything_is_asked(bench):
    draft = write_draft(bench, "v4")
    axisjudge.iterate(AXIS, "v4", judges=JUDGES, progress=False)
    before = (bench / "data" / "ratings" / "ratings.jsonl").read_bytes()
    draft.write_text(draft.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v4.md: was edited after it had judged .* save the new text as v5.md"):
        axisjudge.iterate(AXIS, "v4")
    assert (bench / "data" / "ratings" / "ratings.jsonl").read_bytes() == before


def test_what_is_missing_is_said_with_its_cure(bench):
    with pytest.raises(InputError, match="is the first version"):
        axisjudge.iterate(AXIS, "v1", judges=JUDGES)
    with pytest.raises(InputError, match="name some, or a panel"):
        axisjudge.iterate(AXIS, "v2")
    with pytest.raises(InputError, match=f"version of {AXIS}"):
        axisjudge.iterate(AXIS, "v9", judges=JUDGES)


def test_without_a_split_it_says_that_nothing_is_held_out(tmp_path):
    with workbench.at(protocol.rehearsal(tmp_path)):
        found = axisjudge.iterate(AXIS, "v2", judges=JUDGES, dry_run=True)
    assert "There is no split" in repr(found)


def test_the_split_is_made_first_where_that_is_wanted(tmp_path, capsys):
    with workbench.at(protocol.rehearsal(tmp_path)):
        found = axisjudge.iterate(AXIS, "v2", judges=JUDGES, split=True, progress=False)
        split = protocol.read_split()
        assert set(found.ratings["split"]) == {"calibration"}
        assert "Split made: 14 tasks for calibration and 14 tasks for evaluation" in capsys.readouterr().out
        assert not {run.cluster_id for run in found.runs} & set(split.held_out_tasks)
        assert len(protocol.read_sources(split.sources).trajectories) == 112


@pytest.mark.slow
@pytest.mark.parametrize(("said", "made"), [("y", True), ("", False), (EOFError, False), (NotImplementedError, False)])
def test_the_split_is_offered_where_somebody_can_be_asked(tmp_path, monkeypatch, said, made):
    def answer(_):
        if isinstance(said, str):
            return said
        raise said

    monkeypatch.setattr("axisjudge.judging.estimate.in_notebook", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    with workbench.at(protocol.rehearsal(tmp_path)) as home:
        with pytest.raises(InputError, match="name some, or a panel"):
            axisjudge.iterate(AXIS, "v2")  # nothing is judged: there are no judges to take over
        assert (home / "rubrics" / "split.json").exists() is made


def test_the_matrix_of_a_judge_counts_every_run_and_its_flips(bench):
    turn = axisjudge.iterate(AXIS, "v3", judges=JUDGES, progress=False).turn
    for place, shift in enumerate(turn.shifts):
        total = sum(map(sum, shift.matrix))
        stayed = sum(shift.matrix[at][at] for at in range(4))
        assert (total, total - stayed) == (shift.n_items, shift.n_flipped)
        old, new = turn.pair.verdicts[:, :, place]
        given = ~np.isnan(old) & ~np.isnan(new)
        assert total == given.sum()
        assert shift.n_flipped == (old[given] != new[given]).sum()
    decided = (row[row < 2] for row in turn.pair.verdicts[1])  # correct or incorrect; other words take no side
    split = sum(np.unique(row).size > 1 for row in decided)
    assert split == turn.contested.n_split


@pytest.mark.slow
def test_what_people_decided_on_flips_stands_in_the_next_turn(bench):
    found = axisjudge.iterate(AXIS, "v3", judges=JUDGES, progress=False)
    n = len(found.turn.flips)
    assert n > 4
    assert found.looked_at.looked_at == 0
    assert "nobody has looked" in repr(found)
    explorer = found.explorer
    assert explorer.at == f"axis={AXIS}&only=flipped"

    def decide(flip, answer, rater, *, before="v2", stratum=None):
        verdict = {"new_right": flip.after.verdict, "old_right": flip.before.verdict}.get(answer)
        word = {"answer": answer, "way": "by_flip", "of": f"{flip.judge} {before} to v3", "verdict": verdict}
        word["stratum"] = stratum or f"{flip.before.verdict} to {flip.after.verdict}"
        content = {"run": explorer._grid.runs.index(flip.item), "question": AXIS, "rater": rater, "word": word}
        explorer.answer("decide", content)

    one, two, three, four, *_ = found.turn.flips
    decide(one, "new_right", "ada")
    decide(two, "old_right", "ada")
    decide(two, "new_right", "ada")  # the last word of one person counts
    decide(three, "both_wrong", "ada")
    decide(three, "old_right", "bo")  # people differ
    decide(four, "new_right", "ada", before="v1")  # a decision on another turn
    again = axisjudge.iterate(AXIS, "v3", progress=False)
    assert again.rater is None  # two have decided: whose turn it is must be said
    named = axisjudge.iterate(AXIS, "v3", progress=False, rater="ada")
    assert named.explorer.rater == "ada"
    there = {named.explorer._grid.runs[each["run"]] for each in named.explorer._decided("ada")}
    assert there == {flip.item for flip in (one, two, three, four)}  # at once
    cited = again.cited
    steps = {run.id: len(run.steps) for run in again.runs}
    assert cited["flips"].sum() == len(again.turn.flips)
    assert cited["cited_steps"].sum() == sum(
        sum(at < steps[flip.item] for at in flip.after.cited) for flip in again.turn.flips
    )
    tools = {call.name for run in again.runs for step in run.steps for call in step.tool_calls}
    assert {each.rpartition(" ")[0] for row in cited["tools"] for each in row.split(", ") if each} <= tools
    counts = {str(each): count for each, count in again.looked_at.counts.items() if count}
    assert counts == {"new_right": 2, "people_differ": 1}
    assert f"Of {n} flips 2 are improvements and 1 " in repr(again)
    assert f"{n - 3} not looked at yet" in again.decided


def test_who_decides_is_read_from_the_decisions_as_a_files_name_bears_no_spaces(bench, demo):
    word = {"answer": "both_wrong", "way": "by_flip", "of": "rules v2 to v3", "stratum": "", "verdict": None}
    base = decision_base(demo[0], axisjudge.load_rubric(AXIS), [])
    for person, decides in (("Ann B", "Ann B"), ("Bo", None)):
        LabelLog(decisions_path(person)).append(decision(base, word, person, "2026-01-01T00:00:00Z"))
        assert _only_rater(_decisions()) == decides


@pytest.mark.slow
def test_both_versions_are_judged_in_turn_and_another_day_is_said(bench):
    """What a provider changes on the way meets both versions; a version of an earlier run is compared with a word."""
    occasions = "noise of occasions was not measured"

    @axisjudge.judge_function(family="ours", kind="llm")
    def strict(prompt):
        return ("incorrect", 0.7, "No.") if len(prompt.record) % 3 == 0 else ("correct", 0.7, "Yes.")

    write_draft(bench, "v4")
    first = axisjudge.iterate(AXIS, "v4", judges=[strict, "simulated:dunnock"], progress=False)
    written = read_ratings(bench / "data" / "ratings" / "ratings.jsonl")
    versions = written.filter(rater_kind="llm")["rubric_version"].to_list()
    parts = [versions[at : at + 20].count("v3") for at in range(0, len(versions) - 20, 20)]
    assert min(parts) >= 5
    assert max(parts) <= 15
    assert occasions not in repr(first)
    assert first.exit_code == 0
    write_draft(bench, "v5", "Another one.")
    other_day = axisjudge.iterate(AXIS, "v5", judges=[strict, "simulated:dunnock"], progress=False)
    assert other_day.exit_code == 4
    assert repr(other_day).count(occasions) == other_day._repr_html_().count(occasions) - 1 == 1
    assert other_day.turn.agreement.noise is None
