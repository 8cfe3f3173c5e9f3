"""A stranger's table is compared and imported by the same raters; else one question shows a command that is right.

Numbers are marked from where on they pass, a record in a cell is a record, several models in a column are asked about,
and words of degree have their order.
"""

import json
import random

import polars as pl
import pytest
from imports.test_never_wrong import drawn, noisy, written

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.studies.check import check

IDS = [f"c{n}" for n in range(60)]
RNG = random.Random(5)
TRUE = [RNG.random() for _ in IDS]
NEAR = [min(1.0, max(0.0, each + RNG.gauss(0, 0.15))) for each in TRUE]
TOLD = {"--judge": "judges", "--human": "human", "--pass-if": "pass_if", "--where": "where", "--item": "item"}
WRITTEN = {
    "85%": lambda score: f"{round(score * 20) * 5}%",
    "85,5 %": lambda score: f"{score * 100:.1f} %".replace(".", ","),
    "0.85": lambda score: f"{score:.2f}",
    "0,850": lambda score: f"{score:.3f}".replace(".", ","),
    "0.9": lambda score: f"{score:.1f}",
    "80 of 100": lambda score: round(score * 10) * 10,
    "1 to 5": lambda score: 1 + min(4, int(score * 5)),
    "pass": lambda score: "pass" if score >= 0.5 else "fail",
    "0 or 1": lambda score: int(score >= 0.5),
}


def compared(path, way=None):
    """Rater -> item -> whether it passes, as `check` says it, with the options of one of its ways out."""
    told = {}
    for option, text in zip(way.options[::2], way.options[1::2], strict=True) if way else ():
        told.setdefault(TOLD[option], []).append(text)
    votes = check(path, **told).read.votes
    columns = {
        **dict(zip(votes.judges, votes.ratings.T, strict=True)),
        **dict(zip(votes.people, votes.labels.T, strict=True)),
    }
    words = votes.question.words if not votes.question.failing else (True, False)
    return {
        name: dict(zip(votes.items, (words[int(code)] for code in codes), strict=True))
        for name, codes in columns.items()
    }


def taken(path, way=None):
    """The same of what `import` takes."""
    told = ImportOptions().with_options(way.options) if way else None
    table = import_ratings([path], told).ratings
    passed = pl.col("verdict").is_in(["pass", "1", "correct", "true"])
    return {
        name: dict(zip(rows["item_id"], rows.select(passed).to_series(), strict=True))
        for (name,), rows in table.group_by("rater")
    }


def ways_of(act, path):
    with pytest.raises(InputError) as error:
        act(path)
    return error.value.ways


MIXED = [
    *((score, words) for score in list(WRITTEN)[:7] for words in ("pass", "0 or 1")),
    *((words, score) for score in list(WRITTEN)[:7] for words in ("pass", "0 or 1")),
    *(("80 of 100", "0.85"), ("80 of 100", "85%"), ("1 to 5", "85,5 %"), ("0.9", "80 of 100")),
]


@pytest.mark.parametrize(("judge", "human"), [pair for pair in MIXED if {*pair} != {"1 to 5", "0 or 1"}])
def test_a_number_beside_a_word_or_another_scale_passes_from_somewhere_on(tmp_path, judge, human):
    """Shares, percentages, scores and grades of either side: both commands ask for the same mark, and agree."""
    columns = {"id": IDS, "judge": map(WRITTEN[judge], NEAR), "human": map(WRITTEN[human], TRUE)}
    path = written(tmp_path / "t.csv", columns)
    (asked, *_), (of_import, *_) = ways_of(check, path), ways_of(lambda path: import_ratings([path]), path)
    rules = [each for each in asked.options if ">=" in each]
    assert rules == [each for each in of_import.options if ">=" in each]
    assert {rule.split(" ")[0] for rule in rules} == {
        name for name, of in (("judge", judge), ("human", human)) if of not in ("pass", "0 or 1")
    }
    said = compared(path, asked)
    assert said == taken(path, of_import)
    bars = dict(rule.split(" >= ") for rule in rules)
    for name, form, scores in (("judge", judge, NEAR), ("human", human, TRUE)):
        if form in ("80 of 100", "1 to 5", "0.85"):
            passed = [float(WRITTEN[form](each)) >= float(bars[name]) for each in scores]
            assert [*said[name].values()] == passed


@pytest.mark.parametrize("form", ["85%", "0.9", "80 of 100", "0.85"])
def test_numbers_on_both_sides_are_no_words_in_an_order(tmp_path, form):
    path = written(
        tmp_path / "t.csv", {"id": IDS, "judge": map(WRITTEN[form], NEAR), "human": map(WRITTEN[form], TRUE)}
    )
    way = ways_of(check, path)[0]
    assert sum(">=" in each for each in way.options) == 2
    said = compared(path, way)
    bar = 0.5
    assert [*said["human"].values()] == [
        float(str(WRITTEN[form](each)).rstrip("%")) >= bar * (1 if "." in form else 100) for each in TRUE
    ]


def test_grades_by_halves_stay_grades(tmp_path):
    halves = [[1 + min(8, int(each * 9)) / 2 for each in scores] for scores in (NEAR, TRUE)]
    path = written(tmp_path / "t.csv", dict(zip(("id", "judge", "human"), (IDS, *halves), strict=True)))
    assert check(path).read.votes.question.level == "ordinal"


def test_a_judges_scores_are_not_left_behind_where_people_gave_words(tmp_path):
    """A table as tools for retrieval write it: scores that no name calls a judge's, and a person's grade."""
    grades = ["pass" if each >= 0.5 else "fail" for each in TRUE]
    columns = {"question": [f"q{n}?" for n in range(60)], "groundedness": [f"{each:.4f}" for each in NEAR]}
    path = written(tmp_path / "rag.csv", {**columns, "annotator_grade": grades})
    ways = ways_of(lambda path: import_ratings([path]), path)
    both = taken(path, ways[0])
    assert {name: sum(of.values()) for name, of in both.items()} == {
        "groundedness": sum(round(each, 4) >= 0.5 for each in NEAR),
        "annotator_grade": grades.count("pass"),
    }
    assert [*taken(path, ways[-1])] == ["annotator_grade"]
    with pytest.raises(InputError, match="--pass-if"):
        import_ratings([path], ImportOptions(pass_if=("grounded >= 1",)))


def test_a_judges_verdict_inside_a_text_is_not_left_behind(tmp_path):
    words, judged = drawn(60), noisy(drawn(60))
    rows = [
        {"case": item, "response": {"judge_verdict": judge}, "label": human}
        for item, judge, human in zip(IDS, judged, words, strict=True)
    ]
    (path := tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = compared(path)
    assert said == taken(path, ways_of(lambda path: import_ratings([path]), path)[0])
    assert {*said} == {"response.judge_verdict", "label"}


@pytest.mark.parametrize(
    "form",
    [
        lambda word: json.dumps({"verdict": word, "reason": "as the tool says, {so}"}),
        lambda word: str({"verdict": word, "reason": "it's so"}),
        lambda word: f"```json\n{json.dumps({'verdict': word}, indent=1)}\n```",
        lambda word: f"I looked at both.\n{json.dumps({'verdict': word})}",
    ],
)
@pytest.mark.parametrize("n_broken", [0, 2])
def test_a_record_in_a_cell_is_read_as_the_record_it_is(tmp_path, form, n_broken):
    human, judge = drawn(60), noisy(drawn(60))
    cells = ["no answer came"] * n_broken + [form(word) for word in judge][n_broken:]
    plain = written(
        tmp_path / "plain.csv", {"case": IDS, "judge.verdict": [""] * n_broken + judge[n_broken:], "human": human}
    )
    path = written(tmp_path / "t.csv", {"case": IDS, "judge": cells, "human": human})
    counts = [check(each).read.counts["judge.verdict"] for each in (path, plain)]
    assert counts[0] == counts[1]
    lost = [import_ratings([each]).ratings["status"].to_list() for each in (path, plain)]
    assert lost[0] == lost[1]


def test_what_was_asked_is_no_record_of_verdicts(tmp_path):
    asked = [json.dumps({"answer": word}) for word in drawn(60)]
    path = written(tmp_path / "t.csv", {"case": IDS, "prompt": asked, "judge": noisy(drawn(60)), "human": drawn(60)})
    assert [*check(path).read.known.columns] == ["case", "prompt", "judge", "human"]


MODELS = ("gpt-4o", "claude-3-5-sonnet")


@pytest.mark.parametrize(
    "names", [("evaluator", "label", "human_label"), ("evaluator", "score", "gold"), ("judge_model", "verdict", "gold")]
)
@pytest.mark.parametrize("settings", [(), ("v1", "v2")])
def test_people_stay_beside_each_of_several_judges_in_a_column(tmp_path, names, settings):
    rater, said, truth = names
    words = ("1", "0") if said == "score" else ("pass", "fail")
    human = drawn(60, words)
    rows = [
        {"id": item, rater: model, **({"prompt_version": setting} if settings else {}), said: judged, truth: label}
        for n, model in enumerate(MODELS)
        for at, setting in enumerate(settings or ("",))
        for item, judged, label in zip(IDS, noisy(human, seed=7 * n + at), human, strict=True)
    ]
    path = written(tmp_path / "t.csv", {name: [row[name] for row in rows] for name in rows[0]})
    first = {said: dict(zip(IDS, [word in ("1", "pass") for word in noisy(human, seed=0)], strict=True))}
    first[truth] = dict(zip(IDS, [word in ("1", "pass") for word in human], strict=True))
    for act, of in ((check, compared), (lambda path: import_ratings([path]), taken)):
        assert of(path, ways_of(act, path)[0]) == first


@pytest.mark.parametrize("name", ["model", "llm"])
def test_models_of_which_nothing_says_whether_they_judged_are_asked_about_or_said(tmp_path, name):
    human, judges = drawn(60), [noisy(drawn(60), seed=n) for n in range(2)]
    columns = {"id": [*IDS, *IDS], name: [model for model in MODELS for _ in IDS], "verdict": [*judges[0], *judges[1]]}
    path = written(tmp_path / "t.csv", {**columns, "human": [*human, *human]})
    ways = {way.options: way for way in ways_of(check, path)}
    alone = compared(path, ways["--where", f"{name}={MODELS[1]}"])
    assert alone["verdict"] == dict(zip(IDS, [word == "pass" for word in judges[1]], strict=True))
    assert len(compared(path, ways["--item", "id", "--item", name])["verdict"]) == 120
    own = written(tmp_path / "own.csv", {**columns, "human": [*human, *noisy(human)]})  # each model's answer was rated
    once = written(tmp_path / "once.csv", {**columns, "id": range(120), "human": [*human, *human]})
    for each in (own, once):
        assert any(name in note and "was judged" in note for note in check(each).read.notes)


FIVE = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")


@pytest.mark.parametrize(
    "words",
    [
        FIVE,
        ("never", "rarely", "sometimes", "often", "always"),
        ("very dissatisfied", "somewhat dissatisfied", "neutral", "satisfied", "very satisfied"),
        ("low", "medium", "high"),
    ],
)
def test_words_of_degree_have_their_order(tmp_path, words):
    judge, human = ([words[int(each * (len(words) - 0.01))] for each in scores] for scores in (NEAR, TRUE))
    question = check(written(tmp_path / "t.csv", {"id": IDS, "judge": judge, "human": human})).read.votes.question
    assert (question.words, question.level) == (tuple(word.lower() for word in words), "ordinal")


def test_a_word_of_degree_that_is_not_known_is_asked_about_and_names_are_none(tmp_path):
    words = (*FIVE[:2], "meh, or so", *FIVE[3:])
    judge, human = ([words[int(each * 4.99)] for each in scores] for scores in (NEAR, TRUE))
    path = written(tmp_path / "t.csv", {"id": IDS, "judge": judge, "human": human})
    (option, scale), names = (way.options for way in ways_of(check, path))
    assert option == "--scale"
    assert check(path, scale=scale).read.votes.question.words == tuple(word.lower() for word in words)
    assert names == ("--scale", "nominal")
    kinds = written(
        tmp_path / "kinds.csv",
        {"id": IDS, "judge": noisy(drawn(60, ("cat", "dog"))), "human": drawn(60, ("cat", "eel"))},
    )
    assert check(kinds).read.votes.question.level == "nominal"


def test_scores_of_two_judges_and_of_a_name_that_says_nothing_pass_from_somewhere_on(tmp_path):
    truth = [int(each >= 0.5) for each in TRUE]
    scores = {name: [f"{each:.3f}" for each in of] for name, of in (("relevance", NEAR), ("groundedness", NEAR[::-1]))}
    two = written(tmp_path / "two.csv", {"id": IDS, **scores, "human_ok": truth})
    unsaid = written(tmp_path / "unsaid.csv", {"id": IDS, "p_yes": scores["relevance"], "y": truth})
    for path, judge, others in ((two, "relevance", {"groundedness", "human_ok"}), (unsaid, "p_yes", {"y"})):
        ways = ways_of(lambda path: import_ratings([path]), path)
        way = next(each for each in ways if {f"{judge}=llm", "--pass-if"} <= {*each.options})
        said = taken(path, way)
        assert {*said} == {judge, *others}
        assert [*said[judge].values()] == [round(each, 3) >= 0.5 for each in NEAR]
