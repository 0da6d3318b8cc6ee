"""The server's side of SCRAM (RFC 5802), as brokers have it: without channel binding.

Source: upstream's ScramSaslServer and ScramMessages. A mandatory extension, which Kafka overlooks, ends the
exchange as the RFC has it, and what the client says of channel binding has to be what it said before.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode

from rota.security.errors import OTHER_AUTHORIZATION_ID, NotAuthenticated
from rota.security.users import DIGESTS, ScramCredential, Users

NONCE_BYTES = 24

_NAME = r"(?:[^=,\x00]|=2C|=3D)+"
_EXTENSIONS = r"((?:,[A-Za-z]+=[^,\x00]+)*)"
_FIRST = re.compile(rf"(n,(?:a=({_NAME}))?,)(n=({_NAME}),r=([\x21-\x2b\x2d-\x7e]+){_EXTENSIONS})")
_FINAL = re.compile(
    rf"(c=([A-Za-z0-9+/]+=*),r=([\x21-\x2b\x2d-\x7e]+){_EXTENSIONS}),p=([A-Za-z0-9+/]+=*)", re.DOTALL
)
_BY_TOKEN = ",tokenauth=true"


class ScramServer:
    """One exchange: `respond` takes the client's first message, then its last one.

    username: who has proved that it knows the password, None before.
    """

    def __init__(self, mechanism: str, users: Users) -> None:
        self._mechanism = mechanism
        self._digest = DIGESTS[mechanism]
        self._users = users
        self._credential: ScramCredential | None = None
        self._asked = ""
        self._header = self._bare = self._challenge = self._nonce = ""
        self.username: str | None = None

    def respond(self, said: bytes) -> bytes:
        """What the client is answered. Errors: NotAuthenticated."""
        try:
            text = said.decode()
        except UnicodeDecodeError:
            raise NotAuthenticated("a message that is no UTF-8") from None
        if self._credential is None:
            return self._first(text)
        return self._final(text, self._credential)

    def _first(self, text: str) -> bytes:
        found = _FIRST.fullmatch(text)
        if found is None:
            raise NotAuthenticated("no first message of SCRAM")
        self._header, authorization_id, self._bare, name, nonce, extensions = found.groups()
        self._asked = _plain(name)
        credential = self._users.scram(self._mechanism, self._asked)
        if credential is None or _BY_TOKEN in extensions.lower():
            raise NotAuthenticated("no such user, or a delegation token")
        if authorization_id and _plain(authorization_id) != self._asked:
            raise NotAuthenticated("another authorization id", OTHER_AUTHORIZATION_ID)
        self._nonce = nonce + secrets.token_urlsafe(NONCE_BYTES)
        salt = b64encode(credential.salt).decode()
        self._challenge = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._credential = credential
        return self._challenge.encode()

    def _final(self, text: str, credential: ScramCredential) -> bytes:
        found = _FINAL.fullmatch(text)
        if found is None:
            raise NotAuthenticated("no last message of SCRAM")
        without_proof, binding, nonce, _, proof = found.groups()
        if nonce != self._nonce:
            raise NotAuthenticated("another nonce")
        if binding != b64encode(self._header.encode()).decode():
            raise NotAuthenticated("another channel binding")
        signed = f"{self._bare},{self._challenge},{without_proof}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._digest)
        if not self._proves(proof, signature, credential.stored_key):
            raise NotAuthenticated("a proof of another password")
        self.username = self._asked
        return b"v=" + b64encode(hmac.digest(credential.server_key, signed, self._digest))

    def _proves(self, proof: str, signature: bytes, stored_key: bytes) -> bool:
        """Whether the client's key, which its proof is with the signature, is the one that was stored."""
        try:
            told = b64decode(proof, validate=True)
        except ValueError:
            return False
        if len(told) != len(signature):
            return False
        client_key = bytes(left ^ right for left, right in zip(told, signature, strict=True))
        return hmac.compare_digest(hashlib.new(self._digest, client_key).digest(), stored_key)


def _plain(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
