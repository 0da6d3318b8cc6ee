"""How the two designs are drawn: consumers or members from the left, then whom they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rota.designs import requests, znodes
from rota.designs.served import Member
from rota.designs.server_side import Cluster
from rota.designs.watchers import Consumer
from rota.kernel import Arrow, Depiction, Lane, Transition, Values

Words = Mapping[type, Callable[[Any], str]]
"""Kind of message -> what stands on its arrow; a message that is only the model's has none."""

OVER_ZOOKEEPER: Words = {
    znodes.Register: lambda one: "register",
    znodes.Unregister: lambda one: "close the session",
    znodes.Read: lambda one: "read and watch the children",
    znodes.Children: lambda one: f"ids {_listed(sorted(one.ids))}; {one.partitions} partitions",
    znodes.Claim: lambda one: f"claim {_partition(one.partition)}",
    znodes.Claimed: lambda one: "granted" if one.granted else "refused",
    znodes.Release: lambda one: "release",
    znodes.Stirred: lambda one: "a watch fires",
    znodes.SessionEnded: lambda one: "the session has ended",
}

WITH_BROKERS: Words = {
    requests.ConsumerMetadata: lambda one: "ConsumerMetadata",
    requests.Coordinator: lambda one: f"ConsumerMetadata ← broker {one.broker}",
    requests.JoinGroup: lambda one: f"JoinGroup to broker {one.broker}, {one.strategy}",
    requests.Joined: lambda one: f"JoinGroup ← generation {one.generation}, {_owned(one.partitions)}",
    requests.Heartbeat: lambda one: f"Heartbeat to broker {one.broker}, generation {one.generation}",
    requests.Answered: lambda one: f"← {one.error.value}",
}


def _lanes(machines: Sequence[Any]) -> Sequence[Lane]:
    """Those of which there are several have a name of their own after a stroke; the budget is not drawn."""
    many = [one.name for one in machines if "/" in one.name]
    others = [one.name for one in machines if "/" not in one.name and one.name != "budget"]
    return [
        *(Lane(name, name.partition("/")[2], "member") for name in many),
        *(Lane(name, name, "coordinator") for name in others),
    ]


def _arrows(words: Words, before: Values, transition: Transition) -> Sequence[Arrow]:
    return [
        Arrow(one.sender, one.machine, words[type(one.message)](one.message))
        for one in transition.local_steps
        if one.sender is not None and type(one.message) in words
    ]


def _by_partition(partitions: int, held: Mapping[str, Sequence[int]]) -> Mapping[str, tuple[str, ...]]:
    """What each machine holds, turned round. partitions: how many there are."""
    return {
        _partition(number): tuple(name for name, owned in held.items() if number in owned)
        for number in range(partitions)
    }


def _watched(values: Values) -> Mapping[str, tuple[str, ...]]:
    fetching = {name: sorted(one.fetches) for name, one in values.items() if isinstance(one, Consumer)}
    return _by_partition(values["zookeeper"].children.partitions, fetching)


def _coordinated(values: Values) -> Mapping[str, tuple[str, ...]]:
    held = {name: one.partitions for name, one in values.items() if isinstance(one, Member)}
    return _by_partition(values["brokers"].partitions, held)


def _generations(values: Values) -> Mapping[str, str]:
    numbers = {name: one.generation for name, one in values.items() if isinstance(one, Member)}
    numbers["brokers"] = values["brokers"].kept.generation
    return {name: f"generation {number}" for name, number in numbers.items() if number}


def _captions(said: Callable[[Any], Iterator[str]], values: Values) -> Mapping[str, tuple[str, ...]]:
    return {name: words for name, one in values.items() if (words := tuple(said(one)))}


def _of_watchers(value: Any) -> Iterator[str]:
    if isinstance(value, Consumer):
        yield value.phase.value
        if value.wants:
            yield f"wants {_owned(value.wants)}"
        if value.notified:
            yield "a watch has fired"
    elif isinstance(value, znodes.Nodes):
        yield f"ids {_listed(sorted(value.children.ids))}"
        yield from (f"{_partition(number)}: {who}" for number, who in value.owners.items())
        for position, server in enumerate(value.servers):
            if server.behind:
                yield f"server {position} is {len(server.behind)} behind"


def _of_server_side(value: Any) -> Iterator[str]:
    if isinstance(value, Member):
        if value.gone:
            yield "silent"
        elif value.waiting:
            yield "joining"
        if value.knows is not None:
            yield f"asks broker {value.knows}"
    elif isinstance(value, Cluster):
        yield "nobody coordinates" if value.leads is None else f"broker {value.leads} coordinates"
        yield f"members {_listed(sorted(value.group.members))}"
        if value.group.preparing:
            yield "waits for members to join"


def _partition(number: int) -> str:
    return f"partition {number}"


def _owned(numbers: Sequence[int]) -> str:
    return ", ".join(_partition(number) for number in numbers) or "no partition"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


WATCHERS = Depiction(
    lanes=_lanes,
    arrows=partial(_arrows, OVER_ZOOKEEPER),
    owners=_watched,
    captions=partial(_captions, _of_watchers),
)

SERVER_SIDE = Depiction(
    lanes=_lanes,
    arrows=partial(_arrows, WITH_BROKERS),
    bands=_generations,
    owners=_coordinated,
    captions=partial(_captions, _of_server_side),
)
