"""A judge that looks up what it has learned says what one says that asks the spec each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from operator import itemgetter
from random import Random
from uuid import UUID

import pytest

from harness.altered import altered
from harness.both_judges import plain, said, said_by_both
from harness.spec_histories import Maker
from harness.thinned import some
from harness.told import Told, committed, described, fetched, joined, left
from rota.linearise import Answered, History, Judge, Limits, Quiet, Verdict
from rota.linearise.ids import renamed
from rota.linearise.learned import Learned, learned_of
from rota.linearise.names import Names, between, made_by_a_broker
from rota.linearise.run import Run
from rota.linearise.states import State
from rota.linearise.steps import Steps
from rota.mutants.core import CoreBug, planted
from rota.spec import KAFKA_4, ROTA, ErrorCode, HeartbeatRequest, SyncGroupReply, SyncGroupRequest

EXACT = Limits(grace=0.0, early=0.0, relaxed=0.0, grain=0.0)
FORGIVING = Limits(narrow=True, forgives=2.0)
KEEPS_LITTLE = replace(FORGIVING, kept=6, requests=3, states=60)
ALL_LIMITS = (Limits(states=300), replace(EXACT, states=300), replace(FORGIVING, states=300), KEEPS_LITTLE)


def with_quiet(history: History) -> History:
    """The history with a quiet moment now and then, as a judge has it that follows one."""
    events = [one for event in history.events for one in (event, Quiet(event.at))]
    return replace(history, events=tuple(events))


def as_a_broker_names(history: History, random: Random) -> History:
    """The history with ids that end with a UUID, whose order is not that in which they come."""
    told = {getattr(one.reply, "member_id", "") for one in history.events if isinstance(one, Answered)}
    names = {one: f"c-{UUID(int=random.getrandbits(128), version=4)}" for one in sorted(told) if one}
    return replace(history, events=tuple(renamed(one, names) for one in history.events))


def made(seed: int, requests: int = 0) -> History:
    """A history of the spec's own; two in three have something changed."""
    profile = KAFKA_4 if seed % 2 else ROTA
    history = Maker(Random(seed), requests or 3 + seed % 12, profile, offsets=seed % 4 > 1).history()
    history = altered(history, Random(seed)) if seed % 3 else history
    history = as_a_broker_names(history, Random(seed)) if seed % 7 % 2 else history
    return with_quiet(history) if seed % 5 else history


def by_hand() -> Iterator[History]:
    """Histories in which nearly the same is asked twice, and answered otherwise."""
    for generations in ((1, 2), (2, 1)):
        told = Told().alone()
        for generation in generations:
            error = "NONE" if generation == 1 else "ILLEGAL_GENERATION"
            told.beaten(told.after(0.2).beats(0, "m", generation), error)
        yield told.quiet(0.1).history()
    told = Told().alone()
    for member, error in (("m", "NONE"), ("n", "UNKNOWN_MEMBER_ID"), ("m", "NONE")):
        told.beaten(told.after(0.2).beats(0, member), error)
    yield told.history()
    for silent, error in ((1.5, "NONE"), (3.5, "UNKNOWN_MEMBER_ID"), (5.5, "UNKNOWN_MEMBER_ID")):
        told = Told().alone(session=4_000 if silent == 3.5 else 2_000)
        yield told.beaten(told.after(silent).beats(0, "m"), error).quiet(0.1).history()
    told = Told()
    numbers = [told.joins(place, version=3) for place in range(4)]
    told.after(0.2).breaks(3)
    told.after(2.2)
    for place, number in enumerate(numbers[:3]):
        members = ("m0", "m1", "m2", "lost") if place == 0 else ()
        told.hears(number, joined(f"m{place}", 1, members, "m0", metadata="of "), after=0.0)
    yield told.quiet(0.1).history()
    told = Told().alone()
    numbers = [told.beats(place, "m") for place in (0, 1)]
    told.after(0.3).beaten(numbers[1]).hears(told.leaves(2, "m"), left("m"))
    yield told.beaten(numbers[0], "UNKNOWN_MEMBER_ID").history()
    told = Told().alone()
    told.leaves(1, "m")
    told.quiet(0.05).after(0.07).breaks(1)
    told.after(0.05).beaten(told.beats(0, "m"))
    yield told.after(0.05).beaten(told.beats(0, "m"), "UNKNOWN_MEMBER_ID").history()
    told = Told(KAFKA_4).alone(session=9_000)
    number = told.joins(0, "m", session=1_000)
    yield told.hears(number, joined("m", 2, ("m",)), after=1.5).history()
    told = Told().alone()
    for version in (3, 5):
        number = told.sends(0, SyncGroupRequest("g", 1, "m", (), "consumer", "range"), version)
        told.hears(number, SyncGroupReply(ErrorCode.NONE, "consumer", "range", b"all"))
    yield told.history()
    for error in ("NONE", "UNKNOWN_MEMBER_ID"):
        told = Told(KAFKA_4).alone()
        for topic in ("t", "u"):
            told.hears(told.after(1.5).commits(0, topic, member=("m", 1)), committed(topic))
        told.hears(told.after(0.1).fetches(0, "t", "u"), fetched(t=7, u=7))
        told.beaten(told.after(1.5).beats(0, "m"), error)
        yield told.quiet(0.1).history()
    told = Told().alone()
    told.breaks(0)
    for seconds in (0.1, 0.1, 2.5):
        state, members = ("Empty", ()) if seconds > 1 else ("Stable", ("m",))
        told.hears(told.after(seconds).describes(), described(state, *members))
    yield told.history()


@cache
def suite() -> tuple[tuple[History, Limits], ...]:
    """Histories that tell a judge which mixes something up from one that does not."""
    hand = [(history, limits) for history in by_hand() for limits in (Limits(), FORGIVING)]
    return (*hand, *((made(seed), ALL_LIMITS[seed % 4]) for seed in range(1_000, 1_040)))


def differing() -> Iterator[str]:
    """Histories of which both do not say the same, or of which one cannot say anything."""
    for place, (history, limits) in enumerate(suite()):
        try:
            if said(history, limits) != asked_each_time(place):
                yield f"history {place}"
        except Exception as error:
            yield f"history {place}: {error!r}"


@contextmanager
def nothing_learned():
    """Within, nothing is known that was learned before, nor will be afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rota.linearise.learned._OF", {})
        yield


@cache
def asked_each_time(place: int):
    with plain():
        return said(*suite()[place])


@pytest.mark.parametrize("part", [pytest.param(0, marks=pytest.mark.long), 1])
def test_of_made_and_of_altered_histories_both_say_the_same(part):
    verdicts = Counter()
    for seed in range(1_000 + 36 * part, 1_036 + 36 * part):
        quick, asked = said_by_both(made(seed), ALL_LIMITS[seed % 4])
        assert quick == asked, f"seed {seed}"
        verdicts[asked[0].verdict] += 1
    assert verdicts[Verdict.CONSISTENT] > 5
    assert verdicts[Verdict.VIOLATED] > 5


def test_of_what_is_told_by_hand_both_say_the_same():
    assert not [*differing()]
    told = {asked_each_time(place)[0].verdict for place in range(len(suite()))}
    assert told >= {Verdict.CONSISTENT, Verdict.VIOLATED}


def test_it_is_quick_where_it_can_be(monkeypatch):
    """The spec is asked of a heartbeat once, however often one comes."""
    asked = []
    monkeypatch.setattr(Run, "_followed", lambda run, now: asked.append(now))
    told = Told(profile=KAFKA_4).alone()
    said(told.history(), Limits())
    assert not asked


LEARNED, PACKING = "rota.linearise.learned:", "rota.linearise.packing:"
QUICK, OWED = "rota.linearise.quick:QuickRun.", "rota.linearise.owed_answers:OwedRun."
CLOSING, STRAIGHT = "rota.linearise.quick_closing:QuickClosing.", "rota.linearise.straight:StraightRun."
NAMES = "rota.linearise.names:"
COMMITS, SHAPES = "rota.linearise.commits:CommitRun.", "rota.linearise.shapes:"
PASSAGES = "rota.linearise.passages:"


def few_kept(monkeypatch):
    """From now on tables are begun anew all the time."""
    monkeypatch.setattr("rota.linearise.quick.FEW", 10)
    monkeypatch.setattr("rota.linearise.learned.MOST", 40)


def test_tables_that_are_begun_anew_change_nothing(monkeypatch):
    few_kept(monkeypatch)
    for place in range(0, len(suite()), 5):
        assert said(*suite()[place]) == asked_each_time(place)
    assert len(learned_of(Steps(KAFKA_4, suite()[0][0].config))) < 1_000


def test_states_of_two_tables_are_not_mixed(monkeypatch):
    few_kept(monkeypatch)
    old, new = "self.states = dict(self.states.items())", "pass"
    bug = CoreBug("", "mixed", "mixed", QUICK + "_begin_anew_if_need_be", old, new)
    with nothing_learned(), planted(bug):
        assert next(differing(), None)


def test_what_may_come_of_it_in_several_ways_goes_not_straight(monkeypatch):
    """Both ways are there afterwards, though the answer is that of both."""
    take = Learned.take

    def twice(self, core, request):
        (one,) = found = take(self, core, request)
        other = replace(one, core=self.core(State(core.group, looked=True), core.timers))
        return (*found, other) if isinstance(request.value.request, HeartbeatRequest) else found

    told = Told(KAFKA_4).alone()
    told.beaten(told.after(0.5).beats(0, "m"))
    judge = Judge(KAFKA_4, told.history().config, 0.05, FORGIVING)
    monkeypatch.setattr(Learned, "take", twice)
    for event in told.events:
        judge.see(event)
    judge.see(Quiet(told.now))
    assert len(judge.run.states) == 2


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_kept_does_not_grow(monkeypatch, kept):
    """Without the cap it does."""
    few_kept(monkeypatch)
    if not kept:
        monkeypatch.setattr("rota.linearise.quick.FEW", 10**9)
        monkeypatch.setattr("rota.linearise.learned.MOST", 10**9)
    told = Told(KAFKA_4).alone()
    judge = Judge(KAFKA_4, told.history().config, 0.05, FORGIVING)
    sizes = []
    for _ in range(60):
        told.beaten(told.after(0.5).beats(0, "m"))
        for event in (*told.events, Quiet(told.now)):
            judge.see(event)
        told.events.clear()
        sizes.append(len(judge.run._packing))
    assert (max(sizes[30:]) <= max(sizes[:30])) is kept


WAITED = "self._waited: dict[tuple[Shared, Shared], tuple[dict[int, float], float]] = {}"

PLANTED = (
    (
        "a core forgets the generation",
        LEARNED + "Learned.core",
        "key = (state.group,",
        "key = (state.group and replace(state.group, generation_id=0),",
    ),
    ("a core forgets the ids", LEARNED + "Learned.core", "state.ids,", "frozenset(),"),
    (
        "a heartbeat forgets its generation",
        LEARNED + "Learned.request",
        "replace(call, to",
        "replace(call, request=replace(call.request, generation_id=1), to",
    ),
    (
        "a heartbeat forgets who asks",
        LEARNED + "Learned.request",
        "replace(call, to",
        "replace(call, request=replace(call.request, member_id='m'), to",
    ),
    ("all sessions are of one class", LEARNED + "_told", "return due.latest if", "return 2.0 if"),
    ("timers go on as they were", LEARNED + "Learned._outcome", "armed == tuple", "True or armed == tuple"),
    (
        "a timer begins with its moment's end",
        PACKING + "_armed",
        "moment.earliest + one",
        "moment.latest + one",
    ),
    (
        "what is said to the offsets is passed over",
        LEARNED + "Learned._keep",
        "alone = bool(known) and not any(step.offsets for step, _ in known)",
        "alone = True",
    ),
    (
        "whoever is gone is not heard of",
        QUICK + "_outcomes",
        "isinstance(self.sent[number].call.request, NOT_LEARNED)",
        "False",
    ),
    ("who has gone is answered", OWED + "_owed", "if asked not in lost:", "if True:"),
    ("what comes is not looked at", OWED + "_will_come", "number not in self._coming or", "True or"),
    ("orders of a connection", QUICK + "_steps_from", "self._earlier[number] not in begun and", ""),
    ("a timer is early", QUICK + "_timers", "earliest - patience.early", "0.0"),
    ("what must have happened need not", CLOSING + "_is_possible", "state[3].last, ", ""),
    ("what comes later has not been until then", CLOSING + "_close", "self._begins_from(one)", "now"),
    ("requests come late", CLOSING + "_begins_from", "min(asked, ", "min("),
    (
        "whoever is gone was never heard",
        CLOSING + "_is_enough",
        "and self._still_open(state, now) is state[4]",
        "",
    ),
    ("a timer is not looked for", STRAIGHT + "_goes_straight", "or armed.first - patience.early <= now", ""),
    (
        "a session may be over before the answer",
        STRAIGHT + "_is_heard",
        "armed.last < now - patience.slack or",
        "",
    ),
    (
        "quiet has timers, too",
        STRAIGHT + "_nothing_happens",
        "or armed.first - self._patience.early <= now",
        "",
    ),
    ("a beat is anybody's", QUICK + "_beat", "key = (call.request, ", "key = ("),
    ("an answer is of any version", OWED + "_heard", "get((reply, version))", "get((reply, 3))"),
    (
        "what waited is known for good",
        CLOSING + "_begin_close",
        WAITED,
        "self._waited = vars(self).get('_waited', {})",
    ),
    ("a line keeps what is stored", PACKING + "Packing.line_after", "items[1:], since[2:]", "items, since"),
    (
        "a request's number is another's too soon",
        NAMES + "Names.answered",
        "self._answered.append(number)",
        "self._answered.append(number); self.next_event()",
    ),
    (
        "labels are in no order",
        NAMES + "Names._new",
        "between(before, behind)",
        "format(1 + 2 * len(known), '09b')",
    ),
    (
        "what is said of a group is of any",
        NAMES + "Names.call",
        "not isinstance(request, OF_MEMBERS) or not request.group_id",
        "not getattr(request, 'group_id', '')",
    ),
    ("a veil is lifted", QUICK + "_add", "if one.veils:", "if False:"),
    ("an offset is another's", SHAPES + "Shape.value", "self.offsets[one.committed_offset]", "7"),
    ("a commit comes at another time", SHAPES + "Shape.value", "self.now_ms + one", "one"),
    ("what is stored stays in line", COMMITS + "_stored", "items[1:], since[2:]", "items, since"),
    ("what is stored is not there", COMMITS + "_stored", "self._packing.shared(one.offsets)", "offsets"),
    ("a commit is answered to nobody", COMMITS + "_replied", "not in lost", "in lost"),
    ("a commit alone is all that there is", PASSAGES + "Passage.committed", "**before.committed, ", ""),
    (
        "what goes straight arms no timer",
        STRAIGHT + "_goes_straight",
        "armed = self._packing.armed_after(armed, one, moment)",
        "pass",
    ),
)


def test_labels_stand_in_the_order_of_ids_and_depend_on_that_alone():
    random, courses = Random(3), []
    for _ in range(2):
        ids = sorted(f"c-{UUID(int=random.getrandbits(128), version=4)}" for _ in range(40))
        order, names = Random(4).sample(range(40), 40), Names()
        labels = {place: names.into(ids[place]) for place in order}
        assert all(made_by_a_broker(one) for one in ids)
        assert [labels[place] for place in range(40)] == sorted(labels.values())
        assert [names.back(labels[place]) for place in range(40)] == ids
        courses.append(labels)
    assert courses[0] == courses[1]
    assert between("", "") == "1"
    assert "1" < between("1", "11") < "11"


def test_of_many_histories_little_is_learned_twice():
    """The same course under other ids asks the spec of nothing more."""
    history = Maker(Random(9), 12, KAFKA_4).history()
    for number in range(3):
        said(as_a_broker_names(history, Random(1)), FORGIVING)
        known = len(learned_of(Steps(KAFKA_4, history.config)))
        said(as_a_broker_names(history, Random(1)), FORGIVING)
        assert len(learned_of(Steps(KAFKA_4, history.config))) == known, number


@pytest.mark.parametrize(
    ("name", "function", "old", "new"), some(PLANTED, 2, name=itemgetter(0)), ids=[one[0] for one in PLANTED]
)
def test_what_is_mixed_up_is_found(name, function, old, new):
    for place in range(len(suite())):
        asked_each_time(place)
    with nothing_learned(), planted(CoreBug("", name, name, function, old, new)):
        assert next(differing(), None)
