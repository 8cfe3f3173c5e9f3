"""Shapes of files that others publish, made up here: what was refused without a command, or read in a wrong way."""

import csv
import itertools
import json
import random
import shlex
import zipfile

import numpy as np
import polars as pl
import pytest
from imports.test_never_wrong import drawn, noisy, written

from axisjudge.checks import InputError, WayOut, tried
from axisjudge.imports import ImportOptions, api, import_ratings
from axisjudge.imports.items import rows_to_try, telling_apart
from axisjudge.imports.recognise import recognise, sums_up, texts
from axisjudge.imports.sheets import read_sheet
from axisjudge.ratings import write_ratings
from axisjudge.ratings.edge import sides_of
from axisjudge.ratings.scales import number_of
from axisjudge.stats.agreement.chance_corrected import fleiss_kappa
from axisjudge.studies.check import check

SAID = drawn(60, ("yes", "no"))


def refused(path, **told):
    with pytest.raises(InputError) as error:
        import_ratings([path], ImportOptions(**told))
    return error.value


def taken(path, way):
    return import_ratings([path], ImportOptions().with_options(way.options)).ratings


@pytest.mark.parametrize("name", ["response", "text", "output", "completion", "model_output"])
def test_answers_in_a_column_that_is_named_like_a_text_are_proposed(tmp_path, name):
    prompts = [f"a question of some length, number {n}" for n in range(60)]
    alone = written(tmp_path / "alone.csv", {"prompt": prompts, name: SAID})
    table = taken(alone, refused(alone).ways[0])
    assert (table.height, table["verdict"].value_counts().sort("verdict").rows()) == (
        60,
        sorted((word, SAID.count(word)) for word in ("no", "yes")),
    )
    beside = written(tmp_path / "beside.csv", {"prompt": prompts, name: noisy(SAID), "label": SAID})
    if name in ("response", "text", "completion"):
        with pytest.raises(InputError) as error:
            check(beside)
        assert error.value.ways[0].options == ("--judge", name)
    assert check(beside, judges=name).read.judges[0].n_compared == 60


def test_answers_that_are_different_texts_are_not(tmp_path):
    path = written(tmp_path / "t.csv", {"prompt": [f"p{n}" for n in range(30)], "output": [f"o{n}" for n in range(30)]})
    assert refused(path).ways == ()


def test_two_who_never_saw_one_item_are_not_compared():
    rows = [{"item": n, "rater": ("gpt", "human")[n < 30], "label": word} for n, word in enumerate(SAID)]
    table = {name: [row[name] for row in rows] for name in rows[0]}
    with pytest.raises(InputError, match=r"no item has both a judge's word and people's.*30 that gpt rated, 30 that"):
        check(table)


def test_a_refused_file_is_read_once_however_many_commands_are_tried(tmp_path, monkeypatch):
    rows = {"task_id": [n // 3 for n in range(600)], "model_name": [f"agent-{n % 3}" for n in range(600)]}
    path = written(tmp_path / "big.csv", rows | {name: drawn(600, "12345", seed=3) for name in ("tone", "facts")})
    reads, tries = [], []
    monkeypatch.setattr(api.sheets, "read_sheet", lambda path: reads.append(path) or read_sheet(path))
    read_table = api.read_table
    monkeypatch.setattr(
        api, "read_table", lambda path, sheet, *rest: tries.append(sheet) or read_table(path, sheet, *rest)
    )
    monkeypatch.setattr(api, "TRIED_ON", 300)
    assert len(refused(path).ways) == 4
    assert len(reads) == 2
    assert len(tries) > 4
    assert {len(sheet.columns["tone"]) for sheet in tries[1:]} == {300}


def test_verdicts_that_each_stand_beside_an_answer_are_no_raters_of_one(tmp_path):
    names = ("fid", "chat", "bing")
    answers = {f"answer_{name}": [f"{name} says {n}" for n in range(60)] for name in names}
    path = written(tmp_path / "qa.csv", answers | {f"judge_{name}": drawn(60, seed=k) for k, name in enumerate(names)})
    error = refused(path)
    assert "on several texts in a row (judge_fid on answer_fid" in str(error)
    assert set(taken(path, error.ways[0])["rater"]) == {"qa"}
    with pytest.raises(InputError, match="on several texts in a row"):
        check(path)


def test_people_who_each_saw_another_answer_are_no_raters_of_one(tmp_path):
    of = ("alpha", "beta")
    columns = {f"{name}-response": [f"{name} says {n}" for n in range(60)] for name in of}
    columns |= {f"{name}-response-expert": drawn(60, ("fit", "unfit"), seed=k) for k, name in enumerate(of)}
    error = refused(written(tmp_path / "two.csv", columns))
    assert "alpha-response-expert on alpha-response" in str(error)


def test_names_that_say_who_rated_at_their_end_alone_are_questions_to_one(tmp_path):
    rows = [
        {"id": f"i{n}", "asked": {part: {"human": n * k % 5} for k, part in enumerate(("tone", "facts"), 1)}}
        for n in range(40)
    ]
    (tmp_path / "asked.json").write_text(json.dumps(rows))
    error = refused(tmp_path / "asked.json")
    assert "raters of one question, or questions to one rater" in str(error)
    assert {frozenset(taken(tmp_path / "asked.json", way)["question"]) for way in error.ways} >= {
        frozenset({"asked.tone.human", "asked.facts.human"})
    }


def test_several_people_of_each_question_come_in_one_question_at_a_time(tmp_path):
    rows = [{"id": n, "of": {part: {"human": [n % 5, n % 4, n % 3]} for part in ("tone", "facts")}} for n in range(40)]
    (tmp_path / "asked.json").write_text(json.dumps(rows))
    table = taken(tmp_path / "asked.json", refused(tmp_path / "asked.json").ways[0])
    assert (set(table["question"]), table["rater"].n_unique(), table.height) == ({"of.tone.human"}, 3, 120)
    rows = [{"id": n, **{f"{part}.human": n % 2 for part in ("tone", "facts")}} for n in range(40)]
    (tmp_path / "two.json").write_text(json.dumps(rows))
    assert all("--sampling" in way.options for way in refused(tmp_path / "two.json").ways), (
        "people are asked for the draw"
    )


def test_what_sums_up_people_is_neither_a_judge_nor_a_rater(tmp_path):
    one, two, three = (noisy(SAID, 0.2, seed=k) for k in range(3))
    settled = [a if a == b else c for a, b, c in zip(one, two, three, strict=True)]
    third = ["" if a == b else c for a, b, c in zip(one, two, three, strict=True)]
    people = {"annotator1": one, "annotator2": two, "annotator3": third}
    path = written(tmp_path / "settled.csv", {"id": list(range(60)), "Acceptable?": settled, **people})
    with pytest.raises(InputError, match="wherever they agree"):
        check(path)
    assert set(import_ratings([path]).ratings["rater"]) == set(people)
    frame = texts({"gpt_verdict": settled, "other": noisy(settled, 0.1), **people})
    assert not any(sums_up(frame, name, list(people)) for name in ("gpt_verdict", "other"))
    parts = [{"id": n, "of": {"majority_human": a, "individual_human": a}} for n, a in enumerate(one)]
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    assert set(import_ratings([tmp_path / "parts.json"]).ratings["rater"]) == {"of.individual_human"}


def test_a_score_kept_twice_in_a_record_is_one_rating(tmp_path):
    rows = [{"session_id": f"s{n}", "parsed": {"score": str(n % 7)}, "score": str(n % 7)} for n in range(40)]
    (tmp_path / "scores.json").write_text(json.dumps(rows))
    assert taken(tmp_path / "scores.json", refused(tmp_path / "scores.json").ways[0]).height == 40


def test_quotes_are_letters_between_tabs_where_the_table_shows_it(tmp_path):
    rows = [("id", "answer", "label"), *((str(n), f'"the {n}" and more', word) for n, word in enumerate(SAID))]
    path = tmp_path / "quoted.tsv"
    path.write_text("\n".join("\t".join(row) for row in rows))
    assert read_sheet(path).columns["answer"][:2] == ['"the 0" and more', '"the 1" and more']
    path.write_text('id\tanswer\n1\t"cut off')
    assert read_sheet(path).columns["answer"] == ['"cut off']
    broken = tmp_path / "broken.csv"
    broken.write_text('id,answer\n1,"cut off')
    with pytest.raises(InputError, match="not readable"):
        read_sheet(broken)


def test_lists_over_many_lines_blanks_between_cells_and_a_sheets_row_numbers(tmp_path):
    rows = [{"id": n, "label": word} for n, word in enumerate(SAID)]
    (tmp_path / "many.jsonl").write_text(json.dumps(rows, indent=1))
    assert read_sheet(tmp_path / "many.jsonl").columns["label"] == SAID
    (tmp_path / "blanks.tsv").write_text("system score seg\n" + "".join(f"s{n % 3} {-n / 7} {n}\n" for n in range(30)))
    assert list(read_sheet(tmp_path / "blanks.tsv").columns) == ["system", "score", "seg"]
    pytest.importorskip("fastexcel")
    rows = [["", "gpt", "human"], *([str(n), word, word] for n, word in enumerate(SAID))]
    assert list(read_sheet(workbook(tmp_path / "frame.xlsx", {"Sheet1": rows})).columns) == ["column 1", "gpt", "human"]
    two = workbook(
        tmp_path / "two.xlsx", {"one": [["id", "label"], ["1", "yes"]], "other": [["id", "grade"], ["1", "5"]]}
    )
    with pytest.raises(InputError, match=r"2 sheets.*python -c .*sheet_name=.*one.*write_csv"):
        read_sheet(two)


def workbook(path, sheets):
    """A workbook of cells of texts, part by part as ECMA-376 has it."""
    ns, kinds = "http://schemas.openxmlformats.org", "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = list(enumerate(sheets, 1))
    sheet = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in names)
    of = f"{ns}/officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{ns}/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        + "".join(f'<Override PartName="/xl/s{n}.xml" ContentType="{kinds}.worksheet+xml"/>' for n, _ in names)
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{ns}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{of}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{ns}/spreadsheetml/2006/main" xmlns:r="{of}">'
        f"<sheets>{sheet}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{ns}/package/2006/relationships">'
        + "".join(f'<Relationship Id="r{n}" Type="{of}/worksheet" Target="s{n}.xml"/>' for n, _ in names)
        + "</Relationships>",
    }
    for n, rows in enumerate(sheets.values(), 1):
        cells = "".join(
            f'<row r="{k}">'
            + "".join(
                f'<c r="{"ABC"[at]}{k}" t="inlineStr"><is><t>{text}</t></is></c>' for at, text in enumerate(row) if text
            )
            + "</row>"
            for k, row in enumerate(rows, 1)
        )
        parts[f"xl/s{n}.xml"] = (
            f'<worksheet xmlns="{ns}/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>'
        )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_cells_that_list_labels_are_one_word_each_as_in_json(tmp_path):
    cells = [("['late']", "['poor', 'late']", "")[n % 3] for n in range(30)]
    path = written(tmp_path / "lists.csv", {"id": list(range(30)), "error_type": cells, "turn": ["[1, 2]"] * 30})
    columns = read_sheet(path).columns
    assert (columns["error_type"][:3], columns["turn"][0]) == (["late", "late + poor", ""], "[1, 2]")
    orders = ["['a', 'b']", "['b', 'a']"] * 5
    path = written(tmp_path / "orders.csv", {"order": orders, "both": ["['a'], ['b']"] * 10})
    assert read_sheet(path).columns == {"order": orders, "both": ["['a'], ['b']"] * 10}


def test_fractions_between_whole_ends_are_numbers_measured():
    known = recognise(texts({"score": [0, *(n / 61 for n in range(1, 60)), 1], "grade": list(range(61))})).columns
    assert (known["score"].kind, known["score"].fractions, known["grade"].fractions) == ("verdict", True, False)


def test_rows_that_nothing_tells_apart_get_the_nearest_id(tmp_path):
    rows = [(f"s{n % 3}", n // 12, n // 6 % 2, f"rater{n // 3 % 2 + 1}", word) for n, word in enumerate(SAID)]
    rows += [(*row[:4], "other") for row in rows[:12]]
    with (path := tmp_path / "spans.csv").open("w", newline="") as out:
        csv.writer(out).writerows([("system", "doc_id", "seg_id", "rater", "severity"), *rows])
    error = refused(path, kind="human", sampling="unknown")
    near = import_ratings([path], ImportOptions(kind="human", sampling="unknown").with_options(error.ways[0].options))
    assert near.ratings.select(pl.col("item_id").n_unique()).item() == 30
    assert "are repeats" in error.ways[0].when


def test_words_with_an_underscore_are_no_numbers():
    assert [number_of(word) for word in ("22_6", "1_000", "22.6", "1e3")] == [None, None, 22.6, 1000.0]


def came(path):
    """What a bare import takes, and the options that it says it took."""
    imported = import_ratings([path])
    note = next(each for each in imported.notes if each.startswith("no option was given"))
    return imported.ratings, note


def test_what_names_and_cells_decide_is_taken_and_said(tmp_path):
    ids = [f"case-{n}" for n in range(60)]
    alone = written(tmp_path / "gold.csv", {"case_id": ids, "label": SAID})
    table, note = came(alone)
    assert (table.height, {*table["rater_kind"]}, {*table["question"]}) == (60, {"human"}, {"label"})
    assert "--kind human --sampling unknown" in note
    assert import_ratings([alone], ImportOptions(kind="llm")).ratings["rater_kind"].unique().to_list() == ["llm"]
    rows = {"item": ids * 2, "annotator": ["gpt-4o"] * 60 + ["worker_17"] * 60, "grade": SAID * 2}
    table, note = came(written(tmp_path / "long.csv", rows))
    assert dict(table.select("rater", "rater_kind").iter_rows()) == {"gpt-4o": "llm", "worker_17": "human"}
    for other in ("longest", "bot", "house-13b"):  # a rule, a person, a model of one's own: nothing says which
        rows["annotator"] = ["gpt-4o"] * 60 + [other] * 60
        assert refused(written(tmp_path / f"{other}.csv", rows)).ways
    rows["model"] = rows.pop("annotator")[:60] + ["claude-3"] * 60  # who rated, or whose answers were
    ways = refused(written(tmp_path / "model.csv", rows)).ways
    assert {("model says who rated" in way.when, "model=agent" in way.options) for way in ways} == {
        (True, False),
        (False, True),
    }
    scores = {"case_id": ids, "gpt-4": drawn(60, "12345"), "llama": drawn(60, "12345", seed=2)}
    assert refused(written(tmp_path / "scores.csv", scores)).ways
    assert len(refused(written(tmp_path / "score.csv", {"case_id": ids, "score": drawn(60, "12345")})).ways) == 2


def test_choices_between_answers_are_one_word_under_either_name(tmp_path):
    people = drawn(60, ("model_a", "model_b", "tie"), seed=4)
    judge = noisy([each.removeprefix("model_").upper() if each != "tie" else each for each in people], 0.2)
    path = written(tmp_path / "pairs.csv", {"id": list(range(60)), "human_winner": people, "judge_pick": judge})
    same = sum(
        one.removeprefix("model_").casefold() == other.casefold() for one, other in zip(people, judge, strict=True)
    )
    found = check(path)
    assert found.read.judges[0].measures["agreement"].estimate == pytest.approx(same / 60)
    assert any("--words judge_pick:a=model_a" in note for note in found.read.notes)
    table, _ = came(path)
    wide = table.pivot("rater", index="item_id", values="verdict")
    assert (wide["human_winner"] == wide["judge_pick"]).sum() == same
    numbered = ["model_1" if each == "model_a" else "model_2" for each in people]
    with pytest.raises(InputError):
        check({"id": list(range(60)), "human_winner": numbered, "judge_pick": drawn(60, ("a", "b"), seed=5)})


def test_each_record_of_a_list_is_an_item_where_none_says_who_rated(tmp_path):
    claims = [[{"claim": f"{n} {k % 2}", "human_label": SAID[n - k]} for k in range(5)] for n in range(12)]
    path = tmp_path / "claims.json"
    path.write_text(
        json.dumps([{"id": f"r{n}", "response": f"text {n}", "claims": each} for n, each in enumerate(claims)])
    )
    table, _ = came(path)
    said = [each["human_label"] for claim in claims for each in claim]
    assert (table.height, table["item_id"].n_unique(), (table["verdict"] == "yes").sum()) == (60, 60, said.count("yes"))
    with pytest.raises(InputError) as error:
        check(path)
    assert not any("number" in option for way in error.value.ways for option in way.options), "places are no judge"


def test_a_cell_may_hold_several_labels_and_none_of_them(tmp_path):
    asked = ["tone", "faults"] * 30
    cells = ["3" if each == "tone" else ("[]", "['1']", "['4', '2']")[n % 3] for n, each in enumerate(asked)]
    path = tmp_path / "several.csv"
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(
            [
                ("art_id", "ann", "criterion", "annotation"),
                *((n // 2, f"annotator_{n // 2 % 2}", *of) for n, of in enumerate(zip(asked, cells, strict=True))),
            ]
        )
    table, _ = came(path)
    faults = table.filter(pl.col("question") == "faults")["verdict"]
    assert sorted(faults.value_counts().rows()) == [("1", 10), ("2 + 4", 10), ("[]", 10)]
    with pytest.raises(InputError, match="twice"):
        check(path)
    path.write_text(path.read_text().replace("annotator_1", "gpt-4o").replace("annotator_0", "gpt-4o"))
    assert came(path)[0]["item_id"].n_unique() == 30, "items are named by their id, though one judge alone rated"


def test_a_heading_over_several_columns_is_no_word_of_them(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["case", "use", "use"], ["", "grade", "reason"], *([str(n), str(n % 5), f"why {n}"] for n in range(20))]
    read = read_sheet(workbook(tmp_path / "two_lines.xlsx", {"Sheet1": rows}))
    assert [*read.columns] == ["case", "use grade", "use reason"]
    assert (len(read.columns["case"]), any("grade" in note for note in read.notes)) == (20, True)


@pytest.mark.parametrize(
    ("above", "people", "judge"),
    [
        ([["# made 2026-05-01, by hand"], ["#"], ["id", "gpt-4o", "human"]], "human", "gpt-4o"),
        ([["Verdicts of May", "", ""], ["", "", ""], ["id", "gpt-4o", "human"]], "human", "gpt-4o"),
        ([["Verdicts of May"], ["id", "gpt-4o", "human"]], "human", "gpt-4o"),
        ([["", "GPT-4o", "Human"], ["id", "verdict", "verdict"]], "Human verdict", "GPT-4o verdict"),
        ([["id", "model_grade", "rater_grade"], ["Id", "By the model", "Is it right?"]], "", "model_grade"),
        ([["id", "gpt-4o", "human"], ['{"ImportId":"_id"}', *['{"ImportId":"Q"}'] * 2]], "human", "gpt-4o"),
    ],
)  # fmt: skip
def test_what_stands_above_the_rows_is_no_row_of_a_csv(tmp_path, above, people, judge):
    rows = [[f"q{n}", of, said] for n, (said, of) in enumerate(zip(SAID, noisy(SAID), strict=True))]
    with (tmp_path / "above.csv").open("w", newline="") as out:
        csv.writer(out).writerows([*above, *rows])
    read = check(tmp_path / "above.csv", human=people or "rater_grade").read
    assert (read.votes.n_items, read.roles.judges, read.votes.n_labelled) == (60, (judge,), 60)
    assert any(above[0][0] in note or above[-1][-1] in note for note in read.notes), "what is left out is said"


def test_a_first_row_of_real_cells_is_no_line_of_headings(tmp_path):
    rows = [["q0", "tie", "tie", "a note"], *([f"q{n}", "ab"[n % 2], "ab"[n % 3 % 2], ""] for n in range(1, 40))]
    with (tmp_path / "rare.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["id", "gpt", "human", "notes"], *rows])
    assert len(read_sheet(tmp_path / "rare.csv").columns["id"]) == 40
    hashed = "#,gpt,human\n" + "".join(f"{n},a,b\n" for n in range(5))
    (tmp_path / "hashed.csv").write_text(hashed)
    assert [*read_sheet(tmp_path / "hashed.csv").columns] == ["#", "gpt", "human"]


def test_pairs_and_turns_that_only_four_columns_tell_apart_are_named_by_all_four():
    rows = [(q, a, b, t) for q in range(12) for a in "xyz" for b in "xyz" if a < b for t in (1, 2)]
    frame = texts(
        dict(zip(("question_id", "model_1", "model_2", "turn"), map(list, zip(*rows, strict=True)), strict=True))
    )
    models = {"x": "gpt-4", "y": "claude-v1", "z": "llama-13b"}
    frame = frame.with_columns(pl.col("model_1", "model_2").replace(models))
    assert {*telling_apart(frame, [], [], recognise(frame))} == {*frame.columns}


def test_commands_are_tried_on_items_of_the_whole_table_with_all_their_rows():
    known = recognise(texts({"item": list(range(3000)) * 2, "rater": ["gpt"] * 3000 + ["human"] * 3000}))
    rows = rows_to_try(known, 600)
    some = known.frame[rows]
    assert 500 <= len(rows) <= 700
    assert some.group_by("item").len()["len"].unique().to_list() == [2]


def test_our_own_ratings_are_no_table_to_import(tmp_path):
    path = tmp_path / "ratings.jsonl"
    write_ratings(
        import_ratings([written(tmp_path / "gold.csv", {"case_id": list(range(60)), "label": SAID})]).ratings, path
    )
    assert [way.instead[:2] for way in api.ratings_ways(path, str(path))] == [("axisjudge", "agreement")]


def test_refusals_that_lead_to_refusals_are_not_followed_for_ever():
    tries = []

    def attempt(options):
        tries.append(options)
        raise InputError("x", "is refused", ways=[WayOut((f"--{n}",)) for n in range(9)])

    tried(InputError("x", "is refused", ways=[WayOut((f"--{n}",)) for n in range(9)]), attempt)
    assert len(tries) <= 12


def test_what_one_row_alone_holds_is_not_taken_for_all(tmp_path):
    rows = [{"question_id": n, "judge": "gpt-4o", "verdict": {"winner": word}} for n, word in enumerate(SAID)]
    rows[3]["verdict"]["score"] = 7
    rows[4]["verdict"]["scores"] = [{"model": name, "score": k} for k, name in enumerate("AB")]
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ways = refused(path).ways
    assert "verdict.winner=verdict" in ways[0].options
    assert taken(path, ways[0])["verdict"].to_list() == SAID


@pytest.mark.parametrize(("name", "words"), [("annotator", "01"), ("judge", "01"), ("judge", ("good", "bad"))])
def test_answers_under_a_raters_name_are_not_taken_for_names(tmp_path, name, words):
    other = "human" if name == "judge" else "llm"
    said = drawn(60, words)
    path = written(tmp_path / "two.csv", {"id": list(range(60)), other: said, name: noisy(said)})
    if name == "annotator":  # 0 and 1 may be the annotators' numbers
        ways = refused(path).ways
        assert [way.clear for way in ways] == [False, False]
        assert set(taken(path, ways[1])["rater"]) == {"0", "1"}
        table = taken(path, ways[0])
    else:
        table = import_ratings([path]).ratings
    assert dict(table.select("rater", "rater_kind").unique().rows()) == (
        {other: "human", name: "llm"} if name == "judge" else {other: "llm", name: "human"}
    )
    assert table.height == 120


@pytest.mark.parametrize(("one", "other"), [("human_toxic", "judge_safe"), ("expert_helpful", "llm_harmless")])
def test_columns_of_unlike_questions_are_not_taken_for_raters_of_one_unasked(tmp_path, one, other):
    rows = {"id": list(range(60)), one: SAID, other: noisy(SAID)}
    path = written(tmp_path / "two.csv", rows)
    same, opposite = refused(path).ways
    assert not any(way.clear for way in (same, opposite))
    turned, told = (taken(path, way).filter(rater=other)["verdict"].to_list() for way in (opposite, same))
    (one_word, other_word) = sorted({*told})
    assert turned == [{one_word: other_word, other_word: one_word}[word] for word in told]
    with pytest.raises(InputError) as error:
        check(path)
    same, opposite = error.value.ways
    assert same.options == ("--judge", other)
    assert opposite.options[2:] == ("--words", f"{other}:no=yes", "--words", f"{other}:yes=no")
    agreed = [
        check(path, judges=other, means=means).read.judges[0].measures["agreement"].estimate
        for means in ({}, {f"{other}:no": "yes", f"{other}:yes": "no"})
    ]
    assert sum(agreed) == pytest.approx(1)
    alike = {name.rpartition("_")[0] + "_rating": cells for name, cells in rows.items() if name != "id"}
    assert import_ratings([written(tmp_path / "one.csv", {"id": rows["id"], **alike})]).ratings.height == 120


def test_whether_people_agree_with_a_judge_is_no_verdict_of_theirs(tmp_path):
    path = written(tmp_path / "t.csv", {"id": list(range(60)), "judge": SAID, "human_agrees": drawn(60, seed=4)})
    with pytest.raises(InputError, match="no column is recognised as what people said"):
        check(path)


def test_answers_numbered_from_0_and_from_1_are_not_compared_as_they_stand(tmp_path):
    people = drawn(60, "01")
    path = written(tmp_path / "t.csv", {"id": list(range(60)), "human": people, "llm": [int(n) + 1 for n in people]})
    with pytest.raises(InputError, match="llm says 1, 2"):
        check(path)
    assert not any(way.clear for way in refused(path).ways)


@pytest.mark.parametrize(("name", "n_ways"), [("label", 2), ("correct", 2), ("human_label", 0)])
def test_what_may_be_a_classifiers_or_a_graders_is_asked_for(tmp_path, name, n_ways):
    rows = {"id": list(range(60)), name: SAID}
    if name != "correct":
        rows["confidence"] = [n / 100 for n in range(30, 90)]
    path = written(tmp_path / "t.csv", rows)
    if n_ways:
        assert [way.clear for way in refused(path).ways] == [False] * n_ways
    else:
        assert set(import_ratings([path]).ratings["rater_kind"]) == {"human"}


@pytest.mark.parametrize(
    ("name", "orders", "refuses"),
    [
        ("swapped", ("False", "True"), True),
        ("is_flipped", ("0", "1"), True),
        ("order", ("AB", "BA"), True),
        ("presentation_order", ("original", "swapped"), True),
        ("domain", ("AB", "BA"), False),
        ("order", ("first", "second"), False),
    ],
)
def test_choices_between_answers_that_stood_the_other_way_round_are_not_compared_unasked(
    tmp_path, name, orders, refuses
):
    people = drawn(60, "AB", share=0.5)
    rows = {
        "id": list(range(60)),
        "human_winner": people,
        "judge_winner": noisy(people),
        name: drawn(60, orders, share=0.5, seed=9),
    }
    path = written(tmp_path / "t.csv", rows)
    if not refuses:
        assert check(path).read.judges[0].n_compared == import_ratings([path]).ratings.height / 2 == 60
        return
    with pytest.raises(InputError) as error:
        check(path)
    assert [way.options for way in error.value.ways] == [
        *(("--where", f"{name}={word}") for word in orders),
        ("--judge", "judge_winner"),
    ]
    assert [way.clear for way in refused(path).ways] == [False]
    graded = {**rows, "human_winner": drawn(60), "judge_winner": noisy(drawn(60))}  # no choice: the order is no matter
    assert check(written(tmp_path / "g.csv", graded)).read.judges[0].n_compared == 60


def test_numbers_that_go_twice_as_far_are_not_compared_as_they_stand(tmp_path):
    people = [str(1 + n % 5) for n in range(60)]
    path = written(
        tmp_path / "t.csv", {"id": range(60), "human_rating": people, "gpt4_rating": [2 * int(n) for n in people]}
    )
    with pytest.raises(InputError) as error:
        check(path)
    (way,) = error.value.ways
    assert way.options[2::2] == ("--pass-if", "--pass-if")
    assert not any(way.clear for way in refused(path).ways)
    near = written(tmp_path / "n.csv", {"id": range(60), "human_rating": people, "gpt4_rating": ["3", *people[1:]]})
    assert check(near).read.judges[0].n_compared == 60


def test_a_vote_of_people_is_no_judge_by_its_name(tmp_path):
    rows = {"id": range(60), "gold": SAID, "maj_vote": noisy(SAID)}
    with pytest.raises(InputError, match=r"maj_vote .* may be made of their words"):
        check(written(tmp_path / "alone.csv", rows))
    beside = written(tmp_path / "beside.csv", {**rows, "gpt4": noisy(SAID, seed=3)})
    assert [judge.name for judge in check(beside).read.judges] == ["gpt4"]


def test_a_judge_that_says_the_same_as_people_in_every_row_is_asked_for(tmp_path):
    rows = {"id": range(60), "label": SAID, "llm_label": SAID}
    assert [way.clear for way in refused(written(tmp_path / "t.csv", rows)).ways] == [False]


def test_verdicts_on_another_answer_are_no_raters_of_this_one(tmp_path):
    rows = {"id": range(60), "response_a_human": SAID, "response_b_human": drawn(60, ("yes", "no"), seed=5)}
    path = written(tmp_path / "t.csv", {**rows, "response_a_gpt4": noisy(SAID)})
    assert not any(way.clear for way in refused(path).ways)


def test_columns_that_name_their_question_come_in_one_question_at_a_time(tmp_path):
    rows = {f"{who}_{of}": noisy(SAID, seed=n) for n, of in enumerate(("tone", "facts")) for who in ("human", "gpt4")}
    ways = refused(written(tmp_path / "t.csv", {"id": range(60), **rows})).ways
    assert [way.options[-2:] for way in ways] == [("--question", "tone"), ("--question", "facts")]
    assert taken(tmp_path / "t.csv", ways[1]).select("rater", "rater_kind").unique().height == 2


def test_raters_of_a_long_table_are_what_their_names_say_in_check_as_in_import(tmp_path):
    rows = [(n, who, word) for who, words in (("ann1", SAID), ("gpt-4", noisy(SAID))) for n, word in enumerate(words)]
    columns = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
    assert check(written(tmp_path / "t.csv", columns)).read.judges[0].name == "gpt-4"
    models = {**columns, "annotator": [{"ann1": "llama-3"}.get(who, who) for who in columns["annotator"]]}
    with pytest.raises(InputError, match="all are models") as error:
        check(written(tmp_path / "m.csv", models))
    assert not any("--human" in way.options for way in error.value.ways), "no model is proposed as a person"


def test_what_each_worker_said_of_each_sentence_is_a_row(tmp_path):
    texts_of = [
        {
            "article": f"an article of some words, number {n}",
            "sentences": [
                {
                    "sentence": f"sentence {k} of article {n}",
                    "responses": [{"worker_id": w, "response": SAID[(n + k + w) % 60]} for w in range(3)],
                }
                for k in range(1 + n % 3)
            ],
        }
        for n in range(12)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, texts_of)), encoding="utf-8")
    every = [each["response"] for one in texts_of for of in one["sentences"] for each in of["responses"]]
    way = next(way for way in refused(path).ways if "response=verdict" in way.options)
    table = taken(path, way)
    assert (table.height, table.filter(verdict="yes").height) == (len(every), every.count("yes"))


def test_headings_without_a_name_are_numbered_and_blank_lines_above_them_passed_over(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        ",,\nhuman,gpt4,\n" + "".join(f"{a},{b},\n" for a, b in zip(SAID, noisy(SAID), strict=True)), encoding="utf-8"
    )
    assert check(path).read.judges[0].n_compared == 60


def test_an_order_of_models_is_one_verdict_and_no_ratings_of_each(tmp_path):
    rows = [
        {
            "instruction": f"an instruction of some words, number {n}",
            "annotator": "gpt-4o",
            "preference": 1 + (n % 3 > 0),
        }
        | {"ordered_models": [{"model": "mM"[n % 2], "rank": 1}, {"model": "Mm"[n % 2], "rank": 2}]}
        for n in range(60)
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    try:
        table = import_ratings([path]).ratings
    except InputError as error:
        table = taken(path, error.ways[0])
    assert (table.height, table.filter(verdict="2").height) == (60, 40)


def test_people_alone_are_compared_with_each_other(tmp_path):
    people = {f"annotator_{n}": noisy(SAID, seed=n) for n in (1, 2, 3)}
    ids = {"item": [f"i{n}" for n in range(60)]}
    wide = check(written(tmp_path / "wide.csv", {**ids, **people})).read
    long = {
        "item": ids["item"] * 3,
        "worker": [name for name in people for _ in SAID],
        "label": [*itertools.chain(*people.values())],
    }
    assert check(written(tmp_path / "long.csv", long)).read.together == wide.together
    labels = np.array([[float(said == "yes") for said in row] for row in zip(*people.values(), strict=True)])
    shared = [len({*pair}) == 1 for row in labels for pair in itertools.combinations(row, 2)]
    assert wide.together["percent"].estimate == pytest.approx(np.mean(shared))
    assert wide.together["kappa"].estimate == pytest.approx(fleiss_kappa(labels, categories=[0, 1]).estimate)
    assert (wide.judges, wide.n_compared, len(wide.people)) == ((), 60, 3)
    with pytest.raises(InputError, match="made of others") as error:
        check(
            written(tmp_path / "made.csv", {**long, "worker": [each.replace("_3", "_gold") for each in long["worker"]]})
        )
    assert error.value.ways[0].options == ("--judge", "none")


@pytest.mark.parametrize("ids", ["target", "expected", "human_tone", "human_a"])
def test_columns_that_may_be_no_two_people_are_asked_for(tmp_path, ids):
    table = {"item": [*map(str, range(60))], "human": SAID, ids: noisy(SAID)}
    with pytest.raises(InputError):
        check(written(tmp_path / "two.csv", table))


@pytest.mark.parametrize(("of", "failing"), [("toxic", "1"), ("hallucinated", "1"), ("safe", "0"), ("not_toxic", "0")])
def test_a_name_says_whether_one_is_good(tmp_path, of, failing):
    said = drawn(60, ("0", "1"))
    table = {"item": [f"i{n}" for n in range(60)], f"human_{of}": said, f"gpt_{of}": noisy(said)}
    path = written(tmp_path / "ones.csv", table)
    assert check(path).read.votes.question.failing == failing
    ratings = import_ratings([path]).ratings.filter(pl.col("rater_kind") == "human")
    sides = sides_of(ratings["scale"][0])
    assert sum(sides[each] for each in ratings["verdict"]) == said.count(failing)


def test_a_name_that_leaves_open_whether_one_is_good_is_asked_for_and_another_question_stays(tmp_path):
    said = drawn(60, ("0", "1"))
    ids = {"item": [f"i{n}" for n in range(60)]}
    path = written(tmp_path / "refusals.csv", {**ids, "human_refusal": said, "gpt_refusal": noisy(said)})
    with pytest.raises(InputError) as error:
        check(path)
    assert [way.options[:2] for way in error.value.ways] == [("--positive", "1"), ("--positive", "0")]
    assert {way.options[-1] for way in refused(path).ways} == {"1=fail", "1=pass"}
    both = written(tmp_path / "both.csv", {**ids, "toxic": said, "fluent": noisy(said)})
    table = import_ratings([both], ImportOptions(rater="gpt-4o", kind="llm")).ratings
    words = {question: {*table.filter(pl.col("question") == question)["verdict"]} for question in ("toxic", "fluent")}
    assert words == {"toxic": {"pass", "fail"}, "fluent": {"0", "1"}}


def test_import_takes_some_rows_of_a_table_and_none_of_an_export(tmp_path):
    table = {"item": [f"i{n}" for n in range(60)], "split": ["dev", "test"] * 30, "human": SAID, "gpt": noisy(SAID)}
    path = written(tmp_path / "split.csv", table)
    dev = import_ratings([path], ImportOptions(where=("split == dev",))).ratings
    assert ({*dev["item_id"]}, dev.height) == ({*table["item"][::2]}, 60)
    assert "leaves no row" in str(refused(path, where=("split=train",)))
    sample = {"doc_id": 1, "filtered_resps": ["a"], "metrics": ["acc"], "acc": 1.0}
    (tmp_path / "samples_arc.jsonl").write_text(json.dumps(sample))
    assert "chooses rows of a table" in str(refused(tmp_path / "samples_arc.jsonl", where=("doc_id=1",)))


def test_workbooks_with_a_title_two_headings_or_several_sheets(tmp_path, monkeypatch):
    pytest.importorskip("fastexcel")
    monkeypatch.chdir(tmp_path)
    rows = [[f"item {n}", said, other] for n, (said, other) in enumerate(zip(SAID, noisy(SAID), strict=True))]
    heads = ["item", "human", "gpt"]
    titled = workbook(tmp_path / "titled.xlsx", {"S": [["How people see it", "", ""], heads, *rows]})
    assert check(titled).read.votes.n_items == 60
    titled = workbook(tmp_path / "titled.xlsx", {"S": [["Round 2", "", ""], ["by QA", "", ""], [], heads, *rows]})
    assert check(titled).read.roles.people == ("human",)
    twice = workbook(tmp_path / "twice.xlsx", {"S": [["", "use", ""], ["case", "human", "gpt"], *rows]})
    sheets = {"Texts": [["text", "by"], ["a text", "b"]], "ann 1": [heads, *rows], "ann 2": [heads, *rows]}
    several = workbook(tmp_path / "several.xlsx", sheets)
    assert check(twice).read.roles.people == ("use human",)
    exec(shlex.split(refused(several).cure.partition("python ")[2])[1], {})
    assert (pl.read_csv("ann_1.csv").columns[:3], pl.read_csv("ann_1.csv").height) == (heads, 120)


def test_comments_in_label_studio_are_reasons(tmp_path):
    def part(name, kind, **value):
        return {"from_name": name, "type": kind, "to_name": "text", "value": value}

    result = [
        part("tone_comments", "textarea", text=["curt"]),
        part("tone", "choices", choices=["bad"]),
        part("facts", "choices", choices=["good"]),
        part("general", "textarea", text=["it rains"]),
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [{"completed_by": 7, "result": result}]}]))
    imported = import_ratings([path])
    reasons = {row["question"]: (row["verdict"], row["rationale"]) for row in imported.ratings.iter_rows(named=True)}
    assert reasons == {"tone": ("bad", "curt"), "facts": ("good", None)}
    assert any("comments belong to no answered question" in note for note in imported.notes)


@pytest.mark.parametrize("words", [("first", "second"), ("0", "1"), ("original", "swapped"), ("AB", "BA")])
def test_the_same_pair_in_both_orders_is_asked_for(tmp_path, words):
    said = drawn(60, ("A", "B"))
    ids, order = [f"i{n // 2}" for n in range(60)], [*words] * 30
    table = {"pair": ids, "position": order, "human": said, "gpt": noisy(said)}
    with pytest.raises(InputError, match="the other way round"):
        check(written(tmp_path / "rows.csv", table), item=("pair", "position"))
    table = {
        "pair": [f"i{n}" for n in range(60)],
        "human": said,
        "gpt": noisy(said),
        "gpt_swapped": noisy(said, seed=2),
    }
    with pytest.raises(InputError, match="the other way round"):
        check(written(tmp_path / "columns.csv", table))


def test_raters_in_maps_of_records_are_rows_of_their_own_and_no_places_of_a_list(tmp_path):
    def reviews(n):
        return [{"worker_id": str(w), "rank": (n * w) % 3 + 1} for w in (1, 2, 4)]

    systems = ("bart", "human")
    records = [
        {
            "passage-id": f"p{n}",
            "questions": {str(q): {s: {"text": "t", "reviews": reviews(n + q)} for s in systems} for q in range(2)},
        }
        for n in range(10)
    ]
    (path := tmp_path / "maps.jsonl").write_text("\n".join(map(json.dumps, records)))
    table = taken(path, refused(path).ways[0])
    assert (table.height, table["rater"].n_unique(), table["item_id"].n_unique()) == (120, 3, 40)
    counts = {
        str(rank): sum(r["rank"] == rank for n in range(10) for q in range(2) for r in reviews(n + q))
        for rank in (1, 2, 3)
    }
    assert {word: 2 * n for word, n in counts.items()} == dict(table["verdict"].value_counts().iter_rows())


def test_lines_of_a_key_and_its_records_are_a_row_each_record(tmp_path):
    lines = [[f"q{n}", [{"paragraph": f"p{n}.{k}", "label": SAID[n * 3 + k]} for k in range(3)]] for n in range(20)]
    (path := tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    sheet = read_sheet(path)
    assert (sheet.columns["label"], len({*sheet.columns["group_id"]})) == (SAID, 20)


def test_raters_beside_a_column_of_questions_are_offered_as_raters_and_need_no_name_of_a_question(tmp_path):
    cells = {"run": [f"r{n}" for n in range(60)], "axis": ["clarity", "tone"] * 30, "a": SAID, "b": noisy(SAID)}
    path = written(tmp_path / "s.csv", cells)
    way = refused(path).ways[0]
    assert "--question" not in way.options
    by_way = taken(path, way)
    assert (by_way["rater"].n_unique(), {*by_way["question"]}) == (2, {"clarity", "tone"})
    given = ImportOptions(kind="llm", columns={"axis": "question"})
    assert import_ratings([path], given).ratings.select("rater", "question").equals(by_way.select("rater", "question"))


@pytest.mark.parametrize(("words", "n"), [(("yes", "no"), 2), (tuple("12345"), 3)])
def test_lists_of_answers_to_several_questions_are_taken_a_question_at_a_time(tmp_path, words, n):
    rng = random.Random(7)
    rows = [{"id": f"d{row}", "tone": rng.choices(words, k=n), "style": rng.choices(words, k=n)} for row in range(60)]
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(rows))
    for way in refused(path).ways:
        table = taken(path, way)
        name = table["question"].unique().item()
        assert way.when.startswith(f"only {name}")
        assert (table["rater"].n_unique(), table.height) == (n, 60 * n)
        kinds = {"human" if "people" in way.when else "llm"}
        assert {*table["rater_kind"]} == kinds
        said = table.select(pl.coalesce("verdict", pl.col("value").cast(pl.Int64).cast(pl.String))).to_series()
        assert sorted(said) == sorted(str(each) for row in rows for each in row[name])
