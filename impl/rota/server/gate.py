"""SASL on a connection: until its client is known, nothing of it reaches the server.

The order of checks and what each is answered are Kafka's: ApiVersions once, then SaslHandshake, then
SaslAuthenticate as often as the mechanism takes. Whatever else comes before ends the connection; in the
middle of it, it is answered ILLEGAL_SASL_STATE first. With `connections.max.reauth.ms` a client says again
who it is before its session is over (KIP-368); then it has to be the same.

Source: upstream's SaslServerAuthenticator, KafkaChannel#maybeBeginServerReauthentication, SocketServer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from rota.security import Exchange, NotAuthenticated, Users, exchange
from rota.server.refused import refused
from rota.wire import Bytes, Request, UnsupportedVersion, WireError, api, decode_request
from rota.wire.error_codes import ERROR_CODES

log = logging.getLogger(__name__)

MOST_UNKNOWN = 64 * 1024
"""Bytes of a frame of somebody who is not known yet (Kafka's sasl.server.max.receive.size is 512 KiB)."""

AGAIN_SECONDS = 1.0
"""Between two authentications of a connection again; one that comes sooner is a request like others."""

_VERSIONS, _HANDSHAKE, _AUTHENTICATE = (
    api(name).key for name in ("ApiVersions", "SaslHandshake", "SaslAuthenticate")
)


@dataclass(frozen=True)
class Sasl:
    """What a listener with SASL asks for. times in seconds; session: of a connection, 0 for no bound."""

    users: Users
    mechanisms: Sequence[str]
    session: float = 0.0
    delay_of_failure: float = 0.1


class Versions(Protocol):
    """What a server says of its APIs."""

    def serves(self, key: int, version: int) -> bool:
        """Whether requests of that API and version are answered."""

    def api_versions(self, body: Mapping[str, Any], version: int) -> Mapping[str, Any]:
        """The answer to ApiVersions."""

    def out_of_range(self) -> Mapping[str, Any]:
        """The body, in version 0, that answers an ApiVersions of an unknown version."""


class Speaker(Protocol):
    """The connection."""

    client_host: str

    def answer(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """A response."""

    def answer_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """Bytes of an answer; their length goes in front."""

    def finish(self) -> None:
        """Handles no further request."""

    def close(self, reason: str = "") -> None:
        """Closes the connection after what was answered has left."""

    def known(self) -> None:
        """The client is let in."""


class _State(Enum):
    """What may come next."""

    VERSIONS_OR_HANDSHAKE = "ApiVersions or SaslHandshake"
    HANDSHAKE = "SaslHandshake"
    AUTHENTICATE = "SaslAuthenticate"
    OTHER_MECHANISM = "nothing"
    OPEN = "anything"
    SHUT = "nothing more"


class _Shut(Exception):
    """The connection ends. answer: name, version and body of what it is told before, if it is."""

    def __init__(self, why: str, answer: tuple[str, int, Mapping[str, Any]] | None = None) -> None:
        super().__init__(why)
        self.answer = answer


class Gate:
    """The authentication of one connection. later: calls a function after so many seconds; clock: seconds."""

    def __init__(
        self,
        sasl: Sasl,
        versions: Versions,
        later: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float],
    ) -> None:
        self._sasl = sasl
        self._versions = versions
        self._later = later
        self._clock = clock
        self._state = _State.VERSIONS_OR_HANDSHAKE
        self._exchange: Exchange | None = None
        self._mechanism = ""
        self._has_headers = True
        self._ends_at: float | None = None
        self._begun_at: float | None = None
        self.username: str | None = None

    def admits(self, payload: Bytes, connection: Speaker) -> bool:
        """Whether a frame goes on to the server. One that does not has been dealt with here."""
        if self._state is _State.OPEN and self._is_request(payload, connection):
            return True
        if self._state in (_State.OPEN, _State.SHUT):
            return False
        correlation_id = int.from_bytes(payload[4:8], "big", signed=True)
        try:
            self._take(bytes(payload), connection)
        except (_Shut, WireError) as error:
            self._state = _State.SHUT
            self._shut(error, correlation_id, connection)
        return False

    def _is_request(self, payload: Bytes, connection: Speaker) -> bool:
        """Whether a frame of a client that is known is for the server."""
        if self._ends_at is None:
            return True
        now = self._clock()
        is_early = self._begun_at is not None and now - self._begun_at < AGAIN_SECONDS
        if int.from_bytes(payload[:2], "big") == _HANDSHAKE and not is_early:
            self._begun_at = now
            self._state = _State.HANDSHAKE
            return False
        if now > self._ends_at:
            self._state = _State.SHUT
            connection.close("its session is over, and it has not authenticated again")
            return False
        return True

    def _shut(self, error: _Shut | WireError, correlation_id: int, connection: Speaker) -> None:
        """Ends the connection, after a while: who guesses passwords is to take long."""
        answer = error.answer if isinstance(error, _Shut) else None
        connection.finish()

        def end() -> None:
            if answer is not None:
                connection.answer(*answer, correlation_id)
            connection.close(f"not authenticated: {error}")

        if answer is None:
            end()
        else:
            self._later(self._sasl.delay_of_failure, end)

    def _take(self, payload: bytes, connection: Speaker) -> None:
        if self._state is _State.OTHER_MECHANISM:
            raise _Shut("another mechanism than before")
        if self._state is not _State.AUTHENTICATE:
            self._hand_shake(payload, connection)
        elif self._has_headers:
            self._authenticate(self._read(payload), connection)
        else:
            self._raw_token(payload, connection)

    def _hand_shake(self, payload: bytes, connection: Speaker) -> None:
        """What may come before the mechanism is known. Of anything else nothing is even decoded."""
        key = int.from_bytes(payload[:2], "big", signed=True)
        if key not in (_VERSIONS, _HANDSHAKE):
            raise _Shut(f"API {key} before SaslHandshake")
        try:
            request = self._read(payload)
        except UnsupportedVersion as error:
            if key != _VERSIONS or error.correlation_id is None:
                raise
            self._expect(_State.VERSIONS_OR_HANDSHAKE)
            connection.answer("ApiVersions", 0, self._versions.out_of_range(), error.correlation_id)
            return
        if key == _VERSIONS:
            self._tell_versions(request, connection)
        else:
            self._choose(request, connection)

    def _read(self, payload: bytes) -> Request:
        """Errors: WireError, UnsupportedVersion among them."""
        request = decode_request(payload, trailing=True)
        if not self._versions.serves(request.api.key, request.version):
            text = f"{request.api.name} v{request.version} is not served"
            raise UnsupportedVersion(text, request.api.key, request.version, request.correlation_id)
        return request

    def _expect(self, state: _State) -> None:
        if self._state is not state:
            raise _Shut(f"ApiVersions where {self._state.value} is due")

    def _tell_versions(self, request: Request, connection: Speaker) -> None:
        self._expect(_State.VERSIONS_OR_HANDSHAKE)
        told = self._versions.api_versions(request.body, request.version)
        connection.answer(request.api.name, request.version, told, request.correlation_id)
        if not told.get("error_code"):
            self._state = _State.HANDSHAKE

    def _choose(self, request: Request, connection: Speaker) -> None:
        """SaslHandshake."""
        wanted, has = request.body["mechanism"], list(self._sasl.mechanisms)
        self._has_headers = request.version >= 1
        if wanted not in has:
            code = ERROR_CODES["UNSUPPORTED_SASL_MECHANISM"]
            told = {"error_code": code, "mechanisms": has}
            raise _Shut(f"no mechanism {wanted!r}", (request.api.name, request.version, told))
        told = {"error_code": 0, "mechanisms": has}
        connection.answer(request.api.name, request.version, told, request.correlation_id)
        if self.username is not None and wanted != self._mechanism:
            self._state = _State.OTHER_MECHANISM
            return
        self._mechanism = wanted
        self._exchange = exchange(wanted, self._sasl.users)
        self._state = _State.AUTHENTICATE

    def _authenticate(self, request: Request, connection: Speaker) -> None:
        name, version = request.api.name, request.version
        if request.api.key != _AUTHENTICATE:
            told = refused(name, version, request.body, ERROR_CODES["ILLEGAL_SASL_STATE"])
            raise _Shut(f"{name} in the middle of it", (name, version, told))
        try:
            token = self._respond(request.body["auth_bytes"])
        except NotAuthenticated as error:
            again = "re-authentication" if self.username is not None else "authentication"
            usual = (
                f"Authentication failed during {again} due to invalid credentials "
                f"with SASL mechanism {self._mechanism}"
            )
            code = ERROR_CODES["SASL_AUTHENTICATION_FAILED"]
            told = {"error_code": code, "error_message": error.told or usual, "auth_bytes": b""}
            raise _Shut(str(error), (name, version, told)) from error
        lifetime = self._open_if_known(connection)
        told = {"error_code": 0, "auth_bytes": token, "session_lifetime_ms": lifetime}
        connection.answer(name, version, told, request.correlation_id)

    def _raw_token(self, payload: bytes, connection: Speaker) -> None:
        """A message without a header, as behind version 0 of SaslHandshake (KIP-43); no error is told."""
        try:
            token = self._respond(payload)
        except NotAuthenticated as error:
            raise _Shut(str(error)) from error
        self._open_if_known(connection)
        connection.answer_in_pieces((token,), len(token))

    def _respond(self, said: bytes) -> bytes:
        """The mechanism's answer. Errors: NotAuthenticated, also for who is somebody else than before."""
        assert self._exchange is not None
        token = self._exchange.respond(said)
        name, before = self._exchange.username, self.username
        if None not in (name, before) and name != before:
            text = f"Cannot change principals during re-authentication from User.{before}: User.{name}"
            raise NotAuthenticated(text, text)
        return token

    def _open_if_known(self, connection: Speaker) -> int:
        """The client is let in if the mechanism knows it; how many milliseconds long, 0 for no bound."""
        assert self._exchange is not None
        if self._exchange.username is None:
            return 0
        self.username = self._exchange.username
        self._exchange = None
        self._state = _State.OPEN
        connection.known()
        if self._sasl.session:
            self._ends_at = self._clock() + self._sasl.session
        log.info("%s has authenticated as %s by %s", connection.client_host, self.username, self._mechanism)
        return int(1000 * self._sasl.session)


def already_authenticated(body: Mapping[str, Any], version: int) -> Mapping[str, Any]:
    """SaslHandshake and SaslAuthenticate where nobody has to, or has already."""
    told: dict[str, Any] = {"error_code": ERROR_CODES["ILLEGAL_SASL_STATE"]}
    if "auth_bytes" in body:
        told["error_message"] = "SaslAuthenticate request received after successful authentication"
    return told
