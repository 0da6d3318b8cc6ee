"""One direction of a connection: its bytes in order, and how many are missing where."""

from __future__ import annotations

from collections.abc import Iterator

MOST_AHEAD = 2**20
"""Bytes that wait for one that is missing; of more it is taken for lost."""

ENOUGH_BEHIND = 3
"""So many segments come after the other side has had the missing one: then it was not captured."""

_WRAP = 2**32


class Flow:
    """Puts segments in order: `add` gives bytes, segment by segment, and a number where so many are lost."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._ahead: dict[int, tuple[bytes, int]] = {}
        self._size = 0
        self._behind = 0
        self._acknowledged = False
        self._over = False

    def begin(self, sequence: int) -> None:
        """The first byte will have this number."""
        self._next = sequence % _WRAP

    def add(self, sequence: int, payload: bytes, cut: int) -> Iterator[bytes | int]:
        """A segment, of which `cut` bytes at its end are not there."""
        if not payload and not cut:
            return
        if self._next is None:
            self._next = sequence
        if _after(sequence, self._next) > 0:
            known = self._ahead.get(sequence)
            if known is None or len(known[0]) < len(payload):
                self._size += len(payload) - (len(known[0]) if known else 0)
                self._ahead[sequence] = payload, cut
            self._behind += self._acknowledged
            if self._size > MOST_AHEAD or self._behind >= ENOUGH_BEHIND:
                yield from self._give_up()
            return
        yield from self._in_order(sequence, payload, cut)
        yield from self._drained()

    def acknowledged(self, number: int, answered: bool = False) -> Iterator[bytes | int]:
        """The other side has had everything before this number; answered: and now says something itself.

        Then what is missing was not captured, and what came after it was said before the answer.
        """
        if self._next is None or self._over or _after(number, self._next) <= 0:
            return
        self._acknowledged = bool(self._ahead)
        if answered:
            yield from self._up_to(number)

    def ended(self, sequence: int | None = None) -> Iterator[bytes | int]:
        """What waits for a byte that will not come. sequence: where it ends, if that is known."""
        if sequence is not None:
            self._over = True
            if self._next is not None:
                yield from self._up_to(sequence)
        while self._ahead:
            yield from self._give_up()

    def _up_to(self, number: int) -> Iterator[bytes | int]:
        """All before this number is there or lost."""
        assert self._next is not None
        while self._ahead and _after(number, self._next) > 0:
            yield from self._give_up()
        if (missing := _after(number, self._next)) > 0:
            yield missing
            self._next = number

    def _give_up(self) -> Iterator[bytes | int]:
        """What is missing is lost; go on with what is there."""
        assert self._next is not None
        expected = self._next
        first = min(self._ahead, key=lambda sequence: _after(sequence, expected))
        yield _after(first, expected)
        self._next = first
        yield from self._drained()

    def _drained(self) -> Iterator[bytes | int]:
        """What waited and is in order now."""
        while self._ahead:
            assert self._next is not None
            expected = self._next
            first = min(self._ahead, key=lambda sequence: _after(sequence, expected))
            if _after(first, expected) > 0:
                break
            payload, cut = self._ahead.pop(first)
            self._size -= len(payload)
            yield from self._in_order(first, payload, cut)
        self._behind, self._acknowledged = 0, False

    def _in_order(self, sequence: int, payload: bytes, cut: int) -> Iterator[bytes | int]:
        """What is new in a segment that begins where the next byte is due, or before."""
        assert self._next is not None
        known = -_after(sequence, self._next)
        if known >= len(payload) + cut:
            return
        cut -= max(0, known - len(payload))
        payload = payload[known:]
        self._next = (self._next + len(payload) + cut) % _WRAP
        if payload:
            yield payload
        if cut:
            yield cut


def _after(sequence: int, expected: int) -> int:
    """How far a number is ahead of another; numbers begin again at 0 after 2^32."""
    return (sequence - expected + _WRAP // 2) % _WRAP - _WRAP // 2
