"""Where a server listens, and whom it lets in there: Kafka's listeners, advertised listeners, and security.

PLAINTEXT on 127.0.0.1 if nothing is said. Names, protocols and rules are those of Kafka's `listeners`,
`advertised.listeners` and `listener.security.protocol.map`.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rota.security import Users

LOOPBACK = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
"""What no client can connect to."""

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

MOST_BROKERS = 100

_LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/\s]*)):(\d{1,5})")
_EXAMPLE = "PLAINTEXT://127.0.0.1:9092"


class ListenersError(ValueError):
    """Listeners that cannot be as they are given; the text says which, why, and what would do."""


@dataclass(frozen=True)
class Listener:
    """One listener of every broker. port: of the first broker, the next ones have the next ports; 0: any.

    told: host and port that clients are told, None for its own; its port too is the first broker's.
    """

    name: str = "PLAINTEXT"
    protocol: str = "PLAINTEXT"
    host: str = LOOPBACK
    port: int = 0
    told: tuple[str, int] | None = None

    @property
    def has_tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """Whether its clients have to authenticate."""
        return self.protocol.startswith("SASL")


@dataclass(frozen=True)
class Listening:
    """All listeners of a server of so many brokers; the first listener is the one that is told of first.

    tls: of those that speak it; users, mechanisms: of those that let in by SASL.
    """

    listeners: tuple[Listener, ...] = (Listener(),)
    brokers: int = 1
    tls: ssl.SSLContext | None = None
    users: Users | None = None
    mechanisms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Errors: ListenersError for what would let in nobody, or anybody."""
        if not 1 <= self.brokers <= MOST_BROKERS:
            raise ListenersError(f"{self.brokers} brokers cannot be; give 1 to {MOST_BROKERS}")
        for each in self.listeners:
            if each.has_tls and self.tls is None:
                raise ListenersError(f"listener {each.name} speaks TLS and has no certificate; give one")
            if each.has_sasl and not (self.users and self.mechanisms):
                raise ListenersError(f"listener {each.name} knows no users; give some, with passwords")
            if each.told is None and each.host in EVERYWHERE:
                cause = f"listener {each.name} listens on all addresses, which clients cannot be told"
                raise ListenersError(f"{cause}; say what is advertised in its place")
        _check_ports(self.listeners, self.brokers)


def listeners_of(texts: Iterable[str], told: Iterable[str] = (), protocols: str = "") -> tuple[Listener, ...]:
    """Listeners from texts NAME://HOST:PORT, with a comma between. told: what is advertised, likewise.

    protocols: NAME:PROTOCOL with a comma between, of names that are no protocols. No host: all addresses.
    Errors: ListenersError.
    """
    by_name = dict(_protocols(protocols))
    advertised = dict(_endpoints(told))
    made = []
    for name, (host, port) in _endpoints(texts):
        protocol = by_name.pop(name, None) or (name.upper() if name.upper() in PROTOCOLS else None)
        if protocol is None:
            cause = f"listener {name} is no protocol, and nothing says which it speaks"
            raise ListenersError(f"{cause}; map it, as in {name}:PLAINTEXT")
        made.append(Listener(name, protocol, host or EVERYWHERE[0], port, advertised.pop(name, None)))
    for left, what in ((advertised, "advertised"), (by_name, "mapped")):
        if left:
            names = ", ".join(each.name for each in made) or "none"
            raise ListenersError(
                f"listener {next(iter(left))} is {what}, and there is none such; there are {names}"
            )
    for each in made:
        if each.told is not None and each.told[0] in ("", *EVERYWHERE):
            cause = f"listener {each.name} cannot be advertised at {each.told[0] or 'no host'}"
            raise ListenersError(f"{cause}; give a name or an address that clients can connect to")
    return tuple(made)


def on_port(port: int) -> tuple[Listener, ...]:
    """The usual listener, at this port of 127.0.0.1; 0: any."""
    return (replace(Listener(), port=port),)


def _endpoints(texts: Iterable[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Name, host and port of each. Errors: ListenersError, also for a name that comes twice."""
    seen = set()
    for text in (each.strip() for one in texts for each in one.split(",")):
        found = _LISTENER.fullmatch(text)
        if found is None or int(found[4]) > 65_535:
            raise ListenersError(f"cannot read {text!r}; write NAME://HOST:PORT, as {_EXAMPLE}")
        if found[1] in seen:
            raise ListenersError(f"there are two listeners {found[1]}; give each a name of its own")
        seen.add(found[1])
        yield found[1], (found[2] or found[3], int(found[4]))


def _protocols(text: str) -> Iterator[tuple[str, str]]:
    for each in filter(None, (each.strip() for each in text.split(","))):
        name, _, protocol = each.partition(":")
        if not name or protocol not in PROTOCOLS:
            raise ListenersError(
                f"cannot read {each!r}; write NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}"
            )
        yield name, protocol


def _check_ports(listeners: tuple[Listener, ...], brokers: int) -> None:
    taken: Mapping[int, str] = {}
    for each in listeners:
        ports = range(each.port, each.port + brokers) if each.port else range(0)
        if ports and ports[-1] > 65_535:
            raise ListenersError(f"listener {each.name} has ports up to {ports[-1]}; begin at a lower one")
        both = [port for port in ports if port in taken]
        if both:
            cause = f"listeners {taken[both[0]]} and {each.name} are both at port {both[0]}"
            raise ListenersError(
                f"{cause}: each broker has a port of its own; give other ports, or 0 for any"
            )
        taken = {**taken, **dict.fromkeys(ports, each.name)}


USUALLY = Listening()
"""One broker at any port of 127.0.0.1."""
