"""Plays a plan, step by step."""

from __future__ import annotations

from collections import deque

from rota.generate.afterwards import afterwards
from rota.generate.cast import Terms
from rota.generate.plan import Ask, Begin, Break, End, Plan, Restart, Silence, filled
from rota.generate.player import Stage
from rota.spec.offset_messages import TxnOffsetCommitRequest

PROMPTLY = 2.0
"""Seconds for which the next step waits for an answer that should come at once."""


async def play(plan: Plan, stage: Stage, terms: Terms) -> None:
    """Play a plan on a stage that is empty. After a restart that it has no step for, ask what there is."""
    left = deque(plan.steps)
    stage.will_want(any(isinstance(step, Restart) for step in left))
    while left:
        if stage.hit:
            stage.steps.append(stage.hit)
            stage.hit = None
            left.extendleft(reversed(afterwards(stage.steps, terms, plan.protocol)))
        step = left.popleft()
        stage.steps.append(step)
        if isinstance(step, Silence):
            await stage.silence(step.seconds)
        elif isinstance(step, Break):
            stage.cut(step.line)
        elif isinstance(step, Begin):
            await stage.begin(step.transaction)
        elif isinstance(step, End):
            await stage.end(step.transaction, step.committed)
        elif isinstance(step, Restart):
            await stage.restart(step)
            stage.will_want(any(isinstance(step, Restart) for step in left))
        else:
            await _ask(stage, step)
    await stage.silence(0.0)


async def _ask(stage: Stage, ask: Ask) -> None:
    request = filled(ask, stage.answers, stage.group_id)
    if isinstance(request, TxnOffsetCommitRequest):
        producer = stage.producers.of(request.producer_id)
        if producer is None or producer.interrupted:  # nobody knows whether the transaction is still one
            return
    asked = await stage.ask(ask.client, ask.line, ask.version, request, ask.number)
    if asked is not None and ask.waits:
        await stage.answered(asked, PROMPTLY)
