"""The published figures (brihat.ai, 'Which Capability Actually Broke?', 2026-06-04) agree with one another."""

from math import comb, sqrt
from pathlib import Path

import polars as pl
import pytest

from axisjudge.families import family_of
from axisjudge.spec.judge_spec import panel
from axisjudge.verdict import AXES, VERDICTS

FOLDER = Path(__file__).resolve().parent.parent / "data" / "published"
AGENTS = ["claude-3-7-sonnet", "gpt-4.1", "gpt-4.1-mini", "o4-mini"]


def table(name: str) -> pl.DataFrame:
    return pl.read_csv(FOLDER / f"{name}.csv")


AGREEMENT = table("agreement_by_axis")
ANY_JUDGE = table("any_judge_incorrect")
BY_VERSION = table("sim14_argument_validity_by_version")
FINAL = table("sim14_final")
REPEAT = table("repeat")
TASKS = table("tasks")


def disagreements(axis: str) -> int:
    row = AGREEMENT.row(by_predicate=pl.col("axis") == axis, named=True)
    return int(row["n"] - row["agree"])


def any_judge(axis: str) -> int:
    return int(ANY_JUDGE.filter(axis=axis)["incorrect"].sum())


def test_agreement_is_as_published() -> None:
    assert AGREEMENT["axis"].to_list() == list(AXES)
    assert AGREEMENT["agree"].to_list() == [19, 19, 18, 17, 18]
    assert AGREEMENT["n"].sum() * 2 == 200  # two judges: the study's 200 verdicts


def test_any_judge_counts_are_as_published() -> None:
    wide = ANY_JUDGE.pivot(on="agent", index="axis", values="incorrect")
    assert wide.columns == ["axis", *AGENTS]
    assert wide.rows() == [
        ("tool_selection", 1, 1, 2, 0),
        ("argument_validity", 0, 0, 1, 0),
        ("sequencing", 1, 0, 2, 0),
        ("result_interpretation", 2, 2, 2, 0),
        ("termination", 0, 0, 1, 1),
    ]


def test_the_trajectories_of_the_tables_are_the_same_ones() -> None:
    per_agent = TASKS.group_by("agent", maintain_order=True).agg(pl.col("task_id").n_unique())
    assert per_agent.rows() == [(agent, 5) for agent in AGENTS]
    assert sorted(TASKS["task_id"].unique()) == [28, 50, 67, 68, 74]
    assert not TASKS.select("task_id", "agent").is_duplicated().any()
    assert (ANY_JUDGE["n"] == 5).all()
    assert (AGREEMENT["n"] == TASKS.height).all()
    assert all(family_of(agent) == family for agent, family in TASKS.select("agent", "agent_family").rows())


@pytest.mark.parametrize("axis", AXES)
def test_agreement_and_any_judge_counts_are_possible_together(axis: str) -> None:
    """Every correct-incorrect disagreement is counted once by 'any judge'; what is left over, both judges share."""
    shared = any_judge(axis) - disagreements(axis)
    assert 0 <= shared <= TASKS.height - disagreements(axis)
    assert (ANY_JUDGE.filter(axis=axis)["incorrect"] <= ANY_JUDGE.filter(axis=axis)["n"]).all()


@pytest.mark.parametrize(
    ("axis", "shared", "kappa_low", "kappa_high", "ac1"),
    [
        ("tool_selection", 3, 0.83, 0.83, 0.93),
        ("argument_validity", 0, 0.0, 0.0, 0.95),
        ("sequencing", 1, 0.44, 0.46, 0.88),
        ("result_interpretation", 3, 0.57, 0.58, 0.77),
        ("termination", 0, -0.05, 0.0, 0.89),
    ],
)
def test_what_the_readme_says_the_tables_imply(
    axis: str, shared: int, kappa_low: float, kappa_high: float, ac1: float
) -> None:
    assert any_judge(axis) - disagreements(axis) == shared
    kappas = []
    for first_only in range(disagreements(axis) + 1):
        first = (shared + first_only) / 20  # share of incorrect, judge by judge
        second = (shared + disagreements(axis) - first_only) / 20
        observed = 1 - disagreements(axis) / 20
        by_chance = first * second + (1 - first) * (1 - second)
        kappas.append((observed - by_chance) / (1 - by_chance))
        mean = (first + second) / 2
        gwet = 2 * mean * (1 - mean)
        assert (observed - gwet) / (1 - gwet) == pytest.approx(ac1, abs=0.005)
    assert min(kappas) == pytest.approx(kappa_low, abs=0.005)
    assert max(kappas) == pytest.approx(kappa_high, abs=0.005)


@pytest.mark.parametrize("rows", [BY_VERSION, FINAL, REPEAT], ids=["by_version", "final", "repeat"])
def test_verdicts_are_those_of_the_published_panel(rows: pl.DataFrame) -> None:
    families = {judge.rater: judge.family for judge in panel("published")}
    assert all(families[judge] == family for judge, family in rows.select("judge", "family").rows())
    assert set(rows["verdict"]) <= set(VERDICTS)
    assert rows["confidence"].is_between(0, 1).all()


def test_each_judge_stands_once_in_each_row_of_the_sim_14_tables() -> None:
    judges = [judge.rater for judge in panel("published")]
    assert BY_VERSION.select("version", "judge").rows() == [(v, j) for v in ("v1", "v2", "v3") for j in judges]
    assert FINAL.select("axis", "judge").rows() == [(axis, j) for axis in AXES for j in judges]


def test_the_story_of_argument_validity() -> None:
    """Opposite verdicts, then the same words with less confidence, then one verdict."""
    story = BY_VERSION.pivot(on="family", index="version", values=["verdict", "confidence"])
    assert story["verdict_anthropic"].to_list() == ["incorrect", "incorrect", "correct"]
    assert story["verdict_openai"].to_list() == ["correct"] * 3
    assert story["confidence_anthropic"].to_list() == [0.95, 0.60, 0.98]
    assert story["confidence_openai"].to_list() == [0.97, 0.96, 0.96]


def test_sim_14_fits_the_profile_of_its_agent() -> None:
    """Sim 14 is one of gpt-4.1's five runs: where both judges call it incorrect the profile must count it."""
    assert TASKS.filter(pl.col("used_in_tuning")).select("task_id", "agent").rows() == [(28, "gpt-4.1")]
    for axis in AXES:
        verdicts = set(FINAL.filter(axis=axis)["verdict"])
        assert len(verdicts) == 1, "both judges agree on every axis of sim 14"
        counted = ANY_JUDGE.filter(axis=axis, agent="gpt-4.1")["incorrect"].item()
        assert counted >= (verdicts == {"incorrect"})
        assert counted <= 5 - (verdicts == {"correct"})


def test_the_known_inconsistency_is_kept_and_is_the_only_one() -> None:
    last = BY_VERSION.filter(version="v3").select("judge", "verdict", confidence_by_version="confidence")
    both = last.join(FINAL.filter(axis="argument_validity"), on=["judge", "verdict"])
    assert both.height == 2
    differing = both.filter(pl.col("confidence") != pl.col("confidence_by_version"))
    assert differing.select("judge", "confidence_by_version", "confidence").rows() == [("openai:gpt-5", 0.96, 0.95)]


def test_the_second_of_the_repeated_calls_is_the_final_verdict() -> None:
    assert REPEAT.select("call", "verdict", "confidence").rows() == [(1, "correct", 0.98), (2, "incorrect", 0.90)]
    final = FINAL.filter(axis=REPEAT["axis"][0], judge=REPEAT["judge"][0])
    assert final.select("verdict", "confidence").row(0) == REPEAT.select("verdict", "confidence").row(1)


def test_cited_steps_exist_in_the_26_steps_of_sim_14() -> None:
    cells = [*BY_VERSION["cited_step_indices"], *FINAL["cited_step_indices"]]
    cited = [int(index) for cell in cells if cell for index in str(cell).split()]
    assert cited
    assert all(0 <= index < 26 for index in cited)


def test_what_five_tasks_allow() -> None:
    """The figures of data/published/README.md: two Wilson intervals and Fisher's exact test of 0 against 2 of 5."""
    assert wilson(0.95, 20) == pytest.approx((0.76, 0.99), abs=0.005)
    effective = 20 / (1 + (4 - 1) * 0.3)
    assert effective == pytest.approx(10.5, abs=0.05)
    assert wilson(0.95, effective) == pytest.approx((0.66, 0.99), abs=0.005)
    largest = ANY_JUDGE.group_by("axis").agg(pl.col("incorrect").max() - pl.col("incorrect").min())["incorrect"].max()
    assert largest == 2
    two_sided = 2 * comb(5, 2) / comb(10, 2)
    assert two_sided == pytest.approx(0.44, abs=0.005)


def wilson(share: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    centre = share + z**2 / (2 * n)
    half = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (centre - half) / (1 + z**2 / n), (centre + half) / (1 + z**2 / n)
