"""The gate of `axisjudge axis-result`: sessions recorded before and after, as a pipeline would gate them."""

import gzip
import json
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.datasets import demo_transcripts
from axisjudge.stats.estimate import Estimate
from axisjudge.studies.axis_result.gate import Baseline, Gate, GateDecision, ScoredRun, markdown, rule_of
from axisjudge.studies.axis_result.gate import gate as gate_of
from axisjudge.studies.axis_result.gate import junit as junit_of

SCENARIO = "broken-build"
REFUSED = "connect ECONNREFUSED 127.0.0.1:5432"


def session(number, *, change=None, refused=False, error=None, idle=None):
    """One recorded session of the demo as an AXIS report; `change` alters its entries, of which `idle` keeps the first
    few."""
    name = f"{SCENARIO}.{number}"
    path = next(each for each in demo_transcripts() if each.parts[-2:] == ("cedar-mini", f"{name}.json"))
    report = json.loads(path.read_text())
    output = report["output"]
    for place, entry in enumerate(output["transcript"]):
        entry["content"]["session_id"] = output["metadata"]["sessionId"] = f"{name}{change or ''}{refused}{error}{idle}"
        if entry["type"] == "tool_result":
            block = entry["content"]["message"]["content"][0]
            if refused:
                block["content"] = REFUSED
            elif change and place % 2:
                block.update(content="Error: the service answered 503", is_error=True)
    if error:
        output["metadata"]["error"], output["result"] = error, None
    if idle is not None:
        assert not any(entry["type"] == "tool_result" for entry in output["transcript"][:idle])
        output["transcript"], output["result"] = output["transcript"][:idle], "There are no tools here."
    return report


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """A workbench in git with a baseline of three sessions, and the command run in it."""
    from axisjudge.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AXISJUDGE_HOME", raising=False)
    monkeypatch.setattr(workbench, "_chosen", None)
    for folder in ("rubrics", "notebooks", "data"):
        (tmp_path / folder).mkdir()

    def record(folder, sessions):
        (tmp_path / folder).mkdir()
        for number, report in enumerate(sessions):
            (tmp_path / folder / f"{number}.json").write_text(json.dumps(report))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["axisjudge", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code or 0, out=said.out, err=said.err)

    record("before", [session(number) for number in (1, 2, 3)])
    saved = run("axis-result", "before", "--save-baseline", "main")
    assert saved.code == 0, saved.err
    return SimpleNamespace(run=run, record=record, path=tmp_path)


def gate(bench, folder, *more):
    page = bench.run("axis-result", folder, "--baseline", "main", "--json", *more)
    return page.code, (json.loads(page.out) if page.out else page.err)


def test_a_real_regression_between_recorded_sessions_fails_and_the_baselines_own_runs_pass(bench):
    assert gate(bench, "before")[0] == 0
    bench.record("after", [session(number, change="worse") for number in (1, 2, 3)])
    code, found = gate(bench, "after", "--fail-if", "environment<-5", "--junit", "gate.xml", "--summary", "gate.md")
    (decision,) = found["decisions"]
    assert (code, decision["outcome"]) == (1, "regressed")
    assert decision["change"]["ci_high"] < -5
    assert decision["before"] - decision["after"] == pytest.approx(-decision["change"]["estimate"])
    suite = ElementTree.parse(bench.path / "gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert suite[0].get("classname") == f"{SCENARIO}.cedar-mini"
    assert suite[0][0].tag == "failure"
    table = [line for line in (bench.path / "gate.md").read_text().splitlines() if line.startswith("| broken")]
    assert len(table) == 1
    assert "**regressed**" in table[0]


@pytest.mark.parametrize("how", [{"refused": True}, {"error": "timed out"}, {"idle": 0}, {"idle": 2}])
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_collapse_fails_however_few_the_repeats(bench, how, repeats):
    bench.record("after", [session(number, **how) for number in range(1, repeats + 1)])
    code, found = gate(bench, "after")
    assert (code, [each["outcome"] for each in found["decisions"]]) == (1, ["collapsed"])


def test_compare_never_says_of_a_collapse_that_no_change_is_shown(bench):
    bench.record("after", [session(number, error="timed out") for number in (1, 2, 3)])
    for before, after in (("before", "after"), ("after", "before")):
        page = bench.run("axis-result", before, "--compare", after)
        assert page.code == 0, page.err
        assert "no change is shown" not in page.out.casefold()
    bench.record("steady", [session(1)])
    page = bench.run("axis-result", "steady", "--compare", "after")
    assert "no change is shown" not in page.out.casefold()
    assert "cannot be told" in page.out


def test_too_few_repeats_and_missing_scenarios_cannot_be_told(bench):
    bench.record("after", [session(1, change="worse")])
    code, found = gate(bench, "after", "--junit", "build/gate.xml", "--summary", "pages/gate.md")
    assert code == 4
    assert {each["outcome"] for each in found["decisions"]} == {"cannot tell"}
    assert ElementTree.parse(bench.path / "build" / "gate.xml").getroot().get("errors") == str(len(found["decisions"]))
    other = [{**session(number), "scenarioKey": "other"} for number in (1, 2, 3)]
    bench.record("others", other)
    code, found = gate(bench, "others")
    assert code == 4
    assert [(each["scenario"], each["outcome"]) for each in found["decisions"]] == [
        (SCENARIO, "missing"),
        ("other", "new"),
    ]


def check_junit(text):
    """What readers of JUnit XML (Jenkins, GitLab) want of it, in our own words: their schemas are not ours to ship."""
    top = ElementTree.fromstring(text)
    assert top.tag == "testsuites"
    assert [suite.tag for suite in top] == ["testsuite"]
    (suite,) = top
    assert suite.get("name")
    cases = list(suite)
    assert {case.tag for case in cases} <= {"testcase"}
    assert all(set(case.attrib) == {"name", "classname"} and all(case.attrib.values()) for case in cases)
    inner = [element for case in cases for element in case]
    assert all(len(case) <= 1 for case in cases)
    assert {element.tag for element in inner} <= {"failure", "error"}
    for element in inner:
        assert set(element.attrib) == {"type", "message"}
        assert all(element.attrib.values())
        assert element.text
        assert not len(element)
    tags = [element.tag for element in inner]
    counts = {"tests": len(cases), "failures": tags.count("failure"), "errors": tags.count("error")}
    for element in (top, suite):
        assert {name: int(element.get(name)) for name in counts} == counts
    return counts


#: What may be missing from a gate: bytes of a file beside three good runs, or another way to ask.
MISSING = {
    "an empty file": ("x.json", b"", ("--baseline", "main")),
    "a torn file": ("x.json", b'{"output": {"transcript": [', ("--baseline", "main")),
    "no JSON": ("x.json", b"<html>404</html>", ("--baseline", "main")),
    "an empty object": ("x.json", b"{}", ("--baseline", "main")),
    "an empty list": ("x.json", b"[]", ("--baseline", "main")),
    "null": ("x.json", b"null", ("--baseline", "main")),
    "half of a compressed file": ("x.json.gz", gzip.compress(b'{"output": {}}' * 99)[:40], ("--baseline", "main")),
    "other bytes": ("x.jsonl", bytes(range(256)), ("--baseline", "main")),
    "an empty file under a floor": ("x.json", b"", ("--fail-under", "1")),
    "a torn file under a floor": ("x.json", b'{"output"', ("--fail-under", "1")),
}


@pytest.mark.parametrize("what", MISSING)
def test_no_gate_passes_on_a_file_that_is_missing_from_it(bench, what):
    """The file is named with its reason, in JUnit too, and the exit code is 1; --strict ends the run."""
    name, content, asked = MISSING[what]
    (bench.path / "before" / name).write_bytes(content)
    page = bench.run("axis-result", "before", *asked, "--junit", "gate.xml")
    assert page.code == 1, page.out
    assert name in page.out + page.err
    assert name in (bench.path / "gate.xml").read_text()
    assert check_junit((bench.path / "gate.xml").read_bytes())["errors"]
    assert bench.run("axis-result", "before", *asked, "--strict").code in (1, 2)


def test_no_gate_passes_without_repeats_or_scenarios(bench):
    bench.record("one", [session(1)])
    codes = [bench.run("axis-result", "one", "--baseline", "main").code]
    bench.record("others", [{**session(number), "scenarioKey": "other"} for number in (1, 2, 3)])
    codes.append(bench.run("axis-result", "others", "--baseline", "main").code)
    (bench.path / "none").mkdir()
    codes.append(bench.run("axis-result", "none", "--baseline", "main").code)
    assert codes == [4, 4, 2]


def test_the_page_of_runs_is_written_whatever_the_gate_decides(bench):
    bench.record("refused", [session(number, refused=True) for number in (1, 2, 3)])
    code, _ = gate(bench, "refused", "--html", "runs.html")
    assert code == 1
    assert REFUSED in (bench.path / "runs.html").read_text()


def test_a_floor_is_decided_on_both_ends_where_goals_are_ungraded(bench):
    """Ungraded sessions end somewhere in 40 points; three of them hold no floor that matters, and break the highest."""
    codes = [bench.run("axis-result", "before", "--fail-under", floor).code for floor in (5, 30, 75, 100)]
    assert codes == [0, 4, 4, 1]


@pytest.mark.parametrize(
    ("scores", "code"),
    [([80.1], 4), ([100, 100, 41], 4), ([95] * 3, 4), ([95] * 20, 0), ([60] * 20, 1), ([30], 4), ([79.9] * 3, 4)],
)
def test_a_floor_holds_only_where_the_runs_show_it(scores, code):
    """Neither one run just above it nor a mean that hangs on one run; the sentence says how many runs would do."""
    runs = [
        ScoredRun(
            scenario="s", agent="a", trajectory_id=str(n), scores={"composite": float(score)}, ends=(score, score)
        )
        for n, score in enumerate(scores)
    ]
    decided = gate_of(runs, None, floor=80)
    assert decided.exit_code == code
    if code == 4 and sum(scores) / len(scores) > 80:
        assert "would show" in decided.decisions[0].sentence
    check_junit(junit_of(decided).encode())
    errors = ElementTree.fromstring(junit_of(decided)).get("errors")
    assert errors == ("1" if code == 4 else "0")


@pytest.mark.parametrize("name", ["a\x00b", "\x1b[31m", "<&]]>\"'", "half \ud800", "two\nlines\t", "\ufffe"])
def test_junit_is_sound_xml_whatever_a_scenario_is_called(name):
    runs = [ScoredRun(scenario=name, agent=name, trajectory_id="1", scores={"composite": 10.0}, ends=(10, 10))]
    assert check_junit(junit_of(gate_of(runs, None, floor=80)).encode())["tests"] == 1
    assert "| 90% interval |" in markdown(gate_of(runs, None, floor=80, ci_level=0.9))


def test_a_change_is_the_difference_of_the_means_beside_it():
    change = Estimate(estimate=10.02, ci_low=9, ci_high=11, ci_level=0.95, n_items=6, n_clusters=6, cluster_unit="run")
    figures = {"n_before": 3, "n_after": 3, "before": 70.04, "after": 80.06, "change": change}
    decision = GateDecision(scenario="s", agent="a", rule="composite<-5", outcome="held", **figures)
    assert "70.0 to 80.1; +10.1 points" in decision.sentence
    assert "| 70.0 | 80.1 | +10.1 |" in markdown(Gate(baseline="main", decisions=(decision,)))


def test_a_baseline_is_kept_when_a_gate_fails_and_is_of_one_ruler(bench):
    file = bench.path / "baselines" / "main.json"
    kept = file.read_bytes()
    bench.record("after", [session(number, change="worse") for number in (1, 2, 3)])
    code, _ = gate(bench, "after", "--fail-if", "environment<-5", "--save-baseline", "main")
    assert (code, file.read_bytes()) == (1, kept)
    code, said = gate(bench, "before", "--rules", "upstream")
    assert (code, said.count("\n")) == (2, 1)
    assert "other rules" in said


def test_its_history_is_listed_across_commits(bench):
    def commit(message):
        for command in (
            ["add", "-A"],
            ["-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", message],
        ):
            subprocess.run(["git", *command], check=True, cwd=bench.path)

    subprocess.run(["git", "init", "-q", "."], check=True, cwd=bench.path)
    assert bench.run("axis-baseline", "history", "main").code == 2
    commit("first")
    bench.record("after", [session(number, change="worse") for number in (1, 2, 3)])
    bench.run("axis-result", "after", "--save-baseline", "main")
    commit("worse")
    rows = json.loads(bench.run("axis-baseline", "history", "main", "--json").out)["history"]
    assert [each["subject"] for each in rows] == ["worse", "first"]
    assert rows[0]["means"]["environment"] < rows[1]["means"]["environment"]
    assert bench.run("axis-baseline", "history", "main").out.count("cedar-mini") == 2
    assert "main" in bench.run("axis-baseline", "list").out


def scored(scores, *, scenario="szenario ü", agent="agént", kept="new"):
    """Runs of one scenario and agent with these composites; `kept` keeps sets of them apart."""
    quantities = ("composite", "goal_achievement", "environment", "service", "agent")
    return [
        ScoredRun(
            scenario=scenario,
            agent=agent,
            trajectory_id=f"{kept}{n}",
            scores=dict.fromkeys(quantities, float(score)),
            ends=(float(score), float(score)),
            calls=1,
        )
        for n, score in enumerate(scores)
    ]


def decided(after, before, *rules):
    kept = Baseline(name="main", ruler={}, runs=tuple(scored(before, kept="old")))
    return gate_of(scored(after), kept, rules=[rule_of(each) for each in rules])


@pytest.mark.parametrize(
    ("after", "before", "rule"),
    [
        ([100, 100, 100, 100, 20, 100, 10, 30, 20, 60], [90, 95, 100, 92, 88, 91, 99, 97, 93, 94], "composite<-50"),
        ([90] * 100, [90] * 3, "composite<-5"),
        ([90, 91] * 50, [90, 91, 90], "composite<-5"),
    ],
)
def test_more_repeats_than_there_are_on_the_smaller_side_would_tell(after, before, rule):
    """Ten repeats that vary are not told that seven would do, nor a hundred that they are too few beside three."""
    sentence = decided(after, before, rule).decisions[0].sentence
    fewest = min(len(after), len(before))
    assert f"; {fewest} repeats cannot exclude" in sentence
    needed = int(sentence.partition("of runs; ")[2].split(" or more")[0])
    assert needed > fewest
    enough = [values * (needed // len(values) + 2) for values in (after, before)]
    assert decided(*enough, rule).exit_code == 0


@pytest.mark.parametrize("scores", [[82] * 100, [100] * 9 + [0]])
def test_what_a_floor_cannot_exclude_lies_below_it_and_needs_more_runs_than_there_are(scores):
    floor = 80 if len(scores) == 100 else 65
    sentence = gate_of(scored(scores), None, floor=floor).decisions[0].sentence
    assert int(sentence.partition("a mean from ")[2].split(" ")[0]) < floor
    assert int(sentence.partition("; about ")[2].split(" ")[0]) > len(scores)


def test_a_rule_given_twice_is_one_decision_and_the_baselines_own_runs_are_named():
    once, twice = (decided([50, 55, 52, 60], [60, 62, 61, 66], *["composite<-5"] * n) for n in (1, 2))
    assert twice.decisions == once.decisions
    own = Baseline(name="main", ruler={}, runs=tuple(scored([90, 80, 85])))
    assert "the baseline's own runs" in gate_of(own.runs, own).answer
    assert "own runs" not in once.answer


def test_a_gate_decides_nothing_of_no_runs_and_counts_each_run_once():
    with pytest.raises(InputError, match="must be one or more"):
        gate_of([], None, floor=80)
    with pytest.raises(InputError, match="one or more"):
        decided([], [])


def test_the_table_of_a_gate_has_the_figures_of_its_sentences(bench):
    """70.04 and 80.06 are told as 70.0 and 80.1, ten points and a tenth apart, wherever they stand."""
    bench.record("after", [session(number, change="worse") for number in (1, 2, 3)])
    page = bench.run("axis-result", "after", "--baseline", "main", "--fail-if", "environment<-5")
    row = next(line.split() for line in page.out.splitlines() if "environment<-5" in line)
    before, after, change = (float(each) for each in row[4:7])
    assert change == pytest.approx(after - before)
    assert f"({row[4]} to {row[5]}; {row[6]} points, " in page.out


BAD = (
    (("--baseline", ""), "a name is"),
    (("--save-baseline", ""), "a name is"),
    (("--baseline", "absent"), "kept are: main"),
    (("--baseline", "../main"), "a name is"),
    (("--baseline", "main", "--fail-if", "environment>5"), "QUANTITY<NUMBER"),
    (("--baseline", "main", "--fail-if", "speed<-5"), "must be one of composite"),
    (("--baseline", "main", "--fail-if", "agent<5"), "0 or below"),
    (("--fail-if", "agent<-5"), "--baseline NAME"),
    (("--junit", "a.xml"), "is about a gate"),
    (("--fail-under", "101"), "between 0 and 100"),
    (("--fail-under", "50", "--format", "axis-json"), "one by one"),
    (("--baseline", "main", "--compare", "before"), "one by one"),
    (("--compare", "before", "--format", "axis-json"), "one by one"),
)


def test_bad_input_is_one_line(bench):
    for arguments, words in BAD:
        page = bench.run("axis-result", "before", *arguments)
        assert (page.code, page.err.count("\n")) == (2, 1)
        assert words in page.err


def test_a_damaged_baseline_is_named(bench):
    file = bench.path / "baselines" / "main.json"
    whole = json.loads(file.read_text())
    first, *others = whole["runs"]
    scores = [first["scores"] | {"agent": score} for score in (float("nan"), 950)]
    runs = [[{}], [], whole["runs"] * 2, *([{**first, "scores": each}, *others] for each in scores)]
    for damage in (b"{", b"[]", b'{"format": "other"}', b"\xff", *(dumped({**whole, "runs": each}) for each in runs)):
        file.write_bytes(damage)
        code, said = gate(bench, "before")
        assert (code, said.count("\n")) == (2, 1)
        assert "main.json" in said


def dumped(content):
    return json.dumps(content).encode()


def test_a_baseline_bears_the_name_of_its_file(bench):
    """A copy of it is another baseline; a mark of its bytes' order is no fault of it."""
    file = bench.path / "baselines" / "main.json"
    (file.parent / "copy.json").write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    listed = json.loads(bench.run("axis-baseline", "list", "--json").out)["baselines"]
    assert [each["baseline"] for each in listed] == ["copy", "main"]
    assert "against baseline copy" in bench.run("axis-result", "before", "--baseline", "copy").out
