"""The labeller from a server of one's own: each label is a line on the server's disk before "Saved" is said.

For one machine, or for a lab behind a proxy with TLS: the server listens on loopback alone. Every person has a link
with a token that opens their sitting and nobody else's. A folder holds for each of them ``NAME.jsonl`` (labels) and
``NAME.sampling.json`` (what they were assigned), as the notebook's labeller writes and goes on with them.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from axisjudge.checks import InputError
from axisjudge.explorer.log import LabelLog, Sittings
from axisjudge.explorer.page import page_of
from axisjudge.explorer.session import Session
from axisjudge.explorer.widget import decisions_path, labels_path
from axisjudge.labels.sampling import Sampling, in_random_order, read_sampling, sampling_path, write_sampling
from axisjudge.sharing import shared
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES

#: Bytes of a request: a label with the longest note is far below.
_MOST = 1_000_000
_SECRET = ".secret"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def assigned(sampling: Sampling, people: Sequence[str], folder: Path, *, overlap: int | None = None) -> None:
    """Write down who labels what: `overlap` runs by all, the rest dealt out one by one; all by all if None.

    Whoever has a plan in the folder keeps it; a further person gets the overlap and what nobody has yet. Each label
    bears the probability of the draw as a whole, which the deal at random leaves alone.

    Raises
    ------
    InputError
        No person, two of one file name, a larger overlap than there are runs, or a plan of another draw.
    """
    if not people:
        raise InputError("--rater", "is needed: each person has a link of their own", cure="--rater ann --rater ben")
    files = {name: sampling_path(labels_path(name, folder)) for name in people}
    if len({str(path).casefold() for path in files.values()}) < len(people):
        raise InputError("--rater", "gives two people one file", ", ".join(people), "take names that differ in letters")
    runs = sampling.trajectory_ids
    if overlap is not None and overlap > len(runs):
        raise InputError("--overlap", f"is at most the {len(runs)} runs of the draw", overlap)
    by_all, rest = set(runs if overlap is None else runs[:overlap]), () if overlap is None else runs[overlap:]
    taken = {item.trajectory_id for path in folder.glob("*.sampling.json") for item in read_sampling(path).items}
    new = [name for name in people if not files[name].exists()]
    dealt = {run: new[at % len(new)] for at, run in enumerate(run for run in rest if run not in taken)} if new else {}
    for name in people:
        own = by_all | {run for run, whose in dealt.items() if whose == name}
        if files[name].exists():
            own = set(read_sampling(files[name]).trajectory_ids)
        order = {run: at for at, run in enumerate(in_random_order(own, sampling.seed or 0, f"order of {name}"))}
        items = sorted(
            (item for item in sampling.items if item.trajectory_id in own), key=lambda i: order[i.trajectory_id]
        )
        write_sampling(files[name], replace(sampling, items=tuple(items)))


class LabelServer(ThreadingHTTPServer):
    """Serves the page, and each person's sitting to whoever bears that person's token; on loopback alone.

    Keys and tokens are taken out of the runs, unless `redact` is False.
    """

    daemon_threads = True
    #: What a browser was answered to each question, so that one asked again is never written again.
    _answers: dict[str, dict[str, Any]]

    def __init__(
        self, runs: Iterable[Trajectory], people: Sequence[str], folder: Path, port: int = 0, *, redact: bool = True
    ) -> None:
        runs, self.redact = tuple(runs), redact

        def named(name: str) -> tuple[Session, LabelLog]:
            path = labels_path(name, folder)
            return Session.of(runs, read_sampling(sampling_path(path)), name), LabelLog(path)

        self.sittings, self._answers, self._one = Sittings(named), {}, Lock()
        self.tokens = {token_of(name, folder): name for name in people}
        self.page = page_of("labeller", "Labelling", "served.js", "", doing="Labelling", connects=True).encode()
        try:
            super().__init__(("127.0.0.1", port), _Answering)
        except (OSError, OverflowError) as error:
            raise InputError("--port", f"cannot be listened on ({error})", port) from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away without its answer asks again, and is no fault to show."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def links(self) -> dict[str, str]:
        """Each person's link; the token stands behind the #, which no browser sends and no log keeps."""
        return {name: f"http://127.0.0.1:{self.server_port}/#{token}" for token, name in self.tokens.items()}

    def answer(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the labeller of this person asks; a question that was answered already is not carried out again."""
        re, content = f"{name}/{asked['re']}", asked["content"]
        with self._one:
            if re not in self._answers:
                sent = name if asked["kind"] == "name" else {"rater": name, "content": content["content"]}
                answer = {"content": self.sittings.answer(asked["kind"], sent)}
                if self.redact and asked["kind"] == "item":
                    answer = shared(answer)
                if asked["kind"] != "save":
                    return answer
                self._answers[re] = answer
            return self._answers[re]


def token_of(name: str, folder: Path) -> str:
    """A person's token: the same at every start, from a secret that only this folder's owner can read."""
    path = folder / _SECRET
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(secrets.token_hex(32))
    return hmac.new(path.read_bytes(), name.encode(), sha256).hexdigest()[:40]


class _Answering(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        if self.path != "/":
            return self._send(HTTPStatus.NOT_FOUND, b"", "text/plain")
        return self._send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        self.close_connection = True  # until the whole request is read
        _, _, token = self.headers.get("Authorization", "").partition("Bearer ")
        length = self.headers.get("Content-Length", "")
        if self.path != "/api" or not length.isdecimal() or int(length) > _MOST:
            return self._send(HTTPStatus.BAD_REQUEST, b"", "text/plain")
        body = self.rfile.read(int(length))
        self.close_connection = False
        re, name = None, self.server.tokens.get(token)
        try:
            re = (asked := json.loads(body))["re"]
            if name is None:
                status, answer = HTTPStatus.FORBIDDEN, {"error": "this link opens nobody's labels; ask for your own"}
            else:
                status, answer = HTTPStatus.OK, self.server.answer(name, asked)
        except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
            status, answer = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except OSError as error:  # a full disk: asked again later
            status, answer = HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        # the question's own number comes back, so that nobody between is taken for this server
        return self._send(status, json.dumps({"re": re, **answer}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: who labels when is nobody's business but theirs."""


def progress(folder: Path) -> list[dict[str, Any]]:
    """Of each person in a folder of labels: what they were assigned, how far they are, and to what they are not blind.

    Nobody is shown a judge's verdict, how an item was drawn, or a word of another person while labelling. Whoever
    decided in the explorer saw the judges: `saw_judges` counts assigned runs of which that is so.
    """
    plans = {path: read_sampling(path) for path in sorted(folder.glob("*.sampling.json"))}
    rows = []
    for path, plan in plans.items():
        name = path.name.removesuffix(".sampling.json")
        others = [set(other.trajectory_ids) for each, other in plans.items() if each != path]
        by_others = {run for run in plan.trajectory_ids if any(run in other for other in others)}
        lines = {(line.trajectory_id, line.question): line for line in LabelLog(folder / f"{name}.jsonl").lines()}
        given = [line for line in lines.values() if line.verdict is not None]
        wanted = Counter[str]()
        for item in plan.items:
            wanted[item.trajectory_id] += len(AXES) if item.question is None else 1
        done = {run for run, n in Counter(line.trajectory_id for line in given).items() if n >= wanted[run] > 0}
        seen = {line.trajectory_id for line in LabelLog(decisions_path(name, folder)).lines()} & set(wanted)
        rows.append(
            {
                "person": next((line.rater for line in given), name),
                "assigned": len(wanted),
                "done": len(done),
                "labels": len(given),
                "shared": len(by_others),
                "shared_done": len(by_others & done),
                "saw_judges": len(seen),
                "last": max((line.created_at or "" for line in lines.values()), default=None),
            }
        )
    return rows
