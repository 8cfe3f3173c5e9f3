"""Lines on the scale of a link: against statsmodels, against exact leave-one-out fits, and where there is none."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from axisjudge.checks import InputError
from axisjudge.stats.link_lines import LinkLine, _line, cumulative_line, fractional_line, population_line

TASKS = np.repeat(np.arange(30), 4)


@pytest.fixture(scope="module")
def world() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    z = -0.7 + 0.4 * (0.5 * rng.normal(size=30)[TASKS] + 0.8 * rng.normal(size=120))
    eta = (z - math.log(0.5)) / 0.4
    return z, np.round(ndtr(eta + 0.5 * rng.normal(size=30)[TASKS] + 0.4 * rng.normal(size=120)), 2)


def left_out(fit, z: np.ndarray, given: np.ndarray, whole: LinkLine) -> np.ndarray:
    lines = [fit(z[task != TASKS], given[task != TASKS], TASKS[task != TASKS]) for task in range(30)]
    return np.array([[line.intercept - whole.intercept, line.slope - whole.slope] for line in lines])


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_standard_errors_are_those_of_statsmodels_but_for_the_jackknifes_caution(world, link) -> None:
    from statsmodels.genmod.families import Binomial, links
    from statsmodels.genmod.generalized_linear_model import GLM

    z, share = world
    line = fractional_line(z, share, TASKS, link=link)
    family = Binomial(links.Probit() if link == "probit" else links.Logit())
    theirs = GLM(share, np.column_stack([np.ones(120), z]), family=family).fit(
        cov_type="cluster", cov_kwds={"groups": TASKS}
    )
    assert [line.intercept, line.slope] == pytest.approx(theirs.params, rel=1e-6)
    assert np.sqrt(np.diag(line.covariance)) == pytest.approx(theirs.bse, rel=0.08)


def test_the_one_step_jackknife_is_near_the_exact_one(world) -> None:
    z, share = world
    line = fractional_line(z, share, TASKS)
    exact = left_out(fractional_line, z, share, line)
    assert line.changes == pytest.approx(exact, abs=0.05 * np.abs(exact).max())


@pytest.mark.slow
def test_the_one_step_jackknife_of_ordinal_labels_is_near_the_exact_one(world) -> None:
    z, share = world
    labels = np.digitize(share, [0.2, 0.4, 0.6, 0.8])
    line = cumulative_line(z, labels, 2, TASKS)
    exact = left_out(lambda z, label, tasks: cumulative_line(z, label, 2, tasks), z, labels, line)
    assert line.changes == pytest.approx(exact, abs=0.15 * np.abs(exact).max())


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_two_labels_give_the_fractional_fit(world, link) -> None:
    """A cumulative link model of two labels is a binomial regression, standard errors and all."""
    z, share = world
    label = (share > 0.5).astype(int)
    ordered, binary = cumulative_line(z, label, 1, TASKS, link=link), fractional_line(z, label, TASKS, link=link)
    assert [ordered.intercept, ordered.slope] == pytest.approx([binary.intercept, binary.slope], rel=1e-4)
    assert ordered.covariance == pytest.approx(binary.covariance, rel=1e-3)


def test_fieller_is_where_the_band_crosses_zero(world) -> None:
    z, share = world
    line = fractional_line(z, share, TASKS)
    centre, low, high = line.crossing()
    assert line.at(centre)[0] == pytest.approx(0, abs=1e-9)
    assert line.at(low)[2] == pytest.approx(0, abs=1e-9)
    assert line.at(high)[1] == pytest.approx(0, abs=1e-9)


def test_a_slope_compatible_with_zero_has_no_end_to_its_intervals() -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=40)
    line = fractional_line(z, np.clip(0.5 + 0.03 * z + 0.3 * rng.normal(size=40), 0, 1))
    assert line.slope > 0
    assert line.crossing()[1:] == (-math.inf, math.inf)
    assert line.spread()[2] == math.inf


def test_a_spread_lies_in_the_middle_of_its_interval_as_a_slope(world) -> None:
    slope, least, most = (1 / spread for spread in fractional_line(*world, TASKS).spread())
    assert most - slope == pytest.approx(slope - least)


def test_a_simultaneous_band_is_wider(world) -> None:
    z, share = world
    line = fractional_line(z, share, TASKS)
    _, low, high = line.at([-1.0, 0.0])
    _, lower, higher = line.at([-1.0, 0.0], simultaneous=True)
    assert (lower < low).all()
    assert (higher > high).all()


def test_a_populations_line_is_its_median_and_spread(world) -> None:
    z, _ = world
    line = population_line(z, TASKS)
    assert line.crossing()[0] == pytest.approx(np.median(z))
    assert line.spread()[0] == pytest.approx(z.std(ddof=1))
    exact = np.array([z[task != TASKS].std(ddof=1) - z.std(ddof=1) for task in range(30)])
    assert -line.changes[:, 1] * z.var(ddof=1) == pytest.approx(exact, rel=1e-9)


def test_the_median_of_a_large_normal_sample_has_its_standard_error() -> None:
    """sqrt(pi / 2) sd / sqrt(n) of independent values."""
    z = np.random.default_rng(7).normal(2, 3, 10_000)
    _, low, high = population_line(z).crossing()
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(math.pi / 2) * 3 / 100, rel=0.15)


def test_minus_infinity_counts_in_the_median_only(world) -> None:
    z, _ = world
    line = population_line(np.append(z, -math.inf), np.append(TASKS, 30))
    assert line.crossing()[0] == pytest.approx(np.median(np.append(z, -9)))
    assert line.spread()[0] == pytest.approx(z.std(ddof=1))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: fractional_line([1, 1, 2, 2], [0.1, 0.2, 0.3, 0.4]), "fewer than three different"),
        (lambda: fractional_line([1, 2, 3, 4], [0.5] * 4), "equal"),
        (lambda: fractional_line([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]), "no upper limit"),
        (lambda: cumulative_line([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], 1), "no upper limit"),
        (lambda: fractional_line([1, 1, 1, 1, 2, 3], [0.2, 0.4, 0.3, 0.3, 0.5, 0.9], [1, 2, 3, 4, 5, 5]), "hangs on"),
        (lambda: cumulative_line([1, 2, 3, 4], [1, 2, 1, 2], 1), "no label lies"),
        (lambda: population_line([1, 1, 2, 2]), "fewer than three different"),
    ],
)
def test_where_there_is_no_line_it_says_why(build, reason) -> None:
    line = build()
    assert math.isnan(line.slope)
    assert reason in line.reason


@pytest.mark.parametrize(
    ("z", "share", "message"),
    [
        ([1, 2], [0.5], "one value for each item"),
        ([1, math.nan], [0.5, 0.5], "finite"),
        ([1, -math.inf], [0.5, 0.5], "finite"),
        ([1, 2], [0.5, 1.5], "must lie in"),
    ],
)
def test_malformed_input_is_refused(z, share, message) -> None:
    with pytest.raises(InputError, match=message):
        fractional_line(z, share)


@pytest.mark.parametrize(
    ("sizes", "degrees"),
    [([4] * 6, 4), ([100, 1, 1, 1, 1, 1], 2), ([4] * 4, 2), ([4] * 3, 1), ([6, 6, 3, 3, 3, 3], 24**2 / 108 - 2)],
)
def test_degrees_are_those_of_effective_clusters_less_two_but_two(sizes, degrees):
    """Changes at the corners of a regular figure lie equally far, so that no few clusters carry the covariance."""
    angle = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    changes = 0.1 * np.column_stack([np.cos(angle), np.sin(angle)])
    line = _line(0.2, 1.0, changes, np.arange(len(sizes)), np.array(sizes), "probit")
    assert line.degrees == pytest.approx(degrees)
    assert line.covariance == pytest.approx(0.01 * len(sizes) / 2 * np.eye(2))


def test_a_few_clusters_that_carry_the_covariance_leave_fewer_degrees():
    """8 over the sum of squared distances: of twelve changes two are ten times as far, of each coordinate one."""
    changes = np.concatenate([[[1.0, 0], [0, 1.0]], np.tile([[0.1, 0], [0, 0.1]], (5, 1))])
    far, near = 1 / 1.05, 0.01 / 1.05
    line = _line(0.2, 1.0, changes, np.arange(12), np.full(12, 3), "logit")
    assert line.degrees == pytest.approx(8 / (2 * far**2 + 10 * near**2))
