"""What a scenario works with: topics, records, members, and the waits between its steps."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from rota.clients.history import PATIENCE, Event, History, Partition, Place, TimedOut
from rota.clients.members import Member
from rota.clients.producers import Producers

SESSION_TIMEOUT_MS = 6000
HEARTBEAT_INTERVAL_MS = 300


class World:
    """One scenario's place at a server: topics and a group of its own, a history, members that end with it.

    libraries: of the members in the order of their start, again from the front when there are more. patience:
    seconds that any wait lasts at most.
    settings: for every consumer, on top of the defaults; as in `consumer_process`.
    """

    def __init__(
        self,
        address: str,
        producers: Producers,
        libraries: tuple[str, ...],
        patience: float = PATIENCE,
        **settings: Any,
    ) -> None:
        self.history = History(patience)
        self.members: list[Member] = []
        self.made: Callable[..., Member] = Member
        self._producer = producers.of(libraries[0])
        self._libraries = itertools.cycle(libraries)
        self._unique = uuid.uuid4().hex[:8]
        self.group_id = f"group-{self._unique}"
        self._topics: dict[str, int] = {}
        self._numbers = itertools.count()
        self._settings = {
            "address": address,
            "group_id": self.group_id,
            "assignor": "range",
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "heartbeat_interval_ms": HEARTBEAT_INTERVAL_MS,
            "auto_offset_reset": "earliest",
            "commit_on_revoke": True,
            **settings,
        }

    def name(self, part: str) -> str:
        """A topic name of this scenario."""
        return f"{part}-{self._unique}"

    def topic(self, partitions: int, part: str = "orders") -> str:
        """A new topic; returns its name."""
        name = self.name(part)
        self._producer.create(name, partitions)
        self._topics[name] = partitions
        return name

    def partitions(self, *topics: str) -> frozenset[Partition]:
        """All partitions of these topics, or of all."""
        return frozenset((name, i) for name in topics or self._topics for i in range(self._topics[name]))

    def produce(self, each: int, *topics: str) -> None:
        """Appends so many records to each partition and waits until they are acknowledged."""
        values = {
            partition: [f"{partition[0]}/{partition[1]}#{next(self._numbers)}" for _ in range(each)]
            for partition in sorted(self.partitions(*topics))
        }
        texts = {partition: iter(values[partition]) for partition in values}
        self._producer.produce(
            values,
            lambda partition, offset: self.history.note(
                "test", "produced", partition=partition, offset=offset, value=next(texts[partition])
            ),
        )

    def member(self, *topics: str, pattern: str | None = None, **settings: Any) -> Member:
        """Starts the next consumer; it subscribes if topics or a pattern are given."""
        number = len(self.members)
        library = next(self._libraries)
        name = f"{'ABCDEFGH'[number]}-{library[:5]}"
        member = self.made(name, library, self._settings | settings, self.history)
        self.members.append(member)
        if topics or pattern:
            member.subscribe(*topics, pattern=pattern)
        return member

    def settled(
        self, *members: Member, partitions: Iterable[Partition] | None = None, beyond: int = -1
    ) -> int:
        """Waits until these share all partitions in one generation, each with a part, and notes it.

        Returns that generation, which is later than `beyond`.
        """
        wanted = self.partitions() if partitions is None else frozenset(partitions)
        names = [member.name for member in members]
        views: list[Event] = []

        def share() -> bool:
            seen = [self._view(name) for name in names]
            views[:] = [view for view in seen if view is not None]
            return None not in seen and self._share(views, wanted) and views[0].generation > beyond

        self.history.wait(f"{', '.join(names)} share {len(wanted)} partitions in one generation", share)
        self.history.note("test", "stable", views={view.who: view.t for view in views}, partitions=wanted)
        return views[0].generation

    def _view(self, name: str) -> Event | None:
        views = self.history.of(name, "view")
        return views[-1] if views else None

    @staticmethod
    def _share(views: list[Event], wanted: frozenset[Partition]) -> bool:
        if len({view.generation for view in views}) != 1 or views[0].generation < 0:
            return False
        if any(view.more["owned"] != view.more["library_owns"] for view in views):
            return False
        if len(wanted) >= len(views) and not all(view.more["owned"] for view in views):
            return False  # a cooperative assignor has taken nothing from the others yet
        owned = [partition for view in views for partition in view.more["owned"]]
        return sorted(owned) == sorted(wanted)

    def leave(self, *members: Member) -> None:
        """They close one after the other, in the middle of each other's rebalances. Not so with a cooperative
        assignor: there a member still owns partitions while it rejoins, and cannot commit them."""
        for number, member in enumerate(members, 1):
            member.close()
            if self._settings["assignor"] == "cooperative-sticky" and members[number:]:
                self.settled(*members[number:])

    def consumed(self) -> None:
        """Waits until somebody has seen every record that was produced so far."""
        places = {event.place for event in self.history.of("test", "produced")}
        self.history.wait(
            f"all {len(places)} records are seen",
            lambda: places <= {event.place for event in self.history.events() if event.kind == "record"},
        )

    def places(self) -> list[Place]:
        """Where the records stand that were produced so far."""
        return [event.place for event in self.history.of("test", "produced")]

    def seen_by(self, member: Member, places: Iterable[Place]) -> None:
        """Waits until this member has seen all of these."""
        wanted = set(places)
        self.history.wait(
            f"{member.name} has seen {len(wanted)} records",
            lambda: wanted <= {event.place for event in self.history.of(member.name, "record")},
        )

    def holders(self, topic: str) -> set[str]:
        """The members that show a partition of the topic as their own."""
        views = [self._view(member.name) for member in self.members]
        return {view.who for view in views if view and any(topic == name for name, _ in view.more["owned"])}

    def soon(self, happened: Callable[[], bool]) -> bool:
        """Whether it happens within a quarter of a second."""
        try:
            self.history.wait("soon", happened, patience=0.25)
        except TimedOut:
            return False
        return True

    def end(self) -> None:
        """No process is left afterwards."""
        for member in self.members:
            member.end()
