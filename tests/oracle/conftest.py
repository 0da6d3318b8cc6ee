"""One walk of the machine, shared: its coverage is pinned, and its examples are played to planted bugs."""

import pytest

from rota.coordinator import MENDED


@pytest.fixture(scope="session")
def walk():
    """The machine's walk with the coordinator as it is."""
    from oracle import pin

    return pin.pinned_walk()


@pytest.fixture(scope="session")
def mended_walk():
    """The same with all mends."""
    from oracle import pin

    return pin.pinned_walk(MENDED)


@pytest.fixture(scope="session")
def whole_walk():
    """The walk of the machine of everything."""
    from oracle import pin

    return pin.whole_walk()


@pytest.fixture
def walk_for(walk, mended_walk):
    """The walk whose examples show a bug."""
    return lambda bug: mended_walk if bug.mended else walk
