"""Answers and sentences on any data: nobody is named best or worst without a rank set, what is missing has words."""

import re
from itertools import product

import numpy as np
import polars as pl
import pytest

import axisjudge
from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate, many
from axisjudge.studies._shared.words import directed, listed, share
from axisjudge.studies.people.sentences import one_best
from axisjudge.twins import make_twins

AXES = ("tool_selection", "sequencing", "termination")
AGENTS = ("ant", "bee", "cat")
#: A count of one before a plural noun that our sentences count, and numbers that are none.
PLURAL = re.compile(
    r"\b1 (runs|tasks|items|judges|agents|axes|clusters|verdicts|pairs|cells|claims|rates|points|questions|specs|twins"
    r"|labels|steps|calls|anchors|occasions|changes|flips|tests|times|ratings|raters)\b"
)


def sentences_of(text):
    return [part for part in re.split(r"(?<=[.!?])\s+(?=[A-Za-z'])", text) if part]


def checked(result):
    """Every sentence of a result read by rule."""
    assert 1 <= len(sentences_of(result.answer)) <= 3, result.answer
    for text in (result.answer, *result.sentences):
        assert not re.search(r"\bnan\b|\binf\b|\bNone\b(?! of)", text), text
        assert not PLURAL.search(text), text
        assert not re.search(r"undefined \(|on undefined|  ", text), text
    return result


def world(table, rng, rates, tasks=12):
    """Two judges that fail agents on axes at these rates, a run of each agent on each task."""
    words = {}
    for task, (place, agent) in product(range(tasks), enumerate(AGENTS)):
        fails = rng.random(len(AXES)) < rates[place]
        words[f"{agent}-{task}"] = {axis: "ii" if fail else "cc" for axis, fail in zip(AXES, fails, strict=True)}
    return table(words)


def named(text, names):
    return {name for name in names if re.search(rf"\b{name}\b", text)}


@pytest.mark.parametrize("seed", range(2, 5))
def test_failures_name_no_axis_and_no_agent_that_the_rank_sets_do_not(table, seed):
    rng = np.random.default_rng(seed)
    rates = np.full((3, 3), 0.3) if seed < 3 else np.outer([0.05, 0.3, 1.0], [0.2, 0.5, 1.0])
    found = checked(studies.failures(world(table, rng, rates)))
    for ranking in (found.axes, found.agents):
        seen = named(found.answer, ranking.names)
        if ranking.sets.refusal or ranking.sets.tied:
            assert not seen
        elif len(ranking.first) == 1:
            assert seen == set(ranking.first)
        else:
            assert set(ranking.first) <= seen
            assert "share first place" in found.answer


def test_failures_name_the_one_that_stands_alone(table):
    rates = np.outer([1.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    found = studies.failures(world(table, np.random.default_rng(0), rates, tasks=20))
    assert named(found.answer, AXES) == {"termination"}
    assert "36 of 36" not in found.answer
    assert "60 of 60 runs" in found.answer


def people_world(rng, accuracies, tasks=40):
    """Judges that are right with these chances, one run a task, one person."""
    from judged import ratings

    truth = rng.random(tasks) < 0.4
    words = np.array(["correct", "incorrect"])
    columns = {"ann": words[truth.astype(int)].tolist()}
    for number, accuracy in enumerate(accuracies):
        wrong = rng.random(tasks) > accuracy
        columns[f"j{number}"] = words[(truth ^ wrong).astype(int)].tolist()
    both = ratings(columns, kinds={"ann": "human"})
    human = pl.col("rater_kind") == "human"
    return both.filter(~human), both.filter(human)


@pytest.mark.parametrize("accuracies", [(0.8, 0.8, 0.8), (0.99, 0.5, 0.5)])
def test_people_name_a_best_judge_only_where_its_interval_and_its_rank_set_say_so(accuracies):
    found = checked(studies.people(*people_world(np.random.default_rng(2), accuracies)))
    (question,) = found.claims.comparison.questions
    seen = named(found.answer, question.panel.judges)
    allowed = {question.panel.judges[j] for j in question.kappa_ranks.first}
    assert seen <= allowed
    assert (len(seen) == 1) == one_best(question)
    assert one_best(question) == (accuracies[1] == 0.5)


def test_precision_and_recall_of_failures_are_counts():
    judges, people = people_world(np.random.default_rng(3), (0.7,))
    (question,) = studies.people(judges, people).claims.comparison.questions
    said, truth = (np.array(side.sort("item_id")["verdict"]) == "incorrect" for side in (judges, people))
    hit, failing = (said & truth).sum(), question.judges[0].failing
    assert failing.precision.estimate == pytest.approx(hit / said.sum())
    assert failing.recall.estimate == pytest.approx(hit / truth.sum())
    assert failing.f1.estimate == pytest.approx(2 * hit / (said.sum() + truth.sum()))
    assert failing.f1.ci_low < failing.f1.estimate < failing.f1.ci_high


DEGENERATE = {
    "one judge": {f"ant-{i}": {"termination": "c", "sequencing": "i"} for i in range(3)},
    "three items": {"ant-1": {"termination": "ci"}, "ant-2": {"termination": "cc"}, "bee-1": {"termination": "ii"}},
    "all lost": {f"{agent}-{i}": {"termination": "xx"} for i in range(3) for agent in AGENTS[:2]},
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_says_what_cannot_be_said(table, name):
    rated = table(DEGENERATE[name])
    person = rated.filter(pl.col("rater") == "j1").with_columns(rater=pl.lit("ann"), rater_kind=pl.lit("human"))
    for study in (studies.failures, studies.agreement, studies.evidence):
        found = checked(study(rated))
        assert re.search(r"cannot|no |not |none|nothing|only", found.answer, re.IGNORECASE)
    if name != "all lost":
        checked(studies.people(rated, person))
    twice = [rated.with_columns(rubric_version=pl.lit(v), rubric_sha256=pl.lit(v)) for v in ("v1", "v2")]
    axis = {"termination": ["v1", "v2"]}
    if name == "three items":
        assert "Too few items to tell" in checked(studies.rubric_versions(pl.concat(twice), axis)).answer
    else:
        with pytest.raises(InputError):
            studies.rubric_versions(pl.concat(twice), axis)


@pytest.mark.parametrize("name", ["agreement", "failures", "few_runs", "panels", "people", "twins"])
def test_a_judge_that_rated_nothing_is_named_and_never_passed_over(table, name):
    letters = dict.fromkeys(AXES, "icii")
    runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:1] if name == "twins" else []
    made = make_twins(runs, ["plain_text"]).twins
    ids = [run.id for run in [*runs, *(twin.trajectory for twin in made)]]
    judged = table({f"bee-{task}": letters for task in range(4)})
    if name == "twins":
        judged = table(dict.fromkeys(ids, letters))
    people = judged.filter(rater="j3").with_columns(rater=pl.lit("ann"), rater_kind=pl.lit("human"))
    given = (pl.concat([judged, people]), *([made] if name == "twins" else []))
    asked = studies.agreement.judged_items if name == "agreement" else getattr(studies, name)
    with pytest.raises(InputError, match=r"judges: .*found 'j22'; did you mean 'j2'"):
        asked(*given, judges=["j1", "j22"])


def test_a_judge_whose_family_is_not_stated_is_a_judge_everywhere(table):
    axes = {"sequencing": "icciic", "termination": "iiccci"}
    judged = table(
        {f"bee-{task}": {axis: letters[task % 4 :][:3] for axis, letters in axes.items()} for task in range(12)}
    )
    people = judged.filter(rater="j3").with_columns(rater=pl.lit("ann"), rater_kind=pl.lit("human"))
    stated = pl.concat([judged, people.with_columns(family=pl.lit("human"))])
    unstated = stated.with_columns(family=pl.when(pl.col("rater") != "j2").then("family"))
    assert unstated["family"].null_count() == 24
    for study in (studies.agreement, studies.people, studies.failures):
        assert study(unstated).answer == study(stated).answer
    asked = {"question": "sequencing"}
    assert studies.panels(unstated, **asked).panel.families == studies.panels(stated, **asked).panel.families


def test_studies_of_runs_say_what_one_run_or_no_verdict_cannot_show():
    runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:3]
    judged = axisjudge.judge(runs, ["rules"], progress=False)
    lost = judged.with_columns(status=pl.lit("api_error"), verdict=pl.lit(None, pl.String))
    assert "One judge has nobody to agree with" in checked(studies.trace(judged, runs)).answer
    assert "no judge gave a verdict" in checked(studies.trace(lost, runs)).answer
    made = make_twins(runs, ["cut_tail", "reworded"]).twins
    both = axisjudge.judge([*runs, *(twin.trajectory for twin in made)], progress=False)
    checked(studies.twins(both, made))
    none = both.with_columns(status=pl.lit("api_error"), verdict=pl.lit(None, pl.String))
    assert "Nothing can be said" in checked(studies.twins(none, made)).answer


def estimate(value, low, high, **fields):
    return Estimate(estimate=value, ci_low=low, ci_high=high, n_items=9, n_clusters=9, **fields)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (5, 2, 8, "5 points higher (2 to 8)"),
        (-5, -8, -2, "5 points lower (2 to 8)"),
        (-1, -4, 2, "1 point lower (4 lower to 2 higher)"),
        (0.2, -3, 3, "neither higher nor lower (3 lower to 3 higher)"),
        (3, 0, 6, "3 points higher (0 to 6 higher)"),
        (3, -0.1, 6, "3 points higher (under 1 lower to 6 higher)"),
        (-2, -4, 0.4, "2 points lower (4 lower to under 1 higher)"),
        (3, 0.4, 6, "3 points higher (under 1 to 6)"),
        (-3, -6, -0.4, "3 points lower (under 1 to 6)"),
    ],
)
def test_a_difference_says_its_direction_once(value, low, high, said):
    assert directed(estimate(value, low, high), "higher", "lower") == said


def test_what_is_missing_has_words():
    nothing = estimate(np.nan, np.nan, np.nan, reason="nobody answered")
    assert "nobody answered" in directed(nothing)
    assert "nobody answered" in share(nothing)
    assert "no interval" in directed(estimate(2, np.nan, np.nan))


def test_counts_agree_with_their_nouns():
    assert [many(1, noun) for noun in ("run", "axis", "query")] == ["1 run", "1 axis", "1 query"]
    assert [many(2, noun) for noun in ("raw score", "axis", "query", "person", "trajectory", "day", "branch")] == [
        "2 raw scores", "2 axes", "2 queries", "2 people", "2 trajectories", "2 days", "2 branches",
    ]  # fmt: skip


def test_names_in_a_row_never_fill_a_paragraph():
    """Long names are fewer, two at least; the others are counted, so that every name is one or the other."""
    for letters in (3, 80, 400):
        names = [f"{n:02d}".ljust(letters, "x") for n in range(20)]
        row = listed(names, most=6)
        shown = [name for name in names if name in row]
        assert len(shown) == {3: 6, 80: 3, 400: 2}[letters]
        assert row.endswith(f" and {20 - len(shown)} more")
    assert listed(["a" * 400, "b"], most=6).endswith(" and b")
