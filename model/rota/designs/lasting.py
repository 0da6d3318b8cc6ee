"""Liveness of the older designs: what holds from some state on in every fair run."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rota.kernel import Fairness, Liveness, LivenessKind, Transition, View


def _going_on(transition: Transition) -> tuple[Hashable, ...]:
    """The class of a transition: its label; none where the budget pays for it, for that need never happen."""
    return (
        ()
        if any(local_step.machine == "budget" for local_step in transition.local_steps)
        else (transition.label,)
    )


GOING_ON = Fairness(
    "going on",
    "What remains possible under one label is done, but for changes and faults.",
    _going_on,
)


def eventually_always(name: str, meaning: str, test: Callable[..., bool], *views: View) -> Liveness:
    """From some state on it holds for ever, in every fair run."""
    return Liveness(name, LivenessKind.EVENTUALLY_ALWAYS, meaning, views, test, fairness=(GOING_ON,))
