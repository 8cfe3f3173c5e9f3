"""What a page shows and keeps, outside a report run and inside."""

import json
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from benches import rating
from hypothesis import given, settings
from hypothesis import strategies as st

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.figures.markup import literal
from axisjudge.figures.theme import cut_names, is_empty
from axisjudge.ratings import ratings_frame
from axisjudge.readers import read_trajectories
from axisjudge.report import Page
from axisjudge.report.drawn import KINDS, drawn_bytes
from axisjudge.report.links import Links
from axisjudge.report.page import MARKDOWN_MIME, PAGE_FILE, REPORT_DIR
from axisjudge.report.render import safe_html
from axisjudge.report.scope import ratings_sha256, scope_of
from axisjudge.report.tables import as_polars, html_table, markdown_table
from axisjudge.results import dumps, plain
from axisjudge.studies._shared.result import Part
from axisjudge.studies.agreement.by_question import published_agreement
from axisjudge.workbench import shipped

REAL = ratings_frame([rating()])
MADE = ratings_frame([rating(), rating(rater="planted", rater_kind="planted", family="planted")])


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The staging folder of a report run for a notebook named 05_page."""
    folder = tmp_path / "05_page"
    folder.mkdir()
    monkeypatch.setenv(REPORT_DIR, str(folder))
    return folder


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def png_chunks(png: bytes) -> list[bytes]:
    kinds, at = [], 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kinds.append(png[at + 4 : at + 8])
        at += 12 + length
    return kinds


def drawn() -> object:
    _, axes = plt.subplots(figsize=(3, 2))
    axes.plot([1, 2, 3])
    axes.set_title("A line", loc="left")
    return axes


def test_the_scope_sentence_names_and_counts_judges_people_agents_and_tasks() -> None:
    table = ratings_frame(
        [
            rating(rater=rater, rater_kind=kind, agent=agent, task_id=f"task-{task}", trajectory_id=f"{agent}{task}")
            for rater, kind in (("rules", "rules"), ("person-1", "human"), ("planted", "planted"))
            for agent in ("a", "b")
            for task in range(8)
        ]
    )
    scope = scope_of(table)
    assert scope.sentence.startswith(
        "The ratings behind this page come from 1 judge (rules), 1 person (person-1), 2 agents (a, b) and 8 tasks ("
    )
    assert "and 2 more)" in scope.sentence
    assert scope.conditional_on["tasks"] == [f"task-{task}" for task in range(8)]
    assert scope.conditional_on["judges"] == ["rules"], "the planted truth is no judge"


def test_whoever_gives_labels_is_no_judge() -> None:
    simulated = {"rater_kind": "simulated"}
    table = ratings_frame(
        [
            rating(rater="people", rater_kind="human", family="human"),
            rating(rater="person A", **simulated, family="simulated people"),
            rating(rater="person B", **simulated, family="simulated people"),
            rating(rater="heron", **simulated, family="simulated-marsh"),
            rating(rater="m", rater_kind="decision_model", family="x"),
        ]
    )
    scope = scope_of(table)
    assert scope.conditional_on["judges"] == ["heron", "m"]
    assert scope.conditional_on["people"] == ["people"]
    assert "2 judges (heron, m), 1 person (people), 2 simulated people (person A, person B), " in scope.sentence
    assert "simulated people" not in scope_of(REAL).conditional_on


def test_judges_that_are_shut_down_are_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ratings_frame([rating(), rating(rater="openai:gpt-5,effort=low", rater_kind="llm", family="openai")])
    assert scope_of(table).retirement.startswith("openai:gpt-5 is shut down on 2026-12-11;")
    assert scope_of(REAL).retirement == ""
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, *_: shown.append(bundle))
    for ratings in (table, REAL):
        Page("05_page", ratings).banner()
    assert ["is shut down on 2026-12-11" in bundle["text/html"] for bundle in shown] == [True, False]


def test_lost_verdicts_are_counted_in_the_scope_sentence() -> None:
    lost = rating(trajectory_id="t2", status="refused", verdict=None)
    assert "1 of 2 ratings holds no verdict." in scope_of(ratings_frame([rating(), lost])).sentence
    assert "no verdict" not in scope_of(REAL).sentence


def test_agents_and_tasks_without_a_name_are_said_to_have_none() -> None:
    sentence = scope_of(ratings_frame([rating(agent=None, task_id=None)])).sentence
    assert "agents without names and tasks without names" in sentence


@pytest.mark.parametrize(
    ("kinds", "head"),
    [
        (["simulated"], "Simulated ratings: 1 of the 2 behind"),
        (["planted"], "Planted ratings: 1 of the 2 behind"),
        (["planted", "simulated"], "Simulated and planted ratings: 2 of the 3 behind"),
        ([], None),
    ],
)
def test_simulated_and_planted_ratings_raise_a_banner(kinds: list[str], head: str | None) -> None:
    table = ratings_frame([rating(), *(rating(rater=kind, rater_kind=kind) for kind in kinds)])
    banner = scope_of(table).banner
    assert (banner is None) if head is None else (banner is not None and banner.startswith(head))


@pytest.mark.parametrize(
    ("kinds", "agent", "is_one"),
    [
        (["simulated", "rules"], None, True),
        (["planted", "rules"], "elm-small", True),
        (["planted", "rules"], "an agent", False),  # faults planted in runs that somebody's agent made
        (["simulated", "llm"], "elm-small", False),
    ],
)
def test_where_nothing_is_real_the_banner_calls_the_page_a_rehearsal(kinds, agent, is_one) -> None:
    table = ratings_frame([rating(rater=kind, rater_kind=kind, agent=agent) for kind in kinds])
    assert ("rehearsal" in str(scope_of(table).banner)) is is_one


def test_the_hash_of_ratings_follows_what_they_say_and_nothing_else() -> None:
    first, second = (
        rating(),
        rating(trajectory_id="t2", created_at="2026-01-01", latency_s=1.0, run_id="r", call_id="c"),
    )
    plain = rating(trajectory_id="t2")
    assert ratings_sha256(ratings_frame([first, second])) == ratings_sha256(ratings_frame([plain, first]))
    assert ratings_sha256(ratings_frame([first, rating(trajectory_id="t2", verdict="incorrect")])) != ratings_sha256(
        ratings_frame([first, plain])
    )


class Estimate:
    """A result as statistics give it."""

    def to_dict(self) -> dict[str, object]:
        return {"estimate": float("nan"), "reason": "one category only", "n": np.int64(3)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("inf"), None),
        (np.float64(0.5), 0.5),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (Estimate(), {"estimate": None, "reason": "one category only", "n": 3}),
        (pl.DataFrame({"a": [1], "b": [[0.5]]}), [{"a": 1, "b": [0.5]}]),
        (pd.DataFrame({"a": [1.5]}, index=pd.Index(["x"], name="agent")), [{"agent": "x", "a": 1.5}]),
        (pd.DataFrame({"a": [1, 2]}), [{"a": 1}, {"a": 2}]),
        ({"b", "a"}, ["a", "b"]),
        ({1: (True, None)}, {"1": [True, None]}),
    ],
)
def test_results_become_plain_json(value: object, expected: object) -> None:
    assert plain(value) == expected


@pytest.mark.parametrize("value", [object(), {("a", "b"): 1}, [lambda: None]])
def test_what_json_cannot_hold_is_refused_by_name(value: object) -> None:
    with pytest.raises(InputError, match=r"^counts"):
        plain(value, "counts")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_with_ten_digits_and_once_more_as_they_are(number: float) -> None:
    written = json.loads(dumps(plain(number)))
    assert written == pytest.approx(number, rel=6e-10, abs=0)
    assert dumps(written) == dumps(number)
    assert math.copysign(1, written) == 1 or written < 0, "no -0.0"


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30))
def test_sums_in_another_order_are_the_same_bytes(numbers: list[float]) -> None:
    """What another BLAS or more threads do; the terms are of one sign, as in a mean of shares."""
    terms = [abs(number) / 7 for number in numbers]
    assert dumps(sum(terms)) == dumps(sum(reversed(terms))) or _near_a_half(sum(terms))


def _near_a_half(number: float) -> bool:
    """Between two numbers of ten digits no rounding helps."""
    digits = number * 10.0 ** (9 - math.floor(math.log10(number))) if number else 0.0
    return abs(digits % 1 - 0.5) < 1e-3


def test_a_number_beside_a_half_is_shown_as_the_half_is() -> None:
    frame = pl.DataFrame({"share": [0.125, 0.12500000000000003, 0.12499999999999997]})
    assert len(set(markdown_table(frame, {}, "", None).splitlines()[2:])) == 1


def test_a_page_only_displays_outside_a_report_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(REPORT_DIR, raising=False)
    page = Page("05_page", REAL)
    page.banner()
    assert page.record("n", 3) == 3
    page.record("n", 4)  # a cell may run again
    page.figure("line", drawn())
    page.table(REAL.select("agent", "verdict"))
    page.say("three")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_sentences_and_captions_without_the_backslashes_of_markdown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(REPORT_DIR, raising=False)
    shown: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle["text/html"]))
    page = Page("05_page", REAL)
    page.say("**2 of 3** by `a_b` at $5 [each] <b>")
    page.table(REAL.clear(), caption="of a_b* <b>")
    assert "<p><strong>2 of 3</strong> by <code>a_b</code> at $5 [each] &lt;b&gt;</p>" in shown[0]
    assert "of a_b* &lt;b&gt;." in shown[1]
    assert all("mathjax_ignore" in each for each in shown)


def test_the_banner_stands_under_tables_of_ratings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, *_: shown.append(bundle))
    page = Page("05_page", MADE)
    page.table(REAL.select("agent"))
    page.table(REAL.select("agent"), of_ratings=False)
    assert ["not measurements" in bundle["text/html"] for bundle in shown] == [True, False]


def test_tables_of_published_figures_never_bear_the_banner(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, *_: shown.append(bundle))
    folder = shipped() / "data" / "published"
    counts, failures = (pl.read_csv(folder / f"{name}.csv") for name in ("agreement_by_axis", "any_judge_incorrect"))
    results = (
        published_agreement(counts, failures, n_tasks=5),
        published_agreement(counts.to_pandas(), failures.to_pandas(), n_tasks=5),
    )
    for number, result in enumerate(results):
        page = Page("05_page", MADE)
        page.table(result.table)  # a page cannot know where a bare table is from
        page.add(result, name=f"published_{number}")
        page.table(REAL.select("agent"))
    assert ["not measurements" in bundle["text/html"] for bundle in shown] == [True, False, True] * len(results)
    assert ["not measurements" in bundle.get(MARKDOWN_MIME, "") for bundle in shown] == [True, False, True] * len(
        results
    )


class Further(Part, name="further", caption="Of no ratings", of_ratings=False):
    """A part with a further table."""

    table = property(lambda self: REAL.select("agent"))
    more = property(lambda self: REAL.select("task_id"))


class MadeUp(Further, name="made_up", caption="Of made-up ratings"):
    """The same, of ratings that no judge gave."""


@pytest.mark.parametrize(
    ("ratings", "part", "warned"), [("MADE", Further(), False), ("REAL", MadeUp(made_up=("a",)), True)]
)
def test_a_further_table_of_a_part_is_of_what_the_part_is_of(monkeypatch, ratings, part, warned) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, *_: shown.append(bundle))
    page = Page("05_page", {"MADE": MADE, "REAL": REAL}[ratings])
    page.add(part, "more", caption="More")
    assert ["not measurements" in bundle["text/html"] for bundle in shown] == [warned]


def test_in_a_report_run_a_page_keeps_what_it_says(staging: Path) -> None:
    page = Page("05_page", MADE)
    page.record("rate", 1 / 3)
    page.say("Three ratings.")
    page.figure("line", drawn())
    page.say("A third, **.33**, failed.")
    said = json.loads((staging / PAGE_FILE).read_text())
    assert said["results"] == {"rate": 0.3333333333}
    assert said["figures"] == ["line"]
    assert said["findings"] == ["Three ratings.", "A third, .33, failed."]
    assert said["finding"] == "A third, .33, failed.", "what the first figure shows, not what was loaded"
    assert said["banner"].startswith("Planted ratings")
    assert (staging / "figures" / "line.png").is_file()


def test_in_a_report_run_a_name_is_used_once(staging: Path) -> None:
    page = Page("05_page", REAL)
    page.record("rate", 1)
    with pytest.raises(InputError, match="used once"):
        page.record("rate", 2)
    page.figure("line", drawn())
    with pytest.raises(InputError, match="used once"):
        page.figure("line", drawn())


def test_a_page_bears_its_notebooks_name(staging: Path) -> None:
    with pytest.raises(InputError, match="05_page; found '06_other'"):
        Page("06_other", REAL)


@pytest.mark.parametrize("name", ["../x", "Rate", "", "a b"])
def test_names_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(InputError, match="lower-case"):
        Page("05_page", REAL).figure(name, drawn())


def test_figures_are_the_same_bytes_and_carry_no_date_or_version(staging: Path) -> None:
    page = Page("05_page", REAL)
    page.figure("first", drawn())
    with mpl.rc_context({"savefig.dpi": 50, "font.sans-serif": ["DejaVu Serif"]}):
        page.figure("second", drawn())
    first, second = ((staging / "figures" / f"{name}.png").read_bytes() for name in ("first", "second"))
    assert first == second
    assert set(png_chunks(first)) <= {b"IHDR", b"IDAT", b"IEND", b"pHYs"}
    for kind in ("svg", "pdf"):
        one, other = ((staging / "figures" / f"{name}.{kind}").read_bytes() for name in ("first", "second"))
        assert one == other
    assert b"/FontFile2" in one  # TrueType, as journals ask for, with the letters as text
    assert b"/ToUnicode" in one
    assert b"/Type3" not in one


def test_a_figure_is_drawn_once_a_kind_and_every_kind_is_as_it_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was drawn before, and whatever the user's own settings lay out; a banner leaves nothing behind."""
    monkeypatch.setitem(mpl.rcParams, "figure.autolayout", True)

    def laid_out() -> Figure:
        figure, axes = plt.subplots(figsize=(3, 2), layout="constrained")
        axes.bar(["one", "a far longer name"], [3, 4])
        axes.set_ylabel("how many")
        return figure

    alone = {kind: drawn_bytes(laid_out(), "made", kind)[0] for kind in KINDS}
    times: list[object] = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda figure, renderer: (times.append(renderer), draw(figure, renderer))[1])
    figure = laid_out()
    assert dict(zip(KINDS, drawn_bytes(figure, "made", *KINDS), strict=True)) == alone
    assert len(times) == len(KINDS)
    assert not figure.texts
    assert drawn_bytes(laid_out(), None, "png")[0] != alone["png"]


def test_the_banner_is_drawn_on_figures_of_made_ratings(staging: Path) -> None:
    Page("05_page", REAL).figure("real", drawn())
    Page("05_page", MADE).figure("made", drawn())
    real, made = (plt.imread(staging / "figures" / f"{name}.png") for name in ("real", "made"))
    red = np.array([179, 38, 30]) / 255
    assert not (np.abs(real[..., :3] - red).max(axis=-1) < 0.02).any()
    assert (np.abs(made[..., :3] - red).max(axis=-1) < 0.02).sum() > 100


def test_tables_are_escaped_and_carry_the_banner() -> None:
    frame = pl.DataFrame({"rationale": ["<script>alert(1)</script> | [x](javascript:1)"], "rate": [0.256]})
    page = html_table(frame, {"rate": ".0%"}, "Rates <b>", "Simulated ratings: not measurements")
    assert "<script" not in page
    assert "<b>" not in page
    assert "26%" in page
    assert "Simulated ratings" in page
    text = markdown_table(frame, {}, "", "Simulated ratings: not measurements")
    assert r"&lt;script&gt;alert(1)&lt;/script&gt; \| \[x\](javascript:1) | 0.26 |" in text
    assert "*Simulated ratings: not measurements*" in text


def test_long_tables_are_cut_and_what_is_left_out_is_counted() -> None:
    frame = pl.DataFrame({"n": range(1234)})
    assert "1,209 more rows are not shown" in markdown_table(frame, {}, "", None)
    assert "1,209 more rows stand in tables/n.csv" in html_table(frame, {}, "", None, whole="tables/n.csv")
    assert len(markdown_table(pl.DataFrame({"t": ["x" * 500]}), {}, "", None)) < 200


LINKS = Links(
    frozenset({"t 1"}),
    {
        "on": {"sequencing": "sequencing"},
        "agent": {"ann": "ann", "bo": "bo", "elms": "ann\nbo"},
        "versions": {"v2": "v2"},
    }
    | {"judge": {"j": "j", "k": "k", "house": "j\nk"}, "domain": {"d": "d"}, "names": {"cut_tail": "~cut_tail-"}}
    | {"label": {"correct": "correct", "sensitivity": "incorrect"}, "length": {"short (2 to 9 messages)": "2-9"}},
)


def test_names_of_runs_lead_into_the_explorer_and_no_other_name_does() -> None:
    frame = pl.DataFrame({"run": ["t 1", "<t2>"], "axis": "sequencing", "step": [4, 5], "agent": "ann", "lost": [3, 0]})
    page = html_table(frame, {}, "", None, links=LINKS)
    found = re.findall(r'href="([^"]+)"', page)
    assert found == ["explorer.html#run=t%201&amp;axis=sequencing&amp;step=4"], "a run's row leads to the run alone"
    assert safe_html(page).count("explorer.html#") == 1
    assert "explorer.html#" not in html_table(frame, {}, "", None)


def test_the_cells_of_a_map_lead_to_the_runs_that_they_count() -> None:
    rows = pl.DataFrame({"axis": ["sequencing", "manners"], "ann": ["3 of 9", "1 of 9"], "bo": ["0 of 9", "2 of 9"]})
    page = html_table(rows, {}, "", None, links=LINKS)
    assert re.findall(r'href="([^"]+)"', page) == [
        "explorer.html#on=sequencing",
        "explorer.html#on=sequencing&amp;agent=ann&amp;word=incorrect",
    ]


def test_counts_of_verdicts_lead_to_their_items_and_none_of_what_the_explorer_cannot_choose() -> None:
    row = {"axis": "sequencing", "lost": 2, "uncertain": 0}
    assert LINKS.of_row({**row, "agent": "all agents"}, {})["lost"] == "explorer.html#on=sequencing&word=lost"
    of_judge = LINKS.of_row({**row, "judge": "j", "domain": "d"}, {})
    assert parse_qs(of_judge["lost"].partition("#")[2]) == {
        "on": ["sequencing"],
        "domain": ["d"],
        "judge": ["j"],
        "word": ["lost"],
    }
    for other in ({"judge": "another"}, {"agent": "cy"}, {"side": "calibration"}, {"by": "length", "stratum": "short"}):
        assert not LINKS.of_row({**row, **other}, {})


@pytest.mark.parametrize(
    ("row", "behind", "filters"),
    [
        ({"judge": "j", "kappa": 0.5}, {}, {"judge": "j"}),
        ({"judge_1": "j", "judge_2": "k"}, {}, {"judge": "j", "beside": "k"}),
        ({"question": "sequencing", "rubric_version": "v2"}, {}, {"on": "sequencing", "versions": "v2"}),
        ({"pairs": "j with labels"}, {"judge": "j", "only": "labelled"}, {"judge": "j", "only": "labelled"}),
        ({"axis": "sequencing", "by": "agent", "stratum": "bo"}, {}, {"on": "sequencing", "agent": "bo"}),
        ({"edit": "cut_tail", "judge": "k"}, {}, {"judge": "k", "names": "~cut_tail-"}),
        ({"edit": "cut_tail", "runs": 3}, {}, {}),
        ({"edit": "cut_tail", "runs": 3}, {"names": "~cut_tail-"}, {"names": "~cut_tail-"}),
        ({"agents": "ann / bo", "tasks": 5}, {}, {"agent": "ann\nbo"}),
        ({"judge_family": "house", "agent_family": "elms"}, {}, {"judge": "j\nk", "agent": "ann\nbo"}),
        ({"axis": "sequencing", "judges": "j, k"}, {}, {"on": "sequencing", "judge": "j", "beside": "k"}),
        ({"by": "length", "stratum": "short (2 to 9 messages)"}, {}, {"length": "2-9"}),
        (
            {"judge": "j", "measure": "sensitivity"},
            {"only": "decided"},
            {"judge": "j", "label": "incorrect", "only": "decided"},
        ),
        (
            {"text": "cut_tail", "agent": "0/30"},
            {"judge": "j", "agent": "bo"},
            {"judge": "j", "names": "~cut_tail-", "agent": "bo"},
        ),
        ({"coefficient": "kappa", "estimate": 0.5}, {}, {}),
    ],
)
def test_the_first_cell_of_a_row_leads_to_the_items_that_it_is_of(row, behind, filters) -> None:
    links = LINKS.of_row(row, behind)
    first = links.get(next(iter(row)), "#").partition("#")[2]
    assert parse_qs(first) == {name: [value] for name, value in filters.items()}
    assert len(links) == bool(filters)


def test_cells_of_what_people_say_and_the_judge_lead_to_the_items_of_both() -> None:
    row = {"judge": "j", "people say": "correct", "judge: incorrect": 3, "judge: no side": 0}
    cell = LINKS.of_row(row, {})["judge: incorrect"].partition("#")[2]
    assert parse_qs(cell) == {"judge": ["j"], "label": ["correct"], "word": ["incorrect"]}
    assert "judge: no side" not in LINKS.of_row(row, {})


def test_figures_that_are_not_of_the_ratings_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, *_: shown.append(bundle))
    page = Page("05_page", REAL)
    page.links = LINKS
    page.table([{"axis": "sequencing"}], behind=[{"judge": "j"}])
    page.table([{"axis": "sequencing"}], of_ratings=False)
    assert ["explorer.html#" in each["text/html"] for each in shown] == [True, False]


def test_an_explorer_stands_beside_the_report_where_there_are_runs(staging: Path) -> None:
    runs = read_trajectories(demo_paths()[0]).trajectories[:2]
    table = ratings_frame([rating(trajectory_id=run.id, task_id=run.task_id) for run in runs])
    page = Page("05_page", table)
    page.explorer(table)
    assert not (staging / "explorer.html").exists()
    page.explorer(table, runs)
    assert page.links.runs == {run.id for run in runs}
    assert "<script" in (staging / "explorer.html").read_text()


def test_tables_are_written_whole_as_csv_and_latex_and_numbered(staging: Path) -> None:
    page = Page("05_page", REAL)
    for _ in range(2):
        page.table([{"n": n} for n in range(40)], caption="All <n>")
    names = sorted(path.name for path in (staging / "tables").iterdir())
    assert names == ["all-n-2.csv", "all-n-2.tex", "all-n.csv", "all-n.tex"]
    assert len((staging / "tables" / "all-n.csv").read_text().splitlines()) == 41


def test_axes_with_nothing_in_them_are_a_sentence_and_no_figure(staging: Path) -> None:
    page = Page("05_page", REAL)
    _, axes = plt.subplots()
    axes.plot([np.nan], [1])
    axes.axvline(0)
    axes.set_title("Rates per agent")
    page.figure("rates", axes)
    assert page.figures == []
    assert not (staging / "figures").exists()


@pytest.mark.parametrize("mark", ["plot", "bar", "scatter", "imshow", "fill_between", "vlines", "barh"])
def test_axes_with_one_mark_are_not_empty(mark: str) -> None:
    figure, axes = plt.subplots()
    assert is_empty(figure)
    if mark == "imshow":
        axes.imshow([[1.0]])
    elif mark == "fill_between":
        axes.fill_between([0, 1], [0, 0], [1, 1])
    elif mark == "vlines":
        axes.vlines([1], 0, 1)
    elif mark == "plot":
        axes.plot([1], [1])
        assert is_empty(figure), "a line of no length is not seen"
        axes.plot([1], [1], marker="o")
    else:
        getattr(axes, mark)([1], [1])
    assert not is_empty(figure)


def test_long_names_are_cut_in_the_middle_and_stay_apart() -> None:
    figure, axes = plt.subplots()
    names = [f"{'openai-compatible:a-maker-with-a-long-name/model' * 2}-{n:02d}" for n in range(20)]
    axes.set_yticks(range(20), names)
    axes.set_title(names[0])
    cut_names(figure)
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(shown)) == 20
    assert max(map(len, [*shown, axes.get_title()])) <= 34
    assert all(name.endswith(f"-{n:02d}") for n, name in enumerate(shown))


def test_missing_numbers_are_shown_as_a_dash() -> None:
    text = markdown_table(pl.DataFrame({"a": [float("nan")], "b": [None], "c": [[0, 4]], "d": [[]]}), {}, "", None)
    assert text.endswith("| – | – | 0, 4 | – |")


def test_a_format_for_no_column_is_an_error() -> None:
    with pytest.raises(InputError, match=r"columns are agent; found \['rate'\]"):
        Page("05_page", REAL).table(REAL.select("agent"), formats={"rate": ".2f"})


def test_pandas_frames_and_rows_are_tables_too(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page("05_page", REAL)
    page.table(pd.DataFrame({"a": [1, 2]}), caption="Both")
    page.table([{"a": 1}, {"a": None}], caption="Both")
    assert capsys.readouterr().out.count("Both (2 rows x 1 columns)") == 2


def test_every_column_and_row_name_of_a_pandas_frame_is_shown_or_refused() -> None:
    counts = pd.DataFrame({"judge": ["a", "b"], "n": [1, 2]})
    assert as_polars(counts.groupby("judge").agg(["mean", "max"])).columns == ["judge", "n mean", "n max"]
    assert as_polars(pd.DataFrame([[1, 2]])).to_dicts() == [{"0": 1, "1": 2}]
    two = pd.MultiIndex.from_tuples([("a", "x"), ("b", "y")], names=["judge", "axis"])
    assert as_polars(counts[["n"]].set_index(two)).row(1) == ("b", "y", 2)
    known = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "bin": pd.cut([1, 2], 2), "day": [pd.NaT] * 2})
    assert as_polars(known).rows()[1] == (None, "(1.5, 2.0]", None)
    for twice in (pd.DataFrame([[1, 2]], columns=["n", "n"]), counts.set_index("judge", drop=False)):
        with pytest.raises(InputError, match="different names"):
            as_polars(twice)


@pytest.mark.parametrize("what", [np.array([[1.0]]), "text", {"a": [1]}, pl.LazyFrame({"a": [1]})])
def test_what_is_no_part_figure_or_table_is_refused(what: object) -> None:
    with pytest.raises(InputError, match="must be a polars or pandas frame"):
        Page("05_page", REAL).add(what)


def test_captions_in_any_script_name_what_stands_under_them(staging: Path) -> None:
    page = Page("05_page", REAL)
    for caption in ("Größe der Läufe", "名前", "名前", "Plain words"):
        page.add([{"a": 1}], caption=caption)
    page.add(drawn(), caption="名前")
    assert list(page.results) == ["groe_der_laufe", "figure", "figure_2", "plain_words"]
    assert page.figures == ["figure_3"]


def test_heads_of_folds_are_written_as_html(staging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Markdown's backslashes would be seen there: a line of HTML is no markdown."""
    shown: list[str] = []
    page = Page("05_page", REAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("axisjudge.report.page._show", lambda bundle, _=None: shown.append(bundle[MARKDOWN_MIME]))
        page.add([{"a": 1}], caption="a_b <i>", fold=True)
        page._folded = True
        page.table([{"a": 1}], caption="c_d")
    heads = [line for text in shown for line in text.splitlines() if line.startswith("<summary>")]
    assert heads == ["<summary>a_b &lt;i&gt;</summary>", "<summary>Table 2. c_d (1 row)</summary>"]


@settings(deadline=None)  # the first call imports the renderer
@given(st.text())
def test_escaped_text_has_no_live_markup(text: str) -> None:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    shown = markdown2html_mistune(f"x {literal(text)}")
    assert "<a" not in shown
    assert "<img" not in shown
    assert "<em" not in shown
    assert "<code" not in shown


def test_names_below_an_axis_that_would_stand_on_each_other_stand_upright() -> None:
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    axes.plot(range(5))
    for names, rotation in ((["a", "b", "c", "d", "e"], 0), ([f"a long name {each}" for each in "abcde"], 90)):
        axes.set_xticks(range(5), names)
        figure.set_layout_engine("constrained")
        drawn_bytes(figure, None, "png")
        assert {text.get_rotation() for text in axes.get_xticklabels()} == {rotation}
