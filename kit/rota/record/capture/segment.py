"""What captures are made of."""

from __future__ import annotations

from dataclasses import dataclass

PCAP = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
PCAPNG = b"\n\r\r\n"
"""First bytes of the two formats; of the older with its orders of bytes and precisions."""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of TCP.

    number: of the packet in its file; cut: bytes of its payload, at the end, that were not captured.
    """

    at: float
    number: int
    source: Place
    target: Place
    sequence: int
    acknowledged: int | None
    syn: bool
    fin: bool
    rst: bool
    payload: bytes
    cut: int
