"""The service behind a proxy that ends TLS: nginx as the deployment page sets it up, and a small one of Python."""

import http.client
import http.server
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from .load import TOKEN, Client, Service

pytestmark = pytest.mark.slow
#: The address that the Python proxy says it was asked from.
_CALLER = "203.0.113.7"


class OverTls(Client):
    """One connection over TLS that is kept open."""

    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        super().__init__(port, TOKEN)
        self.connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=trusted)


class Proxy(http.server.BaseHTTPRequestHandler):
    """Ends TLS, and hands each request on over a connection that is kept open, with the headers of the page's nginx."""

    protocol_version = "HTTP/1.1"
    behind: int

    def setup(self) -> None:
        super().setup()
        self.service = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=60)

    def finish(self) -> None:
        self.service.close()
        super().finish()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = {name: self.headers[name] for name in ("Authorization", "Content-Type", "Host") if name in self.headers}
        said = {"X-Forwarded-For": _CALLER, "X-Forwarded-Proto": "https", "X-Request-ID": "from-the-proxy"}
        self.service.request(self.command, self.path, body or None, kept | said)
        answer = self.service.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("date", "server"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _pass_on

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, and its key, made anew."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine: apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "localhost.pem", folder / "localhost.key"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate), *names], check=True, capture_output=True)
    return certificate, key


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("behind")
    service = Service(str(folder / "s.sqlite"), folder / "events.jsonl", "--behind-proxy")
    service.log = folder / "s.access.jsonl"
    yield service
    assert service.stop() == ""


@contextmanager
def python_proxy(behind, certificate, folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    handler = type("Handler", (Proxy,), {"behind": behind})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@contextmanager
def nginx(behind, certificate, folder):
    """The server of the deployment page in an nginx of our own; only names, ports and paths are others."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("nginx is not on this machine: apt-get install nginx-light")
    page = [sys.executable, "-m", "axisjudge", "scorecard", "deploy"]
    text = subprocess.run(page, capture_output=True, text=True, check=True).stdout
    (server,) = re.findall(r"(?ms)^    server \{\n.*?^    \}\n", text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "scores.example.org": "localhost",
        "/etc/ssl/scores/fullchain.pem": str(certificate[0]),
        "/etc/ssl/scores/privkey.pem": str(certificate[1]),
        "127.0.0.1:8765": f"127.0.0.1:{behind}",
    }
    for known, own in changes.items():
        assert known in server
        server = server.replace(known, own)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own_folders = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    settings = folder / "nginx.conf"
    settings.write_text(
        f"daemon off; user root; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {own_folders}\n{server}}}"
    )
    process = subprocess.Popen([program, "-c", str(settings), "-e", f"{folder}/error.log"])
    try:
        wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def wait_for(port, process):
    until = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until or process.poll() is not None:
                raise
            time.sleep(0.05)


@pytest.fixture(params=[python_proxy, nginx])
def port(request, service, certificate, tmp_path):
    with request.param(service.port, certificate, tmp_path) as port:
        yield port


def test_a_client_that_trusts_its_certificate_is_served_over_tls(port, service, certificate):
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    with OverTls(port, trusted) as client:
        for number in range(12):
            run = {"run_id": f"{port}-{number}", "agent_id": "a", "workspace_id": f"w{port}", "outcome": "COMPLETED"}
            assert client.ask("POST", "/v1/runs", run)[0] == 201
        link = client.connection.sock
        seen, after = [], ""
        while after is not None:
            status, page = client.ask("GET", f"/v1/workspaces/w{port}/scores?limit=5{after and f'&cursor={after}'}")
            assert status == 200
            seen += [each["run_id"] for each in page["scores"]]
            after = page["next"]
        assert client.connection.sock is link  # one handshake, kept open
        assert sorted(seen) == sorted(f"{port}-{number}" for number in range(12))
        assert client.ask("GET", f"/v1/workspaces/w{port}/scores?limit=5&cursor=x")[0] == 422
        assert client.ask("POST", "/v1/runs", b"x" * (2 * 1024 * 1024))[0] == 413
        for path in ("/openapi.json", "/docs"):  # nothing leads round the proxy
            client.connection.close()
            client.connection.request("GET", path)
            answer = client.connection.getresponse()
            assert f":{service.port}".encode() not in answer.read()
            assert f":{service.port}" not in str(answer.headers)
    with pytest.raises(ssl.SSLCertVerificationError), OverTls(port, ssl.create_default_context()) as stranger:
        stranger.ask("GET", "/healthz")


def test_what_the_proxy_forwards_is_believed_and_what_a_caller_forges_is_not(port, service, certificate):
    with OverTls(port, ssl.create_default_context(cafile=str(certificate[0]))) as client:
        client.headers |= {"X-Forwarded-For": "198.51.100.1", "X-Forwarded-Proto": "gopher"}
        client.connection.request("GET", "/v1/runs/none/score", headers=client.headers)
        answer = client.connection.getresponse()
        assert answer.status == 404
        assert json.loads(answer.read())["code"]
        request_id = answer.headers["X-Request-ID"]
    logged = [json.loads(line) for line in service.log.read_text().splitlines()]
    (mine,) = [line for line in logged if line["request_id"] == request_id][-1:]
    assert mine["client"] in (_CALLER, "127.0.0.1")  # what the proxy saw, and not what its caller says


def test_nginx_answers_in_the_form_of_the_service_where_that_is_gone(certificate, tmp_path):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        with nginx(nobody.getsockname()[1], certificate, tmp_path) as port, OverTls(port, trusted) as client:
            status, said = client.ask("POST", "/v1/runs", {})
            assert (status, said["status"], said["code"]) == (502, 502, "proxy")
            assert client.ask("GET", "/metrics")[1]["code"] == "proxy"
