"""A captured connection: which side is the client, where frames begin, and what they say."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection

from rota.record.capture.flow import Flow
from rota.record.capture.segment import Place, Segment
from rota.record.cutter import Cutter, NotAFrame, Spoiled
from rota.record.dialogue import BROKER, CLIENT, CLOSED_BY, REQUEST_HEAD, RESPONSE_HEAD, Asked, Dialogue
from rota.wire import UnsupportedVersion, WireError, decode_request
from rota.wire.schema import apis

LONGEST = 2**27
"""Bytes of a frame; a longer one is taken for something else."""

ENOUGH = 14
"""Bytes that tell whether something is a request: length, header, and the length of the client's id."""

TLS = b"\x16\x03"

_HEAD = struct.Struct(">ihhih")
_ANSWER = struct.Struct(">ii")
_KEYS, _VERSIONS, _NAMES = range(100), range(24), range(-1, 1000)

Begun = Callable[[Place, Place], Dialogue]
"""From the places of client and broker."""


def looks_like_a_request(data: bytes) -> bool:
    """Whether bytes may be the beginning of a request's frame."""
    if len(data) < ENOUGH:
        return False
    length, key, version, _, name = _HEAD.unpack_from(data)
    if key not in _KEYS or version not in _VERSIONS or name not in _NAMES:
        return False
    named = data[ENOUGH : ENOUGH + max(0, name)]
    return ENOUGH - 4 + max(0, name) <= length <= LONGEST and not any(one < 32 for one in named)


def is_a_request(data: bytes) -> bool:
    """Whether bytes in the middle of anything are the beginning of a request's frame.

    What can be read as a whole is; of what goes on in further segments the client must have a name.
    """
    if not looks_like_a_request(data):
        return False
    length, key, version, _, name = _HEAD.unpack_from(data)
    if len(data) < 4 + length or key not in apis():
        return bool(name > 0)
    try:
        decode_request(data[4 : 4 + length], trailing=True)
    except UnsupportedVersion:
        return bool(name > 0) and version > apis()[key].max_version
    except WireError:
        return False
    return True


class Direction:
    """What one side says: frames, found again behind what is missing.

    begins: as of `Cutter`; whole: takes the frames that it wants, with their length; fits: whether bytes may
    be the beginning of a frame; gap: is told what is missing.
    """

    def __init__(
        self,
        cutter: Cutter,
        whole: Callable[[bytes], None],
        fits: Callable[[bytes], bool],
        gap: Callable[[str], None],
    ) -> None:
        self._cutter, self._whole, self._fits, self._gap = cutter, whole, fits, gap
        self.found = True

    def take(self, piece: bytes | int) -> None:
        """What comes next: bytes that begin a segment, or a number of them that are missing."""
        if isinstance(piece, int):
            self._missing(piece)
            return
        if not self.found and not self._fits(piece):
            return
        self.found = True
        try:
            for held, data in self._cutter.feed(piece):
                if held:
                    self._whole(data)
        except NotAFrame as error:
            self._cutter.leftover()
            self.found = False
            self._gap(f"what comes is no frame: {error}")

    def _missing(self, size: int) -> None:
        if not self.found:
            return
        spoiled = self._cutter.lost(size)
        if spoiled is Spoiled.NOTHING:
            return
        self.found = spoiled is Spoiled.FRAME
        self._gap(f"{size:,} bytes were not captured")


class Conversation:
    """A connection, segment by segment. begun: called when it is known to be of Kafka."""

    def __init__(self, first: Segment, ports: Collection[int], begun: Begun) -> None:
        self._begun, self._ports = begun, ports
        self._flows: dict[Place, Flow] = {first.source: Flow(), first.target: Flow()}
        self._client: Place | None = None
        self._from_its_start = first.syn
        self._first = b""
        self._ended: list[Place] = []
        self._dialogue: Dialogue | None = None
        self._asking: Direction | None = None
        self._answering: Direction | None = None
        self._asked: Asked | None = None
        self._answered: Asked | None = None
        self.is_other = False
        self.is_tls = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more is expected of it."""
        return len(self._ended) == 2

    def take(self, segment: Segment) -> None:
        """The next segment, in the order of the capture."""
        source, target = segment.source, segment.target
        sequence = segment.sequence
        if segment.syn:
            self._client = target if segment.acknowledged is not None else source
            sequence += 1
            self._flows[source].begin(sequence)
        if segment.acknowledged is not None and not segment.syn:
            answered = bool(segment.payload)
            for piece in self._flows[target].acknowledged(segment.acknowledged, answered):
                self._said(target, source, piece)
        for piece in self._flows[source].add(sequence, segment.payload, segment.cut):
            self._said(source, target, piece)
        if segment.rst:
            self._close("the client is lost" if source == self._client else "the broker is lost")
        elif segment.fin and source not in self._ended:
            for piece in self._flows[source].ended(sequence + len(segment.payload) + segment.cut):
                self._said(source, target, piece)
            self._ended.append(source)
            if self.is_over:
                first = CLIENT if self._ended[0] == self._client else BROKER
                self._close(f"{CLOSED_BY} {first}")

    def end(self) -> None:
        """The capture has ended."""
        for source, flow in self._flows.items():
            target = next(one for one in self._flows if one != source)
            for piece in flow.ended():
                self._said(source, target, piece)

    def _close(self, why: str) -> None:
        self.end()
        self._ended = list(self._flows)
        if self._dialogue is not None:
            self._dialogue.closed(why)

    def _said(self, source: Place, target: Place, piece: bytes | int) -> None:
        if self.is_other:
            return
        if self._dialogue is None:
            self._introduced(source, target, piece)
            return
        direction = self._asking if source == self._client else self._answering
        if direction is not None:
            direction.take(piece)

    def _introduced(self, source: Place, target: Place, piece: bytes | int) -> None:
        """What is said before it is known whether this is Kafka's protocol."""
        if isinstance(piece, int):
            self._from_its_start = False
            return
        if self._client is None or not self._from_its_start:
            if is_a_request(piece) and (not self._ports or target[1] in self._ports):
                self._client = source
                self._begin(piece, whole=False)
            return
        if source != self._client:
            return
        self._first += piece
        if self._ports and target[1] not in self._ports:
            self.is_other = True
        elif len(self._first) >= ENOUGH:
            self.is_tls = self._first.startswith(TLS)
            self.is_other = self.is_tls or not looks_like_a_request(self._first)
            if not self.is_other:
                self._begin(self._first, whole=True)

    def _begin(self, piece: bytes, whole: bool) -> None:
        """It is Kafka's protocol. whole: nothing was said before."""
        assert self._client is not None
        broker = next(one for one in self._flows if one != self._client)
        self._dialogue = dialogue = self._begun(self._client, broker)
        self._asking = Direction(
            Cutter(REQUEST_HEAD, self._ask_begins), self._ask, is_a_request, dialogue.gap
        )
        self._answering = Direction(
            Cutter(RESPONSE_HEAD, self._answer_begins), self._answer, self._is_awaited, dialogue.gap
        )
        if not whole:
            self._answering.found = False
            dialogue.gap("the capture begins after the connection")
        self._first = b""
        self._asking.take(piece)

    def _is_awaited(self, data: bytes) -> bool:
        """Whether bytes may be the beginning of an answer: to something that was asked."""
        if self._dialogue is None or len(data) < _ANSWER.size:
            return False
        length, correlation = _ANSWER.unpack_from(data)
        return RESPONSE_HEAD <= length <= LONGEST and self._dialogue.awaits(correlation)

    def _ask_begins(self, head: bytes, length: int) -> bool:
        assert self._dialogue is not None
        self._asked = self._dialogue.ask_begins(head, length)
        return self._asked is not None and self._asked.recorded

    def _ask(self, data: bytes) -> None:
        if self._asked is not None and self._dialogue is not None:
            self._dialogue.asked(self._asked, data[4:])

    def _answer_begins(self, head: bytes, length: int) -> bool:
        assert self._dialogue is not None
        self._answered = self._dialogue.answer_begins(head, length)
        return self._answered is not None and self._answered.recorded

    def _answer(self, data: bytes) -> None:
        if self._answered is not None and self._dialogue is not None:
            self._dialogue.answered(self._answered, data[4:])
