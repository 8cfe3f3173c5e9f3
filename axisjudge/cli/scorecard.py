"""`axisjudge scorecard`: score runs, show one, rank them, serve scores."""

import json as json_text
import os
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, once_each, positive
from axisjudge.cli import show

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.scores.run_score.rules import ScorecardRules
    from axisjudge.scores.run_score.runs import Run
    from axisjudge.scores.run_score.score import Baseline
    from axisjudge.service.access import TokenBook
    from axisjudge.service.store import ScoreStore


app = show.app.group("scorecard", "A deterministic 0-100 score of how well an agent executed its spec.")

_STORE = "scorecard.sqlite"
#: Runs that are stored in one transaction.
_AT_ONCE = 500

_RUNS = "Runs: JSON lines or Parquet; or trajectories, from which runs are derived as far as they tell."
Runs = Annotated[list[Path], typer.Argument(help=_RUNS)]
Rules = Annotated[Path | None, "JSON with weights, full_at, zero_at, window or min_samples."]
Store = Annotated[str, "A SQLite file, or a URL such as postgresql://user@host/name."]
Frozen = Annotated[bool, "Baseline of each workspace's first 20 completed runs, not the last 20."]


@app.example("score data/demo/runs/runs.jsonl")
def score(
    runs: Runs,
    store: Annotated[str | None, "Keep runs and scores here (a file or URL), and send events."] = None,
    events: Annotated[str | None, "With --store: posthog, or a file of JSON lines."] = None,
    out: Annotated[Path | None, "Write the scores here as JSON lines."] = None,
    frozen: Frozen = False,
    strict: Annotated[bool, "Stop where a component cannot be computed, or a file not be read."] = False,
    rules: Rules = None,
    cluster: show.Cluster = None,
    json: show.Json = False,
) -> None:
    """Score runs: per agent what was scored, its tiers, and what could not be computed."""
    from axisjudge.scores.run_score import frozen_baseline, score_runs
    from axisjudge.studies.run_score import component_means, neutral_components, score_spread

    if store and (frozen or strict):
        raise InputError("--store", "keeps scores by the rolling baseline, never strict", cure="leave it out")
    if out is not None:
        show.new_file(out)
    table, chosen = _read(runs, cluster, strict=strict), _rules_of(rules)
    baseline: Baseline = frozen_baseline(table, rules=chosen) if frozen else "rolling"
    scored = score_runs(table, rules=chosen, baseline=baseline, strict=strict)
    if out is not None:
        scored.write_ndjson(out)
    if store is not None:
        _keep(runs, store, events, chosen, cluster)
    spread, neutral = score_spread(scored, rules=chosen), neutral_components(scored, rules=chosen)
    sentences = [sentence for sentence in (spread.answer, neutral.answer) if sentence]
    if json:
        numbers = spread.to_dict() | component_means(scored).to_dict() | neutral.to_dict()
        runs_scored = json_text.loads(scored.write_json())
        show.as_json({"rules": chosen.to_dict(), **numbers, "sentences": sentences, "runs": runs_scored})
        return
    show.table(spread.agents.to_dicts(), "Scores per agent")
    show.table(neutral.reasons.to_dicts(), "Neutral 50, because")
    show.lines(sentences, apart=True)


@app.example("show run-0001 --store scorecard.sqlite")
def show_run(
    run_id: Annotated[str, typer.Argument(help="The run.")], store: Store = _STORE, json: show.Json = False
) -> None:
    """The stored score of a run, why it is what it is, and the scores it had before."""
    kept = _opened_store(store, must_exist=True)
    row = kept.get(run_id)
    if row is None:
        raise InputError("RUN_ID", f"the store {store} has no such run", run_id)
    past = kept.superseded(run_id)
    if json:
        show.as_json({**_shown(row), "superseded": [_shown(old) for old in past]})
        return
    detail = row["detail"]
    span = "" if detail["low"] == detail["high"] else f" ({detail['low']} to {detail['high']})"
    typer.echo(f"{run_id}: {show.text(row['score'])} of 100{span}, {row['tier']}, formula {row['formula_version']}")
    if artefact := detail.get("artefact"):
        typer.echo(f"artefact {artefact}")
    typer.echo(f"agent {row['agent_id']}, workspace {row['workspace_id']}, ended {show.text(detail['ended_at'])}")
    weights = row["weight_snapshot"]
    rows = [
        {"component": name, "points": points, "weight": weights[name], "note": detail["reasons"].get(name, "")}
        for name, points in row["axis_scores"].items()
    ]
    show.table(rows, "Components")
    if past:
        before = [{"score": old["score"], "tier": old["tier"], "until": _shown(old)["superseded_at"]} for old in past]
        show.table(before, "Before a late run changed its baseline")


@app.example("rank data/demo/runs/runs.jsonl --spec spec-01")
def rank(
    runs: Runs,
    spec: Annotated[str | None, "Rank the runs of this spec; without it only agents."] = None,
    frozen: Frozen = False,
    rules: Rules = None,
    seed: Annotated[int, "Of the rank sets' sign flips."] = 0,
    json: show.Json = False,
) -> None:
    """Rank runs of one spec, and say how often each agent would win where there are 5 repeats or more."""
    import numpy as np

    from axisjudge.results import plain
    from axisjudge.scores.run_score import frozen_baseline, score_runs
    from axisjudge.studies.run_score.labels import compete

    table, chosen = _read(runs), _rules_of(rules)
    baseline: Baseline = frozen_baseline(table, rules=chosen) if frozen else "rolling"
    scored = score_runs(table, rules=chosen, baseline=baseline)
    result = compete(scored, table, spec=spec, rng=np.random.default_rng(seed))
    if json:
        show.as_json(result.to_dict())
        return
    if spec is not None:
        show.table(result.ranked.to_dicts(), f"Runs of {spec}")
    show.table(plain(result.table), "Probability that an agent's next run scores highest")
    show.lines([result.answer], apart=True)


def _read(paths: list[Path], cluster: str | None = None, *, strict: bool = False) -> "pl.DataFrame":
    """Runs from files of runs, or derived from trajectories where the first file holds no runs."""
    from axisjudge.cluster import workers_of
    from axisjudge.scores.run_score.runs import read_runs, runs_frame

    if not _are_runs(paths):
        return runs_frame(_derived(paths, cluster, strict=strict))
    with workers_of(cluster) as workers:
        return read_runs(*paths, workers=workers)


def _are_runs(paths: list[Path]) -> bool:
    if not all(path.is_file() and path.suffix in (".jsonl", ".ndjson", ".parquet") for path in paths):
        return False
    if paths[0].suffix == ".parquet":
        return True
    with paths[0].open("rb") as file:
        return b'"run_id"' in file.readline()


def _derived(paths: list[Path], cluster: str | None, *, strict: bool = False) -> "list[Run]":
    from axisjudge.cluster import workers_of
    from axisjudge.readers.by_file import made_of_files
    from axisjudge.scores.run_score.runs import runs_of

    with workers_of(cluster) as workers:
        reading = made_of_files(paths, runs_of, workers, strict=strict)
        runs = list(reading)
    show.account.refused = reading.refused
    return runs


def _rules_of(path: Path | None) -> "ScorecardRules":
    from axisjudge.scores.run_score.rules import ScorecardRules

    if path is None:
        return ScorecardRules()
    try:
        return ScorecardRules(**json_text.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once_each))
    except OSError as error:
        raise InputError("--rules", f"cannot be read ({error.strerror})", str(path)) from None
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        rule = "must be a JSON object with weights, full_at, zero_at, window or min_samples"
        raise InputError(str(path), rule, str(error)) from None


def _keep(paths: list[Path], url: str, events: str | None, rules: "ScorecardRules", cluster: str | None) -> None:
    kept = _opened_store(url, rules)
    from axisjudge.scores.run_score.runs import runs_in
    from axisjudge.service.telemetry import sink_from

    if not _are_runs(paths):
        runs = _derived(paths, cluster)
    elif any(path.suffix == ".parquet" for path in paths):
        raise InputError("--store", "takes runs from JSON lines or trajectories, not from Parquet")
    else:
        runs = [run for path in paths for run in runs_in(path, str(path))]
    sink = sink_from(events, url, os.environ)
    new = sum(
        each.is_new for start in range(0, len(runs), _AT_ONCE) for each in kept.add(runs[start : start + _AT_ONCE])
    )
    typer.echo(f"stored in {url}: {new} new runs, {len(runs) - new} known before", err=True)
    _send(kept, sink)


def _send(kept: "ScoreStore", sink: Any) -> None:
    from axisjudge.service.telemetry import drain

    try:
        drain(kept, sink)
    except Exception as error:  # whatever is wrong with a sink, what is stored is stored
        message = f"events wait in the store, the sink is down ({type(error).__name__}); they go out with the next run"
        typer.echo(f"axisjudge: warning: {message}", err=True)


def _opened_store(url: str, rules: "ScorecardRules | None" = None, *, must_exist: bool = False) -> "ScoreStore":
    """The store at a path or URL, once the extra is known to be there."""
    from axisjudge.service import require_service

    require_service()
    from axisjudge.service.store import ScoreStore

    return ScoreStore(url, rules=rules, must_exist=must_exist)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}


# `axisjudge scorecard serve|token|deploy`: the service, who may use it, and how to run it for good.

tokens_app = app.group("token", "Who may use the service: tokens of a workspace, to read or to write.")


@app.example("serve --store scorecard.sqlite")
def serve(
    store: Store = _STORE,
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[int, "Port; 0 takes a free one."] = 8765,
    behind_proxy: Annotated[bool, "A proxy with TLS stands before it; needed for other than loopback."] = False,
    token_file: Annotated[
        Path | None, "SHA-256 of operators' tokens in hex; beside AXISJUDGE_SCORECARD_TOKENS."
    ] = None,
    no_auth: Annotated[bool, "Without tokens; on loopback only."] = False,
    rate: Annotated[float, "Requests a second of a token that has no rate of its own."] = 2000,
    connections: Annotated[int, typer.Option(min=1, help="Connections at once; fewer where open files are few.")] = 512,
    events: Annotated[str | None, "posthog (key in POSTHOG_API_KEY), or a file of JSON lines."] = None,
    access_log: Annotated[
        str | None, "File of JSON lines, - or off; by default a file beside the store. At most 60 MB."
    ] = None,
    rules: Rules = None,
) -> None:
    """Serve the API: hand runs in, read, list and rank scores. See /docs; /healthz, /readyz, /metrics say how it is."""
    from axisjudge.service import require_service

    require_service()
    from axisjudge.service.access import Door, TokenBook, check_open_door, operator_tokens
    from axisjudge.service.database import Database
    from axisjudge.service.server import serve as serve_store
    from axisjudge.service.telemetry import beside_store, sink_from

    fixed = operator_tokens(os.environ, token_file)
    positive("--rate", rate)
    if (file := Database(store).file) is not None and not file.exists():  # a refused start makes no store
        check_open_door(tokens=len(fixed), host=host, no_auth=no_auth, behind_proxy=behind_proxy)
    sink = sink_from(events, store, os.environ)
    kept = _opened_store(store, _rules_of(rules))
    book = TokenBook(kept.database)
    check_open_door(tokens=len(fixed) + len(book.valid()), host=host, no_auth=no_auth, behind_proxy=behind_proxy)
    log = str(beside_store(store, "access") if access_log is None else access_log)
    door = Door(fixed, None if no_auth else book, rate=rate)
    try:
        serve_store(
            kept, sink, door, host=host, port=port, connections=connections, behind_proxy=behind_proxy, access_log=log
        )
    finally:
        kept.close()  # SQLite's log goes into its file, so that the file alone is the store


@tokens_app.example("make --workspace team-a --write --name ci")
def make(
    workspace: Annotated[str, "The workspace that it opens; * for all."],
    write: Annotated[bool, "It may hand runs in; otherwise it only reads."] = False,
    name: Annotated[str, "Whose it is, for the list."] = "",
    rate: Annotated[float | None, "Requests a second; by default the service's limit."] = None,
    store: Store = _STORE,
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


@tokens_app.example("list --store scorecard.sqlite")
def list_tokens(store: Store = _STORE, json: show.Json = False) -> None:
    """The tokens of a store, revoked ones too; never the tokens themselves."""
    rows = [token.to_dict() for token in _book(store).listed()]
    if json or rows:
        show.listed("tokens", rows, "Tokens", json=json)
    else:
        typer.echo("no tokens; make one by `axisjudge scorecard token make`")


@tokens_app.example("revoke 0123456789ab --store scorecard.sqlite")
def revoke(
    token_id: Annotated[str, typer.Argument(help="The id of the token, as listed.")], store: Store = _STORE
) -> None:
    """Revoke a token for good; when this returns, no service on the store admits it."""
    token = _book(store).revoke(token_id)
    _wait_until_noticed()
    typer.echo(f"revoked {token_id} {token.name} of workspace {token.workspace_id}")


def _book(store: str, *, must_exist: bool = True) -> "TokenBook":
    kept = _opened_store(store, must_exist=must_exist)
    from axisjudge.service.access import TokenBook

    return TokenBook(kept.database)


def _wait_until_noticed() -> None:
    """Wait until every service on the store has seen what changed."""
    from axisjudge.service.access import NOTICED

    time.sleep(2 * NOTICED)


@app.example("deploy | less")
def deploy() -> None:
    """How to run the service for good: proxy with TLS, systemd unit, container, backup, restore, rotation of tokens."""
    page = files("axisjudge.service") / "deploy.md"
    try:
        typer.echo(page.read_text(encoding="utf-8"))
    except FileNotFoundError:
        cure = "install the package anew"
        raise InputError("deploy", "the page is not in this installation", str(page), cure) from None
