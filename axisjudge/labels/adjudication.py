"""Adjudication: which labelled items to look at again, blind, and what that makes of the key.

The queue holds every item on which people differ, or on which all judges say other than the people's word, and always
a random share of the items on which all agree, with the probability of that share recorded. Adjudicating disagreements
alone moves accuracy one way: where key and judges are wrong together nobody would ever look.

The queue is a `Sampling` of single (trajectory, axis) items. It holds no verdict, and it is labelled in the ordinary
way by a further person. `adjudicate` puts their words beside the key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.labels.panel import BY_PERSON
from axisjudge.labels.sampling import Drawn, Sampling, drawn_flags, drawn_of, in_random_order, set_drawn, with_plan
from axisjudge.ratings.edge import BY_JUDGE, WHOLE_RUN
from axisjudge.verdict import Rating

#: Strata of the queue; the last is the one that is drawn from.
PEOPLE_DIFFER, AGAINST_JUDGES, AGREEMENT = "people differ", "judges against the key", "agreement"
#: This many agreements make the figures after adjudication worth reading.
AGREEMENTS = 30
#: What decides who is in the queue.
KEY = "adjudication: agreement of people and judges"

#: A trajectory and an axis.
Item = tuple[str, str]


@dataclass(frozen=True)
class Labelled:
    """An item that people labelled: their commonest word (None on a tie), its stratum, each judge's verdict."""

    key: str | None
    stratum: str
    judged: dict[str, str | None]
    cluster: str

    @property
    def contested(self) -> bool:
        """Whether people or judges disagree here."""
        return self.stratum != AGREEMENT


def labelled_items(labels: pl.DataFrame, ratings: pl.DataFrame, judges: Sequence[str] = ()) -> dict[Item, Labelled]:
    """The items of whole trajectories that people labelled, with their key and stratum.

    Parameters
    ----------
    labels, ratings : polars.DataFrame
        Ratings tables of people and of judges.
    judges : sequence of str
        Which judges; all in `ratings` that are not people if none.

    Raises
    ------
    InputError
        Nobody labelled, or no judge rated, or a judge is not there.
    """
    people = _first(labels).filter(BY_PERSON)
    rated = _first(ratings).filter(BY_JUDGE & ~BY_PERSON)
    names = sorted(rated["rater"].unique())
    for where, missing, who in (("labels", people.is_empty(), "people"), ("ratings", not names, "judges")):
        if missing:
            raise InputError(where, f"must be of whole trajectories by {who}, and none is")
    names = [one_of("judge", judge, names) for judge in judges] or names
    verdicts: defaultdict[Item, dict[str, str | None]] = defaultdict(dict)
    for run, question, rater, verdict in rated.select(_COLUMNS).iter_rows():
        verdicts[run, question][rater] = verdict
    words: defaultdict[Item, list[str]] = defaultdict(list)
    for run, question, _, verdict in people.filter(pl.col("verdict").is_not_null()).select(_COLUMNS).iter_rows():
        words[run, question].append(verdict)
    cluster = dict(people.select("trajectory_id", "cluster_id").iter_rows())
    return {
        item: _labelled(given, {name: verdicts[item].get(name) for name in names}, cluster[item[0]])
        for item, given in words.items()
    }


_COLUMNS = ("trajectory_id", "question", "rater", "verdict")


def _first(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(WHOLE_RUN & (pl.col("repeat") == 0))


def _labelled(given: Sequence[str], judged: dict[str, str | None], cluster: str) -> Labelled:
    top = Counter(given).most_common(2)
    key = top[0][0] if len(top) == 1 or top[0][1] > top[1][1] else None
    decided = [verdict for verdict in judged.values() if verdict not in (None, "uncertain")]
    against = len(decided) == len(judged) and key not in decided
    return Labelled(key, PEOPLE_DIFFER if len(top) > 1 else AGAINST_JUDGES if against else AGREEMENT, judged, cluster)


def adjudication_queue(
    items: dict[Item, Labelled], *, n_agreements: int | None = None, n_contested: int | None = None, seed: int
) -> Sampling:
    """What to label again, in a shuffled order that tells nothing.

    Parameters
    ----------
    items : dict
        From `labelled_items`.
    n_agreements : int, optional
        How many of the items on which all agree; at least one. By default `AGREEMENTS`, or all if there are fewer.
    n_contested : int, optional
        How many of the others; by default all.
    seed : int

    Returns
    -------
    Sampling
        Single (trajectory, axis) items; the probability is that among the labelled items.

    Raises
    ------
    InputError
        There are fewer items than asked for, or no agreement is asked for.
    """
    if n_agreements is not None and n_agreements < 1:
        cure = f"{AGREEMENTS} or more make the figures worth reading: disagreements alone move accuracy one way"
        raise InputError("number of agreements", "must be at least 1", n_agreements, cure)
    contested = [item for item, one in items.items() if one.contested]
    agreed = [item for item, one in items.items() if not one.contested]
    drawn: list[Drawn] = []
    n_agreed = min(AGREEMENTS, len(agreed)) if n_agreements is None else n_agreements
    for members, wanted, name in ((contested, n_contested, "contested"), (agreed, n_agreed, "agreement")):
        number = len(members) if wanted is None else wanted
        if number > len(members):
            raise InputError(f"number of {name} items", f"must not exceed the {len(members)} that there are", number)
        share = number / max(len(members), 1)
        chosen = in_random_order(members, seed, name)[:number]
        drawn += [Drawn(run, share, items[run, question].stratum, question) for run, question in chosen]
    position_of = {item: at for at, item in enumerate(in_random_order(items, seed, "order"))}
    ordered = sorted(drawn, key=lambda one: position_of[one.trajectory_id, str(one.question)])
    return Sampling("by_key", tuple(ordered), key=KEY, seed=seed, n_frame=len({run for run, _ in items}))


@dataclass(frozen=True)
class AdjudicatedItem:
    """An adjudicated item: the key before, the word after, its stratum and inclusion probability."""

    item: Item
    before: str | None
    after: str
    stratum: str
    probability: float

    @property
    def key_was_wrong(self) -> bool:
        """Whether there was a key and the adjudicator says other."""
        return self.before is not None and self.before != self.after


def adjudicate(items: dict[Item, Labelled], decisions: Sequence[Rating], queue: Sampling) -> list[AdjudicatedItem]:
    """The adjudicator's words beside the key.

    Raises
    ------
    InputError
        A word is of an item that is not in the queue, several people decided one item, or nothing is decided.
    """
    planned = {(one.trajectory_id, str(one.question)): one for one in queue.items}
    decided: dict[Item, AdjudicatedItem] = {}
    for label in decisions:
        item = (label.trajectory_id, label.question)
        if label.verdict is None:
            continue
        if item not in planned or item not in items:
            cure = "give the queue that these items were labelled from"
            raise InputError("decisions", "an item is not in the queue", " ".join(item), cure)
        if item in decided and decided[item].after != label.verdict:
            raise InputError("decisions", "an item was decided twice, in different ways", " ".join(item))
        drawn = planned[item]
        if drawn.stratum != items[item].stratum:
            cure = "name the labels, ratings and judges that the queue was drawn from"
            raise InputError(
                "plan",
                f"has {' '.join(item)} as {drawn.stratum}",
                f"{items[item].stratum} by these labels and judges",
                cure,
            )
        decided[item] = AdjudicatedItem(
            item, items[item].key, label.verdict, str(drawn.stratum), float(drawn.probability or 1.0)
        )
    if not decided:
        raise InputError("decisions", "nothing is decided yet")
    return list(decided.values())


def adjudicated_labels(
    labels: Sequence[Rating], decisions: Sequence[Rating], queue: Sampling, items: dict[Item, Labelled]
) -> list[Rating]:
    """The adjudicator's labels as a key: with the key before as a flag, and the probability of both draws.

    The adjudicated items alone are written. Their recorded probability is that of the first draw times that of the
    queue, so that every estimator that follows the draw weighs them rightly; a key of all items would mix looked-at
    disagreements with agreements nobody looked at.
    """
    first = {(label.trajectory_id, label.question): drawn_of(label.flags) for label in labels}
    written = []
    for label in with_plan(decisions, queue):
        item = (label.trajectory_id, label.question)
        if label.verdict is None or item not in items:
            continue
        drawn, again = first[item], next(one for one in queue.items if (one.trajectory_id, one.question) == item)
        flags = drawn_flags("unknown")
        if drawn["drawn"] != "unknown" and again.probability is not None:
            both = (drawn["drawn_probability"] or 1.0) * again.probability
            flags = drawn_flags("by_key", both, key=KEY, stratum=again.stratum, n_frame=queue.n_frame)
        before = f"key_before:{items[item].key or 'tie'}"
        written += set_drawn([label.model_copy(update={"flags": [*label.flags, "adjudicated", before]})], flags)
    return written
