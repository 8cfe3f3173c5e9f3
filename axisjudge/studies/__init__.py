"""One folder a question; each is called like a function: ``axisjudge.studies.failures(ratings)``.

| study | question | notebook | command |
|---|---|---|---|
| check | Can this judge be trusted, from one table of verdicts and labels? | | check |
| rubric_versions | Did a new rubric make the judges agree, or only less sure? | 01 | rubric compare |
| agreement | Do judges agree, and what is their agreement worth? | 02 | agreement |
| confidence | How far can confidences be taken at their word? | 02 | confidence |
| people | What may be claimed of judges against people? | 03 | compare |
| curves | Why a curve, and how sure is it? | 04 | curve |
| failures | Where do agents fail? | 05 | profile |
| trace | What happened in this run? | 06 | |
| axis_result | What is behind an AXIS Result? | 07 | axis-result |
| run_score | What does a run score measure? | 08 | scorecard |
| plan | How many trajectories, labels, people and repeats? | 09 | plan |
| succession | May a new judge take the old one's place? | 10 | |
| twins | Does a judge notice what is broken, and only that? | 11 | twins |
| evidence | Do judges point at the same steps, and does a judge agree with itself? | 02 | agreement |
| panels | Which judges, how put together, and which verdicts may stand without a person? | 13 | panel |
| located | What do rules, reference, reward and people say of the same runs? | 14 | |
| few_runs | What can 20 runs tell? | 03 | |
| improvement | Is an edit that a model wrote better, and on other tasks? | 16 | rubric improve |
"""

from importlib import import_module
from typing import Any

__all__ = [
    "agreement", "axis_result", "check", "confidence", "curves", "evidence", "failures", "few_runs", "improvement",
    "located", "panels", "people", "plan", "rubric_versions", "run_score", "succession", "trace", "twins",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
