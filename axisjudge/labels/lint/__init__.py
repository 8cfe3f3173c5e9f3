"""What is wrong with people's labels before anybody compares a judge with them."""

from axisjudge.labels.lint.check import lint_labels
from axisjudge.labels.lint.finding import ALPHA, LabelFault, Lint, read_in_writing_order

__all__ = ["ALPHA", "LabelFault", "Lint", "lint_labels", "read_in_writing_order"]
