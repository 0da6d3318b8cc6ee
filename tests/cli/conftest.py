"""What several commands' tests ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def timeless() -> Callable[[Any], Any]:
    """What was reported, without what differs from run to run."""

    def without_times(told: Any) -> Any:
        if isinstance(told, dict):
            return {key: without_times(value) for key, value in told.items() if not key.startswith("seconds")}
        return [without_times(one) for one in told] if isinstance(told, list) else told

    return without_times
