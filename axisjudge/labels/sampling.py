"""How items were drawn for labelling: the record that labels carry, and the draws themselves.

The contract
------------
A human label is a `Rating` with ``rater_kind`` and ``family`` ``human``. How its item was drawn stands in the label's
own `flags`, so that it survives every merge, filter and round trip, and analysis needs the ratings table only:

=========================  ==========================================================================================
``drawn:METHOD``           ``random``, ``by_judge_verdict``, ``by_key``, ``by_human_label``, `LOOKED_AT`, ``unknown``
``drawn_by:KEY``           what decided: ``rules: argument_validity`` (judge: axis), a column's name, a person's name
``drawn_stratum:VALUE``    the item's value of that key (``incorrect``, ``lost``, a domain, ...)
``drawn_probability:P``    inclusion probability of the item as `repr` of a float, which reads back exactly
``drawn_from:N``           trajectories in the frame, that is, among which the draw was made
=========================  ==========================================================================================

A page for blind labelling must not tell the judge's verdict that drew an item: unless the draw was at random (or
unknown), its lines carry ``drawn_plan:HASH`` alone, and import fills in the rest from the plan (`with_plan`).
A label without these flags was drawn in an unknown way, and the estimators refuse it. `drawn_flags` writes them,
`drawn_of` reads them from one label, `with_drawn` adds them as columns to a ratings table (for estimators), and
`set_drawn` replaces them in ratings (for import and adjudication). Other flags are left alone.

Beside the labels ``NAME.jsonl`` stands the plan ``NAME.sampling.json`` (`write_sampling`, `read_sampling`): the whole
draw with its seed and the order in which items are shown. The labeller resumes from it; no estimator needs it.

What the probabilities mean
---------------------------
- `random`: a null probability means equal for all. `by_key` always has one; `by_judge_verdict` and `by_human_label`
  may lack it where only the strata are known. `unknown` has neither key nor probability.
- With `one_per_task` the draw has two phases: first one trajectory of each task, each as likely as the others, then
  tasks. The probability is the product of both phases (1/4 for one of four agents, times the share of tasks drawn).
- `LOOKED_AT`: decisions on items that judges are at odds on (`axisjudge.labels.decisions`). No rate follows.
- Probabilities hold up to a common factor: whoever stops after 30 of 50 items in the shuffled order has a random part
  of the draw. Estimators normalise the weights 1/p.
- The frame leaves out runs without messages: they are rated by definition, and nobody is asked about them.
- `Drawn.question` is null where all axes of the trajectory are labelled (every draw here); adjudication, which draws
  single (trajectory, axis) items, fills it in, and the labeller then asks for these axes only.
- A second person who labels all that the first one labelled inherits method, key and probabilities.

Draws depend on the seed and on ids alone, never on the order of files: items are ranked by a hash of seed and id.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Rating
from axisjudge.workbench import whole_or_not_at_all

Method = Literal["random", "by_judge_verdict", "by_key", "by_human_label", "by_flip", "by_disagreement", "unknown"]
METHODS: tuple[Method, ...] = get_args(Method)
#: Ways from which no rate follows: somebody looked where judges were at odds.
LOOKED_AT: tuple[Method, ...] = ("by_flip", "by_disagreement")

#: What labels say of their draw, each with its type.
_FLAGS = {"drawn": str, "drawn_by": str, "drawn_stratum": str, "drawn_probability": float, "drawn_from": int}
_PLAN = "drawn_plan"
#: The stratum of a trajectory to which a judge gave no verdict.
LOST = "lost"


@dataclass(frozen=True)
class Drawn:
    """One drawn item: a trajectory, with one axis of it or all (None), and how likely it was to be drawn."""

    trajectory_id: str
    probability: float | None = None
    stratum: str | None = None
    question: str | None = None


@dataclass(frozen=True)
class Sampling:
    """How a set of items was drawn for labelling; `items` stand in the order in which they are shown.

    Raises
    ------
    InputError
        The method is unknown, a key or probability that the method needs is missing, or one lies outside (0, 1].
    """

    method: Method
    items: tuple[Drawn, ...]
    key: str | None = None
    seed: int | None = None
    n_frame: int | None = None
    one_per_task: bool = False

    def __post_init__(self) -> None:
        one_of("sampling method", self.method, METHODS)
        if self.method.startswith("by_") and not self.key:
            raise InputError("sampling", f"{self.method} needs the key that decided", cure="name it")
        for item in self.items:
            _check(self.method, item)
        shown = [(item.trajectory_id, item.question) for item in self.items]
        if len(set(shown)) < len(shown):
            raise InputError("sampling", "an item is drawn once", Counter(shown).most_common(1)[0][0])

    @property
    def trajectory_ids(self) -> tuple[str, ...]:
        """The drawn trajectories, each once, in the order of their first item."""
        return tuple(dict.fromkeys(item.trajectory_id for item in self.items))

    def flags_for(self, item: Drawn) -> list[str]:
        """What a label of this item carries in its `flags`."""
        return drawn_flags(self.method, item.probability, key=self.key, stratum=item.stratum, n_frame=self.n_frame)

    @property
    def plan_flag(self) -> str:
        """The flag that names this plan by a hash, on labels given blind."""
        return f"{_PLAN}:{sha256(_as_json(self).encode()).hexdigest()[:16]}"


def _check(method: Method, item: Drawn) -> None:
    where = f"sampling of {item.trajectory_id}"
    if item.probability is None:
        if method == "by_key":
            raise InputError(where, "a draw by key needs each item's probability", cure="or state method unknown")
    elif method == "unknown":
        raise InputError(where, "an unknown draw has no probabilities", item.probability)
    elif not 0.0 < item.probability <= 1.0:
        raise InputError(where, "an inclusion probability lies in (0, 1]", item.probability)


def drawn_flags(
    method: Method,
    probability: float | None = None,
    *,
    key: str | None = None,
    stratum: str | None = None,
    n_frame: int | None = None,
) -> list[str]:
    """The flags that say how a label's item was drawn; what is None is left out."""
    exact = None if probability is None else repr(float(probability))
    values = (method, key, stratum, exact, n_frame)
    return [f"{name}:{value}" for name, value in zip(_FLAGS, values, strict=True) if value is not None]


def drawn_of(flags: Iterable[str]) -> dict[str, Any]:
    """How an item was drawn, from a label's flags: drawn, drawn_by, drawn_stratum, drawn_probability, drawn_from.

    Without flags `drawn` is ``unknown`` and the rest None.
    """
    given = dict(flag.split(":", 1) for flag in flags if _is_drawn(flag))
    one_of("flag drawn", given.setdefault("drawn", "unknown"), METHODS)
    return {name: kind(given[name]) if name in given else None for name, kind in _FLAGS.items()}


def with_drawn(labels: pl.DataFrame) -> pl.DataFrame:
    """The ratings table with the columns drawn, drawn_by, drawn_stratum, drawn_probability and drawn_from added."""
    drawn = pl.DataFrame([drawn_of(flags or ()) for flags in labels["flags"].to_list()], schema=_FLAGS)
    return labels.with_columns(drawn.get_columns())


def set_drawn(labels: Iterable[Rating], drawn: Sequence[str]) -> list[Rating]:
    """The labels with these flags (see `drawn_flags`) in place of whatever they said of their draw."""
    return [
        label.model_copy(update={"flags": [*(flag for flag in label.flags if not _is_drawn(flag)), *drawn]})
        for label in labels
    ]


def _is_drawn(flag: str) -> bool:
    return flag.partition(":")[0] in (*_FLAGS, _PLAN)


def with_plan(labels: Iterable[Rating], sampling: Sampling) -> list[Rating]:
    """Labels that carry this plan's hash, with what the plan says of each item in its place; others as they were."""
    items = {(item.trajectory_id, item.question): item for item in sampling.items}
    filled, plan = [], sampling.plan_flag
    for label in labels:
        item = items.get((label.trajectory_id, label.question)) or items.get((label.trajectory_id, None))
        filled += set_drawn([label], sampling.flags_for(item)) if item and plan in label.flags else [label]
    return filled


def draw_at_random(
    trajectories: Iterable[Trajectory], n: int | None = None, *, seed: int, one_per_task: bool = True
) -> Sampling:
    """Draw trajectories at random without replacement.

    Parameters
    ----------
    trajectories : iterable of Trajectory
        The frame. Runs without messages are left out of it.
    n : int, optional
        How many; by default all (one of each task).
    seed : int
    one_per_task : bool
        One agent's trajectory of each task, since those of one task are not independent: labels of whole tasks cover
        .87-.91 where .95 is meant.

    Raises
    ------
    InputError
        There are fewer than `n`.
    """
    frame = _frame(trajectories)
    offered = _one_of_each_task(frame, seed) if one_per_task else dict.fromkeys((run.id for run in frame), 1.0)
    n = _enough(n, len(offered))
    share = n / len(offered)
    items = tuple(Drawn(run, offered[run] * share) for run in in_random_order(offered, seed, "item")[:n])
    return Sampling("random", items, seed=seed, n_frame=len(frame), one_per_task=one_per_task)


def draw_by(
    trajectories: Iterable[Trajectory],
    strata: Mapping[str, str],
    n: int | Mapping[str, int],
    *,
    key: str,
    method: Method = "by_key",
    seed: int,
    one_per_task: bool = True,
) -> Sampling:
    """Draw trajectories at random within strata, and show them shuffled across strata.

    Parameters
    ----------
    trajectories : iterable of Trajectory
        The frame. Runs without messages are left out of it.
    strata : mapping
        Stratum of each trajectory id; for a judge's verdicts see `verdict_strata`.
    n : int or mapping
        How many of each stratum, or how many in all: then as evenly over the strata as these allow, which takes more
        of the rare ones than a random draw would.
    key : str
        What decides, in words: ``rules: argument_validity``, ``domain``.
    method : str
        ``by_key``, ``by_judge_verdict`` or ``by_human_label``.
    seed : int
    one_per_task : bool
        As in `draw_at_random`.

    Raises
    ------
    InputError
        A trajectory has no stratum, a stratum is unknown or has fewer than asked for.
    """
    frame = _frame(trajectories)
    if missing := [run.id for run in frame if run.id not in strata]:
        raise InputError(f"strata by {key}", "every trajectory needs a stratum", missing[0])
    offered = _one_of_each_task(frame, seed) if one_per_task else dict.fromkeys((run.id for run in frame), 1.0)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for run in offered:
        members[strata[run]].append(run)
    numbers = _evenly(n, members) if isinstance(n, int) else n
    items = {}
    for stratum, number in numbers.items():
        runs = members[one_of(f"stratum of {key}", stratum, sorted(members))]
        share = _enough(number, len(runs), f"stratum {stratum!r}") / len(runs)
        for run in in_random_order(runs, seed, "item")[:number]:
            items[run] = Drawn(run, offered[run] * share, stratum)
    ordered = tuple(items[run] for run in in_random_order(items, seed, "order"))
    return Sampling(method, ordered, key=key, seed=seed, n_frame=len(frame), one_per_task=one_per_task)


def verdict_strata(ratings: pl.DataFrame, rater: str, question: str | None = None) -> dict[str, str]:
    """Each trajectory's stratum by one rater's verdicts: the verdict on an axis, or how the five look together.

    Without `question` a trajectory is ``incorrect`` if any axis is, else ``uncertain`` if any is, else ``correct``.
    A trajectory without a verdict is ``lost``.
    """
    one_of("rater", rater, sorted(set(ratings["rater"])))
    first = ratings.filter(rater=rater, repeat=0).filter(pl.col("step_index").is_null())
    if question is not None:
        one_of(f"axis that {rater} judged", question, sorted(set(first["question"])))
    verdicts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for run, asked, verdict in first.select("trajectory_id", "question", "verdict").iter_rows():
        if asked in verdicts[run]:
            raise InputError(f"verdicts of {rater}", "one for each trajectory and axis", run, "read with latest=True")
        verdicts[run][asked] = verdict or LOST
    if question is not None:
        return {run: words.get(question, LOST) for run, words in verdicts.items()}
    worst_first = ("incorrect", "uncertain", LOST, "correct", "not_applicable")
    return {run: min(words.values(), key=worst_first.index) for run, words in verdicts.items()}


def draw_again(labels: pl.DataFrame, rater: str, n: int | None = None, *, seed: int) -> Sampling:
    """The items that another person labelled, in a fresh order: what a second person labels.

    How the first person's items were drawn is inherited; where only `n` of them are drawn (at random), the
    probabilities are multiplied by that share.

    Raises
    ------
    InputError
        The person labelled nothing, fewer than `n`, or items drawn in several ways.
    """
    first = with_drawn(labels.filter((pl.col("rater") == rater) & (pl.col("status") == "ok")))
    if first.is_empty():
        raise InputError("second rater", "there are no labels by this person", rater)
    ways = first.select("drawn", "drawn_by", "drawn_from").unique()
    if len(ways) > 1:
        raise InputError(f"labels by {rater}", "must have been drawn in one way", sorted(ways["drawn"]))
    columns = ("drawn_probability", "drawn_stratum")
    once = first.unique("trajectory_id", keep="first", maintain_order=True)
    items = {run: Drawn(run, *rest) for run, *rest in once.select("trajectory_id", *columns).iter_rows()}
    n = _enough(n, len(items), f"labels by {rater}")
    share = n / len(items)
    chosen = (items[run] for run in in_random_order(items, seed, "again")[:n])
    drawn = (replace(item, probability=item.probability and item.probability * share) for item in chosen)
    method, key, n_frame = ways.row(0)
    return Sampling(method, tuple(drawn), key=key, seed=seed, n_frame=n_frame)


def chosen_by_hand(trajectories: Iterable[Trajectory], *, seed: int) -> Sampling:
    """Trajectories that somebody picked: drawn in an unknown way, shown in a shuffled order."""
    runs = [run.id for run in _frame(trajectories)]
    return Sampling("unknown", tuple(Drawn(run) for run in in_random_order(runs, seed, "order")), seed=seed)


def _frame(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    frame = [run for run in trajectories if run.steps]
    if not frame:
        raise InputError("trajectories", "there must be one with messages to draw from")
    return frame


def _one_of_each_task(frame: Iterable[Trajectory], seed: int) -> dict[str, float]:
    """One trajectory of each task, with the probability 1 / (trajectories of that task)."""
    of_task: defaultdict[str, list[str]] = defaultdict(list)
    for run in frame:
        of_task[run.cluster_id].append(run.id)
    return {in_random_order(runs, seed, "agent")[0]: 1 / len(runs) for runs in of_task.values()}


Id = TypeVar("Id", str, tuple[str, str])


def in_random_order(ids: Iterable[Id], seed: int, purpose: str) -> list[Id]:
    """Ids in an order that seed and purpose decide, whatever order they come in."""

    def place(name: Id) -> bytes:
        return sha256(json.dumps([seed, purpose, *([name] if isinstance(name, str) else name)]).encode()).digest()

    return sorted(ids, key=place)


def _enough(n: int | None, available: int, where: str = "number of items") -> int:
    if n is None:
        return available
    if not 1 <= n <= available:
        raise InputError(where, f"must lie between 1 and the {available} that there are", n)
    return n


def _evenly(n: int, members: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """`n` items over the strata as evenly as their sizes allow, smallest stratum first."""
    left = _enough(n, sum(map(len, members.values())))
    numbers = {}
    for position, (stratum, runs) in enumerate(sorted(members.items(), key=lambda pair: (len(pair[1]), pair[0]))):
        numbers[stratum] = min(len(runs), left // (len(members) - position))
        left -= numbers[stratum]
    return {stratum: number for stratum, number in numbers.items() if number}


def sampling_path(labels: str | Path) -> Path:
    """Where the plan of a labels file stands: ``NAME.sampling.json`` beside ``NAME.jsonl``."""
    return Path(labels).with_suffix(".sampling.json")


def write_sampling(path: str | Path, sampling: Sampling) -> None:
    """Write the plan; the file appears whole or not at all, and one that is there stays where it is the same.

    Raises
    ------
    InputError
        Another plan is there: the probabilities of labels that exist would no longer hold.
    """
    if Path(path).exists():
        if read_sampling(path) == sampling:
            return
        cure = "give the same trajectories, number and seed as before, or another name for this set"
        raise InputError(str(path), "labels were begun with another draw", cure=cure)
    with whole_or_not_at_all(Path(path)) as unfinished:
        unfinished.write_text(_as_json(sampling), encoding="utf-8")


def _as_json(sampling: Sampling) -> str:
    return json.dumps(asdict(sampling), indent=1, ensure_ascii=False) + "\n"


def read_sampling(path: str | Path) -> Sampling:
    """Read a plan back.

    Raises
    ------
    InputError
        The file is missing, is not a plan, or breaks a rule.
    """
    try:
        fields = json.loads(Path(path).read_bytes())
        items = tuple(Drawn(**item) for item in fields.pop("items"))
        return Sampling(**fields, items=items)
    except InputError as error:
        raise InputError(f"{path}: {error.where}", error.rule, error.found, error.cure) from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(str(path), f"is not a sampling plan ({error})") from error
