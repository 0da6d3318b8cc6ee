"""Captures as tests want them: packets of a conversation, written as pcap or pcapng."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from random import Random

Place = tuple[str, int]

FIN, SYN, RST, ACK = 1, 2, 4, 16

ETHERNET, RAW, SLL = 1, 101, 113
"""Link layers."""


@dataclass
class Wire:
    """A connection between two places: what is said on it becomes packets of IP.

    most: bytes of a segment's payload; disorder: of the segments of one saying, some of which are sent again.
    """

    client: Place = ("10.0.0.7", 50_000)
    broker: Place = ("10.0.0.1", 9092)
    most: int = 1400
    first: int = 2**32 - 100
    """Number of each side's first byte: so small captures have numbers that begin again at 0."""
    disorder: Random | None = None
    packets: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next = {self.client: self.first, self.broker: self.first}

    def opened(self) -> None:
        """The connection is made."""
        self.packet(self.client, SYN)
        self.packet(self.broker, SYN | ACK)
        self.packet(self.client, ACK)

    def said(self, by_client: bool, data: bytes) -> None:
        """One side says something, and the other acknowledges it."""
        source, target = (self.client, self.broker) if by_client else (self.broker, self.client)
        begun = len(self.packets)
        for at in range(0, len(data), self.most):
            self.packet(source, ACK, data[at : at + self.most])
        if self.disorder is not None:
            burst = self.packets[begun:]
            burst += self.disorder.sample(burst, self.disorder.randint(0, len(burst)))
            self.disorder.shuffle(burst)
            self.packets[begun:] = burst
        self.packet(target, ACK)

    def closed(self) -> None:
        """The client ends it."""
        self.packet(self.client, FIN | ACK)
        self.packet(self.broker, FIN | ACK)

    def packet(self, source: Place, flags: int, payload: bytes = b"") -> None:
        """One segment."""
        target = self.broker if source == self.client else self.client
        sequence, other = self._next[source] % 2**32, self._next[target] % 2**32
        self._next[source] += len(payload) + bool(flags & (SYN | FIN))
        acknowledged = other if flags & ACK else 0
        tcp = struct.pack(
            ">HHIIBBHHH", source[1], target[1], sequence, acknowledged, 0x50, flags, 65535, 0, 0
        )
        self.packets.append(_ip(source[0], target[0], tcp + payload))


def _ip(source: str, target: str, data: bytes) -> bytes:
    addresses = ip_address(source).packed + ip_address(target).packed
    if len(addresses) == 32:
        return struct.pack(">IHBB", 6 << 28, len(data), 6, 64) + addresses + data
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), 0, 0x4000, 64, 6, 0) + addresses + data


def framed(packet: bytes, link: int) -> bytes:
    """A packet as it is on a link."""
    kind = struct.pack(">H", 0x86DD if packet[0] >> 4 == 6 else 0x0800)
    if link == ETHERNET:
        return bytes(12) + kind + packet
    return bytes(14) + kind + packet if link == SLL else packet


def pcap(packets: Sequence[bytes], link: int = RAW, snaplen: int = 2**18) -> bytes:
    """A file of the older format; a packet a millisecond."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    for number, packet in enumerate(framed(one, link) for one in packets):
        kept = packet[:snaplen]
        out += struct.pack(
            "<IIII", 1_700_000_000 + number // 1000, number % 1000 * 1000, len(kept), len(packet)
        )
        out += kept
    return out


def pcapng(packets: Iterable[bytes], link: int = RAW) -> bytes:
    """A file of the newer format; a packet a millisecond."""
    out = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + _block(
        1, struct.pack("<HHI", link, 0, 0)
    )
    for number, packet in enumerate(framed(one, link) for one in packets):
        at = 1_700_000_000_000_000 + number * 1000
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(packet), len(packet))
        out += _block(6, head + packet + bytes(-len(packet) % 4))
    return out


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length
