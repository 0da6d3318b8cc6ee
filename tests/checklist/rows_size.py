"""Rows of group.max.size: who is admitted to a group that is full, and who has to go."""

from __future__ import annotations

from checklist.checklist_words import J, Row, S, Then, both, client, configure, join, row, stable, wait

REFUSED = {"C": {"member_id": ""}}

statics = both(*(client(name, instance=name) for name in "ABC"))

over_the_limit = both(stable("A", "B", "C", "D"), configure(group_max_size=2), join("A"))
"""A leads a group of four in which no more than two may be; it has begun a rebalance."""

SIZE: tuple[Row, ...] = (
    row(
        S("testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember"),
        J("testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember"),
        given=both(join("A"), join("B")),
        steps=[
            (join("C"), Then("C MEMBER_ID_REQUIRED", "Empty 0", members="", pending="A B C")),
            (both(join("A"), join("B")), Then("", "PreparingRebalance 0", members="A B", pending="C")),
            (join("C"), Then("C GROUP_MAX_SIZE_REACHED", members="A B", pending="", said=REFUSED)),
            (wait(6_000), Then("A NONE, B NONE", "CompletingRebalance 1", members="A B", pending="")),
            (
                both(join("A"), join("B"), join("C")),
                Then("A NONE, B NONE, C GROUP_MAX_SIZE_REACHED", "CompletingRebalance 1", members="A B"),
            ),
        ],
        size=2,
    ),
    row(
        S("testStaticMembersJoinGroupWithMaxSize"),
        J("testStaticMembersJoinGroupWithMaxSize"),
        given=both(statics, join("A"), join("B")),
        steps=[
            (join("C"), Then("C GROUP_MAX_SIZE_REACHED", "PreparingRebalance 0", "A B", said=REFUSED)),
            (wait(6_000), Then("A NONE, B NONE", "CompletingRebalance 1", members="A B")),
            (
                both(join("A"), join("B"), join("C")),
                Then("A NONE, B NONE, C GROUP_MAX_SIZE_REACHED", "CompletingRebalance 1", members="A B"),
            ),
        ],
        size=2,
    ),
    row(
        S("testLastJoiningMembersAreKickedOutWhenReJoiningGroupWithMaxSize"),
        given=over_the_limit,
        steps=[
            (join("B"), Then("", "PreparingRebalance 1", members="A B C D")),
            (join("C"), Then("C GROUP_MAX_SIZE_REACHED", "PreparingRebalance 1", members="A B D")),
            (
                join("D"),
                Then("A NONE, B NONE, D GROUP_MAX_SIZE_REACHED", "CompletingRebalance 2", members="A B"),
            ),
        ],
    ),
    row(
        J("testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize"),
        given=over_the_limit,
        alone=True,
        steps=[
            (join("B"), Then("", "PreparingRebalance 1", members="A B C D")),
            (
                both(join("C"), join("D")),
                Then("C GROUP_MAX_SIZE_REACHED, D GROUP_MAX_SIZE_REACHED", members="A B"),
            ),
            (wait(9_999), Then("", "PreparingRebalance 1", timers={"join": 1})),
            (wait(1), Then("A NONE, B NONE", "CompletingRebalance 2", members="A B")),
        ],
    ),
)
