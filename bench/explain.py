"""What `rota explain` costs on a day of a broker's log: `python bench/explain.py [LINES]`.

The log is made here, in the words and the layout of Kafka 4: 10 groups side by side, then 1,000, in which
members come, leave and fail, between lines of other parts of the broker. The command is run whole, over a
tenth of the day and over all of it. Told are seconds of processor, lines a second and the most memory.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from bench.cost import cost

LINES, GROUPS, SEED = 1_000_000, (10, 1_000), 1
BEGINS = 1_795_400_000.0
DAY = 86_400.0

CLASS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
OTHER = "INFO [UnifiedLog partition=orders-7, dir=/data] Rolled new log segment at offset 4711 in 3 ms."


class Group:
    """A group whose lines are told one after the other, for ever."""

    def __init__(self, number: int, draw: random.Random) -> None:
        self.name, self.draw, self.generation = f"group-{number}", draw, 0
        self.members: list[str] = []

    def lines(self) -> Iterator[str]:
        """The next rebalance: somebody comes, or goes."""
        if len(self.members) < 3 or (len(self.members) < 12 and self.draw.random() < 0.5):
            yield from self._comes()
        else:
            yield from self._goes(self.members.pop(self.draw.randrange(len(self.members))))
        self.generation += 1
        size, leader = len(self.members), self.members[0]
        yield f"Stabilized group {self.name} generation {self.generation} with {size} members."
        yield (
            f"Assignment received from leader {leader} for group {self.name} for generation "
            f"{self.generation}."
            f" The group has {size} members, 0 of which are static."
        )

    def _comes(self) -> Iterator[str]:
        state = "Stable" if self.members else "Empty"
        member = f"worker-{UUID(int=self.draw.getrandbits(128), version=4)}"
        self.members.append(member)
        yield (
            f"Dynamic member with unknown member id joins group {self.name} in {state} state. Created a new"
            f" member id {member} and requesting the member to rejoin with this id."
        )
        yield (
            f"Pending dynamic member with id {member} joins group {self.name} in {state} state. Adding "
            f"to the group now."
        )
        reason = f"Adding new member {member} with group instance id null; client reason: not provided"
        yield self._preparing(state, reason)

    def _goes(self, member: str) -> Iterator[str]:
        if self.draw.random() < 0.5:
            yield f"Member {member} in group {self.name} has failed, removing it from the group."
            yield self._preparing("Stable", f"removing member {member} on heartbeat expiration.")
        else:
            why = "client reason: the consumer is being closed"
            yield (
                f"[GroupId {self.name}] Dynamic member {member} has left group through explicit "
                f"`LeaveGroup` request; {why}"
            )
            yield self._preparing("Stable", f"explicit `LeaveGroup` request for ({member}) members.")

    def _preparing(self, state: str, reason: str) -> str:
        return (
            f"Preparing to rebalance group {self.name} in state {state} with old generation {self.generation}"
            f" (reason: {reason})."
        )


def log(lines: int, groups_alive: int) -> Iterator[str]:
    """So many lines of a day."""
    draw = random.Random(SEED)
    groups = [Group(number, draw) for number in range(groups_alive)]
    told = 0
    while told < lines:
        at = BEGINS + DAY * told / lines
        for line in draw.choice(groups).lines():
            stamp = (
                datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") + f",{int(at % 1 * 1000):03}"
            )
            yield (
                f"[{stamp}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7] {line} "
                f"({CLASS})"
            )
            told += 1
            at += 0.2
        if draw.random() < 0.2:
            yield f"[{stamp}] {OTHER} (org.apache.kafka.storage.internals.log.UnifiedLog)"
            told += 1


def main(lines: int) -> None:
    """Make the logs, explain them, tell what that cost."""
    with tempfile.TemporaryDirectory(prefix="rota-explain-") as folder:
        path = Path(folder, "server.log")
        for groups in GROUPS:
            for number in (lines // 10, lines):
                with path.open("w", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in log(number, groups))
                seconds, memory, said = cost("explain", "--quiet", str(path))
                print(f"{number:,} lines of {groups:,} groups, {path.stat().st_size >> 20} MiB: {said}")
                print(
                    f"  {seconds:.1f} s of processor, {number / seconds:,.0f} lines/s, {memory} MiB at most"
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LINES)
