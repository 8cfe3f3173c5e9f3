"""A workbench of its own for every notebook that a test runs."""

import pytest

from axisjudge.workbench import home


@pytest.fixture
def bench(tmp_path):
    """A workbench of its own, so that a test never writes into the shipped reports."""
    for name in ("notebooks", "rubrics"):
        (tmp_path / name).symlink_to(home() / name)
    (tmp_path / "data").mkdir()
    for path in (home() / "data").iterdir():
        if path.name not in ("cache", "ratings"):
            (tmp_path / "data" / path.name).symlink_to(path)
    return tmp_path
