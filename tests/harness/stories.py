"""A story with all there is, whose texts may be anybody's."""

from __future__ import annotations

from collections.abc import Callable

from rota.kernel import Arrow, Lane
from rota.trace import Component, Difference
from rota.trace.story import Claim, Event, Light, Moment, Story

Spell = Callable[[str], str]
"""What a text becomes."""


def story_of(spell: Spell = str, steps: int = 3, cycle: int | None = None) -> Story:
    """Two members that both come to own one partition in the last step. spell: makes of each text another."""
    c1, c2, log = spell("c1"), spell("c2"), spell("log")
    thing, claim, other = spell("t-0"), spell("one-owner"), spell("always-fine")

    def moment(at: int) -> Moment:
        over = at == steps
        return Moment(
            values=(
                Component(
                    c1,
                    spell(f"Client(phase=stable, seen={at}, assignment=['t-0', 't-1'], member_id=c1-1)"),
                    "0",
                ),
                Component(c2, spell(f"at {at}"), "1"),
            ),
            captions={c1: (spell("stable"), spell("owns t-0"))},
            bands={c1: spell(f"generation {at // 2}")},
            owners={thing: (c1, c2) if over else (c1,) if at else ()},
            lights={claim: Light.VIOLATED if over else Light.SILENT, other: Light.HOLDS},
        )

    def event(at: int) -> Event:
        return Event(
            index=at,
            label=spell(f"{at}: c1 sends JoinGroup"),
            machine=c1,
            at=spell("0.250 s"),
            arrows=(
                Arrow(c1, c2, spell("JoinGroup")),
                Arrow(c2, c1, spell("nothing"), lost=True),
                Arrow(c1, c1, spell("to itself")),
            ),
            differences=(
                Difference(c1, spell("state.seen"), spell(str(at - 1)), spell(str(at))),
                Difference(c1, spell("armed"), None, spell("Timer(session)")),
                Difference(c2, "", spell("Call(…)"), None),
            ),
            rules=(spell("join.leader"),),
            detail=(spell("JoinGroup v9"), spell("  member_id c1-1")),
        )

    return Story(
        title=spell("sync.one-owner"),
        verdict=spell(f"violated after {steps} steps"),
        facts=(
            (spell("meaning"), spell("One owner at most.")),
            ("meaning", spell("So it is.")),
            (spell("source"), spell("KIP-1")),
        ),
        lanes=(
            Lane(c1, spell("member c1"), spell("member")),
            Lane(c2, spell("c2")),
            Lane(log, spell("log"), "log"),
        ),
        events=tuple(map(event, range(1, steps + 1))),
        moments=tuple(map(moment, range(steps + 1))),
        claims=(Claim(claim, "safety", spell("One at most.")), Claim(other, "shape", spell("Well formed."))),
        why=(spell("In step 2 c1 owns t-0."), spell("In step 3 c2 does too.")),
        cycle=cycle,
        copies={spell("Mermaid"): spell("sequenceDiagram\n  a->>b: c")},
        notice=spell("Something is missing."),
    )
