"""``python -m axisjudge``."""

from axisjudge.cli import main

main()
