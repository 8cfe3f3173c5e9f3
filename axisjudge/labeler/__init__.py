"""The labeller: people's labels on the five axes, in a notebook or in a page of its own."""

from axisjudge.labeler.page import write_page
from axisjudge.labeler.start import open_labeller, plan_beside

__all__ = ["open_labeller", "plan_beside", "write_page"]
