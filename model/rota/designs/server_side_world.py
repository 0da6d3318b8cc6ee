"""What is claimed of the design with a coordinator that assigns, and the world that it lives in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from rota.designs import served, server_side
from rota.designs.budget import Budget, chosen_from
from rota.designs.depiction import SERVER_SIDE
from rota.designs.lasting import eventually_always
from rota.designs.served import Member, Served
from rota.designs.server_side import WIKI, Brokers, Cluster
from rota.kernel import FrozenMap, Kind, Property, RuleTable, System, SystemRef, View
from rota.kernel.rules import collect

RULES = collect(server_side, served)

DEFAULTS: dict[str, Any] = {
    "wishes": ("range", "range"),
    "strategy": "range",
    "partitions": 3,
    "budget": (),
}
"""The settings of the world.

wishes: per member, the strategy that it asks for; strategy: the one that the server is configured with;
budget: how many `expire` (a member that lives is taken for dead), `leave` (a member falls silent),
`partitions` (one more), `move` (the coordinator loses the group and another broker takes it over).
"""

Fetching = tuple[int, frozenset[int]]


def _fetching(member: Member) -> Fetching:
    """(generation, partitions)."""
    return member.generation, frozenset(member.partitions)


def _in_one_generation(one: Fetching, other: Fetching) -> bool:
    return one[0] == other[0] and _both_fetch(one, other)


def _both_fetch(one: Fetching, other: Fetching) -> bool:
    return bool(one[1] and other[1])


def _disjoint(one: Fetching, other: Fetching) -> bool:
    return not one[1] & other[1]


def _twice(one: Fetching, other: Fetching) -> bool:
    return not _disjoint(one, other)


def _stable(cluster: Cluster) -> bool:
    group = cluster.group
    return cluster.leads is not None and not (group.preparing or group.answering or cluster.notified)


def _owned(cluster: Cluster) -> tuple[bool, int, frozenset[int]]:
    """(stable with members, partitions, those that members own)."""
    members, assignment = cluster.group.members, cluster.kept.assignment
    owned = frozenset(partition for who in members if who in assignment for partition in assignment[who])
    return _stable(cluster) and bool(members), cluster.partitions, owned


def _nothing_runs(seen: tuple[bool, int, frozenset[int]]) -> bool:
    return seen[0]


def _no_gap(seen: tuple[bool, int, frozenset[int]]) -> bool:
    _, partitions, owned = seen
    return owned == frozenset(range(partitions))


def _believed(member: Member) -> Believed:
    return member.who, member.generation, member.partitions


Believed = tuple[str, int, tuple[int, ...]]
"""(member, generation, partitions)."""


def _is_in_it(kept: server_side.StoredGroup, believed: Believed) -> bool:
    return 0 != believed[1] == kept.generation


def _agree(kept: server_side.StoredGroup, believed: Believed) -> bool:
    who, _, partitions = believed
    return kept.assignment.get(who) == partitions


def _not_less(before: int, after: int) -> bool:
    return before <= after


def _stability(cluster: Cluster) -> tuple[bool, int, frozenset[str]]:
    """(stable, generation, members)."""
    return _stable(cluster), cluster.kept.generation, cluster.group.members


def _place(member: Member) -> tuple[str, int, bool]:
    return member.who, 0 if member.knows is None else member.generation, member.gone


def _at_rest(stability: tuple[bool, int, frozenset[str]], place: tuple[str, int, bool]) -> bool:
    stable, current, members = stability
    who, generation, gone = place
    return stable and (who not in members if gone else who in members and generation == current)


def _served(member: Member) -> bool:
    return bool(member.partitions)


def _moved(member: Member) -> bool:
    return member.generation > 0 and member.knows is not None and member.knows != member.source


def _alone(stability: tuple[bool, int, frozenset[str]], gone: bool) -> bool:
    return gone and stability[0] and len(stability[2]) == 1


def _grown(first: int, seen: tuple[bool, int, frozenset[int]]) -> bool:
    return seen[0] and seen[1] > first


def _strategies(member: Member) -> tuple[str, str]:
    """(asked for, served by or nothing)."""
    return member.wish, member.strategy if member.partitions else ""


def _ask_for_two(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two members are served that ask for different strategies."""
    return one[0] != other[0] and bool(one[1] and other[1])


def _one_strategy(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] != one[1] or other[0] != other[1]


def _against_its_wish(seen: tuple[str, str]) -> bool:
    return seen[1] not in ("", seen[0])


MEMBERS = (View("member", _fetching), View("member", _fetching))

PROPERTIES = (
    Property(
        "server-side.one-owner",
        Kind.SAFETY,
        "No two members fetch the same partition in the same generation.",
        MEMBERS,
        _disjoint,
        given=_in_one_generation,
        source=WIKI + "split brain",
        rules=("server-side.assign", "server-side.answer", "server-side.barrier"),
    ),
    Property(
        "server-side.no-gap",
        Kind.SAFETY,
        "When no rebalance runs and the group has members they own every partition.",
        (View("coordinator", _owned),),
        _no_gap,
        given=_nothing_runs,
        source=WIKI + "split brain",
        rules=("server-side.assign", "server-side.metadata-changed", "server-side.take-over"),
    ),
    Property(
        "server-side.believes-what-was-assigned",
        Kind.SAFETY,
        "A member in the generation that ZooKeeper keeps fetches what is kept there for it.",
        (View("coordinator", attrgetter("kept")), View("member", _believed)),
        _agree,
        given=_is_in_it,
        source=WIKI + "JoinGroupResponse",
        rules=("server-side.complete", "server-side.answer", "server-side.served"),
    ),
    Property(
        "server-side.generations-grow",
        Kind.STEP,
        "The generation that ZooKeeper keeps never becomes less, fail-over or not.",
        (View("coordinator", attrgetter("kept.generation")),),
        _not_less,
        source=WIKI + "coordinator fail-over",
        rules=("server-side.complete", "server-side.take-over"),
    ),
    Property(
        "server-side.one-strategy",
        Kind.SAFETY,
        "Of two members that ask for different strategies at most one is served as it asked.",
        (View("member", _strategies), View("member", _strategies)),
        _one_strategy,
        given=_ask_for_two,
        source=WIKI + "partition assignment strategies on the server",
        rules=("server-side.assign", "server-side.answer"),
    ),
    Property(
        "ends.settled",
        Kind.TERMINAL,
        "No rebalance runs, and every member that lives is in the current generation.",
        (View("coordinator", _stability), View("member", _place)),
        _at_rest,
    ),
)

SETTLES = eventually_always("server-side.settles", PROPERTIES[-1].meaning, _at_rest, *PROPERTIES[-1].views)

NO_DOUBLE_FETCH = Property(
    "server-side.no-double-fetch",
    Kind.SAFETY,
    "No two members fetch the same partition, whatever their generations.",
    MEMBERS,
    _disjoint,
    given=_both_fetch,
    source=WIKI + "split brain",
    rules=("server-side.barrier", "server-side.rejoin", "server-side.dead"),
)
"""Where nobody who lives is taken for dead. One who is fetches on until its next heartbeat, in an old
generation: the price of any failure detector, and the classic protocol pays it too."""


def _witness(name: str, meaning: str, test: Callable[..., bool], *views: View) -> Property:
    return Property(f"server-side.{name}", Kind.WITNESS, meaning, views, test)


def _witnesses(chosen: Mapping[str, Any]) -> Iterator[Property]:
    """What settings make possible and must be reached."""
    budget, members = dict(chosen["budget"]), len(chosen["wishes"])
    if members > 1:
        yield _witness("can_share", "Two members fetch in one generation.", _in_one_generation, *MEMBERS)
    if any(wish != chosen["strategy"] for wish in chosen["wishes"]):
        meaning = "A member is served by a strategy that it did not ask for."
        yield _witness("can_serve_against_a_wish", meaning, _against_its_wish, View("member", _strategies))
    if budget.get("expire") and members > 1:
        meaning = "A member that was taken for dead fetches what another has in a later generation."
        yield _witness("can_fetch_while_taken_for_dead", meaning, _twice, *MEMBERS)
    if budget.get("move"):
        meaning = "A member goes on in its generation under another coordinator."
        yield _witness("can_survive_a_move", meaning, bool, View("member", _moved))
    if budget.get("leave") and members > 1:
        meaning = "One member is gone, another one is alone in the group and no rebalance runs."
        views = (View("coordinator", _stability), View("member", attrgetter("gone")))
        yield _witness("can_go_on_alone", meaning, _alone, *views)
    if budget.get("partitions"):
        meaning = "A partition has come and is assigned."
        grown = partial(_grown, chosen["partitions"])
        yield _witness("can_grow", meaning, grown, View("coordinator", _owned))


def world(rules: RuleTable = RULES, ref: SystemRef | None = None, **settings: Any) -> System:
    """Members around a coordinator; settings as in `DEFAULTS`. Errors: ValueError for any other."""
    chosen = chosen_from(DEFAULTS, settings)
    wishes = FrozenMap((f"c{number}", wish) for number, wish in enumerate(chosen["wishes"], 1))
    brokers = Brokers(rules, chosen["partitions"], chosen["strategy"], wishes)
    members = (Served(rules, who, wish) for who, wish in wishes.items())
    alive = () if dict(chosen["budget"]).get("expire") else (NO_DOUBLE_FETCH,)
    return System(
        name="server-side",
        machines=(brokers, *members, Budget(FrozenMap(chosen["budget"]))),
        properties=(*PROPERTIES, *alive, *_witnesses(chosen)),
        liveness=(SETTLES,),
        ref=ref,
        depiction=SERVER_SIDE,
    )
