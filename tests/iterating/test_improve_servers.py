"""The search with a judge and a proposer behind both SDKs, on a server on the loopback: asked, paid, resumed."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from iterating.improve_worlds import AXIS, planted, runs_of

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.iterating import BudgetReachedError
from axisjudge.judges.simulated import HELPFUL
from axisjudge.ratings import read_every_line

WRITER, STRICT = "writer", "claude-sonnet-4-6"


class Served(BaseHTTPRequestHandler):
    """Chat completions of a proposer and Messages of a judge that is right where the rubric holds one sentence."""

    calls: Counter
    bodies: list
    context = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        listed = {"object": "list", "data": [{"id": WRITER, "meta": {"n_ctx": self.context}}]}
        self.reply(200 if self.context else 404, listed if self.context else {"error": {"message": "no such thing"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.calls[body["model"]] += 1
        self.bodies.append(body)
        if self.path.endswith("/messages"):
            text = json.dumps(body["messages"])
            word = "correct" if HELPFUL[0] in text or "-1 for me" not in text else "incorrect"
            said = {"rationale": "so", "cited_step_indices": [1], "verdict": word, "confidence": 0.7}
            tool = body["tools"][0]["name"]
            content = [{"type": "tool_use", "id": "t", "name": tool, "input": said}]
            usage = {"input_tokens": 3_000, "output_tokens": 10}
            reply = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": content}
            self.reply(200, {**reply, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage})
            return
        said = {"reason": "grounds are missed", "edits": [{"old": "", "new": HELPFUL[0]}]}
        if "rubric" in json.dumps(body.get("response_format", {})).partition("properties")[2][:200]:
            said = {"reason": "the same", "rubric": "too short"}
        message = {"role": "assistant", "content": json.dumps(said)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3_000, "completion_tokens": 10, "total_tokens": 3_010}
        base = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
        self.reply(200, {**base, "choices": [choice], "usage": usage})

    def reply(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    handler = type("Here", (Served,), {"calls": Counter(), "bodies": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.mark.slow
def test_both_sdks_are_asked_once_within_the_budget_and_shown_no_confirm_task(tmp_path, served):
    url, handler = served
    runs = runs_of(9, 2)
    labels = planted(runs, tmp_path / "truth.jsonl", faults=0.0)
    given = {
        "judges": [f"anthropic:{STRICT}@{url},price=100/100"],
        "proposer": f"openai-compatible:{WRITER}@{url}/v1,family=writer,price=100/100",
        "labels": labels,
        "trajectories": runs,
        "rounds": 2,
        "repeats": 1,
        "progress": False,
    }
    with workbench.at(protocol.rehearsal(tmp_path / "bench")) as bench:
        forecast = axisjudge.improve(AXIS, dry_run=True, **given)
        assert "about $" in forecast
        assert not handler.calls
        with pytest.raises(BudgetReachedError, match="higher --budget"):
            axisjudge.improve(AXIS, budget_usd=3.0, **given)
        before = sum(handler.calls.values())
        assert 0 < before <= 10
        found = axisjudge.improve(AXIS, budget_usd=1_000.0, confirm=True, **given)
        rows = read_every_line(bench / "data" / "ratings" / "improve" / f"{AXIS}.jsonl")
        asked = sum(handler.calls.values())
        assert asked == rows.height
        assert found.spent_usd == pytest.approx(rows["cost_usd"].sum())
        assert axisjudge.improve(AXIS, budget_usd=1_000.0, confirm=True, **given).to_dict() == found.to_dict()
        assert sum(handler.calls.values()) == asked
    edits = [json.dumps(body) for body in handler.bodies if body["model"] == WRITER]
    assert edits
    confirm = {run.id for run in runs} - {
        row["trajectory_id"] for row in rows.to_dicts() if row["rubric_version"] == "v4" and row["repeat"] == 0
    }
    searched = [body for body in edits if "RUN TEXT" in body]
    assert all(f"Q{int(name[1:4]):03d}" not in body for name in confirm for body in searched)
    assert all("you do not act on it" in body for body in edits)


@pytest.mark.parametrize(("told", "options"), [(4_096, ""), (None, ",context=4096"), (8_192, ",max_tokens=6000")])
def test_a_proposer_without_room_is_told_before_the_first_call(tmp_path, served, told, options):
    url, handler = served
    handler.context = told
    runs = runs_of(6, 1)
    labels = planted(runs, tmp_path / "truth.jsonl")
    given = {"judges": [f"simulated:magpie,truth={labels}"], "labels": labels, "trajectories": runs, "progress": False}
    writer = f"openai-compatible:{WRITER}@{url}/v1,family=writer,price=0/0{options}"
    with (
        workbench.at(protocol.rehearsal(tmp_path / "bench")) as bench,
        pytest.raises(InputError, match=r"lacks about [\d,]+ tokens for the rubric, one case and its answer"),
    ):
        axisjudge.improve(AXIS, proposer=writer, **given)
    assert not handler.calls
    assert not (bench / "data" / "ratings" / "improve").exists()
