"""`rota serve`: rota's broker behind Kafka's wire protocol, until a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli import completing
from rota.cli.errors import UsageError, nearly
from rota.cli.interrupts import ENDING, Interrupted
from rota.cli.keeping import try_files, write_files
from rota.cli.serve_options import ADMITTING, LISTENING, listening, listening_options, ports, told
from rota.cli.verb import Example, Verb
from rota.coordinator import GroupCoordinator
from rota.log import Fsync
from rota.server import (
    KNOWN,
    SERVED,
    USUAL,
    DataDir,
    Server,
    Settings,
    SettingsError,
    StorageError,
    default,
)
from rota.server import serve as serve_until
from rota.server.allocator import give_back_large
from rota.server.beginning import Beginning, topics_of
from rota.server.clock import PutForward
from rota.server.controls import ControlPortError
from rota.server.endpoints import PortTaken
from rota.server.garbage import collect_seldom
from rota.server.listeners import Listening

if TYPE_CHECKING:
    from rota.control.http import ControlPort

USUAL_SETTING = "group.initial.rebalance.delay.ms=0"
_WIDTH = max(map(len, KNOWN))
_TABLE = "\n".join(f"  {name:{_WIDTH}}  {str(default(name)).lower()}" for name in KNOWN)


SECTIONS = {
    "Where it listens": LISTENING,
    "Whom it lets in": ADMITTING,
    "What it keeps": ("--data-dir", "--fsync"),
    "What tests may do to it": ("--control", "--control-file"),
    "What it begins with": ("--topic", "--seed"),
    "How it behaves": ("--profile", "--set", "--until-stdin-ends"),
    "What to report": ("--log-level",),
}

EXAMPLES = (
    Example("rota serve --port 9092", "A broker for clients with bootstrap.servers=127.0.0.1:9092."),
    Example("rota serve --port 9092 --data-dir groups --log-level info",
            "Its groups outlive it; what happens to them is told in the words of Kafka's log."),
    Example("rota serve --port 9092 --control 9093",
            "Tests in any language make it misbehave: http://127.0.0.1:9093/openapi.json says how."),
    Example("rota serve --set group.initial.rebalance.delay.ms=0",
            "First members need not wait; on any port, which it prints."),
)  # fmt: skip


@click.command(
    cls=Verb,
    sections=SECTIONS,
    examples=EXAMPLES,
    epilog="Ends with exit code 0 on SIGTERM, and where --until-stdin-ends says so; with 130 on SIGINT or "
    "SIGHUP.\n\n"
    f"\b\nSettings, by Kafka's names, with their defaults:\n{_TABLE}",
)
@listening_options
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder in which groups and offsets are kept, made if it is not there; without it they go.",
)
@click.option(
    "--fsync",
    default="always",
    metavar="always|never|MS",
    help="When what --data-dir keeps is forced to the disk: before each answer, when the system likes, or "
    "every so many milliseconds.",
)
@click.option(
    "--control",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port on 127.0.0.1 at which tests ask for faults, by HTTP and JSON; 0: any. Off by default.",
)
@click.option(
    "--control-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write the port of --control to when it listens; removed at its end.",
)
@click.option(
    "--until-stdin-ends",
    "with_starter",
    is_flag=True,
    help="End, too, when standard input does: a pipe from whoever started it, which closes with that process "
    "in any case.",
)
@click.option("--topic", "topics", metavar="NAME:PARTITIONS", multiple=True,
              help="A topic that is there from the start; repeatable.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), metavar="N",
              help="Member and topic ids are made of this, the same in each run.")  # fmt: skip
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="A broker setting; repeatable.",
              shell_complete=completing.settings_of_brokers)  # fmt: skip
@click.option(
    "--profile",
    type=click.Choice(list(SERVED)),
    default=USUAL,
    help="Kafka 4 with rota's mends, or to the letter.",
)
@click.option(
    "--log-level",
    type=click.Choice(("error", "warning", "info"), case_sensitive=False),
    default="warning",
    help="What is said on standard error. info: an event of a group a line, in the words of Kafka's log, and "
    "which connections are closed, and why.",
)
def serve(
    port_file: Path | None,
    data_dir: Path | None,
    fsync: str,
    control: int | None,
    control_file: Path | None,
    with_starter: bool,
    topics: tuple[str, ...],
    seed: int | None,
    settings: tuple[str, ...],
    profile: str,
    log_level: str,
    **where: Any,
) -> None:
    """Run rota's broker with Kafka's wire protocol, on 127.0.0.1 unless --listen says otherwise.

    Consumer groups and topics, all in memory; with --data-dir the groups outlive it. Clients take the address
    that it prints first as bootstrap.servers. Topics are made by CreateTopics, or when a
    client asks for one. What it mends is in docs/beside-kafka.md.
    """
    config, data, at = _config(settings), _data_dir(data_dir, fsync), listening(**where)
    beginning = _beginning(topics, seed, data)
    _check_control(control, control_file, at, data)
    try_files([port_file] if port_file else [], "name another --port-file")
    try_files([control_file] if control_file else [], "name another --control-file")
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(message)s")
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    try:
        with asyncio.Runner(loop_factory=None if control is None else PutForward) as runner:
            how = _How(config, profile, at, control, data, beginning, with_starter)
            interrupted = runner.run(_serve(how, port_file, control_file))
    except (StorageError, SettingsError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES) or error.filename is not None:
            raise
        raise UsageError(_taken(error, control)) from None
    if interrupted is not None:
        raise Interrupted(interrupted)


def _taken(error: OSError, control: int | None) -> str:
    """A port cannot be had."""
    reason = "is in use" if error.errno == errno.EADDRINUSE else "is not allowed for this user"
    if isinstance(error, ControlPortError):
        return f"port {control} on 127.0.0.1 {reason}; choose another --control, or 0 for any"
    if isinstance(error, PortTaken):
        return f"port {error.port} on {error.host} {reason}; choose another --port, or 0 for any"
    return f"a port {reason}; choose another --port, or 0 for any"


def _config(settings: Sequence[str]) -> dict[str, object]:
    """Settings by name; the last one of a name counts, as in a properties file."""
    config: dict[str, object] = {}
    for item in settings:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"cannot read --set {item!r}; write it as NAME=VALUE, as --set {USUAL_SETTING}")
        if (name := name.strip()) not in KNOWN:
            hint = nearly(name, KNOWN)
            raise UsageError(
                f"unknown setting {name!r}; {hint}`rota serve --help` lists them with their defaults"
            )
        config[name] = value.strip()
    try:
        Settings.of(config)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return config


def _data_dir(path: Path | None, fsync: str) -> DataDir | None:
    """Where the groups are kept, and when what is written is synced."""
    interval = int(fsync) if fsync.isascii() and fsync.isdigit() else 0
    if fsync not in ("always", "never") and not interval:
        raise UsageError(f"cannot read --fsync {fsync!r}; give always, never or a number of milliseconds")
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"--data-dir {path} is a file; name a folder, which is made if it is not there")
    if path is None:
        if fsync != "always":
            raise UsageError("--fsync is about what --data-dir keeps; name a folder there")
        return None
    return DataDir(str(path), Fsync.INTERVAL, interval) if interval else DataDir(str(path), Fsync(fsync))


def _beginning(topics: Sequence[str], seed: int | None, data_dir: DataDir | None) -> Beginning:
    """What the server begins with. Errors: UsageError."""
    if seed is not None and data_dir is not None:
        raise UsageError("--seed makes the same ids again, which --data-dir may have already; leave one out")
    try:
        return Beginning(topics_of(topics), seed)
    except SettingsError as error:
        raise UsageError(str(error)) from None


def _check_control(control: int | None, file: Path | None, at: Listening, data_dir: DataDir | None) -> None:
    """Errors: UsageError for what a control port cannot be with."""
    if control is None and file is not None:
        raise UsageError("--control-file is for the port of --control; give --control 0 for any port")
    if control is not None and data_dir is not None:
        raise UsageError("--control holds a server whose groups are in memory; leave out --data-dir")
    taken = {each.port + more for each in at.listeners if each.port for more in range(at.brokers)}
    if control in taken:
        raise UsageError(f"--port and --control are both {control}; choose two ports, or 0 for any")


@dataclass(frozen=True)
class _How:
    """How a server is run. control: the port for tests, None without one; with_starter: until standard input
    ends.
    """

    config: Mapping[str, object]
    profile: str
    at: Listening
    control: int | None
    data_dir: DataDir | None
    beginning: Beginning
    with_starter: bool

    async def serve(
        self, stop: asyncio.Event, listening: Callable[[Server, ControlPort | None], object]
    ) -> None:
        """Serves until `stop` is set; `listening` is told the server, and the port for tests."""
        if self.control is not None:
            from rota.control.serving import serve_controlled  # HTTP is loaded where it is asked for

            about = self.config, self.at, self.control, stop, listening, self.profile, self.beginning
            await serve_controlled(*about)
            return

        def alone(server: Server) -> None:
            listening(server, None)

        await serve_until(
            self.config,
            0,
            stop,
            alone,
            GroupCoordinator,
            self.data_dir,
            self.profile,
            self.at,
            self.beginning,
        )


async def _serve(how: _How, port_file: Path | None, control_file: Path | None) -> int | None:
    """Serves until a signal ends it, or its starter is gone; the signal that did, unless it was SIGTERM."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    received: list[signal.Signals] = []
    if how.with_starter:
        threading.Thread(target=_when_stdin_ends, args=(loop, stop), daemon=True).start()

    def end(number: signal.Signals) -> None:
        received.append(number)
        stop.set()

    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as SIGHUP under nohup
            loop.add_signal_handler(number, end, number)

    written: list[Path] = []

    def listens(server: Server, door: ControlPort | None) -> None:
        for path, text in ((port_file, ports(server)), (control_file, f"{door.port}\n" if door else "")):
            if path is not None:
                write_files([(path, text)])
                written.append(path)
        collect_seldom()
        give_back_large()
        for line in told(server):
            click.echo(line)
        if door is not None:
            click.echo(f"control at {door.url}")

    try:
        await how.serve(stop, listens)
    finally:
        for path in written:
            path.unlink(missing_ok=True)
    return None if received[:1] in ([], [signal.SIGTERM]) else received[0]


def _when_stdin_ends(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    from rota.conformance.targets.guard import await_end_of_stdin  # a server without this need not load it

    with suppress(OSError):  # it was closed from the start
        await_end_of_stdin()
    with suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(stop.set)
