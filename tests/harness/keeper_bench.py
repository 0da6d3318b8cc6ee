"""A group and the machine that keeps its offsets in the world: requests in, answers out, and a log that
answers when it is told to.

It stands beside `rota.stage`, which keeps offsets as the rules alone say: here the world's own keeper
does, with its line, its promises and its fail-overs, so that both are tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rota.environment.broker.offsets import OffsetsKeeper, OffsetsKept
from rota.environment.messages import Moved, OffsetsThere, Read, Unused
from rota.kernel import FrozenMap, RuleTable
from rota.spec import (
    PROFILES,
    RULES,
    BrokerConfig,
    Call,
    Group,
    GroupRecord,
    GroupState,
    Hosting,
    Member,
    Profile,
    ProtocolMetadata,
    Step,
    classic,
)
from rota.spec.offset_messages import (
    FetchedPartition,
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)
from rota.spec.offset_state import Committed, GroupForgotten, OffsetRecord, RetentionCheck, TransactionEnd
from rota.spec.vocabulary import AppendError, ErrorCode

JAVA, SCALA, OLD = "kafka-4.x", "kafka-3.x", "kafka-2.1"
BOTH = (JAVA, SCALA)
RETENTION = 604_800_000


def subscription(*topics: str) -> bytes:
    """A consumer's metadata as its first version writes them."""
    names = b"".join(len(t).to_bytes(2, "big") + t.encode() for t in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


def group(
    state: GroupState, *topics: str, generation: int = 2, instance: str | None = None, kind: str = "consumer"
) -> Group:
    """A group with the members m1 and m2 (none if Empty), which are subscribed to topics."""
    metadata = subscription(*topics)
    members = {
        f"m{n}": Member(
            60_000,
            10_000,
            (ProtocolMetadata("range", metadata),),
            assignment=b"mine",
            group_instance_id=instance if n == 1 else None,
        )
        for n in (1, 2)
    }
    known = (metadata, metadata) if kind == "consumer" else None
    if state is GroupState.EMPTY:
        return Group(state, generation, kind, subscriptions=() if kind == "consumer" else None)
    return Group(state, generation, kind, "range", "m1", FrozenMap(members), subscriptions=known)


def topics(**offsets: int | OffsetCommitPartition) -> tuple[OffsetCommitTopic, ...]:
    """t=5: offset 5 for partition 0 of topic t."""
    lines = {n: OffsetCommitPartition(0, one) if isinstance(one, int) else one for n, one in offsets.items()}
    return tuple(OffsetCommitTopic(name, (line,)) for name, line in lines.items())


class KeeperBench:
    """A group under a profile, with its offsets. `log`: group records; `rules`: what has fired, in order."""

    def __init__(
        self,
        profile: str | Profile = JAVA,
        group: Group | None = None,
        rules: RuleTable = RULES,
        **config: int,
    ) -> None:
        chosen = PROFILES[profile] if isinstance(profile, str) else profile
        self.spec = classic(BrokerConfig(**config), profile=chosen, rules=rules)
        self.keeper = OffsetsKeeper(self.spec, AppendError.NOT_ENOUGH_REPLICAS)
        self.group = group
        self.kept = OffsetsKept()
        self.told: list[Any] = []
        self.log: list[GroupRecord] = []
        self.rules: list[str] = []
        self.timers: list[Any] = []

    def call(self, request: Any, version: int = 9, now: int = 0, hosting: Hosting = Hosting.ACTIVE) -> Any:
        """A request arrives. Returns the answer, None if it waits."""
        before = len(self.told)
        call = Call(request, "a", version, hosting=hosting, now_ms=now)
        (step,) = self.spec.handle(self.group, call)
        self._take(step)
        return self.told[-1] if len(self.told) > before else None

    def commit(self, version: int = 9, now: int = 0, hosting: Hosting = Hosting.ACTIVE, **fields: Any) -> Any:
        """OffsetCommit, of offset 5 for t-0 where nothing else is said. Returns the first error, None if it
        waits for the log."""
        fields.setdefault("topics", topics(t=5))
        reply = self.call(OffsetCommitRequest("g", **_named(fields)), version, now, hosting)
        return None if reply is None else reply.error_code

    def txn(self, producer: int = 1, version: int = 3, **fields: Any) -> Any:
        """TxnOffsetCommit, as `commit`."""
        fields.setdefault("topics", topics(t=5))
        fields.setdefault("group_id", "g")
        reply = self.call(TxnOffsetCommitRequest(producer_id=producer, **fields), version)
        return None if reply is None else reply.error_code

    def fetch(self, name: str | None = "t", stable: bool = False) -> Any:
        """OffsetFetch. Returns the offset of partition 0, its error, None if the answer waits; {} of all for
        name None."""
        asked = None if name is None else (TopicPartitions(name, (0,)),)
        reply = self.call(OffsetFetchRequest("g", asked, stable), 8)
        return None if reply is None else fetched(reply, name is None)

    def delete(self, *names: str) -> Any:
        """OffsetDelete of partition 0. Returns the errors, one for the whole if it is one."""
        asked = tuple(TopicPartitions(name, (0,)) for name in names)
        reply = self.call(OffsetDeleteRequest("g", asked), 0)
        return None if reply is None else outcome(reply)

    def end(self, producer: int = 1, committed: bool = True) -> None:
        """A transaction's marker is written, behind what is in flight."""
        (outcome,) = self.keeper.receive(self.kept, "test", TransactionEnd(producer, committed))
        self._follow(outcome)

    def store(self, error: AppendError | None = None, pick: int = 0) -> Any:
        """The log answers everything that is in flight. Returns the last answer."""
        before = len(self.told)
        while self.log or self.kept.line:
            if self.kept.line and not isinstance(self.kept.line[0], GroupForgotten):
                self._answer(error, pick)
            else:
                (step,) = self.spec.appended(self.group, self.log.pop(0), error)
                self._take(step)
        return self.told[-1] if len(self.told) > before else None

    def _answer(self, error: AppendError | None, pick: int) -> None:
        keeper = self.keeper if error is None else replace(self.keeper, failure=error)
        outcomes = keeper._answers(self.kept)
        self._follow(outcomes[0] if error is None or len(outcomes) == 1 else outcomes[1:][pick])

    def fail_over(self, survive: int = 0) -> None:
        """Another broker reads what has reached it: so many of what is in flight, of the group nothing."""
        self.group = None
        self._follow(self.keeper.receive(self.kept, "coordinator", Moved(()))[survive])
        (outcome,) = self.keeper.receive(self.kept, "coordinator", Read())
        self._follow(outcome)

    def check(self, now: int = RETENTION, since: int | None = None) -> None:
        """It is time to look what has expired."""
        if self.group is not None:
            (step,) = self.spec.retention(self.group, RetentionCheck(now, since))
            self._take(step)

    def stored(self, **offsets: int) -> KeeperBench:
        """With these offsets of partitions 0 stored at time 0."""
        for line in topics(**offsets):
            record = record_of(line.name, line.partitions[0].committed_offset)
            self.kept = replace(self.kept, offsets=self.kept.offsets.stored(record))
        return self

    @property
    def committed(self) -> dict[str, int]:
        """What is stored, by topic."""
        return {key[0]: one.committed_offset for key, one in self.kept.offsets.committed.items()}

    def _take(self, step: Step) -> None:
        self.group = step.group
        self.log += step.records
        self.timers += step.timers
        self.rules += step.rules
        self.told += [reply.message for reply in step.replies]
        for word in step.offsets:
            (outcome,) = self.keeper.receive(self.kept, "coordinator", word)
            self._follow(outcome)

    def _follow(self, outcome: Any) -> None:
        self.kept = outcome.value
        self.rules += outcome.rules
        for send in outcome.sends:
            if isinstance(send.message, Unused):
                (step,) = self.spec.unused(self.group)
                self._take(step)
            elif isinstance(send.message, OffsetsThere):
                if self.group is None:
                    (step,) = self.spec.offsets_found(self.group)
                    self._take(step)
            elif send.to != "budget":
                self.told.append(send.message)


def record_of(topic: str, offset: int, at_ms: int = 0, expires_ms: int | None = None) -> OffsetRecord:
    """A record for partition 0."""
    value = Committed(offset, commit_timestamp_ms=at_ms, expire_timestamp_ms=expires_ms)
    return OffsetRecord(topic, 0, value)


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    renamed = {"generation": "generation_id_or_member_epoch"}
    return {renamed.get(name, name): value for name, value in fields.items()}


def fetched(reply: Any, everything: bool = False) -> Any:
    """The offset or error of the only partition of a fetch, or all of them by topic."""
    if reply.error_code is not ErrorCode.NONE:
        return reply.error_code
    lines = {topic.name: _line(topic.partitions[0]) for topic in reply.topics}
    return lines if everything else next(iter(lines.values()))


def _line(line: FetchedPartition) -> int | ErrorCode:
    return line.committed_offset if line.error_code is ErrorCode.NONE else line.error_code


def outcome(reply: Any) -> Any:
    """The errors of an OffsetDelete by topic, or the one for the whole."""
    if reply.error_code is not ErrorCode.NONE:
        return reply.error_code
    return {topic.name: topic.partitions[0].error_code for topic in reply.topics}
