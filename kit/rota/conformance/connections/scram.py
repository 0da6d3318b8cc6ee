"""The client's side of SCRAM (RFC 5802), as brokers have it: without channel binding."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping

DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""Mechanism -> the hash function that it is named after."""

LEAST_ITERATIONS = 4096
"""As RFC 7677 has it; a server that asks for fewer makes a password cheap to guess."""


class ScramError(Exception):
    """The server said what SCRAM does not allow, or does not prove that it knows the password."""


class Scram:
    """One exchange: what `first` says is sent, then what `final` answers, then `verify` is asked."""

    def __init__(self, mechanism: str, username: str, password: str) -> None:
        self._digest = DIGESTS[mechanism]
        self._password = password.encode()
        self._nonce = secrets.token_hex(16)
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._signature = b""

    def first(self) -> bytes:
        """The client's first message."""
        return f"n,,{self._bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """The answer to the server's first message. Errors: ScramError."""
        said = _attributes(challenge)
        nonce = said.get("r", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("its nonce does not extend ours")
        try:
            salt, iterations = b64decode(said["s"], validate=True), int(said["i"])
        except (KeyError, ValueError) as error:
            raise ScramError("its first message names no salt and iterations") from error
        if iterations < LEAST_ITERATIONS:
            raise ScramError(f"it asks for {iterations} iterations, fewer than {LEAST_ITERATIONS}")
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, salt, iterations)
        without_proof = f"c={b64encode(b'n,,').decode()},r={nonce}"
        signed = b",".join((self._bare.encode(), challenge, without_proof.encode()))
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), signed)
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, answer: bytes) -> None:
        """Whether the server knows the password too. Errors: ScramError."""
        said = _attributes(answer)
        if "e" in said:
            raise ScramError(f"it answers {said['e']}")
        if not hmac.compare_digest(said.get("v", ""), b64encode(self._signature).decode()):
            raise ScramError("it does not prove that it knows the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._digest).digest()


def _attributes(message: bytes) -> Mapping[str, str]:
    """`r=…,s=…,i=…` by letter."""
    pairs = (part.partition("=") for part in message.decode("utf-8", errors="replace").split(","))
    return {name: value for name, _, value in pairs}
