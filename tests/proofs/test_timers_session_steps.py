"""Every step of the spec does to a session what the formulas allow, in millisecond after millisecond.

alice's session is watched through what she, bob and the log can do with timeouts of few milliseconds. What
became of it is told by the formulas alone: one of the sequences of events that the kind of step allows must
give just what the spec gave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

import pytest
import z3

from rota.proofs.timers import session
from rota.spec import (
    KAFKA_4,
    Arm,
    BrokerConfig,
    Call,
    ErrorCode,
    Group,
    GroupRecord,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ProtocolMetadata,
    Step,
    SyncGroupRequest,
    Timer,
    TimerKind,
    classic,
)
from rota.spec.classic.heartbeat import HeartbeatReply
from rota.spec.classic.vocabulary import kind_of
from rota.spec.context import Spec, only
from rota.spec.vocabulary import AppendError

REBALANCE, NEW = 3, 4
SPEC = classic(
    BrokerConfig(
        group_min_session_timeout_ms=1, group_initial_rebalance_delay_ms=1, new_member_join_timeout_ms=NEW
    ),
    profile=KAFKA_4,
)
OWN = {TimerKind.SESSION, TimerKind.NEW_MEMBER}
EVENTS: dict[str, Callable[[session.Session], session.Session]] = {
    name: getattr(session, name)
    for name in ("admitted", "replacing", "tick", "sign", "park", "answer", "stored", "due", "leave")
}


@dataclass(frozen=True)
class Seen:
    """alice's session; times count from now. heard and held are not seen, but told by the formulas."""

    alive: bool = False
    parked: bool = False
    new: bool = False
    timers: frozenset[int] = frozenset()
    timeout: int = 0
    heard: int = field(default=0, compare=False)
    held: int = field(default=0, compare=False)

    def same(self, other: Seen) -> bool:
        """For one who has gone only its timers count."""
        gone = not self.alive and not other.alive
        return self.timers == other.timers if gone else self == other


@cache
def made(event: str, asked: int, seen: Seen, heard: int, held: int) -> Seen:
    """What the formula of an event makes of these values."""
    before = session.NOW
    numbers = {"now": 0, "heard": heard, "held": held, "timeout": seen.timeout}
    timers = session.NOTHING
    for at in seen.timers:
        timers = z3.SetAdd(timers, z3.IntVal(at))
    pairs = [
        (before.timers, timers),
        (session.ASKED, z3.IntVal(asked)),
        (session.LIMIT, z3.IntVal(NEW)),
        *((getattr(before, name), z3.IntVal(value)) for name, value in numbers.items()),
        *((getattr(before, name), z3.BoolVal(getattr(seen, name))) for name in ("alive", "parked", "new")),
    ]

    def value(term: Any) -> Any:
        return z3.simplify(z3.substitute(term, *pairs))

    after = EVENTS[event](before)
    now = value(after.now).as_long()
    due = [at for at in range(-9, 10) if z3.is_true(value(z3.IsMember(z3.IntVal(at), after.timers)))]
    return Seen(
        *(z3.is_true(value(term)) for term in (after.alive, after.parked, after.new)),
        frozenset(at - now for at in due),
        value(after.timeout).as_long(),
        value(after.heard).as_long() - now,
        value(after.held).as_long(),
    )


@dataclass(frozen=True)
class World:
    """A group, when its timers are due from now on, and what is on its way to the log."""

    group: Group | None = None
    due: frozenset[tuple[Timer, int]] = frozenset()
    log: tuple[GroupRecord, ...] = ()

    def after(self, step: Step) -> World:
        due = dict(self.due)
        for effect in step.timers:
            if isinstance(effect, Arm):
                due[effect.timer] = effect.delay_ms
            else:
                due.pop(effect.timer, None)
        return World(step.group, frozenset(due.items()), self.log + step.records)

    def named(self, letter: str) -> str:
        """The member's id, '' where it is none."""
        ids = () if self.group is None else self.group.members
        return next((i for i in ids if i.startswith(letter)), "")

    def alice(self) -> Seen:
        timers = frozenset(
            at for timer, at in self.due if kind_of(timer) in OWN and timer.member_id.startswith("a")
        )
        if self.group is None or not self.named("a"):
            return Seen(timers=timers)
        one = self.group.members[self.named("a")]
        parked = (one.awaiting_join, one.awaiting_sync) != (None, None)
        return Seen(True, parked, one.is_new, timers, one.session_timeout_ms)


Told = tuple[tuple[str, ...], ...]
SAME: Told = ((),)
OTHERS: Told = ((), ("answer",), ("leave",))
JOINS: Told = ((), ("park",), ("park", "answer"), ("park", "answer", "park"))
"""The third one: her JoinGroup ends the sync phase in which she waits, whose answer has the new timeout."""
NEWCOMER: Told = (("admitted",), ("admitted", "answer"))
RESTART: Told = (("replacing",), ("replacing", "answer"))
Turn = tuple[World, Told, int]
"""A world that may follow, what may have become of alice's session, the timeout that she asked for or 0."""


class Play:
    """All that can happen under a spec. instance: alice's, if she is a static member; then she is alone."""

    def __init__(self, spec: Spec = SPEC, instance: str | None = None) -> None:
        self.spec, self.instance = spec, instance
        self.worlds: set[World] = set()

    def turns(self, world: World) -> Iterator[Turn]:
        generation = 0 if world.group is None else world.group.generation_id
        yield from chain(
            self.joins(world), self.others(world, generation), self.time(world), self.answers(world)
        )
        alice = world.named("a")
        for said in (generation, generation + 1) if alice else ():
            for step in self.ask(world, HeartbeatRequest("g", said, alice)):
                reply = step.replies[0].message
                assert isinstance(reply, HeartbeatReply)
                heard = reply.error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
                yield world.after(step), (("sign",),) if heard else SAME, 0

    def ask(self, world: World, request: Any, to: str = "alice", **call: Any) -> tuple[Step, ...]:
        return self.spec.handle(world.group, Call(request, to, call.get("version", 3), call.get("fresh", "")))

    def join(self, world: World, member_id: str, timeout: int, fresh: str) -> Iterator[World]:
        instance = self.instance if fresh != "b" else None
        lists = (ProtocolMetadata("range", b"%d" % timeout),)
        request = JoinGroupRequest("g", timeout, REBALANCE, member_id, "consumer", lists, instance)
        to, version = ("bob" if fresh == "b" else "alice"), (9 if instance else 3)
        yield from map(world.after, self.ask(world, request, to, version=version, fresh=fresh))

    def joins(self, world: World) -> Iterator[Turn]:
        alice = world.named("a")
        for timeout in (1, 2):
            for after in self.join(world, alice, timeout, "a"):
                yield after, JOINS if alice else NEWCOMER, timeout
            if alice and self.instance and not world.log:
                for after in self.join(world, "", timeout, "a2" if alice == "a" else "a"):
                    yield after, RESTART, timeout
        if not self.instance:
            for after in self.join(world, world.named("b"), 9, "b"):
                yield after, OTHERS, 0

    def others(self, world: World, generation: int) -> Iterator[Turn]:
        syncs = {"alice": ((), ("park",)), "bob": OTHERS}
        leaves = {"alice": (("leave",),), "bob": OTHERS}
        for client in ("alice", "bob"):
            if member_id := world.named(client[0]):
                for step in self.ask(world, SyncGroupRequest("g", generation, member_id), client):
                    yield world.after(step), syncs[client], 0
                for step in self.ask(world, LeaveGroupRequest("g", (LeavingMember(member_id),)), client):
                    yield world.after(step), leaves[client], 0

    def time(self, world: World) -> Iterator[Turn]:
        """Timers that are due now; if there are none a millisecond passes."""
        now = [timer for timer, at in world.due if at == 0]
        for timer in now:
            assert world.group is not None
            left = replace(world, due=world.due - {(timer, 0)})
            own = kind_of(timer) in OWN and timer.member_id.startswith("a")
            for step in self.spec.fire(world.group, timer):
                yield left.after(step), (("due",),) if own else OTHERS, 0
        if not now:
            yield replace(world, due=frozenset((timer, at - 1) for timer, at in world.due)), (("tick",),), 0

    def answers(self, world: World) -> Iterator[Turn]:
        errors = (None,) if self.instance else (None, AppendError.REQUEST_TIMED_OUT)
        for error in errors if world.log else ():
            left = replace(world, log=world.log[1:])
            for step in self.spec.appended(world.group, world.log[0], error):
                yield left.after(step), ((), ("answer",), ("stored",), ("leave",)), 0

    def explore(self, most: int) -> tuple[set[tuple[str, ...]], list[Turn]]:
        """Which sequences of events told the first so many steps, and the steps that none of them tells."""
        used: set[tuple[str, ...]] = set()
        untold: list[Turn] = []
        todo = deque([(World(), Seen())])
        known = set(todo)
        while todo and most > 0:
            world, seen = todo.popleft()
            for turn in self.turns(world):
                most -= 1
                fitting = tellings(seen, turn)
                if not fitting:
                    untold.append(turn)
                    continue
                used.add(fitting[0][0])
                self.worlds.add(turn[0])
                following = turn[0], fitting[0][1]
                if len(turn[0].log) <= 2 and following not in known:
                    known.add(following)
                    todo.append(following)
        return used, untold


def tellings(seen: Seen, turn: Turn) -> list[tuple[tuple[str, ...], Seen]]:
    """Sequences of events that make of the session what the spec made of it, and that."""
    world, allowed, asked = turn
    if not seen.alive:  # nothing but her admission touches her
        allowed = allowed if allowed == NEWCOMER else SAME
    found = []
    for events in allowed:
        after = seen
        for event in events:
            after = made(event, asked or seen.timeout, after, after.heard, after.held)
        if after.same(world.alice()):
            found.append((events, after if after.alive else Seen()))
    return found


@pytest.mark.parametrize("instance", [None, "i"])
def test_steps_of_the_spec_are_steps_of_the_formulas(instance: str | None) -> None:
    used, untold = Play(instance=instance).explore(5_000)
    assert not untold
    expected = {("admitted",), ("tick",), ("sign",), ("park",), ("answer",), ("due",), ("leave",)}
    more = {("replacing",), ("stored",)} if instance else {("park", "answer", "park")}
    assert used > expected | more


def left_open(play: Play) -> list[World]:
    """Where a join phase goes on though its barrier is open; the initial delay does not look at it."""
    preparing = (w for w in play.worlds if w.group and w.group.state is GroupState.PREPARING_REBALANCE)
    return [w for w in preparing if not w.group.initial_join and SPEC.ask("join.barrier", w.group)]


def test_the_barrier_is_looked_at_whenever_it_may_have_opened() -> None:
    play = Play()
    play.explore(5_000)
    assert not left_open(play)

    def does_not_look(spec: Spec, step: Step) -> tuple[Step, ...]:
        return only(step)

    blind = Play(replace(SPEC, rules=SPEC.rules.replaced("join.complete-if-all-joined", does_not_look)))
    blind.explore(5_000)
    assert left_open(blind)


def deaf(spec: Spec, group: Group, call: Call) -> tuple[Step, ...]:
    """A heartbeat starts no session."""
    return only(Step(group).answer(call.to, HeartbeatReply(ErrorCode.NONE)))


def merciless(spec: Spec, group: Group, timer: Timer) -> tuple[Step, ...]:
    """Who is parked is expired, too."""
    return ()


def forgetful(spec: Spec, step: Step, member_id: str) -> tuple[Step, ...]:
    """A member goes, and its timers run on."""
    return tuple(replace(one, timers=()) for one in SPEC.apply("leave.remove-member", step, member_id))


def sparing(spec: Spec, step: Step) -> tuple[Step, ...]:
    """A new generation starts no session."""
    return tuple(
        replace(one, timers=tuple(t for t in one.timers if kind_of(t.timer) not in OWN))
        for one in SPEC.apply("join.next-generation", step)
    )


@pytest.mark.parametrize(
    ("slug", "bug"),
    [
        ("heartbeat.alive", deaf),
        ("timers.session-ignored", merciless),
        ("leave.remove-member", forgetful),
        ("join.next-generation", sparing),
    ],
)
def test_steps_of_a_spec_with_a_bug_are_not(slug: str, bug: Callable[..., tuple[Step, ...]]) -> None:
    spec = replace(SPEC, rules=SPEC.rules.replaced(slug, bug))
    assert Play(spec).explore(3_000)[1]
