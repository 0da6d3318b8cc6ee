"""What is seen of processes that are nobody's children here."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody waits for stays in the table."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
