"""JSON set out over lines in the browser: nothing but space may change."""

import json
import random

import pytest

WIDE = 88


def value(rng, depth=4):
    """Any JSON value, with the signs in its strings that layout could trip over."""
    text = "".join(rng.choice('ab {}[]:,"\\\n\u00e9\u2028\U0001f600') for _ in range(rng.randrange(12)))
    plain = [None, True, rng.randrange(-(10**20), 10**20), rng.random() * 1e9, text]
    if not depth or rng.random() < 0.3:
        return rng.choice(plain)
    inside = [value(rng, depth - 1) for _ in range(rng.randrange(6))]
    return inside if rng.random() < 0.5 else {f"{text}{n}": each for n, each in enumerate(inside)}


@pytest.fixture(scope="module")
def indented(browser, explorer_file):
    context = browser.new_context()
    page = context.new_page()
    page.goto(explorer_file.as_uri())
    yield lambda *texts: page.evaluate("texts => texts.map(indented)", texts)
    context.close()


def test_only_space_outside_strings_changes_and_lines_keep_within_the_width_where_they_can(indented):
    rng = random.Random(37)
    values = [value(rng) for _ in range(400)]
    laid = indented(*(json.dumps(each, ensure_ascii=False) for each in values))
    assert [json.loads(each) for each in laid] == values
    assert sum("\n" in each for each in laid) > 100
    long = json.dumps({f"key-{n}": {"a": n, "b": [n] * 30} for n in range(5)})
    assert max(map(len, indented(long)[0].splitlines())) <= WIDE + 8


def test_numbers_stay_as_they_were_written_and_no_key_is_dropped(indented):
    text = '{"total": 12.50, "big": 12345678901234567890, "same": 1e2, "same": 1E+2, "long": "' + "x" * 90 + '"}'
    assert "".join(indented(text)[0].split()) == "".join(text.split())


def test_what_fits_on_a_line_stays_there(indented):
    assert indented('{"a": 1}') == ['{"a": 1}']
    items = [f'{{"id": "item-{number}", "price": 1.10}}' for number in range(4)]
    lines = ",\n".join(f"    {item}" for item in items)
    assert indented(f'{{"items":[{",".join(items)}],"note":"n"}}') == [
        f'{{\n  "items": [\n{lines}\n  ],\n  "note": "n"\n}}'
    ]


def test_what_is_no_json_stays_as_it_is(indented):
    texts = ["", "plain " * 30, "[not json " * 20, "{" * 200, "[" * 50000 + "]" * 50000, "7" * 200]
    assert indented(*texts) == texts
