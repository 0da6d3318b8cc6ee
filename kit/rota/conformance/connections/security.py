"""How a listener is spoken to before the first request: TLS, SASL, both or neither."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.connections.scram import DIGESTS, Scram, ScramError
from rota.wire.error_codes import ERROR_CODES

MECHANISMS = ("PLAIN", *DIGESTS)
"""The SASL mechanisms that rota can do."""

Ask = Callable[[str, int, dict[str, Any]], dict[str, Any]]
"""Sends a request of this API, version and body; the body of the answer."""


class Refused(Exception):
    """The listener does not let us in: why, without what is secret."""


@dataclass(frozen=True)
class Credentials:
    """Who we are for SASL; the password is not shown."""

    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Security:
    """What a listener wants. `tls` is None for one without TLS, `sasl` for one without SASL."""

    tls: ssl.SSLContext | None = None
    sasl: Credentials | None = None

    @property
    def protocol(self) -> str:
        """Kafka's word for it, as in security.protocol."""
        return ("SASL_" if self.sasl else "") + ("SSL" if self.tls else "PLAINTEXT")

    def wrapped(self, connection: socket.socket, host: str) -> socket.socket:
        """The connection, in TLS where that is wanted. Errors: Refused."""
        if self.tls is None:
            return connection
        try:
            return self.tls.wrap_socket(connection, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            why = error.verify_message.rstrip(".")
            raise Refused(f"its certificate is not trusted: {why}") from error
        except TimeoutError as error:
            raise Refused("no TLS: the handshake is not answered") from error
        except OSError as error:
            raise Refused(f"no TLS: {_cause(error)}") from error

    def authenticate(self, ask: Ask) -> None:
        """Say who we are, where that is wanted. Errors: Refused, and what `ask` raises."""
        if self.sasl is None:
            return
        wanted = self.sasl.mechanism
        body = ask("SaslHandshake", 1, {"mechanism": wanted})
        if body["error_code"] == ERROR_CODES["UNSUPPORTED_SASL_MECHANISM"]:
            has = ", ".join(body["mechanisms"]) or "none"
            raise Refused(f"it has no SASL mechanism {wanted}, but {has}")
        if body["error_code"] != 0:
            raise Refused(f"SaslHandshake is answered with {error_name(body['error_code'])}")
        if wanted == "PLAIN":
            _said(ask, f"\0{self.sasl.username}\0{self.sasl.password}".encode())
            return
        scram = Scram(wanted, self.sasl.username, self.sasl.password)
        try:
            scram.verify(_said(ask, scram.final(_said(ask, scram.first()))))
        except ScramError as error:
            raise Refused(f"{wanted}: {error}") from error


PLAINTEXT = Security()
"""Neither TLS nor SASL."""


class SecureAddress(tuple[str, int]):
    """Host and port of a listener, and how it is spoken to."""

    security: Security

    def __new__(cls, host: str, port: int, security: Security) -> SecureAddress:
        """As a pair, which it is for everybody to whom only the place matters."""
        made = super().__new__(cls, (host, port))
        made.security = security
        return made


def security_of(address: tuple[str, int]) -> Security:
    """How a listener at this address is spoken to."""
    return address.security if isinstance(address, SecureAddress) else PLAINTEXT


def beside(address: tuple[str, int], host: str, port: int) -> tuple[str, int]:
    """Where another broker of the same cluster listens, which is spoken to in the same way."""
    security = security_of(address)
    return (host, port) if security is PLAINTEXT else SecureAddress(host, port, security)


def _said(ask: Ask, data: bytes) -> bytes:
    """What the server answers in the exchange. Errors: Refused."""
    body = ask("SaslAuthenticate", 0, {"auth_bytes": data})
    if body["error_code"] != 0:
        why = f": {body['error_message']}" if body["error_message"] else ""
        raise Refused(f"{error_name(body['error_code'])}{why}")
    answer: bytes = body["auth_bytes"] or b""
    return answer


def _cause(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else (error.strerror or str(error))
