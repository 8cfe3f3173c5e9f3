"""Plans with prices: unknown models are not free, a pilot gives its own figures, sentences say what is assumed."""

import json
import math
import sys

import numpy as np
import polars as pl
import pytest
from ipykernel import kernelapp
from judged import ratings

import axisjudge
from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.judges.pricing import Tokens
from axisjudge.ratings import as_ratings
from axisjudge.stats.planning import Planned, StudyCurve, plan_corrected_rate, plan_stand_in
from axisjudge.studies import plan as planning
from axisjudge.studies.plan import needs, plan_sentence, repeats_sentence
from axisjudge.studies.plan.pilots import (
    JudgePrice,
    LabelledPilot,
    judge_prices,
    label_price,
    labelled_pilot,
    labelled_pilot_sentence,
    panel_errors,
    pilot_of,
    pilot_sentence,
    plan_rows,
    study_plan,
    tasks_to_differ,
)
from axisjudge.workbench import home

#: One judge and one share of failures, in studies of two sizes.
SMALL = {"qualities": {"fair": (0.85, 0.85)}, "shares": (0.3,), "power": 0.1, "sizes": (10, 20)}


@pytest.fixture(scope="module")
def pilot():
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories
    return axisjudge.judge(runs, ["simulated:heron", "simulated:wren"], ["sequencing"], repeats=2, progress=False)


@pytest.fixture(scope="module")
def curve():
    return plan_corrected_rate(0.1, sizes=(20, 40, 80))


def test_programs_cost_nothing_and_unknown_models_are_refused(curve):
    known, program, unknown = judge_prices(
        ["openai:gpt-5-2025-08-07", "rules", "openai-compatible:qwen3-8b@http://localhost:8000/v1"], Tokens(1000, 100)
    )
    assert known.usd_per_call > 0
    assert program.usd_per_call == 0
    assert unknown.usd_per_call is None
    with pytest.raises(InputError, match="must have a list price; found 'openai-compatible:qwen3-8b"):
        study_plan(curve, judges=[known, unknown])


def test_a_unit_costs_its_calls_and_labels(curve):
    price = JudgePrice("a", 0.02)
    plan = study_plan(
        curve, judges=[price, price], calls_per_unit=5, usd_per_label=label_price(6, 40), labels_per_unit=1
    )
    assert plan.usd_per_unit == pytest.approx(0.2 + 4.0)
    assert [row["USD"] for row in plan_rows(plan)] == pytest.approx([point.n * 4.2 for point in curve.points])
    assert f"About {curve.needed} labels (about ${curve.needed * 4.2:,.0f})" in plan_sentence(plan)
    assert "list prices of the package genai-prices" in plan_sentence(plan)
    assert study_plan(curve).usd_per_unit is None
    assert "$" not in plan_sentence(study_plan(curve))


def test_one_more_label_narrows_as_the_curve_falls(curve):
    plan = study_plan(curve)
    assert plan.one_more == pytest.approx(curve.target / (2 * curve.needed), rel=0.2)  # width falls with sqrt(n)
    assert json.loads(json.dumps(plan.to_dict()))["needed"] == curve.needed


def test_a_target_that_the_smallest_study_meets_is_not_taken_for_a_width():
    plan = study_plan(plan_corrected_rate(0.4, sizes=(20, 40)))
    assert plan_sentence(plan).startswith(
        "20 labels or fewer give the interval of a corrected failure rate a half width of 0.4 or less in 80% of studies"
    )
    assert math.isnan(plan.one_more)
    assert "one more" not in plan_sentence(plan)
    never = study_plan(plan_corrected_rate(0.001, sizes=(20, 40)))
    assert "Up to 40 labels do not give" in plan_sentence(never)
    assert "one more" not in plan_sentence(never)


@pytest.mark.parametrize(("power", "is_met"), [(0.9, True), (0.8, False)])
def test_a_power_beyond_the_target_at_the_smallest_size_may_need_fewer(power, is_met):
    plan = study_plan(StudyCurve("a claim", "item", 0.8, (Planned(40, math.nan, math.nan, 0.0, power, 0.02),), 40, {}))
    assert plan.met_by_smallest == is_met
    assert ("40 items or fewer give" in plan_sentence(plan)) == is_met


@pytest.mark.slow
def test_a_claim_that_fades_says_so():
    """Standing in does not fade any more: where the constant passes too, a judge shown to be better keeps its claim."""
    plan = study_plan(plan_stand_in(epsilon=0.15, prevalence=0.3, sizes=(40, 80, 320, 640)))
    assert 80 <= plan.curve.needed <= 320
    tenth, nothing = (Planned(n, math.nan, math.nan, 0.0, power, 0.02) for n, power in ((40, 0.09), (80, 0.02)))
    rare = study_plan(StudyCurve("a claim", "item", 0.8, (tenth, nothing), None, {}))
    assert "The power is highest, at 9%, near 40 items and falls" in plan_sentence(rare)
    assert list(plan_rows(plan)[0]) == ["items", "power", "USD"]


def test_a_pilot_gives_its_figures(pilot):
    found = pilot_of(pilot.filter(pl.col("repeat") == 0), "sequencing")
    assert found.ratings.shape == (112, 2)
    assert 0 < found.kappa < 1
    asked = pilot.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())
    assert found.prevalence == pytest.approx((asked["verdict"] == "incorrect").mean())
    assert found.agreement == pytest.approx(
        pilot.filter(pl.col("repeat") == 0).pivot("rater", index="item_id", values="verdict")
        .drop_nulls().select((pl.nth(1) == pl.nth(2)).mean()).item()
    )  # fmt: skip
    assert found.tokens is None
    assert found.runs_per_task == 4
    said = pilot_sentence(found)
    assert said.startswith("The pilot on sequencing: ")
    assert said.endswith("(112 runs of 28 tasks).")
    assert "simulated:heron and simulated:wren have kappa" in said
    assert set(found.to_dict()) == {"prevalence", "kappa", "agreement"}
    with pytest.raises(InputError, match="needs two judges on sequencing"):
        pilot_of(pilot.filter((pl.col("repeat") == 0) & (pl.col("rater") == "simulated:wren")), "sequencing")


@pytest.mark.parametrize(("scale", "failing"), [("step", "-1"), ("nominal:pass,fail", "fail"), ("ordinal:1-3", None)])
def test_a_pilot_counts_the_failing_word_of_its_scale_and_none_where_there_is_none(scale, failing):
    words = {"step": "-1 0 +1", "nominal:pass,fail": "pass fail fail", "ordinal:1-3": "1 2 3"}[scale].split()
    cells = [(f"t{item}", rater, words[(item + shift) % 3]) for item in range(30) for shift, rater in enumerate("abh")]
    items, raters, verdicts = zip(*cells, strict=True)
    kinds = ["human" if rater == "h" else "llm" for rater in raters]
    columns = {"item_id": items, "rater": raters, "rater_kind": kinds, "verdict": verdicts}
    table = as_ratings(columns | {"question": ["q"] * 90, "scale": [scale] * 90})
    found = pilot_of(table, "q")
    if failing is None:
        assert "failure" not in pilot_sentence(found)
        for ask in (lambda: tasks_to_differ(found, 0.2), lambda: labelled_pilot(table, "q", "a")):
            with pytest.raises(InputError, match="the scale of this question knows none"):
                ask()
    else:
        assert found.prevalence == pytest.approx(words.count(failing) / 3)
        assert labelled_pilot(table, "q", "a").prevalence == pytest.approx(words.count(failing) / 3)


def test_more_judges_help_more_than_more_repeats_where_judges_differ(pilot):
    errors = panel_errors(pilot)
    rows = {(each.judges, each.repeats): each.standard_error for each in errors}
    assert rows[2, 1] < rows[1, 2]  # two calls either way
    assert rows[1, 5] < rows[1, 1]
    assert all(each.fixed_judges for each in errors)
    said = repeats_sentence(errors)
    assert f"one judge asked twice leaves a standard error of {rows[1, 2]:.3f}, two judges {rows[2, 1]:.3f}." in said
    assert "lower bounds" in said
    assert errors == panel_errors(pilot, question="sequencing")
    row = errors[-1].to_dict()
    assert (row["judges"], row["repeats"], row["calls"], row["standard error"]) == (5, 5, 25, rows[5, 5])
    assert panel_errors(pilot, question="termination") == ()
    assert panel_errors(pilot.filter(pl.col("repeat") == 0)) == ()
    assert repeats_sentence([]).startswith("What repeats buy cannot be told")


def test_a_labelled_pilot_gives_what_a_plan_of_labels_assumes(pilot):
    planted = axisjudge.read_ratings(home() / "data" / "demo" / "planted.jsonl")
    both = pl.concat([pilot.filter(pl.col("repeat") == 0), planted])
    found = labelled_pilot(both, "sequencing", "simulated:wren")
    wide = (
        both.filter(
            (pl.col("question") == "sequencing") & pl.col("rater").is_in(["simulated:wren", planted["rater"][0]])
        )
        .pivot("rater", index="item_id", values="verdict")
        .drop_nulls()
    )
    truth = wide[planted["rater"][0]] == "incorrect"
    assert found.n_items == wide.height
    assert found.prevalence == pytest.approx(truth.mean())
    assert found.sensitivity == pytest.approx((wide.filter(truth)["simulated:wren"] == "incorrect").mean())
    assert found.specificity == pytest.approx((wide.filter(~truth)["simulated:wren"] != "incorrect").mean())
    with pytest.raises(InputError, match="name one of simulated:heron or simulated:wren"):
        labelled_pilot(both, "sequencing")
    with pytest.raises(InputError, match="needs 5 labelled items of either kind"):
        labelled_pilot(both.filter(pl.col("trajectory_id").str.starts_with("01-01")), "sequencing", "simulated:wren")


@pytest.mark.parametrize("per_task", [1, 4])
def test_a_pilot_says_that_a_plan_is_for_one_run_of_each_task_and_what_whole_tasks_take(per_task):
    """Tasks of four that fail as a whole take labels of four times as many runs."""
    rng = np.random.default_rng(0)
    failed = np.repeat(rng.random(80) < 0.3, 4)
    words = ["incorrect" if each else "correct" for each in failed]
    both = ratings({"j": words, "ann": words}, kinds={"ann": "human"}, per_task=per_task)
    found = labelled_pilot(both, "termination")
    assert found.per_task == per_task
    assert found.times_as_many == pytest.approx(per_task, rel=0.1)
    assert "one run of each task" in labelled_pilot_sentence(found)
    assert ("times as many" in labelled_pilot_sentence(found)) is (per_task > 1)
    assert plan_corrected_rate(0.2, sizes=(20,), replicates=2, **found.rates()).assumed["labelled runs of a task"] == 1


def test_a_share_of_all_is_trusted_as_far_as_the_items_it_is_of():
    """All of 5 failures caught, and one of 95 others flagged."""
    found = LabelledPilot("a", 100, n_failing=5, prevalence=0.05, sensitivity=1.0, specificity=94 / 95, planted=False)
    assert found.rates() == pytest.approx({"prevalence": 0.05, "sensitivity": 0.9, "specificity": 94 / 95})


def test_the_answer_names_the_least_and_the_most_that_is_needed():
    met, near, far = (study_plan(plan_corrected_rate(target, sizes=(20, 40, 80))) for target in (0.4, 0.1, 0.001))
    said, assumed = needs({"a": met, "b": near})
    assert f"20 labels or fewer to about {near.curve.needed} labels" in said
    assert assumed == "a to b"
    assert "more than 80 labels" in needs({"c": far})[0]
    claim = study_plan(plan_stand_in(n_people=4, sizes=(10, 20)), usd_per_label=1.0, labels_per_unit=4)
    assert needs({"30% failures": claim})[0].startswith("more than 20 items by 4 people")


@pytest.mark.slow
def test_a_plan_without_a_pilot_says_nothing_of_one():
    plans = axisjudge.studies.plan(half_width=0.3, **SMALL)
    assert (plans.pilot.pilot, plans.repeats.errors) == (None, ())
    assert not any("The pilot on" in sentence for sentence in plans.sentences)
    assert list(plans.tasks.plans) == ["Cohen's kappa", "Gwet's AC1"]
    assert "Cohen's kappa" in plans.answer


@pytest.mark.slow
def test_a_study_s_plans_are_those_of_its_parts(pilot):
    plans = axisjudge.studies.plan(
        pilot, question="sequencing", half_width=0.3, judges=["rules"], usd_per_label=4.0, **SMALL
    )
    first = next(iter(plans.tasks.plans.values()))
    assert plans.pilot.pilot.question == "sequencing"
    assert plans.tasks.plans["Cohen's kappa, from the pilot"].curve.assumed["pilot tasks"] == 28
    assert (first.usd_per_unit, first.price_list) == (0.0, "")
    assert {plan.usd_per_unit for plan in plans.labels.plans.values()} == {4.0}
    assert {plan.usd_per_unit for plan in plans.stand_in.plans.values()} == {12.0}  # three people label an item
    assert plans.repeats.errors == panel_errors(pilot)


def test_simulations_show_a_bar_in_a_notebook_and_none_in_a_pipeline(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", kernelapp)  # loaded, and none runs
    planning.items_for_claim(shares=[0.3], sizes=(10,))
    assert capsys.readouterr() == ("", "")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(kernelapp.IPKernelApp, "initialized", lambda: True)
    for name, simulate in {
        "tasks for agreement": lambda: planning.tasks_for_agreement(sizes=(10,)),
        "labels for a rate": lambda: planning.labels_for_rate(sizes=(20,)),
        "items for the claim": lambda: planning.items_for_claim(shares=[0.3], sizes=(10,)),
    }.items():
        simulate()
        assert name in capsys.readouterr().out  # JupyterLab shows standard error on red
