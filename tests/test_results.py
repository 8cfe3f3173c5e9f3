"""Results as plain values: named parts, parts whose values stand beside, models of pydantic."""

import math
from dataclasses import dataclass

from pydantic import BaseModel

from axisjudge.results import Result, columns, plain
from axisjudge.stats.estimate import Estimate


@dataclass(frozen=True)
class Whole(Result):
    _keys = columns("name n_items rate=rate.in_short")
    _flat = ("rate", "parts", "lacking")

    name: str
    rate: Estimate
    parts: dict[str, float]
    n_items: int = 7
    lacking: Estimate | None = None


def test_values_of_a_part_stand_beside_the_own_ones_which_win():
    rate = Estimate(estimate=0.5, ci_low=0.25, ci_high=math.nan, n_items=12, n_clusters=4)
    values = Whole("both", rate, {"kappa": math.nan, "ac1": 0.4}).to_dict()
    assert values["rate"] == [0.5, 0.25, None]
    assert values["n_clusters"] == 4
    assert values["n_items"] == 7
    assert (values["kappa"], values["ac1"]) == (None, 0.4)
    assert values.keys() == rate.to_dict().keys() | {"name", "rate", "kappa", "ac1"}


def test_a_model_of_pydantic_is_plain():
    class Inner(BaseModel):
        word: str = "kept"

    assert plain({"inner": Inner()}) == {"inner": {"word": "kept"}}
