"""The service in a process of its own on loopback: pressed by clients, killed in mid-write, started again."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from axisjudge.checks import InputError
from axisjudge.scores.run_score.runs import Run, runs_frame
from axisjudge.scores.run_score.score import score_runs, scorecards
from axisjudge.service import database
from axisjudge.service.server import _listener
from axisjudge.service.store import ScoreStore, card_of

from .load import TOKEN, Service, made_run, press, runs_in

GOOD = {"run_id": "run-x", "agent_id": "agent-a", "workspace_id": "space-1", "outcome": "COMPLETED"}


def scores_that_hold(store):
    with store.database.reading() as connection:
        rows = [dict(row._mapping) for row in connection.execute(database.agent_run_scores.select())]
    assert len({row["run_id"] for row in rows}) == len(rows)
    return {row["run_id"]: card_of(row) for row in rows}


def check_all_is_right(url, acknowledged, events):
    """Nothing acknowledged is lost, no score is doubled or wrong, and every score's event has arrived."""
    store = ScoreStore(url)
    try:
        held = scores_that_hold(store)
        assert set(acknowledged) <= set(held)
        kept = runs_in(store)
        assert set(kept["run_id"]) == set(held)
        assert held == {card.run_id: card for card in scorecards(score_runs(kept))}
        wanted = runs_frame(Run.model_validate(run) for run in acknowledged.values())
        assert kept.join(wanted, on=kept.columns, how="semi", nulls_equal=True).height == len(acknowledged)
        with store.database.reading() as connection:
            holding = {row.score_id for row in connection.execute(database.agent_run_scores.select())}
            all_scores = holding | {row.score_id for row in connection.execute(database.superseded_scores.select())}
        assert store.waiting() == []
        sent = [event["score_id"] for line in events.read_text().splitlines() if (event := _event(line))]
        assert holding <= set(sent) <= all_scores  # of a run that was scored anew in between the last score goes out
    finally:
        store.close()


def _event(line):
    try:
        return json.loads(line)
    except ValueError:
        return None  # torn by a kill; the event itself comes again


def pressed_and_killed(url, folder, *, clients, seconds, kills=1):
    """Press, kill in mid-write and start again, `kills` times; the figures of the undisturbed part."""
    events = folder / "events.jsonl"
    service = Service(url, events)
    calm = press(service, clients=clients, seconds=seconds)
    assert (calm.unexpected, calm.broken) == ([], 0)
    acknowledged = dict(calm.acknowledged)
    for kill in range(1, kills + 1):
        wild = press(service, clients=clients, seconds=60, first=kill * 10**6, kill_after=min(seconds, 3.0) / 2)
        assert (wild.unexpected, wild.broken) == ([], clients)
        acknowledged |= wild.acknowledged
        service = Service(url, events)
    more = press(service, clients=2, seconds=0.3, first=(kills + 1) * 10**6)
    assert (more.unexpected, more.broken, service.stop()) == ([], 0, "")
    check_all_is_right(url, acknowledged | more.acknowledged, events)
    return calm


@pytest.mark.parametrize("store_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_pressed_killed_and_started_again(store_url, tmp_path):
    calm = pressed_and_killed(store_url, tmp_path, clients=6, seconds=1.0)
    assert calm.acknowledged


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_hundred_clients_for_half_a_minute_and_ten_kills(store_url, tmp_path, capsys):
    calm = pressed_and_killed(store_url, tmp_path, clients=200, seconds=30.0, kills=10)
    reads, writes = sorted(calm.reads), sorted(calm.writes)
    with capsys.disabled():
        print(
            f"\n{store_url.partition(':')[0]}: {len(writes) / 30:.0f} writes/s and {len(reads) / 30:.0f} reads/s, "
            f"p50 {writes[len(writes) // 2]:.3f} and {reads[len(reads) // 2]:.3f} s, "
            f"p99 {writes[int(len(writes) * 0.99)]:.3f} and {reads[int(len(reads) * 0.99)]:.3f} s"
        )


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    service = Service(str(folder / "scores.sqlite"), folder / "down" / "events.jsonl")  # the sink's folder is not there
    service.events = folder / "down"
    yield service
    service.stop()


class TestApi:
    def test_the_worked_example_as_in_the_text(self, service):
        """17 of 20 stages at once, 120 s against 100 s, a tenth of the memory: 100, 85, 72, 93, so 89 and Gold."""
        gates = [{"name": f"g{k}", "attempts": 1 if k < 17 else 2, "passed": True} for k in range(20)]
        use = {"memory_peak_bytes": 10, "memory_limit_bytes": 100, "cpu_throttled_ms": 0, "cpu_wall_ms": 1000}
        with service.client() as client:
            for k in range(5):
                old = GOOD | {"run_id": f"old-{k}", "wall_seconds": 100, "ended_at": f"2026-11-01T12:0{k}:00Z"}
                assert client.ask("POST", "/v1/runs", old)[0] == 201
            this = GOOD | use | {"wall_seconds": 120, "ended_at": "2026-11-01T13:00:00Z", "stages": gates}
            wanted = {
                "run_id": "run-x",
                "score": 89,
                "tier": "Gold",
                "formula_version": "2",
                "axes": {"completion": 100, "error_rate": 85, "latency": 72, "resource_efficiency": 93},
            }
            ranged = wanted | {"low": 89, "high": 89, "reasons": {}}
            assert client.ask("POST", "/v1/runs", this) == (201, ranged)
            assert client.ask("POST", "/v1/runs", this) == (200, ranged)
            assert client.ask("GET", "/v1/runs/run-x/score") == (200, ranged)
            status, answer = client.ask("POST", "/v1/runs", this | {"wall_seconds": 121})
            assert (status, answer["code"]) == (409, "conflict")
            _, full = client.ask("GET", "/v1/runs/run-x")
            assert (full["baseline_seconds"], full["weights"]["completion"], full["superseded"]) == (100, 0.4, [])

    @pytest.mark.parametrize("token", [None, "", "wrong-key-wrong-key", TOKEN[:-1], TOKEN + "x", "é"])
    def test_no_token_or_a_wrong_one_is_401_before_anything_is_read(self, service, token):
        with service.client(token) as client:
            for method, path, body in (
                ("GET", "/v1/runs/run-x/score", None),
                ("GET", "/v1/runs/no such/score".replace(" ", "%20"), None),
                ("POST", "/v1/runs", b"{"),
            ):
                status, answer = client.ask(method, path, body)
                assert (status, answer["code"]) == (401, "unauthorized")
            assert client.ask("GET", "/healthz") == (200, {"status": "ok"})

    def test_another_scheme_is_401(self, service):
        with service.client(None) as client:
            assert client.ask("GET", "/v1/runs/run-x/score", Authorization=f"Basic {TOKEN}")[0] == 401

    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "code"),
        [
            ("GET", "/v1/runs/unknown/score", None, 404, "not_found"),
            ("GET", "/v1/runs/a%20b/score", None, 422, "unprocessable"),
            ("GET", f"/v1/runs/{'a' * 65}/score", None, 422, "unprocessable"),
            ("GET", "/v1/runs/a%0A/score", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?cursor=W10", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?cursor=WzEsMl0=", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?cursor=W3RydWUsIngiXQ==", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?cursor=%C3%A9", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?tier=Best", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?teir=Gold", None, 422, "unprocessable"),
            ("GET", "/v1/workspaces/w/scores?=null", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?since=2026-11-01T00:00:00", None, 422, "unprocessable"),
            ("GET", "/v1/agents/a/scores?limit=0", None, 422, "unprocessable"),
            ("DELETE", "/v1/runs/run-x", None, 405, "method_not_allowed"),
            ("GET", "/v1/nothing", None, 404, "not_found"),
            ("POST", "/v1/runs", b"{", 422, "unprocessable"),
            ("POST", "/v1/runs", b"\xff\xfe", 422, "unprocessable"),
            ("POST", "/v1/runs", GOOD | {"run_id": "a b"}, 422, "unprocessable"),
            ("POST", "/v1/runs", GOOD | {"wall_time": 3}, 422, "unprocessable"),
            ("POST", "/v1/runs", GOOD | {"outcome": "\ud800"}, 422, "unprocessable"),
            (
                "POST",
                "/v1/runs",
                b'{"run_id": "d", "agent_id": "a", "agent_id": "b", "workspace_id": "w"}',
                422,
                "unprocessable",
            ),
            ("POST", "/v1/runs/bulk", {"runs": []}, 422, "unprocessable"),
            ("POST", "/v1/runs/bulk", b"x" * 9_000_000, 413, "too_large"),
            ("POST", "/v1/runs", b"x" * 1_100_000, 413, "too_large"),
        ],
    )
    def test_errors_have_one_form(self, service, method, path, body, status, code):
        with service.client() as client:
            found, answer = client.ask(method, path, body)
        assert (found, answer["code"]) == (status, code)
        assert set(answer) == {"type", "title", "status", "code", "detail", "errors"}
        assert answer["status"] == status

    @pytest.mark.parametrize(
        "path",
        [
            *("/healthz", "/readyz", "/metrics", "/docs", "/openapi.json", "/v1/runs/run-x", "/v1/runs/run-x/score"),
            *("/v1/agents/a/scores", "/v1/workspaces/w/scores", "/v1/workspaces/w/specs/s/ranking"),
        ],
    )
    def test_no_page_passes_a_parameter_over(self, service, path):
        """A misspelt filter that is passed over answers another question; so does the last of two."""
        with service.client() as client:
            for asked in ("teir=Gold", "=", "run_id=run-x", "limit=1&limit=2", "limit=+1", "limit=1.0"):
                status, answer = client.ask("GET", f"{path}?{asked}")
                assert (asked, status) == (asked, 422)
                assert answer["errors"][0]["where"].startswith("query.")
            assert client.ask("POST", "/v1/runs?dry_run=1", GOOD | {"run_id": "asked-oddly"})[0] == 422
            assert client.ask("GET", "/v1/runs/asked-oddly")[0] == 404

    def test_a_ranking_of_a_time_and_a_tier(self, service):
        """Of three runs of a spec, the two that ended by the second; the ranks are theirs."""
        with service.client() as client:
            for number, outcome in enumerate(("COMPLETED", "BLOCKED", "COMPLETED")):
                run = GOOD | {"run_id": f"rank-{number}", "spec_id": "s", "workspace_id": "ranked", "outcome": outcome}
                assert client.ask("POST", "/v1/runs", run | {"ended_at": f"2026-11-02T00:00:0{number}Z"})[0] == 201

            def ranked(filters):
                status, answer = client.ask("GET", f"/v1/workspaces/ranked/specs/s/ranking?{filters}")
                return status == 200 and [(each["run_id"], each["rank"]) for each in answer["runs"]]

            assert ranked("until=2026-11-02T00:00:02Z") == [("rank-0", 1), ("rank-1", 2)]
            assert ranked("since=2026-11-02T00:00:01Z&tier=Gold") == [("rank-2", 1)] or ranked("") == []
            assert not ranked("since=2027-01-01T00:00:00Z")

    def test_a_body_without_a_length_is_held_to_the_limit_too(self, service):
        with service.client() as client:
            client.connection.request(
                "POST", "/v1/runs", iter([b"x" * 100_000] * 11), client.headers, encode_chunked=True
            )
            answer = client.connection.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (413, "too_large")

    @pytest.mark.parametrize("path", ["/healthz", "/docs", "/metrics", "/v1/agents/nobody/scores"])
    def test_head_is_answered_as_get_without_the_body(self, service, path):
        with service.client() as client:
            client.connection.request("HEAD", path, headers=client.headers)
            answer = client.connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
            assert int(answer.headers["Content-Length"]) > 0
            assert client.ask("GET", "/healthz") == (200, {"status": "ok"})

    @pytest.mark.parametrize(
        "other", [{"Content-Type": "text/plain"}, {"Content-Type": ""}, {"Content-Encoding": "gzip"}]
    )
    @pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/bulk"])
    def test_a_body_of_another_kind_is_refused_for_its_kind(self, service, path, other):
        with service.client() as client:
            headers = client.headers | {"Content-Type": "application/json"} | other
            client.connection.request("POST", path, json.dumps(GOOD | {"run_id": "of-another-kind"}), headers)
            answer = client.connection.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (415, "unsupported_media_type")
            assert client.ask("GET", "/v1/runs/of-another-kind")[0] == 404

    def test_the_score_of_a_run_is_what_was_answered_when_it_was_handed_in(self, service):
        """A measured 50 is told from a missing one, there as here."""
        with service.client() as client:
            _, answer = client.ask("POST", "/v1/runs", GOOD | {"run_id": "bare", "outcome": "NEVER_HEARD_OF"})
            assert (answer["score"], answer["low"], answer["high"]) == (50, 0, 100)
            assert answer["reasons"]["completion"].startswith("unknown outcome")
            assert client.ask("GET", "/v1/runs/bare/score") == (200, answer)

    def test_a_cursor_goes_on_in_its_own_list_alone(self, service):
        with service.client() as client:
            for number in range(4):
                client.ask("POST", "/v1/runs", GOOD | {"run_id": f"cut-{number}", "agent_id": "cut"})
            whole = "/v1/agents/cut/scores?limit=2"
            cursor = client.ask("GET", whole)[1]["next"]
            assert client.ask("GET", f"{whole}&cursor={cursor}")[0] == 200
            other = cursor[:-1] + ("0" if cursor[-1] != "0" else "1")
            lists = (f"{whole}&cursor={other}", f"{whole}&tier=Gold&cursor={cursor}")
            for page in (*lists, f"/v1/agents/agent-a/scores?cursor={cursor}"):
                status, answer = client.ask("GET", page)
                assert (status, answer["errors"][0]["where"]) == (422, "query.cursor")

    def test_lists_page_by_page(self, service):
        dice = random.Random(5)
        with service.client() as client:
            for number in range(7):
                client.ask(
                    "POST", "/v1/runs", made_run(50_000 + number, dice) | {"agent_id": "lister", "workspace_id": "l"}
                )
            for kind, name in (("agents", "lister"), ("workspaces", "l")):
                seen, cursor = [], ""
                while cursor is not None:
                    _, page = client.ask("GET", f"/v1/{kind}/{name}/scores?limit=3{cursor and '&cursor=' + cursor}")
                    seen += page["scores"]
                    cursor = page["next"]
                assert len({score["run_id"] for score in seen}) == 7
                assert [s["ended_at"] for s in seen] == sorted((s["ended_at"] for s in seen), reverse=True)

    @pytest.mark.slow
    def test_events_wait_while_the_sink_is_down_and_come_when_it_is_up(self, service):
        """The folder of the events file is missing; scoring goes on. Runs last in this class, and makes the folder."""
        with service.client() as client, ThreadPoolExecutor(1) as pool:
            status, _ = pool.submit(client.ask, "POST", "/v1/runs", GOOD | {"run_id": "while-down"}).result(timeout=5)
            assert status == 201
        assert not service.events.exists()
        time.sleep(1.5)  # events gather for half a second before they are sent
        service.events.mkdir()
        said = service.stop()  # a service that ends sends what waits
        assert "the sink is down (FileNotFoundError)" in said
        sent = [json.loads(line)["run_id"] for line in (service.events / "events.jsonl").read_text().splitlines()]
        assert "while-down" in sent


class TestDoor:
    def refused(self, *options, **environment):
        command = [sys.executable, "-m", "axisjudge", "scorecard", "serve", *options]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AXISJUDGE_SCORECARD")}
        done = subprocess.run(command, capture_output=True, text=True, env=clean | environment, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        return done.stderr

    @pytest.mark.slow
    def test_it_does_not_start_without_a_token_nor_open_to_the_world(self):
        assert "does not start without a token" in self.refused()
        assert "is for loopback only" in self.refused("--no-auth", "--host", "0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_listening_socket_knows_that_it_is_tcp(host):
    """asyncio turns TCP_NODELAY on only for such sockets; without it every answer takes 40 ms longer."""
    with _listener(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
    with pytest.raises(InputError, match="cannot be listened on"):
        _listener("no-such-host.invalid", 0)
