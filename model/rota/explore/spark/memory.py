"""How memory that was asked for is divided among Spark's processes, and how a process is held to its share.

Java keeps to its heap by itself. A Python process is held by the system's limit on its data (`RLIMIT_DATA`):
what it allocates, not the pages of files that it maps. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # where there are no such limits nothing is held
    resource = None  # type: ignore[assignment]

MIB = 1 << 20

HEAP = (512 * MIB, 4096 * MIB)
"""Least and most for Java's heap (Spark refuses less than 450 MiB); between them an eighth of the whole."""

JAVA_BESIDE = 400 * MIB
"""What Java takes beside its heap, at most: `JAVA_OPTIONS`, threads, what its collector keeps."""

JAVA_OPTIONS = "-XX:MaxMetaspaceSize=192m -XX:ReservedCodeCacheSize=96m -XX:MaxDirectMemorySize=64m"

DRIVER = 256 * MIB
"""Least for the Python driver and the process from which Spark forks its workers; with a sixteenth of what
there is beyond the least of all."""

MORE = 128 * MIB
"""What the driver may have beside what it begins with, however much that is."""

WORKER = 256 * MIB
"""What a worker takes before any state: Python, numpy, numba, compiled code, a little that was learned."""

STATES = 32 * MIB
"""Least for the states of one task."""

MEMORY = 512 * MIB
"""For the states of one task, unless told otherwise."""

_OWN = resource.getrlimit(resource.RLIMIT_DATA)[0] if hasattr(resource, "RLIMIT_DATA") else None
"""The limit with which this process began, its user's perhaps; None where there is no such limit."""


class TooLittle(ValueError):
    """Less memory than Spark and its workers take before any state."""


class NoMemory(ValueError):
    """A process needs more than its share."""


@dataclass(frozen=True)
class Shares:
    """Who gets what, in bytes; None: no bound.

    driver, worker: a Python process; states: what is for states, of all workers together.
    """

    driver: int | None = None
    worker: int | None = None
    states: int | None = None


def heap(whole: int) -> int:
    """The share of Java's heap, in bytes, of the memory of all processes."""
    return min(max(whole // 8, HEAP[0]), HEAP[1])


def divide(whole: int, tasks: int, *, java: bool) -> Shares:
    """Divide memory among processes.

    Parameters: whole, bytes; tasks, how many run at a time, a worker process each; java, whether Java is in
    it too: not where Spark's own options say how much executors have. Errors: TooLittle.
    """
    driver = DRIVER + max(0, whole - _least(tasks, java)) // 16
    beside = driver + (heap(whole) + JAVA_BESIDE if java else 0)
    each = (whole - beside) // tasks
    if each < WORKER + STATES:
        least = _least(tasks, java) // MIB
        kinds = "Java, the driver" if java else "the driver"
        raise TooLittle(
            f"{whole // MIB} MiB of memory are too little for {kinds} and {tasks} tasks at a time; give "
            f"{least} at least, or have fewer tasks"
        )
    return Shares(driver, each, tasks * (each - WORKER))


def _least(tasks: int, java: bool) -> int:
    """The least that can be divided, in whole MiB."""
    python = DRIVER + tasks * (WORKER + STATES)
    if not java:
        return python
    rest = python + JAVA_BESIDE
    eighth = -(-rest // (7 * MIB)) * MIB
    return rest + min(max(eighth, HEAP[0]), HEAP[1])


def hold(most: int | None) -> None:
    """Let this process have so many bytes of data from now on, no more than it began with; None: as many.

    What would be more is refused by the system, a MemoryError.
    """
    if _OWN is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = _OWN if most is None or (_OWN != resource.RLIM_INFINITY and most > _OWN) else most
        if soft != wanted:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def room(states: int, ceiling: int | None) -> int:
    """Bytes that a worker gives to states now: what was meant for them, or less where tables have grown.

    Parameters: states, bytes meant for the states of one task; ceiling, of this process. A third of what is
    left is for what the task will learn.
    """
    return states if ceiling is None else max(STATES, min(states, (ceiling - _data()) * 2 // 3))


@contextmanager
def held(most: int | None) -> Iterator[None]:
    """Within, this process has so many bytes of data, or `MORE` than now if that is more; None: no bound.

    Errors: NoMemory.
    """
    try:
        if most is not None:
            hold(max(most, _data() + MORE))
        yield
    except MemoryError as error:
        raise NoMemory("the driver needs more than its share of the memory; give more") from error
    finally:
        hold(None)


def _data() -> int:
    """Bytes of data that this process has; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:")), 0)
