"""Ratings to analyse: by name, from files, or a table of one's own."""

from axisjudge.sources.named import load_source
from axisjudge.sources.source import Source, coverage, of_level, source_of, sources_of

__all__ = ["Source", "coverage", "load_source", "of_level", "source_of", "sources_of"]
