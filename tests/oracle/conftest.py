"""One walk of the machine, shared: its coverage is pinned, and its examples are played to planted bugs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def walk():
    """The machine's walk with the coordinator as it is."""
    import pin

    return pin.pinned_walk()
