"""The service: store, sender of events, door and API in one process."""

from __future__ import annotations

import signal
import socket
import sys
from dataclasses import dataclass

from axisjudge.checks import InputError
from axisjudge.service.access import Door
from axisjudge.service.events import EventSender, Sink
from axisjudge.service.store import ScoreStore


@dataclass(frozen=True)
class Listening:
    """Where and how to listen.

    `connections` is how many there may be at once; with `behind_proxy` the addresses that a trusted proxy forwards
    (FORWARDED_ALLOW_IPS, by default 127.0.0.1) are taken for the callers'. `access_log` is a file, ``-`` or ``off``.
    """

    host: str
    port: int
    connections: int = 512
    behind_proxy: bool = False
    access_log: str = "off"


def serve(store: ScoreStore, sink: Sink, door: Door, listening: Listening) -> None:
    """Serve until SIGTERM or Ctrl-C; port 0 takes a free one. Says where it listens once it does."""
    import uvicorn

    from axisjudge.service.api import create_app
    from axisjudge.service.connections import BACKLOG, LimitedProtocol, affordable_connections
    from axisjudge.service.telemetry import set_up_logs

    listener = _listener(listening.host, listening.port)
    set_up_logs(listening.access_log)
    sys.setswitchinterval(0.001)  # the loop that answers is not to wait 5 ms for the thread that scores
    # uvicorn raises the signal that ended it once more; the events that wait are to be sent before the process ends.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with EventSender(store, sink) as sender:
        app = create_app(store, door, scored=sender.wake)
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            limit_concurrency=affordable_connections(listening.connections),
            backlog=BACKLOG,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=20,
            proxy_headers=listening.behind_proxy,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
        )
        address, bound, *_ = listener.getsockname()
        host = f"[{address}]" if ":" in address else address
        print(f"scorecard: listening on http://{host}:{bound}", flush=True)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            app.state.writer.close()


def _listener(host: str, port: int) -> socket.socket:
    """A listening socket that knows it is TCP: only then does asyncio send answers at once (TCP_NODELAY).

    Otherwise the second packet of an answer waits for the client's delayed acknowledgement, 40 ms.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
        return listener
    except (OSError, OverflowError) as error:
        raise InputError("--host, --port", f"cannot be listened on ({error})", f"{host}:{port}") from None
