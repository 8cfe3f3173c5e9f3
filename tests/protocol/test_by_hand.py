"""Standings, leaks, sides and trails by hand: what is said of counts, and each limit from both its sides."""

import subprocess
from hashlib import sha256
from typing import Any

import polars as pl
import pytest
from judging.worlds import trajectories

import axisjudge
from axisjudge import protocol
from axisjudge.checks import InputError
from axisjudge.judges.prompt import build_prefix
from axisjudge.protocol import AnalysisPlan, Split, Standing, find_leaks, gate, make_lock, open_holdout, standing_of
from axisjudge.protocol.gate import RatedBefore, shingles
from axisjudge.protocol.ledger import changes, digest, openings, read_ledger, rubric_trail
from axisjudge.protocol.lock import PROBE, PROBE_BUDGET, Status, alias_of
from axisjudge.protocol.split import balanced_salt, fingerprint, holdings, lopsided, off_shares
from axisjudge.protocol.standing import _agreement
from axisjudge.ratings import ratings_frame
from axisjudge.rubric import load_rubric
from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import Rating

PLAN = AnalysisPlan(axes=("termination", "sequencing"))


# What a standing says.


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (Standing(held_out=1, runs=1, made=((1, "once"),)), "Held-out data: 1 rating of 1 run, made once."),
        (
            Standing(held_out=1_200, runs=1_000, others=1_500, made=((1_000, "once"), (200, "in a look"))),
            "Held-out data: 1,200 ratings of 1,000 runs, made 1,000 once and 200 in a look; the other 1,500 are of "
            "runs that were open.",
        ),
        (Standing(held_out=2, runs=2, looks=1, made=((2, "once"),)), "Held-out data: 2 ratings of 2 runs, made once."),
        (
            Standing(held_out=2, runs=1, looks=2, optimism=0.12345, made=((2, "once"),)),
            "Held-out data: 2 ratings of 1 run, made once. The held-out side was seen 2 times; the best of so many "
            "looks flatters agreement by 0.123 on average, at times by more.",
        ),
        (Standing(), ""),
        (Standing(others=3, reasons=("why",)), "EXPLORATORY: why."),
    ],
)
def test_what_the_first_screen_says(standing: Standing, said: str) -> None:
    assert standing.headline == said
    if standing.held_out:
        assert standing.sentence == said
    assert (standing.matters, standing.confirmatory) == (bool(said), standing.held_out > 0)


@pytest.mark.parametrize(("planned", "said"), [(None, "1 run,"), (1, "1 run,"), (1_200, "1 run (1,200 planned),")])
def test_a_number_of_runs_that_was_not_planned_is_told(planned: int | None, said: str) -> None:
    plan = PLAN.model_copy(update={"n": planned})
    standing = Standing(held_out=1, runs=1, made=((1, "once"),), plan=plan)
    assert said in standing.sentence
    assert standing.sentence.endswith(f"{plan.sentence} All else is EXPLORATORY.")
    assert "tool_selection among them" in Standing(held_out=1, plan=plan, outside=("tool_selection",)).sentence
    assert Standing(plan=plan, reasons=("why",)).sentence == ""  # nothing held out is touched
    labels = (standing.label("cohen_kappa"), standing.label("gwet_ac1"), Standing(plan=plan).label("gwet_ac1"))
    assert labels == ("", "EXPLORATORY", "")
    assert Standing(held_out=1, plan=plan, reasons=("why",)).label("cohen_kappa") == "EXPLORATORY"
    assert Standing(held_out=1).label("cohen_kappa") == "EXPLORATORY"  # nothing was declared


@pytest.mark.parametrize(("n", "end"), [(5, "; 4."), (6, "; 4; and 1 more (axisjudge rubric status).")])
def test_a_banner_names_five_reasons(n: int, end: str) -> None:
    standing = Standing(reasons=tuple(map(str, range(n))))
    assert str(standing.banner).endswith(end)
    assert (standing.exploratory, standing.confirmatory) == (True, False)


def test_a_plan_in_words() -> None:
    assert PLAN.sentence == (
        "Declared before opening: cohen_kappa on sequencing, termination, uncertain verdicts left out, unweighted, "
        "differences up to 0.05 counted as none, and 95% intervals over tasks."
    )
    other = AnalysisPlan(axes=("termination",), uncertain="category", weighting="minimum", margin=0.1, ci_level=0.9)
    assert "as a verdict of their own, weighted by the minimum of confidences, differences up to 0.1" in other.sentence
    assert "90% intervals" in other.sentence


@pytest.mark.parametrize(
    ("status", "holds", "reasons"),
    [
        (Status(True), True, ()),
        (Status(False), False, ("nothing is locked",)),
        (Status(True, faults=("f",)), False, ("f",)),
        (Status(False, faults=("f",)), False, ("f",)),
        (Status(True, tuple(changes({"a": 1}, {"a": 2}))), False, ("changed since the lock: a was 1, is 2",)),
    ],
)
def test_a_lock_holds_where_nothing_speaks_against_it(status: Status, holds: bool, reasons: tuple[str, ...]) -> None:
    assert (status.holds, status.reasons) == (holds, reasons)


# Agreement on held-out items, by hand.


def said(run: str, rater: str, verdict: str | None, **given: Any) -> Rating:
    known: dict[str, Any] = {"trajectory_id": run, "cluster_id": "t", "question": "termination", "rater": rater}
    known |= {"rater_kind": "llm", "family": "f", "verdict": verdict, "status": "ok" if verdict else "refused"}
    return Rating(**known | given)


def test_agreement_is_the_share_of_pairs_of_raters_that_said_the_same() -> None:
    verdicts = {"c": "correct", "i": "incorrect", "u": "uncertain", "-": None}
    told = {"two of three": "cci", "two and two": "ccuu", "all": "cc", "alone": "c", "lost": "c-"}
    rows = [
        *(said(run, str(rater), verdicts[word]) for run, words in told.items() for rater, word in enumerate(words)),
        *(said("repeat", rater, "correct", repeat=n) for n, rater in enumerate("ab")),
        *(said("other axis", rater, "correct", question="sequencing") for rater in "ab"),
        *(said("mended", rater, verdicts[word]) for rater, word in (("a", "c"), ("b", "i"), ("a", "i"))),
    ]
    table = ratings_frame([]).vstack(pl.concat([ratings_frame([row]) for row in rows]))
    found = {row["item_id"]: row["share"] for row in _agreement(table, ["termination"]).iter_rows(named=True)}
    assert found == pytest.approx({"two of three": 1 / 3, "two and two": 1 / 3, "all": 1.0, "mended": 1.0})


# Ratings against the ledger.


@pytest.fixture
def opened(split: Split) -> Any:
    make_lock(["rules"], PLAN)
    return open_holdout("the rubrics are final")


@pytest.fixture
def held_out(opened: Any, runs: list[Trajectory]) -> pl.DataFrame:
    return axisjudge.judge(runs, ["rules"], ["sequencing", "termination"], progress=False, split="evaluation")


def test_a_rating_of_the_second_of_its_opening_is_not_older(opened: Any, held_out: pl.DataFrame) -> None:
    at_once = held_out.with_columns(created_at=pl.lit(opened.time))
    assert standing_of(at_once).confirmatory
    (why,) = standing_of(at_once.with_columns(created_at=pl.lit("2026-01-01T00:00:00+00:00"))).reasons
    assert why == f"{held_out.height} ratings are older than opening 1, whose stamp they bear"


def test_ratings_of_two_openings_are_told_apart(opened: Any, held_out: pl.DataFrame) -> None:
    second = open_holdout("once more")
    flags = pl.when(pl.col("question") == "termination").then(pl.lit([second.flag])).otherwise(pl.col("flags"))
    standing = standing_of(held_out.with_columns(flags=flags))
    assert (standing.opening, standing.openings, standing.looks) == (2, 2, 2)
    half = held_out.height // 2
    assert sorted(standing.made) == [(half, "at opening 1 of 2"), (half, "at opening 2 of 2")]
    assert "made 12 at opening" in standing.sentence
    assert standing.optimism is None  # nobody else rated these runs
    assert len(openings(read_ledger())) == 2


def test_what_is_open_beside_what_is_held_out_is_counted(
    split: Split, runs: list[Trajectory], held_out: pl.DataFrame
) -> None:
    beside = axisjudge.judge(runs, ["rules"], ["termination"], progress=False, split="calibration")
    standing = standing_of(pl.concat([beside, held_out]))
    assert (standing.held_out, standing.runs, standing.others) == (24, 12, 12)
    assert standing.confirmatory
    assert standing_of(held_out, n_judged=100).others == 76


def test_ratings_from_before_an_opening_are_named_with_their_runs(split: Split, runs: list[Trajectory]) -> None:
    early = axisjudge.judge(runs, ["rules"], ["termination"], progress=False, exploratory=True)
    found = gate.rated_before(early, split)
    assert (found.n_ratings, found.n_runs, len(found.tasks), found.raters) == (12, 12, 6, ("rules",))
    one = RatedBefore(1_000, 1, ("t",), ("a", "b"))
    assert one.rule == "1,000 ratings of 1 runs of 1 held-out task are there already"
    assert "2 held-out tasks" in RatedBefore(3, 2, ("t", "u"), ("a",)).rule
    assert one.sentence.startswith("Not held out in truth: 1,000 ratings")
    assert [bool(RatedBefore(n, 0, (), ())) for n in (0, 1)] == [False, True]
    make_lock(["rules"], PLAN)
    with pytest.raises(InputError, match=r"12 ratings of 12 runs of 6 held-out tasks are there already; found 'rules'"):
        open_holdout("too late", ratings=early)
    entry = open_holdout("all the same", ratings=early, despite_ratings=True)
    assert entry.reason == "all the same (although 12 ratings of 12 runs of 6 held-out tasks are there already)"
    assert not gate.rated_before(early.with_columns(flags=pl.lit([entry.flag])), split)
    assert set(gate.rated_tasks(early)) == {run.cluster_id for run in runs}
    assert set(gate.rated_tasks(early).values()) == {"rated before the split"}
    assert gate.rated_tasks() == {}  # no file of ratings is there


def test_the_last_side_is_held_out_where_none_is_named(bench: Any, runs: list[Trajectory]) -> None:
    split = protocol.make_split(runs, salt="s", shares={"a": 0.25, "b": 0.25, "c": 0.5})
    assert (split.held_out, split.open_side) == (("c",), "a")


# Leaks.

SPLIT = Split(salt="s", shares={"calibration": 0.5, "evaluation": 0.5}, held_out=("evaluation",))
HERE, ALSO = [str(task) for task in range(99) if SPLIT.side_of(str(task)) == "calibration"][:2]
THERE, FAR = [str(task) for task in range(99) if SPLIT.side_of(str(task)) == "evaluation"][:2]


def run(task: str, scenario: str, said: str = "", arguments: dict[str, Any] | None = None) -> Trajectory:
    call = (ToolCall(name="find", arguments=arguments),) if arguments else ()
    steps = (
        Step(index=0, role="system", content="The same policy for everybody, word for word, at some length."),
        Step(index=1, role="user", content=" "),
        Step(index=2, role="user", content=scenario),
        Step(index=3, role="assistant", content=said, tool_calls=call),
    )
    return Trajectory(id=f"run {task}", source="t", task_id=task, steps=steps)


def test_a_leak_at_the_threshold_is_one() -> None:
    """Nine words are five shingles; with the last one changed four are shared, of six in all."""
    words = [*"abcdefgh"]
    runs = [run(HERE, " ".join([*words, "one"])), run(THERE, " ".join([*words, "two"]))]
    (leak,) = [each for each in find_leaks(runs, SPLIT, threshold=4 / 6) if each.kind == "scenario"]
    assert (leak.similarity, leak.tasks, leak.trajectories) == (4 / 6, (HERE, THERE), (f"run {HERE}", f"run {THERE}"))
    assert [each for each in find_leaks(runs, SPLIT, threshold=4 / 6 + 1e-9) if each.kind == "scenario"] == []
    assert find_leaks(runs, SPLIT) == ()  # .8 by default
    assert find_leaks(runs[::-1], SPLIT, threshold=4 / 6)[0].tasks == (HERE, THERE)  # the open side first


def test_leaks_stand_by_their_likeness_and_calls_count() -> None:
    long = " ".join(f"w{n}" for n in range(60))
    runs = [
        run(HERE, "one", long, {"q": "x " * 30}),
        run(THERE, "two", long, {"q": "x " * 30}),
        run(ALSO, f"{long} three"),
        run(FAR, f"{long} four"),
    ]
    leaks = find_leaks(runs, SPLIT)
    assert [leak.similarity for leak in leaks] == sorted((leak.similarity for leak in leaks), reverse=True)
    assert {(leak.kind, leak.tasks) for leak in leaks} >= {("run", (HERE, THERE)), ("scenario", (ALSO, FAR))}
    apart = [run(HERE, "one", "so", {"q": long}), run(THERE, "one", "so", {"q": long[::-1]})]
    assert [leak.kind for leak in find_leaks(apart, SPLIT)] == ["scenario"]


@pytest.mark.parametrize(
    ("text", "n"), [("", 0), ("... !", 0), ("a", 1), ("a b c d", 1), ("a b c d e", 1), ("a b c d e f", 2)]
)
def test_shingles_are_runs_of_five_words(text: str, n: int) -> None:
    assert len(shingles(text)) == n
    assert len(shingles("a b c d e a b c d e")) == 5  # the sixth is the first again


def test_what_minhash_misses_is_as_the_comment_says() -> None:
    """Of similarity .8 once in 20,000, of .6 once in 8; the modulus is the first prime above 2**32."""

    def missed(similarity: float) -> float:
        return float((1 - similarity**gate.ROWS) ** gate.BANDS)

    assert 1 / missed(0.8) == pytest.approx(20_000, rel=0.05)
    assert 1 / missed(0.6) == pytest.approx(8, rel=0.06)
    assert gate.signature({1, 2}).shape == (125,)
    prime = int(gate._PRIME)
    is_prime = [all(n % divisor for divisor in range(2, 65_600)) for n in range(2**32 + 1, prime + 1, 2)]
    assert is_prime == [False] * (len(is_prime) - 1) + [True]


# Sides.


def test_sides_and_fingerprints_of_yesterday_are_those_of_today() -> None:
    """A split is kept in git: what it says must not change with the package."""
    thirds = SPLIT.model_copy(update={"shares": {"a": 0.25, "b": 0.25, "c": 0.5}, "held_out": ("c",)})
    ways = [int(sha256(f"s{n}".encode()).hexdigest()[:6], 16) / 16**6 for n in range(60)]
    assert [thirds.side_of(str(n)) for n in range(60)] == ["a" if w < 0.25 else "b" if w < 0.5 else "c" for w in ways]
    (one,) = trajectories(1)
    steps = (one.steps[0].model_copy(update={"content": "Bitte Buch 0 verlängern."}), *one.steps[1:])
    one = one.model_copy(update={"steps": steps})
    text = '[[["user", "Bitte Buch 0 verlängern.", []], ["assistant", "", []]], "user_stop"]'
    assert fingerprint(one) == sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("off", "n", "far"),
    [(0.1, 99, False), (0.101, 99, True), (-0.101, 99, True), (0.2, 5, False), (0.2, 6, True), (0.5, 2, False)],
)
def test_a_side_is_lopsided_where_it_is_far_from_its_share_by_more_than_a_task(off: float, n: int, far: bool) -> None:
    assert lopsided({"a": off, "b": 0.0}, n) == (["a"] if far else [])


def test_how_far_sides_are_from_their_shares() -> None:
    sides = {"1": "a", "2": "a", "3": "a", "4": "b"}
    assert off_shares(sides.__getitem__, sides, {"a": 0.5, "b": 0.5}) == {"a": 0.25, "b": -0.25}
    assert off_shares(sides.__getitem__, [], {"a": 0.5, "b": 0.5}) == {"a": 0.0, "b": 0.0}
    split = SPLIT.model_copy(update={"tasks": {"calibration": {HERE: [], ALSO: []}}, "tuned_on": {"x": "y"}})
    assert split.lopsided == {}  # two of two, and one apart is a task
    split = split.model_copy(
        update={"tasks": {"calibration": {HERE: [], ALSO: [], "x": []}, "evaluation": {THERE: []}}}
    )
    assert split.lopsided == {}


@pytest.mark.parametrize(("n", "most"), [(1, 0.5), (9, 0.5 / 9), (200, 0.02)])
def test_a_salt_is_drawn_until_sides_are_near_their_shares(n: int, most: float) -> None:
    """By a task at most, or by two in a hundred; a coin alone is off by more in half of all draws."""
    tasks = [f"t{place}" for place in range(n)]
    halves = {"a": 0.5, "b": 0.5}

    def rule(salt: str) -> Any:
        return SPLIT.model_copy(update={"salt": salt}).side_of

    for _ in range(3):
        salt = balanced_salt(rule, tasks, {"calibration": 0.5, "evaluation": 0.5})
        assert len(salt) == 16
        off = off_shares(rule(salt), tasks, {"calibration": 0.5, "evaluation": 0.5})
        assert max(map(abs, off.values())) <= most + 1e-9
    drawn: list[str] = []
    balanced_salt(lambda salt: lambda task: drawn.append(salt) or "a", ["t1", "t2"], halves)  # type: ignore[func-returns-value]
    assert len(set(drawn)) == 200  # where none is near, the nearest of so many


def test_what_a_side_holds(split: Split, runs: list[Trajectory]) -> None:
    mine = [each for each in runs if split.side_of(each) == "evaluation"]
    rewards = [1.0, 0.0, 0.5, *[None] * (len(mine) - 3)]
    agents = ["a", "b", None, *["a"] * (len(mine) - 3)]
    told = [
        each.model_copy(update={"reward": reward, "agent": agent})
        for each, reward, agent in zip(mine, rewards, agents, strict=True)
    ]
    here, there = holdings(split, told)
    assert (here.trajectories, here.mean_reward, here.share, here.held_out) == (0, None, 0.5, False)
    assert (there.rewarded, there.mean_reward, there.agents, there.tuned_on) == (3, 0.5, 2, 0)
    assert (there.trajectories, there.tasks) == (len(told), len({each.cluster_id for each in told}))


# Locks, ledgers and trails.


@pytest.mark.parametrize(
    ("was", "shown"),
    [("x" * 22, '"' + "x" * 22 + '"'), ("x" * 23, '"' + "x" * 20 + "..."), ("0" * 63, '"' + "0" * 20 + "...")],
)
def test_a_value_is_shown_whole_up_to_24_letters(was: str, shown: str) -> None:
    assert str(next(changes({"a": was}, {"a": 0}))) == f"a was {shown}, is 0"


@pytest.mark.parametrize(
    ("model", "moves"),
    [
        *(("claude-2.1", True), ("claude-opus-4-5", True), ("claude-opus-4-6", False), ("claude-5-haiku", False)),
        *(("claude-instant", False), ("claude-3-5-haiku-20241022", False), ("claude-opus-4-1-latest", True)),
        *(("claude-opus-4-10", False), ("claude-10", False)),
    ],
)
def test_a_claude_id_before_4_6_without_its_date_moves(model: str, moves: bool) -> None:
    assert (alias_of("anthropic", model) is not None) is moves


def test_what_a_lock_renders_is_one_of_everything_and_is_cut() -> None:
    """Whoever changes the probe breaks every lock there is: each freezes a hash of what it renders."""
    steps = PROBE.steps
    assert [step.index for step in steps] == list(range(8))
    assert {step.role for step in steps} == {"system", "user", "assistant", "tool"}
    assert [step.error for step in steps if step.role == "tool"] == [None, True, False]
    asked = {call.id: call for step in steps for call in step.tool_calls}
    assert {step.tool_call_id for step in steps if step.role == "tool"} == set(asked)
    assert [asked[name].arguments_error for name in "abc"] == [None, "not JSON", None]
    cut, whole = build_prefix(PROBE, budget=PROBE_BUDGET), build_prefix(PROBE)
    assert cut.cuts
    assert not whole.cuts
    assert digest(PROBE.model_dump(mode="json")) == "81df635e89b011d355b2400115c64472eb851e2c18710ecb0dc64900b4250559"


def test_the_trail_of_a_rubric_names_the_commit_that_brought_it_in(bench: Any) -> None:
    stone = rubric_trail("termination")[-1]
    rubric = load_rubric("termination")
    assert (stone.version, stone.sha256, stone.status) == (rubric.version, rubric.sha256, "current")
    assert stone.commit is None  # no checkout of git

    def git(*words: str) -> str:
        who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *words], cwd=bench, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    git("add", f"rubrics/termination/{rubric.version}.md")
    git("commit", "-qm", "one")
    assert rubric_trail("termination")[-1].commit == git("rev-parse", "--short", "HEAD").strip()
    older = [stone.commit for stone in rubric_trail("termination")[:-1]]
    assert older == [None] * len(older)  # not brought in yet


def test_an_empty_ledger_has_no_entries(bench: Any) -> None:
    (bench / "rubrics" / "ledger.jsonl").write_text("")
    assert read_ledger() == []
    assert protocol.find_split() is None
