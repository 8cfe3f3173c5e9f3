"""Published curves, computed again: Lighthouse's points, and the cliff at the top of the AXIS curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from axisjudge.results import Result
from axisjudge.scores.curves.curve import AXIS_CURVE, LogNormalCurve, MendedCurve, axis_score
from axisjudge.studies._shared.words import listed
from axisjudge.studies.curves import sentences as say

#: The control points of Lighthouse's published curve: raw milliseconds and share.
LIGHTHOUSE_MEDIAN, LIGHTHOUSE_P10 = (7300.0, 0.5), (3785.0, 0.9)
#: Raw scores at the top of the curve, and along it.
_CLIFF = (0.9, 0.95, 0.97, 0.99, 0.999, 0.9999, 1.0)
_ALONG = (0.3, 0.45, 0.7, 0.9, 0.99)


@dataclass(frozen=True)
class PublishedCurve(Result):
    """Published points of a curve beside ours through its two control points, and ours over the range."""

    _keys = ("points", "largest", "sentence")

    points: pl.DataFrame
    line: pl.DataFrame
    largest: float

    @property
    def sentence(self) -> str:
        """How far apart they are."""
        return say.PUBLISHED.format(n=self.points.height, largest=self.largest)


def lighthouse(points: pl.DataFrame) -> PublishedCurve:
    """Lighthouse's published points (columns raw_ms and score) beside the curve through its control points."""
    curve = LogNormalCurve.through(LIGHTHOUSE_MEDIAN, LIGHTHOUSE_P10)
    ours = curve.apply(points["raw_ms"].to_numpy())
    table = points.with_columns(ours=pl.Series(ours), difference=pl.Series(ours - points["score"].to_numpy()))
    raw = np.geomspace(700, 40_000, 200)
    line = pl.DataFrame({"raw_ms": raw, "score": curve.apply(raw)})
    return PublishedCurve(table, line, float(table["difference"].abs().max() or 0.0))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Cliff(Result):
    """The top of the assumed AXIS curve: the program's scores, the curve without its jump, and the mended one."""

    _keys = ("points", "unreachable", "sentence", "noise")

    points: pl.DataFrame
    line: pl.DataFrame
    unreachable: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """The cliff in words."""
        below, top = self.points["program"].to_list()[-2:]
        names, rise = ", ".join(map(str, self.unreachable)), 100 / float(AXIS_CURVE.score(1.0)) - 1
        return say.CLIFF.format(raw=self.points["raw"][-2], below=below, top=top, names=names, rise=rise)

    @property
    def noise(self) -> str:
        """What a hundredth of the raw score is worth along the curve, in words."""
        worth = AXIS_CURVE.noise_amplification(_ALONG) / 100
        points = (say.POINTS.format(points=each, raw=raw) for raw, each in zip(_ALONG, worth, strict=True))
        return say.NOISE.format(points=listed(list(points)))


def cliff() -> Cliff:
    """The top end of the assumed curve (median .5, sigma .4), from raw .85 to 1."""
    mended, fine = MendedCurve(AXIS_CURVE), np.linspace(0, 1, 100_001)
    reached = {axis_score(float(raw)) for raw in fine}
    points = pl.DataFrame(
        {
            "raw": _CLIFF,
            "program": [axis_score(raw) for raw in _CLIFF],
            "curve": AXIS_CURVE.score(_CLIFF),
            "mended": mended.score(_CLIFF),
            "noise_amplification": AXIS_CURVE.noise_amplification(_CLIFF),
        }
    )
    raw = np.linspace(0.85, 1, 151)
    line = pl.DataFrame({"raw": raw, "curve": AXIS_CURVE.score(raw), "mended": mended.score(raw)})
    return Cliff(points, line, tuple(score for score in range(101) if score not in reached))
