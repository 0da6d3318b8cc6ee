"""What a server forgets or mixes up over a restart, a case of that rule sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from harness.kept_server import KeptServer, kept_target, three_strangers
from harness.patched import Bug, Original
from harness.thinned import some
from rota.conformance.cases import cluster, restart_expiry, restart_groups
from rota.conformance.cases import expiry as cases_of_expiry
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.script import Case
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.steps.membership import SHORT_SESSIONS
from rota.conformance.targets.target import Target
from rota.coordinator import Group, expiry, join, loading, rebalance, session_timers
from rota.coordinator.effects import GroupRecord
from rota.log import cleaner
from rota.log.group_replay import Replay
from rota.log.partition import PartitionFiles
from rota.server import groups, storage


def verdict(target: Target, case: Case) -> Verdict:
    with closing(target):
        (result,) = play_all([case], target, Options(seed=1, patience=2), {})
    return result.verdict


def case_called(id: str) -> Case:
    (case,) = select(all_cases(), [id])
    return case


RESTARTS = [case for case in all_cases() if case.restarts and case.brokers == 1 and case.seconds < 60]


def test_a_server_that_keeps_all_passes_every_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart_groups, "_SESSION", 3000)
    monkeypatch.setattr(restart_groups, "_SILENT", 0.5)
    cases = [replace(case, settings={**case.settings, **SHORT_SESSIONS}) for case in RESTARTS]
    with closing(kept_target()) as target:
        results = list(play_all(cases, target, Options(seed=1), {}))
    assert {result.case.id: result.verdict for result in results if result.verdict is not Verdict.PASS} == {}
    assert len(results) == len(cases) > 25


def of_records(change: Callable[[Any], Any]) -> Callable[[Original], Original]:
    """A group's record is read otherwise than it was written."""

    def plant(original: Original) -> Original:
        return lambda step, group_id, record: original(
            step, group_id, None if record is None else change(record)
        )

    return plant


def of_members(**changes: Any) -> Callable[[Original], Original]:
    """Something of each member is not read."""
    return of_records(
        lambda record: replace(record, members=tuple(replace(each, **changes) for each in record.members))
    )


def nothing(_original: Original) -> Original:
    return lambda *_: None


def swapped(record: Any) -> Any:
    shares = [each.assignment for each in record.members]
    members = zip(record.members, shares[1:] + shares[:1], strict=True)
    return replace(record, members=tuple(replace(each, assignment=share) for each, share in members))


def other_leader(record: Any) -> Any:
    others = [each.member_id for each in record.members if each.member_id != record.leader]
    return replace(record, leader=others[0] if others else record.leader)


def first_counts(original: Original) -> Original:
    def put(self: Any, record: Any) -> None:
        if record[2] is None or record[1] not in self._live:
            original(self, record)

    return put


def deleted_for_nothing(original: Original) -> Original:
    return lambda self, record: original(self, record) if record[2] is not None else None


def emptied(_original: Original) -> Original:
    return lambda *_: b""


def but_the_last(original: Original) -> Original:
    return lambda self, *arguments: list(original(self, *arguments))[:-1]


def of_offsets(**changes: Any) -> Callable[[Original], Original]:
    return lambda original: lambda key, value: replace(original(key, value), **changes)


def lost_when_empty(original: Original) -> Original:
    """That nobody is left in a group is written of another one."""

    def entries_of(append: Any) -> Any:
        record = append.record
        empty = isinstance(record, GroupRecord) and not record.members
        return original(replace(append, group_id="another") if empty else append)

    return entries_of


def one_timeout_for_all(original: Original) -> Original:
    def start(step: Any, group: Group, member: Any) -> None:
        member.session_timeout_ms = max(each.session_timeout_ms for each in group.members.values())
        original(step, group, member)

    return start


def members_as_stored(original: Original) -> Original:
    """What members subscribe to is not noted when they are loaded."""

    def load(step: Any, group_id: str, record: Any) -> Any:
        group = original(step, group_id, record)
        group.subscriptions = ()
        return group

    return load


def also_at_the_limit(original: Original) -> Original:
    def load(step: Any, group_id: str, record: Any) -> Any:
        group = original(step, group_id, record)
        if len(group.members) == step.config.group_max_size:
            rebalance.prepare_rebalance(step, group, "the loaded group is full")
        return group

    return load


BUGS = [
    Bug("members lost", loading, "load", of_records(lambda record: replace(record, members=())),
        "loading.load.members-after-sigkill"),
    Bug("generation lost", loading, "load", of_records(lambda record: replace(record, generation_id=0)),
        "loading.load.members-after-sigkill"),
    Bug("generation of before", loading, "load",
        of_records(lambda record: replace(record, generation_id=record.generation_id - 1)),
        "loading.load.old-generation-after-sigkill"),
    Bug("generation counted on", loading, "load",
        of_records(lambda record: replace(record, generation_id=record.generation_id + 1)),
        "loading.load.rebalance-unassigned-after-sigkill"),
    Bug("assignments lost", loading, "load", of_members(assignment=b""),
        "persistence.assignment-stored.kept-after-sigkill"),
    Bug("assignments mixed up", loading, "load", of_records(swapped),
        "persistence.assignment-stored.kept-after-sigkill"),
    Bug("subscriptions lost", loading, "load", of_members(subscription=b""),
        "loading.load.members-after-sigterm"),
    Bug("instance ids lost", loading, "load", of_members(group_instance_id=None),
        "loading.load.static-members-after-sigterm"),
    Bug("instance ids lost", loading, "load", of_members(group_instance_id=None),
        "static.replacement-stored.kept-after-sigkill"),
    Bug("another leads", loading, "load", of_records(other_leader), "loading.load.leader-after-sigkill"),
    Bug("a first value counts", Replay, "_put", first_counts, "offsets.stored.last-one-after-sigkill"),
    Bug("lost in compaction", cleaner, "_kept", emptied, "offsets.stored.last-one-after-sigkill"),
    Bug("the last batch unread", PartitionFiles, "batches", but_the_last,
        "offsets.stored.kept-after-sigkill"),
    Bug("tombstones unread", Replay, "_put", deleted_for_nothing,
        "admin.deletion-stored.kept-after-sigkill"),
    Bug("tombstones unread", Replay, "_put", deleted_for_nothing, "offsets.delete.kept-after-sigterm"),
    Bug("metadata lost", groups, "offset_record", of_offsets(metadata=""),
        "offsets.stored.kept-after-sigkill"),
    Bug("leader epochs lost", groups, "offset_record", of_offsets(committed_leader_epoch=-1),
        "offsets.stored.kept-after-sigterm"),
    Bug("offsets of one more", groups, "offset_record", of_offsets(committed_offset=9),
        "offsets.stored.unanswered-after-sigkill"),
    Bug("emptied unwritten", storage, "entries_of", lost_when_empty,
        "persistence.emptied-stored.kept-after-sigkill"),
    Bug("generation counted on", loading, "load",
        of_records(lambda record: replace(record, generation_id=record.generation_id + 1)),
        "loading.load.sync-unanswered-after-sigkill"),
    Bug("size not looked at", loading, "prepare_rebalance", nothing,
        "loading.over-capacity.rebalances-after-sigkill"),
    Bug("members spared", join, "has_room", lambda _: lambda *_: True,
        "loading.over-capacity.rebalances-after-sigkill"),
    Bug("full is too much", loading, "load", also_at_the_limit,
        "loading.over-capacity.at-the-limit-after-sigkill"),
    Bug("retentions lost", groups, "offset_record", of_offsets(expire_timestamp_ms=-1),
        "expiry.offsets-expired.own-retention-after-sigkill"),
    Bug("commits of long ago", groups, "offset_record", of_offsets(expire_timestamp_ms=1),
        "expiry.expired.not-before-after-sigkill"),
    Bug("nobody subscribes", loading, "load", members_as_stored,
        "expiry.subscribed-group.keeps-subscribed-after-sigkill"),
]  # fmt: skip


@pytest.mark.parametrize("bug", some(BUGS, name=str), ids=str)
def test_a_planted_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.put_in(monkeypatch)
    case = case_called(bug.case)
    assert verdict(kept_target(), case) is DEVIATION_VERDICT[case.level]
    assert verdict(kept_target(), case_called(bug.bystander)) is Verdict.PASS


UNHARMED = {
    "persistence.creation-stored.kept-after-sigkill": Verdict.NOTED,
    "loading.load.elected-protocol-alone-after-sigkill": Verdict.NOTED,
    "loading.load.handed-out-ids-after-sigkill": Verdict.NOTED,
    "loading.load.leader-after-sigkill": Verdict.FAIL,
    "loading.load.first-generation-unassigned-after-sigkill": Verdict.PASS,
    "admin.deletion-stored.kept-after-sigkill": Verdict.PASS,
    "expiry.group-removed.kept-after-sigkill": Verdict.PASS,
    "transactions.commit.open-after-sigkill": Verdict.PASS,
}
"""What a server that forgets everything is told in some cases; in the others it fails."""


def test_a_server_that_forgets_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeptServer, "keeps", False)
    cases = [case for case in RESTARTS if case.id.endswith("sigkill") and case.seconds < 10]
    with closing(kept_target()) as target:
        results = list(play_all(cases, target, Options(seed=1, patience=2), {}))
    assert {result.case.id: result.verdict for result in results} == {
        case.id: UNHARMED.get(case.id, DEVIATION_VERDICT[case.level]) for case in cases
    }


def half_sessions(original: Original) -> Original:
    def start(step: Any, group: Group, member: Any) -> None:
        whole, member.session_timeout_ms = member.session_timeout_ms, member.session_timeout_ms // 2
        original(step, group, member)
        member.session_timeout_ms = whole

    return start


@pytest.mark.parametrize("plant", [nothing, one_timeout_for_all, half_sessions])
def test_sessions_that_do_not_begin_as_they_should_are_seen(
    plant: Callable[[Original], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restart_groups, "_SESSION", 2000)
    monkeypatch.setattr(restart_groups, "_SILENT", 0.1)
    monkeypatch.setattr(restart_groups, "_SLACK", 1.0)
    monkeypatch.setattr(loading, "restart_session", plant(session_timers.restart_session))
    case = case_called("loading.load.sessions-after-sigkill")
    assert verdict(kept_target(), replace(case, settings=SHORT_SESSIONS)) is Verdict.FAIL


def emptied_at(when: Callable[[], int]) -> Callable[[Original], Original]:
    return of_records(lambda record: replace(record, state_timestamp_ms=when()))


SINCE_LAST_MEMBER = [
    (lambda original: original, Verdict.PASS),
    (emptied_at(lambda: -1), Verdict.FAIL),  # so it counts from the commit
    (emptied_at(lambda: int(time.time() * 1000)), Verdict.FAIL),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("plant", "wanted"), SINCE_LAST_MEMBER, ids=["sound", "of the commit", "of the restart"]
)
def test_the_time_since_which_a_group_is_empty_is_known_afterwards(
    plant: Callable[[Original], Any], wanted: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of retention is eight seconds here."""
    monkeypatch.setattr(expiry, "MINUTE_MS", 8000)
    for name, seconds in (("_BEFORE", 4.0), ("_AFTER", 2.5), ("_RETENTION", 8.0), ("LOOKS", 1.5)):
        monkeypatch.setattr(restart_expiry, name, seconds)
    monkeypatch.setattr(cases_of_expiry, "LOOKS", 1.5)
    monkeypatch.setattr(loading, "load", plant(loading.load))
    case = case_called("expiry.empty-group.since-last-member-after-sigkill")
    with closing(kept_target()) as target:
        (result,) = play_all([case], target, Options(seed=1, patience=2, slow=True), {})
    assert result.verdict is wanted


@pytest.mark.parametrize("case", [case for case in all_cases() if case.brokers > 1], ids=lambda case: case.id)
def test_brokers_that_know_nothing_of_each_other_are_no_cluster(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [KeptServer({}) for _ in range(2)]
    monkeypatch.setattr(cluster, "brokers", lambda d: [d.address, *(other.address for other in others)])
    found = verdict(three_strangers(), case)
    for other in others:
        other.stop()
    wanted = DEVIATION_VERDICT[case.level]
    assert found is (Verdict.PASS if case.id in ANY_BROKER else wanted)


ANY_BROKER = {"hosting.elsewhere.session-first"}
"""What a broker answers whether or not it coordinates."""
