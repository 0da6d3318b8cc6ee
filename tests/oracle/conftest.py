"""One walk of the machine, shared: its coverage is pinned, and its examples are played to planted bugs."""

import pytest


@pytest.fixture(scope="session")
def walk():
    """The machine's walk with the coordinator as it is."""
    from oracle import pin

    return pin.pinned_walk()
