"""One dialogue by the consumer protocol on a running broker, and its text.

Group and topics have names of their own on the broker; in the text they have those of the dialogue, and ids
of topics are not told. A topic that is made anew is called as before with a prime.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any
from uuid import UUID

from rota.conformance.connections.connection import Closed, Connection, Garbage, SentRequest
from rota.wire import encode_request, frame
from rota.wire.error_codes import ERROR_CODES

PATIENCE = 120.0
"""Seconds for one answer, and for what the broker does by itself."""

PAUSE = 0.05
NAMES = {code: name for name, code in ERROR_CODES.items()}
GROUP_SETTING, SET = 32, 0

Request = tuple[str, int, Mapping[str, Any]]
"""An API, a version, a body."""


class Stage:
    """A group, its topics and a connection."""

    def __init__(self, address: tuple[str, int], slug: str) -> None:
        self.group = f"{slug}.{secrets.token_hex(4)}"
        self._address = address
        self._connection = Connection(address, "dialogue", timeout=PATIENCE)
        self._ids: dict[str, UUID] = {}
        self.mark = 0
        """The offset from which records of the offsets topic are news."""
        self._probes = 0
        self.lines: list[str] = []

    def close(self) -> None:
        self._connection.close()

    # ---- text

    def tell(self, text: str) -> None:
        self.lines.append(text)

    def told(self, topics: Iterable[Mapping[str, Any]]) -> str:
        """Partitions by topic id, as text; of topics that the dialogue does not know too."""
        labels = {found: label for label, found in self._ids.items()}
        places = (
            f"{labels.get(topic['topic_id'], 'of a strange topic ')}{partition}"
            for topic in topics
            for partition in topic["partitions"]
        )
        return f"[{' '.join(sorted(places))}]"

    def label(self, name: str) -> str:
        """A topic's or a group's name in the text."""
        return name.removeprefix(f"{self.group}.")

    # ---- requests

    def ask(self, api: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the answer. Errors: AssertionError if none comes."""
        answer = self._connection.receive(self._connection.send(api, version, body), PATIENCE)
        assert answer is not None, f"{api} v{version} is not answered in {PATIENCE:g} s"
        return answer.body

    def ask_at_once(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """The bodies of the answers to requests that are all sent before the first is answered."""
        sent = self._connection.send_together(requests)
        return _answers([(self._connection, one) for one in sent])

    def ask_beside(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """The same, of requests on a connection each."""
        with ExitStack() as stack:
            connections = [self._further(stack) for _ in requests]
            asked = zip(connections, requests, strict=True)
            return _answers([(connection, connection.send(*request)) for connection, request in asked])

    def _further(self, stack: ExitStack) -> Connection:
        """A connection that is known to be served."""
        connection = stack.enter_context(closing(Connection(self._address, "dialogue", timeout=PATIENCE)))
        assert connection.receive(connection.send("ApiVersions", 0, {}), PATIENCE) is not None
        return connection

    def ends(self, api: str, version: int, body: Mapping[str, Any]) -> bool:
        """Whether the broker closes the connection upon a request that may be odd."""
        connection = Connection(self._address, "dialogue", timeout=PATIENCE)
        try:
            request = connection.send("ApiVersions", 0, {})
            assert connection.receive(request, PATIENCE) is not None
            connection.send_raw(frame(encode_request(api, version, body, 2, "dialogue", odd=True)))
            return connection.receive(request, PATIENCE) is None
        except Closed:
            return True
        except Garbage:
            return False
        finally:
            connection.close()

    def name(self, topic: str) -> str:
        """A topic's name on the broker."""
        return f"{self.group}.{topic.rstrip(chr(39))}"

    def topic_id(self, topic: str) -> UUID:
        """A topic's id; one that nothing has where it was never made."""
        return self._ids.get(topic, UUID(int=77))

    def partitions(self, text: str) -> list[dict[str, Any]]:
        """Partitions such as `t0 t1 u0`, by topic id."""
        found: dict[str, list[int]] = {}
        for one in text.split():
            found.setdefault(one[:-1], []).append(int(one[-1]))
        return [{"topic_id": self.topic_id(topic), "partitions": each} for topic, each in found.items()]

    # ---- topics and settings

    def create(self, topic: str, count: int) -> None:
        label = f"{topic}'" if topic in self._ids else topic
        one = {"name": self.name(topic), "num_partitions": count, "replication_factor": 1}
        (made,) = self.ask("CreateTopics", 7, {"topics": [one], "timeout_ms": 60_000})["topics"]
        assert made["error_code"] == 0, made
        self._ids[label] = made["topic_id"]
        self.until_seen(label, count)

    def grow(self, topic: str, count: int) -> None:
        one = {"name": self.name(topic), "count": count, "assignments": None}
        (grown,) = self.ask("CreatePartitions", 3, {"topics": [one], "timeout_ms": 60_000})["results"]
        assert grown["error_code"] == 0, grown
        self.until_seen(topic, count)

    def delete(self, topic: str) -> None:
        one = {"name": self.name(topic)}
        (gone,) = self.ask("DeleteTopics", 6, {"topics": [one], "timeout_ms": 60_000})["responses"]
        assert gone["error_code"] == 0, gone
        self.until_seen(topic, 0)

    def until_seen(self, topic: str, count: int) -> None:
        """Wait until the coordinator sees so many partitions of a topic: a group of its own is given all."""

        def seen() -> bool:
            self._probes += 1
            probe = {"group_id": f"{self.group}.probe.{self._probes}", "member_id": "probe"}
            first = {"rebalance_timeout_ms": 1000, "topic_partitions": []}
            joined = self.ask(
                "ConsumerGroupHeartbeat", 1, probe | first | {"subscribed_topic_names": [self.name(topic)]}
            )
            self.ask("ConsumerGroupHeartbeat", 1, probe | {"member_epoch": -1})
            topics = joined["assignment"]["topic_partitions"]
            ids = {one["topic_id"] for one in topics}
            known = self._ids[topic] in ids if count else not ids
            return known and sum(len(one["partitions"]) for one in topics) == count

        self.until(seen, f"the coordinator does not see {count} partitions of {topic}")

    def configure(self, settings: Mapping[str, int]) -> None:
        """Set the group's own settings, and wait until they count."""
        configs = [{"name": name, "config_operation": SET, "value": str(settings[name])} for name in settings]
        resource = {"resource_type": GROUP_SETTING, "resource_name": self.group, "configs": configs}
        (set_,) = self.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})["responses"]
        assert set_["error_code"] == 0, set_
        keys = [{"resource_type": GROUP_SETTING, "resource_name": self.group, "configuration_keys": None}]

        def counts() -> bool:
            (found,) = self.ask("DescribeConfigs", 4, {"resources": keys})["results"]
            values = {one["name"]: one["value"] for one in found["configs"]}
            return all(values.get(name) == str(value) for name, value in settings.items())

        self.until(counts, "the group's settings do not count")

    def until(self, done: Callable[[], bool], otherwise: str) -> None:
        """Wait until something is so. Errors: AssertionError."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, otherwise
            time.sleep(PAUSE)

    def described(self, version: int = 1, group: str | None = None) -> dict[str, Any]:
        asked = {"group_ids": [self.group if group is None else group]}
        (found,) = self.ask("ConsumerGroupDescribe", version, asked)["groups"]
        return dict(found)


def _answers(sent: Sequence[tuple[Connection, SentRequest]]) -> list[dict[str, Any]]:
    answers = [connection.receive(one, PATIENCE) for connection, one in sent]
    assert None not in answers, f"{answers.index(None)} of {len(answers)} are answered in {PATIENCE:g} s"
    return [answer.body for answer in answers if answer is not None]


def error(code: int) -> str:
    return NAMES.get(code, str(code))


def words(values: Sequence[str]) -> str:
    return f"[{' '.join(values)}]"
