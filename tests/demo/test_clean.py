"""What is planted as correct is correct as far as a program can see, on the committed seed and on others."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from .conftest import generator_module

build = cache(generator_module("results").build)
WRITES = {name for name, (kind, _, _) in generator_module("toolset").TOOLS.items() if kind == "write"}
MONTHS = re.findall(r"\w+", "January February March April May June July August September October November December")
DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d+)|(\d+) ({'|'.join(MONTHS)})")
SEEDS = pytest.mark.parametrize("seed", [1, 2, 5])


def clean_runs(seed: int, axis: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Id and messages of the runs in which an axis is planted as correct."""
    made = build(seed)
    correct = {r["trajectory_id"] for r in made["planted.jsonl"] if r["question"] == axis and r["verdict"] == "correct"}
    for name, content in made.items():
        if name.startswith("results/"):
            for run in content["simulations"]:
                if run["id"] in correct:
                    yield run["id"], run["messages"]


def called(messages: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for step, message in enumerate(messages):
        for call in message.get("tool_calls") or []:
            yield step, call


@pytest.mark.slow
@SEEDS
def test_clean_changes_follow_the_record_and_a_question(seed: int) -> None:
    for run, messages in clean_runs(seed, "sequencing"):
        read: set[str] = set()
        found = False
        for step, call in called(messages):
            found |= call["name"].startswith("find_customer")
            order_id = call["arguments"].get("order_id")
            if call["name"] == "get_order":
                assert found, (run, step)
                read.add(order_id)
            if call["name"] in WRITES:
                assert order_id is None or order_id in read, (run, step)
                said = [m for m in messages[:step] if m["role"] == "user"]
                asked = messages[said[-1]["turn_idx"] - 1]["content"]
                in_advance = any("nothing else" in m["content"] and "go ahead" in m["content"] for m in said)
                assert asked.endswith("?") or in_advance, (run, step, asked)


@SEEDS
def test_clean_calls_fail_only_for_what_the_customer_or_the_stock_did(seed: int) -> None:
    excuses = re.compile("no customer with|sold out|no tool named|already|not pending|swapped before|exchanged before")
    for run, messages in clean_runs(seed, "argument_validity"):
        for message in messages:
            assert not message.get("error") or excuses.search(message["content"]), (run, message["content"])


@SEEDS
def test_clean_readings_tell_dates_that_were_read(seed: int) -> None:
    for run, messages in clean_runs(seed, "result_interpretation"):
        for step, message in enumerate(messages):
            if message["role"] == "assistant":
                before = " ".join(m["content"] or "" for m in messages[:step])
                for month, day, day_first, month_last in DATE.findall(message["content"] or ""):
                    written = f"-{MONTHS.index(month or month_last) + 1:02d}-{int(day or day_first):02d}"
                    assert written in before, (run, step, message["content"])


def in_cents(text: str) -> int:
    return round(float(text) * 100)


@SEEDS
def test_clean_readings_tell_amounts_that_follow(seed: int) -> None:
    """An amount was read, stands in the rules, is rounded, or is a sum or difference, less the label fee or not."""
    fee = 490
    for run, messages in clean_runs(seed, "result_interpretation"):
        for step, message in enumerate(messages):
            if message["role"] != "assistant" or not message["content"]:
                continue
            words, before = message["content"], " ".join(m["content"] or "" for m in messages[:step])
            read = {in_cents(n) for n in re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?![\w-])", before)} | {0}
            paid = {in_cents(price) for price in re.findall(r'"price": (\d+\.?\d*), "state"', before)}
            sums = {one + two for one in read for two in read}
            differences = {one - two for one in read for two in read}
            offers = [in_cents(price) for price in re.findall(r" for \$(\d+\.\d\d)", words)]
            for text, direction in re.findall(r"\$(\d+(?:\.\d\d)?)( more,| less,)?", words):
                amount = in_cents(text)
                if direction:
                    old = sum(offers) - amount if "more" in direction else sum(offers) + amount
                    # one offer speaks of one old line, two of two; a second choice repeats one offer of two
                    known = paid if len(offers) == 1 else {one + two for one in paid for two in paid}
                    assert old in known or "in all" in words, (run, step, words)
                elif amount not in (fee, 800, 1500, 25000):
                    rounded = "." not in text and any(abs(one - amount) <= 50 for one in read)
                    assert rounded or amount in sums | differences or amount + fee in sums, (run, step, words)


@SEEDS
def test_clean_selections_use_tools_that_exist(seed: int) -> None:
    tools = generator_module("toolset").TOOLS
    for run, messages in clean_runs(seed, "tool_selection"):
        assert all(call["name"] in tools for _, call in called(messages)), run


@SEEDS
def test_clean_endings_come_after_every_request(seed: int) -> None:
    """Where nothing else is planted, a clean ending means that every goal was met."""
    made = build(seed)
    faulty = {r["trajectory_id"] for r in made["planted.jsonl"] if r["verdict"] == "incorrect"}
    for name, content in made.items():
        if name.startswith("results/"):
            for run in content["simulations"]:
                if run["id"] not in faulty:
                    assert run["reward_info"]["reward"] == 1.0, run["id"]
                    assert all(check["action_match"] for check in run["reward_info"]["action_checks"]), json.dumps(
                        run["reward_info"]["action_checks"]
                    )
