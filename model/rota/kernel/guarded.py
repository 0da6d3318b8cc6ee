"""A system whose own functions are watched: what they raise or return wrongly is a `UserError`.

Engines explore such a system instead of the one that they are given. What is an engine's own (tables, what it
puts between itself and a machine) calls the watched functions from outside, so its mistakes stay its own.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CoroutineType
from typing import Any, TypeVar, cast

from rota.kernel.encoding import Encoding
from rota.kernel.machine import Machine, Message, Outcome, Send, Value
from rota.kernel.mistakes import Call, UserError, shortened
from rota.kernel.properties import Fairness, Liveness, Property, View
from rota.kernel.structs import Frozen
from rota.kernel.structs import replace as changed
from rota.kernel.system import System
from rota.kernel.transition import Transition
from rota.kernel.twins import Vocabulary, refused, same, unfit

Claim = TypeVar("Claim", Property, Liveness)


class Asking:
    """A machine that asks another one, and is not the user's: what it does wrongly is a mistake of ours."""

    machine: Machine

    def call(self, name: str) -> Call:
        """The function of the user's machine that is asked in the end."""
        return cast(Call, cast(Any, self.machine).call(name))


def guarded(system: System) -> System:
    """The system with its functions watched; itself where they are."""
    if system.machines and all(isinstance(machine, Asking) for machine in system.machines):
        return system
    names, symmetry = frozenset(system.index), system.symmetry
    if symmetry:
        renamed = Call("symmetry", "renamed", symmetry.renamed)
        symmetry = replace(symmetry, renamed=renamed, seen=Call("symmetry", "seen", symmetry.seen))
    return replace(
        system,
        symmetry=symmetry,
        machines=tuple(_Watched(machine, names) for machine in system.machines),
        properties=tuple(map(_watched, system.properties)),
        liveness=tuple(
            replace(_watched(one), fairness=tuple(map(_fair, one.fairness))) for one in system.liveness
        ),
    )


def keeping(system: System) -> System:
    """The watched system; it keeps each value once, and refuses values that part from their encodings.

    For engines in plain Python. The others have tables that do it.
    """
    system, encoding = guarded(system), Encoding()
    messages = Vocabulary(f"messages of {system.name}", encoding)
    return replace(
        system,
        machines=tuple(_Keeping(one, messages, encoding) for one in system.machines),
    )


class _Watched(Asking):
    """A machine of a system. names: of all its machines."""

    def __init__(self, machine: Machine, names: frozenset[str]) -> None:
        self.machine, self.name, self.role, self._names = machine, machine.name, machine.role, names
        self._calls = {name: _function(machine, name) for name in ("initial", "actions", "receive")}

    def call(self, name: str) -> Call:
        return self._calls[name]

    def initial(self) -> Sequence[Value]:
        call = self._calls["initial"]
        values = _several(call, (), call(), "values")
        if not values:
            raise call.wrong((), "returned no values; a machine begins with one at least")
        return values

    def actions(self, value: Any) -> Sequence[Outcome]:
        call = self._calls["actions"]
        return self._checked(call, (value,), call(value))

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        call = self._calls["receive"]
        return self._checked(call, (value, sender, message), call(value, sender, message))

    def _checked(self, call: Call, arguments: Sequence[Any], given: Any) -> Sequence[Outcome]:
        outcomes = _several(call, arguments, given, "outcomes")
        for outcome in outcomes:
            wrong = self._wrong_in(outcome)
            if wrong:
                raise call.wrong(arguments, f"returned {wrong}")
        return outcomes

    def _wrong_in(self, outcome: Any) -> str:
        """What is wrong with an outcome, empty if nothing."""
        if type(outcome) is not Outcome:
            return f"{shortened(outcome)}, not an Outcome"
        if type(outcome.sends) is not tuple or type(outcome.rules) is not tuple:
            what = "sends" if type(outcome.sends) is not tuple else "rules"
            return f"an Outcome whose {what} are {shortened(getattr(outcome, what))}; make them a tuple"
        for send in outcome.sends:
            if type(send) is not Send:
                return f"an Outcome that sends {shortened(send)}, not a Send"
            if not isinstance(send.to, str) or send.to not in self._names:
                there = ", ".join(sorted(self._names))
                return f"a message to {shortened(send.to)}, which no machine is called; there are {there}"
        for text in (outcome.label, *outcome.rules):
            if not isinstance(text, str):
                return "an Outcome whose label or rules are no text"
        return ""


def _several(call: Call, arguments: Sequence[Any], given: Any, what: str) -> tuple[Any, ...]:
    """What was given as a tuple; a generator is run to its end."""
    if type(given) is tuple or type(given) is list:  # nearly always, and told at once
        return tuple(given)
    if isinstance(given, Frozen | str | bytes) or not isinstance(given, Sequence | Iterator):
        raise call.wrong(arguments, f"returned {shortened(given)}, not a tuple of {what}")
    if isinstance(given, Iterator):
        given = replace(call, function=lambda *_: tuple(given))(*arguments)
    return tuple(given)


def _function(machine: Machine, name: str) -> Call:
    """One of a machine's functions. Errors: UserError if it has none of that name."""
    where, function = f"machine {machine.name}", getattr(machine, name, None)
    if not callable(function):
        raise UserError(where, f"{type(machine).__qualname__} has no function {name}; a machine has one")
    return Call(where, name, function)


class _Keeping(Asking):
    """A watched machine whose values and messages are kept in vocabularies."""

    def __init__(self, machine: Machine, messages: Vocabulary, encoding: Encoding) -> None:
        self.machine, self.name, self.role, self._messages = machine, machine.name, machine.role, messages
        self._values = Vocabulary(f"machine {machine.name}", encoding)

    def initial(self) -> Sequence[Value]:
        values = self.machine.initial()
        with _returned_by(self.call("initial"), ()):
            return [self._values.keep(value) for value in values]

    def actions(self, value: Any) -> Sequence[Outcome]:
        outcomes = self.machine.actions(value)
        with _returned_by(self.call("actions"), (value,)):
            return [self._kept(outcome) for outcome in outcomes]

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        outcomes = self.machine.receive(value, sender, message)
        with _returned_by(self.call("receive"), (value, sender, message)):
            return [self._kept(outcome) for outcome in outcomes]

    def _kept(self, outcome: Outcome) -> Outcome:
        for send in outcome.sends:
            self._messages.keep(send.message)
        return changed(outcome, value=self._values.keep(outcome.value))


@contextmanager
def _returned_by(call: Call, arguments: Sequence[Any]) -> Iterator[None]:
    """Within, a value that cannot be kept is a mistake of the function that returned it."""
    try:
        yield
    except UserError as error:
        raise call.wrong(arguments, f"returned what cannot be: {error.what}") from error


# ---- claims


def _watched(claim: Claim) -> Claim:
    """A property whose views and predicates are watched."""
    where = f"property {claim.name}"
    views = tuple(View(view.role, _Seen(where, view)) for view in claim.views)
    predicates = [name for name in ("test", "given") if getattr(claim, name, None) is not None]
    watched: dict[str, Any] = {name: _Answer(Call(where, name, getattr(claim, name))) for name in predicates}
    return replace(claim, views=views, **watched)


class _Seen:
    """What a view sees. It equals another one of the same view, so that engines look once for both."""

    def __init__(self, where: str, view: View) -> None:
        self.function = view.of
        self._call = Call(where, f"its view of {view.role} ", view.of)
        self._known: dict[Hashable, Hashable] = {}

    def __call__(self, value: Any) -> Hashable:
        try:
            seen = self.function(value)
        except BaseException as error:  # as in `Call`, without a call more: views are asked all the time
            raise self._call.raised((value,), error) from error
        try:
            known = self._known.setdefault(seen, seen)
        except Exception as error:  # its __hash__ and __eq__ are the system's, too
            raise self._wrong(value, unfit("", seen, error)) from error
        if known is not seen and not same(known, seen):
            raise self._wrong(value, refused("", known, seen))
        return known

    def _wrong(self, value: Any, why: UserError) -> UserError:
        return self._call.wrong((value,), f"returned what cannot be: {why.what}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)


@dataclass(frozen=True)
class _Answer:
    """What a predicate answers. What is true whatever it is asked is no answer."""

    call: Call

    def __call__(self, *seen: Any) -> bool:
        try:
            answer = self.call.function(*seen)
        except BaseException as error:  # as in `Call`, without a call more: predicates are asked all the time
            raise self.call.raised(seen, error) from error
        if answer is True or answer is False:
            return answer
        if callable(answer) or answer is NotImplemented or isinstance(answer, Generator | CoroutineType):
            raise self.call.wrong(seen, f"returned {shortened(answer)}, which is always true; return a bool")
        return bool(replace(self.call, function=lambda *_: bool(answer))(*seen))


def _fair(assumption: Fairness) -> Fairness:
    return replace(assumption, of=_Classes(Call(f"assumption {assumption.name}", "of", assumption.of)))


@dataclass(frozen=True)
class _Classes:
    """The classes of a transition under an assumption."""

    call: Call

    def __call__(self, transition: Transition) -> tuple[Hashable, ...]:
        given = self.call(transition)
        try:
            classes = tuple(given)
            hash(classes)
        except TypeError:
            what = f"returned {shortened(given)}, not a tuple of hashable classes"
            raise self.call.wrong((transition,), what) from None
        return classes


__all__ = ["Asking", "UserError", "guarded", "keeping"]
