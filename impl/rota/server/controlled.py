"""A server for tests of clients: started in a thread, and held in hand while a block runs.

with controlled() as broker:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "orders", ...})
    ...
    broker.expire("my-client")
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from rota.server.beginning import AT_RANDOM, Beginning
from rota.server.clock import PutForward
from rota.server.controls import Controls, OpenConnection, error_code
from rota.server.faults import Fault, FaultKind, Planned
from rota.server.in_thread import in_thread
from rota.server.listeners import Listening, on_port
from rota.server.settings import USUAL, Settings
from rota.server.snapshots import GroupSnapshot

T = TypeVar("T")

NO_DELAY: Mapping[str, object] = {"group.initial.rebalance.delay.ms": 0}
"""A group does not wait for latecomers: Kafka's three seconds are for production."""

LOOK_SECONDS = 0.01
"""How often `until` looks."""


class ControlledBroker:
    """A broker whose clients are tested. May be used from any thread as long as the block runs.

    bootstrap: "127.0.0.1:PORT", what clients take as bootstrap.servers; address: the same as (host, port).
    """

    def __init__(self, bootstrap: str, controls: Controls, loop: asyncio.AbstractEventLoop) -> None:
        host, _, port = bootstrap.partition(",")[0].rpartition(":")
        self.bootstrap = bootstrap
        self.address = (host, int(port))
        self._controls = controls
        self._loop = loop

    def groups(self) -> dict[str, GroupSnapshot]:
        """Every group as it is now, by id: state, generation, members, assignments, committed offsets."""
        return self._ask(self._controls.groups)

    def until(
        self, happens: Callable[[dict[str, GroupSnapshot]], object], seconds: float = 30.0
    ) -> dict[str, GroupSnapshot]:
        """Returns the groups as soon as something is true of them. Errors: TimeoutError, with the groups."""
        deadline = time.monotonic() + seconds
        while not happens(groups := self.groups()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"in vain for {seconds:g} s; groups: {groups}")
            time.sleep(LOOK_SECONDS)
        return groups

    def connections(self) -> list[OpenConnection]:
        """The open connections on which something was asked."""
        return self._ask(self._controls.connections)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Makes a topic. Errors: ControlError for one that cannot be, or is there."""
        self._ask(lambda: self._controls.create_topic(name, partitions))

    def expire(self, member: str, group_id: str | None = None) -> None:
        """The session of a member is over, as if it had been silent for as long as that takes.

        member: its id, its group instance id, or its client's id, as long as that is one member's.
        Errors: ControlError where it is not, or while the member waits for the answer to a JoinGroup or
        SyncGroup, which keeps it alive.
        """
        self._ask(lambda: self._controls.expire(member, group_id))

    def drop(self, whose: str | OpenConnection) -> int:
        """Closes connections at once, without an answer to what is in flight; returns how many.

        whose: one of `connections()`, or a name: all connections of that client id, or those on which the
        member with that id or group instance id has spoken. Errors: ControlError.
        """
        name = whose.client if isinstance(whose, OpenConnection) else whose
        return self._ask(lambda: self._controls.drop(name))

    def answer_once(self, api: str, error: str | int, client_id: str | None = None) -> Planned:
        """The next request of this API, of this client or of any, gets an error and has no other effect.

        error: by Kafka's name or number. Called again, the one after it gets the next. What it returns can be
        waited for. Errors: ControlError for a name that there is not.
        """
        return self.error(api, error, 1, client_id)

    def error(self, api: str, error: str | int, times: int = 1, client_id: str | None = None) -> Planned:
        """As `answer_once`, so many times."""
        return self._plan(api, Fault(FaultKind.ERROR, error_code(error)), times, client_id)

    def delay(self, api: str, seconds: float, times: int = 1, client_id: str | None = None) -> Planned:
        """The next requests of this API are carried out so much later, by the server's clock."""
        return self._plan(api, Fault(FaultKind.DELAY, delay_ms=int(1000 * seconds)), times, client_id)

    def ignore(self, api: str, times: int = 1, client_id: str | None = None) -> Planned:
        """The next requests of this API are neither carried out nor answered; their connections stay."""
        return self._plan(api, Fault(FaultKind.DROP), times, client_id)

    def cut(self, api: str, times: int = 1, client_id: str | None = None) -> Planned:
        """The next requests of this API are carried out, and their connections break amid the answers."""
        return self._plan(api, Fault(FaultKind.CUT), times, client_id)

    def _plan(self, api: str, fault: Fault, times: int, client_id: str | None) -> Planned:
        if times < 1:
            raise ValueError(f"times={times} is no number of requests; give 1 or more")
        return self._ask(lambda: self._controls.plan(api, fault, client_id, times))

    def fail_appends(self, error: str | int, times: int = 1) -> None:
        """The log answers the coordinator's next appends with an error. Errors: ControlError."""
        self._ask(lambda: self._controls.fail_appends(error, times))

    def move_coordinator(self, node_id: int | None = None, group_id: str | None = None) -> str:
        """Another broker becomes the coordinator of all groups; its address, which FindCoordinator names.

        It has what the log has: groups that are Stable stay so, with members, generation and offsets. What is
        parked is answered NOT_COORDINATOR, also of groups that stay where they are: all are loaded anew. And
        so is whoever still asks the old one. Records are where they were.

        node_id: which broker, by default the next one; where there is one, another one opens, and the next
        move goes back. group_id: only groups in one partition of the log with this one move.
        Errors: ControlError for a broker that there is not.
        """
        return self._await(self._controls.move_coordinator(node_id, group_id))

    def unload_coordinator(self) -> None:
        """Nobody coordinates from now on, until `load_coordinator` or `move_coordinator`.

        What is parked, and whoever asks, is answered NOT_COORDINATOR, FindCoordinator
        COORDINATOR_NOT_AVAILABLE. Errors: ControlError where nobody does already.
        """
        self._await(self._controls.unload_coordinator())

    def load_coordinator(self) -> str:
        """The broker that coordinated last does again, with what the log has; its address."""
        return self._await(self._controls.load_coordinator())

    def reset(self) -> None:
        """As if it had just been started, at the same address; but the clock stays where it was put.

        Connections are closed. Groups, offsets, topics, transactions and planned faults are gone.
        """
        self._await(self._controls.reset())

    def advance(self, seconds: float) -> None:
        """Puts the server's clock forward: sessions, rebalances, retention and idle connections run out.

        What is due happens in its order before this returns; clients live on in real time, so who was not
        heard from within its session, by the server's clock, is removed.
        """
        if seconds < 0:
            raise ValueError(f"the clock cannot be put back by {-seconds:g} s; give a positive number")
        self._await(self._controls.advance(seconds))

    def _ask(self, ask: Callable[[], T]) -> T:
        """What is answered in one step of the server's event loop."""

        async def there() -> T:
            return ask()

        return self._await(there())

    def _await(self, answer: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()


@contextmanager
def controlled(
    config: Mapping[str, object] | None = None,
    port: int = 0,
    profile: str = USUAL,
    where: Listening | None = None,
    brokers: int = 1,
    beginning: Beginning = AT_RANDOM,
) -> Iterator[ControlledBroker]:
    """A server in a thread of its own while the block runs, held in hand.

    config: settings by Kafka's names, beside `NO_DELAY`. where: as of `serve`; brokers: how many there are,
    where that does not say; beginning: with which topics and ids. All is in memory.
    Errors: as of `running`.
    """

    async def serve(stop: asyncio.Event, listening: Callable[[ControlledBroker], object]) -> None:
        loop = cast(PutForward, asyncio.get_running_loop())
        settings = Settings.of({**NO_DELAY, **(config or {})}, profile)
        controls = Controls(loop, settings, where or Listening(on_port(port), brokers), beginning)
        address = await controls.start()
        try:
            listening(ControlledBroker(address, controls, loop))
            await stop.wait()
        finally:
            await controls.stop()

    with in_thread(serve, PutForward) as broker:
        yield broker
