"""Records of the offsets topic: round trips, fixed bytes, foreign bytes, and Kafka's own definitions."""

import json
import re
from dataclasses import replace
from uuid import UUID
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.log import group_records
from rota.log.group_records import (
    EndOfTransaction,
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    UnknownKey,
    UnknownValue,
    decode_key,
    decode_marker,
    decode_value,
    encode_key,
    encode_marker,
    encode_value,
    split_offset_key,
    tables,
)
from rota.wire import WireError

TEXT = st.text(max_size=8)
LONG, INT = st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1)
TAGS = st.dictionaries(st.integers(1, 9), st.binary(max_size=4), max_size=2).map(
    lambda tags: tuple(sorted(tags.items()))
)


@st.composite
def offset_values(draw):
    """A value as its version can say it."""
    version = draw(st.integers(0, 4))
    value = OffsetValue(draw(LONG), draw(TEXT), draw(LONG), version=version)
    if version >= 3:
        value = value._replace(leader_epoch=draw(INT))
    if version == 1:
        value = value._replace(expire_timestamp=draw(LONG))
    if version == 4:
        value = value._replace(topic_id=UUID(int=draw(st.integers(0, 2**128 - 1))), tags=draw(TAGS))
    return value


@st.composite
def group_values(draw):
    version = draw(st.integers(0, 4))
    tags = TAGS if version == 4 else st.just(())
    maybe = st.none() | TEXT
    members = st.builds(
        MemberValue, TEXT, TEXT, TEXT, INT, st.binary(max_size=5), st.binary(max_size=5),
        maybe if version >= 3 else st.none(), INT if version >= 1 else st.just(-1), tags,
    )  # fmt: skip
    return GroupValue(
        draw(TEXT), draw(INT), draw(maybe), draw(maybe), tuple(draw(st.lists(members, max_size=3))),
        draw(LONG) if version >= 2 else -1, version, draw(tags),
    )  # fmt: skip


@given(st.builds(OffsetKey, TEXT, TEXT, INT, st.integers(0, 1)) | st.builds(GroupKey, TEXT))
def test_keys_come_back(key):
    assert decode_key(encode_key(key)) == key


@given(offset_values())
def test_offsets_come_back(value):
    assert decode_value(OffsetKey("g", "t", 0), encode_value(value)) == value


@given(group_values())
def test_groups_come_back(value):
    assert decode_value(GroupKey("g"), encode_value(value)) == value


@given(st.binary(max_size=40), st.integers(-1, 30))
def test_foreign_bytes_are_kept_and_never_an_exception(data, version):
    raw = version.to_bytes(2, "big", signed=True) + data
    key = decode_key(raw)
    if isinstance(key, UnknownKey):
        assert encode_key(key) == raw
    for each in (key, OffsetKey("g", "t", 0), GroupKey("g")):
        value = decode_value(each, raw)
        if isinstance(value, UnknownValue):
            assert encode_value(value) == raw


@pytest.mark.parametrize(("data", "version"), [(None, None), (b"", None), (b"\0", None), (b"\0\x03abc", 3)])
def test_a_key_of_another_kind_says_which(data, version):
    key = decode_key(data)
    assert (key.version, key.data) == (version, data or b"")
    assert decode_value(key, b"\0\0x") == UnknownValue(0, b"\0\0x", key.reason)


def test_a_newer_value_is_kept():
    value = decode_value(GroupKey("g"), b"\0\x05new")
    assert value == UnknownValue(5, b"\0\x05new", "a value of version 5")
    assert decode_value(GroupKey("g"), None) is encode_value(None) is None


def test_the_bytes_are_kafkas():
    """Written down from a log of Kafka's, field by field."""
    assert encode_key(OffsetKey("g", "t", 2)) == bytes.fromhex("0001 0001 67 0001 74 00000002")
    assert encode_key(GroupKey("g")) == bytes.fromhex("0002 0001 67")
    value = OffsetValue(5, "m", 9, leader_epoch=3)
    assert encode_value(value) == bytes.fromhex("0003 0000000000000005 00000003 0001 6d 0000000000000009")
    expiring = OffsetValue(5, "m", 9, expire_timestamp=10, version=1)
    assert encode_value(expiring) == bytes.fromhex(
        "0001 0000000000000005 0001 6d 0000000000000009 000000000000000a"
    )
    member = MemberValue("m", "c", "h", 6, b"s", b"a", None, 7)
    group = GroupValue("consumer", 1, "range", "m", (member,), 8)
    assert encode_value(group) == bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0001 6d 0000000000000008 00000001"
        "0001 6d ffff 0001 63 0001 68 00000007 00000006 00000001 73 00000001 61"
    )
    marker = EndOfTransaction(is_commit=True, coordinator_epoch=3)
    assert encode_marker(marker) == (bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000003"))


@given(st.booleans(), INT)
def test_markers_come_back(is_commit, epoch):
    marker = EndOfTransaction(is_commit, epoch)
    assert decode_marker(*encode_marker(marker)) == marker


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\0\0\0\x03"])
def test_other_control_records_end_nothing(key):
    assert decode_marker(key, b"") is None


def test_what_the_format_cannot_carry_is_refused():
    with pytest.raises(WireError, match="key 2"):
        encode_key(GroupKey("g" * 40_000))
    with pytest.raises(WireError, match="value offset"):
        encode_value(OffsetValue(2**63, "", 0))


@given(offset_values(), st.integers(0, 60))
def test_what_is_read_by_hand_is_what_the_table_says(value, size):
    """Also of bytes that are cut short."""
    data = encode_value(value)[:size]
    usual = group_records._usual_offset_value(data)
    if usual is not None:
        read, _ = group_records._reading("value offset", 3)(data, 2)
        assert usual == OffsetValue(**read)
    else:
        assert value.version != 3 or len(data) < len(encode_value(value))


@given(st.builds(OffsetKey, TEXT, TEXT, INT, st.integers(0, 1)), st.integers(0, 40))
def test_a_key_is_split_as_it_is_read(key, size):
    data = encode_key(key)
    assert split_offset_key(data) == (key.group.encode(), key.topic.encode(), key.partition)
    if size < len(data):
        assert split_offset_key(data[:size]) is None
    assert split_offset_key(encode_key(GroupKey(key.group))) is None or key.group


FOUND = {
    "key 0": "LegacyOffsetCommitKey", "key 1": "OffsetCommitKey", "key 2": "GroupMetadataKey",
    "value offset": "OffsetCommitValue", "value group": "GroupMetadataValue",
}  # fmt: skip


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def covers(text, version):
    first, _, last = text.partition("-")
    if text == "none":
        return False
    return int(first.rstrip("+")) <= version <= (99 if text.endswith("+") else int(last or first))


def rows(fields, structures, version):
    """Name, type, whether it may be null, tag and members of each field of a version, of a definition."""
    found = []
    for each in fields:
        if covers(each["versions"], version):
            kind = each["type"].removeprefix("[]")
            members = rows(structures.get(kind, ()), structures, version)
            tag = each["tag"] if covers(each.get("taggedVersions", "none"), version) else None
            null = covers(each.get("nullableVersions", "none"), version)
            found.append((snake(each["name"]), "struct" if members else kind, null, tag, members))
    return found


def our_rows(fields, version):
    return [
        (field.name, field.type, version in field.nullable, field.tag, our_rows(field.fields, version))
        for field in fields
        if version in field.versions
    ]


@pytest.mark.parametrize("kind", FOUND)
def test_the_tables_say_what_kafkas_definitions_say(kind):
    release = RELEASES["kafka-4.4.0"]
    try:
        jar = fetched(release) / f"kafka-group-coordinator-{release.version}.jar"
    except NoJars as cause:
        pytest.skip(f"{cause}; {cause.remedy}")
    with ZipFile(jar) as content:
        text = content.read(f"common/message/{FOUND[kind]}.json").decode()
    definition = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    structures = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}
    first, _, last = definition["validVersions"].partition("-")
    for version in range(int(first), int(last or first) + 1):
        assert our_rows(tables()[kind], version) == rows(definition["fields"], structures, version)
        is_flexible = covers(definition["flexibleVersions"], version)
        assert group_records._is_flexible(kind, version) == is_flexible


def test_a_table_with_a_mistake_is_not_what_kafkas_definitions_say():
    (field, *rest) = tables()["value offset"]
    assert our_rows([replace(field, name="offsets"), *rest], 3) != our_rows([field, *rest], 3)
