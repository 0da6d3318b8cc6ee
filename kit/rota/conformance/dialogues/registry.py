"""Where cases and probes are registered: the decorators that add one, and which rule a case is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Case, Level, Otherwise, Probe, Signal
from rota.conformance.rules import CONSUMER, slug_of_consumer
from rota.conformance.switches import differs, is_switch
from rota.spec import RULES

Play = Callable[[Dialogue], None]

WIRE = "wire"
"""The part of the rules that the spec does not have: how requests become bytes."""

PARTS = (
    *("join", "static", "sync", "heartbeat", "leave", "voting", "timers", "persistence", "hosting"),
    *("loading", "offsets", "transactions", "admin", "expiry", WIRE, CONSUMER),
)
"""The parts of the protocol, in the order of the reports."""

_OLDER = "kafka-3.x"

CASES: dict[str, Case] = {}
PROBES: dict[str, Probe] = {}


def case(
    id: str,
    requirement: str,
    source: str,
    *,
    level: Level = Level.MUST,
    needs: Mapping[str, tuple[int, int]] | None = None,
    initial_delay_ms: int = 300,
    least_delay_ms: int = 0,
    settings: Mapping[str, int] | None = None,
    seconds: float = 1.0,
    older: str = "",
    family: str = "",
    situation: str = "",
    restarts: Signal | None = None,
    settings_after: Mapping[str, int] | None = None,
    brokers: int = 1,
    spare: int = 0,
) -> Callable[[Play], Play]:
    """Register a dialogue as the case `id`, which begins with the slug of its rule; see `rule_of`.

    The other parameters are those of `Case`. Raises ValueError for an id that is taken or names no rule.
    """

    def add(play: Play) -> Play:
        if id in CASES:
            raise ValueError(f"two cases are called {id}")
        CASES[id] = Case(
            id=id,
            rule=rule_of(id),
            level=level,
            sentence=requirement,
            source=source,
            play=play,
            needs=dict(needs or {}),
            initial_delay_ms=initial_delay_ms,
            least_delay_ms=least_delay_ms,
            settings=dict(settings or {}),
            seconds=seconds,
            older=older,
            family=family,
            situation=situation,
            restarts=restarts,
            settings_after=dict(settings_after or {}),
            brokers=brokers,
            spare=spare,
        )
        return play

    return add


EITHER = (Signal.TERM, Signal.KILL)
KILLED = (Signal.KILL,)


def after(
    id: str, requirement: str, source: str, ways: Sequence[Signal] = EITHER, **about: Any
) -> Callable[[Play], Play]:
    """Register a dialogue as a case for each way in which the target is ended in it, in the words of the id.

    The requirement is what is so after the restart; `about` are other parameters of `case`.
    """

    def add(play: Play) -> Play:
        for how in ways:
            sentence = f"After a restart ({how}) {requirement}"
            case(f"{id}-after-{how.lower()}", sentence, source, **{"seconds": 8.0, **about}, restarts=how)(
                play
            )
        return play

    return add


def otherwise(id: str, switch: str, requirement: str) -> Callable[[Play], Play]:
    """Register what the case `id` is for brokers that differ in a switch of their profile; see `Otherwise`.

    Raises ValueError for a case or a switch that is not there, and where there is such a dialogue already.
    """

    def add(play: Play) -> Play:
        if id not in CASES or CASES[id].otherwise is not None or CASES[id].older:
            raise ValueError(f"{id} is no case, or it says already what older brokers do")
        if not is_switch(switch):
            raise ValueError(f"profiles have no switch {switch}")
        other = Otherwise(switch=switch, sentence=requirement, play=play)
        older = requirement if differs(_OLDER, switch) else ""
        CASES[id] = replace(CASES[id], otherwise=other, older=older)
        return play

    return add


def rule_of(id: str) -> str:
    """The slug of the rule that a case is about: the longest one of the spec's rules that its id continues.

    A case of the part `wire` has a rule of its own; one of the part `consumer` that of the consumer protocol
    whose slug follows. Raises ValueError for an id without a rule, or without words of its own after it.
    """
    if id.startswith(f"{WIRE}."):
        return id
    if rule := slug_of_consumer(id):
        return rule
    slugs = [slug for slug in RULES if id.startswith(f"{slug}.")]
    if not slugs:
        raise ValueError(f"{id} is no case: it has to be the slug of a rule, a dot, and what the case shows")
    return max(slugs, key=len)


def probe(
    id: str,
    sentence: str,
    source: str,
    *,
    needs: Mapping[str, tuple[int, int]] | None = None,
    initial_delay_ms: int = 300,
    settings: Mapping[str, int] | None = None,
    seconds: float = 1.0,
) -> Callable[[Play], Play]:
    """Register a dialogue as the probe `id`: its part, its subject, and what it shows, with dots between.

    The other parameters are those of `Script`. Raises ValueError for an id that is taken or of another form.
    """

    def add(play: Play) -> Play:
        if id in PROBES:
            raise ValueError(f"two probes are called {id}")
        if id.count(".") != 2 or id.split(".", 1)[0] not in PARTS:
            raise ValueError(
                f"{id} is no probe: it has to be part.subject.detail, with a part of the protocol"
            )
        PROBES[id] = Probe(
            id=id,
            sentence=sentence,
            source=source,
            play=play,
            needs=dict(needs or {}),
            initial_delay_ms=initial_delay_ms,
            least_delay_ms=0 if initial_delay_ms == 300 else initial_delay_ms,
            settings=dict(settings or {}),
            seconds=seconds,
        )
        return play

    return add
