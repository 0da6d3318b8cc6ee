"""The server: it answers its own page and nobody else, in bounds, and ends by itself."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import ticket_office

from rota.play import Session, server
from rota.play.desk import Desk
from rota.play.server import PlayServer
from rota.trace import Origin

JSON = {"Content-Type": "application/json"}
Reply = tuple[int, dict[str, str], bytes]


def desk() -> Desk:
    return Desk(Session.of(ticket_office.office(3)), Origin(), {"a": "<b>"})


@pytest.fixture
def served() -> Iterator[PlayServer]:
    one = PlayServer(desk())
    thread = threading.Thread(target=one.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()
    thread.join(10)


def send(
    to: PlayServer, method: str = "GET", path: str = "/", body: bytes = b"", **headers: str | None
) -> Reply:
    """A request with these headers (`_` for `-`), of which None leaves one out."""
    connection = http.client.HTTPConnection(*to.server_address[:2], timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    sent: dict[str, str | None] = {"Host": to.hosts[0]}
    if method == "POST":
        sent |= {**JSON, "Origin": f"http://{to.hosts[0]}", "X-Rota-Token": to.token}
        sent |= {"Content-Length": str(len(body))}
    sent |= {name.replace("_", "-"): text for name, text in headers.items()}
    for name, text in sent.items():
        if text is not None:
            connection.putheader(name, text)
    connection.endheaders(body)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, {name.lower(): text for name, text in reply.getheaders()}, content


def ask(to: PlayServer, headers: dict[str, str | None] | None = None, **said: Any) -> Reply:
    return send(to, "POST", "/ask", json.dumps({"page": "p1", **said}).encode(), **(headers or {}))


FOREIGN: dict[str, dict[str, str | None]] = {
    "a foreign host": {"Host": "rota.example:80"},
    "a foreign host with the port": {"Host": "rota.example:PORT"},
    "the host without the port": {"Host": "127.0.0.1"},
    "another port": {"Host": "127.0.0.1:1"},
    "no host": {"Host": None},
    "a foreign origin": {"Origin": "http://rota.example"},
    "another port's origin": {"Origin": "http://127.0.0.1:1"},
    "the origin null": {"Origin": "null"},
    "the origin by another name": {"Origin": "http://localhost:PORT"},
    "another site": {"Sec_Fetch_Site": "cross-site"},
    "the same site": {"Sec_Fetch_Site": "same-site"},
}
OF_QUESTIONS: dict[str, dict[str, str | None]] = {
    "no origin": {"Origin": None},
    "no token": {"X_Rota_Token": None},
    "an empty token": {"X_Rota_Token": ""},
    "another token": {"X_Rota_Token": "x" * 32},
    "a token of strange letters": {"X_Rota_Token": "\xe4" * 32},
}


def let_in(to: PlayServer) -> list[str]:
    """Which of the requests that are not for this server, or not from its page, are not refused."""
    port = str(to.server_address[1])
    found = []
    for name, headers in (FOREIGN | OF_QUESTIONS).items():
        own = {one: text and text.replace("PORT", port) for one, text in headers.items()}
        if ask(to, own, do="step", number=0)[0] != 403:
            found.append(f"POST with {name}")
        if name in FOREIGN and send(to, **own)[0] != 403:
            found.append(f"GET with {name}")
    return found


def test_only_its_own_page_is_answered(served: PlayServer) -> None:
    assert let_in(served) == []
    assert served.desk.version == 0
    status, _, content = ask(served, do="step", number=0)
    assert (status, json.loads(content)["at"]) == (200, 1)
    by_name = {
        "Host": served.hosts[1],
        "Origin": f"http://{served.hosts[1]}",
        "Sec_Fetch_Site": "same-origin",
    }
    assert ask(served, {**by_name}, do="look")[0] == 200


def test_a_server_that_does_not_look_is_found(served: PlayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server._Handler, "_check_origin", lambda handler: None)
    assert len(let_in(served)) == len(FOREIGN) * 2 + len(["no origin"])


def test_a_server_that_takes_any_token_is_found(served: PlayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.secrets, "compare_digest", lambda one, other: True)
    assert let_in(served) == [f"POST with {name}" for name in OF_QUESTIONS if "token" in name]


def test_it_listens_on_the_loopback_interface_alone(served: PlayServer) -> None:
    assert served.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", served.server_address[1]), timeout=5)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(served: PlayServer, method: str) -> None:
    status, headers, _ = send(served, method)
    assert (status, headers["allow"]) == (405, "GET, POST")


def test_other_places_are_not_there(served: PlayServer) -> None:
    for path in ("/ask", "/../etc/passwd", "/play.js", "/?x"):
        assert send(served, path=path)[0] == 404
    assert send(served, "POST", "/", b"{}")[0] == 404


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * (server.MOST_BYTES + 1), {}, 413),
        (b"", {"Content_Length": "9" * 30}, 413),
        (b"", {"Content_Length": None}, 411),
        (b"", {"Content_Length": "-1"}, 411),
        (b"", {"Content_Length": "1", "Transfer_Encoding": "chunked"}, 411),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{", {}, 400),
        (b"\xff", {}, 400),
        (b"[" * 50_000, {}, 400),
        (b"[]", {}, 400),
        (b"{}", {}, 400),
        (b'{"page": 3}', {}, 400),
        (json.dumps({"page": "p" * 65}).encode(), {}, 400),
    ],
)
def test_what_is_no_question_is_refused(
    served: PlayServer, body: bytes, headers: dict[str, str | None], status: int
) -> None:
    assert send(served, "POST", "/ask", body, **headers)[0] == status


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"do": "fly"}, "nobody can 'fly' here"),
        ({"do": ["look"]}, "nobody can"),
        ({"do": "step"}, "number is None"),
        ({"do": "step", "number": True}, "number is True"),
        ({"do": "step", "number": 99}, "there is no move 100"),
        ({"do": "to", "at": -1}, "at is -1"),
        ({"do": "walk", "steps": 501, "seed": 1}, "between 1 and 500"),
        ({"do": "jump", "expression": " "}, "give a text"),
        ({"do": "jump", "expression": "x" * 2001}, "give a text"),
        ({"do": "jump", "expression": "__import__('os')"}, "cannot be called"),
        ({"do": "node", "number": 0}, "no such state in the picture"),
        ({"do": "step", "number": 0, "version": 4}, "another window"),
    ],
)
def test_what_cannot_be_done_is_said(served: PlayServer, said: dict[str, Any], why: str) -> None:
    status, _, content = ask(served, **said)
    assert status == 200
    assert why in json.loads(content)["error"]
    assert served.desk.version == 0


def test_a_mistake_of_ours_is_told_and_the_server_goes_on(
    served: PlayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(said: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("oh")

    with monkeypatch.context() as broken:
        broken.setattr(served.desk, "ask", fails)
        status, _, content = ask(served, do="look")
    assert (status, content) == (500, b"internal error: ZeroDivisionError: oh\n")
    assert ask(served, do="look")[0] == 200


def test_the_page_runs_and_loads_nothing_of_others(served: PlayServer) -> None:
    status, headers, content = send(served)
    page = content.decode()
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "frame-ancestors &#39;none&#39;" not in page
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    assert "default-src &#39;none&#39;" in page
    assert "unsafe" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert served.token not in page, "whoever may load the page could ask"


def test_a_flood_of_connections_is_cut_off(served: PlayServer) -> None:
    held = [
        socket.create_connection(served.server_address[:2], timeout=10)
        for _ in range(server.MOST_CONNECTIONS)
    ]
    try:
        deadline = time.monotonic() + 10
        while served._room._value and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.02)
        with pytest.raises((http.client.HTTPException, OSError)):
            send(served)
    finally:
        for one in held:
            one.close()
    deadline = time.monotonic() + 10
    while not served._room._value and time.monotonic() < deadline:  # type: ignore[attr-defined]
        time.sleep(0.02)
    assert send(served)[0] == 200


def ended(idle: float, *questions: dict[str, Any]) -> str:
    """Why a server ends that is asked these questions."""
    one = PlayServer(desk())
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(one.until_over(idle)), daemon=True)
    thread.start()
    for question in questions:
        assert ask(one, **question)[0] == 200
    thread.join(20)
    assert said, "it has not ended"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(one.server_address[:2], timeout=5)
    return said[0]


def test_it_ends_when_nothing_is_asked() -> None:
    assert ended(0.3) == "nothing was asked for 0.005 minutes"


def test_it_ends_when_the_page_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.3)
    assert ended(3600, {"do": "look"}, {"do": "bye"}) == "the page was closed"


def test_a_reload_or_a_second_page_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.5)
    seen = server.Attendance()
    seen.heard("p1", closed=False)
    seen.heard("p2", closed=False)
    seen.heard("p1", closed=True)
    assert (seen.left, seen.over(60)) == (None, "")
    seen.heard("p2", closed=True)
    assert seen.left is not None
    seen.heard("p3", closed=False)
    time.sleep(0.6)
    assert seen.over(60) == ""
    seen.heard("p3", closed=True)
    time.sleep(0.6)
    assert seen.over(60) == "the page was closed"
