"""Ratings drawn at random: any scale, raters that were not asked, lost verdicts, tasks of any size."""

import numpy as np
import polars as pl

from axisjudge.ratings.edge import completed_ratings

WORDS = {
    "verdict": ["correct", "incorrect", "uncertain", "not_applicable"],
    "ordinal:1-5": ["1", "2", "3", "4", "5"],
    "nominal": ["apple", "pear", "plum"],
}


def drawn(seed=0, n=60, raters=3, questions=("sequencing", "termination"), scale="verdict", steps=False):
    """`n` runs in tasks of one to four, rated by some of the raters; one in ten verdicts is lost."""
    rng = np.random.default_rng(seed)
    task = np.sort(rng.integers(0, n // 2, n))
    rows = []
    for question in questions:
        for run in range(n):
            truth = rng.integers(0, 3)
            for rater in range(raters):
                if rng.random() < 0.15:
                    continue
                lost = rng.random() < 0.1
                at = truth if rng.random() < 0.7 else rng.integers(0, 3)
                number = None if lost or scale in WORDS else float(np.round(truth + rng.normal(), 2))
                rows.append(
                    {
                        "trajectory_id": f"run-{run:03d}",
                        "step_index": int(run % 7) if steps else None,
                        "task_id": f"task-{task[run]}",
                        "question": question,
                        "scale": scale,
                        "rater": f"judge-{rater}",
                        "rater_kind": "human" if rater == raters - 1 else "llm",
                        "family": f"family-{rater % 2}",
                        "status": "refused" if lost else "ok",
                        "verdict": None if lost or scale not in WORDS else WORDS[scale][at],
                        "value": number,
                        "confidence": 0.5,
                    }
                )
    return completed_ratings(pl.DataFrame(rows, infer_schema_length=None), "drawn")
