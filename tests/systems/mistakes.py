"""Systems with a mistake of their own each, importable as `mistakes` in any process.

A mistake is made by a walker that counts to three, in the state 2 unless something else is said: the shortest
run to it has two steps. `HERE` marks the lines that have to be named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import twin

from rota.kernel import (
    PER_MACHINE,
    Kind,
    Liveness,
    LivenessKind,
    Outcome,
    Property,
    Send,
    System,
    SystemRef,
    View,
)


@dataclass(frozen=True)
class Token:
    """A number, which is not the one of the module `twin`."""

    number: int


class Colour(Enum):
    """As `twin.Colour`."""

    RED = 1


class Level(IntEnum):
    """What equals a number."""

    TWO = 2


class Text(str):
    """What equals a text and is encoded as one."""


class Number(int):
    """What is encoded as a number."""


class Names(frozenset[str]):
    """What equals a set and is encoded as one."""


@dataclass(frozen=True, eq=False)
class Lonely:
    """What equals only itself, and is encoded as all that are like it."""

    number: int


@dataclass(frozen=True)
class Partly:
    """What equals others that differ in what is not compared, and is not encoded like them."""

    number: int
    note: int = field(compare=False, default=0)


class Bag(Mapping[str, int]):
    """A mapping that is hashable and keeps the order in which it was filled."""

    def __init__(self, **items: int) -> None:
        self._items = items

    def __getitem__(self, key: str) -> int:
        return self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))


class Bad:
    """What cannot be hashed, in a way of its own."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash today")


BAD = Bad()


@dataclass(frozen=True)
class Walker:
    """Counts to three by one; what it does in each value can be exchanged."""

    name: str = "walker"
    role: str = "walker"
    first: Callable[[], Any] = lambda: (0,)
    turn: Callable[[Any], Any] = lambda value: [Outcome(value + 1)] if value < 3 else ()
    taken: Callable[[Any, str, Any], Any] = lambda value, sender, message: [Outcome(value)]

    def initial(self) -> Any:
        return self.first()

    def actions(self, value: Any) -> Any:
        return self.turn(value)

    def receive(self, value: Any, sender: str, message: Any) -> Any:
        return self.taken(value, sender, message)


def fine(number: int = 0) -> System:
    """A walker that makes no mistake."""
    return system(Walker())


def system(*machines: Walker, claims: tuple[Property, ...] = (), **more: Any) -> System:
    return System("walk", machines, claims or (claim(lambda value: True),), **more)


def claim(test: Callable[..., Any], kind: Kind = Kind.SAFETY, of: Any = lambda value: value) -> Property:
    return Property("small", kind, "it stays small", (View("walker", of),), test)


def at_two(wrong: Callable[[int], Any]) -> Walker:
    """A walker that does something else in the state 2."""
    return Walker(
        turn=lambda value: wrong(value) if value == 2 else [Outcome(value + 1)] if value < 2 else ()
    )


def walks_to(*values: Any) -> Walker:
    """A walker that comes from 0 to 1, and from there to any of some values."""

    def turn(value: Any) -> list[Outcome]:
        if type(value) is not int:
            return []
        return [Outcome(1)] if value == 0 else [Outcome(one) for one in values] if value == 1 else []

    return Walker(turn=turn)


def raising(value: Any) -> Any:
    raise KeyError(value)  # HERE raising


def leaving(value: Any) -> Any:
    raise SystemExit(0)  # HERE leaving


def raising_at_two(value: Any) -> Any:
    return raising(value) if value == 2 else value


def never_comes(value: Any) -> Any:
    if value == 2:
        return lambda: False
    return True


def told(message: Any, to: Any = "other") -> System:
    """A walker that sends a message in the state 2."""
    return system(at_two(lambda value: [Outcome(3, (Send(to, message),))]), Walker("other", "other"))


def deaf() -> System:
    """A machine that fails at the message it is sent."""
    other = Walker("other", "other", taken=lambda value, sender, message: raising(message))
    return system(at_two(lambda value: [Outcome(3, (Send("other", "hello"),))]), other)


def echo() -> System:
    """Two machines that answer each other for ever."""
    back = lambda value, sender, message: [Outcome(value, (Send(sender, message),))]  # noqa: E731
    start = replace(at_two(lambda value: [Outcome(3, (Send("other", 1),))]), taken=back)
    return system(start, Walker("other", "other", taken=back))


def generating(value: int) -> Any:
    yield Outcome(1)
    raising(value)


@dataclass(frozen=True)
class Mistake:
    """A system with a mistake. where: whose; what: some words of it; steps: of the shortest run."""

    build: Callable[[], System]
    where: str
    what: str
    steps: int | None = 2
    mark: str = ""


def _machine(wrong: Callable[[int], Any], what: str, mark: str = "") -> Mistake:
    return Mistake(lambda: system(at_two(wrong)), "machine walker", what, mark=mark)


def _value(*values: Any) -> Callable[[], System]:
    return lambda: system(walks_to(*values))


def _claim(test: Callable[..., Any], what: str, steps: int = 2, **how: Any) -> Mistake:
    mark = how.pop("mark", "")
    return Mistake(
        lambda: system(Walker(), claims=(claim(test, **how),)), "property small", what, steps, mark
    )


MISTAKES: dict[str, Mistake] = {
    # what machines do
    "actions raise": _machine(raising, r"actions\(2\) raised KeyError: 2", "raising"),
    "actions leave": _machine(leaving, r"actions\(2\) raised SystemExit: 0", "leaving"),
    "actions none": _machine(lambda value: None, r"actions\(2\) returned None, not a tuple of outcomes"),
    "actions one": _machine(lambda value: Outcome(3), r"returned Outcome\(.*, not a tuple of outcomes"),
    "actions text": _machine(lambda value: "up", r"returned 'up', not a tuple of outcomes"),
    "actions numbers": _machine(lambda value: [3], r"actions\(2\) returned 3, not an Outcome"),
    "actions generate": _machine(generating, r"actions\(2\) raised KeyError: 2", "raising"),
    "sends none": _machine(lambda value: [Outcome(3, None)], "whose sends are None; make them a tuple"),
    "sends text": _machine(lambda value: [Outcome(3, ("x",))], "sends 'x', not a Send"),
    "rules text": _machine(lambda value: [Outcome(3, (), "", "up")], "whose rules are 'up'"),
    "label": _machine(lambda value: [Outcome(3, (), 7)], "whose label or rules are no text"),
    "value a list": _machine(lambda value: [Outcome([3])], r"\[3\] is not hashable; use immutable values"),
    "value a float": _machine(lambda value: [Outcome(3.5)], "a state cannot contain float: 3.5"),
    "value equals": _machine(lambda value: [Outcome(2.0)], r"2.0 equals 2 and has other types within"),
    "value without hash": _machine(lambda value: [Outcome(BAD)], "raised RuntimeError: no hash today"),
    "receive raises": Mistake(
        deaf, "machine other", r"receive\(0, 'walker', 'hello'\) raised KeyError: 'hello'", mark="raising"
    ),
    "no such machine": Mistake(
        lambda: told(1, "nobody"),
        "machine walker",
        "message to 'nobody', which no machine is called; there are other, walker",
    ),
    "message a list": Mistake(lambda: told([1]), "machine walker", r"\[1\] is not hashable"),
    "message a float": Mistake(lambda: told(0.5), "machine walker", "a state cannot contain float"),
    "endless messages": Mistake(echo, "machine walker", "more than 1000 messages in one transition"),
    "initial raises": Mistake(
        lambda: system(Walker(first=lambda: raising(1))),
        "machine walker",
        r"initial\(\) raised KeyError",
        None,
        "raising",
    ),
    "initial none": Mistake(
        lambda: system(Walker(first=lambda: None)), "machine walker", r"initial\(\) returned None", None
    ),
    "initial empty": Mistake(
        lambda: system(Walker(first=tuple)), "machine walker", r"initial\(\) returned no values", None
    ),
    "initial a list": Mistake(
        lambda: system(Walker(first=lambda: ([1],))), "machine walker", r"\[1\] is not hashable", None
    ),
    # what properties do
    "test raises": _claim(
        lambda value: raising_at_two(value) is not None, r"test\(2\) raised KeyError: 2", mark="raising"
    ),
    "test leaves": _claim(lambda value: value < 2 or leaving(value), "raised SystemExit: 0", mark="leaving"),
    "test no answer": _claim(never_comes, r"test\(2\) returned <function .*, which is always true", mark=""),
    "view raises": _claim(
        lambda seen: True, r"its view of walker \(2\) raised KeyError: 2", of=raising_at_two, mark="raising"
    ),
    "view a list": _claim(
        lambda seen: True,
        r"its view of walker \(2\) returned .*\[2\] is not hashable",
        of=lambda value: [value] if value == 2 else value,
    ),
    "view equals": _claim(
        lambda seen: True,
        r"its view of walker \(2\) returned .*True equals 1",
        of=lambda value: True if value == 2 else value,
    ),
    "step raises": _claim(
        lambda before, after: after < 3 or raising(after),
        r"test\(2, 3\) raised KeyError: 3",
        3,
        kind=Kind.STEP,
        mark="raising",
    ),
    "end raises": _claim(raising, r"test\(3\) raised KeyError: 3", 3, kind=Kind.TERMINAL, mark="raising"),
    "witness raises": _claim(
        lambda value: value > 2 or raising_at_two(value) > 5,
        r"test\(2\) raised KeyError: 2",
        kind=Kind.WITNESS,
        mark="raising",
    ),
    # values that Python and the encoding tell apart differently
    "dataclasses": Mistake(
        _value(Token(1), Token(2), twin.Token(1)),
        "machine walker",
        "cannot tell values of mistakes.Token and twin.Token apart",
        1,
    ),
    "enums": Mistake(
        _value(Colour.RED, twin.Colour.RED),
        "machine walker",
        "values of mistakes.Colour and twin.Colour apart",
        1,
    ),
    "texts": Mistake(
        _value("a", "b", Text("c")), "machine walker", "builtins.str and mistakes.Text apart", 1
    ),
    "numbers": Mistake(_value(Number(7)), "machine walker", "builtins.int and mistakes.Number apart", 1),
    "sets": Mistake(
        _value(frozenset("a"), frozenset("b"), Names("c")),
        "machine walker",
        "builtins.frozenset and mistakes.Names apart",
        1,
    ),
    "equal enum": Mistake(_value((0,), (2,), (Level.TWO,)), "machine walker", "has other types within", 1),
    "equal bool": Mistake(_value((0,), (1,), (True,)), "machine walker", r"\(True,\) equals \(1,\)", 1),
    "equal text": Mistake(_value(("a",), (Text("a"),)), "machine walker", r"has other types within", 1),
    "equal order": Mistake(
        _value(Bag(a=1, b=2), Bag(b=2, a=1)), "machine walker", "has other types within", 1
    ),
    "equal fields": Mistake(_value(Partly(1), Partly(1, 2)), "machine walker", "has other types within", 1),
    "unequal": Mistake(
        _value(Lonely(1), Lonely(1)), "machine walker", "are not equal and are encoded alike", 1
    ),
}
"""By name."""


def mistaken(name: str) -> System:
    """The system with a mistake, for any process."""
    return replace(MISTAKES[name].build(), ref=SystemRef("mistakes:mistaken", (("name", name),)))


def line(mark: str) -> str:
    """`file:line` of a line that is marked."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"{__file__}:{next(n for n, text in enumerate(lines, 1) if text.endswith(f'# HERE {mark}'))}"


# ---- what must be so of endless runs


def lasting(name: str = "test") -> System:
    """A walker, and a sentence about endless runs that makes a mistake."""
    fair = (
        replace(PER_MACHINE, name="odd", of=lambda transition: raising(1)) if name == "fair" else PER_MACHINE
    )
    broken = {
        "test": (lambda value: raising_at_two(value) > 5, lambda value: value),
        "view": (lambda value: True, lambda value: [value] if value == 2 else value),
        "fair": (lambda value: True, lambda value: value),
    }
    test, of = broken[name]
    sentence = Liveness(
        "comes", LivenessKind.INFINITELY_OFTEN, "it comes", (View("walker", of),), test, (fair,)
    )
    return replace(fine(), liveness=(sentence,))


# ---- what claims nothing


def vacuous(what: str) -> System:
    """A walker of which nothing is judged, each in a way of its own."""
    pair = Property("pair", Kind.SAFETY, "two agree", (View("walker", whole), View("walker", whole)), never)
    one = claim(never)
    made: dict[str, System] = {
        "misspelt": system(Walker(), claims=(replace(one, views=(View("wlaker", whole),)),)),
        "misspelt step": system(
            Walker(), claims=(replace(one, kind=Kind.STEP, views=(View("wlaker", whole),)),)
        ),
        "misspelt end": system(
            Walker(), claims=(replace(one, kind=Kind.TERMINAL, views=(View("wlaker", whole),)),)
        ),
        "pair": system(Walker(), claims=(pair,)),
        "nothing": replace(fine(), properties=()),
        "only lasting": replace(lasting("test"), properties=()),
        "twice": system(Walker(), claims=(one, replace(one, kind=Kind.WITNESS))),
        "no machines": System("walk", (), ()),
        "lasting misspelt": replace(
            fine(), liveness=(replace(lasting("test").liveness[0], views=(View("wlaker", whole),)),)
        ),
    }
    return made[what]


def whole(value: Any) -> Any:
    return value


def never(*seen: Any) -> bool:
    return False


def failing(way: str = "raises") -> System:
    """A factory with a mistake."""
    return leaving(way) if way == "leaves" else raising(way)  # type: ignore[no-any-return]


def no_witness() -> System:
    """A witness of a role that no machine has."""
    return system(Walker(), claims=(replace(claim(never, Kind.WITNESS), views=(View("wlaker", whole),)),))


# ---- what only several processes see


def parting(first: str, second: str) -> System:
    """A walker that comes to two values by two ways, which lead through different processes perhaps."""
    values = {
        "token": Token(1),
        "twin": twin.Token(1),
        "number": (1,),
        "truth": (True,),
        "level": (Level.TWO,),
        "two": (2,),
    }

    def turn(value: Any) -> Any:
        if value in ("begin", "beside"):
            way = first if value == "begin" else second
            aside = [Outcome("beside")] if value == "begin" else []
            return [Outcome(values[way]), *aside]
        return ()

    made = system(Walker(first=lambda: ("begin",), turn=turn))
    return replace(made, ref=SystemRef("mistakes:parting", (("first", first), ("second", second))))


def calm() -> System:
    """A walker, and a sentence about endless runs that makes no mistake."""
    sentence = Liveness(
        "comes", LivenessKind.INFINITELY_OFTEN, "it comes", (View("walker", whole),), never, (PER_MACHINE,)
    )
    return replace(fine(), liveness=(sentence,))


def talking(count: int) -> System:
    """A walker whose step takes so many messages."""

    def taken(value: int, sender: str, left: int) -> list[Outcome]:
        return [Outcome(value, (Send(sender, left - 1),) if left else ())]

    def turn(value: int) -> list[Outcome]:
        return [Outcome(1, (Send("other", count - 1),))] if value == 0 else []

    made = system(
        Walker(turn=turn, taken=taken), Walker("other", "other", turn=lambda value: (), taken=taken)
    )
    return replace(made, ref=SystemRef("mistakes:talking", (("count", count),)))


def violated_first() -> System:
    """A walker that breaks a property where another one raises."""
    under = replace(claim(lambda value: value < 2), name="under two")
    late = claim(lambda value: value < 2 or raising(value))
    return replace(system(Walker(), claims=(under, late)), ref=SystemRef("mistakes:violated_first"))
