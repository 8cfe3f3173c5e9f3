"""Failure profiles: counts, bounds, denominators, what goes in comes back as the same kind of table."""

import json
import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.correction import ALL_AGENTS
from axisjudge.studies.failures import (
    agent_success,
    by_domain,
    compare_profiles,
    failure_profile,
    first_to_fix,
    published_profile,
    rank_agents,
    rank_axes,
    rank_success,
    shared_failures,
)
from axisjudge.studies.failures.profile import reward_table, success_of
from axisjudge.studies.failures.sentences import false_failures, next_step
from axisjudge.trajectory import Trajectory

AXIS = "sequencing"


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def two_agents(table):
    """Twenty tasks; ant fails tool_selection on 12, bee termination on 12, by both judges; equal rewards."""
    words = {}
    for task in range(20):
        fails = "ii" if task < 12 else "cc"
        words[f"ant-{task}"] = {"tool_selection": fails, "sequencing": "cc", "termination": "cc"}
        words[f"bee-{task}"] = {"tool_selection": "cc", "sequencing": "cc", "termination": fails}
    rewards = pl.DataFrame(
        {"trajectory_id": list(words), "reward": [0.0 if int(run[4:]) < 12 else 1.0 for run in words]}
    )
    return failure_profile(table(words), rewards)


def test_counts_and_denominators(table):
    profile = failure_profile(
        table(
            {
                "ant-1": {AXIS: "ii"},
                "ant-2": {AXIS: "ic"},
                "ant-3": {AXIS: "uu"},
                "ant-4": {AXIS: "nn"},
                "ant-5": {AXIS: "cx"},
            }
        )
    )
    cell = profile.cell("ant", AXIS)
    assert (cell.n_runs, cell.not_applicable, cell.uncertain, cell.lost, cell.not_rated) == (5, 1, 2, 1, 0)
    assert (cell.any_judge.count, cell.any_judge.rate.n_items) == (2, 3)
    assert (cell.consensus.count, cell.consensus.rate.n_items) == (1, 2)  # on the last one judge alone decides


def test_what_cannot_be_ranked_has_no_axis_to_fix_first(table):
    """One axis alone, or nothing decided: the reason stands in place of a name."""
    for letters, axes in (("ci", [AXIS]), ("uu", [AXIS]), ("uu", [AXIS, "termination"])):
        words = {f"{agent}-{n}": dict.fromkeys(axes, letters) for agent in ("ant", "bee") for n in range(12)}
        first = first_to_fix(failure_profile(table(words)))
        assert first.answer.startswith("For none of 2 agents")
        assert first.rankings["ant"].sets.refusal in first.answer


def test_the_highest_rate_of_an_agent_comes_with_the_interval_of_its_cell(table):
    words = {f"ant-{n}": {AXIS: "cc", "termination": "ic" if n < 9 else "cc"} for n in range(24)}
    profile = failure_profile(table(words))
    (row,) = first_to_fix(profile).table.to_dicts()
    rate = profile.cell("ant", "termination").any_judge.rate
    assert row["highest"].startswith("termination")
    assert (row["low"], row["high"]) == (rate.ci_low, rate.ci_high)
    assert 0 < rate.ci_low < 9 / 24 < rate.ci_high < 1


def test_the_level_decides_what_is_shown_everywhere(two_agents):
    """p of all agents together is some thousandths: shown at 95%, and not at 99.99%, as no pair is."""
    usual, strict = (compare_profiles(replace(two_agents, ci_level=level), rng=rng()) for level in (0.95, 0.9999))
    assert 0.0001 < usual.overall.p_value < 0.01
    assert "is shown" in usual.answer
    assert "none can be said to differ" in strict.answer
    assert "is not shown" in strict.answer
    counts = {("a", "x"): 9, ("a", "y"): 1, ("b", "x"): 1, ("b", "y"): 1}
    rows = [{"agent": agent, "axis": axis, "incorrect": n, "n": 10} for (agent, axis), n in counts.items()]
    for level, shown in ((0.95, 0), (0.9999, 2)):
        said = published_profile(pl.DataFrame(rows), ci_level=level).table["what the data allow"][:2]
        assert sum(text.startswith("Not shown") for text in said) == shown


def test_bounds_hold_every_way_in_which_undecided_verdicts_could_have_come_out(table):
    """By enumeration of all completions of the undecided verdicts."""
    letters = ["iu", "cu", "uu", "ii", "cx", "cc"]
    cell = failure_profile(table({f"ant-{n}": {AXIS: pair} for n, pair in enumerate(letters)})).cell("ant", AXIS)
    rates = {"any": [], "consensus": []}
    for filled in range(2**5):
        bits = iter(format(filled, "05b"))
        done = [[{"i": 1, "c": 0}.get(one) for one in pair] for pair in letters]
        done = [[int(next(bits)) if one is None else one for one in pair] for pair in done]
        rates["any"].append(np.mean([max(pair) for pair in done]))
        rates["consensus"].append(np.mean([min(pair) for pair in done]))
    for measure in rates:
        failures = cell.failures(measure)
        assert failures.best == pytest.approx(min(rates[measure]))
        assert failures.worst == pytest.approx(max(rates[measure]))
        assert failures.best <= failures.rate.estimate <= failures.worst


def test_a_judge_to_whom_the_axis_does_not_apply_has_no_part_in_what_others_could_have_said(table):
    """Of ii and not applicable a consensus is reached; bounds took the third judge for one that passes the run."""
    cell = failure_profile(table({"ant-1": {AXIS: "iin"}, "ant-2": {AXIS: "cin"}, "ant-3": {AXIS: "inn"}})).cells[0]
    assert (cell.consensus.rate.estimate, cell.consensus.best, cell.consensus.worst) == (0.5, 0.5, 0.5)
    assert (cell.any_judge.best, cell.any_judge.worst) == (1, 1)


def test_the_highest_rate_is_no_lower_than_any_rate_could_be(table):
    """Undecided are the verdicts of one agent; the other's rate stands, whatever they would have been."""
    ants = {f"ant-{n}": {AXIS: "iii" if n < 4 else "ccc"} for n in range(8)}
    profile = failure_profile(table(ants | {"bee-1": {AXIS: "iix"}}))
    passed = failure_profile(table({"ant-1": {AXIS: "iii"}, "ant-2": {AXIS: "ccc"}, "ant-3": {AXIS: "cuu"}}))
    assert "the highest rate would lie at 33%" in passed.by("consensus").answer
    assert "the highest rate would lie between 50% and 100%" in profile.by("consensus").answer


def test_a_cell_in_which_nothing_was_decided_is_undefined_and_says_why(table):
    cell = failure_profile(table({"ant-1": {AXIS: "uu"}, "bee-1": {AXIS: "cc"}})).cell("ant", AXIS)
    assert math.isnan(cell.any_judge.rate.estimate)
    assert cell.any_judge.rate.reason.startswith("no value is given")
    assert (cell.any_judge.best, cell.any_judge.worst) == (0, 1)


def test_one_task_gives_rates_without_intervals_and_no_ranking(table):
    profile = failure_profile(table({"ant-1": {AXIS: "ic"}, "bee-1": {AXIS: "cc"}}))
    rate = profile.cell(ALL_AGENTS, AXIS).any_judge.rate
    assert rate.estimate == 0.5
    assert math.isnan(rate.ci_low)
    assert "one task" in rate.reason


def test_what_independent_judges_would_give_stands_beside(two_agents):
    """Each judge fails 12 of 40 runs on tool_selection: together .3 observed, .09 if they shared nothing."""
    failures = two_agents.cell(ALL_AGENTS, "tool_selection").consensus
    assert failures.rate.estimate == pytest.approx(0.3)
    assert failures.independent.estimate == pytest.approx(0.09)


def test_intervals_take_tasks_as_clusters(two_agents):
    rate = two_agents.cell(ALL_AGENTS, "tool_selection").any_judge.rate
    assert (rate.n_items, rate.n_clusters, rate.cluster_unit) == (40, 20, "task")


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.Table])
def test_the_result_is_a_table_of_the_kind_that_was_passed_in(table, kind):
    ratings = table({"ant-1": {AXIS: "ic"}, "bee-1": {AXIS: "cc"}})
    given = {pl.DataFrame: ratings, pd.DataFrame: ratings.to_pandas(), pa.Table: ratings.to_arrow()}[kind]
    rewards = pl.DataFrame({"trajectory_id": ["ant-1"], "reward": [1.0]})
    profile = failure_profile(given, rewards)
    assert isinstance(profile.table, kind)
    assert isinstance(agent_success(profile).table, kind)
    assert profile.cell("ant", AXIS).any_judge.count == 1


def test_results_are_plain_json(two_agents):
    compared = compare_profiles(two_agents, rng=rng())
    for result in (two_agents, compared, rank_axes(two_agents, rng=rng())):
        assert isinstance(json.dumps(result.to_dict()), str)


def test_success_needs_rewards_and_says_how_many_it_has(table):
    ratings = table({"ant-1": {AXIS: "cc"}, "ant-2": {AXIS: "cc"}, "bee-1": {AXIS: "cc"}})
    rewards = pl.DataFrame({"trajectory_id": ["ant-1", "ant-2", "other"], "reward": [1.0, 0.5, 1.0]})
    profile = failure_profile(ratings, rewards)
    assert (success_of(profile, "ant").estimate, success_of(profile, "ant").n_items) == (0.5, 2)
    assert success_of(profile, "bee").n_items == 0
    assert success_of(failure_profile(ratings, rewards, success_at=0.5), "ant").estimate == 1
    with pytest.raises(InputError, match="one row for each trajectory"):
        failure_profile(ratings, pl.concat([rewards, rewards]))


def test_reward_table_keeps_unknown_rewards_unknown():
    runs = [Trajectory(id="a", source="own", reward=1.0), Trajectory(id="b", source="own")]
    assert reward_table(runs)["reward"].to_list() == [1.0, None]


def test_domains_are_profiled_apart(table):
    retail = table({"ant-1": {AXIS: "ii"}})
    airline = table({"ant-9": {AXIS: "cc"}}, domain="airline")
    domains = by_domain(failure_profile(pl.concat([retail, airline])))
    assert "airline (1 agent, 1 run): no judge calls a run incorrect" in domains.answer
    assert domains.table["domain"].to_list() == ["airline", "retail"]
    assert {domain: part.cell("ant", AXIS).any_judge.count for domain, part in domains.parts.items()} == {
        "airline": 0,
        "retail": 1,
    }


def test_one_domain_or_none_is_said_so(table):
    assert by_domain(failure_profile(table({"ant-1": {AXIS: "ii"}}))).answer == "All runs are of one domain (retail)."
    unnamed = by_domain(failure_profile(table({"ant-1": {AXIS: "ii"}}, domain=None)))
    assert (unnamed.answer, unnamed.unnamed) == ("The runs name no domain.", 1)


def test_findings_give_counts_intervals_and_bounds(two_agents, table):
    assert "from 0% (in 4 cells) to 60% (in 2 cells)" in two_agents.answer
    assert "Undecided" not in two_agents.answer
    open_ended = failure_profile(table({f"ant-{task}": {AXIS: "iu" if task else "cx"} for task in range(4)}))
    assert "between 75% and 100%" in open_ended.answer
    assert "nothing was decided" in failure_profile(table({"ant-1": {AXIS: "uu"}})).answer


def test_shared_failures_are_told_from_independent_errors(two_agents, table):
    """Both judges fail the same 12 of 40 runs on two axes; on sequencing nobody says incorrect."""
    result = shared_failures(two_agents, rng=rng())
    assert result.shared == ("tool_selection", "termination")
    assert result.answer.startswith("On 2 of 2 axes the judges fail the same runs beyond chance")
    assert "Not tested: sequencing (fewer than two judges say incorrect at all)." in result.answer
    assert "consensus on 12 of 40 runs (30%" in result.answer
    assert result.tests["tool_selection"].observed == 12
    assert result.tests["tool_selection"].expected == pytest.approx(12 * 12 / 20, abs=0.1)
    few = failure_profile(table({"ant-1": {AXIS: "ii"}, "ant-2": {AXIS: "cc"}}))
    assert "cannot be tested: 2 tasks" in shared_failures(few, rng=rng()).answer


def test_several_runs_of_an_agent_on_a_task_stay_together(table):
    """Two trials of one task: the second is another place, not another task."""
    words = {f"ant-{task}": {AXIS: "ii" if task % 2 else "cc"} for task in range(12)}
    again = table(words).with_columns(trajectory_id=pl.col("trajectory_id") + "b", item_id=pl.col("item_id") + "b")
    result = shared_failures(failure_profile(pl.concat([table(words), again])), rng=rng())
    assert (result.tests[AXIS].n_clusters, result.tests[AXIS].observed) == (12, 12)


def test_false_failures_of_a_panel_are_stated(two_agents):
    assert "2 independent judges call 9.8%" in false_failures(2)


def test_one_cell_alone_has_no_highest_rate(two_agents):
    one = next(cell for cell in two_agents.cells if cell.failures("any").count)
    assert ["highest" in next_step(cells) for cells in ([one], two_agents.cells)] == [False, True]


def test_agents_of_like_reward_with_different_profiles_are_found(two_agents):
    compared = compare_profiles(two_agents, rng=rng())
    (pair,) = compared.pairs
    assert pair.like
    assert pair.success_gap == 0
    assert pair.p_holm == pair.test.p_value < 0.001
    assert pair.widest_axis in ("tool_selection", "termination")
    assert "1 can be said to differ:" in compared.answer


def test_agents_of_unlike_reward_are_not_compared(table):
    words = {f"{agent}-{task}": {AXIS: "ci", "termination": "cc"} for agent in ("ant", "bee") for task in range(12)}
    rewards = pl.DataFrame({"trajectory_id": list(words), "reward": [float(run.startswith("ant")) for run in words]})
    compared = compare_profiles(failure_profile(table(words), rewards), rng=rng())
    assert compared.tested == ()
    assert math.isnan(compared.pairs[0].p_holm)
    assert compared.answer.startswith("no two agents that share tasks have success rates within 10 points")


def test_without_rewards_all_pairs_are_tested_and_it_is_said(table):
    words = {f"{agent}-{task}": {AXIS: "ci", "termination": "cc"} for agent in ("ant", "bee") for task in range(12)}
    compared = compare_profiles(failure_profile(table(words)), rng=rng())
    assert len(compared.tested) == 1
    assert "no rewards are known" in compared.answer


def test_one_judge_alone_has_no_consensus(table):
    profile = failure_profile(table({f"ant-{task}": {AXIS: "i", "termination": "c"} for task in range(12)}))
    cell = profile.cell("ant", "termination").consensus
    assert (cell.count, cell.rate.n_items) == (0, 0)
    assert math.isnan(cell.best)
    assert "consensus takes two judges" in profile.by("consensus").answer
    assert "0 tasks" in rank_axes(profile.by("consensus"), rng=rng()).answer


def test_one_agent_has_no_other_to_be_compared_with(table, two_agents):
    profile = failure_profile(table({f"ant-{task}": {AXIS: "ic", "termination": "cc"} for task in range(12)}))
    assert "nothing is ranked by" in rank_agents(profile, rng=rng()).answer
    assert compare_profiles(profile, rng=rng()).answer == "one agent has no other to be compared with."
    empty, filled = (compare_profiles(some, rng=rng()).table for some in (profile, two_agents))
    assert empty.is_empty()
    assert empty.columns == filled.columns


def test_ranking_sentences_cover_alone_tied_and_refused(two_agents, table):
    tied = rank_agents(two_agents, rng=rng()).answer
    assert "the 2 agents" in tied
    assert not set(two_agents.agents) & set(tied.split())
    assert rank_success(two_agents, rng=rng()).sets.means.tolist() == [0.4, 0.4]
    alone = rank_axes(two_agents, agent="ant", rng=rng())
    assert alone.first == ("tool_selection",)
    assert "tool_selection has the highest any-judge failure rate, " in alone.answer
    either = rank_axes(two_agents, rng=rng())
    assert set(either.first) == {"tool_selection", "termination"}
    assert "tool_selection and termination share first place" in either.answer
    assert "sequencing" not in either.answer
    assert (alone.briefly, either.leader) == ("tool_selection", "tool_selection (30%)")
    few = failure_profile(table({f"ant-{task}": {AXIS: "ii", "termination": "cc"} for task in range(5)}))
    assert "not ranked" in rank_axes(few, rng=rng()).answer
    assert "5 tasks" in rank_axes(few, rng=rng()).answer


def test_a_rank_is_of_the_rate_that_its_cells_count(table):
    """Tasks of one run and of nine, some verdicts undecided: totals over counts, as the map has them."""
    of = random.Random(7)
    words = {
        f"{agent}-{task}-{run}": {axis: of.choice(["ic", "cc", "cc", "uu"]) for axis in (AXIS, "termination")}
        for agent in ("ant", "bee")
        for task in range(12)
        for run in range(1 if task % 2 else 9)
    }
    parts = pl.col("trajectory_id").str.split("-").list
    rated = table(words).with_columns(agent=parts.get(0), cluster_id=parts.get(1))
    profile = failure_profile(rated)
    axes, agents = rank_axes(profile, rng=rng()), rank_agents(profile, rng=rng())
    totals = {cell.axis: cell.any_judge for cell in profile.totals}
    assert axes.sets.means == pytest.approx([totals[axis].rate.estimate for axis in axes.names])
    for agent, mean in zip(agents.names, agents.sets.means, strict=True):
        own = [cell.any_judge for cell in profile.cells if cell.agent == agent]
        assert mean == pytest.approx(sum(each.count for each in own) / sum(each.rate.n_items for each in own))


def test_an_unknown_agent_or_measure_is_named(two_agents):
    with pytest.raises(InputError, match="agent"):
        rank_axes(two_agents, agent="cat", rng=rng())
    with pytest.raises(InputError, match="did you mean 'consensus'"):
        two_agents.by("concensus")


PUBLISHED = """axis agent incorrect
tool_selection claude 1
tool_selection mini 2
tool_selection o4 0
"""


def published_table(n: int = 5) -> pl.DataFrame:
    rows = [line.split() for line in PUBLISHED.splitlines()[1:]]
    return pl.DataFrame(
        {
            "axis": [r[0] for r in rows],
            "agent": [r[1] for r in rows],
            "incorrect": [int(r[2]) for r in rows],
            "n": [n] * 3,
        }
    )


def test_published_counts_of_five_tasks_tell_no_agents_apart():
    """The project's definitions: no contrast of 0, 1, 2 of 5 is below p = .44; 0 of 5 reaches up to 52%."""
    profile = published_profile(published_table())
    assert profile.smallest_p == pytest.approx(4 / 9)
    assert profile.rates["tool_selection", "o4"].ci_high == pytest.approx(1 - 0.025 ** (1 / 5))
    assert "none of them tells two agents apart" in profile.answer


def test_the_shipped_published_table_is_reproduced():
    from pathlib import Path

    path = Path(__file__).parents[3] / "data" / "published" / "any_judge_incorrect.csv"
    profile = published_profile(pl.read_csv(path))
    assert len(profile.contrasts) == 30
    assert profile.smallest_p == pytest.approx(4 / 9)
    assert sum(profile.counts.values()) == 16  # the table of the design text
    assert profile.counts["result_interpretation", "gpt-4.1"] == 2


def test_published_counts_with_holes_are_refused():
    with pytest.raises(InputError, match="one row for each axis and agent"):
        published_profile(pl.concat([published_table(), published_table().head(1)]))
    with pytest.raises(InputError, match="n must be the same"):
        published_profile(published_table().with_columns(n=pl.Series([5, 5, 6])))
