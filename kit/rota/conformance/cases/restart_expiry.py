"""Expiry over a restart: what was to be kept is kept, for how long is known, and since when it counts."""

from __future__ import annotations

from rota.conformance.cases.expiry import (
    AT_ONCE,
    EXPIRY,
    LIMITED,
    LOOKS,
    SOON,
    expect_gone,
    settle,
    until,
)
from rota.conformance.cases.restart_groups import LASTING
from rota.conformance.dialogues.broker_settings import RETENTION
from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import KILLED, after
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import all_leave
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    expect_each,
    expect_fetched,
    fetched,
    in_topic,
    subscriber,
    topic,
)
from rota.conformance.steps.restarts import restart
from rota.conformance.steps.version_ranges import COMMIT, FETCH

_OTHER = f"{TOPIC}-other"
_LONG = 600_000
"""Milliseconds for which a commit is to be kept that outlasts every case."""


def _committed(d: Dialogue, retentions: dict[str, int]) -> Member:
    """The only member of a group, subscribed to `TOPIC`, with an offset in topics: kept for how long each."""
    topic(d, *retentions)
    a = subscriber(d, "a", session_timeout_ms=LASTING)
    settle(d, a)
    with d.reaching("offsets that are stored"):
        for name, retention in retentions.items():
            expect_each(d, commit(a, topics=[in_topic(name)], retention_time_ms=retention), "NONE")
    return a


def _of(d: Dialogue, name: str) -> int:
    return int(fetched(d, topic_name=name)["committed_offset"])


@after(
    "expiry.expired.not-before",
    "the offsets of an Empty group are kept for what their commits named, else for the broker's retention.",
    EXPIRY,
    KILLED,
    needs=LIMITED,
    settings=SOON,
    seconds=12.0,
)
def kept_as_long(d: Dialogue) -> None:
    a = _committed(d, {TOPIC: -1, _OTHER: _LONG})
    all_leave(d, a)
    restart(d)
    d.wait(LOOKS)
    for name in (TOPIC, _OTHER):
        found = _of(d, name)
        d.require(found == 7, f"the offset 7 of {name}", f"the offset {found}")


@after(
    "expiry.offsets-expired.own-retention",
    "an offset whose commit named a retention is removed when that is over, once nobody subscribes to it.",
    EXPIRY,
    KILLED,
    level=Level.SHOULD,
    needs=LIMITED,
    settings=SOON,
    seconds=12.0,
)
def own_retention(d: Dialogue) -> None:
    a = _committed(d, {TOPIC: AT_ONCE})
    restart(d)
    with d.reaching("an offset that is there since its topic is subscribed to", "expiry.subscribed-group"):
        expect_fetched(d, 7)
    all_leave(d, a)
    expect_gone(d)


@after(
    "expiry.subscribed-group.keeps-subscribed",
    "the offsets of topics to which members subscribe are kept; those of other topics expire.",
    EXPIRY,
    KILLED,
    needs=LIMITED,
    settings=SOON,
    seconds=12.0,
)
def keeps_subscribed(d: Dialogue) -> None:
    a = _committed(d, {TOPIC: AT_ONCE})
    restart(d)
    topic(d, _OTHER)
    with d.reaching("an offset of another topic"):
        expect_each(d, commit(a, topics=[in_topic(_OTHER)], retention_time_ms=AT_ONCE), "NONE")
    gone = until(d, lambda: _of(d, _OTHER) == -1)
    with d.reaching("a look at what has expired", "expiry.offsets-expired"):
        d.require(gone, "no offset of the other topic after some seconds", "the offset is still there")
    expect_fetched(d, 7)


_BEFORE, _AFTER = 20.0, 35.0
"""Seconds between the commit and the last member's leaving, and between this and the restart."""

_RETENTION = 60.0


@after(
    "expiry.empty-group.since-last-member",
    "the retention of an Empty group counts from when its last member left, neither from the commit nor from "
    "the restart.",
    EXPIRY,
    KILLED,
    needs={**COMMIT, **FETCH},
    settings={**SOON, RETENTION: 1},
    seconds=90.0,
)
def since_last_member(d: Dialogue) -> None:
    a = _committed(d, {TOPIC: -1})
    committed = d.transcript.elapsed()
    d.wait(_BEFORE)
    d.expect(a.heartbeat(), error="NONE")
    leaving = d.transcript.elapsed()
    all_leave(d, a)
    left = d.transcript.elapsed()
    d.wait(_AFTER)
    restart(d)
    d.wait(committed + _RETENTION + LOOKS - d.transcript.elapsed())
    found = fetched(d)["committed_offset"]
    d.in_time(leaving, _RETENTION)
    d.require(found == 7, "the offset 7 until the group has been Empty for a minute", f"the offset {found}")
    d.wait(left + _RETENTION - d.transcript.elapsed())
    expect_gone(d)
