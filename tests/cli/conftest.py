"""What several commands' tests ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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


TOYS = Path(__file__).parents[1] / "systems"

Rota = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def rota(tmp_path: Path) -> Rota:
    """Runs `python -m rota` in a folder of its own; `shell`: what a shell does around it, which is `"$@"`."""

    def run(*arguments: str, shell: str = '"$@"', **environment: str) -> subprocess.CompletedProcess[bytes]:
        known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        return subprocess.run(
            ["sh", "-c", shell, "sh", sys.executable, "-m", "rota", *arguments],
            cwd=tmp_path,
            capture_output=True,
            env={**known, "PYTHONPATH": str(TOYS), **environment},
            timeout=120,
            check=False,
        )

    return run
