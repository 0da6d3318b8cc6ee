"""Rows of the administration: what is told of groups, and how they are deleted."""

from __future__ import annotations

from checklist.checklist_words import (
    J,
    Row,
    S,
    Then,
    both,
    by,
    client,
    enter,
    joined,
    leave,
    looked_for_expired,
    row,
    stable,
)
from rota.spec.admin_messages import ListedGroup

STABLE = {"X": {"groups": (ListedGroup("g", "consumer", "Stable"),)}}
COMPLETING = {"X": {"groups": (ListedGroup("g", "consumer", "CompletingRebalance"),)}}
NONE = {"X": {"groups": ()}}
RANGE = {"X": {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range"}}


def listed(said: object, *, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> tuple[object, Then]:
    """A ListGroups with filters, and what it shows."""
    return by("X", "list_groups", states, types), Then("X NONE", said=said)


LISTING: tuple[Row, ...] = (
    row(S("testListGroupsIncludesStableGroups"), given=stable("A"), steps=[listed(STABLE)]),
    row(S("testListGroupsIncludesRebalancingGroups"), given=joined("A"), steps=[listed(COMPLETING)]),
    row(
        S("testListGroupsWithTypes"),
        given=stable("A"),
        steps=[
            listed(STABLE, types=("classic",)),
            listed(STABLE, types=("Classic",)),
            listed(NONE, types=("consumer",)),
            listed(NONE, types=("whatever",)),
            listed(STABLE, types=()),
        ],
    ),
    row(
        J("testListGroups"),
        given=stable("A"),
        alone=True,
        steps=[
            listed(STABLE, states=("Stable",)),
            listed(STABLE, states=("sTABLE", "Empty")),
            listed(NONE, states=("Empty",)),
            listed(NONE, states=("whatever",)),
            listed(STABLE, states=("Stable",), types=("CLASSIC",)),
            listed(NONE, states=("Stable",), types=("consumer",)),
        ],
        lacks="groups of other kinds; that a change shows when the log has acknowledged it",
    ),
)

DESCRIBING: tuple[Row, ...] = (
    row(
        S("testDescribeGroupStableForDynamicMember"),
        given=stable("A"),
        steps=[
            (
                by("X", "describe"),
                Then(
                    "X NONE",
                    said={
                        "X": {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range"}
                    },
                    described={"A": {"group_instance_id": None}},
                ),
            )
        ],
    ),
    row(
        S("testDescribeGroupStableForStaticMember"),
        given=stable("L"),
        steps=[
            (
                by("X", "describe"),
                Then(
                    "X NONE",
                    said={
                        "X": {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range"}
                    },
                    described={"L": {"group_instance_id": "leader"}},
                ),
            )
        ],
    ),
    row(
        J("testDescribeGroupStable"),
        given=both(client("A", "range:of A"), stable("A")),
        alone=True,
        steps=[
            (
                by("X", "describe"),
                Then(
                    "X NONE",
                    said={"X": {"group_state": "Stable", "protocol_data": "range"}},
                    described={"A": {"member_metadata": b"of A", "member_assignment": b"part of A"}},
                ),
            )
        ],
        lacks="that the group is Dead until the log has acknowledged it",
    ),
    row(
        J("testDescribeGroupRebalancing"),
        given=both(client("A", "range:of A"), stable("A"), enter("B")),
        alone=True,
        steps=[
            (
                by("X", "describe"),
                Then(
                    "X NONE",
                    said={"X": {"group_state": "PreparingRebalance", "protocol_data": ""}},
                    described={
                        "A": {"member_metadata": b"", "member_assignment": b"part of A"},
                        "B": {"member_metadata": b"", "member_assignment": b""},
                    },
                ),
            )
        ],
        lacks="that the group is Dead until the log has acknowledged it",
    ),
)

REMOVING: tuple[Row, ...] = (
    row(
        S("testDeleteNonEmptyGroup"),
        given=enter("A"),
        steps=[(by("X", "delete_group"), Then("X NON_EMPTY_GROUP", "PreparingRebalance 0"))],
    ),
    row(
        S("testDeleteEmptyGroup"),
        given=both(joined("A"), leave("A")),
        steps=[(by("X", "delete_group"), Then("X NONE", "absent"))],
    ),
    row(
        J("testClassicGroupDelete"),
        given=both(stable("A"), leave("A")),
        alone=True,
        steps=[(by("X", "delete_group"), Then("X NONE", "absent", records=1))],
    ),
    row(
        J("testClassicGroupMaybeDelete"),
        given=both(stable("A"), enter("B")),
        alone=True,
        steps=[
            (looked_for_expired, Then("", "PreparingRebalance 1", records=0)),
            (leave("X", "A", "B"), Then("B UNKNOWN_MEMBER_ID, X NONE/NONE", "Empty 2", records=1)),
            (looked_for_expired, Then("", "absent", records=1)),
            (by("X", "delete_group"), Then("X GROUP_ID_NOT_FOUND", "absent", records=0)),
        ],
    ),
)

ADMIN = (*LISTING, *DESCRIBING, *REMOVING)
