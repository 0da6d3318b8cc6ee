"""What clients tell of a rebalance, in their logs or by their requests: who joined when, which partitions had
nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from rota.explain.group_state import QUIET, Group, moment
from rota.explain.reasons import Said, said
from rota.explain.rebalance import Ending, Rebalance
from rota.history import Event, Kind, Source

End = Callable[[Group, Ending, float | None], None]

TIMEOUTS = {"session.timeout.ms": "session", "max.poll.interval.ms": "longest"}
"""Settings of clients that rebalances depend on."""


MOST_CLIENTS = 10_000
"""Clients of a group of which the member ids are remembered."""

ELSEWHERE = ("not_coordinator", "not coordinator", "not the correct coordinator", "not the coordinator")
"""Words of the error NOT_COORDINATOR."""


class ByClient:
    """Handlers of what clients tell. end: is called where a rebalance has ended."""

    def __init__(self, end: End) -> None:
        self._end = end
        self.handlers: Mapping[Kind, Callable[[Group, Event], None]] = {
            Kind.REBALANCE_TOLD: self._told,
            Kind.JOINING: self._joining,
            Kind.WAS_JOINED: self._joined,
            Kind.SYNCED: self._synced,
            Kind.REVOKED: self._revoked,
            Kind.LOST: self._revoked,
            Kind.POLL_LATE: self._sign,
            Kind.SESSION_LATE: self._sign,
            Kind.LEAVING: self._leaving,
            Kind.ID_GIVEN: self._id_given,
            Kind.FINDING: self._finding,
            Kind.COMMIT_REFUSED: self._sign,
            Kind.CLIENT_STARTED: self._started,
            Kind.CLIENT_CLOSED: self._sign,
        }

    def _told(self, group: Group, event: Event) -> None:
        one, who = self._opened(group, event), name(group, event)
        if who not in one.awaited:
            one.awaited.add(who)
            self._settles(group, one, who)
            one.note(named(group, event))

    def _joining(self, group: Group, event: Event) -> None:
        who, one = name(group, event), group.open
        if one is not None and not one.by_broker and _joins_anew(one, who, event):
            if who in one.settling:  # it may be answered with the generation that it is in
                one.anew = one.anew or event
                return
            self._close(group, one, event)
        one = self._opened(group, event)
        _timeouts(group, who, event)
        again = who in one.rejoined
        one.rejoined[who] = moment(event, group.seen)
        if one.joined is None:
            one.last = who
        self._settles(group, one, who)
        if not again:
            one.note(named(group, event))

    def _joined(self, group: Group, event: Event) -> None:
        before, one = name(group, replace(event, member="")), group.open
        if event.member:
            _know(group, event)
        who = name(group, event)
        if _into_the_same(group, one, event):
            _taken_in(group, one, event, before, who)
            return
        if one is not None and not one.by_broker and _older(one.to_generation, event.generation):
            self._close(group, one, event)
        one = self._opened(group, event)
        _renamed(group, one, before, who)
        self._settles(group, one, who)
        if one.joined is None:
            one.joined = moment(event, group.seen)
        one.to_generation = event.generation if one.to_generation is None else one.to_generation
        one.from_empty = one.from_empty or event.generation == 1
        group.protocol = str(event.data.get("protocol") or group.protocol)
        _sizes(group, one, event)
        one.note(event)

    def _id_given(self, group: Group, event: Event) -> None:
        """A client joins again under the id that it was given."""
        if event.source is Source.BROKER_LOG or not event.member:
            return
        before = name(group, replace(event, member=""))
        _know(group, event)
        if group.open is not None:
            _renamed(group, group.open, before, event.member)
        self._sign(group, event)

    def _finding(self, group: Group, event: Event) -> None:
        """A client looks for the coordinator; that it moved is one of many reasons for that."""
        if any(words in event.reason.lower() for words in ELSEWHERE):
            self._sign(group, event)

    def _synced(self, group: Group, event: Event) -> None:
        who, one = name(group, event), group.open
        group.settling.discard(who)
        before = group.clients.get(who, set()) if "partitions" not in event.data else set()
        group.clients[who] = before | {*_partitions(event, "partitions"), *_partitions(event, "added")}
        if one is None:
            group.generation = event.generation if event.generation is not None else group.generation
            _found(group, group.clients[who], event, {})
            return
        _found(group, group.clients[who], event, one.gaps)
        one.settling.discard(who)
        one.fetched = moment(event, group.seen) if one.fetched is None else one.fetched
        one.note(event)
        if one.settling:
            return
        if one.assigned is not None:
            self._end(group, Ending.ASSIGNED, one.assigned)
        elif not one.by_broker:
            one.to_generation = event.generation if one.to_generation is None else one.to_generation
            self._end(group, Ending.ASSIGNED, moment(event, group.seen))

    def _revoked(self, group: Group, event: Event) -> None:
        who, partitions = name(group, event), set(_partitions(event, "partitions"))
        group.clients[who] = group.clients.get(who, set()) - partitions
        if event.at is not None:
            for partition in partitions:
                group.lost.setdefault(partition, event.at)
        if event.kind is Kind.LOST:
            self._sign(group, event)

    def _leaving(self, group: Group, event: Event) -> None:
        who = name(group, event)
        for partition in group.clients.pop(who, ()):
            if event.at is not None:
                group.lost.setdefault(partition, event.at)
        group.settling.discard(who)
        one = group.open
        if one is not None:
            one.awaited.discard(who)
            one.settling.discard(who)
        self._sign(group, event)

    def _sign(self, group: Group, event: Event) -> None:
        told = named(group, event)
        if group.open is None:
            group.remember(told)
        else:
            group.open.note(told)

    def _started(self, group: Group, event: Event) -> None:
        settings = event.data.get("settings")
        if isinstance(settings, dict):
            for setting, what in TIMEOUTS.items():
                value = _number(settings.get(setting))
                if value is not None and what == "longest":
                    group.longest_ms = max(value, group.longest_ms or 0)
                elif value is not None:
                    group.sessions[name(group, event)] = value
        self._sign(group, event)

    def _opened(self, group: Group, event: Event) -> Rebalance:
        one = group.open
        if one is None:
            one = group.begin(named(group, event), by_broker=False)
            one.reason = event.reason if said(event.reason) is not Said.NOTHING else ""
            if event.kind is Kind.WAS_JOINED:
                one.began = None  # when it was sent is not told
        return one

    def _settles(self, group: Group, one: Rebalance, who: str) -> None:
        one.settling.add(who)
        group.settling.add(who)

    def _close(self, group: Group, one: Rebalance, event: Event) -> None:
        anew = one.anew
        if one.settling and one.fetched is None:
            self._end(group, Ending.OVERTAKEN, moment(event, group.seen))
        else:
            self._end(group, Ending.ASSIGNED, one.fetched if one.settling else moment(event, group.seen))
        if anew is not None:
            self._joining(group, anew)


def _into_the_same(group: Group, one: Rebalance | None, event: Event) -> bool:
    """Whether a JoinGroup was answered with the generation that goes on: nobody else rebalances."""
    if event.generation is None or event.generation != group.generation:
        return False
    return one is None or (not one.by_broker and one.joined is None)


def _taken_in(group: Group, one: Rebalance | None, event: Event, before: str, who: str) -> None:
    """A member is in the generation that goes on: a static one that came back, where another id had its
    place. one: what its JoinGroup looked like the beginning of."""
    for names in (group.settling, *((one.settling, one.awaited) if one else ())):
        names -= {before, who}
    if one is not None:
        one.rejoined.pop(before, None)
        one.rejoined.pop(who, None)
        if not one.settling:
            group.open = None
            for told in one.events:
                if told.kind in QUIET:
                    group.remember(told)
    roster = group.roster or {}
    old = next((member for member, instance in roster.items() if instance and instance == event.instance), "")
    if old and old != event.member:
        group.roster = {one: of for one, of in roster.items() if one != old} | {event.member: event.instance}
        group.remember(replace(event, kind=Kind.REPLACED, data={"old_member": old}))


def _joins_anew(one: Rebalance, who: str, event: Event) -> bool:
    """Whether a JoinGroup is of the next rebalance: the join phase of this one is over."""
    if one.joined is None:
        return False
    return who in one.rejoined or (event.at is not None and event.at - one.joined > 1.0)


def _timeouts(group: Group, who: str, event: Event) -> None:
    """What a JoinGroup says of its sender's timeouts."""
    session, longest = event.data.get("session_ms"), event.data.get("rebalance_ms")
    if isinstance(session, int):
        group.sessions[who] = session
    if isinstance(longest, int):
        group.longest_ms = max(longest, group.longest_ms or 0)


def _know(group: Group, event: Event) -> None:
    """A client is told its member id."""
    if len(group.known) >= MOST_CLIENTS:
        group.known.clear()
    group.known[_client(event)] = event.member


def name(group: Group, event: Event) -> str:
    """Who tells it: the member id where it is known, else the client and where its log stands."""
    return event.member or group.known.get(key := _client(event), key)


def named(group: Group, event: Event) -> Event:
    """The event with the member id that its client had last."""
    member = event.member or group.known.get(_client(event), "")
    return event if member == event.member else replace(event, member=member)


def _client(event: Event) -> str:
    if event.source is Source.FRAMES:
        return event.client
    return f"{event.client or event.instance or 'a client'}@{event.origin.rpartition(':')[0]}"


def _renamed(group: Group, one: Rebalance, before: str, who: str) -> None:
    """A client has a member id now."""
    if before == who:
        return
    for names in (one.settling, group.settling, one.awaited):
        if before in names:
            names.discard(before)
            names.add(who)
    if before in one.rejoined:
        one.rejoined[who] = one.rejoined.pop(before)
    if one.last == before:
        one.last = who
    if before in group.clients:
        group.clients[who] = group.clients.pop(before)


def _sizes(group: Group, one: Rebalance, event: Event) -> None:
    """What the leader is told of all members."""
    roster = event.data.get("roster")
    if not isinstance(roster, dict) or (one.by_broker and one.members_after is not None):
        return
    one.settling &= roster.keys()  # who is not in the generation gets no assignment of it
    group.settling &= roster.keys()
    one.members_after = len(roster)
    if not one.by_broker:
        came, gone = changed(group.roster, roster)  # nobody where its leader is answered once more
        one.came, one.gone = (*one.came, *came), (*one.gone, *gone)
    group.roster = dict(roster)


def changed(
    before: Mapping[str, str] | None, after: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who came and who is gone; nothing of either where it is not known who there was."""
    if before is None:
        return (), ()
    return tuple(sorted(after.keys() - before.keys())), tuple(sorted(before.keys() - after.keys()))


def _found(group: Group, partitions: Iterable[str], event: Event, gaps: dict[str, float]) -> None:
    """Partitions have somebody again."""
    for partition in partitions:
        since = group.lost.pop(partition, None)
        if since is not None and event.at is not None:
            gaps[partition] = max(gaps.get(partition, 0.0), event.at - since)


def _partitions(event: Event, key: str) -> list[str]:
    found = event.data.get(key)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _number(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _older(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other
