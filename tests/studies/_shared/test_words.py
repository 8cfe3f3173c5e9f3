"""Sentences say axes and coefficients in words, and what is to be typed as it is typed."""

import pytest

from axisjudge.studies._shared.words import spoken


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tool_selection: cohen_kappa on argument_validity.", "Tool selection: Cohen's kappa on argument validity."),
        ("axisjudge rubric diff --axis tool_selection", None),
        ("`tool_selection` and my_tool_selection, fault:tool_selection/x, tool_selection.md", None),
    ],
)
def test_names_are_words_but_in_code(text, said):
    assert spoken(text) == (said or text)
