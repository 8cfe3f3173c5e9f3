"""JSON set out over lines: nothing but space may change."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisjudge.explorer.shown import WIDTH, indented

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=40,
)


@pytest.mark.slow
@given(VALUES)
def test_only_space_outside_strings_changes(value):
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(indented(text)) == value


def test_numbers_stay_as_they_were_written_and_no_key_is_dropped():
    text = '{"total": 12.50, "big": 12345678901234567890, "same": 1e2, "same": 1E+2, "long": "' + "x" * 90 + '"}'
    assert "".join(indented(text).split()) == "".join(text.split())


def test_what_fits_on_a_line_stays_there():
    assert indented('{"a": 1}') == '{"a": 1}'
    items = [f'{{"id": "item-{number}", "price": 1.10}}' for number in range(4)]
    lines = ",\n".join(f"    {item}" for item in items)
    assert (
        indented(f'{{"items":[{",".join(items)}],"note":"n"}}') == f'{{\n  "items": [\n{lines}\n  ],\n  "note": "n"\n}}'
    )


@pytest.mark.parametrize("text", ["", "plain " * 30, "[not json " * 20, "{" * 200, "[" * 5000 + "]" * 5000, "7" * 200])
def test_what_is_no_json_stays_as_it_is(text):
    assert indented(text) == text


def test_lines_keep_within_the_width_where_they_can():
    text = json.dumps({f"key-{n}": {"a": n, "b": [n] * 30} for n in range(5)})
    assert max(map(len, indented(text).splitlines())) <= WIDTH + 8
