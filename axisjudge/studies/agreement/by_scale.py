"""Coefficients follow the scale of a question, and their headings name them."""

from __future__ import annotations

import numpy as np

from axisjudge.stats.agreement.chance_corrected import Seed, agreement_coefficients
from axisjudge.stats.agreement.coefficients import Level, coefficient_columns, coefficient_names
from axisjudge.stats.agreement.measured import Form, interval_alpha, intraclass_correlation
from axisjudge.stats.estimate import NamedEstimate
from axisjudge.studies._shared.coded import Coded, Groups

#: Columns of scales of numbers alone.
OF_NUMBERS = ("interval_alpha", "icc")

_HEADINGS = {
    "ac1": "AC1",
    "alpha": "nominal alpha",
    "quadratic_kappa": "quadratic kappa",
    "ac2": "quadratic AC2",
    "ordinal_alpha": "ordinal alpha",
    "interval_alpha": "interval alpha",
}


def columns_of(level: Level) -> tuple[str, ...]:
    """The columns of a table of agreement on scales of `level`."""
    return OF_NUMBERS if level == "interval" else coefficient_columns(level)


def heading(column: str, found: NamedEstimate | None) -> str:
    """How a column is headed for people; an intraclass correlation by its form."""
    if column == "icc":
        return "ICC" if found is None else found.label
    return _HEADINGS.get(column, column)


def coefficients_at(level: Level, coded: Coded, ci_level: float, rng: Seed) -> dict[str, NamedEstimate]:
    """The coefficients of a question whose scale is of `level`, by column.

    Of numbers, ICC(A,1) where all raters rated half of the compared items or more, on these items; else ICC(1), which
    takes each item's raters as its own.
    """
    if level == "interval":
        items = np.repeat(np.arange(coded.times.size), coded.times.astype(np.intp))  # hardly two items are alike
        codes, clusters = coded.codes[items], coded.clusters[items]
        groups: Groups = {**coded.groups, "clusters": None if coded.groups["clusters"] is None else clusters}
        number = (~np.isnan(codes)).sum(axis=1)
        complete, compared = (number == codes.shape[1]).sum(), (number >= 2).sum()
        form: Form = "A,1" if 2 * complete >= compared else "1"
        return {
            "interval_alpha": interval_alpha(codes, **groups, ci_level=ci_level),
            "icc": intraclass_correlation(codes, form=form, **groups, ci_level=ci_level),
        }
    names = coefficient_names(coded.codes.shape[1], level)
    values = agreement_coefficients(
        coded.codes, list(names.values()), **coded.how, times=coded.times, ci_level=ci_level, rng=rng
    )
    return {column: values[name] for column, name in names.items()}
