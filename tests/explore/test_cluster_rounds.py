"""The Spark engine's rounds without Spark: tasks run here, forgetful, repeated and lost as the test wants."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import toys

from harness.spark_here import Context
from harness.thinned import but, some
from rota.explore import reference
from rota.explore.compiled import packing
from rota.explore.result import Limits, Verdict
from rota.explore.spark import archive, exchange, session
from rota.explore.spark import engine as spark
from rota.explore.spark.answers import ExecutorsLost
from rota.explore.spark.exchange import Incomplete
from rota.explore.spark.protocol import Job
from rota.explore.spark.worker import plain_round, plain_tables, round, surroundings, visited
from rota.explore.spark.worker.numbers import Numbers
from rota.explore.tables import machines
from rota.explore.tables.system import EngineError
from rota.kernel import Outcome, System, SystemRef, UserError

ELSEWHERE = "spark://elsewhere"
"""A master whose executors may be lost."""

SMALL = 1 << 20
"""Memory that nothing has to be put aside for, and is quickly allotted."""

SOME = ["two-phase", "channel", "scatter", "broken-step"]
LARGE = ["two-phase", "channel"]
"""Those of them that take longest."""


@pytest.fixture(autouse=True)
def _new_process() -> None:
    round._WORKERS.clear()
    plain_round._WORKERS.clear()


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers have no numba."""
    monkeypatch.setattr(
        spark, "look_at", lambda context, say: session.Cluster(False, not session.is_local(context.master))
    )


def agree(
    system: System,
    context: Context | None = None,
    limits: Limits | None = None,
    partitions: int | None = None,
    local_levels: int = 1,
) -> bool:
    """Whether the answer is the reference's: all of it, or what several local levels leave known."""
    limits = replace(limits or Limits(), memory=(limits and limits.memory) or SMALL)
    slow = reference.explore(system, limits)
    fast = spark.explore(
        system,
        limits,
        context=context or Context(),
        partitions=partitions,
        local_levels=local_levels,
    )
    if local_levels == 1 or slow.violation:
        return slow.answer == fast.answer and slow.violation == fast.violation
    same = ("verdict", "distinct", "generated", "digest", "rules_fired")
    return all(getattr(slow, name) == getattr(fast, name) for name in same)


# ---- agreement


@pytest.mark.parametrize("name", toys.ALL)
def test_rounds_agree_with_the_reference(name: str) -> None:
    assert agree(toys.ALL[name]())


@pytest.mark.parametrize("name", SOME)
def test_rounds_by_files_agree_with_the_reference(name: str, tmp_path: Path) -> None:
    assert agree(toys.ALL[name](), limits=Limits(checkpoint=tmp_path))


@pytest.mark.parametrize("name", but(LARGE, SOME))
def test_processes_that_remember_nothing_tasks_that_run_twice(name: str) -> None:
    assert agree(toys.ALL[name](), Context(forget=True, tries=2, master=ELSEWHERE))


@pytest.mark.parametrize("partitions", [1, 2, 5, 7])
def test_any_number_of_partitions(partitions: int) -> None:
    assert agree(toys.two_phase(), partitions=partitions)


@pytest.mark.parametrize("name", but(LARGE, [*SOME, "broken-safety", "deadlock"]))
def test_several_local_levels_visit_the_same_states(name: str, tmp_path: Path) -> None:
    assert agree(toys.ALL[name](), Context(forget=True, tries=2), local_levels=3)
    assert agree(toys.ALL[name](), limits=Limits(checkpoint=tmp_path), local_levels=3, partitions=2)


def test_several_local_levels_do_not_claim_depths_that_they_do_not_know() -> None:
    slow = reference.explore(toys.two_phase())
    fast = spark.explore(toys.two_phase(), context=Context(), partitions=1, local_levels=3)
    assert fast.stats["rounds"] == len(fast.histogram) < len(slow.histogram)
    assert fast.depth >= slow.depth
    for ours, theirs in zip(fast.properties, slow.properties, strict=True):
        assert (ours.depth is None) == (theirs.depth is None)
        assert (ours.depth or 0) >= (theirs.depth or 0)


@pytest.mark.usefixtures("no_numba")
def test_a_violation_found_out_of_order_is_looked_for_anew_without_a_bound() -> None:
    said: list[str] = []
    limits = Limits(max_states=1, memory=SMALL)
    system = toys.broken("shape")
    result = spark.explore(system, limits, context=Context(), partitions=1, local_levels=9, say=said.append)
    assert result.violation == reference.explore(system).violation
    assert said == ["violated; looking for a shortest run in rounds of one level, without a bound"]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words have so few bits that states soon need another layout, of more words."""
    monkeypatch.setattr(packing, "WORD_BITS", 7)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("name", but(["channel", "scatter"], ["die-hard-9", "channel", "scatter"]))
def test_states_are_packed_anew(name: str) -> None:
    assert agree(toys.ALL[name](), Context(forget=True))
    assert agree(toys.ALL[name](), Context(tries=2), local_levels=3)


@pytest.mark.usefixtures("narrow")
@pytest.mark.long
def test_states_are_put_aside_and_packed_anew_where_memory_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    done: dict[str, int] = {"aside": 0, "anew": 0}

    def counted(what: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            done[what] += 1
            return original(*given)

        return call

    monkeypatch.setattr(visited.Absorber, "_put_aside", counted("aside", visited.Absorber._put_aside))
    monkeypatch.setattr(round._Round, "_packed_anew", counted("anew", round._Round._packed_anew))
    assert agree(toys.counters(3, 9), Context(forget=True), Limits(memory=1 << 12), partitions=2)
    assert done["aside"] > 0
    assert done["anew"] > 0


@pytest.mark.parametrize("most", [0, 30, 287, 288])
def test_limits_stop_after_the_same_level(most: int) -> None:
    assert agree(toys.two_phase(), limits=Limits(max_states=most))


@pytest.mark.parametrize("most", [0, 3, 100])
def test_a_bound_ends_it_after_the_same_level(most: int) -> None:
    assert agree(toys.two_phase(), limits=Limits(bound=lambda: most))


def test_progress_is_that_of_the_reference() -> None:
    seen: list[list[Any]] = []
    for explore in (reference.explore, lambda *a, **k: spark.explore(*a, context=Context(), **k)):
        calls: list[Any] = []
        explore(toys.ring(), progress=lambda *a, calls=calls: calls.append(a[:4]))
        seen.append(calls)
    assert seen[0] == seen[1]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'a'},{tmp_path / 'b'}")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    used: list[Path] = []
    place = surroundings.place
    monkeypatch.setattr(round, "place", lambda *given: used.append(place(*given)) or used[-1])
    assert agree(toys.channel())
    assert {path.parent.parent.name for path in used} == {"a", "b"}
    assert not [*tmp_path.glob("*/*")]


def test_executors_of_one_host_share_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(SystemRef("toys:ring"), (), "run", 2, (), None, SMALL)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/a/spark/executor-1/blockmgr-1,/b/spark/executor-1/blockmgr-2")
    first = [surroundings.place(job, number) for number in range(2)]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/a/spark/executor-2/blockmgr-3,/b/spark/executor-2/blockmgr-4")
    assert [surroundings.place(job, number) for number in range(2)] == first
    assert first == [Path("/a/spark/rota-run/partition-0000"), Path("/b/spark/rota-run/partition-0001")]


# ---- plain Python


@pytest.mark.usefixtures("no_numba")
@pytest.mark.parametrize("name", some(toys.ALL, always=("broken-step", "deadlock")))
def test_plain_rounds_agree_with_the_reference(name: str, tmp_path: Path) -> None:
    system = toys.ALL[name]()
    assert agree(system)
    assert agree(system, Context(forget=True, tries=2, master=ELSEWHERE), partitions=5)
    assert agree(system, limits=Limits(checkpoint=tmp_path), local_levels=3)


@pytest.mark.usefixtures("no_numba")
def test_plain_rounds_notice_values_that_only_seem_equal() -> None:
    with pytest.raises(UserError, match=r"equals .* and has other types within"):
        spark.explore(toys.ambiguous(), context=Context())


BARE = """
import sys
sys.path[:0] = sys.argv[1:3]
from rota.explore.spark import exchange, protocol, tasks
from rota.kernel import SystemRef
from pathlib import Path

judged = "consistent", "phases", "no-return", "commits"
job = protocol.Job(SystemRef("toys:two_phase"), judged, "bare", 3, (), sys.argv[3], 0, compiled=False)
parts, inboxes, counted, digest = (protocol.Part(),) * 3, [[]] * 3, [], 0
while not counted or counted[-1]:
    order = protocol.Order(len(counted), parts, None, (), frozenset())
    answers, sent = [], [[] for _ in range(3)]
    for partition in range(3):
        for to, content in tasks.run_round(job, order, partition, inboxes[partition]):
            answers.append(content) if to == 3 else sent[to].append(content)
    parts, inboxes = tuple(answer.part for answer in answers), sent
    counted.append(sum(answer.states for answer in answers))
    digest += sum(answer.digest for answer in answers)
assert not {"numpy", "numba"} & set(sys.modules)
print(sum(counted), f"{digest % 2**128:032x}")
"""


def test_a_workers_side_needs_no_packages(tmp_path: Path) -> None:
    """Not even to be imported: the interpreter has none, rota comes from the archive alone."""
    given = [archive.write(tmp_path / "rota.zip"), Path(toys.__file__).parent, tmp_path]
    command = [sys.executable, "-S", "-E", "-c", BARE, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["288", reference.explore(toys.two_phase()).digest], done.stderr


@pytest.mark.usefixtures("no_numba")
@pytest.mark.parametrize(
    ("whose", "method", "instead"),
    [
        (plain_round._Round, "_visited", lambda original: lambda self: set()),
        (plain_round._Round, "_owner", lambda original: lambda self, key: 0 if key[0] else 1),
        (plain_tables.Check, "holds", lambda original: lambda self, key: True),
        (
            plain_tables.Values,
            "pack",
            lambda original: lambda self, keys: original(self, list(keys)[:-1] or keys),
        ),
    ],
    ids=["nothing is known", "who owns a state depends on the process", "all holds", "a state is lost"],
)
def test_bugs_in_plain_rounds_are_found(
    whose: Any, method: str, instead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whose, method, instead(getattr(whose, method)))
    assert not agree_at_all(toys.broken("safety")) or not agree_at_all(toys.die_hard(9))


def agree_at_all(system: System) -> bool:
    """`agree`, where an error or rounds without end are no agreement either."""
    most = reference.explore(system).distinct
    try:
        return agree(system, Context(forget=True), Limits(max_states=most))
    except Exception:
        return False


# ---- bugs that are planted


def _forgotten(original: Any) -> Any:
    """Known runs are not subtracted."""
    return lambda folder, words, known, memory: original(folder, words, (), memory)


def _dropped(original: Any) -> Any:
    """What is left in boxes at the end stays there."""
    return lambda self: iter(())


def _not_again(original: Any) -> Any:
    """States that missed something are not tried again."""

    def settle(self: Any) -> None:
        self.room.counts[2] = 0
        original(self)

    return settle


def _mine(original: Any) -> Any:
    """States go to their owner, then again to another partition."""
    outcomes = count()

    def route(self: Any, keys: Any, partitions: int, machines: Any) -> Any:
        parts = original(self, keys, partitions, machines)
        return [*parts[1:], parts[0]] if parts and next(outcomes) % 2 else parts

    return route


def _kept_as_it_is(original: Any) -> Any:
    """Runs are not packed anew when the layout is another one."""
    return lambda self: None


BUGS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "known runs are not subtracted": (round, "Absorber", _forgotten),
    "boxes are not emptied at the end": (round._Round, "_flushed", _dropped),
    "states are not tried again": (round.Expansion, "settle", _not_again),
    "states are sent to somebody else": (Numbers, "route", _mine),
    "runs are not packed anew": (round._Round, "_fit_runs", _kept_as_it_is),
}


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("bug", BUGS)
def test_bugs_in_rounds_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whose, name, instead = BUGS[bug]
    monkeypatch.setattr(whose, name, instead(getattr(whose, name)))
    assert not (agree_at_all(toys.die_hard(9)) and agree_at_all(toys.channel()))


def test_the_sample_is_checked_in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    enter = machines.Learned._enter
    monkeypatch.setattr(
        machines.Learned, "_enter", lambda self, table, outcomes: enter(self, table, list(outcomes)[:1])
    )
    with pytest.raises(EngineError):
        spark.explore(toys.channel(), context=Context(forget=True))


# ---- what is lost


class Losing(Context):
    """Executors that are lost, with the files of some partitions, before a task of some round begins."""

    def __init__(self, when: set[int]) -> None:
        super().__init__(forget=True, master=ELSEWHERE)
        self.when, self.jobs = when, 0
        self.folder = Path()

    def runJob(self, *given: Any) -> list[Any]:
        self.jobs += 1
        if self.jobs in self.when:
            for path in self.folder.glob("rota-*/partition-000[12]/*"):
                path.unlink()
        return super().runJob(*given)


@pytest.fixture
def losing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[set[int]], Losing]]:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))

    def make(when: set[int]) -> Losing:
        context = Losing(when)
        context.folder = tmp_path
        return context

    return make


@pytest.mark.parametrize("compiled", [True, False])
def test_what_executors_had_is_restored_from_copies(
    compiled: bool, losing: Callable[[set[int]], Losing], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = session.Cluster(compiled, True)
    monkeypatch.setattr(spark, "look_at", lambda context, say: cluster)
    slow = reference.explore(toys.two_phase())
    fast = spark.explore(toys.two_phase(), Limits(memory=SMALL), context=losing({2, 5, 6, 9}))
    assert slow.answer == fast.answer
    assert fast.stats["rounds_repeated"] == (4 if compiled else 3)  # a set in memory is not missed at once


def test_executors_that_are_lost_again_and_again_are_told(losing: Callable[[set[int]], Losing]) -> None:
    with pytest.raises(ExecutorsLost, match="5 times in one round; name a --checkpoint DIR"):
        spark.explore(toys.two_phase(), Limits(memory=SMALL), context=losing(set(range(4, 99))))


def test_what_is_lost_while_a_trace_is_looked_for_is_restored(
    losing: Callable[[set[int]], Losing], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, asked = exchange.Shuffle.asked, []

    def lost(self: Any, task: Any) -> Any:
        asked.append(task)
        if len(asked) == 2:
            for path in tmp_path.glob("rota-*/*/*"):
                path.unlink()
        return before(self, task)

    monkeypatch.setattr(exchange.Shuffle, "asked", lost)
    system = toys.broken("safety")
    fast = spark.explore(system, Limits(memory=SMALL), context=losing(set()))
    assert fast.violation == reference.explore(system).violation
    assert fast.stats["rounds_repeated"] == 1


def test_a_block_that_does_not_arrive_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = exchange._counted

    def lossy(*given: Any) -> Any:
        dropped = False
        for to, content in original(*given):
            if not dropped and isinstance(content, bytes) and to < 3:
                dropped = True
                continue
            yield to, content

    monkeypatch.setattr(exchange, "_counted", lossy)
    with pytest.raises(Incomplete, match="senders"):
        spark.explore(toys.channel(), Limits(memory=SMALL), context=Context())


# ---- what is refused


def test_errors_of_machines_come_back_as_they_are() -> None:
    with pytest.raises(UserError):
        spark.explore(toys.ambiguous(), context=Context())


def test_a_system_without_ref_is_refused() -> None:
    with pytest.raises(spark.NotShippable, match="give it a SystemRef"):
        spark.explore(
            System("loose", (toys.Toy("m", "m", (0,), lambda value: [Outcome(0)]),)), context=Context()
        )


def test_a_factory_that_workers_cannot_import_is_named() -> None:
    lost = replace(toys.ring(), ref=SystemRef("elsewhere:ring"))
    with pytest.raises(
        surroundings.NotRebuilt, match=r"cannot build elsewhere:ring \(No module named 'elsewhere'\)"
    ):
        spark.explore(lost, context=Context())


@pytest.mark.parametrize("what", ["symmetry", "fingerprints"])
def test_limits_of_other_engines_are_refused(what: str) -> None:
    with pytest.raises(spark.NotSupported, match=f"engine spark has no {what}"):
        spark.explore(toys.ring(), Limits(**{what: True}), context=Context())


def test_copies_of_tasks_are_refused_where_their_files_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "settings", {"spark.speculation": "true"})
    with pytest.raises(spark.NotSupported, match="name a --checkpoint DIR"):
        spark.explore(toys.ring(), context=Context(master=ELSEWHERE))
    assert agree(toys.ring(), Context(tries=2))
    assert agree(toys.ring(), Context(tries=2, master=ELSEWHERE), Limits(checkpoint=tmp_path))


def test_a_system_that_ends_at_once() -> None:
    assert reference.explore(toys.broken("initial")).verdict is Verdict.VIOLATED
    assert agree(toys.broken("initial"), partitions=7)
