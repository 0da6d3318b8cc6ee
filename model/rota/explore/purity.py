"""Questions put twice: what is a function answers the same, however often and whoever asks.

Engines ask a machine once about each value and take the answer for granted, so one that counts its calls,
looks at a clock or draws lots would have a state space that no run shows. Of what machines, views and
predicates are asked, some questions are kept with their first answer and put again at the end of a run, with
equal copies of what they were asked about. What is compared is what the system's own functions returned, so
no mistake of an engine can look like one of theirs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from rota.kernel import Asking, Machine, Message, Outcome, Property, State, System, Value, View

FIRST = 4
"""The first so many questions to each function are put again."""

DOUBTS = 64
"""How often the questions about one state are put where an engine and the system differ on it."""

LONGEST = 400
"""Characters of a value in a message."""


class Impure(ValueError):
    """A function of the system answered one question in two ways; the message says which, and both."""


class StandIn(Asking):
    """A machine that answers for another one, from what is known of it."""


@dataclass(frozen=True)
class Sampled:
    """How much of a run was looked at twice.

    states: those whose successors were compared with the system's own; questions: those put to machines and
    properties; again: how many of these were put again.
    """

    states: int = 0
    questions: int = 0
    again: int = 0

    def __add__(self, other: Sampled) -> Sampled:
        return Sampled(self.states + other.states, self.questions + other.questions, self.again + other.again)


NOTHING = Sampled()


@dataclass(frozen=True)
class _Asked:
    """A question with its first answer. what: names who was asked; several: it is a choice of outcomes."""

    what: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    answer: Any
    several: bool


def next_square(number: int) -> int:
    """The next of the first few numbers and the squares beyond: of n about the square root of n."""
    return number + 1 if number < FIRST else (isqrt(number) + 1) ** 2


def twice(number: int) -> int:
    """The next power of two: of n about the logarithm of n."""
    return 2 * number


class Line:
    """The questions to one function, of which those whose number is `due` are kept.

    Parameters: what, names who is asked; call; later, the number that is due after one; several: each
    answer is a tuple of outcomes, whose order says nothing.
    """

    __slots__ = ("_later", "_several", "_told", "call", "count", "due", "kept", "what")

    def __init__(
        self, what: str, call: Callable[..., Any], later: Callable[[int], int], several: bool = False
    ) -> None:
        self.what, self.call, self._later, self._several = what, call, later, several
        self.count, self._told, self.due = 0, 0, 1
        self.kept: list[_Asked] = []

    def note(self, arguments: tuple[Any, ...], answer: Any) -> None:
        """A question was asked and answered."""
        self.count += 1
        if self.count == self.due:
            self.due = self._later(self.due)
            self.kept.append(_Asked(self.what, self.call, arguments, answer, self._several))

    def news(self) -> int:
        """How many were asked since this was asked."""
        since, self._told = self.count - self._told, self.count
        return since


class Again:
    """Keeps questions and puts them again, the same ones in every run that asks in the same order."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, Callable[..., Any]], Line] = {}

    def line(self, line: Line) -> Line:
        """Begin with the questions to a function, or go on with the line that it has."""
        return self._lines.setdefault((line.what, line.call), line)

    def ask(self) -> Sampled:
        """Put what was kept again, each question once. Errors: Impure."""
        questions = again = 0
        for line in self._lines.values():
            kept, line.kept = line.kept, []
            questions, again = questions + line.news(), again + len(kept)
            for one in kept:
                _compare(one)
        return Sampled(questions=questions, again=again)


def _compare(one: _Asked) -> None:
    try:
        answer = one.call(*map(copied, one.arguments))
        answer = tuple(answer) if one.several else answer
    except Exception as error:
        raise Impure(_told(one, [one.answer], [f"{type(error).__name__}: {error}"])) from error
    # what equals nothing, not even itself, is told by what it is
    if answer is one.answer or answer == one.answer:
        return
    if not one.several:
        raise Impure(_told(one, [one.answer], [answer]))
    before = [outcome for outcome in one.answer if one.answer.count(outcome) != answer.count(outcome)]
    after = [outcome for outcome in answer if answer.count(outcome) != one.answer.count(outcome)]
    if before or after:
        raise Impure(_told(one, before, after))


def _told(one: _Asked, before: Sequence[Any], after: Sequence[Any]) -> str:
    about = " from ".join(map(shown, reversed(one.arguments[1:])))
    given = f" and {about}" if about else ""
    first, then = (", ".join(map(shown, some)) or "nothing" for some in (before, after))
    return (
        f"{one.what} is no function of what it is given: asked about {shown(one.arguments[0])}{given} it "
        f"answered {first}, and asked again {then}; let it depend on nothing else, no counter, "
        "clock, chance, id() or order of a set"
    )


def shown(value: Any) -> str:
    """A value for a person, cut where it is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def copied(value: Any) -> Any:
    """A value that equals this one and is another object, as far as there can be one."""
    try:
        copy = pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        return copy if type(copy) is type(value) and copy == value else value
    except Exception:  # what a user's value is made of may refuse in any way; it is then asked about itself
        return value


class MachineLine:
    """The questions to a machine: what it does by itself, and what it does with messages."""

    def __init__(self, machine: Machine, again: Again) -> None:
        what = f"machine {machine.name}"
        self.actions = again.line(Line(what, machine.actions, next_square, several=True))
        self.receive = again.line(Line(what, machine.receive, next_square, several=True))


class Noting(Asking):
    """A machine whose answers are noted."""

    def __init__(self, machine: Machine, again: Again) -> None:
        self.machine, self.name, self.role = machine, machine.name, machine.role
        self._line = MachineLine(machine, again)

    def initial(self) -> Sequence[Value]:
        """As the machine's."""
        return self.machine.initial()

    def actions(self, value: Any) -> Sequence[Outcome]:
        """As the machine's."""
        outcomes = tuple(self.machine.actions(value))
        self._line.actions.note((value,), outcomes)
        return outcomes

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        """As the machine's."""
        outcomes = tuple(self.machine.receive(value, sender, message))
        self._line.receive.note((value, sender, message), outcomes)
        return outcomes


def doubt(system: System, state: State) -> None:
    """Put every question that the transitions out of a state need, several times. Errors: Impure."""
    again = Again()
    machines = tuple(Noting(_itself(machine), again) for machine in system.machines)
    asked = System(system.name, machines)
    for _ in range(DOUBTS):
        list(asked.successors(state))
        again.ask()


def _itself(machine: Machine) -> Machine:
    """The machine that others may stand in for."""
    while isinstance(machine, StandIn):
        machine = machine.machine
    return machine


def noting(system: System, again: Again) -> System:
    """The system whose machines, views and predicates note what they answer.

    A stand-in is left as it is: it knows values by their identity, and has the machine noted itself.
    """
    machines = (one if isinstance(one, StandIn) else Noting(one, again) for one in system.machines)
    return replace(
        system,
        machines=tuple(machines),
        properties=tuple(_noting(prop, again) for prop in system.properties),
    )


def _noting(prop: Property, again: Again) -> Property:
    def seen(view: View) -> View:
        return replace(view, of=noted(f"a view of property {prop.name}", view.of, again))

    test = noted(f"property {prop.name}", prop.test, again)
    given = prop.given and noted(f"the premise of property {prop.name}", prop.given, again)
    return replace(prop, views=tuple(map(seen, prop.views)), test=test, given=given)


def noted(what: str, call: Callable[..., Any], again: Again) -> Callable[..., Any]:
    """A function whose answers are noted. what: names it."""
    note = again.line(Line(what, call, twice)).note

    def asked(*arguments: Any) -> Any:
        answer = call(*arguments)
        note(arguments, answer)
        return answer

    return asked
