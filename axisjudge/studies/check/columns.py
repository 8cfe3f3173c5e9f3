"""Which column is what: `axisjudge.imports.recognise` for a judge and people; two readings are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import polars as pl

from axisjudge.checks import InputError, WayOut
from axisjudge.imports import items
from axisjudge.imports.cells import (
    SIDES,
    TURNED,
    agreeing,
    beside,
    chooses,
    each_by,
    of_bad,
    only_beside,
    pass_rules,
    refuse_turned,
    says_beside,
    turned,
    unlike,
    words_meant,
)
from axisjudge.imports.finishing import refuse_numbered
from axisjudge.imports.recognise import (
    CLUSTERS,
    HUMAN,
    KIND_WORDS,
    LABEL_WORDS,
    MADE,
    MEASURED,
    NAMED_FOR_ROWS,
    NAMES,
    OF_ROWS,
    SETTINGS,
    TRUTH,
    Recognised,
    decided,
    holds_answers,
    in_order,
    is_model,
    kind_of,
    last_part,
    named_column,
    same_in_every_row,
    several_raters,
    share_words,
    summed_up,
    tokens,
    who,
)
from axisjudge.ratings.edge import of_unlike_scales, same_choices, side
from axisjudge.ratings.scales import codes_of_none, number_of, plain
from axisjudge.studies._shared.frames import Floats

#: The column of the numbers of rows.
ROW = "axisjudge row"
#: What stands for judges where people alone are compared.
NOBODY = ("none",)


@dataclass(frozen=True)
class Roles:
    """What the columns are; as a caller's wishes, empty where it is to be recognised.

    In a long table `judges` and `people` are names in the column `rater`. Cells of `missing` hold no verdict. `reasons`
    maps a judge to its reasons; `copies` a column left out to the one that it repeats. `crossed` is a second cluster.
    """

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    cluster: str = ""
    item: str = ""
    confidence: Mapping[str, str] = field(default_factory=dict)
    rater: str = ""
    value: str = ""
    left_out: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    may_cluster: tuple[str, ...] = ()
    crossed: str = ""

    @property
    def answers(self) -> set[str]:
        """The columns that hold verdicts, or say whose they are."""
        return {self.rater, self.value} if self.long else {*self.judges, *self.people}

    @property
    def long(self) -> bool:
        """Whether a row is one rating, and not one item with all its ratings."""
        return bool(self.rater)


def roles_of(known: Recognised, wishes: Roles) -> Roles:
    """Work out what each column is.

    Raises
    ------
    InputError
        A column that is named and not there, or columns that could each be what is sought; the message names them and
        the option that decides.
    """
    groups = [("--cluster", name) for name in (wishes.cluster, wishes.crossed)]
    for option, name in (*groups, ("--item", wishes.item), ("--rater", wishes.rater)):
        if name and name != "none":
            _column(known, option, name)
    roles = _long(known, wishes) if _is_long(known, wishes) else _wide(known, wishes)
    if (of_records := roles.answers & known.outer) and (of_rows := roles.answers - known.outer):
        one, other = (", ".join(sorted(names)[:4]) for names in (of_records, of_rows))
        rule = f"{one} stands once in each record, and {other} in each row of a list in it"
        raise InputError("--judge", rule, cure="import the two apart, and compare their ratings")
    return replace(roles, missing=wishes.missing, crossed=wishes.crossed)


def _wide(known: Recognised, wishes: Roles) -> Roles:
    for option, names in (("--judge", wishes.judges), ("--human", wishes.people)):
        for name in () if names == NOBODY else names:
            _column(known, option, name)
    if both := set(wishes.judges) & set(wishes.people):
        raise InputError("--judge", "a column is a judge or people, not both", sorted(both))
    taken = {*wishes.judges, *wishes.confidence.values(), wishes.cluster, wishes.crossed, wishes.item}
    named = wide_raters(known, people=wishes.people, judges=wishes.judges, taken=taken)
    raters = {*named.judges, *named.people}
    item = wishes.item or (known.item if known.item not in raters else "")
    inside = [name for name in known.of("rater") if items.of_its_record(known, name)]
    of = several_raters(known, {*raters, *inside, item})
    of_people = who(of) == "people" and all(who(name) == "judge" for name in named.judges)  # they said people's column
    if of and not (of_people or wishes.item or wishes.judges):
        _refuse_several(known, of, named.judges, ("--judge", named.judges[0]), f"if {of} is what was rated")
    if not wishes.item and (versions := items.versions(known, items.ITEMS, named.people)):
        when = "if each counts as an item" if last_part(versions[1]) in SETTINGS else f"if {versions[1]} was rated"
        _refuse_several(known, versions[1], named.judges, each_by("--item", versions), when)
    if not wishes.judges and (over := turned(known, named.judges)):
        refuse_turned(known, over, named.judges)
    swapped = [name for name in named.judges if tokens(name) & TURNED and chooses(known, [name])]
    if swapped and not wishes.judges:
        rest = [name for name in named.judges if name not in swapped]
        ways = [WayOut(each_by("--judge", rest), f"without {', '.join(swapped)}")] * bool(rest)
        ways.append(WayOut(each_by("--judge", named.judges), "if a word means the same answer in both orders"))
        raise InputError("--judge", f"{swapped[0]} may choose between the answers the other way round", ways=ways)
    cluster = _cluster(known, wishes, {*raters, item})
    if who(of) == "people" and not wishes.cluster:
        cluster = items.rated_by_each(known, of, named.judges) or cluster
    confidence = _confidences(known, named.judges, wishes)
    reasons = _beside(known, named.judges, "rationale", named.judges)
    used = {*raters, item, cluster, wishes.crossed, *confidence.values(), *reasons.values()}
    left_out = tuple(name for name in known.columns if name not in used)
    may = () if cluster or wishes.cluster else tuple(items.cluster_candidates(known, [item], raters))
    return Roles(
        named.judges, named.people, cluster, item, confidence, left_out=left_out, reasons=reasons,
        copies=named.copies, may_cluster=may,
    )  # fmt: skip


def _refuse_several(known: Recognised, by: str, judges: Sequence[str], options: tuple[str, ...], when: str) -> None:
    """Refuse verdicts of several raters or versions in one column, with the command for each, and `options` for all."""
    names, of = _names_in(known, by), "versions" if last_part(by) in SETTINGS else "raters"
    rule = f"holds verdicts of {len(names)} {of} in one column ({by}: {', '.join(names[:4])})"
    raise InputError(f"column {judges[0]!r}", rule, ways=[*items.only_where(known, by), WayOut(options, when)])


def _is_long(known: Recognised, wishes: Roles) -> bool:
    if wishes.rater or wishes.value:
        return True
    named = (*(() if wishes.judges == NOBODY else wishes.judges), *wishes.people)
    if any(name in known.columns for name in named):
        return False
    rater, value = _rater(known), _value(known)
    if not rater or not value or rater == value or known.columns[value].kind == "text":
        return False
    raters = _names_in(known, rater)
    if not 2 <= len(raters) <= 200 or len(raters) * 2 > known.frame.height:
        return False
    return all(name in raters for name in named) if named else not _wide_judges(known, value, rater)


def _rater(known: Recognised) -> str:
    """The column that names raters: by its name, else the only one whose cells do."""
    others = items.makers(known)
    of = [name for name in known.of("rater") if not (name in others or items.of_its_record(known, name))]
    named = known.named("rater")
    names_raters = not (named in others or holds_answers(known, named) or items.of_its_record(known, named))
    return (named if names_raters else "") or (of[0] if len(of) == 1 else "")


def _value(known: Recognised) -> str:
    """The column of what raters said: by its name, else the only one of verdicts beside one that names raters."""
    rater = _rater(known)
    of = known.of("verdict") if who(rater) == "people" or rater in known.of("rater") else []
    return known.named("verdict") or (of[0] if len(of) == 1 else "")


def _wide_judges(known: Recognised, value: str, rater: str) -> bool:
    """Whether the words of `value` stand in another column too, as in a wide table with a column `model`."""
    named = {value, rater, known.named("question")}
    others = (each for name, each in known.columns.items() if name not in named and each.kind == "verdict")
    return any(share_words(each.words, known.columns[value].words) for each in others)


def _names_in(known: Recognised, column: str) -> list[str]:
    return known.frame[column].drop_nulls().str.strip_chars().unique(maintain_order=True).to_list()


def _long(known: Recognised, wishes: Roles) -> Roles:
    value = _column(known, "--value", wishes.value or _value(known))
    rater = _column(known, "--rater", wishes.rater or _rater(known))
    named = named_column(known.columns, items.ITEMS) or named_column(known.columns, CLUSTERS)
    ids = [name for name in known.of("id", "cluster") if tokens(name) & OF_ROWS and name not in (value, rater)]
    if not wishes.item and not named and len(ids) != 1:
        tells = items.telling_apart(known.frame, [], [rater], known)
        ways = [WayOut(each_by("--item", tells))] if tells else [WayOut(("--item", of)) for of in ids]
        raise InputError("--item", "must name what was rated", cure="name it", ways=ways)
    item = _column(known, "--item", wishes.item or named or ids[0])
    raters = _names_in(known, rater)
    alone = wishes.judges == NOBODY
    people = wishes.people or (tuple(raters) if alone else _long_people(known, rater, raters, wishes))
    others = tuple(name for name in raters if name not in people)
    likely = tuple(name for name in others if kind_of(name) != "human" and not tokens(name) & MADE)
    judges = () if alone else wishes.judges or likely or others
    made = [] if wishes.people or alone else [name for name in people if tokens(name) & MADE]
    if made and len(people) > 1:
        own = [name for name in people if name not in made]
        only = [(each_by("--human", of), f"only {', '.join(of[:4])}") for of in (made, own) if of and judges]
        ways = [WayOut((*options, *each_by("--judge", judges)), when) for options, when in only]
        ways += [WayOut(("--judge", *NOBODY), "to compare people with each other, these too")] * (not judges)
        rule = f"of the people of column {rater!r} some are made of others' words"
        raise InputError("--human", rule, ", ".join(people[:8]), ways=ways)
    if not judges and len(people) < 2:
        raise InputError("--judge", f"column {rater!r} names one person and no judge", cure="nothing can be compared")
    if not wishes.item and (made := items.joined(known, [item], [], rater, people=people, known_columns=(value,))):
        raise items.unlike_runs("--item", [item], made, ("--item", item))
    for option, names in (("--judge", judges), ("--human", people)):
        if absent := [name for name in names if name not in raters]:
            raise InputError(option, f"must name raters of column {rater!r}", absent, f"they are {', '.join(raters)}")
    sure = named_column(known.of("confidence"), tuple(SIDES["confidence"]))  # high and low are no numbers
    confidence_column = wishes.confidence.get("", "") or sure
    confidence = dict.fromkeys(judges, confidence_column) if confidence_column else {}
    cluster = _cluster(known, wishes, {rater, value, item}, item=item)
    reason = known.named("rationale")
    used = {rater, value, item, cluster, wishes.crossed, confidence_column, reason}
    left_out = tuple(name for name in known.columns if name not in used)
    may = () if cluster or wishes.cluster else tuple(items.cluster_candidates(known, [item], {rater, value}))
    return Roles(
        tuple(judges), tuple(people), cluster, item, confidence, rater, value, left_out,
        reasons=dict.fromkeys(judges, reason) if reason else {}, may_cluster=may,
    )  # fmt: skip


def _long_people(known: Recognised, rater: str, raters: Sequence[str], wishes: Roles) -> tuple[str, ...]:
    if kind := known.named("rater_kind"):
        pairs = known.frame.select(rater, kind).drop_nulls().unique().rows()
        human = {name.strip() for name, what in pairs if KIND_WORDS.get(plain(what)) == "human"}
    else:
        kinds = {name: kind_of(name, rater) for name in raters}
        human = {name for name in raters if who(name) == "people" or (all(kinds.values()) and kinds[name] == "human")}
    if wishes.judges:
        human = human or set(raters) - set(wishes.judges)
    refuse_numbered(rater, [] if kind or wishes.judges else raters, human)
    if not human - set(wishes.judges):
        listed = ", ".join(raters[:8])
        may = [name for name in raters if not kind and not is_model(name) and name not in wishes.judges]
        ways = [WayOut(("--judge", *NOBODY), "if all are people")] if may == raters else []
        own = [name for name in may if not tokens(name) & MADE]
        ways += [WayOut(each_by("--human", own), "if all but models are")] * (len(own) > 1 and len(may) < len(raters))
        ways += [WayOut(("--human", name)) for name in may[::-1]]
        rule = f"which raters of column {rater!r} are people?"
        raise InputError("--human", rule, listed, "name them, once each" if may else "all are models", ways)
    return tuple(name for name in raters if name in human and name not in wishes.judges)


def _cluster(known: Recognised, wishes: Roles, taken: set[str], item: str = "") -> str:
    if wishes.cluster:
        return "" if wishes.cluster == "none" else wishes.cluster
    names = [name for name in known.columns if plain(name) in CLUSTERS and name not in taken]
    of_items = known.frame.unique(item, keep="first", maintain_order=True) if item else known.frame
    repeated = [name for name in names if 1 < of_items[name].n_unique() < of_items.height]
    groups = of_items.select(repeated).unique().height if repeated else 0
    if any(of_items[name].n_unique() != groups for name in repeated):
        ways = [WayOut(("--cluster", name), "choose one" * (not n)) for n, name in enumerate(repeated[:3])]
        ways.append(WayOut(("--cluster", "none"), "to take every row as independent"))
        raise InputError("--cluster", f"{', '.join(repeated)} could each say which rows belong together", ways=ways)
    return next(iter(repeated), "")


def repeating_id(roles: Roles) -> str:
    """A column of a wide table that is named like an id and was not taken for one, because its values repeat."""
    of_rows = () if roles.long or roles.item else roles.left_out
    return next((name for name in of_rows if plain(name) in items.ITEMS), "")


def _confidences(known: Recognised, judges: Sequence[str], wishes: Roles) -> dict[str, str]:
    confidences = {}
    for judge, name in wishes.confidence.items():
        judge = judge or (judges[0] if len(judges) == 1 else "")
        if judge not in judges:
            raise InputError("--confidence", "must be JUDGE=COLUMN", f"{judge}={name}", f"judges: {', '.join(judges)}")
        confidences[judge] = _column(known, "--confidence", name)
    rest = [judge for judge in judges if judge not in confidences]
    return confidences | _beside(known, rest, "confidence", {*confidences.values(), *judges})


def _beside(known: Recognised, judges: Sequence[str], ours: str, taken: Iterable[str]) -> dict[str, str]:
    """The column of confidences or reasons that belongs to each judge, by its name; the only one to the only judge."""
    free = [name for name in known.columns if name not in taken and says_beside(known, name, ours)]
    column_of = {judge: of[ours] for judge in judges if ours in (of := beside(known, judge, free))}
    mine = only_beside(known, ours, free) if len(judges) == 1 else ""
    return {judges[0]: mine} if mine else column_of


def _column(known: Recognised, option: str, name: str) -> str:
    if name not in known.columns:
        cure = f"the columns are {', '.join(known.columns)}"
        raise InputError(option, "must name a column of the file", name or "none that is known", cure)
    return name


def wide_raters(
    known: Recognised, *, people: Sequence[str] = (), judges: Sequence[str] = (), taken: Iterable[str] = ()
) -> Roles:
    """People's and judges' columns of a table with a column a rater, and those left out that repeat another.

    Raises
    ------
    InputError
        No column, or several, could be what is sought; the message names them with the option that decides.
    """
    kinds = ("verdict", "other", "cluster")
    free = {
        name: each.words
        for name, each in known.columns.items()
        if each.words
        and each.kind in kinds
        and name not in taken
        and last_part(name) not in NAMED_FOR_ROWS
        and not tokens(name) >= {"annotation", "id"}
        and not items.of_candidate(known, name)
        and not (each.numbers and (last_part(name) in OF_ROWS or (each.kind == "cluster" and not who(name))))
    }
    if not any(who(name) == "people" for name in (*free, *people)):  # their numbers may be more than words are
        of_people = [name for name in known.of("verdict", "other") if who(name) == "people" and name not in taken]
        of_people = [name for name in of_people if known.columns[name].numbers and not tokens(name) & MEASURED]
        free |= dict.fromkeys(of_people, frozenset())
    alone = tuple(judges) == NOBODY
    if placed := items.on_texts(known, [name for name in free if known.columns[name].kind == "verdict"]):
        items.refuse_several_texts(placed, {*people, *judges}, free)
        works = {placed[name][0] for name in (*people, *judges) if name in placed}
        free = {name: words for name, words in free.items() if name not in placed or placed[name][0] in works}
    theirs = tuple(people) or _people(known, free, () if alone else judges)
    if alone and len(theirs) < 2:
        raise InputError("--judge", "none compares people with each other", ", ".join(theirs), "name each by --human")
    if judges:
        return Roles(() if alone else tuple(judges), theirs)
    ours, copies = _judges(known, {name: words for name, words in free.items() if name not in theirs}, theirs)
    made = summed_up(known.frame, ours, theirs)
    if made and len(made) == len(ours):
        rule = f"{made[0]} says what people say wherever they agree, or is named so: it may be made of their words"
        way = WayOut(("--judge", made[0], *each_by("--human", theirs)), "if it is a judge")
        raise InputError("--judge", rule, ways=[way])
    for judge in (ours := tuple(name for name in ours if name not in made)):
        if same := next((person for person in theirs if same_in_every_row(known.frame, judge, person)), ""):
            rule = f"{judge} says the same as {same} in every row, so that one may be made from the other"
            both = WayOut(("--judge", judge, "--human", same), "if two raters said it, name both")
            raise InputError("--judge", rule, ways=[both])
    return Roles(ours, theirs, copies=copies)


def _people(known: Recognised, free: Mapping[str, frozenset[str]], judges: Sequence[str]) -> tuple[str, ...]:
    people = [name for name in free if who(name) == "people" or items.in_record_of(known, name)]
    people = [name for name in people or items.real_beside(free) if name not in judges]
    people = [name for name in people if "target" not in tokens(name) or name.replace("target", "source") not in free]
    people = [name for name in people if known.columns[name].distinct > 1 or last_part(name) not in NAMES["rater"]]
    between = [name for name in decided(free) if name not in judges and len(free[name]) > 1]
    if between:
        others = [of for of in free if of not in between and share_words(free[of], free[between[0]], leave=True)]
        own = [name for name in people if name not in between]
        named = [] if own or judges else [name for name in others if who(name) == "judge"]
        own = own or [name for name in others if named and not who(name)]  # Rev 1 and Rev 2, who may have differed
        if own and ({*others} - {*own} or len(own) > 1):
            sides = [(each_by("--human", of), f"to compare with {', '.join(of[:4])}") for of in (between, own)]
            ways = [WayOut((*of, *each_by("--judge", named)), when) for of, when in sides]
            rule = f"{between[0]} may be made of what {', '.join(own[:4])} said: no judge, and no further person"
            raise InputError("--human", rule, ways=ways)
    if len(people) > 1:  # those that answer what a judge answers
        others = [name for name in free if name not in people]
        of_judges = [*(each for each in judges if each in known.columns), *(of for of in others if who(of) == "judge")]
        theirs = [known.columns[name].words for name in of_judges or others]
        fit = [name for name in people if any(free[name] & words for words in theirs)]
        people = fit or [name for name in people if any(same_choices(of, free[name]) for of in theirs)] or people
        people = sorted({*people} - {*summed_up(known.frame, people, people)}, key=people.index)
    by_stem: dict[str, list[str]] = {}
    for name in people:
        stem = re.sub(r"[\W_]*\w?\d*$", "", re.sub(r"(?<=[\W_])\d+(?=[\W_])", "", name.casefold()))
        by_stem.setdefault(stem, []).append(name)
    numbered = re.compile(r"([\W_]\w|\d+)$|[\W_]\d+[\W_]")
    same = max(by_stem.values(), key=len, default=[])
    several = [name for name in same if numbered.search(name) or tokens(name) <= HUMAN | LABEL_WORDS]
    if people and (len(people) == 1 or several == people):
        return tuple(people)
    if people:
        cure = "name people's column, or several people by --human once each"
        ways = [WayOut(("--human", name)) for name in people[:6]]
        ways[:0] = [WayOut(each_by("--human", several), "several people")] * (len(several) > 1)
        sure = ([name for name in people if tokens(name) & own] for own in (TRUTH, HUMAN))
        if len(people) == 2 and (truth := next((of for of in sure if len(of) == 1), [])):
            (other,) = {*people} - {*truth}
            pair = ("--judge", other, "--human", *truth)
            apart = items.only_where(known, of, pair) if (of := several_raters(known, people)) else []
            ways = [*apart, *ways, *[WayOut(pair, f"to compare {other} with {truth[0]}")] * (not apart)]
        ways = items.of_questions(known, people, [name for name in free if name not in people]) or ways
        raise InputError("--human", f"{', '.join(people)} could each be what people said", cure=cure, ways=ways)
    if empty := [name for name, each in known.columns.items() if not each.filled and tokens(name) & HUMAN]:
        rule = f"no row has what people said: {', '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
        raise InputError("--human", rule, cure="label some rows first")
    verdicts = [name for name in free if known.columns[name].kind == "verdict" and len(free[name]) > 1]
    judged = [name for name in verdicts if who(name) == "judge"]
    rest = [name for name in verdicts if name not in judged]
    alike = [name for name in rest if any(share_words(free[name], free[one]) for one in judged)]
    listed = ", ".join(verdicts[:6]) + ", ..." * (len(verdicts) > 6)
    made = "".join(f"; {name} says who made what was rated, and not who rated it" for name in items.makers(known)[:1])
    if len(verdicts) == 1:
        rule = f"{listed} is the one column of verdicts, and a judge's and people's are compared{made}"
        others = [name for name in free if judged and name != listed and share_words(free[name], free[listed])]
        ways = [WayOut(("--human", name), f"if people said {name}") for name in (others if judged else verdicts)]
        cure = "the other's verdicts are missing in this table" * (not ways)
        raise InputError("--human", rule, cure=cure, ways=ways)
    if verdicts:
        rule = f"no column is recognised as what people said; columns of verdicts are {listed}{made}"
        made_of = summed_up(known.frame, alike, ())
        may = [name for name in alike if name not in made_of] or (verdicts if len(verdicts) == 2 and not judged else [])
        ways = [WayOut(("--human", name), f"if people said {name}") for name in may]
        if asked := items.of_questions(known, may, judged):
            ways = [way._replace(when=f"{way.when}, if people said the others") for way in asked]
        elif judged and len(may) > 1:
            ways.insert(0, WayOut(each_by("--human", may), f"if people said {', '.join(may)}"))
            ways += [WayOut(("--human", name), f"if {name} is people's") for name in made_of]
        one_question = all(share_words(free[name], free[verdicts[0]]) for name in verdicts)
        if not judged and one_question and not unlike(verdicts):
            ways.append(WayOut(("--judge", *NOBODY, *each_by("--human", verdicts)), "people said all"))
            for name in verdicts[::-1] if len(verdicts) > 2 else ():
                rest = [of for of in verdicts if of != name]
                ways.append(WayOut(("--judge", name, *each_by("--human", rest)), f"if {name} alone is a judge"))
        cure = "name by --human what people said" if len(judged) < len(verdicts) else "people's words are missing"
        raise InputError("--human", rule, cure=cure, ways=ways)
    rule = "no column is recognised as what people said, and none holds verdicts"
    pairs = items.pairs_alike(known, known.columns)
    ways = [WayOut(("--judge", one, "--human", other), f"if people said {other}") for one, other in pairs]
    raise InputError("--human", rule, cure=f"the columns are {', '.join(list(known.columns)[:20])}", ways=ways)


def _judges(
    known: Recognised, free: Mapping[str, frozenset[str]], people: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The judges' columns, by the words that people use; and columns left out because they repeat another."""
    theirs = frozenset().union(*(known.columns[name].words for name in people))
    alike = [
        name
        for name, words in free.items()
        if (len(words) > 1 or who(name) == "judge")
        and who(name) != "people"
        and not (tokens(name) & SIDES["confidence"] or (known.columns[name].fractions and len(theirs) == 2))
        and share_words(words, theirs, leave=who(name) == "judge")
    ]
    agree = agreeing(known, alike, people)
    judged = [name for name in alike if who(name) == "judge"]
    words = theirs.union(*(free[name] for name in judged))  # of a column that no name calls a judge
    alike = [name for name in alike if name not in agree and (name in judged or not judged or free[name] & words)]
    if alike and not (fit := [name for name in alike if not all(unlike((name, person)) for person in people)]):
        raise _unlike(known, alike, people)
    alike = fit if alike else []
    judged = [name for name in alike if who(name) == "judge"]
    copies: dict[str, str] = {}
    for one, other in combinations(alike, 2):
        fresh = not {one, other} & copies.keys() and (one in judged) != (other in judged)
        if fresh and same_in_every_row(known.frame, one, other):
            copies |= {one: other} if other in judged else {other: one}
    alike = [name for name in alike if name not in copies]
    lists = {name: re.sub(r"\.\d+(?=\.|$)", "", name) for name in sorted((*alike, *copies))}
    listed = [name for name, of in lists.items() if of != name]
    if len({lists[name] for name in listed}) < len(listed):
        rule = f"{', '.join(listed[:4])} stand at several places of one list: repeats, or answers in another order"
        raise InputError("--judge", rule, cure="take one", ways=[WayOut(("--judge", name)) for name in listed])
    if any(name in judged for name in alike) or len(alike) == 1:
        return tuple(alike), copies
    if alike:
        ways = [WayOut(("--judge", name), "one") for name in alike]
        ways.insert(0, WayOut(each_by("--judge", alike[:6]), "all of them"))
        rule = f"{', '.join(alike)} could each be a judge"
        raise InputError("--judge", rule, cure="name each that is one", ways=ways)
    raise _no_judge(known, people, theirs)


def _unlike(known: Recognised, judges: Sequence[str], people: Sequence[str]) -> InputError:
    """The refusal of judges that by their names say something else than people: the same, or the opposite?"""
    ways = [WayOut(("--judge", name), f"if {name} and {people[0]} answer one question") for name in judges[:3]]
    for name in judges[:3]:
        if len(words := sorted(known.columns[name].words)) == 2:
            meant = [f"{name}:{one}={other}" for one, other in (words, words[::-1])]
            ways.append(WayOut(("--judge", name, *each_by("--words", meant)), f"if {name} is its opposite"))
    rule = f"{', '.join(judges[:3])} and {', '.join(people[:3])} are of unlike things by their names"
    return InputError("--judge", rule, ways=ways)


def _no_judge(known: Recognised, people: Sequence[str], theirs: frozenset[str]) -> InputError:
    """The refusal where no column uses people's words."""
    in_words = all(number_of(each) is None for each in theirs)
    scores = [
        name
        for name, each in known.columns.items()
        if each.numbers
        and name not in people
        and not (last_part(name) in OF_ROWS or items.of_candidate(known, name))
        and (each.kind == "verdict" or (who(name) == "judge" and not tokens(name) & MEASURED))
        and (
            each.fractions
            or not each.words
            or (len(theirs) > 2 and of_unlike_scales(each.words, theirs))
            or ((in_words or theirs <= {"0", "1"}) and len(each.words) > 2)  # 1 to 5 beside approved and rejected
        )
    ]
    ends = {name: of for name in people if (of := known.columns[name].numbers) and len(theirs) != 2}
    listed = ", ".join(sorted(theirs, key=in_order)[:6]) or "numbers"
    if scores:
        rule = f"{', '.join(scores[:4])} {'holds' if len(scores) == 1 else 'hold'} numbers, where people said {listed}"
        rules = ("--judge", scores[0], *pass_rules({scores[0]: known.columns[scores[0]].numbers or (0, 1)} | ends))
        ways = [WayOut(rules)]
        if len(theirs) == 2 and in_words and not any(map(side, theirs)):  # safe and unsafe
            fails = [bad] if (bad := of_bad(sorted(theirs))[0]) else sorted(theirs)
            meant = [(f"{scores[0]}:fail={one}", f"{scores[0]}:pass={min(theirs - {one})}") for one in fails]
            whens = (f"if {one} is what fails" for one in fails)
            ways = [WayOut((*rules, *each_by("--words", of)), when) for of, when in zip(meant, whens, strict=True)]
        if codes := codes_of_none(theirs):
            ways = [WayOut(each_by("--missing", codes), f"if {', '.join(codes)} is no answer")]
        return InputError("--judge", rule, cure="say from where on a number passes", ways=ways)
    others = [
        name
        for name, each in known.columns.items()
        if len(each.words) > 1 and name not in people and each.kind == "verdict" and who(name) == "judge"
    ]
    if others:
        own = sorted(known.columns[others[0]].words, key=in_order)
        few = ", ".join(own[:4]) + ", ..." * (len(own) > 4)
        rule = f"no column has the words that people used ({listed}); {others[0]} says {few}"
        ways = words_meant(others[0], own, theirs, alone=len(others) == 1)
        words = known.columns[others[0]].words
        may = [name for name in known.of("verdict") if name not in people and not who(name)]
        may = [name for name in may if share_words(known.columns[name].words, words)]
        ways += [WayOut(("--judge", others[0], "--human", of), f"if {of} is what to compare with") for of in may[:2]]
        if len(ends) == len(people) and (not theirs or all(number_of(each) is None for each in own)):
            rule = f"people's {', '.join(people[:4])} holds numbers, where {others[0]} says {few}"
            ways = [WayOut((*each_by("--judge", others), *pass_rules(ends)))]
        if len(theirs) == 1 and (saying := [name for name in others if theirs < known.columns[name].words]):
            rule = f"people said {listed} in every row, so that only how often a judge said it can be told"
            ways = [WayOut((*each_by("--judge", saying), *each_by("--human", people)))]
        return InputError("--judge", rule, cure="say what they mean" * (len(theirs) != 1), ways=ways)
    rest = {name: each for name, each in known.columns.items() if name not in people}
    rows = [name for name, each in rest.items() if last_part(name) in NAMED_FOR_ROWS or each.kind == "text"]
    if rows := [name for name in rows if share_words(rest[name].words, theirs, leave=True)]:
        at = f"{', '.join(rows[:4])}, which is named for rows or texts"
        ways = [WayOut(("--judge", name), f"if {name} is the judge") for name in rows]
        return InputError("--judge", f"people's words ({listed}) stand elsewhere only in {at}", ways=ways)
    rule = f"only people's words are here ({', '.join(people[:4])} say {listed}): no other column has them"
    judges = [
        name
        for name, each in rest.items()
        if len(each.words) > 1 and (each.kind == "verdict" or (each.kind == "other" and any(map(side, each.words))))
    ]
    cure = f"the columns of few words are {', '.join(judges[:6])}" if judges else "a judge's column is missing"
    words_of = {name: sorted(known.columns[name].words, key=in_order) for name in judges[:3]}
    ways = [way for name, own in words_of.items() for way in words_meant(name, own, theirs)]
    if len(people) > 1:
        clear = not judges and items.are_persons(known, people)
        when = "" if clear else "to compare people with each other"
        ways.append(WayOut(("--judge", *NOBODY, *each_by("--human", people)), when, clear=clear))
    return InputError("--judge", rule, cure=cure, ways=ways)


def confidence_of(table: pl.DataFrame, judge: str, roles: Roles) -> Floats:
    """A judge's confidence in each row, NaN where it gave none."""
    if (name := f"confidence of {judge}") not in table.columns:
        return np.full(table.height, np.nan)
    cells = table[name].str.strip_chars()
    numbers = cells.cast(pl.Float64, strict=False)
    where = f"column {roles.confidence[judge]!r}, row"
    if (bad := (numbers.is_null() & cells.is_not_null()).arg_true()).len():
        cure = "name another column; an empty cell says that there is none"
        raise InputError(f"{where} {table[ROW][bad[0]]}", "a confidence must be a number", cells[bad[0]], cure)
    if (bad := ((numbers < 0) | (numbers > 1)).arg_true()).len():
        cure = "divide by 100, or write 87%"
        raise InputError(f"{where} {table[ROW][bad[0]]}", "a confidence must lie in [0, 1]", cells[bad[0]], cure)
    return numbers.fill_null(float("nan")).to_numpy()
