"""What a million raw scores through a curve cost."""

import time

import numpy as np
import pytest

from axisjudge.scores.curves.curve import AXIS_CURVE


@pytest.mark.parametrize("curve", [AXIS_CURVE.apply, AXIS_CURVE.mended])
def test_a_million_raw_scores(curve, capsys: pytest.CaptureFixture[str]) -> None:
    raw = np.random.default_rng(0).random(1_000_000)
    curve(raw)
    timings = []
    for _ in range(9):
        start = time.perf_counter()
        curve(raw)
        timings.append(time.perf_counter() - start)
    with capsys.disabled():
        print(f"\n{curve.__name__}: 1,000,000 raw scores in {1000 * np.median(timings):.0f} ms (promised: under 100)")
