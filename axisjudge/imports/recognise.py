"""What the columns of a table are: by their cells first, their names second; the one recogniser of check and import.

A column is of one kind (id, cluster, question, rater, candidate, verdict, confidence, reason, text, other), with its
evidence in words. Who may be compared with whom follows from cells: raters of one question use the same words; columns
that say the same in every row are copies of each other; one that says whether two others agree is none; names of models
or raters are no verdicts; what tells rows of an item apart belongs to its id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import polars as pl

from axisjudge.families import family_of
from axisjudge.ratings.edge import MOST_WORDS, of_unlike_scales, same_choices, side, word, words_in
from axisjudge.ratings.scales import number_of, plain
from axisjudge.verdict import RATER_KINDS, RaterKind

#: Our field, and the names that others give it; an earlier name wins.
NAMES: dict[str, tuple[str, ...]] = {
    "trajectory_id": (
        *("trajectory_id", "item_id", "item", "sample_id", "example_id", "instance_id", "record_id", "trace_id"),
        *("run_id", "conversation_id", "session_id", "dialogue_id", "pair_id", "id", "task_id", "task", "sample"),
        *("example", "instance", "case", "case_id", "test_id", "trajectory", "run", "uid", "uuid", "idx", "index"),
        *("doc_id", "question_id", "row_id", "row"),
    ),
    "rater": (
        *("rater", "judge", "annotator", "rater_id", "judge_id", "judge_name", "annotator_id", "annotator_name"),
        *("worker", "worker_id", "workerid", "grader", "evaluator", "labeler", "labeller", "coder", "scorer"),
        *("reviewer", "ann", "analyst", "assessor", "username", "participant", "participant_id", "respondent"),
        *("rated_by", "labeled_by", "labelled_by", "annotated_by", "scored_by", "graded_by", "judged_by"),
        *("rating_source", "label_source", "judge_model", "evaluation_model", "evaluationmodel", "model"),
    ),
    "question": (
        *("question", "criterion", "criteria", "axis", "metric", "metric_name", "aspect", "dimension", "attribute"),
        *("key", "rubric", "criterion_id", "criteriaid"),
    ),
    "verdict": (
        *("verdict", "label", "rating", "judgment", "judgement", "score", "grade", "annotation", "answer", "value"),
        *("vote", "decision", "outcome", "result", "winner", "preference", "severity", "sentiment"),
    ),
    "confidence": ("confidence", "conf", "certainty"),
    "rationale": ("rationale", "reason", "reasoning", "explanation", "justification", "comment", "note", "notes"),
    "task_id": ("task_id", "task"),
    "cluster_id": (
        *("cluster_id", "cluster", "query_id", "query_index", "scenario_id", "problem_id", "thread_id", "document_id"),
        *("doc_id", "group_id", "group"),
    ),
    "agent": ("agent", "system"),
    "domain": ("domain", "dataset", "subset"),
    "step_index": ("step_index", "step"),
    "model": ("model",),
    "family": ("family",),
    "rater_kind": (
        *("rater_kind", "rater_type", "annotator_kind", "annotator_type", "kind", "source_type", "evaluator_type"),
    ),
    "repeat": ("repeat", "repetition", "trial", "iteration"),
    "created_at": ("created_at", "timestamp"),
    "cited_step_indices": ("cited_step_indices", "cited_steps"),
    "rater_version": ("rater_version",),
    "rubric_version": ("rubric_version",),
    "scale": ("scale",),
}
#: What others call our kinds of raters.
KIND_WORDS: dict[str, RaterKind] = {
    **{kind: kind for kind in RATER_KINDS},
    **dict.fromkeys(("person", "people", "annotation", "expert", "annotator"), "human"),
    **dict.fromkeys(("llm_judge", "model", "ai", "eval"), "llm"),
    **dict.fromkeys(("code", "rule", "heuristic", "programmatic"), "rules"),
}
#: Names of what several rows share; a name of rows as well says so only where it repeats.
CLUSTERS = (
    *NAMES["cluster_id"],
    *NAMES["task_id"],
    *("task_name", "query", "case", "case_id", "scenario", "problem", "question_id", "prompt_id"),
    *("conversation_id", "session_id"),
)
#: Such a column is no rater, whatever words it holds.
NAMED_FOR_ROWS = frozenset({*NAMES["trajectory_id"], *CLUSTERS})
#: Columns that hold what was judged, not what was said of it.
TEXTS = (
    *("prompt", "input", "output", "response", "text", "content", "completion", "context", "reference", "expected"),
    *("target", "instruction", "query", "document", "summary", "model_output", "generation", "messages", "url"),
    *("inputs", "outputs", "reference_outputs", "metadata", "name", "title", "epoch", "user_id", "tags", "state"),
    *("bookmarked", "public", "expected_output"),
)
#: A last word of a name that says that a column holds what was judged, where its cells do not tell.
_OF_TEXT = words_in("prompt response completion text context token sampled_response")
#: What was answered names no item, though no two answers be the same.
ANSWERED = words_in("answer response output completion generation reply prediction")
#: An id of such a thing is one of what a rater said.
_OF_RATING = words_in("assignment annotation judgment judgement submission vote")
#: Columns of such a record say how something was made.
_OF_MAKING = words_in("meta metadata meta_data parameters config settings optimized_parameters request usage")
#: A column of such a name says how something was run.
SETTINGS = words_in("temperature top_p top_k mode effort reasoning_effort prompt_version shots n_shots num_shots seed")
#: Columns of such a record say what was asked or expected.
_OF_ASKING = words_in("input inputs reference expected expected_output reference_output reference_outputs")
#: A column of such a name is made of others.
OF_OTHERS = words_in("avg mean median max min std stddev sum sum_squared total average variance")
#: Such a verdict is made of single ones where these stand beside it.
SUMMED_UP = words_in("majority maj mean average avg median mode consensus")
#: So a column or rater is named that decides where people differ: made of their words, and no further person.
DECIDED = words_in("adjudicated adjudication adjudicator final resolved reconciled")
MADE = SUMMED_UP | DECIDED | words_in("gold golden truth")
#: Seconds since 1970 of 2001 to 2065, and thousandths and millionths of them.
_EPOCHS = tuple((1e9 * unit, 3e9 * unit) for unit in (1, 1e3, 1e6))
#: Names of a column that a program wrote before a table's own.
_NAMELESS = frozenset({"column 1", "unnamed: 0", "index", "__index_level_0__", "_c0"})
HUMAN = words_in(
    "human humans people person gold golden truth groundtruth expert experts reviewer manual sme annotator annotators "
    "annotated adjudicated crowd worker analyst assessor username participant respondent "
    "humano humana humain humaine umano mensch эксперт человек 人間 人工 专家"
)
#: A column of such a name holds names of people alone; an annotator may be a program.
OF_PEOPLE = words_in("worker workerid username person human crowd expert participant respondent")
LABEL_WORDS = words_in("label labels target expected reference actual annotation correct oracle")
#: Such a word among others that name answers says what is true of a row, which no judge said.
TRUTH = words_in("true truth gt gold golden groundtruth expected reference oracle")
#: Such a word more than another column's name (``score_real`` beside ``score``) says that the other was predicted.
REAL = words_in("real actual true truth gold")
_OF_TEXTS, _SCORES = words_in("expected reference"), words_in("score rating grade")
_VERDICT = frozenset({*NAMES["verdict"]}) | words_in("labels quality correctness class outcome choice")
#: Names of what rows are numbered by.
OF_ROWS = words_in(
    "id idx index number turn timestamp time date created step seed repeat repetition trial iteration round fold epoch "
    "split start end offset"
)
#: Names of where a row is from, which is no answer.
OF_SOURCE = words_in("dataset subset domain origin source doc document split cut language lang")
#: What may stand beside such a word without changing what it says.
_BESIDE = words_in("id choice answer word")
_JUDGE = words_in(
    "judge judges llm model metric verdict verdicts prediction predicted pred evaluator grader autorater auto "
    "parsed ai judgment judgments judgement judgements juez juiz juge richter giudice modelo modèle modell судья модель"
)
CONFIDENCE = words_in("conf confidence confidences probability prob certainty")
_AGREEING = words_in("agree agrees agreed agreement disagree disagrees disagreement")  # of others with each other
#: What is measured or counted of a run or a row, and is no verdict on it.
MEASURED = words_in(
    "cost costs price latency duration runtime execution seconds ms tokens length count tally num n logprob logprobs "
    "perplexity lower upper usd words chars characters threshold"
)
#: Such a column with an id, name or model says who rated.
WHO_RATED = words_in("annotator judge rater worker evaluator grader reviewer participant respondent eval evaluation")
#: Choices between answers, which say by themselves that a column is a verdict.
_CHOICES = words_in(
    "a b tie both neither model_1 model_2 model_a model_b a>b b>a a=b win lose draw left right uncertain"
)
CANDIDATES = words_in("generator candidate system agent llm summarizer response_model model_name app_id model")
_OF_RATERS = words_in("group age gender sex race ethnicity education country locale")
#: A column names items only if at least this share of its rows has an id of its own; a repeat's number does not.
LEAST_OWN_IDS = 0.9
#: Raters who have a number or a letter for a name.
_NUMBERED = r"(ann|annotator|rater|judge|worker|expert|reviewer|person|user|coder|labell?er|grader)\W*\w{1,3}"
_SENTENCE, _LONG_TEXT, _LONGEST_WORD = 25, 60, 60
MOST_NAMES = 200
#: Fewer rows may be the same in two columns because two raters agreed.
_FEWEST_ALIKE = 10
#: Words of a column that is named like a text are answers where each stands so many times, on average.
_OFTEN = 2


@dataclass(frozen=True)
class KnownColumn:
    """One column: its kind with the evidence, its words where they are few, its range where all are numbers.

    `fractions` says whether some of these are no whole numbers; `of_several` that they are means over several answers.
    """

    name: str
    kind: str
    evidence: str
    words: frozenset[str] = frozenset()
    filled: int = 0
    distinct: int = 0
    numbers: tuple[float, float] | None = None
    fractions: bool = False
    of_several: bool = False


@dataclass(frozen=True, eq=False)
class Recognised:
    """The columns of a table with their kinds; `frame` holds their cells as texts, null where empty.

    Rows may be those of a list in each record: `outer` are the columns of the record, which say nothing of one row.
    """

    frame: pl.DataFrame
    columns: Mapping[str, KnownColumn] = field(default_factory=dict)
    outer: frozenset[str] = frozenset()

    def of(self, *kinds: str) -> list[str]:
        """The names of the columns of these kinds."""
        return [name for name, column in self.columns.items() if column.kind in kinds]

    @property
    def table(self) -> list[dict[str, str]]:
        """One row a column: what it is taken for, and why."""
        return [{"column": each.name, "kind": each.kind, "because": each.evidence} for each in self.columns.values()]

    def named(self, ours: str) -> str:
        """The first column that bears a name of our field (its last part, for a record's in a record); else nothing."""
        inner = [name for name in self.frame.columns if name not in self.outer]
        return named_column(inner, NAMES[ours]) or named_column(self.frame.columns, NAMES[ours])

    @cached_property
    def item(self) -> str:
        """The column that names items: an own id in nine rows of ten, by the name that is best; else nothing."""
        own = [name for name in self.of("id") if self.columns[name].distinct >= LEAST_OWN_IDS * self.frame.height]
        own = [name for name in own if not tokens(name) & (ANSWERED | _OF_RATING)]
        ranks = {each: rank for rank, each in enumerate(NAMES["trajectory_id"])}
        return min(own, key=lambda name: ranks.get(last_part(name), len(ranks)), default="")


def named_column(heads: Iterable[str], names: Sequence[str]) -> str:
    """The column that bears the first of these names, whole or as the last part of its own."""
    every = [name for name in heads if not re.search(r"\.\d+(\.|$)", name)]  # a place in a list is no name
    whole, ends = ({key(name): name for name in reversed(every)} for key in (plain, last_part))
    return next((by[name] for by in (whole, ends) for name in names if name in by), "")


def last_part(name: str) -> str:
    return plain(name.rpartition(".")[2])


def texts(columns: Mapping[str, Sequence[Any] | pl.Series]) -> pl.DataFrame:
    """Cells of any kind as texts, null where empty."""
    series = []
    for name, cells in columns.items():
        if isinstance(cells, pl.Series) and (cells.dtype == pl.String or cells.dtype.is_integer()):
            series.append(cells.cast(pl.String).alias(name))
            continue
        known: dict[Any, str | None] = {}
        are_texts = all(cell is None or type(cell) is str for cell in cells)
        made = cells if are_texts else [_text(each, known) for each in cells]
        series.append(pl.Series(name, made, dtype=pl.String))
    return pl.DataFrame(series).with_columns(pl.when(pl.all().str.strip_chars() != "").then(pl.all()))


def _text(cell: Any, known: dict[Any, str | None]) -> str | None:
    if cell is None or cell != cell:
        return None
    return str(cell) if not isinstance(cell, int | float | bool) else known.setdefault((type(cell), cell), str(cell))


def recognise(frame: pl.DataFrame, missing: frozenset[str] = frozenset(), outer: Iterable[str] = ()) -> Recognised:
    """The kind of every column, with its evidence."""
    columns = {name: _column(frame, name, missing) for name in frame.columns}
    for name, each in columns.items():
        if of := _made_of(frame, columns, name):
            columns[name] = replace(each, kind="other", words=frozenset(), evidence=f"repeats or sums up {of}")
        elif each.kind in ("rater", "candidate") and (of := _says_what(columns, name)):
            columns[name] = replace(each, kind="verdict", evidence=f"named for raters, but says what {of} says")
        elif each.kind == "text" and len(each.words) > 1 and says_verdicts(each.words) and (of := _people_in(columns)):
            columns[name] = replace(each, kind="verdict", evidence=f"named for texts, but holds verdicts beside {of}")
    return Recognised(frame, columns, frozenset(outer) & columns.keys())


def _column(frame: pl.DataFrame, name: str, missing: frozenset[str]) -> KnownColumn:
    cells = frame[name].drop_nulls()
    filled, distinct = len(cells), cells.n_unique()
    column = KnownColumn(name, "other", "no cell is filled", filled=filled, distinct=distinct)
    if not filled:
        return column
    lengths = cells.str.len_chars()
    mean, most = float(lengths.mean() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]
    used = cells.unique() if distinct <= 3 * MOST_WORDS else None
    words = frozenset(filter(None, (word(each, missing) for each in used))) if used is not None else frozenset()
    column = _with_numbers(column, cells)
    column = replace(column, of_several=column.fractions and used is not None and _are_shares(used))
    if (own := tokens(name)) & _OF_RATERS and own & (WHO_RATED | HUMAN) and not own & _VERDICT:
        return replace(column, evidence="says who the raters are")
    if column.numbers and name.casefold() in _NAMELESS and filled == frame.height and _counts_rows(cells):
        return replace(column, kind="id", evidence="numbers the rows in their order")
    if column.numbers and any(low <= column.numbers[0] and column.numbers[1] <= high for low, high in _EPOCHS):
        return replace(column, evidence="times, in seconds or their thousandths since 1970")
    of = plain(name.partition(".")[0])
    of_interval = "mean" in name and name.replace("mean", "lower") in frame.columns
    named = (tokens(name) | {of}) & MEASURED or {plain(name), last_part(name)} & OF_OTHERS
    if column.numbers and (named or of_interval):
        return replace(column, evidence="named for what is measured, counted or made of other columns")
    if of in _OF_MAKING | _OF_ASKING and of != plain(name) and not who(last_part(name)):
        return replace(column, evidence=f"says {'what was asked' if of in _OF_ASKING else 'how something was made'}")
    if last_part(name) in SETTINGS or (distinct == 1 and "status" in tokens(name)):
        return replace(column, evidence="says how something was made")
    few = 0 < len(words) <= MOST_WORDS and most <= _LONGEST_WORD
    column = replace(column, words=words if few else frozenset())
    spaced = mean > _SENTENCE and bool(cells.str.contains(r"\s\S+\s").mean() > 0.5)  # type: ignore[operator]
    solid = bool(cells.str.contains(r"^\s*[!-~]+\s*$").all())
    kind, evidence = _kind(column, frame.height, mean, few=few, sentences=spaced and distinct < filled, solid=solid)
    return replace(column, kind=kind, evidence=evidence)


def _made_of(frame: pl.DataFrame, columns: Mapping[str, KnownColumn], name: str) -> str:
    """The column that a verdict in a record repeats cell by cell (``score``), or that it sums up; else nothing."""
    of, _, last = name.rpartition(".")
    if columns[name].kind != "verdict" or not of or is_model(of) or who(of) == "people":
        return ""
    if last in columns and frame.height >= _FEWEST_ALIKE and frame[name].equals(frame[last], check_names=False):
        return last
    beside = (other for other in columns if other != name and other.startswith(f"{of}."))
    single = (other for other in beside if columns[other].kind == "verdict" and "individual" in tokens(other))
    return next(single, "") if tokens(last) & SUMMED_UP else ""


def _people_in(columns: Mapping[str, KnownColumn]) -> str:
    """The column that names several people who rated; else nothing."""
    several = (name for name, each in columns.items() if each.kind == "rater" and each.distinct > 1)
    return next((name for name in several if tokens(name) & OF_PEOPLE), "")


def _says_what(columns: Mapping[str, KnownColumn], name: str) -> str:
    """The column of somebody's verdicts that has half of the words of a column named for raters; else nothing."""
    own, others = columns[name].words, (each for of, each in columns.items() if of != name and who(of))
    others = (each for each in others if 2 * len(own & each.words) >= len(own) > 1 and not any(map(family_of, own)))
    answers = (each for each in others if each.kind == "verdict" or {who(name), who(each.name)} == {"people", "judge"})
    return next((each.name for each in answers), "")


def _are_shares(cells: pl.Series) -> bool:
    """Whether numbers are parts of small wholes, and some of these such as no decimal has: thirds, sevenths.

    So a mean over three answers is, and no answer itself. Where no number has four digits, thirds alone are seen.
    """
    long = bool((cells.str.strip_chars().str.split(".").list.last().str.len_chars() > 3).any())
    near = {(exact := Fraction(cell.strip())): exact.limit_denominator(12 if long else 4) for cell in cells}
    off = any(abs(exact - part) > Fraction(1, 5000 if long else 150) for exact, part in near.items())
    return not off and len({part % 1 for part in near.values() if math.gcd(part.denominator, 231) > 1}) > 1


def _counts_rows(cells: pl.Series) -> bool:
    """Whether cells are 0, 1, 2 and so on, or 1, 2, 3."""
    numbers = cells.cast(pl.Int64, strict=False)
    return bool((numbers - pl.int_range(len(cells), eager=True)).n_unique() == 1 and numbers[0] in (0, 1))


def _with_numbers(column: KnownColumn, cells: pl.Series) -> KnownColumn:
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count() or not numbers.is_finite().all():
        return column
    ends = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    return replace(column, numbers=ends, fractions=bool((numbers % 1 != 0).any()))


def _kind(column: KnownColumn, height: int, mean: float, *, few: bool, sentences: bool, solid: bool) -> tuple[str, str]:
    """The kind of a column and why; sentences of which some stand twice are texts, and no ids."""
    name, words, own = last_part(column.name), column.words, tokens(column.name)
    listed = ", ".join(sorted(words, key=in_order)[:4]) + (", ..." if len(words) > 4 else "")
    unlike = column.distinct > max(MOST_WORDS, LEAST_OWN_IDS * column.filled) or (
        column.filled > 2 and column.distinct == column.filled == height and name in NAMES["trajectory_id"]
    )
    if own & CONFIDENCE and column.numbers:
        return "confidence", f"named so, numbers from {column.numbers[0]:g} to {column.numbers[1]:g}"
    phrases = sum(" " in each for each in words) * 2 >= len(words) > 1  # All assertions passed
    if (own | {name}) & {*NAMES["rationale"]} and (phrases or not few or len(words) == 1):
        return "reason", f"named so, {column.distinct:,} text{'s' * (column.distinct > 1)}"
    if solid and not few and not unlike and not column.numbers and mean > _SENTENCE:
        return "cluster", f"{column.distinct:,} values without a space in {column.filled:,} rows"
    if mean > _LONG_TEXT or (not few and not column.numbers and mean > _SENTENCE and (sentences or not unlike)):
        return "text", f"{column.distinct:,} texts of {mean:.0f} letters in {column.filled:,} rows"
    if re.sub(r"\.\d+$", "", column.name) != column.name and plain(column.name.partition(".")[0]) in NAMES["rater"]:
        return "other", "further parts of who rated"
    of_text = last_part(re.sub(r"(\.\d+)+$", "", column.name))
    own_text = {re.sub(r"s$", "", of_text)} & _OF_TEXT and not who(column.name)
    if own_text and (few or (unlike and column.distinct < column.filled)):
        return "text", f"named so, {column.distinct:,} texts"
    if unlike and not column.fractions:
        return "id", f"{column.distinct:,} values in {column.filled:,} rows"
    if few and (kind := _of_words(column, name, own)):
        return kind, f"{len(words)} {'words' if len(words) > 1 else 'word'}: {listed}"
    if column.numbers and (column.fractions or name in NAMES["verdict"]):
        low, high = column.numbers
        return "verdict", f"{column.distinct:,} numbers from {low:g} to {high:g}"
    if plain(column.name) in CLUSTERS or name in NAMED_FOR_ROWS:
        return "cluster", f"named so, {column.distinct:,} values in {column.filled:,} rows"
    if column.distinct <= MOST_NAMES and (name in NAMES["rater"] or _says_who(own)):
        return "rater", f"named so, {column.distinct} names"
    kind = "cluster" if tokens(name) & words_in("id idx") else "other"
    return kind, f"{column.distinct:,} values in {column.filled:,} rows"


def _of_words(column: KnownColumn, name: str, own: set[str]) -> str:
    """The kind of a column of few short words."""
    words = column.words
    if all(number_of(each) is None and re.search(r"\d{5}", each) for each in words):  # BatchId:5081074
        return "cluster"
    models = sum(family_of(each) is not None for each in words)
    if models * 2 >= len(words):
        return "rater" if name in NAMES["rater"][:-1] or _says_who(own) else "candidate"
    if name in NAMED_FOR_ROWS:
        return "cluster"
    if _says_who(own) or (len(words) > 1 and all(re.fullmatch(_NUMBERED, each) for each in words)):
        return "rater"
    if tokens(name) & OF_ROWS:
        return "cluster"
    if name in NAMES["question"] and not all(side(each) or number_of(each) is not None for each in words):
        return "question"
    if says_verdicts(words):
        return "verdict"
    if name in NAMES["rater"]:
        return "candidate" if name == "model" else "rater"
    if name in CANDIDATES or name.endswith("_model"):
        return "candidate"
    named = len(words) > 1 and (who(column.name) or own & _VERDICT)
    return "verdict" if named else "other"


def _says_who(own: set[str]) -> bool:
    """Whether a name of these words says who rated: ``annotator_id``, ``eval_model_name``, but not ``eval_id``."""
    return bool(own & WHO_RATED and own & words_in("name id model path")) and not own <= words_in(
        "eval evaluation id name"
    )


def says_verdicts(words: Iterable[str]) -> bool:
    """Whether at least half of the words are known as verdicts: of a side, a choice between answers, or a number."""
    every = list(words)
    known = (
        side(each) or each in _CHOICES or number_of(each) is not None or re.match(r"\d+[.)] ", each) for each in every
    )
    return 2 * sum(map(bool, known)) >= len(every)


def in_order(text: str) -> tuple[float, str]:
    return (float("inf") if (number := number_of(text)) is None else number, text)


def tokens(name: str) -> set[str]:
    """The words of a name: ``gpt4Judge_label`` is gpt4, judge and label."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return set(re.split(r"[\W_]+", spaced.casefold())) - {""}


def is_model(name: str) -> bool:
    """Whether a name is that of a model, also with its version run together (``gpt52t``, ``qwen8b``)."""
    return bool(family_of(name)) or any(
        family_of(start[0]) for each in tokens(name) if (start := re.match(r"[a-z]+(?=\d)", each))
    )


def who(name: str) -> str:
    """``people`` or ``judge`` where the name of a column says it, else nothing; what names both is people's."""
    own = tokens(name)
    stems = {each.rstrip("0123456789") for each in own}
    first = {*re.split(r"[\W_]+", name.casefold())[:2]}  # a whole question that begins with nobody names nobody
    if own & (CONFIDENCE | _AGREEING) or ("?" in name and " " in name and not first & (_JUDGE | HUMAN)):
        return ""
    is_truth = stems & TRUTH and stems - {"", "y"} <= TRUTH | LABEL_WORDS | _BESIDE | _VERDICT
    is_truth = is_truth and not (stems & _SCORES and stems & TRUTH <= _OF_TEXTS)  # what a judge gave to the reference
    if stems & HUMAN or is_truth:
        return "people"
    if own & _JUDGE or is_model(name):
        return "judge"
    return "people" if stems & LABEL_WORDS and stems - {""} <= LABEL_WORDS | _BESIDE else ""


def is_text(name: str) -> bool:
    """Whether a column says what was judged, by its name or that of the record it was in (``inputs.city``)."""
    of, last = plain(name.partition(".")[0]), plain(name.rpartition(".")[2])
    if {of, *name.split(".")} & {"metadata", "scores"} and who(name):  # a verdict on it, kept beside it
        return False
    own = {plain(name), of} if who(name) else {plain(name), of, last}
    return plain(name) in NAMES["trajectory_id"] or bool(own & {*TEXTS})


def may_answer(known: Recognised, names: Sequence[str]) -> list[str]:
    """Columns that may hold answers, the likeliest first: verdicts, few words of another name, a text's that repeat."""

    def rank(name: str) -> int:
        column = known.columns[name]
        if column.kind == "verdict" and column.distinct > 1:
            return 3
        if len(column.words) < 2 or last_part(name) in OF_SOURCE:
            return 0
        if column.kind == "other" and not is_text(name):
            return 2
        return int(column.kind in ("text", "other") and column.filled >= _OFTEN * column.distinct)

    return sorted(filter(rank, names), key=rank, reverse=True)


def by_question(names: Sequence[str]) -> dict[str, list[str]]:
    """Question -> columns, where only the end of each name says who rated, and the same in all; else nothing.

    ``tone.human`` and ``facts.human``; places of a list are several raters (``tone.human.0``).
    """
    asked = _without_places(names)
    rest = [base.rpartition(".")[0] for base in asked]
    alike = len({last_part(base) for base in asked}) == 1 < len(asked)
    return asked if alike and all(of and not who(of) and not re.search(r"\.\d+$", of) for of in rest) else {}


def _without_places(names: Sequence[str]) -> dict[str, list[str]]:
    asked: dict[str, list[str]] = {}
    for name in names:
        asked.setdefault(re.sub(r"\.\d+$", "", name), []).append(name)
    return asked


def by_place(names: Sequence[str]) -> dict[str, list[str]]:
    """Question -> columns, where each of several questions has a list of answers (``tone.0``); else nothing."""
    asked = _without_places(names)
    return asked if len(asked) > 1 and all(len(of) > 1 for of in asked.values()) else {}


def kind_of(name: str, column: str = "") -> RaterKind | None:
    """What a rater is by its name, a number or id also by a column of people's, all but models by a ``worker``'s."""
    if "," in name:  # a model and who checked it
        return None
    if (side := who(name)) or (tokens(column) & WHO_RATED and "model" in tokens(column)):
        return "human" if side == "people" else "llm"
    numbered = re.fullmatch(rf"\d+|{_NUMBERED}|[A-Z0-9]{{10,}}|[0-9a-f-]{{16,}}", name)
    is_name = (numbered and who(column) == "people") or tokens(column) & OF_PEOPLE
    return "human" if is_name or re.fullmatch(r"(?i)ann\W*\d+", name) else None


def share_words(words: frozenset[str], of_people: frozenset[str], *, leave: bool = False) -> bool:
    """Whether a column answers the question that `of_people` answers: the same words, or words of the same two sides.

    With `leave`, as for a column named like a judge, or with three words in common, half of its words may be its own.
    """
    if not words or not of_people or of_unlike_scales(words, of_people):
        return False
    leave = leave or sum(number_of(each) is None for each in words & of_people) > 2
    if words <= of_people or (leave and len(words & of_people) * 2 >= len(words)):
        return True
    sided = len(of_people) > 1 and all(map(side, of_people))  # one word in every row says nothing of a side
    return sided and sum(map(bool, map(side, words))) * 2 >= len(words)


def same_in_every_row(frame: pl.DataFrame, one: str, other: str) -> bool:
    """Whether two columns say the same in every row where both say something, in whatever words."""
    both = frame.select(as_word(one).alias("one"), as_word(other).alias("other")).drop_nulls()
    pairs = both.unique()
    return both.height >= _FEWEST_ALIKE and 2 <= pairs.height == pairs["one"].n_unique() == pairs["other"].n_unique()


def as_word(name: str) -> pl.Expr:
    return pl.col(name).str.strip_chars().str.to_lowercase().str.strip_suffix(".0")


def alike(one: KnownColumn, other: KnownColumn, *, named: bool = True) -> bool:
    """Whether two columns may answer one question: words in common, or numbers in one range; if named so, sides too."""
    if one.numbers and other.numbers:
        return one.numbers[0] <= other.numbers[1] and other.numbers[0] <= one.numbers[1]
    chosen = named and (same_choices(one.words, other.words) or same_choices(other.words, one.words))
    return bool(one.words & other.words or chosen)


def holds_answers(known: Recognised, name: str) -> bool:
    """Whether a column named for judges holds verdicts, as one of people's does beside it, of which no judge's is."""
    if not name or who(name) != "judge" or not (known.item or not known.named("verdict")):
        return False
    own, verdicts = known.columns[name], [of for of in known.of("verdict") if of not in known.outer]
    people = [known.columns[of] for of in verdicts if of != name and tokens(of) & HUMAN]
    return own.kind == "verdict" and bool(own.fractions or any(own.numbers or alike(own, each) for each in people))


def summed_up(frame: pl.DataFrame, names: Sequence[str], people: Sequence[str]) -> list[str]:
    """Which columns are made of single people's beside them: by name (majority, mean), or by their cells."""
    people = people or [name for name in names if re.fullmatch(_NUMBERED, plain(name))]
    between = decided(names) if len(people) > 1 or {*names} - {*people, *decided(names)} else []
    named = {name for name in names if tokens(name) & SUMMED_UP and who(name) != "judge"} | {*between}
    single = [name for name in people if name not in named and not tokens(name) & SUMMED_UP]
    return [name for name in names if single and (name in named or sums_up(frame, name, people))]


def decided(names: Iterable[str]) -> list[str]:
    """Those that are named for what was decided where people differ, and for no judge (``final_verdict``)."""
    named = (name for name in names if tokens(name) & DECIDED)
    return [name for name in named if who(" ".join(sorted(tokens(name) - DECIDED - _VERDICT))) != "judge"]


def sums_up(frame: pl.DataFrame, name: str, people: Sequence[str]) -> bool:
    """Whether a column, not named for a judge, says what two people or more say wherever they agree: made of them."""
    if len(people) < 2 or name in people or who(name) == "judge":
        return False
    words = frame.select(as_word(name).alias("name"), *(as_word(each).alias(f"of {each}") for each in people))
    theirs = pl.concat_list(pl.exclude("name")).list.drop_nulls().list
    agreed = words.with_columns(n=theirs.len(), one=theirs.first(), unlike=theirs.n_unique()).drop_nulls("name")
    agreed = agreed.filter((pl.col("n") > 1) & (pl.col("unlike") == 1))
    return (
        agreed.height >= _FEWEST_ALIKE
        and agreed["one"].n_unique() > 1
        and bool((agreed["name"] == agreed["one"]).all())
    )


def several_raters(known: Recognised, taken: Iterable[str]) -> str:
    """A column that says whose verdict each row holds, beside a column of verdicts; nothing if all are one's."""
    return next((name for name in known.of("rater") if known.columns[name].distinct > 1 and name not in taken), "")
