"""From judgements of other tools to ratings: who rated, of which kind and family, and on which scale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.imports.judgement import Judgement
from axisjudge.imports.options import ImportOptions
from axisjudge.labels.columns import completed
from axisjudge.labels.formats.terms import item_of, word_cure
from axisjudge.labels.record import OPEN
from axisjudge.ratings.edge import LISTS
from axisjudge.ratings.scales import checked_scale, nominal_of, number_of, on_scale, recognised_scale, word_of
from axisjudge.verdict import AXES, item_id

_NOTHING = (None, "")


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
    seen: Counter[tuple[Any, ...]] = Counter()
    rows = []
    for one, question, word in zip(judgements, asked, words, strict=True):
        rater = _rater(one, options)
        row = _row(one, rater, kinds[rater], question, scales[question], word, options)
        place = (row["item_id"], question, rater, row.get("rater_version"))
        if row.get("repeat") is None:
            row["repeat"] = seen[place]
        seen[place] += 1
        rows.append(row)
    if again := sum(count > 1 for count in seen.values()):
        notes.append(f"rated several times by one rater: {again}; the later ratings are repeats 1, 2 and so on")
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = completed({name: [row.get(name) for row in rows] for name in names})
    return table.with_columns(pl.col(LISTS).fill_null([])), notes


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
    return [
        options.question_of(one.question if one.question is not None else options.question[0]) for one in judgements
    ]


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
        cure = f"say --kind llm, decision_model, rules or human for all of them, or --kind {unsaid[0]!r}=llm for one"
        raise InputError("kind of raters", "is not said and never guessed", ", ".join(unsaid), cure)
    return kinds


def _mapped(word: object, options: ImportOptions) -> object:
    """The word as ours, None where it means that no rating came."""
    if word in _NOTHING or word != word or word_of(word) in options.missing or word_of(word) == "":
        return None
    return options.words.get(word_of(word), word)


def _scales(
    judgements: Sequence[Judgement], asked: Sequence[str], words: Sequence[object], options: ImportOptions
) -> tuple[dict[str, str], list[str]]:
    """Question -> scale, options or recognised, and what was recognised in words."""
    used: defaultdict[str, dict[str, object]] = defaultdict(dict)
    for question, word in zip(asked, words, strict=True):
        used[question].setdefault(word_of(word), word) if word is not None else used[question]
    if strangers := [name for name in options.scales if name not in used and name != "*"]:
        raise InputError("--scale", f"names a question that is not here; there are {', '.join(used)}", strangers[0])
    stated: defaultdict[str, set[str]] = defaultdict(set)
    for question, one in zip(asked, judgements, strict=True):
        stated[question] |= {checked_scale(one.where, one.fields["scale"])} if one.fields.get("scale") else set()
    scales, notes = {}, []
    for question, answers in used.items():
        scale = options.scale_of(question) or (next(iter(stated[question])) if len(stated[question]) == 1 else None)
        if scale is None and not answers:
            scale = "nominal"
        elif scale is None:
            scale = recognised_scale(question, answers.values())
            notes.append(_recognised(question, scale, answers))
        elif scale == "nominal":
            scale = nominal_of(answers)
        _check_words(judgements, asked, words, question, scale)
        scales[question] = scale
        notes += _spellings(question, answers) if scale.startswith("nominal") else []
    return scales, notes


def _recognised(question: str, scale: str, answers: Mapping[str, object]) -> str:
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
        by_letters[word.casefold()].append(word)
    return [
        f"{question}: {' and '.join(sorted(words))} are counted as different words (else: --word-map "
        f"{sorted(words)[0]!r}={sorted(words)[1]!r})"
        for words in by_letters.values()
        if len(words) > 1
    ]


def _check_words(
    judgements: Sequence[Judgement], asked: Sequence[str], words: Sequence[object], question: str, scale: str
) -> None:
    """Refuse words that do not lie on a question's scale, all of them at once, at the place of the first."""
    placed: dict[str, bool] = {}
    bad: dict[str, str] = {}
    for one, name, word in zip(judgements, asked, words, strict=True):
        if name == question and word is not None:
            text = word_of(word)
            if text not in placed:
                placed[text] = on_scale(scale, word) is not None
            if not placed[text]:
                bad.setdefault(text, one.where)
    if not bad:
        return
    where = next(iter(bad.values()))
    if question in AXES or scale == "verdict":
        raise InputError(
            where, f"{question} takes correct, incorrect, uncertain, not_applicable", [*bad], word_cure(bad)
        )
    cure = f"map them with --word-map, or name another scale with --scale {question!r}=SCALE"
    raise InputError(where, f"{question} must lie on the scale {scale}", [*bad], cure)


def _row(
    one: Judgement, rater: str, kind: str, question: str, scale: str, word: object, options: ImportOptions
) -> dict[str, Any]:
    run, step = item_of(one.thing)
    fields = {name: value for name, value in one.fields.items() if value is not None}
    if fields.get("step_index") is not None:
        run, step = one.thing, fields["step_index"]
    about = options.about_run(run)
    model = fields.get("model") or (rater if kind in ("llm", "decision_model") and family_of(rater) else None)
    verdict, value = (None, None) if word is None else on_scale(scale, word) or (None, None)
    came = word is not None and one.lost is None
    flags = list(fields.pop("flags", ()))
    if not came and kind == "human":
        flags.append(OPEN)
    return {
        **about,
        **fields,
        "trajectory_id": run,
        "step_index": step,
        "item_id": item_id(run, step, fields.get("interaction_id")),
        "cluster_id": str(fields.get("cluster_id") or fields.get("task_id") or about.get("cluster_id") or run),
        "question": question,
        "scale": scale,
        "rater": rater,
        "rater_kind": kind,
        "family": options.families.get(rater) or _family(rater, kind, model, fields),
        "model": model,
        "status": "ok" if came else one.lost or ("refused" if kind == "human" else "parse_error"),
        "verdict": verdict if came else None,
        "value": value if came else None,
        "confidence": _confidence(one.where, fields.get("confidence")),
        "confidence_source": "human" if kind == "human" and fields.get("confidence") is not None else None,
        "flags": flags,
    }


def _family(rater: str, kind: str, model: str | None, fields: Mapping[str, Any]) -> str:
    if kind in ("human", "rules"):
        return kind
    return str(fields.get("family") or family_of(model) or family_of(rater) or model or rater)


def _confidence(where: str, said: object) -> float | None:
    if said in _NOTHING:
        return None
    number = number_of(said)
    if number is None or not 0 <= number <= 1:
        raise InputError(where, "confidence lies in [0, 1]", said, "divide percentages by 100 first")
    return number
