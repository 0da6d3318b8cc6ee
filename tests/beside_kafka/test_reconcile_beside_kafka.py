"""The table of reconciliation and Kafka's own CurrentAssignmentBuilder, on every question of a small world.

Three partitions of two topics, one other owner. In a usual run a part is asked in which every line is reached
and every mutant of a line shows; with `-m long` all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pytest

from harness.java_programs import Compiled, answers
from harness.reconciling import asked, questions, told
from rota.spec.consumer import TABLE, Question, reconcile, steps
from rota.spec.consumer.reconcile import Junction, Line, Move

ALL = 221_184
EVERY = 41
"""Of how many questions a usual run asks one; a prime, so that no field has the same value each time."""

MOST = 300
"""How many questions to a line its mutants are asked."""


@dataclass
class Asked:
    """Questions with Kafka's answers."""

    questions: Sequence[Question]
    theirs: Sequence[str]


@pytest.fixture(scope="module", params=[EVERY, pytest.param(1, marks=pytest.mark.long)])
def kafka(request: pytest.FixtureRequest, java: Compiled) -> Asked:
    command = java("Reconciler")
    some = [*islice(questions(), 0, None, request.param)]
    assert len(some) == -(-ALL // request.param)
    return Asked(some, answers(command, [asked(one) for one in some]))


def test_the_table_says_what_kafka_says(kafka: Asked) -> None:
    wrong = [
        (asked(one), theirs, told(reconcile(one)))
        for one, theirs in zip(kafka.questions, kafka.theirs, strict=True)
        if told(reconcile(one)) != theirs
    ]
    assert wrong == []


def test_every_line_is_reached_and_every_mutant_of_it_is_told_apart_by_kafka(kafka: Asked) -> None:
    reached = by_line(kafka)
    assert reached.keys() == {line.name for line in TABLE}
    mutants = [*all_mutants()]
    assert len(mutants) == MUTANTS
    alive = [
        told_as
        for told_as, line, table in mutants
        if all(told(reconcile(one, table)) == theirs for one, theirs in at_place(reached, line))
    ]
    assert alive == []


def at_place(
    reached: Mapping[str, Sequence[tuple[Question, str]]], line: Line
) -> Iterator[tuple[Question, str]]:
    """Questions that follow any line of the same place."""
    for other in TABLE:
        if other.at == line.at:
            yield from reached[other.name]


def by_line(kafka: Asked) -> Mapping[str, Sequence[tuple[Question, str]]]:
    """For each line, questions that follow it, from all over them."""
    found: dict[str, list[tuple[Question, str]]] = defaultdict(list)
    some = islice(
        zip(kafka.questions, kafka.theirs, strict=True), 0, None, len(kafka.questions) * EVERY // ALL
    )
    for one, theirs in some:
        for line in steps(one):
            if len(found[line.name]) < MOST:
                found[line.name].append((one, theirs))
    return found


def all_mutants() -> Iterator[tuple[str, Line, Sequence[Line]]]:
    """Each line with another end, or without one of its guards: what it is, the line, the table."""
    for number, line in enumerate(TABLE):
        for then in (*Move, *Junction):
            if then not in (line.then, line.at) and (line.at, then) != (Junction.NEXT, Junction.UNSUBSCRIBED):
                yield f"{line.name}: {then.name}", line, mutated(number, replace(line, then=then))
        for guard in line.guards:
            left = tuple(one for one in line.guards if one is not guard)
            yield f"{line.name} without {guard.name}", line, mutated(number, replace(line, guards=left))


def mutated(number: int, line: Line) -> Sequence[Line]:
    return (*TABLE[:number], line, *TABLE[number + 1 :])


MUTANTS = 93
