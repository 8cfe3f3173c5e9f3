"""Hashes and differences of plain values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.protocol.ledger import ChangedField, changes, digest, read_json, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_a_difference_shows_in_changes_and_in_the_hash(first, second):
    import json

    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (digest(first) == digest(second)) == same
    if same:
        assert list(changes(first, second)) == []


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b was 1, is 2"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b was 1, is absent"),
        ({}, {"a": "0123456789abcdef" * 4}, "a was absent, is 0123456789ab"),
        ({"a": "x" * 99}, {"a": "y"}, f'a was "{"x" * 20}..., is "y"'),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a was [1, 2], is [2, 1]"),
    ],
)
def test_a_change_names_its_field(was, now, said):
    assert [str(change) for change in changes(was, now)] == [said]


def test_a_change_of_the_whole():
    assert list(changes(1, 2)) == [ChangedField("", 1, 2)]


def test_a_file_is_replaced_in_one_step_and_read_as_it_was(tmp_path):
    path = tmp_path / "folder" / "value.json"
    write_json(path, {"b": 1, "a": ["ä"]})
    assert read_json(path, "value.json") == {"b": 1, "a": ["ä"]}
    assert path.read_text(encoding="utf-8").splitlines()[1] == ' "b": 1,'
    assert [each.name for each in path.parent.iterdir()] == ["value.json"]
    path.write_text("{")
    with pytest.raises(InputError, match=r"value.json: is not JSON .*put it back as git has it"):
        read_json(path, "value.json")
