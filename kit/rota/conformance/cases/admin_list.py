"""ListGroups: which groups there are, and the filters."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import delete, expect_deleted
from rota.conformance.steps.group_formation import all_leave, lead, stable
from rota.conformance.steps.offsets import commit, expect_each, topic
from rota.conformance.steps.version_ranges import COMMIT, DELETE

_LIST = "GroupMetadataManager.listGroups"
_STATES = {"ListGroups": (4, 5)}
_TYPES = {"ListGroups": (5, 5)}


def _listed(d: Dialogue, **filters: list[str]) -> Any:
    """What ListGroups says of the dialogue's group, None if it leaves it out."""
    reply = d.member("admin").send_whole("ListGroups", filters).answer(PROMPTLY)
    d.expect(reply, error="NONE")
    return next((group for group in reply["groups"] if group["group_id"] == d.group_id), None)


def expect_listed(d: Dialogue, found: bool, **filters: list[str]) -> None:
    there = _listed(d, **filters) is not None
    actual = {True: "the group is listed", False: "the group is not listed"}
    d.require(there == found, f"{actual[found]} with {filters}", actual[there])


def settled(d: Dialogue) -> None:
    """A Stable group; a moment later, since what was just stored may not be listed yet."""
    stable(d, d.member("a"))
    d.wait(0.3)


@case(
    "admin.list.all", "ListGroups lists a group with its protocol type.", _LIST, needs={"ListGroups": (0, 5)}
)
def list_all(d: Dialogue) -> None:
    settled(d)
    group = _listed(d)
    d.require(group is not None, "the group in the list", "it is not there")
    actual = group["protocol_type"]
    d.require(actual == "consumer", "the type consumer", str(actual))


@case(
    "admin.list.state",
    "From version 4 ListGroups tells the state of each group.",
    f"KIP-518; {_LIST}",
    needs=_STATES,
)
def list_state(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.wait(0.3)
    states = [(_listed(d) or {}).get("group_state")]
    all_leave(d, a)
    d.wait(0.3)
    states.append((_listed(d) or {}).get("group_state"))
    d.require(states == ["Stable", "Empty"], "Stable, and Empty when all have left", f"{states}")


@case(
    "admin.list.simple-group",
    "ListGroups lists a group that a simple consumer's commit has made, Empty and without protocol type.",
    _LIST,
    needs={**_STATES, **COMMIT},
)
def list_simple_group(d: Dialogue) -> None:
    topic(d)
    with d.reaching("a group that a commit has made"):
        simple = {"generation_id_or_member_epoch": -1, "member_id": ""}
        expect_each(d, commit(d.member("simple"), 7, "", **simple), "NONE")
    d.wait(0.3)
    group = _listed(d) or {}
    actual = (group.get("group_state"), group.get("protocol_type"))
    d.require(actual == ("Empty", ""), "an Empty group without protocol type", f"{actual}")


@case(
    "admin.list.rebalancing",
    "ListGroups lists a group also while its members join and while assignments are awaited, and says so.",
    f"KIP-518; {_LIST}",
    needs=_STATES,
)
def list_rebalancing(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead(d, a, b)
    expect_state(d, "CompletingRebalance")
    with d.reaching("a rebalance"):
        b.send_join(protocols=[("range", subscription("changed"))]).silent(0.3)
    expect_state(d, "PreparingRebalance")


def expect_state(d: Dialogue, state: str) -> None:
    """The group is listed in this state, and found by it and by no other."""
    d.wait(0.3)
    actual = (_listed(d) or {}).get("group_state")
    d.require(actual == state, state, str(actual))
    expect_listed(d, True, states_filter=[state])
    expect_listed(d, False, states_filter=["Empty" if state == "Stable" else "Stable"])


@case(
    "admin.list.state-filter",
    "From version 4 groups are found by their states; without any every group is.",
    f"KIP-518; {_LIST}",
    needs=_STATES,
)
def state_filter(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, True, states_filter=["Stable"])
    expect_listed(d, False, states_filter=["Empty"])
    expect_listed(d, True, states_filter=["Empty", "Stable"])
    expect_listed(d, True, states_filter=["Stable", "Empty"])
    expect_listed(d, True, states_filter=[])


@case(
    "admin.list.state-filter-case",
    "The names of states in the filter may be written in any case.",
    f"KIP-518; {_LIST}",
    level=Level.SHOULD,
    needs=_STATES,
    older="3.4.1 finds a group only under the exact name of its state.",
)
def state_filter_case(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, True, states_filter=["sTABLE"])


@case(
    "admin.list.state-filter-blanks",
    "Blanks around the name of a state in the filter do not count.",
    _LIST,
    level=Level.INFO,
    needs=_STATES,
)
def state_filter_blanks(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, True, states_filter=[" Stable "])


@case(
    "admin.list.unknown-state",
    "An unknown name of a state in the filter finds nothing, and is no error.",
    f"KIP-518; {_LIST}",
    level=Level.SHOULD,
    needs=_STATES,
)
def unknown_state(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, False, states_filter=["Nonsense"])


@case(
    "admin.list.type-filter",
    "From version 5 groups are found by their type, which is classic, in any case.",
    f"KIP-848; {_LIST}",
    level=Level.SHOULD,
    needs=_TYPES,
)
def type_filter(d: Dialogue) -> None:
    settled(d)
    actual = (_listed(d) or {}).get("group_type")
    d.require(actual == "classic", "the type classic", f"{actual}")
    for kind, found in (("classic", True), ("Classic", True), ("consumer", False), ("nonsense", False)):
        expect_listed(d, found, types_filter=[kind])


@case(
    "admin.list.both-filters",
    "A group has to fit both filters.",
    f"KIP-848; {_LIST}",
    level=Level.SHOULD,
    needs=_TYPES,
)
def both_filters(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, True, states_filter=["Stable"], types_filter=["classic"])
    expect_listed(d, False, states_filter=["Stable"], types_filter=["consumer"])
    expect_listed(d, False, states_filter=["Empty"], types_filter=["classic"])


@case(
    "admin.list.deleted",
    "A group that was deleted is listed no more.",
    _LIST,
    needs={**_STATES, **DELETE},
)
def list_deleted(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    with d.reaching("a group that was deleted"):
        expect_deleted(d, delete(d), "NONE")
    d.wait(0.3)
    expect_listed(d, False)
