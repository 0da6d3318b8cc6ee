"""Heartbeats and join+sync pairs per second of the coordinator's core, as ratios against the executable spec.

    .venv/bin/python bench/coordinator.py [MEMBERS ...]

Both sides get the same requests in one run, without sockets: the core with its effects carried out (timers
armed in the wheel, appends acknowledged), the spec with the first of its steps taken and deadlines kept in a
dict. Seconds are the processor's.

  heartbeats  every member of a Stable group in turn
  rebalance   all members of a Stable group join again and sync; the leader joins first and syncs last
  alone       as many groups of one member each; the member joins again and syncs

The spec copies a group for each change of it. Where all joins and syncs would take too long it gets the first
fifty of each, and the end of the phases is left out in its favour; such figures are marked with "~".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from time import process_time

from rota import coordinator as core
from rota import spec
from rota.kernel import FrozenMap

MEMBERS = (10, 100, 1_000, 10_000)
SAMPLE = 50
"""Joins and syncs that the spec gets of a rebalance that is too long for it."""

PAIRS = 300
"""Small groups are rebalanced again and again until about so many members have joined and synced."""

ROUNDS = 3
"""Each figure is the best of so many, taken in turn."""


class First:
    """Choices: always the first; ids are numbered."""

    def __init__(self) -> None:
        self.ids = 0

    def new_member_id(self, client_id: str) -> str:
        """The next id."""
        self.ids += 1
        return f"m{self.ids:06}"

    def now_ms(self) -> int:
        """Not known."""
        return -1

    def protocol(self, tied: tuple[str, ...]) -> str:
        """The first."""
        return tied[0]

    def leader(self, candidates: tuple[str, ...]) -> str:
        """The first."""
        return candidates[0]


class Core:
    """The core; its time stands still until somebody lets it pass."""

    def __init__(self) -> None:
        self.coordinator = core.GroupCoordinator(
            core.CoordinatorConfig(group_initial_rebalance_delay_ms=0), First()
        )
        self.wheel: core.TimingWheel[core.TimerId] = core.TimingWheel()
        self.now_ms = 0
        self.answered = 0
        self.tokens = 0

    def pass_time(self, milliseconds: int) -> None:
        """So much later: what is due fires."""
        self.now_ms += milliseconds
        while (timer_id := self.wheel.pop(self.now_ms)) is not None:
            self.do(self.coordinator.fire(timer_id))

    def stable(self, group_id: str, members: int) -> list[str]:
        """A Stable group, its leader first; returns the ids of its members."""
        for _ in range(members):
            self.join(group_id, "")
        group = self.coordinator.groups[group_id]
        while group.state != core.GroupState.COMPLETING_REBALANCE:
            self.pass_time(0)
        ids = list(group.members)
        for member_id in ids:
            self.sync(group_id, member_id, group.generation_id, ())
        return ids

    def heartbeat(self, group_id: str, member_id: str, generation_id: int) -> None:
        """One Heartbeat."""
        self.tokens += 1
        request = core.Heartbeat(group_id, generation_id, member_id)
        self.do(self.coordinator.heartbeat(request, 4, self.tokens))

    def join(self, group_id: str, member_id: str) -> None:
        """One JoinGroup, in the last version that admits a new member at once."""
        self.tokens += 1
        request = core.JoinGroup(
            group_id, 30_000, 60_000, member_id, protocol_type="consumer", protocols=CORE_PROTOCOLS
        )
        self.do(self.coordinator.join_group(request, 3, "bench", "/127.0.0.1", self.tokens))

    def sync(self, group_id: str, member_id: str, generation_id: int, assigned: Iterable[str]) -> None:
        """One SyncGroup with shares for these."""
        self.tokens += 1
        shares = tuple(core.SyncGroupAssignment(each, b"share") for each in assigned)
        request = core.SyncGroup(group_id, generation_id, member_id, None, "consumer", "range", shares)
        self.do(self.coordinator.sync_group(request, 5, self.tokens))

    def do(self, effects: core.Effects) -> None:
        """Carry out."""
        for wish in effects.timers:
            if isinstance(wish, core.Arm):
                self.wheel.arm(wish.timer_id, self.now_ms + wish.delay_ms)
            else:
                self.wheel.cancel(wish.timer_id)
        for _, reply in effects.replies:
            self.answered += getattr(reply, "error_code", 0) == 0
        for append in effects.appends:
            self.do(self.coordinator.appended(append.append_id))


CORE_PROTOCOLS = (core.JoinGroupProtocol("range", b"topics"), core.JoinGroupProtocol("roundrobin", b"topics"))
SPEC_PROTOCOLS = (spec.ProtocolMetadata("range", b"topics"), spec.ProtocolMetadata("roundrobin", b"topics"))


class Spec:
    """The spec, with the groups' states."""

    def __init__(self) -> None:
        self.spec = spec.classic()
        self.groups: dict[str, spec.Group] = {}
        self.deadlines: dict[tuple[str, spec.Timer], int] = {}
        self.answered = 0
        self.tokens = 0

    def stable(self, group_id: str, members: int) -> list[str]:
        """A Stable group as its joins and syncs would leave it; returns the ids of its members."""
        ids = [f"m{number:06}" for number in range(1, members + 1)]
        member = spec.Member(60_000, 30_000, SPEC_PROTOCOLS, b"share")
        self.groups[group_id] = spec.Group(
            spec.GroupState.STABLE, 1, "consumer", "range", ids[0], FrozenMap(dict.fromkeys(ids, member))
        )
        return ids

    def heartbeat(self, group_id: str, member_id: str, generation_id: int) -> None:
        """One Heartbeat."""
        self.call(group_id, spec.HeartbeatRequest(group_id, generation_id, member_id), 4)

    def join(self, group_id: str, member_id: str) -> None:
        """One JoinGroup."""
        request = spec.JoinGroupRequest(group_id, 30_000, 60_000, member_id, "consumer", SPEC_PROTOCOLS)
        self.call(group_id, request, 3)

    def sync(self, group_id: str, member_id: str, generation_id: int, assigned: Iterable[str]) -> None:
        """One SyncGroup with shares for these."""
        shares = tuple(spec.MemberAssignment(each, b"share") for each in assigned)
        request = spec.SyncGroupRequest(group_id, generation_id, member_id, shares, "consumer", "range")
        self.call(group_id, request, 5)

    def skip_to_the_sync_phase(self, group_id: str) -> None:
        """What the end of the join phase would leave."""
        group = self.groups[group_id]
        member = spec.Member(60_000, 30_000, SPEC_PROTOCOLS)
        ids = group.members
        self.groups[group_id] = spec.Group(
            spec.GroupState.COMPLETING_REBALANCE,
            *(group.generation_id + 1, "consumer", "range", group.leader),
            *(FrozenMap(dict.fromkeys(ids, member)), frozenset(), frozenset(ids)),
        )

    def call(self, group_id: str, request: spec.messages.Request, version: int) -> None:
        """One request."""
        self.tokens += 1
        call = spec.Call(request, f"r{self.tokens}", version, "")
        self.do(group_id, self.spec.handle(self.groups[group_id], call)[0])

    def do(self, group_id: str, step: spec.Step) -> None:
        """Carry out."""
        if step.group is None:
            raise SystemExit("a group has vanished; the rates mean nothing")
        self.groups[group_id] = step.group
        for wish in step.timers:
            if isinstance(wish, spec.Arm):
                self.deadlines[group_id, wish.timer] = wish.delay_ms
            else:
                self.deadlines.pop((group_id, wish.timer), None)
        for reply in step.replies:
            self.answered += reply.message.error_code is spec.ErrorCode.NONE
        for record in step.records:
            self.do(group_id, self.spec.appended(step.group, record, None)[0])


Side = Core | Spec


def heartbeats(side: Side, members: int, number: int) -> Callable[[], int]:
    """So many heartbeats to a group of so many members."""
    ids = side.stable("g", members)

    def run() -> int:
        for member_id in islice(cycle(ids), number):
            side.heartbeat("g", member_id, 1)
        return number

    return run


def rebalance(side: Side, members: int) -> Callable[[], int]:
    """Rebalances of a whole group."""
    ids = side.stable("g", members)
    generation = 1

    def once() -> None:
        nonlocal generation
        generation += 1
        for member_id in ids:
            side.join("g", member_id)
        for member_id in ids[1:]:
            side.sync("g", member_id, generation, ())
        side.sync("g", ids[0], generation, ids)

    return repeated(once, members)


def part_of_a_rebalance(side: Spec, members: int) -> Callable[[], int]:
    """The first joins and the first syncs of a rebalance."""
    ids = side.stable("g", members)
    stable = side.groups["g"]

    def run() -> int:
        side.groups["g"] = stable
        for member_id in ids[:SAMPLE]:
            side.join("g", member_id)
        side.skip_to_the_sync_phase("g")
        for member_id in ids[1 : SAMPLE + 1]:
            side.sync("g", member_id, 2, ())
        side.answered += 2 * SAMPLE
        return SAMPLE

    return run


def alone(side: Side, groups: int) -> Callable[[], int]:
    """Rebalances in each of so many groups of one member."""
    names = [f"g{number}" for number in range(groups)]
    ids = {name: side.stable(name, 1) for name in names}
    generation = 1

    def once() -> None:
        nonlocal generation
        generation += 1
        for name in names:
            side.join(name, ids[name][0])
            side.sync(name, ids[name][0], generation, ids[name])

    return repeated(once, groups)


def repeated(once: Callable[[], None], pairs: int) -> Callable[[], int]:
    """What does a number of joins and syncs, so often that it can be timed; returns the number of pairs."""
    times = max(1, PAIRS // pairs)

    def run() -> int:
        for _ in range(times):
            once()
        return times * pairs

    return run


def rates(works: Sequence[tuple[Side, Callable[[], int]]]) -> list[float]:
    """Requests or pairs a second of each, the best of the rounds; every request has to succeed."""
    best = [0.0] * len(works)
    for _ in range(ROUNDS):
        for index, (side, run) in enumerate(works):
            answered, tokens, began = side.answered, side.tokens, process_time()
            done = run()
            best[index] = max(best[index], done / (process_time() - began))
            if side.answered - answered < side.tokens - tokens:
                raise SystemExit("a request failed; the rates mean nothing")
    return best


def row(what: str, members: int) -> str:
    """One line of the table."""
    mine, theirs, sampled = Core(), Spec(), False
    if what == "heartbeats":
        works = [(mine, heartbeats(mine, members, 10_000)), (theirs, heartbeats(theirs, members, 500))]
    elif what == "alone":
        works = [(mine, alone(mine, members)), (theirs, alone(theirs, min(members, PAIRS)))]
    elif sampled := members > 100:
        works = [(mine, rebalance(mine, members)), (theirs, part_of_a_rebalance(theirs, members))]
    else:
        works = [(mine, rebalance(mine, members)), (theirs, rebalance(theirs, members))]
    core_rate, spec_rate = rates(works)
    mark = "~" if sampled else " "
    ratio = core_rate / spec_rate
    return f"{what:<11}{members:>8,}{core_rate:>12,.0f}{spec_rate:>12,.0f}{mark}{ratio:>9,.1f}{mark}"


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    sizes = [int(argument) for argument in arguments] or MEMBERS
    print("a second:     members        core        spec     core/spec")
    for what in ("heartbeats", "rebalance", "alone"):
        for members in sizes:
            print(row(what, members), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
