"""Where compiled code is kept that is not in a folder of rota's own: the compiler insists on some folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

CHOSEN = "NUMBA_CACHE_DIR"
"""The environment variable that names a folder for compiled code."""

NEEDED = 16 << 20
"""Bytes that compiled code takes, and some more."""


def find_a_place() -> None:
    """Where rota's folder and the user's cannot be written to, name a temporary one, for this run alone."""
    if os.environ.get(CHOSEN) or any(map(_takes_it, _places())):
        return
    with suppress(OSError):  # then the compiler says that it has no place
        folder = tempfile.mkdtemp(prefix="rota-compiled-")
        os.environ[CHOSEN] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _places() -> list[Path]:
    """Folders that the compiler tries, in its order."""
    here = find_spec("rota.explore")
    of_rota = [Path(here.origin).parent / "compiled" / "__pycache__"] if here and here.origin else []
    with suppress(RuntimeError):  # this user has no home
        return [*of_rota, Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"]
    return of_rota


def _takes_it(folder: Path) -> bool:
    """Whether the folder can be written to, or made, and has room."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK) and shutil.disk_usage(there).free > NEEDED
