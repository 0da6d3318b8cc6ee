"""A broker's place for parts of a server that are tried without its sockets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rota.server.endpoints import Endpoint

HERE = Endpoint(1, "PLAINTEXT", "h", 9092)


@dataclass
class Fixed:
    """Brokers at one listener, as of `Endpoints`."""

    there: list[Endpoint] = field(default_factory=lambda: [HERE])

    def of_listener(self, name: str) -> Iterator[Endpoint]:
        """All of them, whatever it is called."""
        return iter(self.there)

    def of_node(self, node_id: int, name: str) -> Endpoint:
        """One of them."""
        return next(each for each in self.there if each.node_id == node_id)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Their ids."""
        return tuple(each.node_id for each in self.there)
