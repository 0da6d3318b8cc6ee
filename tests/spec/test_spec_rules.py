"""The rules as documents, and a few sentences of the protocol that one line of Python can say."""

from __future__ import annotations

import re

import pytest

from rota.spec import (
    RULES,
    Call,
    ErrorCode,
    Group,
    GroupState,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    MemberOutcome,
    ProtocolMetadata,
    Step,
    TimerKind,
    classic,
)
from rota.spec.classic.vocabulary import kind_of
from rota.spec.classic.voting import candidates, supports, winners
from rota.spec.context import NoRuleError
from rota.spec.effects import timer
from rota.spec.handlers import HANDLERS
from rota.spec.versions import as_received, as_sent

SPEC = classic()


def join(member_id: str = "", *names: str, version: int = 9, to: str = "a", fresh: str = "m1") -> Call:
    protocols = tuple(ProtocolMetadata(name) for name in names or ("range",))
    return Call(JoinGroupRequest("g", 10_000, 60_000, member_id, "consumer", protocols), to, version, fresh)


def only(steps: tuple[Step, ...]) -> Step:
    (step,) = steps
    return step


@pytest.mark.parametrize("slug", RULES)
def test_rule_is_documented(slug: str) -> None:
    rule = RULES[slug]
    assert re.fullmatch(r"[a-z]+(\.[a-z-]+)+", slug)
    assert rule.title.endswith((".", ":")), rule.title
    assert re.search(r"KIP-\d+|KAFKA-\d+|upstream", rule.source)


def test_every_rule_is_reached_from_a_handler() -> None:
    """Rules that no handler lists are applied or asked by others; the scopes show that they fire."""
    listed = {slug for order in HANDLERS.values() for slug in order}
    assert listed <= set(RULES)


def test_a_handler_without_a_matching_rule_is_an_error() -> None:
    forgetful = classic(rules=RULES.replaced("timers.initial-delay-over", lambda spec, group, timer: ()))
    group = only(SPEC.handle(None, join(version=3))).live
    with pytest.raises(NoRuleError, match="no rule of initial_join matches"):
        forgetful.fire(group, timer(TimerKind.INITIAL_JOIN))


def test_the_handshake() -> None:
    given = only(SPEC.handle(None, join()))
    assert given.live == Group(pending=frozenset({"m1"}))
    assert given.replies[0].message == JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id="m1")
    joined = only(SPEC.handle(given.group, join("m1", to="b")))
    assert joined.live.state is GroupState.PREPARING_REBALANCE
    assert joined.live.members["m1"].awaiting_join == "b"
    assert joined.live.leader == "m1"
    assert {kind_of(arm.timer) for arm in joined.timers} == {
        TimerKind.PENDING,
        TimerKind.NEW_MEMBER,
        TimerKind.SYNC,
        TimerKind.INITIAL_JOIN,
    }
    assert joined.replies == ()


def test_the_vote() -> None:
    assert candidates([("range", "sticky"), ("sticky",)]) == ("sticky",)
    assert winners([("range", "sticky"), ("sticky", "range")]) == ("range", "sticky")
    assert winners([("range", "sticky"), ("range", "sticky"), ("sticky", "range")]) == ("range",)
    assert winners([("range",), ("sticky",)]) == ()
    assert winners([]) == ()
    assert supports([("range",), ("range", "sticky")], ("sticky", "range"))
    assert not supports([("range",), ("range", "sticky")], ("sticky",))
    assert supports([], ("anything",))
    assert not supports([], ())


def test_old_versions() -> None:
    assert as_received(join(version=0)).request.rebalance_timeout_ms == 10_000  # type: ignore[union-attr]
    assert as_received(join(version=1)).request.rebalance_timeout_ms == 60_000  # type: ignore[union-attr]
    reply = JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID)
    assert as_sent(reply, 6) == JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID, protocol_name="")
    assert as_sent(reply, 7) == reply
    left = LeaveGroupReply(ErrorCode.NONE, (MemberOutcome("m", None, ErrorCode.UNKNOWN_MEMBER_ID),))
    assert as_sent(left, 2) == LeaveGroupReply(ErrorCode.UNKNOWN_MEMBER_ID)
    assert as_sent(left, 3) == left
