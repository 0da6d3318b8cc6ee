"""What answers long requests goes on in steps shorter than a turn, so that many who ask delay others little.

A client's turn is 2 ms, or one step if that is longer; so with steps of 10 ms others wait for 80.
"""

from harness.endpoints import HERE, Fixed
from harness.lines import Lines
from rota.coordinator import (
    CoordinatorConfig,
    GroupCoordinator,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
)
from rota.server import group_admin
from rota.server.cluster import Cluster
from rota.server.group_admin import GroupAdmin
from rota.server.groups import FirstByName
from rota.server.settings import Settings
from rota.server.topics import Topics
from rota.wire import decode_response, encode_response, encode_response_in_slices

LINES = 20_000
"""Less than a millisecond on a processor of 2024."""

FEW = 600
"""As many as are answered as many more are."""


class Asked:
    """A request, and its answer as a client reads it."""

    client_host = "/127.0.0.1"
    endpoint = HERE

    def __init__(self, api_name, version):
        self.api_name, self.version = api_name, version

    def encoded(self, body):
        return encode_response(self.api_name, self.version, body, 1)

    def encoded_in_slices(self, body):
        return encode_response_in_slices(self.api_name, self.version, body, 1)

    def reply_in_pieces(self, pieces, held):
        self.pieces = pieces

    @property
    def answer(self):
        return decode_response(self.api_name, self.version, b"".join(self.pieces)).body


def longest(steps):
    """The lines of the longest step, to the end."""
    most = 0
    while True:
        with Lines() as lines:
            more = next(steps, steps) is not steps
        most = max(most, lines.count)
        if not more:
            return most


def described(partitions):
    """Metadata of a topic with so many partitions: its longest step, when it is not the first of all."""
    if partitions > FEW:
        described(FEW)  # what is compiled once is
    settings = Settings.of({})
    topics = Topics(settings)
    topics.create("t", partitions)
    asked = Asked("Metadata", 12)
    most = longest(Cluster(settings, topics, Fixed(), None).describe({"topics": None}, asked))
    (topic,) = asked.answer["topics"]
    assert [each["partition_index"] for each in topic["partitions"]] == [*range(partitions)]
    return most


def listed(groups):
    """ListGroups of so many groups: its longest step, when it is not the first of all."""
    if groups > FEW:
        listed(FEW)
    core = GroupCoordinator(CoordinatorConfig(), FirstByName())
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 1),)),)
    for number in range(groups):
        core.offset_commit(OffsetCommit(f"g{number}", topics), 8, None, 0)
    asked = Asked("ListGroups", 5)
    most = longest(GroupAdmin(core, lambda effects: None).list({}, asked))
    assert [each["group_id"] for each in asked.answer["groups"]] == [f"g{each}" for each in range(groups)]
    return most


def test_metadata_of_many_partitions_takes_short_steps():
    assert described(3_000) < LINES


def test_many_groups_are_listed_in_short_steps():
    assert listed(2_500) < LINES


def test_planted_bug_a_topic_is_described_in_one_step(monkeypatch):
    monkeypatch.setattr("rota.server.answers.is_long", lambda body: False)
    assert described(3_000) > LINES


def test_planted_bug_two_thousand_groups_are_listed_in_one_step(monkeypatch):
    monkeypatch.setattr(group_admin, "LISTED_AT_ONCE", 2_000)
    assert listed(2_500) > LINES
