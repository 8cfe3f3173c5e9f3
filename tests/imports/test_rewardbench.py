"""RewardBench's files in the shapes that its scripts write: a reward model, or a judge, against the chosen answers."""

import json
from collections import Counter

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.imports.api import import_ratings
from axisjudge.ratings import write_ratings
from axisjudge.studies.check import check

RESULTS = [1, 0, 1, 1] * 15
ABOUT = {"subset": [f"s{n % 3}" for n in range(60)], "id": list(range(60)), "model": "org/some-rm-7b"}
TEXTS = {f"text_{kind}": [f"{kind} {n}" for n in range(60)] for kind in ("chosen", "rejected")}
CHATS = {
    f"text_{kind}": [
        [{"role": "user", "content": f"p{n // 2}"}, {"role": "assistant", "content": kind}] for n in range(60)
    ]
    for kind in ("chosen", "rejected")
}


def said(path):
    table = import_ratings([path]).ratings
    counts = Counter(table.select("rater", "rater_kind", "verdict").iter_rows())
    assert counts.pop(("gold", "human", "chosen")) == table["item_id"].n_unique()
    return counts


def test_a_reward_model_is_a_judge_of_each_pair_and_the_chosen_answer_the_truth(tmp_path):
    scores = {"scores_chosen": [[float(each)] for each in RESULTS], "scores_rejected": [[0.5]] * 60}
    (path := tmp_path / "m.json").write_text(
        json.dumps(TEXTS | ABOUT | scores | {"results": RESULTS, "model_type": "X"})
    )
    model = "org/some-rm-7b"
    assert said(path) == {(model, "decision_model", "chosen"): 45, (model, "decision_model", "rejected"): 15}
    read = check(path).read
    assert (read.votes.judges, read.votes.people, read.roles.cluster) == ((model,), ("gold",), "")
    assert read.judges[0].measures["agreement"].estimate == pytest.approx(0.75)


def test_rows_of_the_command_line_tool_are_of_the_model_in_their_name_and_prompts_belong_together(tmp_path):
    rows = {"prompt": [f"p{n // 2}" for n in range(60)], "results": RESULTS, **TEXTS}
    lines = [json.dumps(dict(zip(rows, cells, strict=True))) for cells in zip(*rows.values(), strict=True)]
    (path := tmp_path / "some-rm_outputs.jsonl").write_text("\n".join(lines))
    assert said(path)["some-rm", "decision_model", "chosen"] == 45
    assert check(path).read.roles.cluster == "query_id"
    pl.DataFrame(rows).write_parquet(tmp_path / "some-rm.parquet")
    assert said(tmp_path / "some-rm.parquet") == said(path)
    (path := tmp_path / "some-rm_all.jsonl").write_text(
        "\n".join(json.dumps({"chosen": float(each), "rejected": 0.5}) for each in RESULTS)
    )
    assert said(path)["some-rm", "decision_model", "chosen"] == 45


def test_what_a_generative_judge_left_open_is_no_verdict_and_stays_counted(tmp_path):
    results = [0.5, *RESULTS[1:]]
    content = CHATS | ABOUT | {"results": results, "model_type": "Generative RM"}
    (path := tmp_path / "g.json").write_text(json.dumps(content))
    kinds = {word: n for (_, kind, word), n in said(path).items() if kind == "llm"}
    assert kinds == {"chosen": 44, "rejected": 15, None: 1}
    read = check(path).read
    assert (read.judges[0].n_compared, read.votes.n_items, read.roles.cluster) == (59, 60, "query_id")


def test_ties_of_the_second_version_are_left_out_aloud(tmp_path):
    ties = {"subset": ["Math"] * 40 + ["Ties"] * 20, "num_correct": [1] * 60, "results": [*RESULTS[:50], *[None] * 10]}
    (path := tmp_path / "two.json").write_text(json.dumps(ABOUT | ties | {"scores": [[1.0, 0.0]] * 60}))
    assert sum(said(path).values()) == 40
    assert any("20 rows of Ties" in note for note in import_ratings([path]).notes)


def test_sums_over_pairs_are_refused_with_the_file_of_pairs(tmp_path):
    (tmp_path / "eval-set" / "org").mkdir(parents=True)
    path = tmp_path / "eval-set" / "org" / "rm.json"
    path.write_text(json.dumps({"model": "org/rm", "model_type": "X", "chat_template": None, "hep-cpp": 0.9}))
    for call in (check, lambda file: import_ratings([file])):
        with pytest.raises(InputError, match=r"axisjudge check .*eval-set-scores/org/rm\.json"):
            call(path)


def test_several_models_stand_beside_one_truth(tmp_path):
    for name, results in {"one": RESULTS, "two": RESULTS[::-1]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(TEXTS | ABOUT | {"results": results, "model": name}))
    found = import_ratings([tmp_path])
    assert Counter(found.ratings["rater"]) == {"one": 60, "two": 60, "gold": 60}
    again = found.ratings.filter(rater="one").with_columns(
        pl.lit(1).cast(found.ratings["repeat"].dtype).alias("repeat")
    )
    write_ratings(pl.concat([found.ratings, again]), tmp_path / "all.jsonl")
    assert "60 repeated ratings are left out" in check(tmp_path / "all.jsonl").read.notes
    shares = [each.measures["agreement"].estimate for each in check(tmp_path / "all.jsonl").read.judges]
    assert shares == pytest.approx([0.75, 0.75])
