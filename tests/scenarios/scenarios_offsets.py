"""Scenarios 9, 16b and 24: offsets are committed, fetched, and expire."""

from __future__ import annotations

from rota.spec.vocabulary import AppendError
from rota.stage import Stage
from scenarios.scenario_list import BROKER, CODES, GUIDE, scenario

COMMIT = f"{GUIDE}: OffsetCommit"
WEEK = 7 * 24 * 60 * 60 * 1_000


@scenario("09a", f"{COMMIT}; KIP-62", alone=True)
def commit_while_a_rebalance_is_prepared(stage: Stage) -> None:
    """A rebalance is being prepared. Until it is complete the old generation is the current one, and its
    members may commit what they have read before they join again. Who waits too long is refused: in
    CompletingRebalance with the old generation, and with the new one until the group is Stable."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    newcomer = b.enter()
    assert a.heartbeat().error == "REBALANCE_IN_PROGRESS"
    assert stage.state == "PreparingRebalance 1"
    assert a.commit(("t", 0, 5), ("t", 1, 7)).error == "NONE"
    assert stage.left("session", a) == 10_000
    assert [one.reply.generation_id for one in (a.join(), newcomer)] == [2, 2]
    assert a.commit(("t", 0, 6), generation_id_or_member_epoch=1).error == "ILLEGAL_GENERATION"
    assert a.commit(("t", 0, 6)).error == "REBALANCE_IN_PROGRESS"
    stage.settle(a, b)
    assert b.fetch(("t", 0), ("t", 1)).offsets == {"t-0": (5, "NONE"), "t-1": (7, "NONE")}
    assert b.commit(("t", 1, 8)).error == "NONE"


@scenario("09b", f"{COMMIT}; {CODES}", alone=True)
def who_may_commit(stage: Stage) -> None:
    """While a group has members only they may commit, and only with the current generation. Once it is Empty
    anybody may who names no generation."""
    a, stranger = stage.client("A"), stage.client("S")
    stage.stable(a)
    assert stranger.commit().error == "UNKNOWN_MEMBER_ID"
    assert stranger.commit(member_id="made up", generation_id_or_member_epoch=1).error == "UNKNOWN_MEMBER_ID"
    assert a.commit(generation_id_or_member_epoch=2).error == "ILLEGAL_GENERATION"
    assert a.commit(("t", 0, 5)).error == "NONE"
    a.leave()
    assert a.commit(("t", 0, 6)).error == "UNKNOWN_MEMBER_ID"
    assert stranger.commit(("t", 0, 4)).error == "NONE"
    assert stranger.fetch(("t", 0)).offsets == {"t-0": (4, "NONE")}, "the last one counts, not the highest"


@scenario("09c", f"{COMMIT}; {GUIDE}: OffsetFetch; KIP-447", alone=True)
def commit_waits_for_the_log(stage: Stage) -> None:
    """A commit is answered when the log has it. Until then a fetch sees the offset that was there before; one
    that asks for stable offsets waits. If the log fails, the commit fails and nothing has changed."""
    a = stage.client("A")
    stage.stable(a)
    a.commit(("t", 0, 5))
    stage.log_answers = False
    committing = a.commit(("t", 0, 6))
    assert committing.waits
    assert a.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}
    patient = a.fetch(("t", 0), stable=True)
    assert patient.waits
    stage.log(AppendError.NOT_ENOUGH_REPLICAS)
    assert committing.error == "COORDINATOR_NOT_AVAILABLE"
    assert patient.offsets == {"t-0": (5, "NONE")}


@scenario("16b", f"KIP-211; {BROKER}: offsets.retention.minutes", alone=True)
def offsets_of_an_empty_group_expire(stage: Stage) -> None:
    """Nobody is in a group any more, but its offsets are kept for the retention time, counted from when the
    last member left. Then they go, and with them the group; the broker looks for such offsets every ten
    minutes. Who comes later begins with generation 1 in a group of that name that has no offsets."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    a.commit(("t", 0, 5))
    stage.wait(5_000)
    a.leave()
    left = stage.now
    stage.wait(WEEK - 1)
    stage.look_for_expired()
    assert stage.state == "Empty 2"
    assert b.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}
    stage.wait(1)
    assert stage.now - left == WEEK
    stage.look_for_expired()
    assert stage.group is None
    assert b.fetch(("t", 0)).offsets == {"t-0": (-1, "NONE")}
    assert b.describe().reply.group_state == "Dead"
    stage.generation(b)
    assert b.generation == 1


@scenario("16c", f"{GUIDE}: DeleteGroups; KIP-229", alone=True)
def operator_deletes_a_group(stage: Stage) -> None:
    """An operator deletes a group. That works only when nobody is in it; the offsets go with it. A client
    that was given a member id just before and had not used it is unknown then."""
    a, late, operator = stage.client("A"), stage.client("B"), stage.client("O")
    stage.stable(a)
    a.commit(("t", 0, 5))
    assert operator.delete_group().error == "NON_EMPTY_GROUP"
    a.leave()
    assert late.join().error == "MEMBER_ID_REQUIRED"
    assert operator.delete_group().error == "NONE"
    assert stage.group is None
    assert operator.fetch(("t", 0)).offsets == {"t-0": (-1, "NONE")}
    assert late.join().error == "UNKNOWN_MEMBER_ID"


@scenario("16d", f"{GUIDE}: OffsetDelete; KIP-496", alone=True)
def operator_deletes_offsets(stage: Stage) -> None:
    """An operator deletes offsets of topics. Of a group of consumers those may go that nobody is subscribed
    to; of other members it is not known what they use, so none may. That there was no offset is no error,
    and nothing is written then. The nameless group, which may commit, may not be asked."""
    a, operator = stage.client("A", topics=("bar",)), stage.client("O")
    assert operator.delete_offsets(("foo", 0)).error == "GROUP_ID_NOT_FOUND"
    stage.stable(a)
    a.commit(("foo", 0, 5), ("bar", 0, 6))
    deleted = operator.delete_offsets(("foo", 0), ("bar", 0))
    assert deleted.errors == ["NONE", "GROUP_SUBSCRIBED_TO_TOPIC"]
    assert a.fetch().offsets == {"bar-0": (6, "NONE")}
    before = len(stage.happenings)
    assert operator.delete_offsets(("foo", 0)).error == "NONE"
    assert not any(one.line for one in stage.happenings[before:])
    stage.group_id = ""
    assert operator.delete_offsets(("foo", 0)).error == "INVALID_GROUP_ID"
    stage.group_id = "g"
    a.leave()
    other = stage.client("B", protocol_type="other")
    stage.generation(other)
    assert operator.delete_offsets(("bar", 0)).error == "NON_EMPTY_GROUP"


@scenario("16e", f"{GUIDE}: OffsetDelete; upstream GroupMetadata#removeOffsets (3.x)", profile="kafka-3.x")
def deletion_that_does_not_wait(stage: Stage) -> None:
    """A broker of 3.x deletes an offset from its memory and answers at once: the log is told, not asked."""
    a, operator = stage.client("A", topics=("bar",)), stage.client("O")
    stage.stable(a)
    a.commit(("foo", 0, 5))
    stage.log_answers = False
    assert operator.delete_offsets(("foo", 0)).error == "NONE"
    assert operator.fetch(("foo", 0)).offsets == {"foo-0": (-1, "NONE")}


@scenario("16f", f"{GUIDE}: DeleteGroups; upstream CoordinatorRuntime", alone=True)
def deletion_is_not_stored(stage: Stage) -> None:
    """A group is deleted, and the log does not answer. Until it does the offsets are still there for those
    who read. The log fails: whoever deletes is told, the group is back, and its offsets were never gone."""
    a, operator = stage.client("A"), stage.client("O")
    stage.stable(a)
    a.commit(("t", 0, 5))
    a.leave()
    stage.log_answers = False
    deleted = operator.delete_group()
    assert deleted.waits
    assert operator.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}
    stage.log(AppendError.NOT_ENOUGH_REPLICAS)
    assert deleted.error == "COORDINATOR_NOT_AVAILABLE"
    assert stage.state == "Empty 2"
    assert operator.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}


@scenario(
    "16g",
    f"KIP-211; {BROKER}: offsets.retention.minutes; KAFKA-13636",
    alone=True,
    offsets_retention_ms=20_000,
)
def offsets_that_nobody_reads_expire(stage: Stage) -> None:
    """A consumer without group management commits to a group of its own: each offset expires a retention time
    after its commit. In a Stable group of consumers the offsets of topics that nobody is subscribed to any
    more expire like that, too, the others never; while the group rebalances nothing does."""
    simple = stage.client("S")
    simple.commit(("old", 0, 1))
    stage.wait(10_000)
    simple.commit(("new", 0, 2))
    stage.wait(10_000)
    stage.look_for_expired()
    assert simple.fetch().offsets == {"new-0": (2, "NONE")}
    a = stage.client("A", topics=("new",), session=60_000)
    b = stage.client("B", topics=("new",), session=60_000)
    stage.generation(a)
    stage.settle(a)
    a.commit(("other", 0, 3))
    stage.wait(20_000)
    b.enter()
    stage.look_for_expired()
    assert stage.state == "PreparingRebalance 1"
    assert a.fetch().offsets == {"new-0": (2, "NONE"), "other-0": (3, "NONE")}
    a.join()
    stage.settle(a, b)
    stage.look_for_expired()
    assert a.fetch().offsets == {"new-0": (2, "NONE")}


@scenario("16i", f"KIP-211; {BROKER}: offsets.retention.minutes", alone=True)
def first_commit_is_under_way(stage: Stage) -> None:
    """A consumer without group management makes its first commit, and before the log has answered the broker
    looks for groups that nobody needs. This one has no offset yet, and stays: the commit that is accepted in
    the end must not be gone."""
    simple = stage.client("S")
    stage.log_answers = False
    committing = simple.commit(("t", 0, 5))
    assert committing.waits
    stage.look_for_expired()
    assert stage.state == "Empty 0"
    stage.log()
    assert committing.error == "NONE"
    assert simple.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}


@scenario("24a", f"{GUIDE}: TxnOffsetCommit; KIP-447", alone=True)
def offsets_in_a_transaction(stage: Stage) -> None:
    """A member commits its offsets in a producer's transaction, with what it has produced from them. They
    count when the transaction is committed; until then the old ones do, and who asks for stable offsets is
    told that these are not. The member may do so even in CompletingRebalance, and it is no sign of life."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    a.commit(("t", 0, 5))
    stage.wait(1_000)
    assert a.commit_in(7, ("t", 0, 9)).error == "NONE"
    assert stage.left("session", a) == 9_000
    assert b.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}
    assert b.fetch(("t", 0), stable=True).offsets == {"t-0": (-1, "UNSTABLE_OFFSET_COMMIT")}
    stage.end_transaction(7, committed=True)
    assert b.fetch(("t", 0), stable=True).offsets == {"t-0": (9, "NONE")}


@scenario("24b", f"{GUIDE}: TxnOffsetCommit; upstream OffsetMetadataManager#replay", alone=True)
def a_later_commit_wins_over_a_transaction(stage: Stage) -> None:
    """Offsets that were committed after those of an open transaction stay when the transaction is committed:
    the order in the log decides. And an aborted transaction leaves nothing behind."""
    a = stage.client("A")
    stage.stable(a)
    a.commit_in(7, ("t", 0, 9), ("t", 1, 9))
    a.commit(("t", 0, 5))
    stage.end_transaction(7, committed=True)
    assert a.fetch().offsets == {"t-0": (5, "NONE"), "t-1": (9, "NONE")}
    a.commit_in(8, ("t", 1, 12))
    stage.end_transaction(8, committed=False)
    assert a.fetch(("t", 1), stable=True).offsets == {"t-1": (9, "NONE")}


@scenario("24c", f"{GUIDE}: TxnOffsetCommit; {CODES}; KIP-447", alone=True)
def who_may_commit_in_a_transaction(stage: Stage) -> None:
    """In a transaction, too, only a member may commit who names itself, and only with the current
    generation. A producer that names nobody is believed, as before there were names in this request. The
    nameless group, to which a plain commit goes, is refused."""
    a, producer = stage.client("A"), stage.client("P")
    assert producer.commit_in(7, generation_id=1, member_id="made up").error == "ILLEGAL_GENERATION"
    stage.stable(a)
    assert a.commit_in(7, ("t", 0, 9)).error == "NONE"
    assert a.commit_in(7, generation_id=2).error == "ILLEGAL_GENERATION"
    assert producer.commit_in(7, generation_id=1, member_id="made up").error == "UNKNOWN_MEMBER_ID"
    assert producer.commit_in(8, ("t", 1, 3)).error == "NONE"
    stage.group_id = ""
    assert producer.commit_in(7).error == "INVALID_GROUP_ID"


@scenario("24d", f"{GUIDE}: TxnOffsetCommit, OffsetFetch; KIP-447", alone=True)
def two_producers_at_once(stage: Stage) -> None:
    """Two producers have transactions open, and the one with the higher id began first. Each ends its own
    offsets and no others. Who asks for all stable offsets, without naming any, is told of those that a
    transaction may still change; what is only pending is not among all there are."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    a.commit(("t", 0, 5), ("t", 1, 5))
    a.commit_in(8, ("t", 0, 9))
    b.commit_in(7, ("t", 1, 9), ("t", 2, 9))
    unstable = (-1, "UNSTABLE_OFFSET_COMMIT")
    assert b.fetch(stable=True).offsets == {"t-0": unstable, "t-1": unstable}
    stage.end_transaction(8, committed=False)
    assert b.fetch(stable=True).offsets == {"t-0": (5, "NONE"), "t-1": unstable}
    stage.end_transaction(7, committed=True)
    assert b.fetch(stable=True).offsets == {"t-0": (5, "NONE"), "t-1": (9, "NONE"), "t-2": (9, "NONE")}
