"""What can be behind a rebalance: a table of causes, each with the evidence without which it is not named.

The first cause whose evidence is there is the one: those that say more stand before those that say less. What
a source does not show is not guessed: the last causes say what is seen and what is not visible.
"""

from __future__ import annotations

from dataclasses import dataclass

from rota.explain.signs import Sign


@dataclass(frozen=True)
class Needs:
    """Evidence: at least so many of a sign."""

    sign: Sign
    least: int = 1


@dataclass(frozen=True)
class Cause:
    """Something that makes groups rebalance.

    name: for programs; title: in a word or two; needs: the evidence, all of it; never: signs beside which it
    is not this; sentence: what happened, with {who} (members by the first sign that is needed), {was} (or
    were), {number} of them and {group}; unseen: what this evidence cannot tell; change: what helps, each with
    the setting that it is about, if any; rule: the slug of the spec's rule; weaknesses: names in
    docs/findings.md that fit;
    routine: nobody is worse off, so it is told last.
    """

    name: str
    title: str
    needs: tuple[Needs, ...]
    sentence: str
    rule: str
    change: tuple[tuple[str, str], ...]
    never: tuple[Sign, ...] = ()
    unseen: str = ""
    weaknesses: tuple[str, ...] = ()
    routine: bool = False


def needs(*signs: Sign | Needs) -> tuple[Needs, ...]:
    """Evidence, one of each sign unless it says how many."""
    return tuple(one if isinstance(one, Needs) else Needs(one) for one in signs)


STATIC = (
    "group.instance.id",
    "static membership: a client that is back within its session timeout rebalances nobody",
)
LONGER_SESSION = ("session.timeout.ms", "longer than a restart or a pause of the client takes")
SHORTER_SESSION = ("session.timeout.ms", "shorter, so that a client that is gone is noticed earlier; but "
                                         "longer than its "
                   "longest pause")  # fmt: skip
LONGER_POLL = ("max.poll.interval.ms", "longer than a batch of records takes")
FEWER_RECORDS = ("max.poll.records", "fewer, so that a batch takes less long")
COOPERATIVE = (
    "partition.assignment.strategy",
    "cooperative-sticky: members keep what does not move while they rebalance",
)
DELAY = ("group.initial.rebalance.delay.ms", "of the broker: longer than the first members take to come")

CAUSES: tuple[Cause, ...] = (
    Cause(
        "append-failed", "The log did not take the assignment", needs(Sign.NOT_STORED),
        "the coordinator could not store a record of {group}: a full disk, too few replicas in sync, or a "
        "log that "
        "times out",
        "persistence.assignment-failed",
        (("min.insync.replicas", "of __consumer_offsets: no more than there are replicas alive"),
         ("", "look at the broker's disks and at under-replicated partitions of __consumer_offsets")),
        weaknesses=("weakness.fenced-by-a-failed-restart",),
    ),
    Cause(
        "group-too-large", "Group too large", needs(Sign.FULL),
        "{group} has as many members as group.max.size allows, or more, and somebody was refused or sent "
        "back",
        "join.group-max-size-reached",
        (("group.max.size", "of the broker: at least as many as are deployed while old and new run side "
                            "by side"),
         ("", "fewer consumers: those beyond the number of partitions have nothing to do")),
        weaknesses=("join.open-barrier-completes", "weakness.absent-members-not-counted",
                    "weakness.static-restart-refused"),
    ),
    Cause(
        "duplicate-instance", "Two clients with one instance id", needs(Sign.REPLACED, Sign.FENCED),
        "{who} took the place of another that was still alive: two processes use one group.instance.id",
        "static.replaced",
        (("group.instance.id", "another for each process: by ordinal or host, never from a shared file"),),
        weaknesses=("weakness.fenced-by-its-own-past",),
    ),
    Cause(
        "fenced", "Fenced instance", needs(Sign.FENCED),
        "a request of {who} was refused since another member has its instance id",
        "heartbeat.fenced-instance-id",
        (("group.instance.id", "see that no two processes use one"),),
        unseen="whether another process uses the id, or its own restart came late",
        weaknesses=("weakness.fenced-by-its-own-past", "weakness.fenced-by-a-failed-restart"),
    ),
    Cause(
        "new-member-timeout", "A join phase of five minutes", needs(Sign.NEW_LATE),
        "{who} waited five minutes for its first join phase to end and was removed; the others had not "
        "come by then",
        "timers.new-member-expired",
        (("max.poll.interval.ms", "of all members: below five minutes, for the join phase lasts as long "
                                  "as the longest"),),
    ),
    Cause(
        "slow-poll", "Slow poll", needs(Sign.LATE_POLL),
        "{who} {was} not polled by its application within max.poll.interval.ms, and left",
        "leave.member",
        (LONGER_POLL, FEWER_RECORDS, ("", "hand records to other threads, pause the partitions and go on "
                                          "polling")),
    ),
    Cause(
        "sync-timeout", "A member that did not fetch its assignment", needs(Sign.NOT_SYNCED),
        "{who} joined and did not send SyncGroup within the rebalance timeout",
        "timers.sync-timeout",
        (("max.poll.interval.ms", "it is how long the group waits for a SyncGroup"),
         ("", "see what the client, or the leader that computes assignments, did in that time")),
        unseen="whether it, or the leader that it waited for, was stuck",
        weaknesses=("weakness.stale-sync-debt", "weakness.removed-request-unanswered"),
    ),
    Cause(
        "join-leave-loop", "A member that leaves and comes", needs(Needs(Sign.LEFT_NEW, 2)),
        "{who} came and was gone again, {number} times: a client that fails soon after it has started",
        "leave.member",
        (("", "see why that client ends: its own log, or an exception in its handler"), STATIC),
    ),
    Cause(
        "rolling-deploy", "Rolling deploy", needs(Needs(Sign.CLOSED, 2), Needs(Sign.JOINED, 2)),
        "{number} members were closed and others came in their places, one after the other",
        "leave.member",
        (STATIC, COOPERATIVE, ("internal.leave.group.on.close", "false has the same effect as a static "
                                                                "member's close"),
         ("", "restart several at once: each restart on its own costs a rebalance or two")),
        never=(Sign.LEFT_NEW,),
    ),
    Cause(
        "left-in-turn",
        "Members left and came",
        needs(Needs(Sign.LEFT, 2), Needs(Sign.JOINED, 2)),
        "{number} members left and others came, one after the other",
        "leave.member",
        (STATIC, COOPERATIVE),
        never=(Sign.LEFT_NEW,),
        unseen="whether it was a rolling deploy or each was polled too late: the clients give no reason",
    ),
    Cause(
        "coordinator-moved", "The coordinator moved", needs(Sign.MOVED),
        "the partition of __consumer_offsets that {group} is on was loaded or unloaded: its coordinator "
        "moved",
        "loading.load",
        (("", "see why the broker went: a restart, an election of preferred leaders, a lost session with "
              "the controller"),),
        never=(Sign.SESSION_OVER, Sign.LEFT, Sign.JOINED),
        weaknesses=("weakness.left-and-still-a-member", "weakness.lost-generation-assigns",
                    "weakness.refused-after-a-move", "weakness.sync-while-loading-is-fatal"),
    ),
    Cause(
        "broker-away", "The broker was away", needs(Sign.CUT_OFF),
        "the broker ended the connection of {who}, whose session ran out before it was heard of again: the "
        "broker was started again, or was cut off",
        "timers.session-expired",
        (("", "see why the broker went: a restart, a crash, a host that is gone"),
         ("session.timeout.ms", "longer than the coordinator is away when a broker restarts")),
        unseen="whether the client would have been in time otherwise",
        weaknesses=("weakness.taken-for-dead-and-consuming",),
    ),
    Cause(
        "paused-together", "Many away at once", needs(Needs(Sign.HEARD_AFTER, 2), Needs(Sign.TOGETHER, 2)),
        "{who} {was} silent for their session timeouts within seconds of each other and heard of again "
        "afterwards: something that they share was paused, cut off or down",
        "timers.session-expired",
        (LONGER_SESSION, ("", "look at the host, the network or the broker that they share")),
        unseen="whether it was a pause, the network or the broker",
        weaknesses=("weakness.taken-for-dead-and-consuming",),
    ),
    Cause(
        "paused-process", "Paused process", needs(Sign.HEARD_AFTER),
        "{who} {was} silent for its session timeout and {was} heard of again afterwards: paused or cut off, "
        "not dead",
        "timers.session-expired",
        (LONGER_SESSION, ("", "look for pauses of the garbage collector, throttled processors, a machine "
                              "that slept")),
        weaknesses=("weakness.taken-for-dead-and-consuming",),
    ),
    Cause(
        "sessions-together", "Many lost at once", needs(Needs(Sign.TOGETHER, 2)),
        "the sessions of {number} members ran out within seconds, among them {who}: something that they "
        "share was "
        "paused, cut off or down",
        "timers.session-expired",
        (LONGER_SESSION, ("", "look at the host, the network or the deployment that they share")),
        unseen="whether it was a pause, the network or a crash",
        weaknesses=("weakness.taken-for-dead-and-consuming",),
    ),
    Cause(
        "static-restart-late", "A static restart that took too long", needs(Sign.INSTANCE_BACK),
        "the static member {who} {was} back after its session had run out, so its restart cost two "
        "rebalances",
        "timers.session-expired",
        (LONGER_SESSION,),
    ),
    Cause(
        "lost-client", "Lost client", needs(Sign.SESSION_OVER),
        "the broker heard nothing of {who} for its session timeout and removed it",
        "timers.session-expired",
        (SHORTER_SESSION, STATIC),
        unseen="whether it crashed, was killed, was paused or was cut off",
        weaknesses=("weakness.taken-for-dead-and-consuming",),
    ),
    Cause(
        "pending-unused", "An id that nobody used", needs(Sign.PENDING_OVER),
        "a client was given the member id {who} and never joined with it; until then all others waited "
        "for it",
        "timers.pending-expired",
        (("session.timeout.ms", "of the newcomer: it is how long its id is waited for"),),
        weaknesses=("weakness.unused-id-holds-up",),
    ),
    Cause(
        "not-rejoined", "A member that did not rejoin in time", needs(Sign.NOT_REJOINED),
        "{who} did not join again within the rebalance timeout; the others waited for it all that time",
        "timers.join-timeout",
        (("max.poll.interval.ms", "it is how long the group waits: shorter, if batches allow it"),
         FEWER_RECORDS),
        unseen="whether its application was busy between two polls or it was gone",
        weaknesses=("weakness.replaced-request-unanswered",),
    ),
    Cause(
        "static-restarts", "A static member that restarts again and again", needs(Sign.REPLACED_AGAIN),
        "{who} came back several times under one instance id",
        "static.replaced",
        (("", "see why that client ends"), ("group.instance.id", "see that no two processes use one")),
        unseen="whether one process restarts or two use the id",
        weaknesses=("weakness.fenced-by-its-own-past", "weakness.stale-sync-debt"),
    ),
    Cause(
        "static-restart", "Static restart", needs(Sign.REPLACED),
        "the static member {who} came back within its session timeout",
        "static.replaced",
        (("", "nothing, where it made no rebalance; else give all versions of the client the same "
              "protocols"),),
        weaknesses=("weakness.leader-does-not-know", "weakness.stale-sync-debt"),
    ),
    Cause(
        "removed-by-admin", "Removed by an administrator", needs(Sign.ADMIN),
        "somebody removed {who} by the admin client",
        "leave.member",
        (("", "ask who ran kafka-consumer-groups or the admin client then"),),
        weaknesses=("weakness.removed-request-unanswered",),
    ),
    Cause(
        "unsubscribed", "Unsubscribed", needs(Sign.UNSUBSCRIBED),
        "{who} unsubscribed from all topics",
        "leave.member",
        (("", "unsubscribe only where a consumer is to stay out"),),
    ),
    Cause(
        "restart",
        "Restart",
        needs(Sign.CLOSED, Sign.RETURNED),
        "{who} {was} closed, and a client of the same id came",
        "leave.member",
        (STATIC,),
    ),
    Cause(
        "left-and-back",
        "A member left and came back",
        needs(Sign.RETURNED),
        "{who} left, and a client of the same id came",
        "leave.member",
        (STATIC, LONGER_POLL),
        unseen="whether it was restarted or was polled too late: the client gives no reason, but its own log "
        "tells",
    ),
    Cause(
        "closed", "A consumer was closed", needs(Sign.CLOSED),
        "{who} {was} closed by its application",
        "leave.member",
        (STATIC, COOPERATIVE),
    ),
    Cause(
        "left", "A member left", needs(Sign.LEFT),
        "{who} left",
        "leave.member",
        (STATIC, COOPERATIVE),
        unseen="why it left: the client gives no reason (before Kafka 3.2, and other libraries)",
    ),
    Cause(
        "subscription-changed", "Subscription changed", needs(Sign.SUBSCRIPTION),
        "the subscription of {who} changed: to other topics, or other topics match its pattern",
        "join.changed-protocols",
        (COOPERATIVE, ("", "give all members one subscription before they are deployed")),
    ),
    Cause(
        "metadata-changed", "Topics changed", needs(Sign.METADATA),
        "{who} saw other topics or numbers of partitions than before",
        "join.leader-rejoins",
        (COOPERATIVE, ("metadata.max.age.ms", "how soon a change of topics is seen")),
    ),
    Cause(
        "enforced", "Asked for by the application", needs(Sign.ENFORCED),
        "the application of {who} asked for a rebalance",
        "join.leader-rejoins",
        (("", "see where enforceRebalance is called; Kafka Streams does so when tasks are to move"),),
    ),
    Cause(
        "first-members", "First members", needs(Sign.FROM_EMPTY, Sign.JOINED),
        "{group} was empty and {who} came",
        "timers.initial-delay-over",
        (DELAY,),
        never=(Sign.GONE,),
        weaknesses=("weakness.newcomer-remembered",),
        routine=True,
    ),
    Cause(
        "came", "A member came", needs(Sign.JOINED),
        "{who} came",
        "join.rebalance-or-complete",
        (STATIC, COOPERATIVE),
        unseen="whether it is one more or takes the place of one that went before",
    ),
    Cause(
        "leader-rejoined", "The leader joined again", needs(Sign.LEADER),
        "the leader {who} joined again, which always rebalances",
        "join.leader-rejoins",
        (COOPERATIVE,),
        unseen="why it did: topics that changed, or a step of a cooperative rebalance",
    ),
    Cause(
        "rejoined-changed", "A member with other metadata", needs(Sign.CHANGED),
        "{who} joined again with other metadata than before",
        "join.changed-protocols",
        (COOPERATIVE,),
        unseen="what changed: its subscription, or what it owns in a cooperative rebalance",
    ),
    Cause(
        "gone", "A member is gone", needs(Sign.GONE),
        "the next generation is without {who}",
        "join.complete-phase",
        (),
        unseen="how it went: whether it left, failed or did not come in time",
    ),
    Cause(
        "new", "A new member", needs(Sign.CAME),
        "the next generation has {who}, and the one before had not",
        "join.complete-phase",
        (),
        unseen="when it came and how long the others waited",
    ),
)  # fmt: skip

UNKNOWN = Cause("not-visible", "Not visible in this source", (), "{group} rebalanced, and why is not "
                                                                 "visible in this source",
                "", (("", "give the coordinator's log of that time too, at level INFO"),))  # fmt: skip
