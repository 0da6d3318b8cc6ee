"""A toy system for tests: people get numbered tickets from an office. Every kind of property is in it.

`office(people=2, fault="")` builds it; a fault plants a violation of the property that it names.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rota.kernel import FrozenMap, Kind, Outcome, Property, Send, System, SystemRef, View


@dataclass(frozen=True)
class Office:
    last: int = 0
    holders: FrozenMap[str, int] = field(default_factory=FrozenMap)
    late: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Person:
    ticket: int | None = None
    note: bytes = b""


@dataclass(frozen=True)
class Ask:
    who: str


@dataclass(frozen=True)
class Ticket:
    number: int


@dataclass(frozen=True)
class Counter:
    fault: str
    name: str = "office"
    role: str = "office"

    def initial(self) -> Any:
        return (Office(),)

    def actions(self, value: Office) -> Any:
        if self.fault == "office.counts-up" and value.last == 2:
            return (
                Outcome(replace(value, last=1), (), "the office turns its counter back", ("office.back",)),
            )
        return ()

    def receive(self, value: Office, sender: str, message: Any) -> Any:
        number = 1 if self.fault == "tickets.differ" else value.last + 1
        if self.fault == "deadlock" and number == 2:
            return ()
        after = replace(value, last=number, holders=value.holders.set(message.who, number))
        return (Outcome(after, (Send(sender, Ticket(number)),), "", ("office.next", "office.hand-out")),)


@dataclass(frozen=True)
class Customer:
    who: str
    lazy: bool
    role: str = "person"

    @property
    def name(self) -> str:
        return f"person/{self.who}"

    def initial(self) -> Any:
        return (Person(),)

    def actions(self, value: Person) -> Any:
        if value.ticket is not None or self.lazy:
            return ()
        return (Outcome(value, (Send("office", Ask(self.who)),), f"{self.who} asks for a ticket"),)

    def receive(self, value: Person, sender: str, message: Any) -> Any:
        return (Outcome(Person(message.number, b"no. %d" % message.number)),)


def _ticket(person: Person) -> int | None:
    return person.ticket


def _last(value: Office) -> int:
    return value.last


def _differ(one: int | None, other: int | None) -> bool:
    return one is None or one != other


def _up(before: int, after: int) -> bool:
    return after >= before


def _has(ticket: int | None) -> bool:
    return ticket is not None


TICKET, LAST = View("person", _ticket), View("office", _last)

PROPERTIES = (
    Property(
        "tickets.differ",
        Kind.SAFETY,
        "No two people hold the same ticket.",
        (TICKET, TICKET),
        _differ,
        source="the office's by-laws",
        rules=("office.next",),
    ),
    Property("office.counts-up", Kind.STEP, "The counter never goes back.", (LAST,), _up),
    Property("can_hold_a_ticket", Kind.WITNESS, "Somebody holds a ticket.", (TICKET,), _has),
    Property("ends.served", Kind.TERMINAL, "Everybody has been served.", (TICKET,), _has),
)


def office(people: int = 2, fault: str = "") -> System:
    if people < 1:
        raise ValueError("an office without people is closed")
    names = [f"p{n}" for n in range(1, people + 1)]
    lazy = fault == "can_hold_a_ticket"
    properties = PROPERTIES[:3] if lazy else PROPERTIES
    machines = (Counter(fault), *(Customer(name, lazy) for name in names))
    ref = SystemRef("ticket_office:office", (("people", people), ("fault", fault)))
    return System("ticket-office", machines, properties, ref)


def office_without_ref(people: int = 2, fault: str = "") -> System:
    return replace(office(people, fault), ref=None)


def no_system() -> int:
    return 3


def nameless(people: int = 2) -> System:
    raise OSError("the office burnt down")
