"""Whose words a column holds: what was decided between people, a reviewer in a record, other words for the same."""

import json
import shlex
import subprocess
import sys

import pytest
from imports.test_never_wrong import drawn, noisy, written
from imports.test_strangers import workbook

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.studies.check import check

TRUTH = drawn(80)
ONE, OTHER, JUDGE = noisy(TRUTH, seed=2), noisy(TRUTH, seed=3), noisy(TRUTH, seed=4)
DECIDED = noisy([a if a == b else t for a, b, t in zip(ONE, OTHER, TRUTH, strict=True)], by=0.05, seed=5)
IDS = [f"case-{n}" for n in range(80)]


def refused(read, path):
    with pytest.raises(InputError) as error:
        read(path)
    return error.value.ways


def imported(path):
    return import_ratings([path])


def taken(path, way):
    return import_ratings([path], ImportOptions().with_options(way.options)).ratings


def raters(table):
    return dict(table.select("rater", "rater_kind").unique().rows())


def told(way):
    return {
        name: [b for a, b in zip(way.options, way.options[1:], strict=False) if a == f"--{name}"]
        for name in ("judge", "human")
    }


@pytest.mark.parametrize(
    "name", ["adjudicated", "final", "final_verdict", "final_label", "adjudication", "expert_final"]
)
def test_what_was_decided_between_people_is_no_judge_and_no_further_person(tmp_path, name):
    own = {"annotator_a": ONE, "annotator_b": OTHER}
    path = written(tmp_path / "t.csv", {"item": IDS, **own, name: DECIDED, "gpt-4o": JUDGE})
    instead, apart = refused(check, path)
    assert (told(instead)["human"], told(apart)["human"]) == ([name], [*own])
    for way in (instead, apart):  # nor a judge where people are named
        assert check(path, human=told(way)["human"]).read.votes.judges == ("gpt-4o",)
    instead, apart = refused(imported, path)
    assert raters(taken(path, instead)) == {name: "human", "gpt-4o": "llm"}
    assert raters(taken(path, apart)) == dict.fromkeys(own, "human") | {"gpt-4o": "llm"}


def test_a_judges_final_verdict_stays_its_own(tmp_path):
    path = written(tmp_path / "t.csv", {"item": IDS, "human": TRUTH, "gpt-4o_final_verdict": JUDGE})
    alone = written(tmp_path / "alone.csv", {"item": IDS, "human_label": TRUTH, "final_verdict": JUDGE})
    assert check(path).read.votes.judges == ("gpt-4o_final_verdict",)
    assert check(alone).read.votes.judges == ("final_verdict",)


@pytest.mark.parametrize("name", ["adjudicated", "consensus"])
def test_a_rater_who_decided_is_no_further_person_or_judge_of_a_long_table(tmp_path, name):
    said = {"gpt-4o": JUDGE, "ann1": ONE, "ann2": OTHER, name: DECIDED}
    rows = [(item, who, word) for who, words in said.items() for item, word in zip(IDS, words, strict=True)]
    path = written(
        tmp_path / "t.csv", dict(zip(("item_id", "annotator", "label"), zip(*rows, strict=True), strict=True))
    )
    people = [told(way)["human"] for way in refused(check, path)]
    assert ["ann1", "ann2"] in people
    assert [name] in people
    assert not any(name in of and len(of) > 1 for of in people)
    for of in (["ann1", "ann2"], [name]):
        assert check(path, human=of).read.votes.judges == ("gpt-4o",)


def test_a_reviewer_in_a_record_said_what_stands_there_and_not_the_row(tmp_path):
    rows = [
        {
            "log": item,
            "passed": judge == "pass",
            "raw": 0.9,
            "review": {"reviewer": f"r{n % 2}", "passed": word == "pass"},
        }
        for n, (item, judge, word) in enumerate(zip(IDS, JUDGE, TRUTH, strict=True))
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"results": rows}))
    votes = check(path).read.votes
    assert (votes.judges, votes.people) == (("passed",), ("review.passed",))
    table = taken(path, refused(imported, path)[0])
    assert raters(table) == {"passed": "llm", "review.passed": "human"}


def test_words_of_one_rater_are_mapped_alone(tmp_path):
    said = [{"pass": "False", "fail": "True"}[word] for word in JUDGE]  # an error was found
    path = written(
        tmp_path / "t.csv", {"id": IDS, "llm_error_found": said, "human_is_correct": [str(w == "pass") for w in TRUTH]}
    )
    assert not any(way.clear for way in refused(imported, path))
    table = taken(path, refused(imported, path)[-1])
    meant = {"True": "fail", "False": "pass"}
    by_judge = table.filter(rater="llm_error_found")["verdict"].to_list()
    assert [meant[{"True": "False", "False": "True"}[word]] for word in by_judge] == JUDGE
    assert table.filter(rater="human_is_correct")["verdict"].to_list() == [str(word == "pass") for word in TRUTH]
    words = {"llm_error_found:True": "False", "llm_error_found:False": "True", "nobody:True": "False"}
    notes = import_ratings(
        [path],
        ImportOptions(question=("q",), kinds={"llm_error_found": "llm", "human_is_correct": "human"}, words=words),
    ).notes
    assert [note for note in notes if "names what is not here" in note] == [
        "--word-map names what is not here: nobody:True"
    ]


def test_two_sliders_of_one_item_are_a_judges_and_a_persons(tmp_path):
    score = {"pass": 70, "fail": 20}
    mine, theirs = ([score[word] + n * 7 % 29 for n, word in enumerate(words)] for words in (JUDGE, TRUTH))
    path = written(tmp_path / "t.csv", {"clip": IDS, "metric_pred": mine, "mos_human": theirs, "seconds": range(80)})
    (way,) = refused(check, path)
    marks = [mark for option, mark in zip(way.options, way.options[1:], strict=False) if option == "--pass-if"]
    read = check(path, judges=told(way)["judge"], pass_if=marks).read.votes
    assert (read.judges, read.people) == (("metric_pred",), ("mos_human",))
    (way,) = refused(imported, path)
    table = taken(path, way)
    assert raters(table) == {"metric_pred": "llm", "mos_human": "human"}
    assert table.filter(rater="mos_human")["value"].to_list() == theirs


def test_records_of_a_list_are_told_apart_by_who_rated_or_from_where(tmp_path):
    def record(kind, path, word):
        return {"evaluator": {"path": path, "spec": {"evaluator_type": kind}}, "judgment": word}

    logs = [
        {"id": item, "logs": [record("llm", "j/ok", judge), record("human", "p/ok", word)]}
        for item, judge, word in zip(IDS, JUDGE, TRUTH, strict=True)
    ]
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(logs))
    votes = check(path).read.votes
    assert (votes.judges, votes.people, votes.n_items) == (("j/ok",), ("p/ok",), 80)
    assert raters(imported(path).ratings) == {"j/ok": "llm", "p/ok": "human"}
    scores = [
        {
            "id": item,
            "name": "run",
            "scores": [
                {"name": "done", "value": judge, "source": "sdk", "reason": "ok"},
                {"name": "done", "value": word, "source": "ui", "reason": None},
            ],
        }
        for item, judge, word in zip(IDS, JUDGE, TRUTH, strict=True)
    ]
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(scores))
    assert check(path, human="ui").read.votes.judges == ("sdk",)
    assert ["ui"] in [told(way)["human"] for way in refused(check, path)]
    assert {"sdk": "llm", "ui": "human"} in [raters(taken(path, way)) for way in refused(imported, path)]
    for each in scores:  # texts that were found, and no ratings
        each["scores"] = [{"source": f"{each['id']}-{n}.pdf", "score": 0.5, "text": "found"} for n in range(2)]
    path.write_text(json.dumps(scores))
    assert all("sdk" not in way.options for way in refused(check, path))


def test_an_export_of_one_side_alone_is_compared_with_what_stands_beside_it(tmp_path):
    tasks = [
        {
            "id": n,
            "data": {"text": f"the whole text of the answer number {n}", "judge_verdict": judge},
            "annotations": [
                {
                    "id": 900 + n,
                    "completed_by": 1,
                    "result": [{"value": {"choices": [word]}, "from_name": "v", "to_name": "text", "type": "choices"}],
                }
            ],
        }
        for n, (judge, word) in enumerate(zip(JUDGE, TRUTH, strict=True))
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    (human,) = told(refused(check, path)[0])["human"]
    read = check(path, human=human, judges="data.judge_verdict").read
    same = sum(judge == word for judge, word in zip(JUDGE, TRUTH, strict=True)) / 80
    assert read.judges[0].measures["agreement"].estimate == pytest.approx(same)
    samples = [
        {"doc_id": n, "target": "4", "filtered_resps": ["4"], "exact_match": float(word == "pass")}
        | {"metrics": ["exact_match", "llm_judge"], "llm_judge": float(judge == "pass")}
        for n, (judge, word) in enumerate(zip(JUDGE, TRUTH, strict=True))
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in samples))
    (way,) = refused(check, path)
    assert told(way) == {"judge": ["llm_judge"], "human": ["exact_match"]}


def test_a_row_a_person_is_no_item_of_its_own_and_a_response_is_no_work(tmp_path):
    rows = [
        {"participant_id": f"p{(n + k) % 7}", "submission_id": f"s{n}-{k}", "item_id": item, "model_verdict": judge}
        | {"response": word}
        for k, seed in enumerate((2, 3, 4))
        for n, (item, judge, word) in enumerate(zip(IDS, JUDGE, noisy(TRUTH, seed=seed), strict=True))
    ]
    path = written(tmp_path / "t.csv", {name: [row[name] for row in rows] for name in rows[0]})
    assert [told(way)["human"] for way in refused(check, path)] == [["response"]]
    read = check(path, human="response").read
    assert (read.roles.cluster, len(set(read.votes.clusters)), read.judges[0].n_compared) == ("item_id", 80, 240)
    table = taken(path, refused(imported, path)[0])
    assert set(raters(table).values()) == {"human"}
    assert (table.height, table["item_id"].n_unique(), table["rater"].n_unique()) == (240, 80, 7)


@pytest.mark.parametrize("second", [[], [["", "", *["Response"] * 80]]])
@pytest.mark.parametrize("name", ["Respondent ID", "Name", ""])
def test_items_as_columns_are_asked_about_with_the_command_that_turns_them(tmp_path, monkeypatch, name, second):
    rows = [["ann 1", "x", *ONE], ["ann 2", "y", *OTHER], ["gpt-4o", "z", *JUDGE]]
    path = tmp_path / "t.csv"
    heads = [name, "Sent", *(f"Q{n}. Is answer {n} right?" for n in range(80))]
    path.write_text("".join(";".join(row) + "\n" for row in (heads, *second, *rows)))
    monkeypatch.chdir(tmp_path)
    for read in (check, imported):
        with pytest.raises(InputError, match=r"a row a rater .* and a column an item") as error:
            read(path)
        turn, then = error.value.cure.removeprefix("turn it: ").split(" && ")
        code = shlex.split(turn)
        assert code[:2] == ["python", "-c"]
        subprocess.run([sys.executable, *code[1:]], check=True)
        assert then.startswith(f"axisjudge {'check' if read is check else 'import'} by_rating.csv")
    votes = check("by_rating.csv").read.votes
    assert (votes.judges, votes.people, votes.n_items) == (("gpt-4o",), ("ann 1", "ann 2"), 80)


def test_raters_as_columns_stand_upright(tmp_path):
    said = {f"rater{n}": noisy(TRUTH, seed=n) for n in range(6)}
    path = written(tmp_path / "t.csv", {"run": [f"gpt-4o/{n}" for n in range(80)], **said})
    assert {f"{name}=llm" for name in said} <= {*refused(imported, path)[0].options}


def test_the_status_of_an_assignment_is_no_question_that_people_answered(tmp_path):
    rows = [(item, f"W{k}", "Approved", noisy(TRUTH, seed=k)[n]) for k in range(3) for n, item in enumerate(IDS)]
    heads = ("HITId", "WorkerId", "AssignmentStatus", "Answer.quality")
    path = written(tmp_path / "t.csv", dict(zip(heads, zip(*rows, strict=True), strict=True)))
    assert {*taken(path, refused(imported, path)[0])["question"]} == {"Answer.quality"}


def test_a_check_mark_is_a_yes_and_not_ok_fails(tmp_path):
    marks, words = {"pass": "✓", "fail": "✗"}, {"pass": "acceptable", "fail": "not acceptable"}
    rows = {"item": IDS, "judge": [each[0].replace("p", "Y").replace("f", "N") for each in JUDGE]}
    for of in (marks, words):
        path = written(tmp_path / f"{len(of['fail'])}.csv", {**rows, "human": [of[each] for each in ONE]})
        (of_judge,) = check(path).read.judges
        caught = sum(a == b == "fail" for a, b in zip(JUDGE, ONE, strict=True)) / ONE.count("fail")
        assert of_judge.measures["sensitivity"].estimate == pytest.approx(caught)


def test_unnamed_columns_beside_a_judge_may_be_those_who_differed(tmp_path):
    own = {"Rev 1 (Sam)": ONE, "Rev 2 (Noor)": OTHER}
    path = written(tmp_path / "t.csv", {"item": IDS, "LLM judge\nPass?": JUDGE, **own, "Final (adjudicated)": DECIDED})
    ways = refused(check, path)
    assert [told(way)["human"] for way in ways] == [["Final (adjudicated)"], [*own]]
    assert {tuple(told(way)["judge"]) for way in ways} == {("LLM judge Pass?",)}  # as one line can name it
    assert check(path, judges=told(ways[0])["judge"], human=told(ways[0])["human"]).read.votes.n_items == 80


def test_which_of_three_unnamed_raters_is_the_judge_is_asked(tmp_path):
    path = written(tmp_path / "t.csv", {"item": IDS, "r1": ONE, "r2": OTHER, "r3": JUDGE})
    assert [told(way)["judge"] for way in refused(check, path)] == [["none"], ["r3"], ["r2"], ["r1"]]


def test_a_text_that_was_expected_is_no_persons_word_for_a_judges_score(tmp_path):
    scores = {"scores.Factuality": [0.6, 1, 0, 1] * 20, "scores.Human correctness": [1, 1, 0, 1] * 20}
    path = written(tmp_path / "t.csv", {"item": IDS, "expected": ["see the manual"] * 80, **scores})
    (way,) = refused(check, path)
    options = dict(zip(way.options[::2], way.options[1::2], strict=True))
    read = check(path, judges=options["--judge"], pass_if=options["--pass-if"]).read
    assert read.roles.people == ("scores.Human correctness",)
    assert read.judges[0].measures["agreement"].estimate == 1


def test_raters_of_several_questions_are_compared_question_by_question(tmp_path):
    grades = {f"{of} {by}": [1, 2, 3, 4, 5, 1, 2, 3] * 10 for of in ("tone", "facts") for by in ("gpt-4.1", "human1")}
    grades |= {f"{of} {by}": [2, 2, 3, 4, 5, 1, 1, 3] * 10 for of in ("tone", "facts") for by in ("mistral", "human2")}
    by_name = [told(way) for way in refused(check, written(tmp_path / "t.csv", {"item": IDS, **grades}))]
    assert by_name == [
        {"judge": [f"{of} gpt-4.1", f"{of} mistral"], "human": [f"{of} human1", f"{of} human2"]}
        for of in ("tone", "facts")
    ]
    notes = {
        f"note_{n}{of}": grades[f"tone {by}"] for n in ("I", "V") for of, by in (("_real", "human1"), ("", "human2"))
    }
    beside = [told(way) for way in refused(check, written(tmp_path / "u.csv", {"item": IDS, **notes}))]
    assert beside == [{"judge": [f"note_{n}"], "human": [f"note_{n}_real"]} for n in ("I", "V")]


def test_an_empty_column_of_people_is_said_and_nobody_else_taken_for_them(tmp_path):
    rows = {"item": IDS, "jury_verdict": JUDGE, "sys_label": JUDGE, "human_verdict": [""] * 80}
    with pytest.raises(InputError, match="human_verdict") as error:
        check(written(tmp_path / "t.csv", rows))
    assert not any("--human" in way.options for way in error.value.ways)


def test_a_columns_pairs_are_no_rows_under_headings(tmp_path):
    rows = {"pair": [["q", f"d{n}"] for n in range(80)], "human_score": [0, 1, 2, 3] * 20, "gpt-4o": [0, 1, 2, 2] * 20}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert check(path).read.votes.n_items == 80


def test_the_one_sheet_of_ratings_is_read_and_the_sums_beside_it_are_said(tmp_path):
    ratings = [["item", "gpt-4o", "human"], *map(list, zip(IDS, JUDGE, ONE, strict=True))]
    workbook(tmp_path / "t.xlsx", {"Sums": [["share", "n"], ["0.5", "80"]], "Pairs": ratings})
    read = check(tmp_path / "t.xlsx").read
    assert read.votes.n_items == 80
    assert any("Pairs" in note and "Sums" in note for note in read.notes)


@pytest.mark.parametrize(("words", "n_ways"), [(("safe", "unsafe"), 1), (("blue", "red"), 2)])
def test_a_score_beside_two_words_of_no_side_says_which_word_passes(tmp_path, words, n_ways):
    people = [words[each == "fail"] for each in ONE]
    scores = [0.1 if each == "pass" else 0.9 for each in JUDGE]
    path = written(tmp_path / "t.csv", {"item": IDS, "p_unsafe": scores, "human_label": people})
    ways = [dict(zip(way.options[::2], way.options[1::2], strict=True)) for way in refused(check, path)]
    assert len(ways) == n_ways
    means = {"p_unsafe:pass": words[0], "p_unsafe:fail": words[1]}
    assert f"p_unsafe:pass={words[0]}" in {way["--words"] for way in ways}
    (judge,) = check(path, judges="p_unsafe", pass_if=ways[0]["--pass-if"], means=means).read.judges
    assert judge.measures["agreement"].estimate == pytest.approx(
        sum(a == b for a, b in zip(JUDGE, ONE, strict=True)) / 80
    )


def test_rows_of_one_id_that_fill_each_other_are_one_item(tmp_path):
    rows = [{"id": id_, "gold": of, "gpt-4o": said} for id_, of, said in zip(IDS, ONE, JUDGE, strict=True)]
    whole = check(written(tmp_path / "whole.csv", {name: [row[name] for row in rows] for name in rows[0]}))
    parts = [part for row in rows for part in (row | {"mistral": "pass"}, row | {"llama": "fail"})]
    path = tmp_path / "parts.jsonl"
    path.write_text("\n".join(map(json.dumps, parts)), encoding="utf-8")
    read = check(path, judges="gpt-4o", human="gold").read
    assert read.counts == whole.read.counts
    assert any("160" in note for note in read.notes)
    kinds = {"gold": "human", "gpt-4o": "llm"}
    table = import_ratings([path], ImportOptions(kinds=kinds, question=("ok",))).ratings
    assert table.height == 160  # and no repeats


def test_pairs_in_either_order_are_turned_into_one_with_what_was_said_of_their_sides(tmp_path):
    winner = {"pass": "model_a", "fail": "model_b"}
    turned = {"model_a": "model_b", "model_b": "model_a"}
    rows = []
    for n, (one, said) in enumerate(zip(ONE, JUDGE, strict=True)):
        pair = {"question_id": f"q{n}", "model_a": "vicuna", "model_b": "alpaca"}
        rows.append({**pair, "judge": "gpt-4", "winner": winner[said]})
        swapped = {**pair, "model_a": "alpaca", "model_b": "vicuna"} if n % 2 else pair
        rows.append({**swapped, "judge": "expert_1", "winner": turned[winner[one]] if n % 2 else winner[one]})
    path = written(tmp_path / "t.csv", {name: [row[name] for row in rows] for name in rows[0]})
    read = check(path, item=["question_id", "model_a", "model_b"]).read
    agreed = sum(a == b for a, b in zip(JUDGE, ONE, strict=True)) / 80
    (of_judge,) = read.compared.values()
    assert (read.votes.n_items, of_judge["agreement"].estimate) == (80, pytest.approx(agreed))
    assert any("40" in note and "winner" in note for note in read.notes)
    more = [{**row, "judge": "author_2"} for row in rows if row["judge"] == "expert_1"]
    path = written(tmp_path / "u.csv", {name: [row[name] for row in (*rows, *more)] for name in rows[0]})
    with pytest.raises(InputError, match="author_2") as error:
        check(path, item=["question_id", "model_a", "model_b"])
    assert [told(way)["human"] for way in error.value.ways] == [["expert_1", "author_2"], ["expert_1"]]


def test_scores_of_two_sides_and_names_of_writers_are_no_raters_of_a_pair(tmp_path):
    texts = {"chosen": [f"a good answer {n}" for n in range(80)], "rejected": [f"a bad answer {n}" for n in range(80)]}
    writers = {"chosen_model": ["gpt-4", "human"] * 40, "rejected_model": ["llama-7b", "human_buggy"] * 40}
    scores = {"score_chosen": [n / 7 for n in range(80)], "score_rejected": [n / 9 for n in range(80)]}
    rows = {"id": IDS, **texts, **writers, **scores, "results": [1, 1, 0, 1] * 20}
    with pytest.raises(InputError) as error:
        check(written(tmp_path / "t.csv", rows))
    named = {option for way in error.value.ways for option in way.options}
    assert not any(column in option for option in named for column in (*writers, *scores))


def test_whether_a_judge_matched_is_no_second_label_beside_grades(tmp_path):
    grades = {"label": [0, 1, 2, 3] * 20, "llm_label": [0, 1, 2, 2] * 20}
    path = written(tmp_path / "t.csv", {"item": IDS, **grades, "llm_matches_gold": [True, True, True, False] * 20})
    assert check(path).read.roles.people == ("label",)
