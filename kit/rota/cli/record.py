"""`rota record`: a proxy between clients and brokers that keeps what is said of groups."""

from __future__ import annotations

import click

from rota.cli.options import takes
from rota.cli.record_options import BETWEEN, KEEPING, Between, Keeping
from rota.cli.verb import Example, Verb

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
    from rota.cli.record_run import run

    run(between, keeping)
