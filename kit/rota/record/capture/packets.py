"""Segments of TCP in a file of captured packets."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any, BinaryIO

import dpkt

from rota.record.capture.segment import PCAPNG, Segment

_FAILURES = (dpkt.Error, struct.error, ValueError, IndexError, AttributeError, KeyError)
"""What dpkt raises on what it cannot read."""

_FRAGMENT = 0x3FFF
_UNREADABLE = "packets that cannot be read"
_IP = (12, 14, 101, 228, 229)
_LINKS: dict[int, Callable[[bytes], Any]] = {
    0: lambda data: dpkt.loopback.Loopback(data).data,
    1: lambda data: dpkt.ethernet.Ethernet(data).data,
    108: lambda data: dpkt.loopback.Loopback(data).data,
    113: lambda data: dpkt.sll.SLL(data).data,
    276: lambda data: dpkt.sll2.SLL2(data).data,
} | dict.fromkeys(_IP, lambda data: (dpkt.ip6.IP6 if data[0] >> 4 == 6 else dpkt.ip.IP)(data))
"""Numbers of link layers (DLT) → what is in their packets."""


class Packets:
    """The segments of a file. trouble: why it ended before its end, "" where it did not; other: packets
    that have none, by what they are."""

    def __init__(self, stream: BinaryIO) -> None:
        self.trouble = ""
        self.other: dict[str, int] = {}
        self._stream = stream

    def __iter__(self) -> Iterator[Segment]:
        number = 0
        try:
            packets = _opened(self._stream)
            link = packets.datalink()
            if link not in _LINKS:
                self.trouble = f"its packets are of link layer {link}, which is not known"
                return
            for number, (at, data) in enumerate(packets, 1):
                segment = self._segment(round(float(at), 6), number, link, data)
                if segment is not None:
                    yield segment
        except _FAILURES as error:
            self.trouble = f"the file is cut off or damaged behind packet {number:,} ({type(error).__name__})"

    def _segment(self, at: float, number: int, link: int, data: bytes) -> Segment | None:
        try:
            ip = _LINKS[link](data)
            if what := _of_no_use(ip):
                self.other[what] = self.other.get(what, 0) + 1
                return None
            return _segment_of(ip, at, number)
        except _FAILURES:
            self.other[_UNREADABLE] = self.other.get(_UNREADABLE, 0) + 1
            return None


def _of_no_use(ip: Any) -> str:
    """What a packet is that has no segment; "" for one that has."""
    if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6):
        return "packets that are not of IP"
    if isinstance(ip, dpkt.ip.IP) and ip._flags_offset & _FRAGMENT:
        return "fragments of IP packets, which are not put together"
    if not isinstance(ip.data, dpkt.tcp.TCP):
        return "packets that are not of TCP, or have not even its header"
    return ""


def _segment_of(ip: Any, at: float, number: int) -> Segment:
    tcp = ip.data
    payload, flags = bytes(tcp.data), tcp.flags
    return Segment(
        at,
        number,
        (str(ip_address(ip.src)), tcp.sport),
        (str(ip_address(ip.dst)), tcp.dport),
        tcp.seq,
        tcp.ack if flags & dpkt.tcp.TH_ACK else None,
        bool(flags & dpkt.tcp.TH_SYN),
        bool(flags & dpkt.tcp.TH_FIN),
        bool(flags & dpkt.tcp.TH_RST),
        payload,
        max(0, _size(ip) - tcp.off * 4 - len(payload)),
    )


def _size(ip: Any) -> int:
    """Bytes that the packet had behind its IP header; 0 where it does not say, as with offloading."""
    if isinstance(ip, dpkt.ip.IP):
        return int(ip.len - ip.hl * 4) if ip.len else 0
    return int(ip.plen - sum(len(one) for one in ip.all_extension_headers)) if ip.plen else 0


def _opened(stream: BinaryIO) -> Any:
    """dpkt's reader of the format that it is."""
    first = stream.peek(4)[:4]  # type: ignore[attr-defined]
    return dpkt.pcapng.Reader(stream) if first == PCAPNG else dpkt.pcap.Reader(stream)
