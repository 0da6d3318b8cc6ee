"""JoinGroup: how ids are made, which protocol an answer names, who leads, which bounds are inclusive."""

from __future__ import annotations

from rota.conformance.dialogues.broker_settings import MAX_SESSION, MIN_SESSION
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.family import for_each
from rota.conformance.steps.group_formation import all_leave, let_arrive, stable
from rota.conformance.steps.membership import form_of, static
from rota.conformance.steps.version_ranges import HANDSHAKE, STATIC

_NEW_DYNAMIC = "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember"


@case(
    "join.member-id-required.id-form",
    "The id that is handed out is made of the client id and a UUID.",
    "ClassicGroup.generateMemberId",
    level=Level.INFO,
    needs=HANDSHAKE,
)
def id_form(d: Dialogue) -> None:
    reply = d.member("anna").join("", within=PROMPTLY)
    d.expect(reply, error="MEMBER_ID_REQUIRED")
    form = form_of(reply["member_id"])
    d.require(form == "anna-UUID", "an id of the form anna-UUID", form)


@case(
    "join.member-id-required.null-protocol",
    "From version 7 the answer that hands out an id names no protocol: type and name are null.",
    f"KIP-559; {_NEW_DYNAMIC}",
    level=Level.SHOULD,
    needs={"JoinGroup": (7, 9)},
)
def handshake_null_protocol(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY)
    d.expect(reply, error="MEMBER_ID_REQUIRED", protocol_type=None, protocol_name=None)


@case(
    "join.member-id-required.empty-protocol",
    "Before version 7 the answer that hands out an id has an empty protocol name.",
    f"KIP-559; {_NEW_DYNAMIC}",
    level=Level.SHOULD,
    needs={"JoinGroup": (4, 6)},
)
def handshake_empty_protocol(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY)
    d.expect(reply, error="MEMBER_ID_REQUIRED", protocol_name="")


def _first_leads(d: Dialogue, members: list[Member]) -> None:
    """One after the other, all within the initial delay."""
    waiting = []
    began = d.transcript.elapsed()
    for member in members:
        waiting.append(member.enter())
        let_arrive(d)
    d.in_time(began, d.initial_delay * 0.9)
    replies = [join.answer() for join in waiting]
    for reply in replies:
        d.expect(reply, error="NONE", leader=members[0].member_id)


@for_each(
    "join.leader.first-of-empty",
    "Of those who join an empty group the first one leads, whatever their ids.",
    "ClassicGroup.add",
    {"first-least": "abc", "first-greatest": "zyx", "first-between": "mzc", "least-last": "mza"},
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def first_leads(d: Dialogue, names: str) -> None:
    _first_leads(d, [d.member(name) for name in names])


@for_each(
    "join.leader.first-static-of-empty",
    "Of the static members who join an empty group the first one leads, whatever their instance ids.",
    "KIP-345; ClassicGroup.add",
    {"first-least": "abc", "first-greatest": "zyx", "first-between": "mza", "only-the-last": "z-a"},
    level=Level.SHOULD,
    needs=STATIC,
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def first_static_leads(d: Dialogue, instances: str) -> None:
    """A hyphen stands for a dynamic member among them; names say nothing of the order."""
    named = zip("mkn", instances, strict=True)
    _first_leads(d, [d.member(n) if i == "-" else static(d, n, i) for n, i in named])


@case(
    "join.leader.first-after-empty",
    "When all have left, the next one to join leads, not who led before.",
    "ClassicGroup.add; ClassicGroup.remove",
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=3.0,
)
def first_after_empty(d: Dialogue) -> None:
    before = stable(d, d.member("a"), d.member("b"))
    all_leave(d, *before.everyone)
    _first_leads(d, [d.member("z"), d.member("a"), d.member("b")])


@case(
    "join.invalid-session-timeout.bounds-inclusive",
    "A session timeout that is just the least or the greatest allowed is accepted; beyond, it is not.",
    "GroupMetadataManager.classicGroupJoin; group.min.session.timeout.ms, group.max.session.timeout.ms",
    needs=HANDSHAKE,
    settings={MIN_SESSION: 6000, MAX_SESSION: 1_800_000},
)
def session_bounds(d: Dialogue) -> None:
    a = d.member("a")
    for bound, error in (
        (5999, "INVALID_SESSION_TIMEOUT"),
        (6000, "MEMBER_ID_REQUIRED"),
        (1_800_000, "MEMBER_ID_REQUIRED"),
        (1_800_001, "INVALID_SESSION_TIMEOUT"),
    ):
        d.expect(a.join("", within=PROMPTLY, session_timeout_ms=bound), error=error)


@case(
    "join.next-generation.unreadable-metadata",
    "A consumer whose metadata is no subscription is admitted as any other, and so is the next one.",
    "ClassicGroup.computeSubscribedTopics; KAFKA-20570, before which 4.x does as 3.x",
    level=Level.SHOULD,
    seconds=2.0,
    older="Never answers such a consumer, nor anyone who joins after it: ending the join phase fails.",
)
def unreadable_metadata(d: Dialogue) -> None:
    a, b = d.member("a", protocols=[("range", b"changed")]), d.member("b", protocols=[("range", b"")])
    d.expect(a.enter().answer(d.initial_delay + PROMPTLY), error="NONE", member_id=a.member_id)
    joining = b.enter()
    joining.silent(A_WHILE / 2)
    d.expect(a.join(within=PROMPTLY), error="NONE", member_id=a.member_id)
    d.expect(joining.answer(PROMPTLY), error="NONE", member_id=b.member_id)


@case(
    "join.inconsistent-protocol.type-in-another-case",
    "Upper and lower case of a protocol type are not the same.",
    "ClassicGroup.supportsProtocols",
    level=Level.INFO,
)
def type_in_another_case(d: Dialogue) -> None:
    stable(d, d.member("a"))
    b = d.member("b", protocol_type="Consumer")
    d.expect(b.join("", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")
