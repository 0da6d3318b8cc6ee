"""A dialogue as a story: lanes, arrows, times, and what is known of the case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult, Ending, KnownFailure, Verdict
from rota.kernel import Arrow, Lane
from rota.report.dialogue_story import told
from rota.trace.story import Light

CASE = next(case for case in all_cases() if case.id == "heartbeat.alive.while-completing")

LINES = (
    Line(
        0.2, "a", "→", 'JoinGroup v5  member_id ""  protocols [range(18 B #647)]  session 6 s  rebalance 60 s'
    ),
    Line(
        0.4, "b", "→", 'JoinGroup v5  member_id ""  protocols [range(18 B #648)]  session 6 s  rebalance 60 s'
    ),
    Line(3004, "a", "←", 'JoinGroup  NONE  generation 2  member_id "x-1"  leader "x-1"'),
    Line(3004.4, "b", "←", 'JoinGroup  MEMBER_ID_REQUIRED (79)  generation -1  member_id "x-2"'),
    Line(3005, "b", "…", "no answer to JoinGroup in 3 s"),
    Line(3006, "", "·", "1 s passes"),
    Line(3007, "a", "×", "closed: reset"),
)

RESULT = CaseResult(
    case=CASE,
    deviation=Verdict.FAIL,
    ending=Ending.DEVIATED,
    expected="Heartbeat answered with error NONE",
    actual="Heartbeat  REBALANCE_IN_PROGRESS (27)",
    lines=LINES,
    names={"x-1": "@a", "x-2": "@b"},
)


def test_members_stand_in_the_order_of_appearance_before_the_target() -> None:
    assert told(RESULT, "kafka-4.4.0").lanes == (
        Lane("a", "a", "member"),
        Lane("b", "b", "member"),
        Lane("the target", "kafka-4.4.0", "coordinator"),
    )


def test_messages_are_arrows_and_ids_have_short_names() -> None:
    events = told(RESULT).events
    assert [event.arrows for event in events] == [
        (Arrow("a", "the target", 'JoinGroup v5, member_id "", protocols [range(18 B #647)], …'),),
        (Arrow("b", "the target", 'JoinGroup v5, member_id "", protocols [range(18 B #648)], …'),),
        (Arrow("the target", "a", "JoinGroup, NONE, generation 2, member_id @a, leader @a"),),
        (Arrow("the target", "b", "JoinGroup, MEMBER_ID_REQUIRED (79), generation -1, …"),),
        (),
        (),
        (Arrow("the target", "a", "closed: reset", lost=True),),
    ]
    assert [event.at for event in events] == [
        "0 ms", "0 ms", "3004 ms", "3004 ms", "3005 ms", "3006 ms", "3007 ms"
    ]  # fmt: skip
    assert [event.machine for event in events] == ["a", "b", "the target", "the target", "b", "", "a"]
    assert events[0].detail[-1] == "rebalance 60 s"
    assert events[4].label == "b … no answer to JoinGroup in 3 s"
    assert events[5].label == "· 1 s passes"


def test_a_restart_is_on_the_line_of_the_target() -> None:
    line = Line(4000, "", "↻", "the target is restarted (SIGKILL)")
    story = told(replace(RESULT, lines=(*LINES, line)))
    event = story.events[-1]
    assert (event.machine, event.arrows) == ("the target", ())
    assert event.label == "↻ the target is restarted (SIGKILL)"
    assert "Note over lane3: 8. 4000 ms #8635; the target is restarted (SIGKILL)" in story.copies["Mermaid"]


def test_a_generation_that_was_told_is_a_band() -> None:
    bands = [dict(moment.bands) for moment in told(RESULT).moments]
    assert bands == [{}] * 3 + [{"a": "generation 2"}] * 5


def test_the_facts_tell_what_was_required_and_how_to_see_it_again() -> None:
    story = told(RESULT, again="rota conform --target x heartbeat.alive.while-completing")
    facts = dict(story.facts)
    assert story.title == CASE.id
    assert facts["requirement"] == CASE.requirement
    assert facts["level"] == "MUST"
    assert facts["expected"] == RESULT.expected
    assert facts["actual"] == RESULT.actual
    assert (facts["rule"], facts["source"]) == (CASE.rule, CASE.source)
    assert facts["@b"] == 'is "x-2"'
    assert facts["again"].endswith(CASE.id)
    assert "because" not in facts
    assert "again" not in dict(told(RESULT).facts)


@pytest.mark.parametrize(
    ("verdict", "light"),
    [
        (Verdict.PASS, Light.HOLDS),
        (Verdict.FAIL, Light.VIOLATED),
        (Verdict.DIED, Light.VIOLATED),
        (Verdict.UNDECIDED, Light.SILENT),
        (Verdict.UNSUPPORTED, Light.SILENT),
    ],
)
def test_the_verdict_comes_to_a_light(verdict: Verdict, light: Light) -> None:
    story = told(replace(RESULT, deviation=verdict))
    assert (story.verdict, story.outcome) == (verdict.value, light)


def test_a_known_failure_is_a_deviation() -> None:
    story = told(replace(RESULT, known=KnownFailure(CASE.id, "it is slow")))
    assert (story.verdict, story.outcome) == ("known", Light.VIOLATED)
    assert dict(story.facts)["known"] == "it is slow"


def test_a_case_that_was_not_played_has_the_target_alone() -> None:
    story = told(replace(RESULT, lines=(), names={}))
    assert [lane.machine for lane in story.lanes] == ["the target"]
    assert story.events == ()
    assert len(story.moments) == 1


def test_the_dialogue_can_be_copied() -> None:
    copies = told(RESULT).copies
    assert (
        copies["text"].splitlines()[2].endswith("a ← JoinGroup  NONE  generation 2  member_id @a  leader @a")
    )
    assert copies["Mermaid"].startswith("sequenceDiagram\n")
