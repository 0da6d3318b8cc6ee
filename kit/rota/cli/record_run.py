"""A run of `rota record`: the target, the proxy before it, and the file behind it."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rota.cli.conform_target import one_target
from rota.cli.errors import UNDECIDED, UsageError
from rota.cli.interrupts import ENDING, Interrupted
from rota.cli.keeping import try_files, write_files
from rota.cli.record_options import Between, Keeping
from rota.conformance.connections.security import Security, security_of
from rota.conformance.targets.preflight import NoBroker, see_whether_it_is_kafka
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import TargetError
from rota.record.addresses import Place
from rota.record.dialogue import Counted
from rota.record.proxy import Proxy
from rota.record.redaction import Redactor
from rota.record.writer import CannotRecord, Lines, opened
from rota.report.format import counted

PATIENCE = 5.0
"""Seconds in which a broker has to answer before clients are let in."""


def run(between: Between, keeping: Keeping) -> None:
    """Record until the end. Errors: UsageError, Interrupted."""
    try_files([between.port_file] if between.port_file else [], "name another --port-file")
    place = _place(between.listen)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with _target(between) as broker, _lines(keeping.out) as lines:
        security = Security(security_of(broker).tls)
        redactor = Redactor() if keeping.redact else None
        led = None if keeping.redact else _led(keeping)
        proxy = Proxy((broker[0], broker[1]), lines, security, redactor, led)
        try:
            interrupted = asyncio.run(_record(proxy, place, between, keeping))
        except CannotRecord as error:
            raise UsageError(_full(error, keeping.out, lines.number), UNDECIDED) from None
        _tell(keeping, _summary(proxy.counted, keeping.out, lines.number))
    if interrupted is not None:
        raise Interrupted(interrupted)


@contextmanager
def _target(between: Between) -> Iterator[Place]:
    """Where a broker of the target is, which answers. Errors: UsageError."""
    try:
        target = one_target(between.target, False, (), between.command_config)
    except TargetError as error:
        raise UsageError(str(error), UNDECIDED if not error.there else 2) from None
    try:
        running = target.start({})
    except NotStarted as error:
        cause = f"target {target.name} does not start: {error}"
        raise UsageError(f"{cause}; {error.remedy}", UNDECIDED) from error
    try:
        see_whether_it_is_kafka(running.address, PATIENCE)
        yield running.address
    except NoBroker as error:
        raise UsageError(str(error), UNDECIDED) from None
    finally:
        running.stop()
        target.close()


@contextmanager
def _lines(out: Path | None) -> Iterator[Lines]:
    """Where lines go. Errors: UsageError."""
    if out is None:
        sys.stdout.flush()
        yield Lines(sys.stdout.fileno(), "recording")
        return
    was_there = out.exists()
    try:
        descriptor = opened(out)
    except FileExistsError:
        raise UsageError(f"{out} is there already; name a new file with --out") from None
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}; name another --out") from None
    try:
        yield Lines(descriptor, out.name)
    except UsageError:
        if not was_there and not os.fstat(descriptor).st_size:
            out.unlink()  # as where it cannot listen: nothing was recorded
        raise
    finally:
        os.close(descriptor)


def _place(text: str) -> Place:
    """A host and a port. Errors: UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(f"cannot read --listen {text!r}; write HOST:PORT, as --listen 127.0.0.1:9092")
    return host.strip("[]"), int(port)


async def _record(proxy: Proxy, place: Place, between: Between, keeping: Keeping) -> int | None:
    """Record until a signal or the time ends it; the signal, unless it was SIGTERM."""
    stop = asyncio.Event()
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        received.append(number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as SIGHUP under nohup
            loop.add_signal_handler(number, end, number)
    try:
        host, port = proxy.listen(*place)
    except OSError as error:
        cause = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        raise UsageError(f"cannot listen on {between.listen}: {cause}; name another --listen") from None
    if between.port_file is not None:
        write_files([(between.port_file, f"{port}\n")])
    try:
        _tell(keeping, f"listening on {_shown((host, port))}")
        if keeping.seconds is not None:
            loop.call_later(keeping.seconds, stop.set)
        await proxy.serve(stop)
    finally:
        if between.port_file is not None:
            between.port_file.unlink(missing_ok=True)
    return None if not received or received[0] == signal.SIGTERM else received[0]


def _led(keeping: Keeping) -> Callable[[Place, Place], None]:
    """What tells of the brokers that clients are led to."""

    def told(broker: Place, place: Place) -> None:
        _tell(keeping, f"{_shown(place)} stands for {_shown(broker)}")

    return told


def _tell(keeping: Keeping, sentence: str) -> None:
    """For whoever watches; not among the lines."""
    click.echo(sentence, err=keeping.out is None)


def _shown(place: Place) -> str:
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _summary(told: Counted, out: Path | None, lines: int) -> str:
    more = f", {told.unread:,} not read" if told.unread else ""
    more += f", {counted(told.gaps, 'gap')}" if told.gaps else ""
    said = f"{counted(told.requests, 'request')} and {counted(told.responses, 'response')}"
    where = f" in {out}" if out is not None else ""
    return (
        f"recorded {said} on {counted(told.connections, 'connection')}{more}: {counted(lines, 'line')}{where}"
    )


def _full(error: CannotRecord, out: Path | None, lines: int) -> str:
    where = out or "standard output"
    return (
        f"cannot write {where} any more: {error}; make room; what it has is whole: {counted(lines, 'line')}"
    )
