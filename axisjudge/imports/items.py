"""What was rated: the columns whose answer a verdict is on, and those that together name one rated thing.

An id names one thing only where nobody else made what stands under it: rows of a task in which another candidate is
named, or another answer stands, are of other runs, though no rater had two of them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain, combinations, permutations
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, WayOut
from axisjudge.imports.cells import Layout, about, agreeing, each_by, of_people, pass_rules, unlike
from axisjudge.imports.judgement import DRAW, ImportOptions
from axisjudge.imports.recognise import (
    ANSWERED,
    CANDIDATES,
    CLUSTERS,
    CONFIDENCE,
    MADE,
    MEASURED,
    MOST_NAMES,
    NAMES,
    OF_OTHERS,
    OF_ROWS,
    REAL,
    SETTINGS,
    SUMMED_UP,
    TEXTS,
    WHO_RATED,
    KnownColumn,
    Recognised,
    decided,
    holds_answers,
    is_model,
    kind_of,
    last_part,
    named_column,
    same_in_every_row,
    share_words,
    summed_up,
    sums_up,
    tokens,
    who,
)
from axisjudge.imports.recognise import alike as alike_cells
from axisjudge.ratings.edge import alike, words_in
from axisjudge.ratings.scales import plain
from axisjudge.verdict import RaterKind

IGNORED = "ignore"
#: Names of items that name no cluster.
ITEMS = tuple(name for name in NAMES["trajectory_id"] if name not in CLUSTERS)
#: Where a table names its raters in a column, its rows are ratings, and not items by their number.
RATERS = NAMES["rater"][:-1]
OF_IDS = words_in("id idx index key uid")
_PERSONS = words_in("human humans person expert experts reviewer sme annotator worker analyst assessor coder rater")
#: More columns of the same words are questions or items, and scores go over no more points.
_MOST_ALIKE, _MOST_POINTS = 4, 1_000
#: A table on its side has at least so many columns of answers.
_FEWEST_ITEMS = 5
#: So a column is named that holds what was made, and not what a rater wrote of it.
_OF_MAKING = words_in("timestamp time date created seed")
#: Commands that a refusal proposes are tried on so many rows.
TRIED_ON = 20_000
_OF_WORK = ANSWERED | words_in("text summary translation story")


def of_candidate(known: Recognised, name: str) -> bool:
    """Whether a numbered column is of the answer of that number: ``human_score_1`` beside ``response_1``."""
    if (of := re.fullmatch(r".+_(chosen|rejected)", plain(name))) and of[1] in known.columns:
        return True  # score_chosen, score_rejected
    numbered = r"(.+?)[\W_]?(\d|[ab])"
    if (of := re.fullmatch(numbered, plain(name))) is None or of[1] in TEXTS or of[1] in NAMES["rater"]:
        return False  # annotator_1 is somebody, and says nothing of response_1 alone
    others = (re.fullmatch(numbered, plain(other)) for other in known.of("text", "id") if other != name)
    return any(other and other[1] in (*TEXTS, "answer") and other[2] == of[2] for other in others)


def telling_apart(frame: pl.DataFrame, item: Sequence[str], keys: Sequence[str], known: Recognised) -> list[str]:
    """The fewest columns that, with `item` and `keys`, give every row an identity of its own; none if no two do."""
    order = {"candidate": 0, "cluster": 1, "question": 1, "other": 2, "id": 2, "rater": 3}
    free = [each for each in known.columns.values() if each.name in frame.columns and each.name not in (*item, *keys)]
    usable = [each for each in free if each.kind in order and each.distinct > 1 and not tokens(each.name) & _OF_MAKING]
    usable = sorted(usable, key=lambda each: order[each.kind])[:12] + [each for each in free if each.kind == "text"][:3]
    names = [each.name for each in usable if not (is_model(each.name) or tokens(each.name) & WHO_RATED)]  # a judge's
    rows = frame.unique()
    for count in (1, 2):
        for extra in combinations(names, count):
            if not rows.select(*item, *keys, *extra).is_duplicated().any():
                return list(extra)
    near = nearest_id(frame, item, keys, known, most=4)
    return [] if not near or rows.select(*item, *keys, *near).is_duplicated().any() else near


def nearest_id(
    frame: pl.DataFrame, item: Sequence[str], keys: Sequence[str], known: Recognised, most: int = 2
) -> list[str]:
    """Up to `most` columns of ids, tasks or candidates that, with `item` and `keys`, leave fewest rows alike."""
    usable = [name for name in known.of("candidate", "cluster", "id") if name in {*frame.columns} - {*item, *keys}]
    rows = frame.unique()

    nearest: list[str] = []
    for _ in range(most):
        groups = {name: rows.select(*item, *keys, *nearest, name).n_unique() for name in usable if name not in nearest}
        best = max(groups, key=lambda name: groups[name], default="")
        if best and groups[best] > rows.select(*item, *keys, *nearest).n_unique():
            nearest.append(best)
    return nearest


def on_texts(known: Recognised, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Verdict -> the text that it is on, and its own name there, where such verdicts stand on several; else nothing.

    The text stands in the record of the verdict (``gen.fusion.text``, ``gen.fusion.score.human``); its name begins the
    verdict's (``x_response_label``), or ends as that does (``judge_x``, ``answer_x``) where none is people's; or it is
    the last one before, with further verdicts so named after another text (``score``, ``score_1``).
    """
    works = [name for name in known.of("text") if not who(last_part(name)) and not re.search(r"\.\d+$", name)]
    answers = [name for name in known.of("text", "id") if tokens(last_part(name)) & ANSWERED]
    named = [name for name in (*works, *answers) if tokens(last_part(name)) & {*_OF_WORK, *TEXTS}]
    by_end = not any(who(name) == "people" for name in names)
    ends = {re.split(r"[._ ]", name, maxsplit=1)[-1]: name for name in answers if by_end}
    before, texts = "", {}
    for name in known.columns:
        before = name if name in (*works, *answers) else before
        if name in names:
            head, end = re.fullmatch(r"(?:(.*?)[._ ])?(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
            begun = [of for of in answers if re.match(rf"{re.escape(of)}(?![a-zA-Z0-9])", name) and of != name]
            of_end = (ends.get(end, "") if head and not end.isdigit() else "", head)
            texts[name] = of_end if of_end[0] else (before, re.sub(r"[._ ]\d+$", "", name))
            for of in sorted(begun, key=len)[-1:]:
                texts[name] = (of, name.removeprefix(of))
            for at in [each.start() for each in re.finditer(r"\.", name)]:  # the innermost record with a text counts
                if inside := next((each for each in named if each.startswith(name[: at + 1])), ""):
                    texts[name] = (inside, name[at + 1 :])
    of_own: dict[str, list[str]] = {}
    for work, own in texts.values():
        of_own.setdefault(own, []).append(work)
    several = {work for of in of_own.values() if len({*of} - {""}) == len(of) > 1 for work in of}
    return {name: on for name, on in texts.items() if on[0] in several}


def makers(known: Recognised) -> list[str]:
    """The columns of names that say who made the text of a row, so that nobody of them rated it.

    Each text is one maker's, though texts are more than makers; a text that is named for no answer stands in several
    rows, where raters would be several.
    """
    columns = known.columns
    names = [name for name in columns if last_part(name) in CANDIDATES or columns[name].kind == "candidate"]
    works = [name for name in known.of("text", "id") if not who(name)]
    works = [name for name in works if tokens(last_part(name)) & _OF_WORK or columns[name].kind == "text"]

    def made(name: str, work: str) -> bool:
        pairs = known.frame.select(name, work).drop_nulls()
        once = pairs.unique()
        many = tokens(last_part(work)) & _OF_WORK or columns[work].distinct * 2 <= pairs.height
        return bool(many) and not once[work].is_duplicated().any() and once.height > columns[name].distinct

    several = [name for name in names if 1 < columns[name].distinct <= MOST_NAMES]
    return [name for name in several if any(made(name, work) for work in works if work != name)]


def joined(
    known: Recognised, item: Sequence[str], keys: Sequence[str], rater: str = "", *,
    people: Collection[str] = (), known_columns: Collection[str] = (),
) -> list[str]:  # fmt: skip
    """The columns without which an id joins what several made: candidates, and answers, that differ within it.

    A model that is the same in all rows of each rater may be the rater itself, unless one of `people` has it. A text
    that is named for no answer is one where most of its rows with an id share it: what a rater wrote, others did not.
    Of columns `known_columns` it is known what they are.
    """
    frame, columns = known.frame, known.columns
    key = [*dict.fromkeys((*item, *keys))]

    def differs(name: str, within: Sequence[str]) -> bool:
        few = frame.drop_nulls(name).select(*within, name).unique()
        return few.height > few.select(within).n_unique()

    def is_rater(name: str) -> bool:
        of_people = rater and frame.filter(pl.col(rater).str.strip_chars().is_in([*people]))[name].count()
        return bool(rater) and "model" in tokens(name) and not of_people and not differs(name, [rater])

    def is_work(name: str) -> bool:
        counts = frame.drop_nulls(name).group_by(*key, name).len().filter(pl.col(name).n_unique().over(key) > 1)
        shared = columns[name].kind == "text" and (counts["len"] > 1).sum() * 2 > counts.height
        return bool(tokens(last_part(name)) & _OF_WORK) or shared

    free = [name for name in frame.columns if name not in (*key, *known_columns, rater)]
    made_by = [name for name in free if columns[name].kind == "candidate" or last_part(name) in CANDIDATES]
    made = [name for name in free if columns[name].kind in ("text", "id") and not who(name) and name not in made_by]
    parts: list[str] = []
    for name in (*made_by, *made) if frame.select(key).is_duplicated().any() else ():
        if differs(name, [*key, *parts]) and (not is_rater(name) if name in made_by else is_work(name)):
            parts.append(name)
    return parts


def unlike_runs(where: str, item: Sequence[str], made: Sequence[str], rest: tuple[str, ...]) -> InputError:
    """The refusal of an id under which several made something; with `rest` the columns say nothing of that."""
    listed, alone = " and ".join(made), " and ".join(item)
    rule = f"rows of one {alone} differ in {listed}: alone it would join what several made"
    ways = [WayOut(each_by("--item", (*item, *made))), WayOut(rest, f"if {listed} says nothing of what was rated")]
    return InputError(where, rule, cure="name what was rated", ways=ways)


def pairs_alike(known: Recognised, names: Iterable[str]) -> list[tuple[str, str]]:
    """Columns of the same few words, in any language, or of numbers: a judge's and people's, by names if these tell."""
    columns = [known.columns[name] for name in names if known.columns[name].distinct > 1]
    few = [each for each in columns if len(each.words) > 1 or _are_scores(each)]
    pairs = [
        (one, other) for one, other in permutations(few, 2) if one.words & other.words or _in_one_range(one, other)
    ]
    named = [(one.name, other.name) for one, other in pairs]
    told = [
        pair for pair in named if (who(pair[0]), who(pair[1])) in (("judge", "people"), ("judge", ""), ("", "people"))
    ]
    return (told or named)[:4] if len({*chain(*named)}) <= _MOST_ALIKE else []


def real_beside(names: Iterable[str]) -> list[str]:
    """Those that are named as another is but for such a word (``score_real`` beside ``score``)."""
    bare = {name: tokens(name) - REAL for name in names}
    return [name for name, rest in bare.items() if rest < tokens(name) and rest in map(tokens, bare)]


def of_questions(known: Recognised, people: Sequence[str], others: Sequence[str]) -> list[WayOut]:
    """Options that compare by question, where names of `people` tell several: who among `others` answered each.

    A column that no people's name tells apart answers the question of which its name has most (``accuracy gpt-4.1``).
    """
    subjects = {name: about(name) | {each for each in tokens(name) if len(each) == 1} for name in (*people, *others)}
    subjects = {name: frozenset(each for each in of if not each.isdigit()) - REAL for name, of in subjects.items()}
    asked: dict[frozenset[str], list[str]] = {}
    for name in [name for name in people if not tokens(name) & SUMMED_UP] or people:
        asked.setdefault(subjects[name], []).append(name)
    ways = []
    for subject, theirs in asked.items() if len(asked) > 1 else ():
        named = [of for of in others if subject <= subjects[of]]
        named = [of for of in named if not any(subject < more <= subjects[of] for more in asked)]
        if named := [of for of in named if any(alike_cells(known.columns[of], known.columns[one]) for one in theirs)]:
            options = (*each_by("--judge", named), *each_by("--human", theirs))
            ways.append(WayOut(options, f"only {', '.join(theirs)}"))
    return ways if len(ways) > 1 else []


def _are_scores(column: KnownColumn) -> bool:
    """Whether a column of many numbers may be scores: of no name and size of what is measured, counted or numbered."""
    sized = column.numbers is not None and column.numbers[1] - column.numbers[0] <= _MOST_POINTS
    return (
        sized
        and column.kind in ("verdict", "other")
        and not tokens(column.name) & (MEASURED | OF_OTHERS | OF_ROWS | CONFIDENCE)
    )


def _in_one_range(one: KnownColumn, other: KnownColumn) -> bool:
    """Whether the numbers of two columns lie in one range, but for a quarter of it."""
    if not (one.numbers and other.numbers):
        return False
    low, high = zip(one.numbers, other.numbers, strict=True)
    return 4 * (min(high) - max(low)) >= 3 * (max(high) - min(low)) > 0


def rated_by_each(known: Recognised, rater: str, judges: Sequence[str]) -> str:
    """The column of what was rated where a row is one person's answer: a judge said one thing of each.

    Each of its items has a row a person; of several such columns the one of most items.
    """
    free = [each for each in known.columns.values() if each.kind != "verdict" and each.name != rater]
    free = [each for each in free if 1 < each.distinct < each.filled == known.frame.height]
    for each in sorted(free, key=lambda each: -each.distinct):
        once = known.frame.select(each.name, *judges).unique().height == each.distinct
        if once and not known.frame.select(each.name, rater).is_duplicated().any():
            return each.name
    return ""


def in_record_of(known: Recognised, name: str) -> str:
    """The column beside `name` in one record, and in none around it, that names people: they said what stands there."""
    record = name.rpartition(".")[0]
    beside = (of for of in known.columns if record and of != name and of.rpartition(".")[0] == record)
    return next((of for of in beside if last_part(of) in NAMES["rater"] and who(last_part(of)) == "people"), "")


def of_its_record(known: Recognised, name: str) -> bool:
    """Whether who is named in a record said only what stands there: another column has the same words outside it."""
    verdicts = known.of("verdict")
    inside = [of for of in verdicts if in_record_of(known, of) == name]
    return any(
        share_words(known.columns[of].words, known.columns[one].words)
        for one in inside
        for of in verdicts
        if of not in inside
    )


def of_pairs(known: Recognised, layout: Layout, where: str) -> list[WayOut]:
    """Options that take two columns of the same words as a model's and a person's, where none is known for answers."""
    answered = layout.answers or {"verdict", "rater"} & layout.roles.keys()
    pairs = [] if answered else pairs_alike(known, layout.left_out)
    asked = ("--question", named_after(where))
    return [
        WayOut(
            ("--kind", f"{one}=llm", "--kind", f"{other}=human", *asked), f"if a model said {one} and people {other}"
        )
        for one, other in pairs
    ]


def of_score(known: Recognised, names: Sequence[str], ask: tuple[str, ...]) -> list[WayOut]:
    """Options that take the one score of two columns as a model's, and the other as people's."""
    scores = [name for name in names if known.columns[name].fractions]
    if len(names) != 2 or len(scores) != 1:
        return []
    (other,) = {*names} - {*scores}
    kinds = ("--kind", f"{scores[0]}=llm", "--kind", f"{other}=human")
    return [WayOut((*kinds, *ask), f"if a model said {scores[0]} and people {other}")]


def named_after(where: str) -> str:
    """A name for a question or rater that the file does not name: the file's own."""
    return re.sub(r"\W+", "_", Path(where).name.partition(".")[0]).strip("_") or "answers"


def refuse_twice(where: str, known: Recognised, rated: pl.DataFrame, layout: Layout) -> None:
    """Refuse two ratings of one item by one rater on one question, with the columns that would tell them apart."""
    more = ("step_index", "rater_version", "repeat")
    key = ["thing", "question", "rater", *(name for name in more if name in rated.columns)]
    if not alike(rated, *key):
        return
    first = pl.int_range(pl.len()).first().over(key)
    again = rated.with_columns(_before=first).filter(pl.col("_before") < pl.int_range(pl.len()))
    if again.is_empty():
        return
    one = again.row(0, named=True)
    item = layout.roles["trajectory_id"].split(" + ")
    keys = [layout.roles[name] for name in ("rater", "question", "step_index", "repeat") if name in layout.roles]
    by = f"{one['rater']} rated" if one["rater"] else "there are two rows of"
    rule = f"{by} {one['thing']!r} twice (rows {rated['row'][one['_before']]} and {one['row']})"
    ways = [WayOut(("--repeats",), "if they are repeats of one rating")]
    if extra := telling_apart(known.frame, item, keys, known):
        when = f"if {' and '.join(extra)} {'tells' if len(extra) == 1 else 'tell'} what was rated"
        ways.insert(0, WayOut(each_by("--item", (*item, *extra)), when))
        of_setting = last_part(extra[0]) in SETTINGS
        if len(extra) == 1 and (of_setting or unsaid_models(known, extra)):
            ways[not of_setting : not of_setting] = only_where(known, extra[0])
    elif near := nearest_id(known.frame, item, keys, known):
        when = f"if {' and '.join((*item, *near))} name what was rated, and rows of one are repeats"
        ways.insert(0, WayOut((*each_by("--item", (*item, *near)), "--repeats"), when))
    cure = "" if extra else "leave one out, or name by --item what tells them apart"
    raise InputError(where, rule, cure=cure, ways=ways)


def only_where(known: Recognised, column: str, options: tuple[str, ...] = (), most: int = 2) -> list[WayOut]:
    """Options that take the rows of one word of a column alone, for its first words."""
    words = known.frame[column].drop_nulls().str.strip_chars().unique(maintain_order=True).head(most)
    return [WayOut(("--where", f"{column}={each}", *options), f"only {column} {each}") for each in words]


def versions(known: Recognised, ids: Sequence[str], people: Sequence[str]) -> tuple[str, ...]:
    """An id that repeats, and what differs in its rows: a prompt's version, or a model whom people's word is not of."""
    item = named_column(known.columns, ids)
    if not item or not known.frame[item].is_duplicated().any():
        return ()
    several = [name for name, column in known.columns.items() if column.distinct > 1]
    may = [name for name in several if last_part(name) in SETTINGS]
    if not known.frame.select(item, *people).unique()[item].is_duplicated().any():  # else of each model's own answer
        may += [name for name in unsaid_models(known, several) if name not in makers(known)]
    return next(((item, name) for name in may if not known.frame.select(item, name).is_duplicated().any()), ())


def unsaid_models(known: Recognised, names: Iterable[str]) -> list[str]:
    """Columns of several models of which it is not said whether these judged or were judged."""
    of = {name: known.columns[name] for name in names if last_part(name) in ("model", "llm", "model_name")}
    several = {name: column.words for name, column in of.items() if column.kind == "candidate" and column.distinct > 1}
    return [name for name, words in several.items() if words and all(map(is_model, words))]


def refuse_several(where: str, groups: Sequence[Sequence[str]], known: Recognised, ask: tuple[str, ...]) -> None:
    """Refuse columns of raters that answer several questions, with the command for each, and for scores that pass."""
    questions = [
        f"{', '.join(group[:3])} say {', '.join(sorted(known.columns[group[0]].words)[:3]) or 'numbers'}"
        for group in groups[:3]
    ]
    ways = [
        WayOut((*kinds_of(group), *ask), f"only {', '.join(group[:3])}" * bool(n)) for n, group in enumerate(groups[:3])
    ]
    every = [name for group in groups for name in group]
    scores = {name: of for name in every if (of := known.columns[name].numbers) and len(known.columns[name].words) != 2}
    if len(groups) == 2 and scores and not {*map(who, every)} - {"people", "judge"}:
        ways.insert(0, WayOut((*kinds_of(every), *pass_rules(scores), *ask), "if a number passes from there on"))
    raise InputError(where, f"holds several questions: {'; '.join(questions)}", cure="import one at a time", ways=ways)


def refuse_joined(where: str, known: Recognised, rated: pl.DataFrame, layout: Layout, options: ImportOptions) -> None:
    """Refuse an id under which several candidates' answers stand, nobody of them rated twice."""
    roles = layout.roles
    item, fields = roles["trajectory_id"].split(" + "), {column: ours for ours, column in roles.items()}
    keys = [roles[name] for name in ("question", "step_index", "repeat") if name in roles]
    people = rated.filter(of_people(rated, options))["rater"].unique()
    known_columns = {*options.columns, *(name for name, ours in fields.items() if ours not in ("agent", "model"))}
    if made := joined(known, item, keys, roles.get("rater", ""), people=people, known_columns=known_columns):
        rest = each_by("--column", (f"{name}={fields.get(name, 'ignore')}" for name in made))
        raise unlike_runs(where, item, made, rest)


def refuse_placed(where: str, known: Recognised, placed: Mapping[str, tuple[str, str]], options: ImportOptions) -> None:
    """Refuse verdicts on several texts of a row, with the commands for the first texts, and for raters of one."""
    asked = () if options.question else ("--question", named_after(where))
    ways, by = [], makers(known)
    for work in [*dict.fromkeys(work for work, _ in placed.values())][:2]:
        mine = {name: own for name, (of, own) in placed.items() if of == work}
        beside = next((name for name in by if "." in name and name.rpartition(".")[0] == work.rpartition(".")[0]), "")
        of_record = [known.item] if known.item and (beside or known.frame[work].is_duplicated().any()) else []
        item = (*of_record, beside or work)
        on = f"only what is said of {work}"
        if {who(own) for own in mine.values()} >= {"people", "judge"}:
            kinds = {name: {"people": "human", "judge": "llm"}.get(who(own)) for name, own in mine.items()}
            given = each_by("--kind", (f"{name}={kind}" for name, kind in kinds.items() if kind))
            ways.append(WayOut((*given, *asked, *each_by("--item", item)), on))
            continue
        given = (*each_by("--question", mine), "--rater", named_after(where), *each_by("--item", item))
        ways.append(WayOut((*given, "--kind", "human", *DRAW), f"{on}, by people"))
        ways.append(WayOut((*given, "--kind", "llm"), f"{on}, by a model"))
    if len(ways) == 2 * len(placed):
        ways.append(WayOut((*kinds_of([*placed]), *asked), "if they are raters of one"))
    few = ", ".join(f"{name} on {work}" for name, (work, _) in [*placed.items()][:3]) + ", ..." * (len(placed) > 3)
    raise InputError(where, f"holds verdicts on several texts in a row ({few})", cure="take one text", ways=ways)


def kinds_of(names: Iterable[str], unsaid: RaterKind = "llm", column: str = "") -> tuple[str, ...]:
    """Each of these raters (of `column`) with its likely kind, else `unsaid`; of people alone, how they were drawn."""
    kinds = {name: kind_of(name, column) or unsaid for name in names}
    options = each_by("--kind", (f"{name}={kind}" for name, kind in kinds.items()))
    return (*options, *DRAW) if set(kinds.values()) == {"human"} else options


def refuse_means(where: str, names: Sequence[str], listed: str) -> None:
    """Refuse questions whose answers are made of several people's or models', with the command for each way of it."""
    made: dict[str, list[str]] = {}
    for name in names:
        made.setdefault(next(iter(tokens(name) & SUMMED_UP), ""), []).append(name)
    ways = []
    for source, kind in (("people", ("--kind", "human", *DRAW)), ("models", ("--kind", "llm"))):
        for by, of in ((by or "mean", of) for by, of in made.items() if by or len(made) == 1):
            asked = each_by("--question", of) if len(made) > 1 else ()
            ways.append(WayOut((*asked, "--rater", f"{by}_of_{source}", *kind), f"{by} of several {source}"))
    raise InputError(where, f"{listed} hold thirds and the like, as means over several answers do", ways=ways)


def refuse_decided(where: str, names: Sequence[str], named: Set[str], ask: tuple[str, ...]) -> None:
    """Refuse what was decided between people beside their own words, with the commands for either, judges in both."""
    made = [name for name in decided(names) if name not in named]
    own = [name for name in names if who(name) == "people" and name not in made]
    if not made or not own or len(own) + len(made) == len(names) < 3:
        return
    both = [[name for name in names if name not in left] for left in (own, made)]
    kinds = [
        each_by("--kind", (f"{name}={'human' if name in made else kind_of(name) or 'llm'}" for name in each))
        for each in both
    ]
    raise InputError(
        where,
        f"{made[0]} may be made of what {', '.join(own[:4])} said: no further person's",
        ways=[
            WayOut((*kinds[0], *ask), f"{made[0]} in the place of theirs"),
            WayOut((*kinds[1], *ask), "each person's own"),
        ],
    )


def refuse_left(
    where: str, known: Recognised, answers: Sequence[str], rest: Sequence[str], named: Set[str], ask: tuple[str, ...]
) -> None:
    """Refuse people's answers alone where other columns say the same words, or hold the scores of a judge."""
    theirs = frozenset().union(*(known.columns[name].words for name in answers))
    free = [
        name for name in rest if who(name) != "people" and name not in answers and known.columns[name].kind == "verdict"
    ]
    left = [name for name in free if len(own := known.columns[name].words) > 1 and share_words(own, theirs)]
    made = {*summed_up(known.frame, left, answers), *agreeing(known, left, answers)}
    left = [name for name in left if name not in made]
    scores = {name: of for name in free if (of := known.columns[name].numbers) and not known.columns[name].words}
    scores |= {name: of for name in free if (of := known.columns[name].numbers) and known.columns[name].fractions}
    if named or not (left or scores) or not all(who(name) == "people" for name in answers):
        return
    both = [(name, pass_rules({name: scores[name]} if not left else {})) for name in left or scores]
    ways = [WayOut((*kinds_of([name, *answers]), *rules, *ask), f"if a model said {name}") for name, rules in both[:3]]
    ways.append(WayOut((*kinds_of(answers), *ask), f"only {', '.join(answers[:4])}"))
    rule = "hold the same words" if left else "may be a judge's scores and people's words"
    raise InputError(where, f"{', '.join(name for name, _ in both[:4])} and {', '.join(answers[:4])} {rule}", ways=ways)


def refuse_several_texts(placed: Mapping[str, tuple[str, str]], named: set[str], free: Iterable[str]) -> None:
    """Refuse verdicts on several texts of a row of which none is named, with the command for each text."""
    ways = []
    for work in dict.fromkeys(work for work, _ in placed.values()):
        sides = {name: who(own) for name, (of, own) in placed.items() if of == work}
        people, judges = ([name for name, side in sides.items() if side == want] for want in ("people", "judge"))
        if people and judges:
            ways.append(WayOut((*each_by("--judge", judges), *each_by("--human", people)), f"only on {work}"))
    others = any(who(name) == "people" for name in free if name not in placed)
    if not named & placed.keys() and (ways or not others):
        few = ", ".join(f"{name} on {work}" for name, (work, _) in [*placed.items()][:3])
        raise InputError("--human", f"verdicts are on several texts in a row ({few}, ...)", cure="take one", ways=ways)


def of_a_list(known: Recognised, options: ImportOptions) -> tuple[str, ...]:
    """Id of the record and place in its list, where rows are a list's and none says who rated, or what was asked."""
    inner = [name for name in known.frame.columns if name not in known.outer and not holds_answers(known, name)]
    number = next((name for name in inner if name.endswith(".number")), "")
    of = named_column([name for name in known.frame.columns if name in known.outer], NAMES["trajectory_id"])
    themselves = named_column(inner, (*RATERS, *NAMES["question"], *NAMES["trajectory_id"]))
    if not (number and of) or themselves or options.rater_column or {*options.columns.values()} - {"verdict", IGNORED}:
        return ()
    unsure = known.frame[of].null_count() or known.frame.select(of, number).is_duplicated().any()
    return () if unsure or {*inner} & {*known.of("rater", "question")} else (of, number)


def tells_by_question(known: Recognised) -> bool:
    """Whether rows are one question each, and an id beside it tells them apart."""
    asked = named_column(known.columns, NAMES["question"])
    several = asked and known.columns[asked].words and known.columns[asked].distinct > 1
    tells = telling_apart(known.frame, [], [asked], known) if several else []
    return len(tells) == 1 and bool(tokens(tells[0]) & OF_IDS)


def rows_to_try(known: Recognised, most: int) -> pl.Series:
    """The numbers of about `most` rows from the whole table, with an item all of its rows, whatever their order."""
    frame = known.frame.with_row_index("")
    shared = (each for each in known.columns.values() if 1 < each.distinct < each.filled and not each.words)
    of = max(shared, key=lambda each: each.distinct, default=None)
    if of is None or of.distinct * 50 < frame.height:
        return frame[""].gather_every(-(-frame.height // most))
    values = frame[of.name].unique(maintain_order=True).gather_every(-(-frame.height // most))
    return frame.filter(pl.col(of.name).is_in(values.implode()))[""]


def are_persons(known: Recognised, names: Sequence[str]) -> bool:
    """Whether columns are surely several people's own words on one question."""
    own = [{each.rstrip("0123456789") for each in tokens(name)} for name in names]
    clear = all(each & _PERSONS and not each & MADE for each in own) and not unlike(names)
    alike = any(same_in_every_row(known.frame, *pair) for pair in combinations(names, 2))
    return clear and not alike and not any(sums_up(known.frame, name, [*{*names} - {name}]) for name in names)


def cluster_candidates(known: Recognised, item: Sequence[str], taken: Iterable[str]) -> list[str]:
    """Columns that may say which rows belong together: texts, tasks and ids that several rows share."""
    free = [each for name, each in known.columns.items() if name not in {*taken, *item}]
    free = [each for each in free if not each.name.endswith(".number")]  # of a list's members
    shared = [each for each in free if 1 < each.distinct <= 0.7 * each.filled and each.filled == known.frame.height]
    least = {"cluster": 2, "text": 5, "id": 5}
    candidates = [each for each in shared if each.distinct >= least.get(each.kind, each.distinct + 1)]
    return [each.name for each in sorted(candidates, key=lambda each: (each.kind != "cluster", -each.distinct))]


def refuse_on_its_side(source: str, known: Recognised, then: str) -> None:
    """Refuse a table of a row a rater and a column an item, with the commands that write a row a rating and read it.

    One column tells the rows apart and holds or is named for raters; most others have words in common and name nobody.
    """
    free = {name: each for name, each in known.columns.items() if each.words and not who(name)}
    own = [each.name for each in known.columns.values() if each.distinct == each.filled >= known.frame.height - 1 > 0]
    raters = [name for name in own if tokens(name) & WHO_RATED or any(map(kind_of, known.frame[name].drop_nulls()))]
    counts = Counter(word for name, each in free.items() if name not in own[:1] for word in each.words)
    for rater in raters[:1]:
        commonest = counts.most_common(1)[0][0] if counts else ""
        words = frozenset().union(*(each.words for each in free.values() if commonest in each.words))
        answers = [name for name, each in free.items() if each.words <= words and name != rater]
        numbered = tokens(rater) & WHO_RATED and len({re.sub(r"\d+", "", name) for name in answers}) < 3
        if len(answers) < _FEWEST_ITEMS or not (numbered or len(answers) > known.frame.height):
            continue
        rule = f"has a row a rater ({rater}: {', '.join(known.frame[rater].drop_nulls().head(3))}) and a column an item"
        raise InputError(source, rule, cure=_by_rating(Path(source), known, rater, answers, then))


def _by_rating(path: Path, known: Recognised, rater: str, answers: Sequence[str], then: str) -> str:
    """The command that writes such a table with a row a rating, and the one that reads it."""
    if path.suffix not in (".csv", ".tsv"):
        return "write a row a rating: rater, item, verdict"
    head = path.read_bytes().splitlines()[0]
    separator = max((",", ";", "\t", "|"), key=lambda each: head.count(each.encode()))
    at, rest = [*known.columns].index(rater), [name for name in known.columns if name not in (rater, *answers)]
    name = rater if tokens(rater) & WHO_RATED else "rater"
    file, by, of, left = (json.dumps(each, ensure_ascii=False) for each in (str(path), separator, name, rest))
    code = f"import polars as p; t = p.read_csv({file}, separator={by}, infer_schema=False); "
    code += f"t = t.rename({{t.columns[{at}]: {of}}}).drop_nulls({of}).drop({left}); "
    code += f't.unpivot(index={of}, variable_name="item", value_name="verdict").drop_nulls("verdict")'
    code += '.write_csv("by_rating.csv")'
    return f"turn it: python -c {shlex.quote(code)} && axisjudge {then}"
