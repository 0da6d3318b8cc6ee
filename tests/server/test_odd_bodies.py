"""Bodies that nobody would send, for every API in every version: no fault in the server, nobody else hurt."""

import logging
import random
import socket
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from harness.thinned import some
from rota.server import running
from rota.server.groups import GroupService
from rota.wire import api, decode_response, encode_request, frame, request_header
from rota.wire.records import Record, encode_batch

BATCH = encode_batch([Record(0, 1, None, b"x")])
INTEGERS = {"int8": 7, "int16": 15, "uint16": 15, "int32": 31, "uint32": 31, "int64": 63}


def served():
    """The versions that a server answers, by name."""
    with running() as address:
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(frame(encode_request("ApiVersions", 0, {}, 1, "c")))
            size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
            answer = decode_response("ApiVersions", 0, client.recv(size, socket.MSG_WAITALL)).body
    ranges = {api(each["api_key"]).name: each for each in answer["api_keys"]}
    return {
        name: range(3 if name == "Produce" else each["min_version"], each["max_version"] + 1)
        for name, each in ranges.items()
    }


SERVED = served()
assert set(SERVED) > {"Produce", "Fetch", "ListOffsets", "CreateTopics", "OffsetCommit", "JoinGroup"}

MEMBERS = ("ConsumerGroupHeartbeat", "JoinGroup", "OffsetCommit", "SyncGroup")
"""What is asked of the coordinator; of all else a third is sent such bodies in `make test`."""


def values(field, version):
    """Values that the wire can carry, likely and unlikely ones."""
    if field.type == "struct":
        inner = {each.name: values(each, version) for each in field.fields if version in each.versions}
        one = st.fixed_dictionaries(inner)
    elif field.type in INTEGERS:
        edge = 2 ** INTEGERS[field.type]
        one = st.sampled_from(
            [0, 1, 2, 3, 100, -1 % edge, edge - 1] + [-1, -2, -edge] * field.type.startswith("i")
        )
    else:
        one = {
            "bool": st.booleans(),
            "string": st.sampled_from(
                ["t", "g", "", "consumer", "range", "x" * 300, "é/\0", "__consumer_offsets"]
            ),
            "bytes": st.sampled_from([b"", BATCH, BATCH[:-1], b"\0\1", bytes(100), b"\xff" * 70]),
            "uuid": st.sampled_from([UUID(int=0), UUID(int=1), UUID(int=2**128 - 1)]),
        }[field.type]
    if field.array:
        one = st.lists(one, max_size=3)
    return st.one_of(one, st.none()) if version in field.nullable else one


def bodies(name):
    def of_version(version):
        fields = {each.name: values(each, version) for each in api(name).request if version in each.versions}
        return st.tuples(st.just(version), st.fixed_dictionaries(fields))

    return st.sampled_from(SERVED[name]).flatmap(of_version)


@pytest.fixture
def no_fault(caplog):
    """Fails if the server, or the event loop for it, has logged an error or any traceback."""
    caplog.set_level(logging.INFO)
    yield
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]


def survives(name, address, user):
    bystander = user(address)
    bystander.create()

    @settings(
        max_examples=40,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(bodies(name))
    def send(versioned):
        version, body = versioned
        client = user(address, "odd")
        client.raw(frame(encode_request(name, version, body, 1, "odd")))
        if random.random() < 0.5:
            client.silent(0.002)
        client.close()
        assert bystander.call("ApiVersions", 0)["error_code"] == 0

    send()
    topic_id = bystander.create("another") if name == "DeleteTopics" else None  # "t" may be deleted by then
    assert bystander.produce([b"a"], 13 if topic_id else 12, topic_id=topic_id)["error_code"] == 0


@pytest.mark.parametrize("name", some(SERVED, always=MEMBERS))
def test_odd_bodies(name, start, user, no_fault):
    survives(name, start(group_initial_rebalance_delay_ms=0, num_partitions=2), user)


def test_planted_bug_a_handler_that_trusts_its_client(start, user, monkeypatch, caplog):
    monkeypatch.setattr(GroupService, "_heartbeat", lambda self, body, caller: body["member_id"].index("z"))
    survives("Heartbeat", start(), user)
    assert "Heartbeat failed" in caplog.text


@pytest.mark.parametrize("name", SERVED)
def test_bytes_that_are_no_body(name, address, user, no_fault):
    """Every version's empty body cut short anywhere, and with bytes turned around."""
    bystander = user(address)
    chance = random.Random(name)
    for version in SERVED[name]:
        whole = encode_request(name, version, {}, 1, "c")
        cut = [whole[:end] for end in range(0, len(whole), 3)]
        turned = [
            bytes(byte ^ (chance.random() < 0.1) * chance.randrange(256) for byte in whole) for _ in range(5)
        ]
        noise = request_header(api(name).key, version, 1, "c", flexible=version in api(name).flexible)
        for payload in (
            *cut,
            *turned,
            noise + chance.randbytes(50),
            noise + b"\xff" * 50,
            noise + b"\x7f" * 50,
        ):
            client = user(address)
            client.raw(frame(payload))
            client.close()
    assert bystander.call("ApiVersions", 0)["error_code"] == 0


def test_apis_and_versions_that_are_not_served(address, connect, no_fault):
    known = {api(name).key: versions for name, versions in SERVED.items()}
    for key in range(-1, 100):
        for version in (-1, 0, 1, 2, 14, 99):
            if key == api("ApiVersions").key or version in known.get(key, ()):
                continue
            client = connect(address)
            client.raw(frame(request_header(key, version, 1, "c", flexible=False) + bytes(20)))
            assert client.closed()
    assert connect(address).call("ApiVersions", 0)["error_code"] == 0
