"""A commit where nothing else is under way is told as the spec tells it when it is asked step by step."""

from __future__ import annotations

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from linearise.test_shapes import calls, groups
from rota.kernel import FrozenMap, replace
from rota.linearise.learned import Learned
from rota.linearise.names import Names
from rota.linearise.passages import at_rest
from rota.linearise.shapes import shape_of
from rota.linearise.states import State
from rota.linearise.steps import Steps
from rota.linearise.times import Span
from rota.mutants.core import CoreBug, planted
from rota.spec import KAFKA_4, BrokerConfig, Call
from rota.spec.offset_messages import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic
from rota.spec.offset_state import Committed, OffsetRecord, Offsets, PendingOffset

NUMBER, MOMENT = 7, Span(1.0, 1.0)
PARTITIONS = [(topic, index) for topic in ("t", "u", "v") for index in range(4)]

committed = st.builds(
    Committed, st.integers(0, 2**40), st.integers(-1, 3), st.sampled_from(["", "said"]), st.integers(0, 2**40)
)
offsets = st.dictionaries(st.sampled_from(PARTITIONS), committed).map(lambda known: Offsets(FrozenMap(known)))


whose = st.sampled_from([("", -1), ("m", 1), ("n", 2)])
commits = st.builds(
    lambda call, who: replace(
        call, request=replace(call.request, member_id=who[0], generation_id_or_member_epoch=who[1])
    ),
    calls,
    whose,
)


def step_by_step(steps, state, call):
    """(group, offsets, answers, rules) after a commit that is taken, and stored where that is called for."""
    found = []
    for taken in steps.take(state, NUMBER, call, MOMENT, 0.0):
        stored = steps.log_answers(taken.state, MOMENT) if taken.state.line else (taken,)
        for one in stored:
            rules = (taken.rules, () if one is taken else one.rules)
            found.append((one.state.group, one.state.offsets, one.state.owed[NUMBER].message, rules))
    return found


def learned(state, call):
    """The same, looked up; None where it is not."""
    known, names = Learned(Steps(KAFKA_4, BrokerConfig())), Names()
    shape = shape_of(names.call(call))
    core = known.core(replace(state, offsets=Offsets(), pending=frozenset()), ())
    (one,) = known.commit(core, known.shared(shape.call))
    if one.batch is None:
        ((_, answer),) = one.outcome.replies
        return [(one.outcome.core.group, state.offsets, answer.value, (one.outcome.rules, ()))]
    passage = known.passage(core, one)
    if passage is None:
        return None
    assert known.passage(core, one) is passage
    after = passage.committed(state.offsets, shape)
    rules = (passage.outcome.rules, passage.stored)
    return [(passage.outcome.core.group, after, passage.answer.value, rules)]


def agrees():
    """Whether both say the same, as rules are. Returns how many commits that are stored were looked up."""
    steps, found = Steps(KAFKA_4, BrokerConfig()), []

    @settings(phases=[Phase.generate], max_examples=200)
    @given(st.none() | groups, offsets, commits)
    def hold(group, before, call):
        state = State(group, before, pending=frozenset({NUMBER}))
        looked_up = learned(state, call)
        if looked_up is not None:
            ((_, _, _, (_, stored)),) = looked_up
            found.append(bool(stored))
            assert looked_up == step_by_step(steps, state, call)

    hold()
    return sum(found)


def test_what_is_looked_up_is_what_the_spec_says():
    assert agrees() > 20


def mixed_up(old, new, function="rota.linearise.shapes:Shape.value"):
    with planted(CoreBug("", "mixed", "mixed", function, old, new)):
        try:
            agrees()
        except (AssertionError, BaseExceptionGroup):
            return True
    return False


def test_numbers_that_are_mixed_up_are_found():
    assert mixed_up("self.offsets[one.committed_offset]", "self.offsets[0]")
    assert mixed_up("self.now_ms + one", "one")
    assert mixed_up("one.committed_leader_epoch", "-1")
    assert mixed_up("**before.committed, ", "", "rota.linearise.passages:Passage.committed")


def test_a_rule_that_looks_at_what_is_committed_is_asked_each_time():
    """So is one that says more than that the offsets are stored."""
    old = "return _only(OffsetStep(_all_stored(spec, offsets, batch)).answer(batch.answer))"
    stored, kept = "_all_stored(spec, offsets, batch)", "offsets.answered(batch)"
    for new in (
        old.replace(stored, f"{kept} if offsets.committed else {stored}"),
        old.replace(stored, kept),
        old.replace("batch.answer)", "batch.answer if offsets.committed else None)"),
        f"return (OffsetStep({stored}).answer(batch.answer), OffsetStep({kept}).answer(batch.answer))",
    ):
        with planted(CoreBug("", "looks", "looks", "rota.spec.offset_log:stored", old, new)):
            assert not is_looked_up()
    assert is_looked_up()


def is_looked_up():
    """Whether a simple commit is looked up, as rules are now."""
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 5),)),)
    return learned(State(), Call(OffsetCommitRequest("g", topics), str(NUMBER), version=8)) is not None


def test_offsets_are_at_rest_where_nothing_is_under_way():
    record = OffsetRecord("t", 0, Committed(1), 5)
    assert at_rest(Offsets())
    assert at_rest(Offsets(FrozenMap({("t", 0): Committed(1)})))
    assert not at_rest(Offsets(pending=(PendingOffset(record),)))
    assert not at_rest(Offsets(appended=FrozenMap({("t", 0, -1): Committed(1)})))
    assert not at_rest(Offsets(leaving=1))
