"""What is claimed of the watchers, and the world that they live in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rota.designs import watchers, zookeeper
from rota.designs.budget import Budget, chosen_from
from rota.designs.depiction import WATCHERS
from rota.designs.lasting import eventually_always
from rota.designs.watchers import Consumer, Phase, Watcher
from rota.designs.znodes import Children, Nodes
from rota.designs.zookeeper import ZooKeeper
from rota.kernel import FrozenMap, Kind, Property, RuleTable, System, SystemRef, View
from rota.kernel.rules import collect

RULES = collect(zookeeper, watchers)

DEFAULTS: dict[str, Any] = {
    "consumers": 2,
    "partitions": 2,
    "servers": 1,
    "retries": 2,
    "outlasts": "work",
    "prompt": True,
    "budget": (),
}
"""The settings of the world.

servers: how many ZooKeeper servers the consumers are connected to, in turn; all but the first may lag;
retries: attempts at a rebalance; outlasts: what a back-off outlasts, nothing, work (of the others) or lag
(also that of the servers); prompt: whether a consumer hears at once that its session has ended; budget: how
many `expire` (a session ends although its consumer lives), `leave`, `partitions` (one more), `broker` (one
more).
"""

SPLIT = "Kafka wiki, Kafka 0.9 Consumer Rewrite Design: split brain"
Rest = tuple[bool, int, FrozenMap[int, str]]


def _at_rest(nodes: Nodes) -> Rest:
    """(all have finished, partitions of a group with members, owners)."""
    return nodes.quiescent, nodes.children.partitions if nodes.children.ids else 0, nodes.owners


def _all_rest(rest: Rest) -> bool:
    quiescent, partitions, _ = rest
    return quiescent and partitions > 0


def _no_gap(rest: Rest) -> bool:
    _, partitions, owners = rest
    return set(owners) >= set(range(partitions))


def _fetches(consumer: Consumer) -> frozenset[int]:
    return consumer.fetches


def _both_fetch(one: frozenset[int], other: frozenset[int]) -> bool:
    return bool(one and other)


def _disjoint(one: frozenset[int], other: frozenset[int]) -> bool:
    return not one & other


def _fetching(consumer: Consumer) -> tuple[str, frozenset[int]]:
    return consumer.who, consumer.fetches


def _shared(nodes: Nodes) -> Shared:
    return nodes.quiescent, nodes.children, nodes.owners


Shared = tuple[bool, Children, FrozenMap[int, str]]
"""(all have finished, children, owners)."""


def _all_have_finished(shared: Shared, fetching: tuple[str, frozenset[int]]) -> bool:
    return shared[0]


def _owned(shared: Shared, fetching: tuple[str, frozenset[int]]) -> bool:
    _, children, owners = shared
    who, fetches = fetching
    owned = {partition for partition, owner in owners.items() if owner == who}
    return fetches == owned == set(watchers.compute(children, who))


def _finished(consumer: Consumer) -> bool:
    return consumer.finished


def _quiescent(rest: Rest, finished: bool) -> bool:
    return rest[0] and finished


def _several(rest: Rest) -> bool:
    return rest[0] and len(set(rest[2].values())) > 1


def _gone(consumer: Consumer) -> bool:
    return consumer.phase is Phase.GONE


def _taken_over(rest: Rest, gone: bool) -> bool:
    quiescent, partitions, owners = rest
    return gone and quiescent and len(set(owners.values())) == 1 and len(owners) == partitions


def _owners(nodes: Nodes) -> tuple[bool, int, int]:
    """(all have finished, partitions with an owner, partitions)."""
    return nodes.quiescent, len(nodes.owners), nodes.children.partitions


def _grown(first: int, seen: tuple[bool, int, int]) -> bool:
    quiescent, owned, partitions = seen
    return quiescent and owned == partitions > first


def _waits(consumer: Consumer) -> bool:
    return consumer.phase is Phase.WAITING


PROPERTIES = (
    Property(
        "watchers.no-double-fetch",
        Kind.SAFETY,
        "No two consumers fetch the same partition.",
        (View("consumer", _fetches), View("consumer", _fetches)),
        _disjoint,
        given=_both_fetch,
        source=SPLIT,
        rules=("watchers.claim", "watchers.session-ended", "watchers.stirred"),
    ),
    Property(
        "watchers.no-gap",
        Kind.SAFETY,
        "When all have finished every partition has an owner.",
        (View("zookeeper", _at_rest),),
        _no_gap,
        given=_all_rest,
        source=SPLIT,
        rules=("watchers.claim", "watchers.finish", "watchers.read", "watchers.backoff"),
    ),
    Property(
        "watchers.owns-its-share",
        Kind.SAFETY,
        "When all have finished each consumer owns and fetches what the children give it.",
        (View("zookeeper", _shared), View("consumer", _fetching)),
        _owned,
        given=_all_have_finished,
        source=zookeeper.CONNECTOR + "syncedRebalance",
        rules=("watchers.compute", "watchers.notify", "watchers.unregister", "watchers.release"),
    ),
    Property(
        "ends.finished",
        Kind.TERMINAL,
        "Everybody has finished.",
        (View("zookeeper", _at_rest), View("consumer", _finished)),
        _quiescent,
    ),
)

FINISHES = eventually_always("watchers.finishes", PROPERTIES[-1].meaning, _quiescent, *PROPERTIES[-1].views)


def _witnesses(chosen: Mapping[str, Any]) -> Iterator[Property]:
    """What settings make possible and must be reached."""
    budget = dict(chosen["budget"])
    yield Property(
        "watchers.can_share",
        Kind.WITNESS,
        "Two consumers own partitions and all have finished.",
        (View("zookeeper", _at_rest),),
        _several,
    )
    if chosen["retries"] > 1:
        yield Property(
            "watchers.can_be_refused",
            Kind.WITNESS,
            "A claim is refused, and its consumer waits before it tries again.",
            (View("consumer", _waits),),
            bool,
        )
    if budget.get("leave"):
        yield Property(
            "watchers.can_take_over",
            Kind.WITNESS,
            "One consumer has left, another one owns all partitions, and all have finished.",
            (View("zookeeper", _at_rest), View("consumer", _gone)),
            _taken_over,
        )
    if budget.get("partitions"):
        yield Property(
            "watchers.can_grow",
            Kind.WITNESS,
            "A partition has come, it has an owner, and all have finished.",
            (View("zookeeper", _owners),),
            partial(_grown, chosen["partitions"]),
        )


def world(rules: RuleTable = RULES, ref: SystemRef | None = None, **settings: Any) -> System:
    """Consumers that watch; settings as in `DEFAULTS`. Errors: ValueError for a setting that is not there."""
    chosen = chosen_from(DEFAULTS, settings)
    names = [f"c{n}" for n in range(1, chosen["consumers"] + 1)]
    connected = FrozenMap((name, n % chosen["servers"]) for n, name in enumerate(names))
    tree = ZooKeeper(rules, chosen["partitions"], connected, chosen["outlasts"], chosen["prompt"])
    watching = (Watcher(rules, name, connected[name], chosen["retries"]) for name in names)
    return System(
        name="watchers",
        machines=(tree, *watching, Budget(FrozenMap(chosen["budget"]))),
        properties=(*PROPERTIES, *_witnesses(chosen)),
        liveness=(FINISHES,),
        ref=ref,
        depiction=WATCHERS,
    )
