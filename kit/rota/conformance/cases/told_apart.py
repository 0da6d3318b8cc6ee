"""Votes and assignments that are told apart: by second choices, and by every byte that there is."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import join_together, lead
from rota.conformance.steps.version_ranges import DESCRIBE

_EVERY_BYTE = bytes(range(256))


@case(
    "voting.tally.second-choices",
    "Who lists first what not all have votes for its next choice: its vote is not lost.",
    "ClassicGroup.selectProtocol; ClassicGroupMember.vote",
)
def second_choices(d: Dialogue) -> None:
    lists = {"a": ("own", "sticky", "range"), "b": ("own", "sticky", "range"), "c": ("range", "sticky")}
    members = [
        d.member(who, protocols=[(name, subscription(f"{who} in {name}")) for name in names])
        for who, names in lists.items()
    ]
    formed = join_together(d, *members)
    for reply in formed.replies.values():
        d.expect(reply, protocol_name="sticky")


@case(
    "persistence.assignment-stored.any-bytes",
    "An assignment is bytes, whatever they are: each member is given back what the leader sent.",
    "GroupMetadataManager.classicGroupSyncToClassicGroup",
)
def any_bytes(d: Dialogue) -> None:
    a, b, c = (d.member(name) for name in "abc")
    lead(d, a, b, c)
    given = {a.member_id: _EVERY_BYTE, b.member_id: _EVERY_BYTE[::-1], c.member_id: _EVERY_BYTE * 200}
    waiting = b.send_sync()
    waiting.silent(0.2)
    d.expect(a.sync(given), error="NONE", assignment=given[a.member_id])
    d.expect(waiting.answer(), error="NONE", assignment=given[b.member_id])
    d.expect(c.sync(), error="NONE", assignment=given[c.member_id])


@case(
    "admin.describe.any-bytes",
    "DescribeGroups gives assignments and metadata byte by byte, also such as are no text.",
    "GroupMetadataManager.describeGroups; ClassicGroup.describe",
    needs=DESCRIBE,
)
def described_bytes(d: Dialogue) -> None:
    metadata = subscription("a")[:-4] + (256).to_bytes(4) + _EVERY_BYTE
    a = d.member("a", protocols=[("range", metadata)])
    join_together(d, a)
    d.expect(a.sync({a.member_id: _EVERY_BYTE}), error="NONE")
    member = described(d)["members"].only()
    d.require(member["member_metadata"] == metadata, "the metadata as it was sent", "other bytes")
    d.require(member["member_assignment"] == _EVERY_BYTE, "the assignment as it was sent", "other bytes")
