"""Failures grouped by first cause: what has one and what has not, and that the order does not matter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from conformance.told_results import ABORT, answered, result, unknown_group
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult, KnownFailure, NotChecked, Verdict
from rota.report import causes as under_test
from rota.report.causes import Cause, causes
from rota.report.reached import reached

HANDSHAKE = "join.member-id-required"
REQUIRED = answered("JoinGroup", "MEMBER_ID_REQUIRED (79)")


def refused_in_vain(id: str, verdict: Verdict = Verdict.FAIL) -> CaseResult:
    return result(id, verdict, REQUIRED, "no answer in 2 s", request='JoinGroup v9  member_id ""')


def summary(found: list[Cause]) -> dict[str, list[str]]:
    return {cause.rule: list(cause.cases) for cause in found}


RESULTS = [
    refused_in_vain(f"{HANDSHAKE}.id-handed-out"),
    refused_in_vain(f"{HANDSHAKE}.id-form", Verdict.NOTED),
    result(
        "join.pending-member.admitted", Verdict.SKIPPED, prerequisite=HANDSHAKE, because="could not reach x"
    ),
    result(
        "sync.unknown-member.pending", Verdict.SKIPPED, prerequisite=HANDSHAKE, because="could not reach x"
    ),
    unknown_group("heartbeat.unknown-member.no-group", "Heartbeat"),
    unknown_group("sync.unknown-member.no-group", "SyncGroup"),
    unknown_group("leave.unknown-group.refused", "LeaveGroup"),
    result("voting.tally.majority", Verdict.DIED, "an answer", ABORT, request='JoinGroup v5  member_id ""'),
    result(
        "voting.candidates.in-common",
        Verdict.DIED,
        "an answer",
        ABORT.replace("4711", "60012").replace("bc00", "ff12"),
        request='JoinGroup v5  member_id ""',
    ),
    result("join.next-generation.first", Verdict.LENIENT, "generation id 1", "generation id 2"),
    result("heartbeat.alive.stable", Verdict.PASS),
]
"""Of every sort of evidence."""

CAUSES = {
    HANDSHAKE: [
        f"{HANDSHAKE}.id-handed-out",
        f"{HANDSHAKE}.id-form",
        "join.pending-member.admitted",
        "sync.unknown-member.pending",
    ],
    "sync.unknown-member": [
        "sync.unknown-member.no-group",
        "heartbeat.unknown-member.no-group",
        "leave.unknown-group.refused",
    ],
    "voting.candidates": ["voting.candidates.in-common", "voting.tally.majority"],
    "join.next-generation": ["join.next-generation.first"],
}


def test_what_follows_is_named_with_its_cause() -> None:
    found = causes(RESULTS)
    assert summary(found) == CAUSES
    handshake, unknown, death, lesser = found
    assert handshake.headline == "4 cases need MEMBER_ID_REQUIRED"
    assert handshake.first == f"{HANDSHAKE}.id-handed-out"
    assert (handshake.waiting, handshake.verdict) == (2, Verdict.FAIL)
    assert handshake.also_breaks == ("join.pending-member", "sync.unknown-member")
    assert handshake.seen == f"expected {REQUIRED}, got no answer in 2 s"
    assert handshake.sentence == "A newcomer is sent away with a member id and must join again with it."
    assert unknown.also_breaks == ("heartbeat.unknown-member", "leave.unknown-group")
    assert death.headline == "2 cases kill the target"
    assert (lesser.verdict, lesser.headline) == (Verdict.LENIENT, "1 case breaks join.next-generation")


def test_a_rule_of_the_wire_is_told_in_its_own_words_though_its_case_was_not_played() -> None:
    versions = "wire.advertised-versions"
    (cause,) = causes([result("leave.batch.several", Verdict.UNDECIDED, prerequisite=versions, because="x")])
    assert cause.rule == versions
    assert cause.sentence.startswith("Every version that ApiVersions names is read")


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_results_does_not_matter(seed: int) -> None:
    shuffled = list(RESULTS)
    random.Random(seed).shuffle(shuffled)
    assert causes(shuffled) == causes(RESULTS)


def test_a_death_and_a_wrong_answer_are_two_causes_though_of_one_rule() -> None:
    wrong = result("voting.tally.tie", Verdict.FAIL, "protocol range", "protocol roundrobin")
    lone = result("voting.tally.majority", Verdict.DIED, "an answer", ABORT)
    assert {cause.name: cause.cases for cause in causes([wrong, lone])} == {
        "voting.tally": (wrong.case.id,),
        "voting.tally (dies)": (lone.case.id,),
    }


INCONSISTENT = answered("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL (23)")


def unrefused(id: str, words: str, who: str = '""', wanted: str = INCONSISTENT) -> CaseResult:
    """A list of protocols that is to be refused, and of which the target dies."""
    return result(id, Verdict.DIED, wanted, words, request=f"JoinGroup v5  member_id {who}")


def test_of_what_a_target_dies_that_should_have_refused_a_request_does_not_matter() -> None:
    segfault, stranger = (
        "the process ended with signal SIGSEGV, 3 s after the last line",
        '"never-handed-out"',
    )
    empty = [
        unrefused("join.inconsistent-protocol.no-protocols", segfault),
        unrefused("join.inconsistent-protocol.empty-lists.emptied-two-static-again", ABORT),
        unrefused(
            "join.inconsistent-protocol.empty-lists.stable-two-dynamic-again", ABORT, wanted="an answer"
        ),
    ]
    abort = result("voting.tally.majority", Verdict.DIED, "an answer", ABORT)
    other = unrefused("join.unknown-group.refused", segfault, stranger)
    assert {cause.name: cause.cases for cause in causes([*empty, abort, other])} == {
        "join.inconsistent-protocol (dies)": tuple(one.case.id for one in empty),
        "voting.tally (dies)": (abort.case.id,),
        "join.unknown-group (dies)": (other.case.id,),
    }


def silence(id: str, *steps: str, verdict: Verdict = Verdict.FAIL) -> CaseResult:
    """A member's JoinGroup that is not answered, after these requests."""
    lines = [
        Line(float(n), "a", "→", f"{api} v4  member_id @a") for n, api in enumerate((*steps, "JoinGroup"))
    ]
    one = result(id, verdict, answered("JoinGroup", "NONE"), "no answer in 2 s")
    return CaseResult(**{**vars(one), "lines": tuple(lines)})


def test_a_missing_answer_says_little_unless_the_steps_were_the_same() -> None:
    alike = [silence("join.unchanged.follower"), silence("static.replaced.keeps-assignment")]
    assert summary(causes(alike)) == {
        "join.unchanged": ["join.unchanged.follower", "static.replaced.keeps-assignment"]
    }
    other = [alike[0], silence("static.replaced.keeps-assignment", "Heartbeat", "LeaveGroup")]
    assert len(causes(other)) == 2


def asked_again_and_again(id: str, polls: int, other: str) -> CaseResult:
    """A member's SyncGroups that keep it alive, beside one request of another kind."""
    sent = [
        *["SyncGroup v4  member_id @a"] * polls,
        f"{other} v4  member_id @a",
        "SyncGroup v4  member_id @a",
    ]
    lines = tuple(Line(float(n), "a", "→", text) for n, text in enumerate(sent))
    one = result(id, Verdict.NOTED, "UNKNOWN_MEMBER_ID (25) after six seconds", "NONE")
    return CaseResult(**{**vars(one), "lines": lines})


@pytest.mark.parametrize("more", [0, 1, 2])
def test_how_often_somebody_asked_again_does_not_decide_which_case_is_the_simplest(more: int) -> None:
    """On a busy machine the same seconds have fewer requests."""
    first = asked_again_and_again("sync.stable.no-sign-of-life", 8 + more, "JoinGroup")
    other = asked_again_and_again("timers.session-expired.sync-is-no-heartbeat", 9, "Heartbeat")
    (cause,) = causes([first, other])
    assert cause.first == "sync.stable.no-sign-of-life"


def test_who_asks_and_of_which_api_tells_apart() -> None:
    def accepted(id: str, api: str, who: str) -> CaseResult:
        wanted = answered(api, "UNKNOWN_MEMBER_ID (25)")
        return result(id, Verdict.FAIL, wanted, f"{api}  NONE", request=f"{api} v4  generation 1  {who}")

    stranger, member = 'member_id "never"', "member_id @a"
    first = accepted("heartbeat.unknown-member.stranger", "Heartbeat", stranger)
    assert len(causes([first, accepted("static.validate.unknown-instance", "Heartbeat", stranger)])) == 1
    assert len(causes([first, accepted("static.validate.unknown-instance", "Heartbeat", member)])) == 2
    assert len(causes([first, accepted("sync.unknown-member.no-group", "SyncGroup", stranger)])) == 2
    static = f'{stranger}  instance "one"'
    assert len(causes([first, accepted("static.validate.unknown-instance", "Heartbeat", static)])) == 2


def test_a_rule_whose_own_case_has_another_cause_passes_on_what_waits_for_it() -> None:
    skipped = result("leave.batch.several", Verdict.SKIPPED, prerequisite="leave.unknown-group")
    found = summary(causes([*RESULTS[4:7], skipped]))
    assert found == {"sync.unknown-member": [*CAUSES["sync.unknown-member"], "leave.batch.several"]}


def test_a_prerequisite_without_a_failure_of_its_own_is_a_cause_too() -> None:
    waiting = result("sync.unknown-member.pending", Verdict.UNDECIDED, prerequisite=HANDSHAKE, because="no")
    (found,) = causes([waiting])
    assert (found.rule, found.cases, found.verdict) == (HANDSHAKE, (waiting.case.id,), Verdict.UNDECIDED)
    assert found.headline == f"1 case waits for {HANDSHAKE}"


def test_what_is_undecided_for_no_known_reason_has_no_cause() -> None:
    late = result("heartbeat.alive.stable", Verdict.UNDECIDED, because="the kit needed 2 s", late=True)
    other = result("join.leader.first-of-empty", Verdict.UNDECIDED, because="the target did not start")
    assert summary(causes([RESULTS[0], late, other])) == {HANDSHAKE: [RESULTS[0].case.id]}


def test_what_a_set_up_needed_in_vain_is_found_without_a_prerequisite() -> None:
    waiting = refused_in_vain("join.pending-member.admitted", Verdict.UNDECIDED)
    admitted = result(
        "join.barrier.pending-blocks", Verdict.UNDECIDED, REQUIRED, "JoinGroup  NONE  generation 1"
    )
    found = summary(causes([RESULTS[0], waiting, admitted]))
    assert found == {HANDSHAKE: [RESULTS[0].case.id, waiting.case.id, admitted.case.id]}


def test_known_failures_come_last_and_are_not_the_ones_to_look_at() -> None:
    known = KnownFailure(f"{HANDSHAKE}.id-handed-out", "since ever")
    alone = result(known.id, Verdict.FAIL, REQUIRED, "no answer in 2 s", known=known)
    other = result("join.next-generation.first", Verdict.LENIENT, "generation id 1", "generation id 2")
    assert [cause.rule for cause in causes([alone, other])] == ["join.next-generation", HANDSHAKE]
    fresh = refused_in_vain(f"{HANDSHAKE}.second-id")
    (found,) = causes([alone, fresh])
    assert (found.first, found.verdict) == (fresh.case.id, Verdict.FAIL)


def test_questions_are_reached_if_they_were_judged() -> None:
    unsupported = result("leave.batch.several", Verdict.UNSUPPORTED, because="no LeaveGroup v3")
    undecided = result(
        "join.leader.first-of-empty", Verdict.UNDECIDED, because="could not reach x: expected y"
    )
    slow = NotChecked(RESULTS[0].case, "takes 300 s; add --slow")
    told = reached([*RESULTS, unsupported, undecided], [slow])
    assert (told.questions, told.of, told.words) == (9, 14, "9 of 14")
    assert told.missed == {
        "takes 300 s; add --slow": [slow.case.id],
        "unsupported: no LeaveGroup v3": [unsupported.case.id],
        "undecided: could not reach x": [undecided.case.id],
        f"skipped, since {HANDSHAKE} is broken": [
            "join.pending-member.admitted",
            "sync.unknown-member.pending",
        ],
    }


Plant = Callable[[Any], Any]

MISTAKES: dict[str, tuple[Any, str, Plant]] = {
    "each failure is a cause of its own": (
        under_test, "evidence", lambda old: lambda one: ("rule", one.case.id, one.case.rule)
    ),
    "all failures have one cause": (under_test, "evidence", lambda old: lambda one: ("rule",)),
    "last words are compared letter by letter": (
        under_test, "_VARIES", lambda old: under_test.re.compile("never said")
    ),
    "what is skipped is left out": (under_test, "NOT_REACHED", lambda old: ()),
    "the one to look at is any": (
        under_test._Grouping, "_simplicity", lambda old: lambda self, one: one.case.id
    ),
    "the largest is not first": (
        under_test._Grouping, "_rank", lambda old: lambda self, cause: cause.rule
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, plant = MISTAKES[mistake]
    monkeypatch.setattr(owner, attribute, plant(getattr(owner, attribute)))
    with pytest.raises(AssertionError):
        test_what_follows_is_named_with_its_cause()
