"""What is known of the clients in a log while it is read: their lines leave out what earlier ones said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rota.history import Event, Kind, Source
from rota.logs.events import event, instance_of, made
from rota.logs.java_consumer import CLOSED, CONSUMER, RESET, SETTINGS
from rota.logs.librdkafka import LIBRDKAFKA, QUIET
from rota.logs.patterns import Pattern

_OF_GROUPS = re.compile(
    r"group|rebalanc|re-?join|\bjoin|generation|heartbeat|assignor|\bmember\b|session timed out|poll timeout",
    re.IGNORECASE,
)

_CLOSED = Pattern(CLOSED, Kind.CLIENT_CLOSED, "org.apache.kafka.common.utils.AppInfoParser", "all")


NEEDS_ID = "with the member id that it was given"
"""Why a newcomer joins a second time."""


GONE = (Kind.LEAVING, Kind.LOST)
"""What is told of a member after its id is forgotten."""


@dataclass
class Client:
    """A client as far as its lines told. former: the member id before; why: it is to join again; partitions:
    it has."""

    client: str
    group: str = ""
    instance: str = ""
    member: str = ""
    former: str = ""
    generation: int | None = None
    why: str = ""
    partitions: list[str] = field(default_factory=list)

    def fill(self, one: Event) -> Event:
        """An event of its, with what it leaves out."""
        return replace(
            one,
            group=one.group or self.group,
            client=self.client,
            member=one.member or self.member or (self.former if one.kind in GONE else ""),
            instance=one.instance or self.instance,
        )


class JavaClients:
    """Java's consumers, by client id and group."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], Client] = {}

    def line(
        self, sentence: str, name: str, group: str, instance: str, at: float | None, origin: str
    ) -> Iterator[Event]:
        """The events of a sentence behind the brackets that name client and group."""
        client = self._clients.setdefault((name, group), Client(name, group))
        client.instance = instance
        found = CONSUMER.find(sentence)
        if found is None:
            if _OF_GROUPS.search(sentence):
                unread = event(Kind.UNREAD, {"text": sentence}, Source.CLIENT_LOG, at, origin)
                yield client.fill(unread)
            return
        pattern, values = found
        self._learn(client, pattern, values)
        if pattern.kind is Kind.OTHER_PROTOCOL:
            values["text"] = sentence
        for one in made(pattern, values, Source.CLIENT_LOG, at, origin):
            yield client.fill(one)
        if pattern.kind in (Kind.LEAVING, Kind.SESSION_LATE):
            client.generation = None

    def untagged(self, message: str, at: float | None, origin: str) -> Iterator[Event]:
        """The events of a line that does not name the group."""
        values = _CLOSED.values(message)
        if values is None:
            return
        for (name, _), client in self._clients.items():
            if name == values["client"]:
                yield client.fill(event(Kind.CLIENT_CLOSED, {}, Source.CLIENT_LOG, at, origin))

    def _learn(self, client: Client, pattern: Pattern, values: dict[str, Any]) -> None:
        if "why" in values:
            client.why = values.pop("why")
        if pattern.kind is Kind.JOINING:
            values["reason"], client.why = client.why, ""
        if pattern.kind is Kind.REBALANCE_TOLD:
            client.why = "group is already rebalancing"
        if pattern.kind is Kind.ID_GIVEN:
            client.why = NEEDS_ID
        if pattern.kind is not Kind.LEAVING and "member" in values:
            client.member = values["member"]
        if "generation" in values:
            client.generation = values["generation"]
        if pattern.kind is Kind.SYNCED and "partitions" in values and client.generation is not None:
            values["generation"] = client.generation
        if pattern.text == RESET:
            client.former, client.member, client.generation = client.member, "", None


class RdkafkaClients:
    """librdkafka's instances, by their names."""

    _GROUP = re.compile(r'(?:Consumer )?[Gg]roup "(?P<group>.*?)":? (?P<rest>.*)', re.DOTALL)
    _BROKER = re.compile(r"(?:GroupCoordinator/\d+|GroupCoordinator|\S+:\d+/(?:\d+|bootstrap)): ")
    _LIST = re.compile(r"List with (\d{1,19}) partition\(s\):")
    _ITEM = re.compile(r" (?P<topic>.+) \[(?P<partition>\d+)\] ")
    _LOST = re.compile(r"Disconnected(?: \(|: |$)")

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._lists: dict[str, tuple[int, list[str]]] = {}

    def line(self, rest: str, mark: str, handle: str, at: float | None, origin: str) -> Iterator[Event]:
        """The events of a line. rest: without time, mark, name of the instance (handle) and thread."""
        client = self._clients.setdefault(handle, Client(_client_id(handle)))
        if mark == "GRPASSIGNMENT":
            yield from self._listed(rest, handle, client, at, origin)
            return
        coordinators = rest.startswith("GroupCoordinator: ")
        if (broker := self._BROKER.match(rest)) is not None:
            rest = rest[broker.end() :]
        if (group := self._GROUP.fullmatch(rest)) is not None:
            client.group, rest = group["group"], group["rest"]
        found = LIBRDKAFKA.find(rest)
        if found is None:
            if coordinators and self._LOST.search(rest):
                told = {"reason": rest}
                yield client.fill(event(Kind.DISCONNECTED, told, Source.CLIENT_LOG, at, origin))
            elif mark not in QUIET and mark != "FAIL" and (group is not None or _OF_GROUPS.search(rest)):
                yield client.fill(event(Kind.UNREAD, {"text": rest}, Source.CLIENT_LOG, at, origin))
            return
        pattern, values = found
        self._learn(client, pattern, values)
        if pattern.kind is Kind.OTHER_PROTOCOL:
            values["text"] = rest
        for one in made(pattern, values, Source.CLIENT_LOG, at, origin):
            yield client.fill(one)

    def _listed(
        self, rest: str, handle: str, client: Client, at: float | None, origin: str
    ) -> Iterator[Event]:
        """A list of partitions, which stands on lines of its own: the new assignment when it is whole."""
        if (head := self._LIST.fullmatch(rest)) is not None:
            self._lists[handle] = int(head[1]), []
        elif handle in self._lists and (item := self._ITEM.match(rest)) is not None:
            self._lists[handle][1].append(f"{item['topic']}-{item['partition']}")
        number, partitions = self._lists.get(handle, (-1, []))
        if number == len(partitions):
            del self._lists[handle]
            client.partitions = partitions
            told: dict[str, Any] = {"partitions": partitions}
            if client.generation is not None:
                told["generation"] = client.generation
            yield client.fill(event(Kind.SYNCED, told, Source.CLIENT_LOG, at, origin))

    def _learn(self, client: Client, pattern: Pattern, values: dict[str, Any]) -> None:
        client.group = values.get("group", client.group)
        if "member_id" in values:
            client.former, client.member = client.member or client.former, values.pop("member_id")
        if "leader_is" in values:
            values["leader"] = values.pop("leader_is").endswith(" (me)")
        client.why = values.pop("why", pattern.also.get("why", client.why))
        if pattern.kind is Kind.WAS_JOINED:
            client.member, client.generation = values["member"], values["generation"]
        if pattern.kind is Kind.ID_GIVEN:
            client.why = NEEDS_ID
        if pattern.kind is Kind.JOINING:
            values["reason"], client.why = client.why, ""
        if pattern.kind is Kind.REBALANCE_TOLD:
            client.why = values["reason"]
        if pattern.kind in (Kind.REVOKED, Kind.LOST):
            number = values.pop("number")
            if number == len(client.partitions):
                values["partitions"] = client.partitions


def _client_id(handle: str) -> str:
    """librdkafka names an instance CLIENT_ID#consumer-1."""
    return handle.rpartition("#")[0] or handle


class Settings:
    """The settings that a consumer prints when it begins, name by name on lines of their own."""

    _ONE = re.compile(r"(?:^|\s)\t?(?P<name>[a-z][a-z0-9.]+) = ?(?P<value>.*)$")

    def __init__(self, at: float | None, origin: str) -> None:
        self._at, self._origin = at, origin
        self._settings: dict[str, str] = {}

    def take(self, text: str) -> bool:
        """Whether this line is one of them."""
        found = self._ONE.search(text) if "\t" in text else None
        if found is None:
            return False
        if found["name"] in SETTINGS:
            self._settings[found["name"]] = found["value"].strip()
        return True

    def event(self) -> Event:
        """The consumer has begun with these."""
        settings = self._settings
        told = {
            "group": settings.get("group.id", ""),
            "client": settings.get("client.id", ""),
            "instance": instance_of(settings.get("group.instance.id", "null")),
            "settings": settings,
        }
        return event(Kind.CLIENT_STARTED, told, Source.CLIENT_LOG, self._at, self._origin)
