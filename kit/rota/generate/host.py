"""Starts the target that is walked on, again where it has died, and finds its coordinator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.connections.error_codes import NOT_READY
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.operator import BACK_SECONDS
from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.restarting import Alone, Guest
from rota.conformance.targets.target import Running
from rota.generate.life import Died, Life
from rota.generate.player import Coordinator
from rota.generate.rest import processor_seconds
from rota.generate.restarts import Chosen, Restarts
from rota.generate.settings import OTHERS, broker_config
from rota.linearise.times import Span
from rota.spec import BrokerConfig

COMES_BACK = 3.0
"""Seconds in which a target that somebody else runs may be started again by whoever runs it."""

UNREACHED = (Undecidable, Deviation, Closed, Garbage, NotListening)
"""What is raised by who looks for a coordinator and finds none."""


@dataclass
class Host:
    """Parameters: start, gives a target that runs, of one that has died another; reach, finds the coordinator
    of one that runs; settings, with which it is started first; again_with, those with which it is started
    again, which are changed in place, None where they cannot be; targets, how many it may run at a time.
    Attribute: coordinator, the one that was found last.
    """

    start: Callable[[], Running]
    reach: Callable[[Running], Coordinator]
    settings: Mapping[str, int] = field(default_factory=dict)
    again_with: dict[str, int] | None = None
    targets: int = 1
    coordinator: Coordinator | None = None
    _running: Running | None = None

    def begin(self) -> Coordinator:
        """The coordinator of a target that is started now. Errors: NotStarted, one of `UNREACHED`."""
        self.stop()
        began = time.monotonic()
        self._running = self.start()
        self.coordinator = self.reach(self._running)
        self.coordinator.life = Life(self._running)
        if isinstance(self._running, Alone | Guest):
            self.coordinator.restarts = Restarts(self._end, self._back)
        if self.again_with is not None and self.coordinator.restarts is not None:
            self.coordinator.restarts.started = Span(began, time.monotonic())  # nobody else has had it
            self.coordinator.terms = replace(self.coordinator.terms, other_settings=OTHERS)
        return self.coordinator

    async def _end(self, how: str) -> None:
        """End the target by a signal. Errors: Died, where it does not end."""
        running = self._running
        assert isinstance(running, Alone | Guest)
        assert self.coordinator is not None
        self.coordinator.life.ended = True
        try:
            await asyncio.to_thread(running.end, running.address, lambda: None, Signal(how))
        except NotStarted as error:
            raise Died(f"it does not end by {how}: {error}") from error

    async def _back(self, group_ids: Sequence[str], chosen: Chosen) -> BrokerConfig | None:
        """As of `Again`. Errors: Died."""
        running = self._running
        assert isinstance(running, Alone | Guest)
        assert self.coordinator is not None
        settings = {**self.settings, **dict(chosen)}
        if self.again_with is not None:
            self.again_with.update(settings)
        try:
            await asyncio.to_thread(running.start_again)
            there = await asyncio.to_thread(self._read, running, group_ids)
            if self.coordinator.restarts is not None and there.terms.consumer is not None:
                self.coordinator.restarts.topics = there.terms.consumer.topics
            self.coordinator.life.ended = False
        except (NotStarted, *UNREACHED) as error:
            raise Died(f"it did not start again: {error}") from error
        return None if self.again_with is None else broker_config(settings)

    def _read(self, running: Running, group_ids: Sequence[str]) -> Coordinator:
        """Wait until a target that listens coordinates, and no group is loading any more; as it is then."""
        end = time.monotonic() + BACK_SECONDS
        while True:
            try:
                found = self.reach(running)
                break
            except UNREACHED:
                if time.monotonic() > end or running.post_mortem(0) is not None:
                    raise
            time.sleep(0.1)
        with closing(Connection(running.address, "rota-walks")) as connection:
            for group_id in group_ids:
                while _is_loading(connection, group_id) and time.monotonic() < end:
                    time.sleep(0.1)
        return found

    async def again(self) -> Coordinator | None:
        """The coordinator, once the target is there again; None where nobody starts it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + COMES_BACK
        while True:
            try:
                return await asyncio.to_thread(self.begin)
            except NotStarted:
                return None
            except UNREACHED:
                if loop.time() > end:
                    return None
            await asyncio.sleep(0.2)

    def another(self) -> Host:
        """One that starts a target of its own beside this one's."""
        return replace(self, targets=1, coordinator=None, _running=None)

    def processor_seconds(self) -> float | None:
        """What the target has used of processors, None where nobody can tell."""
        return None if self._running is None else processor_seconds(self._running)

    def stop(self) -> str:
        """End what was started; how it fails in that, if it does, which what is dead already may."""
        running, self._running = self._running, None
        try:
            if running is not None:
                running.stop()
        except Exception as error:
            return f"it failed by the time that it was stopped: {type(error).__name__}: {error}"
        return ""


def _is_loading(connection: Connection, group_id: str) -> bool:
    """Whether a group's coordinator asks for patience."""
    sent = connection.send("DescribeGroups", 0, {"groups": [group_id]})
    answer = connection.receive(sent, BACK_SECONDS)
    return answer is None or answer.body["groups"][0]["error_code"] in NOT_READY
