"""What a client and a broker say on one connection, frame by frame, and the events that it makes."""

from __future__ import annotations

import struct
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from rota.conformance.connections.null_tolerant import read_answer
from rota.history import Event, Kind, Source
from rota.record.apis import NAMES, OF_OTHER_PROTOCOLS, PRODUCE, RECORDED, SASL_HANDSHAKE
from rota.record.plain import plain, text_of
from rota.record.redaction import Redactor
from rota.wire import Request, WireError, decode_request, encode_request, encode_response
from rota.wire.schema import apis

MOST_KEPT = 16 * 2**20
"""Bytes of a frame that is recorded; of a longer one it is only told that it was there."""

REQUEST_HEAD, RESPONSE_HEAD = 8, 4
"""Bytes of a frame that tell what it is: number of the API, version and correlation id; correlation id."""

CLOSED_BY, LOST = "closed by the", "is lost"
CLIENT, BROKER = "client", "broker"
"""Words of the reason why a connection is no more; one side of it has ended it, and it is named."""

_HEAD = struct.Struct(">hhi")
_CORRELATION = struct.Struct(">i")
_KEYS, _VERSIONS = range(1000), range(32)
_MOST_WAITING = 10_000
_MOST_ANSWERED = 100

ANSWERED_AGAIN = "another answer to a request that was answered"
"""The reason why a frame is not read that answers what the last hundred answers have answered."""

Now = Callable[[], tuple[float | None, str]]
"""When and where what is told next was seen."""


class Asked(NamedTuple):
    """What is known of a request whose answer has not come: client and group as they are told.

    order: the number of the request on its connection.
    """

    key: int
    name: str
    version: int
    correlation: int
    recorded: bool
    order: int = 0
    client: str = ""
    group: str = ""


@dataclass
class Counted:
    """How much was told."""

    requests: int = 0
    responses: int = 0
    connections: int = 0
    unread: int = 0
    gaps: int = 0


class Dialogue:
    """A connection's frames, in the order in which they are seen.

    Of each frame its beginning is given first (`ask_begins`, `answer_begins`), then the whole of it where
    that is wanted (`asked`, `answered`). number: of the connection; broker: to which it leads; address: of
    its client, if known; now: see `Now`; tell: takes the events.
    """

    def __init__(
        self,
        number: int,
        broker: tuple[str, int],
        address: tuple[str, int] | None,
        now: Now,
        tell: Callable[[Event], None],
        counted: Counted,
        redactor: Redactor | None = None,
    ) -> None:
        self._number, self._now, self._take, self._counted = number, now, tell, counted
        self._redactor = redactor
        self._host = self._shown(address[0]) if address else ""
        self._broker = f"{self._shown(broker[0])}:{broker[1]}"
        self._waiting: dict[int, deque[Asked]] = {}
        self._unanswered: deque[Asked] = deque()
        self._answered: OrderedDict[int, Asked] = OrderedDict()
        self._order = 0
        self._tokens: int | None = None
        self._told: set[str] = set()
        self._counted.connections += 1
        where = {"address": f"{self._host}:{address[1]}"} if address else {}
        self._tell(Kind.OPENED, where)

    def ask_begins(self, head: bytes, length: int) -> Asked | None:
        """The request that begins so, if it is one; `recorded` of it says whether it is wanted whole."""
        if len(head) < REQUEST_HEAD or not _is_plausible(head):
            self._strange()
            return None
        key, version, correlation = _HEAD.unpack(head)
        found = apis().get(key)
        name = found.name if found else NAMES.get(key, str(key))
        recorded = name in RECORDED and length <= MOST_KEPT
        self._order += 1
        asked = Asked(key, name, version, correlation, recorded, self._order)
        if key == SASL_HANDSHAKE and version == 0:
            self._tokens = self._tokens or 0
        if name in RECORDED and not recorded:
            self._unread(asked, f"a request of {length:,} bytes, more than are recorded")
        elif key in OF_OTHER_PROTOCOLS:
            self._unread_once(asked, "a request of another protocol, which is not recorded")
        self._wait_for(asked)
        return asked

    def asked(self, asked: Asked, payload: bytes) -> None:
        """A request that is wanted is whole."""
        try:
            request = decode_request(payload, trailing=True)
        except WireError as error:
            self._wait_for(asked._replace(recorded=False), instead_of=asked)
            self._unread(asked, str(error), payload)
            return
        body = self._redactor.body(request.body) if self._redactor else request.body
        client = self._shown(request.client_id or "")
        asked_for = asked._replace(client=client, group=_group(asked.name, body))
        self._wait_for(asked_for, instead_of=asked)
        self._counted.requests += 1
        if self._redactor is not None:
            payload = _request_bytes(request, body, client)
        self._frame(Kind.REQUEST, asked_for, body, payload)

    def answer_begins(self, head: bytes, length: int) -> Asked | None:
        """What the answer that begins so answers, if that is known; `recorded` says if it is wanted whole."""
        asked = self._next(head)
        if asked is None:
            if self._tokens:
                self._tokens -= 1
            elif again := self._answered_again(head):
                self._unread(again, ANSWERED_AGAIN)
            else:
                self._unread_once(None, "an answer to no request that was seen")
            return None
        if asked.recorded and length > MOST_KEPT:
            self._unread(asked, f"an answer of {length:,} bytes, more than are recorded")
            return asked._replace(recorded=False)
        return asked

    def answered(self, asked: Asked, payload: bytes) -> None:
        """An answer that is wanted is whole."""
        try:
            body = answer_of(asked, payload)
        except WireError as error:
            self._unread(asked, str(error), payload)
            return
        self._counted.responses += 1
        if self._redactor is not None:
            body = self._redactor.body(body)
            payload = _response_bytes(asked, body)
        self._frame(Kind.RESPONSE, asked, body, payload)

    def awaits(self, correlation: int) -> bool:
        """Whether a request of this correlation id was not answered yet."""
        return correlation in self._waiting

    def gap(self, reason: str) -> None:
        """Frames are missing, from here to what is seen next."""
        self._counted.gaps += 1
        self._answered.clear()
        self._tell(Kind.GAP, {}, reason=reason)

    def closed(self, reason: str = "") -> None:
        """The connection is no more."""
        self._tell(Kind.CLOSED, {}, reason=reason)

    def unread(self, asked: Asked | None, reason: str) -> None:
        """Something could not be done with a frame: told once for each reason."""
        self._unread_once(asked, reason)

    def _strange(self) -> None:
        """What a client sends and is no request: part of an authentication, or not Kafka at all."""
        if self._tokens is None:
            self._unread_once(None, "what the client sends is no request of Kafka's protocol")
        else:
            self._tokens += 1

    def _wait_for(self, asked: Asked, instead_of: Asked | None = None) -> None:
        if instead_of is not None:
            waiting = self._waiting.get(asked.correlation)
            if waiting and waiting[-1] is instead_of:
                waiting[-1] = asked
            return
        self._waiting.setdefault(asked.correlation, deque()).append(asked)
        self._answered.pop(asked.correlation, None)
        if asked.key == PRODUCE:
            # acks=0 is never answered; whether it was that, an answer to something later tells.
            self._unanswered.append(asked)
            if len(self._unanswered) > _MOST_WAITING:
                self._forget(self._unanswered.popleft())

    def _next(self, head: bytes) -> Asked | None:
        if len(head) < RESPONSE_HEAD:
            return None
        (correlation,) = _CORRELATION.unpack_from(head)
        asked = self._waiting.get(correlation)
        if not asked:
            return None
        first = asked.popleft()
        if not asked:
            del self._waiting[correlation]
        while self._unanswered and self._unanswered[0].order <= first.order:
            self._forget(self._unanswered.popleft())
        self._answered[correlation] = first
        if len(self._answered) > _MOST_ANSWERED:
            self._answered.popitem(last=False)
        return first

    def _answered_again(self, head: bytes) -> Asked | None:
        """What an answer answers a second time, if that is recorded."""
        if len(head) < RESPONSE_HEAD:
            return None
        again = self._answered.get(_CORRELATION.unpack_from(head)[0])
        return again if again and again.recorded else None

    def _forget(self, asked: Asked) -> None:
        left = self._waiting.get(asked.correlation)
        if left and left[0] is asked:
            left.popleft()
            if not left:
                del self._waiting[asked.correlation]

    def _frame(self, kind: Kind, asked: Asked, body: Mapping[str, Any], payload: bytes) -> None:
        data = _known(asked) | {"fields": plain(body)}
        if payload:
            data["bytes"] = text_of(payload)
        self._tell(
            kind,
            data,
            group=asked.group,
            member=body.get("member_id") or "",
            instance=body.get("group_instance_id") or "",
            client=asked.client,
            generation=body.get("generation_id", body.get("generation_id_or_member_epoch")),
        )

    def _unread(self, asked: Asked, reason: str, payload: bytes = b"") -> None:
        self._counted.unread += 1
        data = _known(asked) | {"text": f"{asked.name} v{asked.version}"}
        if payload and self._redactor is None:
            data["bytes"] = text_of(payload)
        self._tell(Kind.UNREAD, data, reason=reason, client=asked.client, group=asked.group)

    def _unread_once(self, asked: Asked | None, reason: str) -> None:
        key = f"{reason} {asked and (asked.name, asked.version)}"
        if key in self._told:
            return
        self._told.add(key)
        if asked is not None:
            self._unread(asked, reason)
            return
        self._counted.unread += 1
        self._tell(Kind.UNREAD, {"text": ""}, reason=reason)

    def _tell(self, kind: Kind, data: dict[str, Any], **texts: Any) -> None:
        at, origin = self._now()
        data = {"connection": self._number, "broker": self._broker} | data
        self._take(Event(at, Source.FRAMES, origin, kind, host=self._host, data=data, **texts))

    def _shown(self, text: str) -> str:
        return self._redactor.text(text) if self._redactor else text


def ended_by(reason: str) -> str:
    """Whose doing it is that a connection is no more: `CLIENT`, `BROKER`, or "" where that is not told."""
    sides = (
        one for one in (CLIENT, BROKER) if reason.startswith((f"{CLOSED_BY} {one}", f"the {one} {LOST}"))
    )
    return next(sides, "")


def answer_of(asked: Asked, payload: bytes) -> dict[str, Any]:
    """The body of an answer. Errors: WireError.

    ApiVersions in a version that the broker does not have is answered as version 0 (KIP-511).
    """
    try:
        return read_answer(asked.name, asked.version, payload)[1]
    except WireError:
        if asked.name != "ApiVersions" or not asked.version:
            raise
        return read_answer(asked.name, 0, payload)[1]


def _request_bytes(request: Request, body: dict[str, Any], client: str) -> bytes:
    """The frame as it would be with this body; nothing where there is no such frame."""
    named = None if request.client_id is None else client
    with suppress(WireError):
        return encode_request(
            request.api.name, request.version, body, request.correlation_id, named, odd=True
        )
    return b""


def _response_bytes(asked: Asked, body: dict[str, Any]) -> bytes:
    version = 0 if asked.name == "ApiVersions" and body["error_code"] else asked.version
    with suppress(WireError):
        return encode_response(asked.name, version, body, asked.correlation, odd=True)
    return b""


def _is_plausible(head: bytes) -> bool:
    """Whether a frame of a client may be a request: parts of an authentication (KIP-43) never look so."""
    key, version, _ = _HEAD.unpack(head)
    return key in _KEYS and version in _VERSIONS


def _known(asked: Asked) -> dict[str, Any]:
    return {"correlation": asked.correlation, "api": asked.name, "version": asked.version}


def _group(name: str, body: Mapping[str, Any]) -> str:
    """The group that a request is about; "" where it is about none, or several."""
    if name == "FindCoordinator":
        keys = body.get("coordinator_keys", [body.get("key", "")])
        return str(keys[0]) if len(keys) == 1 and not body.get("key_type", 0) else ""
    if "group_id" in body:
        return str(body["group_id"])
    groups = body.get("groups") or body.get("groups_names") or []
    if len(groups) != 1:
        return ""
    return str(groups[0]["group_id"]) if isinstance(groups[0], dict) else str(groups[0])
