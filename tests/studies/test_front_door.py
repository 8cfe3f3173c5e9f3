"""The front door: every study is called like a function and gives one result that shows, saves and loads itself."""

import doctest
import inspect
import sys

import pandas as pd
import polars as pl
import pytest

import axisjudge
from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets import demo_run_labels, demo_runs, demo_transcripts, demo_truth
from axisjudge.datasets.votes import published_findings, published_verdicts
from axisjudge.judging.signals import signals_run
from axisjudge.scores.run_score import read_runs
from axisjudge.studies._shared.frames import kind_of
from axisjudge.studies._shared.result import Part, Study
from axisjudge.twins import make_twins


@pytest.fixture(scope="module")
def demo():
    runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    return runs, axisjudge.judge(runs, ["rules", "simulated:heron", "simulated:wren"], progress=False)


@pytest.fixture(scope="module")
def results(demo):
    """One result of every study that stands behind the front door."""
    runs, ratings = demo
    truth = axisjudge.read_ratings(demo_truth())
    said = {"task": [1, 1, 2, 2] * 10, "gpt": ["pass", "fail", "pass", "pass"] * 10, "human": ["pass", "fail"] * 20}
    transcripts = axisjudge.read_trajectories(*demo_transcripts()[::6]).trajectories
    signals = signals_run(transcripts, ["rules", "simulated:wren"]).carry_out(progress=False)
    labels = axisjudge.read_ratings(demo_run_labels())
    readers, axis = ["simulated:jackdaw", "simulated:dunnock"], "argument_validity"
    versions = [
        axisjudge.judge(runs[:48], readers, [axis], versions={axis: version}, repeats=2, progress=False)
        for version in ("v1", "v2")
    ]
    steps = {run.id: len(run.steps) for run in runs}
    labelled = pl.concat([ratings, truth])
    twice = pl.concat([ratings, ratings.with_columns(repeat=pl.lit(1, pl.Int64))])
    occasions = twice.with_columns(run_id=pl.format("run {}", "repeat"))
    made = make_twins(runs[:8], ["cut_tail", "reworded"]).twins
    judged = axisjudge.judge([*runs[:8], *(twin.trajectory for twin in made)], progress=False)
    return {
        "agreement": studies.agreement(labelled),
        "located": studies.located(*published_verdicts("agentrx"), findings=published_findings()),
        "confidence": studies.confidence(labelled),
        "evidence": studies.evidence(ratings, runs),
        "check": studies.check(said),
        "failures": studies.failures(ratings, runs),
        "few_runs": studies.few_runs(ratings, truth, runs=8),
        "panels": studies.panels(ratings, truth, question="sequencing", prices={"simulated:heron": 0.01}),
        "people": studies.people(ratings, truth, truth=truth, questions=["sequencing"], n_few=10, n_draws=5),
        "curves": studies.curves("planted", transcripts),
        "axis_result": studies.axis_result(transcripts, signals=signals),
        "run_score": studies.run_score(read_runs(demo_runs()), labels, runs, spec="spec-03"),
        "rubric_versions": studies.rubric_versions(pl.concat(versions), {axis: ["v1", "v2"]}, steps=steps),
        "trace": studies.trace(ratings, runs),
        "plan": studies.plan(twice, half_width=0.3, shares=[0.3], qualities={"fair": (0.85, 0.85)}, sizes=(10, 20)),
        "succession": studies.succession(ratings, "simulated:heron", "simulated:wren", anchors=occasions),
        "twins": studies.twins(judged, made, truth),
    }


def comes_back(result, folder):
    path = result.save(folder / "saved.json.gz")
    again = type(result).load(path)
    assert again.to_dict() == result.to_dict()
    assert (again.answer, again.sentences) == (result.answer, result.sentences)
    assert path.read_bytes() == again.save(folder / "again.json.gz").read_bytes()


@pytest.fixture(scope="module")
def failures(demo):
    runs, ratings = demo
    return studies.failures(ratings, runs)


def test_a_result_comes_back_as_it_was_saved(failures, tmp_path):
    comes_back(failures, tmp_path)
    assert failures.banner in failures._repr_html_()


@pytest.mark.slow
def test_every_result_comes_back_as_it_was_saved(results, tmp_path):
    for result in results.values():
        comes_back(result, tmp_path)


@pytest.mark.slow
def test_a_result_shows_itself_and_draws_its_figures(results):
    import matplotlib.pyplot as plt

    for result in results.values():
        assert isinstance(result, Study | Part)
        assert result.answer in repr(result)
        assert "<script" not in result._repr_html_()
        figures = result.figures()
        assert figures
        assert all(figure.axes for figure in figures.values())
        plt.close("all")


def test_the_file_of_another_study_is_refused(failures, tmp_path):
    path = failures.save(tmp_path / "x.json.gz")

    class Other(type(failures)):
        study = "other"

    with pytest.raises(InputError, match="must be a result of other"):
        Other.load(path)
    path.write_text("no result")
    with pytest.raises(InputError, match="is no saved result"):
        Other.load(path)


@pytest.mark.slow
def test_simulated_and_planted_ratings_are_never_shown_without_a_banner(results):
    # of simulated judges, and of the rules against planted labels
    for name in ("agreement", "confidence", "evidence", "panels", "plan", "succession", "twins"):
        assert results[name].banner.startswith("SIMULATED OR PLANTED")
        assert results[name].banner in repr(results[name])
    assumed = studies.plan(sizes=(10,), shares=[0.3], qualities={"fair": (0.85, 0.85)})
    assert assumed.banner == ""


STUDIES = ["agreement", "axis_result", "check", "confidence", "curves", "evidence", "failures", "few_runs", "located"]
STUDIES += ["panels", "people", "plan", "rubric_versions", "run_score", "succession", "trace", "twins"]


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_signature_of_its_function(name):
    door = getattr(studies, name)
    assert inspect.signature(door) == inspect.signature(getattr(door, name))
    assert "Parameters" in inspect.getdoc(getattr(door, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_examples_of_a_study_hold(name):
    door = getattr(studies, name)
    examples = doctest.testmod(sys.modules[getattr(door, name).__module__])
    assert examples.attempted
    assert not examples.failed


@pytest.mark.slow
def test_tables_come_back_in_the_caller_s_kind(demo):
    runs, ratings = demo
    for given, kind in (
        (ratings, pl.DataFrame),
        (ratings.to_pandas(), pd.DataFrame),
        (ratings.to_dict(as_series=False), pd.DataFrame),
    ):
        for study in (studies.failures, studies.evidence, studies.trace):
            for part in study(given, runs).parts.values():
                assert isinstance(part.table, kind), part.name
        assert isinstance(studies.agreement(given, weighted=False).overall.table, kind)
    truth = axisjudge.read_ratings(demo_truth())
    assert isinstance(studies.confidence(ratings.to_pandas(), truth).table, pd.DataFrame)


def test_an_estimate_in_a_table_stands_with_its_interval():
    """Or with the bound that decides, or where the interval is of a mean distance, or of what a decision undoes."""
    apart = {("panels", "trust"): {"alone.error"}, ("_shared", "citations"): {"cited.distance"}}
    apart["adjudication", "adjudication"] = {"before", "disagreements_alone"}
    for name in studies.__all__:
        getattr(studies, name)
    kinds = [*Part.__subclasses__()]
    for kind in kinds:
        kinds += kind.__subclasses__()
        paths = set(kind._rows[1].values())
        bare = {path for path in paths if path.endswith(".estimate")} - {
            f"{p[:-7]}.estimate" for p in paths if p.endswith(".ci_low")
        }
        allowed = apart.get((kind.__module__.split(".")[2], kind.name), set())
        assert {path.removesuffix(".estimate") for path in bare} <= allowed, kind


@pytest.mark.slow
def test_a_part_says_the_kind_of_its_tables(results):
    for name, result in results.items():
        for part in (result.parts if isinstance(result, Study) else {name: result}).values():
            assert kind_of(part.table) == part.kind, part.name


@pytest.mark.slow
def test_a_cell_shows_the_banner_of_made_up_ratings(results):
    """Every result here holds some ratings of simulated judges or planted labels, but those of published figures."""
    without = {name for name, result in results.items() if "SIMULATED OR PLANTED" not in result._repr_html_()}
    assert without == {"check", "located"}
    assert all(("SIMULATED" in repr(result)) == (name not in without) for name, result in results.items())
