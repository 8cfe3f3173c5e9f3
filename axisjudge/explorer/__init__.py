"""The labeller and the explorer, in a notebook or in a page of their own, with one front end.

The labeller takes people's labels on the five axes, blind to every judge; the explorer shows what judges and people
said of each run, at the steps they cite, and takes decisions on who is right.
"""

from axisjudge.explorer.grid import Grid
from axisjudge.explorer.grid_widget import explore
from axisjudge.explorer.page import write_explorer, write_page
from axisjudge.explorer.widget import decisions_path, labels_path, open_labeller

__all__ = ["Grid", "decisions_path", "explore", "labels_path", "open_labeller", "write_explorer", "write_page"]
