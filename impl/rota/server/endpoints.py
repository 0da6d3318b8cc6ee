"""The sockets of a server: each of its brokers has one for each listener."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rota.server.gate import Sasl
from rota.server.listeners import Listener, Listening
from rota.server.settings import NODE_ID, Settings

BACKLOG = 100
"""Connections that the system holds until they are accepted."""

ACCEPTED_AT_ONCE = 10
"""Connections accepted in one iteration of the event loop; those of four may wait to be closed again."""

HANDSHAKE_SECONDS = 10.0
"""How long a client may take for the handshake of TLS; Kafka has no such bound but that of idle ones."""

STOP_SECONDS = 1.0

Ports = Mapping[tuple[int, str], int]
"""By node and listener."""


class PortTaken(OSError):
    """A port cannot be had; which, and where."""

    def __init__(self, error: OSError, host: str, port: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.host = host
        self.port = port


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A broker's place at a listener, as clients are told it. sasl: what it asks for, None for nothing."""

    node_id: int
    listener: str
    host: str
    port: int
    sasl: Sasl | None = None


@dataclass(frozen=True)
class _Socket:
    """An endpoint with what listens there. port: where it really is."""

    endpoint: Endpoint
    listener: Listener
    socket: socket.socket
    port: int


class Endpoints:
    """All of them. `bind` once, `serve` once, then `close`."""

    def __init__(self, listening: Listening, settings: Settings) -> None:
        self._listening = listening
        self._sasl = _sasl(listening, settings)
        self._bound: list[_Socket] = []
        self._places: dict[tuple[int, str], Endpoint] = {}
        self._servers: list[asyncio.Server] = []

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The brokers that there are."""
        return tuple(dict.fromkeys(node_id for node_id, _ in self._places))

    def __contains__(self, node_id: object) -> bool:
        """Whether there is a broker of that id."""
        return node_id in self.node_ids

    @property
    def ports(self) -> Ports:
        """Where everything really is."""
        return {(each.endpoint.node_id, each.listener.name): each.port for each in self._bound}

    def of_listener(self, name: str) -> Iterator[Endpoint]:
        """Every broker as those are told it who came by this listener."""
        return (each for each in self._places.values() if each.listener == name)

    def of_node(self, node_id: int, name: str) -> Endpoint:
        """The same of one broker."""
        return self._places[node_id, name]

    def all(self) -> list[Endpoint]:
        """Broker after broker, the listeners of each in order."""
        return [*self._places.values()]

    def at(self, node_id: int, listener: str | None = None) -> str:
        """As HOST:PORT, as clients are told it, at the first listener if none is named."""
        found = self.of_node(node_id, listener or self._listening.listeners[0].name)
        return _place(found.host, found.port)

    def configs(self, node_id: int) -> dict[str, str]:
        """Where that broker listens, what of it clients are told, and which protocols: Kafka's configs."""
        own = [each for each in self._bound if each.endpoint.node_id == node_id]
        names = [each.listener.name for each in own]
        listens = [f"{each.listener.name}://{_place(each.listener.host, each.port)}" for each in own]
        return {
            "listeners": ",".join(listens),
            "advertised.listeners": ",".join(f"{name}://{self.at(node_id, name)}" for name in names),
            "listener.security.protocol.map": ",".join(
                f"{each.listener.name}:{each.listener.protocol}" for each in own
            ),
        }

    def bind(self, ports: Ports) -> None:
        """Takes the ports, these ones if they are named. Errors: OSError as of `bind`, then none is taken."""
        try:
            for node_id in range(NODE_ID, NODE_ID + self._listening.brokers):
                self._bind_node(node_id, ports)
        except OSError:
            self.close()
            raise

    def _bind_node(self, node_id: int, ports: Ports) -> list[_Socket]:
        made = []
        for listener in self._listening.listeners:
            beyond = node_id - NODE_ID
            given = listener.port + beyond if listener.port else 0
            made.append(self._bind_one(listener, node_id, ports.get((node_id, listener.name), given)))
        return made

    def _bind_one(self, listener: Listener, node_id: int, port: int) -> _Socket:
        family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
        try:
            listens = socket.create_server((listener.host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            raise PortTaken(error, listener.host, port) from error
        port = listens.getsockname()[1]
        host, told = listener.told or (listener.host, 0)
        told = told + node_id - NODE_ID if told else port
        sasl = self._sasl if listener.has_sasl else None
        made = _Socket(Endpoint(node_id, listener.name, host, told, sasl), listener, listens, port)
        self._bound.append(made)
        self._places[node_id, listener.name] = made.endpoint
        return made

    async def prepare(self, protocol: Callable[[Endpoint], asyncio.BaseProtocol]) -> None:
        """Connections will be handled so, from `serve` on; until then they wait in the backlog."""
        for each in self._bound:
            self._servers.append(await self._server(each, protocol))

    async def _server(
        self, bound: _Socket, protocol: Callable[[Endpoint], asyncio.BaseProtocol]
    ) -> asyncio.Server:
        tls: ssl.SSLContext | None = self._listening.tls if bound.listener.has_tls else None
        return await asyncio.get_running_loop().create_server(
            lambda: protocol(bound.endpoint),
            sock=bound.socket,
            backlog=ACCEPTED_AT_ONCE,
            start_serving=False,
            ssl=tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None,
            ssl_shutdown_timeout=STOP_SECONDS if tls else None,
        )

    async def serve(self) -> None:
        """Accepts connections."""
        for server, bound in zip(self._servers, self._bound, strict=True):
            await _start(server, bound.socket)

    async def add_node(self, node_id: int, protocol: Callable[[Endpoint], asyncio.BaseProtocol]) -> None:
        """One broker more, at any ports where the first one is at any, else behind those of the others.

        Errors: OSError where the ports cannot be had.
        """
        for bound in self._bind_node(node_id, self._any_ports(node_id)):
            self._servers.append(await self._server(bound, protocol))
            await _start(self._servers[-1], bound.socket)

    def _any_ports(self, node_id: int) -> Ports:
        return {(node_id, each.name): 0 for each in self._listening.listeners if each.told is None}

    def close(self) -> None:
        """Listens no more."""
        for server in self._servers:
            server.close()
        for each in self._bound[len(self._servers) :]:
            each.socket.close()

    async def closed(self) -> None:
        """All is closed, or at least nothing more is accepted."""
        with suppress(TimeoutError):
            await asyncio.wait_for(_all_closed(self._servers), STOP_SECONDS)


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _start(server: asyncio.Server, listening: socket.socket) -> None:
    await server.start_serving()
    listening.listen(BACKLOG)  # asyncio has one number for both


async def _all_closed(servers: Iterable[asyncio.Server]) -> None:
    for server in servers:
        await server.wait_closed()


def _sasl(listening: Listening, settings: Settings) -> Sasl | None:
    if listening.users is None:
        return None
    session = settings.connections_max_reauth_ms / 1000
    delay = settings.connection_failed_authentication_delay_ms / 1000
    return Sasl(listening.users, listening.mechanisms, session, delay)
