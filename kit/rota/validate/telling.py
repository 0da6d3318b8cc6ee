"""What became of histories, as lines that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from rota.conformance.dialogues.transcript import with_names
from rota.report.format import counted, wrapped
from rota.validate.account import Account, Violation
from rota.validate.audits import NEVER


class Compared(Protocol):
    """How often sources were compared, and how their clocks differ."""

    @property
    def compared(self) -> Mapping[str, int]:
        """Pairs of sources → generations."""

    @property
    def skews(self) -> Mapping[str, float]:
        """Pairs of sources → seconds by which the first one's clock is ahead."""


SHOWN = 5
"""Violations that are told in full, and causes that are named."""

INDENT = "    "


def lines(account: Account, clusters: Compared, read: str) -> Iterator[str]:
    """All that is told above the verdict. read: what was read, in words."""
    for violation in account.violations[:SHOWN]:
        yield from told(violation)
        yield ""
    if account.found > SHOWN:
        yield wrapped("more: ", f"{counted(account.found - SHOWN, 'violation')}; --json has them")
    yield wrapped("read: ", read)
    yield from _compared(clusters)
    for (group, what), seconds in sorted(account.late.items(), key=lambda one: -one[1])[:SHOWN]:
        yield wrapped("late: ", f"{what} of {group} by {seconds:.1f} s, which is no violation")
    for (what, source), number in account.not_checked.most_common():
        yield wrapped("not checked: ", f"{counted(number, 'event')} of {source}: {what}")
    sources = {source for _, source in account.not_checked}
    for source in NEVER:
        if source in sources:
            yield wrapped("never seen: ", f"in {source}: {'; '.join(NEVER[source])}")
    for (group, cause), number in account.undecided.most_common(SHOWN):
        yield wrapped("undecided: ", f"{group}: {counted(number, 'event')}: {cause}")
    if assumed := ", ".join(f"{name}={value}" for name, value in account.assumed.items()):
        yield wrapped("assumed: ", assumed)


def _compared(clusters: Compared) -> Iterator[str]:
    for pair, number in clusters.compared.items():
        yield wrapped("compared: ", f"{counted(number, 'generation')} of {pair}")
    for pair, seconds in clusters.skews.items():
        yield wrapped("clocks: ", f"{pair}: {seconds:+.3f} s, by the generations that both tell of")


def told(violation: Violation) -> Iterator[str]:
    """A violation in full: what, where, why, what was possible, what was said."""
    yield wrapped("violated: ", f"{violation.rule}, group {violation.history}, at {violation.line}")
    names = violation.said.names
    if violation.expected:
        for name, words in (
            ("asked", violation.asked),
            ("expected", violation.expected),
            ("came", violation.came),
        ):
            yield wrapped(f"{INDENT}{name}: ", with_names(words, names))
    else:
        yield wrapped(f"{INDENT}why: ", violation.why)
    for one in violation.nearest[1:3]:
        yield wrapped(f"{INDENT}or: ", with_names(one, names))
    if violation.states:
        states = counted(violation.states, "state")
        yield wrapped(f"{INDENT}before it: ", f"{states} in which the coordinator may have been")
    if violation.lines:
        yield wrapped(f"{INDENT}it rests on: ", ", ".join(violation.lines))
    for line in violation.dialogue:
        yield f"{INDENT}{line}"


def verdict(account: Account) -> str:
    """The last line."""
    events = f"{account.judged:,} of {counted(account.events, 'event')} judged"
    about = f"{counted(len(account.histories), 'group')}, {events}"
    if account.found:
        return f"violated: {counted(account.found, 'violation')} in {about}"
    if account.undecided:
        return f"undecided: {counted(account.undecided.total(), 'event')} could not be decided; {about}"
    if not account.judged:
        return f"undecided: nothing could be judged of {counted(len(account.groups), 'group')}; {about}"
    return f"holds: {about}"
