"""The SASL mechanisms that there are, each as an exchange of messages."""

from __future__ import annotations

from typing import Protocol

from rota.security.errors import OTHER_AUTHORIZATION_ID, NotAuthenticated
from rota.security.scram import ScramServer
from rota.security.users import DIGESTS, Users

__all__ = ["MECHANISMS", "Exchange", "NotAuthenticated", "PlainServer", "exchange"]

PLAIN = "PLAIN"
MECHANISMS = (PLAIN, *DIGESTS)
"""In the order in which a broker tells them."""


_INVALID = "Authentication failed: Invalid username or password"


class Exchange(Protocol):
    """What a client and a server say to each other. username: None until the client is known."""

    username: str | None

    def respond(self, said: bytes) -> bytes:
        """What the client is answered. Errors: NotAuthenticated, after which nothing more is said."""


class PlainServer:
    """PLAIN (RFC 4616). Source: upstream's PlainSaslServer."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self.username: str | None = None

    def respond(self, said: bytes) -> bytes:
        """Who, and with which password: all of it in one message."""
        try:
            tokens = said.decode().split("\0", 3)
        except UnicodeDecodeError:
            raise NotAuthenticated("a message that is no UTF-8", _INVALID) from None
        if len(tokens) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}"
            raise NotAuthenticated("no user with a password", told)
        authorization_id, name, password = tokens
        for what, said_of_it in (("username", name), ("password", password)):
            if not said_of_it:
                raise NotAuthenticated(f"no {what}", f"Authentication failed: {what} not specified")
        if not self._users.has(name, password):
            raise NotAuthenticated("no such user, or another password", _INVALID)
        if authorization_id not in ("", name):
            raise NotAuthenticated("another authorization id", OTHER_AUTHORIZATION_ID)
        self.username = name
        return b""


def exchange(mechanism: str, users: Users) -> Exchange:
    """A new exchange of one of `MECHANISMS`."""
    return PlainServer(users) if mechanism == PLAIN else ScramServer(mechanism, users)
