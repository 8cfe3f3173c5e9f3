"""What files and columns are taken for, and what is refused in one line."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from studies.check.conftest import csv, votes
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.studies import check as folder

check = folder.check

TABLE = votes()


def figures(result):
    judge = result.read.judges[0]
    return judge.measures["sensitivity"].estimate, judge.measures["specificity"].estimate, judge.n_missing


@pytest.fixture(scope="module")
def expected():
    return figures(check(TABLE))


def records(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def recoded(pairs):
    word = dict(pairs)
    return {"task": TABLE["task"], **{name: [word[cell] for cell in TABLE[name]] for name in ("gpt", "human")}}


@pytest.mark.parametrize(
    ("name", "encoding", "text"),
    [
        ("a.csv", "utf-8-sig", csv(TABLE)),
        ("a.csv", "utf-8", csv(TABLE, ";")),
        ("a.tsv", "utf-8", csv(TABLE, "\t")),
        ("a.txt", "utf-16", csv(TABLE, "\t")),
        ("a.csv", "utf-8", csv(TABLE).replace("\n", "\r\n")),
        ("a.json", "utf-8", json.dumps(TABLE)),
        ("a.json", "utf-8", json.dumps(records(TABLE))),
        ("a.json", "utf-8", json.dumps({"run": "r1", "results": records(TABLE)})),
        ("a.jsonl", "utf-8", "\n".join(map(json.dumps, records(TABLE)))),
        ("a.json", "utf-8", "\n".join(map(json.dumps, records(TABLE)))),
    ],
)
def test_every_form_of_file_is_read_alike(name, encoding, text, write, expected):
    result = check(write(text, name, encoding))
    assert figures(result) == expected
    assert (result.read.roles.cluster, result.read.votes.n_clusters) == ("task", 25)


def test_parquet_and_every_kind_of_table_is_read_and_comes_back(tmp_path, expected):
    path = tmp_path / "a.parquet"
    pl.DataFrame(TABLE).write_parquet(path)
    assert figures(check(path)) == expected
    nullable = pd.DataFrame(recoded([("pass", 1), ("fail", 0)])).astype({"gpt": "Int64", "human": "boolean"})
    for table, kind in (
        (pl.DataFrame(TABLE), pl.DataFrame),
        (pd.DataFrame(TABLE), pd.DataFrame),
        (nullable, pd.DataFrame),
        (pd.DataFrame(TABLE).convert_dtypes(dtype_backend="pyarrow"), pd.DataFrame),
        (pd.DataFrame(TABLE).astype("category"), pd.DataFrame),
        (TABLE, pd.DataFrame),
    ):
        result = check(table)
        assert figures(result) == expected
        assert isinstance(result.measures.table, kind)


@pytest.mark.parametrize(
    "pairs",
    [
        [("pass", "PASS "), ("fail", " Fail")],
        [("pass", "yes"), ("fail", "No")],
        [("pass", True), ("fail", False)],
        [("pass", 1), ("fail", 0)],
        [("pass", 1.0), ("fail", 0.0)],
        [("pass", "+1"), ("fail", "-1")],
        [("pass", "correct"), ("fail", "Incorrect")],
        [("pass", "resolved"), ("fail", "unresolved")],
    ],
)
def test_words_of_two_sides_are_known_without_options(pairs, expected):
    assert figures(check(recoded(pairs))) == expected


def test_raters_may_use_different_words_for_the_same(expected):
    assert figures(check(TABLE | {"gpt": recoded([("pass", "1"), ("fail", "0")])["gpt"]})) == expected


def test_other_words_are_named_by_the_caller_and_never_turned_round_by_us(expected):
    table = recoded([("pass", "fine"), ("fail", "broken")])
    assert figures(check(table, words=["fine", "broken"])) == expected
    assert figures(check(table, positive="broken")) == expected
    swapped = check(table, positive="fine").read.judges[0].measures
    assert (swapped["specificity"].estimate, swapped["sensitivity"].estimate) == expected[:2]
    assert not check(table).read.votes.question.directed  # neither word is taken as failing unasked
    with pytest.raises(InputError) as refused:
        check(TABLE | {"gpt": [*["ok?"] * 5, *TABLE["gpt"][5:]]}, words=["pass", "fail"])
    assert "'ok?' (5)" in str(refused.value)
    assert "ok?'=" not in str(refused.value)  # no mapping is proposed


def test_a_hallucination_is_caught_by_yes(expected):
    table = recoded([("pass", "no"), ("fail", "yes")])
    assert figures(check(table, positive="yes")) == expected
    assert figures(check(table, words=["no", "yes"])) == expected
    mixed = TABLE | {"human": table["human"]}
    with pytest.raises(InputError, match="two kinds"):
        check(mixed, positive="yes")


def test_a_third_word_beside_two_sides_is_refused_with_three_ways_out():
    table = TABLE | {"gpt": ["unsure"] * 30 + TABLE["gpt"][30:]}
    with pytest.raises(InputError, match=r"'unsure' \(30\).*--missing.*--positive.*--words"):
        check(table)
    assert check(table, missing=["Unsure"]).read.judges[0].n_missing == 30
    assert check(table, positive="fail").read.judges[0].n_missing == 0
    assert len(check(table, words=["pass", "fail", "unsure"]).read.judges[0].by_word) == 3


def test_empty_cells_are_counted_and_quoted_cells_hold_newlines_and_separators(write, expected):
    text = csv(TABLE | {"note": ['"a, b\nc ""d"""'] * 300}).replace(",human,", ",human,", 1)
    assert figures(check(write(text))) == expected
    table = TABLE | {"gpt": ["", "n/a", "NaN", None, *TABLE["gpt"][4:]]}
    result = check(table)
    assert (result.read.judges[0].n_missing, result.read.judges[0].n_compared) == (4, 296)
    low, high = result.read.judges[0].caught_bounds or (0, 0)
    assert low <= high


def test_a_long_table_says_the_same_as_the_wide_one(expected):
    rows = {"item": [], "rater": [], "verdict": [], "task": []}
    for number, (task, gpt, human) in enumerate(zip(*TABLE.values(), strict=True)):
        for rater, word in (("gpt", gpt), ("human", human)):
            for name, cell in zip(rows, (number, rater, word, task), strict=True):
                rows[name].append(cell)
    result = check(rows)
    assert figures(result) == expected
    assert (result.read.votes.n_clusters, result.read.roles.long) == (25, True)
    for column, kinds in (("annotator_type", ("llm", "human")), ("source_type", ("EVAL", "ANNOTATION"))):
        kind = dict(zip(("gpt", "human"), kinds, strict=True))
        named = {"gpt": "rater 1", "human": "rater 2"}  # who is a person stands in a column of its own
        of_kinds = rows | {"rater": [named[who] for who in rows["rater"]], column: [kind[who] for who in rows["rater"]]}
        assert figures(check(of_kinds)) == expected
    twice = {name: [*cells, cells[0]] for name, cells in rows.items()}
    assert check(twice).read.votes.n_copies == 1
    other = {name: [*cells, cells[0]] for name, cells in rows.items()} | {"verdict": [*rows["verdict"], "fail"]}
    other["verdict"][0] = "pass"
    with pytest.raises(InputError, match="twice"):
        check(other)


def test_copies_of_a_row_are_counted_once_and_two_rows_of_one_item_refused(expected):
    table = {"id": list(range(300)), **TABLE}
    copied = {name: [*cells, cells[7]] for name, cells in table.items()}
    assert figures(check(copied)) == expected
    assert check(copied).read.votes.n_copies == 1
    copied["gpt"][-1] = {"pass": "fail", "fail": "pass"}[copied["gpt"][-1]]
    with pytest.raises(InputError, match="twice, pass and fail"):
        check(copied)


@pytest.mark.parametrize(
    ("columns", "option", "named"),
    [
        ({"gold": TABLE["human"]}, "--human", ("gold", "human")),
        ({"query": [i // 5 for i in range(300)]}, "--cluster", ("task", "query")),
    ],
)
def test_two_readings_are_refused_with_the_columns_and_the_option(columns, option, named):
    with pytest.raises(InputError) as refused:
        check(TABLE | columns)
    assert option in str(refused.value)
    assert all(name in str(refused.value) for name in named)


def test_columns_without_a_judges_name_are_not_guessed_among_several():
    plain = {"task": TABLE["task"], "alice": TABLE["gpt"], "bob": TABLE["gpt"], "label": TABLE["human"]}
    with pytest.raises(InputError, match=r"alice, bob.*--judge"):
        check(plain)
    assert check(plain, judges=["alice"]).read.roles.left_out == ("bob",)
    beside = check(TABLE | {"tool_error": TABLE["gpt"]})
    assert (beside.read.roles.judges, beside.read.roles.left_out) == (("gpt",), ("tool_error",))


def test_a_confidence_finds_its_judge_or_is_refused():
    sure = np.linspace(0.5, 1, 300).round(3)
    table = TABLE | {"qwen": TABLE["gpt"], "gpt_confidence": sure, "human_confidence": sure}
    assert dict(check(table).read.roles.confidence) == {"gpt": "gpt_confidence"}
    assert dict(check(table, confidence={"qwen": "gpt_confidence"}).read.roles.confidence)["qwen"] == "gpt_confidence"
    comma = TABLE | {"confidence": [f"{value:.2f}".replace(".", ",") for value in sure]}
    assert check(comma).read.votes.confidence[0, 0] == 0.5
    with pytest.raises(InputError, match=r"\[0, 1\].*divide"):
        check(TABLE | {"confidence": sure * 100})


@pytest.mark.parametrize(
    ("name", "raw", "rule"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"gpt,human\n", "no rows"),
        ("a.csv", b"gpt,human\n1,0\n1\n", "row 3"),
        ("a.csv", b'gpt,human\n1,"0\n', "not readable"),
        ("a.csv", b"gpt,human\n1,caf\xe9\n", "UTF-8"),
        ("a.jsonl", b'{"gpt": 1, "human": 0}\n{"gpt"\n', "a.jsonl:2"),
        ("a.json", b"[1, 2]", "list of objects"),
        ("a.parquet", b"PAR1....", "Parquet"),
        ("a.csv", b"gpt,human\n0.12,1\n" + b"".join(b"0.%d,0\n" % n for n in range(13, 60)), "--judge"),
        ("a.csv", b"id,text\n1,a\n", "--human"),
    ],
)
def test_what_cannot_be_read_is_one_line(name, raw, rule, write):
    with pytest.raises(InputError) as refused:
        check(write(raw, name))
    assert rule in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rows_may_be_chosen_and_a_row_without_its_task_is_refused():
    table = TABLE | {"domain": ["air"] * 150 + ["shop"] * 150}
    assert check(table, where=["domain=air"]).read.votes.n_items == 150
    with pytest.raises(InputError, match="leaves no row"):
        check(table, where=["domain=sea"])
    with pytest.raises(InputError, match="row 1"):
        check(TABLE | {"task": [None, *TABLE["task"][1:]]})


def test_a_word_may_hold_a_comma_and_comes_back_from_the_next_command(write):
    words = ("yes, fully", "no, wrong")
    table = {"gpt": [*words] * 20, "human": [words[0], *words, words[1]] * 10}
    result = check(table, words=words)
    assert result.read.votes.question.failing == "no, wrong"
    (option,) = (each for each in result.read.options if each.startswith("--words="))
    lines = [f'"{one}","{two}"' for one, two in zip(*table.values(), strict=True)]
    path = write("\n".join(["gpt,human", *lines]))
    done = CliRunner().invoke(app, ["check", str(path), option])
    assert done.exit_code == 0, done.output
    assert "Failing is 'no, wrong'" in done.output


@pytest.mark.parametrize("nothing", ["nan", "NA", "<NA>", "", None, float("nan"), "-1"])
def test_a_score_that_is_no_number_is_no_verdict_and_one_without_end_is_refused(nothing, expected):
    """What a judge did not say neither passes nor fails, however the file writes it."""
    score = {"pass": 0.75, "fail": 0.25}
    table = TABLE | {"gpt": [nothing] * 9 + [score[word] for word in TABLE["gpt"][9:]]}
    result = check(table, pass_if="gpt >= 0.5", missing=["-1"])
    plain = check(TABLE | {"gpt": [None] * 9 + TABLE["gpt"][9:]})
    assert figures(result) == figures(plain) != expected
    assert figures(result)[2] == 9
    for endless in ("inf", "-inf", float("inf"), "1_0", "many"):
        with pytest.raises(InputError, match="finite numbers"):
            check(table | {"gpt": [endless, *table["gpt"][1:]]}, pass_if="gpt >= 0.5", missing=["-1"])


@pytest.mark.parametrize("words", [("bestanden", "nicht bestanden"), ("合格", "不合格"), ("👍", "👎")])
def test_words_of_any_language_are_named_and_no_hint_says_which_passes(words):
    table = {"gpt": [*words] * 10, "human": [words[0]] * 10 + [words[1]] * 10}
    unnamed = check(table)
    assert unnamed.read.votes.question.failing == ""
    assert "--positive WORD" in " ".join(unnamed.sentences)
    assert not any("--positive=" in said or said.startswith("Next") for said in unnamed.sentences)
    assert check(table, words=words).read.votes.question.failing == words[1]
    assert check(table, words=words[::-1]).read.votes.question.failing == words[0]
    with pytest.raises(InputError, match=f"{words[0]}.*{words[1]}|{words[1]}.*{words[0]}") as caught:
        check(table, words=("pass", "fail"))
    assert "--missing" not in str(caught.value), "to leave out all there is is no way out"


def test_two_columns_of_one_name_are_refused_in_our_words():
    frame = pd.DataFrame(TABLE)
    with pytest.raises(InputError, match="two columns of one name"):
        check(pd.concat([frame, frame[["gpt"]]], axis=1))


def test_an_id_that_repeats_is_no_item_and_is_said():
    rows = {"id": [str(n % 60) for n in range(100)], **{name: TABLE[name][:100] for name in ("gpt", "human")}}
    said = " ".join(check(rows).sentences)
    assert "--cluster id" in said
    assert "--cluster id" not in " ".join(check({**rows, "id": [str(n) for n in range(100)]}).sentences)


@pytest.mark.parametrize(
    "truth", ["true_label", "label_true", "y_true", "gt_label", "expected_verdict", "ground_truth"]
)
def test_a_column_that_by_its_name_is_the_truth_is_what_others_are_compared_with_and_no_judge(truth):
    true = {"doc": [f"d{n}" for n in range(40)], truth: ["1", "0", "0", "1", "1"] * 8}
    for person in ("label", "human_label"):
        with pytest.raises(InputError, match="could each be what people said") as refused:
            check(true | {person: ["1", "0"] * 20})
        assert ("--judge", person, "--human", truth) in [way.options for way in refused.value.ways]
    assert check(true | {"gpt4": ["1", "0"] * 20}).read.votes.people == (truth,)
