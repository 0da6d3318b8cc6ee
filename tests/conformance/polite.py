"""A small broker whose every answer a test can choose: what is not chosen is refused politely."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from harness.sockets import exactly
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Script
from rota.conformance.results import DialogueResult
from rota.conformance.runner import Options, perform
from rota.conformance.targets.target import Target
from rota.wire import api, decode_request, encode_response, frame

Answer = Callable[[Any], Mapping[str, Any] | None]
"""From a request to the body of the answer; None for no answer."""

UNKNOWN_MEMBER_ID = 25
GROUP_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")


class Polite:
    """Serves on 127.0.0.1, a thread for each connection, until it dies or is stopped.

    versions: API -> first and last version that is advertised, beside those of the group protocol.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        versions: Mapping[str, tuple[int, int]] | None = None,
        port: int = 0,
    ) -> None:
        self._answers = answers or {}
        advertised = {**{name: (0, api(name).max_version) for name in GROUP_APIS}, **(versions or {})}
        self._advertised = [
            {"api_key": api(name).key, "min_version": first, "max_version": last}
            for name, (first, last) in advertised.items()
        ]
        self.asked: Counter[str] = Counter()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.address: tuple[str, int] = ("127.0.0.1", self._listener.getsockname()[1])
        self.name = f"127.0.0.1:{self.address[1]}"
        self.dead = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def die(self, after: float = 0.0) -> None:
        """Be no more, some seconds from now; whoever is connected sees the end of the stream."""
        if after:
            threading.Timer(after, self.die).start()
            return
        self.dead.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def post_mortem(self, grace: float) -> str | None:
        """As of any running target."""
        return "it is no more" if self.dead.wait(grace) else None

    def stop(self) -> None:
        """Nothing: others use it, too."""

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                (length,) = struct.unpack(">i", exactly(connection, 4))
                request = decode_request(exactly(connection, length))
                name = request.api.name
                self.asked[name] += 1
                body: Mapping[str, Any] | None
                if name == "ApiVersions":
                    body = {"api_keys": self._advertised}
                else:
                    body = self._answers.get(name, _refused)(request)
                if body is not None:
                    data = encode_response(name, request.version, body, request.correlation_id)
                    connection.sendall(frame(data))


def _refused(_request: Any) -> Mapping[str, Any]:
    return {"error_code": UNKNOWN_MEMBER_ID}


def slowly(seconds: float, body: Mapping[str, Any]) -> Answer:
    """An answer that takes its time."""

    def answer(_request: Any) -> Mapping[str, Any]:
        time.sleep(seconds)
        return body

    return answer


def shared(server: Polite, parallel: int = 4) -> Target:
    """A target that everybody shares and nobody starts again."""
    return Target("polite", lambda _: server, fresh=False, parallel=parallel, known={INITIAL_DELAY: 0})


def script(play: Callable[[Dialogue], None], id: str = "test.of.it", **more: Any) -> Script:
    """A dialogue for a test."""
    return Script(id=id, sentence="It is so.", source="a test", play=play, **more)


def played(
    play: Callable[[Dialogue], None], server: Polite, patience: float = 1.0, **more: Any
) -> DialogueResult:
    """What becomes of one dialogue with a server."""
    options = Options(seed=1, patience=patience)
    ((_, result),) = perform([script(play, **more)], shared(server), options, {})
    return result
