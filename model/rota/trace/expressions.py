"""Expressions about a state, as a person types them: `coordinator.group.state == "Stable"`.

The syntax is a part of Python's: fields and keys of machines' values, comparisons, arithmetic, `and`, `or`,
`not`, `in`, conditional expressions, comprehensions, a few functions and methods of mappings. A name is a
machine's (`client/c1`), or a role: then it stands for some machine of that role that is not named. Enum
members are the texts that traces show. What is not there (a field of None, a key that a mapping lacks) is
NOTHING, of which no comparison is true. Nothing else can be named or called, so that an expression reads a
state and does nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from types import CodeType
from typing import Any

TEXTS = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
"""Literals, in which no name is looked for."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    one.__name__: one for one in (all, any, len, max, min, set, sorted, sum)
}
METHODS = ("get", "items", "keys", "values")
"""Those of mappings."""

ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod,
    ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot,
    ast.Constant, ast.Tuple, ast.List, ast.Set, ast.IfExp, ast.Name, ast.Load, ast.Store,
    ast.Attribute, ast.Subscript, ast.Call,
    ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.comprehension,
)  # fmt: skip


class ExpressionError(ValueError):
    """A text is no expression about this system; the message says where and what would be."""


class _Silent:
    """Every comparison is False, arithmetic comes to the same, and nothing is in it."""

    def _never(self, other: object) -> bool:
        return False

    def _same(self, other: object = None) -> Any:
        return self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _never
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _same

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())


class Absent(_Silent, Enum):
    """The one value of what is not there; nothing can be said of it."""

    NOTHING = "nothing"


NOTHING = Absent.NOTHING

Path = tuple[str, ...]
"""Fields, each of the value before it."""


@dataclass(frozen=True)
class Expression:
    """An expression, ready to be asked.

    text: as it was typed; reads: the machines and roles that it names, in the order of the text, each with
    the paths that it reads there.
    """

    text: str
    reads: tuple[tuple[str, tuple[Path, ...]], ...]
    _code: CodeType
    _places: tuple[tuple[int, int], ...]

    def seen(self, number: int, value: Any) -> Hashable:
        """All that it reads of a value of the machine `reads[number]`."""
        return tuple([follow(value, path) for path in self.reads[number][1]])

    def evaluate(self, *seen: Any) -> Any:
        """What it is where this is seen, one argument for each of `reads`. Errors: ExpressionError."""
        names = {f"_{i}": seen[machine][at] for i, (machine, at) in enumerate(self._places)}
        try:
            return eval(self._code, {"__builtins__": {}, **_HELPERS, **names})
        except (TypeError, ValueError, ZeroDivisionError) as error:
            raise ExpressionError(f"{self.text}: {error}") from error


def parse(text: str, names: Iterable[str]) -> Expression:
    """Read an expression. names: of machines and roles. Errors: ExpressionError."""
    known = sorted(set(names))
    source, stands_for = _identifiers(text, known)
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} cannot be read ({error.msg}); write it as in Python") from None
    reading = _Reading(text, known, stands_for)
    body = reading.visit(tree)
    if not reading.paths:
        raise ExpressionError(f"{text!r} names no machine and no role; there are {', '.join(known)}")
    reads: dict[str, list[Path]] = {}
    for name, path in reading.paths:
        reads.setdefault(name, []).append(path)
    order = list(reads)
    places = tuple((order.index(name), reads[name].index(path)) for name, path in reading.paths)
    code = compile(ast.fix_missing_locations(body), "<expression>", "eval")
    return Expression(text, tuple((name, tuple(paths)) for name, paths in reads.items()), code, places)


def _identifiers(text: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The text with an identifier for each name that is none, and what these stand for."""
    odd = [name for name in sorted(names, key=len, reverse=True) if not name.isidentifier()]
    stands_for = {f"_m{number}": name for number, name in enumerate(odd)}
    parts = TEXTS.split(text)
    for identifier, name in stands_for.items():
        whole = re.compile(rf"(?<![\w/]){re.escape(name)}(?![\w/])")
        parts[::2] = [whole.sub(identifier, part) for part in parts[::2]]
    return "".join(parts), stands_for


class _Reading(ast.NodeTransformer):
    """Checks an expression, and replaces what it reads of machines by names of its own."""

    def __init__(self, text: str, names: Sequence[str], stands_for: Mapping[str, str]) -> None:
        self._text, self._names, self._stands_for = text, names, stands_for
        self._bound: list[str] = []
        self.paths: list[tuple[str, Path]] = []

    def visit(self, node: ast.AST) -> Any:
        """As `ast.NodeTransformer`. Errors: ExpressionError for what has no place in an expression."""
        if not isinstance(node, ALLOWED):
            if isinstance(node, ast.Div):  # as in client/c9
                raise self._error(f"/ is for names of machines; there are {', '.join(self._names)}")
            raise self._error(f"{type(node).__name__} has no place in it")
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            return self._comprehension(node)
        return super().visit(node)

    def _error(self, why: str) -> ExpressionError:
        return ExpressionError(f"{self._text!r}: {why}")

    def _comprehension(self, node: Any) -> ast.AST:
        before = len(self._bound)
        for part in node.generators:
            part.iter = self.visit(part.iter)
            self._bound += [one.id for one in ast.walk(part.target) if isinstance(one, ast.Name)]
            part.ifs = [self.visit(one) for one in part.ifs]
        node.elt = self.visit(node.elt)
        del self._bound[before:]
        return node  # type: ignore[no-any-return]  # it is what it was

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable of a comprehension, or a machine."""
        if node.id in self._bound:
            return _call("_plain", node)
        return self._read(node, ())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A field: of a machine's value, or of what an expression gives."""
        if node.attr.startswith("_"):
            raise self._error(f"{node.attr} is not for expressions")
        path: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in self._bound:
            return self._read(inner, tuple(path))
        return _call("_field", self.visit(node.value), ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """What a mapping has under a key, or a tuple at a place."""
        return _call("_item", self.visit(node.value), self.visit(node.slice))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A function, or a method of a mapping."""
        if not node.keywords:
            if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                return _call(f"_{node.func.id}", *map(self.visit, node.args))
            if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
                arguments = [self.visit(node.func.value), *map(self.visit, node.args)]
                return _call(f"_{node.func.attr}", *arguments)
        there = ", ".join([*FUNCTIONS, *(f".{name}" for name in METHODS)])
        raise self._error(f"{ast.unparse(node.func)} cannot be called; there are {there}")

    def _read(self, node: ast.Name, path: Path) -> ast.AST:
        name = self._stands_for.get(node.id, node.id)
        if name not in self._names:
            near = get_close_matches(name, self._names, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise self._error(f"there is no machine or role {name}; {hint}there are {', '.join(self._names)}")
        if (name, path) not in self.paths:
            self.paths.append((name, path))
        return ast.Name(f"_{self.paths.index((name, path))}", ast.Load())


def _call(name: str, *arguments: Any) -> ast.AST:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def follow(value: Any, path: Path) -> Any:
    """What a path leads to, NOTHING where it cannot be gone."""
    for name in path:
        value = _field(value, name)
    return _plain(value)


def _plain(value: Any) -> Any:
    """An enum's member as traces show it."""
    if isinstance(value, Enum) and value is not NOTHING:
        return value.value if isinstance(value.value, str) else value.name
    return value


def _field(value: Any, name: str) -> Any:
    found = getattr(value, name, NOTHING)
    return NOTHING if callable(found) else _plain(found)


def _item(value: Any, key: Any) -> Any:
    try:
        return _plain(value[key])
    except (KeyError, IndexError, TypeError):
        return NOTHING


def _of_mapping(name: str) -> Callable[..., Any]:
    """A method of mappings; of what is none it gives nothing."""

    def called(value: Any, *arguments: Any) -> Any:
        if not isinstance(value, Mapping):
            return NOTHING
        return _plain(getattr(value, name)(*arguments))

    return called


_HELPERS = {
    "_plain": _plain,
    "_field": _field,
    "_item": _item,
    **{f"_{name}": one for name, one in FUNCTIONS.items()},
    **{f"_{name}": _of_mapping(name) for name in METHODS},
}
