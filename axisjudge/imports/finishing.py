"""From judgements of other tools to ratings: who rated, of which kind and family, and on which scale."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.imports.judgement import ImportOptions, Judgement
from axisjudge.imports.recognise import likely_kind
from axisjudge.labels.decisions import OPEN
from axisjudge.labels.own import OF_RUN, item_of, word_cure
from axisjudge.ratings.edge import ITEM_ID, LISTS, MOST_WORDS, completed, sides_of
from axisjudge.ratings.scales import checked_scale, nominal_of, number_of, on_scale, recognised_scale, word_of
from axisjudge.verdict import AXES

_NOTHING = (None, "")
#: A record or list written into one cell.
_SEVERAL = re.compile(r"\{.*:.*\}|\[.*,.*\]", re.DOTALL)
#: Verdict and value of an answer on its scale.
_Answer = tuple[str | None, float | None]
_NO_ANSWER: _Answer = (None, None)


def ratings_of_judgements(judgements: Sequence[Judgement], options: ImportOptions) -> tuple[pl.DataFrame, list[str]]:
    """The judgements as a ratings table, and what was recognised, in words.

    Raises
    ------
    InputError
        A rater, a kind or a question is not said, or a word lies on no scale of its question.
    """
    asked = _asked(judgements, options)
    kinds = _kinds(judgements, options)
    words = [_mapped(one.word, options) for one in judgements]
    scales, notes = _scales(judgements, asked, words, options)
    notes += _of_sides(judgements, asked, words, kinds, options)
    pairs = list(zip(asked, words, strict=True))
    meant = {(question, word): _meant(scales[question], word) for question, word in set(pairs)}
    answers = [meant[pair] if one.lost is None else _NO_ANSWER for one, pair in zip(judgements, pairs, strict=True)]
    raters = [_rater(one, options) for one in judgements]
    columns = {
        **_columns(judgements),
        **_things(judgements),
        "question": asked,
        "scale": [scales[question] for question in asked],
        "rater": raters,
        "rater_kind": [kinds[rater] for rater in raters],
        "status": [one.lost or (None if word is None else "ok") for one, word in zip(judgements, words, strict=True)],
        "verdict": [verdict for verdict, _ in answers],
        "value": [value for _, value in answers],
    }
    table = _with_raters(_with_items(completed(columns), options), options)
    again = pl.int_range(pl.len(), dtype=pl.Int64).over("item_id", "question", "rater", "rater_version")
    if several := table.select(again=again).filter(pl.col("again") == 1).height:
        notes.append(f"rated several times by one rater: {several}; the later ratings are repeats 1, 2 and so on")
    return table.with_columns(repeat=pl.coalesce("repeat", again)), notes


def _asked(judgements: Sequence[Judgement], options: ImportOptions) -> list[str]:
    """The question of each judgement; what is not said anywhere is asked for, all at once."""
    lacking = []
    if any(one.question is None for one in judgements) and len(options.question) != 1:
        lacking.append("what was asked (--question NAME)")
    if nobody := [one for one in judgements if one.rater is None and options.rater is None]:
        lacking.append("who rated (--rater NAME, or --rater-column COLUMN)")
    if lacking:
        where = (nobody or judgements)[0].where.partition(":")[0]
        raise InputError(where, f"does not say {' nor '.join(lacking)}")
    told = [one.question if one.question is not None else options.question[0] for one in judgements]
    ours = {question: options.question_of(question) for question in set(told)}
    return [ours[question] for question in told]


def _rater(one: Judgement, options: ImportOptions) -> str:
    return one.rater if one.rater is not None else str(options.rater)


def _kinds(judgements: Iterable[Judgement], options: ImportOptions) -> dict[str, str]:
    """What each rater is: told by name, else what the file says, else told for all."""
    said: defaultdict[str, set[str]] = defaultdict(set)
    for one in judgements:
        said[_rater(one, options)] |= {one.kind} if one.kind else set()
    kinds, unsaid = {}, []
    for rater, known in said.items():
        if rater in options.kinds:
            kinds[rater] = options.kinds[rater]
        elif len(known) > 1:
            rule = f"is {' and '.join(sorted(known))} in these files"
            raise InputError(f"rater {rater}", rule, cure=f"import them apart, or say --kind {rater!r}=KIND")
        elif known or options.kind:
            kinds[rater] = next(iter(known), None) or str(options.kind)
        else:
            unsaid.append(rater)
    if unsaid:
        each = shlex.join([part for name in unsaid[:6] for part in ("--kind", f"{name}={likely_kind(name)}")])
        more = f", and so on for {len(unsaid) - 6} more" if len(unsaid) > 6 else ""
        cure = f"add for each whether it is llm, decision_model, rules or human: {each}{more}; or --kind llm for all"
        raise InputError("kind of raters", "is not said and never guessed", ", ".join(unsaid), cure)
    return kinds


def _mapped(word: object, options: ImportOptions) -> str | None:
    """The word as ours, None where it means that no rating came."""
    if word in _NOTHING or word != word or (text := word_of(word)) in options.missing or text == "":
        return None
    return options.words.get(text, text)


def _scales(
    judgements: Sequence[Judgement], asked: Sequence[str], words: Sequence[str | None], options: ImportOptions
) -> tuple[dict[str, str], list[str]]:
    """Question -> scale, options or recognised, and what was recognised in words."""
    used: dict[str, list[str]] = {question: [] for question in asked}
    for question, word in dict.fromkeys(zip(asked, words, strict=True)):
        used[question] += [] if word is None else [word]
    if strangers := [name for name in options.scales if name not in used and name != "*"]:
        raise InputError("--scale", f"names a question that is not here; there are {', '.join(used)}", strangers[0])
    stated: defaultdict[str, set[str]] = defaultdict(set)
    for question, one in zip(asked, judgements, strict=True):
        if scale := one.fields.get("scale"):
            stated[question].add(checked_scale(one.where, scale))
    scales, notes = {}, []
    for question, answers in used.items():
        if several := [word for word in answers if _SEVERAL.fullmatch(word)]:
            cure = "write them as rows or columns of their own first"
            raise InputError(question, "has cells of several answers each, and one is due", several[0], cure)
        scale = options.scale_of(question) or (next(iter(stated[question])) if len(stated[question]) == 1 else None)
        if scale is None and not answers:
            scale = "nominal"
        elif scale is None:
            scale = recognised_scale(question, answers)
            notes.append(_recognised(question, scale, answers))
        elif scale == "nominal":
            scale = nominal_of(answers)
        if off := [word for word in answers if on_scale(scale, word) is None]:
            every = zip(judgements, asked, words, strict=True)
            where = next(one.where for one, *pair in every if pair == [question, off[0]])
            _refuse_words(where, question, scale, off)
        scales[question] = scale
        notes += _spellings(question, answers) if scale.startswith("nominal") else []
    return scales, notes


#: Raters with fewer words than this may have said other ones by chance.
_FEWEST_WORDS = 5


def _of_sides(
    judgements: Sequence[Judgement],
    asked: Sequence[str],
    words: Sequence[str | None],
    kinds: dict[str, str],
    options: ImportOptions,
) -> list[str]:
    """Words that one side, people or judges, never says, in words; and which of two words is read as failing.

    Raises
    ------
    InputError
        Two raters of one question have no word in common.
    """
    used: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for one, question, text in zip(judgements, asked, words, strict=True):
        if text is not None and one.lost is None:
            used[question][_rater(one, options)][text] += 1
    notes = []
    for question, by_rater in used.items():
        if any(len(said) > MOST_WORDS for said in by_rater.values()) or options.scale_of(question):
            continue
        sides: dict[str, set[str]] = {"people": set(), "judges": set()}
        for rater, said in by_rater.items():
            sides["people" if kinds[rater] == "human" else "judges"] |= set(said)
        full = {rater: said for rater, said in by_rater.items() if said.total() >= _FEWEST_WORDS}
        for one_of, other in combinations(full, 2):
            if not _common(full[one_of], full[other]):
                _refuse_apart(question, one_of, full[one_of], other, full[other])
        if all(sides.values()):
            notes += [
                f"{question}: {', '.join(sorted(alone)[:4])} {'is' if len(alone) == 1 else 'are'} said by {side} alone"
                for side, rest in (("people", "judges"), ("judges", "people"))
                if (alone := sides[side] - sides[rest])
            ]
        if taken := sides_of(nominal_of(set().union(*by_rater.values()))):
            failing, passing = taken
            notes.append(f"{question}: {failing} is read as failing, {passing} as passing (else: --word-map WORD=WORD)")
    return notes


def _common(one: Counter[str], other: Counter[str]) -> bool:
    """Whether two raters' words can be those of one question: some in common, and not yes or no beside grades."""
    flags = {"0", "1"}
    grades = [said for said in (one, other) if len(said) > 3 and all(number_of(each) is not None for each in said)]
    if grades and any(set(said) <= flags and len(said) == 2 for said in (one, other)):
        return False
    return bool(one.keys() & other.keys())


def _refuse_apart(question: str, one: str, of_one: Counter[str], other: str, of_other: Counter[str]) -> None:
    said, said_by_other = (", ".join(sorted(each)[:4]) for each in (of_one, of_other))
    rule = f"{one} says {said} and {other} says {said_by_other}: no word of one question in common"
    cure = (
        f"say what they mean, such as --word-map {sorted(of_one)[0]!r}={sorted(of_other)[0]!r}, or import the two apart"
    )
    raise InputError(question, rule, cure=cure)


def _recognised(question: str, scale: str, answers: Sequence[str]) -> str:
    numbers = [number for word in answers if (number := number_of(word)) is not None]
    said = (
        f"{min(numbers):g} to {max(numbers):g}" if len(numbers) == len(answers) > 2 else ", ".join(sorted(answers)[:6])
    )
    more = ", ..." if len(numbers) != len(answers) > 6 else ""
    name = scale if len(scale) <= 60 else f"{scale[:57]}..."
    return f"{question}: answers {said}{more} are read as the scale {name} (else: --scale {question!r}=SCALE)"


def _spellings(question: str, answers: Iterable[str]) -> list[str]:
    by_letters: defaultdict[str, list[str]] = defaultdict(list)
    for word in answers:
        by_letters[word.casefold().strip("'\"` ")].append(word)
    return [
        f"{question}: {' and '.join(sorted(words))} are counted as different words (else: --word-map "
        f"{sorted(words)[0]!r}={sorted(words)[1]!r})"
        for words in by_letters.values()
        if len(words) > 1
    ]


def _refuse_words(where: str, question: str, scale: str, words: Sequence[str]) -> None:
    """Refuse words that do not lie on a question's scale, all of them at once, at the position of the first."""
    if question in AXES or scale == "verdict":
        rule = f"{question} takes correct, incorrect, uncertain, not_applicable"
        raise InputError(where, rule, [*words], word_cure(words))
    cure = f"map them with --word-map, or name another scale with --scale {question!r}=SCALE"
    raise InputError(where, f"{question} must lie on the scale {scale}", [*words], cure)


def _meant(scale: str, word: str | None) -> _Answer:
    return (None if word is None else on_scale(scale, word)) or _NO_ANSWER


def _columns(judgements: Sequence[Judgement]) -> dict[str, list[Any]]:
    """The further fields of all judgements, and those that are derived from them where no file has them."""
    names = set().union(*(one.fields for one in judgements)) | {"repeat", "model", "family", "cluster_id"}
    columns = {name: [one.fields.get(name) for one in judgements] for name in names}
    if "confidence" in columns:
        columns["confidence"] = [_confidence(one.where, one.fields.get("confidence")) for one in judgements]
    return columns


def _things(judgements: Sequence[Judgement]) -> dict[str, list[Any]]:
    """Run and step of what was rated: two fields of the file, or one name, ``run#step``."""
    named = {thing: item_of(thing) for thing in {one.thing for one in judgements}}
    steps = [one.fields.get("step_index") for one in judgements]
    things = [
        named[one.thing] if step is None else (one.thing, step) for one, step in zip(judgements, steps, strict=True)
    ]
    return {"trajectory_id": [run for run, _ in things], "step_index": [step for _, step in things]}


def _with_items(table: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """Items and clusters; task, agent and domain from the trajectories where the file does not say them."""
    of_run: dict[str, pl.Expr] = {}
    if options.trajectories:
        about = {run: options.known_of_run(run) for run in table["trajectory_id"].unique()}
        for name in OF_RUN:
            values = {run: fields.get(name) for run, fields in about.items()}
            of_run[name] = pl.col("trajectory_id").replace_strict(values, return_dtype=pl.String)
    clusters = ["cluster_id", "task_id", *filter(None, [of_run.pop("cluster_id", None)]), "trajectory_id"]
    return table.with_columns(
        ITEM_ID.alias("item_id"),
        pl.coalesce(clusters).alias("cluster_id"),
        pl.col(LISTS).fill_null([]),
        *(pl.coalesce(name, known) for name, known in of_run.items()),
    )


def _with_raters(table: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """Model and family of each rater; what no word means of a person, and of a program."""
    people = pl.col("rater_kind") == "human"
    who = table.select("rater", "rater_kind", "model", "family").unique(maintain_order=True)
    models = [_model(*row) for row in who.select("rater", "rater_kind", "model").iter_rows()]
    families = [
        _family(rater, kind, model, family, options)
        for (rater, kind, _, family), model in zip(who.iter_rows(), models, strict=True)
    ]
    known = who.with_columns(pl.Series("_model", models, pl.String), pl.Series("_family", families, pl.String))
    lost = pl.when(people).then(pl.lit("refused")).otherwise(pl.lit("parse_error"))
    joined = table.join(known, on=who.columns, how="left", nulls_equal=True, maintain_order="left")
    flags = pl.concat_list(pl.col("flags"), pl.lit([OPEN], dtype=pl.List(pl.String)))
    came = pl.col("status") == "ok"
    return joined.with_columns(
        model="_model",
        family="_family",
        status=pl.coalesce("status", lost),
        confidence_source=pl.when(people & pl.col("confidence").is_not_null()).then(pl.lit("human")),
        flags=pl.when(people & ~came.fill_null(False)).then(flags).otherwise("flags"),
    ).select(table.columns)


def _model(rater: str, kind: str, model: str | None) -> str | None:
    return model or (rater if kind in ("llm", "decision_model") and family_of(rater) else None)


def _family(rater: str, kind: str, model: str | None, family: str | None, options: ImportOptions) -> str:
    own = kind if kind in ("human", "rules") else None
    return options.families.get(rater) or own or family or family_of(model) or family_of(rater) or model or rater


def _confidence(where: str, said: object) -> float | None:
    if said in _NOTHING:
        return None
    number = number_of(said)
    if number is None or not 0 <= number <= 1:
        raise InputError(where, "confidence lies in [0, 1]", said, "divide by 100, or write 87%")
    return number
