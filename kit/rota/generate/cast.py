"""Who takes part in a plan, and what each of them has been told if all goes as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from rota.conformance.dialogues.subscription import subscription
from rota.generate.plan import handed_out_by
from rota.generate.requests import BY_TOPIC_ID, SPOKEN
from rota.linearise.consumer.requests import ConsumerTerms
from rota.spec import BrokerConfig
from rota.spec.classic.messages import JoinGroupReply, ProtocolMetadata
from rota.wire import api

TOPICS = ("rota-probe", "rota-walk")
"""Topics of one partition whose offsets are committed; members are subscribed to the first, if to any."""

STRANGER = "nobody-knows-me"
"""A member id that nobody has been given."""

SPOKEN_BY_CONSUMERS = (
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "CreateTopics",
    "CreatePartitions",
    "DeleteTopics",
)
"""What walks of the consumer protocol speak beside."""

SPOKEN_BY_PRODUCERS = {"InitProducerId": 4, "AddOffsetsToTxn": 4, "TxnOffsetCommit": 4, "EndTxn": 4}
"""What producers speak in walks with transactions -> the newest version that is asked: later ones add a group
to its transaction by themselves, and exchange a producer's epoch at its end.
"""

LISTS = (("range",), ("range", "roundrobin"), ("roundrobin", "range"), ("sticky", "range"))
"""Lists of protocols that members offer; range is in all of them."""


@dataclass
class Client:
    """Somebody who asks. told: the JoinGroup that was answered last without an error, and its answer;
    member_id: of the last answer that had one; line: on which connection it asks next; waits: the request on
    it that is not answered; owes: it has to sync.
    """

    name: str
    protocols: tuple[ProtocolMetadata, ...]
    session_ms: int
    rebalance_ms: int
    instance: str | None = None
    told: tuple[int, JoinGroupReply] | None = None
    member_id: str = ""
    line: int = 0
    waits: set[int] = field(default_factory=set)
    owes: bool = False
    out: bool = False

    @property
    def generation(self) -> int:
        """What it was told last, -1 if nothing."""
        return self.told[1].generation_id if self.told else -1


@dataclass(frozen=True)
class Terms:
    """What plans are drawn for: config and profile of the coordinator, and versions, those that both sides
    have of each API; restarts, whether it can be killed and started again; looks_every_ms, milliseconds
    between two looks for what has expired, None where they are not followed; other_settings, with which it
    may be started again; consumer, what is known of it as a coordinator of the consumer protocol, None where
    it does not speak that.
    """

    config: BrokerConfig
    versions: Mapping[str, tuple[int, int]]
    restarts: bool = False
    looks_every_ms: int | None = None
    other_settings: Mapping[str, int] = field(default_factory=dict)
    consumer: ConsumerTerms | None = None

    @property
    def transactional(self) -> bool:
        """Whether the coordinator speaks all that transactions take."""
        return self.versions.keys() >= SPOKEN_BY_PRODUCERS.keys()

    @property
    def looks_every(self) -> float | None:
        """Seconds between two looks for what has expired, None where they are not followed."""
        return None if self.looks_every_ms is None else self.looks_every_ms / 1000

    def spoken(self, name: str, least: int = 0, most: int = 99) -> Sequence[int]:
        """Versions of an API within bounds, none if there is none."""
        first, last = self.versions.get(name, (0, -1))
        return range(max(first, least), min(last, most) + 1)


def versions_in_common(ranges: Mapping[int, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Of what a target advertises that which walks speak, by API."""
    found = {}
    for name in dict.fromkeys((*SPOKEN, *SPOKEN_BY_CONSUMERS, *SPOKEN_BY_PRODUCERS)):
        known = api(name)
        first, last = ranges.get(known.key, (0, -1))
        newest = BY_TOPIC_ID - 1 if name in ("OffsetCommit", "OffsetFetch") else known.max_version
        newest = min(newest, SPOKEN_BY_PRODUCERS.get(name, newest))
        oldest = 2 if name == "OffsetCommit" else 1 if name == "OffsetFetch" else known.min_version
        if max(first, oldest) <= min(last, newest):
            found[name] = (max(first, oldest), min(last, newest))
    return found


class Cast:
    """The clients of one plan, drawn once; `lines` is how many connections there have been."""

    def __init__(self, rng: Random, terms: Terms) -> None:
        self._rng = rng
        self.lines = 0
        low = terms.config.group_min_session_timeout_ms
        self.clients = [self._client(name, low) for name in ("a", "b", "c", "d")]
        self.operator = self._client("operator", low)
        if rng.random() < 0.4:
            for one, instance in zip(self.clients, ("i1", rng.choice((None, "i2", "i1"))), strict=False):
                one.instance = instance
        if rng.random() < 0.2:
            for one in self.clients:
                one.protocols = tuple(ProtocolMetadata(p.name, b"") for p in one.protocols)
        self.type = rng.choice(("consumer",) * 6 + ("connect",))

    def __iter__(self) -> Iterator[Client]:
        return iter(self.clients)

    def connected(self) -> int:
        """One more connection."""
        self.lines += 1
        return self.lines - 1

    def _client(self, name: str, low: int) -> Client:
        rng = self._rng
        session = low + rng.choice((0, 0, 1, 500, 1000, 2500))
        rebalance = rng.choice((1000, 1500, 2000, 3000, 3001, session))
        topic = rng.choice((TOPICS[0], TOPICS[0], "another"))
        names = LISTS[0] if rng.random() < 0.5 else rng.choice(LISTS)
        offered = tuple(ProtocolMetadata(one, subscription(name, topic)) for one in names)
        return Client(name, offered, session, rebalance, line=self.connected())

    def ids(self) -> list[str]:
        """Every member id that was handed out, by reference."""
        return sorted({one.member_id for one in self.clients if one.member_id})

    def heard(self, number: int, asker: Client, reply: object) -> None:
        """The asker is answered."""
        asker.waits.discard(number)
        if not isinstance(reply, JoinGroupReply):
            return
        if reply.member_id:
            asker.member_id = reply.member_id
        if reply.generation_id >= 0:
            asker.told, asker.owes, asker.out = (number, reply), True, False


def reference(number: int) -> str:
    """The id that a request hands out, as the spec is given it."""
    return handed_out_by(number)
