"""What a running coordinator says of groups: only ListGroups and DescribeGroups are asked, nothing is
changed.

Outside of Stable these tell neither who has joined again nor since when: a join phase that is found going on
has been going on for longer. So its latest end is counted from when it was first seen, by the longest
rebalance timeout on record, and who is awaited is one of those that were there before, unless something else
tells who has joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotAdmitted, NotListening
from rota.conformance.connections.error_codes import error_name
from rota.conformance.connections.security import beside
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import Wait, advertised, find_coordinator, newest
from rota.explain.moments import clock
from rota.explain.rebalance import short
from rota.report.format import counted

CLIENT = "rota-explain"

REBALANCING = ("PreparingRebalance", "CompletingRebalance")
"""States of a classic group in which nobody has an assignment of the generation that comes."""

SHOWN = 5

SPOKEN_TO = "give the address of a broker's listener, and with --command-config how it is spoken to"

UNRECORDED = (
    "latest end  not visible: no rebalance timeout is on record (give a client's log, or let rota read the "
    "offsets topic)"
)

UNTOLD = "who of them has joined again is not visible to who asks the coordinator: give the clients' logs too"


class Unasked(Exception):
    """The coordinator could not be asked: the cause, and what helps."""


@dataclass(frozen=True)
class Described:
    """A group at a moment, as DescribeGroups says. error: its name where it is answered with one; members: id
    → where it is; protocol: the one that was chosen, "" where that is not told."""

    group: str
    at: float
    state: str
    members: Mapping[str, str] = field(default_factory=dict)
    protocol: str = ""
    error: str = ""


@dataclass(frozen=True)
class Listed:
    """A group as ListGroups has it: its state and type, "" where the broker's version does not tell."""

    state: str = ""
    type: str = ""

    @property
    def classic(self) -> bool:
        """Whether all its members rebalance at once, as those of KIP-848 and of share groups do not."""
        return self.type.lower() in ("", "classic")


class Asker:
    """Asks brokers. address: of any; patience: seconds for an answer. Errors of all: Unasked.

    unasked: brokers that do not listen where they are said to, whose groups are not known.
    """

    def __init__(self, address: tuple[str, int], patience: float) -> None:
        self._address, self._patience = address, patience
        self.unasked: list[str] = []

    def groups(self) -> dict[str, Listed]:
        """Every group of the cluster: each broker lists those that it coordinates."""
        found: dict[str, Listed] = {}
        self.unasked = []
        brokers = self._brokers()
        for address in brokers:
            try:
                found |= self._listed(address)
            except NotListening as error:
                self.unasked.append(str(error))
        if len(self.unasked) == len(brokers):
            with _errors():
                found = self._listed(self._address)
        return found

    def _brokers(self) -> list[tuple[str, int]]:
        with _errors(), closing(Connection(self._address, CLIENT)) as connection:
            versions = newest(advertised(connection, self._patience))
            if "Metadata" not in versions:
                return [self._address]
            brokers = self._ask(connection, versions, "Metadata", {"topics": []})["brokers"]
        return [beside(self._address, one["host"], one["port"]) for one in brokers]

    def _listed(self, address: tuple[str, int]) -> dict[str, Listed]:
        """Errors: NotListening, and Unasked."""
        with _errors(but=NotListening), closing(Connection(address, CLIENT)) as connection:
            versions = newest(advertised(connection, self._patience))
            groups = self._ask(connection, versions, "ListGroups", {})["groups"]
        return {
            one["group_id"]: Listed(one.get("group_state") or "", one.get("group_type") or "")
            for one in groups
        }

    def describe(self, group: str, at: float) -> Described:
        """A group, asked of its coordinator."""
        with _errors():
            with closing(Connection(self._address, CLIENT)) as connection:
                ranges = advertised(connection, self._patience)
                wait = Wait(self._patience, self._patience)
                found = find_coordinator(connection, ranges, group, wait) or self._address
            with closing(Connection(found, CLIENT)) as connection:
                body = self._ask(connection, newest(ranges), "DescribeGroups", {"groups": [group]})
        (one,) = body["groups"]
        error = error_name(one["error_code"]) if one["error_code"] else ""
        members = {
            each["member_id"]: f"{each['client_id']} at {each['client_host']}" for each in one["members"]
        }
        return Described(group, at, one["group_state"], members, one["protocol_data"] or "", error)

    def _ask(
        self, connection: Connection, versions: Mapping[str, int], name: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        if name not in versions:
            raise Unasked(f"the broker has no {name}; give the address of another one, or a log")
        answer = connection.receive(connection.send(name, versions[name], body), self._patience)
        if answer is None:
            raise Unasked(f"no answer to {name} in {self._patience:g} s; give a longer --timeout")
        return answer.body


@contextmanager
def _errors(but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """What a connection raises, as Unasked. but: is left as it is."""
    try:
        yield
    except but:
        raise
    except NotAdmitted as error:
        raise Unasked(f"the broker does not let us in: {error}; {SPOKEN_TO}") from error
    except NotListening as error:
        raise Unasked(f"nothing to ask at {error}; start the broker, or give another address") from error
    except (Closed, Garbage, Deviation, Undecidable) as error:
        raise Unasked(f"the broker cannot be asked: {error}; {SPOKEN_TO}") from error


@dataclass
class Watched:
    """A group over time. first: when it was first looked at; since: when it was first seen in its state;
    whole: whether the rebalance that goes on was seen to begin; old: members of before it; longest_ms: the
    longest rebalance timeout on record; joined: members that something else tells to have joined."""

    group: str
    first: float | None = None
    since: float | None = None
    whole: bool = False
    now: Described | None = None
    old: frozenset[str] = frozenset()
    longest_ms: int | None = None
    on_record: str = ""
    joined: frozenset[str] = frozenset()

    def take(self, seen: Described) -> list[str]:
        """The next look; what has changed, in words."""
        before, self.now = self.now, seen
        if before is None:
            self.first = self.since = seen.at
            self.old = frozenset(seen.members)
            return [f"{clock(seen.at)}  {self.group} is {seen.state or 'in an unknown state'}"]
        said = []
        if seen.state != before.state:
            held = (
                f"after {seen.at - (self.since or seen.at):.0f} s"
                if self.whole
                else "since it was first looked at"
            )
            said.append(f"{clock(seen.at)}  {self.group}: {before.state} to {seen.state}, {held}")
            self.since, self.whole = seen.at, True
            if seen.state == "PreparingRebalance":
                self.old = frozenset(before.members)
        said += [f"{clock(seen.at)}  {self.group}: {short(one)} is new"
                 for one in sorted(seen.members.keys() - before.members.keys())]  # fmt: skip
        said += [f"{clock(seen.at)}  {self.group}: {short(one)} is gone"
                 for one in sorted(before.members.keys() - seen.members.keys())]  # fmt: skip
        return said

    @property
    def awaited(self) -> list[str]:
        """Who may be awaited: members of before that are not known to have joined."""
        if self.now is None or self.now.state not in REBALANCING:
            return []
        there = self.now.members.keys()
        return sorted((there & self.old if self.whole else there) - self.joined)

    @property
    def latest_end(self) -> float | None:
        """When the phase that goes on ends at the latest, by what is on record; None where nothing is."""
        going_on = self.now is not None and self.now.state in REBALANCING
        if not going_on or self.longest_ms is None or self.since is None:
            return None
        return self.since + self.longest_ms / 1000

    @property
    def headline(self) -> str:
        """The first sentence."""
        now = self.now
        if now is None or self.since is None:
            return f"group {self.group} was not looked at"
        if now.error:
            return f"group {self.group} is answered with {now.error}"
        if now.state not in REBALANCING:
            size = counted(len(now.members), "member")
            return f"group {self.group} is {now.state} with {size}: nobody is awaited."
        seconds = now.at - self.since
        length = f"for {seconds:.0f} s" if self.whole else f"for at least {seconds:.0f} s"
        what = "members join" if now.state == "PreparingRebalance" else "the leader assigns"
        return f"group {self.group} has been {now.state} {length}, while {what}: it waits for {self._whom()}."

    def _whom(self) -> str:
        assert self.now is not None
        if self.now.state == "CompletingRebalance":
            return f"its leader, one of {self._names(sorted(self.now.members))}"
        names = self.awaited
        if not names:
            return "an id that was handed out, or for the end of its initial delay; no member is awaited"
        return names[0] if len(names) == 1 else f"one of {self._names(names)}"

    def _names(self, members: Sequence[str]) -> str:
        more = len(members) - SHOWN
        return ", ".join(map(short, members[:SHOWN])) + (f" and {more} more" if more > 0 else "")

    def lines(self) -> Iterator[str]:
        """What can be known, sentence by sentence."""
        now = self.now
        if now is None or now.error or now.state not in REBALANCING:
            return
        if not self.whole:
            yield "since when is not visible: it was so already at the first look"
        end = self.latest_end
        if end is None:
            yield UNRECORDED
        else:
            seconds = (self.longest_ms or 0) / 1000
            counted_from = "when it began" if self.whole else "the first look"
            yield (
                f"latest end  {clock(end)}: {seconds:g} s, the longest rebalance timeout on record "
                f"({self.on_record}), counted from {counted_from}; a member that is not on record may have "
                "a longer one"
            )
        if len(self.awaited) > 1:
            yield UNTOLD

    def record(self, timeouts: Mapping[str, int], where: str) -> None:
        """Rebalance timeouts of members, by id, that are on record."""
        if timeouts and (self.longest_ms is None or max(timeouts.values()) > self.longest_ms):
            self.longest_ms, self.on_record = max(timeouts.values()), where

    def members(self) -> Iterator[str]:
        """Members, and where each is."""
        for member, where in sorted((self.now.members if self.now else {}).items()):
            mark = "  may be awaited" if member in self.awaited else ""
            yield f"{short(member)}  {where}{mark}"
