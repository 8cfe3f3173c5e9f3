"""Data that ship with the workbench, and public data sets that can be fetched."""

from axisjudge.datasets.registry import (
    DataFile,
    Dataset,
    demo_goal_grades,
    demo_paths,
    demo_run_labels,
    demo_runs,
    demo_transcripts,
    demo_truth,
    fetch,
    list_datasets,
)
from axisjudge.datasets.votes import published_votes, small_model_verdicts

__all__ = [
    "DataFile",
    "Dataset",
    "demo_goal_grades",
    "demo_paths",
    "demo_run_labels",
    "demo_runs",
    "demo_transcripts",
    "demo_truth",
    "fetch",
    "list_datasets",
    "published_votes",
    "small_model_verdicts",
]
