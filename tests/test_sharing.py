"""What leaves with results: secrets taken out and counted, cells that no spreadsheet runs."""

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.ratings import ratings_frame, read_ratings
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.report.bundle.inputs import copy_inputs
from axisjudge.report.links import write_links
from axisjudge.report.made import provenance_cell
from axisjudge.report.run import _take_keys_out
from axisjudge.report.tables import as_csv
from axisjudge.sharing import plain_cell, safe_cell, shared, shared_frame, without_keys
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating

# made up here, in the forms of keys
_PRIVATE = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + "A1b2" * 40 + "\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "openai": "sk-proj-" + "aB3" * 12,
    "anthropic": "sk-ant-api03-" + "xY7" * 12,
    "aws": "AKIA" + "ABCDEFGH23456789",
    "github": "ghp_" + "a1B2" * 9,
    "bearer": "Bearer " + "abc.DEF123" * 3,
    "google": "AIza" + "Ab1_x" * 7,
    "private": _PRIVATE,
    "jwt": "eyJhbGciOiJI" + "." + "eyJzdWIiOiIx" + "." + "c2lnbmF0dXJl",
    "slack": "xoxb-" + "123456789012-" * 2 + "abcdefabcdef",
    "password": "hunter2hunter2",
    "groq": "gsk_" + "a1B2" * 13,
    "databricks": "dapi" + "0a1b2c3d" * 4,
    "vault": "hvs." + "aB3" * 12,
    "google oauth": "ya29." + "aB3_" * 12,
    "airtable": "pat" + "aB1cD2eF3gH4iJ" + "." + "0a1b" * 16,
    "azure": "abc8Q~" + "aB3" * 11 + "x",
    "aws secret": "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    "basic": "dXNlcjpodW50ZXIyaHVudGVyMg==",
    "putty": "AAAAB3Nza" + "C1yc2E" * 8,
    "variable": "hunter2!",
    "header": "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "netrc": "hunter2hunter2hunter2",
    "docker": "Ym9iOmh1bnRlcjJodW50ZXIy",
    "webhook": "aB3_" * 17,
    "supabase": "sbp_" + "0a1b" * 10,
    "postman": "PMAK-" + "0a1b" * 6 + "-" + "0a1b" * 8,
    "terraform": ".atlasv1." + "aB3" * 22,
}
TEXT = {**SECRETS, "password": "postgres://admin:hunter2hunter2@db.example.org/x"}
TEXT |= {
    "aws secret": f"aws_secret_access_key = {SECRETS['aws secret']}",
    "basic": f"Basic {SECRETS['basic']}",
    "variable": f"export DB_PASSWORD={SECRETS['variable']} ",
    "header": f"Authorization: Token {SECRETS['header']}",
    "netrc": f"machine api.example.org login bob password {SECRETS['netrc']} ",
    "docker": f'"auth": "{SECRETS["docker"]}',
    "webhook": f"https://discord.com/api/webhooks/123456789012345678/{SECRETS['webhook']}",
    "putty": f"PuTTY-User-Key-File-3: ssh-rsa\n{SECRETS['putty']}\nPrivate-MAC: 0a1b2c",
}
INNOCENT = (
    "Order #W2378156 of user sara_doe_496, payment paypal_3024827, item 1008292230, sk-8 skateboard, risk-free, "
    "5f4dcc3b5aa765d61d8327deb882cf99, 192.0.2.7, bearer of bad news, the basic 1 thing, "
    "secret_santa_gift_exchange_2024, api_key: str = None, MAX_TOKENS=4096, "
    "the authorization: asked for on 2026-11-26, "
    "session_id: price-rounding.2026-11-26.run-0017, https://example.org/a?b=c"
)


@pytest.mark.parametrize("kind", TEXT)
def test_a_secret_is_taken_out_and_counted_whatever_is_around_it(kind):
    counted = Counter()
    clean = shared({"a": [f'found "{TEXT[kind]}", and more'], TEXT[kind]: 1}, counted)
    assert SECRETS[kind] not in json.dumps(clean)
    assert counted.total() == 2
    assert clean["a"][0].endswith('", and more')


def test_what_is_no_secret_stays():
    assert without_keys(INNOCENT) == INNOCENT


def world(tmp_path):
    steps = (
        Step(index=0, role="user", content=f"My key is {TEXT['openai']}."),
        Step(index=1, role="assistant", content=_PRIVATE),
    )
    runs = [Trajectory(id=f"run-{n}", source="t", task_id=str(n), agent="=cmd|x", steps=steps) for n in range(3)]
    write_trajectories(tmp_path / "runs.jsonl", runs)
    ratings = [
        Rating(
            trajectory_id=run.id,
            cluster_id=run.id,
            task_id=run.task_id,
            agent=run.agent,
            question="termination",
            rater=rater,
            rater_kind="llm",
            family=rater,
            verdict="correct",
            rationale=f"It sent {TEXT['aws']}.",
        )
        for run in runs
        for rater in ("one", "=HYPERLINK(1)")
    ]
    with (tmp_path / "ratings.jsonl").open("w") as file:
        file.writelines(rating.model_dump_json() + "\n" for rating in ratings)
    return tmp_path


def unpacked(page: str) -> str:
    """The page with what it holds in packed letters of 7 bits (`axisjudge.explorer.page`)."""
    texts = [page]
    for letters in re.findall(r'<script type="text/plain" id="[a-z0-9-]+"[^>]*>([^<]*)</script>', page):
        sevens = np.frombuffer(letters.encode("latin-1"), np.uint8)
        sevens = np.where(sevens > 127, sevens - 128, sevens).astype(np.uint8)
        bits = np.unpackbits(sevens[:, None], axis=1)[:, 1:].ravel()
        packed = np.packbits(bits[: len(bits) // 8 * 8]).tobytes()
        texts.append(zlib.decompressobj(31).decompress(packed).decode("utf-8", "surrogatepass"))
    return "".join(texts)


def test_the_explorers_file_holds_no_secret_unless_it_is_asked_to(tmp_path):
    folder = world(tmp_path)
    command = ["explore", str(folder / "ratings.jsonl"), "--trajectories", str(folder / "runs.jsonl")]
    told = CliRunner().invoke(app, [*command, "--out", str(folder / "e.html"), "--json"])
    assert sum(json.loads(told.stdout)["secrets"].values()) > 0
    page = unpacked((folder / "e.html").read_text())
    assert not any(secret in page for secret in (TEXT["openai"], TEXT["aws"], "MIIEow"))
    CliRunner().invoke(app, [*command, "--out", str(folder / "f.html"), "--no-redact"])
    assert TEXT["openai"] in unpacked((folder / "f.html").read_text())


def test_a_labelling_page_holds_no_secret_unless_it_is_asked_to(tmp_path):
    folder = world(tmp_path)
    command = ["label", "page", str(folder / "runs.jsonl"), "--json"]
    told = CliRunner().invoke(app, [*command, "--out", str(folder / "l.html")])
    assert sum(json.loads(told.stdout)["secrets"].values()) == 3 * 2
    page = unpacked((folder / "l.html").read_text())
    assert "My key is" in page
    assert not any(secret in page for secret in (TEXT["openai"], "MIIEow"))
    CliRunner().invoke(app, [*command, "--out", str(folder / "m.html"), "--no-redact"])
    assert TEXT["openai"] in unpacked((folder / "m.html").read_text())


#: Every way by which runs and reasons leave a workbench for others, beside pages and bundles.
WAYS = {
    "export to jsonl": ["export", "RATINGS", "--to", "jsonl", "--out", "OUT"],
    "export to csv": ["export", "RATINGS", "--to", "csv", "--out", "OUT"],
    "export to label-studio": ["export", "RATINGS", "--to", "label-studio", "--trajectories", "RUNS", "--out", "OUT"],
    "export to argilla": ["export", "RATINGS", "--to", "argilla", "--trajectories", "RUNS", "--out", "OUT"],
    "label export": [
        *("label", "export", "LABELS", "--format", "label-studio"),
        *("--trajectories", "RUNS", "--out", "OUT"),
    ],
    "runs as ATIF": ["read", "RUNS", "--to", "atif", "--out", "OUT"],
    "runs on a line of time": ["axis-result", "RUNS", "--html", "OUT"],
}


@pytest.mark.parametrize("way", WAYS)
def test_what_leaves_holds_no_secret_unless_it_is_asked_to(tmp_path, way):
    folder = world(tmp_path)
    labels = pl.read_ndjson(folder / "ratings.jsonl").with_columns(rater_kind=pl.lit("human"))
    labels.write_ndjson(folder / "labels.jsonl")
    places = {"RATINGS": "ratings.jsonl", "RUNS": "runs.jsonl", "LABELS": "labels.jsonl"}

    def made(name, *more):
        given = {each: str(folder / file) for each, file in {**places, "OUT": name}.items()}
        told = CliRunner().invoke(app, [*(given.get(word, word) for word in WAYS[way]), *more])
        assert told.exit_code == 0, told.output
        return told.output, (folder / name).read_text()

    told, text = made("clean.jsonl")
    assert re.search(r"\d+ secrets were taken out", told)
    assert "[secret: " in text
    assert not any(secret in text for secret in (TEXT["openai"], TEXT["aws"], "MIIEow"))
    told, text = made("whole.jsonl", "--no-redact")
    assert "secrets" not in told
    assert any(secret in text for secret in (TEXT["openai"], TEXT["aws"]))


def test_runs_as_own_lines_stay_whole_unless_it_is_asked_to(tmp_path):
    """What judges read again stays as it is: its hashes name it."""
    folder = world(tmp_path)
    for name, more, is_whole in (("whole.jsonl", [], True), ("clean.jsonl", ["--redact"], False)):
        CliRunner().invoke(app, ["read", str(folder / "runs.jsonl"), "--to", str(folder / name), *more])
        assert (TEXT["openai"] in (folder / name).read_text()) == is_whole


def test_ids_in_the_form_of_keys_stay_as_many_as_they_were():
    ids = [f"sk-learn-estimator-benchmark-{n:02}" for n in range(30)]
    clean = shared_frame(pl.DataFrame({"trajectory_id": ids}))["trajectory_id"]
    assert clean.n_unique() == 30
    assert set(shared(dict.fromkeys(ids, 1))) == set(clean)


def test_names_of_columns_and_of_fields_hold_no_secret(tmp_path):
    counted = Counter()
    clean = shared_frame(pl.DataFrame({TEXT["openai"]: [1, 2], "b": ["x", "y"]}), counted)
    assert clean.columns == [without_keys(TEXT["openai"]), "b"]
    assert TEXT["openai"] not in clean.columns
    assert counted.total() == 1
    pl.DataFrame({"a": [{TEXT["openai"]: "x"}]}).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(InputError, match="cannot be searched"):
        copy_inputs([str(tmp_path / "r.parquet")], [], [], tmp_path / "b", counted)


def test_letters_written_as_escapes_hide_no_secret(tmp_path):
    source = tmp_path / "s.jsonl"
    source.write_text('{"a": "caf\\u00e9"}\n{"a": "\\u0041KIA' + TEXT["aws"][4:] + '"}\n')
    copy_inputs([], [], [str(source)], tmp_path / "b", counted := Counter())
    first, second = (tmp_path / "b" / "trajectories" / "s.jsonl").read_text().splitlines()
    assert first == '{"a": "caf\\u00e9"}'
    assert json.loads(second)["a"].startswith("[secret: AWS Access Key ")
    assert counted.total() == 1


def test_a_bundles_copies_hold_no_secret_packed_or_not(tmp_path):
    folder = world(tmp_path)
    packed = folder / "more.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "runs.jsonl").read_bytes()))
    counted = Counter()
    copy_inputs([str(folder / "ratings.jsonl")], [], [str(folder / "runs.jsonl"), str(packed)], tmp_path / "b", counted)
    copies = {path.name: path.read_bytes() for path in (tmp_path / "b").rglob("*.*")}
    texts = [gzip.decompress(raw) if name.endswith(".gz") else raw for name, raw in copies.items()]
    assert len(texts) == 3
    assert not any(secret.encode() in text for text in texts for secret in (TEXT["openai"], TEXT["aws"], "MIIEow"))
    assert counted.total() >= 3 * 4 + 6
    assert len(read_trajectories(tmp_path / "b" / "trajectories").trajectories) == 3
    shut = tmp_path / "runs.eval"
    shut.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="cannot be searched"):
        copy_inputs([], [], [str(shut)], tmp_path / "c", counted)


@given(st.text(alphabet=st.sampled_from("'=+-@\t\r\n＝＠1.e5ab "), max_size=8))
def test_a_safe_cell_is_no_formula_and_comes_back(text):
    safe = safe_cell(text)
    assert plain_cell(safe) == text
    assert safe_cell(f"\x1b{text}\x00") == safe
    assert not re.match(r"[=+\-@\t\r\n＝＠]", safe) or re.fullmatch(r"[+-]?\d+([.,]\d+)?(e[+-]?\d+)?", safe)


@pytest.mark.parametrize("form", ["csv", "crowd-kit"])
def test_an_export_runs_no_formula_and_is_read_back_as_it_was(form, tmp_path):
    folder = world(tmp_path)
    out = folder / "out.csv"
    done = CliRunner().invoke(app, ["export", str(folder / "ratings.jsonl"), "--to", form, "--out", str(out)])
    assert done.exit_code == 0, done.output
    cells = [cell for row in csv.reader(io.StringIO(out.read_text())) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not any(cell[:1] in ("=", "+", "-", "@") for cell in cells)
    if form == "csv":
        from axisjudge.labels.own import Terms, read_own_csv

        assert {rating.rater for rating in read_own_csv(out, Terms())[0]} == {"one", "=HYPERLINK(1)"}


def test_a_report_says_how_many_secrets_it_lost(tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": f"It sent {TEXT['aws']}."},
        {"output_type": "display_data", "metadata": {}, "data": {"text/plain": TEXT["openai"], "image/png": "AKIA"}},
    ]
    book = type("Book", (), {"cells": [{"outputs": outputs}, {}]})
    _take_keys_out(book, counted := Counter())
    assert counted.total() == 2
    results = {"parameters": {}, "inputs": {}, "command": "", "judged_with": [], "secrets": dict(counted)}
    assert "2 secrets were taken out" in provenance_cell(tmp_path, results, [], [], 1.0).source
    assert "taken out" not in provenance_cell(tmp_path, results | {"secrets": {}}, [], [], 1.0).source
    folder = world(tmp_path)
    runs = read_trajectories(folder / "runs.jsonl").trajectories
    write_links(read_ratings(folder / "ratings.jsonl"), runs, folder, counted)
    assert counted.total() > 2 + 3 * 2


def test_a_reports_table_runs_no_formula():
    frame = pl.DataFrame({"=name": ["@SUM(1)", "x"], "n": [-1, 2]})
    assert as_csv(frame) == "'=name,n\n'@SUM(1),-1\nx,2\n"
    assert ratings_frame([]).is_empty()


@pytest.mark.parametrize("before", [" ", "\u00a0", "\u200b", "\ufeff", "'\u2060 "])
def test_a_formula_behind_what_no_cell_shows_is_none(before):
    assert safe_cell(f"{before}=1+1") == f"'{before}=1+1"
    assert plain_cell(safe_cell(f"{before}=1+1")) == f"{before}=1+1"
