"""`axisjudge scorecard serve | token | deploy`: the service, who may use it, and how to run it for good."""

import os
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError, positive
from axisjudge.cli import show
from axisjudge.cli.runs.scorecard import STORE, Rules, Store, app, open_store, read_rules

if TYPE_CHECKING:
    from axisjudge.service.tokens import TokenBook

__all__ = ["app"]

tokens_app = show.group("Who may use the service: tokens of a workspace, to read or to write.")
app.add_typer(tokens_app, name="token")


@app.command(epilog="Example: axisjudge scorecard serve --store scorecard.sqlite")
def serve(
    store: Store = STORE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8765,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy with TLS stands before it; needed for other than loopback.")
    ] = False,
    token_file: Annotated[
        Path | None, typer.Option(help="SHA-256 of operators' tokens in hex; beside AXISJUDGE_SCORECARD_TOKENS.")
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Without tokens; on loopback only.")] = False,
    rate: Annotated[float, typer.Option(help="Requests a second of a token that has no rate of its own.")] = 2000,
    connections: Annotated[int, typer.Option(min=1, help="Connections at once; fewer where open files are few.")] = 512,
    events: Annotated[
        str | None, typer.Option(help="posthog (key in POSTHOG_API_KEY), or a file of JSON lines.")
    ] = None,
    access_log: Annotated[
        str | None,
        typer.Option(help="File of JSON lines, - or off; by default a file beside the store. At most 60 MB."),
    ] = None,
    rules: Rules = None,
) -> None:
    """Serve the API: hand runs in, read, list and rank scores. See /docs; /healthz, /readyz, /metrics say how it is."""
    from axisjudge.service import require_service

    require_service()
    from axisjudge.service.access import Door, check_open_door
    from axisjudge.service.database import Database
    from axisjudge.service.server import Listening
    from axisjudge.service.server import serve as serve_store
    from axisjudge.service.telemetry import beside_store, sink_from
    from axisjudge.service.tokens import TokenBook, operator_tokens

    fixed = operator_tokens(os.environ, token_file)
    positive("--rate", rate)
    if (file := Database(store).file) is not None and not file.exists():  # a refused start makes no store
        check_open_door(tokens=len(fixed), host=host, no_auth=no_auth, behind_proxy=behind_proxy)
    sink = sink_from(events, store, os.environ)
    kept = open_store(store, read_rules(rules))
    book = TokenBook(kept.database)
    check_open_door(tokens=len(fixed) + len(book.valid()), host=host, no_auth=no_auth, behind_proxy=behind_proxy)
    log = beside_store(store, "access") if access_log is None else access_log
    listening = Listening(host, port, connections, behind_proxy, str(log))
    try:
        serve_store(kept, sink, Door(fixed, None if no_auth else book, rate=rate), listening)
    finally:
        kept.close()  # SQLite's log goes into its file, so that the file alone is the store


@tokens_app.command(epilog="Example: axisjudge scorecard token make --workspace team-a --write --name ci")
def make(
    workspace: Annotated[str, typer.Option(help="The workspace that it opens; * for all.")],
    write: Annotated[bool, typer.Option("--write", help="It may hand runs in; otherwise it only reads.")] = False,
    name: Annotated[str, typer.Option(help="Whose it is, for the list.")] = "",
    rate: Annotated[float | None, typer.Option(help="Requests a second; by default the service's limit.")] = None,
    store: Store = STORE,
    json: show.Json = False,
) -> None:
    """Make a token and print it, once: the store keeps its hash alone. A service that runs knows it at once."""
    token, kept = _book(store, must_exist=False).make(workspace, may_write=write, name=name, rate=rate)
    _wait_until_noticed()
    if json:
        show.as_json({"token": token, **kept.to_dict()})
        return
    typer.echo(token)
    right = "reads and writes" if write else "reads"
    typer.echo(f"{kept.token_id} {right} workspace {workspace}; it is not shown again", err=True)


@tokens_app.command("list", epilog="Example: axisjudge scorecard token list --store scorecard.sqlite")
def list_tokens(store: Store = STORE, json: show.Json = False) -> None:
    """The tokens of a store, revoked ones too; never the tokens themselves."""
    rows = [token.to_dict() for token in _book(store).listed()]
    if json or rows:
        show.listed("tokens", rows, "Tokens", json=json)
    else:
        typer.echo("no tokens; make one by `axisjudge scorecard token make`")


@tokens_app.command(epilog="Example: axisjudge scorecard token revoke 0123456789ab --store scorecard.sqlite")
def revoke(
    token_id: Annotated[str, typer.Argument(help="The id of the token, as listed.")], store: Store = STORE
) -> None:
    """Revoke a token for good; when this returns, no service on the store admits it."""
    token = _book(store).revoke(token_id)
    _wait_until_noticed()
    typer.echo(f"revoked {token_id} {token.name} of workspace {token.workspace_id}")


def _book(store: str, *, must_exist: bool = True) -> "TokenBook":
    kept = open_store(store, must_exist=must_exist)
    from axisjudge.service.tokens import TokenBook

    return TokenBook(kept.database)


def _wait_until_noticed() -> None:
    """Wait until every service on the store has seen what changed."""
    from axisjudge.service.access import NOTICED

    time.sleep(2 * NOTICED)


@app.command(epilog="Example: axisjudge scorecard deploy | less")
def deploy() -> None:
    """How to run the service for good: proxy with TLS, systemd unit, container, backup, restore, rotation of tokens."""
    page = files("axisjudge.service") / "deploy.md"
    try:
        typer.echo(page.read_text(encoding="utf-8"))
    except FileNotFoundError:
        cure = "install the package anew"
        raise InputError("deploy", "the page is not in this installation", str(page), cure) from None
