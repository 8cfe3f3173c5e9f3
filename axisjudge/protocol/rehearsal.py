"""A rehearsal: a workbench of its own, in which the whole loop can be walked without touching this one's record."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from axisjudge.workbench import home

#: What makes up the record; a rehearsal begins without it.
_RECORD = shutil.ignore_patterns("split.json", "lock.json", "ledger.jsonl", "*.lock")


def rehearsal(folder: str | Path | None = None) -> Path:
    """Make a workbench with a copy of the rubrics, links to the data that are there, and no split, lock or ledger.

    Parameters
    ----------
    folder : path, optional
        Where to make it; by default a temporary folder that goes when this process ends.

    Returns
    -------
    Path
        For `axisjudge.workbench.use`, or for ``with axisjudge.workbench.at(...)``.
    """
    if folder is None:
        bench = Path(tempfile.mkdtemp(prefix="axisjudge-rehearsal-"))
        atexit.register(shutil.rmtree, bench, ignore_errors=True)
    else:
        bench = Path(folder)
    shutil.copytree(home() / "rubrics", bench / "rubrics", ignore=_RECORD, dirs_exist_ok=True)
    (bench / "notebooks").mkdir(exist_ok=True)
    (bench / "data" / "ratings").mkdir(parents=True, exist_ok=True)
    for source in sorted((home() / "data").iterdir()):
        if source.name != "ratings" and not (bench / "data" / source.name).exists():
            (bench / "data" / source.name).symlink_to(source, target_is_directory=source.is_dir())
    return bench
