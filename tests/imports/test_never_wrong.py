"""Files that can be read in two ways, or in a wrong one: read right, or refused with the command for each way."""

import csv
import gzip
import io
import json
import random
import shlex
import zipfile

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.cli import main
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.imports.sheets import table_in
from axisjudge.ratings import read_ratings, write_ratings
from axisjudge.studies import check as folder
from axisjudge.studies import few_runs, people
from axisjudge.studies.check.sentences import report
from axisjudge.studies.failures.panel import panel_of

check, decide = folder.check, folder.decide


def drawn(count, words=("pass", "fail"), share=0.3, seed=0):
    """Words at random."""
    rng = random.Random(seed)
    return [words[rng.random() < share] for _ in range(count)]


def noisy(words, by=0.15, seed=1):
    """The same words by somebody who errs."""
    rng, both = random.Random(seed), sorted(set(words))
    return [both[word == both[0]] if rng.random() < by else word for word in words]


TRUTH = drawn(120)


def written(path, columns):
    with path.open("w", newline="") as out:
        sheet = csv.writer(out)
        sheet.writerow(columns)
        sheet.writerows(zip(*columns.values(), strict=True))
    return path


def rated(*judges, words=TRUTH, **more):
    return {"id": list(range(len(words))), **{name: noisy(words, seed=n) for n, name in enumerate(judges)}} | {
        "human": words,
        **more,
    }


def test_runs_of_one_task_are_not_repeats_and_the_columns_that_tell_them_apart_are_proposed(tmp_path):
    rows = [
        {"annotator": who, "task_id": f"t{task}", "model_name": model, "success": word}
        for task in range(12)
        for model in ("agent-a", "agent-b", "agent-c")
        for who, word in zip(("F", "G"), drawn(2, seed=task), strict=True)
    ]
    path = tmp_path / "annotations.csv"
    written(path, {name: [row[name] for row in rows] for name in rows[0]})
    with pytest.raises(InputError, match=r"twice.*--item task_id --item model_name.*--repeats"):
        import_ratings([path], ImportOptions(kind="human"))
    table = import_ratings([path], ImportOptions(kind="human", item=("task_id", "model_name"))).ratings
    assert (table["item_id"].n_unique(), table["repeat"].max(), table.height) == (36, 0, 72)
    repeats = import_ratings([path], ImportOptions(kind="human", repeats=True)).ratings
    assert (repeats["item_id"].n_unique(), repeats["repeat"].max()) == (12, 2)
    wide = {
        name: [row[name] for row in rows if row["annotator"] == "F"] for name in ("task_id", "model_name", "success")
    }
    judged = wide | {"human": noisy(wide["success"])}
    with pytest.raises(InputError, match=r"twice.*--item task_id --item model_name|stands twice"):
        check(judged, judges="success", item="task_id")
    assert check(judged, judges="success", item=("task_id", "model_name")).read.votes.n_items == 36


def test_questions_are_no_raters_and_raters_no_questions(tmp_path):
    table = {"id": list(range(30)), **{name: drawn(30, ("1", "5"), seed=n) for n, name in enumerate(("tone", "facts"))}}
    path = written(tmp_path / "scores.csv", table)
    with pytest.raises(
        InputError, match=r"raters of one question, or questions to one rater.*--kind tone=.*--rater \w+ --kind llm"
    ):
        import_ratings([path], ImportOptions(kind="llm"))
    asked = import_ratings([path], ImportOptions(kind="llm", rater="gpt")).ratings
    assert set(asked["question"]) == {"tone", "facts"}
    raters = import_ratings([path], ImportOptions(kinds={"tone": "llm", "facts": "human"}, question=("q",))).ratings
    assert set(raters["rater"]) == {"tone", "facts"}


def test_raters_whose_words_have_none_in_common_are_refused(tmp_path):
    path = written(tmp_path / "t.csv", {"id": list(range(40)), "gpt": drawn(40), "human": drawn(40, ("A", "B"))})
    told = ImportOptions(kinds={"gpt": "llm", "human": "human"}, question=("q",))
    with pytest.raises(InputError, match=r"no word of one question in common.*--word-map"):
        import_ratings([path], told)
    grades = {"id": list(range(40)), "gpt": [str(n % 5 + 1) for n in range(40)], "human": drawn(40, ("0", "1"))}
    with pytest.raises(InputError, match="no word of one question in common"):
        import_ratings([written(tmp_path / "g.csv", grades)], told)


@pytest.mark.parametrize("words", [("pass", "fail"), ("1", "0"), ("violation", "compliant")])
def test_judges_are_known_by_what_they_say(words):
    truth = drawn(120, words)
    judges = ("gpt52t", "deepseek", "qwen8b", "house")
    found = check(rated(*judges, words=truth, ticket=[f"T-{n}" for n in range(120)], lang=drawn(120, ("de", "en"))))
    assert (found.read.roles.judges, found.read.roles.people) == (judges, ("human",))
    assert {"ticket", "lang"} <= set(found.read.roles.left_out)


@pytest.mark.parametrize("other", [("yes", "no"), ("pass", "fail"), ("1", "0")])
def test_a_score_beside_its_own_label_is_no_judge_and_no_gate_passes(other):
    label = drawn(60, ("yes", "no"))
    score = [dict(zip(("yes", "no"), other, strict=True))[word] for word in label]
    with pytest.raises(InputError, match=r"same as label in every row.*--judge score --human label"):
        check({"id": list(range(60)), "score": score, "label": label})
    assert (
        check({"id": list(range(60)), "score": score, "label": label}, judges="score", human="label").read.votes.n_items
        == 60
    )


def test_a_column_that_says_whether_two_others_agree_is_no_judge():
    table = rated("judge", words=drawn(80, ("true", "false")))
    table["is_correct"] = [str(one == other).lower() for one, other in zip(table["judge"], table["human"], strict=True)]
    assert check(table).read.roles.judges == ("judge",)
    copied = check(table | {"copy": table["judge"]})
    assert (copied.read.roles.judges, dict(copied.read.roles.copies)) == (("judge",), {"copy": "judge"})


def test_names_of_raters_and_of_candidates_are_no_verdicts(tmp_path):
    names = drawn(60, ("gpt-4o", "claude-3"))
    table = {"id": list(range(60)), "judge_model": names, "verdict": drawn(60), "human": drawn(60, seed=4)}
    with pytest.raises(InputError, match=r"raters in one column \(judge_model.*--where judge_model="):
        check(table)
    assert check(table, where=["judge_model=gpt-4o"]).read.roles.judges == ("verdict",)
    pairs = {"id": list(range(60)), "model_1": names, "model_2": noisy(names), "winner": drawn(60, ("model_1", "tie"))}
    told = ImportOptions(rater="ada", kind="human", question=("q",))
    found = import_ratings([written(tmp_path / "p.csv", pairs)], told).ratings
    assert set(found["verdict"]) == {"model_1", "tie"}


def test_the_words_of_a_table_with_its_truth_in_each_row_are_the_judges_own(tmp_path):
    truth = drawn(60, ("A", "B"))
    table = {"id": list(range(60)), "judge_model": ["gpt-4o"] * 60, "label": truth, "judge_choice": noisy(truth)}
    with pytest.raises(
        InputError, match=r"judge_model may have said either.*--kind judge_choice=llm --kind label=human"
    ):
        import_ratings([written(tmp_path / "t.csv", table)], ImportOptions(kind="llm", question=("q",)))
    both = ImportOptions(kinds={"judge_choice": "llm", "label": "human"}, question=("q",))
    assert set(import_ratings([tmp_path / "t.csv"], both).ratings["rater"]) == {"judge_choice", "label"}


def test_places_of_a_list_are_repeats_or_another_order_and_never_two_judges(tmp_path):
    truth = drawn(60, ("A>B", "B>A"))
    games = [{"decision": word} for word in noisy(truth)]
    rows = [{"pair_id": n, "label": word, "judgments": [games[n], games[-n]]} for n, word in enumerate(truth)]
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"places of one list.*--judge judgments\.0\.decision"):
        check(path)
    assert check(path, judges="judgments.0.decision").read.votes.n_items == 60


def test_empty_verdicts_stay_counted_through_import_and_are_no_absence_of_the_word(tmp_path):
    table = rated("gpt")
    table["gpt"] = ["" if n % 4 == 0 else word for n, word in enumerate(table["gpt"])]
    path = written(tmp_path / "t.csv", table)
    found = import_ratings([path], ImportOptions(kinds={"gpt": "llm", "human": "human"}, question=("q",)))
    lost = found.ratings.filter(rater="gpt", status="parse_error")
    assert (lost.height, found.ratings.filter(rater="gpt").height) == (30, 120)
    assert any("30 empty cells" in note for note in found.notes)
    assert check(path).read.judges[0].n_missing == 30
    silent = check(table | {"gpt": [""] * 120}, judges="gpt")
    said = " ".join(report(silent.read)["judges"])
    assert "people called no" not in said
    assert "no verdict" in said


@pytest.mark.parametrize(
    "words", [("yes", "no"), *(pytest.param(w, marks=pytest.mark.slow) for w in (("pass", "fail"), ("good", "bad")))]
)
def test_words_of_two_sides_mean_the_same_after_import(tmp_path, words):
    path = written(tmp_path / "t.csv", rated("gpt", words=drawn(120, words)))
    told = ImportOptions(kinds={"gpt": "llm", "human": "human"}, question=("q",), sampling="random")
    found = import_ratings([path], told)
    assert any(f"{words[1]} is read as failing" in note for note in found.notes)
    checked = check(path).read.judges[0].measures["sensitivity"].estimate
    compared = people(found.ratings, found.ratings, n_draws=0).claims.comparison.questions[0].judges[0]
    assert compared.failing.recall.estimate == pytest.approx(checked)
    caught = found.ratings.filter(pl.col("rater") == "gpt", pl.col("verdict") == words[1]).height
    assert int((panel_of(found.ratings).incorrect == 1).sum()) == caught
    assert few_runs(found.ratings).answer


def test_a_word_that_one_side_never_says_is_named(tmp_path):
    table = rated("gpt")
    table["gpt"] = ["unsure" if n % 6 == 0 else word for n, word in enumerate(table["gpt"])]
    told = ImportOptions(kinds={"gpt": "llm", "human": "human"}, question=("q",))
    notes = import_ratings([written(tmp_path / "t.csv", table)], told).notes
    assert any("unsure is said by judges alone" in note for note in notes)
    said = " ".join(report(check(table, words=["pass", "fail", "unsure"]).read)["read"])
    assert "Only judges say 'unsure'" in said
    mixed = " ".join(report(check(rated("gpt") | {"gpt": noisy(drawn(120, ("yes", "no")))}).read)["read"])
    assert "'no' as 'fail'" in mixed


def test_a_folder_loses_nothing_at_exit_code_0(tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["axisjudge", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code or 0, capsys.readouterr()

    inner = tmp_path / "labels" / "deep"
    inner.mkdir(parents=True)
    history = [
        {"name": "Ann", "role": "user", "content": "2 + 2?"},
        {"name": "Bob", "role": "assistant", "content": "5"},
    ]
    for number in range(4):  # two runs are alike word for word; one is of a shape that no reader knows
        told = [{**history[0], "content": f"{max(number, 1)} + 2?"}, history[1]]
        record = {"history": told, "mistake_agent": "Bob", "mistake_step": "1", "question_ID": f"q{number}"}
        (inner / f"{number}.json").write_text(json.dumps(record))
    drawn_how = ("--sampling", "unknown")
    code, said = run("import", tmp_path / "labels", *drawn_how, "--out", tmp_path / "r.jsonl")
    assert code == 0, said.err
    assert read_ratings(tmp_path / "r.jsonl").height == 4
    (inner / "broken.csv").write_text("id,verdict\n1\n")
    code, said = run("import", tmp_path / "labels", *drawn_how, "--out", tmp_path / "s.jsonl")
    assert (code, "broken.csv" in said.out) == (1, True)
    assert read_ratings(tmp_path / "s.jsonl").height == 4


@pytest.mark.parametrize("pack", ["gz", "zip", "json under a name", "json by id"])
def test_packed_and_nested_tables_say_the_same(tmp_path, pack):
    table = rated("gpt")
    text = written(tmp_path / "t.csv", table).read_bytes()
    wanted = check(tmp_path / "t.csv").read.judges[0].measures["sensitivity"].estimate
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if pack == "gz":
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress(text))
    elif pack == "zip":
        path = tmp_path / "t.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner/t.csv", text)
    else:
        path = tmp_path / "t.json"
        inner = {"meta": {"n": 3}, "about": [{"key": 1}], "results": {"rows": records}}
        by_id = {f"case {n}": {"said": {name: row[name] for name in ("gpt", "human")}} for n, row in enumerate(records)}
        path.write_text(json.dumps(inner if pack == "json under a name" else by_id))
    assert check(path).read.judges[0].measures["sensitivity"].estimate == wanted


def test_standard_input_an_address_and_an_archive_of_several(tmp_path, monkeypatch):
    text = written(tmp_path / "t.csv", rated("gpt")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert check("-").read.votes.n_items == 120
    with pytest.raises(InputError, match=r"is an address.*curl -L -o r\.csv 'https://example\.org/r\.csv'"):
        check("https://example.org/r.csv")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", text)
    with pytest.raises(InputError, match=r"holds 2 tables.*unzip"):
        check(tmp_path / "two.zip")


def test_metrics_that_name_themselves_are_questions_of_their_case(tmp_path):
    cases = [
        {
            "name": f"case {n}",
            "metricsData": [{"name": name, "score": n / 10, "evaluationModel": "gpt-4o"} for name in "ab"],
        }
        for n in range(8)
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": cases, "testFile": None}))
    table = import_ratings([path], ImportOptions(kind="llm", columns={"name": "trajectory_id"})).ratings
    assert (set(table["question"]), table.height, set(table["rater"])) == ({"a", "b"}, 16, {"gpt-4o"})


def test_scores_pass_from_a_number_on_and_words_stand_for_others():
    rng = random.Random(5)
    scores = [round(min(1, max(0, (0.7 if word == "pass" else 0.3) + rng.gauss(0, 0.2))), 2) for word in TRUTH]
    table = {"id": list(range(120)), "judge_score": scores, "human": TRUTH}
    with pytest.raises(InputError, match=r"--pass-if 'judge_score >= 0\.5'"):
        check(table)
    found = check(table, judges="judge_score", pass_if="judge_score >= 0.5")
    caught = sum(score < 0.5 for score, word in zip(scores, TRUTH, strict=True) if word == "fail") / TRUTH.count("fail")
    assert found.read.judges[0].measures["sensitivity"].estimate == pytest.approx(caught)
    ties = rated("gpt") | {"gpt": ["Tie" if n % 5 == 0 else word for n, word in enumerate(noisy(TRUTH))]}
    as_fail = check(ties, means={"gpt:Tie": "fail"})
    counts = as_fail.read.counts["gpt"]
    assert sum(row["gpt: fail"] for row in counts) == sum(word in ("Tie", "fail") for word in ties["gpt"])
    assert check(ties, means={":Tie": ""}).read.judges[0].n_missing == 24


def test_a_scale_is_said_and_told_and_disagreements_are_listed_whole():
    rng = random.Random(2)
    grades = [str(rng.randint(1, 4)) for _ in range(80)]
    table = {"id": list(range(80)), "gpt": [str(min(4, int(g) + (n % 5 == 0))) for n, g in enumerate(grades)]} | {
        "gpt_reason": [f"because {n}" for n in range(80)],
        "human": grades,
    }
    found = check(table)
    assert (found.read.votes.question.level, "in this order" in " ".join(report(found.read)["read"])) == (
        "ordinal",
        True,
    )
    assert check(table, scale="nominal").read.votes.question.level == "nominal"
    names = {"1": "poor", "2": "fair", "3": "fine", "4": "great"}
    worded = table | {name: [names[each] for each in table[name]] for name in ("gpt", "human")}
    told = check(worded, scale="ordinal:poor,fair,fine,great").read.judges[0].measures
    assert told["quadratic_kappa"].estimate == pytest.approx(found.read.judges[0].measures["quadratic_kappa"].estimate)
    differ = [n for n in range(80) if table["gpt"][n] != grades[n]]
    assert [each["item"] for each in found.read.disagreements] == [str(n) for n in differ]
    assert [each["reason"] for each in found.read.disagreements] == [f"because {n}" for n in differ]


def test_requirements_hold_together(tmp_path):
    table = rated("gpt", "claude")
    found = check(table)
    alone = decide(found.read, ["gpt.caught>=0.5"])[0]
    together = decide(found.read, ["caught>=0.5", "passed>=0.5"])
    assert len(together) == 4
    assert together[0].ci_low < alone.ci_low
    assert together[0].estimate == alone.estimate


def test_rows_that_share_a_text_are_proposed_as_clusters():
    sources = [f"a passage of some length, which {n // 6} others share with it, and nobody else" for n in range(120)]
    found = check(rated("gpt", source=sources))
    assert found.read.roles.may_cluster == ("source",)
    assert "--cluster source" in " ".join(report(found.read)["read"])


def test_ratings_come_back_as_they_were_written(tmp_path):
    path = written(tmp_path / "t.csv", rated("gpt"))
    found = import_ratings([path], ImportOptions(kinds={"gpt": "llm", "human": "human"}, question=("q",))).ratings
    write_ratings(found, tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").height == 240


def test_scores_of_two_answers_are_not_two_people_and_targets_no_truth(tmp_path):
    n = len(TRUTH)
    texts = {f"response_{k}": [f"answer {k} to question {row}, in some more words" for row in range(n)] for k in (1, 2)}
    scores = {f"human_score_{k}": drawn(n, ("1", "2", "3"), seed=k) for k in (1, 2)}
    truth = {"label": TRUTH, "gpt4_label": noisy(TRUTH)}
    found = check(rated() | texts | scores | truth | {"human": [""] * n})
    assert (found.read.roles.people, found.read.roles.judges) == (("label",), ("gpt4_label",))
    path = written(tmp_path / "two.csv", {"id": list(range(n)), **texts, **scores, "label": TRUTH})
    with pytest.raises(InputError) as error:
        import_ratings([path])
    assert "human_score" not in str(error.value)
    beside = {"id": list(range(n)), "source_label": TRUTH, "target_label": noisy(TRUTH)}
    with pytest.raises(InputError, match="no column is recognised as what people said"):
        check(beside)


def test_who_rated_and_what_was_measured_are_no_verdicts(tmp_path):
    n = len(TRUTH)
    who = {"annotator_id": ["7"] * n, "annotation_id": ["9"] * n, "n_errors": drawn(n, ("0", "1"))}
    costs = {"cost": [f".0{row}" for row in range(n)], "logprob": [f"-{row}.5" for row in range(n)]}
    found = check(rated("gpt4_verdict") | who | costs)
    assert (found.read.roles.people, found.read.roles.judges) == (("human",), ("gpt4_verdict",))
    path = written(
        tmp_path / "x.csv", {"id": list(range(n)), "eval_model_name": ["gpt-4o"] * n, "score": TRUTH, **costs}
    )
    made = import_ratings([path], ImportOptions(kind="llm", question=("good",))).ratings
    assert (made["rater"].unique().to_list(), made.height) == (["gpt-4o"], n)


def test_claims_in_a_list_are_items_and_a_list_beside_it_is_not_multiplied(tmp_path):
    claims = [
        {"id": f"a{row}", "kg": [{"claim": f"c{k}", "human_label": TRUTH[k]} for k in range(6)]} for row in range(9)
    ]
    path = tmp_path / "claims.json"
    path.write_text(json.dumps([*claims, {"id": "a9", "kg": []}]))
    options = ImportOptions(question=("true",), kinds={"human_label": "human"}, item=("id", "kg.number"))
    assert import_ratings([path], options).ratings.height == 54
    alone = import_ratings([path], ImportOptions(question=("true",), kinds={"human_label": "human"})).ratings
    assert alone["item_id"].n_unique() == 54
    metric = [{"name": name, "score": 0.5, "reason": "so", "evaluationModel": "gpt-4o"} for name in ("tone", "facts")]
    cases = [{"name": f"case {row}", "uuid": f"u{row}", "metricsData": metric, "spans": metric * 4} for row in range(5)]
    sums = [{"metric": name, "passes": 3, "scores": [0.5]} for name in ("tone", "facts")]
    path.write_text(json.dumps({"testCases": cases, "metricsScores": sums, "testPassed": 3}))
    made = import_ratings([path], ImportOptions(kind="llm")).ratings
    assert (made.height, made["item_id"].n_unique(), sorted(made["question"].unique())) == (10, 5, ["facts", "tone"])


def test_what_is_said_once_of_a_record_is_no_answer_of_those_in_its_list(tmp_path):
    n, judge = 30, noisy(TRUTH[:30])
    people = {"ann": TRUTH[:n], "bob": noisy(TRUTH[:n], seed=3)}
    rows = [
        {"id": k, "model": "gpt-4o", "label": judge[k], "confidence": 0.9, "gpt_label": judge[k]}
        | {"annotations": [{"annotator": who, "label": said[k]} for who, said in people.items()]}
        for k in range(n)
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = import_ratings([path], ImportOptions(kind="human", question=("good",)))
    said = {(who, str(k)): word for who, words in people.items() for k, word in enumerate(words)}
    table = found.ratings
    assert dict(zip(table.select("rater", "item_id").iter_rows(), table["verdict"], strict=True)) == said
    assert (table.height, table["confidence"].null_count(), table["model"].null_count()) == (2 * n,) * 3
    assert any("once of each record" in note and "gpt_label" in note for note in found.notes)
    model = import_ratings([path], ImportOptions(kinds={"gpt_label": "llm"}, question=("good",))).ratings
    assert (model["verdict"].to_list(), model["item_id"].n_unique()) == (judge, n)
    with pytest.raises(InputError, match="gpt_label stands once in each record"):
        import_ratings([path], ImportOptions(kinds={"gpt_label": "llm", "annotations.label": "human"}))
    with pytest.raises(InputError, match="gpt_label stands once in each record"):
        check(path, judges="gpt_label", human="annotations.label")
    several = [{"id": k, "label": ["poor", "late"][: k % 3]} for k in range(n)]
    assert set(table_in(several).columns["label"]) == {"[]", "poor", "late + poor"}


def test_what_a_person_did_not_accept_is_the_other_word():
    said = [("1", True)] * 8 + [("1", False)] * 4 + [("0", True)] * 6 + [("0", False)] * 2
    rows = [
        {"metric_output": int(word), "is_accepted": yes, "metric_input": {"n": k}} for k, (word, yes) in enumerate(said)
    ]
    columns = table_in({"helpful": rows}).columns
    assert [int(word) for word in columns["human_verdict"]] == [1] * 8 + [0] * 4 + [0] * 6 + [1] * 2
    assert "is_accepted" not in columns


def test_what_tools_write_today_comes_in_whole_and_proposed_commands_leave_nobody_out(tmp_path):
    n = len(TRUTH)
    ids = {"id": list(range(n)), "feedback.correctness": noisy(TRUTH), "feedback.human_label": TRUTH}
    with pytest.raises(InputError) as error:
        import_ratings([written(tmp_path / "smith.csv", ids)])
    assert "--kind feedback.correctness=llm --kind feedback.human_label=human" in str(error.value)
    rows = [
        {"item": {"input": f"q{k}", "expected_output": "a"}, "evaluations": [{"name": "right", "value": k % 2}]}
        for k in range(20)
    ]
    (tmp_path / "fuse.json").write_text(json.dumps(rows))
    made = import_ratings([tmp_path / "fuse.json"], ImportOptions(kind="llm", rater="mine")).ratings
    assert (made.height, set(made["question"])) == (20, {"right"})
    several = {
        "id": [1, 2, 3],
        "comment": ["so"] * 3,
        "is_solved": ["{0: 'Solved', 1: 'Solved'}", "[1, 2]", "{0: 'No'}"],
    }
    options = ImportOptions(kind="llm", rater="mine", question=("solved",), columns={"is_solved": "verdict"})
    with pytest.raises(InputError, match="several answers each"):
        import_ratings([written(tmp_path / "several.csv", several)], options)


def test_times_row_numbers_and_parts_of_a_name_are_no_answers(tmp_path):
    rows = [
        {
            "": k,
            "question_id": k,
            "split": ("valid", "test")[k % 3 > 0],
            "judge": ["gpt-4", f"pair-{k % 2}"],
            "g1_winner": word,
            "tstamp": 1.7e9 + k,
        }
        for k, word in enumerate(drawn(20, ("model_1", "tie")))
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = import_ratings([tmp_path / "pairs.jsonl"], ImportOptions(kind="llm")).ratings
    assert (set(found["question"]), found.height, set(found["rater"])) == ({"g1_winner"}, 20, {"gpt-4"})
    path = written(
        tmp_path / "index.csv", {"": list(range(9)), "record": [f"{{'name': 'span {k}'}}" for k in range(9)]}
    )
    with pytest.raises(InputError, match="does not say the answers"):
        import_ratings([path])


def test_numbered_people_beside_numbered_answers_are_all_proposed(tmp_path):
    n = 30
    rows = {
        f"response{k}": [f"answer {k} to question {row}, in some more words than few" for row in range(n)]
        for k in (1, 2)
    }
    people = {f"annotator{k}": drawn(n, ("1", "2"), seed=k) for k in (1, 2, 3)}
    path = written(tmp_path / "pairs.csv", {"idx": list(range(n)), **rows, **people})
    found = import_ratings([path]).ratings
    assert (set(found["rater"]), found.height) == (set(people), 3 * n)


def test_rows_of_two_who_are_not_named_and_agree_are_two_ratings(tmp_path):
    rows = {
        "case": [k // 2 for k in range(40)],
        "text": [f"t{k // 2}" for k in range(40)],
        "good": ["yes"] * 39 + ["no"],
    }
    path = written(tmp_path / "twice.csv", rows)
    told = {"kind": "human", "rater": "two people", "question": ("good",)}
    found = import_ratings([path], ImportOptions(**told, repeats=True)).ratings
    assert (found.height, found["item_id"].n_unique(), found["repeat"].max()) == (40, 20, 1)
    assert any(
        "taken once" in note for note in import_ratings([path], ImportOptions(**told, item=("case", "good"))).notes
    )


def test_columns_beside_what_is_said_once_of_all_and_rows_without_an_id(tmp_path):
    scores = {"id": [1, 2, 3, 4], "results": [1, 0, 1, 1], "prompt": ["p", "q", "r", "s"], "model": "org/reward-model"}
    (tmp_path / "scores.json").write_text(json.dumps({**scores, "inner": {"subset": ["a", "b", "a", "b"]}, "n": 4}))
    found = import_ratings([tmp_path / "scores.json"], ImportOptions(kind="llm")).ratings
    assert (found["verdict"].to_list(), set(found["rater"])) == (["1", "0", "1", "1"], {"org/reward-model"})
    parts = {name: {"data": {"prompts": ["p", "q"], "judge_1": [1, 0]}, "n": 3} for name in ("first", "second")}
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    with pytest.raises(InputError, match=r"several lists of records: first\.data \(2\).*second\.data"):
        import_ratings([tmp_path / "parts.json"])
    gaps = {"ID": ["a", "", "c", ""], "wrong": ["yes", "no", "no", "yes"]}
    made = import_ratings([written(tmp_path / "gaps.csv", gaps)], ImportOptions(kind="llm", rater="m"))
    assert made.ratings["item_id"].to_list() == ["a", "row 3", "c", "row 5"]
    assert any("ID is empty in 2 rows" in note for note in made.notes)


def _shapes():
    """Files of shapes that others publish: a gap and a twin among ids, facts in lists, two who are not named."""
    n, long = 24, "some words of an answer that is longer than sixty letters, for number"
    said = drawn(n, ("yes", "no"))
    gaps = [{"ID": str(k), "question": f"{long} {k}", "invented": word} for k, word in enumerate(said)]
    gaps[3]["ID"], gaps[7]["ID"] = "", "6"
    yield "gaps", gaps, {"import"}
    facts = [{"text": f"fact {k % 20}", "label": word} for k, word in enumerate(drawn(n, ("S", "NS")))]
    yield "facts", [{"topic": f"t{k}", "human-facts": facts[k * 6 : k * 6 + 6]} for k in range(4)], set()
    twice = [{"instance_id": k // 2, "tone_label": k % 3, "facts_label": k % 4 % 3} for k in range(n)]
    yield "twice", twice, {"import"}
    scores = [{"id": k, "judge_score": k / n, "human": word} for k, word in enumerate(said)]
    yield "scores", scores, {"check"}
    other = [{"id": k, "gpt_verdict": "ab"[word == "no"], "human": word} for k, word in enumerate(said)]
    yield "other words", other, {"check", "import"}
    apart = [{"id": k, "judge": "AB"[k % 2], "human_1": said[k], "human_tone": said[-k]} for k in range(n)]
    yield "no judge", apart, {"import"}
    yield "columns", {"prompts": ["p"] * n, "scores": {"judge_1": said, "judge_2": said[::-1]}, "n": 2}, {"import"}
    raters = [{"item": k // 2, "annotator": ("ann", "bot")[k % 2], "label": said[k]} for k in range(n)]
    yield "raters", raters, {"check", "import"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "answered"), [*_shapes()])
def test_commands_that_a_refusal_prints_run_as_they_stand(name, content, answered, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.json").write_text(json.dumps(content))

    def run(words):
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code or 0, capsys.readouterr().err

    for command in ("check", "import"):
        code, said = run(["axisjudge", command, "theirs.json", *(["--out", "r.jsonl"] * (command == "import"))])
        if command in answered:
            assert (code, "axisjudge " + command in said) == (2, True), said
        printed = [shlex.split("axisjudge " + each.split("; ")[0]) for each in said.split("axisjudge ")[1:]]
        for words in printed:
            for file in tmp_path.glob("*.jsonl"):
                file.unlink()
            code, said = run(words)
            assert code == 0, (name, words, said)


def test_settings_of_a_run_are_no_questions(tmp_path):
    table = {"id": list(range(30)), "model": ["gpt-5"] * 30, "temperature": [0] * 30, "effort": ["high"] * 30}
    asked = {"closed": drawn(30, ("Yes", "No")), "labelled": drawn(30, ("Yes", "No"), seed=2), "flavour": ["both"] * 30}
    found = import_ratings([written(tmp_path / "judged.csv", table | asked)]).ratings
    assert sorted(found["question"].unique()) == ["closed", "labelled"]
    assert set(found["rater"]) == {"gpt-5"}


@pytest.mark.parametrize(("role", "kind"), [("judge", "llm"), ("human", "human")])
def test_columns_of_one_role_and_of_another_thing_each_are_questions_to_one_rater(tmp_path, role, kind):
    names = [f"{role}_{of}" for of in ("tone", "empathy", "accuracy")]
    table = {"id": list(range(40)), **{name: drawn(40, ("1", "4", "5"), seed=n) for n, name in enumerate(names)}}
    with pytest.raises(InputError) as refused:
        import_ratings([written(tmp_path / "sheet.csv", table)])
    first = refused.value.ways[0].options
    assert "--rater" in first
    assert kind in first
    assert not any(name in " ".join(first) for name in names)


def test_who_labelled_a_row_is_its_rater_but_not_where_columns_name_raters(tmp_path):
    words = {"closed": drawn(40, ("Yes", "No")), "labelled": drawn(40, ("Yes", "No"), seed=2)}
    told = {"id": list(range(40)), "labeled_by": ["ana", "ben"] * 20}
    people = ImportOptions(kind="human", sampling="unknown")
    found = import_ratings([written(tmp_path / "sheet.csv", told | words)], people).ratings
    assert set(found["rater"]) == {"ana", "ben"}
    judged = {"gpt-4o": drawn(40), "human": drawn(40, seed=3)}
    found = import_ratings([written(tmp_path / "two.csv", told | judged)], ImportOptions(question=("solved",))).ratings
    assert set(found["rater"]) == {"gpt-4o", "human"}


def test_names_of_errors_are_compared_where_most_are_the_same(tmp_path):
    errors = ("near_miss", "partial", "wrong_place", "wrong_rule")
    people = random.Random(1).choices(errors, k=40)
    arc = [word if n % 3 else "wrong_shape" for n, word in enumerate(people)]
    accuracy = [n / 40 for n in range(40)]
    table = {"task_id": list(range(40)), "human_accuracy": accuracy, "arc_error": arc, "human_error": people}
    found = check(written(tmp_path / "errors.csv", table)).read
    assert ([judge.name for judge in found.judges], found.judges[0].n_compared) == (["arc_error"], 40)
    assert {row["taken as"] for row in found.recognised if row["column"] == "human_error"} == {"people"}


def test_a_model_whose_answers_were_rated_is_not_the_judges_own(tmp_path):
    models = ["openai/gpt-5", "meta-llama/llama-3.1-8b", "google/gemini-3"] * 10
    table = {"id": list(range(30)), "model": models, "answer": [f"answer {n} of some length" * 3 for n in range(30)]}
    path = written(tmp_path / "v.csv", table | {"judge_label": drawn(30), "human_label": drawn(30, seed=2)})
    judge = import_ratings([path]).ratings.filter(rater="judge_label")
    assert (judge["family"].n_unique(), set(judge["model"]), set(judge["agent"])) == (1, {None}, {*models})
    assert check(path).read.n_compared == 30


def test_a_confidence_of_1_to_10_is_no_share_and_is_not_read(tmp_path):
    table = {
        "id": list(range(30)),
        "gpt-4o": drawn(30),
        "gpt-4o_confidence": [8, 9, 10] * 10,
        "human": drawn(30, seed=2),
    }
    found = import_ratings([written(tmp_path / "sure.csv", table)], ImportOptions(question=("solved",)))
    assert found.ratings["confidence"].null_count() == 60
    asked = ImportOptions(question=("solved",), rater="gpt-4o")
    path = written(tmp_path / "long.csv", {"id": list(range(30)), "verdict": drawn(30), "confidence": [8, 9, 10] * 10})
    assert import_ratings([path], asked).ratings["confidence"].null_count() == 30


def test_what_is_measured_of_a_judge_is_no_judge(tmp_path):
    table = {"id": list(range(40)), "judge_cost_usd": [n / 50 for n in range(40)], "human": drawn(40)}
    with pytest.raises(InputError) as refused:
        check(written(tmp_path / "costs.csv", table))
    assert not any("judge_cost_usd" in " ".join(way.options) for way in refused.value.ways)


def test_participants_rate_and_a_group_that_changes_within_an_item_is_no_cluster_of_items(tmp_path):
    rows = [(who, f"s{item}") for who in range(12) for item in range(10)]
    table = {"participant_id": [f"p{who}" for who, _ in rows], "group": ["ab"[who % 2] for who, _ in rows]}
    answers = [str(1 + (who + 3 * n) % 5) if n % 17 else "" for n, (who, _) in enumerate(rows)]
    path = written(tmp_path / "study.csv", table | {"sentence_id": [item for _, item in rows], "clear": answers})
    found = import_ratings([path], ImportOptions(kind="human", sampling="unknown", item=("sentence_id",)))
    assert found.ratings["rater"].n_unique() == 12
    assert found.ratings["cluster_id"].to_list() == found.ratings["trajectory_id"].to_list()
    assert any(f"{answers.count('')} empty cells of people" in note for note in found.notes)


def test_models_that_rated_one_patch_are_raters_of_one_item_and_not_rows(tmp_path):
    rows = [(patch, model) for patch in range(20) for model in ("Qwen/Qwen2.5-72B", "meta-llama/Llama-3.3-70B")]
    said = drawn(40, ("approve", "reject"))
    reasons = [f"a reason of some length why patch {n} was judged so by one of them" for n in range(40)]
    table = {"patch_id": [f"patch_{patch}" for patch, _ in rows], "model": [model for _, model in rows]}
    path = written(tmp_path / "verdicts.csv", table | {"verdict": said, "main_reason": reasons})
    with pytest.raises(InputError) as refused:
        import_ratings([path])
    assert all("patch_id" in way.options for way in refused.value.ways)
    told = ImportOptions(item=("patch_id",), question=("verdict",), kind="llm")
    assert import_ratings([path], told).ratings["trajectory_id"].n_unique() == 20
