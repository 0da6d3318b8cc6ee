"""What a server asks of its coordinator while a case is played, and what another one says to the same.

A coordinator with a planted bug does what a sound one does until the bug shows. So a case in whose recorded
calls a coordinator with the bug has the same effects, call for call, cannot tell the two apart; and of the
others it takes milliseconds to know them, not the seconds that their dialogues wait.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from itertools import chain, count
from typing import Any, cast
from uuid import UUID

from rota.coordinator import Choices, CoordinatorConfig, Effects, GroupCoordinator
from rota.server.groups import FirstByName
from rota.server.topics import Topics as ServedTopics

TOKEN_AT: Mapping[str, int | None] = {
    "join_group": 4,
    "sync_group": 2,
    "heartbeat": 2,
    "consumer_group_heartbeat": 4,
    "consumer_group_describe": 2,
    "leave_group": 2,
    "offset_commit": 2,
    "txn_offset_commit": 2,
    "end_transaction": 2,
    "offset_fetch": 2,
    "offset_delete": 2,
    "describe_groups": 2,
    "list_groups": 2,
    "delete_groups": 2,
    "clean": None,
    "fire": None,
    "appended": None,
    "load": None,
    "unload": None,
    "topic_gone": None,
}
"""Methods of the coordinator that are recorded → the place of the token among their arguments.

Who ends a transaction that was open in the log gives none.
"""


@dataclass(frozen=True)
class Topics:
    """The topics that a coordinator sees, as of `TopicImage`: id and number of partitions by name."""

    version: int = 0
    known: Mapping[str, tuple[UUID, int]] = field(default_factory=dict)

    def id_of(self, name: str) -> UUID | None:
        return self.known[name][0] if name in self.known else None

    def name_of(self, topic_id: UUID) -> str | None:
        return next((name for name, (one, _) in self.known.items() if one == topic_id), None)

    def partition_count(self, name: str) -> int:
        return self.known[name][1] if name in self.known else 0


@dataclass(frozen=True)
class Call:
    """One step of a coordinator. Tokens are numbers; `ids` are the member ids that it drew."""

    method: str
    inputs: tuple[Any, ...]
    now_ms: int
    ids: tuple[str, ...]
    effects: Effects
    topics: Topics = Topics()


@dataclass
class Life:
    """All steps of one coordinator, from its start to its end."""

    config: CoordinatorConfig
    calls: list[Call] = field(default_factory=list)


class _Noted:
    """Choices for one call at a time: the time stands still in it, and the ids are noted."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.time = 0
        self.ids: list[str] = []

    def begin(self) -> None:
        self.time, self.ids = self._choices.now_ms(), []

    def now_ms(self) -> int:
        return self.time

    def new_member_id(self, prefix: str) -> str:
        self.ids.append(self._choices.new_member_id(prefix))
        return self.ids[-1]

    def protocol(self, tied: tuple[str, ...]) -> str:
        return self._choices.protocol(tied)

    def leader(self, candidates: tuple[str, ...]) -> str:
        return self._choices.leader(candidates)


class Recorder:
    """Stands where the coordinator stands, and notes its steps in a life of its own among `lives`."""

    def __init__(self, lives: list[Life], config: CoordinatorConfig, choices: Choices) -> None:
        self._choices = _Noted(choices)
        self._core = GroupCoordinator(config, self._choices)
        self._life = Life(config)
        self._tokens: dict[Hashable, Any] = {}
        self._numbers = count(1)
        self._seen = Topics()
        self._of_server: ServedTopics | None = None
        lives.append(self._life)

    def see_topics(self, topics: ServedTopics) -> None:
        """These are noted with each step: as they are then."""
        self._of_server = topics
        self._core.see_topics(topics)

    def _topics(self) -> Topics:
        served = self._of_server
        if served is not None and served.version != self._seen.version:
            known = {one.name: (one.topic_id, len(one.partitions)) for one in served.all()}
            self._seen = Topics(served.version, known)
        return self._seen

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name) if name in TOKEN_AT else getattr(self._core, name)

    def _call(self, method: str, *inputs: Any, **named: Any) -> Effects:
        asked = signature(getattr(self._core, method)).bind(*inputs, **named)
        given = [*map(_at_rest, asked.args)]
        place = TOKEN_AT[method]
        if place is not None and place < len(given):
            number = next(self._numbers)
            self._tokens[number], given[place] = given[place], number
        self._choices.begin()
        effects = cast(Effects, getattr(self._core, method)(*given))
        self._life.calls.append(
            Call(
                method,
                tuple(given),
                self._choices.time,
                tuple(self._choices.ids),
                effects,
                self._topics(),
            )
        )
        return effects._replace(
            replies=tuple((self._tokens[number], reply) for number, reply in effects.replies),
            dropped=tuple(self._tokens[number] for number in effects.dropped),
        )


def _at_rest(given: Any) -> Any:
    """What may be read more than once."""
    return tuple(given) if isinstance(given, Iterator) else given


def recording(lives: list[Life], config: CoordinatorConfig, choices: Choices) -> GroupCoordinator:
    """A recorder in the place of the core, as a server takes it."""
    return cast(GroupCoordinator, Recorder(lives, config, choices))


class Drawn(FirstByName):
    """The choices of a call that was recorded, once more; an id that was not drawn then is a new one."""

    def __init__(self) -> None:
        super().__init__(lambda: self.time)
        self.time = 0
        self._ids: Iterator[str] = iter(())

    def begin(self, call: Call) -> None:
        """This call is next."""
        self.time, self._ids = call.now_ms, chain(call.ids, (f"another-{number}" for number in count()))

    def new_member_id(self, prefix: str) -> str:
        """The id that was drawn."""
        return next(self._ids)


@dataclass(frozen=True)
class Difference:
    """The first call that has other effects than were recorded. effects: those; None if it raised."""

    call: Call
    effects: Effects | None

    @property
    def is_answered(self) -> bool:
        """Whether what is told at once differs, not only what is armed or stored."""
        other = self.effects
        return other is None or (other.replies, other.dropped) != (
            self.call.effects.replies,
            self.call.effects.dropped,
        )


def first_difference(lives: Iterable[Life]) -> Difference | None:
    """Where the coordinator as it is now first has other effects than were recorded."""
    return next((found for life in lives if (found := _difference(life)) is not None), None)


def _difference(life: Life) -> Difference | None:
    choices = Drawn()
    core = GroupCoordinator(life.config, choices)
    for call in life.calls:
        choices.begin(call)
        core.see_topics(call.topics)
        try:
            effects: Effects = getattr(core, call.method)(*call.inputs)
        except Exception:  # whatever a bug makes of it, a sound coordinator did not raise
            return Difference(call, None)
        if carried_out(effects) != carried_out(call.effects):
            return Difference(call, effects)
    return None


def carried_out(effects: Effects) -> Sequence[object]:
    """What of a step the server carries out: all but the lines of its log."""
    return effects._replace(notices=())
