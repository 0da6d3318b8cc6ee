"""What a core and the spec of the consumer protocol are at one moment, and that it is the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rota import coordinator as core
from rota.kernel import FrozenMap
from rota.oracle import consumer_inputs as happens
from rota.oracle.consumer_inputs import Input
from rota.oracle.consumer_log import Log, Logged, entries_of
from rota.oracle.consumer_report import Seen, diverged
from rota.oracle.consumer_requests import (
    GROUP_ID,
    Cluster,
    committed,
    describe,
    listing,
)
from rota.oracle.consumer_spec import noting
from rota.oracle.consumer_translate import Words, partitions, reply
from rota.oracle.lockstep import Picks
from rota.oracle.report import Divergence
from rota.oracle.shadow import Make
from rota.spec.consumer.context import Assignment, ConsumerConfig
from rota.spec.consumer.group import AnyGroup, ClassicGroup
from rota.spec.consumer.handlers import consumer
from rota.spec.consumer.messages import Call, Listed, ReplyMessage
from rota.spec.consumer.persistence import Shard
from rota.spec.consumer.records import Written
from rota.spec.consumer.step import Arm, Reply, Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind

VIEW = "view"
"""The address of what is asked only to compare."""

BEGIN_MS = 1_000_000
TIMERS: dict[str, core.TimerKind] = {"session": "consumer_session", "rebalance": "consumer_rebalance"}


@dataclass
class Pending:
    """An append that the log has not answered, and what it will be in the log."""

    append_id: int
    logged: Logged


class ConsumerSides:
    """Core and spec, their timers and the log between them. Parameters: make, builds the core.

    Attributes: inputs, all so far; now, the virtual time; shard, the spec's; armed, timers of the spec, each
    with when it is due.
    """

    def __init__(self, make: Make = core.GroupCoordinator) -> None:
        self.now = BEGIN_MS
        self.inputs: list[Input] = []
        self.shard = Shard()
        self.armed: dict[tuple[str, str], tuple[int, Timer]] = {}
        self.cluster = Cluster()
        self._make = make
        self._picks = Picks(lambda: self.now)
        self._words = Words()
        self._log = Log(self._words)
        self._pending: list[Pending] = []
        self._due: dict[tuple[str, str], int] = {}
        self._classic_due: set[core.TimerId] = set()
        self._dialogue: list[str] = []
        self._made_at: dict[int, int] = {}
        self._serial = 0
        self._viewed: tuple[str, ...] = ()
        self._begin(happens.Settings())

    def _begin(self, settings: happens.Settings) -> None:
        self.config = core.CoordinatorConfig(
            group_consumer_max_size=settings.max_size,
            group_consumer_assignment_interval_ms=settings.interval_ms,
        )
        self.spec = noting(
            ConsumerConfig(assignment_interval_ms=settings.interval_ms, max_size=settings.max_size),
            self._chosen,
            lambda: self.now,
            self._made_at,
        )
        self._plain = consumer(self.spec.config)
        self.core = self._made()

    def _made(self) -> core.GroupCoordinator:
        made = self._make(self.config, self._picks)
        made.see_topics(self.cluster)
        return made

    # ---- what is seen

    @property
    def group(self) -> AnyGroup | None:
        """The group as the spec has it."""
        return self.shard.group

    @property
    def appends(self) -> int:
        """How many appends the log has not answered."""
        return len(self._pending)

    @property
    def batches(self) -> int:
        """How many batches the log has."""
        return len(self._log.batches)

    def _chosen(self) -> Assignment:
        group = self.core.consumer_groups.get(GROUP_ID)
        return FrozenMap(
            {} if group is None else {name: partitions(one) for name, one in group.targets.items()}
        )

    def _arm(self, effects: core.Effects, step: Step) -> None:
        for one in step.timers:
            if isinstance(one, Arm):
                self.armed[one.timer.name, one.timer.member_id] = (self.now + one.delay_ms, one.timer)
            else:
                self.armed.pop((one.name, one.member_id), None)
        self._arm_core(effects)

    def _arm_core(self, effects: core.Effects) -> None:
        for each in effects.timers:
            timer = each.timer_id
            if not timer.kind.startswith("consumer_"):
                (self._classic_due.add if isinstance(each, core.Arm) else self._classic_due.discard)(timer)
                continue
            name = timer.kind.removeprefix("consumer_")
            if isinstance(each, core.Arm):
                self._due[name, timer.member_id] = self.now + each.delay_ms
            else:
                self._due.pop((name, timer.member_id), None)

    # ---- what must be the same

    def _compare(
        self,
        effects: core.Effects,
        answers: Iterable[Reply],
        records: Sequence[Written] = (),
        stores: tuple[tuple[str, int], ...] = (),
    ) -> None:
        written = [one for each in effects.appends for one in self._records(each.record)]
        mine = Seen(
            {one.to: _listed(one.message) for one in answers},
            tuple(records),
            {name: due - self.now for name, (due, _) in self.armed.items()},
            self.group,
            stores,
        )
        theirs = Seen(
            {str(to): reply(message) for to, message in effects.replies if to != "c"},
            tuple(written),
            {name: due - self.now for name, due in self._due.items()},
            self._core_group(),
            _stores(effects),
        )
        if mine != theirs:
            raise self._diverged("", mine, theirs)
        if mine.answers:
            self._dialogue[-1] += " -> " + ", ".join(
                f"{to}: {_short(one)}" for to, one in mine.answers.items()
            )

    def _records(self, record: Any) -> list[Written]:
        return _in_order([self._words.record(one) for one in entries_of(record)])

    def _core_group(self) -> AnyGroup | None:
        if GROUP_ID in self.core.consumer_groups:
            return self._words.group(self.core.consumer_groups[GROUP_ID])
        classic = self.core.groups.get(GROUP_ID)
        return None if classic is None else ClassicGroup(classic.state is core.GroupState.EMPTY)

    def _same_view(self) -> None:
        """Descriptions and lists of the group as it is now, acknowledged or not."""
        topics = self.cluster.known()
        for one in (describe(), listing((), (), self.group)):
            if one is not None:
                (step,) = self._plain.handle(self.group, Call(one.request, 5, VIEW, topics=topics))
                ((_, message),) = one.send(self.core, VIEW).replies
                mine, theirs = _listed(step.replies[0].message), reply(message)
                if mine != theirs:
                    self._viewed = step.rules
                    raise self._diverged("", self._only(mine), self._only(theirs))

    def _only(self, message: ReplyMessage) -> Seen:
        return Seen({VIEW: message}, (), {}, self.group)

    def _same_offsets(self, upto: int) -> None:
        """The offsets that so many batches of the log have."""
        mine, theirs = self._log.committed(upto), committed(self.core)
        if mine != theirs:
            raise self._diverged(f"the core has offsets of {sorted(theirs)}, not of {sorted(mine)}")

    def _diverged(self, what: str, mine: Seen | None = None, theirs: Seen | None = None) -> Divergence:
        return diverged(what, self._dialogue, self.spec, self._viewed, mine, theirs)


def _stores(effects: core.Effects) -> tuple[tuple[str, int], ...]:
    """The partitions of which offsets are appended."""
    batches = [each.record for each in effects.appends if isinstance(each.record, core.OffsetBatch)]
    return tuple(
        (one.topic, one.partition_index)
        for batch in batches
        for one in batch.records
        if isinstance(one, core.OffsetRecord)
    )


def _in_order(records: list[Written]) -> list[Written]:
    """Targets of members that stand together, in the order of their ids."""
    places = [
        place
        for place, one in enumerate(records)
        if one.kind is RecordKind.MEMBERS_TARGET and one.value is not None
    ]
    for place, one in zip(
        places, sorted((records[each] for each in places), key=lambda each: each.member_id), strict=True
    ):
        records[place] = one
    return records


def _listed(message: ReplyMessage) -> ReplyMessage:
    """Who is not in the list is of no type."""
    return Listed(None) if isinstance(message, Listed) and message.group_state is None else message


def _short(message: ReplyMessage) -> str:
    error = getattr(message, "error_code", None)
    if isinstance(error, ErrorCode) and error is not ErrorCode.NONE:
        return error.name
    epoch = getattr(message, "member_epoch", None)
    return "ok" if epoch is None else f"ok at {epoch}"
