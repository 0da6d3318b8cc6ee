"""Fetch sessions: a client names its partitions once, and is told what has changed (KIP-227).

Sessions outlive connections, as in Kafka. Their number is bounded, and so are the partitions of all of them;
where there is no room a client gets no session and goes on with whole requests.
Source: upstream's FetchManager, FetchSessionCache and IncrementalFetchContext; a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from random import randrange
from typing import Any, TypeVar
from uuid import UUID

from rota.server.answers import slices
from rota.server.errors import ErrorCode, Refusal

TOPIC_IDS_SINCE = 13
EVICTED_AFTER = 120.0
"""Seconds without a request after which a session gives way to a new one, if there is no room."""

MAX_PARTITIONS = 200_000
"""How many partitions all sessions may have together."""

AT_ONCE = 200
"""How many partitions are gone through in one step."""

_NONE, _FINAL, _INITIAL = 0, -1, 0
_LAST_EPOCH = 2**31 - 1
_ABSENT = -1

Body = Mapping[str, Any]
Key = tuple[str | UUID, int]
T = TypeVar("T")
Steps = Generator[None, None, T]


@dataclass(slots=True)
class _Partition:
    """What a session knows of a partition: what is asked for, and what was told last."""

    topic: str | UUID
    index: int
    offset: int
    max_bytes: int
    leader_epoch: int
    known_as: str | None
    high_watermark: int = _ABSENT
    log_start: int = _ABSENT

    @property
    def key(self) -> Key:
        return self.topic, self.index

    def item(self) -> dict[str, Any]:
        """As it stands in a request."""
        return {
            "partition": self.index,
            "fetch_offset": self.offset,
            "partition_max_bytes": self.max_bytes,
            "current_leader_epoch": self.leader_epoch,
        }

    def is_news(self, answer: Body) -> bool:
        """Whether the client has to be told this answer, which then counts as told."""
        code = answer.get("error_code", 0)
        end, start = answer["high_watermark"], answer.get("log_start_offset", _ABSENT)
        news = bool(answer["records"]) or code != 0 or (end, start) != (self.high_watermark, self.log_start)
        self.high_watermark, self.log_start = (_ABSENT if code else end), start
        return news


@dataclass(eq=False, slots=True)
class Session:
    """One session. `epoch` is what its next request has to say."""

    session_id: int
    by_id: bool
    used: float
    epoch: int = 1
    partitions: dict[Key, _Partition] = field(default_factory=dict)

    def topics(self) -> Steps[list[dict[str, Any]]]:
        """Its partitions as a request would name them, those of a topic that follow each other together."""
        name = "topic_id" if self.by_id else "topic"
        topics: list[dict[str, Any]] = []
        for some in slices([*self.partitions.values()], AT_ONCE):
            for partition in some:
                if not topics or topics[-1][name] != partition.topic:
                    topics.append({name: partition.topic, "known_as": partition.known_as, "partitions": []})
                topics[-1]["partitions"].append(partition.item())
            yield
        return topics

    def told(self, responses: list[dict[str, Any]]) -> Steps[list[dict[str, Any]]]:
        """What of the answers the client has to be told; those partitions come last the next time."""
        news = []
        for response in responses:
            topic = response["topic_id" if self.by_id else "topic"]
            kept: list[dict[str, Any]] = []
            for some in slices(response["partitions"], AT_ONCE):
                kept += (each for each in some if self._is_news(topic, each))
                yield
            if kept:
                news.append(response | {"partitions": kept})
        return news

    def _is_news(self, topic: str | UUID, answer: Body) -> bool:
        partition = self.partitions.get((topic, answer["partition_index"]))
        if partition is None or not partition.is_news(answer):
            return False
        del self.partitions[partition.key]
        self.partitions[partition.key] = partition
        return True


@dataclass(frozen=True, slots=True)
class Opened:
    """How a request is to be answered: the topics that it is about, and its session, if it has one.

    is_whole: everything is told, not only what is new.
    """

    topics: list[dict[str, Any]]
    session: Session | None = None
    is_whole: bool = True

    def told(self, responses: list[dict[str, Any]]) -> Steps[dict[str, Any]]:
        """The body of the answer."""
        if self.session is None:
            return {"responses": responses, "session_id": _NONE}
        news = yield from self.session.told(responses)
        return {"responses": responses if self.is_whole else news, "session_id": self.session.session_id}


class Sessions:
    """All sessions, the one that was used longest ago first; `slots` bounds their number.

    name_of: a topic's name by its id, for who is gone later. clock: seconds.
    """

    def __init__(self, slots: int, clock: Callable[[], float], name_of: Callable[[UUID], str | None]) -> None:
        self._slots = slots
        self._clock = clock
        self._name_of = name_of
        self._sessions: dict[int, Session] = {}
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, body: Body, version: int) -> Steps[Opened]:
        """Errors: Refusal with FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH or
        FETCH_SESSION_TOPIC_ID_ERROR, the answer to the whole request."""
        session_id, epoch = body.get("session_id", _NONE), body.get("session_epoch", _FINAL)
        if epoch not in (_FINAL, _INITIAL):
            return (yield from self._go_on(session_id, epoch, body, version))
        self._close(session_id)
        if epoch == _FINAL:
            return Opened(body["topics"])
        session = yield from self._new(body, version >= TOPIC_IDS_SINCE)
        if session is None:
            return Opened(body["topics"])
        return Opened((yield from session.topics()), session)

    def _go_on(self, session_id: int, epoch: int, body: Body, version: int) -> Steps[Opened]:
        session = self._sessions.get(session_id)
        if session is None:
            raise Refusal(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, None)
        if session.epoch != epoch:
            raise Refusal(ErrorCode.INVALID_FETCH_SESSION_EPOCH, None)
        if session.by_id != (version >= TOPIC_IDS_SINCE):
            raise Refusal(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, None)
        session.epoch = 1 if epoch == _LAST_EPOCH else epoch + 1
        session.used = self._clock()
        self._sessions[session_id] = self._sessions.pop(session_id)
        if not (yield from self._update(session, body)):
            self._close(session_id)
            raise Refusal(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, None)
        if not session.partitions:
            self._close(session_id)
            return Opened([])
        return Opened((yield from session.topics()), session, is_whole=False)

    def _new(self, body: Body, by_id: bool) -> Steps[Session | None]:
        """A session for these partitions, None if there is no room."""
        now = self._clock()
        if len(self._sessions) >= self._slots and not self._evict(now):
            return None
        session = Session(self._new_id(), by_id, now)
        self._sessions[session.session_id] = session
        if not (yield from self._update(session, body)):
            self._close(session.session_id)
            return None
        return session

    def _new_id(self) -> int:
        while (found := randrange(1, 2**31)) in self._sessions:
            pass
        return found

    def _evict(self, now: float) -> bool:
        """Ends the session that was used longest ago, if that is long; whether it did."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.used < EVICTED_AFTER:
            return False
        self._close(oldest.session_id)
        return True

    def _close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)

    def _update(self, session: Session, body: Body) -> Steps[bool]:
        """What a request names is in the session, what it forgets is not; False if there is no room."""
        name = "topic_id" if session.by_id else "topic"
        for entry in body["topics"]:
            topic = entry[name]
            known_as = self._name_of(topic) if session.by_id else None
            for some in slices(entry["partitions"], AT_ONCE):
                if not all(self._put(session, topic, known_as, item) for item in some):
                    return False
                yield
        for entry in body.get("forgotten_topics_data", ()):
            for index in entry["partitions"]:
                if session.partitions.pop((entry[name], index), None) is not None:
                    self._partitions -= 1
        return True

    def _put(self, session: Session, topic: str | UUID, known_as: str | None, item: Body) -> bool:
        asked = item["fetch_offset"], item["partition_max_bytes"], item.get("current_leader_epoch", _ABSENT)
        partition = session.partitions.get((topic, item["partition"]))
        if partition is not None:
            partition.offset, partition.max_bytes, partition.leader_epoch = asked
            return True
        if self._partitions >= MAX_PARTITIONS:
            return False
        self._partitions += 1
        partition = _Partition(topic, item["partition"], *asked, known_as)
        session.partitions[partition.key] = partition
        return True
