"""A group on a stage: calls, timers and the log's answers in virtual time, for tests that read as a story."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rota.spec import (
    KAFKA_4,
    Arm,
    BrokerConfig,
    Call,
    Group,
    GroupRecord,
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
    classic,
)
from rota.spec.classic.vocabulary import kind_of
from rota.spec.effects import timer
from rota.spec.messages import Request
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError

DELAY = 3_000
SESSION = 10_000
REBALANCE = 60_000

Lists = Mapping[str, bytes]


class Stage:
    """One group under a profile. `told`: the answers by address; `log`: the appends in flight, oldest first;
    `due`: when each armed timer is; `outcomes`: all that the last rule allowed, of which the first was taken.
    """

    def __init__(self, profile: Profile = KAFKA_4, **config: int) -> None:
        self.spec = classic(BrokerConfig(**config), profile=profile)
        self.group: Group | None = None
        self.now = 0
        self.due: dict[Timer, int] = {}
        self.told: dict[str, list[Any]] = {}
        self.log: list[GroupRecord] = []
        self.outcomes: tuple[Step, ...] = ()
        self._versions: dict[str, int] = {}
        self._minted = 0

    @property
    def live(self) -> Group:
        assert self.group is not None
        return self.group

    @property
    def state(self) -> GroupState:
        return self.live.state

    def ask(self, request: Request, version: int) -> str:
        """A request; returns its address."""
        address = f"r{len(self._versions) + 1}"
        self._versions[address] = version
        self._minted += isinstance(request, JoinGroupRequest) and not request.member_id
        self._take(self.spec.handle(self.group, Call(request, address, version, f"m{self._minted}")))
        return address

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
        """The only answer to a request, as its version can carry it."""
        (message,) = self.told[address]
        return as_sent(message, self._versions[address])

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
        return address not in self.told

    def fire(self, kind: TimerKind, member_id: str = "") -> None:
        """A timer is due now."""
        which = timer(kind, member_id)
        self.now = max(self.now, self.due.pop(which))
        self._take(self.spec.fire(self.live, which))

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
        self._take(self.spec.appended(self.group, self.log.pop(0), error))

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
        version = 3 if instance is None else 9
        address = f"first-{member_id}"
        self._versions[address] = version
        self._take(self.spec.handle(self.group, Call(request, address, version, member_id)))

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

    def choose(self, wanted: Callable[[Step], bool]) -> None:
        """Of the outcomes of the last rule, which only differ in the group: another one."""
        (step,) = (step for step in self.outcomes if wanted(step))
        self.group = step.group

    def _take(self, steps: tuple[Step, ...]) -> None:
        self.outcomes = steps
        step = steps[0]
        self.group = step.group
        for effect in step.timers:
            if isinstance(effect, Arm):
                self.due[effect.timer] = self.now + max(effect.delay_ms, 0)
            else:
                self.due.pop(effect.timer, None)
        for reply in step.replies:
            self.told.setdefault(reply.to, []).append(reply.message)
        self.log += step.records


__all__ = ["DELAY", "REBALANCE", "SESSION", "HeartbeatReply", "Stage"]
