"""The chain of the ledger: every edit is found and named, and two processes never share a number."""

import json
import re
import subprocess
import sys

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.protocol import LedgerError, ledger, read_ledger
from axisjudge.protocol.ledger import append, looks, openings
from axisjudge.ratings import ratings_frame
from axisjudge.rubric import load_rubric
from axisjudge.verdict import Rating

KEEP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)


@pytest.fixture
def chain(bench):
    append("lock", "lock", lock_sha256="a", data_sha256="b", lock={"plan": {"margin": 0.05}})
    for number in range(4):
        append("opening", f"reason {number}", lock_sha256="a", data_sha256="b")
    return bench / "rubrics" / "ledger.jsonl"


def test_entries_are_numbered_and_chained(chain):
    entries = read_ledger()
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]
    assert [entry.opening for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry.previous for entry in entries[1:]] == [entry.sha256 for entry in entries[:-1]]
    assert len({entry.flag for entry in entries}) == 5


def test_exploratory_looks_are_counted_and_open_nothing(chain):
    append("exploratory", "a look", lock_sha256=None, data_sha256="b")
    assert (len(openings(read_ledger())), looks(read_ledger())) == (4, 5)


@KEEP
@given(
    st.integers(0, 4), st.sampled_from(["reason", "time", "opening", "lock_sha256", "data_sha256", "kind", "number"])
)
def test_an_edited_entry_is_named_by_its_line(chain, place, field):
    whole = chain.read_text()
    lines = whole.splitlines()
    said = json.loads(lines[place])
    said[field] = {"opening": 9, "number": 9, "kind": "exploratory"}.get(field, "edited")
    lines[place] = json.dumps(said)
    chain.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerError, match=rf"ledger.jsonl:{place + 1}: the chain is broken: this entry was edited"):
        read_ledger()
    with pytest.raises(LedgerError):
        append("opening", "more", lock_sha256="a", data_sha256="b")
    chain.write_text(whole)


@KEEP
@given(st.permutations(range(5)), st.integers(1, 5))
def test_whatever_is_left_out_or_moved_is_found_but_for_a_cut_at_the_end(chain, order, kept):
    whole = chain.read_text()
    lines = whole.splitlines()
    chosen = list(order)[:kept]
    chain.write_text("".join(lines[place] + "\n" for place in chosen))
    if chosen == list(range(kept)):
        assert len(read_ledger()) == kept
    else:
        first = next(place for place, number in enumerate(chosen) if place != number)
        with pytest.raises(LedgerError, match=rf"ledger.jsonl:{first + 1}: .*an entry before this line was removed"):
            read_ledger()
    chain.write_text(whole)


def test_an_entry_whose_hash_was_worked_out_anew_breaks_the_next_one(chain):
    from axisjudge.protocol.ledger import digest

    lines = chain.read_text().splitlines()
    said = json.loads(lines[2])
    said["reason"] = "a better reason"
    del said["sha256"]
    lines[2] = json.dumps({**said, "sha256": digest(said)})
    chain.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerError, match=r"ledger.jsonl:4"):
        read_ledger()


def test_a_torn_line_is_no_entry(chain):
    chain.write_bytes(chain.read_bytes()[:-30])
    with pytest.raises(LedgerError, match=r"ledger.jsonl:5: the chain is broken: this is not an entry"):
        read_ledger()


def test_a_reason_must_be_given(bench):
    with pytest.raises(InputError, match="reason: must say in words why"):
        append("opening", "  ", lock_sha256="a", data_sha256="b")
    assert read_ledger() == []


def test_a_ledger_that_another_holds_takes_no_entry(chain, monkeypatch):
    monkeypatch.setattr(ledger, "WAIT_S", 0.01)
    with FileLock(f"{chain}.lock"), pytest.raises(InputError, match=r"another process has held it for 0\.01 s"):
        append("opening", "more", lock_sha256="a", data_sha256="b")
    assert len(read_ledger()) == 5


def test_two_versions_of_a_rubric_by_text_and_by_the_verdicts_of_items_asked_with_both(bench, monkeypatch):
    old, new = (load_rubric("argument_validity", version) for version in ("v2", "v3"))
    said = {"cluster_id": "1", "question": "argument_validity", "rater": "a", "rater_kind": "llm", "family": "f"}
    asked = [
        (old, "correct", "r1 r2 r3 r4"),
        (old, "incorrect", "r2"),
        (new, "correct", "r2 r3"),
        (new, "uncertain", "r1"),
    ]
    table = ratings_frame(
        Rating(**said, trajectory_id=run, rubric_sha256=rubric.sha256, verdict=verdict)
        for rubric, verdict, runs in asked
        for run in runs.split()
    )
    found = ledger.rubric_diff("argument_validity", "v2", "v3", table)
    changed = [("correct", "uncertain"), ("incorrect", "correct")]  # of r2 the last word counts
    assert found.verdicts.select("before", "after").rows() == [*changed, ("correct", "correct")]
    assert found.changed.select("before", "after").rows() == changed
    gone = {line[1:] for line in found.text.splitlines()[2:] if line.startswith("-")}
    assert gone == set(old.text.splitlines()) - set(new.text.splitlines())
    around = [line[:1] for line in found.text.splitlines()[2:]]
    assert max(len(run) for run in re.findall(r" +", "".join(around))) <= 2  # a line around each change, no more
    assert ledger.rubric_diff("argument_validity", "v2", "v3").changed is None
    with pytest.raises(InputError, match="no rater was asked about one run with both v2 and v3"):
        ledger.rubric_diff("argument_validity", "v2", "v3", table[-1:])
    monkeypatch.setenv("PATH", "")  # no git
    assert {stone.commit for stone in ledger.rubric_trail("argument_validity")} == {None}


@pytest.mark.slow
def test_processes_that_open_at_once_get_numbers_of_their_own(bench, locked):
    command = [sys.executable, "-m", "axisjudge", "--workbench", str(bench), "holdout", "open", "--reason", "now"]
    started = [subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    numbers = sorted(json.loads(process.communicate(timeout=60)[0])["opening"] for process in started)
    assert numbers == [1, 2]
    assert [entry.opening for entry in openings(read_ledger())] == [1, 2]


def test_a_reason_may_hold_what_it_likes(bench):
    for reason in ("two\nlines", "a\u2028b\x85c", "bad \udce9 byte", '"quoted" {}'):
        append("opening", reason, lock_sha256="a", data_sha256="b")
    assert [entry.opening for entry in read_ledger()] == [1, 2, 3, 4]
    assert read_ledger()[1].reason == "a\u2028b\x85c"


def test_bytes_that_are_no_text_break_the_chain_at_their_line(chain):
    raw = chain.read_bytes()
    chain.write_bytes(raw.replace(b"reason 1", b"reason \xff"))
    with pytest.raises(LedgerError, match=r"ledger.jsonl:3: the chain is broken"):
        read_ledger()
