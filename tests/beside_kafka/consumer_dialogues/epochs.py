"""Three counters: the group's epoch, its target's, each member's; and what a lost answer leaves behind."""

from __future__ import annotations

from beside_kafka.consumer_dialogues.others import commit
from beside_kafka.consumer_dialogues.steps import (
    Dialogue,
    at_once,
    beat,
    beside,
    describe,
    full,
    grows,
    join,
    leave,
    settings,
    topic,
)

DIALOGUES = (
    Dialogue(
        "epochs.second-member",
        "A second member makes a new epoch. It is at the new one at once, the first one only after it has "
        "given up what it has to.",
        (topic("t", 4), join("m1"), join("m2"), describe(), beat("m1", 2), describe()),
    ),
    Dialogue(
        "epochs.nothing-new-for-a-member",
        "A member whose partitions stay the same is led to the new epoch by its next heartbeat, and told no"
        " assignment.",
        (topic("t", 1), join("m1"), join("m2"), beat("m1", 2), beat("m2", 3), describe()),
    ),
    Dialogue(
        "epochs.change-of-subscription",
        "The group's epoch rises where the set of names changes; order and repetition are no change.",
        (
            *(
                topic("t", 1),
                topic("u", 1),
                join("m1"),
                beat("m1", 2, topics="t"),
                beat("m1", 2, topics="t u"),
            ),
            *(beat("m1", 3, topics="u t u"), beat("m1", 3, topics="t", owns="t0"), describe()),
        ),
    ),
    Dialogue(
        "epochs.what-raises-none",
        "Rack, rebalance timeout, a repeated join and what a member owns raise no epoch.",
        (
            *(topic("t", 2), join("m1"), beat("m1", 2, rack="r"), beat("m1", 2, timeout=9000)),
            *(join("m1", rack="q"), beat("m1", 2, owns="t0"), describe()),
        ),
    ),
    Dialogue(
        "epochs.full-request-is-told",
        "The assignment is in the answer at epoch 0, to a request that says everything, and when it "
        "changed; else there is none.",
        (
            *(topic("t", 2), join("m1"), beat("m1", 2), beat("m1", 2, owns="t0 t1")),
            *(full("m1", 2, "t", "t0 t1"), beat("m1", 2, timeout=60_000, topics="t")),
        ),
    ),
    Dialogue(
        "epochs.too-great-or-too-old",
        "An epoch above the member's is fenced, and one below, but for the previous one of a member that "
        "says what it owns, if all of that is assigned to it.",
        (
            *(topic("t", 1), join("m1"), join("m2"), beat("m1", 3), beat("m1", 2), beat("m1", 2)),
            *(beat("m1", 2, owns="t0"), beat("m1", 2, owns="t0 t1"), beat("m1", 1, owns=""), beat("m1", 4)),
        ),
    ),
    Dialogue(
        "epochs.lost-answer",
        "The answer with the new epoch is lost: the same request again, with all that the member has to "
        "say, is answered with epoch and assignment.",
        (
            *(topic("t", 2), join("m1"), join("m2"), full("m2", 0, "t", ""), leave("m1")),
            *(full("m2", 3, "t", ""), full("m2", 3, "t", ""), describe()),
        ),
    ),
    Dialogue(
        "epochs.lost-answer-and-few-words",
        "Who repeats a lost answer's request without saying everything is told the new epoch and no "
        "assignment: it never hears of the partitions that it was given.",
        (
            *(topic("t", 2), join("m1"), join("m2"), beat("m1", 2, owns="t0"), leave("m1")),
            *(beat("m2", 3, owns=""), beat("m2", 3, owns=""), beat("m2", 4), describe()),
        ),
    ),
    Dialogue(
        "epochs.two-lost-answers",
        "Being told to give up partitions overwrites the previous epoch, so a member that missed the answer"
        " before that one, too, is fenced though it did nothing wrong.",
        (
            *(topic("t", 4), join("m1"), join("m2", ""), beat("m2", 2, topics="u")),
            *(beat("m1", 2, owns="t0 t1 t2 t3"), beat("m2", 3, topics="t")),
            *(
                beat("m1", 2, owns="t0 t1 t2 t3"),
                beat("m1", 2, owns="t0 t1 t2 t3"),
                beat("m1", 3),
                describe(),
            ),
        ),
    ),
    Dialogue(
        "epochs.join-that-arrives-late",
        "A join that a broken connection has left behind is taken for a rejoin and moves its member on; the "
        "answer reaches nobody, and the member's next heartbeat is fenced though nothing has removed it.",
        (
            *(topic("t", 1), join("m1"), grows("t", 2), join("m1"), beat("m1", 2), describe()),
            *(join("m1"), beat("m1", 3)),
        ),
    ),
    Dialogue(
        "epochs.what-a-late-join-was-granted",
        "Where the member says what it owns before it is fenced, it is told the new epoch and no assignment: "
        "of the partition that the late join was granted nobody ever hears, and the group is Stable.",
        (
            *(topic("t", 1), join("m1"), grows("t", 2), join("m1"), beat("m1", 2, owns="t0")),
            *(beat("m1", 3), beat("m1", 3), describe()),
        ),
    ),
    Dialogue(
        "epochs.lost-answer-to-an-older-statement",
        "An older statement of a member has freed what it was told since, and the answer to that is lost: as "
        "it applies what it was told, it owns more than it has, and is fenced though nothing has removed it.",
        (
            *(topic("t", 1), join("m1"), grows("t", 2), beat("m1", 2), join("m2")),
            *(beat("m1", 3, owns="t0"), full("m1", 3, "t", "t0 t1"), full("m1", 3, "t", "t0"), describe()),
        ),
    ),
    Dialogue(
        "epochs.under-way-at-once",
        "Requests of one member that are under way at once on one connection are taken in their order and all"
        " answered: what is good before a heartbeat moves its member on is not what is good after it.",
        (
            *(topic("t", 2), at_once(join("m1"), join("m1"), commit("m1", 2, "t0")), join("m2")),
            *(beat("m1", 2), beat("m2", 3)),
            at_once(
                *(commit("m1", 3, "t0"), beat("m1", 2, owns="t0"), commit("m1", 3, "t0")),
                *(commit("m1", 2, "t0"), beat("m1", 2), beat("m1", 3)),
            ),
            *(at_once(beat("m1", 3), leave("m1"), beat("m1", 3), commit("m1", 3, "t0")), describe()),
        ),
    ),
    Dialogue(
        "epochs.commit-beside-a-heartbeat",
        "A commit on another connection than the heartbeat that moves its member on is taken before and after"
        " it: by then its epoch is an older one, which the member has had these partitions since.",
        (
            *(topic("t", 2), join("m1"), join("m2"), beat("m1", 2), beat("m2", 3)),
            *(beside(beat("m1", 2, owns="t0"), commit("m1", 2, "t0")), describe()),
        ),
    ),
    Dialogue(
        "epochs.greatest",
        "The greatest number is an epoch like any other above the member's, and the least one no epoch.",
        (
            *(topic("t", 1), join("m1"), beat("m1", 2**31 - 1), commit("m1", 2**31 - 1, "t0")),
            *(beat("m1", -(2**31)), beat("m1", 2)),
        ),
    ),
    Dialogue(
        "epochs.emptied",
        "The epoch of a group that was emptied goes on, and the target's with it.",
        (topic("t", 1), join("m1"), leave("m1"), describe(), join("m1"), describe()),
    ),
    Dialogue(
        "epochs.assignment-interval",
        "Within the assignment interval there is no new target: a second member is taken in at the old "
        "epoch with nothing, and the group is Assigning.",
        (
            settings(consumer_assignment_interval_ms=15_000),
            *(topic("t", 2), join("m1"), join("m2"), describe(), beat("m1", 2), beat("m2", 2), describe()),
        ),
    ),
    Dialogue(
        "epochs.assignment-interval-and-topics",
        "Within the assignment interval a member that leaves a topic is told at once to give up its "
        "partitions, at the epoch that it has.",
        (
            settings(consumer_assignment_interval_ms=15_000),
            *(topic("t", 1), topic("u", 1), join("m1", "t u"), beat("m1", 2, topics="t"), describe()),
            *(beat("m1", 2, owns="t0"), describe()),
        ),
    ),
    Dialogue(
        "epochs.assignment-interval-and-emptying",
        "A group that was emptied computes its next target at once, whatever the interval is.",
        (
            settings(consumer_assignment_interval_ms=15_000),
            *(topic("t", 1), join("m1"), leave("m1"), join("m2"), describe()),
        ),
    ),
)
