"""Curves: published points, and what every curve must satisfy."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import axisjudge.scores.curves.curve
from axisjudge.checks import InputError
from axisjudge.scores.curves.curve import (
    AXIS_CURVE,
    CurveFit,
    LogNormalCurve,
    axis_score,
)

#: Lighthouse's points for median 7300 ms and p10 3785 ms: raw value and score (googlechrome.github.io/lighthouse).
LIGHTHOUSE = [
    (1000, 0.99995),
    (2500, 0.98173),
    (3785, 0.9),
    (5000, 0.76986),
    (7300, 0.5),
    (7500, 0.47897),
    (10000, 0.26959),
    (30000, 0.00291),
]

CURVES = [AXIS_CURVE, LogNormalCurve(0.9, 0.05), LogNormalCurve.through((7300, 0.5), (3785, 0.9))]
every_curve = pytest.mark.parametrize("curve", CURVES, ids=["rising", "steep", "falling"])


def raws(curve: LogNormalCurve) -> np.ndarray:
    """Raw scores over the curve's whole range."""
    centre = float(curve.invert(0.4))
    return np.linspace(1e-3 * centre, 4 * centre, 201)


@every_curve
def test_it_is_monotone_within_0_and_1(curve: LogNormalCurve) -> None:
    shares = curve.apply(raws(curve))
    steps = np.diff(shares) * (1 if curve.higher_is_better else -1)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert (steps >= 0).all()
    assert steps.max() > 0


@every_curve
def test_raw_0_and_below_lie_at_the_worst_or_best_end(curve: LogNormalCurve) -> None:
    end = float(curve.apply(0.0))
    assert end == (0.0 if curve.higher_is_better else 1.0)
    assert curve.apply([-1.0, -math.inf]).tolist() == [end, end]
    assert float(curve.slope(0.0)) == 0


@every_curve
def test_the_slope_is_the_derivative(curve: LogNormalCurve) -> None:
    x = raws(curve)
    step = 1e-6 * x
    numeric = (curve.apply(x + step) - curve.apply(x - step)) / (2 * step)
    assert curve.slope(x) == pytest.approx(numeric, abs=1e-5 * np.abs(numeric).max())
    assert curve.noise_amplification(x) == pytest.approx(100 * np.abs(curve.slope(x)))


@every_curve
def test_inverting_gives_the_raw_score_back(curve: LogNormalCurve) -> None:
    shares = np.linspace(float(curve.apply(raws(curve)).min()) + 0.01, min(0.79, float(curve.apply(1e9)) or 0.79), 50)
    assert curve.apply(curve.invert(shares)) == pytest.approx(shares, abs=1e-12)


@every_curve
def test_arrays_of_any_shape_scalars_and_nan(curve: LogNormalCurve) -> None:
    x = raws(curve)[:12].reshape(3, 4)
    for function in (curve.apply, curve.slope, curve.score, lambda each: curve.invert(curve.apply(each))):
        whole = function(x)
        assert whole.shape == (3, 4)
        assert whole.dtype == np.float64
        assert float(function(x[1, 2])) == whole[1, 2]
        assert np.isnan(function([math.nan])).all()
    assert curve.score(x) == pytest.approx(100 * curve.apply(x))


@every_curve
def test_the_input_is_left_as_it_was(curve: LogNormalCurve) -> None:
    x = raws(curve)
    before = x.copy()
    curve.apply(x)
    assert (x == before).all()


@every_curve
@pytest.mark.parametrize("share", [-0.01, 1.01])
def test_shares_outside_0_and_1_are_refused(curve: LogNormalCurve, share: float) -> None:
    with pytest.raises(InputError, match="must lie in"):
        curve.invert(share)


def test_noise_amplification_is_what_small_noise_does() -> None:
    rng = np.random.default_rng(1)
    for raw in (0.3, 0.5, 0.8):
        scores = AXIS_CURVE.score(raw + 0.002 * rng.normal(size=200_000))
        assert scores.std() / 0.002 == pytest.approx(float(AXIS_CURVE.noise_amplification(raw)), rel=0.02)


@pytest.mark.parametrize(("raw", "score"), LIGHTHOUSE)
def test_lighthouse_points(raw: float, score: float) -> None:
    curve = LogNormalCurve.through((7300, 0.5), (3785, 0.9))
    assert not curve.higher_is_better
    assert float(curve.apply(raw)) == pytest.approx(score, abs=1e-5)


def test_lighthouse_and_axis_state_sigma_by_their_points() -> None:
    assert LogNormalCurve.through((7300, 0.5), (3785, 0.9)).sigma == pytest.approx(
        math.log(7300 / 3785) / 1.2815515655446006, rel=1e-15
    )
    rising = LogNormalCurve.through((0.5, 0.5), (0.9, 0.9))
    assert rising.higher_is_better
    assert rising.sigma == pytest.approx(math.log(0.9 / 0.5) / 1.28155, rel=1e-5)


@given(
    median=st.floats(1e-3, 1e5),
    ratio=st.floats(1.01, 50).flatmap(lambda ratio: st.sampled_from([ratio, 1 / ratio])),
    share=st.floats(0.55, 0.99),
)
def test_values_at_control_points_are_exact(median: float, ratio: float, share: float) -> None:
    curve = LogNormalCurve.through((median, 0.5), (median * ratio, share))
    assert float(curve.apply(median)) == 0.5
    assert float(curve.apply(median * ratio)) == pytest.approx(share, abs=1e-13)
    assert curve.higher_is_better == (ratio > 1)
    swapped = LogNormalCurve.through((median * ratio, share), (median, 0.5))
    assert (swapped.median, swapped.sigma) == pytest.approx((curve.median, curve.sigma), rel=1e-9)


def test_the_cliff_of_the_program_and_its_mended_end() -> None:
    assert (axis_score(0.9999), axis_score(1.0)) == (96, 100)
    assert float(AXIS_CURVE.score(1.0)) == pytest.approx(95.84, abs=0.01)
    assert {axis_score(raw) for raw in np.linspace(0, 1, 20_001)}.isdisjoint({97, 98, 99})
    mended = AXIS_CURVE.mended
    assert mended([1.0, 1.5, 0.0, -1.0]).tolist() == [1, 1, 0, 0]
    assert np.isnan(mended(math.nan))
    assert float(mended(0.9999)) == pytest.approx(1, abs=0.0005)
    assert {97, 98, 99} <= {round(100 * float(share)) for share in mended(np.linspace(0.9, 1, 1001))}
    assert float(mended(0.5)) == pytest.approx(0.5 / 0.9584, abs=1e-4)
    assert (np.diff(mended(np.linspace(0, 1, 1001))) >= 0).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LogNormalCurve(0, 0.4), "median: must be greater than 0"),
        (lambda: LogNormalCurve(0.5, math.nan), "sigma: must be greater than 0"),
        (lambda: LogNormalCurve.through((0.5, 0.5), (0.5, 0.9)), "state two points"),
        (lambda: LogNormalCurve.through((0.5, 0.5), (0.9, 0.5)), "state two points"),
        (lambda: LogNormalCurve.through((0.5, 0.5), (0.9, 1.0)), "share of a control point"),
        (lambda: LogNormalCurve.through((0.0, 0.1), (0.9, 0.9)), "raw score of a control point"),
        (lambda: LogNormalCurve(0.5, 0.4, higher_is_better=False).mended(0.5), "no top end"),
        (
            lambda: CurveFit.from_dict({"axisjudge_curve": 1, "curve": {"form": "logistic"}}),
            "log-normal; found 'logistic'",
        ),
    ],
)
def test_what_cannot_be_a_curve_says_so(build, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(axisjudge.scores.curves.curve).failed == 0
