"""Where a run and another system part: the first step that is not the same, and what is there instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ticket_office import Counter, office
from toys import ring

from harness.counterexamples import counterexample, run_of
from rota.explore.reference import explore
from rota.kernel import Outcome, System
from rota.mutants.registry import system
from rota.trace import Run, record, replay
from rota.trace.parting import parting, twin


def found(fault: str) -> Run:
    made = office(fault=fault)
    violation = explore(made).violation
    assert violation is not None
    return replay(record(made, violation.name, violation.start, violation.path), made)


def with_office(counter: Any) -> System:
    made = office()
    return replace(made, machines=(counter, *made.machines[1:]))


def test_a_run_does_not_part_from_its_own_system() -> None:
    for fault in ("tickets.differ", "office.counts-up", "deadlock"):
        assert parting(found(fault), office(fault=fault)) is None


def test_an_action_that_leads_elsewhere_is_told_with_what_is_there_instead() -> None:
    run = found("tickets.differ")
    parted = parting(run, office())
    assert parted is not None
    assert (parted.index, parted.before, parted.transition) == (2, run.states[1], run.path[1])
    (instead,) = parted.instead
    assert instead.transition.rules == ("office.next", "office.hand-out")
    who = run.path[1].local_steps[0].machine
    assert [(one.machine, one.path, one.old, one.new) for one in instead.differences] == [
        ("office", "last", "1", "2"),
        ("office", f"holders[{who[-2:]}]", "1", "2"),
        (who, "ticket", "1", "2"),
        (who, "note", "'no. 1'", "'no. 2'"),
    ]


def test_an_action_that_is_not_possible_is_told_with_what_is() -> None:
    parted = parting(found("office.counts-up"), office())
    assert parted is not None
    assert (parted.index, parted.instead, parted.possible) == (3, (), ())

    class Slower(Counter):
        def actions(self, value: Any) -> Any:
            return (Outcome(value, (), "the office yawns"),) * 2

    parted = parting(found("office.counts-up"), with_office(Slower("")))
    assert parted is not None
    assert (parted.index, parted.possible) == (3, ("the office yawns",))


class Renamed(Counter):
    def receive(self, value: Any, sender: str, message: Any) -> Any:
        return tuple(replace_rules(one) for one in super().receive(value, sender, message))


def replace_rules(outcome: Outcome) -> Outcome:
    return Outcome(outcome.value, outcome.sends, outcome.label, ("office.other",))


def test_other_rules_part_though_they_lead_to_the_same() -> None:
    parted = parting(found("tickets.differ"), with_office(Renamed("tickets.differ")))
    assert parted is not None
    assert parted.index == 1
    assert parted.instead[0].differences == ()


def test_a_run_that_cannot_go_on_parts_where_the_other_system_can() -> None:
    run = found("deadlock")
    parted = parting(run, office())
    assert parted is not None
    assert (parted.index, parted.transition) == (len(run.path), None)
    (further,) = parted.further
    assert further.label.endswith("asks for a ticket")


class Undecided(Counter):
    def receive(self, value: Any, sender: str, message: Any) -> Any:
        given = super().receive(value, sender, message)
        return (*given, *given, *(replace_rules(one) for one in given))


def test_outcomes_of_which_one_is_the_runs_do_not_part_and_others_are_told_once() -> None:
    assert parting(found("office.counts-up"), with_office(Undecided("office.counts-up"))) is None
    parted = parting(found("tickets.differ"), with_office(Undecided("")))
    assert parted is not None
    assert (parted.index, len(parted.instead)) == (2, 2)


class Further(Counter):
    def initial(self) -> Any:
        return tuple(replace(one, last=7) for one in super().initial())


def test_systems_that_begin_otherwise_part_at_the_start() -> None:
    parted = parting(found("tickets.differ"), with_office(Further("")))
    assert parted is not None
    assert (parted.index, parted.before, parted.transition) == (0, None, None)


def test_other_machines_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="the other system has"):
        parting(found("tickets.differ"), ring())


MUTANTS = (
    "barrier-ignores-pending",
    "size-unchecked",
    "join-timer-lost",
    "fence-is-retried",
    "shares-swapped",
)
"""Of rules and of clients; seen at once or later; of which the action is not possible without them."""


@pytest.mark.parametrize("mutant", [*MUTANTS, "rebalance-kept-secret"])
def test_a_mutant_parts_from_the_spec_and_not_from_itself(mutant: str) -> None:
    run = run_of(counterexample(mutant))
    settings = dict(run.trace.origin.settings["settings"])
    assert parting(run, system(settings, mutant)) is None
    spec = parting(run, system({**settings, "settle": False}))
    assert spec is not None
    assert 0 < spec.index <= len(run.path)


def test_a_run_is_found_again_where_dead_data_is_kept() -> None:
    """What the spec does in both; of a mutant the spec has no such run."""
    sound = system(dict(run_of(counterexample("no-sync-timer")).trace.origin.settings["settings"]))
    run = run_of(counterexample("no-sync-timer"))
    path, state = [], sound.initial_states()[0]
    for wanted in run.path[:4]:
        path.append(next(one for one in sound.successors(state) if one.label == wanted.label))
        state = path[-1].target
    settled = Run(run.trace, sound, (), tuple(path))
    kept = twin(settled, system({**dict(run.trace.origin.settings["settings"]), "settle": False}))
    assert kept is not None
    assert [one.label for one in kept.path] == [one.label for one in path]
    assert kept.states == run.states[:5]
    lost = run_of(counterexample("join-timer-lost"))
    assert twin(lost, system(dict(lost.trace.origin.settings["settings"]))) is None
