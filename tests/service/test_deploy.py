"""The deployment page: its unit, its commands and its container file do what it says."""

import configparser
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

import pytest

from axisjudge.scores.run_score.runs import Run
from axisjudge.service.access import TokenBook
from axisjudge.service.store import ScoreStore

from .postgres import binaries


@pytest.fixture(scope="module")
def page():
    command = [sys.executable, "-m", "axisjudge", "scorecard", "deploy"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def blocks(page):
    return [
        re.sub(r"(?m)^ {4}", "", block)
        for block in re.findall(r"(?:(?:^ {4}.*\n)|(?:^\n(?= {4})))+", page, re.MULTILINE)
    ]


def commands(page, program):
    return [line for block in blocks(page) for line in block.splitlines() if line.startswith(program)]


def known_options(*command):
    said = subprocess.run(
        [sys.executable, "-m", "axisjudge", *command, "--help"], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"--[a-z-]+", said.stdout))


@pytest.mark.slow
def test_the_options_it_names_exist(page):
    (unit,) = (block for block in blocks(page) if "[Unit]" in block)
    parsed = configparser.ConfigParser(strict=True, delimiters=("=",))
    parsed.optionxform = str
    parsed.read_string(unit)
    start = shlex.split(parsed["Service"]["ExecStart"])
    (container,) = (block for block in blocks(page) if block.lstrip("\n").startswith("# Containerfile"))
    entry = json.loads(re.search(r"^CMD (.*)$", container, re.MULTILINE)[1])
    serving = known_options("scorecard", "serve")
    for options in (start, entry):
        assert "serve" in options
        assert {each for each in options if each.startswith("--")} <= serving
    for line in commands(page, "axisjudge scorecard token make"):
        assert set(re.findall(r"--[a-z-]+", line)) <= known_options("scorecard", "token", "make")


def filled(url):
    store = ScoreStore(url)
    store.add([Run(run_id="run-1", agent_id="a", workspace_id="w", outcome="COMPLETED")])
    TokenBook(store.database).make("w")
    return store


def check_restored(url):
    store = ScoreStore(url, must_exist=True)
    assert store.get("run-1")["score"] == 70
    assert len(TokenBook(store.database).valid()) == 1
    assert len(store.waiting()) == 1
    store.close()


def test_backup_and_restore_of_sqlite(page, tmp_path):
    if shutil.which("sqlite3") is None:
        pytest.skip("the program sqlite3 is not on this machine")
    live, kept = tmp_path / "scorecard.sqlite", tmp_path / "kept.sqlite"
    backup, restore = (
        line.replace("/var/lib/axisjudge/scorecard.sqlite", str(live)).replace(
            "/var/backups/axisjudge/scorecard.sqlite", str(kept)
        )
        for line in commands(page, "sqlite3")
    )
    store = filled(str(live))  # open while it is backed up
    subprocess.run(shlex.split(backup), check=True)
    store.add([Run(run_id="run-2", agent_id="a", workspace_id="w", outcome="FAILED")])
    store.close()
    (remove,) = commands(page, "rm -f")
    subprocess.run(shlex.split(remove.replace("/var/lib/axisjudge/scorecard.sqlite", str(live))), check=True)
    subprocess.run(shlex.split(restore), check=True)
    check_restored(str(live))
    with sqlite3.connect(live) as database:
        assert database.execute("select count(*) from agent_runs").fetchone() == (1,)


def test_backup_and_restore_of_postgresql(page, postgres, tmp_path):
    live, fresh, dump = postgres.new_database(), postgres.new_database(), tmp_path / "scorecard.dump"
    store = filled(live)
    (backup,), (restore,) = commands(page, "pg_dump"), commands(page, "pg_restore")

    def on(line, url):
        words = shlex.split(line.replace("postgresql://axisjudge@localhost/scorecard", url))
        words = [word.replace("/var/backups/axisjudge/scorecard.dump", str(dump)) for word in words]
        subprocess.run([str(binaries() / words[0]), *words[1:]], check=True)

    on(backup, live)
    store.close()
    on(restore, fresh)
    check_restored(fresh)
