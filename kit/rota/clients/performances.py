"""Which scenarios are played by which libraries with which assignor, and many of them at the same time."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rota.clients.history import PATIENCE
from rota.clients.members import MODULES
from rota.clients.producers import Producers
from rota.clients.scenarios import SCENARIOS
from rota.clients.world import World

AT_ONCE = 14
"""Scenarios that play side by side; nearly all of their time they wait."""

LIBRDKAFKA, KAFKA_PYTHON = "librdkafka", "kafka-python"
GROUPS = {
    "librdkafka": (LIBRDKAFKA,),
    "kafka-python": (KAFKA_PYTHON,),
    "mixed": (LIBRDKAFKA, KAFKA_PYTHON),
    "mixed-other-first": (KAFKA_PYTHON, LIBRDKAFKA),
}
"""Libraries of a group's members in the order of their start, from the front again if there are more."""

NOT_EVERYWHERE = {
    # kafka-python has a missing topic created, whatever allow_auto_create_topics says.
    "topic_is_created_later": ("librdkafka",),
}
"""Scenario → the groups that can play it."""

WITH_OTHER_ASSIGNORS = ("pair_joins_and_parts", "third_joins", "one_of_three_leaves", "rolling_restart")
ONE_MEMBER_AT_A_TIME = ("without_a_group", "seeks", "latest", "nobody_commits")


@dataclass(frozen=True)
class Played:
    """What is left of a performance. failure: what went wrong, with the history."""

    world: World
    failure: Exception | None
    seconds: float = 0.0


@dataclass(frozen=True)
class Case:
    """One performance: a scenario, by a group of libraries with this assignor."""

    scenario: str
    group: str
    assignor: str = "range"

    def __str__(self) -> str:
        return f"{self.scenario}-{self.group}-{self.assignor}"

    @property
    def second_chance(self) -> bool:
        """Whether a failure is looked at once more."""
        return True

    @property
    def missing(self) -> list[str]:
        """The modules that it needs and that are not installed."""
        needed = [MODULES[library] for library in GROUPS[self.group]]
        return [module for module in needed if importlib.util.find_spec(module) is None]

    def play(self, address: str, producers: Producers) -> Played:
        """To its end or to what goes wrong."""
        return self.perform(address, producers)

    def world(self, address: str, producers: Producers, patience: float = PATIENCE, **settings: Any) -> World:
        """Where its members are of the group's libraries."""
        return World(address, producers, GROUPS[self.group], patience, **settings)

    def perform(self, address: str, producers: Producers, *patience: float) -> Played:
        """The same at another address, where a step may take so many seconds."""
        scenario = SCENARIOS[self.scenario]
        if self.assignor == "cooperative-sticky" and KAFKA_PYTHON in GROUPS.get(self.group, ()):
            # kafka-python 3.0.12 rejoins once more when it sees fit, owns partitions meanwhile, and does not
            # commit them then, not even when it is closed: they are seen again.
            scenario = scenario.allowing("RebalanceInProgressError")
        world = self.world(
            address,
            producers,
            *patience,
            assignor=self.assignor,
            commit_on_revoke=scenario.rules.commit_on_revoke,
            auto_offset_reset="earliest" if scenario.rules.from_start else "latest",
        )
        began = time.monotonic()
        failure = None
        try:
            scenario.play(world)
        except Exception as error:
            failure = error
        return Played(world, failure, time.monotonic() - began)


def cases() -> list[Case]:
    """All performances on a server as it is, the long ones first."""
    slow = ("frozen_too_long", "first_is_killed", "second_is_killed", "newcomer_is_killed")
    names = [*slow, *(name for name in SCENARIOS if name not in slow)]
    found = [Case(name, group) for name in names for group in _groups(name)]
    for name in WITH_OTHER_ASSIGNORS:
        found += [Case(name, group, "roundrobin") for group in ("librdkafka", "kafka-python", "mixed")]
        found += [Case(name, group, "cooperative-sticky") for group in ("librdkafka", "kafka-python")]
    found += [Case(name, "librdkafka", "cooperative-sticky") for name in slow]
    return found


def _groups(scenario: str) -> Iterable[str]:
    if scenario in ONE_MEMBER_AT_A_TIME:
        return ("librdkafka", "kafka-python")
    return NOT_EVERYWHERE.get(scenario, GROUPS)


class Performances:
    """Plays cases side by side, from when it is made; `of` waits for one of them.

    Clients have races of their own, which a busy machine brings out. Seen were a record that librdkafka 2.16
    had fetched before a rebalance and handed out after it, and kafka-python 3.0.12 failing on the empty
    assignment of a member that had no topics yet. So what fails on a server as it is gets a second
    performance, and a warning tells of the first.
    """

    def __init__(self, address: str, chosen: Iterable[Case], at_once: int = AT_ONCE) -> None:
        self._address = address
        self._producers = Producers(address)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="scenario")
        self._results: dict[Case, Future[Played]] = {case: self._play(case) for case in dict.fromkeys(chosen)}

    def of(
        self, case: Case, judged: Callable[[Played], object] = lambda played: None, warn: bool = True
    ) -> Played:
        """A performance that is over. Errors: what the harness itself could not do; what `judged` raises,
        which no second performance mends."""
        played = self._results[case].result()
        judged(played)
        if played.failure is None or not case.second_chance:
            return played
        if warn:
            warnings.warn(f"{case} is played again: {played.failure}", stacklevel=2)
        played = self._play(case).result()
        judged(played)
        return played

    def _play(self, case: Case) -> Future[Played]:
        return self._pool.submit(case.play, self._address, self._producers)

    def close(self) -> None:
        """What has not begun does not begin any more; what plays, ends."""
        self._pool.shutdown(cancel_futures=True)
        self._producers.close()
