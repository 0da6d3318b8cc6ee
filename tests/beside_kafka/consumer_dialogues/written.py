"""What a heartbeat leaves in the offsets topic: record after record, a line for each batch."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from beside_kafka.consumer_dialogues.others import delete_group
from beside_kafka.consumer_dialogues.stage import Stage
from beside_kafka.consumer_dialogues.steps import Dialogue, Step, beat, join, leave, topic
from rota.wire.records import Record, decode_batch, split

GROUP, METADATA, MEMBER, TARGET, MEMBERS_TARGET, CURRENT = range(3, 9)
KINDS = {
    GROUP: "group",
    METADATA: "topics",
    MEMBER: "member",
    TARGET: "target",
    MEMBERS_TARGET: "target of",
    CURRENT: "current of",
}
VALUES = {GROUP: (">i", "epoch {}"), TARGET: (">i", "epoch {}")}
VALUES |= {CURRENT: (">iib", "epoch {}, previous {}, state {}")}
"""How the values begin that are told, behind their version."""

OTHER_KINDS = "another kind"


def records() -> Step:
    """What was written of the group since it was last asked."""

    def play(stage: Stage) -> None:
        lines = [*batches(stage)]
        for line in lines:
            stage.tell(f"  written together: {line}")
        if not lines:
            stage.tell("  nothing is written")

    return play


def batches(stage: Stage) -> Iterator[str]:
    """A line for each batch with records of the group behind the stage's mark, which moves on."""
    data = fetched(stage)
    for info, batch in split(data):
        texts = [
            text
            for record in decode_batch(batch)
            if record.offset >= stage.mark
            for text in told(stage, record)
        ]
        stage.mark = max(stage.mark, info.last_offset + 1)
        if texts:
            yield "; ".join(texts)


def fetched(stage: Stage) -> bytes:
    place = {"partition": 0, "fetch_offset": stage.mark, "partition_max_bytes": 1 << 20}
    topics = [{"topic": "__consumer_offsets", "partitions": [place]}]
    answer = stage.ask("Fetch", 12, {"replica_id": -1, "max_bytes": 1 << 22, "topics": topics})
    ((found,),) = (each["partitions"] for each in answer["responses"])
    assert found["error_code"] == 0, found
    return bytes(found["records"] or b"")


def told(stage: Stage, record: Record) -> Iterator[str]:
    """A record in words, if it is of the group."""
    assert record.key is not None
    kind, *names = texts_of(record.key)
    if names[0] != stage.group:
        return
    what = " ".join((KINDS.get(kind, OTHER_KINDS), *names[1:]))
    if record.value is None:
        yield f"{what} removed"
    elif kind in VALUES:
        form, words = VALUES[kind]
        yield f"{what} {words.format(*struct.unpack_from(form, record.value, 2))}"
    else:
        yield what


def texts_of(key: bytes) -> list[Any]:
    """The kind of a key, and the texts in it."""
    (kind,) = struct.unpack_from(">h", key)
    found: list[Any] = [kind]
    if kind < GROUP:
        return [kind, ""]
    pos = 2
    while pos < len(key):
        (size,) = struct.unpack_from(">h", key, pos)
        found.append(key[pos + 2 : pos + 2 + size].decode())
        pos += 2 + size
    return found


DIALOGUES = (
    Dialogue(
        "records.first-member",
        "One heartbeat is one batch: the member, the group's epoch, the target of each member that has a "
        "new one, the target's epoch, what the member has now.",
        (topic("t", 2), join("m1"), records()),
    ),
    Dialogue(
        "records.first-without-subscription",
        "Of a group whose first member subscribes to nothing there are its member and what that has, and no"
        " group.",
        (join("m1", ""), records()),
    ),
    Dialogue(
        "records.handover",
        "After the joins each step of a handover is one record of the member whose heartbeat it was. A "
        "member that waits writes once more in its first idle heartbeat, and then nothing.",
        (
            *(topic("t", 2), join("m1"), records(), join("m2"), records(), beat("m1", 2), records()),
            *(beat("m2", 3), records(), beat("m2", 3), records(), beat("m1", 2, owns="t0"), records()),
            *(beat("m2", 3), records(), beat("m2", 3), beat("m1", 3), records()),
        ),
    ),
    Dialogue(
        "records.fields-of-a-member",
        "A changed field writes the member alone; one that is the same writes nothing.",
        (
            *(topic("t", 1), join("m1"), records(), beat("m1", 2, rack="r"), records()),
            *(beat("m1", 2, rack="r"), records(), beat("m1", 2, topics="t u"), records()),
        ),
    ),
    Dialogue(
        "records.leaving",
        "Who leaves is removed from the inside out; the last one takes the target along to the group's "
        "epoch.",
        (
            *(
                topic("t", 2),
                join("m1"),
                join("m2"),
                records(),
                leave("m1"),
                records(),
                leave("m2"),
                records(),
            ),
            *(delete_group(), records()),
        ),
    ),
)
