"""How often Spark's processes judged a property, counted once over all: tasks run here, see `harness`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import toys

from harness.spark_here import Context
from harness.thinned import some
from rota.explore import Limits, Result, reference
from rota.explore.spark import combinations, session
from rota.explore.spark import engine as spark
from rota.explore.spark.combinations import KEY, Journal
from rota.explore.spark.protocol import Judged
from rota.explore.spark.tally import Tally
from rota.explore.spark.worker import plain_round, process, round, surroundings
from rota.explore.spark.worker.surroundings import NotRebuilt
from rota.explore.tables.machines import same
from rota.kernel import System

SMALL = 1 << 20

ELSEWHERE = "spark://elsewhere"
"""A master whose executors may be lost."""

Counts = dict[str, tuple[int | None, int | None]]


@pytest.fixture(autouse=True, params=[True, False], ids=["numba", "plain"])
def _workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """New processes, with numba or without."""
    round._WORKERS.clear()
    plain_round._WORKERS.clear()
    monkeypatch.setattr(
        spark,
        "look_at",
        lambda context, say: session.Cluster(request.param, not session.is_local(context.master)),
    )


def run(system: System, context: Context | None = None, **how: Any) -> Result:
    return spark.explore(system, Limits(memory=SMALL), context=context or Context(), **how)


def counts(result: Result) -> Counts:
    return {one.name: (one.judged, one.given) for one in result.properties}


def right(system: System, result: Result) -> bool:
    """Whether it says how often each property was judged as the reference engine says."""
    slow = reference.explore(system)
    assert any(one.judged for one in slow.properties)
    return counts(result) == counts(slow)


SYSTEMS = {
    "two-phase": toys.two_phase,
    "channel": toys.channel,
    "supposing": toys.supposing,
    "showing": toys.showing,
}

systems = pytest.mark.parametrize("name", SYSTEMS)


# ---- partitions that meet the same


@pytest.mark.parametrize(("name", "forget"), some(product(SYSTEMS, [True, False])))
def test_what_several_partitions_meet_counts_once(name: str, forget: bool) -> None:
    system = SYSTEMS[name]()
    result = run(system, Context(forget), partitions=5)
    assert right(system, result)
    once = sum(one.judged or 0 for one in result.properties)
    assert result.stats["judged_bytes"] > KEY * once  # they have met the same, and told so


@systems
def test_several_local_levels_meet_the_same(name: str) -> None:
    assert right(SYSTEMS[name](), run(SYSTEMS[name](), partitions=2, local_levels=3))


def test_a_process_tells_nothing_twice_that_the_driver_has() -> None:
    result = run(toys.two_phase(), partitions=1)
    assert result.stats["judged_bytes"] == KEY * sum(one.judged or 0 for one in result.properties)


def test_what_ended_early_counts_nothing() -> None:
    limits = Limits(memory=SMALL, max_states=30)
    for system in (toys.two_phase(), toys.broken("step")):
        result = spark.explore(system, limits, context=Context())
        assert set(counts(result).values()) == {(None, None)}


# ---- what is lost


@pytest.mark.parametrize(("name", "master"), some(product(SYSTEMS, ["local[3,4]", ELSEWHERE]), first=1))
def test_a_repeated_task_tells_what_its_first_try_has_told(name: str, master: str) -> None:
    assert right(SYSTEMS[name](), run(SYSTEMS[name](), Context(tries=2, master=master)))


@systems
def test_a_process_that_has_seen_it_all_tells_it_again(name: str) -> None:
    for _ in range(2):
        assert right(SYSTEMS[name](), run(SYSTEMS[name]()))


class Died(BaseException):
    """Stands for the end of the driver's process."""


def resumed(system: System, folder: Path, context: Context, die_after: int = 6) -> Result:
    """What a search comes to whose driver died once round `die_after` was done, before it was committed."""

    def dies(depth: int, *_: Any) -> None:
        if depth == die_after:
            raise Died

    limits = Limits(memory=SMALL, checkpoint=folder)
    with pytest.raises(Died):
        spark.explore(system, limits, context=context, progress=dies)
    return spark.explore(system, replace(limits, resume=True), context=context)


@pytest.mark.parametrize(("name", "forget"), some(product(SYSTEMS, [True, False]), first=2))
def test_what_was_judged_before_a_search_ended_counts_when_it_is_resumed(
    name: str, forget: bool, tmp_path: Path
) -> None:
    assert right(SYSTEMS[name](), resumed(SYSTEMS[name](), tmp_path, Context(forget)))


# ---- bugs that are planted


def _apart(original: Any) -> Any:
    """Each report's combinations are its own."""

    def add(self: Any, reports: Iterable[Judged]) -> None:
        for number, one in enumerate(reports):
            keys = bytearray(one.keys)
            keys[KEY - 1 :: KEY] = bytes([number]) * (len(keys) // KEY)
            original(self, [replace(one, keys=bytes(keys))])

    return add


def _told_once(original: Any) -> Any:
    """What was in a report is not told again."""

    def told(self: Any, known: Any) -> Judged:
        judged: Judged = original(self, known)
        self._portions = [b""] * judged.portions
        return judged

    return told


def _not_recalled(original: Any) -> Any:
    """What a commit has is forgotten."""
    return lambda self, names, read: None


def _not_kept(original: Any) -> Any:
    """A commit has nothing."""
    return lambda self, write: None


def _all_given(original: Any) -> Any:
    """All premises are true."""

    def add(self: Any, keys: bytes) -> None:
        given = bytearray(keys)
        given[::KEY] = [first | 1 for first in given[::KEY]]
        original(self, bytes(given))

    return add


def _last_round(original: Any) -> Any:
    """Only what the last round with news told counts."""

    def add(self: Any, reports: Iterable[Judged]) -> None:
        some = list(reports)
        if any(one.keys for one in some):
            self.__init__(toys.supposing())
        original(self, some)

    return add


def repeated(system: System, folder: Path) -> Result:
    return run(system, Context(tries=2))


def shared(system: System, folder: Path) -> Result:
    return run(system, Context(forget=True), partitions=5)


def gone_on_with(system: System, folder: Path) -> Result:
    return resumed(system, folder, Context(forget=True))


BUGS: dict[str, tuple[Any, str, Callable[[Any], Any], Callable[[System, Path], Result]]] = {
    "counted for each partition": (Tally, "add", _apart, shared),
    "only the last round counts": (Tally, "add", _last_round, shared),
    "a premise is always true": (Tally, "_add", _all_given, shared),
    "a lost report is not told again": (Journal, "told", _told_once, repeated),
    "a commit is not recalled": (Tally, "recall", _not_recalled, gone_on_with),
    "a commit has nothing of it": (Tally, "commit", _not_kept, gone_on_with),
}


@pytest.mark.long
@pytest.mark.parametrize("bug", BUGS)
def test_bugs_in_counting_are_found(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whose, name, planted, how = BUGS[bug]
    assert right(toys.supposing(), how(toys.supposing(), tmp_path / "right"))
    monkeypatch.setattr(whose, name, planted(getattr(whose, name)))
    round._WORKERS.clear()
    plain_round._WORKERS.clear()
    assert not right(toys.supposing(), how(toys.supposing(), tmp_path / "wrong"))


# ---- what tells combinations apart


def test_all_processes_have_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numba and without, in whichever order they meet values."""
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(spark, "look_at", lambda context, say, is_=compiled: session.Cluster(is_, False))
        told: set[bytes] = set()
        monkeypatch.setattr(Tally, "_add", lambda self, keys, told=told: told.update(split(keys)))
        run(toys.two_phase(), partitions=2 + compiled)
        found.append(told)
    assert found[0] == found[1]
    assert len(found[0]) == 17


def split(keys: bytes) -> list[bytes]:
    return [keys[at : at + KEY] for at in range(0, len(keys), KEY)]


VALUES: list[Any] = [
    None, 0, 1, True, False, "1", b"1", (), (1,), (True,), frozenset(), frozenset({1}), frozenset({True}),
    toys.Shown(True, 1), toys.Shown(True, 2), (True, 1), (toys.Shown(True, 1),), toys.Node(True, False),
    frozenset({toys.Shown(True, 1)}), frozenset({toys.Shown(True, 1), "a"}), (0.5, "1"), (0.5, "0.51"),
    (0.5, 1, "1"), 0.5, 1.0, "0.5", toys.Node(0.5, False), toys.Node(0.5, 0.5),  # type: ignore[arg-type]
]  # fmt: skip


def test_combinations_are_told_apart_where_engines_do() -> None:
    """Where they are equal and of the same types."""
    for a in VALUES:
        for b in VALUES:
            alike = combinations.lanes(a) == combinations.lanes(b)
            assert alike == (a is b or (a == b and same(a, b))), (a, b)


# ---- fewer properties than the factory's


def narrowed(system: System, *names: str) -> System:
    return replace(system, properties=tuple(one for one in system.properties if one.name in names))


@pytest.mark.parametrize("only", ["no-return", "commits"])
def test_workers_judge_what_the_driver_judges(only: str) -> None:
    """One property after all of them, in processes that are warm."""
    run(toys.two_phase())
    system = narrowed(toys.two_phase(), only)
    assert run(system).answer == reference.explore(system).answer


def test_workers_find_the_violation_that_the_driver_looks_for() -> None:
    for names in (("broken",), ("full", "up"), ("up", "broken", "ends")):
        system = narrowed(toys.broken("stutter"), *names)
        found, slow = run(system), reference.explore(system)
        assert (found.answer, found.violation) == (slow.answer, slow.violation)


def test_a_factory_that_gives_workers_other_properties_is_refused() -> None:
    extra = toys.prop("extra", toys.Kind.SAFETY, lambda a: True, "counter")
    with pytest.raises(NotRebuilt, match="gives workers other properties than the driver"):
        run(toys.counters(properties=(extra,)))


def test_a_worker_that_judged_all_its_properties_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (process, plain_round):
        monkeypatch.setattr(module, "rebuilt", lambda job: surroundings.built(job.ref))
    system = narrowed(toys.broken("stutter"), "broken")
    try:
        found = run(system)
    except IndexError:
        return
    assert found.violation != reference.explore(system).violation
