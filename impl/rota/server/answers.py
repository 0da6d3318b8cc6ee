"""Long answers: put together in steps, so that none holds up the event loop, and of a bounded size.

A request may name the same thing again and again, and is answered as often; what is named once is looked up
and encoded once. What does not fit into an answer any more gets an error upon which clients ask again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from itertools import islice
from math import inf
from typing import Any, TypeVar

from rota.server.context import RequestContext
from rota.server.outgoing import is_long
from rota.server.turns import Turns
from rota.wire import api

log = logging.getLogger(__name__)

MAX_BYTES = 4 << 20
"""What an answer may have of groups or offsets. What is first in it is whole in any case."""

AT_ONCE = 2_000
"""How many elements of a request or an answer are gone through in one step."""

Body = Mapping[str, Any]
T = TypeVar("T")


def slices(items: Iterable[T], size: int = AT_ONCE) -> Iterator[tuple[T, ...]]:
    """The items in order, so many at a time."""
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part


def as_body(value: Any) -> Any:
    """A reply of the coordinator as a response's body, and whatever it consists of."""
    return _as_body_of(value.__class__)(value)


def lists(value: Any) -> bool:
    """Whether a reply of the coordinator has anything in an array."""
    return _lists_of(value.__class__)(value)


@cache
def _lists_of(kind: type) -> Callable[[Any], bool]:
    """`lists` for values of one class."""
    arrays = [f"value.{item.name}" for item in fields(kind) if _is_array(item)]
    found: Callable[[Any], bool] = eval(f"lambda value: bool({' or '.join(arrays)})")
    return found


@cache
def _as_body_of(kind: type) -> Callable[[Any], Any]:
    """`as_body` for values of one class, compiled once as messages are: every request has a reply."""
    if not is_dataclass(kind):
        return lambda value: value
    pairs = ", ".join(f"{item.name!r}: {_reading(item)}" for item in fields(kind))
    made: Callable[[Any], Any] = eval(f"lambda value: {{{pairs}}}", {"as_body": as_body})
    return made


def _reading(item: Field[Any]) -> str:
    """The expression for a field: of a tuple, a list of what its items are in a body."""
    if _is_array(item):
        return f"[as_body(each) for each in value.{item.name}]"
    return f"value.{item.name}"


def _is_array(item: Field[Any]) -> bool:
    return "tuple" in str(item.type)


class LongAnswer:
    """A response with an array of many elements, encoded bit by bit; `body` has the other fields.

    Behind the array are `behind` bytes of other fields in this version.
    """

    def __init__(self, context: RequestContext, array: str, body: Body, behind: int = 0) -> None:
        self._context = context
        self._array = array
        self._body = body
        self._flexible = context.version in api(context.api_name).flexible
        empty = self._whole([])
        self._tail = empty[len(empty) - behind - self._flexible :]
        self._head = len(empty) - len(self._count(0)) - len(self._tail)
        self._parts: list[bytes] = [empty[: self._head], b""]
        self._elements = 0
        self.size = 0

    def encoded(self, elements: Sequence[Body]) -> bytes:
        """These elements as they stand in the array."""
        return self._cut(self._whole(elements), len(elements))

    def encoded_in_steps(self, elements: Sequence[Body]) -> Generator[None, None, bytes]:
        """The same; those that have many elements of their own are encoded bit by bit."""
        body = {**self._body, self._array: list(elements)}
        if not is_long(body):
            return self._cut(self._context.encoded(body), len(elements))
        return self._cut(bytes((yield from self._context.encoded_in_slices(body))), len(elements))

    def _cut(self, data: bytes, number: int) -> bytes:
        return data[self._head + len(self._count(number)) : len(data) - len(self._tail)]

    def add(self, data: bytes, elements: int = 1) -> None:
        """The next elements, encoded."""
        self._parts.append(data)
        self._elements += elements
        self.size += len(data)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes fit in, which the first of all do."""
        return not self._elements or self.size + size <= MAX_BYTES

    def send(self) -> None:
        """Answer the request."""
        self._parts[1] = self._count(self._elements)
        self._context.reply_in_pieces((*self._parts, self._tail), self.size)

    def _whole(self, elements: Sequence[Body]) -> bytes:
        return self._context.encoded({**self._body, self._array: elements})

    def _count(self, number: int) -> bytes:
        if not self._flexible:
            return number.to_bytes(4, "big")
        number, out = number + 1, bytearray()
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        return bytes((*out, number))


def sent_in_steps(
    context: RequestContext, array: str, body: Body, behind: int = 0, size: int = 500
) -> Iterator[None]:
    """Answers with this body, whose array has many elements: so many become part of it in one step."""
    answer = LongAnswer(context, array, {name: body[name] for name in body if name != array}, behind)
    for elements in slices(body[array], size):
        answer.add(answer.encoded([as_body(each) for each in elements]), len(elements))
        yield
    answer.send()


@dataclass(frozen=True, slots=True, eq=False)
class LongReply:
    """A request whose answer has an array of many elements: the token that the coordinator gets."""

    context: RequestContext
    array: str
    later: Later

    def tell(self, reply: Any) -> None:
        """Sends the answer, in steps."""
        shallow = {item.name: getattr(reply, item.name) for item in fields(reply)}
        self.later.add(sent_in_steps(self.context, self.array, shallow), at_once=False)


class Gathered:
    """The answers to the parts of a request; `done` is called with all of them when the last one is in."""

    def __init__(self, parts: int, done: Callable[[list[Body]], object]) -> None:
        self._bodies: dict[int, Body] = {}
        self._parts = parts
        self._done = done

    def part(self, number: int) -> Part:
        """Where the answer to a part goes."""
        return Part(self, number)

    def arrived(self, number: int, body: Body) -> None:
        """A part is answered."""
        self._bodies[number] = body
        if len(self._bodies) == self._parts:
            self._done([self._bodies[each] for each in range(self._parts)])


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a request: the token that the coordinator gets."""

    whole: Gathered
    number: int

    def reply(self, body: Body) -> None:
        """Keeps the answer until the others are there."""
        self.whole.arrived(self.number, body)

    def dropped(self) -> None:
        """Only requests that are never divided are dropped."""


class Later:
    """Things to do step by step, in turns with the connections."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._waiting: deque[Iterator[None]] = deque()
        self._working = False

    def add(self, steps: Iterator[None], at_once: bool = True) -> None:
        """Goes through these steps, from now on; not at once where what makes them has taken long already."""
        self._waiting.append(steps)
        if not self._working:
            (self._turns.go_on if at_once else self._turns.go_on_later)(self)

    def work(self, until: float) -> bool:
        """Goes on until then; whether there is more to do. What fails is given up, with a line in the log."""
        self._working = True
        while self._waiting:
            try:
                next(self._waiting[0])
            except StopIteration:
                self._waiting.popleft()
            except Exception:
                self._waiting.popleft()
                log.exception("a part of the server's work failed")
            if self._turns.clock() >= until:
                break
        self._working = False
        return bool(self._waiting)

    def finish(self) -> None:
        """Does all that is left."""
        self.work(inf)
