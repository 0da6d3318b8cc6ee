"""What was acknowledged is there after the target was ended and started again: offsets, and deletions."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import KILLED, after
from rota.conformance.dialogues.script import Level, Signal
from rota.conformance.steps.administration import delete, described, expect_deleted
from rota.conformance.steps.group_formation import all_leave, join_together, stable
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    delete_offsets,
    expect_each,
    expect_fetched,
    fetched,
    in_topic,
    topic,
)
from rota.conformance.steps.restarts import restart
from rota.conformance.steps.version_ranges import COMMIT, DELETE, DESCRIBE, FETCH

_REPLAY = "GroupCoordinatorShard.replay; CoordinatorLoaderImpl"
_OTHER = f"{TOPIC}-other"
_COMMITS = 12
"""So many that a log whose segments are as short as can be has a whole one to compact."""


@after(
    "offsets.stored.kept",
    "a committed offset is there, with its metadata and leader epoch.",
    _REPLAY,
    needs={**COMMIT, **FETCH, "OffsetCommit": (6, 9)},
)
def offset_kept(d: Dialogue) -> None:
    topic(d)
    given = in_topic(TOPIC, 41, "where I was", committed_leader_epoch=3)
    with d.reaching("a committed offset"):
        expect_each(d, commit(d.member("a"), topics=[given]), "NONE")
    restart(d)
    found = fetched(d)
    actual = _in_words(*(found[name] for name in ("committed_offset", "committed_leader_epoch", "metadata")))
    wanted = _in_words(41, 3, "where I was")
    d.require(actual == wanted, wanted, actual)


def _in_words(offset: int, epoch: int, metadata: str | None) -> str:
    return f"offset {offset}, leader epoch {epoch}, metadata {metadata!r}"


@after(
    "offsets.stored.last-one",
    "of several offsets committed for a partition the last one is there, and one of another partition that "
    "was committed before them all.",
    _REPLAY,
    KILLED,
    needs={**COMMIT, **FETCH},
)
def last_one(d: Dialogue) -> None:
    topic(d, TOPIC, _OTHER)
    someone = d.member("a")
    with d.reaching("a partition with several commits, and another one with one before them"):
        expect_each(d, commit(someone, topics=[in_topic(_OTHER, 6)]), "NONE")
        for offset in (*range(50, 50 + _COMMITS), 40):
            expect_each(d, commit(someone, offset), "NONE")
    restart(d)
    expect_fetched(d, 40)
    _expect_of_other(d, 6)


@after(
    "offsets.stored.twice",
    "and another one an offset is there that was committed between the two.",
    _REPLAY,
    (Signal.TERM,),  # nobody waits there for long
    needs={**COMMIT, **FETCH},
)
def twice(d: Dialogue) -> None:
    for offset in (50, 40):
        topic(d)
        with d.reaching("a committed offset"):
            expect_each(d, commit(d.member("a"), offset), "NONE")
        restart(d)
        expect_fetched(d, offset)


@after(
    "offsets.stored.unanswered",
    "a commit that was not answered counts or does not; the one that was answered before is not lost by it.",
    _REPLAY,
    KILLED,
    needs={**COMMIT, **FETCH},
)
def unanswered(d: Dialogue) -> None:
    topic(d)
    someone = d.member("a")
    with d.reaching("a committed offset"):
        expect_each(d, commit(someone, 7), "NONE")
    nobody = {"generation_id_or_member_epoch": -1, "member_id": ""}
    someone.send("OffsetCommit", {**nobody, "topics": [in_topic(TOPIC, 8)]})
    restart(d)
    found = fetched(d)["committed_offset"]
    d.require(found in (7, 8), "the offset 7 or 8", f"the offset {found}")


@after(
    "offsets.simple-group.kept",
    "a group that has only offsets is Empty and without a type, and consumers may join it.",
    _REPLAY,
    KILLED,
    level=Level.SHOULD,
    needs={**COMMIT, **FETCH, **DESCRIBE},
)
def simple_group(d: Dialogue) -> None:
    topic(d)
    with d.reaching("a committed offset"):
        expect_each(d, commit(d.member("a"), 9), "NONE")
    restart(d)
    group = described(d)
    actual = (group["group_state"], group["protocol_type"])
    d.require(actual == ("Empty", ""), "an Empty group without a type", f"{actual}")
    formed = join_together(d, d.member("b"))
    d.expect(formed.replies["b"], error="NONE", generation_id=1)
    expect_fetched(d, 9)


@after(
    "offsets.delete.kept",
    "an offset that was deleted is not back; those of other topics are there.",
    _REPLAY,
    needs={**COMMIT, **FETCH, "OffsetDelete": (0, 0)},
)
def offset_deleted(d: Dialogue) -> None:
    topic(d, TOPIC, _OTHER)
    with d.reaching("a deleted offset beside another one"):
        expect_each(d, commit(d.member("a"), topics=[in_topic(TOPIC, 5), in_topic(_OTHER, 6)]), "NONE")
        expect_each(d, delete_offsets(d), "NONE")
    restart(d)
    expect_fetched(d, -1)
    _expect_of_other(d, 6)


def _expect_of_other(d: Dialogue, offset: int) -> None:
    found = fetched(d, topic_name=_OTHER)["committed_offset"]
    d.require(found == offset, f"the offset {offset} of the other topic", f"the offset {found}")


@after(
    "admin.deletion-stored.kept",
    "a group that was deleted is not back, and neither are its offsets.",
    _REPLAY,
    needs={**COMMIT, **FETCH, **DELETE, **DESCRIBE},
)
def group_deleted(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    formed = stable(d, a)
    with d.reaching("a deleted group"):
        expect_each(d, commit(a, 5), "NONE")
    all_leave(d, *formed.everyone)
    with d.reaching("a deleted group"):
        expect_deleted(d, delete(d), "NONE")
    restart(d)
    expect_deleted(d, delete(d), "GROUP_ID_NOT_FOUND")
    expect_fetched(d, -1)
