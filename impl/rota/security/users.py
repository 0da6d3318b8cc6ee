"""Users with their passwords, and what SCRAM makes of a password."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""Mechanism -> the hash function that it is named after."""

ITERATIONS = 4096
"""Kafka's, and the fewest that RFC 7677 allows."""

SALT_BYTES = 24


class UsersError(ValueError):
    """A file of users that cannot be read; the text says where, and nothing that is secret."""


class ScramCredential(NamedTuple):
    """What a server of SCRAM has of a user in place of the password (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Users:
    """Names with passwords, of which nothing is shown."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = dict(passwords)
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    def __len__(self) -> int:
        return len(self._passwords)

    def __repr__(self) -> str:
        return f"<{len(self)} users>"

    def has(self, name: str, password: str) -> bool:
        """Whether a user has this password. It takes as long however many letters are right."""
        known = self._passwords.get(name)
        is_right = hmac.compare_digest((known or "").encode(), password.encode())
        return is_right and known is not None

    def scram(self, mechanism: str, name: str) -> ScramCredential | None:
        """A user's credential, None for somebody who is not known. The same each time."""
        password = self._passwords.get(name)
        if password is None:
            return None
        if (mechanism, name) not in self._credentials:
            self._credentials[mechanism, name] = _credential(DIGESTS[mechanism], password)
        return self._credentials[mechanism, name]


def read_users(path: Path) -> Users:
    """Users from a file of lines NAME=PASSWORD; lines that begin with # say nothing. Errors: UsersError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsersError(f"{path} is no text in UTF-8; write lines NAME=PASSWORD") from None
    except OSError as error:
        raise UsersError(f"cannot read {path} ({error.strerror}); write lines NAME=PASSWORD there") from None
    passwords: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, password = line.partition("=")
        if not (name := name.strip()) or not password:
            raise UsersError(f"line {number} of {path} has no user and password; write NAME=PASSWORD")
        if name in passwords:
            raise UsersError(f"line {number} of {path} has {name} once more; leave one of the lines")
        passwords[name] = password
    if not passwords:
        raise UsersError(f"{path} has no users, so nobody could come in; write lines NAME=PASSWORD")
    return Users(passwords)


def _credential(digest: str, password: str) -> ScramCredential:
    """Kafka takes a password as it is, without SASLprep (ScramFormatter#normalize)."""
    salt = secrets.token_bytes(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", digest)
    server_key = hmac.digest(salted, b"Server Key", digest)
    return ScramCredential(salt, hashlib.new(digest, client_key).digest(), server_key, ITERATIONS)
