"""The judging run: every question asked once, every answer kept, whatever happens on the way."""

import asyncio
import gc
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest
from judging.providers import healthy, providing
from judging.worlds import CoinJudge, rubrics, run_plan, trajectories

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.judges import Answer, Reply, make_judges
from axisjudge.judging import api, make_plan
from axisjudge.judging.judging_run import of_plan
from axisjudge.judging.plan import together
from axisjudge.judging.run import Progress, done_of, too_long
from axisjudge.ratings import RatingsWriter, ratings_frame, read_ratings
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, Rating


def run(plan, **options):
    ratings: list[Rating] = []
    statuses = asyncio.run(run_plan(plan, ratings.extend, progress=False, **options))
    return ratings, statuses


def run_into(path: Path, judges, n=4, **options):
    """A run with a file, as `axisjudge.judge` does it, for judges that no spec names."""
    with RatingsWriter(path) as writer:
        done = done_of(read_ratings(path))
        plan = make_plan(trajectories(n), judges, rubrics(), done=done, **options)
        if plan.groups:
            asyncio.run(run_plan(plan, writer.append, progress=False))
    return plan, of_plan(read_ratings(path), plan)


@pytest.mark.parametrize("joint", [False, True])
def test_every_question_is_asked_once(joint):
    judge = CoinJudge(joint=joint)
    plan = make_plan(trajectories(3), [judge], rubrics(), repeats=2)
    ratings, statuses = run(plan)
    assert plan.n_calls == (3 * 2 if joint else 3 * 2 * 5) == len(judge.calls)
    assert statuses == Counter(ok=30)
    assert {(r.trajectory_id, r.question, r.repeat) for r in ratings} == {
        (t.id, axis, repeat) for t in trajectories(3) for axis in AXES for repeat in range(2)
    }
    assert judge.closed


def test_ratings_have_the_identities_that_were_planned():
    plan = make_plan(trajectories(2), [CoinJudge("a"), CoinJudge("b", joint=True)], rubrics())
    ratings, _ = run(plan)
    assert of_plan(ratings_frame(ratings), plan).height == len(ratings) == len(plan.identities) == 20


def test_a_rating_names_the_rubric_that_its_judge_read():
    texts = rubrics()
    ratings, _ = run(make_plan(trajectories(1), [CoinJudge()], texts))
    read = {rating.question: (rating.rubric_version, rating.rubric_sha256) for rating in ratings}
    assert read == {axis: (texts[axis].version, texts[axis].sha256) for axis in AXES}
    by_rules, _ = run(make_plan(trajectories(1), make_judges(["rules"]), texts))
    assert {(rating.rubric_version, rating.rubric_sha256) for rating in by_rules} == {(None, None)}


def test_the_first_call_of_a_trajectory_goes_ahead_of_its_followers():
    judge = CoinJudge(delay=0.01)
    run(make_plan(trajectories(3), [judge], rubrics()), concurrency=2)
    for trajectory in trajectories(3):
        events = [event for event, trajectory_id in judge.log if trajectory_id == trajectory.id]
        assert events[:2] == ["begins", "ends"]  # the provider has cached the prefix before the others ask
        assert len(events) == 10


def test_concurrency_is_a_ceiling_and_is_used():
    judge = CoinJudge(delay=0.005)
    run(make_plan(trajectories(12), [judge], rubrics()), concurrency=8)
    assert judge.most_under_way == 8


def test_a_second_run_asks_nothing(tmp_path):
    first, second = CoinJudge(), CoinJudge()
    _, before = run_into(tmp_path / "r.jsonl", [first])
    plan, after = run_into(tmp_path / "r.jsonl", [second])
    assert second.calls == []
    assert plan.cached == 20
    assert plan.n_calls == 0
    assert after.equals(before)


def test_what_was_lost_is_asked_again_unless_it_is_kept(tmp_path):
    path = tmp_path / "r.jsonl"
    judge = CoinJudge()
    judge.planted = {("run-1", "termination"): "api_error", ("run-2", "sequencing"): "parse_error"}
    _, table = run_into(path, [judge])
    assert sorted(table["status"].unique()) == ["api_error", "ok", "parse_error"]

    kept = CoinJudge()
    plan, table = run_into(path, [kept], keep_lost=True)
    assert kept.calls == []
    assert plan.kept_lost == 2
    assert table.filter(table["status"] != "ok").height == 2

    again = CoinJudge()
    _, table = run_into(path, [again])
    assert sorted((t, *axes) for t, axes, _ in again.calls) == [("run-1", "termination"), ("run-2", "sequencing")]
    assert table["status"].unique().to_list() == ["ok"]
    assert table.height == 20


def test_what_would_be_lost_again_is_asked_again_only_where_it_is_named(tmp_path):
    path = tmp_path / "r.jsonl"
    judge = CoinJudge()
    judge.planted = {("run-1", "termination"): "refused", ("run-2", "sequencing"): "truncated"}
    run_into(path, [judge])
    idle = CoinJudge()
    plan, _ = run_into(path, [idle])
    assert (idle.calls, plan.kept_lost) == ([], 2)
    again = CoinJudge()
    run_into(path, [again], retry=["refused"])
    assert [(run, *axes) for run, axes, _ in again.calls] == [("run-1", "termination")]
    with pytest.raises(InputError, match="retry: must be one of refused, truncated"):
        run_into(path, [again], retry=["api_error"])


def test_a_lost_answer_of_a_joint_call_does_not_overwrite_the_others(tmp_path):
    path = tmp_path / "r.jsonl"
    judge = CoinJudge(joint=True)
    judge.planted = {("run-0", "sequencing"): "refused"}
    run_into(path, [judge], n=1)
    lines = path.read_bytes().splitlines()
    run_into(path, [CoinJudge(joint=True)], n=1, retry=["refused"])
    added = path.read_bytes().splitlines()[len(lines) :]
    assert [Rating.model_validate_json(line).question for line in added] == ["sequencing"]


def test_more_trajectories_axes_or_repeats_only_add(tmp_path):
    path = tmp_path / "r.jsonl"
    run_into(path, [CoinJudge()], n=2)
    judge = CoinJudge()
    run_into(path, [judge], n=3, repeats=2)
    assert len(judge.calls) == 5 + 3 * 5


def test_a_call_is_paid_once_and_its_shares_add_up():
    ratings, _ = run(make_plan(trajectories(1), [CoinJudge(joint=True)], rubrics()))
    assert sum(rating.input_tokens for rating in ratings) == 11
    assert sum(rating.output_tokens for rating in ratings) == 7
    assert sum(rating.cost_usd for rating in ratings) == pytest.approx(0.01)
    assert len({rating.call_id for rating in ratings}) == 1


def test_the_shares_of_a_call_about_some_axes_add_up_too():
    some = {axis: rubrics()[axis] for axis in AXES[2:]}
    ratings, _ = run(make_plan(trajectories(1), [CoinJudge(joint=True)], some))
    assert [rating.input_tokens for rating in ratings] == [4, 4, 3]


def test_citations_out_of_range_are_kept_and_flagged():
    ratings, _ = run(make_plan(trajectories(1), [CoinJudge()], rubrics()))
    assert all(rating.cited_step_indices == [1, 7] for rating in ratings)
    assert all(rating.invalid_citations == [7] for rating in ratings)
    assert all("citation_out_of_range" in rating.flags for rating in ratings)


@pytest.mark.parametrize(
    ("ending", "verdict"), [("agent_error", "incorrect"), ("user_stop", "uncertain"), (None, "not_applicable")]
)
def test_a_run_without_messages_is_rated_by_definition_and_nobody_is_asked(ending, verdict):
    empty = Trajectory(id="empty", source="test", termination=ending)
    judge = CoinJudge()
    ratings, _ = run(make_plan([empty], [judge], rubrics()))
    assert judge.calls == []
    assert {r.question: r.verdict for r in ratings} == dict.fromkeys(AXES, "not_applicable") | {"termination": verdict}


def test_an_error_of_our_own_stops_the_run_and_keeps_what_is_written(tmp_path):
    class Broken(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            if trajectory.id == "run-2":
                raise InputError("run-2", "cannot be judged")
            return await super().grade(trajectory, rubrics, repeat=repeat)

    path = tmp_path / "r.jsonl"
    with pytest.raises(InputError, match="run-2"):
        run_into(path, [Broken(delay=0.001)])
    assert 0 < read_ratings(path).height < 20  # what was under way came in, the rest was not asked
    _, table = run_into(path, [CoinJudge()])
    assert table.height == 20


def test_two_trajectories_of_one_id_are_refused():
    with pytest.raises(InputError, match="each id may occur once; found 'run-0'"):
        make_plan([*trajectories(1), *trajectories(1)], [CoinJudge()], rubrics())


def test_the_plan_as_a_table():
    done = {}
    plan = make_plan(trajectories(2), [CoinJudge("a"), CoinJudge("b", joint=True)], rubrics(), done=done)
    assert plan.rows() == [
        {"judge": "simulated:a", "family": "a", "calls": 10, "ratings": 10, "there already": 0},
        {"judge": "simulated:b", "family": "b", "calls": 2, "ratings": 10, "there already": 0},
    ]


def test_the_progress_bar_shows_done_cached_and_failed(capsys, tmp_path):
    judge = CoinJudge()
    judge.planted = {("run-0", "termination"): "refused"}
    plan = make_plan(trajectories(1), [judge], rubrics())
    asyncio.run(run_plan(plan, lambda ratings: None, progress=True))
    shown = capsys.readouterr().err
    assert "5/5" in shown
    assert "cached 0, failed 1" in shown
    assert "ratings/s" in shown


def test_a_rationale_of_fifty_megabytes_and_a_hundred_thousand_citations_are_cut_and_said_to_be():
    class Endless(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            answer = Answer("ok", "correct", 0.5, cited_step_indices=(0, 1) * 50_000, rationale="x" * 50_000_000)
            return Reply(dict.fromkeys(rubrics, answer), call_id="c" * 10_000)

    ratings, _ = run(make_plan(trajectories(1), [Endless()], {"termination": rubrics()["termination"]}))
    (rating,) = ratings
    assert len(rating.model_dump_json()) < 25_000
    assert {"rationale_cut:50000000", "citations_cut:100000"} <= set(rating.flags)
    assert (rating.verdict, rating.cited_step_indices, rating.rationale[-5:]) == ("correct", [0, 1], "[cut]")


def test_runs_too_long_for_a_judges_context_are_counted_before_the_first_call(tmp_path, capsys):
    short, other = trajectories(2)
    long = other.model_copy(update={"steps": (*other.steps, Step(index=2, role="tool", content="word " * 10_000))})
    (judge,) = make_judges(["openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    plan = make_plan([short, long], [judge], rubrics())
    assert too_long(plan, judge) is None  # nobody told how long its context is
    judge.context_told = 8_192
    said = too_long(plan, judge)
    assert "1 of 2 runs" in said
    assert "8,192" in said
    assert long.id in said
    assert short.id not in said
    judge.context_told = 32_768
    assert too_long(plan, judge) is None
    with providing(m=healthy(0.0)) as provider:
        provider.context = 8_192
        judges = [f"openai-compatible:m@{provider.url},family=x"]
        axisjudge.judge([short, long], judges, out=tmp_path / "r.jsonl")
    assert f"1 of 2 runs are too long for its context of 8,192 tokens ({long.id}" in capsys.readouterr().err


def test_waiting_is_one_line_that_changes_on_a_screen_and_two_in_a_pipeline(capsys):
    plan = make_plan(trajectories(1), [CoinJudge()], rubrics())
    lines = {}
    for show in (True, False):
        with Progress(plan, show=show) as bar:
            for _ in range(3):  # pauses within a minute
                for left in range(37, 0, -1):
                    bar.wait("http://p.example", f"one waits for {left} s")
                bar.wait("http://p.example", None)
        lines[show] = capsys.readouterr().err
    assert lines[True].count("\n") <= 1
    assert "one waits for 37 s" in lines[True]
    assert lines[False].count("\n") == 2
    assert "answers again" in lines[False]


def test_a_long_wait_is_told_from_where_it_began(capsys, monkeypatch):
    """A pause that is told again after a minute, and one that begins within the minute in which nothing is told."""
    with Progress(make_plan(trajectories(1), [CoinJudge()], rubrics()), show=False) as bar:
        for now, line in (
            (0, "waits"),
            (70, "waits still"),
            (80, None),
            (90, "waits"),
            (131, "waits still"),
            (140, None),
        ):
            monkeypatch.setattr("time.monotonic", lambda now=now: float(now))
            bar.wait("http://p.example", line)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    assert (told[2].endswith("again after 80 s"), told[4].endswith("again after 50 s")) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("theirs", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_is_as_it_was_after_a_run(theirs, fails):
    """The plan is kept from it while a run goes on; what a program has frozen itself stays so, whatever happens."""
    during: list[int] = []

    class Looks(CoinJudge):
        async def grade(self, *args, **options):
            during.append(gc.get_freeze_count())
            if fails:
                raise InputError("judge", "is broken")
            return await super().grade(*args, **options)

    gc.unfreeze()  # what the suite itself has frozen
    if theirs:
        gc.freeze()
    try:
        with pytest.raises(InputError) if fails else nullcontext():
            run(make_plan(trajectories(2), [Looks()], rubrics()))
        after = gc.get_freeze_count()
    finally:
        gc.unfreeze()
    assert min(during) > 0
    assert (after > 0) == theirs


def test_a_long_run_holds_its_ratings_packed_and_gives_them_all(tmp_path, monkeypatch):
    whole = axisjudge.judge(trajectories(4), ["rules"], progress=False)
    monkeypatch.setattr("axisjudge.judging.run._BATCH", 3)
    table = axisjudge.judge(trajectories(4), ["rules"], out=tmp_path / "r.jsonl", progress=False)
    same = ["item_id", "question", "verdict", "status", "rationale"]
    assert table.select(same).equals(whole.select(same))


def test_several_plans_are_one_occasion_and_no_call_is_made_twice():
    first, second = CoinJudge("a"), CoinJudge("b")
    plans = [make_plan(trajectories(n), [judge], rubrics()) for n, judge in ((2, first), (3, second), (3, first))]
    both = together(plans)
    assert [group[0].judge.rater for group in both.groups[:4]] == [first.rater, second.rater] * 2
    calls = [
        (call.judge.rater, call.trajectory.id, axis) for group in both.groups for call in group for axis in call.wanted
    ]
    assert len(calls) == len(set(calls)) == 2 * 3 * 5
    assert both.identities == plans[1].identities | plans[2].identities
    assert [judge.rater for judge in both.judges] == [first.rater, second.rater]


def test_what_a_program_froze_stays_frozen():
    gc.freeze()
    try:
        run(make_plan(trajectories(1), [CoinJudge()], rubrics()))
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    run(make_plan(trajectories(1), [CoinJudge()], rubrics()))
    assert gc.get_freeze_count() == 0


def test_a_run_without_messages_has_no_prompt_to_keep(tmp_path):
    (empty,) = (each.model_copy(update={"steps": ()}) for each in trajectories(1))
    axisjudge.judge(
        [empty, *trajectories(2)[1:]], [CoinJudge()], ["termination"], keep_prompts=tmp_path / "p", progress=False
    )
    assert len((tmp_path / "p").read_text().splitlines()) == 1


def test_the_run_on_a_held_out_side_is_that_of_the_lock(tmp_path, monkeypatch):
    runs = trajectories(24)
    with workbench.at(protocol.rehearsal(tmp_path / "bench")):
        split = protocol.make_split(runs, salt="s")
        lock = protocol.make_lock(["rules"], protocol.AnalysisPlan(axes=("termination",), statistic="cohen_kappa"))
        protocol.open_holdout("the rubrics are final")
        table = api.held_out_run(runs).carry_out(progress=False)
        assert read_ratings(workbench.own() / "data" / "ratings" / "opening-1.jsonl").height == table.height
        monkeypatch.setattr(api, "read_split", lambda: split.model_copy(update={"held_out": ("a", "b")}))
        with pytest.raises(InputError, match="several are held out"):
            api.held_out_run(runs)
    held = [run.id for run in runs if split.side_of(f"library/{run.task_id}") == split.held_out[0]]
    assert sorted(table["trajectory_id"]) == sorted(held)
    assert set(table["question"]) == {"termination"}
    assert lock["rubrics"]["termination"]["version"]
