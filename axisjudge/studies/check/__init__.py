"""A judge against people in one minute: any table, any question with two words or more, no workbench and no key."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from csv import reader
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from axisjudge.checks import InputError, in_open_unit_interval, one_of, tried
from axisjudge.figures import theme
from axisjudge.figures.markup import template, untypeset
from axisjudge.imports.cells import mended, passing, rows_where
from axisjudge.imports.items import TRIED_ON, refuse_on_its_side, rows_to_try, unsaid_models
from axisjudge.imports.recognise import Recognised, recognise, texts
from axisjudge.imports.sheets import Cells, read_sheet, unpacked
from axisjudge.imports.tracing import SHEETS
from axisjudge.ratings.edge import word
from axisjudge.ratings.scales import one_line
from axisjudge.results import columns as named_columns
from axisjudge.stats.clusters import ALIKE, Alike
from axisjudge.stats.estimate import Decision as Decision
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Kind, Table, kind_of, narwhals_of, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies.check import sentences as say
from axisjudge.studies.check.columns import Roles, roles_of
from axisjudge.studies.check.compute import CHANCE_CORRECTED, COLUMNS, MOST_ABREAST, NAMES, Checked, rows, terms_of
from axisjudge.studies.check.compute import CheckTerms as CheckTerms
from axisjudge.studies.check.compute import JudgeCheck as JudgeCheck
from axisjudge.studies.check.compute import decide as decide
from axisjudge.studies.check.sentences import abreast, heading, report, spoken
from axisjudge.studies.check.sentences import answer as first_finding
from axisjudge.studies.check.votes import Votes, votes_of


def _panels(read: Checked, names: Sequence[str], span: tuple[float, float], ax: theme.Axes | None) -> theme.Axes:
    """A panel a measure, one row a judge."""
    raters = read.compared
    has = next(iter(raters.values()))
    names = [name for name in names if name in has] or ["agreement" if read.judges else "percent"]
    ax = theme.new_axes(3.2 * len(names) + 1.5, 1.1 + 0.28 * len(raters)) if ax is None else ax
    axes = theme.side_by_side(ax, len(names))
    for panel, name in zip(axes, names, strict=True):
        for row, measures in enumerate(raters.values()):
            theme.interval_mark(panel, measures[name], row, size=5)
            if math.isnan(measures[name].estimate):
                where = (sum(span) / 2, row)
                panel.annotate("not given", where, fontsize=theme.SMALL, color=theme.QUIET, ha="center", va="center")
        theme.named_rows(panel, [*raters])
        theme.dress(panel, "")
        panel.set_title(heading(read, name), loc="left", fontsize=10, color=theme.INK)
        panel.set_xlim(*span)
        panel.axvline(0.5 if name == "balanced_accuracy" else 0, color=theme.FAINT, linewidth=1, zorder=0)
    axes[0].set_xlabel(
        f"{read.terms.ci_level:.0%} intervals by {read.votes.by}", fontsize=theme.SMALL, color=theme.QUIET
    )
    return axes[0]


_TITLES = {
    "read": "What was read",
    "judges": "What each judge passes and catches",
    "beside each other": "Beside each other",
    "supported": "What the file supports",
    "next": "Next",
}


def markup(read: Checked, form: Literal["page", "fragment"]) -> str:
    """The whole page, or the same without its frame, for a notebook."""
    return template("axisjudge.studies.check", f"{form}.html.j2").render(**_parts(read))


def _parts(read: Checked) -> dict[str, Any]:
    parts = [(name, _TITLES[name], lines) for name, lines in report(read).items() if lines]
    return {
        "level": f"{read.terms.ci_level:.0%}",
        "source": read.source,
        "counts": [{"judge": judge, "heads": list(rows[0]), "rows": rows} for judge, rows in read.counts.items()],
        "differ": read.disagreements,
        "columns": read.recognised,
        "answer": first_finding(read),
        "parts": parts,
        "measures": [  # one block a measure, one bar a judge
            {"heading": head, "bars": [_bar(*of, signed=signed) for of in figures.items()], "zero": 50 if signed else 0}
            for head, signed, figures in abreast(read)
        ],
    }


def _bar(judge: str, share: Estimate, *, signed: bool) -> dict[str, Any]:
    ends = (share.estimate, share.ci_low, share.ci_high)
    at, low, high = (None if math.isnan(end) else (50 + 50 * end if signed else 100 * end) for end in ends)
    return {"judge": judge, "at": at, "low": low, "high": high, "text": spoken(share), "reason": share.reason}


class Measures(Part, caption="What each judge passes and catches"):
    """Each judge against people: sensitivity, specificity and the rest with intervals by cluster."""

    read: Checked

    @property
    def table(self) -> Table:
        """One row a judge and measure."""
        return table_of(rows(self.read), self.kind, columns=COLUMNS)

    @property
    def answer(self) -> str:
        """What each judge passes and catches; of many judges the span of the bounds."""
        return first_finding(self.read)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """What each judge passes and catches, or how often it agrees where the question has no sides."""
        return _panels(self.read, ("specificity", "sensitivity", "balanced_accuracy"), (0, 1), ax)


class BeyondChance(Part, caption="Agreement with people beyond chance"):
    """The coefficients of agreement of each judge with people."""

    read: Checked

    @property
    def table(self) -> Table:
        """One row a judge and coefficient."""
        names = {NAMES[name][0] for name in CHANCE_CORRECTED}
        kept = [row for row in rows(self.read) if row["measure"] in names or not self.read.judges]
        return table_of(kept, self.kind, columns=COLUMNS)

    @property
    def answer(self) -> str:
        """Whether each judge tells the words apart."""
        return say.beyond_chance(self.read)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """One row a judge, a panel a coefficient."""
        return _panels(self.read, tuple(CHANCE_CORRECTED), (-1, 1), ax)


class RatersBeside(
    Part, name="beside", caption="Judges beside each other, and people beside people, on the same items"
):
    """Pairs of judges and of people on the items that both have; intervals hold for all pairs of judges together."""

    read: Checked

    @property
    def table(self) -> Table:
        """One row a pair and measure: of judges the first minus the second, of people their coefficients."""
        names = ("caught", "passed", "agreement")
        pairs = [
            (*each.judges, f"{name}, difference", gap)
            for each in self.read.differences
            for name in names
            if (gap := getattr(each, name)) is not None
        ]
        pairs += [
            (*pair.people, NAMES[name][0], of) for pair in self.read.people for name, of in pair.coefficients.items()
        ]
        shown = [
            {"rater": one, "other_rater": other, "measure": name, "estimate": of.estimate, "low": of.ci_low}
            | {"high": of.ci_high, "items": of.n_items, "reason": of.reason}
            for one, other, name, of in pairs
        ]
        return table_of(shown, self.kind, columns=("rater", "other_rater", "measure", "estimate", "low", "high"))

    @property
    def answer(self) -> str:
        """Which judge is shown to be above another, and how far people agree with each other."""
        return " ".join(say.beside(self.read))


class SaidOtherwise(Part, name="disagreements", caption="Where judges say something else than people"):
    """Every item on which a judge and people differ, with the judge's reason."""

    read: Checked

    @property
    def table(self) -> Table:
        """One row an item and judge."""
        names = ("item", "judge", "judge_said", "people_said", "reason")
        return table_of(self.read.disagreements, self.kind, columns=names)

    @property
    def answer(self) -> str:
        """On how many items each judge differs, and in which words most."""
        return say.differing(self.read)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """What the first judges said of each word of people, as shares of it."""
        judges = list(self.read.counts.items())[:MOST_ABREAST]
        ax = theme.new_axes(3.0 * len(judges) + 1.0, 1.4 + 0.4 * len(judges[0][1])) if ax is None else ax
        axes = theme.side_by_side(ax, len(judges))
        for panel, (judge, counted) in zip(axes, judges, strict=True):
            columns = [name for name in counted[0] if name != "people"]
            numbers = np.array([[row[name] for name in columns] for row in counted], dtype=float)
            shares = numbers / np.maximum(numbers.sum(axis=1, keepdims=True), 1)
            words = [name.removeprefix(f"{judge}: ") for name in columns]
            theme.plot_heatmap(shares, ax=panel, rows=[row["people"] for row in counted], columns=words)
            for (row, column), n in np.ndenumerate(numbers):
                theme.cell_text(panel, row, column, f"{n:.0f}")
            panel.set_title(judge, loc="left", fontsize=10, color=theme.INK)
        return axes[0]


def _by_terms(read: Checked, sampling: str, risk: float | None, ci_level: float | None) -> Checked:
    """What was read under other terms than it was read with."""
    old = read.terms
    terms = terms_of(sampling or old.sampling, risk or old.risk, ci_level or old.ci_level, read.votes)
    return replace(read, terms=terms if sampling else replace(terms, drawn_for=old.drawn_for))


def measures(
    read: Checked, *, sampling: str = "", risk: float | None = None, ci_level: float | None = None
) -> Measures:
    """Every measure of each judge; the draw of the labels, the risk and the level as it was read where not given."""
    return Measures(_by_terms(read, sampling, risk, ci_level), kind=read.kind)


def beyond_chance(read: Checked, *, ci_level: float | None = None) -> BeyondChance:
    """Agreement of each judge with people beyond chance."""
    return BeyondChance(_by_terms(read, "", None, ci_level), kind=read.kind)


def beside(read: Checked, *, ci_level: float | None = None) -> RatersBeside:
    """Judges beside judges and people beside people on the same items."""
    return RatersBeside(_by_terms(read, "", None, ci_level), kind=read.kind)


class Check(Study):
    """What a table supports, and what it does not: what was read, and the parts made of it."""

    _keys = ("answer", "sentences")
    _flat = ("read",)

    read: Checked
    measures: Measures
    beyond_chance: BeyondChance
    disagreements: SaidOtherwise | None
    beside: RatersBeside | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said, in the order in which the command prints it."""
        return tuple(line for lines in report(self.read).values() for line in lines)

    def page(self) -> str:
        """The whole as one HTML page without scripts."""
        return markup(self.read, "page")

    def _repr_html_(self) -> str:
        return untypeset(markup(self.read, "fragment"))


_OF_TOOLS = (".json", ".jsonl", ".eval")
#: What is compared of a table of ratings as ours are, in which other columns say how they came about.
_OF_RATINGS = named_columns("item_id cluster_id agent question rater rater_kind verdict confidence rationale")
#: Raters that were recognised stand in the next command up to so many; of more it recognises them again.
_MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class CellTable:
    """Cells as texts, null where empty; `kind` is the package whose tables the caller uses.

    Where rows are those of a list in each record, `records` are the records without it.
    """

    frame: pl.DataFrame
    source: str
    kind: Kind = "pandas"
    notes: tuple[str, ...] = ()
    records: pl.DataFrame | None = None

    def where(self, conditions: Iterable[str]) -> CellTable:
        """The rows that meet every condition ``COLUMN=WORD``."""
        return replace(self, frame=rows_where(self.frame, conditions))

    def passing(self, rules: Iterable[str], missing: Iterable[str]) -> CellTable:
        """The table with numbers as pass or fail, by rules ``COLUMN >= NUMBER``; a cell of `missing` has no verdict."""
        return replace(self, frame=self.frame.with_columns(passing(self.frame, rules, missing).values()))

    def with_item(self, names: Sequence[str]) -> tuple[CellTable, str]:
        """The table and the column that names its items: of several, one that joins them."""
        if len(names) < 2:
            return self, names[0] if names else ""
        if absent := [name for name in names if name not in self.frame.columns]:
            cure = f"the columns are {', '.join(self.frame.columns)}"
            raise InputError("--item", "must name a column of the file", absent[0], cure)
        joined = " + ".join(names)
        return replace(self, frame=self.frame.with_columns(pl.concat_str(names, separator="/").alias(joined))), joined


def read_cells(table: Any) -> CellTable:
    """A file (any that `axisjudge.imports.sheets` reads), a pandas, polars or arrow table, or a dict of columns.

    Raises
    ------
    InputError
        Not a table, no rows, columns that share a name or differ in length.
    """
    source = "table"
    notes: tuple[str, ...] = ()
    kind: Kind = "pandas"
    given: Mapping[Any, Cells]
    outer: Mapping[str, Cells] = {}
    if isinstance(table, (str, Path)):
        source = str(Path(table))
        with unpacked(Path(table)) as path:
            if path.suffix in _OF_TOOLS and path.is_file():
                from axisjudge.imports.api import tool_of  # with all readers, which tables do not need

                if (tool := tool_of(path)) and (refused := _export(tool, path, source)):
                    raise refused
            given, notes, outer = read_sheet(path)
            if {*_OF_RATINGS, "repeat"} <= given.keys():
                firsts = [n for n, again in enumerate(given["repeat"]) if str(again) == "0"]
                left = len(given["repeat"]) - len(firsts)
                notes = (*notes, f"{left:,} repeated ratings are left out") if left else notes
                given = {name: [given[name][n] for n in firsts] for name in _OF_RATINGS}
            tool = next((name for name, is_of_tool, _ in SHEETS if is_of_tool(list(given))), "")
            if tool and (refused := _export(tool, path, source)):
                raise refused
    elif isinstance(table, Mapping):
        given = {name: list(values) for name, values in table.items()}
    else:
        kind, frame = kind_of(table), narwhals_of(table, "table")
        given = {name: frame[name].to_list() for name in frame.columns}
    lengths = {str(name): len(cells) for name, cells in given.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(source, "all columns must be of one length", lengths)
    if not any(lengths.values()):
        raise InputError(source, "holds no rows", cure="a header line and one row a rated item are needed")
    records = texts(outer) if outer else None
    return CellTable(texts({str(name): cells for name, cells in given.items()}), source, kind, tuple(notes), records)


def _export(tool: str, path: Path, source: str) -> InputError | None:
    """The refusal of a tool's export that says who rated what; None where it says so of a judge or of people alone."""
    from axisjudge.imports.api import ratings_ways

    rule, ways = f"is an export of {tool}, which says itself who rated what", ratings_ways(path, source, strict=True)
    return InputError(source, rule, cure="take it as ratings", ways=ways) if ways else None


def check(
    table: Any,
    *,
    judges: Sequence[str] | str = (),
    human: Sequence[str] | str = (),
    cluster: Sequence[str] | str = (),
    confidence: Mapping[str, str] | str | None = None,
    item: Sequence[str] | str = (),
    rater: str = "",
    value: str = "",
    words: Sequence[str] = (),
    means: Mapping[str, str] | None = None,
    pass_if: Sequence[str] | str = (),
    positive: str = "",
    scale: str = "",
    missing: Sequence[str] = (),
    where: Sequence[str] = (),
    sampling: str = "unknown",
    alike: Alike = "items",
    risk: float = 0.1,
    ci_level: float = 0.95,
    progress: Callable[[str], None] | None = None,
) -> Check:
    """Check judges against people on any question with two words or more.

    Parameters
    ----------
    table : path, DataFrame or dict of columns
        CSV, TSV, JSON, JSON Lines, Parquet or Excel, packed too; pandas, polars or arrow. A column a rater, or (long)
        one row a rating.
    judges, human : str or sequence of str, optional
        Their columns; in a long table their names. Recognised from names and words where not given; with ``none``
        for a judge people are compared with each other.
    cluster : str or sequence of str, optional
        The column that says which rows belong together (a task, a query); ``none`` for rows on their own. Two where
        rows share both a task and a day (a build, a session).
    confidence : mapping or str, optional
        Judge -> column of its confidence in [0, 1]; a single name for one judge, or for the column of a long table.
    item : str or sequence of str, optional
        The column that names items; several where only together they do.
    rater, value : str, optional
        Of a long table the columns of raters and of what they said.
    words : sequence of str, optional
        The passing and the failing word; or all words of a question with more.
    means : mapping, optional
        ``RATER:WORD`` (``:WORD`` for all) -> the word that it stands for; nothing where it means no verdict.
    pass_if : str or sequence of str, optional
        ``COLUMN >= NUMBER``: from where on a column of numbers passes.
    scale : str, optional
        ``nominal``, or ``ordinal`` (with the words from lowest to highest where they are no numbers).
    positive : str, optional
        The word that a judge should catch, asked against all others.
    missing : sequence of str
        More words that are no verdict, beside empty cells, NA and the like.
    where : sequence of str
        ``COLUMN=WORD``: only these rows.
    sampling : str
        How the labelled items were drawn, where not all are labelled: random, by_judge_verdict (or
        ``by_judge_verdict=JUDGE``), by_human_label, by_key, unknown.
    alike : str
        What counts alike in shares and agreement: each of the ``items``, or each of the ``clusters`` whatever its size.
        Corrected rates, ranks and what it may decide alone take items.
    risk : float
        The error that a judge may make on items that it decides alone.
    ci_level : float
    progress : callable, optional
        Is told what is being done, for large tables.

    Returns
    -------
    Check

    Raises
    ------
    InputError
        What cannot be read, or can be read in two ways, in one line that says how to mend it.

    Examples
    --------
    >>> said = {"task": [1, 1, 2, 2] * 10, "gpt": ["pass", "fail", "pass", "pass"] * 10, "human": ["pass", "fail"] * 20}
    >>> check(said).read.judges[0].measures["sensitivity"].estimate
    0.5
    """
    in_open_unit_interval("risk", risk)
    in_open_unit_interval("ci_level", ci_level)
    report_progress = progress or (lambda _: None)
    cells = read_cells(table)
    report_progress(f"{cells.frame.height:,} rows read; working out what the columns are")
    given: dict[str, Any] = {
        "judge": _names(judges), "human": _names(human), "item": _names(item), "cluster": _names(cluster),
        "rater": rater, "value": value, "words": tuple(words),
        "confidence": {"": confidence} if isinstance(confidence, str) else dict(confidence or {}),
        "means": dict(means or {}), "pass-if": _names(pass_if), "missing": tuple(missing),
        "where": tuple(where), "positive": positive, "scale": scale,
    }  # fmt: skip
    try:
        known, roles, votes, changed = _votes(cells, given)
    except InputError as error:
        report_progress("refused; trying the commands that may help")
        error = _with_ways(error, cells, given)
        if len(error.ways) != 1 or not error.ways[0].clear:
            raise error from None
        taken = error.ways[0].options
        known, roles, votes, changed = _votes(cells, given := _with_options(given, taken))
        cells = replace(cells, notes=(f"no option was given, and the words decide: {shlex.join(taken)}", *cells.notes))
    one_of("alike", alike, ALIKE)
    votes = replace(votes, alike=alike)
    terms = terms_of(sampling, risk, ci_level, votes)
    report_progress(f"{votes.n_items:,} items; comparing")
    named = max(len(roles.judges), len(roles.people)) <= _MOST_NAMED
    asked: dict[str, Iterable[str]] = {
        "judge": roles.judges if named else given["judge"], "human": roles.people if named else given["human"],
        "cluster": given["cluster"] or [roles.cluster], "rater": [roles.rater], "value": [roles.value],
        **{name: given[name] for name in ("item", "pass-if", "missing", "where")},
        "confidence": ["=".join(filter(None, pair)) for pair in given["confidence"].items()],
        "words": [one_line(given["words"]), *map("=".join, given["means"].items())],
        "positive": [given["positive"]], "scale": [given["scale"]], "sampling": [sampling] * (sampling != "unknown"),
        "alike": [alike] * (alike != "items"), "risk": [str(risk)] * (risk != CheckTerms.risk),
        "level": [str(ci_level)] * (ci_level != CheckTerms.ci_level),
    }  # fmt: skip
    read = Checked(
        source=cells.source,
        votes=votes,
        roles=roles,
        known=known,
        terms=terms,
        kind=cells.kind,
        notes=(*cells.notes, *changed),
        options=tuple(f"--{name}={each}" for name, texts in asked.items() for each in texts if each),
    )
    several = len(roles.judges) > 1 or len(roles.people) > 1
    return Check(
        read=read,
        measures=Measures(read, kind=read.kind),
        beyond_chance=BeyondChance(read, kind=read.kind),
        disagreements=SaidOtherwise(read, kind=read.kind) if read.judges else None,
        beside=RatersBeside(read, kind=read.kind) if several else None,
    )


def _votes(cells: CellTable, given: Mapping[str, Any]) -> tuple[Recognised, Roles, Votes, list[str]]:
    """What the columns are, and what they say, by what is told of them; and what was changed in cells that are used."""
    whole = cells
    missing = frozenset(word(each, frozenset()) or "" for each in given["missing"])
    meant = (*given["missing"], *given["words"], *(key.rpartition(":")[2] for key in given["means"]))
    cells = cells.where(given["where"])
    columns, changed = mended(cells.frame.to_dict(), meant, "--words")
    cells, named_by = replace(cells, frame=texts(columns)).passing(given["pass-if"], missing).with_item(given["item"])
    if len(given["cluster"]) > 2 or "none" in given["cluster"][1:]:
        raise InputError("--cluster", "takes one column, or two, or none", ", ".join(given["cluster"]))
    fields = {name: given[name] for name in ("confidence", "rater", "value")}
    fields |= dict(zip(("cluster", "crossed"), given["cluster"], strict=False))
    known = recognise(cells.frame, missing, () if cells.records is None else cells.records.columns)
    roles = roles_of(known, Roles(given["judge"], given["human"], item=named_by, missing=missing, **fields))
    if whole.records is not None and roles.answers <= known.outer:
        return _votes(replace(whole, frame=whole.records, records=None), given)
    meant_words = _meant(given["means"], (*roles.judges, *roles.people))
    more = {name: given[name] for name in ("words", "positive", "scale")}
    used = tuple(f"{name}: " for name in (*roles.answers, roles.item, *roles.confidence.values()))
    notes = [note for note in changed if note.startswith(used)]
    several = known.named("question")
    if several in roles.left_out and len(asked := sorted(known.columns[several].words)) > 1:
        notes.append(f"questions taken together, {several}: {', '.join(asked[:4])} (one: --where {several}=WORD)")
    for models in [] if roles.long else unsaid_models(known, roles.left_out):
        few = ", ".join(known.frame[models].drop_nulls().unique(maintain_order=True).head(4))
        notes.append(f"{models} is taken for what was judged, not for who judged: {few} (one: --where {models}=WORD)")
    return known, roles, _apart_refused(votes_of(known, roles, meant=meant_words, **more)), notes


def _apart_refused(votes: Votes) -> Votes:
    """The votes, refused where judges and people spoke, and never of the same item."""
    judged = ~np.isnan(votes.ratings).all(axis=1)
    if judged.any() and votes.labelled.any() and not (judged & votes.labelled).any():
        rule = f"no {votes.noun} has both a judge's word and people's, so that nothing can be compared"
        counts = f"{judged.sum():,} that {', '.join(votes.judges[:3])} rated, {votes.n_labelled:,} that people labelled"
        raise InputError("--human", f"{rule} ({counts})")
    return votes


#: What a rater's word stands for, as ``--words`` takes it.
MEANT = re.compile(r"(.*:.+?)=([^=]*|[ab]\s*=+\s*[ab])", re.IGNORECASE)


def _with_ways(error: InputError, cells: CellTable, given: Mapping[str, Any]) -> InputError:
    """A refusal with those commands that lead to an answer; else with those that take the file as ratings."""
    some = cells
    if cells.frame.height > TRIED_ON:
        some = replace(cells, frame=cells.frame[rows_to_try(recognise(cells.frame), TRIED_ON)])
    is_file = cells.source not in ("table", "-") and Path(cells.source).is_file()
    if is_file and not any(given[name] for name in ("judge", "human", "item", "rater", "value")):
        refuse_on_its_side(cells.source, recognise(some.frame), "check by_rating.csv")
    if error.ways:
        error = tried(error, lambda options: _votes(some, _with_options(given, options)))
    if error.ways or not is_file or error.where not in ("--human", "--judge", "--item", "ratings"):
        return error
    from axisjudge.imports.api import ratings_ways

    ways = ratings_ways(Path(cells.source), cells.source)
    return InputError(error.where, error.rule, error.found, error.cure, ways)


def _with_options(given: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """What is told, and further options of the command: pairs of a name and a text."""
    more = dict(given)
    for option, text in zip(options[::2], options[1::2], strict=True):
        name = option.lstrip("-")
        if name == "words" and (parts := MEANT.fullmatch(text)):
            more["means"] = {**more["means"], parts[1]: parts[2]}
        elif name == "words":
            more["words"] = next(reader([text], skipinitialspace=True))
        else:
            more[name] = (*more[name], text) if isinstance(more[name], tuple) else text
    return more


def _meant(means: Mapping[str, str], raters: Sequence[str]) -> dict[tuple[str, str], str | None]:
    """(rater, word) -> word, as `axisjudge.studies.check.votes` takes it."""
    meant = {}
    for key, one in means.items():
        rater, _, of = key.rpartition(":")
        if rater and rater not in raters:
            rule = f"names a rater that is not compared; they are {', '.join(raters)}"
            raise InputError("--words", rule, f"{key}={one}")
        meant[rater, word(of) or of.casefold()] = word(one, frozenset({""}))
    return meant


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given)


open_door(check)
