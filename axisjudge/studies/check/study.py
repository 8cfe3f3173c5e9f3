"""`axisjudge.studies.check`: judges against people on any question, from one table."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from axisjudge.checks import InputError, in_open_unit_interval, one_of
from axisjudge.imports.recognise import recognise
from axisjudge.ratings.words import NO_VERDICT, word
from axisjudge.stats.clusters import ALIKE, Alike
from axisjudge.studies._shared.frames import Table, table_of
from axisjudge.studies._shared.result import Plot, StudyResult
from axisjudge.studies.check.checked import Checked
from axisjudge.studies.check.columns import Roles, roles_of
from axisjudge.studies.check.comparison import differences, people_pairs, ranks
from axisjudge.studies.check.compute import comparable, judge_check, terms_of
from axisjudge.studies.check.figures import plot_agreement, plot_shares
from axisjudge.studies.check.page import markup
from axisjudge.studies.check.reading import read_cells
from axisjudge.studies.check.sentences import answer as first_finding
from axisjudge.studies.check.sentences import report
from axisjudge.studies.check.tables import COLUMNS, rows
from axisjudge.studies.check.votes import votes_of
from axisjudge.studies.check.words import one_line


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Check(Checked, StudyResult):
    """What a table supports, and what it does not, as one result."""

    @property
    def table(self) -> Table:
        """One row a judge and measure, as a DataFrame of the caller's kind (pandas where a file or dict was given)."""
        return table_of(rows(self), self.kind, columns=COLUMNS)

    @property
    def answer(self) -> str:
        """The first finding, in a sentence."""
        return first_finding(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said, in the order in which the command prints it."""
        return tuple(line for lines in report(self).values() for line in lines)

    def plots(self) -> Mapping[str, Plot]:
        """Each judge's shares, and its agreement beyond chance, with their intervals."""
        return {"shares": partial(plot_shares, self), "agreement": partial(plot_agreement, self)}

    def page(self) -> str:
        """The whole as one HTML page without scripts."""
        return markup(self, "page")

    def _repr_html_(self) -> str:
        return markup(self, "fragment") or html.escape(repr(self))


def check(
    table: Any,
    *,
    judges: Sequence[str] | str = (),
    human: Sequence[str] | str = (),
    cluster: str = "",
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
        Their columns; in a long table their names. Recognised from names and words where not given.
    cluster : str, optional
        The column that says which rows belong together (a task, a query); ``none`` for rows on their own.
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
    >>> check(said).judges[0].measures["sensitivity"].estimate
    0.5
    """
    in_open_unit_interval("risk", risk)
    in_open_unit_interval("ci_level", ci_level)
    say = progress or (lambda _: None)
    cells = read_cells(table).where(where).passing(_names(pass_if))
    say(f"{cells.frame.height:,} rows read; working out what the columns are")
    cells, named_by = cells.with_item(_names(item))
    wishes = Roles(
        judges=_names(judges),
        people=_names(human),
        cluster=cluster,
        item=named_by,
        confidence={"": confidence} if isinstance(confidence, str) else dict(confidence or {}),
        rater=rater,
        value=value,
        missing=NO_VERDICT | {word(each, frozenset()) or "" for each in missing},
    )
    known = recognise(cells.frame, wishes.missing)
    roles = roles_of(known, wishes)
    meant = _meant(means or {}, (*roles.judges, *roles.people))
    votes = votes_of(known, roles, words=words, positive=positive, scale=scale, meant=meant)
    one_of("--alike", alike, ALIKE)
    votes = replace(votes, alike=alike)
    terms = terms_of(sampling, risk, ci_level, votes)
    compared = comparable(votes, terms)
    say(f"{votes.n_items:,} items; comparing")
    return Check(
        source=cells.source,
        votes=votes,
        roles=roles,
        known=known,
        terms=terms,
        judges=tuple(judge_check(votes, number, terms) for number in range(len(votes.judges))),
        differences=differences(votes, ci_level) if compared else (),
        ranks=ranks(votes, ci_level) if compared else None,
        people=people_pairs(votes, ci_level),
        kind=cells.kind,
        notes=cells.notes,
        options=(
            *_options(words, positive, missing, where, sampling, cluster),
            *([f"--alike={alike}"] if alike != "items" else []),
            *(f"--words={rater}={one}" for rater, one in (means or {}).items()),
            *(f"--pass-if={rule}" for rule in _names(pass_if)),
            *([f"--scale={scale}"] if scale else []),
            *(f"--item={name}" for name in _names(item)),
        ),
    )


def _meant(means: Mapping[str, str], raters: Sequence[str]) -> dict[tuple[str, str], str | None]:
    """(rater, word) -> word, as `axisjudge.studies.check.votes` takes it."""
    meant = {}
    for said, one in means.items():
        rater, _, of = said.rpartition(":")
        if rater and rater not in raters:
            rule = f"names a rater that is not compared; they are {', '.join(raters)}"
            raise InputError("--words", rule, f"{said}={one}")
        meant[rater, word(of) or of.casefold()] = word(one)
    return meant


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given)


def _options(
    words: Sequence[str], positive: str, missing: Sequence[str], where: Sequence[str], sampling: str, cluster: str
) -> tuple[str, ...]:
    """The caller's choices as the command takes them, for the next one."""
    options = [f"--words={one_line(words)}"] * bool(words) + [f"--positive={positive}"] * bool(positive)
    options += [f"--missing={each}" for each in missing] + [f"--where={each}" for each in where]
    options += [f"--sampling={sampling}"] * (sampling != "unknown") + ["--cluster", "none"] * (cluster == "none")
    return tuple(options)
