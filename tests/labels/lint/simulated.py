"""Clean labels by simulated people, and the faults that are planted in them."""

import numpy as np
import polars as pl

from axisjudge.labels.lint import lint_labels
from axisjudge.ratings import ratings_frame
from axisjudge.verdict import Rating

PEOPLE = ("ada", "bert", "chloe")
FLAG = "drawn:random"


def clean(seed, *, people=PEOPLE, tasks=40, agents=2, accuracy=0.9, question="sequencing", start=0):
    """People who see a task's difficulty alike: failures cluster by task and agent, errors by task."""
    rng = np.random.default_rng(seed)
    rows = []
    hard = rng.beta(1, 4, size=tasks)
    slip = rng.beta(1 * 2, 2 * accuracy / (1 - accuracy), size=tasks)
    for task in range(tasks):
        for agent in range(agents):
            failed = rng.random() < hard[task] + 0.1 * agent
            for person in people:
                seen = failed != (rng.random() < slip[task])
                word = "incorrect" if seen else "uncertain" if rng.random() < 0.05 else "correct"
                rows.append(
                    row(
                        f"r{start + task}-{agent}",
                        f"t{start + task}",
                        f"a{agent}",
                        person,
                        question,
                        word,
                        start + task,
                    )
                )
    return rows


def row(run, task, agent, person, question, word, minute=0):
    return Rating(
        trajectory_id=run,
        task_id=task,
        cluster_id=task,
        agent=agent,
        question=question,
        rater=person,
        rater_kind="human",
        family="human",
        verdict=word,
        flags=[FLAG],
        created_at=f"2026-11-02T{minute // 60:02}:{minute % 60:02}:00Z",
    )


def changed(rows, change):
    """The rows with what `change` says of each; None leaves a row as it is."""
    return [one.model_copy(update=change(one) or {}) for one in rows]


def lint(rows, batch=None, **how):
    table = ratings_frame(rows)
    if batch is not None:
        table = table.with_columns(batch=pl.Series([batch(one) for one in rows]))
    return lint_labels(table, **how)


def found(rows, **how):
    """Check -> severities of what was found."""
    result = lint(rows, **how)
    return {one.check: one.severity for one in result.findings}
