"""KGROUP: a small model of a group rebalance on whose counts several model checkers agree, for benchmarks.

One coordinator, N clients, two partitions, two assignment protocols; all values are small integers. Written
with `rota.kernel` like any system, with nothing done for speed:

    rota check --system bench.kgroup:kgroup --set N=3 --set G=2 --set L=2 --set C=0 --set E=1 --set ND=0

It simplifies the classic protocol freely (no handshake, no offsets, channels of capacity one) and is no
evidence about Kafka. Client c owns the member ids 2c and 2c + 1: one that restarts takes its other slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from rota.kernel import Kind, Outcome, Property, Send, Symmetry, System, SystemRef, View

PARTITIONS = 2
NOBODY = -1
PREFERENCES: tuple[tuple[int, ...], ...] = ((), (1, 2), (2, 1), (1,), (2,))
"""Protocol lists by number: protocol A is 1, B is 2; list 0 is none."""

# States of the group.
EMPTY, PREPARING, COMPLETING, STABLE, DEAD = range(5)
# States of a client.
UNJOINED, AWAIT_JOIN, JOINED, AWAIT_SYNC, STEADY, AWAIT_HEARTBEAT, NEED_REJOIN, AWAIT_LEAVE, CRASHED = range(
    9
)
# Requests.
NO_REQUEST, JOIN_NEW, JOIN_AGAIN, SYNC, HEARTBEAT, LEAVE = range(6)
# Responses; the first says that there is none.
NO_RESPONSE, JOIN_OK, SYNC_OK, HEARTBEAT_OK, LEAVE_OK, REBALANCE, UNKNOWN, ILLEGAL, INCONSISTENT = range(9)
# What a member is to the group: absent, in it, with a parked JoinGroup, with a parked SyncGroup.
ABSENT, IN, JOINING, SYNCING = range(4)

WAITS = (UNJOINED, AWAIT_JOIN, AWAIT_JOIN, AWAIT_SYNC, AWAIT_HEARTBEAT, AWAIT_LEAVE)
"""By request: the state of a client that waits for its answer."""


@dataclass(frozen=True)
class Request:
    """A request with the fields of its sender."""

    kind: int
    member: int
    preference: int
    generation: int
    data: int


@dataclass(frozen=True)
class Response:
    """An answer to a member that waits in the state `waits`; data: members or an assignment, as bits."""

    kind: int
    member: int
    waits: int
    generation: int = 0
    data: int = 0


@dataclass(frozen=True)
class Expired:
    """A member's session has run out."""

    member: int


@dataclass(frozen=True)
class Restarted:
    """A client wants to go on as this member."""

    member: int


@dataclass(frozen=True)
class Crashed:
    """A client has crashed."""


@dataclass(frozen=True)
class Client:
    """A client with its two channels; fields that mean nothing are 0."""

    state: int = UNJOINED
    slot: int = 0
    preference: int = 0
    generation: int = 0
    data: int = 0
    request: int = NO_REQUEST
    response: int = NO_RESPONSE
    response_generation: int = 0
    response_data: int = 0


@dataclass(frozen=True)
class Member:
    """A member id as the group sees it; assignment: partitions as bits."""

    place: int = ABSENT
    preference: int = 0
    assignment: int = 0


@dataclass(frozen=True)
class KGroup:
    """The group; members by id."""

    members: tuple[Member, ...]
    state: int = EMPTY
    generation: int = 0
    leader: int = NOBODY
    protocol: int = 0

    @property
    def present(self) -> list[int]:
        """The members' ids, least first."""
        return [i for i, member in enumerate(self.members) if member.place]

    @property
    def bits(self) -> int:
        """The members' ids as bits."""
        return sum(1 << i for i in self.present)

    def put(self, index: int, member: Member) -> KGroup:
        """The group with one member exchanged."""
        return replace(self, members=(*self.members[:index], member, *self.members[index + 1 :]))


def supported(preferences: Sequence[int]) -> set[int]:
    """The protocols that all of some lists have."""
    return set.intersection({1, 2}, *(set(PREFERENCES[p]) for p in preferences))


def vote(group: KGroup) -> int:
    """Each member votes for the first candidate of its list; B wins only with more votes than A."""
    lists = [group.members[i].preference for i in group.present]
    candidates = supported(lists)
    votes = [next(p for p in PREFERENCES[each] if p in candidates) for each in lists]
    return 2 if votes.count(2) > votes.count(1) else 1


def _name(member: int) -> str:
    return f"client/{member // 2}"


def _response(kind: int, member: int, waits: int, generation: int = 0, data: int = 0) -> Send:
    return Send(_name(member), Response(kind, member, waits, generation, data))


@dataclass(frozen=True)
class Coordinator:
    """The coordinator's machine; see `kgroup` for the parameters."""

    clients: int
    generations: int
    expiry: bool
    free: bool
    name: str = "coordinator"
    role: str = "coordinator"

    def initial(self) -> list[KGroup]:
        """An Empty group."""
        return [KGroup((Member(),) * (2 * self.clients))]

    def actions(self, group: KGroup) -> list[Outcome]:
        """Sessions expire, the join phase ends, an Empty group is deleted."""
        out = []
        for member in group.present:
            if group.members[member].place == IN:
                asked = () if self.expiry else (Send(_name(member), Expired(member)),)
                out += self._turns(self.removed(group, [member]), asked, f"session of {member} expires")
        if group.state == PREPARING and group.generation < self.generations:
            late = [i for i in group.present if group.members[i].place == IN]
            for left in self._leaders(group, late):
                out.append(self.completed(left))
        if group.state == EMPTY:
            out.append(Outcome(replace(group, state=DEAD), label="group deleted"))
        return out

    def receive(self, group: KGroup, sender: str, message: Request | Restarted) -> list[Outcome]:
        """A request is answered or parked."""
        if isinstance(message, Restarted):
            return [] if group.members[message.member].place else [Outcome(group)]
        member, waits = message.member, WAITS[message.kind]

        def answered(kind: int, generation: int = 0, data: int = 0) -> list[Outcome]:
            return [Outcome(group, (_response(kind, member, waits, generation, data),))]

        if message.kind == JOIN_NEW:
            return self._join_new(group, message)
        if group.state == DEAD or not group.members[member].place:
            return answered(UNKNOWN)
        if message.kind == JOIN_AGAIN:
            return self._join_again(group, message)
        if message.kind == LEAVE:
            left = (_response(LEAVE_OK, member, waits),)
            return self._turns(self.removed(group, [member]), left, "")
        if message.generation != group.generation:
            return answered(ILLEGAL)
        if group.state == PREPARING:
            return answered(REBALANCE)
        if message.kind == HEARTBEAT:
            return answered(HEARTBEAT_OK)
        if group.state == STABLE:
            return answered(SYNC_OK, data=group.members[member].assignment)
        parked = group.put(member, replace(group.members[member], place=SYNCING))
        if group.leader != member:
            return [Outcome(parked)]
        return [self.assigned(parked, order) for order in self._orders(message.data)]

    def _join_new(self, group: KGroup, message: Request) -> list[Outcome]:
        member = message.member
        lists = [group.members[i].preference for i in group.present]
        if group.state == DEAD or not supported([message.preference, *lists]):
            kind = UNKNOWN if group.state == DEAD else INCONSISTENT
            return [Outcome(group, (_response(kind, member, AWAIT_JOIN),))]
        prepared, sends = prepare(group)
        leader = member if group.leader == NOBODY else group.leader
        joined = prepared.put(member, Member(JOINING, message.preference))
        return [Outcome(replace(joined, leader=leader), sends)]

    def _join_again(self, group: KGroup, message: Request) -> list[Outcome]:
        member, leads = message.member, group.leader == message.member
        if group.state != PREPARING and not (group.state == STABLE and leads):
            listed = group.bits if leads else 0
            return [Outcome(group, (_response(JOIN_OK, member, AWAIT_JOIN, group.generation, listed),))]
        prepared, sends = prepare(group)
        return [Outcome(prepared.put(member, replace(prepared.members[member], place=JOINING)), sends)]

    def removed(self, group: KGroup, members: list[int]) -> list[tuple[KGroup, tuple[Send, ...]]]:
        """The group less some members, preparing; one for each new leader that there may be."""
        return [prepare(left) for left in self._leaders(group, members)]

    def completed(self, group: KGroup) -> Outcome:
        """The join phase ends; who is late has been removed."""
        group = replace(group, generation=group.generation + 1)
        if not group.present:
            return Outcome(replace(group, state=EMPTY), label="join phase ends")
        members = tuple(replace(m, place=IN) if m.place else m for m in group.members)
        group = replace(group, members=members, state=COMPLETING, protocol=vote(group))
        sends = tuple(
            _response(JOIN_OK, i, AWAIT_JOIN, group.generation, group.bits if i == group.leader else 0)
            for i in group.present
        )
        return Outcome(group, sends, "join phase ends")

    def assigned(self, group: KGroup, order: Sequence[int]) -> Outcome:
        """The leader deals the partitions to a list of members; parked syncs are answered."""
        sends = []
        for partition in range(PARTITIONS):
            owner = order[partition % len(order)]
            member = group.members[owner]
            group = group.put(owner, replace(member, assignment=member.assignment | 1 << partition))
        for i in group.present:
            if group.members[i].place == SYNCING:
                sends.append(_response(SYNC_OK, i, AWAIT_SYNC, data=group.members[i].assignment))
                group = group.put(i, replace(group.members[i], place=IN))
        return Outcome(replace(group, state=STABLE), tuple(sends))

    def _leaders(self, group: KGroup, members: list[int]) -> list[KGroup]:
        for member in members:
            group = group.put(member, Member())
        if group.leader not in members:
            return [group]
        present = group.present
        leaders = (present if self.free else present[:1]) or [NOBODY]
        return [replace(group, leader=leader) for leader in leaders]

    def _orders(self, bits: int) -> list[tuple[int, ...]]:
        listed = [i for i in range(2 * self.clients) if bits >> i & 1]
        if self.free:
            return list(permutations(listed, min(PARTITIONS, len(listed))))
        return [tuple(listed)]

    def _turns(
        self, outcomes: list[tuple[KGroup, tuple[Send, ...]]], first: tuple[Send, ...], label: str
    ) -> list[Outcome]:
        return [Outcome(group, first + sends, label) for group, sends in outcomes]


def prepare(group: KGroup) -> tuple[KGroup, tuple[Send, ...]]:
    """A rebalance begins, unless one does already: parked syncs are sent back, assignments forgotten."""
    if group.state == PREPARING:
        return group, ()
    parked = [i for i in group.present if group.members[i].place == SYNCING]
    places = {SYNCING: IN}
    members = tuple(replace(m, place=places.get(m.place, m.place), assignment=0) for m in group.members)
    sends = tuple(_response(REBALANCE, i, AWAIT_SYNC) for i in parked)
    return replace(group, members=members, state=PREPARING, protocol=0), sends


@dataclass(frozen=True)
class Process:
    """The machine of client number `number`."""

    number: int
    lists: int
    role: str = "client"

    @property
    def name(self) -> str:
        """`client/0` and so on."""
        return f"client/{self.number}"

    def initial(self) -> list[Client]:
        """Not joined."""
        return [Client()]

    def member(self, client: Client) -> int:
        """Its current member id."""
        return 2 * self.number + client.slot

    def actions(self, client: Client) -> list[Outcome]:
        """Sends, lets a request arrive, takes a response, crashes, restarts."""
        out = list(self._sends(client))
        if client.request:
            request = Request(
                client.request, self.member(client), client.preference, client.generation, client.data
            )
            out.append(Outcome(replace(client, request=NO_REQUEST), (Send("coordinator", request),)))
        if client.response:
            out.append(Outcome(self._received(client), label="takes its response"))
        if client.state not in (UNJOINED, CRASHED):
            gone = Client(CRASHED, client.slot)
            out.append(Outcome(gone, (Send("budget", Crashed()),), f"client {self.number} crashes"))
        if client.state == CRASHED:
            back = Client(UNJOINED, 1 - client.slot)
            out.append(Outcome(back, (Send("coordinator", Restarted(self.member(back))),), "restarts"))
        return out

    def _sends(self, client: Client) -> list[Outcome]:
        forget = {"generation": 0, "data": 0}
        if client.state == UNJOINED:
            return [_asks(client, JOIN_NEW, preference=p) for p in range(1, self.lists + 1)]
        if client.state == JOINED:
            return [_asks(client, SYNC)]
        again = [_asks(client, JOIN_AGAIN, **forget)] if client.state in (STEADY, NEED_REJOIN) else []
        if client.state == STEADY:
            return [*again, _asks(client, HEARTBEAT), _asks(client, LEAVE, **forget)]
        return again

    def _received(self, client: Client) -> Client:
        taken = replace(client, response=NO_RESPONSE, response_generation=0, response_data=0)
        kind = client.response
        if kind == JOIN_OK:
            return replace(
                taken, state=JOINED, generation=client.response_generation, data=client.response_data
            )
        if kind == SYNC_OK:
            return replace(taken, state=STEADY, data=client.response_data)
        if kind == HEARTBEAT_OK:
            return replace(taken, state=STEADY)
        if kind in (REBALANCE, ILLEGAL):
            return replace(taken, state=NEED_REJOIN, generation=0, data=0)
        return Client(UNJOINED, client.slot)

    def receive(self, client: Client, sender: str, message: Response | Expired) -> list[Outcome]:
        """A response is put into its channel, or lost; a session of a live member does not expire."""
        if isinstance(message, Expired):
            alive = client.state != CRASHED and self.member(client) == message.member
            return [] if alive else [Outcome(client)]
        if client.state != message.waits or self.member(client) != message.member:
            return [Outcome(client)]
        generation, data = message.generation, message.data
        put = replace(client, response=message.kind, response_generation=generation, response_data=data)
        return [Outcome(put)]


def _asks(client: Client, request: int, **fields: int) -> Outcome:
    return Outcome(replace(client, state=WAITS[request], request=request, **fields))


@dataclass(frozen=True)
class Budget:
    """How many crashes there may be."""

    crashes: int
    name: str = "budget"
    role: str = "budget"

    def initial(self) -> list[int]:
        """None so far."""
        return [0]

    def actions(self, spent: int) -> list[Outcome]:
        """Nothing."""
        return []

    def receive(self, spent: int, sender: str, message: Crashed) -> list[Outcome]:
        """One more, if that many are allowed."""
        return [Outcome(spent + 1)] if spent < self.crashes else []


def _held_list(client: Client) -> int:
    """The generation of the member list that a client holds or is sent as leader, 0 if none."""
    if client.response == JOIN_OK and client.response_data:
        return client.response_generation
    return client.generation if client.state in (JOINED, AWAIT_SYNC) and client.data else 0


def _led(group: KGroup) -> bool:
    if group.leader == NOBODY:
        return group.state not in (COMPLETING, STABLE)
    return bool(group.members[group.leader].place)


def _dealt(group: KGroup) -> bool:
    if any(member.assignment and not member.place for member in group.members):
        return False
    owners = [sum(m.assignment >> p & 1 for m in group.members) for p in range(PARTITIONS)]
    return group.state != STABLE or owners == [1] * PARTITIONS


def _elected(group: KGroup) -> bool:
    if group.state not in (COMPLETING, STABLE):
        return True
    return all(group.protocol in PREFERENCES[group.members[i].preference] for i in group.present)


def _owned(client: Client) -> tuple[int, int]:
    return (client.generation, client.data) if client.state in (STEADY, AWAIT_HEARTBEAT) else (0, 0)


def _whole(group: KGroup) -> KGroup:
    return group


def _safety(name: str, meaning: str, test: Callable[..., bool], *views: View) -> Property:
    return Property(name, Kind.SAFETY, meaning, views, test)


PROPERTIES = (
    _safety("leader-is-a-member", "A leader is set where one is needed, and is a member.", _led,
            View("coordinator", _whole)),
    _safety("one-leader", "No two clients hold a member list of the same generation.",
            lambda a, b: not a or a != b, View("client", _held_list), View("client", _held_list)),
    _safety("generation-not-ahead", "Nobody carries a generation above the coordinator's.",
            lambda group, client: client <= group,
            View("coordinator", lambda group: group.generation),
            View("client", lambda client: max(client.generation, client.response_generation))),
    _safety("dealt-once", "In Stable each partition has one owner, and only members own.", _dealt,
            View("coordinator", _whole)),
    _safety("disjoint", "Clients of one generation own different partitions.",
            lambda a, b: a[0] != b[0] or not a[1] & b[1], View("client", _owned), View("client", _owned)),
    _safety("protocol-supported", "The chosen protocol is supported by every member.", _elected,
            View("coordinator", _whole)),
)  # fmt: skip
"""All of them hold in every instance."""


def _moved(bits: int, places: Sequence[int]) -> int:
    """Members as bits, after their clients have changed places."""
    return sum((bits >> 2 * i & 3) << 2 * place for i, place in enumerate(places))


def _listing(client: Client) -> tuple[bool, bool]:
    """Whether a client's data and its response's are member lists (else they are partitions)."""
    return client.state in (JOINED, AWAIT_SYNC), client.response == JOIN_OK


def _renamed(role: str, value: Any, places: Sequence[int]) -> Any:
    """A value after the clients have changed places."""
    if isinstance(value, KGroup):
        members = [Member()] * len(value.members)
        for i, place in enumerate(places):
            members[2 * place : 2 * place + 2] = value.members[2 * i : 2 * i + 2]
        leader = value.leader
        if leader != NOBODY:
            leader = 2 * places[leader // 2] + leader % 2
        return replace(value, members=tuple(members), leader=leader)
    if isinstance(value, Client):
        own, response = _listing(value)
        data = _moved(value.data, places) if own else value.data
        response_data = _moved(value.response_data, places) if response else value.response_data
        return replace(value, data=data, response_data=response_data)
    return value


def _seen(role: str, value: Any, i: int) -> Any:
    """What client i is in a value."""
    if isinstance(value, KGroup):
        return (value.members[2 * i : 2 * i + 2], value.leader - 2 * i if value.leader // 2 == i else NOBODY)
    if isinstance(value, Client):
        own, response = _listing(value)
        data = (value.data >> 2 * i & 3, value.data.bit_count()) if own else value.data
        sent = value.response_data
        return replace(
            value, data=data, response_data=(sent >> 2 * i & 3, sent.bit_count()) if response else sent
        )
    return 0


def kgroup(N: int = 2, G: int = 2, L: int = 2, C: int = 0, E: int = 0, ND: int = 0) -> System:
    """The system of N clients.

    Parameters: G, the last generation; L, how many of the preference lists [A, B], [B, A], [A], [B] are in
    use; C, crashes in a whole run; E, 1: a session may expire although its client lives; ND, 1: any remaining
    member may succeed a leader and the partitions may be dealt in any order, 0: least id first.
    """
    machines = (Coordinator(N, G, bool(E), bool(ND)), *(Process(i, L) for i in range(N)), Budget(C))
    settings = tuple({"N": N, "G": G, "L": L, "C": C, "E": E, "ND": ND}.items())
    symmetry = Symmetry(tuple(f"client/{i}" for i in range(N)), _renamed, _seen) if ND else None
    return System("kgroup", machines, PROPERTIES, SystemRef("bench.kgroup:kgroup", settings), symmetry)
