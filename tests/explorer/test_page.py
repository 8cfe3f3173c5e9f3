"""The page as text: whole in itself, closed to the world, blind."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from explorer.conftest import HOSTILE, SECRETS, packed
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.explorer import write_page
from axisjudge.explorer.front import script, text
from axisjudge.explorer.page import embedded, page_html
from axisjudge.explorer.session import Session
from axisjudge.labels.sampling import draw_at_random, draw_by, read_sampling, with_plan
from axisjudge.ratings import RatingsWriter
from axisjudge.readers import write_trajectories
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, Rating


def about_of(page):
    return json.loads(re.search(r'<script type="application/json" id="labelling">(.*?)</script>', page, re.DOTALL)[1])


def items_of(page):
    items, runs = (
        [each for group in re.findall(rf'id="({name}-\d+)"', page) for each in packed(page, group)]
        for name in ("items", "runs")
    )
    shown = [runs[place] for place in about_of(page)["places"]]
    return [
        {
            "run": {**run["run"], **packed(page, f"given-{run['given']}")},
            "bases": {axis: {**item["base"], **own} for axis, own in item["bases"].items()},
        }
        for item, run in zip(items, shown, strict=True)
    ]


def test_it_carries_everything_and_reaches_for_nothing(session):
    page = page_html(session)
    frame = re.sub(r'<script type="text/plain".*?</script>', "", page.replace(script("page.js"), ""), flags=re.DOTALL)
    frame = frame.replace(embedded(about_of(page)), "")
    assert not re.search(r"https?:|//|src=|href=|@import|url\(", frame)
    assert len(items_of(page)) == 3
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import)\s*\(", script("page.js"))


def test_each_run_stands_beside_what_is_asked_of_it(runs):
    """Runs are packed by task: five tasks in an order that sorting does not undo by chance, and a run without any."""
    many = [
        runs[0].model_copy(update={"id": f"x-{task}", "task_id": task, "agent": task, "steps": runs[0].steps[:n]})
        for n, task in enumerate([*"cebad", None], 2)
    ]
    for seed in range(4):
        session = Session.of(many, draw_at_random(many, seed=seed), "Ann")
        for run, item in zip(session.trajectories, items_of(page_html(session)), strict=True):
            assert {each["trajectory_id"] for each in item["bases"].values()} == {run.id}
            assert len(item["run"]["steps"]) == len(run.steps)


def test_the_policy_names_the_hashes_of_what_is_there(session):
    page = page_html(session)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    program = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for kind, held in (("script", program), ("style", style)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(held.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_text_cannot_leave_its_element(session):
    page = page_html(session)
    assert page.count("</script>") == page.count("<script") == 2 + len(re.findall(r'id="(?:items|runs|given)-', page))
    assert "<img" not in page
    assert items_of(page)[0]["run"]["policy"] == f"Cancel nothing. {HOSTILE}"
    nasty = {"a": "</script><!--<script>\u2028\r\n\0", "b": ["<" * 3]}
    assert "<" not in embedded(nasty)
    assert json.loads(embedded(nasty)) == nasty


@pytest.mark.parametrize("name", ["dom.js", "steps.js", "panel.js", "labeller.js", "widget.js", "page.js"])
def test_text_is_only_ever_set_as_text(name):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", text(name))
    assert "</script" not in text(name)
    assert "\r" not in text(name)


def test_the_same_session_gives_the_same_page(session, runs):
    assert page_html(session) == page_html(Session.of(runs[::-1], session.sampling, session.rater))


def test_a_random_draw_is_told_and_another_is_named_by_its_plan(session, runs, tmp_path):
    bases = items_of(page_html(session))[0]["bases"]
    assert set(bases) == set(AXES)
    assert bases["sequencing"]["flags"] == ["drawn:random", "drawn_probability:1.0", "drawn_from:3"]

    strata = {each.id: "incorrect" if number else "correct" for number, each in enumerate(runs)}
    sampling = draw_by(runs, strata, 3, key=SECRETS["judge"], method="by_judge_verdict", seed=1)
    page = page_html(Session.of(runs, sampling, "rater one"))
    for secret in (*map(str, SECRETS.values()), "by_judge", "stratum", "drawn_probability"):
        assert secret not in json.dumps([about_of(page), items_of(page)])
        assert secret not in re.sub(r'<script type="text/plain".*?</script>', "", page.replace(script("page.js"), ""))
    base = items_of(page)[0]["bases"]["sequencing"]
    (label,) = with_plan([Rating(**base, verdict="correct")], sampling)
    assert label.flags == sampling.flags_for(sampling.items[0])


def test_where_it_cannot_be_written_it_says_so(session, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "file" / "page.html", session)


def test_the_command_writes_page_and_plan(runs, tmp_path):
    source, out = tmp_path / "runs.jsonl", tmp_path / "out" / "page.html"
    write_trajectories(source, runs)
    done = CliRunner().invoke(app, ["label", "page", str(source), "--out", str(out), "--sample", "2", "--seed", "3"])
    assert done.exit_code == 0, done.output
    assert "2 trajectories, drawn random" in done.output
    assert read_sampling(tmp_path / "out" / "page.sampling.json").seed == 3
    assert about_of(out.read_text())["about"]["rater"] is None
    assert "messages" not in done.output
    page = out.read_bytes()
    again = CliRunner().invoke(app, ["label", "page", str(source), "--out", str(out), "--sample", "2", "--seed", "4"])
    assert "another draw" in str(again.exception)
    assert out.read_bytes() == page
    assert read_sampling(tmp_path / "out" / "page.sampling.json").seed == 3


def test_runs_that_nobody_can_label_are_left_out_and_said(runs, tmp_path):
    write_trajectories(tmp_path / "runs.jsonl", [*runs, Trajectory(id="empty", source="test", steps=())])
    how = ["label", "page", str(tmp_path / "runs.jsonl"), "--out", str(tmp_path / "page.html")]
    done = CliRunner().invoke(app, how)
    assert f"{len(runs)} trajectories, drawn random of those with messages, which 1 of 4 have not" in done.output


def test_the_command_draws_by_a_judge_and_says_it_as_json(runs, tmp_path):
    source, judged = tmp_path / "runs.jsonl", tmp_path / "judged.jsonl"
    write_trajectories(source, runs)
    said = {"question": "sequencing", "rater": "rules", "rater_kind": "rules", "family": "rules"}
    with RatingsWriter(judged) as writer:
        writer.append(Rating(trajectory_id=r.id, cluster_id=r.cluster_id, verdict="correct", **said) for r in runs)
    how = ["--drawn", "by_judge_verdict", "--ratings", str(judged), "--of", "rules", "--sample", "2", "--json"]
    done = CliRunner().invoke(app, ["label", "page", str(source), "--out", str(tmp_path / "p.html"), *how])
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert (result["method"], result["key"], result["trajectories"]) == ("by_judge_verdict", "rules: any axis", 2)
