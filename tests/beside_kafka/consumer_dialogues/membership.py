"""Who is a member: joining, leaving, what a heartbeat must say, and who is refused."""

from __future__ import annotations

from beside_kafka.consumer_dialogues.steps import (
    Dialogue,
    beat,
    closes,
    describe,
    full,
    join,
    leave,
    removed,
    settings,
    topic,
    waits_until_gone,
)

DIALOGUES = (
    Dialogue(
        "membership.first-member",
        "A group begins with epoch 1, which nobody sees: the first member makes it 2 and is given "
        "everything at once.",
        (topic("t", 3), join("m1"), describe(1), describe(0)),
    ),
    Dialogue(
        "membership.no-subscription",
        "A first member that subscribes to nothing changes no epoch: it and the group stay at 1, and the "
        "group is stable.",
        (join("m1", ""), describe()),
    ),
    Dialogue(
        "membership.a-second-without-subscription",
        "A member that subscribes to nothing is taken in without a new epoch of the group.",
        (topic("t", 2), join("m1"), join("m2", ""), describe()),
    ),
    Dialogue(
        "membership.broker-makes-the-id",
        "In version 0 a member without an id is given one and taken in at once; who asks again is a second "
        "member.",
        (topic("t", 2), join("", version=0), join("", version=0), describe()),
    ),
    Dialogue(
        "membership.join-again",
        "Epoch 0 of a known id is that member, whoever sends it: nothing changes, and the answer is "
        "repeated.",
        (topic("t", 3), join("m1"), join("m1"), full("m1", 2, "t", "t0 t1 t2"), join("m1"), describe()),
    ),
    Dialogue(
        "membership.fenced-and-back",
        "Being fenced removes nobody: the member is still there, and epoch 0 under the same id gives it "
        "back what it had, at the epoch that it had.",
        (topic("t", 3), join("m1"), beat("m1", 7), describe(), join("m1"), beat("m1", 2)),
    ),
    Dialogue(
        "membership.what-a-heartbeat-must-say",
        "What a request says is checked before anything about the group, which is not there: ids, the "
        "instance, the rack, what a joining member has to say, the epoch, and last the assignor.",
        (
            beat("", 0, timeout=1000, topics="t", owns=""),
            beat(" ", 5),
            beat("m1", 5, instance=" ", rack=" "),
            beat("m1", 5, rack=" "),
            beat("m1", 0, topics="t", owns=""),
            beat("m1", 0, timeout=1000, topics="t"),
            beat("m1", 0, timeout=1000, topics="t", owns="t0"),
            beat("m1", 0, timeout=1000, owns=""),
            beat("m1", -2),
            beat("m1", -3),
            beat("m1", -3, assignor="Range"),
            beat("m1", 5, assignor="Range"),
            beat("m1", -1, assignor=""),
            beat("", 5, version=0),
            beat("", -1, version=0),
        ),
    ),
    Dialogue(
        "membership.assignor-first",
        "A wish for an assignor that is not there is refused before an instance id or an expression is used.",
        (
            beat("m1", 0, timeout=1000, topics="t", owns="", assignor="Range", instance="i1"),
            beat("m1", 0, timeout=1000, owns="", assignor="Range", regex="t.*"),
            describe(),
        ),
    ),
    Dialogue(
        "membership.nobody",
        "A group that is not there is not found at any epoch but 0; in a group that is there an id that is "
        "not is unknown, also when it leaves.",
        (
            *(beat("m1", 1), beat("m1", -1), describe()),
            *(topic("t", 1), join("m1"), beat("m2", 1), beat("m2", -1)),
        ),
    ),
    Dialogue(
        "membership.full-group",
        "A full group refuses who is not in it, at any epoch and before it asks whether the id is known; "
        "who is in it goes on, and may join again.",
        (
            *(topic("t", 3), join("m1"), join("m2"), join("m3"), join("m4"), beat("m4", 3)),
            *(join("m1"), leave("m3"), join("m4"), describe()),
        ),
    ),
    Dialogue(
        "membership.leave",
        "Leaving asks for no epoch but -1 and is final: the answer repeats the epoch, and the partitions "
        "are free for who is there.",
        (
            *(topic("t", 2), join("m1"), join("m2"), leave("m1"), leave("m1"), describe()),
            *(beat("m1", 2), beat("m2", 3), describe()),
        ),
    ),
    Dialogue(
        "membership.removed-together",
        "Several members that one LeaveGroup removes are one new epoch of the group.",
        (
            *(topic("t", 2), join("m1"), join("m2"), join("m3")),
            *(removed("m1", "m2"), describe(), beat("m3", 4), describe()),
        ),
    ),
    Dialogue(
        "membership.ids-that-are-null",
        "Null is no id, and a version that is not advertised no request: the broker closes the connection.",
        (
            closes("group id null", 1, group_id=None),
            closes("member id null", 1, member_id=None),
            closes("version 2", 2),
        ),
    ),
    Dialogue(
        "membership.odd-lists",
        "Names of topics are taken as they are, once each; partitions that a member cannot own are not "
        "looked at.",
        (*(topic("t", 2), join("m1", "t t no/such"), beat("m1", 2, owns="t0 t0 t9 x1"), describe()),),
    ),
    Dialogue(
        "membership.session-ends",
        "A member that is silent for the session's timeout is removed, and the group's epoch rises; it may "
        "join anew under the same id.",
        (
            settings(consumer_heartbeat_interval_ms=500, consumer_session_timeout_ms=4000),
            *(topic("t", 2), join("m1"), waits_until_gone("m1"), beat("m1", 2), describe(), join("m1")),
        ),
    ),
)
