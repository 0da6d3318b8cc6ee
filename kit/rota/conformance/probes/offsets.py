"""OffsetCommit and OffsetFetch: who may commit in which state, and what is fetched."""

from __future__ import annotations

from rota.conformance.dialogue import Dialogue, Member
from rota.conformance.groups import forming, stable
from rota.conformance.registry import probe
from rota.conformance.talk import (
    COMMIT,
    DELETE,
    DESCRIBE,
    FETCH,
    commit,
    delete,
    describe,
    fetch,
    topic,
)

_COMMIT = "OffsetMetadataManager#validateOffsetCommit; ClassicGroup#validateOffsetCommit"
_FETCH = "OffsetMetadataManager#fetchOffsets"
_SIMPLE = {"generation_id_or_member_epoch": -1, "member_id": ""}
_BOTH = {**COMMIT, **FETCH}


def _settled(d: Dialogue) -> Member:
    topic(d)
    a = d.member("a")
    stable(d, a)
    return a


@probe(
    "offsets.commit.member",
    "A member commits in a Stable group, and the offset can be fetched.",
    _COMMIT,
    needs=_BOTH,
)
def member_commits(d: Dialogue) -> None:
    commit(_settled(d))
    fetch(d)


@probe(
    "offsets.commit.wrong-generation",
    "A member's commit of another generation is ILLEGAL_GENERATION.",
    _COMMIT,
    needs=COMMIT,
)
def wrong_generation(d: Dialogue) -> None:
    a = _settled(d)
    commit(a, generation_id_or_member_epoch=a.generation_id + 1)
    commit(a, generation_id_or_member_epoch=a.generation_id - 1)


@probe(
    "offsets.commit.unknown-member",
    "A stranger's commit to a group with members is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    needs=COMMIT,
)
def unknown_member(d: Dialogue) -> None:
    commit(_settled(d), member_id="never-handed-out")


@probe(
    "offsets.commit.simple-live",
    "A simple consumer's commit to a group with members is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    needs=COMMIT,
)
def simple_live(d: Dialogue) -> None:
    commit(_settled(d), **_SIMPLE)


@probe(
    "offsets.commit.preparing",
    "While the members join, the old generation may commit.",
    _COMMIT,
    needs=COMMIT,
)
def preparing(d: Dialogue) -> None:
    a = _settled(d)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    commit(a)


@probe(
    "offsets.commit.completing",
    "While assignments are awaited, a commit is REBALANCE_IN_PROGRESS.",
    _COMMIT,
    needs=COMMIT,
)
def completing(d: Dialogue) -> None:
    topic(d)
    commit(forming(d, d.member("a")).leader)


@probe(
    "offsets.commit.absent-group",
    "Before version 9 a commit with a generation to a group that does not exist is ILLEGAL_GENERATION.",
    _COMMIT,
    needs={**COMMIT, "OffsetCommit": (2, 8)},
)
def absent_group(d: Dialogue) -> None:
    _commit_of_nobody(d)


@probe(
    "offsets.commit.absent-group-newer",
    "From version 9 a commit with a generation to a group that does not exist is GROUP_ID_NOT_FOUND.",
    f"KIP-848; {_COMMIT}",
    needs={**COMMIT, "OffsetCommit": (9, 9)},
)
def absent_group_newer(d: Dialogue) -> None:
    _commit_of_nobody(d)


def _commit_of_nobody(d: Dialogue) -> None:
    topic(d)
    commit(d.member("a"), generation_id_or_member_epoch=1, member_id="never-handed-out")


@probe(
    "offsets.commit.absent-simple",
    "A simple consumer's commit makes a group that does not exist.",
    _COMMIT,
    needs=_BOTH,
)
def absent_simple(d: Dialogue) -> None:
    topic(d)
    commit(d.member("a"), **_SIMPLE)
    fetch(d)


def _emptied(d: Dialogue) -> Member:
    a = _settled(d)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")
    return a


@probe(
    "offsets.commit.empty-generation",
    "A commit with a generation to an Empty group is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    needs=COMMIT,
)
def empty_generation(d: Dialogue) -> None:
    a = _emptied(d)
    commit(a)
    commit(a, generation_id_or_member_epoch=a.generation_id + 1)


@probe(
    "offsets.commit.empty-simple",
    "A commit without a generation to an Empty group is accepted, whatever the member id.",
    _COMMIT,
    needs=COMMIT,
)
def empty_simple(d: Dialogue) -> None:
    a = _emptied(d)
    commit(a, **_SIMPLE)
    commit(a, generation_id_or_member_epoch=-1)
    commit(a, generation_id_or_member_epoch=-1, member_id="never-handed-out")


@probe(
    "offsets.group-id.empty",
    "The empty group id is as good as any to commit, fetch, describe and delete.",
    "GroupCoordinatorService#commitOffsets, #fetchOffsets, #describeGroups, #deleteGroups",
    needs={**_BOTH, **DESCRIBE, **DELETE},
)
def empty_group_id(d: Dialogue) -> None:
    topic(d)
    commit(d.member("a"), group_id="", **_SIMPLE)
    fetch(d, "")
    describe(d, "")
    delete(d, "")


@probe(
    "offsets.fetch.absent-group",
    "OffsetFetch from a group that does not exist gives offset -1 and no error.",
    _FETCH,
    needs=_BOTH,
)
def fetch_absent(d: Dialogue) -> None:
    topic(d)
    fetch(d)


@probe(
    "offsets.fetch.several-groups",
    "From version 8 several groups are fetched at a time.",
    f"KIP-709; {_FETCH}",
    needs=_BOTH,
)
def fetch_several(d: Dialogue) -> None:
    commit(_settled(d))
    fetch(d, f"{d.group_id}-other", d.group_id)
