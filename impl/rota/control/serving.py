"""A server with a control port, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from rota.control.http import ControlPort
from rota.server.beginning import AT_RANDOM, Beginning
from rota.server.broker import Server
from rota.server.clock import PutForward
from rota.server.controls import ControlPortError, Controls
from rota.server.listeners import Listening
from rota.server.settings import USUAL, Settings


async def serve_controlled(
    config: Mapping[str, object],
    where: Listening,
    control: int,
    stop: asyncio.Event,
    listening: Callable[[Server, ControlPort], object],
    profile: str = USUAL,
    beginning: Beginning = AT_RANDOM,
) -> None:
    """As `rota.server.serve`, all in memory, in the hand of whoever asks at the port `control`; 0: any.

    The running loop has to be a PutForward. `listening` is told the server, and the other port.
    Errors: ControlPortError; as of `rota.server.serve`.
    """
    loop = cast(PutForward, asyncio.get_running_loop())
    controls = Controls(loop, Settings.of(config, profile), where, beginning)
    await controls.start()
    try:
        door = _opened(controls, loop, control)
        try:
            listening(controls.server, door)
            await stop.wait()
        finally:
            await asyncio.to_thread(door.stop)  # what it carries out needs this loop
    finally:
        await controls.stop()


def _opened(controls: Controls, loop: asyncio.AbstractEventLoop, port: int) -> ControlPort:
    try:
        return ControlPort(controls, loop, port)
    except OSError as error:
        raise ControlPortError(error.errno, error.strerror) from error
