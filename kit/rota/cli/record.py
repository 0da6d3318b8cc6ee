"""`rota record`: a proxy between clients and brokers that keeps what is said of groups."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli import completing
from rota.cli.conform_target import one_target
from rota.cli.errors import UNDECIDED, UsageError
from rota.cli.interrupts import ENDING, Interrupted
from rota.cli.keeping import try_files, write_files
from rota.cli.options import takes
from rota.cli.verb import Example, Verb
from rota.conformance.connections.security import Security, security_of
from rota.conformance.targets.preflight import NoBroker, see_whether_it_is_kafka
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import TargetError
from rota.record.addresses import Place
from rota.record.dialogue import Counted
from rota.record.proxy import Proxy
from rota.record.redaction import Redactor
from rota.record.writer import CannotRecord, Lines, opened

PATIENCE = 5.0
"""Seconds in which a broker has to answer before clients are let in."""

SECTIONS = {
    "Between whom": ("--target", "--command-config", "--listen", "--port-file"),
    "What to keep": ("--out", "--redact", "--seconds"),
}

EXAMPLES = (
    Example("rota record --target kafka-1:9092 --listen 127.0.0.1:9092 --out night.jsonl",
            "Clients with bootstrap.servers=127.0.0.1:9092 go through it to every broker; until Ctrl-C."),
    Example("rota record --target kafka-1:9092 --redact --seconds 600 --out night.jsonl",
            "Ten minutes, on a port that it prints, without the names of anybody or anything."),
)  # fmt: skip


@dataclass(frozen=True)
class Between:
    """Who is led where. target: as `conform` takes it; listen: HOST:PORT for clients."""

    target: str
    command_config: Path | None
    listen: str
    port_file: Path | None


@dataclass(frozen=True)
class Keeping:
    """What is kept. out: None for standard output; seconds: None until a signal."""

    out: Path | None
    redact: bool
    seconds: float | None


BETWEEN = (
    click.option("--target", required=True, metavar="TARGET", shell_complete=completing.targets,
                 help="HOST:PORT of a broker, or a target that `rota conform` starts, as rota, kafka-4.4.0."),
    click.option("--command-config", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="Properties of a client for TLS to the brokers (security.protocol, ssl.*)."),
    click.option("--listen", default="127.0.0.1:0", metavar="HOST:PORT",
                 help="Where clients begin; port 0: any. Other brokers get ports of their own on this host."),
    click.option("--port-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="File to write the port to when it listens; removed at its end."),
)  # fmt: skip

KEEPING = (
    click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="New file for the recording, an event a line; without it they are printed."),
    click.option("--redact", is_flag=True,
                 help="Hash ids, hosts, groups, topics and metadata: equal stays equal, within a recording."),
    click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="N",
                 help="End after N seconds; without it a signal ends it."),
)  # fmt: skip


@click.command(
    cls=Verb,
    sections=SECTIONS,
    examples=EXAMPLES,
    epilog="Ends on SIGTERM, or after --seconds, with exit code 0, on SIGINT or SIGHUP with 130; on a full "
    "disk with 3. What was recorded until then are whole lines.",
)
@takes("between", Between, *BETWEEN)
@takes("keeping", Keeping, *KEEPING)
def record(between: Between, keeping: Keeping) -> None:
    """Record what clients and a coordinator say to each other about groups.

    A proxy: clients take its address as bootstrap.servers and are led through it to every broker of the
    target. Group, offset and metadata requests are recorded with their answers, frame by frame; payloads and
    authentication never are. Clients speak to it without TLS; SASL passes through it.
    """
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
    try:
        descriptor = opened(out)
    except FileExistsError:
        raise UsageError(f"{out} is there already; name a new file with --out") from None
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}; name another --out") from None
    try:
        yield Lines(descriptor, out.name)
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


def _summary(counted: Counted, out: Path | None, lines: int) -> str:
    more = f", {counted.unread:,} not read" if counted.unread else ""
    more += f", {counted.gaps:,} gaps" if counted.gaps else ""
    said = f"{counted.requests:,} requests and {counted.responses:,} responses"
    where = f" in {out}" if out is not None else ""
    return f"recorded {said} on {counted.connections:,} connections{more}: {lines:,} lines{where}"


def _full(error: CannotRecord, out: Path | None, lines: int) -> str:
    where = out or "standard output"
    return f"cannot write {where} any more: {error}; make room; its {lines:,} lines are whole"
