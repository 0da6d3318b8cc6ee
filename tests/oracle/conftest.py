"""One walk of the machine, shared: its coverage is pinned, and its examples are played to planted bugs."""

import pytest

from oracle import pin
from oracle.pin import Kept


@pytest.fixture(scope="session")
def walk():
    """The machine's walk with the coordinator as it is."""
    return Kept.MEMBERS.walk()


@pytest.fixture(scope="session")
def mended_walk():
    """The same with all mends."""
    return Kept.MENDED.walk()


@pytest.fixture(scope="session")
def whole_walk():
    """The walk of the machine of everything, and of further examples."""
    return pin.played(pin.examples_of_everything(), Kept.EVERYTHING.mends, Kept.EVERYTHING.kind)


@pytest.fixture
def walk_for(walk, mended_walk):
    """The walk whose examples show a bug."""
    return lambda bug: mended_walk if bug.mended else walk
