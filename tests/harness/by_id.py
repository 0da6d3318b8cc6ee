"""Requests by member id, for tests of single rules: nothing is remembered, so any request can be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.spec import (
    KAFKA_4,
    BrokerConfig,
    Group,
    GroupState,
    HeartbeatReply,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    Profile,
    ProtocolMetadata,
    Step,
    SyncGroupReply,
    SyncGroupRequest,
    Timer,
    TimerKind,
)
from rota.spec.classic.vocabulary import kind_of
from rota.spec.effects import timer
from rota.spec.messages import Request
from rota.spec.vocabulary import AppendError
from rota.stage.clients import Asked
from rota.stage.stage import Stage

DELAY = 3_000
SESSION = 10_000
REBALANCE = 60_000

Lists = Mapping[str, bytes]


class ById:
    """A stage without the core, on which the log answers when it is told to; who asks is a member id.

    Parameters: profile; config, settings of the broker. Attributes: on, the stage. Requests are known by
    their addresses, which the methods that ask return.
    """

    def __init__(self, profile: Profile = KAFKA_4, **config: int) -> None:
        self.on = Stage(BrokerConfig(**config), profile, beside=False, log_answers=False)
        self._sender = self.on.client("anybody")
        self._asked: dict[str, Asked] = {}
        self._minted = 0

    @property
    def group(self) -> Group | None:
        return self.on.group

    @property
    def live(self) -> Group:
        return self.on.live

    @property
    def state(self) -> GroupState:
        return self.live.state

    @property
    def now(self) -> int:
        return self.on.now

    @now.setter
    def now(self, now: int) -> None:
        self.on.now = now

    @property
    def due(self) -> dict[Timer, int]:
        """When each armed timer is due."""
        return self.on.armed

    @property
    def log(self) -> list[Any]:
        """The appends in flight, oldest first."""
        return self.on.appends

    @property
    def outcomes(self) -> tuple[Step, ...]:
        """All that the last rule allowed."""
        return self.on.last.allowed

    @property
    def told(self) -> dict[str, list[Any]]:
        """All answers by address."""
        found: dict[str, list[Any]] = {}
        for one in self.on.happenings:
            for asked, reply in one.answers:
                found.setdefault(asked.address, []).append(reply)
        return found

    def ask(self, request: Request, version: int) -> str:
        """A request; returns its address."""
        self._minted += isinstance(request, JoinGroupRequest) and not request.member_id
        return self._ask(request, version, f"m{self._minted}")

    def _ask(self, request: Request, version: int, fresh: str) -> str:
        asked = self.on.ask(self._sender, request, version, fresh)
        self._asked[asked.address] = asked
        return asked.address

    def join(
        self,
        member_id: str = "",
        instance: str | None = None,
        *,
        protocols: Lists | Sequence[str] = ("range",),
        session: int = SESSION,
        rebalance: int = REBALANCE,
        version: int = 9,
        protocol_type: str = "consumer",
        group_id: str = "g",
    ) -> str:
        lists = protocols if isinstance(protocols, Mapping) else dict.fromkeys(protocols, b"m")
        offered = tuple(ProtocolMetadata(name, metadata) for name, metadata in lists.items())
        request = JoinGroupRequest(group_id, session, rebalance, member_id, protocol_type, offered, instance)
        return self.ask(request, version)

    def sync(
        self,
        member_id: str,
        instance: str | None = None,
        *,
        generation: int | None = None,
        version: int = 5,
        name: str | None = "range",
        **assignments: bytes,
    ) -> str:
        shares = tuple(MemberAssignment(i, share) for i, share in assignments.items())
        current = self.live.generation_id if generation is None else generation
        named = ("consumer", name) if version >= 5 else (None, None)
        return self.ask(SyncGroupRequest("g", current, member_id, shares, *named, instance), version)

    def heartbeat(self, member_id: str, instance: str | None = None, *, generation: int | None = None) -> Any:
        current = self.live.generation_id if generation is None else generation
        return self.answer(self.ask(HeartbeatRequest("g", current, member_id, instance), 4)).error_code

    def leave(self, *identities: tuple[str, str | None] | str, version: int = 5) -> str:
        given = [(one, None) if isinstance(one, str) else one for one in identities]
        return self.ask(LeaveGroupRequest("g", tuple(LeavingMember(*one) for one in given)), version)

    def answer(self, address: str) -> Any:
        """The only answer to a request."""
        (message,) = self.told[address]
        return message

    def joined(self, address: str) -> JoinGroupReply:
        reply = self.answer(address)
        assert isinstance(reply, JoinGroupReply)
        return reply

    def synced(self, address: str) -> SyncGroupReply:
        reply = self.answer(address)
        assert isinstance(reply, SyncGroupReply)
        return reply

    def left(self, address: str) -> LeaveGroupReply:
        """Once the log has stored, if it waits for that."""
        while self.waits(address) and self.log:
            self.stored()
        reply = self.answer(address)
        assert isinstance(reply, LeaveGroupReply)
        return reply

    def waits(self, address: str) -> bool:
        return self._asked[address].waits

    def fire(self, kind: TimerKind, member_id: str = "") -> None:
        """A timer is due now."""
        self.on.fire(timer(kind, member_id))

    def wait(self, until: int, keep_alive: bool = True) -> None:
        """Time passes; timers due are fired in order. keep_alive: sessions are not, everybody heartbeats."""
        while True:
            armed = [t for t in self.due if not (keep_alive and kind_of(t) is TimerKind.SESSION)]
            first = min(armed, key=lambda t: (self.due[t], t), default=None)
            if first is None or self.due[first] > until:
                break
            self.fire(kind_of(first), first.member_id)
        self.now = until

    def stored(self, error: AppendError | None = None) -> None:
        """The log answers the oldest append."""
        self.on.log(error)

    def stable(self, **members: str | None) -> None:
        """A Stable group of these members, member id -> instance id; the first one leads.

        What each is assigned is its own id, in capitals.
        """
        for member_id, instance in members.items():
            self._join_as(member_id, instance)
        while self.state is GroupState.PREPARING_REBALANCE:
            self.fire(TimerKind.INITIAL_JOIN)
        self.sync_all()

    def _join_as(self, member_id: str, instance: str | None) -> None:
        protocols = (ProtocolMetadata("range", b"m"),)
        request = JoinGroupRequest("g", SESSION, REBALANCE, "", "consumer", protocols, instance)
        self._ask(request, 3 if instance is None else 9, member_id)

    def sync_all(self) -> None:
        """Everybody syncs, the leader last, and the log stores."""
        group = self.live
        assert group.state is GroupState.COMPLETING_REBALANCE
        shares = {i: i.upper().encode() for i in group.members}
        for member_id in sorted(group.members, key=lambda i: i == group.leader):
            self.sync(member_id, name=group.protocol_name, **(shares if member_id == group.leader else {}))
        while self.log:
            self.stored()
        assert self.state is GroupState.STABLE


__all__ = ["DELAY", "REBALANCE", "SESSION", "ById", "HeartbeatReply"]
