"""What text for the judge moves: flips, verdicts taken in, confidence; by hand, and with a judge that obeys."""

import asyncio
import json
import math

import matplotlib as mpl
import polars as pl
import pytest

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges import Answer, Judge, Reply
from axisjudge.spec import JudgeSpec
from axisjudge.studies.twins.matrix import ANYWHERE, injected
from axisjudge.studies.twins.sentences import injection_rows, injection_sentence
from axisjudge.trajectory import Step, Trajectory
from axisjudge.twins import INJECTIONS, Twin, make_twins

mpl.use("Agg")


def runs(n):
    steps = (Step(index=0, role="user", content="Hello."), Step(index=1, role="assistant", content="Good day."))
    return [Trajectory(id=f"r{k}", source="test", task_id=str(k), steps=steps) for k in range(n)]


class Obeying(Judge):
    """Calls every third run incorrect, is moved by the word verdict, and grows less sure by any note."""

    kind = "llm"

    def __init__(self, name="obeys", obeys=True):
        super().__init__(JudgeSpec(provider="simulated", model=name, family=name))
        self.obeys = obeys

    def prompt_sha256(self, trajectory, rubrics):
        return trajectory.content_sha256

    def worst_usd(self, n_bytes, n_points=1, reply_tokens=0):
        return 0.0

    async def grade(self, trajectory, rubrics, *, repeat=0):
        await asyncio.sleep(0)
        text = " ".join(step.content for step in trajectory.steps).lower()
        faulty = int(trajectory.task_id) % 3 == 0
        word = "correct" if (self.obeys and "verdict" in text) or not faulty else "incorrect"
        sure = 0.9 - (0.2 if self.obeys and "judge" in text else 0.0)
        return Reply(
            {axis: Answer("ok", word, confidence=sure, confidence_source="verbalized") for axis in rubrics},
            cost_usd=0.0,
        )


TEXTS = {"spoken_verdict", "note_to_judge", "plain_text"}


@pytest.fixture(scope="module")
def found():
    originals = runs(30)
    made = make_twins(originals, ["spoken_verdict", "note_to_judge", "plain_text"]).twins
    asked = [*originals, *(twin.trajectory for twin in made)]
    ratings = axisjudge.judge(asked, [Obeying(), Obeying("deaf", obeys=False)], progress=False)
    return axisjudge.studies.twins(ratings, made)


def cell(found, judge, edit):
    return next(
        row
        for row in found.text.rows
        if row.judge.startswith(f"simulated:{judge}") and (row.edit, row.place) == (edit, ANYWHERE)
    )


def test_a_judge_that_obeys_is_found_out_and_a_deaf_one_is_not(found):
    obeys = cell(found, "obeys", "spoken_verdict")
    assert obeys.n_twins == 30
    assert obeys.flips.n_items == 150
    assert obeys.taken_in.n_items == 50
    assert obeys.taken_in.estimate > 0.3  # of the texts, most hold the word
    assert obeys.flips.estimate == pytest.approx(obeys.taken_in.estimate / 3)
    assert obeys.flips.n_clusters == 30
    assert cell(found, "obeys", "plain_text").flips.estimate == 0
    assert all(cell(found, "deaf", edit).flips.estimate == 0 for edit in TEXTS)
    assert (
        cell(found, "obeys", "note_to_judge").confidence.estimate
        < 0
        == cell(found, "deaf", "note_to_judge").confidence.estimate
    )


def test_the_places_add_up_to_anywhere(found):
    for judge in {row.judge for row in found.text.rows}:
        for edit in TEXTS:
            mine = [row for row in found.text.rows if (row.judge, row.edit) == (judge, edit)]
            (every,) = [row for row in mine if row.place == ANYWHERE]
            rest = [row for row in mine if row.place != ANYWHERE]
            assert sum(row.n_twins for row in rest) == every.n_twins
            assert sum(row.flips.n_items * row.flips.estimate for row in rest) == pytest.approx(
                every.flips.n_items * every.flips.estimate
            )


def test_the_words_the_table_and_the_figure(found, tmp_path):
    (judge,) = {row.judge for row in found.text.rows if row.judge.startswith("simulated:obeys")}
    assert "spoken_verdict flips most" in injection_sentence(found.text.rows, judge)
    (deaf,) = {row.judge for row in found.text.rows if row.judge.startswith("simulated:deaf")}
    assert "no text for the judge flipped" in injection_sentence(found.text.rows, deaf)
    assert {row["text"] for row in injection_rows(found.text.rows, judge)} == TEXTS
    assert found.text.plot(judge=judge).lines
    assert found.moved.matrix.cells == ()
    assert found.answer.startswith("simulated:")
    json.dumps([row.named_values() for row in found.text.rows], default=str)


def twin(number, edit="praise"):
    return Twin(f"a-{number:03d}", Trajectory(id=f"twin-{number:03d}", source="test"), edit, (), "x.", "user")


def test_lost_and_undecided_verdicts_are_counted_by_hand(table):
    """Before c c i u x c, after c i c c c x: four pairs, three flips; of i and u both became correct; two lost."""
    axis, rated = "termination", {}
    for number, (before, after) in enumerate(zip("cciuxc", "cicccx", strict=True)):
        rated |= {f"a-{number:03d}": {axis: before}, f"twin-{number:03d}": {axis: after}}
    rows = injected(table(rated), [twin(number) for number in range(6)])
    (row,) = [row for row in rows if row.place == ANYWHERE]
    assert (row.flips.n_items, row.flips.estimate) == (4, 0.75)
    assert (row.taken_in.n_items, row.taken_in.estimate) == (2, 1.0)
    assert row.lost == 2
    assert row.confidence.n_items == 4 or math.isnan(row.confidence.estimate)


def test_a_twin_nobody_judged_is_an_error_and_other_twins_are_left_out(table):
    rated = {"a-000": {"termination": "c"}}
    with pytest.raises(InputError, match="every twin"):
        injected(table(rated), [twin(0)])
    assert injected(table(rated), [twin(0, "cut_tail")]) == ()
    assert isinstance(table(rated), pl.DataFrame)
    assert "praise" in INJECTIONS
