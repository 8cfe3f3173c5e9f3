"""What is written comes back: property tests over formats, and what a format cannot hold is refused or counted."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.imports import import_ratings
from axisjudge.labels.formats import FORMATS, Terms, export_labels
from axisjudge.labels.formats.exchange import recognised
from axisjudge.labels.own import ratings_of
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, OPEN, VERDICTS, Rating, identity

FAST = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
RUNS = {
    name: Trajectory(
        id=name,
        source="test",
        task_id=f"t{number}",
        agent="someone",
        domain="shop",
        reward=0.0,
        steps=tuple(Step(index=i, role="user", content=f"line {i}", source_index=i + 1) for i in range(6)),
    )
    for number, name in enumerate(("run-1", "run 2", "r#3x", "läufer__4"))
}

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
people = st.sampled_from(["ada", "a b", "c@example.org", 'Dö, "E"', "7"])
steps = st.lists(st.integers(0, 5), unique=True, max_size=3).map(sorted)
shares = st.none() | st.floats(0, 1)


def person(rater, run, question, **fields):
    about = {"trajectory_id": run, "task_id": RUNS[run].task_id, "cluster_id": RUNS[run].cluster_id}
    about |= {"agent": "someone", "domain": "shop"}
    return Rating(**about, rater=rater, rater_kind="human", family="human", question=question, **fields)


@st.composite
def axis_labels(draw, sides=True, unfinished=True):
    """Labels on the five axes as the labeller writes them, with what every label may carry."""
    keys = st.tuples(people, st.sampled_from(sorted(RUNS)), st.sampled_from(AXES))
    found = []
    for rater, run, axis in draw(st.lists(keys, unique=True, min_size=1, max_size=8)):
        fields = {"verdict": draw(st.sampled_from(VERDICTS)), "flags": ["drawn:random", "drawn_probability:0.25"]}
        if sides:
            fields |= {"rationale": draw(st.none() | texts), "cited_step_indices": draw(steps)}
            if unfinished and fields["rationale"] is not None and draw(st.booleans()):
                fields |= {"verdict": None, "status": "refused", "flags": [OPEN, *fields["flags"]]}
        found.append(person(rater, run, axis, **fields))
    return found


@st.composite
def any_ratings(draw):
    """Ratings with whatever a record may hold."""
    found = []
    for label in draw(axis_labels()):
        sure = draw(shares)
        change = {
            "step_index": draw(st.none() | st.integers(0, 5)),
            "repeat": draw(st.integers(0, 2)),
            "confidence": sure,
            "confidence_source": None if sure is None else "human",
            "latency_s": draw(st.none() | st.floats(0, 1e6)),
            "created_at": draw(st.none() | st.just("2026-11-02T09:00:00Z")),
            "rubric_version": draw(st.none() | st.just("v3")),
            "probabilities": draw(st.none() | st.just({"correct": 0.25, "incorrect": 0.75})),
            "invalid_citations": draw(st.lists(st.integers(90, 99), max_size=2)),
        }
        found.append(Rating(**{**label.model_dump(exclude={"item_id"}), **change}))
    return list({identity(rating): rating for rating in found}.values())


def back(ratings, form, terms=None):
    """Exported, and imported from a file; the export's own report is checked on the way."""
    terms = terms or Terms()
    made = export_labels(ratings, form, terms)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{FORMATS[form].suffix}"
        path.write_text(made.text, encoding="utf-8", newline="")
        told = Terms(rater=made.import_terms.rater, scales=made.import_terms.scales, trajectories=terms.trajectories)
        assert recognised(path) == form
        return made, FORMATS[form].read(path, told)[0]


def in_order(ratings):
    return sorted(ratings, key=lambda rating: str(identity(rating)))


@pytest.mark.slow
@FAST
@given(any_ratings())
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_our_own_files_hold_every_field(form, ratings):
    made, came = back(ratings, form)
    assert made.lost == {}
    assert in_order(came) == in_order(ratings)


@FAST
@given(axis_labels())
def test_label_studio_and_argilla_hold_labels_with_notes_and_steps(ratings):
    for form in ("label-studio", "argilla"):
        made, came = back(ratings, form, Terms(trajectories=RUNS))
        assert made.lost == {}
        assert in_order(came) == in_order(ratings)


@FAST
@given(axis_labels(), st.floats(0, 1))
def test_label_studio_holds_confidence_and_argilla_counts_it(ratings, sure):
    confident = [label.model_copy(update={"confidence": sure, "confidence_source": "human"}) for label in ratings]
    made, came = back(confident, "label-studio")
    assert made.lost == {}
    assert in_order(came) == in_order(confident)
    assert back(confident, "argilla")[0].lost == {"confidence": len(ratings), "confidence_source": len(ratings)}


@pytest.mark.slow
@FAST
@given(axis_labels(sides=False))
def test_crowd_kit_and_alttest_hold_words_and_count_the_rest(ratings):
    bare = [label.model_copy(update={"flags": []}) for label in ratings]
    for form in ("crowd-kit", "alttest"):
        made, came = back(bare, form, Terms(trajectories=RUNS))
        assert made.lost == {}, "tasks and agents come from the trajectories"
        assert in_order(came) == in_order(bare)
        made, _ = back(ratings, form)
        assert made.lost["flags"] == made.lost["agent"] == len(ratings)


@FAST
@given(
    st.dictionaries(
        st.sampled_from(sorted(RUNS)), st.dictionaries(st.sampled_from([None, 1, 3]), st.sampled_from([-1, 0, 1]))
    )
)
def test_agentprocessbench_holds_step_labels(said):
    words = {-1: "-1", 0: "0", 1: "+1"}
    ratings = [
        Rating(
            trajectory_id=run,
            step_index=step,
            task_id=f"tau_shop:{run}",
            cluster_id=f"tau_shop:{run}",
            domain="shop",
            question="final" if step is None else "step",
            scale="step",
            verdict=words[value],
            value=float(value),
            rater="ada",
            rater_kind="human",
            family="human",
            rationale="why" if value < 0 else None,
        )
        for run, labels in said.items()
        for step, value in labels.items()
    ]
    whole = [rating for rating in ratings if None in said[rating.trajectory_id]]
    if whole:
        made, came = back(whole, "agentprocessbench")
        assert made.lost == {}
        assert in_order(came) == in_order(whole)


@FAST
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["run-1", "run 2"]),
            st.sampled_from(["tool_selection", "argument_validity", "sequencing", "result_interpretation", "no_axis"]),
            st.lists(st.integers(0, 5), unique=True, min_size=1, max_size=3).map(sorted),
        ),
        unique_by=lambda failure: failure[:2],
        min_size=1,
    )
)
def test_agentrx_holds_failures_and_the_users_own(failures):
    users = {"scale": "nominal:underspecified_user_intent,intent_not_supported", "verdict": "intent_not_supported"}
    ratings = [
        person(
            "ada",
            run,
            question,
            cited_step_indices=cited,
            **(users if question == "no_axis" else {"verdict": "incorrect"}),
        )
        for run, question, cited in failures
    ]
    made, came = back(ratings, "agentrx", Terms(trajectories=RUNS))
    assert made.lost == {}
    assert in_order(came) == in_order(ratings)


@FAST
@given(any_ratings(), st.sampled_from(sorted(FORMATS)))
def test_nothing_is_lost_without_a_word(ratings, form):
    try:
        made, came = back(ratings, form, Terms(trajectories=RUNS))
    except InputError:
        return
    core = ("item_id", "question", "rater", "repeat")
    place = {tuple(getattr(each, name) for name in core): each for each in came}
    assert len(came) == len(ratings)
    for rating in ratings:
        other = place[tuple(getattr(rating, name) for name in core)]
        different = {name for name in Rating.model_fields if getattr(rating, name) != getattr(other, name)}
        assert different <= made.lost.keys()
        assert rating.verdict == other.verdict


@pytest.mark.parametrize(
    ("form", "change", "message"),
    [
        ("crowd-kit", {"verdict": None, "status": "refused"}, "cannot hold"),
        ("alttest", {"verdict": None, "status": "refused"}, "cannot hold"),
        ("agentrx", {"verdict": "correct"}, "failures on its own axes alone"),
        ("agentrx", {"question": "termination"}, "failures on its own axes alone"),
        ("agentrx", {"cited_step_indices": []}, "stands at a step"),
        ("agentprocessbench", {}, "holds the questions step and final"),
    ],
)
def test_a_label_that_a_format_cannot_hold_refuses_the_export(form, change, message):
    fields = {"verdict": "incorrect", "cited_step_indices": [2], "question": "sequencing", **change}
    label = person("ada", "run-1", fields.pop("question"), **fields)
    with pytest.raises(InputError, match=message):
        export_labels([label], form, Terms(trajectories=RUNS))


@pytest.mark.parametrize("form", ["argilla", "alttest"])
def test_two_words_of_one_person_on_one_item_are_not_merged(form):
    twice = [person("ada", "run-1", "sequencing", verdict="correct", repeat=repeat) for repeat in (0, 1)]
    with pytest.raises(InputError, match="holds one"):
        export_labels(twice, form)


def test_real_sets_go_through_every_format_that_holds_them(shared_data):
    people = import_ratings([shared_data / "alttest" / "mtbench"]).ratings.filter(rater_kind="human")
    ratings = ratings_of(people)
    assert len(ratings) == 246
    for form in ("jsonl", "csv", "label-studio", "argilla"):
        made, came = back(ratings, form)
        assert made.lost == {}
        assert in_order(came) == in_order(ratings)
