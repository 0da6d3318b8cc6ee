"""What the judge that looks up what it has learned says, beside the one that asks the spec each time."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from rota.linearise import Judge, Verdict


@contextmanager
def plain():
    """Within, judges ask the spec each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["rota.linearise.judge"], "can_be_quick", lambda profile, looking: False)
        yield


def said(history, limits, looks=False):
    """All that a judge says of a history, and the states that it ends with.

    What was before the last event, and what the spec gave, is told where nothing explains what was seen.
    """
    about = {"looks": looks, "restarts": history.restarts}
    judge = Judge(history.profile, history.config, history.lateness, limits, **about)
    for event in history.events:
        judge.see(event)
    judgement = judge.end()
    run = judge.run
    states = [*run.states], run.most, run.narrowed
    failing = judgement.at if judgement.verdict is Verdict.VIOLATED else None
    before = failing and ([*run.before_last], run.given(getattr(failing, "number", None)))
    return judgement, judgement.moments, judgement.reached, judge.late, states, before


def said_by_both(history, limits, looks=False):
    """What each of the two says, the one that has learned first."""
    quick = said(history, limits, looks)
    with plain():
        return quick, said(history, limits, looks)
