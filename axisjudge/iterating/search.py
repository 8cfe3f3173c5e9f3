"""The search over edits of a rubric: `gepa` behind an adapter, and the cut of tasks that keeps it honest.

GEPA (Agrawal and others 2025, arXiv:2507.19457) mutates a text after looking at a few training cases, keeps a front of
candidates over selection items, and draws parents from that front. What is judged, by whom, what it costs and what is
shown to the proposer is not its business: it calls `score` and `propose`, which go through the lanes, records and
budget of every judging run, and has no state of its own on disk. With the same seed and the same answers it takes the
same way, so that a search that was killed is taken up by asking the same again, of which nothing is paid twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from axisjudge.checks import InputError

Item = TypeVar("Item")

#: Training cases that the proposer is shown at once.
SHOWN_AT_ONCE = 6
#: Tasks from which on one search is enough; below there are two, in which train and select change places.
MANY_TASKS = 100
#: Share of the tasks that confirm; the rest is parted evenly.
CONFIRM = 2 / 3
#: Draws of cases for each proposal, at most: cases without an error give rise to none.
WITHOUT_CASES = 3
#: The one part of a candidate.
TEXT = "rubric"


@dataclass(frozen=True)
class Cut:
    """Tasks in three parts, by a hash of their names: `searches` pairs of train and select, and what confirms.

    Below `MANY_TASKS` there are two searches, in which the halves change places; no task of `confirm` is in any.
    """

    searches: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    confirm: tuple[str, ...]


def nested_cut(tasks: Sequence[str], salt: str = "") -> Cut:
    """Cut calibration tasks into train, select and confirm.

    Raises
    ------
    InputError
        Fewer than six tasks: a search needs two on either side, and what confirms needs two.
    """
    if len(set(tasks)) < 6:
        raise InputError(
            "tasks", "at least 6 with labels are needed to search on some and confirm on others", len(tasks)
        )
    order = sorted(set(tasks), key=lambda task: sha256(f"{salt}/{task}".encode()).hexdigest())
    n_search = len(order) - round(len(order) * CONFIRM)
    half = n_search // 2
    one, other = tuple(order[:half]), tuple(order[half:n_search])
    both = ((one, other), (other, one))
    return Cut(both if len(order) < MANY_TASKS else both[:1], tuple(order[n_search:]))


@dataclass(frozen=True)
class Case(Generic[Item]):
    """One item under one text: its score in [0, 1], and further objectives."""

    item: Item
    score: float
    objectives: Mapping[str, float] = field(default_factory=dict)


@dataclass
class RubricCandidate:
    """A text of the search: its parent (None for the first), why and from which items it was made, and its scores.

    On train items it has those of the cases that it was tried on; `refused` says why it was not tried on select items.
    `is_lost`: there is no text, as the proposer's answer could not be read.
    """

    text: str
    parent: str | None = None
    reason: str = ""
    made_from: tuple[Any, ...] = ()
    select: Mapping[Any, float] = field(default_factory=dict)
    train: Mapping[Any, float] = field(default_factory=dict)
    cost_usd: float = 0.0
    refused: str = ""
    search: int = 0
    is_lost: bool = False

    @property
    def key(self) -> str:
        return sha256(self.text.encode()).hexdigest()[:12]


#: Scores a text on items; proposes a text of its parent and of cases, or says why there is none.
Scorer = Callable[[str, Sequence[Any]], list[Case[Any]]]
Proposer = Callable[[str, Sequence[Case[Any]], int], "RubricCandidate"]


class _Adapter:
    """What `gepa` calls: our scorer and our proposer."""

    def __init__(self, first: RubricCandidate, score: Scorer, propose: Proposer) -> None:
        self.score, self.propose = score, propose
        self.made: list[RubricCandidate] = []
        self.judged = {first.text: first}
        self.error: Exception | None = None
        self.scores: dict[str, dict[Any, float]] = {}

    def evaluate(self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        from gepa.core.adapter import EvaluationBatch

        cases = self.score(candidate[TEXT], batch)
        scores = [case.score for case in cases]
        self.scores.setdefault(candidate[TEXT], {}).update({case.item: case.score for case in cases})
        objectives = [dict(case.objectives) for case in cases] if all(case.objectives for case in cases) else None
        traces = list(cases) if capture_traces else None
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=traces, objective_scores=objectives)

    def make_reflective_dataset(self, candidate: dict[str, str], batch: Any, parts: list[str]) -> Any:
        return {part: [{"case": case} for case in batch.trajectories] for part in parts}

    def propose_new_texts(self, candidate: dict[str, str], cases: Any, parts: list[str]) -> dict[str, str]:
        """The proposer's text; none where it is refused or known. What it raises ends the search."""
        try:
            made = self.propose(candidate[TEXT], [each["case"] for each in cases[TEXT]], len(self.made) + 1)
        except Exception as error:  # gepa would go on without a word
            self.error = error
            return {}
        known = made.text in self.judged
        made.refused = made.refused or ("it is the text of another candidate" if known else "")
        self.made.append(made)
        if made.refused:
            return {}
        self.judged[made.text] = made
        return {TEXT: made.text}


class _Silent:
    def log(self, *_: object) -> None:
        """What gepa tells on its way is told by the run's own record."""


def search(
    first: str,
    *,
    train: Sequence[Any],
    select: Sequence[Any],
    score: Scorer,
    propose: Proposer,
    rounds: int,
    seed: int = 0,
) -> list[RubricCandidate]:
    """The first text and the candidates of one search as they were proposed; those left out on the way say why.

    The first text is scored on all train items, so that every candidate has scores to be set against it.

    Parameters
    ----------
    first : str
        The text that is to be bettered.
    train, select : sequence of items
        Which the proposer may see, and by which candidates are chosen.
    score, propose : callable
    rounds : int
        Proposals at most.
    seed : int
        Of the draws of parents and cases.

    Raises
    ------
    InputError
        The extra ``improve`` is not installed; whatever `score` or `propose` raise.
    """
    if find_spec("gepa") is None:
        raise InputError("rubric improve", "needs the extra improve", cure="pip install 'axisjudge[improve]'")
    from gepa.api import optimize

    start = RubricCandidate(first)
    adapter = _Adapter(start, score, propose)

    def is_done(state: Any) -> bool:
        return adapter.error is not None or len(adapter.made) >= rounds or state.i >= WITHOUT_CASES * rounds

    result: Any = optimize(
        {TEXT: first},
        list(train),
        list(select),
        adapter=adapter,  # type: ignore[arg-type]
        reflection_minibatch_size=min(SHOWN_AT_ONCE, len(train)),
        stop_callbacks=is_done,  # type: ignore[arg-type]
        logger=_Silent(),
        seed=seed,
        track_best_outputs=False,
        cache_evaluation=False,
    )
    if adapter.error is not None:
        raise adapter.error
    names = list(select)
    for text, by_number in zip(result.candidates, result.val_subscores, strict=True):
        adapter.judged[text[TEXT]].select = {names[number]: each for number, each in by_number.items()}
    for candidate in adapter.judged.values():
        candidate.refused = "" if candidate.select else "no better on the cases that it was made from"
        scores = adapter.scores.get(candidate.text, {})
        candidate.train = {item: scores[item] for item in train if item in scores}
    start.train = {case.item: case.score for case in score(first, train)}
    return [start, *adapter.made]


def select_gain(candidate: RubricCandidate, first: RubricCandidate) -> float:
    """Mean select score minus the first text's."""
    return _mean(candidate.select) - _mean(first.select)


def best_of(searches: Sequence[Sequence[RubricCandidate]]) -> RubricCandidate | None:
    """The one candidate that is taken to the confirm tasks: the highest gain on its select items; None for no gain."""
    gains = [(select_gain(each, tried[0]), each) for tried in searches for each in tried[1:] if each.select]
    gain, best = max(gains, key=lambda pair: pair[0], default=(0.0, None))
    return best if gain > 0 else None


def _mean(scores: Mapping[Any, float]) -> float:
    return sum(scores.values()) / len(scores) if scores else 0.0
