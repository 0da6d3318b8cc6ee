"""Each event of a group is one line of the log, with the words by which it is known in Kafka's."""

import logging
import subprocess
import sys
from typing import get_args
from uuid import UUID

import pytest

from rota.coordinator import CoordinatorConfig, Event, GroupCoordinator, Notice
from rota.coordinator.step import Step
from rota.server.groups import GroupService
from rota.server.log_lines import MOST_CHARACTERS, MOST_IDS, SENTENCES, line, plain

GROUP = {"group_id": "g"}
JOIN = GROUP | {
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 20_000,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"m"}],
    "member_id": "",
}


class Numbered:
    """Ids count up; the first wins."""

    ids = 0

    def now_ms(self):
        return 0

    def new_member_id(self, prefix):
        self.ids += 1
        return f"{prefix}-{self.ids}"

    def protocol(self, tied):
        return tied[0]

    def leader(self, candidates):
        return candidates[0]


class Context:
    client_id, client_host = "c", "/127.0.0.1"

    def __init__(self, version):
        self.version = version
        self.replies = []

    def reply(self, body):
        self.replies.append(body)


class Loop:
    """What the service uses of an event loop; its time is the test's."""

    def __init__(self):
        self.now, self.soon, self.timers = 0.0, [], []

    def time(self):
        return self.now

    def call_soon(self, call, *arguments):
        self.soon.append((call, arguments))

    def call_at(self, when, call, *arguments):
        self.timers.append(Timer(when, call, arguments))
        return self.timers[-1]


class OneTopic:
    """The topic t has two partitions."""

    version = 1

    def id_of(self, name):
        return UUID(int=1) if name == "t" else None

    def name_of(self, topic_id):
        return "t"

    def partition_count(self, name):
        return 2 if name == "t" else 0


class Timer:
    def __init__(self, when, call, arguments):
        self.when, self.call, self.arguments = when, call, arguments

    def cancel(self):
        self.when = float("inf")


class Story:
    """A service whose events are told by `lines`, each time those since the last."""

    def __init__(self, caplog, **config):
        self.loop, self.caplog = Loop(), caplog
        config = {"group_initial_rebalance_delay_ms": 0, "group_min_session_timeout_ms": 1000} | config
        self.service = GroupService(
            CoordinatorConfig(**config), self.loop, lambda config, _: GroupCoordinator(config, Numbered())
        )
        caplog.set_level(logging.INFO, logger="rota.server.groups")

    def ask(self, name, version, **body):
        context = Context(version)
        self.service.handlers[name](body, context)
        return context.replies

    def join(self, version=9, **changes):
        return self.ask("JoinGroup", version, **JOIN | changes)

    def sync(self, member_id, generation_id=1, **changes):
        body = GROUP | {"member_id": member_id, "generation_id": generation_id, "assignments": []}
        return self.ask("SyncGroup", 4, **body | changes)

    def heartbeat(self, member_id, generation_id=1):
        return self.ask("Heartbeat", 4, **GROUP | {"member_id": member_id, "generation_id": generation_id})

    def beat(self, member_id, epoch, **said):
        first = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        body = {"group_id": "g", "member_id": member_id, "member_epoch": epoch, "rebalance_timeout_ms": -1}
        unsaid = dict.fromkeys(
            ("instance_id", "rack_id", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor")
        )
        body |= {**unsaid, "topic_partitions": None, **(first if epoch == 0 else {}), **said}
        return self.ask("ConsumerGroupHeartbeat", 1, **body)

    def leave(self, *members):
        return self.ask(
            "LeaveGroup", 5, group_id="g", members=[{"group_instance_id": None, **one} for one in members]
        )

    def turn(self):
        while self.loop.soon:
            call, arguments = self.loop.soon.pop(0)
            call(*arguments)

    def wait(self, seconds):
        """Time passes, timers fire."""
        self.turn()
        until = self.loop.now + seconds
        while True:
            due = min(self.loop.timers, key=lambda timer: timer.when)
            if due.when > until:
                break
            self.loop.timers.remove(due)
            self.loop.now = max(self.loop.now, due.when)
            due.call(*due.arguments)
            self.turn()
        self.loop.now = until

    def lines(self):
        told = [record.message for record in self.caplog.records if record.name == "rota.server.groups"]
        assert all(record.levelname == "INFO" for record in self.caplog.records)
        self.caplog.clear()
        return told

    def stable(self, *instance_ids):
        """A group of members c-1, c-2 and so on, or static ones, that is Stable in generation 1."""
        for instance_id in instance_ids:
            self.join(version=3 if instance_id is None else 9, group_instance_id=instance_id)
        self.wait(0.01)
        group = self.service.core.groups["g"]
        for member_id in group.members:
            self.sync(member_id)
        self.wait(0.01)
        assert (group.state, group.generation_id) == ("Stable", 1)
        self.lines()


@pytest.fixture
def story(caplog):
    return Story(caplog)


def newcomers(story):
    story.join()
    assert story.lines() == [
        "Dynamic member with unknown member id joins group g in state Empty:"
        " it has to rejoin with new member id c-1"
    ]
    story.join(member_id="c-1", reason="back")
    assert story.lines() == [
        "Pending dynamic member c-1 joins group g in state Empty: it is added",
        "Preparing to rebalance group g in state Empty with old generation 0 and 1 members"
        " (reason: adding new member c-1 with instance id None; client reason: back)",
    ]
    story.join(version=3)
    story.join(group_instance_id="i")
    assert story.lines() == [
        "Dynamic member with unknown member id joins group g in state PreparingRebalance:"
        " new member id c-2 is added",
        "Static (instance id i) member with unknown member id joins group g in state PreparingRebalance:"
        " new member id i-3 is added",
    ]
    story.wait(0.01)
    assert story.lines() == [
        "Stabilized group g generation 1 with 3 members, 1 of which are static, leader c-1"
    ]


def an_assignment(story):
    story.stable("i", None)
    story.join(version=3, member_id="i-1", protocols=[{"name": "range", "metadata": b"new"}])
    story.join(version=3, member_id="c-2")
    assert story.lines() == [
        "Preparing to rebalance group g in state Stable with old generation 1 and 2 members"
        " (reason: updating metadata of i-1 during Stable; client reason: not provided)",
        "Stabilized group g generation 2 with 2 members, 1 of which are static, leader i-1",
    ]
    story.sync("c-2", 2)
    assert story.lines() == []
    story.sync("i-1", 2)
    assert story.lines() == [
        "Assignment received from leader i-1 for group g for generation 2: 2 members, 1 of which are static"
    ]
    story.turn()
    assert [story.heartbeat(member_id, 2)[0]["error_code"] for member_id in ("i-1", "c-2")] == [0, 0]
    assert story.lines() == []


def failures(story):
    story.stable(None, "i")
    story.wait(9)
    assert story.heartbeat("i-2")[0]["error_code"] == 0
    assert story.lines() == []
    story.wait(2)
    assert story.lines() == [
        "Dynamic member c-1 in group g has failed: its session expired in state Stable, it is removed",
        "Preparing to rebalance group g in state Stable with old generation 1 and 1 members"
        " (reason: removing member c-1 on heartbeat expiration)",
    ]
    story.wait(9)
    assert story.lines() == [
        "Static (instance id i) member i-2 in group g has failed: its session expired in state"
        " PreparingRebalance, it is removed",
        "Group g with generation 2 is now empty",
    ]


def not_coming_back(story):
    story.stable(None)
    story.join()
    story.lines()
    for _ in range(3):
        story.wait(4)
        story.heartbeat("c-1")
    assert story.lines() == [
        "Pending member c-2 in group g has been removed: it did not rejoin within its session timeout"
    ]


def late_for_the_join_phase(story):
    story.stable(None, None)
    story.join(version=3, member_id="c-1")
    story.lines()
    for _ in range(3):
        story.wait(7)
        story.heartbeat("c-2")
    assert story.lines() == [
        "Group g removed dynamic members who have not joined: c-2",
        "Stabilized group g generation 2 with 1 members, 0 of which are static, leader c-1",
    ]


def late_for_the_sync_phase(story):
    story.join(version=3)
    story.wait(0.01)
    story.lines()
    for _ in range(3):
        story.wait(7)
        story.heartbeat("c-1")
    assert story.lines() == [
        "Group g removed members who have not sent their SyncGroup: c-1",
        "Preparing to rebalance group g in state CompletingRebalance with old generation 1 and 0 members"
        " (reason: removing c-1 on pending sync request expiration)",
        "Group g with generation 2 is now empty",
    ]


def leaving(story):
    story.stable(None, "i", None)
    story.join()
    story.lines()
    story.leave({"member_id": "c-4", "reason": "never mind"})
    assert story.lines() == [
        "Pending member c-4 has left group g through explicit LeaveGroup; client reason: never mind",
        "Preparing to rebalance group g in state Stable with old generation 1 and 3 members"
        " (reason: explicit LeaveGroup of c-4)",
    ]
    story.leave({"member_id": "c-1"}, {"member_id": "", "group_instance_id": "i"}, {"member_id": "unknown"})
    assert story.lines() == [
        "Dynamic member c-1 has left group g through explicit LeaveGroup; client reason: not provided",
        "Static (instance id i) member i-2 has left group g through explicit LeaveGroup;"
        " client reason: not provided",
    ]


def a_full_group(story):
    story = Story(story.caplog, group_max_size=2)
    story.stable(None, "i")
    story.join()
    story.join(version=3, group_instance_id=None)
    story.join(group_instance_id="other")
    assert story.lines() == [
        "Dynamic member with unknown member id joins group g in state Stable:"
        " client c is refused, group.max.size is reached",
    ] * 2 + [
        "Static (instance id other) member with unknown member id joins group g in state Stable:"
        " client c is refused, group.max.size is reached"
    ]
    story.join(member_id="c-1", reason="", protocols=[{"name": "range", "metadata": b"x"}])
    story.join(version=3)
    story.lines()
    story.join(member_id="i-2", group_instance_id="i")
    assert story.lines() == [
        "Static (instance id i) member i-2 joins group g in state PreparingRebalance:"
        " it is refused, group.max.size is reached"
    ]
    story.join(member_id="stale")
    assert story.lines() == [
        "Dynamic member stale joins group g in state PreparingRebalance:"
        " it is refused, group.max.size is reached"
    ]


def restarts(story):
    story.stable("i", None)
    story.join(group_instance_id="i")
    assert story.lines() == [
        "Static (instance id i) member with unknown member id joins group g in state Stable:"
        " new member id i-3 replaces i-1"
    ]
    story.turn()
    story.join(
        group_instance_id="i", protocols=[{"name": "range", "metadata": b"x"}, {"name": "a", "metadata": b""}]
    )
    story.turn()
    assert len(story.lines()) == 1
    story.join(version=3, member_id="i-4")
    assert story.lines() == [
        "Preparing to rebalance group g in state Stable with old generation 1 and 2 members"
        " (reason: updating metadata of i-4 during Stable; client reason: not provided)"
    ]


def resignation(story):
    story.stable(None)
    story.service.resign()
    assert story.lines() == ["Unloading group metadata for g with generation 1 and 1 members"]


def arrival(story):
    """What a log has of a group, in a coordinator that takes one member at most."""
    before = Story(story.caplog)
    before.stable(None, None)
    (append,) = before.service.core.sync_group(*leaders_sync(before), "token").appends
    story.service._do(story.service.core.load("g", append.record))
    assert story.lines() == [
        "Loading group metadata for g with generation 2 and 2 members",
    ]
    small = Story(story.caplog, group_max_size=1)
    small.service._do(small.service.core.load("g", append.record))
    assert small.lines() == [
        "Loading group metadata for g with generation 2 and 2 members",
        "Preparing to rebalance group g in state Stable with old generation 2 and 2 members"
        " (reason: the loaded group is over capacity (1))",
    ]
    small.service._do(small.service.core.load("h", None))
    assert small.lines() == ["Loading group metadata for h with generation 0 and 0 members"]


def leaders_sync(story):
    from rota.coordinator import SyncGroup

    story.join(version=3, member_id="c-1", reason="")
    story.join(version=3, member_id="c-2")
    story.lines()
    return SyncGroup("g", 2, "c-1"), 4


def consumers(story):
    """Members of the consumer protocol: one leaves, one is removed, one is silent, and one finds no place."""
    story = Story(story.caplog, group_consumer_max_size=2, group_consumer_assignment_interval_ms=0)
    story.beat("a", 0)
    assert story.lines() == [
        "Member a joins the consumer group g: epoch 1, 1 members",
        "Computed a new target assignment for the consumer group g with assignor uniform: epoch 2, 1 members",
    ]
    story.beat("b", 0, server_assignor="range")
    story.beat("b", 3)
    story.beat("late", 0)
    assert story.lines() == [
        "Member b joins the consumer group g: epoch 2, 2 members",
        "Computed a new target assignment for the consumer group g with assignor range: epoch 3, 2 members",
        "Member late joins the consumer group g: client c is refused, group.consumer.max.size is reached",
    ]
    story.beat("a", -1)
    story.leave({"member_id": "b"}, {"member_id": "nobody"})
    assert story.lines() == [
        "Member a left the consumer group g: epoch 4, 1 members",
        "Members removed from the consumer group g through explicit LeaveGroup: epoch 5, 0 members,"
        " without b",
    ]
    story.beat("c", 0)
    story.lines()
    story.wait(50)
    assert story.lines() == [
        "Member c fenced from the consumer group g because its session expired: epoch 7, 0 members"
    ]


def a_late_consumer(story):
    """One that has to give up a partition, says that it is alive, and goes on."""
    story = Story(story.caplog, group_consumer_assignment_interval_ms=0)
    story.service.core.see_topics(OneTopic())
    story.beat("a", 0, rebalance_timeout_ms=1000)
    story.beat("b", 0)
    story.beat("a", 2)
    story.turn()
    story.lines()
    story.wait(1.1)
    assert story.lines() == [
        "Member a fenced from the consumer group g because it has not given up its partitions within its"
        " rebalance timeout: epoch 4, 1 members"
    ]


STORIES = {
    consumers: {
        *("member_joins", "target", "member_refused", "member_left", "members_removed", "member_fenced"),
    },
    a_late_consumer: {"member_fenced"},
    newcomers: {"id_given", "joined", "joined_with_id", "preparing", "stabilized"},
    an_assignment: {"assignment", "preparing", "stabilized"},
    failures: {"failed", "preparing", "empty"},
    not_coming_back: {"not_returned"},
    late_for_the_join_phase: {"not_joined", "stabilized"},
    late_for_the_sync_phase: {"not_synced", "preparing", "empty"},
    leaving: {"pending_left", "left", "preparing"},
    a_full_group: {"refused", "refused_member"},
    restarts: {"replaced", "preparing"},
    resignation: {"unloading"},
    arrival: {"loading", "preparing"},
}
"""What is played → the events that it shows."""


@pytest.mark.parametrize("play", STORIES, ids=lambda play: play.__name__)
def test_lines(play, story):
    play(story)


@pytest.mark.parametrize(
    ("play", "event"),
    [(play, event) for play, events in STORIES.items() for event in sorted(events)],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_a_line_that_is_missing_is_noticed(play, event, story, monkeypatch):
    """Planted: the core forgets to tell of this event."""
    tell = Step.tell

    def forgetful(self, notice):
        if notice.event != event:
            tell(self, notice)

    monkeypatch.setattr(Step, "tell", forgetful)
    with pytest.raises(AssertionError):
        play(story)


def test_every_event_has_its_line_and_is_played():
    assert set(SENTENCES) == set(get_args(Event)) == set().union(*STORIES.values())


def test_nobody_listens(caplog):
    """Nothing is put into words for nobody."""
    story = Story(caplog)
    caplog.set_level(logging.WARNING, logger="rota.server.groups")
    story.join(version=3)
    assert story.lines() == []


def test_an_event_is_one_line_whatever_a_client_sends():
    wild = "a\nStabilized group \x1b[2J" + "x" * 40_000
    told = line(Notice("left", wild, "Stable", 1, 2, 0, wild, None, reason=wild))
    assert told.isprintable()
    assert len(told) < 4 * MOST_CHARACTERS
    assert told.startswith(r"Dynamic member a\nStabilized group \x1b[2Jxxx")
    assert plain("größe {0} %s") == "größe {0} %s"


def test_members_that_are_removed_together_are_not_all_named():
    told = line(Notice("not_joined", "g", "Stable", 1, 2, 0, removed=tuple(f"m{n}" for n in range(10_000))))
    assert told.endswith(f"m{MOST_IDS - 1} and {10_000 - MOST_IDS} more")


def test_steps_that_change_nothing_tell_nothing(story):
    story.stable(None, None)
    for _ in range(3):
        story.heartbeat("c-1")
        story.sync("c-2")
        story.join(version=3, member_id="c-2")
        story.join(member_id="unknown")
        story.leave({"member_id": "unknown"})
    story.ask("OffsetFetch", 8, groups=[])
    story.ask("DescribeGroups", 5, groups=["g"])
    assert story.lines() == []


HOST = """
from logging import getLogger
from rota.server import running

with running():
    getLogger("rota.server.timers").warning("said by the server")
"""
"""A program that has a server and says nothing of where its log goes."""


def test_a_program_that_does_not_ask_for_the_log_is_not_written_to():
    said = subprocess.run((sys.executable, "-c", HOST), capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("", "")
