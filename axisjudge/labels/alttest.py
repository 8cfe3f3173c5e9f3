"""Label sets of the alternative annotator test: people and six LLM annotators on the same items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of
from axisjudge.labels.columns import completed, read_json


@dataclass(frozen=True)
class _Layout:
    """How a set names its items: `split` gives what was rated, by which question, in which cluster, by which agent."""

    scale: str
    domain: str
    split: Callable[[str], tuple[str, str, str, str | None]]


def _criterion(item: str) -> tuple[str, str, str, str | None]:
    document, system, criterion = item.split("__")
    return f"{document}__{system}", criterion, document, system


def _stars(item: str) -> tuple[str, str, str, str | None]:
    review, _ = item.split("__")
    return review, "stars", review[:-6], None  # the last six digits number the edits of one original review


def _preference(item: str) -> tuple[str, str, str, str | None]:
    return item, "preference", item.split("__")[0], None


LAYOUTS = {
    "mtbench": _Layout("nominal:model_a,model_b,tie", "chat", _preference),
    "cebab_stars": _Layout("ordinal:1-5", "reviews", _stars),
    "summeval": _Layout("ordinal:1-5", "summaries", _criterion),
}


def read_alttest(folder: str | Path) -> pl.DataFrame:
    """People's and LLM annotators' labels of one set as a ratings table.

    Parameters
    ----------
    folder : path
        ``mtbench``, ``cebab_stars`` or ``summeval``, with ``human_annotations.json`` and ``llm_annotations.json``.

    Returns
    -------
    polars.DataFrame
        A ratings table. mtbench: which of two answers is better (``nominal:model_a,model_b,tie``), cluster the chat
        question. cebab_stars: stars of a review (``ordinal:1-5``), cluster the original review whose edits are rated.
        summeval: four questions, one a criterion (``ordinal:1-5``), cluster the document; the agent is the system
        that wrote the summary.

    Raises
    ------
    InputError
        The folder is none of the three, or a file is missing or broken.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test, arXiv:2501.10970.
    """
    root = Path(folder)
    layout = LAYOUTS[one_of("label set", root.name, LAYOUTS)]
    people = read_json(root / "human_annotations.json")
    judges = read_json(root / "llm_annotations.json")
    if twice := set(people) & set(judges):
        raise InputError(str(root), "a person and a judge must not share a name", sorted(twice))
    raters = pl.DataFrame(
        {
            "rater": [*people, *judges],
            "rater_kind": ["human"] * len(people) + ["llm"] * len(judges),
            "family": ["human"] * len(people) + [family_of(judge) or judge for judge in judges],
            "model": [None] * len(people) + list(judges),
        }
    )
    everyone = {**people, **judges}
    said = pl.DataFrame(
        {
            "rater": list(chain.from_iterable([rater] * len(labels) for rater, labels in everyone.items())),
            "item": list(chain.from_iterable(everyone.values())),
            "label": list(chain.from_iterable(labels.values() for labels in everyone.values())),
        }
    )
    items = said.select("item").unique(maintain_order=True)
    parts = [layout.split(item) for item in items["item"]]
    about = pl.DataFrame(parts, schema=["trajectory_id", "question", "cluster_id", "agent"], orient="row")
    value = pl.col("label").cast(pl.Float64) if said["label"].dtype.is_numeric() else pl.lit(None, dtype=pl.Float64)
    table = (
        said.join(items.hstack(about), on="item", maintain_order="left")
        .join(raters, on="rater", maintain_order="left")
        .with_columns(item_id=pl.col("trajectory_id"), task_id=pl.col("cluster_id"), value=value)
        .with_columns(verdict=pl.col("label").cast(pl.String))
        .drop("item", "label")
    )
    return completed(table.to_dict(as_series=True), scale=layout.scale, domain=layout.domain)
