"""A batch's records read through in slices, without an object for any, for a broker that only keeps batches.

Kafka's brokers validate compressed batches so too (their skipKeyValueIterator). The functions are generators
that yield after some work and return their result, so that other things can be done in between. At no time
more than two pieces of what a compressed batch expands to are held.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from rota.wire.records import (
    HEADER_SIZE,
    MAX_RECORDS,
    SLICE,
    BatchInfo,
    RecordsError,
    inflated,
    signed_number,
)
from rota.wire.runtime import FAILURES, reading_failure

READABLE = ("none", "gzip")
"""Compressions whose records can be looked at."""

_LONGEST_NUMBER = 10
_NEVER = 2**63

Found = tuple[int, int] | None
Steps = Generator[None, None, Found]


def check_records(batch: bytes, info: BatchInfo, without_key: str = "") -> Steps:
    """Reads all records of a readable batch, whose offsets have to be without gaps. Gives nothing.

    Errors: RecordsError for records that are damaged, or not as many as announced, or more than MAX_RECORDS;
    with the text `without_key`, if there is one, for a record that has no key.
    """
    return _explained(_Scan(batch, info, without_key).through(_NEVER))


def first_since(batch: bytes, info: BatchInfo, timestamp: int) -> Steps:
    """Offset and timestamp of the first record that is not older, None if all are.

    Errors: as of `check_records`, but only for the records up to there.
    """
    if info.timestamp_type:
        return _all_at_once(info, timestamp)
    return _explained(_Scan(batch, info).through(timestamp - info.base_timestamp))


def _all_at_once(info: BatchInfo, timestamp: int) -> Steps:
    """Every record has the time at which its batch was appended."""
    yield
    return (info.base_offset, info.max_timestamp) if info.max_timestamp >= timestamp else None


def _explained(steps: Steps) -> Steps:
    try:
        return (yield from steps)
    except RecordsError:
        raise
    except FAILURES as error:
        raise RecordsError(f"records: {reading_failure(error)}") from None


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[pos : pos + SLICE] for pos in range(0, len(data), SLICE))


class _Scan:
    """One reading of a batch: the piece at hand, the place in it, and how many bytes were before it."""

    def __init__(self, batch: bytes, info: BatchInfo, without_key: str = "") -> None:
        body = batch[HEADER_SIZE:]
        self.info = info
        self.without_key = without_key
        self.has_gaps = info.count <= info.last_offset - info.base_offset
        self.offset = 0
        self.left = MAX_RECORDS - info.count
        self.source = inflated(body) if info.compression == "gzip" else _pieces(body)
        self.data = b""
        self.pos = 0
        self.gone = 0

    def through(self, since: int) -> Steps:
        """Reads on to the first record with this timestamp delta or a later one, or to the end."""
        info = self.info
        if self.left < 0:
            raise RecordsError(f"{info.count} records, of which a batch may have {MAX_RECORDS}")
        index, time, found = 0, 0, False
        while index < info.count and not found:
            index, time, found = self.whole_records(index, since)
            yield
            if index < info.count and not found:
                time = yield from self.record_across(index)
                index, found = index + 1, time >= since
        if found:
            return info.base_offset + self.offset, info.base_timestamp + time
        yield from self.end()
        return None

    def whole_records(self, index: int, since: int) -> tuple[int, int, bool]:
        """Reads the records that lie within the piece at hand, up to one that was looked for.

        Gives the index of the next one, the timestamp delta of the last one, and whether that was looked for.
        """
        data, pos, count = self.data, self.pos, self.info.count
        size, time = len(data), since - 1
        while index < count and time < since and pos < size:
            length, at = data[pos], pos + 1
            if length < 128 and not length & 1:
                length >>= 1
            elif size - pos < _LONGEST_NUMBER:
                break
            else:
                length, at = signed_number(data, pos)
            end = at + length
            if end > size:
                break
            time = self.record(data, at, end, index)
            index, pos = index + 1, end
        self.pos = pos
        return index, time, time >= since

    def record(self, data: bytes, at: int, end: int, index: int) -> int:
        """The timestamp delta of a record that is whole in `data`, behind its length; checks its rest."""
        time, at = signed_number(data, at + 1, 64)
        delta, at = signed_number(data, at)
        self.offset = delta
        if delta != index and not self.has_gaps:
            raise RecordsError(f"record {index} has the offset {delta}")
        at = _behind(data, _behind(data, at, self.without_key))
        headers = data[at]
        at += 1
        if headers:
            headers, at = signed_number(data, at - 1)
            self.count_headers(headers)
            for _ in range(headers):
                at = _behind(data, _behind(data, at, "the key of a header is null"))
        if at != end:
            raise RecordsError(f"record {index} ends {at - end} bytes off")
        return time

    def record_across(self, index: int) -> Generator[None, None, int]:
        """As `record`, of one that goes on in the next piece or farther; its length is still to be read."""
        length = yield from self.number()
        end = self.gone + self.pos + length
        yield from self.skip(1)
        time = yield from self.number(64)
        delta = yield from self.number()
        self.offset = delta
        if delta != index and not self.has_gaps:
            raise RecordsError(f"record {index} has the offset {delta}")
        yield from self.field(self.without_key)
        yield from self.field()
        headers = yield from self.number()
        self.count_headers(headers)
        for _ in range(headers):
            yield from self.field("the key of a header is null")
            yield from self.field()
        if self.gone + self.pos != end:
            raise RecordsError(f"record {index} ends {self.gone + self.pos - end} bytes off")
        return time

    def count_headers(self, headers: int) -> None:
        self.left -= headers
        if headers < 0 or self.left < 0:
            raise RecordsError(f"{headers} headers; records and headers together may be {MAX_RECORDS}")

    def field(self, if_null: str = "") -> Steps:
        """Goes over a key, a value or a part of a header."""
        length = yield from self.number()
        if length < 0 and if_null:
            raise RecordsError(if_null)
        yield from self.skip(max(length, 0))
        return None

    def number(self, bits: int = 32) -> Generator[None, None, int]:
        while len(self.data) - self.pos < _LONGEST_NUMBER and self.more():
            yield
        number, self.pos = signed_number(self.data, self.pos, bits)
        return number

    def skip(self, count: int) -> Steps:
        """Goes over so many bytes, which need not be kept."""
        while count > len(self.data) - self.pos:
            count -= len(self.data) - self.pos
            self.pos = len(self.data)
            if not self.more():
                raise RecordsError("it ends too early")
            yield
        self.pos += count
        return None

    def end(self) -> Steps:
        """Makes sure that nothing is left over."""
        while self.pos == len(self.data) and self.more():
            yield
        if self.pos < len(self.data):
            raise RecordsError(f"bytes are left over after {self.info.count} records")
        return None

    def more(self) -> bool:
        """Takes the next piece in behind what is left of this one; whether there was one."""
        piece = next(self.source, None)
        if piece is None:
            return False
        self.gone += self.pos
        self.data, self.pos = self.data[self.pos :] + piece, 0
        return True


def _behind(data: bytes, at: int, if_null: str = "") -> int:
    """The place behind the key, the value or the part of a header that begins there."""
    length = data[at]
    if length < 128 and not length & 1:
        return at + 1 + (length >> 1)
    length, at = signed_number(data, at)
    if length < 0 and if_null:
        raise RecordsError(if_null)
    return at + max(length, 0)
