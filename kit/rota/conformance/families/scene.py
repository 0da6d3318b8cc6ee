"""A scene: a group in some situation, and everyone in and around it who can ask something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, PendingRequest, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.families.axes import Kind, Phase, Role, State
from rota.conformance.steps.membership import pending_member, static

NEVER_HANDED_OUT = "never-handed-out"
"""A member id that no coordinator has made."""

UNKNOWN_INSTANCE = "nobody's"
"""An instance id under which nobody has joined."""

SOME_PROTOCOL = "range"
"""What those name who ask a group that has no protocol."""


@dataclass
class Scene:
    """A group that is in a phase.

    `generation` and `protocol` are the group's, -1 and None where there is none. `waiting` are the requests
    that are parked, by the name of the member that sent them. `words` are the situation's. `began` is when
    a phase began that lasts only for the initial delay.
    """

    d: Dialogue
    phase: Phase
    kind: Kind
    words: str
    leader: Member | None = None
    followers: tuple[Member, ...] = ()
    newcomer: Member | None = None
    former: tuple[Member, ...] = ()
    pending: Member | None = None
    generation: int = -1
    protocol: str | None = None
    waiting: Mapping[str, PendingRequest] = field(default_factory=dict)
    began: float | None = None

    @property
    def everyone(self) -> tuple[Member, ...]:
        """The members that have been in a generation, the leader first."""
        return (self.lead, *self.followers) if self.leader is not None else ()

    @property
    def lead(self) -> Member:
        """The leader, in a phase that has one."""
        if self.leader is None:
            raise ValueError(f"nobody leads in {self.words}")
        return self.leader

    @property
    def assignments(self) -> dict[str, bytes]:
        """What the leader hands out: for each member id bytes that name the member."""
        return {member.member_id: f"for {member.name}".encode() for member in self.everyone}

    def askers(self, role: Role) -> list[Member]:
        """Everyone who is this in the scene, ready to ask; nobody where the dialogue cannot have one.

        Who waits for an answer asks on another connection. What they say of generation and protocol is true.
        """
        return [self._informed(member) for member in self._who(role)]

    def ready(self, member: Member) -> Member:
        """The member on a connection on which it can ask now."""
        return member.second_connection() if member.name in self.waiting else member

    def undisturbed(self) -> None:
        """The members learn by heartbeat that the group is in the state that it was in; who waits goes on."""
        if not self.phase.has_members:
            return
        for waiting in self.waiting.values():
            waiting.silent(0)
        error = "REBALANCE_IN_PROGRESS" if self.phase.state is State.PREPARING else "NONE"
        for member in self.everyone:
            with self.asked_by("a member asks whom no question must disturb"):
                self.d.expect(self.ready(member).heartbeat(), error=error)

    def join_as(self, member: Member, **changes: Any) -> Reply:
        """JoinGroup as this member would send it but for some fields, and its answer, which comes at once."""
        own = member.second_connection()
        return own.join(changes.pop("member_id", member.member_id), within=PROMPTLY, **changes)

    def impostors(self, member: Member) -> list[str]:
        """Member ids without a right to a static member's instance id: a stranger's, those of the others.

        Of a dynamic member there is nobody.
        """
        if not member.settings.get("group_instance_id"):
            return []
        return [NEVER_HANDED_OUT, *(each.member_id for each in self.everyone if each.name != member.name)]

    @contextmanager
    def asked_by(self, who: str) -> Iterator[None]:
        """What deviates within says who asked, in which situation; unless that is over. Errors: Late."""
        try:
            yield
        except Deviation as deviation:
            if self.began is not None:
                self.d.in_time(self.began, 0.9 * self.d.initial_delay)
            expected = f"{deviation.expected}, where {who} ({self.words})"
            raise Deviation(expected, deviation.actual, deviation.rule) from deviation

    def _who(self, role: Role) -> tuple[Member, ...]:
        if role is Role.LEADER:
            return (self.lead,)
        if role is Role.FOLLOWER:
            return self.followers
        if role is Role.NEWCOMER:
            return (self.newcomer,) if self.newcomer is not None and self.newcomer.member_id else ()
        if role is Role.FORMER:
            return self.former
        if role is Role.NEW:
            return (somebody_new(self.d, "somebody", self.kind),)
        return self._pending() if role is Role.PENDING else (self._stranger(),)

    def _informed(self, member: Member) -> Member:
        asker = self.ready(member)
        asker.generation_id, asker.protocol_name = self.generation, self.protocol or SOME_PROTOCOL
        return asker

    def _stranger(self) -> Member:
        instance = {} if self.kind is Kind.DYNAMIC else {"group_instance_id": UNKNOWN_INSTANCE}
        stranger = self.d.member("stranger", **instance)
        stranger.member_id = NEVER_HANDED_OUT
        return stranger

    def _pending(self) -> tuple[Member, ...]:
        """Whose id was handed out; nobody where ids are not, before JoinGroup version 4 (KIP-394)."""
        if self.pending is None and self.d.versions["JoinGroup"] >= 4:
            self.pending = pending_member(self.d, "pending")
        return () if self.pending is None else (self.pending,)


def somebody_new(d: Dialogue, name: str, kind: Kind) -> Member:
    """Who has sent nothing yet, static where all members of the group are."""
    return static(d, name, f"{name}'s") if kind is Kind.STATIC else d.member(name)


def enters(d: Dialogue, newcomer: Member, member: Member) -> PendingRequest:
    """Somebody new joins a group that does not rebalance yet, of which a member learns; what waits.

    An id is taken whenever it is handed out, be it late: nobody guesses how long that takes.
    """
    joining = newcomer.send_join("")
    since = d.transcript.elapsed()
    error = "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < d.patience:
        handed_out = None if newcomer.member_id else joining.poll(0.05)
        if handed_out is not None:
            joining = newcomer.enter_after(handed_out)
        error = _heartbeat(d, member).error
    rebalances(d, member)
    return joining


def rebalances(d: Dialogue, member: Member, within: float = PROMPTLY) -> None:
    """Heartbeats of a member until they say that the group rebalances, for so many seconds.

    What begins the rebalance was sent on another connection, and may be read later than a heartbeat.
    """
    since = d.transcript.elapsed()
    reply = _heartbeat(d, member)
    while reply.error == "NONE" and d.transcript.elapsed() - since < within:
        d.wait(0.05)
        reply = _heartbeat(d, member)
    d.expect(reply, error="REBALANCE_IN_PROGRESS", rule="heartbeat.rebalance-in-progress")


def _heartbeat(d: Dialogue, member: Member) -> Reply:
    """A heartbeat that is sent again while it is answered NONE."""
    first = len(d.transcript.lines)
    reply = member.heartbeat()
    if reply.error == "NONE":
        d.transcript.early(first)
    return reply
