"""The clients on a stage: what they remember, and the requests that they make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota import coordinator as core
from rota.spec import JoinGroupReply

if TYPE_CHECKING:
    from stage import Stage

GROUP_ID = "g"


@dataclass(eq=False)
class Asked:
    """A request; its answer when there is one."""

    client: Client
    address: str
    request: Any
    version: int
    reply: Any = None

    @property
    def waits(self) -> bool:
        """Whether it is not answered: parked, or replaced and forgotten."""
        return self.reply is None

    @property
    def error(self) -> str:
        """The name of the answer's error code; of a LeaveGroup the first member's where the top says NONE."""
        assert self.reply is not None, f"{self.address} of {self.client.name} is not answered"
        outcomes = self.errors
        top = self.reply.error_code.name
        return outcomes[0] if outcomes and top == "NONE" else top

    @property
    def errors(self) -> list[str]:
        """The names of the error codes of a LeaveGroup's members."""
        if not isinstance(self.request, core.LeaveGroup):
            return []
        return [outcome.error_code.name for outcome in self.reply.members]


@dataclass(eq=False)
class Client:
    """A consumer that knows its id, generation and protocol from its last JoinGroup answer.

    protocols: its list, each as "name" or "name:metadata"; instance: its group instance id, if it is static.
    """

    stage: Stage
    name: str
    protocols: tuple[str, ...] = ("range",)
    session: int = 10_000
    rebalance: int = 60_000
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    protocol: str | None = "range"
    instance: str | None = None

    def restart(self, *protocols: str) -> Client:
        """The process is started anew: id and generation are forgotten; with another list if one is given."""
        self.member_id, self.generation = "", -1
        self.protocols = protocols or self.protocols
        return self

    def told(self, reply: JoinGroupReply) -> None:
        """What a JoinGroup answer says is remembered."""
        if reply.error_code.name in ("NONE", "MEMBER_ID_REQUIRED"):
            self.member_id, self.generation = reply.member_id, reply.generation_id
            self.protocol = reply.protocol_name or self.protocol

    def join(self, version: int = 9, picks: tuple[int, ...] = (), **changes: Any) -> Asked:
        """JoinGroup as the client is; `changes` overwrite fields of the request."""
        pairs = (entry.partition(":") for entry in self.protocols)
        fields = {
            "group_id": GROUP_ID,
            "session_timeout_ms": self.session,
            "rebalance_timeout_ms": self.rebalance,
            "member_id": self.member_id,
            "protocol_type": self.protocol_type,
            "protocols": tuple(core.JoinGroupProtocol(name, data.encode()) for name, _, data in pairs),
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.JoinGroup(**fields | changes), version, picks)

    def enter(self) -> Asked:
        """A newcomer's JoinGroup, which is returned; before it the handshake, unless the client is static."""
        self.member_id = ""
        if self.instance is None and self.stage.profile.member_id_handshake:
            assert self.join().error == "MEMBER_ID_REQUIRED"
        return self.join(version=9 if self.stage.profile.member_id_handshake else 3)

    def sync(self, parts: Mapping[Client, str] | None = None, version: int = 5, **changes: Any) -> Asked:
        """SyncGroup; `parts` are a leader's assignments."""
        given = {client.member_id: part.encode() for client, part in (parts or {}).items()}
        fields = {
            "group_id": GROUP_ID,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "assignments": tuple(core.SyncGroupAssignment(*pair) for pair in given.items()),
            "group_instance_id": self.instance,
        }
        if version >= 5:
            fields |= {"protocol_type": self.protocol_type, "protocol_name": self.protocol}
        return self.stage.ask(self, core.SyncGroup(**fields | changes), version)

    def heartbeat(self, **changes: Any) -> Asked:
        """Heartbeat."""
        fields = {
            "group_id": GROUP_ID,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.Heartbeat(**fields | changes), 4)

    def leave(self, *others: Any, group_id: str = GROUP_ID, picks: tuple[int, ...] = ()) -> Asked:
        """LeaveGroup of this one, or of the others: clients, member ids, (member id, instance id)."""
        pairs = [_identity(other) for other in others or (self,)]
        request = core.LeaveGroup(group_id, tuple(core.MemberIdentity(*pair) for pair in pairs))
        return self.stage.ask(self, request, 5, picks)


def _identity(who: str | Client | tuple[str, str]) -> tuple[str, str | None]:
    if isinstance(who, tuple):
        return who
    return (who, None) if isinstance(who, str) else (who.member_id, None)
