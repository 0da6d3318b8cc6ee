"""`bench` stands beside `tests`: its modules are imported from the root of the checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
