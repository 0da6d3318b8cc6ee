"""What becomes of requests whose answers a test has planned: errors, delays, silence, half an answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rota.server.connection import Connection
from rota.server.context import RequestContext
from rota.wire import Bytes, encode_response, frame, frame_reply


class FaultKind(StrEnum):
    """What is done to a request, or to its answer.

    error: it gets an error and has no other effect. delay: it is carried out later. drop: it is neither
    carried out nor answered, and its connection stays. cut: it is carried out, half of its answer is sent,
    and the connection is closed.
    """

    ERROR = "error"
    DELAY = "delay"
    DROP = "drop"
    CUT = "cut"


@dataclass(frozen=True)
class Fault:
    """A kind of fault. error_code: what an `error` says; delay_ms: how late a `delay` is."""

    kind: FaultKind
    error_code: int = 0
    delay_ms: int = 0


@dataclass(eq=False)
class Planned:
    """A fault that the next `left` requests of an API meet, of a client or of any. `answered`: all have."""

    api: str
    fault: Fault
    client_id: str | None
    left: int = 1
    answered: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float = 30.0) -> None:
        """Returns when all these requests have met it. Errors: TimeoutError."""
        if not self.answered.wait(seconds):
            raise TimeoutError(f"nobody has sent {self.api} in {seconds:g} s")


class Faults:
    """All that is planned, the oldest first."""

    def __init__(self) -> None:
        self.planned: list[Planned] = []
        self._append_errors: list[int] = []

    @property
    def append_errors(self) -> Sequence[int]:
        """The error codes of the log's next answers."""
        return tuple(self._append_errors)

    def fail_appends(self, error_code: int, times: int) -> None:
        """The log refuses so many appends, behind those that it is to refuse already."""
        self._append_errors += [error_code] * times

    def of_append(self) -> int:
        """With which error the log answers the next append, 0 for none."""
        return self._append_errors.pop(0) if self._append_errors else 0

    def of(self, api: str, client_id: str | None) -> Fault | None:
        """What a request that has come meets; it counts."""
        for planned in self.planned:
            if planned.api == api and planned.client_id in (None, client_id):
                planned.left -= 1
                if not planned.left:
                    self.planned.remove(planned)
                    planned.answered.set()
                return planned.fault
        return None

    def forget(self) -> None:
        """Nothing is planned any more."""
        self.planned.clear()
        self._append_errors.clear()


class CutOff:
    """The connection of a request whose answer breaks off in the middle. As of `Answering`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.client_host = connection.client_host
        self.endpoint = connection.endpoint

    @property
    def is_there(self) -> bool:
        """Of the connection."""
        return self._connection.is_there

    def answer(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """Half of the response."""
        self._connection.break_off(frame(encode_response(name, version, body, correlation_id)))

    def answer_with(self, name: str, version: int, reply: object, correlation_id: int) -> None:
        """Half of the response."""
        out = bytearray()
        frame_reply(out, name, version, reply, correlation_id)
        self._connection.break_off(out)

    def answer_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """Half of the response."""
        self._connection.break_off(frame(b"".join(pieces)))

    def ended(self, context: RequestContext) -> None:
        """Of the connection."""
        self._connection.ended(context)

    def dropped(self, context: RequestContext) -> None:
        """Of the connection."""
        self._connection.dropped(context)

    def close(self, reason: str = "") -> None:
        """Of the connection."""
        self._connection.close(reason)
