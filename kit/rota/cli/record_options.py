"""What `rota record` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli import completing


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
    click.option(
        "--target",
        required=True,
        metavar="TARGET",
        shell_complete=completing.targets,
        help="HOST:PORT of a broker, or a target that `rota conform` starts, as rota, kafka-4.4.0.",
    ),
    click.option(
        "--command-config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Properties of a client for TLS to the brokers (security.protocol, ssl.*).",
    ),
    click.option(
        "--listen",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="Where clients begin; port 0: any. Other brokers get ports of their own on this host.",
    ),
    click.option(
        "--port-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File to write the port to when it listens; removed at its end.",
    ),
)
"""The options of `Between`."""

KEEPING = (
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="New file for the recording, an event a line; without it they are printed.",
    ),
    click.option(
        "--redact",
        is_flag=True,
        help="Hash ids, hosts, groups, topics and metadata: equal stays equal, within a recording.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        help="End after N seconds; without it a signal ends it.",
    ),
)
"""The options of `Keeping`."""
