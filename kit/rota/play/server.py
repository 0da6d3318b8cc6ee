"""The page over HTTP, for one person on this machine.

It listens on the loopback interface only. A page of somewhere else that the person's browser shows could
still send requests to it: so a request must name this server as its host (a name that is made to resolve to
the loopback address does not), come from its own page, and know the token, which the printed address has.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from rota.control.loopback import LoopbackServer
from rota.play.desk import Desk
from rota.play.page import page
from rota.play.session import PlayError

MOST_BYTES = 64 * 1024
"""Of the body of a request."""

MOST_CONNECTIONS = 32
SILENT = 20.0
"""Seconds that a connection may say nothing."""

GRACE = 3.0
"""Seconds from the moment at which the last page was closed, in which it may come back: it was reloaded."""

HEADERS = {
    # the page itself says what it may load and run; that it stands in no frame can only be said here
    "Content-Security-Policy": "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

ASK = "/ask"
TOKEN = "X-Rota-Token"


@dataclass
class Attendance:
    """Who is there. asked: when something was asked last; pages: those that are open; left: when the last was
    closed, None while one is open or none has been yet."""

    asked: float = field(default_factory=time.monotonic)
    pages: set[str] = field(default_factory=set)
    left: float | None = None

    def heard(self, page: str, closed: bool) -> None:
        """A page has asked something, or says that it is closed."""
        self.asked = time.monotonic()
        if not closed:
            self.pages.add(page)
            self.left = None
            return
        self.pages.discard(page)
        if not self.pages:
            self.left = self.asked

    def over(self, idle: float) -> str:
        """Why the server need not go on, empty if it should. idle: seconds without a question."""
        now = time.monotonic()
        if self.left is not None and now - self.left > GRACE:
            return "the page was closed"
        if now - self.asked > idle:
            return f"nothing was asked for {idle / 60:g} minutes"
        return ""


class PlayServer(LoopbackServer):
    """Serves a desk on a port of 127.0.0.1; 0: any that is free."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk, self.attendance = desk, Attendance()
        self.token = secrets.token_urlsafe(24)
        super().__init__(port, _Handler, MOST_CONNECTIONS)

    @property
    def address(self) -> str:
        """Where the page is. The token stands where a browser sends it to nobody."""
        return f"http://{self.hosts[0]}/#{self.token}"

    def until_over(self, idle: float) -> str:
        """Serve until the page is closed, or nothing is asked for so many seconds; which of these it was."""
        serving = threading.Thread(target=self.serve_forever, args=(0.2,), daemon=True)
        serving.start()
        try:
            while not (why := self.attendance.over(idle)):
                time.sleep(0.2)
            return why
        finally:
            self.shutdown()
            self.server_close()


class _Refusal(Exception):
    """A request that is not answered as it wishes. status: of HTTP."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """A connection."""

    server: PlayServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rota", ""
    timeout = SILENT

    def do_GET(self) -> None:
        """A part of the page."""
        self._answered(self._page)

    def do_POST(self) -> None:
        """A question."""
        self._answered(self._ask)

    def do_other(self) -> None:
        """Nothing else is understood."""
        self._answered(self._wrong)

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = do_other

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def _answered(self, answer: Any) -> None:
        try:
            self._check_origin()
            status, kind, body = answer()
        except _Refusal as refusal:
            status, kind, body = self._refused(refusal.status, str(refusal))
        except Exception as error:  # the page says so, and the server goes on
            status, kind, body = self._refused(500, f"internal error: {type(error).__name__}: {error}")
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if status == 405:
            self.send_header("Allow", "GET, POST")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refused(self, status: int, why: str) -> tuple[int, str, bytes]:
        self.close_connection = True
        return status, "text/plain; charset=utf-8", f"{why}\n".encode()

    def _check_origin(self) -> None:
        """Errors: _Refusal for a request that is meant for somebody else, or comes from another page."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise _Refusal(403, "this server answers to its own name only; open the address that was printed")
        origins = self.headers.get_all("Origin") or []
        if origins not in ([], [f"http://{hosts[0]}"]):
            raise _Refusal(403, "this is asked by another page than that of this server")
        if self.command == "POST" and not origins:
            raise _Refusal(403, "this is asked by no page; questions come from the page of this server")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise _Refusal(403, "this is asked by another site")

    def _page(self) -> tuple[int, str, bytes]:
        if self.path != "/":
            raise _Refusal(404, "there is nothing here; the page is at /")
        return 200, "text/html; charset=utf-8", page().encode()

    def _ask(self) -> tuple[int, str, bytes]:
        if self.path != ASK:
            raise _Refusal(404, f"nobody is asked here; questions go to {ASK}")
        token = self.headers.get(TOKEN, "")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _Refusal(403, "the token is missing or wrong; open the address that was printed")
        said = self._said()
        who = said.get("page")
        if not isinstance(who, str) or len(who) > 64:
            raise _Refusal(400, "page: give a short text that names the page that asks")
        self.server.attendance.heard(who, closed=said.get("do") == "bye")
        try:
            answer: Mapping[str, Any] = {} if said.get("do") == "bye" else self.server.desk.ask(said)
        except PlayError as error:
            answer = {"error": str(error)}
        return 200, "application/json", json.dumps(answer).encode()

    def _said(self) -> dict[str, Any]:
        """The body of a question. Errors: _Refusal."""
        if self.headers.get_content_type() != "application/json":
            raise _Refusal(415, "send application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            raise _Refusal(411, "say how long the body is, with Content-Length")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise _Refusal(413, f"a question has {MOST_BYTES:,} bytes at most")
        try:
            said = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _Refusal(400, "this is no JSON") from None
        if not isinstance(said, dict):
            raise _Refusal(400, "a question is a JSON object")
        return said

    def _wrong(self) -> tuple[int, str, bytes]:
        raise _Refusal(405, "there is GET for the page, and POST for its questions")
