"""Steps with offsets in transactions: a producer with a transactional id, its commits, and how it ends.

A target without these requests is left out of the cases that need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.conformance.connections.error_codes import LATER, NOT_READY, error_name
from rota.conformance.dialogues.dialogue import Dialogue, Member, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.steps.offsets import SIMPLE, TOPIC, in_topic
from rota.conformance.steps.version_ranges import COMMIT_AND_FETCH

NEEDS: Mapping[str, tuple[int, int]] = {
    **COMMIT_AND_FETCH,
    "InitProducerId": (0, 5),
    "AddOffsetsToTxn": (0, 4),
    "TxnOffsetCommit": (3, 4),
    "EndTxn": (0, 4),
}
"""Versions in which the group's partition is added first, and a commit names its sender."""

TIMEOUT_MS = 60_000
_SECONDS = 20.0


@dataclass(frozen=True)
class Transaction:
    """A producer with a transaction that has the group's offsets in it."""

    producer: Member
    identity: Mapping[str, Any]

    def commit(self, offset: int = 7, who: Member | None = None, **fields: Any) -> Reply:
        """TxnOffsetCommit for partition 0 of the topic, as a member or without naming anybody."""
        place: dict[str, Any] = {**SIMPLE, "group_instance_id": None}
        if who is not None:
            static = who.settings.get("group_instance_id")
            place = {"generation_id_or_member_epoch": who.generation_id, "member_id": who.member_id}
            place["group_instance_id"] = static
        given = {"topics": [in_topic(TOPIC, offset)]}
        return self.producer.send("TxnOffsetCommit", {**self.identity, **place, **given, **fields}).answer()

    def end(self, d: Dialogue, committed: bool) -> None:
        """Ends it, and waits until another one may begin: the end is written then."""
        with d.reaching("the end of a transaction"):
            _granted(d, self.producer, "EndTxn", {**self.identity, "committed": committed})
            _granted(d, self.producer, "InitProducerId", {**_named(self.identity), **_FRESH})


_FRESH = {"transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}


def begun(d: Dialogue, name: str = "producer", group_id: str | None = None) -> Transaction:
    """A producer of its own transactional id, in whose transaction the offsets of the group are."""
    producer = d.member(name)
    named = {"transactional_id": f"{d.group_id}-{name}"}
    with d.reaching("an open transaction"):
        made = _granted(d, producer, "InitProducerId", {**named, **_FRESH})
        identity = {**named, "producer_id": made["producer_id"], "producer_epoch": made["producer_epoch"]}
        group = d.group_id if group_id is None else group_id
        _granted(d, producer, "AddOffsetsToTxn", {**identity, "group_id": group})
    return Transaction(producer, identity)


def _named(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {"transactional_id": identity["transactional_id"]}


def _granted(d: Dialogue, producer: Member, api: str, body: Mapping[str, Any]) -> Reply:
    """A request that is granted, at once or when what is under way is over. Errors: Deviation."""
    deadline = d.transcript.elapsed() + _SECONDS
    while True:
        reply = producer.send_whole(api, body).answer()
        code = reply["error_code"]
        if code == 0:
            return reply
        if code not in LATER or d.transcript.elapsed() > deadline:
            raise Deviation(f"{api} answered with NONE", error_name(code))
        if code in NOT_READY:
            _look_for_a_coordinator(d, producer, body["transactional_id"])
        d.wait(0.05)


def _look_for_a_coordinator(d: Dialogue, producer: Member, transactional_id: str) -> None:
    """A broker makes the topic of its transactions when it is asked for their coordinator."""
    asked: dict[str, Any] = {"key_type": 1, "key": transactional_id}
    if d.versions["FindCoordinator"] >= 4:
        asked = {"key_type": 1, "coordinator_keys": [transactional_id]}
    producer.send_whole("FindCoordinator", asked).answer()
