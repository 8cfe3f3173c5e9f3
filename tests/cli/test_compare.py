"""axisjudge compare as a user meets it."""

import itertools
import json
import re

import pytest
from cli.conftest import axisjudge

from axisjudge.ratings import ratings_frame
from axisjudge.ratings.table import write_ratings
from axisjudge.verdict import Rating
from axisjudge.workbench import home


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "ratings.jsonl"
    one_file = min((home() / "data" / "demo" / "results").glob("*.json"))
    done = axisjudge("judge", one_file, "--judge", "rules", "--judge", "simulated:heron", "--out", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_words_first_then_tables_and_the_whole_as_json(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    page = axisjudge("compare", ratings, "--labels", labels)
    assert page.returncode == 0, page.stderr
    banner, first, *rest = page.stdout.splitlines()
    assert banner.startswith("SIMULATED OR PLANTED")
    assert first.startswith("Of 60 claims")
    outcomes = {what: int(n) for n, what in re.findall(r"(\d+) (not shown yet|shown false|not checked)", first)}
    assert sum(outcomes.values()) == 60, first  # none is made
    assert any(
        line.startswith("'may stand in for one of these people (at epsilon 0.2)' could not be checked") for line in rest
    )
    assert "Against the majority of people" in rest
    assert "Alternative annotator test" not in rest  # one labeller: the reason stands above
    full = json.loads(called("compare", ratings, "--labels", labels, "--epsilon", "0.1", "--json").stdout)
    assert full["epsilon"] == 0.1
    assert full["questions"][0]["question"] == "tool_selection"
    assert full["questions"][0]["judges"][0]["judge"] == "rules"


def test_requirements_end_with_what_is_known_and_hold_together(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    widths = {}
    for required, code in (("simulated:heron.accuracy<=1", 0), ("accuracy>=1", 1), ("sensitivity>=0.95", 4)):
        page = called("compare", ratings, "--labels", labels, "--require", required, "--json")
        decisions = json.loads(page.stdout)["requirements"]
        outcomes = {each["outcome"] for each in decisions}
        assert page.returncode == code, outcomes
        assert ("short" in outcomes) == (code == 1)
        given = [each for each in decisions if each["ci_low"] is not None]
        widths[required] = {each["judge"]: each["ci_high"] - each["ci_low"] for each in given}
    of_two, of_one = widths["accuracy>=1"], widths["simulated:heron.accuracy<=1"]
    assert len(of_two) > len(of_one) > 0
    assert all(of_two[judge] > width for judge, width in of_one.items())
    page = called("compare", ratings, "--labels", labels, "--require", "nobody.accuracy>=1")
    assert (page.returncode, page.stderr.count("\n")) == (2, 1)


def test_what_cannot_be_compared_is_one_line_and_exit_code_2(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    for arguments, message in (
        (("--labels", ratings), "axisjudge: labels: must be of people"),  # a simulated judge is no person
        (("--labels", labels, "--sampling", "randm"), "axisjudge: sampling: must be one of random"),
        ((), "axisjudge: Missing option '--labels'"),
    ):
        page = called("compare", ratings, *arguments)
        assert (page.returncode, page.stdout) == (2, "")
        assert page.stderr.startswith(message), page.stderr
        assert page.stderr.count("\n") == 1


def test_where_judges_are_unfair_is_said_with_what_cannot_be_tried(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    page = called("compare", ratings, "--labels", labels, "--by", "agent,length", "--json")
    assert page.returncode == 0
    fairness = json.loads(page.stdout)["fairness"]
    assert {each["by"] for each in fairness} == {"agent", "length"}
    assert all("trajectories" in each["refusal"] for each in fairness if each["by"] == "length")


def test_rates_are_carried_to_the_mix_that_is_stated(called, tmp_path):
    """The judge says incorrect of all runs of bank and of none of shop: one in four there, a half here."""
    rated, labelled = [], []
    for n in range(40):
        task, said = f"t{n // 2}", ("correct", "incorrect")[n >= 20]
        of = {"question": "termination", "trajectory_id": f"r{n}", "cluster_id": task, "task_id": task, "verdict": said}
        of |= {"domain": ("shop", "bank")[n >= 20]}
        rated.append(Rating(**of, rater="gpt", rater_kind="llm", family="gpt"))
        labelled.append(Rating(**of, rater="ann", rater_kind="human", family="human"))
    for name, rows in (("r", rated), ("h", labelled)):
        write_ratings(ratings_frame(rows), tmp_path / f"{name}.jsonl")
    compare = ("compare", tmp_path / "r.jsonl", "--labels", tmp_path / "h.jsonl", "--by", "domain")
    page = called(*compare, "--mix", "shop=3", "--mix", "bank=1", "--json")
    carried = {each["measure"]: each for each in json.loads(page.stdout)["fairness"][0]["carried"]}
    says = carried["says_failing"]
    assert (says["here"][0], says["there"][0]) == (0.5, 0.25), page.stderr
    for mix in (["shop"], ["shop=much"], ["=1"], ["shop=1", "shop=2"]):
        wrong = called(*compare, *(word for each in mix for word in ("--mix", each)))
        assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1), mix
        assert "mix" in wrong.stderr


def test_all_files_of_a_glob_are_labels_all_scales_of_words_are_compared_and_the_rest_is_counted(called, tmp_path):
    scales = {"termination": "verdict", "helpful": "ordinal:1-5", "score": "unit"}
    rated, labelled = [], {"a": [], "b": []}
    for n, (question, scale) in itertools.product(range(24), scales.items()):
        said = {"verdict": ("correct", "incorrect")[n % 2], "ordinal:1-5": str(n % 5 + 1), "unit": None}[scale]
        of = {"trajectory_id": f"r{n}", "cluster_id": f"t{n}", "question": question, "scale": scale, "verdict": said}
        of |= {"value": n / 24 if scale == "unit" else None}
        flags = ["empty_run"] if n == 23 else []
        rated += [Rating(**of, rater="gpt", rater_kind="llm", family="gpt", repeat=k, flags=flags) for k in (0, 1)]
        for name, rows in labelled.items():
            rows.append(Rating(**of, rater=name, rater_kind="human", family="human"))
    for name, rows in {"r": rated, **labelled, "both": [*rated, *labelled["a"]]}.items():
        write_ratings(ratings_frame(rows), tmp_path / f"{name}.jsonl")
    r, a, b, both = (tmp_path / f"{name}.jsonl" for name in ("r", "a", "b", "both"))
    found = json.loads(called("compare", r, "--labels", a, b, "--json").stdout)
    assert {each["question"] for each in found["questions"]} == {"termination", "helpful"}
    assert all(each["people"] == ["a", "b"] for each in found["questions"])
    assert found["left_out"] == {"empty_runs": 6, "repeats": 69, "no_words": 23}
    page = called("compare", both, "--labels", b)
    assert "Left out: 72 ratings by people, who stand among the judges" in page.stdout, page.stderr


@pytest.mark.slow
def test_compare_and_agreement_say_what_counts_alike_and_all_that_stands_side_by_side_does(called, tmp_path):
    """On three tasks of 24 judges are right on half, on 30 of one item always."""
    words, rated, labelled = ("correct", "incorrect"), [], []
    large = [(f"t{t}", words[i % 3 == 0], words[i % 2]) for t in range(3) for i in range(24)]
    for n, (task, truth, said) in enumerate([*large, *((f"s{t}", words[t % 2], words[t % 2]) for t in range(30))]):
        of = {"question": "termination", "trajectory_id": f"r{n}", "cluster_id": task}
        for name in ("gpt", "claude"):
            own = said if name == "gpt" or n >= 72 or n % 4 > 1 else words[said == "correct"]
            rated.append(Rating(**of, rater=name, rater_kind="llm", family=name, verdict=own))
        person = {"rater_kind": "human", "family": "human", "verdict": truth}
        labelled += [Rating(**of, rater=name, **person) for name in ("ann", "bob")]
    for name, rows in (("r", rated), ("h", labelled)):
        write_ratings(ratings_frame(rows), tmp_path / f"{name}.jsonl")
    compare = ("compare", tmp_path / "r.jsonl", "--labels", tmp_path / "h.jsonl")
    agreement = ("agreement", tmp_path / "r.jsonl")
    right, among = {}, {}
    for alike, unit in (("items", "item"), ("clusters", "task")):
        assert f"each {unit} counts alike" in called(*compare, "--alike", alike).stdout
        assert f"each {unit.replace('task', 'cluster')} alike" in called(*agreement, "--alike", alike).stdout
        judge = json.loads(called(*compare, "--alike", alike, "--json").stdout)["questions"][0]["judges"][1]
        by_person = judge["left_out"][0]
        right[alike], behind = by_person["judge"]["accuracy"][0], judge["behind"]["estimate"]
        assert behind == pytest.approx(by_person["themselves"]["accuracy"][0] - right[alike])
        found = json.loads(called(*agreement, "--alike", alike, "--json").stdout)["questions"][0]
        among[alike] = found["coefficients"]["percent"]["estimate"]
    assert right["items"] < 0.7 < 0.9 < right["clusters"]
    assert among["items"] < 0.7 < 0.9 < among["clusters"]
    for command in (compare, agreement):
        wrong = called(*command, "--alike", "judges")
        assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
