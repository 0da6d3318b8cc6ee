"""The limit on a group's size is lowered over a restart: a group that is above it has to fit in again."""

from __future__ import annotations

from rota.conformance.cases.restart_groups import LOAD, lasting
from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import KILLED, after
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import lead_stable
from rota.conformance.steps.restarts import end_target, start_again

_SOURCE = f"KIP-389; {LOAD}"
_REBALANCE = 60.0
"""Seconds of the join phase, which begins when the group is loaded."""


@after(
    "loading.over-capacity.rebalances",
    "with a smaller group.max.size a group that is above it rebalances: as many as fit are in the next "
    "generation, and who joins later is refused for size and is no member any more.",
    _SOURCE,
    KILLED,
    level=Level.SHOULD,
    settings={MAX_SIZE: 3},
    settings_after={MAX_SIZE: 2},
    seconds=12.0,
)
def rebalances(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b", "c", rebalance_timeout_ms=int(_REBALANCE * 1000)))
    first, (second, third) = formed.leader, formed.followers
    following = first.generation_id + 1
    end_target(d)
    ended = d.transcript.elapsed()
    start_again(d)
    answers = [member.heartbeat() for member in formed.everyone]
    d.in_time(ended, 0.8 * _REBALANCE)
    for answer in answers:
        d.expect(answer, error="REBALANCE_IN_PROGRESS")
    waiting = first.send_join()
    waiting.silent(A_WHILE / 4)
    second.send_join().silent(A_WHILE / 4)
    refused = third.join(within=PROMPTLY)
    again = second.second_connection().join(within=PROMPTLY)  # all are there: it only has to be looked
    d.in_time(ended, 0.8 * _REBALANCE)
    d.expect(refused, error="GROUP_MAX_SIZE_REACHED")
    d.expect(again, error="NONE", generation_id=following)
    reply = waiting.answer(PROMPTLY)
    d.expect(reply, error="NONE", generation_id=following)
    d.require(
        reply.member_ids == {first.member_id, second.member_id},
        "the two that came first",
        f"{len(reply.member_ids)} members",
    )
    d.expect(third.heartbeat(), error="UNKNOWN_MEMBER_ID")


@after(
    "loading.over-capacity.at-the-limit",
    "with a smaller group.max.size a group that just fits goes on in its generation.",
    _SOURCE,
    KILLED,
    settings={MAX_SIZE: 3},
    settings_after={MAX_SIZE: 2},
)
def at_the_limit(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b"))
    end_target(d)
    start_again(d)
    for member in formed.everyone:
        d.expect(member.heartbeat(), error="NONE")
    d.expect(d.member("c").join("", within=PROMPTLY), error="GROUP_MAX_SIZE_REACHED")
