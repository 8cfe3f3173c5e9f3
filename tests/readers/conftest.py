"""Puts the tiny conversations of these tests on the path (tests are not a package)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
