"""A gate for continuous integration: JUnit XML for its table of tests, Markdown for its summary."""

from __future__ import annotations

from xml.etree import ElementTree

from axisjudge.studies.axis_result.gate.decisions import Gate, GateDecision

#: JUnit has a failure for what a check refuses, and an error for what could not be checked.
_ELEMENT = {1: "failure", 4: "error"}
_HEADS = ("scenario", "agent", "rule", "outcome", "before", "after", "change", "95% interval", "runs")


def junit(gate: Gate) -> str:
    """JUnit XML: one suite, one case a decision, and one a file that could not be read."""
    codes = [*(each.exit_code for each in gate.decisions), *(4 for _ in gate.unread)]
    counts = {"tests": len(codes), "failures": codes.count(1), "errors": codes.count(4)}
    counted = {name: str(n) for name, n in counts.items()}
    top = ElementTree.Element("testsuites", counted)
    suite = ElementTree.SubElement(top, "testsuite", {"name": f"axis-result {gate.baseline or 'floor'}", **counted})
    for each in gate.decisions:
        name = {"classname": _legal(f"{each.scenario}.{each.agent}"), "name": _legal(each.rule)}
        case = ElementTree.SubElement(suite, "testcase", name)
        if element := _ELEMENT.get(each.exit_code):
            about = {"type": str(each.outcome), "message": _legal(each.sentence)}
            ElementTree.SubElement(case, element, about).text = _legal(each.sentence)
    for reason in gate.unread:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "files", "name": _legal(reason.split(": ")[0])})
        ElementTree.SubElement(case, "error", {"type": "unread", "message": _legal(reason)}).text = _legal(reason)
    ElementTree.indent(top)
    made: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return made.decode() + "\n"


def markdown(gate: Gate) -> str:
    """A summary in Markdown: the answer, then what failed before what could not be told before the rest."""
    order = {1: 0, 4: 1, 0: 2}
    decisions = sorted(gate.decisions, key=lambda each: order[each.exit_code])
    rows = [_HEADS, ("---",) * len(_HEADS), *(_row(each) for each in decisions)]
    notes = [f"- {_cell(text)}" for text in (*gate.unread, *(each.sentence for each in decisions if each.exit_code))]
    lines = [
        *([f"**{_cell(gate.warning)}**", ""] if gate.warning else []),
        _cell(gate.answer),
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def _row(each: GateDecision) -> tuple[str, ...]:
    change = each.change
    points = ("-", "-") if change is None else (f"{change.estimate:+.1f}", change.interval("+.1f"))
    shown = (_cell(each.scenario), _cell(each.agent), f"`{each.rule}`", f"**{each.outcome}**")
    return (*shown, _number(each.before), _number(each.after), *points, f"{each.n_before} / {each.n_after}")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.1f}"


def _cell(text: str) -> str:
    """Text that stays text: no cell, markup, link or line ends with it."""
    kept = "".join(letter if letter.isprintable() else "?" for letter in text)
    return "".join(f"\\{letter}" if letter in r"\`*_[]<>|#!~" else letter for letter in kept)


def _legal(text: str) -> str:
    """Without the characters that XML has no word for."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
