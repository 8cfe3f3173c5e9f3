"""Two versions of a rubric judged by two simulated raters, as arrays and as ratings tables; the truth is known.

Rater j says of item i in repeat r the true word if e_ijr < Phi^-1(hit), else the opposite, with
e_ijr = sqrt(p) (sqrt(.4) t_i + sqrt(.6) l_ij) + sqrt(1 - p) n_ijr + d_vr: t_i shared with its task at the intraclass
correlation .3, l_ij lasting, n_ijr passing, d_vr the drift of a whole run (0 unless stated). p = .85.
"""

import math

import numpy as np
from scipy.special import ndtri

from axisjudge.ratings.edge import completed
from axisjudge.stats.comparisons.progress import adjusted, decide, moved

LASTING, ICC, PREVALENCE = 0.85, 0.3, 0.15


def world(rng, *, tasks=50, per_task=4, repeats=3, hit=(0.85, 0.85), drift=0.0, hedge=0.0):
    """Codes (0 correct, 1 incorrect) and confidences, both versions x items x 2 raters x repeats, and the tasks."""
    n = tasks * per_task
    task = np.repeat(np.arange(tasks), per_task)
    truth = rng.random(n) < PREVALENCE
    shared = math.sqrt(ICC) * rng.standard_normal(tasks)[task] + math.sqrt(1 - ICC) * rng.standard_normal(n)
    lasting = [math.sqrt(0.4) * shared + math.sqrt(0.6) * rng.standard_normal(n) for _ in range(2)]
    codes = np.empty((2, n, 2, repeats))
    confidences = np.empty_like(codes)
    for version in range(2):
        for repeat in range(repeats):
            run = drift * rng.standard_normal()
            for rater in range(2):
                passing = rng.standard_normal(n)
                error = math.sqrt(LASTING) * lasting[rater] + math.sqrt(1 - LASTING) * passing + run
                right = error < ndtri(hit[version])
                codes[version, :, rater, repeat] = np.where(right, truth, ~truth)
                sure = 0.85 + 0.1 * rng.uniform(-1, 1, n) + (hedge if version else 0.0)
                confidences[version, :, rater, repeat] = np.clip(sure, 0, 1)
    return codes, confidences, task


def word_of(codes, confidences, task):
    """The rule's word on a world, by the functions that `compare_versions` uses."""
    agreement = adjusted([moved((codes[:, :, 0] == codes[:, :, 1]).astype(float), task)])[0]
    stayed = np.median(codes, axis=3)[0] == np.median(codes, axis=3)[1]
    shifts = [moved(np.where(stayed[:, j, None], confidences[:, :, j], np.nan), task) for j in range(2)]
    return decide(agreement, (alpha(codes[0]), alpha(codes[1])), adjusted(shifts)).outcome


def alpha(codes):
    """Krippendorff's alpha of two raters and two words without gaps."""
    first, second = codes[:, 0].ravel(), codes[:, 1].ravel()
    share, n = (first.mean() + second.mean()) / 2, 2 * first.size
    expected = 2 * share * (1 - share) * n / (n - 1)
    return math.nan if expected == 0 else 1 - (first != second).mean() / expected


def table(codes, confidences, task, *, versions=("v1", "v2"), axis="argument_validity", **fields):
    """A world as a ratings table; a NaN code is a lost verdict."""
    rows = [
        (version, item, rater, repeat)
        for version in range(2)
        for item in range(codes.shape[1])
        for rater in range(codes.shape[2])
        for repeat in range(codes.shape[3])
    ]
    said = [codes[row] for row in rows]
    words = [None if math.isnan(code) else ("correct", "incorrect", "uncertain")[int(code)] for code in said]
    columns = {
        "trajectory_id": [f"t{item:03d}" for _, item, _, _ in rows],
        "item_id": [f"t{item:03d}" for _, item, _, _ in rows],
        "cluster_id": [f"c{task[item]:03d}" for _, item, _, _ in rows],
        "rater": [f"judge-{'ab'[rater]}" for _, _, rater, _ in rows],
        "family": [f"family-{'ab'[rater]}" for _, _, rater, _ in rows],
        "rater_kind": ["llm"] * len(rows),
        "repeat": [repeat for *_, repeat in rows],
        "rubric_version": [versions[row[0]] for row in rows],
        "rubric_sha256": [f"text-of-{versions[row[0]]}" for row in rows],
        "prompt_sha256": [f"prompt-{versions[row[0]]}-{row[1]}" for row in rows],
        "status": ["parse_error" if word is None else "ok" for word in words],
        "verdict": words,
        "confidence": [
            None if word is None else float(confidences[row]) for word, row in zip(words, rows, strict=True)
        ],
        "confidence_source": ["verbalized"] * len(rows),
        "cited_step_indices": [[row[1] % 3] for row in rows],
        "invalid_citations": [[] for _ in rows],
        "flags": [[] for _ in rows],
        "rationale": [f"judge-{'ab'[row[2]]} under {versions[row[0]]}" for row in rows],
    }
    return completed(
        {**columns, **{name: [value] * len(rows) for name, value in fields.items()}}, question=axis, scale="verdict"
    )
