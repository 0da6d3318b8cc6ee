"""What a server begins with: topics that are there, and ids that are the same in each run."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from rota.cli.serve import serve
from rota.mutants.core import CoreBug, planted
from rota.server import Settings, SettingsError, controlled
from rota.server.beginning import Beginning, Ids, topics_of
from rota.server.topics import Topics


def ids_of_a_run(connect, seed):
    """Of two topics and of three members of two clients."""
    beginning = Beginning((("orders", 3), ("bills", 1)), seed)
    with controlled(beginning=beginning) as broker:
        client = connect(broker.bootstrap)
        asked = [{"name": name} for name in ("orders", "bills")]
        topics = client.call("Metadata", 12, topics=asked)["topics"]
        assert [len(each["partitions"]) for each in topics] == [3, 1]
        members = []
        for name in ("billing", "billing", "audit"):
            join = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer"}
            join |= {"protocols": [{"name": "range", "metadata": b""}], "member_id": "", "group_id": "g"}
            members.append(connect(broker.bootstrap, name).call("JoinGroup", 9, **join)["member_id"])
        return [each["topic_id"] for each in topics], members


def runs_are_alike(connect):
    first, again, other = (ids_of_a_run(connect, seed) for seed in (7, 7, 8))
    assert first == again
    assert not set(first[0]) & set(other[0])
    assert not set(first[1]) & set(other[1])
    assert len({*first[0], *first[1]}) == 5
    assert all(each.version == 4 for each in first[0])


def test_the_same_seed_makes_the_same_ids(connect):
    runs_are_alike(connect)


def test_without_a_seed_ids_are_others(connect):
    first, again = (ids_of_a_run(connect, None) for _ in range(2))
    assert not {*first[0], *first[1]} & {*again[0], *again[1]}


def test_ids_do_not_depend_on_what_is_made_before():
    one, other = Ids(1), Ids(1)
    other.next("member", "other")
    other.next("topic", "a")
    assert one.next("member", "a") == other.next("member", "a")
    assert one.next("member", "a") not in (Ids(1).next("member", "a"), Ids(1).next("topic", "a"))


def begins_again(connect):
    """A reset is a start: topics and ids are those of the start."""
    with controlled(beginning=Beginning((("orders", 2),), 1)) as broker:
        told = []
        for _ in range(2):
            client = connect(broker.bootstrap)
            client.call("Metadata", 12, topics=[{"name": "more"}])
            (topic,) = client.call(
                "Metadata", 12, topics=[{"name": "orders"}], allow_auto_topic_creation=False
            )["topics"]
            told.append((topic["topic_id"], len(topic["partitions"])))
            broker.reset()
        assert told[0] == told[1]
        assert told[0][1] == 2


def test_a_reset_begins_again(connect):
    begins_again(connect)


@pytest.mark.parametrize(
    ("function", "old", "new", "story"),
    [
        ("rota.server.beginning:Ids.next", "self._seed is None", "True", runs_are_alike),
        ("rota.server.beginning:Ids.next", "{self._seed}", "", runs_are_alike),
        ("rota.server.beginning:Ids.next", "self._made[kind, name] += 1", "pass", runs_are_alike),
        ("rota.server.beginning:Beginning.create", "topics.create(name, partitions)", "pass", runs_are_alike),
        ("rota.server.controls:Controls._made", ", beginning=self._beginning", "", begins_again),
    ],
)
def test_a_planted_bug_is_told(function, old, new, story, connect):
    with planted(CoreBug("", "bug", "", function, old, new)), pytest.raises((AssertionError, ValueError)):
        story(connect)


def test_topics_in_words():
    assert topics_of(["orders:3", "bills"]) == (("orders", 3), ("bills", 1))


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["orders:0"], "cannot read topic 'orders:0'; write NAME:PARTITIONS"), (["orders:x"], "cannot read"),
        (["a b:1"], "contains one or more characters"), ([":1"], "the empty string is not allowed"),
        (["orders:1", "orders:2"], "topic orders is given twice"),
    ],
)  # fmt: skip
def test_topics_that_cannot_be_read(texts, why):
    with pytest.raises(SettingsError, match=why):
        topics_of(texts)


def test_topics_that_cannot_be_made():
    with pytest.raises(SettingsError, match=r"topic a\.b cannot be made: .* collides .*; give another"):
        Beginning((("a_b", 1), ("a.b", 1))).create(Topics(Settings()))
    with pytest.raises(SettingsError, match="at most 10000 partitions"):
        Beginning((("a", 10_001),)).create(Topics(Settings()))


def test_the_command_refuses_what_cannot_be(tmp_path):
    for options, why in (
        (["--topic", "orders:many"], "cannot read topic 'orders:many'"),
        (["--seed", "1", "--data-dir", str(tmp_path)], "leave one out"),
        (["--topic", "a_b", "--topic", "a.b"], "collides with existing topic"),
    ):
        done = CliRunner().invoke(serve, options)
        assert done.exit_code == 2, done.output
        assert why in done.output


def test_the_command_begins_so(connect):
    words = [sys.executable, "-m", "rota", "serve", "--topic", "orders:3", "--seed", "7"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        client = connect(address)
        asked = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": False}
        (topic,) = client.call("Metadata", 12, **asked)["topics"]
        assert len(topic["partitions"]) == 3
        assert topic["topic_id"] == Ids(7).next("topic", "orders")
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
