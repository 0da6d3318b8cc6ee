"""The folder in which rota keeps what it would have to fetch or to learn again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "ROTA_CACHE"
"""The environment variable that names the folder; else it is ~/.cache/rota."""


class NoHome(Exception):
    """This user has no home folder, as in a container under a number without a name."""


def cache_folder() -> Path:
    """Where downloads and tables are kept: $ROTA_CACHE, else ~/.cache/rota. Errors: NoHome."""
    chosen = os.environ.get(CACHE)
    try:
        return Path(chosen) if chosen else Path.home() / ".cache" / "rota"
    except RuntimeError as error:
        raise NoHome(f"there is no home folder, and {CACHE} names none") from error
