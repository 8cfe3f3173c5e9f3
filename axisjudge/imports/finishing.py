"""From judgements of other tools to ratings: who rated, of which kind and family, and on which scale."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, WayOut
from axisjudge.families import family_of
from axisjudge.imports.cells import each_by, of_bad, pass_rules
from axisjudge.imports.items import kinds_of
from axisjudge.imports.judgement import DRAW, ImportOptions, position_of
from axisjudge.imports.recognise import is_model, kind_of
from axisjudge.labels.own import OF_RUN, word_error
from axisjudge.ratings import edge
from axisjudge.ratings.edge import side, word
from axisjudge.ratings.scales import checked_scale, codes_of_none, nominal_of, number_of, on_scale, recognised_scale
from axisjudge.verdict import AXES, OPEN

#: A record or list written into one cell.
_SEVERAL = re.compile(r"\{.*:.*\}|\[.*,.*\]", re.DOTALL)


def ratings_of_judgements(judged: pl.DataFrame, options: ImportOptions) -> tuple[pl.DataFrame, list[str]]:
    """The judgements (`axisjudge.imports.judgement.judged`) as a ratings table, and what was recognised, in words.

    Raises
    ------
    InputError
        A rater, a kind or a question is not said, or a word lies on no scale of its question.
    """
    judged = _spelt_alike(_asked(judged, options), options)
    kinds = _kinds(judged, options)
    judged, notes = _by_names(judged, options)
    scales, recognised = _scales(judged, options)
    notes += recognised
    notes += _of_sides(judged, kinds, options)
    table = judged.select(
        *(name for name in judged.columns if name in edge.SCHEMA and name not in ("scale", "step_index")),
        *_things(judged),
        pl.col("question").replace_strict(scales, return_dtype=pl.String).alias("scale"),
        pl.col("rater").replace_strict(kinds, return_dtype=pl.String).alias("rater_kind"),
        pl.coalesce("lost", pl.when(pl.col("word").is_not_null()).then(pl.lit("ok"))).alias("status"),
        *_answers(judged, scales),
    )
    table = _with_raters(_with_items(edge.completed(table.to_dict(), repeat=None), options), options)
    key = ("item_id", "question", "rater", "rater_version")
    again = pl.int_range(pl.len(), dtype=pl.Int64).over(key) if edge.alike(table, *key) else pl.lit(0, dtype=pl.Int64)
    if several := table.select((again == 1).sum()).item():
        notes.append(f"rated several times by one rater: {several}; the later ratings are repeats 1, 2 and so on")
    return table.with_columns(repeat=pl.coalesce("repeat", again)), notes


def _asked(judged: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """The judgements with question, rater and word of each; what is not said anywhere is asked for, all at once."""
    lacking = []
    if judged["question"].null_count() and len(options.question) != 1:
        lacking.append("what was asked (--question NAME)")
    nobody = judged["rater"].is_null() if options.rater is None else pl.Series([False])
    if nobody.any():
        lacking.append("who rated (--rater NAME, or --rater-column COLUMN)")
    if lacking:
        where = position_of(judged.row(nobody.arg_max() or 0, named=True)).partition(":")[0]
        name = re.sub(r"\W+", "_", Path(where).name.partition(".")[0]).strip("_") or "answers"
        more = ("--question", name) * (len(options.question) != 1 and judged["question"].null_count() > 0)
        more += ("--rater", name) * bool(nobody.any())
        raise InputError(where, f"does not say {' nor '.join(lacking)}", cure="say it", ways=[WayOut(more, clear=True)])
    asked = judged["question"]
    if asked.null_count():
        asked = asked.fill_null(options.question[0])
    ours = {question: options.question_of(question) for question in asked.unique()}
    rater = pl.coalesce("rater", pl.lit(options.rater, dtype=pl.String))
    told = dict(options.words)
    words = pl.coalesce((rater + ":" + pl.col("word")).replace_strict(told, default=None), pl.col("word").replace(told))
    return judged.with_columns(
        asked.replace_strict(ours, return_dtype=pl.String),
        rater.alias("rater"),
        pl.when(~pl.col("word").is_in([*options.missing])).then(words if told else pl.col("word")).alias("word"),
    )


def _spelt_alike(judged: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """Words of a question that differ in case, space or needless decimals alone as the commonest of them."""
    counts = judged.drop_nulls("word").group_by("question", "word", maintain_order=True).len()
    told = [each for each in counts["question"].unique() if options.scale_of(each)]
    folded = pl.Series("folded", [word(each, frozenset()) for each in counts["word"]], dtype=pl.String)
    commonest = pl.col("word").sort_by("len", descending=True, maintain_order=True).first().over("question", "folded")
    spelt = counts.with_columns(folded).with_columns(spelt=commonest)
    spelt = spelt.filter((pl.col("spelt") != pl.col("word")) & ~pl.col("question").is_in(told))
    if spelt.is_empty():
        return judged
    spelt = spelt.select("question", "word", "spelt")
    judged = judged.join(spelt, on=("question", "word"), how="left", maintain_order="left")
    return judged.with_columns(word=pl.coalesce("spelt", "word")).drop("spelt")


def _kinds(judged: pl.DataFrame, options: ImportOptions) -> dict[str, str]:
    """What each rater is: told by name, else what the file says, else told for all."""
    kinds, unsaid = {}, []
    by_rater = judged.group_by("rater", maintain_order=True).agg(pl.col("kind").drop_nulls().unique())
    for rater, known in by_rater.iter_rows():
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
        likely = {name: kind_of(name) or "llm" for name in unsaid}
        clear = all(map(kind_of, unsaid))
        ways = [WayOut(("--kind", "llm"), "if models said it"), WayOut(("--kind", "human", *DRAW), "if people did")]
        if len(set(likely.values())) > 1:
            each = each_by("--kind", map("=".join, likely.items()))
            ways = [WayOut(each, "" if clear else "by their names", clear=clear)]
        elif len(unsaid) == 2 and not any(map(kind_of, unsaid)):
            pairs = [
                WayOut(("--kind", f"{one}=llm", "--kind", f"{other}=human"), f"if {one} is a model, {other} a person")
                for one, other in permutations(unsaid)
            ]
            ways = [*pairs, *ways]
        elif {*map(kind_of, unsaid)} == {"llm", None}:
            ways = [WayOut(kinds_of(unsaid, "human"), "if the others are people")]
            ways.append(WayOut(kinds_of(unsaid), "if they are models"))
        elif clear:
            ways = [ways["human" in likely.values()]._replace(when="", clear=True)]
        listed = ", ".join(unsaid[:6]) + ", ..." * (len(unsaid) > 6)
        cure = "add for each whether it is llm, decision_model, rules or human"
        raise InputError("kind of raters", "is told by no option and not by every name", listed, cure, ways)
    return kinds


def refuse_numbered(column: str, raters: Sequence[str], people: Collection[str]) -> None:
    """Refuse names with a number beside models' and people's (``author_2``, ``expert_7``): they may be of either."""
    numbered = [name for name in raters if re.fullmatch(r"[^\W\d_]+[\W_]*\d+", name) and not kind_of(name)]
    if (numbered := [name for name in numbered if name not in people]) and people and any(map(is_model, raters)):
        own, rest = ([name for name in raters if (name in people) == of] for of in (True, False))
        judges = [name for name in rest if name not in numbered]
        sides = (((*own, *numbered), judges, "people"), (own, rest, "judges"))
        ways = [WayOut((*each_by("--human", a), *each_by("--judge", b)), f"if they are {of}") for a, b, of in sides]
        rule = f"{', '.join(numbered[:6])} of column {column!r} may be people or judges"
        raise InputError("--human", rule, ways=ways)


def _scales(judged: pl.DataFrame, options: ImportOptions) -> tuple[dict[str, str], list[str]]:
    """Question -> scale, options or recognised, and what was recognised in words."""
    used: dict[str, Counter[str]] = {}
    for question, text, count in judged.group_by("question", "word", maintain_order=True).len().iter_rows():
        used.setdefault(question, Counter()).update({} if text is None else {text: count})
    if strangers := [name for name in options.scales if name not in used and name != "*"]:
        raise InputError("--scale", f"names a question that is not here; there are {', '.join(used)}", strangers[0])
    stated: defaultdict[str, set[str]] = defaultdict(set)
    if "scale" in judged.columns:
        for one in judged.filter(pl.col("scale").is_not_null()).unique(["question", "scale"]).iter_rows(named=True):
            stated[one["question"]].add(checked_scale(position_of(one), one["scale"]))
    scales, notes = {}, []
    open_to = (question for question in used if not options.scale_of(question) and len(stated[question]) != 1)
    if coded := {question: codes for question in open_to if (codes := codes_of_none(used[question]))}:
        codes = [*dict.fromkeys(code for of in coded.values() for code in of)]
        ways = [WayOut(each_by("--missing", codes), "if they are no answers")]
        as_they_stand = each_by("--scale", (f"{question}=nominal" for question in coded))
        ways.append(WayOut(as_they_stand, "to take every word as it stands"))
        raise InputError(", ".join(coded), f"holds {', '.join(codes)} beside numbers up to 10", ways=ways)
    for question, answers in used.items():
        if several := [each for each in answers if _SEVERAL.fullmatch(each)]:
            cure = "write them as rows or columns of their own first"
            raise InputError(question, "has cells of several answers each, and one is due", several[0], cure)
        scale = options.scale_of(question) or (next(iter(stated[question])) if len(stated[question]) == 1 else None)
        if scale is None and not answers:
            scale = "nominal"
        elif scale is None:
            scale = recognised_scale(question, answers)
            notes.append(_recognised(question, scale, [*answers]))
        elif scale == "nominal":
            scale = nominal_of(answers)
        if off := [each for each in answers if on_scale(scale, each) is None]:
            first = judged.filter(pl.col("question") == question, pl.col("word") == off[0]).row(0, named=True)
            _refuse_words(position_of(first), question, scale, off)
        scales[question] = scale
    return scales, notes


#: Raters with fewer words than this may have said other ones by chance.
_FEWEST_WORDS = 5


def _of_sides(judged: pl.DataFrame, kinds: dict[str, str], options: ImportOptions) -> list[str]:
    """Words that one side, people or judges, never says, in words; and which of two words is read as failing.

    Raises
    ------
    InputError
        Two raters of one question have no word in common.
    """
    used: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    came = judged.lazy().filter(pl.col("word").is_not_null(), pl.col("lost").is_null())
    counts = came.group_by("question", "rater", "word", maintain_order=True).len().collect()
    for question, rater, text, count in counts.iter_rows():
        used[question][rater][text] = count
    notes = []
    for question, by_rater in used.items():
        if options.scale_of(question):
            continue
        sides: dict[str, set[str]] = {"people": set(), "judges": set()}
        for rater, words in by_rater.items():
            sides["people" if kinds[rater] == "human" else "judges"] |= set(words)
        every = set().union(*by_rater.values())
        full = {rater: words for rater, words in by_rater.items() if words.total() >= _FEWEST_WORDS}
        for one_of, other in combinations(full, 2):
            if not _common(full[one_of], full[other], every) or edge.same_choices(full[one_of], full[other]):
                _refuse_apart(question, one_of, other, full, unlike=kinds[one_of] != kinds[other])
        if any(len(words) > edge.MOST_WORDS for words in by_rater.values()):
            continue
        if all(sides.values()):
            notes += [
                f"{question}: {', '.join(sorted(alone)[:4])} {'is' if len(alone) == 1 else 'are'} said by {side} alone"
                for side, rest in (("people", "judges"), ("judges", "people"))
                if (alone := sides[side] - sides[rest])
            ]
        of_grades = len(every) > 2 and all(number_of(each) is not None for each in every)
        if not of_grades and (taken := edge.sides_of(nominal_of(every))):
            failing, passing = taken
            notes.append(f"{question}: {failing} is read as failing, {passing} as passing (else: --word-map WORD=WORD)")
    return notes


def _by_names(judged: pl.DataFrame, options: ImportOptions) -> tuple[pl.DataFrame, list[str]]:
    """Yes and no of something bad (``human_toxic``) as fail and pass, by the name of the question or its raters.

    Raises
    ------
    InputError
        The name leaves it open (``refusal``), or is that of the one question that the user named.
    """
    notes = []
    of_questions = judged.group_by("question", maintain_order=True).agg(pl.col("word", "rater").unique().drop_nulls())
    for question, words, raters in of_questions.iter_rows():
        alone = of_questions.height == 1
        untold = [name for name in raters if not any(key.startswith(f"{name}:") for key in options.words)]
        named, sure = of_bad([*untold, question] if alone else [question])
        sure = sure and (not alone or named != question or question not in options.question)
        meant = {each: "fail" if side(word(each) or "") == "pass" else "pass" for each in words}
        open_ = all((word(each) or "") in edge.AFFIRMING | edge.DENYING for each in words)
        if not named or not words or not open_ or options.scale_of(question):
            continue
        if sure:
            turned = pl.when(pl.col("question") == question).then(pl.col("word").replace(meant)).otherwise("word")
            judged = judged.with_columns(turned.alias("word"))
            bad = ", ".join(sorted(each for each, verdict in meant.items() if verdict == "fail")) or "yes"
            notes.append(f"{question}: {bad} is read as failing, by the name of {named} (else: --word-map WORD=pass)")
        elif alone:
            both = (meant, {each: "pass" if verdict == "fail" else "fail" for each, verdict in meant.items()})
            ways = [
                WayOut(each_by("--word-map", map("=".join, one.items())), f"if yes of {named} {is_so}")
                for one, is_so in zip(both, ("fails", "passes"), strict=True)
            ]
            raise InputError(question, f"whether yes of {named} is good hangs on what was asked", ways=ways)
    return judged, notes


def _common(one: Counter[str], other: Counter[str], every: set[str]) -> bool:
    """Whether two raters' words can be those of one question, on which raters used `every` word.

    Some are in common, or all words together are grades without a gap, from 0 or 1 to 10 at most, of which one rater
    may use low ones and another high ones. Flags and grades are of two questions, as are 0/1 and 1/2.
    """
    flags = {"0", "1"}
    if edge.of_unlike_scales(one, other):
        return False
    grades = [words for words in (one, other) if len(words) > 3 and all(number_of(each) is not None for each in words)]
    if grades and any(set(words) <= flags and len(words) == 2 for words in (one, other)):
        return False
    if max(len(one), len(other)) > edge.MOST_WORDS:
        return True
    numbers = {*map(number_of, every)}
    without_gap = numbers in [{*range(first, last + 1)} for first in (0, 1) for last in range(first + 3, 11)]
    return bool(one.keys() & other.keys()) or without_gap


def _refuse_apart(question: str, one: str, other: str, spoken: Mapping[str, Counter[str]], *, unlike: bool) -> None:
    of_one, of_other = spoken[one], spoken[other]
    words, other_words = (", ".join(sorted(each)[:4]) for each in (of_one, of_other))
    rule = f"{one} says {words} and {other} says {other_words}: no word of one question in common"
    numbers = [number for each in (*of_one, *of_other) if (number := number_of(each)) is not None]
    ways = []
    meant = edge.same_choices(of_one, of_other) or edge.same_choices(of_other, of_one)
    if meant and not of_bad([question, one, other])[0]:
        mapping = each_by("--word-map", ("=".join(pair) for pair in meant.items() if len({*pair}) > 1))
        ways = [WayOut(mapping, clear=True)]
    elif len(numbers) == len(of_one) + len(of_other):
        scores = {name: [number_of(each) for each in of] for name, of in spoken.items() if len(of) > 2}
        ranges = {name: (min(of), max(of)) for name, of in scores.items() if None not in of}  # type: ignore[type-var]
        ways = [WayOut(pass_rules(ranges))] * bool(ranges)  # type: ignore[arg-type]
        if unlike and any(number % 1 for number in numbers) and not edge.of_unlike_scales(of_one, of_other):
            scale = f"{question}=interval:{math.floor(min(numbers))}-{math.ceil(max(numbers))}"
            ways.append(WayOut(("--scale", scale), "if both are numbers of one scale"))
    elif len(of_one) == len(of_other) == 2 and not {*of_one} & {*of_other}:
        mine = sorted(of_one)
        for theirs in (sorted(of_other), sorted(of_other)[::-1]):
            mapping = each_by("--word-map", map("=".join, zip(mine, theirs, strict=True)))
            ways.append(WayOut(mapping, f"if {mine[0]} means {theirs[0]}"))
    cure = "say by --word-map what each word of one means among the other's, or import the two apart"
    raise InputError(question, rule, cure=cure, ways=ways)


def _recognised(question: str, scale: str, answers: Sequence[str]) -> str:
    numbers = [number for each in answers if (number := number_of(each)) is not None]
    listed = (
        f"{min(numbers):g} to {max(numbers):g}" if len(numbers) == len(answers) > 2 else ", ".join(sorted(answers)[:6])
    )
    more = ", ..." if len(numbers) != len(answers) > 6 else ""
    name = scale if len(scale) <= 60 else f"{scale[:57]}..."
    return f"{question}: answers {listed}{more} are read as the scale {name} (else: --scale {question!r}=SCALE)"


def _refuse_words(where: str, question: str, scale: str, words: Sequence[str]) -> None:
    """Refuse words that do not lie on a question's scale, all of them at once, at the position of the first."""
    if question in AXES or scale == "verdict":
        rule = f"{question} takes correct, incorrect, uncertain, not_applicable"
        raise word_error(where, rule, words)
    cure = f"map them with --word-map, or name another scale with --scale {question!r}=SCALE"
    raise InputError(where, f"{question} must lie on the scale {scale}", [*words], cure)


def _answers(judged: pl.DataFrame, scales: Mapping[str, str]) -> list[pl.Series]:
    """Verdict and value of each judgement on the scale of its question."""
    words = judged.select("question", "word")
    known = words.drop_nulls().unique(maintain_order=True)
    meant = [on_scale(scales[question], word) or (None, None) for question, word in known.iter_rows()]
    types = {"verdict": pl.String, "value": pl.Float64}
    known = known.hstack(pl.DataFrame(meant, schema=types, orient="row"))
    answers = words.join(known, on=("question", "word"), how="left", maintain_order="left").select(*types)
    came = judged["lost"].is_null()
    return answers.with_columns(pl.when(came).then(pl.all())).get_columns() if not came.all() else answers.get_columns()


def _things(judged: pl.DataFrame) -> list[pl.Expr]:
    """Run and step of what was rated: two fields of the file, or one name, ``run#step``."""
    step = pl.col("step_index") if "step_index" in judged.columns else pl.lit(None, dtype=pl.Int64).alias("step_index")
    if not judged["thing"].str.contains("#", literal=True).any():
        return [pl.col("thing").alias("trajectory_id"), step]
    parts = judged["thing"].str.extract_groups(r"(?s)^(?<run>.+)#(?<step>[0-9]+)$").struct.unnest()
    split = step.is_null() & pl.lit(parts["run"]).is_not_null()
    run = pl.when(split).then(parts["run"]).otherwise("thing")
    return [
        run.alias("trajectory_id"),
        pl.when(split).then(parts["step"].cast(pl.Int64)).otherwise(step).alias("step_index"),
    ]


def _with_items(table: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """Items and clusters; task, agent and domain from the trajectories where the file does not say them."""
    of_run: dict[str, pl.Expr] = {}
    if options.trajectories:
        about = {run: options.known_of_run(run) for run in table["trajectory_id"].unique()}
        for name in OF_RUN:
            values = {run: fields.get(name) for run, fields in about.items()}
            of_run[name] = pl.col("trajectory_id").replace_strict(values, return_dtype=pl.String)
    by_run = [of_run.pop("cluster_id")] if of_run else []
    clusters: list[str | pl.Expr] = ["cluster_id", "task_id", *by_run, "trajectory_id"]
    empty = [name for name in table.columns if table[name].null_count() == table.height]
    parts = not {"step_index", "interaction_id"} <= {*empty}
    return table.with_columns(
        (edge.ITEM_ID if parts else pl.col("trajectory_id")).alias("item_id"),
        pl.coalesce([name for name in clusters if isinstance(name, pl.Expr) or name not in empty]).alias("cluster_id"),
        *(pl.col(name).fill_null([]) for name in edge.LISTS if table[name].null_count()),
        *(pl.coalesce(name, known) for name, known in of_run.items()),
    )


def _with_raters(table: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    """Model and family of each rater; what no word means of a person, and of a program."""
    people = pl.col("rater_kind") == "human"
    rows = table.select("rater", "rater_kind", "model", "family")
    who = rows.unique(maintain_order=True)
    models = [_model(*row) for row in who.select("rater", "rater_kind", "model").iter_rows()]
    families = [
        _family(rater, kind, model, family, options)
        for (rater, kind, _, family), model in zip(who.iter_rows(), models, strict=True)
    ]
    known = who.with_columns(pl.Series("_model", models, pl.String), pl.Series("_family", families, pl.String))
    of_rows = rows.join(known, on=who.columns, how="left", nulls_equal=True, maintain_order="left")
    lost = pl.when(people).then(pl.lit("refused")).otherwise(pl.lit("parse_error"))
    refused = people & (pl.col("status") != "ok").fill_null(value=True)
    flags = pl.concat_list(pl.col("flags"), pl.lit([OPEN], dtype=pl.List(pl.String)))
    confidence = pl.when(people & pl.col("confidence").is_not_null()).then(pl.lit("human"))
    return table.with_columns(
        of_rows["_model"].alias("model"),
        of_rows["_family"].alias("family"),
        status=pl.coalesce("status", lost) if table["status"].null_count() else "status",
        confidence_source=confidence if table["confidence"].null_count() < table.height else "confidence_source",
        flags=pl.when(refused).then(flags).otherwise("flags") if table.select(refused.any()).item() else "flags",
    )


def _model(rater: str, kind: str, model: str | None) -> str | None:
    return model or (rater if kind in ("llm", "decision_model") and family_of(rater) else None)


def _family(rater: str, kind: str, model: str | None, family: str | None, options: ImportOptions) -> str:
    own = kind if kind in ("human", "rules") else None
    return options.families.get(rater) or own or family or family_of(model) or family_of(rater) or model or rater
