"""An incident to its cause, and to the sentences that tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.explain.causes import CAUSES, UNKNOWN, Cause
from rota.explain.incidents import Incident
from rota.explain.rebalance import Ending, Rebalance, short
from rota.explain.signs import Sign
from rota.history import Event, Source
from rota.report.format import counted

NAMED = 3
"""Members that a sentence names."""

SHOWN = 8
"""Events that an incident is said to rest on; the others are counted."""

SHORT = 0.1
"""Seconds below which a time is not told as a number."""

ABOUT = {Sign.TOGETHER: Sign.SESSION_OVER, Sign.FROM_EMPTY: Sign.JOINED, Sign.RETURNED: Sign.LEFT}
"""Signs that name nobody, or somebody else → the sign whose members they are about."""

WHO_COMES = "who was the last to join, and who was waited for"


@dataclass(frozen=True)
class Diagnosis:
    """What was behind an incident. who: members, as they are shown; number: how many there were."""

    incident: Incident
    cause: Cause
    who: tuple[str, ...]
    number: int

    @property
    def headline(self) -> str:
        """The first sentence: cause, member and seconds."""
        return f"{self.cause.title}: {self.sentence}; {self.cost}{self._lost}."

    @property
    def _lost(self) -> str:
        """What a session that ran out adds to the seconds, where that is what it is about."""
        if self.cause.rule != "timers.session-expired":
            return ""
        known = f"{seconds(self.session)}, " if self.session else ""
        return f", and before that nobody had those partitions for up to {known}its session timeout"

    @property
    def sentence(self) -> str:
        """What happened."""
        who = listed(self.who) if self.who else "a member"
        was = "were" if len(self.who) > 1 else "was"
        return self.cause.sentence.format(who=who, was=was, number=self.number, group=self.group)

    @property
    def group(self) -> str:
        """The group as sentences name it."""
        return f"group {self.incident.group}"

    @property
    def cost(self) -> str:
        """The seconds, in words."""
        one = self.incident
        if all(each.ending is Ending.QUIET for each in one.told):
            return f"{self.group} did not rebalance"
        if one.open and one.last.seconds is None:
            return f"{self.group} is rebalancing where the source ends, since when is not visible in it"
        if one.open:
            return f"{self.group} has had no assignment for {seconds(one.seconds)} where the source ends"
        if one.untimed == one.number or (one.untimed and one.seconds < SHORT):
            return f"for how long {self.group} had no assignment is not visible in this source"
        least = "at least " if one.untimed else ""
        times = "" if one.number == 1 else f" in {counted(one.number, 'rebalance')}"
        return f"{self.group} had no assignment for {least}{seconds(one.seconds)}{times}"

    @property
    def session(self) -> float | None:
        """The longest session timeout of who was lost, in seconds; None where that is not told."""
        lost = set(self.incident.seen.who(Sign.SESSION_OVER))
        told = self.incident.told
        known = [ms for one in told for member, ms in one.sessions.items() if member in lost]
        return max(known) / 1000 if known else None

    @property
    def before(self) -> str:
        """What a session that ran out cost before the broker noticed; "" where none did."""
        if not self.incident.seen.counts[Sign.SESSION_OVER]:
            return ""
        words = f"{seconds(self.session)}, its session timeout" if self.session else "its session timeout"
        untold = "" if self.session else ", which this source does not tell"
        had_none = "before the broker noticed, the partitions of who was lost had no consumer for up to"
        return f"{had_none} {words}{untold}"

    @property
    def not_visible(self) -> list[str]:
        """What this source cannot tell of it."""
        found = [self.cause.unseen] if self.cause.unseen else []
        sources = frozenset().union(*(one.sources for one in self.incident.told))
        if not sources & {Source.CLIENT_LOG, Source.FRAMES}:
            found += [
                WHO_COMES,
                "which partitions had no consumer, and whether a cooperative assignor kept some going",
            ]
        if sources <= {Source.OFFSETS, Source.DESCRIBED}:
            found += ["when it began and why"]
        return found


def diagnosed(incident: Incident) -> Diagnosis:
    """The first cause whose evidence is there."""
    cause = next((one for one in CAUSES if fits(one, incident)), UNKNOWN)
    for need in cause.needs:
        named = incident.seen.who(ABOUT.get(need.sign, need.sign))
        if named:
            number = max(incident.seen.counts[need.sign], 1)
            return Diagnosis(incident, cause, tuple(map(short, dict.fromkeys(named))), number)
    return Diagnosis(
        incident, cause, (), max((incident.seen.counts[one.sign] for one in cause.needs), default=1)
    )


def fits(cause: Cause, incident: Incident) -> bool:
    """Whether all of its evidence is there, and nothing that speaks against it."""
    counts = incident.seen.counts
    for need in cause.needs:  # asked of each cause for each incident: so without a generator
        if counts.get(need.sign, 0) < need.least:
            return False
    return not any(counts.get(one) for one in cause.never)


def seconds(value: float) -> str:
    """Seconds as people say them: short ones to the tenth, long ones in minutes and hours too."""
    if value < SHORT:
        return "less than 0.1 s"
    if value < 120:
        return f"{value:.1f} s"
    minutes, hours = value / 60, value / 3600
    return f"{value:,.0f} s ({minutes:.0f} min)" if hours < 2 else f"{value:,.0f} s ({hours:.1f} h)"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; beyond a few, how many more."""
    shown, more = names[:NAMED], len(names) - NAMED
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def began_by(one: Rebalance) -> str:
    """What a rebalance began with, in words."""
    return one.trigger.words.format(who=short(one.who) if one.who else "a member")


def account(one: Rebalance) -> Iterator[str]:
    """One rebalance in plain words, sentence by sentence."""
    yield f"{began_by(one)}{f' (rule {one.trigger.rule})' if one.trigger.rule else ''}"
    yield _course(one)
    if one.waiting:
        names = listed([short(member) for member in one.waiting])
        done = one.ending is not Ending.OPEN
        yield f"it waited in vain for {names}" if done else f"it waits for {names}, as far as was seen"
    if one.last:
        yield f"the last to join was {short(one.last)}"
    if one.gaps:
        yield f"without a consumer: {worst_gaps(one)}"


def _course(one: Rebalance) -> str:
    """How it went, from generation to generation."""
    ends = {
        Ending.ASSIGNED: "was assigned",
        Ending.EMPTY: "left the group empty",
        Ending.OVERTAKEN: "was overtaken by the next one",
        Ending.UNLOADED: "ended with this broker's coordinating the group",
        Ending.OPEN: "has not ended",
        Ending.QUIET: "went on: nobody rebalanced",
    }
    to = "?" if one.to_generation is None else one.to_generation
    since = "?" if one.from_generation is None else one.from_generation
    which = f"generation {since}" if one.ending is Ending.QUIET else f"generation {since} to {to}"
    parts = [f"{which} {ends[one.ending]}"]
    if one.began is not None and one.joined is not None:
        parts.append(f"its join phase took {seconds(max(0.0, one.joined - one.began))}")
    if one.joined is not None and one.ended is not None and one.ending is not Ending.QUIET:
        parts.append(f"the assignment came {_after(one.ended - one.joined)}")
    if one.members_after is not None:
        before = "" if one.members_before is None else f"{one.members_before} to "
        parts.append(f"{before}{counted(one.members_after, 'member')}")
    return ", ".join(parts)


def _after(taken: float) -> str:
    return "at once" if taken < 0.1 else f"{seconds(taken)} later"


def worst_gaps(one: Rebalance | Incident) -> str:
    """The partitions that had nobody for longest."""
    worst = sorted(one.gaps.items(), key=lambda gap: (-gap[1], gap[0]))
    more = len(worst) - NAMED
    told = ", ".join(f"{partition} {seconds(gap)}" for partition, gap in worst[:NAMED])
    return f"{told} and {counted(more, 'partition')} for less" if more > 0 else told


def evidence(incident: Incident) -> tuple[list[Event], int]:
    """Events that an incident rests on, the first and the last ones, and how many more there are."""
    events = [event for one in incident.told for event in one.events]
    more = sum(one.unkept for one in incident.told)
    if len(events) <= SHOWN:
        return events, more
    kept = [*events[: SHOWN - 2], *events[-2:]]
    return kept, more + len(events) - len(kept)
