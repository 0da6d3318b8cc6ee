"""What is finished is kept in the folder of a run, each piece of work as a folder with a record in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rota.report.writing import write

RECORD = "record.json"


def keep(folder: Path, told: Any) -> None:
    """Write a record."""
    write(folder / RECORD, json.dumps(told, sort_keys=True, indent=1))


def kept(folder: Path) -> Any:
    """The record of finished work; None where it is not finished."""
    path = folder / RECORD
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
