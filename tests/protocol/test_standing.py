"""What ratings may claim, and every reason for which they may not."""

import json

import polars as pl
import pytest
from protocol.places import current_path

import axisjudge
from axisjudge import protocol
from axisjudge.protocol import AnalysisPlan, Standing, make_lock, open_holdout, standing_of
from axisjudge.protocol.standing import standing_rows
from axisjudge.ratings import ratings_frame
from axisjudge.rubric import load_rubric
from axisjudge.verdict import Rating

PLAN = AnalysisPlan(axes=("termination", "sequencing"))
AXES = ["sequencing", "termination"]


def judged(runs, axes=AXES, **how):
    return axisjudge.judge(runs, ["rules"], axes, progress=False, **how)


@pytest.fixture
def opened(split):
    make_lock(["rules"], PLAN)
    return open_holdout("the rubrics are final")


@pytest.fixture
def held_out(opened, runs):
    return judged(runs, split="evaluation")


def labels(table: pl.DataFrame) -> pl.DataFrame:
    """What people would say of the same items: the opposite of every fourth verdict."""
    rows = table.filter(pl.col("question") == "termination").iter_rows(named=True)
    said = [
        Rating(
            trajectory_id=row["trajectory_id"],
            cluster_id=row["cluster_id"],
            question="termination",
            rater="p1",
            rater_kind="human",
            family="people",
            verdict="incorrect" if place % 4 == 0 else row["verdict"],
        )
        for place, row in enumerate(rows)
    ]
    return ratings_frame(said)


def reason(table) -> str:
    standing = standing_of(table)
    assert not standing.confirmatory
    assert standing.exploratory
    assert standing.banner.startswith("EXPLORATORY: ")
    return "; ".join(standing.reasons)


def test_ratings_of_no_study_have_no_standing(bench, runs):
    standing = standing_of(judged(runs))
    assert not standing.matters
    assert (standing.banner, standing.sentence, standing.label("gwet_ac1")) == (None, "", "")


def test_ratings_of_the_open_side_have_none_either(split, runs):
    assert not standing_of(judged(runs, split="calibration")).matters


def test_ratings_under_an_opening_are_confirmatory(held_out):
    standing = standing_of(held_out)
    assert standing.confirmatory
    assert standing.reasons == ()
    assert (standing.held_out, standing.opening, standing.openings, standing.looks) == (held_out.height, 1, 1, 1)
    assert standing.optimism is None  # nothing was selected
    assert "Held-out data: 24 ratings of 12 runs, made when they were opened, once." in standing.sentence
    assert "Declared before opening: cohen_kappa on sequencing, termination" in standing.sentence


def test_ratings_from_before_the_split_or_a_look_are_counted_apart_from_those_of_an_opening(held_out, opened, runs):
    early = pl.col("question") == "sequencing"
    unstamped = held_out.with_columns(
        split=pl.when(early).then(None).otherwise(pl.col("split")),
        flags=pl.when(early).then(pl.lit([], pl.List(pl.String))).otherwise(pl.col("flags")),
    )
    assert [n for n, _ in standing_of(held_out).made] == [24]
    mixed = {how: n for n, how in standing_of(unstamped).made}
    assert mixed == {"when they were opened, once": 12, "when no split held them out": 12}
    assert "no opening" not in standing_of(unstamped.filter(early)).sentence
    beside = held_out.filter(early).with_columns(flags=pl.lit([], pl.List(pl.String)))
    assert standing_of(beside).made == ((12, "without an opening"),)
    look = judged(runs, split="evaluation", exploratory=True)
    assert sum(n for n, how in standing_of(pl.concat([held_out, look])).made if "look" in how) == look.height


def test_what_the_plan_does_not_declare_is_exploratory(held_out, opened, runs):
    standing = standing_of(held_out)
    assert standing.label("cohen_kappa", "termination") == ""
    assert standing.label("cohen_kappa", "tool_selection") == "EXPLORATORY"
    assert standing.label("gwet_ac1", "termination") == "EXPLORATORY"
    assert standing_of(held_out, statistic="cohen_kappa").confirmatory
    assert standing_of(held_out, statistic="gwet_ac1").reasons == (
        "gwet_ac1 is not in the plan, which declares cohen_kappa",
    )
    more = judged(runs, ["sequencing", "tool_selection"], split="evaluation")
    assert standing_of(more).outside == ("tool_selection",)
    assert "All else (tool_selection among them) is EXPLORATORY." in standing_of(more).sentence
    assert "the plan declares other axes" in reason(judged(runs, ["tool_selection"], split="evaluation"))


def test_the_exploratory_flag(split, runs):
    said = reason(judged(runs, split="evaluation", exploratory=True))
    assert "ratings were judged with --exploratory" in said
    assert "nothing is locked yet" in said


def test_one_exploratory_rating_is_enough(held_out, runs):
    last = judged(runs[-2:], exploratory=True)
    assert "4 of" in reason(pl.concat([held_out, last]))


def test_exploratory_ratings_of_the_open_side_touch_nothing_held_out_and_are_exploratory(split, runs):
    open_side = judged(runs, split="calibration", exploratory=True)
    n = open_side.height
    assert standing_of(open_side).reasons == (f"{n} of {n} ratings were judged with --exploratory",)


def test_the_rows_that_matter_have_the_standing_of_all(held_out, runs):
    open_side = judged(runs, split="calibration")
    rows, n_judged = standing_rows(pl.concat([open_side, held_out]).lazy())
    assert (rows.height, n_judged) == (held_out.height, open_side.height + held_out.height)
    assert standing_of(rows, n_judged=n_judged) == standing_of(pl.concat([open_side, held_out]))
    assert standing_rows(open_side.lazy())[0].is_empty()


def test_no_split(bench, held_out):
    (bench / "rubrics" / "split.json").unlink()
    (bench / "rubrics" / "ledger.jsonl").unlink()
    assert "there is no split" in reason(held_out)


def test_a_split_that_was_removed_hides_nothing(bench, held_out):
    (bench / "rubrics" / "split.json").unlink()
    assert "the split was removed" in reason(held_out)
    bare = held_out.with_columns(pl.lit(None, pl.String).alias("split"), flags=pl.lit([], pl.List(pl.String)))
    assert "the split was removed" in reason(bare)  # the ledger knows the rule that made these held out


def test_an_edited_split_is_not_called_absent(bench, held_out):
    path = bench / "rubrics" / "split.json"
    path.write_text(path.read_text().replace('"salt": "s"', '"salt": "t"'))
    assert "was moved" in reason(held_out)
    assert "there is no split" not in reason(held_out)


def test_no_lock(bench, held_out):
    (bench / "rubrics" / "lock.json").unlink()
    assert "lock.json was removed" in reason(held_out)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda lock: lock["plan"].update(statistic="gwet_ac1"), "plan.statistic"),
        (lambda lock: lock["judges"]["rules"].update(version="rules-0"), "judges.rules.version"),
    ],
    ids=["plan", "judge"],
)
def test_a_lock_that_was_edited_names_the_field(bench, held_out, change, field):
    path = bench / "rubrics" / "lock.json"
    lock = json.loads(path.read_text())
    change(lock)
    path.write_text(json.dumps(lock))
    assert f"changed since the lock: {field} was" in reason(held_out)


def test_a_new_lock_names_what_is_new(held_out):
    make_lock(["rules"], PLAN.model_copy(update={"margin": 0.2}))
    assert "opening 1 was made under another lock: plan.margin was 0.05, is 0.2" in reason(held_out)


def test_a_rubric_edited_after_the_lock(bench, held_out):
    path = current_path(bench, "termination")
    path.write_text(path.read_text().replace("## Question", "## Question\n\nBe strict."))
    assert "changed since the lock: rubrics.termination.sha256 was" in reason(held_out)


def test_an_edited_ledger(bench, held_out):
    path = bench / "rubrics" / "ledger.jsonl"
    path.write_text(path.read_text().replace("are final", "are not final"))
    assert "ledger.jsonl:2: the chain is broken: this entry was edited" in reason(held_out)


def test_a_ledger_cut_off_at_the_end_is_missed_by_the_ratings(bench, held_out):
    path = bench / "rubrics" / "ledger.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert "opening 1 is not in the ledger: its last entries were removed" in reason(held_out)
    open_holdout("the first time, as it were")  # the number is the same, the hash is not
    assert "opening 1 is not in the ledger" in reason(held_out)


def test_ratings_without_a_stamp(opened, held_out):
    bare = held_out.with_columns(flags=pl.lit([], dtype=pl.List(pl.String)), split=pl.lit(None, dtype=pl.String))
    assert f"{held_out.height} ratings of held-out tasks were judged before the opening" in reason(bare)


def test_ratings_older_than_their_opening(held_out):
    early = held_out.with_columns(created_at=pl.lit("2020-01-01T00:00:00+00:00"))
    assert "are older than opening 1, whose stamp they bear" in reason(early)


def test_judges_and_rubrics_that_were_not_locked(held_out):
    other = held_out.with_columns(rater=pl.lit("openai:gpt-5"), rubric_sha256=pl.lit("0" * 64))
    said = reason(other)
    assert "judges that are not locked: openai:gpt-5" in said
    locked = load_rubric("termination")
    assert f"ratings on termination were made with another rubric than the locked {locked.version}" in said
    mine = held_out.filter(pl.col("question") == "termination")
    assert standing_of(mine.with_columns(rubric_sha256=pl.lit(locked.sha256))).confirmatory


def test_held_out_runs_that_changed(held_out, runs, split):
    run = next(run for run in runs if split.side_of(run) == "evaluation")
    protocol.make_split([run.model_copy(update={"id": "new", "termination": "other"})])
    assert "the held-out runs are not those of opening 1" in reason(held_out)


def test_labels_need_no_opening(split, runs, opened, held_out):
    assert standing_of(pl.concat([held_out, labels(held_out)])).confirmatory
    assert not standing_of(labels(held_out)).matters


def test_from_the_second_look_on_the_optimism_is_told(opened, held_out, runs):
    table = pl.concat([held_out, labels(held_out)])
    assert standing_of(table).optimism is None
    open_holdout("once more")
    standing = standing_of(table)
    assert (standing.opening, standing.openings, standing.looks) == (1, 2, 2)
    # agreement with people is .75 by construction, in pairs of runs a task
    from axisjudge.stats.comparisons.ranking import expected_maximum, standard_error

    agree = [place % 4 != 0 for place in range(labels(held_out).height)]
    rows = held_out.filter(pl.col("question") == "termination")
    expected = expected_maximum(2) * standard_error(agree, rows["cluster_id"].to_numpy())
    assert standing.optimism == pytest.approx(expected)
    assert expected > 0.01
    assert f"seen 2 times; the best of so many looks flatters agreement by {expected:.3f} on" in standing.sentence


def test_an_exploratory_look_counts_as_a_look(split, runs):
    judged(runs, split="evaluation", exploratory=True)
    make_lock(["rules"], PLAN)
    open_holdout("properly now")
    standing = standing_of(judged(runs, split="evaluation"))
    assert (standing.openings, standing.looks) == (1, 2)
    assert "seen 2 times; how much the best look may flatter cannot be bounded" in standing.sentence


def test_two_openings_with_the_same_answers_select_nothing(opened, held_out, runs):
    """The same judge said the same under both openings: the best of the two is neither."""
    second = open_holdout("once more")
    again = held_out.with_columns(flags=pl.lit([second.flag], dtype=pl.List(pl.String)))
    table = pl.concat([held_out, again, labels(held_out)])
    assert standing_of(table).optimism == 0


@pytest.mark.filterwarnings("ignore::axisjudge.judges.lifecycle.RetirementWarning")
def test_an_alias_that_another_model_answers_to(split, runs, opened, held_out):
    """The lock says who answered on the open side; a provider that moved the name since is found."""
    answered = held_out.with_columns(rater=pl.lit("openai:gpt-5"), returned_model=pl.lit("gpt-5-2025-08-07"))
    make_lock(["openai:gpt-5"], PLAN, allow_alias=True, ratings=answered)
    moved = answered.with_columns(returned_model=pl.lit("gpt-5-2026-01-01"))
    assert "another model answered" not in reason(answered)
    assert "another model answered: gpt-5-2026-01-01 (at the lock: gpt-5-2025-08-07)" in reason(moved)


@pytest.mark.slow
def test_the_example_of_the_module_holds(bench):
    """The loop as the docstring has it: others build on it."""
    from textwrap import dedent

    text = protocol.__doc__.partition("::\n")[2].partition("\n`axisjudge.report.Page`")[0]
    code = dedent(text)
    assert "workbench.use(protocol.rehearsal())" in code
    said: dict = {}
    exec(code, said)
    assert said["standing"].confirmatory
    assert said["standing"].label("gwet_ac1", "sequencing") == "EXPLORATORY"
    assert protocol.status().holds
    assert said["split"].tuned_on


def test_a_long_list_of_reasons_is_cut_in_the_banner_and_kept_whole_beside_it():
    standing = Standing(reasons=tuple(f"reason {n}" for n in range(9)))
    assert standing.banner.endswith("; reason 4; and 4 more (axisjudge rubric status).")
    assert len(standing.to_dict()["reasons"]) == 9


@pytest.mark.parametrize(
    ("side", "flags", "matters"),
    [
        ("evaluation", [], True),
        (None, ["opening:1:0123456789ab"], True),
        ("calibration", [], False),
        (None, [], False),
        (None, None, False),
    ],
)
def test_a_side_or_a_flag_each_makes_a_rating_held_out(held_out, side, flags, matters):
    """Runs that the split does not know: a rating's own words decide."""
    strange = held_out.with_columns(
        split=pl.lit(side, pl.String), flags=pl.lit(flags, pl.List(pl.String)), cluster_id=pl.lit("a task of nobody")
    )
    assert standing_of(strange).matters is matters


def test_a_split_that_cannot_be_read_is_said_and_nothing_is_confirmed(bench, runs):
    table = judged(runs)
    (bench / "rubrics" / "split.json").write_text("{")
    assert "split.json" in reason(table)
    assert not standing_of(table.clear()).matters
