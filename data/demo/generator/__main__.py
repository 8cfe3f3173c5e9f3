"""Write the demo: ``python data/demo/generator --seed 1 --out data/demo``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generator.command import main

main()
