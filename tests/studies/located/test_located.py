"""Located truth: what is counted equals a count by hand, what ships equals the data, kinds are off by their counts."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets.votes import SETS, published_findings, published_reading, published_verdicts
from axisjudge.judges.rules.findings import KINDS
from axisjudge.judges.rules.judge import VERSION
from axisjudge.labels.agentrx import ANY_STEP, BY_REASON, NONE, TAXONOMIES, read_crosswalk
from axisjudge.ratings import SCHEMA, write_ratings
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER
from axisjudge.studies._shared.words import share
from axisjudge.studies.located import ANY_AXIS, faults_by_judge, judged_runs, runs_read, shares_decided
from axisjudge.studies.located.counts import faults_in, load_located
from axisjudge.studies.located.sentences import answer, faults_sentence
from axisjudge.verdict import AXES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def shipped():
    return published_verdicts()


@pytest.fixture(scope="module")
def found(shipped):
    return studies.located(*shipped, findings=published_findings())


@pytest.fixture(scope="module")
def read():
    return runs_read(published_reading())


def test_counts_equal_a_count_by_hand(shipped, found):
    table, runs = shipped
    own = table.filter(rater_version=VERSION, domain="retail", question="termination").join(runs, on="trajectory_id")
    (row,) = [
        one
        for one in found.decided.decided
        if (one.judge, one.domain, one.half, one.axis) == (VERSION, "retail", "all", "termination")
    ]
    flagged = own.filter(verdict="incorrect")
    assert row.n_runs == own.height == 456
    assert row.n_incorrect == flagged.height > 0
    assert row.precision.estimate == pytest.approx(flagged["failed"].mean())
    assert row.recall.estimate == pytest.approx(flagged["failed"].sum() / own["failed"].sum())
    assert row.decided.estimate == pytest.approx(own["verdict"].is_in(["correct", "incorrect"]).mean())


def test_faults_are_found_on_their_axis_and_at_their_step(shipped, found):
    table, _ = shipped
    faults = table.filter(rater="reference", domain="retail")
    rules = table.filter(rater_version=VERSION, verdict="incorrect").select(
        "trajectory_id", "question", pl.col("cited_step_indices").alias("cited")
    )
    met = faults.join(rules, on=["trajectory_id", "question"])
    near = sum(
        any(abs(a - b) <= found.faults.within for a in row["cited_step_indices"] for b in row["cited"])
        for row in met.iter_rows(named=True)
    )
    (row,) = [
        one
        for one in found.faults.faults
        if (one.labeller, one.judge, one.domain, one.axis) == ("reference", VERSION, "retail", ANY_AXIS)
    ]
    assert row.n_faults == faults.height
    assert round(row.on_axis.estimate * row.n_faults) == met.height
    assert round(row.at_step.estimate * row.at_step.n_items) == near


def counted(path):
    """Faults found on their axis and at their step, counted anew from the lines of a ratings file."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = {}
    for line in lines:
        if line["rater_kind"] in ("rules", "simulated") and line.get("verdict"):
            said[line["rater"], line["trajectory_id"], line["question"]] = line
    counts = Counter()
    for fault in lines:
        if fault["rater_kind"] not in ("reference", "planted") or fault.get("verdict") != "incorrect":
            continue
        for judge in {rater for rater, _, _ in said}:
            answer = said.get((judge, fault["trajectory_id"], fault["question"]))
            who, wrong = (fault["rater"], judge), answer is not None and answer["verdict"] == "incorrect"
            steps = {step + off for step in fault["cited_step_indices"] for off in (-1, 0, 1)}
            counts[*who, "faults"] += answer is not None
            counts[*who, "axis"] += wrong
            counts[*who, "step"] += wrong and not steps.isdisjoint(answer["cited_step_indices"])
    return counts


@pytest.mark.slow
def test_faults_of_the_demo_are_found_by_its_simulated_judges_as_a_script_counts_them(tmp_path):
    demo = load_located(source="demo")
    rehearsed = studies.located(demo.ratings, demo.runs)
    write_ratings(demo.ratings, path := tmp_path / "demo.jsonl")
    rows = [one for one in rehearsed.faults.faults if one.axis == ANY_AXIS]
    shown = {
        (one.labeller, one.judge): (
            *(round(of.estimate * of.n_items) for of in (one.on_axis, one.at_step)),
            one.n_faults,
        )
        for one in rows
    }
    counts = counted(path)
    assert shown == {who: tuple(counts[*who, what] for what in ("axis", "step", "faults")) for who in shown}
    assert {labeller for labeller, _ in shown} == {"reference", "planted"}
    assert sum(judge.startswith("simulated:") for _, judge in shown) == 8
    assert all(0 < step <= axis < faults for axis, step, faults in shown.values())
    assert rehearsed.banner
    by_axis = faults_in(demo.ratings, demo.ratings)  # as `axisjudge compare` has them
    assert {(one.labeller, one.judge, one.axis, one.on_axis) for one in by_axis} == {
        (one.labeller, one.judge, one.axis, one.on_axis) for one in rehearsed.faults.faults
    }


def test_every_run_is_parted_once(shipped, found):
    _, runs = shipped
    for judge in found.decided.judges:
        for domain in SETS:
            n = found.partings.partings.filter(judge=judge, domain=domain)["n_runs"].sum()
            assert n == runs.filter(domain=domain).height
    assert found.partings.partings.filter(~pl.col("failed"), "reference").is_empty()


def test_rules_that_abstain_call_no_failed_run_correct(found):
    before, now = found.decided.judges
    assert sum(one.n_correct for one in found.decided.decided if one.judge == before) > 1000
    assert not any(
        one.said_correct.estimate > 0 for one in found.decided.decided if one.judge == now and one.axis != ANY_AXIS
    )


def test_a_kind_is_off_where_it_does_not_hold_on_what_nothing_was_made_on(found):
    failing = {one.kind for one in found.kinds.kinds if one.holds is False and KINDS[one.kind].verdict == "incorrect"}
    assert failing == {name for name, kind in KINDS.items() if not kind.on}


def test_shares_of_a_kind_and_of_all_runs_equal_a_count_by_hand(found):
    counts = published_findings().filter(side="kept back")
    own = counts.filter(kind="given_up")
    (row,) = [one for one in found.kinds.kinds if one.kind == "given_up"]
    assert (row.kept_back.n_items, row.kept_back.clusters) == (
        own["flagged"].sum(),
        f"{own['task_id'].n_unique()} tasks",
    )
    assert row.kept_back.estimate == pytest.approx(own["failed"].sum() / own["flagged"].sum())
    among = counts.filter(pl.col("kind") == "any run", pl.col("subset").is_in(own["subset"].unique().implode()))
    assert row.base == pytest.approx(among["failed"].sum() / among["flagged"].sum())


def test_no_source_stands_on_both_sides_with_the_same_agents_runs(found):
    counts = published_findings().filter(kind="any run").group_by("side").agg(pl.col("flagged").sum())
    assert dict(counts.iter_rows()) == {"kept back": 1476, "made on": 1993}


def test_the_readme_counts_what_the_table_counts(read):
    text = (ROOT / "axisjudge" / "docs" / "reference.md").read_text(encoding="utf-8")
    quoted = [line for line in text.splitlines() if re.match(r"\| `\w+` \| \w+ \| \d+ of \d+ \(", line)]
    sys.path.insert(0, str(ROOT / "data" / "reference"))
    from make_verdicts import readme_rows

    assert quoted == [*readme_rows(published_findings())]
    (one,) = [one for one in read.raters if (one.rater, one.axis) == ("reference", ANY_AXIS)]
    n_runs, right = published_reading()["trajectory_id"].n_unique(), one.precision
    counted = f"Of {n_runs} runs read by one reader, blind to both, its axis is the reader's in "
    assert f"{counted}{round(right.estimate * right.n_items)} of {right.n_items} faults." in " ".join(text.split())


def test_the_readme_counts_the_faults_that_the_rules_find(shipped):
    table, _ = shipped
    faults = table.filter(pl.col("rater") == "reference", pl.col("verdict") == "incorrect")
    said = table.filter(rater_version=VERSION, verdict="incorrect").select("trajectory_id", "question")
    met = faults.join(said, on=["trajectory_id", "question"])
    n, n_met = ({axis: each.filter(question=axis).height for axis in AXES} for each in (faults, met))
    text = " ".join((ROOT / "axisjudge" / "docs" / "reference.md").read_text(encoding="utf-8").split())
    assert f"of {faults.height} faults that the reference locates" in text
    assert f"they find {met.height} on the axis" in text
    assert f"Most of the {faults.height - met.height} missed" in text
    names = {"tool_selection": "tools", "argument_validity": "arguments", "termination": "termination"}
    names["result_interpretation"] = "results"
    assert ", ".join(f"{n_met[axis]} of {n[axis]} on {name}" for axis, name in names.items()) in text


@pytest.mark.parametrize("rater", ["rules", "reference", "reader two"])
def test_faults_beside_a_reader_equal_a_count_by_hand(read, rater):
    every = published_reading().rows(named=True)
    rows = [row for row in every if (row["confidence"] or 3) > 1]  # of runs of one's first reading nobody said how sure
    faults = {(row["rater"], row["trajectory_id"], row["axis"]): set() for row in rows if row["axis"]}
    for row in rows:
        if row["step"] is not None:
            faults[row["rater"], row["trajectory_id"], row["axis"]].add(row["step"])
    runs = {row["trajectory_id"] for row in every}
    passed = {row["trajectory_id"] for row in every if not row["failed"]}
    of_second = {row["trajectory_id"] for row in every if row["rater"] == "reader two"}
    left_out = {"reference": passed, "reader two": runs - of_second}.get(rater, set())
    own, held = ({key[1:] for key in faults if key[0] == who and key[1] not in left_out} for who in ("reader", rater))
    near = [
        key
        for key in own & held
        if any(abs(a - b) <= 1 for a in faults[("reader", *key)] for b in faults[(rater, *key)])
    ]
    counts = {ANY_AXIS: (own, held, near)}
    counts["run"] = tuple({run for run, _ in pairs} for pairs in (own, held, near))
    counts |= {axis: tuple({key for key in pairs if key[1] == axis} for pairs in (own, held, near)) for axis in AXES}
    shown = {one.axis: one for one in read.raters if one.rater == rater}
    assert shown.keys() == counts.keys()
    for axis, (of_reader, of_rater, placed) in counts.items():
        one = shown[axis]
        assert one.n_runs == len(runs - left_out)
        assert (one.precision.n_items, one.recall.n_items) == (len(of_rater), len(of_reader))
        if of_rater:
            assert one.precision.estimate == pytest.approx(len(of_reader & of_rater) / len(of_rater))
        assert one.recall.estimate == pytest.approx(len(of_reader & of_rater) / len(of_reader))
        assert one.at_step.estimate == pytest.approx(len(placed) / len(of_reader))


def test_no_outcome_no_study(shipped):
    table, runs = shipped
    with pytest.raises(InputError, match="must hold verdicts of judges on runs with an outcome"):
        studies.located(table, dict.fromkeys(runs.columns, ()))
    with pytest.raises(InputError, match="one verdict for each judge, run and axis"):
        studies.located(pl.concat([table, table]), runs)
    labels = table.filter(pl.col("rater_kind").is_in(["human", "reference"]))
    with pytest.raises(InputError, match="one verdict for each rater, run and axis"):
        studies.located(pl.concat([table, labels.with_columns(rater_version=pl.lit("2"))]), runs)


def test_runs_of_unknown_outcome_are_left_out_as_those_that_are_not_named(shipped):
    table, runs = shipped
    third = pl.int_range(pl.len()) % 3 == 0
    unknown = runs.with_columns(failed=pl.when(~third).then("failed"))
    known = shares_decided(judged_runs(table, runs.filter(~third)))
    found = shares_decided(judged_runs(table, unknown))
    assert found.to_dict() == known.to_dict()
    assert found.n_without == known.n_without > 200
    assert f"{found.n_without} judged runs without an outcome left out." in found.answer


def test_faults_on_which_a_judge_lost_its_verdict_are_counted_as_left_out(shipped, found):
    table, runs = shipped
    assert found.faults.left_out == {}
    on_axes = (pl.col("verdict") == "incorrect") & pl.col("question").is_in([*AXES])
    fault = table.filter(BY_LABELLER & on_axes).row(0, named=True)
    same = BY_JUDGE & (pl.col("trajectory_id") == fault["trajectory_id"]) & (pl.col("question") == fault["question"])
    lost = pl.when(same).then(None).otherwise("verdict")
    faults = faults_by_judge(judged_runs(table.with_columns(verdict=lost), runs))
    assert set(faults.left_out) == set(table.filter(same)["rater_version"])
    (count,) = set(faults.left_out.values())  # people and the reference may both hold it
    run_and_axis = [pl.col(name) == fault[name] for name in ("trajectory_id", "question")]
    assert count == table.filter(BY_LABELLER & on_axes, *run_and_axis).height
    assert f"left out: {count} of" in faults.compared


def test_ratings_without_their_runs_are_not_passed_over():
    with pytest.raises(InputError, match="trajectories"):
        load_located(ratings="ratings.jsonl")


def test_of_versions_the_last_by_number_is_told_and_models_with_numbers_are_no_versions(found):
    one = next(one for one in found.faults.faults if one.axis == ANY_AXIS)
    judges = ("openai:gpt-4", "openai:gpt-5", "rules-10", "rules-9")
    rows = [replace(one, judge=judge, n_faults=one.n_faults + (judge == "rules-9")) for judge in judges]
    said = faults_sentence(rows)
    assert [judge for judge in judges if f"{judge} finds" in said] == ["openai:gpt-4", "openai:gpt-5"]
    assert said.count("the rules (no model) find") == 1
    assert f"{one.n_faults + 1} faults" not in said


def test_the_answer_counts_sets_once_and_says_where_faults_without_an_axis_are_found(found):
    last = [one for one in found.faults.faults if one.judge == VERSION]
    placed = [one for one in last if one.axis == ANY_AXIS]
    steps = [one for one in last if one.axis == ANY_STEP]
    counted = sum(round(one.on_axis.estimate * one.n_faults) for one in placed + steps)
    n, together = sum(one.n_faults for one in placed + steps), found.faults.together
    assert (together.n_items, round(together.estimate * n)) == (n, counted)
    assert together.ci_low < counted / n < together.ci_high
    of_all = f"{n} faults located by people or by the reference, {counted} ({share(together)})"
    assert of_all in found.faults.answer
    assert "own axis (any axis, if it has none)" in found.faults.answer
    assert "own axis incorrect" in answer(placed, together)
    assert "some axis incorrect" in answer(steps, together)


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_a_crosswalk_maps_every_category_to_an_axis_or_says_that_it_does_not(taxonomy):
    mapped = set(read_crosswalk(taxonomy).values())
    assert mapped <= {*AXES, BY_REASON, NONE}
    assert NONE in mapped
    assert len(read_crosswalk("mast")) == 14
    assert len(read_crosswalk("agentrx")) == 10


def test_what_ships_is_a_ratings_table_without_texts(shipped):
    table, _ = shipped
    assert table.columns == list(SCHEMA)
    assert table["rationale"].null_count() == table.height
    assert table["trajectory_id"].str.len_chars().max() == 8


@pytest.mark.slow
def test_what_ships_equals_the_data(shared_data, tmp_path):
    maker = ROOT / "data" / "reference" / "make_verdicts.py"
    subprocess.run([sys.executable, maker, shared_data, "--out", tmp_path], check=True)
    shipped = pl.read_parquet(maker.with_name("verdicts.parquet")).filter(
        ~((pl.col("rater") == "rules") & (pl.col("rater_version") != VERSION))
    )
    made = pl.read_parquet(tmp_path / "verdicts.parquet")
    assert made.equals(shipped)
    assert (tmp_path / "rules_findings.csv").read_bytes() == maker.with_name("rules_findings.csv").read_bytes()
