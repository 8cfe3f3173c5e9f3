"""Which coefficients a scale has: of words, of words in order, or of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import Seed, agreement_coefficients
from axisjudge.stats.agreement.coefficients import Level, coefficient_columns, coefficient_names
from axisjudge.stats.agreement.measured import Form, interval_alpha, intraclass_correlation
from axisjudge.stats.estimate import NamedEstimate

#: Columns of scales of numbers alone.
OF_NUMBERS = ("interval_alpha", "icc")


def columns_of(level: Level) -> tuple[str, ...]:
    """The columns of a table of agreement on scales of `level`."""
    return OF_NUMBERS if level == "interval" else coefficient_columns(level)


def coefficients_at(
    level: Level,
    codes: NDArray[np.float64],
    *,
    categories: Sequence[float],
    clusters: NDArray[np.integer] | None = None,
    times: NDArray[np.integer] | None = None,
    rows: NDArray[np.integer] | None = None,
    rng: Seed = None,
    **sample: Any,
) -> dict[str, NamedEstimate]:
    """The coefficients of ratings (rows x raters) on a scale of `level`, by column.

    `rows` and `times` are as in `axisjudge.stats.agreement.patterns.rating_patterns`.

    Of numbers, ICC(A,1) where all raters rated half of the compared items or more, on these items; else ICC(1), which
    takes each item's raters as its own. `sample` holds cluster_unit, ci_level and `alike`.
    """
    if level == "interval":
        if sample.pop("alike", "items") != "items":
            raise InputError("alike", "is of words: coefficients of numbers take each item alike", "clusters")
        number = 1 if times is None else times  # as single items: hardly two are alike
        codes = codes[np.repeat(np.arange(len(codes)) if rows is None else rows, number)]
        sample["clusters"] = None if clusters is None else np.repeat(clusters, number)
        given = (~np.isnan(codes)).sum(axis=1)
        complete, compared = (given == codes.shape[1]).sum(), (given >= 2).sum()
        form: Form = "A,1" if 2 * complete >= compared else "1"
        alpha, icc = interval_alpha(codes, **sample), intraclass_correlation(codes, form=form, **sample)
        return {"interval_alpha": alpha, "icc": icc}
    names = coefficient_names(codes.shape[1], level)
    items: dict[str, Any] = {"categories": categories, "clusters": clusters, "times": times, "rows": rows}
    values = agreement_coefficients(codes, list(names.values()), **items, rng=rng, **sample)
    return {column: values[name] for column, name in names.items()}
