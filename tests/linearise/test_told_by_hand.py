"""What the judge says of histories that were written by hand, and in what words."""

from __future__ import annotations

import json

import pytest

from harness.told import Told, asked_for, described, joined, left
from rota.linearise import Answered, HistoryError, Limits, Quiet, Verdict, judge
from rota.spec import PROFILES, JoinGroupReply


def verdict_of(told, limits=None):
    return judge(told.history(), limits)


def consistent(told):
    judgement = verdict_of(told)
    assert judgement.verdict is Verdict.CONSISTENT, judgement.why
    return judgement


def violated(told):
    judgement = verdict_of(told)
    assert judgement.verdict is Verdict.VIOLATED
    return judgement


def test_one_member():
    told = Told().alone()
    judgement = consistent(told.beaten(told.beats(0, "m")))
    assert ("heartbeat.alive", "Stable") in judgement.reached
    assert ("timers.initial-delay-over", "PreparingRebalance") in judgement.reached


def test_the_nearest_answer_and_its_rules():
    told = Told().alone()
    judgement = violated(told.beaten(told.beats(0, "m"), "REBALANCE_IN_PROGRESS"))
    assert judgement.at == told.events[-1]
    assert "heartbeat.alive" in judgement.rules
    assert judgement.nearest[0].differs[0][0] == "error_code"
    assert judgement.why == (
        "the answer to request 3 (Heartbeat v4 of c0) cannot be: nearest is error_code NONE, not "
        "REBALANCE_IN_PROGRESS by static.validate, heartbeat.alive (group Stable)"
    )
    assert json.loads(json.dumps(judgement.as_json()))["verdict"] == "violated"


def test_a_session_that_is_over_and_counts():
    told = Told().alone()
    judgement = violated(told.beaten(told.after(3.0).beats(0, "m")))
    (late,) = judgement.late
    assert late.what == "timer session of m"
    assert 0.8 < late.seconds <= 1.0  # of 3 s the session is 2 s, and 0.15 s are forgiven
    assert judgement.why == f"timer session of m is late by {late.seconds:.3f} s"


def test_a_session_that_is_over_too_early():
    told = Told().alone()
    judgement = violated(told.beaten(told.after(1.7).beats(0, "m"), "UNKNOWN_MEMBER_ID"))
    (early,) = judgement.late
    assert early.what == "timer session of m"
    assert -0.35 < early.seconds < -0.2
    assert "is early by" in judgement.why


@pytest.mark.parametrize(("seconds", "error"), [(1.9, "NONE"), (2.1, "UNKNOWN_MEMBER_ID"), (2.1, "NONE")])
def test_about_the_end_of_a_session_both_may_be(seconds, error):
    told = Told().alone()
    consistent(told.beaten(told.after(seconds).beats(0, "m"), error))


def test_the_initial_delay_is_waited_for():
    told = Told()
    told.hears(told.joins(0), asked_for("m"))
    number = told.joins(0, "m")
    judgement = violated(told.after(0.5).hears(number, joined("m", 1, ("m",))))
    assert [one.what for one in judgement.late] == ["timer initial_join"]


def test_an_answer_that_never_comes():
    told = Told().alone()
    told.beats(0, "m")
    judgement = violated(told.quiet(0.5))
    assert isinstance(judgement.at, Quiet)
    assert [one.what for one in judgement.late] == ["the answer to request 3 (Heartbeat v4 of c0)"]


def test_an_answer_that_must_wait():
    told = Told()
    told.hears(told.joins(0), asked_for("m"))
    number = told.joins(0, "m")
    judgement = violated(told.hears(number, JoinGroupReply(joined("m", 1, ()).error_code, member_id="m")))
    assert judgement.why == "request 1 (JoinGroup v9 of c0) is answered, and must wait"


def test_without_a_quiet_moment_silence_says_nothing():
    told = Told().alone()
    told.beats(0, "m")
    consistent(told.after(9.0))


def test_requests_of_one_connection_keep_their_order():
    told = Told().alone()
    leaves, beats = told.leaves(0, "m"), told.beats(0, "m")
    violated(told.hears(leaves, left("m")).beaten(beats))
    told = Told().alone()
    leaves, beats = told.leaves(1, "m"), told.beats(0, "m")
    consistent(told.hears(leaves, left("m")).beaten(beats))


def test_the_id_of_a_request_that_is_never_answered_is_one():
    told = Told()
    told.joins(0, version=3)
    told.after(0.1).breaks(0)
    told.hears(told.describes(), described("PreparingRebalance", "m7"))
    sound = len(told.events)
    consistent(told.hears(told.describes(), described("PreparingRebalance", "m7")))
    del told.events[sound:]
    violated(told.hears(told.describes(), described("PreparingRebalance", "m8")))


def test_an_id_is_handed_out_once():
    told = Told()
    told.hears(told.joins(0), asked_for("m"))
    violated(told.hears(told.joins(1), asked_for("m")))


def test_members_are_a_set():
    told = Told()
    numbers = [told.joins(connection, version=3) for connection in (0, 1)]
    told.after(2.0)
    for at, names in ((0, ("b", "a")), (1, ())):
        told.hears(numbers[at], joined("ab"[at], 1, names, leader="a", metadata="of "))
    consistent(told)
    told.events[-1] = Answered(told.now, numbers[1], joined("b", 1, ("a", "b"), "a", metadata="of "))
    violated(told)


def test_what_was_sent_on_a_connection_that_broke_may_be_taken_or_not():
    for state in ("Dead", "PreparingRebalance"):
        told = Told()
        told.joins(0, version=3)
        told.breaks(0)
        members = ("m",) if state != "Dead" else ()
        number = told.after(0.5).describes()
        consistent(
            told.hears(number, described(state, *members, protocol_type="consumer" if members else ""))
        )


def test_a_reader_may_not_see_yet_what_the_log_has_not():
    for profile, seen in ((None, consistent), (PROFILES["kafka-3.x"], violated)):
        told = Told(*([profile] if profile else []))
        told.hears(told.joins(0), asked_for("m"))
        seen(told.hears(told.describes(), described("Dead", protocol_type="")))


def test_too_many_requests_and_too_many_states_are_undecided():
    told = Told()
    for connection in range(7):
        told.joins(connection)
    assert verdict_of(told.quiet(0.01)).verdict is Verdict.CONSISTENT  # all of it may be to come
    judgement = verdict_of(told.quiet(0.5))
    assert judgement.verdict is Verdict.UNDECIDED
    assert "more than 6 requests" in judgement.why
    told = Told()
    for connection in range(5):
        told.joins(connection, version=3)
    told.quiet(0.5)
    assert verdict_of(told).verdict is Verdict.CONSISTENT
    judgement = verdict_of(told, Limits(states=50))
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.why == "more than 50 states at once"


def test_a_group_that_may_have_been_there_is_undecided():
    judgement = verdict_of(Told(existed=True).alone())
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.why == "the group may have been there before"


@pytest.mark.parametrize(("looks", "verdict"), [(False, Verdict.VIOLATED), (True, Verdict.UNDECIDED)])
def test_an_empty_group_that_may_have_expired(looks, verdict):
    told = Told(looks=looks).alone()
    told.hears(told.leaves(0, "m"), left("m"))
    told.hears(told.after(1.0).describes(), described("Dead", protocol_type=""))
    judgement = verdict_of(told)
    assert judgement.verdict is verdict
    assert looks == (judgement.why == "the group or its offsets may have expired meanwhile")


def test_a_group_with_members_does_not_expire():
    told = Told(looks=True).alone()
    violated(told.hears(told.describes(), described("Dead", protocol_type="")))


def test_histories_that_cannot_be():
    told = Told().alone()
    told.events.append(Answered(told.now, 77, left("m")))
    with pytest.raises(HistoryError, match=r"77 is answered at .* and was never sent"):
        judge(told.history())
    told = Told().alone()
    number = told.beats(0, "m")
    told.breaks(0)
    with pytest.raises(HistoryError, match="its connection had ended"):
        judge(told.beaten(number).history())
    told = Told().alone()
    told.events.append(told.events[0])
    with pytest.raises(HistoryError, match="request 0 is sent twice"):
        judge(told.history())
