"""Label files of others: read into ratings, written from ratings, and nothing lost without a word."""

from axisjudge.labels.formats.exchange import FORMATS, Exported, ImportedLabels, export_labels, import_labels
from axisjudge.labels.own import Terms

__all__ = ["FORMATS", "Exported", "ImportedLabels", "Terms", "export_labels", "import_labels"]
