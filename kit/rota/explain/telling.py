"""Accounts as text: the first sentence, the worst groups as a table, each incident in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rota.explain.diagnosis import Diagnosis, account, evidence, worst_gaps
from rota.explain.incidents import Incident
from rota.explain.moments import clock, zone_shown
from rota.explain.rebalance import WITHIN, Rebalance
from rota.explain.worst import Explained, Totals, visible
from rota.history import Event
from rota.report.format import counted, emphasised, wrapped
from rota.report.table import Column, Table, names

NONE = "No rebalance: groups were seen, and each kept its generation."
NOT_THEN = "No rebalance in the time that was asked for"

GROUPS = 10
"""Rows of the table."""

ACCOUNTS = 3
"""Rebalances of an incident that are told one by one; of more, the first and the last."""

HEADS = 13
"""Columns of what stands before the words of an incident."""

LONGEST = 160
"""Characters of what an event says."""


def lines(found: Explained, read: str, heard: bool = False) -> Iterator[str]:
    """All that is told. read: what was read, in words; heard: the incidents were told as they ended."""
    first = found.first
    if first is None:
        yield wrapped("", none(found))
        yield wrapped("read: ", read)
        return
    yield wrapped("", first.headline)
    yield ""
    yield from table(found)
    for one in () if heard else found.incidents:
        yield ""
        yield from incident(one)
    yield ""
    if found.left_out:
        less = counted(found.left_out, "incident")
        yield wrapped(
            "not told: ", f"{less} that cost less; name a group with --group, or ask for more with --most"
        )
    yield wrapped("read: ", read)
    yield wrapped("times: ", zone_shown())


def none(found: Explained) -> str:
    """What is said where no rebalance is told: groups were quiet, or it is of another time."""
    words = [NONE.rstrip(".") if not (found.elsewhere or found.over is not None) else NOT_THEN]
    if found.elsewhere:
        words.append(f"{counted(found.elsewhere, 'rebalance')} at other times")
    if found.over is not None:
        last = f"{clock(found.over, day=True)} ({zone_shown()})"
        words.append(f"the last that is told of any group is of {last}")
    return f"{'; '.join(words)}."


def verdict(found: Explained) -> str:
    """The last line."""
    rebalances = counted(found.rebalances, "rebalance")
    groups = counted(len(found.groups) + found.more_groups, "group")
    if (seconds := visible(found)) is None:
        return f"explained: {rebalances} of {groups}; how long there was no assignment is not visible"
    return f"explained: {rebalances} of {groups}, {seconds:,.1f} s without an assignment"


def table(found: Explained) -> Iterator[str]:
    """The worst groups."""
    shown = found.groups[:GROUPS]
    columns = [
        names("group", (_cut(one.group) for one in shown), gap=0),
        Column("rebalances", 10),
        Column("incidents", 9),
        Column("seconds", 9),
        names("costliest cause", (one.worst for one in shown)),
        Column("last", 19, left=True, gap=2),
    ]
    drawn = Table(columns, spared=("incidents", "last"))
    yield drawn.head()
    yield from (drawn.row(_cells(one)) for one in shown)
    more = len(found.groups) + found.more_groups - len(shown)
    if more:
        yield f"and {counted(more, 'group')} that cost less"


def _cells(one: Totals) -> dict[str, str]:
    return {
        "group": _cut(one.group),
        "rebalances": f"{one.rebalances:,}",
        "incidents": f"{one.incidents:,}",
        "seconds": cost(one),
        "costliest cause": one.worst,
        "last": f"{clock(one.last, day=True)}{', goes on' if one.open else ''}",
    }


def cost(of: Totals | Explained) -> str:
    """Seconds without an assignment, in digits; "?" where they are not visible."""
    seconds = visible(of)
    return "?" if seconds is None else f"{seconds:,.1f}"


def incident(one: Diagnosis) -> Iterator[str]:
    """One incident in plain words."""
    found = one.incident
    yield emphasised(f"{span(found)}  {_cut(found.group)}: {one.cause.title}")
    before = [f"{capital(one.before)}."] if one.before else []
    yield from _listed("what", [f"{one.sentence}; {one.cost}.", *before])
    for rebalance in _told(found.told):
        words = "; ".join(account(rebalance))
        yield from _listed(clock(_moment(rebalance)), [f"{words}."])
    skipped = found.number - len(_told(found.told))
    if skipped > 0:
        yield from _listed(
            "", [f"and {counted(skipped, 'rebalance')} between the first and the last of these."]
        )
    if found.gaps and found.number > 1:
        yield from _listed("no consumer", [worst_gaps(found)])
    yield from _listed("change", (_change(*each) for each in one.cause.change))
    yield from _listed("not visible", one.not_visible)
    yield from _listed("see", _further(one))
    shown, more = evidence(found)
    yield from _listed("rests on", [*map(told, shown), *([f"{counted(more, 'event')} more"] if more else [])])


def span(one: Incident) -> str:
    """From when to when it was; one moment if that is all that seconds show."""
    since, until = clock(one.began, day=True), "now" if one.open else clock(one.ended)
    return since if one.ended is None or until == clock(one.began) else f"{since} to {until}"


def _listed(head: str, items: Iterable[str]) -> Iterator[str]:
    """Things below each other, the head before the first of them."""
    for number, item in enumerate(items):
        yield wrapped(f"  {'' if number else head:<{HEADS}}", item)


def _change(setting: str, words: str) -> str:
    return f"{setting}: {words}" if setting else words


def _further(one: Diagnosis) -> Iterator[str]:
    """Where more is to be read."""
    if one.cause.rule:
        yield f"`rota rules {one.cause.rule}`"
    if one.cause.weaknesses:
        yield f"docs/findings.md on {', '.join(one.cause.weaknesses)}"


def told(event: Event) -> str:
    """An event with where it stands."""
    words = [event.kind.value.replace("-", " ")]
    words += [event.member or event.instance or event.client]
    words += [f"generation {event.generation}"] if event.generation is not None else []
    words += [f"({event.reason})"] if event.reason else []
    text = WITHIN.sub(r"-\1…", " ".join(word for word in words if word))
    return f"{event.origin}: {text if len(text) <= LONGEST else f'{text[: LONGEST - 1]}…'}"


def _told(rebalances: Sequence[Rebalance]) -> Sequence[Rebalance]:
    return rebalances if len(rebalances) <= ACCOUNTS else [*rebalances[: ACCOUNTS - 1], rebalances[-1]]


def _moment(one: Rebalance) -> float | None:
    return one.ended if one.began is None else one.began


def _cut(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def capital(text: str) -> str:
    """A sentence as one begins."""
    return text[:1].upper() + text[1:]
