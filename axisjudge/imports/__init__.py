"""Other people's judges and labels: files of any tool as one ratings table, and our ratings for other tools."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge.imports.api import Imported, import_ratings
    from axisjudge.imports.judgement import ImportOptions
    from axisjudge.imports.writing import EXPORTS, export_ratings

_HOME = {
    "EXPORTS": "writing",
    "ImportOptions": "judgement",
    "Imported": "api",
    "export_ratings": "writing",
    "import_ratings": "api",
}

__all__ = ["EXPORTS", "ImportOptions", "Imported", "export_ratings", "import_ratings"]


def __getattr__(name: str) -> Any:
    """These names are loaded when they are first used: a module of this room alone does not bring the whole room."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
