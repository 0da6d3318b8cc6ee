"""Where families are registered: a family is one rule, played in several situations by everyone in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import case, otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import Phase, Role
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import Situation
from rota.conformance.steps.version_ranges import HANDSHAKE

Ask = Callable[[Scene, Member], None]
"""What one asks in a scene; the generation and the protocol that the member knows are the group's."""

Versions = Mapping[str, tuple[int, int]]

V = TypeVar("V")

FIRST_DELAY_MS = 3000
"""The initial delay where a dialogue asks during the first join phase; it does not wait for its end."""

_WHO = {
    Role.LEADER: "the leader asks",
    Role.FOLLOWER: "a follower asks",
    Role.NEWCOMER: "a newcomer asks",
    Role.STRANGER: "a stranger asks",
    Role.PENDING: "who was handed an id asks",
    Role.FORMER: "a former member asks",
    Role.NEW: "somebody new asks",
}


@dataclass(frozen=True)
class Part:
    """One case of a family: in one situation these roles ask, one after the other unless they are `apart`."""

    id: str
    situation: Situation
    roles: tuple[Role, ...]
    apart: bool
    afterwards: Callable[[Scene], None]

    def play(self, ask: Ask) -> Callable[[Dialogue], None]:
        """The dialogue in which this is asked."""

        def play(d: Dialogue) -> None:
            scene = self.situation.reach(d)
            for role in self.roles:
                askers = scene.askers(role)
                for asker in askers[:1] if self.apart else askers:
                    with scene.asked_by(_WHO[role]):
                        ask(scene, asker)
            if not self.apart:
                self.afterwards(scene)

        return play

    @property
    def words(self) -> str:
        """The situation; who asks, where that is one."""
        return f"{self.situation.sentence}; {_WHO[self.roles[0]]}" if self.apart else self.situation.sentence


FAMILIES: dict[str, tuple[Part, ...]] = {}
"""The parts of each family of situations, by its id."""


def family(
    id: str,
    requirement: str,
    source: str,
    *,
    situations: Iterable[Situation],
    asked_by: Sequence[Role],
    apart: bool = False,
    afterwards: Callable[[Scene], None] = Scene.undisturbed,
    known_as: Mapping[str, str] | None = None,
    least: int = 1,
    level: Level = Level.MUST,
    needs: Versions | None = None,
    settings: Mapping[str, int] | None = None,
    seconds: float = 1.0,
    older: str = "",
) -> Callable[[Ask], Ask]:
    """Register what is asked as one case for each situation, with the id of the family and the situation's.

    In each of them all of `asked_by` that are there ask one after the other, and the group must stay as it
    is, which `afterwards` looks at. Where the question changes the group they ask `apart`: there is a case
    for each role, whose id ends with it. `known_as` gives cases ids of their own, such as lists of known
    failures have: from what would follow the family's id. So many as `least` members have to be left where a
    target takes fewer than the situation has. The other parameters are those of `case`.

    Raises ValueError as `case` does, for a situation in which nobody can ask, and for what no case of the
    family is known as.
    """
    parts = tuple(_parts(id, situations, asked_by, apart, afterwards))
    if id in FAMILIES or not parts:
        raise ValueError(f"{id} is a family already, or one of no case")
    parts = _renamed(id, parts, known_as or {})

    def add(ask: Ask) -> Ask:
        for part in parts:
            first = part.situation.phase is Phase.FIRST
            case(
                part.id,
                requirement,
                source,
                level=level,
                needs=_needs(part, needs or {}),
                initial_delay_ms=FIRST_DELAY_MS if first else 300,
                least_delay_ms=1000 if first else 0,
                settings=settings,
                seconds=seconds,
                older=older,
                family=id,
                situation=part.words,
                spare=part.situation.spare(part.roles, least),
            )(part.play(ask))
        FAMILIES[id] = parts
        return ask

    return add


def family_otherwise(id: str, switch: str, requirement: str) -> Callable[[Ask], Ask]:
    """Register what a family is for brokers that differ in a switch of their profile; see `otherwise`."""

    def add(ask: Ask) -> Ask:
        for part in FAMILIES[id]:
            otherwise(part.id, switch, requirement)(part.play(ask))
        return ask

    return add


def for_each(
    id: str,
    requirement: str,
    source: str,
    values: Mapping[str, V],
    *,
    level: Level = Level.MUST,
    needs: Versions | None = None,
    initial_delay_ms: int = 300,
    least_delay_ms: int = 0,
    seconds: float = 1.0,
    older: str = "",
) -> Callable[[Callable[[Dialogue, V], None]], Callable[[Dialogue, V], None]]:
    """Register a family of values: one case for each, whose id ends with the value's name.

    The other parameters are those of `case`.
    """

    def add(play: Callable[[Dialogue, V], None]) -> Callable[[Dialogue, V], None]:
        for name, value in values.items():
            case(
                f"{id}.{name}",
                requirement,
                source,
                level=level,
                needs=needs,
                initial_delay_ms=initial_delay_ms,
                least_delay_ms=least_delay_ms,
                seconds=seconds,
                older=older,
                family=id,
                situation=name.replace("-", " "),
            )(_with(play, value))
        return play

    return add


def _with(play: Callable[[Dialogue, V], None], value: V) -> Callable[[Dialogue], None]:
    return lambda d: play(d, value)


def _parts(
    id: str,
    situations: Iterable[Situation],
    asked_by: Sequence[Role],
    apart: bool,
    afterwards: Callable[[Scene], None],
) -> Iterable[Part]:
    for situation in dict.fromkeys(situations):
        roles = tuple(role for role in asked_by if situation.has(role))
        if not roles:
            raise ValueError(f"{id}: nobody is there to ask in {situation.sentence}")
        if not apart:
            yield Part(f"{id}.{situation.slug}", situation, roles, apart, afterwards)
            continue
        for role in roles:
            yield Part(f"{id}.{situation.slug}.{role}", situation, (role,), apart, afterwards)


def _renamed(id: str, parts: Sequence[Part], known_as: Mapping[str, str]) -> tuple[Part, ...]:
    names = {f"{id}.{tail}": name for tail, name in known_as.items()}
    if strange := names.keys() - {part.id for part in parts}:
        raise ValueError(f"{id} has no case {', '.join(sorted(strange))}")
    return tuple(replace(part, id=names.get(part.id, part.id)) for part in parts)


def _needs(part: Part, needs: Versions) -> Versions:
    """What the family and the situation need, both; ids are handed out where only their owners ask."""
    handed_out = HANDSHAKE if part.roles == (Role.PENDING,) else {}
    found: dict[str, tuple[int, int]] = {}
    for each in (part.situation.needs, needs, handed_out):
        for api, (first, last) in each.items():
            least, greatest = found.get(api, (first, last))
            found[api] = max(first, least), min(last, greatest)
    if impossible := [api for api, (first, last) in found.items() if first > last]:
        raise ValueError(f"{part.id} needs versions of {', '.join(impossible)} that there are not")
    return found
