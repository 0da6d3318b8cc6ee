"""Which scenarios are played by which libraries with which assignor, and many of them at the same time."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from harness.clients.meddler import BUGS, Meddler
from rota.clients.members import MODULES
from rota.clients.producers import Producers
from rota.clients.scenarios import SCENARIOS
from rota.clients.world import World
from rota.oracle.shadow import Shadow

AT_ONCE = 14
"""Scenarios that play side by side; nearly all of their time they wait."""
IMPATIENT = 12.0
"""Seconds that a step may take where a bug is planted, so that a step which never comes costs little."""

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

    def judged(self, shadows: Iterable[Shadow]) -> Played:
        """Itself, if what the coordinator did in its group is what the spec allows. Errors: Divergence."""
        history = self.world.history.events()
        for shadow in shadows:
            found = shadow.followed.get(self.world.group_id)
            if found is not None and found.divergence is not None:
                raise found.divergence
            assert found is not None or all(event.generation < 1 for event in history), "nobody has looked"
        return self


@dataclass(frozen=True)
class Case:
    """One performance. bug: a name of BUGS, planted by a proxy between clients and server, or None."""

    scenario: str
    group: str
    assignor: str = "range"
    bug: str | None = None

    def __str__(self) -> str:
        return "-".join(filter(None, (self.scenario, self.group, self.assignor, self.bug))).replace(" ", "_")

    @property
    def missing(self) -> list[str]:
        """The modules that it needs and that are not installed."""
        needed = [MODULES[library] for library in GROUPS[self.group]]
        return [module for module in needed if importlib.util.find_spec(module) is None]

    def play(self, address: str, producers: Producers) -> Played:
        """To its end or to what goes wrong."""
        if self.bug is None:
            return self._play(address, producers)
        with Meddler(address, BUGS[self.bug]) as meddler:
            return self._play(meddler.address, producers, IMPATIENT)

    def _play(self, address: str, producers: Producers, *patience: float) -> Played:
        scenario = SCENARIOS[self.scenario]
        if self.assignor == "cooperative-sticky" and KAFKA_PYTHON in GROUPS[self.group]:
            # kafka-python 3.0.12 rejoins once more when it sees fit, owns partitions meanwhile, and does not
            # commit them then, not even when it is closed: they are seen again.
            scenario = scenario.allowing("RebalanceInProgressError")
        world = World(
            address,
            producers,
            GROUPS[self.group],
            *patience,
            assignor=self.assignor,
            commit_on_revoke=scenario.rules.commit_on_revoke,
            auto_offset_reset="earliest" if scenario.rules.from_start else "latest",
        )
        try:
            scenario.play(world)
        except Exception as failure:
            return Played(world, failure)
        return Played(world, None)


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

    def __init__(self, address: str, chosen: Iterable[Case]) -> None:
        self._address = address
        self._producers = Producers(address)
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="scenario")
        self._results: dict[Case, Future[Played]] = {case: self._play(case) for case in dict.fromkeys(chosen)}

    def of(self, case: Case, shadows: Iterable[Shadow] = ()) -> Played:
        """A performance that is over. Errors: what the harness itself could not do; Divergence, see `judged`,
        which no second performance mends."""
        played = self._results[case].result().judged(shadows)
        if played.failure is None or case.bug is not None:
            return played
        warnings.warn(f"{case} is played again: {played.failure}", stacklevel=2)
        return self._play(case).result().judged(shadows)

    def _play(self, case: Case) -> Future[Played]:
        return self._pool.submit(case.play, self._address, self._producers)

    def close(self) -> None:
        """What has not begun does not begin any more; what plays, ends."""
        self._pool.shutdown(cancel_futures=True)
        self._producers.close()
