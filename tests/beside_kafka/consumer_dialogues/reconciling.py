"""From what a member has to what it shall have: give up, say so, take; and the target that it is led to."""

from __future__ import annotations

from beside_kafka.consumer_dialogues.steps import (
    Dialogue,
    beat,
    deleted,
    describe,
    full,
    goes_on_until,
    grows,
    join,
    leave,
    topic,
)

HANDED_OVER = (topic("t", 2), join("m1"), join("m2"), beat("m1", 2))
"""m1 has been told to give up one of two partitions, which m2 waits for."""

DIALOGUES = (
    Dialogue(
        "reconcile.handover",
        "A partition goes from hand to hand in four heartbeats: the new owner waits, the old one is told, "
        "the old one no longer names it, the new one asks again. In between nobody has it.",
        (
            *(*HANDED_OVER, describe(), beat("m2", 3), beat("m1", 2, owns="t0"), describe()),
            *(beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "reconcile.silence-acknowledges-nothing",
        "A member that does not say what it owns has acknowledged nothing, and one that still names a "
        "partition that it was told to give up neither.",
        (
            *(*HANDED_OVER, beat("m1", 2), beat("m1", 2, owns="t0 t1"), beat("m1", 2, owns="t1"), describe()),
            *(beat("m1", 2, owns=""), describe()),
        ),
    ),
    Dialogue(
        "reconcile.some-of-them",
        "Giving up a part of what was asked for is no acknowledgement: all or nothing.",
        (
            *(topic("t", 4), join("m1"), join("m2"), beat("m1", 2), beat("m1", 2, owns="t0 t1 t2")),
            *(describe(), beat("m1", 2, owns="t0 t1"), beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "reconcile.nothing-to-give-up",
        "A member that no longer names what it would be told to give up is led on at once.",
        (topic("t", 2), join("m1"), join("m2"), beat("m1", 2, owns="t0"), beat("m2", 3), describe()),
    ),
    Dialogue(
        "reconcile.older-statement",
        "A member that still applies an older assignment says what it owns by that: it is taken for giving "
        "up what it was told since, which nobody has asked of it, and the next member is granted that.",
        (
            *(topic("t", 1), join("m1"), grows("t", 2), beat("m1", 2), join("m2"), describe()),
            *(beat("m1", 3, owns="t0"), beat("m2", 4), describe()),
        ),
    ),
    Dialogue(
        "reconcile.name-known-late",
        "A member that knows no name yet for one of its topics says that it owns the rest, which is taken "
        "for giving up that topic.",
        (
            *(topic("t", 1), topic("u", 1), join("m1", "t u"), join("m2", "u"), describe()),
            *(beat("m1", 2, owns="t0"), beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "reconcile.emptied-while-waiting",
        "Who waits for a partition takes it when its owner has left, and a group whose members all leave "
        "while it reconciles is empty.",
        (*HANDED_OVER, leave("m1"), beat("m2", 3), join("m3"), leave("m2"), leave("m3"), describe()),
    ),
    Dialogue(
        "reconcile.joins-again-instead",
        "Epoch 0 acknowledges everything, for who begins anew owns nothing.",
        (*HANDED_OVER, join("m1"), beat("m2", 3), describe()),
    ),
    Dialogue(
        "reconcile.target-changes-meanwhile",
        "A member that is asked to give up partitions hears nothing of a newer target until it has; then it"
        " is led to the newest, which may give it back what it gave up.",
        (*HANDED_OVER, leave("m2"), beat("m1", 2), describe(), beat("m1", 2, owns="t0"), describe()),
    ),
    Dialogue(
        "reconcile.third-member",
        "A member that waits follows each new target: its epoch rises though it still waits.",
        (
            *(topic("t", 3), join("m1"), join("m2"), join("m3"), beat("m2", 3), describe()),
            *(beat("m1", 2), beat("m1", 2, owns="t0"), beat("m2", 4), beat("m3", 4), describe()),
        ),
    ),
    Dialogue(
        "reconcile.leaves-while-asked",
        "Who leaves while it is asked to give up partitions frees all that it has.",
        (*HANDED_OVER, leave("m1"), beat("m2", 3), describe()),
    ),
    Dialogue(
        "reconcile.says-less",
        "A stable member that names less than it was given goes on owning it, and is told so by a request "
        "that says everything.",
        (topic("t", 2), join("m1"), beat("m1", 2, owns="t0"), describe(), full("m1", 2, "t", "t0")),
    ),
    Dialogue(
        "reconcile.leaves-a-topic",
        "Who leaves a topic that it uses is told to give up its partitions; who no longer names them has "
        "lost them at once.",
        (
            *(topic("t", 1), topic("u", 1), join("m1", "t u"), beat("m1", 2, topics="t", owns="t0 u0")),
            *(describe(), beat("m1", 2, topics="t u", owns="t0"), beat("m1", 4), describe()),
            *(beat("m1", 4, topics="t", owns="t0"), describe()),
        ),
    ),
    Dialogue(
        "reconcile.rebalance-timeout",
        "Heartbeats do not keep a member that does not give up what it was told to: it is removed when the "
        "rebalance timeout is over that it named itself.",
        (
            *(topic("t", 2), join("m1", timeout=1000), join("m2"), beat("m1", 2)),
            *(goes_on_until("m1", 2, "UNKNOWN_MEMBER_ID"), beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "reconcile.no-time-to-give-up",
        "A rebalance timeout of nothing is taken at its word: the member is told to give up a partition and"
        " removed.",
        (
            *(topic("t", 2), join("m1", timeout=0), join("m2"), beat("m1", 2)),
            *(goes_on_until("m1", 2, "UNKNOWN_MEMBER_ID"), beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "topics.not-there-yet",
        "A topic that is not there may be subscribed to. When it is made the next heartbeat of any member "
        "raises the group's epoch.",
        (join("m1"), describe(), topic("t", 2), describe(), beat("m1", 2), describe()),
    ),
    Dialogue(
        "topics.grows",
        "New partitions are assigned with the next heartbeat.",
        (topic("t", 1), join("m1"), grows("t", 3), describe(), beat("m1", 2, owns="t0"), describe()),
    ),
    Dialogue(
        "topics.deleted",
        "Partitions of a topic that is deleted are taken back as any others, by their old id; a description"
        " no longer shows them.",
        (
            *(topic("t", 1), topic("u", 1), join("m1", "t u"), deleted("t"), beat("m1", 2, owns="t0 u0")),
            *(describe(), beat("m1", 2, owns="u0"), describe()),
        ),
    ),
    Dialogue(
        "topics.made-anew",
        "A topic that is deleted and made anew is another topic: the old partitions are given up before the"
        " new ones are taken.",
        (
            *(
                topic("t", 2),
                join("m1"),
                deleted("t"),
                topic("t", 1),
                beat("m1", 2, owns="t0 t1"),
                describe(),
            ),
            *(beat("m1", 2, owns=""), describe()),
        ),
    ),
    Dialogue(
        "target.range",
        "The assignor range gives each member a run of each topic's partitions, by the order of their ids, "
        "and keeps nothing where it was.",
        (
            *(topic("t", 5), join("m2", assignor="range"), join("m1"), beat("m2", 2, owns=""), describe()),
            *(beat("m1", 3), describe()),
        ),
    ),
    Dialogue(
        "target.uniform-moves-little",
        "The assignor uniform takes from a member what is above its share and nothing else.",
        (topic("t", 5), join("m1"), join("m2"), beat("m1", 2), join("m3"), describe()),
    ),
    Dialogue(
        "target.wishes",
        "One wish decides for all who have none; a change of the group's choice raises its epoch. A wish "
        "can be changed and not withdrawn.",
        (
            *(topic("t", 3), join("m1"), join("m2"), describe(), beat("m2", 3, assignor="range"), describe()),
            *(beat("m2", 4, assignor=""), beat("m2", 4, assignor="uniform"), describe()),
        ),
    ),
    Dialogue(
        "target.more-members-than-partitions",
        "A member for whom there is nothing is at the target's epoch and stable.",
        (
            topic("t", 1),
            join("m1"),
            join("m2"),
            join("m3"),
            beat("m1", 2),
            describe(),
            beat("m2", 3),
            describe(),
        ),
    ),
)
