"""Tables of the turns of the loop, of the caller's kind."""

from __future__ import annotations

from collections.abc import Sequence

from axisjudge.figures.markup import cut
from axisjudge.figures.theme import in_words, look_of
from axisjudge.results import columns
from axisjudge.studies._shared.frames import Table, frame_of, rows_of, table_of
from axisjudge.studies.rubric_versions.flips import VersionVerdict
from axisjudge.studies.rubric_versions.turn import Turn
from axisjudge.verdict import VERDICTS

#: In a terminal a longer reason is cut, and the cut is stated.
CUT = 200

#: Columns of the table of turns, and where their figures stand.
TURN = columns(
    "axis before after runs=n_items tasks=agreement.change.n_clusters change=agreement.mean",
    "low=agreement.change.ci_low high=agreement.change.ci_high p=agreement.p_value",
    "p_holm=agreement.p_adjusted verdict=outcome",
)
#: Columns of the table of judges, and where their figures stand.
_JUDGE = columns(
    "judge items=n_items flipped=n_flipped turnover noise stayed=n_stayed confidence_before",
    "confidence_after shift=confidence.mean shift_low=confidence.change.ci_low",
    "shift_high=confidence.change.ci_high p_holm=confidence.p_adjusted",
)


def agreement_table(turns: Sequence[Turn]) -> Table:
    """One row an axis, version and coefficient, with its interval; every version once, in the order of the turns."""
    versions = {(turn.axis, version.version): version for turn in turns for version in turn.versions}
    rows = [
        {"axis": axis, "version": version.version, "coefficient": name}
        | rows_of([value], columns("estimate low=ci_low high=ci_high tasks=n_clusters"))[0]
        | {"repeats": version.n_repeats}
        for (axis, _), version in versions.items()
        for name, value in version.named.items()
    ]
    return table_of(rows, turns[0].kind)


def judges_table(turn: Turn) -> Table:
    """One row a judge: flips beside noise, and how its confidence moved where its verdict stayed."""
    return frame_of(turn.shifts, _JUDGE, turn.kind)


def flips_table(turn: Turn, *, most: int = 12) -> Table:
    """One row a flip, both versions next to each other with their reasons; the `most` that changed agreement most."""
    columns = ("run", "axis", "judge", *(name for version in (turn.before, turn.after) for name in _columns(version)))
    rows = [
        (
            flip.item,
            turn.axis,
            flip.judge,
            _given(flip.before),
            flip.before.rationale,
            _given(flip.after),
            flip.after.rationale,
        )
        for flip in turn.flips[:most]
    ]
    return table_of([dict(zip(columns, row, strict=True)) for row in rows], turn.kind, columns=columns)


def flips_text(turn: Turn, *, most: int = 12) -> str:
    """The same for a terminal, one flip under the other, long reasons cut."""
    lines = [f"{turn.banner} {turn.flips_sentence(most)}".strip()]
    for flip in turn.flips[:most]:
        sides = ((turn.before, flip.before), (turn.after, flip.after))
        lines.append(f"  {flip.item}, {flip.judge}")
        lines += [f"    {version}: {_given(one)}: {cut(one.rationale or '', CUT)}" for version, one in sides]
    return "\n".join("".join(letter if letter.isprintable() else " " for letter in line) for line in lines)


def _columns(version: str) -> tuple[str, str]:
    return version, f"{version}, because"


def _given(one: VersionVerdict) -> str:
    """Verdict, confidence and cited steps: ``✗ incorrect 0.93 cites 3, 5``."""
    sure = "" if one.confidence is None else f" {one.confidence:.2f}"
    cited = f"cites {', '.join(map(str, one.cited))}" if one.cited else "cites nothing"
    return f"{look_of(one.verdict).sign} {in_words(one.verdict)}{sure} {cited}"


def transitions_text(turn: Turn) -> str:
    """How each judge's verdicts moved, for a terminal: the old version down, the new one across."""
    lines = []
    for shift in turn.shifts:
        flipped = f"{shift.n_flipped} of {shift.n_items} flipped"
        lines.append(f"{shift.judge}: {flipped} ({turn.before} down, {turn.after} across)")
        lines.append(f"  {'':16}" + "".join(f"{word:>16}" for word in VERDICTS))
        rows = zip(VERDICTS, shift.matrix, strict=True)
        lines += [f"  {word:16}" + "".join(f"{n:>16}" for n in row) for word, row in rows if any(row)]
    return "\n".join(lines)
