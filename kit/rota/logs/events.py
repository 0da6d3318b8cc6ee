"""From what a sentence tells to events: names and values as the line format has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rota.history import Event, Kind, Source
from rota.logs.patterns import Pattern
from rota.logs.reasons import taken_apart

_OF_EVENT = frozenset(("group", "member", "instance", "client", "host", "generation", "state", "reason"))

_LIST = re.compile(r"(?:[A-Za-z]*Set\(|[A-Za-z]*List\(|\[|\()?(.*?)[\])]?", re.DOTALL)
_MORE = re.compile(r"(.*) and \d+ more")
_ASSIGNMENT = re.compile(r"(?:^\{|, )([^={}]+)=Assignment\(partitions=\[(.*?)\]")

_COORDINATOR_ID = 2**31 - 1
"""What clients take a node's number from, for the number of their connection to it as a coordinator."""


def made(
    pattern: Pattern, values: dict[str, Any], source: Source, at: float | None, origin: str
) -> Iterator[Event]:
    """The events of a sentence: none, or one, or one for each member or group that it lists."""
    if pattern.kind is None:
        return
    told = {**pattern.also, **values}
    if pattern.kind is Kind.PREPARING:
        apart = taken_apart(told["reason"])
        told |= {name: value for name, value in apart.items() if name not in ("during", "error")}
    listed = [{"member": one} for one in listed_in(told.pop("removed"))] if "removed" in told else [{}]
    if pattern.kind is Kind.PREPARING and listed != [{}]:
        told["removed"] = [one["member"] for one in listed]
        listed = listed[:1] if len(listed) == 1 else [{}]
    if "groups" in told:
        listed = [{"group": one} for one in listed_in(told.pop("groups"))]
    for one in listed:
        yield event(pattern.kind, {**told, **one}, source, at, origin)


def event(kind: Kind, told: dict[str, Any], source: Source, at: float | None, origin: str) -> Event:
    """An event of what was told: some in fields of their own, the rest as data."""
    fields = {name: value for name, value in told.items() if name in _OF_EVENT}
    data = {name: value for name, value in told.items() if name not in _OF_EVENT}
    if "instance" in fields:
        fields["instance"] = instance_of(fields["instance"])
    if fields.get("generation", 0) < 0:
        del fields["generation"]
    if fields.get("reason") == "null":
        del fields["reason"]
    return Event(at, source, origin, kind, **fields, data=_cleaned(data))


def listed_in(text: str) -> list[str]:
    """The texts of a set or list as Java, Scala and rota print them."""
    found = _LIST.fullmatch(text.strip())
    inner = text if found is None else found[1]
    if (more := _MORE.fullmatch(inner)) is not None:
        inner = more[1]
    return [one.strip() for one in inner.split(",") if one.strip()]


def instance_of(text: str) -> str:
    """A group.instance.id as it is printed: None, null, Some(x), Optional[x] or itself."""
    if text in ("None", "null", "Optional.empty"):
        return ""
    found = re.fullmatch(r"(?:Some\((.*)\)|Optional\[(.*)\])", text)
    return text if found is None else found[1] or found[2] or ""


def _cleaned(data: dict[str, Any]) -> dict[str, Any]:
    """Values in the form that the kinds' keys have."""
    for name in ("partitions", "added"):
        if isinstance(data.get(name), str):
            data[name] = listed_in(data[name])
    if "partition_of" in data:
        data["partitions"] = [data.pop("partition_of")]
    if isinstance(data.get("assignments"), str):
        data["assignments"] = {
            member: listed_in(partitions) for member, partitions in _ASSIGNMENT.findall(data["assignments"])
        }
        data["members"] = len(data["assignments"])
    if isinstance(data.get("node"), str):
        number = re.search(r"-?\d+", data["node"])
        node = int(number[0]) if number else -1
        data["node"] = _COORDINATOR_ID - node if node > 2**30 else node
    return data
