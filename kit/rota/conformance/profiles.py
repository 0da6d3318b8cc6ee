"""Cases for a line of brokers: what is right for it, as the switches of its profile in the spec say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rota.conformance.dialogues.script import Case
from rota.conformance.results import NotChecked
from rota.conformance.targets.kafka_jars import RELEASES
from rota.spec import KAFKA_4, PROFILES, ROTA, Profile

USUAL = KAFKA_4.name
"""The profile that the cases are written from."""

OLDER = "kafka-3.x"

JUDGED = (USUAL, OLDER, ROTA.name)
"""The profiles for which it is known, case by case, what is right."""


def usual_profile(target: str) -> str:
    """By which profile a target is judged if nothing is said: that of its line, where its name says it."""
    if target == ROTA.name:
        return ROTA.name
    return OLDER if target in RELEASES and RELEASES[target].version.startswith("3.") else USUAL


def for_profile(cases: Sequence[Case], name: str) -> tuple[list[Case], list[NotChecked]]:
    """The cases as they are for brokers of this profile; those in which nothing is expected of them."""
    profile = PROFILES[name]
    chosen = [(case, _expectation(case, profile)) for case in cases]
    unknown = [NotChecked(case, f"nothing is expected of {name}") for case, found in chosen if found is None]
    return [found for _, found in chosen if found is not None], unknown


def _expectation(case: Case, profile: Profile) -> Case | None:
    other = case.otherwise
    if other is not None and getattr(profile, other.switch) != getattr(KAFKA_4, other.switch):
        return replace(case, sentence=other.sentence, play=other.play, otherwise=None, older="")
    if case.older and other is None and profile not in (KAFKA_4, ROTA):
        return None
    return case
