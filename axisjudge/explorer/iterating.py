"""`axisjudge.iterate`: a turn of the loop with the explorer of its flips beneath it, where a notebook can show it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axisjudge.studies.rubric_versions import loop

if TYPE_CHECKING:
    from axisjudge.explorer.grid_widget import Explorer


@dataclass(frozen=True, eq=False, repr=False)
class Iteration(loop.Iteration):
    """What `iterate` showed; in a notebook with the explorer, open on the verdicts that flipped."""

    @functools.cached_property
    def explorer(self) -> Explorer | None:
        """Runs x judges on the axis, flipped verdicts first; None where nothing was asked yet."""
        if self.ratings is None or self.turn is None:
            return None
        from axisjudge.explorer.exploring import explore

        flipped = "&only=flipped" if self.turn.flips else ""
        return explore(self.ratings, self.runs, at=f"axis={self.turn.axis}{flipped}")

    def _ipython_display_(self) -> None:
        from IPython import display

        show: Any = display  # IPython's own functions bear no types
        show.publish_display_data({"text/html": self._repr_html_(), "text/plain": repr(self)})
        if self.explorer is not None:
            show.display(self.explorer)


@functools.wraps(loop.iterate)
def iterate(*args: Any, **kwargs: Any) -> Iteration:
    """As `axisjudge.studies.rubric_versions.iterate`, with the explorer."""
    turned = loop.iterate(*args, **kwargs)
    return Iteration(**vars(turned))
