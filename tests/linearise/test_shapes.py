"""The rules of a group say of a commit's shape what they say of the commit, but for its numbers."""

from __future__ import annotations

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rota.kernel import FrozenMap, replace
from rota.linearise.shapes import Shape, shape_of
from rota.linearise.steps import Steps
from rota.mutants.core import CoreBug, planted
from rota.spec import KAFKA_4, BrokerConfig, Call, Group, GroupState
from rota.spec.classic.state import Member
from rota.spec.offset_messages import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic

NUMBER = 7

MEMBER = Member(session_timeout_ms=10_000, rebalance_timeout_ms=60_000, protocols=())

groups = st.builds(
    lambda state, generation: Group(
        state,
        generation,
        "consumer",
        members=FrozenMap({"m": MEMBER}),
    ),
    st.sampled_from([GroupState.STABLE, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE]),
    st.integers(1, 2),
)
partitions = st.builds(
    OffsetCommitPartition,
    st.integers(0, 3),
    st.integers(0, 2**40),
    st.integers(-1, 3),
    st.sampled_from(["", "told", "x" * 5_000]),
)
topics = st.builds(
    lambda name, told: OffsetCommitTopic(name, tuple(told)),
    st.sampled_from(["t", "u"]),
    st.lists(partitions, min_size=1, max_size=3),
)
calls = st.builds(
    lambda told, generation, member, now_ms: Call(
        OffsetCommitRequest("g", tuple(told), generation, member), str(NUMBER), version=8, now_ms=now_ms
    ),
    st.lists(topics, min_size=1, max_size=2),
    st.integers(-1, 2),
    st.sampled_from(["m", "n", ""]),
    st.integers(0, 2**40),
)


def filled(step, shape: Shape):
    """A step for a shape as it is for the commit itself."""
    offsets = tuple(shape.filled(word, NUMBER) for word in step.offsets)
    replies = tuple(replace(one, to=str(NUMBER)) for one in step.replies)
    return replace(step, offsets=offsets, replies=replies)


def commutes():
    """Whether rules say so, as they are now."""
    spec = Steps(KAFKA_4, BrokerConfig()).spec

    @settings(phases=[Phase.generate])
    @given(st.none() | groups, calls)
    def hold(group, call):
        shape = shape_of(call)
        assert shape is not None
        found = [filled(one, shape) for one in spec.handle(group, shape.call)]
        assert found == list(spec.handle(group, call))

    hold()


def test_rules_say_the_same_of_a_shape():
    commutes()


def test_a_rule_that_looks_at_an_offset_is_found():
    """Such a rule has no shapes, and whoever writes one has to know."""
    old = "_request(call).generation_id_or_member_epoch == group.generation_id"
    new = "_request(call).topics[0].partitions[0].committed_offset > 10"
    _fails(CoreBug("", "far", "far", "rota.spec.offsets:illegal_generation", old, new))


def test_a_rule_that_looks_at_the_time_is_found():
    old = "commit_timestamp_ms=now_ms if"
    _fails(CoreBug("", "even", "even", "rota.spec.offsets:_value", old, "commit_timestamp_ms=now_ms & ~1 if"))


def _fails(bug):
    with planted(bug):
        try:
            commutes()
        except (AssertionError, BaseExceptionGroup):
            return
    raise AssertionError("it is not found")


def test_what_may_be_more_than_a_number_has_no_shape():
    def commit(offset=5, at=-1, retention=-1):
        one = OffsetCommitPartition(0, offset, commit_timestamp=at)
        request = OffsetCommitRequest(
            "g", (OffsetCommitTopic("t", (one,)),), 1, "m", retention_time_ms=retention
        )
        return shape_of(Call(request, "1", version=8))

    assert commit() == replace_now(commit(offset=9), 5)
    assert commit(offset=-1) is commit(at=3) is commit(retention=9) is None


def replace_now(shape, offset):
    return Shape(shape.call, (offset,), shape.now_ms)
