"""The znodes of a group of watchers, and the messages between consumers and ZooKeeper."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from rota.kernel import FrozenMap, frozen, replace


@frozen
class Children:
    """What is read and watched: `/consumers/<group>/ids`, `/brokers/ids`, the topic's partitions."""

    ids: frozenset[str] = frozenset()
    brokers: int = 1
    partitions: int = 0


@frozen
class Server:
    """One server. applied: what its clients read; behind: later writes that it has not applied, oldest first;
    watching: who has set a watch on it."""

    applied: Children
    behind: tuple[Children, ...] = ()
    watching: frozenset[str] = frozenset()


@frozen
class Nodes:
    """The tree of znodes, and which consumers have work left.

    children, owners: as the leader has them; ended: consumers whose session is over and who do not know;
    busy, waiting: consumers that are at work, or in a back-off. These two are not ZooKeeper's: they stand for
    time in the model, which has no clock, and say when all have finished.
    """

    children: Children
    servers: tuple[Server, ...]
    owners: FrozenMap[int, str] = field(default_factory=FrozenMap)
    ended: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()

    @property
    def lagging(self) -> bool:
        """Whether a server has not applied every write."""
        return any(server.behind for server in self.servers)

    @property
    def quiescent(self) -> bool:
        """Whether all have finished: nobody works, waits or is to hear something, and no server lags."""
        return not (self.busy or self.waiting or self.ended or self.lagging)

    def released(self, who: str) -> Nodes:
        """Without the owner nodes of a consumer."""
        return replace(self, owners=FrozenMap((p, owner) for p, owner in self.owners.items() if owner != who))

    def noted(self, who: str, work: Work) -> Nodes:
        """With what a consumer reports of its work."""
        busy, waiting = self.busy - {who}, self.waiting - {who}
        if work is Work.BUSY:
            busy |= {who}
        elif work is Work.WAITING:
            waiting |= {who}
        return replace(self, busy=busy, waiting=waiting)

    def with_server(self, position: int, server: Server) -> Nodes:
        """With one server exchanged."""
        return replace(self, servers=(*self.servers[:position], server, *self.servers[position + 1 :]))


class Work(Enum):
    """Whether a consumer has work left."""

    BUSY = "busy"
    WAITING = "waiting"
    FINISHED = "finished"


@frozen
class Request:
    """What a consumer asks of the server that it is connected to."""

    server: int


@frozen
class Register(Request):
    """Create the ephemeral node of the consumer, in a new session."""


@frozen
class Unregister(Request):
    """Close the session."""


@frozen
class Read(Request):
    """Read the children and watch them."""


@frozen
class Claim(Request):
    """Create the owner node of a partition."""

    partition: int


@frozen
class Release(Request):
    """Delete the owner nodes of the consumer."""


@frozen
class Note:
    """A consumer reports whether it has work left; not part of ZooKeeper, see `Nodes`."""

    work: Work


@frozen
class BackoffOver:
    """A consumer wants to end its back-off."""


@frozen
class Claimed:
    """The answer to a claim."""

    granted: bool


@frozen
class Stirred:
    """A watch has fired."""


@frozen
class SessionEnded:
    """The consumer hears that its session is over."""
