"""Cases for a line of brokers: what is right for it, as the switches of its profile in the spec say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rota.conformance.dialogues.script import Case
from rota.conformance.results import NotChecked
from rota.conformance.rules import CONSUMER
from rota.conformance.switches import KAFKA_4_0, differs
from rota.conformance.targets.kafka_jars import RELEASES
from rota.spec import KAFKA_4, ROTA

USUAL = KAFKA_4.name
"""The profile that the cases are written from."""

OLDER = "kafka-3.x"

JUDGED = (USUAL, KAFKA_4_0, OLDER, ROTA.name)
"""The profiles for which it is known, case by case, what is right."""


def usual_profile(target: str) -> str:
    """By which profile a target is judged if nothing is said: that of its line, where its name says it."""
    if target == ROTA.name:
        return ROTA.name
    version = RELEASES[target].version if target in RELEASES else ""
    lines = {"3.": OLDER, "4.0.": KAFKA_4_0}
    return next((line for begins, line in lines.items() if version.startswith(begins)), USUAL)


def for_profile(cases: Sequence[Case], name: str) -> tuple[list[Case], list[NotChecked]]:
    """The cases as they are for brokers of this profile; those in which nothing is expected of them."""
    chosen = [(case, _expectation(case, name)) for case in cases]
    unknown = [NotChecked(case, f"nothing is expected of {name}") for case, found in chosen if found is None]
    return [found for _, found in chosen if found is not None], unknown


def _expectation(case: Case, line: str) -> Case | None:
    other = case.otherwise
    if other is not None and differs(line, other.switch):
        return replace(case, sentence=other.sentence, play=other.play, otherwise=None, older="")
    if line == OLDER and (case.part == CONSUMER or (case.older and other is None)):
        return None
    return case
