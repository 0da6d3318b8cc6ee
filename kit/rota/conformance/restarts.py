"""How a dialogue's target is ended and started again, with what it takes to find the coordinator then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from rota.conformance.connections.connection import Closed
from rota.conformance.dialogues.failures import Deviation, Interrupted, Undecidable
from rota.conformance.dialogues.operator import BACK_SECONDS
from rota.conformance.dialogues.script import Script
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Restartable, Running

Opened = tuple[tuple[str, int], dict[str, int]]


def restarts_of(
    script: Script, running: Running, find: Callable[[], Opened], stop: threading.Event
) -> Restarts | None:
    """The operator of a dialogue, None for one that restarts nothing."""
    if script.restarts is None:
        return None
    return Restarts(script, cast("Restartable", running), find, stop)  # it was started for this dialogue


@dataclass
class Restarts:
    """The operator of one dialogue. find: opens the dialogue anew, at the address of the coordinator."""

    script: Script
    running: Restartable
    find: Callable[[], Opened]
    stop: threading.Event

    @property
    def signal(self) -> str:
        """The signal that ends the target."""
        return self.script.restarts or ""

    @property
    def who(self) -> str:
        """What is ended."""
        return "the target" if self.script.brokers == 1 else "the broker that coordinates"

    @property
    def back(self) -> str:
        """What is there afterwards."""
        return "the target is started again" if self.script.brokers == 1 else "another broker coordinates"

    def end(self, address: tuple[str, int]) -> None:
        """As `Operator.end`; a target that has died before is not ended, and is not there any more."""
        if (obituary := self.running.post_mortem(0)) is not None:
            raise Closed(obituary)
        try:
            self.running.end(address, self._go_on)
        except NotStarted as error:
            raise Deviation(f"a target that ends by {self.signal}", str(error)) from error

    def start_again(self, ready: bool) -> tuple[str, int]:
        """As `Operator.start_again`."""
        try:
            self.running.start_again()
        except NotStarted as error:
            raise Deviation("the target again, with what it has stored", str(error)) from error
        return self.found()[0] if ready else self.running.address

    def found(self) -> Opened:
        """The dialogue opened, when the target is ready; it may have been started again just now for others.

        Errors: those of `open_with`, when it takes too long.
        """
        deadline = time.monotonic() + BACK_SECONDS
        while True:
            self._go_on()
            try:
                return self.find()
            except (Closed, Undecidable):
                if time.monotonic() > deadline or self.running.post_mortem(0) is not None:
                    raise
            self.stop.wait(0.2)

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Interrupted
