"""`check` and `import` take one file alike: who judges, who are people, which cells are ratings, which word fails."""

import json
import math

import polars as pl
import pytest
from imports.test_never_wrong import drawn, noisy, written

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.ratings.edge import sides_of
from axisjudge.studies.check import check

IDS = [f"case-{n}" for n in range(60)]
TRUTH = drawn(60)
JUDGE = noisy(TRUTH)
SURE = [round(0.5 + n / 130, 2) for n in range(60)]
WHY = [f"The answer leaves out what was asked in part {n} of it." for n in range(60)]


def said(words, **meant):
    return [meant[word] for word in words]


def gaps(words, *empty, by=7):
    return [empty[n % len(empty)] if n % by == 0 else word for n, word in enumerate(words)]


def long(**of):
    """A rating a row; names of columns in `rater` and `value`."""
    rater, value = of.pop("rater", "rater"), of.pop("value", "value")
    rows = [(item, name, word) for name, words in of.items() for item, word in zip(IDS, words, strict=True)]
    return dict(zip(("item", rater, value), map(list, zip(*rows, strict=True)), strict=True))


def by_check(path):
    """Rater -> item -> whether it fails, or the word where no side is known; and who judges."""
    votes = check(path).read.votes
    asked, of = votes.question, {}
    for names, codes in ((votes.judges, votes.ratings), (votes.people, votes.labels)):
        for name, column in zip(names, codes.T, strict=True):
            of[name] = {
                item.removeprefix("row "): asked.words[int(code)]
                for item, code in zip(votes.items, column, strict=True)
                if not math.isnan(code)
            }
    fails = asked.failing
    return set(votes.judges), {
        name: {item: word == fails if fails else word for item, word in words.items()} for name, words in of.items()
    }


def by_import(path):
    """The same of imported ratings."""
    table = import_ratings([path]).ratings.filter(status="ok")
    (scale,) = table["scale"].unique()
    sides, of = sides_of(scale), {}
    for item, name, word in table.select(
        "item_id", "rater", pl.coalesce("verdict", pl.col("value").cast(pl.String))
    ).rows():
        of.setdefault(name, {})[item.removeprefix(f"{path.stem}/")] = bool(sides[word]) if word in sides else word
    return set(table.filter(pl.col("rater_kind") != "human")["rater"]), of


GRADES = drawn(60, "12345", share=0.5)
LEVELS = ["none", "minor", "major"] * 20
TABLES = {
    "cells that hold nothing": {
        "id": IDS,
        "judge": gaps(JUDGE, "NA", "n/a", "none"),
        "human": gaps(TRUTH, "-", "—", by=9),
    },
    "in a long table": long(**{"gpt-4o": gaps(JUDGE, "NA", "-"), "human": gaps(TRUTH, "None")}),
    "none is a grade": {"id": IDS, "gpt_severity": noisy(LEVELS), "human_severity": LEVELS},
    "answers under a rater's name": {"id": IDS, "judge": noisy(LEVELS), "human": LEVELS},
    "no id": {"judge": JUDGE, "human": TRUTH},
    "case": {
        "id": IDS,
        "judge": said(JUDGE, **{"pass": "PASS", "fail": "fail "}),
        "human": said(TRUTH, **{"pass": "Pass", "fail": "Fail"}),
    },
    "decimals": {
        "id": IDS,
        "llm": said(JUDGE, **{"pass": "1", "fail": "0"}),
        "human": said(TRUTH, **{"pass": "1.0", "fail": "0.0"}),
    },
    "words of the same sides": {"id": IDS, "judge": JUDGE, "human": said(TRUTH, **{"pass": "yes", "fail": "no"})},
    "numbers and flags": {
        "id": IDS,
        "judge": said(JUDGE, **{"pass": "1", "fail": "0"}),
        "human": said(TRUTH, **{"pass": "TRUE", "fail": "FALSE"}),
    },
    "a vote of judges": {
        "id": IDS,
        "gpt-4o": JUDGE,
        "llama": noisy(TRUTH, seed=5),
        "majority_vote": TRUTH,
        "human": noisy(TRUTH, seed=6),
    },
    "a mean of people": {
        "id": IDS,
        "human_1": GRADES,
        "human_2": GRADES[::-1],
        "human_mean": [(int(a) + int(b)) / 2 for a, b in zip(GRADES, GRADES[::-1], strict=True)],
        "gpt": noisy(GRADES),
    },
    "one person's mean": {
        "id": IDS,
        "rating_llm": noisy(GRADES),
        "rating_human": GRADES,
        "rating_human_avg": [f"{each}.0" for each in GRADES],
    },
    "one judge's model": {"id": IDS, "judge_model": ["gpt-4o"] * 60, "verdict": JUDGE, "human": TRUTH},
    "who labelled": {"id": IDS, "annotator": drawn(60, ("ada", "bob")), "human_label": TRUTH, "llm_label": JUDGE},
    "names of people": long(**{"gpt-4o": JUDGE, "bob": TRUTH, "rater": "worker_id", "value": "label"}),
    "a question for a name": long(**{"gpt-4o": JUDGE, "human": TRUTH, "value": "correctness"}),
}


@pytest.mark.parametrize("name", TABLES)
def test_both_take_a_file_alike(tmp_path, name):
    path = written(tmp_path / "t.csv", TABLES[name])
    checked, imported = by_check(path), by_import(path)
    assert checked[0] == imported[0] != set()
    assert checked == imported


def test_per_cent_are_numbers_in_both(tmp_path):
    shares = {name: [f"{80 + 5 * (n // by % 3)}%" for n in range(60)] for name, by in (("human", 1), ("gpt", 2))}
    path = written(tmp_path / "t.csv", {"id": IDS, **shares})
    assert check(path).read.votes.question.values == (0.8, 0.85, 0.9)
    assert set(import_ratings([path]).ratings["value"]) == {0.8, 0.85, 0.9}


def test_cells_without_an_answer_are_lost_verdicts_and_stay_if_they_are_named(tmp_path):
    path = written(tmp_path / "t.csv", TABLES["cells that hold nothing"])
    lost = import_ratings([path]).ratings.filter(status="parse_error")
    assert (lost.height, check(path).read.judges[0].n_missing) == (9, 8)  # of the nine one has no label either
    kept = import_ratings([path], ImportOptions(words={"na": "unsure"})).ratings
    assert (kept["verdict"] == "NA").sum() == 3
    words = ["pass", "fail", "n/a"]
    assert check(path, words=words, missing=["NA", "none"]).read.votes.spoken["judge"]["n/a"] == 3


def test_yes_of_something_bad_beside_pass_is_asked_of_the_user(tmp_path):
    table = {"id": IDS, "judge": JUDGE, "human_toxic": said(TRUTH, **{"pass": "no", "fail": "yes"})}
    path = written(tmp_path / "t.csv", table)
    with pytest.raises(InputError, match="yes of human_toxic is good") as refused:
        check(path)
    bad, good = ([part.split("=") for part in way.options[1::2]] for way in refused.value.ways)
    right = check(path, means=dict(bad)).read.judges[0].measures["agreement"].estimate
    assert right == pytest.approx(1 - check(path, means=dict(good)).read.judges[0].measures["agreement"].estimate)
    assert right > 0.7
    with pytest.raises(InputError) as asked:
        import_ratings([path])
    assert len(asked.value.ways) == 2


def test_of_expected_and_actual_one_may_be_a_models(tmp_path):
    path = written(tmp_path / "t.csv", {"id": IDS, "expected": TRUTH, "actual": JUDGE})
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    way = next(way for way in refused.value.ways if way.when.endswith("a model said actual"))
    table = import_ratings([path], ImportOptions().with_options(way.options)).ratings
    assert dict(table.select("rater", "rater_kind").unique().rows()) == {"expected": "human", "actual": "llm"}


def test_numbers_of_rows_are_no_judge(tmp_path):
    table = {"trajectory_id": [f"t{n // 4}" for n in range(60)], "step_index": [n % 4 for n in range(60)]}
    path = written(tmp_path / "t.csv", table | {"judge": JUDGE, "human": TRUTH})
    assert check(path).read.roles.judges == ("judge",)


def test_of_repeats_one_is_proposed(tmp_path):
    table = long(**{"gpt-4o": JUDGE, "human": TRUTH})
    table = {name: [*cells, *cells[:60]] for name, cells in table.items()} | {"repeat": [0] * 120 + [1] * 60}
    table["value"][120] = {"pass": "fail", "fail": "pass"}[table["value"][0]]
    with pytest.raises(InputError, match="twice") as refused:
        check(written(tmp_path / "t.csv", table))
    assert [way.options for way in refused.value.ways] == [("--where", "repeat=0")]


def test_models_among_people_are_proposed_as_models(tmp_path):
    path = written(
        tmp_path / "t.csv", long(**{"gpt-4o": JUDGE, "alice": TRUTH, "rater": "annotator", "value": "label"})
    )
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert "gpt-4o=llm" in refused.value.ways[0].options


@pytest.mark.parametrize(
    ("verdict", "sure", "why"),
    [
        ("judge_verdict", "judge_confidence", "judge_reason"),
        ("gpt4_label", "gpt4_prob", "gpt4_explanation"),
        ("verdict_gpt", "confidence_gpt", "rationale_gpt"),
        ("llm_verdict", "confidence", "comment"),
        ("llm_pred", "prob", "notes"),
    ],
)
def test_what_stands_beside_a_judge_is_its_own_in_both(tmp_path, verdict, sure, why):
    table = {"id": IDS, verdict: JUDGE, "human_label": TRUTH, sure: SURE, why: WHY, "human_explanation": WHY[::-1]}
    path = written(tmp_path / "t.csv", table)
    roles, ratings = check(path).read.roles, import_ratings([path]).ratings
    assert (dict(roles.confidence), dict(roles.reasons)) == ({verdict: sure}, {verdict: why})
    judges = ratings.filter(rater=verdict)
    assert (judges["confidence"].to_list(), judges["rationale"].to_list()) == (SURE, WHY)
    assert ratings.filter(rater="human_label")["confidence"].null_count() == 60


def test_of_judges_in_records_each_has_its_own_confidence(tmp_path):
    rows = [
        {
            "id": item,
            "human": {"label": true},
            "by": {name: {"label": word, "confidence": sure} for name in ("gpt-4o", "llama")},
        }
        for item, true, word, sure in zip(IDS, TRUTH, JUDGE, SURE, strict=True)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    own = {f"by.{name}.label": f"by.{name}.confidence" for name in ("gpt-4o", "llama")}
    assert dict(check(tmp_path / "t.json").read.roles.confidence) == own
    counts = import_ratings([tmp_path / "t.json"]).ratings.group_by("rater").agg(pl.col("confidence").count())
    assert dict(counts.iter_rows()) == {**dict.fromkeys(own, 60), "human.label": 0}


def test_a_confidence_in_words_is_none(tmp_path):
    table = {"id": IDS, "judge": JUDGE, "judge_confidence": ["high", "low"] * 30, "human": TRUTH}
    path = written(tmp_path / "t.csv", table)
    assert not check(path).read.roles.confidence
    assert import_ratings([path]).ratings["confidence"].null_count() == 120


def test_several_questions_in_one_column_are_said(tmp_path):
    table = {"id": IDS, "rubric": drawn(60, ("tone", "facts")), "judge": JUDGE, "human": TRUTH}
    assert any("questions taken together, rubric: facts, tone" in note for note in check(table).read.notes)


@pytest.mark.parametrize(
    "beside",
    [
        {"agree": [one == other for one, other in zip(JUDGE, TRUTH, strict=True)]},
        {"tool_ok": drawn(60, ("true", "false"), seed=8)},
        {"reference": drawn(60, ("12", "14"), seed=9)},
    ],
)
def test_other_columns_of_few_words_are_no_raters_in_either(tmp_path, beside):
    path = written(tmp_path / "t.csv", {"id": IDS, "human": TRUTH, "judge": JUDGE, **beside})
    assert check(path).read.roles.judges == ("judge",)
    assert set(import_ratings([path]).ratings["rater"]) == {"human", "judge"}


def test_a_word_beside_one_of_a_side_may_be_the_other_side():
    words = {"id": IDS, "gpt": said(JUDGE, **{"pass": "ok", "fail": "violation"})}
    words["human"] = said(TRUTH, **{"pass": "ok", "fail": "violation"})
    with pytest.raises(InputError) as refused:
        check(words)
    assert ("--words", "ok,violation") in [way.options for way in refused.value.ways]


@pytest.mark.parametrize("empty", [".", "?", "NA", "None", "n.a."])
@pytest.mark.parametrize("words", [("pass", "fail"), ("low", "mid", "high"), ("1", "2", "3", "4")])
def test_a_cell_that_says_nothing_is_no_word_whatever_the_others_are(tmp_path, empty, words):
    truth = [*words] * (60 // len(words))
    table = {"id": IDS, "gpt_rating": gaps(noisy(truth), empty), "human_rating": gaps(truth, empty, by=11)}
    path = written(tmp_path / "t.csv", table)
    votes = check(path).read.votes
    assert empty.lower() not in votes.question.words
    assert (votes.n_labelled, len(votes.spoken["gpt_rating"])) == (54, len(words))
    status = dict(import_ratings([path]).ratings.group_by("rater").agg(pl.col("status").eq("ok").sum()).iter_rows())
    assert status == {"gpt_rating": 51, "human_rating": 54}


@pytest.mark.parametrize(("code", "words"), [("99", "12345"), ("-1", "12345"), ("999", "01234"), ("-1", "01")])
@pytest.mark.parametrize("by_both", [True, False])
def test_a_code_for_no_answer_among_grades_is_asked_about(tmp_path, code, words, by_both):
    truth = [*words] * (60 // len(words))
    table = {
        "id": IDS,
        "gpt_score": gaps(noisy(truth), code, by=7 if by_both else 61),
        "human_score": gaps(truth, code),
    }
    path = written(tmp_path / "t.csv", table)
    for command in (lambda: check(path), lambda: import_ratings([path])):
        with pytest.raises(InputError) as refused:
            command()
        assert any(("--missing", code) == way.options[-2:] for way in refused.value.ways)
    assert check(path, missing=[code]).read.votes.n_labelled == 51


def test_of_raters_who_are_nobody_by_name_people_are_proposed_too(tmp_path):
    table = {
        "id": IDS,
        "anna": TRUTH,
        "ben": noisy(TRUTH, seed=4),
        "gpt-4o": JUDGE,
        "llama-3.1-8b": noisy(TRUTH, seed=5),
    }
    path = written(tmp_path / "t.csv", table)
    with pytest.raises(InputError) as refused:
        check(path)
    assert ("--human", "anna", "--human", "ben") in [way.options for way in refused.value.ways]
    assert set(check(path, human=["anna", "ben"]).read.roles.judges) == {"gpt-4o", "llama-3.1-8b"}
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert any({"anna=human", "ben=human", "gpt-4o=llm"} < {*way.options} for way in refused.value.ways)


def test_words_of_another_language_are_compared_once_it_is_said_who_are_people(tmp_path):
    meant = {"pass": "hyvä", "fail": "huono"}
    path = written(
        tmp_path / "t.csv", {"Fall": IDS, "LLM_tuomio": said(JUDGE, **meant), "Ihminen": said(TRUTH, **meant)}
    )
    with pytest.raises(InputError) as refused:
        check(path)
    assert any(way.options[:2] == ("--human", "Ihminen") for way in refused.value.ways)


@pytest.mark.parametrize("written_as", [("[[A]]", "[[B]]", "[[C]]"), ("A>B", "B>A", "A=B"), ("A>>B", "b>a", "A = B")])
def test_a_choice_between_answers_may_be_written_otherwise(tmp_path, written_as):
    choices = ["model_a", "model_b", "tie"] * 20
    other = dict(zip(("model_a", "model_b", "tie"), written_as, strict=True))
    path = written(tmp_path / "t.csv", {"id": IDS, "gpt4_vote": said(noisy(choices), **other), "human_vote": choices})
    judges, words = by_check(path)
    assert judges == {"gpt4_vote"}
    assert sum(words["gpt4_vote"][item] == word for item, word in words["human_vote"].items()) == sum(
        map(str.__eq__, choices, noisy(choices))
    )
    assert import_ratings([path]).ratings["verdict"].n_unique() == 3


def test_the_words_beside_one_persons_number_are_the_judges_and_theirs(tmp_path):
    table = {"annotator": ["1"] * 60, "choice": TRUTH, "id": IDS, "llm_choice": JUDGE}
    with pytest.raises(InputError) as refused:
        import_ratings([written(tmp_path / "t.csv", table)])
    assert [way.options[:4] for way in refused.value.ways] == [("--kind", "llm_choice=llm", "--kind", "choice=human")]


def test_in_a_long_table_too_the_others_beside_a_model_may_be_people(tmp_path):
    path = written(tmp_path / "t.csv", long(maria=TRUTH, jose=noisy(TRUTH, seed=4), **{"gpt-4o": JUDGE}))
    with pytest.raises(InputError) as refused:
        check(path)
    assert ("--human", "maria", "--human", "jose") in [way.options for way in refused.value.ways]
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert any({"maria=human", "jose=human", "gpt-4o=llm"} < {*way.options} for way in refused.value.ways)


def test_records_of_a_short_list_with_a_judges_and_a_persons_word_each_are_items(tmp_path):
    claims = [{"claim": f"claim {n}", "human": TRUTH[n], "judge": JUDGE[n]} for n in range(60)]
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"id": f"a{n}", "claims": claims[n : n + 3]} for n in range(0, 60, 3)]))
    assert check(path).read.votes.n_items == 60
    ratings = import_ratings([path]).ratings
    assert dict(ratings.group_by("rater").len().iter_rows()) == {"human": 60, "judge": 60}


def test_a_choice_by_degrees_is_the_choice_that_people_made(tmp_path):
    choices = ["A", "B"] * 30
    degrees = {"A": ("A>B", "A>>B"), "B": ("B>A", "B>>A")}
    judge = [degrees[each][n % 2] if n % 9 else "A=B" for n, each in enumerate(noisy(choices))]
    judges, words = by_check(written(tmp_path / "t.csv", {"id": IDS, "judge": judge, "human": choices}))
    assert judges == {"judge"}
    agreed = sum(each[0] == mine and "=" not in each for each, mine in zip(judge, choices, strict=True))
    assert sum(words["judge"][item] == word for item, word in words["human"].items()) == agreed
    table = import_ratings([tmp_path / "t.csv"]).ratings
    wide = table.pivot("rater", index="item_id", values="verdict")
    assert (wide["judge"] == wide["human"]).sum() == agreed


def test_stops_and_marks_after_a_word_are_no_part_of_it(tmp_path):
    forms = {"pass": ("Yes.", "yes ", "**YES**"), "fail": ("no", "No!", "`no`")}
    judge, truth = ([forms[each][n % 3] for n, each in enumerate(words)] for words in (JUDGE, TRUTH))
    path = written(tmp_path / "t.csv", {"id": IDS, "gpt4": judge, "human": truth})
    plain = written(tmp_path / "plain.csv", {"id": IDS, "gpt4": JUDGE, "human": TRUTH})
    assert by_check(path) == by_check(plain) == by_import(path)


def test_reasons_that_repeat_are_no_verdicts(tmp_path):
    reasons = said(JUDGE, **{"pass": "All assertions passed", "fail": "Wrong"})
    table = {"id": IDS, "human_verdict": TRUTH, "Status": JUDGE, "Grader Reason": reasons}
    read = check(written(tmp_path / "t.csv", table)).read
    assert (read.roles.judges, read.roles.people) == (("Status",), ("human_verdict",))
    with pytest.raises(InputError) as refused:
        import_ratings([tmp_path / "t.csv"])
    assert any({"Status=llm", "human_verdict=human"} < {*way.options} for way in refused.value.ways)


def test_a_majority_beside_numbered_raters_is_no_further_person(tmp_path):
    raters = {f"rater_{n}": noisy(TRUTH, seed=n) for n in (2, 3, 4)}
    majority = [max("pass", "fail", key=[of[n] for of in raters.values()].count) for n in range(60)]
    path = written(tmp_path / "t.csv", {"item": IDS, **raters, "majority": majority, "llm": JUDGE})
    for command in (check, lambda path: import_ratings([path])):
        with pytest.raises(InputError) as refused:
            command(path)
        first = " ".join(refused.value.ways[0].options)
        assert all(name in first for name in raters)
        assert "majority" not in first


def test_an_id_of_its_own_names_what_was_rated_and_not_the_task_that_rows_share(tmp_path):
    tasks = [f"t{n // 3}" for n in range(60)]
    path = written(tmp_path / "t.csv", {"trace": IDS, "task": tasks, "judge_gpt": JUDGE, "gold_label": TRUTH})
    table = import_ratings([path]).ratings
    assert ({*table["item_id"]}, {*table["cluster_id"]}) == ({*IDS}, {*tasks})
    assert (check(path).read.roles.item, check(path).read.roles.cluster) == ("trace", "task")


def test_a_score_kept_with_its_reason_is_a_judges_and_a_model_that_was_asked_is_no_rater(tmp_path):
    rows = [
        {"id": item, "inputs": {"example": {"human_label": truth == "pass"}, "model": "weave:///agent:1"}}
        | {"output": {"scores": {"QualityJudge": {"correct": of == "pass", "reason": f"so {item}"}}}}
        for item, truth, of in zip(IDS, TRUTH, JUDGE, strict=True)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    judge, human = "output.scores.QualityJudge.correct", "inputs.example.human_label"
    with pytest.raises(InputError) as refused:
        check(path)
    assert refused.value.ways[0].options == ("--judge", judge)
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert {f"{judge}=llm", f"{human}=human"} < {*refused.value.ways[0].options}


def test_two_columns_of_the_same_words_in_any_language_may_be_a_judges_and_peoples(tmp_path):
    meant = {"pass": "réussi", "fail": "échoué"}
    path = written(tmp_path / "t.csv", {"cas": IDS, "noteur": said(JUDGE, **meant), "lecteur": said(TRUTH, **meant)})
    with pytest.raises(InputError) as refused:
        check(path)
    assert ("--judge", "noteur", "--human", "lecteur") in [way.options for way in refused.value.ways]
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    (way, *_) = refused.value.ways
    table = import_ratings([path], ImportOptions().with_options(way.options)).ratings
    assert dict(table.group_by("rater_kind").len().iter_rows()) == {"llm": 60, "human": 60}


def test_of_a_long_table_of_two_questions_each_is_proposed_with_the_people_beside_a_model(tmp_path):
    rows = [
        (item, name, asked, word)
        for asked, by in (("correct", 1), ("polite", 5))
        for name, words in (("r01", TRUTH), ("r02", noisy(TRUTH, seed=by)), ("gpt-4o", JUDGE))
        for item, word in zip(IDS, words, strict=True)
    ]
    heads = ("item_id", "annotator", "question", "answer")
    path = written(tmp_path / "t.csv", dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True)))
    with pytest.raises(InputError) as refused:
        check(path)
    options = ("--human", "r01", "--human", "r02", "--where", "question=correct")
    assert options in [way.options for way in refused.value.ways]
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert any({"r01=human", "r02=human", "gpt-4o=llm"} < {*way.options} for way in refused.value.ways)


def test_scores_to_ten_and_shares_of_one_are_no_scale_of_one_question(tmp_path):
    truth = [n % 3 / 2 for n in range(60)]
    table = {"run": IDS, "judge_score": [round(1 + 9 * each) for each in truth], "human_score": truth}
    path = written(tmp_path / "t.csv", table)
    with pytest.raises(InputError) as refused:
        check(path)
    assert [way.options.count("--pass-if") for way in refused.value.ways] == [2]
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert not any("--scale" in way.options for way in refused.value.ways)


def test_scores_that_an_export_wrote_into_one_cell_are_columns(tmp_path):
    cells = [
        json.dumps({"Quality": float(of == "pass"), "human_review": float(truth == "pass")})
        for of, truth in zip(JUDGE, TRUTH, strict=True)
    ]
    beside = [json.dumps({"model": "agent-1", "tags": [n]}) for n in range(60)]
    path = written(tmp_path / "t.csv", {"id": IDS, "scores": cells, "metadata": beside})
    read = check(path, judges="scores.Quality").read
    assert (read.roles.people, read.roles.item) == (("scores.human_review",), "id")
    kinds = {"scores.Quality": "llm", "scores.human_review": "human"}
    table = import_ratings([path], ImportOptions(kinds=kinds, question=("quality",))).ratings
    assert dict(table.group_by("rater", "rater_kind").len().select("rater", "rater_kind").iter_rows()) == kinds


def test_a_confidence_in_words_is_left_out_and_said_and_every_verdict_kept(tmp_path):
    table = long(**{"gpt-4o": JUDGE, "annotator_3": TRUTH}) | {"confidence": ["high", "low"] * 60}
    path = written(tmp_path / "t.csv", table)
    read = check(path).read
    assert (read.votes.n_labelled, read.roles.judges, read.roles.confidence) == (60, ("gpt-4o",), {})
    assert "confidence" in read.roles.left_out
    assert import_ratings([path]).ratings["confidence"].null_count() == 120


def test_grades_beside_peoples_words_are_asked_from_where_on_they_pass(tmp_path):
    grades = [5 - n % 2 if word == "pass" else 1 + n % 3 for n, word in enumerate(JUDGE)]
    words = said(TRUTH, **{"pass": "Approved", "fail": "Rejected"})
    path = written(
        tmp_path / "t.csv", {"ticket": IDS, "Status": ["APPROVED"] * 60, "llm_grade": grades, "qa_reviewer": words}
    )
    with pytest.raises(InputError) as refused:
        check(path)
    assert "--pass-if" in refused.value.ways[0].options
    assert check(path, pass_if="llm_grade >= 4").read.votes.n_labelled == 60


@pytest.mark.parametrize(
    ("good", "bad"), [("checked", ""), ("4/5", "2/5"), ("It did so. Verdict: PASS", "It stopped. Verdict: FAIL")]
)
def test_boxes_fractions_and_texts_that_end_in_a_verdict_are_read_as_what_they_mean(tmp_path, good, bad):
    meant = {"pass": good, "fail": bad}
    path = written(tmp_path / "t.csv", {"id": IDS, "gpt_judge": said(JUDGE, **meant), "human": said(TRUTH, **meant)})
    (judge, words), (imported, ratings) = by_check(path), by_import(path)
    assert judge == imported == {"gpt_judge"}
    agreed = sum(map(str.__eq__, JUDGE, TRUTH))
    for of in (words, ratings):
        assert len(of["human"]) == 60
        assert sum(of["gpt_judge"][item] == word for item, word in of["human"].items()) == agreed


def test_what_a_program_wrote_in_place_of_a_verdict_is_none(tmp_path):
    lost = gaps(JUDGE, "ERROR: rate limit exceeded (429)", "\\N")
    path = written(tmp_path / "t.csv", {"id": IDS, "gpt_judge": lost, "human": TRUTH})
    assert (
        len(by_check(path)[1]["gpt_judge"]) == len(by_import(path)[1]["gpt_judge"]) == sum(map(str.__eq__, lost, JUDGE))
    )


def test_names_of_judges_and_people_in_other_languages_say_who_they_are(tmp_path):
    meant = {"pass": "sí", "fail": "no"}
    path = written(tmp_path / "t.csv", {"caso": IDS, "juez": said(JUDGE, **meant), "humano": said(TRUTH, **meant)})
    assert by_check(path)[0] == by_import(path)[0] == {"juez"}


def test_versions_of_a_prompt_on_the_same_items_are_asked_about_and_never_pooled():
    table = {
        "item": IDS * 2,
        "prompt_version": ["v1"] * 60 + ["v2"] * 60,
        "gpt_verdict": [*JUDGE, *noisy(TRUTH, seed=5)],
    }
    with pytest.raises(InputError) as refused:
        check({**table, "human": TRUTH * 2}, judges="gpt_verdict")
    assert ("--where", "prompt_version=v2") in [way.options for way in refused.value.ways]
    assert check({**table, "human": TRUTH * 2}, where=["prompt_version=v2"]).read.votes.n_items == 60


@pytest.mark.parametrize("by", ["rater", "item"])
def test_words_under_raters_or_under_items_are_one_table(tmp_path, by):
    raters = {"gpt-4o": dict(zip(IDS, JUDGE, strict=True)), "human": dict(zip(IDS, TRUTH, strict=True))}
    items = {item: {name: words[item] for name, words in raters.items()} for item in IDS}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(raters if by == "rater" else items))
    (judge, words), (imported, ratings) = by_check(path), by_import(path)
    assert judge == imported == {"gpt-4o"}
    assert words == ratings


def test_one_metric_in_each_record_stands_beside_peoples_word(tmp_path):
    cases = [
        {
            "name": name,
            "metricsData": [
                {"name": "Correctness", "success": judge == "pass", "score": n % 7 / 7, "evaluationModel": "gpt-4o"}
            ],
            "additionalMetadata": {"human_label": word},
        }
        for n, (name, judge, word) in enumerate(zip(IDS, JUDGE, TRUTH, strict=True))
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": cases}))
    table = import_ratings([path]).ratings
    assert dict(table.group_by("rater_kind").len().iter_rows()) == {"llm": 60, "human": 60}


def test_people_alone_are_not_imported_where_another_column_says_their_words(tmp_path):
    path = written(tmp_path / "t.csv", {"id": IDS, "outputs.relevance_result": JUDGE, "inputs.human_label": TRUTH})
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    both = import_ratings([path], ImportOptions().with_options(refused.value.ways[0].options)).ratings
    assert dict(both.group_by("rater_kind").len().iter_rows()) == {"llm": 60, "human": 60}


def test_a_probability_beside_peoples_word_is_asked_from_where_on_it_passes():
    table = {"id": IDS, "p_yes": [0.01 + n / 63 for n in range(60)], "y": [int(word == "pass") for word in TRUTH]}
    with pytest.raises(InputError) as refused:
        check(table)
    assert ("--human", "y", "--judge", "p_yes", "--pass-if", "p_yes >= 0.5") in [w.options for w in refused.value.ways]


def test_a_table_in_another_encoding_is_shown_as_each_would_read_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("номер;модель;эксперт\n1;верно;верно\n".encode("cp1251"))
    with pytest.raises(InputError, match=r"'номер;модель;эксперт'.*iconv -f WINDOWS-1251"):
        check(path)
