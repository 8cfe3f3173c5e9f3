"""A PostgreSQL of our own: a cluster in a temporary folder, on a free port of loopback, as a user that is not root."""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

INSTALL = "PostgreSQL is not on this machine: apt-get install -y postgresql"


def binaries() -> Path:
    """The folder of initdb and postgres, or a skipped test."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = str(places[-1]) if places else shutil.which("initdb")
    if not found:
        pytest.skip(INSTALL)
    return Path(found).resolve().parent


def as_somebody() -> list[str]:
    """What to put before a command so that it does not run as root, which PostgreSQL refuses."""
    if os.getuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


@dataclass
class Postgres:
    """A running server; each test takes a database of its own."""

    folder: Path
    port: int
    command: list[str]
    server: subprocess.Popen[bytes] = field(init=False)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @classmethod
    def start(cls) -> "Postgres":
        tools, somebody = binaries(), as_somebody()
        folder = Path(tempfile.mkdtemp(prefix="axisjudge-postgres-"))
        if somebody:
            uid, gid = (int(part.partition("=")[2]) for part in somebody[1:3])
            os.chown(folder, uid, gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        data = folder / "data"
        make = [*somebody, str(tools / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8"]
        quiet = {"stdout": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*make, "--locale=C.UTF-8", "--no-sync", "--no-instructions"], check=True, **quiet)
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "max_connections": 200}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        found = cls(folder, port, [*somebody, str(tools / "postgres"), "-D", str(data), "-p", str(port), *settings])
        found._run()
        return found

    def _run(self) -> None:
        with (self.folder / "log").open("wb") as log:
            self.server = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder)
        self._wait()

    def crash(self) -> None:
        """Stop at once, without a checkpoint, and come back by recovery from the log."""
        self.server.send_signal(signal.SIGQUIT)
        self.server.wait(60)
        self._run()

    def new_database(self) -> str:
        import psycopg

        name = f"scores_{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        self.server.send_signal(signal.SIGQUIT)  # at once: a cluster that is thrown away needs no checkpoint
        self.server.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self, seconds: float = 30) -> None:
        import psycopg

        until = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self.server.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.05)
