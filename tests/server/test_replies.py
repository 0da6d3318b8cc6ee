"""A reply of the coordinator is the same in bytes, written from its attributes or by way of a body."""

from dataclasses import dataclass

import pytest

from rota.coordinator import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.coordinator.messages import JoinGroupReplyMember, LeaveGroupReplyMember
from rota.server.answers import as_body, lists
from rota.wire import WireError, api, codec, encode_response, encoder, frame, frame_reply

MEMBERS = (JoinGroupReplyMember("m-1", "i", b"\0\xff"), JoinGroupReplyMember("m-2", None, b""))
REPLIES = {
    "JoinGroup": (
        JoinGroupReply(25, member_id="é", protocol_name=""),
        JoinGroupReply(0, 7, "consumer", "range", "m-1", True, "m-2"),
        JoinGroupReply(0, 7, "consumer", "range", "m-1", False, "m-1", MEMBERS),
    ),
    "SyncGroup": (SyncGroupReply(27), SyncGroupReply(0, "consumer", "range", bytes(300))),
    "Heartbeat": (HeartbeatReply(), HeartbeatReply(27)),
    "LeaveGroup": (
        LeaveGroupReply(25),
        LeaveGroupReply(0, (LeaveGroupReplyMember("m", None, 25), LeaveGroupReplyMember("", "i"))),
    ),
}


def framed(name, version, reply):
    out = bytearray(b"before")
    frame_reply(out, name, version, reply, 5)
    return out


def differing(name):
    """The versions and replies of an API whose bytes are not those of the body."""

    def whole(version, reply):
        return b"before" + frame(encode_response(name, version, as_body(reply), 5))

    return [
        (version, reply)
        for version in range(api(name).min_version, api(name).max_version + 1)
        for reply in REPLIES[name]
        if framed(name, version, reply) != whole(version, reply)
    ]


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_written_as_its_body_is(name):
    assert differing(name) == []


def test_planted_bug_an_attribute_is_left_out(monkeypatch):
    def without_leader(self, get, field):
        return lookup(self, get, field) if field.name != "leader" else "''"

    lookup = encoder._ObjectWriter.lookup
    monkeypatch.setattr(encoder._ObjectWriter, "lookup", without_leader)
    codec._telling.cache_clear()
    assert differing("JoinGroup")
    codec._telling.cache_clear()


def test_what_lists_something_is_known():
    assert [lists(reply) for reply in REPLIES["JoinGroup"]] == [False, False, True]
    assert [lists(reply) for reply in REPLIES["Heartbeat"]] == [False, False]


def test_what_cannot_be_written_is_refused():
    out = bytearray(b"before")
    with pytest.raises(WireError, match="Heartbeat v4 response"):
        frame_reply(out, "Heartbeat", 4, HeartbeatReply(2**40), 1)
    with pytest.raises(WireError, match="Heartbeat: no version 99"):
        frame_reply(out, "Heartbeat", 99, HeartbeatReply(), 1)
    assert out == b"before"


def test_an_attribute_that_no_version_has_is_refused():
    @dataclass
    class Slip:
        eror_code: int = 0

    with pytest.raises(WireError, match="no version of this message has eror_code"):
        framed("Heartbeat", 4, Slip())
