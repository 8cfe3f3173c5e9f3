"""axisjudge plan, as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

import axisjudge
from axisjudge.cli import app
from axisjudge.datasets import demo_paths
from axisjudge.ratings import ratings_frame
from axisjudge.ratings.table import write_ratings
from axisjudge.studies.plan.pilots import judge_prices
from axisjudge.verdict import Rating


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


@pytest.mark.slow
def test_labels_with_their_price():
    page = run("labels", "--half-width", "0.1", "--minutes", "6")
    assert page.exit_code == 0, page.output
    assert "Half width for a corrected failure rate" in page.output
    assert "At that size one more label, for $4.00, narrows the half width by" in page.output
    full = json.loads(run("labels", "--half-width", "0.1", "--json").output)
    assert full["needed"] == pytest.approx(34, abs=8)
    assert full["usd_per_unit"] is None


def test_a_budget_is_shared_at_the_prices_that_are_said_and_refused_without_them():
    judge, minutes, budget = ("--judge", "anthropic:claude-sonnet-4-6"), ("--minutes", "6"), ("--budget", "400")
    found = json.loads(run("labels", "--half-width", "0.3", *judge, *minutes, *budget, "--json").output)
    bought, (price,) = found["allocation"], judge_prices(judge[1:])
    assert bought["judged"] > bought["labels"] > 1
    assert 400 - 4 < 4 * bought["labels"] + price.usd_per_call * bought["judged"] <= 400
    unpriced = ("--judge", "openai-compatible:qwen3-8b@http://h/v1")
    for lacking in (judge, minutes, (*minutes, "--judge", "rules"), (*minutes, *judge, *unpriced)):
        assert "--budget: needs the price" in str(run("labels", *lacking, *budget).exception)


def test_agreement_prices_the_judges():
    page = run("agreement", "--half-width", "0.2", "--per-task", "4", "--judge", "anthropic:claude-sonnet-4-6")
    assert page.exit_code == 0, page.output
    assert "genai-prices" in page.output
    assert "items per task 4" in page.output


def test_a_look_in_the_middle_plans_a_difference(tmp_path):
    """a fails two runs each of the first 4 of 20 tasks, which b passes."""
    rows = []
    for number in range(40):
        of = {"question": "termination", "trajectory_id": f"r{number}", "cluster_id": f"t{number // 2}"}
        for judge in "ab":
            verdict = "incorrect" if number > 30 or (judge == "a" and number < 8) else "correct"
            rows.append(Rating(**of, rater=judge, rater_kind="llm", family=judge, verdict=verdict))
    write_ratings(ratings_frame(rows), tmp_path / "pilot.jsonl")
    asked = ("--pilot", tmp_path / "pilot.jsonl", "--axis", "termination", "--coefficient", "percent_agreement")
    page = run("agreement", *asked, "--half-width", "0.9", "--difference", "0.1", "--json")
    looked = json.loads(page.output)["difference"]
    assert looked["deviation"] == pytest.approx((4 / 20) ** 0.5)
    assert looked["needed"] > looked["n_tasks"] == 20
    assert f"{looked['needed']} tasks in all" in json.loads(page.output)["sentence"]
    assert "--pilot" in str(run("agreement", "--difference", "0.1").exception)


@pytest.mark.slow
def test_a_pilot_of_three_judges_is_told_and_priced_by_its_own_runs(tmp_path):
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories
    pilot = tmp_path / "pilot.jsonl"
    axisjudge.judge(runs, ["rules", "simulated:heron", "simulated:wren"], ["sequencing"], out=pilot, progress=False)
    asked = ("agreement", "--pilot", pilot, "--axis", "sequencing", "--half-width", "0.3")
    page = run(*asked)
    assert page.exit_code == 0, page.output
    assert "rules and simulated:heron have kappa" in page.output
    assert "(112 runs of 28 tasks)" in page.output
    priced = ("--judge", "anthropic:claude-sonnet-4-6", "--input-tokens", 1000, "--output-tokens", 100, "--json")
    a_task = json.loads(run(*asked, *priced).output)["usd_per_unit"]
    a_run = json.loads(run("agreement", "--half-width", "0.3", *priced).output)["usd_per_unit"]
    assert a_task == pytest.approx(4 * a_run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agreement", "--half-width", "-1"), "--half-width: must lie between 0 and 1"),
        (("labels", "--half-width", "5"), "--half-width: must lie between 0 and 1"),  # percent are not shares
        (("labels", "--minutes", "5", "--wage", "0"), "--wage: must be greater than 0"),
        (("agreement", "--coefficient", "kapa"), "--coefficient: must be one of"),
        (("labels", "--prevalence", "1.5"), "prevalence: must lie between 0 and 1"),
        (("agreement", "--half-width", "0.3", "--judge", "openai-compatible:qwen3-8b@http://h/v1"), "list price"),
    ],
)
def test_bad_input_is_told(arguments, message):
    found = run(*arguments)
    assert found.exit_code != 0
    assert message in str(found.exception)
