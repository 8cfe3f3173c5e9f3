"""Ratings tables made from columns of words, for tests of analysis."""

from axisjudge.ratings.edge import completed


def ratings(columns, *, families=None, kinds=None, confidences=None, per_task=1, question="termination", **constants):
    """One column of words (or None, a lost verdict) for each rater; `per_task` items share a task."""
    rows = [
        (f"t{item:05d}", f"c{item // per_task:05d}", rater, word)
        for rater, column in columns.items()
        for item, word in enumerate(column)
    ]
    items, clusters, raters, words = zip(*rows, strict=True)
    given = {
        "trajectory_id": items,
        "item_id": items,
        "cluster_id": clusters,
        "rater": raters,
        "rater_kind": [(kinds or {}).get(rater, "llm") for rater in raters],
        "family": [(families or {}).get(rater, rater) for rater in raters],
        "verdict": words,
        "status": ["parse_error" if word is None else "ok" for word in words],
        "confidence": [
            None if word is None or rater not in (confidences or {}) else confidences[rater][item]
            for rater, column in columns.items()
            for item, word in enumerate(column)
        ],
        "rationale": [f"{rater} on {item}" for item, rater in zip(items, raters, strict=True)],
    }
    return completed(given, question=question, scale="verdict", **constants)
