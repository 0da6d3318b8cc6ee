"""Whether the sources of one night tell the same rebalances: of each two, where both can see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from nights.night import Left
from rota.explain.accounts import Accounts
from rota.explain.frames import Frames
from rota.explain.rebalance import Ending, Rebalance
from rota.history import Event, Kind, Source, conversations
from rota.reading import read

HOW = {
    Kind.FAILED: "its session ran out",
    Kind.LEFT: "it left",
    Kind.LEAVING: "it left",
    Kind.NOT_REJOINED: "it did not join again",
    Kind.NOT_SYNCED: "it did not fetch its assignment",
}
"""Events → how a member went."""

LOG, CLIENTS, FRAMES, OFFSETS = "log", "clients", "frames", "offsets"

BY_HAND = "by-hand-"
"""What the ids of members begin with that write no log."""

EDGE = 1.0
"""Seconds by which sources tell of one thing at different times where the machine is never late, so also
those before the end in which some have it already and others not yet."""


@dataclass(frozen=True)
class Generation:
    """A generation as one source tells it: when its rebalance was over, how many members it has, how those
    went that it has not any more, "" where that is not visible, and who came; None where it is not told."""

    at: float | None
    members: int | None
    went: Mapping[str, str]
    came: frozenset[str]


@dataclass(frozen=True)
class Account:
    """What `rota explain` makes of a source: every generation that had an assignment, or nobody; and when
    static members came back into one that went on."""

    generations: Mapping[int, Generation]
    back: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Night:
    """What the sources are held to. rosters: who is in a generation, as far as known; ended: when the sources
    were closed; stored: whether assignments could be, for else only a log has what there would have been;
    edge: seconds by which sources tell of one thing at different times; handed_out: generations of which a
    member was given an assignment, None where that is not known."""

    accounts: Mapping[str, Account]
    rosters: Mapping[int, frozenset[str]]
    ended: float
    stored: bool = True
    edge: float = EDGE
    handed_out: frozenset[int] | None = None


def of(left: Left, stored: bool) -> Night:
    """A night that was played."""
    accounts = {name: told(_events(left.group, paths)) for name, paths in left.sources.items()}
    members = rosters(_events(left.group, left.sources[OFFSETS]))
    given = handed_out(_events(left.group, left.sources[FRAMES]))
    return Night(accounts, members, left.ended, stored, EDGE + left.late, given)


def _events(group: str, paths: Sequence[Path]) -> Iterator[Event]:
    return (one for one in read([str(path) for path in paths]) if one.group in (group, ""))


def told(events: Iterable[Event]) -> Account:
    """The account of events by time."""
    found: list[Rebalance] = []
    accounts, frames = Accounts(found.append), Frames()
    for event in events:
        for one in frames.told(event) if event.source is Source.FRAMES else (event,):
            accounts.take(one)
    found += accounts.open_ones()
    over = (one for one in found if one.ending in (Ending.ASSIGNED, Ending.EMPTY))
    back = (
        (event.instance, event.at) for one in found for event in one.events if event.kind is Kind.REPLACED
    )
    return Account(
        {one.to_generation: _generation(one) for one in over if one.to_generation is not None},
        tuple((instance, at) for instance, at in back if at is not None),
    )


def _generation(one: Rebalance) -> Generation:
    went = dict.fromkeys(one.gone, "")
    came = set(one.came)
    for event in one.events:
        if event.kind in HOW and event.member and not event.data.get("pending"):
            went[event.member] = HOW[event.kind]
        elif event.kind is Kind.JOINED:
            came.add(event.member)
    members = 0 if one.ending is Ending.EMPTY else one.members_after
    return Generation(one.ended, members, went, frozenset(came))


def rosters(events: Iterable[Event]) -> dict[int, frozenset[str]]:
    """Who is in each generation, by the records of the offsets topic."""
    return {
        event.generation: frozenset(one["member"] for one in event.data.get("members", ()))
        for event in events
        if event.kind is Kind.GROUP_STORED and event.generation is not None
    }


def handed_out(events: Iterable[Event]) -> frozenset[int]:
    """Generations of which a member was given an assignment, by the frames themselves. A member that joins
    while the leader's assignments are being stored has all who wait for theirs answered with an error, and
    nobody hears of that generation but who reads the log or the offsets topic."""
    return frozenset(
        int(one.asked.data["fields"]["generation_id"])
        for one in conversations(events)
        if one.asked is not None
        and one.asked.data.get("api") == "SyncGroup"
        and one.answered is not None
        and one.answered.data["fields"]["error_code"] == 0
    )


def disagreements(night: Night) -> list[str]:
    """What one source tells and another contradicts, or passes over though it can see it."""
    found = []
    for one, other in combinations(night.accounts, 2):
        first, second = night.accounts[one], night.accounts[other]
        words = [*_passed_over(night, other, first, second), *_passed_over(night, one, second, first)]
        for generation in sorted(first.generations.keys() & second.generations.keys()):
            contradicted = _contradictions(
                first.generations[generation], second.generations[generation], night.edge
            )
            words += [f"generation {generation}: {said}" for said in contradicted]
        found += [f"{one} and {other}: {said}" for said in words]
    return found


def _passed_over(night: Night, name: str, has: Account, lacks: Account) -> Iterator[str]:
    """What a source does not tell though it can see it and the other tells it."""
    for generation in sorted(has.generations.keys() - lacks.generations.keys()):
        if not _excused(night, name, generation, has.generations[generation]):
            yield f"{name} does not tell of generation {generation}"
    for instance, at in has.back if name != CLIENTS else ():
        near = any(instance == one and abs(at - moment) <= night.edge for one, moment in lacks.back)
        if not near and at <= night.ended - night.edge:
            yield f"{name} does not tell that {instance} came back at {at:.1f}"


def _excused(night: Night, name: str, generation: int, told: Generation) -> bool:
    """Whether a source cannot have a generation."""
    if told.at is None or told.at > night.ended - night.edge:
        return True
    if name == LOG:
        return False
    if not night.stored or (name != OFFSETS and told.members == 0):
        return True
    if name in (CLIENTS, FRAMES) and night.handed_out is not None and generation not in night.handed_out:
        return True
    members = night.rosters.get(generation, frozenset())
    return name == CLIENTS and all(one.startswith(BY_HAND) for one in members)


def _contradictions(one: Generation, other: Generation, edge: float) -> Iterator[str]:
    if None not in (one.members, other.members) and one.members != other.members:
        yield f"{one.members} members, or {other.members}"
    if None not in (one.at, other.at) and abs(one.at - other.at) > edge:  # type: ignore[operator]
        yield f"over at {one.at:.1f}, or at {other.at:.1f}"
    for member in sorted(one.went.keys() & other.went.keys()):
        first, second = one.went[member], other.went[member]
        if first and second and first != second:
            yield f"{member} is gone: {first}, or {second}"
    for member in sorted(one.went.keys() ^ other.went.keys()):
        if member in one.came | other.came:
            yield f"{member} came, or went"
