"""What is wrong with a rubric before a judge reads it: each finding with its line and its cure."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from axisjudge.checks import InputError, one_of
from axisjudge.rubric.axes import SECTIONS, TOKEN_CEILING
from axisjudge.rubric.next_version import UNSAID
from axisjudge.verdict import AXES, VERDICTS
from axisjudge.workbench import home

#: What each axis owns, in the words that a rubric claims it with. A line of In scope (or of the Question) that uses a
#: peer's words claims what the peer owns. Chosen so that the shipped rubrics, which were read line by line, pass:
#: words that two axes share by right (order as a thing bought, a hand-over as a choice) are left out.
OWNED: dict[str, tuple[str, ...]] = {
    "tool_selection": (
        r"(wrong|right|another|better|other) tool",
        r"(choice|selection|choosing) of (the |a )?tools?",
        r"tools? (was|were|is) (the )?(wrong|right)",
        r"should (not )?have (been called|called)",
        r"not on offer",
        r"nobody asked for",
        r"what the user (had )?(asked for|wanted|meant)",
        r"the user's request",
        r"(bring|brought|brings) about",
    ),
    "argument_validity": (
        r"\b(argument|parameter)s?\b",
        r"(invented|fabricated|made[- ]up|malformed|ungrounded) (identifier|number|value)s?",
        r"well[- ]formed",
        r"wrong type",
    ),
    "sequencing": (
        r"(calls?|changes?|came|comes|made|makes) (\w+ ){0,3}too early",
        r"(in the wrong|out of) order",
        r"order of (the |its )?calls",
        r"before the (user's )?yes",
        r"the same change (again|twice)",
        r"check (that )?(has|had) to come first",
    ),
    "result_interpretation": (
        r"misread(s|ing)? (a |the |an )?(result|record|error)",
        r"misreport",
        r"(untrue|false) (report|statement)",
        r"tells? (the user )?(an? |the )?(other|wrong) (amount|date|figure|state)",
        r"(an? |the )error (is |was )?(told |taken )?(as|for) (a )?success",
    ),
    "termination": (
        r"(stop|stops|stopped|stopping|ends?|ended) (\w+ )?too (early|late)",
        r"(stop|stops|stopped) at the right (time|moment)",
        r"after the user was done",
        r"(request|work)s? (was |is |were )?(left |still )(open|undone)",
        r"closes the conversation",
        r"calls? (still )?missing when the run ended",
    ),
}

#: Words by which a judge would grade how the run came out instead of what the axis asks.
OUTCOME = (
    r"\bsuccess(es|ful|fully)?\b",
    r"\bsucceed(s|ed)?\b",
    r"\breward(s|ed)?\b",
    r"\b(final|end) (result|outcome|state)\b",
    r"\boutcomes?\b",
    r"\bsatisf(y|ied|action|ies)\b",
    r"\b(goal|task) (was |is |were )?(reached|achieved|completed|solved|fulfilled|met)\b",
    r"\bgot what (they|the user) (wanted|hoped for|asked for)\b",
    r"\bwhat the user wanted\b",
    r"\b(happy|pleased|unhappy)\b",
)
#: A sentence with one of these says that the outcome does not count.
_DISCLAIMS = re.compile(
    r"\b(whatever|regardless|no matter|does not count|never|not (for|because|by)|no reason)\b", re.I
)

_SCOPES = ("In scope", "Not in scope")
_EXAMPLES = "Worked examples"


@dataclass(frozen=True)
class BrokenRule:
    """One fault of a rubric file: where it stands, which rule it breaks, what was found and what to do."""

    file: str
    line: int
    rule: str
    found: str
    cure: str


@dataclass(frozen=True)
class RubricFile:
    """A rubric as lines: `start` is the number of the first line below the front matter (1-based).

    `locked` is the version and hash that a lock holds of this axis.
    """

    name: str
    axis: str
    version: str
    front: dict[str, str]
    lines: tuple[str, ...]
    start: int
    locked: tuple[str, str] | None = None

    def line_of(self, key: str) -> int:
        """The line of a field of the front matter; the first line where it has none."""
        return next((2 + at for at, name in enumerate(self.front) if name == key), 1)

    @property
    def text(self) -> str:
        """What judges are shown."""
        return "\n".join(self.lines).strip() + "\n"

    @property
    def sections(self) -> list[tuple[str, int, list[tuple[int, str]]]]:
        """Heading, its line, and the numbered lines under it, for every level-2 section."""
        sections: list[tuple[str, int, list[tuple[int, str]]]] = []
        for number, line in enumerate(self.lines, self.start):
            if match := re.fullmatch(r"## +(.+?) *", line):
                sections.append((match[1], number, []))
            elif sections:
                sections[-1][2].append((number, line))
        return sections

    def under(self, heading: str) -> list[tuple[int, str]]:
        """The numbered lines that are not empty under a heading; nothing where there is no such section."""
        return [entry for head, _, body in self.sections if head == heading for entry in body if entry[1].strip()]


def lint_rubrics(
    axes: Sequence[str] = (), *, superseded: bool = False, locked: Mapping[str, tuple[str, str]] | None = None
) -> list[BrokenRule]:
    """Findings in the rubrics of some axes, all five if none is named.

    Parameters
    ----------
    axes : sequence of str
    superseded : bool
        Look at superseded versions as well. They stay as they were written; what is found there shows why they went.
    locked : mapping, optional
        Version and hash of each locked rubric, by axis (`axisjudge.protocol.lock.locked_rubrics`).

    Raises
    ------
    InputError
        No such axis, or a file without front matter.
    """
    findings: list[BrokenRule] = []
    for axis in [one_of("axis", axis, AXES) for axis in axes] or AXES:
        paths = sorted((home() / "rubrics" / axis).glob("*.md"), key=lambda path: (len(path.stem), path.stem))
        files = [replace(read_file(path), locked=(locked or {}).get(axis)) for path in paths]
        asked = [file for file in files if superseded or file.front.get("status") != "superseded"]
        findings += [finding for file in asked for finding in (*_among(file, files), *lint_file(file))]
    return findings


def lint_file(file: RubricFile) -> list[BrokenRule]:
    """All findings in one rubric, by line."""
    rules = (_named, _unsaid, _sections, _owners, _claims, _outcomes, _examples, _near_misses, _length, _unbumped)
    return sorted((finding for rule in rules for finding in rule(file)), key=lambda each: (each.line, each.rule))


def read_file(path: Path) -> RubricFile:
    """A rubric file for the lint: only front matter is demanded, so that a broken rubric can be told what breaks it."""
    file = _parsed("/".join(path.parts[-3:]), path.read_text(encoding="utf-8"))
    if file is None:
        raise InputError("/".join(path.parts[-3:]), "must begin with front matter between two lines of ---")
    return file


def _parsed(name: str, content: str) -> RubricFile | None:
    match = re.fullmatch(r"---\n(.*?)\n---\n(.*)", content, flags=re.DOTALL)
    if match is None:
        return None
    front = dict(re.findall(r"(?m)^(\w+): *(.*)$", match[1]))
    _, axis, version = name.removesuffix(".md").rsplit("/", 2)
    return RubricFile(name, axis, version, front, tuple(match[2].splitlines()), match[1].count("\n") + 4)


def _among(file: RubricFile, files: Sequence[RubricFile]) -> Iterator[BrokenRule]:
    """What is wrong among the versions: none or two are current, or two have one text."""
    before = files[: files.index(file)]
    if file is files[-1] and not any(each.front.get("status") == "current" for each in files):
        cure = "axisjudge rubric promote AXIS VERSION, or say so in its front matter"
        yield BrokenRule(file.name, file.line_of("status"), "no current version", file.version, cure)
    if file.front.get("status") == "current":
        for other in (each for each in before if each.front.get("status") == "current"):
            what = f"{other.version} and {file.version}"
            yield BrokenRule(file.name, file.line_of("status"), "two current versions", what, "make one superseded")
    if twin := next((each for each in before if each.text.split() == file.text.split()), None):
        what, cure = f"the text of {twin.version}", "edit it before it judges, or remove the file"
        yield BrokenRule(file.name, file.start, "same text under a new number", what, cure)


def _named(file: RubricFile) -> Iterator[BrokenRule]:
    """The file is named v<k>.md, and its front matter says the same axis and version."""
    if not re.fullmatch(r"v[1-9]\d*", file.version):
        yield BrokenRule(file.name, 1, "not named v1.md, v2.md, ...", f"{file.version}.md", "rename it")
        return
    for key, wanted in (("axis", file.axis), ("version", file.version)):
        if (value := file.front.get(key, "").strip("\"' ")) != wanted:
            cure = f"write {key}: {wanted}, or rename the file"
            yield BrokenRule(file.name, file.line_of(key), f"{key} is not its file's", value or "nothing", cure)


def _unsaid(file: RubricFile) -> Iterator[BrokenRule]:
    """What changed is said."""
    if UNSAID in (change := file.front.get("changes", "")):
        yield BrokenRule(file.name, file.line_of("changes"), "change not said", change, "say it in one sentence")


def _sections(file: RubricFile) -> Iterator[BrokenRule]:
    heads = [head for head, _, _ in file.sections]
    for wanted in SECTIONS:
        if wanted not in heads:
            yield BrokenRule(file.name, file.start, "missing section", wanted, f"add ## {wanted}")
    known = [(SECTIONS.index(head), line, head) for head, line, _ in file.sections if head in SECTIONS]
    for (before, _, _), (rank, line, head) in pairwise(known):
        if rank <= before:
            yield BrokenRule(file.name, line, "section out of order", head, f"the order is {', '.join(SECTIONS)}")


def _owners(file: RubricFile) -> Iterator[BrokenRule]:
    """Every line of Not in scope sends its question to a peer."""
    peers = [f"`{axis}`" for axis in AXES if axis != file.axis]
    for number, line in file.under("Not in scope"):
        if not any(peer in line for peer in peers):
            yield BrokenRule(file.name, number, "question without an owner", line, f"name one of {', '.join(peers)}")


def _claims(file: RubricFile) -> Iterator[BrokenRule]:
    """The Question, and what In scope lists, use no peer's words; prose around a list delimits, it does not claim."""
    scope = file.under("In scope")
    listed = [entry for entry in scope if entry[1].lstrip().startswith(("-", "*"))]
    for number, line in [*file.under("Question"), *(listed or scope)]:
        for peer, terms in OWNED.items():
            word = next(_matches(terms, line), None)
            if peer != file.axis and word and f"`{peer}`" not in line:
                cure = f"leave it to `{peer}`, or say that it is scored there as well"
                yield BrokenRule(file.name, number, f"claims what {peer} owns", word, cure)


def _outcomes(file: RubricFile) -> Iterator[BrokenRule]:
    for head, _, body in file.sections:
        if head in _SCOPES:
            continue
        for number, line in body:
            for sentence in re.split(r"(?<=[.!?;]) +", line):
                word = next(_matches(OUTCOME, sentence), None)
                if word and not _DISCLAIMS.search(sentence):
                    cure = "ask for the step, not for how the run came out"
                    yield BrokenRule(file.name, number, "invites judging the outcome", word, cure)


def _matches(patterns: Iterable[str], text: str) -> Iterator[str]:
    for pattern in patterns:
        if match := re.search(pattern, text, flags=re.IGNORECASE):
            yield match[0]


def _examples(file: RubricFile) -> Iterator[BrokenRule]:
    for lines in _worked(file):
        if _verdict(lines) is None:
            yield BrokenRule(
                file.name, lines[0][0], "example without a verdict", lines[0][1], "end it with Verdict: `...`"
            )


def _near_misses(file: RubricFile) -> Iterator[BrokenRule]:
    """What looks wrong and is right, and what looks right and is wrong: one of them alone teaches judges a lean."""
    near = [lines for lines in _worked(file) if "near-miss" in lines[0][1].lower()]
    ends = {verdict: lines[0] for lines in near if (verdict := _verdict(lines)) is not None}
    missing = [verdict for verdict in ("correct", "incorrect") if verdict not in ends]
    if ends and missing:
        number, heading = next(iter(ends.values()))
        looks = "wrong and is right" if missing[0] == "correct" else "right and is wrong"
        cure = f"add a near-miss that looks {looks}, ending in `{missing[0]}`"
        yield BrokenRule(file.name, number, "near-misses in one direction only", heading, cure)


def _worked(file: RubricFile) -> list[list[tuple[int, str]]]:
    """The worked examples, each as its numbered lines from its heading on."""
    examples: list[list[tuple[int, str]]] = []
    for number, line in file.under(_EXAMPLES):
        if line.startswith("### "):
            examples.append([(number, line)])
        elif examples:
            examples[-1].append((number, line))
    return examples


def _verdict(lines: Sequence[tuple[int, str]]) -> str | None:
    """The verdict that an example ends with."""
    match = re.fullmatch(rf"Verdict: `({'|'.join(VERDICTS)})`", lines[-1][1].strip())
    return match[1] if match else None


def _length(file: RubricFile) -> Iterator[BrokenRule]:
    tokens = -(-len(file.text) // 4)
    if tokens > TOKEN_CEILING:
        length = f"{tokens} tokens of 4 characters"
        yield BrokenRule(file.name, file.start, "too long", length, f"at most {TOKEN_CEILING}")


def _unbumped(file: RubricFile) -> Iterator[BrokenRule]:
    """A version that is not a draft keeps its text; another text is the next version."""
    if file.front.get("status") == "draft":
        return
    cure = "write it as the next version and restore this one"
    committed = _committed(Path("rubrics") / file.axis / f"{file.version}.md")
    if committed is not None and committed.text != file.text and _as_before(committed, file):
        line = _first_difference(committed, file)
        yield BrokenRule(file.name, line, "changed without a new version", "differs from the committed text", cure)
    if file.locked and file.locked[0] == file.version and file.locked[1] != sha256(file.text.encode()).hexdigest():
        yield BrokenRule(file.name, file.start, "changed without a new version", "differs from the locked text", cure)


def _as_before(committed: RubricFile, file: RubricFile) -> bool:
    """Whether the front matter still tells of the committed text."""
    return all(committed.front.get(key) == file.front.get(key) for key in ("version", "changes"))


def _committed(path: Path) -> RubricFile | None:
    """The rubric as it stands in the checkout's last commit, None where no git knows of it."""
    words = ["git", "-C", str(home()), "show", f"HEAD:./{path.as_posix()}"]
    try:
        done = subprocess.run(words, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else _parsed(path.as_posix(), done.stdout.decode(errors="replace"))


def _first_difference(old: RubricFile, new: RubricFile) -> int:
    pairs = enumerate(zip(old.lines, new.lines, strict=False), new.start)
    return next((number for number, (was, now) in pairs if was != now), new.start + min(len(old.lines), len(new.lines)))
