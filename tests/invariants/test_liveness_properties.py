"""Liveness of the classic protocol: it holds, it needs what it assumes, and each sentence kills a mutant."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from harness.thinned import but
from rota.explore.liveness.check import LivenessResult, check
from rota.explore.liveness.graph import build
from rota.explore.result import Verdict
from rota.invariants import endless
from rota.invariants.liveness import (
    GIVES_UP,
    GOES_ON,
    IN_THE_END,
    KNOWN_WEAKNESSES,
    LIVENESS,
    OWED_TO_NOBODY,
    charged,
    what,
)
from rota.kernel import Liveness
from rota.mutants import system
from rota.scopes import load
from rota.spec import RULES

TINY = load("tiny")
BY_NAME = {prop.name: prop for prop in (*LIVENESS, *KNOWN_WEAKNESSES)}


def budget(**pools: int) -> dict[str, Any]:
    return {"budget": tuple(sorted(pools.items()))}


ALONE = {"protocols": (("range",),)}

CONFIGURATIONS: dict[str, Mapping[str, Any]] = {
    **{
        name: TINY.configuration(name).settings
        for name in (
            "core", "no-handshake", "tie", "no-common-protocol", "extended-delay", "leave", "rejoin",
            "change", "all-leave", "leave-and-rejoin",
        )
    },
    "two rejoins": budget(rejoin=2),
    "two changes": budget(change=2),
    "one client, a crash": {**ALONE, **budget(crash=1)},
    "one client, two faults": {**ALONE, **budget(fault=2)},
    "a crash": {"join_version": 3, **budget(crash=1)},
    "a broken connection": budget(**{"break": 1}),
    "a broken connection, no handshake": {"join_version": 3, **budget(**{"break": 1})},
    "a failed append": budget(append=1),
    "two failed appends": budget(append=2),
    "an untimely timeout": {"join_version": 3, **budget(late=1)},
    "one client, a move": {**ALONE, **budget(failover=1)},
    "one static client, two crashes": {**ALONE, "instances": ("i",), **budget(crash=2)},
    "cooperative clients, one leaves": {"clients": ("cooperative", "cooperative"), **budget(leave=1)},
    "an old client, a fault": {**ALONE, "clients": ("old",), "join_version": 0, **budget(fault=1)},
    "offsets": {"offsets": True},
    "one client, a commit, a broken connection": {
        **ALONE, "offsets": True, **budget(commit=1, **{"break": 1}),
    },
    "offsets, no handshake": {"offsets": True, "join_version": 3},
    "one client, offsets, a move": {**ALONE, "offsets": True, **budget(failover=1)},
}  # fmt: skip


LIKE_OTHERS = (
    "a broken connection",
    "a broken connection, no handshake",
    "a crash",
    "change",
    "leave-and-rejoin",
    "one client, two faults",
    "two changes",
    "two failed appends",
    "two rejoins",
)
"""Those that have each of their faults alone beside them, and take longest."""


def judged(settings: Mapping[str, Any], mutant: str | None = None, *names: str) -> LivenessResult:
    chosen = [BY_NAME[name] for name in names] if names else LIVENESS
    return check(system(settings, mutant), chosen, max_states=60_000)


@pytest.mark.parametrize("name", but(LIKE_OTHERS, CONFIGURATIONS))
def test_liveness_holds(name: str) -> None:
    result = judged(CONFIGURATIONS[name])
    assert {v.name: v.lasso and v.lasso.lines for v in result.verdicts if v.lasso} == {}
    assert result.verdict is Verdict.HOLDS
    expected = TINY.configuration(name).expected if name in {c.name for c in TINY.configurations} else None
    if expected:
        assert (result.distinct, result.generated) == (expected["distinct"], expected["generated"])


def test_nothing_holds_in_vain() -> None:
    assert all(verdict.occasions for verdict in judged(CONFIGURATIONS["one client, a crash"]).verdicts)


# ---- what is assumed is needed


NEEDED: dict[str, tuple[tuple[str, str], ...]] = {
    "core": (
        ("join.phase-ends", "clients go on"),
        ("join.phase-ends", "join timers fire"),
        ("sync.phase-ends", "clients go on"),
        ("sync.phase-ends", "the log answers"),
        ("parked.answered-in-the-end", "clients go on"),
        ("parked.answered-in-the-end", "the log answers"),
        ("parked.answered-in-the-end", "join timers fire"),
        ("join.pending-ids-end", "clients go on"),
        ("group.settles", "clients go on"),
        ("group.settles", "the log answers"),
        ("group.settles", "join timers fire"),
    ),
    "no-common-protocol": (("join.pending-ids-end", "unused ids end"),),
    "a broken connection": (
        ("join.phase-ends", "replaced requests time out"),
        ("sync.phase-ends", "replaced requests time out"),
        ("parked.answered-in-the-end", "replaced requests time out"),
        ("group.settles", "replaced requests time out"),
    ),
    "a broken connection, no handshake": (("timers.unused-members-go", "replaced requests time out"),),
    "one client, a crash": (
        ("sync.phase-ends", "the sync timer fires"),
        ("timers.unused-members-go", "sessions end"),
    ),
    "a crash": (
        ("parked.answered-in-the-end", "the sync timer fires"),
        ("timers.unused-members-go", "clients go on"),
        ("timers.unused-members-go", "the log answers"),
        ("group.settles", "the sync timer fires"),
    ),
    "an untimely timeout": (("timers.unused-members-go", "join timers fire"),),
    "offsets": (
        ("join.phase-ends", "commits are stored"),
        ("parked.answered-in-the-end", "commits are stored"),
        ("group.settles", "commits are stored"),
    ),
    "offsets, no handshake": (("timers.unused-members-go", "commits are stored"),),
    "one client, a commit, a broken connection": (("sync.phase-ends", "commits are stored"),),
    "one client, a move": (("group.settles", "loading ends"),),
}
"""A configuration -> (property, assumption): the one does not hold there without the other."""


def without(name: str, assumption: str) -> Liveness:
    prop = BY_NAME[name]
    left = tuple(one for one in prop.fairness if one.name != assumption)
    return replace(prop, name=f"{name} without {assumption}", fairness=left)


DEAR = ("a broken connection, no handshake", "a crash")
"""Those that take longest; what they show to be needed is needed in others, too."""


@pytest.mark.parametrize("name", but(DEAR, NEEDED))
def test_assumptions_are_needed(name: str) -> None:
    weakened = [without(*pair) for pair in NEEDED[name]]
    verdicts = check(system(CONFIGURATIONS[name]), weakened).verdicts
    assert [verdict.name for verdict in verdicts if verdict.verdict is not Verdict.VIOLATED] == []


def test_every_assumption_is_needed() -> None:
    needed = [pair for pairs in NEEDED.values() for pair in pairs]
    assert sorted(needed) == sorted((prop.name, one.name) for prop in LIVENESS for one in prop.fairness)


def test_each_move_of_a_client_is_owed_or_not() -> None:
    """A label that none of the lists knows would be owed to nobody, and weaken every sentence in silence."""
    known = (*GOES_ON, *IN_THE_END, GIVES_UP, *OWED_TO_NOBODY)
    seen = set()
    worlds: list[dict[str, Any]] = [budget(leave=1, crash=1), budget(leave=1, **{"break": 1})]
    worlds += [{"clients": ("cooperative",), **budget(rejoin=1)}, {"clients": ("old",), "join_version": 0}]
    worlds += [budget(failover=1), {"offsets": True}, budget(process=1), budget(partitions=1, crash=1)]
    for world in worlds:
        graph = build(system({**ALONE, **world}), (), 60_000)
        for state in graph.states:
            for step in graph.system.successors(state):
                if step.local_steps[0].machine.startswith("client/") and not charged(step):
                    seen.add(next((start for start in known if what(step).startswith(start)), what(step)))
    assert seen == set(known)


# ---- known weaknesses


def test_weakness_is_there_where_a_request_can_be_overtaken() -> None:
    name = "weakness.replaced-request-waits"
    assert judged(CONFIGURATIONS["a broken connection"], None, name).verdict is Verdict.VIOLATED
    assert judged(CONFIGURATIONS["an untimely timeout"], None, name).verdict is Verdict.HOLDS


def test_without_a_time_for_sync_sessions_must_end_the_phase() -> None:
    """As before KAFKA-12890: one that has crashed is waited for until its session is over."""
    old = {**CONFIGURATIONS["one client, a crash"], "profile": "kafka-2.1", "join_version": 3}
    name = "weakness.sync-phase-needs-sessions"
    assert judged(old, None, name).verdict is Verdict.VIOLATED
    assert judged(CONFIGURATIONS["one client, a crash"], None, name).verdict is Verdict.HOLDS
    assert judged(old, None, "sync.phase-ends").verdict is Verdict.VIOLATED
    assert check(system(old), endless(old, strict=False)[: len(LIVENESS)]).verdict is Verdict.HOLDS


def test_absent_static_members_end_a_join_phase_with_their_sessions() -> None:
    """The timer finds nobody who joined and starts again: two static members have closed without a word."""
    gone = {"instances": ("i", "j"), **budget(leave=2)}
    assert judged(gone, None, "join.phase-ends").verdict is Verdict.VIOLATED
    assert check(system(gone), endless(gone)[: len(LIVENESS)]).verdict is Verdict.HOLDS


# ---- each sentence kills


KILLS = {
    ("join.phase-ends", "initial-timer-lost"): "core",
    ("join.phase-ends", "join-timer-lost"): "one client, a crash",
    ("sync.phase-ends", "no-sync-timer"): "one client, a crash",
    ("sync.phase-ends", "sync-timeout-forgives"): "one client, a crash",
    ("parked.answered-in-the-end", "failed-append-unanswered"): "a failed append",
    ("parked.answered-in-the-end", "stable-before-stored"): "core",
    ("join.pending-ids-end", "pending-without-timer"): "no-common-protocol",
    ("timers.unused-members-go", "heartbeat-stops-session"): "one client, a crash",
    ("group.settles", "change-without-rebalance"): "core",
}
"""(property, mutant) -> a configuration in which the one shows the other."""


@pytest.mark.parametrize(("name", "mutant"), KILLS)
def test_property_kills(name: str, mutant: str) -> None:
    (verdict,) = judged(CONFIGURATIONS[KILLS[name, mutant]], mutant, name).verdicts
    assert verdict.verdict is Verdict.VIOLATED


def test_every_property_kills_a_mutant() -> None:
    assert {name for name, _ in KILLS} == {prop.name for prop in LIVENESS}


@pytest.mark.parametrize("prop", BY_NAME.values(), ids=BY_NAME)
def test_property_is_a_sentence_about_rules(prop: Liveness) -> None:
    assert prop.meaning.endswith(".")
    assert prop.source
    assert set(prop.rules) <= set(RULES)
    assert all(one.meaning.endswith(".") for one in prop.fairness)


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(LIVENESS) + len(KNOWN_WEAKNESSES)


# ---- the same lasso everywhere


SHOWN = """
from rota.explore.liveness.check import check
from rota.invariants.liveness import LIVENESS
from rota.mutants import system

for verdict in check(system({}, "initial-timer-lost"), LIVENESS).verdicts:
    print(verdict.name, verdict.verdict.value, verdict.occasions)
    print(*(verdict.lasso.lines if verdict.lasso else ()), sep="\\n")
"""


def test_a_lasso_is_the_same_in_every_process(capsys: pytest.CaptureFixture[str]) -> None:
    """And reads as a story: c1 waits, the delay ends and nothing comes of it, c2 comes and waits too."""
    other = subprocess.run(
        [sys.executable, "-c", SHOWN],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    exec(SHOWN, {})
    assert capsys.readouterr().out == other
    assert other.splitlines()[:12] == [
        "join.phase-ends violated 20",
        "   1  c1 sends JoinGroup",
        "   2  c1's JoinGroup reaches the coordinator",
        "   3  c1 reads JoinGroup MEMBER_ID_REQUIRED",
        "   4  c1's JoinGroup reaches the coordinator",
        "   5  the initial rebalance delay is over",
        "   6  c2 sends JoinGroup",
        "   7  c2's JoinGroup reaches the coordinator",
        "   8  c2 reads JoinGroup MEMBER_ID_REQUIRED",
        "   9  c2's JoinGroup reaches the coordinator",
        "for ever:",
        "      nothing more need happen",
    ]
