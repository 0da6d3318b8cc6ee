"""A server in a thread of its own while a block runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def in_thread(
    serve: Callable[[asyncio.Event, Callable[[T], object]], Coroutine[Any, Any, None]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> Iterator[T]:
    """Runs `serve` until the block is over; gives what it calls its second argument with.

    serve: gets an event that asks it to end, and whom to tell that it listens. Errors: what it raises before
    it listens is raised before the block, whatever its end raises after it.
    """
    told: Future[T] = Future()
    ending: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    outcome: Future[None] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        ending.set_result((asyncio.get_running_loop(), stop))
        await serve(stop, told.set_result)

    def thread() -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(main())
            outcome.set_result(None)
        except BaseException as error:
            outcome.set_exception(error)
            if not told.done():
                told.set_exception(error)

    worker = threading.Thread(target=thread, name="rota-server", daemon=True)
    worker.start()
    try:
        yield told.result()
    finally:
        loop, stop = ending.result()
        if not outcome.done():
            loop.call_soon_threadsafe(stop.set)
        worker.join()
    outcome.result()
