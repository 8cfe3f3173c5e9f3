"""Templates of pages that work offline: all that they fill in is escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(package: str, name: str) -> Template:
    """A template that stands beside the modules of a package; a name that it is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(package, ".")
    of = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return of.get_template(name)
