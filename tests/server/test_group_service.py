"""The core's wishes carried out on an event loop whose time the test tells."""

import pytest

from rota.coordinator import CoordinatorConfig
from rota.server.groups import GroupService

JOIN = {
    "group_id": "g",
    "session_timeout_ms": 6_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"", "_tags": {1: b"unknown"}}],
}


class Handle:
    def __init__(self, due, call):
        self.due, self.call, self.cancelled = due, call, False

    def cancel(self):
        self.cancelled = True


class Loop:
    """What the service uses of an event loop, in virtual seconds."""

    def __init__(self):
        self.now, self.soon, self.timers = 0.0, [], []

    def call_soon(self, call, *arguments):
        self.soon.append(lambda: call(*arguments))

    def call_later(self, delay, call, *arguments):
        self.timers.append(Handle(self.now + delay, lambda: call(*arguments)))
        return self.timers[-1]

    def turn(self):
        """One turn: what was to come soon."""
        calls, self.soon = self.soon, []
        for call in calls:
            call()

    def advance(self, seconds):
        self.turn()
        until = self.now + seconds
        while due := min(
            (each for each in self.armed() if each.due <= until), key=lambda each: each.due, default=None
        ):
            self.timers.remove(due)
            self.now = due.due
            due.call()
            self.turn()
        self.now = until

    def armed(self):
        return [each for each in self.timers if not each.cancelled]


class Caller:
    version, client_id, client_host = 0, "c", "/127.0.0.1"

    def __init__(self):
        self.replies = []

    def reply(self, body):
        self.replies.append(body)


class World:
    def __init__(self):
        self.loop = Loop()
        self.service = GroupService(CoordinatorConfig(group_initial_rebalance_delay_ms=0), self.loop)

    def ask(self, name, **body):
        caller = Caller()
        self.service.handlers[name](body, caller)
        return caller.replies

    def member(self):
        """The id of the one member of a generation whose assignment is still missing."""
        replies = self.ask("JoinGroup", **JOIN)
        self.loop.advance(0)
        (answer,) = replies
        assert (answer["error_code"], answer["generation_id"]) == (0, 1)
        return answer["member_id"]

    def heartbeat(self, member_id):
        (answer,) = self.ask("Heartbeat", group_id="g", generation_id=1, member_id=member_id)
        return answer["error_code"]


@pytest.fixture
def world():
    return World()


def test_a_timer_armed_again_has_one_deadline(world):
    member_id = world.member()
    world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=[])
    for _ in range(3):
        world.loop.advance(4)
        assert world.heartbeat(member_id) == 0
    world.loop.advance(5.9)
    assert list(world.service.core.groups["g"].members) == [member_id]
    world.loop.advance(0.2)
    assert world.heartbeat(member_id) == 25


def test_a_cancelled_timer_does_not_fire(world):
    member_id = world.member()
    (answer,) = world.ask("LeaveGroup", group_id="g", member_id=member_id)
    assert answer["error_code"] == 0
    world.loop.advance(3_600)
    assert world.loop.armed() == []


def test_the_log_answers_in_the_next_turn(world):
    member_id = world.member()
    sent = [{"member_id": member_id, "assignment": b"all"}]
    replies = world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=sent)
    assert replies == []
    world.loop.turn()
    assert [each["assignment"] for each in replies] == [b"all"]


def test_nothing_happens_after_the_stop(world):
    member_id = world.member()
    replies = world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=[])
    world.service.stop()
    world.loop.turn()
    world.loop.advance(3_600)
    assert replies == []
    assert world.loop.armed() == []
