"""Compiles the fields of a message in one version to a function that reads it.

The counterpart of `encoder`. Every length is held against what is left before anything is made from it, so
that arbitrary bytes cost memory in proportion to their number at most; reading past the end raises
IndexError or struct.error, which `codec` turns into a WireError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Sequence
from typing import Any

from rota.wire.schema import FIXED, Field
from rota.wire.source import ELEMENTS_AT_ONCE, Source, absent, element_of, present, runs, tagged

Decode = Callable[[bytes, int], tuple[dict[str, Any], int]]
SlicedDecode = Callable[[memoryview, int, int], Generator[None, None, tuple[dict[str, Any], int]]]

AT_ONCE = 1024
"""Numbers of an array that a sliced decoder reads in one go."""

VIEWED = frozenset({"records"})
"""Fields that a sliced decoder leaves as views of the frame, so that they can be refused without a copy."""


def decoder(fields: Sequence[Field], version: int, flexible: bool, label: str) -> Decode:
    """A function (data, position) that gives the body read there and the position after it."""
    decode: Decode = program(fields, version, flexible).compile("decode", label)
    return decode


def sliced_decoder(fields: Sequence[Field], version: int, flexible: bool, label: str) -> SlicedDecode:
    """As `decoder`, for long frames: a generator function (data, position, most).

    It yields every few elements of an array and refuses more than `most` elements and tagged fields in all.
    """
    decode: SlicedDecode = program(fields, version, flexible, sliced=True).compile("decode", label)
    return decode


def program(fields: Sequence[Field], version: int, flexible: bool, sliced: bool = False) -> Source:
    """The source of the decoder."""
    source = Source()
    with source.block(f"def decode(data, pos{', most' * sliced}):"):
        source.add("size = len(data)")
        if sliced:
            # Whatever the fields are, a generator.
            source.add("left = most", "if not size: yield")
        body = _Reader(source, version, flexible, sliced).struct(fields, "")
        source.add(f"return {body}, pos")
    return source


class _Reader:
    def __init__(self, source: Source, version: int, flexible: bool, sliced: bool) -> None:
        self.source = source
        self.version = version
        self.flexible = flexible
        self.sliced = sliced

    def struct(self, fields: Sequence[Field], path: str) -> str:
        """Reads a structure into a dict; gives the variable that holds it."""
        values: dict[str, str] = {}
        for code, group in runs(present(fields, self.version)):
            variables = [self.source.fresh("v") for _ in group]
            values.update(zip((field.name for field in group), variables, strict=True))
            if code:
                self.fixed(code, variables)
            else:
                self.value(group[0], variables[0], path + group[0].name)
        result = self.source.fresh("d")
        known = tagged(fields, self.version)
        tags = self.tags(known, values, path) if self.flexible else ""
        pairs = ", ".join(f"{name!r}: {value}" for name, value in values.items())
        self.source.add(f"{result} = {{{pairs}}}")
        if tags:
            self.source.add(f"if {tags}: {result}['_tags'] = plain_tags(data, {tags})")
        return result

    def fixed(self, code: str, variables: Sequence[str]) -> None:
        packed = struct.Struct(f">{code}")
        unpack = self.source.constant(f"unpack_{code}".replace("?", "o"), packed.unpack_from)
        self.source.add(f"{', '.join(variables)}, = {unpack}(data, pos)", f"pos += {packed.size}")

    def tags(self, known: Sequence[Field], values: dict[str, str], path: str) -> str:
        """Reads the tagged fields; gives the variable that holds those the tables do not know."""
        add = self.source.add
        tags = self.source.fresh("t")
        with self.source.block("if data[pos]:"):
            add(f"{tags}, pos = read_tags(data, pos, size)")
            if self.sliced:
                self.count(f"len({tags})", f"{path}tagged fields")
        with self.source.block("else:"):
            add(f"{tags} = {{}}" if known else f"{tags} = None", "pos += 1")
        for field in known:
            value, span, keep = (self.source.fresh(stem) for stem in ("v", "span", "keep"))
            values[field.name] = value
            add(f"{span} = {tags}.pop({field.tag}, None)")
            with self.source.block(f"if {span} is None:"):
                add(f"{value} = {absent(field, self.version)!r}")
            with self.source.block("else:"):
                add(f"{keep} = pos, size", f"pos, size = {span}")
                self.value(field, value, path + field.name)
                add(f"if pos != size: refuse({path + field.name!r}, 'does not fill its tagged field')")
                add(f"pos, size = {keep}")
        return tags

    def value(self, field: Field, value: str, path: str) -> None:
        """Reads one value into the variable `value`."""
        if field.type in FIXED and not field.array:
            self.fixed(FIXED[field.type], [value])
        elif field.type == "uuid" and not field.array:
            self.source.add(f"{value} = UUID(bytes=bytes(data[pos : pos + 16]))", "pos += 16")
        elif field.type == "struct" and not field.array:
            self.one(field, value, path)
        else:
            self.sized(field, value, path)

    def one(self, field: Field, value: str, path: str) -> None:
        """Reads one structure; where it may be null, a negative byte in front says that it is."""
        if self.version not in field.nullable:
            self.source.add(f"{value} = {self.struct(field.fields, f'{path}.')}")
            return
        self.source.add("n = data[pos]", "pos += 1")
        with self.source.block("if n > 127:"):
            self.source.add(f"{value} = None")
        with self.source.block("else:"):
            self.source.add(f"{value} = {self.struct(field.fields, f'{path}.')}")

    def sized(self, field: Field, value: str, path: str) -> None:
        """Reads a value with a length in front: string, bytes or array."""
        add = self.source.add
        short = field.type == "string" and not field.array
        if self.flexible:
            add("n = data[pos] - 1", "pos += 1")
            with self.source.block("if n > 126:"):
                add("n, pos = read_varint(data, pos - 1)", "n -= 1")
                if short:
                    add(f"if n > MAX_STRING: refuse({path!r}, f'a string of {{n}} bytes is too long')")
        else:
            self.fixed("h" if short else "i", ["n"])
        with self.source.block("if n < 0:"):
            if self.version in field.nullable:
                add(f"if n < -1: refuse({path!r}, f'has the negative length {{n}}')", f"{value} = None")
            else:
                add(f"refuse({path!r}, f'null (length {{n}}) is not allowed in version {self.version}')")
        with self.source.block("else:"):
            self.content(field, value, path)

    def content(self, field: Field, value: str, path: str) -> None:
        """Reads `n` bytes, or elements, into the variable `value`."""
        add = self.source.add
        too_few = f"refuse({path!r}, f'{{n}} announced, {{size - pos}} bytes left')"
        if field.array:
            least = _least_size(field, self.version, self.flexible)
            add(f"if n * {least} > size - pos: {too_few}")
            if self.sliced:
                self.count("n", path)
            self.array(field, value, path)
            return
        add("end = pos + n", f"if end > size: {too_few}")
        if field.type == "string":
            text = "str(data[pos:end], 'utf-8')" if self.sliced else "data[pos:end].decode()"
            add(f"try: {value} = {text}")
            add(f"except UnicodeDecodeError: refuse({path!r}, 'a string is not UTF-8')")
        elif self.sliced and field.name not in VIEWED:
            add(f"{value} = bytes(data[pos:end])")
        else:
            add(f"{value} = data[pos:end]")
        add("pos = end")

    def count(self, number: str, path: str) -> None:
        """Counts elements against how many there may be in all."""
        self.source.add(f"left -= {number}")
        self.source.add(f"if left < 0: refuse({path!r}, f'more than {{most}} elements in one request')")

    def array(self, field: Field, value: str, path: str) -> None:
        add = self.source.add
        if field.type in FIXED:
            self.numbers(FIXED[field.type], value)
            return
        items = self.source.fresh("items")
        add(f"{items} = []")
        with self.source.block("for _ in range(n):"):
            if self.sliced:
                add(f"if not len({items}) % {ELEMENTS_AT_ONCE}: yield")
            if field.type == "struct":
                element = self.struct(field.fields, f"{path}[].")
            else:
                element = self.source.fresh("e")
                self.value(element_of(field), element, f"{path}[]")
            add(f"{items}.append({element})")
        add(f"{value} = {items}")

    def numbers(self, code: str, value: str) -> None:
        """Reads `n` numbers of a fixed size."""
        add, width = self.source.add, struct.calcsize(">" + code)
        if not self.sliced:
            add(f"{value} = list(unpack_from('>%d{code}' % n, data, pos))", f"pos += n * {width}")
            return
        add(f"{value} = []")
        with self.source.block("while n:"):
            add("yield", f"k = min(n, {AT_ONCE})")
            add(f"{value} += unpack_from('>%d{code}' % k, data, pos)")
            add(f"pos += k * {width}", "n -= k")


def _least_size(field: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that a structure or one element of this array takes; at least 1, to bound counts."""
    if field.type == "struct":
        inner = (_least_field(item, version, flexible) for item in present(field.fields, version))
        return max(1, sum(inner) + flexible)
    return _least_field(element_of(field), version, flexible)


def _least_field(field: Field, version: int, flexible: bool) -> int:
    if field.type in FIXED and not field.array:
        return struct.calcsize(">" + FIXED[field.type])
    if field.type == "uuid" and not field.array:
        return 16
    if field.type == "struct" and not field.array:
        return 1 if version in field.nullable else _least_size(field, version, flexible)
    if flexible:
        return 1
    return 2 if field.type == "string" and not field.array else 4
