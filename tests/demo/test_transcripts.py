"""The demo's transcripts are what their script writes."""

import subprocess
import sys

import pytest

from axisjudge.workbench import home

FOLDER = home() / "data" / "demo" / "transcripts"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path):
    command = [sys.executable, str(FOLDER / "make.py"), "--seed", "1", "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=60)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json*"))
    assert len(written) == 25
    for path in written:
        assert (tmp_path / path).read_bytes() == (FOLDER / path).read_bytes(), path
