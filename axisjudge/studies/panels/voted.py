"""One question as judges voted on it and people labelled it, ready to be put together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.labels.panel import BY_PEOPLE, DrawProblem, draw_of, reference_of, undecided_in
from axisjudge.ratings import SCHEMA, to_matrix
from axisjudge.ratings.edge import EMPTY_RUN, MADE_UP, by_raters, raters_of
from axisjudge.ratings.scales import categories_of, level_of, on_scale
from axisjudge.stats.agreement.chance_corrected import set_aside
from axisjudge.stats.panel_models import LinearPanel, PanelVotes
from axisjudge.stats.panel_ways import WAYS
from axisjudge.studies._shared.frames import Floats, Given, Kind, kind_of, made_up_raters, to_polars
from axisjudge.verdict import SCHEMA_VERSION

COLUMNS = (
    *("item_id", "trajectory_id", "step_index", "cluster_id", "agent", "question", "scale", "repeat"),
    *("rater", "rater_kind", "family", "model", "status", "verdict", "value", "confidence", "flags"),
    *("mechanism", "confidence_source"),
)
#: What the ratings of a fitted panel bear as their mechanism.
MECHANISM = "panel"


class DrawScheme(StrEnum):
    """How the labelled items were drawn, as far as a guarantee is concerned."""

    NONE = "none"
    FULL = "full"
    RANDOM = "random"
    WEIGHTED = "weighted"
    UNKNOWN = "unknown"
    UNRECORDED = "unrecorded"
    SEVERAL = "several"
    LOOKED_AT = "looked_at"
    BY_LABEL = "by_label"
    PARTIAL = "partial"

    @property
    def carries(self) -> bool:
        """Whether a share among the labelled items says anything of all."""
        return self in (DrawScheme.FULL, DrawScheme.RANDOM, DrawScheme.WEIGHTED)


@dataclass(frozen=True, eq=False)
class Voted:
    """Items of one question x judges, with labels where there are any.

    `words` (items, judges) and `labels` (items,) hold positions in `categories`, NaN where none takes a side;
    `confidences` are the judges' own, NaN for judges of which two sources have some (`two_sources`), as these are never
    pooled.
    `weights` (items,) are 1 over the probability of the draw where it is known, else 1; `steps` says what items are.
    """

    question: str
    scale: str
    categories: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    models: tuple[str, ...]
    items: tuple[str, ...]
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    words: Floats
    confidences: Floats
    labels: Floats
    weights: Floats
    draw: DrawScheme
    cluster_unit: str
    steps: bool = False
    two_sources: tuple[str, ...] = ()
    made_up: tuple[str, ...] = ()
    kind: Kind = "polars"

    @property
    def votes(self) -> PanelVotes:
        """The arrays that the statistics take."""
        groups = np.unique(np.array(self.tasks), return_inverse=True)[1].astype(np.intp)
        return PanelVotes(
            self.words, self.labels, self.weights, groups, self.families, len(self.categories), self.ordered
        )

    @property
    def n_labelled(self) -> int:
        """How many items have a label."""
        return int((~np.isnan(self.labels)).sum())

    @property
    def n_voted(self) -> int:
        """On how many items a judge gave a word."""
        return int((~np.isnan(self.words)).any(axis=1).sum())

    @property
    def n_confident(self) -> int:
        """How many judges gave confidences."""
        return int((~np.isnan(self.confidences)).any(axis=0).sum())

    @property
    def ordered(self) -> bool:
        """Whether the words have an order, so that near misses count in part."""
        return level_of(self.scale) == "ordinal" and self.scale != "step"

    def of(self, judges: Sequence[str]) -> Voted:
        """The same items with these judges' columns, in this order; NaN for a judge that rated nothing here."""
        column_of = {name: column for column, name in enumerate(self.judges)}
        empty = np.full((len(self.items), 1), np.nan)
        pick = [column_of.get(name, len(self.judges)) for name in judges]
        words, sure = (np.hstack([each, empty])[:, pick] for each in (self.words, self.confidences))
        families, models = (tuple([*names, ""][p] for p in pick) for names in (self.families, self.models))
        return replace(self, judges=tuple(judges), words=words, confidences=sure, families=families, models=models)


def voted(
    ratings: Given,
    labels: Given | None = None,
    *,
    question: str = "",
    judges: Sequence[str] | None = None,
    step_level: bool | None = None,
    sampling: str | None = None,
    cluster_unit: str = "task",
) -> Voted:
    """The votes and labels of one question.

    Parameters
    ----------
    ratings : table
        Ratings of judges; people's labels may stand among them.
    labels : table, optional
        People's labels, where they stand apart.
    question : str
        Which one, where there are several.
    judges : sequence of str, optional
        Which raters; by default all but people, planted truth and other panels.
    step_level : bool, optional
        Ratings of steps; by default whole runs, unless there are none.
    sampling : str, optional
        How the labelled items were drawn, if the labels do not say.

    Raises
    ------
    InputError
        No judge, several questions and none named, numbers instead of words, two ratings of one judge on an item, or
        `sampling` against the labels.
    """
    given = to_polars(ratings, COLUMNS, where="ratings")
    human = given.filter(BY_PEOPLE) if labels is None else to_polars(labels, COLUMNS, where="labels").filter(BY_PEOPLE)
    judged = _chosen(given.filter(~BY_PEOPLE), question, judges, step_level)
    asked, steps = str(judged["question"][0]), bool(judged["step_index"].is_not_null().any())
    of_question = (pl.col("question") == asked) & (pl.col("step_index").is_not_null() == steps)
    word = of_question & (pl.col("repeat") == 0) & pl.col("verdict").is_not_null()
    people = human.filter(word & pl.col("item_id").is_in(judged["item_id"].unique().implode()))
    if labels is not None and people.is_empty():
        cure = "check that question and trajectory ids are the same"
        raise TooLittle("labels", f"must hold words of people on {asked} for items that judges rated", None, cure)
    names = raters_of(judged)
    if judges is not None:
        names = [name for name in judges if name in set(names)]
    labellers = people["rater"].unique().sort().to_list()
    if (judged["status"] == "ok").any() and not judged["verdict"].is_not_null().any():
        raise InputError("ratings", "must be words: numbers alone cannot be voted on", asked)
    matrix = to_matrix(pl.concat([judged, people]), asked, raters=[*names, *labellers], step_level=steps)
    if not matrix.categories:
        raise TooLittle("ratings", "must hold a verdict of a judge: all were lost", asked, "judge again")
    k = len(names)
    agent = dict(judged.drop_nulls("agent").select("item_id", "agent").iter_rows())
    model = dict(judged.drop_nulls("model").select("rater", "model").iter_rows())
    sources = judged.drop_nulls("confidence").group_by("rater").agg(pl.col("confidence_source").n_unique())
    two_sources = sources.filter(pl.col("confidence_source") > 1)["rater"].sort().to_list()
    draw, weights = _drawn(people, matrix.items, sampling)
    return Voted(
        question=asked,
        scale=str(judged["scale"][0]),
        categories=matrix.categories,
        judges=tuple(names),
        families=matrix.families[:k],
        models=tuple(model.get(name, "") for name in names),
        items=matrix.items,
        tasks=matrix.clusters,
        agents=tuple(agent.get(item, "") for item in matrix.items),
        words=set_aside(matrix.codes[:, :k], undecided_in(matrix.categories)),
        confidences=np.where(np.isin(names, two_sources), np.nan, matrix.confidences[:, :k]),
        labels=reference_of(matrix.codes[:, k:], matrix.categories),
        weights=weights,
        draw=draw,
        cluster_unit=cluster_unit,
        steps=steps,
        two_sources=tuple(two_sources),
        made_up=made_up_raters(judged, people),
        kind=kind_of(ratings),
    )


def _chosen(judged: pl.DataFrame, question: str, judges: Sequence[str] | None, step_level: bool | None) -> pl.DataFrame:
    if judged.is_empty():
        raise TooLittle(
            "ratings", "must be of judges, and none is", cure="name a file of judges, people's go as labels"
        )
    rows = judged.filter((pl.col("repeat") == 0) & ~EMPTY_RUN)
    rows = rows.filter(pl.col("mechanism").ne_missing(MECHANISM)) if judges is None else by_raters(rows, judges)
    levels = (rows.filter(pl.col("question") == question) if question else rows)["step_index"].is_not_null()
    steps = step_level if step_level is not None else len(levels) > 0 and levels.all()
    rows = rows.filter(pl.col("step_index").is_not_null() == steps)
    if rows.is_empty():
        raise TooLittle("ratings", f"must be of judges, on {'steps' if steps else 'whole runs'}, and none is")
    questions = rows["question"].unique(maintain_order=True).to_list()
    if not question and len(questions) > 1:
        cure = f"name one of {', '.join(sorted(questions))} with question (--question)"
        raise InputError("ratings", "one panel answers one question", f"{len(questions)} questions", cure)
    return rows.filter(pl.col("question") == one_of("question", question or questions[0], questions))


def _drawn(people: pl.DataFrame, items: tuple[str, ...], sampling: str | None) -> tuple[DrawScheme, Floats]:
    """How the labels were drawn, and what each labelled item stands for."""
    alike = np.ones(len(items))
    if people.is_empty():
        return DrawScheme.NONE, alike
    drawn = draw_of(people, items, sampling, in_full=people["item_id"].n_unique() == len(items))
    if drawn.in_full:
        return DrawScheme.FULL, alike
    if drawn.problem:
        return DrawScheme.LOOKED_AT if drawn.problem is DrawProblem.LOOKED_AT else DrawScheme.SEVERAL, alike
    if drawn.sampling in ("unknown", "by_human_label"):
        return DrawScheme.UNKNOWN if drawn.sampling == "unknown" else DrawScheme.BY_LABEL, alike
    if drawn.probability is None:  # only a draw at random needs none
        return DrawScheme.RANDOM if drawn.sampling == "random" else DrawScheme.UNRECORDED, alike
    given = ~np.isnan(drawn.probability)
    if drawn.sampling != "random" and _stand_for_fewer(1 / drawn.probability[given], len(items)):
        return DrawScheme.PARTIAL, alike
    if np.ptp(drawn.probability[given]) < 1e-12:
        return DrawScheme.RANDOM, alike
    return DrawScheme.WEIGHTED, np.where(given, 1 / drawn.probability, 1.0)


def _stand_for_fewer(weights: Floats, n_items: int) -> bool:
    """Whether labelled items stand for fewer than all, by two standard errors and a tenth: some kind has no label.

    The sum of 1 / p over drawn items estimates how many items there are (Horvitz and Thompson 1952), with the variance
    sum (1 - p) / p^2 where items are drawn one by one.
    """
    error = np.sqrt((weights * (weights - 1)).sum())
    return bool(weights.sum() < min(0.9 * n_items, n_items - 2 * error))


#: What items are: whole runs or steps.
_LEVELS = ("whole runs", "steps")
#: Version of the file; raised when its fields change in meaning.
FILE_VERSION = 1


@dataclass(frozen=True)
class FittedPanel:
    """Judges put together on one question.

    `tuned_on` names the tasks whose labels it was fitted on; `held_out` gives, for each labelled item, the
    probabilities from a fit without the item's task. `ratings` and `labels` map each file that it was fitted on to its
    sha256. `draw` says how the labelled items had been drawn; `shift` is that of `LinearPanel`, empty without; `steps`
    whether it speaks of steps or of whole runs (None in files that do not say).
    """

    name: str
    way: str
    question: str
    scale: str
    categories: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    intercept: tuple[float, ...]
    table: tuple[tuple[tuple[float, ...], ...], ...]
    weights: tuple[float, ...]
    temperature: float
    shared: bool
    n_labels: int
    tuned_on: tuple[str, ...]
    draw: str
    held_out: Mapping[str, tuple[float, ...]]
    ratings: Mapping[str, str]
    labels: Mapping[str, str]
    package_version: str
    shift: tuple[float, ...] = ()
    steps: bool | None = None
    file_version: int = FILE_VERSION

    @property
    def rater(self) -> str:
        """The name its ratings stand under."""
        return f"panel:{self.name}"

    @property
    def asked_families(self) -> tuple[str, ...]:
        """The family of each judge that it asks."""
        return tuple(family for family, needed in zip(self.families, self.linear.asked, strict=True) if needed)

    @property
    def linear(self) -> LinearPanel:
        """The panel as arrays."""
        intercept, table, weights = (np.array(part, float) for part in (self.intercept, self.table, self.weights))
        shift = np.array(self.shift, float) if self.shift else None
        return LinearPanel(intercept, table, weights, temperature=self.temperature, shared=self.shared, shift=shift)

    @property
    def asked(self) -> tuple[str, ...]:
        """The judges that it needs."""
        return tuple(name for name, needed in zip(self.judges, self.linear.asked, strict=True) if needed)

    @property
    def sha256(self) -> str:
        """Hash of all that the file holds."""
        return sha256(self._text().encode()).hexdigest()

    def probabilities(self, votes: Voted) -> Floats:
        """Probability of each word on these items, shape (n_items, n_categories); NaN where nobody asked answered.

        Raises
        ------
        InputError
            Votes on another question or scale, on steps where it was fitted on runs, or none of a judge that it asks.
        """
        level = _LEVELS[votes.steps if self.steps is None else self.steps]
        named = (("the question ", self.question, votes.question), ("the scale ", self.scale, votes.scale))
        for what, mine, theirs in (*named, ("", level, _LEVELS[votes.steps])):
            if mine != theirs:
                raise InputError("ratings", f"panel {self.name} was fitted on {what}{mine}", theirs)
        self.asked_in(votes.judges)
        return self.linear.probabilities(votes.of(self.judges).words)

    def asked_in(self, raters: Iterable[str]) -> tuple[str, ...]:
        """The judges that it asks, each of whom is among `raters`, else an InputError says who is not."""
        if missing := sorted(set(self.asked) - set(raters)):
            cure = "judge with them too, or fit a panel without them"
            rule = f"panel {self.name} asks judges that rated nothing here"
            raise InputError("ratings", rule, ", ".join(missing), cure)
        return self.asked

    def words(self, probabilities: Floats) -> Floats:
        """The panel's words: positions in `categories`, NaN where it gives none."""
        return self.linear.words(probabilities)

    def save(self, path: str | Path) -> Path:
        """Write the file; the same panel gives the same bytes."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self._text(), encoding="utf-8")
        return target

    def _text(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.steps is None:  # of a file that does not say; its hash stays
            del values["steps"]
        return json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


def read_panel(path: str | Path) -> FittedPanel:
    """Read a panel that `FittedPanel.save` wrote.

    Raises
    ------
    InputError
        No such file, or not a fitted panel of this version.
    """
    from pydantic import TypeAdapter, ValidationError

    cure = "write one with axisjudge panel fit"
    try:
        text = Path(path).read_text(encoding="utf-8")
        values = json.loads(text)
        if values["file_version"] != FILE_VERSION:
            raise InputError(str(path), f"must be a panel file of version {FILE_VERSION}", values["file_version"])
        if unknown := sorted(set(values) - {field.name for field in fields(FittedPanel)}):
            raise InputError(str(path), "is not a fitted panel: it has a field of another kind", unknown[0], cure)
        panel = TypeAdapter(FittedPanel).validate_json(text, strict=True)
        _check(panel)
    except InputError:
        raise
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(str(path), f"is not a fitted panel: {where}: {first['msg']}", cure=cure) from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise InputError(str(path), "is not a fitted panel", str(error), cure) from error
    return panel


def _check(panel: FittedPanel) -> None:
    """Raise ValueError where the parts do not belong together."""
    k, q = len(panel.judges), len(panel.categories)
    linear = panel.linear
    shapes = linear.table.shape, linear.weights.shape, linear.intercept.shape, (len(panel.families),)
    if shapes != ((k, q, q), (k,), (q,), (k,)) or len(panel.shift) not in (0, q):
        raise ValueError(f"weights do not fit {k} judges and {q} words")
    rules = {
        "way": panel.way in WAYS,
        "name": _is_name(panel.name),
        "draw": panel.draw in set(DrawScheme),
        "judges": len(set(panel.judges)) == k,
        "categories": panel.categories == (categories_of(panel.scale) or tuple(dict.fromkeys(panel.categories))),
        "temperature": 0 < panel.temperature < np.inf,
        "held_out": all(len(p) == q and min(p) >= 0 and abs(sum(p) - 1) < 1e-3 for p in panel.held_out.values()),
        "numbers": all(np.isfinite(part).all() for part in (linear.table, linear.weights, linear.intercept)),
        "shift": bool(np.isfinite(panel.shift).all()),
    }
    if broken := [name for name, holds in rules.items() if not holds]:
        raise ValueError(f"{broken[0]} cannot be")


def _is_name(name: str) -> bool:
    return bool(name) and not any(letter in name for letter in "/\\: \n\t")


def kept(
    name: str, way: str, panel: LinearPanel, votes: Voted, held_out: Floats, files: Mapping[str, Mapping[str, str]]
) -> FittedPanel:
    """A panel with all that must be known of its fit.

    Parameters
    ----------
    held_out : array, shape (n_labelled, n_categories)
        Probabilities of the labelled items, in order, from fits without their tasks.
    files : mapping
        ``ratings`` and ``labels``: file name to sha256.
    """
    from axisjudge import __version__

    if not _is_name(name):
        raise InputError("--name", "must be one word without : and /", name)
    rows = np.flatnonzero(~np.isnan(votes.labels))
    return FittedPanel(
        name=name,
        way=way,
        question=votes.question,
        scale=votes.scale,
        categories=votes.categories,
        judges=votes.judges,
        families=votes.families,
        intercept=tuple(panel.intercept.tolist()),
        table=tuple(tuple(map(tuple, of_judge)) for of_judge in panel.table.tolist()),
        weights=tuple(panel.weights.tolist()),
        temperature=panel.temperature,
        shared=panel.shared,
        n_labels=rows.size,
        tuned_on=tuple(sorted({votes.tasks[row] for row in rows})),
        draw=str(votes.draw if rows.size else DrawScheme.NONE),
        held_out={
            votes.items[row]: tuple(round(value, 6) for value in p)
            for row, p in zip(rows, held_out.tolist(), strict=True)
            if not np.isnan(p).any()
        },
        ratings=dict(files.get("ratings", {})),
        labels=dict(files.get("labels", {})),
        package_version=__version__,
        shift=() if panel.shift is None else tuple(panel.shift.tolist()),
        steps=votes.steps,
    )


def hashes(paths: list[Path]) -> dict[str, str]:
    """Each file with its sha256, by the name under which it was given."""
    return {path.as_posix(): sha256(path.read_bytes()).hexdigest() for path in paths}


#: How many characters of the hash stand in the version of the ratings' rater.
_SHORT = 16
#: What a member's rating says of the item and the protocol, and a panel's rating says again.
_OF_ITEM = ("trajectory_id", "step_index", "interaction_id", "task_id", "cluster_id", "agent", "domain", "split")


def panel_ratings(panel: FittedPanel, ratings: pl.DataFrame) -> pl.DataFrame:
    """What a fitted panel says of the items that its judges rated, as a ratings table.

    The word is the panel's, `confidence` its probability, `probabilities` that of every word; the hash of the fit
    stands in `rater_version` and `prompt_sha256`. Where none of the judges that it asks gave a word, its rating is lost
    (status ``refused``). Cost and time are those of its judges, and are not counted again here. Flags of the protocol
    (``opening:``, ``exploratory``) and the side of the split are those of the judges' ratings.

    Raises
    ------
    InputError
        Judges that it asks rated nothing here, or another question.
    """
    given, asked = ratings.filter(~BY_PEOPLE), panel.asked_in(ratings["rater"])
    votes = voted(given, question=panel.question, judges=asked, step_level=panel.steps)
    probabilities = panel.probabilities(votes)
    words = panel.words(probabilities)
    member = pl.col("rater").is_in(panel.asked) & (pl.col("question") == panel.question) & (pl.col("repeat") == 0)
    rows = ratings.filter(member & (pl.col("step_index").is_not_null() == votes.steps))
    kinds, families = set(rows["rater_kind"]), set(rows["family"])
    made_up = sorted(kinds & set(MADE_UP))
    flag = pl.col("flags").explode().drop_nulls().unique().sort()
    of_item = rows.group_by("item_id", maintain_order=True).agg(
        *(pl.col(name).drop_nulls().first() for name in _OF_ITEM),
        flag.filter(flag.str.starts_with("opening:") | (flag == "exploratory")),
        pl.col("created_at").max(),
    )
    items = {row["item_id"]: row for row in of_item.iter_rows(named=True)}
    sha = panel.sha256
    common: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "question": panel.question,
        "scale": panel.scale,
        "rater": panel.rater,
        "rater_kind": made_up[0] if made_up else "llm" if "llm" in kinds else sorted(kinds)[0],
        "family": families.pop() if len(families) == 1 else "panel",
        "mechanism": MECHANISM,
        "rater_version": sha[:_SHORT],
        "prompt_sha256": sha,
        "repeat": 0,
        "cited_step_indices": [],
        "invalid_citations": [],
    }
    lines = []
    for position, item in enumerate(votes.items):
        line = common | items[item] | {"item_id": item, "status": "refused"}
        if not np.isnan(words[position]):
            word = panel.categories[int(words[position])]
            of_word = dict(zip(panel.categories, map(float, probabilities[position]), strict=True))
            line |= {"status": "ok", "verdict": word, "confidence": min(of_word[word], 1.0)}
            line |= {"confidence_source": "native", "probabilities": json.dumps(of_word)}
            if (known := on_scale(panel.scale, word)) is not None:
                line["value"] = known[1]
        lines.append(line)
    return pl.DataFrame([{name: line.get(name) for name in SCHEMA} for line in lines], schema=SCHEMA)
