"""What the handlers of requests know of a request, and how they answer it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol

from rota.server.endpoints import Endpoint
from rota.wire import (
    Bytes,
    Request,
    encode_response,
    encode_response_in_pieces,
    encode_response_in_slices,
)


class Answering(Protocol):
    """The connection that a request came on."""

    client_host: str
    endpoint: Endpoint

    @property
    def is_there(self) -> bool:
        """Whether there is somebody at the other end."""

    def answer(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """A response, written at the end of the turn. Never raises."""

    def answer_with(self, name: str, version: int, reply: object, correlation_id: int) -> None:
        """As `answer`, of an object in place of a body."""

    def answer_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """An encoded response, sent as it is taken. Never raises."""

    def ended(self, context: RequestContext) -> None:
        """A request is not in flight any more."""

    def dropped(self, context: RequestContext) -> None:
        """A request is in flight that will not be answered."""

    def close(self, reason: str = "") -> None:
        """Closes the connection after what was answered has left."""


def _nobody() -> None:
    """Nobody wants to know of it."""


class RequestContext:
    """What the server knows of a request beside its body, and where its response goes. It is ended once.

    The coordinator has it as the token of a parked request. Hashed by identity.
    """

    __slots__ = ("_connection", "_correlation_id", "api_name", "client_host", "client_id", "lost", "version")

    def __init__(self, connection: Answering, request: Request) -> None:
        self.api_name = request.api.name
        self.version = request.version
        self.client_id = request.client_id
        self.client_host = connection.client_host
        self.lost: Callable[[], object] = _nobody
        self._correlation_id = request.correlation_id
        self._connection = connection

    def reply(self, body: Mapping[str, Any]) -> None:
        """Sends the response, if the connection is still there. Never raises."""
        self._connection.answer(self.api_name, self.version, body, self._correlation_id)
        self._connection.ended(self)

    def tell(self, reply: object) -> None:
        """As `reply`, of an object whose attributes are named as the response's fields are. Never raises."""
        self._connection.answer_with(self.api_name, self.version, reply, self._correlation_id)
        self._connection.ended(self)

    @property
    def endpoint(self) -> Endpoint:
        """Which broker was asked, and by which listener."""
        return self._connection.endpoint

    @property
    def correlation_id(self) -> int:
        """The number that its client knows it by."""
        return self._correlation_id

    @property
    def connection(self) -> Answering:
        """The connection that the request came on."""
        return self._connection

    def answer_by(self, connection: Answering) -> None:
        """From now on what answers the request goes this way."""
        self._connection = connection

    def encoded(self, body: Mapping[str, Any]) -> bytes:
        """A response, to be sent by `reply_in_pieces`. Errors: WireError for what cannot be encoded."""
        return encode_response(self.api_name, self.version, body, self._correlation_id)

    def encoded_in_slices(self, body: Mapping[str, Any]) -> Generator[None, None, bytearray]:
        """The same, of a long body, by a generator that yields often."""
        return encode_response_in_slices(self.api_name, self.version, body, self._correlation_id)

    def in_pieces(self, body: Mapping[str, Any]) -> list[Bytes]:
        """The same, of a body whose records are `Pieces`, which are not copied."""
        return encode_response_in_pieces(self.api_name, self.version, body, self._correlation_id)

    @property
    def is_lost(self) -> bool:
        """Whether there is nobody to answer any more."""
        return not self._connection.is_there

    def reply_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """Sends a response that is encoded already, as its client takes it. Never raises.

        held: the bytes in it that nobody else keeps.
        """
        self._connection.answer_in_pieces(pieces, held)
        self._connection.ended(self)

    def dropped(self) -> None:
        """No answer is to come. The connection stays muted, as a broker's does, until it has been idle."""
        self._connection.dropped(self)

    def no_reply(self) -> None:
        """Ends a request whose client waits for nothing."""
        self._connection.ended(self)

    def close_connection(self, reason: str) -> None:
        """Closes the connection: the only answer to a request whose client waits for none."""
        self._connection.close(reason)

    def when_lost(self, callback: Callable[[], object]) -> None:
        """`callback` is called if the connection is lost before the request is ended."""
        self.lost = callback
