"""Systems with known counts, and systems with one defect each; importable as `toys` in any process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rota.kernel import FrozenMap, Kind, Outcome, Property, Send, System, SystemRef, View


@dataclass(frozen=True)
class Toy:
    """A machine made of plain functions."""

    name: str
    role: str
    starts: tuple[Any, ...]
    moves: Callable[[Any], Sequence[Outcome]] = lambda value: ()
    takes: Callable[[Any, str, Any], Sequence[Outcome]] = lambda value, sender, message: ()

    def initial(self) -> Sequence[Any]:
        return self.starts

    def actions(self, value: Any) -> Sequence[Outcome]:
        return self.moves(value)

    def receive(self, value: Any, sender: str, message: Any) -> Sequence[Outcome]:
        return self.takes(value, sender, message)


def whole(value: Any) -> Any:
    return value


def prop(
    name: str, kind: Kind, test: Callable[..., bool], *roles: str, of: Callable[[Any], Any] = whole
) -> Property:
    return Property(name, kind, f"{name} in words", tuple(View(role, of) for role in roles), test)


def ref(factory: str, **settings: Any) -> SystemRef:
    return SystemRef(f"toys:{factory}", tuple(settings.items()))


# ---- independent counters: (bound + 1) ** count states


def counters(count: int = 3, bound: int = 3, properties: tuple[Property, ...] = ()) -> System:
    def moves(value: int) -> list[Outcome]:
        return [Outcome(value + 1, label=f"to {value + 1}", rules=("counter.up",))] if value < bound else []

    machines = tuple(Toy(f"counter/{i}", "counter", (0,), moves) for i in range(count))
    full = prop("full", Kind.WITNESS, lambda a, b: a == b == bound, "counter", "counter")
    ends = prop("ends", Kind.TERMINAL, lambda a: a == bound, "counter")
    up = prop("up", Kind.STEP, lambda a, b: a <= b, "counter")
    return System(
        "counters", machines, (full, ends, up, *properties), ref("counters", count=count, bound=bound)
    )


def supposing() -> System:
    """Counters that are judged where they are odd, and where they count down, which none does."""
    odd = prop("odd", Kind.SAFETY, lambda a: a in (1, 3), "counter")
    down = prop("down", Kind.STEP, lambda a, b: False, "counter")
    claims = (replace(odd, given=lambda a: a % 2 == 1), replace(down, given=lambda a, b: b < a))
    return replace(counters(properties=claims), ref=ref("supposing"))


def supposing_broken() -> System:
    """The same, and a counter must not come to 3."""
    low = prop("broken", Kind.SHAPE, lambda a: a < 3, "counter")
    return replace(supposing(), properties=(*supposing().properties, low), ref=ref("supposing_broken"))


# ---- token ring: count * 2 ** count states


@dataclass(frozen=True)
class Node:
    token: bool
    wants: bool


@dataclass(frozen=True)
class Token:
    pass


def ring(count: int = 4) -> System:
    def node(i: int) -> Toy:
        def moves(value: Node) -> list[Outcome]:
            out = (
                []
                if value.wants
                else [Outcome(replace(value, wants=True), label="wants", rules=("ring.want",))]
            )
            if value.token:
                gone = Node(False, False)
                token = (Send(f"node/{(i + 1) % count}", Token()),)
                out.append(Outcome(gone, token, "passes the token", ("ring.pass",)))
            return out

        def takes(value: Node, sender: str, message: Token) -> list[Outcome]:
            return [Outcome(replace(value, token=True), label="takes the token", rules=("ring.take",))]

        return Toy(f"node/{i}", "node", (Node(i == 0, False),), moves, takes)

    properties = (
        prop("one-token", Kind.SAFETY, lambda a, b: not (a and b), "node", "node", of=lambda n: n.token),
        prop("somebody-waits", Kind.WITNESS, lambda a, b: a.token and b.wants, "node", "node"),
        prop("never", Kind.TERMINAL, lambda a: False, "node"),
    )
    return System("ring", tuple(node(i) for i in range(count)), properties, ref("ring", count=count))


# ---- Die Hard: 16 states, 97 generated, four gallons after 6 steps (Lamport's TLA+ example)


@dataclass(frozen=True)
class Pour:
    gallons: int


@dataclass(frozen=True)
class Back:
    gallons: int


def die_hard(goal: int = 4) -> System:
    """The invariant `never-goal` is violated after 6 steps for 4 gallons; with goal 9 it holds."""

    def jug(name: str, size: int, other: str) -> Toy:
        def moves(value: int) -> list[Outcome]:
            return [
                Outcome(size, label=f"fill {name}", rules=("jug.fill",)),
                Outcome(0, label=f"empty {name}", rules=("jug.empty",)),
                Outcome(0, (Send(other, Pour(value)),), f"pour from {name}", ("jug.pour",)),
            ]

        def takes(value: int, sender: str, message: Pour | Back) -> list[Outcome]:
            if isinstance(message, Back):
                return [Outcome(message.gallons, rules=("jug.rest",))]
            taken = min(size - value, message.gallons)
            return [Outcome(value + taken, (Send(sender, Back(message.gallons - taken)),))]

        return Toy(name, name, (0,), moves, takes)

    never = prop("never-goal", Kind.SAFETY, lambda gallons: gallons != goal, "big")
    return System(
        "die-hard", (jug("small", 3, "big"), jug("big", 5, "small")), (never,), ref("die_hard", goal=goal)
    )


# ---- two-phase commit as in Lamport's TwoPhase: 288 states and 1146 generated for three managers


@dataclass(frozen=True)
class Prepared:
    manager: int


@dataclass(frozen=True)
class Decision:
    commit: bool


@dataclass(frozen=True)
class Coordinator:
    phase: str = "init"
    prepared: frozenset[int] = frozenset()


def two_phase(count: int = 3) -> System:
    def manager(i: int) -> Toy:
        def moves(value: str) -> list[Outcome]:
            if value != "working":
                return []
            return [
                Outcome("prepared", (Send("net", Prepared(i)),), f"{i} prepares", ("rm.prepare",)),
                Outcome("aborted", label=f"{i} aborts", rules=("rm.abort",)),
            ]

        def takes(value: str, sender: str, message: Decision) -> list[Outcome]:
            return [Outcome("committed" if message.commit else "aborted", rules=("rm.decided",))]

        return Toy(f"rm/{i}", "rm", ("working",), moves, takes)

    def tm_moves(value: Coordinator) -> list[Outcome]:
        if value.phase != "init":
            return []
        abort = Outcome(replace(value, phase="done"), (Send("net", Decision(False)),), "abort", ("tm.abort",))
        if len(value.prepared) < count:
            return [abort]
        return [
            abort,
            Outcome(replace(value, phase="done"), (Send("net", Decision(True)),), "commit", ("tm.commit",)),
        ]

    def tm_takes(value: Coordinator, sender: str, message: Prepared) -> list[Outcome]:
        if value.phase != "init":
            return []
        return [Outcome(replace(value, prepared=value.prepared | {message.manager}), rules=("tm.prepared",))]

    def net_moves(value: frozenset[Prepared | Decision]) -> list[Outcome]:
        out = []
        for message in sorted(value, key=repr):
            receivers = ["tm"] if isinstance(message, Prepared) else [f"rm/{i}" for i in range(count)]
            out += [Outcome(value, (Send(to, message),), f"{message} to {to}") for to in receivers]
        return out

    machines = (
        Toy("tm", "tm", (Coordinator(),), tm_moves, tm_takes),
        Toy("net", "net", (frozenset(),), net_moves, lambda v, sender, message: [Outcome(v | {message})]),
        *(manager(i) for i in range(count)),
    )
    disagree = {("committed", "aborted"), ("aborted", "committed")}
    properties = (
        prop("consistent", Kind.SAFETY, lambda a, b: (a, b) not in disagree, "rm", "rm"),
        prop("phases", Kind.SHAPE, lambda phase: phase in ("init", "done"), "tm", of=lambda tm: tm.phase),
        prop("no-return", Kind.STEP, lambda a, b: a == b or a != "done", "tm", of=lambda tm: tm.phase),
        prop("commits", Kind.WITNESS, lambda a: a == "committed", "rm"),
    )
    return System("two-phase", machines, properties, ref("two_phase", count=count))


# ---- a channel with refusals, choices when taking, and replies that overtake nothing (FIFO)


@dataclass(frozen=True)
class Word:
    text: str


@dataclass(frozen=True)
class Producer:
    sent: int = 0
    heard: tuple[str, ...] = ()


def channel(total: int = 4, room: int = 2) -> System:
    """States: for each sent <= total and held <= room, kept runs from 0 to sent - held.

    What the producer heard last is `ack thanks` after a kept word and `ack` after a lost one, so those
    states come twice wherever both are possible; see `channel_states`.
    """

    def moves(value: Producer) -> list[Outcome]:
        if value.sent == total:
            return []
        return [
            Outcome(
                replace(value, sent=value.sent + 1), (Send("channel", Word("data")),), "sends", ("p.send",)
            )
        ]

    def hears(value: Producer, sender: str, message: Word) -> list[Outcome]:
        heard = (message.text,) if message.text == "ack" else (*value.heard, message.text)
        return [Outcome(replace(value, heard=heard), rules=(f"p.{message.text}",))]

    def deliver(value: int) -> list[Outcome]:
        if not value:
            return []
        return [
            Outcome(value - 1, (Send("consumer", Word("data")), Send("producer", Word("ack"))), "delivers")
        ]

    def holds(value: int, sender: str, message: Word) -> list[Outcome]:
        return [Outcome(value + 1, rules=("c.hold",))] if value < room else []

    def takes(value: int, sender: str, message: Word) -> list[Outcome]:
        kept = Outcome(value + 1, (Send("producer", Word("thanks")),), "kept", ("k.keep",))
        return [kept, Outcome(value, label="lost", rules=("k.lose",))]

    machines = (
        Toy("producer", "producer", (Producer(),), moves, hears),
        Toy("channel", "channel", (0,), deliver, holds),
        Toy("consumer", "consumer", (0,), takes=takes),
    )
    properties = (
        prop("room", Kind.SHAPE, lambda held: held <= room, "channel"),
        prop("order", Kind.SAFETY, lambda p: p.heard in ((), ("ack",), ("ack", "thanks")), "producer"),
        prop("grows", Kind.STEP, lambda a, b: a <= b <= a + 1, "consumer"),
        prop("all-kept", Kind.WITNESS, lambda p, kept: p.sent == kept == total, "producer", "consumer"),
        prop("rest", Kind.TERMINAL, lambda p, held: p.sent == total and not held, "producer", "channel"),
    )
    return System("channel", machines, properties, ref("channel", total=total, room=room))


def channel_states(total: int, room: int) -> int:
    """The number of states of `channel`, counted without an engine."""
    count = 0
    for sent in range(total + 1):
        for held in range(min(room, sent) + 1):
            gone = sent - held
            # nothing gone: one; else the last one was lost (0..gone-1 kept) or kept (1..gone kept)
            count += 2 * gone if gone else 1
    return count


# ---- several initial values, senders that matter, values with maps and sets


def scatter() -> System:
    """Two askers that may start anywhere; the oracle's answer depends on who asks, not on what."""

    def asks(value: int) -> list[Outcome]:
        return [Outcome(value, (Send("oracle", Word("?")),), "asks")]

    def hears(value: int, sender: str, message: Word) -> list[Outcome]:
        return [Outcome((value + len(message.text)) % 5, rules=(f"heard.{message.text}",))]

    def answers(value: FrozenMap[str, int], sender: str, message: Word) -> list[Outcome]:
        if value.get(sender, 0) == 2:
            return []
        more = value.set(sender, value.get(sender, 0) + 1)
        return [
            Outcome(more, (Send(sender, Word("a" if sender == "asker/1" else "ab")),), f"answers {sender}")
        ]

    machines = (
        Toy("asker/1", "asker", (0, 3, 0), asks, hears),
        Toy("asker/2", "asker", (1, 2), asks, hears),
        Toy("oracle", "oracle", (FrozenMap(),), takes=answers),
    )
    return System("scatter", machines, (), ref("scatter"))


# ---- one defect each


def broken(kind: str) -> System:
    """Counters with one property of the given kind that fails (`witness`: is never reached)."""
    defects = {
        "shape": prop("broken", Kind.SHAPE, lambda a: a < 3, "counter"),
        "safety": prop("broken", Kind.SAFETY, lambda a, b: a + b < 4, "counter", "counter"),
        "effect": prop("broken", Kind.EFFECT, lambda a: a < 3, "counter"),
        "step": prop("broken", Kind.STEP, lambda a, b: not (a == 1 and b == 2), "counter"),
        "stutter": prop("broken", Kind.STEP, lambda a, b: not (a == b == 2), "counter"),
        "witness": prop("broken", Kind.WITNESS, lambda a, b: a - b == 4, "counter", "counter"),
        "initial": prop("broken", Kind.SAFETY, lambda a: a > 0, "counter"),
        "two": prop("broken", Kind.SAFETY, lambda a, b: (a, b) not in ((2, 1), (3, 0)), "counter", "counter"),
    }
    return replace(counters(3, 3, (defects[kind],)), name=f"broken-{kind}", ref=ref("broken", kind=kind))


def deadlock() -> System:
    """Philosophers: each takes the fork at the left, then the right one; all left forks taken is the end."""
    count = 3

    def eater(i: int) -> Toy:
        left, right = f"fork/{i}", f"fork/{(i + 1) % count}"

        def moves(value: int) -> list[Outcome]:
            if value == 2:
                done = (Send(left, Word("down")), Send(right, Word("down")))
                return [Outcome(0, done, f"{i} eats", ("eater.done",))]
            fork = (left, right)[value]
            takes = Outcome(value + 1, (Send(fork, Word("up")),), f"{i} takes {fork}", ("eater.take",))
            return [takes, Outcome(value, label="waits")]

        return Toy(f"eater/{i}", "eater", (0,), moves)

    def fork(value: bool, sender: str, message: Word) -> list[Outcome]:
        return [Outcome(not value)] if value == (message.text == "down") else []

    machines = (
        *(eater(i) for i in range(count)),
        *(Toy(f"fork/{i}", "fork", (False,), takes=fork) for i in range(count)),
    )
    never = prop("never", Kind.TERMINAL, lambda a: False, "eater")
    return System("deadlock", machines, (never,), ref("deadlock"))


def ambiguous() -> System:
    """A value that becomes 1 by one way and True by another."""

    def moves(value: Any) -> list[Outcome]:
        return [Outcome((1,)), Outcome((True,))] if value == (0,) else []

    return System("ambiguous", (Toy("m", "m", ((0,),), moves),), (), ref("ambiguous"))


def assassin(flag: str, spared: int, generations: int = 0) -> System:
    """Counters of which one kills its process, or a forefather of it, unless it is process `spared`.

    flag: a file that says that it was done, so that it is done once; '': done every time.
    """
    base = counters(3, 4)

    def moves(value: int) -> Sequence[Outcome]:
        if value == 2 and os.getpid() != spared and not (flag and Path(flag).exists()):
            if flag:
                Path(flag).touch()
            victim = os.getpid()
            for _ in range(generations):
                victim = int(Path(f"/proc/{victim}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(victim, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return base.machines[0].actions(value)

    machines = (replace(base.machines[0], moves=moves), *base.machines[1:])  # type: ignore[type-var]
    return replace(
        base, machines=machines, ref=ref("assassin", flag=flag, spared=spared, generations=generations)
    )


class Shown(NamedTuple):
    """What no state may contain, and a view may show."""

    low: bool
    half: int


def showing() -> System:
    """Counters of which named tuples are seen, alone and within others."""

    def seen(value: int) -> Shown:
        return Shown(value < 2, value // 2)

    alone = prop("alone", Kind.SAFETY, lambda a, b: a.low or a.half, "counter", "counter", of=seen)
    among = prop(
        "among", Kind.STEP, lambda a, b: a and b, "counter", of=lambda value: frozenset({seen(value)})
    )
    claims = (replace(alone, given=lambda a, b: a != b), among)
    return replace(counters(properties=claims), ref=ref("showing"))


ALL: dict[str, Callable[[], System]] = {
    "counters": counters,
    "supposing": supposing,
    "ring": ring,
    "die-hard": die_hard,
    "die-hard-9": lambda: die_hard(9),
    "two-phase": two_phase,
    "channel": channel,
    "scatter": scatter,
    "deadlock": deadlock,
    **{
        f"broken-{kind}": lambda kind=kind: broken(kind)
        for kind in ("shape", "safety", "effect", "step", "stutter", "witness", "initial", "two")
    },
}
