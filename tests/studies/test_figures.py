"""Figures: they say n and unit, print every count, draw without warnings, and survive empty and odd results."""

import math
from collections.abc import Iterator

import matplotlib
import polars as pl
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.text import Text

import axisjudge
from axisjudge.figures.theme import cut_names, percent_tick
from axisjudge.ratings import ratings_frame
from axisjudge.studies.failures import FailureProfile, agent_success, failure_profile, rank_axes, shared_failures
from axisjudge.studies.failures.profile import plot_rates
from axisjudge.studies.trace import plot_trace, trace
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, Rating


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def profile_of(tasks: int, verdicts: tuple[str, ...] = ("incorrect", "correct")) -> FailureProfile:
    """Two judges on two agents; every third run of bee is failed by both, one verdict is undecided."""
    ratings = [
        Rating(
            trajectory_id=f"{agent}-{task}",
            cluster_id=str(task),
            agent=agent,
            question=axis,
            rater=judge,
            rater_kind="llm",
            family=judge,
            verdict=verdicts[0] if agent == "bee" and task % 3 == 0 else verdicts[1],
        )
        for agent in ("ant", "bee")
        for task in range(tasks)
        for axis in AXES
        for judge in ("j1", "j2")
    ]
    return failure_profile(ratings_frame(ratings))


def texts(ax) -> list[str]:
    drawn = [text.get_text() for text in ax.texts] + [ax.get_title(loc="left"), ax.get_xlabel()]
    return [text for text in drawn if text]


def overlapping(ax) -> list[tuple[str, str]]:
    """Pairs of texts on the axes whose boxes overlap once drawn."""
    figure = ax.get_figure(root=True)
    figure.canvas.draw()
    labels = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
    boxes = [
        (label.get_text(), label.get_window_extent()) for label in labels if label.get_text() and label.get_visible()
    ]
    return [(a, b) for n, (a, one) in enumerate(boxes) for b, other in boxes[n + 1 :] if one.overlaps(other)]


def test_heatmap_prints_counts_intervals_n_and_unit():
    ax = profile_of(12).plot()
    said = texts(ax)
    assert said.count("4/12") == 5
    assert said.count("0/12") == 5
    assert said.count("4/24") == 5
    assert any("12 tasks" in text and "95% intervals" in text for text in said)
    assert not overlapping(ax)


@pytest.mark.slow
def test_heatmap_of_one_axis_leaves_room_beside_twenty_long_names():
    agents = [f"{number:02d}-{'a-long-name-of-an-agent-' * 4}"[:80] for number in range(20)]
    rate = profile_of(6).totals[0].any_judge.rate
    ax = plot_rates(AXES[:1], agents, [[(1, rate)] * 20], "twenty", "6 tasks")
    cut_names(ax.get_figure(root=True))
    assert not overlapping(ax)


def test_ticks_in_per_cent_are_never_rounded_to_another_place():
    assert [percent_tick(share) for share in (0, 0.5, 0.775, 0.8, 1.0)] == ["0%", "50%", "77.5%", "80%", "100%"]


def test_heatmap_says_where_nothing_was_judged():
    ax = profile_of(12, ("uncertain", "uncertain")).plot()
    assert texts(ax).count("not judged") == 18  # five axes and all, two agents and all


@pytest.mark.parametrize("tasks", [5, 12])
def test_rank_sets_are_drawn_also_when_refused(tasks):
    profile = profile_of(tasks)
    ax = rank_axes(profile).plot()
    assert any(f"{tasks} clusters" in text or f"{tasks} tasks" in text for text in texts(ax))
    assert [label.get_text() for label in ax.get_yticklabels()] == [axis.replace("_", " ") for axis in AXES]
    assert not overlapping(ax)


def test_independence_stands_beside_what_was_observed():
    ax = shared_failures(profile_of(12)).plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "observed",
        "if the judges' verdicts shared nothing",
    ]


def test_success_without_rewards_says_so():
    assert texts(agent_success(profile_of(12)).plot()).count("no reward") == 2


def test_a_given_axes_is_drawn_on():
    figure, ax = plt.subplots()
    assert agent_success(profile_of(12)).plot(ax=ax) is ax
    assert plt.get_fignums() == [figure.number]


def said(axis: str, judge: str, verdict: str | None, cited: list[int]) -> Rating:
    outcome = {"verdict": verdict} if verdict else {"status": "refused"}
    return Rating(
        trajectory_id="r", cluster_id="1", question=axis, rater=judge, rater_kind="llm", family=judge,
        cited_step_indices=cited, invalid_citations=[step for step in cited if step >= 4], **outcome,
    )  # fmt: skip


def test_trace_marks_cited_steps_and_tells_invalid_ones():
    run = Trajectory(id="r", source="own", steps=tuple(Step(index=n, role="user", content="x") for n in range(4)))
    words = [
        said("sequencing", "anthropic:claude-sonnet-4-6", "incorrect", [1, 9]),
        said("sequencing", "openai:gpt-5", None, []),
    ]
    ax = plot_trace(trace(ratings_frame(words), run).timeline.run)
    marks = [line for line in ax.lines if line.get_marker() == "X" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in marks] == [[1]]
    assert any("cites 1 that do not exist" in text for text in texts(ax))
    assert "lost (refused)" in texts(ax)
    assert not overlapping(ax)


def test_trace_shows_the_axes_on_which_judges_contradict_each_other():
    run = Trajectory(id="r", source="own", steps=tuple(Step(index=n, role="user", content="x") for n in range(4)))
    both = [("termination", "correct"), ("sequencing", "incorrect")]
    words = [said(axis, "j1", word, [1]) for axis, word in both] + [
        said(axis, "j2", "correct", [2]) for axis, _ in both
    ]
    drawn = texts(plot_trace(trace(ratings_frame(words), run).timeline.run))
    assert "sequencing" in drawn
    assert "termination" not in drawn
    assert any("the 1 of 2 axes" in text for text in drawn)


def test_trace_of_a_run_without_messages_is_drawn():
    ax = plot_trace(
        trace(ratings_frame([said("sequencing", "j1", "incorrect", [])]), Trajectory(id="r", source="own")).timeline.run
    )
    assert "one run of 0 steps; 1 judge" in texts(ax)
    assert not math.isnan(ax.get_xlim()[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", [r"cost $\foo$", "$x_1$", r"a{b}%c\d", "<b>&#$$"])
def test_a_name_is_drawn_letter_by_letter(name: str) -> None:
    """No dollar begins a formula: neither does a figure fail, nor does a name come out in italics."""
    from axisjudge.datasets import published_votes
    from axisjudge.report.drawn import drawn_bytes

    votes = published_votes("hotpotqa", level="step")
    some = sorted(votes["rater"].unique())[:3]
    few = votes.filter(pl.col("rater").is_in(some)).with_columns(pl.col("rater").replace({some[0]: name}))
    figure = axisjudge.studies.agreement(few).overall.plot().get_figure(root=True)
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if "$" in text.get_text())
    assert drawn_bytes(figure, None, "svg")


def test_a_long_title_is_broken_and_stays_over_the_figure() -> None:
    from axisjudge.figures.theme import dress, named_rows, new_axes
    from axisjudge.report.drawn import drawn_bytes

    ax, title = new_axes(5, 2), "Gain on the tasks that it was made from and on those that it was not made from"
    ax.plot([0, 1], [0, 1])
    named_rows(ax, ["a name that takes some room", "another"])
    figure = dress(ax, title, "a note").get_figure(root=True)
    drawn_bytes(figure, None, "png")
    box = ax._left_title.get_window_extent()
    assert box.x1 <= figure.bbox.x1 + 1
    assert box.y1 <= figure.bbox.y1 + 1
    assert " ".join(ax.get_title("left").split()) == title
