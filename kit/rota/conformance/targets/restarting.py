"""Servers that are ended in the middle of dialogues and started again: for one alone, or for several at once.

Where a start takes seconds the dialogues share one server. Each prepares what it wants to find again and
waits; when all of them wait, the server ends once, for all, and each goes on with its own groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.process import NotStarted

QUIET = 0.5
"""Seconds without a newcomer after which those who wait have waited for others long enough."""

OPEN = 2.0
"""Seconds that the first who waits is ready to wait for newcomers; later ones come when it has ended."""

_SLICE = 0.1


class Server(Protocol):
    """A server whose data outlive it, or a cluster of which one broker can end."""

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens; of a cluster, a broker that lives."""

    def post_mortem(self, grace: float) -> str | None:
        """How it died, or None if it lives; waits up to `grace` seconds for a death that is under way."""

    def end(self, address: tuple[str, int], how: Signal) -> None:
        """End it, of a cluster the broker that listens at the address. Errors: NotStarted."""

    def start_again(self) -> None:
        """Start it at the same address with what it has stored. Errors: NotStarted."""

    def stop(self) -> None:
        """End it for good and remove what it has stored."""


class Alone:
    """A server that one dialogue has for itself. before_again: what is changed while it is down."""

    def __init__(self, server: Server, how: Signal, before_again: Callable[[], None] = lambda: None) -> None:
        self.server = server
        self._how = how
        self._before_again = before_again
        self._gone: str | None = None

    @property
    def address(self) -> tuple[str, int]:
        """As `Server.address`."""
        return self.server.address

    def post_mortem(self, grace: float) -> str | None:
        """As `Server.post_mortem`; what did not start again is dead."""
        return self._gone or self.server.post_mortem(grace)

    def end(self, address: tuple[str, int], _go_on: Callable[[], None], how: Signal | None = None) -> None:
        """As `Server.end`, at once. how: if not as was said."""
        self.server.end(address, how or self._how)

    def start_again(self) -> None:
        """As `Server.start_again`."""
        self._before_again()
        try:
            self.server.start_again()
        except NotStarted as error:
            self._gone = _not_again(error)
            raise

    def stop(self) -> None:
        """As `Server.stop`."""
        self.server.stop()


def _not_again(error: NotStarted) -> str:
    return f"it did not start again: {error}"


@dataclass
class _Round:
    """The guests until the next end of the server: who is there, who waits for it, since when."""

    guests: set[Guest] = field(default_factory=set)
    waiting: set[Guest] = field(default_factory=set)
    changed: float = 0.0
    first_waits_since: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether others may still come: nobody has waited for long."""
        since = self.first_waits_since
        return since is None or time.monotonic() - since < OPEN

    @property
    def complete(self) -> bool:
        """Whether all wait, and nobody has come or gone for a moment."""
        return self.guests == self.waiting and time.monotonic() - self.changed > QUIET


class Rendezvous:
    """A server that several dialogues share, which ends when all of them want it to.

    It is launched for the first one that comes. Who ends it by one signal waits for those who do by another.
    """

    def __init__(self, launch: Callable[[], Server]) -> None:
        self._launch = launch
        self._changed = threading.Condition()
        self._server: Server | None = None
        self._failed: NotStarted | None = None
        self._round = _Round()
        self._down = False
        self._retired: dict[Server, NotStarted] = {}

    def enter(self, how: Signal | None) -> Guest:
        """Take part, until `Guest.stop`; None for who ends nothing. Errors: NotStarted, once and for all."""
        with self._changed:
            while not self._has_room_for(how):
                self._changed.wait(_SLICE)
            if self._failed is not None:
                raise self._failed
            server = self._server_that_lives()
            guest = Guest(self, server, how)
            self._round.guests.add(guest)
            self._note()
            return guest

    def leave(self, guest: Guest) -> None:
        """The guest has no more to do with it."""
        with self._changed:
            self._round.guests.discard(guest)
            self._note()

    def end(
        self, guest: Guest, address: tuple[str, int], go_on: Callable[[], None], how: Signal | None = None
    ) -> None:
        """Wait for the others, then end the server; `go_on` is called meanwhile. Errors: NotStarted."""
        with self._changed:
            mine = self._round
            mine.waiting.add(guest)
            mine.first_waits_since = mine.first_waits_since or time.monotonic()
            self._note()
            try:
                while self._round is mine and not mine.complete:
                    self._changed.wait(_SLICE)
                    go_on()
            finally:
                mine.waiting.discard(guest)
                mine.first_waits_since = mine.first_waits_since if mine.waiting else None
            if self._round is mine:
                self._end(guest, address, how or guest.how)

    def start_again(self, guest: Guest) -> None:
        """Start the server unless another guest has done so already. Errors: NotStarted, for each."""
        with self._changed:
            if guest.server is self._server and self._down:
                self._bring_back(guest.server)
            if guest.server in self._retired:
                raise self._retired[guest.server]

    def obituary(self, server: Server, grace: float) -> str | None:
        """As `Server.post_mortem`; what did not start again is dead."""
        error = self._retired.get(server)
        return server.post_mortem(grace) if error is None else _not_again(error)

    def close(self) -> None:
        """End the server for good, and what is left of those that did not start again."""
        with self._changed:
            for server in (*self._retired, self._server):
                if server is not None:
                    server.stop()
            self._server = None

    def _has_room_for(self, how: Signal | None) -> bool:
        others = {guest.how for guest in self._round.guests} - {None}
        return self._round.is_open and (how is None or others <= {how})

    def _server_that_lives(self) -> Server:
        if self._server is not None and self._down:
            self._bring_back(self._server)
        if self._server is not None and self._server.post_mortem(0) is not None:
            self._retired[self._server] = NotStarted("it is dead")
            self._server = None
        if self._server is None:
            try:
                self._server = self._launch()
            except NotStarted as error:
                self._failed = error
                raise
        return self._server

    def _bring_back(self, server: Server) -> None:
        self._down = False
        try:
            server.start_again()
        except NotStarted as error:
            self._retired[server] = error
            self._server = None

    def _end(self, guest: Guest, address: tuple[str, int], how: Signal | None) -> None:
        """The round is over for all who wait, and the server is down, even if it did not end as it should."""
        self._round = _Round(guests=set(self._round.guests))
        self._down = True
        self._note()
        assert how is not None
        guest.server.end(address, how)

    def _note(self) -> None:
        self._round.changed = time.monotonic()
        self._changed.notify_all()


class Shared:
    """The servers of one kind that restarting dialogues share, one for each set of settings.

    apart: there is one for each signal too. Where a server is dear, those who end it by one wait for others.
    """

    def __init__(self, launch: Callable[[Mapping[str, int]], Server], apart: bool = True) -> None:
        self._launch = launch
        self._apart = apart
        self._lock = threading.Lock()
        self._places: dict[frozenset[tuple[str, object]], Rendezvous] = {}

    def start(self, settings: Mapping[str, int], how: Signal | None) -> Guest:
        """A part in the server with these settings, launched if there is none. Errors: NotStarted."""
        key = frozenset({**settings, "ended": how if self._apart else None}.items())
        with self._lock:
            place = self._places.setdefault(key, Rendezvous(partial(self._launch, settings)))
        return place.enter(how)

    def close(self) -> None:
        """End them all for good."""
        with self._lock:
            places = list(self._places.values())
            self._places.clear()
        for place in places:
            place.close()


class Guest:
    """One dialogue's part in a server that it shares."""

    def __init__(self, rendezvous: Rendezvous, server: Server, how: Signal | None) -> None:
        self._rendezvous = rendezvous
        self.server = server
        self.how = how

    @property
    def address(self) -> tuple[str, int]:
        """Where the server is; of a cluster, a broker that lives."""
        return self.server.address

    def post_mortem(self, grace: float) -> str | None:
        """As `Rendezvous.obituary`."""
        return self._rendezvous.obituary(self.server, grace)

    def end(self, address: tuple[str, int], go_on: Callable[[], None], how: Signal | None = None) -> None:
        """As `Rendezvous.end`. how: if not as was said when it was started."""
        self._rendezvous.end(self, address, go_on, how)

    def start_again(self) -> None:
        """As `Rendezvous.start_again`."""
        self._rendezvous.start_again(self)

    def stop(self) -> None:
        """It goes on for the others."""
        self._rendezvous.leave(self)
