"""Figures: each draws a result on an Axes and computes nothing."""

from axisjudge.figures.profiles import plot_independence, plot_profile_heatmap, plot_rank_sets, plot_success
from axisjudge.figures.trace import plot_trace
from axisjudge.figures.trace_page import TracePage

__all__ = [
    "TracePage",
    "plot_independence",
    "plot_profile_heatmap",
    "plot_rank_sets",
    "plot_success",
    "plot_trace",
]
