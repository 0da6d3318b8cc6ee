"""What has expired goes with the next look for it: no sooner than it has, and no later than by one look."""

from __future__ import annotations

from importlib import import_module

import pytest

from harness.both_judges import plain
from harness.told import Told, described, left
from harness.told import committed as told_committed
from harness.told import fetched as told_fetched
from rota.kernel import FrozenMap
from rota.linearise import Restarted, Verdict, judge
from rota.linearise.judge import AGAIN
from rota.linearise.looks import Look
from rota.linearise.paths import Patience
from rota.linearise.states import State
from rota.linearise.times import Span
from rota.mutants.core import CoreBug, planted
from rota.spec import PROFILES, ROTA, ErrorCode, Timer
from rota.spec.admin_messages import DescribeGroupsReply
from rota.spec.profiles import KAFKA_3, KAFKA_4

EVERY = 2.0
PASSES, FAILS = Verdict.CONSISTENT, Verdict.VIOLATED
GONE = DescribeGroupsReply(ErrorCode.NONE, "g", "Dead", "", "", ())


def told(**more):
    return Told(looks_every=EVERY, **more)


def verdict(history):
    return judge(history.history()).verdict


def committed(history, *names, kept_ms=-1, member=("", -1)):
    """Offsets of these topics are committed and are to be kept so long."""
    names = names or ("t",)
    return history.hears(history.commits(0, *names, member=member, kept_ms=kept_ms), told_committed(*names))


def fetched(history, *there, of=("t",)):
    """Of these topics those have an offset."""
    offsets = {one: 7 if one in there else -1 for one in of}
    return history.hears(history.fetches(1, *of), told_fetched(**offsets))


def left_alone(history, kept_ms=-1):
    """A member commits and leaves."""
    committed(history.alone(), kept_ms=kept_ms, member=("m", 1))
    return history.hears(history.leaves(0, "m"), left("m"))


@pytest.mark.parametrize(
    ("seconds", "there", "wanted"),
    [
        (0.5, True, PASSES),
        (0.5, False, FAILS),
        (1.5, True, PASSES),
        (1.5, False, PASSES),
        (1.0 + EVERY + 0.5, True, FAILS),
        (1.0 + EVERY + 0.5, False, PASSES),
    ],
)
def test_an_offset_that_is_kept_for_a_second(seconds, there, wanted):
    history = committed(told(), kept_ms=1000).after(seconds)
    assert verdict(fetched(history, *(("t",) if there else ()))) is wanted


def test_how_late_a_look_is():
    """Told in time is 0.1 s; where a timer is later that is told."""
    patience, look = Patience(0.1, 0.0, 0.1, 0.0), Look(0, Span(0.0, 1.0))
    assert patience.overdue(State(look=look), 1.05) is None
    late = patience.overdue(State(look=look), 4.0)
    assert late is not None
    assert (late.kind, round(late.seconds, 6)) == ("look", 2.9)
    armed = FrozenMap({Timer("session", "m"): Span(0.0, 0.5)})
    later = patience.overdue(State(look=look, armed=armed), 4.0)
    assert later is not None
    assert later.kind == "timer.session"


def test_an_offset_without_a_retention_of_its_own_stays():
    assert verdict(fetched(committed(told()).after(20.0), "t")) is PASSES
    assert verdict(fetched(committed(told()).after(20.0))) is FAILS


@pytest.mark.parametrize(("there", "wanted"), [((), PASSES), (("t",), FAILS), (("u",), FAILS)])
def test_what_has_expired_goes_with_one_look(there, wanted):
    """Once one of two offsets is gone that have both expired the other is, too."""
    history = committed(told(), "t", "u", kept_ms=500).after(1.0)
    assert verdict(fetched(history, *there, of=("t", "u"))) is wanted


@pytest.mark.parametrize(("there", "wanted"), [((), PASSES), (("t",), FAILS), (("u",), PASSES)])
def test_what_expires_later_goes_with_a_later_one(there, wanted):
    history = committed(committed(told(), "t", kept_ms=500), "u", kept_ms=1500).after(2.0)
    assert verdict(fetched(history, *there, of=("t", "u"))) is wanted


@pytest.mark.parametrize(
    ("answer", "wanted"), [(GONE, PASSES), (described("Empty", protocol_type=""), FAILS)]
)
def test_a_group_goes_with_its_last_offset(answer, wanted):
    history = fetched(committed(told(), kept_ms=500).after(1.0)).after(0.3)
    assert verdict(history.hears(history.describes(), answer)) is wanted


@pytest.mark.parametrize(
    ("seconds", "answer", "wanted"),
    [
        (1.0, GONE, PASSES),
        (1.0, described("Empty"), PASSES),
        (EVERY + 0.5, GONE, PASSES),
        (EVERY + 0.5, described("Empty"), FAILS),
    ],
)
def test_an_empty_group_without_offsets(seconds, answer, wanted):
    history = told().alone()
    history.hears(history.leaves(0, "m"), left("m")).after(seconds)
    assert verdict(history.hears(history.describes(), answer)) is wanted


def test_while_somebody_reads_a_topic_its_offsets_stay():
    """What a member is subscribed to is not known here: nothing expires under it, however long it stays."""
    history = committed(told().alone(session=20_000), kept_ms=100, member=("m", 1)).after(8.0)
    assert verdict(fetched(history, "t")) is PASSES
    history.events[-2:] = []
    assert verdict(fetched(history)) is FAILS


def test_from_when_the_last_member_has_left_they_go():
    history = left_alone(told(), kept_ms=100)
    assert verdict(fetched(history.after(0.5), "t")) is PASSES
    assert verdict(fetched(history.after(EVERY), "t")) is FAILS


def test_a_group_that_has_expired_is_not_back_after_a_restart():
    """Its tombstone was stored with those of its offsets."""
    for answer, wanted in ((GONE, PASSES), (described("Empty"), FAILS)):
        history = left_alone(told(), kept_ms=100).after(EVERY + 0.5)
        restarted(fetched(history.quiet()))
        number = history.describes(5)
        assert verdict(history.hears(number, answer)) is wanted


@pytest.mark.parametrize("profile", [KAFKA_3, KAFKA_4], ids=lambda one: one.name)
def test_a_group_that_a_look_has_removed_is_not_loaded(profile):
    """Its tombstone is in the log: with what is committed later begins another group."""
    for protocol_type, wanted in (("", PASSES), ("consumer", FAILS)):
        history = emptied(2.4, started=AT_0, profile=profile).after(1.8)
        committed(history.hears(history.describes(), GONE))
        restarted(history.after(0.5))
        answer = described("Empty", protocol_type=protocol_type)
        assert verdict(history.hears(history.describes(6), answer)) is wanted


def emptied(at, **more):
    """A group without offsets becomes Empty at some moment."""
    history = told(**more).alone(session=20_000)
    history.after(round(at - 0.001 - history.now, 6))
    return history.hears(history.leaves(0, "m"), left("m"))


AT_0 = Span(0.0, 0.0)
BETWEEN = (
    # From when on it looks, when the group became Empty, how much later it is described: Gone, or Empty.
    (None, 2.4, 1.2, PASSES, PASSES),
    (AT_0, 2.4, 1.2, FAILS, PASSES),
    (AT_0, 2.4, 1.8, PASSES, PASSES),
    (AT_0, 3.6, 1.2, PASSES, FAILS),
    (None, 3.6, 1.2, PASSES, PASSES),
    (Span(-1.0, -1.0), 2.4, 0.8, PASSES, PASSES),
    (Span(0.0, 1.0), 2.4, 1.2, PASSES, PASSES),
)


@pytest.mark.parametrize(("started", "at", "later", "gone", "there"), BETWEEN)
def test_looks_come_in_equal_distances_from_the_start_on(started, at, later, gone, there):
    """With one every 2 s from 0 on nothing goes from 2.4 to 3.6; at 4.8 all has gone that could."""
    for answer, wanted in ((GONE, gone), (described("Empty"), there)):
        history = emptied(at, started=started).after(later)
        assert verdict(history.hears(history.describes(), answer)) is wanted


def restarted(history, takes=0.5):
    """It is ended and started again."""
    since = history.quiet().now
    for connection in range(2):
        history.breaks(connection)
    history.after(takes).events.append(Restarted(history.now, since, round(since + takes / 2, 6)))
    return history


@pytest.mark.parametrize(("later", "wanted"), [(1.0, FAILS), (2.0, PASSES)])
def test_after_a_restart_they_do_from_then_on(later, wanted):
    """Nobody knew when it was started at first; now it looks every 2 s from the restart on."""
    history = restarted(told().alone(session=20_000)).after(0.1)
    history.hears(history.leaves(5, "m"), left("m"))
    assert verdict(history.after(later).hears(history.describes(6), GONE)) is wanted


def test_a_group_that_was_just_loaded_is_there_until_the_first_look():
    """The Scala coordinator looks as soon as it is started."""
    for profile, wanted in ((ROTA, FAILS), (PROFILES["kafka-3.x"], PASSES)):
        history = restarted(emptied(2.4, started=AT_0, profile=profile)).after(0.5)
        assert verdict(history.hears(history.describes(6), GONE)) is wanted


def test_the_rule_by_which_a_look_passes_something_over_is_reached():
    """What a member reads is not known: its group's offsets stay, whatever they ask for."""
    history = committed(told().alone(session=20_000), kept_ms=100, member=("m", 1))
    pair = ("expiry.nothing-expires", "Stable")
    soon, late = (judge(fetched(history.after(more), "t").history()) for more in (1.0, EVERY))
    assert pair not in soon.reached
    assert pair in late.reached


@pytest.mark.parametrize(
    ("looks", "most", "wanted"),
    [(False, 1, FAILS), (True, AGAIN, FAILS), (True, 1, Verdict.UNDECIDED)],
)
def test_what_may_be_due_to_a_look_is_undecided_where_that_is_too_much_to_say(
    looks, most, wanted, monkeypatch
):
    """Nobody knows when it looked, and looked at are but so many states."""
    monkeypatch.setattr(import_module("rota.linearise.judge"), "AGAIN", most)
    history = Told(looks=looks).alone(session=20_000).after(0.5)
    assert verdict(history.beaten(history.beats(0, "m"), "UNKNOWN_MEMBER_ID")) is wanted


LOOKS, RUN = "rota.linearise.looks:", "rota.linearise.run:Run."
PLANTED = (
    (
        "a look may be late",
        LOOKS + "next_look",
        "looks.latest(max(span.latest, since / 1000), late)",
        "FOREVER",
    ),
    ("none is too soon", LOOKS + "Looks.earliest", "number * self.every", "0.0"),
    ("none is too late", LOOKS + "Looks.latest", "min(last, at + self.every)", "at + self.every"),
    ("one is at the start", LOOKS + "looks_of", "1 if", "0 if"),
    ("each is as late as it can be", LOOKS + "Looks.earliest", "ceil(", "1 + ceil("),
    (
        "nothing is found",
        RUN + "_looks",
        "self._patience.early)) <= now:",
        "self._patience.early)) > now + 99:",
    ),
    (
        "a look finds what has not expired yet",
        LOOKS + "moments",
        "int(span.latest * 1000)",
        "int(span.latest * 1000) + 5000",
    ),
    ("a look finds what has just expired or nothing", LOOKS + "moments", "first < each <= last", "False"),
    ("groups do not go", LOOKS + "finds_from", "step.line or step.removes_group", "step.line"),
    ("a restart is no end of it", RUN + "_restart", "self._steps.restart(state, span)", "()"),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    """Something above is said otherwise."""
    with plain(), planted(CoreBug("", name, name, function, old, new)):
        assert any(said is not wanted for said, wanted in _all())


def test_without_a_mistake_there_is_none():
    assert all(said is wanted for said, wanted in _all())


def _all():
    for seconds, there, wanted in (
        (0.5, ("t",), PASSES),
        (0.5, (), FAILS),
        (1.05, (), PASSES),
        (1.5, ("t",), PASSES),
        (3.5, ("t",), FAILS),
    ):
        yield verdict(fetched(committed(told(), kept_ms=1000).after(seconds), *there)), wanted
    history = committed(committed(told(), "t", kept_ms=500), "u", kept_ms=2500).after(1.0)
    yield verdict(fetched(history, of=("t", "u"))), FAILS
    for started, at, later, gone, there in BETWEEN:
        for answer, wanted in ((GONE, gone), (described("Empty"), there)):
            history = emptied(at, started=started).after(later)
            yield verdict(history.hears(history.describes(), answer)), wanted
    history = told().alone()
    history.hears(history.leaves(0, "m"), left("m")).after(EVERY + 0.5)
    yield verdict(history.hears(history.describes(), described("Empty"))), FAILS
    history = restarted(left_alone(told()))
    yield verdict(history.hears(history.describes(5), described("Empty"))), PASSES
    history = restarted(emptied(2.4, started=AT_0)).after(0.5)
    yield verdict(history.hears(history.describes(6), GONE)), FAILS


@pytest.mark.parametrize("profile", [KAFKA_3, KAFKA_4], ids=lambda one: one.name)
@pytest.mark.parametrize(("seconds", "wanted"), [(0.5, FAILS), (1.0 + EVERY + 0.5, PASSES)])
def test_of_two_offsets_one_may_go(profile, seconds, wanted):
    """The older coordinator waits for no tombstone, so nothing of it stands in the line for the log."""
    history = committed(told(profile=profile, started=Span(-0.1, 0.0)), "s", kept_ms=1_000)
    committed(history, "t").after(seconds)
    assert verdict(fetched(history, "t", of=("s", "t"))) is wanted
