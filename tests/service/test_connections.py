"""Connections that are held open, slow, broken or too many: the service goes on, and says so in few words."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import h11
import pytest

from axisjudge.service import server

from .load import TOKEN, Client, Service

FILES = 256

SERVER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
from axisjudge.service import server
server.HEAD_SECONDS = server.BODY_SECONDS = {seconds}
server._OTHER_FILES = {other}
sys.argv = ["axisjudge", *sys.argv[1:]]
from axisjudge.cli import main
main()
"""


class Hurried(Service):
    """A service whose deadlines are short and whose open files are few."""

    def __init__(self, folder, *, seconds, files=1024, other=320, wanted=512):
        program = SERVER.format(seconds=seconds, files=files, other=other)
        store = ["--store", str(folder / "s.sqlite"), "--port", "0", "--connections", str(wanted)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "scorecard", "serve", *store],
            env=os.environ | {"AXISJUDGE_SCORECARD_TOKENS": TOKEN},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline().rpartition(":")[2])


@pytest.fixture(scope="module")
def hurried(tmp_path_factory):
    service = Hurried(tmp_path_factory.mktemp("hurried"), seconds=0.6)
    yield service
    service.stop()


def opened(service, said=b""):
    link = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    if said:
        link.sendall(said)
    return link


def answer(link):
    text = b""
    while part := link.recv(65536):
        text += part
    head, _, body = text.partition(b"\r\n\r\n")
    return head, json.loads(body) if body else None


HEAD = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "said",
    [
        b"GET /healthz HTTP/1.1\r\nHost:",
        f"{HEAD}Content-Length: 100\r\n\r\n".encode() + b'{"run_id"',
        f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + b"5\r\n{",
    ],
)
def test_half_a_request_is_given_up_in_time(hurried, said):
    with opened(hurried, said) as link:
        began = time.monotonic()
        head, problem = answer(link)
        assert time.monotonic() - began < 5
        assert b"application/problem+json" in head
        assert (problem["status"], problem["code"]) == (408, "timeout")


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_byte_at_a_time_does_not_move_the_deadline(hurried, first):
    """Each byte comes in time; the request as a whole does not. Also after a request that was answered."""
    with opened(hurried, first) as link:
        began = time.monotonic()
        try:
            for byte in b"GET /healthz HTTP/1.1\r\nHost: " + b"x" * 1000:
                link.sendall(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass
        assert time.monotonic() - began < 5


def test_a_body_that_nobody_wants_has_a_deadline_too(hurried):
    """Refused for its token at the head; the body trickles on."""
    head = HEAD.replace(TOKEN, "wrong-key-wrong-key")
    with opened(hurried, f"{head}Content-Length: 100000\r\n\r\n".encode()) as link:
        assert b"401" in link.recv(65536)
        began = time.monotonic()
        while link.recv(65536):
            pass
        assert time.monotonic() - began < 5


def test_what_is_no_http_is_answered_in_the_one_form(hurried):
    with opened(hurried, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n") as link:
        head, problem = answer(link)
    assert b"400 Bad Request" in head
    assert problem["code"] == "malformed"


@pytest.mark.slow
def test_an_idle_client_may_come_back(hurried):
    with Client(hurried.port, TOKEN) as client:
        for _ in range(2):
            assert client.ask("GET", "/healthz")[0] == 200
            time.sleep(1.0)  # longer than a head may take; idle connections have a deadline of their own


@pytest.mark.slow
def test_beyond_the_limit_503_and_then_nothing_and_few_words(tmp_path):
    """More half-open connections than files: it goes on answering once they are given up, and its log stays short."""
    service = Hurried(tmp_path, seconds=2.0, files=FILES, other=60)
    with ExitStack() as stack:
        for _ in range(FILES + 60):
            link = stack.enter_context(socket.socket())
            link.settimeout(20)
            link.connect(("127.0.0.1", service.port))
        until, status = time.monotonic() + 20, None
        while status != 200 and time.monotonic() < until:
            try:
                with Client(service.port, TOKEN) as client:
                    status, found = client.ask("GET", "/healthz")
                    assert status == 200 or found["code"] == "unavailable"
            except OSError:
                time.sleep(0.1)
        assert status == 200
    assert len(service.stop()) < 5000


@pytest.mark.slow
def test_who_keeps_the_service_waiting_makes_room(tmp_path):
    """Half heads first come first go; a client that was answered and asks no more goes too; work in hand does not."""
    service = Hurried(tmp_path, seconds=5.0, wanted=4)
    with ExitStack() as stack:
        halves = [stack.enter_context(opened(service, b"GET")) for _ in range(4)]
        time.sleep(0.2)
        clients = [stack.enter_context(Client(service.port, TOKEN)) for _ in range(6)]
        assert [client.ask("GET", "/healthz")[0] for client in clients] == [200] * 6
        for half in halves:
            head, found = answer(half)
            assert b" 503 " in head
            assert found["code"] == "unavailable"
    assert len(service.stop()) < 5000


def test_the_limit_fits_the_open_files():
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert server.affordable_connections(16) == 16
    if hard != resource.RLIM_INFINITY:
        assert server.affordable_connections(hard) < hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_h11_still_speaks_of_states_as_we_read_them():
    link = h11.Connection(h11.SERVER)
    link.receive_data(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n")
    assert link.their_state is h11.IDLE
    link.next_event()
    assert link.their_state is h11.SEND_BODY
