"""Parameters that plain papermill put into a notebook: checked as those of `axisjudge report` are."""

from __future__ import annotations

import itertools
import sys

from axisjudge.checks import InputError
from axisjudge.report.notebook import checked_parameters, parameters_in

#: How papermill begins the cell that it puts after the one tagged ``parameters``.
_HEAD = "# Parameters\n"


def check_injected() -> None:
    """Check the cell that papermill injected into the notebook that runs here, if there is one.

    Papermill sets any name that it is given; one that the notebook does not know would leave its default in force, and
    the page would answer another question than was asked.

    Raises
    ------
    InputError
        The notebook has no such parameter (the nearest is named), or the value has another type.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = [] if shell is None else list(shell.user_ns.get("In", []))
    for own, injected in itertools.pairwise(cells):
        if injected.startswith(_HEAD) and own.strip():
            try:
                known = parameters_in(own, "this notebook")
                given = {name: each.default for name, each in parameters_in(injected, "this notebook").items()}
            except (InputError, SyntaxError):  # another cell that begins like it
                continue
            checked_parameters(known, given, "this notebook")
