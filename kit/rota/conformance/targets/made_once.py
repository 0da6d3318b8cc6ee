"""Folders of programs that are fetched or built once and kept in the cache, whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rota.conformance.cache_folder import CACHE

MAKE_SECONDS = 900
"""How long one tool may take."""

_UNFINISHED = ".fetching-"


class NotMade(Exception):
    """It cannot be had; the message names the cause, `remedy` what helps."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.remedy = remedy


def made_once(folder: Path, make: Callable[[Path], Path]) -> Path:
    """The folder, after making it if it is not there. Errors: NotMade.

    `make` works in an empty folder and says which one below it is to be kept. The folder gets its name when
    it is whole. Several may make it at a time: the first one's is kept.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder.parent) as place:
            made = make(Path(place))
            with suppress(FileExistsError):
                _keep(made, folder)
    except OSError as error:
        cause = f"cannot write {folder.parent}: {error.strerror or error}"
        raise NotMade(cause, f"name another folder in {CACHE}") from error
    return folder


def run_tool(
    command: Sequence[str], folder: Path, remedies: tuple[str, str]
) -> subprocess.CompletedProcess[str]:
    """What a tool left that ran in the folder, whatever its exit code. Errors: NotMade.

    `remedies` say what helps where there is no such tool, and where it does not end.
    """
    tool = Path(command[0]).name
    try:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MAKE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotMade(f"{tool} did not end in {MAKE_SECONDS} s", remedies[1]) from None
    except OSError as error:
        raise NotMade(f"{tool} does not run: {error.strerror or error}", remedies[0]) from error


def _sweep(folder: Path) -> None:
    """Remove what downloads left behind that were killed; those under way are younger."""
    for old in folder.glob(f"{_UNFINISHED}*"):
        if old.stat().st_mtime < time.time() - 2 * MAKE_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


def _keep(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster, with the same files
            raise
