"""What is wrong with people's labels before anybody compares a judge with them."""

from axisjudge.labels.lint.check import lint_labels
from axisjudge.labels.lint.columns import read_in_writing_order
from axisjudge.labels.lint.finding import ALPHA, LabelFault, Lint

__all__ = ["ALPHA", "LabelFault", "Lint", "lint_labels", "read_in_writing_order"]
