"""The toys are a module of their own, so that worker processes can import their factories."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
