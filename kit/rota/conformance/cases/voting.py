"""The vote: which of the members' protocols a generation uses, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.families.axes import Phase, Role
from rota.conformance.families.family import family, for_each
from rota.conformance.families.rounds import still_assigns
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import IN_EACH_PHASE, IN_EACH_STATE, having
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


@dataclass(frozen=True)
class Ballot:
    """What the members list, in the order of joining, and what may be elected; letters stand for names."""

    lists: tuple[str, ...]
    elected: str


_NAMES = {
    "a": "alpha", "b": "bravo", "m": "mike", "z": "zulu", "r": "range", "R": "Range", "s": "sticky",
    "1": "range1", "2": "range2", "l": "cooperative-sticky", "n": "naïve", "q": "q", "9": "9lives",
}  # fmt: skip
"""Letter -> the protocol that it stands for: of one length and of several, in other alphabets and cases."""


def _vote(d: Dialogue, ballot: Ballot) -> None:
    members = [
        _speaking(d, f"v{number}", *(_NAMES[letter] for letter in letters))
        for number, letters in enumerate(ballot.lists)
    ]
    elected = _elected(d, join_together(d, *members))
    allowed = [_NAMES[letter] for letter in ballot.elected]
    d.require(elected in allowed, f"{' or '.join(allowed)} elected", elected)


@for_each(
    "voting.candidates.in-common",
    "Only a protocol that every member lists can be elected, whatever they list first.",
    f"{_CANDIDATES}; {_SELECT}",
    {
        "last-of-all": Ballot(("as", "bs", "ms"), "s"),
        "first-of-one": Ballot(("sa", "bs"), "s"),
        "least-name": Ballot(("za", "ma", "ba"), "a"),
        "greatest-name": Ballot(("az", "mz", "bz"), "z"),
        "two-want-another": Ballot(("ab", "ab", "b"), "b"),
        "one-lists-all": Ballot(("abmz", "z"), "z"),
        "letter-by-letter": Ballot(("rR", "Rs", "sR"), "R"),
        "beginnings": Ballot(("12r", "1rs", "s1z"), "1"),
    },
)
def in_common(d: Dialogue, ballot: Ballot) -> None:
    _vote(d, ballot)


@for_each(
    "voting.tally.majority",
    "Each member votes for the first protocol in its list that all have; the one with most votes is elected.",
    _SELECT,
    {
        "last-two": Ballot(("ab", "ba", "ba"), "b"),
        "first-two": Ballot(("ba", "ba", "ab"), "b"),
        "first-and-last": Ballot(("ba", "ab", "ba"), "b"),
        "least-name": Ballot(("ab", "ba", "ab"), "a"),
        "greatest-name": Ballot(("az", "za", "za"), "z"),
        "equal-lengths": Ballot(("12", "21", "21"), "2"),
        "shorter-name": Ballot(("lq", "ql", "ql"), "q"),
        "longer-name": Ballot(("ql", "lq", "lq"), "l"),
        "other-alphabet": Ballot(("rn", "nr", "nr"), "n"),
        "digit-first": Ballot(("a9", "a9", "9a"), "a"),
        "first-in-common-only": Ballot(("mab", "zba", "qba"), "b"),
        "others-votes-do-not-count": Ballot(("mab", "mab", "zba", "ba", "ba"), "b"),
        "not-by-places": Ballot(("abmz", "abmz", "bmza"), "a"),
        "one-alone": Ballot(("zam",), "z"),
        "of-five": Ballot(("ab", "ba", "mab", "ab", "ba"), "ab"),
    },
)
def majority(d: Dialogue, ballot: Ballot) -> None:
    _vote(d, ballot)


@for_each(
    "voting.tally.tie",
    "Among protocols with equally many votes any may be elected, but nothing else.",
    _SELECT,
    {
        "of-two": Ballot(("rbs", "brs"), "rb"),
        "third-is-least": Ballot(("zma", "mza"), "zm"),
        "third-is-greatest": Ballot(("abz", "baz"), "ab"),
        "of-three": Ballot(("abmz", "bmaz", "mabz"), "abm"),
        "of-four-members": Ballot(("abs", "bas", "abs", "bas"), "ab"),
    },
)
def tie(d: Dialogue, ballot: Ballot) -> None:
    _vote(d, ballot)


@family(
    "voting.supports.nothing-in-common",
    "A newcomer with no protocol in common with the members is refused with INCONSISTENT_GROUP_PROTOCOL.",
    "ClassicGroup.supportsProtocols",
    situations=(*having(IN_EACH_STATE, Phase.FIRST), *IN_EACH_PHASE),
    asked_by=(Role.NEW,),
    afterwards=still_assigns,
    known_as={"stable-one-dynamic": "voting.supports.none-in-common"},
)
def none_in_common(scene: Scene, newcomer: Member) -> None:
    for names in (["sticky"], ["Range", "rang", "ranges"], ["a", "b", "c"], [""]):
        offered = [(name, b"") for name in names]
        scene.d.expect(scene.join_as(newcomer, protocols=offered), error="INCONSISTENT_GROUP_PROTOCOL")


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
