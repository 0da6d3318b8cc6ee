"""Dialogues of transactional producers with a broker, told in lines that are the same on Kafka and on rota.

Names of topics, transactional ids and groups are the dialogue's own on the broker; producer ids are told as
p0, p1 ... in the order in which they were handed out. `python tests/harness/transactions.py HOST:PORT` prints
what a broker says; that of Kafka 4.4.0, with the settings of `SETTINGS`, is GOLDEN.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rota.conformance.connections.connection import Connection
from rota.wire.error_codes import ERROR_CODES
from rota.wire.records import Record, decode_batch, encode_batch, split

GOLDEN = Path(__file__).parents[1] / "beside_kafka" / "transactions.txt"
SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
"""Kafka looks every ten seconds for transactions that have taken too long."""

PATIENCE = 30.0
NAMES = {code: name for name, code in ERROR_CODES.items()}
NOT_READY = ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")
LONG, SHORT = 60_000, 400


@dataclass(frozen=True)
class Producer:
    """Who a producer is to the broker: its transactional id, its number and its epoch."""

    name: str
    producer_id: int = -1
    epoch: int = -1

    def with_epoch(self, epoch: int) -> Producer:
        return Producer(self.name, self.producer_id, epoch)


class Stage:
    """A connection, a topic of one partition, and what has been said so far in `lines`."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = Connection((host, int(port)), "dialogue", timeout=PATIENCE)
        self._suffix = secrets.token_hex(4)
        self._ids: dict[int, str] = {}
        self.topic, self.group = f"t-{self._suffix}", f"g-{self._suffix}"
        self.now = int(time.time() * 1000)
        self.lines: list[str] = []
        made = {"name": self.topic, "num_partitions": 1, "replication_factor": 1}
        answer = self.ask("CreateTopics", 7, topics=[made], timeout_ms=10_000)
        assert answer["topics"][0]["error_code"] == 0, answer
        self.until(lambda: self.list_offset(-1, 0)[0] == "NONE")

    def close(self) -> None:
        self._connection.close()

    def ask(self, api: str, version: int, **body: Any) -> dict[str, Any]:
        answer = self._connection.receive(self._connection.send(api, version, body), PATIENCE)
        assert answer is not None, f"{api} v{version} is not answered"
        return answer.body

    def until(self, happens: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happens():
            assert time.monotonic() < deadline, "in vain"
            time.sleep(0.02)

    def tell(self, what: str, *found: object) -> None:
        self.lines.append(f"{what}: {' '.join(map(str, found))}")

    def label(self, producer_id: int) -> str:
        return self._ids.setdefault(producer_id, f"p{len(self._ids)}") if producer_id >= 0 else "-"

    def named(self, name: str) -> str:
        return f"{name}-{self._suffix}" if name else ""

    def is_coordinated(self, name: str) -> bool:
        """Whether the broker coordinates this id: asked who does, it makes the topic of transactions."""
        self.ask("FindCoordinator", 4, key_type=1, coordinator_keys=[self.named(name)])
        return self.described(name) not in NOT_READY

    # ---- requests; each gives what was answered

    def init(
        self, name: str, version: int = 5, before: Producer | None = None, timeout_ms: int = LONG
    ) -> tuple[str, Producer]:
        """InitProducerId; asked again while the broker is not ready for any."""
        said = {} if before is None else {"producer_id": before.producer_id, "producer_epoch": before.epoch}
        body = {"transactional_id": self.named(name), "transaction_timeout_ms": timeout_ms, **said}
        answer = self.ask("InitProducerId", version, **body)
        while NAMES[answer["error_code"]] in NOT_READY:
            time.sleep(0.1)
            # A broker makes the topic of its transactions when it is asked for their coordinator.
            self.ask("FindCoordinator", 4, key_type=1, coordinator_keys=[body["transactional_id"]])
            answer = self.ask("InitProducerId", version, **body)
        return NAMES[answer["error_code"]], Producer(name, answer["producer_id"], answer["producer_epoch"])

    def begun(self, name: str, timeout_ms: int = LONG) -> Producer:
        error, producer = self.init(name, timeout_ms=timeout_ms)
        assert error == "NONE", error
        self.label(producer.producer_id)
        return producer

    def add(
        self, producer: Producer, *, version: int = 3, topic: str = "", partitions: Sequence[int] = (0,)
    ) -> str:
        """AddPartitionsToTxn, in either form."""
        topics = [{"name": topic or self.topic, "partitions": list(partitions)}]
        who: dict[str, Any] = {"transactional_id": self.named(producer.name), "topics": topics}
        who |= {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        if version < 4:
            said = {f"v3_and_below_{key}": value for key, value in who.items()}
            answer = self.ask("AddPartitionsToTxn", version, **said)["results_by_topic_v3_and_below"]
        else:
            answer = self.ask("AddPartitionsToTxn", version, transactions=[who])
            (answer,) = [each["topic_results"] for each in answer["results_by_transaction"]]
        found = {
            each["partition_index"]: NAMES[each["partition_error_code"]]
            for topic_ in answer
            for each in topic_["results_by_partition"]
        }
        return " ".join(found[index] for index in sorted(found))

    def add_offsets(self, producer: Producer, version: int = 3, group: str | None = None) -> str:
        who = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        group_id = self.group if group is None else group
        name = self.named(producer.name)
        answer = self.ask("AddOffsetsToTxn", version, transactional_id=name, group_id=group_id, **who)
        return NAMES[answer["error_code"]]

    def commit_offset(self, producer: Producer, offset: int = 7, version: int = 3, **fields: Any) -> str:
        """TxnOffsetCommit of partition 0."""
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        body: dict[str, Any] = {"transactional_id": self.named(producer.name), "group_id": self.group}
        body |= {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        body |= {"topics": [{"name": self.topic, "partitions": [partition]}]}
        if version >= 3:
            body |= {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
        answer = self.ask("TxnOffsetCommit", version, **body | fields)
        return NAMES[answer["topics"][0]["partitions"][0]["error_code"]]

    def offset(self, stable: bool = True) -> str:
        """OffsetFetch of partition 0: the offset, or why there is none."""
        asked = [{"group_id": self.group, "topics": [{"name": self.topic, "partition_indexes": [0]}]}]
        (group,) = self.ask("OffsetFetch", 8, groups=asked, require_stable=stable)["groups"]
        found = group["topics"][0]["partitions"][0]
        return NAMES[found["error_code"]] if found["error_code"] else str(found["committed_offset"])

    def end(self, producer: Producer, commit: bool, version: int = 4) -> tuple[str, Producer]:
        """EndTxn; in version 5 with whom the producer is from now on."""
        who = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        name = self.named(producer.name)
        answer = self.ask("EndTxn", version, transactional_id=name, committed=commit, **who)
        after = Producer(producer.name, answer.get("producer_id", -1), answer.get("producer_epoch", -1))
        return NAMES[answer["error_code"]], after

    def ended(self, producer: Producer, commit: bool, version: int = 4) -> Producer:
        """The same, and waits until the markers are written."""
        error, after = self.end(producer, commit, version)
        assert error == "NONE", error
        self.until(lambda: "Prepare" not in self.described(producer.name))
        return after if version >= 5 else producer

    def produce(
        self,
        producer: Producer | None,
        sequence: int = 0,
        *values: bytes,
        version: int = 11,
        transactional: bool = True,
        name: str | None = "",
    ) -> str:
        """A batch, in a transaction or not; its offset, or why not. Without a producer it has no numbers."""
        records = [Record(n, self.now, None, value) for n, value in enumerate(values or (b"v",))]
        numbers = (-1, -1, -1) if producer is None else (producer.producer_id, producer.epoch, sequence)
        transactional = transactional and producer is not None
        data = encode_batch(
            records,
            producer_id=numbers[0],
            producer_epoch=numbers[1],
            base_sequence=numbers[2],
            is_transactional=transactional,
        )
        told = (
            self.named(producer.name)
            if producer is not None and name == "" and transactional
            else name or None
        )
        topic = {"name": self.topic, "partition_data": [{"index": 0, "records": data}]}
        body = {"acks": -1, "timeout_ms": 10_000, "transactional_id": told, "topic_data": [topic]}
        answer = self.ask("Produce", version, **body)["responses"][0]["partition_responses"][0]
        return NAMES[answer["error_code"]] if answer["error_code"] else f"at {answer['base_offset']}"

    def fetch(self, offset: int = 0, committed: bool = True) -> str:
        """What a consumer is told from an offset on: ends, aborted transactions, batches."""
        asked = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        topics = [{"topic": self.topic, "partitions": [asked]}]
        answer = self.ask(
            "Fetch", 12, max_wait_ms=0, min_bytes=1, isolation_level=int(committed), topics=topics
        )
        found = answer["responses"][0]["partitions"][0]
        if found["error_code"]:
            return NAMES[found["error_code"]]
        aborted = found["aborted_transactions"] or []
        told = " ".join(f"{self.label(each['producer_id'])}@{each['first_offset']}" for each in aborted)
        ends = f"end {found['high_watermark']}, stable {found['last_stable_offset']}"
        batches = " ".join(self._batch(info, data) for info, data in split(found["records"] or b""))
        return f"{ends}, aborted [{told}], {batches or 'nothing'}"

    def _batch(self, info: Any, data: bytes) -> str:
        who = "" if info.producer_id < 0 else f"{self.label(info.producer_id)}/{info.producer_epoch}"
        what = str(len(decode_batch(data)))
        if info.is_control:
            (record,) = decode_batch(data)
            what = {0: "abort", 1: "commit"}[int.from_bytes((record.key or b"")[2:4], "big")]
        return f"{info.base_offset}:{what}{'*' if info.is_transactional else ''}{who and f'({who})'}"

    def list_offset(self, timestamp: int, isolation_level: int = 1) -> tuple[str, int]:
        asked = {"partition_index": 0, "timestamp": timestamp}
        topics = [{"name": self.topic, "partitions": [asked]}]
        answer = self.ask("ListOffsets", 7, replica_id=-1, isolation_level=isolation_level, topics=topics)
        found = answer["topics"][0]["partitions"][0]
        return NAMES[found["error_code"]], found["offset"]

    def described(self, name: str) -> str:
        """DescribeTransactions."""
        answer = self.ask("DescribeTransactions", 0, transactional_ids=[self.named(name)])
        (found,) = answer["transaction_states"]
        if found["error_code"]:
            return NAMES[found["error_code"]]
        topics = " ".join(
            f"{each['topic'].replace(self.topic, 't')}{each['partitions']}" for each in found["topics"]
        )
        who = f"{self.label(found['producer_id'])}/{found['producer_epoch']}"
        since = "since then" if found["transaction_start_time_ms"] > 0 else "never begun"
        return f"{found['transaction_state']} {who} {found['transaction_timeout_ms']} ms, {since}, [{topics}]"

    def listed(self, version: int = 1, **filters: object) -> str:
        """ListTransactions, as far as they are of this dialogue."""
        filters = {"state_filters": [], "producer_id_filters": [], **filters}
        answer = self.ask("ListTransactions", version, **filters)
        unknown = [f"no state {each}" for each in answer["unknown_state_filters"]]
        found = [
            f"{each['transactional_id'][0]} {each['transaction_state']} {self.label(each['producer_id'])}"
            for each in answer["transaction_states"]
            if each["transactional_id"].endswith(self._suffix)
        ]
        return ", ".join([NAMES[answer["error_code"]], *sorted(found), *unknown])

    def producers(self) -> str:
        """DescribeProducers."""
        asked = [{"name": self.topic, "partition_indexes": [0]}]
        found = self.ask("DescribeProducers", 0, topics=asked)["topics"][0]["partitions"][0]
        return ", ".join(
            f"{self.label(each['producer_id'])}/{each['producer_epoch']} last {each['last_sequence']}"
            f" open at {each['current_txn_start_offset']}"
            for each in sorted(found["active_producers"], key=lambda one: one["producer_id"])
        )

    def who(self, answer: tuple[str, Producer]) -> str:
        """An error, and whom the producer is told to be."""
        error, producer = answer
        return f"{error} {self.label(producer.producer_id)}/{producer.epoch}"


def ids(s: Stage) -> None:
    """Transactional ids, epochs, who is fenced; with the error that each version's clients know."""
    s.tell("an id that nobody has", s.described("x"), s.described(""), s.add(Producer("x", 0, 0)))
    s.tell("no id", s.who(s.init("")))
    bad = [s.who(s.init("x", timeout_ms=wrong)) for wrong in (0, -1, 900_001)]
    s.tell("timeouts of 0, -1 and too many ms", *bad)
    halves = (Producer("x", 5), Producer("x", -1, 5))
    s.tell("only an id, only an epoch", *(s.who(s.init("x", before=half)) for half in halves))
    first = s.begun("x")
    s.tell("begun", s.described("x"))
    s.tell("again", s.who(s.init("x")), s.who(s.init("x")))
    old = s.init("x", 3, first)[0], s.init("x", 5, first)[0]
    s.tell("whoever goes on with epoch 0", *old)
    s.tell("with another's id", s.who(s.init("x", before=Producer("x", first.producer_id + 1000, 2))))
    second = first.with_epoch(2)
    s.tell("with epoch 2, and again", s.who(s.init("x", before=second)), s.who(s.init("x", before=second)))
    third = first.with_epoch(3)
    s.tell("adds with the id of nobody", s.add(Producer("x", first.producer_id + 1000, 3)))
    fenced = [s.add(third.with_epoch(epoch), version=version) for epoch, version in ((2, 3), (2, 1), (4, 3))]
    s.tell("adds with epoch 2, the same in version 1, with 4", *fenced)
    s.tell("adds offsets so", s.add_offsets(second), s.add_offsets(second, version=1))
    s.tell("ends so", s.end(second, True)[0], s.end(second, True, version=1)[0])
    s.tell("without a name", s.add(Producer("", 1, 1)), s.add_offsets(Producer("", 1, 1)))
    s.tell("ends without a name", s.end(Producer("", 1, 1), True)[0])
    s.tell("no such partition", s.add(third, partitions=(0, 1)), s.add(third, topic=s.named("none")))
    s.tell("as brokers ask", s.add(third, version=4), s.add(third, version=4, partitions=(0, 1)))
    s.tell("then", s.described("x"))


def by_hand(s: Stage) -> None:
    """A producer up to version 11: adds partitions, produces, commits, aborts; its epoch stays."""
    p = s.begun("x")
    s.tell("nothing to end", s.end(p, True)[0], s.end(p, False)[0])
    s.tell("produces before it adds", *(s.produce(p, version=version) for version in (11, 10, 9)))
    s.tell("without its name", s.produce(p, name=None))
    s.tell("adds", s.add(p), s.add(p), s.described("x"))
    s.tell("produces", s.produce(p), "the same", s.produce(p), "a gap", s.produce(p, 5))
    s.tell("outside of it", s.produce(p, 1, transactional=False), s.produce(None))
    others = (p.with_epoch(p.epoch + 1), Producer("x", p.producer_id + 1000, p.epoch))
    s.tell("with another epoch, another id", *(s.produce(other, 1) for other in others))
    s.tell("read", s.fetch(), "|", s.fetch(committed=False), "|", s.fetch(1))
    s.tell("the end is", s.list_offset(-1), s.list_offset(-1, 0), s.list_offset(-2), s.list_offset(s.now))
    s.tell("producers", s.producers())
    s.ended(p, True)
    s.tell("committed", s.described("x"), "again", s.end(p, True)[0], "aborts", s.end(p, False)[0])
    s.tell("read", s.fetch(), s.list_offset(-1))
    s.tell("produces before it adds", s.produce(p, 1))
    s.tell("adds, produces", s.add(p), s.produce(p, 1))
    s.ended(p, False)
    s.tell("aborted", s.described("x"), "again", s.end(p, False)[0], "commits", s.end(p, True)[0])
    for offset in (0, 3, 4, 5):
        s.tell(f"read from {offset}", s.fetch(offset))
    s.tell("adds and ends", s.add(p), s.ended(p, True).epoch, s.fetch(5))


def side_by_side(s: Stage) -> None:
    """Two producers: nothing behind the first open record is stable, whoever has ended meanwhile."""
    p, q = s.begun("x"), s.begun("y")
    s.tell("both add and produce", s.add(p), s.add(q), s.produce(p), s.produce(q), s.produce(None))
    s.ended(q, False)
    s.tell("the second aborts", s.fetch(), s.list_offset(-1), "|", s.fetch(1), "|", s.fetch(committed=False))
    s.ended(p, True)
    s.tell("the first commits", s.fetch(), s.list_offset(-1), "|", s.fetch(2), "|", s.fetch(4))


def fenced(s: Stage) -> None:
    """A second producer of a transactional id: the open transaction is aborted, its producer is fenced."""
    p = s.begun("x")
    s.tell("adds, produces", s.add(p), s.produce(p))
    s.tell("another one", s.who(s.init("x")))
    s.until(lambda: "Prepare" not in s.described("x"))
    s.tell("aborted", s.described("x"), s.fetch())
    s.tell("another one", s.who(s.init("x")))
    s.tell(
        "produces",
        s.produce(p, 1),
        "outside",
        s.produce(p, 1, transactional=False),
        "adds",
        s.add(p),
        "ends",
        s.end(p, True)[0],
        s.end(p, False)[0],
    )
    s.tell("goes on", s.who(s.init("x", before=p)), s.producers())


def _is_complete(s: Stage, name: str) -> bool:
    return "Complete" in s.described(name)


def timed_out(s: Stage) -> None:
    """Transactions that take too long are aborted, and their producers fenced, who may go on anew."""
    for name, version in (("x", 11), ("y", 12)):
        p = s.begun(name, SHORT)
        if version < 12:
            s.tell("adds", s.add(p))
        s.tell("produces", s.produce(p, version=version))
        s.until(partial(_is_complete, s, name))
        s.tell("too late", s.described(name), "produces", s.produce(p, 1, version=version))
        if version < 12:
            s.tell("adds, ends", s.add(p), s.end(p, True)[0], s.end(p, False)[0])
        else:
            s.tell("ends", s.who(s.end(p, True, 5)), s.who(s.end(p, False, 5)))
        s.tell("goes on", s.who(s.init(name, before=p)), s.who(s.init(name)))
    s.tell("read", s.fetch())


def by_itself(s: Stage) -> None:
    """A producer from version 12 on: batches add their partitions, each end gives the next epoch."""
    p = s.begun("x")
    s.tell("produces", s.produce(p, version=12), s.produce(p, 1, version=12), s.described("x"))
    q = s.ended(p, True, 5)
    s.tell("committed", f"epoch {q.epoch}", s.described("x"))
    s.tell("sent again", s.who(s.end(p, True, 5)), "aborts so", s.who(s.end(p, False, 5)), s.end(p, True)[0])
    s.tell("commits nothing", s.who(s.end(q, True, 5)))
    r = s.ended(q, False, 5)
    s.tell("aborts nothing", f"epoch {r.epoch}", s.described("x"))
    s.tell("an old epoch", s.produce(q, 0, version=12), "goes on", s.produce(r, 2, version=12))
    s.tell("begins at 0", s.produce(r, 0, version=12))
    s.tell("in an epoch to come", s.produce(r.with_epoch(r.epoch + 1), 0, version=12))
    t = s.ended(r, False, 5)
    s.tell("aborted", f"epoch {t.epoch}", s.fetch(), s.producers())
    s.tell("ends as older producers do", s.produce(t, version=12), s.ended(t, True).epoch, s.described("x"))
    s.tell("produces as they do", s.produce(t, 1), "and not so", s.produce(t, 1, version=12))


def offsets(s: Stage) -> None:
    """Offsets in transactions: who has to add them, when they count, what is unstable meanwhile."""
    p = s.begun("x")
    s.tell("commits before it adds", *(s.commit_offset(p, version=version) for version in (2, 3, 4)))
    strangers = (Producer("none", p.producer_id, 0), Producer("x", p.producer_id + 1000, 0), p.with_epoch(1))
    s.tell("with another name, id, epoch", *(s.commit_offset(each) for each in strangers))
    s.tell("to no group", s.commit_offset(p, group_id=""))
    s.tell("adds with another name, id, epoch", *(s.add_offsets(each) for each in strangers))
    s.tell("adds", s.add_offsets(p), s.described("x"))
    s.tell("a generation of no group", s.commit_offset(p, generation_id_or_member_epoch=1))
    s.tell("commits", s.commit_offset(p), s.offset(), s.offset(stable=False))
    s.tell("with another epoch", s.commit_offset(p.with_epoch(1)))
    s.ended(p, True)
    s.tell("committed", s.offset(), *(s.commit_offset(p, version=version) for version in (2, 3, 4)))
    s.tell("adds and commits", s.add_offsets(p), s.commit_offset(p, 9), s.offset(), s.offset(stable=False))
    s.ended(p, False)
    s.tell("aborted", s.offset())
    s.tell("without adding", s.commit_offset(p, 11, version=5), s.described("x"), s.offset())
    q = s.ended(p, True, 5)
    s.tell("committed", s.offset(), f"epoch {q.epoch}", s.commit_offset(p, 12, version=5))
    stranger = {"generation_id_or_member_epoch": 4, "member_id": "stranger"}
    s.tell("a stranger", s.commit_offset(q, 13, version=5, **stranger), s.described("x"))
    s.ended(q, False, 5)


def listing(s: Stage) -> None:
    """Which transactions there are: by state, by producer, by how long they have gone on."""
    p, q = s.begun("x"), s.begun("y")
    s.tell("begun", s.listed(0), "|", s.listed(2), "|", s.listed(duration_filter=0))
    s.tell("adds", s.add(p))
    time.sleep(0.05)
    s.tell("all", s.listed())
    states = (["Ongoing"], ["Empty", "Sleeping"], ["Sleeping"], ["ongoing", "Dead", "PrepareEpochFence"])
    s.tell("by state", *(f"{s.listed(state_filters=each)} |" for each in states))
    producers = ([p.producer_id], [q.producer_id, -1], [-1])
    s.tell("by producer", *(f"{s.listed(producer_id_filters=each)} |" for each in producers))
    s.tell("by duration", *(f"{s.listed(duration_filter=each)} |" for each in (-1, 0, 3_600_000)))
    both = {"state_filters": ["Empty"], "producer_id_filters": [p.producer_id]}
    s.tell("by both", s.listed(**both))
    s.ended(p, True)
    s.tell("committed", s.listed(), "|", s.listed(state_filters=["CompleteCommit"]))


DIALOGUES = (ids, by_hand, side_by_side, fenced, timed_out, by_itself, offsets, listing)


def played(dialogue: Callable[[Stage], None], address: str) -> str:
    """The text of a dialogue."""
    stage = Stage(address)
    try:
        stage.until(lambda: stage.is_coordinated("x"))
        dialogue(stage)
    finally:
        stage.close()
    title = f"{dialogue.__name__}: {dialogue.__doc__}"
    return "\n".join((title, *(f"  {line}" for line in stage.lines), ""))


def golden(dialogue: Callable[[Stage], None]) -> str:
    """What Apache Kafka 4.4.0 says in it."""
    told = GOLDEN.read_text(encoding="utf-8").split("\n\n")
    (text,) = [each for each in told if each.startswith(f"{dialogue.__name__}: ")]
    return f"{text.rstrip()}\n"


if __name__ == "__main__":
    print("\n".join(played(dialogue, sys.argv[1]) for dialogue in DIALOGUES), end="")
