"""Files that a run leaves behind: each is there as a whole or not at all, and one that cannot be is named."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

STREAMS = ("/dev/fd/", "/dev/std", "/proc/")
"""How paths begin that stand for something that is open already: what is there is not to be replaced."""


class CannotWrite(Exception):
    """A file that cannot be written. Its words are the path and the cause, without a remedy."""

    def __init__(self, path: Path, error: OSError) -> None:
        cause = error.strerror or error
        if isinstance(error, FileExistsError):  # of its folder, or one above
            cause = "a file is where its folder should be"
        super().__init__(f"cannot write {path}: {cause}")


def write(path: Path, text: str | Iterable[str]) -> None:
    """Put a text into its file at once: it is written beside it, under a name of its own, and renamed.

    So of several processes that write one file each leaves a whole one, and where it fails what was there
    before is still there. A link stays a link; a device or a pipe is written to.

    text: as a whole, or piece by piece where it is long. Errors: CannotWrite.
    """
    pieces = (text,) if isinstance(text, str) else text
    content = (one.encode("utf-8", "backslashreplace") for one in pieces)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _stays(path):
            with path.open("wb") as file:
                file.writelines(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise CannotWrite(path, error) from error


def try_out(path: Path) -> None:
    """See whether a file can be written, and make its folder; nothing else is left. Errors: CannotWrite."""
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _stays(path):
            half = _half(path.resolve())
            try:
                half.open("xb").close()
            finally:
                half.unlink(missing_ok=True)
        elif not os.access(path, os.W_OK):
            raise PermissionError(0, "it may not be written to")
    except OSError as error:
        raise CannotWrite(path, error) from error


def _stays(path: Path) -> bool:
    """Whether what is there is written to, not replaced."""
    return str(path.absolute()).startswith(STREAMS) or (path.exists() and not path.is_file())


def _half(path: Path) -> Path:
    """A name beside the file, for as long as it is not whole."""
    return path.with_name(f".rota-{os.getpid()}-{secrets.token_hex(4)}.half")


def _replace(path: Path, content: Iterable[bytes]) -> None:
    half = _half(path)
    try:
        with half.open("xb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())  # some file systems notice only now that they are full
        with suppress(FileNotFoundError):
            half.chmod(S_IMODE(path.stat().st_mode))
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
