"""A fitted panel's own ratings, so that every page takes it as it takes a judge."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from axisjudge.ratings import SCHEMA
from axisjudge.ratings.scales import on_scale
from axisjudge.ratings.selection import MADE_UP
from axisjudge.studies.panels.fitted import FittedPanel
from axisjudge.studies.panels.voted import BY_PEOPLE, MECHANISM, voted
from axisjudge.verdict import SCHEMA_VERSION

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
    steps = bool(ratings.filter((pl.col("question") == panel.question) & pl.col("step_index").is_not_null()).height)
    votes = voted(ratings.filter(~BY_PEOPLE), question=panel.question, judges=panel.asked, step_level=steps)
    probabilities = panel.probabilities(votes)
    words = panel.words(probabilities)
    member = pl.col("rater").is_in(panel.asked) & (pl.col("question") == panel.question) & (pl.col("repeat") == 0)
    rows = ratings.filter(member & (pl.col("step_index").is_not_null() == steps))
    kinds = set(rows["rater_kind"])
    made_up = sorted(kinds & set(MADE_UP))
    families = set(rows["family"])
    flags = pl.col("flags").list.eval(
        pl.element().filter(pl.element().str.starts_with("opening:") | (pl.element() == "exploratory"))
    )
    items = {
        row["item_id"]: row
        for row in rows.group_by("item_id", maintain_order=True)
        .agg(
            *(pl.col(name).drop_nulls().first() for name in _OF_ITEM),
            flags.explode().drop_nulls().unique().sort(),
            pl.col("created_at").max(),
        )
        .iter_rows(named=True)
    }
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
