"""More data never turns an answer into a refusal, for every figure that may be refused (definitions.md)."""

import math

import numpy as np
import pytest

from axisjudge.stats.agreement.case_weighted import case_weighted
from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.agreement.measured import interval_alpha, intraclass_correlation
from axisjudge.stats.agreement.soft import soft_agreement
from axisjudge.stats.comparisons.paired import paired_change
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.raters.balanced import balanced_accuracy
from axisjudge.stats.raters.failing_word import failing_word
from axisjudge.stats.raters.reference_ranks import reference_ranks
from axisjudge.stats.raters.repeats import self_agreement
from axisjudge.stats.rates.correction import corrected_rate
from axisjudge.stats.rates.proportions import clustered_mean

RNG = np.random.default_rng(1)
#: A study that grows by tasks, then in one task alone, then by tasks again.
TASK = np.r_[np.arange(200) // 4, np.full(120, 3), 50 + np.arange(80) // 4]
SCORE = RNG.standard_normal((TASK.size, 1)) + 0.6 * RNG.standard_normal((TASK.size, 3))
SAID = (SCORE < -0.6).astype(float)
TRUTH = (SCORE[:, 0] + 0.6 * RNG.standard_normal(TASK.size) < -0.6).astype(float)
RIGHT = (SAID[:, 0] == TRUTH).astype(float)
SURE = 0.5 + 0.5 * RNG.random(SAID.shape)
LABEL = np.where(np.arange(TASK.size) % 3 == 0, TRUTH, np.nan)

FIGURES = {
    "soft": lambda n: soft_agreement(1 / (1 + np.exp(-2 * SCORE[:n, :2])), clusters=TASK[:n]),
    "effective": lambda n: effective_judges(SAID[:n], TRUTH[:n], clusters=TASK[:n]).n_effective,
    "case-weighted": lambda n: case_weighted(SAID[:n, :2], SURE[:n, :2], clusters=TASK[:n], rng=RNG),
    "balanced": lambda n: balanced_accuracy(RIGHT[:n], TRUTH[:n], TASK[:n]),
    "auroc": lambda n: auroc(SURE[:n, 0], RIGHT[:n], clusters=TASK[:n]),
    "mean": lambda n: clustered_mean(SCORE[:n, 0], TASK[:n]),
    "paired": lambda n: paired_change(SAID[:n, 0], SAID[:n, 1], clusters=TASK[:n]).change,
    "interval alpha": lambda n: interval_alpha(SCORE[:n], clusters=TASK[:n]),
    "icc": lambda n: intraclass_correlation(SCORE[:n], form="1", clusters=TASK[:n]),
    "corrected": lambda n: corrected_rate(SAID[:n, 0], LABEL[:n], sampling="random", clusters=TASK[:n]).rate,
    "f1": lambda n: failing_word(SAID[:n, 0], TRUTH[:n], clusters=TASK[:n]).f1,
    "self-agreement": lambda n: self_agreement(SAID[:n], clusters=TASK[:n]).agreement,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_once_there_is_an_interval_there_is_one(name):
    given = False
    for n in (8, 24, 40, 80, 100, 140, 200, 210, 260, 320, 330, 400):
        low = FIGURES[name](n).ci_low
        assert not (given and math.isnan(low)), n
        given |= not math.isnan(low)
    assert given


@pytest.mark.slow
def test_ranks_once_given_stay_given():
    for n in (40, 80, 200, 320, 400):
        found = reference_ranks(SAID[:n], TRUTH[:n], categories=[0.0, 1.0], clusters=TASK[:n], rng=RNG)
        assert not found.refusal
