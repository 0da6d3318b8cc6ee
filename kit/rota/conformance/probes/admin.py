"""DescribeGroups, ListGroups, DeleteGroups and OffsetDelete."""

from __future__ import annotations

from rota.conformance.dialogue import Dialogue
from rota.conformance.groups import stable
from rota.conformance.registry import probe
from rota.conformance.talk import (
    COMMIT,
    DELETE,
    DESCRIBE,
    commit,
    delete,
    delete_offsets,
    describe,
    handed_out,
    lead,
    lead_stable,
    subscriber,
    topic,
)

_DESCRIBE = "GroupMetadataManager#describeGroups"
_LIST = "KIP-518; GroupMetadataManager#listGroups"
_DELETE = "KIP-229; GroupCoordinatorShard#deleteGroups; ClassicGroup#validateDeleteGroup"
_OFFSET_DELETE = "KIP-496; OffsetMetadataManager#deleteOffsets; ClassicGroup#validateOffsetDelete"
_HANDSHAKE = {"JoinGroup": (4, 9)}
_DELETES = {**DELETE, **DESCRIBE}
_DELETES_OFFSETS = {"OffsetDelete": (0, 0), **COMMIT}
_LISTS = {"ListGroups": (4, 5)}


@probe("admin.describe.stable", "DescribeGroups of a Stable group.", _DESCRIBE, needs=DESCRIBE)
def describe_stable(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    describe(d)


@probe(
    "admin.describe.completing",
    "DescribeGroups while assignments are awaited still shows those of the generation before.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def describe_completing(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    with d.reaching("a generation whose assignments are awaited"):
        again = a.send_join()
        again.silent(0.2)
        d.expect(b.join(), error="NONE")
        d.expect(again.answer(), error="NONE")
    describe(d)


@probe(
    "admin.describe.preparing",
    "DescribeGroups while the members join still shows the assignments of the generation before.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def describe_preparing(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    with d.reaching("a rebalance"):
        a.send_join().silent(0.2)
    describe(d)


@probe("admin.describe.first-generation", "DescribeGroups before any assignment.", _DESCRIBE, needs=DESCRIBE)
def describe_first(d: Dialogue) -> None:
    lead(d, d.member("a"), d.member("b"))
    describe(d)


@probe("admin.describe.empty", "DescribeGroups of a group that all have left.", _DESCRIBE, needs=DESCRIBE)
def describe_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")
    describe(d)


@probe(
    "admin.describe.absent",
    "Before version 6 a group that does not exist is described as Dead, without error.",
    _DESCRIBE,
    needs={"DescribeGroups": (0, 5)},
)
def describe_absent(d: Dialogue) -> None:
    describe(d)


@probe(
    "admin.describe.absent-newer",
    "From version 6 a group that does not exist is described as Dead with GROUP_ID_NOT_FOUND.",
    f"KIP-1043; {_DESCRIBE}",
    needs={"DescribeGroups": (6, 6)},
)
def describe_absent_newer(d: Dialogue) -> None:
    describe(d)


@probe(
    "admin.describe.after-handshake",
    "A group exists, Empty, from the moment that an id was handed out in it.",
    f"KIP-394; {_DESCRIBE}",
    needs={**DESCRIBE, **_HANDSHAKE},
)
def describe_after_handshake(d: Dialogue) -> None:
    handed_out(d, "a")
    describe(d)


@probe(
    "admin.describe.after-refused-join",
    "A first JoinGroup that is refused for its protocols leaves an Empty group behind.",
    f"GroupMetadataManager#classicGroupJoin; {_DESCRIBE}",
    needs=DESCRIBE,
)
def describe_after_refused(d: Dialogue) -> None:
    d.member("a", protocols=[]).join("")
    describe(d)


@probe(
    "admin.describe.authorized-operations",
    "Which operations are allowed, as bits, where there is no authoriser.",
    "KIP-430; KafkaApis#handleDescribeGroupsRequest",
    needs={"DescribeGroups": (3, 5)},
)
def authorized_operations(d: Dialogue) -> None:
    stable(d, d.member("a"))
    describe(d, include_authorized_operations=True)


@probe(
    "admin.list.state-filter",
    "ListGroups finds a group by its state and leaves out those in other states.",
    _LIST,
    needs=_LISTS,
)
def state_filter(d: Dialogue) -> None:
    stable(d, d.member("a"))
    d.wait(0.3)
    admin = d.member("admin")
    for states in (["Stable"], ["Empty"], ["Empty", "Stable"], []):
        admin.send_whole("ListGroups", {"states_filter": states}).answer()


@probe(
    "admin.list.state-filter-case",
    "The names of states in the filter may be written in any case; an unknown one finds nothing.",
    _LIST,
    needs=_LISTS,
)
def state_filter_case(d: Dialogue) -> None:
    stable(d, d.member("a"))
    d.wait(0.3)
    admin = d.member("admin")
    for state in ("sTABLE", "Nonsense"):
        admin.send_whole("ListGroups", {"states_filter": [state]}).answer()


@probe(
    "admin.delete.absent",
    "A group that does not exist cannot be deleted: GROUP_ID_NOT_FOUND.",
    _DELETE,
    needs=_DELETES,
)
def delete_absent(d: Dialogue) -> None:
    delete(d)


@probe(
    "admin.delete.non-empty",
    "A group with members cannot be deleted: NON_EMPTY_GROUP.",
    _DELETE,
    needs=_DELETES,
)
def delete_non_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    delete(d)
    a.heartbeat()


@probe("admin.delete.empty", "An Empty group can be deleted, and is gone.", _DELETE, needs=_DELETES)
def delete_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")
    delete(d)
    describe(d)
    delete(d)


@probe(
    "admin.delete.repeated",
    "A group that is named twice in a DeleteGroups is deleted and answered once.",
    _DELETE,
    needs=_DELETES,
)
def delete_repeated(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")
    delete(d, d.group_id, d.group_id, f"{d.group_id}-other")


@probe(
    "admin.delete.handed-out-id",
    "Deleting a group forgets the ids that were handed out in it.",
    f"KIP-394; {_DELETE}",
    needs={**_DELETES, **_HANDSHAKE},
)
def delete_pending(d: Dialogue) -> None:
    a = handed_out(d, "a")
    delete(d)
    a.join()


@probe(
    "admin.offset-delete.subscribed",
    "Offsets of a topic that the group's members subscribe to cannot be deleted: GROUP_SUBSCRIBED_TO_TOPIC.",
    _OFFSET_DELETE,
    needs=_DELETES_OFFSETS,
)
def offset_delete_subscribed(d: Dialogue) -> None:
    topic(d)
    a = subscriber(d, "a")
    stable(d, a)
    commit(a)
    delete_offsets(d)


@probe(
    "admin.offset-delete.not-subscribed",
    "Offsets of a topic that nobody subscribes to any more are deleted, also under members.",
    _OFFSET_DELETE,
    needs=_DELETES_OFFSETS,
)
def offset_delete_not_subscribed(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    stable(d, a)
    commit(a)
    delete_offsets(d)


@probe(
    "admin.offset-delete.absent-group",
    "Offsets of a group that does not exist: GROUP_ID_NOT_FOUND.",
    _OFFSET_DELETE,
    needs=_DELETES_OFFSETS,
)
def offset_delete_absent(d: Dialogue) -> None:
    topic(d)
    delete_offsets(d)


@probe(
    "admin.offset-delete.empty-group-id",
    "The empty group id is refused by OffsetDelete.",
    "GroupCoordinatorService#deleteOffsets",
    needs=_DELETES_OFFSETS,
)
def offset_delete_empty_group_id(d: Dialogue) -> None:
    topic(d)
    delete_offsets(d, group_id="")
