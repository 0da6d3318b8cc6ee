"""What the C library keeps of memory that was freed: with glibc as much as the largest block that ever was.

Once a block of some megabytes was freed, glibc takes blocks up to that size from its heap, and gives the
heap's end back only when twice as much is free there. A server that has sent a large answer once would keep
what it has for large answers afterwards.
"""

from __future__ import annotations

from ctypes import CDLL, c_int

LARGE = 128 * 1024
"""Bytes from which on a block is the system's own, and goes back to it at once: glibc's own first choice."""

_M_MMAP_THRESHOLD = -3
"""The parameter of mallopt(3) for that; once it is set it stays."""


def give_back_large() -> bool:
    """Large blocks go back to the system once freed. Returns whether the C library can be told so."""
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    mallopt.argtypes, mallopt.restype = (c_int, c_int), c_int
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE))
