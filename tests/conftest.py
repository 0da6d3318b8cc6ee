"""For all tests: what Hypothesis tries does not depend on which other tests were imported before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.oracle.walk import nothing_picked_up


@pytest.fixture(scope="session", autouse=True)
def same_examples() -> Iterator[None]:
    """Derandomized tests see the same examples alone and in a run of everything."""
    with nothing_picked_up():
        yield
