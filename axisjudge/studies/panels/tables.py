"""Tables of the panels study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from axisjudge.stats.panels.nested import REFERENCE, NestedWay
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies.panels.combined import Combined
from axisjudge.studies.panels.frontier import Frontier
from axisjudge.studies.panels.sentences import NAMES
from axisjudge.studies.panels.trust import Trust


def ways_table(ways: Mapping[str, NestedWay], kind: Kind) -> Table:
    """Every way on tasks left out."""
    rows = []
    for way, each in ways.items():
        own = way == REFERENCE
        gain = {"gain": each.gain.estimate, "low": each.gain.ci_low, "high": each.gain.ci_high}
        rows.append(
            {
                "way": NAMES[way],
                "accuracy": each.accuracy.estimate,
                "from": each.accuracy.ci_low,
                "to": each.accuracy.ci_high,
                "kappa": each.kappa.estimate,
                **(dict.fromkeys(gain) if own else gain),
                "log loss": each.log_loss,
            }
        )
    return table_of(rows, kind)


def judges_table(combined: Combined) -> Table:
    """Each judge of the panel: weight, accuracy alone, what it adds, and its price."""
    worth = {each.judge: each for each in combined.worth}
    alike = combined.panel.asked_families
    rows: list[dict[str, Any]] = []
    for column, name in enumerate(combined.panel.judges):
        each, price, family = worth.get(column), combined.prices.get(name), combined.panel.families[column]
        per_dollar = each.gain.estimate / price * 100 if each is not None and price else None
        rows.append(
            {
                "judge": name,
                "family": f"{family} ({alike.count(family)})" if alike.count(family) > 1 else family,
                "weight": combined.panel.weights[column],
                "accuracy": each.accuracy if each else None,
                "adds (points)": 100 * each.gain.estimate if each else None,
                "low": 100 * each.gain.ci_low if each else None,
                "high": 100 * each.gain.ci_high if each else None,
                "adds (log loss)": each.loss if each else None,
                "$ an item": price,
                "points a $": per_dollar,
            }
        )
    return table_of(sorted(rows, key=lambda row: -row["weight"]), combined.kind)


_TRUST = ("risk", "stand", "share", "confidence from", "error", "at most", "labelled", "people read", "more labels")


def trust_table(trusts: Sequence[Trust], kind: Kind) -> Table:
    """What may stand without a person, by risk."""
    rows = []
    for each in trusts:
        error = each.alone.error
        values = (
            each.alone.risk,
            each.n_kept,
            each.n_kept / each.n_items,
            each.alone.threshold,
            None if error is None else error.estimate,
            None if error is None else error.ci_high,
            0 if error is None else error.n_items,
            each.n_rest,
            each.alone.more_labels,
        )
        rows.append(dict(zip(_TRUST, values, strict=True)))
    return table_of(rows, kind, columns=_TRUST)


_STRATA = ("by", "name", "items", "stand", "share", "labelled", "error", "low", "high")


def strata_table(trust: Trust | None, kind: Kind) -> Table:
    """What stands by word and by agent."""
    rows = [
        dict(
            zip(
                _STRATA,
                (
                    each.by,
                    each.name,
                    each.n_items,
                    each.n_kept,
                    each.share,
                    each.error.n_items,
                    each.error.estimate,
                    each.error.ci_low,
                    each.error.ci_high,
                ),
                strict=True,
            )
        )
        for each in (trust.strata if trust else ())
    ]
    return table_of(rows, kind, columns=_STRATA)


_SPENDING = ("what", "judges", "$ an item", "error", "low", "high", "kappa", "kappa_low", "kappa_high")


def frontier_table(found: Frontier, kind: Kind) -> Table:
    """The points that no other one beats, cheapest first."""
    rows = [
        dict(
            zip(
                _SPENDING,
                (
                    point.kind.value if point.sure is None else f"{point.kind.value} at {point.sure:g}",
                    ", ".join(point.judges),
                    point.price,
                    point.error.estimate,
                    point.error.ci_low,
                    point.error.ci_high,
                    point.kappa.estimate,
                    point.kappa.ci_low,
                    point.kappa.ci_high,
                ),
                strict=True,
            )
        )
        for point in found.best
    ]
    return table_of(rows, kind, columns=_SPENDING)
