"""The vote: which of the members' protocols a generation uses, and what follows from it."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, subscription
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import FormedGroup, join_together, stable

_SELECT = "ClassicGroup.selectProtocol"
_CANDIDATES = "ClassicGroup.candidateProtocols"


def _speaking(d: Dialogue, name: str, *protocols: str) -> Member:
    """A newcomer that lists these protocols, each with metadata of its own."""
    return d.member(name, protocols=[(p, subscription(f"{name} in {p}")) for p in protocols])


def _elected(d: Dialogue, formed: FormedGroup) -> str:
    """The elected protocol, which is the same in every answer."""
    actual = {str(reply["protocol_name"]) for reply in formed.replies.values()}
    d.require(len(actual) == 1, "one protocol for everyone", f"{sorted(actual)}")
    return actual.pop()


@case(
    "voting.candidates.in-common",
    "Only a protocol that every member lists can be elected, whatever they list first.",
    f"{_CANDIDATES}; {_SELECT}",
)
def in_common(d: Dialogue) -> None:
    formed = join_together(d, _speaking(d, "a", "range", "sticky"), _speaking(d, "b", "roundrobin", "sticky"))
    elected = _elected(d, formed)
    d.require(elected == "sticky", "sticky, the only one in common", elected)


@case(
    "voting.candidates.repeated-name",
    "A member that lists a protocol twice counts once: it cannot hang the others.",
    "ClassicGroup.incrementSupportedProtocols, which counts list entries",
    level=Level.INFO,
)
def repeated_name(d: Dialogue) -> None:
    formed = join_together(
        d, _speaking(d, "a", "range", "range", "roundrobin"), _speaking(d, "b", "roundrobin")
    )
    elected = _elected(d, formed)
    d.require(elected == "roundrobin", "roundrobin, the only one in common", elected)


@case(
    "voting.supports.repeated-name",
    "A newcomer is admitted that shares a protocol which another member lists twice.",
    "ClassicGroup.supportsProtocols, ClassicGroup.incrementSupportedProtocols",
    level=Level.INFO,
)
def repeated_name_admits(d: Dialogue) -> None:
    elected = _elected(d, join_together(d, _speaking(d, "a", "range", "range"), _speaking(d, "b", "range")))
    d.require(elected == "range", "range, which both list", elected)


@case(
    "voting.tally.majority",
    "Each member votes for the first protocol in its list that all have; the one with most votes is elected.",
    _SELECT,
)
def majority(d: Dialogue) -> None:
    formed = join_together(
        d,
        _speaking(d, "a", "range", "roundrobin"),
        _speaking(d, "b", "roundrobin", "range"),
        _speaking(d, "c", "roundrobin", "range"),
    )
    elected = _elected(d, formed)
    d.require(elected == "roundrobin", "roundrobin, with two of three votes", elected)


@case(
    "voting.tally.tie",
    "Among protocols with equally many votes any may be elected, but nothing else.",
    _SELECT,
)
def tie(d: Dialogue) -> None:
    formed = join_together(
        d,
        _speaking(d, "a", "range", "roundrobin", "sticky"),
        _speaking(d, "b", "roundrobin", "range", "sticky"),
    )
    elected = _elected(d, formed)
    d.remark(f"of the tied protocols this target elects {elected}")
    d.require(elected in ("range", "roundrobin"), "range or roundrobin, with one vote each", elected)


@case(
    "join.protocol.voted-anew",
    "Every generation votes anew: when the member has left that stood in the way, another protocol wins.",
    _SELECT,
)
def voted_anew(d: Dialogue) -> None:
    a, b = _speaking(d, "a", "range", "sticky"), _speaking(d, "b", "sticky")
    with d.reaching("a generation that uses sticky"):
        formed = stable(d, a, b)
        elected = _elected(d, formed)
        d.require(elected == "sticky", "sticky, the only one in common", elected)
        d.expect(b.leave(), error="NONE")
    d.expect(a.join(), error="NONE", protocol_name="range")


@case(
    "join.next-generation.metadata-of-elected",
    "The leader's answer has each member's metadata for the elected protocol, not for its first one.",
    "ClassicGroupMember.metadata",
)
def metadata_of_elected(d: Dialogue) -> None:
    a, b = _speaking(d, "a", "range", "sticky"), _speaking(d, "b", "roundrobin", "sticky")
    formed = join_together(d, a, b)
    elected = _elected(d, formed)
    actual = {m["member_id"]: m["metadata"] for m in formed.replies[formed.leader.name]["members"]}
    wanted = {m.member_id: dict(m.settings["protocols"]).get(elected) for m in (a, b)}
    d.require(actual == wanted, f"metadata of both members for {elected}", "other metadata")


@case(
    "voting.supports.none-in-common",
    "A newcomer with no protocol in common with the members is refused with INCONSISTENT_GROUP_PROTOCOL.",
    "ClassicGroup.supportsProtocols",
)
def none_in_common(d: Dialogue) -> None:
    a = _speaking(d, "a", "range")
    stable(d, a)
    reply = _speaking(d, "b", "roundrobin", "sticky").join("", within=PROMPTLY)
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "voting.supports.sole-member",
    "Not even the only member can change to other protocols: its old ones count until it has left.",
    "ClassicGroup.supportsProtocols",
    level=Level.INFO,
)
def sole_member_switches(d: Dialogue) -> None:
    a = _speaking(d, "a", "range")
    stable(d, a)
    reply = a.join(within=PROMPTLY, protocols=[("roundrobin", subscription())])
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "voting.supports.absent-members",
    "Members that have not joined again yet still count: a newcomer has to list what they have in common.",
    "ClassicGroup.supportsProtocols",
)
def absent_members(d: Dialogue) -> None:
    a = _speaking(d, "a", "range")
    stable(d, a)
    with d.reaching("a rebalance in which a has not joined again"):
        _speaking(d, "b", "range", "sticky").enter().silent(0.4)
    reply = _speaking(d, "c", "sticky").join("", within=PROMPTLY)
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")
