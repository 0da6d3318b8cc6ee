"""The coordinator core against the spec: arbitrary requests, timers and answers of the log."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from oracle import pin
from oracle.pin import Kept
from rota.coordinator import (
    MENDED,
    GroupCoordinator,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    SyncGroup,
    TimerId,
)
from rota.mutants.core import core_bugs, planted
from rota.oracle import Ask, Divergence, Due, Lockstep, Logged, Moved, Resigned, minimised, replay
from rota.oracle import walk as walks
from rota.oracle.hunt import hunt
from rota.spec.vocabulary import AppendError

JOIN = JoinGroup("g", 10_000, 10_000, "", None, "consumer", (JoinGroupProtocol("range", b"m"),))


def test_the_core_does_what_the_spec_allows(walk, capsys):
    """Thousands of steps without a divergence; every rule takes part, those that only decide too."""
    with capsys.disabled():
        print(
            f" lockstep: {walk.inputs:,} steps, {len(walk.rules)} of {len(walks.judged())} rules, "
            f"{len(walk.visited)} (rule, state) pairs"
        )
    assert walk.found is None, walk.found
    assert walks.judged() - walk.rules == set()


def test_every_pinned_pair_of_rule_and_state_is_reached(walk):
    """A pair that is gone is a part of the spec that the coordinator is not compared with any more."""
    gone = pin.pinned() - walk.visited
    assert not gone, f"not reached any more: {sorted(gone)}; if that is meant: python tests/oracle/pin.py"
    new = walk.visited - pin.pinned()
    assert not new, f"reached for the first time: {sorted(new)}; pin them: python tests/oracle/pin.py"


@pytest.mark.long
def test_the_run_is_the_same_every_time():
    """Also where sets are gone through in another order."""
    program = "from rota.oracle.walk import walk; print(repr(walk(40).examples))"
    runs = [
        subprocess.run(
            (sys.executable, "-c", program),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0]) > 10_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("kept", "made"),
    [
        (Kept.MEMBERS, pin.pinned_walk),
        (Kept.MENDED, lambda: pin.pinned_walk(MENDED)),
        (Kept.EVERYTHING, pin.whole_walk),
    ],
)
def test_the_machine_makes_the_examples_that_are_kept(kept, made):
    assert kept.examples() == made().examples, "if that is meant: python tests/oracle/pin.py"


def test_what_diverges_ends_what_is_played():
    """As it ends the machine's walk."""
    with planted(core_bugs()["instance-id-unseen-in-sync"]):
        walk = Kept.MEMBERS.walk()
    assert walk.found is not None
    assert 1 < len(walk.examples) < len(Kept.MEMBERS.examples())


@pytest.mark.parametrize("name", ["lost-answer-starts-rebalance", "instance-id-unseen-in-sync"])
def test_playing_its_examples_is_as_good_as_running_the_machine(walk, name):
    """Hunts play recorded examples: a machine that meets the bug itself stops at the same one."""
    bug = core_bugs()[name]
    played = hunt(bug, walk.examples)
    with planted(bug):
        met = walks.walk(pin.EXAMPLES, pin.STEPS)
    assert played is not None
    assert played.examples == len(met.examples)
    assert list(played.inputs) == met.examples[-1]
    assert str(played.divergence) == str(met.found)


class Silent(GroupCoordinator):
    """Never answers a Heartbeat."""

    def heartbeat(self, request, version, token):
        return type(super().heartbeat(request, version, token))()


def test_another_core_can_be_judged():
    found = walks.walk(50, make=Silent).found
    assert found is not None
    assert "there is no answer to" in found.headline
    assert len(found.dialogue) <= 3


class Lockstepped:
    """A group of one member in CompletingRebalance, and what is needed to go on."""

    def __init__(self):
        self.lockstep = Lockstep()
        self.lockstep.ask(JOIN, 3)
        self.lockstep.do(Due(TimerId("initial_join", "g")))


def test_time_is_virtual_and_moves_to_the_timer_that_is_due():
    lockstep = Lockstepped().lockstep
    assert lockstep.now == 3_000
    assert {timer.name: due for timer, due in lockstep.followed.armed.items()} == {
        "session": 13_000,
        "sync": 13_000,
    }
    assert lockstep.do(Due(TimerId("session", "g", "m1")))
    assert lockstep.now == 13_000


def test_inputs_that_are_not_possible_are_left_out():
    lockstep = Lockstep()
    assert not lockstep.do(Due(TimerId("sync", "g")))
    assert not lockstep.do(Logged(0))
    assert lockstep.inputs == []


def test_the_log_answers_any_append():
    lockstep = Lockstepped().lockstep
    for share in (b"first", b"second"):
        lockstep.ask(SyncGroup("g", 1, "m1", None, "consumer", "range"), 5)
        assert share
    assert lockstep.appends == 3  # the group's creation is the first
    assert lockstep.do(Logged(2, AppendError.REQUEST_TIMED_OUT))
    assert lockstep.group.state.value == "PreparingRebalance"
    assert lockstep.appends == 2
    lockstep.answer_creations()
    assert lockstep.appends == 1


def test_another_coordinator_goes_on_with_what_the_log_has():
    lockstep = Lockstepped().lockstep
    lockstep.answer_creations()
    lockstep.ask(SyncGroup("g", 1, "m1", None, "consumer", "range"), 5)
    assert lockstep.do(Moved(1))
    assert (lockstep.group.state.value, lockstep.appends) == ("Empty", 0)
    lockstep.ask(JOIN, 3)
    lockstep.do(Due(TimerId("initial_join", "g")))
    lockstep.ask(SyncGroup("g", 1, "m3", None, "consumer", "range"), 5)
    assert lockstep.do(Logged(0))
    assert lockstep.do(Moved(1))
    assert (lockstep.group.state.value, list(lockstep.group.members)) == ("Stable", ["m3"])
    lockstep.ask(JOIN, 3)
    assert list(lockstep.group.members) == ["m3"]  # there is one place
    assert replay(lockstep.inputs) == (None, lockstep.inputs)
    assert lockstep.shadow.oracle.rules >= {"loading.load", "loading.unload", "join.group-max-size-reached"}


def test_a_coordinator_that_resigns_has_no_group_until_another_has_read_the_log():
    lockstep = Lockstepped().lockstep
    lockstep.answer_creations()
    lockstep.ask(SyncGroup("g", 1, "m1", None, "consumer", "range"), 5)
    assert lockstep.appends == 1
    assert lockstep.do(Resigned())
    assert (lockstep.group, lockstep.appends, lockstep.followed.armed) == (None, 0, {})
    assert lockstep.do(Moved(5))
    assert (lockstep.group.state.value, lockstep.group.generation_id) == ("Empty", 0)
    assert replay(lockstep.inputs) == (None, lockstep.inputs)


def test_a_group_that_was_never_stored_is_not_there_any_more():
    lockstep = Lockstepped().lockstep
    assert lockstep.do(Moved(5))
    assert (lockstep.group, lockstep.appends, lockstep.followed.armed) == (None, 0, {})


def test_a_replay_gives_the_generation_that_is_current_then():
    """Requests mean the same after others were left out: the generation is kept as a distance."""
    lockstep = Lockstepped().lockstep
    lockstep.ask(Heartbeat("g", 1, "m1"), 4)
    lockstep.ask(Heartbeat("g", 3, "m1"), 4)
    assert [one.ahead for one in lockstep.inputs if isinstance(one, Ask)] == [0, 0, 2]
    assert replay(lockstep.inputs) == (None, lockstep.inputs)
    assert lockstep.shadow.oracle.visited >= {
        ("heartbeat.alive", "CompletingRebalance"),
        ("heartbeat.illegal-generation", "CompletingRebalance"),
    }


def test_an_answer_to_nobody_is_noticed():
    """One that was answered before, and one whose request was replaced."""
    bug = core_bugs()["joins-answered-again"]
    inputs = [
        Ask(JOIN, 3, 1),
        Due(TimerId("initial_join", "g")),
        Due(TimerId("session", "g", "m1")),
        Ask(JOIN, 3, 2),
    ]
    with planted(bug):
        found, done = replay([*inputs, Due(TimerId("initial_join", "g"))])
    assert found is not None
    assert "parked" in str(found) or "does not wait" in str(found)
    assert len(done) <= 5


def test_counts_that_drift_are_noticed_before_they_show():
    class Forgetful(GroupCoordinator):
        def join_group(self, *inputs):
            effects = super().join_group(*inputs)
            for group in self.groups.values():
                group.supporters["range"] = 7
            return effects

    found, done = replay([Ask(JOIN, 3, 1)], Forgetful)
    assert found is not None
    assert found.headline.startswith("the counts of supporters are")
    assert len(done) == 1


def test_shortening_keeps_the_rule_that_is_broken():
    """Many steps about other things go; what is left breaks the same rule, with plain fields and names."""
    bug = core_bugs()["no-session-while-preparing"]
    odd = JoinGroup("g", 300_000, 20_000, "", None, "consumer", (JoinGroupProtocol("range", b"x"),))
    inputs = [Ask(Heartbeat("g", 0, "stranger"), 2, serial) for serial in range(1, 9)]
    inputs += [Ask(odd, 2, 9), Ask(Heartbeat("g", 0, "nobody"), 0, 10), Ask(Heartbeat("g", 0, "m9"), 3, 11)]
    with planted(bug):
        found, done = replay(inputs)
        assert found is not None
        shortest, end = minimised(done, found)
    plain = JoinGroup("g", 10_000, 10_000, "", None, "consumer", (JoinGroupProtocol("range"),))
    assert end.rule == found.rule == "heartbeat.rebalance-in-progress"
    assert shortest == [Ask(plain, 2, 1), Ask(Heartbeat("g", 0, "m1"), 4, 2)]


def test_a_divergence_stops_the_driver():
    with planted(core_bugs()["handshake-one-version-late"]), pytest.raises(Divergence):
        Lockstep().ask(JOIN, 4)
