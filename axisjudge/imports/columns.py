"""What the columns of a table are: long (a rating a row) or wide (a column a rater, or a column a question).

Kinds of columns come from `axisjudge.imports.recognise`. Where columns may be raters of one question or questions to
one rater, and neither their names nor what was told decide, both commands are written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, WayOut, one_of
from axisjudge.imports import items
from axisjudge.imports.cells import (
    MOST_NAMED,
    TURNED,
    WHOLE,
    Layout,
    agreeing,
    asked_by_name,
    beside,
    chooses,
    each_by,
    is_scale,
    is_setting,
    judgements_of,
    mended,
    no_share,
    of_one_rater,
    passing,
    to_the_judge,
    turned,
    unlike,
    without_copies,
)
from axisjudge.imports.judgement import DRAW, ImportedFile, ImportOptions
from axisjudge.imports.recognise import (
    HUMAN,
    KIND_WORDS,
    NAMES,
    OF_PEOPLE,
    Recognised,
    alike,
    by_place,
    by_question,
    holds_answers,
    is_text,
    kind_of,
    last_part,
    may_answer,
    named_column,
    recognise,
    same_in_every_row,
    share_words,
    summed_up,
    texts,
    tokens,
    who,
)
from axisjudge.imports.sheets import Columns, ReadTable
from axisjudge.ratings.edge import side
from axisjudge.ratings.scales import number_of, plain
from axisjudge.verdict import AXES, RaterKind, Rating

#: These say something of a rating or its rater, and are none where they stand in the record around it.
_PARTS = ("verdict", "confidence", "rationale", "model", "family", "rater_version", "cited_step_indices", "created_at")
_BY: tuple[tuple[RaterKind, str], ...] = (("human", "people"), ("llm", "models"))
#: A column of more different or longer words is text, not answers.
_MOST_WORDS, _LONGEST = 50, 60


def of_one_level(where: str, sheet: ReadTable, named: Set[str]) -> ReadTable:
    """The table to read: that of the records alone where their columns are `named` as the answers.

    Raises
    ------
    InputError
        Answers are told to be columns of the record and of its rows.
    """
    of_records, of_rows = named & sheet.outer.keys(), (named & sheet.columns.keys()) - sheet.outer.keys()
    if of_records and of_rows:
        rule = f"{', '.join(sorted(of_records))} stands once in each record, {', '.join(sorted(of_rows))} in each row"
        raise InputError(where, f"{rule} of its list", cure="import the two apart")
    return ReadTable(sheet.outer, ("a row is a record, its lists aside",)) if of_records else sheet


def read_table(path: Path, sheet: ReadTable, options: ImportOptions, form: str) -> ImportedFile:
    """Judgements of a table, long or wide.

    Where rows are those of a list in each record, columns of the record are no answers of who rated such a row; where
    they are named as answers, rows are the records.

    Raises
    ------
    InputError
        Columns that are needed are missing (all are named), a cell cannot be read, or an item is rated twice by one.
    """
    named = {*options.kinds, *(name for name, ours in options.columns.items() if ours == "verdict")}
    sheet = of_one_level(str(path), sheet, named)
    columns, outer = sheet.columns, frozenset(sheet.outer)
    if not any(map(len, columns.values())):
        return ImportedFile(form)
    columns, n_copies = (columns, 0) if options.repeats else without_copies(columns)  # two who agree are no copies
    meant = (*options.words, *(key.rpartition(":")[2] for key in options.words), *options.missing)
    columns, changed = mended(columns, meant, "--word-map")
    columns = {**columns, **passing(texts(columns), options.pass_if, options.missing)} if options.pass_if else columns
    if outer and not options.item:
        options = replace(options, item=items.of_a_list(recognise(texts(columns), outer=outer), options))
    columns, known, notes = _with_items(path, columns, options, outer)
    layout = layout_of(str(path), columns, known, options)
    judgements, empty = judgements_of(path, columns, known, layout, options)
    if not options.repeats:
        items.refuse_twice(str(path), known, judgements, layout)
        items.refuse_joined(str(path), known, judgements, layout, options)
    if of_records := [name for name in layout.left_out if name in outer and known.columns[name].kind == "verdict"]:
        listed = ", ".join(of_records[:MOST_NAMED])
        notes.append(f"said once of each record, and of none of its rows: {listed} (their own: --kind COLUMN=llm)")
    if nameless := known.frame[layout.roles["trajectory_id"]].null_count():
        notes.append(f"{layout.roles['trajectory_id']} is empty in {nameless:,} rows, which are items by their number")
    notes += [f"rows that repeat another in every cell: {n_copies}, taken once"] * (n_copies > 0)
    return ImportedFile(form, judgements, notes=(*sheet.notes, *changed, *notes, *empty), columns=layout.table(known))


def _with_items(
    path: Path, columns: Columns, options: ImportOptions, outer: frozenset[str]
) -> tuple[Columns, Recognised, list[str]]:
    """The columns with one that names items: told ones joined, or a number where none does; and what they are."""
    known = recognise(texts(columns), outer=outer)
    made, notes = pl.Series(dtype=pl.String), []
    raters = [
        name for name in (*known.of("rater"), named_column(columns, items.RATERS)) if not holds_answers(known, name)
    ]
    of_models = any(known.columns[name].distinct > 1 for name in columns if plain(name) == "model")
    if options.item:
        if absent := [name for name in options.item if name not in columns]:
            raise InputError("--item", f"names no column of {path.name}; it has {', '.join(columns)}", absent[0])
        if len(options.item) > 1:
            parts = [pl.Series(map(str, columns[name])) for name in options.item]
            made = pl.select(pl.concat_str(parts, separator="/")).to_series().alias(" + ".join(options.item))
    elif not (
        items.tells_by_question(known)
        or {"trajectory_id", "item_id"} & {*options.columns.values()}
        or named_column(columns, NAMES["trajectory_id"])
        or known.item
        or any(known.columns[name].distinct > 1 for name in raters if name)
        or (of_models and any(tokens(name) & items.OF_IDS for name in known.of("cluster")))  # which several have
    ):
        number = pl.int_range(1, known.frame.height + 1)
        made = pl.select(pl.lit(f"{path.stem}/") + number.cast(pl.String)).to_series().alias("row")
        notes = ["no column names what was rated: rows are items, by their number (else: --item COLUMN)"]
    if made.is_empty():
        return columns, known, notes
    whole = {made.name: made, **columns}
    return whole, recognise(texts(whole), outer=outer), notes


def layout_of(where: str, columns: Columns, known: Recognised, options: ImportOptions) -> Layout:
    """What the columns of a table are, from their cells, their names, and what was told.

    Raises
    ------
    InputError
        Columns may be raters or questions, or what a rating needs is not there.
    """
    heads = list(columns)
    roles, rest = _roles(where, columns, options, known)
    named = set(options.kinds) - {options.rater}
    of_records = [name for name in rest if name in known.outer]
    rest = [name for name in rest if name not in known.outer]
    if named & set(heads) and "rater" in roles and options.rater_column is None and not options.columns:
        rest = [*rest, *(roles.pop(name) for name in ("rater", "verdict") if name in roles)]
    long = "verdict" in roles and ("rater" in roles or bool(options.rater))
    if "rater" in roles and not set(options.columns.values()) & {"verdict"}:
        _refuse_answers_for_names(where, known, roles["rater"], options)
        _refuse_rivals(where, known, roles)
    if long:
        return _checked(where, Layout(roles, left_out=(*rest, *of_records)), known, options)
    if "rater" not in roles and not options.rater and "verdict" not in options.columns.values():
        rest = [name for name in heads if name in rest or name == roles.get("verdict")]
        roles = {ours: column for ours, column in roles.items() if ours != "verdict"}
    shares = [name for name in rest if known.columns[name].kind != "confidence" or not no_share(known, name)]
    sides = {name: beside(known, name, shares) for name in rest}
    side_columns = {column for of in sides.values() for column in of.values()}
    by_rater = "rater" not in roles and not options.rater and not any(plain(name) in AXES for name in rest)
    of_answers = {name: known.columns[name] for name in known.of("verdict")}
    labels = {name for name in of_answers if who(name) == "people"}  # of a text that is one, others say the same
    labels = {name for name in labels if any(alike(of_answers[name], of_answers[of]) for of in {*of_answers} - {name})}
    answers = [name for name in rest if name not in side_columns and (name in labels | named or not is_text(name))]
    answers = [name for name in answers if (name in named and known.columns[name].numbers) or _are_answers(known, name)]
    verdicts = [name for name in answers if known.columns[name].kind == "verdict"]
    placed = items.on_texts(known, verdicts)
    if by_rater and placed and not (named or any(who(name) for name in verdicts if name not in placed)):
        items.refuse_placed(where, known, placed, options)
    answers = [name for name in answers if name in named or name in placed or not items.of_candidate(known, name)]
    if by_rater:
        ask = () if options.question or "question" in roles else ("--question", items.named_after(where))
        answers = _raters(where, answers, named, known, options, ask)
        items.refuse_left(where, known, answers, rest, named, ask)
        if any(map(who, answers)) and "model" not in options.columns.values() and (of := roles.pop("model", "")):
            roles.setdefault("agent", of)  # whose answers were rated
    if (
        by_rater
        and len(answers) == 1
        and answers[0] not in named
        and (plain(answers[0]) in NAMES["verdict"] or not who(answers[0]))
    ):
        rest.remove(answers[0])
        alone = Layout({**roles, "verdict": answers[0]}, left_out=(*rest, *of_records))
        return _checked(where, alone, known, options)
    if not by_rater and any(plain(name) in AXES or name in options.axes for name in answers) and "verdict" not in roles:
        answers = [name for name in answers if plain(name) in AXES or name in options.axes or name in options.scales]
    elif not by_rater:
        of_people = not named and who(roles.get("rater", "")) == "people"
        answers = [name for name in answers if not (of_people and who(name) == "judge")]  # none of theirs
        verdicts = [name for name in answers if known.columns[name].kind == "verdict"]
        settings = {name for name in verdicts if is_setting(known, name, verdicts)}
        answers = [name for name in answers if name in options.question or name in {*verdicts} - settings]
    if by_rater:
        free = [name for name in shares if name not in answers]
        rest += to_the_judge(known, roles, sides, answers, free, options.columns)
    used = {*answers, *(column for name in answers for column in sides[name].values())}
    left_out = (*(name for name in rest if name not in used), *of_records)
    layout = Layout(roles, tuple(answers), by_rater, {name: sides[name] for name in answers}, left_out)
    return _checked(where, layout, known, options)


def _raters(
    where: str,
    answers: Sequence[str],
    named: set[str],
    known: Recognised,
    options: ImportOptions,
    ask: tuple[str, ...],
) -> list[str]:
    """The columns that answer one question: those that are named, and those that share answers with a rater's.

    `ask` are the options that say what was asked, where nothing does.

    Raises
    ------
    InputError
        Several columns may be raters or questions.
    """
    if options.kind is None and named & set(answers):
        return [name for name in answers if name in named]
    verdicts = [name for name in answers if known.columns[name].kind == "verdict" or name in named]
    others = [name for name in answers if known.columns[name].kind == "other" and known.columns[name].words]
    sure = [name for name in verdicts if name in named or who(name)]
    people = [name for name in sure if who(name) == "people"]
    if not named and ((asked := by_question(sure) or asked_by_name(sure)) or of_one_rater(sure)):
        _refuse_undecided(where, known, sure, ask, asked)
    if not sure and len(verdicts) > 1 and "question" not in options.columns.values():
        _refuse_undecided(where, known, verdicts, ask, by_place(verdicts))
    if not sure:
        return verdicts
    groups = _groups(known, sure)
    if len(groups) > 1 and not named:
        items.refuse_several(where, groups, known, ask)
    sides = [known.columns[name] for name in sure]
    answering = [
        name
        for name in (*verdicts, *others)
        if name in sure or any(alike(known.columns[name], of, named=False) for of in sides)
    ]
    items.refuse_decided(where, answering, named, ask)
    made = {*summed_up(known.frame, answering, people), *agreeing(known, answering, people)} - named
    return [name for name in answering if name not in made]


def _refuse_rivals(where: str, known: Recognised, roles: Mapping[str, str]) -> None:
    """Refuse a table that names its rater and has the words of one question in several columns: whose is which?"""
    rater, alone = roles["rater"], known.columns[roles["rater"]].distinct == 1
    verdicts = [name for name in known.of("verdict") if known.columns[name].words and name not in roles.values()]
    verdicts = [name for name in verdicts if name not in known.outer]
    verdicts += [roles["verdict"]] if "verdict" in roles and known.columns[roles["verdict"]].words else []
    theirs = {"people", ""} if alone and who(rater) == "people" else {"people"}  # one person said what no judge did
    reviewed = {name for name in verdicts if items.in_record_of(known, name)}
    people = [name for name in verdicts if who(name) in theirs or "correct" in tokens(name) or name in reviewed]
    of_models = {kind_of(each, rater) for each in known.frame[rater].drop_nulls().unique()} == {"llm"}
    if of_models and (sure := [name for name in people if tokens(name) & HUMAN]):  # they said another's label
        people = sure
    words = {name: known.columns[name].words for name in verdicts}
    rivals = {
        name: [one for one in people if one != name and share_words(words[name], words[one])]
        for name in verdicts
        if name not in people
    }
    pairs = [(name, of) for name, of in rivals.items() if of and not all(map(side, known.columns[name].words))]
    one_judge = alone and who(rater) == "judge"
    pairs = pairs or [
        (name, of) for name, of in rivals.items() if of and (one_judge or of_models or who(name) == "judge")
    ]
    if not pairs:
        return
    judge, of = pairs[0]
    rule = f"{judge} and {of[0]} hold the same words, and {rater} may have said either"
    options: tuple[str, ...] = ("--column", f"{judge}=verdict", "--column", f"{of[0]}=ignore", "--kind", "llm")
    is_human = bool(tokens(of[0]) & HUMAN) or of[0] in reviewed
    is_judges = who(judge) == "judge" and who(rater) == "people"
    if alone or (is_judges and is_human):
        options = ("--kind", f"{judge}=llm", "--kind", f"{of[0]}=human")
    clear = is_human and (is_judges or one_judge) and len(pairs) == 1
    asked = () if "question" in roles else ("--question", items.named_after(where))
    ways = [WayOut((*options, *asked), f"without {of[0]}" * (options[0] == "--column"), clear=clear)]
    if is_human and options[0] == "--column":  # each of several judges beside people's word
        both = ("--kind", f"{judge}=llm", "--kind", f"{of[0]}=human", *asked)
        ways = [*items.only_where(known, rater, both), *ways]
    raise InputError(where, rule, cure="say whose they are", ways=ways)


def _refuse_answers_for_names(where: str, known: Recognised, rater: str, options: ImportOptions) -> None:
    """Refuse a column that is named like a rater and has another rater's words, an item a row: names, or answers?"""
    others = [name for name in known.of("verdict") if name not in (rater, *known.outer) and who(name)]
    of = known.columns[rater]  # one number in all rows is somebody's
    others = [name for name in others if alike(of, known.columns[name], named=not of.numbers)]
    given = options.kind or options.kinds or options.rater_column or "rater" in options.columns.values()
    if given or not others or not known.item or of.kind != "verdict":
        return
    kind = ("--kind", "llm") if who(rater) == "judge" else ("--kind", "human", *DRAW)
    asked = () if options.question or known.named("question") else ("--question", items.named_after(where))
    ways = [
        WayOut((*items.kinds_of([rater, *others]), *asked), f"if {rater} holds answers"),
        WayOut(kind, f"if {rater} says who rated"),
    ]
    rule = f"{rater} and {others[0]} hold the same words: they may be two raters' answers, or {rater} says who rated"
    raise InputError(where, rule, ways=ways)


def _groups(known: Recognised, names: Sequence[str]) -> list[list[str]]:
    """Columns by what they answer: those of one group have answers in common."""
    groups: list[list[str]] = []
    for name in names:
        mine = [group for group in groups if any(alike(known.columns[name], known.columns[of]) for of in group)]
        rest = [group for group in groups if group not in mine]
        groups = [*rest, [*(each for group in mine for each in group), name]]
    return sorted(groups, key=len, reverse=True)


def _refuse_undecided(
    where: str, known: Recognised, names: Sequence[str], ask: tuple[str, ...], asked: Mapping[str, Sequence[str]] = {}
) -> None:
    """Refuse columns that may be raters or questions (`asked` by their names), with the command for each."""
    name, listed = items.named_after(where), ", ".join(names[:6]) + ", ..." * (len(names) > 6)
    if any(known.columns[each].of_several for each in names):
        items.refuse_means(where, names, listed)
    people = {kind_of(each) for each in names} == {"human"}
    ways = [
        *(items.of_score(known, names, ask) or [WayOut((*items.kinds_of(names), *ask), "if they are raters")]),
        WayOut(("--rater", name, "--kind", "llm"), "if they are questions to one model"),
        WayOut(("--rater", name, "--kind", "human", *DRAW), "if they are questions to one person"),
    ]
    ways = [ways[-1 if people else -2], ways[0]] if of_one_rater(names) or (asked and people) else ways
    for one, other in items.pairs_alike(known, names):
        if (by := items.in_record_of(known, other)) and not items.in_record_of(known, one):
            pair = ("--kind", f"{one}=llm", "--kind", f"{other}=human")
            ways.insert(0, WayOut((*pair, *ask), f"if a model said {one}, and {by} tells who said {other}"))
    rule = f"{listed} may be raters of one question, or questions to one rater"
    if len(names) > len(asked) > 1:  # several raters of each question
        rule = f"{listed} are several answers to each of several questions"
        ways = [way for base, of in [*asked.items()][:3] for way in _only(base, of)]
    raise InputError(where, rule, ways=ways)


def _only(question: str, raters: Sequence[str]) -> list[WayOut]:
    """The command that takes these raters of a question; two where no name says whether they are models or people."""
    if any(map(kind_of, raters)):
        return [WayOut((*items.kinds_of(raters), "--question", question), f"only {question}")]
    return [
        WayOut((*items.kinds_of(raters, kind), "--question", question), f"only {question}, if {by} said it")
        for kind, by in _BY
    ]


def _roles(where: str, cells: Columns, options: ImportOptions, known: Recognised) -> tuple[dict[str, str], list[str]]:
    """Our field -> column, told or by cells and names, and the columns that are none."""
    heads = list(cells)
    fields = (*NAMES, *Rating.model_fields, items.IGNORED)
    roles: dict[str, str] = {}
    columns = {**options.columns, **({options.rater_column: "rater"} if options.rater_column else {})}
    if options.item:
        columns[" + ".join(options.item)] = "trajectory_id"
    if absent := [name for name in columns if name not in heads]:
        raise InputError(where, f"has no column {', '.join(absent)}; it has", ", ".join(heads))
    for theirs, ours in columns.items():
        ours = "trajectory_id" if ours == "item_id" else one_of(f"--column {theirs}", ours, fields)
        if ours != items.IGNORED:
            roles[ours] = theirs
    taken = {*columns, *(set(options.kinds) & set(heads))}
    kinds = {name: each.kind for name, each in known.columns.items()}
    # a column `model` may say whose answers were rated where others say who rated
    says_who = any(who(name) for name in known.of("verdict") if plain(name) not in NAMES["verdict"])
    made_by = items.makers(known)
    of_others = {name for name in heads if says_who and re.search(r"(^model|_by|_source)$", plain(name))}
    of_others |= {name for name in known.of("rater") if items.of_its_record(known, name)}
    of_others |= {*made_by, *(name for name in heads if re.fullmatch(r"(inputs?|outputs?|metadata)\..*\bmodel", name))}
    for ours, names in NAMES.items():
        names = (*names, *map(last_part, made_by)) if ours == "agent" else names
        named = [name for name in heads if name not in taken and {plain(name), last_part(name)} & {*names}]
        free = [name for name in named if (name not in made_by or ours != "model") and _fits(known, name, ours)]
        if ours == "rater":
            free = [
                name
                for name in free
                if kinds[name] not in ("text", "id")
                if len(own := known.columns[name].words) < 2 or any(not side(x) or x.isdigit() for x in own)
                if name not in of_others and not holds_answers(known, name)
            ]
        if ours == "verdict":
            free = [
                name for name in free if plain(name) == ours or kinds[name] not in ("text", "reason", "id", "rater")
            ]
        inner = [name for name in free if name not in known.outer]
        column = named_column(inner, names) if ours in (*_PARTS, "rater", "rater_kind", "question") else ""
        column = column or ("" if ours in _PARTS else named_column(free, names))
        if ours == "rater" and not column and len(of := [*{*known.of("rater")} - taken - of_others]) == 1:
            column = of[0]
        if ours not in roles and column and not (ours == "rater" and options.rater):
            roles[ours] = column
            taken.add(column)
    item = roles.get("trajectory_id", "")
    shared = item in known.of("cluster") and item not in columns and "rater" not in roles  # a task, by its cells
    if known.item and known.item not in taken and (shared or not item):
        roles = {**({"task_id": item} if shared else {}), **roles, "trajectory_id": known.item}
        taken.add(known.item)
    group, item = roles.get("cluster_id", ""), roles.get("trajectory_id", "")
    if group and group not in columns and item and known.frame.select(item, group).unique()[item].is_duplicated().any():
        taken.discard(roles.pop("cluster_id"))  # an item stands in one; this says something of ratings
    raters = [name for name in heads if name in options.kinds and name not in columns]
    return roles, [name for name in heads if name not in {*taken, *options.kinds}] + raters


def _are_answers(known: Recognised, name: str) -> bool:
    """Whether the cells of a column are answers: numbers, or few and short words."""
    if known.columns[name].numbers:
        return known.columns[name].kind != "other" or bool(known.columns[name].words)
    cells = known.frame[name].drop_nulls().unique()
    if not len(cells) or (cells.str.len_chars() > _LONGEST).any():
        return False
    return sum(number_of(cell) is None for cell in cells) <= min(_MOST_WORDS, max(3, known.frame.height // 2))


def _fits(known: Recognised, name: str, ours: str) -> bool:
    """Whether the cells of a column can be what its name says: a question may be a prompt, a kind that of a task."""
    if ours == "question":
        return _are_answers(known, name)
    if ours not in (*WHOLE, "confidence", "rater_kind", "scale"):
        return True
    cells = known.frame[name].drop_nulls().unique().to_list()
    if ours == "confidence" and no_share(known, name):
        return False
    if plain(name) == ours:  # our own name is meant; a cell that does not fit is refused later
        return True
    if ours == "rater_kind":
        return all(plain(str(cell)) in KIND_WORDS for cell in cells)
    if ours == "scale":
        return all(is_scale(str(cell)) for cell in cells)
    if ours in WHOLE:
        return all((number := number_of(cell)) is not None and number.is_integer() for cell in cells)
    return not (ours == "confidence" and any(number_of(cell) is None for cell in cells))


def _checked(where: str, layout: Layout, known: Recognised, options: ImportOptions) -> Layout:
    """Refuse a table that lacks what a rating needs, with everything that it lacks."""
    lacking = []
    if "trajectory_id" not in layout.roles:
        lacking.append("what was rated (--item COLUMN, or --column THEIRS=trajectory_id)")
    if "verdict" not in layout.roles and not layout.answers:
        lacking.append("the answers (--column THEIRS=verdict)")
    if "rater" not in layout.roles and not options.rater and not layout.by_rater:
        lacking.append("who rated (--rater-column THEIRS, or --rater NAME)")
    asked = "question" in layout.roles or len(options.question) == 1 or (layout.answers and not layout.by_rater)
    if not asked:
        lacking.append("what was asked (--question NAME, or --column THEIRS=question)")
    kinds = _kind_ways(layout, options, known)
    if kinds[0].options and (lacking or layout.by_rater or ("rater" in layout.roles and kinds[0].clear)):
        lacking.append("what the raters are (--kind llm, decision_model, rules or human; or NAME=KIND)")
    if lacking:
        ways = items.of_pairs(known, layout, where) + _ways(where, layout, options, known, asked=bool(asked))
        raise InputError(where, f"does not say {'; '.join(lacking)}", cure="say it" * bool(ways), ways=ways)
    return layout


def _ways(where: str, layout: Layout, options: ImportOptions, known: Recognised, *, asked: bool) -> list[WayOut]:
    """The options that would do, for each column that may be meant; what has no name gets the file's."""
    things: list[tuple[str, ...]] = [()]
    if "trajectory_id" not in layout.roles:
        keys = [layout.roles[name] for name in ("rater", "question") if name in layout.roles]
        tells = items.telling_apart(known.frame, [], keys, known)
        likely = [name for name in (*known.of("id"), *known.of("cluster", "text")) if known.columns[name].distinct > 1]
        may: list[tuple[str, ...]] = [(name,) for name in likely if name not in layout.roles.values()]
        things = [tuple(tells)] if tells else may[:3]
    nothing = "verdict" not in layout.roles and not layout.answers
    verdicts: list[tuple[str, ...]] = [()]
    rivals = [] if nothing or layout.answers else _rivals(layout, known)
    if nothing or rivals:
        likely = [name for name in rivals if not items.of_candidate(known, name)] or may_answer(known, layout.left_out)
        if who(layout.roles.get("rater", "")) == "people":  # they said no judge's
            likely = [name for name in likely if who(name) != "judge"] or likely
        verdicts = [("--column", f"{name}=verdict") for name in likely[:3]]
    rest: tuple[str, ...] = ()
    if "rater" not in layout.roles and not options.rater and (nothing or not layout.by_rater):
        rest += ("--rater", items.named_after(where))
    verdict_of = "" if rivals else layout.roles.get("verdict", "")
    rest += () if asked else ("--question", verdict_of or items.named_after(where))
    whole = []
    kinds = _kind_ways(layout, options, known)
    own_id = things == [()] or (len(things) == 1 and all(tokens(name) & items.OF_IDS for name in things[0]))
    for item, verdict, way in product(things, verdicts, kinds):
        of = [f"{' and '.join(item)} name what was rated"] if len(things) > 1 else []
        of += [f"{verdict[1].removesuffix('=verdict')} holds the answers"] if nothing or len(verdicts) > 1 else []
        when = f"if {' and '.join(filter(None, (*of, way.when)))}" if of or way.when else ""
        clear = bool(own_id) and not (nothing or rivals or when) and way.clear
        whole.append(WayOut((*each_by("--item", item), *verdict, *rest, *way.options), when, clear=clear))
    return whole


def _rivals(layout: Layout, known: Recognised) -> list[str]:
    """The column of answers and others of answers that are filled at least as well, the fullest first; or none."""
    own = known.columns[layout.roles["verdict"]]
    others = (known.columns[name] for name in layout.left_out if name not in known.outer)
    rivals = [each for each in others if each.kind == "verdict" and each.distinct > 1 and each.filled >= own.filled]
    return [each.name for each in sorted([*rivals, own], key=lambda each: -each.filled)] if rivals else []


def _kind_ways(layout: Layout, options: ImportOptions, known: Recognised) -> list[WayOut]:
    """What the raters may be, and what must hold for it: one way where names say it, else a model or people."""
    if options.kind or options.kinds or "rater_kind" in layout.roles:
        return [WayOut((), clear=True)]
    ways = _kinds_by_names(layout, known)
    people = [name for name in layout.answers if who(name) == "people"]
    pairs = ((one, name) for one in people for name in layout.answers if layout.by_rater and name not in people)
    more = [f"{' and '.join(pair)} are two raters' own" for pair in pairs if same_in_every_row(known.frame, *pair)][:1]
    if over := turned(known, layout.answers or [name for ours, name in layout.roles.items() if ours == "verdict"]):
        more.append(f"a word means the same answer whatever {over} says")
    if swapped := [name for name in layout.answers if tokens(name) & TURNED and chooses(known, [name])]:
        more.append(f"a word of {swapped[0]} means the same answer in both orders")
    return [
        way._replace(when=" and ".join(filter(None, (way.when, *more))), clear=False) if more else way for way in ways
    ]


def _kinds_by_names(layout: Layout, known: Recognised) -> list[WayOut]:
    both = [WayOut(("--kind", "llm"), "models said it"), WayOut(("--kind", "human", *DRAW), "people did")]
    column, alone = layout.roles.get("rater", ""), layout.answers[0] if len(layout.answers) == 1 else ""
    verdict = layout.roles.get("verdict", alone)
    is_anybodys = "correct" in tokens(verdict) or (plain(verdict) in NAMES["verdict"] and who(verdict) == "judge")
    is_plain = who(verdict) == "people" and not tokens(verdict) & HUMAN  # a label may be a classifier's
    if not column and (is_anybodys or (is_plain and known.of("confidence"))):
        return both
    if layout.by_rater and any(map(who, layout.answers)):
        sides = {who(name) for name in layout.answers}
        one = "" not in sides and "people" in sides  # columns that models name alone may hold scores of their answers
        stems = {name: frozenset(each.rstrip("0123456789") for each in tokens(name)) for name in layout.answers}
        labels = {own: name for name, own in stems.items() if who(name) == "people" and not own & HUMAN}
        if one and len(labels) > 1:  # of expected and actual, or correct and label, one may be a model's
            ways = [WayOut(items.kinds_of(layout.answers), "people said all")]
            for name in labels.values():
                kinds_if = (f"{each}={'llm' if each == name else kind_of(each) or 'llm'}" for each in layout.answers)
                ways.append(WayOut(each_by("--kind", kinds_if), f"a model said {name}"))
            return ways
        if unsaid := ", ".join(name for name in layout.answers if not kind_of(name)):
            return [WayOut(items.kinds_of(layout.answers, kind), f"{by} said {unsaid}") for kind, by in _BY]
        when = f"{', '.join(layout.answers[:4])} answer one question" if one and unlike(layout.answers) else ""
        each_of = items.kinds_of(layout.answers)
        ways = [WayOut(each_of, when, clear=one and not when)]
        for judge in (name for name in layout.answers if when and who(name) == "judge"):
            own = known.frame[judge].drop_nulls().str.strip_chars().unique().sort()
            meant = [f"{judge}:{word}={other}" for word, other in zip(own, own[::-1], strict=True)]
            ways += [WayOut((*each_of, *each_by("--word-map", meant)), f"{judge} is its opposite")] * (len(own) == 2)
        return ways
    raters = known.frame[column].drop_nulls().str.strip_chars().unique(maintain_order=True) if column else [verdict]
    kinds = {name: kind_of(name, column) for name in raters}
    if {"llm", None} <= {*kinds.values()}:  # models beside people of whom no name says it
        ways = [WayOut(items.kinds_of(raters, of, column), f"the others are {by}") for of, by in _BY]
        return [ways[0]._replace(when="")] if who(column) == "people" else ways
    if last_part(column) == "model":  # whose answers were rated, as well as who rated
        of_others = WayOut(("--column", f"{column}=agent", "--rater", "judge", "--kind", "llm"), f"{column} was rated")
        return [*(way._replace(when=f"{column} says who rated, and {way.when}") for way in both), of_others]
    distinct = [*dict.fromkeys(kinds.values())]
    if len(distinct) == 1 and None not in distinct:
        beside = {*known.of("rater")} & known.outer  # raters of other lists, which are not read
        part = tokens(column) & OF_PEOPLE and len(known.of("rater")) > 1  # with others it names raters of a part
        return [both["human" in distinct]._replace(when="", clear=not (beside or part))]
    if None not in distinct:
        return [WayOut(items.kinds_of(raters, column=column), clear=True)]
    named = {who(column), "" if plain(verdict) in NAMES["verdict"] and column else who(verdict)} - {""}
    return [both["people" in named]._replace(when="")] if len(named) == 1 else both
