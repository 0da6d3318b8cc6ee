"""Offsets of consumer groups: who commits and fetches is fenced by its epoch."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER
from rota.conformance.steps.consumer import (
    Consumer,
    alone,
    asked_to_give_up,
    commit,
    expect_committed,
    expect_described,
    expect_fetched,
    expect_refused,
    fetch,
    joined,
    shared,
)
from rota.conformance.steps.consumer_case import BY_NAME, rule_case
from rota.conformance.steps.consumer_topics import own_topic, topic

_COMMIT = "KIP-848; ConsumerGroup.validateOffsetCommit"
_MANAGER = "OffsetMetadataManager.validateOffsetCommit"
_FETCH = "KIP-848; ConsumerGroup.validateOffsetFetch"
_DELETE = "OffsetMetadataManager.deleteOffsets"

_OLDER = {"OffsetCommit": (8, 8)}
NOBODY = ""


@rule_case(
    "offsets.commit.at-its-epoch",
    "A member's commit at its epoch is stored, and every fetch tells it.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def commits(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_committed(d, commit(a, a.epoch, subject, [0, 1], 11), "NONE")
    for index in (0, 1):
        expect_fetched(d, fetch(a, subject, index), 11)


@rule_case(
    "offsets.commit.others-partition",
    "At the member's epoch nobody asks whose partition it is.",
    _COMMIT,
    needs=BY_NAME,
)
def commits_for_others(d: Dialogue) -> None:
    a, b, subject = shared(d)
    ((_, index),) = b.held
    expect_committed(d, commit(a, a.epoch, subject, [index]), "NONE")


@rule_case(
    "offsets.commit-ahead.refused",
    "A commit at an epoch that the member has not reached is STALE_MEMBER_EPOCH, and stores nothing.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def commits_ahead(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_committed(d, commit(a, a.epoch + 1, subject, [0]), "STALE_MEMBER_EPOCH")
    expect_fetched(d, fetch(a, subject), -1)


@rule_case(
    "offsets.commit-stale.never-had",
    "A commit at an older epoch of what the member has had for a shorter time is STALE_MEMBER_EPOCH.",
    f"KIP-1251; {_COMMIT}",
    level=Level.MUST,
    needs=BY_NAME,
)
def commits_what_it_never_had(d: Dialogue) -> None:
    _, b, subject = shared(d)
    ((_, index),) = b.held
    expect_committed(d, commit(b, b.epoch - 1, subject, [index]), "STALE_MEMBER_EPOCH")
    expect_fetched(d, fetch(b, subject, index), -1)


@rule_case(
    "offsets.commit-stale.had-since",
    "A commit at an older epoch of what the member has had since then is stored.",
    f"KIP-1251; {_COMMIT}",
    needs=BY_NAME,
)
def commits_what_it_had(d: Dialogue) -> None:
    a, _, subject = shared(d)
    ((_, index),) = a.held
    expect_committed(d, commit(a, a.epoch - 1, subject, [index]), "NONE")
    expect_fetched(d, fetch(a, subject, index), 7)


@otherwise(
    f"{CONSUMER}.offsets.commit-stale.had-since",
    "commits_at_its_epoch_alone",
    "A commit at an older epoch is STALE_MEMBER_EPOCH, also of what the member has had since then.",
)
def commits_at_its_epoch_alone(d: Dialogue) -> None:
    a, _, subject = shared(d)
    ((_, index),) = a.held
    expect_committed(d, commit(a, a.epoch - 1, subject, [index]), "STALE_MEMBER_EPOCH")
    expect_fetched(d, fetch(a, subject, index), -1)


@rule_case(
    "offsets.commit-stale.one-of-two",
    "One partition that is too new for an older epoch fails the whole commit.",
    f"KIP-1251; {_COMMIT}",
    needs=BY_NAME,
)
def one_of_two(d: Dialogue) -> None:
    a, _, subject = shared(d)
    expect_committed(d, commit(a, a.epoch - 1, subject, [0, 1]), "STALE_MEMBER_EPOCH")
    for index in (0, 1):
        expect_fetched(d, fetch(a, subject, index), -1)


@rule_case(
    "offsets.commit.while-it-gives-up",
    "A partition that a member was told to give up it may still commit.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def while_it_gives_up(d: Dialogue) -> None:
    a, _, subject, _ = asked_to_give_up(d)
    expect_committed(d, commit(a, a.epoch, subject, [0, 1]), "NONE")


@rule_case(
    "offsets.commit-of-nobody.stranger",
    "A commit of who is not in the group is UNKNOWN_MEMBER_ID, and stores nothing.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def stranger_commits(d: Dialogue) -> None:
    a, subject = alone(d)
    stranger = Consumer(d, "stranger")
    for epoch in (a.epoch, -1):
        expect_committed(d, commit(stranger, epoch, subject, [0]), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, fetch(a, subject), -1)


@rule_case(
    "offsets.commit-of-nobody.unnamed",
    "While a group has members a commit that names nobody is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def unnamed_commits(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_committed(d, commit(a, -1, subject, [0], member_id=NOBODY), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, fetch(a, subject), -1)


@rule_case(
    "offsets.commit-too-old-a-version.member",
    "A version that knows no member epochs is no way for a member to commit: UNSUPPORTED_VERSION.",
    _COMMIT,
    needs=_OLDER,
)
def older_version(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_committed(d, commit(a, a.epoch, subject, [0]), "UNSUPPORTED_VERSION")


@rule_case(
    "offsets.commit-while-empty.anybody",
    "An empty group takes a commit without an epoch, as an administrator makes one.",
    _COMMIT,
    level=Level.MUST,
    needs=BY_NAME,
)
def while_empty(d: Dialogue) -> None:
    a, subject = alone(d)
    with d.reaching("an empty group"):
        a.leave()
    expect_committed(d, commit(a, -1, subject, [0], 5, member_id=NOBODY), "NONE")
    expect_fetched(d, fetch(a, subject), 5)


@rule_case(
    "offsets.commit-without-group.at-an-epoch",
    "A commit at an epoch to a group that is not there is GROUP_ID_NOT_FOUND.",
    _MANAGER,
    needs=BY_NAME,
)
def without_group(d: Dialogue) -> None:
    expect_committed(d, commit(Consumer(d, "a"), 1, topic(d, 2), [0]), "GROUP_ID_NOT_FOUND")


@rule_case(
    "offsets.commit-without-group.older-version",
    "Older versions are told ILLEGAL_GENERATION instead, which their clients know.",
    _MANAGER,
    needs=_OLDER,
)
def without_group_older(d: Dialogue) -> None:
    expect_committed(d, commit(Consumer(d, "a"), 1, topic(d, 2), [0]), "ILLEGAL_GENERATION")


@rule_case(
    "offsets.first-of-a-simple-group.is-classic",
    "A commit without an epoch to a group that is not there is stored, and makes none of this protocol.",
    _MANAGER,
    needs=BY_NAME,
)
def simple_group(d: Dialogue) -> None:
    a, subject = Consumer(d, "a"), topic(d, 2)
    expect_committed(d, commit(a, -1, subject, [0], member_id=NOBODY), "NONE")
    expect_described(d, "GROUP_ID_NOT_FOUND")


@rule_case(
    "offsets.fetch.member",
    "A member that names its epoch is told the offsets.",
    _FETCH,
    level=Level.MUST,
    needs=BY_NAME,
)
def member_fetches(d: Dialogue) -> None:
    a, subject = alone(d)
    with d.reaching("an offset", f"{CONSUMER}.offsets.commit"):
        expect_committed(d, commit(a, a.epoch, subject, [0]), "NONE")
    expect_fetched(d, fetch(a, subject, member_id=a.id, member_epoch=a.epoch), 7)


@rule_case(
    "offsets.fetch-stale.other-epoch",
    "A fetch that names another epoch than the member's is STALE_MEMBER_EPOCH.",
    _FETCH,
    level=Level.MUST,
    needs=BY_NAME,
)
def stale_fetch(d: Dialogue) -> None:
    a, subject = alone(d)
    for epoch in (a.epoch - 1, a.epoch + 1):
        found = fetch(a, subject, member_id=a.id, member_epoch=epoch)
        expect_refused(d, found, "STALE_MEMBER_EPOCH")


@rule_case(
    "offsets.fetch-of-nobody.stranger",
    "A fetch that names who is not in the group is UNKNOWN_MEMBER_ID.",
    _FETCH,
    level=Level.MUST,
    needs=BY_NAME,
)
def stranger_fetches(d: Dialogue) -> None:
    a, subject = alone(d)
    for name in ("stranger", ""):
        found = fetch(a, subject, member_id=name, member_epoch=a.epoch)
        expect_refused(d, found, "UNKNOWN_MEMBER_ID")


@rule_case(
    "offsets.fetch-unnamed.anyone",
    "A fetch that names nobody is answered, as that of an administrator is.",
    _FETCH,
    level=Level.MUST,
    needs=BY_NAME,
)
def unnamed_fetch(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_fetched(d, fetch(a, subject, member_id=None, member_epoch=-1), -1)
    expect_fetched(d, fetch(a, subject), -1)


def _delete_offset(d: Dialogue, name: str) -> str:
    asked = {"topics": [{"name": name, "partitions": [{"partition_index": 0}]}]}
    reply = d.member("admin").send("OffsetDelete", asked).answer()
    return error_name(reply["topics"].only()["partitions"].only()["error_code"])


_DELETES = {**BY_NAME, "OffsetDelete": (0, 0)}


@rule_case(
    "offsets.delete-subscribed.kept",
    "Offsets of a topic that a member subscribes to are not deleted: GROUP_SUBSCRIBED_TO_TOPIC.",
    _DELETE,
    level=Level.MUST,
    needs=_DELETES,
)
def subscribed_kept(d: Dialogue) -> None:
    a, subject = alone(d)
    with d.reaching("an offset", f"{CONSUMER}.offsets.commit"):
        expect_committed(d, commit(a, a.epoch, subject, [0]), "NONE")
    error = _delete_offset(d, subject.name)
    d.require(error == "GROUP_SUBSCRIBED_TO_TOPIC", "GROUP_SUBSCRIBED_TO_TOPIC", error)
    expect_fetched(d, fetch(a, subject), 7)


@rule_case(
    "offsets.delete.other-topic",
    "Offsets of a topic that nobody subscribes to are deleted, also while the group has members.",
    _DELETE,
    needs=_DELETES,
)
def others_deleted(d: Dialogue) -> None:
    other = own_topic(d, "u", 1)
    a = joined(d, "a", topic(d, 2))
    with d.reaching("an offset", f"{CONSUMER}.offsets.commit"):
        expect_committed(d, commit(a, a.epoch, other, [0]), "NONE")
    error = _delete_offset(d, other.name)
    d.require(error == "NONE", "NONE", error)
    expect_fetched(d, fetch(a, other), -1)
