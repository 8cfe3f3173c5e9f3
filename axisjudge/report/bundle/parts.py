"""Which questions ratings can answer, and the answers: one study a part of the writeup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from axisjudge.ratings.scales import has_words
from axisjudge.report.bundle.inputs import Inputs
from axisjudge.report.paper import sentences_of
from axisjudge.report.tables import as_polars
from axisjudge.studies._shared.result import Study
from axisjudge.studies._shared.words import spoken
from axisjudge.studies.confidence import Confidence
from axisjudge.verdict import AXES


@dataclass(frozen=True, eq=False)
class Section:
    """One question: its heading, the study that answers it, what it takes from which works, and its tables by name.

    `findings` are what figures show, by name, and `shown_elsewhere` those that another part has. `draws` say what of it
    takes random numbers, how many, and what is drawn.
    """

    name: str
    heading: str
    study: Study | Confidence
    cites: Mapping[str, str]
    limits: tuple[str, ...]
    tables: dict[str, tuple[str, pl.DataFrame]] = field(default_factory=dict)
    draws: tuple[str, ...] = ()
    findings: Mapping[str, str] = field(default_factory=dict)
    shown_elsewhere: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The study's, with axes and coefficients in words."""
        return spoken(self.study.answer)


def parts_of(inputs: Inputs) -> list[Section]:
    """The parts that these ratings allow, computed; what they do not allow is left out.

    Agreement takes two judges, comparison with people takes labels, calibration takes both labels and confidences,
    a failure profile takes verdicts on the five axes, and evidence takes cited steps or repeats.
    """
    return [part for make in (_agreement, _people, _confidence, _failures, _evidence) for part in make(inputs)]


def _agreement(inputs: Inputs) -> Iterator[Section]:
    from axisjudge.stats.agreement.coefficient_intervals import REPLICATES
    from axisjudge.studies.agreement import agreement
    from axisjudge.studies.agreement.by_family import DEAL_SEED, DEALS, family_rows

    source, settings = inputs.source, inputs.settings
    if len(source.judges) < 2:
        return
    result = agreement(source, ci_level=settings["ci_level"], seed=settings["seed"])
    tables = {"agreement": ("Agreement of all judges, per question", as_polars(result.overall.brief()))}
    if result.families:
        caption = "Agreement of pairs of judges within families and across them"
        tables["families"] = (caption, pl.DataFrame(family_rows(result.families)))
    if result.worth is not None and result.worth.measured is not None:
        caption = "How many independent judges the panel is worth, and without each family or judge"
        tables["effective_judges"] = (caption, as_polars(result.worth.table))
    yield Section(
        "agreement",
        "Do the judges agree, and what is their agreement worth?",
        result,
        {
            "cohen1960": "Cohen's kappa",
            "gwet2008": "Gwet's AC1 and AC2",
            "hayes2007": "Krippendorff's alpha",
        },
        ("Agreement is not accuracy: judges may share a mistake, and without labels nothing here would show it.",),
        tables,
        (
            f"Whether families agree more within than across is tested by dealing families to judges {DEALS:,} times "
            f"(a seed of its own, {DEAL_SEED}); a coefficient's bootstrap, where one is named, takes {REPLICATES:,} "
            "replicates of rating patterns (a seed of its own, 0).",
        ),
        _findings(
            together=result.together.answer if result.together else "",
        ),
        tuple(name for name in result.parts if name not in ("together", "worth", "triage")),
    )


def _people(inputs: Inputs) -> Iterator[Section]:
    from axisjudge.stats.comparisons.paired import DRAWS
    from axisjudge.stats.comparisons.ranking import RESAMPLES
    from axisjudge.studies.people import people

    source, settings = inputs.source, inputs.settings
    if not source.judges or inputs.labels.is_empty() or not _in_words(inputs):
        return
    how = {"epsilon": settings["epsilon"], "ci_level": settings["ci_level"], "seed": settings["seed"]}
    result = people(source.ratings, n_draws=0, **how, **source.how)
    shown = {
        "claims": "What may be claimed of each judge",
        "judges": "Each judge against the majority of people",
        "stand_in": "The alternative annotator test",
        "rates": "Failure rates, corrected by the labels",
    }
    made = result.tables()
    order = [*shown, *(name for name in made if name not in shown)]
    tables = {name: (shown.get(name, name.replace("_", " ").capitalize()), as_polars(made[name])) for name in order}
    yield Section(
        "people",
        "May a judge stand in for people?",
        result,
        {
            "calderon2025": "the alternative annotator test",
            "rogan1978": "failure rates corrected by sensitivity and specificity",
            "angelopoulos2023": "rates corrected by prediction-powered inference",
        },
        ("Labels are the standard here, and people err as well; where one person labelled, no ceiling can be given.",),
        {name: each for name, each in tables.items() if not each[1].is_empty()},
        (
            f"Which judges share first place is tested by flipping the signs of whole clusters ({DRAWS:,} draws where "
            f"all are more) and by {RESAMPLES:,} bootstrap samples of clusters.",
        ),
        _findings(judges=result.judges.answer, rates=result.rates.answer),
        tuple(name for name in result.parts if name not in ("judges", "stand_in", "rates")),
    )


def _confidence(inputs: Inputs) -> Iterator[Section]:
    from axisjudge.stats.calibration import BAND_RESAMPLES
    from axisjudge.studies.confidence import confidence

    ratings = inputs.source.ratings
    if inputs.labels.is_empty() or ratings["confidence"].is_null().all() or not _in_words(inputs):
        return
    unit, settings = inputs.source.cluster_unit, inputs.settings
    result = confidence(ratings, cluster_unit=unit, ci_level=settings["ci_level"], seed=settings["seed"])
    if result.judges:
        yield Section(
            "confidence",
            "How far can confidences be taken at their word?",
            result,
            {"naeini2015": "the calibration error"},
            ("Calibration is measured on the labelled items alone.",),
            {"confidence": ("Confidence against labels", as_polars(result.table))},
            (f"The band of a reliability curve takes {BAND_RESAMPLES:,} draws.",),
        )


def _failures(inputs: Inputs) -> Iterator[Section]:
    from axisjudge.stats.comparisons.paired import DRAWS
    from axisjudge.stats.comparisons.ranking import RESAMPLES
    from axisjudge.studies.failures import failures
    from axisjudge.studies.failures.profile import reward_table

    source = inputs.source
    if source.scale != "verdict" or source.step_level or not set(source.questions) <= set(AXES) or not source.judges:
        return
    ratings = source.ratings.filter(pl.col("rater").is_in(source.judges))
    if ratings["agent"].is_null().all():
        return
    settings = inputs.settings
    result = failures(ratings, reward_table(inputs.runs), ci_level=settings["ci_level"], seed=settings["seed"])
    yield Section(
        "failures",
        "Where do the agents fail?",
        result,
        {"wilson1927": "intervals of failure rates"},
        ("Failure rates say what these judges call incorrect; how often they are right takes labels.",),
        {"failures": ("Failed runs per agent and axis, by both rules", as_polars(result.profile.table))},
        (
            f"Axes and agents are ranked, and profiles compared, by flipping signs or dealing agents within clusters "
            f"({DRAWS:,} draws where all are more) and by {RESAMPLES:,} bootstrap samples of clusters.",
        ),
    )


def _evidence(inputs: Inputs) -> Iterator[Section]:
    from axisjudge.studies.evidence import evidence

    source = inputs.source
    ratings = source.ratings.filter(pl.col("rater").is_in(source.judges))
    cites = ratings["cited_step_indices"].list.len().fill_null(0).max() or 0
    repeats = ratings["repeat"].n_unique() > 1
    if source.scale != "verdict" or source.step_level or not (cites or repeats):
        return
    result = evidence(ratings, inputs.runs, cluster_unit=source.cluster_unit, ci_level=inputs.settings["ci_level"])
    yield Section(
        "evidence",
        "Do judges point at the same steps, and does a judge agree with itself?",
        result,
        {},
        ("Judges that cite the same wrong step share evidence too.",),
        {"evidence": ("Shared evidence, or verdicts asked again", as_polars(result.shared.table))},
    )


def results_of(parts: list[Section]) -> dict[str, Any]:
    """All numbers of the parts as plain values."""
    from axisjudge.results import plain

    return {part.name: {"answer": part.answer, **plain(part.study, part.name)} for part in parts}


def _in_words(inputs: Inputs) -> bool:
    return all(has_words(scale) for scale in inputs.source.ratings["scale"].unique())


def _findings(**texts: str) -> dict[str, str]:
    """The first sentence of what is said of each figure."""
    return {name: spoken(sentences_of(text)[0]) for name, text in texts.items() if text}
