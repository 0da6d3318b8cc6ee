"""Values that few send are among those that are drawn, and what is wrong with one of them is found."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache
from itertools import islice, tee
from random import Random

import pytest

from harness.walk_terms import TERMS
from rota.coordinator import GroupCoordinator
from rota.generate.odd_values import NO_TEXT, leavers_twice, no_text, odd_commit
from rota.generate.plan import GROUP, Ask, Plan
from rota.generate.planner import Planner
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks
from rota.spec import (
    ROTA,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ProtocolMetadata,
)
from rota.spec.admin_messages import ListGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
)
from rota.spec.profiles import KAFKA_3


@pytest.fixture(scope="module")
def requests():
    """What 300 plans ask, of which a copy goes through what was drawn, and draws more where it has to."""
    plans = islice(Planner(4, TERMS, ROTA).plans(), 300)
    (asked,) = tee((step.request for plan in plans for step in plan.steps if isinstance(step, Ask)), 1)
    return asked


SHAPES = {
    "no text": lambda r: isinstance(r, JoinGroupRequest) and any(p.metadata in NO_TEXT for p in r.protocols),
    "a leaver twice": lambda r: isinstance(r, LeaveGroupRequest) and len({*r.members}) < len(r.members),
    "no topics": lambda r: isinstance(r, OffsetCommitRequest | OffsetDeleteRequest) and not r.topics,
    "a partition twice": lambda r: (
        isinstance(r, OffsetCommitRequest) and any(len(t.partitions) > 1 for t in r.topics)
    ),
    "a topic twice": lambda r: (
        isinstance(r, OffsetFetchRequest | OffsetDeleteRequest)
        and len({t.name for t in r.topics or ()}) < len(r.topics or ())
    ),
    "the greatest epoch": lambda r: (
        isinstance(r, OffsetCommitRequest)
        and any(p.committed_leader_epoch == 2**31 - 1 for t in r.topics for p in t.partitions)
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_odd_values_are_drawn(requests, shape):
    """Each of them, in plans of one seed."""
    assert any(SHAPES[shape](request) for request in copy(requests))


def first_only(original):
    """Of what a request lists twice the first counts."""

    def offset_commit(self, request, *rest):
        topics = tuple(replace(one, partitions=one.partitions[:1]) for one in request.topics)
        return original(self, replace(request, topics=topics), *rest)

    return offset_commit


def twice():
    """A commit of one partition with two offsets, and what is fetched then."""
    places = tuple(OffsetCommitPartition(0, offset, -1, "m") for offset in (7, 3))
    commit = OffsetCommitRequest(GROUP, (OffsetCommitTopic("rota-probe", places),), -1, "")
    fetch = OffsetFetchRequest(GROUP, (TopicPartitions("rota-probe", (0,)),))
    return Plan(1, 0, (Ask(0, "a", 0, 8, commit), Ask(1, "a", 0, 7, fetch)))


def walked(plan):
    async def walk(coordinator):
        return await Walks(coordinator, "walk").one(plan)

    return in_virtual_time(SETTINGS, walk)


def test_a_partition_that_is_listed_twice_has_the_last_offset(monkeypatch):
    """On the server as it is; on one that takes the first the walk fails."""
    assert walked(twice()).verdict is Verdict.PASS
    monkeypatch.setattr(GroupCoordinator, "offset_commit", first_only(GroupCoordinator.offset_commit))
    assert walked(twice()).verdict is Verdict.FAIL


def test_what_is_changed_is_only_what_is_said():
    """The rest of a request stays as it was."""
    rng = Random(1)
    join = JoinGroupRequest(GROUP, 1, 2, "m", "consumer", (ProtocolMetadata("range", b"x"),))
    odd = no_text(rng, join)
    assert [one.metadata in NO_TEXT for one in odd.protocols] == [True]
    assert replace(odd, protocols=join.protocols) == join
    leave = LeaveGroupRequest(GROUP, (LeavingMember("m"),))
    assert leavers_twice(rng, leave).members == leave.members * 2
    commit = twice().steps[0].request
    commit = replace(commit, topics=(replace(commit.topics[0], partitions=commit.topics[0].partitions[:1]),))
    assert all(odd_commit(rng, commit).group_id == GROUP for _ in range(20))


def overlong(plans):
    """Consumers' metadata in plans that announce more topics than they have bytes."""
    asked = (step.request for plan in plans for step in plan.steps if isinstance(step, Ask))
    joins = (one for one in asked if isinstance(one, JoinGroupRequest))
    return [each for one in joins for each in one.protocols if each.metadata.startswith((b"mmm", b"\0\0x"))]


def lower(plans):
    """States that are asked for in lower case."""
    asked = (step.request for plan in plans for step in plan.steps if isinstance(step, Ask))
    lists = (one for one in asked if isinstance(one, ListGroupsRequest))
    return [name for one in lists for name in one.states_filter if name.islower()]


@cache
def planned(profile):
    """Some plans for a profile."""
    return [*islice(Planner(5, TERMS, profile).plans(), 60)]


@pytest.mark.parametrize("what", [overlong, lower])
def test_the_older_coordinator_is_spared_what_it_loses_a_group_by_or_counts_as_another(what):
    assert what(planned(ROTA))
    assert not what(planned(KAFKA_3))
