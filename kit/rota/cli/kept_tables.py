"""Where tables are kept between runs, and how they are thrown away."""

from __future__ import annotations

import os
from pathlib import Path

from rota.conformance.cache_folder import NoHome, cache_folder

TABLES = "ROTA_TABLES"
"""The environment variable that names another folder for tables, or says `off`."""


def tables_folder() -> Path | None:
    """The folder of tables, `tables` in that of the cache; None: none are kept. Nothing is made."""
    chosen = os.environ.get(TABLES)
    if chosen == "off":
        return None
    try:
        return Path(chosen) if chosen else cache_folder() / "tables"
    except NoHome:
        return None
