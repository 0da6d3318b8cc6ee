"""The codec and its tables agree with kio, byte for byte and field for field; planted errors are found."""

from importlib.resources import files

import pytest

from harness.thinned import but
from rota.wire import all_apis, api, schema
from rota.wire.source import absent

KIO_LACKS = {
    "Produce": {0, 1, 2},
    "Fetch": {0, 1, 2, 3},
    "ListOffsets": {0},
    "OffsetCommit": {0, 1},
    "OffsetFetch": {0},
    "CreateTopics": {0, 1},
    "DeleteTopics": {0},
    "ApiVersions": {5},
    "DescribeConfigs": {0},
    "DeleteGroups": {3},
    "TxnOffsetCommit": {6},
    "AlterReplicaLogDirs": {0},
    "DescribeLogDirs": {0},
    "OffsetForLeaderEpoch": {0, 1},
}
"""Removed versions, which test_against_kafka_python compares, and new ones, of which test_codec has bytes."""

MESSAGES = [
    (item.name, version, kind)
    for item in all_apis()
    for version in range(item.min_version, item.max_version + 1)
    for kind in ("request", "response")
    if version not in KIO_LACKS.get(item.name, ())
]
PER_MESSAGE = 7


def compared(name, kio_samples, each=PER_MESSAGE):
    """How many messages of an API were compared, and what is wrong with them."""
    found = api(name)
    outcomes = [
        (f"{name} v{version} {kind}", sample.objection(found, version, kind))
        for message, version, kind in MESSAGES
        if message == name
        for sample in kio_samples(found, version, kind, each)
    ]
    return len(outcomes), [f"{where}: {objection}" for where, objection in outcomes if objection]


@pytest.mark.parametrize("each", [PER_MESSAGE, pytest.param(4 * PER_MESSAGE, marks=pytest.mark.long)])
def test_thousands_of_random_messages_of_kio_are_read_and_written_alike(each, kio_samples):
    outcomes = [compared(item.name, kio_samples, each) for item in all_apis()]
    count = sum(number for number, _ in outcomes)
    print(f"{count} messages of {len(MESSAGES)} kinds, read and written by both")
    assert [objection for _, objections in outcomes for objection in objections] == []
    assert count == each * len(MESSAGES) >= 3_000


def test_the_kinds_are_counted():
    """The versions of each API that kio has, by their numbers; each is a request and a response."""
    versions = 11 + 15 + 11 + 14 + 9 + 10 + 7 + 10 + 5 + 6 + 6 + 7 + 6 + 5 + 2 + 6 + 7 + 6 + 4 + 3 + 3 + 1
    versions += 2 + 2 + 6 + 4 + 2
    versions += 3 + 3 + 1 + 3 + 3 + 2 + 1 + 5 + 2 + 3 + 2
    versions += 5 + 6 + 6 + 1 + 1 + 2 + 3 + 3 + 3
    assert len(MESSAGES) == 2 * versions


@pytest.mark.parametrize(("name", "version", "kind"), MESSAGES)
def test_tables_say_what_kio_says(name, version, kind, kio_fields):
    def ours(fields):
        present = [field for field in fields if version in field.versions]
        return tuple((field, ours(field.fields)) for field in present)

    def compare(mine, theirs, path):
        assert [field.name for field, _ in mine] == [row[0] for row in theirs], path
        for (field, members), (_, kind, array, null, tag, default, rows) in zip(mine, theirs, strict=True):
            where = f"{path}.{field.name}"
            assert (field.type, field.array, field.tag) == (kind, array, tag), where
            assert (version in field.nullable) == null, where
            if default is not ...:
                assert absent(field, version) == default, where
            compare(members, rows, where)

    found = api(name)
    # kio lists tagged fields where the schema has them, as our tables do.
    compare(ours(getattr(found, kind)), kio_fields(found, version, kind), name)


PLANTED = {
    "nullable from the wrong version": (
        "join_group",
        "protocol_name         string  null 7+",
        "null 7+",
        "null 8+",
    ),
    "field one version early": (
        "leave_group",
        "  reason             string  5+  null 5+",
        "5+  null",
        "4+  null",
    ),
    "swapped neighbours of one type": (
        "join_group",
        "session_timeout_ms    int32\nrebalance_timeout_ms  int32   1+  = -1",
        "session_timeout_ms    int32\nrebalance_timeout_ms  int32   1+  = -1",
        "rebalance_timeout_ms  int32   1+  = -1\nsession_timeout_ms    int32",
    ),
    "flexible one version late": ("heartbeat", "flexible 4+", "4+", "5+"),
    "wrong tag": ("api_versions", "finalized_features        []      3+  tag 2", "tag 2", "tag 4"),
    "wrong default of a tagged field": ("api_versions", "int64   3+  tag 1  = -1", "  = -1", ""),
    "field that ends one version early": ("offset_commit", "int64    2-4", "2-4", "2-3"),
    "neighbours of one size": ("list_offsets", "timestamp             int64", "int64", "float64"),
    "wrong default in a tagged structure": (
        "produce",
        "      leader_epoch               int32    = -1",
        "  = -1",
        "",
    ),
    "one structure that is never null": (
        "consumer_group_heartbeat",
        "assignment             {}       null 0+  = null",
        "       null 0+  = null",
        "",
    ),
    "field one version late": ("metadata", "leader_epoch                       int32   7+", "7+", "8+"),
}


@pytest.mark.parametrize(
    "slip", but(["field one version late", "wrong default in a tagged structure"], PLANTED)
)
def test_planted_errors_are_found(slip, kio_samples, monkeypatch):
    file, line, old, new = PLANTED[slip]
    text = (files("rota.wire") / "schemas" / f"{file}.txt").read_text(encoding="utf-8")
    assert text.count(line) == 1
    wrong = schema.parse(text.replace(line, line.replace(old, new)))
    name = wrong.name
    assert compared(name, kio_samples)[1] == []
    monkeypatch.setattr(schema, "apis", lambda: {wrong.name: wrong, wrong.key: wrong})
    assert compared(name, kio_samples)[1]
