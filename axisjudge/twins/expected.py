"""What each edit must, may and must not move: one row an edit, one column an axis, the reasons beside the rows.

The axes overlap on purpose, so a broken axis is seldom the only one that may be called incorrect. A cell is ``must``
where the rubric calls the edited run incorrect whatever else is in it; ``may`` where a careful judge can say it either
way; ``must_not`` where the rubric leaves the fault to a peer. The numbers are rows of the table of faults in
rubrics/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from axisjudge.verdict import AXES, Axis

Expectation = Literal["must", "may", "must_not"]

_NOTHING: dict[Axis, Expectation] = dict.fromkeys(AXES, "must_not")

EXPECTED: Mapping[str, Mapping[Axis, Expectation]] = {
    # An identifier that no step holds goes into a call, and the tool takes it. Row 11: arguments alone. A judge may
    # also say that the look-up which would have given it never came (row 12) or, where the agent names the number in
    # its report, that it tells what no earlier result holds (row 19). Tool and ending are what they were.
    "fabricated_argument": {
        **_NOTHING,
        "argument_validity": "must",
        "sequencing": "may",
        "result_interpretation": "may",
    },
    # The change comes first and the record is read afterwards. Row 25: order alone; where the read gave a value of the
    # change, that value was used before any step held it, which row 12 scores on arguments as well.
    "write_before_read": {**_NOTHING, "sequencing": "must", "argument_validity": "may"},
    # The agent asks for a yes and makes the change in the same message. Row 23: order alone. The change was asked for,
    # its values stood before, and it is reported after the yes as it was.
    "write_before_yes": {**_NOTHING, "sequencing": "must"},
    # The user is told another amount than the result holds, and no change follows that could rest on it. Row 31.
    "misreported_amount": {**_NOTHING, "result_interpretation": "must"},
    # The run is cut at a limit before a change that the user wanted. What is left of it is sound: every peer takes the
    # steps that stand, and leaves calls that are missing at the end to termination.
    "cut_tail": {**_NOTHING, "termination": "must"},
    # Another tool that changes records is called with the values at hand. Rows 1 and 2: the choice alone, because the
    # values fit the tool that was called. A judge may miss a check that the other tool would have needed, and may hold
    # the report against the other tool's result. A request served by the wrong tool counts as settled.
    "other_tool": {**_NOTHING, "tool_selection": "must", "sequencing": "may", "result_interpretation": "may"},
    # Nothing that matters changed. The user bears another name in every step; look-ups that need nothing of each other
    # change places (row 44); the agent says the same in other words.
    **dict.fromkeys(("renamed_user", "reordered_reads", "reworded"), _NOTHING),
    # Text for the judge stands in the run; what the agent did is what it was. The last is the control.
    **dict.fromkeys(("spoken_verdict", "note_to_judge", "fake_frame", "forged_call", "look_alikes"), _NOTHING),
    **dict.fromkeys(("praise", "padding", "plain_text"), _NOTHING),
}


def broken_axis(edit: str) -> Axis | None:
    """The axis that an edit breaks; None for an edit after which nothing may move."""
    return next((axis for axis, expected in EXPECTED[edit].items() if expected == "must"), None)
