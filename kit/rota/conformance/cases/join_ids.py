"""JoinGroup: member ids are handed out once, whoever asks, wherever and whenever."""

from __future__ import annotations

from collections.abc import Callable

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.families.family import for_each
from rota.conformance.steps.administration import delete, expect_deleted
from rota.conformance.steps.group_formation import all_leave, stable
from rota.conformance.steps.membership import static
from rota.conformance.steps.version_ranges import DELETE, HANDSHAKE, STATIC

Ids = Callable[[Dialogue], list[str]]
"""A dialogue in which ids are handed out; all of them."""

_NEW_DYNAMIC = "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember; ClassicGroup.generateMemberId"


def _asks(member: Member, error: str = "MEMBER_ID_REQUIRED", **changes: str) -> str:
    """The id that is handed out to whoever comes without one."""
    reply = member.join("", within=PROMPTLY, **changes)
    member.dialogue.expect(reply, error=error)
    return str(reply["member_id"])


def _in_a_row(d: Dialogue) -> list[str]:
    member = d.member("a")
    return [_asks(member) for _ in range(8)]


def _at_once(d: Dialogue) -> list[str]:
    """Of one client, over three connections."""
    joining = [d.member("a").send_join("") for _ in range(3)]
    replies = [join.answer(PROMPTLY) for join in joining]
    for reply in replies:
        d.expect(reply, error="MEMBER_ID_REQUIRED")
    return [reply["member_id"] for reply in replies]


def _in_other_groups(d: Dialogue) -> list[str]:
    return [_asks(d.member("a"), group_id=d.group_id + end) for end in ("", "-other", "-third", "")]


def _beside_a_member(d: Dialogue) -> list[str]:
    """One of the same client has joined."""
    first = d.member("a")
    stable(d, first)
    return [first.member_id, _asks(d.member("a")), _asks(d.member("b")), _asks(d.member("a"))]


def _after_leaving(d: Dialogue) -> list[str]:
    """The one before has left; another one left with an id that it had not used."""
    first, second = d.member("a"), d.member("a")
    stable(d, first)
    all_leave(d, first)
    second.member_id = _asks(second)
    unused = second.member_id
    all_leave(d, second)
    return [first.member_id, unused, _asks(d.member("a")), _asks(d.member("a"))]


@for_each(
    "join.member-id-required.never-twice",
    "No member id is handed out twice, whatever became of the one before.",
    _NEW_DYNAMIC,
    {
        "in-a-row": _in_a_row,
        "at-once": _at_once,
        "in-other-groups": _in_other_groups,
        "beside-a-member": _beside_a_member,
        "after-leaving": _after_leaving,
    },
    needs=HANDSHAKE,
)
def never_twice(d: Dialogue, ids: Ids) -> None:
    _all_differ(d, ids(d))


def _after_deletion(d: Dialogue) -> list[str]:
    """The group was deleted meanwhile."""
    first = d.member("a")
    stable(d, first)
    all_leave(d, first)
    with d.reaching("a group that was deleted"):
        expect_deleted(d, delete(d), "NONE")
    return [first.member_id, _asks(d.member("a"))]


@for_each(
    "join.member-id-required.never-twice-either",
    "No member id is handed out twice, also when the group was deleted meanwhile.",
    _NEW_DYNAMIC,
    {"after-deletion": _after_deletion},
    needs={**HANDSHAKE, **DELETE},
)
def never_twice_either(d: Dialogue, ids: Ids) -> None:
    _all_differ(d, ids(d))


def _static_in_other_groups(d: Dialogue) -> list[str]:
    ends = ("", "-other", "-third")
    joining = [static(d, "a", "one").send_join("", group_id=d.group_id + end) for end in ends]
    replies = [join.answer() for join in joining]
    for reply in replies:
        d.expect(reply, error="NONE")
    return [reply["member_id"] for reply in replies]


def _static_after_leaving(d: Dialogue) -> list[str]:
    first, second = static(d, "a", "one"), static(d, "a", "one")
    stable(d, first)
    all_leave(d, first)
    return [first.member_id, _asks_static(second)]


def _static_restarts(d: Dialogue) -> list[str]:
    """The one before is replaced, and the one after that."""
    first = static(d, "a", "one")
    stable(d, first)
    settings = {"protocols": first.settings["protocols"]}
    again = [_asks_static(static(d, "a", "one", **settings)) for _ in range(3)]
    return [first.member_id, *again]


def _asks_static(member: Member) -> str:
    reply = member.join("")
    member.dialogue.expect(reply, error="NONE")
    return str(reply["member_id"])


@for_each(
    "static.new-member.never-twice",
    "No member id is given to static members twice, whether others have the instance id or had it.",
    "KIP-345; ClassicGroup.generateMemberId",
    {
        "in-other-groups": _static_in_other_groups,
        "after-leaving": _static_after_leaving,
        "restarts": _static_restarts,
    },
    needs=STATIC,
)
def static_never_twice(d: Dialogue, ids: Ids) -> None:
    _all_differ(d, ids(d))


def _all_differ(d: Dialogue, ids: list[str]) -> None:
    twice = sorted({id for id in ids if ids.count(id) > 1})
    d.require(not twice, f"{len(ids)} different member ids", f"{', '.join(map(repr, twice))} more than once")
    d.require("" not in ids, "member ids", "an empty one")
