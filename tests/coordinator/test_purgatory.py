"""Parked operations: against a model that remembers everything, and with purgatories that lose or repeat."""

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from rota.coordinator import Purgatory, group

KEYS = st.sampled_from("abc")


class PurgatoryKeepsEachOnce(RuleBasedStateMachine):
    """The model holds all operations of a key that wait, as a list: a purgatory must never need a second."""

    make = Purgatory

    def __init__(self):
        super().__init__()
        self.purgatory = self.make()
        self.waiting = {}
        self.number = 0
        self.handed_out = []

    @rule(key=KEYS)
    def park(self, key):
        self.number += 1
        replaced = self.purgatory.park(key, self.number)
        waiting = self.waiting.setdefault(key, [])
        assert [replaced] == (waiting or [None])
        self.handed_out += waiting
        waiting[:] = [self.number]

    @rule(key=KEYS)
    def take(self, key):
        taken = self.purgatory.take(key)
        waiting = self.waiting.pop(key, [])
        assert [taken] == (waiting or [None])
        self.handed_out += waiting

    @rule()
    def take_all(self):
        assert self.purgatory.take_all() == {key: waiting[0] for key, waiting in self.waiting.items()}
        self.handed_out += [number for waiting in self.waiting.values() for number in waiting]
        self.waiting.clear()

    @invariant()
    def each_is_in_one_place(self):
        assert len(self.purgatory) == len(self.waiting)
        assert list(self.purgatory) == list(self.waiting)
        assert [key in self.purgatory for key in "abc"] == [key in self.waiting for key in "abc"]
        still = [number for waiting in self.waiting.values() for number in waiting]
        assert sorted(self.handed_out + still) == list(range(1, self.number + 1))


def run(make):
    machine = type("Machine", (PurgatoryKeepsEachOnce,), {"make": make})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100,
            stateful_step_count=20,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate],
        ),
    )


def test_every_operation_is_handed_out_exactly_once():
    run(Purgatory)


class KeepsWhatItHandsOut(Purgatory):
    def take(self, key):
        return self._parked.get(key)


class KeepsAllThatItHandsOut(Purgatory):
    def take_all(self):
        return dict(self._parked)


class KeepsTheFirst(Purgatory):
    def park(self, key, operation):
        return self._parked.setdefault(key, operation) if key in self else super().park(key, operation)


class LosesWhatIsReplaced(Purgatory):
    def park(self, key, operation):
        super().park(key, operation)


class LosesTheRest(Purgatory):
    def take(self, key):
        return self.take_all().get(key)


WRONG = [KeepsWhatItHandsOut, KeepsAllThatItHandsOut, KeepsTheFirst, LosesWhatIsReplaced, LosesTheRest]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_purgatory_that_loses_or_repeats_is_found(wrong):
    with pytest.raises(AssertionError):
        run(wrong)


def answers_of_a_dialogue(world):
    """How often each request is answered: a asks to join twice, c leaves while it waits, b syncs twice."""
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b)
    calls = [c.enter(), a.join(), a.join()]
    c.leave()
    calls += [b.join(), b.sync(), b.sync(), a.sync()]
    calls += [c.enter(), a.join(), b.join()]
    return [len(call.replies) for call in calls]


ANSWERS = [1, 0, 1, 1, 0, 1, 1, 1, 1, 1]


def test_the_core_answers_every_request_once_but_for_the_replaced(world):
    assert answers_of_a_dialogue(world) == ANSWERS


@pytest.mark.parametrize("wrong", [KeepsWhatItHandsOut, KeepsAllThatItHandsOut, KeepsTheFirst, LosesTheRest])
def test_the_core_with_a_wrong_purgatory_is_found(world, monkeypatch, wrong):
    monkeypatch.setattr(group.Group, "__init__", with_purgatories(group.Group.__init__, wrong))
    with pytest.raises((AssertionError, KeyError)):
        assert answers_of_a_dialogue(world) == ANSWERS


def with_purgatories(original, make):
    def init(self, *arguments, **fields):
        original(self, *arguments, **fields | {"parked_joins": make(), "parked_syncs": make()})

    return init
