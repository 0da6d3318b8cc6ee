"""The control port over HTTP: on the loopback interface, for programs, with a page to look at.

A page of somewhere else that a browser on this machine shows could send requests here too. So a request must
name this port as its host, which a name that is made to resolve to the loopback address does not, and must
not come from a page (browsers say so by `Origin` or `Sec-Fetch-Site`), but for the state page, which asks for
itself again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from rota.control.fields import BadRequestError, checked
from rota.control.loopback import LoopbackServer
from rota.control.metrics import CONTENT_TYPE, text
from rota.control.openapi import document
from rota.control.operations import OPERATIONS, Operation
from rota.control.page import CONTENT_TYPE as PAGE_TYPE
from rota.control.page import POLICY, page
from rota.server.controls import ControlError, Controls, UnknownName

DOCUMENT, METRICS, PAGE = "/openapi.json", "/metrics", "/"

MOST_BYTES = 64 * 1024
"""Of the body of a request."""

MOST_CONNECTIONS = 64
SILENT = 60.0
"""Seconds that a connection may say nothing."""

STOP_SECONDS = 5.0

_BY_PATH: Mapping[str, Mapping[str, Operation]] = {
    path: {each.method: each for each in OPERATIONS if each.path == path}
    for path in dict.fromkeys(each.path for each in OPERATIONS)
}


class ControlPort(LoopbackServer):
    """Answers for `controls`, whose event loop is `loop`, at a port of 127.0.0.1; 0: any that is free.

    Errors: OSError where the port cannot be had.
    """

    def __init__(self, controls: Controls, loop: asyncio.AbstractEventLoop, port: int = 0) -> None:
        self._controls = controls
        self._loop = loop
        super().__init__(port, _Handler, MOST_CONNECTIONS)
        self._serving = threading.Thread(
            target=self.serve_forever, args=(0.2,), name="rota-control", daemon=True
        )
        self._serving.start()

    @property
    def url(self) -> str:
        """Where it is, as programs write it."""
        return f"http://{self.hosts[0]}"

    def carry_out(self, operation: Operation, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """One operation, on the event loop. Errors: BadRequestError; ControlError."""

        async def there() -> Mapping[str, Any]:
            return await operation.carry_out(self._controls, checked(operation.fields, said))

        return asyncio.run_coroutine_threadsafe(there(), self._loop).result()

    def told(self, tell: Callable[[Controls], str]) -> str:
        """What is told of the server, on the event loop."""

        async def there() -> str:
            return tell(self._controls)

        return asyncio.run_coroutine_threadsafe(there(), self._loop).result()

    def stop(self) -> None:
        """Listens no more. To be called from another thread than the event loop's."""
        self.shutdown()
        self._serving.join(STOP_SECONDS)
        self.server_close()


@dataclass(frozen=True)
class _Text:
    """An answer that is no JSON."""

    body: str
    content_type: str


class _Refusal(Exception):
    """A request that is not answered as it wishes. status: of HTTP."""

    def __init__(self, status: int, why: str, allowed: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.allowed = allowed


class _Handler(BaseHTTPRequestHandler):
    """A connection."""

    server: ControlPort
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rota", ""
    timeout = SILENT

    def do_any(self) -> None:
        """Any method: which there are depends on the path."""
        allowed = ""
        answer: Mapping[str, Any] | _Text
        try:
            self._check_origin()
            status, answer = 200, self._answer()
        except _Refusal as refusal:
            self.close_connection = True  # the rest of it is not read
            status, answer, allowed = refusal.status, {"error": str(refusal)}, refusal.allowed
        except (BadRequestError, UnknownName) as error:
            status, answer = 400, {"error": str(error)}
        except ControlError as error:
            status, answer = 409, {"error": str(error)}
        except Exception as error:  # whoever asked is told, and the port goes on
            status, answer = 500, {"error": f"internal error: {type(error).__name__}: {error}"}
        self._send(status, answer, allowed)

    do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = do_PATCH = do_OPTIONS = do_TRACE = do_any

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def _send(self, status: int, answer: Mapping[str, Any] | _Text, allowed: str) -> None:
        kind = answer.content_type if isinstance(answer, _Text) else "application/json"
        body = answer.body.encode() if isinstance(answer, _Text) else json.dumps(answer).encode() + b"\n"
        self.send_response(status)
        for name, value in (("Allow", allowed), ("Connection", "close" if self.close_connection else "")):
            if value:
                self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _check_origin(self) -> None:
        """Errors: _Refusal for a request that is meant for somebody else, or comes from a page."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise _Refusal(
                403, f"this port answers to {' and '.join(self.server.hosts)} only; ask one of these"
            )
        site = self.headers.get("Sec-Fetch-Site", "none")
        is_own = site == "same-origin" and self.command == "GET" and urlsplit(self.path).path == PAGE
        if "Origin" in self.headers or not (site == "none" or is_own):
            raise _Refusal(403, "pages of a browser are not answered; ask from a program")

    def _answer(self) -> Mapping[str, Any] | _Text:
        asked = urlsplit(self.path)
        if asked.path == METRICS and self.command == "GET":
            return _Text(self.server.told(text), CONTENT_TYPE)
        if asked.path == PAGE and self.command == "GET":
            return _Text(self.server.told(page), PAGE_TYPE)
        if asked.path == DOCUMENT and self.command == "GET":
            return document(version("rota"), self.server.url)
        operations = _BY_PATH.get(asked.path, {})
        if not operations:
            there = ", ".join((*_BY_PATH, METRICS, DOCUMENT, PAGE))
            raise _Refusal(404, f"there is nothing at {asked.path}; there are {there}")
        operation = operations.get(self.command)
        if operation is None:
            allowed = ", ".join(operations)
            raise _Refusal(405, f"{self.command} is not understood at {asked.path}; use {allowed}", allowed)
        said = self._body()
        said |= self._query(asked.query, operation)
        return self.server.carry_out(operation, said)

    def _query(self, text: str, operation: Operation) -> dict[str, Any]:
        if text and operation.method != "GET":
            raise _Refusal(400, "fields stand in the body, as a JSON object, and not behind a question mark")
        return dict(parse_qsl(text, keep_blank_values=True))

    def _body(self) -> dict[str, Any]:
        """The fields in the body; none if there is no body. Errors: _Refusal."""
        if "Transfer-Encoding" in self.headers:
            raise _Refusal(411, "say how long the body is, with Content-Length")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise _Refusal(400, f"Content-Length is a number, not {length!r}")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise _Refusal(413, f"the body has {MOST_BYTES:,} bytes at most")
        if int(length) == 0:
            return {}
        if self.headers.get_content_type() != "application/json":
            raise _Refusal(415, "send the fields as JSON, with Content-Type: application/json")
        try:
            said = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise _Refusal(400, f"this is no JSON: {error}; send an object with the fields") from None
        if not isinstance(said, dict):
            raise _Refusal(400, "send a JSON object with the fields")
        return said
