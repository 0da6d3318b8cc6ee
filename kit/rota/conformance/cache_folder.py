"""The folder in which rota keeps what it would have to fetch or to learn again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "ROTA_CACHE"
"""The environment variable that names the folder; else it is ~/.cache/rota."""


def cache_folder() -> Path:
    """Where downloads and tables are kept: $ROTA_CACHE, else ~/.cache/rota. Nothing is made."""
    chosen = os.environ.get(CACHE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "rota"
