"""Cases of a run that leaves out some of what is alike: of a rule, of a family, of restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rota.conformance.dialogues.script import Script

RESTARTS = 60
"""Of how many that restart one is chosen: each is three starts of a broker."""

FEW = 15
"""Who asks for settings for which fewer ask is left out: it has a broker of its own."""

EVERY = 3
"""Of how many of a rule one is chosen."""


def some(scripts: Sequence[Script], always: Collection[str]) -> list[Script]:
    """Those with ids of `always`, some of each rule and one of each family; few restarts."""
    chosen: list[Script] = []
    met: Counter[str] = Counter()
    asked = Counter(map(settings_of, scripts))
    for script in scripts:
        if asked[settings_of(script)] < FEW:
            continue
        family = getattr(script, "family", "")
        sort = "restarts" if script.restarts else family or rule_of(script)
        every = RESTARTS if script.restarts else len(scripts) if family else EVERY
        met[sort] += 1
        if met[sort] % every == 1 or (script.id in always and not script.restarts):
            chosen.append(script)
    return chosen


def rule_of(script: Script) -> str:
    """What it is about: the first two words of its id."""
    return ".".join(script.id.split(".")[:2])


def settings_of(script: Script) -> frozenset[tuple[str, object]]:
    """What a broker has to have for it."""
    return frozenset({**script.settings, "initial delay": script.initial_delay_ms}.items())
