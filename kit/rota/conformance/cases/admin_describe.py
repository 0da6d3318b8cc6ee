"""DescribeGroups: what there is to see of a group in each state."""

from __future__ import annotations

from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import describe, described
from rota.conformance.steps.group_formation import FormedGroup, all_leave, lead, lead_stable, stable
from rota.conformance.steps.membership import pending_member, static
from rota.conformance.steps.version_ranges import DESCRIBE, HANDSHAKE, STATIC

_DESCRIBE = "GroupMetadataManager.describeGroups; ClassicGroup.describe"


def _expect(d: Dialogue, group: Any, **wanted: object) -> None:
    actual = {name: group[name] for name in wanted}
    d.require(actual == wanted, f"a group with {wanted}", f"{actual}")


def _assignments(group: Any) -> dict[str, bytes]:
    return {member["member_id"]: member["member_assignment"] for member in group["members"]}


def _named(d: Dialogue, actual: dict[str, bytes]) -> str:
    """Bytes by member, in words."""
    return ", ".join(sorted(f"{d.transcript.named(who)}: {data!r}" for who, data in actual.items()))


def _metadata(group: Any) -> dict[str, bytes]:
    return {member["member_id"]: member["member_metadata"] for member in group["members"]}


@case(
    "admin.describe.stable",
    "Of a Stable group DescribeGroups tells type, protocol, and each member's metadata and assignment.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def describe_stable(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    formed = lead_stable(d, a, b)
    group = described(d)
    _expect(d, group, group_state="Stable", protocol_type="consumer", protocol_data="range")
    metadata = {m.member_id: m.settings["protocols"][0][1] for m in (a, b)}
    d.require(_metadata(group) == metadata, "the metadata of both", _named(d, _metadata(group)))
    d.require(_assignments(group) == formed.assignments, "both assignments", _named(d, _assignments(group)))


@case(
    "admin.describe.clients",
    "DescribeGroups names the client id of each member and the address that it comes from, after a slash.",
    _DESCRIBE,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def describe_clients(d: Dialogue) -> None:
    stable(d, d.member("anna"))
    member = described(d)["members"].only()
    actual = (member["client_id"], member["client_host"][:1])
    d.require(actual == ("anna", "/"), "the client anna, the host with a slash", f"{actual}")


@case(
    "admin.describe.instance-ids",
    "From version 4 DescribeGroups names the instance ids of static members, and null for the others.",
    f"KIP-345; {_DESCRIBE}",
    needs={**STATIC, "DescribeGroups": (4, 6)},
)
def describe_instances(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), d.member("b")
    lead_stable(d, a, b)
    actual = {member["member_id"]: member["group_instance_id"] for member in described(d)["members"]}
    d.require(actual == {a.member_id: "one", b.member_id: None}, "instance ids one and null", f"{actual}")


@case(
    "admin.describe.outside-stable",
    "Outside of Stable DescribeGroups shows neither protocol nor metadata.",
    _DESCRIBE,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def outside_stable(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead(d, a, b)
    group = described(d)
    _expect(d, group, group_state="CompletingRebalance", protocol_type="consumer", protocol_data="")
    actual = _metadata(group)
    d.require(actual == {a.member_id: b"", b.member_id: b""}, "two members, no metadata", _named(d, actual))


@case(
    "admin.describe.rebalancing",
    "DescribeGroups tells the state and the members also while they join and while assignments are awaited.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def describe_rebalancing(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead(d, a, b)
    _expect_members(d, "CompletingRebalance", a, b)
    with d.reaching("a rebalance"):
        b.send_join(protocols=[("range", subscription("changed"))]).silent(0.3)
    _expect_members(d, "PreparingRebalance", a, b)


def _expect_members(d: Dialogue, state: str, *members: Member) -> None:
    group = described(d)
    _expect(d, group, group_state=state, protocol_type="consumer")
    actual = set(_metadata(group))
    d.require(actual == {each.member_id for each in members}, f"{len(members)} members", f"{len(actual)}")


@case(
    "admin.describe.preparing",
    "While the members join, DescribeGroups still shows the assignments of the generation before.",
    _DESCRIBE,
    level=Level.INFO,
    needs=DESCRIBE,
)
def describe_preparing(d: Dialogue) -> None:
    expect_assigned(d, "PreparingRebalance", preparing(d).assignments)


def preparing(d: Dialogue) -> FormedGroup:
    """A group of two that has begun a rebalance, as it was before."""
    a, b = d.member("a"), d.member("b")
    formed = lead_stable(d, a, b)
    with d.reaching("a rebalance"):
        a.send_join().silent(0.2)
    return formed


@case(
    "admin.describe.completing",
    "While assignments are awaited, DescribeGroups still shows those of the generation before.",
    _DESCRIBE,
    level=Level.INFO,
    needs=DESCRIBE,
)
def describe_completing(d: Dialogue) -> None:
    expect_assigned(d, "CompletingRebalance", completing(d).assignments)


def completing(d: Dialogue) -> FormedGroup:
    """A group of two whose second generation awaits its assignments, as it was before."""
    a, b = d.member("a"), d.member("b")
    formed = lead_stable(d, a, b)
    with d.reaching("a generation whose assignments are awaited"):
        again = a.send_join()
        again.silent(0.2)
        d.expect(b.join(), error="NONE")
        d.expect(again.answer(), error="NONE")
    return formed


def expect_assigned(d: Dialogue, state: str, wanted: dict[str, bytes]) -> None:
    """DescribeGroups shows a group in this state with these assignments."""
    group = described(d)
    _expect(d, group, group_state=state, protocol_data="")
    actual = _assignments(group)
    d.require(actual == wanted, _named(d, wanted), _named(d, actual))


@case(
    "admin.describe.first-generation",
    "Before anything was assigned, DescribeGroups shows empty assignments.",
    _DESCRIBE,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def describe_first(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a first generation whose assignments are awaited"):
        d.expect(a.enter().answer(), error="NONE")
    group = described(d)
    _expect(d, group, group_state="CompletingRebalance")
    d.require(
        _assignments(group) == {a.member_id: b""}, "an empty assignment", _named(d, _assignments(group))
    )


@case(
    "admin.describe.empty",
    "A group that all have left is Empty; it keeps its protocol type.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def describe_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    _expect(d, described(d), group_state="Empty", protocol_type="consumer", protocol_data="", members=[])


@case(
    "admin.describe-unknown-group.dead",
    "Before version 6 a group that does not exist is described as Dead, without error.",
    _DESCRIBE,
    level=Level.SHOULD,
    needs={"DescribeGroups": (0, 5)},
)
def describe_absent(d: Dialogue) -> None:
    group = described(d)
    _expect(d, group, group_state="Dead", protocol_type="", protocol_data="", members=[])


@case(
    "admin.describe-unknown-group.from-6",
    "From version 6 a group that does not exist is described as Dead with GROUP_ID_NOT_FOUND.",
    f"KIP-1043; {_DESCRIBE}",
    level=Level.SHOULD,
    needs={"DescribeGroups": (6, 6)},
    older="There is no version 6.",
)
def describe_absent_newer(d: Dialogue) -> None:
    group = describe(d)["groups"].only()
    actual = (error_name(group["error_code"]), group["group_state"])
    d.require(actual == ("GROUP_ID_NOT_FOUND", "Dead"), "GROUP_ID_NOT_FOUND and Dead", f"{actual}")


@case(
    "admin.describe.several",
    "Several groups are described at a time, each with an error of its own.",
    _DESCRIBE,
    needs={"DescribeGroups": (0, 5)},
)
def describe_several(d: Dialogue) -> None:
    stable(d, d.member("a"))
    d.wait(0.3)
    absent = f"{d.group_id}-other"
    reply = d.member("admin").send_whole("DescribeGroups", {"groups": [absent, d.group_id]}).answer(PROMPTLY)
    actual = {group["group_id"]: group["group_state"] for group in reply["groups"]}
    d.require(actual == {absent: "Dead", d.group_id: "Stable"}, "Dead and Stable", f"{actual}")


@case(
    "admin.describe.handed-out-not-listed",
    "An id that was handed out is no member: DescribeGroups does not list it.",
    f"KIP-394; {_DESCRIBE}",
    level=Level.SHOULD,
    needs={**DESCRIBE, **HANDSHAKE},
)
def handed_out_not_listed(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    pending_member(d, "b")
    actual = set(_metadata(described(d)))
    d.require(actual == {a.member_id}, "one member", f"{len(actual)} members")


@case(
    "admin.describe.operations-unasked",
    "The allowed operations are answered only if the request wants them, else the smallest number.",
    "KIP-430; KafkaApis.handleDescribeGroupsRequest",
    level=Level.SHOULD,
    needs={"DescribeGroups": (3, 5)},
)
def operations_unasked(d: Dialogue) -> None:
    stable(d, d.member("a"))
    bits = described(d)["authorized_operations"]
    d.require(bits == -(2**31), f"{-(2**31)}", f"{bits}")


@case(
    "admin.describe.metadata-of-elected",
    "The metadata that DescribeGroups shows is that for the elected protocol.",
    _DESCRIBE,
    needs=DESCRIBE,
)
def metadata_of_elected(d: Dialogue) -> None:
    a = _speaking(d, "a", "range", "sticky")
    lead_stable(d, a, _speaking(d, "b", "sticky"))
    group = described(d)
    _expect(d, group, protocol_data="sticky")
    actual, wanted = _metadata(group)[a.member_id], dict(a.settings["protocols"])["sticky"]
    d.require(actual == wanted, "a's metadata for sticky", "other metadata")


def _speaking(d: Dialogue, name: str, *protocols: str) -> Member:
    return d.member(name, protocols=[(p, subscription(f"{name} in {p}")) for p in protocols])
