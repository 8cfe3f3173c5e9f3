"""The store: the scores of any order of arrival are those of all runs together, in SQLite and in PostgreSQL."""

import json
import math
import random
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.scores.run_score.rules import ScorecardRules
from axisjudge.scores.run_score.runs import Run, runs_frame
from axisjudge.scores.run_score.score import score_runs, scorecards
from axisjudge.service import database as tables
from axisjudge.service.database import Database
from axisjudge.service.store import Conflict, Kept, ScoreStore, Wanted, card_of
from axisjudge.studies.run_score.labels import compete

from .load import made_run, runs_in

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


#: Minutes from noon to 1969.
A_BROKEN_CLOCK = -30_000_000


def run(run_id="run-1", **fields):
    return Run.model_validate({"run_id": run_id, "agent_id": "a", "workspace_id": "w", **fields})


def completed(number, wall=60.0, minute=None, **fields):
    ended = NOON + timedelta(minutes=number if minute is None else minute)
    return run(f"run-{number}", outcome="COMPLETED", wall_seconds=wall, ended_at=ended.isoformat(), **fields)


def as_if_together(runs, rules=None):
    return {card.run_id: card for card in scorecards(score_runs(runs_frame(runs), rules=rules or ScorecardRules()))}


def held(store, runs):
    return {run.run_id: card_of(store.get(run.run_id)) for run in runs}


def facts_in(store):
    with store.database.reading() as connection:
        return list(connection.execute(sa.select(tables.agent_runs.c.facts)).scalars())


@pytest.fixture
def store(store_url):
    store = ScoreStore(store_url)
    yield store
    store.close()


def test_a_score_is_kept_with_all_that_the_text_names(store):
    (kept,) = store.add([run(outcome="COMPLETED", stages=[{"attempts": 1, "passed": True}])])
    row = store.get("run-1")
    assert kept.is_new
    assert {"score_id", "run_id", "agent_id", "workspace_id", "score", "axis_scores", "weight_snapshot"} <= row.keys()
    assert (row["score"], row["tier"], row["formula_version"]) == (85, "Gold", "2")
    assert row["weight_snapshot"] == {"completion": 0.4, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": 0.1}
    assert row["scored_at"].tzinfo is not None
    assert (row["detail"]["low"], row["detail"]["high"]) == (70, 100)


def test_twice_is_once_and_other_facts_are_a_conflict(store):
    first, again = (store.add([completed(1, spec_id="s")])[0] for _ in range(2))
    assert (first.is_new, again.is_new, first.card == again.card) == (True, False, True)
    with pytest.raises(Conflict, match="run run-1: is known with other facts"):
        store.add([completed(2), completed(1, wall=61.0)])
    assert store.get("run-2") is None
    with pytest.raises(Conflict):
        store.add([completed(3), completed(3, wall=61.0)])
    assert store.add([completed(3), completed(3)])[0].is_new
    assert len(store.waiting()) == 2


def test_what_is_unusable_is_kept_as_it_came(store):
    odd = run(outcome="x\x00'\"", wall_seconds=math.nan, memory_peak_bytes=math.inf, cpu_wall_ms=-1.0)
    assert store.add([odd, odd])[1].card.components["completion"] == 50
    assert store.add([odd])[0].is_new is False
    assert runs_in(store)["wall_seconds"].is_nan().all()


def test_a_late_run_scores_those_after_it_anew_and_keeps_the_old_score(store):
    store.add(completed(number, minute=number) for number in range(10, 15))
    store.add([completed(20, wall=60.0)])
    before = store.get("run-20")
    assert before["axis_scores"]["latency"] == 80
    (late,) = store.add([completed(5, wall=300.0, minute=5)])
    assert late.card.baseline_runs == 0
    after = store.get("run-20")
    assert after["score_id"] == before["score_id"]
    assert after["detail"]["baseline_runs"] == 6
    assert store.superseded("run-20") == []
    store.add([completed(6, wall=300.0, minute=6), completed(7, wall=300.0, minute=7), completed(8, 300.0, minute=8)])
    store.add([completed(9, wall=300.0, minute=9)])
    after = store.get("run-20")
    assert after["detail"]["baseline_seconds"] == 180.0
    assert after["axis_scores"]["latency"] == 100
    old = store.superseded("run-20")
    assert old[0]["score_id"] == before["score_id"]
    assert old[-1]["superseded_by"] == after["score_id"]
    sent = [event for _, event in store.waiting(1000)]
    assert [event["supersedes"] for event in sent if event["score_id"] == after["score_id"]] == [old[-1]["score_id"]]


def test_runs_of_two_workspaces_do_not_touch_each_other(store):
    store.add(completed(number) for number in range(10, 16))
    before = store.get("run-15")
    store.add([completed(1, wall=1.0, minute=1, workspace_id="other")])
    assert store.get("run-15") == before


def test_not_scored_is_unranked_and_sends_no_event(store):
    (kept,) = store.add([completed(1, scored=False)])
    assert (kept.card.score, kept.card.tier, store.get("run-1")["score"]) == (None, "Unranked", None)
    assert store.waiting() == []


drawn_runs = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from([1.0, 30.0, 60.0, None]),
        st.sampled_from(["COMPLETED", "COMPLETED", "FAILED"]),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn_runs, st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_order_of_arrival_does_not_matter_ties_included(drawn, dice, at_once):
    rules = ScorecardRules(window=3, min_samples=2)
    runs = [
        run(
            f"run-{k}",
            outcome=outcome,
            wall_seconds=wall,
            ended_at=None if minute is None else (NOON + timedelta(minutes=minute)).isoformat(),
        )
        for k, (minute, wall, outcome) in enumerate(drawn)
    ]
    shuffled = dice.sample(runs, len(runs))
    store = ScoreStore("sqlite://", rules=rules)
    for start in range(0, len(shuffled), at_once):
        store.add(shuffled[start : start + at_once])
    try:
        assert held(store, runs) == as_if_together(runs, rules)
    finally:
        store.close()


@pytest.mark.slow
def test_many_runs_from_eight_writers_in_any_order(store):
    dice = random.Random(3)
    runs = [Run.model_validate(made_run(number, dice, late=80.0)) for number in range(80)]
    shuffled = dice.sample(runs, len(runs))
    failures = []

    def write(part):
        try:
            for one in part:
                store.add([one])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(shuffled[k::8] + shuffled[k : k + 3],)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert held(store, runs) == as_if_together(runs)


def test_one_id_from_two_workspaces_at_once_is_one_run(store):
    outcomes = []

    def write(workspace):
        try:
            outcomes.append(store.add([run("same", workspace_id=workspace)])[0].is_new)
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=write, args=(f"w{k}",)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["True", *["conflict"] * 5]


@pytest.mark.slow
def test_only_a_changed_score_is_an_event(store):
    """Late runs move the components of those after them; an event goes out where the score itself changed."""
    dice = random.Random(8)
    for number in range(60):
        store.add([Run.model_validate(made_run(number, dice, late=20.0, workspaces=1))])
    events = [event for _, event in store.waiting(10_000)]
    told = {}
    for event in events:
        key = (event["score"], event["tier"])
        assert told.get(event["run_id"]) != key
        told[event["run_id"]] = key
    changes = sum(len(store.superseded(event["run_id"])) for event in {e["run_id"]: e for e in events}.values())
    assert len(events) == len(told) + changes
    assert all(told[name] == (store.get(name)["score"], store.get(name)["tier"]) for name in told)
    assert changes > 0


def test_each_run_of_a_group_for_itself(store):
    store.add([completed(1)])
    outcomes = store.add_each([completed(2), completed(1, wall=9.0), completed(1), completed(2)])
    assert [type(outcome) for outcome in outcomes] == [Kept, Conflict, Kept, Kept]
    assert [outcome.is_new for outcome in outcomes if isinstance(outcome, Kept)] == [True, False, False]


def test_the_ranking_is_that_of_the_table(store):
    dice = random.Random(2)
    runs = [
        completed(
            number,
            wall=dice.choice([None, 30.0, 60.0, -5.0, math.nan, 1e308]),
            minute=dice.choice([*range(9), A_BROKEN_CLOCK]),
            spec_id="spec",
            artefact=f"branch-{number}",
            stages=[{"attempts": dice.choice([1, 2]), "passed": True}],
        )
        for number in range(40)
    ]
    store.add(runs)
    table = runs_frame(runs)
    ranked = compete(score_runs(table), table, spec="spec", rng=np.random.default_rng(0)).ranked
    for limit in (40, 7):
        rows = store.ranking(Wanted(workspace_id="w", spec_id="spec"), limit=limit)
        assert [row["run_id"] for row in rows] == ranked["run_id"].to_list()[:limit]
        assert [row["detail"]["artefact"] for row in rows] == ranked["artefact"].to_list()[:limit]
        assert [row["wall_seconds"] for row in rows] == ranked["wall_seconds"].to_list()[:limit]
    assert set(ranked["wall_seconds"]) == {None, 30.0, 60.0}  # what cannot be true wins no tie
    assert store.ranking(Wanted(workspace_id="v", spec_id="spec")) == []


@pytest.mark.parametrize("wall", [-5.0, math.nan, math.inf, 1e308, None])
def test_a_time_that_cannot_be_true_wins_no_tie(store, wall):
    late = completed(1, wall=30.0, minute=9, spec_id="spec")
    store.add(
        [
            completed(0, wall=wall, minute=1, spec_id="spec"),
            late,
            completed(2, wall=30.0, minute=A_BROKEN_CLOCK, spec_id="spec"),
        ]
    )
    ranked = store.ranking(Wanted(workspace_id="w", spec_id="spec"))
    assert len({row["score"] for row in ranked}) == 1
    assert [(row["run_id"], row["wall_seconds"]) for row in ranked] == [
        ("run-1", 30.0),
        ("run-2", 30.0),
        ("run-0", None),
    ]


class TestLists:
    def test_newest_first_page_by_page_without_gap_or_double(self, store):
        runs = [completed(number, minute=number // 3) for number in range(20)]  # three of each end
        store.add(random.Random(0).sample(runs, 20))
        store.add([run("elsewhere", agent_id="b")])
        seen, after = [], None
        while True:
            rows, after = store.page(Wanted(agent_id="a"), limit=3, after=after)
            seen += [row["run_id"] for row in rows]
            if after is None:
                break
            store.add([completed(100 + len(seen), minute=500)])  # a newer one does not move what follows
        assert seen == [one.run_id for one in sorted(runs, key=lambda one: (one.ended_at, one.run_id), reverse=True)]

    def test_by_workspace_and_nobody(self, store):
        store.add([completed(1), completed(2, workspace_id="v")])
        assert [row["run_id"] for row in store.page(Wanted(workspace_id="v"))[0]] == ["run-2"]
        assert store.page(Wanted(agent_id="nobody")) == ([], None)


class TestSchema:
    def test_a_store_that_must_exist_is_not_made(self, store_url):
        with pytest.raises(InputError, match=r"no such store|holds no scores"):
            ScoreStore(store_url, must_exist=True)
        if "://" not in store_url:
            assert not Path(store_url).exists()
            sqlite3.connect(store_url).execute("create table other (x)").connection.close()
            before = Path(store_url).read_bytes()
            with pytest.raises(InputError, match="holds no scores"):
                ScoreStore(store_url, must_exist=True)
            assert Path(store_url).read_bytes() == before
        database = Database(store_url)
        with database.reading() as connection:
            assert not sa.inspect(connection).has_table("agent_runs")
        database.close()

    @pytest.mark.parametrize("version", [2, 99])
    def test_a_store_of_other_tables_is_left_alone(self, store_url, version):
        ScoreStore(store_url).close()
        database = Database(store_url)
        with database.writing() as connection:
            connection.execute(tables.schema_version.update().values(version=version))
        with pytest.raises(InputError, match=f"tables are of version {version}"):
            ScoreStore(store_url)
        database.close()

    @pytest.mark.slow
    def test_many_open_a_new_store_at_once(self, store_url, tmp_path):
        failures = []

        def opened(url):
            try:
                ScoreStore(url).close()
            except Exception as error:
                failures.append(error)

        for url in (store_url, *(str(tmp_path / f"{number}.sqlite") for number in range(20))):
            threads = [threading.Thread(target=opened, args=(url,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert failures == []

    def test_the_score_is_checked_by_the_database_too(self, store):
        store.add([completed(1)])
        with pytest.raises(sa.exc.IntegrityError), store.database.writing() as connection:
            connection.execute(tables.agent_run_scores.update().values(score=101))

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("mysql://host/name", "must be SQLite or PostgreSQL"),
            ("no/such/folder/scores.sqlite", "the folder of the store does not exist"),
            ("postgresql://tester:not-a-key@127.0.0.1:1/none", "cannot be opened"),
        ],
    )
    def test_stores_that_cannot_be(self, url, said):
        with pytest.raises(InputError, match=said) as found:
            ScoreStore(url)
        assert "not-a-key" not in str(found.value)
        assert "\n" not in str(found.value)

    def test_a_file_that_is_no_store(self, tmp_path):
        (tmp_path / "text.sqlite").write_text("this is not a database, only text that is long enough" * 9)
        with pytest.raises(InputError, match="cannot be opened"):
            ScoreStore(str(tmp_path / "text.sqlite"))


def test_the_facts_are_json_that_others_can_read(store):
    store.add([completed(1)])
    with store.database.reading() as connection:
        facts = json.loads(connection.execute(sa.select(tables.agent_runs.c.facts)).scalar())
    assert facts["wall_seconds"] == 60.0


def test_a_write_does_not_grow_with_its_workspace(tmp_path):
    store, steps = ScoreStore(str(tmp_path / "s.sqlite")), [0]

    def count_steps(connection):
        connection.connection.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 20)

    sa.event.listen(store.database.engine, "begin", count_steps)

    def steps_of(number):
        steps[0] = 0
        store.add([completed(number)])
        return steps[0]

    store.add([completed(number) for number in range(60)])
    few = steps_of(60)
    store.add([completed(number) for number in range(100, 1100)])
    assert 0 < steps_of(1100) < 1.5 * few
    store.close()
