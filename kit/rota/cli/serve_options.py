"""Where `rota serve` listens and whom it lets in: its options, read."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli.errors import UsageError
from rota.security import MECHANISMS, Users, UsersError, read_users
from rota.server.listeners import (
    MOST_BROKERS,
    PROTOCOLS,
    Listener,
    ListenersError,
    Listening,
    listeners_of,
    on_port,
)

if TYPE_CHECKING:
    from rota.server import Server

_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--port", type=click.IntRange(0, 65535), metavar="N", default=None,
                 help="Port on 127.0.0.1 for PLAINTEXT; 0 and by default: any."),
    click.option("--port-file", type=_FILE,
                 help="File to write the port to when the server listens, a line for each listener; removed "
                 "at its end."),
    click.option("--listen", metavar="NAME://HOST:PORT,…", multiple=True,
                 help=f"As Kafka's listeners, in place of --port; a name is one of {', '.join(PROTOCOLS)}, "
                 "or is mapped to one."),
    click.option("--advertise", metavar="NAME://HOST:PORT,…", multiple=True,
                 help="As Kafka's advertised.listeners: what clients are told, where that is not what is "
                 "listened at."),
    click.option("--protocol-map", metavar="NAME:PROTOCOL,…",
                 help="As Kafka's listener.security.protocol.map, for names that are no protocols."),
    click.option("--brokers", type=click.IntRange(1, MOST_BROKERS), metavar="N", default=1,
                 help="How many brokers the cluster has; each has the next port of every listener."),
    click.option("--tls-cert", type=_FILE, metavar="FILE",
                 help="Certificate in PEM with those that it rests on, for SSL and SASL_SSL."),
    click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, if that is not in the same file."),
    click.option("--tls-client-ca", type=_FILE, metavar="FILE",
                 help="Certificates in PEM, one of which has to stand behind that of every client."),
    click.option("--users", type=_FILE, metavar="FILE",
                 help="Lines NAME=PASSWORD, for SASL_PLAINTEXT and SASL_SSL."),
    click.option("--sasl-mechanisms", metavar="NAME,…", default=",".join(MECHANISMS), show_default=True,
                 help="As Kafka's sasl.enabled.mechanisms."),
)  # fmt: skip

LISTENING = ("--port", "--port-file", "--listen", "--advertise", "--protocol-map", "--brokers")
ADMITTING = ("--tls-cert", "--tls-key", "--tls-client-ca", "--users", "--sasl-mechanisms")


def listening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Puts the options on a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def listening(
    port: int | None,
    listen: Sequence[str],
    advertise: Sequence[str],
    protocol_map: str | None,
    brokers: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    users: Path | None,
    sasl_mechanisms: str,
) -> Listening:
    """What the options say. Errors: UsageError, also for one that means nothing without another."""
    if port is not None and listen:
        raise UsageError("--port and --listen both say where to listen; leave one out")
    if protocol_map and not listen:
        raise UsageError("--protocol-map is about the names in --listen; give that")
    try:
        listeners = listeners_of(listen or _usual(port), advertise, protocol_map or "")
        _check_idle(listeners, tls_cert, tls_key, tls_client_ca, users)
        tls = None if tls_cert is None else _tls(tls_cert, tls_key, tls_client_ca)
        known = None if users is None else _users(users)
        return Listening(listeners, brokers, tls, known, _mechanisms(sasl_mechanisms))
    except ListenersError as error:
        raise UsageError(_with_option(str(error))) from None


def _usual(port: int | None) -> list[str]:
    (one,) = on_port(port or 0)
    return [f"{one.name}://{one.host}:{one.port}"]


_WORDS = {
    "no certificate; give one": "no certificate; give --tls-cert",
    "no users; give some": "no users; give --users",
    "say what is advertised": "say with --advertise what is advertised",
    "map it, as in ": "map it, as in --protocol-map ",
}
"""What the library says → the same with the option that mends it."""


def _with_option(text: str) -> str:
    for said, named in _WORDS.items():
        text = text.replace(said, named)
    return text


def _check_idle(
    listeners: Sequence[Listener],
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    users: Path | None,
) -> None:
    """Errors: UsageError for what no listener asks for: whoever gives it counts on it."""
    if tls_cert is None and (tls_key or tls_client_ca):
        option = "--tls-key" if tls_key else "--tls-client-ca"
        raise UsageError(f"{option} goes with a certificate; give --tls-cert")
    if tls_cert is not None and not any(each.has_tls for each in listeners):
        raise UsageError(
            "--tls-cert is of no use, no listener speaks TLS; give --listen SSL://… or SASL_SSL://…"
        )
    if users is not None and not any(each.has_sasl for each in listeners):
        raise UsageError(
            "--users is of no use, no listener asks who it is; give --listen SASL_PLAINTEXT://… or SASL_SSL://…"
        )


def _tls(certificate: Path, key: Path | None, client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for file in filter(None, (certificate, key, client_ca)):
        try:
            file.open("rb").close()
        except OSError as error:
            raise UsageError(f"cannot read {file} ({error.strerror}); give a file in PEM") from None
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, ValueError):
        where = f"{certificate} and {key}" if key else str(certificate)
        cause = f"no certificate with its own key, unencrypted and in PEM, in {where}"
        raise UsageError(f"{cause}; give it with --tls-cert, the key with --tls-key") from None
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError:
            raise UsageError(f"no certificates in PEM in {client_ca}; name those to trust") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    """Nobody is asked on the terminal."""
    raise ValueError("the key is encrypted")


def _users(file: Path) -> Users:
    try:
        return read_users(file)
    except UsersError as error:
        raise UsageError(str(error)) from None


def _mechanisms(text: str) -> tuple[str, ...]:
    wanted = [each.strip().upper() for each in text.split(",")]
    unknown = [each for each in wanted if each not in MECHANISMS]
    if unknown:
        cause = f"there is no SASL mechanism {unknown[0]!r} here"
        raise UsageError(f"{cause}; give some of {', '.join(MECHANISMS)} with --sasl-mechanisms")
    return tuple(each for each in MECHANISMS if each in wanted)


def told(server: Server) -> list[str]:
    """What is said of where a server listens: its bootstrap servers first, then each other listener's."""
    endpoints = server.endpoints
    names = list(dict.fromkeys(each.listener for each in endpoints.all()))
    others = [
        f"{name} on " + ",".join(endpoints.at(node_id, name) for node_id in endpoints.node_ids)
        for name in names[1:]
    ]
    return [f"listening on {server.bootstrap}", *others]


def ports(server: Server) -> str:
    """What stands in --port-file."""
    first: dict[str, int] = {}
    for (_, name), port in server.endpoints.ports.items():
        first.setdefault(name, port)
    return "".join(f"{port}\n" for port in first.values())
