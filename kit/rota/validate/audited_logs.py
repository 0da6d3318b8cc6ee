"""Audits of brokers' logs: what lines of one coordinator may say of a group one after the other."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from rota.history import Event, Kind
from rota.validate.account import Account, Violation

LOG = "broker-log"
MOST_GROUPS = 100_000
LINES_KEPT = 6

MISSING = "lines are missing: a generation was never told of"
BESIDE = "lines that no other line could contradict: who joined, left or failed, and when"
BEGINNING = "the first lines of a group, before a generation is told"

_RESETS = (Kind.LOADING, Kind.LOADED, Kind.UNLOADED, Kind.APPEND_FAILED, Kind.DEAD, Kind.UNREAD)
_JUDGED = (Kind.PREPARING, Kind.STABILIZED, Kind.ASSIGNMENT, Kind.EMPTY)


@dataclass
class _Told:
    """What a log has told of a group since its coordinator has it."""

    partition: object = None
    preparing: bool = False
    generation: int | None = None
    members: int | None = None
    leader: str = ""
    lines: list[str] = field(default_factory=list)

    def forget(self) -> None:
        self.preparing, self.generation, self.members = False, None, None
        self.leader, self.lines = "", []


def log_of(event: Event) -> str:
    """The log that a line stands in."""
    return event.origin.rpartition(":")[0]


class Logs:
    """Takes lines in the order of their log, of any number of logs."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._told: OrderedDict[tuple[str, str], _Told] = OrderedDict()

    def take(self, event: Event) -> None:
        """The next line that tells of groups."""
        source = log_of(event)
        if not event.group:
            self.announce(event)
            self._account.leave(BESIDE, LOG, 1, event.group)
            return
        self._account.of(event.group)
        told = self._known(source, event)
        if event.kind in _RESETS:
            told.forget()
            if event.kind is Kind.LOADED and event.generation is not None:
                told.generation = event.generation
            self._account.leave(BESIDE, LOG, 1, event.group)
        elif event.kind is Kind.REPLACED:
            told.leader = ""
            self._account.leave(BESIDE, LOG, 1, event.group)
        elif event.kind in _JUDGED and event.generation is not None:
            self._judge(told, event, event.generation)
        else:
            self._account.leave(BESIDE, LOG, 1, event.group)

    def _known(self, source: str, event: Event) -> _Told:
        key = (source, event.group)
        told = self._told.setdefault(key, _Told())
        self._told.move_to_end(key)
        if len(self._told) > MOST_GROUPS:
            self._told.popitem(last=False)
        told.partition = event.data.get("partition", told.partition)
        told.lines = [*told.lines[-LINES_KEPT:], event.origin]
        return told

    def announce(self, event: Event) -> None:
        """A line of no group. A coordinator begins or ends: it may read another generation than it had."""
        if event.kind not in (Kind.LOADING, Kind.LOADED, Kind.UNLOADED):
            return
        source, partition = log_of(event), event.data.get("partition")
        for (known_source, _), told in self._told.items():
            if known_source == source and (partition is None or told.partition in (None, partition)):
                told.forget()

    def _judge(self, told: _Told, event: Event, generation: int) -> None:
        judging = {
            Kind.PREPARING: self._preparing,
            Kind.STABILIZED: self._completed,
            Kind.EMPTY: self._completed,
            Kind.ASSIGNMENT: self._assigned,
        }
        known = told.generation
        found = judging[event.kind](told, event, generation)
        if found is not None:
            self._account.judge(event.group, 1)
            rule, why = found
            lines = tuple(told.lines)
            self._account.violate(Violation(event.group, rule, why, event.origin, lines, LOG, at=event.at))
        elif known is not None and generation > known + (event.kind in (Kind.STABILIZED, Kind.EMPTY)):
            self._account.give_up(event.group, MISSING, 1)
        elif known is None:
            self._account.leave(BEGINNING, LOG, 1, event.group)
        else:
            self._account.judge(event.group, 1)

    def _preparing(self, told: _Told, event: Event, generation: int) -> tuple[str, str] | None:
        known, told.generation, told.leader = told.generation, generation, ""
        again, told.preparing = told.preparing, True
        # The state in the line says nothing: the line is written when it has changed.
        if again and generation == known:
            return "state.legal-transition", "a rebalance is prepared while one is being prepared"
        if known is not None and 0 < generation < known:
            return _GROWS, f"a rebalance is prepared in generation {generation}, after generation {known}"
        return None

    def _completed(self, told: _Told, event: Event, generation: int) -> tuple[str, str] | None:
        known, told.generation, told.leader = told.generation, generation, ""
        told.preparing = False
        told.members = event.data.get("members") if event.kind is Kind.STABILIZED else 0
        if known is not None and generation == known:
            return _GROWS, f"generation {generation} begins a second time"
        if known is not None and generation < known:
            return _GROWS, f"generation {generation} begins after generation {known}"
        return None

    def _assigned(self, told: _Told, event: Event, generation: int) -> tuple[str, str] | None:
        known, leader, told.preparing = told.generation, told.leader, False
        if known is not None and generation != known:
            told.generation = max(known, generation)
            if generation < known:
                return _GROWS, f"an assignment is for generation {generation}, after generation {known} began"
            return None
        told.generation, told.leader = generation, event.member
        members = event.data.get("members")
        if leader and event.member and leader != event.member:
            return (
                "join.one-leader-per-generation",
                f"{event.member} brings the assignment of generation {generation}, and {leader} did before",
            )
        if None not in (members, told.members, known) and members != told.members:
            return (
                "join.membership-fixed-in-a-generation",
                f"the assignment of generation {generation} is for {members} members, {told.members} joined",
            )
        return None


_GROWS = "generation.grows-by-completed-joins"
