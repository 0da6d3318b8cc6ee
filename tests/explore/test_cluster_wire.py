"""States, values and learned entries between processes that number values otherwise."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import toys

from rota.environment.world import world
from rota.explore.compiled.packing import Layout
from rota.explore.fast import numpy_search
from rota.explore.spark.facts import NEXT, Facts
from rota.explore.spark.registry import Delta, News, Registry
from rota.explore.spark.spread import owners_of
from rota.explore.spark.values import Reader
from rota.explore.spark.worker.memo import recalling
from rota.explore.spark.worker.numbers import BlockDamaged, Numbers, spread
from rota.explore.tables.system import EngineError, Expanded, Tables
from rota.invariants.catalog import classic
from rota.kernel import Outcome, System, UserError
from rota.scopes import load

EVERY = 10**6
"""More partitions than states, so that two states rarely share one."""


class Process:
    """What a worker process has: tables, numbers; memory, if the system recalls.

    readers: of all processes, by system; what they know of types the driver would tell the others.
    """

    readers: ClassVar[dict[str, list[Reader]]] = {}

    def __init__(self, system: System, deltas: Sequence[Any] = ()) -> None:
        self.memory: Any = getattr(system, "memory", None)
        self.tables = Tables(system)
        self.numbers = Numbers(self.tables)
        self.peers = self.readers.setdefault(system.name, [])
        self.peers.append(self.numbers.reader)
        self.sync(deltas)

    def sync(self, deltas: Sequence[Any]) -> None:
        self.numbers.sync(deltas, frozenset().union(*(reader.kinds for reader in self.peers)))
        self.numbers.begin()

    def keys(self, states: Sequence[Any]) -> Any:
        rows = [self.tables.learned.intern_state(state) for state in states]
        self.numbers.fit()
        return self.numbers.local_layout.pack(np.array(rows, np.int32))

    def states(self, keys: Any) -> list[Any]:
        rows = self.numbers.local_layout.unpack(keys, self.tables.learned.width)
        return [self.tables.learned.state(row) for row in rows]

    def block(self, states: Sequence[Any]) -> bytes:
        """A block of states, in an outcome in which nothing else is on its way."""
        keys = self.keys(states)
        wire = self.numbers.to_wire(keys)
        if wire is None:
            wire = self.numbers.to_wire(keys)
        return self.numbers.block(wire)

    def taken(self, block: bytes) -> list[Any]:
        layout = Layout(self.numbers.counts)
        return self.states(self.numbers.to_local(self.numbers.read(block, layout), layout))


def idle(machines: int) -> System:
    """Machines that hold any value and never move."""
    return System("idle", tuple(toys.Toy(f"idle/{i}", "idle", (0,)) for i in range(machines)))


def some_states(machines: int, count: int, values: int = 400, seed: int = 1) -> list[Any]:
    """Different states with many values, each in an order of its own."""
    drawn = random.Random(seed)
    return [tuple((drawn.randrange(values), "of", i) for i in range(machines)) for _ in range(count)]


SIZES = pytest.mark.parametrize(("machines", "words"), [(3, 1), (12, 2)])


# ---- states


@SIZES
def test_states_arrive_in_a_process_that_numbers_otherwise(machines: int, words: int) -> None:
    system, states = idle(machines), some_states(machines, 500)
    here, there = Process(system), Process(system)
    there.keys(states[250::-1])
    registry = Registry(machines)
    block = here.block(states)
    assert here.numbers.wire_layout.words == words
    delta = registry.merge([here.numbers.news()])
    there.sync([delta])
    assert there.taken(block) == states
    here.sync([delta])
    assert here.taken(block) == states
    # In the next round nothing is provisional, and the same states are the same bytes from both.
    assert here.block(states) == there.block(states)
    assert here.taken(there.block(states)) == states
    assert not any(here.numbers.news().values)


@SIZES
def test_states_that_two_found_are_one_to_a_third(machines: int, words: int) -> None:
    system, states = idle(machines), some_states(machines, 300)
    one, two, reader = (Process(system) for _ in range(3))
    first, second = one.block(states[:200]), two.block(states[:99:-1])
    registry = Registry(machines)
    reader.sync([registry.merge([one.numbers.news(), two.numbers.news()])])
    layout = Layout(registry.counts)
    read = [reader.numbers.read(block, layout) for block in (first, second)]
    assert len(np.unique(np.concatenate(read), axis=0)) == 300
    assert reader.taken(second) == states[:99:-1]
    assert layout.words == words


def test_a_task_that_ran_twice_may_number_otherwise() -> None:
    system, states = idle(4), some_states(4, 100)
    before = Registry(4)
    known = before.merge([_news(Process(system), states[:10])])
    counted, other = Process(system, [known]), Process(system, [known])
    counted.block(states)
    again = other.block(states[::-1])
    deltas = [known, before.merge([counted.numbers.news()])]
    reader = Process(system, deltas)
    assert reader.taken(again) == states[::-1]
    # And once more in the same process: what it gave the first time is forgotten.
    other.numbers.begin()
    assert not any(other.numbers.news().values)
    assert reader.taken(other.block(states[50:])) == states[50:]


def _news(process: Process, states: Sequence[Any]) -> News:
    process.block(states)
    return process.numbers.news()


def test_a_layout_that_is_outgrown_is_announced_before() -> None:
    states = some_states(12, 300)
    system, registry = idle(12), Registry(12)
    known = registry.merge([_news(Process(system), states[:5])])
    process = Process(system, [known])
    numbers = process.numbers
    numbers._noted = numbers._noted[:7]  # so that it takes many passes until all is known
    few = numbers.route(process.keys(states[:20]), 1, ())
    layout = numbers.wire_layout
    many = process.keys(states)
    assert few is not None
    assert numbers.route(many, 1, ()) is None
    assert numbers.wire_layout is layout
    blocks = [numbers.block(few[0])]
    rest = numbers.route(many, 1, ())
    assert rest is not None
    assert numbers.wire_layout.words > layout.words
    blocks.append(numbers.block(rest[0]))
    reader = Process(system, [known, registry.merge([numbers.news()])])
    assert [reader.taken(block) for block in blocks] == [states[:20], states]


def test_owners_are_the_same_in_every_process() -> None:
    states = some_states(5, 400)
    one, two = Process(idle(5)), Process(idle(5))
    two.keys(states[::-1])
    for machines in ((2,), (0, 1, 2, 3, 4)):
        owners = one.numbers.owners(one.keys(states), 7, machines)
        assert set(owners.tolist()) == set(range(7))
        assert (owners == two.numbers.owners(two.keys(states), 7, machines)).all()
        rows = two.numbers.local_layout.unpack(two.keys(states), two.tables.learned.width)
        assert (owners == owners_of(two.tables, rows, 7, machines)).all()
        parts = one.numbers.route(one.keys(states), 7, machines) or []
        whole = one.numbers.to_wire(one.keys(states))
        assert whole is not None
        assert [part.tolist() for part in parts] == [whole[owners == i].tolist() for i in range(7)]
    # One machine decides alone: what the others hold does not matter.
    moved = [(*state[:2], states[0][2], *state[3:]) for state in states]
    assert len(set(one.numbers.owners(one.keys(moved), EVERY, (2,)).tolist())) == 1
    assert len(set(one.numbers.owners(one.keys(moved), EVERY, (0, 1, 2, 3, 4)).tolist())) > 390


def test_a_value_that_was_found_here_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    states = some_states(3, 50)
    here, there = Process(idle(3)), Process(idle(3))
    block = here.block(states)
    delta = Registry(3).merge([here.numbers.news()])
    loaded: list[bytes] = []
    read = Reader.value
    monkeypatch.setattr(Reader, "value", lambda self, raw: loaded.append(raw) or read(self, raw))
    here.sync([delta])
    assert here.taken(block) == states
    assert not loaded
    there.sync([delta])
    assert not loaded
    assert there.taken(block) == states
    assert len(loaded) == sum(there.numbers.counts)


def test_a_number_that_was_not_given_is_an_error() -> None:
    process = Process(idle(2), [Registry(2).merge([_news(Process(idle(2)), [(1, 2), (3, 4)])])])
    layout = Layout([4, 4])
    assert process.states(process.numbers.to_local(layout.pack(np.array([[1, 0]])), layout)) == [(3, 2)]
    with pytest.raises(ValueError, match="does not exist"):
        process.numbers.to_local(layout.pack(np.array([[2, 0]])), layout)


def test_a_value_that_could_not_be_had_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Process(idle(2)), Process(idle(2))
    block = here.block([(1, 2), (3, 4)])
    there.sync([Registry(2).merge([here.numbers.news()])])
    with monkeypatch.context() as broken:
        broken.setattr(Reader, "value", lambda self, raw: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            there.taken(block)
    assert there.taken(block) == [(1, 2), (3, 4)]


# ---- blocks


def test_damage_is_noticed_wherever_it_is() -> None:
    process = Process(idle(2))
    block = process.block([(1, 2), (3, 4)])
    process.sync([Registry(2).merge([process.numbers.news()])])
    assert process.taken(block) == [(1, 2), (3, 4)]
    for at in range(len(block)):
        hurt = bytearray(block)
        hurt[at] ^= 4
        with pytest.raises(BlockDamaged):
            process.taken(bytes(hurt))
    for end in range(0, len(block), 3):
        with pytest.raises(BlockDamaged):
            process.taken(block[:end])


def test_a_block_of_values_that_nobody_numbered_is_not_read() -> None:
    process = Process(idle(2))
    block = process.block([(1, 2)])
    with pytest.raises(BlockDamaged, match="not numbered"):
        process.taken(block)
    registry = Registry(2)
    process.sync([registry.merge([process.numbers.news()])])
    with pytest.raises(BlockDamaged, match="version 1 for a process that has 0"):
        Process(idle(2)).taken(process.block([(1, 2)]))


def test_a_block_without_states_is_one() -> None:
    process = Process(idle(2))
    assert process.taken(process.numbers.block(np.zeros((0, 1), np.uint64))) == []


def test_what_says_all_in_global_numbers_is_not_copied() -> None:
    system = idle(2)
    delta = Registry(2).merge([_news(Process(system), [(1, 2), (3, 4)])])
    process = Process(system, [delta])
    block = process.block([(3, 2)])
    read = process.numbers.read(block, Layout(process.numbers.counts))
    assert np.shares_memory(read, np.frombuffer(block, np.uint8))


# ---- the registry


def rounds() -> list[list[News]]:
    """Two rounds of news of three processes that find much in common."""
    processes, registry = [Process(idle(3)) for _ in range(3)], Registry(3)
    out, deltas = [], []
    for seed in (1, 2):
        states = some_states(3, 60, 100, seed)
        out.append([_news(process, states[i : 30 + i]) for i, process in enumerate(processes)])
        deltas.append(registry.merge(out[-1]))
        for process in processes:
            process.sync(deltas)
    return out


def test_numbers_follow_the_order_of_news_and_repeats_change_nothing() -> None:
    first, second = rounds()
    plain, noisy = Registry(3), Registry(3)
    deltas = [plain.merge(first), plain.merge(second)]
    assert [noisy.merge([*first, first[0]]), noisy.merge([second[0], first[1], *second])] == deltas
    assert noisy.merge([*second, *first]) is None
    assert noisy.version == 2
    assert noisy.counts == [len(one) for one in _sums(deltas)]
    assert all(len(set(one)) == len(one) for one in _sums(deltas))


def _sums(deltas: Sequence[Delta | None]) -> list[list[bytes]]:
    """Per machine, the digests in the order of their numbers."""
    return [[digest for delta in deltas if delta for digest, _ in delta.values[i]] for i in range(3)]


def test_a_registry_goes_on_from_saved_deltas() -> None:
    first, second = rounds()
    whole = Registry(3)
    delta = whole.merge(first)
    assert delta is not None
    resumed = Registry(3, [delta])
    assert (resumed.version, resumed.counts) == (1, whole.counts)
    assert resumed.merge(first) is None
    assert resumed.merge(second) == whole.merge(second)
    with pytest.raises(ValueError, match="version 1 cannot follow version 1"):
        Registry(3, [delta, delta])
    with pytest.raises(ValueError, match="news of version 1, and there are 0"):
        Registry(3).merge(second)


def test_only_deltas_that_are_new_are_fetched() -> None:
    fetched: list[int] = []

    class Broadcast:
        def __init__(self, delta: Delta | None) -> None:
            self.delta = delta

        @property
        def value(self) -> Any:
            assert self.delta is not None
            fetched.append(self.delta.version)
            return self.delta

    first, second = rounds()
    registry = Registry(3)
    sent = [Broadcast(registry.merge(first)), Broadcast(registry.merge(second))]
    process = Process(idle(3), sent[:1])
    process.sync(sent)
    process.sync(sent)
    assert fetched == [1, 2]
    assert process.numbers.counts == registry.counts
    with pytest.raises(ValueError, match="in the place of version 1 makes version 2"):
        Process(idle(3), sent[1:])


# ---- learned entries


def core() -> System:
    settings = next(one.settings for one in load("tiny").configurations if one.name == "core")
    return world(classic(settings), **settings)


@pytest.mark.parametrize("make", [*toys.ALL.values(), core], ids=[*toys.ALL, "core"])
def test_what_others_learned_is_recalled_with_the_same_result(make: Callable[[], System]) -> None:
    system = make()
    one, two = Process(recalling(system)), Process(recalling(system))
    expected = numpy_search.explore(system)
    first = numpy_search.explore(one.tables.system, tables=one.tables)
    delta = Registry(len(system.machines)).merge([one.numbers.news()])
    two.sync([delta])
    second = numpy_search.explore(two.tables.system, tables=two.tables)
    assert first.answer == second.answer == expected.answer
    assert first.violation == second.violation == expected.violation
    assert one.memory.computed == one.tables.learned.effort.calls > 0
    assert two.memory.computed == 0
    assert two.numbers.news().facts == b""
    assert not one.numbers.news().facts  # what was told is not told again


def test_facts_that_two_found_are_kept_once() -> None:
    system, registry = toys.channel(), Registry(3)
    news = []
    for backwards in (False, True):
        process = Process(recalling(system))
        if backwards:  # the same facts in other numbers
            process.keys([transition.target for transition in system.successors(system.initial_states()[0])])
        numpy_search.explore(process.tables.system, tables=process.tables)
        news.append(process.numbers.news())
    assert news[0].facts != news[1].facts
    delta = registry.merge(news)
    assert delta is not None
    facts = Facts.from_bytes(delta.facts)
    assert len(facts.keys) == len(Facts.from_bytes(news[0].facts).keys)
    assert len(np.unique(facts.codes())) == len(facts.keys)
    assert registry.merge(news) is None
    assert Registry(3, [delta]).merge(news[1:]) is None


def test_facts_are_shared_before_all_is_known() -> None:
    system, registry = toys.two_phase(), Registry(5)
    one, two = Process(recalling(system)), Process(recalling(system))
    start = one.keys(system.initial_states())
    one.tables.expand(one.numbers.local_layout.unpack(start, one.tables.learned.width), Expanded())
    deltas = [registry.merge([one.numbers.news()])]
    two.sync(deltas)
    numpy_search.explore(two.tables.system, tables=two.tables)
    memory = two.memory
    assert memory.recalled == one.tables.learned.effort.calls > 0
    assert memory.recalled + memory.computed == two.tables.learned.effort.calls
    deltas.append(registry.merge([two.numbers.news()]))
    three = Process(recalling(system), deltas)
    numpy_search.explore(three.tables.system, tables=three.tables)
    assert three.memory.computed == 0


def test_a_wrong_fact_is_noticed_by_the_sample() -> None:
    system = replace(toys.counters(), properties=())
    one = Process(recalling(system))
    numpy_search.explore(one.tables.system, tables=one.tables)
    news = one.numbers.news()
    facts = Facts.from_bytes(news.facts)
    outcomes = facts.outcomes.copy()
    outcomes[outcomes[:, NEXT] == 1, NEXT] = 2
    wrong = News(news.version, news.values, replace(facts, outcomes=outcomes).to_bytes())
    two = Process(recalling(system), [Registry(3).merge([wrong])])
    with pytest.raises(EngineError):
        numpy_search.explore(two.tables.system, tables=two.tables)


def test_an_answer_that_is_refused_is_no_fact() -> None:
    lies = System("lies", (toys.Toy("liar", "liar", (0,), lambda value: [Outcome(1)] if not value else [1]),))
    process = Process(recalling(lies))
    with pytest.raises(UserError):
        numpy_search.explore(process.tables.system, tables=process.tables)
    assert len(Facts.from_bytes(process.numbers.news().facts).keys) == 1


def test_an_answer_that_nobody_learned_is_no_fact() -> None:
    system = toys.counters()
    one, two = Process(recalling(system)), Process(recalling(system))
    numpy_search.explore(one.tables.system, tables=one.tables)
    two.sync([Registry(3).merge([one.numbers.news()])])
    assert list(two.tables.system.machines[0].actions(2)) == system.machines[0].actions(2)
    numpy_search.explore(two.tables.system, tables=two.tables)
    assert not two.numbers.news().facts


# ---- who decides the owner


def test_the_machine_with_most_values_decides_alone_if_it_has_enough_and_spreads_well() -> None:
    states = [(i % 3, i % 200, i % 5) for i in range(1000)]
    process = Process(idle(3))
    rows = np.array([process.tables.learned.intern_state(state) for state in states], np.int32)
    assert spread(process.tables, rows, 4) == (1,)
    assert spread(process.tables, rows, 64) == (0, 1, 2)
    few = rows[:20]
    share = np.bincount(owners_of(process.tables, few, 4, (1,)).astype(int))
    assert share.max() <= 7  # even, and yet too few
    assert spread(process.tables, few, 4) == (0, 1, 2)
    lopsided = rows.copy()
    lopsided[200:, 1] = 0
    assert spread(process.tables, lopsided, 4) == (0, 1, 2)
    assert spread(process.tables, rows[:0], 4) == (0, 1, 2)
