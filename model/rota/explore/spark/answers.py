"""What tasks answer: reports, what executors have lost, and errors in words that help."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rota.explore.result import CheckpointError
from rota.explore.spark.memory import MIB, NoMemory
from rota.explore.spark.protocol import Damaged, Missing

FULL = (errno.ENOSPC, errno.EDQUOT)

FULL_IN_JAVA = ("No space left on device", "Disk quota exceeded")
"""What Spark's own errors say of a full disk."""


class NoSpace(CheckpointError):
    """A disk is full; what was committed is not lost."""


class ExecutorsLost(RuntimeError):
    """What a round needs is lost again whenever it has been restored."""


def checked(answers: Sequence[Any], folder: Path | None, ceiling: int | None) -> Sequence[Any]:
    """The answers, if none is an error.

    Parameters: folder, of the run's files; ceiling, a worker's share of the memory in bytes, None: no bound.
    Errors: the first one reported; NoSpace for a full disk, NoMemory for a worker at its ceiling,
    CheckpointError for what is wrong in the folder.
    What is `Missing` is an error only in a folder, for elsewhere it can be restored.
    """
    for answer in answers:
        if isinstance(answer, OSError) and answer.errno in FULL:
            raise _no_space(answer, folder) from answer
        if isinstance(answer, FileNotFoundError):
            raise _unusable(f"{answer.filename} is gone, or not every worker sees it") from answer
        if folder and isinstance(answer, Missing):
            raise _unusable(answer.name)
        if folder and isinstance(answer, Damaged):
            raise _unusable(str(answer) if str(folder) in str(answer) else f"{folder}: {answer}") from answer
        if isinstance(answer, MemoryError):
            raise _no_memory("a worker", folder, ceiling) from answer
        if isinstance(answer, Exception):
            raise answer
    return answers


@contextmanager
def clear_errors(folder: Path | None) -> Iterator[None]:
    """Within, a full disk is NoSpace and a process at its ceiling NoMemory also where Spark noticed it."""
    try:
        yield
    except (CheckpointError, NoMemory):
        raise
    except Exception as error:
        if "MemoryError" in str(error):  # Java's and Python's, where it was not a task that noticed
            raise _no_memory("a process of Spark", folder) from error
        full = isinstance(error, OSError) and error.errno in FULL
        if full or any(words in str(error) for words in FULL_IN_JAVA):
            raise _no_space(error if full else FULL_IN_JAVA[0], folder) from error
        raise


def _no_space(what: object, folder: Path | None) -> NoSpace:
    go_on = "go on with --resume" if folder else "begin again, or name a --checkpoint DIR where there is room"
    return NoSpace(f"no space is left ({what}); make room and {go_on}")


def _no_memory(who: str, folder: Path | None, share: int | None = None) -> NoMemory:
    size = f" ({share // MIB} MiB)" if share else ""
    go_on = " and go on with --resume" if folder else ""
    more = f"give more, or have fewer tasks at a time{go_on}"
    return NoMemory(f"{who} needs more than its share of the memory{size}; {more}")


def _unusable(cause: str) -> CheckpointError:
    return CheckpointError(f"{cause}; begin again in an empty folder that driver and workers see")
